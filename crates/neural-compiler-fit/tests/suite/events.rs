//! Events: closed forms, derivatives through them against 40-digit references, forward and back, in every scheme; fits of event times;
//! and what is refused.

// References have more digits than a number keeps.
#![allow(clippy::excessive_precision)]

use crate::common::{compile, named, noise, table};
use neural_compiler::ode::Scheme;
use neural_compiler_fit::dynamics::clock::Pace;
use neural_compiler_fit::dynamics::problem::Dynamics;
use neural_compiler_fit::dynamics::schedule::infused;
use neural_compiler_fit::dynamics::solver::field::Field;
use neural_compiler_fit::dynamics::solver::{Solver, Tolerance};
use neural_compiler_fit::dynamics::trajectories;
use neural_compiler_fit::layout::Layout;
use neural_compiler_fit::optimise::Residuals;
use neural_compiler_fit::optimise::gradient::Gradient;
use neural_compiler_fit::{Dose, Given, Options, Table, fit, predict, simulate};
use std::sync::Arc;

/// A model with data, ready to be differentiated.
fn problem(model: &str, data: &Table, options: &Options<'_>) -> Dynamics {
    let program = compile(model);
    let layout = Arc::new(Layout::new(&program, &[]).unwrap());
    let pace = Pace::new(&program, data, options).unwrap();
    let field = Field::new(&program, &layout, &pace.name, &infused(&options.doses, &program).unwrap()).unwrap();
    let group = (options.group.as_deref(), &options.doses[..]);
    let read =
        Arc::new(trajectories::read(&program, &field, &layout, data, &pace, group, trajectories::Purpose::Fit { target: None }).unwrap());
    let tolerance = Tolerance { relative: options.tolerance.unwrap_or(1e-13), absolute: options.absolute_tolerance };
    let solver = Solver::new(&field, &layout, options.scheme.unwrap_or(named("dopri5")), options.step, tolerance).unwrap();
    Dynamics::new(Arc::new(solver), layout, read, |_, _| 1.0)
}

/// Values and derivatives by all parameters of what a table with zeros observes at its rows, column by column.
fn derived(model: &str, data: &Table, options: &Options<'_>) -> (Vec<f64>, Vec<f64>) {
    let problem = problem(model, data, options);
    let theta = problem.layout.start.clone();
    let (m, p) = (problem.count(), theta.len());
    let (mut values, mut jacobian) = (vec![0.0; m], vec![0.0; m * p]);
    problem.evaluate(&theta, &mut values, Some(&mut jacobian)).unwrap();
    // The way back gives the same.
    let mut gradient = vec![0.0; p];
    problem.gradient(&theta, &(0..problem.parts()).collect::<Vec<_>>(), &mut gradient).unwrap();
    for (j, g) in gradient.iter().enumerate() {
        let forward: f64 = (0..m).map(|i| 2.0 * values[i] * jacobian[j * m + i]).sum();
        let size = gradient.iter().fold(1.0f64, |m, g| m.max(g.abs()));
        assert!((g - forward).abs() < 1e-9 * size, "number {j}: {g} back, {forward} forward");
    }
    (values, jacobian)
}

fn close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= within * b.abs().max(1.0), "number {k}: {a}, not {b}");
    }
}

const BALL: &str = "(param g 9.81) (param e 0.8) (param h0 1.2) (state h h0) (state v 0)
    (derive h v) (derive v (- g)) (event (when (< h 0)) (set v (* (- e) v)))";

