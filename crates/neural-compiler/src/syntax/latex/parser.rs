//! LaTeX tokens to data: expressions. In: tokens; out: data. Products without a sign are products, as TeX sets letters one by one; whatever
//! a reader of the typeset formula could take for something else is refused with the readings.

use super::lexer::{Kind, Token};
use super::names::LETTERS;
use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::source::Span;
use crate::syntax::cursor::walks;
pub(super) use crate::syntax::cursor::{Cursor, Read, Walk};
use crate::syntax::lexer::{excerpt, number};
use crate::syntax::reader::{Data, Datum, DatumId};
use rustc_hash::FxHashSet;

/// A datum that was read.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) id: DatumId,
    pub(super) depth: u32,
    /// One thing on the page: what a power or an argument without parentheses can be.
    pub(super) atomic: bool,
    /// Set as a vector or matrix.
    pub(super) bold: bool,
}

/// Tokens read again before a sum that is written out is too long.
const MOST_AGAIN: usize = 50_000;

pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) cursor: Cursor<'a, Token>,
    pub(super) data: Data,
    /// Names the text defines as functions.
    pub(super) functions: FxHashSet<String>,
    /// Indices of the sums around, with their number where the sum is written out.
    pub(super) indices: Vec<(String, Option<i64>)>,
    /// The indices that were met inside of names.
    pub(super) indexed: FxHashSet<String>,
    /// Tokens that may still be read again to write sums out.
    pub(super) again: usize,
    /// Whether `=` compares here: on a line of its own it defines.
    pub(super) equals: bool,
    /// Inside of `|…|`, where `|` closes.
    pub(super) bars: usize,
    /// The times of which starts were written, `x(0) = 1`, and where.
    pub(super) starts: Vec<(f64, Span)>,
}

