//! Runs the language reference: every fenced `scheme` block of `spec/*.md` is a program with expectations, and the tables in it
//! are those of the library. `spec/README.md` describes the format. `UPDATE_SPEC=1` rewrites the generated table.

use neural_compiler::diff::{self, gradient, hessian, jvp};
use neural_compiler::domain::check;
use neural_compiler::exec::interp::{RunOptions, run};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::ops::{Op, Row};
use neural_compiler::syntax::ast::{InputKind, StateStart};
use neural_compiler::syntax::reader::{Data, Datum, DatumId, read};
use neural_compiler::{Diagnostics, InputShape, Limits, Options, Program, Shape, Tensor, compile, compose, number_text};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Forms, with the name of their section. `call` is the call of a user's function.
const FORMS: &[&str] = &["if", "cond", "and", "or", "let", "let*", "letrec", "letrec*", "define", "lambda", "loop", "recur", "call"];

/// The control forms among the paper's 51 operations; the rest are rows of the table.
const PAPER_FORMS: &[&str] = &["if", "and", "or", "let", "let*", "letrec", "define", "loop", "recur", "call"];

/// Codes no program text can cause: `codes_of_the_library_interface` shows them.
const INTERFACE_CODES: &[&str] = &["nothing-to-compose", "reverse-of-tape"];

/// Agreement of forward with reverse mode, and of `~>` with the value.
const NEAR: f64 = 1e-12;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

// ---- reading the documents ----

/// A fenced block.
struct Block {
    file: String,
    line: usize,
    /// The name in the nearest heading that has one in backticks.
    section: String,
    program: String,
    directives: Vec<Directive>,
}

struct Directive {
    line: usize,
    what: What,
}

#[derive(Debug)]
enum What {
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
}

