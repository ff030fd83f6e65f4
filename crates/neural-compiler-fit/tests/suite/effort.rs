//! What a fit may cost: endless loops, other starts, budgets of time. No test measures time.

use crate::common::{compile, noise, table};
use neural_compiler_fit::{Fit, Options, Stage, Table, fit};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts up to n + 1 in steps of `k`, which never ends where k is 0 or less. Its value is the smallest multiple of k beyond n.
const COUNTING: &str = "(param k 0.5) (param a 1) (+ a (* x k) (loop ((i 0)) (if (> i 20) i (recur (+ i k)))))";

#[test]
fn a_loop_that_never_ends_is_given_up_soon() {
    // a + x k + (20 + k): for k = 0.25 and a = 2. Points with k <= 0 are among those tried.
    let x: Vec<f64> = (0..40).map(f64::from).collect();
    let y = x.iter().map(|x| 2.0 + 0.25 * x + 20.25).collect();
    let found = fit(&compile(COUNTING), &table(vec![("x", x), ("y", y)]), &Options::default()).unwrap();
    assert!((found.parameter("k").unwrap().value - 0.25).abs() < 1e-9, "{:?}", found.parameters);
}

/// Three trajectories of a damped oscillation with noise.
fn oscillations(sigma: f64) -> Table {
    let (mut t, mut g, mut x, mut x0) = (vec![], vec![], vec![], vec![]);
    for group in 0..3 {
        for i in 0..60 {
            let (time, start) = (f64::from(i) * 0.1, 1.0 + f64::from(group));
            let w = (4.0f64 - 0.0225).sqrt();
            let exact = start * (-0.15 * time).exp() * ((w * time).cos() + 0.15 / w * (w * time).sin());
            t.push(time);
            g.push(f64::from(group));
            x0.push(start);
            x.push(exact + sigma * noise(x.len(), 7));
        }
    }
    table(vec![("t", t), ("g", g), ("x", x), ("x0", x0)])
}

const OSCILLATOR: &str = "(param k 3 :min 0) (param c 0.1 :min 0) (state x x0) (state v 0) (derive x v) (derive v (- (- (* k x)) (* c v)))";

fn oscillator(model: &str, sigma: f64, options: Options<'_>) -> Fit {
    fit(&compile(model), &oscillations(sigma), &Options { group: Some("g".into()), ..options }).unwrap()
}

#[test]
fn a_first_fit_that_leaves_only_noise_is_enough() {
    for sigma in [0.0, 0.05] {
        let found = oscillator(OSCILLATOR, sigma, Options::default());
        let (k, error) = (found.parameter("k").unwrap().value, found.parameter("k").unwrap().stderr.unwrap());
        assert!(
            (k - 4.0).abs() < 4.0 * error.max(1e-7) && found.tried == 1 && found.converged,
            "{sigma}: {k} ± {error}, {} starts",
            found.tried
        );
        assert_eq!(found.starts(), "from one start");
    }
}

#[test]
fn a_first_fit_that_leaves_a_course_is_not() {
    // Without damping the model cannot follow the data: its residuals swing.
    let found = oscillator(&OSCILLATOR.replace("c 0.1 :min 0", "c 0 :fixed"), 0.05, Options::default());
    assert!(found.tried > 1 && !found.message.contains("nothing but noise"), "{}; {}", found.message, found.starts());
    // What became of the others is said.
    let Fit { tried, agreed, failed, .. } = found;
    let words = found.starts();
    assert!(agreed + failed <= tried && words.starts_with(&format!("{agreed} of {tried} starts ")), "{words}");
    assert!(
        agreed == tried || words.contains("at higher cost") || words.contains("elsewhere") || words.contains("cannot be computed"),
        "{words}"
    );
}

#[test]
fn a_single_start_is_judged_as_the_first_of_many() {
    // A state that hardly moves under much noise: little is explained, and nothing is left to explain.
    let (t, x): (Vec<f64>, Vec<f64>) =
        (0..200).map(|i| (f64::from(i) * 0.02, 1.0 - 0.01 * f64::from(i) * 0.02 + 0.1 * noise(i as usize, 3))).unzip();
    let data = table(vec![("t", t), ("x", x)]);
    let said = |starts: Option<usize>| {
        let model = compile("(param k 0.1 :min -1 :max 5) (state x 1) (derive x (- (* k x)))");
        let found = fit(&model, &data, &Options { starts, ..Options::default() }).unwrap();
        assert_eq!(found.tried, 1);
        (found.message, found.warnings)
    };
    assert_eq!(said(Some(1)), said(None));
}

