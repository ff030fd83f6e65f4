//! Linear systems and determinants by LU factors with partial pivoting. In: a square matrix, row by row; out: its factors, and from them
//! solutions or the determinant.
//! Invariants: a singular matrix has the determinant 0 and no solution (NaN everywhere); which of the two ways is taken depends on
//! the matrix alone, so all executors agree. Matrices of up to 8 rows are the math crate's; larger ones are factored here while they are a
//! few cache lines or mostly zeros: zeros at the ends of a row cost nothing, which makes the work on a band that of the band; other large
//! ones by faer, whose blocked factorisation runs at the speed of the machine.

use crate::ops::real::Real;
use faer::linalg::solvers::{PartialPivLu, Solve};
use faer::traits::RealField;
use faer::{Mat, MatRef};

/// Matrices from this size on are factored by faer.
pub(crate) const LARGE: usize = 48;

/// Smaller matrices are factored number by number (`neural_compiler_math::small`), by generated code too, which subtracts products with 0
/// as well, of which 0 * inf and -0 leave a trace.
pub(crate) const OWN: usize = 9;

/// Whether faer is to factor a matrix: a large one with more numbers than zeros, by far.
fn large<T: Real>(a: &[T], n: usize) -> bool {
    n >= LARGE && 5 * a.iter().filter(|x| **x != T::ZERO).count() > n * n
}

/// The factors of a matrix.
pub(crate) enum Factors<T> {
    Own(Lu<T>),
    Large(PartialPivLu<T>),
}

impl<T: Real + RealField> Factors<T> {
    pub(crate) fn new(a: &[T], n: usize) -> Factors<T> {
        if large(a, n) { Factors::Large(PartialPivLu::new(MatRef::from_row_major_slice(a, n, n))) } else { Factors::Own(Lu::new(a, n)) }
    }

    /// The determinant of the matrix.
    pub(crate) fn det(&self) -> T {
        match self {
            Factors::Own(lu) => lu.det(),
            Factors::Large(lu) => large_det(lu),
        }
    }

    /// Solves for `columns` right-hand sides at once.
    pub(crate) fn solve(&self, b: &[T], columns: usize, out: &mut [T]) {
        match self {
            Factors::Own(lu) => lu.solve(b, columns, out),
            Factors::Large(lu) => large_solve(lu, b, columns, out),
        }
    }
}

fn large_det<T: Real + RealField>(lu: &PartialPivLu<T>) -> T {
    let n = lu.U().nrows();
    let diagonal = |k: usize| lu.U()[(k, k)];
    // Behind a pivot of zero stands what the division by it made.
    if (0..n).map(diagonal).take_while(|d| !Real::is_nan(*d)).any(|d| d == T::ZERO) {
        return T::ZERO;
    }
    let product = (0..n).fold(T::ONE, |p, k| p * diagonal(k));
    // The sign of a permutation: each cycle of even length turns it.
    let (order, _) = lu.P().arrays();
    let mut seen = vec![false; n];
    let mut odd = false;
    for start in 0..n {
        let mut at = start;
        let mut length = 0;
        while !std::mem::replace(&mut seen[at], true) {
            at = order[at];
            length += 1;
        }
        odd ^= length > 0 && length % 2 == 0;
    }
    if odd { -product } else { product }
}

fn large_solve<T: Real + RealField>(lu: &PartialPivLu<T>, b: &[T], columns: usize, out: &mut [T]) {
    let n = lu.U().nrows();
    if (0..n).any(|k| lu.U()[(k, k)] == T::ZERO) {
        out.fill(T::from_f64(f64::NAN));
        return;
    }
    let x: Mat<T> = lu.solve(MatRef::from_row_major_slice(b, n, columns));
    for i in 0..n {
        for j in 0..columns {
            out[i * columns + j] = x[(i, j)];
        }
    }
}

/// LU factors of a matrix that is small or mostly zeros.
pub(crate) struct Lu<T> {
    lu: Vec<T>,
    order: Vec<usize>,
    /// Of each row: where its numbers begin and end; outside there are zeros, which count nowhere.
    extent: Vec<(usize, usize)>,
    odd: bool,
    n: usize,
    singular: bool,
}

