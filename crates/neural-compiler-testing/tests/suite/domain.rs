//! The safe-domain analysis is sound: where it says nothing about a box of inputs, no point of the box makes any operation leave
//! its domain. And it is of use: ordinary models are clean, or warned about for a danger that exists.

use neural_compiler::diagnostic::Severity;
use neural_compiler::domain;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::ops::real::Dtype;
use neural_compiler::{Diagnostic, Limits, Options, compile};
use neural_compiler_testing::{oracle, soundness};

fn findings(source: &str, ranges: &[(f64, f64)], dtype: Dtype) -> Vec<Diagnostic> {
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(graph.inputs.len(), ranges.len(), "{source}");
    let ranges: Vec<_> = ranges.iter().map(|&r| Some(r)).collect();
    domain::check(&graph, &ranges, dtype)
}

fn warnings(source: &str, ranges: &[(f64, f64)]) -> usize {
    findings(source, ranges, Dtype::F64).iter().filter(|d| d.severity == Severity::Warning).count()
}

const ANY: f64 = f64::INFINITY;

/// Programs whose danger was once overlooked.
#[test]
fn dangers_once_overlooked_are_seen() {
    let overlooked: &[(&str, &[(f64, f64)])] = &[
        // A comparison with NaN took no branch, squares overflowed in `norm`, products in `det`, one NaN of a vector hid its neighbours.
        ("(if (<= x +nan.0) x (/ 1 (- x x)))", &[(1.0, 2.0)]),
        ("(if (<= x (log10 +nan.0)) 1 (pow -0.95 1.125))", &[(1.0, 2.0)]),
        ("(vsum (log2 (normalize [s x s])))", &[(1e300, 1e300), (-1.5, -1.4)]),
        ("(input v :size 2) (det (mat v v))", &[(-3.0, 1e300)]),
        ("(vsum (scale y [1 +nan.0 (if (> y -5) -inf.0 1)]))", &[(0.0, 2.0)]),
        // An element that is always NaN hid the elements it has nothing to do with: the minor of a 1x1 matrix is 1, columns are solved
        // alone.
        ("(log y (total (cofactor (* +nan.0 (eye 1)))))", &[(1.5, 2.0)]),
        ("(total (normal-quantile (solve (mat [-3 z] [z z]) (mat [x +nan.0] [z x]))))", &[(-1.2, -1.1), (-0.9, -0.8)]),
        // Inside a branch, what is made of no arguments or of one number was taken for the same in another size outside it.
        ("(if (= (total (* y (eye 2))) 1e30) x (log (- (total (* x (eye 3))))))", &[(1.5, 2.0), (1.5, 2.0)]),
        ("(if (= (vsum (* y (ones 2))) 1e30) x (log (- 1 (vsum (* y (ones 3))))))", &[(1.5, 2.0), (1.5, 2.0)]),
        // An interval that ends at an excluded 0: its inverse reaches to infinity on that side.
        ("(if (= y 0) 0 (log (+ 1 (/ 1 y))))", &[(-5.0, 0.0)]),
        ("(if (= y 0) 0 (log (+ 1 (quotient 1 y))))", &[(-5.0, 0.0)]),
        ("(if y (log (+ 1 (/ 1 y))) 0)", &[(-5.0, 0.0)]),
        ("(if (= y 0) 0 (log (- 1 (/ 1 y))))", &[(-0.0, 5.0)]),
        // An infinity by an infinity.
        ("(log (exp x) (exp y))", &[(1.0, 1000.0), (1.0, 1000.0)]),
        ("(if (> (/ x (exp y)) 0) 0 (log (/ x (exp y))))", &[(-1.0, 1.0), (800.0, 900.0)]),
        // A half is no index.
        ("(ref [1 2 3] i)", &[(0.0, 2.0)]),
        // A condition that is NaN is true.
        ("(if (* a +nan.0) (/ 1 a) 0)", &[(0.0, 1.0)]),
        // The inverse of a tiny number is infinite, and 0 times that NaN.
        ("(inv [[x 0] [0 x]])", &[(1e-320, 1.0)]),
        ("(solve [[x 0] [0 x]] [1 2])", &[(1e-320, 1e-310)]),
        // Cofactors beyond 6 by 6 go through the inverse.
        ("(cofactor (* x (ones 7 7)))", &[(1.0, 2.0)]),
        // A power decides where the other argument is NaN.
        ("(log (- (pow (* x +nan.0) 0) 1))", &[(1.0, 2.0)]),
    ];
    for (source, ranges) in overlooked {
        assert!(warnings(source, ranges) > 0, "silent about {source}");
    }
    // And NaN that comes in is nobody's fault.
    let graph = compile("(log +nan.0 -0.125)", &Options::default()).and_then(|p| p.graph()).expect("a program");
    assert!(interp::run::<f64>(&graph, &[], &RunOptions { limits: Limits::default(), trap: true }).is_ok());
}

