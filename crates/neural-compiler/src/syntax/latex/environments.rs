//! What stands between `\begin` and `\end`: cases and matrices. In: tokens; out: data.

use super::lexer::Kind;
use super::names::UPRIGHT;
use super::parser::{Item, Parser, Read, Walk};
use crate::source::Span;

/// `\begin{cases}`, `\begin{pmatrix}` and their kin.
pub(super) fn environment(p: &mut Parser<'_>) -> Read<Item> {
    let token = p.next();
    let name = p.word()?;
    match name.as_str() {
        "cases" | "dcases" => cases(p, token.span),
        "matrix" | "pmatrix" | "bmatrix" | "Bmatrix" | "smallmatrix" | "vmatrix" => matrix(p, token.span, &name),
        "Vmatrix" => Err(p.ambiguous(token.span, &["\\operatorname{norm}(v)", "\\operatorname{det}(A)"])),
        _ => Err(p.unknown(token.span.join(p.before().span), &format!("the environment `{name}`"), "spec/latex.md lists those that are")),
    }
}

pub(super) fn end(p: &mut Parser<'_>, name: &str) -> Read<()> {
    let token = p.next();
    if token.kind != Kind::Command || p.command_of(token) != "end" || p.word()? != name {
        return Err(p.unexpected(token, &format!("\\end{{{name}}}")));
    }
    Ok(())
}

pub(super) fn cases(p: &mut Parser<'_>, start: Span) -> Read<Item> {
    let clauses = p.enclosed(clauses)?;
    end(p, "cases")?;
    let span = start.join(p.before().span);
    p.call("cond", &clauses, span)
}

pub(super) fn clauses(p: &mut Parser<'_>) -> Read<Vec<Item>> {
    let mut clauses = Vec::new();
    while p.command() != "end" {
        let value = p.condition()?;
        if p.is(',') {
            p.next();
        }
        let tab = p.next();
        if tab.kind != Kind::Tab {
            return Err(p.unexpected(tab, "`&` and the condition of this case"));
        }
        let at = p.peek();
        let word = if UPRIGHT.contains(&p.command()) { Some(said(p)?) } else { None };
        let test = match word.as_deref() {
            Some("otherwise" | "else" | "elsewhere") => p.symbol("else", at.span),
            Some("if" | "for" | "when" | "where") | None => p.condition()?,
            Some(_) => return Err(p.unknown(at.span, "this condition in words", "\\text{otherwise}, or \\text{if} and a condition")),
        };
        if p.is(',') || p.is(';') {
            p.next();
        }
        let span = p.span(value).join(p.before().span);
        clauses.push(p.list(None, &[test, value], span, false)?);
        if p.peek().kind == Kind::Row {
            p.next();
        }
    }
    Ok(clauses)
}

/// Words in upright type, without blanks around them.
pub(super) fn said(p: &mut Parser<'_>) -> Read<String> {
    p.next();
    Ok(p.word()?.trim_matches('_').to_string())
}

pub(super) fn rows(p: &mut Parser<'_>) -> Read<Vec<Vec<Item>>> {
    let mut rows: Vec<Vec<Item>> = Vec::new();
    let mut row = Vec::new();
    while p.command() != "end" {
        row.push(p.condition()?);
        match p.peek().kind {
            Kind::Tab => {
                p.next();
            }
            Kind::Row => {
                p.next();
                rows.push(std::mem::take(&mut row));
            }
            _ => break,
        }
    }
    rows.push(row);
    Ok(rows)
}

pub(super) fn matrix(p: &mut Parser<'_>, start: Span, name: &str) -> Read<Item> {
    let mut rows = p.enclosed(rows)?;
    end(p, name)?;
    rows.retain(|r| !r.is_empty());
    let span = start.join(p.before().span);
    let columns = rows.first().map_or(0, Vec::len);
    if columns == 0 || rows.iter().any(|r| r.len() != columns) {
        let message = "a matrix has rows of one length";
        return Err(Box::new(crate::diagnostic::Diagnostic::error("unexpected-token", span, message)));
    }
    // One column is a vector.
    let value = if columns == 1 {
        let elements: Vec<Item> = rows.into_iter().flatten().collect();
        p.list(None, &elements, span, true)?
    } else {
        let mut lists = Vec::new();
        for row in rows {
            lists.push(p.list(None, &row, span, true)?);
        }
        p.list(None, &lists, span, true)?
    };
    if name == "vmatrix" { p.call("det", &[value], span) } else { Ok(Item { atomic: true, ..value }) }
}
