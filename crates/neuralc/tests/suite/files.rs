//! Where output goes and what is lost: pipes, devices, links, files that may not be written, a closed standard output, no threads, damaged
//! Parquet files.
#![cfg(unix)]

use crate::common::{Done, file, neuralc};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_string()
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.0.path()).expect("a folder").count()
    }
}

/// A table of two rows, into `out`.
fn eval_to(out: &str) -> Done {
    let (_folder, data) = file("in.csv", "x\n1\n2\n");
    neuralc(&["eval", "-e", "(* 2 x)", "--data", &data, "--out", out])
}

const RESULT: &str = "x,value\n1,2.0\n2,4.0\n";

/// Runs a line of the shell with `neuralc` as `$0`.
fn shell(line: &str, words: &[&str]) -> Done {
    let output =
        Command::new("bash").args(["-c", line, env!("CARGO_BIN_EXE_neuralc")]).args(words).stdin(Stdio::null()).output().expect("a shell");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Done { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn pipes_and_devices_are_written_into() {
    let folder = Folder::new();
    for name in ["pipe.csv", "pipe"] {
        fifo(&folder.path(name));
        let path = folder.path(name);
        let reader = std::thread::spawn(move || std::fs::read_to_string(path).expect("a pipe"));
        let done = eval_to(&folder.text(name));
        assert_eq!((done.code, reader.join().expect("no panic").as_str()), (0, RESULT), "{done:?}");
        assert!(folder.path(name).metadata().expect("still there").file_type().is_fifo());
    }
    assert_eq!(shell("\"$0\" eval -e 0 --data <(printf 'x\\n1\\n') --out /dev/stdout", &[]).out.lines().nth(1), Some("1,0.0"));
    assert_eq!(eval_to("/dev/null").code, 0);
    let done = eval_to("/dev/full");
    assert!(done.code == 1 && done.err.contains("/dev/full") && done.err.contains("cannot-write"), "{done:?}");
    assert!(Path::new("/dev/null").metadata().expect("still there").file_type().is_char_device());
    // A plot and a model, too.
    let (_keep, data) = file("in.csv", "x,y\n1,2\n2,4.1\n3,5.9\n");
    let fit = |option: &str, path: &str| neuralc(&["fit", "-e", "(param a 1) (* a x)", "--data", &data, option, path]);
    fifo(&folder.path("plot.svg"));
    let path = folder.path("plot.svg");
    let reader = std::thread::spawn(move || std::fs::read_to_string(path).expect("a pipe"));
    assert_eq!(fit("--plot", &folder.text("plot.svg")).code, 0);
    assert!(reader.join().expect("no panic").starts_with("<svg"));
    let saved = fit("--save", "/dev/stdout");
    assert!(saved.code == 0 && saved.out.contains("(param a 1.99"), "{saved:?}");
}

#[test]
fn links_are_followed() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("far")).expect("a folder");
    for (link, target, old) in [("there.csv", "far/old.csv", true), ("dangling.csv", "far/new.csv", false)] {
        if old {
            std::fs::write(folder.path(target), "old\n").expect("a file");
        }
        symlink(target, folder.path(link)).expect("a link");
        assert_eq!(eval_to(&folder.text(link)).code, 0);
        assert!(folder.path(link).symlink_metadata().expect("a link").is_symlink(), "{link}");
        assert_eq!(std::fs::read_to_string(folder.path(target)).expect("a file"), RESULT);
    }
    symlink("ring.csv", folder.path("ring.csv")).expect("a link");
    assert_eq!(eval_to(&folder.text("ring.csv")).code, 1);
    // A file with two names stays one file.
    std::fs::write(folder.path("one.csv"), "a longer text than the table that comes\n".repeat(9)).expect("a file");
    std::fs::hard_link(folder.path("one.csv"), folder.path("two.csv")).expect("a link");
    assert_eq!(eval_to(&folder.text("one.csv")).code, 0);
    assert_eq!(std::fs::read_to_string(folder.path("two.csv")).expect("a file"), RESULT);
    assert_eq!(folder.path("one.csv").metadata().expect("a file").nlink(), 2);
    assert_eq!((folder.files(), std::fs::read_dir(folder.path("far")).expect("a folder").count()), (6, 2), "no part files");
}

