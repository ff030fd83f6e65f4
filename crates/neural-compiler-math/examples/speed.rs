//! Prints ns per element of every function, dtype and level: `cargo run --release --example speed [name]`.

use neural_compiler_math::{Arg, BINARY, Level, UNARY};
use std::time::Instant;

const N: usize = 4096;

/// Best of several runs, ns per element.
fn measure(mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_millis() < 30 {
        let t = Instant::now();
        for _ in 0..4 {
            f();
        }
        best = best.min(t.elapsed().as_nanos() as f64 / (4 * N) as f64);
    }
    best
}

/// A single call, ns.
fn measure_scalar(mut f: impl FnMut(usize)) -> f64 {
    measure(|| {
        for i in 0..N {
            f(i);
        }
    })
}

fn main() {
    let only = std::env::args().nth(1);
    let x: Vec<f64> = (0..N).map(|i| 0.001 + 0.998 * ((i * 7919 % N) as f64) / N as f64).collect();
    let y: Vec<f64> = (0..N).map(|i| 0.5 + 3.0 * ((i * 104729 % N) as f64) / N as f64).collect();
    let x32: Vec<f32> = x.iter().map(|&v| v as f32).collect();
    let y32: Vec<f32> = y.iter().map(|&v| v as f32).collect();
    let mut o = vec![0.0f64; N];
    let mut o32 = vec![0.0f32; N];
    let levels: Vec<String> = Level::available().iter().map(|l| format!("{l:?}")).collect();
    print!("{:10}", "ns");
    for dtype in ["f32", "f64"] {
        for l in levels.iter().map(String::as_str).chain(["call"]) {
            print!(" {:>12}", format!("{dtype} {l}"));
        }
    }
    println!();
    for f in UNARY.iter().filter(|f| only.as_deref().is_none_or(|n| n == f.name)) {
        print!("{:10}", f.name);
        for &l in Level::available() {
            print!(" {:12.2}", measure(|| f.f32_slice(l, &x32, &mut o32)));
        }
        print!(" {:12.2}", measure_scalar(|i| o32[i] = f.f32(x32[i])));
        for &l in Level::available() {
            print!(" {:12.2}", measure(|| f.f64_slice(l, &x, &mut o)));
        }
        print!(" {:12.2}", measure_scalar(|i| o[i] = f.f64(x[i])));
        println!();
    }
    for f in BINARY.iter().filter(|f| only.as_deref().is_none_or(|n| n == f.name)) {
        print!("{:10}", f.name);
        for &l in Level::available() {
            print!(" {:12.2}", measure(|| f.f32_slice(l, Arg::Slice(&x32), Arg::Slice(&y32), &mut o32)));
        }
        print!(" {:12.2}", measure_scalar(|i| o32[i] = f.f32(x32[i], y32[i])));
        for &l in Level::available() {
            print!(" {:12.2}", measure(|| f.f64_slice(l, Arg::Slice(&x), Arg::Slice(&y), &mut o)));
        }
        print!(" {:12.2}", measure_scalar(|i| o[i] = f.f64(x[i], y[i])));
        println!();
    }
}
