//! Simulations: known solutions, sets of values solved together as each by itself, and what is refused.

use crate::common::{compile, named, table};
use neural_compiler_fit::{Given, Options, Simulation, Stage, predict, simulate};
use std::sync::Mutex;

fn given(values: &[(&str, &[f64])]) -> Given {
    values.iter().map(|(name, v)| ((*name).to_string(), v.to_vec())).collect()
}

fn run(model: &str, times: &[f64], values: &[(&str, &[f64])]) -> Simulation {
    simulate(&compile(model), &table(vec![("t", times.to_vec())]), &Options::default(), &given(values)).unwrap()
}

fn code(model: &str, times: &[f64], values: &[(&str, &[f64])]) -> String {
    let outcome = simulate(&compile(model), &table(vec![("t", times.to_vec())]), &Options::default(), &given(values));
    outcome.map_or_else(|e| e.0[0].code.to_string(), |_| "fine".into())
}

const DRUG: &str = "(param V 20) (param k 0.5) (param lag 0.3) (state C (/ dose V)) (state n 0)
    (derive C (* (- k) C)) (derive n (if (< t lag) 0 u)) (observe mg (* C V))";

#[test]
fn known_solutions_of_every_set() {
    let times = [0.0, 0.7, 2.0];
    let found = run(
        DRUG,
        &times,
        &[("dose", &[100.0, 40.0]), ("k", &[0.5, 2.0]), ("V", &[10.0]), ("lag", &[0.3, 1.1]), ("u", &[3.0]), ("n", &[1.0])],
    );
    assert_eq!((found.sets, found.names()), (2, vec!["C".to_string(), "n".into(), "mg".into()]));
    for (set, (dose, k, lag)) in [(100.0, 0.5, 0.3), (40.0, 2.0f64, 1.1)].into_iter().enumerate() {
        for (row, t) in times.iter().enumerate() {
            let at = &found.values[(set * 3 + row) * 3..][..3];
            let (c, n) = (dose / 10.0 * (-k * t).exp(), 1.0 + 3.0 * (t - lag).max(0.0));
            for (x, y) in at.iter().zip([c, n, 10.0 * c]) {
                assert!((x - y).abs() < 1e-7 * y.abs().max(1.0), "set {set}, time {t}: {x}, not {y}");
            }
        }
    }
}

#[test]
fn a_set_has_the_same_bits_in_any_company_and_those_of_a_prediction() {
    let model =
        "(param a 1.1) (param b 0.4) (state x 10) (state y 5) (derive x (- (* a x) (* b (* x y)))) (derive y (- (* 0.1 (* x y)) (* b y)))";
    let times: Vec<f64> = (0..21).map(f64::from).collect();
    let values: Vec<f64> = (0..300).map(|i| 0.5 + 0.003 * f64::from(i)).collect();
    for scheme in ["dopri5", "tsit5", "rk4", "rosenbrock"] {
        let options = Options { scheme: Some(named(scheme)), step: Some(0.25), tolerance: Some(1e-6), ..Options::default() };
        let rows = table(vec![("t", times.clone())]);
        let all = simulate(&compile(model), &rows, &options, &given(&[("a", &values)])).unwrap();
        for set in [0, 7, 299] {
            let one = simulate(&compile(model), &rows, &options, &given(&[("a", &values[set..=set])])).unwrap();
            assert_eq!(one.values, all.values[set * 42..(set + 1) * 42], "{scheme}, set {set}");
            let text = model.replace("a 1.1", &format!("a {}", values[set]));
            let predicted = predict(&compile(&text), &rows, &options).unwrap();
            assert_eq!((predicted[0].1.clone(), predicted[1].1.clone()), (one.column(0), one.column(1)), "{scheme}, set {set}");
        }
    }
}

