//! `neuralc library` and `(use name@2)` on the command line: what is printed, which library is meant, exit codes.

use crate::common::{Done, folder, neuralc};
use std::path::Path;

fn at(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("UTF-8").to_string()
}

fn library(folder: &Path, args: &[&str]) -> Done {
    neuralc(&[&["library", "--library", &at(folder, "library")], args].concat())
}

const FILES: &[(&str, &str)] = &[
    ("energy.scm", "; kinetic energy\n(input m :unit kg)\n(input v :unit m/s)\n(* 0.5 m (square v))\n; with m = 2, v = 3\n; => 9\n"),
    ("half-life.eq", "param k = 2\nlog(2)/k\n"),
    ("deep/model.scm", "(use energy@1)\n(* 2 (energy m v))\n"),
    ("samples.csv", "E,speed,mass\n9,3,2\n1,1,2\n0.5,1,1\n"),
];

#[test]
fn a_library_from_its_beginning_to_its_use() {
    let folder = folder(FILES);
    let path = folder.path();
    assert_eq!(library(path, &["list"]).code, 1, "there is none yet");
    assert_eq!(library(path, &["init"]).code, 0);
    assert_eq!(library(path, &["init", "--json"]).codes(), ["library-exists"]);
    let added = library(path, &["add", &at(path, "energy.scm"), "--json"]).json();
    assert_eq!((added["name"].as_str(), added["version"].as_u64(), added["known"].as_bool()), (Some("energy"), Some(1), Some(false)));
    let added = library(path, &["add", &at(path, "half-life.eq"), "--description", "by its rate"]);
    assert!(added.code == 0 && added.out.contains("constant: k = 2"), "{added:?}");
    let list = library(path, &["list", "--json"]).json();
    let keys: Vec<&String> = list[0].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["description", "hash", "inputs", "name", "output", "version"]);
    assert_eq!((list[0]["inputs"][1]["unit"].as_str(), list[0]["output"]["unit"].as_str()), (Some("m/s"), Some("J")));
    assert_eq!(list[1]["description"], "by its rate");
    assert!(library(path, &["show", "energy"]).out.contains("; kinetic energy"));
    // The nearest library above the program, without being told; and the one that is named.
    let model = at(path, "deep/model.scm");
    assert_eq!(neuralc(&["run", &model, "m=2", "v=3"]).out.trim(), "18");
    let grad = neuralc(&["run", &model, "m=2", "v=3", "--grad", "--json"]).json();
    assert_eq!(grad["grad"]["v"], 12.0);
    let named = neuralc(&["run", "-e", "(use energy@1) (energy 2 3)", "--library", &at(path, "library")]);
    assert_eq!(named.out.trim(), "9");
    let test = library(path, &["test", "--json"]);
    assert_eq!((test.code, test.json()[0]["examples"].as_u64()), (0, Some(1)));
    let found = library(path, &["search", "--samples", &at(path, "samples.csv"), "--target", "E", "--json"]).json();
    assert_eq!(found[0]["columns"], serde_json::json!({"m": "mass", "v": "speed"}));
    assert_eq!(library(path, &["search", "--unit", "g, km/h -> kJ"]).out.lines().count(), 1);
    assert_eq!(neuralc(&["run", "-e", &library(path, &["export", "energy"]).out, "m=2", "v=3"]).out.trim(), "9");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let folder = folder(FILES);
    let path = folder.path();
    let model = at(path, "deep/model.scm");
    let alone = neuralc(&["run", &model, "m=2", "v=3"]);
    assert!(alone.code == 1 && alone.err.contains("cannot-use") && alone.err.contains("model.scm:1:6"), "{alone:?}");
    assert!(alone.err.contains("there is no library in") && alone.err.contains("deep"), "{alone:?}");
    library(path, &["init"]);
    library(path, &["add", &at(path, "energy.scm")]);
    let text = path.join("library/energy/1/module.scm");
    std::fs::write(&text, "(* 0.6 m (square v))\n").expect("a file");
    let changed = neuralc(&["run", &model, "m=2", "v=3"]);
    assert!(changed.code == 1 && changed.err.contains("not what was frozen") && changed.err.contains("library`)"), "{changed:?}");
    assert_eq!(library(path, &["test"]).code, 1);
    for (wrong, place) in [("(use energy@) 1", "1:1"), ("(use energy@1 ()) 1", "1:1"), ("(use energy@0) 1", "1:1")] {
        let done = neuralc(&["run", "-e", wrong, "--library", &at(path, "library")]);
        assert!(done.err.contains("bad-form") && done.err.contains(place), "{wrong}: {done:?}");
    }
    // A name is none of a module unless it is used as one.
    assert_eq!(neuralc(&["run", "-e", "(define (use x) x) (use 3)"]).out.trim(), "3");
    let domain = neuralc(&["library", "--library", &at(path, "library"), "add", "-", "--name", "f", "--json"]);
    assert_ne!(domain.code, 0);
    let open = crate::common::neuralc_with("(/ 1 x)", &["library", "--library", &at(path, "library"), "add", "-", "--name", "f", "--json"]);
    assert_eq!(open.codes(), ["domain-may-be-left"]);
    assert_eq!(open.json()["diagnostics"][0]["severity"], "error");
    let closed = ["library", "--library", &at(path, "library"), "add", "-", "--name", "f", "--range", "x=1:2", "--json"];
    assert_eq!(crate::common::neuralc_with("(/ 1 x)", &closed).code, 0);
}

