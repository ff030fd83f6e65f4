//! What is poor about a fit. In: data, predictions and what the rows lie along; out: sentences, none where there is nothing to say.
//!
//! A minimum is the best a model can do, which may be little: it explains less than half of what varies, or leaves residuals in which
//! neighbours are alike, where those of noise are not, or that are larger than the given errors. Where noise is most of what varies, little
//! is all there is to explain: that is no flaw of a model which is certain to explain it, and leaves noise at every scale.

use crate::report::Axis;
use crate::statistics::likelihood::{Column, Target};
use crate::statistics::scan;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The share of the variance a model explains at least, if it is to count as a description of the data.
const HALF: f64 = 0.5;
/// Standard deviations at which a correlation of neighbours is no chance: one in several thousand columns of noise.
const NOTICED: f64 = 3.5;
/// Fewer pairs of neighbours say nothing.
const FEWEST: usize = 8;
/// Residuals of this share of the data are those of rounding and of solvers, which are systematic and mean nothing.
const NEGLIGIBLE: f64 = 1e-6;
/// The same of data that are large beside their differences: what solvers leave of the size itself.
const ROUNDING: f64 = 1e-10;

/// Fewer residuals do not show whether they are noise.
const TELLING: usize = 64;
/// How probable it may be that a constant explains as much as a model that is certain to explain more: starts look for the best of many.
const CERTAIN: f64 = 1e-4;

/// Standard deviations at which a sum of squares is no chance.
const IMPROBABLE: f64 = 5.0;

/// What is wrong with errors that were given: the sum of squares in their units is not what they make it. `spent`: numbers the fit had to
/// spend.
pub(crate) fn given_errors(chi_square: f64, n: usize, spent: f64) -> Option<String> {
    let freedom = n as f64 - spent;
    let off = (chi_square - freedom) / (2.0 * freedom).sqrt();
    let reduced = chi_square / freedom;
    let figures = format!("chi-square {} for {} degrees of freedom", digits(chi_square), digits(freedom));
    if freedom > 0.0 && off > IMPROBABLE {
        let factor = digits(reduced.sqrt());
        return Some(format!(
            "the residuals are {factor} times as large as the given errors ({figures}): the model misses something, \
             or the errors are larger than given, and the standard errors above are too small"
        ));
    }
    None
}

/// A few digits.
pub(super) fn digits(x: f64) -> String {
    if (1e-3..1e6).contains(&x.abs()) {
        format!("{:.*}", (3 - x.abs().log10().floor() as i32).clamp(0, 6) as usize, x)
    } else {
        format!("{x:.3e}")
    }
}

/// The share of the variance explained, of most of the data: outliers have no say.
fn of_most(target: &Target<'_>) -> f64 {
    let there: Vec<usize> =
        (0..target.observed.len()).filter(|&i| target.observed[i].is_finite() && target.predicted[i].is_finite()).collect();
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let middle = median(there.iter().map(|&i| target.observed[i]).collect());
    let spread = median(there.iter().map(|&i| (target.observed[i] - middle).abs()).collect());
    let left = median(there.iter().map(|&i| (target.observed[i] - target.predicted[i]).abs()).collect());
    1.0 - (left / spread).powi(2)
}

/// What is poor about the share of the variance of a column that is explained; `most`: of which of its data, if not of all.
pub(crate) fn little(name: &str, r2: f64, most: &str) -> Option<String> {
    if r2 <= 0.0 {
        let why = format!("its mean alone is as near to the data (R2 {r2:.2})");
        return Some(format!("the model explains nothing of what varies in {most}`{name}`: {why}"));
    }
    (r2 < HALF).then(|| format!("the model explains only {:.0} % of what varies in {most}`{name}`", 100.0 * r2))
}

/// What is poor about residuals that are standard normal if the model is right: neighbours are alike.
pub(crate) fn alike_standard(name: &str, standard: &[f64], axis: Option<&Axis>) -> Option<String> {
    let axis = axis?;
    let r = alike(&Target { name, observed: standard, predicted: &vec![0.0; standard.len()], scale: 0 }, &[], axis)?;
    Some(no_noise(name, axis, r))
}

