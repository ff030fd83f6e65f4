//! asin, acos, atan, atan2.
//!
//! In: any f32 or f64; asin and acos outside [-1, 1] give NaN. Out: the function within 1 ULP.
//!
//! atan(n/d) is reduced to |t| <= tan(pi/8) with one division, t = n/d, (n-d)/(n+d) or -d/n, its rounding error
//! kept in a second word; asin uses asin(x) = pi/2 - 2 asin(sqrt((1-x)/2)) above 1/2, the square root again
//! with a second word. The polynomials leave 2^-59 of terms below 6% of the result: 0.7 ULP. f32 runs in f64.

use crate::coefficients::*;
use crate::dd::{fast_two_difference, fast_two_sum, two_difference, two_sum};
use crate::dispatch::{Map2, kernel1};
use crate::num::{Num, half, one, opposite, poly, pow2, sign_of, two, zero};

const TAN_PI_8: f64 = 0.414213562373095;
const TAN_3PI_8: f64 = 2.414213562373095;

/// base + atan((n)/(d)) for a reduced quotient, all pairs of words; `flip` has the sign the quotient gets.
#[inline(always)]
fn atan_reduced<V: Num<Scalar = f64>>(n: (V, V), d: (V, V), base: (V, V), flip: V) -> V {
    let inv = one(flip) / d.0;
    let t = n.0 * inv;
    let rem = t.neg_mul_add(d.0, n.0) + t.neg_mul_add(d.1, n.1);
    let lo = rem * inv;
    let z = t * t;
    let corr = (t * z).mul_add(poly(z, &ATAN), z.neg_mul_add(lo, lo));
    let (t, corr) = (t.xor_bits(flip), corr.xor_bits(flip));
    let (s, e) = fast_two_sum(base.0, t);
    s + (e + (corr + base.1))
}

/// Of three values the one for a quotient a/b up to tan(pi/8), beyond tan(3 pi/8), and between.
#[inline(always)]
fn by_range<V: Num<Scalar = f64>>(a: V, b: V) -> impl Fn(V, V, V) -> V {
    let above = (a.lit(TAN_PI_8) * b).less(a);
    let high = (a.lit(TAN_3PI_8) * b).less(a);
    move |low, far, between| V::select(above, V::select(high, far, between), low)
}

/// atan(a/b) for a, b > 0 of moderate size, or pi - atan(a/b): the angle where the quotient is small, where it is near 1, and the sign it
/// has.
#[inline(always)]
fn atan_quotient<V: Num<Scalar = f64>>(a: V, b: V, none: (V, V), middle: (V, V), flip: V) -> V {
    let choose = by_range(a, b);
    let (diff, diff_lo) = two_difference(a, b);
    let (sum, sum_lo) = two_sum(a, b);
    let n = choose(a, opposite(b), diff);
    let d = choose(b, a, sum);
    let n_lo = choose(zero(a), zero(a), diff_lo);
    let d_lo = choose(zero(a), zero(a), sum_lo);
    let base = (choose(none.0, a.lit(PIO2_HI), middle.0), choose(none.1, a.lit(PIO2_LO), middle.1));
    atan_reduced((n, n_lo), (d, d_lo), base, flip)
}

#[inline(always)]
pub(crate) fn atan_wide<V: Num<Scalar = f64>>(x: V) -> V {
    // beyond 2^60 the result is pi/2 to the last bit
    let a = x.abs().at_most(x.lit(1152921504606846976.0));
    let none = (zero(x), zero(x));
    atan_quotient(a, one(x), none, (x.lit(PIO4_HI), x.lit(PIO4_LO)), zero(x)).xor_bits(sign_of(x))
}

/// atan(a/b), a, b >= 0 not both zero, for f32 results; finite.
#[inline(always)]
fn atan_quotient_f32<V: Num<Scalar = f64>>(a: V, b: V) -> V {
    let choose = by_range(a, b);
    let t = choose(a, opposite(b), a - b) / choose(b, a, a + b);
    let z = t * t;
    let y = (t * z).mul_add(poly(z, &ATAN_F32), t);
    y + choose(zero(a), a.lit(PIO2_HI), a.lit(PIO4_HI))
}

