//! Tables as they come: separators, decimal signs, comments, packing, missing values, dates. Each is recognised and said, or an error that
//! names the line and the option.

use crate::common::{Done, file, neuralc, neuralc_with};
use std::io::Write;

const MODEL: &str = "(param Vm 200 :min 0) (param K 0.1 :min 0) (/ (* Vm conc) (+ K conc))";

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn fit(path: &str, more: &[&str]) -> Done {
    neuralc(&[&["fit", "-e", MODEL, "--data", path, "--json"], more].concat())
}

fn value(done: &Done, name: &str) -> f64 {
    assert_eq!(done.code, 0, "{done:?}");
    done.json()["params"][name]["value"].as_f64().unwrap_or_else(|| panic!("{done:?}"))
}

fn notes(done: &Done) -> String {
    done.json()["table"]["notes"].to_string()
}

/// `eval` of a table on standard input.
fn eval(table: &str, args: &[&str]) -> Done {
    neuralc_with(table, &[&["eval", "--data", "-", "--out", "-"], args].concat())
}

/// The only error of an `eval` of a table.
fn error(table: impl AsRef<[u8]>, args: &[&str]) -> (String, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.csv");
    std::fs::write(&path, table).expect("a file");
    let out = folder.path().join("out.csv");
    let done = neuralc(&[&["eval", "--json", "--data", path.to_str().unwrap(), "--out", out.to_str().unwrap()], args].concat());
    assert_eq!((done.code, out.exists()), (1, false), "{done:?}");
    let d = done.json()["diagnostics"][0].clone();
    let part = |key: &str| d[key].as_str().unwrap_or("").to_string();
    (part("code"), part("message"), part("help"))
}

#[test]
fn the_same_record_written_in_many_ways() {
    // R: nls(rate ~ Vm * conc / (K + conc), Puromycin, subset = state == "treated"): Vm 212.7, K 0.06412.
    for (name, said) in [
        ("semi", "cells separated by `;`"),
        ("tabs", "cells separated by `tab`"),
        ("comment", "1 line with a comment skipped"),
        ("deccomma", "decimal comma"),
        ("bom", "byte order mark"),
    ] {
        let path = data(&format!("tables/{name}.csv"));
        let done = fit(&path, &[]);
        assert!((value(&done, "Vm") - 212.684).abs() < 1e-3 && (value(&done, "K") - 0.064_121).abs() < 1e-6, "{name}: {done:?}");
        assert!(notes(&done).contains(said), "{name}: {}", notes(&done));
        // For people one line says the same.
        let text = neuralc(&["fit", "-e", MODEL, "--data", &path]);
        assert!(text.err.lines().count() == 1 && text.err.contains(said), "{text:?}");
    }
    let done = fit(&data("tables/thou.csv"), &[]);
    let d = &done.json()["diagnostics"][0];
    assert_eq!((done.code, d["code"].as_str()), (1, Some("not-a-number")), "{done:?}");
    assert_eq!(d["message"], "row 1 (line 2), column `rate`: `1,76` is not a number; it would be 1.76 with --decimal ,");
}

#[test]
fn packed_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packed.csv.gz");
    let text = std::fs::read(data("tables/semi.csv")).unwrap();
    let (first, second) = text.split_at(60);
    // Two members, as `cat a.gz b.gz` makes them.
    let mut packed = Vec::new();
    for part in [first, second] {
        let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::default());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    std::fs::write(&path, &packed).unwrap();
    let done = fit(path.to_str().unwrap(), &[]);
    assert!((value(&done, "K") - 0.064_121).abs() < 1e-6 && notes(&done).contains("gzip"), "{done:?}");
    std::fs::write(&path, &packed[..packed.len() - 12]).unwrap();
    assert_eq!(fit(path.to_str().unwrap(), &[]).codes(), ["cannot-read"]);
}

