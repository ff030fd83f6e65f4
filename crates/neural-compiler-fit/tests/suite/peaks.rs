//! What is confined to a few of many rows. Expected numbers are those the data are made from, and the likelihood at them.

use crate::common::{compile, table};
use neural_compiler_fit::{Fit, Options, Table, fit};

const PEAK: &str = "(param c 0) (param h 1) (param m 2 :min 0 :max 10) (param s 0.3 :min 0.01 :max 3)
    (+ c (* h (exp (* -0.5 (square (/ (- x m) s))))))";

/// Normal numbers: the sum of twelve uniform ones less 6, from a shift register.
fn normal(state: &mut u64) -> f64 {
    let mut uniform = || {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

/// A peak at 7 in noise of 1, over 5,000 rows from 0 to 10.
fn peaked(height: f64, width: f64) -> Table {
    let mut state = 88_172_645_463_325_252;
    let x: Vec<f64> = (0..5000).map(|i| f64::from(i) / 500.0).collect();
    let y = x.iter().map(|x| height * (-0.5 * ((x - 7.0) / width).powi(2)).exp() + normal(&mut state)).collect();
    table(vec![("x", x), ("y", y)])
}

fn fitted(data: &Table) -> Fit {
    fit(&compile(PEAK), data, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// A hundredth of the sum of squares, and a likelihood e^20 times as high: the start is far off, and rows there are noise.
#[test]
fn a_peak_of_a_few_rows_is_found_among_thousands() {
    let data = peaked(1.8, 0.02);
    let found = fitted(&data);
    let value = |name: &str| found.parameter(name).unwrap().value;
    assert!((value("m") - 7.0).abs() < 0.02 && (value("h") - 1.8).abs() < 1.2, "{:?} {}", found.parameters, found.message);
    // No worse than the truth.
    let residual = |i: usize, x: f64| data.column("y").unwrap()[i] - 1.8 * (-0.5 * ((x - 7.0) / 0.02f64).powi(2)).exp();
    let truth: f64 = data.column("x").unwrap().iter().enumerate().map(|(i, x)| residual(i, *x).powi(2)).sum();
    assert!(found.cost <= truth, "{} above {truth}", found.cost);
    // It explains a hundredth of what varies, and there is no more to explain.
    assert!(found.r2 < 0.05 && found.describes_data == Some(true), "{} {:?}", found.r2, found.warnings);
    assert!(!found.warnings.iter().any(|w| w.contains("explains")), "{:?}", found.warnings);
}

/// Where there is no peak noise is all there is, and one way down is enough.
#[test]
fn noise_alone_is_still_known_as_such() {
    let line = "(param a 1) (param b 1) (+ a (* b x))";
    let found = fit(&compile(line), &peaked(0.0, 1.0), &Options::default()).unwrap();
    assert!(found.tried == 1 && found.message.contains("nothing but noise"), "{}", found.message);
}
