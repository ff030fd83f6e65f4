//! Models with states: differential equations and maps. In: a program with `derive` or `next` clauses and a table of trajectories; out:
//! residuals with exact derivatives of the discretised solution.

pub mod adjoint;
pub mod clock;
pub mod field;
pub mod problem;
pub mod shooting;
pub mod solver;
pub mod steps;
pub mod trajectories;