#[test]
fn decimal_signs_and_groups() {
    let twice = |table: &str, args: &[&str]| eval(table, &[&["-e", "(* 2 x)"], args].concat()).out.replace("\r\n", "\n");
    assert_eq!(twice("k;x\n1;0,5\n2;1,250\n", &[]), "k,x,value\n1,0.5,1.0\n2,1.250,2.5\n");
    assert_eq!(twice("x\n\"1,234,567\"\n\"1,234\"\n", &[]), "x,value\n1234567,2469134.0\n1234,2468.0\n");
    assert_eq!(twice("k;x\n1;1.234,5\n", &[]), "k,x,value\n1,1234.5,2469.0\n");
    // What could be read in two ways is not read at all, unless it is said how.
    let (code, message, _) = error("k;x\n1;1,234\n", &["-e", "(* 2 x)"]);
    assert_eq!(code, "ambiguous-number");
    assert!(message.contains("1.234 with --decimal ,") && message.contains("1234 with --decimal . --thousands \",\""), "{message}");
    assert_eq!(twice("k;x\n1;1,234\n", &["--decimal", ","]), "k,x,value\n1,1.234,2.468\n");
    assert_eq!(twice("k;x\n1;1,234\n", &["--thousands", ","]), "k,x,value\n1,1234,2468.0\n");
    // Nor is a comma that contradicts a decimal point seen before, or the other way round.
    assert_eq!(error("x;y\n0.5;1\n1,5;2\n", &["-e", "x"]).0, "not-a-number");
    let (_, message, help) = error("x;y\n1,5;1\n0.5;2\n", &["-e", "x"]);
    assert!(message.contains("row 2 (line 3)") && help.contains("--decimal ."), "{message} {help}");
    assert!(error("x;y\n1'234;1\n", &["-e", "x"]).2.contains("--thousands \"'\""));
    assert_eq!(twice("x;y\n1'234.5;1\n", &["--thousands", "'"]), "x,y,value\n1234.5,1,2469.0\n");
    assert_eq!(neuralc(&["eval", "-e", "x", "--data", "-", "--out", "-", "--decimal", ",", "--thousands", ","]).code, 2);
}

#[test]
fn separators_and_comments() {
    let sum = |table: &str, args: &[&str]| eval(table, &[&["-e", "(+ x y)"], args].concat());
    for table in [
        "x|y\n1|2\n",
        "x\ty\n1\t2\n",
        "  x    y\n  1    2  \n",
        "x;y\n1;2\n",
        "x,y\n1,2\n",
        "# c\n#d\nx,y\r\n# e\r\n1,2\r\n\r\n",
        "x,y\n# only one cell\n1,2\n",
    ] {
        let done = sum(table, &[]);
        assert_eq!((done.code, done.out.as_str()), (0, "x,y,value\n1,2,3.0\n"), "{table:?} {done:?}");
    }
    assert!(sum("x;y\n1;2\n", &[]).err.contains("<stdin>: cells separated by `;`"));
    assert_eq!(error("x,y;z\n1,2;3\n", &["-e", "x"]).0, "ambiguous-separator");
    assert_eq!(sum("x,y;z\n1,2;3\n", &["--separator", ",", "-e", "x"]).code, 2, "-e twice");
    assert_eq!(eval("x,y;z\n1,2;3\n", &["-e", "x", "--separator", ","]).out, "x,y;z,value\n1,2;3,1.0\n");
    // A row, or a comment? It matters, so it is asked.
    assert_eq!(error("k,x\n#1,2\n3,4\n", &["-e", "x"]).0, "ambiguous-comment");
    assert_eq!(eval("k,x\n#1,2\n3,4\n", &["-e", "x", "--comment", "#"]).out, "k,x,value\n3,4,4.0\n");
    assert_eq!(eval("k,x\n#1,2\n3,4\n", &["-e", "x", "--comment", "none"]).out, "k,x,value\n#1,2,2.0\n3,4,4.0\n");
    assert!(error("x,y\n1,2\n%3,4\n", &["-e", "x"]).2.contains("--comment '%'"));
}

#[test]
fn headers() {
    assert_eq!(error("1,2\n3,4\n", &["-e", "x"]).0, "no-header");
    assert_eq!(eval("1,2\n3,4\n", &["-e", "(+ x y)", "--header", "x,y"]).out, "x,y,value\n1,2,3.0\n3,4,7.0\n");
    assert_eq!(error("1,2\n", &["-e", "x", "--header", "x"]).0, "bad-header");
    assert_eq!(error("x,y,x\n1,2,3\n", &["-e", "y"]).0, "duplicate-column");
    // Columns without a name, such as a sign too many at the end of every line, or the index of a data frame.
    assert_eq!(eval(",x,\n0,1,\n1,2,\n", &["-e", "(* 2 x)"]).out, ",x,,value\n0,1,,2.0\n1,2,,4.0\n");
    let (_folder, path) = file("framed.csv", ",conc,rate,\n0,0.02,76,\n1,0.06,97,\n2,0.11,123,\n3,0.22,159,\n");
    assert_eq!(fit(&path, &[]).code, 0);
    // Rows without any value, as spreadsheets leave them at the end.
    let done = eval("x,y\n1,2\n,\n , \n", &["-e", "x"]);
    assert_eq!(done.out, "x,y,value\n1,2,1.0\n");
    assert!(done.err.contains("2 rows without any value skipped"), "{done:?}");
}

