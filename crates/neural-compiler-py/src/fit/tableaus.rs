//! The numbers of the solver's schemes for Python, whose steps in torch operations use the same. In: nothing; out: lists of numbers.

use neural_compiler_fit::dynamics::tableaus::{DOPRI5, RODAS4};
use pyo3::prelude::*;

type Rows = Vec<Vec<f64>>;

fn rows(of: &[&[f64]]) -> Rows {
    of.iter().map(|row| row.to_vec()).collect()
}

/// Nodes, weights by stage, weights of the error.
#[pyfunction]
pub(crate) fn dopri5() -> (Vec<f64>, Rows, Vec<f64>) {
    (DOPRI5.nodes.to_vec(), rows(&DOPRI5.weights), DOPRI5.error.to_vec())
}

/// Gamma, nodes, weights of the derivative by time, and by stage those of earlier stages: in its states, in its right-hand side.
#[pyfunction]
pub(crate) fn rodas4() -> (f64, Vec<f64>, Vec<f64>, Rows, Rows) {
    (RODAS4.gamma, RODAS4.nodes.to_vec(), RODAS4.time.to_vec(), rows(&RODAS4.a), rows(&RODAS4.c))
}
