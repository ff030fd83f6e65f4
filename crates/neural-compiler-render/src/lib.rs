//! Diagnostics for people and for programs. In: a source and a diagnostic about it; out: an annotated excerpt, or JSON.
//! Invariants: any span is acceptable (empty, at the end, inside a character, beyond the text); the cost depends on the excerpt,
//! not on the length of the lines; a diagnostic at 0..0 has no place and gets no excerpt; whatever sources, names and messages hold, a
//! terminal is told nothing but text and the renderer's own colours.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use neural_compiler::diagnostic::Severity;
use neural_compiler::source::{Span, position};
use neural_compiler::syntax::modules::Linked;
use neural_compiler::{Diagnostic, Diagnostics, Syntax};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// A text and what to call it.
#[derive(Clone, Debug)]
pub struct Source {
    /// What to call it.
    pub name: String,
    /// The text.
    pub text: String,
    /// What it is written in.
    pub syntax: Syntax,
    /// The texts it is made of, where it is made of several.
    pub linked: Option<Arc<Linked>>,
}

impl Source {
    /// A text with a name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into(), syntax: Syntax::Scheme, linked: None }
    }

    /// The text that mistakes are in, and these there.
    pub fn blame(&self, errors: Diagnostics) -> (Source, Diagnostics) {
        match &self.linked {
            None => (self.clone(), errors),
            Some(linked) => {
                let found = linked.blame(&errors);
                (Source::new(found.file.name, found.file.text).written_in(self.syntax), found.errors)
            }
        }
    }

    /// The same in another syntax than Scheme.
    pub fn written_in(self, syntax: Syntax) -> Source {
        Source { syntax, ..self }
    }
}

/// Lines up to this many bytes are shown whole.
const LONGEST_LINE: usize = 160;
/// Bytes of a line shown around a place; longer lines are cut.
const AROUND: usize = 60;
/// Lines of a place shown; of longer places only the first line is marked.
const MOST_LINES: usize = 12;

/// A few lines of source that show a place.
struct Excerpt {
    text: String,
    line: usize,
    mark: Range<usize>,
}

/// The last character boundary up to a byte.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Cuts the lines a span covers out of a text.
fn excerpt(text: &str, span: Span) -> Excerpt {
    let start = floor(text, span.start as usize);
    let mut end = floor(text, span.end as usize).max(start);
    let from = text[..start].rfind('\n').map_or(0, |n| n + 1);
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |n| at + n);
    let mut to = line_end(end);
    if text[start..end].bytes().filter(|&b| b == b'\n').count() >= MOST_LINES || end - start > 4 * AROUND {
        end = line_end(start).min(floor(text, start + 2 * AROUND));
        to = line_end(end);
    }
    // Long lines are cut on both sides of the place.
    let cut_from = if start - from > AROUND { floor(text, start - AROUND) } else { from };
    let cut_to = if to - end > AROUND { floor(text, end + AROUND) } else { to };
    let (left, right) = (if cut_from > from { "…" } else { "" }, if cut_to < to { "…" } else { "" });
    let shift = |at: usize| at - cut_from + left.len();
    Excerpt {
        text: format!("{left}{}{right}", &text[cut_from..cut_to]),
        line: text[..from].bytes().filter(|&b| b == b'\n').count() + 1,
        mark: shift(start)..shift(end),
    }
}

/// The lines that hold all these spans, when they are few and short enough to be shown as they are.
fn window(text: &str, spans: impl Iterator<Item = Span>) -> Option<Range<usize>> {
    let (mut start, mut end) = (text.len(), 0);
    for span in spans {
        start = start.min(span.start as usize);
        end = end.max(span.end as usize).max(span.start as usize);
    }
    if end > text.len() || end - start.min(end) > LONGEST_LINE * MOST_LINES {
        return None;
    }
    let (start, end) = (floor(text, start), floor(text, end));
    let from = text[..start].rfind('\n').map_or(0, |n| n + 1);
    let to = text[end..].find('\n').map_or(text.len(), |n| end + n);
    let lines = text[from..to].split('\n');
    (to - from <= LONGEST_LINE * MOST_LINES && lines.clone().count() <= MOST_LINES && lines.clone().all(|l| l.len() <= LONGEST_LINE))
        .then_some(from..to)
}

/// The diagnostic with an excerpt of the source.
pub fn to_text(source: &Source, d: &Diagnostic, colour: bool) -> String {
    let level = match d.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let text = source.text.as_str();
    let name = shown(&source.name);
    let mut group = Group::with_title(level.primary_title(shown(&d.message)).id(d.code));
    let marks = std::iter::once((d.span, AnnotationKind::Primary, None))
        .chain(d.labels.iter().map(|l| (l.span, AnnotationKind::Context, Some(shown(&l.text)))));
    if d.span == Span::default() {
        // It has no place.
    } else if let Some(lines) = window(text, marks.clone().map(|m| m.0)) {
        let first = text[..lines.start].bytes().filter(|&b| b == b'\n').count() + 1;
        let mut snippet = Snippet::source(&text[lines.clone()]).line_start(first).path(&*name);
        for (span, kind, label) in marks {
            let start = floor(text, span.start as usize);
            let end = floor(text, span.end as usize).max(start);
            snippet = snippet.annotation(kind.span(start - lines.start..end - lines.start).label(label));
        }
        group = group.element(snippet);
    } else {
        for (span, kind, label) in marks {
            let shown = excerpt(text, span);
            let at = position(text, span.start);
            group = group.element(Origin::path(&*name).line(at.line).char_column(at.column));
            group = group.element(Snippet::source(shown.text).line_start(shown.line).annotation(kind.span(shown.mark).label(label)));
        }
    }
    if let Some(help) = &d.help {
        group = group.element(Level::HELP.message(shown(help)));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let rendered = renderer.render(&[group]);
    // In excerpts the renderer replaces what it knows of; escapes that are left are its own colours.
    let rest = escaped(&rendered, |c| c != '\u{1b}' && acts(c), |c| shown(c.encode_utf8(&mut [0; 4])).into_owned());
    format!("{rest}\n")
}

/// Whether a terminal acts upon a character instead of showing it: control characters but line ends and tabs, and those that change the
/// direction of the text around them or end its line.
pub fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns
}

