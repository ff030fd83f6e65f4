//! What a session knows. In: entries; out: printed values, kept definitions.
//! Invariant: names are unique among values and functions together.

use crate::commands::repl::help;
use crate::commands::run::{Order, evaluate};
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::inputs::{Wide, tensors};
use crate::render::Source;
use crate::value;
use neural_compiler::graph::{Graph, Kind};
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::source::Span;
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::syntax::constants::SETS;
use neural_compiler::syntax::forms;
use neural_compiler::syntax::reader::{Data, DatumId};
use neural_compiler::syntax::{Syntax, read};
use neural_compiler::{Diagnostic, Diagnostics, Shape};
use serde_json::{Map, Value, json};

/// Whether to go on.
pub(crate) enum Reply {
    Go,
    Quit,
}

/// Values and functions defined so far.
pub(crate) struct Session {
    values: Vec<(String, Wide)>,
    functions: Vec<(String, String)>,
    dtype: Dtype,
    trap: bool,
    /// What entries are written in.
    syntax: Syntax,
}

/// What one datum of an entry is.
enum Part {
    Value(String, String),
    Function(String, String),
    Param(String),
    Constants(String, Vec<String>),
    Expression(String),
}

impl Session {
    pub(crate) fn new(dtype: Dtype, trap: bool, syntax: Syntax) -> Session {
        Session { values: Vec::new(), functions: Vec::new(), dtype, trap, syntax }
    }

    fn source(&self, text: impl Into<String>) -> Source {
        Source::new("<repl>", text).written_in(self.syntax)
    }

    /// Every defined name, for completion.
    pub(crate) fn names(&self) -> Vec<String> {
        self.values.iter().map(|v| v.0.clone()).chain(self.functions.iter().map(|f| f.0.clone())).collect()
    }

    /// Answers one entry.
    pub(crate) fn entry(&mut self, context: &mut Context, entry: &str) -> Result<Reply, Failure> {
        let entry = entry.trim();
        if let Some(command) = entry.strip_prefix(':') {
            let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
            match (name, rest.trim()) {
                ("q" | "quit" | "exit", _) => return Ok(Reply::Quit),
                ("h" | "help", _) if context.json => context.print_json(&json!({"help": help(self.syntax)}))?,
                ("h" | "help", _) => context.print(&help(self.syntax))?,
                ("list", _) => self.list(context)?,
                ("reset", _) => *self = Session::new(self.dtype, self.trap, self.syntax),
                ("grad" | "hessian", "") => return Err(Failure::Usage(format!("`:{name}` needs an expression, as in :{name} (square x)"))),
                ("grad", expression) => self.evaluate(context, expression, Order::Gradient)?,
                ("hessian", expression) => self.evaluate(context, expression, Order::Hessian)?,
                _ => return Err(Failure::Usage(format!("there is no command `:{name}`"))),
            }
            return Ok(Reply::Go);
        }
        let (data, errors) = read(entry, self.syntax, &context.limits);
        if !errors.is_empty() {
            return Err(Failure::program(&self.source(entry), Diagnostics(errors)));
        }
        let mut parts = Vec::new();
        let mut end = 0;
        for &d in &data.top {
            // In infix and LaTeX a last definition is the value of a text, too; here it only defines.
            if self.syntax != Syntax::Scheme && data.span(d).start < end {
                continue;
            }
            end = data.span(d).end;
            parts.push(part(&self.source(entry), &data, d)?);
        }
        // All functions of an entry at once, so that they can call each other.
        let functions: Vec<(String, String)> = parts
            .iter()
            .filter_map(|p| match p {
                Part::Function(name, text) => Some((name.clone(), text.clone())),
                _ => None,
            })
            .collect();
        self.define_functions(context, functions)?;
        for part in parts {
            match part {
                Part::Function(..) => {}
                Part::Value(name, text) => self.define_value(context, name, &text)?,
                Part::Param(text) => self.declare(context, &text)?,
                Part::Constants(text, names) => self.constants(context, &text, &names)?,
                Part::Expression(text) => self.evaluate(context, &text, Order::Value)?,
            }
        }
        Ok(Reply::Go)
    }

