//! Exported Python against the interpreter: each function within the bound the documentation gives, whole programs and their gradients
//! to nine digits or so, with NumPy and with JAX.

use neural_compiler::export::{Target, says};
use neural_compiler::ops::{Kernel, Op};
use neural_compiler::{Options, Shape, compile, diff};
use neural_compiler_testing::generate::differentiable;
use neural_compiler_testing::in_python::{InPython, results, run, ulps};
use neural_compiler_testing::oracle;
use neural_compiler_testing::probe::probes;

/// The words of a list in docs/export.md.
fn listed(what: &str, target: Target) -> Vec<String> {
    let text = std::fs::read_to_string(oracle::root().join("docs/export.md")).expect("docs/export.md");
    let start = format!("<!-- {what} {}:", target.name());
    let list = text.split(&start).nth(1).and_then(|t| t.split("-->").next()).unwrap_or_else(|| panic!("a list of {what}"));
    list.split_whitespace().map(str::to_string).collect()
}

/// The bound of a function in ULP, where it is not 2: what the libraries leave, as docs/export.md lists it.
fn bounds(target: Target) -> Vec<(String, f64)> {
    listed("ULP of", target).chunks(2).map(|c| (c[0].clone(), c[1].parse().expect("a bound"))).collect()
}

/// Whether a library that goes its own way at poles, infinities, negative and huge arguments is held to our value here.
fn ordinary(point: &[f64]) -> bool {
    point.iter().all(|x| (1e-3..=100.0).contains(x))
}

