//! log, log2, log10, log1p, log_base.
//!
//! In: any f32 or f64. Out: the function within 1 ULP; log(0) = -inf, log(negative) = NaN.
//!
//! x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1+f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f/(2+f).
//! f and f^2/2 are exact (the square as two words) and summed without error; only the last term, below 0.019,
//! is rounded, and its polynomial leaves 2^-59: 0.65 ULP. log2 and log10 multiply the two words by a two-word
//! constant. log_base divides two such pairs: 0.7 ULP. Powers of the base come out exact since the computed value is
//! closer to the true one than half an ULP. f32 runs in f64 with a shorter polynomial (2^-44).

use crate::coefficients::*;
use crate::dd::{divided, fast_two_difference, fast_two_sum, two_sum};
use crate::dispatch::{Map2, kernel1};
use crate::num::{Num, half, one, poly, two, zero};

const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
const MANTISSA: u64 = (1 << 52) - 1;

/// x = 2^k (1 + f) for positive finite x, subnormal ones too.
#[inline(always)]
pub(crate) fn split<V: Num<Scalar = f64>>(x: V) -> (V, V) {
    let tiny = x.less(x.lit(f64::MIN_POSITIVE));
    let (k, f) = split_f32(V::select(tiny, x * x.lit(18014398509481984.0), x));
    (V::select(tiny, k - x.lit(54.0), k), f)
}

/// The same for f64 values that came from f32: never subnormal.
#[inline(always)]
pub(crate) fn split_f32<V: Num<Scalar = f64>>(x: V) -> (V, V) {
    let t = x.add_bits(x.lit_bits(0x3ff0_0000_0000_0000 - SQRT_HALF_BITS));
    // the biased exponent in the low bits of 2^52
    let k = t.shift_right(52).or_bits(x.lit_bits(0x4330_0000_0000_0000)) - x.lit(4503599627370496.0 + 1023.0);
    (k, t.and_bits(x.lit_bits(MANTISSA)).add_bits(x.lit_bits(SQRT_HALF_BITS)) - one(x))
}

/// log(1 + f) = h + l, h = f - f^2/2 rounded, |l| < 0.019.
#[inline(always)]
fn ln_near_one<V: Num<Scalar = f64>>(f: V) -> (V, V) {
    let s = f / (two(f) + f);
    let z = s * s;
    let sq = half(f) * (f * f);
    let sq_lo = (half(f) * f).mul_sub(f, sq);
    let rest = s * z.mul_add(poly(z, &LOG), sq);
    let (h, e) = fast_two_difference(f, sq);
    (h, (e - sq_lo) + rest)
}

/// k log 2 + (a + b) as h + l.
#[inline(always)]
fn with_exponent<V: Num<Scalar = f64>>(k: V, (a, b): (V, V)) -> (V, V) {
    let (h, e) = fast_two_sum(k * k.lit(LN2_SHORT), a);
    (h, e + k.mul_add(k.lit(LN2_REST), b))
}

/// log(x) as h + l (l small, not normalised) for positive finite x.
#[inline(always)]
fn ln_parts<V: Num<Scalar = f64>>(x: V) -> (V, V) {
    let (k, f) = split(x);
    with_exponent(k, ln_near_one(f))
}

/// log of a positive f64 for f32 results: relative error 2^-44.
#[inline(always)]
pub(crate) fn ln_f32_parts<V: Num<Scalar = f64>>(x: V) -> V {
    let (k, f) = split_f32(x);
    k.mul_add(x.lit(LN2_HI), ln_near_one_f32(f))
}

#[inline(always)]
pub(crate) fn ln_near_one_f32<V: Num<Scalar = f64>>(f: V) -> V {
    let s = f / (two(f) + f);
    let z = s * s;
    (s * z).mul_add(poly(z, &LOG_F32), two(f) * s)
}

/// The logarithms' values at 0, negative numbers, infinity and NaN, put over y.
#[inline(always)]
fn edges<V: Num<Scalar = f64>>(x: V, y: V) -> V {
    let y = V::select(x.less(x.lit(f64::INFINITY)), y, x);
    let y = V::select(x.equal(zero(x)), x.lit(f64::NEG_INFINITY), y);
    V::select(x.less(zero(x)), x.lit(f64::NAN), y)
}

#[inline(always)]
pub(crate) fn log_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (h, l) = ln_parts(x);
    edges(x, h + l)
}

#[inline(always)]
pub(crate) fn log_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    edges(x, ln_f32_parts(x))
}

kernel1!(Log, f64: log_wide, f32: log_narrow);

