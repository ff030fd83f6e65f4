//! Infix text to tokens. In: source text; out: all its tokens, names interned, with what stands between them and the token before;
//! comments apart. Invariants: spans are in order and do not overlap; the last token is `End`; time is linear in the text.
//!
//! A plain name is a word of letters, digits, `_` and inner dots. Names of other characters stand in backquotes, a backquote in a name
//! being written twice. Operations whose names have hyphens are written with `_` instead: `normal_cdf`.

use crate::diagnostic::Diagnostic;
use crate::ops;
use crate::source::Span;
use crate::syntax::distributions;
use crate::syntax::lexer::{excerpt, number};
use crate::syntax::reader::{Names, Symbol};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    /// A number, rounded to f64 once.
    Number(f64),
    /// A plain name.
    Name(Symbol),
    /// A name in backquotes.
    Quoted(Symbol),
    /// A word with a meaning of its own.
    Word(Word),
    /// `+ - * / % ^ < <= > >= == !=`
    Operator(Operator),
    /// `=`
    Equals,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Semicolon,
    Colon,
    /// `'` behind a name.
    Prime,
    End,
}

/// Operators between operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
    Power,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
}

/// Words that cannot be plain names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    If,
    Then,
    Else,
    ElseIf,
    Where,
    Let,
    LetStar,
    Letrec,
    LetrecStar,
    In,
    Loop,
    Function,
    Cases,
    And,
    Or,
    Not,
}

/// The words, with their spelling.
pub(crate) const WORDS: &[(&str, Word)] = &[
    ("if", Word::If),
    ("then", Word::Then),
    ("else", Word::Else),
    ("elseif", Word::ElseIf),
    ("elif", Word::ElseIf),
    ("where", Word::Where),
    ("let", Word::Let),
    ("letrec", Word::Letrec),
    ("in", Word::In),
    ("loop", Word::Loop),
    ("function", Word::Function),
    ("cases", Word::Cases),
    ("and", Word::And),
    ("or", Word::Or),
    ("not", Word::Not),
];

/// Words that are numbers, as Scheme writes them.
const NUMBERS: &[(&str, &str)] = &[("true", "#t"), ("false", "#f"), ("inf", "+inf.0"), ("nan", "+nan.0")];

/// Names of functions that all of science has, and the operations they are.
const ALIASES: &[(&str, &str)] = &[("ln", "log"), ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"), ("ceil", "ceiling")];

/// The operation another name of it stands for, where it is called.
pub(super) fn aliased(name: &str) -> Option<&'static str> {
    ALIASES.iter().find(|a| a.0 == name).map(|a| a.1)
}

/// The name of a function as infix text writes it where it is called or defined.
pub(super) fn spelled_function(name: &str) -> String {
    if aliased(name).is_some() { format!("`{name}`") } else { spelled(name) }
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// A new line stands between the token before and this one.
    pub(crate) newline: bool,
    /// Anything stands between the token before and this one.
    pub(crate) space: bool,
}

/// A text as tokens.
pub(crate) struct Tokens {
    pub(crate) list: Vec<Token>,
    /// Comments, in order.
    pub(crate) comments: Vec<Span>,
    pub(crate) errors: Vec<Diagnostic>,
}

/// Operations and distributions whose names have hyphens, by their names with underscores.
fn hyphened() -> &'static FxHashMap<String, &'static str> {
    static TABLE: OnceLock<FxHashMap<String, &'static str>> = OnceLock::new();
    let names = || ops::surface_names().chain(distributions::NOISES.iter().chain(distributions::PRIORS).map(|d| d.name));
    TABLE.get_or_init(|| names().filter(|n| n.len() > 1 && n.contains('-')).map(|n| (n.replace('-', "_"), n)).collect())
}

/// Raised digits and fractions in one character are letters to Unicode; here they would be read as parts of names.
fn is_misleading(c: char) -> bool {
    matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{bc}'..='\u{be}' | '\u{2070}'..='\u{207f}' | '\u{2150}'..='\u{215f}' | '\u{2189}')
}

fn is_name_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn is_name_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric() && !is_misleading(c) || matches!(c, '\u{300}'..='\u{36f}')
}

/// The length in bytes of the plain word a text starts with; an inner dot belongs to it.
fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let b = bytes[at];
        if b.is_ascii_alphanumeric() || b == b'_' {
            at += 1;
        } else if b == b'.' {
            match text[at + 1..].chars().next() {
                Some(c) if is_name_part(c) => at += 1,
                _ => break,
            }
        } else if b < 0x80 {
            break;
        } else {
            match text[at..].chars().next() {
                Some(c) if is_name_part(c) => at += c.len_utf8(),
                _ => break,
            }
        }
    }
    at
}

