//! Derivatives of a case by every way the library has, and the high-precision oracle's verdict on them.

use crate::case::Case;
use crate::oracle;
use neural_compiler::exec::interp;
use neural_compiler::graph::Graph;
use neural_compiler::{Tensor, diff};
use serde_json::{Value, json};
use std::fmt::Write;

/// A number for JSON: as text where JSON has none.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}

fn numbers(tensors: &[Tensor<f64>]) -> Vec<Value> {
    tensors.iter().flat_map(|t| t.data()).map(|&x| number(x)).collect()
}

fn run(graph: &Graph, inputs: &[Tensor<f64>]) -> Result<Vec<Tensor<f64>>, String> {
    interp::run(graph, inputs, &Default::default()).map_err(|e| e.to_string())
}

/// A line for the oracle: the program, its inputs, its value, gradients by both modes and Hessian.
pub fn row(id: &str, case: &Case) -> Result<Value, String> {
    let compiled = case.compile().map_err(|e| e.to_string())?;
    let wrt: Vec<usize> = (0..compiled.inputs.len()).collect();
    let inputs = compiled.tensors::<f64>();
    let reverse = run(&diff::gradient(&compiled.graph, &wrt).map_err(|e| e.to_string())?, &inputs)?;
    let second = run(&diff::hessian(&compiled.graph, &wrt).map_err(|e| e.to_string())?, &inputs)?;
    let along = diff::jvp(&compiled.graph, &wrt);
    let mut forward = Vec::new();
    for (i, input) in compiled.inputs.iter().enumerate() {
        for k in 0..input.data.len() {
            let tangents = compiled.inputs.iter().enumerate().map(|(j, other)| {
                let data = (0..other.data.len()).map(|l| if (i, k) == (j, l) { 1.0 } else { 0.0 }).collect();
                Tensor::new(other.shape, data).expect("the input's shape")
            });
            let with_tangents: Vec<Tensor<f64>> = inputs.iter().cloned().chain(tangents).collect();
            forward.push(number(run(&along, &with_tangents)?[1].data()[0]));
        }
    }
    let blocks = &second[1 + wrt.len()..];
    let lengths: Vec<usize> = compiled.inputs.iter().map(|i| i.data.len()).collect();
    let hessian: Vec<Vec<Value>> = (0..wrt.len())
        .flat_map(|i| (0..lengths[i]).map(move |k| (i, k)))
        .map(|(i, k)| {
            (0..wrt.len())
                .flat_map(|j| blocks[i * wrt.len() + j].data()[k * lengths[j]..(k + 1) * lengths[j]].iter().map(|&x| number(x)))
                .collect()
        })
        .collect();
    let described: Vec<Value> = compiled.inputs.iter().map(|i| json!({"name": i.name, "shape": i.shape.dims(), "data": i.data})).collect();
    Ok(json!({
        "id": id, "program": case.source, "inputs": described, "value": number(reverse[0].data()[0]),
        "reverse": numbers(&reverse[1..]), "forward": forward, "hessian": hessian,
    }))
}

/// What the oracle found.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// Programs looked at.
    pub checked: u64,
    /// Those whose value and gradient are well conditioned.
    pub well_first: u64,
    /// Those whose second derivatives are.
    pub well_second: u64,
    /// Largest relative errors among the well-conditioned.
    pub worst: Value,
    /// Disagreements, readable.
    pub failures: Vec<String>,
}

/// Hands rows to the oracle. Panics with advice when Python or mpmath is missing.
pub fn judge(name: &str, rows: &[Value]) -> Verdict {
    let folder = oracle::scratch(name);
    let (lines, summary) = (folder.join("rows.jsonl"), folder.join("summary.json"));
    let mut text = String::new();
    rows.iter().for_each(|r| writeln!(text, "{r}").expect("a string"));
    std::fs::write(&lines, text).expect("a scratch file");
    let mut python = oracle::python();
    python.arg(oracle::root().join("oracles/derivatives/oracle.py")).arg(&lines).arg(&summary);
    oracle::run(&mut python, "Python 3 with mpmath is needed: run `make deps`").unwrap_or_else(|e| panic!("{e}"));
    let found: Value =
        serde_json::from_str(&std::fs::read_to_string(&summary).expect("the oracle's summary")).expect("the summary is JSON");
    std::fs::remove_dir_all(folder).expect("removing the scratch folder");
    let count = |key: &str| found[key].as_u64().expect("a number");
    let mut failures: Vec<String> = Vec::new();
    let mut last = &Value::Null;
    for f in found["failures"].as_array().expect("a list") {
        // The first component says enough about a program.
        if f["id"] != *last {
            let program = f["program"].as_str().unwrap_or_default();
            failures.push(format!(
                "{} {}: found {}, expected {}, scatter {}\n{program}\n{}",
                f["id"], f["what"], f["found"], f["expected"], f["scatter"], f["inputs"]
            ));
        }
        last = &f["id"];
    }
    Verdict {
        checked: count("checked"),
        well_first: count("well_first"),
        well_second: count("well_second"),
        worst: found["worst"].clone(),
        failures,
    }
}
