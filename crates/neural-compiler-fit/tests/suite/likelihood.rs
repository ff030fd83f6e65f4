//! Fits by maximum likelihood against R 4.2.2 (MASS 7.3-58.2, survival 3.5-3, nlme) and closed forms. The call that gave a number stands
//! beside it; estimates to six digits, standard errors to four.

use neural_compiler_fit::{Fit, Options, Side, Table, fit};

fn columns(all: &[(&str, &[f64])]) -> Table {
    Table::new(all.iter().map(|(n, c)| (n.to_string(), c.to_vec()))).expect("columns of one length")
}

fn run(model: &str, table: &Table) -> Fit {
    let program = neural_compiler::compile(model, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
    fit(&program, table, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Values to six digits, standard errors to four, the log-likelihood to eight.
fn agrees(found: &Fit, expected: &[(&str, f64, f64)], loglik: f64) {
    for (name, value, stderr) in expected {
        let p = found.parameter(name).unwrap_or_else(|| panic!("no `{name}`"));
        assert!((p.value - value).abs() <= 1e-6 * value.abs().max(1e-3), "{name}: {} instead of {value}", p.value);
        let error = p.stderr.unwrap_or_else(|| panic!("no error of `{name}`: {:?}", p.note));
        assert!((error / stderr - 1.0).abs() <= 1e-4, "error of {name}: {error} instead of {stderr}");
    }
    assert!((found.likelihood.loglik - loglik).abs() <= 1e-8 * loglik.abs(), "{} instead of {loglik}", found.likelihood.loglik);
    assert!(found.converged, "{}", found.message);
}

const COUNTS: [f64; 9] = [18.0, 17.0, 15.0, 20.0, 10.0, 20.0, 25.0, 13.0, 12.0];

/// Dobson (1990), page 93, as in R's `?glm`.
/// `glm(counts ~ o2+o3+t2+t3, family=poisson)`
#[test]
fn poisson_regression() {
    let (zero, one) = (0.0, 1.0);
    let o2 = [zero, one, zero].repeat(3);
    let o3 = [zero, zero, one].repeat(3);
    let t2 = [zero, zero, zero, one, one, one, zero, zero, zero];
    let t3 = [zero, zero, zero, zero, zero, zero, one, one, one];
    let table = columns(&[("counts", &COUNTS), ("o2", &o2), ("o3", &o3), ("t2", &t2), ("t3", &t3)]);
    let model = "(param a 1) (param b2 0.1) (param b3 0.1) (param c2 0.1) (param c3 0.1)
                 (observe counts (exp (+ a (* b2 o2) (* b3 o3) (* c2 t2) (* c3 t3))) :noise (poisson))";
    let found = run(model, &table);
    let expected = [
        ("a", 3.04452243772e+00, 0.170898651856),
        ("b2", -4.54255272278e-01, 0.202170759194),
        ("b3", -2.92987124681e-01, 0.192742345160),
        ("c2", 0.0, 0.2),
        ("c3", 0.0, 0.2),
    ];
    agrees(&found, &expected, -23.380659201);
    assert_eq!((found.likelihood.k, found.likelihood.n), (5.0, 9));
    assert!((found.likelihood.aic() - (10.0 + 2.0 * 23.380659201)).abs() < 1e-6);
}

const BREAKS: [f64; 54] = [
    26., 30., 54., 25., 70., 52., 51., 26., 67., 18., 21., 29., 17., 12., 18., 35., 30., 36., 36., 21., 24., 18., 10., 43., 28., 15., 26.,
    27., 14., 29., 19., 29., 31., 41., 20., 44., 42., 26., 19., 16., 39., 28., 21., 39., 29., 20., 21., 24., 17., 13., 15., 15., 16., 28.,
];

fn warpbreaks() -> Table {
    let wool: Vec<f64> = (0..54).map(|i| f64::from(i >= 27)).collect();
    let middle: Vec<f64> = (0..54).map(|i| f64::from((i / 9) % 3 == 1)).collect();
    let high: Vec<f64> = (0..54).map(|i| f64::from((i / 9) % 3 == 2)).collect();
    columns(&[("breaks", &BREAKS), ("B", &wool), ("M", &middle), ("H", &high)])
}

/// `MASS::glm.nb(breaks ~ B+M+H, warpbreaks)` for values and likelihood; standard errors, which `glm.nb` takes from the expected
/// information, from the observed one by `statsmodels.discrete.discrete_model.NegativeBinomial`, that of k by the delta method.
#[test]
fn negative_binomial_regression() {
    let model = "(param a 3) (param b 0.1) (param m 0.1) (param h 0.1) (param k 5 :min 0)
                 (observe breaks (exp (+ a (* b B) (* m M) (* h H))) :noise (negative-binomial k))";
    let found = run(model, &warpbreaks());
    let expected = [
        ("a", 3.673354566579, NB_ERRORS[0]),
        ("b", -0.186211052351, NB_ERRORS[1]),
        ("m", -0.299227238629, NB_ERRORS[2]),
        ("h", -0.511395515191, NB_ERRORS[3]),
        ("k", 9.9443854359, NB_ERRORS[4]),
    ];
    agrees(&found, &expected, -199.381903889);
}

const NB_ERRORS: [f64; 5] = [0.0953731568912, 0.101470369865, 0.122350237385, 0.123698480947, 2.56162727067];

/// `glm(am ~ wt, mtcars, family=binomial)`
#[test]
fn logistic_regression() {
    let wt = [
        2.62, 2.875, 2.32, 3.215, 3.44, 3.46, 3.57, 3.19, 3.15, 3.44, 3.44, 4.07, 3.73, 3.78, 5.25, 5.424, 5.345, 2.2, 1.615, 1.835, 2.465,
        3.52, 3.435, 3.84, 3.845, 1.935, 2.14, 1.513, 3.17, 2.77, 3.57, 2.78,
    ];
    let am = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1].map(f64::from);
    let model = "(param a 0) (param b 0) (observe am (sigmoid (+ a (* b wt))) :noise (bernoulli))";
    let found = run(model, &columns(&[("am", &am), ("wt", &wt)]));
    agrees(&found, &[("a", 12.04036972866, 4.51006621013), ("b", -4.02396996217, 1.43652774369)], -9.58804240372);
}

/// Budworms, Venables and Ripley (2002), page 190: `glm(cbind(numdead, 20-numdead) ~ sex+ldose, family=binomial)`
#[test]
fn binomial_regression() {
    let ldose = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].repeat(2);
    let dead = [1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16].map(f64::from);
    let sex = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0].map(f64::from);
    let model = "(param a 0) (param s 0) (param b 0)
                 (observe dead (sigmoid (+ a (* s sex) (* b ldose))) :noise (binomial 20))";
    let found = run(model, &columns(&[("dead", &dead), ("sex", &sex), ("ldose", &ldose)]));
    let expected = [("a", -3.47315530709, 0.468520379202), ("s", 1.10074336300, 0.355827130919), ("b", 1.06421396992, 0.131077489527)];
    agrees(&found, &expected, -18.4337326168);
    // A probability beside counts of 20 trials has no squares to tell of.
    assert!(found.rmse.is_nan() && found.columns[0].r2.is_nan());
}