/// Height and speed of a ball let fall from h0 after so many bounces, and their derivatives by g, e, h0: with s = sqrt(2 h0 / g) the n-th
/// bounce is at s (1 + 2 (e + … + e^(n-1))), behind it the speed is e^n g s.
fn ball(t: f64, bounces: i32) -> ([f64; 2], [f64; 6]) {
    let (g, e, h0) = (9.81f64, 0.8f64, 1.2f64);
    let s = (2.0 * h0 / g).sqrt();
    let sum: f64 = 1.0 + 2.0 * (1..bounces).map(|k| e.powi(k)).sum::<f64>();
    let dsum: f64 = 2.0 * (1..bounces).map(|k| f64::from(k) * e.powi(k - 1)).sum::<f64>();
    let (up, dup) = (e.powi(bounces), f64::from(bounces) * e.powi(bounces - 1));
    // since = t - s sum; h = up g s since - g since²/2; v = up g s - g since
    let since = t - s * sum;
    let by = |ds: f64, dg: f64, de: f64| {
        let d_since = -(ds * sum + s * dsum * de);
        let d_speed = dup * de * g * s + up * dg * s + up * g * ds;
        let h = d_speed * since + up * g * s * d_since - dg * since * since / 2.0 - g * since * d_since;
        (h, d_speed - dg * since - g * d_since)
    };
    let (by_g, by_e, by_h0) = (by(-s / (2.0 * g), 1.0, 0.0), by(0.0, 0.0, 1.0), by(s / (2.0 * h0), 0.0, 0.0));
    ([up * g * s * since - g * since * since / 2.0, up * g * s - g * since], [by_g.0, by_g.1, by_e.0, by_e.1, by_h0.0, by_h0.1])
}

#[test]
fn a_bouncing_ball_is_the_closed_form_with_its_derivatives() {
    let data = table(vec![("t", vec![0.0, 2.2]), ("h", vec![f64::NAN, 0.0]), ("v", vec![f64::NAN, 0.0])]);
    // The third bounce is at 1.92, the fourth at 2.43.
    let (values, slopes) = ball(2.2, 3);
    for scheme in Scheme::all() {
        // Parabolas are exact for every scheme of the second order and more; Euler's are not.
        if scheme.row().order < 2 {
            continue;
        }
        let options = Options { scheme: Some(scheme), step: Some(0.1), ..Options::default() };
        let (found, derivatives) = derived(BALL, &data, &options);
        close(&found, &values, 1e-11);
        close(&derivatives, &slopes, 1e-10);
    }
}

#[test]
fn bounces_without_end_are_an_error() {
    let run = |model: &str, until: f64| {
        let rows = table(vec![("t", vec![0.0, until])]);
        simulate(&compile(model), &rows, &Options::default(), &Given::new())
    };
    // All bounces are over at sqrt(2 h0/g) (1 + e)/(1 - e) = 4.45.
    assert!(run(BALL, 4.4).is_ok());
    for (model, until) in [
        (BALL, 4.6),
        ("(state C 1) (derive C (- C)) (event (when (< C 0.1)) (set C 0.1))", 5.0),
        ("(state x 1) (derive x -1) (event (when (< x 0)) (set x 1)) (event (when (> x 0.5)) (set x -1))", 3.0),
    ] {
        let error = run(model, until).unwrap_err().0.remove(0);
        assert!(error.code == "endless-events" && error.message.contains("at time"), "{model}: {error:?}");
    }
}

#[test]
fn derivatives_through_events_are_those_of_forty_digits() {
    // tests/data/events.py says how the references were made.
    let wall = "(param g 4.9) (param e 0.8) (param w -0.2) (param start 0.7) (state theta start) (state omega 0)
        (derive theta omega) (derive omega (* (- g) (sin theta))) (event (when (< theta w)) (set omega (* (- e) omega)) (set theta w))";
    let data = table(vec![("t", vec![0.0, 4.0]), ("theta", vec![f64::NAN, 0.0]), ("omega", vec![f64::NAN, 0.0])]);
    let saturated = "(param v 1.3) (param k 0.5) (param d 2) (param tau 1.1) (state C 1) (derive C (/ (* (- v) C) (+ k C)))
        (event (at tau) (add C d)) (event (at (+ (* 3 tau) 0.1)) (set C (+ (* 0.9 C) (* 2 d))))";
    let one = table(vec![("t", vec![0.0, 5.0]), ("C", vec![f64::NAN, 0.0])]);
    for scheme in ["dopri5", "tsit5", "rosenbrock"] {
        let tolerance = if scheme == "rosenbrock" { 1e-11 } else { 1e-13 };
        let options = Options { scheme: Some(named(scheme)), tolerance: Some(tolerance), ..Options::default() };
        let (found, derivatives) = derived(wall, &data, &options);
        close(&found, &WALL.0, 1e-9);
        close(&derivatives, &WALL.1, 1e-8);
        let (found, derivatives) = derived(saturated, &one, &options);
        close(&found, &SATURATED.0, 1e-9);
        close(&derivatives, &SATURATED.1, 1e-8);
    }
}

