//! Units on the command line: `check` shows and checks them, tables are converted by their headers.

use crate::common::{file, neuralc, neuralc_with};

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

/// Two columns of one name in two units: neither is taken quietly.
#[test]
fn one_name_in_two_units_is_refused() {
    let model = "(input T :unit K) (* 2 T)";
    let eval = |table: &str| neuralc_with(table, &["eval", "-e", model, "--data", "-", "--out", "-"]);
    let twice = eval("T [degC],T [K]\n26.85,300\n");
    assert!(twice.code == 1 && twice.err.contains("duplicate-column") && twice.err.contains("`T [K]`"), "{}", twice.err);
    // Nothing asks for these.
    assert_eq!(eval("T,x [m],x [cm]\n300,1,100\n").out, "T,x [m],x [cm],value\n300,1,100,600.0\n");
    let (_model, model) = file("line.eq", "param a = 1\ninput x (unit m)\nunit y = kg\ny = a*x\n");
    let (_data, data) = file("two.csv", "x [m],y [g],y [kg]\n1,2000,2\n2,4000,4\n3,6000,6\n");
    let fit = neuralc(&["fit", &model, "--data", &data, "--target", "y", "--json"]);
    assert_eq!((fit.code, fit.codes()), (1, vec!["duplicate-column".to_string()]), "{}", fit.out);
    let one = neuralc(&["fit", &model, "--data", &data, "--target", "y [g]", "--json"]).json();
    assert!((one["params"]["a"]["value"].as_f64().expect("a value") - 2.0).abs() < 1e-12, "{one}");
}

/// A difference of temperatures is no temperature, and a pOH no pH.
#[test]
fn other_quantities_of_one_dimension_are_refused() {
    let eval = |unit: &str, header: &str| {
        let model = format!("(input T :unit {unit}) (- T T)");
        neuralc_with(&format!("{header}\n20\n"), &["eval", "-e", &model, "--data", "-", "--out", "-"])
    };
    let refused =
        [("degC", "T [delta_degC]"), ("degF", "T [delta_degC]"), ("delta_degC", "T [degC]"), ("pH", "T [pOH]"), ("pOH", "T [pH]")];
    for (unit, header) in refused {
        let found = eval(unit, header);
        assert!(found.code == 1 && found.err.contains("unit-mismatch"), "{unit} {header}: {}", found.err);
    }
    for (unit, header) in [("delta_degF", "T [delta_degC]"), ("K", "T [delta_degC]"), ("delta_degC", "T [K]"), ("mol/L", "T [pOH]")] {
        assert_eq!(eval(unit, header).code, 0, "{unit} {header}");
    }
}

/// A unit that nothing fixes is said not to be used; one of a column named by an option is used.
#[test]
fn no_unit_is_dropped_without_a_word() {
    let quiet = neuralc_with("x [m],k\n1,2\n", &["eval", "-e", "(* k x)", "--data", "-", "--out", "-"]);
    assert!(quiet.code == 0 && quiet.err.contains("the unit of `x [m]` is not used"), "{}", quiet.err);
    let (_model, model) = file("growth.eq", "param r = 1 (unit 1/h)\ntime t (unit h)\nstate n = 2\ndn/dt = r*n\n");
    let row = |minutes: f64| format!("{minutes},{}\n", 2.0 * (0.5 * minutes / 60.0).exp());
    let table = |header: &str| format!("{header},n\n{}", [0.0, 30.0, 60.0, 90.0].map(row).concat());
    for (header, time) in [("clock [min]", "clock"), ("clock [min]", "clock [min]"), ("t/min", "t")] {
        let (_data, data) = file("growth.csv", &table(header));
        let report = neuralc(&["fit", &model, "--data", &data, "--time", time, "--json"]).json();
        assert!((report["params"]["r"]["value"].as_f64().expect("a value") - 0.5).abs() < 1e-6, "{header} {time}: {report}");
    }
    let (_data, data) = file("line.csv", "x [m],y [kg]\n1,2\n2,4\n3,6.1\n");
    let report = neuralc(&["fit", "-e", "(param a 1) (* a x)", "--data", &data, "--json"]).json();
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("the units of `x [m]`, `y [kg]` are not used"), "{report}");
}

