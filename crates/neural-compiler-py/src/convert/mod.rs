//! What crosses to Python as plain data: `errors` as exceptions, `operations` as dicts, graphs as `json`.

pub(crate) mod errors;
pub(crate) mod json;
pub(crate) mod operations;