#[test]
fn what_is_no_text_is_named() {
    for (bytes, what) in [
        (&b"\xff\xfex\x00\n\x001\x00\n\x00"[..], "UTF-16"),
        (b"PAR1\x15\x04\x15", "a Parquet file"),
        (b"PK\x03\x04\x14\0\0\0\0\0", "Excel"),
        (b"x\0\0\0\0\0\0\0\0\0\0\0\n1\n", "zero bytes"),
    ] {
        let (code, message, help) = error(bytes, &["-e", "x"]);
        assert!(code == "not-text" && message.contains(what) && !help.is_empty(), "{message} {help}");
    }
    assert_eq!(error("x,y\n1,\"2\n3,4\n", &["-e", "x"]).0, "open-quote");
}

#[test]
fn missing_values() {
    let table = "conc,rate,note\n0.02,76,a\n0.02,NA,b\n0.06,97,c\n0.06,-,d\n0.11,,e\n0.11,139,f\nNA,null,g\n0.22,159,h\n1.10,207,i\n";
    let (_folder, path) = file("gaps.csv", table);
    let done = fit(&path, &["--target", "rate"]);
    assert_eq!((done.code, done.json()["observations"].as_u64()), (0, Some(5)), "{done:?}");
    let warnings = done.json()["warnings"].to_string();
    assert!(warnings.contains("4 of 9 rows have no value of `rate` and were left out"), "{warnings}");
    assert!(notes(&done).contains("4 missing values in `rate` (such as `NA`)"), "{}", notes(&done));
    // The same numbers without the gaps.
    let (_folder, clean) = file("clean.csv", "conc,rate\n0.02,76\n0.06,97\n0.11,139\n0.22,159\n1.10,207\n");
    let clean = fit(&clean, &[]);
    assert_eq!((value(&done, "Vm"), value(&done, "K")), (value(&clean, "Vm"), value(&clean, "K")));
    // As Python and R write them, and numbers in quotes.
    let (_folder, path) = file("nan.csv", "conc,rate\n0.02,\"76\"\n0.02,NaN\n\"0.06\",97\n0.11,nan\n0.11,139\n0.22,159\n1.10,\"207\"\n");
    let done = fit(&path, &[]);
    assert_eq!((value(&done, "Vm"), value(&done, "K")), (value(&clean, "Vm"), value(&clean, "K")));
    assert!(done.json()["warnings"].to_string().contains("2 of 7 rows have no value of `rate`"), "{done:?}");
    // A marker of one's own, even one that is a number.
    let (_folder, path) = file("marked.csv", "conc,rate\n0.02,76\n0.02,-999\n0.06,97\n0.11,139\n0.22,159\n1.10,207\n");
    assert_eq!(value(&fit(&path, &["--missing", "-999"]), "K"), value(&clean, "K"));
    // An input that is missing where there is something to explain is a mistake.
    let (_folder, path) = file("hole.csv", "conc,rate\n0.02,76\nNA,47\n0.06,97\n");
    assert!(fit(&path, &[]).out.contains("row 2 (line 3), column `conc`: the value is missing"));
    // For `eval` a missing value is no number.
    assert_eq!(error("x\n1\nNA\n", &["-e", "x"]).1, "row 2 (line 3), column `x`: the value is missing (`NA`), a number is needed");
}