/// What stands in brackets and is no unit is named, and the column is found; 1 is no unit. A column of texts is not what is wrong.
#[test]
fn brackets_that_hold_no_unit() {
    let model = ["fit", "-e", "(param a 0.3) (param x0 1) (state OD x0) (derive OD (* a OD))", "--json", "--data", "-"];
    let rows = |header: &str| format!("t,{header},note\n0,1.5,ok\n1,2.5,ok\n2,3.7,ok\n3,5.9,ok\n");
    let plain = neuralc_with(&rows("OD"), &model).json();
    for (header, said) in [("OD [AU]", "`AU` in the header of `OD`"), ("OD (a.u.)", "`a.u.` in the header"), ("OD [1]", ""), ("OD (1)", "")]
    {
        let found = neuralc_with(&rows(header), &model).json();
        assert_eq!(found["params"], plain["params"], "{header}");
        assert!(found["warnings"].to_string().contains(said), "{header}: {}", found["warnings"]);
        assert!(!said.is_empty() || found["warnings"] == plain["warnings"], "{header}: {}", found["warnings"]);
    }
    // An element of a vector is none; the texts of another column are not to blame.
    let refused = neuralc_with(&rows("OD[1]"), &model);
    assert!(refused.code == 1 && refused.out.contains("no-target") && !refused.out.contains("not-a-number"), "{refused:?}");
    // Two columns that could be meant are none, and a unit the program has is not guessed.
    let two = neuralc_with("t,OD [AU],OD [raw]\n0,1,1\n1,2,2\n2,4,4\n", &model);
    assert!(two.code == 1 && two.out.contains("no-target"), "{two:?}");
    let (_model, mass) = file("mass.eq", "param r = 1\nstate n = 2 (unit mg)\ndn/dt = r*n\n");
    let refused = neuralc_with("t,n [AU]\n0,1\n1,2\n2,4\n", &["fit", &mass, "--data", "-"]);
    assert!(refused.code == 1 && refused.err.contains("unknown-unit") && refused.err.contains("`AU`"), "{}", refused.err);
}

/// Likelihoods of one column in two units cannot be compared.
#[test]
fn one_column_in_two_units_is_not_compared() {
    let (_a, a) = file("metres.eq", "param a = 1\ninput x (unit s)\nunit y = m\ny = a*x\n");
    let (_b, b) = file("centimetres.eq", "param a = 1\ninput x (unit s)\nunit y = cm\ny = a*x\n");
    let (_data, data) = file("line.csv", "x,y [m]\n1,2\n2,4.1\n3,6\n");
    let found = neuralc(&["compare", &a, &b, "--data", &data, "--target", "y", "--json"]);
    assert_eq!((found.code, found.codes()), (1, vec!["not-comparable".to_string()]), "{}", found.out);
    assert_eq!(neuralc(&["compare", &a, &a, "--data", &data, "--target", "y"]).code, 0);
}

/// Columns that are for nothing may have any unit.
#[test]
fn columns_for_nothing_have_any_unit() {
    let (_model, model) = file("line.eq", "param a = 1\ninput x (unit m)\nunit y = kg\ny = a*x\n");
    let (_data, data) = file("line.csv", "x [m],y [g],room [degC],weight (lb)\n1,2000,20,1\n2,4000,21,1\n3,6000,20,1\n");
    let report = neuralc(&["fit", &model, "--data", &data, "--target", "y", "--json"]).json();
    assert!((report["params"]["a"]["value"].as_f64().expect("a value") - 2.0).abs() < 1e-12, "{report}");
    let eval = neuralc_with("x [m],a,room [degC]\n1,2,20\n", &["eval", &model, "--data", "-", "--out", "-"]);
    assert_eq!(eval.out, "x [m],a,room [degC],value\n1,2,20,2.0\n", "{}", eval.err);
}

/// What is assumed of the errors is said as the model says it, also where it declares a unit.
#[test]
fn a_report_says_the_noise_of_the_model() {
    let model = "(time t :unit h) (param k 1 :unit 1/h) (param r 0.1) (param V 1 :fixed :unit L) (state A 10 :unit mg)\n\
                 (derive A (* (- k) A)) (observe y (/ A V) :unit mg/L :noise (normal (* r (/ A V))))";
    let (_model, model) = file("noise.scm", model);
    let (_data, data) = file("noise.csv", "t,y\n0,10.1\n1,6.0\n2,3.7\n3,2.3\n4,1.3\n5,0.9\n");
    let report = neuralc(&["fit", &model, "--data", &data]);
    assert!(report.out.contains("noise of `y`: (normal (* r (/ A V)))"), "{}\n{}", report.out, report.err);
}

