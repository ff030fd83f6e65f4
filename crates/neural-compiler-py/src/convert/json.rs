//! A graph as data for other programs. In: a derived program; out: JSON with every number exact (constants as a number
//! that reads back to the same f64, and as bits).

use neural_compiler::diff::Derived;
use neural_compiler::graph::{Graph, Kind, NodeId, Region, Type};
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

fn node(region: &Region, id: NodeId) -> Value {
    let n = region.node(id);
    let args: Vec<u32> = region.args(id).iter().map(|a| a.0).collect();
    let mut out = match n.kind {
        Kind::Param(i) => json!({"kind": "param", "index": i}),
        Kind::Const(bits) => json!({"kind": "const", "value": number(f64::from_bits(bits)), "bits": bits}),
        // The variant's name tells operations apart that share a surface name.
        Kind::Op(op, attr) => json!({"kind": "op", "op": format!("{op:?}"), "name": op.row().name, "attr": attr}),
        Kind::If(a, b) => json!({"kind": "if", "yes": a.0, "no": b.0}),
        Kind::Loop { body, carried, taped } => json!({"kind": "loop", "body": body.0, "carried": carried, "taped": taped}),
        Kind::Back { body, stored, carried } => json!({"kind": "back", "body": body.0, "stored": stored, "carried": carried}),
        Kind::Call(f) => json!({"kind": "call", "region": f.0}),
        Kind::Proj(i) => json!({"kind": "proj", "index": i}),
        Kind::Pack => json!({"kind": "pack"}),
        Kind::Unpack(i) => json!({"kind": "unpack", "index": i}),
    };
    out["args"] = json!(args);
    out["shape"] = sizes(n.ty);
    out["type"] = json!(type_name(n.ty));
    out["span"] = json!([n.span.start, n.span.end]);
    out
}

/// The whole graph, and the text its spans point into.
pub(crate) fn graph(derived: &Derived, source: &str) -> Value {
    let g: &Graph = &derived.graph;
    let region = |r: &Region| {
        json!({
            "name": r.name,
            "params": r.params.iter().map(|&t| json!({"type": type_name(t), "shape": sizes(t)})).collect::<Vec<_>>(),
            "nodes": r.ids().map(|id| node(r, id)).collect::<Vec<_>>(),
            "results": r.results.iter().map(|id| id.0).collect::<Vec<_>>(),
        })
    };
    json!({
        "inputs": g.inputs.iter().map(|i| json!({"name": i.name, "shape": i.shape.dims()})).collect::<Vec<_>>(),
        "main": g.main.0,
        "regions": g.regions().iter().map(region).collect::<Vec<_>>(),
        "result_axes": derived.axes,
        "source": source,
    })
}
