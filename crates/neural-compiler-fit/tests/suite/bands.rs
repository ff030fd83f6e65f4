//! How sure predictions are, what residuals show, and fits of data drawn anew: against R 4.2.2 and closed forms.

use crate::common::{compile, noise, table};
use neural_compiler_fit::plot::{Drawing, Look};
use neural_compiler_fit::{Fit, Known, Options, Resampling, Stage, Table, bands, fit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn run(model: &str, data: &Table, options: &Options<'_>) -> Fit {
    fit(&compile(model), data, options).unwrap_or_else(|e| panic!("{e}"))
}

fn near(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * b.abs().max(1e-12)
}

const X: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
const Y: [f64; 8] = [2.1, 3.9, 6.2, 7.8, 10.3, 11.6, 14.4, 15.7];

/// `predict(lm(y ~ x), data.frame(x = c(0, 4.5, 10)), se.fit = TRUE, interval = "confidence")`, then `interval = "prediction"`.
#[test]
fn a_line_as_r_has_it() {
    let model = "(param a 0) (param b 1) (+ a (* b x))";
    let found = run(model, &table(vec![("x", X.to_vec()), ("y", Y.to_vec())]), &Options::default());
    let asked = table(vec![("x", vec![0.0, 4.5, 10.0])]);
    let options = Options { values: found.values.clone(), ..Options::default() };
    let all = bands(&compile(model), &asked, &options, &Known::of(&found).unwrap()).unwrap();
    assert_eq!(all[0].name, "prediction");
    for (row, [value, error, low, high, lowest, highest]) in LINE.iter().enumerate() {
        let b = &all[0];
        let numbers = [b.value[row], b.stderr[row], b.confidence.0[row], b.confidence.1[row], b.prediction.0[row], b.prediction.1[row]];
        for (ours, theirs) in numbers.iter().zip([value, error, low, high, lowest, highest]) {
            assert!(near(*ours, *theirs, 1e-8), "{row}: {numbers:?}");
        }
    }
}

const LINE: [[f64; 6]; 3] = [
    [0.085714285714288, 0.24325364457888, -0.50950594003998, 0.68093451146855, -0.88269618485418, 1.0541247562828],
    [9.0, 0.11037454272856, 8.72992322333277, 9.27007677666723, 8.18976966999831, 9.8102303300017],
    [19.895238095238096, 0.2870142384821, 19.1929395536489, 20.59753663682729, 18.85757005396574, 20.9329061365105],
];

/// Half of 5000 trials: of 10 more, 2 to 8 succeed (`qbinom(c(0.025, 0.975), 10, 0.5)`), of 1000 more 469 to 531; 1000 add the error of the
/// probability, 0.5/sqrt(5000), to theirs, 0.5/sqrt(1000), and reach 1.96 * 17.3 = 34 to either side.
#[test]
fn successes_of_trials_have_an_interval() {
    let model = "(param b 0) (observe y (sigmoid b) :noise (binomial n))";
    let found = run(model, &table(vec![("n", vec![1000.0; 5]), ("y", vec![500.0, 480.0, 520.0, 490.0, 510.0])]), &Options::default());
    let options = Options { values: found.values.clone(), ..Options::default() };
    let all = bands(&compile(model), &table(vec![("n", vec![10.0, 1000.0])]), &options, &Known::of(&found).unwrap()).unwrap();
    let ends = &all[0].prediction;
    assert_eq!((ends.0[0], ends.1[0]), (2.0, 8.0));
    assert!((ends.0[1] - 466.0).abs() <= 1.0 && (ends.1[1] - 534.0).abs() <= 1.0, "{ends:?}");
    assert_eq!(all[0].unsaid, None);
}

/// Where there is no interval for new observations, it is said why.
#[test]
fn intervals_that_are_missing_have_a_reason() {
    let bits = "(param b 0) (observe y (sigmoid b) :noise (bernoulli))";
    let data = table(vec![("y", vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0])]);
    let found = run(bits, &data, &Options::default());
    let options = Options { values: found.values.clone(), ..Options::default() };
    let all = bands(&compile(bits), &data, &options, &Known::of(&found).unwrap()).unwrap();
    assert!(all[0].prediction.0[0].is_nan() && all[0].unsaid.as_ref().unwrap().contains("0 or 1"), "{all:?}");
    let line = "(param a 1) (* a x)";
    let errors: Vec<f64> = (1..=8).map(f64::from).collect();
    let data = table(vec![("x", X.to_vec()), ("y", Y.to_vec()), ("sd", errors)]);
    let given = Options { sigma_column: Some("sd".into()), target: Some("y".into()), ..Options::default() };
    let found = run(line, &data, &given);
    let ask = |data: &Table, sigma_column: Option<String>| {
        let options = Options { values: found.values.clone(), sigma_column, ..Options::default() };
        bands(&compile(line), data, &options, &Known::of(&found).unwrap()).unwrap().remove(0)
    };
    let (without, with) = (table(vec![("x", vec![2.0])]), table(vec![("x", vec![2.0]), ("sd", vec![3.0])]));
    assert!(ask(&without, None).unsaid.unwrap().contains("row by row"));
    assert!(ask(&without, Some("sd".into())).unsaid.unwrap().contains("`sd`"));
    let there = ask(&with, Some("sd".into()));
    assert!(there.unsaid.is_none() && there.prediction.1[0] - there.value[0] > 3.0, "{there:?}");
}

