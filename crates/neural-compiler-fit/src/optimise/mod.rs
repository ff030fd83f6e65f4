//! Nonlinear least squares, and likelihoods by the same search. In: residuals with exact derivatives as a [`Residuals`]; out: the
//! parameters that make the sum of their squares (or of a robust loss, or minus twice a log-likelihood) smallest.

pub mod arrow;
pub mod effort;
pub(crate) mod elsewhere;
pub mod evidence;
pub(crate) mod first_order;
pub mod gradient;
pub mod linalg;
pub mod linear;
pub mod lm;
pub mod loss;
pub mod penalised;
pub mod search;
pub mod separable;
mod sums;
pub(crate) mod symmetry;

pub(crate) use sums::{all_finite, dot, extent, sum_of, weigh, weighted_difference};

/// A point where a model has no residuals: an operation left its domain, a solution diverged, a limit was met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unusable(pub String);

/// Residuals as a function of parameters.
///
/// Invariant: the same parameters give the same bits, on whatever thread.
pub trait Residuals: Sync {
    /// How many parameters there are.
    fn parameters(&self) -> usize;

    /// How many residuals there are.
    fn count(&self) -> usize;

    /// How many data these stand for: as many, unless the rows of many are folded into a few.
    fn observations(&self) -> usize {
        self.count()
    }

    /// Writes the residuals and, where wanted, their derivatives: column `j` of `jacobian` is the derivative by parameter `j`.
    /// Everything written is finite.
    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable>;

    /// As [`Residuals::evaluate`], for problems whose cost is something else than a loss of residuals: minus twice a log-likelihood, or
    /// the loss of more rows than are told of. The residuals and derivatives are then those of a linear model whose sum of squares has the
    /// slope of that cost, and a curvature like its own; where no derivatives are wanted they mean nothing. `None`: the residuals say all.
    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        self.evaluate(theta, residuals, jacobian).map(|()| None)
    }

    /// Whether the cost is minus twice a log-likelihood: of either sign, and differences of it mean the same wherever they are.
    fn is_likelihood(&self) -> bool {
        false
    }

    /// How parameters and residuals fall into groups; derivatives are then written in the blocks of these. `None`: they do not.
    fn groups(&self) -> Option<&arrow::Groups> {
        None
    }

    /// The second derivatives of the residuals, each times a number, summed: row by row. `None`: they are not to be had.
    fn second(&self, _theta: &[f64], _times: &[f64]) -> Option<Result<Vec<f64>, Unusable>> {
        None
    }

    /// The sum of squares that errors in computing the residuals, beside those of rounding, may amount to: of a solution with adaptive
    /// steps, say. Costs that differ by less than such errors make are not told apart. 0: there are none.
    fn blur(&self) -> f64 {
        0.0
    }

    /// Whether evaluations fail because a person, or the time, has said stop: such an error says nothing of the point. Problems that know
    /// of no stop need not say it; a search that is to be stopped looks at its own flag besides.
    fn stopped(&self) -> bool {
        false
    }
}

/// The cost of a problem at a point; `residuals`: memory for them.
pub(crate) fn cost_at(problem: &dyn Residuals, theta: &[f64], loss: loss::Loss, residuals: &mut [f64]) -> Result<f64, Unusable> {
    let own = problem.objective(theta, residuals, None)?;
    Ok(own.unwrap_or_else(|| loss.cost(residuals)))
}

/// The box the parameters must stay in; infinite where there is no bound.
#[derive(Clone, PartialEq, Debug)]
pub struct Bounds {
    /// Lower ends.
    pub min: Vec<f64>,
    /// Upper ends.
    pub max: Vec<f64>,
}

impl Bounds {
    /// No bounds at all.
    pub fn none(parameters: usize) -> Bounds {
        Bounds { min: vec![f64::NEG_INFINITY; parameters], max: vec![f64::INFINITY; parameters] }
    }

    /// The bounds of some of the parameters.
    pub fn of(&self, chosen: &[usize]) -> Bounds {
        Bounds { min: chosen.iter().map(|&j| self.min[j]).collect(), max: chosen.iter().map(|&j| self.max[j]).collect() }
    }

    /// Whether a parameter has a bound on either side.
    pub fn any(&self, j: usize) -> bool {
        self.min[j] > f64::NEG_INFINITY || self.max[j] < f64::INFINITY
    }
}

pub(crate) fn norm(a: &[f64]) -> f64 {
    let squares = dot(a, a);
    if squares.is_finite() && squares > 1e-280 {
        return squares.sqrt();
    }
    // Squares that leave the range: scale first.
    let largest = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * a.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
}
