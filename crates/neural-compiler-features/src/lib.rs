//! Nothing but dependencies. Cargo builds a dependency with the features that the chosen packages ask for: without this crate `cargo test
//! -p neuralc`, `-p neural-compiler-fit` and `--workspace` would each build arrow, faer and others anew, minutes of work. Invariant: `cargo
//! tree -e features` names the same features of a dependency whichever package is chosen.
