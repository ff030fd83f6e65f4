//! What a terminal is told: text that came from tables, modules, programs and names of files is shown there and does nothing; what goes
//! into a file or a pipe stays as it is.
#![cfg(target_os = "linux")]

use crate::common::{file, folder, neuralc};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

/// Clears the screen, turns colours on, sets the title, goes back, and writes from right to left.
const ACTING: &str = "\u{1b}[2J\u{9b}31m\u{1b}]0;t\u{7}\u{8}\u{202e}\u{2067}";

/// Runs neuralc with both outputs on a terminal; gives its exit code and what the terminal got.
fn on_a_terminal(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let (mut ours, mut its) = (-1, -1);
    // SAFETY: both numbers are written, the rest may be absent.
    let made = unsafe { libc::openpty(&mut ours, &mut its, std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut()) };
    assert_eq!(made, 0, "a terminal");
    // SAFETY: they are open and nobody else's.
    let (ours, its) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(its)) };
    let mut command = Command::new(env!("CARGO_BIN_EXE_neuralc"));
    command.current_dir(folder).args(args).env("NO_COLOR", "1").env("TERM", "dumb").stdin(Stdio::null());
    let mut child = command.stdout(its.try_clone().expect("a copy")).stderr(its).spawn().expect("neuralc starts");
    // It keeps copies of what it gave away.
    drop(command);
    let mut got = Vec::new();
    let mut screen = File::from(ours);
    let mut part = [0; 4096];
    // The end of a terminal is an error.
    while let Ok(n @ 1..) = screen.read(&mut part) {
        got.extend_from_slice(&part[..n]);
    }
    (child.wait().expect("it ends").code(), String::from_utf8(got).expect("text").replace("\r\n", "\n"))
}

fn acts(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
}

#[test]
fn nothing_from_elsewhere_acts_on_a_terminal() {
    let table = format!("x,{ACTING}name\n1,\u{1b}[31m\u{202e}\n");
    let commented = format!("; {ACTING}\n(* 2 x)\n");
    let wrong = format!("; {ACTING}\n(sinn x) ; {ACTING}\n");
    let named = format!("{ACTING}.scm");
    let files: [(&str, &str); 5] = [("t.csv", &table), ("m.scm", &commented), ("bad.scm", &wrong), (&named, "(sinn x)"), ("rows/n.md", "")];
    let place = folder(&files);
    std::fs::rename(place.path().join("rows/n.md"), place.path().join(format!("rows/{ACTING}.md"))).expect("a file");
    let said = format!("--description={ACTING}twice");
    let init = ["library", "init", "--library", "lib"];
    let add = ["library", "add", "m.scm", "--name", "twice", &said, "--example", "x=1 => 2", "--library", "lib"];
    let cases: [(&[&str], i32, &str); 15] = [
        (&["eval", "m.scm", "--data", "t.csv", "--out", "-"], 0, "name"),
        (&["eval", "m.scm", "--data", "t.csv", "--out", "o.csv", "--json"], 0, ""),
        (&["eval", "-e", "(* y 2)", "--data", "t.csv", "--out", "o.csv"], 1, "\\u{1b}"),
        (&["eval", "m.scm", "--data", "rows", "--out", "values"], 2, "\\u{1b}"),
        (&["check", "bad.scm"], 1, "sinn"),
        (&["check", &named], 1, "\\u{1b}"),
        (&["check", &named, "--json"], 1, "sinn"),
        (&["show", "m.scm", "--stage", "ast"], 0, ""),
        (&["fmt", "m.scm"], 0, ""),
        (&["ask", "q", "--data", "t.csv", "--dry-run"], 0, "name"),
        (&init, 0, ""),
        (&add, 0, ""),
        (&["library", "list", "--library", "lib"], 0, "twice"),
        (&["library", "show", "twice", "--library", "lib"], 0, "twice"),
        (&["library", "show", "twice", "--library", "lib", "--json"], 0, "twice"),
    ];
    for (args, code, words) in cases {
        let (ended, got) = on_a_terminal(place.path(), args);
        assert_eq!(got.chars().find(|&c| acts(c)), None, "{args:?}: {got:?}");
        assert!(got.contains(words), "{args:?}: {got:?}");
        assert_eq!(ended, Some(code), "{args:?}: {got:?}");
    }
}

#[test]
fn elsewhere_bytes_stay() {
    let (_folder, data) = file("t.csv", &format!("x,{ACTING}name\n1,2\n"));
    let done = neuralc(&["eval", "-e", "(* 2 x)", "--data", &data, "--out", "-"]);
    assert_eq!(done.out, format!("x,{ACTING}name,value\n1,2,2.0\n"));
}

#[test]
fn help_keeps_its_colours() {
    let (code, got) = on_a_terminal(Path::new("."), &["--help"]);
    assert!(code == Some(0) && got.contains("Usage") && !got.contains("\\u{"), "{got}");
}
