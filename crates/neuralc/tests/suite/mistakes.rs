//! What users see when they make typical mistakes, as snapshots.

use crate::common::{neuralc, neuralc_with};

/// Renders what `check` says about a program.
fn check(source: &str) -> String {
    let done = neuralc_with(source, &["check", "-"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(!done.out.contains('\u{1b}'), "no colour without a terminal");
    done.out
}

#[test]
fn several_mistakes_at_once() {
    insta::assert_snapshot!(check("(define (area r)\n  (* pi (sqare r)))\n(+ (area 1 2) (if x 1))\n"));
}

#[test]
fn missing_parenthesis() {
    insta::assert_snapshot!(check("(let ((a 1)\n  (+ a 2))\n"));
}

#[test]
fn shapes_that_do_not_fit() {
    insta::assert_snapshot!(check("(define u [1 2 3])\n(dot u [1 2])\n"));
}

#[test]
fn a_name_bound_twice() {
    insta::assert_snapshot!(check("(let ((a 1)\n      (b 2)\n      (a 3))\n  (+ a b))"));
}

#[test]
fn tabs_and_wide_characters() {
    insta::assert_snapshot!(check("\t(+ θ₀ Δt (sim 日本 1)\t)"));
}

#[test]
fn a_very_long_line() {
    insta::assert_snapshot!(check(&format!("(+ {}(foobarbaz 1) {})", "x ".repeat(300_000), "y ".repeat(300_000))));
}

#[test]
fn no_program() {
    insta::assert_snapshot!(check("; nothing\n"));
}

#[test]
fn values_on_the_command_line() {
    let done = neuralc(&["run", "-e", "(* mass (square speed))", "mas=1", "speed=fast"]);
    insta::assert_snapshot!(done.err);
}

#[test]
fn a_trap() {
    let done = neuralc(&["run", "-e", "(define (f x) (log (- x 1)))\n(+ 1 (f y))", "y=1", "--trap"]);
    insta::assert_snapshot!(done.err);
}

#[test]
fn a_possible_division_by_zero() {
    let done = neuralc(&["check", "-e", "(if (> x 5)\n    (/ 1 x)\n    (/ 1 (- x 2)))", "--range", "x=0:10"]);
    insta::assert_snapshot!(done.out);
}

#[test]
fn colour_is_only_for_terminals_and_wishes() {
    use std::process::Command;
    let run = |force: bool, no: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_neuralc"));
        command.args(["run", "-e", "(sni 1)"]).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        if force {
            command.env("CLICOLOR_FORCE", "1");
        }
        if no {
            command.env("NO_COLOR", "1");
        }
        String::from_utf8(command.output().expect("neuralc runs").stderr).expect("UTF-8").contains('\u{1b}')
    };
    assert!(!run(false, false) && !run(false, true));
    assert!(run(true, false), "CLICOLOR_FORCE asks for colour");
}
