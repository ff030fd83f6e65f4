//! How probable a model makes its data. In: data, predictions, the weights of rows and which columns share an error; out: the
//! log-likelihood of normal errors with all its constants, the numbers estimated, and the figures of each column.
//!
//! One definition for every kind of model. With known standard deviations the likelihood has them. Otherwise each standard deviation
//! is the most probable one and counts as a number estimated: one for a formula, one for every observed state. A row of weight w has
//! the variance sigma^2 / w. These are the conventions of `logLik` and `AIC` for `nls` in R, where sigma counts too.
//! Invariants: the same predictions give the same likelihood, however they were found; squares that leave the range are taken from
//! scaled numbers.

use crate::optimise::{all_finite, norm, sum_of};
use std::f64::consts::TAU;

/// Data and predictions of a target: a number per row, not finite where nothing is compared.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) name: &'a str,
    pub(crate) observed: &'a [f64],
    pub(crate) predicted: &'a [f64],
    /// Targets of the same number have errors of one size, in one unit.
    pub(crate) scale: usize,
}

/// How well one column is explained.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Numbers compared.
    pub n: usize,
    /// Root of the mean squared residual, in the unit of the column.
    pub rmse: f64,
    /// Share of the variance of the column that the model explains; NaN where the column is constant.
    pub r2: f64,
}

/// The likelihood of a fit and what it is made of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Likelihood {
    /// Its natural logarithm at the fitted values; NaN where the loss is robust and therefore belongs to no likelihood.
    pub loglik: f64,
    /// Numbers estimated: parameters, as many weights of nets as the data determine, and `sigmas`.
    pub k: f64,
    /// Standard deviations among them.
    pub sigmas: usize,
    /// Numbers compared.
    pub n: usize,
    /// Whether the model says how errors are distributed, so that everything about them is among the parameters.
    pub declared: bool,
}

impl Likelihood {
    /// Akaike's criterion.
    pub fn aic(&self) -> f64 {
        2.0 * self.k - 2.0 * self.loglik
    }

    /// Akaike's criterion with the correction for few data (Hurvich and Tsai 1989); NaN where these are too few for it.
    pub fn aicc(&self) -> f64 {
        let left = self.n as f64 - self.k - 1.0;
        if left > 0.0 { self.aic() + 2.0 * self.k * (self.k + 1.0) / left } else { f64::NAN }
    }

    /// The Bayesian criterion (Schwarz 1978).
    pub fn bic(&self) -> f64 {
        (self.n as f64).ln() * self.k - 2.0 * self.loglik
    }
}

/// What is compared of a target: data, predictions and weights of those rows. All rows as they are, where none is left out.
struct Compared<'a> {
    observed: std::borrow::Cow<'a, [f64]>,
    predicted: std::borrow::Cow<'a, [f64]>,
    weights: std::borrow::Cow<'a, [f64]>,
}

impl<'a> Compared<'a> {
    fn new(target: Target<'a>, weights: &'a [f64]) -> Compared<'a> {
        let (o, p) = (target.observed, target.predicted);
        if all_finite(o) && all_finite(p) && !weights.contains(&0.0) {
            return Compared { observed: o.into(), predicted: p.into(), weights: weights.into() };
        }
        let there = (0..o.len()).filter(|&i| o[i].is_finite() && p[i].is_finite() && weights.get(i) != Some(&0.0));
        let rows: Vec<usize> = there.collect();
        let pick = |all: &[f64]| rows.iter().filter_map(|&i| all.get(i).copied()).collect::<Vec<f64>>();
        Compared { observed: pick(o).into(), predicted: pick(p).into(), weights: pick(weights).into() }
    }

    /// The length of the residuals, each times its weight where there are some.
    fn length(&self, weighted: bool) -> f64 {
        if weighted && !self.weights.is_empty() {
            let all: Vec<f64> = self.observed.iter().zip(&*self.predicted).zip(&*self.weights).map(|((o, p), w)| (o - p) * w).collect();
            return norm(&all);
        }
        difference(&self.observed, &self.predicted)
    }

    /// The length of what the column varies around its mean.
    fn variation(&self) -> f64 {
        let (o, n) = (&self.observed, self.observed.len() as f64);
        let mean = sum_of(o, o, |o, _| o) / n;
        if mean.is_finite() {
            let squares = sum_of(o, o, |o, _| (o - mean) * (o - mean));
            if in_range(squares) { squares.sqrt() } else { norm(&o.iter().map(|x| x - mean).collect::<Vec<_>>()) }
        } else {
            f64::INFINITY
        }
    }
}

/// Whether a sum of squares is exact to all digits that matter.
fn in_range(squares: f64) -> bool {
    squares.is_finite() && squares > 1e-280
}

