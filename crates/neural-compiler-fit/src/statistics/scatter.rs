//! Whether observations scatter as far as their declared distribution says. In: a distribution with its location and arguments, cell by
//! cell, what was observed, and standard residuals; out: a sentence where they scatter further than chance allows.
//!
//! Whole numbers are judged by Pearson's sum of squares over the variances, whose own variance is known from the kurtosis; others by their
//! quantile residuals, which are standard normal if the model is right. One count where hardly any is expected may be most of Pearson's
//! sum, whose tail is then far longer than that of a chi-square with its mean and variance: where that would condemn a model, the sum is
//! drawn again and again from the model, with a fixed seed, and what is as large there says how probable it is. Where the width of the
//! distribution may itself be estimated, as the size of negative binomial counts, degrees of freedom are not taken off: the estimate has
//! spent them, and the judgement errs on the side of silence. Nothing is said of scatter that is too small: such errors are larger than
//! they need be, and the model is no worse.

use super::poor::digits;
use crate::forecast::distribution::Cumulative;
use crate::support::random::Stream;
use neural_compiler::syntax::distributions::{Distribution, Moments};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// How probable a scatter as large must be by chance, if nothing is said: one in several thousand, as of neighbours that are alike.
const CHANCE: f64 = 2.3e-4;

/// A sum of squares, what is expected of it, and its variance.
struct Sum {
    found: f64,
    expected: f64,
    variance: f64,
    /// The row that makes most of it, and how much; none where it is not told by rows.
    largest: Option<(usize, f64)>,
}

impl Sum {
    /// How probable a larger one is by chance, by the multiple of a chi-square of the same mean and variance. NaN of one that is no larger
    /// than expected: the means of rare counts make it so skew that most of it lies far below its own mean.
    fn probability(&self) -> f64 {
        if self.found <= self.expected {
            return f64::NAN;
        }
        let unit = self.variance / (2.0 * self.expected);
        let of = ChiSquared::new(2.0 * self.expected * self.expected / self.variance);
        of.map_or(f64::NAN, |of| of.sf(self.found / unit))
    }
}

/// The numbers of a cell: what was observed, its location and arguments.
fn pearson(moments: Moments, observed: &[f64], numbers: &[&[f64]], spent: f64) -> Sum {
    let (mut found, mut variance, mut n) = (0.0, 0.0, 0.0);
    let mut largest: Option<(usize, f64)> = None;
    for (row, y) in observed.iter().enumerate() {
        let of: Vec<f64> = numbers.iter().map(|all| all[row]).collect();
        let [mean, width, excess] = moments(&of);
        if y.is_finite() && width > 0.0 && excess.is_finite() {
            let own = (y - mean) * (y - mean) / width;
            largest = largest.filter(|l| l.1 >= own).or(Some((row, own)));
            found += own;
            variance += 2.0 + excess;
            n += 1.0;
        }
    }
    let expected = n - spent;
    Sum { found, expected, variance: variance * expected / n, largest }
}

/// Draws at most, and cells drawn at most; fewer draws than the least say nothing of what is as improbable as `CHANCE`.
const DRAWS: usize = 100_000;
const CELLS: usize = 20_000_000;
const LEAST_DRAWS: usize = 20_000;
/// So many draws that are as large decide.
const ENOUGH: usize = 100;
/// Numbers that stand for all a cell may have, at most.
const TABLE: usize = 1000;
/// An excess of the kurtosis below which a cell is as a normal one.
const NO_EXCESS: f64 = 0.05;

/// What a cell adds to Pearson's sum, and how probable it is to add as much or what stands before it.
struct Cell(Vec<(f64, f64)>);

impl Cell {
    fn new(cumulative: &Cumulative, of: &[f64], [mean, width, _]: [f64; 3]) -> Option<Cell> {
        // So far out that nothing is missed that happens once in all draws.
        let top = mean + 40.0 * width.sqrt() + 40.0;
        let step = (top / TABLE as f64).ceil();
        let y: Vec<f64> = (0..).map(|k| f64::from(k) * step).take_while(|y| *y <= top).collect();
        let numbers: Vec<Vec<f64>> = of.iter().map(|x| vec![*x; y.len()]).collect();
        let below = cumulative.below(&y, &numbers).ok()?;
        Some(Cell(below.into_iter().zip(&y).map(|(p, y)| (p, (y - mean) * (y - mean) / width)).collect()))
    }

    fn draw(&self, stream: &mut Stream) -> f64 {
        let u = stream.uniform();
        let at = self.0.partition_point(|(p, _)| *p < u);
        self.0[at.min(self.0.len() - 1)].1
    }
}

/// How probable a sum as large is by chance, as draws from the model say, and whether it is less; `None` where a chi-square says it well
/// enough, or where there are too many cells to draw.
fn drawn(of: &'static Distribution, moments: Moments, numbers: &[&[f64]], there: &[usize], found: f64) -> Option<(f64, bool)> {
    let cumulative = Cumulative::new(of)?;
    let (mut rare, mut normal) = (Vec::new(), 0usize);
    for &row in there {
        let own: Vec<f64> = numbers.iter().map(|all| all[row]).collect();
        match moments(&own) {
            [_, _, excess] if excess.abs() < NO_EXCESS => normal += 1,
            all => rare.push(Cell::new(&cumulative, &own, all)?),
        }
    }
    let draws = DRAWS.min(CELLS / (rare.len() + normal).max(1));
    if rare.is_empty() || draws < LEAST_DRAWS {
        return None;
    }
    let mut stream = Stream::new(1, 0x5eed);
    let (mut done, mut larger) = (0, 0);
    while done < draws && larger < ENOUGH {
        let of_rare: f64 = rare.iter().map(|cell| cell.draw(&mut stream)).sum();
        let of_normal: f64 = (0..normal).map(|_| stream.normal().powi(2)).sum();
        larger += usize::from(of_rare + of_normal >= found);
        done += 1;
    }
    Some(((larger + 1) as f64 / (done + 1) as f64, larger == 0))
}

