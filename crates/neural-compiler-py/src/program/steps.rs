//! What the user asks of a program, one after another: derivations of the core and steps of a solver. In: a graph and steps; out: the
//! graph they make of it.

use crate::fit::advance::advance;
use neural_compiler::Diagnostics;
use neural_compiler::diff::{self, Derived};
use neural_compiler::graph::Graph;
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
}

/// Applies steps one after another. `again`: the result is going to be pulled back, so it should not hold a tape.
pub(crate) fn apply(graph: &Graph, steps: &[Step], again: bool) -> Result<Derived, Diagnostics> {
    let last = steps.iter().rposition(|s| matches!(s, Step::Advance { .. }));
    let derivations: Vec<diff::Step> = steps[last.map_or(0, |k| k + 1)..]
        .iter()
        .map(|s| match s {
            Step::Derive(step) => step.clone(),
            Step::Advance { .. } => unreachable!("behind the last"),
        })
        .collect();
    let Some((k, Step::Advance { scheme, states, time })) = last.map(|k| (k, &steps[k])) else {
        return diff::derive(graph, &derivations, again);
    };
    let law = apply(graph, &steps[..k], true)?.graph;
    diff::derive(&advance(&law, *scheme, states, *time)?.graph, &derivations, again)
}
