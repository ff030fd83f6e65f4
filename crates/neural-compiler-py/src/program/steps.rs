//! What the user asks of a program, one after another: derivations of the core, steps of a solver, the values on the way. In: a graph and
//! steps; out: the graph they make of it.

use crate::fit::advance::advance;
use neural_compiler::Diagnostics;
use neural_compiler::diff::{self, Derived};
use neural_compiler::graph::{Graph, NodeId, Type, giving};
use neural_compiler::ode::Scheme;

/// Something asked of a program, with the inputs it concerns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A derivation.
    Derive(diff::Step),
    /// One step of a solver: the result is the derivatives of these states.
    Advance {
        /// How.
        scheme: Scheme,
        /// Inputs.
        states: Vec<usize>,
        /// The input that is the time, if one is.
        time: Option<usize>,
    },
    /// Every value of the main region as a result, in the order of its nodes.
    Values,
}

/// Applies steps one after another. `again`: the result is going to be pulled back, so it should not hold a tape.
pub(crate) fn apply(graph: &Graph, steps: &[Step], again: bool) -> Result<Derived, Diagnostics> {
    let last = steps.iter().rposition(|s| !matches!(s, Step::Derive(_)));
    let derivation = |s: &Step| if let Step::Derive(step) = s { Some(step.clone()) } else { None };
    let derivations: Vec<diff::Step> = steps[last.map_or(0, |k| k + 1)..].iter().filter_map(derivation).collect();
    let Some(last) = last else { return diff::derive(graph, &derivations, again) };
    let before = apply(graph, &steps[..last], true)?.graph;
    let made = match &steps[last] {
        Step::Advance { scheme, states, time } => advance(&before, *scheme, states, *time)?.graph,
        Step::Derive(_) | Step::Values => every_value(&before),
    };
    diff::derive(&made, &derivations, again)
}

fn every_value(graph: &Graph) -> Graph {
    let main = graph.main();
    let values: Vec<NodeId> = main.ids().filter(|&id| matches!(main.node(id).ty, Type::Value(_))).collect();
    giving(graph, values)
}
