//! Where states start. In: for each number of the states where it starts, and the free numbers of the fit; out: the states trajectories
//! start with, and their derivatives by the free numbers.
//!
//! Starts that are expressions are a formula like any other, with a row for each trajectory: `Program::starts`, run as algebraic models
//! are.

use crate::algebraic::{Algebraic, Engines};
use crate::model::layout::{Layout, Shared, element_names};
use crate::optimise::{Residuals, Unusable};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
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
    /// What it computes, and the numbers of each input that is no parameter, element by element.
    graph: Arc<Graph>,
    columns: Arc<Vec<Vec<f64>>>,
    /// What it gives, in words.
    what: &'static str,
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

    /// The same, where there is such a number.
    pub fn get(&self, row: usize, number: usize) -> Option<f64> {
        self.values.get(number * self.rows + row).copied().filter(|_| row < self.rows)
    }

    /// The same with further numbers behind its own, `rows` of them each: values, and derivatives by so many free numbers.
    pub(super) fn with(self, rows: usize, values: &[Vec<f64>], derivatives: &[Vec<Vec<f64>>], free: usize) -> Computed {
        let own = self.values.len() / rows.max(1);
        let more = values.first().map_or(0, Vec::len);
        let all: Vec<f64> = (0..own + more)
            .flat_map(|k| (0..rows).map(move |row| (k, row)))
            .map(|(k, row)| if k < own { self.values[k * rows + row] } else { values[row][k - own] })
            .collect();
        let one = |j: usize, k: usize, row: usize| {
            if k < own { self.derivatives[j * self.values.len() + k * rows + row] } else { derivatives[row][k - own][j] }
        };
        let by = if derivatives.is_empty() { 0 } else { free };
        let slopes = (0..by).flat_map(|j| (0..own + more).flat_map(move |k| (0..rows).map(move |row| (j, k, row))));
        let derivatives = slopes.map(|(j, k, row)| one(j, k, row)).collect();
        Computed { values: all, derivatives, rows }
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
    /// The starts of a model, or the times of its events: `what` in words. `columns`: the numbers of each input of `starts`, a row for each
    /// group; empty for parameters.
    pub fn new(what: &'static str, starts: &Program, layout: &Layout, columns: Vec<Vec<f64>>, rows: usize) -> Result<Formula, Diagnostics> {
        let places: Vec<(String, usize)> = starts.inputs().iter().enumerate().map(|(i, input)| (input.name.clone(), i)).collect();
        let graph = starts.graph()?;
        let layout = Arc::new(placed(layout, &places));
        let engines = Engines::new(&graph, &layout);
        engines.check()?;
        let count = graph.outputs()[0].len() * rows;
        let kept = Arc::new(columns.clone());
        Ok(Formula {
            formula: Algebraic::new(Arc::new(engines), layout, columns, vec![0.0; count], vec![], 1),
            places,
            graph,
            columns: kept,
            what,
        })
    }

    /// The same for other free numbers.
    pub fn with(&self, layout: &Layout) -> Formula {
        let layout = Arc::new(placed(layout, &self.places));
        Formula {
            formula: self.formula.with(&layout),
            places: self.places.clone(),
            graph: self.graph.clone(),
            columns: self.columns.clone(),
            what: self.what,
        }
    }

    /// Whether it reads a number of this name.
    pub fn reads(&self, name: &str) -> bool {
        self.graph.inputs.iter().any(|i| element_names(&i.name, i.shape).iter().any(|n| n == name))
    }

    /// The numbers of every row for several sets of values, set by set; `given(name, element, set)`: what a set says of an element of an
    /// input, a parameter for one.
    pub fn of_sets(&self, sets: usize, given: &dyn Fn(&str, usize, usize) -> Option<f64>) -> Result<Vec<Vec<f64>>, Unusable> {
        let (rows, size) = (self.formula.rows(), self.graph.outputs()[0].len());
        let value = |i: usize, element: usize, row: usize| {
            let read = || self.columns[i].get(element * rows + row % rows).copied().unwrap_or(f64::NAN);
            given(&self.graph.inputs[i].name, element, row / rows).unwrap_or_else(read)
        };
        let lens: Vec<usize> = self.graph.inputs.iter().map(|input| input.shape.len()).collect();
        let column = |(i, len): (usize, &usize)| (0..sets * rows * len).map(|k| value(i, k % len, k / len)).collect();
        let columns: Vec<Vec<f64>> = lens.iter().enumerate().map(column).collect();
        let inputs: Vec<Column<'_, f64>> = columns.iter().zip(&lens).map(|(c, len)| Column::rows(c, *len)).collect();
        let mut numbers = vec![0.0; sets * rows * size];
        let engine = Engine::new(&self.graph, &vec![false; lens.len()]);
        let errors = engine.run(&mut Workspace::new(), &inputs, sets * rows, &mut [&mut numbers], &BatchOptions::default());
        match errors.map_err(|e| Unusable(e.message))?.first() {
            Some(e) => Err(Unusable(format!("{}: {}", self.what, e.error.message))),
            None => Ok(numbers.chunks(size).map(<[f64]>::to_vec).collect()),
        }
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
        outcome.map(|()| found).map_err(|e| Unusable(format!("{}: {}", self.what, e.0)))
    }
}
