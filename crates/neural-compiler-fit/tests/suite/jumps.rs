//! Conditions on time in the right-hand side: every scheme stops where they change, and a time that is a parameter has a derivative.
//! Expected numbers are solutions in closed form.

use crate::common::{compile, named, noise, table};
use neural_compiler::ode::Scheme;
use neural_compiler_fit::{Known, Options, bands, fit, predict};

fn schemes() -> [Option<Scheme>; 5] {
    [None, Some(named("rk4")), Some(named("dopri5")), Some(named("tsit5")), Some(named("rosenbrock"))]
}

/// The first state at every time, compared with what it should be.
fn solves(model: &str, times: &[f64], expected: impl Fn(f64) -> f64, error: f64) {
    for scheme in schemes() {
        let step = (scheme == Some(named("rk4"))).then_some(0.01);
        let found = predict(&compile(model), &table(vec![("t", times.to_vec())]), &Options { scheme, step, ..Options::default() }).unwrap();
        for (t, x) in times.iter().zip(&found[0].1) {
            assert!((x - expected(*t)).abs() < error, "{scheme:?} at {t}: {x} instead of {}\n{model}", expected(*t));
        }
    }
}

#[test]
fn pulses_are_not_skipped() {
    // A dose of 100 within a hundredth of an hour, at 12 and at 24 of a day and a half, far from any row but one.
    let model = "(state gut 0) (define (pulse t0) (if (and (>= t t0) (< t (+ t0 0.01))) 10000 0))
        (derive gut (- (+ (pulse 12) (pulse 24)) (* 0.5 gut)))";
    let dose = |t: f64| if t < 0.0 { 0.0 } else { 20_000.0 * ((-0.5 * (t - 0.01).max(0.0)).exp() - (-0.5 * t).exp()) };
    solves(model, &[0.0, 11.0, 12.0, 13.0, 20.0, 30.0, 36.0], |t| dose(t - 12.0) + dose(t - 24.0), 1e-5);
}

#[test]
fn every_way_to_write_a_condition() {
    let times = [0.0, 0.5, 2.0, 3.3, 7.0];
    // One from 1 to 3.
    let between = |t: f64| (t.min(3.0) - 1.0).max(0.0);
    for condition in [
        "(if (< 1 t) (if (> t 3) 0 1) 0)",
        "(if (or (<= t 1) (>= t 3)) 0 1)",
        "(if (< (abs (- t 2)) 1) 1 0)",
        "(if (= (floor (/ (- t 1) 2)) 0) 1 0)",
    ] {
        solves(&format!("(state x 0) (derive x {condition})"), &times, between, 1e-10);
    }
    // A pulse of 0.1 at every whole number.
    let pulses = |t: f64| 0.1 * t.floor() + (t - t.floor()).min(0.1);
    solves("(state x 0) (derive x (if (< (modulo t 1) 0.1) 1 0))", &times, pulses, 1e-10);
    // A kink, and a triangle that is easily overlooked.
    solves("(state x 0) (derive x (max 0 (- t 2)))", &times, |t| 0.5 * (t - 2.0).max(0.0).powi(2), 1e-10);
    let triangle = |t: f64| if t < 5.0 { 0.0 } else { 1e-4 };
    solves("(state x 0) (derive x (max 0 (- 0.01 (abs (- t 4)))))", &times, triangle, 1e-10);
    // Not affine in time: t² = 2 at 1.414…
    solves("(state x 0) (derive x (if (< (* t t) 2) 0 1))", &times, |t| (t - 2f64.sqrt()).max(0.0), 1e-10);
}

#[test]
fn a_condition_on_a_column_of_each_trajectory() {
    // Infusions that end at a time of their own.
    let (t, id, end) = (vec![0.0, 1.0, 4.0, 0.0, 1.0, 4.0], vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0], vec![0.3, 0.3, 0.3, 2.2, 2.2, 2.2]);
    let data = table(vec![("t", t), ("id", id), ("end", end)]);
    let options = Options { group: Some("id".into()), ..Options::default() };
    let found = predict(&compile("(state x 0) (derive x (if (< t end) 1 0))"), &data, &options).unwrap();
    for (x, expected) in found[0].1.iter().zip([0.0, 0.3, 0.3, 0.0, 1.0, 2.2]) {
        assert!((x - expected).abs() < 1e-10, "{x} instead of {expected}");
    }
}