impl What {
    fn is_expectation(&self) -> bool {
        !matches!(self, What::Dtype(_) | What::Limits(_) | What::Inputs(_) | What::Chain(_) | What::Feed(..) | What::With(_))
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Value {
    shape: Shape,
    data: Vec<f64>,
}

fn documents() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("spec")).expect("the folder spec").map(|e| e.expect("an entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "md"));
    files.sort();
    let name = |f: &Path| format!("spec/{}", f.file_name().expect("a name").to_string_lossy());
    files.iter().map(|f| (name(f), std::fs::read_to_string(f).expect("a readable file"))).collect()
}

/// The name a heading is about: the first word in backticks.
fn heading_name(line: &str) -> Option<String> {
    let rest = line.strip_prefix('#')?;
    rest.split('`').nth(1).map(String::from)
}

/// All blocks; mistakes in their format are failures.
fn blocks(failures: &mut Vec<String>) -> Vec<Block> {
    let mut found = Vec::new();
    for (file, text) in documents() {
        let mut section = String::new();
        let mut fence: Option<(usize, bool, Vec<&str>)> = None;
        for (i, line) in text.lines().enumerate() {
            match &mut fence {
                None => {
                    if let Some(info) = line.strip_prefix("```") {
                        fence = Some((i + 1, info.trim() == "scheme", Vec::new()));
                    } else if line.starts_with('#') {
                        section = heading_name(line).unwrap_or_default();
                    }
                }
                Some((start, scheme, lines)) => {
                    if line.trim_end() == "```" {
                        if *scheme {
                            match block(&file, *start, &section, lines) {
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

fn block(file: &str, start: usize, section: &str, lines: &[&str]) -> Result<Block, String> {
    let mut b = Block { file: file.into(), line: start, section: section.into(), program: String::new(), directives: Vec::new() };
    for (i, line) in lines.iter().enumerate() {
        let at = start + i + 1;
        match directive(line).map_err(|e| format!("{file}:{at}: {e}"))? {
            Some(what) => b.directives.push(Directive { line: at, what }),
            None if b.directives.is_empty() || line.trim().is_empty() => {
                b.program.push_str(line);
                b.program.push('\n');
            }
            None => return Err(format!("{file}:{at}: program text after an expectation")),
        }
    }
    b.program.truncate(b.program.trim_end().len());
    if b.directives.iter().any(|d| d.what.is_expectation()) { Ok(b) } else { Err(format!("{file}:{start}: a block without an expectation")) }
}

fn directive(line: &str) -> Result<Option<What>, String> {
    let Some(text) = line.strip_prefix("; ") else { return Ok(None) };
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
        "limits" => {
            What::Limits(pairs(rest)?.into_iter().map(|(n, v)| v.parse().map(|v| (n, v)).map_err(|e| format!("{v}: {e}"))).collect::<Result<_, String>>()?)
        }
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
        "input" => {
            let (name, shape) = rest.split_once("=>").ok_or("input needs =>")?;
            What::Input(name.trim().into(), shape.trim().into())
        }
        _ => return Ok(None),
    }))
}

/// `a = 1, b = [2 3]`.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |p: &str| p.split_once('=').map(|(n, v)| (n.trim().to_string(), v.trim().to_string())).ok_or(format!("`{p}` is not name = value"));
    text.split(',').filter(|p| !p.trim().is_empty()).map(pair).collect()
}

/// A number, `[1 2 3]` or `[[1 2] [3 4]]`, as the language writes them.
fn value(text: &str) -> Result<Value, String> {
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

fn show<T: Real>(t: &Tensor<T>) -> String {
    let numbers = |d: &[T]| d.iter().map(|x| number_text(x.to_f64())).collect::<Vec<_>>().join(" ");
    match t.shape() {
        Shape::Scalar => numbers(t.data()),
        Shape::Vector(_) => format!("[{}]", numbers(t.data())),
        Shape::Matrix(_, c) => format!("[{}]", t.data().chunks(c as usize).map(|r| format!("[{}]", numbers(r))).collect::<Vec<_>>().join(" ")),
    }
}

// ---- running a block ----

/// Why something has no value.
struct Failed {
    codes: Vec<String>,
    text: String,
}

impl From<Diagnostics> for Failed {
    fn from(d: Diagnostics) -> Failed {
        let mut codes: Vec<String> = d.0.iter().map(|d| d.code.to_string()).collect();
        codes.dedup();
        Failed { codes, text: d.to_string() }
    }
}

impl From<neural_compiler::EvalError> for Failed {
    fn from(e: neural_compiler::EvalError) -> Failed {
        Failed { codes: vec![e.code.to_string()], text: e.to_string() }
    }
}

struct Setup {
    options: Options,
    dtype: Dtype,
    chain: Option<String>,
    feed: Option<(String, String)>,
}

fn setup(block: &Block) -> Result<Setup, String> {
    let mut s = Setup { options: Options::default(), dtype: Dtype::F64, chain: None, feed: None };
    for d in &block.directives {
        match &d.what {
            What::Dtype(t) => s.dtype = *t,
            What::Inputs(names) => s.options.inputs = Some(names.iter().map(|n| (n.clone(), None)).collect()),
            What::Chain(p) => s.chain = Some(p.clone()),
            What::Feed(n, p) => s.feed = Some((n.clone(), p.clone())),
            What::Limits(list) => {
                for (name, n) in list {
                    let l = &mut s.options.limits;
                    match name.as_str() {
                        "source_bytes" => l.source_bytes = *n,
                        "nesting" => l.nesting = *n,
                        "nodes" => l.nodes = *n,
                        "iterations" => l.iterations = *n as u64,
                        "depth" => l.depth = *n,
                        "steps" => l.steps = *n as u64,
                        "memory_bytes" => l.memory_bytes = *n,
                        other => return Err(format!("unknown limit `{other}`")),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(s)
}

fn compiled(block: &Block, setup: &Setup) -> Result<Program, Failed> {
    let program = compile(&block.program, &setup.options)?;
    Ok(match (&setup.chain, &setup.feed) {
        (Some(first), _) => compose::chain(&[&compile(first, &setup.options)?, &program])?,
        (None, Some((name, inner))) => compose::feed(&program, name, &compile(inner, &setup.options)?)?,
        (None, None) => program,
    })
}

/// The values of the inputs, in order: those given, or those declared.
fn arguments(program: &Program, with: &[(String, Value)]) -> Vec<Value> {
    let declared = |kind: &InputKind, shape: Option<Shape>| match kind {
        InputKind::Param(info) => Some(Value { shape: shape?, data: info.initial.clone() }),
        InputKind::State(StateStart::Value(v)) => Some(Value { shape: shape?, data: v.clone() }),
        InputKind::Free | InputKind::Declared | InputKind::State(StateStart::Name(_)) | InputKind::Weight { .. } => None,
    };
    let of = |i: &neural_compiler::syntax::ast::Input| with.iter().find(|(n, _)| *n == i.name).map(|(_, v)| v.clone()).or_else(|| declared(&i.kind, i.shape));
    program.inputs().iter().filter_map(of).collect()
}

fn graph_for(program: &Program, args: &[Value]) -> Result<Arc<Graph>, Failed> {
    if args.is_empty() && !program.inputs().is_empty() {
        return Ok(program.graph()?);
    }
    Ok(program.specialise(&args.iter().map(|v| v.shape).collect::<Vec<_>>())?)
}

fn tensors<T: Real>(args: &[Value]) -> Vec<Tensor<T>> {
    args.iter().map(|v| Tensor::from_f64(v.shape, &v.data).expect("a value fits its shape")).collect()
}

/// Whether a result is what was written.
fn agrees<T: Real>(found: &Tensor<T>, wanted: &Value, exact: bool) -> bool {
    let same = |(x, w): (&T, &f64)| {
        let (x, w) = (x.to_f64(), T::from_f64(*w).to_f64());
        if x.is_nan() || w.is_nan() {
            x.is_nan() && w.is_nan()
        } else if exact || !x.is_finite() || !w.is_finite() {
            x.to_bits() == w.to_bits()
        } else {
            (x - w).abs() <= NEAR * w.abs()
        }
    };
    found.shape() == wanted.shape && found.data().iter().zip(&wanted.data).all(same)
}

fn expect<T: Real>(found: &Tensor<T>, wanted: &Value, exact: bool) -> Result<(), String> {
    if agrees(found, wanted, exact) { Ok(()) } else { Err(format!("gives {}", show(found))) }
}

/// The position of a named input.
fn position(program: &Program, name: &str) -> Result<usize, String> {
    program.inputs().iter().position(|i| i.name == name).ok_or(format!("there is no input `{name}`"))
}

/// Forward mode must give the same gradient, to rounding.
fn forward_agrees(graph: &Graph, args: &[Value], wrt: usize, reverse: &Tensor<f64>, options: &RunOptions) -> Result<(), String> {
    if reverse.data().iter().any(|x| !x.is_finite()) {
        return Ok(());
    }
    let along = jvp(graph, &[wrt]);
    for k in 0..reverse.data().len() {
        let mut inputs = tensors::<f64>(args);
        let mut direction = vec![0.0; reverse.data().len()];
        direction[k] = 1.0;
        inputs.push(Tensor::new(args[wrt].shape, direction).expect("the shape of the input"));
        let out = run(&along, &inputs, options).map_err(|e| format!("forward mode: {e}"))?;
        let (f, r) = (out[1].data()[0], reverse.data()[k]);
        if (f - r).abs() > NEAR * f.abs().max(r.abs()).max(1.0) {
            return Err(format!("forward mode gives {f}, reverse mode {r}"));
        }
    }
    Ok(())
}

fn run_block(block: &Block) -> Vec<String> {
    let mut failures = Vec::new();
    let setup = match setup(block) {
        Ok(s) => s,
        Err(e) => return vec![format!("{}:{}: {e}", block.file, block.line)],
    };
    let program = compiled(block, &setup);
    let mut with: Vec<(String, Value)> = Vec::new();
    for d in &block.directives {
        if let What::With(values) = &d.what {
            with = values.clone();
        }
        if !d.what.is_expectation() {
            continue;
        }
        let result = match (&program, setup.dtype) {
            (Err(e), _) => match &d.what {
                What::Error(codes) if *codes == e.codes => Ok(()),
                _ => Err(format!("the program does not compile: {}", e.text)),
            },
            (Ok(p), Dtype::F64) => expectation::<f64>(p, &setup, &with, &d.what),
            (Ok(p), Dtype::F32) => expectation::<f32>(p, &setup, &with, &d.what),
        };
        if let Err(e) = result {
            failures.push(format!("{}:{}: {e}", block.file, d.line));
        }
    }
    failures
}

fn expectation<T: Real>(program: &Program, setup: &Setup, with: &[(String, Value)], what: &What) -> Result<(), String> {
    for (name, _) in with {
        position(program, name)?;
    }
    let args = arguments(program, with);
    let limits = setup.options.limits;
    let options = RunOptions { limits, trap: matches!(what, What::Trap(_)) };
    let text = |f: Failed| f.text;
    match what {
        What::Value(v, exact) => {
            let graph = graph_for(program, &args).map_err(text)?;
            let out = run(&graph, &tensors::<T>(&args), &options).map_err(|e| text(e.into()))?;
            expect(&out[0], v, *exact)
        }
        What::Grad(name, v, exact) => {
            let wrt = position(program, name)?;
            let graph = graph_for(program, &args).map_err(text)?;
            let slope = gradient(&graph, &[wrt]).map_err(|e| text(e.into()))?;
            let out = run(&slope, &tensors::<T>(&args), &options).map_err(|e| text(e.into()))?;
            expect(&out[1], v, *exact)?;
            let reverse = run(&slope, &tensors::<f64>(&args), &options).map_err(|e| text(e.into()))?;
            forward_agrees(&graph, &args, wrt, &reverse[1], &options)
        }
        What::Hessian(a, b, v, exact) => {
            let wrt = [position(program, a)?, position(program, b)?];
            let graph = graph_for(program, &args).map_err(text)?;
            // Results: the value, the gradient, then the blocks row by row.
            let (list, at) = if wrt[0] == wrt[1] { (&wrt[..1], 2) } else { (&wrt[..], 4) };
            let second = hessian(&graph, list).map_err(|e| text(e.into()))?;
            let out = run(&second, &tensors::<T>(&args), &options).map_err(|e| text(e.into()))?;
            expect(&out[at], v, *exact)
        }
        What::Error(codes) => {
            let outcome = graph_for(program, &args).and_then(|g| {
                let out = run(&g, &tensors::<T>(&args), &options)?;
                Ok((g, out))
            });
            match outcome {
                Err(e) if e.codes == *codes => Ok(()),
                Err(e) => Err(format!("the error is another: {}", e.text)),
                // A gradient may fail where the value does not.
                Ok((g, out)) => match gradient(&g, &[]).map_err(Failed::from) {
                    Err(e) if e.codes == *codes => Ok(()),
                    _ => Err(format!("no error, it gives {}", show(&out[0]))),
                },
            }
        }
        What::Trap(code) => {
            let graph = graph_for(program, &args).map_err(text)?;
            match run(&graph, &tensors::<T>(&args), &options) {
                Err(e) if e.code == code => Ok(()),
                Err(e) => Err(format!("the error is another: {e}")),
                Ok(_) if code == "none" => Ok(()),
                Ok(out) => Err(format!("nothing traps, it gives {}", show(&out[0]))),
            }
        }
        What::Check(ranges, codes) => {
            let graph = graph_for(program, &args).map_err(text)?;
            let mut list = vec![None; program.inputs().len()];
            for (name, lo, hi) in ranges {
                list[position(program, name)?] = Some((*lo, *hi));
            }
            let found = check(&graph, &list, setup.dtype);
            let mut names: Vec<String> = found.iter().map(|d| d.code.to_string()).collect();
            names.dedup();
            if names == *codes { Ok(()) } else { Err(format!("the check finds {:?}", found.iter().map(|d| &d.message).collect::<Vec<_>>())) }
        }
        What::Input(name, shape) => {
            let i = position(program, name)?;
            let found = match program.input_shapes()[i] {
                InputShape::Known(s) => s.to_string(),
                InputShape::Vector => "vector".into(),
                InputShape::Matrix => "matrix".into(),
            };
            if found == *shape { Ok(()) } else { Err(format!("the input is a {found}")) }
        }
        What::Dtype(_) | What::Limits(_) | What::Inputs(_) | What::Chain(_) | What::Feed(..) | What::With(_) => Ok(()),
    }
}

fn report(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_example_does_what_it_says() {
    let mut failures = Vec::new();
    let all = blocks(&mut failures);
    failures.extend(all.iter().flat_map(run_block));
    let expectations = all.iter().flat_map(|b| &b.directives).filter(|d| d.what.is_expectation()).count();
    println!("{} examples, {expectations} expectations", all.len());
    report(&failures);
}

// ---- coverage ----

#[derive(Default, Clone, Copy)]
struct Seen {
    value: bool,
    derivative: bool,
    error: bool,
}

impl Seen {
    fn missing(self) -> Vec<&'static str> {
        let mut list = Vec::new();
        for (seen, what) in [(self.value, "value"), (self.derivative, "derivative"), (self.error, "error")] {
            if !seen {
                list.push(what);
            }
        }
        list
    }
}

/// Names applied in a program, with the number of arguments.
fn applications(program: &str) -> Vec<(String, usize)> {
    let (data, _): (Data, _) = read(program, &Limits::default());
    let mut found = Vec::new();
    let mut work: Vec<DatumId> = data.top.clone();
    while let Some(d) = work.pop() {
        let children = data.children(d);
        match data.get(d) {
            Datum::List(..) => {
                if let Some(s) = children.first().and_then(|&h| data.symbol(h)) {
                    found.push((data.names.text(s).to_string(), children.len() - 1));
                }
            }
            Datum::Bracket(..) => found.push(("vec".into(), children.len())),
            Datum::Number(_) | Datum::Symbol(_) => {}
        }
        work.extend(children);
    }
    found
}

/// Whether a block shows a row: it stands in the row's section and applies it (an error may apply it wrongly).
fn shows_row(block: &Block, row: &Row, applied: &[(String, usize)], error: bool) -> bool {
    let names: Vec<&str> = std::iter::once(row.name).chain(row.aliases.iter().copied()).collect();
    let fits = |(n, count): &(String, usize)| names.contains(&n.as_str()) && (error || row.arity.admits(*count));
    names.contains(&block.section.as_str()) && applied.iter().any(fits)
}

fn note(seen: &mut Seen, block: &Block) {
    for d in &block.directives {
        match &d.what {
            What::Value(..) => seen.value = true,
            What::Grad(..) | What::Hessian(..) => seen.derivative = true,
            What::Error(_) | What::Trap(_) => seen.error = true,
            _ => {}
        }
    }
}

fn is_error(block: &Block) -> bool {
    block.directives.iter().any(|d| matches!(d.what, What::Error(_) | What::Trap(_)))
}

#[test]
fn every_operation_and_form_has_value_derivative_and_error_examples() {
    let mut failures = Vec::new();
    let all: Vec<(Block, Vec<(String, usize)>)> = blocks(&mut failures).into_iter().map(|b| (applications(&b.program), b)).map(|(a, b)| (b, a)).collect();
    let mut paper = BTreeSet::new();
    for &op in Op::ALL {
        let row = op.row();
        if !row.has_surface() {
            continue;
        }
        let mut seen = Seen::default();
        for (block, applied) in &all {
            if shows_row(block, row, applied, is_error(block)) {
                note(&mut seen, block);
            }
        }
        if row.paper {
            paper.insert(row.name);
        }
        if !seen.missing().is_empty() {
            failures.push(format!("{}: its section lacks examples of: {}", row.usage, seen.missing().join(", ")));
        }
        for alias in row.aliases {
            if !all.iter().any(|(_, applied)| applied.iter().any(|(n, _)| n == alias)) {
                failures.push(format!("the alias `{alias}` appears in no example"));
            }
        }
    }
    for &form in FORMS {
        let mut seen = Seen::default();
        for (block, applied) in &all {
            if block.section == form && (form == "call" || form == "lambda" || applied.iter().any(|(n, _)| n == form)) {
                note(&mut seen, block);
            }
        }
        if PAPER_FORMS.contains(&form) {
            paper.insert(form);
        }
        if !seen.missing().is_empty() {
            failures.push(format!("the form {form}: its section lacks examples of: {}", seen.missing().join(", ")));
        }
    }
    if paper.len() != 51 {
        failures.push(format!("the paper has 51 operations, the reference marks {}", paper.len()));
    }
    report(&failures);
}

// ---- generated and complete lists ----

const TABLE_FROM: &str = "<!-- table: generated from the rows, UPDATE_SPEC=1 rewrites it -->";
const TABLE_TO: &str = "<!-- end of table -->";

fn table() -> String {
    let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
    for &op in Op::ALL {
        let row = op.row();
        if !row.has_surface() {
            continue;
        }
        let group = row.group.name();
        match groups.iter_mut().find(|g| g.0 == group) {
            Some(g) => g.1.push(row),
            None => groups.push((group, vec![row])),
        }
    }
    let cell = |s: &str| s.replace('|', "\\|");
    let mut out = String::new();
    for (group, rows) in groups {
        writeln!(out, "\n**{group}**\n\n| name | usage | domain | derivative | meaning |\n|---|---|---|---|---|").expect("a string");
        for r in rows {
            let names: Vec<String> = std::iter::once(&r.name).chain(r.aliases).map(|n| format!("`{n}`")).collect();
            let usage = format!("`{}`", r.usage);
            writeln!(out, "| {} | {} | {} | {} | {} |", names.join(", "), usage, cell(r.domain.text()), cell(r.derivative_doc), cell(r.doc)).expect("a string");
        }
    }
    out.push('\n');
    out
}

#[test]
fn the_table_of_operations_is_that_of_the_library() {
    let path = root().join("spec/operations.md");
    let text = std::fs::read_to_string(&path).expect("spec/operations.md");
    let (before, rest) = text.split_once(TABLE_FROM).expect("the start of the table");
    let (old, after) = rest.split_once(TABLE_TO).expect("the end of the table");
    let new = format!("\n{}", table());
    if std::env::var_os("UPDATE_SPEC").is_some() {
        std::fs::write(&path, format!("{before}{TABLE_FROM}{new}{TABLE_TO}{after}")).expect("spec/operations.md can be written");
    } else {
        assert_eq!(old, new, "the table in spec/operations.md is not that of the library: run the tests with UPDATE_SPEC=1");
    }
}

fn sources(folder: &Path, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder src") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(std::fs::read_to_string(&path).expect("a readable file"));
        }
    }
}

fn is_code(text: &str) -> bool {
    text.contains('-') && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

/// The codes in the library's source: the first string after each call that makes an error. The lexer's `Err((code, …))` pairs
/// count as such calls.
fn codes_in_source() -> BTreeSet<String> {
    let mut texts = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
    let mut found = BTreeSet::new();
    for text in &texts {
        for call in ["Diagnostic::error(", "Diagnostic::warning(", "LowerError::new(", "EvalError::new(", "self.error(", "Err(("] {
            for (at, _) in text.match_indices(call) {
                let rest = text[at + call.len()..].trim_start();
                if let Some(code) = rest.strip_prefix('"').and_then(|r| r.split('"').next())
                    && is_code(code)
                {
                    found.insert(code.to_string());
                }
            }
        }
    }
    found
}

#[test]
fn errors_md_lists_every_code_with_an_example() {
    let mut failures = Vec::new();
    let all = blocks(&mut failures);
    let text = std::fs::read_to_string(root().join("spec/errors.md")).expect("spec/errors.md");
    let listed: BTreeSet<String> = text.lines().filter(|l| l.starts_with("### ")).filter_map(heading_name).collect();
    let source = codes_in_source();
    assert!(source.len() > 30, "the scan of the source finds only {}", source.len());
    for code in source.difference(&listed) {
        failures.push(format!("`{code}` occurs in the source and not in spec/errors.md"));
    }
    for code in listed.difference(&source) {
        failures.push(format!("`{code}` is in spec/errors.md and not in the source"));
    }
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for block in all.iter().filter(|b| b.file == "spec/errors.md") {
        for d in &block.directives {
            let codes: &[String] = match &d.what {
                What::Error(codes) | What::Check(_, codes) => codes,
                What::Trap(code) => std::slice::from_ref(code),
                _ => &[],
            };
            codes.iter().filter(|c| **c == block.section).for_each(|c| *shown.entry(c).or_default() += 1);
        }
    }
    for code in &listed {
        if !shown.contains_key(code.as_str()) && !INTERFACE_CODES.contains(&code.as_str()) {
            failures.push(format!("`{code}` has no example in its section of spec/errors.md"));
        }
    }
    report(&failures);
}

#[test]
fn codes_of_the_library_interface() {
    let code = |e: Diagnostics| e.0[0].code;
    let mut seen = BTreeSet::new();
    seen.insert(code(compose::chain(&[]).map(drop).expect_err("nothing to compose")));
    let program = compile("(loop ((i 0) (a x)) (if (= i 3) a (recur (+ i 1) (* a a))))", &Options::default()).expect("a program");
    let taped = diff::vjp(&program.graph().expect("a graph"), &[0]).expect("a derivative");
    seen.insert(code(diff::vjp(&taped, &[0]).map(drop).expect_err("reverse mode of a tape")));
    assert_eq!(seen, INTERFACE_CODES.iter().copied().collect());
}

#[test]
fn limits_md_states_the_defaults() {
    let text = std::fs::read_to_string(root().join("spec/limits.md")).expect("spec/limits.md");
    let l = Limits::default();
    let rows = [
        ("source_bytes", "limit-source-size", l.source_bytes as u64),
        ("nesting", "limit-nesting", l.nesting as u64),
        ("nodes", "limit-nodes", l.nodes as u64),
        ("iterations", "limit-iterations", l.iterations),
        ("depth", "limit-depth", l.depth as u64),
        ("steps", "limit-steps", l.steps),
        ("memory_bytes", "limit-memory", l.memory_bytes as u64),
    ];
    for (name, code, default) in rows {
        let start = format!("| `{name}` | `{code}` | {default} |");
        assert!(text.contains(&start), "spec/limits.md lacks the row {start}");
    }
}

// ---- the runner itself ----

fn one(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    match block("test.md", 1, "", &lines) {
        Ok(b) => run_block(&b),
        Err(e) => vec![e],
    }
}

#[test]
fn the_runner_can_fail() {
    assert!(one("(+ 1 2)\n; => 3").is_empty());
    for wrong in [
        "(+ 1 2)",
        "(+ 1 2)\n; => 4",
        "(+ 0.1 0.2)\n; => 0.3",
        "(- 0)\n; => 0",
        "[1 2]\n; => 1",
        "(+ 1)\n; error: wrong-arity",
        "(sin)\n; => 0",
        "(sin)\n; error: bad-form",
        "(* x x)\n; with x = 3\n; grad x => 5",
        "(* x x x)\n; with x = 3\n; hessian x x => 17",
        "(log x)\n; check x=0:1 => clean",
        "(log x)\n; check x=1:2 => domain-may-be-left",
        "(log x)\n; with x = 1\n; trap: domain-left",
        "(* x x)\n; with y = 3\n; => 9",
        "(+ 1 2)\n; => 3\n(+ 1 2)",
    ] {
        assert!(!one(wrong).is_empty(), "the runner accepts\n{wrong}");
    }
}
