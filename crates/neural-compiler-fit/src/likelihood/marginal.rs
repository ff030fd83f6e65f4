//! Random effects, integrated out. In: likelihoods of groups, whose own parameters are drawn from a distribution; out: the likelihood of
//! the parameters that are shared, and its maximum.
//!
//! The integral over the effects of a group is that of the parabola at their mode (Laplace's method), with the expected information there
//! as its curvature, errors that depend on the prediction included: first-order conditional estimation with interaction (Lindstrom and
//! Bates 1990; Beal and Sheiner). For models that are linear in the effects and normal it is exact. Slopes are central differences, of the
//! fourth order, of these integrals on the scale of standard errors; the curvature for the search is the information the data have of the
//! shared parameters once the effects have been taken out.

use super::joint::Joint;
use super::maximum::{Maximum, held, newton, root};
use super::problem::Likelihood;
use crate::fit::wrong;
use crate::optimise::arrow::Blocks;
use crate::optimise::effort::Effort;
use crate::optimise::lm;
use crate::optimise::loss::Loss;
use crate::optimise::search::{self, Task};
use crate::optimise::{Bounds, Residuals, Unusable, dot};
use crate::options::Options;
use neural_compiler::Diagnostics;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// The steps of differences, in standard errors: for slopes, and for second derivatives.
const WIDTH: f64 = 0.01;
const SECOND_WIDTH: f64 = 0.05;

/// The likelihood of what groups share.
pub(crate) struct Marginal<'a> {
    pub(crate) joint: Joint<'a>,
    /// Where effects start: their means.
    pub(crate) means: Vec<f64>,
    pub(crate) bounds: Bounds,
}

/// The likelihood of the effects of a group, what is shared being held.
struct Conditional<'p, 'a> {
    part: &'p Likelihood<'a>,
    joint: &'p Joint<'a>,
    shared: &'p [f64],
    effects: usize,
}

impl Residuals for Conditional<'_, '_> {
    fn parameters(&self) -> usize {
        self.effects
    }

    fn count(&self) -> usize {
        self.part.count()
    }

    fn blur(&self) -> f64 {
        self.part.blur()
    }

    fn is_likelihood(&self) -> bool {
        true
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        self.objective(theta, residuals, jacobian).map(|_| ())
    }

    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        let all = self.joint.together(self.shared, theta);
        let Some(jacobian) = jacobian else { return self.part.objective(&all, residuals, None) };
        let m = residuals.len();
        let mut whole = vec![0.0; m * all.len()];
        let cost = self.part.objective(&all, residuals, Some(&mut whole))?;
        for (column, j) in jacobian.chunks_mut(m).zip(self.joint.own_columns()) {
            column.copy_from_slice(&whole[j * m..(j + 1) * m]);
        }
        Ok(cost)
    }
}

/// The mode of the effects of a group and what the integral over them comes to: minus twice its logarithm.
struct Mode {
    effects: Vec<f64>,
    cost: f64,
}

