//! docs/add-an-op.md tells the truth: its steps are done in a copy of the source, one by one as they stand on the page, and the new
//! operation and form are then found in the parser, all executors, derivatives, the domain check, generators and lists. The copy lies in
//! the build folder, whose dependencies it uses, and only what changed is written, so a second run builds little. Its crates have a version
//! of their own: Cargo tells crates of one version in two places apart by their time alone, and would build ours anew after the copy's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of the copy, by their path.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A snippet of the page.
struct Step {
    file: PathBuf,
    /// What the snippet stands before; nothing at the end of the file.
    before: Option<String>,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(folder: &Path, within: &Path, files: &mut Files) {
    for entry in std::fs::read_dir(folder.join(within)).expect("a folder of the project") {
        let entry = entry.expect("an entry");
        let path = within.join(entry.file_name());
        let kind = entry.file_type().expect("a kind of file");
        if kind.is_dir() {
            read(folder, &path, files);
        } else if kind.is_file() {
            files.insert(path.clone(), std::fs::read(folder.join(&path)).expect("a readable file"));
        }
    }
}

/// The steps of the page: a comment says where, the fenced block behind it what.
fn steps(page: &str) -> Vec<Step> {
    let mut lines = page.lines();
    let mut steps = Vec::new();
    while let Some(line) = lines.next() {
        let Some(place) = line.strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->")) else { continue };
        let (file, before) = match place.split_once(" before \"") {
            Some((file, anchor)) => (file, Some(anchor.trim_end_matches('"').replace("\\n", "\n").replace("\\\"", "\""))),
            None => (place.strip_suffix(" at the end").expect("where a snippet goes"), None),
        };
        let open = lines.next().expect("a block behind its place");
        let fence: String = open.chars().take_while(|&c| c == '`').collect();
        assert!(fence.len() >= 3, "a block follows its place: {open}");
        let text: String = lines.by_ref().take_while(|l| *l != fence).map(|l| format!("{l}\n")).collect();
        steps.push(Step { file: file.into(), before, text });
    }
    steps
}

fn follow(step: &Step, files: &mut Files) {
    let file = files.get_mut(&step.file).unwrap_or_else(|| panic!("the page names {}, which is not there", step.file.display()));
    let mut text = String::from_utf8(std::mem::take(file)).expect("source is UTF-8");
    let at = match &step.before {
        None => text.len(),
        Some(anchor) => {
            let places: Vec<usize> = text.match_indices(anchor.as_str()).map(|m| m.0).collect();
            assert_eq!(places.len(), 1, "{} must have one place before {anchor:?}", step.file.display());
            places[0]
        }
    };
    text.insert_str(at, &step.text);
    *file = text.into_bytes();
}

/// Gives the crates of the copy another version, in its manifest and its lock file.
fn of_another_version(files: &mut Files) {
    let (ours, other) = ("version = \"0.1.0\"", "version = \"0.1.1\"");
    let mut change = |name: &str, by: &dyn Fn(&str) -> String| {
        let file = files.get_mut(Path::new(name)).expect("a manifest");
        let text = by(std::str::from_utf8(file).expect("a manifest is UTF-8"));
        assert_ne!(text.as_bytes(), &file[..], "{name} has the version of the workspace");
        *file = text.into_bytes();
    };
    change("Cargo.toml", &|text| text.replacen(&format!("[workspace.package]\n{ours}"), &format!("[workspace.package]\n{other}"), 1));
    // What comes from a registry says so.
    let own = |package: &str| if package.contains("\nsource = ") { package.to_string() } else { package.replacen(ours, other, 1) };
    change("Cargo.lock", &|text| text.split("[[package]]").map(own).collect::<Vec<_>>().join("[[package]]"));
}

/// Makes a folder hold these files and no others.
fn write(folder: &Path, files: &Files) {
    let mut old = Files::new();
    if folder.is_dir() {
        read(folder, Path::new(""), &mut old);
    }
    for path in old.keys().filter(|path| !files.contains_key(*path)) {
        std::fs::remove_file(folder.join(path)).expect("a file of the copy");
    }
    for (path, content) in files.iter().filter(|(path, content)| old.get(*path) != Some(content)) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the build folder can be written");
        std::fs::write(path, content).expect("the build folder can be written");
    }
}

/// Runs tests of the copy, with the dependencies of this build.
fn test(folder: &Path, arguments: &[&str], update: bool) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the build folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target).args(["test", "--offline", "--locked", "--quiet"]).args(arguments);
    // It runs once: the time to compile counts.
    for package in ["neural-compiler", "neural-compiler-testing"] {
        cargo.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=0"));
    }
    cargo.arg("--config").arg("profile.dev.package.neural-compiler-math.opt-level=1");
    cargo.env_remove("UPDATE_SPEC");
    if update {
        cargo.env("UPDATE_SPEC", "1");
    }
    let out = cargo.output().expect("cargo runs");
    let text = [out.stdout, out.stderr].map(|o| String::from_utf8_lossy(&o).into_owned()).join("\n");
    assert!(out.status.success(), "cargo test {}:\n{text}", arguments.join(" "));
}

#[test]
fn the_steps_of_the_page_add_an_operation_and_a_form() {
    let mut files = Files::new();
    for folder in ["crates", "fuzz", "spec", "python", "oracles"] {
        read(&root(), Path::new(folder), &mut files);
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        files.insert(file.into(), std::fs::read(root().join(file)).expect("a manifest"));
    }
    let page = std::fs::read_to_string(root().join("docs/add-an-op.md")).expect("docs/add-an-op.md");
    let steps = steps(&page);
    assert!(steps.len() > 8, "{} steps are too few to be all of them", steps.len());
    steps.iter().for_each(|step| follow(step, &mut files));
    files.insert("crates/neural-compiler-testing/tests/added.rs".into(), include_bytes!("data/added.rs").to_vec());
    // This test would follow the page within its own copy.
    files.remove(Path::new("crates/neural-compiler-testing/tests/add_an_op.rs"));
    of_another_version(&mut files);
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("add-an-op");
    write(&copy, &files);
    test(&copy, &["-p", "neural-compiler", "--test", "spec"], true);
    test(&copy, &["-p", "neural-compiler-testing", "--test", "added"], false);
    for script in ["python/neural_compiler/fx/operations.py", "oracles/derivatives/duals.py"] {
        let compiled = Command::new("python3").arg("-m").arg("py_compile").arg(copy.join(script)).status().expect("python3 runs");
        assert!(compiled.success(), "{script}");
    }
}
