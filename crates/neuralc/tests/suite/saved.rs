//! What a saved model keeps of its fit, and that its two files stay together.

use crate::common::{Done, file, neuralc};
use std::fmt::Write;
use std::path::Path;

/// A table, a model and the place to save it, in one folder.
struct Case {
    folder: tempfile::TempDir,
    data: String,
}

impl Case {
    fn new(table: &str) -> Case {
        let (folder, data) = file("data.csv", table);
        Case { folder, data }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("UTF-8").to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("a file");
        self.path(name)
    }

    fn fit(&self, model: &str, options: &[&str]) -> String {
        let saved = self.path("saved.scm");
        let done = neuralc(&[&["fit", "-e", model, "--data", &self.data, "--save", &saved], options].concat());
        assert_eq!(done.code, 0, "{done:?}");
        saved
    }
}

/// The numbers of a column of a CSV.
fn column(done: &Done, name: &str) -> Vec<f64> {
    let mut lines = done.out.lines();
    let at = lines.next().and_then(|h| h.split(',').position(|c| c == name)).unwrap_or_else(|| panic!("{name}: {done:?}"));
    lines.map(|l| l.split(',').nth(at).expect("a cell").parse().expect("a number")).collect()
}

fn close(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6 * b.abs().max(1.0))
}

fn code(args: &[&str], folder: &Path) -> String {
    let out = folder.join("predicted.csv");
    let done = neuralc(&[args, &["--json", "--out", out.to_str().expect("UTF-8")]].concat());
    assert_eq!(done.code, 1, "{done:?}");
    done.codes().concat()
}

#[test]
fn a_map_keeps_its_step() {
    // Two steps of the logistic map with r = 0.6 from one row to the next.
    let (mut x, mut table, mut truth) = (0.1f64, String::from("t,x\n"), vec![]);
    for t in 0..8 {
        let _ = writeln!(table, "{t},{x}");
        truth.push(x);
        (0..2).for_each(|_| x += 0.6 * x * (1.0 - x));
    }
    let case = Case::new(&table);
    let model = "(param r 0.5) (state x 0.1) (next x (+ x (* r x (- 1 x))))";
    let saved = case.fit(model, &["--step", "0.5"]);
    let text = std::fs::read_to_string(&saved).expect("a model");
    assert!(text.contains("(time t :start 0 :step 0.5)"), "{text}");
    assert!(close(&column(&neuralc(&["predict", &saved, "--data", &case.data]), "x.predicted"), &truth));
    for step in ["0", "-1", "nan", "inf"] {
        assert_eq!(code(&["predict", &saved, "--data", &case.data, &format!("--step={step}")], case.folder.path()), "bad-step", "{step}");
    }
    // The text is the model: whoever edits it means it. With steps of 1 there is one from row to row.
    case.write("saved.scm", &text.replace(":step 0.5", ":step 1"));
    assert!((column(&neuralc(&["predict", &saved, "--data", &case.data]), "x.predicted")[1] - 0.154).abs() < 1e-6);
    // A step of the model that the fit does not change is written as it was.
    let text = std::fs::read_to_string(case.fit(&format!("(time t :step 5e-1) {model}"), &[])).expect("a model");
    assert!(text.contains("(time t :start 0 :step 5e-1)"), "{text}");
}

/// Two decays, one of which begins later.
fn groups() -> (String, Vec<f64>) {
    let (mut table, mut truth) = (String::from("t,x,g\n"), vec![]);
    for (name, first) in [("b", 0.0), ("a", 1.0)] {
        for i in 0..10 {
            let since = 0.1 * f64::from(i);
            truth.push(5.0 * (-0.8 * since).exp());
            let _ = writeln!(table, "{},{},{name}", first + since, truth.last().expect("one"));
        }
    }
    (table, truth)
}

const DECAY: &str = "(param k 1 :min 0) (state x 5) (derive x (* (- k) x))";