#[test]
fn a_switching_time_is_fitted() {
    // Uptake begins after a lag: x = (1 - e^-k(t - lag)) from there on. The truth is lag = 1.3, k = 0.8.
    let t: Vec<f64> = (0..=40).map(|i| 0.2 * f64::from(i)).collect();
    let exact = |t: f64| if t < 1.3 { 0.0 } else { 1.0 - (-0.8 * (t - 1.3)).exp() };
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| exact(*t) + 0.01 * noise(i, 5)).collect();
    let data = table(vec![("t", t.clone()), ("x", x.clone())]);
    let model = compile("(param lag 1 :min 0) (param k 0.5 :min 0) (state x 0) (derive x (if (< t lag) 0 (* k (- 1 x))))");
    // The same as a formula.
    let formula = compile("(param lag 1 :min 0) (param k 0.5 :min 0) (if (< t lag) 0 (- 1 (exp (* (- k) (- t lag)))))");
    let wanted = fit(&formula, &table(vec![("t", t), ("y", x)]), &Options::default()).unwrap();
    for scheme in [None, Some(named("rosenbrock")), Some(named("rk4"))] {
        let step = (scheme == Some(named("rk4"))).then_some(0.05);
        let found = fit(&model, &data, &Options { scheme, step, ..Options::default() }).unwrap();
        for (a, b) in found.parameters.iter().zip(&wanted.parameters) {
            let (e, f) = (a.stderr.unwrap(), b.stderr.unwrap());
            assert!(
                (a.value - b.value).abs() < 0.02 * f && (e / f - 1.0).abs() < 0.01,
                "{scheme:?} {} is {} ± {e}, not {} ± {f}",
                a.name,
                a.value,
                b.value
            );
        }
    }
}

#[test]
fn a_switching_time_is_fitted_whenever_the_start_holds() {
    // Decay from 1 at time -2, and a supply d from ts on: in closed form before and after.
    let (k, d, ts) = (0.5f64, 2.0, 4.0);
    let before = |t: f64| (-k * (t + 2.0)).exp();
    let exact = |t: f64| if t < ts { before(t) } else { d / k + (before(ts) - d / k) * (-k * (t - ts)).exp() };
    let t: Vec<f64> = (0..60).map(|i| 1.0 + 11.0 * f64::from(i) / 59.0).collect();
    let data = table(vec![("t", t.clone()), ("x", t.iter().map(|t| exact(*t)).collect())]);
    let rate = "(param k 0.3) (param d 3 :min 0) (param ts 4.5)";
    let law = "(derive x (- (if (< t ts) 0 d) (* k x)))";
    // From before all rows, and backwards from the last.
    let last = exact(12.0);
    for (start, declared) in [("-2", "(state x 1)".to_string()), ("12", format!("(state x {last})"))] {
        let found = fit(&compile(&format!("(time t :start {start}) {rate} {declared} {law}")), &data, &Options::default()).unwrap();
        for (name, truth) in [("k", k), ("d", d), ("ts", ts)] {
            let value = found.parameter(name).unwrap().value;
            assert!((value - truth).abs() < 1e-6, "from {start}: {name} is {value}, not {truth}: {}", found.message);
        }
    }
}