/// A table with a column of which some cells are known from one side only.
fn with_censored(all: &[(&str, &[f64])], name: &str, values: &[f64], side: impl Fn(usize) -> Side) -> Table {
    columns(all).with_censored([(name.to_string(), values.to_vec(), (0..values.len()).map(side).collect())])
}

/// Tobin (1958): `survreg(Surv(durable, durable>0, type='left') ~ age+quant, tobin, dist='gaussian')`; the error of the scale is that of
/// its logarithm times it.
#[test]
fn tobit_regression() {
    let durable = [0.0, 0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 3.7, 0.0, 3.0, 10.4, 0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 3.5, 6.1, 0.0];
    let age = [57.7, 50.9, 48.5, 41.7, 47.7, 59.8, 44.3, 45.1, 51.7, 50.0, 46.8, 58.0, 58.9, 40.0, 34.1, 39.9, 33.4, 48.1, 46.6, 53.1];
    let quant = [236., 283., 207., 220., 238., 216., 284., 221., 275., 269., 207., 249., 246., 277., 231., 219., 240., 266., 214., 251.];
    let side = |i: usize| if durable[i] > 0.0 { Side::Seen } else { Side::Below };
    let table = with_censored(&[("age", &age), ("quant", &quant)], "durable", &durable, side);
    let model = "(param a 1) (param b 0.1) (param c 0.1) (param s 1 :min 0)
                 (observe durable (+ a (* b age) (* c quant)) :noise (normal s))";
    let found = run(model, &table);
    let expected = [
        ("a", 15.1448663322209, 16.0794532023836),
        ("b", -0.1290592838646, 0.2185835967164),
        ("c", -0.0455416628897, 0.0582541155076),
        ("s", 5.572539766, 5.572539766 * 0.3103227201876),
    ];
    agrees(&found, &expected, -28.9401331997);
    assert_eq!((found.noise[0].censored, found.likelihood.n, found.columns[0].n), (13, 20, 7));
}

