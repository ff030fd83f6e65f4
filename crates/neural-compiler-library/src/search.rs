//! Searching a library. In: words, a signature, units, or a table of samples; out: the modules they are met by, best first.
//! Invariants: a module is found by its behaviour only if it gives the samples themselves, within the tolerance, at every row; columns with
//! units in their headers are converted to those of the module, and are nothing to it where they measure something else.

use crate::folder::Library;
use crate::module::Module;
use crate::{Outcome, plain};
use neural_compiler::units::header::split;
use neural_compiler::units::{Conversion, Unit, parse};
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
    /// Names, with units as headers have them (`T [degC]`) or without, and numbers.
    pub columns: Vec<(String, Vec<f64>)>,
    /// The column to be computed, with its unit or without.
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
        let name = |header: &str| split(header).map_or(header, |h| h.name).to_string();
        let is_target = |c: &&(String, Vec<f64>)| c.0 == samples.target;
        let named = || samples.columns.iter().find(|c| name(&c.0) == samples.target);
        let Some(target) = samples.columns.iter().find(is_target).or_else(named) else {
            let help = format!("its columns are {}", samples.columns.iter().map(|c| format!("`{}`", c.0)).collect::<Vec<_>>().join(", "));
            return Err(plain("unknown-column", format!("the samples have no column `{}`", samples.target), Some(help)));
        };
        let scalars = module.inputs.iter().all(|q| q.shape.is_empty()) && module.output.shape.is_empty();
        if !scalars || module.kind != "expression" || target.1.is_empty() {
            return Ok(None);
        }
        let Some(wanted) = converted(&target.0, &target.1, module.output.unit.as_deref()) else { return Ok(None) };
        let (low, high) = wanted.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        let spread = if high > low { high - low } else { high.abs().max(f64::MIN_POSITIVE) };
        let checked = self.program(&module)?;
        let others: Vec<&(String, Vec<f64>)> = samples.columns.iter().filter(|c| c.0 != target.0).collect();
        // What each input sees of each column.
        let seen: Vec<Vec<Option<Vec<f64>>>> =
            module.inputs.iter().map(|q| others.iter().map(|c| converted(&c.0, &c.1, q.unit.as_deref())).collect()).collect();
        let error = |way: &[usize]| {
            let mut worst: f64 = 0.0;
            for (row, wanted) in wanted.iter().enumerate() {
                let point: Option<Vec<f64>> = way.iter().zip(&seen).map(|(&c, of)| Some(of[c].as_ref()?[row])).collect();
                let off = checked.at(&point?).map_or(f64::INFINITY, |v| (v[0] - wanted).abs() / spread);
                worst = if off.is_nan() { f64::INFINITY } else { worst.max(off) };
                if worst.partial_cmp(&samples.tolerance).is_none_or(|o| o.is_gt()) {
                    return None;
                }
            }
            Some(worst)
        };
        let usable = |input: usize, column: usize| seen[input][column].is_some();
        let is_named = |input: usize, column: usize| {
            let (own, header) = (&module.inputs[input].name, &others[column].0);
            usable(input, column) && (header == own || name(header) == *own)
        };
        let mut best: Option<(f64, Vec<usize>)> = None;
        for way in ways(module.inputs.len(), others.len(), is_named, usable) {
            if let Some(e) = error(&way).filter(|e| best.as_ref().is_none_or(|b| *e < b.0)) {
                best = Some((e, way));
            }
        }
        Ok(best.map(|(e, way)| {
            let columns = module.inputs.iter().map(|q| q.name.clone()).zip(way.iter().map(|&c| others[c].0.clone())).collect();
            Found { module, columns, error: Some(e) }
        }))
    }
}

/// The numbers of a column in a unit of a module; as they stand where one of the two says no unit, nothing where they measure different
/// things.
fn converted(header: &str, numbers: &[f64], unit: Option<&str>) -> Option<Vec<f64>> {
    let Some((column, own)) = split(header).zip(unit.and_then(|u| parse(u).ok())) else { return Some(numbers.to_vec()) };
    let conversion = Conversion::new(&column.scale, &own)?;
    Some(numbers.iter().map(|x| conversion.apply(*x)).collect())
}

/// The ways to give columns to inputs: by name, if every input has a column of its own; else all different ones that are of use.
fn ways(inputs: usize, columns: usize, is_named: impl Fn(usize, usize) -> bool, usable: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let by_name: Option<Vec<usize>> = (0..inputs).map(|i| (0..columns).find(|c| is_named(i, *c))).collect();
    if let Some(way) = by_name {
        return vec![way];
    }
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    for input in 0..inputs {
        let longer = |way: Vec<usize>| {
            let free: Vec<usize> = (0..columns).filter(|c| usable(input, *c) && !way.contains(c)).collect();
            free.into_iter().map(move |c| way.iter().copied().chain([c]).collect::<Vec<_>>())
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
