//! What is recorded of a module. In: what `add` found; out: the fields of `module.json`.
//! Invariants: numbers read back to the same bits; an end that is no bound, and a recorded value that is not finite, is `null`; in examples
//! and constants infinities and NaN are texts, since JSON has no such numbers.

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
    #[serde(with = "numbers")]
    pub value: Vec<f64>,
    /// Its unit, where the module has units.
    pub unit: Option<String>,
}

/// Numbers as JSON: those it has not are texts.
pub(crate) mod numbers {
    use neural_compiler::number_text;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    pub(crate) enum Number {
        Finite(f64),
        Other(String),
    }

    impl Number {
        pub(crate) fn of(x: f64) -> Number {
            if x.is_finite() { Number::Finite(x) } else { Number::Other(number_text(x)) }
        }

        pub(crate) fn value(self) -> Option<f64> {
            match self {
                Number::Finite(x) => Some(x),
                Number::Other(text) => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].into_iter().find(|x| number_text(*x) == text),
            }
        }
    }

    pub(crate) fn serialize<S: Serializer>(all: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(all.iter().map(|x| Number::of(*x)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let all: Option<Vec<f64>> = Vec::<Number>::deserialize(from)?.into_iter().map(Number::value).collect();
        all.ok_or_else(|| serde::de::Error::custom("a text that is no number"))
    }
}

/// Whether no operation leaves its domain for inputs in their ranges.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Domain {
    /// The check proved it.
    pub proved: bool,
    /// It is proved, too, that no number overflows to an infinity: the domain of most operations has infinities in it.
    pub finite: bool,
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

    /// The hash of all that is recorded, as it is read, however its file is laid out.
    pub(crate) fn digest(&self) -> String {
        crate::canonical::digest(&serde_json::to_string(self).expect("a record has texts for keys"))
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
