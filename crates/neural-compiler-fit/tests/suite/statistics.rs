//! What a report says of a fit besides its constants: likelihood, figures of each column, what is not determined, what is poor, and what
//! cannot be fitted. Expected numbers are SciPy's (1.17), or follow from the model.

use crate::common::{compile, noise, table};
use neural_compiler_fit::text::{shown, to_text};
use neural_compiler_fit::{
    EffectMethod, Fit, Loss, Optimiser, Options, Resampling, Table, compare, fit, predict, significant, simulate, to_json,
};
use std::sync::atomic::AtomicBool;

/// A table from the text of a .csv file.
fn csv(text: &str) -> Table {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a line of names").split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|x| x.parse().expect("a number")).collect()).collect();
    table(names.iter().enumerate().map(|(j, n)| (*n, rows.iter().map(|r| r[j]).collect())).collect())
}

fn fitted(text: &str, data: &Table, options: &Options<'_>) -> Fit {
    fit(&compile(text), data, options).unwrap_or_else(|e| panic!("{e}"))
}

fn near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * b.abs()
}

/// Four subjects of R's `Theoph` (Boeckmann, Sheiner and Beal 1994), one set of constants for all.
const THEOPH: &str = include_str!("../data/theoph.csv");
const CONSTANTS: &str = "(param ka 1.5 :min 0) (param ke 0.08 :min 0) (param V 0.5 :min 0)";

/// The same model as a formula and as a differential equation has the same likelihood. `scipy.optimize.least_squares`: the sum of squares
/// is 65.58909355896384 over 44 rows, so that the log-likelihood is -71.21613087370837 with sigma^2 the mean square.
#[test]
fn a_formula_and_its_equation_are_equally_probable() {
    let data = csv(THEOPH);
    let formula = format!("{CONSTANTS} (* (/ Dose V) (/ ka (- ka ke)) (- (exp (- (* ke Time))) (exp (- (* ka Time)))))");
    let equation =
        format!("{CONSTANTS} (state gut Dose) (state conc 0) (derive gut (- (* ka gut))) (derive conc (- (/ (* ka gut) V) (* ke conc)))");
    let one = fitted(&formula, &data, &Options { target: Some("conc".into()), ..Options::default() });
    let how = Options { time: Some("Time".into()), group: Some("Subject".into()), ..Options::default() };
    let two = fitted(&equation, &data, &how);
    for found in [&one, &two] {
        let l = &found.likelihood;
        assert!(near(l.loglik, -71.216_130_873_708_37, 1e-7) && near(found.cost, 65.589_093_558_963_84, 1e-6), "{l:?} {}", found.cost);
        assert_eq!((l.k, l.sigmas, l.n), (4.0, 1, 44));
        assert!(
            near(l.aic(), 150.432_261_747_416_73, 1e-7)
                && near(l.bic(), 157.569_020_283_089_77, 1e-7)
                && near(l.aicc(), 151.457_902_773_057_75, 1e-7)
        );
        assert!(near(found.r2, 0.817_716_310_180_743_2, 1e-7) && found.columns[0].n == 44, "{:?}", found.columns);
    }
}

/// A column with the name of a constant the model uses would be ignored: an error, unless it has a role of its own.
#[test]
fn a_column_named_like_a_constant_is_an_error() {
    let program = compile("(constants si) (param a 1) (* a (/ c 299792458) x)");
    let data = csv("x,c,y\n1,5,2\n2,6,4\n3,7,6\n");
    let how = |target: &str| Options { target: Some(target.into()), ..Options::default() };
    let refused = fit(&program, &data, &how("y")).expect_err("two meanings of c");
    assert_eq!(refused.0[0].code, "duplicate-name", "{refused}");
    assert!(refused.to_string().contains("column `c`"), "{refused}");
    let refused = neural_compiler_fit::predict(&program, &data, &how("y")).expect_err("two meanings of c");
    assert_eq!(refused.0[0].code, "duplicate-name", "{refused}");
    assert!(fit(&program, &data, &how("c")).is_ok(), "the column to explain");
    let other = compile("(constants si) (param a 1) (* a x)");
    assert!(fit(&other, &data, &how("y")).is_ok_and(|f| near(f.parameter("a").unwrap().value, 2.0, 1e-9)), "it does not use c");
}

/// Hares and lynx: weights settle where the likelihood is largest. `least_squares` on solutions of `solve_ivp` (DOP853, 1e-11), weighed
/// anew until nothing changes: 35.7288844, 3.97130837; standard deviations 4.4813696 and 2.97371669; log-likelihood -113.97998554.
#[test]
fn states_are_weighed_until_nothing_changes() {
    let data = csv(include_str!("../../../../examples/lynx-hare.csv"));
    let how = Options { time: Some("year".into()), ..Options::default() };
    let found = fitted(include_str!("../../../../examples/lynx-hare.scm"), &data, &how);
    let value = |name: &str| found.parameter(name).unwrap().value;
    assert!(near(value("hare0"), 35.728_884_4, 1e-6) && near(value("lynx0"), 3.971_308_37, 1e-6), "{:?}", found.parameters);
    assert!(near(found.likelihood.loglik, -113.979_985_543_864_27, 1e-7) && found.likelihood.k == 8.0, "{:?}", found.likelihood);
    let hare = found.columns.iter().find(|c| c.name == "hare").unwrap();
    assert!(near(hare.rmse, 4.481_369_6, 1e-5) && near(hare.r2, 0.954_015_02, 1e-5), "{hare:?}");
    // Pelts of hares and of lynx have one unit, but nothing says so.
    assert!(found.rmse.is_nan() && found.r2.is_nan() && near(found.cost, 42.0, 1e-6), "{}", found.cost);
    // Two populations that change at constant rates: a worse model, and it shows.
    let nonsense = "(param growth 0.5) (param loss 0.8) (param hare0 30 :min 0) (param lynx0 4 :min 0)
        (state hare hare0) (state lynx lynx0) (derive hare growth) (derive lynx (- loss))";
    let other = fitted(nonsense, &data, &Options { starts: Some(1), ..how });
    assert!(other.likelihood.aic() > found.likelihood.aic() + 50.0, "{:?}", other.likelihood);
    assert!(
        other.message.contains("does not describe the data well") && other.warnings.iter().any(|w| w.contains("explains")),
        "{:?}",
        other.warnings
    );
}

