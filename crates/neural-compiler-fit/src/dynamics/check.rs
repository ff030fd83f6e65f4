//! The independent check of a fit of a model with states. In: a minimum found with some accuracy of the solution; out: whether it is the
//! minimum of a more accurate solution too, and if it is not, that one.
//!
//! What a report shows must not depend on how the differential equation was solved. The minimum is therefore looked for again from where
//! it was found, the solution being a hundred times as accurate and accurate from the first small number on that a state grows from: two or
//! three evaluations where nothing changes. Where a digit does change, the more accurate solution takes the place of the other, and is
//! checked in turn.
//! The curvature is checked too: one standard error to either side, along the direction the data determine least, the cost must be
//! higher; and a minimum beside which, a hundredth of that away, nothing can be computed is a wall, not a minimum.

use crate::dynamics::problem::Dynamics;
use crate::model::layout::Layout;
use crate::optimise::lm::{self, End, Local};
use crate::optimise::loss::Loss;
use crate::optimise::{Residuals, Unusable};
use crate::report::summary::certainty;
use crate::report::{Check, Finer};
use crate::statistics::uncertainty::{Certainty, Uncertainty};
use std::sync::Arc;

/// How much more accurate the solution is each time, and how often it may become so.
pub(crate) const TIGHTER: f64 = 100.0;
const TIMES: usize = 2;
/// How many steps replace a fixed one.
const STEPS: usize = 2;
/// Changes that leave the digits shown as they are: of a value, in standard errors; of a standard error, as a share.
const UNSEEN: f64 = 5e-3;
const UNSEEN_ERROR: f64 = 2e-3;
/// How far from a minimum, in standard errors, the model must be computable.
const NEAR: f64 = 1e-2;

/// What is fitted, and how.
pub(crate) struct Checking<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) loss: Loss,
    /// Whether the standard deviations of the data are known.
    pub(crate) known: bool,
    /// Of the derivatives: below this share of the largest singular value nothing is determined.
    pub(crate) precision: f64,
    pub(crate) search: lm::Options<'a>,
}

