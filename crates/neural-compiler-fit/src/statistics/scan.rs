//! Whether residuals have a place where they are no noise. In: sums and counts of cells along one or two inputs; out: whether some stretch
//! of them, long or short, lies off by more than chance explains anywhere.
//!
//! The scan statistic: of windows of all sizes at all places the one whose mean lies off most. A peak in a few of thousands of rows is a
//! thousandth of their variance, which no sum over all of them shows. Of so many windows one lies off by much: their number is counted in
//! (Bonferroni), so that noise is said to be none once in a hundred times at most.

use statrs::distribution::{ContinuousCDF, Normal};

/// How probable as large a deviation of some window must be by chance, if it is to be none.
const CHANCE: f64 = 0.01;

/// Widths of windows up to half a side: each half as large again as the one before, or a third.
fn widths(side: usize) -> Vec<usize> {
    let all = (0..usize::BITS - 1).flat_map(|k| [1usize << k, 3 << k >> 1]).filter(|w| *w > 0).take_while(|w| 2 * w <= side);
    let mut all: Vec<usize> = all.collect();
    all.dedup();
    if all.is_empty() { vec![side] } else { all }
}

/// Whether a window stands out. `cells`: sum and count of each, row by row of a grid of `sides`; `variance`: of a number.
pub(crate) fn stands_out(cells: &[(f64, f64)], (rows, columns): (usize, usize), variance: f64) -> bool {
    // Sums of all cells before.
    let width = columns + 1;
    let mut before = vec![(0.0f64, 0.0f64); (rows + 1) * width];
    for i in 0..rows {
        let mut along = (0.0, 0.0);
        for j in 0..columns {
            let cell = cells[i * columns + j];
            along = (along.0 + cell.0, along.1 + cell.1);
            let above = before[i * width + j + 1];
            before[(i + 1) * width + j + 1] = (above.0 + along.0, above.1 + along.1);
        }
    }
    let (mut farthest, mut windows) = (0.0f64, 0.0f64);
    for high in widths(rows) {
        for wide in widths(columns) {
            for i in (0..=rows - high).step_by((high / 4).max(1)) {
                for j in (0..=columns - wide).step_by((wide / 4).max(1)) {
                    let at = |i: usize, j: usize| before[i * width + j];
                    let (a, b, c, d) = (at(i, j), at(i, j + wide), at(i + high, j), at(i + high, j + wide));
                    let count = d.1 - b.1 - c.1 + a.1;
                    if count > 0.5 {
                        windows += 1.0;
                        farthest = farthest.max((d.0 - b.0 - c.0 + a.0).powi(2) / count);
                    }
                }
            }
        }
    }
    let deviation = (farthest / variance).sqrt();
    2.0 * windows * Normal::standard().sf(deviation) < CHANCE
}

/// The same of numbers in order.
pub(crate) fn in_order(values: &[f64]) -> bool {
    let mean = values.iter().map(|x| x * x).sum::<f64>() / values.len().max(1) as f64;
    let cells: Vec<(f64, f64)> = values.iter().map(|x| (*x, 1.0)).collect();
    stands_out(&cells, (1, values.len()), mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::random::Stream;

    #[test]
    fn a_short_stretch_stands_out_and_noise_does_not() {
        let noise = |seed: u32, from: usize, length: usize, by: f64| {
            let mut s = Stream::new(seed, 9);
            let values: Vec<f64> = (0..2000).map(|i| s.normal() + if (from..from + length).contains(&i) { by } else { 0.0 }).collect();
            in_order(&values)
        };
        assert!((0..200).filter(|&seed| noise(seed, 0, 0, 0.0)).count() <= 4, "one in a hundred at most");
        // A sum of n rows lies off by the root of n times as much as one: seven standard deviations.
        for (length, by) in [(4, 3.5), (25, 1.4), (100, 0.7), (784, 0.25)] {
            let seen = (0..20).filter(|&seed| noise(seed, 700, length, by)).count();
            assert!(seen >= 18, "{length} rows: {seen}");
        }
    }

    #[test]
    fn a_spot_on_a_grid_stands_out() {
        let seen = |by: f64| {
            let mut s = Stream::new(3, 9);
            let spot = |i: usize| (10..13).contains(&(i / 50)) && (30..34).contains(&(i % 50));
            let cells: Vec<(f64, f64)> = (0..2500).map(|i| (s.normal() + if spot(i) { by } else { 0.0 }, 1.0)).collect();
            stands_out(&cells, (50, 50), 1.0)
        };
        assert!(!seen(0.0) && seen(2.0));
    }

    #[test]
    fn windows_of_all_sizes() {
        assert_eq!(widths(16), [1, 2, 3, 4, 6, 8]);
        assert_eq!((widths(1), widths(2)), (vec![1], vec![1]));
    }
}
