//! The tests of the oracles and generated programs, a module for each subject, linked once. One subject:
//! `cargo test -p neural-compiler-testing --test suite SUBJECT::`.

mod bounds;
mod consistency;
mod derivative_form;
mod derivatives;
mod domain;
mod export_c;
mod export_python;
mod far_out;
mod forward_reverse;
mod fuzz;
mod guile;
mod hessians;
mod infix;
mod latex;
mod laws;
mod programs_for_python;
mod regressions;
mod reverse_reverse;
mod roots;
mod units;
mod untaken;
