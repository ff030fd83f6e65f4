//! The command lines of the README and of the page on exports do what they show. A line `…` stands for any lines.

use std::path::Path;
use std::process::Command;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");

/// Each command of the blocks for a terminal, with the lines shown below it.
fn commands(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the block ends");
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => found.push((command, Vec::new())),
                None => found.last_mut().expect("a block begins with a command").1.push(line),
            }
        }
    }
    found
}

/// Whether the lines are the shown ones, with any lines where `…` stands.
fn shows(shown: &[&str], lines: &[&str]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((&"…", rest)) => (0..=lines.len()).any(|k| shows(rest, &lines[k..])),
        Some((line, rest)) => lines.first() == Some(line) && shows(rest, &lines[1..]),
    }
}

/// Runs the commands of a page in a folder that has the examples; how many there were.
fn run_page(page: &str, folder: &Path) -> usize {
    let top = Path::new(README).parent().expect("a folder");
    let examples = folder.join("examples");
    std::fs::create_dir(&examples).expect("a folder");
    for entry in std::fs::read_dir(top.join("examples")).expect("examples") {
        let path = entry.expect("a file").path();
        if path.is_file() {
            std::fs::copy(&path, examples.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    let text = std::fs::read_to_string(top.join(page)).expect("the page");
    let all = commands(&text);
    for (command, shown) in &all {
        let mut words = command.split_whitespace();
        let program = match words.next() {
            Some("neuralc") => env!("CARGO_BIN_EXE_neuralc").into(),
            Some(known @ ("cat" | "gcc")) => known.into(),
            // What a command before has made.
            Some(own) if own.contains('/') => folder.join(own),
            other => panic!("{other:?} is not run by this test"),
        };
        let done = Command::new(program).args(words).current_dir(folder).env_remove("CLICOLOR_FORCE").output().expect("it runs");
        let out = String::from_utf8(done.stdout).expect("UTF-8");
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(shows(shown, &out.lines().collect::<Vec<_>>()), "{command} printed\n{out}\ninstead of\n{}", shown.join("\n"));
    }
    all.len()
}

#[test]
fn the_readme_shows_what_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run_page("README.md", folder.path()), 5, "commands of the README are no longer found");
    assert!(folder.path().join("lynx-hare.svg").exists());
}

#[test]
fn the_page_on_exports_shows_what_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run_page("docs/export.md", folder.path()), 3, "commands of the page are no longer found");
}
