//! LaTeX, as papers have it. In: formulas; out: the same data that Scheme text is read into, with spans into the LaTeX text; and back, data
//! to LaTeX. What has one reading is read; what has several is refused with the readings listed (`ambiguous-reading`), and what the
//! language has not (integrals, limits, complex numbers) by its name (`unknown-notation`). Nothing is guessed.
//!
//! `lexer` (tokens), `names` (letters, scripts and accents to names), `parser` (sums and products), `primary`, `functions`, `sums` and
//! `environments` (their factors), `definitions` (what stands behind `where`, and notes), `lines` (equations of a text), `starts` (when
//! starts of states hold), `printer` (data to LaTeX). `spec/latex.md` says what each notation is read as.

mod definitions;
mod environments;
mod functions;
mod lexer;
mod lines;
mod names;
mod parser;
mod primary;
pub(crate) mod printer;
mod starts;
mod sums;

pub(crate) use lines::read;
