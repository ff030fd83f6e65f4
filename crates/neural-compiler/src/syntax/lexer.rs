//! Text to tokens. In: source text; out: tokens with spans, comments included (the formatter keeps them).
//! Invariant: token spans are in order, do not overlap, and every byte between them is white space.

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::infix;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TokenKind {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// A number, already rounded to f64 once.
    Number(f64),
    /// An identifier.
    Symbol,
    /// `#;`: the datum that follows is a comment.
    DatumComment,
    /// `; …` to the end of the line.
    LineComment,
    /// `#| … |#`, nested.
    BlockComment,
}

/// A token and where it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

/// Reads tokens one after another.
pub struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
}

fn is_delimiter(b: u8) -> bool {
    matches!(b, b'(' | b')' | b'[' | b']' | b';' | b'"' | b'\'' | b'`' | b',' | b'{' | b'}') || b.is_ascii_whitespace()
}

fn is_symbol_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!$%&*/:<=>?^_~+-.@".contains(&b)
}

/// Letters, digits and marks of any script may stand in names; white space, controls and look-alike punctuation may not.
fn is_symbol_char(c: char) -> bool {
    !(c.is_whitespace()
        || c.is_control()
        || lookalike(c).is_some()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'))
}

/// Characters that editors substitute for ASCII ones.
fn lookalike(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2212}' | '\u{2013}' | '\u{2014}' | '\u{2010}' | '\u{2011}' => "-",
        '\u{00d7}' | '\u{22c5}' | '\u{00b7}' => "*",
        '\u{00f7}' | '\u{2215}' | '\u{2044}' => "/",
        '\u{2264}' => "<=",
        '\u{2265}' => ">=",
        '\u{ff08}' => "(",
        '\u{ff09}' => ")",
        '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => "no quotation marks",
        _ => return None,
    })
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of the text.
    pub fn new(source: &'a str) -> Lexer<'a> {
        Lexer { source, bytes: source.as_bytes(), at: 0 }
    }

    fn error(&self, code: &'static str, start: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, Span::new(start, self.at), message)
    }

    /// The next token, `None` at the end. After an error the lexer stands behind the offending text and can go on.
    pub fn next_token(&mut self) -> Option<Result<Token, Diagnostic>> {
        loop {
            let b = *self.bytes.get(self.at)?;
            if b.is_ascii_whitespace() || b == 0x0b {
                self.at += 1;
            } else if b >= 0x80 {
                let c = self.source[self.at..].chars().next()?;
                if c.is_whitespace() || c == '\u{feff}' {
                    self.at += c.len_utf8();
                } else {
                    return Some(self.word());
                }
            } else {
                return Some(self.ascii_token(b));
            }
        }
    }

    fn ascii_token(&mut self, b: u8) -> Result<Token, Diagnostic> {
        let start = self.at;
        let kind = match b {
            b'(' => TokenKind::Open,
            b')' => TokenKind::Close,
            b'[' => TokenKind::OpenBracket,
            b']' => TokenKind::CloseBracket,
            b';' => {
                while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
                    self.at += 1;
                }
                return Ok(Token { kind: TokenKind::LineComment, span: Span::new(start, self.at) });
            }
            b'#' => return self.hash(),
            b'|' => return self.bar_symbol(),
            _ if is_symbol_byte(b) => return self.word(),
            _ => {
                self.at += 1;
                let help = match b {
                    b'{' | b'}' => "write ( ) or [ ]",
                    b'"' => "the language has no strings",
                    b'\'' | b'`' | b',' => "the language has no quotation; elements of a vector are separated by blanks: [1 2 3]",
                    _ => "names are made of letters, digits and ! $ % & * / : < = > ? ^ _ ~ + - . @",
                };
                return Err(self
                    .error("unexpected-character", start, format!("unexpected character `{}`", (b as char).escape_default()))
                    .help(help));
            }
        };
        self.at += 1;
        Ok(Token { kind, span: Span::new(start, self.at) })
    }

    fn hash(&mut self) -> Result<Token, Diagnostic> {
        let start = self.at;
        match self.bytes.get(start + 1) {
            Some(b';') => {
                self.at += 2;
                Ok(Token { kind: TokenKind::DatumComment, span: Span::new(start, self.at) })
            }
            Some(b'|') => {
                let mut depth = 1usize;
                self.at += 2;
                while depth > 0 {
                    match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                        (Some(b'|'), Some(b'#')) => {
                            depth -= 1;
                            self.at += 2;
                        }
                        (Some(b'#'), Some(b'|')) => {
                            depth += 1;
                            self.at += 2;
                        }
                        (Some(_), _) => self.at += 1,
                        (None, _) => {
                            return Err(Diagnostic::error(
                                "unclosed-comment",
                                Span::new(start, start + 2),
                                "this block comment is never closed",
                            )
                            .help("close it with |#"));
                        }
                    }
                }
                Ok(Token { kind: TokenKind::BlockComment, span: Span::new(start, self.at) })
            }
            _ => {
                self.at += 1;
                self.skip_word();
                let value = match &self.source[start..self.at] {
                    "#t" | "#true" => 1.0,
                    "#f" | "#false" => 0.0,
                    other => {
                        let message = format!("`{}` is not part of the language", excerpt(other));
                        return Err(self.error("unexpected-character", start, message).help("after # only #t, #f, #| |# and #; are known"));
                    }
                };
                Ok(Token { kind: TokenKind::Number(value), span: Span::new(start, self.at) })
            }
        }
    }

    /// `|any text|`: R7RS's way to write a name with unusual characters.
    fn bar_symbol(&mut self) -> Result<Token, Diagnostic> {
        let start = self.at;
        self.at += 1;
        while let Some(&b) = self.bytes.get(self.at) {
            self.at += 1;
            match b {
                b'|' => {
                    return Ok(Token { kind: TokenKind::Symbol, span: Span::new(start, self.at) });
                }
                b'\n' => break,
                b'\\' => return Err(self.error("unexpected-character", start, "a name in |bars| holds no backslash")),
                _ => {}
            }
        }
        Err(Diagnostic::error("unclosed-name", Span::new(start, start + 1), "this |name| is not closed on its line"))
    }

    fn skip_word(&mut self) {
        while let Some(&b) = self.bytes.get(self.at) {
            if b < 0x80 {
                if is_delimiter(b) || !is_symbol_byte(b) {
                    break;
                }
                self.at += 1;
            } else {
                let c = self.source[self.at..].chars().next().expect("inside the text");
                if !is_symbol_char(c) {
                    break;
                }
                self.at += c.len_utf8();
            }
        }
    }

    fn word(&mut self) -> Result<Token, Diagnostic> {
        let start = self.at;
        self.skip_word();
        if self.at == start {
            let c = self.source[start..].chars().next().expect("inside the text");
            self.at += c.len_utf8();
            let error =
                self.error("unexpected-character", start, format!("unexpected character `{}` (U+{:04X})", c.escape_debug(), c as u32));
            return Err(match lookalike(c) {
                Some(ascii) => error.help(format!("did you mean `{ascii}`?")),
                None => error,
            });
        }
        let text = &self.source[start..self.at];
        if text == "." {
            return Err(self
                .error("unexpected-character", start, "a lone `.` means nothing here")
                .help("functions have a fixed number of parameters; there are no pairs"));
        }
        let kind = match number(text) {
            Some(Ok(x)) => TokenKind::Number(x),
            // `:unit 1/h`: units may start with a number.
            Some(Err(_)) if self.is_unit(start) => TokenKind::Symbol,
            Some(Err((code, message))) => {
                let help = infix::translation(text).map(|t| format!("did you mean {t}?"));
                return Err(self.error(code, start, message).maybe_help(help));
            }
            None => TokenKind::Symbol,
        };
        Ok(Token { kind, span: Span::new(start, self.at) })
    }
}