/// A law whose errors a column weighted, or gave, is as sure of its predictions as the formula, where a table has no such column.
#[test]
fn laws_have_bands_without_the_column_of_errors() {
    let (law, formula) = ("(param a 2) (param k 1) (state x a) (derive x (* (- k) x))", "(param a 2) (param k 1) (* a (exp (- (* k t))))");
    let t: Vec<f64> = (0..20).map(|i| 0.25 * f64::from(i)).collect();
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| 3.0 * (-0.7 * t).exp() + 0.05 * noise(i, 3)).collect();
    let errors: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 3)).collect();
    let data = table(vec![("t", t), ("x", x), ("w", errors)]);
    let asked = table(vec![("t", vec![0.0, 1.0, 7.0])]);
    let weighted = Options { weights_column: Some("w".into()), target: Some("x".into()), ..Options::default() };
    let given = Options { sigma_column: Some("w".into()), target: Some("x".into()), ..Options::default() };
    for options in [weighted, given] {
        let of = |model: &str| {
            let found = run(model, &data, &options);
            let options = Options { values: found.values.clone(), target: None, ..options.clone() };
            bands(&compile(model), &asked, &options, &Known::of(&found).unwrap()).unwrap_or_else(|e| panic!("{e}")).remove(0)
        };
        let (a, b) = (of(law), of(formula));
        assert!(a.prediction.0.iter().all(|x| x.is_nan()) && a.unsaid.as_ref().is_some_and(|w| w.contains("`w`")), "{a:?}");
        assert_eq!(a.unsaid, b.unsaid);
        for row in 0..3 {
            assert!(near(a.stderr[row], b.stderr[row], 1e-4), "{row}: {} {}", a.stderr[row], b.stderr[row]);
        }
    }
}

/// `predict(glm(y ~ x, family = poisson), data.frame(x = c(0, 5)), se.fit = TRUE)`: the interval is that of the linear predictor. The
/// interval for counts is that of Poisson's quantiles mixed over the normal distribution of the logarithm, by `uniroot` on `integrate`.
#[test]
fn counts_as_r_has_them() {
    let model = "(param a 0) (param b 0.1) (observe y (exp (+ a (* b x))) :noise (poisson))";
    let found = run(model, &table(vec![("x", X.to_vec()), ("y", [1, 2, 2, 4, 3, 7, 9, 14].map(f64::from).to_vec())]), &Options::default());
    let asked = table(vec![("x", vec![0.0, 5.0])]);
    let options = Options { values: found.values.clone(), ..Options::default() };
    let all = bands(&compile(model), &asked, &options, &Known::of(&found).unwrap()).unwrap();
    for (row, [value, error, low, high, lowest, highest]) in COUNTS.iter().enumerate() {
        let b = &all[0];
        assert!(near(b.value[row], *value, 1e-6) && near(b.stderr[row], *error, 1e-5), "{b:?}");
        assert!(near(b.confidence.0[row], *low, 1e-5) && near(b.confidence.1[row], *high, 1e-5), "{b:?}");
        assert_eq!((b.prediction.0[row], b.prediction.1[row]), (*lowest, *highest));
    }
}

const COUNTS: [[f64; 6]; 2] = [
    [0.75698832426453, 0.39703324375590, 0.27079584201086, 2.1161008929001, 0.0, 3.0],
    [4.57058060483684, 0.82781158953995, 3.20482247811189, 6.5183663706759, 1.0, 10.0],
];

