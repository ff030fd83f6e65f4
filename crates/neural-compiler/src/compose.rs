//! Composition of programs (the paper's third pattern). In: programs; out: one program, compiled as a whole, whose source can be
//! read and printed.
//! Invariants: the composed program computes, to the bit, what running the parts one after another would; names bound inside a
//! part stay its own; inputs of the same name are one input.

use crate::compile::{Options, Program, compile};
use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use crate::limits::Limits;
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::constants::SETS;
use crate::syntax::forms::{self, Allowed};
use crate::syntax::modules::{self, Linked};
use crate::syntax::printed_name;
use crate::syntax::reader::{Data, read};

/// A program's text, taken apart.
struct Parts {
    declarations: Vec<String>,
    /// Definitions and the expression.
    body: Vec<String>,
}

/// Feeds the result of `inner` into the input `name` of `outer`.
pub fn feed(outer: &Program, name: &str, inner: &Program) -> Result<Program, Diagnostics> {
    build(vec![(inner, None), (outer, Some(name))])
}

/// Runs programs one after another: the result of each is the only input of the next (parameters aside).
pub fn chain(programs: &[&Program]) -> Result<Program, Diagnostics> {
    if programs.is_empty() {
        return Err(Diagnostic::error("nothing-to-compose", Span::default(), "a chain needs at least one program").into());
    }
    build(programs.iter().map(|&p| (p, None)).collect())
}

fn build(stages: Vec<(&Program, Option<&str>)>) -> Result<Program, Diagnostics> {
    let mut declarations: Vec<String> = Vec::new();
    let mut value: Option<String> = None;
    let limits = stages.first().map_or(Limits::default(), |(p, _)| p.limits());
    for (program, input) in stages {
        let mut parts = take_apart(&program.scheme())?;
        let text = match value.take() {
            None => block(&parts.body),
            Some(inner) => {
                let target = target(program, input)?;
                parts.declarations.retain(|d| !declares(d, &target));
                format!("(let (({} {}))\n  {})", printed_name(&target), indent(&inner), indent(&parts.body.join("\n")))
            }
        };
        for d in parts.declarations {
            if !declarations.contains(&d) {
                declarations.push(d);
            }
        }
        value = Some(text);
    }
    let mut source = declarations.join("\n");
    if !source.is_empty() {
        source.push('\n');
    }
    source.push_str(&value.expect("at least one stage"));
    source.push('\n');
    compile(&source, &Options { limits, ..Options::default() })
}

/// The input that takes the value of the stage before.
fn target(program: &Program, named: Option<&str>) -> Result<String, Diagnostics> {
    let names: Vec<&str> = program.inputs().iter().map(|i| i.name.as_str()).collect();
    if let Some(name) = named {
        if names.contains(&name) {
            return Ok(name.to_string());
        }
        let help = did_you_mean(name, names.iter().copied());
        return Err(Diagnostic::error("unknown-input", Span::default(), format!("the program has no input `{name}`"))
            .maybe_help(help)
            .into());
    }
    use crate::syntax::ast::InputKind;
    let open: Vec<&str> =
        program.inputs().iter().filter(|i| matches!(i.kind, InputKind::Free | InputKind::Declared)).map(|i| i.name.as_str()).collect();
    match open[..] {
        [one] => Ok(one.to_string()),
        _ => {
            let message = format!("a stage of a chain has one input to feed, this one has {}: {}", open.len(), open.join(", "));
            Err(Diagnostic::error("ambiguous-input", Span::default(), message).help("name the input to feed").into())
        }
    }
}

/// A program as definitions, for texts that use it: a function `name` of its inputs, in their order; its parameters as constants at their
/// declared values; and its own definitions, as far as they need no input. A definition that is called `name` itself is part of the
/// function alone. `whole`: the texts the program is made of, where it uses others; the result uses them in turn.
pub fn as_definitions(program: &Program, whole: Option<&Linked>, name: &str) -> Result<String, Diagnostics> {
    use crate::syntax::ast::InputKind;
    let refuse = |span: Span, what: String| Err(Diagnostic::error("not-composable", span, what).into());
    let mut own = whole.map_or_else(|| program.scheme().into_owned(), |w| w.files[0].text.clone());
    let mut top = Vec::new();
    for (_, span) in modules::used(&own)?.into_iter().rev() {
        top.insert(0, span.text(&own).to_string());
        own.replace_range(span.start as usize..span.end as usize, "");
    }
    let parts = take_apart(&own)?;
    let mut arguments = Vec::new();
    let units = &program.units().names;
    for input in program.inputs().iter().filter(|i| whole.is_none_or(|w| w.place(i.span).0 == 0)) {
        let written = printed_name(&input.name);
        match &input.kind {
            InputKind::Free | InputKind::Declared => arguments.push(input.name.clone()),
            InputKind::Param(info) if info.per.is_some() => {
                return refuse(input.span, format!("`{}` has a value for each group: a function has one", input.name));
            }
            InputKind::Param(info) => {
                let value = crate::value_text(input.shape.unwrap_or(Shape::Scalar), &info.initial);
                // A number in a program is a pure one.
                top.push(match units.iter().find(|u| u.0 == input.name && u.1 != "1") {
                    Some((_, unit)) => format!("(param {written} {value} :fixed :unit |{unit}|)"),
                    None => format!("(define {written} {value})"),
                });
            }
            InputKind::State(_) | InputKind::Weight { .. } => {
                return refuse(
                    input.span,
                    format!("`{}` is learned or changes in time: there is no function of the inputs alone", input.name),
                );
            }
        }
    }
    if program.observables().is_some() {
        return refuse(Span::default(), "a model that says what is observed has no single value".into());
    }
    let (closed, open): (Vec<_>, Vec<_>) = definitions(parts.body, &arguments, name).into_iter().partition(|d| d.1);
    top.extend(closed.into_iter().map(|d| d.0));
    let body: Vec<String> = open.into_iter().map(|d| d.0).collect();
    let head: Vec<String> = std::iter::once(name).chain(arguments.iter().map(String::as_str)).map(printed_name).collect();
    let head = if arguments.is_empty() { head[0].clone() } else { format!("({})", head.join(" ")) };
    top.push(format!("(define {head}\n  {})", indent(&block(&body))));
    Ok(format!("{}\n", top.join("\n")))
}

