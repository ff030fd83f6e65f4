//! Values, gradients by both modes and Hessians against a reference of 50 digits, on generated programs and for every operation.
//! `DERIVATIVE_PROGRAMS` makes the run larger.

use neural_compiler_testing::derivatives::{Verdict, judge, row};
use neural_compiler_testing::generate::differentiable;
use neural_compiler_testing::oracle;
use serde_json::Value;

/// Judges rows; what could not even be computed is a disagreement too.
fn judged(name: &str, rows: Vec<Result<Value, String>>) -> Verdict {
    let (rows, errors): (Vec<_>, Vec<_>) = rows.into_iter().partition(Result::is_ok);
    let rows: Vec<Value> = rows.into_iter().flatten().collect();
    let mut verdict = judge(name, &rows);
    verdict.failures.extend(errors.into_iter().filter_map(Result::err));
    verdict
}

fn report(verdict: &Verdict) {
    println!(
        "{} programs; well conditioned: {} (value, gradient), {} (Hessian); largest relative errors {}",
        verdict.checked, verdict.well_first, verdict.well_second, verdict.worst
    );
    assert!(
        verdict.failures.is_empty(),
        "{} disagreements, the first of them:\n{}",
        verdict.failures.len(),
        verdict.failures[..verdict.failures.len().min(6)].join("\n\n")
    );
}

#[test]
fn generated_programs_agree() {
    let count = oracle::setting("DERIVATIVE_PROGRAMS", 2600);
    let rows: Vec<_> = (0..count)
        .map(|seed| {
            let case = differentiable(seed);
            row(&seed.to_string(), &case).map_err(|e| format!("{e}\n{}", case.source))
        })
        .collect();
    let verdict = judged("derivatives", rows);
    report(&verdict);
    assert!(verdict.well_first.min(verdict.well_second) * 13 >= count * 10, "too few programs are well conditioned: {verdict:?}");
}
