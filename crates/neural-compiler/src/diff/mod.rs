//! Derivatives as programs: graph in, graph out. `forward` pushes tangents from inputs to results, `reverse` pulls cotangents back.
//!
//! A derivative is an ordinary graph: it can be printed, run by every executor, and differentiated again, in either mode. Reverse mode
//! through loops and recursion stores what it needs in records (the tape); forward mode goes through such graphs as they are, reverse
//! mode goes back to the form without a tape that such a graph remembers (`chain`).

mod activity;
mod chain;
mod derive;
mod forward;
mod repeat;
mod reverse;

pub(crate) use chain::Form;
pub use chain::{Chained, Link, chain};
pub use derive::{Derived, Step, derive};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{Builder, Graph, GraphInput, NodeId, Splice, Type, assemble, copy};
use crate::ops::Op;
use crate::shape::Shape;
use crate::source::Span;
use chain::Seed;
use std::sync::Arc;

/// Forward mode. Inputs: the original ones, then a tangent `d.NAME` for each input in `wrt`; results: the original ones, then
/// their tangents.
pub fn jvp(graph: &Graph, wrt: &[usize]) -> Graph {
    let mut f = forward::Forward::new(graph);
    let active: Vec<bool> = (0..graph.inputs.len()).map(|i| wrt.contains(&i)).collect();
    let results = vec![true; graph.main().results.len()];
    let region = f.region(graph.main, &active, &results, &forward::Groups::whole(graph.main()));
    // The region takes tangents in the order of the inputs; hand them on in the order of `wrt`.
    let mut b = Builder::new("main");
    let inputs: Vec<NodeId> = graph.inputs.iter().map(|i| b.param(Type::Value(i.shape))).collect();
    let tangents: Vec<(usize, NodeId)> = wrt.iter().map(|&i| (i, b.param(Type::Value(graph.inputs[i].shape)))).collect();
    let mut args = inputs;
    for i in (0..graph.inputs.len()).filter(|&i| active[i]) {
        args.extend(tangents.iter().find(|t| t.0 == i).map(|t| t.1));
    }
    let body = f.take(region);
    let results = copy::inline(&mut b, &body, &f.regions, &args);
    let mut named = graph.inputs.clone();
    named.extend(wrt.iter().map(|&i| GraphInput { name: format!("d.{}", graph.inputs[i].name), shape: graph.inputs[i].shape }));
    let mut made = assemble(f.regions, b.finish(results), named);
    if let Some(form) = &graph.origin
        && distinct(wrt)
        && made.is_taped()
    {
        made.origin = Some(Arc::new(Form::clone(form).jvp(wrt)));
    }
    made
}

/// Reverse mode. Inputs: the original ones, then a cotangent `bar.K` for each result; results: the original ones, then the
/// cotangents of the inputs in `wrt`.
pub fn vjp(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    pull_back(graph, wrt, &vec![Seed::Given; graph.outputs().len()])
}

/// Reverse mode of a scalar program. Results: the value, then the gradient with respect to each input in `wrt`.
pub fn gradient(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    needs_scalar(graph)?;
    pull_back(graph, wrt, &[Seed::One])
}

/// Hessian-vector product of a scalar program, reverse over forward. Inputs: the original ones, then a direction `d.NAME` for
/// each input in `wrt`; results: the value, its derivative in that direction, and the product for each input in `wrt`.
pub fn hvp(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    product(graph, wrt, wrt)
}

/// The product along some inputs, for some inputs.
fn product(graph: &Graph, along: &[usize], wrt: &[usize]) -> Result<Graph, Diagnostics> {
    needs_scalar(graph)?;
    pull_back(&jvp(graph, along), wrt, &[Seed::Zero, Seed::One])
}

/// A Hessian of a graph of so many nodes, times the number of inputs, has a product for each input.
const MOST_NODES_APART: usize = 20_000;

