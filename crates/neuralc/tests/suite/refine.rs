//! `neuralc refine` from outside: shapes of its output, journals, and proposers that behave and such that do not.

use crate::common::{Done, file, neuralc};
use serde_json::Value;

/// A law with a root in it, in rows that are nowhere special.
fn pendulum() -> String {
    let row = |i: u32| {
        let (l, m) = (0.1 + 0.07 * f64::from(i % 29), 1.0 + f64::from(i * 7 % 13));
        format!("{l},{m},{}\n", 2.0 * std::f64::consts::PI * (l / 9.81).sqrt())
    };
    "length [m],mass [kg],period [s]\n".to_string() + &(0..60).map(row).collect::<String>()
}

fn last_line(done: &Done) -> Value {
    serde_json::from_str(done.out.lines().last().expect("a line")).unwrap_or_else(|e| panic!("{e}: {done:?}"))
}

#[test]
fn a_law_is_found_and_told_in_the_shape_scripts_rely_on() {
    let (_folder, data) = file("pendulum.csv", &pendulum());
    let done = neuralc(&["refine", "--data", &data, "--target", "period", "--inputs", "length", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let told = last_line(&done);
    let keys = |v: &Value| v.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&told), ["best", "front", "seconds", "tried"]);
    let best = &told["best"];
    assert_eq!(keys(best), ["complexity", "holdout", "loglik", "params", "text"]);
    let text = best["text"].as_str().expect("a text");
    assert!(text.contains("(sqrt length)"), "{text}");
    let constant = best["params"][0]["value"].as_f64().expect("a number");
    assert!((constant - 2.0 * std::f64::consts::PI / 9.81f64.sqrt()).abs() < 1e-9, "{constant}");
    assert!(best["holdout"]["n"] == 12 && best["holdout"]["r2"].as_f64() > Some(0.999_999));
    let complexities: Vec<u64> = told["front"].as_array().expect("a list").iter().filter_map(|m| m["complexity"].as_u64()).collect();
    assert!(complexities.len() >= 2 && complexities.is_sorted(), "{complexities:?}");
    let again = last_line(&neuralc(&["refine", "--data", &data, "--target", "period", "--inputs", "length", "--json", "--threads", "1"]));
    assert_eq!((&again["best"], &again["front"], &again["tried"]), (best, &told["front"], &told["tried"]));
}

/// Growth towards a limit, from one start, as the closed form has it.
fn logistic() -> String {
    let row = |i: u32| {
        let t = 0.2 * f64::from(i);
        format!("{t},{}\n", 8.0 / (1.0 + 15.0 * (-0.9 * t).exp()))
    };
    "t,x\n".to_string() + &(0..50).map(row).collect::<String>()
}

