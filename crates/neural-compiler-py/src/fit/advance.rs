//! A step of a solver as a program. In: the law of some states (a graph from states and other inputs to their derivatives); out: a graph
//! from the same inputs and the length `h` of the step to the states after it, and their error estimates where the scheme has one.

use neural_compiler::diff::Derived;
use neural_compiler::graph::{Graph, GraphInput, NodeId, Splice};
use neural_compiler::ode::{self, Law, Scheme};
use neural_compiler::ops::Op;
use neural_compiler::{Diagnostic, Diagnostics, Shape};

/// Cuts the values of the states out of a vector of them all.
fn apart(s: &mut Splice, all: NodeId, shapes: &[Shape]) -> Vec<NodeId> {
    let mut at = 0;
    let mut cut = |shape: &Shape| {
        let from = at as u32;
        at += shape.len();
        if s.builder.shape(all) == *shape { all } else { s.builder.given(Op::Cut, from, *shape, &[all]) }
    };
    shapes.iter().map(&mut cut).collect()
}

/// The law as the solver wants it: inputs are the vector of all states, the others, the time.
fn law(graph: &Graph, states: &[usize], others: &[usize], time: Option<usize>, size: usize) -> Result<Graph, Diagnostics> {
    let vector = Shape::Vector(size as u32);
    let mut named = vec![GraphInput { name: "states".into(), shape: vector }];
    named.extend(others.iter().map(|&i| graph.inputs[i].clone()));
    named.push(GraphInput { name: "time".into(), shape: Shape::Scalar });
    let mut s = Splice::new("main", named);
    let shapes: Vec<Shape> = states.iter().map(|&i| graph.inputs[i].shape).collect();
    let inputs = s.inputs.clone();
    let values = apart(&mut s, inputs[0], &shapes);
    let now = inputs[inputs.len() - 1];
    let mut args = vec![now; graph.inputs.len()];
    states.iter().zip(values).for_each(|(&i, v)| args[i] = v);
    others.iter().zip(&inputs[1..]).for_each(|(&i, &v)| args[i] = v);
    time.into_iter().for_each(|i| args[i] = now);
    let found = s.run(graph, &args);
    let count: usize = graph.outputs().iter().map(|o| o.len()).sum();
    if count != size {
        let message = format!("the states have {size} numbers, the program gives {count} derivatives");
        return Err(Diagnostic::error("shape-mismatch", Default::default(), message).into());
    }
    let whole =
        if found.len() == 1 && s.builder.shape(found[0]) == vector { found[0] } else { s.builder.given(Op::Join, 0, vector, &found) };
    Ok(s.finish(vec![whole]))
}

/// One step of `scheme`. Results: the states after it, then their error estimates, if there are any.
pub(crate) fn advance(graph: &Graph, scheme: Scheme, states: &[usize], time: Option<usize>) -> Result<Derived, Diagnostics> {
    let shapes: Vec<Shape> = states.iter().map(|&i| graph.inputs[i].shape).collect();
    let size: usize = shapes.iter().map(|s| s.len()).sum();
    let others: Vec<usize> = (0..graph.inputs.len()).filter(|i| !states.contains(i) && time != Some(*i)).collect();
    let law = Law { graph: law(graph, states, &others, time, size)?, size, shared: others.len() };
    let errors = scheme.error_order().is_some();
    let step = ode::step(&law, scheme, errors)?;
    let mut named = graph.inputs.clone();
    named.push(GraphInput { name: "h".into(), shape: Shape::Scalar });
    let mut s = Splice::new("main", named);
    let inputs = s.inputs.clone();
    let vector = Shape::Vector(size as u32);
    let values: Vec<NodeId> = states.iter().map(|&i| inputs[i]).collect();
    let whole = if values.len() == 1 && shapes[0] == vector { values[0] } else { s.builder.given(Op::Join, 0, vector, &values) };
    let now = time.map_or_else(|| s.builder.constant(0.0), |i| inputs[i]);
    let mut args = vec![whole];
    args.extend(others.iter().map(|&i| inputs[i]));
    args.extend([now, inputs[inputs.len() - 1]]);
    let found = s.run(&step, &args);
    let results: Vec<NodeId> = found.iter().flat_map(|&all| apart(&mut s, all, &shapes)).collect();
    Ok(Derived::new(s.finish(results)))
}