/// Whether what is left of a column is rounding: residuals that are systematic and mean nothing.
pub(crate) fn is_negligible(column: &Column, observed: &[f64]) -> bool {
    let largest = observed.iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
    column.rmse <= (NEGLIGIBLE * spread(observed)).max(ROUNDING * largest)
}

/// How far numbers lie apart, half of it; their size where they are one and the same but for rounding.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let there = || values.iter().copied().filter(|x| x.is_finite());
    let (low, high) = there().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let size = there().fold(0.0f64, |m, x| m.max(x.abs()));
    let half = 0.5 * high - 0.5 * low;
    if half > 4.0 * f64::EPSILON * size { half } else { size }
}

fn no_noise(name: &str, axis: &Axis, r: f64) -> String {
    format!(
        "the residuals of `{name}` are not noise: neighbours along `{}` are alike (correlation {:.2}): the model misses something, or the \
         errors are correlated, and the standard errors above are too small then",
        axis.name,
        r.min(1.0)
    )
}

/// What there is to say of columns.
#[derive(Default)]
pub(crate) struct Remarks {
    /// How little is explained of what varies. Where errors are given, which may be most of it, that is no flaw.
    pub(crate) little: Vec<String>,
    /// Neighbours that are alike.
    pub(crate) alike: Vec<String>,
}

/// What says what is poor about the figures of columns: given the numbers spent, and whether the loss is robust.
pub(crate) type Judge<'a> = dyn Fn(&[Column], (f64, bool)) -> Remarks + 'a;