/// A line through points with noise, as columns t and y.
fn decaying() -> Table {
    let t: Vec<f64> = (0..40).map(|i| f64::from(i) / 8.0).collect();
    let y = t.iter().enumerate().map(|(i, t)| 3.0 * (-0.7 * t).exp() + 0.01 * noise(i, 7)).collect();
    table(vec![("t", t), ("y", y)])
}

#[test]
fn the_combination_that_is_determined_is_named() {
    let data = decaying();
    let said = |text: &str| {
        let found = fitted(text, &data, &Options::default());
        let open: Vec<_> = found.undetermined.iter().map(|u| (u.parameters.join(" "), u.determined.clone())).collect();
        assert!(
            found.parameters.iter().all(|p| p.stderr.is_some() != open.iter().any(|o| o.0.split(' ').any(|n| n == p.name))),
            "{found:?}"
        );
        open
    };
    let product = said("(param a 1) (param b 2) (param k 1) (* a b (exp (- (* k t))))");
    assert!(product.len() == 1 && product[0].0 == "a b" && product[0].1[0].text == "a*b" && product[0].1[0].exact, "{product:?}");
    let (value, error) = (product[0].1[0].value, product[0].1[0].stderr.unwrap());
    // The same as one constant.
    let one = fitted("(param a 1) (param k 1) (* a (exp (- (* k t))))", &data, &Options::default());
    let a = one.parameter("a").unwrap();
    assert!(near(value, a.value, 1e-9) && near(error, a.stderr.unwrap(), 1e-6), "{value} {error} {a:?}");
    assert_eq!(said("(param a 4) (param b 2) (param k 1) (* (/ a (square b)) (exp (- (* k t))))")[0].1[0].text, "a/b^2");
    let sum = said("(param a 4) (param b 1) (param k 1) (* (+ a (* 2 b)) (exp (- (* k t))))");
    assert_eq!(sum[0].1[0].text, "a + 2*b", "{sum:?}");
    // Of three in a product one combination is left; two pairs that have nothing to do with each other are told apart.
    let pairs = said("(param a 1) (param b 2) (param c 1) (param d 0.5) (param e 2) (* a b e (exp (- (* (+ c d) t))))");
    assert_eq!(pairs.iter().map(|p| p.1[0].text.as_str()).collect::<Vec<_>>(), ["a*b*e", "c + d"], "{pairs:?}");
    let none = said("(param a 1) (param k 1) (param z 1) (+ (* a (exp (- (* k t)))) (* 0 z))");
    assert!(none[0].0 == "z" && none[0].1.is_empty(), "{none:?}");
}

/// Only the product of two rates shows in a solution; adaptive steps leave errors of their tolerance in the derivatives.
#[test]
fn states_too_leave_combinations_open() {
    let t: Vec<f64> = (0..30).map(|i| f64::from(i) / 5.0).collect();
    let x = t.iter().enumerate().map(|(i, t)| 2.0 * (-0.6 * t).exp() + 0.01 * noise(i, 3)).collect();
    let data = table(vec![("t", t), ("x", x)]);
    let found = fitted("(param a 1 :min 0) (param b 0.5 :min 0) (state x 2) (derive x (- (* a b x)))", &data, &Options::default());
    assert_eq!(found.undetermined[0].determined[0].text, "a*b", "{:?}", found.undetermined);
    assert!((found.undetermined[0].determined[0].value - 0.6).abs() < 0.01);
    assert!(found.parameters.iter().all(|p| p.stderr.is_none() && p.ci95.is_none()), "{:?}", found.parameters);
}

/// What says how equations are solved would change nothing of a formula.
#[test]
fn a_formula_takes_nothing_of_a_solver() {
    let how = Options { tolerance: Some(1e-10), step: Some(0.1), ..Options::default() };
    let formula = compile("(param a 1) (param k 1) (* a (exp (- (* k t))))");
    let refused = fit(&formula, &decaying(), &how).expect_err("there is nothing to solve");
    assert!(refused.0[0].code == "no-states" && refused.0[0].message.contains("`step`, `rtol` say how"), "{refused}");
    assert!(fit(&formula, &decaying(), &how.clone().suited_to(&formula)).is_ok());
    assert!(fit(&compile("(param a 1) (param k 1) (state y a) (derive y (- (* k y)))"), &decaying(), &how).is_ok());
}

/// The steps of a map are exact: nothing says how accurately they are to be taken, in no face of the library.
#[test]
fn a_map_takes_no_accuracy() {
    let map = compile("(param a 1.5) (state x 1) (next x (* a x))");
    let formula = compile("(param a 1) (param k 1) (* a (exp (- (* k t))))");
    let data = table(vec![("t", vec![0.0, 1.0, 2.0]), ("x", vec![1.0, 2.0, 4.0])]);
    let none = Options::default();
    for (name, how) in [
        ("method", Options { scheme: Some("rosenbrock".parse().unwrap()), ..none.clone() }),
        ("rtol", Options { tolerance: Some(1e-3), ..none.clone() }),
        ("atol", Options { absolute_tolerance: Some(1e-3), ..none.clone() }),
    ] {
        let refused = [
            fit(&map, &data, &how).expect_err(name),
            predict(&map, &data, &how).expect_err(name),
            simulate(&map, &data, &how, &vec![]).expect_err(name),
        ];
        for refused in refused {
            let said = &refused.0[0];
            assert!(said.code == "no-equations" && said.message.contains(&format!("`{name}` says how these are solved")), "{refused}");
        }
        assert!(predict(&map, &data, &how.clone().suited_to(&map)).is_ok(), "{name}");
        let refused = predict(&formula, &decaying(), &how).expect_err(name);
        assert!(refused.0[0].code == "no-states" && refused.0[0].message.contains(&format!("`{name}`")), "{refused}");
        // Of two models one at least makes use of it, or neither does.
        let equation = compile("(param k 1) (state x 1) (derive x (* k x))");
        assert!(how.check_purpose(&[&map, &equation]).is_ok());
        let neither = how.check_purpose(&[&map, &formula]).expect_err(name);
        assert!(neither.0.len() == 1 && neither.0[0].code == "no-equations", "{neither}");
    }
    // How long a step takes is the map's own.
    assert!(fit(&map, &data, &Options { step: Some(0.5), ..none }).is_ok());
}