impl Marginal<'_> {
    fn shared(&self) -> usize {
        self.joint.shared()
    }

    /// `start`: values of the effects near the mode.
    fn mode(&self, theta: &[f64], group: usize, start: &[f64]) -> Result<Mode, Unusable> {
        let effects = self.means.len();
        let problem = Conditional { part: &self.joint.parts[group], joint: &self.joint, shared: theta, effects };
        let options = lm::Options { evaluations: 200, ..lm::Options::default() };
        let found = lm::minimise(&problem, start, &Bounds::none(effects), Loss::Squares, &options)?;
        let product = |a: usize, b: usize| dot(found.linear.column(a), found.linear.column(b));
        let matrix: Vec<f64> = (0..effects * effects).map(|k| product(k / effects, k % effects)).collect();
        let Some(logarithm) = log_determinant(&matrix, effects) else {
            return Err(Unusable("the data of a group and the distribution of its effects leave an effect open".into()));
        };
        Ok(Mode { cost: found.cost + logarithm - effects as f64 * TAU.ln(), effects: found.theta })
    }

    fn modes(&self, theta: &[f64]) -> Result<Vec<Mode>, Unusable> {
        self.modes_near(theta, None)
    }

    /// The same from the modes at parameters near by.
    fn modes_near(&self, theta: &[f64], near: Option<&[Mode]>) -> Result<Vec<Mode>, Unusable> {
        let start = |g: usize| near.map_or(&self.means, |modes| &modes[g].effects);
        let all: Vec<Result<Mode, Unusable>> = (0..self.joint.parts.len()).into_par_iter().map(|g| self.mode(theta, g, start(g))).collect();
        all.into_iter().collect()
    }

    /// The modes of all effects, group by group.
    pub(crate) fn effects(&self, theta: &[f64]) -> Result<Vec<Vec<f64>>, Unusable> {
        Ok(self.modes(theta)?.into_iter().map(|m| m.effects).collect())
    }

    fn cost(&self, theta: &[f64], near: Option<&[Mode]>) -> Result<f64, Unusable> {
        let sum: f64 = self.modes_near(theta, near)?.iter().map(|m| m.cost).sum();
        if sum.is_finite() { Ok(sum) } else { Err(Unusable("the likelihood is not finite".into())) }
    }

    /// What the data say of the shared parameters once the effects are taken out.
    fn curvature(&self, theta: &[f64]) -> Result<(Vec<Mode>, Vec<f64>), Unusable> {
        let s = self.shared();
        let modes = self.modes(theta)?;
        let one = |(g, mode): (usize, &Mode)| -> Result<Vec<f64>, Unusable> {
            let part = &self.joint.parts[g];
            let (m, n) = (part.count(), s + self.means.len());
            let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * n]);
            part.objective(&self.joint.together(theta, &mode.effects), &mut residuals, Some(&mut jacobian))?;
            let columns: Vec<&[f64]> = self.joint.in_order().iter().map(|&j| &jacobian[j * m..(j + 1) * m]).collect();
            let matrix: Vec<f64> = (0..n * n).map(|k| dot(columns[k / n], columns[k % n])).collect();
            let mut blocks = Blocks::zeros(s, self.means.len(), 1);
            blocks.add(Some(0), &matrix);
            blocks.complement().ok_or_else(|| Unusable("the data of a group leave an effect open".into()))
        };
        let parts: Vec<Result<Vec<f64>, Unusable>> = modes.par_iter().enumerate().map(one).collect();
        let mut sum = vec![0.0; s * s];
        for part in parts {
            sum.iter_mut().zip(part?).for_each(|(a, b)| *a += b);
        }
        Ok((modes, sum))
    }

    /// How far a parameter may go to either side.
    fn step(&self, theta: &[f64], j: usize, curvature: f64, width: f64) -> f64 {
        let usual = width / curvature.max(1e-300).sqrt();
        let room = (self.bounds.max[j] - theta[j]).min(theta[j] - self.bounds.min[j]);
        let usual = if usual.is_finite() { usual } else { width * theta[j].abs().max(1.0) };
        if room > 0.0 { usual.min(0.4 * room) } else { usual }
    }

    /// Half the slope of the cost.
    fn slope(&self, theta: &[f64], modes: &[Mode], curvature: &[f64]) -> Result<Vec<f64>, Unusable> {
        let s = theta.len();
        let one = |j: usize| {
            let h = self.step(theta, j, curvature[j * s + j], WIDTH);
            let at = |by: f64| {
                let mut moved = theta.to_vec();
                moved[j] += by;
                self.cost(&moved, Some(modes))
            };
            Ok((at(-2.0 * h)? - 8.0 * at(-h)? + 8.0 * at(h)? - at(2.0 * h)?) / (24.0 * h))
        };
        (0..s).map(one).collect()
    }

    /// Half the second derivatives of the cost.
    fn second(&self, theta: &[f64], modes: &[Mode], curvature: &[f64]) -> Result<Vec<f64>, Unusable> {
        let s = theta.len();
        let steps: Vec<f64> = (0..s).map(|j| self.step(theta, j, curvature[j * s + j], SECOND_WIDTH)).collect();
        let at = |moves: &[(usize, f64)]| {
            let mut moved = theta.to_vec();
            moves.iter().for_each(|(j, by)| moved[*j] += by * steps[*j]);
            self.cost(&moved, Some(modes))
        };
        let here = self.cost(theta, Some(modes))?;
        let mut matrix = vec![0.0; s * s];
        for i in 0..s {
            let along = at(&[(i, 1.0)])? - 2.0 * here + at(&[(i, -1.0)])?;
            matrix[i * s + i] = 0.5 * along / (steps[i] * steps[i]);
            for j in 0..i {
                let cross =
                    at(&[(i, 1.0), (j, 1.0)])? - at(&[(i, 1.0), (j, -1.0)])? - at(&[(i, -1.0), (j, 1.0)])? + at(&[(i, -1.0), (j, -1.0)])?;
                let x = 0.125 * cross / (steps[i] * steps[j]);
                (matrix[i * s + j], matrix[j * s + i]) = (x, x);
            }
        }
        Ok(matrix)
    }
}

