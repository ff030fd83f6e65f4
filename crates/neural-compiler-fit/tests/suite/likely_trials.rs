//! What fits by likelihood once got wrong and least squares did not: the target that was asked for, groups without data, bounds, steps that
//! are too long, tails of counts, columns without values. The same model without noise, or with fewer columns, is the reference.

use crate::common::{compile, named, noise, table};
use neural_compiler_fit::{Fit, Options, Table, fit};

fn fitted(text: &str, data: &Table, options: &Options<'_>) -> Fit {
    fit(&compile(text), data, options).unwrap_or_else(|e| panic!("{e}"))
}

fn value(of: &Fit, name: &str) -> f64 {
    of.parameter(name).unwrap_or_else(|| panic!("no `{name}`")).value
}

/// A swing, seen by its place and by its speed, which is made to contradict it.
fn swing(columns: &[&str]) -> Table {
    let t: Vec<f64> = (0..25).map(|i| f64::from(i) / 4.0).collect();
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| (1.3 * t).cos() + 0.03 * noise(i, 1)).collect();
    let v: Vec<f64> = t.iter().enumerate().map(|(i, t)| -(1.1 * t).sin() + 0.2 * noise(i, 2)).collect();
    table([("t", t), ("x", x), ("v", v)].into_iter().filter(|c| columns.contains(&c.0)).collect())
}

const SWING: &str = "(param w2 1.5 :min 0) (param x0 1) (state x x0) (state v 0) (derive x v) (derive v (- (* w2 x)))";

#[test]
fn the_target_is_the_only_column_fitted() {
    let models = [
        format!("{SWING} (param s 0.1 :min 0) (observe x x :noise (normal s))"),
        "(param w2 1.5 :min 0) (observe x (cos (* (sqrt w2) t))) (observe v (- (* (sqrt w2) (sin (* (sqrt w2) t)))))".to_string(),
    ];
    for model in models {
        let asked = fitted(&model, &swing(&["t", "x", "v"]), &Options { target: Some("x".into()), ..Options::default() });
        let alone = fitted(&model, &swing(&["t", "x"]), &Options::default());
        assert_eq!((asked.observations, asked.likelihood.k, &asked.targets), (25, alone.likelihood.k, &alone.targets), "{model}");
        assert!(
            (asked.likelihood.loglik - alone.likelihood.loglik).abs() < 1e-6 && (value(&asked, "w2") - value(&alone, "w2")).abs() < 1e-6
        );
        assert!(asked.warnings.iter().any(|w| w.contains("`x` is the target: what observes `v` is not fitted")), "{:?}", asked.warnings);
        let both = fitted(&model, &swing(&["t", "x", "v"]), &Options::default());
        assert!(both.observations == 50 && (value(&both, "w2") - value(&alone, "w2")).abs() > 1e-4, "{model}");
        let none = fit(&compile(&model), &swing(&["t", "x", "v"]), &Options { target: Some("w".into()), ..Options::default() });
        assert_eq!(none.expect_err("nothing observes it").0[0].code, "no-target");
    }
}

#[test]
fn a_column_without_values_costs_nothing() {
    let t: Vec<f64> = (0..20).map(f64::from).collect();
    let a: Vec<f64> = t.iter().enumerate().map(|(i, t)| 2.0 + 0.5 * t + noise(i, 3)).collect();
    let model = "(param p 1) (param q 1) (observe a (+ p (* q t))) (observe b (* p t))";
    let with = fitted(model, &table(vec![("t", t.clone()), ("a", a.clone()), ("b", vec![f64::NAN; 20])]), &Options::default());
    let without = fitted(model, &table(vec![("t", t.clone()), ("a", a)]), &Options::default());
    assert_eq!((with.likelihood.k, with.likelihood.aic()), (without.likelihood.k, without.likelihood.aic()));
    assert!(with.warnings.iter().any(|w| w.contains("`b` has no value at all")), "{:?}", with.warnings);
    let nothing = fit(&compile(model), &table(vec![("t", t), ("a", vec![f64::NAN; 20])]), &Options::default());
    assert_eq!(nothing.expect_err("there is nothing to explain").0[0].code, "no-target");
}