#[test]
fn a_law_that_jumps_where_a_state_passes_a_level() {
    // Growth by r1 x up to 3, by r2 from there on: ln(3 / x0) / r1 is when, and the solution is in closed form on either side.
    let t: Vec<f64> = (0..50).map(|i| 0.2 * f64::from(i)).collect();
    let (r1, r2, x0) = (0.8f64, 0.1, 0.5f64);
    let passing = (3.0 / x0).ln() / r1;
    let exact = |t: f64| if t < passing { x0 * (r1 * t).exp() } else { 3.0 + r2 * (t - passing) };
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| exact(*t) + 0.05 * noise(i, 9)).collect();
    let declared = "(param r1 0.7) (param r2 0.2) (param x0 0.6 :min 0.01)";
    let formula = compile(&format!(
        "{declared} (let ((passing (/ (log (/ 3 x0)) r1))) (if (< t passing) (* x0 (exp (* r1 t))) (+ 3 (* r2 (- t passing)))))"
    ));
    let wanted = fit(&formula, &table(vec![("t", t.clone()), ("y", x.clone())]), &Options::default()).unwrap();
    let model = compile(&format!("{declared} (state x x0) (derive x (if (< x 3) (* r1 x) r2))"));
    let found = fit(&model, &table(vec![("t", t.clone()), ("x", x.clone())]), &Options::default()).unwrap();
    for (a, b) in found.parameters.iter().zip(&wanted.parameters) {
        let (e, f) = (a.stderr.unwrap(), b.stderr.unwrap());
        assert!(
            (a.value - b.value).abs() < 0.02 * f && (e / f - 1.0).abs() < 0.01,
            "{} is {} ± {e}, not {} ± {f}",
            a.name,
            a.value,
            b.value
        );
    }
    assert!(found.warnings.iter().any(|w| w.contains("by differences")), "{:?}", found.warnings);
    // A level that is fitted, which has no derivative along the solution at all.
    let level = compile("(param r1 0.7) (param r2 0.2) (param level 2.5) (state x 0.5) (derive x (if (< x level) (* r1 x) r2))");
    let found = fit(&level, &table(vec![("t", t.clone()), ("x", t.iter().map(|t| exact(*t)).collect())]), &Options::default()).unwrap();
    assert!((found.parameter("level").unwrap().value - 3.0).abs() < 1e-4, "{:?} {}", found.parameters, found.message);
}

/// Of x' = a below 3 and b above: x = a t, then 3 + b (t - 3/a).
#[test]
fn jumps_at_a_level_move_with_the_parameters_by_likelihood_too() {
    let x = [0.02, 0.85, 1.84, 2.66, 3.24, 3.47, 3.85, 4.07, 4.46, 4.71];
    let data = table(vec![("t", (0..10).map(f64::from).collect()), ("x", x.to_vec())]);
    let law = "(param a 1) (param b 0.5) (state x 0) (derive x (if (< x 3) a b))";
    let squares = fit(&compile(law), &data, &Options::default()).expect("a fit");
    let noisy = format!("{law} (param s 0.1 :min 0) (observe x x :noise (normal s))");
    let likely = fit(&compile(&noisy), &data, &Options::default()).expect("a fit");
    for (name, value, error) in [("a", 0.89557, 0.00940), ("b", 0.30556, 0.00500)] {
        let (p, q) = (likely.parameter(name).unwrap(), squares.parameter(name).unwrap());
        assert!((p.value - value).abs() < 2e-5 && (q.value - value).abs() < 2e-5, "{name}: {} {}", p.value, q.value);
        let stderr = p.stderr.expect("an error");
        assert!((stderr / error - 1.0).abs() < 0.01, "{name} +- {stderr}");
    }
    assert!(likely.warnings.iter().any(|w| w.contains("differences")), "{:?}", likely.warnings);
    // How sure a prediction is beyond the jump: dx/da = 3 b/a², dx/db = t - 3/a.
    let options = Options { values: squares.values.clone(), ..Options::default() };
    let known = Known::of(&squares).expect("a covariance");
    let found = bands(&compile(law), &table(vec![("t", vec![0.0, 9.0])]), &options, &known).expect("bands");
    let (a, b) = (squares.parameter("a").unwrap().value, squares.parameter("b").unwrap().value);
    let (by_a, by_b) = (3.0 * b / (a * a), 9.0 - 3.0 / a);
    let c = |i: usize, j: usize| squares.uncertainty.covariance[2 * i + j];
    let expected = (by_a * by_a * c(0, 0) + 2.0 * by_a * by_b * c(0, 1) + by_b * by_b * c(1, 1)).sqrt();
    assert!((found[0].stderr[1] / expected - 1.0).abs() < 1e-3, "{} instead of {expected}", found[0].stderr[1]);
}

