//! One local fit: Levenberg-Marquardt as a trust region on scaled parameters (Moré 1978), with bounds. In: residuals, a start;
//! out: the nearest minimum, as exact as the numbers allow.
//! Invariants: the parameters never leave their bounds; the cost of an accepted step is never higher, but for the last Gauss-Newton
//! steps, whose gain is below what the cost can show; every run ends.

use super::arrow::Groups;
use super::linear::Linear;
use super::loss::Loss;
use super::{Bounds, Residuals, Unusable, norm};
use std::sync::atomic::{AtomicBool, Ordering};

/// A gain that rounding errors of a sum of squares drown.
pub const GAIN: f64 = 1e-14;
/// Residuals beyond which digits far below a standard error are not worth an evaluation, and what share of a standard error is.
const MANY: usize = 4096;
const NEGLIGIBLE: f64 = 1e-5;
/// The share of a standard error that the cost need not tell apart where residuals are blurred: full steps do the rest.
const BLURRED: f64 = 1e-3;

/// The share of the cost that steps through a wall must promise for the fit to have ended at the wall rather than at a minimum beside it.
const WALL: f64 = 1e-6;

/// When a local fit stops.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Evaluations at most.
    pub evaluations: usize,
    /// A step that promises less than this share of the cost is none.
    pub gain: f64,
    /// Polish to the last digit; of many residuals, until a step is a hundred-thousandth of a standard error.
    pub polish: bool,
    /// Set from outside to stop early.
    pub cancel: Option<&'a AtomicBool>,
    /// Told the cost of every point accepted.
    pub tell: Option<&'a (dyn Fn(f64) + Sync)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { evaluations: 600, gain: GAIN, polish: true, cancel: None, tell: None }
    }
}

impl Options<'_> {
    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|c| c.load(Ordering::Relaxed))
    }
}

/// Why a local fit ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At a minimum.
    Converged,
    /// After as many evaluations as allowed.
    Evaluations,
    /// Because it was told to.
    Cancelled,
    /// Where rows held out were explained best.
    HeldOut,
    /// Before values at which the residuals cannot be computed, though these promise a lower cost: no minimum.
    Wall,
}

/// A local fit.
#[derive(Clone, Debug)]
pub struct Local {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The residuals there, with their derivatives.
    pub linear: Linear,
    /// The cost there.
    pub cost: f64,
    /// Evaluations used.
    pub evaluations: usize,
    /// Why it ended.
    pub end: End,
    /// What cannot be computed behind the wall it ended at.
    pub wall: Option<Unusable>,
}

/// A point with everything known there; the linear model is rescaled by the loss.
struct Point {
    theta: Vec<f64>,
    linear: Linear,
    cost: f64,
    /// Whether the cost is the problem's own.
    own: bool,
}

/// The share of itself by which a number may change without moving: some of its last digits.
const STILL: f64 = 1e-15;

impl Point {
    /// Whether a step moves nothing: each parameter by less than its last digits, or, as one that is 0 has none, the residuals by less than
    /// those of what all parameters together do to them. `likely`: these are no residuals, but those of a likelihood.
    fn is_still(&self, by: &[f64], likely: bool) -> bool {
        let sizes: Vec<f64> = (0..by.len()).map(|j| self.linear.size(j)).collect();
        by.iter().zip(&self.theta).all(|(b, x)| b.abs() <= STILL * x.abs())
            || !likely && scaled_size(by, &sizes) <= STILL * scaled_size(&self.theta, &sizes)
    }
}

struct Search<'a> {
    problem: &'a dyn Residuals,
    bounds: &'a Bounds,
    loss: Loss,
    evaluations: usize,
}

/// A step, what the linear model promises of it, and whether the trust region, or a bound, cut it short.
struct Step {
    by: Vec<f64>,
    promised: f64,
    limited: bool,
    cut: bool,
}

