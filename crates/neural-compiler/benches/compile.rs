//! Source text to ready program: the paper's benchmark programs, then trees of products and sums from 4,000 to 400,000 nodes; at the end,
//! or alone with `-- ratios`, the time of infix text as a multiple of the same program's in Scheme.
//! `cargo bench -p neural-compiler --bench compile`

mod programs;

use neural_compiler::syntax::translate::translate;
use neural_compiler::{Limits, Options, Syntax, compile};
use programs::{PAPER, tree};

fn main() {
    if !std::env::args().any(|a| a == "ratios") {
        divan::main();
    }
    // Cargo tests benchmarks by running them.
    if std::env::args().any(|a| a == "--bench") {
        ratios();
    }
}

/// Both syntaxes in turn, in rounds too short to be interrupted each time, so that whatever else the machine does meets both; the fastest
/// round of each counts.
fn ratios() {
    const BYTES: usize = 20_000_000;
    println!("{:<24} {:>12} {:>12} {:>6}", "text to ready program", "scheme", "infix", "ratio");
    let mut log_sum = 0.0;
    let trees = [1_000, 10_000].map(|leaves| (format!("tree of {leaves} leaves"), tree(leaves)));
    let programs: Vec<(String, String)> = PAPER.iter().map(|p| (p.0.to_string(), p.1.to_string())).chain(trees).collect();
    for (name, scheme) in &programs {
        let texts = [(scheme.clone(), Syntax::Scheme), (infix(scheme), Syntax::Infix)];
        let repeats = (2_000 / scheme.len()).max(1);
        let mut fastest = [f64::INFINITY; 2];
        for _ in 0..(BYTES / (repeats * scheme.len())).clamp(30, 3_000) {
            for ((text, syntax), best) in texts.iter().zip(&mut fastest) {
                let options = Options { syntax: *syntax, ..Options::default() };
                let start = std::time::Instant::now();
                (0..repeats).for_each(|_| {
                    std::hint::black_box(ready(text, &options));
                });
                *best = best.min(start.elapsed().as_secs_f64() / repeats as f64);
            }
        }
        let ratio = fastest[1] / fastest[0];
        log_sum += ratio.ln();
        println!("{name:<24} {:>9.2} us {:>9.2} us {ratio:>6.2}", 1e6 * fastest[0], 1e6 * fastest[1]);
    }
    println!("{:<24} {:>12} {:>12} {:>6.2}", "geometric mean", "", "", (log_sum / programs.len() as f64).exp());
}

fn ready(source: &str, options: &Options) -> usize {
    compile(source, options).and_then(|p| p.graph()).expect("it compiles").size()
}

#[divan::bench(args = PAPER.iter().map(|p| p.0))]
fn paper(bencher: divan::Bencher, name: &str) {
    let source = PAPER.iter().find(|p| p.0 == name).expect("listed").1;
    let options = Options::default();
    bencher.bench(|| ready(source, &options));
}

#[divan::bench(args = [1_000, 10_000, 25_000, 100_000], sample_count = 20)]
fn products_and_sums(bencher: divan::Bencher, leaves: usize) {
    let source = tree(leaves);
    let options = Options { limits: Limits { source_bytes: 1 << 30, ..Limits::default() }, ..Options::default() };
    bencher.counter(divan::counter::ItemsCount::new(4 * leaves - 1)).bench(|| ready(&source, &options));
}

/// The same programs as infix text.
#[divan::bench(args = PAPER.iter().map(|p| p.0))]
fn paper_infix(bencher: divan::Bencher, name: &str) {
    let source = infix(PAPER.iter().find(|p| p.0 == name).expect("listed").1);
    let options = Options { syntax: Syntax::Infix, ..Options::default() };
    bencher.bench(|| ready(&source, &options));
}

#[divan::bench(args = [1_000, 10_000, 25_000, 100_000], sample_count = 20)]
fn products_and_sums_infix(bencher: divan::Bencher, leaves: usize) {
    let source = infix(&tree(leaves));
    let limits = Limits { source_bytes: 1 << 30, ..Limits::default() };
    let options = Options { limits, syntax: Syntax::Infix, ..Options::default() };
    bencher.counter(divan::counter::ItemsCount::new(4 * leaves - 1)).bench(|| ready(&source, &options));
}

fn infix(scheme: &str) -> String {
    let limits = Limits { source_bytes: 1 << 30, ..Limits::default() };
    translate(scheme, Syntax::Scheme, Syntax::Infix, &limits).expect("it can be read")
}

#[divan::bench]
fn chain_250(bencher: divan::Bencher) {
    let source = format!("{}x{}", "(+ ".repeat(250), " 1)".repeat(250));
    let options = Options::default();
    bencher.bench(|| ready(&source, &options));
}