#[test]
fn files_that_may_not_be_written_are_refused() {
    let folder = Folder::new();
    std::fs::write(folder.path("old.csv"), "precious\n").expect("a file");
    std::fs::set_permissions(folder.path("old.csv"), std::fs::Permissions::from_mode(0o444)).expect("permissions");
    symlink("old.csv", folder.path("link.csv")).expect("a link");
    for name in ["old.csv", "link.csv"] {
        let done = eval_to(&folder.text(name));
        assert!(done.code == 1 && done.err.contains("it is read-only"), "{done:?}");
    }
    std::fs::create_dir(folder.path("folder.csv")).expect("a folder");
    assert!(eval_to(&folder.text("folder.csv")).err.contains("it is a directory"));
    assert_eq!((std::fs::read_to_string(folder.path("old.csv")).expect("a file").as_str(), folder.files()), ("precious\n", 3));
}

#[test]
fn a_fit_is_reported_though_its_files_cannot_be_written() {
    let (folder, data) = file("in.csv", "x,y\n1,2\n2,4.1\n3,5.9\n");
    for (option, path) in [("--save", "/no/such/folder/m.scm"), ("--plot", "/no/such/folder/p.svg"), ("--save", "/dev/full")] {
        let args = ["fit", "-e", "(param a 1) (* a x)", "--data", &data, option, path];
        let done = neuralc(&args);
        assert!(done.code == 1 && done.out.contains("std. error") && !done.out.contains(path), "{done:?}");
        assert!(done.err.contains(path) && done.err.contains("cannot-write"), "{done:?}");
        let json = neuralc(&[&args[..], &["--json"]].concat());
        assert_eq!((json.code, json.json()["diagnostics"][0]["code"].as_str()), (1, Some("cannot-write")), "{json:?}");
        assert!((json.json()["params"]["a"]["value"].as_f64().expect("a number") - 1.992_857).abs() < 1e-6);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn output_that_is_lost_is_an_error() {
    let (_folder, data) = file("in.csv", "x\n1\n2\n");
    for line in ["\"$0\" run -e '(+ 1 2)'", "\"$0\" ops", "\"$0\" --help", "\"$0\" eval -e x --data \"$1\" --out -"] {
        for lost in [">&-", "> /dev/full"] {
            let done = shell(&format!("{line} {lost}"), &[&data]);
            assert!(done.code == 1 && done.err.contains("cannot write the output"), "{line} {lost}: {done:?}");
        }
        // A reader that has had enough is none, nor is a reader that wants nothing.
        for fine in ["| head -c 1 > /dev/null; exit ${PIPESTATUS[0]}", "> /dev/null"] {
            let done = shell(&format!("{line} {fine}"), &[&data]);
            assert_eq!((done.code, done.err.as_str()), (0, ""), "{line} {fine}");
        }
    }
    // Nothing was lost where there was nothing to say.
    assert_eq!(shell("\"$0\" eval -e x --data \"$1\" --out /dev/null > /dev/null 2>&1 <&-", &[&data]).code, 0);
}

#[test]
fn files_that_may_not_grow_are_errors() {
    let (folder, data) = file("in.csv", &format!("x,y\n{}", (0..5000).map(|i| format!("{i},{}\n", 2 * i)).collect::<String>()));
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    for (line, says) in [
        ("\"$0\" eval -e '(* 2 x)' --data \"$1\" --out \"$2.csv\"", "cannot-write"),
        ("\"$0\" eval -e '(* 2 x)' --data \"$1\" --out \"$2.parquet\"", "cannot-write"),
        ("\"$0\" fit -e '(param a 1) (* a x)' --data \"$1\" --plot \"$2.svg\"", "cannot-write"),
        ("\"$0\" eval -e '(* 2 x)' --data \"$1\" --out - > \"$2.stdout\"", "cannot write the output"),
    ] {
        let done = shell(&format!("ulimit -f 4; {line}"), &[&data, &path("out")]);
        assert!(done.code == 1 && done.err.contains(says), "{line}: {done:?}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").map(|e| e.expect("a file").file_name()).collect();
    assert_eq!(left.len(), 2, "the table, and what the shell made: {left:?}");
}

#[test]
fn rows_come_as_soon_as_they_are_there() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_neuralc"))
        .args(["eval", "-e", "(* 2 x)", "--data", "-", "--out", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("neuralc starts");
    let (mut stdin, mut stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut ask = |text: &str, answer: &str| {
        stdin.write_all(text.as_bytes()).expect("it reads");
        stdin.flush().expect("it reads");
        // Standard input stays open: this returns only if the rows are not held back.
        let mut read = vec![0; answer.len()];
        stdout.read_exact(&mut read).expect("it answers");
        assert_eq!(String::from_utf8_lossy(&read), answer);
    };
    ask("x\n1\n", "x,value\n1,2.0\n");
    ask("2\n3\n4", "2,4.0\n3,6.0\n");
    ask("5\n", "45,90.0\n");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn without_other_threads_the_one_there_is_does_it_all() {
    let (folder, data) = file("in.csv", &format!("x,y\n{}", (0..5000).map(|i| format!("{i},{}\n", 2 * i + i % 3)).collect::<String>()));
    let ode = folder.path().join("ode.csv").to_str().expect("UTF-8").to_string();
    std::fs::write(&ode, "t,x\n0,1\n1,0.61\n2,0.37\n3,0.22\n").expect("a file");
    let out = folder.path().join("out.csv").to_str().expect("UTF-8").to_string();
    for args in [
        vec!["eval", "-e", "(sin x)", "--data", &data, "--out", &out, "--threads", "4"],
        vec!["fit", "-e", "(param a 1) (param b 1) (+ b (* a x))", "--data", &data],
        vec!["fit", "-e", "(param a 1) (param b 1) (+ b (exp (* a t)))", "--data", &ode, "--target", "x", "--profile"],
        vec!["fit", "-e", "(param k 1) (state x 1) (derive x (- (* k x)))", "--data", &ode],
        vec!["predict", "-e", "(* 2 x)", "--data", &data, "--out", &out],
    ] {
        // No thread can have a stack of this size: the system refuses every one.
        let output = Command::new(env!("CARGO_BIN_EXE_neuralc"))
            .args(&args)
            .env("RUST_MIN_STACK", "1000000000000000")
            .output()
            .expect("neuralc starts");
        let with = neuralc(&args);
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()),
            (Some(0), with.out),
            "{args:?} {output:?}"
        );
    }
}

#[test]
fn damaged_parquet_files_are_errors() {
    let folder = format!("{}/tests/data/damaged", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path().to_str().expect("UTF-8").to_string();
        // In an address space of 2 GB: what the file says must not be allocated unseen.
        let line =
            "ulimit -v 2000000; \"$0\" eval -e '[1]' --data \"$1\" --out /dev/null && exit 9; \"$0\" fit -e '(param a 1) a' --data \"$1\"";
        let done = shell(line, &[&path]);
        assert_eq!(done.code, 1, "{path}: {done:?}");
        let text = format!("{}{}", done.out, done.err);
        assert!(!text.contains("internal error") && !text.contains("panicked") && text.contains("cannot-read"), "{path}: {text}");
        count += 1;
    }
    assert_eq!(count, 7);
}

/// What the shell opens as standard input is a table like any other.
#[test]
fn nothing_is_written_over_the_file_of_standard_input() {
    let folder = Folder::new();
    let data = folder.text("in.csv");
    let table = "x,y\n0,1\n1,3\n2,5.1\n3,7\n";
    std::fs::write(&data, table).unwrap();
    symlink("in.csv", folder.path("link.csv")).unwrap();
    let fit = "fit -e '(param a 1) (param b 0) (+ b (* a x))' --target y --data -";
    for (line, out) in [
        (format!("\"$0\" {fit} --save \"$2\" < \"$1\""), "in.csv"),
        (format!("\"$0\" {fit} --save \"$2\" < \"$1\""), "link.csv"),
        ("\"$0\" eval -e '(* 2 x)' --data - --out \"$2\" < \"$1\"".to_string(), "in.csv"),
        ("\"$0\" predict -e '(* 2 x)' --data - --out \"$2\" < \"$1\"".to_string(), "link.csv"),
    ] {
        let done = shell(&line, &[&data, &folder.text(out)]);
        assert!(done.code == 2 && done.err.contains("which is standard input"), "{line}: {done:?}");
        assert_eq!(std::fs::read_to_string(&data).unwrap(), table, "{line}");
        // Another file is one, and so is any where the table comes through a pipe.
        let done = shell(&line, &[&data, &folder.text("other.csv")]);
        assert!(done.code == 0 && folder.path("other.csv").exists(), "{line}: {done:?}");
        std::fs::remove_file(folder.path("other.csv")).unwrap();
        assert_eq!(shell(&format!("cat \"$1\" | {}", line.replace(" < \"$1\"", "")), &[&data, &folder.text("other.csv")]).code, 0);
        std::fs::remove_file(folder.path("other.csv")).unwrap();
    }
}

#[test]
fn a_fit_writes_neither_over_its_table_nor_two_files_into_one() {
    let folder = Folder::new();
    let data = folder.text("in.csv");
    let table = "t,y\n0,1\n1,3\n2,5.1\n3,7\n";
    std::fs::write(&data, table).unwrap();
    symlink("in.csv", folder.path("link.csv")).unwrap();
    std::fs::hard_link(&data, folder.path("hard.csv")).unwrap();
    symlink("same.svg", folder.path("other.svg")).unwrap();
    std::fs::create_dir(folder.path("sub")).unwrap();
    let fit = |more: &[&str]| neuralc(&[&["fit", "-e", "(param a 1) (param b 0) (+ b (* a t))", "--data", &data], more].concat());
    for name in ["in.csv", "sub/../in.csv", "link.csv", "hard.csv"] {
        let done = fit(&["--save", &folder.text(name)]);
        assert!(done.code == 2 && done.err.contains("would write over the table") && done.out.is_empty(), "{name}: {done:?}");
    }
    for name in ["same.svg", "./same.svg", "sub/../same.svg", "other.svg"] {
        let done = fit(&["--save", &folder.text("same.svg"), "--plot", &folder.text(name)]);
        assert!(done.code == 2 && done.err.contains("are one file") && !folder.path("same.svg").exists(), "{name}: {done:?}");
    }
    assert_eq!(std::fs::read_to_string(&data).unwrap(), table);
    let done = fit(&["--save", &folder.text("saved.scm"), "--plot", &folder.text("plot.svg")]);
    assert!(done.code == 0 && folder.path("saved.scm").exists() && folder.path("plot.svg").exists(), "{done:?}");
}

/// Whatever a command reads, it does not write over.
#[test]
fn what_is_read_is_not_written_over() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path(name), text).unwrap();
        folder.text(name)
    };
    let model = write("m.csv", "(param k 1) (state x 1) (derive x (- (* k x)))");
    let data = write("d.csv", "t,x\n0,1\n1,0.4\n2,0.1\n3,0.05\n");
    let doses = write("e.csv", "time,amount,target\n1,0,x\n");
    let picture = write("m.svg", "(param k 1) (state x 1) (derive x (- (* k x)))");
    let formula = write("f.csv", "(* 2 t)");
    for args in [
        &["fit", &model, "--data", &data, "--events", &doses, "--save", &doses][..],
        &["fit", &picture, "--data", &data, "--plot", &picture],
        &["predict", &model, "--data", &data, "--events", &doses, "--out", &doses],
        &["predict", &model, "--data", &data, "--out", &model],
        &["simulate", &model, "--until", "3", "--out", &model],
        &["eval", &formula, "--data", &data, "--out", &formula],
    ] {
        let before: Vec<Vec<u8>> = [&model, &data, &doses, &picture, &formula].map(|p| std::fs::read(p).unwrap()).into();
        let done = neuralc(args);
        assert!(done.code == 2 && done.err.contains("would write over"), "{args:?} {done:?}");
        let after: Vec<Vec<u8>> = [&model, &data, &doses, &picture, &formula].map(|p| std::fs::read(p).unwrap()).into();
        assert!(before == after, "{args:?}");
    }
}
