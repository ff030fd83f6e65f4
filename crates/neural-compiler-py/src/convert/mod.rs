//! What crosses to Python as plain data: `errors` as exceptions, `operations` as dicts.

pub(crate) mod errors;
pub(crate) mod operations;
