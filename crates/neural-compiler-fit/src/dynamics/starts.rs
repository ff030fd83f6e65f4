//! Where states start. In: for each number of the states where it starts, and the free numbers of the fit; out: the states trajectories
//! start with, and their derivatives by the free numbers.
//!
//! Starts that are expressions are a formula like any other, with a row for each trajectory: `Program::starts`, run as algebraic models
//! are.

use crate::algebraic::{Algebraic, Engines};
use crate::model::layout::{Layout, Shared};
use crate::optimise::{Residuals, Unusable};
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// Where a number of a state starts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Start {
    /// At a known value.
    Value(f64),
    /// At a parameter that is fitted.
    Free(usize),
    /// At this number of the starts that are computed.
    Computed(usize),
}

/// Starts that are computed.
pub struct Formula {
    formula: Algebraic,
    /// The place of every shared input of the model among those of the formula.
    places: Vec<(String, usize)>,
}

/// The numbers of all rows: values, and where wanted derivatives.
#[derive(Default)]
pub struct Computed {
    values: Vec<f64>,
    derivatives: Vec<f64>,
    rows: usize,
}

impl Computed {
    /// The value of a number in a row.
    pub fn value(&self, row: usize, number: usize) -> f64 {
        self.values[number * self.rows + row]
    }

    /// Its derivative by a free number.
    pub fn derivative(&self, row: usize, number: usize, by: usize) -> f64 {
        self.derivatives[by * self.values.len() + number * self.rows + row]
    }
}

/// The layout of a model for its formula of starts, whose inputs are in another order.
fn placed(layout: &Layout, places: &[(String, usize)]) -> Layout {
    let place = |s: &Shared| places.iter().find(|p| p.0 == s.name).map_or(s.input, |p| p.1);
    let shared = layout.shared.iter().map(|s| Shared { input: place(s), ..s.clone() }).collect();
    Layout { shared, ..layout.clone() }
}

impl Formula {
    /// The starts of a model. `columns`: the numbers of each input of `starts`, a row for each trajectory; empty for parameters.
    pub fn new(starts: &Program, layout: &Layout, columns: Vec<Vec<f64>>, rows: usize) -> Result<Formula, Diagnostics> {
        let places: Vec<(String, usize)> = starts.inputs().iter().enumerate().map(|(i, input)| (input.name.clone(), i)).collect();
        let graph = starts.graph()?;
        let layout = Arc::new(placed(layout, &places));
        let engines = Engines::new(&graph, &layout);
        engines.check()?;
        let count = graph.outputs()[0].len() * rows;
        Ok(Formula { formula: Algebraic::new(Arc::new(engines), layout, columns, vec![0.0; count], vec![], 1), places })
    }

    /// The same for other free numbers.
    pub fn with(&self, layout: &Layout) -> Formula {
        let layout = Arc::new(placed(layout, &self.places));
        Formula { formula: self.formula.with(&layout), places: self.places.clone() }
    }

    /// The starts of all rows, with derivatives by the free numbers where wanted.
    pub fn at(&self, theta: &[f64], with_derivatives: bool) -> Result<Computed, Unusable> {
        let count = self.formula.count();
        let mut found = Computed { values: vec![0.0; count], derivatives: vec![], rows: self.formula.rows() };
        if with_derivatives && !theta.is_empty() {
            found.derivatives = vec![0.0; count * theta.len()];
        }
        let derivatives = if found.derivatives.is_empty() { None } else { Some(&mut found.derivatives[..]) };
        let outcome = self.formula.evaluate(theta, &mut found.values, derivatives);
        outcome.map(|()| found).map_err(|e| Unusable(format!("the starts of the states: {}", e.0)))
    }
}
