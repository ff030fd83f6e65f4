//! Posterior modes against the closed forms of conjugate priors.

use neural_compiler_fit::{Fit, Options, Table, fit, text};

fn run(model: &str, y: &[f64]) -> Fit {
    let program = neural_compiler::compile(model, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
    let table = Table::new([("y".to_string(), y.to_vec())]).unwrap();
    fit(&program, &table, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn near(found: &Fit, name: &str, value: f64, stderr: f64) {
    let p = found.parameter(name).unwrap();
    assert!((p.value / value - 1.0).abs() < 1e-9, "{name}: {} instead of {value}", p.value);
    assert!((p.stderr.unwrap() / stderr - 1.0).abs() < 1e-7, "error of {name}: {:?} instead of {stderr}", p.stderr);
}

#[test]
fn a_normal_mean() {
    let y = [1.0, 2.5, 0.5, 3.0];
    let found = run("(param m 0 :prior (normal 1 0.5)) (observe y m :noise (normal 2))", &y);
    // Precisions add up: 4 data of 1/4 each, a prior of 4.
    near(&found, "m", (7.0 / 4.0 + 4.0) / 5.0, (1.0f64 / 5.0).sqrt());
    let m = found.parameter("m").unwrap().value;
    let density = |x: f64, mean: f64, s: f64| -0.5 * ((x - mean) / s).powi(2) - s.ln() - 0.5 * std::f64::consts::TAU.ln();
    let data: f64 = y.iter().map(|y| density(*y, m, 2.0)).sum();
    assert!((found.likelihood.loglik - data).abs() < 1e-12, "the likelihood has no prior in it");
    assert!((found.log_prior.unwrap() - density(m, 1.0, 0.5)).abs() < 1e-12);
    assert!(found.message.contains("posterior") && !found.message.contains("of the likelihood"), "{}", found.message);
    assert!(text::to_text(&found).contains("posterior mode"), "{}", text::to_text(&found));
}

#[test]
fn a_gamma_prior_of_a_poisson_mean() {
    let found = run("(param m 1 :prior (gamma 3 2)) (observe y m :noise (poisson))", &[2.0, 5.0, 3.0, 4.0, 1.0]);
    // shape + sum - 1 over rate + n.
    near(&found, "m", 17.0 / 7.0, 17f64.sqrt() / 7.0);
}

#[test]
fn a_beta_prior_of_a_probability() {
    let found = run("(param p 0.5 :prior (beta 2 3)) (observe y p :noise (bernoulli))", &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    let (a, b) = (2.0 + 2.0 - 1.0, 3.0 + 5.0 - 1.0);
    let p: f64 = a / (a + b);
    near(&found, "p", p, (p * (1.0 - p) / (a + b)).sqrt());
}

#[test]
fn priors_of_many_kinds_have_their_modes() {
    // Without information in the data the mode is that of the prior: the observation is 1000 times as uncertain.
    for (prior, start, mode) in [
        ("(lognormal 1 0.5)", 2.0, (1.0f64 - 0.25).exp()),
        ("(student-t 4 3 2)", 1.0, 3.0),
        ("(cauchy 3 2)", 1.0, 3.0),
        ("(laplace 3 2)", 1.0, 3.0),
        ("(gamma 3 2)", 2.0, 1.0),
        ("(beta 3 5)", 0.6, 1.0 / 3.0),
    ] {
        let found = run(&format!("(param m {start} :prior {prior}) (observe y m :noise (normal 100000))"), &[3.0]);
        let m = found.parameter("m").unwrap().value;
        assert!((m / mode - 1.0).abs() < 1e-6, "{prior}: {m} instead of {mode}");
    }
    for (prior, start) in [("(half-normal 2)", 1.0), ("(half-cauchy 2)", 1.0), ("(exponential 2)", 1.0)] {
        let found = run(&format!("(param m {start} :min 0 :prior {prior}) (observe y m :noise (normal 100000))"), &[3.0]);
        assert!(found.parameter("m").unwrap().value < 1e-8, "{prior}");
    }
    let found = run("(param m 1.5 :min 1 :max 2 :prior (uniform 1 2)) (observe y m :noise (normal 1))", &[3.0]);
    assert_eq!(found.parameter("m").unwrap().value, 2.0);
}

/// A prior beside least squares: the standard deviation of the errors is estimated too.
#[test]
fn priors_of_a_formula_without_noise() {
    let y = [1.1, 0.9, 1.3, 0.7];
    let found = run("(param m 0.5 :prior (normal 0 1000)) m", &y);
    near(&found, "m", 1.0 - 1.25e-8, 0.05f64.sqrt() / 2.0 * (1.0 + 1e-8));
    assert!((found.parameter("sigma[y]").unwrap().value - 0.05f64.sqrt()).abs() < 1e-7);
}

/// A uniform prior is 0 outside: the search ends at its end, where the density of the data alone would go on.
#[test]
fn a_uniform_prior_bounds_the_search() {
    let y = [1.0, 2.5, 0.5, 3.0];
    let inside = run("(param m 1 :prior (uniform 0 5)) (observe y m :noise (normal 2))", &y);
    near(&inside, "m", 1.75, 1.0);
    for (prior, end) in [("(uniform -3 1.5)", 1.5), ("(uniform 2 9)", 2.0)] {
        let found = run(&format!("(param m {} :prior {prior}) (observe y m :noise (normal 2))", if end > 1.7 { 3 } else { 0 }), &y);
        let m = found.parameter("m").unwrap();
        assert!(found.converged && m.value == end && m.stderr.is_none(), "{m:?} {}", found.message);
        assert!(found.warnings.iter().any(|w| w.contains("`m` ended at its bound")), "{:?}", found.warnings);
    }
}

/// The ends of a uniform prior are bounds like others: none were left, which was a panic, or the start was moved without a word.
#[test]
fn uniform_priors_leave_room_for_the_start_and_beside_bounds() {
    let refused = |declared: &str| {
        let text = format!("{declared} (observe y m :noise (normal 2))");
        neural_compiler::compile(&text, &Default::default()).err().map(|e| (e.0[0].code, e.0[0].message.clone()))
    };
    for (declared, why) in [
        ("(param m 3 :min 2 :prior (uniform 0 1))", "leave no room"),
        ("(param m -1 :max -0.5 :prior (uniform 0 1))", "leave no room"),
        ("(param m 5 :prior (uniform 0 1))", "outside"),
        ("(param m [0.5 5] :prior (uniform 0 1))", "outside"),
    ] {
        let (code, message) = refused(declared).unwrap_or_else(|| panic!("{declared}"));
        assert!(code == "bad-declaration" && message.contains(why) && message.contains("prior"), "{declared}: {message}");
    }
    for declared in
        ["(param m 0.7 :min 0.5 :prior (uniform 0 1))", "(param m 1 :prior (uniform 0 1))", "(param m 1 :min 1 :prior (uniform 0 1))"]
    {
        assert_eq!(refused(declared), None, "{declared}");
    }
}
