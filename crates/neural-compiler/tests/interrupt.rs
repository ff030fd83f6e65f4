//! A run that is not wanted any more ends, in every executor: programs that would take hours are over as soon as the question is answered.

use neural_compiler::exec::end_runs_when;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::exec::jit::Jit;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::ops::real::Dtype;
use neural_compiler::{Limits, Options, Tensor, compile};
use neural_compiler_math::Level;

const LONG: [&str; 3] = [
    "(loop ((i 0) (s x)) (if (< i 0) s (recur (+ i 1) (sin s))))",
    "(loop ((i 0) (s x)) (if (< i 0) s (recur (+ i 1) (* s 0.5))))",
    "(total (loop ((i 0) (v (fill x 3000))) (if (= i 1e12) v (recur (+ i 1) (sin v)))))",
];

fn endless() -> RunOptions {
    RunOptions { limits: Limits { steps: u64::MAX, iterations: u64::MAX, ..Limits::default() }, ..RunOptions::default() }
}

#[test]
fn no_executor_goes_on_when_nobody_waits() {
    end_runs_when(|| true);
    for source in LONG {
        let program = compile(source, &Options::default()).expect("it compiles");
        let graph = program.graph().expect("a graph");
        let error = interp::run(&graph, &[Tensor::scalar(0.5)], &endless()).expect_err("it is endless");
        assert_eq!(error.code, "run-interrupted", "{source}");
        let engine = Engine::new(&graph, &[false]);
        for (lanes, threads) in [(1, 1), (100, 1), (20_000, 4)] {
            for trap in [false, true] {
                let numbers = vec![0.5; lanes];
                let mut out = vec![0.0; lanes];
                let options = BatchOptions { run: RunOptions { trap, ..endless() }, threads, ..BatchOptions::default() };
                let error = engine
                    .run(&mut Workspace::new(), &[Column::rows(&numbers, 1)], lanes, &mut [&mut out], &options)
                    .expect_err("it is endless");
                assert_eq!(error.code, "run-interrupted", "{lanes} lanes, {threads} threads: {source}");
            }
        }
    }
}

/// Code that looks only when a loop is over, or when it gave up on it, would take the rest of the day.
#[test]
fn generated_code_looks_while_a_long_round_repeats() {
    end_runs_when(|| true);
    let body = (0..1000).fold("s".to_string(), |s, k| format!("(sqrt (+ {k} (/ 1 (+ 2 {s}))))"));
    let program = compile(&format!("(loop ((i 0) (s x)) (let ((next {body})) (if (< i 0) s (recur (+ i 1) next))))"), &Options::default())
        .expect("it compiles");
    let graph = program.graph().expect("a graph");
    let level = Level::best();
    assert!(level == Level::Baseline || Jit::new(&graph, &[false], Dtype::F64, level).is_ok());
    let lanes = 1_000_000;
    let (numbers, mut out) = (vec![0.5; lanes], vec![0.0; lanes]);
    let options = BatchOptions { run: endless(), threads: 2, ..BatchOptions::default() };
    let engine = Engine::new(&graph, &[false]);
    let error =
        engine.run(&mut Workspace::new(), &[Column::rows(&numbers, 1)], lanes, &mut [&mut out], &options).expect_err("it is endless");
    assert_eq!(error.code, "run-interrupted");
}

#[test]
fn inverses_end_between_the_lanes() {
    end_runs_when(|| true);
    for source in ["(total (inv (+ (* x (eye 300)) (ones 300 300))))", "(det (+ (* x (eye 300)) (ones 300 300)))"] {
        let program = compile(source, &Options::default()).expect("it compiles");
        let graph = program.graph().expect("a graph");
        let lanes = 100_000;
        let (numbers, mut out) = (vec![0.5; lanes], vec![0.0; lanes]);
        for trap in [false, true] {
            let options = BatchOptions { run: RunOptions { trap, ..endless() }, threads: 2, ..BatchOptions::default() };
            let engine = Engine::new(&graph, &[false]);
            let error = engine
                .run(&mut Workspace::new(), &[Column::rows(&numbers, 1)], lanes, &mut [&mut out], &options)
                .expect_err("it takes minutes");
            assert_eq!(error.code, "run-interrupted", "{source}");
        }
    }
}

#[test]
fn a_product_of_large_matrices_ends_between_its_rows() {
    end_runs_when(|| true);
    let program = compile("(total (matmul (fill x 2000 2000) (fill x 2000 2000)))", &Options::default()).expect("it compiles");
    let graph = program.graph().expect("a graph");
    assert_eq!(interp::run(&graph, &[Tensor::scalar(0.5)], &endless()).expect_err("it takes minutes").code, "run-interrupted");
    let mut out = [0.0];
    let options = BatchOptions { run: endless(), ..BatchOptions::default() };
    let engine = Engine::new(&graph, &[false]);
    let error = engine.run(&mut Workspace::new(), &[Column::rows(&[0.5], 1)], 1, &mut [&mut out], &options).expect_err("it takes minutes");
    assert_eq!(error.code, "run-interrupted");
}
