//! A real Scheme as oracle: Guile and the interpreter give the same results on generated programs of the shared subset.
//! `GUILE_PROGRAMS` and `GUILE_SEED` make the run larger or different.

use neural_compiler::Shape;
use neural_compiler::exec::interp;
use neural_compiler_testing::generate::{Family, scheme};
use neural_compiler_testing::{Case, CaseInput, oracle};
use std::fmt::Write;
use std::process::Command;

/// Programs that Guile gives no real number for (a complex root, a modulo of NaN) are left out; more than these would mean that
/// the generator has gone astray.
const MOST_LEFT_OUT: f64 = 0.1;

fn evaluate_ours(case: &Case) -> Result<f64, String> {
    let compiled = case.compile().map_err(|e| e.to_string())?;
    let results = interp::run(&compiled.graph, &compiled.tensors::<f64>(), &Default::default()).map_err(|e| e.to_string())?;
    results[0].as_scalar().ok_or_else(|| "the result is no scalar".to_string())
}

/// The program with its inputs bound, as one Scheme expression.
fn scheme_text(case: &Case) -> String {
    let inputs: Vec<String> = case.inputs.iter().map(|i| format!("({} {:?})", i.name, i.data[0])).collect();
    format!("(let ({})\n{})\n", inputs.join(" "), case.source)
}

/// What Guile makes of each program: `None` where it has no real number.
fn evaluate_guile(name: &str, cases: &[Case]) -> Vec<Option<f64>> {
    let file = oracle::scratch(&format!("guile-{name}")).join("programs.scm");
    let mut text = String::new();
    cases.iter().for_each(|c| write!(text, "{}", scheme_text(c)).expect("a string"));
    std::fs::write(&file, text).expect("a scratch file");
    let mut command = Command::new("guile");
    command.args(["--no-auto-compile", "-s"]).arg(oracle::root().join("oracles/guile/evaluate.scm")).arg(&file);
    let output = oracle::run(&mut command, "install Guile 3.0 with `make deps`").unwrap_or_else(|e| panic!("{e}"));
    let of = |line: &str| match line {
        "nan" => Some(f64::NAN),
        _ => u64::from_str_radix(line, 16).ok().map(f64::from_bits),
    };
    let results: Vec<Option<f64>> = output.lines().map(of).collect();
    assert_eq!(results.len(), cases.len(), "Guile answers every program; the file is {}", file.display());
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("removing the scratch folder");
    results
}

/// Compares every program; gives how many Guile has a value for.
fn agreeing(name: &str, cases: &[Case], agree: impl Fn(f64, f64) -> bool) -> u64 {
    let (mut compared, mut wrong) = (0, String::new());
    for (case, theirs) in cases.iter().zip(evaluate_guile(name, cases)) {
        let Some(theirs) = theirs else { continue };
        compared += 1;
        match evaluate_ours(case) {
            Ok(ours) if agree(ours, theirs) => {}
            ours => writeln!(wrong, "Guile: {theirs:?}, ours: {ours:?}\n{}", scheme_text(case)).expect("a string"),
        }
    }
    println!("{name}: {compared} programs compared, {} left out", cases.len() as u64 - compared);
    assert!(wrong.is_empty(), "{wrong}");
    compared
}

fn corpus(family: Family, count: u64) -> Vec<Case> {
    let seed = oracle::setting("GUILE_SEED", 1);
    (0..count).map(|i| scheme(seed.wrapping_mul(1_000_003).wrapping_add(i), family)).collect()
}

fn compare(family: Family, count: u64, agree: impl Fn(f64, f64) -> bool) {
    let compared = agreeing(&format!("{family:?}"), &corpus(family, count), agree);
    assert!(compared as f64 >= count as f64 * (1.0 - MOST_LEFT_OUT), "only {compared} of {count} programs have a value in Guile");
}

fn same_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn arithmetic_and_forms_agree_to_the_bit() {
    let count = oracle::setting("GUILE_PROGRAMS", 3000);
    compare(Family::Exact, count, same_bits);
}

#[test]
fn transcendental_functions_agree_to_rounding() {
    let count = oracle::setting("GUILE_PROGRAMS", 3000) / 3;
    compare(Family::Transcendental, count, |a, b| (a - b).abs() <= 1e-13 * b.abs().max(1.0) || a == b || (a.is_nan() && b.is_nan()));
}

#[test]
fn division_agrees_for_every_combination_of_signs() {
    let input = |name: &str, x: i32| CaseInput { name: name.into(), shape: Shape::Scalar, data: vec![f64::from(x)] };
    let mut cases = Vec::new();
    for op in ["modulo", "remainder", "quotient"] {
        for x in -13..=13 {
            for y in (-7..=7).filter(|&y| y != 0) {
                cases.push(Case { source: format!("(+ 0.0 ({op} x y))"), inputs: vec![input("x", x), input("y", y)] });
            }
        }
    }
    assert_eq!(agreeing("division", &cases, same_bits), cases.len() as u64);
}

#[test]
fn the_corpus_covers_the_shared_subset() {
    let corpus = corpus(Family::Exact, 2000);
    let wanted = [
        "(+",
        "(- ",
        "(* ",
        "(/ ",
        "(min ",
        "(max ",
        "(abs ",
        "(floor ",
        "(ceiling ",
        "(round ",
        "(truncate ",
        "(sqrt ",
        "(modulo ",
        "(remainder ",
        "(quotient ",
        "(< ",
        "(> ",
        "(<= ",
        "(>= ",
        "(= ",
        "(and",
        "(or",
        "(not ",
        "(if ",
        "(cond ",
        "(else ",
        "(let (",
        "(let* (",
        "(letrec (",
        "(letrec* (",
        "(let go",
        "((lambda (",
        "(define (",
        "(lambda (",
    ];
    for form in wanted {
        let count = corpus.iter().filter(|c| c.source.contains(form)).count();
        assert!(count >= 40, "`{form}` occurs in {count} of {} programs only", corpus.len());
    }
}