/// What is for other models would change nothing, and is refused by name.
#[test]
fn options_that_are_for_other_models_are_refused() {
    let texts = [
        "(param a 1) (param k 1) (* a (exp (- (* k t))))",
        "(param a 1) (param k 1) (observe y (* a (exp (- (* k t)))) :noise (normal 0.1))",
    ];
    let none = Options::default();
    for formula in texts.map(compile) {
        for (name, code, how) in [
            ("time", "no-states", Options { time: Some("t".into()), ..none.clone() }),
            ("start_time", "no-states", Options { start_time: Some(0.0), ..none.clone() }),
            ("epochs", "no-nets", Options { epochs: Some(3), ..none.clone() }),
            ("batch", "no-nets", Options { batch: Some(3), ..none.clone() }),
            ("weight_decay", "no-nets", Options { weight_decay: Some(0.1), ..none.clone() }),
            ("training", "no-nets", Options { training: Optimiser::FirstOrder, ..none.clone() }),
            ("effects", "no-effects", Options { effects: Some(EffectMethod::Laplace), ..none.clone() }),
        ] {
            let refused = fit(&formula, &decaying(), &how).expect_err(name);
            assert!(refused.0[0].code == code && refused.0[0].message.contains(&format!("`{name}`")), "{refused}");
            assert!(fit(&formula, &decaying(), &how.suited_to(&formula)).is_ok(), "{name}");
        }
    }
    let alone = Options { resampling: Some(Resampling::Cases), ..none };
    assert_eq!(fit(&compile(texts[0]), &decaying(), &alone).expect_err("no replicates").0[0].code, "bad-bootstrap");
}

/// What replicates leave of constants that the data do not determine is where they began.
#[test]
fn no_interval_by_bootstrap_of_what_is_not_determined() {
    let how = Options { bootstrap: Some(20), ..Options::default() };
    let found = fitted("(param a 1) (param b 1) (param k 1) (* a b (exp (- (* k t))))", &decaying(), &how);
    let told = |name: &str| found.parameter(name).unwrap().bootstrap.is_some();
    assert_eq!([told("a"), told("b"), told("k")], [false, false, true], "{:?}", found.parameters);
}

/// Without errors likelihoods have no end, and weights were NaN.
#[test]
fn models_that_meet_the_data_exactly_are_not_compared() {
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    let data = table(vec![("x", x.clone()), ("y", x.iter().map(|x| 3.0 * x).collect())]);
    let noise = "(param s 1 :min 0)";
    let models = [
        "(param a 1) (* a x)".into(),
        "(param a 1) (param b 1) (+ (* a x) b)".into(),
        format!("(param a 1) {noise} (observe y (* a x) :noise (normal s))"),
    ];
    for model in models {
        let exact = fitted(&model, &data, &Options::default());
        let poor = fitted("(param b 1) (+ b (* 0 x))", &data, &Options::default());
        let refused = compare(&[("poor".into(), &poor), ("exact".into(), &exact)]).expect_err("nothing to compare by");
        assert!(refused.0[0].code == "not-comparable" && refused.0[0].message.contains("`exact` meets the data exactly"), "{refused}");
        assert!(compare(&[("one".into(), &poor), ("other".into(), &poor)]).is_ok());
    }
}

/// A line through a parabola: the best line is still a poor model.
#[test]
fn a_minimum_of_a_poor_model_says_so() {
    let x: Vec<f64> = (0..30).map(|i| f64::from(i) - 14.5).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| x * x + noise(i, 1)).collect();
    let found = fitted("(param a 1) (param b 1) (+ a (* b x))", &table(vec![("x", x), ("y", y)]), &Options::default());
    assert!(found.converged && found.message.contains("does not describe the data well"), "{}", found.message);
    assert_eq!((found.describes_data, to_json(&found)["describes_data"].as_bool()), (Some(false), Some(false)));
    assert!(found.warnings.iter().any(|w| w.contains("explains only") || w.contains("explains nothing")), "{:?}", found.warnings);
    assert!(found.warnings.iter().any(|w| w.contains("neighbours along `x` are alike")), "{:?}", found.warnings);
    let fine = fitted("(param a 1) (param k 1) (* a (exp (- (* k t))))", &decaying(), &Options::default());
    assert!(fine.warnings.is_empty() && fine.message == "a minimum was reached", "{:?}", fine.warnings);
    assert_eq!(fine.describes_data, Some(true));
}

#[test]
fn what_has_no_derivative_is_an_error_with_advice() {
    let data = decaying();
    let refused = |text: &str| fit(&compile(text), &data, &Options::default()).unwrap_err().0.remove(0);
    // The square root of k by halving an interval: right, and without derivative.
    let halving = "(param a 1) (param k 0.5 :min 0.01 :max 4)
        (define (root y) (loop ((lo 0) (hi 3) (i 0)) (let ((mid (/ (+ lo hi) 2)))
            (if (> i 45) mid (if (> (* mid mid) y) (recur lo mid (+ i 1)) (recur mid hi (+ i 1)))))))";
    let error = refused(&format!("{halving} (* a (exp (- (* (root k) t))))"));
    assert!(error.code == "not-smooth" && error.message.contains("`k`") && !error.message.contains("`a`"), "{error:?}");
    assert!(error.help.as_ref().unwrap().contains("Newton step"), "{error:?}");
    for text in ["(param a 1) (param n 2.5) (* a (exp (- (* (floor n) t))))", "(param a 1) (param at 2) (* a (if (> t at) 0 1))"] {
        assert_eq!(refused(text).code, "not-smooth", "{text}");
    }
    // What the advice says works: a Newton step behind the loop. The rate is 0.7, so k is 0.49.
    let newton = format!("{halving} (define (sharp r) (- r (/ (- (* r r) k) (* 2 r)))) (* a (exp (- (* (sharp (root k)) t))))");
    let found = fitted(&newton, &data, &Options::default());
    assert!((found.parameter("k").unwrap().value - 0.49).abs() < 0.01, "{:?}", found.parameters);
}

