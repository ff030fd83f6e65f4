//! The tests of the compiler and its stages, a module for each subject, linked once. One subject:
//! `cargo test -p neural-compiler --test suite SUBJECT::`.

mod format;
mod graph_json;
mod grid;
mod jacobian;
mod ode;
mod snapshots;
mod svg;
mod tail_calls;
