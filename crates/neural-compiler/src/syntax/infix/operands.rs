//! Operands of infix: numbers, names, calls, indices, groups, vectors. In: tokens; out: data.

use super::lexer::{Kind, Operator, Token, Word, aliased};
use super::parser::strength::{ANY, NEGATE, NOT};
use super::parser::{Item, Parser, Read, Walk};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::lexer::{excerpt, number};

impl Parser<'_> {
    /// An operand with what stands before and right behind it.
    pub(super) fn operand(&mut self, least: u8) -> Read<Item> {
        let token = self.peek();
        match token.kind {
            Kind::Operator(Operator::Minus) => {
                self.next();
                if let Some(number) = self.negative(token)? {
                    return Ok(number);
                }
                let base = self.stack.len();
                let operand = self.expression(NEGATE)?;
                let span = token.span.join(self.span(operand));
                self.stack.push(operand);
                self.form("-", token.span, base, span)
            }
            Kind::Operator(Operator::Plus) => {
                self.next();
                self.expression(NEGATE)
            }
            Kind::Word(Word::Not) if least <= NOT => {
                self.next();
                let base = self.stack.len();
                let operand = self.expression(NOT)?;
                let span = token.span.join(self.span(operand));
                self.stack.push(operand);
                self.form("not", token.span, base, span)
            }
            _ => self.primary(),
        }
    }

    /// A negative number, behind its sign: one number where no power or index takes the digits.
    pub(super) fn negative(&mut self, sign: Token) -> Read<Option<Item>> {
        let start = self.cursor.at;
        let number = match self.peek().kind {
            Kind::Number(x) => {
                self.next();
                Some(x)
            }
            Kind::Name(s) if self.data.names.text(s) == "ratio" => self.ratio()?.map(|n| n.0),
            _ => None,
        };
        let Some(x) = number else { return Ok(None) };
        let behind = self.peek();
        if behind.kind == Kind::Operator(Operator::Power) || behind.kind == Kind::OpenBracket && !behind.space {
            self.cursor.at = start;
            return Ok(None);
        }
        let span = sign.span.join(self.before().span);
        Ok(Some(self.number(if x.is_nan() { x } else { -x }, span)))
    }

    /// `ratio(1, 3)`: a rational, rounded once.
    pub(super) fn ratio(&mut self) -> Read<Option<(f64, Span)>> {
        let name = self.peek();
        let open = self.ahead(1);
        if open.kind != Kind::Open || open.space {
            return Ok(None);
        }
        let parts = [self.ahead(2), self.ahead(3), self.ahead(4), self.ahead(5)];
        let [
            Token { kind: Kind::Number(_), .. },
            Token { kind: Kind::Comma, .. },
            Token { kind: Kind::Number(_), .. },
            Token { kind: Kind::Close, .. },
        ] = parts
        else {
            let message = "a ratio is made of two whole numbers: ratio(1, 3)";
            return Err(Box::new(
                Diagnostic::error("bad-number", name.span, message).help("a function of that name is called `ratio`(…), in backquotes"),
            ));
        };
        let span = name.span.join(parts[3].span);
        let written = format!("{}/{}", parts[0].span.text(self.source), parts[2].span.text(self.source));
        match number(&written) {
            Some(Ok(x)) => {
                self.cursor.at += 6;
                Ok(Some((x, span)))
            }
            Some(Err((_, message))) => Err(Box::new(Diagnostic::error("bad-number", span, message))),
            None => Err(Box::new(Diagnostic::error("bad-number", span, format!("`{}` is not a number", excerpt(&written))))),
        }
    }

    pub(super) fn primary(&mut self) -> Read<Item> {
        let token = self.peek();
        let item = match token.kind {
            Kind::Number(x) => {
                self.next();
                return Ok(self.number(x, token.span));
            }
            Kind::Name(s) => {
                if self.data.names.text(s) == "ratio"
                    && let Some((x, span)) = self.ratio()?
                {
                    return Ok(self.number(x, span));
                }
                if self.data.names.text(s) == "root" && self.root_follows() {
                    return self.root_form();
                }
                self.next();
                let behind = self.peek();
                let called = behind.kind == Kind::Open && !behind.space;
                match aliased(self.data.names.text(s)).filter(|_| called) {
                    Some(operation) => Item { id: self.head(operation, token.span), depth: 0 },
                    None => self.symbol(s, token.span),
                }
            }
            Kind::Quoted(s) => {
                self.next();
                self.symbol(s, token.span)
            }
            Kind::Open => self.parenthesised()?,
            Kind::OpenBracket => self.vector()?,
            Kind::OpenBrace => self.block_expression()?,
            Kind::Word(Word::If) => return self.if_form(),
            Kind::Word(Word::Let | Word::LetStar | Word::Letrec | Word::LetrecStar) => return self.let_form(),
            Kind::Word(Word::Loop) => return self.loop_form(),
            Kind::Word(Word::Function) => return self.function_form(),
            Kind::Word(Word::Cases) => self.cases()?,
            Kind::Word(Word::Not) => {
                let message = "`not` binds less strongly than what stands before it";
                return Err(Box::new(
                    Diagnostic::error("unexpected-token", token.span, message).help("put parentheses around it: (not x)"),
                ));
            }
            _ => return Err(self.unexpected(token, "an expression")),
        };
        self.postfix(item, token.span)
    }

    /// Calls and indices right behind a value.
    pub(super) fn postfix(&mut self, mut item: Item, start: Span) -> Read<Item> {
        loop {
            let token = self.peek();
            if token.space {
                return Ok(item);
            }
            match token.kind {
                Kind::Open => {
                    self.next();
                    let base = self.stack.len();
                    self.stack.push(item);
                    self.arguments(Kind::Close, token.span)?;
                    item = self.list(None, base, start.join(self.before().span), false)?;
                }
                Kind::OpenBracket => {
                    self.next();
                    let base = self.stack.len();
                    self.stack.push(item);
                    let slice = self.index(token.span)?;
                    item = self.form(if slice { "slice" } else { "ref" }, token.span, base, start.join(self.before().span))?;
                }
                _ => return Ok(item),
            }
        }
    }

    /// Expressions between commas, up to what closes them, onto the stack.
    pub(super) fn arguments(&mut self, close: Kind, open: Span) -> Read<()> {
        let lines = std::mem::replace(&mut self.free_lines, true);
        if self.peek().kind != close {
            loop {
                let item = self.expression(ANY)?;
                self.stack.push(item);
                if self.peek().kind != Kind::Comma {
                    break;
                }
                self.next();
            }
        }
        self.close(close, open)?;
        self.free_lines = lines;
        Ok(())
    }

    /// `[i]`, `[i, j]` or `[from:to]`, which gives true.
    pub(super) fn index(&mut self, open: Span) -> Read<bool> {
        let lines = std::mem::replace(&mut self.free_lines, true);
        let first = self.expression(ANY)?;
        self.stack.push(first);
        let slice = self.peek().kind == Kind::Colon;
        while self.peek().kind == if slice { Kind::Colon } else { Kind::Comma } {
            self.next();
            let next = self.expression(ANY)?;
            self.stack.push(next);
            if slice {
                break;
            }
        }
        self.close(Kind::CloseBracket, open)?;
        self.free_lines = lines;
        Ok(slice)
    }

    pub(super) fn parenthesised(&mut self) -> Read<Item> {
        let open = self.next();
        if self.peek().kind == Kind::Close {
            let close = self.next();
            return self.list(None, self.stack.len(), open.span.join(close.span), false);
        }
        let lines = std::mem::replace(&mut self.free_lines, true);
        let item = self.value()?;
        if self.peek().kind == Kind::Comma {
            let message = "a comma separates arguments and elements, and here are neither";
            return Err(Box::new(Diagnostic::error("unexpected-token", self.peek().span, message).help("a vector is written [1, 2]")));
        }
        self.close(Kind::Close, open.span)?;
        self.free_lines = lines;
        Ok(item)
    }

    /// `[1, 2]`, or `[1, 2; 3, 4]` by rows.
    pub(super) fn vector(&mut self) -> Read<Item> {
        let open = self.next();
        let lines = std::mem::replace(&mut self.free_lines, true);
        let base = self.stack.len();
        let (mut row, mut rows, mut row_start) = (base, false, self.peek().span);
        if self.peek().kind != Kind::CloseBracket {
            loop {
                let item = self.expression(ANY)?;
                self.stack.push(item);
                let separator = self.peek();
                let last = !matches!(separator.kind, Kind::Comma | Kind::Semicolon);
                if !last {
                    self.next();
                }
                rows |= separator.kind == Kind::Semicolon;
                if rows && separator.kind != Kind::Comma {
                    let span = row_start.join(self.span(item));
                    let elements = self.list(None, row, span, true)?;
                    self.stack.push(elements);
                    (row, row_start) = (self.stack.len(), self.peek().span);
                }
                if last {
                    break;
                }
            }
        }
        let close = self.close(Kind::CloseBracket, open.span)?;
        self.free_lines = lines;
        self.list(None, base, open.span.join(close.span), true)
    }
}
