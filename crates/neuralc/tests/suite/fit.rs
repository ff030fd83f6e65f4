//! `neuralc fit` and `neuralc predict` the way they are used.

use crate::common::{file, neuralc, neuralc_with};
use std::fmt::Write;

/// y = 3 exp(-0.7 t), with a ripple for noise.
fn decay() -> String {
    let mut text = String::from("t,y,label\n");
    for i in 0..40 {
        let t = f64::from(i) / 8.0;
        let _ = writeln!(text, "{t},{},r{i}", 3.0 * (-0.7 * t).exp() + 0.01 * (f64::from(i) * 2.4).sin());
    }
    text
}

const MODEL: &str = "(param a 1 :min 0) ; amplitude\n(param k 1.0)\n(* a (exp (- (* k t))))\n";

#[test]
fn json_has_what_was_promised() {
    let (_folder, data) = file("decay.csv", &decay());
    let done = neuralc(&["fit", "-e", MODEL, "--data", &data, "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let json = done.json();
    let k = &json["params"]["k"];
    let (value, error) = (k["value"].as_f64().unwrap(), k["stderr"].as_f64().unwrap());
    assert!((value - 0.7).abs() < 4.0 * error && error > 0.0, "{k}");
    let ends: Vec<f64> = k["ci95"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert!(ends[0] < value && value < ends[1]);
    for key in ["cost", "rmse", "r2", "loglik", "aic", "aicc", "bic"] {
        assert!(json[key].is_f64(), "{key}");
    }
    assert_eq!((json["k"].as_u64(), json["columns"]["y"]["n"].as_u64()), (Some(3), Some(40)), "{json}");
    assert_eq!(json["order"], serde_json::json!(["a", "k"]));
    let entry = |what: &str, i: usize, j: usize| json[what][i][j].as_f64().unwrap();
    assert!((entry("covariance", 1, 1).sqrt() / error - 1.0).abs() < 1e-12 && entry("correlation", 0, 0) == 1.0);
    let both = (entry("covariance", 0, 0) * entry("covariance", 1, 1)).sqrt();
    assert!((entry("correlation", 0, 1) - entry("covariance", 1, 0) / both).abs() < 1e-12);
    assert_eq!((json["converged"].as_bool(), json["message"].is_string()), (Some(true), true));
    assert!(json["starts"]["agreed"].as_u64().unwrap() <= json["starts"]["tried"].as_u64().unwrap());
}

#[test]
fn saved_models_predict_what_was_fitted() {
    let (folder, data) = file("decay.csv", &decay());
    let saved = folder.path().join("fitted.scm").to_str().unwrap().to_string();
    let plot = folder.path().join("fit.svg").to_str().unwrap().to_string();
    let done = neuralc(&["fit", "-e", MODEL, "--data", &data, "--target", "y", "--save", &saved, "--plot", &plot]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.contains("std. error") && done.out.contains(" starts "), "{}", done.out);
    let text = std::fs::read_to_string(&saved).unwrap();
    assert!(text.contains("; amplitude") && text.contains(":min 0"), "{text}");
    let record: serde_json::Value = serde_json::from_str(text.lines().find_map(|l| l.strip_prefix("; fit: ")).unwrap()).unwrap();
    assert_eq!(record["options"], serde_json::json!({"target": "y"}), "{record}");
    assert!(record["fit"]["covariance"][1][1].is_f64() && record["version"].is_string() && record["data"]["rows"] == 40, "{record}");
    let hash = record["data"]["sha256"].as_str().unwrap();
    assert!(hash.len() == 64 && text.contains(&format!("SHA-256 of the file {hash}")), "{text}");
    // A saved model is a model: it can be fitted and saved again, and has one record then.
    let again = neuralc(&["fit", &saved, "--data", &data, "--target", "y", "--profile", "--save", &saved]);
    assert_eq!(again.code, 0, "{again:?}");
    let text = std::fs::read_to_string(&saved).unwrap();
    assert!(text.matches("; fit: ").count() == 1 && text.contains("\"profile\":\"true\""), "{text}");
    assert!(std::fs::read_to_string(&plot).unwrap().starts_with("<svg"));
    let done = neuralc(&["predict", &saved, "--data", &data]);
    assert_eq!(done.code, 0, "{done:?}");
    let mut lines = done.out.lines();
    assert_eq!(lines.next(), Some("t,y,label,prediction"));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let (y, f): (f64, f64) = (cells[1].parse().unwrap(), cells[3].parse().unwrap());
        assert!((y - f).abs() < 0.02, "{line}");
    }
}

#[test]
fn bad_data_is_named_by_row_and_column() {
    let fit = |data: &str, more: &[&str]| {
        let (_folder, path) = file("data.csv", data);
        let mut args = vec!["fit", "-e", "(param a 1) (param b 1) (+ a (* b x))", "--data", &path, "--json"];
        args.extend(more);
        let done = neuralc(&args);
        assert_eq!(done.code, 1, "{done:?}");
        let first = done.json()["diagnostics"][0].clone();
        (
            first["code"].as_str().unwrap().to_string(),
            first["message"].as_str().unwrap().to_string(),
            first["help"].as_str().unwrap_or("").to_string(),
        )
    };
    assert_eq!(fit("x,y\n1,2\n,2\n3,4\n", &[]).1, "row 2 (line 3), column `x`: the value is missing or not a number");
    assert_eq!(fit("# a\nx,y\n1,2\n\n2,inf\n3,4\n", &[]).1, "row 2 (line 5), column `y`: the value is infinite");
    assert_eq!(fit("x,y\n1,2\nnan,2\n3,4\n", &[]).0, "bad-value");
    assert_eq!(fit("x,y\n1,2\nold,3\n3,4\n", &[]).1, "row 2 (line 3), column `x`: `old` is not a number");
    assert_eq!(fit("x,y\n1,2\n", &[]).0, "too-few-rows");
    assert_eq!(fit("x,y\n", &[]).0, "no-rows");
    assert!(fit("x_m,y\n1,2\n2,3\n", &[]).2.contains("`x_m`"));
    assert_eq!(fit("x,p,q\n1,2,3\n2,3,4\n", &[]).0, "no-target");
    // The row is named when the column to explain would have been found without being named, and no other is taken in its place.
    assert_eq!(fit("x,y\n1,2\n2,old\n3,4\n", &[]).1, "row 2 (line 3), column `y`: `old` is not a number");
    assert_eq!(fit("x,y,z\n1,2,1\n2,old,2\n3,4,3\n", &[]).1, "row 2 (line 3), column `y`: `old` is not a number");
    assert_eq!(fit("x,y\n1,NA\n2,-\n3,\n", &[]).1, "the column `y` has no value at all");
    assert_eq!(fit("x,y,s\n1,2,1\n2,3,0\n3,4,1\n", &["--sigma", "s", "--target", "y"]).0, "bad-sigma");
    assert_eq!(fit("x,y\n1,2\n2,3\n", &["--target", "z"]).0, "missing-column");
}

#[test]
fn starts_that_are_expressions_and_columns_that_observe_them() {
    let model =
        "(time t :start 0) (param V 10 :min 1) (param k 1 :min 0) (state A (* dose 1)) (derive A (* (- k) A)) (observe conc (/ A V))";
    let rows: String = (0..20).map(|i| 0.3 * f64::from(i)).map(|t| format!("{t},80,{}\n", 80.0 / 16.0 * (-0.4 * t).exp())).collect();
    let (_folder, path) = file("data.csv", &format!("t,dose,conc\n{rows}"));
    let done = neuralc(&["fit", "-e", model, "--data", &path, "--json"]);
    let report = done.json();
    let value = |name: &str| report["params"][name]["value"].as_f64().unwrap();
    assert!((value("V") - 16.0).abs() < 1e-5 && (value("k") - 0.4).abs() < 1e-6, "{done:?}");
    assert_eq!(report["columns"]["conc"]["n"], 20, "{done:?}");
    let predicted = neuralc(&["predict", "-e", &model.replace("V 10", "V 16"), "--data", &path]);
    assert!(predicted.out.starts_with("t,dose,conc,A.predicted,conc.predicted\n0,80,5,80.0,5.0\n"), "{predicted:?}");
}

#[test]
fn options_without_sense_are_told_all_at_once() {
    let (_folder, path) = file("data.csv", "x,y\n1,2\n2,4\n3,6\n");
    let run = |more: &[&str]| neuralc(&[&["fit", "-e", "(param a 1) (* a x)", "--data", &path], more].concat());
    for (options, code, words) in [
        (vec!["--step=-1"], "bad-step", "a step is a positive number, -1 is none"),
        (vec!["--rtol=0"], "bad-tolerance", "a relative tolerance is a positive number, 0 is none"),
        (vec!["--atol=-2"], "bad-tolerance", "an absolute tolerance is a positive number, -2 is none"),
        (vec!["--budget=nan"], "bad-budget", "a budget is a positive number of seconds, NaN is none"),
        (vec!["--holdout=1.5"], "bad-holdout", "the share held out lies between 0 and 1, 1.5 does not"),
        (vec!["--starts=0"], "bad-count", "starts is at least 1, not 0"),
        (vec!["--weight-decay=0"], "bad-weight-decay", "a weight decay is a positive number, 0 is none"),
    ] {
        let done = run(&[&options[..], &["--json"]].concat());
        assert_eq!((done.code, done.codes()), (1, vec![code.to_string()]), "{options:?}: {done:?}");
        assert!(done.out.contains(words), "{options:?}: {done:?}");
    }
    let both = run(&["--step=-1", "--rtol=0", "--json"]);
    assert_eq!(both.codes(), ["bad-step", "bad-tolerance"], "{both:?}");
    for (options, words) in [
        (vec!["--loss=hubber"], "the loss is one of squares, huber, soft-l1, cauchy, not \"hubber\""),
        (vec!["--loss=huber:0"], "the scale of a loss is a positive number, \"0\" is none"),
        (vec!["--training=magic"], "the training is one of auto, gauss-newton, first-order, not \"magic\""),
        (vec!["--method=rk5"], "[possible values: auto, dopri5, tsit5, bosh3, rosenbrock, rodas5p, rk4, euler]"),
    ] {
        let done = run(&options);
        assert_eq!(done.code, 2, "{options:?}: {done:?}");
        assert!(done.err.contains(words), "{options:?}: {done:?}");
    }
    for loss in ["soft-l1", "soft_l1", "soft_l1:0.5"] {
        assert_eq!(run(&["--loss", loss]).code, 0, "{loss}");
    }
}

#[test]
fn a_column_named_like_a_state_is_never_passed_over() {
    let model = "(time t :start 0) (param k 1 :min 0) (state A 10) (state B 0) (derive A (- (* k A))) (derive B (* k A))";
    let wrong = |data: &str, more: &[&str]| {
        let (_folder, path) = file("data.csv", data);
        let done = neuralc(&[&["fit", "-e", model, "--data", &path, "--json"], more].concat());
        assert_eq!(done.code, 1, "{done:?}");
        let first = done.json()["diagnostics"][0].clone();
        (first["code"].as_str().unwrap().to_string(), first["message"].as_str().unwrap().to_string())
    };
    let not = |message: &str| ("not-a-number".to_string(), message.to_string());
    let limit = "t,A,B\n0,10,0.1\n1,6.7,<0.5\n2,4.5,5.5\n3,3,7\n";
    let known = "row 2 (line 3), column `B`: `<0.5` is a value known from one side only";
    assert_eq!(wrong(limit, &[]), ("censored-value".to_string(), known.to_string()));
    assert_eq!(wrong(&limit.replace('<', "~"), &[]), not("row 2 (line 3), column `B`: `~0.5` is not a number"));
    // Also where the first value of the column is the bad one.
    assert_eq!(wrong("t,A,B\n0,10,~0.5\n1,6.7,3.3\n2,4.5,5.5\n", &[]).0, "not-a-number");
    assert_eq!(wrong("t,A,B\n0,10,\"966\"\n1,6.7,\"2,638\"\n2,4.5,\"3,897\"\n", &[]).0, "ambiguous-number");
    let (code, message) = wrong("t;A;B\n0;10,129;0,145\n1;6,594;3,300\n2;4,368;5,4\n", &[]);
    assert!(code == "ambiguous-number" && message.contains("column `A`"), "{code} {message}");
    // The column of times is as little passed over.
    assert_eq!(wrong("t,time,A\n0,a,10\n1,b,6.7\n2,c,4.5\n", &["--time", "time"]).0, "not-a-number");
    // A prediction needs no observations, and a column of remarks is nobody's.
    let (_folder, path) = file("data.csv", limit);
    assert_eq!(neuralc(&["predict", "-e", model, "--data", &path]).code, 0);
    let (_folder, path) = file("data.csv", "t,A,remark\n0,10,1\n1,6.7,none\n2,4.5,\n3,3,\n");
    let done = neuralc(&["fit", "-e", model, "--data", &path]);
    assert_eq!(done.code, 0, "{done:?}");
    // Steps of a map are counted only where there is no column of times.
    let (_folder, path) = file("data.csv", "t,x\n0,1\n2,4.1\nlater,7.9\n");
    let done = neuralc(&["fit", "-e", "(param a 2) (state x 1) (next x (* a x))", "--data", &path, "--json"]);
    assert_eq!(done.json()["diagnostics"][0]["code"].as_str(), Some("not-a-number"), "{done:?}");
}

#[test]
fn what_the_data_do_not_determine_is_named() {
    let (_folder, data) = file("decay.csv", &decay());
    let json = neuralc(&["fit", "-e", "(param a 1) (param b 1) (* a b (exp (* -0.7 t)))", "--data", &data, "--json"]).json();
    assert!(json["params"]["a"]["stderr"].is_null() && json["params"]["b"]["stderr"].is_null(), "{json}");
    assert!(json["warnings"][0].as_str().unwrap().contains("do not determine `a` and `b`, only `a*b` = "), "{json}");
    assert_eq!(json["undetermined"][0]["determined"][0]["combination"].as_str(), Some("a*b"), "{json}");
    assert_eq!(json["params"]["a"]["note"].as_str(), Some("not determined by the data"));
    let json = neuralc(&["fit", "-e", "(param a 1 :max 2) (param k 1) (* a (exp (- (* k t))))", "--data", &data, "--json"]).json();
    assert_eq!((json["params"]["a"]["value"].as_f64(), json["params"]["a"]["note"].as_str()), (Some(2.0), Some("at its bound")), "{json}");
    assert!(json["params"]["a"]["stderr"].is_null() && json["params"]["k"]["stderr"].is_f64());
}

#[test]
fn a_group_of_a_formula_must_be_there() {
    let (_folder, data) = file("decay.csv", &decay());
    let done = neuralc(&["fit", "-e", MODEL, "--data", &data, "--target", "y", "--group", "who", "--json"]);
    assert_eq!((done.code, done.json()["diagnostics"][0]["code"].as_str()), (1, Some("missing-column")), "{done:?}");
    let done = neuralc(&["fit", "-e", MODEL, "--data", &data, "--target", "y", "--group", "label"]);
    assert!(done.code == 0 && done.out.contains("40 groups of `label`"), "{done:?}");
}

#[test]
fn differential_equations_with_groups_by_name() {
    let mut text = String::from("when,x,who\n");
    for (who, start) in [("ann", 2.0f64), ("bob", 5.0)] {
        for i in 0..12 {
            let t = 0.5 * f64::from(i);
            let _ = writeln!(text, "{t},{},{who}", start * (-0.4 * t).exp());
        }
    }
    let model = "(param k 1 :min 0) (state x x) (derive x (- (* k x)))";
    let done = neuralc_with(&text, &["fit", "-e", model, "--data", "-", "--time", "when", "--group", "who", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!((done.json()["params"]["k"]["value"].as_f64().unwrap() - 0.4).abs() < 1e-7, "{done:?}");
    let done = neuralc_with(&text, &["fit", "-e", model, "--data", "-", "--time", "when"]);
    assert!(done.code == 1 && done.err.contains("--group"), "{done:?}");
}

#[test]
fn nets_are_saved_beside_the_model() {
    let (folder, data) = file("decay.csv", &decay());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (saved, plot) = (path("fitted.scm"), path("fit.png"));
    let model = "(param a 1) (net bend (t) 4 1) (+ a (bend t))";
    let done = neuralc(&["fit", "-e", model, "--data", &data, "--target", "y", "--save", &saved, "--plot", &plot]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.contains("fitted.safetensors") && done.out.contains("13 weights"), "{}", done.out);
    assert!(std::fs::read(&plot).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    let first = neuralc(&["predict", &saved, "--data", &data]);
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.out.lines().next().unwrap().ends_with(",prediction"));
    // The bits of the weights count: the same file, the same predictions.
    assert_eq!(first.out, neuralc(&["predict", &saved, "--data", &data]).out);
    std::fs::remove_file(path("fitted.safetensors")).unwrap();
    let done = neuralc(&["predict", &saved, "--data", &data, "--out", &path("p.csv"), "--json"]);
    assert_eq!((done.code, done.json()["diagnostics"][0]["code"].as_str()), (1, Some("no-weights")), "{done:?}");
    std::fs::write(path("fitted.safetensors"), "nonsense").unwrap();
    let done = neuralc(&["predict", &saved, "--data", &data, "--out", &path("p.csv"), "--json"]);
    assert_eq!((done.code, done.json()["diagnostics"][0]["code"].as_str()), (1, Some("bad-weights")), "{done:?}");
}

#[test]
fn trajectories_are_drawn_over_their_time() {
    let mut text = String::from("when,x,v\n");
    for i in 0..20 {
        let t = 0.3 * f64::from(i);
        let hole = if i == 7 { String::new() } else { t.cos().to_string() };
        let _ = writeln!(text, "{t},{hole},{}", -t.sin());
    }
    let (folder, data) = file("swing.csv", &text);
    let plot = folder.path().join("fit.svg").to_str().unwrap().to_string();
    let model = "(param k 0.8 :min 0) (state x 1) (state v 0) (derive x v) (derive v (- (* k x)))";
    let done = neuralc(&["fit", "-e", model, "--data", &data, "--time", "when", "--holdout", "0.2", "--plot", &plot, "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.json()["holdout"]["columns"]["x"]["rmse"].as_f64().unwrap() < 1e-6, "{done:?}");
    let picture = std::fs::read_to_string(&plot).unwrap();
    assert!(picture.contains("v over x") && picture.contains(">when<"), "{picture}");
    // Sixteen rows are fitted, in three panels each for x and v and one of both; the hole, and what is held out, have no dot.
    let held = |column: usize| (0..20).filter(|&i| column == 1 || i != 7).count();
    let dots = picture.matches("<circle").count();
    assert!(dots < 3 * (held(0) + held(1)) + 20 && dots > 90, "{dots}");
    assert_eq!(neuralc(&["fit", "-e", model, "--data", &data, "--plot", "fit.gif"]).code, 2);
}

/// The picture as a page, with an axis by powers of ten, and a tolerance that is taken.
#[test]
fn tolerances_and_pictures_as_pages() {
    let (folder, data) = file("decay.csv", &decay());
    let plot = folder.path().join("fit.pdf").to_str().unwrap().to_string();
    let done = neuralc(&["fit", "-e", MODEL, "--data", &data, "--target", "y", "--plot", &plot, "--log", "y"]);
    assert_eq!(done.code, 0, "{done:?}");
    let page = std::fs::read(&plot).unwrap();
    assert!(page.starts_with(b"%PDF-") && page.len() > 2000, "{} bytes", page.len());
    // Rows so far apart that there are steps between them.
    let rows: String = (0..6).map(|i| format!("{},{}\n", 2 * i, 3.0 * (-0.7 * f64::from(2 * i)).exp())).collect();
    let (_folder, few) = file("few.csv", &format!("t,y\n{rows}"));
    let states = "(param k 1) (state y 3) (derive y (- (* k y)))";
    let slope = |rtol: &str, atol: &str| {
        let done = neuralc(&["fit", "-e", states, "--data", &few, "--rtol", rtol, "--atol", atol, "--starts", "1", "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        done.json()["params"]["k"]["value"].as_f64().unwrap()
    };
    let (loose, tight) = (slope("1e-2", "1e-2"), slope("1e-11", "1e-13"));
    assert!((tight - 0.7).abs() < 1e-9 && (loose - 0.7).abs() > 1e-7, "{loose} {tight}");
    // A formula has nothing to solve.
    let refused = neuralc(&["fit", "-e", MODEL, "--data", &data, "--target", "y", "--rtol", "1e-9", "--json"]);
    assert_eq!((refused.code, refused.json()["diagnostics"][0]["code"].as_str()), (1, Some("no-states")), "{refused:?}");
    for (option, value, code) in [
        ("--time", "t", "no-states"),
        ("--epochs", "5", "no-nets"),
        ("--training", "first-order", "no-nets"),
        ("--effects", "laplace", "no-effects"),
    ] {
        let refused = neuralc(&["fit", "-e", MODEL, "--data", &data, "--target", "y", option, value, "--json"]);
        assert_eq!((refused.code, refused.json()["diagnostics"][0]["code"].as_str()), (1, Some(code)), "{option}: {refused:?}");
    }
}

/// Doses in a unit that nothing in the model fixes were taken as they stood: grams for milligrams.
#[test]
fn units_of_doses_are_not_dropped() {
    let (folder, data) = file("a.csv", "t,A\n0,1000\n1,600\n2,370\n3,220\n");
    let events = folder.path().join("doses.csv").to_str().unwrap().to_string();
    std::fs::write(&events, "time,amount (g)\n0,1\n").unwrap();
    let model = "(param k 1 :min 0) (state A 0) (derive A (- (* k A)))";
    let refused = neuralc(&["fit", "-e", model, "--data", &data, "--events", &events, "--json"]);
    assert_eq!((refused.code, refused.json()["diagnostics"][0]["code"].as_str()), (1, Some("unit-mismatch")), "{refused:?}");
    assert!(refused.out.contains("amount (g)"), "{refused:?}");
    // Pure numbers are in any unit there is none of.
    let with = |header: &str| {
        std::fs::write(&events, format!("time,{header}\n0.5,100\n")).unwrap();
        neuralc(&["fit", "-e", model, "--data", &data, "--events", &events, "--json"]).json()
    };
    let plain = with("amount");
    for header in ["amount [1]", "amount (1)", "amount (-)"] {
        let found = with(header);
        assert_eq!((&found["params"], &found["warnings"]), (&plain["params"], &plain["warnings"]), "{header}: {found}");
    }
}

#[test]
fn a_saved_model_keeps_when_its_start_holds() {
    let rows: String = (1..6).map(|t| format!("{t},{}\n", 10.0 * (-0.5 * f64::from(t)).exp())).collect();
    let (folder, data) = file("decay.csv", &format!("t,x\n{rows}"));
    let saved = folder.path().join("fitted.scm").to_str().unwrap().to_string();
    let model = "(param k 1 :min 0) (state x 10) (derive x (- (* k x)))";
    let done = neuralc(&["fit", "-e", model, "--data", &data, "--start-time", "0", "--save", &saved]);
    assert!(done.code == 0 && done.out.contains("starts hold at t = 0\n"), "{done:?}");
    let asked = folder.path().join("new.csv").to_str().unwrap().to_string();
    std::fs::write(&asked, "t\n3\n4\n").unwrap();
    let found: Vec<f64> = neuralc(&["predict", &saved, "--data", &asked])
        .out
        .lines()
        .skip(1)
        .map(|l| l.split(',').nth(1).unwrap().parse().unwrap())
        .collect();
    assert!((found[0] - 2.231301601).abs() < 1e-6 && (found[1] - 1.353352832).abs() < 1e-6, "{found:?}");
    // Unless something is said the first row is the start, and that is told.
    let json = neuralc(&["fit", "-e", model, "--data", &data, "--json"]).json();
    assert_eq!((json["start"]["time"].as_f64(), json["start"]["from"].as_str()), (Some(1.0), Some("first row")), "{json}");
    let warned = json["warnings"].as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("(time t :start 0)"));
    assert!(warned, "{json}");
}

/// Three doses, named by what they are: the column tells the groups apart, and its numbers are where the model starts.
fn doses() -> String {
    let mut text = String::from("dose,t,C\n");
    for dose in [100.0, 50.0, 200.0] {
        for t in [0.5, 1.0, 2.0, 4.0] {
            let _ = writeln!(text, "{dose},{t},{}", dose / 20.0 * (-0.3f64 * t).exp());
        }
    }
    text
}

#[test]
fn a_column_of_groups_that_the_model_reads_keeps_its_numbers() {
    let (_folder, data) = file("doses.csv", &doses());
    let value =
        |done: &crate::common::Done, name: &str| done.json()["params"][name]["value"].as_f64().unwrap_or_else(|| panic!("{done:?}"));
    let model = "(time t :start 0) (param V 10 :min 0) (param k 1 :min 0) (state C (/ dose V)) (derive C (* (- k) C))";
    let saved = format!("{data}.scm");
    let done = neuralc(&["fit", "-e", model, "--data", &data, "--group", "dose", "--json", "--save", &saved]);
    assert!((value(&done, "V") - 20.0).abs() < 1e-5 && (value(&done, "k") - 0.3).abs() < 1e-6, "{done:?}");
    // By the constants that differ, in starts, and in what is observed alone.
    let per = model.replace("(param k 1 :min 0)", "(param k 1 :min 0 :per dose)");
    let done = neuralc(&["fit", "-e", &per, "--data", &data, "--json"]);
    assert!((value(&done, "V") - 20.0).abs() < 1e-5 && (value(&done, "k[50]") - 0.3).abs() < 1e-5, "{done:?}");
    let seen = "(time t :start 0) (param V 10 :min 0) (param k 1 :min 0) (state a 1) (derive a (* (- k) a)) (observe C (* a (/ dose V)))";
    let done = neuralc(&["fit", "-e", seen, "--data", &data, "--group", "dose", "--json"]);
    assert!((value(&done, "V") - 20.0).abs() < 1e-5, "{done:?}");
    // A new table with other doses, and trajectories without data.
    let (_new, new) = file("new.csv", "dose,t\n50,0\n150,0\n");
    let done = neuralc(&["predict", &saved, "--data", &new]);
    let starts: Vec<f64> = done.out.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert!(starts.len() == 2 && (starts[0] - 2.5).abs() < 1e-5 && (starts[1] - 7.5).abs() < 1e-5, "{done:?}");
    let done = neuralc(&["simulate", "-e", &model.replace("V 10", "V 20"), "--times", &new, "--group", "dose", "--out", "-"]);
    assert!(done.out.contains("2.5") && done.out.contains("7.5"), "{done:?}");
    // A formula has no groups: naming one changes nothing, be it an input or the target.
    let formula = "(param a 1) (param b 1) (+ a (* b dose))";
    let plain = neuralc(&["fit", "-e", formula, "--data", &data, "--target", "C", "--json"]);
    for group in ["dose", "C"] {
        let done = neuralc(&["fit", "-e", formula, "--data", &data, "--target", "C", "--group", group, "--json"]);
        assert_eq!((value(&done, "a"), value(&done, "b")), (value(&plain, "a"), value(&plain, "b")), "{group}");
    }
}

#[test]
fn the_target_of_a_model_with_states_is_one_of_its_columns() {
    let mut text = String::from("t,x,y,other\n");
    for i in 0..10 {
        let t = 0.3 * f64::from(i);
        // What is seen of y belongs to another rate.
        let _ = writeln!(text, "{t},{},{},1", 5.0 * (-0.4 * t).exp(), 2.0 * (-0.9 * t).exp());
    }
    let model = "(param k 1) (state x 5) (state y 2) (derive x (- (* k x))) (derive y (- (* k y)))";
    let fit = |target: &str| neuralc_with(&text, &["fit", "-e", model, "--data", "-", "--target", target, "--json"]);
    for (target, rate) in [("x", 0.4), ("y", 0.9)] {
        let done = fit(target);
        assert!((done.json()["params"]["k"]["value"].as_f64().unwrap() - rate).abs() < 1e-6, "{done:?}");
        assert!(done.json()["columns"].as_object().unwrap().len() == 1 && done.out.contains("is the target"), "{done:?}");
    }
    for target in ["other", "nothing"] {
        let done = fit(target);
        assert_eq!((done.code, done.codes()), (1, vec!["no-target".to_string()]), "{done:?}");
    }
}
