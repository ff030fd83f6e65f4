//! Generated code beside the lane engine and beside loops written by hand for this CPU, one thread: values and value with gradient,
//! f32 and f64; and the time from source text to callable code.
//! `cargo bench -p neural-compiler --bench jit`

mod programs;

use divan::counter::ItemsCount;
use neural_compiler::exec::jit::{Jit, Memory};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::{Limits, Options, compile, diff};
use neural_compiler_math::Level;
use programs::{PAPER, tree};

fn main() {
    divan::main();
}

const LANES: usize = 10_000;

/// Programs with functions and with a loop, after the paper's nine.
const FURTHER: [(&str, &str); 3] = [
    ("gaussian", "(exp (/ (- 0 (pow theta 2)) (* 2 (pow sigma 2))))"),
    ("pendulum", "(+ (* (- 0 g) (sin theta)) (* (- 0 b) omega))"),
    ("newton20", "(loop ((i 0) (y 1)) (if (= i 20) y (recur (+ i 1) (* 0.5 (+ y (/ x y))))))"),
];

fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    PAPER.iter().chain(&FURTHER)
}

fn names() -> impl Iterator<Item = &'static str> {
    all().map(|p| p.0)
}

fn source_of(name: &str) -> &'static str {
    all().find(|p| p.0 == name).expect("listed").1
}

fn compiled(source: &str) -> Graph {
    (*compile(source, &Options::default()).and_then(|p| p.graph()).expect("it compiles")).clone()
}

fn graph(name: &str, gradient: bool) -> Graph {
    let graph = compiled(source_of(name));
    if gradient { diff::gradient(&graph, &(0..graph.inputs.len()).collect::<Vec<_>>()).expect("a scalar") } else { graph }
}

fn column<T: Real>(k: usize) -> Vec<T> {
    (0..LANES).map(|i| T::from_f64(0.5 + ((i * 7919 + k * 104_729) % 1000) as f64 / 300.0)).collect()
}

