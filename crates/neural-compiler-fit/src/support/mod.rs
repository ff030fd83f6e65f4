//! What every room needs of the machine: memory, threads, and random numbers that are the same everywhere.

pub(crate) mod memory;
pub mod random;
pub(crate) mod threads;
