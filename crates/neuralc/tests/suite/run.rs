//! `neuralc run`: values, derivatives, and everything that can be wrong with inputs.

use crate::common::{file, neuralc, neuralc_with};
use serde_json::json;

#[test]
fn values_of_every_shape() {
    let done = neuralc(&["run", "-e", "(* 0.5 (* m (square v)))", "m=2", "v=3"]);
    assert_eq!((done.code, done.out.as_str()), (0, "9\n"), "{done:?}");
    assert_eq!(neuralc(&["run", "-e", "(* 2 v)", "v=[1, 2,3]"]).out, "[2 4 6]\n");
    assert_eq!(neuralc(&["run", "-e", "(transpose m)", "m=[[1 2] [3 4]]"]).out, "[[1 3] [2 4]]\n");
    assert_eq!(neuralc(&["run", "-e", "(transpose m)", "m=[[1,2],[3,4]]", "--json"]).json(), json!({"value": [[1.0, 3.0], [2.0, 4.0]]}));
    assert_eq!(neuralc(&["run", "-e", "-1"]).out, "-1\n");
}

#[test]
fn derivatives() {
    let done = neuralc(&["run", "-e", "(* m (square v))", "m=2", "v=3", "--grad", "--json"]);
    assert_eq!(done.json(), json!({"value": 18.0, "grad": {"m": 9.0, "v": 12.0}}));
    let done = neuralc(&["run", "-e", "(* x x y)", "x=3", "y=2", "--hessian", "--json"]);
    assert_eq!(
        done.json(),
        json!({"value": 18.0, "grad": {"x": 12.0, "y": 9.0}, "hessian": {"x": {"x": 4.0, "y": 6.0}, "y": {"x": 6.0, "y": 0.0}}})
    );
    let done = neuralc(&["run", "-e", "(* k (dot v v))", "k=2", "v=[1,2]", "--hessian", "--json"]);
    assert_eq!(done.json()["hessian"], json!({"k": {"k": 0.0, "v": [2.0, 4.0]}, "v": {"k": [2.0, 4.0], "v": [[4.0, 0.0], [0.0, 4.0]]}}));
    let done = neuralc(&["run", "-e", "(sin x)", "x=0", "--grad"]);
    assert_eq!(done.out, "value  0\nd/dx   1\n");
}

#[test]
fn a_branch_not_taken_does_not_exist() {
    let done = neuralc(&["run", "-e", "(if (> x 0) (/ 1 x) 0)", "x=0", "--grad", "--trap", "--json"]);
    assert_eq!(done.json(), json!({"value": 0.0, "grad": {"x": 0.0}}));
}

#[test]
fn numbers_json_cannot_hold() {
    assert_eq!(
        neuralc(&["run", "-e", "[(/ 1 x) (/ -1 x) (/ 0 x)]", "x=0", "--json"]).out,
        "{\"value\":[\"Infinity\",\"-Infinity\",\"NaN\"]}\n"
    );
    assert_eq!(neuralc(&["run", "-e", "x", "x=NaN"]).out, "+nan.0\n");
}

#[test]
fn single_precision_prints_its_own_digits() {
    assert_eq!(neuralc(&["run", "-e", "(+ x 0.2)", "x=0.1", "--dtype", "f32"]).out, "0.3\n");
    assert_eq!(neuralc(&["run", "-e", "(/ 1 3)", "--dtype", "f32", "--json"]).out, "{\"value\":0.33333334}\n");
    assert_eq!(neuralc(&["run", "-e", "(/ 1 3)", "--json"]).out, "{\"value\":0.3333333333333333}\n");
}

