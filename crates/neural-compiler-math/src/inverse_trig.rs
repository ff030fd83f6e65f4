//! asin, acos, atan, atan2.
//!
//! In: any f32 or f64; asin and acos outside [-1, 1] give NaN. Out: the function within 1 ULP.
//!
//! atan(n/d) is reduced to |t| <= tan(pi/8) with one division, t = n/d, (n-d)/(n+d) or -d/n, its rounding error
//! kept in a second word; asin uses asin(x) = pi/2 - 2 asin(sqrt((1-x)/2)) above 1/2, the square root again
//! with a second word. The polynomials leave 2^-59 of terms below 6% of the result: 0.7 ULP. f32 runs in f64.

use crate::bits::{poly, sel, sign_bit, xor_sign};
use crate::coefficients::*;
use crate::dd::{fast_two_sum, two_sum};
use crate::dispatch::{Map2, kernel1};

const TAN_PI_8: f64 = 0.414213562373095;
const TAN_3PI_8: f64 = 2.414213562373095;

/// base + atan((n)/(d)) for a reduced quotient, all pairs of words; `flip` negates the quotient.
#[inline(always)]
fn atan_reduced(n: (f64, f64), d: (f64, f64), base: (f64, f64), flip: u64) -> f64 {
    let inv = 1.0 / d.0;
    let t = n.0 * inv;
    let rem = (-t).mul_add(d.0, n.0) + (-t).mul_add(d.1, n.1);
    let lo = rem * inv;
    let z = t * t;
    let corr = (t * z).mul_add(poly(z, &ATAN), (-z).mul_add(lo, lo));
    let (t, corr) = (xor_sign(t, flip), xor_sign(corr, flip));
    let (s, e) = fast_two_sum(base.0, t);
    s + (e + (corr + base.1))
}

/// atan(a/b) for a, b > 0 of moderate size, or pi - atan(a/b) where `left`.
#[inline(always)]
fn atan_quotient(a: f64, b: f64, left: bool) -> f64 {
    let low = a <= TAN_PI_8 * b;
    let high = a > TAN_3PI_8 * b;
    let (diff, diff_lo) = two_sum(a, -b);
    let (sum, sum_lo) = two_sum(a, b);
    let n = sel(low, a, sel(high, -b, diff));
    let d = sel(low, b, sel(high, a, sum));
    let edge = low || high;
    let n_lo = sel(edge, 0.0, diff_lo);
    let d_lo = sel(edge, 0.0, sum_lo);
    let zero_h = sel(left, PI_HI, 0.0);
    let zero_l = sel(left, PI_LO, 0.0);
    let mid_h = sel(left, THREE_PIO4_HI, PIO4_HI);
    let mid_l = sel(left, THREE_PIO4_LO, PIO4_LO);
    let base_h = sel(low, zero_h, sel(high, PIO2_HI, mid_h));
    let base_l = sel(low, zero_l, sel(high, PIO2_LO, mid_l));
    atan_reduced((n, n_lo), (d, d_lo), (base_h, base_l), (left as u64) << 63)
}

#[inline(always)]
fn atan_wide(x: f64) -> f64 {
    let a = x.abs();
    // beyond 2^60 the result is pi/2 to the last bit
    let a = sel(a > 1152921504606846976.0, 1152921504606846976.0, a);
    xor_sign(atan_quotient(a, 1.0, false), sign_bit(x))
}

/// atan(a/b), a, b >= 0 not both zero, for f32 results; finite.
#[inline(always)]
fn atan_quotient_f32(a: f64, b: f64) -> f64 {
    let low = a <= TAN_PI_8 * b;
    let high = a > TAN_3PI_8 * b;
    let n = sel(low, a, sel(high, -b, a - b));
    let d = sel(low, b, sel(high, a, a + b));
    let t = n / d;
    let z = t * t;
    let y = (t * z).mul_add(poly(z, &ATAN_F32), t);
    y + sel(low, 0.0, sel(high, PIO2_HI, PIO4_HI))
}

#[inline(always)]
fn atan_narrow(x: f64) -> f64 {
    xor_sign(atan_quotient_f32(x.abs(), 1.0), sign_bit(x))
}

kernel1!(Atan, f64: atan_wide, f32: atan_narrow);

/// The angle of the point (x, y).
pub(crate) struct Atan2;

const ATAN2_LOW: f64 = f64::from_bits((1023 - 500) << 52);
const ATAN2_HIGH: f64 = f64::from_bits((1023 + 500) << 52);

impl Map2<f64> for Atan2 {
    #[inline(always)]
    fn fast(y: f64, x: f64) -> f64 {
        xor_sign(atan_quotient(y.abs(), x.abs(), x < 0.0), sign_bit(y))
    }

    #[inline(always)]
    fn rare(y: f64, x: f64) -> bool {
        let (a, b) = (y.abs(), x.abs());
        let range = ATAN2_LOW..=ATAN2_HIGH;
        let usual = range.contains(&a) & range.contains(&b);
        !usual
    }

