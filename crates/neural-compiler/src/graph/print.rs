//! A graph as text and DOT. In: a graph; out: strings for people; `json` is for other programs.

use super::{Graph, Kind, NodeId, Region, Type};
use std::fmt::Write;

fn type_text(ty: Type) -> String {
    match ty {
        Type::Value(s) => s.to_string(),
        Type::Record => "record".into(),
        Type::Many => "results".into(),
    }
}

/// What a node does, without its arguments.
pub(crate) fn title(graph: &Graph, region: &Region, id: NodeId) -> String {
    let name = |r: super::RegionId| format!("{}#{}", graph.region(r).name, r.0);
    let node = region.node(id);
    match node.kind {
        Kind::Param(p) => match graph.inputs.get(p as usize) {
            Some(input) if std::ptr::eq(region, graph.main()) => format!("input {}", input.name),
            _ => format!("param {p}"),
        },
        Kind::Const(bits) => format!("const {}", crate::number_text(f64::from_bits(bits))),
        Kind::Op(op, attr) => {
            let row = op.row();
            if row.has_surface() { row.name.to_string() } else { format!("{} {attr}", row.name) }
        }
        Kind::If(a, b) => format!("if {} else {}", name(a), name(b)),
        Kind::Loop { body, carried, taped } => format!("loop{} {} carrying {carried}", if taped { "-taped" } else { "" }, name(body)),
        Kind::Back { body, carried, .. } => format!("loop-back {} carrying {carried}", name(body)),
        Kind::Call(f) => format!("call {}", name(f)),
        Kind::Root { zero, .. } => format!("root of {}", name(zero)),
        Kind::Proj(i) => format!("result {i}"),
        Kind::Pack => "pack".into(),
        Kind::Unpack(i) => format!("unpack {i}"),
    }
}

/// The graph as text: a line per node.
pub fn to_text(graph: &Graph) -> String {
    let mut out = String::new();
    for (r, region) in graph.regions.iter().enumerate() {
        writeln!(out, "region {}#{r} ({})", region.name, region.params.iter().map(|&t| type_text(t)).collect::<Vec<_>>().join(", "))
            .expect("a string");
        for id in region.ids() {
            let args: String = region.args(id).iter().map(|a| format!(" %{}", a.0)).collect();
            writeln!(out, "  %{} = {}{args} : {}", id.0, title(graph, region, id), type_text(region.node(id).ty)).expect("a string");
        }
        let results: String = region.results.iter().map(|a| format!(" %{}", a.0)).collect();
        writeln!(out, "  return{results}").expect("a string");
    }
    out
}

/// The graph for Graphviz: a cluster per region.
pub fn to_dot(graph: &Graph) -> String {
    let mut out = String::from("digraph program {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n");
    for (r, region) in graph.regions.iter().enumerate() {
        writeln!(out, "  subgraph cluster_{r} {{\n    label=\"{}#{r}\";", escape(&region.name)).expect("a string");
        for id in region.ids() {
            let node = region.node(id);
            let shape = match node.ty {
                Type::Value(crate::shape::Shape::Scalar) | Type::Many => String::new(),
                other => format!("\\n{}", type_text(other)),
            };
            let style = match node.kind {
                Kind::Param(_) => ", style=filled, fillcolor=\"#dbeafe\"",
                Kind::Const(_) => ", style=filled, fillcolor=\"#f3f4f6\"",
                Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => {
                    ", style=filled, fillcolor=\"#fef3c7\""
                }
                Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => "",
            };
            writeln!(out, "    n{r}_{} [label=\"{}{shape}\"{style}];", id.0, escape(&title(graph, region, id))).expect("a string");
        }
        for (i, result) in region.results.iter().enumerate() {
            writeln!(
                out,
                "    r{r}_{i} [label=\"result {i}\", shape=ellipse, style=filled, fillcolor=\"#dcfce7\"];\n    n{r}_{} -> r{r}_{i};",
                result.0
            )
            .expect("a string");
        }
        for id in region.ids() {
            for a in region.args(id) {
                writeln!(out, "    n{r}_{} -> n{r}_{};", a.0, id.0).expect("a string");
            }
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn escape(s: &str) -> String {
    s.replace('\\', "\\\\").replace('"', "\\\"")
}
