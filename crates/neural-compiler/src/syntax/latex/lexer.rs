//! LaTeX text to tokens. In: source text; out: all its tokens with spans, white space, comments and what only sets type left out.
//! Invariants: spans are in order; the last token is `End`; time is linear in the text.

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::lexer::number;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// `\frac`: the name is the span without the backslash.
    Command,
    /// A letter, one at a time, as TeX reads them.
    Letter(char),
    Number(f64),
    /// `+ - * / = < > ( ) [ ] | , ; : ! '` and the like.
    Sign(char),
    /// `{`
    Open,
    /// `}`
    Close,
    /// `^`
    Raise,
    /// `_`
    Lower,
    /// `&`
    Tab,
    /// `\\`
    Row,
    /// An empty line, or the end of a formula.
    Break,
    /// `\text{(…)}`: what a line is, in words.
    Note,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// Nothing stands between the token before and this one.
    pub(super) glued: bool,
}

/// Commands that only set type, and take nothing.
const IGNORED: &[&str] = &[
    "left",
    "right",
    "big",
    "Big",
    "bigg",
    "Bigg",
    "bigl",
    "bigr",
    "Bigl",
    "Bigr",
    "biggl",
    "biggr",
    "Biggl",
    "Biggr",
    "quad",
    "qquad",
    "displaystyle",
    "textstyle",
    "scriptstyle",
    "limits",
    "nolimits",
    "nonumber",
    "notag",
    "thinspace",
    "medspace",
    "thickspace",
    "negthinspace",
    "middle",
    "strut",
    "mathstrut",
    "null",
    "allowbreak",
];

/// Environments that only set several formulas below each other.
const FRAMES: &[&str] =
    &["equation", "align", "aligned", "gather", "gathered", "split", "multline", "eqnarray", "math", "displaymath", "flalign", "alignat"];

