//! What data determine, to the digits the number type has, and what they do not, group by group. Expected numbers follow from sums around
//! the mean, which are exact.

use crate::common::{compile, csv, noise, table};
use neural_compiler_fit::{Fit, Options, Table, fit};

fn fitted(text: &str, data: &Table, options: &Options<'_>) -> Fit {
    fit(&compile(text), data, options).unwrap_or_else(|e| panic!("{e}"))
}

fn line_from(offset: f64) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..20).map(|i| offset + f64::from(i) * 0.25).collect();
    let y = (0..20).map(|i| 1.0 + 0.5 * f64::from(i) + 0.1 * noise(i as usize, 31)).collect();
    (x, y)
}

/// Slope and its standard error, from sums around the mean.
fn slope(x: &[f64], y: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let (mx, my) = (x.iter().map(|v| v - x[0]).sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let dx: Vec<f64> = x.iter().map(|v| v - x[0] - mx).collect();
    let sxx: f64 = dx.iter().map(|d| d * d).sum();
    let b = dx.iter().zip(y).map(|(d, y)| d * (y - my)).sum::<f64>() / sxx;
    let left: f64 = dx.iter().zip(y).map(|(d, y)| (y - my - b * d).powi(2)).sum();
    (b, (left / (n - 2.0) / sxx).sqrt())
}

#[test]
fn a_line_far_from_its_origin_has_a_slope() {
    for offset in [1e8, 1e10, 1e11] {
        let (x, y) = line_from(offset);
        let (b, error) = slope(&x, &y);
        let found = fitted("(param a 1) (param b 1) (+ a (* b x))", &table(vec![("x", x), ("y", y)]), &Options::default());
        let p = found.parameter("b").unwrap();
        assert!((p.value - b).abs() < 1e-2 * error, "{offset:e}: {p:?} instead of {b} ± {error}");
        assert!((p.stderr.expect("it is determined") / error - 1.0).abs() < 1e-2, "{offset:e}: {p:?} instead of {b} ± {error}");
        // The other constant is as sure, in its own unit: it is -b times the offset, but for the mean.
        let a = found.parameter("a").unwrap().stderr.expect("it is determined");
        assert!((a / (error * offset) - 1.0).abs() < 1e-2, "{offset:e}: {a}");
    }
}

/// The same columns, but for the last digit: nothing is determined, however small what is left over is.
#[test]
fn what_differs_by_rounding_is_not_determined() {
    let (x, y) = line_from(0.0);
    let same: Vec<f64> = x.iter().map(|x| 3.0 * (x / 3.0)).collect();
    let exact: Vec<f64> = x.iter().map(|x| 1.0 + 2.0 * x).collect();
    let open = |model: &str, y: &[f64]| {
        let data = table(vec![("x", x.clone()), ("z", same.clone()), ("y", y.to_vec())]);
        let found = fitted(model, &data, &Options { target: Some("y".into()), ..Options::default() });
        found.undetermined.iter().map(|u| u.parameters.join(" ")).collect::<Vec<_>>()
    };
    for y in [&y, &exact] {
        assert_eq!(open("(param a 1) (param b 1) (param c 1) (+ a (* b x) (* c z))", y), ["b c"]);
        assert_eq!(open("(param a 1) (param b 1) (param c 1) (+ a (* b c x))", y), ["b c"]);
        // One exponent is the sum of two.
        assert_eq!(open("(param a 1) (param b 0.1) (param c 0.1) (* a (exp (* b x)) (exp (* c x)))", y), ["b c"]);
        assert_eq!(open("(param a 1) (param b 0.1) (param c 0.1) (* a (sin (+ b (* 0.001 x) c)))", y).last().unwrap(), "b c");
    }
}

const LINES: &str = "g,t,y\n1,0,0.96\n1,1,3.12\n1,2,5.14\n1,3,7.03\n2,0,0.91\n2,1,4.91\n2,2,8.90\n2,3,13.09\n";
const OWN: &str = "(param A 1 :per g) (param B 1 :per g) (+ A (* B t))";

#[test]
fn a_group_that_determines_nothing_leaves_the_others_theirs() {
    let without = fitted(OWN, &csv(LINES), &Options { target: Some("y".into()), ..Options::default() });
    for rows in ["3,2,5\n", "3,2,5\n3,2,6\n"] {
        let found = fitted(OWN, &csv(&format!("{LINES}{rows}")), &Options { target: Some("y".into()), ..Options::default() });
        for name in ["A[1]", "B[1]", "A[2]", "B[2]"] {
            let (p, expected) = (found.parameter(name).unwrap(), without.parameter(name).unwrap());
            assert!((p.value / expected.value - 1.0).abs() < 1e-6, "{p:?} instead of {expected:?}");
            assert!(p.stderr.is_some(), "{p:?}");
        }
        for name in ["A[3]", "B[3]"] {
            let p = found.parameter(name).unwrap();
            assert!(p.stderr.is_none() && p.note.as_deref() == Some("not determined by the data"), "{p:?}");
        }
        let value = |name: &str| found.parameter(name).unwrap().value;
        let mean = if rows.len() > 6 { 5.5 } else { 5.0 };
        assert!((value("A[3]") + 2.0 * value("B[3]") - mean).abs() < 1e-6, "{:?}", found.parameters);
        let open = found.undetermined.iter().find(|u| u.parameters == ["A[3]", "B[3]"]).expect("it is said");
        assert!((open.determined[0].value - mean).abs() < 1e-6 || open.determined[0].text.contains("A[3]"), "{open:?}");
    }
}

/// The slope of all, beside constants of each group that a group without rows at other times leaves open.
#[test]
fn shared_constants_beside_what_a_group_leaves_open() {
    let model = "(param A 1 :per g) (param C 1 :per g) (param B 1) (+ A (* C t) (* B t t))";
    let rows = "3,2,5\n3,2,6\n";
    let how = Options { target: Some("y".into()), ..Options::default() };
    let (without, found) = (fitted(model, &csv(LINES), &how), fitted(model, &csv(&format!("{LINES}{rows}")), &how));
    let (b, expected) = (found.parameter("B").unwrap(), without.parameter("B").unwrap());
    assert!((b.value - expected.value).abs() < 1e-6 && b.stderr.is_some(), "{b:?} instead of {expected:?}");
    assert!(found.parameter("C[3]").unwrap().stderr.is_none());
}

/// A number that fills rows of weight 0 is none of the data: noise of 0.3 was rounding beside 10^20.
#[test]
fn noisy_data_are_not_met_exactly_beside_what_fills_rows_of_weight_0() {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let w: Vec<f64> = (0..20).map(|i| if i % 5 == 3 { 0.0 } else { 1.0 }).collect();
    let y = (0..20).map(|i| if i % 5 == 3 { 1e20 } else { 1.0 + 2.0 * i as f64 + 0.3 * noise(i, 4) }).collect();
    let options = Options { target: Some("y".into()), weights_column: Some("w".into()), ..Options::default() };
    let found = fit(&compile("(param a 0) (param b 1) (+ a (* b x))"), &table(vec![("x", x), ("y", y), ("w", w)]), &options).unwrap();
    assert!(!found.exact && found.parameters.iter().all(|p| p.stderr.is_some()), "{}", found.message);
    let one = [("a".to_string(), &found)];
    assert!(neural_compiler_fit::compare(&one).is_ok());
}
