//! Whether models fitted by their likelihood describe the data: scatter beyond the noise that is declared, neighbours that are alike,
//! errors that were given. Data are drawn by fixed streams, or made by hand.

use crate::common::{compile, noise, table, uniform};
use neural_compiler_fit::{Fit, Options, fit, to_json};

fn run(model: &str, columns: Vec<(&str, Vec<f64>)>, options: &Options<'_>) -> Fit {
    fit(&compile(model), &table(columns), options).unwrap_or_else(|e| panic!("{e}"))
}

fn xs(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64 / n as f64).collect()
}

/// A draw from Poisson's distribution, by products of uniform numbers (Knuth).
fn poisson(mean: f64, i: usize) -> f64 {
    let (limit, mut p, mut k) = ((-mean).exp(), 1.0, 0u64);
    loop {
        p *= uniform(i, 1000 + k);
        if p <= limit {
            return k as f64;
        }
        k += 1;
    }
}

/// Successes of n trials.
fn trials(n: usize, p: f64, i: usize) -> f64 {
    (0..n).filter(|&k| uniform(i, 5000 + k as u64) < p).count() as f64
}

fn says(found: &Fit, what: &str) -> bool {
    found.warnings.iter().any(|w| w.contains(what))
}

const LINE: &str = "(param a 1) (param b 0) (observe y (exp (+ a (* b x))) :noise";

/// One count where 0.001 are expected is 1000 in Pearson's sum, and happens in one of 500 such tables: a chi-square with the same mean and
/// variance calls it one of 300,000.
#[test]
fn one_rare_count_condemns_no_model() {
    let regular = [10.0, 12.0, 7.0, 9.0, 11.0, 14.0, 8.0, 10.0, 6.0, 13.0, 9.0, 10.0, 12.0, 11.0, 8.0, 7.0, 10.0, 9.0, 13.0, 11.0];
    let exposure = [vec![10.0; 20], vec![0.001; 2]].concat();
    let of = |rare: f64| {
        let n = [&regular[..], &[rare, 0.0]].concat();
        run("(param r 1 :min 0) (observe n (* r e) :noise poisson)", vec![("e", exposure.clone()), ("n", n)], &Options::default())
    };
    assert!(!says(&of(1.0), "scatter more"), "{:?}", of(1.0).warnings);
    // Two there happen in one of a million.
    assert!(says(&of(2.0), "scatter more than the noise of `n`") && says(&of(2.0), "by row 21 alone"), "{:?}", of(2.0).warnings);
}

#[test]
fn counts_that_scatter_as_declared_are_described_and_others_are_not() {
    let x = xs(60);
    let mean = |x: f64| (1.5 + x).exp();
    let fair: Vec<f64> = x.iter().enumerate().map(|(i, x)| poisson(mean(*x), i)).collect();
    // Each mean doubled or all but gone by chance: its variance is far above it.
    let wild: Vec<f64> = x.iter().enumerate().map(|(i, x)| poisson(mean(*x) * if uniform(i, 7) < 0.5 { 1.9 } else { 0.1 }, i)).collect();
    let of = |y: &[f64], noise: &str| run(&format!("{LINE} {noise})"), vec![("x", x.clone()), ("y", y.to_vec())], &Options::default());
    let found = of(&fair, "(poisson)");
    assert_eq!(found.describes_data, Some(true), "{:?}", found.warnings);
    assert_eq!(found.message, "a maximum of the likelihood was reached");
    let found = of(&wild, "(poisson)");
    assert_eq!(found.describes_data, Some(false), "{:?}", found.warnings);
    assert!(says(&found, "Pearson's chi-square") && says(&found, "(poisson)"), "{:?}", found.warnings);
    assert_eq!(found.message, "a maximum of the likelihood was reached, but the model does not describe the data well");
    assert_eq!(to_json(&found)["describes_data"], false);
    // What is declared to scatter so is described.
    let size = format!("(param k 2 :min 0) {LINE} (negative-binomial k))");
    let found = run(&size, vec![("x", x.clone()), ("y", wild)], &Options::default());
    assert!(!says(&found, "scatter"), "{:?}", found.warnings);
}

#[test]
fn shares_of_trials_are_judged_and_bits_only_by_their_neighbours() {
    let x = xs(60);
    let model = |noise: &str| format!("(param a 0) (param b 0) (observe y (sigmoid (+ a (* b x))) :noise {noise})");
    let data = |y: Vec<f64>| vec![("x", x.clone()), ("n", vec![20.0; 60]), ("y", y)];
    let fair = (0..60).map(|i| trials(20, 0.3 + 0.3 * x[i], i)).collect();
    let wild = (0..60).map(|i| trials(20, if uniform(i, 7) < 0.5 { 0.1 } else { 0.9 }, i)).collect();
    assert_eq!(run(&model("(binomial n)"), data(fair), &Options::default()).describes_data, Some(true));
    let found = run(&model("(binomial n)"), data(wild), &Options::default());
    assert!(found.describes_data == Some(false) && says(&found, "Pearson's chi-square"), "{:?}", found.warnings);
    let chance = (0..60).map(|i| f64::from(uniform(i, 11) < 0.5)).collect();
    assert_eq!(run(&model("(bernoulli)"), data(chance), &Options::default()).describes_data, Some(true));
    // Blocks of ten zeros and ten ones follow no line.
    let blocks = (0..60).map(|i| f64::from(i / 10 % 2 == 0)).collect();
    let found = run(&model("(bernoulli)"), data(blocks), &Options::default());
    assert!(found.describes_data == Some(false) && says(&found, "neighbours along `x`"), "{:?}", found.warnings);
}

