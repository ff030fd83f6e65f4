//! Random effects, integrated out. In: likelihoods of groups, whose own parameters are drawn from a distribution; out: the likelihood of
//! the parameters that are shared, and its maximum.
//!
//! Effects are counted in standard deviations from their means, so that one of 0 is a model without them. The integral over the effects of
//! a group is that of the parabola at their mode (Laplace's method), with the expected information there as its curvature, errors that
//! depend on the prediction included: first-order conditional estimation with interaction (Lindstrom and Bates 1990; Beal and Sheiner). For
//! models that are linear in the effects and normal it is exact. Slopes are central differences, of the fourth order, of these integrals on
//! the scale of standard errors; the curvature for the search is the information the data have of the shared parameters once the effects
//! have been taken out.

use super::endless::{self, Runaway};
use super::joint::Joint;
use super::maximum::{Maximum, held, newton, root};
use super::problem::Likelihood;
use crate::fit::wrong;
use crate::optimise::arrow::Blocks;
use crate::optimise::effort::Effort;
use crate::optimise::lm::{self, Local};
use crate::optimise::loss::Loss;
use crate::optimise::search::{self, Found, Task};
use crate::optimise::{Bounds, Residuals, Unusable, dot};
use crate::options::Options;
use neural_compiler::Diagnostics;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// The steps of differences, in standard errors: for slopes, and for second derivatives.
const WIDTH: f64 = 0.01;
const SECOND_WIDTH: f64 = 0.05;

/// A random effect: its mean, and its standard deviation.
#[derive(Clone, Copy)]
pub(crate) struct Standard {
    pub(crate) mean: f64,
    pub(crate) deviation: Deviation,
}

/// A standard deviation of effects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Deviation {
    /// One of the parameters that are shared; it counts by its size.
    Shared(usize),
    /// It is known.
    Number(f64),
}

/// What becomes of the effects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    /// They are integrated out.
    Integral,
    /// They are the most probable ones.
    Mode,
}

/// The likelihood of what groups share.
pub(crate) struct Marginal<'a> {
    pub(crate) joint: Joint<'a>,
    pub(crate) effects: Vec<Standard>,
    pub(crate) bounds: Bounds,
    pub(crate) kind: Kind,
}

/// The likelihood of the effects of a group, in standard deviations from their means, what is shared being held.
struct Conditional<'p, 'a> {
    whole: &'p Marginal<'a>,
    part: &'p Likelihood<'a>,
    shared: &'p [f64],
}

impl Residuals for Conditional<'_, '_> {
    fn parameters(&self) -> usize {
        self.whole.effects.len()
    }

    fn count(&self) -> usize {
        self.part.count() + self.parameters()
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

    fn objective(&self, z: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        let own = self.whole.own(self.shared, z);
        let all = self.whole.joint.together(self.shared, &own);
        let m = self.part.count();
        let (data, standard) = residuals.split_at_mut(m);
        standard.copy_from_slice(z);
        let penalty = dot(z, z) + z.len() as f64 * TAU.ln();
        let Some(jacobian) = jacobian else { return Ok(self.part.objective(&all, data, None)?.map(|cost| cost + penalty)) };
        let mut whole = vec![0.0; m * all.len()];
        let cost = self.part.objective(&all, data, Some(&mut whole))?;
        jacobian.fill(0.0);
        for (e, (column, j)) in jacobian.chunks_mut(m + z.len()).zip(self.whole.joint.own_columns()).enumerate() {
            let deviation = self.whole.deviation(self.shared, e);
            column[..m].iter_mut().zip(&whole[j * m..(j + 1) * m]).for_each(|(x, d)| *x = deviation * d);
            column[m + e] = 1.0;
        }
        Ok(cost.map(|cost| cost + penalty))
    }
}

/// The mode of the effects of a group, in standard deviations from their means, and what the integral over them comes to, or what there is
/// at it: minus twice its logarithm.
struct Mode {
    z: Vec<f64>,
    cost: f64,
}

/// What the data say of the shared parameters once the effects are taken out.
struct Known {
    modes: Vec<Mode>,
    /// Half the slope of the cost, the modes following, were it not for the integral.
    slope: Vec<f64>,
    matrix: Vec<f64>,
    /// How sharply each is determined, for the steps of differences; that of a standard deviation has no zero at 0.
    sharp: Vec<f64>,
}

impl Marginal<'_> {
    pub(crate) fn shared(&self) -> usize {
        self.joint.shared()
    }

