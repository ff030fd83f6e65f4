//! Whether residuals are nothing but noise. In: residuals and the inputs they belong to; out: whether a better model could hide in them.
//!
//! Rows with nearly the same inputs fall into one cell. What any function of the inputs explains shows in the means of the cells; of
//! noise these means scatter as its variance says (the test for lack of fit of Fisher 1922). There are as many cells as the rows can
//! afford while a function that would lower the sum of squares by `SHARE` is noticed twice over. What is confined to a few rows is a
//! smaller share than that, however clearly it is there: a scan of smaller cells looks for it (`scan.rs`). Invariant: "no" is always safe;
//! "yes" needs inputs that fill their cells.

use super::scan;
use crate::optimise::{dot, extent};

/// The share of the sum of squares that must not escape: of minima less apart than this the user's is kept anyway.
const SHARE: f64 = 0.02;
/// Standard deviations at which a statistic is no chance.
const NOTICED: f64 = 3.0;
/// Rows per cell at least, on average.
const PER_CELL: usize = 16;
/// Rows that crowd in a few cells by more than this are not told apart by them.
const CROWDED: f64 = 4.0;
/// Rows per cell in which what is confined to a few is looked for.
const PER_SMALL_CELL: usize = 4;
/// Such cells at most.
const MOST_SMALL_CELLS: usize = 1 << 17;
/// More inputs have too few rows in a cell to be near each other.
const MOST_INPUTS: usize = 2;

/// How many cells so many rows afford.
fn affordable(rows: usize) -> f64 {
    ((SHARE * rows as f64 / (2.0 * NOTICED)).powi(2) / 2.0).min((rows / PER_CELL) as f64)
}

/// Rows that show whether a function changes slowly from cell to cell, of so many.
pub(crate) fn rows_to_tell(rows: usize) -> usize {
    ((4.0 * affordable(rows)) as usize).min(rows)
}

/// Sums and counts of cells, so many along each input; `None` where the inputs have no cells.
fn grid(inputs: &[&[f64]], values: &[f64], per_input: usize) -> Option<Vec<(f64, f64)>> {
    let n = values.len();
    if inputs.is_empty() || inputs.len() > MOST_INPUTS || inputs.iter().any(|x| x.len() != n) {
        return None;
    }
    let mut cell = vec![0u32; n];
    for x in inputs {
        let (low, high) = extent(x);
        let scale = per_input as f64 / (high - low);
        if !(scale.is_finite() && scale > 0.0) {
            return None;
        }
        let last = per_input as u32 - 1;
        cell.iter_mut().zip(*x).for_each(|(c, x)| *c = *c * per_input as u32 + (((x - low) * scale) as u32).min(last));
    }
    let mut sums = vec![(0.0f64, 0.0f64); per_input.pow(inputs.len() as u32)];
    for (c, x) in cell.iter().zip(values) {
        let sum = &mut sums[*c as usize];
        *sum = (sum.0 + x, sum.1 + 1.0);
    }
    Some(sums)
}

/// How many cells along each input are so many in all.
fn per_input(inputs: &[&[f64]], cells: f64) -> usize {
    cells.powf(1.0 / inputs.len().max(1) as f64).floor() as usize
}

/// The sums and counts of the cells that are not empty, about so many of them; `None` where the rows do not fill them.
fn in_cells(inputs: &[&[f64]], values: &[f64], cells: f64) -> Option<Vec<(f64, f64)>> {
    let per_input = per_input(inputs, cells);
    if per_input < 8 {
        return None;
    }
    let occupied: Vec<(f64, f64)> = grid(inputs, values, per_input)?.into_iter().filter(|s| s.1 > 0.0).collect();
    let (count, rows) = (occupied.len() as f64, values.len() as f64);
    // How many rows a row shares its cell with, on average, beside how many it would if all cells were alike.
    let company = occupied.iter().map(|(_, n)| n * n).sum::<f64>() / rows;
    (2.0 * count >= cells && company <= CROWDED * rows / cells).then_some(occupied)
}

/// Whether residuals of this variance stand out somewhere, in however few rows.
fn stands_out(inputs: &[&[f64]], residuals: &[f64], variance: f64) -> bool {
    let side = per_input(inputs, (residuals.len() / PER_SMALL_CELL).min(MOST_SMALL_CELLS) as f64);
    let sides = if inputs.len() == 1 { (1, side) } else { (side, side) };
    grid(inputs, residuals, side).is_none_or(|cells| scan::stands_out(&cells, sides, variance))
}

