//! Models with states: differential equations and maps. In: a program with `derive` or `next` clauses and a table of trajectories; out:
//! residuals with exact derivatives of the discretised solution.

pub mod adjoint;
pub mod clock;
pub(crate) mod differences;
pub mod field;
mod march;
pub mod problem;
pub mod rows;
mod segments;
pub mod shooting;
pub mod solver;
mod sparsity;
pub mod steps;
mod sweep;
mod switches;
pub mod tableaus;
mod tangents;
pub mod trajectories;
pub(crate) mod white;