impl Search<'_> {
    fn point(&mut self, theta: Vec<f64>) -> Result<Point, Unusable> {
        let groups = self.problem.groups();
        let (m, n) = (self.problem.count(), groups.map_or_else(|| self.problem.parameters(), Groups::width));
        let (mut residuals, mut jacobian) = Linear::memory(m, n);
        self.evaluations += 1;
        let own = self.problem.objective(&theta, &mut residuals, Some(&mut jacobian))?;
        let cost = own.unwrap_or_else(|| self.loss.cost(&residuals));
        if own.is_none() {
            self.loss.rescale(&mut residuals, &mut jacobian);
        }
        if !cost.is_finite() {
            return Err(Unusable(
                if self.problem.is_likelihood() { "the likelihood is not finite" } else { "the sum of squares is not finite" }.into(),
            ));
        }
        let linear = match groups {
            Some(groups) => Linear::grouped(residuals, jacobian, groups),
            None => Linear::new(residuals, jacobian),
        };
        Ok(Point { theta, linear, cost, own: own.is_some() })
    }

    /// What gains are measured by: the cost itself, or for a likelihood, of which only differences mean something, the number of data.
    fn unit(&self, point: &Point) -> f64 {
        if self.problem.is_likelihood() { self.problem.count() as f64 } else { point.cost }
    }

    /// The best step of the linear model within a radius (in scaled parameters) and within the bounds.
    fn step(&self, point: &Point, scale: &[f64], radius: f64, share: Option<f64>) -> Option<Step> {
        let n = point.theta.len();
        // A parameter at its bound that wants to go further stays; one that a step would carry beyond its bound goes up to it.
        let mut pinned: Vec<Option<f64>> = (0..n)
            .map(|j| {
                let slope = point.linear.slope(j);
                let stuck =
                    (point.theta[j] <= self.bounds.min[j] && slope >= 0.0) || (point.theta[j] >= self.bounds.max[j] && slope <= 0.0);
                stuck.then_some(0.0)
            })
            .collect();
        loop {
            let free: Vec<usize> = (0..n).filter(|&j| pinned[j].is_none()).collect();
            let moved: Vec<f64> = pinned.iter().map(|by| by.unwrap_or(0.0)).collect();
            let scales: Vec<f64> = free.iter().map(|&j| scale[j]).collect();
            let (z, limited) = point.linear.step(&free, &scales, &moved, radius, share)?;
            // The bound that is met first on the way holds its parameter; where the others go then is another question.
            let mut first: Option<(f64, usize, f64)> = None;
            let mut by = moved;
            for (&j, z) in free.iter().zip(z) {
                by[j] = z / scale[j];
                let target = point.theta[j] + by[j];
                let clipped = target.clamp(self.bounds.min[j], self.bounds.max[j]) - point.theta[j];
                let share = clipped / by[j];
                if target != point.theta[j] + clipped && first.is_none_or(|f| share < f.0) {
                    first = Some((share, j, clipped));
                }
            }
            if let Some((_, j, clipped)) = first {
                pinned[j] = Some(clipped);
                continue;
            }
            let promised = point.linear.promised(&by);
            let cut = pinned.iter().any(|p| p.is_some_and(|by| by != 0.0));
            return Some(Step { by, promised, limited, cut });
        }
    }

    fn moved(&self, point: &Point, by: &[f64]) -> Vec<f64> {
        (0..by.len()).map(|j| (point.theta[j] + by[j]).clamp(self.bounds.min[j], self.bounds.max[j])).collect()
    }

    /// Full Gauss-Newton steps for as long as they shrink: to the last digit, where the cost no longer tells steps apart.
    fn polish(&mut self, mut point: Point, options: &Options<'_>) -> Point {
        let mut last = f64::INFINITY;
        for _ in 0..60 {
            if options.cancelled() {
                break;
            }
            let scale: Vec<f64> = (0..point.theta.len()).map(|j| point.linear.size(j)).map(|s| if s > 0.0 { s } else { 1.0 }).collect();
            let Some(step) = self.step(&point, &scale, f64::INFINITY, Some(1e-13)) else { break };
            let length = scaled_size(&step.by, &scale);
            let nothing = step.by.iter().zip(&point.theta).all(|(b, x)| b.abs() <= f64::EPSILON * x.abs());
            let rows = self.problem.observations();
            let negligible = (rows > MANY || self.problem.blur() > 0.0) && length <= NEGLIGIBLE * (self.unit(&point) / rows as f64).sqrt();
            if nothing || negligible || length >= 0.9 * last {
                break;
            }
            last = length;
            match self.point(self.moved(&point, &step.by)) {
                Ok(next) if next.cost <= point.cost + 1e-9 * self.unit(&point) => point = next,
                _ => break,
            }
        }
        point
    }
}

