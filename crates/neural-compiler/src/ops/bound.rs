//! How operations map intervals. In: a row of the table and intervals of its arguments; out: an interval of its result.
//!
//! Each variant of `Bound` says why it encloses every result as computed, in f32 and f64: with subnormal numbers (which the kernels
//! neither flush nor skip), overflow to infinity, both zeros (which compare equal, so an interval holds both or none), infinities, NaN
//! and excluded points (`Interval::tidy` moves them out of the ends). The tests try every row at the combinations of special ends.

use crate::ops::interval::{Interval, ratio};
use crate::ops::real::Real;
use crate::ops::row::{Group, Kernel, Row, apply_scalar};
use neural_compiler_math as math;

/// How an operation maps intervals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// Monotone in each argument before rounding, and computed within 1 ULP, within the given range. The extremes of the exact function
    /// are at the corners; `Interval::widen` has room for the rounding. A corner that is NaN says nothing: then it is the whole range.
    Corners(f64, f64),
    /// Monotone in each argument after rounding too, because the exact value is monotone and rounded once: the extremes are at the
    /// corners. A corner that is NaN says nothing: then it is the whole range, with NaN.
    Exact(f64, f64),
    /// As `Exact`, and makes whole numbers of whole numbers: sums (see `Interval`'s `+`), and choices of an argument or 0.
    Closed(f64, f64),
    /// As `Exact`, and every result is a whole number or infinite.
    Whole(f64, f64),
    /// Even, growing away from 0, at least this, and computed within 1 ULP: extremes are at the ends and at 0, with room for rounding.
    Even(f64),
    /// `abs`: exact. It is 0 only at 0.
    Magnitude,
    /// `square`: even, growing away from 0, rounded once, so extremes are at the ends and at 0. May be 0 for tiny numbers.
    Square,
    /// As `Corners` where all arguments are positive; elsewhere there are poles, and it is anything or NaN.
    OnPositive(f64, f64),
    /// Computed within 1 ULP, for positive arguments falling to a least value and rising after: extremes are at the ends and, where it
    /// lies between them with room for rounding, at the least value. Given are its place and the value. Elsewhere anything or NaN.
    Trough(f64, f64),
    /// Anything in a range; NaN if a corner is.
    Range(f64, f64),
    /// `sin`: monotone between its crests and troughs, which are looked for with room for the rounding of the turns; NaN at infinity.
    Sine,
    /// `cos`: as `sin`.
    Cosine,
    /// `tan`: monotone between its poles, anything where one may lie within; NaN at infinity.
    Tangent,
    /// `*`: see `Interval`'s `*`.
    Product,
    /// `/`: see `interval::ratio`.
    Ratio,
    /// `pow`: over a base that is not negative monotone in each argument, so extremes are at corners, 0^0 = 1 included; computed within
    /// 1 ULP. With one whole exponent a power of any base has the extremes of an even or odd function. Else it may be anything. It is
    /// 1 for the exponent 0 and for the base 1, NaN as the other argument included.
    Power,
    /// `log` with a base: the quotient of two logarithms, which are monotone; computed within 1 ULP.
    LogBase,
    /// `=`: 0 where the intervals are apart, 1 where they are the same single number, else either.
    Equal,
    /// `modulo`: between 0 and the divisor, that included because the result is rounded, and no larger than a dividend of the same
    /// sign. Below a whole divisor small enough that whole remainders are exact. NaN where the divisor may be 0 or the dividend
    /// infinite.
    Modulo,
    /// `remainder`: exact, with the sign of the dividend and smaller than it and than the divisor in magnitude; NaN as `modulo`.
    Remainder,
    /// `quotient`: truncation is monotone, so it lies between the truncated ends of the quotient, which has room for its rounding;
    /// NaN as `modulo`.
    Quotient,
    /// `select`: what may be chosen; a test that is NaN is true.
    Choice,
    /// A tensor operation made of sums and products: the kernel itself runs on intervals, with the same operations in the same order.
    Sums,
    /// Any number or NaN; the analysis knows more about matrices.
    Anything,
    /// A length: computed within 1 ULP, see the analysis.
    Length,
    /// Any element of the first argument, or 0 when `true`: copies.
    Elements(bool),
}

