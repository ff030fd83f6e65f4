//! Intervals by profile likelihood. In: a minimum; out: for each parameter the values at which the best fit with it held there is worse
//! by what a 95 % interval allows. Unlike a standard error it does not assume that the cost is a parabola.
//! Invariants: an end is infinite, or the bound of the parameter, only where the profile was followed so far and stayed below the limit;
//! one that lies beyond where the model can be computed is NaN, never a guess.

use crate::optimise::loss::Loss;
use crate::optimise::{Bounds, Residuals, Unusable, cost_at, lm};
use crate::report::Parameter;
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

/// The profile interval of every parameter that has a standard error, and of every one that ended at its bound, where one end is the bound.
pub(crate) fn intervals(
    problem: &dyn Residuals,
    best: &lm::Local,
    bounds: &Bounds,
    loss: Loss,
    uncertainty: &Uncertainty,
    tell: Tell<'_>,
) -> Vec<Option<(f64, f64)>> {
    let allowed = uncertainty.rise;
    let ends_of = |c: &Certainty| match c {
        Certainty::Error(_) => 2,
        Certainty::AtBound => 1,
        _ => 0,
    };
    let all = uncertainty.certainty.iter().map(ends_of).sum();
    let done = AtomicUsize::new(0);
    let look = || tell(done.load(Ordering::Relaxed), all);
    let one = |j: usize| {
        let end = |step: f64| {
            let found = one_end(problem, best, bounds, loss, j, step, allowed, &look);
            done.fetch_add(1, Ordering::Relaxed);
            look();
            found
        };
        match uncertainty.certainty[j] {
            Certainty::Error(error) if allowed.is_finite() && error > 0.0 => {
                let step = error * uncertainty.reach;
                Some((end(-step), end(step)))
            }
            Certainty::AtBound if allowed.is_finite() && bounds.min[j] < bounds.max[j] => {
                let step = inwards(best, j, allowed);
                Some(if best.theta[j] <= bounds.min[j] { (bounds.min[j], end(step)) } else { (end(-step), bounds.max[j]) })
            }
            _ => None,
        }
    };
    (0..best.theta.len()).into_par_iter().map(one).collect()
}

/// How far a parameter may go from its bound before the linear model, the others held, is worse by what is allowed.
fn inwards(best: &lm::Local, j: usize, allowed: f64) -> f64 {
    let (slope, size) = (best.linear.slope(j).abs(), best.linear.size(j));
    // The smaller root of size² h² + 2 slope h = allowed, in the form that keeps its digits.
    let step = allowed / (slope + (slope * slope + size * size * allowed).sqrt());
    let usual = if best.theta[j] == 0.0 { 1.0 } else { best.theta[j].abs() };
    if step.is_finite() && step > 0.0 { step } else { usual }
}

/// The share of a limit by which the profile is level if it rises by less on three steps, each at most twice as far as the one before.
const LEVEL: f64 = 1e-3;
/// How many standard errors away a profile that is level is given up where the model cannot be computed twice as far.
const FAR: f64 = 64.0;
/// How far below and above the limit two neighbouring places lie between which the profile jumps.
const JUMP: f64 = 0.05;
/// Steps outwards, each twice as far as the one before at most, and inwards to where it crosses.
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
        let level = path.len() > 3 && near.worse < 1.0 - 10.0 * LEVEL && near.worse - path[path.len() - 4].worse < LEVEL;
        // At the bound itself nothing can be computed: what holds as near to it as can be told apart holds there.
        if level && last.is_finite() && blocked == last && last - near.reach <= NEAR * last {
            return limit;
        }
        if level && blocked < last && near.reach > FAR {
            return f64::NAN;
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
        // Next to a bound of 0 as near as the digits of the value, not of the way there.
        let fine = (NEAR * b.min(last - a)).max(4.0 * f64::EPSILON * b);
        if b - a < fine {
            break;
        }
        let share = if high.is_finite() { (-low / (high - low)).clamp(0.1 * NEAR, 1.0 - 0.1 * NEAR) } else { 0.5 };
        let width = 0.4 * fine;
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
    // Far out the profile may end because the model is not computed well any more: then it jumps, where it was level.
    let jumps = path.last().is_some_and(|near| near.reach > FAR && near.worse < 1.0 - JUMP && outside.worse > 1.0 + JUMP);
    if outside.worse.is_infinite() || jumps { f64::NAN } else { value(0.5 * (path.last().map_or(0.0, |p| p.reach) + outside.reach)) }
}

/// How many times as far one of two ends lies as the other, if the one that is told by a standard error is misleading.
const MISLEADING: f64 = 2.0;

/// The parameters whose profile ends elsewhere than the interval by their standard error says: far beyond it, or well within it and not at
/// their bound. `bounds`: as many pairs as parameters.
pub(crate) fn misled<'a>(parameters: &'a [Parameter], bounds: &[(f64, f64)]) -> Vec<&'a str> {
    let one = |(p, (min, max)): (&'a Parameter, &(f64, f64))| {
        let ((low, high), (lower, upper)) = (p.ci95?, p.profile?);
        let off = |usual: f64, profile: f64, bound: f64| {
            let (usual, profile_reach) = ((usual - p.value).abs(), (profile - p.value).abs());
            profile_reach > MISLEADING * usual || MISLEADING * profile_reach < usual && profile != bound
        };
        (off(low, lower, *min) || off(high, upper, *max)).then_some(p.name.as_str())
    };
    parameters.iter().zip(bounds).filter_map(one).collect()
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
