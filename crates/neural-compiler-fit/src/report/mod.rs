//! The outcome of a fit: as data, as text, as JSON, as pictures.

pub mod compare;
pub(crate) mod exact;
pub(crate) mod finish;
pub(crate) mod json;
pub(crate) mod judged;
pub(crate) mod nested;
pub(crate) mod outcome;
pub mod plot;
pub(crate) mod summary;
pub mod text;

pub(crate) use outcome::parameters;
pub use outcome::{Axis, Check, Finer, Fit, Noise, Parameter, Random, Streamed, significant};
