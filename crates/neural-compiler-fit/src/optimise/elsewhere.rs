//! What a model does elsewhere. In: residuals, a minimum, bounds; out: whether what changes when a parameter is moved far from it is of a
//! kind the caller knows.
//!
//! Residuals that look like noise rule out a better minimum only where a test for noise would notice what another solution explains. A wave
//! that is faster than its sampling looks like noise itself.
//! Invariant: "no" is always safe; the outcome depends on the seed, never on threads.

use super::search::{near, place, uniform};
use super::{Bounds, Residuals};

/// Other values of each parameter.
const PLACES: u32 = 4;
/// A change of this share of the residuals is none.
const NONE: f64 = 1e-9;

/// Whether every parameter does something, and whatever it does is of the kind: each is moved on its own, the others stay at the minimum.
pub(crate) fn only(problem: &dyn Residuals, best: &[f64], bounds: &Bounds, seed: u32, kind: &dyn Fn(&[f64]) -> bool) -> bool {
    let mut here = vec![0.0; problem.count()];
    if problem.evaluate(best, &mut here, None).is_err() {
        return false;
    }
    let negligible = NONE * here.iter().fold(0.0f64, |m, r| m.max(r.abs()));
    let mut there = vec![0.0; here.len()];
    (0..best.len()).all(|j| {
        let mut moves = false;
        for i in 0..PLACES {
            let u = uniform(i, j, seed);
            let value = if i % 2 == 0 { place(u, best[j], bounds.min[j], bounds.max[j]) } else { near(u, best[j]) };
            let mut theta = best.to_vec();
            theta[j] = value.clamp(bounds.min[j], bounds.max[j]);
            if problem.evaluate(&theta, &mut there, None).is_err() {
                continue;
            }
            there.iter_mut().zip(&here).for_each(|(t, h)| *t -= h);
            if there.iter().all(|d| d.abs() <= negligible) {
                continue;
            }
            moves = true;
            if !kind(&there) {
                return false;
            }
        }
        moves
    })
}

/// Standard deviations at which a sum of squares is no chance.
const NOTICED: f64 = 3.0;

/// Whether a sum of squares in units of known errors is as large as those errors make it, for so many residuals and parameters.
pub(crate) fn as_errors_say(cost: f64, count: usize, parameters: usize) -> bool {
    let freedom = count.saturating_sub(parameters) as f64;
    cost <= freedom + NOTICED * (2.0 * freedom).sqrt()
}
