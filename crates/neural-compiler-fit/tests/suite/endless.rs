//! Likelihoods that have no maximum, or have it at the edge: that is said, and no number is given that would look like an estimate.

use crate::common::{compile, table};
use neural_compiler_fit::{Fit, Options, Side, Table, fit};

fn run(model: &str, data: &Table) -> Fit {
    fit(&compile(model), data, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| i as f64).collect()
}

/// No maximum is claimed, these parameters have no error, and the message names them.
fn has_none(found: &Fit, off: &[&str]) {
    assert!(!found.converged && found.message.starts_with("the likelihood has no maximum"), "{}", found.message);
    for name in off {
        let p = found.parameter(name).unwrap();
        assert!(p.stderr.is_none() && p.note.as_deref().is_some_and(|n| n.starts_with("runs off")), "{p:?}");
        assert!(found.message.contains(&format!("`{name}`")), "{}", found.message);
    }
}

#[test]
fn counts_that_are_all_0() {
    let data = table(vec![("x", numbers(10)), ("y", vec![0.0; 10])]);
    let found = run("(param a 0) (observe y (exp a) :noise (poisson))", &data);
    has_none(&found, &["a"]);
    assert!(found.message.contains("`a` falls"), "{}", found.message);
    // Where the mean itself is the parameter there is a maximum, at its bound.
    let found = run("(param m 1 :min 0) (observe y m :noise (poisson))", &data);
    assert!(found.converged && found.parameter("m").unwrap().value == 0.0, "{}", found.message);
}

#[test]
fn data_that_a_threshold_separates() {
    let data = table(vec![("x", numbers(10)), ("y", numbers(10).iter().map(|x| f64::from(*x >= 5.0)).collect())]);
    let found = run("(param a 0) (param b 1) (observe y (sigmoid (+ a (* b x))) :noise (bernoulli))", &data);
    has_none(&found, &["a", "b"]);
    // One that lies on the other side, and there is a maximum.
    let mixed: Vec<f64> = [0, 0, 0, 1, 0, 0, 1, 1, 1, 1].map(f64::from).to_vec();
    let found = run(
        "(param a 0) (param b 1) (observe y (sigmoid (+ a (* b x))) :noise (bernoulli))",
        &table(vec![("x", numbers(10)), ("y", mixed)]),
    );
    assert!(found.converged, "{}", found.message);
    assert!((found.parameter("a").unwrap().value - GLM.0).abs() < 1e-6 && (found.parameter("b").unwrap().value - GLM.1).abs() < 1e-6);
}

/// One of the data holds what runs off to a line: along a = -3 b the rate at the last x stays 1, which its count is, and the others fade.
#[test]
fn data_that_a_threshold_all_but_separates() {
    let data = table(vec![("x", numbers(4)), ("y", vec![0.0, 0.0, 0.0, 1.0])]);
    let found = run("(param a 0) (param b 1) (observe y (exp (+ a (* b x))) :noise (poisson))", &data);
    has_none(&found, &["a", "b"]);
    assert!(found.message.contains("`a` falls and `b` grows"), "{}", found.message);
    // Where x = 3 there is one of either kind, and half of them is all that is said of it.
    let x = [0, 1, 2, 3, 3, 4, 5, 6].map(f64::from).to_vec();
    let data = table(vec![("x", x), ("y", [0, 0, 0, 0, 1, 1, 1, 1].map(f64::from).to_vec())]);
    let found = run("(param a 0) (param b 1) (observe y (sigmoid (+ a (* b x))) :noise (bernoulli))", &data);
    has_none(&found, &["a", "b"]);
    assert!((found.likelihood.loglik - 2.0 * 0.5f64.ln()).abs() < 1e-3, "{}", found.likelihood.loglik);
}

