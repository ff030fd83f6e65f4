//! One factor of a LaTeX formula: names, groups, fractions, roots, functions, sums, cases, matrices. In: tokens; out: data.

use super::environments::environment;
use super::functions::{FUNCTIONS, call, function, logarithm, root};
use super::lexer::Kind;
use super::names::{LETTERS, Name, UPRIGHT};
use super::parser::{Item, Parser, Read, Walk};
use super::sums::sum;
use crate::ops;
use crate::source::Span;
use crate::syntax::reader::Datum;

/// Whether a command starts a factor.
pub(super) fn starts(command: &str) -> bool {
    FUNCTIONS.iter().any(|f| f.0 == command)
        || matches!(
            command,
            "frac"
                | "dfrac"
                | "tfrac"
                | "cfrac"
                | "sqrt"
                | "log"
                | "lg"
                | "sum"
                | "prod"
                | "infty"
                | "begin"
                | "lvert"
                | "lVert"
                | "lfloor"
                | "lceil"
        )
}

/// One factor, without what is set behind it.
pub(super) fn primary(p: &mut Parser<'_>) -> Read<Item> {
    let token = p.peek();
    match token.kind {
        Kind::Number(x) => {
            p.next();
            Ok(p.number(x, token.span))
        }
        Kind::Letter(_) => {
            if let Some(word) = p.misspelt_function() {
                let span = Span { start: token.span.start, end: token.span.start + word.len() as u32 };
                return Err(
                    p.ambiguous(span, &[&format!("\\operatorname{{{word}}} for the function"), "\\cdot between the letters of a product"])
                );
            }
            name(p)
        }
        Kind::Open => {
            let inner = p.braced(|p| p.sum())?;
            if inner.atomic || matches!(p.data.get(inner.id), Datum::Number(_)) {
                return Ok(inner);
            }
            // Braces are not set: what is on the page is read, and it has no parentheses.
            let alone = !p.factor_starts() && !matches!(p.peek().kind, Kind::Raise);
            let product = matches!(p.data.get(inner.id), Datum::List(..)) && !is_sum(p, inner);
            if product && alone {
                Ok(inner)
            } else {
                Err(p.ambiguous(p.span(inner), &["parentheses instead of braces, which do not show"]))
            }
        }
        Kind::Sign('(') => group(p, ')'),
        Kind::Sign('{') => group(p, '}'),
        Kind::Sign('[') => {
            let inner = group(p, ']')?;
            if matches!(p.data.get(inner.id), Datum::Symbol(_) | Datum::Number(_)) {
                return Err(p.ambiguous(
                    token.span.join(p.before().span),
                    &["parentheses for a group", "c_A for a concentration", "\\lfloor … \\rfloor"],
                ));
            }
            Ok(inner)
        }
        Kind::Sign('|') if p.ahead(1).kind == Kind::Sign('|') && p.ahead(1).glued => {
            let span = token.span.join(p.ahead(1).span);
            Err(p.ambiguous(span, &["\\|v\\| for the length of a vector", "\\lvert … \\rvert for absolute values"]))
        }
        Kind::Sign('|') => between(p, Kind::Sign('|'), "", "abs"),
        Kind::Sign('\u{2016}') => between(p, Kind::Sign('\u{2016}'), "", "norm"),
        Kind::Command => command(p),
        _ => Err(p.unexpected(token, "an expression")),
    }
}

pub(super) fn is_sum(p: &Parser<'_>, item: Item) -> bool {
    let head = p.data.children(item.id).first().and_then(|&h| p.data.symbol(h)).map(|s| p.data.names.text(s));
    matches!(head, Some("+" | "-"))
}

pub(super) fn group(p: &mut Parser<'_>, close: char) -> Read<Item> {
    p.next();
    let inner = p.enclosed(|p| p.with_where())?;
    if p.is(',') {
        let help = "a vector is written \\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}";
        return Err(p.unknown(p.peek().span, "a comma between values", help));
    }
    p.expect_sign(close)?;
    Ok(Item { atomic: true, ..inner })
}

