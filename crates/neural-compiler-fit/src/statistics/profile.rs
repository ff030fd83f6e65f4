//! Intervals by profile likelihood. In: a minimum; out: for each parameter the values at which the best fit with it held there is worse
//! by what a 95 % interval allows. Unlike a standard error it does not assume that the cost is a parabola.
//! Invariant: an end that no value reaches is infinite (or the parameter's bound), never a guess.

use crate::optimise::loss::Loss;
use crate::optimise::{Bounds, Residuals, Unusable, cost_at, lm};
use crate::statistics::uncertainty::{Certainty, Uncertainty};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A problem with one parameter held.
struct Held<'a> {
    inner: &'a dyn Residuals,
    parameter: usize,
    value: f64,
}

impl Residuals for Held<'_> {
    fn parameters(&self) -> usize {
        self.inner.parameters() - 1
    }

    fn count(&self) -> usize {
        self.inner.count()
    }

    fn blur(&self) -> f64 {
        self.inner.blur()
    }

    fn is_likelihood(&self) -> bool {
        self.inner.is_likelihood()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        self.objective(theta, residuals, jacobian).map(|_| ())
    }

    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        let mut all = theta.to_vec();
        all.insert(self.parameter, self.value);
        let Some(jacobian) = jacobian else {
            return self.inner.objective(&all, residuals, None);
        };
        let m = residuals.len();
        let mut whole = vec![0.0; m * all.len()];
        let cost = self.inner.objective(&all, residuals, Some(&mut whole))?;
        whole.drain(self.parameter * m..(self.parameter + 1) * m);
        jacobian.copy_from_slice(&whole);
        Ok(cost)
    }
}

/// Told how many ends of intervals are found, of how many.
pub(crate) type Tell<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The profile interval of every parameter that has a standard error.
pub(crate) fn intervals(
    problem: &dyn Residuals,
    best: &lm::Local,
    bounds: &Bounds,
    loss: Loss,
    uncertainty: &Uncertainty,
    tell: Tell<'_>,
) -> Vec<Option<(f64, f64)>> {
    let allowed = uncertainty.rise;
    let all = 2 * uncertainty.certainty.iter().filter(|c| matches!(c, Certainty::Error(_))).count();
    let done = AtomicUsize::new(0);
    let look = || tell(done.load(Ordering::Relaxed), all);
    let one = |j: usize| {
        let Certainty::Error(error) = uncertainty.certainty[j] else { return None };
        let end = |way: f64| {
            let found = one_end(problem, best, bounds, loss, j, way * error * uncertainty.reach, allowed, &look);
            done.fetch_add(1, Ordering::Relaxed);
            look();
            found
        };
        (allowed.is_finite() && error > 0.0).then(|| (end(-1.0), end(1.0)))
    };
    (0..best.theta.len()).into_par_iter().map(one).collect()
}

/// Where the profile crosses, on the side `step` points to; `look` is called now and then.
#[allow(clippy::too_many_arguments)]
fn one_end(
    problem: &dyn Residuals,
    best: &lm::Local,
    bounds: &Bounds,
    loss: Loss,
    j: usize,
    step: f64,
    allowed: f64,
    look: &(dyn Fn() + Sync),
) -> f64 {
    let others: Vec<usize> = (0..best.theta.len()).filter(|&i| i != j).collect();
    let box_ = bounds.of(&others);
    let limit = if step > 0.0 { bounds.max[j] } else { bounds.min[j] };
    let options = lm::Options { evaluations: 200, polish: false, ..lm::Options::default() };
    let mut start: Vec<f64> = others.iter().map(|&i| best.theta[i]).collect();
    // By how much the best fit with the parameter here is worse, as a root: nearly linear in the parameter.
    let worse = |value: f64, start: &mut Vec<f64>| -> Option<f64> {
        look();
        let held = Held { inner: problem, parameter: j, value };
        let cost = if start.is_empty() {
            cost_at(&held, &[], loss, &mut vec![0.0; problem.count()]).ok()?
        } else {
            let fit = lm::minimise(&held, start, &box_, loss, &options).ok()?;
            *start = fit.theta;
            fit.cost
        };
        Some(((cost - best.cost).max(0.0) / allowed).sqrt())
    };
    let (mut inside, mut outside) = (0.0, None);
    let mut reach = 1.0;
    for _ in 0..40 {
        let value = best.theta[j] + reach * step;
        if (step > 0.0 && value >= limit) || (step < 0.0 && value <= limit) {
            match worse(limit, &mut start) {
                Some(w) if w < 1.0 => return limit,
                _ => outside = Some((limit - best.theta[j]) / step),
            }
            break;
        }
        match worse(value, &mut start) {
            Some(w) if w < 1.0 => {
                inside = reach;
                reach *= if w > 0.3 { (1.2 / w).min(2.0) } else { 2.0 };
            }
            _ => {
                outside = Some(reach);
                break;
            }
        }
    }
    let Some(mut outside) = outside else { return f64::INFINITY.copysign(step) };
    for _ in 0..40 {
        let middle = 0.5 * (inside + outside);
        match worse(best.theta[j] + middle * step, &mut start) {
            Some(w) if w < 1.0 => inside = middle,
            _ => outside = middle,
        }
        if outside - inside < 1e-7 * outside {
            break;
        }
    }
    best.theta[j] + 0.5 * (inside + outside) * step
}
