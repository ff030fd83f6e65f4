//! Program generators, deterministic by seed. Every program terminates, and its size and running time are bounded.
//!
//! * [`scheme`]: the subset shared with a real Scheme, written so that both mean the same.
//! * [`differentiable`]: smooth and piecewise smooth programs with a scalar result, kept inside the safe domain.
//! * [`everything`]: all operations, shapes and forms; may leave every domain.

mod budget;
mod form;
mod operation;
mod scheme;
mod scope;
mod typed;

pub use scheme::{Family, scheme};
pub use typed::{differentiable, everything};