    /// The standard deviation of an effect.
    fn deviation(&self, theta: &[f64], effect: usize) -> f64 {
        match self.effects[effect].deviation {
            Deviation::Shared(j) => theta[j].abs(),
            Deviation::Number(x) => x,
        }
    }

    /// Whether a shared parameter is the standard deviation of an effect, which counts by its size.
    pub(super) fn is_deviation(&self, j: usize) -> bool {
        self.effects.iter().any(|e| e.deviation == Deviation::Shared(j))
    }

    /// The effects themselves.
    fn own(&self, theta: &[f64], z: &[f64]) -> Vec<f64> {
        z.iter().enumerate().map(|(e, z)| self.effects[e].mean + self.deviation(theta, e) * z).collect()
    }

    /// `start`: values of the effects near the mode.
    fn mode(&self, theta: &[f64], group: usize, start: &[f64]) -> Result<Mode, Unusable> {
        let effects = self.effects.len();
        let problem = Conditional { whole: self, part: &self.joint.parts[group], shared: theta };
        let options = lm::Options { evaluations: 200, ..lm::Options::default() };
        let found = lm::minimise(&problem, start, &Bounds::none(effects), Loss::Squares, &options)?;
        if self.kind == Kind::Mode {
            return Ok(Mode { cost: found.cost, z: found.theta });
        }
        let product = |a: usize, b: usize| dot(found.linear.column(a), found.linear.column(b));
        let matrix: Vec<f64> = (0..effects * effects).map(|k| product(k / effects, k % effects)).collect();
        let Some(logarithm) = log_determinant(&matrix, effects) else {
            return Err(Unusable("the data of a group and the distribution of its effects leave an effect open".into()));
        };
        Ok(Mode { cost: found.cost + logarithm - effects as f64 * TAU.ln(), z: found.theta })
    }

    fn modes(&self, theta: &[f64]) -> Result<Vec<Mode>, Unusable> {
        self.modes_near(theta, None)
    }

    /// The same from the modes at parameters near by.
    fn modes_near(&self, theta: &[f64], near: Option<&[Mode]>) -> Result<Vec<Mode>, Unusable> {
        let means = vec![0.0; self.effects.len()];
        let start = |g: usize| near.map_or(&means, |modes| &modes[g].z);
        let all: Vec<Result<Mode, Unusable>> = (0..self.joint.parts.len()).into_par_iter().map(|g| self.mode(theta, g, start(g))).collect();
        all.into_iter().collect()
    }

    /// The modes of all effects, group by group.
    pub(crate) fn modes_of_effects(&self, theta: &[f64]) -> Result<Vec<Vec<f64>>, Unusable> {
        Ok(self.modes(theta)?.into_iter().map(|m| self.own(theta, &m.z)).collect())
    }

    fn cost(&self, theta: &[f64], near: Option<&[Mode]>) -> Result<f64, Unusable> {
        let sum: f64 = self.modes_near(theta, near)?.iter().map(|m| m.cost).sum();
        if sum.is_finite() { Ok(sum) } else { Err(Unusable("the likelihood is not finite".into())) }
    }

    /// The size a scatter has that would be seen in a parameter: that of its values by the data of one group each, all together.
    pub(super) fn scatter(&self, theta: &[f64], j: usize) -> Result<f64, Unusable> {
        Ok((self.joint.parts.len() as f64 / self.known(theta)?.sharp[j]).sqrt())
    }

