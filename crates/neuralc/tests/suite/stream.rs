//! `neuralc fit --stream`: rows that are read again and again, of one table or of many, lead to the fit they lead to in memory, and to the
//! same bits however they are spread over tables.

use crate::common::{Done, neuralc, neuralc_with};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

const DECAY: &str = "(param a 1) (param k 1) (* a (exp (- (* k t))))";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn fit(&self, data: &str, more: &[&str]) -> Done {
        let data = self.path(data).display().to_string();
        neuralc(&[&["fit", "-e", DECAY, "--data", &data, "--target", "y", "--json"], more].concat())
    }
}

/// Rows of a decay with some noise, as text; every 500th has no value to explain.
fn rows(from: usize, to: usize) -> String {
    let mut text = String::from("note,t,y\n");
    for i in from..to {
        let (t, wave) = ((i % 1000) as f64 / 250.0, ((i * i) % 97) as f64 / 97.0 - 0.5);
        let y = if i % 500 == 7 { String::new() } else { (3.0 * (-0.7 * t).exp() + 0.1 * wave).to_string() };
        writeln!(text, "n{i},{t},{y}").expect("a line");
    }
    text
}

/// What a fit says, but for how it came to it.
fn said(done: &Done) -> Value {
    assert_eq!(done.code, 0, "{done:?}");
    let mut all = done.json();
    for key in ["table", "starts", "message"] {
        all.as_object_mut().expect("an object").remove(key);
    }
    all
}

fn number(of: &Value, keys: &[&str]) -> f64 {
    keys.iter().fold(of, |v, k| &v[*k]).as_f64().unwrap_or_else(|| panic!("{keys:?} in {of}"))
}

#[test]
fn one_table_and_many_are_the_same_rows() {
    let folder = Folder::new();
    folder.write("all.csv", &rows(0, 20_000));
    let memory = said(&folder.fit("all.csv", &["--stream=never"]));
    let streamed = said(&folder.fit("all.csv", &["--stream"]));
    for keys in
        [&["params", "a", "value"][..], &["params", "k", "stderr"], &["loglik"], &["aic"], &["r2"], &["columns", "y", "rmse"], &["cost"]]
    {
        let (a, b) = (number(&streamed, keys), number(&memory, keys));
        assert!((a / b - 1.0).abs() < 1e-8, "{keys:?}: {a} {b}");
    }
    assert_eq!(streamed["observations"], json!(20_000 - 40));
    assert_eq!((&streamed["streamed"]["rows"], &memory["streamed"]), (&json!(20_000), &Value::Null));
    assert_eq!(streamed["warnings"], memory["warnings"], "rows left out are told");

    // Spread over tables of all kinds, and on one thread: the same bits.
    folder.write("many/a.csv", &rows(0, 1));
    folder.write("many/b/c.tsv", &rows(1, 9_000).replace(',', "\t"));
    folder.write("many/d.csv", "note,t,y\n");
    folder.write("rest.csv", &rows(9_000, 20_000));
    folder.write("many/_SUCCESS", "");
    let (rest, parquet) = (folder.path("rest.csv").display().to_string(), folder.path("many/e.parquet").display().to_string());
    assert_eq!(neuralc(&["eval", "-e", "(* 2 t)", "--data", &rest, "--out", &parquet, "--keep-going"]).code, 0);
    for (data, more) in [("many", &["--threads", "1"][..]), ("many", &[]), ("all.csv", &["--stream", "--threads", "3"])] {
        assert_eq!(said(&folder.fit(data, more)), streamed, "{data}");
    }
    assert_eq!(folder.fit("many/*.csv", &[]).codes(), ["too-few-rows"], "one row in `a.csv`, none in `d.csv`");
}

#[test]
fn standard_input_is_kept() {
    let text = rows(0, 3000);
    let done = neuralc_with(&text, &["fit", "-e", DECAY, "--data", "-", "--target", "y", "--stream", "--json"]);
    let folder = Folder::new();
    folder.write("all.csv", &text);
    assert_eq!(said(&done), said(&folder.fit("all.csv", &["--stream"])));
}

