//! Conditions on time that hold for moments only: every one is found, in laws, in events, along columns, forward and backward; and what
//! cannot be proved is said. Expected numbers are solutions in closed form.

use crate::common::{compile, named, noise, table};
use neural_compiler_fit::{Dose, Given, Options, fit, predict, simulate};

/// The last value of the first state of a simulation at these times.
fn last(model: &str, times: &[f64], options: &Options<'_>) -> f64 {
    let found = simulate(&compile(model), &table(vec![("t", times.to_vec())]), options, &Given::new()).unwrap();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    found.column(0)[times.len() - 1]
}

fn near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within * expected.abs(), "{found} instead of {expected}");
}

/// Of x' = [sin(wt) > c] - qx, x(0) = 0: what windows before `t` have left.
fn gated(w: f64, c: f64, q: f64, t: f64) -> f64 {
    let (on, off) = (c.asin(), std::f64::consts::PI - c.asin());
    let window = |k: u32| [on, off].map(|phase| ((phase + std::f64::consts::TAU * f64::from(k)) / w).min(t));
    let left = |[a, b]: [f64; 2]| ((-q * (t - b)).exp() - (-q * (t - a)).exp()) / q;
    (0..).map(window).take_while(|[a, _]| *a < t).map(left).sum()
}

#[test]
fn a_gate_that_opens_for_moments_opens_every_time() {
    let model = |w: u32| format!("(time t) (state x 0) (derive x (- (if (> (sin (* {w} t)) 0.999) 1 0) (* 0.1 x)))");
    // What was measured beforehand: 0.0893203 for 10.
    near(gated(10.0, 0.999, 0.1, 10.0), 0.089_320_3, 1e-6);
    for scheme in [None, Some(named("rk4")), Some(named("dopri5")), Some(named("rosenbrock"))] {
        let step = (scheme == Some(named("rk4"))).then_some(0.01);
        near(last(&model(10), &[0.0, 10.0], &Options { scheme, step, ..Options::default() }), gated(10.0, 0.999, 0.1, 10.0), 1e-5);
    }
    for w in [100, 1000] {
        near(last(&model(w), &[0.0, 10.0], &Options::default()), gated(f64::from(w), 0.999, 0.1, 10.0), 1e-5);
    }
    // 31,830 changes are too many, and that is said.
    let rows = table(vec![("t", vec![0.0, 10.0])]);
    let refused = simulate(&compile(&model(10_000)), &rows, &Options::default(), &Given::new()).unwrap_err().to_string();
    assert!(refused.contains("more than 10000 times"), "{refused}");
}

#[test]
fn a_moment_is_found_however_it_is_written() {
    let half = 1e-4;
    for (condition, expected) in [
        ("(< (square (- t 7.77)) 1e-8)", 5000.0 * 2.0 * half),
        ("(< (abs (- (exp (/ t 7)) (exp (/ 7.77 7)))) 1e-5)", 5000.0 * 2.0 * 1e-5 * 7.0 / (7.77f64 / 7.0).exp()),
        ("(> (exp (- (square (/ (- t 7.77) 1e-4)))) (exp -1))", 5000.0 * 2.0 * half),
        ("(< (square (tan (- t 7.77))) 1e-8)", 5000.0 * 2.0 * half * 3.0),
        ("(and (> (- (* t t) 60.3729) 0) (< (- (* t t) 60.3730) 0))", 5000.0 * (60.373f64.sqrt() - 7.77)),
    ] {
        near(last(&format!("(state x 0) (derive x (if {condition} 5000 0))"), &[0.0, 10.0], &Options::default()), expected, 1e-6);
    }
    // Only touched, or not even that: nothing happens.
    for condition in ["(>= (sin t) 1)", "(> (sin t) 1)", "(<= (square (- t 5)) 0)", "(< (+ 2 (sin (* 50 t)) (cos (* 31 t))) 0)"] {
        let found = last(&format!("(state x 0) (derive x (if {condition} 1000 0))"), &[0.0, 10.0], &Options::default());
        assert!(found.abs() < 1e-3, "{condition}: {found}");
    }
}

