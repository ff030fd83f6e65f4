//! pow.
//!
//! In: any pair (x, y) of f32 or f64. Out: x^y within 1 ULP, with every special case of IEEE 754 and C99 Annex F.
//!
//! log|x| as two words: s = f/(2+f) with its rounding error, 2s + (2/3 + s^2 P) s^3 in double-double where only P,
//! which stands for 2^-12 of it, is rounded: relative error 2^-65, so y log|x| <= 745 is known to 2^-55, 0.1 ULP
//! of the result. e^(y log|x|) as in exp.rs: 0.8 ULP, and 0.9 where the result is subnormal and rounds once more. Zeros,
//! infinities and NaN are rare arguments for the slow path. f32: log in plain f64, relative error 2^-44.

use crate::coefficients::*;
use crate::dd::{fast_two_sum, two_prod};
use crate::dispatch::Map2;
use crate::exp::{exp_small, exp_small_f32, reduce, whole_and_rest};
use crate::log::{ln_near_one_f32, split, split_f32};
use crate::num::{Num, clamp, half, one, poly, pow2, sign_of, two, zero};

/// log(x) as two words, relative error 2^-65, for positive finite x.
#[inline(always)]
fn ln_two_words<V: Num<Scalar = f64>>(x: V) -> (V, V) {
    let (k, f) = split(x);
    let d = two(x) + f;
    let d_lo = f - (d - two(x));
    let inv = one(x) / d;
    let s = f * inv;
    let s_lo = (s.neg_mul_add(d, f) - s * d_lo) * inv;
    let (z, z_lo) = two_prod(s, s);
    let z_lo = (two(x) * s).mul_add(s_lo, z_lo);
    let (c, c_lo) = two_prod(s, z);
    let c_lo = s.mul_add(z_lo, s_lo.mul_add(z, c_lo));
    // (2/3 + z P) s^3, the product z P with its error: only the rounding inside P is lost
    let p = poly(z, &LOG_POW);
    let q = z * p;
    let q_lo = z_lo.mul_add(p, z.mul_sub(p, q));
    let (w, e) = fast_two_sum(x.lit(TWO_THIRDS_HI), q);
    let w_lo = e + (x.lit(TWO_THIRDS_LO) + q_lo);
    let (t, t_lo) = two_prod(c, w);
    let t_lo = c.mul_add(w_lo, c_lo.mul_add(w, t_lo));
    let (h, e1) = fast_two_sum(k * x.lit(LN2_SHORT), two(x) * s);
    let (h, e2) = fast_two_sum(h, t);
    let lo = (e1 + e2) + k.mul_add(x.lit(LN2_REST), two(x).mul_add(s_lo, t_lo));
    fast_two_sum(h, lo)
}

/// The sign and the NaN of a negative base, put over |x|^y. A square is rounded once, so that `pow` with a constant 2 may be computed
/// as one.
#[inline(always)]
fn finished<V: Num<Scalar = f64>>(x: V, y: V, magnitude: V) -> V {
    let middle = half(y) * y;
    let whole = y.floor().equal(y);
    let odd = V::select(middle.floor().equal(middle), zero(x), x.lit(-0.0));
    let r = magnitude.xor_bits(odd.and_bits(x));
    let r = V::select(whole, r, V::select(x.less(zero(x)), x.lit(f64::NAN), r));
    V::select(y.equal(two(y)), x * x, r)
}

#[inline(always)]
pub(crate) fn pow_wide<V: Num<Scalar = f64>>(x: V, y: V) -> V {
    let (h, l) = ln_two_words(x.abs());
    let p = y * h;
    let p_lo = y.mul_add(l, y.mul_sub(h, p));
    let out = x.lit(760.0).less(p.abs());
    let p_lo = V::select(out, zero(x), p_lo);
    let (n, r, lo) = reduce(clamp(p, -760.0, 760.0));
    let (r, lo) = fast_two_sum(r, lo + p_lo);
    let (a, b) = exp_small(r, lo);
    finished(x, y, (a + b).scale2(n))
}

#[inline(always)]
pub(crate) fn pow_narrow<V: Num<Scalar = f64>>(x: V, y: V) -> V {
    let (k, f) = split_f32(x.abs());
    let log2 = ln_near_one_f32(f).mul_add(x.lit(LOG2E_HI), k);
    let (n, f) = whole_and_rest(clamp(y * log2, -300.0, 300.0));
    // The f64 product of f32 numbers is exact: a square is rounded once here too.
    finished(x, y, exp_small_f32(f * x.lit(LN2_HI)) * pow2(n))
}

/// Zeros, infinities and NaN are for the slow path.
#[inline(always)]
pub(crate) fn pow_rare<V: Num>(x: V, y: V, infinity: V) -> V::Mask {
    let a = x.abs();
    V::not(V::both(V::both(zero(x).less(a), a.less(infinity)), y.abs().less(infinity)))
}

/// x^y where x is a zero, infinite or NaN, or y is infinite or NaN.
#[inline(always)]
pub(crate) fn pow_slow<V: Num<Scalar = f64>>(x: V, y: V) -> V {
    let (a, infinity) = (x.abs(), x.lit(f64::INFINITY));
    let up = |yes: V, no: V| V::select(zero(y).less(y), yes, no);
    let middle = half(y) * y;
    let odd = V::both(y.floor().equal(y), V::not(middle.floor().equal(middle)));
    // x is a zero or an infinity
    let magnitude = V::select(a.equal(zero(x)), up(zero(x), infinity), up(infinity, zero(x)));
    let r = magnitude.xor_bits(V::select(odd, sign_of(x), zero(x)));
    let grown = V::select(one(x).less(a), up(infinity, zero(x)), up(zero(x), infinity));
    let r = V::select(y.abs().equal(infinity), V::select(a.equal(one(x)), one(x), grown), r);
    let r = V::select(V::both(x.equal(x), y.equal(y)), r, x.lit(f64::NAN));
    V::select(x.equal(one(x)), one(x), V::select(y.equal(zero(y)), one(x), r))
}

/// x raised to the power y.
pub(crate) struct Pow;

impl Map2<f64> for Pow {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        pow_wide(x, y)
    }

    #[inline(always)]
    fn rare(x: f64, y: f64) -> bool {
        pow_rare(x, y, f64::INFINITY)
    }

    #[inline(never)]
    fn slow(x: f64, y: f64) -> f64 {
        pow_slow(x, y)
    }
}

impl Map2<f32> for Pow {
    #[inline(always)]
    fn fast(x: f32, y: f32) -> f32 {
        pow_narrow(f64::from(x), f64::from(y)) as f32
    }

    #[inline(always)]
    fn rare(x: f32, y: f32) -> bool {
        pow_rare(x, y, f32::INFINITY)
    }

    #[inline(always)]
    fn slow(x: f32, y: f32) -> f32 {
        <Self as Map2<f64>>::slow(x as f64, y as f64) as f32
    }
}
