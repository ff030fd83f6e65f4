//! The lane engine over batches, one thread: values and value with gradient, f32 and f64, beside a loop written by hand.
//! `cargo bench -p neural-compiler --bench lanes`

use divan::counter::ItemsCount;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::Real;
use neural_compiler::{Options, compile, diff};

fn main() {
    divan::main();
}

const LANES: usize = 10_000;

const PROGRAMS: &[(&str, &str)] = &[
    ("quadratic", "(+ (+ (* a (* x x)) (* b x)) c)"),
    ("dot4", "(+ (+ (* a1 b1) (* a2 b2)) (+ (* a3 b3) (* a4 b4)))"),
    ("clamp", "(if (< x 0) 0 (if (> x 10) 10 x))"),
    ("gaussian", "(exp (/ (- 0 (pow theta 2)) (* 2 (pow sigma 2))))"),
    ("pendulum", "(+ (* (- 0 g) (sin theta)) (* (- 0 b) omega))"),
    ("newton20", "(loop ((i 0) (y 1)) (if (= i 20) y (recur (+ i 1) (* 0.5 (+ y (/ x y))))))"),
];

fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|p| p.0)
}

fn graph(name: &str, gradient: bool) -> Graph {
    let source = PROGRAMS.iter().find(|p| p.0 == name).expect("listed").1;
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).expect("it compiles");
    if gradient { diff::gradient(&graph, &(0..graph.inputs.len()).collect::<Vec<_>>()).expect("a scalar") } else { (*graph).clone() }
}

fn run<T: Real>(bencher: divan::Bencher<'_, '_>, graph: &Graph) {
    let engine = Engine::new(graph, &vec![false; graph.inputs.len()]);
    let column = |k: usize| (0..LANES).map(|i| T::from_f64(0.5 + ((i * 7919 + k * 104_729) % 1000) as f64 / 300.0)).collect::<Vec<T>>();
    let columns: Vec<Vec<T>> = (0..graph.inputs.len()).map(column).collect();
    let inputs: Vec<Column<'_, T>> = columns.iter().map(|c| Column::rows(c, 1)).collect();
    let mut outputs = vec![vec![T::ZERO; LANES]; graph.outputs().len()];
    let mut workspace = Workspace::new();
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        let mut buffers: Vec<&mut [T]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
        engine.run(&mut workspace, &inputs, LANES, &mut buffers, &BatchOptions::default())
    });
}

#[divan::bench(args = names())]
fn value_f32(bencher: divan::Bencher, name: &str) {
    run::<f32>(bencher, &graph(name, false));
}

#[divan::bench(args = names())]
fn value_f64(bencher: divan::Bencher, name: &str) {
    run::<f64>(bencher, &graph(name, false));
}

#[divan::bench(args = names())]
fn gradient_f32(bencher: divan::Bencher, name: &str) {
    run::<f32>(bencher, &graph(name, true));
}

/// The limit: `quadratic` as a loop the compiler vectorises for the baseline.
#[divan::bench]
fn quadratic_by_hand_f32(bencher: divan::Bencher) {
    let column = |k: usize| (0..LANES).map(|i| 0.5 + ((i * 7919 + k * 104_729) % 1000) as f32 / 300.0).collect::<Vec<f32>>();
    let (a, b, c, x) = (column(0), column(1), column(2), column(3));
    let mut out = vec![0f32; LANES];
    bencher.counter(ItemsCount::new(LANES)).bench_local(|| {
        let columns = divan::black_box((&a, &b, &c, &x));
        for ((((o, &a), &b), &c), &x) in out.iter_mut().zip(columns.0).zip(columns.1).zip(columns.2).zip(columns.3) {
            *o = a * (x * x) + b * x + c;
        }
        out[LANES - 1]
    });
}
