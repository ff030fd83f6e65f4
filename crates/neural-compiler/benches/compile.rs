//! Source text to ready program: the paper's benchmark programs, then trees of products and sums from 4,000 to 400,000 nodes.
//! `cargo bench -p neural-compiler --bench compile`

mod programs;

use neural_compiler::syntax::translate::translate;
use neural_compiler::{Limits, Options, Syntax, compile};
use programs::{PAPER, tree};

fn main() {
    divan::main();
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