    #[inline(never)]
    fn slow(y: f64, x: f64) -> f64 {
        if x.is_nan() || y.is_nan() {
            return f64::NAN;
        }
        let left = x.is_sign_negative();
        let (a, b) = (y.abs(), x.abs());
        let angle = if a == 0.0 || (b.is_infinite() && a.is_finite()) {
            if left { PI_HI } else { 0.0 }
        } else if b == 0.0 || (a.is_infinite() && b.is_finite()) {
            PIO2_HI
        } else if a.is_infinite() {
            if left { THREE_PIO4_HI } else { PIO4_HI }
        } else {
            let distance = exponent(a) - exponent(b);
            if distance > 64 {
                PIO2_HI
            } else if distance < -64 {
                if left { PI_HI } else { a / b }
            } else {
                let down = -exponent(a);
                atan_quotient(ldexp(a, down), ldexp(b, down), left)
            }
        };
        xor_sign(angle, sign_bit(y))
    }
}

/// Exponent e of a positive finite x = m 2^e, 1 <= m < 2.
fn exponent(x: f64) -> i32 {
    let bits = x.to_bits();
    if bits >> 52 == 0 { 11 - bits.leading_zeros() as i32 - 1022 } else { (bits >> 52) as i32 - 1023 }
}

/// x 2^n where the result is normal.
fn ldexp(x: f64, n: i32) -> f64 {
    let half = n / 2;
    let p = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    x * p(half) * p(n - half)
}

impl Map2<f32> for Atan2 {
    #[inline(always)]
    fn fast(y: f32, x: f32) -> f32 {
        let (a, b) = ((y as f64).abs(), (x as f64).abs());
        let t = atan_quotient_f32(a, b);
        xor_sign(sel(x < 0.0, PI_HI - t, t), sign_bit(y as f64)) as f32
    }

    #[inline(always)]
    fn rare(y: f32, x: f32) -> bool {
        let (a, b) = (y.abs(), x.abs());
        let usual = (a > 0.0) & (a < f32::INFINITY) & (b > 0.0) & (b < f32::INFINITY);
        !usual
    }

    #[inline(always)]
    fn slow(y: f32, x: f32) -> f32 {
        <Self as Map2<f64>>::slow(y as f64, x as f64) as f32
    }
}

/// (s, second word of s, s^3 P(s^2)) with asin(a) or its reflection = s + ..., and whether it was reflected.
#[inline(always)]
fn asin_parts(a: f64) -> (bool, f64, f64) {
    let big = a >= 0.5;
    let z = sel(big, (1.0 - a) * 0.5, a * a);
    let root = z.sqrt();
    let root_lo = sel(root > 0.0, (-root).mul_add(root, z) / (2.0 * root), 0.0);
    let s = sel(big, root, a);
    let lo = sel(big, root_lo, 0.0);
    (big, s, (s * z).mul_add(poly(z, &ASIN), lo))
}

#[inline(always)]
fn asin_wide(x: f64) -> f64 {
    let a = x.abs();
    let (big, s, c) = asin_parts(a);
    let (h, e) = fast_two_sum(PIO2_HI, -2.0 * s);
    let reflected = h + (e + (-2.0f64).mul_add(c, PIO2_LO));
    let y = sel(big, reflected, s + c);
    let y = sel(a > 1.0, f64::NAN, y);
    xor_sign(y, sign_bit(x))
}

#[inline(always)]
fn acos_wide(x: f64) -> f64 {
    let a = x.abs();
    let (big, s, c) = asin_parts(a);
    let negative = x < 0.0;
    // |x| < 1/2: pi/2 - asin(x); x <= -1/2: pi - 2(s + c); x >= 1/2: 2(s + c)
    let base_h = sel(big, sel(negative, PI_HI, 0.0), PIO2_HI);
    let base_l = sel(big, sel(negative, PI_LO, 0.0), PIO2_LO);
    let factor = sel(big, 2.0, -1.0) * sel(negative, -1.0, 1.0);
    let (h, e) = fast_two_sum(base_h, factor * s);
    let y = h + (e + factor.mul_add(c, base_l));
    sel(a > 1.0, f64::NAN, y)
}

#[inline(always)]
fn asin_parts_f32(a: f64) -> (bool, f64) {
    let big = a >= 0.5;
    let z = sel(big, (1.0 - a) * 0.5, a * a);
    let s = sel(big, z.sqrt(), a);
    (big, (s * z).mul_add(poly(z, &ASIN_F32), s))
}

#[inline(always)]
fn asin_narrow(x: f64) -> f64 {
    let (big, s) = asin_parts_f32(x.abs());
    xor_sign(sel(big, (-2.0f64).mul_add(s, PIO2_HI), s), sign_bit(x))
}

#[inline(always)]
fn acos_narrow(x: f64) -> f64 {
    let (big, s) = asin_parts_f32(x.abs());
    let negative = x < 0.0;
    let base = sel(big, sel(negative, PI_HI, 0.0), PIO2_HI);
    let factor = sel(big, 2.0, -1.0) * sel(negative, -1.0, 1.0);
    factor.mul_add(s, base)
}

kernel1!(Asin, f64: asin_wide, f32: asin_narrow);
kernel1!(Acos, f64: acos_wide, f32: acos_narrow);
