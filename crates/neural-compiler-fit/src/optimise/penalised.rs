//! Least squares with a penalty: Levenberg-Marquardt for models with very many numbers, most of which are held near a centre. In:
//! residuals, a start, how strongly each number is held; out: the minimum of `|r|² + Σ strength (θ - centre)²` near the start.
//!
//! The held numbers (the weights of nets) are eliminated in whichever space is smaller, that of the residuals or that of the numbers;
//! the free ones (constants of known laws) are then solved for by least squares against what the held ones cannot explain for less. So
//! their precision does not suffer from the size of the rest.
//! Invariants: one thread, fixed order; numbers stay within their bounds; an accepted step never raises the penalised cost.

use super::loss::Loss;
use super::{Bounds, Residuals, Unusable, dot, norm};
use faer::linalg::matmul::matmul;
use faer::linalg::solvers::{Solve, SolveLstsq};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatRef, Par, Side};
use std::sync::atomic::{AtomicBool, Ordering};

/// How strongly each number is held, and where; a strength of 0 is a free number.
#[derive(Clone, Debug, PartialEq)]
pub struct Penalty {
    /// Per number.
    pub strength: Vec<f64>,
    /// Per number.
    pub centre: Vec<f64>,
}

impl Penalty {
    /// What the penalty adds to the cost.
    pub fn cost(&self, theta: &[f64]) -> f64 {
        theta.iter().zip(&self.strength).zip(&self.centre).map(|((x, s), c)| s * (x - c) * (x - c)).sum()
    }
}

/// A point with everything known there; residuals and derivatives are rescaled by the loss.
#[derive(Clone, Debug)]
pub struct Point {
    /// The numbers.
    pub theta: Vec<f64>,
    /// Residuals.
    pub residuals: Vec<f64>,
    /// Their derivatives, column by column.
    pub jacobian: Vec<f64>,
    /// The cost without the penalty.
    pub cost: f64,
}

impl Point {
    /// The point at some numbers.
    pub fn at(problem: &dyn Residuals, theta: Vec<f64>, loss: Loss) -> Result<Point, Unusable> {
        let (m, n) = (problem.count(), problem.parameters());
        let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * n]);
        problem.evaluate(&theta, &mut residuals, Some(&mut jacobian))?;
        let cost = loss.cost(&residuals);
        if !cost.is_finite() {
            return Err(Unusable("the sum of squares is not finite".into()));
        }
        loss.rescale(&mut residuals, &mut jacobian);
        Ok(Point { theta, residuals, jacobian, cost })
    }

    fn column(&self, j: usize) -> &[f64] {
        let m = self.residuals.len();
        &self.jacobian[j * m..(j + 1) * m]
    }
}

/// When to stop.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Evaluations at most.
    pub evaluations: usize,
    /// A step that promises less than this share of the cost is the last.
    pub tolerance: f64,
    /// Robust or not.
    pub loss: Loss,
    /// Set from outside to stop early.
    pub cancel: Option<&'a AtomicBool>,
}

impl Options<'_> {
    /// Whether to stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|c| c.load(Ordering::Relaxed))
    }
}

/// The linear model at a point: which columns are free, which are held.
struct Linear<'a> {
    point: &'a Point,
    penalty: &'a Penalty,
    free: Vec<usize>,
    held: Vec<usize>,
    /// `Jᵀ J` of the free, then the held columns, where that is the smaller space; made once per point.
    normal: Option<Mat<f64>>,
}

/// Columns side by side, each times a factor.
fn gather(point: &Point, columns: &[usize], factor: impl Fn(usize) -> f64) -> Mat<f64> {
    let m = point.residuals.len();
    let mut out = Mat::<f64>::zeros(m, columns.len());
    for (k, &j) in columns.iter().enumerate() {
        let f = factor(j);
        let column = out.col_mut(k).try_as_col_major_mut().expect("columns are contiguous").as_slice_mut();
        column.iter_mut().zip(point.column(j)).for_each(|(o, x)| *o = f * x);
    }
    out
}

