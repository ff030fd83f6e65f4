//! Program generators, deterministic by seed. Every program terminates, and its size and running time are bounded.
//!
//! * [`scheme`]: the subset shared with a real Scheme, written so that both mean the same.
//! * [`differentiable`]: smooth and piecewise smooth programs with a scalar result, kept inside the safe domain.
//! * [`everything`]: all operations, shapes and forms; may leave every domain.
//! * [`danger`]: small programs near the edges of domains, for the safe-domain check.

mod budget;
mod danger;
mod form;
mod operation;
mod rows;
mod scheme;
mod scope;
mod typed;

pub use danger::danger;
pub use scheme::{Family, scheme};
pub use typed::{differentiable, everything};
