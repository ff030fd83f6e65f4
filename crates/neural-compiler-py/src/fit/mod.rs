//! Fits and solvers: `model` runs fits and predictions, `refine` finds models, `options` and `dates` read what the caller says, `advance`
//! and `schemes` give `odeint` the steps of the solvers.

pub(crate) mod advance;
pub(crate) mod dates;
pub(crate) mod model;
pub(crate) mod options;
pub(crate) mod refine;
pub(crate) mod schemes;