/// `a aᵀ` (or `aᵀ a`), in one order.
pub(crate) fn gram(a: MatRef<'_, f64>, transposed: bool) -> Mat<f64> {
    let n = if transposed { a.ncols() } else { a.nrows() };
    let mut out = Mat::<f64>::zeros(n, n);
    let (l, r) = if transposed { (a.transpose(), a) } else { (a, a.transpose()) };
    matmul(&mut out, Accum::Replace, l, r, 1.0, Par::Seq);
    out
}

impl<'a> Linear<'a> {
    fn new(point: &'a Point, penalty: &'a Penalty, bounds: &Bounds) -> Linear<'a> {
        let stuck = |j: usize| {
            let slope = || dot(point.column(j), &point.residuals);
            (point.theta[j] <= bounds.min[j] && slope() >= 0.0) || (point.theta[j] >= bounds.max[j] && slope() <= 0.0)
        };
        let (free, held): (Vec<usize>, Vec<usize>) =
            (0..point.theta.len()).filter(|&j| !stuck(j)).partition(|&j| penalty.strength[j] == 0.0);
        let m = point.residuals.len();
        let normal = (m > held.len()).then(|| {
            let all: Vec<usize> = free.iter().chain(&held).copied().collect();
            gram(gather(point, &all, |_| 1.0).as_ref(), true)
        });
        Linear { point, penalty, free, held, normal }
    }

    /// The step of the damped linear model; `None` when its equations cannot be solved in these numbers.
    fn step(&self, damping: &[f64]) -> Option<Vec<f64>> {
        let by = match &self.normal {
            Some(normal) => self.among_numbers(normal, damping),
            None => self.among_residuals(damping),
        }?;
        by.iter().all(|x| x.is_finite()).then_some(by)
    }

    fn among_numbers(&self, normal: &Mat<f64>, damping: &[f64]) -> Option<Vec<f64>> {
        let all: Vec<usize> = self.free.iter().chain(&self.held).copied().collect();
        let n = all.len();
        let (strength, centre, theta) = (&self.penalty.strength, &self.penalty.centre, &self.point.theta);
        let diagonal: Vec<f64> = all.iter().enumerate().map(|(k, &j)| normal[(k, k)] + strength[j] + damping[j]).collect();
        let scale: Vec<f64> = diagonal.iter().map(|d| if *d > 0.0 { 1.0 / d.sqrt() } else { 1.0 }).collect();
        let matrix =
            Mat::<f64>::from_fn(n, n, |r, c| if r == c { diagonal[r] * scale[r] * scale[r] } else { normal[(r, c)] * scale[r] * scale[c] });
        let slope =
            |k: usize, j: usize| -scale[k] * (dot(self.point.column(j), &self.point.residuals) + strength[j] * (theta[j] - centre[j]));
        let rhs = Mat::<f64>::from_fn(n, 1, |k, _| slope(k, all[k]));
        let solved = matrix.llt(Side::Lower).ok()?.solve(&rhs);
        let mut by = vec![0.0; theta.len()];
        all.iter().enumerate().for_each(|(k, &j)| by[j] = scale[k] * solved[(k, 0)]);
        Some(by)
    }

    fn among_residuals(&self, damping: &[f64]) -> Option<Vec<f64>> {
        let Penalty { strength, centre } = self.penalty;
        let (point, m) = (self.point, self.point.residuals.len());
        let hold = |j: usize| strength[j] + damping[j];
        let scaled = gather(point, &self.held, |j| 1.0 / hold(j).sqrt());
        let mut spread = gram(scaled.as_ref(), false);
        (0..m).for_each(|i| spread[(i, i)] += 1.0);
        let factor = spread.llt(Side::Lower).ok()?;
        // Without data the held numbers would go here; what is left of the residuals then is to be explained.
        let mut by = vec![0.0; point.theta.len()];
        let mut left = point.residuals.clone();
        for &j in &self.held {
            by[j] = -strength[j] * (point.theta[j] - centre[j]) / hold(j);
            left.iter_mut().zip(point.column(j)).for_each(|(l, x)| *l += by[j] * x);
        }
        // The free numbers, by least squares in residuals whitened by what the held ones explain.
        let p = self.free.len();
        if p > 0 {
            let mut white = Mat::<f64>::zeros(m + p, p + 1);
            for (k, &j) in self.free.iter().enumerate() {
                (0..m).for_each(|i| white[(i, k)] = point.column(j)[i]);
            }
            (0..m).for_each(|i| white[(i, p)] = -left[i]);
            solve_lower_triangular_in_place(factor.L(), white.as_mut().subrows_mut(0, m), Par::Seq);
            self.free.iter().enumerate().for_each(|(k, &j)| white[(m + k, k)] = damping[j].sqrt());
            let solved = white.subcols(0, p).qr().solve_lstsq(white.subcols(p, 1));
            for (k, &j) in self.free.iter().enumerate() {
                by[j] = solved[(k, 0)];
                left.iter_mut().zip(point.column(j)).for_each(|(l, x)| *l += by[j] * x);
            }
        }
        let pulled = factor.solve(&Mat::<f64>::from_fn(m, 1, |i, _| left[i]));
        let pulled: Vec<f64> = (0..m).map(|i| pulled[(i, 0)]).collect();
        self.held.iter().for_each(|&j| by[j] -= dot(point.column(j), &pulled) / hold(j));
        Some(by)
    }
}

