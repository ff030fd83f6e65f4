//! `neuralc eval`: tables through programs. Every row as `neuralc run` gives it, both file formats, and everything that can be wrong
//! with a table; and no run that fails leaves a file behind.

use crate::common::{Done, file, neuralc, neuralc_with};
use serde_json::{Value, json};
use std::path::Path;

/// A folder with tables.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_string()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), text).expect("a file");
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .expect("a folder")
            .map(|f| f.expect("a file").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }
}

/// `eval` with CSV in and out by way of the standard streams.
fn stream(table: &str, args: &[&str]) -> Done {
    neuralc_with(table, &[&["eval", "--data", "-", "--out", "-"], args].concat())
}

/// The only error of a run that read this CSV from a file and was to write beside it; nothing may be left behind.
fn error(table: impl AsRef<[u8]>, args: &[&str]) -> (String, String, Value) {
    let folder = Folder::new();
    let data = folder.write("in.csv", table);
    for out in ["out.csv", "out.parquet"] {
        let done = neuralc(&[&["eval", "--json", "--data", &data, "--out", &folder.path(out)], args].concat());
        assert_eq!((done.code, folder.files()), (1, vec!["in.csv".to_string()]), "{done:?}");
    }
    let old = folder.write("old.csv", "precious\n");
    let done = neuralc(&[&["eval", "--json", "--data", &data, "--out", &old], args].concat());
    assert_eq!((done.code, folder.read("old.csv").as_str(), folder.files().len()), (1, "precious\n", 2), "{done:?}");
    // For people, the same words.
    let text = neuralc(&[&["eval", "--data", &data, "--out", &old], args].concat());
    let found = done.json()["diagnostics"].clone();
    assert_eq!((text.code, text.out.as_str(), found.as_array().map(|a| a.len())), (1, "", Some(1)), "{text:?} {found}");
    let part = |key: &str| found[0][key].as_str().unwrap_or("").to_string();
    assert!(text.err.contains(&part("message")) && text.err.contains(&part("code")), "{text:?}");
    (part("code"), part("message"), found[0]["help"].clone())
}

fn cells(csv: &str) -> Vec<Vec<String>> {
    csv.lines().map(|l| l.split(',').map(String::from).collect()).collect()
}

/// Numbers from everywhere.
fn points(count: usize) -> Vec<(f64, f64)> {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 10f64.powi((state % 13) as i32 - 6)
    };
    let special = [(0.0, -0.0), (f64::NAN, 1.0), (f64::INFINITY, -1.0), (5e-324, 1e308), (-1.0, f64::NEG_INFINITY)];
    special.into_iter().chain((0..count).map(|_| (next(), next()))).collect()
}

fn table(points: &[(f64, f64)]) -> String {
    let rows: String = points.iter().enumerate().map(|(i, (x, y))| format!("{x:?},row {i},{y:?}\n")).collect();
    format!("x,label,y\n{rows}")
}

