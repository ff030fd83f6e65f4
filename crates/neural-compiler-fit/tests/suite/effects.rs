//! Random effects: models that are linear in them exactly, others against R's lme4 1.1-31, which approximates in the same way, and, with
//! `lindstrom-bates`, against nlme 3.1-162. `oracles/effects/effects.R` prints their figures.

use crate::common::{compile, noise, table};
use neural_compiler_fit::{EffectMethod, Fit, Options, Table, fit};

/// A table whose first column is the names of groups.
fn grouped(text: &str, names: &[&str]) -> Table {
    let mut labels: Vec<String> = Vec::new();
    let mut columns = vec![Vec::new(); names.len()];
    for line in text.lines() {
        for (k, cell) in line.split(',').enumerate() {
            let number = match (k, labels.iter().position(|l| l == cell)) {
                (0, Some(place)) => place as f64,
                (0, None) => {
                    labels.push(cell.to_string());
                    (labels.len() - 1) as f64
                }
                _ => cell.parse().unwrap(),
            };
            columns[k].push(number);
        }
    }
    Table::new(names.iter().map(|n| n.to_string()).zip(columns)).unwrap().with_labels(names[0], labels)
}

fn run(model: &str, table: &Table) -> Fit {
    fit(&compile(model), table, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn close(found: &Fit, expected: &[(&str, f64)], relative: f64) {
    for (name, value) in expected {
        let x = found.parameter(name).unwrap_or_else(|| panic!("no `{name}`")).value;
        assert!((x / value - 1.0).abs() < relative, "{name}: {x} instead of {value}");
    }
    assert!(found.converged, "{}", found.message);
}

/// Potthoff and Roy (1964), R's `Orthodont`: subject, age, distance.
const ORTHODONT: &str = include_str!("../data/orthodont.csv");

/// `lme(distance ~ age, Orthodont, random = ~1|Subject, method = "ML")`
#[test]
fn a_linear_model_is_exact() {
    let model = "(param a 15) (param b 0.5) (param omega 1 :min 0) (param s 1 :min 0) (param eta 0 :per subject :effect (normal 0 omega))
                 (observe distance (+ a eta (* b age)) :noise (normal s))";
    let found = run(model, &grouped(ORTHODONT, &["subject", "age", "distance"]));
    close(&found, &[("a", 16.7611111111), ("b", 0.6601851852), ("omega", 2.072142095), ("s", 1.422727694)], 2e-6);
    assert!((found.likelihood.loglik + 221.694771).abs() < 1e-6, "{}", found.likelihood.loglik);
    assert_eq!((found.likelihood.k, found.likelihood.n, found.effects.len()), (4.0, 108, 27));
    // Of the observed information; `lme` divides by n - p where this divides by n, and leaves the variances out.
    let error = found.parameter("b").unwrap().stderr.unwrap();
    assert!((error / 0.06122445185 - 1.0).abs() < 0.02, "{error}");
}

const ORANGE_MODEL: &str = "(param A 150) (param xmid 700) (param scal 300 :min 1) (param omega 20 :min 0) (param s 10 :min 0)
     (param eta 0 :per tree :effect (normal 0 omega))
     (observe around (/ (+ A eta) (+ 1 (exp (/ (- xmid age) scal)))) :noise (normal s))";

fn orange() -> Table {
    grouped(include_str!("../data/orange.csv"), &["tree", "age", "around"])
}

/// R's `Orange`: the asymptote is a random effect, in which the curve is linear, so that the likelihood is exact; its maximum by `optim`
/// and `nlm` on the multivariate normal density (R 4.2.2). `nlme`, whose likelihood treats the curve as linear in all parameters, ends
/// beside it, where the likelihood is lower.
#[test]
fn orange_trees() {
    let found = run(ORANGE_MODEL, &orange());
    close(&found, &ORANGE, 1e-5);
    assert!((found.likelihood.loglik + ORANGE_LOGLIK).abs() < 1e-6, "{}", found.likelihood.loglik);
}

const ORANGE: [(&str, f64); 5] =
    [("A", 192.05315126201), ("xmid", 727.90632846347), ("scal", 348.07304891071), ("omega", 31.64630244805), ("s", 7.84301208065)];
const ORANGE_LOGLIK: f64 = 131.5718851;

/// A fit from the declared values alone: integrals are dear.
fn by(model: &str, table: &Table, effects: EffectMethod) -> Fit {
    fit(&compile(model), table, &Options { starts: Some(1), effects: Some(effects), ..Options::default() })
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Fixed effects to four digits of themselves, standard deviations to two percent, as `oracles/effects/effects.R` prints them.
fn as_r(found: &Fit, fixed: &[(&str, f64)], deviations: &[(&str, f64)], loglik: f64) {
    close(found, fixed, 1e-4);
    close(found, deviations, 2e-2);
    assert!((found.likelihood.loglik - loglik).abs() < 2e-3, "{} instead of {loglik}", found.likelihood.loglik);
}

fn theoph() -> Table {
    let (_, rows) = include_str!("../../../../examples/likelihood/theophylline-effects.csv").split_once('\n').unwrap();
    grouped(rows, &["subject", "dose", "time", "conc"])
}

/// R's `Theoph`, by Laplace's method as `oracles/effects/laplace.R` has it, and by `nlme`, whose two steps come to rest elsewhere. (`nlmer`
/// stops short of the maximum, at a log-likelihood of -176.993109.)
#[test]
fn theophylline() {
    let model = include_str!("../../../../examples/likelihood/theophylline-effects.scm");
    let found = by(model, &theoph(), EffectMethod::Laplace);
    let fixed = [("lKe", -2.465527236889), ("lKa", 0.482131308485), ("lCl", -3.230351133331)];
    as_r(&found, &fixed, &[("wKa", 0.656425714657), ("wCl", 0.167510630333), ("s", 0.707770435303)], -176.991842495);
    let found = by(model, &theoph(), EffectMethod::LindstromBates);
    let fixed = [("lKe", -2.454678638), ("lKa", 0.4656348969), ("lCl", -3.227212105)];
    as_r(&found, &fixed, &[("wKa", 0.6436986), ("wCl", 0.1669251), ("s", 0.7092419)], -177.022336125);
    // nlme's, without the factor sqrt(n/(n - p)); these hold the standard deviations for known.
    for (name, stderr) in [("lKe", 0.0512966), ("lKa", 0.19408), ("lCl", 0.058645)] {
        let error = found.parameter(name).unwrap().stderr.unwrap();
        assert!((error / stderr - 1.0).abs() < 0.05, "error of {name}: {error} instead of {stderr}");
    }
}

#[test]
fn orange_trees_as_nlme() {
    let found = by(ORANGE_MODEL, &orange(), EffectMethod::LindstromBates);
    as_r(
        &found,
        &[("A", 191.0490008), ("xmid", 722.5559796), ("scal", 344.1623818)],
        &[("omega", 31.482558), ("s", 7.846254)],
        -131.584579108,
    );
}

/// R's `CO2`: uptake of plants over the concentration.
#[test]
fn uptake_of_plants() {
    let model = "(param Asym 32) (param lrc -4.5) (param c0 45) (param wA 9 :min 0) (param wl 0.2 :min 0) (param s 2 :min 0)
                 (param eA 0 :per plant :effect (normal 0 wA)) (param el 0 :per plant :effect (normal 0 wl))
                 (observe uptake (* (+ Asym eA) (- 1 (exp (* (- (exp (+ lrc el))) (- conc c0))))) :noise (normal s))";
    let data = grouped(include_str!("../data/co2.csv"), &["plant", "conc", "uptake"]);
    let found = by(model, &data, EffectMethod::Laplace);
    // `nlmer` stops some hundredths of standard errors (2.72, 4.46) short of the maximum: its likelihood is lower than ours, below.
    let short = |name: &str, nlmer: f64, error: f64| (found.parameter(name).unwrap().value - nlmer).abs() / error;
    assert!(short("Asym", 32.50425185, 2.72) < 0.02 && short("c0", 48.78984849, 4.46) < 0.05, "{:?}", found.parameters);
    close(&found, &[("lrc", -4.623658562)], 1e-3);
    close(&found, &[("wA", 9.365103976), ("wl", 0.1269067192), ("s", 1.874837283)], 2e-2);
    assert!(found.likelihood.loglik >= -205.231350204 && found.likelihood.loglik < -205.22, "{}", found.likelihood.loglik);
    let found = by(model, &data, EffectMethod::LindstromBates);
    let fixed = [("Asym", 32.50411546), ("lrc", -4.623161269), ("c0", 48.79217888)];
    as_r(&found, &fixed, &[("wA", 9.3680641), ("wl", 0.1276735), ("s", 1.8737833)], -205.231442268);
}

/// R's `Loblolly`: heights of pines.
#[test]
fn heights_of_pines() {
    let model = "(param Asym 100) (param R0 -8) (param lrc -3.2) (param w 3 :min 0) (param s 1 :min 0)
                 (param eta 0 :per seed :effect (normal 0 w))
                 (observe height (+ (+ Asym eta) (* (- R0 (+ Asym eta)) (exp (* (- (exp lrc)) age)))) :noise (normal s))";
    let data = grouped(include_str!("../data/loblolly.csv"), &["seed", "age", "height"]);
    let found = by(model, &data, EffectMethod::Laplace);
    as_r(
        &found,
        &[("Asym", 102.1194627), ("R0", -8.549429763), ("lrc", -3.243968462)],
        &[("w", 3.675865866), ("s", 0.7183933639)],
        -114.696798963,
    );
    let found = by(model, &data, EffectMethod::LindstromBates);
    as_r(&found, &[("Asym", 101.4471504), ("R0", -8.6276327), ("lrc", -3.233712587)], &[("w", 3.650647), ("s", 0.7188623)], -114.743162263);
}

/// R's `Indometh`: the standard deviation of one of three effects is 0, as `nlmer` has it too (2.8e-7).
#[test]
fn indomethacin() {
    let model = "(param A1 2.8) (param lrc1 0.9) (param A2 0.6) (param lrc2 -1) (param w1 0.5 :min 0) (param w2 0.1 :min 0)
                 (param w3 0.2 :min 0) (param s 0.1 :min 0) (param e1 0 :per subject :effect (normal 0 w1))
                 (param e2 0 :per subject :effect (normal 0 w2)) (param e3 0 :per subject :effect (normal 0 w3))
                 (observe conc (+ (* (+ A1 e1) (exp (* (- (exp (+ lrc1 e2))) time))) (* (+ A2 e3) (exp (* (- (exp lrc2)) time))))
                          :noise (normal s))";
    let found = by(model, &grouped(include_str!("../data/indometh.csv"), &["subject", "time", "conc"]), EffectMethod::Laplace);
    let fixed = [("A1", 2.773620117), ("lrc1", 1.034328935), ("A2", 0.7865321424), ("lrc2", -0.8693431389)];
    as_r(&found, &fixed, &[("w1", 0.57743766), ("w3", 0.2091281584), ("s", 0.08210381032)], 56.114752108);
    assert_eq!(found.parameter("w2").unwrap().value, 0.0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table = grouped(ORTHODONT, &["subject", "age", "distance"]);
    let code = |model: &str| fit(&compile(model), &table, &Options::default()).unwrap_err().0[0].code;
    assert_eq!(
        code("(param eta 0 :per subject :effect (normal 0 omega)) (observe distance (* eta age) :noise (normal 1))"),
        "bad-declaration"
    );
    // Standard errors were a hundredth of what they are.
    let kinked = "(param a 1) (param w 1 :min 0) (param s 1 :min 0) (param eta 0 :per subject :effect (normal 0 w))
                  (observe distance (+ a eta) :noise (laplace s))";
    assert_eq!(code(kinked), "bad-declaration");
    let both = "(param w 1) (param eta 0 :per subject :effect (normal 0 w)) (param b 1 :per subject) (observe distance (+ eta (* b age)))";
    assert_eq!(code(both), "bad-declaration");
}

/// Groups that do not differ: the maximum is that of a line without effects, and an effect whose deviation is 0 is at its bound. Steps of
/// Newton's on the rounding errors of a slope left it at 10^-14, with an error and an interval below 0.
#[test]
fn a_deviation_of_0_has_no_error() {
    let model = "(param a 0) (param b 1) (param w 0.5 :min 0) (param s 1 :min 0) (param eta 0 :per g :effect (normal 0 w))
                 (observe y (+ a eta (* b x)) :noise (normal s))";
    let mut zeros = 0;
    for seed in 0..12 {
        let x: Vec<f64> = (0..18).map(|i| 2.5 + 1.3 * noise(i, 100 + seed)).collect();
        let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 1.0 + 2.0 * x + noise(i, 200 + seed)).collect();
        let g: Vec<f64> = (0..18).map(|i| f64::from(i / 3)).collect();
        let found = run(model, &table(vec![("g", g), ("x", x.clone()), ("y", y.clone())]));
        let w = found.parameter("w").unwrap();
        if w.value > 1e-6 {
            continue;
        }
        zeros += 1;
        assert!(w.value == 0.0 && w.stderr.is_none() && w.ci95.is_none() && w.note.as_deref() == Some("at its bound"), "{seed}: {w:?}");
        // Least squares by hand.
        let mean = |v: &[f64]| v.iter().sum::<f64>() / 18.0;
        let (mx, my) = (mean(&x), mean(&y));
        let product = |u: &[f64], m: f64, v: &[f64], n: f64| u.iter().zip(v).map(|(a, b)| (a - m) * (b - n)).sum::<f64>();
        let slope = product(&x, mx, &y, my) / product(&x, mx, &x, mx);
        let left = product(&y, my, &y, my) - slope * product(&x, mx, &y, my);
        let loglik = -9.0 * ((std::f64::consts::TAU * left / 18.0).ln() + 1.0);
        assert!((found.likelihood.loglik - loglik).abs() < 1e-6, "{seed}: {} {loglik}", found.likelihood.loglik);
        assert!((found.parameter("b").unwrap().value - slope).abs() < 1e-6, "{seed}");
    }
    assert!(zeros >= 4, "{zeros}");
}

/// One observation in each group: w² + s² is all there is to know. It was called w = 0, and s had an error.
#[test]
fn one_observation_for_each_group_does_not_tell_effects_from_errors() {
    let x: Vec<f64> = (0..30).map(|i| f64::from(i) / 10.0).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 1.0 + 2.0 * x + 0.6 * noise(i, 11)).collect();
    let g = (0..30).map(f64::from).collect();
    let model = "(param a 0) (param b 1) (param w 1 :min 0) (param s 1 :min 0) (param eta 0 :per g :effect (normal 0 w))
                 (observe y (+ a eta (* b x)) :noise (normal s))";
    let found = fit(&compile(model), &table(vec![("g", g), ("x", x), ("y", y)]), &Options::default()).unwrap();
    for name in ["w", "s"] {
        let p = found.parameter(name).unwrap();
        assert!(p.stderr.is_none() && p.ci95.is_none() && p.note.as_deref().is_some_and(|n| n.contains("not determined")), "{p:?}");
    }
    assert!(["a", "b"].iter().all(|n| found.parameter(n).unwrap().stderr.is_some()), "{:?}", found.parameters);
    assert!(found.warnings.iter().any(|w| w.contains("do not determine `w` and `s`")), "{:?}", found.warnings);
}

/// Effects in a unit other than that of the data, and two observables, each group having a row of one of them: what is tried in place of a
/// deviation is of the size of effects. In the unit of the data nothing was flagged; where that is none it was a panic.
#[test]
fn one_observation_for_each_group_in_any_unit() {
    let g: Vec<f64> = (0..30).map(f64::from).collect();
    let open = |model: &str, data: Table, names: &[&str]| {
        let found = fit(&compile(model), &data, &Options::default()).unwrap();
        for name in names {
            let p = found.parameter(name).unwrap();
            assert!(p.stderr.is_none() && p.note.as_deref().is_some_and(|n| n.contains("not determined")), "{p:?}: {:?}", found.warnings);
        }
    };
    let y = (0..30).map(|i| 500.0 * (0.3 * noise(i, 11)).exp()).collect();
    let effects = "(param w 0.2 :min 0) (param s 0.2 :min 0) (param eta 0 :per g :effect (normal 0 w))";
    let model = format!("(param a 400 :min 1) {effects} (observe y (* a (exp eta)) :noise (lognormal s))");
    open(&model, table(vec![("g", g.clone()), ("y", y)]), &["w", "s"]);
    let of = |which: usize, mean: f64| (0..30).map(|i| if i % 2 == which { mean + 0.6 * noise(i, 11) } else { f64::NAN }).collect();
    let model = format!(
        "(param a 0) (param b 1) {effects} (param r 0.2 :min 0)
         (observe y (+ a eta) :noise (normal s)) (observe z (+ b eta) :noise (normal r))"
    );
    open(&model, table(vec![("g", g), ("y", of(0, 1.0)), ("z", of(1, 3.0))]), &["w", "s", "r"]);
}

/// Groups that do not differ: the deviation is thrown to 0 from either start, which was told as two ends, the given one the worse.
#[test]
fn starts_that_lead_to_a_deviation_of_0_agree() {
    let errors = [0.1, -0.12, 0.03, -0.05, 0.08, -0.07, 0.02, 0.01, -0.09, 0.1, 0.04, -0.04];
    let rows = (0..12).map(|i| (f64::from(i / 3), f64::from(i % 3))).zip(errors);
    let columns: Vec<[f64; 3]> = rows.map(|((g, x), e)| [g, x, 3.2 + 0.5 * x + e]).collect();
    let column = |k: usize| columns.iter().map(|c| c[k]).collect::<Vec<f64>>();
    let data = table(vec![("g", column(0)), ("x", column(1)), ("y", column(2))]);
    for model in ["(+ a eta (* b x))", "(* a (exp (+ eta (* b x))))"] {
        let found = run(
            &format!(
                "(param a 3) (param b 0.3) (param omega 0.5 :min 0) (param s 0.2 :min 0) (param eta 0 :per g :effect (normal 0 omega))
                 (observe y {model} :noise (normal s))"
            ),
            &data,
        );
        assert_eq!(found.parameter("omega").unwrap().value, 0.0);
        assert_eq!((found.starts().as_str(), found.converged), ("2 of 2 starts agree", true), "{:?}", found.warnings);
        assert!(!found.warnings.iter().any(|w| w.contains("another")), "{:?}", found.warnings);
    }
}
