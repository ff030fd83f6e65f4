//! When starts hold, and how rows lie in time: before and after the start, in steps of a map, far from 0, out of order, several at once.
//! Expected numbers are closed forms.

use crate::common::{compile, named, table};
use neural_compiler_fit::{Options, fit, predict, save};

const DECAY: &str = "(param k 1 :min 0) (state x 10) (derive x (- (* k x)))";

/// 10 e^(-t/2) at some times.
fn decay(times: &[f64]) -> Vec<f64> {
    times.iter().map(|t| 10.0 * (-0.5 * t).exp()).collect()
}

fn value(model: &str, columns: Vec<(&str, Vec<f64>)>, options: &Options<'_>, name: &str) -> f64 {
    fit(&compile(model), &table(columns), options).unwrap().parameter(name).unwrap().value
}

fn code(model: &str, columns: Vec<(&str, Vec<f64>)>, options: &Options<'_>) -> (&'static str, String) {
    let error = fit(&compile(model), &table(columns), options).unwrap_err();
    (error.0[0].code, error.0[0].message.clone())
}

fn grouped() -> Options<'static> {
    Options { group: Some("g".into()), ..Options::default() }
}

#[test]
fn a_start_holds_when_the_model_or_the_user_says() {
    let t = [1.0, 2.0, 3.0, 4.0, 5.0];
    let data = || vec![("t", t.to_vec()), ("x", decay(&t))];
    let declared = format!("(time t :start 0) {DECAY}");
    assert!((value(&declared, data(), &Options::default(), "k") - 0.5).abs() < 1e-8);
    let given = Options { start_time: Some(0.0), ..Options::default() };
    assert!((value(DECAY, data(), &given, "k") - 0.5).abs() < 1e-8);
    // The user is asked last: what is said now counts more than what was written.
    assert!((value(&declared.replace(":start 0", ":start 1"), data(), &given, "k") - 0.5).abs() < 1e-8);
    let fitted = fit(&compile(&declared), &table(data()), &Options::default()).unwrap();
    assert_eq!(fitted.clock.as_ref().unwrap().words(), "starts hold at t = 0");
    assert!(fitted.warnings.is_empty(), "{:?}", fitted.warnings);
    // Saved, and asked elsewhere.
    let saved = save::fitted(DECAY, &fit(&compile(DECAY), &table(data()), &given).unwrap());
    let found = predict(&compile(&saved), &table(vec![("t", vec![3.0, 4.0])]), &Options::default()).unwrap();
    assert!((found[0].1[0] - 2.231301601).abs() < 1e-6 && (found[0].1[1] - 1.353352832).abs() < 1e-6, "{saved} gives {found:?}");
}

#[test]
fn a_start_written_at_a_time_in_latex_holds_at_that_time() {
    let t = [2.0, 3.0, 4.0, 5.0, 6.0];
    let data = |name: &'static str| vec![(name, t.to_vec()), ("N", decay(&t))];
    let model = |start: &str| format!("k = 1 \\text{{(parameter)}} \\\\ \\frac{{dN}}{{dt}} = -k N \\\\ {start}");
    let fitted = |start: &str, name| {
        let options = neural_compiler::Options { syntax: neural_compiler::syntax::Syntax::Latex, ..Default::default() };
        let program = neural_compiler::compile(&model(start), &options).unwrap_or_else(|e| panic!("{start}: {e:?}"));
        fit(&program, &table(data(name)), &Options::default()).unwrap()
    };
    // 10 e^(-t/2): 10 at 0, and 10 e^(-1/2) = 6.065306597126334 at 1, 10 e^(1/2) = 16.487212707001282 at -1.
    for (start, name, words) in [
        ("N(0) = 10", "t", "starts hold at t = 0"),
        ("N(0) = 10", "time", "starts hold at t = 0"),
        ("N(1) = 6.065306597126334", "t", "starts hold at t = 1"),
        ("N(-1) = 16.487212707001282", "t", "starts hold at t = -1"),
        ("N\\left(0\\right) &= 10 \\\\ t & \\text{(time)}", "t", "starts hold at t = 0"),
        ("N = 3.6787944117144233 \\text{(state)}", "t", "starts hold at t = 2, the first row"),
    ] {
        let found = fitted(start, name);
        assert_eq!(found.clock.as_ref().unwrap().words(), words, "{start}");
        let k = found.parameter("k").unwrap().value;
        assert!((k - 0.5).abs() < 1e-7, "{start}: {k}");
    }
}