const FUTIME: [f64; 26] = [
    59., 115., 156., 421., 431., 448., 464., 475., 477., 563., 638., 744., 769., 770., 803., 855., 1040., 1106., 1129., 1206., 1227., 268.,
    329., 353., 365., 377.,
];
const FUSTAT: [i32; 26] = [1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0];
const RX: [i32; 26] = [1, 1, 1, 2, 1, 1, 2, 2, 1, 2, 1, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 1, 1, 2, 2, 2];

/// Survival of patients with ovarian cancer: `survreg(Surv(futime, fustat) ~ rx, ovarian, dist='lognormal')`
#[test]
fn right_censored_lognormal_times() {
    let side = |i: usize| if FUSTAT[i] == 1 { Side::Seen } else { Side::Above };
    let table = with_censored(&[("rx", &RX.map(f64::from))], "futime", &FUTIME, side);
    let model = "(param a 5) (param b 0.1) (param s 1 :min 0) (observe futime (exp (+ a (* b rx))) :noise (lognormal s))";
    let found = run(model, &table);
    let expected = [
        ("a", 5.568051349879, 0.806415163648),
        ("b", 0.786442370823, 0.526910159982),
        ("s", 1.17362469816, 1.17362469816 * 0.226741202520),
    ];
    agrees(&found, &expected, -96.0408212105);
}

/// The same times by a Weibull distribution, which the table of distributions has not: the row says its log-likelihood itself.
/// `survreg(Surv(futime, fustat) ~ rx, ovarian, dist='weibull')`
#[test]
fn a_row_may_say_its_log_likelihood() {
    let dead = FUSTAT.map(f64::from);
    let table = columns(&[("futime", &FUTIME), ("dead", &dead), ("rx", &RX.map(f64::from))]);
    let model = "(param a 5) (param b 0.1) (param s 1 :min 0)
                 (define z (/ (- (log futime) (+ a (* b rx))) s))
                 (loglik (- (* dead (- z (log (* s futime)))) (exp z)))";
    let found = run(model, &table);
    let expected = [
        ("a", 6.265239706906, 0.778328867397),
        ("b", 0.559273538014, 0.529218163598),
        ("s", 0.885657774677, 0.885657774677 * 0.251489276986),
    ];
    agrees(&found, &expected, -97.3641506644);
}

const AIR: [f64; 21] = [80., 80., 75., 62., 62., 62., 62., 62., 58., 58., 58., 58., 58., 58., 50., 50., 50., 50., 50., 56., 70.];
const WATER: [f64; 21] = [27., 27., 25., 24., 22., 23., 24., 24., 23., 18., 18., 17., 18., 19., 18., 18., 19., 19., 20., 20., 20.];
const LOSS: [f64; 21] = [42., 37., 37., 28., 18., 18., 19., 20., 15., 14., 14., 13., 11., 12., 8., 7., 8., 8., 9., 15., 15.];
const STUDENT: &str = "(param a 1) (param b 0.1) (param c 0.1) (param s 1 :min 0)
                       (observe loss (+ a (* b air) (* c water)) :noise (student-t 4 s))";

