//! `neuralc simulate`: the shape of its tables, sweeps, pictures and mistakes.

use crate::common::{file, neuralc};

const DECAY: &str = "(time t :start 1) (param k 1) (state x 2) (derive x (* (- k) x)) (observe double (* 2 x))";

#[test]
fn a_table_has_the_time_every_state_and_every_observable() {
    let done = neuralc(&["simulate", "-e", DECAY, "k=0", "--until", "3", "--points", "3"]);
    assert_eq!((done.code, done.out.as_str()), (0, "t,x,double\n1.0,2.0,4.0\n2.0,2.0,4.0\n3.0,2.0,4.0\n"), "{done:?}");
}

#[test]
fn sweeps_are_every_combination_and_drawn() {
    let (folder, out) = file("out.csv", "");
    let plot = folder.path().join("paths.svg");
    let plot = plot.to_str().expect("UTF-8");
    let sweeps = ["--sweep", "k=0:1:2", "--sweep", "x=1,3,5", "--until", "2", "--points", "2"];
    let done = neuralc(&[&["simulate", "-e", DECAY, "--out", &out, "--plot", plot, "--json"], &sweeps[..]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let told = done.json();
    assert_eq!((told["rows"].as_u64(), told["sets"].as_u64()), (Some(12), Some(6)));
    let table = std::fs::read_to_string(&out).expect("a table");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[0], lines[1], lines[3]), ("k,x.start,t,x,double", "0.0,1.0,1.0,1.0,2.0", "0.0,3.0,1.0,3.0,6.0"));
    let last: Vec<f64> = lines[12].split(',').map(|c| c.parse().expect("a number")).collect();
    assert!(last[..3] == [1.0, 5.0, 2.0] && (last[3] - 5.0 * (-1.0f64).exp()).abs() < 1e-6, "{last:?}");
    let drawn = std::fs::read_to_string(plot).expect("a picture");
    assert!(drawn.starts_with("<svg") && drawn.contains("double"));
}

#[test]
fn times_and_inputs_come_from_a_table() {
    let (_folder, times) = file("times.csv", "t,u\n0,1\n2,1\n");
    let done = neuralc(&["simulate", "-e", "(state x 0) (derive x u)", "--times", &times]);
    assert_eq!(done.code, 0, "{done:?}");
    let end: f64 = done.out.lines().last().and_then(|l| l.split(',').nth(1)).expect("x").parse().expect("a number");
    assert!((end - 2.0).abs() < 1e-9, "{done:?}");
}

#[test]
fn mistakes_are_told() {
    for (args, code) in [
        (&["k=1"][..], 2),
        (&["--until", "1"], 2),
        (&["--until", "2", "--sweep", "k=0:1"], 2),
        (&["--until", "2", "--sweep", "k=0:1:1"], 2),
        (&["--until", "2", "--sweep", "k=a,b"], 2),
        (&["--until", "2", "q=1"], 1),
        (&["--until", "2", "k=x"], 1),
    ] {
        let done = neuralc(&[&["simulate", "-e", DECAY], args].concat());
        assert_eq!(done.code, code, "{args:?}: {done:?}");
    }
    let done = neuralc(&["simulate", "-e", "(* 2 x)", "--until", "2"]);
    assert!(done.code == 1 && done.err.contains("no-states"), "{done:?}");
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let (folder, model) = file("model.scm", DECAY);
    let times = folder.path().join("times.csv");
    std::fs::write(&times, "t\n1\n2\n").expect("a table");
    let times = times.to_str().expect("UTF-8");
    for args in [
        &[&model[..], "--until", "2", "--plot", &model][..],
        &[&model, "--until", "2", "--plot", "picture.xyz"],
        &[&model, "--times", times, "--out", times],
        &[&model, "--until", "2", "--points", "18446744073709551615"],
        &[&model, "--until", "2", "--points", "1000000000000"],
    ] {
        let done = neuralc(&[&["simulate"], args].concat());
        assert_eq!(done.code, 2, "{args:?}: {done:?}");
    }
    assert_eq!(std::fs::read_to_string(&model).expect("the model"), DECAY);
}