/// What became of a search.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Where it ended.
    pub point: Point,
    /// Whether that is a minimum.
    pub converged: bool,
}

/// The minimum near a start. `watch` sees every accepted point and may end the search by returning false.
pub fn minimise(
    problem: &dyn Residuals,
    start: Point,
    bounds: &Bounds,
    penalty: &Penalty,
    options: &Options<'_>,
    watch: &mut dyn FnMut(&Point) -> bool,
) -> Result<Reached, Unusable> {
    let mut point = start;
    let n = point.theta.len();
    let (mut mu, mut grow) = (1e-3, 2.0);
    let mut evaluations = 0;
    while evaluations < options.evaluations && !options.cancelled() {
        let linear = Linear::new(&point, penalty, bounds);
        // Free numbers on their own scale, held ones on a common one: their own would let weights without influence wander.
        let norms: Vec<f64> = (0..n).map(|j| norm(point.column(j)).powi(2)).collect();
        let common = linear.held.iter().map(|&j| norms[j]).sum::<f64>() / linear.held.len().max(1) as f64;
        let scale: Vec<f64> = (0..n).map(|j| if penalty.strength[j] > 0.0 { common.max(penalty.strength[j]) } else { norms[j] }).collect();
        let before = point.cost + penalty.cost(&point.theta);
        loop {
            let damping: Vec<f64> = scale.iter().map(|s| if *s > 0.0 { mu * s } else { mu }).collect();
            let moved = linear.step(&damping).map(|by| {
                let theta: Vec<f64> = (0..n).map(|j| (point.theta[j] + by[j]).clamp(bounds.min[j], bounds.max[j])).collect();
                let mut change = point.residuals.clone();
                (0..n).filter(|&j| by[j] != 0.0).for_each(|j| change.iter_mut().zip(point.column(j)).for_each(|(c, x)| *c += by[j] * x));
                let free: Vec<f64> = (0..n).map(|j| point.theta[j] + by[j]).collect();
                (theta, dot(&point.residuals, &point.residuals) - dot(&change, &change) + penalty.cost(&point.theta) - penalty.cost(&free))
            });
            if let Some((_, promised)) = moved
                && promised <= options.tolerance * before
            {
                return Ok(Reached { point, converged: true });
            }
            evaluations += 1;
            let trial = moved.and_then(|(theta, promised)| Some((Point::at(problem, theta, options.loss).ok()?, promised)));
            let ratio = trial.as_ref().map_or(-1.0, |(t, promised)| (before - t.cost - penalty.cost(&t.theta)) / promised);
            if let (Some((next, _)), true) = (trial, ratio > 1e-3) {
                mu = (mu * (1.0 - (2.0 * ratio - 1.0).powi(3)).max(0.2)).max(1e-12);
                grow = 2.0;
                point = next;
                if !watch(&point) {
                    return Ok(Reached { point, converged: false });
                }
                break;
            }
            mu *= grow;
            grow *= 2.0;
            if mu > 1e20 {
                return Ok(Reached { point, converged: true });
            }
            if evaluations >= options.evaluations || options.cancelled() {
                break;
            }
        }
    }
    Ok(Reached { point, converged: false })
}
