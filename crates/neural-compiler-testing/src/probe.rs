//! Batches for executors. In: a number of lanes; out: for each row of the table with probes, the program that applies it and columns that
//! repeat the probes, in the order of its inputs; and of any batch, the values of a lane.

use neural_compiler::graph::{Graph, GraphInput};
use neural_compiler::ops::Op;
use neural_compiler::ops::real::Real;
use neural_compiler::{Options, Tensor, compile};
use std::sync::Arc;

/// An operation to try.
pub struct Probe {
    /// The program.
    pub source: String,
    /// Its graph.
    pub graph: Arc<Graph>,
    /// A column for each input.
    pub columns: Vec<Vec<f64>>,
}

impl Probe {
    /// The columns in f32.
    pub fn narrow(&self) -> Vec<Vec<f32>> {
        self.columns.iter().map(|c| c.iter().map(|&x| x as f32).collect()).collect()
    }
}

/// All operations that have probes and a name in the language.
///
/// # Panics
/// If one does not compile.
pub fn probes(lanes: usize) -> impl Iterator<Item = Probe> {
    Op::ALL.iter().map(|op| op.row()).filter(|row| !row.probes.is_empty() && row.has_surface()).map(move |row| {
        let arity = row.probes[0].len();
        let source = format!("({} {})", row.name, ["x", "y", "z"][..arity].join(" "));
        let graph = compile(&source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{source}: {e}"));
        let columns = (0..arity).map(|k| (0..lanes).map(|l| row.probes[l % row.probes.len()][k]).collect()).collect();
        Probe { source, graph, columns }
    })
}

/// What a point, all numbers of all inputs, gives the program.
///
/// # Panics
/// If it has too few numbers.
pub fn inputs_at<T: Real>(graph: &Graph, point: &[f64]) -> Vec<Tensor<T>> {
    let mut rest = point;
    let input = |i: &GraphInput| {
        let (own, others) = rest.split_at(i.shape.len());
        rest = others;
        Tensor::from_f64(i.shape, own).expect("a point has the shapes of its program")
    };
    graph.inputs.iter().map(input).collect()
}

/// What a lane of a batch gives the program; of a shared input all lanes have the first row.
///
/// # Panics
/// If a column has too few rows.
pub fn values_of_lane<T: Real>(graph: &Graph, columns: &[Vec<T>], uniform: &[bool], lane: usize) -> Vec<Tensor<T>> {
    let rows = columns.iter().zip(&graph.inputs).zip(uniform);
    rows.map(|((column, input), &uniform)| {
        let n = input.shape.len();
        let at = if uniform { 0 } else { lane * n };
        Tensor::new(input.shape, column[at..at + n].to_vec()).expect("a column has whole rows")
    })
    .collect()
}
