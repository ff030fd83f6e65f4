//! Forms of infix that start with a word: `if`, `cases`, `let` and its kin, `loop`, `function`. In: tokens; out: data of the form in
//! Scheme.

use super::lexer::{Kind, Word};
use super::parser::strength::{ANY, OR};
use super::parser::{Item, Parser, Read, Walk};
use crate::diagnostic::Diagnostic;

impl Parser<'_> {
    /// `if … then … else …`; with `elseif` a choice among several.
    pub(super) fn if_form(&mut self) -> Read<Item> {
        let word = self.next();
        let base = self.stack.len();
        let test = self.expression(OR)?;
        self.stack.push(test);
        self.expect(Kind::Word(Word::Then), "`then`")?;
        let value = self.expression(ANY)?;
        self.stack.push(value);
        if self.peek().kind != Kind::Word(Word::ElseIf) {
            let otherwise = self.otherwise()?;
            self.stack.push(otherwise);
            let span = word.span.join(self.span(otherwise));
            return self.form("if", word.span, base, span);
        }
        self.clause(base)?;
        while self.peek().kind == Kind::Word(Word::ElseIf) {
            self.next();
            let from = self.stack.len();
            let test = self.expression(OR)?;
            self.stack.push(test);
            self.expect(Kind::Word(Word::Then), "`then`")?;
            let value = self.expression(ANY)?;
            self.stack.push(value);
            self.clause(from)?;
        }
        let at = self.peek().span;
        let from = self.stack.len();
        let otherwise = self.head("else", at);
        self.stack.push(Item { id: otherwise, depth: 0 });
        let value = self.otherwise()?;
        self.stack.push(value);
        self.clause(from)?;
        let span = word.span.join(self.span(value));
        self.form("cond", word.span, base, span)
    }

    pub(super) fn otherwise(&mut self) -> Read<Item> {
        let token = self.peek();
        if token.kind != Kind::Word(Word::Else) {
            let message = format!("expected `else`, found {}", self.described(token));
            return Err(Box::new(
                Diagnostic::error("unexpected-token", token.span, message).help("every value needs an alternative: if test then a else b"),
            ));
        }
        self.next();
        self.expression(ANY)
    }

    /// What is on the stack from `base` on, as one clause.
    pub(super) fn clause(&mut self, base: usize) -> Read<()> {
        let span = self.span(self.stack[base]).join(self.before().span);
        let clause = self.list(None, base, span, false)?;
        self.stack.push(clause);
        Ok(())
    }

    /// `cases { test: value; …; else: value }`
    pub(super) fn cases(&mut self) -> Read<Item> {
        let word = self.next();
        let base = self.stack.len();
        let open = self.expect(Kind::OpenBrace, "`{` and cases, as in cases { x < 0: -x; else: x }")?;
        let lines = std::mem::replace(&mut self.free_lines, false);
        loop {
            while self.peek().kind == Kind::Semicolon {
                self.next();
            }
            let token = self.peek();
            if token.kind == Kind::CloseBrace {
                break;
            }
            let from = self.stack.len();
            let test = if token.kind == Kind::Word(Word::Else) {
                self.next();
                Item { id: self.head("else", token.span), depth: 0 }
            } else {
                self.expression(ANY)?
            };
            self.stack.push(test);
            self.expect(Kind::Colon, "`:` and the value of this case")?;
            self.body()?;
            self.clause(from)?;
            let end = self.peek();
            if !(end.newline || matches!(end.kind, Kind::Semicolon | Kind::CloseBrace)) {
                return Err(self.between_operands(end, "the end of the line or `}`"));
            }
            if end.kind == Kind::End {
                break;
            }
        }
        let close = self.close(Kind::CloseBrace, open.span)?;
        self.free_lines = lines;
        self.form("cond", word.span, base, word.span.join(close.span))
    }

    /// `function(x, y) …`, which stands where it gets a name or is called at once.
    pub(super) fn function_form(&mut self) -> Read<Item> {
        let word = self.next();
        let base = self.stack.len();
        let open = self.expect(Kind::Open, "parameters, as in function(x) x^2")?;
        let parameters = self.names(open)?;
        self.stack.push(parameters);
        let end = self.body()?;
        self.form("lambda", word.span, base, word.span.join(end))
    }

    /// A binding as the list `(name value)`, onto the stack.
    pub(super) fn pair(&mut self) -> Read<()> {
        let base = self.stack.len();
        let start = self.peek().span;
        if self.signature_follows() {
            self.own_function()?;
            let name = self.name("a name")?;
            self.stack.push(name);
            let inner = self.stack.len();
            let open = self.next();
            let parameters = self.names(open)?;
            self.stack.push(parameters);
            let sign = self.expect(Kind::Equals, "`=`")?;
            let end = self.plain_body()?;
            let function = self.form("lambda", sign.span, inner, open.span.join(end))?;
            self.stack.push(function);
        } else {
            self.own_function()?;
            let name = self.name("a binding, as in a = 2")?;
            self.stack.push(name);
            self.expect(Kind::Equals, "`=`")?;
            let value = self.expression(ANY)?;
            self.stack.push(value);
        }
        let pair = self.list(None, base, start.join(self.before().span), false)?;
        self.stack.push(pair);
        Ok(())
    }

    /// Bindings up to `in`, as a list.
    pub(super) fn pairs(&mut self) -> Read<Item> {
        let lines = std::mem::replace(&mut self.free_lines, false);
        let base = self.stack.len();
        let start = self.peek().span;
        while self.peek().kind != Kind::Word(Word::In) {
            self.pair()?;
            let separator = self.peek();
            match separator.kind {
                Kind::Comma | Kind::Semicolon => {
                    self.next();
                }
                Kind::Word(Word::In) => {}
                _ if separator.newline && separator.kind != Kind::End => {}
                _ => return Err(self.between_operands(separator, "`,` or `in`")),
            }
        }
        self.free_lines = lines;
        self.list(None, base, start.join(self.before().span), false)
    }

    /// `a, b = b, a`: bindings made at once, as a list.
    pub(super) fn parallel(&mut self) -> Read<Item> {
        let base = self.stack.len();
        let start = self.peek().span;
        let mut names = Vec::new();
        loop {
            names.push(self.name("a name")?);
            if self.peek().kind != Kind::Comma {
                break;
            }
            self.next();
        }
        let sign = self.expect(Kind::Equals, "`=`")?;
        for (i, &name) in names.iter().enumerate() {
            if i > 0 {
                let message = format!("`,` and a value for each of the {} names", names.len());
                self.expect(Kind::Comma, &message)?;
            }
            let from = self.stack.len();
            self.stack.push(name);
            let value = self.expression(ANY)?;
            self.stack.push(value);
            let span = self.span(name).join(self.span(value));
            let pair = self.list(None, from, span, false)?;
            self.stack.push(pair);
        }
        if self.peek().kind == Kind::Comma {
            let message = format!("more values than the {} names before `=`", names.len());
            return Err(Box::new(Diagnostic::error("unexpected-token", self.peek().span, message).label(sign.span, "names and values")));
        }
        self.list(None, base, start.join(self.before().span), false)
    }

    /// `let … in …` and its kin.
    pub(super) fn let_form(&mut self) -> Read<Item> {
        let word = self.next();
        let base = self.stack.len();
        let at_once = word.kind == Kind::Word(Word::Let) && self.name_at(0).is_some() && self.ahead(1).kind == Kind::Comma;
        let pairs = if at_once { self.parallel()? } else { self.pairs()? };
        let count = self.data.children(pairs.id).len();
        self.stack.push(pairs);
        self.expect(Kind::Word(Word::In), "`in`")?;
        let end = self.body()?;
        let name = match word.kind {
            Kind::Word(Word::LetStar) => "let*",
            Kind::Word(Word::Letrec) => "letrec",
            Kind::Word(Word::LetrecStar) => "letrec*",
            // Several bindings see those before them, as lines of a program do; names bound at once are written `a, b = …`.
            _ if !at_once && count > 1 => "let*",
            _ => "let",
        };
        self.form(name, word.span, base, word.span.join(end))
    }

    /// Whether `root` here is followed by a name and its start.
    pub(super) fn root_follows(&self) -> bool {
        self.name_at(1).is_some() && self.ahead(2).kind == Kind::Equals
    }

    /// `root x = 0.5 in …`, `root x = 0, 1 in …`
    pub(super) fn root_form(&mut self) -> Read<Item> {
        let word = self.next();
        let base = self.stack.len();
        let start = self.peek().span;
        let name = self.name("a name")?;
        self.stack.push(name);
        self.expect(Kind::Equals, "`=`")?;
        loop {
            let value = self.expression(ANY)?;
            self.stack.push(value);
            if self.peek().kind != Kind::Comma {
                break;
            }
            self.next();
        }
        let binding = self.list(None, base, start.join(self.before().span), false)?;
        self.stack.push(binding);
        self.expect(Kind::Word(Word::In), "`in`")?;
        let end = self.body()?;
        self.form("root", word.span, base, word.span.join(end))
    }

    /// `loop i = 0, s = 1 in …`, repeated by `recur(…)`; `loop f(i = 0) in …`, repeated by calling `f`.
    pub(super) fn loop_form(&mut self) -> Read<Item> {
        let word = self.next();
        let base = self.stack.len();
        let named = self.name_at(0).is_some() && self.ahead(1).kind == Kind::Open && !self.ahead(1).space;
        if named {
            self.own_function()?;
            let name = self.name("a name")?;
            self.stack.push(name);
            let open = self.next();
            let lines = std::mem::replace(&mut self.free_lines, true);
            let from = self.stack.len();
            if self.peek().kind != Kind::Close {
                loop {
                    self.pair()?;
                    if self.peek().kind != Kind::Comma {
                        break;
                    }
                    self.next();
                }
            }
            let close = self.close(Kind::Close, open.span)?;
            self.free_lines = lines;
            let pairs = self.list(None, from, open.span.join(close.span), false)?;
            self.stack.push(pairs);
        } else {
            let pairs = self.pairs()?;
            self.stack.push(pairs);
        }
        self.expect(Kind::Word(Word::In), "`in`")?;
        let end = self.body()?;
        self.form(if named { "let" } else { "loop" }, word.span, base, word.span.join(end))
    }
}
