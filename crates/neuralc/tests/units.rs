//! Units on the command line: `check` shows and checks them, tables are converted by their headers.

mod common;
use common::{file, neuralc, neuralc_with};

const FALL: &str = "input m (unit kg)\ninput z (unit m)\nunit U = J\nU = g*m*z\n";

#[test]
fn check_shows_units() {
    let (_path, path) = file("fall.eq", FALL);
    let json = neuralc(&["check", &path, "--json"]).json();
    assert_eq!(json["units"]["m"], "kg");
    assert_eq!(json["units"]["g"], "m/s^2");
    assert_eq!(json["units"]["U"], "J");
    let text = neuralc(&["check", &path]);
    assert!(text.code == 0 && text.out.contains("g      m/s^2\n"), "{}", text.out);
    assert_eq!(neuralc(&["check", "-e", "(* 2 x)", "--json"]).json()["units"], serde_json::json!({}));
}

#[test]
fn mistakes_are_errors_or_warnings_or_nothing() {
    let text = "(input x :unit m) (input y :unit cm) (+ x y)";
    let refused = neuralc(&["check", "-e", text, "--json"]);
    assert_eq!((refused.code, refused.codes()), (1, vec!["unit-mismatch".to_string()]));
    let found = &refused.json()["diagnostics"][0];
    assert!(found["help"].as_str().is_some_and(|h| h.contains("100") || h.contains("0.01")), "{found}");
    assert_eq!(found["span"]["start"], 37);
    assert_eq!(neuralc(&["run", "-e", text, "x=1", "y=2"]).code, 1);
    assert_eq!(neuralc(&["run", "-e", text, "x=1", "y=2", "--units", "warn"]).out, "3\n");
    let warned = neuralc(&["check", "-e", text, "--json", "--units", "warn"]);
    assert_eq!(warned.json()["diagnostics"][0]["severity"], "warning");
    assert_eq!(neuralc(&["check", "-e", text, "--units", "off"]).code, 0);
    assert_eq!(neuralc(&["check", "-e", "(input x :unit parsnip) x", "--json"]).codes(), ["unknown-unit"]);
}

#[test]
fn tables_are_converted() {
    let model = "(input T :unit K) (input x :unit m) (/ T x)";
    let eval = |table: &str| neuralc_with(table, &["eval", "-e", model, "--data", "-", "--out", "-"]);
    assert_eq!(eval("T [degC],x (cm)\n26.85,200\n").out, "T [degC],x (cm),value\n26.85,200,150.0\n");
    assert_eq!(eval("T,x/m\n300,2\n").out, "T,x/m,value\n300,2,150.0\n");
    let wrong = eval("T [m],x\n300,2\n");
    assert!(wrong.code == 1 && wrong.err.contains("unit-mismatch"), "{}", wrong.err);
}

/// One data set in two sets of units gives the same constants.
#[test]
fn fits_are_in_the_units_of_the_model() {
    let model = "param k = 1 (unit 1/h)\ninput t (unit h)\ninput dose (unit mg)\nunit A = mg\nA = dose*exp(-k*t)\n";
    let (_model, model) = file("decay.eq", model);
    let (_plain, plain) = file("hours.csv", "t,dose,A\n0,10,10.1\n1,10,6.0\n2,10,3.7\n3,20,4.4\n");
    let (_other, other) = file("minutes.csv", "t/min,dose (g),A [ug]\n0,0.01,10100\n60,0.01,6000\n120,0.01,3700\n180,0.02,4400\n");
    let fitted = |data: &str| neuralc(&["fit", &model, "--data", data, "--target", "A", "--json"]).json();
    let k = |report: &serde_json::Value| report["params"]["k"]["value"].as_f64().expect("a value");
    let (a, b) = (fitted(&plain), fitted(&other));
    assert!((k(&a) - k(&b)).abs() < 1e-12 * k(&a), "{a}\n{b}");
}
