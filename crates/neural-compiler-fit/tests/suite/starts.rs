//! Starts of states that are expressions. Expected numbers are those of the same models written as formulas, or as models whose states
//! start at parameters.

use crate::common::{compile, named, noise, table};
use neural_compiler_fit::{Fit, Options, Table, fit, predict};

/// Doses of three subjects into an unknown volume, one of them observed twice at a time.
fn doses() -> Table {
    let times = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    let (mut t, mut who, mut dose, mut c) = (vec![], vec![], vec![], vec![]);
    for (k, amount) in [100.0, 250.0, 40.0].into_iter().enumerate() {
        for (i, time) in times.into_iter().enumerate() {
            t.push(time);
            who.push(k as f64);
            dose.push(amount);
            c.push(amount / 18.0 * (-0.35f64 * time).exp() + 0.05 * noise(8 * k + i, 3));
        }
    }
    table(vec![("t", t), ("who", who), ("dose", dose), ("C", c)])
}

fn same(found: &Fit, wanted: &Fit, within: f64) {
    for p in &found.parameters {
        let q = wanted.parameter(&p.name).unwrap();
        let (e, f) = (p.stderr.unwrap(), q.stderr.unwrap());
        assert!((p.value - q.value).abs() < within * f, "{}: {} and {} ± {f}", p.name, p.value, q.value);
        assert!((e / f - 1.0).abs() < 1e-4, "{}: ± {e} and {f}", p.name);
    }
    assert!((found.likelihood.loglik - wanted.likelihood.loglik).abs() < 1e-6 * wanted.likelihood.loglik.abs());
}

#[test]
fn a_dose_over_a_volume_is_the_formula_of_its_solution() {
    let formula = "(param V 10 :min 1) (param k 1 :min 0) (* (/ dose V) (exp (* (- k) t)))";
    let wanted = fit(&compile(formula), &doses(), &Options { target: Some("C".into()), ..Options::default() }).unwrap();
    let model = "(time t :start 0) (param V 10 :min 1) (param k 1 :min 0) (state C (/ dose V)) (derive C (* (- k) C))";
    for scheme in [None, Some(named("rosenbrock")), Some(named("tsit5"))] {
        let options = Options { group: Some("who".into()), scheme, ..Options::default() };
        same(&fit(&compile(model), &doses(), &options).unwrap(), &wanted, 1e-5);
    }
}

#[test]
fn starts_depend_on_parameters_and_definitions_of_several_states() {
    // Parents and daughters in equilibrium at the start, a vector and a number.
    let t: Vec<f64> = (0..30).map(|i| 0.2 * f64::from(i)).collect();
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| 3.0 * (-0.4 * t).exp() + 0.01 * noise(i, 1)).collect();
    let y: Vec<f64> = t.iter().enumerate().map(|(i, t)| 6.0 * (-0.7 * t).exp() + 0.02 * noise(i, 2)).collect();
    let data = table(vec![("t", t), ("u[0]", x.clone()), ("u[1]", y), ("w", x)]);
    let computed = "(param a 1 :min 0) (param p 1 :min 0) (param q 1 :min 0) (define twice (* 2 a))
        (state u (vec a twice) :size 2) (state w (* 0.5 twice)) (derive u (* -1 [p q] u)) (derive w (* (- p) w))";
    let wanted = "(param a 1 :min 0) (param p 1 :min 0) (param q 1 :min 0)
        (state u (* a [1 2]) :size 2) (state w a) (derive u (* -1 [p q] u)) (derive w (* (- p) w))";
    let options = Options { sigma: Some(0.01), ..Options::default() };
    let (found, wanted) = (fit(&compile(computed), &data, &options).unwrap(), fit(&compile(wanted), &data, &options).unwrap());
    same(&found, &wanted, 1e-6);
    assert!((found.parameter("a").unwrap().value - 3.0).abs() < 0.02);
}

