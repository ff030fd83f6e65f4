//! Observables: columns that observe expressions of states. Expected numbers are those of formulas that solve the models, or known.

use crate::common::{compile, named, noise, table};
use neural_compiler_fit::{Fit, Known, Options, Table, bands, fit, predict, predict_told, simulate};

fn same(found: &Fit, wanted: &Fit) {
    for q in &wanted.parameters {
        let p = found.parameter(&q.name).unwrap();
        let (e, f) = (p.stderr.unwrap(), q.stderr.unwrap());
        assert!((p.value - q.value).abs() < 1e-4 * f, "{}: {} and {} ± {f}", p.name, p.value, q.value);
        assert!((e / f - 1.0).abs() < 1e-3, "{}: ± {e} and {f}", p.name);
    }
    assert!((found.likelihood.loglik - wanted.likelihood.loglik).abs() < 1e-5 * wanted.likelihood.loglik.abs());
}

/// An amount that decays, measured as a concentration.
fn concentrations() -> Table {
    let t: Vec<f64> = (0..25).map(|i| 0.25 * f64::from(i)).collect();
    let conc = t.iter().enumerate().map(|(i, t)| 100.0 / 18.0 * (-0.35 * t).exp() + 0.05 * noise(i, 7)).collect();
    table(vec![("t", t), ("conc", conc)])
}

#[test]
fn an_amount_over_a_volume() {
    let formula = "(param V 10 :min 1) (param k 1 :min 0) (/ (* 100 (exp (* (- k) t))) V)";
    let wanted = fit(&compile(formula), &concentrations(), &Options { target: Some("conc".into()), ..Options::default() }).unwrap();
    let model = "(param V 10 :min 1) (param k 1 :min 0) (state A 100) (derive A (* (- k) A)) (observe conc (/ A V))";
    for scheme in [None, Some(named("rosenbrock")), Some(named("rk4"))] {
        let step = scheme.filter(|s| s.row().embedded.is_none()).map(|_| 0.05);
        let found = fit(&compile(model), &concentrations(), &Options { scheme, step, ..Options::default() }).unwrap();
        same(&found, &wanted);
        assert_eq!(found.targets, ["conc"]);
    }
}

#[test]
fn several_of_them_beside_an_observed_state_with_missing_cells() {
    // Three columns of one chain; the sum of the first two states, the logarithm of the third, and the second as it is.
    let t: Vec<f64> = (1..30).map(|i| 0.2 * f64::from(i)).collect();
    let (k, m) = (0.8f64, 0.3f64);
    let a = |t: f64| 5.0 * (-k * t).exp();
    let b = |t: f64| 5.0 * k / (m - k) * ((-k * t).exp() - (-m * t).exp());
    let sum: Vec<f64> = t.iter().enumerate().map(|(i, t)| if i % 5 == 2 { f64::NAN } else { a(*t) + b(*t) + 0.02 * noise(i, 1) }).collect();
    let late: Vec<f64> = t.iter().enumerate().map(|(i, t)| (5.0 - a(*t) - b(*t)).ln() + 0.01 * noise(i, 2)).collect();
    let second: Vec<f64> = t.iter().enumerate().map(|(i, t)| b(*t) + 0.03 * noise(i, 3)).collect();
    let data = table(vec![("t", t), ("sum", sum), ("late", late), ("B", second)]);
    let model = "(time t :start 0) (param k 1 :min 0) (param m 1 :min 0) (state A 5) (state B 0) (state C 0)
        (derive A (* (- k) A)) (derive B (- (* k A) (* m B))) (derive C (* m B))
        (observe sum (+ A B)) (observe late (log C))";
    let found = fit(&compile(model), &data, &Options::default()).unwrap();
    for (name, value) in [("k", k), ("m", m)] {
        let p = found.parameter(name).unwrap();
        assert!((p.value - value).abs() < 4.0 * p.stderr.unwrap() && p.stderr.unwrap() < 0.02, "{name}: {} ± {:?}", p.value, p.stderr);
    }
    let counts: Vec<(String, usize)> = found.columns.iter().map(|c| (c.name.clone(), c.n)).collect();
    assert_eq!(counts, [("B".to_string(), 29), ("sum".to_string(), 23), ("late".to_string(), 29)]);
    // Each with its own scatter.
    assert!((found.columns[2].rmse - 0.01).abs() < 0.005 && (found.columns[0].rmse - 0.03).abs() < 0.015, "{:?}", found.columns);
}

