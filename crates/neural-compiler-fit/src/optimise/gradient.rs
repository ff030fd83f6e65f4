//! Costs with a gradient, for problems too large for a Jacobian. In: residuals in parts; out: the sum of squares of some of the parts and
//! its derivative by all numbers.

use super::{Residuals, Unusable};

/// A sum of squares over parts: rows of the data, or whole trajectories.
///
/// Invariant: the same numbers and parts give the same bits, on whatever thread.
pub trait Gradient: Sync {
    /// How many parts there are.
    fn parts(&self) -> usize;

    /// The cost of some parts, in rising order; adds its derivative to `gradient`. Everything written is finite.
    fn gradient(&self, theta: &[f64], parts: &[usize], gradient: &mut [f64]) -> Result<f64, Unusable>;

    /// Some of the parts as residuals.
    fn residuals(&self, parts: &[usize]) -> Box<dyn Residuals + '_>;
}