#[test]
fn a_saved_model_tells_trajectories_apart_as_its_fit_did() {
    let (table, truth) = groups();
    let case = Case::new(&table);
    let saved = case.fit(DECAY, &["--group", "g"]);
    assert!(close(&column(&neuralc(&["predict", &saved, "--data", &case.data]), "x.predicted"), &truth));
    // Another name for the column, and none at all.
    let renamed = case.write("renamed.csv", &table.replace(",g\n", ",run\n"));
    assert_eq!(code(&["predict", &saved, "--data", &renamed], case.folder.path()), "missing-column");
    assert!(close(&column(&neuralc(&["predict", &saved, "--data", &renamed, "--group", "run"]), "x.predicted"), &truth));
    let one = case.write("one.csv", "t\n0\n1\n");
    assert!(close(&column(&neuralc(&["predict", &saved, "--data", &one, "--group", ""]), "x.predicted"), &[5.0, 5.0 * (-0.8f64).exp()]));
    // Later fits of the saved model say anew how theirs was.
    let again = neuralc(&["fit", &saved, "--data", &one.replace("one.csv", "two.csv"), "--save", &saved]);
    assert_eq!(again.code, 1);
    case.write("two.csv", "t,x\n0,5\n1,2.5\n2,1.25\n");
    assert_eq!(neuralc(&["fit", &saved, "--data", &case.path("two.csv"), "--save", &saved]).code, 0);
    assert!(close(&column(&neuralc(&["predict", &saved, "--data", &one]), "x.predicted"), &[5.0, 2.5]));
}

/// Groups that begin at different times begin there again, wherever the rows of a new table begin.
#[test]
fn a_prediction_does_not_start_a_group_anew() {
    let case = Case::new(&groups().0);
    let saved = case.fit(DECAY, &["--group", "g"]);
    let later = case.write("later.csv", "t,g\n1.5,a\n0.5,b\n1.9,a\n2,c\n3,c\n0.5,a\n");
    let since = [0.5, 0.5, 0.9, 0.0, 1.0, -0.5].map(|t: f64| 5.0 * (-0.8 * t).exp());
    let asked = ["predict", &saved, "--data", &later];
    assert!(close(&column(&neuralc(&asked), "x.predicted"), &since));
    // Said anew, it is one time for all.
    let zero = neuralc(&[&asked[..], &["--start-time", "0"]].concat());
    assert!(close(&column(&zero, "x.predicted"), &[1.5, 0.5, 1.9, 2.0, 3.0, 0.5].map(|t: f64| 5.0 * (-0.8 * t).exp())));
    let text = std::fs::read_to_string(&saved).expect("a model");
    let spoilt = case.write("spoilt.scm", &text.replace("\"groups\":{", "\"groups\":{\"z\":\"x\","));
    assert_eq!(code(&["predict", &spoilt, "--data", &later], case.folder.path()), "bad-record");
}

#[test]
fn columns_of_times_and_ways_to_solve_are_remembered() {
    // One step of RK4 over h takes x to x (1 - h + h²/2 - h³/6 + h⁴/24) with k = 1: a step of 2 to a third, far from exp(-2).
    let step = 1.0 - 2.0 + 2.0 - 8.0 / 6.0 + 16.0 / 24.0;
    let case = Case::new(&format!("h after,x\n0,5\n2,{}\n4,{}\n", 5.0 * step, 5.0 * step * step));
    let saved = case.fit("(param k 0.9 :min 0.5 :max 1.2) (state x x) (derive x (* (- k) x))", &["--time", "h after", "--method", "rk4"]);
    let asked = ["predict", &saved, "--data", &case.data];
    assert!(close(&column(&neuralc(&asked), "x.predicted"), &[5.0, 5.0 * step, 5.0 * step * step]));
    let exact = neuralc(&[&asked[..], &["--method", "auto"]].concat());
    assert!(close(&column(&exact, "x.predicted")[1..2], &[5.0 * (-2.0f64).exp()]), "{exact:?}");
}

#[test]
fn a_record_that_cannot_be_read_is_named() {
    let case = Case::new(&groups().0);
    let saved = case.fit(DECAY, &["--group", "g"]);
    let text = std::fs::read_to_string(&saved).expect("a model");
    for (from, to) in [("; fit: {", "; fit: <"), ("\"group\":\"g\"", "\"group\":7"), ("\"options\":{", "\"options\":3,\"x\":{")] {
        assert!(text.contains(from));
        case.write("saved.scm", &text.replace(from, to));
        assert_eq!(code(&["predict", &saved, "--data", &case.data], case.folder.path()), "bad-record", "{to}");
    }
}

const NET: &str = "(param a 1) (net bend (t) 2 1) (+ a (bend t))";