/// A library is one folder of plain files, and a tolerance is a number.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_links_nor_found_without_a_tolerance() {
    let folder = folder(FILES);
    let path = folder.path();
    library(path, &["init"]);
    std::fs::create_dir(path.join("elsewhere")).expect("a folder");
    std::os::unix::fs::symlink(path.join("elsewhere"), path.join("library/energy")).expect("a link");
    assert_eq!(library(path, &["add", &at(path, "energy.scm"), "--json"]).codes(), ["library-files"]);
    assert_eq!(std::fs::read_dir(path.join("elsewhere")).expect("a folder").count(), 0);
    std::fs::remove_file(path.join("library/energy")).expect("a link");
    assert_eq!(library(path, &["add", &at(path, "energy.scm")]).code, 0);
    std::fs::write(path.join("other.csv"), "E,speed,mass\n1,3,2\n7,1,2\n").expect("a file");
    let samples = at(path, "other.csv");
    let found = |tolerance: &str| {
        let words = ["search", "--samples", &samples, "--target", "E", "--json", "--tolerance", tolerance];
        library(path, &words).json().as_array().map(Vec::len)
    };
    // It is off by more than the spread of the samples.
    assert_eq!((found("1e-9"), found("10")), (Some(0), Some(1)));
    assert_ne!(found("nan"), Some(1));
}

/// Saturation pressure of water in Pa, T in kelvin (Tetens); every constant has a unit.
const PRESSURE: &str = "(param e0 611 :unit Pa)\n(param m 2 :unit m)\n(input T :unit K)\n(unit width m)\n(define width 4)\n\
                        (/ (* e0 T m) width)\n";

