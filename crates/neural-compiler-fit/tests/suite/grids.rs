//! Partial differential equations by the method of lines: modes of the heat equation, whose decay on a grid has a closed form, at every
//! kind of boundary and at a size no whole matrix would do; implicit solutions beside explicit ones where several vectors share a grid; and
//! a fit of a thousand points.

use crate::common::{compile, named, table};
use neural_compiler_fit::{Options, fit, simulate};
use std::f64::consts::PI;

fn with(scheme: &str, tolerance: f64) -> Options<'static> {
    Options { scheme: Some(named(scheme)), tolerance: Some(tolerance), absolute_tolerance: Some(tolerance * 1e-2), ..Options::default() }
}

/// All numbers of the states when they start and at a later time.
fn ends(model: &str, time: f64, options: &Options) -> [Vec<f64>; 2] {
    let found = simulate(&compile(model), &table(vec![("t", vec![0.0, time])]), options, &vec![]).unwrap();
    let (start, end) = found.values.split_at(found.values.len() / 2);
    [start.to_vec(), end.to_vec()]
}

fn end(model: &str, time: f64, options: &Options) -> Vec<f64> {
    let [_, end] = ends(model, time, options);
    end
}

#[test]
fn modes_of_the_heat_equation_fade_as_they_do_on_a_grid() {
    // Points, boundary, mode, and the wave number of the mode in points.
    let n = 1000;
    let cases = [
        ("0", "0", format!("(sin (* {PI} (/ (linspace 1 {n} {n}) {})))", n + 1), PI / f64::from(n + 1)),
        ("(ref u 1)", "(ref u 998)", format!("(cos (* {PI} (linspace 0 1 {n})))"), PI / f64::from(n - 1)),
        ("(ref u 999)", "(ref u 0)", format!("(cos (* {} (linspace 0 {} {n})))", 2.0 * PI / f64::from(n), n - 1), 2.0 * PI / f64::from(n)),
    ];
    for (left, right, start, wave) in cases {
        for scheme in ["rosenbrock", "rodas5p"] {
            let model = format!("(param a 1e6) (state u {start} :size {n}) (derive u (* a (second-difference u {left} {right} 10)))");
            // A step of 10 divides by 100; the eigenvalue of a mode is -4 sin²(w/2).
            let time = 2.0;
            let fades = (-1e4 * 4.0 * (wave / 2.0).sin().powi(2) * time).exp();
            let [first, found] = ends(&model, time, &with(scheme, 1e-9));
            let worst = found.iter().zip(&first).map(|(x, x0)| (x - fades * x0).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-7, "{left}, {scheme}: off by {worst:e} of {fades}");
        }
    }
}

#[test]
fn vectors_that_share_a_grid_are_solved_as_explicitly() {
    // Gray and Scott's reaction, and a third vector that moves with the wind.
    let model = "(define n 40) (define h 0.25) (define x (linspace 0 9.75 n))
        (define (ring u) (second-difference u (ref u 39) (ref u 0) h))
        (state u (- 1 (* 0.5 (exp (- (square (- x 5)))))) :size 40) (state v (* 0.25 (exp (- (square (- x 5))))) :size 40)
        (state w (exp (- (square (- x 3)))) :size 40)
        (derive u (+ (* 0.2 (ring u)) (- (* u v v)) (* 0.04 (- 1 u))))
        (derive v (+ (* 0.1 (ring v)) (* u v v) (* -0.1 v)))
        (derive w (+ (* -0.5 (first-difference w (ref w 39) (ref w 0) h)) (* 0.01 u)))";
    let explicit = end(model, 3.0, &with("dopri5", 1e-10));
    for scheme in ["rosenbrock", "rodas5p"] {
        let found = end(model, 3.0, &with(scheme, 1e-9));
        let worst = found.iter().zip(&explicit).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(found.len() == 120 && worst < 1e-7, "{scheme}: {worst:e}");
    }
}

#[test]
fn two_hundred_states_whose_rates_differ_by_a_million() {
    // A chain of decays, the fastest first. By Bateman's formula with 900 digits (mpmath).
    let known = [
        (185, 4.019_486_655_053_549e-4),
        (190, 0.049_946_463_293_840_563),
        (195, 0.136_646_569_334_839_5),
        (199, 0.026_520_173_848_371_703),
    ];
    let model = "(define k (pow 10 (* 6 (linspace 1 0 200)))) (state x (concat 1 (zeros 199)) :size 200)
        (derive x (- (concat 0 (slice (* k x) 0 199)) (* k x)))";
    for scheme in ["rosenbrock", "rodas5p"] {
        let found = end(model, 10.0, &with(scheme, 1e-9));
        for (i, x) in known {
            assert!((found[i] / x - 1.0).abs() < 1e-6, "{scheme}, {i}: {} instead of {x}", found[i]);
        }
    }
}

#[test]
fn a_solver_that_struggles_says_when_and_where() {
    let message = |model: &str, options: &Options| {
        simulate(&compile(model), &table(vec![("t", vec![0.0, 2.0])]), options, &vec![]).unwrap_err().to_string()
    };
    // The second state grows without bound at t = 1.
    let pole = message("(state calm 1) (state wild 1) (derive calm (- calm)) (derive wild (* wild wild))", &with("dopri5", 1e-8));
    assert!(pole.contains("at time 1") || pole.contains("at time 0.99999"), "{pole}");
    let slow =
        message("(state calm 1) (state fast 1) (derive calm (- calm)) (derive fast (* 1e7 (- (cos t) fast)))", &with("dopri5", 1e-8));
    assert!(slow.contains("steps are needed") && slow.contains("`fast`") && slow.contains("by a step of"), "{slow}");
}

#[test]
fn a_thousand_points_are_fitted() {
    let model = |d: f64, r: f64| {
        format!(
            "(param D {d} :min 0) (param r {r} :min 0) (define h 0.02) (define x (linspace 0 19.98 1000))
            (state u (exp (- (square x))) :size 1000)
            (derive u (+ (* D (second-difference u (ref u 1) (ref u 998) h)) (* r u (- 1 u))))
            (define (at place) (interpolate u 0 19.98 place))
            (observe seen [(at 1) (at 3.01) (at 5.005)])"
        )
    };
    let times = vec![0.0, 2.0, 4.0];
    let options = Options { scheme: Some(named("rodas5p")), starts: Some(1), tolerance: Some(1e-6), ..Options::default() };
    let truth = simulate(&compile(&model(0.3, 0.8)), &table(vec![("t", times.clone())]), &options, &vec![]).unwrap();
    let width = truth.values.len() / times.len();
    let column = |k: usize| truth.values.chunks(width).map(|row| row[1000 + k]).collect::<Vec<f64>>();
    let rows = table(vec![("t", times), ("seen[0]", column(0)), ("seen[1]", column(1)), ("seen[2]", column(2))]);
    let found = fit(&compile(&model(0.25, 0.9)), &rows, &options).unwrap();
    let value = |name: &str| found.parameters.iter().find(|p| p.name == name).unwrap().value;
    assert!((value("D") / 0.3 - 1.0).abs() < 1e-5 && (value("r") / 0.8 - 1.0).abs() < 1e-5, "{} {}", value("D"), value("r"));
}