#[test]
fn the_report_says_how_it_was_done_and_a_saved_model_what_it_is_of() {
    let folder = Folder::new();
    folder.write("rows/a.csv", &rows(0, 2000));
    folder.write("rows/b.csv", &rows(2000, 4000));
    let (data, save) = (folder.path("rows").display().to_string(), folder.path("fitted.scm").display().to_string());
    let done = neuralc(&["fit", "-e", DECAY, "--data", &data, "--target", "y", "--save", &save]);
    assert!(done.out.contains("4000 rows were read") && done.out.contains("not held in memory"), "{done:?}");
    let saved = fs::read_to_string(&save).expect("a model");
    let record: Value =
        saved.lines().find_map(|l| l.strip_prefix("; fit: ")).map(|l| serde_json::from_str(l).expect("JSON")).expect("a record");
    assert!(record.to_string().contains("\"files\"") && record.to_string().contains("4000"), "{record}");
    let one = folder.path("rows/a.csv").display().to_string();
    assert_eq!(neuralc(&["predict", &save, "--data", &one, "--bands"]).code, 0);
}

#[test]
fn mistakes_name_table_row_and_line() {
    let folder = Folder::new();
    folder.write("rows/a.csv", &rows(0, 10));
    folder.write("rows/b.csv", "# a comment\nt,y\n1,2\n\n2,x\n");
    let message = |data: &str, more: &[&str]| {
        let done = folder.fit(data, more);
        let all = done.json()["diagnostics"][0].clone();
        (all["code"].as_str().unwrap_or_default().to_string(), all["message"].as_str().unwrap_or_default().to_string())
    };
    let b = folder.path("rows/b.csv").display().to_string();
    let (code, text) = message("rows", &[]);
    assert_eq!((code.as_str(), text.starts_with(&format!("`{b}`: row 2 (line 5), column `y`"))), ("not-a-number", true), "{text}");
    folder.write("rows/b.csv", "t,y\n1,2\n,3\n");
    assert_eq!(message("rows", &[]).1, format!("`{b}`, row 2 (line 3), column `t`: the value is missing or not a number"));
    folder.write("rows/b.csv", "t,z\n1,2\n");
    assert_eq!(message("rows", &[]).1, format!("`{b}`: the data have no column `y`"));
    folder.write("none.csv", "t,y\n");
    assert_eq!(message("none.csv", &["--stream"]).0, "no-rows");
    folder.write("one.csv", "t,y\n1,2\n");
    assert_eq!(message("one.csv", &["--stream"]).0, "too-few-rows");
    folder.write("gone.csv", "t,y\n1,\n2,\n");
    assert_eq!(message("gone.csv", &["--stream"]).0, "no-target");
    folder.write("text.csv", "t,y\n1,a\n2,b\n");
    assert_eq!(message("text.csv", &["--stream"]).0, message("text.csv", &[]).0);
    folder.write("other.csv", "t,z\n1,1\n2,2\n");
    assert_eq!(message("other.csv", &["--stream"]), message("other.csv", &[]));
}

#[test]
fn what_needs_rows_in_memory_is_refused() {
    let folder = Folder::new();
    folder.write("all.csv", &rows(0, 100));
    let plot = folder.path("plot.svg").display().to_string();
    for more in
        [&["--profile"][..], &["--bootstrap", "20"], &["--holdout", "0.1"], &["--loss", "huber"], &["--group", "note"], &["--plot", &plot]]
    {
        assert_eq!(folder.fit("all.csv", &[&["--stream"], more].concat()).codes(), ["needs-rows"], "{more:?}");
    }
    assert!(!folder.path("plot.svg").exists());
    assert_eq!(folder.fit("all.csv", &["--stream", "--loss", "huber:0.1"]).code, 0);
    fs::create_dir(folder.path("folder")).expect("a folder");
    assert_eq!(folder.fit("folder", &[]).codes(), ["cannot-read"]);
    folder.write("folder/a.csv", &rows(0, 100));
    assert_eq!(folder.fit("folder", &["--stream=never"]).code, 2);
    let dates = "d,y\n2024-01-01,1\n2024-01-03,2\n2024-01-04,4\n";
    folder.write("dates.csv", dates);
    let data = folder.path("dates.csv").display().to_string();
    let line =
        |more: &[&str]| neuralc(&[&["fit", "-e", "(param a 1) (param b 1) (+ a (* b d))", "--data", &data, "--json"], more].concat());
    assert_eq!(line(&["--stream"]).codes(), ["needs-rows"]);
    let said = ["--time-unit", "days", "--time-origin", "2024-01-01"];
    let (streamed, memory) = (line(&[&["--stream"], &said[..]].concat()).json(), line(&said).json());
    assert!((number(&streamed, &["params", "b", "value"]) - number(&memory, &["params", "b", "value"])).abs() < 1e-12, "{streamed}");
}

