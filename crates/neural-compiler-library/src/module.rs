//! What is recorded of a module. In: what `add` found; out: the fields of `module.json`.
//! Invariant: numbers read back to the same bits; an end that is no bound, and a value that is not finite, is `null`.

use crate::examples::Example;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An input of a module, or a state of its law.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// The lengths of its axes: none for a number.
    pub shape: Vec<usize>,
    /// Its unit, where the module has units.
    pub unit: Option<String>,
    /// The values for which the domain is stated; every element of a vector is one.
    pub range: (Option<f64>, Option<f64>),
}

/// The value of a module.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Output {
    /// The lengths of its axes.
    pub shape: Vec<usize>,
    /// Its unit, where the module has units.
    pub unit: Option<String>,
}

/// A parameter of a module: a constant, for whoever uses it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// The lengths of its axes.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub value: Vec<f64>,
    /// Its unit, where the module has units.
    pub unit: Option<String>,
}

/// Whether no operation leaves its domain for inputs in their ranges.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Domain {
    /// The check proved it.
    pub proved: bool,
    /// What it could not exclude.
    pub findings: Vec<String>,
}

/// What the module gave when it was added, at a point of its domain.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// All numbers of all inputs, one after another.
    pub inputs: Vec<f64>,
    /// All numbers of the value.
    pub output: Vec<Option<f64>>,
}

/// A module of a library.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// The hash of its text and of all it uses.
    pub hash: String,
    /// What it is, in words.
    pub description: String,
    /// `expression`, `derivatives` or `map`.
    pub kind: String,
    /// Its inputs in order; the states of a law are among them.
    pub inputs: Vec<Quantity>,
    /// Its value.
    pub output: Output,
    /// Its constants.
    pub params: Vec<Constant>,
    /// Where it is defined.
    pub domain: Domain,
    /// The modules it uses, with their hashes.
    pub uses: BTreeMap<String, String>,
    /// The hash of its graph: equal for programs that are the same but for names.
    pub canonical: String,
    /// What its author says it gives.
    pub examples: Vec<Example>,
    /// What it gave.
    pub probes: Vec<Probe>,
    /// Where it comes from: data, fit, parents.
    pub provenance: Map<String, Value>,
}

impl Module {
    /// `name@version`
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The line of `library list --json`.
    pub fn summary(&self) -> Value {
        json!({
            "name": self.name, "version": self.version, "hash": self.hash,
            "inputs": self.inputs, "output": self.output, "description": self.description,
        })
    }

    /// Its signature in a line: `gravity(m1 [kg], m2 [kg], r [m] > 0) -> [N]`.
    pub fn signature(&self) -> String {
        let inputs: Vec<String> = self.inputs.iter().map(|q| format!("{}{}", q.name, suffix(&q.shape, q.unit.as_deref()))).collect();
        format!("{}({}) -> {}", self.name, inputs.join(", "), suffix(&self.output.shape, self.output.unit.as_deref()).trim_start())
            .trim_end_matches(" -> ")
            .to_string()
    }
}

fn suffix(shape: &[usize], unit: Option<&str>) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!(" of {}", sizes.join("x")) };
    format!("{shape}{}", unit.map(|u| format!(" [{u}]")).unwrap_or_default())
}
