//! How data are spelled in infix: which form a datum takes, how strongly it binds, what goes without parentheses. In: data; out: what the
//! printer needs to know before it prints.

use super::declarations::COMPUTED;
use super::lexer::{Kind, number_spelled, spelled, tokens};
use super::parser::strength::{ADD, AND, ANY, COMPARE, MULTIPLY, NEGATE, NOT, OR, POWER, PRIMARY};
use super::printer::{Printer, print_datum};
use crate::syntax::distributions;
use crate::syntax::reader::{Datum, DatumId, Names};

/// How a datum is spelled.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shape {
    Number,
    Name,
    Vector,
    /// `()`
    Nothing,
    /// `f(a, b)`
    Call,
    /// `(…)(a, b)`
    Apply,
    /// `-x`
    Negate,
    /// Operands between signs: the sign, how strongly it binds.
    Between(&'static str, u8),
    Power,
    Unequal,
    Not,
    If,
    Cases,
    /// `let`, `let*`, `letrec`, `letrec*` with bindings.
    Let,
    Loop,
    /// `root x = 0 in …`
    Root,
    NamedLoop,
    Function,
    Index,
    Slice,
    /// `{ … }`
    Block,
}

impl<'a> Printer<'a> {
    /// The names of a list of names.
    pub(super) fn names(&self, d: DatumId) -> Option<&'a [DatumId]> {
        let items = self.data.list(d)?;
        items.iter().all(|&i| self.data.symbol(i).is_some()).then_some(items)
    }

    /// The bindings of a list of `(name value)`.
    pub(super) fn pairs(&self, d: DatumId) -> Option<Vec<(DatumId, DatumId)>> {
        let pair = |&p: &DatumId| match *self.data.list(p)? {
            [name, value] if self.data.symbol(name).is_some() => Some((name, value)),
            _ => None,
        };
        self.data.list(d)?.iter().map(pair).collect()
    }

    pub(super) fn shape(&self, d: DatumId) -> Shape {
        match self.data.get(d) {
            Datum::Number(_) => Shape::Number,
            Datum::Symbol(_) => Shape::Name,
            Datum::Bracket(..) => Shape::Vector,
            Datum::List(..) => match *self.data.children(d) {
                [] => Shape::Nothing,
                [head, ref args @ ..] => match self.text(head) {
                    None => Shape::Apply,
                    Some(name) => self.form(name, args).unwrap_or(Shape::Call),
                },
            },
        }
    }

    /// The shape of a list with this head, where it is more than a call.
    pub(super) fn form(&self, name: &str, args: &[DatumId]) -> Option<Shape> {
        let several = args.len() > 1;
        let bindings = |d: DatumId| self.pairs(d).is_some();
        Some(match name {
            "+" if several => Shape::Between(" + ", ADD),
            "-" if several => Shape::Between(" - ", ADD),
            "-" if args.len() == 1 => Shape::Negate,
            "*" if several => Shape::Between("*", MULTIPLY),
            "/" if several => Shape::Between("/", MULTIPLY),
            "pow" if args.len() == 2 => Shape::Power,
            "<" if several => Shape::Between(" < ", COMPARE),
            "<=" if several => Shape::Between(" <= ", COMPARE),
            ">" if several => Shape::Between(" > ", COMPARE),
            ">=" if several => Shape::Between(" >= ", COMPARE),
            "=" if several => Shape::Between(" == ", COMPARE),
            "and" if several => Shape::Between(" and ", AND),
            "or" if several => Shape::Between(" or ", OR),
            "not" if args.len() == 1 => {
                let equal = self.data.list(args[0]).is_some_and(|l| l.len() == 3 && self.is(l[0], "="));
                if equal { Shape::Unequal } else { Shape::Not }
            }
            "if" if args.len() == 3 => Shape::If,
            "cond" if !args.is_empty() && args.iter().all(|&c| self.data.list(c).is_some_and(|l| l.len() > 1)) => Shape::Cases,
            "let" if several && self.data.symbol(args[0]).is_some() => match args.len() > 2 && bindings(args[1]) {
                true => Shape::NamedLoop,
                false => return None,
            },
            "let" if !args.is_empty() && self.data.list(args[0]).is_some_and(<[_]>::is_empty) => Shape::Block,
            "let" | "let*" | "letrec" | "letrec*" if several && bindings(args[0]) => Shape::Let,
            "loop" if several && bindings(args[0]) => Shape::Loop,
            "root" if several && self.starts(args[0]) => Shape::Root,
            "lambda" if several && self.names(args[0]).is_some() => Shape::Function,
            "ref" if matches!(args.len(), 2 | 3) => Shape::Index,
            "slice" if args.len() == 3 => Shape::Slice,
            _ => return None,
        })
    }

    /// Whether a list is a name with a start, or with the ends of an interval.
    fn starts(&self, d: DatumId) -> bool {
        self.data.list(d).is_some_and(|l| matches!(l.len(), 2 | 3) && self.data.symbol(l[0]).is_some())
    }

    pub(super) fn strength(&self, d: DatumId, shape: Shape) -> u8 {
        match shape {
            Shape::Number if self.number(d).starts_with('-') => NEGATE,
            Shape::Negate => NEGATE,
            Shape::Between(_, strength) => strength,
            Shape::Power => POWER,
            Shape::Unequal => COMPARE,
            Shape::Not => NOT,
            Shape::If | Shape::Let | Shape::Loop | Shape::Root | Shape::NamedLoop | Shape::Function => ANY,
            _ => PRIMARY,
        }
    }

    pub(super) fn number(&self, d: DatumId) -> String {
        match self.data.get(d) {
            Datum::Number(x) => number_spelled(self.data.span(d).text(self.source), x),
            _ => String::new(),
        }
    }

    /// A number, a name, or a vector of such.
    pub(super) fn is_literal(&self, d: DatumId) -> bool {
        let mut work = vec![d];
        while let Some(d) = work.pop() {
            match self.data.get(d) {
                Datum::List(..) => return false,
                Datum::Bracket(..) => work.extend(self.data.children(d)),
                Datum::Number(_) | Datum::Symbol(_) => {}
            }
        }
        true
    }

    pub(super) fn literal(&self, d: DatumId) -> String {
        match self.data.get(d) {
            Datum::Number(_) => self.number(d),
            Datum::Symbol(s) => spelled(self.data.names.text(s)),
            _ => format!("[{}]", self.data.children(d).iter().map(|&c| crate::deep(|| self.literal(c))).collect::<Vec<_>>().join(", ")),
        }
    }

    pub(super) fn is_keyword(&self, d: DatumId) -> bool {
        self.text(d).is_some_and(|t| t.len() > 1 && t.starts_with(':'))
    }

    /// What stands behind the name of a declaration: its value where it has one, and the options as text. `computed`: the value may be an
    /// expression.
    pub(super) fn value_and_options(&self, rest: &[DatumId], computed: bool) -> Option<(Option<DatumId>, String)> {
        let value = rest.first().copied().filter(|&v| (computed || self.is_literal(v)) && !self.is_keyword(v));
        Some((value, self.options(&rest[usize::from(value.is_some())..])?))
    }

    /// Whether a datum is a distribution with its arguments.
    fn is_distribution(&self, d: DatumId) -> bool {
        let head = self.data.list(d).and_then(|list| list.first()).and_then(|&h| self.text(h));
        head.is_some_and(|name| distributions::noise(name).or(distributions::prior(name)).is_some())
    }

    /// `:min 0 :fixed` as ` (min 0, fixed)`.
    pub(super) fn options(&self, options: &[DatumId]) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        let (mut value_may_follow, mut computed) = (false, false);
        for &d in options {
            if self.is_keyword(d) {
                let word = &self.text(d)?[1..];
                parts.push(spelled(word));
                (value_may_follow, computed) = (true, COMPUTED.contains(&word));
            } else if value_may_follow && computed && self.is_distribution(d) {
                let part = parts.last_mut()?;
                part.push(' ');
                part.push_str(&print_datum(self.data, self.source, d));
                value_may_follow = false;
            } else if value_may_follow && self.is_literal(d) {
                let unit = parts.last().is_some_and(|p| p == "unit");
                let value = if unit { self.unit(d) } else { self.literal(d) };
                let part = parts.last_mut()?;
                part.push(' ');
                part.push_str(&value);
                value_may_follow = false;
            } else {
                return None;
            }
        }
        Some(if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) })
    }

    /// A unit: as it stands where that reads back, else in backquotes.
    pub(super) fn unit(&self, d: DatumId) -> String {
        match self.text(d).filter(|t| is_bare_unit(t)) {
            Some(text) => text.to_string(),
            None => self.literal(d),
        }
    }

    /// Whether the text of an expression starts with `-`.
    pub(super) fn starts_with_sign(&self, mut d: DatumId) -> bool {
        loop {
            let shape = self.shape(d);
            match shape {
                Shape::Number => return self.number(d).starts_with('-'),
                Shape::Negate => return true,
                Shape::Between(_, strength) => {
                    let first = self.data.children(d)[1];
                    let inner = self.shape(first);
                    if self.in_parentheses(first, inner, strength, self.data.children(d)[0], true) {
                        return false;
                    }
                    d = first;
                }
                Shape::Unequal => d = self.data.children(self.data.children(d)[1])[1],
                _ => return false,
            }
        }
    }

    /// Whether an operand of an operator is put in parentheses. Runs of one operator are one list, so a first operand with the same one is.
    pub(super) fn in_parentheses(&self, d: DatumId, shape: Shape, strength: u8, head: DatumId, first: bool) -> bool {
        let own = self.strength(d, shape);
        let same = first
            && own == strength
            && (strength == COMPARE || self.data.children(d).first().and_then(|&h| self.text(h)) == self.text(head));
        if first { own < strength || same } else { own <= strength }
    }

    pub(super) fn is_definition(&self, d: DatumId) -> bool {
        self.data.list(d).and_then(|l| l.first()).is_some_and(|&h| self.is(h, "define"))
    }

    /// Whether a line of a program neither is its value nor says that it has none of its own: a definition or a declaration that infix
    /// writes as such, and not as the call of a function.
    pub(super) fn gives_no_value(&self, d: DatumId) -> bool {
        let Some(&[head, target, ref rest @ ..]) = self.data.list(d) else { return false };
        let named = self.data.symbol(target).is_some();
        match (self.text(head), rest) {
            (Some("define"), [_]) if named => true,
            (Some("define"), [_, ..]) => self.names(target).is_some_and(|l| !l.is_empty()),
            (Some("param" | "input" | "time"), _) => named && self.value_and_options(rest, false).is_some(),
            (Some("unit"), [unit]) => named && self.is_literal(*unit),
            (Some("net"), [inputs, widths @ ..]) => named && self.names(*inputs).is_some() && widths.iter().all(|&w| self.is_literal(w)),
            (Some("constants"), names) => named && names.iter().all(|&n| self.data.symbol(n).is_some()),
            _ => false,
        }
    }
}

/// Whether a unit is read back from its text alone.
fn is_bare_unit(text: &str) -> bool {
    let mut depth = 0i32;
    let closed = text.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0
    });
    let tokens = tokens(text, &mut Names::default());
    let several = tokens.list.len() > 2 && !matches!(tokens.list[0].kind, Kind::Quoted(_));
    let plain = !text.contains([',', ';', '#', '`', '[', ']', '{', '}', '\n', '=', ':']);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    closed && depth == 0 && plain && several && tokens.errors.is_empty() && words == text
}
