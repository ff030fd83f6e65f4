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
    a.iter().zip(b).all(|(x, y)| {
        (x.is_empty() && y.is_empty() || x.lo == y.lo && x.hi == y.hi && x.nonzero == y.nonzero && x.whole == y.whole) && x.nan == y.nan
    })
}

/// Moves the bounds that grew to the next threshold beyond, at last to infinity: a fixed point is reached in few steps.
pub(super) fn widen<T: Real>(old: &Abs<T>, new: &Abs<T>, thresholds: &[T]) -> Abs<T> {
    let one = |o: &Interval<T>, n: &Interval<T>| {
        if o.is_empty() || n.is_empty() {
            return *n;
        }
        let lo = if n.lo < o.lo {
            thresholds.iter().rev().copied().find(|&t| t <= n.lo).unwrap_or(T::from_f64(f64::NEG_INFINITY))
        } else {
            n.lo
        };
        let hi = if n.hi > o.hi { thresholds.iter().copied().find(|&t| t >= n.hi).unwrap_or(T::from_f64(f64::INFINITY)) } else { n.hi };
        Interval { lo, hi, ..*n }
    };
    old.iter().zip(new).map(|(o, n)| one(o, n)).collect()
}