/// A text that came from somewhere else, for a terminal: what would act there is written as `\u{1b}`.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, acts, |c| format!("\\u{{{:x}}}", u32::from(c)))
}

/// JSON in one line that acts on no terminal either and means the same: such characters are only ever within its strings.
pub fn json_line(value: &Value) -> String {
    // All of them have four digits at most.
    escaped(&value.to_string(), acts, |c| format!("\\u{:04x}", u32::from(c))).into_owned()
}

fn escaped(text: &str, which: impl Fn(char) -> bool, how: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let _ = if which(c) { out.write_str(&how(c)) } else { out.write_char(c) };
    }
    Cow::Owned(out)
}

fn span_json(source: &Source, span: Span) -> Value {
    let at = position(&source.text, span.start);
    json!({"start": span.start, "end": span.end, "line": at.line, "column": at.column})
}

/// The diagnostic as data.
pub fn to_json(source: &Source, d: &Diagnostic) -> Value {
    let labels: Vec<Value> = d.labels.iter().map(|l| json!({"span": span_json(source, l.span), "text": l.text})).collect();
    json!({
        "code": d.code,
        "severity": d.severity.name(),
        "message": d.message,
        "span": span_json(source, d.span),
        "help": d.help,
        "labels": labels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, start: usize, end: usize) -> String {
        let d = Diagnostic::error("some-code", Span::new(start, end), "some message").label(Span::new(end, end), "here");
        to_json(&Source::new("file", text), &d);
        to_text(&Source::new("file", text), &d, false)
    }

    #[test]
    fn every_span_of_awkward_texts_renders() {
        for text in ["", "x", "\n", "a\n\nb\n", "\t(θ \t+ Δ)\r\n\u{200d}😀\u{7}\0", "(+ 1\n   2\n   3", "ends\n", "日本語 (sin x)"] {
            for start in 0..=text.len() + 2 {
                for end in start..=text.len() + 3 {
                    assert!(render(text, start, end).contains("some-code"));
                }
            }
        }
    }

    #[test]
    fn nothing_acts_on_a_terminal() {
        let acting = "\u{1b}[2J \u{9b}31m \u{7}\u{8}\u{7f}\r \u{202e}evil\u{2066} \u{200f}\u{61c}\u{2028}\0\u{85}";
        assert_eq!(shown("\u{1b}[2J\u{9b}\u{202e}é\t\n"), "\\u{1b}[2J\\u{9b}\\u{202e}é\t\n");
        assert!(matches!(shown("(sin θ)\n\t日本語"), Cow::Borrowed(_)));
        let long = format!("{}{acting}{}", "(+ 1 ".repeat(200), ")".repeat(200));
        for text in [acting.to_string(), format!("; {acting}\n(sinn x)\n; {acting}"), long] {
            for (start, end) in [(0, 1), (1, text.len()), (text.len() / 2, text.len() / 2 + 1), (0, 0)] {
                let d = Diagnostic::error("some-code", Span::new(start, end), acting).label(Span::new(0, 1), acting).help(acting);
                let source = Source::new(format!("file{acting}.scm"), text.as_str());
                assert_eq!(to_text(&source, &d, false).chars().find(|&c| acts(c)), None, "{start} {end}");
                // With colours the only escapes are those of colours.
                let styled = to_text(&source, &d, true);
                assert!(styled.chars().all(|c| c == '\u{1b}' || !acts(c)));
                let codes: Vec<&str> = styled.split("\u{1b}[").skip(1).collect();
                assert!(!codes.is_empty() && codes.iter().all(|c| c.split_once('m').is_some_and(|(n, _)| is_colour(n))), "{styled:?}");
                assert_eq!(styled.matches('\u{1b}').count(), codes.len());
                let line = json_line(&to_json(&source, &d));
                assert!(!line.chars().any(acts));
                assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON")["message"], acting);
            }
        }
    }

    fn is_colour(code: &str) -> bool {
        code.chars().all(|c| c.is_ascii_digit() || c == ';')
    }

    #[test]
    fn long_lines_are_cut() {
        let text = format!("(+ {})", "θθθ ".repeat(200_000));
        let begun = std::time::Instant::now();
        for (start, end) in
            [(0, text.len()), (700_001, 700_002), (700_001, 900_000), (text.len() - 1, text.len()), (text.len(), text.len())]
        {
            let out = render(&text, start, end);
            assert!(out.len() < 3000, "{}", out.len());
        }
        let many_lines = "(+ 1\n".repeat(100_000);
        assert!(render(&many_lines, 7, 400_000).len() < 3000);
        // Milliseconds; with the square of the length, hours.
        assert!(begun.elapsed().as_secs() < 600);
    }
}