#[test]
fn starts_read_back_from_latex_as_they_were() {
    use neural_compiler::syntax::Syntax::{Latex, Scheme};
    use neural_compiler::syntax::translate::translate;
    let law = "(state x 2) (derive x (- x))";
    for time in ["", "(time t)", "(time t :start 0)", "(time s :start -1.5)", "(time t :start 1e300)"] {
        let text = format!("{time} {law}");
        let latex = translate(&text, Scheme, Latex, &Default::default()).unwrap();
        let again = translate(&latex, Latex, Scheme, &Default::default()).unwrap();
        let start = |text: &str| compile(text).time().and_then(|t| t.start);
        assert_eq!(start(&again), start(&text), "{text}\n{latex}\n{again}");
    }
}

#[test]
fn a_column_of_times_is_no_input_beside_a_time_of_another_name() {
    let model = "(time t :start 0) (param k 1) (state x 1) (derive x (* k year))";
    let columns = || vec![("year", vec![2.0, 3.0, 4.0]), ("x", vec![3.0, 5.5, 9.0])];
    let options = Options { time: Some("year".into()), ..Options::default() };
    let (code, message) = code(model, columns(), &options);
    assert_eq!(code, "duplicate-name", "{message}");
    // x' = k t from 1 at 0: 1 + k t^2 / 2.
    assert!((value(&model.replace("time t", "time year"), columns(), &Options::default(), "k") - 1.0).abs() < 1e-8);
}

#[test]
fn the_first_row_is_the_start_unless_something_is_said_and_that_is_told_and_kept() {
    let t = [1.0, 2.0, 3.0, 4.0];
    let shifted: Vec<f64> = decay(&t.map(|t| t - 1.0));
    let fitted = fit(&compile(DECAY), &table(vec![("t", t.to_vec()), ("x", shifted)]), &Options::default()).unwrap();
    assert!((fitted.parameter("k").unwrap().value - 0.5).abs() < 1e-8);
    assert_eq!(fitted.clock.as_ref().unwrap().words(), "starts hold at t = 1, the first row");
    let warning = &fitted.warnings[0];
    assert!(warning.contains("`x`") && warning.contains("t = 1") && warning.contains("(time t :start 0)"), "{warning}");
    let saved = save::fitted(DECAY, &fitted);
    let found = predict(&compile(&saved), &table(vec![("t", vec![3.0, 0.0])]), &Options::default()).unwrap();
    assert!(
        (found[0].1[0] - 10.0 * (-1.0f64).exp()).abs() < 1e-6 && (found[0].1[1] - 10.0 * 0.5f64.exp()).abs() < 1e-6,
        "{saved} gives {found:?}"
    );
    // A start that is fitted, or read from the data, is no number somebody wrote for another time.
    for start in ["(param x0 9) (state x x0)", "(state x x)"] {
        let model = DECAY.replace("(state x 10)", start);
        let fitted = fit(&compile(&model), &table(vec![("t", t.to_vec()), ("x", decay(&t))]), &Options::default()).unwrap();
        assert!(fitted.warnings.is_empty(), "{start}: {:?}", fitted.warnings);
    }
    // What starts at its own column starts at the first row of any table.
    let own = DECAY.replace("(state x 10)", "(state x x)");
    let fitted = fit(&compile(&own), &table(vec![("t", t.to_vec()), ("x", decay(&t))]), &Options::default()).unwrap();
    let found =
        predict(&compile(&save::fitted(&own, &fitted)), &table(vec![("t", vec![0.0, 2.0]), ("x", vec![5.0, 0.0])]), &Options::default())
            .unwrap();
    assert!((found[0].1[1] - 5.0 * (-1.0f64).exp()).abs() < 1e-6, "{found:?}");
}

