//! One suite for all executors. In: something that runs a graph over a batch; out: nothing, or a panic that names the program, the lane and
//! the number. Every lane must equal the interpreter's result to the bit, NaNs, infinities, subnormal numbers and errors included, for
//! generated programs and their gradients, every row of the table, hard cases and the examples of the reference, in both number types.
//!
//! An executor takes part by implementing [`Executor`]; `tests/conformance.rs` instantiates the suite for each.

pub mod batch;
pub mod executors;
pub mod programs;

use crate::case::Case;
use crate::generate::{differentiable, everything};
use crate::probe::probes;
use batch::{Batch, Bits, columns, compare};
use neural_compiler::graph::Graph;
use neural_compiler::{Limits, Shape, diff};

pub use executors::Executor;

/// Small enough that a program that runs away ends soon.
pub fn limits() -> Limits {
    Limits { iterations: 2_000, depth: 60, steps: 5_000, ..Limits::default() }
}

/// What was compared.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Graphs.
    pub graphs: usize,
    /// Graphs of which a lane was compared.
    pub compared: usize,
    /// Lanes with a result.
    pub lanes: usize,
}

impl Tally {
    fn add(&mut self, lanes: usize) {
        self.graphs += 1;
        self.compared += usize::from(lanes > 0);
        self.lanes += lanes;
    }
}

/// A program and its gradient.
fn with_gradient(graph: &Graph) -> Vec<Graph> {
    let wrt: Vec<usize> = (0..graph.inputs.len()).collect();
    std::iter::once(graph.clone()).chain(diff::gradient(graph, &wrt)).collect()
}

/// A batch around the values of a case through one of the executors, in both number types. The lanes with a result.
fn both_types(executors: &[Box<dyn Executor>], graph: &Graph, values: &[(Shape, Vec<f64>)], how: How, what: &str) -> usize {
    let uniform: Vec<bool> = (0..values.len()).map(|i| i == 0 && how.shares).collect();
    let run = executors[0].options(how.traps);
    let wide = columns::<f64>(values, how.lanes, how.seed);
    let narrow = columns::<f32>(values, how.lanes, how.seed);
    let (lanes, gap, uniform) = (how.lanes, how.gap, &uniform[..]);
    let wide = compare(executors, &Batch { graph, columns: &wide, lanes, uniform, gap, run }, what);
    wide + compare(executors, &Batch { graph, columns: &narrow, lanes, uniform, gap, run }, what)
}

/// How a batch is made.
#[derive(Clone, Copy)]
struct How {
    seed: u64,
    lanes: usize,
    gap: usize,
    /// All lanes share the first input.
    shares: bool,
    traps: bool,
}

/// The executors of a seed: those that differ in something, such as a level of instructions, in turn.
type Choose<'a> = &'a dyn Fn(u64) -> Vec<Box<dyn Executor>>;

/// Generated programs and their gradients.
pub fn generated(choose: Choose<'_>, seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    let mut check = |case: &Case, seed: u64| {
        let Ok(compiled) = case.compile() else { return };
        let values: Vec<(Shape, Vec<f64>)> = compiled.inputs.iter().map(|i| (i.shape, i.data.clone())).collect();
        let pick = |from: &[usize]| from[seed as usize % from.len()];
        // Every other program shares its first input among all lanes.
        let how = How { seed, lanes: pick(&[1, 7, 16, 70, 300]), gap: pick(&[0, 0, 2]), shares: seed % 2 == 1, traps: seed % 7 == 6 };
        for graph in with_gradient(&compiled.graph) {
            tally.add(both_types(&choose(seed), &graph, &values, how, &case.source));
        }
    };
    for seed in seeds {
        check(&everything(seed), seed);
        check(&differentiable(seed), seed);
    }
    tally
}

/// Each row of the table at its probes, in batches that are no multiple of anything.
pub fn operations(executors: &[Box<dyn Executor>]) -> Tally {
    let mut tally = Tally::default();
    let lanes = 333;
    for probe in probes(lanes) {
        let (mut wide, mut narrow) = (probe.columns.clone(), probe.narrow());
        for (k, (w, n)) in wide.iter_mut().zip(&mut narrow).enumerate() {
            (w[200 + k], n[200 + k]) = (f64::odd_nan(7), f32::odd_nan(7));
        }
        let uniform = vec![false; wide.len()];
        let run = executors[0].options(false);
        let wide = compare(executors, &Batch { graph: &probe.graph, columns: &wide, lanes, uniform: &uniform, gap: 0, run }, &probe.source);
        let narrow =
            compare(executors, &Batch { graph: &probe.graph, columns: &narrow, lanes, uniform: &uniform, gap: 0, run }, &probe.source);
        assert_eq!((wide, narrow), (lanes, lanes), "{}", probe.source);
        tally.add(wide + narrow);
    }
    tally
}

/// Programs that need what generated ones rarely have, and their gradients, in batches of several sizes. Every lane has a result.
pub fn hard_cases(executors: &[Box<dyn Executor>]) -> Tally {
    let mut tally = Tally::default();
    for source in programs::hard() {
        let graph = programs::graph_of(&source);
        for (which, graph) in with_gradient(&graph).iter().enumerate() {
            let values: Vec<(Shape, Vec<f64>)> =
                graph.inputs.iter().enumerate().map(|(k, i)| (i.shape, vec![0.7 + 0.3 * k as f64; i.shape.len()])).collect();
            for (seed, lanes) in [1usize, 15, 129, 1100].into_iter().enumerate() {
                let how = How { seed: seed as u64, lanes, gap: seed % 2, shares: seed == 2, traps: false };
                let good = both_types(executors, graph, &values, how, &source);
                assert!(which > 0 || good == 2 * lanes, "{source}: {good} of {} lanes were compared", 2 * lanes);
                tally.add(good);
            }
        }
    }
    tally
}

/// The examples of the reference that run without a limit of their own, around their values.
pub fn examples(executors: &[Box<dyn Executor>]) -> Tally {
    let mut tally = Tally::default();
    for (seed, case) in programs::examples().iter().enumerate() {
        let Ok(compiled) = case.compile() else { continue };
        let values: Vec<(Shape, Vec<f64>)> = compiled.inputs.iter().map(|i| (i.shape, i.data.clone())).collect();
        let how = How { seed: seed as u64, lanes: [1, 19][seed % 2], gap: 0, shares: false, traps: false };
        for graph in with_gradient(&compiled.graph) {
            tally.add(both_types(executors, &graph, &values, how, &case.source));
        }
    }
    tally
}
