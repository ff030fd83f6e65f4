//! A program of the user, compiled, derived and ready to be called. `core` is the text with what the caller says of its inputs, `steps`
//! what is asked of it, `arguments` brings those of a call into order, `function` is what runs, for each combination of shapes; `cache`
//! and `places` keep what was made.

pub(crate) mod arguments;
pub(crate) mod cache;
pub(crate) mod core;
pub(crate) mod function;
pub(crate) mod places;
pub(crate) mod steps;
