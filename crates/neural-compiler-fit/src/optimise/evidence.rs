//! How strongly to hold weights, from the data themselves. In: a point and the shape of a penalty; out: the factor of the penalty and the
//! variance of the noise under which the data are most probable.
//!
//! Near a point a net is linear in its weights, and weights drawn from a normal distribution make the learned term a random function: its
//! size is a variance component beside that of the noise. Restricted maximum likelihood (Patterson and Thompson 1971) estimates both
//! after everything the free numbers, the constants of the known law, can explain has been taken out: so the known law is credited
//! first, and what is left to the net is what only it can explain.

use super::penalised::{Penalty, Point, gram};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par, Side};

/// The components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// The factor of the penalty.
    pub factor: f64,
    /// The variance of a residual.
    pub variance: f64,
    /// Twice the negative logarithm of the likelihood, up to a constant.
    pub criterion: f64,
}

/// Residuals used at most: the components are properties of a residual, a few hundred determine them.
const ROWS: usize = 400;

/// The components at a point, from its first `data` residuals; `None` where too few are left. `known`: the variance is 1.
pub fn components(point: &Point, data: usize, shape: &Penalty, known: bool) -> Option<Components> {
    let all = point.residuals.len();
    let rows: Vec<usize> =
        if data <= ROWS { (0..data).collect() } else { (0..ROWS).map(|k| k * data / ROWS + (k * 7919) % (data / ROWS)).collect() };
    let m = rows.len();
    let (free, held): (Vec<usize>, Vec<usize>) = (0..point.theta.len()).partition(|&j| shape.strength[j] == 0.0);
    // Columns of zeros explain nothing.
    let free: Vec<usize> = free.into_iter().filter(|&j| rows.iter().any(|&i| point.jacobian[j * all + i] != 0.0)).collect();
    if m < free.len() + 8 || held.is_empty() {
        return None;
    }
    let mut scaled = Mat::<f64>::from_fn(m, held.len(), |i, k| point.jacobian[held[k] * all + rows[i]] / shape.strength[held[k]].sqrt());
    // What the linear model has to explain: the data as the held numbers, counted from their centre, see them.
    let mut target = Mat::<f64>::from_fn(m, 1, |i, _| -point.residuals[rows[i]]);
    for (k, &j) in held.iter().enumerate() {
        let away = (point.theta[j] - shape.centre[j]) * shape.strength[j].sqrt();
        (0..m).for_each(|i| target[(i, 0)] += scaled[(i, k)] * away);
    }
    if !free.is_empty() {
        let size = |j: usize| rows.iter().map(|&i| point.jacobian[j * all + i].powi(2)).sum::<f64>().sqrt();
        let sizes: Vec<f64> = free.iter().map(|&j| size(j)).collect();
        let known_law = Mat::<f64>::from_fn(m, free.len(), |i, k| point.jacobian[free[k] * all + rows[i]] / sizes[k]);
        let basis = known_law.qr().compute_thin_Q();
        for part in [&mut scaled, &mut target] {
            let mut along = Mat::<f64>::zeros(basis.ncols(), part.ncols());
            matmul(&mut along, Accum::Replace, basis.transpose(), part.as_ref(), 1.0, Par::Seq);
            matmul(part, Accum::Add, basis.as_ref(), along.as_ref(), -1.0, Par::Seq);
        }
    }
    let eigen = gram(scaled.as_ref(), false).self_adjoint_eigen(Side::Lower).ok()?;
    let values: Vec<f64> = (0..m).map(|i| eigen.S()[i].max(0.0)).collect();
    let squares: Vec<f64> = (0..m).map(|k| (0..m).map(|i| eigen.U()[(i, k)] * target[(i, 0)]).sum::<f64>().powi(2)).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let count = (m - free.len()) as f64;
    if largest == 0.0 || !largest.is_finite() || squares.iter().any(|s| !s.is_finite()) {
        return None;
    }
    let at = |logarithm: f64| {
        let factor = largest * logarithm.exp();
        let (mut determinant, mut sum) = (0.0, 0.0);
        for (v, s) in values.iter().zip(&squares) {
            determinant += (v / factor).ln_1p();
            sum += s / (1.0 + v / factor);
        }
        let criterion = determinant + if known { sum } else { count * sum.max(f64::MIN_POSITIVE).ln() };
        Components { factor, variance: if known { 1.0 } else { sum / count }, criterion }
    };
    // From a net that is hardly held to one that is silent; the likelihood may have two maxima, so look everywhere, then closely.
    let coarse = |k: i32| -30.0 + 0.5 * f64::from(k);
    let best = (0..80).map(|k| (at(coarse(k)).criterion, k)).min_by(|a, b| a.0.total_cmp(&b.0))?.1;
    let fine = (-10..=10).map(|k| at(coarse(best) + 0.05 * f64::from(k)));
    fine.min_by(|a, b| a.criterion.total_cmp(&b.criterion))
}
