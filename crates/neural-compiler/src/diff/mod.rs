//! Derivatives as programs: graph in, graph out. `forward` pushes tangents from inputs to results, `reverse` pulls cotangents back.
//!
//! A derivative is an ordinary graph: it can be printed, run by every executor, and differentiated again. Reverse mode through
//! loops and recursion stores what it needs in records (the tape); forward mode goes through such graphs too, so
//! forward-over-reverse works everywhere. Reverse mode of a graph that already holds records does not exist; the same derivative
//! is had as reverse-over-forward, which is how [`hessian`] and [`hvp`] work.

mod activity;
mod forward;
mod repeat;
mod reverse;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{Builder, Graph, GraphInput, NodeId, Type, assemble, copy};
use crate::ops::Op;
use crate::shape::Shape;
use crate::source::Span;

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
    assemble(f.regions, b.finish(results), named)
}

/// Reverse mode. Inputs: the original ones, then a cotangent `bar.K` for each result; results: the original ones, then the
/// cotangents of the inputs in `wrt`.
pub fn vjp(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    let shapes = graph.outputs();
    let mut b = Builder::new("main");
    let inputs: Vec<NodeId> = graph.inputs.iter().map(|i| b.param(Type::Value(i.shape))).collect();
    let seeds: Vec<Option<NodeId>> = shapes.iter().map(|&s| Some(b.param(Type::Value(s)))).collect();
    let mut named = graph.inputs.clone();
    named.extend(shapes.iter().enumerate().map(|(k, &shape)| GraphInput { name: format!("bar.{k}"), shape }));
    pull_back(graph, wrt, b, inputs, seeds, named)
}

/// Reverse mode of a scalar program. Results: the value, then the gradient with respect to each input in `wrt`.
pub fn gradient(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    needs_scalar(graph)?;
    let mut b = Builder::new("main");
    let inputs: Vec<NodeId> = graph.inputs.iter().map(|i| b.param(Type::Value(i.shape))).collect();
    let one = b.constant(1.0);
    pull_back(graph, wrt, b, inputs, vec![Some(one)], graph.inputs.clone())
}

/// Hessian-vector product of a scalar program, reverse over forward. Inputs: the original ones, then a direction `d.NAME` for
/// each input in `wrt`; results: the value, its derivative in that direction, and the product for each input in `wrt`.
pub fn hvp(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    product(graph, wrt, wrt)
}

/// The product along some inputs, for some inputs.
fn product(graph: &Graph, along: &[usize], wrt: &[usize]) -> Result<Graph, Diagnostics> {
    needs_scalar(graph)?;
    let along = jvp(graph, along);
    let mut b = Builder::new("main");
    let inputs: Vec<NodeId> = along.inputs.iter().map(|i| b.param(Type::Value(i.shape))).collect();
    let one = b.constant(1.0);
    pull_back(&along, wrt, b, inputs, vec![None, Some(one)], along.inputs.clone())
}

/// A Hessian of a graph of so many nodes, times the number of inputs, has a product for each input.
const MOST_NODES_APART: usize = 20_000;

/// All second derivatives of a scalar program. Results: the value, the gradient with respect to each input in `wrt`, then the
/// blocks `H(i, j)` row by row: a scalar for two scalars, the other's shape for one scalar, else a matrix of both sizes.
pub fn hessian(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    let first = gradient(graph, wrt)?;
    let mut b = Builder::new("main");
    let inputs: Vec<NodeId> = graph.inputs.iter().map(|i| b.param(Type::Value(i.shape))).collect();
    let mut results = copy::inline(&mut b, first.main(), &first.regions, &inputs);
    let shapes: Vec<Shape> = wrt.iter().map(|&i| graph.inputs[i].shape).collect();
    let times: usize = shapes.iter().map(|s| s.len()).sum();
    blocks_fit(&shapes, &shapes).map_err(|e| e.help("ask for products with directions (hvp) instead"))?;
    // One product per input, in which the others stand still by structure: a slope that does not exist in one of them (that of a power
    // of a negative base in its exponent) must not meet a direction of 0. Where that would make the graph large, one product for all.
    let nodes: usize = graph.regions.iter().map(|r| r.nodes.len()).sum();
    let apart = nodes * wrt.len() <= MOST_NODES_APART;
    let mut regions = first.regions.clone();
    let mut shared = if apart { None } else { Some(repeat::Copies::new(std::mem::take(&mut regions), &hvp(graph, wrt)?, times)) };
    for i in 0..wrt.len() {
        let (copies, directions, which) = match shared.take() {
            Some(copies) => (copies, &shapes[..], i),
            None => (repeat::Copies::new(std::mem::take(&mut regions), &product(graph, &wrt[i..=i], wrt)?, times), &shapes[i..=i], 0),
        };
        let mut blocks = copies.along_each(&mut b, &inputs, directions, which);
        // The value and its derivative in the direction come before the products.
        results.extend(blocks.drain(2..).enumerate().map(|(j, row)| repeat::block(&mut b, &row, shapes[i], shapes[j])));
        if apart { regions = copies.regions } else { shared = Some(copies) }
    }
    let regions = shared.map_or(regions, |copies| copies.regions);
    Ok(assemble(regions, b.finish(results), graph.inputs.clone()))
}