#[test]
fn sweeps_say_how_far_they_are() {
    let told: Mutex<Vec<(Stage, usize, usize)>> = Mutex::default();
    let tell = |stage: Stage, done: usize, of: usize, _: f64| told.lock().unwrap().push((stage, done, of));
    let values: Vec<f64> = (0..1300).map(|i| 0.001 * f64::from(i)).collect();
    let options = Options { progress: Some(&tell), ..Options::default() };
    simulate(
        &compile("(param k 1) (state x 1) (derive x (* k x))"),
        &table(vec![("t", vec![0.0, 1.0])]),
        &options,
        &given(&[("k", &values)]),
    )
    .unwrap();
    let told = told.into_inner().unwrap();
    // Solved again more accurately: another pass, which says so.
    for pass in [1, 2] {
        let own: Vec<(usize, usize)> = told.iter().filter(|t| t.0 == Stage::Trajectories(pass)).map(|t| (t.1, t.2)).collect();
        assert!(own.len() > 2 && own.contains(&(1300, 1300)) && own.iter().all(|(done, of)| done <= of && *of == 1300), "{told:?}");
    }
}

#[test]
fn maps_vectors_and_columns() {
    let map = run("(param r 2) (state x 0.25) (next x (* r x (- 1 x)))", &[0.0, 1.0, 2.0], &[("r", &[2.0, 4.0]), ("x", &[0.25, 0.5])]);
    assert_eq!(map.values, [0.25, 0.375, 0.46875, 0.5, 1.0, 0.0]);
    let vector = run("(param k [1 2]) (state u [1 1]) (derive u (- (* k u)))", &[0.0, 1.0], &[("k[1]", &[3.0]), ("u[0]", &[2.0])]);
    let end = &vector.values[2..];
    assert!((end[0] - 2.0 * (-1.0f64).exp()).abs() < 1e-7 && (end[1] - (-3.0f64).exp()).abs() < 1e-7, "{end:?}");
    // The column u is linear between its rows: x = t²/2.
    let rows = table(vec![("t", vec![0.0, 1.0, 2.0]), ("u", vec![0.0, 1.0, 2.0])]);
    let driven = simulate(&compile("(state x 0) (derive x u)"), &rows, &Options::default(), &given(&[])).unwrap();
    assert!((driven.values[2] - 2.0).abs() < 1e-9, "{:?}", driven.values);
}

#[test]
fn mistakes_have_their_codes() {
    let times = [0.0, 2.0];
    assert_eq!(code("(* 2 x)", &times, &[]), "no-states");
    assert_eq!(code("(state x 1) (derive x x)", &[], &[]), "no-rows");
    assert_eq!(code("(state x 1) (derive x x)", &times, &[("y", &[1.0])]), "unknown-input");
    assert_eq!(code("(state x 1) (derive x x)", &times, &[("x", &[1.0]), ("x", &[2.0])]), "duplicate-input");
    assert_eq!(code("(state x 1) (derive x x)", &times, &[("x", &[f64::NAN])]), "bad-value");
    assert_eq!(code("(param k 1) (state x 1) (derive x k)", &times, &[("x", &[1.0, 2.0]), ("k", &[1.0, 2.0, 3.0])]), "uneven-columns");
    assert_eq!(code("(state x 1) (derive x (* u x))", &times, &[]), "missing-column");
    // x = 1/(1 - t) ends at 1: the second set is named.
    let outcome = simulate(
        &compile("(state x 1) (derive x (* x x))"),
        &table(vec![("t", times.to_vec())]),
        &Options::default(),
        &given(&[("x", &[0.1, 1.0])]),
    );
    let error = outcome.unwrap_err().0.remove(0);
    assert!(error.code == "no-prediction" && error.message.starts_with("set 2, x = 1: "), "{error:?}");
}