#[test]
fn an_equation_is_found_from_a_wrong_model_and_the_journal_goes_on() {
    let (folder, data) = file("logistic.csv", &logistic());
    let model = folder.path().join("exponential.scm");
    std::fs::write(&model, "(param a 0.5)\n(param x0 0.5)\n(state x x0)\n(derive x (* a x))").expect("a file");
    let journal = folder.path().join("journal");
    let (model, journal) = (model.to_str().expect("UTF-8"), journal.to_str().expect("UTF-8"));
    let done = neuralc(&["refine", model, "--data", &data, "--journal", journal, "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let text = last_line(&done)["best"]["text"].as_str().expect("a text").to_string();
    let slope = neuralc(&["simulate", "-e", &text, "x=2", "--until", "1", "--points", "2"]);
    let end: f64 = slope.out.lines().last().and_then(|l| l.split(',').nth(1)).expect("x").parse().expect("a number");
    assert!((end - 8.0 / (1.0 + 3.0 * (-0.9f64).exp())).abs() < 1e-3, "{end} {text}");

    let lines = std::fs::read_to_string(format!("{journal}/journal.jsonl")).expect("a journal");
    let entries: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert!(entries[0]["data"].is_string() && entries[1]["proposer"] == "given" && entries.len() > 10);
    assert!(entries[1..].iter().all(|e| e["text"].is_string() && e["reason"].is_string() && e["kept"].is_boolean()));
    let report = std::fs::read_to_string(format!("{journal}/report.md")).expect("a report");
    assert!(report.contains("best.svg") && std::fs::read_to_string(format!("{journal}/best.svg")).is_ok_and(|s| s.starts_with("<svg")));
    assert!(std::fs::read_to_string(format!("{journal}/report.html")).is_ok_and(|s| s.contains("<table>")));

    // What was dropped is not fitted again; what comes out is the same.
    let resumed = neuralc(&["refine", model, "--data", &data, "--journal", journal, "--resume", "--json"]);
    assert_eq!(last_line(&resumed)["best"]["text"].as_str(), Some(text.as_str()), "{resumed:?}");
    let more = std::fs::read_to_string(format!("{journal}/journal.jsonl")).expect("a journal").lines().count();
    assert!(more - entries.len() < entries.len() / 2, "{more} {}", entries.len());
    let other = neuralc(&["refine", model, "--data", &data, "--journal", journal, "--resume", "--seed", "7", "--json"]);
    assert_eq!((other.code, other.codes()), (1, vec!["bad-journal".to_string()]));
}

#[test]
fn a_person_and_another_program_propose() {
    let (folder, data) = file("line.csv", "x,y\n1,3.1\n2,4.9\n3,7.1\n4,8.9\n5,11.1\n6,12.9\n7,15\n8,17.1\n");
    let ideas = folder.path().join("ideas.txt");
    std::fs::write(&ideas, "(param a 1) (* a x)\n---\n(param a 1) (param b 1) (+ (* a x) b)\n---\n(this is (none\n").expect("a file");
    let person = format!("person:{}", ideas.display());
    let done = neuralc(&["refine", "--data", &data, "--target", "y", "--holdout", "0", "--proposer", &person, "--json"]);
    let told = last_line(&done);
    assert!(told["best"]["text"].as_str().is_some_and(|t| t.contains("(+ (* a x) b)")), "{done:?}");
    assert_eq!((told["tried"].as_u64(), &told["best"]["holdout"]), (Some(4), &Value::Null));

    let script = folder.path().join("propose.sh");
    let answer = r#"{"proposals": [{"text": "(param a 1) (param b 1) (+ b (* x a))", "why": "a line"}], "done": true}"#;
    std::fs::write(&script, format!("read request\necho '{answer}'\n")).expect("a file");
    let command = format!("sh '{}'", script.display());
    let done = neuralc(&["refine", "--data", &data, "--target", "y", "--holdout", "0", "--proposer", &command, "--json"]);
    let told = last_line(&done);
    assert!(told["best"]["text"].as_str().is_some_and(|t| t.contains("(+ b (* x a))")), "{done:?}");
}

#[test]
fn proposers_that_misbehave_are_named_and_end_nothing_but_themselves() {
    let (folder, data) = file("line.csv", "x,y\n1,3.1\n2,4.9\n3,7.1\n4,8.9\n5,11.1\n6,12.9\n7,15\n8,17.1\n");
    for (what, script, words) in [
        ("prose", "read r; echo 'I think it is a line.'", "did not answer in JSON"),
        ("another shape", "read r; echo '{\"models\": []}'", "without a list of `proposals`"),
        ("end", "exit 3", "ended without an answer"),
        ("silence", "sleep 3000", "did not answer within"),
        ("endless", "yes x | tr -d '\\n'", "more than"),
        ("no command", "", ""),
    ] {
        let path = folder.path().join("bad.sh");
        std::fs::write(&path, script).expect("a file");
        let command = if script.is_empty() { "/nowhere/at-all".to_string() } else { format!("sh '{}'", path.display()) };
        // Only who says nothing is waited for until the time is over.
        let budget = if what == "silence" { "10s" } else { "1h" };
        let alone = neuralc(&["refine", "--data", &data, "--target", "y", "--proposer", &command, "--budget", budget, "--json"]);
        assert_eq!((alone.code, alone.codes()), (1, vec!["bad-proposer".to_string()]), "{what}");
        assert!(alone.out.contains(words), "{what}: {alone:?}");
        if what == "prose" {
            let both = ["--proposer", &command, "--proposer", "search"];
            let (_other, data) = file("pendulum.csv", &pendulum());
            let done = neuralc(&[&["refine", "--data", &data, "--target", "period", "--inputs", "length", "--json"][..], &both].concat());
            assert_eq!(done.code, 0, "{done:?}");
            assert!(done.err.contains(words) && last_line(&done)["front"].as_array().is_some_and(|f| f.len() > 1), "{done:?}");
        }
    }
}

#[test]
fn what_explains_less_or_counts_in_other_units_is_not_compared() {
    let rows = |f: &dyn Fn(f64) -> String| (0..20).map(|i| f(0.25 * f64::from(i))).collect::<String>();
    let (folder, data) = file("two.csv", &format!("t,x,y\n{}", rows(&|t| format!("{t},{},{}\n", (-t).exp(), (-2.0 * t).exp()))));
    let ideas = folder.path().join("ideas.txt");
    let both = "(param k 1.1) (param l 1.9) (state x 1) (state y 1) (derive x (- (* k x))) (derive y (- (* l y)))";
    std::fs::write(&ideas, format!("(param k 1.1) (state x 1) (derive x (- (* k x)))\n---\n{both}\n")).expect("a file");
    let (person, journal) = (format!("person:{}", ideas.display()), folder.path().join("journal"));
    let journal = journal.to_str().expect("UTF-8");
    let words = ["refine", "--data", &data, "--states", "x,y", "--proposer", &person, "--json", "--journal", journal];
    let told = last_line(&neuralc(&words));
    assert!(told["best"]["text"].as_str().is_some_and(|t| t.contains("(derive y")), "{told}");
    let lines = std::fs::read_to_string(folder.path().join("journal/journal.jsonl")).expect("a journal");
    assert!(lines.contains("does not explain `y`"), "{lines}");

    // Lengths in mm, a model in m: its constant would be a thousand times off.
    let (folder, data) = file("units.csv", &format!("L [mm],F\n{}", rows(&|t| format!("{},{}\n", 1.0 + t, 3.0 * (1.0 + t)))));
    let ideas = folder.path().join("ideas.txt");
    std::fs::write(&ideas, "(input L :unit m) (param a 1 :unit 1/m) (* a L)").expect("a file");
    let person = format!("person:{}", ideas.display());
    let done = neuralc(&["refine", "--data", &data, "--target", "F", "--proposer", &person, "--json"]);
    assert!(!done.out.contains("(input L :unit m)"), "{done:?}");
}

#[test]
fn zeros_and_odd_names_do_not_mislead() {
    let counts = [3, 5, 0, 6, 4, 2, 0, 7, 5, 4, 1, 6, 3, 0, 5, 4, 6, 2, 3, 5];
    let rows: String = counts.iter().enumerate().map(|(i, n)| format!("{},{n}\n", (i * 7) % 11)).collect();
    let (_folder, data) = file("counts.csv", &format!("x,y\n{rows}"));
    let told = last_line(&neuralc(&["refine", "--data", &data, "--target", "y", "--budget", "20s", "--json"]));
    let text = told["best"]["params"].to_string();
    let values: Vec<f64> = told["best"]["params"].as_array().expect("a list").iter().filter_map(|p| p["value"].as_f64()).collect();
    assert!(values.iter().any(|v| v.abs() > 0.1), "{text}");
    let (_folder, data) = file("odd.csv", "my col,y\n1,2\n2,4\n3,6\n4,8\n5,10\n6,12\n");
    assert_eq!(neuralc(&["refine", "--data", &data, "--target", "y", "--json"]).codes(), ["bad-name"]);
}

#[test]
fn mistakes_have_codes() {
    let (_folder, data) = file("short.csv", "x,y\n1,2\n2,3\n");
    let code = |words: &[&str]| neuralc(&[&["refine", "--data", &data, "--json"], words].concat());
    assert_eq!(code(&["--target", "y"]).codes(), ["too-few-rows"]);
    assert_eq!(code(&["--target", "z"]).codes(), ["missing-column"]);
    assert_eq!(code(&[]).code, 2);
    assert_eq!(code(&["--target", "y", "--budget", "soon"]).code, 2);
    assert_eq!(code(&["--target", "y", "--holdout", "2"]).codes().len(), 1);
}

/// A table, a model for it, and a folder for the journal.
fn with_a_journal() -> (tempfile::TempDir, String, String) {
    let (folder, data) = file("line.csv", "x,y\n1,3.1\n2,4.9\n3,7.1\n4,8.9\n5,11.1\n6,12.9\n7,15\n8,17.1\n");
    let journal = folder.path().join("journal").to_str().expect("UTF-8").to_string();
    (folder, data, journal)
}

#[test]
fn one_run_at_a_time_writes_a_journal() {
    let (folder, data, journal) = with_a_journal();
    let ideas = folder.path().join("ideas.txt");
    std::fs::write(&ideas, "(param a 1) (* a x)\n---\n(param a 1) (param b 1) (+ (* a x) b)\n").expect("a file");
    let person = format!("person:{}", ideas.display());
    let words = ["refine", "--data", &data, "--target", "y", "--holdout", "0", "--proposer", &person, "--journal", &journal, "--json"];
    assert_eq!(neuralc(&words).code, 0);
    let path = format!("{journal}/journal.jsonl");
    let before = std::fs::read_to_string(&path).expect("a journal");
    let other = std::fs::File::open(&path).expect("a journal");
    other.lock().expect("a lock");
    for more in [&[][..], &["--resume"]] {
        let done = neuralc(&[&words[..], more].concat());
        assert_eq!((done.code, done.codes()), (1, vec!["in-use".to_string()]), "{done:?}");
        assert_eq!(std::fs::read_to_string(&path).expect("a journal"), before);
    }
    drop(other);
    // Half a line, as a run that was killed leaves it, half a character included, is no part of what follows.
    let mut cut = before.clone().into_bytes();
    cut.extend_from_slice(b"{\"number\": 9, \"why\": \"\xc3");
    std::fs::write(&path, cut).expect("a journal");
    let done = neuralc(&[&words[..], &["--resume"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let after = std::fs::read_to_string(&path).expect("a journal");
    assert!(after.starts_with(&before) && after.len() > before.len());
    assert!(after.lines().all(|l| serde_json::from_str::<Value>(l).is_ok()), "{after}");
    // What is no file is not waited for.
    std::fs::remove_file(&path).expect("it is there");
    std::fs::create_dir(&path).expect("a folder");
    assert_eq!(neuralc(&words).codes(), vec!["cannot-write".to_string()]);
}

/// `neuralc refine` that waits for a proposer which never answers, and the file with the numbers of the processes of that one.
#[cfg(target_os = "linux")]
fn waiting(folder: &std::path::Path, data: &str, journal: &str) -> (std::process::Child, std::path::PathBuf) {
    let (script, mark) = (folder.join("slow.sh"), folder.join("begun"));
    std::fs::write(&script, format!("sleep 3000 &\necho $$ $! > {0}.part\nmv {0}.part {0}\nwait\n", mark.display())).expect("a file");
    let command = format!("sh '{}'", script.display());
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_neuralc"))
        .args(["refine", "--data", data, "--target", "y", "--holdout", "0", "--proposer", &command, "--budget", "1h", "--json"])
        .args(["--journal", journal])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("neuralc starts");
    while !mark.exists() {
        assert!(child.try_wait().expect("a process").is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (child, mark)
}

#[cfg(target_os = "linux")]
fn interrupt(child: &std::process::Child) {
    // SAFETY: it takes numbers only.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
}

/// Neither the proposer nor what it started goes on, as they would for 3000 s; what has ended may still be listed.
#[cfg(target_os = "linux")]
fn all_end(mark: &std::path::Path) {
    let begun = std::time::Instant::now();
    for id in std::fs::read_to_string(mark).expect("a file").split_whitespace() {
        let status = || std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        while status().rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z')) {
            assert!(begun.elapsed().as_secs() < 1500, "{id} goes on");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_wait_for_a_proposer() {
    let (folder, data, journal) = with_a_journal();
    let (child, mark) = waiting(folder.path(), &data, &journal);
    interrupt(&child);
    let done = child.wait_with_output().expect("it ends");
    // Without the interrupt it would wait for two minutes, and then say that there was no answer.
    assert!(done.status.success() && !String::from_utf8_lossy(&done.stderr).contains("did not answer"), "{done:?}");
    let told: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(told["tried"], 1);
    let lines = std::fs::read_to_string(format!("{journal}/journal.jsonl")).expect("a journal");
    assert!(lines.ends_with('\n') && lines.lines().count() == 2 && lines.lines().all(|l| serde_json::from_str::<Value>(l).is_ok()));
    assert!(std::path::Path::new(&format!("{journal}/report.md")).exists());
    all_end(&mark);
}

/// Whoever cannot wait for the report leaves nothing behind either. Should the first signal have ended all before the second, or both be
/// one, there is nothing to see, and nothing fails.
#[cfg(target_os = "linux")]
#[test]
fn a_second_interrupt_ends_proposers_too() {
    let (folder, data, journal) = with_a_journal();
    let (mut child, mark) = waiting(folder.path(), &data, &journal);
    interrupt(&child);
    std::thread::sleep(std::time::Duration::from_millis(5));
    interrupt(&child);
    child.wait().expect("it ends");
    all_end(&mark);
}

/// Few rows are enough for a straight line and for a power: both have two constants.
#[test]
fn five_rows_have_laws_too() {
    let rows = |law: fn(f64) -> f64| "x,y\n".to_string() + &(1..=5).map(|i| format!("{i},{}\n", law(f64::from(i)))).collect::<String>();
    let at = |table: &str, x: f64| {
        let (_folder, data) = file("few.csv", table);
        let told = last_line(&neuralc(&["refine", "--data", &data, "--target", "y", "--json"]));
        assert!(told["tried"].as_u64() > Some(1), "{told}");
        // One row is held out: it has no variance to be explained.
        assert_eq!((&told["best"]["holdout"]["n"], &told["best"]["holdout"]["r2"]), (&Value::from(1), &Value::Null));
        let said = neuralc(&["refine", "--data", &data, "--target", "y"]);
        assert!(said.out.contains("held out") && !said.out.contains("R2"), "{said:?}");
        let text = told["best"]["text"].as_str().expect("a text").to_string();
        neuralc(&["run", "-e", &text, &format!("x={x}")]).out.trim().parse::<f64>().unwrap_or_else(|e| panic!("{e}: {text}"))
    };
    // Far from the rows: the law, not something that goes through them.
    assert!((at(&rows(|x| 3.0 + 2.0 * x), 50.0) - 103.0).abs() < 1e-6);
    assert!((at(&rows(|x| 2.0 * x * x), 50.0) - 5000.0).abs() < 1e-6);
}
