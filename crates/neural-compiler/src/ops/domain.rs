//! Where operations are defined, and how they map intervals. In: arguments or intervals; out: whether the domain is (or may be)
//! left, and bounds of the result. Used by trapping evaluation and by the safe-domain analysis.

use crate::ops::interval::Interval;
use crate::ops::real::Real;
use crate::ops::row::{Group, Kernel, Row, apply_scalar};

/// The set of arguments an operation is defined for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Everything.
    All,
    /// `x >= 0`.
    NonNegative,
    /// `x > 0`.
    Positive,
    /// `x > -1`.
    AboveMinusOne,
    /// `-1 <= x <= 1`.
    Unit,
    /// `x != 0`.
    NonZero,
    /// Second argument not 0.
    Divisor,
    /// Base positive, or 0 with exponent `>= 0`, or negative with a whole exponent.
    Power,
    /// Argument and base positive, base not 1.
    LogBase,
    /// An invertible matrix.
    Invertible,
    /// An index inside the value.
    Index,
}

impl Domain {
    /// In words, for documentation and diagnostics.
    pub fn text(self) -> &'static str {
        match self {
            Domain::All => "everything",
            Domain::NonNegative => "x >= 0",
            Domain::Positive => "x > 0",
            Domain::AboveMinusOne => "x > -1",
            Domain::Unit => "-1 <= x <= 1",
            Domain::NonZero => "x != 0",
            Domain::Divisor => "divisor != 0",
            Domain::Power => "base > 0; or base = 0 and exponent >= 0; or base < 0 and a whole exponent",
            Domain::LogBase => "x > 0, base > 0, base != 1",
            Domain::Invertible => "an invertible matrix",
            Domain::Index => "a whole index inside the value",
        }
    }

    /// Whether scalar arguments lie outside. NaN arguments are somebody else's fault.
    pub fn violated<T: Real>(self, args: &[T]) -> bool {
        let (zero, one) = (T::ZERO, T::ONE);
        if args.iter().any(|x| x.is_nan()) {
            return false;
        }
        let x = args.first().copied().unwrap_or(zero);
        match self {
            Domain::All | Domain::Invertible | Domain::Index => false,
            Domain::NonNegative => x < zero,
            Domain::Positive => x <= zero,
            Domain::AboveMinusOne => x <= -one,
            Domain::Unit => x.abs() > one,
            Domain::NonZero => x == zero,
            Domain::Divisor => args[1] == zero,
            Domain::Power => {
                let y = args[1];
                (x == zero && y < zero) || (x < zero && y.to_f64().fract() != 0.0 && y.to_f64().is_finite())
            }
            Domain::LogBase => x <= zero || args[1] <= zero || args[1] == one,
        }
    }

    /// Whether some arguments in these intervals may lie outside.
    pub fn may_be_violated<T: Real>(self, args: &[Interval<T>]) -> bool {
        if args.iter().any(|i| i.is_empty()) {
            return false;
        }
        let (zero, one) = (T::ZERO, T::ONE);
        let Some(&x) = args.first() else { return false };
        match self {
            Domain::All | Domain::Invertible | Domain::Index => false,
            Domain::NonNegative => x.lo < zero,
            Domain::Positive => x.lo < zero || x.has_zero(),
            Domain::AboveMinusOne => x.lo <= -one,
            Domain::Unit => x.lo < -one || x.hi > one,
            Domain::NonZero => x.has_zero(),
            Domain::Divisor => args[1].has_zero(),
            Domain::Power => {
                let y = args[1];
                let whole = y.lo == y.hi && y.lo.to_f64().fract() == 0.0;
                (x.has_zero() && y.lo < zero) || (x.lo < zero && !whole)
            }
            Domain::LogBase => {
                let b = args[1];
                x.lo < zero || x.has_zero() || b.lo < zero || b.has_zero() || b.contains(one)
            }
        }
    }
}

