//! Names that other languages have for what is written differently here. In: a name nothing in the program defines; out: what to write.
//!
//! The nearest spelling would mislead: `sqr` is a square, not a root, and `**` is a power, not a product. Every text given as advice
//! is a program that compiles (tested below), with the names of what goes into it.

use crate::syntax::forms;

/// Names, and the program that says the same.
const WRITTEN: &[(&[&str], &str)] = &[
    (&["ln", "logn"], "(log x)"),
    (&["**", "^", "power"], "(pow x y)"),
    (&["sqr"], "(square x)"),
    (&["exp10"], "(pow 10 x)"),
    (&["hypot"], "(norm [x y])"),
    (&["atan2", "arctan2"], "(atan y x)"),
    (&["arcsin"], "(asin x)"),
    (&["arccos"], "(acos x)"),
    (&["arctan"], "(atan x)"),
    (&["sec"], "(/ (cos x))"),
    (&["csc", "cosec"], "(/ (sin x))"),
    (&["cot"], "(/ (tan x))"),
    (&["logistic", "expit"], "(sigmoid x)"),
    (&["tgamma"], "(gamma x)"),
    (&["factorial"], "(gamma (+ n 1))"),
    (&["gammaln", "loggamma", "lngamma"], "(lgamma x)"),
    (&["betaln"], "(lbeta a b)"),
    (&["psi"], "(digamma x)"),
    (&["pnorm", "ndtr", "norm-cdf"], "(normal-cdf x)"),
    (&["log-ndtr"], "(normal-log-cdf x)"),
    (&["qnorm", "ndtri", "probit", "norm-quantile"], "(normal-quantile p)"),
    (&["dnorm", "norm-pdf", "normal-pdf"], "(/ (exp (* -0.5 (square x))) (sqrt (* 2 pi)))"),
    (&["j0", "besselj0"], "(bessel-j0 x)"),
    (&["j1", "besselj1"], "(bessel-j1 x)"),
    (&["i0", "besseli0"], "(bessel-i0 x)"),
    (&["i1", "besseli1"], "(bessel-i1 x)"),
    (&["k0", "besselk0"], "(bessel-k0 x)"),
    (&["k1", "besselk1"], "(bessel-k1 x)"),
    (&["voigt-profile", "voigt_profile"], "(voigt x sigma gamma)"),
    (&["gammainc", "pgamma", "igamma"], "(gamma-p a x)"),
    (&["gammaincc"], "(gamma-q a x)"),
    (&["betainc", "pbeta", "ibeta"], "(beta-p a b x)"),
    (&["betaincc"], "(beta-q a b x)"),
    (&["deg2rad", "radians"], "(* x (/ pi 180))"),
    (&["rad2deg", "degrees"], "(* x (/ 180 pi))"),
    (&["heaviside", "step"], "(if (>= x 0) 1 0)"),
    (&["clip"], "(clamp x low high)"),
    (&["neg", "negate"], "(- x)"),
    (&["add", "plus"], "(+ x y)"),
    (&["sub", "subtract", "minus"], "(- x y)"),
    (&["mul", "multiply", "times"], "(* x y)"),
    (&["div", "divide"], "(/ x y)"),
    (&["reciprocal", "recip"], "(/ x)"),
    (&["add1", "inc"], "(+ x 1)"),
    (&["sub1", "dec"], "(- x 1)"),
    (&["%", "mod", "floor-remainder"], "(modulo x y)"),
    (&["fmod", "truncate-remainder"], "(remainder x y)"),
    (&["//", "floor-quotient"], "(floor (/ x y))"),
    (&["ceil"], "(ceiling x)"),
    (&["trunc", "fix"], "(truncate x)"),
    (&["rint", "nearbyint"], "(round x)"),
    (&["sgn", "signum"], "(sign x)"),
    (&["fabs"], "(abs x)"),
    (&["zero?"], "(= x 0)"),
    (&["positive?"], "(> x 0)"),
    (&["negative?"], "(< x 0)"),
    (&["==", "eq?", "eqv?", "equal?"], "(= x y)"),
    (&["!=", "/=", "<>"], "(not (= x y))"),
    (&["&&"], "(and x y)"),
    (&["!"], "(not x)"),
    (&["where", "ifelse", "ternary", "?"], "(if (> x 0) y z)"),
    (&["when"], "(if (> x 0) y 0)"),
    (&["unless"], "(if (> x 0) 0 y)"),
    (&["case", "switch", "piecewise"], "(cond ((< x 0) y) (else z))"),
    (&["vector", "list", "array", "tuple"], "[x y z]"),
    (&["matrix"], "(mat [a b] [c d])"),
    (&["vector-ref", "list-ref", "nth", "aref", "elt", "get", "first"], "(ref v 0)"),
    (&["length", "len", "vector-length", "size"], "(vlen v)"),
    (&["sum", "reduce-sum"], "(vsum v)"),
    (&["mean", "average"], "(/ (vsum v) (vlen v))"),
    (&["magnitude", "l2norm"], "(norm v)"),
    (&["inverse", "invert"], "(inv m)"),
    (&["determinant"], "(det m)"),
    (&["matrix-multiply", "mmul", "@"], "(matmul a b)"),
    (&["identity-matrix"], "(eye 3)"),
    (&["append", "vector-append"], "(concat u v)"),
    (&["do", "while", "for", "dotimes"], "(loop ((i 0) (s 0)) (if (< i 10) (recur (+ i 1) (+ s x)) s))"),
    (&["begin", "progn", "set!", "setq", "block", "let-values"], "(let ((y (* x x))) (+ y 1))"),
];

/// What to write instead of a call of `name`.
pub(super) fn advice(name: &str) -> Option<String> {
    if ["map", "vector-map", "for-each", "apply", "reduce", "fold", "fold-left"].contains(&name) {
        return Some(
            "functions are not values; on vectors operations apply element by element: (sin v), (* 2 v), and (vsum v) adds up".into(),
        );
    }
    if let Some(form) = forms::form(name).filter(|f| f.is_declaration()) {
        return Some(format!("a declaration stands at the top of the program: {}", form.usage));
    }
    WRITTEN.iter().find(|(names, _)| names.contains(&name)).map(|(_, text)| format!("write {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, compile, ops};

    #[test]
    fn every_advice_compiles() {
        for (names, text) in WRITTEN {
            if let Err(error) = compile(text, &Options::default()) {
                panic!("{names:?}: {text}: {error}");
            }
        }
    }

    #[test]
    fn names_are_foreign_and_named_once() {
        let all: Vec<&str> = WRITTEN.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        for (k, name) in all.iter().enumerate() {
            assert!(ops::surface(name).is_none() && forms::form(name).is_none(), "`{name}` is an operation or a form");
            assert!(!all[..k].contains(name), "`{name}` is there twice");
        }
    }

    #[test]
    fn a_square_is_not_taken_for_a_root() {
        let error = compile("(sqr x)", &Options::default()).expect_err("no such function").to_string();
        assert!(error.contains("(square x)") && !error.contains("sqrt"), "{error}");
    }
}
