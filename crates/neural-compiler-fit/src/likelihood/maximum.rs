//! The maximum of a likelihood. In: a likelihood, starts, bounds; out: the parameters that make it largest, to the last digit, and how
//! sharply the data determine them.
//!
//! The search of least squares finds the neighbourhood by Fisher's scoring; Newton's steps on the exact second derivatives go on to the
//! last digit. Where a model has none (that of states), they are central differences, of the fourth order, of the exact slope, on the scale
//! of standard errors. Standard errors are those of the observed information there.

use super::endless::{self, Runaway};
use super::joint::Joint;
use super::problem::Likelihood;
use crate::fit::wrong;
use crate::optimise::arrow::Blocks;
use crate::optimise::effort::Effort;
use crate::optimise::linalg::symmetric_eigen;
use crate::optimise::linear::Linear;
use crate::optimise::lm::{End, Local};
use crate::optimise::loss::Loss;
use crate::optimise::search::{self, Found, Task};
use crate::optimise::{Bounds, Residuals, Unusable};
use crate::options::Options;
use neural_compiler::{Diagnostic, Diagnostics};

/// How many starts are followed, looked at between, and screened.
pub(crate) type Starts = (usize, usize, usize);

/// More parameters than this have no matrix of all pairs.
pub(crate) const MANY: usize = 400;
/// Newton's steps at most.
const STEPS: usize = 40;
/// A step that promises less than this, in minus twice the log-likelihood, is none.
const NOTHING: f64 = 1e-18;
/// A slope that promises more than this at the end of all steps is no maximum's.
const FLAT: f64 = 1e-6;
/// The step of differences, in standard errors.
const WIDTH: f64 = 0.02;

/// The maximum and the slope and information there.
pub(crate) struct Maximum {
    pub(crate) found: Found,
    /// The observed information.
    pub(crate) information: Blocks,
    /// Whether the information is that of a maximum: positive in every direction the data determine.
    pub(crate) peaked: bool,
    /// Parameters that run off, because there is no maximum.
    pub(crate) runaways: Vec<Runaway>,
    /// Standard deviations of effects that are 0.
    pub(crate) zeros: Vec<usize>,
}

/// The maximum of a likelihood. `also`: starts worth following besides the first.
pub(crate) fn maximise(
    problem: &Joint<'_>,
    start: &[f64],
    bounds: &Bounds,
    also: &(dyn Fn() -> Vec<Vec<f64>> + Sync),
    (starts, round, screened): Starts,
    options: &Options<'_>,
    effort: &Effort,
) -> Result<Maximum, Diagnostics> {
    let task = Task { floor: f64::NEG_INFINITY, also, exchange: true, ..Task::new(problem, problem, start, bounds) };
    let (seed, cancel, progress) = (options.seed, options.cancel, options.progress);
    let starts = options.starts.unwrap_or(starts);
    let settings = search::Options { starts, round, screened, evaluations: 500, seed, loss: Loss::Squares, cancel, progress, effort };
    let mut found = search::search(&task, &settings).map_err(|e| {
        let message = format!("no start leads anywhere: {}", e.0);
        let help = "give initial values at which every observation is possible";
        Diagnostics::from(Diagnostic::error("no-start", Default::default(), message).help(help))
    })?;
    let failed = |e: Unusable| wrong("no-start", e.0);
    let (slope, matrix) = information(problem, &found.best.theta, bounds).map_err(failed)?;
    let runaways = endless::runaways(problem, start, (&found.best.theta, found.best.cost), bounds, &slope, &matrix);
    let here = (slope, matrix);
    let (information, peaked) = polish(problem, &mut found.best, bounds, here, runaways.is_empty()).map_err(failed)?;
    Ok(Maximum { found, information, peaked, runaways, zeros: vec![] })
}

