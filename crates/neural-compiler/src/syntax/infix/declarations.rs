//! Declarations and equations of models in infix: `param k = 1 (min 0)`, `dC/dt = -k*C`. In: tokens; out: data as Scheme's declarations are
//! read into. Invariant: but for starts of states and what is observed, a declaration takes numbers, vectors of numbers and names, no
//! computation.

use super::lexer::{Kind, Operator, Token};
use super::parser::strength::ADD;
use super::parser::{Item, Parser, Read, Walk};
use super::statements::{Line, Seen};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::forms::{self, Form};
use crate::syntax::reader::{Datum, Symbol};

/// Options whose values are expressions.
pub(super) const COMPUTED: &[&str] = &["noise", "prior", "effect"];

impl Parser<'_> {
    /// Derivatives are by the time of the model, and stand on the left.
    pub(super) fn check_derivatives(&self, seen: &Seen) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        for &(by, span) in &seen.by {
            let name = self.data.names.text(by);
            let time = seen.time.map_or("t", |t| self.data.names.text(t));
            if name != time {
                let help =
                    if seen.time.is_some() { format!("the time of this model is `{time}`") } else { format!("declare it: time {name}") };
                errors.push(Diagnostic::error("bad-declaration", span, format!("`{name}` is not the time of this model")).help(help));
            }
        }
        for &(state, span) in self.quotients.iter().filter(|q| seen.states.contains(&q.0)) {
            let name = self.data.names.text(state);
            let message = format!("this could be the derivative of the state `{name}` or a quotient of two names");
            let help = "name what is on the right of its equation and use that; put a quotient's names in parentheses: (a)/(b)";
            errors.push(Diagnostic::error("ambiguous-reading", span, message).help(help));
        }
        errors
    }

    /// `d` and a name, in one word or with the name in backquotes: the name, and how many tokens it takes.
    pub(super) fn differential(&mut self, n: usize) -> Option<(Symbol, Span, usize)> {
        let token = self.ahead(n);
        let Kind::Name(s) = token.kind else { return None };
        let name = self.data.names.text(s).strip_prefix('d')?.to_string();
        if !name.is_empty() {
            let span = Span { start: token.span.start + 1, ..token.span };
            return Some((self.intern(&name), span, 1));
        }
        match self.ahead(n + 1) {
            Token { kind: Kind::Quoted(s), space: false, span, .. } => Some((s, span, 2)),
            _ => None,
        }
    }

    /// `dx/dt = …` or `x' = …`.
    pub(super) fn derivative(&mut self, seen: &mut Seen) -> Read<Option<Item>> {
        let start = self.peek().span;
        let prime = self.ahead(1).kind == Kind::Prime && self.ahead(2).kind == Kind::Equals;
        let (state, at, taken) = if prime {
            let Some((s, token)) = self.name_at(0) else { return Ok(None) };
            (s, token.span, 2)
        } else {
            let over = Kind::Operator(Operator::Over);
            let quotient = self.ahead(1).kind == over || self.ahead(2).kind == over;
            let Some((state, at, taken)) = quotient.then(|| self.differential(0)).flatten() else { return Ok(None) };
            let Some((by, span, more)) = (self.ahead(taken).kind == over).then(|| self.differential(taken + 1)).flatten() else {
                return Ok(None);
            };
            if self.ahead(taken + 1 + more).kind != Kind::Equals {
                return Ok(None);
            }
            seen.by.push((by, span));
            (state, at, taken + 1 + more)
        };
        for _ in 0..taken {
            self.next();
        }
        let sign = self.next();
        let base = self.stack.len();
        let state = self.symbol(state, at);
        self.stack.push(state);
        let value = self.value()?;
        let span = start.join(self.span(value));
        self.stack.push(value);
        self.form("derive", sign.span, base, span).map(Some)
    }

    /// Whether a word starts a declaration where a name follows it.
    pub(super) fn declares(&self, word: Symbol) -> bool {
        let word = self.data.names.text(word);
        word != "derive" && word != "loglik" && forms::form(word).is_some_and(Form::is_declaration)
    }

    pub(super) fn declaration(&mut self, seen: &mut Seen) -> Read<(Item, Line)> {
        let word = self.next();
        let Kind::Name(keyword) = word.kind else { unreachable!("a declaration starts with its word") };
        let keyword = self.data.names.text(keyword).to_string();
        if keyword == "event" {
            return self.event(word);
        }
        let base = self.stack.len();
        let named = self.name_at(0);
        if keyword == "net" {
            self.own_function()?;
        }
        let name = self.name("a name")?;
        self.stack.push(name);
        let mut line = Line::Declaration;
        match keyword.as_str() {
            "net" => {
                let open = self.expect(Kind::Open, "the inputs of the net, as in net f(x, y)")?;
                let inputs = self.names(open)?;
                self.stack.push(inputs);
                self.layers()?;
            }
            "constants" => {
                if self.peek().kind == Kind::Open && !self.peek().newline {
                    self.next();
                    loop {
                        let constant = self.name("the name of a constant")?;
                        self.stack.push(constant);
                        if self.peek().kind != Kind::Comma {
                            break;
                        }
                        self.next();
                    }
                    self.expect(Kind::Close, "`)`")?;
                }
            }
            "unit" => {
                self.expect(Kind::Equals, "`=` and the unit, as in unit F = kg*m/s^2")?;
                let unit = self.unit(|t| t.newline || t.kind == Kind::Semicolon)?;
                self.stack.push(unit);
            }
            "next" | "observe" => {
                let what = if keyword == "next" { "the next value, as in next x = 2*x" } else { "what is observed, as in observe y = x/V" };
                self.expect(Kind::Equals, &format!("`=` and {what}"))?;
                let value = self.value()?;
                self.stack.push(value);
                if keyword == "observe" {
                    self.options()?;
                }
                line = Line::Dynamics;
            }
            _ => {
                if self.peek().kind == Kind::Equals {
                    self.next();
                    let value = if keyword == "state" { self.expression(ADD)? } else { self.literal()? };
                    self.stack.push(value);
                }
                self.options()?;
                match (keyword.as_str(), named) {
                    ("state", Some((s, _))) => {
                        seen.states.push(s);
                        line = Line::Dynamics;
                    }
                    ("time", Some((s, _))) => {
                        seen.time.get_or_insert(s);
                    }
                    _ => {}
                }
            }
        }
        let span = word.span.join(self.before().span);
        Ok((self.form(&keyword, word.span, base, span)?, line))
    }

    /// A number, a vector or matrix of numbers, or a name.
    pub(super) fn literal(&mut self) -> Read<Item> {
        let token = self.peek();
        let item = self.expression(ADD)?;
        let mut work = vec![item.id];
        while let Some(d) = work.pop() {
            match self.data.get(d) {
                Datum::Bracket(..) => work.extend(self.data.children(d)),
                Datum::Number(_) | Datum::Symbol(_) => {}
                Datum::List(..) => {
                    let message = "a declaration takes a number, a vector of numbers or a name, not a computation";
                    return Err(Box::new(Diagnostic::error("bad-declaration", token.span.join(self.span(item)), message)));
                }
            }
        }
        Ok(item)
    }

    /// A unit, up to what ends it: one name, or the text as it is written.
    fn unit(&mut self, ends: impl Fn(Token) -> bool) -> Read<Item> {
        let first = self.peek();
        let mut depth = 0usize;
        while !matches!(self.peek().kind, Kind::End) && (depth > 0 || !(ends(self.peek()) || self.peek().kind == Kind::Close)) {
            match self.next().kind {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                _ => {}
            }
        }
        let last = self.before();
        match first.kind {
            Kind::Name(s) | Kind::Quoted(s) if last.span == first.span => Ok(self.symbol(s, first.span)),
            Kind::Number(x) if last.span == first.span => Ok(self.number(x, first.span)),
            _ if last.span < first.span => Err(self.unexpected(first, "a unit, as in m/s^2")),
            _ => {
                let span = first.span.join(last.span);
                let text = span.text(self.source).split_whitespace().collect::<Vec<_>>().join(" ");
                let symbol = self.intern(&text);
                Ok(self.symbol(symbol, span))
            }
        }
    }

    /// `(min 0, max 10, fixed)`: words, each with its value.
    pub(super) fn options(&mut self) -> Read<()> {
        let open = self.peek();
        if open.kind != Kind::Open || open.newline {
            return Ok(());
        }
        self.next();
        let lines = std::mem::replace(&mut self.free_lines, true);
        loop {
            let Some((word, token)) = self.name_at(0) else { return Err(self.unexpected(self.peek(), "an option, as in (min 0, fixed)")) };
            self.next();
            let keyword = format!(":{}", self.data.names.text(word));
            let keyword = self.head(&keyword, token.span);
            self.stack.push(Item { id: keyword, depth: 0 });
            if !matches!(self.peek().kind, Kind::Comma | Kind::Close) {
                // A distribution looks like a call; what it is called with is computed.
                let computed = COMPUTED.contains(&self.data.names.text(word));
                let unit = self.data.names.text(word) == "unit";
                let value = match (unit, computed) {
                    (true, _) => self.unit(|t| matches!(t.kind, Kind::Comma))?,
                    (false, true) => self.expression(ADD)?,
                    (false, false) => self.literal()?,
                };
                self.stack.push(value);
            }
            if self.peek().kind != Kind::Comma {
                break;
            }
            self.next();
        }
        self.close(Kind::Close, open.span)?;
        self.free_lines = lines;
        Ok(())
    }

    /// `(layers 8, 1)`: the widths of a net.
    pub(super) fn layers(&mut self) -> Read<()> {
        let open = self.peek();
        if open.kind != Kind::Open || open.newline {
            return Ok(());
        }
        self.next();
        match self.name_at(0) {
            Some((s, _)) if self.data.names.text(s) == "layers" => self.next(),
            _ => return Err(self.unexpected(self.peek(), "`layers` and the widths, as in net f(x) (layers 8, 1)")),
        };
        loop {
            let width = self.literal()?;
            self.stack.push(width);
            if self.peek().kind != Kind::Comma {
                break;
            }
            self.next();
        }
        self.close(Kind::Close, open.span).map(|_| ())
    }
}
