//! Every elementwise operation as a program and a batch. In: a number of lanes; out: for each row of the table with probes, the program
//! that applies it and columns that repeat the probes. Inputs stand in the order of the columns.

use neural_compiler::graph::Graph;
use neural_compiler::ops::Op;
use neural_compiler::{Options, compile};
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