#[test]
fn a_long_table_is_no_hard_problem() {
    let (folder, model) = file("model.scm", DECAY);
    let out = folder.path().join("out.csv");
    let out = out.to_str().expect("UTF-8");
    for more in [&[][..], &["--method", "rk4", "--step", "1"], &["--sweep", "k=1:2:3"]] {
        let done = neuralc(&[&["simulate", &model, "--until", "2", "--points", "120001", "--out", out], more].concat());
        assert_eq!(done.code, 0, "{done:?}");
        let rows = std::fs::read_to_string(out).expect("a table").lines().count();
        assert_eq!(rows, if more.first() == Some(&"--sweep") { 360_004 } else { 120_002 });
    }
}

#[test]
fn the_time_is_no_parameter_and_maps_take_no_doses() {
    let done = neuralc(&["simulate", "-e", "(param t 3) (state x 1) (derive x (* t x))", "--until", "1", "--json", "--out", "never.csv"]);
    assert_eq!((done.code, done.codes()), (1, vec!["duplicate-name".to_string()]), "{done:?}");
    let (_folder, doses) = file("doses.csv", "time,amount,target\n1.5,5,x\n");
    let map = ["simulate", "-e", "(time t :start 0) (state x 1) (next x (* 2 x))", "--until", "3", "--events", &doses];
    assert_eq!(neuralc(&[&map[..], &["--json", "--out", "never.csv"]].concat()).codes(), ["bad-events"]);
}

#[test]
fn a_model_that_was_fitted_with_doses_asks_for_them_again() {
    let (folder, model) = file("model.scm", "(time t :start 0) (param k 1) (state x 0) (derive x (* (- k) x))");
    let place = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_string()
    };
    let data = place("data.csv", "t,x\n0,0\n1,0\n2,3.6\n3,1.4\n");
    let (doses, saved) = (place("doses.csv", "time,amount\n1,10\n"), place("saved.scm", ""));
    let done = neuralc(&["fit", &model, "--data", &data, "--events", &doses, "--save", &saved]);
    assert_eq!(done.code, 0, "{done:?}");
    let without = neuralc(&["predict", &saved, "--data", &data, "--json", "--out", "never.csv"]);
    assert_eq!((without.code, without.codes()), (1, vec!["missing-events".to_string()]), "{without:?}");
    assert_eq!(neuralc(&["simulate", &saved, "--until", "2", "--json", "--out", "never.csv"]).codes(), ["missing-events"]);
    let with = neuralc(&["predict", &saved, "--data", &data, "--events", &doses]);
    assert!(with.code == 0 && with.out.lines().nth(3).is_some_and(|l| l.starts_with("2,3.6,3.64")), "{with:?}");
    // A schedule without an end is fitted and predicted like any other.
    let resets = place("resets.scm", "(time t :start 0) (param k 1) (state x 1) (derive x (* k x)) (event (at (every 1)) (set x 1))");
    let data = place("resets.csv", "t,x\n0,1\n0.5,1.64872\n1,2.71828\n1.5,1.64872\n2,2.71828\n");
    let done = neuralc(&["fit", &resets, "--data", &data, "--json"]);
    assert!((done.json()["params"]["k"]["value"].as_f64().unwrap_or(0.0) - 1.0).abs() < 1e-4, "{done:?}");
}