/// The bits of a number as it is printed.
fn bits_of(text: &str, single: bool) -> u64 {
    let x = if single { text.parse::<f32>().map(f64::from) } else { text.parse::<f64>() }.unwrap_or_else(|e| panic!("{text}: {e}"));
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

#[test]
fn every_row_is_what_run_gives() {
    let program =
        "(param k 1/3) (if (> x y) (* k (sin (* x y))) (loop ((i 0) (s y)) (if (< i 3) (recur (+ i 1) (+ s (tanh (* x s)))) (exp s))))";
    let points = points(25);
    for dtype in ["f64", "f32"] {
        let single = dtype == "f32";
        let done = stream(&table(&points), &["-e", program, "--grad", "--dtype", dtype]);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
        let rows = cells(&done.out);
        assert_eq!(rows[0], ["x", "label", "y", "value", "d/dx", "d/dy"]);
        assert_eq!(rows.len(), points.len() + 1);
        for (i, ((x, y), row)) in points.iter().zip(&rows[1..]).enumerate() {
            assert_eq!(row[..3], [format!("{x:?}"), format!("row {i}"), format!("{y:?}")]);
            let (x, y) = (format!("x={x:?}"), format!("y={y:?}"));
            let run = neuralc(&["run", "-e", program, &x, &y, "--grad", "--dtype", dtype]).out;
            let of = |name: &str| run.lines().find_map(|l| l.strip_prefix(name)).map(|v| bits_of(v.trim().trim_end_matches(".0"), single));
            let expected = ["value ", "d/dx ", "d/dy "].map(|name| of(name).expect("a line"));
            let found = [3, 4, 5].map(|c: usize| bits_of(&row[c], single));
            assert_eq!(found, expected, "{dtype} {x} {y}: {row:?} {run}");
        }
    }
}

/// A column with the name of a constant would be ignored.
#[test]
fn a_column_named_like_a_constant_is_an_error() {
    let done = stream("x,h\n1,2\n", &["-e", "(constants si) (* h x)"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.err.contains("duplicate-name") && done.err.contains("`h` is the constant 6.62607015e-34"), "{done:?}");
    // not used, not in the way
    let done = stream("x,h\n1,2\n", &["-e", "(constants si) (* c x)"]);
    assert_eq!((done.code, done.out.as_str()), (0, "x,h,value\n1,2,299792458.0\n"), "{done:?}");
}

#[test]
fn vectors_and_matrices_bind_element_by_element() {
    let csv = "v[1],\"m[0,1]\",v[0],\"m[0,0]\",\"m[1, 0]\",\"m[1,1]\"\n2,20,1,10,30,40\n-1,0,1,0.5,1,0\n";
    let done = stream(csv, &["-e", "(matvec m v)"]);
    assert_eq!(done.code, 0, "{done:?}");
    let header = "v[1],\"m[0,1]\",v[0],\"m[0,0]\",\"m[1, 0]\",\"m[1,1]\"";
    assert_eq!(done.out, format!("{header},value[0],value[1]\n2,20,1,10,30,40,50.0,110.0\n-1,0,1,0.5,1,0,0.5,1.0\n"));
    let done = stream("v[0],v[1],k\n1,2,3\n", &["-e", "(* k (dot v v))", "--grad"]);
    assert_eq!(
        done.out,
        "v[0],v[1],k,value,d/dk,d/dv[0],d/dv[1]\n1,2,3,15.0,5.0,6.0,12.0\n".replace("d/dk,d/dv[0],d/dv[1]", &order(&done.out)),
        "{done:?}"
    );
    assert_eq!(
        stream("a\n2\n", &["-e", "(transpose [[a 1] [0 3]])"]).out,
        "a,\"value[0,0]\",\"value[0,1]\",\"value[1,0]\",\"value[1,1]\"\n2,2.0,0.0,1.0,3.0\n"
    );
    assert_eq!(stream("a\n2\n", &["-e", "(* a v)", "--set", "v=[1,2]"]).out, "a,value[0],value[1]\n2,2.0,4.0\n");
}

/// The gradient's columns as they came (the program decides their order).
fn order(csv: &str) -> String {
    csv.lines().next().expect("a header").split(',').filter(|c| c.starts_with("d/d")).collect::<Vec<_>>().join(",")
}

#[test]
fn inputs_that_are_no_columns() {
    let folder = Folder::new();
    let model = folder.write("model.scm", "(param k 5.0)\n(param v [1 2])\n(* k x (vsum v))\n");
    assert_eq!(stream("x\n2\n3\n", &[&model]).out, "x,value\n2,30.0\n3,45.0\n");
    assert_eq!(stream("x\n2\n3\n", &[&model, "--set", "k=1"]).out, "x,value\n2,6.0\n3,9.0\n");
    assert_eq!(stream("x\n2\n", &[&model, "--set", "v=[-1, 2]", "--grad"]).out, "x,value,d/dx\n2,10.0,5.0\n");
    // A parameter with a column is an input like any other.
    assert_eq!(stream("k,x\n1,2\n2,2\n", &[&model]).out, "k,x,value\n1,2,6.0\n2,2,12.0\n");
    // A state starts where it is declared to: at a number or at another input.
    let states = folder.write("states.scm", "(param a 2)(state u 1.0)(state w a)(derive u w)(derive w (- u))");
    assert_eq!(stream("a\n7\n8\n", &[&states]).out, "a,value[0],value[1]\n7,7.0,-1.0\n8,8.0,-1.0\n");
    // Programs without inputs, and tables without rows.
    assert_eq!(stream("x\na\nb\n", &["-e", "(+ 1 2)"]).out, "x,value\na,3.0\nb,3.0\n");
    assert_eq!(stream("x,y\n", &["-e", "(+ x y)", "--grad"]).out, "x,y,value,d/dx,d/dy\n");
    for (args, code) in [
        (vec!["-e", "x", "--set", "z=1"], "unknown-input"),
        (vec!["-e", "x", "--set", "x=1"], "duplicate-input"),
        (vec!["-e", "(+ x y)", "--set", "y=1", "--set", "y=1"], "duplicate-input"),
        (vec!["-e", "(+ x y)", "--set", "y=one"], "bad-value"),
        (vec!["-e", "(vec x 1)", "--grad"], "grad-needs-scalar"),
        (vec!["-e", "(sin x"], "missing-paren"),
    ] {
        let found = error("x\n1\n", &args).0;
        assert!(found == code || code == "missing-paren" && !found.is_empty(), "{args:?} {found}");
    }
}

#[test]
fn text_is_handed_on_as_it_is() {
    let csv = "\u{feff}name,x\r\n\"a, \"\"b\"\"\",1\r\n\r\n\"two\nlines\", 2 \r\n,1/4\r\nθ,+1e0";
    let done = stream(csv, &["-e", "(* 2 x)"]);
    assert_eq!(done.out, "name,x,value\n\"a, \"\"b\"\"\",1,2.0\n\"two\nlines\", 2 ,4.0\n,1/4,0.5\nθ,+1e0,2.0\n", "{done:?}");
    // What other programs write for numbers that are none.
    let done = stream("x\nnan\nNaN\n-inf\nInfinity\n+nan.0\n-inf.0\n", &["-e", "(- x)"]);
    assert_eq!(done.out, "x,value\nnan,NaN\nNaN,NaN\n-inf,inf\nInfinity,-inf\n+nan.0,NaN\n-inf.0,inf\n", "{done:?}");
}

#[test]
fn parquet_there_and_back() {
    let folder = Folder::new();
    let points = points(70_000);
    let data = folder.write("in.csv", table(&points));
    let program = ["-e", "(* (sin x) y)", "--grad"];
    let run = |data: &str, out: &str| {
        let done = neuralc(&[&["eval", "--data", data, "--out", &folder.path(out)], &program[..]].concat());
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    };
    run(&data, "direct.csv");
    // The same table as Parquet, made with a program whose result is dropped by name.
    let done = neuralc(&["eval", "--data", &data, "--out", &folder.path("in.parquet"), "-e", "(vec x y)"]);
    assert_eq!(done.code, 0, "{done:?}");
    run(&folder.path("in.parquet"), "out.parquet");
    run(&folder.path("in.parquet"), "out.csv");
    // Columns of the first: x label y value d/dx d/dy; of the second the vector comes between.
    let (direct, around) = (cells(&folder.read("direct.csv")), cells(&folder.read("out.csv")));
    assert_eq!((direct.len(), around.len()), (points.len() + 1, points.len() + 1));
    assert_eq!(around[0], ["x", "label", "y", "value[0]", "value[1]", "value", "d/dx", "d/dy"]);
    for (a, b) in direct.iter().zip(&around).skip(1) {
        assert_eq!((bits_of(&a[0], false), &a[1], bits_of(&a[2], false)), (bits_of(&b[0], false), &b[1], bits_of(&b[2], false)));
        assert_eq!((&b[0], &b[2]), (&b[3], &b[4]));
        assert_eq!(a[3..], b[5..]);
    }
    // And what was written as Parquet reads back to the same bits.
    let done = neuralc(&["eval", "--data", &folder.path("out.parquet"), "--out", &folder.path("again.csv"), "-e", "0", "--json"]);
    assert_eq!(done.code, 1, "a column `value` is there already: {done:?}");
    let done = neuralc(&["eval", "--data", &folder.path("out.parquet"), "--out", &folder.path("again.csv"), "-e", "(vec 0)", "--json"]);
    assert_eq!(done.codes(), ["duplicate-column"], "value[0] is there, too");
    let done = neuralc(&["eval", "--data", &folder.path("out.parquet"), "--out", &folder.path("again.csv"), "-e", "[[0]]", "--json"]);
    assert_eq!(
        done.json(),
        json!({
            "rows": points.len(), "columns": ["value[0,0]"], "failed": {"count": 0, "first": []},
            "table": {"separator": ",", "notes": []}
        })
    );
    for (a, b) in folder.read("out.csv").lines().zip(folder.read("again.csv").lines()).skip(1) {
        assert_eq!(format!("{a},0.0"), b);
    }
}

#[test]
fn single_precision_in_parquet() {
    let folder = Folder::new();
    let data = folder.write("in.csv", "x,n\n0.1,1\n3,2\n");
    let first = neuralc(&["eval", "--data", &data, "--out", &folder.path("a.parquet"), "-e", "(/ x 3)", "--dtype", "f32"]);
    assert_eq!(first.out, format!("{}: 2 rows, value\n", folder.path("a.parquet")), "{first:?}");
    let done = neuralc(&["eval", "--data", &folder.path("a.parquet"), "--out", "-", "-e", "[(* 2 value) n]"]);
    assert_eq!(done.out.lines().next(), Some("x,n,value,value[0],value[1]"), "{done:?}");
    let rows = cells(&done.out);
    // Text that says numbers is read as numbers; f32 keeps its own digits.
    assert_eq!(rows[2], ["3.0", "2", "1.0", "2.0", "2.0"]);
    assert_eq!(rows[1][2].parse::<f32>().map(|x| x.to_bits()), Ok((0.1f32 / 3.0).to_bits()), "{rows:?}");
}

#[test]
fn the_threads_do_not_show() {
    let csv = table(&points(140_000));
    let of = |threads: &str| stream(&csv, &["-e", "(exp (sin (* x y)))", "--grad", "--threads", threads]).out;
    let one = of("1");
    assert_eq!(one.lines().count(), 140_006);
    assert!(one == of("2") && one == of("7"));
    assert_eq!(stream(&csv, &["-e", "x", "--threads", "0"]).code, 2);
}

#[test]
fn missing_columns() {
    let (code, message, help) = error("sped,t\n1,2\n", &["-e", "(* speed t)"]);
    assert_eq!(
        (code.as_str(), message.as_str(), help),
        ("missing-column", "the table has no column `speed`", json!("did you mean `sped`?"))
    );
    let (_, message, help) = error("v[0],v[2]\n1,2\n", &["-e", "(vsum v)"]);
    assert_eq!((message.as_str(), help), ("the table has no column `v[1]`", json!("did you mean `v[0]`?")));
    let (_, message, _) = error("v[0],v[1]\n1,2\n", &["-e", "(input v :size 3) (vsum v)"]);
    assert_eq!(message, "the table has no column `v[2]`");
    let (_, message, _) = error("x\n1\n", &["-e", "(* x (det m))"]);
    assert_eq!(message, "the table has no column `m[0,0]`");
    let (code, _, help) = error("1.5,2\n1,2\n", &["-e", "(sin x)"]);
    assert_eq!(
        (code.as_str(), help),
        ("no-header", json!("the first row of the table must hold the names of its columns; if it has none: --header c1,c2"))
    );
    let (_, _, help) = error("a,b\n1,2\n", &["-e", "(sin theta)"]);
    assert_eq!(help, json!("its columns are `a`, `b`; for a value that is no column: --set theta=VALUE"));
    let (code, ..) = error("v[0],v[1],v[2]\n1,2,3\n", &["-e", "(input v :size 2) (vsum v)"]);
    assert_eq!(code, "input-shape");
}

#[test]
fn cells_that_are_no_numbers() {
    let wrong = |csv: &str| {
        let (code, message, _) = error(csv, &["-e", "(+ x y)"]);
        (code, message)
    };
    let not = |message: &str| ("not-a-number".to_string(), message.to_string());
    assert_eq!(wrong("x,y\n1,2\n3,abc\n"), not("row 2 (line 3), column `y`: `abc` is not a number"));
    assert_eq!(wrong("x,y\n1,2\n3,b\na,1\n"), not("row 2 (line 3), column `y`: `b` is not a number"));
    assert_eq!(wrong("x,y\na,b\n"), not("row 1 (line 2), column `x`: `a` is not a number"));
    assert_eq!(wrong("x,y\n1,2\n3,\n"), ("empty-cell".into(), "row 2 (line 3), column `y`: the cell is empty, a number is needed".into()));
    assert_eq!(wrong("x,y\n1,2\n  ,3\n").0, "empty-cell");
    assert_eq!(wrong("x,y\n1,1e999\n").0, "not-a-number");
    // Far behind the first chunk.
    let far = format!("x,y\n{}1,oops\n", "1,2\n".repeat(150_000));
    assert_eq!(wrong(&far), not("row 150001 (line 150002), column `y`: `oops` is not a number"));
    assert_eq!(error(b"x,y\n1,\xff\n", &["-e", "(+ x y)"]).1, "row 1 (line 2), column `y`: the cell is not UTF-8 text");
}

#[test]
fn ragged_rows() {
    let wrong = |csv: &str| {
        let (code, message, _) = error(csv, &["-e", "(+ x y)"]);
        assert_eq!(code, "ragged-row");
        message
    };
    assert_eq!(wrong("x,y,z\n1,2,3\n1\n"), "row 2 (line 3) has 1 cell, the header has 3: column `y` is missing");
    assert_eq!(wrong("x,y\n1,2,3\n"), "row 1 (line 2) has 3 cells, the header has 2: there is more behind column `y`");
    assert_eq!(
        wrong(&format!("x,y\n{}1,2,3\n", "1,2\n".repeat(70_000))),
        "row 70001 (line 70002) has 3 cells, the header has 2: there is more behind column `y`"
    );
    // Mistakes come in the order of the rows.
    assert_eq!(error("x,y\n1,a\n1,2,3\n", &["-e", "(+ x y)"]).0, "not-a-number");
}

#[test]
fn a_quote_that_is_never_closed_does_not_swallow_the_file() {
    let (code, message, _) = error(format!("x\n1\n\"{}", "0123456\n".repeat(9_000_000)), &["-e", "x"]);
    assert_eq!(code, "limit-row-size", "{message}");
    assert!(message.starts_with("row 2 of "), "{message}");
    // Nor is a table empty whose header does not end.
    let (code, message, _) = error("x".repeat((64 << 20) + 9), &["-e", "x"]);
    assert!(code == "limit-row-size" && message.starts_with("the header of "), "{code}: {message}");
    let (code, message, _) = error("# comment\n".repeat(7 << 20), &["-e", "x"]);
    assert!(code == "limit-row-size" && message.contains("has no header in its first 64 MiB"), "{code}: {message}");
    assert_eq!(error("# comment\n", &["-e", "x"]).0, "empty-table");
}

#[test]
fn more_columns_than_memory_are_refused_as_parquet() {
    let folder = Folder::new();
    let data = folder.write("in.csv", "x\n1\n");
    let eval = |out: &str, memory: &str| {
        neuralc(&["--json", "--max-memory", memory, "eval", "-e", "(* x (ones 300))", "--data", &data, "--out", &folder.path(out)])
    };
    let done = eval("out.parquet", "2000000");
    assert_eq!((done.code, done.codes()), (1, vec!["limit-memory".to_string()]), "{done:?}");
    assert_eq!(folder.files().len(), 1);
    assert_eq!((eval("out.csv", "2000000").code, eval("out.parquet", "4000000").code), (0, 0));
}

#[test]
fn names_twice() {
    let (code, message, _) = error("x,y,x\n1,2,3\n", &["-e", "(+ x y)"]);
    assert!(code == "duplicate-column" && message.ends_with("has two columns `x`"), "{message}");
    assert_eq!(error("v[0],v[ 0]\n1,2\n", &["-e", "(vsum v)"]).0, "duplicate-column");
    assert_eq!(error("x,value\n1,2\n", &["-e", "x"]).0, "duplicate-column");
    assert_eq!(error("x,d/dx\n1,2\n", &["-e", "x", "--grad"]).0, "duplicate-column");
    assert_eq!(stream("x,d/dx\n1,2\n", &["-e", "x"]).out, "x,d/dx,value\n1,2,1.0\n");
}

const ROUNDS: &str = "(loop ((i 0)) (if (< i n) (recur (+ i 1)) (* 2 i)))";

#[test]
fn rows_that_fail() {
    let (code, message, help) = error("n\n5\n100\n7\n1000\n", &["-e", ROUNDS, "--max-iterations", "50"]);
    assert!(code == "limit-iterations" && message.starts_with("row 2 (line 3): "), "{code} {message}");
    assert!(help.as_str().is_some_and(|h| h.contains("--max-iterations")), "{help}");
    let csv = format!("n\n{}100\n7\n", "3\n".repeat(70_000));
    assert!(error(&csv, &["-e", ROUNDS, "--max-iterations", "50"]).1.starts_with("row 70001 (line 70002): "));
}

#[test]
fn rows_that_fail_can_be_left_out() {
    let args = ["-e", ROUNDS, "--max-iterations", "50", "--keep-going"];
    let done = stream("n\n5\n100\n7\n1000\n", &args);
    assert_eq!((done.code, done.out.as_str()), (0, "n,value\n5,10.0\n100,\n7,14.0\n1000,\n"), "{done:?}");
    for part in ["row 2 (line 3): ", "row 4 (line 5): ", "limit-iterations", "2 of 4 rows failed; their results are empty"] {
        assert!(done.err.contains(part), "{part}: {done:?}");
    }
    // A column of empty cells only must not look like a blank line.
    let folder = Folder::new();
    let data = folder.write("in.csv", "n\n5\n100\n7\n");
    let done = neuralc(&[&["eval", "--json", "--data", &data, "--out", &folder.path("out.parquet")], &args[..]].concat());
    let failed = done.json()["failed"].clone();
    assert_eq!((done.code, &failed["count"], &failed["first"][0]["row"]), (0, &json!(1), &json!(2)), "{done:?}");
    let done = neuralc(&["eval", "--data", &folder.path("out.parquet"), "--out", "-", "-e", "[n]"]);
    assert_eq!(done.out, "n,value,value[0]\n5.0,10.0,5.0\n100.0,,100.0\n7.0,14.0,7.0\n");
    // A missing value is no number.
    let done = neuralc(&["eval", "--json", "--data", &folder.path("out.parquet"), "--out", &folder.path("no.csv"), "-e", "[value]"]);
    assert_eq!(done.codes(), ["empty-cell"]);
    assert_eq!(folder.files(), ["in.csv", "out.parquet"]);
    let many = stream(&format!("n\n{}", "99\n".repeat(1000)), &args);
    assert_eq!(many.err.matches("limit-iterations").count(), 5, "{}", many.err);
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let folder = Folder::new();
    let empty = folder.write("empty.csv", "");
    let blank = folder.write("blank.csv", "\n\n");
    let nothing = folder.write("empty.parquet", "");
    let fake = folder.write("fake.parquet", "x\n1\n");
    let good = folder.write("good.csv", "x\n1\n");
    std::fs::create_dir(folder.path("folder.csv")).expect("a folder");
    let before = folder.files();
    let out = folder.path("out.csv");
    for (data, out, code) in [
        (&empty, &out, "empty-table"),
        (&blank, &out, "empty-table"),
        (&nothing, &out, "empty-table"),
        (&fake, &out, "cannot-read"),
        (&folder.path("none.csv"), &out, "cannot-read"),
        (&folder.path("none.parquet"), &out, "cannot-read"),
        (&folder.path("folder.csv"), &out, "cannot-read"),
        (&good, &folder.path("folder.csv"), "cannot-write"),
        (&good, &folder.path("no/such/folder/out.csv"), "cannot-write"),
    ] {
        let done = neuralc(&["eval", "--json", "-e", "x", "--data", data, "--out", out]);
        assert_eq!((done.code, done.codes()), (1, vec![code.to_string()]), "{data} {out}");
    }
    for (data, out) in [("in.xlsx", "out.csv"), ("in", "out.csv"), (good.as_str(), "out.xlsx"), (good.as_str(), "out")] {
        let done = neuralc(&["eval", "-e", "x", "--data", data, "--out", out]);
        assert!(done.code == 2 && done.err.contains("is neither .csv"), "{done:?}");
    }
    assert_eq!(neuralc(&["eval", "-", "--data", "-", "--out", &out]).code, 2);
    assert_eq!(neuralc(&["eval", "-e", "x", "--json", "--data", &good, "--out", "-"]).code, 2);
    assert_eq!(stream("", &["-e", "x"]).code, 1);
    assert_eq!(folder.files(), before);
}

#[test]
fn a_table_is_not_written_over_by_its_results() {
    let folder = Folder::new();
    let data = folder.write("data.csv", "x\n1\n2\n");
    for (command, out) in [("eval", data.clone()), ("predict", data.clone()), ("eval", data.replace("data.csv", "./data.csv"))] {
        let done = neuralc(&[command, "-e", "(* x 2)", "--data", &data, "--out", &out]);
        assert!(done.code == 2 && done.err.contains("--out would write over the table"), "{done:?}");
        assert_eq!((folder.read("data.csv").as_str(), folder.files().len()), ("x\n1\n2\n", 1));
    }
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_any_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let data = folder.write("in.csv", "x\n1\n");
    let mode = |path: &str| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    let (out, old) = (folder.path("out.csv"), folder.write("old.csv", ""));
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o640)).expect("permissions");
    for out in [&out, &old] {
        assert_eq!(neuralc(&["eval", "-e", "x", "--data", &data, "--out", out]).code, 0);
    }
    assert_eq!((mode(&out), mode(&old)), (mode(&data), 0o640));
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_behind() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        let folder = Folder::new();
        let out = folder.write("out.csv", "precious\n");
        // Standard input stays open: the run waits for more rows.
        // A signal that whoever started the tests ignores, as `nohup` does, would be ignored by design.
        let mut child = Command::new("env")
            .args(["--default-signal", env!("CARGO_BIN_EXE_neuralc"), "eval", "-e", "x", "--data", "-", "--out", &out])
            .stdin(Stdio::piped())
            .spawn()
            .expect("neuralc starts");
        let mut stdin = child.stdin.take().expect("piped");
        std::io::Write::write_all(&mut stdin, b"x\n1\n2\n").expect("it reads");
        std::io::Write::write_all(&mut stdin, "3\n".repeat(200_000).as_bytes()).expect("it reads");
        while folder.files().len() != 2 {
            assert!(child.try_wait().expect("a process").is_none(), "it ended");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().expect("kill");
        assert!(sent.success());
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(number), "{status:?}");
        assert_eq!((folder.read("out.csv").as_str(), folder.files().len()), ("precious\n", 1));
        assert!(Path::new(&out).exists());
    }
}

/// Both sides are the same, so that nobody needs the condition; it fails all the same, as it does for a single row.
#[test]
fn a_condition_fails_where_its_sides_are_alike() {
    let (_folder, data) = file("data.csv", "i,x\n0,1\n5,2\n1,3\n");
    let text = "(if (> (ref [1 2] i) 0) (+ x 1) (+ x 1))";
    let done = neuralc(&["eval", "-e", text, "--data", &data, "--out", "-"]);
    assert!(done.code == 1 && done.err.contains("index-out-of-range") && done.err.contains("row 2"), "{done:?}");
    let one = neuralc(&["run", "-e", text, "i=5", "x=2"]);
    assert!(one.code == 1 && one.err.contains("index-out-of-range"), "{one:?}");
}
