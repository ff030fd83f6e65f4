//! Functions of LaTeX and their arguments: `\sin x`, `\sin^2 x`, `\log_{10}(x)`, `\sqrt[3]{x}`, calls. In: tokens; out: data.

use super::lexer::Kind;
use super::parser::{Item, Parser, Read, Walk};
use super::primary::argument;
use crate::source::Span;
use crate::syntax::reader::Datum;

/// Functions that are commands, and the operations they are.
pub(super) const FUNCTIONS: &[(&str, &str)] = &[
    ("sin", "sin"),
    ("cos", "cos"),
    ("tan", "tan"),
    ("sinh", "sinh"),
    ("cosh", "cosh"),
    ("tanh", "tanh"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("ln", "log"),
    ("exp", "exp"),
    ("det", "det"),
    ("min", "min"),
    ("max", "max"),
    // Quotients: one over the function of the second column.
    ("sec", "cos"),
    ("csc", "sin"),
    ("cot", "tan"),
];

/// `f(a, b)`.
pub(super) fn call(p: &mut Parser<'_>, operation: &str, start: Span) -> Read<Item> {
    let arguments = arguments(p)?;
    let span = start.join(p.before().span);
    if p.peek().kind == Kind::Raise {
        return Err(p.ambiguous(
            span.join(p.peek().span),
            &["parentheses around the function and its argument", "the power inside the parentheses"],
        ));
    }
    p.call(operation, &arguments, span)
}

pub(super) fn arguments(p: &mut Parser<'_>) -> Read<Vec<Item>> {
    let close = if p.is('{') { '}' } else { ')' };
    p.next();
    let items = p.enclosed(|p| {
        let mut items = Vec::new();
        while !p.is(close) {
            items.push(p.condition()?);
            if !p.is(',') {
                break;
            }
            p.next();
        }
        Ok(items)
    })?;
    p.expect_sign(close)?;
    Ok(items)
}

/// `\sin x`, `\sin^2 x`, `\max(a, b)`.
pub(super) fn function(p: &mut Parser<'_>) -> Read<Item> {
    let token = p.next();
    let name = p.command_of(token);
    let operation = FUNCTIONS.iter().find(|f| f.0 == name).map_or("sin", |f| f.1);
    if p.peek().kind == Kind::Lower {
        return Err(p.unknown(p.peek().span, "a subscript of a function", "write its arguments in parentheses"));
    }
    applied(p, token.span, &name, |p, arguments, span| {
        let value = p.call(operation, &arguments, span)?;
        if matches!(name.as_str(), "sec" | "csc" | "cot") {
            let one = p.number(1.0, token.span);
            return p.call("/", &[one, value], span);
        }
        Ok(value)
    })
}

/// A function with its power and its argument.
pub(super) fn applied(
    p: &mut Parser<'_>,
    start: Span,
    name: &str,
    make: impl FnOnce(&mut Parser<'_>, Vec<Item>, Span) -> Read<Item>,
) -> Read<Item> {
    let power = if p.peek().kind == Kind::Raise {
        p.next();
        let power = argument(p)?;
        if matches!(p.data.get(power.id), Datum::Number(x) if x < 0.0) {
            let readings = [format!("\\arc{name} for the inverse function"), format!("\\frac{{1}}{{\\{name} x}} for the inverse value")];
            return Err(p.ambiguous(start.join(p.before().span), &[readings[0].as_str(), readings[1].as_str()]));
        }
        Some(power)
    } else {
        None
    };
    let (arguments, parentheses) = if p.is('(') || p.is('{') { (arguments(p)?, true) } else { (vec![bare_argument(p, start)?], false) };
    let span = start.join(p.before().span);
    if p.peek().kind == Kind::Raise {
        return Err(p.ambiguous(
            span.join(p.peek().span),
            &[&format!("\\{name}^2 (x) for the power of the function"), "the power inside the parentheses"],
        ));
    }
    let dividing = p.is('/') || matches!(p.command(), "cdot" | "times" | "div") || p.is('*');
    if !parentheses && dividing {
        return Err(p.ambiguous(span.join(p.peek().span), &["parentheses around the argument of the function"]));
    }
    let value = make(p, arguments, span)?;
    match power {
        Some(power) => Ok(Item { atomic: false, ..p.list(Some("pow"), &[value, power], span, false)? }),
        // What follows without a sign is another factor, and a power belongs to the argument.
        None => Ok(Item { atomic: parentheses, ..value }),
    }
}

/// An argument without parentheses: one thing, or a number and what it multiplies.
pub(super) fn bare_argument(p: &mut Parser<'_>, start: Span) -> Read<Item> {
    if !p.factor_starts() {
        return Err(p.unexpected(p.peek(), "the argument of the function; put a negative one in parentheses"));
    }
    let coefficient = matches!(p.peek().kind, Kind::Number(_));
    let mut items = vec![p.factor()?];
    while p.factor_starts() && !FUNCTIONS.iter().any(|f| f.0 == p.command()) && p.command() != "log" {
        if !coefficient {
            let span = start.join(p.peek().span);
            return Err(p.ambiguous(span, &["parentheses around the argument of the function"]));
        }
        items.push(p.factor()?);
    }
    if items.len() == 1 {
        return Ok(items[0]);
    }
    let span = p.span(items[0]).join(p.before().span);
    p.list(Some("*"), &items, span, false)
}

/// `\log_{10} x`; without a base it is several functions.
pub(super) fn logarithm(p: &mut Parser<'_>) -> Read<Item> {
    let token = p.next();
    if p.peek().kind != Kind::Lower {
        return Err(p.ambiguous(token.span, &["\\ln", "\\log_{10}", "\\log_2"]));
    }
    p.next();
    let base = argument(p)?;
    applied(p, token.span, "log", |p, mut arguments, span| match p.data.get(base.id) {
        Datum::Number(10.0) => p.call("log10", &arguments, span),
        Datum::Number(2.0) => p.call("log2", &arguments, span),
        _ => {
            arguments.push(base);
            p.call("log", &arguments, span)
        }
    })
}

/// `\sqrt{x}`, `\sqrt[n]{x}`.
pub(super) fn root(p: &mut Parser<'_>) -> Read<Item> {
    let token = p.next();
    let degree = if p.is('[') {
        p.next();
        let degree = p.sum()?;
        p.expect_sign(']')?;
        Some(degree)
    } else {
        None
    };
    let inner = argument(p)?;
    let span = token.span.join(p.before().span);
    match degree {
        None => p.call("sqrt", &[inner], span),
        Some(n) if matches!(p.data.get(n.id), Datum::Number(x) if x == 3.0) => p.call("cbrt", &[inner], span),
        Some(n) => {
            let one = p.number(1.0, token.span);
            let power = p.list(Some("/"), &[one, n], span, false)?;
            p.call("pow", &[inner, power], span)
        }
    }
}
