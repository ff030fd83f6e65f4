//! Executors: `interp` is the slow, obviously right one that every faster one must equal to the bit; `lanes` runs batches. `room` has
//! what they share to charge memory before it is taken, `watch` what ends a run from outside, `threads` the threads they use, `absent`
//! what they say of elements that are not there.

mod absent;
pub mod interp;
pub mod jit;
pub mod lanes;
mod product;
mod room;
pub mod threads;
mod value;
mod watch;

pub use value::Tensor;
pub use watch::end_runs_when;

use crate::source::Span;

/// Why a run has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvalError {
    /// Stable kebab-case code.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The source of the operation that failed.
    pub span: Span,
}

impl EvalError {
    /// An error at a place.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> EvalError {
        EvalError { code, message: message.into(), span }
    }
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for EvalError {}
