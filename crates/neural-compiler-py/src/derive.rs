//! Programs made of programs: what the user asks for (`grad`, `jacobian`, `hessian`). In: a graph and a step; out: a graph whose
//! results are the derivatives alone.
//! Invariant: each step has a form without a tape, made in forward mode, so that the result can be pulled back again.

use neural_compiler::Diagnostics;
use neural_compiler::diff;
use neural_compiler::graph::Graph;

/// A derivation the user asked for, with the inputs it concerns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    /// Derivatives of a scalar result.
    Grad(Vec<usize>),
    /// The scalar result and its derivatives.
    ValueAndGrad(Vec<usize>),
    /// Second derivatives of a scalar result, block by block.
    Hessian(Vec<usize>),
}

/// A graph and the axes of each of its results (which may be more than a matrix has; the numbers are the same, row by row).
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) graph: Graph,
    pub(crate) axes: Vec<Vec<usize>>,
}

impl Derived {
    pub(crate) fn new(graph: Graph) -> Derived {
        let axes = graph.outputs().into_iter().map(|s| s.dims()).collect();
        Derived { graph, axes }
    }

    /// Without its first `n` results.
    fn without_first(mut self, n: usize) -> Derived {
        let main = self.graph.main.0 as usize;
        self.graph.regions[main].results.drain(..n);
        self.axes.drain(..n);
        self
    }
}

/// Applies steps one after another.
pub(crate) fn derive(graph: &Graph, steps: &[Step]) -> Result<Derived, Diagnostics> {
    let mut now = Derived::new(graph.clone());
    for step in steps {
        now = one(now, step)?;
    }
    Ok(now)
}

fn one(now: Derived, step: &Step) -> Result<Derived, Diagnostics> {
    Ok(match step {
        Step::Grad(wrt) => Derived::new(diff::gradient(&now.graph, wrt)?).without_first(1),
        Step::ValueAndGrad(wrt) => Derived::new(diff::gradient(&now.graph, wrt)?),
        Step::Hessian(wrt) => {
            let dims: Vec<Vec<usize>> = wrt.iter().map(|&i| now.graph.inputs[i].shape.dims()).collect();
            let mut h = Derived::new(diff::hessian(&now.graph, wrt)?).without_first(1 + wrt.len());
            let pairs = dims.iter().flat_map(|a| dims.iter().map(move |b| [&a[..], &b[..]].concat()));
            h.axes = pairs.collect();
            h
        }
    })
}
