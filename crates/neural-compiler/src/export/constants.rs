//! Inputs that have become constants. In: a graph and values for some of its inputs; out: the graph of the others.
//! Invariant: every result has the bits it has when the values come in as inputs.

use crate::graph::{Builder, Graph, GraphInput, NodeId, Type, assemble, copy};
use crate::ops::Op;
use crate::shape::Shape;

/// The same program with values in place of inputs, wherever there are any.
pub fn with_constants(graph: &Graph, values: &[Option<Vec<f64>>]) -> Graph {
    let mut b = Builder::new("main");
    let free = |i: usize| values.get(i).is_none_or(Option::is_none);
    let mut args: Vec<Option<NodeId>> = vec![None; graph.inputs.len()];
    let mut inputs: Vec<GraphInput> = Vec::new();
    for (i, input) in graph.inputs.iter().enumerate().filter(|(i, _)| free(*i)) {
        args[i] = Some(b.param(Type::Value(input.shape)));
        inputs.push(input.clone());
    }
    for (i, input) in graph.inputs.iter().enumerate() {
        let Some(Some(numbers)) = values.get(i) else { continue };
        let numbers: Vec<NodeId> = numbers.iter().map(|&x| b.constant(x)).collect();
        args[i] = Some(if input.shape == Shape::Scalar { numbers[0] } else { b.given(Op::Join, 0, input.shape, &numbers) });
    }
    let args: Vec<NodeId> = args.into_iter().flatten().collect();
    let results = copy::inline(&mut b, graph.main(), &graph.regions, &args);
    assemble(graph.regions.clone(), b.finish(results), inputs)
}
