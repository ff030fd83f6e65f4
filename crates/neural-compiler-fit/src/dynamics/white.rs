//! Whether a model with states leaves nothing but noise. In: its residuals along trajectories; out: whether a better solution could hide.
//!
//! What another solution of the same law would explain changes smoothly along a trajectory, or belongs to some trajectories more than to
//! others. So it shows as correlation of residuals a few rows apart (Box and Pierce 1970), or as means of trajectories and of times that
//! scatter more than noise does. A share s of the variance that is smooth makes neighbours correlate by about s: it is noticed from about
//! 3/√n on. A law whose solutions change from row to row, as a wave that is faster than its sampling, is none to which this applies.
//! Trajectories that nobody told apart are replicates at equal times that scatter further than the means of times do; those, and residuals
//! that are not normal, may be of several solutions.
//! Invariant: "no" is always safe.

use super::problem::Dynamics;
use crate::statistics::diagnostics::{NOT_NORMAL, anderson_darling};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Fewer residuals, or fewer for each parameter, tell too little.
const FEWEST: usize = 64;
const PER_PARAMETER: usize = 8;
/// Rows apart at most.
const LAGS: usize = 8;
/// Pairs of residuals that make a lag worth looking at.
const PAIRS: usize = 16;
/// Standard deviations at which a statistic is no chance. A false alarm costs time only.
const NOTICED: f64 = 2.0;
/// Residuals of a time, on average, and at most so many times.
const PER_TIME: usize = 16;
const TIMES: usize = 32;
/// How improbable it must be that the means of times scatter as little beside their replicates.
const APART: f64 = 0.01;

/// Whether nothing in the residuals of a fit goes with time or trajectory.
pub(crate) fn only_noise(problem: &Dynamics, residuals: &[f64], parameters: usize) -> bool {
    let n = residuals.len();
    if n < FEWEST || n < PER_PARAMETER * parameters {
        return false;
    }
    // Every column on its own scale.
    let columns = problem.data.observed.len();
    let mut sums = vec![(0.0f64, 0usize); columns];
    problem.points.iter().zip(residuals).for_each(|(p, r)| sums[p.column] = (sums[p.column].0 + r * r, sums[p.column].1 + 1));
    let scale: Vec<f64> = sums.iter().map(|(s, n)| (s / *n as f64).sqrt()).collect();
    let scaled: Vec<f64> =
        problem.points.iter().zip(residuals).map(|(p, r)| if scale[p.column] > 0.0 { r / scale[p.column] } else { 0.0 }).collect();
    let series = along(problem, &scaled);
    let mut by_time: Vec<(usize, f64, f64)> =
        problem.points.iter().zip(&scaled).map(|(p, r)| (p.column, problem.data.row_times[p.row], *r)).collect();
    by_time.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let sorted: Vec<f64> = by_time.iter().map(|t| t.2).collect();
    let times = (n / PER_TIME).min(TIMES * columns);
    let normal = || anderson_darling(scaled.clone()).1 >= NOT_NORMAL;
    normal()
        && !apart(&replicates(problem, &scaled), parameters)
        && uncorrelated(&series)
        && alike(series.iter().copied())
        && alike(sorted.chunks(n.div_ceil(times)))
}

/// Numbers of the points, trajectory by trajectory. Points stand column by column, trajectory by trajectory, in the order of time.
fn along<'a>(problem: &Dynamics, values: &'a [f64]) -> Vec<&'a [f64]> {
    let mut series = Vec::new();
    let mut from = 0;
    for to in 1..=values.len() {
        let (p, next) = (&problem.points[from], problem.points.get(to));
        if next.is_none_or(|q| (q.column, q.trajectory) != (p.column, p.trajectory)) {
            series.push(&values[from..to]);
            from = to;
        }
    }
    series
}

/// Residuals of one column and trajectory at one time, where there are several.
fn replicates(problem: &Dynamics, values: &[f64]) -> Vec<Vec<f64>> {
    let key = |k: &usize| (problem.points[*k].column, problem.points[*k].trajectory, problem.data.row_times[problem.points[*k].row]);
    let mut all: Vec<usize> = (0..values.len()).collect();
    all.sort_by(|a, b| {
        let ((a, s, t), (b, r, u)) = (key(a), key(b));
        (a, s).cmp(&(b, r)).then(t.total_cmp(&u))
    });
    all.chunk_by(|a, b| key(a) == key(b)).filter(|own| own.len() > 1).map(|own| own.iter().map(|&k| values[k]).collect()).collect()
}

/// Whether replicates scatter further around their mean than these means do around 0: they are of several solutions.
fn apart(replicates: &[Vec<f64>], parameters: usize) -> bool {
    let (mut between, mut within, mut count) = (0.0, 0.0, 0.0);
    for own in replicates {
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        between += mean * mean * own.len() as f64;
        within += own.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        count += own.len() as f64;
    }
    let means = replicates.len() as f64;
    let (left, inside) = (means - parameters as f64, count - means);
    left >= 1.0 && within > 0.0 && FisherSnedecor::new(left, inside).is_ok_and(|law| law.cdf(between / left / (within / inside)) < APART)
}