    fn known(&self, theta: &[f64]) -> Result<Known, Unusable> {
        let (s, q) = (self.shared(), self.effects.len());
        let modes = self.modes(theta)?;
        // Slope, matrix and sharpness of a group.
        let one = |(g, mode): (usize, &Mode)| -> Result<[Vec<f64>; 3], Unusable> {
            let part = &self.joint.parts[g];
            let (m, n) = (part.count(), s + q);
            let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * n]);
            part.objective(&self.joint.together(theta, &self.own(theta, &mode.z)), &mut residuals, Some(&mut jacobian))?;
            let in_order = self.joint.in_order();
            let mut columns: Vec<Vec<f64>> = in_order.iter().map(|&j| jacobian[j * m..(j + 1) * m].to_vec()).collect();
            let mut sharp: Vec<f64> = (0..s).map(|j| dot(&columns[j], &columns[j])).collect();
            for (e, effect) in self.effects.iter().enumerate() {
                let (deviation, own) = (self.deviation(theta, e), columns[s + e].clone());
                if let Deviation::Shared(j) = effect.deviation {
                    let sign = if theta[j] < 0.0 { -1.0 } else { 1.0 };
                    columns[j].iter_mut().zip(&own).for_each(|(x, d)| *x += sign * mode.z[e] * d);
                    let square = dot(&own, &own);
                    sharp[j] += square / (1.0 + deviation * deviation * square);
                }
                columns[s + e].iter_mut().for_each(|x| *x *= deviation);
            }
            let identity = |a: usize, b: usize| if a == b && a >= s { 1.0 } else { 0.0 };
            let matrix: Vec<f64> = (0..n * n).map(|k| dot(&columns[k / n], &columns[k % n]) + identity(k / n, k % n)).collect();
            let mut blocks = Blocks::zeros(s, q, 1);
            blocks.add(Some(0), &matrix);
            let matrix = blocks.complement().ok_or_else(|| Unusable("the data of a group leave an effect open".into()))?;
            Ok([(0..s).map(|j| dot(&columns[j], &residuals)).collect(), matrix, sharp])
        };
        let parts: Vec<Result<[Vec<f64>; 3], Unusable>> = modes.par_iter().enumerate().map(one).collect();
        let mut sums = [vec![0.0; s], vec![0.0; s * s], vec![0.0; s]];
        for part in parts {
            sums.iter_mut().zip(part?).for_each(|(sum, part)| sum.iter_mut().zip(part).for_each(|(a, b)| *a += b));
        }
        let [slope, matrix, sharp] = sums;
        Ok(Known { modes, slope, matrix, sharp })
    }

    /// How far a parameter may go to either side.
    fn step(&self, theta: &[f64], j: usize, sharp: f64, width: f64) -> f64 {
        let usual = width / sharp.max(1e-300).sqrt();
        let usual = if usual.is_finite() && sharp > 0.0 { usual } else { width * theta[j].abs().max(1.0) };
        let room = (self.bounds.max[j] - theta[j]).min(theta[j] - self.bounds.min[j]);
        if room > 0.0 && !self.is_deviation(j) { usual.min(0.4 * room) } else { usual }
    }

    /// Half the slope of the cost; 0 of what its bounds hold.
    fn slope(&self, theta: &[f64], known: &Known) -> Result<Vec<f64>, Unusable> {
        if self.kind == Kind::Mode {
            return Ok(known.slope.clone());
        }
        let one = |j: usize| {
            if self.bounds.min[j] == self.bounds.max[j] {
                return Ok(0.0);
            }
            let h = self.step(theta, j, known.sharp[j], WIDTH);
            let at = |by: f64| {
                let mut moved = theta.to_vec();
                moved[j] += by;
                self.cost(&moved, Some(&known.modes))
            };
            Ok((at(-2.0 * h)? - 8.0 * at(-h)? + 8.0 * at(h)? - at(2.0 * h)?) / (24.0 * h))
        };
        (0..theta.len()).map(one).collect()
    }

    /// Half the second derivatives of the cost.
    fn second(&self, theta: &[f64], known: &Known) -> Result<Vec<f64>, Unusable> {
        let s = theta.len();
        let steps: Vec<f64> = (0..s).map(|j| self.step(theta, j, known.sharp[j], SECOND_WIDTH)).collect();
        let at = |moves: &[(usize, f64)]| {
            let mut moved = theta.to_vec();
            moves.iter().for_each(|(j, by)| moved[*j] += by * steps[*j]);
            self.cost(&moved, Some(&known.modes))
        };
        let here = self.cost(theta, Some(&known.modes))?;
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
        let known = self.known(theta)?;
        let cost = known.modes.iter().map(|m| m.cost).sum();
        let slope = self.slope(theta, &known)?;
        let mut matrix = known.matrix;
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
    let (seed, cancel, progress) = (options.seed, options.cancel, options.progress);
    let settings =
        search::Options { starts: 1, round: 1, screened: 0, evaluations: 200, seed, loss: Loss::Squares, cancel, progress, effort };
    let from = |start: &[f64]| -> Result<Found, Unusable> {
        let task = Task { floor: f64::NEG_INFINITY, ..Task::new(problem, problem, start, &problem.bounds) };
        let mut found = search::search(&task, &settings)?;
        // A deviation that was thrown to 0 is no end yet: what is told of a start is the maximum it leads to.
        to_zero(problem, &mut found.best)?;
        Ok(found)
    };
    let own = from(start);
    let others: Vec<Result<Found, Unusable>> = match options.starts {
        Some(1) => vec![],
        _ => also().iter().take(1).map(|start| from(start)).collect(),
    };
    let mut found = best_of(own, others).map_err(|e| wrong("no-start", format!("no start leads anywhere: {}", e.0)))?;
    let (information, peaked, runaways) = judged(problem, start, &mut found.best).map_err(|e| wrong("no-prediction", e.0))?;
    let zeros = (0..problem.shared()).filter(|&j| problem.is_deviation(j) && found.best.theta[j] == 0.0).collect();
    Ok(Maximum { found, information, peaked, runaways, zeros })
}

