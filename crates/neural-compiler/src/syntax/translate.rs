//! From one syntax to another, and formatting. In: a text; out: the same program, comments included, in the syntax wanted; or what is wrong
//! with the text. Invariant: the translation is read into the same data, to the bit of every number.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limits::Limits;
use crate::syntax::comments::{Comment, blank_before, comments};
use crate::syntax::infix::printer;
use crate::syntax::latex;
use crate::syntax::reader::{Data, Datum, DatumId};
use crate::syntax::{Syntax, format, modules, printed_name, read};

/// A text in another syntax, or formatted in its own.
///
/// ```
/// use neural_compiler::{Limits, syntax::{Syntax, translate::translate}};
/// let infix = translate("(* A (exp (* (- k) t))) ; decay", Syntax::Scheme, Syntax::Infix, &Limits::default()).unwrap();
/// assert_eq!(infix, "A*exp(-k*t)  # decay\n");
/// ```
pub fn translate(source: &str, from: Syntax, to: Syntax, limits: &Limits) -> Result<String, Diagnostics> {
    if (from, to) == (Syntax::Scheme, Syntax::Scheme) {
        return format::format(source, limits);
    }
    if let (Syntax::Scheme, Some(span)) = (from, modules::first_use(source)) {
        let message = "what uses other texts is written in Scheme: neither infix nor LaTeX has a word for `use`";
        let help = "translate the text without the line, or put the definitions into it";
        return Err(Diagnostic::error("bad-form", span, message).help(help).into());
    }
    let (data, errors) = read(source, from, limits);
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let comments = comments(source, from);
    match to {
        Syntax::Infix => Ok(printer::print(&data, source, &comments)),
        Syntax::Latex => {
            let remarks: String = comments.iter().filter(|c| c.line).map(|c| format!("%{}\n", c.scheme.trim_start_matches(';'))).collect();
            Ok(format!("{remarks}{}\n", latex::printer::print(&data)))
        }
        Syntax::Scheme => {
            let text = scheme(&data, source, &comments);
            let most = Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..*limits };
            format::format(&text, &most)
        }
    }
}

/// Data as Scheme text, each line of a program on a line, comments where they stood.
fn scheme(data: &Data, source: &str, comments: &[Comment]) -> String {
    let mut writer = Scheme { data, source, comments, put: 0, out: String::with_capacity(source.len() * 2) };
    for &d in &data.top {
        let start = data.span(d).start;
        writer.comments_before(start);
        if !writer.out.is_empty() && !writer.out.ends_with('\n') {
            writer.out.push('\n');
        }
        if !writer.out.is_empty() && blank_before(source, start) {
            writer.out.push('\n');
        }
        writer.datum(d);
    }
    writer.comments_before(u32::MAX);
    writer.out
}

struct Scheme<'a> {
    data: &'a Data,
    source: &'a str,
    comments: &'a [Comment],
    put: usize,
    out: String,
}

impl<'a> Scheme<'a> {
    fn comments_before(&mut self, start: u32) {
        while let Some(c) = self.comments.get(self.put).filter(|c| c.start < start) {
            self.put += 1;
            let behind_comment = self.put > 1 && self.comments[self.put - 2].line && self.out.ends_with('\n');
            if c.trailing && !behind_comment {
                // Behind what stood before it, even where that closed a line.
                self.out.truncate(self.out.trim_end_matches('\n').len());
                self.out.push(' ');
            } else if !self.out.is_empty() {
                if !self.out.ends_with('\n') {
                    self.out.push('\n');
                }
                if c.blank_before {
                    self.out.push('\n');
                }
            }
            self.out.push_str(&c.scheme);
            self.out.push(if c.line { '\n' } else { ' ' });
        }
    }

    /// A unit that reads back as it stands, behind `:unit` or in `(unit name …)`.
    fn unit(&self, children: &[DatumId], i: usize) -> Option<&'a str> {
        let is = |d: DatumId, name: &str| self.data.symbol(d).is_some_and(|s| self.data.names.text(s) == name);
        let place = i > 0 && is(children[i - 1], ":unit") || i == 2 && is(children[0], "unit");
        let text = place.then(|| self.data.symbol(children[i]).map(|s| self.data.names.text(s)))??;
        let plain = text.chars().all(|c| c.is_alphanumeric() || "_*/^%+-.".contains(c));
        (plain && !matches!(crate::syntax::lexer::number(text), Some(Ok(_)))).then_some(text)
    }

    fn datum(&mut self, d: DatumId) {
        let children = self.data.children(d);
        match self.data.get(d) {
            Datum::Number(x) => {
                self.comments_before(self.data.span(d).start);
                let text = number(self.data.span(d).text(self.source), x);
                self.out.push_str(&text);
            }
            Datum::Symbol(s) => {
                self.comments_before(self.data.span(d).start);
                self.out.push_str(&printed_name(self.data.names.text(s)));
            }
            Datum::List(..) | Datum::Bracket(..) => {
                let (open, close) = if matches!(self.data.get(d), Datum::List(..)) { ('(', ')') } else { ('[', ']') };
                self.out.push(open);
                for (i, &c) in children.iter().enumerate() {
                    if i > 0 && !self.out.ends_with(['\n', ' ']) {
                        self.out.push(' ');
                    }
                    match self.unit(children, i) {
                        Some(unit) => {
                            self.comments_before(self.data.span(c).start);
                            self.out.push_str(unit);
                        }
                        None => crate::deep(|| self.datum(c)),
                    }
                }
                self.out.push(close);
            }
        }
    }
}

/// A number in Scheme: as it is written where that reads back, `ratio(1, 3)` as 1/3.
fn number(written: &str, value: f64) -> String {
    match written {
        "true" => return "#t".into(),
        "false" => return "#f".into(),
        _ => {}
    }
    let ratio = ratio(written);
    let text = ratio.as_deref().unwrap_or(written);
    match crate::syntax::lexer::number(text) {
        Some(Ok(x)) if x.to_bits() == value.to_bits() => text.to_string(),
        _ => crate::number_text(value),
    }
}

/// `ratio(1, 3)` as `1/3`.
pub(crate) fn ratio(written: &str) -> Option<String> {
    let parts = written.trim_start_matches(['-', ' ']).strip_prefix("ratio")?;
    let sign = if written.starts_with('-') { "-" } else { "" };
    let digits: String = parts.chars().filter(|c| c.is_ascii_digit() || *c == ',').collect();
    Some(format!("{sign}{}", digits.replace(',', "/")))
}
