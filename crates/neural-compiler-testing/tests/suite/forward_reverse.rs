//! Forward mode equals reverse mode: for a direction t, the derivative along t is the dot product of the gradient with t; and
//! second derivatives are symmetric, and agree with Hessian-vector products.

use fastrand::Rng;
use neural_compiler::exec::interp;
use neural_compiler::graph::Graph;
use neural_compiler::{Tensor, diff};
use neural_compiler_testing::case::bits;
use neural_compiler_testing::generate::differentiable;
use neural_compiler_testing::{Case, Compiled, oracle};

/// Rounding allowed: both modes round the same products in another order, hundreds of times at most.
const TOLERANCE: f64 = 1e-11;

fn run(graph: &Graph, inputs: &[Tensor<f64>]) -> Result<Vec<Tensor<f64>>, String> {
    interp::run(graph, inputs, &Default::default()).map_err(|e| e.to_string())
}

fn same_numbers(what: &str, a: &[Tensor<f64>], b: &[Tensor<f64>]) -> Result<(), String> {
    if bits(a) == bits(b) { Ok(()) } else { Err(format!("{what}: {a:?} and {b:?}")) }
}

/// The parts of a dot product, and the sum of their sizes: what rounding is measured against.
fn dot(a: &[Tensor<f64>], b: &[Tensor<f64>]) -> (f64, f64) {
    let products = || a.iter().zip(b).flat_map(|(x, y)| x.data().iter().zip(y.data()).map(|(p, q)| p * q));
    (products().sum(), products().map(f64::abs).sum())
}

fn directions(compiled: &Compiled, rng: &mut Rng) -> Vec<Tensor<f64>> {
    compiled
        .inputs
        .iter()
        .map(|i| Tensor::new(i.shape, i.data.iter().map(|_| rng.f64() - 0.5).collect()).expect("the input's shape"))
        .collect()
}

/// `Err` unless two numbers agree to rounding.
fn close(what: &str, a: f64, b: f64, scale: f64) -> Result<(), String> {
    if (a - b).abs() <= TOLERANCE * scale { Ok(()) } else { Err(format!("{what}: {a} and {b}")) }
}

/// Whether the program has a slope here; `Err` says what does not fit.
fn check(case: &Case, seed: u64) -> Result<bool, String> {
    let compiled = case.compile().map_err(|e| e.to_string())?;
    let mut rng = Rng::with_seed(seed);
    let wrt: Vec<usize> = (0..compiled.inputs.len()).collect();
    let inputs = compiled.tensors::<f64>();
    let t = directions(&compiled, &mut rng);
    let both: Vec<Tensor<f64>> = inputs.iter().chain(&t).cloned().collect();

    let reverse = run(&diff::gradient(&compiled.graph, &wrt).map_err(|e| e.to_string())?, &inputs)?;
    let forward = run(&diff::jvp(&compiled.graph, &wrt), &both)?;
    let value = run(&compiled.graph, &inputs)?;
    same_numbers("the value beside the gradient", &value, &reverse[..1])?;
    same_numbers("the value beside the tangent", &value, &forward[..1])?;
    let (along, size) = dot(&reverse[1..], &t);
    let slope = forward[1].data()[0];
    close("reverse and forward", along, slope, size.max(1.0))?;

    let second = run(&diff::hessian(&compiled.graph, &wrt).map_err(|e| e.to_string())?, &inputs)?;
    let product = run(&diff::hvp(&compiled.graph, &wrt).map_err(|e| e.to_string())?, &both)?;
    same_numbers("the gradient beside the Hessian", &reverse, &second[..1 + wrt.len()])?;
    check_second(&compiled, &second[1 + wrt.len()..], &product[2..], &t)?;
    Ok(slope != 0.0)
}

fn check_second(compiled: &Compiled, blocks: &[Tensor<f64>], product: &[Tensor<f64>], t: &[Tensor<f64>]) -> Result<(), String> {
    let n = compiled.inputs.len();
    let lengths: Vec<usize> = compiled.inputs.iter().map(|i| i.data.len()).collect();
    let at = |i: usize, k: usize, j: usize, l: usize| blocks[i * n + j].data()[k * lengths[j] + l];
    // Values are moderate by construction: second derivatives that cancel to nothing are measured against 1.
    let largest = blocks.iter().flat_map(|b| b.data()).fold(1.0f64, |m, x| m.max(x.abs()));
    for i in 0..n {
        for k in 0..lengths[i] {
            let (mut sum, mut size) = (0.0, 0.0);
            for j in 0..n {
                for l in 0..lengths[j] {
                    let h = at(i, k, j, l);
                    close("H and its transpose", h, at(j, l, i, k), largest)?;
                    sum += h * t[j].data()[l];
                    size += (h * t[j].data()[l]).abs();
                }
            }
            close("H t and the Hessian-vector product", sum, product[i].data()[k], size.max(largest))?;
        }
    }
    Ok(())
}

#[test]
fn forward_equals_reverse() {
    let count = oracle::setting("DERIVATIVE_PROGRAMS", 3000);
    let (mut steep, mut wrong) = (0, Vec::new());
    for seed in 0..count {
        let case = differentiable(seed);
        match check(&case, seed) {
            Ok(slope) => steep += u64::from(slope),
            Err(what) => wrong.push(format!(
                "seed {seed}: {what}
{}",
                case.source
            )),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} programs fail, the first of them:
{}",
        wrong.len(),
        wrong[..wrong.len().min(4)].join(
            "

"
        )
    );
    println!("{count} programs, {steep} with a slope");
    assert!(steep > count * 6 / 10, "only {steep} of {count} programs depend smoothly on their inputs");
}
