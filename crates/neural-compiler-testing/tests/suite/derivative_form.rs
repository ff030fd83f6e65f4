//! `(d program name)` inside a program is the derivative of the program: the same as forward mode gives outside, and so are its own
//! derivatives, for generated programs with loops, recursion and branches.

use neural_compiler::exec::interp;
use neural_compiler::graph::Graph;
use neural_compiler::{Shape, Tensor, diff};
use neural_compiler_testing::case::bits;
use neural_compiler_testing::generate::differentiable;
use neural_compiler_testing::{Case, oracle};

/// Rounding allowed between both orders of differentiation, as in `forward_reverse.rs`.
const TOLERANCE: f64 = 1e-11;

fn run(graph: &Graph, inputs: &[Tensor<f64>]) -> Result<Vec<Tensor<f64>>, String> {
    interp::run(graph, inputs, &Default::default()).map_err(|e| e.to_string())
}

/// The program that gives the derivative of a program; declarations stay at the top.
fn inside(source: &str, by: &str) -> String {
    let (declared, rest): (Vec<&str>, Vec<&str>) = source.lines().partition(|line| line.starts_with("(input "));
    format!("{}\n(d (let () {}) {by})", declared.join("\n"), rest.join("\n"))
}

/// How many derivatives were compared.
fn check(case: &Case) -> Result<u64, String> {
    let compiled = case.compile().map_err(|e| e.to_string())?;
    let inputs = compiled.tensors::<f64>();
    let mut compared = 0;
    for (i, input) in compiled.inputs.iter().enumerate().filter(|(_, input)| input.shape == Shape::Scalar) {
        let inside = Case { source: inside(&case.source, &input.name), inputs: case.inputs.clone() };
        let inside = inside.compile().map_err(|e| e.to_string())?;
        assert_eq!(inside.inputs, compiled.inputs, "the derivative has the inputs of the program");
        let mut along = inputs.clone();
        along.push(Tensor::scalar(1.0));
        let outside = run(&diff::jvp(&compiled.graph, &[i]), &along)?;
        let found = run(&inside.graph, &inputs)?;
        if bits(&found) != bits(&outside[1..]) {
            return Err(format!("d by {}: {found:?} and {:?}", input.name, &outside[1..]));
        }
        let second = run(&diff::gradient(&inside.graph, &[i]).map_err(|e| e.to_string())?, &inputs)?[1].data()[0];
        let hessian = run(&diff::hessian(&compiled.graph, &[i]).map_err(|e| e.to_string())?, &inputs)?;
        let (expected, scale) = (hessian[2].data()[0], hessian.iter().flat_map(|t| t.data()).fold(1.0f64, |m, x| m.max(x.abs())));
        if (second - expected).abs() > TOLERANCE * scale {
            return Err(format!("the derivative of d by {}: {second} and {expected}", input.name));
        }
        compared += 1;
    }
    Ok(compared)
}

#[test]
fn inside_equals_outside() {
    let count = oracle::setting("DERIVATIVE_PROGRAMS", 1000);
    let (mut compared, mut wrong) = (0, Vec::new());
    for seed in 0..count {
        let case = differentiable(seed);
        match check(&case) {
            Ok(n) => compared += n,
            Err(what) => wrong.push(format!("seed {seed}: {what}\n{}", case.source)),
        }
    }
    assert!(wrong.is_empty(), "{} programs fail, the first of them:\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
    println!("{count} programs, {compared} derivatives");
    assert!(compared > count / 2, "only {compared} derivatives of {count} programs");
}