/// What is told while a fit goes on.
fn told(model: &str, data: &Table, options: Options<'_>) -> (Fit, Vec<(Stage, usize, usize, f64)>) {
    let all = std::sync::Mutex::new(vec![]);
    let tell = |stage: Stage, done: usize, of: usize, cost: f64| all.lock().unwrap().push((stage, done, of, cost));
    let found = fit(&compile(model), data, &Options { progress: Some(&tell), ..options }).unwrap();
    (found, all.into_inner().unwrap())
}

#[test]
fn progress_is_told_in_the_unit_of_the_report() {
    // Values of some thousands: their variance is far from 1.
    let (t, x): (Vec<f64>, Vec<f64>) =
        (0..50).map(|i| (f64::from(i) * 0.1, 5000.0 * (-0.05 * f64::from(i)).exp() + 20.0 * noise(i as usize, 5))).unzip();
    let (found, all) =
        told("(param k 0.4) (param x0 4000) (state x x0) (derive x (- (* k x)))", &table(vec![("t", t), ("x", x)]), Options::default());
    let last = all.iter().rev().find(|(stage, ..)| *stage == Stage::Starts).expect("starts are told of").3;
    assert!((last / found.cost - 1.0).abs() < 1e-3, "{last} beside {}", found.cost);
}

#[test]
fn profiles_tell_how_far_they_are() {
    let (x, y): (Vec<f64>, Vec<f64>) =
        (0..30).map(|i| (f64::from(i) * 0.1, 2.0 * (-0.1 * f64::from(i)).exp() + 0.05 * noise(i as usize, 9))).unzip();
    let formula = ("(param a 1) (param k 0.5) (* a (exp (- (* k x))))", table(vec![("x", x.clone()), ("y", y.clone())]));
    let states = ("(param k 0.5) (param x0 1) (state x x0) (derive x (- (* k x)))", table(vec![("t", x), ("x", y)]));
    for (model, data) in [formula, states] {
        let (found, all) = told(model, &data, Options { profile: true, ..Options::default() });
        assert!(found.parameters.iter().all(|p| p.profile.is_some()));
        let counted: Vec<(usize, usize)> =
            all.iter().filter(|(stage, ..)| *stage == Stage::Profile).map(|(_, done, of, _)| (*done, *of)).collect();
        // Two ends of two intervals; the first word comes before any is found.
        assert!(counted.contains(&(0, 4)) && counted.contains(&(4, 4)) && counted.iter().all(|(done, of)| done <= of), "{counted:?}");
    }
}

#[test]
fn a_budget_is_a_positive_number() {
    let data = oscillations(0.05);
    for budget in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = Options { group: Some("g".into()), budget: Some(budget), ..Options::default() };
        assert_eq!(fit(&compile(OSCILLATOR), &data, &options).unwrap_err().0[0].code, "bad-budget");
    }
}

#[test]
fn a_budget_ends_the_search_with_the_best_so_far() {
    // The first step that is told lasts longer than the budget: however fast the machine is, the budget ends the fit.
    let told = AtomicUsize::new(0);
    let last = |_: Stage, _: usize, _: usize, _: f64| {
        if told.fetch_add(1, Ordering::Relaxed) == 0 {
            std::thread::sleep(std::time::Duration::from_millis(2100));
        }
    };
    let options = Options { group: Some("g".into()), budget: Some(2.0), progress: Some(&last), ..Options::default() };
    match fit(&compile(&OSCILLATOR.replace("k 3", "k 400")), &oscillations(0.05), &options) {
        Ok(found) => {
            assert!(!found.converged && found.message.contains("the budget of 2 s"), "{}", found.message);
            assert!(found.parameter("k").unwrap().value.is_finite());
        }
        // A machine so slow that nothing was known in time.
        Err(e) => assert_eq!(e.0[0].code, "budget-ended", "{e}"),
    }
}