impl Lexer<'_> {
    /// Whether a unit stands here: behind `:unit`, or behind `(unit` and a name.
    fn is_unit(&self, start: usize) -> bool {
        let word = |text: &str| text.trim_end().rsplit(|c: char| c.is_whitespace() || c == '(').next().map_or(0, str::len);
        let before = self.source[..start].trim_end();
        before.ends_with(":unit") || before[..before.len() - word(before)].trim_end().ends_with("(unit")
    }
}

/// At most 40 characters of a text that may be huge.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Reads a number. `None`: the word does not look like one (it is a name); `Some(Err)`: it does, and is malformed.
pub(crate) fn number(text: &str) -> Option<Result<f64, (&'static str, String)>> {
    let bytes = text.as_bytes();
    match text {
        "+inf.0" => return Some(Ok(f64::INFINITY)),
        "-inf.0" => return Some(Ok(f64::NEG_INFINITY)),
        "+nan.0" | "-nan.0" => return Some(Ok(f64::NAN)),
        _ => {}
    }
    let unsigned = match bytes.first()? {
        b'+' | b'-' => &bytes[1..],
        _ => bytes,
    };
    let starts_like_number = match unsigned {
        [d, ..] if d.is_ascii_digit() => true,
        [b'.', d, ..] => d.is_ascii_digit(),
        _ => false,
    };
    if !starts_like_number {
        return None;
    }
    let malformed = || Some(Err(("bad-number", format!("`{}` is not a number", excerpt(text)))));
    if let Some(slash) = text.find('/') {
        let (top, bottom) = (&text[..slash], &text[slash + 1..]);
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(top.trim_start_matches(['+', '-'])) || !digits(bottom) {
            return malformed();
        }
        if bottom.bytes().all(|b| b == b'0') {
            return Some(Err(("bad-number", format!("`{}` has a zero denominator", excerpt(text)))));
        }
        // Whole numbers up to 2^53 are exact in f64, so the quotient is rounded once.
        let exact = |digits: &str| digits.parse::<u128>().is_ok_and(|n| n <= 1 << 53);
        if !exact(top.trim_start_matches(['+', '-'])) || !exact(bottom) {
            return Some(Err((
                "bad-number",
                "numerator and denominator of a rational must not exceed 2^53, so that it is rounded only once".to_string(),
            )));
        }
        let (Ok(top), Ok(bottom)) = (top.parse::<f64>(), bottom.parse::<f64>()) else { return malformed() };
        return Some(Ok(top / bottom));
    }
    // Digits, at most one point, at most one exponent: exactly the decimal numbers of R7RS, so `inf`, `nan` and `1_0` stay out.
    let (mut i, mut digits) = (0, 0);
    while i < unsigned.len() && (unsigned[i].is_ascii_digit() || unsigned[i] == b'.') {
        digits += unsigned[i].is_ascii_digit() as usize;
        i += 1;
    }
    let points = unsigned[..i].iter().filter(|&&b| b == b'.').count();
    if digits == 0 || points > 1 {
        return malformed();
    }
    if i < unsigned.len() {
        let exponent = match &unsigned[i..] {
            [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => rest,
            _ => return malformed(),
        };
        if exponent.is_empty() || !exponent.iter().all(u8::is_ascii_digit) {
            return malformed();
        }
    }
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Some(Ok(x)),
        Ok(_) => Some(Err(("bad-number", format!("`{}` is too large for a 64-bit number; write +inf.0 for infinity", excerpt(text))))),
        Err(_) => malformed(),
    }
}