/// x' = -1 k down to 3, -0.2 k from there on, each the root of an equation that says so: what is inside was not looked at.
#[test]
fn a_law_that_jumps_inside_an_equation_is_compared_with_differences() {
    let t: Vec<f64> = (0..40).map(|i| 0.2 * f64::from(i)).collect();
    let exact = |t: f64| if t < 2.0 { 5.0 - t } else { 3.0 - 0.2 * (t - 2.0) };
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| exact(*t) + 0.05 * noise(i, 9)).collect();
    let formula = compile("(param k 0.8) (if (< t (/ 2 k)) (- 5 (* k t)) (- 3 (* 0.2 (- (* k t) 2))))");
    let wanted = fit(&formula, &table(vec![("t", t.clone()), ("y", x.clone())]), &Options::default()).unwrap();
    let model = compile("(param k 0.8) (state x 5) (derive x (* k (root (z 1) (- z (if (> x 3) -1 -0.2)))))");
    let found = fit(&model, &table(vec![("t", t), ("x", x)]), &Options::default()).unwrap();
    assert!(found.warnings.iter().any(|w| w.contains("by differences")), "{:?}", found.warnings);
    let (a, b) = (&found.parameters[0], &wanted.parameters[0]);
    let (e, f) = (a.stderr.unwrap(), b.stderr.unwrap());
    assert!((a.value - b.value).abs() < 0.02 * f && (e / f - 1.0).abs() < 0.01, "{} ± {e}, not {} ± {f}", a.value, b.value);
}

/// The same of a condition on time: the solver stops there, and the time has a derivative.
#[test]
fn a_switching_time_inside_an_equation_is_fitted() {
    let t: Vec<f64> = (0..=40).map(|i| 0.2 * f64::from(i)).collect();
    let exact = |t: f64| 2.0 * (t - 1.3).max(0.0);
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| exact(*t) + 0.01 * noise(i, 5)).collect();
    let data = table(vec![("t", t), ("x", x)]);
    let declared = "(param lag 1 :min 0) (param k 1.5 :min 0) (state x 0)";
    let wanted = fit(&compile(&format!("{declared} (derive x (if (< t lag) 0 k))")), &data, &Options::default()).unwrap();
    let found = fit(&compile(&format!("{declared} (derive x (root (z 1) (- z (if (< t lag) 0 k))))")), &data, &Options::default()).unwrap();
    for (a, b) in found.parameters.iter().zip(&wanted.parameters) {
        let (e, f) = (a.stderr.unwrap(), b.stderr.unwrap());
        assert!((a.value - b.value).abs() < 0.01 * f && (e / f - 1.0).abs() < 0.01, "{}: {} ± {e}, not {} ± {f}", a.name, a.value, b.value);
    }
}

/// A lag at its bound, at the time of a row: fits by likelihood say what least squares say, also of constants of groups.
#[test]
fn likelihoods_tell_of_jumps_at_rows() {
    let t: Vec<f64> = (0..21).map(|i| 0.25 * f64::from(i)).collect();
    let z = t.iter().enumerate().map(|(i, t)| if *t < 0.8 { 0.0 } else { 4.0 - 4.0 * (-0.5 * (t - 0.8)).exp() } + 0.01 * noise(i, 2));
    let z: Vec<f64> = z.collect();
    let once = table(vec![("t", t.clone()), ("x", z.clone())]);
    let twice =
        table(vec![("t", [&t[..], &t].concat()), ("x", [&z[..], &z].concat()), ("g", (0..42).map(|i| f64::from(i / 21)).collect())]);
    let model = |per: &str, how: &str| {
        compile(&format!(
            "(time t) (param lag 1.25 :min 1.25) (param k 0.5) (param a 4 {per}) (state z 0) (derive z (if (< t lag) 0 (* k (- a z)))) \
             (observe x z {how})"
        ))
    };
    for (data, per, how) in [(&once, "", ""), (&once, "", ":noise (normal 0.01)"), (&twice, ":per g", ":noise (normal 0.01)")] {
        let found = fit(&model(per, how), data, &Options::default()).unwrap();
        let said = found.warnings.iter().filter(|w| w.contains("jumps at time 1.25, which is that of a row")).count();
        assert_eq!(said, 1, "{per} {how}: {:?}", found.warnings);
    }
}