/// A law and its closed form are as sure of the same things, and pictures have the areas.
#[test]
fn states_and_formulas_agree() {
    let t: Vec<f64> = (0..20).map(|i| 0.25 * f64::from(i)).collect();
    let y: Vec<f64> = t.iter().enumerate().map(|(i, t)| 3.0 * (-0.7 * t).exp() + 0.05 * noise(i, 3)).collect();
    let (law, formula) = ("(param a 2) (param k 1) (state x a) (derive x (* (- k) x))", "(param a 2) (param k 1) (* a (exp (- (* k t))))");
    let of = |model: &str, column: &str| {
        let data = table(vec![("t", t.clone()), (column, y.clone())]);
        let found = run(model, &data, &Options::default());
        let options = Options { values: found.values.clone(), ..Options::default() };
        let drawing = Drawing::new(&compile(model), &data, &Options::default(), &found, Look::default()).svg();
        // Two bands, whose corners are numbers.
        assert!(drawing.matches("<polygon").count() == 2 && !drawing.contains("NaN"), "{drawing}");
        bands(&compile(model), &data, &options, &Known::of(&found).unwrap()).unwrap().remove(0)
    };
    let (a, b) = (of(law, "x"), of(formula, "y"));
    for row in 0..20 {
        assert!(near(a.stderr[row], b.stderr[row], 1e-4), "{row}: {} {}", a.stderr[row], b.stderr[row]);
        assert!(near(a.prediction.1[row], b.prediction.1[row], 1e-5), "{row}: {a:?} {b:?}");
    }
}

#[test]
fn what_the_data_do_not_determine_has_no_band() {
    let model = "(param a 1) (param b 1) (param c 1) (+ (* (+ a b) x) (* c z))";
    let data = table(vec![("x", X.to_vec()), ("z", X.iter().map(|x| x * x).collect()), ("y", Y.to_vec())]);
    let found = run(model, &data, &Options::default());
    let options = Options { values: found.values.clone(), ..Options::default() };
    let known = Known::of(&found).unwrap();
    // Only a + b counts, and that is determined.
    assert!(bands(&compile(model), &data, &options, &known).unwrap()[0].stderr.iter().all(|e| e.is_finite() && *e > 0.0));
    let alone = "(param a 1) (param b 1) (param c 1) (+ (* a x) (* 0 b) (* c z))";
    assert!(bands(&compile(alone), &data, &options, &known).unwrap()[0].stderr.iter().all(|e| e.is_nan()));
}

/// The error of a line's slope by bootstrap is that of least squares, but for chance: of 400 replicates a standard deviation is known to
/// 3.5 % (one standard deviation); parametric draws have the variance of n - p.
#[test]
fn replicates_scatter_as_estimates_do() {
    let x: Vec<f64> = (0..60).map(|i| f64::from(i) / 6.0).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 1.0 + 2.0 * x + 0.5 * noise(i, 9)).collect();
    let data = table(vec![("x", x), ("y", y)]);
    let model = "(param a 0) (param b 1) (+ a (* b x))";
    for resampling in [Resampling::Parametric, Resampling::Cases] {
        let options = Options { bootstrap: Some(400), resampling: Some(resampling), ..Options::default() };
        let found = run(model, &data, &Options { threads: 2, ..options.clone() });
        for p in &found.parameters {
            let (error, (low, high)) = p.bootstrap.unwrap();
            assert!((error / p.stderr.unwrap() - 1.0).abs() < 0.25, "{resampling}: {p:?}");
            assert!(low < p.value && p.value < high, "{p:?}");
        }
        let alone = run(model, &data, &Options { threads: 1, ..options });
        assert_eq!(alone.parameters, found.parameters, "the number of threads changes nothing");
        assert_eq!(found.bootstrap.as_ref().map(|b| (b.replicates, b.failed, b.kind)), Some((400, 0, resampling)));
    }
}