/// Work is counted where it is done: whatever else the machine does, a fit that has had its share ends at the same place.
#[test]
fn a_limit_of_work_ends_alike_under_load() {
    let formula = "(param a 1) (param k 40) (* a (sin (* k t)))";
    let data = oscillations(0.05);
    let (x, equations) = (Some("x".to_string()), OSCILLATOR.replace("k 3", "k 400"));
    // The formula's share ends amid its first fit, or among the starts behind it.
    for (model, target, work, reached) in [(formula, &x, 2_000, false), (formula, &x, 20_000, true), (&equations, &None, 200_000, false)] {
        let options = || Options { group: Some("g".into()), target: target.clone(), work: Some(work), threads: 1, ..Options::default() };
        let once = || fit(&compile(model), &data, &options()).unwrap();
        let alone = once();
        assert!(alone.converged == reached && alone.message.contains(&format!("the limit of {work} on its work")), "{}", alone.message);
        let busy: Vec<Fit> = std::thread::scope(|scope| {
            (0..6).map(|_| scope.spawn(once)).collect::<Vec<_>>().into_iter().map(|t| t.join().unwrap()).collect()
        });
        for other in busy {
            assert_eq!((&other.parameters, &other.predicted), (&alone.parameters, &alone.predicted));
        }
        let enough = fit(&compile(model), &data, &Options { work: Some(usize::MAX), ..options() }).unwrap();
        assert!(!enough.message.contains("on its work"), "{}", enough.message);
    }
}

/// Three masses between four springs; every second row of data made with k = (2, 1.5, 3, 1), c = 0.1 (tests/data/README.md).
const SPRINGS: &str = "(param k1 1 :min 0) (param k2 1 :min 0) (param k3 1 :min 0) (param k4 1 :min 0) (param c 0.05 :min 0)
    (define K [[(+ k1 k2) (- k2) 0] [(- k2) (+ k2 k3) (- k3)] [0 (- k3) (+ k3 k4)]])
    (state q [1 0 0]) (state v [0 0 0]) (derive q v) (derive v (- (+ (matvec K q) (* c v))))";

#[test]
fn a_first_start_that_ends_in_a_wrong_minimum_does_not_end_the_search() {
    let data = crate::common::csv(include_str!("../data/oscillators-apart.csv"));
    let model = compile(SPRINGS);
    // SciPy's least_squares from these values ends there too: a minimum, and not the one that made the data.
    let first = fit(&model, &data, &Options { starts: Some(1), ..Options::default() }).unwrap();
    assert!(first.converged && (first.parameter("k1").unwrap().value - 2.73).abs() < 0.01, "{:?}", first.parameters);
    let found = fit(&model, &data, &Options::default()).unwrap();
    for (name, truth) in [("k1", 2.0), ("k2", 1.5), ("k3", 3.0), ("k4", 1.0), ("c", 0.1)] {
        let p = found.parameter(name).unwrap();
        assert!((p.value - truth).abs() < 4.0 * p.stderr.unwrap(), "{name} = {} ± {:?}", p.value, p.stderr);
    }
    assert!(found.tried > 1 && found.agreed > 1, "{}", found.starts());
    assert_eq!(found.message, "a minimum was reached that leaves nothing but noise");
}

#[test]
fn bounds_met_on_the_first_step_are_no_minimum() {
    // A start from which the whole first step goes beyond two bounds at once, and the corner they make is higher up: it was called a
    // minimum. SciPy's least_squares goes from there to 0.49721, 0.30228, 44.009.
    let (model, data) =
        (include_str!("../../../../examples/fits/seir.scm"), crate::common::csv(include_str!("../../../../examples/fits/seir.csv")));
    let model =
        model.replace("beta 0.4", "beta 0.355709543640").replace("rho 0.5", "rho 0.830408469141").replace("I0 20", "I0 15.0651858587");
    let found = fit(&compile(&model), &data, &Options { time: Some("t".into()), starts: Some(1), ..Options::default() }).unwrap();
    for (name, expected) in [("beta", 0.49721), ("rho", 0.30228), ("I0", 44.009)] {
        let value = found.parameter(name).unwrap().value;
        assert!((value / expected - 1.0).abs() < 1e-4, "{name} = {value}");
    }
}