walks!(Parser over Token);

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a str, tokens: Vec<Token>, data: Data, limits: &'a Limits) -> Parser<'a> {
        let (functions, indices) = (FxHashSet::default(), Vec::new());
        Parser {
            source,
            cursor: Cursor::new(tokens, limits, 1),
            data,
            functions,
            indices,
            indexed: FxHashSet::default(),
            again: MOST_AGAIN,
            equals: false,
            bars: 0,
            starts: Vec::new(),
        }
    }

    pub(super) fn is(&self, sign: char) -> bool {
        self.peek().kind == Kind::Sign(sign)
    }

    /// The command here, without its backslash; nothing where there is none.
    pub(super) fn command(&self) -> &'a str {
        let token = self.peek();
        if token.kind == Kind::Command { &token.span.text(self.source)[1..] } else { "" }
    }

    pub(super) fn command_of(&self, token: Token) -> String {
        token.span.text(self.source)[1..].to_string()
    }

    pub(super) fn text(&self, span: Span) -> String {
        excerpt(span.text(self.source))
    }

    pub(super) fn unexpected(&self, token: Token, wanted: &str) -> Box<Diagnostic> {
        let found = if token.kind == Kind::End { "the end of the text".into() } else { format!("`{}`", self.text(token.span)) };
        let code =
            if matches!(token.kind, Kind::Close | Kind::Sign(')' | ']' | '}')) { "unbalanced-parenthesis" } else { "unexpected-token" };
        Box::new(Diagnostic::error(code, token.span, format!("expected {wanted}, found {found}")))
    }

    /// What the language does not have.
    pub(super) fn unknown(&self, span: Span, what: &str, help: &str) -> Box<Diagnostic> {
        Box::new(Diagnostic::error("unknown-notation", span, format!("{what} is not part of the language")).help(help))
    }

    /// What has several readings.
    pub(super) fn ambiguous(&self, span: Span, readings: &[&str]) -> Box<Diagnostic> {
        let message = format!("`{}` has several readings", self.text(span));
        Box::new(Diagnostic::error("ambiguous-reading", span, message).help(format!("write {}", readings.join(", or "))))
    }

    /// `x^23` raises only the 2.
    pub(super) fn two_digits(&self, token: Token) -> Box<Diagnostic> {
        let digits = self.text(token.span);
        let readings = [
            format!("{{{digits}}} in braces for the whole number"),
            format!("{{{}}}{} for the first digit alone", &digits[..1], &digits[1..]),
        ];
        self.ambiguous(token.span, &[readings[0].as_str(), readings[1].as_str()])
    }

    pub(super) fn expect_sign(&mut self, sign: char) -> Read<Token> {
        let token = self.next();
        if token.kind == Kind::Sign(sign) {
            return Ok(token);
        }
        let error = self.unexpected(token, &format!("`{sign}`"));
        let open = matches!(token.kind, Kind::End | Kind::Row | Kind::Break) && matches!(sign, ')' | ']' | '}');
        Err(if open { Box::new(Diagnostic { code: "unbalanced-parenthesis", ..*error }) } else { error })
    }

    /// Reads what stands between parentheses, where bars open and `=` compares.
    pub(super) fn enclosed<T>(&mut self, step: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let before = (std::mem::take(&mut self.bars), std::mem::replace(&mut self.equals, true));
        let inner = step(self)?;
        (self.bars, self.equals) = before;
        Ok(inner)
    }

    pub(super) fn head(&mut self, name: &str, span: Span) -> DatumId {
        let symbol = self.data.names.intern(name);
        self.data.push(Datum::Symbol(symbol), span)
    }

    pub(super) fn symbol(&mut self, name: &str, span: Span) -> Item {
        Item { id: self.head(name, span), depth: 0, atomic: true, bold: false }
    }

    pub(super) fn number(&mut self, x: f64, span: Span) -> Item {
        Item { id: self.data.push(Datum::Number(x), span), depth: 0, atomic: true, bold: false }
    }

    pub(super) fn span(&self, item: Item) -> Span {
        self.data.span(item.id)
    }

    /// A list of these elements.
    pub(super) fn list(&mut self, head: Option<&str>, items: &[Item], span: Span, bracket: bool) -> Read<Item> {
        let depth = 1 + items.iter().map(|i| i.depth).max().unwrap_or(0);
        if depth as usize > self.cursor.limits.nesting {
            return Err(self.too_deep(span));
        }
        let head = head.map(|name| self.head(name, span));
        let id = self.data.push_list(bracket, head.into_iter().chain(items.iter().map(|i| i.id)), span);
        Ok(Item { id, depth, atomic: false, bold: false })
    }

    pub(super) fn call(&mut self, name: &str, items: &[Item], span: Span) -> Read<Item> {
        Ok(Item { atomic: true, ..self.list(Some(name), items, span, false)? })
    }

    /// What stands in braces, or the one thing that stands without.
    pub(super) fn braced<T>(&mut self, step: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.peek().kind != Kind::Open {
            return step(self);
        }
        self.next();
        let inner = step(self)?;
        let close = self.next();
        if close.kind == Kind::Close {
            return Ok(inner);
        }
        let error = self.unexpected(close, "`}`");
        Err(if close.kind == Kind::End { Box::new(Diagnostic { code: "unbalanced-parenthesis", ..*error }) } else { error })
    }

    /// Conditions and sums.
    pub(super) fn condition(&mut self) -> Read<Item> {
        self.nested(|p| p.joined("or", &["lor", "vee"]))
    }

    fn joined(&mut self, name: &str, commands: &[&str]) -> Read<Item> {
        let part = |p: &mut Self| if name == "or" { p.joined("and", &["land", "wedge"]) } else { p.comparison() };
        let mut items = vec![part(self)?];
        while commands.contains(&self.command()) {
            self.next();
            items.push(part(self)?);
        }
        if items.len() == 1 {
            return Ok(items[0]);
        }
        let span = self.span(items[0]).join(self.before().span);
        self.list(Some(name), &items, span, false)
    }

    fn relation(&self) -> Option<&'static str> {
        match self.peek().kind {
            Kind::Sign('<') => Some("<"),
            Kind::Sign('>') => Some(">"),
            Kind::Sign('=') if self.equals => Some("="),
            Kind::Command => match self.command() {
                "le" | "leq" | "leqslant" => Some("<="),
                "ge" | "geq" | "geqslant" => Some(">="),
                "lt" => Some("<"),
                "gt" => Some(">"),
                "ne" | "neq" => Some("not"),
                _ => None,
            },
            _ => None,
        }
    }

    fn comparison(&mut self) -> Read<Item> {
        if matches!(self.command(), "lnot" | "neg") {
            let start = self.next().span;
            let inner = self.nested(|p| p.comparison())?;
            let span = start.join(self.span(inner));
            return self.list(Some("not"), &[inner], span, false);
        }
        let mut sides = vec![self.sum()?];
        let mut relations = Vec::new();
        while let Some(relation) = self.relation() {
            self.next();
            relations.push(relation);
            sides.push(self.sum()?);
        }
        let span = self.span(sides[0]).join(self.before().span);
        match relations[..] {
            [] => Ok(sides[0]),
            ["not"] => {
                let equal = self.list(Some("="), &sides, span, false)?;
                self.list(Some("not"), &[equal], span, false)
            }
            [first, ref rest @ ..] if rest.iter().all(|r| *r == first) && first != "not" => self.list(Some(first), &sides, span, false),
            _ => {
                let simple = |s: &Item| !matches!(self.data.get(s.id), Datum::List(..) | Datum::Bracket(..));
                if relations.contains(&"not") || !sides[1..sides.len() - 1].iter().all(simple) {
                    let help = "join comparisons with \\land: a < b \\land b \\le c";
                    let message = "between comparisons of two kinds stands a name or a number";
                    return Err(Box::new(Diagnostic::error("unexpected-token", span, message).help(help)));
                }
                let mut parts = Vec::new();
                for (i, relation) in relations.iter().enumerate() {
                    let left = Item { id: self.data.push(self.data.get(sides[i].id), self.span(sides[i])), ..sides[i] };
                    let pair = if i == 0 { [sides[0], sides[1]] } else { [left, sides[i + 1]] };
                    parts.push(self.list(Some(relation), &pair, span, false)?);
                }
                self.list(Some("and"), &parts, span, false)
            }
        }
    }

    /// Terms with signs between them.
    pub(super) fn sum(&mut self) -> Read<Item> {
        self.nested(|p| p.sum_here())
    }

    fn sum_here(&mut self) -> Read<Item> {
        let mut left = self.signed_term()?;
        let mut run: Option<(&'static str, Vec<Item>)> = None;
        loop {
            let name = match self.peek().kind {
                Kind::Sign('+') => "+",
                Kind::Sign('-') => "-",
                _ if matches!(self.command(), "pm" | "mp") => {
                    return Err(self.unknown(self.peek().span, "`\\pm`, which is two values at once,", "write each of the two"));
                }
                _ => break,
            };
            self.next();
            let right = self.term()?;
            match &mut run {
                Some((same, items)) if *same == name => items.push(right),
                _ => {
                    left = self.finish(run.take(), left)?;
                    run = Some((name, vec![left, right]));
                }
            }
        }
        self.finish(run, left)
    }

    /// The list of a run of one operator, or the operand alone.
    fn finish(&mut self, run: Option<(&'static str, Vec<Item>)>, alone: Item) -> Read<Item> {
        let Some((name, items)) = run else { return Ok(alone) };
        let span = self.span(items[0]).join(self.span(items[items.len() - 1]));
        self.list(Some(name), &items, span, false)
    }

    /// A term with its sign. The sign of a number belongs to the number.
    fn signed_term(&mut self) -> Read<Item> {
        let sign = self.peek();
        match sign.kind {
            Kind::Sign('+') => {
                self.next();
                self.term()
            }
            Kind::Sign('-') => {
                self.next();
                if let Some(x) = self.literal()? {
                    let span = sign.span.join(self.before().span);
                    let first = self.number(-x, span);
                    return self.factors(Item { atomic: false, ..first });
                }
                let term = self.term()?;
                let span = sign.span.join(self.span(term));
                self.list(Some("-"), &[term], span, false)
            }
            _ => self.term(),
        }
    }

    /// A number that nothing raises: digits, or digits times a power of ten.
    fn literal(&mut self) -> Read<Option<f64>> {
        let token = self.peek();
        let Kind::Number(x) = token.kind else { return Ok(None) };
        let written = token.span.text(self.source);
        // 6.6 \times 10^{-34}
        let times = self.ahead(1);
        let signs =
            times.kind == Kind::Command && matches!(&times.span.text(self.source)[1..], "times" | "cdot") || times.kind == Kind::Sign('*');
        if signs && self.ahead(2).span.text(self.source) == "10" && self.ahead(3).kind == Kind::Raise {
            let (exponent, taken) = match self.ahead(4).kind {
                Kind::Open => {
                    let negative = self.ahead(5).kind == Kind::Sign('-');
                    let digits = self.ahead(5 + usize::from(negative));
                    let close = self.ahead(6 + usize::from(negative));
                    let text = digits.span.text(self.source);
                    if !matches!(digits.kind, Kind::Number(_)) || close.kind != Kind::Close || text.contains('.') {
                        (None, 0)
                    } else {
                        (Some(format!("{}{text}", if negative { "-" } else { "" })), 7 + usize::from(negative))
                    }
                }
                Kind::Number(_) if self.ahead(4).span.text(self.source).len() == 1 => {
                    (Some(self.ahead(4).span.text(self.source).to_string()), 5)
                }
                Kind::Number(_) => return Err(self.two_digits(self.ahead(4))),
                _ => (None, 0),
            };
            if let Some(exponent) = exponent {
                let span = token.span.join(self.ahead(taken - 1).span);
                self.cursor.at += taken;
                return match number(&format!("{written}e{exponent}")) {
                    Some(Ok(x)) => Ok(Some(x)),
                    _ => Err(Box::new(Diagnostic::error("bad-number", span, "this is too large for a 64-bit number"))),
                };
            }
        }
        if matches!(self.ahead(1).kind, Kind::Raise | Kind::Sign('!')) {
            return Ok(None);
        }
        // 1E-3: letters and signs as programs write a power of ten, not as anybody sets a product.
        let (letter, sign, digits) = (self.ahead(1), self.ahead(2), self.ahead(3));
        let signed = matches!(sign.kind, Kind::Sign('+' | '-')) && matches!(digits.kind, Kind::Number(_));
        let adjacent = token.span.end == letter.span.start && letter.span.end == sign.span.start && sign.span.end == digits.span.start;
        if letter.kind == Kind::Letter('E') && signed && adjacent {
            let power = format!("{written} \\cdot 10^{{{}}}", &self.source[sign.span.start as usize..digits.span.end as usize]);
            return Err(self.ambiguous(token.span.join(digits.span), &[&power, "spaces between factors and signs for a product"]));
        }
        self.next();
        Ok(Some(x))
    }

    /// Factors, with and without signs between them.
    pub(super) fn term(&mut self) -> Read<Item> {
        let first = match self.literal()? {
            Some(x) => self.number(x, self.before().span),
            None => self.factor()?,
        };
        self.factors(first)
    }

    /// Whether something that can be multiplied starts here.
    pub(super) fn factor_starts(&self) -> bool {
        match self.peek().kind {
            Kind::Letter(_) | Kind::Number(_) | Kind::Open => true,
            Kind::Sign('(' | '[' | '{') => true,
            Kind::Sign('|' | '\u{2016}') => self.bars == 0,
            Kind::Command => {
                let command = self.command();
                self.at_where().is_none() && (self.name_starts() || super::primary::starts(command))
            }
            _ => false,
        }
    }

    fn factors(&mut self, first: Item) -> Read<Item> {
        let mut left = first;
        let mut run: Option<(&'static str, Vec<Item>)> = None;
        loop {
            let token = self.peek();
            let command = self.command();
            let (name, explicit) = match token.kind {
                Kind::Sign('*') => ("*", true),
                Kind::Sign('/') => ("/", true),
                Kind::Command if matches!(command, "cdot" | "times" | "ast") => ("*", true),
                Kind::Command if matches!(command, "div" | "slash") => ("/", true),
                _ if self.factor_starts() => ("*", false),
                _ => break,
            };
            let before = run.as_ref().map_or(left, |(_, items)| items[items.len() - 1]);
            if explicit {
                self.next();
            } else {
                self.check_side_by_side(before, token)?;
            }
            let right = match self.literal()? {
                Some(x) => self.number(x, self.before().span),
                None if self.is('-') => return Err(self.unexpected(self.peek(), "a factor; put a negative one in parentheses")),
                None => self.factor()?,
            };
            if before.bold && right.bold || self.is_matrix(before) || self.is_matrix(right) {
                let span = self.span(before).join(self.span(right));
                let readings = [
                    "\\operatorname{dot}(a, b)",
                    "\\operatorname{cross}(a, b)",
                    "\\operatorname{matvec}(A, v)",
                    "\\operatorname{matmul}(A, B)",
                ];
                return Err(self.ambiguous(span, &readings));
            }
            if name == "/" && self.factor_starts() {
                let span = self.span(before).join(self.peek().span);
                return Err(self.ambiguous(span, &["\\frac{…}{…}", "parentheses around what is divided by"]));
            }
            match &mut run {
                Some((same, items)) if *same == name => items.push(right),
                _ => {
                    left = self.finish(run.take(), left)?;
                    run = Some((name, vec![left, right]));
                }
            }
        }
        self.finish(run, left)
    }

    /// Whether this is a name that stands right before a raised sign, without parentheses.
    fn is_name(&self, item: Item) -> bool {
        let before = self.cursor.tokens[self.cursor.at.saturating_sub(2)];
        matches!(self.data.get(item.id), Datum::Symbol(_)) && before.kind != Kind::Sign(')')
    }

    fn is_matrix(&self, item: Item) -> bool {
        matches!(self.data.get(item.id), Datum::Bracket(..))
    }

    /// What may not stand side by side as a product.
    fn check_side_by_side(&mut self, left: Item, token: Token) -> Read<()> {
        let span = self.span(left).join(token.span);
        let number = |d: Datum| matches!(d, Datum::Number(_));
        if matches!(token.kind, Kind::Number(_)) {
            let readings: &[&str] = if number(self.data.get(left.id)) {
                &["one number without the gap", "\\cdot between two numbers"]
            } else {
                &["x_2 for a name with an index", "the number before the name", "\\cdot between them"]
            };
            return Err(self.ambiguous(span, readings));
        }
        if matches!(token.kind, Kind::Sign('|' | '\u{2016}')) {
            return Err(self.ambiguous(span, &["\\cdot before the absolute value", "\\left| … \\right| with each pair"]));
        }
        if token.kind == Kind::Sign('[') && matches!(self.data.get(left.id), Datum::Symbol(_)) {
            return Err(self.ambiguous(span, &["\\cdot for a product", "x_1 for an index"]));
        }
        Ok(())
    }

    /// A factor with what is set right behind it: powers, factorials.
    pub(super) fn factor(&mut self) -> Read<Item> {
        self.nested(|p| {
            let item = super::primary::primary(p)?;
            p.scripts(item)
        })
    }

    pub(super) fn scripts(&mut self, mut item: Item) -> Read<Item> {
        let start = self.span(item);
        loop {
            let token = self.peek();
            match token.kind {
                Kind::Raise => {
                    self.next();
                    if !item.atomic {
                        return Err(self.ambiguous(start.join(token.span), &["parentheses around what is raised"]));
                    }
                    let exponent = self.exponent(item)?;
                    let span = start.join(self.before().span);
                    item = Item { atomic: false, bold: false, ..self.list(Some("pow"), &[item, exponent], span, false)? };
                    if self.peek().kind == Kind::Raise {
                        return Err(self.unexpected(self.peek(), "braces around one of the two powers"));
                    }
                }
                Kind::Lower => return Err(self.unknown(token.span, "a subscript that is not behind a name", "put it behind the name")),
                Kind::Sign('!') => {
                    self.next();
                    if self.is('!') {
                        return Err(self.unknown(self.peek().span, "the double factorial", "write it with \\operatorname{gamma}"));
                    }
                    if !item.atomic {
                        return Err(self.ambiguous(start.join(token.span), &["parentheses around what the factorial is of"]));
                    }
                    let span = start.join(token.span);
                    let one = self.number(1.0, token.span);
                    let more = self.list(Some("+"), &[item, one], span, false)?;
                    item = self.call("gamma", &[more], span)?;
                }
                Kind::Sign('\'') => {
                    let help = "a derivative stands on the left of its equation: \\dot x = …; another name is x_1";
                    return Err(self.unknown(token.span, "a prime in an expression", help));
                }
                _ => return Ok(item),
            }
        }
    }

    /// What stands behind `^`.
    fn exponent(&mut self, base: Item) -> Read<Item> {
        let token = self.peek();
        let lone = if token.kind == Kind::Open { self.ahead(1) } else { token };
        let closed = token.kind != Kind::Open || self.ahead(2).kind == Kind::Close;
        let span = self.span(base).join(lone.span);
        match lone.kind {
            Kind::Letter('T') if closed => {
                return Err(self.ambiguous(span, &["\\operatorname{transpose}(A)", "x^{\\mathit{T}} for a power"]));
            }
            // E^0 is a standard potential, and x^0 a start, more often than 1.
            Kind::Number(0.0) if closed && self.is_name(base) => {
                return Err(self.ambiguous(span, &["another name, as E_0", "the power of what stands in parentheses, (x)^0"]));
            }
            Kind::Sign('*' | '+' | '-' | '\'') if closed => {
                return Err(self.ambiguous(span, &["another name, as x_{star}", "a power"]));
            }
            Kind::Sign('(') if token.kind == Kind::Open && self.ahead(3).kind == Kind::Sign(')') && self.ahead(4).kind == Kind::Close => {
                return Err(self.ambiguous(span, &["a power without its parentheses", "x_1 for another name"]));
            }
            Kind::Command
                if matches!(
                    &lone.span.text(self.source)[1..],
                    "top" | "intercal" | "dagger" | "prime" | "circ" | "ast" | "star" | "degree"
                ) =>
            {
                let help = "transposes are written \\operatorname{transpose}(A), angles in radians, other names with subscripts";
                return Err(self.unknown(lone.span, "this raised sign", help));
            }
            _ => {}
        }
        match token.kind {
            Kind::Open => self.braced(|p| p.sum()),
            Kind::Number(x) if token.span.text(self.source).len() == 1 => {
                self.next();
                Ok(self.number(x, token.span))
            }
            Kind::Number(_) => Err(self.two_digits(token)),
            Kind::Letter(_) => super::primary::primary(self),
            Kind::Command
                if LETTERS.contains(&self.command()) || matches!(self.command(), "frac" | "tfrac" | "sqrt" | "mathrm" | "mathit") =>
            {
                super::primary::primary(self)
            }
            _ => Err(self.unexpected(token, "a power; put longer ones in braces")),
        }
    }
}
