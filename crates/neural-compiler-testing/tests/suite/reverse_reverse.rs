//! Reverse mode of what reverse mode made, through loops and recursion: it equals forward over reverse, of second and third order, and
//! so it does where a graph has forgotten what it is the derivative of.

use fastrand::Rng;
use neural_compiler::exec::interp;
use neural_compiler::graph::{Graph, giving, select, verify};
use neural_compiler::{Options, Tensor, compile, diff};
use neural_compiler_testing::generate::differentiable;
use neural_compiler_testing::oracle;

/// Rounding allowed, relative to the numbers that are added: three derivatives of values that are moderate by construction.
const TOLERANCE: f64 = 1e-10;

fn run(graph: &Graph, inputs: &[Tensor<f64>]) -> Result<Vec<Tensor<f64>>, String> {
    verify::verify(graph)?;
    interp::run(graph, inputs, &Default::default()).map_err(|e| e.to_string())
}

fn random(graph: &Graph, which: std::ops::Range<usize>, rng: &mut Rng) -> Vec<Tensor<f64>> {
    let of = |i: &neural_compiler::graph::GraphInput| {
        Tensor::new(i.shape, (0..i.shape.len()).map(|_| rng.f64() - 0.5).collect()).expect("its shape")
    };
    graph.inputs[which].iter().map(of).collect()
}

/// A dot product, and the sum of the sizes of its terms.
fn dot(a: &[Tensor<f64>], b: &[Tensor<f64>]) -> (f64, f64) {
    let products = || a.iter().zip(b).flat_map(|(x, y)| x.data().iter().zip(y.data()).map(|(p, q)| p * q));
    (products().sum(), products().map(f64::abs).sum())
}

/// `Err` unless pulling back through a graph and pushing forward through it are transposes of each other; gives the graph that pulls back
/// and its inputs.
fn transposes(
    what: &str,
    graph: &Graph,
    inputs: &[Tensor<f64>],
    wrt: &[usize],
    rng: &mut Rng,
) -> Result<(Graph, Vec<Tensor<f64>>), String> {
    let back = diff::vjp(graph, wrt).map_err(|e| e.to_string())?;
    let along = diff::jvp(graph, wrt);
    let (n, m) = (graph.inputs.len(), graph.outputs().len());
    let (bars, dots) = (random(&back, n..n + m, rng), random(&along, n..n + wrt.len(), rng));
    let with_bars = [inputs, &bars].concat();
    let (pulled, pushed) = (run(&back, &with_bars)?, run(&along, &[inputs, &dots].concat())?);
    for (a, b) in pulled[..m].iter().zip(&pushed[..m]).flat_map(|(a, b)| a.data().iter().zip(b.data())) {
        close(&format!("{what}: the results themselves"), *a, *b, a.abs().max(1.0))?;
    }
    let ((a, size), (b, other)) = (dot(&pulled[m..], &dots), dot(&pushed[m..], &bars));
    let scale = pulled.iter().chain(&pushed).flat_map(|t| t.data()).fold(1.0f64, |m, x| m.max(x.abs()));
    close(what, a, b, size.max(other).max(scale))?;
    Ok((back, with_bars))
}

fn close(what: &str, a: f64, b: f64, scale: f64) -> Result<(), String> {
    if (a - b).abs() <= TOLERANCE * scale || (a.is_nan() && b.is_nan()) { Ok(()) } else { Err(format!("{what}: {a} and {b}")) }
}

/// Whether the gradient holds a tape.
fn check(graph: &Graph, inputs: &[Tensor<f64>], seed: u64) -> Result<bool, String> {
    let mut rng = Rng::with_seed(seed);
    let wrt: Vec<usize> = (0..inputs.len()).collect();
    let gradient = diff::gradient(graph, &wrt).map_err(|e| e.to_string())?;
    let (second, with) = transposes("second order", &gradient, inputs, &wrt, &mut rng)?;
    let all: Vec<usize> = (0..with.len()).collect();
    transposes("third order", &second, &with, &all, &mut rng)?;
    let forward = diff::jvp(&gradient, &wrt);
    let dots = random(&forward, inputs.len()..2 * inputs.len(), &mut rng);
    transposes("reverse over forward over reverse", &forward, &[inputs, &dots].concat(), &wrt, &mut rng)?;
    // Put together anew, it has forgotten where it comes from.
    transposes("without its origin", &giving(&gradient, gradient.main().results.clone()), inputs, &wrt, &mut rng)?;
    Ok(gradient.is_taped())
}

#[test]
fn generated_programs() {
    let count = oracle::setting("DERIVATIVE_PROGRAMS", 1000);
    // However rare the generator makes loops: so many gradients with a tape are looked at.
    let wanted = count / 5;
    let (mut taped, mut wrong, mut seed) = (0, Vec::new(), 0);
    while seed < count || (taped < wanted && seed < 5 * count) {
        let case = differentiable(seed);
        let compiled = case.compile().unwrap_or_else(|e| panic!("{e}\n{}", case.source));
        match check(&compiled.graph, &compiled.tensors::<f64>(), seed) {
            Ok(found) => taped += u64::from(found),
            Err(what) => wrong.push(format!("seed {seed}: {what}\n{}", case.source)),
        }
        seed += 1;
    }
    assert!(wrong.is_empty(), "{} programs fail, the first of them:\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
    println!("{seed} programs, {taped} with a tape");
    assert!(taped >= wanted, "only {taped} of {seed} gradients store a tape");
}

/// Second and third derivatives by reverse mode alone, of programs whose derivatives are known: x^n by a loop, by recursion, by recursion
/// with two calls, and by loops in a loop.
#[test]
fn known_derivatives() {
    let x: f64 = 1.25;
    let programs = [
        ("(loop ((i 0) (a 1)) (if (= i 7) a (recur (+ i 1) (* a x))))", 7),
        ("(define (power n) (if (= n 0) 1 (* x (power (- n 1))))) (power 6)", 6),
        ("(define (power n) (if (= n 0) 1 (if (= n 1) x (* (power (- n 1)) (power (- n (- n 1))))))) (power 5)", 5),
        ("(loop ((i 0) (a 1)) (if (= i 3) a (recur (+ i 1) (loop ((j 0) (b a)) (if (= j 3) b (recur (+ j 1) (* b x)))))))", 9),
    ];
    for (source, n) in programs {
        let graph = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}\n{source}"));
        let mut now = (*graph).clone();
        let (mut factor, mut power) = (1.0, f64::from(n));
        for order in 1..=3 {
            assert!(order == 1 || now.is_taped(), "{source}");
            let first = diff::gradient(&now, &[0]).unwrap_or_else(|e| panic!("{e}\n{source}"));
            let found = run(&first, &[Tensor::scalar(x)]).unwrap_or_else(|e| panic!("{e}\n{source}"));
            factor *= power;
            power -= 1.0;
            let expected = factor * x.powf(power);
            let got = found[1].data()[0];
            assert!((got - expected).abs() <= 1e-13 * expected, "derivative {order} of {source}: {got}, not {expected}");
            now = select(&first, &[1]);
        }
    }
}
