//! Models with states: differential equations and maps. In: a program with `derive` or `next` clauses and a table of trajectories; out:
//! residuals with exact derivatives of the discretised solution, and their fit.

pub(crate) mod check;
pub mod clock;
pub(crate) mod differences;
pub mod dose_table;
pub mod ensemble;
mod far;
pub(crate) mod fit;
mod inputs;
pub(crate) mod prepared;
pub mod problem;
pub mod schedule;
pub mod shooting;
pub(crate) mod simulate;
pub mod solver;
pub mod starts;
pub(crate) mod stiffness;
pub mod trajectories;
pub(crate) mod white;