#[test]
fn numbers_whose_squares_leave_the_range_are_told_what_to_do() {
    let t: Vec<f64> = (0..20).map(f64::from).collect();
    let y: Vec<f64> = t.iter().map(|t| 1e-300 * (3.0 + 2.0 * t)).collect();
    let line = "(param a 1) (param b 1) (+ a (* b t))";
    let error = fit(&compile(line), &table(vec![("t", t.clone()), ("y", y.clone())]), &Options::default()).unwrap_err().0.remove(0);
    assert!(error.code == "out-of-range" && error.help.as_ref().unwrap().contains("1e299"), "{error:?}");
    // Divided by errors of their own size they are numbers like others.
    let found = fitted(
        "(param a 1) (param b 1) (* 1e-300 (+ a (* b t)))",
        &table(vec![("t", t.clone()), ("y", y)]),
        &Options { sigma: Some(1e-301), ..Options::default() },
    );
    assert!(near(found.parameter("b").unwrap().value, 2.0, 1e-9) && near(found.r2, 1.0, 1e-9), "{found:?}");
    let y = t.iter().map(|t| 1e200 * t).collect();
    let error = fit(&compile(line), &table(vec![("t", t), ("y", y)]), &Options::default()).unwrap_err();
    assert_eq!(error.0[0].code, "out-of-range");
}

#[test]
fn groups_of_a_formula_are_not_ignored() {
    let data = csv(THEOPH);
    let formula = format!("{CONSTANTS} (* (/ Dose V) (/ ka (- ka ke)) (- (exp (- (* ke Time))) (exp (- (* ka Time)))))");
    let how = |group: &str| Options { target: Some("conc".into()), group: Some(group.into()), ..Options::default() };
    assert_eq!(fit(&compile(&formula), &data, &how("who")).unwrap_err().0[0].code, "missing-column");
    let found = fitted(&formula, &data, &how("Subject"));
    assert!(found.warnings.iter().any(|w| w.contains("4 groups of `Subject`")), "{:?}", found.warnings);
}

/// A row of weight 0 is no observation: freedom and likelihood are those of the others, as in R's `nls`.
#[test]
fn rows_of_weight_zero_do_not_count() {
    let (x, y) = (vec![0.0, 1.0, 2.0, 3.0, 4.0], vec![1.0, 2.5, 2.0, 4.5, 50.0]);
    let all = table(vec![("x", x.clone()), ("y", y.clone()), ("w", vec![1.0, 1.0, 1.0, 1.0, 0.0])]);
    let line = "(param a 1) (param b 1) (+ a (* b x))";
    let with = fitted(line, &all, &Options { target: Some("y".into()), weights_column: Some("w".into()), ..Options::default() });
    let without = fitted(line, &table(vec![("x", x[..4].to_vec()), ("y", y[..4].to_vec())]), &Options::default());
    assert_eq!((with.observations, with.uncertainty.freedom), (4, 2));
    assert!(near(with.likelihood.loglik, without.likelihood.loglik, 1e-9));
    assert!(near(with.parameter("b").unwrap().stderr.unwrap(), without.parameter("b").unwrap().stderr.unwrap(), 1e-9));
}

/// Nor does it to a robust loss: neither to the scale of most residuals nor to the errors, which are those of the other rows alone.
#[test]
fn rows_of_weight_zero_do_not_count_for_robust_losses() {
    let t: Vec<f64> = (0..26).map(|i| 0.2 * f64::from(i)).collect();
    let y: Vec<f64> = t.iter().enumerate().map(|(i, t)| 5.0 * (-t).exp() + 0.1 * noise(i, 7) + if i == 9 { 2.0 } else { 0.0 }).collect();
    let w: Vec<f64> = (0..26).map(|i| if i % 2 == 1 && i != 9 { 0.0 } else { 1.0 }).collect();
    let counting = |all: &[f64]| all.iter().zip(&w).filter(|(_, w)| **w > 0.0).map(|(x, _)| *x).collect::<Vec<f64>>();
    let decay = "(param a 3) (param k 1 :min 0) (* a (exp (- (* k t))))";
    for loss in [Loss::Huber(0.0), Loss::Huber(0.1), Loss::SoftL1(0.0), Loss::Cauchy(0.0)] {
        let how = |weights: Option<&str>| Options {
            target: Some("y".into()),
            loss: Some(loss),
            weights_column: weights.map(str::to_string),
            ..Options::default()
        };
        let with = fitted(decay, &table(vec![("t", t.clone()), ("y", y.clone()), ("w", w.clone())]), &how(Some("w")));
        let without = fitted(decay, &table(vec![("t", counting(&t)), ("y", counting(&y))]), &how(None));
        for (a, b) in with.parameters.iter().zip(&without.parameters) {
            assert!(near(a.value, b.value, 1e-9) && near(a.stderr.unwrap(), b.stderr.unwrap(), 1e-7), "{loss:?}: {a:?} {b:?}");
        }
    }
}

