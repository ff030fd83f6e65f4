//! Infix tokens to data: expressions, by the strength of operators. In: a text; out: data, or what is wrong with the text.
//! Invariants: a list is made after its elements; the depth of the data, chains of operators included, is at most the limit; newlines
//! end a statement only outside of parentheses and brackets.
//!
//! Whatever could be read in two ways is refused: `a/2x`, `2^3x`, `f (x)`, a line that starts with `+` or `-`.

use super::lexer::{self, Kind, MOST_ERRORS, Operator, Token, Word};
use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::source::Span;
use crate::syntax::Syntax;
use crate::syntax::cursor::walks;
pub(super) use crate::syntax::cursor::{Cursor, Read, Walk};
use crate::syntax::lexer::excerpt;
use crate::syntax::reader::{Data, Datum, DatumId, Symbol, too_long};

/// How strongly operators bind, from the weakest.
pub(super) mod strength {
    pub(crate) const ANY: u8 = 0;
    pub(crate) const OR: u8 = 1;
    pub(crate) const AND: u8 = 2;
    pub(crate) const NOT: u8 = 3;
    pub(crate) const COMPARE: u8 = 4;
    pub(crate) const ADD: u8 = 5;
    pub(crate) const MULTIPLY: u8 = 6;
    pub(crate) const NEGATE: u8 = 7;
    pub(crate) const POWER: u8 = 8;
    pub(crate) const PRIMARY: u8 = 9;
}
use strength::{ADD, AND, COMPARE, MULTIPLY, OR, POWER};

/// A datum that was read, and how deep it is nested.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) id: DatumId,
    pub(super) depth: u32,
}

pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) cursor: Cursor<'a, Token>,
    pub(super) data: Data,
    /// Elements of lists that are not complete.
    pub(super) stack: Vec<Item>,
    /// Newlines mean nothing here: inside of ( ) and [ ].
    pub(super) free_lines: bool,
    /// Quotients that look like derivatives: the state they would be of, and where.
    pub(super) quotients: Vec<(Symbol, Span)>,
}

/// Reads an infix text. Errors are collected; the data are only meant for use when there are none.
pub(crate) fn read(source: &str, limits: &Limits) -> (Data, Vec<Diagnostic>) {
    let mut data = Data::default();
    data.syntax = Syntax::Infix;
    if let Some(error) = too_long(source, limits) {
        return (data, vec![error]);
    }
    data.reserve(source.len() / 2);
    let tokens = lexer::tokens(source, &mut data.names);
    if !tokens.errors.is_empty() {
        return (data, tokens.errors);
    }
    // A list takes up to three steps: its own, one for the strength of operators, one for a sign.
    let cursor = Cursor::new(tokens.list, limits, 3);
    let mut parser = Parser { source, cursor, data, stack: Vec::new(), free_lines: false, quotients: Vec::new() };
    let mut errors = parser.program();
    errors.truncate(MOST_ERRORS);
    (parser.data, errors)
}

/// An operator, as data spell it, and how strongly it binds.
pub(super) fn operation(operator: Operator) -> (&'static str, u8) {
    match operator {
        Operator::Plus => ("+", ADD),
        Operator::Minus => ("-", ADD),
        Operator::Times => ("*", MULTIPLY),
        Operator::Over => ("/", MULTIPLY),
        Operator::Modulo => ("modulo", MULTIPLY),
        Operator::Power => ("pow", POWER),
        Operator::Less => ("<", COMPARE),
        Operator::AtMost => ("<=", COMPARE),
        Operator::More => (">", COMPARE),
        Operator::AtLeast => (">=", COMPARE),
        Operator::Equal => ("=", COMPARE),
        Operator::Unequal => ("not", COMPARE),
    }
}

/// What stands between two operands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Join {
    Operator(Operator),
    And,
    Or,
    /// Nothing: a number right before a name or a parenthesis.
    Product,
}

impl Join {
    pub(super) fn operation(self) -> (&'static str, u8) {
        match self {
            Join::Operator(o) => operation(o),
            Join::And => ("and", AND),
            Join::Or => ("or", OR),
            Join::Product => operation(Operator::Times),
        }
    }
}

/// Operands of one operator, on the stack from `base` on.
pub(super) struct Run {
    pub(super) name: &'static str,
    pub(super) binds: u8,
    pub(super) head: DatumId,
    pub(super) base: usize,
}

walks!(Parser over Token);

