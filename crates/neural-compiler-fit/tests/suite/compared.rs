//! Models side by side: which can be a special case of which, and how the ratio of their likelihoods is distributed then. Expected
//! probabilities are those of chi-square.

use crate::common::{compile, csv, noise, table};
use neural_compiler_fit::{Comparison, Fit, Options, Table, compare, fit};

fn side_by_side(models: &[&str], data: &Table) -> Comparison {
    let how = Options { target: Some("y".into()), ..Options::default() };
    let fitted: Vec<Fit> = models.iter().map(|m| fit(&compile(m), data, &how).unwrap_or_else(|e| panic!("{e}"))).collect();
    let named: Vec<(String, &Fit)> = fitted.iter().enumerate().map(|(k, f)| (k.to_string(), f)).collect();
    compare(&named).unwrap_or_else(|e| panic!("{e}"))
}

/// Eight groups of four rows, apart by less than a row scatters.
fn grouped() -> Table {
    let all: Vec<usize> = (0..32).collect();
    let x: Vec<f64> = all.iter().map(|&i| 0.5 * (i % 4) as f64 + 0.1 * noise(i, 3)).collect();
    let y = all.iter().map(|&i| 1.0 + 2.0 * x[i] + 0.7 * noise(i / 4, 5) + noise(i, 9)).collect();
    table(vec![("g", all.iter().map(|i| (i / 4) as f64).collect()), ("x", x), ("y", y)])
}

const ROWS: &str = "(param a 0) (param b 1) (param s 1 :min 0) (observe y (+ a (* b x)) :noise (normal s))";
const GROUPS: &str = "(param a 0) (param b 1) (param s 1 :min 0) (param omega 0.5 :min 0) (param eta 0 :per g :effect (normal 0 omega))
    (observe y (+ a eta (* b x)) :noise (normal s))";

/// By chance a variance is estimated to be 0 in half of all cases (Self and Liang 1987): p is half that of chi-square.
#[test]
fn a_variance_that_is_0_in_the_special_case_is_at_its_bound() {
    let found = side_by_side(&[ROWS, GROUPS], &grouped());
    let [test] = &found.tests[..] else { panic!("{found:?}") };
    assert!(test.freedom == 1.0 && test.statistic > 0.1, "{test:?}");
    let z = test.statistic.sqrt();
    // Twice the tail of the normal distribution is that of chi-square with one degree of freedom: 0.0587 at 3.5736.
    assert!((test.p - tail(z)).abs() < 1e-6, "{test:?} instead of {}", tail(z));
    assert!(found.to_text().contains("`omega` is at its bound"), "{}", found.to_text());
    // Held inside its bounds it is an inner point: the law of Wilks.
    let held = GROUPS.replace("(param omega 0.5 :min 0)", "(param omega 0.5 :fixed)");
    let found = side_by_side(&[&held, GROUPS], &grouped());
    assert!((found.tests[0].p - 2.0 * tail(found.tests[0].statistic.max(0.0).sqrt())).abs() < 1e-6, "{found:?}");
}

/// The tail of the standard normal distribution, by Simpson's rule.
fn tail(z: f64) -> f64 {
    let h = 1e-3;
    let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    (0..10_000).map(|k| z + f64::from(k) * h).map(|x| h / 6.0 * (density(x) + 4.0 * density(x + 0.5 * h) + density(x + h))).sum()
}

fn line() -> Table {
    let x: Vec<f64> = (0..30).map(|i| f64::from(i) / 10.0).collect();
    let y = x.iter().enumerate().map(|(i, x)| 1.0 + 2.0 * x + 0.05 * x * x + 0.2 * noise(i, 13)).collect();
    table(vec![("x", x), ("y", y)])
}

#[test]
fn a_constant_held_at_its_bound_is_recognised_and_another_told() {
    let model = |c: &str| format!("(param a 0) (param b 1) {c} (+ a (* b x) (* c x x))");
    let (free, bounded) = (model("(param c 0.1)"), model("(param c 0.1 :min 0)"));
    let (held, gone) = (model("(param c 0 :fixed)"), "(param a 0) (param b 1) (+ a (* b x))".to_string());
    let p = |smaller: &str, larger: &str| {
        let found = side_by_side(&[smaller, larger], &line());
        (found.tests[0].p, 2.0 * tail(found.tests[0].statistic.max(0.0).sqrt()), found.to_text())
    };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let (found, inside, _) = p(&held, &free);
    assert!(near(found, inside));
    let (found, inside, text) = p(&held, &bounded);
    assert!(near(found, 0.5 * inside) && text.contains("`c` is at its bound"), "{text}");
    let (found, inside, text) = p(&gone, &bounded);
    assert!(near(found, inside) && text.contains(" at most") && text.contains("`c`"), "{text}");
    // Bounds on either side of where it is held.
    let (found, inside, _) = p(&held, &model("(param c 0.1 :min -1 :max 1)"));
    assert!(near(found, inside));
}

#[test]
fn no_distribution_is_a_case_of_another_unless_it_is_its_limit() {
    let data = csv("x,y\n0,1\n1,1\n2,3\n3,2\n4,4\n5,7\n6,6\n7,12\n8,11\n9,19\n10,22\n11,31\n");
    let model = |more: &str, noise: &str| format!("(param a 0) (param b 0.1) {more} (observe y (exp (+ a (* b x))) :noise {noise})");
    let poisson = model("", "(poisson)");
    let found = side_by_side(&[&poisson, &model("(param s 1 :min 0)", "(normal s)")], &data);
    assert!(found.tests.is_empty() && found.to_text().contains("is no special case"), "{}", found.to_text());
    assert!(found.remarks.iter().any(|r| r.contains("poisson") && r.contains("normal")), "{:?}", found.remarks);
}

/// A product of two constants is one number: the models are the same, and so are their criteria.
#[test]
fn what_is_not_determined_is_no_degree_of_freedom() {
    let found = side_by_side(&["(param a 1) (* a x)", "(param a 1) (param b 1) (* a b x)"], &line());
    let [one, two] = &found.models[..] else { panic!("{found:?}") };
    assert!((one.k, two.k) == (2.0, 2.0) && (one.aic - two.aic).abs() < 1e-6 && found.tests.is_empty(), "{found:?}");
    assert!(found.remarks.iter().any(|r| r.starts_with("`1`: the data do not determine `a` and `b`")), "{:?}", found.remarks);
    let noisy = "(param s 1 :min 0)";
    let declared = |more: &str, of: &str| format!("(param a 1) {more} {noisy} (observe y {of} :noise (normal s))");
    let found = side_by_side(&[&declared("", "(* a x)"), &declared("(param b 1)", "(* a b x)")], &line());
    assert!(found.models.iter().all(|m| m.k == 2.0) && found.tests.is_empty(), "{found:?}");
}
