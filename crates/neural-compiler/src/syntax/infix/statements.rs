//! Infix text above the level of expressions: lines, definitions, declarations, blocks, and the forms that bind names. In: tokens; out:
//! data as Scheme's `define`, `let`, `loop`, `cond`, `param`, … are read into.
//! Invariant: a mistake in one line is reported and the next line is read all the same.

use super::lexer::{Kind, MOST_ERRORS, Token, Word, aliased};
use super::parser::strength::ANY;
use super::parser::{Item, Parser, Read, Walk};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::reader::Symbol;

/// What a line of a program was.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Line {
    /// `name = value`: its name and where it stands.
    Value(Symbol, Span),
    Function,
    Expression,
    Declaration,
    /// A state or its equation: the program has no value of its own.
    Dynamics,
}

/// What the lines of a program have said so far.
#[derive(Default)]
pub(super) struct Seen {
    /// The time, where it is declared.
    pub(super) time: Option<Symbol>,
    pub(super) states: Vec<Symbol>,
    /// What the derivatives are by, and where.
    pub(super) by: Vec<(Symbol, Span)>,
}

impl Parser<'_> {
    /// A whole program; gives its errors.
    pub(super) fn program(&mut self) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        let mut seen = Seen::default();
        let (mut last, mut has_value) = (None, false);
        loop {
            while self.peek().kind == Kind::Semicolon {
                self.next();
            }
            if self.peek().kind == Kind::End || errors.len() >= MOST_ERRORS {
                break;
            }
            (self.free_lines, self.stack) = (false, Vec::new());
            match self.line(&mut seen) {
                Ok((item, line)) => {
                    self.data.top.push(item.id);
                    has_value |= matches!(line, Line::Dynamics | Line::Expression);
                    last = Some(line);
                }
                Err(e) => {
                    errors.push(*e);
                    self.skip_line();
                }
            }
        }
        // A last line that names a value gives the value of the program.
        if let (Some(Line::Value(name, span)), false) = (last, has_value) {
            let value = self.symbol(name, span);
            self.data.top.push(value.id);
        }
        errors.extend(self.check_derivatives(&seen));
        errors
    }

    /// Goes on with the next line after a mistake.
    pub(super) fn skip_line(&mut self) {
        let mut open = 0usize;
        loop {
            let token = self.peek();
            match token.kind {
                Kind::End => return,
                Kind::OpenBrace => open += 1,
                Kind::CloseBrace => open = open.saturating_sub(1),
                Kind::Semicolon if open == 0 => return,
                _ => {}
            }
            self.next();
            if self.peek().newline && open == 0 {
                return;
            }
        }
    }

    pub(super) fn line(&mut self, seen: &mut Seen) -> Read<(Item, Line)> {
        let token = self.peek();
        let found = match token.kind {
            Kind::Name(s) if self.declares(s) && self.name_follows(1) => self.declaration(seen)?,
            Kind::Name(_) | Kind::Quoted(_) => match self.derivative(seen)? {
                Some(item) => (item, Line::Dynamics),
                None => self.statement()?,
            },
            _ => self.statement()?,
        };
        let end = self.peek();
        if end.newline || matches!(end.kind, Kind::Semicolon | Kind::End) {
            return Ok(found);
        }
        Err(self.between_operands(end, "the end of the line"))
    }

    /// Whether a name stands so many tokens ahead, on the same line.
    pub(super) fn name_follows(&self, n: usize) -> bool {
        let token = self.ahead(n);
        matches!(token.kind, Kind::Name(_) | Kind::Quoted(_)) && !token.newline
    }

    pub(super) fn name_at(&self, n: usize) -> Option<(Symbol, Token)> {
        let token = self.ahead(n);
        match token.kind {
            Kind::Name(s) | Kind::Quoted(s) => Some((s, token)),
            _ => None,
        }
    }

    pub(super) fn name(&mut self, wanted: &str) -> Read<Item> {
        match self.name_at(0) {
            Some((s, token)) => {
                self.next();
                Ok(self.symbol(s, token.span))
            }
            None => Err(self.unexpected(self.peek(), wanted)),
        }
    }

    /// Names between commas behind an open parenthesis, as a list.
    pub(super) fn names(&mut self, open: Token) -> Read<Item> {
        let lines = std::mem::replace(&mut self.free_lines, true);
        let base = self.stack.len();
        if self.peek().kind != Kind::Close {
            loop {
                let name = self.name("the name of a parameter")?;
                self.stack.push(name);
                if self.peek().kind != Kind::Comma {
                    break;
                }
                self.next();
            }
        }
        let close = self.close(Kind::Close, open.span)?;
        self.free_lines = lines;
        self.list(None, base, open.span.join(close.span), false)
    }

    /// Whether `name(a, b) =` stands here.
    pub(super) fn signature_follows(&self) -> bool {
        let open = self.ahead(1);
        if open.kind != Kind::Open || open.space {
            return false;
        }
        let mut n = 2;
        while matches!(self.ahead(n).kind, Kind::Name(_) | Kind::Quoted(_) | Kind::Comma) {
            n += 1;
        }
        self.ahead(n).kind == Kind::Close && self.ahead(n + 1).kind == Kind::Equals
    }

    /// A definition or an expression.
    pub(super) fn statement(&mut self) -> Read<(Item, Line)> {
        let start = self.peek().span;
        let Some((name, token)) = self.name_at(0) else { return Ok((self.value()?, Line::Expression)) };
        let base = self.stack.len();
        if self.ahead(1).kind == Kind::Equals {
            self.own_function()?;
            let target = self.name("a name")?;
            self.stack.push(target);
            let sign = self.next();
            let value = self.value()?;
            self.stack.push(value);
            let span = start.join(self.span(value));
            return Ok((self.form("define", sign.span, base, span)?, Line::Value(name, token.span)));
        }
        if self.signature_follows() {
            let sign = self.signature()?;
            let end = self.body()?;
            return Ok((self.form("define", sign.span, base, start.join(end))?, Line::Function));
        }
        let item = self.value()?;
        if self.peek().kind == Kind::Equals {
            let message = "what stands left of `=` is neither a name nor a function of names";
            let help = "a definition is y = … or f(x) = …, the start of a state is state x = …, and time t (start 0) says when it holds; \
                        to compare, write `==`";
            return Err(Box::new(
                Diagnostic::error("unexpected-token", self.peek().span, message).label(self.span(item), "this").help(help),
            ));
        }
        Ok((item, Line::Expression))
    }

    /// Refuses a function with the name another has everywhere.
    pub(super) fn own_function(&self) -> Read<()> {
        let token = self.peek();
        match token.kind {
            Kind::Name(s) if aliased(self.data.names.text(s)).is_some() => {
                let message = format!("`{}` is a function of the language", self.data.names.text(s));
                let help = "call yours something else, or write its name in backquotes";
                Err(Box::new(Diagnostic::error("bad-form", token.span, message).help(help)))
            }
            _ => Ok(()),
        }
    }

    /// `f(x, y) =`, as the list `(f x y)`; gives the sign.
    pub(super) fn signature(&mut self) -> Read<Token> {
        self.own_function()?;
        let start = self.peek().span;
        let base = self.stack.len();
        let name = self.name("a name")?;
        self.stack.push(name);
        let open = self.next();
        if self.peek().kind != Kind::Close {
            loop {
                let parameter = self.name("the name of a parameter")?;
                self.stack.push(parameter);
                if self.peek().kind != Kind::Comma {
                    break;
                }
                self.next();
            }
        }
        let close = self.close(Kind::Close, open.span)?;
        let signature = self.list(None, base, start.join(close.span), false)?;
        self.stack.push(signature);
        self.expect(Kind::Equals, "`=`")
    }

    /// Lines between braces, onto the stack; gives the closing brace.
    pub(super) fn block(&mut self) -> Read<Token> {
        let open = self.next();
        let lines = std::mem::replace(&mut self.free_lines, false);
        loop {
            while self.peek().kind == Kind::Semicolon {
                self.next();
            }
            if self.peek().kind == Kind::CloseBrace {
                break;
            }
            let (item, _) = self.nested_statement()?;
            self.stack.push(item);
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
        Ok(close)
    }

    /// A statement within braces: they nest without an expression around them.
    pub(super) fn nested_statement(&mut self) -> Read<(Item, Line)> {
        self.nested(Parser::statement)
    }

    /// `{ … }` as an expression: bindings around a value.
    pub(super) fn block_expression(&mut self) -> Read<Item> {
        let open = self.peek().span;
        let base = self.stack.len();
        let none = self.list(None, base, open, false)?;
        self.stack.push(none);
        let close = self.block()?;
        self.form("let", open, base, open.join(close.span))
    }

    /// An expression, with a `where` behind it as bindings around it.
    pub(super) fn value(&mut self) -> Read<Item> {
        let item = self.expression(ANY)?;
        if self.peek().kind != Kind::Word(Word::Where) {
            return Ok(item);
        }
        let at = self.peek().span;
        let base = self.stack.len();
        let none = self.list(None, base, at, false)?;
        self.stack.push(none);
        self.definitions()?;
        self.stack.push(item);
        let span = self.span(item).join(self.before().span);
        self.form("let", at, base, span)
    }

    /// What a function or a binding form computes: an expression, a block of lines, or an expression with its `where`; onto the stack.
    pub(super) fn body(&mut self) -> Read<Span> {
        if self.peek().kind == Kind::OpenBrace {
            let open = self.peek().span;
            let base = self.stack.len();
            let close = self.block()?;
            let behind = self.peek();
            let goes_on = matches!(behind.kind, Kind::Operator(_) | Kind::Word(Word::And | Word::Or))
                && (self.free_lines || !behind.newline)
                || matches!(behind.kind, Kind::Open | Kind::OpenBracket) && !behind.space;
            if goes_on {
                let message = "a block in braces is the whole of what is computed here";
                let help = "put the block in parentheses to compute with its value";
                return Err(Box::new(Diagnostic::error("unexpected-token", behind.span, message).help(help)));
            }
            debug_assert!(self.stack.len() >= base);
            return Ok(open.join(close.span));
        }
        let item = self.expression(ANY)?;
        let start = self.span(item);
        if self.peek().kind == Kind::Word(Word::Where) {
            self.definitions()?;
        }
        self.stack.push(item);
        Ok(start.join(self.before().span))
    }

    /// `where a = 1, f(x) = x^2` or `where { … }`: definitions, onto the stack.
    pub(super) fn definitions(&mut self) -> Read<()> {
        self.next();
        let open = self.peek();
        let braces = open.kind == Kind::OpenBrace;
        let from = self.stack.len();
        if braces {
            self.block()?;
        } else {
            loop {
                let (item, _) = self.definition()?;
                self.stack.push(item);
                if self.peek().kind != Kind::Comma {
                    break;
                }
                self.next();
            }
        }
        let is_define = |i: &Item| {
            self.data
                .list(i.id)
                .and_then(|l| l.first())
                .and_then(|&h| self.data.symbol(h))
                .is_some_and(|s| self.data.names.text(s) == "define")
        };
        match self.stack[from..].iter().find(|i| !is_define(i)) {
            Some(&other) => {
                let message = "`where` is followed by definitions";
                Err(Box::new(Diagnostic::error("unexpected-token", self.span(other), message).help("as in a*x where a = 2, x = b + 1")))
            }
            None => Ok(()),
        }
    }

    /// `a = …` or `f(x) = …` between commas.
    pub(super) fn definition(&mut self) -> Read<(Item, Line)> {
        let start = self.peek().span;
        let base = self.stack.len();
        if self.signature_follows() {
            let sign = self.signature()?;
            let end = self.plain_body()?;
            return Ok((self.form("define", sign.span, base, start.join(end))?, Line::Function));
        }
        self.own_function()?;
        let name = self.name("a definition, as in a = 2")?;
        self.stack.push(name);
        let sign = self.expect(Kind::Equals, "`=`")?;
        let value = self.expression(ANY)?;
        self.stack.push(value);
        let span = start.join(self.span(value));
        Ok((self.form("define", sign.span, base, span)?, Line::Function))
    }

    /// A body among others between commas: no `where` of its own without parentheses.
    pub(super) fn plain_body(&mut self) -> Read<Span> {
        if self.peek().kind == Kind::OpenBrace {
            return self.body();
        }
        let item = self.expression(ANY)?;
        self.stack.push(item);
        Ok(self.span(item))
    }
}
