//! When two programs are one. In: graphs; out: a hash that names, comments and places do not change.
//! Invariant: graphs of one hash compute the same, to the bit: the hash is that of every node, constant, shape and region, inputs counted
//! in order.

use neural_compiler::graph::{Graph, json};
use neural_compiler_fit::save::sha256;
use serde_json::Value;

/// The hash of a graph.
pub(crate) fn hash(graph: &Graph) -> String {
    let mut whole = json::to_json(graph);
    bare(&mut whole);
    digest(&whole.to_string())
}

/// Leaves out what says how a graph is called, not what it does.
fn bare(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // The variant of an operation is its `op`; a constant its `bits`.
            for name in ["name", "span", "text", "value"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(bare);
        }
        Value::Array(all) => all.iter_mut().for_each(bare),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The SHA-256 of a text.
pub(crate) fn digest(text: &str) -> String {
    sha256(text.as_bytes()).expect("reading from memory does not fail")
}