/// Stack loss: `survreg(Surv(stack.loss, rep(1,21)) ~ Air.Flow+Water.Temp, stackloss, dist='t', parms=4)`
#[test]
fn student_errors() {
    let found = run(STUDENT, &columns(&[("air", &AIR), ("water", &WATER), ("loss", &LOSS)]));
    let expected = [
        ("a", -47.541954499787, 4.372847544989),
        ("b", 0.811658214845, 0.111009461591),
        ("c", 0.759127281967, 0.308988521390),
        ("s", 2.11027790106, 2.11027790106 * 0.228895962661),
    ];
    agrees(&found, &expected, -52.0913093073);
}

/// The same, where losses of 9 and less are only known to be such:
/// `survreg(Surv(pmax(stack.loss,9), stack.loss>9, type='left') ~ Air.Flow+Water.Temp, stackloss, dist='t', parms=4)`
#[test]
fn censored_student_errors() {
    let limits = LOSS.map(|y| y.max(9.0));
    let side = |i: usize| if LOSS[i] > 9.0 { Side::Seen } else { Side::Below };
    let found = run(STUDENT, &with_censored(&[("air", &AIR), ("water", &WATER)], "loss", &limits, side));
    let expected = [
        ("a", -56.788633262075, 5.766618696837),
        ("b", 1.029121470159, 0.147359479236),
        ("c", 0.543846812376, 0.324742107449),
        ("s", 2.23581024768, 2.23581024768 * 0.247782153498),
    ];
    agrees(&found, &expected, -42.4219960992);
}

/// The median, the mean absolute deviation, and s/sqrt(n) as the error of both, by the expected information.
#[test]
fn laplace_errors() {
    let y = [1.2, 0.4, 3.9, 2.2, 2.8, 9.5, 1.9];
    let (median, s) = (2.2, (1.0 + 1.8 + 1.7 + 0.6 + 7.3 + 0.3) / 7.0);
    let found = run("(param m 1) (param s 1 :min 0) (observe y m :noise (laplace s))", &columns(&[("y", &y)]));
    let error = s / 7f64.sqrt();
    agrees(&found, &[("m", median, error), ("s", s, error)], -7.0 * ((2.0 * s).ln() + 1.0));
}

/// The expected information about a median, and about s: `s sqrt(diag((X'X)^-1))` and `s/sqrt(n)`, whatever the signs of single residuals;
/// of a formula, of the same as a differential equation, and where the model bends.
#[test]
fn errors_of_laplace_noise_are_those_of_the_expected_information() {
    let x: Vec<f64> = (0..8).map(|i| f64::from(i) * 10.0 / 7.0).collect();
    let y = [-0.764, 3.11, 7.637, 9.751, 10.759, 15.142, 18.1, 19.859];
    let line = "(param a 0) (param b 1) (param s 1 :min 0) (observe y (+ a (* b x)) :noise (laplace s))";
    let state = "(time x :start 0) (param a 0) (param b 1) (param s 1 :min 0) (state l a) (derive l b) (observe y l :noise (laplace s))";
    let bent = "(param a 1) (param b 0.1) (param s 1 :min 0) (observe y (- (* a (exp (* b x))) a) :noise (laplace s))";
    let part = "(param a 0) (param b 1) (param c 0.1 :min 0) (observe y (+ a (* b x)) :noise (laplace (+ c (* 0.02 x))))";
    let is = |found: &Fit, name: &str, wanted: f64| {
        let error = found.parameter(name).and_then(|p| p.stderr).unwrap_or_else(|| panic!("no error of `{name}`"));
        assert!((error / wanted - 1.0).abs() < 1e-5, "error of {name}: {error} instead of {wanted}");
    };
    let products = |j: &dyn Fn(f64) -> [f64; 2], weight: &dyn Fn(f64) -> f64| {
        let sum = |a: usize, b: usize| x.iter().map(|&x| j(x)[a] * j(x)[b] * weight(x)).sum::<f64>();
        let (aa, ab, bb) = (sum(0, 0), sum(0, 1), sum(1, 1));
        let determinant = aa * bb - ab * ab;
        ((bb / determinant).sqrt(), (aa / determinant).sqrt())
    };
    for model in [line, state, bent] {
        let found = run(model, &columns(&[("x", &x), ("y", &y)]));
        let [a, b, s] = ["a", "b", "s"].map(|name| found.parameter(name).expect(name).value);
        let slopes = |x: f64| if model == bent { [(b * x).exp() - 1.0, a * x * (b * x).exp()] } else { [1.0, x] };
        let (of_a, of_b) = products(&slopes, &|_| 1.0);
        is(&found, "a", s * of_a);
        is(&found, "b", s * of_b);
        is(&found, "s", s / 8f64.sqrt());
    }
    let found = run(part, &columns(&[("x", &x), ("y", &y)]));
    let c = found.parameter("c").expect("c").value;
    let (of_a, of_b) = products(&|x| [1.0, x], &|x| (c + 0.02 * x).powi(-2));
    is(&found, "a", of_a);
    is(&found, "b", of_b);
}

