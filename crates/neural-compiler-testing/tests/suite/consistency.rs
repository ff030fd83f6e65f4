//! What holds for every program: its graphs pass the verifier, it runs in f32 and f64 without a panic and the same way twice,
//! and its text, read again or formatted, is the same program to the bit. And no operation is left out of the programs.

use neural_compiler::exec::interp;
use neural_compiler::graph::verify::verify;
use neural_compiler::ops::{Arity, Kernel, Op};
use neural_compiler::syntax::format::format;
use neural_compiler::{Limits, Tensor};
use neural_compiler_testing::case::bits;
use neural_compiler_testing::generate::{danger, differentiable, everything};
use neural_compiler_testing::{Case, oracle};

fn run(case: &Case) -> Result<Vec<Tensor<f64>>, String> {
    let compiled = match case.compile() {
        Ok(compiled) => compiled,
        // An index the compiler finds to be a constant outside: the one way a generated program may be refused.
        Err(e) if e.0.iter().all(|d| d.code == "index-out-of-range") => return Err("index-out-of-range".into()),
        Err(e) if e.0.iter().all(|d| d.code == "outside-grid") => return Err("outside-grid".into()),
        Err(e) => panic!("{e}\n{}", case.source),
    };
    assert_eq!(verify(&compiled.graph), Ok(()), "{}", case.source);
    assert_eq!(compiled.program.source(), case.source);
    // The run in f32 may give another number or leave through another limit, but it ends.
    let _ = interp::run(&compiled.graph, &compiled.tensors::<f32>(), &Default::default());
    interp::run(&compiled.graph, &compiled.tensors::<f64>(), &Default::default()).map_err(|e| e.code.to_string())
}

fn check(case: &Case) -> bool {
    let first = run(case);
    let formatted = format(&case.source, &Limits::default()).unwrap_or_else(|e| panic!("{e}\n{}", case.source));
    for source in [case.source.clone(), formatted] {
        let again = run(&Case { source, ..case.clone() });
        assert_eq!(first.as_deref().map(bits), again.as_deref().map(bits), "{}", case.source);
    }
    first.is_ok()
}

#[test]
fn every_program_is_consistent() {
    let count = oracle::setting("CONSISTENCY_PROGRAMS", 3000);
    let ran = (0..count).filter(|&seed| check(&everything(seed))).count();
    println!("{ran} of {count} programs gave a value");
    assert!(ran as u64 > count * 8 / 10, "only {ran} of {count} programs gave a value");
}

#[test]
fn every_differentiable_program_has_a_finite_value() {
    let count = oracle::setting("CONSISTENCY_PROGRAMS", 3000);
    for seed in 0..count {
        let case = differentiable(seed);
        assert!(check(&case), "no value:\n{}", case.source);
    }
}

/// A name as it stands behind an open parenthesis.
fn applies(source: &str, name: &str) -> bool {
    source.match_indices(&format!("({name}")).any(|(at, m)| source[at + m.len()..].starts_with([' ', ')']))
}

/// No operation is passed over by a generator, a new one neither.
#[test]
fn every_operation_is_generated() {
    let texts = |make: fn(u64) -> Case| (0..6000).map(|seed| make(seed).source).collect::<Vec<String>>();
    let typed = [texts(everything), texts(differentiable)];
    let edges = texts(danger);
    for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.has_surface()) {
        for (written, which) in typed.iter().zip(["everything", "differentiable"]) {
            assert!(written.iter().any(|t| applies(t, row.name)), "`{}` is in no program of `{which}`", row.name);
        }
        if matches!(row.kernel, Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_)) && !matches!(row.arity, Arity::Chain) {
            assert!(edges.iter().any(|t| applies(t, row.name)), "`{}` is in no program of `danger`", row.name);
        }
    }
}
