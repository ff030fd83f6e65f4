//! Problems of the same kinds as NIST's harder ones, with data made here from known constants: from starts that are orders of
//! magnitude off, with default settings.

use crate::common::noise;
use neural_compiler_fit::{Fit, Options, Table, fit};

fn fitted(model: &str, start: &[(&str, f64)], x: &[f64], truth: impl Fn(f64) -> f64, sigma: f64) -> Fit {
    let declarations: String = start.iter().map(|(n, v)| format!("(param {n} {v:e})\n")).collect();
    let program = neural_compiler::compile(&format!("{declarations}{model}"), &Default::default()).unwrap();
    let y = x.iter().enumerate().map(|(i, &x)| truth(x) + sigma * noise(i, 7)).collect();
    let table = Table::new([("x".to_string(), x.to_vec()), ("y".to_string(), y)]).unwrap();
    fit(&program, &table, &Options::default()).unwrap()
}

/// Every constant within four standard errors of the truth (and a hair for problems without noise).
fn recovers(fit: &Fit, truth: &[f64], what: &str) {
    println!("{what}: {} of {} agree; {:?}", fit.agreed, fit.tried, fit.parameters.iter().map(|p| (p.value, p.stderr)).collect::<Vec<_>>());
    assert!(fit.converged, "{what}: {}", fit.message);
    for (p, t) in fit.parameters.iter().zip(truth) {
        let error = p.stderr.unwrap_or_else(|| panic!("{what}: {} has no standard error: {:?}", p.name, fit.warnings));
        assert!((p.value - t).abs() <= 4.0 * error + 1e-9 * t.abs(), "{what}: {} is {} ± {error}, not {t}", p.name, p.value);
    }
}

fn range(from: f64, to: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| from + (to - from) * i as f64 / (n - 1) as f64).collect()
}

#[test]
fn resistance_of_a_thermistor() {
    let x = range(40.0, 130.0, 18);
    let truth = |x: f64| 0.008 * (5500.0 / (x + 320.0)).exp();
    for start in [[2.0, 400_000.0, 25_000.0], [0.02, 4_000.0, 250.0]] {
        let named = [("b1", start[0]), ("b2", start[1]), ("b3", start[2])];
        recovers(&fitted("(* b1 (exp (/ b2 (+ x b3))))", &named, &x, truth, 2.0), &[0.008, 5500.0, 320.0], "thermistor");
    }
}

#[test]
fn enzyme_kinetics() {
    let x: Vec<f64> = [4.0, 2.0, 1.0, 0.5, 0.25, 0.17, 0.125, 0.1, 0.08, 0.07, 0.06, 0.05].to_vec();
    let truth = |x: f64| 0.2 * (x * x + 0.2 * x) / (x * x + 0.13 * x + 0.15);
    for start in [[25.0, 39.0, 41.5, 39.0], [0.25, 0.39, 0.415, 0.39]] {
        let named = [("b1", start[0]), ("b2", start[1]), ("b3", start[2]), ("b4", start[3])];
        recovers(
            &fitted("(/ (* b1 (+ (* x x) (* x b2))) (+ (* x x) (* x b3) b4))", &named, &x, truth, 0.001),
            &[0.2, 0.2, 0.13, 0.15],
            "enzyme",
        );
    }
}

#[test]
fn a_narrow_peak_far_from_its_start() {
    let x = range(390.0, 510.0, 41);
    let truth = |x: f64| 1.6 / 4.2 * (-0.5 * ((x - 452.0f64) / 4.2).powi(2)).exp();
    for start in [[1.0, 10.0, 500.0], [1.5, 5.0, 450.0]] {
        let named = [("b1", start[0]), ("b2", start[1]), ("b3", start[2])];
        recovers(&fitted("(* (/ b1 b2) (exp (* -0.5 (square (/ (- x b3) b2)))))", &named, &x, truth, 0.003), &[1.6, 4.2, 452.0], "peak");
    }
}

#[test]
fn growth_curves() {
    let x = range(1.0, 16.0, 16);
    let truth = |x: f64| 710.0 / (1.0 + (5.0 - 0.72 * x).exp()).powf(1.0 / 1.2);
    for start in [[100.0, 10.0, 1.0, 1.0], [700.0, 5.0, 0.75, 1.3]] {
        let named = [("b1", start[0]), ("b2", start[1]), ("b3", start[2]), ("b4", start[3])];
        recovers(&fitted("(/ b1 (pow (+ 1 (exp (- b2 (* b3 x)))) (/ 1 b4)))", &named, &x, truth, 10.0), &[710.0, 5.0, 0.72, 1.2], "growth");
    }
}

