//! Intervals of floating-point numbers: what values an operation's result can have. In: bounds; out: bounds.
//! Invariant (soundness): whenever the arguments lie in the argument intervals, the result *as computed* lies in the result
//! interval, or is NaN and the interval says so. `+ - * /` are monotone even after rounding, so their bounds need no widening.

use crate::ops::real::{Real, Ring};
use std::ops::{Add, Mul, Sub};

/// A set of numbers: all between two bounds, perhaps without 0, perhaps with NaN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval<T> {
    /// Lower bound; above `hi` when only NaN (or nothing) is possible.
    pub lo: T,
    /// Upper bound.
    pub hi: T,
    /// May be NaN.
    pub nan: bool,
    /// Is never 0 although the bounds may enclose it.
    pub nonzero: bool,
}

impl<T: Real> Interval<T> {
    /// Between two bounds.
    pub fn new(lo: T, hi: T) -> Interval<T> {
        Interval { lo, hi, nan: false, nonzero: false }
    }

    /// One number.
    pub fn point(x: T) -> Interval<T> {
        if x.is_nan() { Interval { nan: true, ..Interval::empty() } } else { Interval::new(x, x) }
    }

    /// No number at all.
    pub fn empty() -> Interval<T> {
        Interval::new(T::from_f64(f64::INFINITY), T::from_f64(f64::NEG_INFINITY))
    }

    /// Every number, NaN aside.
    pub fn everything() -> Interval<T> {
        Interval::new(T::from_f64(f64::NEG_INFINITY), T::from_f64(f64::INFINITY))
    }

    /// Whether it holds no number.
    pub fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    /// Whether a number is in it.
    pub fn contains(self, x: T) -> bool {
        self.lo <= x && x <= self.hi && !(self.nonzero && x == T::ZERO)
    }

    /// Whether 0 is in it.
    pub fn has_zero(self) -> bool {
        self.contains(T::ZERO)
    }

    /// Whether an infinity is in it.
    pub fn has_infinity(self) -> bool {
        !self.is_empty() && (self.lo == T::from_f64(f64::NEG_INFINITY) || self.hi == T::from_f64(f64::INFINITY))
    }

    /// Everything in either.
    pub fn join(self, other: Interval<T>) -> Interval<T> {
        if self.is_empty() {
            return Interval { nan: self.nan || other.nan, ..other };
        }
        if other.is_empty() {
            return Interval { nan: self.nan || other.nan, ..self };
        }
        Interval {
            lo: if other.lo < self.lo { other.lo } else { self.lo },
            hi: if other.hi > self.hi { other.hi } else { self.hi },
            nan: self.nan || other.nan,
            nonzero: !self.has_zero() && !other.has_zero(),
        }
    }

    /// Everything in both.
    pub fn meet(self, other: Interval<T>) -> Interval<T> {
        Interval {
            lo: if other.lo > self.lo { other.lo } else { self.lo },
            hi: if other.hi < self.hi { other.hi } else { self.hi },
            nan: self.nan && other.nan,
            nonzero: self.nonzero || other.nonzero,
        }
    }

    /// The smallest interval with these numbers; NaN among them sets the flag.
    pub fn hull(points: impl IntoIterator<Item = T>) -> Interval<T> {
        let hull = points.into_iter().fold(Interval::empty(), |i, x| i.join(Interval::point(x)));
        // Points on both sides of 0 stand for everything between them.
        Interval { nonzero: false, ..hull }
    }

    /// With NaN if `nan`.
    pub fn or_nan(self, nan: bool) -> Interval<T> {
        Interval { nan: self.nan || nan, ..self }
    }

    /// Bounds moved outward by two numbers each, for functions that are accurate to 1 ULP but not known to be monotone.
    pub fn widen(self) -> Interval<T> {
        if self.is_empty() { self } else { Interval { lo: self.lo.next_down().next_down(), hi: self.hi.next_up().next_up(), ..self } }
    }
}

fn corners<T: Real>(a: Interval<T>, b: Interval<T>, f: impl Fn(T, T) -> T) -> Interval<T> {
    if a.is_empty() || b.is_empty() {
        return Interval::empty().or_nan(a.nan || b.nan);
    }
    Interval::hull([f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)]).or_nan(a.nan || b.nan)
}

impl<T: Real> Add for Interval<T> {
    type Output = Interval<T>;
    fn add(self, b: Interval<T>) -> Interval<T> {
        corners(self, b, |x, y| x + y)
    }
}

impl<T: Real> Sub for Interval<T> {
    type Output = Interval<T>;
    fn sub(self, b: Interval<T>) -> Interval<T> {
        corners(self, b, |x, y| x - y)
    }
}

impl<T: Real> Mul for Interval<T> {
    type Output = Interval<T>;
    fn mul(self, b: Interval<T>) -> Interval<T> {
        // 0 times infinity is NaN; next to it, 0 times a large number is 0.
        let nan = (self.has_zero() && b.has_infinity()) || (b.has_zero() && self.has_infinity());
        let product = corners(self, b, |x, y| {
            let p = x * y;
            if p.is_nan() { T::ZERO } else { p }
        });
        product.or_nan(nan)
    }
}

impl<T: Real> Ring for Interval<T> {
    const ZERO: Interval<T> = Interval { lo: T::ZERO, hi: T::ZERO, nan: false, nonzero: false };
    const ONE: Interval<T> = Interval { lo: T::ONE, hi: T::ONE, nan: false, nonzero: false };
}
