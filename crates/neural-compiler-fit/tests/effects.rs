//! Random effects: models that are linear in them exactly, others against R's nlme 3.1-162, which approximates in another way (see there).

mod common;

use common::compile;
use neural_compiler_fit::{Fit, Options, Table, fit};

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
const ORTHODONT: &str = include_str!("data/orthodont.csv");

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

/// R's `Orange`: the asymptote is a random effect, in which the curve is linear, so that the likelihood is exact; its maximum by `optim`
/// and `nlm` on the multivariate normal density (R 4.2.2). `nlme`, whose likelihood treats the curve as linear in all parameters, ends
/// beside it (191.05, 722.56, 344.16, 31.48, 7.846), where the likelihood is lower.
#[test]
fn orange_trees() {
    let mut rows = String::new();
    let around = [
        [30, 58, 87, 115, 120, 142, 145],
        [33, 69, 111, 156, 172, 203, 203],
        [30, 51, 75, 108, 115, 139, 140],
        [32, 62, 112, 167, 179, 209, 214],
        [30, 49, 81, 125, 142, 174, 177],
    ];
    for (tree, row) in around.iter().enumerate() {
        for (age, y) in [118, 484, 664, 1004, 1231, 1372, 1582].iter().zip(row) {
            rows += &format!("{},{age},{y}\n", tree + 1);
        }
    }
    let model = "(param A 150) (param xmid 700) (param scal 300 :min 1) (param omega 20 :min 0) (param s 10 :min 0)
                 (param eta 0 :per tree :effect (normal 0 omega))
                 (observe around (/ (+ A eta) (+ 1 (exp (/ (- xmid age) scal)))) :noise (normal s))";
    let found = run(model, &grouped(&rows, &["tree", "age", "around"]));
    close(&found, &ORANGE, 1e-5);
    assert!((found.likelihood.loglik + ORANGE_LOGLIK).abs() < 1e-6, "{}", found.likelihood.loglik);
}

const ORANGE: [(&str, f64); 5] =
    [("A", 192.05315126201), ("xmid", 727.90632846347), ("scal", 348.07304891071), ("omega", 31.64630244805), ("s", 7.84301208065)];
const ORANGE_LOGLIK: f64 = 131.5718851;

/// R's `Theoph`: `nlme(conc ~ SSfol(Dose, Time, lKe, lKa, lCl), Theoph, fixed = lKe+lKa+lCl ~ 1, random = pdDiag(lKa+lCl ~ 1))`. `nlme`
/// linearises where it estimates variances and ends beside the maximum, with a log-likelihood of -177.0223: fixed effects agree to a part
/// of their standard errors, standard deviations to two percent.
#[test]
fn theophylline() {
    let model = include_str!("../../../examples/likelihood/theophylline-effects.scm");
    let (_, rows) = include_str!("../../../examples/likelihood/theophylline-effects.csv").split_once('\n').unwrap();
    // From the declared values alone: integrals are dear.
    let options = Options { starts: Some(1), ..Options::default() };
    let found = fit(&compile(model), &grouped(rows, &["subject", "dose", "time", "conc"]), &options).unwrap_or_else(|e| panic!("{e}"));
    for (name, value, stderr) in [("lKe", -2.4546786394, 0.0518896), ("lKa", 0.4656349021, 0.1963240), ("lCl", -3.2272121060, 0.0593230)] {
        let p = found.parameter(name).unwrap();
        assert!((p.value - value).abs() < 0.25 * stderr, "{name}: {} instead of {value}", p.value);
        assert!((p.stderr.unwrap() / stderr - 1.0).abs() < 0.05, "error of {name}: {:?} instead of {stderr}", p.stderr);
    }
    close(&found, &[("wKa", 0.6436986175), ("wCl", 0.1669251398), ("s", 0.7092418802)], 2e-2);
    assert!(found.likelihood.loglik > -177.0223361 && found.likelihood.loglik < -176.9, "{}", found.likelihood.loglik);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table = grouped(ORTHODONT, &["subject", "age", "distance"]);
    let code = |model: &str| fit(&compile(model), &table, &Options::default()).unwrap_err().0[0].code;
    assert_eq!(
        code("(param eta 0 :per subject :effect (normal 0 omega)) (observe distance (* eta age) :noise (normal 1))"),
        "bad-declaration"
    );
    let both = "(param w 1) (param eta 0 :per subject :effect (normal 0 w)) (param b 1 :per subject) (observe distance (+ eta (* b age)))";
    assert_eq!(code(both), "bad-declaration");
}