impl<T: Real> Lu<T> {
    fn new(a: &[T], n: usize) -> Lu<T> {
        let mut lu = a.to_vec();
        let mut order: Vec<usize> = (0..n).collect();
        let there = |x: &T| *x != T::ZERO;
        let ends = |row: &[T]| (row.iter().position(there).unwrap_or(n), row.iter().rposition(there).map_or(0, |last| last + 1));
        let mut extent: Vec<(usize, usize)> = a.chunks_exact(n).map(ends).collect();
        let (mut odd, mut singular) = (false, false);
        for k in 0..n {
            let mut pivot = k;
            for i in k + 1..n {
                if extent[i].0 <= k && lu[i * n + k].abs() > lu[pivot * n + k].abs() {
                    pivot = i;
                }
            }
            if pivot != k {
                let (before, behind) = lu.split_at_mut(pivot * n);
                before[k * n..(k + 1) * n].swap_with_slice(&mut behind[..n]);
                order.swap(k, pivot);
                extent.swap(k, pivot);
                odd = !odd;
            }
            let d = lu[k * n + k];
            if d == T::ZERO {
                singular = true;
                continue;
            }
            let (upper, lower) = lu.split_at_mut((k + 1) * n);
            let end = extent[k].1;
            let from = &upper[k * n + k + 1..k * n + end.max(k + 1)];
            for (row, e) in lower.chunks_exact_mut(n).zip(&mut extent[k + 1..]) {
                if e.0 > k || row[k] == T::ZERO {
                    continue;
                }
                let factor = row[k] / d;
                row[k] = factor;
                e.1 = e.1.max(end);
                row[k + 1..].iter_mut().zip(from).for_each(|(x, u)| *x = *x - factor * *u);
            }
        }
        Lu { lu, order, extent, odd, n, singular }
    }

    fn det(&self) -> T {
        let product = (0..self.n).fold(T::ONE, |p, k| p * self.lu[k * self.n + k]);
        if self.odd { -product } else { product }
    }

    fn solve(&self, b: &[T], columns: usize, out: &mut [T]) {
        let n = self.n;
        if self.singular || columns == 0 {
            out.fill(T::from_f64(f64::NAN));
            return;
        }
        for i in 0..n {
            let (solved, rest) = out.split_at_mut(i * columns);
            let (x, from) = (&mut rest[..columns], self.extent[i].0.min(i));
            x.copy_from_slice(&b[self.order[i] * columns..][..columns]);
            subtract(x, &self.lu[i * n + from..i * n + i], &solved[from * columns..]);
        }
        for i in (0..n).rev() {
            let (rest, solved) = out.split_at_mut((i + 1) * columns);
            let (x, end) = (&mut rest[i * columns..], self.extent[i].1.max(i + 1));
            subtract(x, &self.lu[i * n + i + 1..i * n + end], solved);
            x.iter_mut().for_each(|x| *x = *x / self.lu[i * n + i]);
        }
    }
}

