//! Jobs that working scientists brought and that once went wrong: a fit that is not determined, a model of no use, doses as conditions on
//! time with a longest step, a titration by bisection. Expected numbers are of SciPy (`DOP853`, rtol 1e-13), or follow from the model.

use crate::common::{compile, csv, table};
use neural_compiler_fit::{Options, Table, fit, predict};

/// A column of numbers; what is empty is missing.
fn read(text: &str, separator: char) -> Table {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(separator).collect();
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(separator).map(|x| x.parse().unwrap_or(f64::NAN)).collect()).collect();
    table(names.iter().enumerate().map(|(k, n)| (*n, rows.iter().map(|r| r[k]).collect())).collect())
}

/// Two compartments behind a gut, of which one is seen: five constants, and the data hold four combinations of them and less.
const COMPARTMENTS: &str = "(param ka 1 :min 0 :max 10) (param CL 4 :min 0) (param V1 15 :min 0) (param Q 5 :min 0) (param V2 30 :min 0)
    (state gut 0) (state conc 0) (state per 0)
    (derive gut (- rate (* ka gut)))
    (derive conc (/ (- (+ (* ka gut) (* Q (/ per V2))) (* (+ CL Q) conc)) V1))
    (derive per (- (* Q conc) (* Q (/ per V2))))";

#[test]
fn what_is_not_determined_has_no_error_bar() {
    let data = read(include_str!("../data/trials/pk_r.csv"), ',');
    let found = fit(&compile(COMPARTMENTS), &data, &Options { starts: Some(1), ..Options::default() }).unwrap_or_else(|e| panic!("{e}"));
    let ka = found.parameter("ka").expect("it is fitted");
    assert!(ka.stderr.is_none() && ka.ci95.is_none() && ka.note.as_deref() == Some("not determined by the data"), "{ka:?}");
    let open = found.undetermined.iter().find(|u| u.parameters.iter().any(|p| p == "ka")).expect("it is said");
    assert!(!open.determined.is_empty() && open.determined.iter().all(|c| c.stderr.is_some_and(f64::is_finite)), "{open:?}");
    // What the data do determine keeps its error: the dose over the area below the curve.
    let clearance = found.parameter("CL").and_then(|p| p.stderr).expect("it is determined");
    assert!((0.05..0.5).contains(&clearance), "{clearance}");
}

#[test]
fn two_populations_that_ignore_each_other_do_not_describe_lynx_and_hares() {
    let model = "(param growth 0.5) (param predation 0.03) (param death 0.8) (param conversion 0.03)
        (param hare0 30 :min 0) (param lynx0 4 :min 0) (state hare hare0) (state lynx lynx0)
        (derive hare (- (* growth hare) (* predation hare hare))) (derive lynx (- (* conversion lynx) (* death lynx lynx)))";
    let data = csv(include_str!("../../../../examples/lynx-hare.csv"));
    let how = Options { time: Some("year".into()), starts: Some(2), ..Options::default() };
    let found = fit(&compile(model), &data, &how).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.describes_data, Some(false), "{} {:?}", found.message, found.warnings);
    // The right model of as many constants has an AIC of 243.96; by the cost, both are 42.
    assert!(found.likelihood.k == 8.0 && found.likelihood.aic() > 350.0, "{:?}", found.likelihood);
}

#[test]
fn doses_as_conditions_on_time_are_met_with_a_longest_step_too() {
    let model = "(param ka 1.1 :min 0 :max 10) (param CL 5 :min 0) (param V1 20 :min 0) (param Q 8 :min 0) (param V2 40 :min 0)
        (state gut 0) (state conc 0) (state per 0)
        (define (pulse t0) (if (and (>= t t0) (< t (+ t0 0.01))) 10000 0))
        (define dose (+ (pulse 0) (pulse 12) (pulse 24) (pulse 36)))
        (derive gut (- dose (* ka gut)))
        (derive conc (/ (- (+ (* ka gut) (* Q (/ per V2))) (* (+ CL Q) conc)) V1))
        (derive per (- (* Q conc) (* Q (/ per V2))))";
    let times = vec![0.0, 1.0, 8.0, 13.0, 25.0, 30.0, 37.0, 48.0];
    let concentrations = [
        2.348_837_440_961,
        0.626_579_531_042_4,
        2.787_720_791_874,
        2.992_129_727_439,
        1.258_575_690_54,
        3.087_443_284_739,
        0.835_019_676_210_3,
    ];
    for step in [None, Some(0.002), Some(0.5)] {
        let found = predict(&compile(model), &table(vec![("t", times.clone())]), &Options { step, ..Options::default() });
        let found = found.unwrap_or_else(|e| panic!("{step:?}: {e}"));
        let found = &found.iter().find(|c| c.0 == "conc.predicted").expect("a state").1;
        for ((t, x), truth) in times[1..].iter().zip(&found[1..]).zip(concentrations) {
            assert!((x / truth - 1.0).abs() < 1e-7, "{step:?} at {t}: {x} instead of {truth}");
        }
    }
}

/// The charge balance of a weak acid and a strong base, solved by halving an interval: there is no derivative to follow.
#[test]
fn a_titration_by_bisection_says_what_to_write() {
    let balance = "(param pKa 5 :min 2 :max 10) (param Ca 0.09 :min 0.01 :max 1) (define ln10 (log 10))
        (define (balance p) (let* ((H (exp (- (* ln10 p)))) (K (exp (- (* ln10 pKa)))) (V |Volume [mL]|))
          (- (+ H (/ (* 0.1 V) (+ 25 V))) (+ (/ 1e-14 H) (* (/ (* Ca 25) (+ 25 V)) (/ K (+ K H)))))))";
    let bisected = format!(
        "{balance} (loop ((lo 0) (hi 14) (i 0)) (let ((mid (/ (+ lo hi) 2)))
            (if (> i 45) mid (if (> (balance mid) 0) (recur mid hi (+ i 1)) (recur lo mid (+ i 1))))))"
    );
    let data = read(include_str!("../data/trials/titr.csv"), ';');
    let refused = fit(&compile(&bisected), &data, &Options::default()).expect_err("it has no derivative");
    assert_eq!(refused.0[0].code, "not-smooth", "{refused}");
    // With the root as one, which has its derivative, the same equation is fitted.
    let solved =
        fit(&compile(&format!("{balance} (root (p 0 14) (balance p))")), &data, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let (acid, concentration) = (solved.parameter("pKa").unwrap(), solved.parameter("Ca").unwrap());
    assert!(acid.stderr.is_some() && concentration.stderr.is_some() && solved.r2 > 0.99, "{:?} {}", solved.parameters, solved.message);
}