/// What the data do not determine one by one is as flat behind as ahead, and so is a plateau the fit began on: there is a maximum.
#[test]
fn what_is_not_determined_does_not_run_off() {
    let y: Vec<f64> = [3, 5, 4, 7, 6, 9, 8, 12].map(f64::from).to_vec();
    let data = table(vec![("x", numbers(8)), ("y", y)]);
    for model in [
        "(param a 0) (param b 0.5) (param c 2) (observe y (exp (+ a c (* b x))) :noise (poisson))",
        "(param a 5 :min 0) (param b 0.5) (param c 2 :min 0) (observe y (* a c (exp (* b x))) :noise (poisson))",
        "(param a 1) (param b 0.5) (param k 1000) (observe y (+ (exp (+ a (* b x))) (exp (- (* k (+ x 1))))) :noise (poisson))",
    ] {
        let found = run(model, &data);
        assert!(found.converged && found.parameter("b").unwrap().stderr.is_some(), "{model}: {}", found.message);
    }
}

/// `glm(y ~ x, family = binomial, control = list(epsilon = 1e-14))` in R 4.2.2.
const GLM: (f64, f64) = (-3.958_667_821_518, 0.879_703_960_337);

#[test]
fn counts_that_scatter_less_than_poisson_s() {
    let data = table(vec![("y", [5, 5, 6, 5, 4, 5, 6, 5, 5, 4, 5, 6].map(f64::from).to_vec())]);
    let found = run("(param m 3 :min 0) (param k 5 :min 0) (observe y m :noise (negative-binomial k))", &data);
    has_none(&found, &["k"]);
    // The others are those of Poisson's distribution: 61/12, and its error sqrt(61)/12.
    let m = found.parameter("m").unwrap();
    assert!((m.value - 61.0 / 12.0).abs() < 1e-4, "{m:?}");
    // sum(dpois(y, 61/12, log = TRUE)): two gammas of 10^14 that cancel gave -12.94.
    assert!((found.likelihood.loglik - POISSON).abs() < 1e-3, "{}", found.likelihood.loglik);
    assert!(found.warnings.iter().any(|w| w.contains("Poisson")), "{:?}", found.warnings);
}

const POISSON: f64 = -21.4223034187;

/// The threshold between separated bits may be anywhere between two of them: it had an error a hundred thousand times its value.
#[test]
fn a_threshold_beside_a_slope_that_runs_off() {
    let data = table(vec![("x", (1..9).map(f64::from).collect()), ("y", (1..9).map(|x| f64::from(x > 4)).collect())]);
    let found = run("(param m 4) (param k 1) (observe y (/ 1 (+ 1 (exp (- (* k (- x m)))))) :noise (bernoulli))", &data);
    has_none(&found, &["k"]);
    let m = found.parameter("m").unwrap();
    assert!((4.0..5.0).contains(&m.value) && m.stderr.is_none() && m.note.as_deref() == Some("not determined by the data"), "{m:?}");
    // What does not fade beside a runaway keeps its error: a mean of its own.
    let counts = [3.0, 5.0, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0];
    let data = table(vec![("x", (0..8).map(|i| f64::from(i / 4)).collect()), ("y", counts.to_vec())]);
    let found = run("(param a 1) (param b 0) (observe y (exp (if (< x 0.5) a b)) :noise (poisson))", &data);
    has_none(&found, &["b"]);
    assert!((found.parameter("a").unwrap().stderr.unwrap() - 0.25).abs() < 1e-4, "{:?}", found.parameters);
}

/// Where nobody declared errors, what is looked for is the least sum of squares, and 0 is the least there is.
#[test]
fn data_that_are_met_exactly_are_met_though_a_constant_is_zero() {
    let (x, g): (Vec<f64>, Vec<f64>) = ((0..20).map(|i| f64::from(i % 10)).collect(), (0..20).map(|i| f64::from(1 + i / 10)).collect());
    let y: Vec<f64> = x.iter().map(|x| 3.0 * x).collect();
    let of_groups: Vec<f64> = x.iter().zip(&g).map(|(x, g)| 3.0 * g * x).collect();
    for (model, y, names) in [
        ("(param a 1) (param b 1) (observe y (+ (* a x) b))", &y, &["a"][..]),
        ("(param a 1 :per g) (param b 1) (observe y (+ (* a x) b))", &of_groups, &["a[1]", "a[2]"]),
    ] {
        let found = run(model, &table(vec![("x", x.clone()), ("g", g.clone()), ("y", y.clone())]));
        assert!(found.converged, "{model}: {}", found.message);
        assert_eq!(found.message, "a minimum was reached: the model meets the data exactly, but for rounding");
        assert!(found.warnings.is_empty() && found.describes_data == Some(true), "{:?}", found.warnings);
        assert!(found.parameter("b").unwrap().value.abs() < 1e-12, "{:?}", found.parameters);
        for (k, name) in names.iter().enumerate() {
            assert!((found.parameter(name).unwrap().value - 3.0 * (1.0 + k as f64)).abs() < 1e-12, "{:?}", found.parameters);
        }
    }
}