#[test]
fn another_minimum_of_the_same_cost_is_told() {
    // Uptake and decay: with ka and ke exchanged and D times ka/ke the curve is the same.
    let t: Vec<f64> = (1..=20).map(|i| 0.7 * f64::from(i)).collect();
    let exact = |t: f64| 10.0 * 1.5 / (1.5 - 0.2) * ((-0.2 * t).exp() - (-1.5 * t).exp());
    let y = t.iter().enumerate().map(|(i, t)| exact(*t) + 0.05 * noise(i, 3)).collect();
    let data = table(vec![("t", t), ("y", y)]);
    let model = "(param D 5) (param ka 1 :min 0.1 :max 2) (param ke 0.5 :min 0.1 :max 2)
                 (* D (/ ka (- ka ke)) (- (exp (* (- ke) t)) (exp (* (- ka) t))))";
    let found = fit(&compile(model), &data, &Options::default()).unwrap();
    assert!((found.parameter("D").unwrap().value - 10.0).abs() < 0.5, "{:?}", found.parameters);
    assert!(found.twins > 0 && found.starts().contains("at other values of the same cost"), "{}", found.starts());
    assert!(found.warnings.iter().any(|w| w.contains("exactly as well: D = 7")), "{:?}", found.warnings);
}

/// A dose by mouth, written with a clearance: the rates of uptake and elimination may be exchanged though one of them is a ratio, and the
/// other solution lies within two standard errors of this one, V by CL/ka.
#[test]
fn solutions_next_to_each_other_are_told() {
    let t = vec![0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];
    let c = vec![1.1394, 1.9366, 3.2214, 3.9369, 3.991, 3.9422, 3.2615, 2.0875, 1.1336, 0.2847];
    let model = "(param ka 1 :min 0) (param CL 3 :min 0) (param V 10 :min 0)
                 (/ (* 100 ka (- (exp (- (* (/ CL V) t))) (exp (- (* ka t))))) (* V (- ka (/ CL V))))";
    let options = Options { target: Some("c".into()), ..Options::default() };
    let found = fitted(model, &table(vec![("t", t), ("c", c)]), &options);
    let [ka, cl, v] = ["ka", "CL", "V"].map(|name| found.parameter(name).unwrap().value);
    let said =
        found.warnings.iter().find(|w| w.contains("explain the data exactly as well")).unwrap_or_else(|| panic!("{:?}", found.warnings));
    let (other_ka, other_v) = (cl / v, cl / ka);
    assert!(found.parameter("V").unwrap().stderr.unwrap() * 3.0 > (v - other_v).abs(), "{v} {other_v}");
    assert!(said.contains(&format!("ka = {}", significant(other_ka, 6))), "{said}: not {other_ka}, {other_v}");
}

/// A to B to C with B alone observed: the rates may be exchanged where what there was of A follows, k1 a0 being what counts. All starts
/// near the declared values agree.
#[test]
fn constants_that_may_be_exchanged_are_told() {
    let law = "(time t :start 0) (param k1 1 :min 0) (param k2 0.1 :min 0) (param a0 1 :min 0) (state A a0) (state B 0)
               (derive A (- (* k1 A))) (derive B (- (* k1 A) (* k2 B)))";
    let formula = "(param k1 1 :min 0) (param k2 0.1 :min 0) (param a0 1 :min 0)
                   (* a0 (/ k1 (- k2 k1)) (- (exp (- (* k1 t))) (exp (- (* k2 t)))))";
    let t: Vec<f64> = (0..12).map(|i| f64::from(i) * 10.0 / 11.0).collect();
    let b = |(i, t): (usize, &f64)| 2.0 * 0.7 / (0.25 - 0.7) * ((-0.7 * t).exp() - (-0.25 * t).exp()) + 0.02 * noise(i, 31);
    let data = table(vec![("t", t.clone()), ("B", t.iter().enumerate().map(b).collect())]);
    for (model, target) in [(law, None), (formula, Some("B".into()))] {
        let found = fitted(model, &data, &Options { target, ..Options::default() });
        let value = |name: &str| found.parameter(name).unwrap().value;
        let told = found.warnings.iter().find(|w| w.contains("other values explain the data exactly as well")).expect("it is told");
        let other: Vec<f64> = told.split(" = ").skip(1).map(|s| s.split([',', ';']).next().unwrap().parse().unwrap()).collect();
        let expected = [value("k2"), value("k1"), value("a0") * value("k1") / value("k2")];
        assert!(value("k1") > value("k2") && expected.iter().zip(&other).all(|(a, b)| near(*a, *b, 1e-4)), "{told} {expected:?}");
    }
}

#[test]
fn a_parameter_that_runs_off_is_not_determined() {
    // A straight line: K, where it bends, is beyond all bounds. The slope's error is that of a line through 0.
    let x: Vec<f64> = (1..=25).map(f64::from).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 1.45 * x + 0.3 * noise(i, 1) + 1e-3 * x * x).collect();
    let data = table(vec![("S", x), ("v", y)]);
    let found = fit(&compile("(param r 1 :min 0) (param K 50 :min 0) (/ (* r S) (+ 1 (/ S K)))"), &data, &Options::default()).unwrap();
    let line = fit(&compile("(param r 1) (* r S)"), &data, &Options::default()).unwrap();
    let (r, only) = (found.parameter("r").unwrap(), line.parameter("r").unwrap());
    assert!(found.parameter("K").unwrap().stderr.is_none(), "{:?}", found.parameters);
    // One degree of freedom more or less in 24.
    assert!((r.stderr.unwrap() / only.stderr.unwrap() - 1.0).abs() < 0.05, "{r:?} {only:?}");
}

#[test]
fn a_minimum_that_explains_little_is_not_believed_at_once() {
    // Two waves, of which the fast one is far from its start; noise-free, so the right minimum leaves nothing.
    let t: Vec<f64> = (0..34).map(|i| 0.21 * f64::from(i)).collect();
    let y = t.iter().map(|t| 2.1 * (7.54 * t + 0.1).sin() + 2.58 * (1.683 * t + 0.2).sin()).collect();
    let model = "(param A 1) (param w 1) (param p 0) (param B 1) (param v 2) (param q 0)
                 (+ (* A (sin (+ (* w t) p))) (* B (sin (+ (* v t) q))))";
    let found = fit(&compile(model), &table(vec![("t", t), ("y", y)]), &Options::default()).unwrap();
    assert!(found.r2 > 0.999, "R2 {} {}", found.r2, found.starts());
}