/// The correlation of neighbours from which on a change along trajectories is smooth: that of a wave of six rows.
const SMOOTH: f64 = 0.5;

/// Whether a change of the solution is smooth from row to row.
pub(crate) fn is_smooth(problem: &Dynamics, change: &[f64]) -> bool {
    smooth(&along(problem, change))
}

fn smooth(series: &[&[f64]]) -> bool {
    let pairs = || series.iter().flat_map(|s| s.iter().zip(s.iter().skip(1)));
    let (together, apart) = pairs().fold((0.0, 0.0), |(together, apart), (a, b)| (together + a * b, apart + 0.5 * (a * a + b * b)));
    together >= SMOOTH * apart
}

/// Whether residuals a few rows apart have nothing to do with each other.
fn uncorrelated(series: &[&[f64]]) -> bool {
    let lag = |k: usize| {
        let pairs: usize = series.iter().map(|s| s.len().saturating_sub(k)).sum();
        let sum: f64 = series.iter().flat_map(|s| s.iter().zip(s.iter().skip(k))).map(|(a, b)| a * b).sum();
        (pairs >= PAIRS).then(|| sum * sum / pairs as f64)
    };
    let squares: Vec<f64> = (1..=LAGS).filter_map(lag).collect();
    let count = squares.len() as f64;
    count > 0.0 && squares.iter().sum::<f64>() - count <= NOTICED * (2.0 * count).sqrt()
}

/// Whether the means of some parts scatter as those of noise of variance 1 do.
fn alike<'a>(parts: impl Iterator<Item = &'a [f64]>) -> bool {
    let squares: Vec<f64> = parts.filter(|p| !p.is_empty()).map(|p| p.iter().sum::<f64>().powi(2) / p.len() as f64).collect();
    let count = squares.len() as f64;
    squares.iter().sum::<f64>() - count <= NOTICED * (2.0 * count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::random::Stream;

    /// Noise with a wave of a share of its variance, scaled to variance 1 as the caller does.
    fn waves(n: usize, share: f64, period: f64, seed: u32) -> Vec<f64> {
        let mut s = Stream::new(seed, 11);
        let all: Vec<f64> = (0..n).map(|i| s.normal() + (2.0 * share).sqrt() * (std::f64::consts::TAU * i as f64 / period).sin()).collect();
        let scale = (all.iter().map(|x| x * x).sum::<f64>() / n as f64).sqrt();
        all.into_iter().map(|x| x / scale).collect()
    }

    fn pass(n: usize, share: f64, period: f64) -> usize {
        (0..40).filter(|&seed| uncorrelated(&[&waves(n, share, period, seed)])).count()
    }

    #[test]
    fn noise_is_noise_and_waves_are_not() {
        assert!(pass(200, 0.0, 1.0) >= 34, "a few false alarms in a hundred: {}", pass(200, 0.0, 1.0));
        for period in [4.0, 9.0, 50.0, 200.0] {
            assert_eq!(pass(200, 1.0, period), 0, "a wave as large as the noise, period {period}");
            assert!(pass(1000, 0.25, period) <= 1, "a wave of a quarter, period {period}");
        }
    }

    #[test]
    fn waves_of_few_rows_are_not_smooth() {
        let wave = |period: f64| (0..200).map(|i| (std::f64::consts::TAU * f64::from(i) / period).sin()).collect::<Vec<f64>>();
        assert!(smooth(&[&wave(7.0)]) && smooth(&[&wave(1e4)]));
        assert!(!smooth(&[&wave(5.0)]) && !smooth(&[&wave(2.1)]) && !smooth(&[&waves(200, 0.0, 1.0, 3)]));
    }

    #[test]
    fn replicates_of_several_solutions_are_noticed() {
        let told = |by: f64| {
            let one = |k: u32| -> Vec<f64> {
                let noise = waves(3, 0.0, 1.0, k);
                (0..3).map(|i| 0.5 * noise[i] + by * (i as f64 - 1.0)).collect()
            };
            apart(&(0..24).map(one).collect::<Vec<_>>(), 3)
        };
        assert!(told(2.0) && !told(0.0));
    }

    #[test]
    fn trajectories_that_are_off_as_a_whole_are_noticed() {
        let shifted = |by: f64| {
            (0..100).map(|k| waves(10, 0.0, 1.0, k).iter().map(|x| x + if k % 2 == 0 { by } else { -by }).collect::<Vec<f64>>()).collect()
        };
        let (right, wrong): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (shifted(0.0), shifted(0.4));
        assert!(alike(right.iter().map(Vec::as_slice)));
        assert!(!alike(wrong.iter().map(Vec::as_slice)));
    }
}