#[test]
fn inputs_between_rows() {
    // Through 1, 3, 0 at 0, 1, 3: lines, steps, and the natural spline 1 + 2.5833… t - 0.5833… t³, then by hand.
    let end = |how: &str, t: f64| {
        let model = format!("(input u :interpolate {how}) (state x 0) (derive x u)");
        let rows = table(vec![("t", vec![0.0, 1.0, 3.0]), ("u", vec![1.0, 3.0, 0.0])]);
        let all = simulate(&compile(&model), &rows, &Options::default(), &given(&[])).unwrap().values;
        all[if t == 1.0 { 1 } else { 2 }]
    };
    // Second derivatives: 2 (1 + 2) m = 6 (-1.5 - 2), m = -3.5; the integral over a piece of width h is h (a + b)/2 - h³ (m₀ + m₁)/24.
    let cubic = (2.0 + 3.5 / 24.0, 2.0 + 3.5 / 24.0 + 3.0 + 8.0 * 3.5 / 24.0);
    for (how, (first, last)) in [("linear", (2.0, 5.0)), ("step", (1.0, 7.0)), ("cubic", cubic)] {
        assert!((end(how, 1.0) - first).abs() < 1e-9 && (end(how, 3.0) - last).abs() < 1e-9, "{how}: {} {}", end(how, 1.0), end(how, 3.0));
    }
    // Backward from the start at 3, the same.
    let model = "(time t :start 3) (input u :interpolate step) (state x 7) (derive x u)";
    let rows = table(vec![("t", vec![0.0, 1.0, 3.0]), ("u", vec![1.0, 3.0, 0.0])]);
    let back = simulate(&compile(model), &rows, &Options::default(), &given(&[])).unwrap().values;
    assert!(back[0].abs() < 1e-9 && (back[1] - 1.0).abs() < 1e-9, "{back:?}");
    let rows = table(vec![("t", vec![0.0, 2.0])]);
    let one = simulate(
        &compile("(input u :interpolate cubic) (state x 0) (derive x u)"),
        &rows,
        &Options::default(),
        &given(&[("u", &[1.0, 2.0])]),
    );
    assert!((one.unwrap().values[3] - 4.0).abs() < 1e-9);
}

#[test]
fn steady_starts_and_their_derivatives() {
    // x = in/k, y = x(1 - x/…): in closed form x0 = in/k, and y' = y (x - y) has y = x; from 0.5, not the steady state 0.
    let model = "(param in 2) (param k 0.5) (param step 3) (state x (steady)) (state y (steady 0.5)) (state z 1)
        (derive x (- (+ in (if (> t 1) step 0)) (* k x))) (derive y (* y (- (* x z) y))) (derive z 0)";
    let found = run(model, &[0.0, 1.0, 3.0], &[("in", &[2.0, 4.0]), ("z", &[1.0, 2.0])]).values;
    let x = |feed: f64, t: f64| feed / 0.5 + if t > 1.0 { 3.0 / 0.5 * (1.0 - (-0.5 * (t - 1.0)).exp()) } else { 0.0 };
    for (set, (feed, z)) in [(2.0, 1.0), (4.0, 2.0)].into_iter().enumerate() {
        for (row, t) in [0.0, 1.0, 3.0].into_iter().enumerate() {
            let at = &found[(set * 3 + row) * 3..][..2];
            assert!((at[0] - x(feed, t)).abs() < 1e-6 && (row > 1 || (at[1] - z * feed / 0.5).abs() < 1e-6), "set {set}, {t}: {at:?}");
        }
    }
    // A fit through a steady start: x = a/k until 1, then it falls to b/k. Three constants from noiseless data.
    let (a, b, k) = (3.0f64, 1.0, 0.8);
    let times: Vec<f64> = (0..25).map(|i| 0.25 * f64::from(i)).collect();
    let values = times.iter().map(|t| if *t <= 1.0 { a / k } else { b / k + (a - b) / k * (-k * (t - 1.0)).exp() }).collect();
    let data = table(vec![("t", times), ("x", values)]);
    let model = "(param a 2 :min 0) (param b 2 :min 0) (param k 1 :min 0) (state x (steady 1)) (derive x (- (if (< t 1) a b) (* k x)))";
    let fitted = neural_compiler_fit::fit(&compile(model), &data, &Options::default()).unwrap();
    for (name, truth) in [("a", a), ("b", b), ("k", k)] {
        assert!((fitted.parameter(name).unwrap().value - truth).abs() < 1e-6, "{name}: {:?}", fitted.parameter(name));
    }
    assert_eq!(code("(state x (steady 1)) (derive x 1)", &[0.0, 1.0], &[]), "no-prediction");
}

