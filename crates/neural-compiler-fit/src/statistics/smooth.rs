//! Parameters that a fit cannot follow. In: a minimum at which some derivatives are exactly zero; out: an error that names the parameters
//! which change the predictions all the same, or whose influence lies elsewhere: at other values of theirs, or of the others (the phase
//! of a wave whose amplitude is 0 does nothing).
//!
//! `floor`, comparisons and loops that halve an interval have the derivative zero wherever they have one. A fit follows derivatives, so
//! it would leave such a parameter where it starts and call it without influence.

use crate::optimise::linear::Linear;
use crate::optimise::{Bounds, Residuals, norm};
use neural_compiler::{Diagnostic, Diagnostics};

/// What a parameter with derivative zero does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Influence {
    /// Nothing, as far as it was tried.
    None,
    /// It changes the predictions, but not here: their derivative is zero here and not elsewhere, or not where the fit began.
    Elsewhere,
    /// It changes the predictions, and their derivative is zero everywhere.
    InSteps,
}

/// The parameters with derivative zero, and what they do. `start`: where the fit began.
pub(crate) fn influences(
    problem: &dyn Residuals,
    theta: &[f64],
    start: &[f64],
    linear: &Linear,
    bounds: &Bounds,
    parameters: usize,
) -> Vec<(usize, Influence)> {
    let zero = (0..parameters).filter(|&j| linear.size(j) == 0.0 && bounds.min[j] < bounds.max[j]);
    zero.map(|j| (j, influence(problem, theta, start, linear, bounds, j))).collect()
}

/// How many times as much as errors of computing may make must residuals change to be changed.
const BEYOND_ERRORS: f64 = 10.0;

fn influence(problem: &dyn Residuals, theta: &[f64], start: &[f64], linear: &Linear, bounds: &Bounds, j: usize) -> Influence {
    let x = theta[j];
    let size = if x != 0.0 { x.abs() } else { 1.0 };
    // A parameter of a state that nothing observed depends on changes the steps that are taken, and with them the last digits.
    let errors = BEYOND_ERRORS * problem.blur().sqrt();
    let changed = |residuals: &[f64]| {
        let by: Vec<f64> = residuals.iter().zip(&linear.residuals).map(|(a, b)| a - b).collect();
        if errors == 0.0 { by.iter().any(|d| *d != 0.0) } else { norm(&by) > errors }
    };
    let (mut residuals, mut jacobian) = (vec![0.0; problem.count()], vec![0.0; problem.count() * theta.len()]);
    let mut found = Influence::None;
    for share in [0.01, 0.1, 0.5, 1.0, 3.0] {
        for way in [-1.0, 1.0] {
            let mut moved = theta.to_vec();
            moved[j] = (x + way * share * size).clamp(bounds.min[j], bounds.max[j]);
            if problem.evaluate(&moved, &mut residuals, Some(&mut jacobian)).is_err() {
                continue;
            }
            let m = residuals.len();
            if jacobian[j * m..(j + 1) * m].iter().any(|d| *d != 0.0) {
                return Influence::Elsewhere;
            }
            if changed(&residuals) {
                found = Influence::InSteps;
            }
        }
    }
    let derivative = &mut jacobian;
    let began = found == Influence::None && problem.evaluate(start, &mut residuals, Some(derivative)).is_ok();
    let m = residuals.len();
    if began && derivative[j * m..(j + 1) * m].iter().any(|d| *d != 0.0) { Influence::Elsewhere } else { found }
}

/// An error if a parameter changes the predictions in steps only.
pub(crate) fn check(names: &[String], influences: &[(usize, Influence)]) -> Result<(), Diagnostics> {
    let steps: Vec<String> = influences.iter().filter(|i| i.1 == Influence::InSteps).map(|i| format!("`{}`", names[i.0])).collect();
    if steps.is_empty() {
        return Ok(());
    }
    let list = steps.join(", ");
    let message = format!(
        "the predictions depend on {list}, but not smoothly: they change in steps, their derivative is zero everywhere, \
         and a fit follows derivatives"
    );
    let help = "`floor`, comparisons and loops that halve an interval have no derivative that tells the way: \
                end a loop with a Newton step, (- x (/ (f x) (slope x))), write (sigmoid (/ (- x at) width)) for (if (> x at) 1 0), \
                or hold the parameter with :fixed";
    Err(Diagnostic::error("not-smooth", Default::default(), message).help(help).into())
}
