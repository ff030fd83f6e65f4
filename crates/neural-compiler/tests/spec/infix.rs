//! The table of spellings in `spec/infix.md`: both sides of a row are the same data, and no form is without a row.

use crate::{report, root};
use neural_compiler::Limits;
use neural_compiler::syntax::forms;
use neural_compiler::syntax::reader::{Data, Datum, DatumId};
use neural_compiler::syntax::translate::translate;
use neural_compiler::syntax::{Syntax, read};

const FROM: &str = "<!-- spellings: read by the tests -->";
const TO: &str = "<!-- end of spellings -->";

/// Data as text, numbers by their bits.
pub(crate) fn canonical(data: &Data) -> String {
    fn write(data: &Data, d: DatumId, out: &mut String) {
        match data.get(d) {
            Datum::Number(x) => out.push_str(&format!("{:x} ", x.to_bits())),
            Datum::Symbol(s) => out.push_str(&format!("|{}| ", data.names.text(s))),
            Datum::List(..) | Datum::Bracket(..) => {
                out.push(if matches!(data.get(d), Datum::List(..)) { '(' } else { '[' });
                data.children(d).iter().for_each(|&c| write(data, c, out));
                out.push(')');
            }
        }
    }
    let mut out = String::new();
    data.top.iter().for_each(|&d| write(data, d, &mut out));
    out
}

/// The code in a cell, between one or two backticks.
fn code(cell: &str) -> String {
    let cell = cell.trim();
    let inner =
        cell.strip_prefix("`` ").and_then(|c| c.strip_suffix(" ``")).or_else(|| cell.strip_prefix('`').and_then(|c| c.strip_suffix('`')));
    inner.unwrap_or(cell).replace("\\|", "|")
}

fn rows() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("spec/infix.md")).expect("spec/infix.md");
    let table = text.split_once(FROM).and_then(|(_, t)| t.split_once(TO)).expect("the table of spellings").0.to_string();
    let row = |line: &str| {
        let line = line.replace("\\|", "\u{1}");
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        Some((code(&cells.first()?.replace('\u{1}', "|")), code(&cells.get(1)?.replace('\u{1}', "|"))))
    };
    table.lines().filter(|l| l.starts_with("| `")).filter_map(row).collect()
}

fn data(text: &str, syntax: Syntax) -> Result<String, String> {
    let (data, errors) = read(text, syntax, &Limits::default());
    if errors.is_empty() { Ok(canonical(&data)) } else { Err(format!("`{text}`: {errors:?}")) }
}

#[test]
fn both_spellings_are_the_same_data() {
    let mut failures = Vec::new();
    let rows = rows();
    assert!(rows.len() > 60, "only {} rows", rows.len());
    for (scheme, infix) in &rows {
        match (data(scheme, Syntax::Scheme), data(infix, Syntax::Infix)) {
            (Ok(a), Ok(b)) if a == b => {}
            (Ok(_), Ok(_)) => failures.push(format!("`{scheme}` and `{infix}` are not the same")),
            (a, b) => failures.extend([a, b].into_iter().filter_map(Result::err)),
        }
        let printed = translate(scheme, Syntax::Scheme, Syntax::Infix, &Limits::default()).expect("a row can be read");
        if data(&printed, Syntax::Infix) != data(scheme, Syntax::Scheme) {
            failures.push(format!("`{scheme}` is printed as `{printed}`, which is something else"));
        }
    }
    report(&failures);
}

#[test]
fn every_form_has_a_spelling() {
    let rows = rows();
    let missing = forms::keywords().filter(|form| !rows.iter().any(|(scheme, _)| scheme.contains(&format!("({form} "))));
    report(&missing.map(|form| format!("`{form}` has no row in the table of spellings")).collect::<Vec<_>>());
}

/// The whole reference, said in infix: each of its Scheme programs is translated, compiled, and has the same graph.
#[test]
fn the_examples_are_the_same_programs_in_infix() {
    let mut failures = Vec::new();
    for block in crate::blocks(&mut failures).iter().filter(|b| b.syntax == Syntax::Scheme) {
        let Ok(scheme) = data(&block.program, Syntax::Scheme) else { continue };
        let infix = translate(&block.program, Syntax::Scheme, Syntax::Infix, &Limits::default()).expect("it can be read");
        // A program without a value is one in infix, where its last line names a value.
        let value =
            block.directives.iter().any(|d| matches!(&d.what, crate::reading::What::Error(codes) if codes == &["missing-expression"]));
        if data(&infix, Syntax::Infix).as_ref() != Ok(&scheme) && !value {
            failures.push(format!("{}:{}: other data in infix:\n{infix}", block.file, block.line));
        }
    }
    report(&failures);
}