    /// The program an expression makes together with the functions defined so far.
    fn compile(&self, context: &Context, expression: &str) -> Result<Compiled, Failure> {
        let prelude: String = self.functions.iter().map(|f| format!("{}\n", f.1)).collect();
        let inputs = self.values.iter().map(|(n, v)| (n.clone(), Some(v.0))).collect();
        let source = self.source(format!("{prelude}{expression}"));
        Compiled::closed(context, source, Some(inputs)).map_err(|f| relocate(f, &prelude))
    }

    fn evaluate(&self, context: &mut Context, expression: &str, order: Order) -> Result<(), Failure> {
        match self.dtype {
            Dtype::F32 => self.evaluate_in::<f32>(context, expression, order),
            Dtype::F64 => self.evaluate_in::<f64>(context, expression, order),
        }
    }

    fn evaluate_in<T: Real>(&self, context: &mut Context, expression: &str, order: Order) -> Result<(), Failure> {
        let program = self.compile(context, expression)?;
        let values: Vec<Wide> = self.values.iter().map(|v| v.1.clone()).collect();
        let shapes: Vec<Shape> = values.iter().map(|v| v.0).collect();
        let prelude = &program.source.text[..program.source.text.len() - expression.len()];
        let wrt = if order == Order::Value { Ok(Vec::new()) } else { program.specialise(&shapes).map(|graph| used(&graph)) };
        wrt.and_then(|wrt| evaluate::<T>(context, &program, &values, &wrt, order, self.trap)).map_err(|failure| relocate(failure, prelude))
    }

    fn forget(&mut self, name: &str) {
        self.values.retain(|v| v.0 != name);
        self.functions.retain(|f| f.0 != name);
    }

    fn define_functions(&mut self, context: &mut Context, functions: Vec<(String, String)>) -> Result<(), Failure> {
        if functions.is_empty() {
            return Ok(());
        }
        let before = (self.values.clone(), self.functions.clone());
        let names: Vec<String> = functions.iter().map(|f| f.0.clone()).collect();
        for name in &names {
            self.forget(name);
        }
        self.functions.extend(functions);
        if let Err(failure) = self.compile(context, "0") {
            (self.values, self.functions) = before;
            return Err(failure);
        }
        names.iter().try_for_each(|n| defined(context, n))
    }

    fn define_value(&mut self, context: &mut Context, name: String, text: &str) -> Result<(), Failure> {
        let value = match self.dtype {
            Dtype::F32 => self.value_of::<f32>(context, text)?,
            Dtype::F64 => self.value_of::<f64>(context, text)?,
        };
        self.forget(&name);
        self.values.push((name.clone(), value));
        defined(context, &name)
    }

    fn value_of<T: Real>(&self, context: &Context, text: &str) -> Result<Wide, Failure> {
        let program = self.compile(context, text)?;
        let values: Vec<Wide> = self.values.iter().map(|v| v.1.clone()).collect();
        let shapes: Vec<Shape> = values.iter().map(|v| v.0).collect();
        let prelude = &program.source.text[..program.source.text.len() - text.len()];
        let results = program
            .specialise(&shapes)
            .and_then(|graph| program.run(context, &graph, &tensors::<T>(&values), self.trap))
            .map_err(|failure| relocate(failure, prelude))?;
        Ok((results[0].shape(), results[0].data().iter().map(|x| x.to_f64()).collect()))
    }

    /// `(param k 5.0)`: a value like any other here.
    fn declare(&mut self, context: &mut Context, text: &str) -> Result<(), Failure> {
        let program = Compiled::closed(context, self.source(format!("{text}\n0")), Some(Vec::new()))?;
        for input in program.program.inputs() {
            if let InputKind::Param(info) = &input.kind {
                self.forget(&input.name);
                self.values.push((input.name.clone(), (input.shape.unwrap_or(Shape::Scalar), info.initial.clone())));
                defined(context, &input.name)?;
            }
        }
        Ok(())
    }

    /// `(constants si)`, `(constants si c h)`: values like any other here.
    fn constants(&mut self, context: &mut Context, text: &str, names: &[String]) -> Result<(), Failure> {
        Compiled::closed(context, self.source(format!("{text}\n0")), Some(Vec::new()))?;
        let set = SETS.iter().find(|(set, _)| names.first().is_some_and(|n| n == set)).map_or(&[][..], |s| s.1);
        for constant in set.iter().filter(|c| names.len() == 1 || names[1..].iter().any(|n| n == c.name)) {
            self.forget(constant.name);
            self.values.push((constant.name.into(), (Shape::Scalar, vec![constant.value])));
            defined(context, constant.name)?;
        }
        Ok(())
    }

