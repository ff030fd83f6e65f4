//! Intervals of floating-point numbers: what values an operation's result can have. In: bounds; out: bounds.
//! Invariant (soundness): whenever the arguments lie in the argument intervals, the result *as computed* lies in the result
//! interval, or is NaN and the interval says so.
//!
//! An interval is a set of machine numbers, so an end that is excluded is no trouble: what is below 0 is at most the negative number
//! nearest to it, and the quotient by that is an infinity, as it is in a run. `tidy` moves such ends.

use crate::ops::real::{Real, Ring};
use std::ops::{Add, Mul, Sub};

/// A set of numbers: all between two bounds, perhaps without 0, perhaps whole numbers only, perhaps with NaN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval<T> {
    /// Lower bound; above `hi` when only NaN (or nothing) is possible.
    pub lo: T,
    /// Upper bound.
    pub hi: T,
    /// May be NaN.
    pub nan: bool,
    /// Is never 0 although the bounds enclose it.
    pub nonzero: bool,
    /// Is a whole number (or infinite) unless it is NaN.
    pub whole: bool,
}

fn is_whole<T: Real>(x: T) -> bool {
    x.to_f64().trunc() == x.to_f64()
}

impl<T: Real> Interval<T> {
    /// Between two bounds.
    pub fn new(lo: T, hi: T) -> Interval<T> {
        Interval { lo, hi, nan: false, nonzero: false, whole: lo == hi && is_whole(lo) }
    }

    /// One number.
    pub fn point(x: T) -> Interval<T> {
        if x.is_nan() { Interval { nan: true, ..Interval::empty() } } else { Interval::new(x, x) }
    }

    /// No number at all.
    pub fn empty() -> Interval<T> {
        Interval { lo: T::from_f64(f64::INFINITY), hi: T::from_f64(f64::NEG_INFINITY), nan: false, nonzero: false, whole: true }
    }

    /// Every number, NaN aside.
    pub fn everything() -> Interval<T> {
        Interval::new(T::from_f64(f64::NEG_INFINITY), T::from_f64(f64::INFINITY))
    }

    /// Whether it holds no number.
    pub fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    /// Whether it holds nothing, not even NaN: no run comes here.
    pub fn is_unreachable(self) -> bool {
        self.is_empty() && !self.nan
    }

    /// Whether a number is in it.
    pub fn contains(self, x: T) -> bool {
        self.lo <= x && x <= self.hi && !(self.nonzero && x == T::ZERO) && (!self.whole || is_whole(x))
    }

    /// Whether 0 is in it.
    pub fn has_zero(self) -> bool {
        self.contains(T::ZERO)
    }

    /// Whether 0 is all it holds, NaN included.
    pub fn is_zero(self) -> bool {
        self.lo == T::ZERO && self.hi == T::ZERO && !self.nan
    }

    /// Whether an infinity is in it.
    pub fn has_infinity(self) -> bool {
        !self.is_empty() && (self.lo == T::from_f64(f64::NEG_INFINITY) || self.hi == T::from_f64(f64::INFINITY))
    }

    /// Whether a test of such a value may come out so. NaN is not 0, so it is true.
    pub fn may_be(self, truth: bool) -> bool {
        if truth { self.nan || !(self.is_empty() || self.is_zero()) } else { self.has_zero() }
    }

    /// The same set with its ends moved to numbers that are in it.
    fn tidy(mut self) -> Interval<T> {
        if self.is_empty() {
            return Interval { nan: self.nan, ..Interval::empty() };
        }
        if self.whole {
            self.lo = T::from_f64(self.lo.to_f64().ceil());
            self.hi = T::from_f64(self.hi.to_f64().floor());
        }
        if self.nonzero {
            let least = if self.whole { T::ONE } else { T::ZERO.next_up() };
            if self.lo == T::ZERO {
                self.lo = least;
            }
            if self.hi == T::ZERO {
                self.hi = -least;
            }
            self.nonzero = self.lo < T::ZERO && self.hi > T::ZERO;
        }
        if self.is_empty() {
            return Interval { nan: self.nan, ..Interval::empty() };
        }
        self.whole |= self.lo == self.hi && is_whole(self.lo);
        self
    }

    /// Everything in either.
    pub fn join(self, other: Interval<T>) -> Interval<T> {
        if self.is_empty() {
            return other.or_nan(self.nan);
        }
        if other.is_empty() {
            return self.or_nan(other.nan);
        }
        Interval {
            lo: if other.lo < self.lo { other.lo } else { self.lo },
            hi: if other.hi > self.hi { other.hi } else { self.hi },
            nan: self.nan || other.nan,
            nonzero: !self.has_zero() && !other.has_zero(),
            whole: self.whole && other.whole,
        }
        .tidy()
    }

    /// Everything in both.
    pub fn meet(self, other: Interval<T>) -> Interval<T> {
        Interval {
            lo: if other.lo > self.lo { other.lo } else { self.lo },
            hi: if other.hi < self.hi { other.hi } else { self.hi },
            nan: self.nan && other.nan,
            nonzero: self.nonzero || other.nonzero,
            whole: self.whole || other.whole,
        }
        .tidy()
    }

    /// The numbers between two bounds; NaN stays.
    pub fn within(self, lo: T, hi: T) -> Interval<T> {
        self.meet(Interval::new(lo, hi)).or_nan(self.nan)
    }

    /// All but one number; NaN stays. Says something only of 0 and of the ends.
    pub fn without(mut self, x: T) -> Interval<T> {
        if x == T::ZERO {
            self.nonzero = true;
        } else {
            if self.lo == x {
                self.lo = x.next_up();
            }
            if self.hi == x {
                self.hi = x.next_down();
            }
        }
        self.tidy()
    }

