//! The tests of the command line, a module for each subject, linked once. One subject:
//! `cargo test -p neuralc --test suite SUBJECT::`.

mod ask;
mod bench;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod eval;
mod export;
mod files;
mod fit;
mod library;
mod likelihood;
mod many_tables;
mod mcp;
mod mistakes;
mod modules;
mod readme;
mod refine;
mod run;
mod saved;
mod simulate;
mod stream;
mod syntax;
mod tables;
mod terminal;
mod units;
