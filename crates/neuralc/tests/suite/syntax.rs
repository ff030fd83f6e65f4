//! Programs in infix and LaTeX, with every command: by the ending of the file or by `--syntax`; translated; with errors in their words.

use crate::common::{file, neuralc, neuralc_with};

const DECAY: &str = "param A = 2.0\nparam k = 0.5 (min 0)  # rate\ny = A*exp(-k*t)\n";

#[test]
fn the_ending_or_the_option_chooses() {
    let (_path, path) = file("decay.eq", DECAY);
    assert_eq!(neuralc(&["run", &path, "t=0"]).out, "2\n");
    assert_eq!(neuralc(&["run", "--syntax", "infix", "-e", "m*v^2/2", "m=2", "v=3"]).out, "9\n");
    assert_eq!(neuralc_with("x^2\n", &["run", "--syntax", "infix", "-", "x=3"]).out, "9\n");
    assert_eq!(neuralc(&["run", "--syntax", "latex", "-e", r"\frac{m v^2}{2}", "m=2", "v=3"]).out, "9\n");
    let (_tex, tex) = file("energy.tex", "E = \\frac{1}{2} m v^2\n");
    assert_eq!(neuralc(&["run", &tex, "m=2", "v=3"]).out, "9\n");
    assert_eq!(neuralc(&["run", "--syntax", "scheme", &path, "t=0"]).code, 1);
    assert_eq!(neuralc(&["check", &path]).code, 0);
    assert!(neuralc(&["show", &path, "--stage", "graph"]).out.contains("exp"));
}

#[test]
fn fmt_translates_both_ways() {
    let (_path, path) = file("model.eq", DECAY);
    let scheme = neuralc(&["fmt", &path, "--to", "scheme"]).out;
    assert_eq!(scheme, "(param A 2.0)\n(param k 0.5 :min 0) ; rate\n(define y (* A (exp (* (- k) t))))\ny\n");
    let (_back, back) = file("model-back.scm", &scheme);
    assert_eq!(neuralc(&["fmt", &back, "--to", "infix"]).out, DECAY);
    assert_eq!(neuralc(&["fmt", "--check", &path]).code, 0);
    assert_eq!(neuralc(&["fmt", "--syntax", "infix", "-e", "2x  +1"]).out, "2*x + 1\n");
    assert_eq!(neuralc(&["fmt", "--syntax", "infix", "-e", "(x^2+1)/2", "--to", "latex"]).out, "\\frac{x^{2} + 1}{2}\n");
}

/// LaTeX declares no constants: what is missing in the data may be one, and there is a way to declare it.
#[test]
fn a_formula_in_latex_is_told_how_to_have_constants() {
    let (_data, data) = file("decay.csv", "t,y\n0,2\n1,1.2\n2,0.7\n");
    let done = neuralc(&["fit", "--syntax", "latex", "-e", r"A e^{-k t}", "--data", &data]);
    assert!(done.code == 1 && done.err.contains("missing-column"), "{}", done.err);
    assert!(done.err.contains("neuralc fmt --to scheme") && done.err.contains("(param k 1)"), "{}", done.err);
}

#[test]
fn show_prints_formulas() {
    let done = neuralc(&["show", "-e", "(/ (* m (pow v 2)) 2)", "--format", "latex"]);
    assert_eq!((done.code, done.out.as_str()), (0, "\\frac{m v^{2}}{2}\n"));
    assert_eq!(neuralc(&["show", "-e", "x", "--format", "latex", "--stage", "ast"]).code, 2);
    assert_eq!(neuralc(&["show", "-e", "x", "--format", "text"]).code, 2);
    assert_eq!(neuralc(&["show", "-e", "x"]).code, 2);
}

#[test]
fn errors_speak_the_syntax() {
    let infix = |text: &str| neuralc(&["check", "--syntax", "infix", "-e", text]);
    let done = infix("param k = 1\nA*exp(-kt)");
    assert_eq!(done.code, 1);
    // What is wrong with a program is the result of `check`, and on standard output.
    assert!(done.out.contains("did you mean k*t?"), "{}", done.out);
    let run = neuralc(&["run", "--syntax", "infix", "-e", "A*exp(-kt)", "A=1", "k=1", "t=1"]);
    assert!(run.code == 1 && run.err.contains("did you mean k*t?"), "{}", run.err);
    assert!(infix("atan(1, 2, 3)").out.contains("atan(y, x)"));
    assert!(infix("sqr(x)").out.contains("square(x)"));
    assert!(infix("param k\nk").out.contains("param name = value (min a, max b, fixed, prior p, per column, effect e)"));
    // The last line gives the value, and a declaration gives none.
    assert!(infix("param k = 1\ny = k*t\nunit k = 1/s").out.contains("declarations stand before it"));
    assert!(infix("1/2x").out.contains("can be read in two ways"));
    let json = neuralc(&["check", "--syntax", "infix", "-e", "1 +\n 2 3", "--json"]);
    assert_eq!(json.codes(), ["unexpected-token"]);
    assert_eq!(json.json()["diagnostics"][0]["span"], serde_json::json!({"start": 7, "end": 8, "line": 2, "column": 4}));
}