/// Indomethicin in the blood of six people (R's `Indometh`), all together, with errors that grow with the concentration: the maximum of the
/// likelihood and its second derivatives by mpmath 1.3, 40 digits.
#[test]
fn mixed_errors_are_expressions_of_the_observable() {
    let time = [0.25, 0.5, 0.75, 1.0, 1.25, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].repeat(6);
    let conc = [
        1.5, 0.94, 0.78, 0.48, 0.37, 0.19, 0.12, 0.11, 0.08, 0.07, 0.05, 2.03, 1.63, 0.71, 0.7, 0.64, 0.36, 0.32, 0.2, 0.25, 0.12, 0.08,
        2.72, 1.49, 1.16, 0.8, 0.8, 0.39, 0.22, 0.12, 0.11, 0.08, 0.08, 1.85, 1.39, 1.02, 0.89, 0.59, 0.4, 0.16, 0.11, 0.1, 0.07, 0.07,
        2.05, 1.04, 0.81, 0.39, 0.3, 0.23, 0.13, 0.11, 0.08, 0.1, 0.06, 2.31, 1.44, 1.03, 0.84, 0.64, 0.42, 0.24, 0.17, 0.13, 0.1, 0.09,
    ];
    let model = "(param A 2 :min 0) (param k 1 :min 0) (param B 0.5 :min 0) (param l 0.1 :min 0) (param a 0.1 :min 0) (param b 0.1 :min 0)
                 (observe conc (+ (* A (exp (* (- k) time))) (* B (exp (* (- l) time)))) :noise (normal (+ a (* b conc))))";
    let found = run(model, &columns(&[("time", &time), ("conc", &conc)]));
    let expected = [
        ("A", 2.41400267052, 0.308399412095),
        ("k", 1.75155810366, 0.263514856949),
        ("B", 0.366460646011, 0.080217195444),
        ("l", 0.219406023538, 0.0398231847629),
        ("a", 0.00774339116956, 0.00901368507557),
        ("b", 0.245031227694, 0.0454742967281),
    ];
    agrees(&found, &expected, 61.269313835794);
}

/// A law that is solved and its solution are one model: counts that decay.
#[test]
fn models_with_states_have_the_likelihood_of_their_solution() {
    let t: Vec<f64> = (0..12).map(f64::from).collect();
    let counts = [52., 30., 41., 19., 33., 12., 22., 6., 15., 2., 9., 1.];
    let table = columns(&[("t", &t), ("counts", &counts)]);
    let formula = run(
        "(param A 30 :min 0) (param k 0.1 :min 0) (param s 10 :min 0)
         (observe counts (* A (exp (* (- k) t))) :noise (negative-binomial s))",
        &table,
    );
    let law = run(
        "(param A 30 :min 0) (param k 0.1 :min 0) (param s 10 :min 0) (time t :start 0) (state x A) (derive x (* (- k) x))
         (observe counts x :noise (negative-binomial s))",
        &table,
    );
    for p in &formula.parameters {
        let q = law.parameter(&p.name).unwrap();
        assert!((p.value / q.value - 1.0).abs() < 1e-6, "{}: {} and {}", p.name, p.value, q.value);
        assert!((p.stderr.unwrap() / q.stderr.unwrap() - 1.0).abs() < 1e-4, "{}: {:?} and {:?}", p.name, p.stderr, q.stderr);
    }
    assert!((formula.likelihood.loglik - law.likelihood.loglik).abs() < 1e-7);
}

