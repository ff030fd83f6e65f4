//! Infix, the second surface of the language: `y = A*exp(-k*t) + c`. In: text; out: the same data that Scheme text is read into, with spans
//! into the infix text, so that everything behind the reader is one and the same; and back, data to text.
//!
//! `lexer` (tokens), `parser` (expressions, by the strength of operators), `chains` and `operands` (parts of them), `statements` (lines and
//! definitions), `declarations`, `bindings` (forms that start with a word), `printer` and `shape` (data to text), `recognise` (arithmetic
//! in a word of a Scheme text, to refuse it). Invariants: nesting of data and of the walk is at most `Limits::nesting`, the
//! walk goes through `crate::deep`, and time is linear in the text. `spec/infix.md` says what each spelling means.

mod bindings;
mod chains;
mod declarations;
mod events;
pub(crate) mod lexer;
mod operands;
mod parser;
pub(crate) mod printer;
mod recognise;
mod shape;
mod statements;

pub(crate) use parser::read;
pub(crate) use recognise::{instead_of_name, translation};
