//! How sure a fit is. In: residuals and derivatives at the minimum; out: covariance, standard errors, intervals, and the names of
//! what the data do not determine.
//! Invariant: no standard error is given for a parameter at its bound, nor for one that takes part in a combination the data
//! cannot identify.

use crate::least::linear::Linear;
use crate::least::{Bounds, norm};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What is known of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Certainty {
    /// A standard error.
    Error(f64),
    /// It ended at its bound.
    AtBound,
    /// The data leave it open, alone or together with others.
    Unidentified,
    /// Too many weights were trained beside it for its error to be computed.
    Unknown,
    /// The fit did not end at a minimum, the curvature at which an error is.
    NoMinimum,
}

/// A combination of parameters that can change without changing the fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Open {
    /// The parameters that take part, and by what share of their value each changes relative to the one that changes most.
    pub shares: Vec<(usize, f64)>,
}

/// The uncertainty of all parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Uncertainty {
    /// Per parameter.
    pub certainty: Vec<Certainty>,
    /// Covariance row by row; rows and columns of parameters without a standard error are NaN.
    pub covariance: Vec<f64>,
    /// What is open.
    pub open: Vec<Open>,
    /// Residuals minus parameters the data determine.
    pub freedom: usize,
    /// The variance of a residual of weight 1, estimated unless it was given.
    pub variance: f64,
    /// By how many standard errors a 95 % interval reaches to either side.
    pub reach: f64,
}

/// Singular values below this share of the largest belong to combinations the data do not determine.
const UNDETERMINED: f64 = 1e-10;

/// The uncertainty at a minimum. `sum`: of the squared residuals. `observations`: how many of the residuals are data; the others are
/// penalties. `known`: whether the weights are those of known errors, so that the
/// variance is 1 and not estimated.
pub fn at_minimum(theta: &[f64], linear: &Linear, bounds: &Bounds, sum: f64, observations: usize, known: bool) -> Uncertainty {
    let (m, n) = (linear.residuals.len(), theta.len());
    let mut certainty = vec![Certainty::Unidentified; n];
    let mut free = Vec::new();
    for j in 0..n {
        let (slope, size) = (linear.slope(j), linear.size(j));
        // At the very bound, and held there by the data rather than by chance.
        let tight = |slope: f64| slope.abs() > 1e-9 * size * norm(&linear.residuals) || size == 0.0;
        let low = theta[j] <= bounds.min[j] && slope >= 0.0;
        let high = theta[j] >= bounds.max[j] && slope <= 0.0;
        if (low || high) && tight(slope) || bounds.min[j] == bounds.max[j] {
            certainty[j] = Certainty::AtBound;
        } else {
            free.push(j);
        }
    }
    let scales: Vec<f64> = free.iter().map(|&j| linear.size(j)).map(|s| if s > 0.0 { s } else { 1.0 }).collect();
    let parts = linear.decompose(&free, &scales, &vec![0.0; n]);
    let mut covariance = vec![f64::NAN; n * n];
    let Some(parts) = parts else {
        return Uncertainty { certainty, covariance, open: vec![], freedom: 0, variance: f64::NAN, reach: f64::NAN };
    };
    let rank = parts.rank(UNDETERMINED).min(m);
    let freedom = observations.saturating_sub(rank);
    let variance = if known { 1.0 } else { sum / freedom as f64 };
    let mut open = Vec::new();
    let mut undetermined = vec![false; free.len()];
    for vector in &parts.vectors[rank..] {
        let largest = vector.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let mut shares = Vec::new();
        for (i, v) in vector.iter().enumerate().filter(|(_, v)| v.abs() > 1e-6 * largest) {
            undetermined[i] = true;
            let change = v / scales[i];
            shares.push((free[i], if theta[free[i]] != 0.0 { change / theta[free[i]] } else { change }));
        }
        let most = shares.iter().fold(0.0f64, |m, s| if s.1.abs() > m.abs() { s.1 } else { m });
        shares.iter_mut().for_each(|s| s.1 /= most);
        open.push(Open { shares });
    }
    for (a, &i) in free.iter().enumerate() {
        for (b, &j) in free.iter().enumerate() {
            if undetermined[a] || undetermined[b] {
                continue;
            }
            let inner: f64 = (0..rank).map(|k| (parts.vectors[k][a] / parts.singular[k]) * (parts.vectors[k][b] / parts.singular[k])).sum();
            covariance[i * n + j] = variance * inner / (scales[a] * scales[b]);
        }
        if !undetermined[a] && (known || freedom > 0) {
            certainty[i] = Certainty::Error(covariance[i * n + i].sqrt());
        }
    }
    let reach = match freedom {
        _ if known => 1.959_963_984_540_054,
        0 => f64::NAN,
        _ => StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::NAN, |t| t.inverse_cdf(0.975)),
    };
    Uncertainty { certainty, covariance, open, freedom, variance, reach }
}

impl Uncertainty {
    /// Of parameters whose errors were not computed.
    pub fn unknown(parameters: usize) -> Uncertainty {
        Uncertainty::without(Certainty::Unknown, parameters)
    }

    /// Of parameters that have no errors, for a reason they share.
    pub fn without(why: Certainty, parameters: usize) -> Uncertainty {
        let covariance = vec![f64::NAN; parameters * parameters];
        Uncertainty { certainty: vec![why; parameters], covariance, open: vec![], freedom: 0, variance: f64::NAN, reach: f64::NAN }
    }

    /// The correlation of two parameters; `None` where either has no standard error.
    pub fn correlation(&self, i: usize, j: usize) -> Option<f64> {
        let n = self.certainty.len();
        let r = self.covariance[i * n + j] / (self.covariance[i * n + i] * self.covariance[j * n + j]).sqrt();
        r.is_finite().then_some(r.clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_student() {
        // Table values.
        for (freedom, quantile) in [(1.0, 12.706_204_736_174_7), (4.0, 2.776_445_105_197_79), (10.0, 2.228_138_851_964_94), (1000.0, 1.962_339_080_792_77)] {
            let t = StudentsT::new(0.0, 1.0, freedom).unwrap().inverse_cdf(0.975);
            assert!((t / quantile - 1.0).abs() < 1e-9, "{freedom}: {t}");
        }
    }

    #[test]
    fn a_straight_line() {
        // y = a + b x through 4 points with residuals +1 -1 -1 +1: standard errors by the textbook formula.
        let x = [0.0, 1.0, 2.0, 3.0];
        let residuals = [1.0, -1.0, -1.0, 1.0];
        let jacobian: Vec<f64> = [1.0; 4].into_iter().chain(x).collect();
        let u = at_minimum(&[5.0, 2.0], &Linear::new(residuals.to_vec(), jacobian), &Bounds::none(2), 4.0, 4, false);
        let (s2, sxx) = (4.0 / 2.0, 5.0);
        let expected = [(s2 * (0.25 + 1.5f64.powi(2) / sxx)).sqrt(), (s2 / sxx).sqrt()];
        for (c, e) in u.certainty.iter().zip(expected) {
            assert!(matches!(c, Certainty::Error(x) if (x - e).abs() < 1e-13), "{c:?}");
        }
        assert!((u.correlation(0, 1).unwrap() + 1.5 / (5.0f64 / 4.0 + 2.25).sqrt()).abs() < 1e-12);
    }
}