/// All tokens of a text, and what is wrong with them.
pub(super) fn tokens(source: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let bytes = source.as_bytes();
    let mut tokens: Vec<Token> = Vec::with_capacity(source.len() / 2 + 2);
    let mut errors = Vec::new();
    let mut at = 0;
    let mut glued = false;
    while at < bytes.len() && errors.len() < 20 {
        let start = at;
        let b = bytes[at];
        at += 1;
        let kind = match b {
            b'\n' if source[at..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') => Kind::Break,
            _ if b.is_ascii_whitespace() => {
                glued = false;
                continue;
            }
            b'%' => {
                at = source[at..].find('\n').map_or(bytes.len(), |n| at + n);
                glued = false;
                continue;
            }
            b'~' => {
                glued = false;
                continue;
            }
            b'$' => {
                at += usize::from(bytes.get(at) == Some(&b'$'));
                Kind::Break
            }
            b'{' => Kind::Open,
            b'}' => Kind::Close,
            b'^' => Kind::Raise,
            b'_' => Kind::Lower,
            b'&' => Kind::Tab,
            b'\\' => {
                let letters = bytes[at..].iter().take_while(|b| b.is_ascii_alphabetic()).count();
                if letters == 0 {
                    let Some(c) = source[at..].chars().next() else {
                        errors.push(Diagnostic::error("unexpected-character", Span::new(start, at), "a backslash ends the text"));
                        break;
                    };
                    at += c.len_utf8();
                    match c {
                        ',' | ';' | ':' | '!' | ' ' | '>' | '/' | '\n' => {
                            glued = false;
                            continue;
                        }
                        '\\' => {
                            // `\\[2pt]` moves the next line down.
                            if let Some(end) = source[at..].strip_prefix('[').and_then(|r| r.find(']')) {
                                at += end + 2;
                            }
                            Kind::Row
                        }
                        '[' | ']' | '(' | ')' => Kind::Break,
                        '{' => Kind::Sign('{'),
                        '}' => Kind::Sign('}'),
                        '|' => Kind::Sign('\u{2016}'),
                        '_' => Kind::Sign('_'),
                        _ => {
                            let error = Diagnostic::error(
                                "unexpected-character",
                                Span::new(start, at),
                                format!("`\\{}` has no meaning here", c.escape_debug()),
                            );
                            errors.push(error);
                            continue;
                        }
                    }
                } else {
                    at += letters;
                    let name = &source[start + 1..at];
                    if IGNORED.contains(&name) {
                        // `\left.` and `\right.` set nothing at all.
                        if matches!(name, "left" | "right") && source[at..].trim_start().starts_with('.') {
                            at += source[at..].len() - source[at..].trim_start().len() + 1;
                        }
                        glued = false;
                        continue;
                    }
                    // `\text{(parameter, min $0$)}`: what a line is, in words.
                    if name == "text" && source[at..].starts_with("{(") {
                        let mut depth = 0usize;
                        let inner = source[at..].find(|c: char| {
                            depth = if c == '{' { depth + 1 } else { depth - usize::from(c == '}') };
                            depth == 0
                        });
                        at = inner.map_or(source.len(), |n| at + n + 1);
                        tokens.push(Token { kind: Kind::Note, span: Span::new(start, at), glued: false });
                        continue;
                    }
                    if matches!(name, "label" | "tag") && source[at..].starts_with('{') {
                        at += source[at..].find('}').map_or(source.len() - at, |n| n + 1);
                        continue;
                    }
                    if matches!(name, "begin" | "end") {
                        let inner = source[at..].strip_prefix('{').and_then(|r| r.split_once('}')).map(|r| r.0);
                        if let Some(inner) = inner
                            && FRAMES.contains(&inner.trim_end_matches('*'))
                        {
                            at += inner.len() + 2;
                            tokens.push(Token { kind: Kind::Break, span: Span::new(start, at), glued: false });
                            continue;
                        }
                    }
                    Kind::Command
                }
            }
            b'0'..=b'9' | b'.' => {
                let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
                if b == b'.' && digits(at) == 0 {
                    // A full stop behind a formula.
                    if source[at..].trim_start_matches(['$', ' ', '\n', '}']).is_empty() || source[at..].trim_start().starts_with('\\') {
                        continue;
                    }
                    errors.push(Diagnostic::error("unexpected-character", Span::new(start, at), "a full stop in a formula"));
                    continue;
                }
                at = start + digits(start);
                if bytes.get(at) == Some(&b'.') && digits(at + 1) > 0 {
                    at += 1 + digits(at + 1);
                }
                match number(&source[start..at]) {
                    Some(Ok(x)) => Kind::Number(x),
                    _ => {
                        errors.push(Diagnostic::error("bad-number", Span::new(start, at), "this is not a number"));
                        continue;
                    }
                }
            }
            b'+' | b'-' | b'*' | b'/' | b'=' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'|' | b',' | b';' | b':' | b'!' | b'\'' => {
                Kind::Sign(b as char)
            }
            _ if b.is_ascii_alphabetic() => Kind::Letter(b as char),
            _ => {
                let Some(c) = source[start..].chars().next() else { break };
                at = start + c.len_utf8();
                match c {
                    '\u{2212}' => Kind::Sign('-'),
                    '\u{b7}' | '\u{22c5}' => Kind::Sign('*'),
                    _ if c.is_alphabetic() => Kind::Letter(c),
                    _ if c.is_whitespace() || c == '\u{feff}' => {
                        glued = false;
                        continue;
                    }
                    _ => {
                        let message = format!("unexpected character `{}` (U+{:04X})", c.escape_debug(), c as u32);
                        errors.push(Diagnostic::error("unexpected-character", Span::new(start, at), message));
                        continue;
                    }
                }
            }
        };
        tokens.push(Token { kind, span: Span::new(start, at), glued });
        glued = true;
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(source.len(), source.len()), glued: false });
    (tokens, errors)
}
