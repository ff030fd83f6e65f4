//! Fits that run into values at which the solution cannot be computed. The two tables are those of a trial: x = (1 - 0.35 t)² until it is
//! 0, which x' = -0.7 √x solves, and x = e^-t.

use crate::common::{compile, noise, table};
use neural_compiler_fit::{Fit, Options, fit};

fn fitted(model: &str, x: impl Fn(f64) -> f64, last: f64) -> Fit {
    let t: Vec<f64> = (0..20).map(|i| 0.5 * f64::from(i)).take_while(|t| *t <= last).collect();
    let x = t.iter().map(|t| x(*t)).collect();
    fit(&compile(model), &table(vec![("t", t), ("x", x)]), &Options::default()).unwrap()
}

fn drained(t: f64) -> f64 {
    (1.0 - 0.35 * t).max(0.0).powi(2)
}

#[test]
fn a_wall_is_no_minimum() {
    // The solution ends where x = 0, at 2/a: data up to 9.5 allow no a above 2/9.5, and the data ask for one.
    let fit = fitted("(param a 0.1 :min 0) (state x 1) (derive x (- (* a (sqrt x))))", drained, 9.5);
    let a = fit.parameter("a").unwrap();
    assert!(!fit.converged && a.stderr.is_none() && a.ci95.is_none(), "{a:?} {}", fit.message);
    assert!(fit.message.contains("no minimum"), "{}", fit.message);
    // What the rows before say, and where the solution ends: 2/0.7 = 2.857.
    assert!(fit.warnings.iter().any(|w| w.contains("a = 0.700000") && w.contains("time 2.857")), "{:?}", fit.warnings);
}

#[test]
fn nor_is_what_is_squeezed_against_one() {
    // x² = 1 - 2 a t ends at 1/(2a); the last row holds the solution just before that, with a derivative of 1e5 and no meaning.
    let fit = fitted("(param a 0.01 :min 0) (state x 1) (derive x (- (/ a x)))", |t| (-t).exp(), 9.5);
    let a = fit.parameter("a").unwrap();
    assert!(!fit.converged && a.stderr.is_none(), "{a:?} {}", fit.message);
    assert!(fit.warnings.iter().any(|w| w.contains("seems to end at about time 9.50000")), "{:?}", fit.warnings);
}

/// The data fall, and the model can only rise: it is best at b = 0, where it stands still, so that the step of Gauss and Newton goes
/// anywhere, cosh(10^9) included. The mean is then the best constant there is, and second derivatives say how sure it is.
#[test]
fn a_minimum_where_the_model_stands_still_is_no_wall() {
    let t: Vec<f64> = (0..30).map(|i| f64::from(i) / 3.0).collect();
    let y: Vec<f64> = t.iter().enumerate().map(|(i, t)| 5.0 - 0.3 * t + 0.2 * noise(i, 7)).collect();
    let (n, mean) = (y.len() as f64, y.iter().sum::<f64>() / y.len() as f64);
    let deviation = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
    let data = table(vec![("t", t), ("y", y)]);
    let curve = "(+ a (* t (- (cosh b) 1)))";
    let likely = format!("(param a 1) (param b 1) (param s 1 :min 0) (observe y {curve} :noise (normal s))");
    for model in [format!("(param a 1) (param b 1) {curve}"), likely] {
        let found = fit(&compile(&model), &data, &Options::default()).unwrap();
        assert!(found.converged && found.warnings.iter().all(|w| !w.contains("ask for values beyond")), "{model}: {}", found.message);
        assert!((found.parameter("a").unwrap().value - mean).abs() < 1e-6, "{:?}", found.parameters);
        if let Some(s) = found.parameter("s") {
            assert!((s.value / deviation - 1.0).abs() < 1e-6 && s.stderr.is_some(), "{s:?}");
        }
    }
}

#[test]
fn a_model_that_goes_on_is_fitted() {
    let fit = fitted("(param a 0.1 :min 0) (state x 1) (derive x (if (> x 0) (- (* a (sqrt x))) 0))", drained, 9.5);
    assert!((fit.parameter("a").unwrap().value - 0.7).abs() < 1e-4, "{:?} {:?}", fit.parameters, fit.warnings);
}

#[test]
fn a_start_from_which_the_data_are_out_of_reach() {
    // From a = 3 the solution ends at 0.67, long before the last row.
    let fit = fitted("(param a 3 :min 0) (state x 1) (derive x (- (* a (sqrt x))))", drained, 2.5);
    assert!(fit.converged && (fit.parameter("a").unwrap().value - 0.7).abs() < 1e-7, "{:?} {}", fit.parameters, fit.message);
}

#[test]
fn a_solution_without_derivative_does_not_diverge() {
    let empty = "(param a 0.1 :min 0) (state x 1) (derive x (- (* a (sqrt (max x 0)))))";
    let fit = fitted(empty, drained, 9.5);
    assert!(fit.warnings.iter().any(|w| w.contains("has no derivative") && w.contains("(if (> x 0)")), "{:?}", fit.warnings);
    // What is said there helps.
    let fit = fitted("(param a 0.1 :min 0) (state x 1) (derive x (if (> x 0) (- (* a (sqrt x))) 0))", drained, 9.5);
    assert!(fit.converged && (fit.parameter("a").unwrap().value - 0.7).abs() < 1e-6, "{fit:?}");
}
