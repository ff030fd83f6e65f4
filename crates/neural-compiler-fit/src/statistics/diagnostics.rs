//! Whether residuals are what the model says they are. In: residuals that are standard normal if it is right, and what they lie along; out:
//! whether neighbours are alike (Durbin and Watson; runs of one sign, Wald and Wolfowitz), whether they are normal (Anderson and Darling,
//! with Stephens's correction), and which of them are too far off to be chance.

use crate::report::Axis;
use statrs::distribution::{ContinuousCDF, Normal};

/// A row whose residual is no chance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlier {
    /// The row of the table, counted from 1.
    pub row: usize,
    /// Its residual, in standard deviations.
    pub residual: f64,
}

/// What the residuals of a column show; NaN where they are too few to tell.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostics {
    /// The column.
    pub name: String,
    /// Residuals looked at.
    pub n: usize,
    /// The sum of squared differences of neighbours over that of squares: about 2 where neighbours have nothing to do with each other.
    pub durbin_watson: f64,
    /// Runs of residuals of one sign, how many are expected, and how probable as few or as many are by chance.
    pub runs: usize,
    /// Expected by chance.
    pub runs_expected: f64,
    /// See `runs`.
    pub runs_p: f64,
    /// The statistic of Anderson and Darling, and how probable as large a one is for normal residuals.
    pub normality: f64,
    /// See `normality`.
    pub normality_p: f64,
    /// Rows too far off for a sample of this size (5 % for all together).
    pub outliers: Vec<Outlier>,
}

/// Residuals from which on something is said of their distribution, and of their order.
const FEWEST: usize = 8;
/// How improbable the farthest of all residuals of a column must be.
const CHANCE: f64 = 0.05;

/// How improbable residuals of normal errors must be, if they are not to be called nothing but noise.
pub(crate) const NOT_NORMAL: f64 = 0.01;

fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// What the residuals of a column show, a number per row of the table, NaN where there is none.
pub(crate) fn diagnose(name: &str, residuals: &[f64], axis: Option<&Axis>) -> Diagnostics {
    let trajectory = |i: usize| axis.and_then(|a| a.trajectory.get(i)).copied().unwrap_or(0);
    let along = |i: usize| axis.map_or(i as f64, |a| a.values[i]);
    let mut rows: Vec<usize> = (0..residuals.len()).filter(|&i| residuals[i].is_finite() && !along(i).is_nan()).collect();
    rows.sort_by(|&a, &b| trajectory(a).cmp(&trajectory(b)).then(along(a).total_cmp(&along(b))).then(a.cmp(&b)));
    let n = rows.len();
    let squares: f64 = rows.iter().map(|&i| residuals[i] * residuals[i]).sum();
    let pairs: Vec<(f64, f64)> =
        rows.windows(2).filter(|w| trajectory(w[0]) == trajectory(w[1])).map(|w| (residuals[w[0]], residuals[w[1]])).collect();
    let enough = n >= FEWEST && squares > 0.0;
    let durbin_watson = if enough { pairs.iter().map(|(a, b)| (b - a) * (b - a)).sum::<f64>() / squares } else { f64::NAN };
    let (runs, runs_expected, runs_p) = runs(&rows.iter().map(|&i| (trajectory(i), residuals[i])).collect::<Vec<_>>());
    let sorted: Vec<f64> = rows.iter().map(|&i| residuals[i]).collect();
    let (normality, normality_p) = if enough { anderson_darling(sorted) } else { (f64::NAN, f64::NAN) };
    let improbable = |x: f64| 2.0 * normal_cdf(-x.abs()) * (n as f64) < CHANCE;
    let mut outliers: Vec<Outlier> =
        rows.iter().filter(|&&i| enough && improbable(residuals[i])).map(|&i| Outlier { row: i + 1, residual: residuals[i] }).collect();
    outliers.sort_by(|a, b| b.residual.abs().total_cmp(&a.residual.abs()).then(a.row.cmp(&b.row)));
    Diagnostics { name: name.to_string(), n, durbin_watson, runs, runs_expected, runs_p, normality, normality_p, outliers }
}