/// The sum of squares of the means of cells, and the variance within them.
fn scatter(occupied: &[(f64, f64)], values: &[f64]) -> (f64, f64) {
    let between: f64 = occupied.iter().map(|(sum, n)| sum * sum / n).sum();
    (between, (dot(values, values) - between) / (values.len() - occupied.len()) as f64)
}

/// The share of a change that the means of cells must show, if it is to be noticed there.
const SHOWN: f64 = 0.5;

/// Whether a change, known at some of `rows` rows, shows in the means of the cells so many rows have.
pub(crate) fn shows(inputs: &[&[f64]], change: &[f64], rows: usize) -> bool {
    in_cells(inputs, change, affordable(rows)).is_some_and(|occupied| {
        occupied.len() < change.len() && scatter(&occupied, change).1 <= (1.0 - SHOWN) * dot(change, change) / change.len() as f64
    })
}

/// Whether no function of the inputs that changes slowly from cell to cell explains a noticeable part of the residuals, and none that is
/// confined to a few rows either.
pub(crate) fn only_noise(inputs: &[&[f64]], residuals: &[f64]) -> bool {
    let Some(occupied) = in_cells(inputs, residuals, affordable(residuals.len())) else { return false };
    let (between, within) = scatter(&occupied, residuals);
    let (count, rows) = (occupied.len() as f64, residuals.len() as f64);
    let deviation = (2.0 * count * (1.0 + count / (rows - count))).sqrt();
    between / within - count <= NOTICED * deviation && !stands_out(inputs, residuals, within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::random::Stream;

    /// Noise with a wave of a share of its variance, `periods` of it over the range.
    fn waves(rows: usize, share: f64, periods: f64, seed: u32) -> (Vec<f64>, Vec<f64>) {
        let mut s = Stream::new(seed, 5);
        let x: Vec<f64> = (0..rows).map(|_| s.uniform()).collect();
        let r = x.iter().map(|x| s.normal() + (2.0 * share).sqrt() * (std::f64::consts::TAU * periods * x).sin()).collect();
        (x, r)
    }

    #[test]
    fn noise_is_noise_and_a_small_wave_is_not() {
        let count = |share: f64, rows: usize, periods: f64| {
            (0..40)
                .filter(|&seed| {
                    let (x, r) = waves(rows, share, periods, seed);
                    only_noise(&[&x], &r)
                })
                .count()
        };
        for rows in [4_096, 10_000] {
            assert!(count(0.0, rows, 1.0) >= 39, "three standard deviations are one in 700");
            assert_eq!(count(0.03, rows, 3.0), 0);
            assert_eq!(count(0.04, rows, 15.0), 0);
        }
        assert_eq!(count(0.03, 10_000, 100.0), 0);
    }

    /// A peak of twenty rows in 5,000, worth a likelihood ratio of e^20: a hundredth of the sum of squares.
    #[test]
    fn a_peak_in_a_few_rows_is_no_noise() {
        let noticed = |height: f64| {
            (0..20)
                .filter(|&seed| {
                    let mut s = Stream::new(seed, 7);
                    let x: Vec<f64> = (0..5000).map(|i| f64::from(i) / 500.0).collect();
                    let r: Vec<f64> = x.iter().map(|x| s.normal() + height * (-0.5 * ((x - 7.0) / 0.02).powi(2)).exp()).collect();
                    !only_noise(&[&x], &r)
                })
                .count()
        };
        assert!(noticed(0.0) <= 1);
        assert!(noticed(1.7) >= 18, "{}", noticed(1.7));
    }

    #[test]
    fn waves_within_a_cell_do_not_show() {
        let wave = |periods: f64| {
            let (x, _) = waves(1_000, 0.0, 1.0, 1);
            let change: Vec<f64> = x.iter().map(|x| (std::f64::consts::TAU * periods * x).sin()).collect();
            shows(&[&x], &change, 10_000)
        };
        assert!(wave(0.3) && wave(20.0));
        assert!(!wave(500.0) && !wave(3_000.0));
    }

    #[test]
    fn what_cannot_be_told_is_no() {
        let (x, r) = waves(10_000, 0.0, 1.0, 1);
        assert!(!only_noise(&[], &r));
        assert!(!only_noise(&[&x, &x, &x], &r), "three inputs");
        assert!(!only_noise(&[&x[..100]], &r[..100]), "few rows");
        assert!(!only_noise(&[&vec![1.0; 10_000]], &r), "a constant input");
        let far: Vec<f64> = x.iter().map(|x| 10f64.powf(12.0 * x)).collect();
        assert!(!only_noise(&[&far], &r), "nearly all rows in one cell");
    }
}
