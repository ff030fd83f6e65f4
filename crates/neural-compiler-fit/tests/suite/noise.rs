//! When a fit may stop looking: not because residuals look like noise to a test that could not tell, and never against errors that were
//! given.

use crate::common::{compile, noise, table, uniform};
use neural_compiler_fit::{Options, Table, fit};

/// Decay with a tide, sampled at odd times and less often than it swings: y' = a w cos(w t) - k y, errors of 0.1.
fn gauge() -> Table {
    let (k, y0, a, w) = (0.02f64, 9.0, 1.0, 12.1413f64);
    let c = a * w / (k * k + w * w);
    let t: Vec<f64> = (0..120).map(|i| 0.9 * (i as f64 + 1.0) + 0.6 * uniform(i, 3)).collect();
    let wave = |t: f64| c * (k * (w * t).cos() + w * (w * t).sin()) + (y0 - c * k) * (-k * t).exp();
    let y = t.iter().enumerate().map(|(i, t)| wave(*t) + 0.1 * noise(i, 5)).collect();
    table(vec![("t", t), ("y", y)])
}

const TIDE: &str = "(time t :start 0) (param k 0.05 :min 0) (param y0 5) (param a 1) (param w 10.4 :min 3 :max 30)
    (state y y0) (derive y (- (* a w (cos (* w t))) (* k y)))";

#[test]
fn a_tide_faster_than_its_gauge_is_not_taken_for_noise() {
    for sigma in [None, Some(0.1)] {
        let found = fit(&compile(TIDE), &gauge(), &Options { sigma, ..Options::default() }).unwrap();
        let w = found.parameter("w").unwrap();
        assert!(found.tried > 1, "{sigma:?}: one start was taken for enough: {w:?}");
        let right = (w.value - 12.1413).abs() < 5.0 * w.stderr.unwrap_or(0.0);
        let doubt = found.message.contains("does not describe") || found.warnings.iter().any(|w| w.contains("a lower one may lie"));
        assert!(right || doubt, "{sigma:?}: {w:?}, {}, {:?}", found.message, found.warnings);
    }
}

#[test]
fn a_light_curve_of_many_nights_is_not_taken_for_noise() {
    let model = "(param m 10) (param s 0) (param A 0.1 :min 0) (param ph 0) (param P 0.32 :min 0.1 :max 2) \
                 (+ m (* s t) (* A (sin (+ ph (/ (* 2 pi t) P)))))";
    let t: Vec<f64> = (0..5_000).map(|i| 400.0 * uniform(i, 8)).collect();
    let y = t.iter().enumerate().map(|(i, t)| 12.0 + 0.3 * (1.0 + std::f64::consts::TAU * t / 0.3171).sin() + 0.02 * noise(i, 2)).collect();
    let found = fit(
        &compile(model),
        &table(vec![("t", t), ("y", y)]),
        &Options { target: Some("y".into()), sigma: Some(0.02), ..Options::default() },
    )
    .unwrap();
    let right = found.cost < 6_000.0;
    assert!(found.tried > 1 && (right || found.message.contains("does not describe")), "{} {:?}", found.message, found.starts());
}

/// A decay with even noise, which one start is enough for.
fn decay() -> (&'static str, Table) {
    let t: Vec<f64> = (0..100).map(|i| 0.05 * i as f64).collect();
    let x = t.iter().enumerate().map(|(i, t)| 3.0 * (-0.7 * t).exp() + 0.01 * noise(i, 9)).collect();
    ("(param k 1 :min 0) (state x 3) (derive x (- (* k x)))", table(vec![("t", t), ("x", x)]))
}

#[test]
fn starts_that_are_asked_for_are_followed() {
    let (model, data) = decay();
    assert_eq!(fit(&compile(model), &data, &Options::default()).unwrap().tried, 1, "what is left is noise");
    assert_eq!(
        fit(&compile(model), &data, &Options { sigma: Some(0.01), ..Options::default() }).unwrap().tried,
        1,
        "as the given errors say"
    );
    assert!(fit(&compile(model), &data, &Options { starts: Some(6), ..Options::default() }).unwrap().tried > 1);
}

#[test]
fn errors_given_too_small_are_told() {
    let (model, data) = decay();
    let of = |sigma: f64| fit(&compile(model), &data, &Options { sigma: Some(sigma), ..Options::default() }).unwrap();
    let (right, small) = (of(0.01), of(0.001));
    // Sums of squares in units of errors a tenth as large are a hundred times as large.
    let reduced = |f: &neural_compiler_fit::Fit| f.reduced_chi_square().unwrap();
    assert!((reduced(&small) / reduced(&right) - 100.0).abs() < 1e-3 && (reduced(&right) - 1.0).abs() < 0.5, "{}", reduced(&right));
    assert!(right.warnings.is_empty(), "{:?}", right.warnings);
    assert!(
        small.warnings.iter().any(|w| w.contains("times as large as the given errors")) && small.message.contains("does not describe"),
        "{:?}",
        small.warnings
    );
    assert_eq!(fit(&compile(model), &data, &Options::default()).unwrap().reduced_chi_square(), None);
}

#[test]
fn outliers_that_count_little_do_not_make_a_model_poor() {
    let t: Vec<f64> = (0..40).map(|i| 0.1 * i as f64).collect();
    let y = t.iter().enumerate().map(|(i, t)| 2.0 * t / (0.5 + t) + 0.02 * noise(i, 4) + if i % 10 == 3 { 15.0 } else { 0.0 }).collect();
    let data = table(vec![("t", t), ("y", y)]);
    let huber = neural_compiler_fit::Loss::Huber(0.0);
    let found = fit(
        &compile("(param a 1) (param b 1 :min 0) (/ (* a t) (+ b t))"),
        &data,
        &Options { target: Some("y".into()), loss: Some(huber), ..Options::default() },
    )
    .unwrap();
    assert!(
        found.r2 < 0.5 && found.message == "a minimum was reached" && found.tried <= 32,
        "{} {:?} {}",
        found.message,
        found.warnings,
        found.tried
    );
}