/// How long a step, or the parameters themselves, are in their scales.
fn scaled_size(by: &[f64], scale: &[f64]) -> f64 {
    norm(&by.iter().zip(scale).map(|(b, s)| b * s).collect::<Vec<_>>())
}

/// How far the parameters may be expected to move at once, relative to their scaled size.
const FIRST_RADIUS: f64 = 10.0;

/// The minimum near a start.
pub fn minimise(problem: &dyn Residuals, start: &[f64], bounds: &Bounds, loss: Loss, options: &Options<'_>) -> Result<Local, Unusable> {
    let mut search = Search { problem, bounds, loss, evaluations: 0 };
    let inside: Vec<f64> = start.iter().enumerate().map(|(j, x)| x.clamp(bounds.min[j], bounds.max[j])).collect();
    let mut point = search.point(inside)?;
    let n = start.len();
    let mut scale = vec![0.0f64; n];
    let mut radius = f64::NAN;
    let mut end = End::Evaluations;
    let mut wall = None;
    // Where residuals are blurred, steps that promise less than the cost can show are left to the last full ones.
    let blur = problem.blur();
    let gain = if blur > 0.0 { options.gain.max(BLURRED * BLURRED / problem.count().max(1) as f64) } else { options.gain };
    let likely = problem.is_likelihood();
    'points: while search.evaluations < options.evaluations {
        let unit = search.unit(&point);
        if options.cancelled() {
            end = End::Cancelled;
            break;
        }
        for (j, s) in scale.iter_mut().enumerate() {
            *s = s.max(point.linear.size(j));
        }
        let safe: Vec<f64> = scale.iter().map(|&s| if s > 0.0 { s } else { 1.0 }).collect();
        if radius.is_nan() {
            let size = scaled_size(&point.theta, &safe);
            radius = FIRST_RADIUS * if size > 0.0 { size } else { 1.0 };
        }
        let mut accepted = false;
        let mut finished = false;
        wall = None;
        while !accepted && search.evaluations < options.evaluations && !options.cancelled() {
            let Some(step) = search.step(&point, &safe, radius, None) else {
                let why = Unusable("the derivatives of the residuals are not finite".into());
                // What was reached on the way is better than nothing.
                if search.evaluations == 1 {
                    return Err(why);
                }
                (end, wall) = (End::Wall, Some(why));
                break 'points;
            };
            let length = scaled_size(&step.by, &safe);
            let still = point.is_still(&step.by, likely);
            let little = step.promised <= gain * unit;
            // Bounds may spoil a long step so that it promises nothing: a shorter one does not meet them.
            if little && step.cut && !still {
                radius = 0.25 * length;
                continue;
            }
            if little && !step.limited || still || (point.cost <= blur && !likely) {
                finished = true;
                break;
            }
            let trial = search.point(search.moved(&point, &step.by));
            // A stop is no wall: the point here is the best so far, and nothing is known of the next.
            if trial.is_err() && problem.stopped() {
                end = End::Cancelled;
                break 'points;
            }
            let ratio = match &trial {
                Ok(t) => (point.cost - t.cost) / step.promised.max(f64::MIN_POSITIVE),
                Err(why) => {
                    wall = Some(why.clone());
                    f64::NEG_INFINITY
                }
            };
            if ratio <= 0.25 {
                // A cost that barely rose says how far the linear model holds; one that exploded only that it does not.
                let shrink = if ratio.is_finite() { (0.5 / (1.0 - ratio).max(0.5)).clamp(0.1, 0.5) } else { 0.1 };
                radius = shrink * radius.min(length);
            } else if ratio >= 0.75 && step.limited {
                radius = radius.max(2.5 * length);
            } else if ratio >= 0.75 {
                radius = radius.max(2.0 * length);
            }
            if let (Ok(next), true) = (trial, ratio > 1e-4) {
                accepted = true;
                point = next;
                options.tell.iter().for_each(|tell| tell(point.cost));
            } else {
                // A shorter step that can be computed and leads nowhere is no wall's: where residuals stand still, as those of b² at b = 0,
                // the longest steps go anywhere.
                if ratio.is_finite() {
                    wall = None;
                }
                if step.promised <= gain.max(1e-12) * unit {
                    finished = true;
                    break;
                }
            }
        }
        if finished {
            // A radius that shrank to nothing before a wall says nothing about the slope here.
            let promised = wall.as_ref().and_then(|_| search.step(&point, &safe, f64::INFINITY, None)).map_or(0.0, |s| s.promised);
            end = if promised > WALL * unit { End::Wall } else { End::Converged };
            break;
        }
    }
    if options.cancelled() {
        end = End::Cancelled;
    }
    if options.polish && end == End::Converged {
        point = search.polish(point, options);
    }
    finish(&mut search, point, end, wall.filter(|_| end == End::Wall))
}