#[test]
fn a_declared_width_that_is_too_small_is_told_and_one_that_is_estimated_is_not() {
    let x = xs(40);
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 2.0 * x + 0.1 * noise(i, 3)).collect();
    let of = |noise: &str| {
        let model = format!("(param a 1) (observe y (* a x) :noise {noise})");
        run(&model, vec![("x", x.clone()), ("y", y.clone())], &Options::default())
    };
    assert_eq!(of("(normal 0.1)").describes_data, Some(true));
    assert_eq!(of("(normal 1)").describes_data, Some(true), "wider than needed");
    let found = of("(normal 0.02)");
    assert!(found.describes_data == Some(false) && says(&found, "quantile residuals"), "{:?}", found.warnings);
    // Estimated beside as many lines as leave half of the data: all of them are spent, and nothing is too wide.
    let (x, g): (Vec<f64>, Vec<f64>) = ((0..200).map(|i| (i % 2) as f64).collect(), (0..200).map(|i| (i / 2) as f64).collect());
    let y = (0..200).map(|i| 2.0 * x[i] + 0.1 * noise(i, 3)).collect();
    let model = "(param a 1 :per g) (param s 0.2 :min 0) (observe y (+ a (* 2 x)) :noise (normal s))";
    let found = run(model, vec![("x", x), ("g", g), ("y", y)], &Options::default());
    assert!(!says(&found, "scatter"), "{:?}", found.warnings);
}

#[test]
fn groups_with_errors_that_were_given_have_a_reduced_chi_square() {
    let (x, g): (Vec<f64>, Vec<f64>) = ((0..60).map(|i| (i % 20) as f64).collect(), (0..60).map(|i| (i / 20) as f64).collect());
    let y: Vec<f64> = (0..60).map(|i| (1.0 + g[i]) * x[i] + 0.1 * noise(i, 4)).collect();
    let of = |sigma: f64| {
        let columns = vec![("x", x.clone()), ("g", g.clone()), ("y", y.clone())];
        run("(param a 1 :per g) (* a x)", columns, &Options { sigma: Some(sigma), target: Some("y".into()), ..Options::default() })
    };
    let (right, small) = (of(0.1), of(0.02));
    let squares: f64 = (0..60).map(|i| ((right.observed[i] - right.predicted[i]) / 0.1).powi(2)).sum();
    assert!((right.reduced_chi_square().unwrap() - squares / 57.0).abs() < 1e-9);
    assert_eq!((right.describes_data, small.describes_data), (Some(true), Some(false)), "{:?} {:?}", right.warnings, small.warnings);
    assert!(says(&small, "times as large as the given errors"), "{:?}", small.warnings);
    assert!(neural_compiler_fit::text::to_text(&right).contains("reduced chi-square"));
}

#[test]
fn groups_are_judged_as_least_squares_judges() {
    let (x, g): (Vec<f64>, Vec<f64>) = ((0..60).map(|i| (i % 20) as f64).collect(), (0..60).map(|i| (i / 20) as f64).collect());
    let of = |y: &dyn Fn(usize) -> f64| {
        let columns = vec![("x", x.clone()), ("g", g.clone()), ("y", (0..60).map(y).collect())];
        run("(param a 1 :per g) (* a x)", columns, &Options { target: Some("y".into()), ..Options::default() })
    };
    let line = of(&|i| (1.0 + g[i]) * x[i] + 0.1 * noise(i, 4));
    assert_eq!(line.describes_data, Some(true), "{:?}", line.warnings);
    let bent = of(&|i| (1.0 + g[i]) * x[i] * x[i] + 0.1 * noise(i, 4));
    assert!(bent.describes_data == Some(false) && says(&bent, "neighbours along `x`"), "{:?}", bent.warnings);
}

/// A log-likelihood of one's own has no residuals to judge by.
#[test]
fn what_has_no_residuals_has_no_judgement() {
    let found = run("(param r 1 :min 0) (loglik (- (log r) (* r t)))", vec![("t", vec![0.5, 1.0, 2.0, 0.1])], &Options::default());
    assert_eq!(found.describes_data, None);
    assert_eq!(neural_compiler_fit::report::text::remarks(&found)[0], "4 observations");
}
