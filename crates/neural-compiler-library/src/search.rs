//! Searching a library. In: words, a signature, units, or a table of samples; out: the modules they are met by, best first.
//! Invariant: a module is found by its behaviour only if it gives the samples themselves, within the tolerance, at every row.

use crate::folder::Library;
use crate::module::Module;
use crate::{Outcome, plain};
use neural_compiler::units::{Unit, parse};
use std::collections::BTreeMap;

/// What is looked for; everything that is given must be met.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words in the name, the description, the inputs or the text.
    pub text: Option<String>,
    /// Shapes, `scalar, [3] -> scalar`: those of the inputs in any order; `_` is any, and either side may be missing.
    pub signature: Option<String>,
    /// Units, `kg, kg, m -> N`, likewise: of the same dimension.
    pub units: Option<String>,
    /// What it should compute.
    pub samples: Option<Samples>,
}

/// A table, of which one column is to be computed from others.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Names and numbers.
    pub columns: Vec<(String, Vec<f64>)>,
    /// The column to be computed.
    pub target: String,
    /// How far off a value may be, in units of the spread of the column.
    pub tolerance: f64,
}

/// A module that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The module.
    pub module: Module,
    /// By behaviour: the column each input is.
    pub columns: BTreeMap<String, String>,
    /// By behaviour: the largest error, in units of the spread of the column.
    pub error: Option<f64>,
}

/// Ways to give columns to inputs that are tried.
const MOST_WAYS: usize = 50_000;

impl Library {
    /// The modules a query is met by: by behaviour the nearest first, else by name.
    pub fn search(&self, query: &Query) -> Outcome<Vec<Found>> {
        let shapes = query.signature.as_deref().map(|s| sides(s, shape)).transpose()?;
        let units = query.units.as_deref().map(|s| sides(s, unit)).transpose()?;
        let mut found = Vec::new();
        for module in self.list()? {
            let own_shapes: Vec<Vec<usize>> = module.inputs.iter().map(|q| q.shape.clone()).collect();
            let dimension = |u: &Option<String>| u.as_deref().and_then(|u| parse(u).ok()).map(|s| s.unit.dimension());
            let own_units: Vec<Option<Unit>> = module.inputs.iter().map(|q| dimension(&q.unit)).collect();
            let met = self.says(&module, query.text.as_deref())?
                && shapes.as_ref().is_none_or(|s| s.met(&own_shapes, &module.output.shape))
                && units.as_ref().is_none_or(|s| s.met(&own_units, &dimension(&module.output.unit)));
            if !met {
                continue;
            }
            match &query.samples {
                None => found.push(Found { module, columns: BTreeMap::new(), error: None }),
                Some(samples) => found.extend(self.behaves(module, samples)?),
            }
        }
        found.sort_by(|a, b| a.error.unwrap_or(0.0).total_cmp(&b.error.unwrap_or(0.0)));
        Ok(found)
    }

    fn says(&self, module: &Module, words: Option<&str>) -> Outcome<bool> {
        let Some(words) = words else { return Ok(true) };
        let mut all = format!("{} {} {}", module.name, module.description, self.text(&module.name, module.version)?);
        module.inputs.iter().for_each(|q| all.push_str(&format!(" {}", q.name)));
        let all = all.to_lowercase();
        Ok(words.to_lowercase().split_whitespace().all(|w| all.contains(w)))
    }