/// The two words of log(1 + f) times a constant of two words.
#[inline(always)]
fn scaled_ln<V: Num<Scalar = f64>>(f: V, hi: f64, lo: f64) -> (V, V) {
    let (a, b) = ln_near_one(f);
    let (a, b) = fast_two_sum(a, b);
    let hi = f.lit(hi);
    let p = a * hi;
    (p, a.mul_sub(hi, p) + a.mul_add(f.lit(lo), b * hi))
}

#[inline(always)]
pub(crate) fn log2_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (k, f) = split(x);
    let (p, q) = scaled_ln(f, LOG2E_HI, LOG2E_LO);
    let (h, e) = fast_two_sum(k, p);
    edges(x, h + (e + q))
}

#[inline(always)]
pub(crate) fn log2_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (k, f) = split_f32(x);
    edges(x, ln_near_one_f32(f).mul_add(x.lit(LOG2E_HI), k))
}

kernel1!(Log2, f64: log2_wide, f32: log2_narrow);

#[inline(always)]
pub(crate) fn log10_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (k, f) = split(x);
    let (p, q) = scaled_ln(f, LOG10E_HI, LOG10E_LO);
    let (h, e) = fast_two_sum(k * x.lit(LOG10_2_SHORT), p);
    edges(x, h + (e + k.mul_add(x.lit(LOG10_2_REST), q)))
}

#[inline(always)]
pub(crate) fn log10_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (k, f) = split_f32(x);
    edges(x, k.mul_add(x.lit(LOG10_2_HI), ln_near_one_f32(f) * x.lit(LOG10E_HI)))
}

kernel1!(Log10, f64: log10_wide, f32: log10_narrow);

/// log(1 + x + x_lo) as h + l (l small, not normalised), x > -1 finite, x_lo at most an ULP of x.
/// 1 + x = u + c exactly. Where u is near 1, f = x needs no rounding at all; elsewhere the logarithm is at least
/// 0.34 and c enters as c/u.
#[inline(always)]
pub(crate) fn ln_1p<V: Num<Scalar = f64>>(x: V, x_lo: V) -> (V, V) {
    let (u, c) = two_sum(one(x), x);
    let (k, f) = split(u);
    let near = k.equal(zero(x));
    let tail = (V::select(near, zero(x), c) + x_lo) / u;
    let (a, b) = ln_near_one(V::select(near, x, f));
    let (h, e) = fast_two_sum(k * x.lit(LN2_SHORT), a);
    (h, e + (k.mul_add(x.lit(LN2_REST), b) + tail))
}

#[inline(always)]
pub(crate) fn log1p_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (h, l) = ln_1p(x, zero(x));
    let y = edges(one(x) + x, h + l);
    // -0 stays; tiny arguments are their own logarithms
    V::select(x.abs().less(x.lit(f64::EPSILON / 4.0)), x, y)
}

#[inline(always)]
pub(crate) fn log1p_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    // below 2^-29 the correction c/u carries all of x
    let u = one(x) + x;
    let c = x - (u - one(x));
    let big = x.lit(1e15).less(x);
    let y = ln_f32_parts(u) + V::select(big, zero(x), c / u);
    V::select(x.equal(zero(x)), x, edges(u, y))
}

kernel1!(Log1p, f64: log1p_wide, f32: log1p_narrow);

/// log(x)/log(b).
pub(crate) struct LogBase;

#[inline(always)]
pub(crate) fn log_base_wide<V: Num<Scalar = f64>>(x: V, b: V) -> V {
    let (xh, xl) = ln_parts(x);
    let (xh, xl) = fast_two_sum(xh, xl);
    let (bh, bl) = ln_parts(b);
    let (bh, bl) = fast_two_sum(bh, bl);
    let plain = edges(x, xh) / edges(b, bh);
    let positive = |v: V| V::both(zero(v).less(v), v.less(v.lit(f64::INFINITY)));
    let usual = V::both(V::both(positive(x), positive(b)), V::not(b.equal(one(b))));
    V::select(usual, divided((xh, xl), (bh, bl)), plain)
}

#[inline(always)]
pub(crate) fn log_base_narrow<V: Num<Scalar = f64>>(x: V, b: V) -> V {
    log_narrow(x) / log_narrow(b)
}

impl Map2<f64> for LogBase {
    #[inline(always)]
    fn fast(x: f64, b: f64) -> f64 {
        log_base_wide(x, b)
    }
}

impl Map2<f32> for LogBase {
    #[inline(always)]
    fn fast(x: f32, b: f32) -> f32 {
        log_base_narrow(f64::from(x), f64::from(b)) as f32
    }
}