#[test]
fn bad_cells_can_be_left_out() {
    let table = "x,y\n1,2\noops,3\n5,\n7,8\n";
    let done = eval(table, &["-e", "(+ x y)", "--keep-going"]);
    assert_eq!((done.code, done.out.as_str()), (0, "x,y,value\n1,2,3.0\noops,3,\n5,,\n7,8,15.0\n"), "{done:?}");
    for part in
        ["row 2 (line 3), column `x`: `oops` is not a number", "row 3 (line 4), column `y`: the cell is empty", "2 of 4 rows failed"]
    {
        assert!(done.err.contains(part), "{part}: {done:?}");
    }
    assert_eq!(eval("x\na\nb\n", &["-e", "x", "--keep-going"]).out, "x,value\na,\nb,\n");
    let (folder, path) = file("in.csv", table);
    let out = folder.path().join("out.parquet").to_str().unwrap().to_string();
    assert_eq!(neuralc(&["eval", "-e", "(+ x y)", "--keep-going", "--data", &path, "--out", &out]).code, 0);
    assert_eq!(neuralc(&["eval", "-e", "0", "--data", &out, "--out", "-"]).code, 1, "a column `value` is there");
    assert_eq!(
        neuralc(&["eval", "-e", "[0]", "--data", &out, "--out", "-"]).out,
        "x,y,value,value[0]\n1.0,2.0,3.0,0.0\n,3.0,,0.0\n5.0,,,0.0\n7.0,8.0,15.0,0.0\n"
    );
}

#[test]
fn dates_are_times() {
    // x = 5 exp(-0.1 t) with t in days since the first row.
    let rows = |from: i32, to: i32| {
        (from..to).map(|d| format!("2024-02-{:02}T12:00:00Z,{}\n", 20 + d, 5.0 * (-0.1 * f64::from(d)).exp())).collect::<String>()
    };
    let (folder, path) = file("dated.csv", &format!("when,x\n{}", rows(0, 9)));
    let model = "(param k 1 :min 0) (param x0 1) (state x x0) (derive x (- (* k x)))";
    let saved = folder.path().join("saved.scm").to_str().unwrap().to_string();
    let done = neuralc(&["fit", "-e", model, "--data", &path, "--time", "when", "--json", "--save", &saved]);
    assert!((value(&done, "k") - 0.1).abs() < 1e-6, "{done:?}");
    assert_eq!(done.json()["table"]["dates"], serde_json::json!({"unit": "days", "origin": "2024-02-20T12:00:00Z"}));
    assert!(notes(&done).contains("the dates in `when` are read as days since 2024-02-20T12:00:00Z"), "{done:?}");
    let hours = neuralc(&["fit", "-e", model, "--data", &path, "--time", "when", "--json", "--time-unit", "hours"]);
    assert!((value(&hours, "k") - 0.1 / 24.0).abs() < 1e-7, "{hours:?}");
    // Starts that hold at a date: half the first rows are before it, and the value there is that of day 4.
    let dated = neuralc(&["fit", "-e", model, "--data", &path, "--time", "when", "--json", "--start-time", "2024-02-24T12:00:00Z"]);
    let counted = neuralc(&["fit", "-e", model, "--data", &path, "--time", "when", "--json", "--start-time", "4"]);
    assert!((value(&dated, "x0") - 5.0 * (-0.4f64).exp()).abs() < 1e-5 && value(&dated, "x0") == value(&counted, "x0"), "{dated:?}");
    let when = |given: &str| neuralc(&["fit", "-e", model, "--data", &path, "--time", "when", "--json", "--start-time", given]);
    assert_eq!(when("2024-02-24").codes(), ["mixed-zones"]);
    assert_eq!(when("soon").code, 2);
    let (_folder, numbers) = file("numbers.csv", "when,x\n0,5\n1,4\n2,3\n3,2\n");
    let done = neuralc(&["fit", "-e", model, "--data", &numbers, "--time", "when", "--json", "--start-time", "2024-02-24"]);
    assert_eq!(done.codes(), ["bad-start-time"]);
    // A formula, in zones of all kinds.
    let (_folder, zones) = file(
        "zones.csv",
        "t,y\n2024-01-01T00:00:00Z,1\n2024-01-01T02:00:00+01:00,2\n2024-01-01T01:00:00-01:00,3\n2024-01-01T03:00:00Z,4\n",
    );
    let line = neuralc(&["fit", "-e", "(param a 0) (param b 0) (+ a (* b t))", "--data", &zones, "--json"]);
    assert!((value(&line, "b") - 1.0).abs() < 1e-9 && notes(&line).contains("hours since"), "{line:?}");
    // A saved model knows its time 0; another one has to be told.
    let (_folder, later) = file("later.csv", "t\n2024-01-01T05:00\n");
    let (_folder, kept) = file("kept.scm", "; dates are read as hours since 2024-01-01T00:00:00\n(* 2 t)\n");
    assert_eq!(neuralc(&["predict", &kept, "--data", &later]).out, "t,prediction\n2024-01-01T05:00,10.0\n");
    let done = neuralc(&["predict", "-e", "(* 2 t)", "--data", &later, "--json", "--out", &format!("{later}.out.csv")]);
    assert_eq!(done.codes(), ["no-origin"]);
    let asked = ["--time-origin", "2024-01-01", "--time-unit", "minutes"];
    assert_eq!(
        neuralc(&[&["predict", "-e", "(* 2 t)", "--data", &later], &asked[..]].concat()).out,
        "t,prediction\n2024-01-01T05:00,600.0\n"
    );
    assert_eq!(
        neuralc(&[&["eval", "-e", "(* 2 t)", "--data", &later, "--out", "-"], &asked[..]].concat()).out,
        "t,value\n2024-01-01T05:00,600.0\n"
    );
    assert!(error("t\n2024-01-01\n", &["-e", "t"]).2.contains("--time-unit"));
    let (_folder, mixed) = file("mixed.csv", "t,y\n2024-01-01T00:00:00Z,1\n2024-01-01T02:00:00,2\n");
    assert_eq!(neuralc(&["fit", "-e", "(param a 0) (* a t)", "--data", &mixed, "--json"]).codes(), ["mixed-zones"]);
    let (_folder, wrong) = file("wrong.csv", "t,y\n2024-01-01,1\n2024-01-32,2\n");
    let done = neuralc(&["fit", "-e", "(param a 0) (* a t)", "--data", &wrong, "--json"]);
    assert_eq!(done.json()["diagnostics"][0]["message"], "row 2 (line 3), column `t`: `2024-01-32` is not a date");
}