    /// Whether a module gives the samples, with its inputs as some of the columns: those of their names where there are such, else any.
    fn behaves(&self, module: Module, samples: &Samples) -> Outcome<Option<Found>> {
        let column = |name: &str| samples.columns.iter().find(|c| c.0 == name).map(|c| &c.1[..]);
        let Some(target) = column(&samples.target) else {
            let help = format!("its columns are {}", samples.columns.iter().map(|c| format!("`{}`", c.0)).collect::<Vec<_>>().join(", "));
            return Err(plain("unknown-column", format!("the samples have no column `{}`", samples.target), Some(help)));
        };
        let scalars = module.inputs.iter().all(|q| q.shape.is_empty()) && module.output.shape.is_empty();
        if !scalars || module.kind != "expression" || target.is_empty() {
            return Ok(None);
        }
        let (low, high) = target.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        let spread = if high > low { high - low } else { high.abs().max(f64::MIN_POSITIVE) };
        let checked = self.program(&module)?;
        let error = |chosen: &[&[f64]]| {
            let mut worst: f64 = 0.0;
            for (row, wanted) in target.iter().enumerate() {
                let point: Vec<f64> = chosen.iter().map(|c| c[row]).collect();
                let off = checked.at(&point).map_or(f64::INFINITY, |v| (v[0] - wanted).abs() / spread);
                worst = if off.is_nan() { f64::INFINITY } else { worst.max(off) };
                if worst.partial_cmp(&samples.tolerance).is_none_or(|o| o.is_gt()) {
                    return None;
                }
            }
            Some(worst)
        };
        let others: Vec<&str> = samples.columns.iter().map(|c| c.0.as_str()).filter(|n| *n != samples.target).collect();
        let mut best: Option<(f64, Vec<&str>)> = None;
        for names in ways(&module, &others) {
            let chosen: Vec<&[f64]> = names.iter().filter_map(|n| column(n)).collect();
            if let Some(e) = error(&chosen).filter(|e| best.as_ref().is_none_or(|b| *e < b.0)) {
                best = Some((e, names));
            }
        }
        Ok(best.map(|(e, names)| {
            let columns = module.inputs.iter().map(|q| q.name.clone()).zip(names.iter().map(|n| n.to_string())).collect();
            Found { module, columns, error: Some(e) }
        }))
    }
}

/// The ways to give columns to the inputs of a module: by name, if every input has a column of its own; else all different ones.
fn ways<'a>(module: &Module, others: &[&'a str]) -> Vec<Vec<&'a str>> {
    let by_name: Option<Vec<&str>> = module.inputs.iter().map(|q| others.iter().copied().find(|o| *o == q.name)).collect();
    if let Some(names) = by_name {
        return vec![names];
    }
    let mut all: Vec<Vec<&str>> = vec![vec![]];
    for _ in &module.inputs {
        let longer = |way: Vec<&'a str>| {
            let free: Vec<&'a str> = others.iter().copied().filter(|o| !way.contains(o)).collect();
            free.into_iter().map(move |o| way.iter().copied().chain([o]).collect::<Vec<_>>())
        };
        all = all.into_iter().flat_map(longer).take(MOST_WAYS).collect();
    }
    all
}

/// What is asked of inputs and of the value; `None` is anything.
struct Sides<T> {
    inputs: Option<Vec<Option<T>>>,
    output: Option<T>,
}

impl<T: PartialEq> Sides<T> {
    fn met(&self, inputs: &[T], output: &T) -> bool {
        let Some(wanted) = &self.inputs else { return self.output.as_ref().is_none_or(|o| o == output) };
        let mut left: Vec<&T> = inputs.iter().collect();
        let mut named = wanted.iter().flatten();
        let all = named.all(|w| left.iter().position(|l| *l == w).map(|k| left.remove(k)).is_some());
        all && wanted.len() == inputs.len() && self.output.as_ref().is_none_or(|o| o == output)
    }
}

fn sides<T>(text: &str, one: fn(&str) -> Result<T, String>) -> Outcome<Sides<T>> {
    let (inputs, output) = text.split_once("->").map_or((text, ""), |(a, b)| (a, b));
    let read = |word: &str| match word.trim() {
        "_" => Ok(None),
        word => one(word).map(Some).map_err(|why| plain("bad-query", format!("`{word}`: {why}"), Some("as in `kg, _ -> N`".into()))),
    };
    let inputs = if inputs.trim().is_empty() { None } else { Some(inputs.split(',').map(read).collect::<Outcome<Vec<_>>>()?) };
    let output = if output.trim().is_empty() { None } else { read(output)? };
    Ok(Sides { inputs, output })
}

/// `scalar`, `[3]` or `[2x3]`
fn shape(text: &str) -> Result<Vec<usize>, String> {
    if text == "scalar" {
        return Ok(vec![]);
    }
    let sizes = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).map(|t| t.split('x').map(str::parse).collect());
    sizes.and_then(Result::ok).ok_or_else(|| "a shape is scalar, [3] or [2x3]".to_string())
}

fn unit(text: &str) -> Result<Option<Unit>, String> {
    parse(text).map(|s| Some(s.unit.dimension())).map_err(|e| e.message)
}