    /// The numbers in it, without NaN.
    pub fn numbers(self) -> Interval<T> {
        Interval { nan: false, ..self }
    }

    /// The smallest interval with these numbers; NaN among them sets the flag.
    pub fn hull(points: impl IntoIterator<Item = T>) -> Interval<T> {
        let hull = points.into_iter().fold(Interval::empty(), |i, x| i.join(Interval::point(x)));
        // The points stand for everything between them.
        hull.continuous()
    }

    /// Everything between the bounds.
    pub fn continuous(self) -> Interval<T> {
        if self.is_empty() { self } else { Interval::new(self.lo, self.hi).or_nan(self.nan) }
    }

    /// With NaN if `nan`.
    pub fn or_nan(self, nan: bool) -> Interval<T> {
        Interval { nan: self.nan || nan, ..self }
    }

    /// Of whole numbers only, if `whole`.
    pub fn only_whole(self, whole: bool) -> Interval<T> {
        Interval { whole: self.whole || whole, ..self }.tidy()
    }

    /// Bounds moved outward by four numbers each, for functions that are accurate to 1 ULP but not known to be monotone: the value at
    /// the end and the value inside are each 1 ULP from a monotone function, and 1 ULP is at most two numbers where an exponent changes.
    pub fn widen(self) -> Interval<T> {
        if self.is_empty() {
            return self;
        }
        let steps = |x: T, step: fn(T) -> T| (0..4).fold(x, |x, _| step(x));
        Interval { lo: steps(self.lo, T::next_down), hi: steps(self.hi, T::next_up), whole: false, ..self }
    }

    /// The largest magnitude in it; 0 when it is empty.
    pub fn magnitude(self) -> T {
        let (a, b) = (self.lo.abs(), self.hi.abs());
        match self.is_empty() {
            true => T::ZERO,
            false if a > b => a,
            false => b,
        }
    }

    /// The smallest magnitude in it; 0 when it is empty.
    pub fn least_magnitude(self) -> T {
        match self.is_empty() {
            false if self.lo > T::ZERO => self.lo,
            false if self.hi < T::ZERO => -self.hi,
            _ => T::ZERO,
        }
    }
}

/// The hull of a function at the corners of a box. Where infinities make a NaN at a corner, the value `beside` is what finite numbers
/// next to the corner have.
fn corners<T: Real>(a: Interval<T>, b: Interval<T>, beside: Option<T>, f: impl Fn(T, T) -> T) -> Interval<T> {
    let nan = a.nan || b.nan;
    if a.is_empty() || b.is_empty() {
        return Interval::empty().or_nan(nan);
    }
    let at = |x: T, y: T| {
        let z = f(x, y);
        if z.is_nan() { Interval { nan: true, ..beside.map_or(Interval::empty(), Interval::point) } } else { Interval::point(z) }
    };
    let hull = [at(a.lo, b.lo), at(a.lo, b.hi), at(a.hi, b.lo), at(a.hi, b.hi)].into_iter().fold(Interval::empty(), Interval::join);
    hull.continuous().or_nan(nan)
}

/// Sums are monotone in both arguments, after rounding too; `inf - inf` can only happen at a corner, and next to it stand infinities
/// that are corners as well. A sum of whole numbers is whole: exact below 2^53 (2^24), and beyond that every number is.
impl<T: Real> Add for Interval<T> {
    type Output = Interval<T>;
    fn add(self, b: Interval<T>) -> Interval<T> {
        corners(self, b, None, |x, y| x + y).only_whole(self.whole && b.whole)
    }
}

/// As sums.
impl<T: Real> Sub for Interval<T> {
    type Output = Interval<T>;
    fn sub(self, b: Interval<T>) -> Interval<T> {
        corners(self, b, None, |x, y| x - y).only_whole(self.whole && b.whole)
    }
}

/// Products are monotone in each argument while the other stands still, after rounding too, so their extremes are at corners. 0 times an
/// infinity is NaN even inside the box; next to it stands 0 times a finite number, 0.
impl<T: Real> Mul for Interval<T> {
    type Output = Interval<T>;
    fn mul(self, b: Interval<T>) -> Interval<T> {
        let nan = (self.has_zero() && b.has_infinity()) || (b.has_zero() && self.has_infinity());
        let product = corners(self.numbers(), b.numbers(), Some(T::ZERO), |x, y| x * y);
        product.numbers().or_nan(nan || self.nan || b.nan).only_whole(self.whole && b.whole)
    }
}

/// Quotients by numbers of one sign are monotone in each argument while the other stands still, after rounding too. An infinity by an
/// infinity is NaN; next to it stands a finite number by an infinity, 0. Where the divisor may be 0, or be near 0 on both sides, the
/// quotient may be anything, and 0 by 0 is NaN.
pub(crate) fn ratio<T: Real>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let nan = x.nan || y.nan || (y.has_zero() && x.has_zero()) || (x.has_infinity() && y.has_infinity());
    if x.is_empty() || y.is_empty() {
        return Interval::empty().or_nan(x.nan || y.nan);
    }
    if y.lo <= T::ZERO && y.hi >= T::ZERO {
        return Interval::everything().or_nan(nan);
    }
    corners(x.numbers(), y.numbers(), Some(T::ZERO), |x, y| x / y).numbers().or_nan(nan)
}

impl<T: Real> Ring for Interval<T> {
    const ZERO: Interval<T> = Interval { lo: T::ZERO, hi: T::ZERO, nan: false, nonzero: false, whole: true };
    const ONE: Interval<T> = Interval { lo: T::ONE, hi: T::ONE, nan: false, nonzero: false, whole: true };
}
