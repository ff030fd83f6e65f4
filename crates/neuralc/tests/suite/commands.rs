//! The other commands: check, show, fmt, ops, compose, completions, repl; exit codes; help.

use crate::common::{file, neuralc, neuralc_with};
use serde_json::json;

#[test]
fn check_reports_mistakes() {
    let done = neuralc(&["check", "-e", "(/ 1 x)"]);
    assert_eq!((done.code, done.out.as_str()), (0, "no problems found\n"));
    assert_eq!(neuralc(&["check", "-e", "(/ 1 x)", "--json"]).json(), json!({"diagnostics": [], "inputs": ["x"], "units": {}}));
    let done = neuralc(&["check", "-e", "(+ (sni x)\n   (cosh 1 2))", "--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["unknown-function".into(), "wrong-arity".into()]));
    let first = &done.json()["diagnostics"][0];
    assert_eq!(first["span"], json!({"start": 4, "end": 7, "line": 1, "column": 5}));
    assert_eq!((first["severity"].as_str(), first["help"].as_str()), (Some("error"), Some("did you mean `sin`?")));
    assert!(first["message"].is_string() && first["labels"].is_array());
    assert_eq!(done.json()["diagnostics"][1]["span"]["line"], 2);
}

#[test]
fn check_proves_the_safe_domain() {
    let check = |range: &str| neuralc(&["check", "-e", "(/ 1 (- x 2))", "--range", range, "--json"]);
    assert_eq!(check("x=3:10").code, 0);
    let done = check("x=0:10");
    assert_eq!((done.code, done.codes()), (1, vec!["domain-may-be-left".to_string()]));
    assert_eq!(done.json()["diagnostics"][0]["severity"], "warning");
    assert_eq!(check("y=0:1").codes(), ["unknown-input"]);
    assert_eq!(neuralc(&["check", "-e", "(log (norm v))", "--range", "v=1:2", "--shape", "v=3"]).code, 0);
    assert_eq!(neuralc(&["check", "-e", "(log (norm v))", "--range", "v=1:2", "--json"]).codes(), ["shape-unknown"]);
    assert_eq!(neuralc(&["check", "-e", "(norm v)"]).code, 0, "an open shape is no mistake");
    assert_eq!(neuralc(&["check", "-e", "(param k 2 :min 1) (/ x k)", "--range", "x=0:1"]).code, 0);
    assert_eq!(neuralc(&["check", "-e", "(param k 0.0 :fixed) (/ x k)", "--range", "x=0:1"]).code, 1);
    assert_eq!(neuralc(&["check", "-e", "(log 0)"]).code, 1);
}

#[test]
fn check_tells_overflow_from_danger() {
    let model = "(param vmax 1 :min 0) (param km 1 :min 0) (/ (* vmax s) (+ km s))";
    let done = neuralc(&["check", "-e", model, "--range", "s=0.1:10", "--json"]);
    assert_eq!((done.code, done.codes()), (0, vec![]), "{done:?}");
    let done = neuralc(&["check", "-e", model, "--range", "s=0.1:inf", "--json"]);
    assert_eq!((done.code, done.codes()), (0, vec!["may-overflow".to_string()]));
    assert_eq!(done.json()["diagnostics"][0]["severity"], "note");
    let done = neuralc(&["check", "-e", model, "--range", "s=0:10", "--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["domain-may-be-left".to_string()]));
}

/// Mistakes without number are counted, and take time in proportion.
#[test]
fn many_mistakes_are_reported_in_part() {
    let names: Vec<String> = (0..30_000).map(|i| format!("x{i}")).collect();
    let (_folder, program) = file("many-inputs.scm", &format!("(+ {})", names.join(" ")));
    let done = neuralc(&["run", &program, "--json"]);
    assert_eq!(done.code, 1);
    assert!(done.err.contains("29980 more inputs have no value") || done.out.contains("29980 more inputs have no value"), "{}", done.err);
}

#[test]
fn show_prints_every_stage() {
    let show = |stage: &str, format: &str| neuralc(&["show", "-e", "(sin (* 2 x))", "--stage", stage, "--format", format]);
    for stage in ["ast", "anf", "graph", "tape", "grad"] {
        let done = show(stage, "text");
        assert!(done.code == 0 && done.out.contains("sin"), "{stage}: {done:?}");
        assert!(show(stage, "json").json().is_object());
        let short = neuralc(&["show", "-e", "(sin (* 2 x))", "--stage", stage, "--json"]);
        assert_eq!(short.out, show(stage, "json").out);
        for (format, start) in [("dot", "digraph"), ("svg", "<svg")] {
            let done = show(stage, format);
            if matches!(stage, "graph" | "grad") {
                assert!(done.code == 0 && done.out.starts_with(start), "{done:?}");
            } else {
                assert_eq!(done.code, 2, "{done:?}");
            }
        }
    }
    assert!(show("grad", "text").out.contains("cos"));
    assert_eq!(neuralc(&["show", "-e", "(dot v v)", "--stage", "graph"]).code, 1);
    assert!(neuralc(&["show", "-e", "(dot v v)", "--stage", "graph", "--shape", "v=3"]).out.contains("vector(3)"));
    assert!(neuralc(&["show", "-e", "(det m)", "--stage", "graph", "--shape", "m=2x2"]).out.contains("matrix(2,2)"));
}

#[test]
fn show_prints_machine_code_of_both_number_types() {
    let show = |stage: &str, dtype: &str| neuralc(&["show", "-e", "(* 3 (sin x))", "--stage", stage, "--dtype", dtype]);
    for stage in ["asm", "grad-asm"] {
        for (dtype, suffix, other) in [("f32", "mulps", "mulpd"), ("f64", "mulpd", "mulps")] {
            let done = show(stage, dtype);
            assert_eq!(done.code, 0, "{done:?}");
            // A machine without AVX2 says why there is none.
            let none = done.out.contains("the lane engine runs it");
            assert!(none || (done.out.contains("; (sin x)") && done.out.contains(suffix) && !done.out.contains(other)), "{done:?}");
        }
    }
    assert!(show("grad-asm", "f64").out.len() > show("asm", "f64").out.len() || show("asm", "f64").out.contains("the lane engine runs it"));
    assert_eq!(neuralc(&["show", "-e", "x", "--stage", "asm", "--json"]).json()["stage"], "asm");
    assert_eq!(show("graph", "f32").code, 2);
}

#[test]
fn fmt_prints_writes_and_checks() {
    let text = "(+   1 ; one\n2)\n";
    let neat = "(+ 1 ; one\n   2)\n";
    let (folder, path) = file("a.scm", text);
    assert_eq!(neuralc(&["fmt", &path]).out, neat);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(neuralc(&["fmt", "--check", &path]).code, 1);
    assert_eq!(neuralc(&["fmt", "--check", "--json", &path]).json(), json!({"changed": true, "text": neat}));
    let done = neuralc(&["fmt", "--write", &path]);
    assert_eq!((done.code, done.out.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), neat);
    assert_eq!(neuralc(&["fmt", "--check", &path]).code, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    assert_eq!(neuralc_with(text, &["fmt", "-"]).out, neat);
    assert_eq!(neuralc_with(text, &["fmt", "-", "--write"]).code, 2);
    assert_eq!(neuralc_with("(+ 1", &["fmt", "-", "--json"]).codes(), ["unbalanced-parenthesis"]);
}

#[test]
fn ops_lists_the_language() {
    let all = neuralc(&["ops", "--json"]).json();
    let all = all["ops"].as_array().unwrap();
    let mut paper: Vec<&str> = all.iter().filter(|o| o["paper"] == true).map(|o| o["name"].as_str().unwrap()).collect();
    paper.sort();
    paper.dedup();
    assert_eq!(paper.len(), 51, "{paper:?}");
    for key in ["name", "arity", "usage", "domain", "derivative", "description", "group"] {
        assert!(all.iter().all(|o| o[key].as_str().is_some_and(|s| !s.is_empty())), "{key}");
    }
    let text = neuralc(&["ops"]);
    assert!(text.code == 0 && text.out.contains("(sqrt x)") && text.out.contains("(loop ((variable start) …) body)"));
}

#[test]
fn compose_chains_programs() {
    let (_a, area) = file("area.scm", "(* pi (square r))");
    let (_b, root) = file("root.scm", "(define (f x) (sqrt x))\n(f a)");
    let (_c, scaled) = file("scaled.scm", "(* k b)");
    let done = neuralc(&["compose", &area, &root]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(neuralc_with(&done.out, &["fmt", "--check", "-"]).code, 0);
    assert_eq!(neuralc_with(&done.out, &["run", "-", "r=2"]).out, neuralc(&["run", "-e", "(sqrt (* pi (square 2)))"]).out);
    assert_eq!(neuralc(&["compose", &area, &scaled, "--json"]).codes(), ["ambiguous-input"]);
    let whole = neuralc(&["compose", &area, &root, &scaled, "--into", "b", "--json"]).json();
    assert_eq!(whole["inputs"], json!(["r", "k"]), "{whole}");
    assert_eq!(neuralc(&["compose", &area, &root, "--into", "zzz", "--json"]).codes(), ["unknown-input"]);
    assert_eq!(neuralc(&["compose", &area]).code, 2);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = neuralc(&["completions", shell]);
        assert!(done.code == 0 && done.out.contains("neuralc"), "{shell}");
    }
    assert!(neuralc(&["completions", "bash", "--json"]).json()["script"].is_string());
}

#[test]
fn repl_goes_on_after_mistakes() {
    let entries = "(define x 2)\n(define (f a)\n  (* a x))\n(f 3)\n(oops\n  1)\n)\n\
                   :grad (f (square x))\n(define x (+ x 1))\nx\n:nonsense\n(f 1)\n:quit\n99\n";
    let done = neuralc_with(entries, &["repl"]);
    assert_eq!((done.code, done.out.as_str()), (0, "x\nf\n6\nvalue  8\nd/dx   12\nx\n3\n3\n"), "{done:?}");
    for code in ["unknown-function", "unbalanced-parenthesis", "bad-command"] {
        assert!(done.err.contains(code), "{code}");
    }
    assert!(done.err.contains("<repl>:1:2"), "places are those of the entry: {}", done.err);
}

/// Constants become values: they can be used, listed and defined anew.
#[test]
fn repl_knows_physical_constants() {
    let entries = "(constants si c h)\n(* 2 c)\n(define c 3)\nc\n(constants cgs)\n(constants si speed)\n(constants)\nh\n";
    let done = neuralc_with(entries, &["repl"]);
    assert_eq!((done.code, done.out.as_str()), (0, "c\nh\n599584916\nc\n3\n6.62607015e-34\n"), "{done:?}");
    assert_eq!(done.err.matches("unknown-constant").count(), 2, "{}", done.err);
    assert!(done.err.contains("bad-declaration"), "{}", done.err);
    let all = neuralc_with("(constants si)\n(/ (* N_A k_B) R)\n", &["repl"]).out;
    assert!(
        all.ends_with("mu_B\n1\n") || all.ends_with("mu_B\n0.9999999999999999\n") || all.ends_with("mu_B\n1.0000000000000002\n"),
        "{all}"
    );
}

#[test]
fn repl_speaks_json() {
    let done = neuralc_with(
        "(define (even n) (if (= n 0) 1 (odd (- n 1)))) (define (odd n) (if (= n 0) 0 (even (- n 1))))\n\
         (even 10)\n(foo)\n(param k 2)\n:grad (* k k)\n:list",
        &["repl", "--json"],
    );
    let lines: Vec<serde_json::Value> = done.out.lines().map(|l| serde_json::from_str(l).expect("JSON lines")).collect();
    assert_eq!(lines[2], json!({"value": 1.0}));
    assert_eq!(lines[3]["diagnostics"][0]["code"], "unknown-function");
    assert_eq!(lines[5], json!({"value": 4.0, "grad": {"k": 4.0}}));
    assert_eq!(lines[6]["values"], json!({"k": 2.0}));
    assert_eq!((done.code, done.err.as_str()), (0, ""));
}

#[test]
fn wrong_command_lines() {
    for args in [
        vec![],
        vec!["run"],
        vec!["run", "-e", "x", "3"],
        vec!["run", "-e", "x", "x=1", "--nonsense"],
        vec!["run", "-e", "x", "x=1", "--dtype", "f16"],
        vec!["check"],
        vec!["check", "-e", "x", "--range", "x=2:1"],
        vec!["check", "-e", "x", "--range", "x"],
        vec!["check", "file.scm", "-e", "x"],
        vec!["show", "-e", "x"],
        vec!["show", "-e", "x", "--stage", "nonsense"],
        vec!["show", "-e", "x", "--stage", "ast", "--format", "svg"],
        vec!["show", "-e", "x", "--stage", "ast", "--shape", "x=0"],
        vec!["fmt"],
        vec!["completions", "tcsh"],
        vec!["nonsense"],
        vec!["run", "-e", "1", "--max-depth", "-1"],
    ] {
        let done = neuralc(&args);
        assert_eq!(done.code, 2, "{args:?} {done:?}");
        assert!(done.out.is_empty() && !done.err.is_empty());
    }
}

#[test]
fn help_has_examples() {
    assert_eq!(neuralc(&["--version"]).code, 0);
    assert!(neuralc(&["--help"]).out.contains("Examples:"));
    for command in ["run", "check", "show", "fmt", "ops", "compose", "repl", "completions"] {
        let done = neuralc(&[command, "--help"]);
        assert!(done.code == 0 && done.out.contains("Examples:") && done.out.contains("--json"), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    let large = format!("(+ {})", "(sin x) (* x x 2) ".repeat(20_000));
    let (_folder, path) = file("large.scm", &large);
    let neuralc = env!("CARGO_BIN_EXE_neuralc");
    for command in [format!("fmt {path}"), format!("show {path} --stage ast"), "ops".into(), "completions bash".into(), "--help".into()] {
        let script = format!("set -o pipefail; '{neuralc}' {command} | head -c 10 > /dev/null; echo ${{PIPESTATUS[0]}}");
        let output = std::process::Command::new("bash").args(["-c", &script]).output().expect("bash");
        assert_eq!((String::from_utf8_lossy(&output.stdout).trim(), output.stderr.len()), ("0", 0), "{command}");
    }
}

#[test]
fn the_level_of_the_loops_is_chosen_by_the_environment_and_changes_no_bit() {
    let at = |level: &str| {
        let command = ["run", "-e", "(tanh (sinh (exp (/ x 3))))", "x=1.7", "--grad", "--hessian"];
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_neuralc"))
            .args(command)
            .env("NEURAL_COMPILER_LEVEL", level)
            .output()
            .expect("neuralc starts");
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (code, lowest, _) = at("baseline");
    assert!(code == Some(0) && lowest.contains("d/dx"), "{lowest}");
    assert_eq!((at("avx2").1, at("avx512").1), (lowest.clone(), lowest));
    let (code, _, said) = at("avx1024");
    assert!(code == Some(2) && said.contains("`avx1024`") && said.contains("baseline, avx2, avx512"), "{said}");
}
