//! What several tests share: compiling, tables, and noise that is the same everywhere.
#![allow(dead_code, reason = "every test takes what it needs")]

use neural_compiler_fit::Table;

/// A program, or the reason why it is none.
pub(crate) fn compile(text: &str) -> neural_compiler::Program {
    neural_compiler::compile(text, &Default::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// A scheme by its name.
pub(crate) fn named(name: &str) -> neural_compiler::ode::Scheme {
    name.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// A table of columns.
pub(crate) fn table<S: ToString>(columns: Vec<(S, Vec<f64>)>) -> Table {
    Table::new(columns.into_iter().map(|(n, c)| (n.to_string(), c))).unwrap()
}

/// A table of numbers with a header, separated by commas.
pub(crate) fn csv(text: &str) -> Table {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    table(names.iter().enumerate().map(|(k, n)| (*n, rows.iter().map(|r| r[k]).collect())).collect())
}

/// Roughly normal with standard deviation 1, reproducible.
pub(crate) fn noise(i: usize, salt: u64) -> f64 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt.wrapping_mul(0xD1B5_4A32_D192_ED03);
    let mut sum = 0.0;
    for _ in 0..12 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum += (x >> 11) as f64 / (1u64 << 53) as f64;
    }
    sum - 6.0
}

/// In [0, 1), reproducible.
pub(crate) fn uniform(i: usize, salt: u64) -> f64 {
    let mut x = (i as u64).wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x632B_E59B_D9B4_E019);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