/// Two columns of one formula, one with gaps, and its own expression as a third: least squares of each, with its own standard deviation.
#[test]
fn several_observables_and_missing_cells() {
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 2.0 * x + [0.1, -0.2, 0.15, 0.05, -0.1][i % 5]).collect();
    let z: Vec<f64> =
        x.iter().enumerate().map(|(i, x)| if i == 3 { f64::NAN } else { 20.0 * x + 5.0 + [3.0, -2.0, -1.0][i % 3] }).collect();
    let table = columns(&[("x", &x), ("y", &y), ("z", &z)]);
    let found = run("(param a 1) (param b 1) (observe z (+ (* 10 a x) b)) (* a x)", &table);
    assert_eq!(found.targets, ["z", "y"]);
    assert_eq!(found.columns.iter().map(|c| c.n).collect::<Vec<_>>(), [9, 10]);
    assert!(found.warnings.iter().any(|w| w == "1 of 10 rows have no value of `z`"), "{:?}", found.warnings);
    // As least squares has it, of 19 numbers less the two constants.
    let more = (19.0f64 / 17.0).sqrt();
    for c in &found.columns {
        let sigma = found.parameter(&format!("sigma[{}]", c.name)).unwrap().value;
        assert!((sigma / (more * c.rmse) - 1.0).abs() < 1e-7, "{sigma} and {}", c.rmse);
    }
    assert_eq!(found.likelihood.k, 4.0);
}

fn refusal(model: &str, table: &Table) -> &'static str {
    let program = neural_compiler::compile(model, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
    fit(&program, table, &Options::default()).unwrap_err().0[0].code
}

#[test]
fn what_no_distribution_has_is_refused() {
    let x = [1.0, 2.0, 3.0, 4.0];
    let of = |y: [f64; 4]| columns(&[("x", &x), ("y", &y)]);
    let with = |noise: &str| format!("(param a 1) (observe y (* a x) :noise {noise})");
    assert_eq!(refusal(&with("(poisson)"), &of([1.0, 2.5, 3.0, 4.0])), "bad-value");
    assert_eq!(refusal(&with("(bernoulli)"), &of([1.0, 0.0, 2.0, 1.0])), "bad-value");
    assert_eq!(refusal(&with("(lognormal 1)"), &of([1.0, 0.0, 2.0, 1.0])), "bad-value");
    assert_eq!(refusal(&with("(binomial 2)"), &of([1.0, 0.0, 3.0, 1.0])), "no-start");
    let below = |i: usize| if i == 1 { Side::Below } else { Side::Seen };
    let censored = with_censored(&[("x", &x)], "y", &[1.0, 1.0, 0.0, 1.0], below);
    assert_eq!(refusal(&with("(bernoulli)"), &censored), "bad-value");
    assert_eq!(refusal("(param a 1) (* a x)", &censored), "censored-value");
    let options = Options { sigma: Some(1.0), ..Options::default() };
    let program = neural_compiler::compile(&with("(normal 1)"), &Default::default()).unwrap();
    assert_eq!(fit(&program, &of([1.0, 2.0, 3.0, 4.0]), &options).unwrap_err().0[0].code, "bad-sigma");
}

/// Counts below a limit count by the sum of their probabilities: `dpois(0:2, 3.5)` and `ppois(4, 3.5, lower.tail=FALSE)` of R.
#[test]
fn censored_counts() {
    let limits = [3.0, 4.0, 4.0];
    let side = |i: usize| [Side::Below, Side::Above, Side::Seen][i];
    let table = with_censored(&[("one", &[1.0; 3])], "y", &limits, side);
    let found = run("(param m 3.5 :fixed) (param a 0 :prior (normal 0 1)) (observe y (+ m a) :noise (poisson))", &table);
    let m = 3.5 + found.parameter("a").unwrap().value;
    let p = |k: i32| (-m).exp() * m.powi(k) / f64::from((1..=k).product::<i32>());
    let expected = (p(0) + p(1) + p(2)).ln() + (1.0 - (0..=4).map(p).sum::<f64>()).ln() + p(4).ln();
    assert!((found.likelihood.loglik - expected).abs() < 1e-12, "{} {expected}", found.likelihood.loglik);
}

