//! Formulas fitted to more rows than fit into memory. In: a program, rows that can be read again and again, options; out: a
//! [`Fit`](crate::Fit) as of the same rows in memory, but for what is told of single rows.
//!
//! Rows that count are cut into blocks of a fixed number of rows, by their own number, however they come; each block is folded into a
//! triangle no larger than the parameters are many, and the triangles are added in the order of the rows. So every pass needs the memory
//! of a few blocks, and has the same bits for any way of reading and any number of threads.

mod blocks;
mod fit;
mod fold;
mod problem;

pub use fit::{fit_rows, streams};