#[test]
fn the_way_back_goes_through_observables_of_inputs_and_parameters() {
    let model = "(param V 10 :min 1) (param k 1 :min 0) (net g (A) 3 1) (state A 100)
        (derive A (+ (* (- k) A) (g A))) (observe conc (/ A V))";
    let run = |training: &str| {
        let options = Options { scheme: Some(named("rk4")), training: training.parse().unwrap(), epochs: Some(300), ..Options::default() };
        fit(&compile(model), &concentrations(), &options).unwrap()
    };
    for found in ["gauss-newton", "first-order"].map(run) {
        assert!((found.parameter("V").unwrap().value - 18.0).abs() < 1.0, "{:?}", found.parameters);
    }
}

#[test]
fn predictions_tell_observables_too() {
    let model = "(time t :start 0) (param V 20) (state A 100) (derive A (- A)) (observe conc (/ A V)) (observe weighed (* wt A))";
    let data = table(vec![("t", vec![0.0, 1.0]), ("wt", vec![2.0, 3.0])]);
    let found = predict(&compile(model), &data, &Options::default()).unwrap();
    let names: Vec<&str> = found.iter().map(|c| c.0.as_str()).collect();
    assert_eq!(names, ["A.predicted", "conc.predicted", "weighed.predicted"]);
    let e = (-1.0f64).exp();
    for (column, wanted) in found.iter().zip([[100.0, 100.0 * e], [5.0, 5.0 * e], [200.0, 300.0 * e]]) {
        column.1.iter().zip(wanted).for_each(|(x, w)| assert!((x - w).abs() < 1e-6 * w, "{}: {x} instead of {w}", column.0));
    }
}

#[test]
fn what_is_not_observed_is_named() {
    let model = "(state A 100) (derive A (- A)) (observe conc (/ A 2))";
    let error = fit(&compile(model), &table(vec![("t", vec![0.0, 1.0]), ("x", vec![0.0, 1.0])]), &Options::default()).unwrap_err();
    assert_eq!(error.0[0].code, "no-target");
    assert!(error.0[0].message.contains("`A`, `conc`"), "{}", error.0[0].message);
}

