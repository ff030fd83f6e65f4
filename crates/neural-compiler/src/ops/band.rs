//! Linear systems whose matrix is a band, by LU factors with partial pivoting. In: the diagonals of a matrix; out: its factors, and from
//! them solutions. Work and memory grow with the number of rows, not with its square.
//!
//! A diagonal at the offset o has in its i-th place the number of row i and column i + o, counted round: behind the last column comes the
//! first. Bands that close in this way (periodic boundaries) are factored with rows and columns in the order first, last, second, last but
//! one …, in which they are bands of twice the width. Invariant: a singular matrix has no solution (NaN everywhere); factors depend on the
//! numbers of the matrix alone, so all executors agree.

use crate::ops::real::Real;

/// The factors of a band.
pub(crate) struct Band<T> {
    n: usize,
    /// Diagonals below the main one; above it they may be more than the matrix has, since rows change places.
    below: usize,
    /// Row by row from the main diagonal on, `width` numbers each.
    upper: Vec<T>,
    width: usize,
    /// Of each row: how many numbers stand right of the main diagonal.
    reach: Vec<usize>,
    /// Column by column the factors of the rows below.
    lower: Vec<T>,
    /// The row that was exchanged with each.
    pivots: Vec<usize>,
    /// Reciprocals of the main diagonal; empty where one of them is no normal number, and divisions must do.
    reciprocals: Vec<T>,
    singular: bool,
    /// Where each row and column of the matrix went, where it is not its place.
    order: Option<Vec<usize>>,
}

/// Whether a band, whose first diagonal is `below` the main one, closes round the ends.
fn closes<T: Real>(diagonals: &[&[T]], below: usize) -> bool {
    let there = |part: &[T]| part.iter().any(|x| *x != T::ZERO);
    diagonals.iter().enumerate().any(|(k, d)| if k < below { there(&d[..below - k]) } else { there(&d[d.len() - (k - below)..]) })
}

/// First, last, second, last but one …: the place of each of `n`.
fn folded(n: usize) -> Vec<usize> {
    (0..n).map(|i| if 2 * i < n { 2 * i } else { 2 * (n - 1 - i) + 1 }).collect()
}

impl<T: Real> Band<T> {
    /// The factors of the matrix with these diagonals, the first of them `below` the main one. It has more columns than diagonals.
    pub(crate) fn new(diagonals: &[&[T]], below: usize) -> Band<T> {
        let n = diagonals[0].len();
        let order = closes(diagonals, below).then(|| folded(n));
        let above = diagonals.len() - 1 - below;
        let (low, high) = if order.is_some() { (2 * below.max(above), 2 * below.max(above)) } else { (below, above) };
        let (low, high) = (low.min(n - 1), high.min(n - 1));
        // Row by row; the first number of a row is `low` left of the main diagonal, and exchanges of rows fill `low` further right.
        let full = 2 * low + high + 1;
        let mut rows = vec![T::ZERO; n * full];
        for (k, d) in diagonals.iter().enumerate() {
            for (i, &x) in d.iter().enumerate() {
                let column = (i + n + k - below) % n;
                match &order {
                    Some(at) => rows[at[i] * full + low + at[column] - at[i]] = x,
                    // What would stand outside of the matrix is 0.
                    None if i + k < below || i + k - below >= n => {}
                    None => rows[i * full + k] = x,
                }
            }
        }
        let mut found = Band {
            n,
            below: low,
            upper: vec![T::ZERO; n * (low + high + 1)],
            width: low + high + 1,
            reach: vec![0; n],
            lower: vec![T::ZERO; n * low],
            pivots: (0..n).collect(),
            reciprocals: vec![],
            singular: false,
            order,
        };
        found.eliminate(&mut rows, full, high);
        found
    }

    fn eliminate(&mut self, rows: &mut [T], full: usize, high: usize) {
        let (n, low) = (self.n, self.below);
        // Columns of each row that may not be 0 end before this one.
        let mut ends: Vec<usize> = (0..n).map(|i| (i + high + 1).min(n)).collect();
        for k in 0..n {
            let last = (k + low).min(n - 1);
            let at = |i: usize, j: usize| i * full + low + j - i;
            let mut pivot = k;
            for i in k + 1..=last {
                if rows[at(i, k)].abs() > rows[at(pivot, k)].abs() {
                    pivot = i;
                }
            }
            if pivot != k {
                for j in k..ends[k].max(ends[pivot]) {
                    rows.swap(at(k, j), at(pivot, j));
                }
                ends.swap(k, pivot);
                self.pivots[k] = pivot;
            }
            let d = rows[at(k, k)];
            self.singular |= d == T::ZERO;
            let end = ends[k];
            self.reach[k] = end - k - 1;
            self.upper[k * self.width..][..end - k].copy_from_slice(&rows[at(k, k)..at(k, k) + end - k]);
            for i in k + 1..=last {
                let x = rows[at(i, k)];
                if self.singular || x == T::ZERO {
                    continue;
                }
                let factor = x / d;
                self.lower[k * low + i - k - 1] = factor;
                ends[i] = ends[i].max(end);
                let (from, to) = (&self.upper[k * self.width + 1..][..end - k - 1], at(i, k + 1));
                rows[to..to + end - k - 1].iter_mut().zip(from).for_each(|(x, u)| *x = *x - factor * *u);
            }
        }
        let reciprocals: Vec<T> = (0..n).map(|k| T::ONE / self.upper[k * self.width]).collect();
        let normal = |x: &T| (1e-37..1e37).contains(&x.to_f64().abs());
        if reciprocals.iter().all(normal) {
            self.reciprocals = reciprocals;
        }
    }

