//! `neuralc bench`: what it reports and which mistakes it finds. How fast it is belongs in bench/, not here.

use crate::common::{file, neuralc, neuralc_with};
use serde_json::json;

#[test]
fn it_reports_every_batch() {
    let done = neuralc(&[
        "bench",
        "-e",
        "(param k 2) (* k (sin (* x y)))",
        "--grad",
        "--dtype",
        "f32",
        "--batch",
        "1,300",
        "--threads",
        "2",
        "--json",
    ]);
    assert_eq!(done.code, 0, "{done:?}");
    let report = done.json();
    assert_eq!(report["inputs"], json!({"varying": 2, "shared": 1}));
    assert_eq!((&report["gradient"], &report["dtype"], &report["threads"]), (&json!(true), &json!("f32"), &json!(2)));
    let lanes: Vec<_> =
        report["batches"].as_array().expect("batches").iter().map(|b| (b["lanes"].as_u64(), b["failed"].as_u64())).collect();
    assert_eq!(lanes, [(Some(1), Some(0)), (Some(300), Some(0))]);
    for b in report["batches"].as_array().expect("batches") {
        let (call, lane) = (b["call_seconds"].as_f64().expect("a number"), b["lane_seconds"].as_f64().expect("a number"));
        assert!(call > 0.0 && (lane * b["lanes"].as_f64().expect("a number") - call).abs() <= 1e-9 * call, "{b}");
    }
    assert!(report["compile_seconds"].as_f64() > Some(0.0) && report["prepare_seconds"].as_f64() > Some(0.0));
}

#[test]
fn it_prints_a_table() {
    let done = neuralc(&["bench", "-e", "(+ x 1)", "--batch", "10"]);
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!((done.code, lines[0], lines[1]), (0, "<expression>: value, f64, 1 thread", "inputs   1 varying, 0 shared"), "{done:?}");
    assert!(lines[2].starts_with("compile  ") && lines[3].starts_with("prepare  "));
    assert_eq!(lines[5].split_whitespace().collect::<Vec<_>>(), ["batch", "per", "call", "per", "lane", "lanes", "per", "s"]);
    assert!(lines[6].trim_start().starts_with("10 ") && lines.len() == 7, "{done:?}");
}

#[test]
fn values_come_from_a_table() {
    let (_folder, path) = file("in.csv", "x,note\n1,a\n2,b\n");
    let failed = |program: &str| {
        let done = neuralc(&["bench", "-e", program, "--data", &path, "--batch", "6", "--max-iterations", "5", "--json"]);
        done.json()["batches"][0]["failed"].as_u64()
    };
    assert_eq!(failed("(* 2 x)"), Some(0));
    // Every second row asks for more rounds than are allowed.
    assert_eq!(failed("(loop ((i 0)) (if (> i (* 4 (- x 1.1))) i (recur (+ i 0.5))))"), Some(3));
    let (_folder, empty) = file("in.csv", "x\n");
    assert_eq!(neuralc(&["bench", "-e", "x", "--data", &empty, "--json"]).codes(), ["empty-table"]);
    assert_eq!(neuralc(&["bench", "-e", "(+ x y)", "--data", &path, "--json"]).codes(), ["missing-column"]);
    assert_eq!(neuralc_with("x\nno\n", &["bench", "-e", "x", "--data", "-", "--json"]).codes(), ["not-a-number"]);
}

#[test]
fn vectors_need_a_size_and_ranges_an_end() {
    let done = neuralc(&["bench", "-e", "(dot v v)", "--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["shape-unknown".to_string()]));
    assert!(done.json()["diagnostics"][0]["help"].as_str().expect("help").contains("--shape v=SIZE"));
    assert_eq!(neuralc(&["bench", "-e", "(dot v v)", "--shape", "v=3", "--grad", "--batch", "7"]).code, 0);
    assert_eq!(neuralc(&["bench", "-e", "(dot v x)", "--set", "v=[1,2]", "--shape", "x=2", "--batch", "7"]).code, 0);
    assert_eq!(neuralc(&["bench", "-e", "x", "--range", "x=0:inf"]).code, 2);
    assert_eq!(neuralc(&["bench", "-e", "x", "--range", "y=0:1", "--json"]).codes(), ["unknown-input"]);
    assert_eq!(neuralc(&["bench", "-e", "[x x]", "--grad", "--batch", "1"]).code, 1, "a gradient is of a scalar");
}

#[test]
fn sizes_are_checked() {
    for size in ["0", "x", "-1"] {
        assert_eq!(neuralc(&["bench", "-e", "x", &format!("--batch={size}")]).code, 2, "{size}");
    }
    let done = neuralc(&["bench", "-e", "x", "--batch", "1000000", "--max-memory", "1000000", "--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["limit-memory".to_string()]));
}
