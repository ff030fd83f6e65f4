//! Programs made of programs: what the user asks for (`grad`, `jacobian`, `hessian`). In: a graph and steps; out: a graph whose
//! results are the derivatives alone.
//! Invariant: each step has a form without a tape, made in forward mode, so that its result can be pulled back again.

use crate::advance::advance;
use crate::splice::{Splice, select};
use neural_compiler::graph::{Graph, NodeId, Type};
use neural_compiler::ode::Scheme;
use neural_compiler::ops::Op;
use neural_compiler::source::Span;
use neural_compiler::{Diagnostic, Diagnostics, Shape, diff};

/// A derivation the user asked for, with the inputs it concerns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Derivatives of a scalar result.
    Grad(Vec<usize>),
    /// The scalar result and its derivatives.
    ValueAndGrad(Vec<usize>),
    /// Derivatives of every number of the result.
    Jacobian(Vec<usize>),
    /// Second derivatives of a scalar result, block by block.
    Hessian(Vec<usize>),
    /// One step of a solver: the result is the derivatives of these states.
    Advance {
        /// How.
        scheme: Scheme,
        /// Inputs.
        states: Vec<usize>,
        /// The input that is the time, if one is.
        time: Option<usize>,
    },
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

    /// Whether it stores a tape, which reverse mode does not go through.
    fn is_taped(&self) -> bool {
        self.graph.regions.iter().any(|r| r.nodes.iter().any(|n| n.ty == Type::Record))
    }
}

/// Applies steps one after another. `again`: the result is going to be pulled back, so it must not hold a tape.
pub(crate) fn derive(graph: &Graph, steps: &[Step], again: bool) -> Result<Derived, Diagnostics> {
    let Some((last, before)) = steps.split_last() else { return Ok(Derived::new(graph.clone())) };
    // Whatever its form, a step is quickest on a program that can be pulled back.
    let inner = derive(graph, before, true)?;
    let quick = one(&inner, last, false)?;
    if again && quick.is_taped() { one(&inner, last, true) } else { Ok(quick) }
}

fn one(now: &Derived, step: &Step, forward: bool) -> Result<Derived, Diagnostics> {
    let jacobian = |graph: &Graph, wrt: &[usize]| if forward { forward_jacobian(graph, wrt) } else { diff::jacobian(graph, wrt) };
    let graph = &now.graph;
    let dims = |wrt: &[usize]| -> Vec<Vec<usize>> { wrt.iter().map(|&i| graph.inputs[i].shape.dims()).collect() };
    Ok(match step {
        Step::Grad(wrt) => {
            needs_scalar(graph)?;
            Derived { graph: behind(jacobian(graph, wrt)?, 1), axes: dims(wrt) }
        }
        Step::ValueAndGrad(wrt) => {
            needs_scalar(graph)?;
            Derived { graph: jacobian(graph, wrt)?, axes: [vec![vec![]], dims(wrt)].concat() }
        }
        Step::Jacobian(wrt) => {
            let axes = now.axes.iter().flat_map(|out| dims(wrt).into_iter().map(move |i| [&out[..], &i[..]].concat())).collect();
            Derived { graph: behind(jacobian(graph, wrt)?, now.axes.len()), axes }
        }
        Step::Hessian(wrt) => {
            needs_scalar(graph)?;
            let axes = dims(wrt).into_iter().flat_map(|a| dims(wrt).into_iter().map(move |b| [&a[..], &b[..]].concat())).collect();
            let graph = if forward {
                let first = behind(forward_jacobian(graph, wrt)?, 1);
                behind(forward_jacobian(&first, wrt)?, wrt.len())
            } else {
                behind(diff::hessian(graph, wrt)?, 1 + wrt.len())
            };
            Derived { graph, axes }
        }
        Step::Advance { scheme, states, time } => advance(graph, *scheme, states, *time)?,
    })
}

/// Without the first `n` results.
fn behind(graph: Graph, n: usize) -> Graph {
    let all = graph.outputs().len();
    select(&graph, &(n..all).collect::<Vec<_>>())
}

fn needs_scalar(graph: &Graph) -> Result<(), Diagnostics> {
    match graph.outputs()[..] {
        [Shape::Scalar] => Ok(()),
        ref other => {
            let found = other.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
            Err(Diagnostic::error(
                "grad-needs-scalar",
                Span::default(),
                format!("a gradient is that of a scalar, the program gives a {found}"),
            )
            .help("ask for the jacobian instead, or reduce the result to a scalar, for instance with vsum, dot or ref")
            .into())
        }
    }
}

/// Results, then for each result and each input in `wrt` the block of derivatives, all in forward mode: as many runs as the inputs
/// have numbers, and no tape.
fn forward_jacobian(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    let outs = graph.outputs();
    diff::blocks_fit(&outs, &wrt.iter().map(|&i| graph.inputs[i].shape).collect::<Vec<_>>())?;
    let mut s = Splice::new(graph.inputs.clone());
    let inputs = s.inputs.clone();
    let along = s.adopt(&diff::jvp(graph, wrt));
    let mut results: Vec<NodeId> = Vec::new();
    let mut columns: Vec<Vec<Vec<NodeId>>> = Vec::new();
    for &i in wrt {
        let mut found: Vec<Vec<NodeId>> = vec![Vec::new(); outs.len()];
        for k in 0..graph.inputs[i].shape.len() {
            let mut args = inputs.clone();
            for &j in wrt {
                let shape = graph.inputs[j].shape;
                args.push(if i == j { s.unit(k, shape) } else { s.builder.zeros(shape) });
            }
            let out = s.inline(along, &args);
            results = out[..outs.len()].to_vec();
            found.iter_mut().zip(&out[outs.len()..]).for_each(|(f, &o)| f.push(o));
        }
        columns.push(found);
    }
    if wrt.is_empty() {
        results = s.inline(along, &inputs)[..outs.len()].to_vec();
    }
    for (k, &out) in outs.iter().enumerate() {
        for (&i, found) in wrt.iter().zip(&columns) {
            results.push(block(&mut s, &found[k], out, graph.inputs[i].shape));
        }
    }
    Ok(s.finish(results))
}

/// Columns (derivatives of a result along each number of an input) as one value.
fn block(s: &mut Splice, columns: &[NodeId], out: Shape, input: Shape) -> NodeId {
    match (out, input) {
        (_, Shape::Scalar) => columns[0],
        (Shape::Scalar, _) => s.builder.given(Op::Join, 0, input, columns),
        _ => {
            let joined = s.builder.given(Op::Join, 0, Shape::Matrix(input.len() as u32, out.len() as u32), columns);
            s.builder.op(Op::Transpose, &[joined])
        }
    }
}