/// What can be proved is.
#[test]
fn proofs_are_found() {
    let clean: &[(&str, &[(f64, f64)])] = &[
        // A part of a sum is at most the sum.
        ("(sqrt (- 1 (/ x (+ K x))))", &[(0.0, 10.0), (1e-3, 10.0)]),
        ("(sqrt (- (+ a b) a))", &[(-3.0, 3.0), (0.0, 3.0)]),
        ("(log (- 2 (/ x (+ (* 3 x) K 1))))", &[(0.0, 100.0), (0.0, 100.0)]),
        ("(if (= y 0) 0 (/ 1 y))", &[(-5.0, 5.0)]),
        ("(if (= y 2) 0 (log (- 2 y)))", &[(-5.0, 2.0)]),
        // Whole indices stay whole.
        ("(ref [1 2 3] (floor i))", &[(0.0, 2.5)]),
        ("(ref [1 2 3] (modulo (floor i) 3))", &[(-1e6, 1e6)]),
        ("(loop ((i 0) (s 0)) (if (= i 3) s (recur (+ i 1) (+ s (* x (ref [1 2 3] i))))))", &[(0.0, 1.0)]),
        ("(loop ((i 0) (s 0)) (if (>= i 40) s (recur (+ i 1) (+ s (* x (ref (ones 40) i))))))", &[(0.0, 1.0)]),
        ("(inv [[x 0] [0 x]])", &[(1e-9, 1.0)]),
        ("(log (det [[x 1] [1 2]]))", &[(1.0, 2.0)]),
        ("(tan x)", &[(-100.0, 100.0)]),
        ("(pow x -2)", &[(-3.0, -1.0)]),
        ("(log (exp x) (exp y))", &[(1.0, 700.0), (1.0, 700.0)]),
    ];
    for (source, ranges) in clean {
        let found = findings(source, ranges, Dtype::F64);
        assert!(found.is_empty(), "{source}: {found:?}");
    }
}

/// Ordinary models with parameters that have no upper bound: only dangers that exist are warnings, overflow is a note.
#[test]
fn ordinary_models_are_not_suspect() {
    let positive = (0.0, ANY);
    let away = (1e-6, ANY);
    let safe: &[(&str, &[(f64, f64)])] = &[
        // Michaelis and Menten; the substrate or the constant is there.
        ("(/ (* vmax s) (+ km s))", &[positive, positive, away]),
        // An epidemic in a population of 1000.
        ("[(- (/ (* beta S I) 1000)) (- (/ (* beta S I) 1000) (* gamma I)) (* gamma I)]", &[positive; 4]),
        // Logistic growth, Hill's curve, Arrhenius' law.
        ("(* r x (- 1 (/ x K)))", &[positive, positive, away]),
        ("(/ (pow x 4) (+ (pow K 4) (pow x 4)))", &[(0.0, 1e3), (1e-3, ANY)]),
        ("(* A (exp (/ (- E) (* 8.314 T))))", &[positive, positive, (200.0, ANY)]),
        ("(* a (exp (- (* k t))))", &[positive; 3]),
        ("(+ (* a x) b)", &[(-ANY, ANY); 3]),
    ];
    for (source, ranges) in safe {
        let found = findings(source, ranges, Dtype::F64);
        assert!(found.iter().all(|d| d.code == "may-overflow" && d.severity == Severity::Note), "{source}: {found:?}");
    }
    let dangers: &[(&str, &[(f64, f64)])] = &[
        ("(/ (* vmax s) (+ km s))", &[positive; 3]),
        ("(* r x (- 1 (/ x K)))", &[positive; 3]),
        ("(* A (exp (/ (- E) (* 8.314 T))))", &[positive; 3]),
        ("(log x)", &[positive]),
    ];
    for (source, ranges) in dangers {
        let found = findings(source, ranges, Dtype::F64);
        assert!(found.iter().any(|d| d.code == "domain-may-be-left"), "{source}: {found:?}");
    }
}

/// Large values are bounded as a whole: the work of a check does not grow with their size.
#[test]
fn large_products_are_checked_at_once() {
    let source = "(input a :size [1000 1000]) (input b :size [1000 1000]) (total (matmul a b))";
    assert!(findings(source, &[(0.0, 1.0), (0.0, 1.0)], Dtype::F64).is_empty());
    let found = findings("(input a :size [2000 2000]) (log (- 1 (total (matmul a a))))", &[(0.0, 1.0)], Dtype::F64);
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["domain-may-be-left"]);
}

#[test]
fn silence_is_a_proof() {
    let programs = oracle::setting("DOMAIN_PROGRAMS", 3000);
    let start = oracle::setting("DOMAIN_SEED", 0);
    let (mut seen, mut wrong) = (soundness::Seen::default(), Vec::new());
    for seed in start..start + programs {
        match soundness::check(seed) {
            Ok(s) => seen.add(s),
            Err(e) => wrong.push(e),
        }
    }
    println!("{seen:?}");
    assert!(wrong.is_empty(), "{} silences without right, the first of them:\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
    assert!(seen.silent > seen.pairs / 5, "the analysis proves few programs safe: {seen:?}");
}
