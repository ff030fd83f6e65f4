//! Intervals by profile likelihood. In: a minimum; out: for each parameter the values at which the best fit with it held there is worse
//! by what a 95 % interval allows. Unlike a standard error it does not assume that the cost is a parabola.
//! Invariants: an end that no value reaches is infinite (or the parameter's bound); one that lies beyond where the model can be computed is
//! NaN, never a guess.

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

/// The share of a limit by which the profile rises no more: beyond, it is followed no further.
const LEVEL: f64 = 1e-3;
/// How many standard errors away, and how near to a bound in shares of the way there, that is believed.
const FAR: f64 = 64.0;
/// Steps outwards, and inwards to where it crosses, at most.
const STEPS: usize = 60;
/// How near two values of the parameter are that no digit shown tells apart.
const NEAR: f64 = 1e-7;

/// The best fit with the parameter held: by how much it is worse, as a root, 1 being the limit and the root nearly linear in the
/// parameter, and the values of the others.
#[derive(Clone)]
struct Point {
    reach: f64,
    worse: f64,
    others: Vec<f64>,
}

/// A profile to one side of a minimum, by multiples of a step.
struct Side<'a> {
    problem: &'a dyn Residuals,
    best: &'a lm::Local,
    bounds: Bounds,
    loss: Loss,
    parameter: usize,
    allowed: f64,
    look: &'a (dyn Fn() + Sync),
}

impl Side<'_> {
    /// The best fit from some values of the others. `fine`: to the last digit.
    fn from(&self, reach: f64, value: f64, start: &[f64], fine: bool) -> Option<Point> {
        (self.look)();
        let held = Held { inner: self.problem, parameter: self.parameter, value };
        let (cost, others) = if start.is_empty() {
            (cost_at(&held, &[], self.loss, &mut vec![0.0; self.problem.count()]).ok()?, vec![])
        } else {
            let evaluations = if fine { 1000 } else { 200 };
            let options = lm::Options { evaluations, polish: fine, ..lm::Options::default() };
            let fit = lm::minimise(&held, start, &self.bounds, self.loss, &options).ok()?;
            (fit.cost, fit.theta)
        };
        Some(Point { reach, worse: ((cost - self.best.cost).max(0.0) / self.allowed).sqrt(), others })
    }

    /// The best fit with the parameter at a value. One that is worse than the limit is looked for from more than one start, for a search
    /// that ended early, as in a valley of the others, would make the interval too short.
    fn at(&self, reach: f64, value: f64, path: &[Point]) -> Option<Point> {
        let near = path.last().expect("it begins at the minimum");
        let first = self.from(reach, value, &near.others, false);
        if near.others.is_empty() || first.as_ref().is_some_and(|p| p.worse < 1.0) {
            return first;
        }
        let ahead = path.len().checked_sub(2).map(|k| &path[k]).filter(|last| near.reach > last.reach).map(|last| {
            let times = (reach - near.reach) / (near.reach - last.reach);
            let there = near.others.iter().zip(&last.others).map(|(a, b)| a + times * (a - b));
            there.enumerate().map(|(j, x)| x.clamp(self.bounds.min[j], self.bounds.max[j])).collect::<Vec<f64>>()
        });
        let starts = [first.as_ref().map(|p| p.others.clone()), ahead, Some(path[0].others.clone())];
        let more = starts.into_iter().flatten().filter_map(|start| self.from(reach, value, &start, true));
        first.iter().cloned().chain(more).min_by(|a, b| a.worse.total_cmp(&b.worse))
    }
}

