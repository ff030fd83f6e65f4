//! The graph as data: what the header of `graph/json.rs` promises, on programs small enough to say every field.

use neural_compiler::graph::json::to_json;
use neural_compiler::{Options, compile, diff};
use serde_json::{Value, json};

fn data(source: &str) -> Value {
    to_json(&compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn every_field_of_a_small_program() {
    let expected = json!({
        "inputs": [{"name": "x", "shape": []}],
        "main": 0,
        "regions": [{
            "name": "main",
            "params": [{"type": "value", "shape": []}],
            "nodes": [
                {"id": 0, "kind": "param", "index": 0, "args": [], "type": "value", "shape": [], "span": [0, 0], "text": "input x"},
                {"id": 1, "kind": "const", "value": 0.1, "bits": 0.1f64.to_bits(), "args": [], "type": "value", "shape": [],
                 "span": [0, 9], "text": "const 0.1"},
                {"id": 2, "kind": "op", "op": "Mul", "name": "*", "attr": 0, "args": [1, 0], "type": "value", "shape": [],
                 "span": [0, 9], "text": "*"},
            ],
            "results": [2],
        }],
    });
    assert_eq!(data("(* 0.1 x)"), expected);
}

#[test]
fn regions_are_named_by_what_runs_them() {
    let found = data("(if (> x 0) (/ 1 x) 0)");
    let choice = &found["regions"][0]["nodes"].as_array().expect("nodes").iter().find(|n| n["kind"] == "if").expect("a choice").clone();
    assert_eq!((&choice["type"], &choice["shape"]), (&json!("many"), &Value::Null));
    for side in ["yes", "no"] {
        assert!(found["regions"][choice[side].as_u64().expect("a region") as usize]["results"].is_array());
    }
    let graph = compile("(loop ((i 0) (a x)) (if (= i 3) a (recur (+ i 1) (* a a))))", &Options::default()).and_then(|p| p.graph());
    let taped = to_json(&diff::gradient(&graph.expect("a loop"), &[0]).expect("its gradient"));
    let nodes: Vec<&Value> =
        taped["regions"].as_array().expect("regions").iter().flat_map(|r| r["nodes"].as_array().expect("nodes")).collect();
    assert!(nodes.iter().any(|n| n["kind"] == "loop" && n["taped"] == true && n["carried"] == 2));
    assert!(nodes.iter().any(|n| n["kind"] == "back" && n["stored"] == 2));
    assert!(nodes.iter().any(|n| n["type"] == "record" && n["shape"].is_null()));
}

#[test]
fn numbers_json_lacks_are_texts() {
    let found = data("(max x +inf.0)");
    let constant =
        found["regions"][0]["nodes"].as_array().expect("nodes").iter().find(|n| n["kind"] == "const").expect("a constant").clone();
    assert_eq!(constant["value"], "inf");
}