impl Parser<'_> {
    pub(super) fn text(&self, span: Span) -> String {
        excerpt(span.text(self.source))
    }

    /// A token in words.
    pub(super) fn described(&self, token: Token) -> String {
        if token.kind == Kind::End { "the end of the text".into() } else { format!("`{}`", self.text(token.span)) }
    }

    pub(super) fn unexpected(&self, token: Token, wanted: &str) -> Box<Diagnostic> {
        let message = format!("expected {wanted}, found {}", self.described(token));
        let (code, help) = match token.kind {
            Kind::Close | Kind::CloseBracket | Kind::CloseBrace => ("unbalanced-parenthesis", None),
            Kind::Equals => ("unexpected-token", Some("`=` defines; to compare, write `==`".to_string())),
            Kind::Word(_) => {
                let word = self.text(token.span);
                ("unexpected-token", Some(format!("`{word}` is a word of infix: as a name it stands in backquotes, `` `{word}` ``")))
            }
            _ => ("unexpected-token", None),
        };
        Box::new(Diagnostic::error(code, token.span, message).maybe_help(help))
    }

    pub(super) fn expect(&mut self, kind: Kind, wanted: &str) -> Read<Token> {
        let token = self.peek();
        if token.kind == kind { Ok(self.next()) } else { Err(self.unexpected(token, wanted)) }
    }

    /// What closes a parenthesis, bracket or brace.
    pub(super) fn close(&mut self, kind: Kind, open: Span) -> Read<Token> {
        let token = self.peek();
        if token.kind == kind {
            return Ok(self.next());
        }
        let sign = match kind {
            Kind::Close => ")",
            Kind::CloseBracket => "]",
            _ => "}",
        };
        let closing = matches!(token.kind, Kind::End | Kind::Close | Kind::CloseBracket | Kind::CloseBrace);
        if !closing {
            return Err(self.between_operands(token, &format!("`{sign}`")));
        }
        let message = format!("expected `{sign}`, found {}", self.described(token));
        Err(Box::new(Diagnostic::error("unbalanced-parenthesis", token.span, message).label(open, "opened here")))
    }

    /// What is wrong where an operand is complete and something follows that does not go on.
    pub(super) fn between_operands(&self, token: Token, wanted: &str) -> Box<Diagnostic> {
        let before = self.before();
        let left = self.text(before.span);
        let right = self.text(token.span);
        let error = |message: String, help: String| Box::new(Diagnostic::error("unexpected-token", token.span, message).help(help));
        match token.kind {
            Kind::Name(_) | Kind::Quoted(_) | Kind::Number(_) if !token.newline => {
                let call = crate::ops::surface(&left).is_some();
                let help = if call { format!("a call is written {left}({right})") } else { format!("a product is written {left}*{right}") };
                error(format!("`{left}` and `{right}` stand side by side"), help)
            }
            Kind::Open if !token.newline && matches!(before.kind, Kind::Name(_) | Kind::Quoted(_)) => Box::new(
                Diagnostic::error("ambiguous-reading", token.span, format!("`{left} (…)` could be a call or a product"))
                    .help(format!("write {left}(…) for the call of a function, {left}*(…) for a product")),
            ),
            Kind::Open if !token.newline => error("a product needs its sign here".into(), format!("write {left}*(…)")),
            Kind::OpenBracket if !token.newline => error("an index stands right behind its vector".into(), format!("write {left}[…]")),
            Kind::Prime => error("a derivative stands on the left of an equation".into(), "write x' = … or dx/dt = …".into()),
            Kind::Word(Word::Where) => {
                error("`where` belongs behind a whole expression".into(), "put the expression and its `where` in parentheses".into())
            }
            _ => self.unexpected(token, wanted),
        }
    }

    pub(super) fn intern(&mut self, name: &str) -> Symbol {
        self.data.names.intern(name)
    }

    /// A name the text does not have: the head of a list.
    pub(super) fn head(&mut self, name: &str, span: Span) -> DatumId {
        let symbol = self.intern(name);
        self.data.push(Datum::Symbol(symbol), span)
    }

    pub(super) fn symbol(&mut self, symbol: Symbol, span: Span) -> Item {
        Item { id: self.data.push(Datum::Symbol(symbol), span), depth: 0 }
    }

    pub(super) fn number(&mut self, x: f64, span: Span) -> Item {
        Item { id: self.data.push(Datum::Number(x), span), depth: 0 }
    }

    pub(super) fn span(&self, item: Item) -> Span {
        self.data.span(item.id)
    }

    /// A list of what is on the stack from `base` on, behind a head.
    pub(super) fn list(&mut self, head: Option<DatumId>, base: usize, span: Span, bracket: bool) -> Read<Item> {
        let depth = 1 + self.stack[base..].iter().map(|i| i.depth).max().unwrap_or(0);
        if depth as usize > self.cursor.limits.nesting {
            return Err(self.too_deep(span));
        }
        let id = self.data.push_list(bracket, head.into_iter().chain(self.stack[base..].iter().map(|i| i.id)), span);
        self.stack.truncate(base);
        Ok(Item { id, depth })
    }

    /// A list behind a head the text does not have.
    pub(super) fn form(&mut self, name: &str, at: Span, base: usize, span: Span) -> Read<Item> {
        let head = self.head(name, at);
        self.list(Some(head), base, span, false)
    }

    /// Whether a token goes on with the expression before it, as far as lines matter.
    pub(super) fn same_line(&self, token: Token) -> bool {
        self.free_lines || !token.newline
    }

    /// An expression of operators that bind at least this strongly.
    pub(super) fn expression(&mut self, least: u8) -> Read<Item> {
        self.nested(|parser| {
            let left = parser.operand(least)?;
            parser.climb(left, least)
        })
    }

    /// What comes next between operands, if anything does.
    pub(super) fn join(&self) -> Option<(Join, Token)> {
        let token = self.peek();
        let join = match token.kind {
            Kind::Operator(o) => Join::Operator(o),
            Kind::Word(Word::And) => Join::And,
            Kind::Word(Word::Or) => Join::Or,
            _ if self.product_follows() => Join::Product,
            _ => return None,
        };
        Some((join, token))
    }

    /// Whether a number stands right before a name or a parenthesis.
    pub(super) fn product_follows(&self) -> bool {
        let token = self.peek();
        !token.space && matches!(token.kind, Kind::Name(_) | Kind::Quoted(_) | Kind::Open) && matches!(self.before().kind, Kind::Number(_))
    }

    /// The operators behind a first operand.
    pub(super) fn climb(&mut self, mut left: Item, least: u8) -> Read<Item> {
        let mut run: Option<Run> = None;
        while let Some((join, token)) = self.join() {
            let (name, binds) = join.operation();
            if binds < least {
                break;
            }
            if !self.same_line(token) && matches!(token.kind, Kind::Operator(Operator::Plus | Operator::Minus)) {
                return Err(Box::new(
                    Diagnostic::error(
                        "ambiguous-reading",
                        token.span,
                        "this line could go on with the one before, or be a line of its own",
                    )
                    .help("end the line before with the sign to go on; put a line of its own in parentheses"),
                ));
            }
            if join != Join::Product {
                self.next();
            }
            // Operands of the same operator are one list, grouped from the left.
            if run.as_ref().is_none_or(|r| r.name != name || binds == POWER) {
                if binds == COMPARE && run.as_ref().is_some_and(|r| r.binds == COMPARE) {
                    left = self.mixed_chain(run.take(), left, join, token)?;
                    continue;
                }
                left = self.finish(run.take(), left)?;
                let base = self.stack.len();
                self.stack.push(left);
                let at = if join == Join::Product { Span { end: token.span.start, ..token.span } } else { token.span };
                run = Some(Run { name, binds, head: self.head(name, at), base });
            } else {
                self.stack.push(left);
            }
            let from = self.cursor.at;
            left = self.expression(if binds == POWER { POWER } else { binds + 1 })?;
            if matches!(join, Join::Operator(Operator::Over | Operator::Modulo | Operator::Power)) && self.product_follows() {
                return Err(self.two_products(token, from));
            }
            if join == Join::Operator(Operator::Over) {
                self.note_quotient(from);
            }
            if matches!(join, Join::Operator(Operator::Unequal)) {
                left = self.unequal(run.take(), left, token)?;
            } else if binds == POWER || join == Join::Operator(Operator::Modulo) {
                left = self.finish(run.take(), left)?;
            }
        }
        self.finish(run, left)
    }

    /// The list of a run whose last operand is `last`.
    pub(super) fn finish(&mut self, run: Option<Run>, last: Item) -> Read<Item> {
        let Some(run) = run else { return Ok(last) };
        self.stack.push(last);
        let span = self.span(self.stack[run.base]).join(self.span(last));
        self.list(Some(run.head), run.base, span, false)
    }
}