/// Bounds of an elementwise application.
pub fn bound<T: Real>(row: &Row, args: &[Interval<T>]) -> Interval<T> {
    let nan = args.iter().any(|a| a.nan);
    if nan && row.group == Group::Comparison {
        // A comparison with NaN does not hold; without NaN it is what it is.
        let numbers: Vec<Interval<T>> = args.iter().map(|a| a.numbers()).collect();
        return bound(row, &numbers).join(Interval::point(T::ZERO)).only_whole(true);
    }
    match row.bound {
        Bound::Choice => return choice(args[0], args[1], args[2]),
        Bound::Power => return power(args[0], args[1], |x, y| apply_scalar(&row.kernel, &[x, y])),
        _ if args.iter().any(|a| a.is_empty()) => return Interval::empty().or_nan(nan),
        _ => {}
    }
    let at = |x: T| apply_scalar(&row.kernel, &[x]);
    let x = args[0];
    let all_whole = args.iter().all(|a| a.whole);
    let result = match row.bound {
        Bound::Corners(lo, hi) => clipped(corners(&row.kernel, args).widen(), lo, hi),
        Bound::Exact(lo, hi) => clipped(corners(&row.kernel, args), lo, hi),
        Bound::Closed(lo, hi) => clipped(corners(&row.kernel, args), lo, hi).only_whole(all_whole),
        Bound::Whole(lo, hi) => clipped(corners(&row.kernel, args), lo, hi).only_whole(true),
        Bound::Even(least) => even(x, at).widen().within(T::from_f64(least), infinity()),
        Bound::Magnitude => {
            let size = even(x, at).only_whole(x.whole);
            if x.has_zero() { size } else { size.without(T::ZERO) }
        }
        Bound::Square => even(x, at).only_whole(x.whole),
        Bound::OnPositive(..) | Bound::Trough(..) if args.iter().any(|a| a.lo <= T::ZERO) => Interval::everything().or_nan(true),
        Bound::OnPositive(lo, hi) => clipped(corners(&row.kernel, args).widen(), lo, hi),
        Bound::Trough(place, least) => {
            let inside = x.lo.to_f64() <= place * 1.001 && x.hi.to_f64() >= place * 0.999;
            Interval::hull([at(x.lo), at(x.hi)].into_iter().chain(inside.then(|| T::from_f64(least)))).widen()
        }
        Bound::Range(lo, hi) => Interval::new(T::from_f64(lo), T::from_f64(hi)).or_nan(corners(&row.kernel, args).nan),
        Bound::Sine => wave(x, at, 0.25),
        Bound::Cosine => wave(x, at, 0.0),
        // Poles at a quarter turn and every half turn from there.
        Bound::Tangent if turns_within(x, 0.25, 0.5) || x.has_infinity() => Interval::everything().or_nan(x.has_infinity()),
        Bound::Tangent => corners(&row.kernel, args).widen(),
        Bound::Product => args[0] * args[1],
        Bound::Ratio => ratio(x, args[1]),
        Bound::LogBase => ratio(logarithm(x), logarithm(args[1])).widen(),
        Bound::Equal => equal(x, args[1]),
        Bound::Modulo => modulo(x, args[1]),
        Bound::Remainder => remainder(x, args[1]),
        Bound::Quotient => {
            let q = ratio(x, args[1]).widen();
            let truncated = |x: T| T::from_f64(x.to_f64().trunc());
            let q = if q.is_empty() { q } else { Interval::new(truncated(q.lo), truncated(q.hi)) };
            q.only_whole(true).or_nan(args[1].has_zero() || x.has_infinity())
        }
        Bound::Anything => Interval::everything().or_nan(true),
        Bound::Power | Bound::Choice | Bound::Sums | Bound::Length | Bound::Elements(_) => unreachable!("not an elementwise bound"),
    };
    result.or_nan(nan)
}

fn infinity<T: Real>() -> T {
    T::from_f64(f64::INFINITY)
}

/// Bounds within a range; a corner that is NaN says nothing, so then it is the whole range.
fn clipped<T: Real>(hull: Interval<T>, lo: f64, hi: f64) -> Interval<T> {
    let (lo, hi) = (T::from_f64(lo), T::from_f64(hi));
    if hull.nan { Interval::new(lo, hi).or_nan(true) } else { hull.within(lo, hi) }
}

/// Hull of the values at the corners.
fn corners<T: Real>(kernel: &Kernel, args: &[Interval<T>]) -> Interval<T> {
    let corner = |c: usize| args.iter().enumerate().map(|(i, a)| if c >> i & 1 == 1 { a.hi } else { a.lo }).collect::<Vec<T>>();
    Interval::hull((0..1usize << args.len()).map(|c| apply_scalar(kernel, &corner(c))))
}

/// Hull of the values of an even function that grows away from 0.
fn even<T: Real>(x: Interval<T>, at: impl Fn(T) -> T) -> Interval<T> {
    let inside = x.lo < T::ZERO && x.hi > T::ZERO;
    Interval::hull([at(x.lo), at(x.hi)].into_iter().chain(inside.then(|| at(T::ZERO))))
}

/// Whether some point `offset + k * step` of a full turn lies in the interval, with room for rounding: three, of turns and of 1, in f64
/// whatever the type, of which 10^-12 is many times as much.
fn turns_within<T: Real>(x: Interval<T>, offset: f64, step: f64) -> bool {
    let turn = |v: f64| (v / std::f64::consts::TAU - offset) / step;
    let (lo, hi) = (turn(x.lo.to_f64()), turn(x.hi.to_f64()));
    let slack = 1e-12 + 1e-12 * lo.abs().max(hi.abs());
    let apart = (hi + slack).floor() < (lo - slack).ceil();
    !apart
}

