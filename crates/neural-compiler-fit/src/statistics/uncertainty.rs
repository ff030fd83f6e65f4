//! How sure a fit is. In: residuals and derivatives at the minimum; out: covariance, standard errors, intervals, and the names of
//! what the data do not determine.
//!
//! The covariance is that of least squares; of a robust loss that of Huber's M-estimates (Huber 1981, equation 6.5 of chapter 7): the mean
//! square of what the residuals pull, over the square of how much that changes with them, with his correction for few data.
//! Invariant: no standard error is given for a parameter at its bound, nor for one that takes part in a combination the data
//! cannot identify.

use crate::optimise::linear::Linear;
use crate::optimise::loss::Loss;
use crate::optimise::{Bounds, dot, norm};
use crate::statistics::student;

/// What is known of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Certainty {
    /// A standard error.
    Error(f64),
    /// It ended at its bound.
    AtBound,
    /// The data leave it open, alone or together with others.
    Unidentified,
    /// The data determine it, and leave nothing over to tell its error by.
    NoFreedom,
    /// Too many weights were trained beside it for its error to be computed.
    Unknown,
    /// The fit did not end at a minimum, the curvature at which an error is.
    NoMinimum,
    /// The model meets the data exactly: nothing is left to tell its error by.
    Met,
    /// It runs off to infinity: the likelihood has no maximum.
    Endless,
}

/// Parameters that can change together without changing the fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Open {
    /// The parameters that take part, in order.
    pub parameters: Vec<usize>,
    /// Independent ways to change them, a number for each of them.
    pub ways: Vec<Vec<f64>>,
}

/// The uncertainty of all parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Uncertainty {
    /// Per parameter.
    pub certainty: Vec<Certainty>,
    /// Covariance row by row; rows and columns of parameters without a standard error are NaN. Empty where there are too many parameters
    /// for all pairs of them.
    pub covariance: Vec<f64>,
    /// The same of what the data determine, for parameters that are open too: the variance of a combination that no open way changes.
    pub determined: Vec<f64>,
    /// What is open.
    pub open: Vec<Open>,
    /// Residuals minus parameters the data determine.
    pub freedom: usize,
    /// The variance of a residual of weight 1, estimated unless it was given; of a robust loss what stands in its place.
    pub variance: f64,
    /// By how many standard errors a 95 % interval reaches to either side.
    pub reach: f64,
    /// By how much the cost rises up to the ends of a 95 % interval, the other parameters following.
    pub rise: f64,
}

/// Singular values below this share of the largest belong to combinations the data do not determine, where nothing more is known of the
/// derivatives than that they are those of formulas.
pub(crate) const EXACT: f64 = 1e-10;
/// The same where the derivatives were seen to have nearly all digits of the number type: singular values of columns of length 1 are known
/// to a few units in the last place of the largest, so that of this one three digits are left.
pub(crate) const ROUNDING: f64 = 1e-12;
/// Columns this nearly dependent leave a combination open if its error is so many times larger than the value of every parameter in it, or
/// larger than all of them and [`ABSURD`] times one: such an error says that the order of magnitude is not known, and the parabola it comes
/// from is not that of the cost.
const AT_MINIMUM: Hopeless = Hopeless { nearly: 1e-4, times: 100.0 };
/// Where a fit stopped on its way along a valley no errors are given, and a combination is open whose error is larger than its values.
const ON_THE_WAY: Hopeless = Hopeless { nearly: 1e-2, times: 1.0 };
const ABSURD: f64 = 1000.0;

/// When a combination counts as open.
#[derive(Clone, Copy)]
struct Hopeless {
    /// The share of the largest singular value below which columns are nearly dependent.
    nearly: f64,
    /// How many times as large as every value in it its error is.
    times: f64,
}

/// Where the variance of a residual comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Variance {
    /// The weights are those of known errors: it is 1.
    Known,
    /// The sum of squares.
    Squares(f64),
    /// Of a robust loss.
    Robust {
        /// The sum of squared pulls.
        squares: f64,
        /// The mean of how a pull changes with its residual.
        mean: f64,
        /// The variance of that.
        spread: f64,
    },
}