#[test]
fn a_fit_is_never_saved_over_its_tables_nor_among_them() {
    let folder = Folder::new();
    folder.write("rows/a.csv", &rows(0, 100));
    folder.write("rows/b/c.csv", &rows(100, 200));
    let at = |name: &str| folder.path(name).display().to_string();
    let refused = |data: &str, save: &str, why: &str| {
        let done = folder.fit(data, &["--save", &at(save)]);
        assert!(done.code == 2 && done.err.contains(why), "{data} {save}: {done:?}");
    };
    refused("rows/*.csv", "rows/a.csv", "would write over");
    refused("rows", "rows/b/c.csv", "would write over");
    refused("rows", "rows/b/fitted.scm", "inside the directory of --data");
    assert!(!folder.path("rows/b/fitted.scm").exists());
    assert_eq!(fs::read_to_string(folder.path("rows/a.csv")).expect("a table"), rows(0, 100));
    #[cfg(unix)]
    {
        // A link from elsewhere leads there too.
        std::os::unix::fs::symlink(folder.path("rows/later.scm"), folder.path("link.scm")).expect("a link");
        refused("rows", "link.scm", "inside the directory of --data");
    }
    assert_eq!(folder.fit("rows", &["--save", &at("fitted.scm")]).code, 0);
    assert_eq!(folder.fit("rows/*.csv", &["--save", &at("rows/fitted.scm")]).code, 0, "a pattern says which files are tables");
}

#[test]
fn dates_and_numbers_do_not_mix() {
    let folder = Folder::new();
    let data = folder.path("rows").display().to_string();
    let fit = |a: &str, b: &str| {
        folder.write("rows/a.csv", a);
        folder.write("rows/b.csv", b);
        let model = "(param a 1) (param b 1) (param c 1) (+ a (* b d) (* c x))";
        let done = neuralc(&[
            "fit",
            "-e",
            model,
            "--data",
            &data,
            "--target",
            "y",
            "--json",
            "--time-unit",
            "days",
            "--time-origin",
            "2024-01-01",
        ]);
        let first = done.json()["diagnostics"][0].clone();
        (done.code, first["message"].as_str().unwrap_or_default().to_string(), first["code"].as_str().unwrap_or_default().to_string())
    };
    let a = "d,x,y\n2024-01-01,1,1\n2024-01-03,2,2\n2024-01-04,1,4\n";
    let dates = "d,x,y\n2024-01-05,1,6\n2024-01-08,3,7\n";
    assert_eq!(fit(a, dates).0, 0);
    let (code, message, kind) = fit(a, "d,x,y\n2024-01-05,1,6\n,1,\n19727,3,7\n");
    assert!(code == 1 && message.contains("b.csv`: row 3 (line 4), column `d`: `19727` is not a date"), "{message}");
    assert_eq!(kind, "not-a-number");
    // All numbers, in a table of its own.
    let (code, message, _) = fit(a, "d,x,y\n4,1,6\n7,3,7\n");
    assert!(code == 1 && message.contains("b.csv`: row 1 (line 2), column `d`: `4` is not a date"), "{message}");
    // Dates in a column that began with numbers, whether or not another one holds dates.
    let (code, message, kind) = fit(a, "d,x,y\n2024-01-05,2024-01-05,6\n2024-01-08,3,7\n");
    assert!(code == 1 && message.contains("b.csv`: row 1 (line 2), column `x`") && kind == "not-a-number", "{kind}: {message}");
    let (code, message, kind) = fit("d,x,y\n1,1,1\n2,2,2\n3,1,4\n", dates);
    assert!(code == 1 && message.contains("b.csv`: row 1 (line 2), column `d`") && kind == "not-a-number", "{kind}: {message}");
    // A table in which every date is missing has none that is wrong.
    assert_eq!(fit(a, &format!("d,x,y\n,1,\n,2,\n{}", &dates[6..])).0, 0);
    assert_eq!(fit(a, "d,x,y\n,1,\n,2,\n").0, 0);
}