/// All second derivatives of a scalar program. Results: the value, the gradient with respect to each input in `wrt`, then the
/// blocks `H(i, j)` row by row: a scalar for two scalars, the other's shape for one scalar, else a matrix of both sizes.
pub fn hessian(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    let first = gradient(graph, wrt)?;
    let mut s = Splice::new("main", graph.inputs.clone());
    let inputs = s.inputs.clone();
    let mut results = s.run(&first, &inputs);
    let shapes: Vec<Shape> = wrt.iter().map(|&i| graph.inputs[i].shape).collect();
    let times: usize = shapes.iter().map(|s| s.len()).sum();
    blocks_fit(&shapes, &shapes).map_err(|e| e.help("ask for products with directions (hvp) instead"))?;
    // One product per input, in which the others stand still by structure: a slope that does not exist in one of them (that of a power
    // of a negative base in its exponent) must not meet a direction of 0. Where that would make the graph large, one product for all.
    let apart = graph.size() * wrt.len() <= MOST_NODES_APART;
    let shared = if apart { None } else { Some(repeat::Copies::new(&mut s, &hvp(graph, wrt)?, times)) };
    for i in 0..wrt.len() {
        let own;
        let (copies, directions, which) = match &shared {
            Some(copies) => (copies, &shapes[..], i),
            None => {
                own = repeat::Copies::new(&mut s, &product(graph, &wrt[i..=i], wrt)?, times);
                (&own, &shapes[i..=i], 0)
            }
        };
        let mut blocks = copies.along_each(&mut s, &inputs, directions, which);
        // The value and its derivative in the direction come before the products.
        results.extend(blocks.drain(2..).enumerate().map(|(j, row)| repeat::block(&mut s.builder, &row, shapes[i], shapes[j])));
    }
    Ok(s.finish(results))
}

/// The Jacobian of a program with any results. Results: the original ones, then for each of them and each input in `wrt` a block
/// of derivatives: a scalar for two scalars, the other's shape for one scalar, else a matrix with a row per number of the result
/// and a column per number of the input. By forward or reverse mode, whichever needs fewer runs.
pub fn jacobian(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    let outs = graph.outputs();
    let ins: Vec<Shape> = wrt.iter().map(|&i| graph.inputs[i].shape).collect();
    blocks_fit(&outs, &ins).map_err(|e| e.help("ask for products with directions (jvp, vjp) instead"))?;
    let count = |shapes: &[Shape]| shapes.iter().map(|s| s.len()).sum::<usize>();
    if count(&outs) >= count(&ins) || graph.is_taped() {
        return Ok(forward_jacobian(graph, wrt));
    }
    let mut s = Splice::new("main", graph.inputs.clone());
    let inputs = s.inputs.clone();
    let mut results = s.run(graph, &inputs);
    let copies = repeat::Copies::new(&mut s, &vjp(graph, wrt)?, count(&outs));
    for (k, &out) in outs.iter().enumerate() {
        let rows = copies.along_each(&mut s, &inputs, &outs, k);
        results.extend(rows[outs.len()..].iter().zip(&ins).map(|(row, &input)| repeat::block(&mut s.builder, row, out, input)));
    }
    Ok(s.finish(results))
}

/// The same in forward mode: as many runs as the inputs have numbers, and no tape.
fn forward_jacobian(graph: &Graph, wrt: &[usize]) -> Graph {
    let outs = graph.outputs();
    let ins: Vec<Shape> = wrt.iter().map(|&i| graph.inputs[i].shape).collect();
    let mut s = Splice::new("main", graph.inputs.clone());
    let inputs = s.inputs.clone();
    let mut results = s.run(graph, &inputs);
    let copies = repeat::Copies::new(&mut s, &jvp(graph, wrt), ins.iter().map(|s| s.len()).sum());
    let columns: Vec<Vec<Vec<NodeId>>> = (0..wrt.len()).map(|i| copies.along_each(&mut s, &inputs, &ins, i)).collect();
    for (k, &out) in outs.iter().enumerate() {
        for (i, &input) in ins.iter().enumerate() {
            let turned = repeat::block(&mut s.builder, &columns[i][outs.len() + k], input, out);
            let matrix = matches!(s.builder.shape(turned), Shape::Matrix(..)) && input != Shape::Scalar && out != Shape::Scalar;
            results.push(if matrix { s.builder.op(Op::Transpose, &[turned]) } else { turned });
        }
    }
    s.finish(results)
}

