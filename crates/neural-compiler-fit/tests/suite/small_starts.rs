//! States that start many orders of magnitude below the data they grow to. The closed form decides: SciPy's `least_squares` on it, the
//! logarithm of the start as its parameter.

use crate::common::{compile, csv};
use neural_compiler::Shape;
use neural_compiler_fit::{Options, fit, predict, simulate};

const SEED: &str = "t,x\n\
35,-0.005097\n\
36,-0.006259\n\
37,0.007675\n\
38,0.035692\n\
39,0.077307\n\
40,0.200114\n\
41,0.388188\n\
42,0.635182\n\
43,0.840872\n\
44,0.933257\n\
45,0.967119\n\
46,0.987751\n\
47,1.001546\n\
48,1.017928\n\
49,0.996780\n\
50,0.997372";
const DECAY: &str = "t,x\n\
0,10.408184\n\
0.5,7.276875\n\
1,6.148926\n\
1.5,4.610112\n\
2,3.588265\n\
2.5,2.821929\n\
3,1.827304\n\
3.5,1.691353\n\
4,1.180310\n\
4.5,1.718592\n\
5,0.866007\n\
5.5,0.568752\n\
6,0.441613";

fn close(found: f64, right: f64, by: f64) {
    assert!((found / right - 1.0).abs() < by, "{found} instead of {right}");
}

#[test]
fn a_logistic_from_10_to_the_minus_18_is_the_closed_form() {
    let text = "(time t :start 0) (param k 0.9) (param x0 1e-16 :min 0) (state x x0) (derive x (* k x (- 1 x)))";
    let (program, data) = (compile(text), csv(SEED));
    let found = fit(&program, &data, &Options::default()).unwrap();
    assert!(found.converged, "{:?}", found.check);
    let (k, x0) = (found.parameter("k").unwrap().value, found.parameter("x0").unwrap().value);
    close(found.cost, 0.000909016, 1e-5);
    close(k, 1.012266776, 1e-5);
    let values = [("k", k), ("x0", x0)].map(|(name, x)| (name.to_string(), Shape::Scalar, vec![x])).to_vec();
    let again = predict(&program, &data, &Options { values, ..Options::default() }).unwrap();
    for (t, x) in data.column("t").unwrap().iter().zip(&again[0].1) {
        close(*x, 1.0 / (1.0 + (1.0 / x0 - 1.0) * (-k * t).exp()), 1e-5);
    }
}

#[test]
fn a_decay_from_a_start_far_behind_the_data_is_right_or_no_minimum() {
    // From a = 9 the search would have to come to 10^-22, where the first row is as it is.
    let program = compile("(param k 0.4) (param a 9) (state x a) (derive x (* (- k) x))");
    let at = |time: f64| fit(&program, &csv(DECAY), &Options { start_time: Some(time), ..Options::default() }).unwrap();
    assert!(at(20.0).converged);
    for found in [at(20.0), at(100.0)].iter().filter(|f| f.converged) {
        let k = found.parameter("k").unwrap();
        close(k.value, 0.51619, 1e-4);
        close(k.stderr.unwrap(), 0.020865, 1e-3);
    }
}

/// `(- 1 0.9 0.1)` is 0 but for rounding, -2.8e-17, and so is what the two other states do not come to: x + y = 1, x = 0.5 + 0.4 exp(-0.6
/// t). What is told of z are digits of rounding, which no tolerance makes alike.
#[test]
fn what_is_only_rounding_is_predicted() {
    let model = "(param k 0.3) (state x 0.9) (state y 0.1) (state z (- 1 0.9 0.1)) (derive x (- (* k y) (* k x)))
                 (derive y (- (* k x) (* k y))) (derive z (- (+ x y) 1)) (observe twice (* 2 z))";
    let rows = csv("t\n0\n1\n2\n5\n20");
    let found = predict(&compile(model), &rows, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    for (t, (x, z)) in rows.column("t").unwrap().iter().zip(found[0].1.iter().zip(&found[2].1)) {
        close(*x, 0.5 + 0.4 * (-0.6 * t).exp(), 1e-6);
        assert!(z.abs() < 1e-13, "{z} at {t}");
    }
    let sets = vec![("k".to_string(), vec![0.3, 3.0])];
    let swept = simulate(&compile(model), &rows, &Options::default(), &sets).unwrap_or_else(|e| panic!("{e}"));
    assert!(swept.column(2).iter().all(|z| z.abs() < 1e-13), "{swept:?}");
}