/// An epidemic whose new cases are reported, with negative binomial scatter: the maximum by SciPy 1.17 (`solve_ivp` with DOP853 at 1e-12,
/// Nelder-Mead to 1e-12, second differences of the logarithms).
#[test]
fn incidence_of_an_epidemic() {
    let text = include_str!("../../../../examples/likelihood/sir-incidence.csv");
    let rows: Vec<(f64, f64)> =
        text.lines().skip(1).map(|l| l.split_once(',').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).unwrap()).collect();
    let (day, cases): (Vec<f64>, Vec<f64>) = rows.into_iter().unzip();
    let found = run(include_str!("../../../../examples/likelihood/sir-incidence.scm"), &columns(&[("day", &day), ("cases", &cases)]));
    for (name, value, stderr) in [
        ("beta", 0.4968980154052984, 0.009785093153140054),
        ("I0", 21.974051265771784, 4.62862264453021),
        ("rho", 0.2757815076935043, 0.017087601787677587),
        ("k", 18.778758484541953, 6.552207368042378),
    ] {
        let p = found.parameter(name).unwrap();
        assert!((p.value / value - 1.0).abs() < 1e-5, "{name}: {} instead of {value}", p.value);
        // Those of SciPy are of the logarithms: the slope, which is 0 at the maximum, is all they differ by.
        assert!((p.stderr.unwrap() / stderr - 1.0).abs() < 1e-3, "{name}: {:?} instead of {stderr}", p.stderr);
    }
    assert!((found.likelihood.loglik + 138.95679139329772).abs() < 1e-6, "{}", found.likelihood.loglik);
}

/// A decay over 16 decades with errors in proportion: the maximum is that of a straight line through the logarithms. The least numbers were
/// lost in the absolute tolerance, and, as a formula, scattered by no more than the rounding of the largest.
#[test]
fn decays_over_many_decades_are_fitted_on_their_scale() {
    let x = vec![
        1.00952e+06,
        2.28779e+05,
        3.71371e+04,
        9.08835e+03,
        1.61905e+03,
        3.26804e+02,
        8.18987e+01,
        1.38913e+01,
        2.74895e+00,
        5.99572e-01,
        1.25958e-01,
        2.26505e-02,
        4.86499e-03,
        8.40207e-04,
        1.80250e-04,
        3.61331e-05,
        6.67115e-06,
        1.32335e-06,
        2.64036e-07,
        6.12468e-08,
        1.24477e-08,
        2.47624e-09,
        5.19800e-10,
        9.11925e-11,
    ];
    let t: Vec<f64> = (0..24).map(|i| 1.6 * f64::from(i)).collect();
    let data = columns(&[("t", &t), ("y", &x)]);
    let declared = "(param k 0.9 :min 0) (param x0 1.5e6 :min 0) (param s 0.2 :min 0)";
    for model in [
        format!("{declared} (state x x0) (derive x (- (* k x))) (observe y x :noise (lognormal s))"),
        format!("{declared} (observe y (* x0 (exp (- (* k t)))) :noise (lognormal s))"),
    ] {
        let found = run(&model, &data);
        let [k, x0, s] = ["k", "x0", "s"].map(|name| found.parameter(name).unwrap());
        let apart = |x: f64, y: f64| (x / y - 1.0).abs();
        assert!(apart(k.value, 1.004026105508175) < 1e-5 && apart(k.stderr.unwrap(), 0.0014158280157034102) < 1e-3, "{model}: {k:?}");
        assert!(apart(x0.value, 1063820.339480699) < 1e-4 && apart(s.value, 0.07682090241483194) < 1e-4, "{model}: {x0:?} {s:?}");
        assert!(found.converged && !found.exact, "{}", found.message);
    }
}