#[inline(always)]
pub(crate) fn atan_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    atan_quotient_f32(x.abs(), one(x)).xor_bits(sign_of(x))
}

kernel1!(Atan, f64: atan_wide, f32: atan_narrow);

/// The angle of a point whose numbers are of moderate size.
#[inline(always)]
pub(crate) fn atan2_wide<V: Num<Scalar = f64>>(y: V, x: V) -> V {
    let left = x.less(zero(x));
    let pick = |yes: f64, no: f64| V::select(left, x.lit(yes), x.lit(no));
    let none = (pick(PI_HI, 0.0), pick(PI_LO, 0.0));
    let middle = (pick(THREE_PIO4_HI, PIO4_HI), pick(THREE_PIO4_LO, PIO4_LO));
    atan_quotient(y.abs(), x.abs(), none, middle, pick(-0.0, 0.0)).xor_bits(sign_of(y))
}

#[inline(always)]
pub(crate) fn atan2_narrow<V: Num<Scalar = f64>>(y: V, x: V) -> V {
    let t = atan_quotient_f32(y.abs(), x.abs());
    V::select(x.less(zero(x)), x.lit(PI_HI) - t, t).xor_bits(sign_of(y))
}

/// Where a number is not between the limits: the slow path decides.
#[inline(always)]
pub(crate) fn atan2_rare<V: Num>(y: V, x: V, low: V, high: V) -> V::Mask {
    let between = |v: V| V::both(low.less(v.abs()), v.abs().less(high));
    V::not(V::both(between(y), between(x)))
}

/// The angle of the point (x, y).
pub(crate) struct Atan2;

pub(crate) const ATAN2_LOW: f64 = f64::from_bits((1023 - 500) << 52);
pub(crate) const ATAN2_HIGH: f64 = f64::from_bits((1023 + 500) << 52);

impl Map2<f64> for Atan2 {
    #[inline(always)]
    fn fast(y: f64, x: f64) -> f64 {
        atan2_wide(y, x)
    }

    #[inline(always)]
    fn rare(y: f64, x: f64) -> bool {
        atan2_rare(y, x, ATAN2_LOW, ATAN2_HIGH)
    }

    #[inline(never)]
    fn slow(y: f64, x: f64) -> f64 {
        atan2_slow(y, x)
    }
}

/// Exponent e of a positive finite x = m 2^e, 1 <= m < 2.
#[inline(always)]
fn exponent<V: Num<Scalar = f64>>(x: V) -> V {
    let tiny = x.less(x.lit(f64::MIN_POSITIVE));
    let up = V::select(tiny, x * x.lit(18014398509481984.0), x);
    let k = up.shift_right(52).or_bits(x.lit_bits(0x4330_0000_0000_0000)) - x.lit(4503599627370496.0 + 1023.0);
    V::select(tiny, k - x.lit(54.0), k)
}

/// The angle of a point with a number that is a zero, infinite, NaN, very large or very small.
#[inline(always)]
pub(crate) fn atan2_slow<V: Num<Scalar = f64>>(y: V, x: V) -> V {
    let (left, infinity) = (x.high_bit(), x.lit(f64::INFINITY));
    let pick = |yes: f64, no: f64| V::select(left, x.lit(yes), x.lit(no));
    let (a, b) = (y.abs(), x.abs());
    // Numbers not too far apart are brought to a moderate size; both factors are normal numbers, and neither product is rounded.
    let (down, distance) = (zero(a) - exponent(a), exponent(a) - exponent(b));
    let part = (half(a) * down).floor();
    let moderate = |v: V| v * pow2(part) * pow2(down - part);
    let near = atan2_wide(moderate(a), moderate(V::select(left, opposite(b), b)));
    let flat = V::select(left, x.lit(PI_HI), a / b);
    let angle = V::select(distance.less(x.lit(-64.0)), flat, V::select(x.lit(64.0).less(distance), x.lit(PIO2_HI), near));
    let angle = V::select(a.equal(infinity), V::select(b.equal(infinity), pick(THREE_PIO4_HI, PIO4_HI), x.lit(PIO2_HI)), angle);
    let angle = V::select(b.equal(zero(b)), x.lit(PIO2_HI), angle);
    let level = pick(PI_HI, 0.0);
    let angle = V::select(b.equal(infinity), V::select(a.equal(infinity), angle, level), angle);
    let angle = V::select(a.equal(zero(a)), level, angle);
    let angle = V::select(V::both(x.equal(x), y.equal(y)), angle, x.lit(f64::NAN));
    angle.xor_bits(sign_of(y))
}

