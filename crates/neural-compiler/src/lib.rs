//! Neural Compiler: scientific equations as text, compiled into exact, differentiable programs.
//!
//! The pipeline, in the order data walks through it:
//! [`syntax`] reads text into an AST; [`anf`] flattens it into A-normal form and closes functions; [`tail`] turns tail calls into
//! loops; `infer` finds shapes; `lower` builds the hash-consed [`graph`]; [`exec`] runs it. [`ops`] is the one table of
//! operations all of them read, [`diagnostic`] what they say about a user's mistakes.
//!
//! ```
//! use neural_compiler::{Options, Tensor, compile, exec::interp};
//!
//! let program = compile("(* 0.5 (* m (square v)))", &Options::default())?;
//! let graph = program.graph()?;
//! let energy = interp::run(&graph, &[Tensor::scalar(2.0), Tensor::scalar(3.0)], &Default::default())?;
//! assert_eq!(energy[0].as_scalar(), Some(9.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod anf;
mod compile;
pub mod compose;
pub mod diagnostic;
pub mod diff;
pub mod domain;
pub mod exec;
pub mod export;
pub mod graph;
mod infer;
mod limits;
mod lower;
pub mod ode;
pub mod ops;
pub mod shape;
pub mod source;
pub mod syntax;
pub mod tail;
pub mod tape;
pub mod units;

pub use compile::{Event, Events, Noise, Options, Program, Trigger, compile};
pub use diagnostic::{Diagnostic, Diagnostics};
pub use exec::{EvalError, Tensor};
pub use infer::InputShape;
pub use limits::Limits;
pub use shape::Shape;
pub use syntax::Syntax;
pub use units::Units;

/// Runs a step of a recursive walk, on a new piece of stack when the old one runs out: no nesting can overflow it.
pub(crate) fn deep<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, f)
}

/// A number as the language writes it: the shortest text that reads back to the same bits.
pub fn number_text(x: f64) -> String {
    if x.is_nan() {
        "+nan.0".into()
    } else if x.is_infinite() {
        if x > 0.0 { "+inf.0".into() } else { "-inf.0".into() }
    } else if x != 0.0 && !(1e-5..1e17).contains(&x.abs()) {
        format!("{x:e}")
    } else {
        format!("{x}")
    }
}

/// A value as the language writes it: a number, `[1 2 3]` or `[[1 2] [3 4]]`.
pub fn value_text(shape: Shape, numbers: &[f64]) -> String {
    let row = |numbers: &[f64]| format!("[{}]", numbers.iter().map(|x| number_text(*x)).collect::<Vec<_>>().join(" "));
    match shape {
        Shape::Scalar => number_text(numbers[0]),
        Shape::Vector(_) => row(numbers),
        Shape::Matrix(_, columns) => format!("[{}]", numbers.chunks(columns as usize).map(row).collect::<Vec<_>>().join(" ")),
    }
}
