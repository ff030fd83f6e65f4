//! Ordinary differential equations: how states move on by one step. In: a law (a graph from states to their derivatives) and a row of the
//! table of schemes; out: the graph of a step with its error estimate, and how long the next step may be.
//!
//! The one place that knows schemes: fits, predictions, PyTorch's `odeint` and its steps in torch operations read `schemes` and `control`.

mod band;
pub mod control;
mod law;
pub mod schemes;
mod sparsity;
mod step;

pub use law::Law;
pub use schemes::{Formula, SCHEMES, Scheme, UnknownScheme};
pub use step::{price, step};