#[test]
fn magnetisation() {
    let x = range(7.4, 41.0, 150);
    let truth = |x: f64| -2400.0 * (45.0 + x).powf(-1.0 / 0.94);
    for start in [[-2000.0, 50.0, 0.8], [-1500.0, 45.0, 0.85]] {
        let named = [("b1", start[0]), ("b2", start[1]), ("b3", start[2])];
        recovers(&fitted("(* b1 (pow (+ b2 x) (/ -1 b3)))", &named, &x, truth, 0.002), &[-2400.0, 45.0, 0.94], "magnetisation");
    }
}

#[test]
fn sums_of_exponentials_without_noise() {
    let x = range(0.0, 1.15, 24);
    let truth = |x: f64| 0.1 * (-x).exp() + 0.9 * (-3.0 * x).exp() + 1.5 * (-5.0 * x).exp();
    for start in [[1.2, 0.3, 5.6, 5.5, 6.5, 7.6], [0.5, 0.7, 3.6, 4.2, 4.0, 6.3]] {
        let names = ["b1", "b2", "b3", "b4", "b5", "b6"];
        let named: Vec<(&str, f64)> = names.into_iter().zip(start).collect();
        let fit = fitted("(+ (* b1 (exp (- (* b2 x)))) (* b3 (exp (- (* b4 x)))) (* b5 (exp (- (* b6 x)))))", &named, &x, truth, 0.0);
        for (p, t) in fit.parameters.iter().zip([0.1, 1.0, 0.9, 3.0, 1.5, 5.0]) {
            assert!((p.value / t - 1.0).abs() < 1e-8, "{} is {}", p.name, p.value);
        }
    }
}

#[test]
fn two_peaks_on_a_falling_ground() {
    let x = range(1.0, 250.0, 250);
    let model = "(+ (* b1 (exp (- (* b2 x)))) (* b3 (exp (- (/ (square (- x b4)) (square b5))))) \
                 (* b6 (exp (- (/ (square (- x b7)) (square b8))))))";
    let names = ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"];
    // Overlapping a little, and overlapping so much that the second is a shoulder of the first.
    let cases = [
        (
            [99.0, 0.011, 102.0, 107.0, 23.6, 72.0, 153.3, 19.5],
            [[96.0, 0.009, 103.0, 106.0, 18.0, 72.0, 151.0, 18.0], [98.0, 0.0105, 103.0, 105.0, 20.0, 73.0, 150.0, 20.0]],
        ),
        (
            [98.9, 0.0109, 100.7, 111.6, 23.3, 73.7, 147.8, 19.7],
            [[94.9, 0.009, 90.1, 113.0, 20.0, 73.8, 140.0, 20.0], [96.0, 0.0096, 80.0, 110.0, 25.0, 74.0, 139.0, 25.0]],
        ),
    ];
    for (t, starts) in cases {
        let bell = |x: f64, at: f64, wide: f64| (-((x - at) / wide).powi(2)).exp();
        let truth = |x: f64| t[0] * (-t[1] * x).exp() + t[2] * bell(x, t[3], t[4]) + t[5] * bell(x, t[6], t[7]);
        for start in starts {
            let named: Vec<(&str, f64)> = names.into_iter().zip(start).collect();
            recovers(&fitted(model, &named, &x, truth, 2.3), &t, "peaks");
        }
    }
}

#[test]
fn response_of_a_transducer() {
    let x: Vec<f64> = (0..214).map(|i| 0.5 + 5.5 * ((i * 37) % 214) as f64 / 213.0).collect();
    let truth = |x: f64| (-0.19 * x).exp() / (0.0061 + 0.0105 * x);
    for start in [[0.1, 0.01, 0.02], [0.15, 0.008, 0.01], [1.0, 1.0, 1.0]] {
        let named = [("b1", start[0]), ("b2", start[1]), ("b3", start[2])];
        recovers(&fitted("(/ (exp (- (* b1 x))) (+ b2 (* b3 x)))", &named, &x, truth, 3.4), &[0.19, 0.0061, 0.0105], "transducer");
    }
}

#[test]
fn a_robust_loss_tells_of_its_starts_too() {
    let x = range(0.0, 5.0, 60);
    let y = x.iter().enumerate().map(|(i, x)| 3.0 * (-0.7 * x).exp() + 0.01 * noise(i, 3) + if i % 12 == 5 { 1.0 } else { 0.0 }).collect();
    let table = Table::new([("x".to_string(), x), ("y".to_string(), y)]).unwrap();
    let program = neural_compiler::compile("(param a 1) (param k 1) (* a (exp (- (* k x))))", &Default::default()).unwrap();
    let found = fit(&program, &table, &Options { loss: Some(neural_compiler_fit::Loss::Cauchy(0.0)), ..Options::default() }).unwrap();
    assert!(found.tried > 1 && found.agreed > 1, "{} of {}", found.agreed, found.tried);
    assert!((found.parameter("k").unwrap().value - 0.7).abs() < 0.02, "{:?}", found.parameters);
}
