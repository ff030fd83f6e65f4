//! Models with states: known solutions, the order of every scheme, exact derivatives of the discretised solution, the paper's systems,
//! and a stiff problem.

use crate::common::{compile, named, noise, table};
use neural_compiler::ode::Scheme;
use neural_compiler_fit::{Fit, Options, Table, fit, predict};

/// A column of the predictions of a model.
fn predicted(model: &str, data: &Table, scheme: Scheme, step: Option<f64>, column: &str) -> Vec<f64> {
    let options = Options { scheme: Some(scheme), step, tolerance: Some(1e-3), ..Options::default() };
    predict(&compile(model), data, &options).unwrap().into_iter().find(|c| c.0 == column).unwrap().1
}

#[test]
fn every_scheme_has_its_order() {
    // x' = -x² + sin t · x, nonlinear and driven by time, so that every coefficient of a scheme matters. Fixed steps by a loose
    // tolerance and a longest step.
    let model = "(state x 1) (derive x (- (* (sin t) x) (* x x)))";
    let data = table(vec![("t", vec![0.0, 2.0]), ("x", vec![1.0, 1.0])]);
    let exact = predict(&compile(model), &data, &Options { scheme: Some(named("dopri5")), tolerance: Some(1e-13), ..Options::default() })
        .unwrap()[0]
        .1[1];
    for (scheme, order) in Scheme::all().map(|s| (s, f64::from(s.row().order))) {
        let error = |step: f64| (predicted(model, &data, scheme, Some(step), "x.predicted")[1] - exact).abs();
        let (coarse, fine) = (error(0.05), error(0.0125));
        let seen = (coarse / fine).log2() / 2.0;
        println!("{scheme:?}: errors {coarse:.2e} and {fine:.2e}, order {seen:.2}");
        assert!(seen > order - 0.3 && seen < order + 0.8, "{scheme:?} has order {seen}");
    }
}

#[test]
fn known_solutions() {
    let times: Vec<f64> = (0..30).map(|i| 0.2 * f64::from(i)).collect();
    // A damped oscillation, in closed form.
    let (k, c) = (4.0f64, 0.3f64);
    let w = (k - c * c / 4.0).sqrt();
    let x: Vec<f64> = times.iter().map(|t| (-c * t / 2.0).exp() * ((w * t).cos() + c / (2.0 * w) * (w * t).sin())).collect();
    let data = table(vec![("t", times), ("x", x)]);
    let model = "(param k 1 :min 0) (param c 1 :min 0) (state x 1) (state v 0) (derive x v) (derive v (- (- (* k x)) (* c v)))";
    for scheme in [None, Some(named("dopri5")), Some(named("rosenbrock"))] {
        let fit = fit(&compile(model), &data, &Options { scheme, ..Options::default() }).unwrap();
        println!("{scheme:?}: {:?}, {} of {}", fit.parameters.iter().map(|p| p.value).collect::<Vec<_>>(), fit.agreed, fit.tried);
        assert!((fit.parameter("k").unwrap().value - k).abs() < 1e-6 && (fit.parameter("c").unwrap().value - c).abs() < 1e-6);
    }
}

const LOTKA_VOLTERRA: &str = "
(param alpha 0.5 :min 0) (param beta 0.5 :min 0) (param delta 0.5 :min 0) (param gamma 0.5 :min 0)
(state x 4) (state y 1)
(derive x (- (* alpha x) (* beta (* x y))))
(derive y (- (* delta (* x y)) (* gamma y)))";

fn lotka_volterra(sigma: f64) -> (Table, Vec<f64>) {
    let truth = LOTKA_VOLTERRA.replace("alpha 0.5", "alpha 1").replace("delta 0.5", "delta 0.25");
    let times: Vec<f64> = (0..121).map(|i| 0.1 * f64::from(i)).collect();
    let blank = vec![0.0; 121];
    let clean = predict(
        &compile(&truth),
        &table(vec![("t", times.clone()), ("x", blank.clone()), ("y", blank)]),
        &Options { scheme: Some(named("rk4")), ..Options::default() },
    )
    .unwrap();
    let size = clean.iter().flat_map(|c| &c.1).map(|x| x.abs()).sum::<f64>() / 242.0;
    let noisy = |c: usize| clean[c].1.iter().enumerate().map(|(i, x)| x + sigma * size * noise(i, c as u64 + 3)).collect::<Vec<_>>();
    (table(vec![("t", times), ("x", noisy(0)), ("y", noisy(1))]), vec![1.0, 0.5, 0.25, 0.5])
}

