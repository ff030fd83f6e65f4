//! Algebraic models: formulas, a row of the data each. In: a program without states and a table; out: residuals with exact derivatives, and
//! their fit.

mod back;
pub mod engines;
pub(crate) mod first_try;
pub(crate) mod fit;
pub(crate) mod prepared;
mod problem;
pub mod streamed;

pub use engines::Engines;
pub use problem::Algebraic;
