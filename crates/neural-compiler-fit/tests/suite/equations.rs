//! Models with equations inside: examples/equations beside SciPy's fits of the same laws (examples/equations/simulate.py), and a law whose
//! right-hand side is a root.

use crate::common::{compile, csv, table};
use neural_compiler_fit::{Fit, Options, Table, fit};

fn agrees(found: &Fit, expected: &[(&str, f64, f64)]) {
    for (name, value, error) in expected {
        let p = found.parameter(name).expect("a parameter");
        let stderr = p.stderr.unwrap_or(f64::NAN);
        assert!((p.value - value).abs() < 1e-3 * error, "{name}: {}, not {value}", p.value);
        assert!((stderr - error).abs() < 1e-3 * error, "{name}: ± {stderr}, not {error}");
    }
}

fn target(model: &str, data: &Table, name: &str) -> Fit {
    fit(&compile(model), data, &Options { target: Some(name.into()), ..Options::default() }).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_titration_curve_has_the_constants_scipy_finds() {
    let model = include_str!("../../../../examples/equations/titration.scm");
    let found = target(model, &csv(include_str!("../../../../examples/equations/titration.csv")), "pH");
    agrees(&found, &[("pKa", 4.742_677_72, 0.014_313_1), ("acid", 0.079_707_436_3, 0.000_181_317)]);
}

#[test]
fn volumes_of_a_real_gas_have_the_constants_scipy_finds() {
    let model = include_str!("../../../../examples/equations/van-der-waals.scm");
    let found = target(model, &csv(include_str!("../../../../examples/equations/van-der-waals.csv")), "volume");
    agrees(&found, &[("a", 0.354_243_833, 0.052_226_7), ("b", 4.142_763_19e-5, 1.531_28e-5)]);
}

#[test]
fn a_law_may_solve_an_equation() {
    // x = y + y³ and x' = -k y: log y + 3/2 y² falls by k t.
    let model = "(param k 1 :min 0) (state x 2) (derive x (- (* k (root (y 1) (- (+ y (* y y y)) x)))))";
    let times: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
    let x = |t: f64| {
        let (mut low, mut high) = (1e-9f64, 1.0);
        while low < (low + high) / 2.0 && (low + high) / 2.0 < high {
            let middle = (low + high) / 2.0;
            *(if middle.ln() + 1.5 * middle * middle < 1.5 - 0.7 * t { &mut low } else { &mut high }) = middle;
        }
        low + low * low * low
    };
    let data = table(vec![("t", times.clone()), ("x", times.iter().map(|t| x(*t)).collect())]);
    let found = fit(&compile(model), &data, &Options::default()).unwrap();
    assert!((found.parameter("k").unwrap().value - 0.7).abs() < 1e-7, "{:?}", found.parameter("k"));
}