#[test]
fn standard_input_everywhere() {
    let table = std::fs::read_to_string(data("tables/semi.csv")).unwrap();
    let done = neuralc_with(&table, &["fit", "-e", MODEL, "--data", "-", "--json"]);
    assert!((value(&done, "K") - 0.064_121).abs() < 1e-6, "{done:?}");
    let done = neuralc_with("x\n1\n2\n", &["predict", "-e", "(* 3 x)", "--data", "-"]);
    assert_eq!((done.code, done.out.as_str()), (0, "x,prediction\n1,3.0\n2,6.0\n"), "{done:?}");
}

#[test]
fn many_columns_take_no_longer_each() {
    let count = 40_000;
    let header: Vec<String> = (0..count).map(|i| format!("c{i}")).collect();
    let row: Vec<String> = (0..count).map(|i| i.to_string()).collect();
    let table = format!("{}\n{}\n{}\n", header.join(","), row.join(","), row.join(","));
    let (_folder, path) = file("wide.csv", &table);
    let done = neuralc(&["predict", "-e", "(+ c0 c39999)", "--data", &path, "--json", "--out", "-"]);
    assert_eq!(done.code, 2);
    let done = neuralc(&["predict", "-e", "(+ c0 c39999)", "--data", &path]);
    assert!(done.code == 0 && done.out.lines().nth(1).is_some_and(|l| l.ends_with(",39999.0")), "{}", done.err);
}