/// The best end of the user's own start and of others, with what became of them all.
fn best_of(own: Result<Found, Unusable>, others: Vec<Result<Found, Unusable>>) -> Result<Found, Unusable> {
    let tried = 1 + others.len();
    let at = own.as_ref().ok().map(|found| found.best.cost);
    let (mut ends, mut why) = (Vec::new(), None);
    for (number, outcome) in std::iter::once(own).chain(others).enumerate() {
        match outcome {
            Ok(found) => ends.push((number, found)),
            Err(e) => why = why.or(Some(e)),
        }
    }
    let failed = tried - ends.len();
    let lowest = ends.iter().map(|(_, f)| f.best.cost).fold(f64::INFINITY, f64::min);
    let same = |cost: f64| (cost - lowest).abs() <= search::SAME_LIKELY;
    let agreed = ends.iter().filter(|(_, f)| same(f.best.cost)).count();
    // Of the same maximum the one that the user's own start leads to.
    let best = ends.into_iter().find(|(_, f)| same(f.best.cost));
    let (from, found) = best.ok_or_else(|| why.unwrap_or_else(|| Unusable("no start has a finite likelihood".into())))?;
    Ok(Found { tried, failed, agreed, from, own: at.filter(|cost| !same(*cost)), ..found })
}

/// Goes to the last digit that differences tell, and says how sharply the data determine the parameters there.
fn judged(problem: &Marginal<'_>, start: &[f64], best: &mut Local) -> Result<(Blocks, bool, Vec<Runaway>), Unusable> {
    let s = problem.shared();
    let known = problem.known(&best.theta)?;
    let mut slope = problem.slope(&best.theta, &known)?;
    let matrix = problem.second(&best.theta, &known)?;
    let information = Blocks { sizes: (s, 0), shared: matrix, cross: vec![], local: vec![] };
    // The slope by a standard deviation that is 0 is 0, and what differences make of it is no way to go.
    let mut bounds = problem.bounds.clone();
    for j in (0..s).filter(|&j| problem.is_deviation(j) && best.theta[j] == 0.0) {
        (bounds.min[j], bounds.max[j]) = (0.0, 0.0);
    }
    let runaways = endless::runaways(problem, start, (&best.theta, best.cost), &bounds, &slope, &information);
    // One step of Newton's from where the search ends.
    if let Some(step) = newton(&held(&best.theta, &slope, &bounds), &slope, &information).filter(|_| runaways.is_empty()) {
        let moved: Vec<f64> = (0..s).map(|j| (best.theta[j] + step[j]).clamp(bounds.min[j], bounds.max[j])).collect();
        if let Ok(cost) = problem.cost(&moved, Some(&known.modes))
            && cost <= best.cost + 1e-9 * s as f64
        {
            (best.theta, best.cost) = (moved, cost);
            slope = problem.slope(&best.theta, &known)?;
        }
    }
    let (linear, peaked) = root(&slope, &information.shared);
    best.linear = linear;
    Ok((information, peaked, runaways))
}

/// A gain, in minus twice the log-likelihood, that decides nothing.
const NO_GAIN: f64 = 1e-7;

/// Says 0 of standard deviations of effects that are not told from it. The likelihood is the same to either side of 0, so that a search
/// that was thrown there stays: where it rises away from 0, that is followed.
fn to_zero(problem: &Marginal<'_>, best: &mut Local) -> Result<(), Unusable> {
    for j in (0..problem.shared()).filter(|&j| problem.is_deviation(j) && problem.bounds.min[j] == 0.0 && problem.bounds.max[j] > 0.0) {
        let mut moved = best.theta.clone();
        moved[j] = 0.0;
        let Ok(cost) = problem.cost(&moved, None) else { continue };
        if cost > best.cost + NO_GAIN {
            continue;
        }
        let sharp = problem.known(&moved)?.sharp[j];
        moved[j] = 1.0 / sharp.max(1e-300).sqrt();
        let away = lm::minimise(problem, &moved, &problem.bounds, Loss::Squares, &lm::Options { polish: false, ..Default::default() });
        match away {
            Ok(away) if away.cost < cost - NO_GAIN => *best = away,
            _ => {
                best.theta[j] = 0.0;
                best.cost = cost;
            }
        }
    }
    Ok(())
}