/// `|x|`, `\lvert x\rvert` and their kin.
pub(super) fn between(p: &mut Parser<'_>, close: Kind, command: &str, operation: &str) -> Read<Item> {
    let open = p.next();
    p.bars += 1;
    let inner = p.sum()?;
    p.bars -= 1;
    let token = p.next();
    if token.kind != close || (close == Kind::Command && p.command_of(token) != command) {
        return Err(p.unexpected(token, "the sign that closes this"));
    }
    p.call(operation, &[inner], open.span.join(token.span))
}

pub(super) fn command(p: &mut Parser<'_>) -> Read<Item> {
    let token = p.peek();
    let command = p.command();
    if LETTERS.contains(&command) || UPRIGHT.contains(&command) || p.name_starts() {
        return name(p);
    }
    if FUNCTIONS.iter().any(|f| f.0 == command) {
        return function(p);
    }
    match command {
        "frac" | "dfrac" | "tfrac" | "cfrac" => {
            p.next();
            split_digits(p);
            let top = argument(p)?;
            let bottom = argument(p)?;
            let span = token.span.join(p.before().span);
            refuse_derivative(p, top, bottom, span)?;
            p.call("/", &[top, bottom], span)
        }
        "sqrt" => root(p),
        "log" => logarithm(p),
        "lg" => Err(p.ambiguous(token.span, &["\\log_{10}", "\\log_2"])),
        "sum" => sum(p, "+", 0.0),
        "prod" => sum(p, "*", 1.0),
        "infty" => {
            p.next();
            Ok(p.number(f64::INFINITY, token.span))
        }
        "lvert" => between(p, Kind::Command, "rvert", "abs"),
        "lVert" => between(p, Kind::Command, "rVert", "norm"),
        "lfloor" => between(p, Kind::Command, "rfloor", "floor"),
        "lceil" => between(p, Kind::Command, "rceil", "ceiling"),
        "begin" => environment(p),
        "dot" | "ddot" => {
            let help = "a derivative stands on the left of its equation; on the right, name what it is equal to";
            Err(p.unknown(token.span, "a derivative in an expression", help))
        }
        "int" | "iint" | "oint" | "lim" | "partial" | "nabla" | "ldots" | "cdots" | "dots" | "binom" | "mathbb" | "approx" | "propto"
        | "to" | "in" | "Re" | "Im" => Err(p.unknown(token.span, &format!("`\\{command}`"), "spec/latex.md lists what is")),
        _ => Err(p.unknown(token.span, &format!("the command `\\{command}`"), "spec/latex.md lists those that are")),
    }
}

/// `\frac12` has one digit for each of its arguments.
pub(super) fn split_digits(p: &mut Parser<'_>) {
    let token = p.peek();
    let text = token.span.text(p.source);
    if !matches!(token.kind, Kind::Number(_)) || text.len() != 2 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return;
    }
    let digit = |i: usize| {
        let span = Span { start: token.span.start + i as u32, end: token.span.start + i as u32 + 1 };
        super::lexer::Token { kind: Kind::Number(f64::from(text.as_bytes()[i] - b'0')), span, glued: true }
    };
    let digits = [digit(0), digit(1)];
    p.cursor.tokens.splice(p.cursor.at..=p.cursor.at, digits);
}

/// What stands in braces behind a command; a single digit or letter may stand without.
pub(super) fn argument(p: &mut Parser<'_>) -> Read<Item> {
    let token = p.peek();
    match token.kind {
        Kind::Open => {
            let inner = p.braced(|p| p.condition())?;
            Ok(Item { atomic: true, ..inner })
        }
        Kind::Number(x) if token.span.text(p.source).len() == 1 => {
            p.next();
            Ok(p.number(x, token.span))
        }
        Kind::Number(_) => Err(p.two_digits(token)),
        Kind::Letter(c) => {
            p.next();
            Ok(p.symbol(&c.to_string(), token.span))
        }
        _ => primary(p),
    }
}

/// `\frac{dy}{dt}` in an expression is a derivative, or a quotient of products with the factor `d`.
pub(super) fn refuse_derivative(p: &Parser<'_>, top: Item, bottom: Item, span: Span) -> Read<()> {
    let starts_with_d = |i: Item| {
        let text = p.span(i).text(p.source);
        let text = text.trim_start_matches("\\mathrm").trim_start_matches(['{', ' ']);
        text.starts_with('d') || text.starts_with("\\partial")
    };
    if starts_with_d(top) && starts_with_d(bottom) {
        return Err(p.ambiguous(span, &["\\dot y = … on the left of an equation for a derivative", "d \\cdot y for a product with d"]));
    }
    Ok(())
}