/// 8 exp(-0.3 t) with errors of 0.1 and three outliers.
const OUTLIERS: &str = include_str!("../data/outliers.csv");
const DECAY: &str = "(param k 1 :min 0) (param x0 1)";

/// The scale of a robust loss is in the unit of the data, or of their standard deviations where these are given, whatever the model is
/// written as. `scipy.optimize.least_squares` with `f_scale=0.15`; its cost is half of ours.
#[test]
fn the_scale_of_a_loss_means_one_thing() {
    let data = csv(OUTLIERS);
    let formula = format!("{DECAY} (* x0 (exp (- (* k t))))");
    let equation = format!("(time t :start 0) {DECAY} (state x x0) (derive x (- (* k x)))");
    let expected = [
        (Loss::Huber(0.15), 0.294_591_341_221_887_5, 7.948_660_985_010_452, 2.863_973_559_381_399_5),
        (Loss::SoftL1(0.15), 0.293_625_529_017_756_1, 7.946_059_437_300_65, 2.754_031_250_684_481),
        (Loss::Cauchy(0.15), 0.296_848_372_132_210_1, 7.950_651_838_660_963, 0.634_513_475_518_178_3),
    ];
    for (loss, k, x0, cost) in expected {
        for text in [&formula, &equation] {
            let found = |how: Options<'_>| fitted(text, &data, &Options { starts: Some(4), ..how });
            let plain = found(Options { loss: Some(loss), ..Options::default() });
            // In standard deviations of 0.1 the same scale is 1.5, and the cost a hundred times as large.
            let measured = found(Options { loss: Some(loss.with_scale(1.5)), sigma: Some(0.1), ..Options::default() });
            for (fit, unit) in [(&plain, 1.0), (&measured, 100.0)] {
                let value = |name: &str| fit.parameter(name).unwrap().value;
                assert!(
                    near(value("k"), k, 2e-6) && near(value("x0"), x0, 2e-6) && near(fit.cost, unit * cost, 1e-6),
                    "{loss:?} {text}: {:?}",
                    fit.parameters
                );
            }
        }
    }
    // States have units of their own: the scale counts in the scatter of each, which is said.
    let two = "(time t :start 0) (param k 1 :min 0) (state x 8) (state z 0) (derive x (- (* k x))) (derive z (* 100 k x))";
    let columns = ["t", "x"].map(|n| (n, data.column(n).unwrap().to_vec()));
    let z = columns[0].1.iter().enumerate().map(|(i, t)| 800.0 * (1.0 - (-0.3 * t).exp()) + 10.0 * noise(i, 7)).collect();
    let both = table(columns.into_iter().chain([("z", z)]).collect());
    let found = fitted(two, &both, &Options { loss: Some(Loss::Huber(1.5)), ..Options::default() });
    assert!(
        found.warnings.iter().any(|w| w.contains("the scale 1.5 of the loss counts in the scatter of each state's errors")),
        "{:?}",
        found.warnings
    );
}

/// A state that no observation depends on, and the phase of a wave without amplitude.
#[test]
fn what_has_no_influence_is_named_and_ends_no_fit() {
    let t: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i)).collect();
    let data =
        table(vec![("t", t.clone()), ("A", t.iter().enumerate().map(|(i, t)| 10.0 * (-0.4 * t).exp() + 0.05 * noise(i, 3)).collect())]);
    let unseen = "(time t :start 0) (param k 1 :min 0) (param f 0.5) (state A 10) (state B 0) (derive A (- (* k A))) (derive B (* f k A))";
    let found = fitted(unseen, &data, &Options::default());
    assert!(
        found.warnings.iter().any(|w| w == "`f` has no influence on the predictions: the data do not determine it"),
        "{:?}",
        found.warnings
    );
    assert!(found.parameter("f").unwrap().stderr.is_none() && found.parameter("k").unwrap().stderr.is_some());
    // The wave would have to be upside down, so that its amplitude stays at 0.
    let wave = "(time t :start 0) (param k 1 :min 0) (param a 0.1 :min 0) (param w 1) (state A 10)
        (derive A (+ (- (* k A)) (* a (+ 2 (sin (* w t))))))";
    let less = table(vec![
        ("t", t.clone()),
        ("A", t.iter().enumerate().map(|(i, t)| 10.0 * (-0.4 * t).exp() - 0.1 * t + 0.01 * noise(i, 3)).collect()),
    ]);
    let found = fitted(wave, &less, &Options::default());
    assert_eq!((found.parameter("a").unwrap().value, found.parameter("a").unwrap().note.as_deref()), (0.0, Some("at its bound")));
    assert!(
        found.warnings.iter().any(|w| w.starts_with("`w` has no influence on the predictions near these values")),
        "{:?}",
        found.warnings
    );
}

/// Along a valley without end there is no minimum, and so no error: only the product counts, nearly.
#[test]
fn errors_are_given_at_a_minimum_only() {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 3.0 + 2.0 * x + 0.1 * noise(i, 5)).collect();
    let data = table(vec![("x", x), ("y", y)]);
    let stop = AtomicBool::new(true);
    let found = fitted("(param a 1) (param k 1) (* a (exp (* k x 0.1)))", &data, &Options { cancel: Some(&stop), ..Options::default() });
    assert!(!found.converged, "{}", found.message);
    for p in &found.parameters {
        assert_eq!((p.stderr, p.ci95, p.note.as_deref()), (None, None, Some("no minimum was reached")), "{p:?}");
    }
    assert!(found.uncertainty.covariance.iter().all(|c| c.is_nan()));
}