#[test]
fn the_time_has_the_name_it_is_declared_by() {
    let t = [1901.0, 1902.0, 1904.0];
    let model = "(time year :start 1900) (param k 1 :min 0) (state x 10) (derive x (* (- k) x (- year 1899)))";
    // x' = -k (τ + 1) x: x = 10 exp(-k (τ²/2 + τ)).
    let x = t.iter().map(|t| (t - 1900.0, 0.1)).map(|(s, k): (f64, f64)| 10.0 * (-k * (s * s / 2.0 + s)).exp()).collect();
    assert!((value(model, vec![("year", t.to_vec()), ("x", x)], &Options::default(), "k") - 0.1).abs() < 1e-8);
}

#[test]
fn rows_before_the_start_are_reached_backward() {
    let t: Vec<f64> = (0..13).map(|i| f64::from(i) * 0.5).collect();
    // x' = a cos t with x = 2 at t = 3; and a driven oscillator y'' = -4 y + b, about the rest b/4.
    let x = t.iter().map(|t| 2.0 + 1.5 * (t.sin() - 3f64.sin())).collect::<Vec<_>>();
    let y = t.iter().map(|t| 0.25 + 0.75 * (2.0 * (t - 3.0)).cos()).collect::<Vec<_>>();
    let model = "(time t :start 3) (param a 1) (param b 0.4) (state x 2) (state y 1) (state v 0)
        (derive x (* a (cos t))) (derive y v) (derive v (- b (* 4 y)))";
    for scheme in [None, Some(named("rk4")), Some(named("dopri5")), Some(named("rosenbrock"))] {
        let options = Options { scheme, step: (scheme == Some(named("rk4"))).then_some(0.01), ..Options::default() };
        let data = vec![("t", t.clone()), ("x", x.clone()), ("y", y.clone())];
        let fitted = fit(&compile(model), &table(data), &options).unwrap();
        assert_eq!(fitted.observations, 26);
        for (name, truth) in [("a", 1.5), ("b", 1.0)] {
            assert!((fitted.parameter(name).unwrap().value - truth).abs() < 1e-6, "{scheme:?}: {:?}", fitted.parameters);
        }
        assert!(fitted.predicted.iter().zip(x.iter().chain(&y)).all(|(p, o)| (p - o).abs() < 1e-6), "{scheme:?}");
    }
}

#[test]
fn a_map_takes_as_many_steps_as_the_times_say() {
    let model = "(param a 1.5) (state x 1) (next x (* a x))";
    let t = vec![0.0, 1.0, 2.0, 4.0, 8.0];
    let x: Vec<f64> = t.iter().map(|t: &f64| t.exp2()).collect();
    assert!((value(model, vec![("t", t.clone()), ("x", x.clone())], &Options::default(), "a") - 2.0).abs() < 1e-12);
    // Without times, rows are one step apart, in every group.
    let rows = vec![1.0, 5.0, 2.0, 10.0, 4.0, 20.0];
    let groups = vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
    let own = model.replace("(state x 1)", "(state x x)");
    assert!((value(&own, vec![("x", rows), ("g", groups)], &grouped(), "a") - 2.0).abs() < 1e-12);
    // Steps of another length, and a start before the first row.
    let half: Vec<f64> = t[1..].iter().map(|t| t / 2.0).collect();
    let stepped = format!("(time t :start 0 :step 0.5) {model}");
    assert!((value(&stepped, vec![("t", half.clone()), ("x", x[1..].to_vec())], &Options::default(), "a") - 2.0).abs() < 1e-12);
    let (code_, message) = code(model, vec![("t", vec![0.0, 1.0, 2.5]), ("x", vec![1.0, 2.0, 4.0])], &Options::default());
    assert!(code_ == "bad-times" && message.starts_with("row 3, column `t`"), "{message}");
    let given = Options { start_time: Some(1.0), ..Options::default() };
    let (code_, message) = code(model, vec![("t", vec![0.0, 1.0, 2.0]), ("x", vec![1.0, 2.0, 4.0])], &given);
    assert!(code_ == "bad-start-time" && message.starts_with("row 1, column `t`"), "{message}");
    // Between rows the inputs of the row before hold: 0 + 3·1, then + 2·10.
    let driven = "(param b 1) (state x 0) (next x (+ x (* b u)))";
    let columns = vec![("t", vec![0.0, 3.0, 5.0]), ("u", vec![1.0, 10.0, 0.0]), ("x", vec![0.0, 6.0, 46.0])];
    assert!((value(driven, columns, &Options::default(), "b") - 2.0).abs() < 1e-12);
}

