//! Values, gradients by both modes and Hessians against a reference of 50 digits, on generated programs and for every operation.
//! `DERIVATIVE_PROGRAMS` makes the run larger.

use neural_compiler::ops::Op;
use neural_compiler_testing::derivatives::{Verdict, judge, row};
use neural_compiler_testing::generate::differentiable;
use neural_compiler_testing::operations::cases;
use neural_compiler_testing::oracle;
use serde_json::Value;
use std::collections::HashSet;

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
    let count = oracle::setting("DERIVATIVE_PROGRAMS", 800);
    let rows: Vec<_> = (0..count)
        .map(|seed| {
            let case = differentiable(seed);
            row(&seed.to_string(), &case).map_err(|e| format!("{e}\n{}", case.source))
        })
        .collect();
    let verdict = judged("derivatives", rows);
    report(&verdict);
    assert!(verdict.well_first.min(verdict.well_second) * 10 >= count * 8, "too few programs are well conditioned: {verdict:?}");
}

#[test]
fn every_operation_agrees() {
    let cases = cases(3, oracle::setting("OPERATION_POINTS", 30) as usize);
    let covered: HashSet<Op> = cases.iter().map(|c| c.op).collect();
    let missing: Vec<_> = Op::ALL.iter().filter(|op| op.row().has_surface() && !covered.contains(op)).collect();
    assert!(missing.is_empty(), "operations without a derivative test: {missing:?}; give them a template in operations.rs");
    let rows = cases
        .iter()
        .enumerate()
        .map(|(i, c)| row(&format!("{:?} {i}", c.op), &c.case).map_err(|e| format!("{e}\n{}", c.case.source)))
        .collect();
    let verdict = judged("operations", rows);
    report(&verdict);
    assert!(verdict.well_first * 10 >= verdict.checked * 9, "too few points are well conditioned: {verdict:?}");
}