fn every_function(target: Target) {
    let bounds = bounds(target);
    let usual = listed("at ordinary arguments in", target);
    // JAX takes subnormal numbers for 0.
    let seen = |x: &f64| target != Target::Jax || *x == 0.0 || x.abs() >= f64::MIN_POSITIVE || x.is_nan();
    let all: Vec<_> = probes(40).collect();
    let jobs: Vec<InPython> = all
        .iter()
        .map(|p| {
            let points = (0..p.columns[0].len()).map(|l| p.columns.iter().map(|c| c[l]).collect()).collect();
            InPython { graph: (*p.graph).clone(), points, gradient: false }
        })
        .collect();
    let mut failures = Vec::new();
    for ((probe, job), found) in all.iter().zip(&jobs).zip(run(&jobs, target, &format!("{}-functions", target.name()))) {
        let Some(found) = found else { continue };
        let name = probe.source.trim_start_matches('(').split(' ').next().expect("a name");
        let bound = bounds.iter().find(|b| b.0 == name).map_or(2.0, |b| b.1);
        for (point, values) in job.points.iter().zip(&found) {
            let expected = results(&probe.graph, point).expect("probes have results")[0];
            if !point.iter().all(seen) || (usual.iter().any(|u| u == name) && !ordinary(point)) {
                continue;
            }
            let distance = ulps(expected, values[0]);
            if distance > bound {
                failures.push(format!("{} at {point:?}: {:?} instead of {expected:?}, {distance} ULP", probe.source, values[0]));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn programs(target: Target, count: u64) {
    let mut jobs = Vec::new();
    let mut sources = Vec::new();
    for seed in 0..count {
        let case = differentiable(seed);
        let Ok(compiled) = case.compile() else { continue };
        // Libraries round determinants in their own order, and a generated condition may hang on whether one is 0.
        if target != Target::Python && case.source.contains("(det ") {
            continue;
        }
        assert_eq!(compiled.graph.outputs(), [Shape::Scalar]);
        let point: Vec<f64> = compiled.inputs.iter().flat_map(|i| i.data.iter().copied()).collect();
        let points = [1.0, 0.75, 1.125].iter().map(|f| point.iter().map(|x| x * f).collect()).collect();
        jobs.push(InPython { graph: (*compiled.graph).clone(), points, gradient: true });
        sources.push(case.source);
    }
    let mut compared = 0;
    for ((job, source), found) in jobs.iter().zip(&sources).zip(run(&jobs, target, &format!("{}-programs", target.name()))) {
        let Some(found) = found else { continue };
        let wrt: Vec<usize> = (0..job.graph.inputs.len()).collect();
        let graph = diff::gradient(&job.graph, &wrt).expect("a gradient");
        for (point, values) in job.points.iter().zip(&found) {
            let Some(expected) = results(&graph, point) else { continue };
            for (x, y) in expected.iter().zip(values) {
                let close = (x - y).abs() <= 1e-8 * (1.0 + x.abs()) || x == y || (x.is_nan() && y.is_nan());
                assert!(close, "{source}\nat {point:?}: {values:?} instead of {expected:?}");
            }
            assert_eq!(expected.len(), values.len());
            compared += 1;
        }
    }
    println!("{compared} points of {} programs", jobs.len());
    assert!(compared as u64 > count / 2, "too few programs could be exported: {compared} points");
}

#[test]
fn python_functions() {
    every_function(Target::Python);
}

#[test]
fn python_programs() {
    programs(Target::Python, oracle::setting("EXPORT_PROGRAMS", 150));
}

#[test]
fn numpy_functions() {
    every_function(Target::Numpy);
}

#[test]
fn numpy_programs() {
    programs(Target::Numpy, oracle::setting("EXPORT_PROGRAMS", 150));
}

#[test]
fn jax_functions() {
    every_function(Target::Jax);
}

#[test]
fn jax_programs() {
    programs(Target::Jax, oracle::setting("EXPORT_PROGRAMS", 150) / 5);
}

#[test]
fn stablehlo_programs() {
    programs(Target::Stablehlo, oracle::setting("EXPORT_PROGRAMS", 150));
}

/// Laws as SymPy sees them: their values and derivatives at 30 digits.
#[test]
fn sympy_programs() {
    let laws = [
        "(* A (exp (- (* k t))))",
        "(if (> x 0.5) (/ 1 x) (* 2 (sqrt (+ x 3))))",
        "(* 2 pi (sqrt (/ L g)))",
        "(+ (erf x) (atan y x) (log1p (square z)) (pow x 1.5) (sigmoid y))",
        "(select (< x y) (cosh x) (tanh (- x y)))",
        "(let ((r (+ 0.1 (* x y)))) (- (* r (log r)) (max r z)))",
    ];
    let jobs: Vec<InPython> = laws
        .iter()
        .map(|law| {
            let graph = compile(law, &Options::default()).and_then(|p| p.graph()).expect("a law compiles");
            let points = (0..4).map(|k| (0..graph.inputs.len()).map(|i| 0.3 + 0.31 * k as f64 + 0.17 * i as f64).collect()).collect();
            InPython { graph: (*graph).clone(), points, gradient: true }
        })
        .collect();
    for ((law, job), found) in laws.iter().zip(&jobs).zip(run(&jobs, Target::Sympy, "sympy")) {
        let wrt: Vec<usize> = (0..job.graph.inputs.len()).collect();
        let graph = diff::gradient(&job.graph, &wrt).expect("a gradient");
        for (point, values) in job.points.iter().zip(found.expect("laws can be exported")) {
            let expected = results(&graph, point).expect("laws have values");
            let close = expected.iter().zip(&values).all(|(x, y)| (x - y).abs() <= 1e-14 * (1.0 + x.abs()));
            assert!(close && expected.len() == values.len(), "{law} at {point:?}: {values:?} instead of {expected:?}");
        }
    }
}

/// What a library cannot say is listed where users look for it, and nothing else is.
#[test]
fn operations_without_text_are_those_of_the_documentation() {
    let text = std::fs::read_to_string(oracle::root().join("docs/export.md")).expect("docs/export.md");
    for target in [Target::Python, Target::Numpy, Target::Jax, Target::Stablehlo] {
        let start = format!("<!-- not in {}: ", target.name());
        let listed = text.split(&start).nth(1).and_then(|t| t.split(" -->").next()).expect("a list of what is missing");
        let nodes = Op::ALL.iter().filter(|op| !matches!(op.row().kernel, Kernel::Composite(_)));
        let missing: Vec<&str> = nodes.filter(|op| !says(target, **op)).map(|op| op.row().name).collect();
        assert_eq!(missing, listed.split_whitespace().collect::<Vec<_>>(), "{}", target.name());
    }
}