#[test]
fn repeated_doses_add_up() {
    // Doses D every T from 0 on into one compartment: superposition, with derivatives by k, T, D and the start.
    let model = "(param k 0.3) (param T 2) (param D 5) (param x0 1) (state x x0) (derive x (* (- k) x))
        (event (at (every T :from 0 :until 7)) (add x D))";
    let (k, period, dose, x0) = (0.3f64, 2.0, 5.0, 1.0);
    let times = [0.0, 1.0, 3.5, 7.5, 11.0];
    let terms = |t: f64| (0..4).map(|n| f64::from(n) * period).filter(move |s| *s < t).map(move |s| (s, (-k * (t - s)).exp()));
    let expected: Vec<f64> = times.iter().map(|&t| x0 * (-k * t).exp() + terms(t).map(|(_, e)| dose * e).sum::<f64>()).collect();
    let mut slopes: Vec<f64> = Vec::new();
    slopes.extend(times.iter().map(|&t| -t * x0 * (-k * t).exp() - terms(t).map(|(s, e)| dose * (t - s) * e).sum::<f64>()));
    slopes.extend(times.iter().map(|&t| terms(t).map(|(s, e)| dose * k * (s / period) * e).sum::<f64>()));
    slopes.extend(times.iter().map(|&t| terms(t).map(|(_, e)| e).sum::<f64>()));
    slopes.extend(times.iter().map(|&t| (-k * t).exp()));
    let data = table(vec![("t", times.to_vec()), ("x", vec![0.0; 5])]);
    let (found, derivatives) = derived(model, &data, &Options::default());
    close(&found, &expected, 1e-11);
    close(&derivatives, &slopes, 1e-10);
}

fn dose(time: f64, amount: f64, rate: f64, target: &str, group: Option<f64>) -> Dose {
    Dose { time, amount, rate, target: Some(target.into()), group }
}

#[test]
fn doses_and_infusions_of_a_table() {
    let model = "(param k 0.5) (state A 0) (state B 0) (derive A (* (- k) A)) (derive B (- 1))";
    let data = table(vec![("t", vec![0.0, 1.0, 2.0, 5.0, 0.0, 5.0]), ("who", vec![1.0, 1.0, 1.0, 1.0, 2.0, 2.0])]);
    // To the first: 8 at once at 1, 6 over [1, 4] and 1 over [3.5, 4.5]; to both: 3 into B at 2.
    let doses = vec![
        dose(1.0, 8.0, 0.0, "A", Some(1.0)),
        dose(1.0, 6.0, 2.0, "A", Some(1.0)),
        dose(3.5, 1.0, 1.0, "A", Some(1.0)),
        dose(2.0, 3.0, 0.0, "B", None),
    ];
    let options = Options { doses, group: Some("who".into()), tolerance: Some(1e-11), ..Options::default() };
    let found = predict(&compile(model), &data, &options).unwrap();
    let k = 0.5f64;
    let infused = |from: f64, to: f64, rate: f64, t: f64| rate / k * ((-k * (t - t.min(to))).exp() - (-k * (t - from)).exp());
    let a = |t: f64| 8.0 * (-k * (t - 1.0)).exp() + infused(1.0, 4.0, 2.0, t) + infused(3.5, 4.5, 1.0, t);
    // A row at the time of a dose is before it.
    close(&found[0].1, &[0.0, 0.0, 8.0 * (-k).exp() + infused(1.0, 4.0, 2.0, 2.0), a(5.0), 0.0, 0.0], 1e-9);
    close(&found[1].1, &[0.0, -1.0, -2.0, -2.0, 0.0, -2.0], 1e-9);
    assert_eq!(found.iter().map(|c| c.0.as_str()).collect::<Vec<_>>(), ["A.predicted", "B.predicted"]);
    let code = |doses: Vec<Dose>| predict(&compile(model), &data, &Options { doses, ..Options::default() }).unwrap_err().0[0].code;
    assert_eq!(code(vec![dose(1.0, 1.0, 0.0, "C", None)]), "bad-events");
    assert_eq!(code(vec![Dose { target: None, ..dose(1.0, 1.0, 0.0, "A", None) }]), "bad-events");
    assert_eq!(code(vec![dose(-1.0, 1.0, 0.0, "A", None)]), "bad-events");
    assert_eq!(code(vec![dose(1.0, 1.0, -2.0, "A", None)]), "bad-events");
    assert_eq!(code(vec![dose(f64::NAN, 1.0, 0.0, "A", None)]), "bad-events");
}

