//! Diagnostics in the syntax of their text. In: findings whose words quote Scheme, as all are written in the first place; out: the same in
//! the syntax of the user. Pieces of Scheme in a text are read and printed like any program; phrases that are no programs are listed.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limits::Limits;
use crate::ops;
use crate::syntax::Syntax;
use crate::syntax::forms::{self, FORMS};
use crate::syntax::infix::printer::print_datum;
use crate::syntax::reader::{Datum, read};

/// Phrases of diagnostics, and how they read in infix.
const PHRASES: &[(&str, &str)] = &[
    ("(define (name x) …)", "name(x) = …"),
    ("(define (f x) …)", "f(x) = …"),
    ("(operation argument …)", "operation(argument, …)"),
    ("(test value)", "test: value"),
    ("end it with (else value)", "end it with else: value"),
    ("a cond clause", "a case"),
    ("clause of cond", "case"),
    ("cond needs an else clause", "cases need an else"),
    ("`derive` clauses or `next` clauses", "derivatives or next values"),
    ("has no `derive` and no `next` clause", "has neither a derivative nor a next value"),
    ("(define name …)", "name = …"),
    ("use let inside an expression", "put it in braces: { a = 2; a*x }"),
    ("a lambda can", "a function without a name can"),
    ("this lambda", "this function"),
    ("this let*", "this let"),
    ("name it with define or letrec", "define it, as in f(x) = x^2"),
    ("name parts of the expression with let*", "name parts of the expression"),
    ("make a vector of several with [ ]", "make a vector of several: [a, b]"),
    ("parentheses are nested", "expressions are nested"),
    (
        "end it with the expression to compute",
        "end it with the line that gives the value, y = … or an expression: declarations stand before it",
    ),
];

/// The same findings, in the words of this syntax.
pub(crate) fn respell(found: Diagnostics, syntax: Syntax) -> Diagnostics {
    match syntax {
        Syntax::Scheme => found,
        // What LaTeX has no spelling for is said in infix, which is nearer to it than Scheme.
        Syntax::Infix | Syntax::Latex => Diagnostics(found.0.into_iter().map(respelled).collect()),
    }
}

/// One finding, in infix.
pub(crate) fn respelled(mut d: Diagnostic) -> Diagnostic {
    d.message = infix(&d.message);
    d.labels.iter_mut().for_each(|l| l.text = infix(&l.text));
    d.help = d.help.map(|h| infix(&h));
    if matches!(d.code, "unknown-function" | "not-a-function") && !d.help.as_deref().is_some_and(|h| h.starts_with("write ")) {
        let product = "a product needs its sign: k*(x + 1)";
        d.help = Some(d.help.map_or(product.into(), |h| format!("{h}; {product}")));
    }
    d
}

/// A sentence with its pieces of Scheme in infix.
fn infix(text: &str) -> String {
    let mut text = text.to_string();
    let usages = FORMS.iter().flat_map(|f| {
        let (scheme, infix): (Vec<&str>, Vec<&str>) = (f.usage.split(" or ").collect(), f.infix.split(" or ").collect());
        let ways = if scheme.len() == infix.len() { scheme.into_iter().zip(infix).collect() } else { vec![(f.usage, f.infix)] };
        // The whole usage first: a part of it may stand alone.
        std::iter::once((f.usage, f.infix)).chain(ways)
    });
    for (scheme, infix) in usages.chain(PHRASES.iter().copied()) {
        if text.contains(scheme) {
            text = text.replace(scheme, infix);
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let (piece, length) = match c {
            '(' | '[' => program(rest).unwrap_or_else(|| (c.to_string(), 1)),
            '`' => quoted(rest).unwrap_or_else(|| ("`".into(), 1)),
            // An option without its colon.
            ':' if rest[1..].starts_with(|c: char| c.is_ascii_lowercase()) && !out.ends_with(char::is_alphanumeric) => (String::new(), 1),
            _ => (c.to_string(), c.len_utf8()),
        };
        out.push_str(&piece);
        rest = &rest[length..];
    }
    out
}

/// A name in backticks at the start of a text, as infix writes it.
fn quoted(text: &str) -> Option<(String, usize)> {
    let end = text[1..].find('`')? + 1;
    let name = &text[1..end];
    let spelled = match name {
        "cond" => "cases".to_string(),
        "=" => "==".into(),
        "pow" => "^".into(),
        _ if name.len() > 1 && name.starts_with(':') => name[1..].to_string(),
        _ if ops::surface(name).is_some() && name.len() > 1 => name.replace('-', "_"),
        _ => return Some((text[..=end].to_string(), end + 1)),
    };
    Some((format!("`{spelled}`"), end + 1))
}

/// The piece of Scheme a text starts with, in infix, and its length. Words in parentheses that are no program stay what they are.
fn program(text: &str) -> Option<(String, usize)> {
    let mut depth = 0usize;
    let end = text.char_indices().find_map(|(i, c)| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(i + 1)
    })?;
    let piece = &text[..end];
    let (data, errors) = read(piece, &Limits::default());
    let [only] = data.top[..] else { return None };
    let known = match data.get(only) {
        Datum::Bracket(..) => true,
        Datum::List(..) => {
            let head = data.children(only).first().and_then(|&h| data.symbol(h)).map(|s| data.names.text(s))?;
            ops::surface(head).is_some() || forms::form(head).is_some()
        }
        _ => false,
    };
    if !errors.is_empty() || !known {
        return None;
    }
    Some((print_datum(&data, piece, only).replace("`…`", "…"), end))
}

#[cfg(test)]
mod tests {
    use super::infix;

    #[test]
    fn pieces_of_scheme_are_respelled() {
        for (scheme, expected) in [
            ("write (log x)", "write log(x)"),
            ("usage: (atan x) or (atan y x)", "usage: atan(x) or atan(y, x)"),
            ("usage: (+ x …)", "usage: x + …"),
            ("`normal-cdf` takes 1 argument, got 2", "`normal_cdf` takes 1 argument, got 2"),
            ("declare it, as in (input v :size 3), or give it a value", "declare it, as in input v (size 3), or give it a value"),
            ("did you mean `:min`?", "did you mean `min`?"),
            ("known here: :min :max :fixed", "known here: min max fixed"),
            ("write [x y z]", "write [x, y, z]"),
            ("unexpected character `x` (U+2212)", "unexpected character `x` (U+2212)"),
            ("takes 2 arguments (a b), got 3", "takes 2 arguments (a b), got 3"),
            ("write (if (>= x 0) 1 0)", "write if x >= 0 then 1 else 0"),
        ] {
            assert_eq!(infix(scheme), expected);
        }
    }
}
