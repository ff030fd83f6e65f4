//! pow.
//!
//! In: any pair (x, y) of f32 or f64. Out: x^y within 1 ULP, with every special case of IEEE 754 and C99 Annex F.
//!
//! log|x| as two words: s = f/(2+f) with its rounding error, 2s + (2/3 + s^2 P) s^3 in double-double where only P,
//! which stands for 2^-12 of it, is rounded: relative error 2^-65, so y log|x| <= 745 is known to 2^-55, 0.1 ULP
//! of the result. e^(y log|x|) as in exp.rs: 0.8 ULP, and 0.9 where the result is subnormal and rounds once more. Zeros,
//! infinities and NaN are rare arguments for the slow path. f32: log in plain f64, relative error 2^-44.

use crate::bits::{MAGIC, poly, scale2, sel, sign_bit, xor_sign};
use crate::coefficients::*;
use crate::dd::{fast_two_sum, two_prod};
use crate::dispatch::Map2;
use crate::exp::{clamp, exp_small, exp_small_f32, reduce};
use crate::log::{ln_near_one_f32, split, split_f32};

/// log(x) as two words, relative error 2^-65, for positive finite x.
#[inline(always)]
fn ln_two_words(x: f64) -> (f64, f64) {
    let (k, f) = split(x);
    let d = 2.0 + f;
    let d_lo = f - (d - 2.0);
    let inv = 1.0 / d;
    let s = f * inv;
    let s_lo = ((-s).mul_add(d, f) - s * d_lo) * inv;
    let (z, z_lo) = two_prod(s, s);
    let z_lo = (2.0 * s).mul_add(s_lo, z_lo);
    let (c, c_lo) = two_prod(s, z);
    let c_lo = s.mul_add(z_lo, s_lo.mul_add(z, c_lo));
    // (2/3 + z P) s^3, the product z P with its error: only the rounding inside P is lost
    let p = poly(z, &LOG_POW);
    let q = z * p;
    let q_lo = z_lo.mul_add(p, z.mul_add(p, -q));
    let (w, e) = fast_two_sum(TWO_THIRDS_HI, q);
    let w_lo = e + (TWO_THIRDS_LO + q_lo);
    let (t, t_lo) = two_prod(c, w);
    let t_lo = c.mul_add(w_lo, c_lo.mul_add(w, t_lo));
    let (h, e1) = fast_two_sum(k * LN2_SHORT, 2.0 * s);
    let (h, e2) = fast_two_sum(h, t);
    let lo = (e1 + e2) + k.mul_add(LN2_REST, 2.0f64.mul_add(s_lo, t_lo));
    fast_two_sum(h, lo)
}

/// (whether y is an integer, the sign bit of x^y for a negative x).
#[inline(always)]
fn parity(y: f64) -> (bool, u64) {
    let half = 0.5 * y;
    let integer = y.floor() == y;
    let odd = integer & (half.floor() != half);
    (integer, (odd as u64) << 63)
}

/// The sign and the NaN of a negative base, put over |x|^y.
#[inline(always)]
fn signed(x: f64, y: f64, magnitude: f64) -> f64 {
    let (integer, odd) = parity(y);
    let negative = x < 0.0;
    let r = xor_sign(magnitude, odd & sign_bit(x));
    sel(negative & !integer, f64::NAN, r)
}

/// x raised to the power y.
pub(crate) struct Pow;

impl Map2<f64> for Pow {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        let (h, l) = ln_two_words(x.abs());
        let p = y * h;
        let p_lo = y.mul_add(l, y.mul_add(h, -p));
        let out = p.abs() > 760.0;
        let p_lo = sel(out, 0.0, p_lo);
        let (n, r, lo) = reduce(clamp(p, -760.0, 760.0));
        let (r, lo) = fast_two_sum(r, lo + p_lo);
        let (a, b) = exp_small(r, lo);
        // A square is rounded once, so that `pow` with a constant 2 may be computed as one.
        sel(y == 2.0, x * x, signed(x, y, scale2(a + b, n)))
    }

    #[inline(always)]
    fn rare(x: f64, y: f64) -> bool {
        let a = x.abs();
        let usual = (a > 0.0) & (a < f64::INFINITY) & (y.abs() < f64::INFINITY);
        !usual
    }

    #[inline(never)]
    fn slow(x: f64, y: f64) -> f64 {
        if y == 0.0 || x == 1.0 {
            return 1.0;
        }
        if x.is_nan() || y.is_nan() {
            return f64::NAN;
        }
        let a = x.abs();
        if y.is_infinite() {
            return if a == 1.0 {
                1.0
            } else if (a > 1.0) == (y > 0.0) {
                f64::INFINITY
            } else {
                0.0
            };
        }
        // x is a zero or an infinity
        let magnitude = if (a == 0.0) == (y > 0.0) { 0.0 } else { f64::INFINITY };
        xor_sign(magnitude, parity(y).1 & sign_bit(x))
    }
}

impl Map2<f32> for Pow {
    #[inline(always)]
    fn fast(x: f32, y: f32) -> f32 {
        let (x, y) = (x as f64, y as f64);
        let (k, f) = split_f32(x.abs());
        let log2 = ln_near_one_f32(f).mul_add(LOG2E_HI, k);
        let t = clamp(y * log2, -300.0, 300.0);
        let n = (t + MAGIC) - MAGIC;
        let e = exp_small_f32((t - n) * LN2_HI) * crate::bits::pow2(n);
        // The f64 product of f32 numbers is exact: a square is rounded once here too.
        sel(y == 2.0, x * x, signed(x, y, e)) as f32
    }

    #[inline(always)]
    fn rare(x: f32, y: f32) -> bool {
        let a = x.abs();
        let usual = (a > 0.0) & (a < f32::INFINITY) & (y.abs() < f32::INFINITY);
        !usual
    }

    #[inline(always)]
    fn slow(x: f32, y: f32) -> f32 {
        <Self as Map2<f64>>::slow(x as f64, y as f64) as f32
    }
}