#[test]
fn the_way_back_agrees_with_the_way_forward() {
    let model = "(time t :start 0) (param V 10 :min 1) (param k 1 :min 0) (net g (C) 3 1)
        (state C (/ dose V)) (derive C (+ (* (- k) C) (g C)))";
    let run = |training: &str| {
        let options = Options {
            group: Some("who".into()),
            scheme: Some(named("rk4")),
            training: training.parse().unwrap(),
            epochs: Some(300),
            seed: 2,
            ..Options::default()
        };
        fit(&compile(model), &doses(), &options).unwrap()
    };
    let [one, other] = ["gauss-newton", "first-order"].map(run);
    for fit in [&one, &other] {
        assert!((fit.parameter("V").unwrap().value - 18.0).abs() < 1.0, "{:?}", fit.parameters);
        assert!(fit.r2 > 0.99 || fit.columns[0].r2 > 0.99, "{:?}", fit.columns);
    }
}

#[test]
fn predictions_start_where_the_expression_says() {
    let model = "(time t :start 0) (param V 20) (param k 0.5) (state C (/ dose V)) (derive C (* (- k) C))";
    let data = table(vec![("t", vec![0.0, 2.0, 1.0, 3.0]), ("who", vec![0.0, 0.0, 1.0, 1.0]), ("dose", vec![100.0, 100.0, 40.0, 40.0])]);
    let found = predict(&compile(model), &data, &Options { group: Some("who".into()), ..Options::default() }).unwrap();
    for (x, wanted) in found[0].1.iter().zip([5.0, 5.0 * (-1.0f64).exp(), 2.0 * (-0.5f64).exp(), 2.0 * (-1.5f64).exp()]) {
        assert!((x - wanted).abs() < 1e-7, "{x} instead of {wanted}");
    }
    // The time at which starts hold is known to them.
    let late = "(time t :start 2) (state x (* 3 t)) (derive x 0)";
    assert_eq!(predict(&compile(late), &table(vec![("t", vec![2.0, 4.0])]), &Options::default()).unwrap()[0].1, [6.0, 6.0]);
}

#[test]
fn what_a_start_lacks_is_named() {
    let code = |model: &str, data: Table| predict(&compile(model), &data, &Options::default()).unwrap_err().0[0].clone();
    let model = "(param V 20) (state C (/ dose V)) (derive C (- C))";
    let missing = code(model, table(vec![("t", vec![0.0, 1.0])]));
    assert_eq!(missing.code, "missing-column");
    assert!(missing.message.contains("`dose`"), "{}", missing.message);
    let apart = code(model, table(vec![("t", vec![0.0, 0.0]), ("dose", vec![1.0, 2.0])]));
    assert_eq!(apart.code, "rows-disagree");
    let root = code("(param a -1) (state C (sqrt a)) (derive C (- C))", table(vec![("t", vec![0.0, 1.0])]));
    assert_eq!(root.code, "no-prediction");
    assert!(root.message.contains("starts of the states"), "{}", root.message);
}

/// Data far from 0, which the constant that takes them up does not begin at: fits by likelihood ended on a line. What is most probable is
/// at least as probable as the truth.
#[test]
fn likelihoods_of_data_far_from_where_the_constants_begin() {
    let t: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i)).collect();
    let truth: Vec<f64> = t.iter().map(|t| 1e8 + 2.0 * (-0.5 * t).exp()).collect();
    let y: Vec<f64> = truth.iter().enumerate().map(|(i, y)| y + 0.1 * noise(i, 5)).collect();
    let density = |r: f64| -0.5 * (r / 0.1f64).powi(2) - 0.1f64.ln() - 0.5 * std::f64::consts::TAU.ln();
    let least: f64 = y.iter().zip(&truth).map(|(y, at)| density(y - at)).sum();
    let model = "(param c 0) (param a 1) (param k 1) (observe y (+ c (* a (exp (- (* k t))))) :noise (normal 0.1))";
    let found = fit(&compile(model), &table(vec![("t", t), ("y", y)]), &Options::default()).unwrap();
    assert!(found.converged && found.likelihood.loglik >= least, "{} < {least}: {:?}", found.likelihood.loglik, found.parameters);
}
