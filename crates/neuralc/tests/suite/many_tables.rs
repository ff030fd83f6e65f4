//! `neuralc eval` over directories and patterns: every table has its result, a run that was ended goes on, nothing is taken for done that
//! is not.

use crate::common::{Done, neuralc};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with `rows`: two tables, one of them packed by its name into a folder of its own, and what other programs leave behind.
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        fs::create_dir_all(folder.path("rows/day=2")).expect("a folder");
        folder.write("rows/a.csv", "x\n1\n2\n");
        folder.write("rows/day=2/b.tsv", "x\ty\n3\t5\n");
        folder.write("rows/_SUCCESS", "");
        folder.write("rows/.a.csv.crc", "junk");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn eval(&self, data: &str, out: &str, more: &[&str]) -> Done {
        let (data, out) = (self.path(data).display().to_string(), self.path(out).display().to_string());
        neuralc(&[&["eval", "-e", "(* x x)", "--data", &data, "--out", &out], more].concat())
    }

    /// What became of each table: its name and whether it was done now or before.
    fn done(&self, data: &str, more: &[&str]) -> Vec<(String, String)> {
        let done = self.eval(data, "values", &[&["--json"], more].concat());
        assert_eq!(done.code, 0, "{done:?}");
        let text = |v: &serde_json::Value| v.as_str().expect("a text").to_string();
        let name = |v: &serde_json::Value| Path::new(&text(v)).file_name().expect("a name").to_string_lossy().into_owned();
        done.json()["tables"].as_array().expect("tables").iter().map(|t| (name(&t["data"]), text(&t["done"]))).collect()
    }
}

