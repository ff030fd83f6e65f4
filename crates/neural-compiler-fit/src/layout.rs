//! Parameters in a row. In: a program's declarations; out: one name, start and pair of bounds for each number to be fitted, and the
//! way back to the inputs of the program.
//! Invariant: free numbers are in the order of the program's inputs, the numbers of a vector or matrix row by row.

use crate::least::Bounds;
use neural_compiler::syntax::ast::{Input, InputKind};
use neural_compiler::{Program, Shape};

/// An input of the program that all rows share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Its place among the program's inputs.
    pub input: usize,
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Its values as declared.
    pub initial: Vec<f64>,
    /// Where its numbers begin among the free ones; `None` when it is fixed.
    pub at: Option<usize>,
    /// A weight of a net rather than a parameter: it has no error bar and its derivatives are taken backward.
    pub weight: bool,
}

/// Everything a program shares between rows: parameters, free or fixed.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The inputs.
    pub shared: Vec<Shared>,
    /// Names of the free numbers: `k`, `w[0]`, `m[0,1]`.
    pub names: Vec<String>,
    /// Where the free numbers start.
    pub start: Vec<f64>,
    /// Their bounds.
    pub bounds: Bounds,
}

/// The names of the numbers of an input.
pub fn element_names(name: &str, shape: Shape) -> Vec<String> {
    match shape {
        Shape::Scalar => vec![name.to_string()],
        Shape::Vector(n) => (0..n).map(|i| format!("{name}[{i}]")).collect(),
        Shape::Matrix(r, c) => (0..r).flat_map(|i| (0..c).map(move |j| (i, j))).map(|(i, j)| format!("{name}[{i},{j}]")).collect(),
    }
}

impl Layout {
    /// The parameters of a program.
    pub fn new(program: &Program) -> Layout {
        let mut layout = Layout { shared: vec![], names: vec![], start: vec![], bounds: Bounds::none(0) };
        for (input, Input { name, kind, shape, .. }) in program.inputs().iter().enumerate() {
            let InputKind::Param(info) = kind else { continue };
            let shape = shape.unwrap_or(Shape::Scalar);
            let at = (!info.fixed).then_some(layout.names.len());
            if at.is_some() {
                layout.names.extend(element_names(name, shape));
                layout.start.extend(&info.initial);
                layout.bounds.min.extend(info.initial.iter().map(|_| info.min.unwrap_or(f64::NEG_INFINITY)));
                layout.bounds.max.extend(info.initial.iter().map(|_| info.max.unwrap_or(f64::INFINITY)));
            }
            layout.shared.push(Shared { input, name: name.clone(), shape, initial: info.initial.clone(), at, weight: false });
        }
        layout
    }

    /// How many numbers are free.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether nothing is free.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The inputs with free numbers, in order.
    pub fn free_inputs(&self) -> Vec<usize> {
        self.shared.iter().filter(|s| s.at.is_some()).map(|s| s.input).collect()
    }

    /// The free inputs with their fitted values.
    pub fn fitted(&self, theta: &[f64]) -> Vec<(String, Shape, Vec<f64>)> {
        self.shared
            .iter()
            .filter(|s| s.at.is_some())
            .map(|s| {
                let values = self.values(s, theta).to_vec();
                (s.name.clone(), s.shape, values)
            })
            .collect()
    }

    /// The numbers of a shared input, given the free ones.
    pub fn values<'a>(&'a self, shared: &'a Shared, theta: &'a [f64]) -> &'a [f64] {
        match shared.at {
            Some(at) => &theta[at..at + shared.shape.len()],
            None => &shared.initial,
        }
    }
}
