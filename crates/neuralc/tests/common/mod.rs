//! Runs the command line the way a user does.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::Write;
use std::process::{Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The codes of the diagnostics in the JSON.
    pub(crate) fn codes(&self) -> Vec<String> {
        self.json()["diagnostics"]
            .as_array()
            .expect("diagnostics")
            .iter()
            .map(|d| d["code"].as_str().expect("a code").to_string())
            .collect()
    }
}

/// Runs `neuralc` with text on standard input.
pub(crate) fn neuralc_with(input: &str, args: &[&str]) -> Done {
    let mut child = Command::new(env!("CARGO_BIN_EXE_neuralc"))
        .args(args)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("neuralc starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_string();
    let feeder = std::thread::spawn(move || {
        // A program that does not read its input closes the pipe; that is fine.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().expect("neuralc ends");
    feeder.join().expect("no panic");
    Done {
        code: output.status.code().expect("not killed by a signal"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs `neuralc` without input.
pub(crate) fn neuralc(args: &[&str]) -> Done {
    neuralc_with("", args)
}

/// A file with this text, in a folder of its own that lives as long as the first part.
pub(crate) fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_string();
    (folder, path)
}

/// Files in a folder of their own.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}