/// How an operation maps intervals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// Monotone in each argument before rounding: bounds are taken at the corners and widened, but never beyond the given range.
    Corners(f64, f64),
    /// Monotone in each argument after rounding too: bounds are taken at the corners.
    Exact(f64, f64),
    /// Symmetric about 0 and growing away from it, at least this.
    Even(f64),
    /// Anything in a range.
    Range(f64, f64),
    /// `sin`.
    Sine,
    /// `cos`.
    Cosine,
    /// `tan`.
    Tangent,
    /// `*`.
    Product,
    /// `/`.
    Ratio,
    /// `pow`.
    Power,
    /// `=`.
    Equal,
    /// `modulo`.
    Modulo,
    /// `remainder`.
    Remainder,
    /// `quotient`.
    Quotient,
    /// `select`.
    Choice,
    /// A tensor operation made of sums and products: the kernel itself runs on intervals.
    Sums,
    /// Any number or NaN.
    Anything,
    /// A length: not negative.
    Length,
    /// Any element of the first argument, or 0 when `true`.
    Elements(bool),
}

/// Bounds of an elementwise application.
pub fn bound<T: Real>(row: &Row, args: &[Interval<T>]) -> Interval<T> {
    let nan = args.iter().any(|a| a.nan);
    if nan && row.group == Group::Comparison {
        // A comparison with NaN does not hold; without NaN it is what it is.
        let numbers: Vec<Interval<T>> = args.iter().map(|a| Interval { nan: false, ..*a }).collect();
        let hull = bound(row, &numbers).join(Interval::point(T::ZERO));
        return Interval { nonzero: false, ..hull };
    }
    if args.iter().any(|a| a.is_empty()) && row.bound != Bound::Choice {
        return Interval::empty().or_nan(nan);
    }
    let at = |points: &[T]| apply_scalar(&row.kernel, points);
    let t = T::from_f64;
    let x = args[0];
    let everything = || Interval::everything().or_nan(true);
    let result = match row.bound {
        Bound::Corners(lo, hi) => clipped(corners(&row.kernel, args).widen(), lo, hi),
        Bound::Exact(lo, hi) => clipped(corners(&row.kernel, args), lo, hi),
        Bound::Even(least) => {
            let hull = Interval::hull([at(&[x.lo]), at(&[x.hi])]).widen();
            let hull = if x.contains(T::ZERO) || x.nonzero { hull.join(Interval::point(at(&[T::ZERO]))) } else { hull };
            Interval { nonzero: false, ..hull }.meet_range(least, f64::INFINITY)
        }
        Bound::Range(lo, hi) => {
            if x.lo == x.hi && args.len() == 1 {
                Interval::point(at(&[x.lo])).widen().meet_range(lo, hi)
            } else {
                Interval::new(t(lo), t(hi))
            }
        }
        Bound::Sine => wave(x, at, 0.25),
        Bound::Cosine => wave(x, at, 0.0),
        Bound::Tangent => {
            // Poles at a quarter turn and every half turn from there.
            if turns_within(x, 0.25, 0.5) || x.has_infinity() { everything() } else { corners(&row.kernel, args).widen() }
        }
        Bound::Product => args[0] * args[1],
        Bound::Ratio => ratio(x, args[1], at),
        Bound::Power => power(row, args, at),
        Bound::Equal => {
            let y = args[1];
            if x.hi < y.lo || y.hi < x.lo {
                Interval::point(T::ZERO)
            } else if x.lo == x.hi && y.lo == y.hi && !nan {
                Interval::point(T::ONE)
            } else {
                Interval::new(T::ZERO, T::ONE)
            }
        }
        Bound::Modulo => {
            let y = args[1];
            let lo = if y.lo < T::ZERO { y.lo } else { T::ZERO };
            let hi = if y.hi > T::ZERO { y.hi } else { T::ZERO };
            Interval::new(lo, hi).or_nan(y.has_zero() || x.has_infinity())
        }
        Bound::Remainder => {
            let y = args[1];
            let most = if y.hi > -y.lo { y.hi } else { -y.lo };
            let lo = if x.lo >= T::ZERO { T::ZERO } else { -most };
            let hi = if x.hi <= T::ZERO { T::ZERO } else { most };
            Interval::new(lo, hi).or_nan(y.has_zero() || x.has_infinity())
        }
        Bound::Quotient => {
            let q = ratio(x, args[1], |p| p[0] / p[1]);
            (q + Interval::new(-T::ONE, T::ONE)).or_nan(args[1].has_zero() || x.has_infinity())
        }
        Bound::Choice => {
            let (a, b) = (args[1], args[2]);
            if !x.has_zero() {
                return a;
            }
            if x.lo == T::ZERO && x.hi == T::ZERO && !x.nan {
                return b;
            }
            return a.join(b);
        }
        Bound::Sums | Bound::Anything | Bound::Length | Bound::Elements(_) => {
            unreachable!("not an elementwise bound")
        }
    };
    result.or_nan(nan)
}