/// Takes rows times their factors, one after the other, from a row.
fn subtract<T: Real>(x: &mut [T], factors: &[T], rows: &[T]) {
    if let [x] = x {
        *x = factors.iter().zip(rows).fold(*x, |x, (f, r)| x - *f * *r);
        return;
    }
    for (f, row) in factors.iter().zip(rows.chunks_exact(x.len())) {
        x.iter_mut().zip(row).for_each(|(x, r)| *x = *x - *f * *r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn det<T: Real + RealField>(a: &[T], n: usize) -> T {
        Factors::new(a, n).det()
    }

    fn solve<T: Real + RealField>(a: &[T], n: usize, b: &[T], columns: usize, out: &mut [T]) {
        Factors::new(a, n).solve(b, columns, out);
    }

    /// A matrix that is its own check: L U with known factors, rows shuffled so that pivots move.
    fn known(n: usize) -> (Vec<f64>, f64) {
        let lower = |i: usize, j: usize| {
            if i == j {
                1.0
            } else if j < i {
                ((i * 7 + j * 3) % 5) as f64 / 16.0 - 0.125
            } else {
                0.0
            }
        };
        let upper = |i: usize, j: usize| {
            if i == j {
                1.0 + (i % 3) as f64 / 4.0
            } else if j > i {
                ((i * 5 + j) % 7) as f64 / 16.0 - 0.1875
            } else {
                0.0
            }
        };
        let mut rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| (0..n).map(|k| lower(i, k) * upper(k, j)).sum()).collect()).collect();
        // One exchange of rows turns the sign.
        rows.swap(0, n / 2);
        (rows.concat(), -(0..n).map(|i| upper(i, i)).product::<f64>())
    }

    #[test]
    fn both_ways_know_determinants_and_solutions() {
        for n in [9, 47, 48, 90] {
            let (a, expected) = known(n);
            let found = det(&a, n);
            assert!((found / expected - 1.0).abs() < 1e-9, "{n}: {found} instead of {expected}");
            let x: Vec<f64> = (0..2 * n).map(|k| (k % 11) as f64 - 5.0).collect();
            let b: Vec<f64> = (0..2 * n).map(|k| (0..n).map(|m| a[k / 2 * n + m] * x[2 * m + k % 2]).sum()).collect();
            let mut found = vec![0.0; 2 * n];
            solve(&a, n, &b, 2, &mut found);
            let worst = found.iter().zip(&x).map(|(f, x)| (f - x).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-8, "{n}: {worst}");
        }
    }

    #[test]
    fn large_matrices_of_few_numbers() {
        // Second differences: the determinant of n of them is n + 1, and they take x² to the constant 2.
        let n = 120;
        let mut a = vec![0.0f64; n * n];
        for i in 0..n {
            a[i * n + i] = 2.0;
            if i > 0 {
                a[i * n + i - 1] = -1.0;
                a[(i - 1) * n + i] = -1.0;
            }
        }
        assert!(!large(&a, n) && (det(&a, n) / (n + 1) as f64 - 1.0).abs() < 1e-12);
        let parabola = |i: usize| ((i + 1) * (n - i)) as f64;
        let mut found = vec![0.0; n];
        solve(&a, n, &vec![2.0; n], 1, &mut found);
        assert!(found.iter().enumerate().all(|(i, x)| (x / parabola(i) - 1.0).abs() < 1e-11), "{found:?}");
    }

    #[test]
    fn rows_that_change_places_keep_what_is_known_of_their_zeros() {
        // Bands and scattered numbers with weak diagonals, where nearly every pivot moves, beside faer's factors.
        for (n, reach) in [(12, 2), (30, 3), (60, 1), (60, 4), (60, 60)] {
            let entry = |i: usize, j: usize| match (i * 13 + j * 29 + 7) % 31 {
                k if i.abs_diff(j) > reach || reach == n && k > 3 && i != j => 0.0,
                k => {
                    if i == j {
                        0.01
                    } else {
                        k as f64 - 14.5
                    }
                }
            };
            let a: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
            assert!(!large(&a, n), "{n}, {reach}");
            let other = Factors::Large(PartialPivLu::new(MatRef::from_row_major_slice(&a, n, n)));
            let own = Factors::new(&a, n);
            assert!((own.det() / other.det() - 1.0).abs() < 1e-9, "{n}, {reach}: {} and {}", own.det(), other.det());
            for columns in [1, 3] {
                let b: Vec<f64> = (0..n * columns).map(|k| (k % 7) as f64 - 2.5).collect();
                let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
                own.solve(&b, columns, &mut x);
                other.solve(&b, columns, &mut y);
                let size = y.iter().fold(0.0f64, |m, y| m.max(y.abs()));
                assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9 * size), "{n}, {reach}, {columns}");
            }
        }
    }

    #[test]
    fn large_singular_matrices_have_no_solution() {
        let n = 60;
        let mut a: Vec<f32> = known(n).0.iter().map(|&x| x as f32).collect();
        // A column of zeros.
        (0..n).for_each(|i| a[i * n + 7] = 0.0);
        assert_eq!(det(&a, n), 0.0);
        let mut out = vec![0f32; n];
        solve(&a, n, &vec![1.0; n], 1, &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
    }
}