/// A Parquet file with a gap before its footer that makes it this long; nothing is stored there, and nothing reads it.
fn lengthened(bytes: &[u8], length: u64, path: &std::path::Path) {
    use std::io::{Seek, SeekFrom, Write};
    let end = bytes.len() - 8;
    let footer = u32::from_le_bytes(bytes[end..end + 4].try_into().expect("four bytes")) as usize;
    let (front, back) = bytes.split_at(end - footer);
    let mut file = fs::File::create(path).expect("a file");
    file.write_all(front).expect("bytes");
    file.seek(SeekFrom::Start(length - back.len() as u64)).expect("a place");
    file.write_all(back).expect("bytes");
}

#[test]
fn large_files_whose_dates_need_all_rows_are_held() {
    let folder = Folder::new();
    folder.write("dates.csv", "d,y\n2024-01-01,1\n2024-01-03,2\n2024-01-04,4\n");
    let at = |name: &str| folder.path(name).display().to_string();
    let (small, large) = (at("small.parquet"), at("large.parquet"));
    assert_eq!(neuralc(&["eval", "-e", "(* 2 y)", "--data", &at("dates.csv"), "--out", &small]).code, 0);
    lengthened(&fs::read(&small).expect("a file"), (1 << 30) + 4096, &folder.path("large.parquet"));
    let line = |data: &str, more: &[&str]| {
        let model = "(param a 1) (param b 1) (+ a (* b d))";
        neuralc(&[&["fit", "-e", model, "--data", data, "--target", "y", "--json"], more].concat())
    };
    let held = line(&large, &[]);
    assert_eq!(said(&held), said(&line(&small, &[])));
    assert_eq!(held.json()["streamed"], Value::Null);
    // Where nothing has to be found from all of them, it is read again and again.
    let dated = ["--time-unit", "days", "--time-origin", "2024-01-01"];
    assert_eq!(line(&large, &dated).json()["streamed"]["rows"], json!(3));
    // Asked for, it is refused, with a way out.
    let refused = line(&large, &["--stream"]);
    assert_eq!(refused.codes(), ["needs-rows"]);
    let help = |done: &Done| done.json()["diagnostics"][0]["help"].as_str().unwrap_or_default().to_string();
    assert!(help(&refused).contains("--time-origin") && help(&refused).contains("--stream=never"), "{refused:?}");
    assert!(help(&line(&small, &["--stream", "--profile"])).contains("--stream=never"));
    folder.write("many/a.csv", &rows(0, 100));
    let many = folder.fit("many", &["--profile"]);
    assert!(many.codes() == ["needs-rows"] && !help(&many).contains("--stream=never"), "{many:?}");
}

#[test]
fn columns_of_text_are_no_columns_of_the_fit() {
    let folder = Folder::new();
    let mut text = String::from("y,t,y [V]\n");
    for i in 0..200 {
        let t = f64::from(i) / 50.0;
        writeln!(text, "high,{t},{}", 3.0 * (-0.7 * t).exp() + 0.01 * f64::from(i * i % 7)).expect("a line");
    }
    folder.write("units.csv", &text);
    let (memory, streamed) = (said(&folder.fit("units.csv", &[])), said(&folder.fit("units.csv", &["--stream"])));
    let k = |of: &Value| number(of, &["params", "k", "value"]);
    assert!((k(&streamed) / k(&memory) - 1.0).abs() < 1e-8, "{streamed}");
    assert_eq!(streamed["warnings"], memory["warnings"]);
}