/// Bounds within a range; a corner outside the domain says nothing, so then it is the whole range.
fn clipped<T: Real>(hull: Interval<T>, lo: f64, hi: f64) -> Interval<T> {
    if hull.nan { Interval::new(T::from_f64(lo), T::from_f64(hi)).or_nan(true) } else { hull.meet_range(lo, hi) }
}

trait MeetRange {
    fn meet_range(self, lo: f64, hi: f64) -> Self;
}

impl<T: Real> MeetRange for Interval<T> {
    fn meet_range(self, lo: f64, hi: f64) -> Interval<T> {
        let nan = self.nan;
        self.meet(Interval::new(T::from_f64(lo), T::from_f64(hi))).or_nan(nan)
    }
}

/// Hull of the values at the corners.
fn corners<T: Real>(kernel: &Kernel, args: &[Interval<T>]) -> Interval<T> {
    let mut points = Vec::with_capacity(1 << args.len());
    for corner in 0..1usize << args.len() {
        let point: Vec<T> = args.iter().enumerate().map(|(i, a)| if corner >> i & 1 == 1 { a.hi } else { a.lo }).collect();
        points.push(apply_scalar(kernel, &point));
    }
    Interval::hull(points)
}

/// Whether some point `offset + k * step` of a full turn lies in the interval, with room for rounding.
fn turns_within<T: Real>(x: Interval<T>, offset: f64, step: f64) -> bool {
    let turn = |v: f64| (v / std::f64::consts::TAU - offset) / step;
    let (lo, hi) = (turn(x.lo.to_f64()), turn(x.hi.to_f64()));
    let slack = 1e-6 + 1e-6 * lo.abs().max(hi.abs());
    let apart = (hi + slack).floor() < (lo - slack).ceil();
    !apart
}

/// Bounds of a function that swings between -1 and 1, with its crest at `crest` turns.
fn wave<T: Real>(x: Interval<T>, at: impl Fn(&[T]) -> T, crest: f64) -> Interval<T> {
    if x.has_infinity() {
        return Interval::new(-T::ONE, T::ONE).or_nan(true);
    }
    let mut hull = Interval::hull([at(&[x.lo]), at(&[x.hi])]).widen();
    if turns_within(x, crest, 1.0) {
        hull = hull.join(Interval::point(T::ONE));
    }
    if turns_within(x, crest + 0.5, 1.0) {
        hull = hull.join(Interval::point(-T::ONE));
    }
    Interval { nonzero: false, ..hull }.meet_range(-1.0, 1.0)
}

fn ratio<T: Real>(x: Interval<T>, y: Interval<T>, at: impl Fn(&[T]) -> T) -> Interval<T> {
    if y.has_zero() || (y.lo < T::ZERO && y.hi > T::ZERO) {
        let nan = (y.has_zero() && x.has_zero()) || (x.has_infinity() && y.has_infinity());
        return Interval::everything().or_nan(nan);
    }
    Interval::hull([at(&[x.lo, y.lo]), at(&[x.lo, y.hi]), at(&[x.hi, y.lo]), at(&[x.hi, y.hi])]).or_nan(x.has_infinity() && y.has_infinity())
}

fn power<T: Real>(row: &Row, args: &[Interval<T>], at: impl Fn(&[T]) -> T) -> Interval<T> {
    let (x, y) = (args[0], args[1]);
    let positive_range = |i: Interval<T>| i.widen().meet_range(0.0, f64::INFINITY);
    if x.lo > T::ZERO || (x.lo >= T::ZERO && y.lo >= T::ZERO) {
        return positive_range(corners(&row.kernel, args));
    }
    let n = y.lo.to_f64();
    if y.lo == y.hi && n.fract() == 0.0 && n >= 0.0 {
        let hull = Interval::hull([at(&[x.lo, y.lo]), at(&[x.hi, y.lo])]).widen();
        if n % 2.0 == 0.0 {
            let hull = if x.lo <= T::ZERO && x.hi >= T::ZERO { hull.join(Interval::point(at(&[T::ZERO, y.lo]))) } else { hull };
            return Interval { nonzero: false, ..hull }.meet_range(0.0, f64::INFINITY);
        }
        return hull;
    }
    Interval::everything().or_nan(true)
}
