//! Tokens to data: the tree of parentheses. In: source text; out: an arena of data with spans.
//! Invariants: children of a list stand next to each other in `children`; nesting is at most `Limits::nesting`; no recursion,
//! so no text can exhaust the stack.

use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::source::Span;
use crate::syntax::Syntax;
use crate::syntax::lexer::{Lexer, TokenKind};
use rustc_hash::FxHashMap;

/// An interned name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// Names, each stored once.
#[derive(Clone, Default, Debug)]
pub struct Names {
    ids: FxHashMap<Box<str>, Symbol>,
    texts: Vec<Box<str>>,
}

impl Names {
    /// The symbol of a name, made when it is new.
    pub fn intern(&mut self, name: &str) -> Symbol {
        if let Some(&s) = self.ids.get(name) {
            return s;
        }
        let symbol = Symbol(self.texts.len() as u32);
        self.texts.push(name.into());
        self.ids.insert(name.into(), symbol);
        symbol
    }

    /// The symbol of a name that occurs.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.ids.get(name).copied()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
}

/// Index of a datum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatumId(pub u32);

/// What a datum is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Datum {
    /// A number.
    Number(f64),
    /// A name.
    Symbol(Symbol),
    /// `( … )`: a range of `Data::children`.
    List(u32, u32),
    /// `[ … ]`: a range of `Data::children`.
    Bracket(u32, u32),
}

/// A whole text as data.
#[derive(Default, Debug)]
pub struct Data {
    data: Vec<(Datum, Span)>,
    children: Vec<DatumId>,
    /// The data at top level.
    pub top: Vec<DatumId>,
    /// The names that occur.
    pub names: Names,
    /// What the text is written in.
    pub syntax: Syntax,
}

impl Data {
    /// The datum itself.
    pub fn get(&self, id: DatumId) -> Datum {
        self.data[id.0 as usize].0
    }

    /// Where it stands.
    pub fn span(&self, id: DatumId) -> Span {
        self.data[id.0 as usize].1
    }

    /// Elements of a list or bracket; nothing for the rest.
    pub fn children(&self, id: DatumId) -> &[DatumId] {
        match self.get(id) {
            Datum::List(a, b) | Datum::Bracket(a, b) => &self.children[a as usize..b as usize],
            Datum::Number(_) | Datum::Symbol(_) => &[],
        }
    }

    /// The elements when it is a `( … )` list.
    pub fn list(&self, id: DatumId) -> Option<&[DatumId]> {
        matches!(self.get(id), Datum::List(..)).then(|| self.children(id))
    }

    /// The symbol when it is one.
    pub fn symbol(&self, id: DatumId) -> Option<Symbol> {
        match self.get(id) {
            Datum::Symbol(s) => Some(s),
            _ => None,
        }
    }

    /// How many data are elements of lists: about the size of the AST to come.
    pub(crate) fn children_len(&self) -> usize {
        self.children.len()
    }

    pub(crate) fn reserve(&mut self, data: usize) {
        self.data.reserve(data);
        self.children.reserve(data);
    }

    pub(crate) fn push(&mut self, datum: Datum, span: Span) -> DatumId {
        self.data.push((datum, span));
        DatumId(self.data.len() as u32 - 1)
    }

    /// A list or a bracket of these elements.
    pub(crate) fn push_list(&mut self, bracket: bool, elements: impl IntoIterator<Item = DatumId>, span: Span) -> DatumId {
        let from = self.children.len() as u32;
        self.children.extend(elements);
        let to = self.children.len() as u32;
        self.push(if bracket { Datum::Bracket(from, to) } else { Datum::List(from, to) }, span)
    }
}

/// A list that is still open while reading.
struct OpenList {
    start: Span,
    bracket: bool,
    /// Where its elements begin on the stack of pending data.
    base: usize,
    /// `#;` seen and not yet used up.
    skip: u32,
}

/// More errors than this help nobody.
const MOST_ERRORS: usize = 20;