/// The triangle of a positive matrix, row by row; `None` where it is not positive.
fn triangle(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum();
            let left = matrix[i * n + j] - sum;
            if i == j {
                if !(left > 0.0 && left.is_finite()) {
                    return None;
                }
                lower[i * n + i] = left.sqrt();
            } else {
                lower[i * n + j] = left / lower[j * n + j];
            }
        }
    }
    Some(lower)
}

fn log_determinant(matrix: &[f64], n: usize) -> Option<f64> {
    triangle(matrix, n).map(|l| (0..n).map(|i| 2.0 * l[i * n + i].ln()).sum())
}

impl Residuals for Marginal<'_> {
    fn parameters(&self) -> usize {
        self.shared()
    }

    fn count(&self) -> usize {
        self.shared()
    }

    fn blur(&self) -> f64 {
        // Modes are found to the last digit but one; what differences make of that is far below a standard error.
        self.joint.blur().max(1e-10)
    }

    fn is_likelihood(&self) -> bool {
        true
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        self.objective(theta, residuals, jacobian).map(|_| ())
    }

    /// The residuals are the slope divided by a root of the curvature, which is what stands in the place of derivatives.
    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        let Some(jacobian) = jacobian else {
            residuals.fill(0.0);
            return self.cost(theta, None).map(Some);
        };
        let s = theta.len();
        let (modes, mut matrix) = self.curvature(theta)?;
        let cost = modes.iter().map(|m| m.cost).sum();
        let slope = self.slope(theta, &modes, &matrix)?;
        // What nothing depends on stands still.
        (0..s).filter(|j| matrix[j * s + j] <= 0.0).collect::<Vec<_>>().iter().for_each(|&j| matrix[j * s + j] = 1.0);
        let jitter = |scale: f64| (0..s * s).map(|k| matrix[k] * if k / s == k % s { 1.0 + scale } else { 1.0 }).collect::<Vec<f64>>();
        let root = [0.0, 1e-10, 1e-6, 1e-2].iter().find_map(|&scale| triangle(&jitter(scale), s));
        let Some(root) = root else { return Err(Unusable("the information is not positive".into())) };
        for i in 0..s {
            let sum: f64 = (0..i).map(|k| root[i * s + k] * residuals[k]).sum();
            residuals[i] = (slope[i] - sum) / root[i * s + i];
            (0..s).for_each(|j| jacobian[j * s + i] = root[j * s + i]);
        }
        Ok(Some(cost))
    }
}

/// The maximum of the likelihood of what groups share. `also`: starts worth following besides the first.
pub(crate) fn maximise(
    problem: &Marginal<'_>,
    start: &[f64],
    also: &(dyn Fn() -> Vec<Vec<f64>> + Sync),
    options: &Options<'_>,
    effort: &Effort,
) -> Result<Maximum, Diagnostics> {
    let task = Task { floor: f64::NEG_INFINITY, also, ..Task::new(problem, problem, start, &problem.bounds) };
    let (seed, cancel, progress) = (options.seed, options.cancel, options.progress);
    let starts = options.starts.unwrap_or(2).min(2);
    let settings = search::Options { starts, round: 1, screened: 0, evaluations: 200, seed, loss: Loss::Squares, cancel, progress, effort };
    let mut found = search::search(&task, &settings).map_err(|e| wrong("no-start", format!("no start leads anywhere: {}", e.0)))?;
    let failed = |e: Unusable| wrong("no-prediction", e.0);
    let (modes, curvature) = problem.curvature(&found.best.theta).map_err(failed)?;
    let mut slope = problem.slope(&found.best.theta, &modes, &curvature).map_err(failed)?;
    let matrix = problem.second(&found.best.theta, &modes, &curvature).map_err(failed)?;
    let s = problem.shared();
    let information = Blocks { sizes: (s, 0), shared: matrix, cross: vec![], local: vec![] };
    // One step of Newton's from where the search ends: to the last digit that differences tell.
    if let Some(step) = newton(&held(&found.best.theta, &slope, &problem.bounds), &slope, &information) {
        let moved: Vec<f64> = (0..s).map(|j| (found.best.theta[j] + step[j]).clamp(problem.bounds.min[j], problem.bounds.max[j])).collect();
        if let Ok(cost) = problem.cost(&moved, Some(&modes))
            && cost <= found.best.cost + 1e-9 * s as f64
        {
            (found.best.theta, found.best.cost) = (moved, cost);
            slope = problem.slope(&found.best.theta, &modes, &curvature).map_err(failed)?;
        }
    }
    let (linear, peaked) = root(&slope, &information.shared);
    found.best.linear = linear;
    Ok(Maximum { found, information, peaked })
}