/// What a module fixes nobody sets: its constants are numbers of the program, whatever runs it.
#[test]
fn constants_of_modules_are_fixed_everywhere() {
    let folder = folder(&[
        ("esat.scm", PRESSURE),
        ("laws.scm", "(define twice (* 2 c))\n(param c 3 :fixed :unit m/s)\n(define (way t) (* twice t))\n"),
        ("model.scm", "(use esat@1)\n(input T :unit K)\n(param k 1)\n(* k (esat T))\n"),
        ("file.scm", "(use \"laws.scm\" (way))\n(input t :unit s)\n(way t)\n"),
        ("rows.csv", "T,esat-1.e0,y\n2,0,611\n4,0,1222\n6,0,1833\n"),
    ]);
    let path = folder.path();
    library(path, &["init"]);
    let added = library(path, &["add", &at(path, "esat.scm")]);
    assert_eq!(added.code, 0, "{added:?}");
    let model = at(path, "model.scm");
    // 611 * 2 * 2 / 4
    assert_eq!(neuralc(&["run", &model, "T=2"]).out.trim(), "611");
    for name in ["esat-1.e0", "esat-1.m", "esat-1.width", "e0"] {
        assert_eq!(neuralc(&["run", &model, "T=2", &format!("{name}=0"), "--json"]).codes(), ["unknown-input"], "{name}");
        assert_eq!(neuralc(&["export", &model, "--to", "c", "--set", &format!("{name}=0"), "--json"]).codes(), ["unknown-input"], "{name}");
    }
    let grad = neuralc(&["run", &model, "T=2", "--grad", "--json"]).json();
    assert_eq!(grad["grad"].as_object().expect("names").keys().collect::<Vec<_>>(), ["T", "k"]);
    // A column of such a name is one like any other, and a fit does not touch it either.
    let values = neuralc(&["eval", &model, "--data", &at(path, "rows.csv"), "--out", "-"]);
    assert!(values.out.contains("2,0,611,611.0"), "{values:?}");
    let fitted = neuralc(&["fit", &model, "--data", &at(path, "rows.csv"), "--target", "y", "--save", &at(path, "saved.scm"), "--json"]);
    assert_eq!(fitted.json()["params"].as_object().expect("names").keys().collect::<Vec<_>>(), ["k"], "{fitted:?}");
    assert_eq!(neuralc(&["run", &at(path, "saved.scm"), "T=2", "esat-1.e0=0", "--json"]).codes(), ["unknown-input"]);
    // Constants of files likewise, wherever they stand in them; and units still count.
    let file = at(path, "file.scm");
    assert_eq!(neuralc(&["run", &file, "t=2"]).out.trim(), "12");
    assert_eq!(neuralc(&["run", &file, "t=2", "laws.c=0", "--json"]).codes(), ["unknown-input"]);
    let units = neuralc(&["check", &file, "--json"]).json();
    assert_eq!(units["units"]["value"], "m", "{units}");
}

/// What is wrong inside a module is told in its file, as it stands there.
#[test]
fn places_are_those_of_the_files_of_modules() {
    let inverse =
        "; one over a difference\n(param gap 2 :unit m)\n(input x :unit m)\n\n(define (less y)\n  (- y gap))\n(/ 1\n   (less x))\n";
    let folder = folder(&[
        ("inverse.scm", inverse),
        ("twice.scm", "(use inverse@1)\n(input x :unit m)\n(* 2 (inverse x))\n"),
        ("main.scm", "(use twice@1)\n(input x :unit m)\n\n(twice x)\n"),
        ("two.scm", "(use energy@1)\n(use energy@2)\n(energy 1 2)\n"),
        ("energy.scm", "(* 0.5 m (square v))\n"),
        ("energy2.scm", "(* 0.25 m (square v))\n"),
    ]);
    let path = folder.path();
    library(path, &["init"]);
    for file in ["inverse.scm", "twice.scm"] {
        let added = library(path, &["add", &at(path, file), "--range", "x=3:9"]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let main = at(path, "main.scm");
    let found = neuralc(&["check", &main, "--range", "x=1:9"]);
    assert!(found.code == 1 && found.out.contains("domain-may-be-left"), "{found:?}");
    assert!(found.out.contains("inverse/1/module.scm:7:1") || found.out.contains("inverse\\1\\module.scm:7:1"), "{found:?}");
    let told = &neuralc(&["check", &main, "--range", "x=1:9", "--json"]).json()["diagnostics"][0];
    assert_eq!((told["span"]["line"].as_u64(), told["span"]["column"].as_u64()), (Some(7), Some(1)), "{told}");
    assert!(told["file"].as_str().is_some_and(|f| f.ends_with("module.scm")), "{told}");
    let trapped = neuralc(&["run", &main, "x=2", "--trap"]);
    assert!(trapped.code == 1 && trapped.err.contains("module.scm:7:1"), "{trapped:?}");
    // And those of the program are its own.
    let clean = neuralc(&["check", &main, "--range", "x=3:9"]);
    assert!(clean.code == 0 && clean.out.contains("no operation leaves its domain") && clean.out.contains("none overflows"), "{clean:?}");
    // One name is one thing: two versions of a module are said to be two.
    for (file, name) in [("energy.scm", "energy"), ("energy2.scm", "energy")] {
        assert_eq!(library(path, &["add", &at(path, file), "--name", name]).code, 0);
    }
    let both = neuralc(&["run", &at(path, "two.scm")]);
    assert!(both.code == 1 && both.err.contains("duplicate-name") && both.err.contains("two.scm:2:6"), "{both:?}");
    assert!(both.err.contains("`energy` is used from `energy@2` and is that of `energy@1` already"), "{both:?}");
}
