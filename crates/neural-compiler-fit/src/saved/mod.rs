//! Fits as files: a text that is a program with a record of its fit, and the weights of nets beside it.

pub mod by_group;
pub mod remember;
pub mod save;
pub mod weights;
