//! What a model says by itself, before any data: its free numbers, the ones it is affine in, where it may jump.

pub mod affine;
mod jumps;
pub mod layout;
