//! A graph as data for other programs: the one schema, whoever writes it out (`neuralc show --format json`, Python's `graph_json`).
//! In: a graph; out: JSON with every number exact (constants as a number that reads back to the same f64, and as bits).
//!
//! ```text
//! {"inputs": [{"name", "shape"}], "main": region, "regions": [region…]}
//! region: {"name", "params": [{"type", "shape"}], "nodes": [node…], "results": [node number…]}
//! node:   {"id", "kind", "args": [node number…], "type", "shape", "span": [from, to], "text", and what only this kind has}
//! ```
//!
//! `type` is `value`, `record` or `many`, and only a value has a `shape`: `[]`, `[n]` or `[rows, columns]`. By kind: `param` and `proj` and
//! `unpack` have an `index`; `const` a `value` and its `bits`; `op` its `op` (unique), its `name` in programs and its `attr`; `if` the
//! regions `yes` and `no`; `loop` its `body`, how many values are `carried` and whether it is `taped`; `back` its `body`, `stored` and
//! `carried`; `call` its `region`; `pack` nothing. `text` is the node as `print` shows it, for people. Spans count bytes of the source.

use super::print::title;
use super::{Graph, Kind, NodeId, Region, Type};
use serde_json::{Value, json};

fn type_name(ty: Type) -> &'static str {
    match ty {
        Type::Value(_) => "value",
        Type::Record => "record",
        Type::Many => "many",
    }
}

fn sizes(ty: Type) -> Value {
    match ty {
        Type::Value(s) => json!(s.dims()),
        Type::Record | Type::Many => Value::Null,
    }
}

/// JSON has no infinities and no NaN: these are texts.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(format!("{x}").to_lowercase()) }
}

fn node(graph: &Graph, region: &Region, id: NodeId) -> Value {
    let n = region.node(id);
    let mut out = match n.kind {
        Kind::Param(i) => json!({"kind": "param", "index": i}),
        Kind::Const(bits) => json!({"kind": "const", "value": number(f64::from_bits(bits)), "bits": bits}),
        // The variant's name tells operations apart that share a surface name.
        Kind::Op(op, attr) => json!({"kind": "op", "op": format!("{op:?}"), "name": op.row().name, "attr": attr}),
        Kind::If(a, b) => json!({"kind": "if", "yes": a.0, "no": b.0}),
        Kind::Loop { body, carried, taped } => json!({"kind": "loop", "body": body.0, "carried": carried, "taped": taped}),
        Kind::Back { body, stored, carried } => json!({"kind": "back", "body": body.0, "stored": stored, "carried": carried}),
        Kind::Call(f) => json!({"kind": "call", "region": f.0}),
        Kind::Root { solve, zero, slope, starts } => {
            json!({"kind": "root", "region": solve.0, "zero": zero.0, "slope": slope.0, "starts": starts})
        }
        Kind::Proj(i) => json!({"kind": "proj", "index": i}),
        Kind::Pack => json!({"kind": "pack"}),
        Kind::Unpack(i) => json!({"kind": "unpack", "index": i}),
    };
    out["id"] = json!(id.0);
    out["args"] = region.args(id).iter().map(|a| a.0).collect();
    out["shape"] = sizes(n.ty);
    out["type"] = json!(type_name(n.ty));
    out["span"] = json!([n.span.start, n.span.end]);
    out["text"] = json!(title(graph, region, id));
    out
}

/// The whole graph.
pub fn to_json(graph: &Graph) -> Value {
    let region = |r: &Region| {
        json!({
            "name": r.name,
            "params": r.params.iter().map(|&t| json!({"type": type_name(t), "shape": sizes(t)})).collect::<Vec<_>>(),
            "nodes": r.ids().map(|id| node(graph, r, id)).collect::<Vec<_>>(),
            "results": r.results.iter().map(|id| id.0).collect::<Vec<_>>(),
        })
    };
    json!({
        "inputs": graph.inputs.iter().map(|i| json!({"name": i.name, "shape": i.shape.dims()})).collect::<Vec<_>>(),
        "main": graph.main.0,
        "regions": graph.regions().iter().map(region).collect::<Vec<_>>(),
    })
}
