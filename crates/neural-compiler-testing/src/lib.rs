//! Generated programs, and what must hold for every one of them.
//!
//! [`generate`] writes programs (text and input values) from a seed; [`mutate`] spoils texts; [`mod@exercise`] drives one text
//! through everything the library can do with it; [`conformance`] holds executors to the interpreter; [`oracle`] talks to the references
//! outside of Rust. The tests of this crate and the fuzzer in `fuzz/` are thin users of these.

mod carried;
pub mod case;
pub mod conformance;
pub mod derivatives;
pub mod exercise;
pub mod generate;
pub mod in_c;
pub mod in_python;
pub mod in_rust;
pub mod mutate;
pub mod operations;
pub mod oracle;
pub mod probe;
pub mod soundness;

pub use case::{Case, CaseInput, Compiled};
pub use exercise::{Reached, exercise};