#[test]
fn times_far_from_zero_lose_no_digits() {
    // Logistic growth, r = 0.8, K = 10, from 1: x = 10 / (1 + 9 e^(-0.8 t)).
    let model = "(param r 0.3 :min 0) (param K 7 :min 0) (state x 1) (derive x (* r x (- 1 (/ x K))))";
    for (offset, step) in [(0.0, 1.0), (1.7e9, 0.5), (1e15, 1.0), (-1e15, 1.0)] {
        let since: Vec<f64> = (0..16).map(|i| f64::from(i) * step).collect();
        let x = since.iter().map(|t: &f64| 10.0 / (1.0 + 9.0 * (-0.8 * t).exp())).collect();
        let t = since.iter().map(|s| offset + s).collect();
        let found = value(model, vec![("t", t), ("x", x)], &Options::default(), "r");
        assert!((found - 0.8).abs() < 1e-7, "from {offset}: {found}");
    }
    // Where the times themselves have lost their digits, nothing can be right.
    let t: Vec<f64> = (0..16).map(|i| 1e15 + 0.1 * f64::from(i)).collect();
    let (code_, message) = code(model, vec![("t", t), ("x", vec![1.0; 16])], &Options::default());
    assert_eq!(code_, "bad-times", "{message}");
    // The law gets the time itself: x' = k (t - 1.7e9), x = k s²/2.
    let t: Vec<f64> = (0..9).map(|i| 1.7e9 + f64::from(i)).collect();
    let x = (0..9).map(|i| 0.15 * f64::from(i * i)).collect();
    let found = value("(param k 1) (state x 0) (derive x (* k (- t 1.7e9)))", vec![("t", t), ("x", x)], &Options::default(), "k");
    assert!((found - 0.3).abs() < 1e-8, "{found}");
}

#[test]
fn rows_in_any_order_and_several_at_a_time() {
    // Two groups, shuffled, with replicates a little above and below the truth: the least squares are those of the means.
    let mut rows: Vec<(f64, f64, f64)> = Vec::new();
    for (g, start) in [(0.0, 10.0), (1.0, 4.0)] {
        for t in [3.0, 0.0, 1.0, 2.0] {
            let x = start * (-0.5f64 * t).exp();
            rows.extend([(g, t, x + 0.01), (g, t, x - 0.01)]);
        }
    }
    let order = [7, 2, 11, 0, 15, 4, 9, 13, 1, 8, 3, 14, 6, 10, 5, 12];
    let column = |f: fn(&(f64, f64, f64)) -> f64| order.iter().map(|&i| f(&rows[i])).collect::<Vec<_>>();
    let first = order.iter().map(|&i| if rows[i].0 == 0.0 { 10.0 } else { 4.0 }).collect();
    let data = table(vec![("g", column(|r| r.0)), ("t", column(|r| r.1)), ("x", column(|r| r.2)), ("x0", first)]);
    let model = DECAY.replace("(state x 10)", "(state x x0)");
    let fitted = fit(&compile(&model), &data, &grouped()).unwrap();
    assert!((fitted.parameter("k").unwrap().value - 0.5).abs() < 1e-8 && fitted.observations == 16, "{:?}", fitted.parameters);
    assert!((fitted.rmse - 0.01).abs() < 1e-9, "{}", fitted.rmse);
    // Predictions stand in the rows they belong to.
    let times = column(|r| r.1);
    let starts = data.column("x0").unwrap();
    assert!(fitted.predicted.iter().zip(times.iter().zip(starts)).all(|(p, (t, x0))| (p - x0 * (-0.5 * t).exp()).abs() < 1e-6));
    // Groups that begin at different times each start at their own first row, and a saved model keeps none of them.
    let late: Vec<f64> = times.iter().zip(data.column("g").unwrap()).map(|(t, g)| t + 5.0 * g).collect();
    let again = table(vec![("g", column(|r| r.0)), ("t", late), ("x", column(|r| r.2)), ("x0", starts.to_vec())]);
    let fitted = fit(&compile(&model), &again, &grouped()).unwrap();
    assert!((fitted.parameter("k").unwrap().value - 0.5).abs() < 1e-8);
    assert_eq!(fitted.clock.as_ref().unwrap().words(), "starts hold at the first row of each group, from t = 0 to t = 5");
    assert_eq!(save::fitted(&model, &fitted).matches("(time").count(), 0);
}