fn list(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[test]
fn a_directory_becomes_a_directory() {
    let folder = Folder::new();
    let done = folder.eval("rows", "values", &[]);
    assert_eq!((done.code, done.out.ends_with("values: 2 tables, 3 rows\n")), (0, true), "{done:?}");
    assert_eq!(folder.read("values/a.csv"), "x,value\n1,1.0\n2,4.0\n");
    assert_eq!(folder.read("values/day=2/b.csv"), "x,y,value\n3,5,9.0\n");
}

#[test]
fn a_pattern_chooses() {
    let folder = Folder::new();
    folder.write("rows/b.csv", "x\n7\n");
    assert_eq!(folder.done("rows/*.csv", &[]), list(&[("a.csv", "now"), ("b.csv", "now")]));
    assert!(!folder.path("values/day=2").exists());
    assert_eq!(folder.done("rows/day=*/?.tsv", &[]), list(&[("b.tsv", "now")]));
    let none = folder.eval("rows/*.parquet", "values", &["--json"]);
    assert_eq!((none.code, none.codes()), (1, vec!["cannot-read".to_string()]), "{none:?}");
}

#[test]
fn a_second_run_goes_on() {
    let folder = Folder::new();
    assert_eq!(folder.done("rows", &[]), list(&[("a.csv", "now"), ("b.tsv", "now")]));
    assert_eq!(folder.done("rows", &[]), list(&[("a.csv", "before"), ("b.tsv", "before")]));
    let said = folder.eval("rows", "values", &[]);
    assert!(said.out.ends_with("values: 2 tables (2 of them done before), 3 rows\n"), "{said:?}");
    // Another number of threads makes no difference, another option does.
    assert_eq!(folder.done("rows", &["--threads", "1"]), list(&[("a.csv", "before"), ("b.tsv", "before")]));
    assert_eq!(folder.done("rows", &["--grad"]), list(&[("a.csv", "now"), ("b.tsv", "now")]));
    // A result that is gone or was changed, a table that was changed.
    assert_eq!(folder.done("rows", &["--grad"]), list(&[("a.csv", "before"), ("b.tsv", "before")]));
    fs::remove_file(folder.path("values/a.csv")).expect("it is there");
    assert_eq!(folder.done("rows", &["--grad"]), list(&[("a.csv", "now"), ("b.tsv", "before")]));
    folder.write("values/a.csv", "cut");
    assert_eq!(folder.done("rows", &["--grad"]), list(&[("a.csv", "now"), ("b.tsv", "before")]));
    folder.write("rows/day=2/b.tsv", "x\ty\n4\t5\n");
    assert_eq!(folder.done("rows", &["--grad"]), list(&[("a.csv", "before"), ("b.tsv", "now")]));
    assert!(folder.read("values/day=2/b.csv").contains("16.0"));
    // A record that was cut off in the middle of a line.
    let record = folder.read("values/.neuralc-eval.jsonl");
    folder.write("values/.neuralc-eval.jsonl", &record[..record.len() - 20]);
    assert_eq!(folder.done("rows", &["--grad"])[0], ("a.csv".to_string(), "before".to_string()));
}

#[test]
fn what_was_done_before_a_mistake_stays_done() {
    let folder = Folder::new();
    folder.write("rows/c.csv", "x\noops\n");
    let done = folder.eval("rows", "values", &["--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["not-a-number".to_string()]), "{done:?}");
    let message = done.json()["diagnostics"][0]["message"].as_str().expect("a text").to_string();
    assert!(message.contains("c.csv`: row 1"), "{message}");
    assert!(!folder.path("values/c.csv").exists());
    folder.write("rows/c.csv", "x\n5\n");
    assert_eq!(folder.done("rows", &[]), list(&[("a.csv", "before"), ("c.csv", "now"), ("b.tsv", "now")]));
}

#[test]
fn rows_that_fail_are_counted_and_named() {
    let folder = Folder::new();
    folder.write("rows/c.csv", "x\noops\n5\n");
    for when in ["now", "before"] {
        let done = folder.eval("rows", "values", &["--json", "--keep-going"]);
        let found = done.json();
        assert_eq!((found["failed"]["count"].clone(), found["rows"].clone()), (json!(1), json!(5)), "{done:?}");
        assert_eq!(found["tables"][1]["done"], json!(when));
    }
    let said = folder.eval("rows", "others", &["--keep-going"]);
    assert!(said.err.contains("c.csv: 1 of 2 rows failed") && said.out.contains("5 rows, 1 of them without results"), "{said:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new();
    folder.write("file.csv", "precious\n");
    for (data, out, words) in [("rows", "file.csv", "--out is a directory"), ("rows", "rows/values", "inside the directory of --data")] {
        let done = folder.eval(data, out, &[]);
        assert!(done.code == 2 && done.err.contains(words), "{done:?}");
    }
    assert_eq!(folder.read("file.csv"), "precious\n");
    folder.write("rows/a.tsv", "x\n1\n");
    let done = folder.eval("rows", "values", &[]);
    assert!(done.code == 2 && done.err.contains("would both be called `a.csv`"), "{done:?}");
    fs::remove_file(folder.path("rows/a.tsv")).expect("it is there");
    folder.write("rows/notes.md", "no table");
    let done = folder.eval("rows", "values", &[]);
    assert!(done.code == 2 && done.err.contains("notes.md"), "{done:?}");
}

#[test]
fn only_the_same_table_result_and_program_are_done() {
    let folder = Folder::new();
    fs::remove_dir_all(folder.path("rows/day=2")).expect("it is there");
    let now = list(&[("a.csv", "now")]);
    assert_eq!(folder.done("rows", &[]), now);
    // A result of the same size.
    let good = folder.read("values/a.csv");
    folder.write("values/a.csv", &good.replace("4.0", "5.0"));
    assert_eq!(folder.done("rows", &[]), now);
    assert_eq!(folder.read("values/a.csv"), good);
    // A table of the same size, from the same time.
    let time = fs::metadata(folder.path("rows/a.csv")).and_then(|m| m.modified()).expect("a time");
    folder.write("rows/a.csv", "x\n1\n3\n");
    fs::File::options().write(true).open(folder.path("rows/a.csv")).and_then(|f| f.set_modified(time)).expect("a file");
    assert_eq!(folder.done("rows", &[]), now);
    assert_eq!(folder.read("values/a.csv"), "x,value\n1,1.0\n3,9.0\n");
    // Touched, copied, and put back: it is what it was.
    fs::copy(folder.path("rows/a.csv"), folder.path("copy.csv")).expect("a copy");
    fs::rename(folder.path("copy.csv"), folder.path("rows/a.csv")).expect("a file");
    assert_eq!(folder.done("rows", &[]), list(&[("a.csv", "before")]));
    // A record of somebody else, and one that says nothing.
    let record = folder.read("values/.neuralc-eval.jsonl");
    folder.write("values/.neuralc-eval.jsonl", &record.replace("\"sha256\":\"", "\"sha256\":\"0"));
    assert_eq!(folder.done("rows", &[]), now);
    folder.write("values/.neuralc-eval.jsonl", "[]\n{\"name\": \"a.csv\"}\n\u{0}\n3");
    assert_eq!(folder.done("rows", &[]), now);
    assert_eq!(folder.done("rows", &[]), list(&[("a.csv", "before")]));
}

#[test]
fn another_text_that_is_used_is_another_program() {
    let folder = Folder::new();
    folder.write("f.scm", "(define (f x) (* 2 x))");
    folder.write("main.scm", "(use \"f.scm\" (f)) (f x)");
    let [main, rows, values] = ["main.scm", "rows/*.csv", "values"].map(|n| folder.path(n).display().to_string());
    let done = || neuralc(&["eval", &main, "--data", &rows, "--out", &values, "--json"]).json()["tables"][0]["done"].clone();
    assert_eq!((done(), done()), (json!("now"), json!("before")));
    folder.write("f.scm", "(define (f x) (* 3 x))");
    assert_eq!(done(), json!("now"));
    assert!(folder.read("values/a.csv").contains("2,6.0"));
}

#[test]
fn one_run_at_a_time_writes_into_a_directory() {
    let folder = Folder::new();
    assert_eq!(folder.eval("rows", "values", &[]).code, 0);
    let other = fs::File::options().append(true).open(folder.path("values/.neuralc-eval.jsonl")).expect("a record");
    other.lock().expect("a lock");
    folder.write("rows/c.csv", "x\n5\n");
    let before = folder.read("values/.neuralc-eval.jsonl");
    let done = folder.eval("rows", "values", &["--json"]);
    assert_eq!((done.code, done.codes()), (1, vec!["in-use".to_string()]), "{done:?}");
    assert!(!folder.path("values/c.csv").exists() && folder.read("values/.neuralc-eval.jsonl") == before);
    assert_eq!(folder.eval("rows", "elsewhere", &[]).code, 0);
    drop(other);
    assert_eq!(folder.done("rows", &[])[1], ("c.csv".to_string(), "now".to_string()));
}

#[test]
fn what_a_killed_run_left_is_removed_and_never_read() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("values/day=2")).expect("a folder");
    for name in ["values/.neuralc-left.part", "values/day=2/.neuralc-left.part", "values/.neuralc-busy.part", "rows/.neuralc-left.part"] {
        folder.write(name, "x,value\n1,");
    }
    folder.write("values/.neuralc-left.csv", "another's");
    let busy = fs::File::open(folder.path("values/.neuralc-busy.part")).expect("a file");
    busy.lock().expect("a lock");
    assert_eq!(folder.done("rows", &[]), list(&[("a.csv", "now"), ("b.tsv", "now")]));
    let there = |name: &str| folder.path(name).exists();
    assert!(!there("values/.neuralc-left.part") && !there("values/day=2/.neuralc-left.part"));
    assert!(there("values/.neuralc-busy.part") && there("values/.neuralc-left.csv"));
    // A single table, too.
    drop(busy);
    assert_eq!(folder.eval("rows/a.csv", "values/single.csv", &[]).code, 0);
    assert!(!there("values/.neuralc-busy.part"));
}

#[cfg(unix)]
#[test]
fn pipes_and_sockets_are_not_waited_for() {
    let folder = Folder::new();
    let pipe = |name: &str| {
        assert!(std::process::Command::new("mkfifo").arg(folder.path(name)).status().expect("mkfifo").success());
    };
    let refused = |data: &str, code: &str, words: &str| {
        let done = folder.eval(data, "values", &["--json"]);
        assert_eq!((done.code, done.codes()), (1, vec![code.to_string()]), "{done:?}");
        assert!(done.out.contains(words), "{done:?}");
    };
    pipe("rows/p.csv");
    refused("rows", "cannot-read", "p.csv`: it is a pipe");
    refused("rows/*.csv", "cannot-read", "p.csv`: it is a pipe");
    assert!(!folder.path("values/a.csv").exists());
    fs::remove_file(folder.path("rows/p.csv")).expect("it is there");
    let _socket = std::os::unix::net::UnixListener::bind(folder.path("rows/s.csv")).expect("a socket");
    refused("rows", "cannot-read", "s.csv`: it is a pipe");
    fs::remove_file(folder.path("rows/s.csv")).expect("it is there");
    std::os::unix::fs::symlink("/dev/zero", folder.path("rows/z.csv")).expect("a link");
    refused("rows", "cannot-read", "z.csv`: it is a pipe");
    fs::remove_file(folder.path("rows/z.csv")).expect("it is there");
    // Where results and their record should be.
    fs::create_dir_all(folder.path("values")).expect("a folder");
    pipe("values/a.csv");
    refused("rows", "cannot-write", "a.csv`: it is no file");
    fs::remove_file(folder.path("values/a.csv")).expect("it is there");
    fs::remove_file(folder.path("values/.neuralc-eval.jsonl")).expect("it is there");
    pipe("values/.neuralc-eval.jsonl");
    refused("rows", "cannot-write", "it is no file");
}
