//! What differentiation frameworks ask for on top of a program: tangents pushed forward, cotangents pulled back, again and again.
//! In: a derived program and the links of the chain; out: one graph.

use crate::derive::Derived;
use neural_compiler::{Diagnostics, diff};

/// A link: forward or reverse mode with respect to some inputs of what comes before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Link {
    /// Inputs: those before, then tangents of these; results: those before, then their tangents.
    Jvp(Vec<usize>),
    /// Inputs: those before, then a cotangent for each result; results: the cotangents of these inputs.
    Vjp(Vec<usize>),
}

/// Applies the links one after another.
pub(crate) fn apply(derived: Derived, chain: &[Link]) -> Result<Derived, Diagnostics> {
    let mut now = derived;
    for link in chain {
        now = match link {
            Link::Jvp(wrt) => {
                let axes = [now.axes.clone(), now.axes].concat();
                Derived { graph: diff::jvp(&now.graph, wrt), axes }
            }
            Link::Vjp(wrt) => Derived::new(diff::vjp(&now.graph, wrt)?),
        };
    }
    Ok(now)
}