impl Checking<'_> {
    /// Checks a minimum; where the check changes it, problem and minimum become the more accurate ones.
    pub(crate) fn run(&self, problem: &mut Dynamics, best: &mut Local) -> Option<Check> {
        if best.end != End::Converged {
            return None;
        }
        self.descend(problem, best);
        let near = beside(&self.certainty(best), &best.theta, NEAR);
        if let Some(why) = near.iter().find_map(|theta| self.cost(problem, theta)?.err()) {
            (best.end, best.wall) = (End::Wall, Some(why));
            return None;
        }
        let mut check = None;
        for _ in 0..TIMES {
            let Some((solver, by)) = problem.solver.finer(TIGHTER, STEPS) else { break };
            // What a state grows from decides all that follows, however small it is beside the data.
            let sizes = problem.sizes_with_starts(&best.theta);
            let finer = problem.with(Arc::new(solver.with_sizes(sizes)));
            let Ok(again) = self.fit(&finer, &best.theta, 8) else {
                let (shift, share, error) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
                check = Some(Check { by, shift, share, error, alike: false, holds: false });
                break;
            };
            let found = self.compare(best, &again, by);
            check = Some(found);
            if found.holds || matches!(by, Finer::Steps(_)) {
                break;
            }
            *best = if found.shift <= UNSEEN && self.determined(best) == self.determined(&again) {
                // Within what can be seen it did not move, whatever the rest of its evaluations would have brought.
                Local { end: End::Converged, wall: None, ..again }
            } else {
                let Ok(fit) = self.fit(&finer, &again.theta, 100) else { break };
                fit
            };
            *problem = finer;
        }
        check
    }

    fn certainty(&self, local: &Local) -> Uncertainty {
        certainty(self.layout, local, self.loss, self.known, local.linear.residuals.len(), self.precision)
    }

    /// Which parameters the data determine.
    fn determined(&self, local: &Local) -> Vec<bool> {
        let certainty = self.certainty(local);
        (0..local.theta.len()).map(|j| error(&certainty, j).is_some()).collect()
    }

    fn fit(&self, problem: &Dynamics, start: &[f64], evaluations: usize) -> Result<Local, Unusable> {
        let options = lm::Options { evaluations, polish: evaluations > 8, ..self.search };
        lm::minimise(problem, start, &self.layout.bounds, self.loss, &options)
    }

    /// By how much a fit moved.
    fn compare(&self, before: &Local, after: &Local, by: Finer) -> Check {
        let errors = |local: &Local| self.certainty(local);
        let (old, new) = (errors(before), errors(after));
        let (mut shift, mut share, mut spread, mut alike) = (0.0f64, 0.0f64, 0.0f64, true);
        for (j, (a, b)) in before.theta.iter().zip(&after.theta).enumerate() {
            let (Some(e), Some(f)) = (error(&old, j), error(&new, j)) else {
                alike &= error(&old, j).is_none() == error(&new, j).is_none();
                continue;
            };
            if a != b {
                shift = shift.max((a - b).abs() / e);
                share = share.max((a - b).abs() / a.abs().max(b.abs()));
            }
            spread = spread.max((f / e - 1.0).abs());
        }
        Check { by, shift, share, error: spread, alike, holds: alike && shift <= UNSEEN && spread <= UNSEEN_ERROR }
    }

    /// Goes on from a point beside a minimum that turns out to be none.
    fn descend(&self, problem: &Dynamics, best: &mut Local) {
        for _ in 0..2 {
            let lower = beside(&self.certainty(best), &best.theta, 1.0)
                .into_iter()
                .filter_map(|theta| Some((self.cost(problem, &theta)?.ok()?, theta)))
                .filter(|(cost, _)| *cost < best.cost * (1.0 - 1e-6))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((_, theta)) = lower else { return };
            match self.fit(problem, &theta, 100) {
                Ok(fit) if fit.cost < best.cost => *best = fit,
                _ => return,
            }
        }
    }

    /// The cost somewhere, or why there is none; `None` beyond the bounds.
    fn cost(&self, problem: &Dynamics, theta: &[f64]) -> Option<Result<f64, Unusable>> {
        let bounds = &self.layout.bounds;
        if theta.iter().enumerate().any(|(j, x)| *x < bounds.min[j] || *x > bounds.max[j]) {
            return None;
        }
        let mut residuals = vec![0.0; problem.count()];
        Some(problem.evaluate(theta, &mut residuals, None).map(|()| self.loss.cost(&residuals)))
    }
}

/// What a check says where error bars were made so many times as large as those it counted in: as large as the accuracy of the solution
/// allows, which no longer depends on the residuals.
pub(crate) fn in_larger_errors(check: Check, times: f64) -> Check {
    if times <= 1.0 {
        return check;
    }
    let shift = check.shift / times;
    Check { shift, error: 0.0, holds: check.alike && shift <= UNSEEN, ..check }
}

fn error(uncertainty: &Uncertainty, j: usize) -> Option<f64> {
    match uncertainty.certainty[j] {
        Certainty::Error(e) if e > 0.0 && e.is_finite() => Some(e),
        _ => None,
    }
}

/// The two points so many standard errors away along the direction the data determine least.
fn beside(uncertainty: &Uncertainty, theta: &[f64], far: f64) -> Vec<Vec<f64>> {
    let n = theta.len();
    let relative = |j: usize| error(uncertainty, j).map(|e| e / theta[j].abs().max(1e-300));
    let Some(j) =
        (0..n).filter(|&j| relative(j).is_some()).max_by(|&a, &b| relative(a).unwrap_or(0.0).total_cmp(&relative(b).unwrap_or(0.0)))
    else {
        return vec![];
    };
    let Some(e) = error(uncertainty, j) else { return vec![] };
    let along = |i: usize| Some(uncertainty.covariance[i * n + j] / e).filter(|x| x.is_finite()).unwrap_or(0.0);
    [-far, far].into_iter().map(|side| theta.iter().enumerate().map(|(i, x)| x + side * along(i)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_errors_do_not_make_other_constants_determined() {
        let check = |alike: bool, shift: f64| Check { by: Finer::Tolerance(1e-10), shift, share: 0.0, error: 0.1, alike, holds: false };
        assert!(in_larger_errors(check(true, 0.1), 100.0).holds);
        assert!(!in_larger_errors(check(false, 0.0), 100.0).holds);
        assert!(!in_larger_errors(check(true, 0.1), 2.0).holds);
    }
}