#[test]
fn trajectories_run_together_are_noticed() {
    let t = vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0];
    let start = |x0: &[f64]| x0.iter().flat_map(|s| [0.0, 1.0, 2.0].map(|t: f64| s * (-0.5 * t).exp())).collect::<Vec<_>>();
    let own = DECAY.replace("(state x 10)", "(state x x)");
    let (code_, message) = code(&own, vec![("t", t.clone()), ("x", start(&[10.0, 4.0]))], &Options::default());
    assert!(code_ == "rows-disagree" && message.contains("rows 1 and 4"), "{message}");
    // The same start twice is two measurements of one trajectory; that it might be two is said.
    let fitted = fit(&compile(DECAY), &table(vec![("t", t.clone()), ("x", start(&[10.0, 10.0]))]), &Options::default()).unwrap();
    assert!((fitted.parameter("k").unwrap().value - 0.5).abs() < 1e-8 && fitted.observations == 6);
    assert!(fitted.warnings[0].contains("rows 1 and 4") && fitted.warnings[0].contains("--group"), "{:?}", fitted.warnings);
    let driven = DECAY.replace("(- (* k x))", "(- u (* k x))");
    let u = vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let (code_, message) = code(&driven, vec![("t", t), ("x", start(&[10.0, 10.0])), ("u", u)], &Options::default());
    assert!(code_ == "rows-disagree" && message.contains("column `u`"), "{message}");
}

#[test]
fn inputs_are_known_from_the_start_on_or_do_not_change() {
    let driven = "(time t :start 0) (param k 1) (state x 0) (derive x (- u (* k x)))";
    // x' = 2 - k x from 0: 2/k (1 - e^(-k t)).
    let t = vec![1.0, 2.0, 3.0];
    let x: Vec<f64> = t.iter().map(|t: &f64| 4.0 * (1.0 - (-0.5 * t).exp())).collect();
    assert!((value(driven, vec![("t", t.clone()), ("x", x.clone()), ("u", vec![2.0; 3])], &Options::default(), "k") - 0.5).abs() < 1e-7);
    let (code_, message) = code(driven, vec![("t", t.clone()), ("x", x), ("u", vec![2.0, 2.0, 3.0])], &Options::default());
    assert!(code_ == "bad-start-time" && message.contains("`u`"), "{message}");
    // A state that starts at its own column needs a row there.
    let own = "(time t :start 0) (param k 1) (state x x) (derive x (- (* k x)))";
    let (code_, message) = code(own, vec![("t", t.clone()), ("x", decay(&t))], &Options::default());
    assert!(code_ == "bad-start-time" && message.contains("t = 0"), "{message}");
}

#[test]
fn days_written_as_numbers_are_noticed() {
    let days = [20_240_130.0, 20_240_131.0, 20_240_201.0, 20_240_202.0];
    let fitted = fit(&compile(DECAY), &table(vec![("t", days.to_vec()), ("x", vec![10.0, 6.0, 3.7, 2.2])]), &Options::default()).unwrap();
    assert!(fitted.warnings.iter().any(|w| w.contains("calendar") && w.contains("2024-01-30")), "{:?}", fitted.warnings);
    // There is no 32nd.
    let other = [20_240_130.0, 20_240_131.0, 20_240_132.0, 20_240_133.0];
    let fitted =
        fit(&compile(DECAY), &table(vec![("t", other.to_vec()), ("x", decay(&[0.0, 1.0, 2.0, 3.0]))]), &Options::default()).unwrap();
    assert!(!fitted.warnings.iter().any(|w| w.contains("calendar")), "{:?}", fitted.warnings);
}
