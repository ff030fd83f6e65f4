//! Random effects that are not told from errors. In: a likelihood from which effects are integrated out, its maximum; out: the standard
//! deviations that are not determined, and the parameters that take their place.
//!
//! With one observation in each group, what differs between groups and what differs within them are one scatter, w² + s², wherever the
//! effect adds to what errors add to. Second derivatives, which are differences here, do not see it: the likelihood is flat along a circle,
//! not along a line. So another deviation is tried, the other parameters following.

use super::marginal::Marginal;
use crate::optimise::loss::Loss;
use crate::optimise::{Bounds, lm};
use crate::report::{Fit, parameters};
use crate::statistics::uncertainty::Certainty;

/// A rise of minus twice the log-likelihood that is none.
const NO_RISE: f64 = 1e-3;
/// The share of itself by which a parameter moves that takes part.
const MOVES: f64 = 0.01;

/// Says of a fit what is not told apart in it. `theta`, `cost`: its maximum.
pub(super) fn tell(problem: &mut Marginal<'_>, (theta, cost): (&[f64], f64), fit: &mut Fit) {
    if problem.joint.parts.iter().any(|part| part.observations() > 1) {
        return;
    }
    let free = problem.bounds.clone();
    let deviations: Vec<usize> = (0..theta.len()).filter(|&j| problem.is_deviation(j) && free.min[j] < free.max[j]).collect();
    for j in deviations {
        // How far the data let effects scatter, in their unit: that of the data need not be theirs, and there may be several.
        let Some(scatter) = problem.scatter(theta, j).ok().filter(|s| s.is_finite() && *s > 0.0) else { continue };
        let other = (if theta[j] > 0.1 * scatter { 0.5 * theta[j] } else { 0.5 * scatter }).clamp(free.min[j], free.max[j]);
        let held = |all: &[f64]| all.iter().enumerate().map(|(i, x)| if i == j { other } else { *x }).collect::<Vec<f64>>();
        problem.bounds = Bounds { min: held(&free.min), max: held(&free.max) };
        let found = lm::minimise(problem, &held(theta), &problem.bounds, Loss::Squares, &lm::Options::default());
        problem.bounds = free.clone();
        let Some(found) = found.ok().filter(|found| found.cost <= cost + NO_RISE) else { continue };
        let moves = |i: &usize| *i == j || (found.theta[*i] - theta[*i]).abs() > MOVES * theta[*i].abs();
        let open: Vec<usize> = (0..theta.len()).filter(moves).collect();
        let names: Vec<String> = fit.parameters.iter().map(|p| p.name.clone()).collect();
        let listed = open.iter().map(|&i| format!("`{}`", names[i])).collect::<Vec<_>>().join(" and ");
        let bound = format!("`{}` ended at its bound", names[j]);
        fit.warnings.retain(|w| !w.starts_with(&bound));
        fit.warnings.push(format!("the data do not determine {listed}: no group has two observations to tell effects from errors by"));
        let p = theta.len();
        for matrix in [&mut fit.uncertainty.covariance, &mut fit.uncertainty.determined] {
            let lost = |at: usize| open.contains(&(at / p)) || open.contains(&(at % p));
            matrix.iter_mut().enumerate().filter(|(at, _)| lost(*at)).for_each(|(_, x)| *x = f64::NAN);
        }
        open.iter().for_each(|&i| fit.uncertainty.certainty[i] = Certainty::Unidentified);
        fit.parameters = parameters(&names, theta, &fit.uncertainty);
    }
}