impl Map2<f32> for Atan2 {
    #[inline(always)]
    fn fast(y: f32, x: f32) -> f32 {
        atan2_narrow(f64::from(y), f64::from(x)) as f32
    }

    #[inline(always)]
    fn rare(y: f32, x: f32) -> bool {
        atan2_rare(y, x, 0.0, f32::INFINITY)
    }

    #[inline(always)]
    fn slow(y: f32, x: f32) -> f32 {
        <Self as Map2<f64>>::slow(y as f64, x as f64) as f32
    }
}

/// (whether it was reflected, s, s^3 P(s^2) and the second word of s) with asin(a) or its reflection = s + ...
#[inline(always)]
fn asin_parts<V: Num<Scalar = f64>>(a: V) -> (V::Mask, V, V) {
    let small = a.less(half(a));
    let z = V::select(small, a * a, (one(a) - a) * half(a));
    let root = z.sqrt();
    let root_lo = V::select(zero(a).less(root), root.neg_mul_add(root, z) / (two(a) * root), zero(a));
    let s = V::select(small, a, root);
    let lo = V::select(small, zero(a), root_lo);
    (small, s, (s * z).mul_add(poly(z, &ASIN), lo))
}

/// NaN outside [-1, 1].
#[inline(always)]
fn inside<V: Num<Scalar = f64>>(x: V, y: V) -> V {
    V::select(one(x).less(x.abs()), x.lit(f64::NAN), y)
}

#[inline(always)]
pub(crate) fn asin_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (small, s, c) = asin_parts(x.abs());
    let (h, e) = fast_two_difference(x.lit(PIO2_HI), two(x) * s);
    let reflected = h + (e + c.mul_add(x.lit(-2.0), x.lit(PIO2_LO)));
    inside(x, V::select(small, s + c, reflected)).xor_bits(sign_of(x))
}

/// What acos is made of: |x| < 1/2: pi/2 - asin(x); x <= -1/2: pi - 2 asin(..); x >= 1/2: 2 asin(..). The angle's words and the factor.
#[inline(always)]
fn acos_base<V: Num<Scalar = f64>>(x: V, small: V::Mask) -> ((V, V), V) {
    let negative = x.less(zero(x));
    let pick = |yes: f64, no: f64| V::select(negative, x.lit(yes), x.lit(no));
    let word = |pi: f64, half_pi: f64| V::select(small, x.lit(half_pi), pick(pi, 0.0));
    ((word(PI_HI, PIO2_HI), word(PI_LO, PIO2_LO)), V::select(small, pick(1.0, -1.0), pick(-2.0, 2.0)))
}

#[inline(always)]
pub(crate) fn acos_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (small, s, c) = asin_parts(x.abs());
    let (base, factor) = acos_base(x, small);
    let (h, e) = fast_two_sum(base.0, factor * s);
    inside(x, h + (e + factor.mul_add(c, base.1)))
}

#[inline(always)]
fn asin_parts_f32<V: Num<Scalar = f64>>(a: V) -> (V::Mask, V) {
    let small = a.less(half(a));
    let z = V::select(small, a * a, (one(a) - a) * half(a));
    let s = V::select(small, a, z.sqrt());
    (small, (s * z).mul_add(poly(z, &ASIN_F32), s))
}

#[inline(always)]
pub(crate) fn asin_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (small, s) = asin_parts_f32(x.abs());
    V::select(small, s, s.mul_add(x.lit(-2.0), x.lit(PIO2_HI))).xor_bits(sign_of(x))
}

#[inline(always)]
pub(crate) fn acos_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (small, s) = asin_parts_f32(x.abs());
    let (base, factor) = acos_base(x, small);
    factor.mul_add(s, base.0)
}

kernel1!(Asin, f64: asin_wide, f32: asin_narrow);
kernel1!(Acos, f64: acos_wide, f32: acos_narrow);
