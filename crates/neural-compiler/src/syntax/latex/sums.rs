//! Sums and products over an index. In: tokens behind `\sum`; out: a loop, or the terms written out where the index is part of names.

use super::lexer::Kind;
use super::names::Name;
use super::parser::{Item, Parser, Read, Walk};
use super::primary::argument;
use crate::source::Span;
use crate::syntax::reader::Datum;

impl Parser<'_> {
    /// The number of an index of a sum around, where it stands for a value.
    pub(super) fn index_value(&self, name: &str) -> Option<Option<i64>> {
        self.indices.iter().rev().find(|i| i.0 == name).map(|i| i.1)
    }

    /// The digits of an index of a sum around, where it stands in a subscript.
    pub(super) fn index(&mut self, name: &str, span: Span) -> Read<Option<String>> {
        let Some(value) = self.index_value(name) else { return Ok(None) };
        self.indexed.insert(name.to_string());
        match value {
            Some(n) if n >= 0 => Ok(Some(n.to_string())),
            Some(_) => Err(self.unknown(span, "a negative index in a name", "let the sum run over numbers from 0 on")),
            // The sum is read once to see whether it must be written out.
            None => Ok(Some(name.to_string())),
        }
    }
}

/// `\sum_{i=1}^{4} …`: a loop; where the index is part of names, written out.
pub(super) fn sum(p: &mut Parser<'_>, operation: &'static str, empty: f64) -> Read<Item> {
    let token = p.next();
    let wanted = "bounds, as in \\sum_{i=1}^{4}";
    let lower = p.next();
    if lower.kind != Kind::Lower {
        return Err(p.unexpected(lower, wanted));
    }
    let open = p.next();
    if open.kind != Kind::Open {
        return Err(p.unexpected(open, wanted));
    }
    let index = p.name()?;
    if !p.is('=') {
        return Err(p.unknown(p.peek().span, "a sum without a first index", wanted));
    }
    p.next();
    let from = p.sum()?;
    let close = p.next();
    if close.kind != Kind::Close {
        return Err(p.unexpected(close, "`}`"));
    }
    let raise = p.next();
    if raise.kind != Kind::Raise {
        return Err(p.unexpected(raise, wanted));
    }
    let to = argument(p)?;
    let body_at = p.cursor.at;
    let outer = p.indexed.remove(&index.text);
    p.indices.push((index.text.clone(), None));
    let body = p.nested(|p| p.term());
    p.indices.pop();
    let body = body?;
    let span = token.span.join(p.before().span);
    let body_tokens = p.cursor.at - body_at + 1;
    let indexed = p.indexed.remove(&index.text);
    if outer {
        p.indexed.insert(index.text.clone());
    }
    if !indexed {
        return looped(p, operation, empty, &index, [from, to, body], span);
    }
    let whole = |p: &Parser<'_>, i: Item| match p.data.get(i.id) {
        Datum::Number(x) if x.fract() == 0.0 && x.abs() < 1e6 => Some(x as i64),
        _ => None,
    };
    let (Some(first), Some(last)) = (whole(p, from), whole(p, to)) else {
        return Err(p.unknown(span, "a sum over names whose number is not known", "give both bounds as numbers, or sum over a vector"));
    };
    let mut terms = Vec::new();
    for n in first..=last {
        let Some(left) = p.again.checked_sub(body_tokens) else {
            return Err(p.unknown(span, "a sum over names that is written out into so much", "sum over a vector: \\operatorname{vsum}(v)"));
        };
        p.again = left;
        p.cursor.at = body_at;
        p.indices.push((index.text.clone(), Some(n)));
        let term = p.nested(|p| p.term());
        p.indices.pop();
        terms.push(term?);
    }
    p.indexed.remove(&index.text);
    if outer {
        p.indexed.insert(index.text.clone());
    }
    match terms[..] {
        [] => Ok(p.number(empty, span)),
        [one] => Ok(one),
        _ => p.list(Some(operation), &terms, span, false),
    }
}

/// A sum as a loop, from the first term to the last.
pub(super) fn looped(p: &mut Parser<'_>, operation: &str, empty: f64, index: &Name, [from, to, body]: [Item; 3], span: Span) -> Read<Item> {
    let mut total = "sum".to_string();
    while p.data.names.find(&total).is_some() && p.source.contains(&total) {
        total.push('_');
    }
    let i = |p: &mut Parser<'_>| p.symbol(&index.text, index.span);
    let s = |p: &mut Parser<'_>| p.symbol(&total, span);
    let (one, start) = (p.number(1.0, span), p.number(empty, span));
    let index_pair = [i(p), from];
    let index_pair = p.list(None, &index_pair, span, false)?;
    let total_pair = [s(p), start];
    let total_pair = p.list(None, &total_pair, span, false)?;
    let pairs = p.list(None, &[index_pair, total_pair], span, false)?;
    let test = [i(p), to];
    let test = p.list(Some(">"), &test, span, false)?;
    let next = [i(p), one];
    let next = p.list(Some("+"), &next, span, false)?;
    let more = [s(p), body];
    let more = p.list(Some(operation), &more, span, false)?;
    let again = p.list(Some("recur"), &[next, more], span, false)?;
    let result = s(p);
    let choice = p.list(Some("if"), &[test, result, again], span, false)?;
    p.list(Some("loop"), &[pairs, choice], span, false)
}
