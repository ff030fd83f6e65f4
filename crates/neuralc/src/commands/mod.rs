//! One file per command. Each takes the context and its arguments and gives an exit code or a failure.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod compose;
mod doses;
pub(crate) mod eval;
mod eval_many;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod fit_args;
mod fit_stream;
mod fit_table;
pub(crate) mod fmt;
pub(crate) mod library;
pub(crate) mod library_args;
pub(crate) mod ops;
pub(crate) mod predict;
pub(crate) mod refine;
pub(crate) mod refine_args;
pub(crate) mod repl;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod simulate;
mod waiting;