#[test]
fn data_that_are_met_exactly() {
    let data = table(vec![("x", numbers(10)), ("y", numbers(10).iter().map(|x| 2.0 * x + 1.0).collect())]);
    let found = run("(param a 0) (param b 1) (param s 1 :min 0) (observe y (+ a (* b x)) :noise (normal s))", &data);
    assert!(!found.converged && found.message.contains("meets the data exactly"), "{} {:?}", found.message, found.parameters);
    assert!(found.parameters.iter().all(|p| p.stderr.is_none()), "{:?}", found.parameters);
    assert!((found.parameter("b").unwrap().value - 2.0).abs() < 1e-9);
}

#[test]
fn nothing_is_explained_of_what_is_not_seen() {
    let data = table(vec![("x", numbers(10))]).with_censored([("y".to_string(), vec![5.0; 10], vec![Side::Below; 10])]);
    let found = run("(param a 2 :min -10) (observe y a :noise (normal 1))", &data);
    assert!(found.columns[0].n == 0 && found.columns[0].r2.is_nan() && found.r2.is_nan(), "{:?}", found.columns);
}

const EFFECT: &str = "(param a 0) (param b 1) (param w 1 :min 0) (param s 1 :min 0) (param eta 0 :per g :effect (normal 0 w))
                      (observe y (+ a eta (* b x)) :noise (normal s))";

fn grouped(groups: usize, y: impl Fn(usize) -> f64) -> Table {
    let g = (0..40).map(|i| (i % groups) as f64).collect();
    table(vec![("g", g), ("x", numbers(40)), ("y", (0..40).map(y).collect())])
}

#[test]
fn one_group_does_not_say_how_groups_vary() {
    let data = grouped(1, |i| 2.0 * i as f64 + if i % 3 == 0 { 0.5 } else { -0.25 });
    let error = fit(&compile(EFFECT), &data, &Options::default()).unwrap_err();
    assert_eq!(error.0[0].code, "too-few-groups");
    // A variance that is known needs no groups.
    let known = EFFECT.replace("(param w 1 :min 0)", "(param w 1 :fixed)");
    assert!(fit(&compile(&known), &data, &Options::default()).is_ok());
}

/// Groups that differ less than their errors let them: the standard deviation is 0, and the rest is the model without effects, which
/// least squares has in closed form.
#[test]
fn groups_that_do_not_differ() {
    let y = |i: usize| 2.0 * i as f64 + 1.0 + if (i / 4).is_multiple_of(2) { 0.5 } else { -0.5 };
    let found = run(EFFECT, &grouped(4, y));
    let w = found.parameter("w").unwrap();
    assert!(found.converged && w.value == 0.0 && w.stderr.is_none(), "{w:?} {}", found.message);
    let plain = run("(param a 0) (param b 1) (param s 1 :min 0) (observe y (+ a (* b x)) :noise (normal s))", &grouped(4, y));
    for name in ["a", "b", "s"] {
        let (one, other) = (found.parameter(name).unwrap(), plain.parameter(name).unwrap());
        assert!((one.value - other.value).abs() < 1e-6 * other.value.abs(), "{name}: {} {}", one.value, other.value);
        assert!((one.stderr.unwrap() / other.stderr.unwrap() - 1.0).abs() < 1e-3, "{name}: {one:?} {other:?}");
    }
    assert!((found.likelihood.loglik - plain.likelihood.loglik).abs() < 1e-7);
}