/// Headers as people write them: read, or refused; never read as something else.
#[test]
fn odd_headers() {
    let run = |unit: &str, header: &str| {
        let model = format!("(input c :unit {unit}) c");
        neuralc_with(&format!("{header}\n12\n"), &["eval", "-e", &model, "--data", "-", "--out", "-"])
    };
    let right = [
        ("g/L", "c (mg/L)", "0.012"),
        ("ug/mL", "c [µg·mL⁻¹]", "12.0"),
        ("ug/mL", "c [μg mL^-1]", "12.0"),
        ("1", "c [%]", "0.12"),
        ("K", "c (°C)", "285.15"),
        ("K", "c (deg C)", "285.15"),
        ("K", "c [ºC]", "285.15"),
        ("1/s", "c [1/min]", "0.2"),
        ("1/s", "c/min-1", "0.2"),
        ("1/L", "c (cells/mL)", "12000.0"),
        ("1/L", "c [CFU/mL]", "12000.0"),
        ("s", "c (hrs)", "43200.0"),
        ("mol/L", "c [mM]", "0.012"),
        ("rad", "c [°]", "0.20943951023931956"),
    ];
    for (unit, header, value) in right {
        let found = run(unit, header);
        assert_eq!(found.out.trim(), format!("{header},value\n12,{value}"), "{unit} {header}: {}", found.err);
    }
    for (unit, header) in [("K", "c (C)"), ("s", "c (m)"), ("mol/L", "c (mg/L)"), ("1/mL", "c [CFU]")] {
        let found = run(unit, header);
        assert!(found.code == 1 && found.err.contains("unit-mismatch"), "{unit} {header}: {}{}", found.out, found.err);
    }
    // Logarithms are no numbers of the unit they are logarithms of.
    let (_model, model) = file("growth.eq", "param r = 1\ninput t (unit h)\nunit N = 1/mL\nunit r = 1/(mL*h)\nN = r*t\n");
    for header in ["log10(CFU/mL)", "log CFU/mL", "ln(N)"] {
        let (_data, data) = file("growth.csv", &format!("t,\"{header}\"\n1,1\n2,2\n3,3.1\n"));
        let found = neuralc(&["fit", &model, "--data", &data, "--json"]);
        assert_eq!((found.code, found.codes()), (1, vec!["unit-mismatch".to_string()]), "{header}: {}", found.out);
    }
}

/// Standard deviations in another unit than the model's: those of states and observables are converted like those of formulas.
#[test]
fn deviations_are_in_the_unit_of_what_is_observed() {
    let formula = "(input t :unit h) (param k 0.3 :min 0 :unit 1/h) (param A0 0.1 :unit g) (* A0 (exp (- (* k t))))";
    let law = "(time t :start 0 :unit h) (param k 0.3 :min 0 :unit 1/h) (param A0 0.1 :unit g) (state A A0 :unit g) (derive A (* (- k) A))";
    let observed = law.replace("(state A A0", "(state B A0").replace("derive A", "derive B").replace("k) A)", "k) B)");
    let observed = format!("{observed} (observe A B :unit g)");
    let rows = "60,70,2\n120,55,2\n240,30,2\n360,17,2\n";
    let (_data, data) = file("v.csv", &format!("t [min],A [mg],s [mg]\n{rows}"));
    let (_odd, odd) = file("odd.csv", &format!("t [min],A [mg],s [m]\n{rows}"));
    for model in [formula, law, &observed] {
        let report = neuralc(&["fit", "-e", model, "--data", &data, "--sigma", "s", "--target", "A", "--json"]);
        let report = report.json();
        // SciPy's curve_fit with absolute_sigma, in hours and grams.
        let near = |x: &serde_json::Value, y: f64| (x.as_f64().expect("a number") - y).abs() < 1e-3 * y;
        assert!(near(&report["params"]["k"]["value"], 0.280_775_7), "{model}: {report}");
        assert!(near(&report["params"]["k"]["stderr"], 0.017_43), "{model}: {report}");
        assert!(near(&report["loglik"], 20.7598), "{model}: {report}");
        let wrong = neuralc(&["fit", "-e", model, "--data", &odd, "--sigma", "s", "--target", "A", "--json"]);
        assert_eq!((wrong.code, wrong.codes()), (1, vec!["unit-mismatch".to_string()]), "{model}: {}", wrong.out);
    }
    // One unit cannot be that of two quantities.
    let two = format!("{observed} (param V 2 :fixed :unit L) (observe c (/ B V) :unit g/L)");
    let (_both, both) = file("both.csv", "t [min],A [mg],c [mg/L],s [mg]\n60,70,35,2\n120,55,27,2\n240,30,15,2\n360,17,8,2\n");
    let wrong = neuralc(&["fit", "-e", &two, "--data", &both, "--sigma", "s", "--json"]);
    assert_eq!((wrong.code, wrong.codes()), (1, vec!["unit-mismatch".to_string()]), "{}", wrong.out);
}

