//! Lists in the documents that are generated or complete: operations, errors, limits.

use crate::reading::{What, blocks, heading_name};
use crate::{report, root};
use neural_compiler::export::{Request, Target, export};
use neural_compiler::ops::real::Dtype;
use neural_compiler::ops::{Op, Row};
use neural_compiler::syntax::forms::FORMS;
use neural_compiler::syntax::modules::{Loaded, Loader, Wanted, link};
use neural_compiler::units::table::{Prefixes, ROWS};
use neural_compiler::{Diagnostics, Limits, Options, compile, compose};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Codes no program text can cause: `codes_of_the_library_interface` shows them.
const INTERFACE_CODES: &[&str] = &["cannot-use", "export-unsupported", "not-a-definition", "nothing-to-compose", "use-cycle"];

/// Codes that come from outside of programs; `tests/interrupt.rs` and neuralc's `tests/suite/units.rs` have the examples.
const OUTSIDE_CODES: &[&str] = &["duplicate-column", "run-interrupted"];

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
            writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                names.join(", "),
                usage,
                cell(r.domain.text()),
                cell(r.derivative_doc),
                cell(r.doc)
            )
            .expect("a string");
        }
    }
    out.push('\n');
    out
}

/// The table of forms, or that of declarations.
fn forms(declarations: bool) -> String {
    let mut out = String::from("\n| name | written | meaning |\n|---|---|---|\n");
    for f in FORMS.iter().filter(|f| f.is_declaration() == declarations) {
        let names: Vec<String> = std::iter::once(&f.name).chain(f.aliases).map(|n| format!("`{n}`")).collect();
        let usage: Vec<String> = f.usage.split(" or ").map(|u| format!("`{u}`")).collect();
        writeln!(out, "| {} | {} | {} |", names.join(", "), usage.join(" or "), f.doc).expect("a string");
    }
    out.push('\n');
    out
}

/// The units, and what operations make of them.
fn units() -> String {
    let mut out = String::from("\n| symbols | words | prefixes | is |\n|---|---|---|---|\n");
    for row in ROWS {
        let names = |text: &str| text.split_whitespace().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let prefixes = if row.prefixes == Prefixes::No { "" } else { "yes" };
        writeln!(out, "| {} | {} | {prefixes} | {} |", names(row.symbols), names(row.words), row.meaning()).expect("a string");
    }
    out.push_str("\n| operations | units |\n|---|---|\n");
    let mut rules: Vec<(String, Vec<String>)> = Vec::new();
    for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.has_surface()) {
        let (rule, name) = (row.units.text(), format!("`{}`", row.name));
        match rules.iter_mut().find(|r| r.0 == rule) {
            Some(known) if known.1.contains(&name) => {}
            Some(known) => known.1.push(name),
            None => rules.push((rule, vec![name])),
        }
    }
    for (rule, names) in rules {
        for (i, some) in names.chunks(6).enumerate() {
            writeln!(out, "| {} | {} |", some.join(" "), if i == 0 { rule.as_str() } else { "likewise" }).expect("a string");
        }
    }
    out.push('\n');
    out
}

/// Compares the generated table of a document with the library's, or writes it anew.
fn check_table(file: &str, table: String) {
    let path = root().join("spec").join(file);
    let text = std::fs::read_to_string(&path).expect("a document of the reference");
    let (before, rest) = text.split_once(TABLE_FROM).expect("the start of the table");
    let (old, after) = rest.split_once(TABLE_TO).expect("the end of the table");
    let new = format!("\n{table}");
    if std::env::var_os("UPDATE_SPEC").is_some() {
        std::fs::write(&path, format!("{before}{TABLE_FROM}{new}{TABLE_TO}{after}")).expect("the document can be written");
    } else {
        assert_eq!(old, new, "the table in spec/{file} is not that of the library: run the tests with UPDATE_SPEC=1");
    }
}

#[test]
fn the_tables_are_those_of_the_library() {
    check_table("operations.md", table());
    check_table("forms.md", forms(false));
    check_table("models.md", forms(true));
    check_table("units.md", units());
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
        for call in [
            "Diagnostic::error(",
            "Diagnostic::warning(",
            "Diagnostic::note(",
            "LowerError::new(",
            "EvalError::new(",
            "self.error(",
            "Err((",
        ] {
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
        if !shown.contains_key(code.as_str()) && !INTERFACE_CODES.contains(&code.as_str()) && !OUTSIDE_CODES.contains(&code.as_str()) {
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
    let large = compile("(input m :size [48 48]) (det m)", &Options::default()).and_then(|p| p.graph()).expect("a graph");
    let request = Request::new(Target::C, Dtype::F64);
    seen.insert(code(export(&large, &request).map(drop).expect_err("a matrix too large for C")));
    for module in ["", "(param k 1)", "(use \"a.scm\" (f)) (define (f x) x)"] {
        let main = Loaded { name: "a.scm".into(), text: "(use \"b.scm\" (f)) (f x)".into() };
        let mut load = |_: &str, path: &Wanted| match module {
            "" => Err("there is none".to_string()),
            _ if path.to_string() == "a.scm" => Ok(main.clone()),
            text => Ok(Loaded { name: path.to_string(), text: text.into() }),
        };
        let load: &mut Loader<'_> = &mut load;
        seen.insert(code(link(main.clone(), load, &Limits::default()).expect_err("no module").errors));
    }
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