/// Runs of one sign within trajectories, how many are expected, and how probable that is to either side.
fn runs(residuals: &[(usize, f64)]) -> (usize, f64, f64) {
    let (mut count, mut expected, mut variance) = (0, 0.0, 0.0);
    for part in residuals.chunk_by(|a, b| a.0 == b.0) {
        let up = part.iter().filter(|x| x.1 > 0.0).count() as f64;
        let (n, down) = (part.len() as f64, part.len() as f64 - up);
        count += 1 + part.windows(2).filter(|w| (w[0].1 > 0.0) != (w[1].1 > 0.0)).count();
        let mean = 1.0 + 2.0 * up * down / n;
        expected += mean;
        variance += if n > 1.0 { (mean - 1.0) * (mean - 2.0) / (n - 1.0) } else { 0.0 };
    }
    let enough = residuals.len() >= FEWEST && variance > 0.0;
    let p = if enough { 2.0 * normal_cdf(-((count as f64 - expected) / variance.sqrt()).abs()) } else { f64::NAN };
    (count, expected, p)
}

/// The statistic of Anderson and Darling for a normal distribution of unknown mean and variance, with the correction for few data, and how
/// probable a larger one is (Stephens 1986, table 4.9).
pub(crate) fn anderson_darling(mut all: Vec<f64>) -> (f64, f64) {
    let n = all.len() as f64;
    let mean = all.iter().sum::<f64>() / n;
    let deviation = (all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0)).sqrt();
    if deviation.is_nan() || deviation <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    all.sort_by(f64::total_cmp);
    let z: Vec<f64> = all.iter().map(|x| (x - mean) / deviation).collect();
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    let term = |(i, x): (usize, &f64)| (2.0 * i as f64 + 1.0) * (log(normal_cdf(*x)) + log(normal_cdf(-z[z.len() - 1 - i])));
    let plain = -n - z.iter().enumerate().map(term).sum::<f64>() / n;
    let a = plain * (1.0 + 0.75 / n + 2.25 / (n * n));
    let p = match a {
        a if a < 0.2 => 1.0 - (-13.436 + 101.14 * a - 223.73 * a * a).exp(),
        a if a < 0.34 => 1.0 - (-8.318 + 42.796 * a - 59.938 * a * a).exp(),
        a if a < 0.6 => (0.9177 - 4.279 * a - 1.38 * a * a).exp(),
        a if a < 10.0 => (1.2937 - 5.709 * a + 0.0186 * a * a).exp(),
        _ => 3.7e-24,
    };
    (a, p)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESIDUALS: [f64; 12] = [0.3, -1.2, 0.8, 1.9, -0.4, -0.9, 0.1, 0.5, -2.1, 0.7, 1.1, -0.6];

    /// R 4.2.2: `sum(diff(x)^2)/sum(x^2)`, `tseries::runs.test(factor(x > 0))`; the statistic of Anderson and Darling without the
    /// correction is that of `scipy.stats.anderson`, 0.139421431723358.
    #[test]
    fn as_r_has_them() {
        let found = diagnose("y", &RESIDUALS, None);
        assert!((found.durbin_watson - 2.359_792_284_866_469).abs() < 1e-12, "{found:?}");
        assert!(found.outliers.is_empty() && found.n == 12);
        assert!((found.normality - AD.0).abs() < 1e-9 && (found.normality_p - AD.1).abs() < 1e-6, "{found:?}");
        assert!(found.runs == RUNS.0 && (found.runs_p - RUNS.1).abs() < 1e-9, "{found:?}");
    }

    const AD: (f64, f64) = (0.150_313_731_076_745_3, 0.962_681_779_119_547_3);
    const RUNS: (usize, f64) = (8, 0.466_172_265_919_325_5);

    #[test]
    fn trajectories_are_apart_and_outliers_are_named() {
        let mut wild = RESIDUALS.to_vec();
        (wild[4], wild[7]) = (5.5, f64::NAN);
        let axis = Axis { name: "t".into(), values: (0..12).map(|i| 12.0 - f64::from(i)).collect(), trajectory: vec![] };
        let found = diagnose("y", &wild, Some(&axis));
        assert_eq!(found.outliers, [Outlier { row: 5, residual: 5.5 }]);
        // Constant within each of two trajectories: no neighbour differs, and there is a run in each.
        let steps: Vec<f64> = (0..12).map(|i| if i < 6 { 1.0 } else { -1.0 }).collect();
        let two = Axis { trajectory: (0..12).map(|i| usize::from(i >= 6)).collect(), ..axis };
        let found = diagnose("y", &steps, Some(&two));
        assert!(found.durbin_watson == 0.0 && found.runs == 2, "{found:?}");
    }
}