/// A scale of noise is a difference: half a degree Celsius of scatter is half a kelvin.
#[test]
fn scales_of_noise_have_no_origin() {
    let model = "(input t :unit min) (param k 0.1 :min 0 :unit 1/min) (param D 50 :unit K) (param Te 20 :unit degC) \
                 (observe T (+ Te (* D (exp (- (* k t))))) :unit degC :noise (normal s))";
    let rows = "0,80.2,0.5\n5,60.1,0.5\n10,47.5,0.5\n15,38.9,0.5\n20,33.2,0.5\n30,26.5,.5\n";
    let (_data, data) = file("w.csv", &format!("t [min],T [degC],s [degC]\n{rows}"));
    let alias = format!("(define scatter s) {}", model.replace("(normal s)", "(normal scatter)"));
    let declared = format!("(input s :unit K) {model}");
    for model in [model, &alias, &declared] {
        let report = neuralc(&["fit", "-e", model, "--data", &data, "--json"]).json();
        // The maximum of the likelihood and its observed information, with mpmath.
        let near = |x: &serde_json::Value, y: f64| (x.as_f64().expect("a number") - y).abs() < 1e-5 * y.abs();
        assert!(near(&report["params"]["k"]["stderr"], 0.003_099_545), "{report}");
        assert!(near(&report["params"]["Te"]["stderr"], 0.901_653_5), "{report}");
        assert!(near(&report["loglik"], -1.803_329_25), "{report}");
    }
    // What is only a part of a scale, and an input of which nothing is declared, may be either.
    let shifted = model.replace("(+ Te ", "(+ Te s ").replace("(normal s)", "(normal w)");
    for model in [model.replace("(normal s)", "(normal (* 2 s))"), format!("(param w 1 :min 0 :unit K) {shifted}")] {
        let wrong = neuralc(&["fit", "-e", &model, "--data", &data, "--json"]);
        assert_eq!((wrong.code, wrong.codes()), (1, vec!["unit-mismatch".to_string()]), "{model}: {}", wrong.out);
        let (_kelvin, kelvin) = file("k.csv", &format!("t [min],T [degC],s [K]\n{rows}"));
        assert_eq!(neuralc(&["fit", "-e", &model, "--data", &kelvin, "--json"]).code, 0, "{model}");
    }
}

/// A number given for the standard deviation is in the unit of the model, whatever the unit of the column.
#[test]
fn a_number_for_the_deviation_is_in_the_unit_of_the_model() {
    let law = "(time t :start 0 :unit h) (param k 0.3 :min 0 :unit 1/h) (param A0 0.1 :unit g) (state A A0 :unit g) (derive A (* (- k) A))";
    let formula = "(input t :unit h) (param k 0.3 :min 0 :unit 1/h) (param A0 0.1 :unit g) (* A0 (exp (- (* k t))))";
    let (_data, data) = file("v.csv", "t [min],A [mg]\n60,70\n120,55\n240,30\n360,17\n");
    for model in [law, formula] {
        let report = neuralc(&["fit", "-e", model, "--data", &data, "--sigma", "0.002", "--json"]).json();
        let error = report["params"]["k"]["stderr"].as_f64().expect("a number");
        assert!((error - 0.017_43).abs() < 1e-5, "{model}: {report}");
    }
}

/// The usual name of the times is theirs with a unit too, where nothing in the model has one.
#[test]
fn times_with_a_unit_are_times() {
    let (_folder, data) = file("data.csv", "t (min),x\n0,10\n1,6.1\n2,3.7\n3,2.2\n");
    let done = neuralc(&["fit", "-e", "(param k 1) (state x 10) (derive x (- (* k x)))", "--data", &data]);
    assert!(done.code == 0 && done.out.contains("k          0.49") && done.out.contains("the unit of `t (min)` is not used"), "{done:?}");
}
