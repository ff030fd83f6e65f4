//! The formatter. In: source text; out: the same tokens, comments included, laid out anew; or the diagnostics of a text that
//! cannot be read. Invariants: only white space changes (and blanks at the end of a line comment), so the data read back are the
//! same; formatting twice gives what formatting once gives; time and output are linear in the text, whatever the nesting.
//!
//! A list goes on one line when it fits and nothing in it forces a break. Forms with a body (`let`, `define`, `if`, …) also stay
//! broken where the author broke them. At most one blank line is kept between neighbours.

use crate::diagnostic::Diagnostics;
use crate::limits::Limits;
use crate::source::Span;
use crate::syntax::forms::{self, Layout};
use crate::syntax::lexer::{Lexer, TokenKind};
use crate::syntax::modules::{with_paths, without_paths};
use crate::syntax::reader::read;

/// Columns a line should not exceed.
const WIDTH: usize = 88;
/// Deeper indentation than this helps nobody and would make the output quadratic in the nesting.
const DEEPEST: usize = 60;
/// Arguments stand right of a head up to this long, below a longer one.
const LONGEST_HEAD: usize = 12;
/// Comments after code are aligned with their neighbours by at most this many blanks.
const MOST_PADDING: usize = 40;

/// Formats a text.
///
/// ```
/// use neural_compiler::{Limits, syntax::format::format};
/// assert_eq!(format("( +  1\n 2 );three", &Limits::default()).unwrap(), "(+ 1 2) ;three\n");
/// ```
pub fn format(source: &str, limits: &Limits) -> Result<String, Diagnostics> {
    let (bare, paths) = without_paths(source)?;
    Ok(with_paths(&format_bare(&bare, limits)?, source, &paths))
}

/// Formats a text without strings.
fn format_bare(source: &str, limits: &Limits) -> Result<String, Diagnostics> {
    let (_, errors) = read(source, limits);
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let tree = Tree::new(source);
    let mut printer = Printer { tree: &tree, out: String::with_capacity(source.len() * 2), column: 0, remarks: Vec::new() };
    printer.top();
    Ok(align_remarks(&printer.out, &printer.remarks))
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Atom,
    /// `#;`, written right before what follows.
    Prefix,
    LineComment,
    /// A block comment; one of several lines forces a break.
    BlockComment,
    List,
}

/// A token, or a list with its elements.
#[derive(Debug)]
struct Item {
    kind: Kind,
    span: Span,
    children: Vec<u32>,
    /// Columns it takes on one line; `None` when it cannot stand on one line.
    flat: Option<usize>,
    /// Stands on the line where its predecessor ends.
    same_line: bool,
    /// An empty line stands before it.
    blank_before: bool,
}

/// The text as a tree in an arena; item 0 is the top level.
struct Tree<'a> {
    source: &'a str,
    items: Vec<Item>,
}

impl<'a> Tree<'a> {
    /// Builds the tree of a text that `read` accepts.
    fn new(source: &'a str) -> Tree<'a> {
        let top = Item { kind: Kind::List, span: Span::default(), children: vec![], flat: None, same_line: false, blank_before: false };
        let mut tree = Tree { source, items: vec![top] };
        let mut open = vec![0u32];
        let mut lexer = Lexer::new(source);
        let mut end = 0;
        while let Some(token) = lexer.next_token() {
            let Ok(token) = token else { break };
            let between = &source[end..token.span.start as usize];
            let lines = between.bytes().filter(|&b| b == b'\n').count();
            end = token.span.end as usize;
            let kind = match token.kind {
                TokenKind::Close | TokenKind::CloseBracket => {
                    let closed = open.pop().expect("read accepts the text");
                    tree.items[closed as usize].span.end = token.span.end;
                    tree.items[closed as usize].flat = tree.flat_width(closed);
                    continue;
                }
                TokenKind::Open | TokenKind::OpenBracket => Kind::List,
                TokenKind::Number(_) | TokenKind::Symbol => Kind::Atom,
                TokenKind::DatumComment => Kind::Prefix,
                TokenKind::LineComment => Kind::LineComment,
                TokenKind::BlockComment => Kind::BlockComment,
            };
            let text = token.span.text(source);
            let flat = match kind {
                Kind::LineComment => None,
                Kind::BlockComment if text.contains('\n') => None,
                _ => Some(text.chars().count()),
            };
            let id = tree.items.len() as u32;
            tree.items.push(Item {
                kind,
                span: token.span,
                children: vec![],
                flat,
                same_line: lines == 0 && id > 1,
                blank_before: lines > 1,
            });
            let parent = *open.last().expect("read accepts the text");
            tree.items[parent as usize].children.push(id);
            if kind == Kind::List {
                open.push(id);
            }
        }
        tree
    }

    fn item(&self, id: u32) -> &Item {
        &self.items[id as usize]
    }

    fn text(&self, id: u32) -> &'a str {
        self.item(id).span.text(self.source)
    }

