//! Text to AST: `lexer` (tokens), `reader` (the tree of parentheses), `expand` (forms and names), `declare` (model declarations),
//! `ast` (the result and its printer), `format` (the formatter).

pub mod ast;
pub(crate) mod declare;
pub(crate) mod expand;
pub mod format;
pub mod lexer;
pub mod reader;
