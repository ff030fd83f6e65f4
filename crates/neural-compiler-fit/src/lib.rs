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

pub mod algebraic;
mod bootstrap;
pub mod data;
pub mod dynamics;
mod fit;
mod forecast;
mod hybrid;
mod likelihood;
pub mod model;
pub mod optimise;
mod options;
mod predict;
mod purpose;
pub mod report;
pub mod saved;
pub mod statistics;
pub mod support;

pub use algebraic::streamed::{fit_rows, streams};
pub use bootstrap::Bootstrap;
pub use data::dates;
pub use data::rows::Rows;
pub use data::table::{Other, Part, Side, Table, censored, group_name};
pub use dynamics::clock::Clock;
pub use dynamics::dose_table::{DoseTable, group_column};
pub use dynamics::ensemble::Given;
pub use dynamics::schedule::Dose;
pub use dynamics::simulate::{Simulation, simulate};
pub use fit::{fit, fit_at_once, split as held_out_rows};
pub use forecast::bands::{Band, Ends, bands, columns as band_columns, of_saved as saved_bands, unsaid as unsaid_of_bands};
pub use forecast::known::Known;
pub use model::layout::{self, Values};
pub use optimise::loss::Loss;
pub use options::{BadOption, EffectMethod, Optimiser, Options, Progress, Resampling, Stage};
pub use predict::{Told, predict, predict_told};
pub use report::compare::{Comparison, compare};
pub use report::json::to_json;
pub use report::{Axis, Check, Finer, Fit, Noise, Parameter, Streamed, significant};
pub use report::{plot, text};
pub use saved::{by_group, remember, save, weights};
pub use statistics::diagnostics::{Diagnostics as ResidualDiagnostics, Outlier};
pub use statistics::identify::{Combination, Undetermined};
pub use statistics::likelihood::{Column, Likelihood};
pub use support::random;
