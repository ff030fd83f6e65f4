//! What it costs that standard deviations are estimated. In: a fit by maximum likelihood all of whose errors are normal, with standard
//! deviations nobody declared; out: the same with the errors and intervals of least squares.
//!
//! Nobody asked for a likelihood there: constants differ between groups, or a formula has several observables. The standard deviation that
//! makes the data most probable is too small, by the share of the data that the constants use up, and where every group has constants of
//! its own that is most of them. Least squares divides by what is left, and takes its intervals from Student's distribution.
//! Invariant: the constants and the likelihood are those of the maximum.

use crate::report::{Fit, parameters};
use crate::statistics::student::reach;
use crate::statistics::uncertainty::Certainty;
use std::ops::Range;

/// By how much minus twice the log-likelihood of n data rises up to the ends of a 95 % interval, the standard deviation following: where
/// the sum of squares is larger by the square of that reach, in parts of what each of the data left over has.
pub(crate) fn rise(n: usize, left: usize) -> f64 {
    n as f64 * (reach(left).powi(2) / left as f64).ln_1p()
}

/// Intervals of standard deviations on the scale of their logarithm: none reaches below 0.
pub(crate) fn above_zero(fit: &mut Fit, deviations: Range<usize>) {
    let reach = fit.uncertainty.reach;
    for p in fit.parameters.get_mut(deviations).into_iter().flatten() {
        let times = p.stderr.map(|e| (reach * e / p.value).exp()).filter(|x| x.is_finite());
        p.ci95 = p.ci95.and(times).map(|by| (p.value / by, p.value * by));
    }
}

/// Gives a fit the errors of least squares. `deviations`: which of its parameters are standard deviations.
pub(crate) fn as_least_squares(fit: &mut Fit, deviations: Range<usize>) {
    let n = fit.observations;
    // What the constants leave; the standard deviations were counted among them.
    let left = (fit.uncertainty.freedom + deviations.len()).min(n);
    let more = (n as f64 / left as f64).sqrt();
    let is_deviation = |j: usize| deviations.contains(&j);
    let times = |j: usize| if is_deviation(j) { more * more } else { more };
    let sure = &mut fit.uncertainty;
    for (j, certainty) in sure.certainty.iter_mut().enumerate() {
        *certainty = match *certainty {
            Certainty::Error(_) if left == 0 => Certainty::NoFreedom,
            Certainty::Error(e) => Certainty::Error(e * times(j)),
            other => other,
        };
    }
    let p = sure.certainty.len();
    for matrix in [&mut sure.covariance, &mut sure.determined] {
        matrix.iter_mut().enumerate().for_each(|(at, x)| *x *= times(at / p) * times(at % p));
    }
    sure.freedom = left;
    sure.reach = reach(left);
    let known = |p: &crate::report::Parameter, j: usize| if is_deviation(j) && left > 0 { p.value * more } else { p.value };
    let values: Vec<f64> = fit.parameters.iter().enumerate().map(|(j, p)| known(p, j)).collect();
    let names: Vec<String> = fit.parameters.iter().map(|p| p.name.clone()).collect();
    let larger = |j: usize| if is_deviation(j) && left > 0 { more } else { 1.0 };
    let profiles: Vec<_> = fit.parameters.iter().enumerate().map(|(j, p)| p.profile.map(|(a, b)| (a * larger(j), b * larger(j)))).collect();
    fit.parameters = parameters(&names, &values, &fit.uncertainty);
    fit.parameters.iter_mut().zip(profiles).for_each(|(p, profile)| p.profile = profile);
    if left > 0 {
        fit.errors.iter_mut().flatten().for_each(|e| *e *= more);
        fit.undetermined.iter_mut().flat_map(|u| &mut u.determined).filter_map(|c| c.stderr.as_mut()).for_each(|e| *e *= more);
    }
}