#[test]
fn a_failed_save_leaves_model_and_weights_as_they_were() {
    let case = Case::new("t,y\n0,1\n1,1.5\n2,1.7\n3,1.8\n4,1.8\n");
    let saved = case.fit(NET, &["--target", "y"]);
    let weights = case.path("saved.safetensors");
    let old = (std::fs::read(&saved).expect("a model"), std::fs::read(&weights).expect("weights"));
    let count = || std::fs::read_dir(case.folder.path()).expect("a folder").count();
    let before = count();
    let fit = |save: &str| neuralc(&["fit", "-e", NET, "--data", &case.data, "--target", "y", "--seed", "7", "--save", save]);
    // The model cannot be written: its weights stay.
    let mut permissions = std::fs::metadata(&saved).expect("a model").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&saved, permissions.clone()).expect("permissions");
    let done = fit(&saved);
    assert!(done.code == 1 && done.err.contains("cannot-write") && done.err.contains("saved.scm"), "{done:?}");
    assert_eq!((std::fs::read(&weights).expect("weights"), count()), (old.1.clone(), before));
    #[allow(clippy::permissions_set_readonly_false, reason = "the folder of the test alone")]
    permissions.set_readonly(false);
    std::fs::set_permissions(&saved, permissions).expect("permissions");
    // The weights cannot be written: the model stays.
    std::fs::remove_file(&weights).expect("weights");
    std::fs::create_dir(&weights).expect("a folder");
    assert_eq!(fit(&saved).code, 1);
    assert_eq!((std::fs::read(&saved).expect("a model"), count()), (old.0, before));
    // Weights need a file.
    for nowhere in ["-", "/dev/null"] {
        let done = fit(nowhere);
        assert!(done.code == 2 && done.err.contains("weights"), "{done:?}");
    }
}

#[test]
fn weights_of_another_fit_are_refused() {
    let case = Case::new("t,y\n0,1\n1,1.5\n2,1.7\n3,1.8\n4,1.8\n");
    let saved = case.fit(NET, &["--target", "y"]);
    assert_eq!(neuralc(&["predict", &saved, "--data", &case.data]).code, 0);
    let old = std::fs::read_to_string(&saved).expect("a model");
    case.fit(NET, &["--target", "y", "--weight-decay", "3", "--seed", "5"]);
    case.write("saved.scm", &old);
    assert_eq!(code(&["predict", &saved, "--data", &case.data], case.folder.path()), "other-weights");
}

/// The mean over groups, which the text declares, is nobody's value.
#[test]
fn constants_of_groups_are_not_averaged() {
    let case = Case::new("g,x,y\n1,1,2\n1,2,4.1\n1,3,6\n2,1,5\n2,2,10.1\n2,3,15\n");
    let saved = case.fit("(param k 1 :per g) (* k x)", &["--target", "y"]);
    let out = case.path("out.csv");
    for args in [&["run", &saved, "x=1"][..], &["eval", &saved, "--data", &case.data, "--out", &out], &["export", &saved, "--to", "python"]]
    {
        let done = neuralc(args);
        assert!(done.code == 1 && done.err.contains("values-by-group") && done.err.contains("`k`"), "{args:?} {done:?}");
    }
    assert!(!Path::new(&out).exists());
    let given = neuralc(&["run", &saved, "x=1", "k=7"]);
    assert_eq!((given.code, given.out.trim()), (0, "7"), "{given:?}");
    assert_eq!(neuralc(&["export", &saved, "--to", "python", "--set", "k=7"]).code, 0);
    assert_eq!(neuralc(&["export", &saved, "--to", "python", "--params", "inputs"]).code, 0);
    let done = neuralc(&["predict", &saved, "--data", &case.data]);
    let predicted = column(&done, "prediction");
    assert!((predicted[0] - 2.0).abs() < 0.1 && (predicted[3] - 5.0).abs() < 0.1, "{done:?}");
}

/// What is typical of a random effect is the mean of its distribution, not that of the subjects there were.
#[test]
fn a_saved_effect_is_typical() {
    let mut table = String::from("g,x,y\n");
    for (g, a) in [(1, 2.0), (2, 3.0), (3, 2.4), (4, 2.2), (5, 3.3)] {
        for x in 0..5 {
            let noise = 0.05 * f64::from((x * 7 + g * 3) % 5 - 2);
            writeln!(table, "{g},{x},{}", a + f64::from(x) + noise).expect("a row");
        }
    }
    let case = Case::new(&table);
    let model = "(param a 2) (param omega 0.5 :min 0) (param eta 0 :per g :effect (normal 0 omega)) (+ a eta x)";
    let saved = case.fit(model, &["--target", "y"]);
    let text = std::fs::read_to_string(&saved).expect("the saved model");
    assert!(text.contains("(param eta 0"), "{text}");
    assert_eq!(neuralc(&["run", &saved, "x=1"]).code, 0);
}