impl Variance {
    /// The variance that stands before the inverse of the products of derivatives.
    fn value(self, observations: usize, rank: usize) -> f64 {
        let (n, p) = (observations as f64, rank as f64);
        match self {
            Variance::Known => 1.0,
            Variance::Squares(sum) => sum / (n - p),
            Variance::Robust { squares, mean, spread } => {
                let few = 1.0 + p / n * spread / (mean * mean);
                few * few * squares / (n - p) / (mean * mean)
            }
        }
    }

    /// By how much the cost rises where the sum of squares of the linear model does by 1.
    fn bend(self) -> f64 {
        if let Variance::Robust { mean, .. } = self { mean } else { 1.0 }
    }
}

/// Residuals as a loss counts them, and the variance that belongs to them.
pub fn counted(linear: &Linear, loss: Loss, known: bool) -> (Vec<f64>, Variance) {
    let residuals = &linear.residuals;
    if loss == Loss::Squares {
        let variance = if known { Variance::Known } else { Variance::Squares(dot(residuals, residuals)) };
        return (residuals.clone(), variance);
    }
    let (pulls, changes): (Vec<f64>, Vec<f64>) = residuals.iter().map(|r| loss.pull(*r)).unzip();
    let n = residuals.len() as f64;
    let mean = changes.iter().sum::<f64>() / n;
    let spread = changes.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / n;
    let squares = dot(&pulls, &pulls);
    (pulls, Variance::Robust { squares, mean, spread })
}

/// The uncertainty at a minimum. `observations`: how many of the residuals are data; the others are penalties, or count for nothing.
/// `precision`: singular values below this share of the largest are errors of the derivatives (`EXACT` for formulas).
pub fn at_minimum(theta: &[f64], linear: &Linear, bounds: &Bounds, variance: Variance, observations: usize, precision: f64) -> Uncertainty {
    judged(theta, linear, bounds, variance, observations, (precision, AT_MINIMUM))
}

/// What is open where a fit stopped before a minimum: errors hold only at one, so there are none.
pub(crate) fn short_of_minimum(
    theta: &[f64],
    linear: &Linear,
    bounds: &Bounds,
    variance: Variance,
    observations: usize,
    precision: f64,
) -> Uncertainty {
    let mut found = judged(theta, linear, bounds, variance, observations, (precision, ON_THE_WAY));
    found.covariance.fill(f64::NAN);
    found.determined.fill(f64::NAN);
    found.certainty.iter_mut().filter(|c| matches!(c, Certainty::Error(_))).for_each(|c| *c = Certainty::NoMinimum);
    found
}

fn judged(
    theta: &[f64],
    linear: &Linear,
    bounds: &Bounds,
    variance: Variance,
    observations: usize,
    (precision, limit): (f64, Hopeless),
) -> Uncertainty {
    let (m, n) = (linear.residuals.len(), theta.len());
    let mut certainty = vec![Certainty::Unidentified; n];
    let mut free = Vec::new();
    for j in 0..n {
        let (slope, size) = (linear.slope(j), linear.size(j));
        // At the very bound, and held there by the data rather than by chance, or by errors of the derivatives.
        let tight = |slope: f64| slope.abs() > precision.max(1e-9) * size * norm(&linear.residuals) || size == 0.0;
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
    let (mut covariance, mut determined) = (vec![f64::NAN; n * n], vec![f64::NAN; n * n]);
    let Some(parts) = parts else {
        return Uncertainty { certainty, ..Uncertainty::unknown(n) };
    };
    let certain = parts.rank(precision).min(m);
    let value = |rank: usize| variance.value(observations, rank);
    // Of what is left, ways whose error dwarfs every value they change.
    let hopeless = |k: usize| {
        let (s, vector) = (parts.singular[k], &parts.vectors[k]);
        let largest = vector.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let taking_part = vector.iter().enumerate().filter(|(_, v)| v.abs() > 0.1 * largest);
        let error = value(certain).sqrt() / s;
        let ratios = taking_part.map(|(i, v)| error * v.abs() / scales[i] / theta[free[i]].abs());
        let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(lo, hi), r| (lo.min(r), hi.max(r)));
        s < limit.nearly * parts.singular[0] && (least > limit.times || (least > 1.0 && most > ABSURD))
    };
    let (kept, lost): (Vec<usize>, Vec<usize>) = (0..free.len()).partition(|&k| k < certain && !hopeless(k));
    // Ways whose errors mean nothing were followed to the minimum like the others, and have used up as much of the data.
    let freedom = observations.saturating_sub(certain);
    let known = variance == Variance::Known;
    let value = if freedom > 0 || known { value(certain) } else { f64::NAN };
    let open = blocks(&lost.iter().map(|&k| &parts.vectors[k][..]).collect::<Vec<_>>(), &free, &scales);
    let undetermined: Vec<bool> = free.iter().map(|j| open.iter().any(|o| o.parameters.contains(j))).collect();
    for (a, &i) in free.iter().enumerate() {
        for (b, &j) in free.iter().enumerate() {
            let inner: f64 =
                kept.iter().map(|&k| (parts.vectors[k][a] / parts.singular[k]) * (parts.vectors[k][b] / parts.singular[k])).sum();
            determined[i * n + j] = value * inner / scales[a] / scales[b];
            if !undetermined[a] && !undetermined[b] {
                covariance[i * n + j] = determined[i * n + j];
            }
        }
        // Of its own, not by way of the variance, which is beyond the largest number, or 0, long before the error is.
        let error = value.sqrt() * norm(&kept.iter().map(|&k| parts.vectors[k][a] / parts.singular[k]).collect::<Vec<_>>()) / scales[a];
        if !undetermined[a] && error.is_finite() {
            certainty[i] = Certainty::Error(error);
        } else if !undetermined[a] && freedom == 0 && !known {
            certainty[i] = Certainty::NoFreedom;
        }
    }
    let reach = if known { student::NORMAL } else { student::reach(freedom) };
    Uncertainty { certainty, covariance, determined, open, freedom, variance: value, reach, rise: reach * reach * value * variance.bend() }
}

