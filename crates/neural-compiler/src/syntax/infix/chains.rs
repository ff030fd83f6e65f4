//! Runs of operators that need a second look: comparisons of two kinds, unequal, products without a sign behind a quotient, quotients that
//! look like derivatives. In: the operands read so far; out: data, or why there is no one reading.

use super::lexer::{Kind, Operator, Token};
use super::parser::strength::COMPARE;
use super::parser::{Item, Join, Parser, Read, Run, Walk, operation};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::reader::Datum;

impl Parser<'_> {
    /// `a != b` is `not` of `a == b`.
    pub(super) fn unequal(&mut self, run: Option<Run>, right: Item, sign: Token) -> Read<Item> {
        let head = self.head("=", sign.span);
        let base = run.map_or(self.stack.len(), |r| r.base);
        self.stack.push(right);
        let span = self.span(self.stack[base]).join(self.span(right));
        let equal = self.list(Some(head), base, span, false)?;
        self.stack.push(equal);
        let result = self.form("not", sign.span, base, span)?;
        match self.join() {
            Some((Join::Operator(o), token)) if operation(o).1 == COMPARE => {
                let message = "a comparison goes on behind `!=`";
                Err(Box::new(
                    Diagnostic::error("unexpected-token", token.span, message).help("join comparisons with `and`: a != b and b < c"),
                ))
            }
            _ => Ok(result),
        }
    }

    /// `0 < x <= 1` is `0 < x and x <= 1`. What stands between is written once and read twice, so it is a name or a number.
    pub(super) fn mixed_chain(&mut self, mut run: Option<Run>, mut middle: Item, mut join: Join, mut sign: Token) -> Read<Item> {
        let mut parts: Vec<Item> = Vec::new();
        let start = run.as_ref().map_or(self.span(middle), |r| self.span(self.stack[r.base]));
        loop {
            if !matches!(self.data.get(middle.id), Datum::Number(_) | Datum::Symbol(_)) {
                let message = "between comparisons of two kinds stands a name or a number";
                let help = "name it, or join the comparisons with `and`: a < b and b <= c";
                return Err(Box::new(Diagnostic::error("unexpected-token", self.span(middle), message).help(help)));
            }
            parts.push(self.finish(run.take(), middle)?);
            let Join::Operator(operator) = join else { unreachable!("only comparisons chain") };
            if operator == Operator::Unequal {
                let message = "`!=` does not go on with a comparison";
                return Err(Box::new(
                    Diagnostic::error("unexpected-token", sign.span, message).help("join comparisons with `and`: a < b and b != c"),
                ));
            }
            let name = operation(operator).0;
            let head = self.head(name, sign.span);
            let base = self.stack.len();
            let again = Item { id: self.data.push(self.data.get(middle.id), self.span(middle)), depth: 0 };
            self.stack.push(again);
            run = Some(Run { name, binds: COMPARE, head, base });
            let mut last = self.expression(COMPARE + 1)?;
            loop {
                match self.join() {
                    Some((Join::Operator(o), token)) if operation(o).1 == COMPARE => {
                        self.next();
                        if operation(o).0 == name {
                            self.stack.push(last);
                            last = self.expression(COMPARE + 1)?;
                        } else {
                            (middle, join, sign) = (last, Join::Operator(o), token);
                            break;
                        }
                    }
                    _ => {
                        parts.push(self.finish(run.take(), last)?);
                        let span = start.join(self.span(last));
                        let base = self.stack.len();
                        self.stack.extend(parts);
                        return self.form("and", sign.span, base, span);
                    }
                }
            }
        }
    }

    pub(super) fn two_products(&self, sign: Token, from: usize) -> Box<Diagnostic> {
        let left = self.text(Span { start: self.cursor.tokens[from].span.start, end: self.before().span.end });
        let right = self.text(self.peek().span);
        let right = if right == "(" { "(…)".to_string() } else { right };
        let operator = self.text(sign.span);
        Box::new(
            Diagnostic::error(
                "ambiguous-reading",
                self.before().span.join(self.peek().span),
                format!("`{operator}{left}{right}` can be read in two ways"),
            )
            .help(format!("write …{operator}({left}*{right}) or (…{operator}{left})*{right}")),
        )
    }

    /// `dx/dt` in an expression is a quotient of two names; in a model with a state `x` it is more likely meant as a derivative.
    pub(super) fn note_quotient(&mut self, right: usize) {
        let (Kind::Name(top), Kind::Name(bottom)) = (self.cursor.tokens[right.saturating_sub(2)].kind, self.cursor.tokens[right].kind)
        else {
            return;
        };
        if !self.data.names.text(bottom).starts_with('d') {
            return;
        }
        if let Some(state) = self.data.names.text(top).strip_prefix('d').and_then(|s| self.data.names.find(s)) {
            self.quotients.push((state, self.cursor.tokens[right - 2].span.join(self.cursor.tokens[right].span)));
        }
    }
}
