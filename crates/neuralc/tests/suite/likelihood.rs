//! Likelihoods on the command line: cells known from one side only, constants of groups, saved and predicted, models side by side.

use crate::common::{file, neuralc};
use std::fs;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/likelihood");

fn json(args: &[&str]) -> serde_json::Value {
    let done = neuralc(args);
    assert_eq!(done.code, 0, "{done:?}");
    done.json()
}

#[test]
fn cells_known_from_one_side_only() {
    let (model, table) = (format!("{EXAMPLES}/tobin.scm"), format!("{EXAMPLES}/tobin.csv"));
    let found = json(&["fit", &model, "--data", &table, "--json"]);
    // R: survreg(Surv(durable, durable>0, type='left') ~ age+quant, tobin, dist='gaussian')
    assert!((found["loglik"].as_f64().unwrap() + 28.9401331997).abs() < 1e-7, "{found}");
    assert!((found["params"]["s"]["value"].as_f64().unwrap() - 5.572539766).abs() < 1e-5);
    assert_eq!(found["noise"]["durable"]["censored"], 13);
    assert_eq!((&found["columns"]["durable"]["n"], &found["observations"]), (&7.into(), &20.into()));
    let refused = neuralc(&["fit", "-e", "(param a 1) (* a age)", "--data", &table, "--target", "durable"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("censored-value") && refused.err.contains("row 1"), "{}", refused.err);
}

#[test]
fn constants_of_groups_are_saved_and_predicted() {
    let (keep, _) = file("nothing", "");
    let folder = keep.path().display().to_string();
    let (model, table) = (format!("{EXAMPLES}/orange-trees.scm"), format!("{EXAMPLES}/orange-trees.csv"));
    let (saved, out) = (format!("{folder}/saved.scm"), format!("{folder}/out.csv"));
    let found =
        json(&["fit", &model, "--data", &table, "--target", "around", "--save", &saved, "--plot", &format!("{folder}/a.svg"), "--json"]);
    // R: nls(circumference ~ A[Tree]/(1+exp((xmid-age)/scal)), Orange)
    for (name, value) in [("A[1]", 161.887315813), ("A[4]", 233.070189976), ("xmid", 727.890604528)] {
        assert!((found["params"][name]["value"].as_f64().unwrap() / value - 1.0).abs() < 1e-5, "{name}: {found}");
    }
    assert_eq!(neuralc(&["predict", &saved, "--data", &table, "--out", &out]).code, 0);
    let told = fs::read_to_string(&out).unwrap();
    let last: f64 = told.lines().last().unwrap().rsplit(',').next().unwrap().parse().unwrap();
    assert!((last / (186.740144660 / (1.0 + ((727.890604528f64 - 1582.0) / 347.967390076).exp())) - 1.0).abs() < 1e-5, "{last}");
    fs::write(format!("{folder}/sixth.csv"), "tree,age\n6,100\n").unwrap();
    let unknown = neuralc(&["predict", &saved, "--data", &format!("{folder}/sixth.csv"), "--out", &out]);
    assert!(unknown.err.contains("unknown-group"), "{}", unknown.err);
}

#[test]
fn models_side_by_side() {
    let (keep, _) = file("nothing", "");
    let folder = keep.path().display().to_string();
    let write = |name: &str, text: &str| {
        let path = format!("{folder}/{name}");
        fs::write(&path, text).unwrap();
        path
    };
    let table = write("d.csv", "x,y\n0,1.1\n1,2.9\n2,5.2\n3,7.1\n4,8.8\n5,11.2\n6,12.9\n7,15.3\n");
    let flat = write("flat.scm", "(param a 1) a");
    let line = write("line.scm", "(param a 1) (param b 1) (+ a (* b x))");
    let found = json(&["compare", &flat, &line, "--data", &table, "--target", "y", "--json"]);
    // R: logLik(lm(y ~ 1)), logLik(lm(y ~ x)) and pchisq(2*(difference), 1, lower.tail=FALSE)
    let loglik = |k: usize| found["models"][k]["loglik"].as_f64().unwrap();
    assert!((loglik(0) - LOGLIKS[0]).abs() < 1e-6 && (loglik(1) - LOGLIKS[1]).abs() < 1e-6, "{found}");
    assert_eq!((&found["models"][1]["k"], &found["models"][0]["file"]), (&3.0.into(), &flat.clone().into()));
    let weights: f64 = (0..2).map(|k| found["models"][k]["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-12);
    let test = &found["tests"][0];
    assert_eq!((&test["models"][0], &test["models"][1], &test["df"]), (&flat.into(), &line.into(), &1.0.into()));
    assert!((test["statistic"].as_f64().unwrap() - 2.0 * (LOGLIKS[1] - LOGLIKS[0])).abs() < 1e-6);
    let p = test["p"].as_f64().unwrap();
    assert!((p / P - 1.0).abs() < 1e-5, "{p}");
}

const LOGLIKS: [f64; 2] = [-23.586776673130, 3.179478527789];
const P: f64 = 2.5434871564448e-13;

/// A folder and what writes files into it.
fn folder() -> (impl Sized, impl Fn(&str, &str) -> String) {
    let (keep, _) = file("nothing", "");
    let path = keep.path().display().to_string();
    (keep, move |name: &str, text: &str| {
        let path = format!("{path}/{name}");
        fs::write(&path, text).unwrap();
        path
    })
}

#[test]
fn groups_are_what_is_written_not_how() {
    let (_keep, write) = folder();
    let model = write("m.scm", "(param k 1 :per g) (* k x)");
    let table = write("d.csv", "g,x,y\n1,1,2\n1.0,2,4.1\n1,3,6\n2,1,3\n2,2,6.1\n2.0,3,9\n");
    let found = json(&["fit", &model, "--data", &table, "--target", "y", "--json"]);
    let names: Vec<&str> = found["order"].as_array().unwrap().iter().filter_map(|n| n.as_str()).collect();
    assert_eq!(names, ["sigma[y]", "k[1]", "k[2]"]);
    let empty = write("e.csv", "g,x,y\n1,1,2\n,2,4.1\n1,3,6\n2,1,3\n2,2,6.1\n2,3,9\n");
    let refused = neuralc(&["fit", &model, "--data", &empty, "--target", "y"]);
    assert!(refused.code == 1 && refused.err.contains("bad-value") && refused.err.contains("row 2"), "{}", refused.err);
}

/// Names alone make `hyperbola` a part of `decay`; that it explains more shows that it is none.
#[test]
fn a_model_that_explains_more_is_no_part() {
    let (_keep, hyperbola) = file("hyperbola.scm", "(param a 10) (param b 1 :min 0) (/ (* a x) (+ b x))");
    let (_kept, decay) = file("decay.scm", "(param a 10) (param b 1 :min 0) (param c 0) (+ c (* a (exp (- (* b x)))))");
    let rows: String = (1..20).map(|i| format!("{i},{}\n", 12.0 * f64::from(i) / (3.0 + f64::from(i)) + 0.01 * f64::from(i % 3))).collect();
    let (_table, data) = file("n.csv", &format!("x,y\n{rows}"));
    let found = json(&["compare", &hyperbola, &decay, "--data", &data, "--target", "y", "--json"]);
    assert!(found["models"][0]["loglik"].as_f64() > found["models"][1]["loglik"].as_f64(), "{found}");
    assert_eq!(found["tests"].as_array().map(Vec::len), Some(0), "{found}");
}

#[test]
fn models_of_other_data_are_not_compared() {
    let (_keep, write) = folder();
    let table = write("d.csv", "t,x,z\n0,10,1\n1,6.1,2\n2,3.6,3\n3,2.3,5\n4,1.4,4\n5,0.8,6\n");
    // The one starts at what was observed, so that this is no observation of it.
    let from_data = write("a.scm", "(param k 1) (state x x) (derive x (* (- k) x))");
    let free = write("b.scm", "(param k 1) (param x0 9) (state x x0) (derive x (* (- k) x))");
    let refused = neuralc(&["compare", &from_data, &free, "--data", &table]);
    assert!(refused.code == 1 && refused.err.contains("not-comparable"), "{}", refused.err);
    // Doses are given to all.
    let (one, two) = (
        write("c.scm", "(param k 1) (state x 0) (derive x (* (- k) x))"),
        write("e.scm", "(param k 1) (param l 0.1) (state x 0) (derive x (* (- (+ k (* l t))) x))"),
    );
    let doses = write("doses.csv", "time,amount,target\n0,10,x\n");
    let late = write("l.csv", "t,x\n0.5,7.9\n1,6.1\n2,3.6\n3,2.3\n4,1.4\n5,0.8\n");
    let found = json(&["compare", &one, &two, "--data", &late, "--events", &doses, "--start-time", "0", "--json"]);
    assert!(found["models"][0]["loglik"].as_f64().unwrap() > 0.0, "{found}");
}

/// R: `predict(lm(y ~ x), data.frame(x = 10), se.fit = TRUE, interval = …)`
#[test]
fn a_saved_model_knows_how_sure_its_predictions_are() {
    let (_keep, write) = folder();
    let table = write("d.csv", "x,y\n1,2.1\n2,3.9\n3,6.2\n4,7.8\n5,10.3\n6,11.6\n7,14.4\n8,15.7\n");
    let (model, saved) = (write("m.scm", "(param a 0) (param b 1) (+ a (* b x))"), write("s.scm", ""));
    json(&["fit", &model, "--data", &table, "--target", "y", "--save", &saved, "--json"]);
    let (new, out) = (write("n.csv", "x\n10\n"), write("o.csv", ""));
    assert_eq!(neuralc(&["predict", &saved, "--data", &new, "--out", &out, "--bands"]).code, 0);
    let told = fs::read_to_string(&out).unwrap();
    let (head, row) = told.trim().split_once('\n').unwrap();
    assert_eq!(head, "x,prediction,prediction.stderr,prediction.ci95.low,prediction.ci95.high,prediction.pi95.low,prediction.pi95.high");
    let expected = [10.0, 19.895238095238096, 0.2870142384821, 19.1929395536489, 20.59753663682729, 18.85757005396574, 20.9329061365105];
    for (cell, x) in row.split(',').zip(expected) {
        assert!((cell.parse::<f64>().unwrap() / x - 1.0).abs() < 1e-8, "{cell} instead of {x}");
    }
    let refused = neuralc(&["predict", &model, "--data", &new, "--out", &out, "--bands"]);
    assert!(refused.code == 1 && refused.err.contains("no-record"), "{}", refused.err);
    // Data that are met exactly say nothing of errors, and the record of such a fit has none.
    let (exact, met) = (write("e.csv", "x,y\n1,3\n2,5\n3,7\n4,9\n"), write("e.scm", ""));
    json(&["fit", &model, "--data", &exact, "--target", "y", "--save", &met, "--json"]);
    let refused = neuralc(&["predict", &met, "--data", &new, "--out", &out, "--bands"]);
    assert!(refused.code == 1 && refused.err.contains("no-record") && refused.err.contains("exactly"), "{}", refused.err);
}

#[test]
fn a_bootstrap_and_residuals_are_told() {
    let (_keep, write) = folder();
    let table = write("d.csv", "x,y\n1,2.1\n2,3.9\n3,6.2\n4,7.8\n5,10.3\n6,11.6\n7,14.4\n8,15.7\n");
    let model = write("m.scm", "(param a 0) (param b 1) (+ a (* b x))");
    let args = ["fit", &model, "--data", &table, "--target", "y", "--bootstrap", "50"];
    let found = json(&[&args[..], &["--json"]].concat());
    assert_eq!(found["bootstrap"], serde_json::json!({"wanted": 50, "replicates": 50, "failed": 0, "kind": "parametric"}));
    let b = &found["params"]["b"];
    assert!(b["bootstrap95"][0].as_f64() < b["value"].as_f64() && b["bootstrap_stderr"].as_f64() > Some(0.0), "{b}");
    assert_eq!((&found["diagnostics"]["y"]["n"], &found["diagnostics"]["y"]["outliers"]), (&8.into(), &serde_json::json!([])));
    let text = neuralc(&args).out;
    assert!(text.contains("95 % by bootstrap") && text.contains("residuals of `y`: Durbin-Watson"), "{text}");
}