/// Forms, and whether each is a definition that needs no input: whatever it names is its own, known everywhere or such a definition.
fn definitions(body: Vec<String>, inputs: &[String], without: &str) -> Vec<(String, bool)> {
    let limits = Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..Limits::default() };
    let mut open: Vec<String> = inputs.to_vec();
    open.push(without.to_string());
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for text in &body {
        let (data, _) = read(text, &limits);
        let list = data.top.first().and_then(|&d| data.list(d)).unwrap_or(&[]);
        let word = |d: &crate::syntax::reader::DatumId| data.symbol(*d).map(|s| data.names.text(s));
        let own: Vec<&str> = match list {
            [define, target, ..] if word(define) == Some("define") => match data.list(*target) {
                Some(names) => names.iter().filter_map(word).collect(),
                None => word(target).into_iter().collect(),
            },
            _ => Vec::new(),
        };
        let mut needs = Vec::new();
        let mut work = data.top.clone();
        while let Some(d) = work.pop() {
            work.extend(data.children(d));
            needs.extend(word(&d).filter(|n| !own.contains(n)).map(String::from));
        }
        found.push((own.first().map_or_else(String::new, |n| n.to_string()), needs));
    }
    loop {
        let before = open.len();
        for (called, needs) in found.iter().filter(|f| !f.0.is_empty()) {
            if !open.contains(called) && needs.iter().any(|n| open.contains(n)) {
                open.push(called.clone());
            }
        }
        if open.len() == before {
            break;
        }
    }
    body.into_iter().zip(found).map(|(text, (called, _))| (text, !called.is_empty() && !open.contains(&called))).collect()
}

fn head(data: &Data, d: crate::syntax::reader::DatumId) -> &str {
    data.list(d).and_then(|l| l.first()).and_then(|&h| data.symbol(h)).map_or("", |s| data.names.text(s))
}

fn take_apart(source: &str) -> Result<Parts, Diagnostics> {
    let (data, errors) = read(source, &Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..Limits::default() });
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let mut parts = Parts { declarations: Vec::new(), body: Vec::new() };
    for &d in &data.top {
        let text = data.span(d).text(source).to_string();
        let head = head(&data, d);
        match forms::form(head).map(|f| f.allowed) {
            Some(Allowed::Model) => {
                return Err(Diagnostic::error("not-composable", data.span(d), "a model with states has no single value to feed on").into());
            }
            // As definitions of this part alone: the other may mean something else by these names.
            Some(Allowed::Top) if head == "constants" => parts.body.extend(defined_constants(&data, d)),
            // Units of definitions were checked where they belong; the other part may define the same names.
            Some(Allowed::Top) if head == "unit" => {}
            Some(Allowed::Top) => parts.declarations.push(text),
            Some(Allowed::Expression | Allowed::Tail | Allowed::Definition | Allowed::Function) | None => parts.body.push(text),
        }
    }
    Ok(parts)
}

/// The constants a program asks for and names somewhere, as definitions.
fn defined_constants(data: &Data, d: crate::syntax::reader::DatumId) -> Vec<String> {
    let names: Vec<&str> = data.children(d)[1..].iter().filter_map(|&n| data.symbol(n)).map(|s| data.names.text(s)).collect();
    let set = SETS.iter().find(|(set, _)| names.first() == Some(set)).map_or(&[][..], |s| s.1);
    let wanted = set.iter().filter(|c| names.len() == 1 || names[1..].contains(&c.name));
    wanted.filter(|c| data.names.find(c.name).is_some()).map(|c| format!("(define {} {:e})", c.name, c.value)).collect()
}

/// Whether a declaration's text declares this name.
fn declares(declaration: &str, name: &str) -> bool {
    let (data, _) = read(declaration, &Limits::default());
    data.top
        .first()
        .and_then(|&d| data.children(d).get(1).copied())
        .and_then(|n| data.symbol(n))
        .is_some_and(|s| data.names.text(s) == name)
}

fn block(body: &[String]) -> String {
    match body {
        [one] => one.clone(),
        _ => format!("(let ()\n  {})", indent(&body.join("\n"))),
    }
}

fn indent(text: &str) -> String {
    text.replace('\n', "\n  ")
}
