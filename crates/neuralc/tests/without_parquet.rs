//! Built without its default features, the command line reads and writes text, and says what it lacks of Parquet.
//! Run by `cargo test -p neuralc --no-default-features --test without_parquet`; with them there is nothing to test.

#![cfg(not(feature = "parquet"))]

mod common;

use common::neuralc;

#[test]
fn parquet_is_named_and_csv_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    std::fs::write(path("in.csv"), "x\n1\n2\n").expect("a file");
    std::fs::write(path("in.parquet"), "PAR1").expect("a file");
    let eval = |data: &str, out: &str| neuralc(&["eval", "--json", "-e", "(* 2 x)", "--data", data, "--out", out]);
    for (data, out) in [("in.parquet", "out.csv"), ("in.csv", "out.parquet")] {
        let done = eval(&path(data), &path(out));
        assert_eq!((done.code, done.json()["diagnostics"][0]["code"].as_str()), (1, Some("no-parquet")), "{done:?}");
        assert!(!folder.path().join(out).exists(), "nothing is left half written");
    }
    assert_eq!(eval(&path("in.csv"), &path("out.csv")).code, 0);
    assert_eq!(std::fs::read_to_string(path("out.csv")).expect("a file"), "x,value\n1,2.0\n2,4.0\n");
}