/// Ways that change nothing, sorted by the parameters they change: those of parameters that have nothing to do with each other apart.
/// `vectors` are orthonormal, in parameters divided by their `scales`.
fn blocks(vectors: &[&[f64]], free: &[usize], scales: &[f64]) -> Vec<Open> {
    let n = free.len();
    // The projection onto all ways does not depend on which of them were chosen as a basis.
    let projection = |a: usize, b: usize| vectors.iter().map(|v| v[a] * v[b]).sum::<f64>();
    let mut left: Vec<usize> = (0..n).filter(|&a| projection(a, a) > TAKES_PART * TAKES_PART).collect();
    let mut all = Vec::new();
    while let Some(first) = left.first().copied() {
        let mut block = vec![first];
        let mut at = 0;
        while let Some(&a) = block.get(at) {
            block.extend(left.iter().copied().filter(|&b| !block.contains(&b) && projection(a, b).abs() > TAKES_PART).collect::<Vec<_>>());
            at += 1;
        }
        block.sort_unstable();
        left.retain(|a| !block.contains(a));
        let rows: Vec<Vec<f64>> = block.iter().map(|&a| block.iter().map(|&b| projection(a, b)).collect()).collect();
        let ways = basis(rows).into_iter().map(|way| way.iter().zip(&block).map(|(x, &a)| x / scales[a]).collect()).collect();
        all.push(Open { parameters: block.iter().map(|&a| free[a]).collect(), ways });
    }
    all
}

/// A share of a way below which a parameter does not take part in it.
const TAKES_PART: f64 = 1e-6;

/// An orthonormal basis of the rows of a projection (Gram and Schmidt, largest rows first).
fn basis(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::new();
    loop {
        for row in &mut rows {
            for b in &found {
                let part = dot(row, b);
                row.iter_mut().zip(b).for_each(|(x, b)| *x -= part * b);
            }
        }
        let Some(longest) = rows.iter().max_by(|a, b| norm(a).total_cmp(&norm(b))).filter(|r| norm(r) > 1e-3) else { return found };
        let length = norm(longest);
        found.push(longest.iter().map(|x| x / length).collect());
    }
}

impl Uncertainty {
    /// Of parameters whose errors were not computed.
    pub fn unknown(parameters: usize) -> Uncertainty {
        Uncertainty::without(Certainty::Unknown, parameters)
    }

