//! Linear systems and determinants by LU factors with partial pivoting. In: a square matrix, row by row; out: solutions, or the
//! determinant.
//! Invariants: a singular matrix has the determinant 0 and no solution (NaN everywhere); which of the two ways is taken depends on
//! the matrix alone, so all executors agree. Small matrices are factored here, where a lane's matrix is a few cache lines, and so are
//! larger ones that are mostly zeros, whose zeros cost nothing; other large ones by faer, whose blocked factorisation runs at the speed
//! of the machine.

use crate::ops::real::Real;
use faer::linalg::solvers::{PartialPivLu, Solve};
use faer::traits::RealField;
use faer::{Mat, MatRef};

/// Matrices from this size on are factored by faer.
const LARGE: usize = 48;

/// Whether faer is to factor a matrix: a large one with more numbers than zeros, by far.
fn large<T: Real>(a: &[T], n: usize) -> bool {
    n >= LARGE && 5 * a.iter().filter(|x| **x != T::ZERO).count() > n * n
}

/// The determinant.
pub(crate) fn det<T: Real>(a: &[T], n: usize) -> T {
    if large(a, n) { T::large_det(a, n) } else { Lu::new(a, n).det() }
}

/// Solves for `columns` right-hand sides at once.
pub(crate) fn solve<T: Real>(a: &[T], n: usize, b: &[T], columns: usize, out: &mut [T]) {
    if large(a, n) { T::large_solve(a, n, b, columns, out) } else { Lu::new(a, n).solve(b, columns, out) }
}

/// The determinant of a large matrix.
pub(crate) fn large_det<T: Real + RealField>(a: &[T], n: usize) -> T {
    let lu = PartialPivLu::new(MatRef::from_row_major_slice(a, n, n));
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

/// Solves a large system.
pub(crate) fn large_solve<T: Real + RealField>(a: &[T], n: usize, b: &[T], columns: usize, out: &mut [T]) {
    let lu = PartialPivLu::new(MatRef::from_row_major_slice(a, n, n));
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

/// LU factors of a small matrix.
struct Lu<T> {
    lu: Vec<T>,
    order: Vec<usize>,
    odd: bool,
    n: usize,
    singular: bool,
}

impl<T: Real> Lu<T> {
    fn new(a: &[T], n: usize) -> Lu<T> {
        let mut lu = a.to_vec();
        let mut order: Vec<usize> = (0..n).collect();
        let (mut odd, mut singular) = (false, false);
        for k in 0..n {
            let mut pivot = k;
            for i in k + 1..n {
                if lu[i * n + k].abs() > lu[pivot * n + k].abs() {
                    pivot = i;
                }
            }
            if pivot != k {
                for j in 0..n {
                    lu.swap(k * n + j, pivot * n + j);
                }
                order.swap(k, pivot);
                odd = !odd;
            }
            let d = lu[k * n + k];
            if d == T::ZERO {
                singular = true;
                continue;
            }
            for i in k + 1..n {
                // Only large ones: with small ones generated code subtracts the products too, of which 0 * inf and -0 leave a trace.
                if n >= LARGE && lu[i * n + k] == T::ZERO {
                    continue;
                }
                let factor = lu[i * n + k] / d;
                lu[i * n + k] = factor;
                for j in k + 1..n {
                    lu[i * n + j] = lu[i * n + j] - factor * lu[k * n + j];
                }
            }
        }
        Lu { lu, order, odd, n, singular }
    }

    fn det(&self) -> T {
        let product = (0..self.n).fold(T::ONE, |p, k| p * self.lu[k * self.n + k]);
        if self.odd { -product } else { product }
    }

    fn solve(&self, b: &[T], columns: usize, out: &mut [T]) {
        let n = self.n;
        if self.singular {
            out.fill(T::from_f64(f64::NAN));
            return;
        }
        for c in 0..columns {
            for i in 0..n {
                let mut x = b[self.order[i] * columns + c];
                for j in 0..i {
                    x = x - self.lu[i * n + j] * out[j * columns + c];
                }
                out[i * columns + c] = x;
            }
            for i in (0..n).rev() {
                let mut x = out[i * columns + c];
                for j in i + 1..n {
                    x = x - self.lu[i * n + j] * out[j * columns + c];
                }
                out[i * columns + c] = x / self.lu[i * n + i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for n in [4, 47, 48, 90] {
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
