//! The outcome of a fit: as data, as JSON, as pictures.

pub(crate) mod json;
pub(crate) mod outcome;
pub mod plot;
pub(crate) mod summary;

pub use outcome::{Axis, Check, Finer, Fit, Parameter, significant};
