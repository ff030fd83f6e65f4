//! How sure the constants of a hybrid model are. In: a trained model; out: the uncertainty of its parameters, the weights being whatever
//! the data and the penalty make them; and how many weights the data determine.

use super::train::Trained;
use crate::optimise::linear::Linear;
use crate::optimise::penalised::gram;
use crate::optimise::{Bounds, dot};
use crate::statistics::uncertainty::{EXACT, Uncertainty, Variance, at_minimum};
use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::{Accum, Mat, MatRef, Par, Side};

/// The uncertainty of the first `parameters` numbers, and the effective number of weights. `None`: the equations cannot be solved.
pub(super) fn certainty(trained: &Trained, parameters: usize, bounds: &Bounds, known: bool) -> Option<(Uncertainty, f64)> {
    let (point, penalty) = (&trained.point, &trained.penalty);
    let (m, n) = (point.residuals.len(), point.theta.len());
    let whole = MatRef::from_column_major_slice(&point.jacobian, m, n);
    let own = whole.subcols(0, parameters);
    let held = n - parameters;
    let roots: Vec<f64> = penalty.strength[parameters..].iter().map(|s| s.sqrt()).collect();
    let scaled = Mat::<f64>::from_fn(m, held, |i, k| whole[(i, parameters + k)] / roots[k]);
    // What of each parameter's influence the weights can take over, in scaled weights: (BᵀB + I)⁻¹ Bᵀ J.
    let (over, effective) = if m > held {
        let mut matrix = gram(scaled.as_ref(), true);
        (0..held).for_each(|k| matrix[(k, k)] += 1.0);
        let factor = matrix.llt(Side::Lower).ok()?;
        let inverse = factor.solve(&Mat::<f64>::identity(held, held));
        let mut rhs = Mat::<f64>::zeros(held, parameters);
        matmul(&mut rhs, Accum::Replace, scaled.transpose(), own, 1.0, Par::Seq);
        (factor.solve(&rhs), held as f64 - (0..held).map(|k| inverse[(k, k)]).sum::<f64>())
    } else {
        let mut matrix = gram(scaled.as_ref(), false);
        (0..m).for_each(|i| matrix[(i, i)] += 1.0);
        let factor = matrix.llt(Side::Lower).ok()?;
        let inverse = factor.solve(&Mat::<f64>::identity(m, m));
        let seen = factor.solve(own);
        let mut over = Mat::<f64>::zeros(held, parameters);
        matmul(&mut over, Accum::Replace, scaled.transpose(), seen.as_ref(), 1.0, Par::Seq);
        (over, m as f64 - (0..m).map(|i| inverse[(i, i)]).sum::<f64>())
    };
    let mut left = Mat::<f64>::zeros(m, parameters);
    left.copy_from(own);
    matmul(&mut left, Accum::Add, scaled.as_ref(), over.as_ref(), -1.0, Par::Seq);
    // Residuals and penalties as rows; what is left of each parameter's influence in both.
    let mut rows = point.residuals.clone();
    rows.extend((0..held).map(|k| roots[k] * (point.theta[parameters + k] - penalty.centre[parameters + k])));
    let jacobian: Vec<f64> =
        (0..parameters).flat_map(|j| (0..m).map(|i| left[(i, j)]).chain((0..held).map(|k| -over[(k, j)])).collect::<Vec<_>>()).collect();
    let own_bounds = bounds.of(&(0..parameters).collect::<Vec<_>>());
    let variance = if known { Variance::Known } else { Variance::Squares(dot(&rows, &rows)) };
    let linear = Linear::new(rows, jacobian);
    Some((at_minimum(&point.theta[..parameters], &linear, &own_bounds, variance, trained.observations, EXACT), effective))
}