/// The length of a difference.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let squares = sum_of(a, b, |a, b| (a - b) * (a - b));
    if in_range(squares) { squares.sqrt() } else { norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>()) }
}

/// R2 from the lengths of residuals and variation.
fn explained(residuals: f64, variation: f64) -> f64 {
    if variation > 0.0 { 1.0 - (residuals / variation).powi(2) } else { f64::NAN }
}

/// What a target comes to: all that its figures and its likelihood are made of, however many rows it has.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Lengths {
    pub(crate) name: String,
    /// Targets of the same number have errors of one size, in one unit.
    pub(crate) scale: usize,
    /// Numbers compared.
    pub(crate) n: usize,
    /// How large the numbers compared are: the largest of them, or less.
    pub(crate) largest: f64,
    /// The length of the residuals.
    pub(crate) residuals: f64,
    /// The same of residuals times their weights.
    pub(crate) weighted: f64,
    /// The length of what the column varies around its mean.
    pub(crate) variation: f64,
    /// The sum of the logarithms of the weights.
    pub(crate) logarithms: f64,
}

impl Lengths {
    /// Of data and predictions. `weights`: one over the standard deviation of each row where these are known, else the root of its relative
    /// weight; empty: all 1.
    pub(crate) fn of(target: Target<'_>, weights: &[f64]) -> Lengths {
        let compared = Compared::new(target, weights);
        let residuals = compared.length(false);
        let weighted = if weights.is_empty() { residuals } else { compared.length(true) };
        let logarithms = compared.weights.iter().map(|w| w.ln()).sum();
        let n = compared.observed.len();
        let largest = compared.observed.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let (name, scale, variation) = (target.name.into(), target.scale, compared.variation());
        Lengths { name, scale, n, largest, residuals, weighted, variation, logarithms }
    }
}

/// The figures of each column, and those of all together where they have one unit: root mean squared error and R2, each column around
/// its own mean.
pub(crate) fn columns(targets: &[Lengths]) -> (Vec<Column>, Option<(f64, f64)>) {
    let mut all = Vec::new();
    let (mut residuals, mut variations) = (Vec::new(), Vec::new());
    for Lengths { name, n, residuals: length, variation, .. } in targets {
        let (name, n) = (name.clone(), *n);
        if n == 0 {
            // All that is known of it is known from one side only.
            all.push(Column { name, n, rmse: f64::NAN, r2: f64::NAN });
            continue;
        }
        residuals.push(*length);
        variations.push(*variation);
        all.push(Column { name, n, rmse: length / (n as f64).sqrt(), r2: explained(*length, *variation) });
    }
    let one_unit = targets.windows(2).all(|w| w[0].scale == w[1].scale);
    let n: usize = all.iter().map(|c| c.n).sum();
    let joint = (one_unit && n > 0).then(|| (norm(&residuals) / (n as f64).sqrt(), explained(norm(&residuals), norm(&variations))));
    (all, joint)
}

/// The one standard deviation that weights of known errors say, if it is one.
pub(crate) fn one_error(weights: &[f64]) -> Option<f64> {
    weights.first().filter(|w| weights.iter().all(|x| x == *w)).map(|w| 1.0 / w)
}

/// The standard deviation of the errors of each target, of weight 1: that of all its scale, `spent` numbers having been taken from the
/// data. `None`: there is none.
pub(crate) fn deviations(targets: &[Lengths], spent: f64) -> Vec<Option<f64>> {
    let n: f64 = targets.iter().map(|t| t.n as f64).sum();
    let one = |t: &Lengths| {
        let own: Vec<&Lengths> = targets.iter().filter(|p| p.scale == t.scale).collect();
        let lengths: Vec<f64> = own.iter().map(|p| p.weighted).collect();
        let count: f64 = own.iter().map(|p| p.n as f64).sum();
        (n > spent && count > 0.0).then(|| norm(&lengths) * (n / (n - spent) / count).sqrt()).filter(|s| s.is_finite())
    };
    targets.iter().map(one).collect()
}

