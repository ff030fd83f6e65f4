//! Derivatives by differences, where those along a solution are not all there is. In: a model with states and parameters; out: the
//! derivatives of its residuals by central differences.
//!
//! Where the law jumps as a state passes a level, the time of passing moves with the parameters, and with it all that comes after: the
//! solution is differentiable, but sensitivities that are carried along with it lack that part. They are compared with differences at
//! the minimum; where the two differ, the fit is made again with differences.

use super::problem::Dynamics;
use super::solver::conditions::on_states;
use crate::optimise::linear::Linear;
use crate::optimise::{Residuals, Unusable, norm};
use neural_compiler::graph::Graph;

/// The share by which a column of derivatives may differ from its differences: errors of differences are a hundredth of it.
const SAME: f64 = 2e-3;
/// The least share of a parameter by which it is moved.
const LEAST: f64 = 1e-4;

/// Whether the derivatives of a problem whose law is this lack, at a point, how the times of its jumps move.
pub(crate) fn needed(problem: &Dynamics, law: &Graph, theta: &[f64]) -> bool {
    if problem.by_differences || !problem.solver.adaptive() || !on_states(law) {
        return false;
    }
    let m = problem.count();
    let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * theta.len()]);
    let computed = problem.evaluate(theta, &mut residuals, Some(&mut jacobian));
    computed.is_ok() && disagree(problem, theta, &Linear::new(residuals, jacobian))
}

/// Whether the derivatives of a problem at a point are not those of its residuals.
fn disagree(problem: &Dynamics, theta: &[f64], linear: &Linear) -> bool {
    let m = problem.count();
    let differences = |wide: f64| {
        let mut columns = vec![0.0; m * theta.len()];
        jacobian(problem, theta, wide, &mut columns).ok().map(|()| columns)
    };
    let apart =
        |a: &[f64], b: &[f64]| norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>()) / norm(a).max(norm(b)).max(f64::MIN_POSITIVE);
    let Some(wide) = differences(1.0) else { return false };
    let doubtful: Vec<usize> = (0..theta.len()).filter(|&j| apart(linear.column(j), &wide[j * m..][..m]) > SAME).collect();
    if doubtful.is_empty() {
        return false;
    }
    // Differences that depend on their step prove nothing.
    let Some(narrow) = differences(0.5) else { return false };
    doubtful.iter().any(|&j| {
        let (own, wide, narrow) = (linear.column(j), &wide[j * m..][..m], &narrow[j * m..][..m]);
        apart(wide, narrow) < 0.25 * apart(own, narrow)
    })
}

/// Central differences, one-sided at a bound; column by column. `wide`: the step, where 1 is the usual one.
pub(super) fn jacobian(problem: &Dynamics, theta: &[f64], wide: f64, columns: &mut [f64]) -> Result<(), Unusable> {
    let (m, bounds) = (problem.count(), &problem.layout.bounds);
    // Errors of the solution, divided by the step, against those of the difference, which go with its square.
    let share = wide * problem.solver.tolerance().relative.cbrt().max(LEAST);
    let (mut before, mut after) = (vec![0.0; m], vec![0.0; m]);
    for (j, column) in columns.chunks_mut(m).enumerate() {
        let size = theta[j].abs().max(1e-3 * problem.layout.start[j].abs());
        let step = share * if size > 0.0 { size } else { 1.0 };
        let mut moved = theta.to_vec();
        moved[j] = (theta[j] - step).max(bounds.min[j]);
        let low = moved[j];
        problem.evaluate(&moved, &mut before, None)?;
        moved[j] = (theta[j] + step).min(bounds.max[j]);
        let width = moved[j] - low;
        if width <= 0.0 {
            column.fill(0.0);
            continue;
        }
        problem.evaluate(&moved, &mut after, None)?;
        column.iter_mut().zip(before.iter().zip(&after)).for_each(|(d, (a, b))| *d = (b - a) / width);
    }
    Ok(())
}