/// An error where a text is longer than the limit allows.
pub(crate) fn too_long(source: &str, limits: &Limits) -> Option<Diagnostic> {
    if source.len() <= limits.source_bytes.min(u32::MAX as usize - 1) {
        return None;
    }
    let message = format!("the source has {} bytes, the limit is {}", source.len(), limits.source_bytes);
    let error = Diagnostic::error("limit-source-size", Span::new(0, 0), message);
    Some(error.help("raise the limit `source_bytes` if the program is meant to be that large"))
}

/// Reads a text. Errors are collected; the data are only meant for use when there are none.
pub fn read(source: &str, limits: &Limits) -> (Data, Vec<Diagnostic>) {
    let mut data = Data::default();
    let mut errors = Vec::new();
    if let Some(error) = too_long(source, limits) {
        errors.push(error);
        return (data, errors);
    }
    data.reserve(source.len() / 4);
    let mut lexer = Lexer::new(source);
    let mut pending: Vec<DatumId> = Vec::new();
    let mut open: Vec<OpenList> = vec![OpenList { start: Span::default(), bracket: false, base: 0, skip: 0 }];
    while let Some(token) = lexer.next_token() {
        let token = match token {
            Ok(token) => token,
            Err(e) => {
                errors.push(e);
                if errors.len() >= MOST_ERRORS {
                    return (data, errors);
                }
                continue;
            }
        };
        let done = match token.kind {
            TokenKind::LineComment | TokenKind::BlockComment => continue,
            TokenKind::DatumComment => {
                open.last_mut().expect("the top level").skip += 1;
                continue;
            }
            TokenKind::Number(x) => data.push(Datum::Number(x), token.span),
            TokenKind::Symbol => {
                let text = token.span.text(source);
                let text = text.strip_prefix('|').and_then(|t| t.strip_suffix('|')).unwrap_or(text);
                let symbol = data.names.intern(text);
                data.push(Datum::Symbol(symbol), token.span)
            }
            TokenKind::Open | TokenKind::OpenBracket => {
                if open.len() > limits.nesting {
                    errors.push(
                        Diagnostic::error("limit-nesting", token.span, format!("parentheses are nested more than {} deep", limits.nesting))
                            .help("name parts of the expression with let*, or raise the limit `nesting`"),
                    );
                    return (data, errors);
                }
                open.push(OpenList { start: token.span, bracket: token.kind == TokenKind::OpenBracket, base: pending.len(), skip: 0 });
                continue;
            }
            TokenKind::Close | TokenKind::CloseBracket => {
                let bracket = token.kind == TokenKind::CloseBracket;
                let matches = open.len() > 1 && open.last().is_some_and(|o| o.bracket == bracket);
                if !matches {
                    let (wrong, right) = if bracket { ("]", ")") } else { (")", "]") };
                    let mut error = Diagnostic::error("unbalanced-parenthesis", token.span, format!("`{wrong}` closes nothing"));
                    if open.len() > 1 {
                        error = error.label(open.last().expect("open").start, format!("opened here, expects `{right}`"));
                    }
                    errors.push(error);
                    return (data, errors);
                }
                let list = open.pop().expect("open");
                if list.skip > 0 {
                    errors.push(Diagnostic::error("unbalanced-parenthesis", token.span, "`#;` has nothing to comment out before this"));
                }
                data.push_list(bracket, pending.drain(list.base..), list.start.join(token.span))
            }
        };
        let enclosing = open.last_mut().expect("the top level");
        if enclosing.skip > 0 {
            enclosing.skip -= 1;
        } else {
            pending.push(done);
        }
    }
    if open.len() > 1 && errors.is_empty() {
        let innermost = open.last().expect("open");
        let close = if innermost.bracket { "]" } else { ")" };
        errors.push(
            Diagnostic::error(
                "unbalanced-parenthesis",
                innermost.start,
                format!("this is never closed: {} `{close}` missing at the end", open.len() - 1),
            )
            .help("count the parentheses of this form"),
        );
    }
    data.top = pending;
    (data, errors)
}