/// Whether a brace is what a text begins with but for white space and comments to the end of a line.
fn brace_follows(text: &str) -> bool {
    let mut rest = text.trim_start();
    while rest.starts_with('#') && !rest.starts_with("#|") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
    }
    rest.starts_with('{')
}

/// A name as infix text writes it: in backquotes where it is no plain word.
pub(crate) fn spelled(name: &str) -> String {
    if name.contains('-') && hyphened().get(&name.replace('-', "_")) == Some(&name) {
        return name.replace('-', "_");
    }
    let plain = name.chars().next().is_some_and(is_name_start)
        && word_length(name) == name.len()
        && !WORDS.iter().any(|w| w.0 == name)
        && !NUMBERS.iter().any(|w| w.0 == name)
        && name != "π"
        && name != "ratio"
        && !hyphened().contains_key(name);
    if plain { name.to_string() } else { format!("`{}`", name.replace('`', "``")) }
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    names: &'a mut Names,
    tokens: Tokens,
    newline: bool,
    space: bool,
}

/// More errors than this help nobody.
pub(crate) const MOST_ERRORS: usize = 20;

/// Reads all tokens of a text; names go into `names`.
pub(crate) fn tokens(source: &str, names: &mut Names) -> Tokens {
    let tokens = Tokens { list: Vec::with_capacity(source.len() / 2 + 2), comments: Vec::new(), errors: Vec::new() };
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at: 0, names, tokens, newline: false, space: true };
    while lexer.at < lexer.bytes.len() && lexer.tokens.errors.len() < MOST_ERRORS {
        lexer.step();
    }
    let end = Span::new(source.len(), source.len());
    lexer.tokens.list.push(Token { kind: Kind::End, span: end, newline: true, space: true });
    lexer.tokens
}

