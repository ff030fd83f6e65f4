//! Columns of a table meet the inputs of a program. In: the names of the columns, values given with --set; out: what feeds every
//! input, in the program's order; or everything that is missing at once.

use crate::context::Failure;
use crate::core::Compiled;
use crate::inputs::{self, Wide};
use crate::table;
use crate::value;
use neural_compiler::diagnostic::did_you_mean;
use neural_compiler::syntax::ast::{Input, InputKind, StateStart};
use neural_compiler::units::Conversion;
use neural_compiler::units::header::{self, Asked};
use neural_compiler::{Diagnostic, InputShape, Shape};
use neural_compiler_fit::by_group;
use std::collections::HashMap;

/// Where the values of an input come from.
#[derive(Clone)]
pub(crate) enum Feed {
    /// Columns of the table, one for each number; `own`: they are named like it (else like the input a state starts at).
    Columns { shape: Shape, columns: Vec<usize>, own: bool, conversions: Vec<Option<Conversion>> },
    /// The same value for all rows.
    Shared(Wide),
}

impl Feed {
    /// The shape of the input.
    pub(crate) fn shape(&self) -> Shape {
        match self {
            Feed::Columns { shape, .. } | Feed::Shared((shape, _)) => *shape,
        }
    }
}

/// The values given with --set, by name.
pub(crate) fn sets(program: &Compiled, words: &[String]) -> Result<HashMap<String, Wide>, Failure> {
    let mut named = Vec::new();
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            return Err(Failure::Usage(format!("`{word}` is not NAME=VALUE")));
        };
        let value = value::parse(text).map_err(|message| {
            Failure::plain(
                "bad-value",
                format!("the value of `{}`: {message}", name.trim()),
                Some("a value is a number, [1,2,3] or [[1,2],[3,4]]".into()),
            )
        })?;
        named.push((name.trim().to_string(), value));
    }
    // Names that are unknown or given twice.
    inputs::shapes(program, &named.iter().map(|(n, v)| (n.clone(), v.0)).collect::<Vec<_>>())?;
    Ok(named.into_iter().collect())
}

/// What the user should know of units in the headers.
pub(crate) fn remark(program: &Compiled, columns: &[String]) -> Option<String> {
    let names = || columns.iter().map(String::as_str);
    header::remark(names(), &header::columns(&program.program, names(), &Asked::default()).ok()?)
}

/// What feeds every input, in the program's order; or everything that is missing.
pub(crate) fn feeds(program: &Compiled, columns: &[String], mut sets: HashMap<String, Wide>) -> Result<Vec<Feed>, Failure> {
    let headers = header::columns(&program.program, columns.iter().map(String::as_str), &Asked::default())
        .map_err(|e| Failure::Wrong(program.source.clone(), e.0))?;
    let bare: Vec<String> = headers.iter().map(|h| h.name.clone()).collect();
    let names = Names::new(&bare);
    let inputs = program.program.inputs();
    let mut errors = program.program.check_columns(columns.iter().map(String::as_str)).map_or_else(|e| e.0, |()| Vec::new());
    let mut own: Vec<Option<Feed>> = Vec::new();
    let mut reported = vec![false; inputs.len()];
    for (i, (input, pinned)) in inputs.iter().zip(program.program.input_shapes()).enumerate() {
        let set = sets.remove(&input.name);
        let found = names.find(&input.name, *pinned).unwrap_or_else(|missing| {
            reported[i] = true;
            errors.push(names.missing(&missing, input));
            None
        });
        own.push(match (found, set) {
            (Some(_), Some(_)) => {
                let message = format!("the input `{}` has a column and is given with --set", input.name);
                errors.push(Diagnostic::error("duplicate-input", Default::default(), message).help("leave one of them out"));
                reported[i] = true;
                None
            }
            (Some((shape, columns)), None) => {
                let conversions = columns.iter().map(|&c| headers[c].conversion.clone()).collect();
                Some(Feed::Columns { shape, columns, own: true, conversions })
            }
            (None, set) => set.map(Feed::Shared),
        });
    }
    let mut feeds = Vec::new();
    for (i, (input, pinned)) in inputs.iter().zip(program.program.input_shapes()).enumerate() {
        match feed(inputs, &own, i, 0) {
            Some(feed) => feeds.push(feed),
            None if reported[i] => {}
            None => {
                let first = match pinned {
                    InputShape::Known(Shape::Scalar) => input.name.clone(),
                    InputShape::Known(Shape::Vector(_)) | InputShape::Vector => format!("{}[0]", input.name),
                    InputShape::Known(Shape::Matrix(..)) | InputShape::Matrix => format!("{}[0,0]", input.name),
                };
                errors.push(names.missing(&first, input));
            }
        }
    }
    let is_fed = |name: &str| inputs.iter().zip(&own).any(|(i, feed)| i.name == name && feed.is_some());
    errors.extend(by_group::check(&program.program, is_fed, |name| format!("--set {name}=…")).err());
    if errors.is_empty() { Ok(feeds) } else { Err(Failure::Wrong(program.source.clone(), errors)) }
}

