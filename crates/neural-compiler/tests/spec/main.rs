//! Runs the language reference: every fenced `scheme` or `infix` block of `spec/*.md` is a program with expectations, and the tables in it
//! are those of the library. `spec/README.md` describes the format. `UPDATE_SPEC=1` rewrites the generated table.

mod constants;
mod coverage;
mod infix;
mod lists;
mod reading;
mod running;

use neural_compiler::Syntax;
use reading::{block, blocks};
use running::run_block;
use std::path::{Path, PathBuf};

/// The project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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

fn one(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    match block("test.md", 1, "", Syntax::Scheme, &lines) {
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
