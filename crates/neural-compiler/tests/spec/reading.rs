//! Reads the documents. In: `spec/*.md`; out: their blocks, with what each expects.

use crate::root;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::syntax::reader::{Datum, DatumId, read};
use neural_compiler::{Limits, Shape, Syntax, Tensor, number_text};
use std::path::{Path, PathBuf};

/// A fenced block.
pub(crate) struct Block {
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The name in the nearest heading that has one in backticks.
    pub(crate) section: String,
    pub(crate) syntax: Syntax,
    pub(crate) program: String,
    pub(crate) directives: Vec<Directive>,
}

pub(crate) struct Directive {
    pub(crate) line: usize,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Dtype(Dtype),
    Limits(Vec<(String, usize)>),
    Inputs(Vec<String>),
    Chain(String),
    Feed(String, String),
    With(Vec<(String, Value)>),
    Value(Value, bool),
    Grad(String, Value, bool),
    Hessian(String, String, Value, bool),
    Error(Vec<String>),
    Trap(String),
    Check(Vec<(String, f64, f64)>, Vec<String>),
    Input(String, String),
    Unit(String, String),
}

impl What {
    pub(crate) fn is_expectation(&self) -> bool {
        !matches!(self, What::Dtype(_) | What::Limits(_) | What::Inputs(_) | What::Chain(_) | What::Feed(..) | What::With(_))
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Value {
    pub(crate) shape: Shape,
    pub(crate) data: Vec<f64>,
}

fn documents() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(root().join("spec")).expect("the folder spec").map(|e| e.expect("an entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "md"));
    files.sort();
    let name = |f: &Path| format!("spec/{}", f.file_name().expect("a name").to_string_lossy());
    files.iter().map(|f| (name(f), std::fs::read_to_string(f).expect("a readable file"))).collect()
}

/// The name a heading is about: the first word in backticks.
pub(crate) fn heading_name(line: &str) -> Option<String> {
    let rest = line.strip_prefix('#')?;
    rest.split('`').nth(1).map(String::from)
}

/// All blocks; mistakes in their format are failures.
pub(crate) fn blocks(failures: &mut Vec<String>) -> Vec<Block> {
    let mut found = Vec::new();
    for (file, text) in documents() {
        let mut section = String::new();
        let mut fence: Option<(usize, Option<Syntax>, Vec<&str>)> = None;
        for (i, line) in text.lines().enumerate() {
            match &mut fence {
                None => {
                    if let Some(info) = line.strip_prefix("```") {
                        fence = Some((i + 1, Syntax::named(info.trim()), Vec::new()));
                    } else if line.starts_with('#') {
                        section = heading_name(line).unwrap_or_default();
                    }
                }
                Some((start, syntax, lines)) => {
                    if line.trim_end() == "```" {
                        if let Some(syntax) = *syntax {
                            match block(&file, *start, &section, syntax, lines) {
                                Ok(b) => found.push(b),
                                Err(e) => failures.push(e),
                            }
                        }
                        fence = None;
                    } else {
                        lines.push(line);
                    }
                }
            }
        }
        if let Some((start, ..)) = fence {
            failures.push(format!("{file}:{start}: a block that is never closed"));
        }
    }
    found
}

pub(crate) fn block(file: &str, start: usize, section: &str, syntax: Syntax, lines: &[&str]) -> Result<Block, String> {
    let mut b = Block { file: file.into(), line: start, section: section.into(), syntax, program: String::new(), directives: Vec::new() };
    for (i, line) in lines.iter().enumerate() {
        let at = start + i + 1;
        match directive(line, syntax).map_err(|e| format!("{file}:{at}: {e}"))? {
            Some(what) => b.directives.push(Directive { line: at, what }),
            None if b.directives.is_empty() || line.trim().is_empty() => {
                b.program.push_str(line);
                b.program.push('\n');
            }
            None => return Err(format!("{file}:{at}: program text after an expectation")),
        }
    }
    b.program.truncate(b.program.trim_end().len());
    if b.directives.iter().any(|d| d.what.is_expectation()) {
        Ok(b)
    } else {
        Err(format!("{file}:{start}: a block without an expectation"))
    }
}

fn directive(line: &str, syntax: Syntax) -> Result<Option<What>, String> {
    let comment = match syntax {
        Syntax::Scheme => "; ",
        Syntax::Infix => "# ",
        Syntax::Latex => "% ",
    };
    let Some(text) = line.strip_prefix(comment) else { return Ok(None) };
    let text = text.trim();
    let arrow = |s: &str| -> Result<(String, Value, bool), String> {
        let (left, right, exact) = match (s.split_once("=>"), s.split_once("~>")) {
            (Some((l, r)), _) => (l, r, true),
            (None, Some((l, r))) => (l, r, false),
            (None, None) => return Err(format!("no => in `{s}`")),
        };
        Ok((left.trim().into(), value(right)?, exact))
    };
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(Some(match word {
        "=>" | "~>" => {
            let (_, v, exact) = arrow(text)?;
            What::Value(v, exact)
        }
        "grad" => {
            let (name, v, exact) = arrow(rest)?;
            What::Grad(name, v, exact)
        }
        "hessian" => {
            let (names, v, exact) = arrow(rest)?;
            let (a, b) = names.split_once(' ').ok_or("hessian needs two names")?;
            What::Hessian(a.into(), b.trim().into(), v, exact)
        }
        "with" => What::With(pairs(rest)?.into_iter().map(|(n, v)| Ok((n, value(&v)?))).collect::<Result<_, String>>()?),
        "error:" => What::Error(rest.split(',').map(|c| c.trim().to_string()).collect()),
        "trap:" => What::Trap(rest.trim().into()),
        "dtype" => What::Dtype(match rest {
            "f32" => Dtype::F32,
            "f64" => Dtype::F64,
            other => return Err(format!("unknown dtype `{other}`")),
        }),
        "limits" => What::Limits(
            pairs(rest)?
                .into_iter()
                .map(|(n, v)| v.parse().map(|v| (n, v)).map_err(|e| format!("{v}: {e}")))
                .collect::<Result<_, String>>()?,
        ),
        "inputs" => What::Inputs(rest.split_whitespace().map(String::from).collect()),
        "chain" => What::Chain(rest.into()),
        "feed" => {
            let (name, program) = rest.split_once('=').ok_or("feed is `name = program`")?;
            What::Feed(name.trim().into(), program.trim().into())
        }
        "check" => {
            let (ranges, codes) = rest.split_once("=>").ok_or("check needs =>")?;
            let range = |r: &str| -> Result<(String, f64, f64), String> {
                let (name, bounds) = r.split_once('=').ok_or("a range is name=low:high")?;
                let (lo, hi) = bounds.split_once(':').ok_or("a range is name=low:high")?;
                let number = |s: &str| s.parse::<f64>().map_err(|e| format!("{s}: {e}"));
                Ok((name.into(), number(lo)?, number(hi)?))
            };
            let codes = codes.split(',').map(|c| c.trim().to_string()).filter(|c| c != "clean").collect();
            What::Check(ranges.split_whitespace().map(range).collect::<Result<_, _>>()?, codes)
        }
        "unit" => {
            let (name, unit) = rest.split_once("=>").ok_or("unit needs =>")?;
            What::Unit(name.trim().into(), unit.trim().into())
        }
        "input" => {
            let (name, shape) = rest.split_once("=>").ok_or("input needs =>")?;
            What::Input(name.trim().into(), shape.trim().into())
        }
        _ => return Ok(None),
    }))
}

/// `a = 1, b = [2 3]`.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair =
        |p: &str| p.split_once('=').map(|(n, v)| (n.trim().to_string(), v.trim().to_string())).ok_or(format!("`{p}` is not name = value"));
    text.split(',').filter(|p| !p.trim().is_empty()).map(pair).collect()
}

/// A number, `[1 2 3]` or `[[1 2] [3 4]]`, as the language writes them.
pub(crate) fn value(text: &str) -> Result<Value, String> {
    let (data, errors) = read(text, &Limits::default());
    let [top] = data.top[..] else { return Err(format!("`{text}` is not one value")) };
    if !errors.is_empty() {
        return Err(format!("`{text}` is not a value"));
    }
    let numbers = |d: DatumId| -> Option<Vec<f64>> {
        let number = |&c: &DatumId| if let Datum::Number(x) = data.get(c) { Some(x) } else { None };
        data.children(d).iter().map(number).collect()
    };
    match data.get(top) {
        Datum::Number(x) => Ok(Value { shape: Shape::Scalar, data: vec![x] }),
        Datum::Bracket(..) => {
            if let Some(v) = numbers(top) {
                return Ok(Value { shape: Shape::Vector(v.len() as u32), data: v });
            }
            let rows: Option<Vec<Vec<f64>>> = data.children(top).iter().map(|&r| numbers(r)).collect();
            match rows {
                Some(rows) if rows.iter().all(|r| r.len() == rows[0].len()) => {
                    Ok(Value { shape: Shape::Matrix(rows.len() as u32, rows[0].len() as u32), data: rows.concat() })
                }
                _ => Err(format!("`{text}` is not a value")),
            }
        }
        Datum::Symbol(_) | Datum::List(..) => Err(format!("`{text}` is not a value")),
    }
}

pub(crate) fn show<T: Real>(t: &Tensor<T>) -> String {
    let numbers = |d: &[T]| d.iter().map(|x| number_text(x.to_f64())).collect::<Vec<_>>().join(" ");
    match t.shape() {
        Shape::Scalar => numbers(t.data()),
        Shape::Vector(_) => format!("[{}]", numbers(t.data())),
        Shape::Matrix(_, c) => {
            format!("[{}]", t.data().chunks(c as usize).map(|r| format!("[{}]", numbers(r))).collect::<Vec<_>>().join(" "))
        }
    }
}