/// Goes to the last digit of a maximum, and leaves there the linear model whose products are the observed information, where these are not
/// too many. The information, and whether it is that of a maximum. `there_is`: whether there is a maximum to go to.
fn polish(
    problem: &Joint<'_>,
    best: &mut Local,
    bounds: &Bounds,
    (mut slope, mut matrix): (Vec<f64>, Blocks),
    there_is: bool,
) -> Result<(Blocks, bool), Unusable> {
    let mut memory = vec![0.0; problem.count()];
    let mut last = f64::INFINITY;
    let mut promise = f64::INFINITY;
    for _ in 0..if there_is { STEPS } else { 0 } {
        let Some(step) = newton(&held(&best.theta, &slope, bounds), &slope, &matrix) else { break };
        promise = -slope.iter().zip(&step).map(|(g, by)| g * by).sum::<f64>();
        if promise <= NOTHING || promise >= 0.9 * last {
            break;
        }
        last = promise;
        let theta: Vec<f64> = (0..step.len()).map(|j| (best.theta[j] + step[j]).clamp(bounds.min[j], bounds.max[j])).collect();
        let Ok(Some(cost)) = problem.objective(&theta, &mut memory, None) else { break };
        if cost > best.cost + 1e-9 * problem.count() as f64 {
            break;
        }
        (best.theta, best.cost) = (theta, cost);
        (slope, matrix) = information(problem, &best.theta, bounds)?;
    }
    // Where the numbers that predict stand still, as in b² at b = 0, the step of the search leads anywhere, beyond every wall; second
    // derivatives know better.
    if promise <= FLAT && matches!(best.end, End::Evaluations | End::Wall) {
        (best.end, best.wall) = (End::Converged, None);
    }
    if best.theta.len() > MANY {
        let peaked = newton(&held(&best.theta, &slope, bounds), &slope, &matrix).is_some();
        return Ok((matrix, peaked));
    }
    let (mut linear, mut peaked) = root(&slope, &matrix.dense());
    let held = held(&best.theta, &slope, bounds);
    if !peaked && held.contains(&true) {
        // Along what a bound holds a likelihood may rise as it likes: it is a maximum of the others.
        (linear, peaked) = root(&slope, &apart(&held, matrix.dense()));
    }
    best.linear = linear;
    Ok((matrix, peaked))
}

/// Second derivatives with those of held parameters apart from all others, and such as a maximum has.
fn apart(held: &[bool], mut matrix: Vec<f64>) -> Vec<f64> {
    let p = held.len();
    for i in 0..p {
        for j in (0..p).filter(|&j| held[i] || held[j]) {
            matrix[i * p + j] = if i == j { matrix[i * p + j].abs() } else { 0.0 };
        }
    }
    matrix
}

/// Which parameters are held by a bound.
pub(super) fn held(theta: &[f64], slope: &[f64], bounds: &Bounds) -> Vec<bool> {
    let held = |j: usize| theta[j] <= bounds.min[j] && slope[j] >= 0.0 || theta[j] >= bounds.max[j] && slope[j] <= 0.0;
    (0..theta.len()).map(held).collect()
}

/// Newton's step of the parameters that are not held; `None` where the second derivatives are not those of a maximum.
pub(super) fn newton(held: &[bool], slope: &[f64], matrix: &Blocks) -> Option<Vec<f64>> {
    let scale: Vec<f64> = (0..slope.len()).map(|j| if held[j] { 0.0 } else { matrix.diagonal(j).max(0.0).sqrt() }).collect();
    if held.iter().zip(&scale).any(|(held, s)| !(*held || *s > 0.0 && s.is_finite())) || held.iter().all(|h| *h) {
        return None;
    }
    let rhs: Vec<f64> = slope.iter().zip(&scale).map(|(g, s)| if *s > 0.0 { -g / s } else { 0.0 }).collect();
    let step = matrix.scaled(&scale).factor(0.0)?.solve(&rhs);
    let step: Vec<f64> = step.iter().zip(&scale).map(|(z, s)| if *s > 0.0 { z / s } else { 0.0 }).collect();
    step.iter().all(|x| x.is_finite()).then_some(step)
}

/// Half the slope of minus twice the log-likelihood, and half its second derivatives.
fn information(problem: &Joint<'_>, theta: &[f64], bounds: &Bounds) -> Result<(Vec<f64>, Blocks), Unusable> {
    problem.information(theta, &|part, theta| differences(part, theta, &problem.bounds_of_part(bounds)))
}

