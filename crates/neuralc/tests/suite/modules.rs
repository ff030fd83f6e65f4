//! `(use "file.scm" (name …))`: definitions of other files, what of them is seen, and mistakes with their place.

use crate::common::{folder, neuralc};

fn run(files: &[(&str, &str)], args: &[&str]) -> (i32, String) {
    let folder = folder(files);
    let main = folder.path().join(files[0].0);
    let done = neuralc(&[&["run", main.to_str().expect("UTF-8")], args].concat());
    (done.code, if done.code == 0 { done.out } else { done.err })
}

const KINETICS: &str = "(define half 0.5)\n(define (hill c k) (/ c (+ c (scaled k))))\n(define (scaled k) (* half k))\n";

#[test]
fn definitions_are_used_and_private_ones_are_not_seen() {
    // 2/(2 + 0.5*4): `half` of the module is not that of the program.
    let main = "(use \"lib/kinetics.scm\" (hill))\n(define half 100)\n(+ (hill c 4) (* 0 half))\n";
    let (code, out) = run(&[("main.scm", main), ("lib/kinetics.scm", KINETICS)], &["c=2"]);
    assert_eq!((code, out.trim()), (0, "0.5"));
    // A name that was not asked for is an input.
    let (code, out) = run(&[("main.scm", "(use \"k.scm\" (hill)) (* half (hill 1 1))"), ("k.scm", KINETICS)], &["half=3"]);
    assert_eq!((code, out.trim()), (0, "2"), "3 / 1.5");
    // Modules of modules, paths as seen from the file they stand in, a text that two use.
    let files = [
        ("main.scm", "(use \"a/a.scm\" (f)) (use \"b.scm\" (g)) (+ (f x) (g x))"),
        ("a/a.scm", "(use \"../b.scm\" (g)) (define (f x) (* 10 (g x)))"),
        ("b.scm", "(define (g x) (+ x 1))"),
    ];
    assert_eq!(run(&files, &["x=1"]).1.trim(), "22");
}

#[test]
fn mistakes_are_told_where_they_are() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: [Case<'_>; 9] = [
        (&[("m.scm", "(use \"none.scm\" (f)) 1")], &["cannot-use", "m.scm:1:6"]),
        (
            &[("m.scm", "(use \"a.scm\" (f)) 1"), ("a.scm", "(use \"b.scm\" (g))"), ("b.scm", "(use \"a.scm\" (f))")],
            &["use-cycle", "b.scm:1:6"],
        ),
        (&[("m.scm", "(use \"a.scm\" (f)) 1"), ("a.scm", "(define (f x) x)\n(param k 1)")], &["not-a-definition", "a.scm:2:1"]),
        (&[("m.scm", "(use \"a.scm\" (f)) 1"), ("a.scm", "(define (f x) (* hidden x))")], &["unknown-name", "a.scm:1:18", "hidden"]),
        (&[("m.scm", "(use \"a.scm\" (g)) 1"), ("a.scm", "(define (f x) x)")], &["unknown-name", "m.scm:1:15"]),
        (&[("m.scm", "(use \"a.scm\" (f))\n(define (f x) 2) 1"), ("a.scm", "(define (f x) x)")], &["duplicate-name", "m.scm:1:15"]),
        (&[("m.scm", "(use \"a.scm\" (f)) (f 1)"), ("a.scm", "(define (f x) (sinn x))")], &["unknown-function", "a.scm:1:16"]),
        (&[("m.scm", "(use \"a.scm\" (f))\n(f 1 2)"), ("a.scm", "(define (f x) x)")], &["wrong-arity", "m.scm:2:1"]),
        (&[("m.scm", "(use \"a.scm\" f) 1"), ("a.scm", "(define (f x) x)")], &["bad-form", "m.scm:1:1"]),
    ];
    for (files, expected) in cases {
        let (code, err) = run(files, &[]);
        assert!(code == 1 && expected.iter().all(|e| err.contains(e)), "{files:?}: {err}");
    }
}

#[test]
fn a_saved_fit_has_the_definitions_in_place_and_their_hash() {
    let folder = folder(&[
        ("m.scm", "(use \"law.scm\" (decay))\n(param k 1)\n(decay t k)\n"),
        ("law.scm", "(define (decay t k) (exp (- (* k t))))\n"),
        ("data.csv", "t,y\n0,1\n1,0.5\n2,0.25\n3,0.125\n"),
    ]);
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    let done = neuralc(&["fit", &path("m.scm"), "--data", &path("data.csv"), "--save", &path("saved.scm")]);
    assert_eq!(done.code, 0, "{done:?}");
    let saved = std::fs::read_to_string(path("saved.scm")).expect("a model");
    // sha256sum of law.scm.
    assert!(saved.contains("law.decay") && saved.contains("b694b39ce256f6b084d54665dc68c3733e0615b093ba4efc7dfbc1aa187e4414"), "{saved}");
    std::fs::remove_file(path("law.scm")).expect("gone");
    let done = neuralc(&["predict", &path("saved.scm"), "--data", &path("data.csv"), "--out", &path("out.csv")]);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn programs_that_use_others_are_formatted() {
    let text = "(use   \"kinetics.scm\"\n  (hill  rate)) ; from there\n(use \"a.scm\" (pppppp))\n(param K 2)   (hill x K)";
    let done = neuralc(&["fmt", "-e", text]);
    let laid_out = "(use \"kinetics.scm\" (hill rate)) ; from there\n(use \"a.scm\" (pppppp))\n(param K 2)\n(hill x K)\n";
    assert_eq!((done.code, done.out.as_str()), (0, laid_out), "{done:?}");
    assert_eq!(neuralc(&["fmt", "-e", laid_out]).out, laid_out);
    let infix = neuralc(&["fmt", "--to", "infix", "-e", text]);
    assert!(infix.code == 1 && infix.err.contains("written in Scheme"), "{infix:?}");
}

/// A device or a pipe may have no end; a text has a limit.
#[cfg(unix)]
#[test]
fn what_is_used_is_a_file_of_bounded_length() {
    let (code, err) = run(&[("m.scm", "(use \"/dev/zero\" (f)) (f 1)")], &[]);
    assert!(code == 1 && err.contains("cannot-use") && err.contains("no file"), "{err}");
    let long = format!("(define (f x) x) ; {}", "-".repeat(5000));
    let files = [("m.scm", "(use \"long.scm\" (f)) (f 1)"), ("long.scm", &long)];
    let (code, err) = run(&files, &["--max-source-bytes", "4000"]);
    assert!(code == 1 && err.contains("longer than 4000 bytes"), "{err}");
    assert_eq!(run(&files, &[]).1.trim(), "1");
}