/// The sign of the derivative says where a solution goes: below 0.3 to 0, above to 1, however close to it.
#[test]
fn a_steady_start_is_the_one_that_is_reached() {
    for (from, reached) in [(0.1, 0.0), (0.28, 0.0), (0.29, 0.0), (0.299999, 0.0), (0.3001, 1.0), (0.31, 1.0), (0.33, 1.0), (4.0, 1.0)] {
        let model = format!("(state x (steady {from})) (derive x (* x (- 1 x) (- x 0.3)))");
        let found = simulate(&compile(&model), &table(vec![("t", vec![0.0, 1.0])]), &Options::default(), &Given::new()).expect("a state");
        assert!((found.values[0] - reached).abs() < 1e-9, "from {from}: {}", found.values[0]);
    }
}

#[test]
fn another_implicit_method_takes_over_where_the_first_gets_stuck() {
    // van der Pol's oscillator, mu = 10^6: Rosenbrock's steps collapse at 1.6e6. SciPy's Radau: -1.86338392 and 1.7055462.
    let found = run("(state x 2) (state y 0) (derive x y) (derive y (- (* 1e6 (- 1 (* x x)) y) x))", &[0.0, 1e6, 2e6], &[]);
    for (row, x) in [2.0, -1.863_383_92, 1.705_546_2].into_iter().enumerate() {
        assert!((found.values[2 * row] - x).abs() < 1e-4, "row {row}: {}, not {x}", found.values[2 * row]);
    }
}

/// x' = k x² from 1 is 1/(1 - k t): near its end a value has no digit, behind it there is none, and the tolerance cannot tell which it is.
#[test]
fn a_solution_has_no_values_at_its_end() {
    let model = "(param k 1) (state x 1) (derive x (* k x x))";
    for t in [0.9, 0.9999, 0.999_999] {
        let x = run(model, &[0.0, 0.5, t], &[]).values[2];
        assert!((x * (1.0 - t) - 1.0).abs() < 1e-5, "{t}: {x}");
    }
    for t in [0.999_999_999_99, 1.0, 1.000_000_001, 1.1] {
        assert_eq!(code(model, &[0.0, 0.5, t], &[]), "no-prediction", "{t}");
    }
    // The set that ends is named; it takes nothing from the others.
    let data = table(vec![("t", vec![0.0, 0.5, 1.0])]);
    let sets = |k: &[f64]| simulate(&compile(model), &data, &Options::default(), &given(&[("k", k)]));
    let error = sets(&[0.5, 1.0, 0.25]).unwrap_err();
    assert!(error.0[0].message.contains("set 2, k = 1:"), "{error}");
    let (all, alone) = (sets(&[0.5, 0.9999, 0.25]).unwrap(), sets(&[0.25]).unwrap());
    assert_eq!(all.values[6..], alone.values[..]);
}

/// x' = k (cos t - x): mild for k = 1, stiff for 10^6. From 0 the solution is k (k cos t + sin t - k exp(-k t))/(1 + k²).
#[test]
fn sets_too_stiff_for_the_method_of_the_first_are_solved() {
    let exact = |k: f64, t: f64| k * (k * t.cos() + t.sin() - k * (-k * t).exp()) / (1.0 + k * k);
    for sets in [[1.0, 1e6], [1e6, 1.0]] {
        let found = run("(time t) (param k 1) (state x 0) (derive x (* k (- (cos t) x)))", &[0.0, 1.0, 10.0], &[("k", &sets)]);
        for (set, k) in sets.into_iter().enumerate() {
            for (row, t) in [0.0, 1.0, 10.0].into_iter().enumerate() {
                let x = found.values[3 * set + row];
                assert!((x - exact(k, t)).abs() < 1e-6, "k = {k}, t = {t}: {x}, not {}", exact(k, t));
            }
        }
    }
    // More steps than a fit would take.
    let found = run("(time t) (state x 0) (derive x (- (sin t) x))", &[0.0, 2e4], &[]).values[1];
    let exact = 0.5 * (2e4f64.sin() - 2e4f64.cos());
    assert!((found - exact).abs() < 1e-6, "{found}, not {exact}");
}