/// The point as the problem gives it, without the loss.
fn finish(search: &mut Search<'_>, point: Point, end: End, wall: Option<Unusable>) -> Result<Local, Unusable> {
    let Point { theta, mut linear, cost, own } = point;
    // After a stop there is no evaluation to be had, and what a search goes on with is the point and its cost.
    if search.loss != Loss::Squares && !own && !search.problem.stopped() {
        let (mut residuals, mut jacobian) = linear.into_parts();
        search.problem.evaluate(&theta, &mut residuals, Some(&mut jacobian))?;
        linear = Linear::new(residuals, jacobian);
    }
    Ok(Local { theta, linear, cost, evaluations: search.evaluations, end, wall })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// A narrow valley along a = b, whose floor falls until a + b = 10.
    struct Valley;

    impl Residuals for Valley {
        fn parameters(&self) -> usize {
            2
        }

        fn count(&self) -> usize {
            2
        }

        fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
            residuals.copy_from_slice(&[100.0 * (theta[0] - theta[1]), theta[0] + theta[1] - 10.0]);
            if let Some(jacobian) = jacobian {
                jacobian.copy_from_slice(&[100.0, 1.0, -100.0, 1.0]);
            }
            Ok(())
        }
    }

    /// The residual a⁴ - 1, which is stopped after so many evaluations.
    struct Stopped {
        after: usize,
        so_far: AtomicUsize,
    }

    impl Residuals for Stopped {
        fn parameters(&self) -> usize {
            1
        }

        fn count(&self) -> usize {
            1
        }

        fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
            if self.so_far.fetch_add(1, Ordering::Relaxed) >= self.after {
                return Err(Unusable("it was stopped".into()));
            }
            residuals[0] = theta[0].powi(4) - 1.0;
            jacobian.into_iter().for_each(|jacobian| jacobian[0] = 4.0 * theta[0].powi(3));
            Ok(())
        }

        fn stopped(&self) -> bool {
            self.so_far.load(Ordering::Relaxed) > self.after
        }
    }

    #[test]
    fn a_stop_is_neither_a_wall_nor_a_minimum() {
        let found = |after: usize, loss: Loss| {
            let problem = Stopped { after, so_far: AtomicUsize::new(0) };
            minimise(&problem, &[3.0], &Bounds::none(1), loss, &Options::default())
        };
        for loss in [Loss::Squares, Loss::Huber(0.5)] {
            let whole = found(usize::MAX, loss).unwrap();
            assert!(whole.end == End::Converged && (whole.theta[0].abs() - 1.0).abs() < 1e-9, "{whole:?}");
            let mut last = f64::INFINITY;
            for after in 1..4 {
                let best = found(after, loss).unwrap();
                assert!(best.end == End::Cancelled && best.wall.is_none() && best.cost <= last, "{loss:?}, after {after}: {best:?}");
                last = best.cost;
            }
            assert!(found(0, loss).is_err());
        }
    }

    #[test]
    fn a_step_into_a_corner_is_no_minimum() {
        // The step goes to (5, 5), beyond both bounds, and the corner of the bounds is far up the side of the valley.
        for (max, expected) in [([1.0, 3.0], [1.0, 10_009.0 / 10_001.0]), ([3.0, 1.0], [10_009.0 / 10_001.0, 1.0])] {
            let bounds = Bounds { min: vec![-10.0; 2], max: max.to_vec() };
            let found = minimise(&Valley, &[0.0, 0.0], &bounds, Loss::Squares, &Options::default()).unwrap();
            assert_eq!(found.end, End::Converged);
            assert!(found.theta.iter().zip(expected).all(|(x, e)| (x - e).abs() < 1e-9), "{:?}", found.theta);
        }
    }
}
