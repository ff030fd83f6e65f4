//! Parameters whose standard error says nothing. In: a minimum and the errors there; out: the parameters that stand on a plateau, whose
//! errors are beyond every size of their own, and which move no prediction when they are moved by them.
//!
//! A rate of 10^6 in e^(-kt) has a slope of 10^-40 or so, and an error of 10^40: that is no error bar, but what is left of a slope that has
//! faded. A parameter that is all but 0 has an error of many times its value as well, and predictions that follow: that one is told.

use crate::optimise::linear::Linear;
use crate::optimise::{Bounds, Residuals, norm};
use crate::statistics::uncertainty::Certainty;

/// How many times its value an error is that is doubted.
const DOUBTED: f64 = 1e6;
/// The share of the change that the slope says which is none.
const FADED: f64 = 0.1;

/// The parameters that stand on a plateau. `linear`: the residuals of `problem` at `theta` and their derivatives.
pub(crate) fn on_plateau(problem: &dyn Residuals, theta: &[f64], linear: &Linear, bounds: &Bounds, certainty: &[Certainty]) -> Vec<usize> {
    let stands = |&j: &usize| {
        let Certainty::Error(error) = certainty[j] else { return false };
        let said = error * linear.size(j);
        if theta[j] == 0.0 || error <= DOUBTED * theta[j].abs() || said == 0.0 {
            return false;
        }
        let follow = |by: f64| {
            let mut moved = theta.to_vec();
            moved[j] += by;
            let mut residuals = vec![0.0; problem.count()];
            let there = (bounds.min[j]..=bounds.max[j]).contains(&moved[j]) && problem.evaluate(&moved, &mut residuals, None).is_ok();
            there && norm(&residuals.iter().zip(&linear.residuals).map(|(a, b)| a - b).collect::<Vec<f64>>()) >= FADED * said
        };
        !follow(error) && !follow(-error)
    };
    (0..certainty.len()).filter(stands).collect()
}