/// A stop ends the replicates, and those that were not fitted are not said to have failed.
#[test]
fn replicates_that_were_stopped_are_not_counted() {
    let x: Vec<f64> = (0..60).map(|i| f64::from(i) / 6.0).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 1.0 + 2.0 * x + 0.5 * noise(i, 9)).collect();
    let data = table(vec![("x", x), ("y", y)]);
    let model = "(param a 0) (param b 1) (+ a (* b x))";
    let whole = run(model, &data, &Options { bootstrap: Some(100), threads: 1, ..Options::default() });
    let stop = AtomicBool::new(false);
    let tell = |stage: Stage, done: usize, _: usize, _: f64| {
        if stage == Stage::Bootstrap && done >= 50 {
            stop.store(true, Ordering::Relaxed);
            // However late the stop is noticed, the rest is not fitted before.
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let options = Options { bootstrap: Some(1_000_000), threads: 1, cancel: Some(&stop), progress: Some(&tell), ..Options::default() };
    let found = run(model, &data, &options);
    let b = found.bootstrap.as_ref().unwrap();
    assert!(b.wanted == 1_000_000 && b.replicates >= 50 && b.replicates < b.wanted && b.failed == 0, "{b:?}");
    assert!(found.warnings.iter().any(|w| w.contains(&format!("{} of 1000000 replicates", b.replicates))), "{:?}", found.warnings);
    for (p, all) in found.parameters.iter().zip(&whole.parameters) {
        assert!((p.bootstrap.unwrap().0 / all.bootstrap.unwrap().0 - 1.0).abs() < 0.5, "{p:?}");
    }
}

/// Rows that do not count are not looked at: diagnostics are those of the other rows alone.
#[test]
fn rows_of_weight_0_have_no_residuals() {
    let x: Vec<f64> = (0..24).map(f64::from).collect();
    let y: Vec<f64> = (0..24).map(|i| if i % 2 == 0 { 1.0 + 2.0 * f64::from(i) + 0.5 * noise(i as usize, 5) } else { 1e3 }).collect();
    let w: Vec<f64> = (0..24).map(|i| f64::from(1 - i % 2)).collect();
    let half = |v: &[f64]| v.iter().copied().step_by(2).collect::<Vec<f64>>();
    let options = Options { weights_column: Some("w".into()), ..Options::default() };
    let model = "(param a 0) (param b 1) (+ a (* b x))";
    let all = run(model, &table(vec![("x", x.clone()), ("y", y.clone()), ("w", w.clone())]), &options);
    let some = run(model, &table(vec![("x", half(&x)), ("y", half(&y)), ("w", half(&w))]), &options);
    let (a, b) = (&all.diagnostics[0], &some.diagnostics[0]);
    assert!((a.n, a.runs, a.outliers.len()) == (12, b.runs, 0), "{a:?} {b:?}");
    assert!((a.durbin_watson - b.durbin_watson).abs() < 1e-9 && (a.normality_p - b.normality_p).abs() < 1e-9, "{a:?} {b:?}");
}

#[test]
fn draws_of_every_kind_are_fitted() {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) / 10.0).collect();
    let counts: Vec<f64> = (0..40).map(|i| f64::from((i * 7) % 5 + i / 8)).collect();
    let positive: Vec<f64> = x.iter().enumerate().map(|(i, x)| (0.5 + 0.3 * x + 0.2 * noise(i, 4)).exp()).collect();
    let models = [
        ("(param a 0) (param b 0.1) (observe y (exp (+ a (* b x))) :noise (poisson))", &counts),
        ("(param a 0) (param b 0.1) (param k 5 :min 0.1 :max 1000) (observe y (exp (+ a (* b x))) :noise (negative-binomial k))", &counts),
        ("(param a 0) (param b 0.1) (param s 1 :min 0) (observe y (exp (+ a (* b x))) :noise (lognormal s))", &positive),
        ("(param a 0) (param b 0.1) (param s 1 :min 0) (observe y (+ a (* b x)) :noise (laplace s))", &positive),
    ];
    for (model, y) in models {
        let data = table(vec![("x", x.clone()), ("y", y.clone())]);
        let found = run(model, &data, &Options { bootstrap: Some(40), ..Options::default() });
        let b = found.bootstrap.as_ref().unwrap();
        assert!(b.kind == Resampling::Parametric && b.failed < 20, "{model}: {b:?}");
        let p = found.parameter("b").unwrap();
        let ratio = p.bootstrap.unwrap().0 / p.stderr.unwrap();
        assert!((0.5..2.0).contains(&ratio), "{model}: {p:?}");
    }
}

#[test]
fn too_few_replicates_or_nothing_to_draw_from() {
    let data = table(vec![("t", X.to_vec()), ("x", Y.to_vec())]);
    let law = compile("(param a 2) (param k 1) (state x a) (derive x (* (- k) x))");
    let code = |options: Options<'_>| fit(&law, &data, &options).unwrap_err().0[0].code;
    assert_eq!(code(Options { bootstrap: Some(3), ..Options::default() }), "bad-bootstrap");
    assert_eq!(code(Options { bootstrap: Some(30), resampling: Some(Resampling::Cases), ..Options::default() }), "bad-bootstrap");
}

#[test]
fn an_outlier_is_named() {
    let mut y: Vec<f64> = (0..30).map(|i| f64::from(i) + 0.1 * noise(i as usize, 5)).collect();
    y[17] += 3.0;
    let data = table(vec![("x", (0..30).map(f64::from).collect()), ("y", y)]);
    let found = run("(param a 0) (param b 1) (+ a (* b x))", &data, &Options::default());
    let d = &found.diagnostics[0];
    assert!(d.outliers.len() == 1 && d.outliers[0].row == 18 && d.normality_p < 1e-6, "{d:?}");
}
