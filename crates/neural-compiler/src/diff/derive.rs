//! What users ask for by name (`grad`, `jacobian`, `hessian`), one after another. In: a graph and steps; out: a graph whose results are
//! the derivatives alone.
//! Invariant: each step has a form without a tape, made in forward mode, so that its result can be pulled back again at the price of
//! one run.

use super::{blocks_fit, forward_jacobian, hessian, jacobian, scalar};
use crate::diagnostic::Diagnostics;
use crate::graph::{Graph, select};
use crate::shape::Shape;

/// A derivation, with the inputs it concerns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Derivatives of a scalar result.
    Grad(Vec<usize>),
    /// The scalar result and its derivatives.
    ValueAndGrad(Vec<usize>),
    /// Derivatives of every number of the result.
    Jacobian(Vec<usize>),
    /// Second derivatives of a scalar result, block by block.
    Hessian(Vec<usize>),
}

/// A graph and the axes of each of its results (which may be more than a matrix has; the numbers are the same, row by row).
#[derive(Clone, Debug)]
pub struct Derived {
    /// The graph.
    pub graph: Graph,
    /// The axes of its results.
    pub axes: Vec<Vec<usize>>,
}

impl Derived {
    /// A graph whose results have the axes of their shapes.
    pub fn new(graph: Graph) -> Derived {
        let axes = graph.outputs().into_iter().map(|s| s.dims()).collect();
        Derived { graph, axes }
    }
}

/// Applies steps one after another. `again`: the result is going to be pulled back, so it should not hold a tape.
pub fn derive(graph: &Graph, steps: &[Step], again: bool) -> Result<Derived, Diagnostics> {
    let Some((last, before)) = steps.split_last() else { return Ok(Derived::new(graph.clone())) };
    // Whatever its form, a step is quickest on a program that can be pulled back.
    let inner = derive(graph, before, true)?;
    let quick = one(&inner, last, false)?;
    if again && quick.graph.is_taped() { one(&inner, last, true) } else { Ok(quick) }
}

fn one(now: &Derived, step: &Step, forward: bool) -> Result<Derived, Diagnostics> {
    let all = |graph: &Graph, wrt: &[usize]| -> Result<Graph, Diagnostics> {
        if forward {
            let ins: Vec<Shape> = wrt.iter().map(|&i| graph.inputs[i].shape).collect();
            blocks_fit(&graph.outputs(), &ins)?;
            Ok(forward_jacobian(graph, wrt))
        } else {
            jacobian(graph, wrt)
        }
    };
    let graph = &now.graph;
    let needs_scalar =
        || scalar(graph, "ask for the jacobian instead, or reduce the result to a scalar, for instance with vsum, dot or ref");
    let dims = |wrt: &[usize]| -> Vec<Vec<usize>> { wrt.iter().map(|&i| graph.inputs[i].shape.dims()).collect() };
    Ok(match step {
        Step::Grad(wrt) => {
            needs_scalar()?;
            Derived { graph: behind(&all(graph, wrt)?, 1), axes: dims(wrt) }
        }
        Step::ValueAndGrad(wrt) => {
            needs_scalar()?;
            Derived { graph: all(graph, wrt)?, axes: [vec![vec![]], dims(wrt)].concat() }
        }
        Step::Jacobian(wrt) => {
            let axes = now.axes.iter().flat_map(|out| dims(wrt).into_iter().map(move |i| [&out[..], &i[..]].concat())).collect();
            Derived { graph: behind(&all(graph, wrt)?, now.axes.len()), axes }
        }
        Step::Hessian(wrt) => {
            needs_scalar()?;
            let axes = dims(wrt).into_iter().flat_map(|a| dims(wrt).into_iter().map(move |b| [&a[..], &b[..]].concat())).collect();
            let graph = if forward {
                let first = behind(&all(graph, wrt)?, 1);
                behind(&all(&first, wrt)?, wrt.len())
            } else {
                behind(&hessian(graph, wrt)?, 1 + wrt.len())
            };
            Derived { graph, axes }
        }
    })
}

/// Without the first `n` results.
fn behind(graph: &Graph, n: usize) -> Graph {
    select(graph, &(n..graph.outputs().len()).collect::<Vec<_>>())
}
