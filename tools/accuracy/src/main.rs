//! Measures the largest error of every function and writes docs/accuracy.md.
//!
//!     cargo run --release --manifest-path tools/accuracy/Cargo.toml [--quick] [function...]
//!
//! f64: random points (see functions.rs) at which the result equals CORE-MATH's correctly rounded one are within
//! 0.5 ULP; at the others MPFR gives the exact error. Functions CORE-MATH lacks go to MPFR at every point.
//! f32, one argument: all 2^32 inputs against the f64 kernel; the worst input is measured again with MPFR.
//! With function names only their rows of the table are replaced; with --quick it prints only.

mod functions;
mod measure;
mod points;

use functions::{BINARY, UNARY};
use measure::Worst;
use std::fmt::Write as _;
use std::time::Instant;

const HEAD: &str = "# Accuracy

Largest error seen of every elementary function, in ULP (units in the last place: the spacing of the type at the
true value, subnormal numbers included). The bound is 1 ULP for all inputs. Results are the same bits at every SIMD
level and for single values, so one table serves all.

Command (needs a C compiler and m4 for the references it builds):

    cargo run --release --manifest-path tools/accuracy/Cargo.toml

f64: random points, log-uniform over the whole domain, uniform over the ranges that matter, and next to hard places
(multiples of pi/2, ends of the range, seams of the algorithms). Points where the result equals the correctly rounded
one of CORE-MATH are within 0.5 ULP; at all others (column \"measured\") MPFR with 192 bits gives the exact error.
Functions CORE-MATH lacks are measured with MPFR at every point. f32 of one argument: all 2^32 inputs against the f64
result; f32 of two arguments: random pairs, half of them of arbitrary bit patterns; the worst input is measured again
with MPFR (the f64 result is itself within 1 f64 ULP, 2^-29 of an f32 ULP).

add, sub, mul, div, neg, abs, floor, ceiling, round, truncate, sign, relu, min, max and the comparisons are single
operations that IEEE 754 fixes (correctly rounded or exact) and are not listed. modulo and quotient are exact before one
final rounding; remainder is exact.

| function | type | largest error (ULP) | at | points | measured |
|---|---|---|---|---|---|
";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|a| a == "--quick");
    if let Some(unknown) = arguments.iter().find(|a| a.starts_with("--") && *a != "--quick") {
        eprintln!("unknown option {unknown}; usage: accuracy [--quick] [function...]");
        std::process::exit(2);
    }
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let chosen = |name: &str| names.is_empty() || names.iter().any(|n| *n == name);
    let (many, few, stride) = if quick { (400_000, 40_000, 509) } else { (20_000_000, 2_000_000, 1) };
    let mut table = String::new();
    let mut fail = false;
    let mut row = |name: &str, dtype: &str, w: Worst, begin: Instant| {
        // a filter that never objected leaves nothing above half an ULP
        let error = if w.filtered && w.judged == 0 { "≤ 0.5".to_string() } else { format!("{:.4}", w.error) };
        let at = if w.at.is_empty() { "—".to_string() } else { format!("`{}`", w.at) };
        let line = format!("| {name} | {dtype} | {error} | {at} | {} | {} |", w.points, w.judged);
        println!("{line}   {:.1} s", begin.elapsed().as_secs_f64());
        writeln!(table, "{line}").unwrap();
        fail |= w.error > 1.0;
    };
    for f in UNARY.iter().filter(|f| chosen(f.function.name)) {
        let begin = Instant::now();
        let points = if f.filter.is_some() { many } else { few };
        row(f.function.name, "f64", measure::f64_unary(f, points), begin);
        let begin = Instant::now();
        row(f.function.name, "f32", measure::f32_unary(f.function, Some(f.judge), stride), begin);
    }
    for f in BINARY.iter().filter(|f| chosen(f.function.name)) {
        let begin = Instant::now();
        let points = if f.filter.is_some() { many } else { few };
        row(f.function.name, "f64", measure::f64_binary(f, points), begin);
        let begin = Instant::now();
        row(f.function.name, "f32", measure::f32_binary(f.function, f.draw, f.judge, many * 2), begin);
    }
    if !quick {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/accuracy.md");
        let old = std::fs::read_to_string(path).expect(path);
        // the special functions are measured by the tests of the crate: their section stays
        let special = old.find("\n## Special functions").map_or("", |at| &old[at..]);
        let text = if names.is_empty() { format!("{HEAD}{table}{special}") } else { replace_rows(&old, &table) };
        std::fs::write(path, text).expect(path);
    }
    if fail {
        eprintln!("a function exceeds 1 ULP");
        std::process::exit(1);
    }
}

/// The document with the rows of `table` in place of those of the same function and type.
fn replace_rows(document: &str, table: &str) -> String {
    let key = |row: &str| row.splitn(4, '|').take(3).map(String::from).collect::<Vec<_>>();
    let mut text = String::new();
    for line in document.lines() {
        let row = table.lines().find(|row| line.starts_with('|') && key(row) == key(line)).unwrap_or(line);
        text.push_str(row);
        text.push('\n');
    }
    text
}