/// The likelihood. `known`: the weights are one over known standard deviations; `spent`: numbers estimated besides standard deviations.
pub(crate) fn likelihood(targets: &[Lengths], known: bool, spent: f64) -> Likelihood {
    // Per scale: its number, the lengths of its residuals, how many they are.
    let mut scales: Vec<(usize, Vec<f64>, usize)> = Vec::new();
    let (mut logarithms, mut n) = (0.0, 0);
    for t in targets {
        logarithms += t.logarithms;
        n += t.n;
        match scales.iter_mut().find(|s| s.0 == t.scale) {
            Some(s) => {
                s.1.push(t.weighted);
                s.2 += t.n;
            }
            None => scales.push((t.scale, vec![t.weighted], t.n)),
        }
    }
    let mut loglik = logarithms - 0.5 * n as f64 * TAU.ln();
    for (_, lengths, count) in &scales {
        let count = *count as f64;
        if known {
            loglik -= 0.5 * norm(lengths).powi(2);
        } else if count > 0.0 {
            loglik -= count * (norm(lengths).ln() - 0.5 * count.ln() + 0.5);
        }
    }
    let sigmas = if known { 0 } else { scales.len() };
    Likelihood { loglik, k: spent + sigmas as f64, sigmas, n, declared: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    const Y: [f64; 5] = [1.0, 2.5, 2.0, 4.5, 5.0];
    const F: [f64; 5] = [1.2, 2.0, 3.0, 4.0, 5.0];

    fn target<'a>(observed: &'a [f64], predicted: &'a [f64], scale: usize) -> Target<'a> {
        Target { name: "y", observed, predicted, scale }
    }

    fn likelihood(targets: &[Target<'_>], weights: &[f64], known: bool, spent: f64) -> Likelihood {
        super::likelihood(&targets.iter().map(|t| Lengths::of(*t, weights)).collect::<Vec<_>>(), known, spent)
    }

    fn columns(targets: &[Target<'_>], weights: &[f64]) -> (Vec<Column>, Option<(f64, f64)>) {
        super::columns(&targets.iter().map(|t| Lengths::of(*t, weights)).collect::<Vec<_>>())
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs().max(1.0)
    }

    /// Sums of `scipy.stats.norm.logpdf(y, f, s)` in SciPy 1.17, with s the root of the mean squared (weighted) residual where it is
    /// not known.
    #[test]
    fn every_constant_is_there() {
        let all = [target(&Y, &F, 0)];
        let plain = likelihood(&all, &[], false, 2.0);
        assert!(near(plain.loglik, -4.150_553_926_001_956) && plain.k == 3.0 && plain.n == 5, "{plain:?}");
        let sigma = [0.5, 0.4, 0.8, 0.3, 0.5];
        let known = likelihood(&all, &sigma.map(|s| 1.0 / s), true, 2.0);
        assert!(near(known.loglik, -3.896_380_106_278_060_3) && known.k == 2.0, "{known:?}");
        let w = [1.0f64, 2.0, 0.5, 3.0, 0.0];
        let weighted = likelihood(&all, &w.map(f64::sqrt), false, 2.0);
        assert!(near(weighted.loglik, -3.518_290_505_950_181_7) && weighted.n == 4, "{weighted:?}");
    }

    #[test]
    fn an_error_of_its_own_for_every_unit() {
        let far: Vec<f64> = Y.iter().map(|y| 1000.0 * y).collect();
        let off: Vec<f64> = F.iter().map(|y| 1000.0 * y).collect();
        let one = likelihood(&[target(&Y, &F, 0)], &[], false, 1.0);
        let two = likelihood(&[target(&Y, &F, 0), target(&far, &off, 1)], &[], false, 1.0);
        // The second column is the first in a unit a thousand times smaller: each density is divided by 1000.
        assert!(near(two.loglik, 2.0 * one.loglik - 5.0 * 1000f64.ln()) && two.k == 3.0 && two.sigmas == 2, "{two:?}");
        let (each, joint) = columns(&[target(&Y, &F, 0), target(&far, &off, 1)], &[]);
        assert!(joint.is_none() && near(each[1].rmse, 1000.0 * each[0].rmse) && near(each[0].r2, each[1].r2));
        let (each, joint) = columns(&[target(&Y, &F, 0), target(&Y, &F, 0)], &[]);
        let joint = joint.unwrap();
        assert!(near(joint.0, each[0].rmse) && near(joint.1, each[0].r2));
    }

    #[test]
    fn tiny_numbers_are_not_constant() {
        let tiny = |all: &[f64]| all.iter().map(|x| 1e-300 * x).collect::<Vec<f64>>();
        let (ours, full) = (columns(&[target(&tiny(&Y), &tiny(&F), 0)], &[]).0, columns(&[target(&Y, &F, 0)], &[]).0);
        assert!((ours[0].r2 - full[0].r2).abs() < 1e-12 && (ours[0].rmse * 1e300 / full[0].rmse - 1.0).abs() < 1e-12, "{ours:?}");
        let missing = [1.0, f64::NAN, 2.0, 4.5, 5.0];
        assert_eq!(columns(&[target(&missing, &F, 0)], &[]).0[0].n, 4);
        // Nothing is seen of a column that is censored throughout, so nothing of it is explained.
        let (each, joint) = columns(&[target(&[f64::NAN; 5], &F, 0)], &[]);
        assert!(each[0].n == 0 && each[0].r2.is_nan() && each[0].rmse.is_nan() && joint.is_none(), "{each:?}");
    }
}