#[test]
fn files_and_standard_input() {
    let (_folder, path) = file("model.scm", "(param k 5.0)\n(param v [1 2])\n(* k x (vsum v)) ; with a comment\n");
    assert_eq!(neuralc(&["run", &path, "x=2"]).out, "30\n");
    assert_eq!(neuralc(&["run", &path, "x=2", "k=1"]).out, "6\n");
    assert_eq!(neuralc(&["run", &path, "--grad", "--json", "x=2"]).json()["grad"], json!({"k": 6.0, "x": 15.0, "v": [10.0, 10.0]}));
    assert_eq!(neuralc_with("(+ 1 x)", &["run", "-", "x=2"]).out, "3\n");
    let (_folder, path) = file("pendulum.scm", "(param a 2)(state u 1.0)(state w a)(derive u w)(derive w (- (sin u)))");
    let done = neuralc(&["run", &path]);
    assert!(done.code == 0 && done.out.starts_with("[2 -0.84147"), "{done:?}");
}

#[test]
fn wrong_inputs() {
    for (args, code) in [
        (vec!["-e", "(+ x y)", "x=1"], "missing-input"),
        (vec!["-e", "(+ speed 1)", "speed=1", "sped=1"], "unknown-input"),
        (vec!["-e", "x", "x=1", "x=2"], "duplicate-input"),
        (vec!["-e", "x", "x=abc"], "bad-value"),
        (vec!["-e", "x", "x="], "bad-value"),
        (vec!["-e", "x", "x=[[1],[2,3]]"], "bad-value"),
        (vec!["-e", "(- x 9007199254740992)", "x=9007199254740993"], "bad-value"),
        (vec!["-e", "(dot a b)", "a=[1,2]", "b=[1,2,3]"], "shape-mismatch"),
        (vec!["-e", "(input v :size 3) (vsum v)", "v=[1,2]"], "input-shape"),
        (vec!["-e", "(vec x 1)", "x=1", "--grad"], "grad-needs-scalar"),
        (vec!["-e", "(sqrt x)", "x=-1", "--trap"], "domain-left"),
        (vec!["-e", "(loop ((i 0)) (recur (+ i 1)))", "--max-iterations", "1000"], "limit-iterations"),
        (vec!["-e", "(define (f n) (+ 1 (f n))) (f 1)", "--max-depth", "100"], "limit-depth"),
        (vec!["-e", "(+ 1 2)", "--max-source-bytes", "3"], "limit-source-size"),
        (vec!["-e", "((((1))))", "--max-nesting", "3"], "limit-nesting"),
        (vec!["no-such-file.scm"], "cannot-read"),
        (vec!["."], "cannot-read"),
    ] {
        let args = [&["run", "--json"], &args[..]].concat();
        let done = neuralc(&args);
        assert_eq!((done.code, done.codes().first().map(String::as_str)), (1, Some(code)), "{args:?} {done:?}");
        assert!(done.err.is_empty());
    }
    let done = neuralc(&["run", "-e", "(+ speed 1)", "sped=1"]);
    assert!(
        done.code == 1 && done.out.is_empty() && done.err.contains("did you mean `speed`?") && done.err.contains("missing-input"),
        "{done:?}"
    );
}

#[test]
fn awkward_sources() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("binary.scm");
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    let done = neuralc(&["run", path.to_str().unwrap(), "--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["not-utf8".to_string()]));
    let (_folder, path) = file("large.scm", &"x ".repeat(1000));
    assert_eq!(neuralc(&["run", &path, "--json", "--max-source-bytes", "1000"]).codes(), ["limit-source-size"]);
    assert_eq!(neuralc(&["run", "-e", "", "--json"]).codes(), ["missing-expression"]);
    let deep = "(".repeat(100_000);
    assert_eq!(neuralc_with(&deep, &["run", "-", "--json"]).codes(), ["limit-nesting"]);
    let closed = format!("{}x{}", "(sin ".repeat(100_000), ")".repeat(100_000));
    let done = neuralc_with(&closed, &["run", "-", "x=1", "--max-nesting", "1000000", "--grad"]);
    assert_eq!(done.code, 0, "{}", done.err);
}
