//! Every operation and form has examples: of a value, of a derivative, of an error.

use crate::reading::{Block, What, blocks};
use crate::report;
use neural_compiler::Limits;
use neural_compiler::ops::{Op, Row};
use neural_compiler::syntax::forms::FORMS;
use neural_compiler::syntax::reader::{Data, Datum, DatumId};
use neural_compiler::syntax::{Syntax, read};
use std::collections::BTreeSet;

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
fn applications(program: &str, syntax: Syntax) -> Vec<(String, usize)> {
    let (data, _): (Data, _) = read(program, syntax, &Limits::default());
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
    let all: Vec<(Block, Vec<(String, usize)>)> =
        blocks(&mut failures).into_iter().map(|b| (applications(&b.program, b.syntax), b)).map(|(a, b)| (b, a)).collect();
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
    for form in FORMS.iter().filter(|f| f.name != "let (named)") {
        for name in std::iter::once(form.name).chain(form.aliases.iter().copied()) {
            // Of most declarations there is none.
            let mut seen = Seen { derivative: form.is_declaration(), ..Seen::default() };
            for (block, applied) in &all {
                // Of a call and of a lambda no list of the text starts with the name.
                if block.section == name && (matches!(name, "call" | "lambda") || applied.iter().any(|(n, _)| n == name)) {
                    note(&mut seen, block);
                }
            }
            if form.paper && name == form.name {
                paper.insert(name);
            }
            if !seen.missing().is_empty() {
                failures.push(format!("the form {name}: its section lacks examples of: {}", seen.missing().join(", ")));
            }
        }
    }
    if paper.len() != 51 {
        failures.push(format!("the paper has 51 operations, the reference marks {}", paper.len()));
    }
    report(&failures);
}
