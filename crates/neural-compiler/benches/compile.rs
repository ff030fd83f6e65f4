//! Source text to ready program: the paper's benchmark programs, then trees of products and sums from 4,000 to 400,000 nodes.
//! `cargo bench -p neural-compiler --bench compile`

use neural_compiler::{Limits, Options, compile};

fn main() {
    divan::main();
}

const PROGRAMS: &[(&str, &str)] = &[
    ("add", "(+ x y)"),
    ("square_plus", "(+ (* x x) y)"),
    ("four_ops", "(+ (* a b) (- c d))"),
    ("abs", "(if (> x 0) x (- 0 x))"),
    ("clamp", "(if (< x 0) 0 (if (> x 10) 10 x))"),
    ("quadratic", "(+ (+ (* a (* x x)) (* b x)) c)"),
    ("discriminant", "(let ((d (- (* b b) (* 4 (* a c))))) (if (>= d 0) 1 0))"),
    ("dist_sq", "(+ (* (- x1 x2) (- x1 x2)) (* (- y1 y2) (- y1 y2)))"),
    ("dot4", "(+ (+ (* a1 b1) (* a2 b2)) (+ (* a3 b3) (* a4 b4)))"),
];

fn ready(source: &str, options: &Options) -> usize {
    compile(source, options).and_then(|p| p.graph()).expect("it compiles").size()
}

#[divan::bench(args = PROGRAMS.iter().map(|p| p.0))]
fn paper(bencher: divan::Bencher, name: &str) {
    let source = PROGRAMS.iter().find(|p| p.0 == name).expect("listed").1;
    let options = Options::default();
    bencher.bench(|| ready(source, &options));
}

/// `leaves` products of two inputs each, summed pairwise: `4 * leaves - 1` nodes.
fn tree(leaves: usize) -> String {
    let mut level: Vec<String> = (0..leaves).map(|i| format!("(* a{i} b{i})")).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|c| if let [x, y] = c { format!("(+ {x} {y})") } else { c[0].clone() }).collect();
    }
    level.remove(0)
}

#[divan::bench(args = [1_000, 10_000, 25_000, 100_000], sample_count = 20)]
fn products_and_sums(bencher: divan::Bencher, leaves: usize) {
    let source = tree(leaves);
    let options = Options { limits: Limits { source_bytes: 1 << 30, ..Limits::default() }, ..Options::default() };
    bencher.counter(divan::counter::ItemsCount::new(4 * leaves - 1)).bench(|| ready(&source, &options));
}

#[divan::bench]
fn chain_250(bencher: divan::Bencher) {
    let source = format!("{}x{}", "(+ ".repeat(250), " 1)".repeat(250));
    let options = Options::default();
    bencher.bench(|| ready(&source, &options));
}
