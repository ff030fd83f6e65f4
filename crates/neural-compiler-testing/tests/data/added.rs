//! Where the operation and the form of docs/add-an-op.md must be found. `tests/add_an_op.rs` puts this file into a copy of the source in
//! which the page's steps have been done.

use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::ops::bound::bound;
use neural_compiler::ops::interval::Interval;
use neural_compiler::ops::{Op, surface_names};
use neural_compiler::syntax::{format::format, forms};
use neural_compiler::{Limits, Options, Tensor, compile, diff};
use neural_compiler_math::Level;
use neural_compiler_testing::conformance::batch::{Batch, compare};
use neural_compiler_testing::conformance::executors::{Executor, Interpreter, Lanes, generated_at, generated_levels, lanes_at};
use neural_compiler_testing::conformance::programs::graph_of;
use neural_compiler_testing::generate::{danger, differentiable, everything};
use neural_compiler_testing::operations::cases;
use neural_compiler_testing::{mutate, probe};

fn value(source: &str, x: &[f64]) -> f64 {
    let inputs: Vec<Tensor<f64>> = x.iter().map(|&x| Tensor::scalar(x)).collect();
    interp::run(&graph_of(source), &inputs, &RunOptions::default()).expect("it runs")[0].data()[0]
}

#[test]
fn the_parser_and_the_interpreter() {
    assert_eq!(value("(sinc x)", &[0.0]), 1.0);
    assert!((value("(sinc x)", &[1.0]) - 0.8414709848078965).abs() < 1e-15);
    assert_eq!((value("(nand x 1)", &[1.0]), value("(nand x 1)", &[0.0]), value("(nand)", &[])), (0.0, 1.0, 0.0));
    let error = compile("(sinc 1 2)", &Options::default()).expect_err("one argument").to_string();
    assert!(error.contains("(sinc x)"), "{error}");
    assert!(compile("(sin-c x)", &Options::default()).expect_err("no such function").to_string().contains("sinc"));
    assert!(compile("(nandd x)", &Options::default()).expect_err("no such function").to_string().contains("nand"));
}

#[test]
fn every_executor() {
    let mut executors: Vec<Box<dyn Executor>> = vec![Box::new(Interpreter), Box::new(Lanes { jit: true, ..Lanes::new(Level::best()) })];
    Level::available().iter().for_each(|&level| executors.extend(lanes_at(level, usize::MAX)));
    generated_levels().into_iter().for_each(|level| executors.extend(generated_at(level)));
    for source in ["(sinc x)", "(* x (nand (> x 1) (sinc x)))"] {
        let graph = graph_of(source);
        let gradient = diff::gradient(&graph, &[0]).expect("a scalar");
        for graph in [&graph, &gradient] {
            let columns = [(0..100).map(|k| f64::from(k) * 0.1 - 3.0).collect::<Vec<f64>>()];
            let batch = Batch { graph, columns: &columns, lanes: 100, uniform: &[false], gap: 0, run: RunOptions::default() };
            assert_eq!(compare(&executors, &batch, source), 100, "{source}");
        }
    }
}

#[test]
fn derivatives() {
    let graph = graph_of("(sinc x)");
    let gradient = diff::gradient(&graph, &[0]).expect("a scalar");
    let at = |x: f64| interp::run(&gradient, &[Tensor::scalar(x)], &RunOptions::default()).expect("it runs");
    assert!((at(1.0)[1].data()[0] + 0.30116867893975674).abs() < 1e-15);
    assert_eq!(at(0.0)[1].data()[0], 0.0);
}

#[test]
fn the_domain_check() {
    let of = bound(Op::Sinc.row(), &[Interval::new(-1.0, 7.0)]);
    assert!(of.contains(-0.217) && of.contains(1.0) && !of.contains(1.5) && !of.nan);
}

#[test]
fn generators() {
    for make in [everything, differentiable, danger] {
        assert!((0..3000).any(|seed| make(seed).source.contains("(sinc ")), "a generator passes over the new operation");
    }
    let mut rng = fastrand::Rng::with_seed(1);
    let texts: Vec<String> = (0..5000).map(|_| mutate::text(&mut rng).1).collect();
    assert!(["nand", "sinc"].iter().all(|word| texts.iter().any(|t| t.contains(word))), "the fuzzer passes over a name");
    assert!(probe::probes(3).any(|p| p.source == "(sinc x)") && cases(1, 3).iter().any(|c| c.op == Op::Sinc));
}

#[test]
fn lists_for_people() {
    assert!(surface_names().any(|n| n == "sinc") && forms::keywords().any(|k| k == "nand"));
    assert_eq!(format("( nand  a b )", &Limits::default()).expect("it reads"), "(nand a b)\n");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (page, row) in [("operations", "| `sinc` | `(sinc x)` |"), ("forms", "| `nand` | `(nand x …)` |")] {
        let text = std::fs::read_to_string(root.join(format!("spec/{page}.md"))).expect("a page");
        assert!(text.contains(row), "{page} lacks {row}");
    }
    // Python's rules go by the name of the variant.
    let rules = std::fs::read_to_string(root.join("python/neural_compiler/fx/operations.py")).expect("the rules");
    assert!(rules.contains(&format!("    \"{:?}\": ", Op::Sinc)));
}