    /// The columns a list takes on one line, its elements' being known.
    fn flat_width(&self, id: u32) -> Option<usize> {
        let children = &self.item(id).children;
        let style = self.style(id);
        let glued = |i: usize| self.item(children[i - 1]).kind == Kind::Prefix;
        if style.keeps_breaks() && (style.first_line()..children.len()).any(|i| !self.item(children[i]).same_line && !glued(i)) {
            return None;
        }
        let mut width = 2;
        for (i, &c) in children.iter().enumerate() {
            width += self.item(c).flat? + usize::from(i > 0 && !glued(i));
        }
        (width <= WIDTH).then_some(width)
    }

    fn is_comment(&self, id: u32) -> bool {
        matches!(self.item(id).kind, Kind::LineComment | Kind::BlockComment | Kind::Prefix)
    }

    /// How a list is laid out when it does not fit on a line.
    fn style(&self, id: u32) -> Style {
        let children = &self.item(id).children;
        let Some(&head) = children.first() else { return Style::Data };
        if self.source.as_bytes()[self.item(id).span.start as usize] == b'[' || self.item(head).kind != Kind::Atom {
            return Style::Data;
        }
        let atom = |i: usize| children.get(i).is_some_and(|&c| self.item(c).kind == Kind::Atom);
        match forms::form(self.text(head)).map(|f| f.layout) {
            Some(Layout::NamedBody) if atom(1) => Style::Body(2),
            Some(Layout::NamedBody | Layout::Body) => Style::Body(1),
            Some(Layout::Branches) => Style::Branches,
            Some(Layout::Call) | None => Style::Call,
        }
    }
}

/// Layout of a list that takes several lines.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Style {
    /// Elements under each other, right of the parenthesis.
    Data,
    /// The head and the first argument on a line, the others under the first argument.
    Call,
    /// As a call, kept broken where the author broke it.
    Branches,
    /// The head and so many arguments on a line, the others indented by two.
    Body(usize),
}

impl Style {
    fn keeps_breaks(self) -> bool {
        matches!(self, Style::Branches | Style::Body(_))
    }

    /// How many elements stand on the first line when there are several lines.
    fn first_line(self) -> usize {
        match self {
            Style::Data => 1,
            Style::Call | Style::Branches => 2,
            Style::Body(n) => n + 1,
        }
    }
}

/// A comment behind code, to be aligned with its neighbours.
struct Remark {
    /// Byte in the output before which blanks may be put.
    at: usize,
    /// Its line and column.
    line: usize,
    column: usize,
    /// Indentation of the list it stands in.
    indent: usize,
}

struct Printer<'a> {
    tree: &'a Tree<'a>,
    out: String,
    column: usize,
    remarks: Vec<Remark>,
}