#[test]
fn an_observable_that_nobody_observed_counts_nothing() {
    let t: Vec<f64> = (0..25).map(|i| 0.25 * f64::from(i)).collect();
    let y = t.iter().enumerate().map(|(i, t)| 3.0 * (-0.7 * t).exp() + 0.05 * noise(i, 3)).collect();
    let data = table(vec![("t", t), ("y", y)]);
    let one = "(param a 1) (param k 1) (observe y (* a (exp (- (* k t)))))";
    let wanted = fit(&compile(one), &data, &Options::default()).unwrap();
    let found = fit(&compile(&format!("{one} (observe z (* a t))")), &data, &Options::default()).unwrap();
    same(&found, &wanted);
    // a, k and the standard deviation of y, no other: information criteria count them.
    assert_eq!((found.parameters.len(), found.likelihood.k), (3, 3.0));
    assert_eq!(found.likelihood.k, wanted.likelihood.k);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

/// Where nothing is observed an input may be missing: it is there what it is between the rows that have it, as if that stood in the cell.
#[test]
fn inputs_that_are_missing_where_nothing_is_observed() {
    let nan = f64::NAN;
    let model = |how: &str| format!("(param k 0.1) (param G0 5) (input I :interpolate {how}) (state G G0) (derive G (- (* k I G)))");
    // Burden and Faires, Numerical Analysis, section 3.5: the natural spline through (1, 2), (2, 3), (3, 5) is 2.40625 at 1.5.
    for (how, filled) in [("linear", 2.5), ("step", 2.0), ("cubic", 2.40625)] {
        let data = |missing: f64| {
            let g = vec![5.0, nan, 3.4, 1.8];
            table(vec![("t", vec![1.0, 1.5, 2.0, 3.0]), ("I", vec![2.0, missing, 3.0, 5.0]), ("G", g)])
        };
        let program = compile(&model(how));
        let found = fit(&program, &data(nan), &Options::default()).unwrap_or_else(|e| panic!("{how}: {e}"));
        same(&found, &fit(&program, &data(filled), &Options::default()).unwrap());
        assert!(found.warnings.iter().any(|w| w.contains("1 row has no value of the input `I`")), "{:?}", found.warnings);
    }
    let t = vec![0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0];
    let g = vec![5.0, 4.0, 3.3, nan, 5.1, nan, 3.2, 2.6];
    let data = |input: Vec<f64>, g: &[f64]| {
        let groups = (0..8).map(|i| f64::from(i / 4)).collect();
        table(vec![("t", t.clone()), ("I", input), ("G", g.to_vec()), ("g", groups)])
    };
    let how = Options { group: Some("g".into()), ..Options::default() };
    let fitted = |input: Vec<f64>, g: &[f64]| fit(&compile(&model("linear")), &data(input, g), &how);
    // Behind the last row that has it nobody asks; between rows of one group, not of two.
    let found = fitted(vec![1.0, 2.0, 2.0, nan, 7.0, nan, 3.0, 3.0], &g).unwrap();
    same(&found, &fitted(vec![1.0, 2.0, 2.0, 4.0, 7.0, 5.0, 3.0, 3.0], &g).unwrap());
    let first = [5.0, 4.0, 3.3, 2.7, nan, 4.0, 3.2, 2.6];
    for (input, g, row) in [(4, &first[..], "row 5"), (6, &g, "row 7")] {
        let mut of = vec![1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 3.0, 3.0];
        of[input] = nan;
        let refused = fitted(of, g).expect_err("an input that is needed");
        assert!(refused.0[0].code == "bad-value" && refused.0[0].message.contains(row), "{refused}");
    }
}

/// 10^9 beside a state was taken for a part of the solution, whose errors are a share of it: error bars were 100 times too large.
#[test]
fn a_large_number_beside_a_state_widens_no_error() {
    let t: Vec<f64> = (0..40).map(|i| 0.25 * f64::from(i)).collect();
    let x: Vec<f64> = t.iter().enumerate().map(|(i, t)| 100.0 * (-0.35 * t).exp() + 0.1 * noise(i, 7)).collect();
    let of = |offset: &str, by: f64| {
        let model = format!("(param k 0.3 :min 0) (state x 100) (derive x (- (* k x))) (observe f (+ {offset} x))");
        let data = table(vec![("t", t.clone()), ("f", x.iter().map(|x| x + by).collect())]);
        fit(&compile(&model), &data, &Options::default()).unwrap()
    };
    let (wanted, found) = (of("0", 0.0), of("1e9", 1e9));
    let error = |fit: &Fit| fit.parameters[0].stderr.unwrap();
    assert!((error(&found) / error(&wanted) - 1.0).abs() < 1e-3, "± {} and {}", error(&found), error(&wanted));
}

/// Every minimum was taken for a perfect fit of 10^12 beside a state, so that the one nearest to the declared values was kept.
#[test]
fn a_large_number_beside_a_state_hides_no_minimum() {
    let t: Vec<f64> = (0..40).map(|i| 0.25 * f64::from(i)).collect();
    let f = t.iter().enumerate().map(|(i, t)| 1e12 + 10.0 * (2.9 * t).cos() + 0.1 * noise(i, 7)).collect();
    let model = "(param w 1.2 :min 0.1 :max 6) (state u 10) (state v 0) (derive u (* w v)) (derive v (- (* w u))) (observe f (+ 1e12 u))";
    let found = fit(&compile(model), &table(vec![("t", t), ("f", f)]), &Options::default()).unwrap();
    let w = found.parameter("w").unwrap();
    assert!((w.value - 2.9).abs() < 4.0 * w.stderr.unwrap() && w.stderr.unwrap() < 0.01, "{w:?}: {}", found.message);
}

/// A number that fills a row of weight 0 is no size of the solution, which its absolute tolerance is a share of.
#[test]
fn what_fills_rows_of_weight_0_counts_nowhere() {
    let t: Vec<f64> = (0..30).map(f64::from).collect();
    let mut x: Vec<f64> = t.iter().enumerate().map(|(i, t)| 10.0 * (2.9 * t).sin() + 0.1 * noise(i, 7)).collect();
    let mut w = vec![1.0; 30];
    let model = compile("(param w 2.88 :min 0.1) (state u 0) (state v 10) (derive u (* w v)) (derive v (- (* w u)))");
    let of = |x: &[f64], w: &[f64]| {
        let options = Options { weights_column: Some("weight".into()), ..Options::default() };
        fit(&model, &table(vec![("t", t.clone()), ("u", x.to_vec()), ("weight", w.to_vec())]), &options).unwrap()
    };
    (w[7], w[20]) = (0.0, 0.0);
    let wanted = of(&x, &w);
    (x[7], x[20]) = (1e20, 1e20);
    let found = of(&x, &w);
    assert!(!found.exact, "{}", found.message);
    same(&found, &wanted);
}

/// What a fit takes, its predictions take: rows without inputs and without observations are there what they are between others.
#[test]
fn predictions_go_without_inputs_where_fits_do() {
    let nan = f64::NAN;
    let t: Vec<f64> = (0..24).map(|i| 0.5 * f64::from(i)).collect();
    let gap = |i: usize| i == 5 || i == 11;
    let input = |missing: bool| (0..24).map(|i| if missing && gap(i) { nan } else { 1.0 + 0.25 * (i % 4) as f64 }).collect::<Vec<f64>>();
    let x = (0..24).map(|i| if gap(i) { nan } else { 4.0 * (-0.13 * i as f64).exp() + 0.05 * crate::common::noise(i, 3) });
    let data = table(vec![("t", t.clone()), ("u", input(true)), ("x", x.collect())]);
    let model = "(param k 0.2 :min 0) (param a 4) (param s 0.1 :min 0) (input u :interpolate linear) (state z a) \
                 (derive z (- (* k u z))) (observe x z :noise (normal s))";
    let program = compile(model);
    let found = fit(&program, &data, &Options { bootstrap: Some(20), ..Options::default() }).unwrap();
    assert!(found.describes_data.is_some() && found.bootstrap.as_ref().is_some_and(|b| b.failed == 0), "{:?}", found.bootstrap);
    let options = Options { values: found.values.clone(), ..Options::default() };
    let all = bands(&program, &data, &options, &Known::of(&found).unwrap()).unwrap();
    assert!(all[0].value.iter().all(|x| x.is_finite()), "{all:?}");
    // At a row between others as if the number there stood in the cell; behind the last there is no prediction.
    let (law, nan) = (compile("(param k 0.2) (input u :interpolate linear) (state z 4) (derive z (- (* k u z)))"), f64::NAN);
    let of = |u: Vec<f64>| table(vec![("t", vec![0.0, 1.0, 2.0, 3.0, 4.0]), ("u", u)]);
    let (with, without) = (of(vec![1.0, 2.0, 2.5, 3.0, 3.0]), of(vec![1.0, 2.0, nan, 3.0, nan]));
    let full = predict(&law, &with, &Options::default()).unwrap();
    let (part, warnings) = predict_told(&law, &without, &Options::default()).unwrap();
    let simulated = simulate(&law, &without, &Options::default(), &vec![]).unwrap();
    for row in 0..4 {
        assert_eq!((part[0].1[row], simulated.values[row]), (full[0].1[row], full[0].1[row]), "{part:?}");
    }
    assert!(part[0].1[4].is_nan() && simulated.values[4].is_nan());
    for said in [warnings, simulated.warnings] {
        assert!(said.iter().any(|w| w.contains("1 row has no value of the input `u`: other rows say")), "{said:?}");
        assert!(said.iter().any(|w| w.contains("1 row behind the last with a value of the input `u` is left out")), "{said:?}");
    }
    // At the first row nothing says what it is; a row of a map is a step.
    let code = |model: &str, u: Vec<f64>| predict(&compile(model), &of(u), &Options::default()).unwrap_err().0[0].code;
    assert_eq!(code("(input u :interpolate linear) (state z 4) (derive z u)", vec![nan, 2.0, 2.0, 3.0, 3.0]), "bad-value");
    assert_eq!(code("(input u) (state z 4) (next z u)", vec![1.0, 2.0, nan, 3.0, 3.0]), "bad-value");
}

/// Rows that were left out lie nowhere in a picture, and the report counts them apart from those that were completed.
#[test]
fn rows_behind_the_last_input_are_counted_apart() {
    let nan = f64::NAN;
    let t = vec![0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 90.0];
    let data = table(vec![
        ("t", t),
        ("u", vec![1.0, nan, 1.0, 1.0, 1.0, 1.0, 1.0, nan]),
        ("x", vec![4.0, nan, 2.7, 2.2, 4.1, 3.3, 2.6, nan]),
        ("g", vec![0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
    ]);
    let model = "(param k 0.3) (param a 4) (input u :interpolate linear) (state x a) (derive x (- (* k u x)))";
    let found = fit(&compile(model), &data, &Options { group: Some("g".into()), ..Options::default() }).unwrap();
    let axis = found.axis.as_ref().unwrap();
    assert!(axis.values[7].is_nan() && axis.values[..7].iter().all(|t| t.is_finite()), "{axis:?}");
    let says = |what: &str| found.warnings.iter().any(|w| w.contains(what));
    assert!(says("1 row has no value of the input `u` and nothing to explain: other rows say"), "{:?}", found.warnings);
    assert!(says("1 row behind the last with a value of the input `u` is left out"), "{:?}", found.warnings);
}