/// What is poor, column by column. `spent`: numbers the fit had to spend; `robust`: whether outliers were given little weight.
pub(crate) fn remarks(
    targets: &[Target<'_>],
    columns: &[Column],
    weights: &[f64],
    axis: Option<&Axis>,
    (spent, robust): (f64, bool),
) -> Remarks {
    let mut all = Remarks::default();
    for (target, column) in targets.iter().zip(columns) {
        let name = target.name;
        let axis = axis.filter(|_| !is_negligible(column, target.observed));
        let alike = axis.and_then(|axis| alike(target, weights, axis).map(|r| no_noise(name, axis, r)));
        let all_there_is = || !robust && alike.is_none() && axis.is_some_and(|axis| is_all(target, column, weights, axis, spent));
        let little = if robust { little(name, of_most(target), "most of the data ") } else { little(name, column.r2, "") };
        all.little.extend(little.filter(|_| !all_there_is()));
        all.alike.extend(alike);
    }
    all
}

/// Whether what a model explains, however little, is all there is: more than a constant explains, beyond chance (Fisher's F), and what it
/// leaves is noise along the axis, in stretches of every length.
fn is_all(target: &Target<'_>, column: &Column, weights: &[f64], axis: &Axis, spent: f64) -> bool {
    let (more, freedom) = ((spent - 1.0).max(1.0), column.n as f64 - spent);
    let f = column.r2 / more / ((1.0 - column.r2) / freedom);
    let certain = freedom > 0.0 && f > 0.0 && FisherSnedecor::new(more, freedom).is_ok_and(|law| law.sf(f) < CERTAIN);
    let rows = in_order(target, weights, axis);
    certain && rows.len() >= TELLING && !scan::in_order(&rows.iter().map(|&i| residual(target, weights, i)).collect::<Vec<_>>())
}

fn residual(target: &Target<'_>, weights: &[f64], row: usize) -> f64 {
    (target.observed[row] - target.predicted[row]) * weights.get(row).copied().unwrap_or(1.0)
}

fn trajectory(axis: &Axis, row: usize) -> usize {
    axis.trajectory.get(row).copied().unwrap_or(0)
}

/// The rows that have residuals, trajectory by trajectory, along the axis.
fn in_order(target: &Target<'_>, weights: &[f64], axis: &Axis) -> Vec<usize> {
    let there = |i: &usize| residual(target, weights, *i).is_finite() && axis.values[*i].is_finite();
    let mut rows: Vec<usize> = (0..target.observed.len()).filter(there).collect();
    let key = |i: usize| (trajectory(axis, i), axis.values[i]);
    rows.sort_by(|&a, &b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
    rows
}

/// The correlation of residuals that are neighbours along the axis, in one trajectory, where it is no chance.
fn alike(target: &Target<'_>, weights: &[f64], axis: &Axis) -> Option<f64> {
    let residual = |i: usize| residual(target, weights, i);
    let trajectory = |i: usize| trajectory(axis, i);
    let rows = in_order(target, weights, axis);
    let pairs = rows.windows(2).filter(|w| trajectory(w[0]) == trajectory(w[1]));
    let (count, sum) = pairs.fold((0, 0.0), |(n, sum), w| (n + 1, sum + residual(w[0]) * residual(w[1])));
    let squares: f64 = rows.iter().map(|&i| residual(i) * residual(i)).sum();
    let mean = squares / rows.len() as f64 * count as f64;
    let r = sum / mean;
    (count >= FEWEST && r * (count as f64).sqrt() > NOTICED).then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::random::Stream;

    fn said(observed: &[f64], predicted: &[f64], r2: f64) -> Vec<String> {
        let n = observed.len();
        let axis = Axis { name: "t".into(), values: (0..n).map(|i| i as f64).collect(), trajectory: vec![] };
        let column = Column { name: "y".into(), n, rmse: 1.0, r2 };
        let said = remarks(&[Target { name: "y", observed, predicted, scale: 0 }], &[column], &[], Some(&axis), (2.0, false));
        [said.little, said.alike].concat()
    }

    #[test]
    fn noise_is_not_poor() {
        let mut s = Stream::new(1, 77);
        // Three and a half standard deviations are one in 4,000; the draws are always the same.
        let wrong = (0..300).filter(|_| !said(&(0..40).map(|_| s.normal()).collect::<Vec<_>>(), &[0.0; 40], 0.9).is_empty()).count();
        assert!(wrong <= 1, "{wrong}");
    }

    /// A line that explains an eighth of 400 numbers, beside noise; the same share of 40; and of 400 beside a step that the line does not
    /// see.
    #[test]
    fn little_is_no_flaw_where_the_rest_is_noise() {
        let with = |n: usize, step: f64| {
            let mut s = Stream::new(5, 78);
            let line: Vec<f64> = (0..n).map(|i| 1.3 * (i as f64 / n as f64 - 0.5)).collect();
            let stretch = |i: usize| if (n / 2..n / 2 + 16).contains(&i) { step } else { 0.0 };
            said(&line.iter().enumerate().map(|(i, x)| x + s.normal() + stretch(i)).collect::<Vec<_>>(), &line, 0.125)
        };
        assert_eq!(with(400, 0.0), [""; 0]);
        assert!(with(40, 0.0)[0].contains("only 12 %"));
        assert!(!with(400, 2.5).is_empty());
    }

    #[test]
    fn errors_that_were_given_are_judged() {
        assert_eq!(given_errors(38.0, 40, 2.0), None);
        assert_eq!(given_errors(80.0, 40, 2.0), None, "4.8 standard deviations");
        let said = given_errors(3558.6, 40, 2.0).unwrap();
        assert!(said.contains("9.677 times") && said.contains("chi-square 3559 for 38.00"), "{said}");
        assert_eq!(given_errors(1.0, 2, 2.0), None, "nothing is left to judge by");
    }

    #[test]
    fn waves_and_little_explained_are() {
        let wave: Vec<f64> = (0..40).map(|i| (f64::from(i) / 5.0).sin()).collect();
        let all = said(&wave, &[0.0; 40], 0.08);
        assert!(all[0].contains("only 8 %") && all[1].contains("neighbours along `t`"), "{all:?}");
        assert!(said(&[1.0; 40], &[2.0; 40], -0.19)[0].contains("R2 -0.19"));
    }
}