/// What is wrong with how far the observations of a column scatter. `numbers`: location and arguments; `spent`: numbers the fit had to
/// spend.
pub(crate) fn too_far(
    (name, words): (&str, &str),
    of: &'static Distribution,
    (observed, numbers): (&[f64], &[&[f64]]),
    standard: &[f64],
    spent: f64,
) -> Option<String> {
    // The number of trials is data, every other argument may be a parameter.
    let spent = if of.arguments.is_empty() || of.name == "binomial" { spent } else { 0.0 };
    let (sum, whose) = match of.moments {
        Some(moments) => (pearson(moments, observed, numbers, spent), "Pearson's chi-square"),
        None => {
            let there = standard.iter().filter(|x| x.is_finite());
            let (found, n) = there.fold((0.0, 0.0), |(sum, n), x| (sum + x * x, n + 1.0));
            (Sum { found, expected: n, variance: 2.0 * n, largest: None }, "chi-square of quantile residuals")
        }
    };
    // `below`: no draw was as large.
    let mut below = false;
    let mut p = if sum.expected > 0.0 && sum.variance > 0.0 { sum.probability() } else { f64::NAN };
    if let Some(moments) = of.moments.filter(|_| p < CHANCE) {
        let counts = |row: &usize| {
            let [_, width, excess] = moments(&numbers.iter().map(|all| all[*row]).collect::<Vec<f64>>());
            observed[*row].is_finite() && width > 0.0 && excess.is_finite()
        };
        let there: Vec<usize> = (0..observed.len()).filter(counts).collect();
        (p, below) = drawn(of, moments, numbers, &there, sum.found).unwrap_or((p, false));
    }
    let most = sum.largest.filter(|(_, own)| *own > 0.5 * sum.found);
    let most = most.map_or(String::new(), |(row, own)| format!(", {} of it by row {} alone", digits(own), row + 1));
    (p < CHANCE).then(|| {
        format!(
            "the data scatter more than the noise of `{name}`, {words}, allows: {} times its variance ({whose} {}{most} for {} degrees of \
             freedom, p {}{p:.1e}): the model misses something, or the noise is another, and the standard errors above are too small",
            digits(sum.found / sum.expected),
            digits(sum.found),
            digits(sum.expected),
            if below { "below " } else { "" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use neural_compiler::syntax::distributions::noise;

    fn said(name: &str, observed: &[f64], numbers: &[&[f64]], spent: f64) -> Option<String> {
        too_far(("y", "(noise)"), noise(name).unwrap(), (observed, numbers), &[], spent)
    }

    /// Four counts of mean 4: Pearson's sum is that of (y - 4)^2/4, its expectation 3, its variance 2 + 1/4 a cell.
    #[test]
    fn sums_are_those_of_pearson() {
        let sum = pearson(noise("poisson").unwrap().moments.unwrap(), &[2.0, 6.0, 4.0, 0.0], &[&[4.0; 4]], 1.0);
        assert_eq!((sum.found, sum.expected, sum.variance), (1.0 + 1.0 + 0.0 + 4.0, 3.0, 2.25 * 3.0));
        // Of 10 trials at 1/2: variance 2.5, excess -0.2.
        let sum = pearson(noise("binomial").unwrap().moments.unwrap(), &[5.0, 10.0], &[&[0.5; 2], &[10.0; 2]], 0.0);
        assert!((sum.found - 10.0).abs() < 1e-12 && (sum.variance - 2.0 * 1.8).abs() < 1e-12);
    }

    #[test]
    fn counts_that_scatter_too_far_are_told_and_others_are_not() {
        // Variance and mean alike, then a variance of 16 times the mean.
        let fair: Vec<f64> = (0..40).map(|i| [12.0, 16.0, 20.0, 16.0][i % 4]).collect();
        let wild: Vec<f64> = (0..40).map(|i| [0.0, 32.0][i % 2]).collect();
        let mean = vec![16.0; 40];
        assert_eq!(said("poisson", &fair, &[&mean], 1.0), None);
        let told = said("poisson", &wild, &[&mean], 1.0).unwrap();
        assert!(told.contains("16.41 times") && told.contains("for 39.00 degrees"), "{told}");
        // The same is what a size of 16/15 says.
        assert_eq!(said("negative-binomial", &wild, &[&mean, &vec![16.0 / 15.0; 40]], 2.0), None);
        // Rare counts that scatter less than expected, and none at all.
        let rare: Vec<f64> = (1..=12).map(|i| (2.3 - 1.2 * f64::from(i)).exp()).collect();
        assert_eq!(said("poisson", &[3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[&rare], 2.0), None);
        assert_eq!(said("poisson", &[0.0; 4], &[&[1e-40; 4]], 2.0), None);
        // Bits, and single trials, scatter as their mean says.
        let bits: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert_eq!(said("bernoulli", &bits, &[&[0.5; 40]], 1.0), None);
        assert_eq!(said("binomial", &bits, &[&[0.5; 40], &[1.0; 40]], 1.0), None);
    }
}
