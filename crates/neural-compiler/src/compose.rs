//! Composition of programs (the paper's third pattern). In: programs; out: one program, compiled as a whole, whose source can be
//! read and printed.
//! Invariants: the composed program computes, to the bit, what running the parts one after another would; names bound inside a
//! part stay its own; inputs of the same name are one input.

use crate::compile::{Options, Program, compile};
use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use crate::limits::Limits;
use crate::source::Span;
use crate::syntax::constants::SETS;
use crate::syntax::forms::{self, Allowed};
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
        let mut parts = take_apart(program)?;
        let text = match value.take() {
            None => block(&parts.body),
            Some(inner) => {
                let target = target(program, input)?;
                parts.declarations.retain(|d| !declares(d, &target));
                format!("(let (({} {}))\n  {})", crate::syntax::printed_name(&target), indent(&inner), indent(&parts.body.join("\n")))
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

fn head(data: &Data, d: crate::syntax::reader::DatumId) -> &str {
    data.list(d).and_then(|l| l.first()).and_then(|&h| data.symbol(h)).map_or("", |s| data.names.text(s))
}

fn take_apart(program: &Program) -> Result<Parts, Diagnostics> {
    let source = &*program.scheme();
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