/// Rows without an observation need no standard deviation, and a state whose column is empty is one that was not observed.
#[test]
fn what_is_not_observed_needs_nothing() {
    let nan = f64::NAN;
    let columns = |y: &'static str| {
        vec![("t", vec![0.0, 1.0, 2.0, 3.0, 4.0]), (y, vec![1.1, 2.2, nan, 4.2, 4.9]), ("s", vec![0.1, 0.1, nan, 0.1, 0.2])]
    };
    let how = Options { sigma_column: Some("s".into()), ..Options::default() };
    let formula =
        fitted("(param a 1) (param b 1) (+ a (* b t))", &table(columns("y")), &Options { target: Some("y".into()), ..how.clone() });
    let equation = fitted("(time t :start 0) (param a 1) (param b 1) (state x a) (derive x b)", &table(columns("x")), &how);
    for name in ["a", "b"] {
        let (one, two) = (formula.parameter(name).unwrap(), equation.parameter(name).unwrap());
        assert!(near(two.value, one.value, 1e-7) && near(two.stderr.unwrap(), one.stderr.unwrap(), 1e-6), "{one:?} {two:?}");
    }
    let decay = "(time t :start 0) (param k 1 :min 0) (state A 10) (state B 0) (derive A (- (* k A))) (derive B (* k A))";
    let empty = |b: f64| table(vec![("t", vec![0.0, 1.0, 2.0, 3.0]), ("A", vec![10.0, 6.6, 4.5, b]), ("B", vec![nan; 4])]);
    let found = fitted(decay, &empty(3.1), &Options::default());
    assert_eq!((found.targets.as_slice(), found.observations), (&["A".to_string()][..], 4));
    assert!(found.warnings.iter().any(|w| w == "the column `B` has no value at all: it counts as not observed"), "{:?}", found.warnings);
    let none = table(vec![("t", vec![0.0, 1.0]), ("A", vec![nan; 2])]);
    assert_eq!(fit(&compile(decay), &none, &Options::default()).unwrap_err().0[0].code, "no-target");
}

/// Runs that end short of the minimum are no other solutions.
#[test]
fn what_is_offered_explains_as_well() {
    let y = [2.0, 1.02, 0.49, 0.26, 0.13, 0.06].map(|y| y * 1e-30);
    let data = table(vec![("x", (0..6).map(f64::from).collect()), ("y", y.to_vec())]);
    let found = fit(&compile("(param a 1) (param k 1) (* a (exp (- (* k x))))"), &data, &Options::default()).expect("a fit");
    assert!((found.parameter("k").unwrap().value - 0.6875).abs() < 1e-3 && found.warnings.is_empty(), "{:?}", found.warnings);
}

/// A dose just before a row: how much, and when, only together. A bound that holds nothing is not what determines them.
#[test]
fn a_bound_that_holds_nothing_makes_nobody_sure() {
    let (t, x) = ([0.0, 1.0, 2.0, 2.25, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [0.02, -0.03, 0.01, 4.78, 3.55, 2.36, 1.58, 1.05, 0.69, 0.48]);
    let data = table(vec![("t", t.to_vec()), ("x", x.to_vec())]);
    let model = "(param lag 2.2 :min 2.05 :max 2.24) (param D 3) (param k 1)
        (state x 0) (derive x (- (* k x))) (event (at lag) (add x D))";
    let found = fit(&compile(model), &data, &Options::default()).expect("a fit");
    assert!(found.parameter("D").unwrap().stderr.is_none() && found.parameter("lag").unwrap().stderr.is_none(), "{found:?}");
    assert!((found.parameter("k").unwrap().value - 0.40361).abs() < 1e-4 && found.parameter("k").unwrap().stderr.is_some());
}

/// A constant that is 0 has no last digit by which a step could be seen to be none.
#[test]
fn data_that_are_met_exactly_by_a_constant_of_0() {
    let x: Vec<f64> = (0..30).map(|i| 0.37 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * x).collect();
    let found = fitted("(param a 1) (param b 1) (+ (* a x) b)", &table(vec![("x", x), ("y", y)]), &Options::default());
    assert!(found.converged, "{}", found.message);
    assert!((found.parameter("a").unwrap().value - 3.0).abs() < 1e-14 && found.parameter("b").unwrap().value.abs() < 1e-14);
}

/// As many constants as rows: nothing is left to tell errors by, though some of the constants hang together.
#[test]
fn as_many_constants_as_rows_have_no_errors() {
    let t: Vec<f64> = (0..7).map(|i| 0.6 * f64::from(i)).collect();
    let y: Vec<f64> = t.iter().enumerate().map(|(i, t)| 5.0 * (-0.3 * t).exp() + 3.0 * (-1.2 * t).exp() + 0.05 * noise(i, 2)).collect();
    let more = "(* d (exp (- t))) e (* f (sin (* 9 t))) (* g (if (= t 0) 1 0))";
    let terms = format!("(+ (* a (exp (- (* 0.3 t)))) (* b (exp (- (* 0.31 t)))) (* c (exp (- (* 1.2 t)))) {more})");
    let model = format!("(param a 1) (param b 1) (param c 1) (param d 1) (param e 1) (param f 1) (param g 1) {terms}");
    let found = fitted(&model, &table(vec![("t", t), ("y", y)]), &Options::default());
    assert!(found.parameters.iter().all(|p| p.stderr.is_none() && p.ci95.is_none()), "{:?}", found.parameters);
    // What is left of the residuals is rounding: combinations had errors of 10^-10.
    assert!(found.undetermined.iter().flat_map(|u| &u.determined).all(|c| c.stderr.is_none()), "{:?}", found.undetermined);
    assert_eq!(found.uncertainty.freedom, 0);
}

/// Where a slope is no number, the row is named and what to do about it: (k t)^n has none at t = 0 below n = 1.
#[test]
fn a_row_without_a_slope_is_named() {
    let t: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i)).collect();
    let y: Vec<f64> = t.iter().enumerate().map(|(i, t)| (-(0.4 * t).powf(0.7)).exp() + 0.01 * noise(i, 4)).collect();
    let data = table(vec![("t", t), ("y", y)]);
    let found = fitted("(param k 1 :min 0) (param n 1 :min 0) (exp (- (pow (* k t) n)))", &data, &Options::default());
    let named = |w: &String| w.contains("the prediction for row 1 by `") && w.contains("(if …)");
    assert!(!found.converged && found.warnings.iter().any(named), "{:?}", found.warnings);
    // What is said there helps.
    let found = fitted("(param k 1 :min 0) (param n 1 :min 0) (if (> t 0) (exp (- (pow (* k t) n))) 1)", &data, &Options::default());
    assert!(found.converged && (found.parameter("n").unwrap().value - 0.7).abs() < 0.05, "{:?}", found.parameters);
}

