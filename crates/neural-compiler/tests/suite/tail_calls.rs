//! Tail calls, self and mutual, run in constant memory: ten million rounds within 64 KiB.

use neural_compiler::exec::interp::{RunOptions, run};
use neural_compiler::{Limits, Options, Tensor, compile};

fn value(source: &str) -> Option<f64> {
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).expect("it compiles");
    let options = RunOptions { limits: Limits { memory_bytes: 64 << 10, depth: 1, ..Limits::default() }, trap: false };
    run(&graph, &Vec::<Tensor<f64>>::new(), &options).expect("it runs")[0].as_scalar()
}

#[test]
fn self_recursion() {
    assert_eq!(value("(define (sum i s) (if (= i 10000000) s (sum (+ i 1) (+ s i)))) (sum 0 0)"), Some(49_999_995_000_000.0));
}

#[test]
fn mutual_recursion() {
    let source = "(define (even? n) (if (= n 0) 1 (odd? (- n 1)))) (define (odd? n) (if (= n 0) 0 (even? (- n 1)))) (even? 10000000)";
    assert_eq!(value(source), Some(1.0));
}