/// Whether each block of derivatives, a number for each of a result and each of an input, is a value some run could hold. Where it is not,
/// not even the graph that would make it is worth making.
pub fn blocks_fit(results: &[Shape], inputs: &[Shape]) -> Result<(), Diagnostic> {
    let large = |out: &Shape| inputs.iter().find(|i| i.len().saturating_mul(out.len()) > u32::MAX as usize).map(|i| (out.len(), i.len()));
    match results.iter().find_map(large) {
        Some((rows, columns)) => {
            let message = format!("the derivatives of {rows} numbers by {columns} are more than a value can hold");
            Err(Diagnostic::error("limit-memory", Span::default(), message))
        }
        None => Ok(()),
    }
}

fn needs_scalar(graph: &Graph) -> Result<(), Diagnostics> {
    scalar(graph, "reduce the result to a scalar, for instance with vsum, dot or ref")
}

/// An error with this advice unless the graph's only result is a scalar.
fn scalar(graph: &Graph, help: &str) -> Result<(), Diagnostics> {
    match graph.outputs()[..] {
        [Shape::Scalar] => Ok(()),
        ref other => {
            let found = other.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
            let span = graph.main().results.first().map_or(Span::default(), |&r| graph.main().node(r).span);
            Err(Diagnostic::error("grad-needs-scalar", span, format!("a gradient is that of a scalar, the program gives a {found}"))
                .help(help)
                .into())
        }
    }
}

fn distinct(wrt: &[usize]) -> bool {
    wrt.iter().enumerate().all(|(k, i)| !wrt[..k].contains(i))
}

/// Reverse mode with these cotangents of the results. Inputs: the original ones, then those that are given; results: the original ones,
/// then the cotangents of the inputs in `wrt`.
fn pull_back(graph: &Graph, wrt: &[usize], seeds: &[Seed]) -> Result<Graph, Diagnostics> {
    if graph.is_taped() {
        // Reverse mode does not go through a tape.
        return match graph.origin.is_some() && distinct(wrt) {
            true => Ok(Form::pulled(graph, wrt, seeds).lower()?.derived.graph),
            false => Ok(chain::transposed(graph, wrt, seeds)),
        };
    }
    let mut b = Builder::new("main");
    let inputs: Vec<NodeId> = graph.inputs.iter().map(|i| b.param(Type::Value(i.shape))).collect();
    let mut named = graph.inputs.clone();
    let mut bar = |b: &mut Builder, (k, shape): (usize, Shape)| {
        named.push(GraphInput { name: format!("bar.{k}"), shape });
        b.param(Type::Value(shape))
    };
    let bars: Vec<Option<NodeId>> = (seeds.iter().zip(graph.outputs()).enumerate())
        .map(|(k, (seed, shape))| match seed {
            Seed::Zero => None,
            Seed::One => Some(b.constant(1.0)),
            Seed::Given => Some(bar(&mut b, (k, shape))),
        })
        .collect();
    let mut r = reverse::Reverse::new(graph);
    let wanted: Vec<bool> = (0..graph.inputs.len()).map(|i| wrt.contains(&i)).collect();
    let (mut results, cotangents) = r.whole(&mut b, &inputs, &wanted, &bars);
    for &i in wrt {
        let shape = graph.inputs[i].shape;
        results.push(cotangents[i].unwrap_or_else(|| b.zeros(shape)));
    }
    let mut made = assemble(r.regions, b.finish(results), named);
    if distinct(wrt) && made.is_taped() {
        made.origin = Some(Arc::new(Form::pulled(graph, wrt, seeds)));
    }
    Ok(made)
}