/// The standard errors of more parameters than a matrix of all pairs is made of; `None` where a bound or the data leave none.
pub(crate) fn errors(theta: &[f64], bounds: &Bounds, matrix: &Blocks) -> Vec<Option<f64>> {
    let at_bound = |j: usize| theta[j] <= bounds.min[j] || theta[j] >= bounds.max[j];
    let scale: Vec<f64> = (0..theta.len()).map(|j| if at_bound(j) { 0.0 } else { matrix.diagonal(j).max(0.0).sqrt() }).collect();
    let Some(factor) = matrix.scaled(&scale).factor(0.0) else { return vec![None; theta.len()] };
    let (shared, own) = factor.inverse();
    let s = matrix.sizes.0;
    let variance = |j: usize| if j < s { shared[j * s + j] } else { own[j - s] };
    (0..theta.len()).map(|j| (scale[j] > 0.0).then(|| variance(j).sqrt() / scale[j]).filter(|e| e.is_finite())).collect()
}

/// Central differences of the slope, of the fourth order; near a bound to one side. Where densities have a kink, the expected information.
fn differences(problem: &Likelihood<'_>, theta: &[f64], bounds: &Bounds) -> Result<Vec<f64>, Unusable> {
    let p = theta.len();
    let (mut residuals, mut jacobian) = (vec![0.0; problem.count()], vec![0.0; problem.count() * p]);
    problem.objective(theta, &mut residuals, Some(&mut jacobian))?;
    let linear = Linear::new(residuals, jacobian);
    // Slopes that jump have no differences.
    let (locations, mut matrix) = problem.kinks(theta)?;
    for j in 0..p {
        let size = linear.size(j);
        if size == 0.0 {
            continue;
        }
        let usual = WIDTH / size;
        // As far as the bounds let it to either side.
        let room = (bounds.max[j] - theta[j]).min(theta[j] - bounds.min[j]);
        let h = if room > 0.0 { usual.min(0.45 * room) } else { usual };
        let at = |by: f64| {
            let mut moved = theta.to_vec();
            moved[j] += by;
            problem.smooth_slope(&moved, &locations)
        };
        let row: Vec<f64> = if room > 0.0 {
            let (a, b, c, d) = (at(-2.0 * h)?, at(-h)?, at(h)?, at(2.0 * h)?);
            (0..p).map(|i| (a[i] - 8.0 * b[i] + 8.0 * c[i] - d[i]) / (12.0 * h)).collect()
        } else {
            let way = if theta[j] <= bounds.min[j] { h } else { -h };
            let (a, b, c) = (at(0.0)?, at(way)?, at(2.0 * way)?);
            (0..p).map(|i| (-3.0 * a[i] + 4.0 * b[i] - c[i]) / (2.0 * way)).collect()
        };
        row.iter().enumerate().for_each(|(i, x)| {
            matrix[i * p + j] += 0.5 * x;
            matrix[j * p + i] += 0.5 * x;
        });
    }
    Ok(matrix)
}

/// Second derivatives below this share of the largest, after scaling, are none.
const LOST: f64 = 1e-9;

/// A linear model with these products and slopes, and whether the products are those of one: none negative.
pub(super) fn root(slope: &[f64], matrix: &[f64]) -> (Linear, bool) {
    let p = slope.len();
    let scale: Vec<f64> = (0..p).map(|j| matrix[j * p + j].abs().sqrt()).map(|s| if s > 0.0 && s.is_finite() { s } else { 1.0 }).collect();
    let scaled = |i: usize, j: usize| 0.5 * (matrix[i * p + j] + matrix[j * p + i]) / scale[i] / scale[j];
    let Some(eigen) = symmetric_eigen(p, scaled) else { return (Linear::new(vec![0.0; p], vec![0.0; p * p]), false) };
    let largest = eigen.values.iter().map(|v| v.abs()).fold(0.0, f64::max);
    let (mut residuals, mut jacobian, mut peaked) = (vec![0.0; p], vec![0.0; p * p], true);
    for (k, (&value, vector)) in eigen.values.iter().zip(&eigen.vectors).enumerate() {
        peaked &= value >= -LOST * largest;
        let size = if value > LOST * largest { value.sqrt() } else { 0.0 };
        (0..p).for_each(|j| jacobian[j * p + k] = size * vector[j] * scale[j]);
        if size > 0.0 {
            residuals[k] = (0..p).map(|j| vector[j] * slope[j] / scale[j]).sum::<f64>() / size;
        }
    }
    (Linear::new(residuals, jacobian), peaked)
}
