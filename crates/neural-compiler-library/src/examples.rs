//! Examples: what the author of a module says it gives. In: comment lines of the text, as the language reference has them, or
//! `x = 1, v = [1 2] => 3`; out: values of inputs and of the result.
//! Invariant: a value is a closed expression of the language, computed by it; `=>` holds to the bit, so that 0 and -0 are two numbers and
//! all NaN one; `~>` holds to 1e-12 relative.

use neural_compiler::exec::interp;
use neural_compiler::{Diagnostic, Options, Program, Tensor, compile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How near `~>` means.
const NEAR: f64 = 1e-12;

/// An example.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Example {
    /// The numbers of the inputs, by name; parameters keep theirs unless they are given.
    #[serde(with = "named")]
    pub with: BTreeMap<String, Vec<f64>>,
    /// The numbers of the value.
    #[serde(with = "crate::module::numbers")]
    pub value: Vec<f64>,
    /// To the bit.
    pub exact: bool,
}

/// Numbers by name, as JSON.
mod named {
    use crate::module::numbers;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize)]
    struct Numbers(#[serde(with = "numbers")] Vec<f64>);

    pub(super) fn serialize<S: Serializer>(all: &BTreeMap<String, Vec<f64>>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(all.iter().map(|(name, numbers)| (name, Numbers(numbers.clone()))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
        Ok(BTreeMap::<String, Numbers>::deserialize(from)?.into_iter().map(|(name, numbers)| (name, numbers.0)).collect())
    }
}

fn bad(text: &str, why: impl std::fmt::Display) -> Diagnostic {
    let message = format!("the example `{text}` cannot be read: {why}");
    Diagnostic::error("bad-example", Default::default(), message).help("an example is `x = 1, v = [1 2] => 3`, or `~>` for 12 digits")
}

/// The numbers of a closed expression.
fn numbers(text: &str) -> Result<Vec<f64>, String> {
    let closed = Options { inputs: Some(vec![]), ..Options::default() };
    let first = |e: neural_compiler::Diagnostics| e.0.first().map_or_else(String::new, |d| d.message.clone());
    let graph = compile(&text.replace(',', " "), &closed).and_then(|p| p.graph()).map_err(first)?;
    let found = interp::run::<f64>(&graph, &[], &Default::default()).map_err(|e| e.message)?;
    Ok(found[0].data().to_vec())
}

/// `x = 1, v = [1 2]`
fn bindings(text: &str) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let mut depth = 0;
    let parts = text.split(|c: char| {
        depth += i32::from(c == '[' || c == '(') - i32::from(c == ']' || c == ')');
        c == ',' && depth == 0
    });
    let one = |part: &str| {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{}` is not name = value", part.trim()))?;
        Ok((name.trim().to_string(), numbers(value)?))
    };
    parts.filter(|p| !p.trim().is_empty()).map(one).collect()
}

impl Example {
    /// Reads `x = 1, v = [1 2] => 3`.
    pub fn parse(text: &str) -> Result<Example, Diagnostic> {
        let (arrow, exact) = if text.contains("~>") { ("~>", false) } else { ("=>", true) };
        let (with, value) = text.split_once(arrow).ok_or_else(|| bad(text, "`=>` is missing"))?;
        let read = || Ok::<_, String>(Example { with: bindings(with)?, value: numbers(value)?, exact });
        read().map_err(|why| bad(text, why))
    }

    /// The examples in the comments of a text: `; with x = 2`, then `; => 4` or `; ~> 4`.
    pub fn within(text: &str) -> Result<Vec<Example>, Diagnostic> {
        let mut with = BTreeMap::new();
        let mut found = Vec::new();
        for line in text.lines() {
            let Some(said) = line.trim_start().strip_prefix(';').map(|l| l.trim_start_matches(';').trim()) else { continue };
            if let Some(given) = said.strip_prefix("with ").filter(|g| g.contains('=')) {
                with = bindings(given).map_err(|why| bad(said, why))?;
            } else if said.starts_with("=>") || said.starts_with("~>") {
                found.push(Example { with: with.clone(), ..Example::parse(said)? });
            }
        }
        Ok(found)
    }

    /// Runs it; what is wrong.
    pub fn run(&self, program: &Program) -> Result<(), Diagnostic> {
        let graph = program.graph().map_err(|e| e.0.into_iter().next().expect("an error says what is wrong"))?;
        let failed = |why: String| Diagnostic::error("example-fails", Default::default(), format!("example {self}: {why}"));
        let fail = |why: String| Err(failed(why));
        if let Some(name) = self.with.keys().find(|n| program.inputs().iter().all(|i| i.name != **n)) {
            return fail(format!("the module has no input `{name}`"));
        }
        let mut values = Vec::new();
        for (input, declared) in graph.inputs.iter().zip(crate::signature::declared(program)) {
            let Some(given) = self.with.get(&input.name).cloned().or(declared) else {
                return fail(format!("the input `{}` has no value", input.name));
            };
            let Some(tensor) = Tensor::from_f64(input.shape, &given) else {
                return fail(format!("`{}` is a {}, {} numbers are given", input.name, input.shape, given.len()));
            };
            values.push(tensor);
        }
        let found = match interp::run(&graph, &values, &interp::RunOptions { limits: crate::probes::limits(), trap: false }) {
            Ok(found) => found[0].data().to_vec(),
            Err(e) => return fail(e.message),
        };
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let holds = |(&a, &b): (&f64, &f64)| same(a, b) || !self.exact && (a - b).abs() <= NEAR * a.abs().max(b.abs());
        if found.len() == self.value.len() && found.iter().zip(&self.value).all(holds) {
            return Ok(());
        }
        let shown: Vec<String> = found.iter().map(|x| neural_compiler::number_text(*x)).collect();
        let error = failed(format!("the module gives {}", shown.join(" ")));
        let by_sign = found.len() == self.value.len() && found.iter().zip(&self.value).all(|(&a, &b)| same(a, b) || a == b);
        Err(if by_sign { error.help("`=>` is to the bit, and 0 is not -0; `~>` does not tell them apart") } else { error })
    }
}

impl std::fmt::Display for Example {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |numbers: &[f64]| {
            let all: Vec<String> = numbers.iter().map(|x| neural_compiler::number_text(*x)).collect();
            if let [one] = &all[..] { one.clone() } else { format!("[{}]", all.join(" ")) }
        };
        let with: Vec<String> = self.with.iter().map(|(n, v)| format!("{n} = {}", text(v))).collect();
        write!(f, "{} {} {}", with.join(", "), if self.exact { "=>" } else { "~>" }, text(&self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_read_and_held_to() {
        let program = compile("(input v :size 2)\n(param k 3)\n(* k (vsum v) x)", &Options::default()).unwrap();
        let run = |text: &str| Example::parse(text).and_then(|e| e.run(&program)).map_err(|d| d.code);
        assert_eq!(run("v = [1, 2], x = 0.5 => 4.5"), Ok(()));
        assert_eq!(run("v = [1 2], x = (/ 1 3), k = 1 ~> 1"), Ok(()));
        assert_eq!(run("v = [1 2], x = 0.5 => 4.6"), Err("example-fails"));
        assert_eq!(run("v = [1 2], x = 0.5 ~> 4.50000000001"), Err("example-fails"));
        assert_eq!(run("v = [1 2 3], x = 0.5 => 4.5"), Err("example-fails"));
        assert_eq!(run("v = [1 2] => 4.5"), Err("example-fails"));
        assert_eq!(run("v = [1 2], y = 1 => 4.5"), Err("example-fails"));
        assert_eq!(run("v = [1 2], x = y => 4.5"), Err("bad-example"));
        assert_eq!(run("x = 1"), Err("bad-example"));
        // 0 and -0 are two numbers, to the bit.
        assert_eq!(run("v = [0 0], x = 1 => 0"), Ok(()));
        assert_eq!(run("v = [0 0], x = 1 => -0"), Err("example-fails"));
        assert_eq!(run("v = [0 0], x = -1 => -0"), Ok(()));
        assert_eq!(run("v = [0 0], x = -1 => 0"), Err("example-fails"));
        assert_eq!(run("v = [0 0], x = -1 ~> 0"), Ok(()));
        assert_eq!(run("v = [0 1], x = +nan.0 => +nan.0"), Ok(()));
        let sign = Example::parse("v = [0 0], x = 1 => -0").and_then(|e| e.run(&program)).unwrap_err();
        assert!(sign.message.contains("=> -0: the module gives 0") && sign.help.is_some(), "{sign:?}");
        // Numbers that JSON has not are read back.
        let odd = Example::parse("v = [-0 +inf.0], x = +nan.0 => -inf.0").unwrap();
        let back: Example = serde_json::from_str(&serde_json::to_string(&odd).unwrap()).unwrap();
        assert_eq!(back.to_string(), odd.to_string());
        assert!(back.with["v"][0].is_sign_negative() && back.with["x"][0].is_nan() && back.value == [f64::NEG_INFINITY]);
        let found = Example::within("x ; a remark with y = 2\n; with x = 2\n;; => 2\n; ~> 2\n").unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[0].exact && !found[1].exact && found[1].with["x"] == [2.0]);
    }
}