/// Bounds of a function that swings between -1 and 1, with its crest at `crest` turns.
fn wave<T: Real>(x: Interval<T>, at: impl Fn(T) -> T, crest: f64) -> Interval<T> {
    if x.has_infinity() {
        return Interval::new(-T::ONE, T::ONE).or_nan(true);
    }
    let mut hull = Interval::hull([at(x.lo), at(x.hi)]).widen();
    if turns_within(x, crest, 1.0) {
        hull = hull.join(Interval::point(T::ONE));
    }
    if turns_within(x, crest + 0.5, 1.0) {
        hull = hull.join(Interval::point(-T::ONE));
    }
    hull.continuous().within(-T::ONE, T::ONE)
}

fn choice<T: Real>(test: Interval<T>, yes: Interval<T>, no: Interval<T>) -> Interval<T> {
    match (test.may_be(true), test.may_be(false)) {
        (true, true) => yes.join(no),
        (true, false) => yes,
        (false, true) => no,
        (false, false) => Interval::empty(),
    }
}

fn equal<T: Real>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let common = x.meet(y);
    if common.is_empty() {
        Interval::point(T::ZERO)
    } else if x.lo == x.hi && y.lo == y.hi {
        Interval::point(T::ONE)
    } else {
        Interval::new(T::ZERO, T::ONE).only_whole(true)
    }
}

/// Whole numbers up to this size are exact in both number types, and so are their sums.
const SMALL: f64 = 8_388_608.0;

fn modulo<T: Real>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let whole = x.whole && y.whole;
    let nan = y.has_zero() || x.has_infinity();
    let exact = whole && y.magnitude().to_f64() <= SMALL;
    let below = |y: T| if exact && y.abs() >= T::ONE { y - if y > T::ZERO { T::ONE } else { -T::ONE } } else { y };
    let mut lo = if y.lo < T::ZERO { below(y.lo) } else { T::ZERO };
    let mut hi = if y.hi > T::ZERO { below(y.hi) } else { T::ZERO };
    if x.lo >= T::ZERO && y.lo >= T::ZERO && x.hi < hi {
        hi = x.hi;
    }
    if x.hi <= T::ZERO && y.hi <= T::ZERO && x.lo > lo {
        lo = x.lo;
    }
    Interval::new(lo, hi).only_whole(whole).or_nan(nan)
}

fn remainder<T: Real>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let whole = x.whole && y.whole;
    let divisor = y.magnitude();
    let divisor = if whole && divisor.to_f64() <= SMALL && divisor >= T::ONE { divisor - T::ONE } else { divisor };
    let most = if divisor < x.magnitude() { divisor } else { x.magnitude() };
    let lo = if x.lo >= T::ZERO { T::ZERO } else { -most };
    let hi = if x.hi <= T::ZERO { T::ZERO } else { most };
    Interval::new(lo, hi).only_whole(whole).or_nan(y.has_zero() || x.has_infinity())
}

/// The exact logarithm: NaN of negative numbers.
fn logarithm<T: Real>(x: Interval<T>) -> Interval<T> {
    let positive = x.within(T::ZERO, infinity());
    let at = |x: T| T::unary(&math::LOG, x);
    let log = if positive.is_empty() { Interval::empty() } else { Interval::hull([at(positive.lo), at(positive.hi)]).widen() };
    log.or_nan(x.nan || x.lo < T::ZERO)
}

fn power<T: Real>(x: Interval<T>, y: Interval<T>, at: impl Fn(T, T) -> T) -> Interval<T> {
    // A NaN is no obstacle where the other argument decides alone.
    let decided = (x.nan && y.has_zero()) || (y.nan && x.contains(T::ONE));
    let nan = x.nan || y.nan;
    let numbers = if x.is_empty() || y.is_empty() { Interval::empty() } else { power_of_numbers(x.numbers(), y.numbers(), at) };
    let result = if decided { numbers.join(Interval::point(T::ONE)).continuous() } else { numbers };
    result.or_nan(nan)
}

fn power_of_numbers<T: Real>(x: Interval<T>, y: Interval<T>, at: impl Fn(T, T) -> T) -> Interval<T> {
    let zero = T::ZERO;
    let ends = |x: Interval<T>| Interval::hull([at(x.lo, y.lo), at(x.lo, y.hi), at(x.hi, y.lo), at(x.hi, y.hi)]).widen();
    if x.lo >= zero {
        // At the pole the sign of the zero decides.
        let pole = x.lo == zero && y.lo < zero;
        return if pole { Interval::everything() } else { ends(x).within(zero, infinity()) };
    }
    let n = y.lo.to_f64();
    if y.lo != y.hi || n.fract() != 0.0 {
        return Interval::everything().or_nan(!y.whole);
    }
    let is_even = n % 2.0 == 0.0;
    if x.hi < zero {
        return if is_even { ends(x).within(zero, infinity()) } else { ends(x).within(-infinity::<T>(), zero) };
    }
    if n < 0.0 {
        return if is_even { Interval::new(zero, infinity()) } else { Interval::everything() };
    }
    let hull = ends(x).join(Interval::point(at(zero, y.lo))).continuous();
    if is_even { hull.within(zero, infinity()) } else { hull }
}