/// Words that join parts of a sentence: a formula around them is not one expression.
const WORDS: &[&str] = &["where", "if", "otherwise", "else", "for", "when", "and", "or", "not", "with", "such", "that", "let", "then"];

/// A name where a value stands: a call where it is a function of the text, else a quantity.
pub(super) fn name(p: &mut Parser<'_>) -> Read<Item> {
    let start = p.peek();
    let upright = UPRIGHT.contains(&p.command()) && p.command() != "mathit";
    let named: Name = p.name()?;
    let span = named.span;
    let text = named.text.as_str();
    if upright && WORDS.contains(&text) {
        return Err(p.unknown(span, &format!("the word `{text}` in a formula"), "\\text{if} and \\text{otherwise} stand in cases"));
    }
    let parenthesis = p.is('(');
    let operation = ops::surface(text).is_some();
    if parenthesis && (p.functions.contains(text) || upright && operation) {
        return call(p, text, span);
    }
    if upright && operation && !named.plain {
        return Err(p.unexpected(p.peek(), &format!("the arguments of {text} in parentheses")));
    }
    if parenthesis {
        return Err(p.ambiguous(
            span.join(p.peek().span),
            &[&format!("{} \\cdot ( for a product", p.text(span)), "f(x) = … as an equation of this text for a function"],
        ));
    }
    if let Some(value) = p.index_value(text) {
        return Ok(match value {
            Some(n) => p.number(n as f64, span),
            None => p.symbol(text, span),
        });
    }
    match text {
        "e" if upright => {
            // The number e: upright, as ISO 80000-2 sets it.
            return euler(p, span);
        }
        // As it is printed: no quantity is called so.
        "NaN" if upright => return Ok(p.number(f64::NAN, span)),
        "e" if !named.plain => {
            let integer = p.peek().kind == Kind::Raise && exponent_is_whole(p);
            if p.peek().kind != Kind::Raise || integer {
                return Err(p.ambiguous(
                    start.span.join(p.peek().span),
                    &["\\exp(x)", "\\mathrm{e} for the number e", "\\mathit{e} for a quantity"],
                ));
            }
            return euler(p, span);
        }
        "Delta" | "delta" if p.name_starts() => {
            let following = p.text(p.peek().span);
            let readings = [format!("{}_{{{following}}} for one quantity", p.text(span)), "\\cdot for a product".to_string()];
            return Err(p.ambiguous(span.join(p.peek().span), &[readings[0].as_str(), readings[1].as_str()]));
        }
        _ => {}
    }
    let item = p.symbol(text, span);
    Ok(Item { bold: named.bold, ..item })
}

/// Whether a power of `e` is a plain whole number: then `e` may as well be a quantity.
pub(super) fn exponent_is_whole(p: &Parser<'_>) -> bool {
    match p.ahead(1).kind {
        Kind::Number(_) => true,
        Kind::Open => matches!(p.ahead(2).kind, Kind::Number(_)) && p.ahead(3).kind == Kind::Close,
        _ => false,
    }
}

/// `e^{…}` is `exp`; the number alone is `exp(1)`.
pub(super) fn euler(p: &mut Parser<'_>, span: Span) -> Read<Item> {
    if p.peek().kind != Kind::Raise {
        let one = p.number(1.0, span);
        return p.call("exp", &[one], span);
    }
    p.next();
    let from = p.cursor.at;
    let exponent = argument(p)?;
    let imaginary = p.cursor.tokens[from..p.cursor.at].iter().any(|t| matches!(t.kind, Kind::Letter('i' | 'j')))
        && !p.indices.iter().any(|i| i.0 == "i" || i.0 == "j");
    if imaginary {
        let at = span.join(p.before().span);
        return Err(p.ambiguous(at, &["\\exp(x) with another name than i or j", "cosines and sines: there are no complex numbers"]));
    }
    let whole = span.join(p.before().span);
    // A power of a power cannot be told from its typesetting.
    Ok(Item { atomic: false, ..p.call("exp", &[exponent], whole)? })
}
