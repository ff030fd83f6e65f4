//! Text to AST: `lexer` (tokens), `reader` (the tree of parentheses), `infix` and `latex` (the same tree from infix text and from formulas
//! of papers), `forms` (the table of forms), `expand` (forms and names), `declare`, `observations` and `events` (model declarations),
//! `derivatives` (what derivatives inside programs go through), `constants` (physical constants by name), `distributions` (of errors, by
//! name), `foreign` (names of other languages), `ast` (the result and its printer). And back to text: `format` (the formatter), `translate`
//! (from one syntax to another), `modules` (texts that use others), with `comments`, `layout` and `respell` (diagnostics in the syntax of
//! the user).

pub mod ast;
mod comments;
pub mod constants;
mod cursor;
pub(crate) mod declare;
pub(crate) mod derivatives;
pub mod distributions;
mod events;
pub(crate) mod expand;
pub(crate) mod foreign;
pub mod format;
pub mod forms;
pub(crate) mod infix;
pub(crate) mod latex;
mod layout;
pub mod lexer;
pub mod modules;
pub(crate) mod observations;
pub mod reader;
pub(crate) mod respell;
pub mod translate;

use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use reader::Data;

/// What a text is written in. Every syntax is read into the same data, so that all that follows is the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Syntax {
    /// `(* A (exp (* (- k) t)))`
    #[default]
    Scheme,
    /// `A*exp(-k*t)`
    Infix,
    /// `A e^{-k t}`
    Latex,
}

impl Syntax {
    /// All of them.
    pub const ALL: &'static [Syntax] = &[Syntax::Scheme, Syntax::Infix, Syntax::Latex];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Syntax::Scheme => "scheme",
            Syntax::Infix => "infix",
            Syntax::Latex => "latex",
        }
    }

    /// The syntax of this name.
    pub fn named(name: &str) -> Option<Syntax> {
        Syntax::ALL.iter().copied().find(|s| s.name() == name)
    }

    /// What the name of a file says its text is written in: infix for `.eq`, LaTeX for `.tex`, else Scheme.
    pub fn of_file(path: &str) -> Syntax {
        let extension = std::path::Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or("");
        match extension.to_ascii_lowercase().as_str() {
            "eq" => Syntax::Infix,
            "tex" => Syntax::Latex,
            _ => Syntax::Scheme,
        }
    }
}

/// Reads a text. Errors are collected; the data are only meant for use when there are none.
pub fn read(source: &str, syntax: Syntax, limits: &Limits) -> (Data, Vec<Diagnostic>) {
    match syntax {
        Syntax::Scheme => reader::read(source, limits),
        Syntax::Infix => infix::read(source, limits),
        Syntax::Latex => latex::read(source, limits),
    }
}

/// A name as the language writes it: in |bars| where it would not read back as a name, or look like arithmetic.
pub fn printed_name(name: &str) -> String {
    let mut lexer = lexer::Lexer::new(name);
    let symbol = |t: lexer::Token| t.kind == lexer::TokenKind::Symbol && t.span.text(name) == name;
    let plain = !name.starts_with('|') && matches!(lexer.next_token(), Some(Ok(t)) if symbol(t));
    if plain && infix::instead_of_name(name).is_none() { name.to_string() } else { format!("|{name}|") }
}