/// Three groups that decay, the third of which may have no values.
fn groups(values_of_third: bool, rate: [f64; 3]) -> Table {
    let (mut g, mut t, mut y) = (vec![], vec![], vec![]);
    for (k, rate) in rate.iter().enumerate() {
        for i in 0..8 {
            let time = 0.3 + 0.5 * i as f64;
            let seen = values_of_third || k < 2;
            g.push(k as f64);
            t.push(time);
            y.push(if seen { 3.0 * (-rate * time).exp() + 0.05 * noise(8 * k + i, 5) } else { f64::NAN });
        }
    }
    table(vec![("g", g), ("t", t), ("y", y)])
}

#[test]
fn a_group_without_values_is_named() {
    let data = groups(false, [0.5, 0.9, 0.7]);
    for model in [
        "(param A 2) (param k 0.5 :per g) (* A (exp (- (* k t))))",
        "(time t :start 0) (param A 2) (param k 0.5 :per g) (state y A) (derive y (- (* k y)))",
    ] {
        let how = Options { target: Some("y".into()), ..Options::default() };
        let refused = fit(&compile(model), &data, &how).expect_err("nothing is known of one group");
        assert!(refused.0[0].code == "no-target" && refused.0[0].message.contains("`k[2]`"), "{refused}");
    }
}

#[test]
fn a_bound_is_where_a_likelihood_may_be_largest() {
    // The first group wants a rate below its bound.
    let data = groups(true, [0.5, 0.9, 0.7]);
    let per = "(param A 2 :min 0) (param k 0.8 :min 0.6 :per g) (* A (exp (- (* k t))))";
    let found = fitted(per, &data, &Options { target: Some("y".into()), ..Options::default() });
    assert!(found.converged && found.message.starts_with("a maximum"), "{}", found.message);
    let at = found.parameter("k[0]").expect("a group");
    assert!(at.value == 0.6 && at.stderr.is_none(), "{at:?}");
    // With that rate given the others are those of least squares, errors and intervals too.
    let given = "(param A 2 :min 0) (param k1 0.8) (param k2 0.8) (* A (exp (- (* (if (< g 0.5) 0.6 (if (< g 1.5) k1 k2)) t))))";
    let plain = fitted(given, &data, &Options { target: Some("y".into()), ..Options::default() });
    for (name, other) in [("A", "A"), ("k[1]", "k1"), ("k[2]", "k2")] {
        let (a, b) = (found.parameter(name).unwrap(), plain.parameter(other).unwrap());
        assert!((a.value / b.value - 1.0).abs() < 1e-6, "{name}: {} instead of {}", a.value, b.value);
        let (a, b) = (a.stderr.expect("an error"), b.stderr.expect("an error"));
        assert!((a / b - 1.0).abs() < 0.1, "error of {name}: {a} instead of {b}");
    }
}

#[test]
fn steps_that_are_too_long_are_told_by_likelihoods_too() {
    let data = groups(true, [0.5, 0.9, 0.7]);
    let model = "(time t :start 0) (param A 2) (param k 0.5 :per g) (state y A) (derive y (- (* k y)))";
    let rough = fitted(model, &data, &Options { scheme: Some(named("euler")), step: Some(0.5), ..Options::default() });
    assert!(
        rough.warnings.iter().any(|w| w.contains("solved again with 2 times as many steps, predictions change")),
        "{:?}",
        rough.warnings
    );
    let usual = fitted(model, &data, &Options::default());
    assert!(!usual.warnings.iter().any(|w| w.contains("solved again")), "{:?}", usual.warnings);
}

/// Residuals of counts far above what is expected: mpmath with 60 digits, the quantile of P(y) - p(y)/2 of the Poisson distribution with
/// mean 5.135 at 60, where 1 less that probability is 1.8e-42 and less than can be seen beside 1.
#[test]
fn counts_far_above_have_their_residuals() {
    let y: Vec<f64> = (0..400).map(|i| if i == 7 { 60.0 } else { 5.0 + (i % 3) as f64 - 1.0 }).collect();
    let mean = y.iter().sum::<f64>() / 400.0;
    let found = fitted("(param m 4 :min 0) (observe y m :noise (poisson))", &table(vec![("y", y)]), &Options::default());
    assert!((value(&found, "m") - mean).abs() < 1e-6);
    let (largest, row) = found.standard.iter().zip(0..).fold((0.0, 0), |m, (x, i)| if *x > m.0 { (*x, i) } else { m });
    assert!(row == 7 && (largest - 13.607_946_073_661).abs() < 1e-6, "{largest} in {row}");
}