    /// The solution for a right-hand side.
    pub(crate) fn solve(&self, b: &[T], out: &mut [T]) {
        if self.singular {
            out.fill(T::from_f64(f64::NAN));
            return;
        }
        let Some(order) = &self.order else {
            out.copy_from_slice(b);
            self.substitute(out);
            return;
        };
        let mut x = vec![T::ZERO; self.n];
        order.iter().zip(b).for_each(|(&at, b)| x[at] = *b);
        self.substitute(&mut x);
        order.iter().zip(out).for_each(|(&at, out)| *out = x[at]);
    }

    fn substitute(&self, x: &mut [T]) {
        for k in 0..self.n {
            x.swap(k, self.pivots[k]);
            let from = x[k];
            let factors = &self.lower[k * self.below..(k + 1) * self.below];
            x[k + 1..].iter_mut().zip(factors).for_each(|(x, f)| *x = *x - *f * from);
        }
        for k in (0..self.n).rev() {
            let row = &self.upper[k * self.width..][..self.reach[k] + 1];
            // The nearest comes last: only the step from one number to the next is waited for.
            let rest = row[1..].iter().zip(&x[k + 1..]).rev().fold(x[k], |sum, (u, x)| sum - *u * *x);
            x[k] = self.reciprocals.get(k).map_or_else(|| rest / row[0], |r| rest * *r);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::lu::Factors;

    /// Diagonals, and the whole matrix they are of; numbers that make rows change places.
    fn matrix(n: usize, below: usize, above: usize, closed: bool, weak: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut whole = vec![0.0; n * n];
        let mut diagonals = vec![vec![0.0; n]; below + above + 1];
        for (k, d) in diagonals.iter_mut().enumerate() {
            for (i, x) in d.iter_mut().enumerate() {
                let outside = i + k < below || i + k - below >= n;
                if closed || !outside {
                    *x = ((i * 31 + k * 17) % 23) as f64 - 9.5 + if k == below { weak } else { 0.0 };
                    whole[i * n + (i + n + k - below) % n] = *x;
                }
            }
        }
        (diagonals, whole)
    }

    fn solved<T: Real>(diagonals: &[Vec<T>], below: usize, b: &[T]) -> Vec<T> {
        let mut out = vec![T::ZERO; b.len()];
        Band::new(&diagonals.iter().map(Vec::as_slice).collect::<Vec<_>>(), below).solve(b, &mut out);
        out
    }

    #[test]
    fn solutions_are_those_of_the_whole_matrix() {
        for (n, below, above) in [(1, 0, 0), (5, 0, 1), (6, 1, 0), (9, 1, 1), (12, 2, 1), (12, 1, 3), (40, 1, 1), (41, 2, 2), (60, 3, 5)] {
            for closed in [false, true] {
                for weak in [0.0, 30.0] {
                    let (diagonals, whole) = matrix(n, below, above, closed, weak);
                    let b: Vec<f64> = (0..n).map(|i| ((i * 7) % 11) as f64 - 4.5).collect();
                    let found = solved(&diagonals, below, &b);
                    let mut expected = vec![0.0; n];
                    Factors::new(&whole, n).solve(&b, 1, &mut expected);
                    let size = expected.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                    let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(worst <= 1e-10 * size, "{n}, {below}, {above}, {closed}, {weak}: {worst} of {size}");
                }
            }
        }
    }

    #[test]
    fn second_differences_have_parabolas_as_solutions() {
        let n = 1000;
        let mut diagonals = vec![vec![-1.0; n], vec![2.0; n], vec![-1.0; n]];
        (diagonals[0][0], diagonals[2][n - 1]) = (0.0, 0.0);
        let found = solved(&diagonals, 1, &vec![2.0; n]);
        assert!(found.iter().enumerate().all(|(i, x)| (x / ((i + 1) * (n - i)) as f64 - 1.0).abs() < 1e-10));
    }

    #[test]
    fn singular_bands_have_no_solution_and_tiny_numbers_one() {
        let n = 12;
        // Round a circle, second differences of a constant are 0.
        let round = vec![vec![1.0f64; n], vec![-2.0; n], vec![1.0; n]];
        let found = solved(&round, 1, &vec![1.0; n]);
        assert!(found.iter().all(|x| x.is_nan() || x.abs() > 1e12), "{found:?}");
        let gap = vec![vec![0.0; n], vec![0.0f32; n], vec![0.0; n]];
        assert!(solved(&gap, 1, &[1.0; 12]).iter().all(|x| x.is_nan()));
        let tiny = vec![vec![0.0; n], vec![1e-310f64; n], vec![0.0; n]];
        assert!(solved(&tiny, 1, &[1e-310; 12]).iter().all(|x| (x - 1.0).abs() < 1e-12));
    }
}