fn with_columns<T: Real>(graph: &Graph, run: impl FnOnce(&[Column<'_, T>], &mut [&mut [T]])) {
    let columns: Vec<Vec<T>> = (0..graph.inputs.len()).map(column).collect();
    let inputs: Vec<Column<'_, T>> = columns.iter().map(|c| Column::rows(c, 1)).collect();
    let mut outputs = vec![vec![T::ZERO; LANES]; graph.outputs().len()];
    let mut buffers: Vec<&mut [T]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
    run(&inputs, &mut buffers);
}

fn generated<T: Real>(bencher: divan::Bencher<'_, '_>, graph: &Graph, level: Level) {
    let Ok(jit) = Jit::new(graph, &vec![false; graph.inputs.len()], T::DTYPE, level) else { return };
    with_columns::<T>(graph, |inputs, outputs| {
        let (mut memory, limits) = (Memory::new(), Limits::default());
        bencher.counter(ItemsCount::new(LANES)).bench_local(|| assert!(jit.run(&mut memory, inputs, LANES, outputs, &limits)));
    });
}

fn lanes<T: Real>(bencher: divan::Bencher<'_, '_>, graph: &Graph) {
    let engine = Engine::new(graph, &vec![false; graph.inputs.len()]);
    with_columns::<T>(graph, |inputs, outputs| {
        let (mut workspace, options) = (Workspace::new(), BatchOptions { jit: false, ..BatchOptions::default() });
        bencher.counter(ItemsCount::new(LANES)).bench_local(|| engine.run(&mut workspace, inputs, LANES, outputs, &options));
    });
}

#[divan::bench(args = names())]
fn value_f32_generated(bencher: divan::Bencher, name: &str) {
    generated::<f32>(bencher, &graph(name, false), Level::best());
}

#[divan::bench(args = names())]
fn value_f32_generated_avx2(bencher: divan::Bencher, name: &str) {
    generated::<f32>(bencher, &graph(name, false), Level::Avx2);
}

#[divan::bench(args = names())]
fn value_f32_lanes(bencher: divan::Bencher, name: &str) {
    lanes::<f32>(bencher, &graph(name, false));
}

#[divan::bench(args = names())]
fn value_f64_generated(bencher: divan::Bencher, name: &str) {
    generated::<f64>(bencher, &graph(name, false), Level::best());
}

#[divan::bench(args = names())]
fn value_f64_lanes(bencher: divan::Bencher, name: &str) {
    lanes::<f64>(bencher, &graph(name, false));
}

#[divan::bench(args = names())]
fn gradient_f32_generated(bencher: divan::Bencher, name: &str) {
    generated::<f32>(bencher, &graph(name, true), Level::best());
}

#[divan::bench(args = names())]
fn gradient_f32_lanes(bencher: divan::Bencher, name: &str) {
    lanes::<f32>(bencher, &graph(name, true));
}

#[divan::bench(sample_count = 20)]
fn tree_1000_f32_generated(bencher: divan::Bencher) {
    generated::<f32>(bencher, &compiled(&tree(1000)), Level::best());
}

#[divan::bench(sample_count = 20)]
fn tree_1000_f32_lanes(bencher: divan::Bencher) {
    lanes::<f32>(bencher, &compiled(&tree(1000)));
}

/// Loops a person would write, compiled for the instructions this CPU has.
mod by_hand {
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) fn quadratic(a: &[f32], b: &[f32], c: &[f32], x: &[f32], out: &mut [f32]) {
        for ((((o, &a), &b), &c), &x) in out.iter_mut().zip(a).zip(b).zip(c).zip(x) {
            *o = a * (x * x) + b * x + c;
        }
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) fn dot4(v: [&[f32]; 8], out: &mut [f32]) {
        let n = out.len();
        let v = v.map(|v| &v[..n]);
        for i in 0..n {
            out[i] = (v[0][i] * v[4][i] + v[1][i] * v[5][i]) + (v[2][i] * v[6][i] + v[3][i] * v[7][i]);
        }
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) fn newton20(x: &[f32], out: &mut [f32]) {
        let (xs, os) = (x.chunks_exact(64), out.chunks_exact_mut(64));
        for (x, o) in xs.zip(os) {
            let mut y = [1f32; 64];
            for _ in 0..20 {
                for (y, x) in y.iter_mut().zip(x) {
                    *y = 0.5 * (*y + x / *y);
                }
            }
            o.copy_from_slice(&y);
        }
    }
}

fn has_wide() -> bool {
    Level::best() == Level::Avx512
}

#[divan::bench]
fn quadratic_f32_by_hand(bencher: divan::Bencher) {
    let (a, b, c, x) = (column(0), column(1), column(2), column(3));
    let mut out = vec![0f32; LANES];
    if has_wide() {
        // SAFETY: this CPU has the instructions.
        bencher.counter(ItemsCount::new(LANES)).bench_local(|| unsafe { by_hand::quadratic(&a, &b, &c, &x, divan::black_box(&mut out)) });
    }
}

#[divan::bench]
fn dot4_f32_by_hand(bencher: divan::Bencher) {
    let columns: [Vec<f32>; 8] = std::array::from_fn(column);
    let mut out = vec![0f32; LANES];
    if has_wide() {
        let views = columns.each_ref().map(|c| &c[..]);
        // SAFETY: this CPU has the instructions.
        bencher.counter(ItemsCount::new(LANES)).bench_local(|| unsafe { by_hand::dot4(views, divan::black_box(&mut out)) });
    }
}

#[divan::bench]
fn newton20_f32_by_hand(bencher: divan::Bencher) {
    let x: Vec<f32> = column(0);
    let mut out = vec![0f32; LANES];
    if has_wide() {
        // SAFETY: this CPU has the instructions.
        bencher.counter(ItemsCount::new(LANES)).bench_local(|| unsafe { by_hand::newton20(&x, divan::black_box(&mut out)) });
    }
}

/// Source text to callable machine code.
#[divan::bench(args = names())]
fn text_to_code(bencher: divan::Bencher, name: &str) {
    let source = source_of(name);
    bencher.bench(|| code(source));
}

#[divan::bench(args = [1_000, 2_000], sample_count = 20)]
fn text_to_code_tree(bencher: divan::Bencher, leaves: usize) {
    let source = tree(leaves);
    bencher.bench(|| code(&source));
}

fn code(source: &str) -> usize {
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).expect("it compiles");
    Jit::new(&graph, &vec![false; graph.inputs.len()], Dtype::F32, Level::best()).map_or(0, |jit| jit.size())
}