/// How sure a prediction is counts from where its group began, as the prediction does.
#[test]
fn bands_do_not_start_a_group_anew() {
    let case = Case::new("g,t,x\np,0,10.1\np,1,6.6\np,2,4.6\np,3,2.9\nq,2,9.9\nq,3,6.8\nq,4,4.4\nq,5,3.1\n");
    let saved = case.fit("(param k 0.3) (param x0 8) (state x x0) (derive x (- (* k x)))", &["--group", "g"]);
    let whole = case.write("whole.csv", "g,t\np,0\np,3\nq,2\nq,5\nq,3\n");
    let later = case.write("later.csv", "g,t\np,3\nq,5\nq,3\n");
    let of = |path: &str, name: &str| column(&neuralc(&["predict", &saved, "--data", path, "--bands"]), name);
    for name in ["x.predicted", "x.stderr", "x.ci95.low", "x.pi95.high"] {
        let all = of(&whole, name);
        assert!(close(&of(&later, name), &[all[1], all[3], all[4]]), "{name}");
    }
}

/// Names of groups are what is written, whatever else is in a table.
#[test]
fn names_of_groups_do_not_depend_on_the_table() {
    let case = Case::new("g,x,y\n01,1,1.1\n01,2,2.1\n1,1,11.1\n1,2,12\nb,1,6\nb,2,7.1\n");
    let saved = case.fit("(param a 0 :per g) (+ a x)", &["--target", "y"]);
    let asked = case.write("asked.csv", "g,x\n01,0\n1.0,0\n");
    let found = column(&neuralc(&["predict", &saved, "--data", &asked]), "prediction");
    assert!((found[0] - 0.1).abs() < 0.1 && (found[1] - 10.05).abs() < 0.1, "{found:?}");
    let plots = Case::new("g,x,y\n1.1,1,1\n1.1,2,2\n1.10,1,11\n1.10,2,12\n9007199254740992,1,21\n9007199254740993,1,31\n");
    let fitted = neuralc(&["fit", "-e", "(param a 0 :per g) (+ a x)", "--data", &plots.data, "--target", "y", "--json"]);
    for name in ["a[1.1]", "a[1.10]", "a[9007199254740992]", "a[9007199254740993]"] {
        assert!(fitted.out.contains(&format!("\"{name}\"")), "{name}: {fitted:?}");
    }
    let doses = case.write("doses.csv", "time,amount,target,g\n0,100,x,01\n0,5,x,1\n");
    let times = case.write("times.csv", "g,t\n01,0\n01,1\n1,0\n1,1\nb,0\nb,1\n");
    let decay = "(param k 1) (state x 0) (derive x (- (* k x)))";
    let done = neuralc(&["simulate", "-e", decay, "--times", &times, "--group", "g", "--events", &doses]);
    let x = column(&done, "x");
    assert!(close(&[x[1], x[3], x[5]], &[100.0 * (-1.0f64).exp(), 5.0 * (-1.0f64).exp(), 0.0]), "{done:?}");
}

/// What a fit found is told of the text that was fitted, not of one that was edited since.
#[test]
fn how_sure_a_text_is_that_was_edited_is_not_told() {
    let case = Case::new("t,y\n0,10.1\n1,5.9\n2,3.7\n3,2.2\n4,1.4\n");
    let saved = case.fit("(param a 8 :min 0) (param k 1) ; rate\n(* a (exp (- (* k t))))", &[]);
    let text = std::fs::read_to_string(&saved).expect("a model");
    let bands = |model: &str| neuralc(&["predict", model, "--data", &case.data, "--bands"]);
    let truth = column(&bands(&saved), "prediction.stderr");
    // Layout and remarks say nothing, in whatever syntax.
    let laid_out = case.write("laid_out.scm", &format!("; mine\n{}", text.replace("(* a", "(*   a").replace("; rate", "; per hour")));
    let infix = case.write("infix.eq", &neuralc(&["fmt", &saved, "--to", "infix"]).out);
    for same in [laid_out, infix] {
        assert_eq!(column(&bands(&same), "prediction.stderr"), truth, "{same}");
    }
    for (from, to) in [("(* a", "(* 2 a"), (":min 0", ":min -1"), ("(- (* k t))", "(- (* k t t))")] {
        let edited = case.write("edited.scm", &text.replace(from, to));
        assert_eq!(code(&["predict", &edited, "--data", &case.data, "--bands"], case.folder.path()), "other-text", "{from}");
        // The text is the model: what it predicts is what it says now.
        assert_eq!(neuralc(&["predict", &edited, "--data", &case.data]).code, 0);
    }
    let old = case.write("old.scm", &text.replace("\"text\":{\"sha256\"", "\"text\":{\"md5\""));
    assert_eq!(code(&["predict", &old, "--data", &case.data, "--bands"], case.folder.path()), "other-text");
    // Values and starts of groups are in the record alone.
    let groups = Case::new(&groups().0);
    let own = groups.fit("(param k 1 :min 0 :per g) (state x 5) (derive x (* (- k) x))", &["--group", "g"]);
    let edited = std::fs::read_to_string(&own).expect("a model").replace("(* (- k) x)", "(* -2 k x)");
    let edited = groups.write("edited.scm", &edited);
    assert_eq!(code(&["predict", &edited, "--data", &groups.data], groups.folder.path()), "other-text");
    let late = groups.fit(DECAY, &["--group", "g"]);
    let edited = std::fs::read_to_string(&late).expect("a model").replace("(* (- k) x)", "(* -2 k x)");
    let edited = groups.write("edited.scm", &edited);
    assert_eq!(code(&["predict", &edited, "--data", &groups.data], groups.folder.path()), "other-text");
    assert_eq!(neuralc(&["predict", &edited, "--data", &groups.data, "--start-time", "0"]).code, 0);
}

