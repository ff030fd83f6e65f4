//! Text to AST: `lexer` (tokens), `reader` (the tree of parentheses), `forms` (the table of forms), `expand` (forms and names), `declare`
//! (model declarations), `derivatives` (what derivatives inside programs go through), `constants` (physical constants by name), `foreign` (names of other languages), `infix` (arithmetic of other
//! languages), `ast` (the result and its printer), `format` (the formatter).

pub mod ast;
pub mod constants;
pub(crate) mod declare;
pub(crate) mod derivatives;
pub(crate) mod expand;
pub(crate) mod foreign;
pub mod format;
pub mod forms;
pub(crate) mod infix;
pub mod lexer;
pub mod reader;

/// A name as the language writes it: in |bars| where it would not read back as a name, or look like arithmetic.
pub fn printed_name(name: &str) -> String {
    let mut lexer = lexer::Lexer::new(name);
    let symbol = |t: lexer::Token| t.kind == lexer::TokenKind::Symbol && t.span.text(name) == name;
    let plain = !name.starts_with('|') && matches!(lexer.next_token(), Some(Ok(t)) if symbol(t));
    if plain && infix::instead_of_name(name).is_none() { name.to_string() } else { format!("|{name}|") }
}
