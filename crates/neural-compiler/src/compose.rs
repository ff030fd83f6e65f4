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
use crate::syntax::modules::{self, Linked, Loaded, Origin};
use crate::syntax::printed_name;
use crate::syntax::reader::{Data, read};

/// A program's text, taken apart.
struct Parts {
    declarations: Vec<String>,
    /// Definitions and the expression, with their places.
    body: Vec<(String, Span)>,
    /// The names of definitions that are numbers with a declared unit, and these declarations.
    units: Vec<(String, String)>,
    /// Every name that stands in the text.
    data: Data,
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
    let taken: Vec<Parts> = stages.iter().map(|(p, _)| take_apart(&p.scheme())).collect::<Result<_, _>>()?;
    for (name, unit) in taken.iter().flat_map(|p| &p.units) {
        // Units go by names, and all parts have one set of them.
        if taken.iter().any(|p| p.data.names.find(name).is_some() && !p.units.iter().any(|u| u.1 == *unit)) {
            let message = format!("`{name}` is a number with a unit in one program, and something else in another");
            return Err(Diagnostic::error("not-composable", Span::default(), message).help("give one of them another name").into());
        }
        if !declarations.contains(unit) {
            declarations.push(unit.clone());
        }
    }
    for ((program, input), mut parts) in stages.into_iter().zip(taken) {
        let text = match value.take() {
            None => block(&texts(&parts.body)),
            Some(inner) => {
                let target = target(program, input)?;
                parts.declarations.retain(|d| !declares(d, &target));
                format!("(let (({} {}))\n  {})", printed_name(&target), indent(&inner), indent(&texts(&parts.body).join("\n")))
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
/// function alone. `whole`: the texts the program is made of, where it uses others; the result uses them in turn. `file`: what the
/// program's text is called. Besides: where each stretch of the definitions stands in that text.
pub fn as_definitions(program: &Program, whole: Option<&Linked>, name: &str, file: &str) -> Result<(String, Origin), Diagnostics> {
    use crate::syntax::ast::InputKind;
    let refuse = |span: Span, what: String| Err(Diagnostic::error("not-composable", span, what).into());
    let text = whole.map_or_else(|| program.scheme().into_owned(), |w| w.files[0].text.clone());
    let mut own = text.clone();
    let mut made = Draft { text: String::new(), pieces: Vec::new() };
    for (_, span) in modules::used(&own)? {
        made.line(span.text(&text), span, "");
        // As long as it was: places stay.
        let blank: String = span.text(&text).chars().map(|c| if c == '\n' { "\n".into() } else { " ".repeat(c.len_utf8()) }).collect();
        own.replace_range(span.start as usize..span.end as usize, &blank);
    }
    let mut parts = take_apart(&own)?;
    let mut arguments = Vec::new();
    let units = &program.units().names;
    for (name, _) in &parts.units {
        let Some((_, unit)) = units.iter().find(|u| u.0 == *name) else { continue };
        // The definition as a constant with a unit.
        if let Some(at) = parts.body.iter().position(|form| literal(&form.0).is_some_and(|l| l.0 == *name)) {
            let (form, span) = parts.body.remove(at);
            let value = literal(&form).map_or_else(String::new, |l| l.1);
            made.line(&format!("(param {} {value} :fixed :unit |{unit}|)", printed_name(name)), span, "");
        }
    }
    let place = |span: Span| whole.map_or((0, span), |w| w.place(span));
    for input in program.inputs().iter().filter(|i| place(i.span).0 == 0) {
        let written = printed_name(&input.name);
        match &input.kind {
            InputKind::Free | InputKind::Declared => arguments.push(input.name.clone()),
            InputKind::Param(info) if info.per.is_some() => {
                return refuse(input.span, format!("`{}` has a value for each group: a function has one", input.name));
            }
            InputKind::Param(info) => {
                let value = crate::value_text(input.shape.unwrap_or(Shape::Scalar), &info.initial);
                // A number in a program is a pure one.
                let form = match units.iter().find(|u| u.0 == input.name && u.1 != "1") {
                    Some((_, unit)) => format!("(param {written} {value} :fixed :unit |{unit}|)"),
                    None => format!("(define {written} {value})"),
                };
                made.line(&form, place(input.span).1, "");
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
    let closed = closed(&texts(&parts.body), &arguments, name);
    parts.body.iter().zip(&closed).filter(|(_, closed)| **closed).for_each(|((form, span), _)| made.line(form, *span, ""));
    let open: Vec<&(String, Span)> = parts.body.iter().zip(&closed).filter(|(_, closed)| !**closed).map(|(form, _)| form).collect();
    let head: Vec<String> = std::iter::once(name).chain(arguments.iter().map(String::as_str)).map(printed_name).collect();
    let head = if arguments.is_empty() { head[0].clone() } else { format!("({})", head.join(" ")) };
    let last = open.last().map_or(Span::default(), |form| form.1);
    let (before, after) = if open.len() == 1 { ("", ")") } else { ("\n  (let ()", "))") };
    made.line(&format!("(define {head}{before}"), last, "");
    open.iter().for_each(|(form, span)| made.line(form, *span, if open.len() == 1 { "  " } else { "    " }));
    made.text.truncate(made.text.trim_end().len());
    made.line(after, last, "");
    Ok((made.text, Origin { file: Loaded { name: file.into(), text }, pieces: made.pieces }))
}

/// A text in the making, and where its stretches come from.
struct Draft {
    text: String,
    pieces: Vec<(Span, Span)>,
}

impl Draft {
    /// Adds a form, which stands at a place, each of its lines behind so many blanks.
    fn line(&mut self, form: &str, there: Span, blanks: &str) {
        // What was written anew is somewhere there.
        let verbatim = form.len() == (there.end - there.start) as usize;
        let mut at = there.start as usize;
        for line in form.split_inclusive('\n') {
            let from = self.text.len() + blanks.len();
            self.text.push_str(blanks);
            self.text.push_str(line);
            let of = if verbatim { Span::new(at, at + line.len()) } else { there };
            self.pieces.push((Span::new(from, self.text.len()), of));
            at += line.len();
        }
        self.text.push('\n');
    }
}

fn texts(forms: &[(String, Span)]) -> Vec<String> {
    forms.iter().map(|f| f.0.clone()).collect()
}

/// Of each form whether it is a definition that needs no input: whatever it names is its own, known everywhere or such a definition.
fn closed(body: &[String], inputs: &[String], without: &str) -> Vec<bool> {
    let limits = Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..Limits::default() };
    let mut open: Vec<String> = inputs.to_vec();
    open.push(without.to_string());
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for text in body {
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
    found.into_iter().map(|(called, _)| !called.is_empty() && !open.contains(&called)).collect()
}

fn head(data: &Data, d: crate::syntax::reader::DatumId) -> &str {
    data.list(d).and_then(|l| l.first()).and_then(|&h| data.symbol(h)).map_or("", |s| data.names.text(s))
}

fn take_apart(source: &str) -> Result<Parts, Diagnostics> {
    let (data, errors) = read(source, &Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..Limits::default() });
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let mut parts = Parts { declarations: Vec::new(), body: Vec::new(), units: Vec::new(), data: Data::default() };
    let numbers: Vec<String> = data.top.iter().filter_map(|&d| literal(data.span(d).text(source))).map(|l| l.0).collect();
    for &d in &data.top {
        let span = data.span(d);
        let text = span.text(source).to_string();
        let head = head(&data, d);
        match forms::form(head).map(|f| f.allowed) {
            Some(Allowed::Model) => {
                return Err(Diagnostic::error("not-composable", data.span(d), "a model with states has no single value to feed on").into());
            }
            // As definitions of this part alone: the other may mean something else by these names.
            Some(Allowed::Top) if head == "constants" => parts.body.extend(defined_constants(&data, d).into_iter().map(|c| (c, span))),
            // Units of definitions were checked where they belong, and the other part may define the same names; numbers have none but
            // what is declared.
            Some(Allowed::Top) if head == "unit" => {
                let name = data.children(d).get(1).and_then(|&n| data.symbol(n)).map_or("", |s| data.names.text(s));
                parts.units.extend(numbers.iter().find(|n| *n == name).map(|n| (n.clone(), text)));
            }
            Some(Allowed::Top) => parts.declarations.push(text),
            Some(Allowed::Expression | Allowed::Tail | Allowed::Definition | Allowed::Function) | None => parts.body.push((text, span)),
        }
    }
    parts.data = data;
    Ok(parts)
}

/// The name and the value of a definition that is a number, or a vector or matrix of numbers.
fn literal(form: &str) -> Option<(String, String)> {
    let (data, _) = read(form, &Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..Limits::default() });
    let &[define, name, value] = data.list(*data.top.first()?)? else { return None };
    let word = |d| data.symbol(d).map(|s| data.names.text(s));
    let written = || data.span(value).text(form).to_string();
    (word(define)? == "define" && modules::is_literal(&data, value, 2)).then(|| Some((word(name)?.to_string(), written())))?
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
