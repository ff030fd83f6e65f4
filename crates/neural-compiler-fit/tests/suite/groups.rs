//! Constants with a value of their own for each group, beside shared ones.

use crate::common::{compile, noise, table, uniform};
use neural_compiler_fit::text::table as table_of;
use neural_compiler_fit::{Fit, Options, Table, fit, predict, save, to_json};
use serde_json::json;

const TREE: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const AGE: [f64; 7] = [118.0, 484.0, 664.0, 1004.0, 1231.0, 1372.0, 1582.0];
const AROUND: [f64; 35] = [
    30., 58., 87., 115., 120., 142., 145., 33., 69., 111., 156., 172., 203., 203., 30., 51., 75., 108., 115., 139., 140., 32., 62., 112.,
    167., 179., 209., 214., 30., 49., 81., 125., 142., 174., 177.,
];

fn orange() -> Table {
    let tree = TREE.iter().flat_map(|t| [*t; 7]).collect();
    crate::common::table(vec![("tree", tree), ("age", AGE.repeat(5)), ("around", AROUND.to_vec())])
}

fn run(model: &str, table: &Table) -> Fit {
    fit(&compile(model), table, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// R's `Orange`: `nls(circumference ~ A[Tree]/(1+exp((xmid-age)/scal)), Orange)`, whose standard errors divide by the degrees of freedom.
const EXPECTED: [(&str, f64, f64); 7] = [
    ("A[1]", 161.887315813, 7.13798895317),
    ("A[2]", 224.403309624, 8.83564575413),
    ("A[3]", 154.103566380, 6.94182691914),
    ("A[4]", 233.070189976, 9.08409931166),
    ("A[5]", 186.740144660, 7.78975471561),
    ("xmid", 727.890604528, 35.69192445122),
    ("scal", 347.967390076, 27.26160992834),
];

fn as_nls_says(found: &Fit) {
    for (name, value, stderr) in EXPECTED {
        let p = found.parameter(name).unwrap_or_else(|| panic!("no `{name}`"));
        assert!((p.value / value - 1.0).abs() < 1e-5, "{name}: {} instead of {value}", p.value);
        // `nls` has no second derivatives of the model in its errors.
        assert!((p.stderr.unwrap() / stderr - 1.0).abs() < 0.05, "error of {name}: {:?} instead of {stderr}", p.stderr);
    }
    assert!((found.likelihood.loglik + 119.051996115).abs() < 1e-6, "{}", found.likelihood.loglik);
    assert_eq!(found.likelihood.k, 8.0);
}

/// What is told first is what was asked for: constants of groups stood behind the deviation of the errors.
#[test]
fn constants_of_groups_stand_before_the_deviation_of_the_errors() {
    let found = run("(param A 150 :per tree) (param xmid 700) (param scal 300) (/ A (+ 1 (exp (/ (- xmid age) scal))))", &orange());
    let names: Vec<String> = table_of(&found).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(names, ["parameter", "xmid", "scal", "A[1]", "A[2]", "A[3]", "A[4]", "A[5]", "sigma[around]"]);
}

/// A line for each group, three points each, nothing declared of the errors: what a line is worth follows from the sum of squares of all
/// groups over what their constants leave of the data, 12 - 8, and Student's distribution of as many degrees of freedom (2.776 at 97.5 %).
/// The likelihood would divide by 12.
#[test]
fn errors_nobody_declared_are_those_of_least_squares() {
    let (x, groups) = ([1.0, 2.0, 3.0], 4);
    let g: Vec<f64> = (0..groups).flat_map(|g| [f64::from(g); 3]).collect();
    let y: Vec<f64> = (0..12).map(|i| 1.0 + 2.0 * x[i % 3] + 0.3 * noise(i, 11)).collect();
    let squares: f64 = y.chunks(3).map(|y| (y[0] - 2.0 * y[1] + y[2]).powi(2) / 6.0).sum();
    let sigma = (squares / 4.0).sqrt();
    let data = crate::common::table(vec![("g", g), ("x", x.repeat(4)), ("y", y.clone())]);
    let found = run("(param a 0 :per g) (param b 1 :per g) (observe y (+ a (* b x)))", &data);
    for (k, y) in y.chunks(3).enumerate() {
        let b = found.parameter(&format!("b[{k}]")).unwrap();
        let (error, (low, high)) = (b.stderr.unwrap(), b.ci95.unwrap());
        assert!((b.value - (y[2] - y[0]) / 2.0).abs() < 1e-6, "{b:?}");
        assert!((error / (sigma / 2.0f64.sqrt()) - 1.0).abs() < 1e-5, "{error} and {}", sigma / 2.0f64.sqrt());
        assert!(((high - low) / (2.0 * error) - 2.776445105).abs() < 1e-6, "{b:?}");
    }
    assert!((found.parameter("sigma[y]").unwrap().value / sigma - 1.0).abs() < 1e-6);
}

/// Two lines of six points each, one standard deviation for each line. With a slope held, the sum of squares of its line grows by the
/// square of the distance, and the likelihood falls by half of 6 times the logarithm of that growth: to where Student's interval of 8
/// degrees of freedom (2.306 at 97.5 %) ends for all 12 data.
#[test]
fn profiles_of_errors_nobody_declared_are_as_wide_as_students() {
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let line = |salt: u64| (0..6).map(|i| 1.0 + 2.0 * x[i] + 0.3 * noise(i, salt)).collect::<Vec<f64>>();
    let (y, z) = (line(21), line(22));
    let model = "(param a 0) (param b 1) (param c 0) (param d 1) (observe y (+ a (* b x))) (observe z (+ c (* d x)))";
    let options = Options { profile: true, ..Options::default() };
    let found = fit(&compile(model), &crate::common::table(vec![("x", x.clone()), ("y", y.clone()), ("z", z)]), &options).unwrap();
    let mean = y.iter().sum::<f64>() / 6.0;
    let spread: f64 = x.iter().map(|x| (x - 2.5).powi(2)).sum();
    let slope = x.iter().zip(&y).map(|(x, y)| (x - 2.5) * (y - mean)).sum::<f64>() / spread;
    let squares: f64 = x.iter().zip(&y).map(|(x, y)| (y - mean - slope * (x - 2.5)).powi(2)).sum();
    let growth = (12.0 / 6.0 * (2.306_004_135_204_166f64.powi(2) / 8.0).ln_1p()).exp_m1();
    let half = (squares * growth / spread).sqrt();
    let (low, high) = found.parameter("b").unwrap().profile.unwrap();
    assert!(((high - low) / 2.0 / half - 1.0).abs() < 1e-4, "[{low}, {high}] instead of {slope} ± {half}");
    // Standard deviations are positive, all that is said of them too.
    let sigma = found.parameter("sigma[y]").unwrap();
    let (low, high) = sigma.ci95.unwrap();
    assert!(low > 0.0 && (low * high / sigma.value.powi(2) - 1.0).abs() < 1e-12, "{sigma:?}");
}

#[test]
fn trees_that_share_their_pace() {
    let model = "(param A 150 :per tree) (param xmid 700) (param scal 300 :min 1) (/ A (+ 1 (exp (/ (- xmid age) scal))))";
    as_nls_says(&run(model, &orange()));
}

/// The logistic curve as the differential equation it solves, whose start is what the curve is at age 0.
#[test]
fn the_same_as_a_law() {
    let model = "(time age :start 0) (param A 150 :per tree :min 1) (param xmid 700) (param scal 300 :min 1)
                 (state around (/ A (+ 1 (exp (/ xmid scal)))))
                 (derive around (/ (* around (- 1 (/ around A))) scal))";
    as_nls_says(&run(model, &orange()));
}

#[test]
fn predictions_and_saved_models_keep_them() {
    let model = "(param A 150 :per tree) (param xmid 700) (param scal 300 :min 1) (/ A (+ 1 (exp (/ (- xmid age) scal))))";
    let found = run(model, &orange());
    let program = compile(model);
    let from = save::Provenance { data: "orange.csv".into(), rows: 35, sha256: ("0".into(), "file"), options: json!({}), weights: None };
    let saved = save::with_record(&save::fitted(model, &found), &to_json(&found), &from);
    let given = Options { values: found.values.clone(), ..Options::default() };
    for (program, options) in [(&program, &given), (&compile(&saved), &Options::default())] {
        let told = predict(program, &orange(), options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(told[0].0, "prediction");
        assert!(told[0].1.iter().zip(&found.predicted).all(|(a, b)| (a - b).abs() < 1e-9 * b));
    }
    let sixth = crate::common::table(vec![("tree", vec![6.0]), ("age", vec![100.0])]);
    assert_eq!(predict(&program, &sixth, &given).unwrap_err().0[0].code, "unknown-group");
}

/// A thousand groups of three constants beside two shared ones. The model is linear in all of them, so that at the maximum the residuals
/// of every group are at right angles to its columns, and all residuals to those of the shared ones.
#[test]
fn a_thousand_groups_of_three_constants() {
    let (groups, rows) = (1000, 8);
    let (mut g, mut x, mut z, mut w, mut y) = (vec![], vec![], vec![], vec![], vec![]);
    for i in 0..groups {
        for k in 0..rows {
            let (t, n) = (k as f64 / 4.0, i * rows + k);
            let (a, b, c) = (1.0 + noise(i, 1), 2.0 + 0.5 * noise(i, 2), 0.3 * noise(i, 3));
            let (u, v) = (3.0 * uniform(n, 5), 3.0 * uniform(n, 6));
            g.push(i as f64);
            x.push(t);
            z.push(u);
            w.push(v);
            y.push(a + b * t + c * t * t + 0.7 * u - 0.2 * v + 0.3 * (uniform(n, 7) - 0.5));
        }
    }
    let table = crate::common::table(vec![("g", g), ("x", x.clone()), ("z", z.clone()), ("w", w.clone()), ("y", y.clone())]);
    let model = "(param a 0 :per g) (param b 0 :per g) (param c 0 :per g) (param p 0) (param q 0) (param s 1 :min 0)
                 (observe y (+ a (* b x) (* c x x) (* p z) (* q w)) :noise (normal s))";
    let found = run(model, &table);
    assert_eq!(found.parameters.len(), 3003);
    assert!(found.converged, "{}", found.message);
    let r: Vec<f64> = y.iter().zip(&found.predicted).map(|(y, f)| y - f).collect();
    let dot = |column: &dyn Fn(usize) -> f64, rows: std::ops::Range<usize>| rows.map(|n| r[n] * column(n)).sum::<f64>();
    for i in 0..groups {
        let own = i * rows..(i + 1) * rows;
        for column in [&(|_: usize| 1.0) as &dyn Fn(usize) -> f64, &|n| x[n], &|n| x[n] * x[n]] {
            assert!(dot(column, own.clone()).abs() < 1e-8, "group {i}");
        }
    }
    assert!(dot(&|n| z[n], 0..r.len()).abs() < 1e-7 && dot(&|n| w[n], 0..r.len()).abs() < 1e-7);
    let p = found.parameter("p").unwrap();
    assert!((p.value - 0.7).abs() < 5.0 * p.stderr.unwrap() && (0.0005..0.005).contains(&p.stderr.unwrap()), "{p:?}");
    assert!(found.parameter("b[17]").is_some_and(|b| (b.value - 2.0 - 0.5 * noise(17, 2)).abs() < 4.0 * b.stderr.unwrap()));
}

#[test]
fn groups_must_make_sense() {
    let two = "(param a 1 :per tree) (param b 1 :per age) (* a b)";
    let code = |model: &str| {
        fit(&compile(model), &orange(), &Options { target: Some("around".into()), ..Options::default() }).unwrap_err().0[0].code
    };
    assert_eq!(code(two), "bad-declaration");
    assert_eq!(code("(param a 1 :per plot) (* a age)"), "missing-column");
}

/// A share F of a dose and volumes of groups: only their quotients are seen, by name.
#[test]
fn combinations_that_groups_determine_are_named() {
    let (x, g): (Vec<f64>, Vec<f64>) = ((0..30).map(|i| f64::from(i % 10)).collect(), (0..30).map(|i| f64::from(i / 10)).collect());
    let y = (0..30).map(|i| 0.5 / (1.0 + g[i]) * (1.0 + x[i]) + 0.01 * noise(i, 5)).collect();
    let data = table(vec![("x", x), ("g", g), ("y", y)]);
    let found = fit(&compile("(param F 1) (param V 2 :per g) (observe y (* (/ F V) (+ 1 x)))"), &data, &Options::default()).unwrap();
    assert_eq!(found.undetermined.len(), 1, "{:?}", found.warnings);
    let texts: Vec<&str> = found.undetermined[0].determined.iter().map(|c| c.text.as_str()).collect();
    assert_eq!(texts, ["F/V[0]", "F/V[1]", "F/V[2]"]);
    for (k, c) in found.undetermined[0].determined.iter().enumerate() {
        assert!(c.exact && (c.value - 0.5 / (1.0 + k as f64)).abs() < 0.01 && c.stderr.is_some_and(|e| e < 0.01), "{c:?}");
    }
    // Without groups by the same words.
    let model = compile("(param F 1) (param V 2) (observe y (* (/ F V) (+ 1 x)) :noise (normal 1))");
    let found = fit(&model, &data, &Options::default()).unwrap();
    assert_eq!(found.undetermined[0].determined[0].text, "F/V");
}

/// Names of groups are texts, and stand beside the columns of numbers: they too are offered where the model writes one otherwise.
#[test]
fn a_column_of_groups_in_other_letters_is_offered() {
    let data = table(vec![("x", vec![1.0, 2.0, 3.0, 4.0]), ("y", vec![1.0, 2.0, 3.0, 5.0])]);
    let data = data.beside(vec![neural_compiler_fit::Other { name: "Subject".into(), nearly: false }]);
    let error = fit(&compile("(param a 1 :per subject) (observe y (* a x))"), &data, &Options::default()).unwrap_err();
    assert_eq!(error.0[0].code, "missing-column");
    assert!(error.0[0].help.as_deref().is_some_and(|h| h.contains("`Subject`")), "{error}");
}
