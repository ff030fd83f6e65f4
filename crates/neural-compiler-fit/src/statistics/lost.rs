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

/// How many times its size an error is that is doubted where something else has run off.
const ABSURD: f64 = 100.0;
/// What a standard error away costs at least and at most, where 1 is what it says.
const PARABOLA: std::ops::Range<f64> = 0.01..100.0;

/// The parameters that what runs off has taken with it: beside a slope without end, the threshold between 0 and 1 may lie anywhere between
/// two data, and the information that is left of it is what has not faded yet. Their errors dwarf them, and the likelihood there is not
/// what the errors say. `cost`: minus twice the log-likelihood at `theta`.
pub(crate) fn beside_runaways(problem: &dyn Residuals, (theta, cost): (&[f64], f64), start: &[f64], certainty: &[Certainty]) -> Vec<usize> {
    let mut memory = vec![0.0; problem.count()];
    let mut as_said = |j: usize, by: f64| {
        let mut moved = theta.to_vec();
        moved[j] += by;
        problem.objective(&moved, &mut memory, None).ok().flatten().is_some_and(|c| PARABOLA.contains(&(c - cost)))
    };
    let absurd = |j: usize| match certainty[j] {
        Certainty::Error(error) if error > ABSURD * theta[j].abs().max(start[j].abs()) && (theta[j], start[j]) != (0.0, 0.0) => Some(error),
        _ => None,
    };
    (0..certainty.len()).filter(|&j| absurd(j).is_some_and(|error| !as_said(j, error) && !as_said(j, -error))).collect()
}
