//! Generated programs, and what must hold for every one of them.
//!
//! [`generate`] writes programs (text and input values) from a seed; [`oracle`] talks to the references outside of Rust.

pub mod case;
pub mod generate;
pub mod oracle;

pub use case::{Case, CaseInput, Compiled};