/// A file of the examples.
fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Checks fitted constants against what the data were made with: within four standard errors.
fn fitted(args: &[&str], truth: &[(&str, f64)]) {
    let done = neuralc(&[&["fit", "--json"], args].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let report = done.json();
    for (name, value) in truth {
        let p = &report["params"][*name];
        let (found, error) = (p["value"].as_f64().expect("a number"), p["stderr"].as_f64().expect("an error bar"));
        assert!((found - value).abs() < 4.0 * error && error < 0.05 * value, "{name}: {found} ± {error}, not {value}");
    }
}

/// Doses at dates are counted as the dates of the data are: two rows a day apart, and half the dose twelve hours behind the first.
#[test]
fn doses_may_be_dates() {
    let model = "(time when :unit h) (param k 0.1 :min 0 :unit 1/h) (state A 0 :unit mg) (derive A (* (- k) A))";
    let (k, at) = (0.07f64, |h: f64| 100.0 * (-0.07 * h).exp() + if h > 12.0 { 50.0 * (-0.07 * (h - 12.0)).exp() } else { 0.0 });
    let rows: String =
        [0, 6, 11, 18, 30].map(|h| format!("2024-05-{:02} {:02}:00,{}\n", 1 + (8 + h) / 24, (8 + h) % 24, at(f64::from(h)))).concat();
    // What holds before the dose at the start is observed there.
    let rows = rows.replacen(",100", ",0", 1);
    let (_data, data) = file("dated.csv", &format!("when,A\n{rows}"));
    let (_doses, doses) = file("edd.csv", "time,amount,rate,target\n2024-05-01 08:00,100,,A\n2024-05-01T20:00,50,,A\n");
    let done = neuralc(&["fit", "-e", model, "--data", &data, "--events", &doses, "--json"]);
    let found = done.json()["params"]["k"]["value"].as_f64().unwrap_or_else(|| panic!("{done:?}"));
    assert!((found - k).abs() < 1e-6, "{done:?}");
    // Dates beside numbers, with and without a zone, and one that is none: the file of the events is named.
    let (_plain, plain) = file("plain.csv", "when,A\n0,0\n6,60\n");
    let (_zoned, zoned) = file("zoned.csv", "time,amount\n2024-05-01T08:00:00Z,100\n");
    let (_odd, odd) = file("odd.csv", "time,amount\n2024-05-01 08:00,100\n2024-05-32,100\n");
    for (data, doses, code) in [(&plain, &doses, "bad-events"), (&data, &zoned, "mixed-zones"), (&data, &odd, "not-a-number")] {
        let wrong = neuralc(&["fit", "-e", model, "--data", data, "--events", doses]);
        assert!(wrong.code == 1 && wrong.err.contains(code) && wrong.err.contains(doses.as_str()), "{code}: {}", wrong.err);
    }
}

#[test]
fn the_examples_with_events_give_back_what_they_were_made_with() {
    // examples/events.py has the constants.
    let (ball, heights) = (example("bouncing-ball.scm"), example("bouncing-ball.csv"));
    fitted(&[&ball, "--data", &heights], &[("g", 9.81), ("e", 0.83), ("h0", 1.5)]);
    let (drug, blood, given) = (example("repeated-doses.scm"), example("repeated-doses.csv"), example("repeated-doses-given.csv"));
    fitted(&[&drug, "--data", &blood, "--group", "patient", "--events", &given], &[("ka", 1.1), ("CL", 3.2), ("V", 28.0)]);
}

#[test]
fn doses_of_a_table_are_given_and_mistakes_in_it_told() {
    let (_folder, doses) = file("doses.csv", "time,amount,rate,target\n1,5,,x\n2,4,2,x\n");
    let model = "(state x 0) (state y 1) (derive x 0) (derive y 0)";
    let done = neuralc(&["simulate", "-e", model, "--until", "5", "--points", "6", "--events", &doses]);
    let x: Vec<f64> = done.out.lines().skip(1).map(|l| l.split(',').nth(1).expect("x").parse().expect("a number")).collect();
    assert_eq!((done.code, x), (0, vec![0.0, 0.0, 5.0, 7.0, 9.0, 9.0]), "{done:?}");
    for table in ["time,amount\n1,5\n", "time,amount,target\n1,5,z\n", "time,target\n1,x\n", "time,amount,target,color\n1,5,x,red\n"] {
        let (_folder, doses) = file("doses.csv", table);
        let done = neuralc(&["simulate", "-e", model, "--until", "5", "--events", &doses]);
        assert!(done.code == 1 && done.err.contains("bad-events"), "{table}: {done:?}");
    }
}

#[test]
fn groups_have_a_column_and_names_are_not_told_twice() {
    let model = "(param CL 1 :per who) (state A 0) (derive A (* 0 CL A))";
    let (folder, times) = file("times.csv", "who,t\nann,0\nann,2\nbob,0\nbob,2\n");
    let events = folder.path().join("doses.csv");
    std::fs::write(&events, "who,time,amount\nann,1,5\nbob,1,7\n").expect("doses");
    let events = events.to_str().expect("UTF-8");
    let expected = "who,t,A\nann,0.0,0.0\nann,2.0,5.0\nbob,0.0,0.0\nbob,2.0,7.0\n";
    // The column by which a constant differs tells groups apart, and so does --group.
    for args in [&[model][..], &["(state A 0) (derive A 0)", "--group", "who"]] {
        let done = neuralc(&[&["simulate", "-e"], args, &["--times", &times, "--events", events]].concat());
        assert_eq!((done.code, done.out.as_str()), (0, expected), "{done:?}");
    }
    let swept = neuralc(&["simulate", "-e", "(state A 0) (derive A 0)", "--group", "who", "--times", &times, "--sweep", "A=1,2"]);
    assert_eq!(swept.out.lines().nth(8), Some("bob,2.0,2.0,2.0"), "{swept:?}");
    // What stands for nobody's group is a mistake.
    std::fs::write(events, "who,time,amount\neve,1,5\n").expect("doses");
    let done = neuralc(&["simulate", "-e", model, "--times", &times, "--events", events]);
    assert!(done.code == 1 && done.err.contains("no group `eve`"), "{done:?}");
    let done = neuralc(&["simulate", "-e", "(state x 1) (derive x 0) (observe x.start 3)", "--until", "1", "--sweep", "x=1,2"]);
    assert!(done.code == 1 && done.err.contains("duplicate-column") && done.err.contains("x.start"), "{done:?}");
}

#[test]
fn doses_have_units() {
    let model = "(time t :start 0 :unit h) (state A 0 :unit mg) (derive A 0)";
    let (_folder, events) = file("doses.csv", "time (min),amount [g],rate (g/d)\n60,0.1,\n120,1,24\n");
    let done = neuralc(&["simulate", "-e", model, "--until", "2.5", "--points", "6", "--events", &events]);
    // 100 mg at 1 h, from 2 h on 1000 mg in an hour.
    let last: f64 = done.out.lines().last().and_then(|l| l.split(',').nth(1)).and_then(|x| x.parse().ok()).unwrap_or(f64::NAN);
    assert!(done.code == 0 && (last - 600.0).abs() < 1e-6, "{done:?}");
    let (_folder, events) = file("doses.csv", "time (kg),amount (mg)\n60,0.1\n");
    let done = neuralc(&["simulate", "-e", model, "--until", "2.5", "--events", &events]);
    assert!(done.code == 1 && done.err.contains("unit-mismatch"), "{done:?}");
}

/// Backwards too, the start holds at 0 where nothing else is said.
#[test]
fn backwards_from_the_start() {
    let done = neuralc(&["simulate", "-e", "(param k 1) (state x 1) (derive x (- (* k x)))", "--until", "-2", "--points", "3"]);
    let x: Vec<(f64, f64)> = done
        .out
        .lines()
        .skip(1)
        .map(|l| l.split_once(',').expect("two cells"))
        .map(|(t, x)| (t.parse().expect("a time"), x.parse().expect("a number")))
        .collect();
    assert_eq!(x.len(), 3, "{done:?}");
    assert!(x.iter().all(|(t, x)| (x / (-t).exp() - 1.0).abs() < 1e-5), "{done:?}");
}
