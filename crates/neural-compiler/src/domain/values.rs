//! Bounds of whole values: an interval per element, or one for all elements of a large value.

use crate::ops::interval::Interval;
use crate::ops::real::Real;
use crate::shape::Shape;

/// Bounds of a value's elements: as many as it has, or one for all.
pub(super) type Abs<T> = Vec<Interval<T>>;

/// Larger values are bounded as a whole.
const MOST_ELEMENTS: usize = 1024;

/// How many intervals a value of this shape keeps.
pub(super) fn kept(shape: Shape) -> usize {
    if shape.len() <= MOST_ELEMENTS { shape.len() } else { 1 }
}

pub(super) fn uniform<T: Real>(i: Interval<T>, shape: Shape) -> Abs<T> {
    vec![i; kept(shape)]
}

pub(super) fn bottom<T: Real>(shape: Shape) -> Abs<T> {
    uniform(Interval::empty(), shape)
}

pub(super) fn hull<T: Real>(a: &Abs<T>) -> Interval<T> {
    a.iter().copied().reduce(Interval::join).unwrap_or(Interval::empty())
}

/// One interval per element.
pub(super) fn full<T: Real>(a: &Abs<T>, shape: Shape) -> Abs<T> {
    if a.len() == shape.len() { a.clone() } else { vec![a[0]; shape.len()] }
}

pub(super) fn compress<T: Real>(a: Abs<T>) -> Abs<T> {
    if a.len() <= MOST_ELEMENTS { a } else { vec![hull(&a)] }
}

pub(super) fn join<T: Real>(a: &Abs<T>, b: &Abs<T>) -> Abs<T> {
    a.iter().zip(b).map(|(x, y)| x.join(*y)).collect()
}

pub(super) fn same<T: Real>(a: &Abs<T>, b: &Abs<T>) -> bool {
    a.iter().zip(b).all(|(x, y)| (x.is_empty() && y.is_empty() || x.lo == y.lo && x.hi == y.hi && x.nonzero == y.nonzero) && x.nan == y.nan)
}

/// Moves the bounds that grew to the next threshold beyond, at last to infinity: a fixed point is reached in few steps.
pub(super) fn widen<T: Real>(old: &Abs<T>, new: &Abs<T>, thresholds: &[T]) -> Abs<T> {
    let one = |o: &Interval<T>, n: &Interval<T>| {
        if o.is_empty() || n.is_empty() {
            return *n;
        }
        let lo = if n.lo < o.lo { thresholds.iter().rev().copied().find(|&t| t <= n.lo).unwrap_or(T::from_f64(f64::NEG_INFINITY)) } else { n.lo };
        let hi = if n.hi > o.hi { thresholds.iter().copied().find(|&t| t >= n.hi).unwrap_or(T::from_f64(f64::INFINITY)) } else { n.hi };
        Interval { lo, hi, ..*n }
    };
    old.iter().zip(new).map(|(o, n)| one(o, n)).collect()
}

/// Whether every matrix in the bounds is invertible: a determinant away from 0 up to 3 by 3, or strict diagonal dominance.
pub(super) fn surely_invertible<T: Real>(a: &Abs<T>, shape: Shape) -> bool {
    let Shape::Matrix(n, _) = shape else { return false };
    let n = n as usize;
    let a = full(a, shape);
    if a.iter().any(|i| i.is_empty()) {
        return true;
    }
    if a.iter().any(|i| i.nan) {
        return false;
    }
    let at = |i: usize, j: usize| a[i * n + j];
    let minor = |i: usize, j: usize, k: usize, l: usize| at(i, k) * at(j, l) - at(i, l) * at(j, k);
    let det = match n {
        1 => Some(at(0, 0)),
        2 => Some(minor(0, 1, 0, 1)),
        3 => Some(at(0, 0) * minor(1, 2, 1, 2) - at(0, 1) * minor(1, 2, 0, 2) + at(0, 2) * minor(1, 2, 0, 1)),
        _ => None,
    };
    // The elimination rounds differently from this determinant, so stay clear of 0 by a margin.
    let scale = a.iter().fold(T::ZERO, |m, i| [i.lo.abs(), i.hi.abs()].into_iter().fold(m, |m, x| if x > m { x } else { m })).to_f64();
    let margin = scale.powi(n as i32) * 1e-5;
    if det.is_some_and(|d| !d.nan && (d.lo.to_f64() > margin || d.hi.to_f64() < -margin)) {
        return true;
    }
    let magnitude = |i: Interval<T>| i.lo.abs().to_f64().max(i.hi.abs().to_f64());
    (0..n).all(|i| {
        let d = at(i, i);
        let least = if d.has_zero() || (d.lo < T::ZERO && d.hi > T::ZERO) { 0.0 } else { d.lo.abs().to_f64().min(d.hi.abs().to_f64()) };
        let rest: f64 = (0..n).filter(|&j| j != i).map(|j| magnitude(at(i, j))).sum();
        least > rest * (1.0 + 1e-5)
    })
}