#[test]
fn a_moment_is_found_backward_in_groups_along_columns_and_beside_doses() {
    let bump = |centre: &str| format!("(if (< (square (- t {centre})) 1e-8) 5000 0)");
    // From 10 backward.
    let model = format!("(time t :start 10) (state x 1) (derive x {})", bump("7.77"));
    let back = predict(&compile(&model), &table(vec![("t", vec![0.0, 7.0, 8.0, 10.0])]), &Options::default()).unwrap();
    back[0].1.iter().zip([0.0, 0.0, 1.0, 1.0]).for_each(|(x, e)| assert!((x - e).abs() < 1e-6, "{:?}", back[0].1));
    // A centre for each group.
    let (t, id) = (vec![0.0, 10.0, 0.0, 10.0, 0.0, 10.0], vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
    let data = table(vec![("t", t), ("id", id), ("c", vec![7.77, 7.77, 3.3, 3.3, -1.0, -1.0])]);
    let grouped = Options { group: Some("id".into()), ..Options::default() };
    let found = predict(&compile(&format!("(time t) (state x 0) (derive x {})", bump("c"))), &data, &grouped).unwrap();
    for (x, e) in found[0].1.iter().zip([0.0, 1.0, 0.0, 1.0, 0.0, 0.0]) {
        assert!((x - e).abs() < 1e-6, "{:?}", found[0].1);
    }
    // A column that passes 0 between two rows: |u| < 0.01 for 0.02 / 0.6.
    let data = table(vec![("t", vec![0.0, 10.0]), ("u", vec![-3.1, 2.9])]);
    let found = predict(&compile("(time t) (state x 0) (derive x (if (< (* u u) 1e-4) 100 0))"), &data, &Options::default()).unwrap();
    near(found[0].1[1], 100.0 * 0.02 / 0.6, 1e-6);
    // A sweep, each set with a centre of its own.
    let model = format!("(time t) (param c 1) (state x 0) (derive x {})", bump("c"));
    let sets: Given = vec![("c".into(), vec![7.77, 3.3, 0.12345, 11.0])];
    let swept = simulate(&compile(&model), &table(vec![("t", vec![0.0, 10.0])]), &Options::default(), &sets).unwrap();
    for (x, e) in swept.column(0).chunks(2).zip([1.0, 1.0, 1.0, 0.0]) {
        assert!((x[1] - e).abs() < 1e-6, "{:?}", swept.column(0));
    }
    // A dose where the window begins.
    let model = "(time t) (state x 0) (derive x (if (and (>= t 7.77) (< (square (- t 7.77)) 1e-8)) 5000 0))";
    let doses = vec![Dose { time: 7.77, amount: 3.0, rate: 0.0, target: None, group: None }];
    near(last(model, &[0.0, 10.0], &Options { doses, ..Options::default() }), 3.5, 1e-6);
}

#[test]
fn a_gate_is_fitted() {
    // The truth is A = 5, k = 0.4.
    let t: Vec<f64> = (0..=40).map(|i| 0.25 * f64::from(i)).collect();
    let model = compile("(time t) (param A 3) (param k 0.2) (state x 0) (derive x (- (* A (if (> (sin (* 10 t)) 0.999) 1 0)) (* k x)))");
    let x = t.iter().enumerate().map(|(i, t)| 5.0 * gated(10.0, 0.999, 0.4, *t) + 1e-3 * noise(i, 3)).collect();
    let found = fit(&model, &table(vec![("t", t), ("x", x)]), &Options::default()).unwrap();
    for (name, truth) in [("A", 5.0), ("k", 0.4)] {
        let p = found.parameter(name).unwrap();
        assert!(
            (p.value - truth).abs() < 4.0 * p.stderr.unwrap() && p.stderr.unwrap() < 0.02 * truth,
            "{name}: {} ± {:?}",
            p.value,
            p.stderr
        );
    }
    // The frequency too, from near it.
    let t: Vec<f64> = (0..=80).map(|i| 0.125 * f64::from(i)).collect();
    let x = t.iter().map(|t| gated(10.0, 0.999, 0.4, *t)).collect();
    let model = compile("(time t) (param w 10.001) (param k 0.3) (state x 0) (derive x (- (if (> (sin (* w t)) 0.999) 1 0) (* k x)))");
    let found = fit(&model, &table(vec![("t", t), ("x", x)]), &Options::default()).unwrap();
    near(found.parameter("w").unwrap().value, 10.0, 1e-6);
    near(found.parameter("k").unwrap().value, 0.4, 1e-6);
}

#[test]
fn an_event_that_waits_for_a_moment_happens() {
    let times = [0.0, 10.0];
    let law = "(time t) (param q 0.5) (state x 0) (derive x (- (* q x)))";
    // What is added at 7.77 has decayed for 2.23.
    for condition in
        ["(and (> t 7.77) (< t 7.775))", "(and (> t 7.77) (< t 7.7700001))", "(> t 7.77)", "(not (or (<= t 7.77) (>= t 7.775)))"]
    {
        near(last(&format!("{law} (event (when {condition}) (add x 1))"), &times, &Options::default()), (-0.5f64 * 2.23).exp(), 1e-6);
    }
    near(
        last(&format!("{law} (event (when (< (square (- t 7.77)) 1e-8)) (add x 1))"), &times, &Options::default()),
        (-0.5f64 * 2.2301).exp(),
        1e-6,
    );
    // Beside a state.
    let both = "(time t) (state x 1) (derive x (- (* 0.5 x))) (event (when (and (> t 7.77) (< t 7.775) (> x 0))) (add x 1))";
    near(last(both, &times, &Options::default()), (-5.0f64).exp() + (-0.5f64 * 2.23).exp(), 1e-6);
    let neither = "(time t) (state x 1) (derive x (- (* 0.5 x))) (event (when (and (> t 7.77) (< t 7.775) (< x 0))) (add x 1))";
    near(last(neither, &times, &Options::default()), (-5.0f64).exp(), 1e-6);
    // Once in each period: 16 crests of sin(10t) before 10, from which on nothing decays.
    let count = "(time t) (state n 0) (derive n 0) (event (when (> (sin (* 10 t)) 0.999)) (add n 1))";
    near(last(count, &times, &Options::default()), 16.0, 1e-9);
    // Several at one time, in the order of declaration: (0 + 1) * 3.
    let two = "(time t) (state x 0) (derive x 0) (event (when (and (> t 7.77) (< t 7.775))) (add x 1))
        (event (when (and (> t 7.77) (< t 7.775))) (set x (* 3 x)))";
    near(last(two, &times, &Options::default()), 3.0, 1e-9);
}

#[test]
fn the_time_of_a_momentary_event_is_fitted() {
    let t: Vec<f64> = (0..=40).map(|i| 0.5 * f64::from(i)).collect();
    let x = t.iter().map(|t| if *t < 7.77 { 0.0 } else { (-0.5 * (t - 7.77)).exp() }).collect();
    let model = compile(
        "(time t) (param on 7.6) (param q 0.3) (state x 0) (derive x (- (* q x)))
         (event (when (and (> t on) (< t (+ on 0.005)))) (add x 1))",
    );
    let found = fit(&model, &table(vec![("t", t), ("x", x)]), &Options::default()).unwrap();
    near(found.parameter("on").unwrap().value, 7.77, 1e-6);
    near(found.parameter("q").unwrap().value, 0.5, 1e-6);
}

#[test]
fn what_cannot_be_proved_is_said() {
    // Nothing bounds a Bessel function. J0 is positive up to its first zero, and between the second and the third.
    let zeros = [2.404_825_557_695_773, 5.520_078_110_286_311, 8.653_727_912_911_013];
    let positive = |t: f64| t.min(zeros[0]) + (t.min(zeros[2]) - zeros[1]).max(0.0);
    let model = |on: &str| compile(&format!("(time t) (param a 1) (state x 0) (derive x (if (> (bessel-j0 t) 0) {on} 0))"));
    let found = simulate(&model("1"), &table(vec![("t", vec![0.0, 10.0])]), &Options::default(), &Given::new()).unwrap();
    near(found.column(0)[1], positive(10.0), 1e-6);
    assert!(found.warnings.len() == 1 && found.warnings[0].contains("nothing proves where a condition on time"), "{:?}", found.warnings);
    let t: Vec<f64> = (0..=20).map(|i| 0.5 * f64::from(i)).collect();
    let x = t.iter().enumerate().map(|(i, t)| 2.0 * positive(*t) + 1e-3 * noise(i, 3)).collect();
    let fitted = fit(&model("a"), &table(vec![("t", t), ("x", x)]), &Options::default()).unwrap();
    assert!(fitted.warnings.iter().any(|w| w.contains("nothing proves")), "{:?}", fitted.warnings);
    near(fitted.parameter("a").unwrap().value, 2.0, 1e-3);
}

#[test]
fn a_lag_at_a_row_is_no_level_of_a_state() {
    // Exact data; the truth is lag = 1.25, which is the time of a row, k = 0.9, a = 5.
    let t: Vec<f64> = (0..=20).map(|i| 0.25 * f64::from(i)).collect();
    let exact = |t: f64| if t <= 1.25 { 0.0 } else { 5.0 * (1.0 - (-0.9 * (t - 1.25)).exp()) };
    let data = table(vec![("t", t.clone()), ("x", t.iter().map(|t| exact(*t)).collect())]);
    let model = compile("(time t) (param lag 0.6 :min 0) (param k 0.5) (param a 4) (state x 0) (derive x (if (< t lag) 0 (* k (- a x))))");
    let found = fit(&model, &data, &Options::default()).unwrap();
    for (name, truth) in [("lag", 1.25), ("k", 0.9), ("a", 5.0)] {
        let p = found.parameter(name).unwrap();
        // Data that are met to the last digit tell no errors.
        let sure = p.stderr.map_or(found.exact, |e| (p.value - truth).abs() < 2.0 * e);
        assert!(sure, "{name}: {} ± {:?}", p.value, p.stderr);
        near(p.value, truth, 1e-7);
    }
    assert!(found.warnings.iter().all(|w| !w.contains("passes a level")), "{:?}", found.warnings);
    assert!(found.warnings.iter().any(|w| w.contains("time 1.25") && w.contains("that of a row")), "{:?}", found.warnings);
}

/// Where a law has a kink at the time of a row its solution is differentiable by that time.
#[test]
fn a_kink_at_a_row_is_no_jump() {
    // x' = (t - lag) - x behind lag = 1.25, the time of a row.
    let t: Vec<f64> = (0..=20).map(|i| 0.25 * f64::from(i)).collect();
    let exact = |t: f64| if t <= 1.25 { 0.0 } else { (t - 1.25) - 1.0 + (1.25 - t).exp() };
    let data = table(vec![("t", t.clone()), ("x", t.iter().map(|t| exact(*t)).collect())]);
    let model = compile("(param lag 1 :min 0) (state x 0) (derive x (- (relu (- t lag)) x))");
    let found = fit(&model, &data, &Options::default()).unwrap();
    near(found.parameter("lag").unwrap().value, 1.25, 1e-7);
    assert!(found.warnings.iter().all(|w| !w.contains("that of a row")), "{:?}", found.warnings);
}
