//! Likelihoods on the command line: cells known from one side only, constants of groups, saved and predicted, models side by side.

mod common;

use common::{file, neuralc};
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
