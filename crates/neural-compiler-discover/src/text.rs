//! The text of models. In: parts of them; out: programs in Scheme, and how complex a program is.
//! Invariant: complexity does not depend on what constants are called or worth, nor on declarations.

use neural_compiler::Limits;
use neural_compiler::syntax::reader::{Data, DatumId, read};

/// A sum of parts; 0 where there is none.
pub(crate) fn sum(parts: &[String]) -> String {
    match parts {
        [] => "0".into(),
        [one] => one.clone(),
        many => format!("(+ {})", many.join(" ")),
    }
}

/// A product of parts; 1 where there is none.
pub(crate) fn product(parts: &[String]) -> String {
    match parts {
        [] => "1".into(),
        [one] => one.clone(),
        many => format!("(* {})", many.join(" ")),
    }
}

const DECLARATIONS: &[&str] = &["param", "state", "input", "time", "unit", "net"];

/// How complex a model is: operations, names and numbers of its formulas, quotients and roots twice, functions such as the
/// sine thrice, products of three states by three more; declarations are free.
pub fn complexity(scheme: &str) -> usize {
    let (data, _) = read(scheme, &Limits::default());
    let name = |&form: &DatumId| data.list(form).and_then(|l| l.get(1)).and_then(|&n| data.symbol(n)).map(|s| data.names.text(s));
    let states: Vec<&str> = data.top.iter().filter(|&&f| head(&data, f) == Some("state")).filter_map(name).collect();
    data.top.iter().map(|&form| of_form(&data, form) + crowds(&data, form, &states)).sum()
}

/// The formulas of a model in a line, however it is laid out: without its declarations, and without what is observed where there is more.
pub(crate) fn formulas(scheme: &str) -> String {
    let (data, _) = read(scheme, &Limits::default());
    let said = |observed: bool| -> Vec<String> {
        let own = |f: &&DatumId| !head(&data, **f).is_some_and(|h| DECLARATIONS.contains(&h) || !observed && h == "observe");
        let line = |&f: &DatumId| data.span(f).text(scheme).split_whitespace().collect::<Vec<_>>().join(" ");
        data.top.iter().filter(own).map(line).collect()
    };
    let formulas = said(false);
    if formulas.is_empty() { said(true).join(" ") } else { formulas.join(" ") }
}

/// What products of three and more states cost besides: what happens when two meet is common, when three do, rare.
const CROWD: usize = 3;

fn crowds(data: &Data, id: DatumId, states: &[&str]) -> usize {
    let Some(parts) = data.list(id) else { return 0 };
    let is_state = |p: &&DatumId| data.symbol(**p).is_some_and(|s| states.contains(&data.names.text(s)));
    let crowd = head(data, id) == Some("*") && parts.iter().filter(is_state).count() > 2;
    usize::from(crowd) * CROWD + parts.iter().map(|&p| crowds(data, p, states)).sum::<usize>()
}

fn head(data: &Data, form: DatumId) -> Option<&str> {
    let first = *data.list(form)?.first()?;
    data.symbol(first).map(|s| data.names.text(s))
}

fn of_form(data: &Data, form: DatumId) -> usize {
    match head(data, form) {
        Some(word) if DECLARATIONS.contains(&word) => 0,
        Some("observe") => data.list(form).and_then(|l| l.get(2)).map_or(0, |&d| leaves(data, d)),
        Some("derive" | "define" | "next") => data.list(form).map_or(0, |l| l[2..].iter().map(|&d| leaves(data, d)).sum()),
        _ => leaves(data, form),
    }
}

fn leaves(data: &Data, id: DatumId) -> usize {
    match data.list(id) {
        Some(parts) => parts.iter().map(|&p| leaves(data, p)).sum(),
        None => data.symbol(id).map_or(1, |s| weight(data.names.text(s))),
    }
}

/// Functions: each says more than a sum or a product does.
const FUNCTIONS: &[&str] = &["sin", "cos", "tan", "exp", "log", "tanh", "sinh", "cosh", "asin", "acos", "atan", "abs", "pow", "expt"];

fn weight(word: &str) -> usize {
    match word {
        "/" | "sqrt" => 2,
        word if FUNCTIONS.contains(&word) => 3,
        _ => 1,
    }
}

/// What follows the name in each form of this kind, by name: `(derive x EXPR)` gives x and EXPR.
pub(crate) fn forms(scheme: &str, kind: &str) -> Vec<(String, String)> {
    let (data, _) = read(scheme, &Limits::default());
    let one = |&form: &DatumId| {
        let parts = data.list(form).filter(|_| head(&data, form) == Some(kind))?;
        let [_, name, value, ..] = parts else { return None };
        let (name, span) = (data.symbol(*name)?, data.span(*value));
        Some((data.names.text(name).to_string(), scheme[span.start as usize..span.end as usize].to_string()))
    };
    data.top.iter().filter_map(one).collect()
}

/// Every top-level form but those of these kinds, as text.
pub(crate) fn forms_but(scheme: &str, kinds: &[&str]) -> String {
    let (data, _) = read(scheme, &Limits::default());
    let kept = data.top.iter().filter(|&&form| head(&data, form).is_none_or(|h| !kinds.contains(&h)));
    let texts: Vec<&str> = kept.map(|&form| &scheme[data.span(form).start as usize..data.span(form).end as usize]).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_free_and_names_of_constants_do_not_count() {
        assert_eq!(complexity("(param a 1) (* a x)"), 3);
        assert_eq!(complexity("(param growth 7.25) (* growth x)"), 3);
        assert_eq!(complexity("(param x0 1) (state x x0) (derive x (- x))"), 2);
        assert_eq!(complexity("(state x 1) (state y 1) (derive x (* x y)) (derive y (* x y y))"), 3 + 4 + 3);
        assert_eq!(complexity("(* (sin a) (/ b c))"), 1 + 4 + 4);
    }

    #[test]
    fn formulas_are_shown_however_a_model_is_laid_out() {
        assert_eq!(formulas("(param a 1) (* a x)"), "(* a x)");
        assert_eq!(formulas("; a law\n(param a 1)\n(param b\n  2)\n(+ a\n   (* b x))"), "(+ a (* b x))");
        assert_eq!(formulas("(state x 1) (derive x (- x)) (observe x x :noise (normal 1))"), "(derive x (- x))");
        assert_eq!(formulas("(param a 1) (observe y (* a x))"), "(observe y (* a x))");
    }

    #[test]
    fn forms_are_found_by_their_names() {
        let text = "(param k 1 :min 0) (state x 1) (derive x (* k x)) ; end";
        assert_eq!(forms(text, "derive"), [("x".to_string(), "(* k x)".to_string())]);
        assert_eq!(forms_but(text, &["derive", "state"]), "(param k 1 :min 0)");
    }
}