/// Where new observations of a state lie that was never observed is not known: there is no column of it.
#[test]
fn what_was_not_observed_has_no_interval_of_observations() {
    let case = Case::new("t,c\n0,5.1\n1,3.0\n2,1.9\n3,1.1\n4,0.7\n5,0.4\n");
    let saved = case.fit("(param k 1) (param s 0.1 :min 0) (state A 10) (derive A (* (- k) A)) (observe c (/ A 2) :noise (normal s))", &[]);
    let done = neuralc(&["predict", &saved, "--data", &case.data, "--bands"]);
    assert_eq!(done.code, 0, "{done:?}");
    let head = done.out.lines().next().expect("a header").to_string();
    assert!(head.contains("A.ci95.high") && head.contains("c.pi95.low") && !head.contains("A.pi95"), "{head}");
    assert!(!done.out.contains("NaN"), "{done:?}");
}

/// The mean of 0.1, -0.1, 0.2 and 0 of weights 1, 1, 4 and 4 is 0.08, its weighted sum of squares 0.116; 3.182446305 is Student's quantile
/// of 3 degrees of freedom.
#[test]
fn new_observations_have_their_own_weights() {
    let case = Case::new("x,y,w\n1,1.1,1\n2,1.9,1\n3,3.2,4\n4,4,4\n");
    let saved = case.fit("(param a 0) (+ a x)", &["--target", "y", "--weights", "w"]);
    let new = case.write("new.csv", "x,w\n0,1\n0,25\n");
    let high = column(&neuralc(&["predict", &saved, "--data", &new, "--bands"]), "prediction.pi95.high");
    for (high, weight) in high.iter().zip([1.0, 25.0]) {
        let truth = 0.08 + 3.182446305 * f64::sqrt(0.116 / 3.0 * (0.1 + 1.0 / weight));
        assert!((high - truth).abs() < 1e-7, "{high} {truth}");
    }
    let none = case.write("none.csv", "x\n0\n");
    let done = neuralc(&["predict", &saved, "--data", &none, "--bands"]);
    assert!(!done.out.contains("pi95") && done.err.contains("weighted by the column `w`, which this table has not"), "{done:?}");
}

/// Doses for groups that are not predicted are not needed; a fit misses groups that its data have not.
#[test]
fn doses_of_other_groups_are_left_out() {
    let case = Case::new("g,t,x\np,0,0\np,1,7.4\np,2,5.5\nq,0,0\nq,1,3\nq,2,2.2\n");
    let doses = case.write("doses.csv", "g,time,amount\np,0,10\nq,0,4\n");
    let model = "(param k 0.5) (state x 0) (derive x (- (* k x)))";
    let saved = case.fit(model, &["--group", "g", "--events", &doses]);
    let both = column(&neuralc(&["predict", &saved, "--data", &case.data, "--events", &doses]), "x.predicted");
    let one = case.write("one.csv", "g,t\nq,0\nq,1\n");
    let found = neuralc(&["predict", &saved, "--data", &one, "--events", &doses]);
    assert!(close(&column(&found, "x.predicted"), &both[3..5]), "{found:?}");
    let more = case.write("more.csv", "g,time,amount\np,0,10\nr,0,4\n");
    let refused = neuralc(&["fit", "-e", model, "--data", &case.data, "--group", "g", "--events", &more]);
    assert!(refused.code != 0 && refused.err.contains("the data have no group `r`"), "{refused:?}");
}