impl Lexer<'_> {
    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.list.push(Token { kind, span: Span::new(start, self.at), newline: self.newline, space: self.space });
        (self.newline, self.space) = (false, false);
    }

    fn error(&mut self, code: &'static str, start: usize, message: impl Into<String>, help: Option<String>) {
        let error = Diagnostic::error(code, Span::new(start, self.at), message).maybe_help(help);
        self.tokens.errors.push(error);
    }

    fn step(&mut self) {
        let start = self.at;
        let b = self.bytes[start];
        let next = self.bytes.get(start + 1).copied().unwrap_or(0);
        let (kind, length) = match b {
            b'\n' => {
                (self.newline, self.space) = (true, true);
                self.at += 1;
                return;
            }
            _ if b.is_ascii_whitespace() || b == 0x0b => {
                self.space = true;
                self.at += 1;
                return;
            }
            b'#' => return self.comment(),
            b'0'..=b'9' => return self.number(),
            b'.' if next.is_ascii_digit() => return self.number(),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => return self.word(),
            b'`' => return self.quoted(),
            b'+' => (Kind::Operator(Operator::Plus), 1),
            b'-' => (Kind::Operator(Operator::Minus), 1),
            b'*' if next == b'*' => (Kind::Operator(Operator::Power), 2),
            b'*' => (Kind::Operator(Operator::Times), 1),
            b'/' if next == b'/' => return self.refused(2, "`//` is not part of the language", "write floor(x/y)"),
            b'/' => (Kind::Operator(Operator::Over), 1),
            b'%' => (Kind::Operator(Operator::Modulo), 1),
            b'^' => (Kind::Operator(Operator::Power), 1),
            b'<' if next == b'=' => (Kind::Operator(Operator::AtMost), 2),
            b'<' if next == b'-' => {
                self.at += 2;
                let help = Some("write a = b to define, a < -b to compare".into());
                return self.error("ambiguous-reading", self.at - 2, "`<-` could define, as in R, or compare", help);
            }
            b'<' => (Kind::Operator(Operator::Less), 1),
            b'>' if next == b'=' => (Kind::Operator(Operator::AtLeast), 2),
            b'>' => (Kind::Operator(Operator::More), 1),
            b'=' if next == b'=' => (Kind::Operator(Operator::Equal), 2),
            b'=' => (Kind::Equals, 1),
            b'!' if next == b'=' => (Kind::Operator(Operator::Unequal), 2),
            b'(' => (Kind::Open, 1),
            b')' => (Kind::Close, 1),
            b'[' => (Kind::OpenBracket, 1),
            b']' => (Kind::CloseBracket, 1),
            b'{' => (Kind::OpenBrace, 1),
            b'}' => (Kind::CloseBrace, 1),
            b',' => (Kind::Comma, 1),
            b';' => (Kind::Semicolon, 1),
            b':' => (Kind::Colon, 1),
            b'\'' => (Kind::Prime, 1),
            b'!' => {
                return self.refused(1, "`!` has no meaning here", "the factorial of n is gamma(n + 1); unequal is `!=`, negation `not`");
            }
            b'|' => {
                return self.refused(
                    1,
                    "`|` has no meaning here",
                    "the absolute value is abs(x), the length of a vector norm(v); `or` joins conditions",
                );
            }
            b'&' => return self.refused(1, "`&` has no meaning here", "conditions are joined with `and`"),
            b'@' => return self.refused(1, "`@` has no meaning here", "write matmul(a, b), matvec(a, v) or dot(u, v)"),
            b'"' => return self.refused(1, "unexpected character `\"`", "the language has no strings"),
            _ if b < 0x80 => {
                return self.refused(
                    1,
                    &format!("unexpected character `{}`", (b as char).escape_default()),
                    "a name of odd characters stands in backquotes: `a$b`",
                );
            }
            _ => return self.beyond_ascii(),
        };
        self.at += length;
        self.push(kind, start);
    }

    fn refused(&mut self, length: usize, message: &str, help: &str) {
        let start = self.at;
        self.at += length;
        self.error("unexpected-character", start, message, Some(help.into()));
    }

    fn beyond_ascii(&mut self) {
        let start = self.at;
        let Some(c) = self.source[start..].chars().next() else { return };
        if c.is_whitespace() || c == '\u{feff}' {
            self.space = true;
            self.at += c.len_utf8();
            return;
        }
        if is_name_start(c) && !is_misleading(c) {
            return self.word();
        }
        self.at += c.len_utf8();
        // Signs that papers and spreadsheets have for operators, and that mean nothing else.
        let operator = match c {
            '\u{2212}' => Operator::Minus,
            '\u{d7}' | '\u{b7}' | '\u{22c5}' => Operator::Times,
            '\u{f7}' => Operator::Over,
            '\u{2264}' => Operator::AtMost,
            '\u{2265}' => Operator::AtLeast,
            '\u{2260}' => Operator::Unequal,
            _ => {
                let help = match c {
                    '\u{2010}'..='\u{2015}' => Some("did you mean `-`?".into()),
                    '\u{221a}' => Some("write sqrt(x)".into()),
                    '\u{221e}' => Some("write inf".into()),
                    '\u{2211}' => Some("write a loop, or vsum of a vector".into()),
                    _ if is_misleading(c) => Some("write powers with `^`: x^2".into()),
                    _ => None,
                };
                return self.error(
                    "unexpected-character",
                    start,
                    format!("unexpected character `{}` (U+{:04X})", c.escape_debug(), c as u32),
                    help,
                );
            }
        };
        self.push(Kind::Operator(operator), start);
    }

    fn comment(&mut self) {
        let start = self.at;
        if self.bytes.get(start + 1) == Some(&b'|') {
            let mut depth = 1usize;
            self.at += 2;
            while depth > 0 {
                match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                    (Some(b'|'), Some(b'#')) => (depth, self.at) = (depth - 1, self.at + 2),
                    (Some(b'#'), Some(b'|')) => (depth, self.at) = (depth + 1, self.at + 2),
                    (Some(_), _) => self.at += 1,
                    (None, _) => {
                        let error =
                            Diagnostic::error("unclosed-comment", Span::new(start, start + 2), "this block comment is never closed")
                                .help("close it with |#");
                        return self.tokens.errors.push(error);
                    }
                }
            }
        } else {
            self.at += self.bytes[start..].iter().position(|&b| b == b'\n').unwrap_or(self.bytes.len() - start);
        }
        self.space = true;
        self.tokens.comments.push(Span::new(start, self.at));
    }

    fn number(&mut self) {
        let start = self.at;
        let digits = |from: usize, bytes: &[u8]| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = start + digits(start, self.bytes);
        if self.bytes.get(end) == Some(&b'.') {
            end += 1 + digits(end + 1, self.bytes);
        }
        if matches!(self.bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.bytes.get(end + 1), Some(b'+' | b'-')));
            let power = digits(end + 1 + sign, self.bytes);
            if power > 0 {
                end += 1 + sign + power;
            }
        }
        self.at = end;
        let text = &self.source[start..end];
        let behind = &self.source[end..];
        let mut letters = behind.bytes();
        let doubt = match letters.next() {
            Some(b'.') => Some(("is not a number", None)),
            Some(b'e' | b'E') if behind.len() == 1 || !behind.as_bytes()[1].is_ascii_alphanumeric() => {
                Some(("could be an unfinished number or a product", Some(format!("write {text}*{} for the product", &behind[..1]))))
            }
            Some(b'd' | b'D') if matches!(letters.next(), Some(b'0'..=b'9' | b'+' | b'-')) => Some((
                "could be a number of another language or a product",
                Some(format!("write {text}e… for a power of ten, {text}*… for a product")),
            )),
            Some(b'x' | b'X' | b'b' | b'B' | b'o' | b'O') if text == "0" => {
                Some(("starts like a number in another base", Some("numbers are decimal".into())))
            }
            Some(b'_') => Some(("is not a number", Some("write numbers without `_`".into()))),
            _ => None,
        };
        if let Some((what, help)) = doubt {
            self.at += word_length(behind).max(1);
            let word = excerpt(&self.source[start..self.at]);
            return self.error("bad-number", start, format!("`{word}` {what}"), help);
        }
        match number(text) {
            Some(Ok(x)) => self.push(Kind::Number(x), start),
            Some(Err((_, message))) => self.error("bad-number", start, message.replace("+inf.0", "inf"), None),
            None => self.error("bad-number", start, format!("`{}` is not a number", excerpt(text)), None),
        }
    }

    fn word(&mut self) {
        let start = self.at;
        self.at += word_length(&self.source[start..]);
        let text = &self.source[start..self.at];
        if let Some(c) = self.source[self.at..].chars().next().filter(|&c| is_misleading(c)) {
            self.at += c.len_utf8();
            return self.error(
                "unexpected-character",
                start,
                format!("`{c}` is not part of a name"),
                Some("write powers with `^`: x^2".into()),
            );
        }
        // No word of the language is longer.
        if text.len() <= 8 {
            // Cases of a disease are a name, cases in braces are none.
            let is_word = |w: &&(&str, Word)| w.0 == text && (w.1 != Word::Cases || brace_follows(&self.source[self.at..]));
            if let Some(&(_, word)) = WORDS.iter().find(is_word) {
                let starred = match word {
                    Word::Let => Word::LetStar,
                    Word::Letrec => Word::LetrecStar,
                    other => other,
                };
                let star = starred != word && self.bytes.get(self.at) == Some(&b'*');
                self.at += usize::from(star);
                return self.push(Kind::Word(if star { starred } else { word }), start);
            }
            if let Some((_, scheme)) = NUMBERS.iter().find(|w| w.0 == text) {
                let value = match *scheme {
                    "#t" => 1.0,
                    "#f" => 0.0,
                    "+inf.0" => f64::INFINITY,
                    _ => f64::NAN,
                };
                return self.push(Kind::Number(value), start);
            }
        }
        let name = match text {
            "π" => "pi",
            _ if text.contains('_') => hyphened().get(text).copied().unwrap_or(text),
            _ => text,
        };
        let symbol = self.names.intern(name);
        self.push(Kind::Name(symbol), start);
    }

    fn quoted(&mut self) {
        let start = self.at;
        let mut name = String::new();
        let mut rest = self.source[start + 1..].chars().peekable();
        self.at += 1;
        while let Some(c) = rest.next() {
            self.at += c.len_utf8();
            match c {
                '`' if rest.peek() == Some(&'`') => {
                    rest.next();
                    self.at += 1;
                    name.push('`');
                }
                '`' => {
                    let symbol = self.names.intern(&name);
                    return self.push(Kind::Quoted(symbol), start);
                }
                '\n' => break,
                '|' | '\\' => return self.error("unexpected-character", start, format!("a name holds no `{c}`"), None),
                _ => name.push(c),
            }
        }
        self.tokens.errors.push(Diagnostic::error("unclosed-name", Span::new(start, start + 1), "this `name` is not closed on its line"));
    }
}

/// How a number of a text is written in infix: `written` is its source, whatever the syntax.
pub(crate) fn number_spelled(written: &str, value: f64) -> String {
    if let Some((infix, _)) = NUMBERS.iter().find(|n| n.1 == written || n.0 == written) {
        return infix.to_string();
    }
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    match written {
        "#true" => return "true".into(),
        "#false" => return "false".into(),
        _ => {}
    }
    let unsigned = written.strip_prefix('+').unwrap_or(written);
    if let Some(ratio) = crate::syntax::translate::ratio(written) {
        return number_spelled(&ratio, value);
    }
    if let Some((top, bottom)) = unsigned.split_once('/') {
        return match top.strip_prefix('-') {
            Some(top) => format!("-ratio({top}, {bottom})"),
            None => format!("ratio({top}, {bottom})"),
        };
    }
    // Only what reads back to the same bits: a number that was put together has no text of its own.
    let same = |x: Option<Result<f64, _>>| matches!(x, Some(Ok(x)) if x.to_bits() == value.to_bits());
    if !unsigned.is_empty() && same(number(unsigned)) { unsigned.to_string() } else { crate::number_text(value) }
}