    /// Of parameters that have no errors, for a reason they share.
    pub fn without(why: Certainty, parameters: usize) -> Uncertainty {
        let none = vec![f64::NAN; parameters * parameters];
        let (certainty, nan) = (vec![why; parameters], f64::NAN);
        Uncertainty {
            certainty,
            covariance: none.clone(),
            determined: none,
            open: vec![],
            freedom: 0,
            variance: nan,
            reach: nan,
            rise: nan,
        }
    }

    /// The correlation of two parameters; `None` where either has no standard error.
    pub fn correlation(&self, i: usize, j: usize) -> Option<f64> {
        if self.covariance.is_empty() {
            return None;
        }
        let n = self.certainty.len();
        let (Certainty::Error(a), Certainty::Error(b)) = (self.certainty[i], self.certainty[j]) else { return None };
        let r = self.covariance[i * n + j] / a / b;
        let known = r.is_finite() && a > 0.0 && b > 0.0 && (self.covariance[i * n + j] != 0.0 || a * b > f64::MIN_POSITIVE);
        if i == j { (a > 0.0).then_some(1.0) } else { known.then_some(r.clamp(-1.0, 1.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_whose_squares_are_beyond_the_range() {
        // y = a x at x = 0, 1, 2, 3 with residuals 1 -1 -1 1, a in another unit: the error is sqrt(4/3/14) of it.
        for unit in [1e-200, 1e-160, 1.0, 1e160, 1e200] {
            let jacobian = vec![0.0, 1.0 / unit, 2.0 / unit, 3.0 / unit];
            let u = at_minimum(
                &[5.0 * unit],
                &Linear::new(vec![1.0, -1.0, -1.0, 1.0], jacobian),
                &Bounds::none(1),
                Variance::Squares(4.0),
                4,
                EXACT,
            );
            let expected = (4.0f64 / 3.0 / 14.0).sqrt() * unit;
            assert!(matches!(u.certainty[0], Certainty::Error(e) if (e / expected - 1.0).abs() < 1e-12), "{unit:e}: {:?}", u.certainty);
        }
    }

    #[test]
    fn an_error_a_thousand_times_its_value_among_dependent_columns_is_none() {
        // Columns x and x + 1e-6 x²: their difference is known to about 1e6 times what the data know of their sum.
        let x: Vec<f64> = (0..20).map(|i| f64::from(i) / 10.0).collect();
        let jacobian: Vec<f64> = x.iter().copied().chain(x.iter().map(|x| x + 1e-6 * x * x)).collect();
        let residuals: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 1e-3 } else { -1e-3 }).collect();
        let of = |theta: [f64; 2]| {
            let squares = Variance::Squares(dot(&residuals, &residuals));
            at_minimum(&theta, &Linear::new(residuals.clone(), jacobian.clone()), &Bounds::none(2), squares, 20, EXACT)
        };
        // The error of either is about 400: that of 0.3 is absurd, and 30 is not known either; 4000 is.
        let open = of([0.3, 30.0]);
        assert_eq!(open.certainty, [Certainty::Unidentified; 2]);
        assert_eq!(open.open.len(), 1);
        let known = of([4000.0, 4000.0]);
        assert!(known.certainty.iter().all(|c| matches!(c, Certainty::Error(e) if (100.0..1000.0).contains(e))), "{:?}", known.certainty);
    }

    #[test]
    fn a_straight_line() {
        // y = a + b x through 4 points with residuals +1 -1 -1 +1: standard errors by the textbook formula.
        let x = [0.0, 1.0, 2.0, 3.0];
        let residuals = [1.0, -1.0, -1.0, 1.0];
        let jacobian: Vec<f64> = [1.0; 4].into_iter().chain(x).collect();
        let u = at_minimum(&[5.0, 2.0], &Linear::new(residuals.to_vec(), jacobian), &Bounds::none(2), Variance::Squares(4.0), 4, EXACT);
        let (s2, sxx) = (4.0 / 2.0, 5.0);
        let expected = [(s2 * (0.25 + 1.5f64.powi(2) / sxx)).sqrt(), (s2 / sxx).sqrt()];
        for (c, e) in u.certainty.iter().zip(expected) {
            assert!(matches!(c, Certainty::Error(x) if (x - e).abs() < 1e-13), "{c:?}");
        }
        assert!((u.correlation(0, 1).unwrap() + 1.5 / (5.0f64 / 4.0 + 2.25).sqrt()).abs() < 1e-12);
    }
}
