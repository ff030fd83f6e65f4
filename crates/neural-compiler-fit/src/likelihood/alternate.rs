//! Random effects as R's nlme has them (Lindstrom and Bates 1990). In: the likelihood of what groups share; out: where two steps that
//! alternate come to rest.
//!
//! One step finds the parameters that move the predictions, and the effects, that are most probable while the standard deviations are held;
//! the other takes the model for linear there and finds the standard deviations that make the data most probable, which for normal errors
//! is exact. Where both stand still is no maximum of any likelihood: what is told is that of the linear model.

use super::joint::Joint;
use super::marginal::{self, Kind, Marginal};
use super::maximum::Maximum;
use super::problem::{Likelihood, Source};
use crate::fit::wrong;
use crate::optimise::effort::Effort;
use crate::optimise::loss::Loss;
use crate::optimise::{Bounds, Residuals, Unusable, lm};
use crate::options::Options;
use neural_compiler::Diagnostics;

/// Rounds at most, and the change of a parameter, in standard errors, that is none.
const ROUNDS: usize = 200;
const STILL: f64 = 1e-5;

/// Numbers a model predicts, taken for linear in the parameters near a point.
struct Tangent {
    at: Vec<f64>,
    values: Vec<f64>,
    jacobian: Vec<f64>,
}

impl Tangent {
    fn new(of: &dyn Residuals, at: &[f64]) -> Result<Tangent, Unusable> {
        let at = at[..of.parameters()].to_vec();
        let (mut values, mut jacobian) = (vec![0.0; of.count()], vec![0.0; of.count() * at.len()]);
        of.evaluate(&at, &mut values, Some(&mut jacobian))?;
        Ok(Tangent { at, values, jacobian })
    }
}

impl Residuals for Tangent {
    fn parameters(&self) -> usize {
        self.at.len()
    }

    fn count(&self) -> usize {
        self.values.len()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        residuals.copy_from_slice(&self.values);
        let m = residuals.len();
        for (j, (x, at)) in theta.iter().zip(&self.at).enumerate().filter(|(_, (x, at))| x != at) {
            residuals.iter_mut().zip(&self.jacobian[j * m..]).for_each(|(r, d)| *r += d * (x - at));
        }
        jacobian.into_iter().for_each(|all| all.copy_from_slice(&self.jacobian));
        Ok(())
    }
}

/// Which shared parameters say how errors and effects scatter, rather than what is predicted.
fn scattering(problem: &Marginal<'_>, theta: &[f64]) -> Result<Vec<bool>, Unusable> {
    let joint = &problem.joint;
    let mut found: Vec<bool> = (0..problem.shared()).map(|j| problem.is_deviation(j)).collect();
    let means: Vec<f64> = problem.effects.iter().map(|e| e.mean).collect();
    let all = joint.together(theta, &means);
    for part in &joint.parts {
        let tangent = Tangent::new(part.inner, &all)?;
        let m = tangent.count();
        let arguments = part.cells.iter().filter(|c| !c.prior).flat_map(|c| c.from.iter().skip(1)).flatten();
        for source in arguments {
            let moved: Vec<usize> = match *source {
                Source::Inner(i) => (0..tangent.at.len()).filter(|j| tangent.jacobian[j * m + i] != 0.0).collect(),
                Source::Own(j) => vec![j],
                Source::Number(_) => vec![],
            };
            for c in moved.into_iter().map(|j| joint.column(j)).filter(|&c| c < problem.shared()) {
                found[c] = true;
            }
        }
    }
    Ok(found)
}

/// The same likelihood of other predictions.
fn with<'b>(problem: &Marginal<'_>, inners: &'b [Tangent], local: &[usize]) -> Marginal<'b> {
    let parts = problem.joint.parts.iter().zip(inners).map(|(part, inner)| {
        let cells = part.cells.clone();
        Likelihood::new(inner, cells, part.parameters)
    });
    Marginal {
        joint: Joint::grouped(parts.collect(), local),
        effects: problem.effects.clone(),
        bounds: problem.bounds.clone(),
        kind: Kind::Integral,
    }
}

/// Where the two steps come to rest, and the maximum of the linear model there. `local`: the parameters of a part that are effects.
pub(crate) fn rest(
    problem: &mut Marginal<'_>,
    local: &[usize],
    start: &[f64],
    options: &Options<'_>,
    effort: &Effort,
) -> Result<Maximum, Diagnostics> {
    let failed = |e: Unusable| wrong("no-start", format!("no start leads anywhere: {}", e.0));
    let scatters = scattering(problem, start).map_err(failed)?;
    let free = problem.bounds.clone();
    let mut theta = start.to_vec();
    let mut found: Option<Maximum> = None;
    for round in 0..ROUNDS {
        // The most probable predictions.
        let held = |all: &[f64]| (0..all.len()).map(|j| if scatters[j] { theta[j] } else { all[j] }).collect();
        problem.bounds = Bounds { min: held(&free.min), max: held(&free.max) };
        problem.kind = Kind::Mode;
        let near =
            lm::minimise(problem, &theta, &problem.bounds, Loss::Squares, &lm::Options { cancel: options.cancel, ..Default::default() });
        theta = near.map_err(failed)?.theta;
        let modes = problem.modes_of_effects(&theta).map_err(failed)?;
        problem.bounds = free.clone();
        problem.kind = Kind::Integral;
        // The most probable scatter of the linear model there.
        let inners =
            problem.joint.parts.iter().zip(&modes).map(|(part, own)| Tangent::new(part.inner, &problem.joint.together(&theta, own)));
        let inners: Vec<Tangent> = inners.collect::<Result<_, _>>().map_err(failed)?;
        let linear = with(problem, &inners, local);
        let maximum =
            marginal::maximise(&linear, &theta, &Vec::new, &Options { starts: Some(1), progress: None, ..options.clone() }, effort)?;
        let next = &maximum.found.best.theta;
        let change = (0..theta.len()).map(|j| (next[j] - theta[j]).abs() * maximum.found.best.linear.size(j)).fold(0.0, f64::max);
        let cancelled = options.cancel.is_some_and(|c| c.load(std::sync::atomic::Ordering::Relaxed));
        theta.clone_from(next);
        options.progress.iter().for_each(|tell| tell(crate::options::Stage::Starts, round, ROUNDS, maximum.found.best.cost));
        found = Some(maximum);
        if change < STILL || cancelled {
            break;
        }
    }
    found.ok_or_else(|| wrong("no-start", "no start leads anywhere"))
}