#[test]
fn timestamps_of_parquet_files() {
    use arrow_array::{ArrayRef, Date32Array, Float64Array, RecordBatch, TimestampMicrosecondArray, TimestampSecondArray};
    use std::sync::Arc;
    // 2024-03-01 is day 19783 since 1970-01-01; 1.5 and 2 hours later.
    let at = |hours: f64| (19783.0 * 86400.0 + hours * 3600.0) as i64;
    let hours = [0.0, 1.5, 3.5];
    let instants = hours.map(|h| Some(at(h) * 1_000_000 + 250_000));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("t", Arc::new(instants.into_iter().collect::<TimestampMicrosecondArray>().with_timezone("UTC"))),
        (
            "local",
            Arc::new([Some(at(1.0)), None, Some(at(2.0))].into_iter().collect::<TimestampSecondArray>().with_timezone("Europe/Berlin")),
        ),
        ("day", Arc::new([Some(19783), Some(19784), None].into_iter().collect::<Date32Array>())),
        ("y", Arc::new(Float64Array::from(hours.map(|h| 1.0 + 2.0 * h).to_vec()))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times.parquet").to_str().unwrap().to_string();
    let mut writer = parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let done = neuralc(&["eval", "-e", "(* 2 y)", "--data", &path, "--out", "-"]);
    let expected = "t,local,day,y,value\n2024-03-01T00:00:00.250Z,2024-03-01T01:00:00Z,2024-03-01,1.0,2.0\n\
                    2024-03-01T01:30:00.250Z,,2024-03-02,4.0,8.0\n2024-03-01T03:30:00.250Z,2024-03-01T02:00:00Z,,8.0,16.0\n";
    assert_eq!((done.code, done.out.as_str()), (0, expected), "{done:?}");
    let done = neuralc(&["fit", "-e", "(param a 0) (param b 0) (+ a (* b t))", "--data", &path, "--json"]);
    assert!((value(&done, "b") - 2.0).abs() < 1e-9 && (value(&done, "a") - 1.0).abs() < 1e-9, "{done:?}");
    assert!(notes(&done).contains("the dates in `t` are read as hours since 2024-03-01T00:00:00.250Z"), "{done:?}");
}

/// A model that says in what unit its time is has its dates read in that unit: k per hour, not per day.
#[test]
fn dates_are_in_the_unit_of_the_model() {
    let rows =
        "2024-03-01 00:00,100\n2024-03-01 12:00,62\n2024-03-02 00:00,36.5\n2024-03-03 00:00,13\n2024-03-05 00:00,2\n2024-03-25 00:00,0.1\n";
    let (_data, data) = file("d.csv", &format!("when,A\n{rows}"));
    let law = "(time when :unit h) (param k 0.03 :min 0 :unit 1/h) (state A 100 :unit mg) (derive A (* (- k) A))";
    let formula = "(input when :unit h) (param k 0.03 :min 0 :unit 1/h) (* 100 (exp (- (* k when))))";
    for model in [law, formula] {
        let report = neuralc(&["fit", "-e", model, "--data", &data, "--json"]).json();
        // SciPy's curve_fit of the same rows over hours.
        assert!((report["params"]["k"]["value"].as_f64().unwrap() - 0.041_437_72).abs() < 1e-6, "{report}");
        assert_eq!(report["table"]["dates"]["unit"], "hours");
        let other = neuralc(&["fit", "-e", model, "--data", &data, "--time-unit", "days", "--json"]);
        assert_eq!((other.code, other.codes()), (1, vec!["unit-mismatch".to_string()]), "{}", other.out);
        assert_eq!(neuralc(&["fit", "-e", model, "--data", &data, "--time-unit", "hours", "--json"]).code, 0);
    }
    let eval = |more: &[&str]| {
        let table = "when\n2024-03-02 12:00\n";
        let model = "(input when :unit h) when";
        neuralc_with(table, &[&["eval", "-e", model, "--data", "-", "--out", "-", "--time-origin", "2024-03-01"], more].concat())
    };
    assert_eq!(eval(&[]).out, "when,value\n2024-03-02 12:00,36.0\n");
    assert!(eval(&["--time-unit", "days"]).err.contains("unit-mismatch"));
}

#[test]
fn instants_and_dates_without_a_zone_do_not_mix() {
    let origin = |origin: &'static str| ["-e", "t", "--time-unit", "hours", "--time-origin", origin];
    let mixed = "t\n2024-03-31T02:30:00+02:00\n2024-03-31T00:30:00\n";
    for (said, row) in [("2024-03-31T00:00:00Z", 2), ("2024-03-31", 1)] {
        let (code, message, help) = error(mixed, &origin(said));
        assert!(
            code == "mixed-zones" && message.starts_with(&format!("row {row} (line {})", row + 1)) && help.contains("zone"),
            "{message} {help}"
        );
    }
    assert_eq!(eval("t\n2024-03-31T02:30:00+02:00\n", &origin("2024-03-31T00:00:00Z")).out, "t,value\n2024-03-31T02:30:00+02:00,0.5\n");
    // A model fitted to dates without a zone.
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    std::fs::write(path("new.csv"), "t\n2024-04-05T00:00:00Z\n").unwrap();
    let predict = |line: &str| {
        std::fs::write(path("m.scm"), format!("; dates are read as {line}\n(* 2 t)\n")).unwrap();
        neuralc(&["predict", &path("m.scm"), "--data", &path("new.csv"), "--out", &path("out.csv"), "--json"])
    };
    assert_eq!(predict("days since 2024-04-01T00:00:00").codes(), ["mixed-zones"]);
    assert_eq!(predict("fortnights since 2024-04-01T00:00:00Z").codes(), ["bad-calendar"]);
    assert_eq!(predict("days since 2024-13-01T00:00:00Z").codes(), ["bad-calendar"]);
    assert_eq!(predict("days since 2024-04-01T00:00:00Z").code, 0);
    assert_eq!(std::fs::read_to_string(path("out.csv")).unwrap(), "t,prediction\n2024-04-05T00:00:00Z,8.0\n");
}

#[test]
fn whole_numbers_no_float64_holds_are_refused() {
    let (code, message, help) = error("x,id\n1,1152921504606846977\n9007199254740993,2\n", &["-e", "(- x 9007199254740992)"]);
    assert_eq!((code.as_str(), help.contains("offset")), ("inexact-number", true));
    assert_eq!(message, "row 2 (line 3), column `x`: no float64 holds the whole number 9007199254740993: it would be 9007199254740992");
    // A column nobody asks for may hold anything; a point says that it may be rounded.
    assert_eq!(
        eval("x,id\n9007199254740993.0,1152921504606846977\n", &["-e", "(- x 9007199254740992)"]).out,
        "x,id,value\n9007199254740993.0,1152921504606846977,0.0\n"
    );
    let (_folder, path) = file("in.csv", "t,y\n9007199254740993,1\n1,2\n2,3\n");
    let done = neuralc(&["fit", "-e", "(param a 1) (* a t)", "--data", &path, "--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["inexact-number".to_string()]), "{done:?}");
}

#[test]
fn a_table_without_rows_is_an_empty_table() {
    let path = data("tables/no-rows.parquet");
    let done = neuralc(&["eval", "-e", "(* 2 x)", "--data", &path, "--out", "-"]);
    assert_eq!((done.code, done.out.as_str()), (0, "x,value\n"), "{done:?}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.parquet");
    assert_eq!(neuralc(&["eval", "-e", "(* 2 x)", "--data", &path, "--out", out.to_str().unwrap()]).code, 0);
    assert_eq!(neuralc(&["eval", "-e", "value", "--data", out.to_str().unwrap(), "--out", "-"]).err.matches("duplicate-column").count(), 1);
    let done = neuralc(&["fit", "-e", "(param a 1) (* a x)", "--data", &path, "--target", "x", "--json"]);
    assert!(done.code == 1 && !done.out.contains("damaged"), "{done:?}");
}

#[test]
fn a_number_too_large_is_no_matter_of_its_decimal_sign() {
    let (code, message, help) = error("x\n1e400\n", &["-e", "x"]);
    assert!(
        code == "not-a-number" && message.contains("too large") && !message.contains("--decimal") && !help.contains("--decimal"),
        "{message} {help}"
    );
}

/// What is handed on and what is new are written alike: a decimal comma beside a decimal point would be read as a group.
#[test]
fn written_tables_have_one_decimal_sign() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("in.csv"), "x;y;note\n1;2.773,9;\"ok; gut\"\n2;15,25;1,5 l\n4;-1.234.567,125;n/a\n").unwrap();
    for (command, out, other) in [("predict", "p.csv", "eval"), ("eval", "e.csv", "predict")] {
        let done = neuralc(&[command, "-e", "(/ y x)", "--data", &path("in.csv"), "--out", &path(out)]);
        assert_eq!(done.code, 0, "{done:?}");
        let text = std::fs::read_to_string(path(out)).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(rows, ["1,2773.9,ok; gut,2773.9", "2,15.25,\"1,5 l\",7.625", "4,-1234567.125,n/a,-308641.78125"]);
        let again = neuralc(&[other, "-e", "(/ y x)", "--data", &path(out), "--out", "-"]);
        assert_eq!(again.code, 0, "{again:?}");
        for row in again.out.lines().skip(1) {
            let cells: Vec<&str> = row.rsplit(',').collect();
            assert_eq!(cells[0], cells[1], "{row}");
        }
    }
}