/// What feeds an input: its own columns or value, else what its declaration says.
fn feed(inputs: &[Input], own: &[Option<Feed>], i: usize, hops: usize) -> Option<Feed> {
    if let Some(feed) = &own[i] {
        return Some(match feed {
            Feed::Columns { shape, columns, conversions, .. } => {
                Feed::Columns { shape: *shape, columns: columns.clone(), own: hops == 0, conversions: conversions.clone() }
            }
            shared => shared.clone(),
        });
    }
    let shape = inputs[i].shape.unwrap_or(Shape::Scalar);
    match &inputs[i].kind {
        InputKind::Param(info) => Some(Feed::Shared((shape, info.initial.clone()))),
        InputKind::State(StateStart::Value(v)) => Some(Feed::Shared((shape, v.clone()))),
        InputKind::State(StateStart::Name(name)) if hops < inputs.len() => {
            let j = inputs.iter().position(|i| i.name == *name)?;
            feed(inputs, own, j, hops + 1)
        }
        InputKind::State(_) | InputKind::Free | InputKind::Declared | InputKind::Weight { .. } => None,
    }
}

/// The names of the columns, and of the vectors and matrices they make up.
struct Names<'a> {
    all: &'a [String],
    whole: HashMap<&'a str, usize>,
    elements: HashMap<&'a str, HashMap<(u32, Option<u32>), usize>>,
}

impl<'a> Names<'a> {
    fn new(all: &'a [String]) -> Names<'a> {
        let mut names = Names { all, whole: HashMap::new(), elements: HashMap::new() };
        for (i, name) in all.iter().enumerate() {
            names.whole.insert(name, i);
            if let Some(e) = table::element(name) {
                names.elements.entry(e.name).or_default().insert((e.row, e.column), i);
            }
        }
        names
    }

    /// The columns that feed an input, if there are any. `Err`: the name of the first that is missing among them.
    fn find(&self, name: &str, pinned: InputShape) -> Result<Option<(Shape, Vec<usize>)>, String> {
        let scalar = matches!(pinned, InputShape::Known(Shape::Scalar));
        match (self.whole.get(name), self.elements.get(name)) {
            (Some(&i), elements) if scalar || elements.is_none() && pinned.known().is_none_or(|s| s == Shape::Scalar) => {
                Ok(Some((Shape::Scalar, vec![i])))
            }
            (_, None) => Ok(None),
            (_, Some(elements)) => {
                let largest = |f: fn(&(u32, Option<u32>)) -> Option<u32>| elements.keys().filter_map(f).max();
                let (rows, columns) = (largest(|k| Some(k.0)), largest(|k| k.1));
                let shape = match (rows, columns, pinned.known()) {
                    (Some(r), None, Some(Shape::Vector(n))) => Shape::Vector(n.max(r + 1)),
                    (Some(r), None, _) => Shape::Vector(r + 1),
                    (Some(r), Some(c), Some(Shape::Matrix(m, n))) => Shape::Matrix(m.max(r + 1), n.max(c + 1)),
                    (Some(r), Some(c), _) => Shape::Matrix(r + 1, c + 1),
                    (None, ..) => return Ok(None),
                };
                let mut found = Vec::new();
                let (rows, columns) = match shape {
                    Shape::Matrix(m, n) => (m, n),
                    _ => (shape.len() as u32, 1),
                };
                for key in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                    let (r, c) = (key.0, matches!(shape, Shape::Matrix(..)).then_some(key.1));
                    match elements.get(&(r, c)) {
                        Some(&i) => found.push(i),
                        None => return Err(table::Element { name, row: r, column: c }.to_string()),
                    }
                }
                Ok(Some((shape, found)))
            }
        }
    }

    fn missing(&self, column: &str, input: &Input) -> Diagnostic {
        let help = did_you_mean(column, self.all.iter().map(|c| c.as_str())).unwrap_or_else(|| {
            let shown: Vec<String> = self.all.iter().take(12).map(|c| format!("`{c}`")).collect();
            let more = if self.all.len() > shown.len() { ", …" } else { "" };
            format!("its columns are {}{more}; for a value that is no column: --set {}=VALUE", shown.join(", "), input.name)
        });
        Diagnostic::error("missing-column", input.span, format!("the table has no column `{column}`")).help(help)
    }
}