impl Printer<'_> {
    fn top(&mut self) {
        self.lines(&self.tree.item(0).children, 0);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = last.chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn newline(&mut self, indent: usize) {
        let indent = indent.min(DEEPEST);
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    /// Elements under each other, the first right here; comments stay behind what they stood behind.
    fn lines(&mut self, children: &[u32], indent: usize) {
        for (i, &c) in children.iter().enumerate() {
            if i > 0 {
                self.separate(children[i - 1], c, indent, true);
            }
            self.item(c);
        }
    }

    /// What stands between two neighbours: a blank, or a new line when it is wanted or needed.
    fn separate(&mut self, before: u32, item: u32, indent: usize, wanted: bool) {
        let (before, next) = (self.tree.item(before), self.tree.item(item));
        if before.kind == Kind::Prefix && !matches!(next.kind, Kind::LineComment | Kind::BlockComment) {
            return;
        }
        let remark = next.kind == Kind::LineComment && next.same_line && before.kind != Kind::LineComment;
        if remark {
            let line = self.out.bytes().rev().take_while(|&b| b != b'\n').count();
            self.remarks.push(Remark { at: self.out.len(), line: self.out.len() - line, column: self.column, indent });
            self.put(" ");
        } else if wanted || before.flat.is_none() && before.kind != Kind::List || next.kind == Kind::LineComment {
            if next.blank_before {
                self.out.push('\n');
            }
            self.newline(indent);
        } else {
            self.put(" ");
        }
    }

    fn item(&mut self, id: u32) {
        let item = self.tree.item(id);
        let text = self.tree.text(id);
        match item.kind {
            Kind::Atom | Kind::Prefix | Kind::BlockComment => self.put(text),
            Kind::LineComment => self.put(text.trim_end()),
            Kind::List => match item.flat {
                Some(width) if self.column + width <= WIDTH || item.children.is_empty() => crate::deep(|| self.flat(id)),
                _ => crate::deep(|| self.broken(id)),
            },
        }
    }

    fn brackets(&self, id: u32) -> (&'static str, &'static str) {
        if self.tree.source.as_bytes()[self.tree.item(id).span.start as usize] == b'[' { ("[", "]") } else { ("(", ")") }
    }

    fn flat(&mut self, id: u32) {
        let (open, close) = self.brackets(id);
        self.put(open);
        let children = &self.tree.item(id).children;
        for (i, &c) in children.iter().enumerate() {
            if i > 0 && self.tree.item(children[i - 1]).kind != Kind::Prefix {
                self.put(" ");
            }
            if self.tree.item(c).kind == Kind::List { crate::deep(|| self.flat(c)) } else { self.item(c) }
        }
        self.put(close);
    }

    fn broken(&mut self, id: u32) {
        let (open, close) = self.brackets(id);
        let children = &self.tree.item(id).children;
        let start = self.column.min(DEEPEST);
        self.put(open);
        let style = self.tree.style(id);
        let (inner, first_line) = match style {
            Style::Data => (start + 1, 1),
            Style::Body(_) => (start + 2, style.first_line()),
            Style::Call | Style::Branches => match self.tree.item(children[0]).flat {
                Some(head) if head <= LONGEST_HEAD => (start + head + 2, style.first_line()),
                _ => (start + 2, 1),
            },
        };
        // Many small things, such as the elements of a long vector, are set like words in a paragraph.
        let fill = matches!(style, Style::Data | Style::Call) && children.iter().all(|&c| self.tree.item(c).kind == Kind::Atom);
        for (i, &c) in children.iter().enumerate() {
            if i > 0 {
                let full = fill && self.column + 1 + self.tree.item(c).flat.unwrap_or(0) >= WIDTH;
                let wanted = if fill { full } else { i >= first_line || self.tree.is_comment(children[i - 1]) };
                self.separate(children[i - 1], c, inner, wanted);
            }
            self.item(c);
        }
        if children.last().is_some_and(|&c| self.tree.item(c).kind == Kind::LineComment) {
            self.newline(inner);
        }
        self.put(close);
    }
}

/// Puts comments behind code on neighbouring lines under each other.
fn align_remarks(out: &str, remarks: &[Remark]) -> String {
    let mut aligned = String::with_capacity(out.len());
    let (mut copied, mut i) = (0, 0);
    while i < remarks.len() {
        let mut end = i + 1;
        while end < remarks.len()
            && remarks[end].indent == remarks[i].indent
            && next_line(out, remarks[end - 1].at) == Some(remarks[end].line)
        {
            end += 1;
        }
        let group = &remarks[i..end];
        let widest = group.iter().map(|r| r.column).max().unwrap_or(0);
        let narrowest = group.iter().map(|r| r.column).min().unwrap_or(0);
        for r in group {
            aligned.push_str(&out[copied..r.at]);
            copied = r.at;
            if widest - narrowest <= MOST_PADDING {
                aligned.extend(std::iter::repeat_n(' ', widest - r.column));
            }
        }
        i = end;
    }
    aligned.push_str(&out[copied..]);
    aligned
}

/// Where the line after the one of this byte begins.
fn next_line(out: &str, at: usize) -> Option<usize> {
    out[at..].find('\n').map(|n| at + n + 1)
}
