//! What is known about determinants and linear systems. In: bounds of matrices; out: whether elimination succeeds on every one of them
//! without overflow, and how large its results are.
//!
//! The argument (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorems 9.3 and 9.4): elimination with partial
//! pivoting, and the two triangular solves behind it, are exact for a matrix `A + E` with `|E| <= 3 n^3 2^(n-1) u max|A|` by rows,
//! beside an absolute error of n^2 subnormal numbers; so no pivot is 0 and the solution is bounded when the inverse of every matrix is,
//! with room for `E`.

use super::Checked;
use super::values::Abs;
use crate::ops::interval::Interval;
use crate::ops::real::Real;
use crate::shape::Shape;

/// Larger matrices are factored otherwise, and nothing is claimed about them.
const SMALL: usize = 47;

/// The largest magnitude of any element.
pub(super) fn largest<T: Real>(a: &Abs<T>) -> f64 {
    a.iter().fold(0.0, |m, i| m.max(i.magnitude().to_f64()))
}

pub(super) fn rows(shape: Shape) -> usize {
    match shape {
        Shape::Matrix(n, _) => n as usize,
        Shape::Scalar | Shape::Vector(_) => 1,
    }
}

/// A bound on the determinants of minors of any size, as computed, when none of its parts can overflow: Hadamard's inequality for
/// `A + E`, with room for the closed forms of small sizes.
pub(super) fn determinant_bound<T: Checked>(a: &Abs<T>, shape: Shape) -> Option<f64> {
    let n = rows(shape);
    let size = n as f64;
    let growth = 1.0 + 8.0 * size * size * 2f64.powi(n as i32) * T::rounding();
    let digits = size * (largest(a).max(1.0).log10() + growth.log10()) + size / 2.0 * size.log10() + 3.0;
    (n <= SMALL && digits < T::largest().to_f64().log10() - 3.0).then(|| 10f64.powf(digits))
}

/// A bound on the row sums of the inverse of every matrix in the bounds, as elimination sees it; `None` when one may be singular, or so
/// nearly that rounding decides.
pub(super) fn inverse_bound<T: Checked>(a: &Abs<T>, shape: Shape) -> Option<f64> {
    let n = rows(shape);
    let scale = largest(a);
    if n > SMALL || a.len() != n * n || a.iter().any(|i| i.nan) || !(scale > T::smallest() * 1e6 && scale.is_finite()) {
        return None;
    }
    let at = |i: usize, j: usize| a[i * n + j];
    // Strict dominance of the diagonal bounds the inverse (Varah 1975).
    let surplus = |i: usize| {
        let rest: f64 = (0..n).filter(|&j| j != i).map(|j| at(i, j).magnitude().to_f64() / scale).sum();
        at(i, i).least_magnitude().to_f64() / scale - rest * (1.0 + 1e-12) - 1e-14
    };
    let dominance = (0..n).map(surplus).fold(f64::INFINITY, f64::min);
    // So does a determinant away from 0, with elements of at most 1: adjugates have row sums of at most n!.
    let unit = |i: usize, j: usize| Interval::new(at(i, j).lo.to_f64() / scale, at(i, j).hi.to_f64() / scale);
    let minor = |i: usize, j: usize, k: usize, l: usize| unit(i, k) * unit(j, l) - unit(i, l) * unit(j, k);
    let determinant = match n {
        2 => minor(0, 1, 0, 1).least_magnitude() / 2.0,
        3 => (unit(0, 0) * minor(1, 2, 1, 2) - unit(0, 1) * minor(1, 2, 0, 2) + unit(0, 2) * minor(1, 2, 0, 1)).least_magnitude() / 6.0,
        _ => 0.0,
    } - 1e-14;
    let gap = dominance.max(determinant);
    let error = 64.0 * (n as f64).powi(3) * 2f64.powi(n as i32 - 1) * T::rounding();
    (gap > 2.0 * error).then(|| 2.0 / (gap * scale))
}

/// A bound on the solutions for right-hand sides of this size, when nothing overflows on the way to them.
pub(super) fn solution_bound<T: Checked>(a: &Abs<T>, shape: Shape, right: f64) -> Option<f64> {
    let (n, scale) = (rows(shape) as f64, largest(a));
    let x = 2.0 * inverse_bound(a, shape)? * right;
    let growth = 2f64.powf(n);
    let on_the_way = growth * right + 2.0 * n * growth * scale * x;
    (on_the_way.max(x) < T::largest().to_f64() / 16.0).then_some(x)
}

/// Bounds of the determinant as computed, up to 3 by 3; `slack` is what the closed forms and these bounds may round differently.
pub(super) fn determinant<T: Checked>(a: &Abs<T>, shape: Shape) -> Interval<T> {
    let n = rows(shape);
    let at = |i: usize, j: usize| a[i * n + j].numbers();
    let minor = |i: usize, j: usize, k: usize, l: usize| at(i, k) * at(j, l) - at(i, l) * at(j, k);
    let bounds = match n {
        1 => return at(0, 0),
        2 => minor(0, 1, 0, 1),
        3 => at(0, 0) * minor(1, 2, 1, 2) - at(0, 1) * minor(1, 2, 0, 2) + at(0, 2) * minor(1, 2, 0, 1),
        _ => return Interval::everything(),
    };
    let slack = 400.0 * T::rounding() * largest(a).powi(n as i32);
    // Products of subnormal numbers lose a few of the smallest steps besides, times the elements they are multiplied with.
    let slack = slack + 16.0 * T::smallest() * T::rounding() * largest(a).max(1.0);
    Interval::new(T::from_f64(bounds.lo.to_f64() - slack), T::from_f64(bounds.hi.to_f64() + slack)).widen()
}