    fn list(&self, context: &mut Context) -> Result<(), Failure> {
        let tensor = |value: &Wide| tensors::<f64>(std::slice::from_ref(value)).remove(0);
        if context.json {
            let values: Map<String, Value> = self.values.iter().map(|(n, v)| (n.clone(), value::to_json(&tensor(v)))).collect();
            let functions: Vec<&str> = self.functions.iter().map(|f| f.1.as_str()).collect();
            return context.print_json(&json!({"values": values, "functions": functions}));
        }
        for (name, v) in &self.values {
            context.print(&format!("{name} = {}\n", value::to_text(&tensor(v))))?;
        }
        for (_, text) in &self.functions {
            context.print(&format!("{text}\n"))?;
        }
        Ok(())
    }
}

/// The inputs whose value matters to some node or result.
fn used(graph: &Graph) -> Vec<usize> {
    let main = graph.main();
    let mut used = vec![false; graph.inputs.len()];
    let args = main.ids().flat_map(|id| main.args(id).iter());
    for &id in args.chain(&main.results) {
        if let Kind::Param(p) = main.node(id).kind {
            used[p as usize] = true;
        }
    }
    (0..used.len()).filter(|&i| used[i]).collect()
}

fn defined(context: &mut Context, name: &str) -> Result<(), Failure> {
    if context.json { context.print_json(&json!({"defined": name})) } else { context.print(&format!("{name}\n")) }
}

/// What a datum at the top of an entry does.
fn part(source: &Source, data: &Data, d: DatumId) -> Result<Part, Failure> {
    let entry = source.text.as_str();
    let text = data.span(d).text(entry).to_string();
    let name = |d: DatumId| data.symbol(d).map(|s| data.names.text(s).to_string());
    let children = data.children(d);
    let head = children.first().and_then(|&h| name(h)).unwrap_or_default();
    Ok(match (head.as_str(), children) {
        ("define", &[_, target, value]) if name(target).is_some() => {
            let target = name(target).unwrap_or_default();
            let is_lambda = data.list(value).and_then(|l| l.first()).and_then(|&h| name(h)).is_some_and(|h| h == "lambda");
            if is_lambda { Part::Function(target, text) } else { Part::Value(target, data.span(value).text(entry).to_string()) }
        }
        ("define", &[_, signature, _, ..]) => match data.list(signature).and_then(|l| l.first()).and_then(|&f| name(f)) {
            Some(f) => Part::Function(f, text),
            None => Part::Expression(text),
        },
        ("param", _) => Part::Param(text),
        ("constants", &[_, ..]) => Part::Constants(text, children[1..].iter().filter_map(|&d| name(d)).collect()),
        (head, _) if forms::form(head).is_some_and(|f| f.is_declaration()) => {
            let d = Diagnostic::error("bad-declaration", data.span(d), format!("`{head}` belongs in a model file"))
                .help("neuralc run FILE evaluates one");
            return Err(Failure::Wrong(source.clone(), vec![d]));
        }
        _ => Part::Expression(text),
    })
}

/// Moves diagnostics from the whole program to the entry or, when they are about an earlier definition, to the definitions.
fn relocate(failure: Failure, prelude: &str) -> Failure {
    let Failure::Wrong(source, diagnostics) = failure else { return failure };
    let start = prelude.len() as u32;
    if prelude.is_empty() || diagnostics.iter().any(|d| d.span != Span::default() && d.span.start < start) {
        return Failure::Wrong(source, diagnostics);
    }
    let shift = |s: Span| Span { start: s.start.saturating_sub(start), end: s.end.saturating_sub(start) };
    let moved = diagnostics.into_iter().map(|mut d| {
        d.labels.retain(|l| l.span.start >= start);
        d.labels.iter_mut().for_each(|l| l.span = shift(l.span));
        d.span = shift(d.span);
        d
    });
    Failure::Wrong(Source::new("<repl>", &source.text[prelude.len()..]).written_in(source.syntax), moved.collect())
}