/// Where the profile crosses, on the side `step` points to; `look` is called now and then. NaN where it cannot be followed so far.
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
    let side = Side { problem, best, bounds: bounds.of(&others), loss, parameter: j, allowed, look };
    let limit = if step > 0.0 { bounds.max[j] } else { bounds.min[j] };
    // The bound in steps: infinite where there is none.
    let last = (limit - best.theta[j]) / step;
    let value = |reach: f64| if reach >= last { limit } else { best.theta[j] + reach * step };
    let mut path = vec![Point { reach: 0.0, worse: 0.0, others: others.iter().map(|&i| best.theta[i]).collect() }];
    // The nearest place beyond which nothing can be computed.
    let mut blocked = f64::INFINITY;
    let mut reach = 1.0f64.min(last);
    let mut outside = None;
    for _ in 0..STEPS {
        let near = path.last().expect("it begins at the minimum");
        match side.at(reach, value(reach), &path) {
            Some(p) if p.worse < 1.0 && reach >= last => return limit,
            Some(p) if p.worse < 1.0 => path.push(p),
            Some(p) => {
                outside = Some(p);
                break;
            }
            None if reach - near.reach <= NEAR * reach => return f64::NAN,
            None => blocked = reach,
        }
        let near = path.last().expect("it begins at the minimum");
        // Three steps on which it rose no more, far out or next to the bound: it rises no more.
        let level = path.len() > 3 && near.worse < 1.0 - 10.0 * LEVEL && near.worse - path[path.len() - 4].worse < LEVEL;
        if level && (near.reach > FAR || last - near.reach < last / FAR) && (blocked.is_infinite() || blocked >= last) {
            return if last.is_finite() { limit } else { f64::INFINITY.copysign(step) };
        }
        let onwards = if near.worse > 0.3 { (1.2 / near.worse).min(2.0) } else { 2.0 };
        let wanted = (near.reach * onwards).max(1.0);
        reach = match () {
            () if blocked.is_finite() => wanted.min(0.5 * (near.reach + blocked)),
            () => wanted.min(last),
        };
    }
    let Some(mut outside) = outside else {
        return if blocked.is_infinite() && last.is_infinite() { f64::INFINITY.copysign(step) } else { f64::NAN };
    };
    // Regula falsi, with the half of the end that stays twice (Illinois), kept away from both ends.
    let (mut low, mut high) = (path.last().expect("it begins at the minimum").worse - 1.0, outside.worse - 1.0);
    let mut stayed = 0;
    for _ in 0..STEPS {
        let (a, b) = (path.last().expect("it begins at the minimum").reach, outside.reach);
        if b - a < NEAR * b {
            break;
        }
        let share = if high.is_finite() { (-low / (high - low)).clamp(0.1 * NEAR, 1.0 - 0.1 * NEAR) } else { 0.5 };
        let width = 0.4 * NEAR * b;
        let reach = (a + share * (b - a)).clamp((a + width).min(0.5 * (a + b)), (b - width).max(0.5 * (a + b)));
        match side.at(reach, value(reach), &path) {
            Some(p) if p.worse < 1.0 => {
                low = p.worse - 1.0;
                path.push(p);
                high = if stayed == 1 { 0.5 * high } else { high };
                stayed = 1;
            }
            found => {
                // What cannot be computed is outside as far as anybody knows.
                outside = found.unwrap_or(Point { reach, worse: f64::INFINITY, others: vec![] });
                high = outside.worse - 1.0;
                low = if stayed == -1 { 0.5 * low } else { low };
                stayed = -1;
            }
        }
    }
    if outside.worse.is_infinite() { f64::NAN } else { value(0.5 * (path.last().map_or(0.0, |p| p.reach) + outside.reach)) }
}

/// What is said of intervals that have no end on a side because the model cannot be computed so far.
pub(crate) fn unfollowed(names: &[String], ends: &[Option<(f64, f64)>]) -> Vec<String> {
    let one = |(name, ends): (&String, &Option<(f64, f64)>)| {
        let which = match (*ends)? {
            (low, high) if low.is_nan() && high.is_nan() => "neither end is",
            (low, _) if low.is_nan() => "the lower end is not",
            (_, high) if high.is_nan() => "the upper end is not",
            _ => return None,
        };
        Some(format!("the profile of `{name}` stays within the limit as far as the model can be computed: {which} known"))
    };
    names.iter().zip(ends).filter_map(one).collect()
}