#[test]
fn rows_at_an_event_are_before_it_and_events_at_one_time_are_in_order() {
    let run = |model: &str| {
        let rows = table(vec![("t", vec![0.0, 0.3, 0.6, 1.0])]);
        simulate(&compile(model), &rows, &Options::default(), &Given::new()).unwrap().values
    };
    // 3 periods of 0.1 are a rounding more than 0.3; the row is at the event all the same.
    let times = run("(state x 1) (derive x 0) (event (at (every 0.1 :from 0.3 :until 0.6)) (add x 1)) (event (at 0) (add x 10))");
    assert_eq!(times, [1.0, 11.0, 14.0, 15.0]);
    let order =
        run("(state x 1) (state y 5) (derive x 0) (derive y 0) (event (at 0.5) (set x (* 2 x)) (set y x)) (event (at 0.5) (add x 1))");
    assert_eq!(order[4..], [3.0, 1.0, 3.0, 1.0]);
    // An event makes the condition of another true: that follows at once. One that holds from the beginning does not happen.
    let chain = run("(state x 1) (state n 0) (derive x 0) (derive n 0) (event (at 0.4) (set x -1))
        (event (when (< x 0)) (add n 1)) (event (when (> x -5)) (add n 100))");
    assert_eq!(chain, [1.0, 0.0, 1.0, 0.0, -1.0, 1.0, -1.0, 1.0]);
}

#[test]
fn conditions_keep_their_direction_and_may_be_joined() {
    let rows = table(vec![("t", vec![0.0, 10.0])]);
    let count = |condition: &str| {
        let model =
            format!("(state n 0) (state c 1) (state s 0) (derive n 0) (derive c (- s)) (derive s c) (event (when {condition}) (add n 1))");
        let options = Options { tolerance: Some(1e-10), ..Options::default() };
        simulate(&compile(&model), &rows, &options, &Given::new()).unwrap().values[3]
    };
    // The cosine passes 0 downward at pi/2, 5 pi/2 = 7.85; upward at 4.71; both with `or`. At 3 pi/4 it passes -sqrt(1/2) downward, …
    assert_eq!(count("(< c 0)"), 2.0);
    assert_eq!(count("(> c 0)"), 1.0);
    assert_eq!(count("(and (< c 0) (> t 3))"), 2.0);
    assert_eq!(count("(not (> (abs c) 0.5))"), 3.0);
    assert_eq!(count("(or (< c -0.9) (> s 0.9))"), 4.0);
    // Only for a short time: [6.1, 6.47].
    assert_eq!(count("(> c 0.983)"), 1.0);
}

#[test]
fn a_switching_time_is_fitted() {
    // A pump of unknown strength is switched on at an unknown time.
    let model = "(param k 0.4 :min 0) (param pump 1) (param tau 4 :min 0 :max 15) (state x 5) (state rate 0)
        (derive x (- rate (* k x))) (derive rate 0) (event (at tau) (set rate pump))";
    let (k, pump, tau) = (0.5f64, 2.0, 6.3);
    let times: Vec<f64> = (0..60).map(|i| 0.25 * f64::from(i)).collect();
    let x = |t: f64| 5.0 * (-k * t).exp() + if t > tau { pump / k * (1.0 - (-k * (t - tau)).exp()) } else { 0.0 };
    let values: Vec<f64> = times.iter().enumerate().map(|(i, t)| x(*t) + 0.02 * noise(i, 3)).collect();
    let data = table(vec![("t", times), ("x", values)]);
    let found = fit(&compile(model), &data, &Options::default()).unwrap();
    for (name, truth) in [("k", k), ("pump", pump), ("tau", tau)] {
        let p = found.parameter(name).unwrap();
        let stderr = p.stderr.unwrap_or(0.0);
        assert!((p.value - truth).abs() < 4.0 * stderr && stderr < 0.05, "{name}: {} ± {stderr}, {}", p.value, found.message);
    }
    assert!(found.converged && found.rmse < 0.03 && !found.warnings.iter().any(|w| w.contains("differences")), "{:?}", found.warnings);
}

#[test]
fn models_that_make_no_sense_are_refused() {
    let code = |text: &str| neural_compiler::compile(text, &Default::default()).map_or_else(|e| e.0[0].code, |_| "fine");
    let with = |event: &str| code(&format!("(param k 1) (state x 1) (state u [1 2]) (derive x 0) (derive u u) {event}"));
    assert_eq!(with("(event (at k) (add x 1))"), "fine");
    assert_eq!(with("(event (at [1 2 k]) (set x (* 2 x)) (set u [1 x]))"), "fine");
    assert_eq!(with("(event (at 1))"), "bad-declaration");
    assert_eq!(with("(event (add x 1))"), "bad-declaration");
    assert_eq!(with("(event (at 1) (sub x 1))"), "bad-declaration");
    assert_eq!(with("(event (at x) (add x 1))"), "bad-declaration");
    assert_eq!(with("(event (at t) (add x 1))"), "bad-declaration");
    assert_eq!(with("(event (when x) (add x 1))"), "bad-declaration");
    assert_eq!(with("(event (when (= x 1)) (add x 1))"), "bad-declaration");
    assert_eq!(with("(event (at (every 1 :to 3)) (add x 1))"), "bad-declaration");
    assert_eq!(with("(event (at 1) (add y 1))"), "unknown-state");
    assert_eq!(with("(event (at 1) (add x 1) (set x 2))"), "duplicate-name");
    assert_eq!(with("(event (at 1) (set u 1))"), "shape-mismatch");
    assert_eq!(code("(state x 1) (next x x) (event (at 1) (add x 1))"), "bad-declaration");
    assert_eq!(code("(event (at 1) (add x 1)) (* 2 x)"), "bad-declaration");
    // What an event has done cannot be undone.
    let rows = table(vec![("t", vec![-1.0, 1.0])]);
    let model = "(time t :start 0) (state x 1) (derive x 0) (event (at 0.5) (add x 1))";
    assert_eq!(simulate(&compile(model), &rows, &Options::default(), &Given::new()).unwrap_err().0[0].code, "bad-start-time");
}

/// States and their derivatives, parameter by parameter: tests/data/events.py.
const WALL: ([f64; 2], [f64; 8]) = (
    [0.272_687_618_106_935_0, -0.834_967_539_426_184_0],
    [
        -0.340_803_077_316_809_8,
        -0.623_842_206_016_531_5,
        0.001_421_011_742_226_1,
        -2.584_465_183_966_912_9,
        -2.926_003_742_795_176_2,
        -3.936_226_528_617_440_9,
        -0.256_204_973_532_872_9,
        -1.953_461_657_848_900_6,
    ],
);
const SATURATED: ([f64; 1], [f64; 4]) =
    ([2.456_338_165_524_599_2], [-2.173_706_926_794_802_7, 1.259_584_530_805_132_8, 2.231_418_560_245_015_7, 2.278_818_982_795_576_5]);
