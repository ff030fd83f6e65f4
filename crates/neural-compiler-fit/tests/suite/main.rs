//! The tests of fits, a module for each subject, linked once. One subject:
//! `cargo test -p neural-compiler-fit --test suite SUBJECT::`.

mod bands;
mod clock;
mod common;
mod coverage;
mod dynamics;
mod effects;
mod effort;
mod endless;
mod energies;
mod equations;
mod events;
mod events_edges;
mod family;
mod feynman;
mod grids;
mod groups;
mod hybrid;
mod judged;
mod jumps;
mod likelihood;
mod likely_trials;
mod nist;
mod nist_further;
mod noise;
mod observe;
mod plots;
mod pools;
mod priors;
mod simulate;
mod starts;
mod statistics;
mod stiff;
mod streamed;
mod trials;
mod walls;