fn worst(fit: &Fit, truth: &[f64]) -> f64 {
    fit.parameters.iter().zip(truth).map(|(p, t)| (p.value / t - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn the_papers_lotka_volterra() {
    let (data, truth) = lotka_volterra(0.02);
    for start in ["0.5", "1.0"] {
        let model = LOTKA_VOLTERRA.replace("0.5 :min", &format!("{start} :min"));
        let clock = std::time::Instant::now();
        let fit = fit(&compile(&model), &data, &Options { scheme: Some(named("rk4")), ..Options::default() }).unwrap();
        println!(
            "from {start}: worst {:.3} %, {} of {} agree, {:?}, {:?}",
            100.0 * worst(&fit, &truth),
            fit.agreed,
            fit.tried,
            clock.elapsed(),
            fit.parameters
        );
        assert!(worst(&fit, &truth) < 0.0108 && fit.converged, "the paper: 1.08 %");
    }
}

#[test]
fn a_state_that_is_never_observed_and_unknown_starts() {
    let (data, truth) = lotka_volterra(0.01);
    let only = Table::new(data.names().iter().filter(|n| *n != "y").map(|n| (n.clone(), data.column(n).unwrap().to_vec()))).unwrap();
    let model = LOTKA_VOLTERRA
        .replace("(state x 4)", "(param x0 3 :min 0) (state x x0)")
        .replace("(param beta 0.5 :min 0)", "(param beta 0.5 :fixed)");
    let fit = fit(&compile(&model), &only, &Options::default()).unwrap();
    println!("{:?}", fit.parameters);
    let truth = [truth[0], truth[2], truth[3], 4.0];
    for (p, t) in fit.parameters.iter().zip(truth) {
        assert!((p.value - t).abs() < 4.0 * p.stderr.unwrap(), "{} is {} ± {:?}, not {t}", p.name, p.value, p.stderr);
    }
}

#[test]
fn missing_cells_are_times_without_an_observation() {
    let (data, truth) = lotka_volterra(0.0);
    let holes = |n: &str, every: usize| {
        data.column(n).unwrap().iter().enumerate().map(|(i, x)| if i % every == 1 { f64::NAN } else { *x }).collect()
    };
    let data = table(vec![("t", data.column("t").unwrap().to_vec()), ("x", holes("x", 3)), ("y", holes("y", 2))]);
    let fit = fit(&compile(LOTKA_VOLTERRA), &data, &Options { scheme: Some(named("rk4")), ..Options::default() }).unwrap();
    assert!(worst(&fit, &truth) < 1e-8, "{:?}", fit.parameters);
    assert_eq!(fit.observations, 121 * 2 - 40 - 60);
}

#[test]
fn groups_forcing_and_starts_from_columns() {
    // Two tanks with an inflow given as a column, each with its own start.
    let (mut t, mut tank, mut inflow, mut level, mut first) = (vec![], vec![], vec![], vec![], vec![]);
    for g in 0..2 {
        // Forcing that is linear between rows: solved exactly by the variation of constants in small pieces.
        let (mut x, start) = (2.0 + f64::from(g), 2.0 + f64::from(g));
        for i in 0..25 {
            let time = 0.4 * f64::from(i);
            let u = if (i / 5) % 2 == g { 1.5 } else { 0.5 };
            t.push(time);
            tank.push(f64::from(g));
            inflow.push(u);
            level.push(x);
            first.push(start);
            let next = if ((i + 1) / 5) % 2 == g { 1.5 } else { 0.5 };
            let (k, h) = (0.6f64, 0.4f64);
            let slope = (next - u) / h;
            x = (x - u / k + slope / (k * k)) * (-k * h).exp() + u / k + slope * h / k - slope / (k * k);
        }
    }
    let data = table(vec![("t", t), ("tank", tank), ("u", inflow), ("h", level), ("h0", first)]);
    let fit = fit(
        &compile("(param k 0.1 :min 0) (state h h0) (derive h (- u (* k h)))"),
        &data,
        &Options { group: Some("tank".into()), ..Options::default() },
    )
    .unwrap();
    assert!((fit.parameter("k").unwrap().value - 0.6).abs() < 1e-7, "{:?}", fit.parameters);
}

#[test]
fn robertson_over_eleven_decades() {
    let model = "
(param k1 1 :min 1e-6 :max 1e3) (param k2 1e6 :min 1 :max 1e12) (param k3 1e3 :min 1e-3 :max 1e9)
(state a 1) (state b 0) (state c 0)
(derive a (- (* k3 (* b c)) (* k1 a)))
(derive b (- (- (* k1 a) (* k3 (* b c))) (* k2 (* b b))))
(derive c (* k2 (* b b)))";
    let truth = [0.04, 3e7, 1e4];
    let solved = model.replace("k1 1 ", "k1 0.04 ").replace("k2 1e6", "k2 3e7").replace("k3 1e3", "k3 1e4");
    let times: Vec<f64> = std::iter::once(0.0).chain((0..=60).map(|i| 10f64.powf(-5.0 + 11.0 * f64::from(i) / 60.0))).collect();
    let blank = vec![0.0; times.len()];
    let empty = table(vec![("t", times.clone()), ("a", blank.clone()), ("b", blank.clone()), ("c", blank)]);
    let clean = predict(&compile(&solved), &empty, &Options::default()).unwrap();
    let noisy = |c: usize| clean[c].1.iter().enumerate().map(|(i, x)| x * (1.0 + 0.01 * noise(i, c as u64))).collect::<Vec<_>>();
    let data = table(vec![("t", times), ("a", noisy(0)), ("b", noisy(1)), ("c", noisy(2))]);
    let clock = std::time::Instant::now();
    let fit = fit(&compile(model), &data, &Options::default()).unwrap();
    println!("{:?} {} of {}, {:?}", fit.parameters, fit.agreed, fit.tried, clock.elapsed());
    assert!(worst(&fit, &truth) < 0.03, "{:?}", fit.parameters);
}

#[test]
fn what_diverges_or_cannot_be_stepped_is_said_and_ends() {
    let data = table(vec![("t", vec![0.0, 1.0, 2.0, 3.0]), ("x", vec![1.0, 2.0, 3.0, 4.0])]);
    // x' = k x² with k >= 1 is infinite before t = 1.
    let error = fit(&compile("(param k 5 :min 2 :max 9) (state x 1) (derive x (* k x x))"), &data, &Options::default()).unwrap_err();
    assert_eq!(error.0[0].code, "no-start");
    assert!(error.0[0].message.contains("at time"), "{error}");
}

#[test]
fn the_heat_equation_as_a_map() {
    let model = |alpha: &str| {
        format!(
            "(param alpha {alpha} :min 0) (param dt 0.1 :fixed)
(define dx2 (/ 1 81))
(define L (mat {}))
(state u u :size 10)
(next u (+ u (scale (* dt alpha) (matvec L u))))",
            (0..10)
                .map(|i| {
                    let cell = |j: i32| match (i, (i - j).abs()) {
                        (0 | 9, _) => "0",
                        (_, 0) => "(/ -2 dx2)",
                        (_, 1) => "(/ 1 dx2)",
                        _ => "0",
                    };
                    format!("[{}]", (0..10).map(cell).collect::<Vec<_>>().join(" "))
                })
                .collect::<Vec<_>>()
                .join(" ")
        )
    };
    let mut columns: Vec<(String, Vec<f64>)> = (0..10).map(|k| (format!("u[{k}]"), Vec::new())).collect();
    let (mut time, mut run) = (vec![], vec![]);
    for g in 0..50 {
        for step in 0..6 {
            time.push(f64::from(step));
            run.push(f64::from(g));
            for (k, column) in columns.iter_mut().enumerate() {
                let x = k as f64 / 9.0;
                let mode = |m: i32| (0.5 + 0.03 * f64::from(g)) * (f64::from(m) * std::f64::consts::PI * x).sin();
                column.1.push(if step == 0 { mode(1 + g % 4) + mode(1 + (g / 4) % 3) } else { 0.0 });
            }
        }
    }
    columns.push(("time".into(), time));
    columns.push(("run".into(), run));
    let options = Options { group: Some("run".into()), ..Options::default() };
    let clean = predict(&compile(&model("0.01")), &Table::new(columns.clone()).unwrap(), &options).unwrap();
    columns.iter_mut().zip(clean).for_each(|(c, p)| c.1 = p.1);
    let fit = fit(&compile(&model("0.005")), &Table::new(columns).unwrap(), &options).unwrap();
    assert!((fit.parameter("alpha").unwrap().value / 0.01 - 1.0).abs() < 1e-12, "{:?}", fit.parameters);
}

#[test]
fn predictions_do_not_depend_on_the_tolerance() {
    // Two doses so short that steps of the usual tolerance pass them by, and states of any size: each in closed form but for their width.
    let model = "(state x 1) (define (g m) (/ (exp (* -0.5 (square (/ (- t m) 0.03)))) (* 0.03 (sqrt (* 2 pi)))))
                 (derive x (- (* 3 (+ (g 21.37) (g 63.7))) (* 0.1 x)))";
    let t: Vec<f64> = (0..15).map(|i| 5.0 * f64::from(i)).collect();
    let found = predict(&compile(model), &table(vec![("t", t.clone())]), &Options::default()).unwrap();
    let dose = |since: f64| if since < 0.0 { 0.0 } else { 3.0 * (-0.1 * since).exp() };
    for (t, x) in t.iter().zip(&found[0].1) {
        let wanted = (-0.1 * t).exp() + dose(t - 21.37) + dose(t - 63.7);
        assert!((x - wanted).abs() < 1e-4, "{x} instead of {wanted} at {t}");
    }
    for size in [1e-20, 1e-9, 1.0, 1e12] {
        let decay = format!("(state x {size:e}) (state y 0) (derive x (- x)) (derive y (- x y))");
        let found = predict(&compile(&decay), &table(vec![("t", vec![0.0, 10.0])]), &Options::default()).unwrap();
        let (x, y) = (found[0].1[1], found[1].1[1]);
        let wanted = size * (-10f64).exp();
        assert!((x / wanted - 1.0).abs() < 1e-4 && (y / (10.0 * wanted) - 1.0).abs() < 1e-4, "{size}: {x} {y}");
    }
}

#[test]
fn an_operation_that_leaves_its_domain_is_named() {
    // Torricelli's law: (1 - t/2)² of the water is left, none from t = 2 on, and no root behind that.
    let data = table(vec![("t", vec![0.0, 1.0, 3.0]), ("h", vec![1.0, 0.25, 0.0])]);
    let error = predict(&compile("(state h 1) (derive h (- (sqrt h)))"), &data, &Options::default()).unwrap_err();
    let message = &error.0[0].message;
    assert!(message.contains("sqrt") && message.contains("the solution ends at time") && !message.contains("diverges"), "{error}");
    // With steps of a given length it ends within one of them: that to 2 is the last one, or the next.
    let fixed = Options { scheme: Some(named("rk4")), step: Some(0.1), ..Options::default() };
    let message = predict(&compile("(state h 1) (derive h (- (sqrt h)))"), &data, &fixed).unwrap_err().0[0].message.clone();
    assert!(message.contains("sqrt") && (message.contains("the times 1.9") || message.contains("the times 2 ")), "{message}");
    // A map: 3, 1.41, 0.64, and no root of -0.36.
    let times = table(vec![("t", vec![0.0, 1.0, 2.0, 3.0])]);
    let message = predict(&compile("(state x 3) (next x (sqrt (- x 1)))"), &times, &Options::default()).unwrap_err().0[0].message.clone();
    assert!(message.contains("the solution ends between the times 2 and 3, where (sqrt -0.356"), "{message}");
    // What only grows diverges.
    let message = predict(&compile("(state x 9) (next x (exp x))"), &times, &Options::default()).unwrap_err().0[0].message.clone();
    assert!(message.contains("the solution diverges at time 2"), "{message}");
}

/// What constants do is lost in the errors of a coarse solution, and not to be judged by it.
#[test]
fn a_coarse_tolerance_does_not_take_the_influence_from_constants() {
    let t: Vec<f64> = (0..30).map(|i| 0.2 * f64::from(i)).collect();
    let x = t.iter().enumerate().map(|(i, t)| 10.0 * (-0.5 * t).exp() + 0.14 * (1.0 - (-0.5 * t).exp()) + 0.01 * noise(i, 3)).collect();
    let data = table(vec![("t", t), ("x", x)]);
    let program = compile("(param k 1) (param c 0.1) (state x 10) (derive x (- c (* k x)))");
    let of =
        |tolerance: Option<f64>| fit(&program, &data, &Options { tolerance, absolute_tolerance: tolerance, ..Options::default() }).unwrap();
    let fine = of(None);
    assert!(fine.warnings.is_empty(), "{:?}", fine.warnings);
    for tolerance in [1e-3, 1e-2, 0.1] {
        let found = of(Some(tolerance));
        assert!(found.undetermined.is_empty(), "{tolerance}: {:?}", found.warnings);
        assert!(found.warnings.iter().any(|w| w.contains("too coarse to tell what constants do")), "{:?}", found.warnings);
        for name in ["k", "c"] {
            let (a, b) = (found.parameter(name).unwrap(), fine.parameter(name).unwrap());
            let (e, f) = (a.stderr.unwrap(), b.stderr.unwrap());
            assert!((a.value - b.value).abs() < 0.1 * f && (e / f - 1.0).abs() < 0.01, "{tolerance}: {a:?} {b:?}");
        }
    }
    // What is not determined is still told.
    let both = compile("(param k 1) (param c 0.1) (param d 0.1) (state x 10) (derive x (- (+ c d) (* k x)))");
    let found = fit(&both, &data, &Options { tolerance: Some(0.01), ..Options::default() }).unwrap();
    assert_eq!(found.undetermined.len(), 1, "{:?}", found.warnings);
    assert_eq!(found.undetermined[0].parameters, ["c", "d"]);
}

/// The same law as a formula and as an equation, beside ever larger constants: data differ by 5, and errors of the solution are no share of
/// what is added to it.
#[test]
fn a_large_number_beside_a_state_ends_no_search() {
    let (t, decay) = ((0..6).map(f64::from).collect::<Vec<f64>>(), [5.1, 3.0, 1.9, 1.15, 0.6, 0.4]);
    for (offset, from) in [(101_325.0, "101325"), (1e8, "1e8"), (1e8, "0")] {
        let data = table(vec![("t", t.clone()), ("y", decay.iter().map(|y| y + offset).collect())]);
        let options = Options { target: Some("y".into()), ..Options::default() };
        let fitted = |text: &str| fit(&compile(&text.replace("FROM", from)), &data, &options).unwrap();
        let formula = fitted("(param a 1) (param c FROM) (param k 1 :min 0) (+ c (* a (exp (- (* k t)))))");
        let found = fitted("(param a 1) (param c FROM) (param k 1 :min 0) (state x a) (derive x (* (- k) x)) (observe y (+ c x))");
        // By Gauss-Newton steps in NumPy on data without the constant: k = 0.50133979, a cost of 0.0131774.
        for fit in [&formula, &found] {
            let k = fit.parameter("k").unwrap().value;
            assert!((k - 0.50133979).abs() < 1e-4 && (fit.cost - 0.0131774).abs() < 1e-5, "{offset} from {from}: {k}, {}", fit.cost);
        }
        assert!(!found.message.contains("nothing but noise"), "{}", found.message);
        assert!(found.warnings.iter().all(|w| !w.contains("exactly as well")), "{:?}", found.warnings);
    }
}

/// e^(-kt) with k = 10^6 has lost all slope: an error of 10^42 is none.
#[test]
fn a_plateau_has_no_error_bar() {
    let data = table(vec![("t", (0..5).map(f64::from).collect()), ("x", vec![1.0, 0.61, 0.36, 0.23, 0.13])]);
    let found = fit(&compile("(param k 1e6 :min 0) (state x 1) (derive x (* (- k) x))"), &data, &Options::default()).unwrap();
    let k = found.parameter("k").unwrap();
    assert!((k.value - 0.5012).abs() < 1e-3 || k.stderr.is_none() && k.note.is_some(), "{k:?}");
}
