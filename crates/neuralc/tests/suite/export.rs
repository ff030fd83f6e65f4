//! `neuralc export`: files, what they contain, what is refused; the C of a fitted model, compiled and run.

use crate::common::{file, neuralc};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// Compiles exported C in a folder and runs it on words; the lines it prints.
fn try_c(folder: &Path, words: &[&str]) -> Vec<String> {
    let gcc = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror", "main.c", "model.c", "-lm", "-o", "try"];
    let compiled = Command::new("gcc").current_dir(folder).args(gcc).output().expect("gcc is installed");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let done = Command::new(folder.join("try")).args(words).output().expect("the program starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("UTF-8").lines().map(str::to_string).collect()
}

fn number(text: &str) -> u64 {
    text.trim_start_matches("d/d ").parse::<f64>().expect("a number").to_bits()
}

#[test]
fn c_gives_what_run_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("model").display().to_string();
    let program = "(param a 1.5) (define (f n x) (if (< n 1) x (+ (sin x) (f (- n 1) (* a x))))) (+ (f 5 x) (ref [x y 2] i))";
    let done = neuralc(&["export", "-e", program, "--to", "c", "--grad", "--out", &out]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.out.lines().count(), 3);
    let checked = neuralc(&["check", "-e", program, "--json"]).json();
    assert_eq!(checked["inputs"], json!(["a", "x", "y", "i"]));
    let lines = try_c(Path::new(&out), &["0.75", "1.25", "-3", "1"]);
    let run = neuralc(&["run", "-e", program, "a=0.75", "x=1.25", "y=-3", "i=1", "--grad", "--json"]).json();
    let expected: Vec<u64> = std::iter::once(&run["value"])
        .chain(["a", "x", "y", "i"].map(|n| &run["grad"][n]))
        .map(|v| v.as_f64().expect("a number").to_bits())
        .collect();
    assert_eq!(lines.iter().map(|l| number(l)).collect::<Vec<_>>(), expected);
    // An index out of range is a status.
    let done = Command::new(Path::new(&out).join("try")).args(["0.75", "1.25", "-3", "7"]).output().expect("the program starts");
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).contains("status 1"));
}

#[test]
fn names_beyond_ascii_and_odd_ones_compile() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("model").display().to_string();
    let done = neuralc(&["export", "-e", "(input α) (input what?%s) (- (* 2 α) (* 3 what?%s))", "--to", "c", "--out", &out]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(try_c(Path::new(&out), &["5", "1"]), ["7"]);
    let done = Command::new(Path::new(&out).join("try")).output().expect("the program starts");
    assert!(String::from_utf8_lossy(&done.stderr).contains("α what?%s"), "{done:?}");
}

#[test]
fn a_fitted_model_has_its_constants_in_place() {
    let data = "x,y\n0,3.0\n1,2.1\n2,1.6\n3,1.3\n4,1.2\n5,1.1\n";
    let (folder, table) = file("data.csv", data);
    let (model, saved) = (folder.path().join("decay.scm"), folder.path().join("saved.scm").display().to_string());
    std::fs::write(&model, "; A decay.\n(param A 1) (param k 0.3 :min 0) (param c 0)\n(+ (* A (exp (- (* k x)))) c)\n").expect("a file");
    let fitted = neuralc(&["fit", &model.display().to_string(), "--data", &table, "--target", "y", "--save", &saved, "--json"]);
    assert_eq!(fitted.code, 0, "{fitted:?}");
    assert_eq!(neuralc(&["check", &saved, "--json"]).json()["inputs"], json!(["x"]));
    let out = folder.path().join("c").display().to_string();
    assert_eq!(neuralc(&["export", &saved, "--to", "c", "--out", &out]).code, 0);
    let text = std::fs::read_to_string(Path::new(&out).join("model.c")).expect("the model");
    assert!(text.contains("Fitted by Neural Compiler") && text.contains("data.csv") && text.contains("; A decay."), "{text}");
    let found = number(&try_c(Path::new(&out), &["2.5"])[0]);
    assert_eq!(found, neuralc(&["run", &saved, "x=2.5", "--json"]).json()["value"].as_f64().expect("a number").to_bits());
    // Asked for, parameters are inputs.
    let asked = neuralc(&["export", &saved, "--to", "json", "--params", "inputs", "--json"]).json();
    assert_eq!(asked["inputs"], json!(["A", "k", "c", "x"]));
}

#[test]
fn what_cannot_be_exported_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("model").display().to_string();
    let export = |args: &[&str]| neuralc(&[&["export", "--to", "c", "--out", &out, "--json"], args].concat());
    let done = export(&["-e", "(+ 1 (det m))", "--shape", "m=48x48"]);
    assert_eq!((done.code, done.codes()), (1, vec!["export-unsupported".into()]));
    assert_eq!(done.json()["diagnostics"][0]["span"]["start"], 5);
    assert!(!Path::new(&out).exists(), "nothing is written");
    assert_eq!(export(&["-e", "[x y]", "--grad"]).codes(), ["grad-needs-scalar"]);
    assert_eq!(export(&["-e", "(dot v v)"]).codes(), ["shape-unknown"]);
    assert_eq!(export(&["-e", "(dot v v)", "--shape", "v=3", "--grad"]).code, 0);
    assert_eq!(export(&["-e", "(* a x)", "--set", "b=1"]).codes(), ["unknown-input"]);
    assert_eq!(neuralc(&["export", "-e", "x", "--to", "c"]).code, 2, "several files need a folder");
    assert_eq!(neuralc(&["export", "-e", "x", "--to", "cobol"]).code, 2);
    assert_eq!(neuralc(&["export", "-e", "x", "--to", "c", "--out", &out, "--prefix", "2x"]).code, 2);
    let (_kept, occupied) = file("occupied", "");
    assert_eq!(neuralc(&["export", "-e", "x", "--to", "c", "--out", &occupied, "--json"]).codes(), ["cannot-write"]);
}

/// One file each, with the record of where the program comes from and the units; ONNX is no text.
#[test]
fn every_target_says_where_it_comes_from() {
    let (folder, path) = file("fall.eq", "input m (unit kg)\ninput z (unit m)\nparam g = 9.81 (unit m/s^2)\nm*g*z\n");
    for (target, name) in [("rust", "model.rs"), ("julia", "model.jl"), ("python", "model.py"), ("onnx", "model.onnx")] {
        let out = folder.path().join(target).display().to_string() + "/";
        let done = neuralc(&["export", &path, "--to", target, "--grad", "--params", "constants", "--out", &out]);
        assert_eq!((done.code, done.out.trim()), (0, format!("{out}{name}").as_str()), "{}", done.err);
        let bytes = std::fs::read(Path::new(&out).join(name)).expect("the model");
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("Source: fall.eq") && text.contains("g = 9.81") && text.contains("m [kg]"), "{target}: {text}");
    }
    let refused = neuralc(&["export", &path, "--to", "onnx"]);
    assert!(refused.code == 2 && refused.err.contains("--out"), "{}", refused.err);
    let single = folder.path().join("single.onnx").display().to_string();
    assert_eq!(neuralc(&["export", &path, "--to", "onnx", "--no-batch", "--dtype", "f32", "--out", &single]).code, 0);
    assert!(!String::from_utf8_lossy(&std::fs::read(single).expect("the model")).contains("batch"));
}
