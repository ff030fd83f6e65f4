//! Units of measurement. In: texts like `m/s^2`, and what a program declares in them; out: whether every step of the program fits, the
//! units of all its names, and numbers converted where tables meet the program.
//!
//! `ratio` (exact exponents), `unit` (a unit as a vector of exponents), `table` (the units there are), `parse` (texts), `convert`
//! (numbers), `solve` (unknown units), `check` and `rules` (programs), `spelling` (units back as texts), `header` (columns of tables),
//! `scales` (columns that are differences).
//! Invariants: a check changes nothing about a program, its graph least of all; factors are exact until a number is converted.

pub mod check;
pub mod convert;
pub mod header;
pub mod parse;
pub mod ratio;
mod rules;
mod scales;
mod solve;
mod spelling;
pub mod table;
pub mod unit;

pub use check::{Mode, Units};
pub use convert::Conversion;
pub use parse::{Scale, parse};
pub use unit::Unit;
