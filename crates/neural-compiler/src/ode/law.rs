//! The law of some states. In: a graph from states, what all lanes share, time and forcing to derivatives (or next values); out: the same
//! with the numbers a step needs to know of it.

use crate::graph::{Graph, GraphInput};

/// How states change.
#[derive(Clone, Debug)]
pub struct Law {
    /// Inputs: the vector of all states, `shared` inputs, the time, forcing. Result: the vector of derivatives, or of next values.
    pub graph: Graph,
    /// Numbers of all states.
    pub size: usize,
    /// Inputs that are the same for every lane and at every time.
    pub shared: usize,
}

impl Law {
    /// Inputs that are read from data at every time.
    pub fn forcing(&self) -> &[GraphInput] {
        &self.graph.inputs[2 + self.shared..]
    }
}