/// The Jacobian of a program with any results. Results: the original ones, then for each of them and each input in `wrt` a block
/// of derivatives: a scalar for two scalars, the other's shape for one scalar, else a matrix with a row per number of the result
/// and a column per number of the input. By forward or reverse mode, whichever needs fewer runs.
pub fn jacobian(graph: &Graph, wrt: &[usize]) -> Result<Graph, Diagnostics> {
    let outs = graph.outputs();
    let ins: Vec<Shape> = wrt.iter().map(|&i| graph.inputs[i].shape).collect();
    blocks_fit(&outs, &ins).map_err(|e| e.help("ask for products with directions (jvp, vjp) instead"))?;
    let count = |shapes: &[Shape]| shapes.iter().map(|s| s.len()).sum::<usize>();
    let mut b = Builder::new("main");
    let inputs: Vec<NodeId> = graph.inputs.iter().map(|i| b.param(Type::Value(i.shape))).collect();
    let mut results = copy::inline(&mut b, graph.main(), &graph.regions, &inputs);
    let backward = if count(&outs) < count(&ins) { vjp(graph, wrt).ok() } else { None };
    let copies = match backward {
        Some(back) => {
            let copies = repeat::Copies::new(graph.regions.clone(), &back, count(&outs));
            for (k, &out) in outs.iter().enumerate() {
                let rows = copies.along_each(&mut b, &inputs, &outs, k);
                results.extend(rows[outs.len()..].iter().zip(&ins).map(|(row, &input)| repeat::block(&mut b, row, out, input)));
            }
            copies
        }
        None => {
            let copies = repeat::Copies::new(graph.regions.clone(), &jvp(graph, wrt), count(&ins));
            let columns: Vec<Vec<Vec<NodeId>>> = (0..wrt.len()).map(|i| copies.along_each(&mut b, &inputs, &ins, i)).collect();
            for (k, &out) in outs.iter().enumerate() {
                for (i, &input) in ins.iter().enumerate() {
                    let turned = repeat::block(&mut b, &columns[i][outs.len() + k], input, out);
                    let matrix = matches!(b.shape(turned), Shape::Matrix(..)) && input != Shape::Scalar && out != Shape::Scalar;
                    results.push(if matrix { b.op(Op::Transpose, &[turned]) } else { turned });
                }
            }
            copies
        }
    };
    Ok(assemble(copies.regions, b.finish(results), graph.inputs.clone()))
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
    match graph.outputs()[..] {
        [Shape::Scalar] => Ok(()),
        ref other => {
            let found = other.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
            let span = graph.main().results.first().map_or(Span::default(), |&r| graph.main().node(r).span);
            Err(Diagnostic::error("grad-needs-scalar", span, format!("a gradient is that of a scalar, the program gives a {found}"))
                .help("reduce the result to a scalar, for instance with vsum, dot or ref")
                .into())
        }
    }
}

fn pull_back(
    graph: &Graph,
    wrt: &[usize],
    mut b: Builder,
    inputs: Vec<NodeId>,
    seeds: Vec<Option<NodeId>>,
    named: Vec<GraphInput>,
) -> Result<Graph, Diagnostics> {
    if graph.regions.iter().any(|r| r.nodes.iter().any(|n| n.ty == Type::Record)) {
        let message = "reverse mode of a program that already stores a tape";
        return Err(Diagnostic::error("reverse-of-tape", Span::default(), message)
            .help("differentiate the original program forward first, or use hvp or hessian")
            .into());
    }
    let mut r = reverse::Reverse::new(graph);
    let wanted: Vec<bool> = (0..graph.inputs.len()).map(|i| wrt.contains(&i)).collect();
    let (mut results, cotangents) = r.whole(&mut b, &inputs, &wanted, &seeds);
    for &i in wrt {
        let shape = graph.inputs[i].shape;
        results.push(cotangents[i].unwrap_or_else(|| b.zeros(shape)));
    }
    Ok(assemble(r.regions, b.finish(results), named))
}
