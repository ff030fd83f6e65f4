//! Models written as text, fitted to data. In: a compiled program with declarations and a table; out: its constants with standard
//! errors, and what the data do not determine.
//!
//! ```
//! use neural_compiler_fit::{Options, Table, fit};
//!
//! let program = neural_compiler::compile("(param a 1) (param k 1) (* a (exp (* -1 k t)))", &Default::default())?;
//! let t: Vec<f64> = (0..20).map(|i| f64::from(i) / 4.0).collect();
//! let y = t.iter().map(|t| 3.0 * (-0.7 * t).exp()).collect();
//! let table = Table::new([("t".to_string(), t), ("y".to_string(), y)]).expect("columns of one length");
//! let fit = fit(&program, &table, &Options::default())?;
//! assert!((fit.parameter("k").unwrap().value - 0.7).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod affine;
pub mod algebraic;
mod algebraic_fit;
mod bind;
mod check;
pub mod dates;
mod dynamic_fit;
pub mod dynamics;
mod first_try;
mod fit;
mod hybrid;
mod identify;
mod json;
mod jumps;
mod lack_of_fit;
pub mod layout;
pub mod least;
mod likelihood;
mod memory;
mod options;
pub mod plot;
mod poor;
mod predict;
mod profile;
pub mod random;
mod ready;
pub mod remember;
mod report;
pub mod save;
mod smooth;
mod summary;
pub mod table;
mod threads;
pub mod uncertainty;
pub mod weights;

pub use dynamics::clock::Clock;
pub use fit::{fit, fit_at_once};
pub use identify::{Combination, Undetermined};
pub use json::to_json;
pub use layout::Values;
pub use least::loss::Loss;
pub use likelihood::{Column, Likelihood};
pub use options::{Method, Options, Progress, Stage};
pub use predict::predict;
pub use report::{Axis, Check, Finer, Fit, Parameter, significant};
pub use table::{Other, Table};
