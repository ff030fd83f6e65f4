//! Comments of a text, to be carried into another syntax. In: a text; out: its comments in order, with where they stand.
//! A comment keeps its words: only the sign it starts with changes.

use crate::source::Span;
use crate::syntax::Syntax;
use crate::syntax::lexer::{Lexer, TokenKind};
use crate::syntax::reader::Names;

/// One comment.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    /// First byte.
    pub(crate) start: u32,
    /// Ends with its line; others can stand within one.
    pub(crate) line: bool,
    /// Behind something on its line.
    pub(crate) trailing: bool,
    /// An empty line stands before it.
    pub(crate) blank_before: bool,
    /// How it is written in Scheme.
    pub(crate) scheme: String,
    /// How it is written in infix.
    pub(crate) infix: String,
}

/// Whether an empty line ends right before this byte, blanks aside.
pub(crate) fn blank_before(source: &str, start: u32) -> bool {
    let before = &source.as_bytes()[..(start as usize).min(source.len())];
    before.iter().rev().take_while(|b| b.is_ascii_whitespace()).filter(|&&b| b == b'\n').count() > 1
}

fn comment(source: &str, span: Span, line: bool, scheme: String, infix: String) -> Comment {
    let before = source[..span.start as usize].trim_end_matches([' ', '\t']);
    let trailing = !(before.is_empty() || before.ends_with(['\n', '\r']) || before == "\u{feff}");
    Comment { start: span.start, line, trailing, blank_before: blank_before(source, span.start), scheme, infix }
}

/// The comments of a text that can be read.
pub(crate) fn comments(source: &str, syntax: Syntax) -> Vec<Comment> {
    match syntax {
        Syntax::Scheme => of_scheme(source),
        Syntax::Infix => of_infix(source),
        Syntax::Latex => of_latex(source),
    }
}

fn of_scheme(source: &str) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut lexer = Lexer::new(source);
    // `#;` and the datum behind it: where it starts, how many data it takes, how many parentheses are open in it.
    let mut skipped: Option<(u32, usize, usize)> = None;
    while let Some(token) = lexer.next_token() {
        let Ok(token) = token else { break };
        let text = token.span.text(source);
        if let Some((start, data, open)) = &mut skipped {
            match token.kind {
                TokenKind::Open | TokenKind::OpenBracket => *open += 1,
                TokenKind::Close | TokenKind::CloseBracket => *open = open.saturating_sub(1),
                TokenKind::DatumComment if *open == 0 => *data += 1,
                TokenKind::Number(_) | TokenKind::Symbol | TokenKind::DatumComment => {}
                TokenKind::LineComment | TokenKind::BlockComment => continue,
            }
            if *open == 0 && token.kind != TokenKind::DatumComment {
                *data -= 1;
            }
            if *data == 0 {
                let span = Span { start: *start, end: token.span.end };
                let text = span.text(source);
                found.push(comment(source, span, false, text.to_string(), block(text)));
                skipped = None;
            }
            continue;
        }
        match token.kind {
            TokenKind::LineComment => {
                let text = text.trim_end();
                let words = text.trim_start_matches(';');
                let signs = "#".repeat(text.len() - words.len());
                // `#|` would open a comment of several lines.
                let gap = if words.starts_with('|') { " " } else { "" };
                found.push(comment(source, token.span, true, text.to_string(), format!("{signs}{gap}{words}")));
            }
            TokenKind::BlockComment => found.push(comment(source, token.span, false, text.to_string(), text.to_string())),
            TokenKind::DatumComment => skipped = Some((token.span.start, 1, 0)),
            _ => {}
        }
    }
    found
}

/// A text as a comment between `#|` and `|#`, where it has none of these signs itself.
fn block(text: &str) -> String {
    if text.contains("|#") || text.contains("#|") {
        format!("#| {} |#", text.replace("|#", "| #").replace("#|", "# |"))
    } else {
        format!("#| {text} |#")
    }
}

fn of_latex(source: &str) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let sign = line.match_indices('%').find(|(i, _)| !line[..*i].ends_with('\\'));
        if let Some((i, _)) = sign {
            let text = line[i..].trim_end();
            let words = text.trim_start_matches('%');
            let signs = text.len() - words.len();
            let span = Span::new(start + i, start + i + text.len());
            let gap = if words.starts_with('|') { " " } else { "" };
            found.push(comment(source, span, true, format!("{}{words}", ";".repeat(signs)), format!("{}{gap}{words}", "#".repeat(signs))));
        }
        start += line.len();
    }
    found
}

fn of_infix(source: &str) -> Vec<Comment> {
    let tokens = super::infix::lexer::tokens(source, &mut Names::default());
    let one = |span: &Span| {
        let text = span.text(source).trim_end();
        if text.starts_with("#|") {
            return comment(source, *span, false, text.to_string(), text.to_string());
        }
        let words = text.trim_start_matches('#');
        comment(source, *span, true, format!("{}{words}", ";".repeat(text.len() - words.len())), text.to_string())
    };
    tokens.comments.iter().map(one).collect()
}