/// Data without noise say nothing of errors: neither standard errors nor a likelihood are told, in text and JSON.
#[test]
fn formulas_that_meet_their_data_exactly_have_no_errors() {
    let decay = "(param a 1) (param k 1) (* a (exp (- (* k x))))";
    let x: Vec<f64> = (0..12).map(|i| 0.25 * f64::from(i)).collect();
    let curve: Vec<f64> = x.iter().map(|x| 3.0 * (-0.7 * x).exp()).collect();
    let spread = "(param a 1) (param m 1) (+ 1000 (* a (exp (- (square (- x m))))))";
    let bump: Vec<f64> = x.iter().map(|x| 1000.0 + 2.0 * (-(x - 1.7) * (x - 1.7)).exp()).collect();
    for (model, y, constants) in [
        (decay, vec![2.0; 12], [("a", 2.0), ("k", 0.0)]),
        (decay, curve, [("a", 3.0), ("k", 0.7)]),
        (spread, bump, [("a", 2.0), ("m", 1.7)]),
    ] {
        let data = table(vec![("x", x.clone()), ("y", y)]);
        let found = fitted(model, &data, &Options::default());
        assert!(found.converged && found.exact, "{}", found.message);
        assert_eq!(found.message, "a minimum was reached: the model meets the data exactly, but for rounding");
        for (name, value) in constants {
            let p = found.parameter(name).unwrap();
            assert!((p.value - value).abs() < 1e-11 && p.stderr.is_none() && p.ci95.is_none(), "{p:?}");
            assert_eq!(p.note.as_deref(), Some("nothing is left to tell by"));
        }
        let json = to_json(&found);
        for key in ["loglik", "aic", "aicc", "bic"] {
            assert!(json[key].is_null(), "{key}: {}", json[key]);
        }
        let text = to_text(&found);
        assert!(text.contains("no likelihood and no AIC") && !text.contains("Durbin") && !text.contains("inf"), "{text}");
        // Errors that are given are known, whatever is left.
        let known = fitted(model, &data, &Options { sigma: Some(0.1), ..Options::default() });
        assert!(!known.exact && known.likelihood.loglik.is_finite() && known.parameters.iter().all(|p| p.stderr.is_some()), "{known:?}");
    }
}

/// Two constants through two points: what is left is rounding, and so would be its likelihood.
#[test]
fn as_many_constants_as_rows_have_no_likelihood() {
    let data = csv("x,y\n1,2.3\n2,1.1\n");
    for model in ["(param a 1) (param k 1) (* a (exp (- (* k x))))", "(param a 1) (param b 1) (+ (* a (tanh x)) (* b (log x)))"] {
        let found = fitted(model, &data, &Options::default());
        let json = to_json(&found);
        assert!(["loglik", "aic", "bic"].iter().all(|key| json[key].is_null()) && found.errors == [None], "{json}");
        assert!(found.converged && found.message.contains("as many constants as data"), "{}", found.message);
        assert!(found.parameters.iter().all(|p| p.note.as_deref().is_some_and(|n| n.contains("as many constants"))), "{found:?}");
    }
    // One that cannot reach them leaves something, which is told as ever.
    let found = fitted("(param a 1) (param b 1) (+ (* a a) (* b b) 3)", &data, &Options::default());
    assert!(found.likelihood.loglik.is_finite() && !found.exact, "{:?}", found.likelihood);
}

/// Bits that a threshold separates are met by any steep curve between 4 and 5.
#[test]
fn a_threshold_between_bits_is_not_determined() {
    let data = csv("x,y\n1,0\n2,0\n3,0\n4,0\n5,1\n6,1\n7,1\n8,1\n");
    let found = fitted("(param m 4) (param k 1) (/ 1 (+ 1 (exp (- (* k (- x m))))))", &data, &Options::default());
    assert!(found.message.contains("meets the data exactly") && to_json(&found)["loglik"].is_null(), "{}", found.message);
    for name in ["m", "k"] {
        let p = found.parameter(name).unwrap();
        assert!(p.stderr.is_none() && p.note.as_deref() == Some("not determined by the data"), "{p:?}");
        assert!(found.warnings.iter().any(|w| w.starts_with(&format!("`{name}` has no influence"))), "{:?}", found.warnings);
    }
}

/// `only vmax/km = …` has the digits of a parameter, and its error the same notation.
#[test]
fn combinations_are_written_like_parameters() {
    let x: Vec<f64> = (0..12).map(|i| 0.5 + 0.25 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 17.0 * x + 30.0 * noise(i, 3)).collect();
    let found = fitted("(param a 2) (param b 3) (* a b x)", &table(vec![("x", x), ("y", y)]), &Options::default());
    let c = &found.undetermined[0].determined[0];
    let error = c.stderr.unwrap();
    let wanted = format!("`a*b` = {} ± {}", shown(c.value, c.stderr), significant(error, 3));
    assert!(found.warnings[0].contains(&wanted) && error > 1.0 && !wanted.contains('e'), "{:?} {wanted}", found.warnings);
    // Three digits at least, as of every value.
    let digits = shown(c.value, c.stderr).chars().filter(char::is_ascii_digit).count();
    assert!(digits >= 3, "{wanted}");
}
