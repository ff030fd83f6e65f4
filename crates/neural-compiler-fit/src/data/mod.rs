//! Data: columns of numbers and dates, and which of them feed which input of a model.

pub(crate) mod bind;
pub mod dates;
pub mod rows;
pub mod table;