#[test]
fn no_help_in_infix_is_in_scheme() {
    for text in [
        "f(x) = x\nf(1, 2)",
        "sin(1, 2)",
        "x = 1\nx(2)",
        "if x then [1, 2] else 3",
        "foo(2)",
        "state x = 1",
        "cases { x < 1: 2 }",
        "recur(1)",
        "norm(v)",
    ] {
        let done = neuralc(&["run", "--syntax", "infix", "-e", text, "--json"]);
        for d in done.json()["diagnostics"].as_array().expect("diagnostics") {
            let said = format!("{} {}", d["message"], d["help"]);
            let scheme = ["(sin", "(define", "(cond", "(input", "(derive", "(recur", " :", "(if "];
            assert!(scheme.iter().all(|s| !said.contains(s)), "{text}: {said}");
        }
    }
}

#[test]
fn compose_keeps_the_syntax_of_its_parts() {
    let (_area, area) = file("area.eq", "pi*r^2\n");
    let (_force, force) = file("force.eq", "p*A\n");
    let done = neuralc(&["compose", &area, &force, "--into", "A"]);
    assert_eq!((done.code, done.out.as_str()), (0, "let A = pi*r^2 in p*A\n"));
    let (_scheme, scheme) = file("force.scm", "(* p A)\n");
    assert_eq!(neuralc(&["compose", &area, &scheme, "--into", "A"]).out, "(let ((A (* pi (pow r 2))))\n  (* p A))\n");
}

#[test]
fn the_repl_takes_infix() {
    let done = neuralc_with("x = 2\nf(a) = {\n  b = a^2\n  b + 1\n}\nf(x)\n:grad f(x)\n1/2x\n", &["repl", "--syntax", "infix"]);
    assert_eq!(done.out, "x\nf\n5\nvalue  5\nd/dx   4\n");
    assert!(done.err.contains("can be read in two ways"), "{}", done.err);
}

#[test]
fn a_saved_model_is_written_as_its_file_ends() {
    let (_model, model) = file("fit-me.eq", "param a = 1  # slope\na*x\n");
    let (_data, data) = file("fit-me.csv", "x,y\n1,2\n2,4.1\n3,5.9\n4,8\n");
    let folder = std::path::Path::new(&model).parent().expect("a folder").to_path_buf();
    for (name, sign) in [("saved.eq", "param a = "), ("saved.scm", "(param a ")] {
        let saved = folder.join(name).to_string_lossy().into_owned();
        assert_eq!(neuralc(&["fit", &model, "--data", &data, "--target", "y", "--save", &saved]).code, 0);
        let text = std::fs::read_to_string(&saved).expect("the saved model");
        assert!(text.contains(sign) && text.contains("slope") && text.contains(" fit: {"), "{text}");
        let done = neuralc(&["predict", &saved, "--data", &data, "--out", "-"]);
        assert!(done.code == 0 && done.out.lines().count() == 5, "{done:?}");
        let again = neuralc(&["fit", &saved, "--data", &data, "--target", "y", "--save", &saved]);
        assert_eq!(again.code, 0, "{again:?}");
        assert_eq!(std::fs::read_to_string(&saved).expect("the saved model").matches(" fit: {").count(), 1);
    }
}

/// Names SymPy has a meaning for are symbols; the texts are read by SymPy in tests/python/test_sympy.py.
#[test]
fn one_expression_for_sympy() {
    for (text, shown) in [
        ("(* x (sin y))", "x * sin(y)"),
        ("(let ((u (exp x))) (* u u E))", "(exp(x) * exp(x)) * Symbol(\"E\")"),
        ("(if (> x 0) 1.5 (- x 3))", "Piecewise((Rational(\"1.5\"), Gt(x, 0)), ((x - 3), True))"),
    ] {
        let done = neuralc(&["show", "-e", text, "--format", "sympy"]);
        assert_eq!((done.code, done.out.trim_end()), (0, shown), "{done:?}");
    }
    let done = neuralc(&["show", "-e", "(loop ((i 0)) (if (> i x) i (recur (+ i 1))))", "--format", "sympy"]);
    assert!(done.code == 1 && done.err.contains("export-unsupported") && done.err.contains("loops"), "{done:?}");
}
