//! log, log2, log10, log1p, log_base.
//!
//! In: any f32 or f64. Out: the function within 1 ULP; log(0) = -inf, log(negative) = NaN.
//!
//! x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1+f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f/(2+f).
//! f and f^2/2 are exact (the square as two words) and summed without error; only the last term, below 0.019,
//! is rounded, and its polynomial leaves 2^-59: 0.65 ULP. log2 and log10 multiply the two words by a two-word
//! constant. log_base divides two such pairs: 0.7 ULP. Powers of the base come out exact since the computed value is
//! closer to the true one than half an ULP. f32 runs in f64 with a shorter polynomial (2^-44).

use crate::bits::{poly, sel};
use crate::coefficients::*;
use crate::dd::{divided, fast_two_sum, two_sum};
use crate::dispatch::{Map2, kernel1};

const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
const MANTISSA: u64 = (1 << 52) - 1;

/// x = 2^k (1 + f) for positive finite x, subnormal ones too.
#[inline(always)]
pub(crate) fn split(x: f64) -> (f64, f64) {
    let tiny = x < f64::MIN_POSITIVE;
    let x = sel(tiny, x * 18014398509481984.0, x);
    let t = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF_BITS);
    // the biased exponent in the low bits of 2^52
    let k = f64::from_bits((t >> 52) | 0x4330_0000_0000_0000) - (4503599627370496.0 + 1023.0);
    let m = f64::from_bits((t & MANTISSA) + SQRT_HALF_BITS);
    (sel(tiny, k - 54.0, k), m - 1.0)
}

/// The same for f64 values that came from f32: never subnormal.
#[inline(always)]
pub(crate) fn split_f32(x: f64) -> (f64, f64) {
    let t = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF_BITS);
    let k = f64::from_bits((t >> 52) | 0x4330_0000_0000_0000) - (4503599627370496.0 + 1023.0);
    (k, f64::from_bits((t & MANTISSA) + SQRT_HALF_BITS) - 1.0)
}

/// log(1 + f) = h + l, h = f - f^2/2 rounded, |l| < 0.019.
#[inline(always)]
fn ln_near_one(f: f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let z = s * s;
    let sq = 0.5 * (f * f);
    let sq_lo = (0.5 * f).mul_add(f, -sq);
    let rest = s * z.mul_add(poly(z, &LOG), sq);
    let (h, e) = fast_two_sum(f, -sq);
    (h, (e - sq_lo) + rest)
}

/// log(x) as h + l (l small, not normalised) for positive finite x.
#[inline(always)]
fn ln_parts(x: f64) -> (f64, f64) {
    let (k, f) = split(x);
    let (a, b) = ln_near_one(f);
    let (h, e) = fast_two_sum(k * LN2_SHORT, a);
    (h, e + k.mul_add(LN2_REST, b))
}

/// log of a positive f64 for f32 results: relative error 2^-44.
#[inline(always)]
pub(crate) fn ln_f32_parts(x: f64) -> f64 {
    let (k, f) = split_f32(x);
    k.mul_add(LN2_HI, ln_near_one_f32(f))
}

#[inline(always)]
pub(crate) fn ln_near_one_f32(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    (s * z).mul_add(poly(z, &LOG_F32), 2.0 * s)
}

/// The logarithms' values at 0, negative numbers, infinity and NaN, put over y.
#[inline(always)]
fn edges(x: f64, y: f64) -> f64 {
    let y = sel(x < f64::INFINITY, y, x);
    let y = sel(x == 0.0, f64::NEG_INFINITY, y);
    sel(x < 0.0, f64::NAN, y)
}

#[inline(always)]
fn log_wide(x: f64) -> f64 {
    let (h, l) = ln_parts(x);
    edges(x, h + l)
}

#[inline(always)]
fn log_narrow(x: f64) -> f64 {
    edges(x, ln_f32_parts(x))
}

kernel1!(Log, f64: log_wide, f32: log_narrow);

#[inline(always)]
fn log2_wide(x: f64) -> f64 {
    let (k, f) = split(x);
    let (a, b) = ln_near_one(f);
    let (a, b) = fast_two_sum(a, b);
    let p = a * LOG2E_HI;
    let q = a.mul_add(LOG2E_HI, -p) + a.mul_add(LOG2E_LO, b * LOG2E_HI);
    let (h, e) = fast_two_sum(k, p);
    edges(x, h + (e + q))
}

#[inline(always)]
fn log2_narrow(x: f64) -> f64 {
    let (k, f) = split_f32(x);
    edges(x, ln_near_one_f32(f).mul_add(LOG2E_HI, k))
}

kernel1!(Log2, f64: log2_wide, f32: log2_narrow);

#[inline(always)]
fn log10_wide(x: f64) -> f64 {
    let (k, f) = split(x);
    let (a, b) = ln_near_one(f);
    let (a, b) = fast_two_sum(a, b);
    let p = a * LOG10E_HI;
    let q = a.mul_add(LOG10E_HI, -p) + a.mul_add(LOG10E_LO, b * LOG10E_HI);
    let (h, e) = fast_two_sum(k * LOG10_2_SHORT, p);
    edges(x, h + (e + k.mul_add(LOG10_2_REST, q)))
}

#[inline(always)]
fn log10_narrow(x: f64) -> f64 {
    let (k, f) = split_f32(x);
    edges(x, k.mul_add(LOG10_2_HI, ln_near_one_f32(f) * LOG10E_HI))
}

kernel1!(Log10, f64: log10_wide, f32: log10_narrow);

/// log(1 + x + x_lo) as h + l (l small, not normalised), x > -1 finite, x_lo at most an ULP of x.
/// 1 + x = u + c exactly. Where u is near 1, f = x needs no rounding at all; elsewhere the logarithm is at least
/// 0.34 and c enters as c/u.
#[inline(always)]
pub(crate) fn ln_1p(x: f64, x_lo: f64) -> (f64, f64) {
    let (u, c) = two_sum(1.0, x);
    let (k, f) = split(u);
    let near = k == 0.0;
    let tail = (sel(near, 0.0, c) + x_lo) / u;
    let (a, b) = ln_near_one(sel(near, x, f));
    let (h, e) = fast_two_sum(k * LN2_SHORT, a);
    (h, e + (k.mul_add(LN2_REST, b) + tail))
}

#[inline(always)]
fn log1p_wide(x: f64) -> f64 {
    let (h, l) = ln_1p(x, 0.0);
    let y = edges(1.0 + x, h + l);
    // -0 stays; tiny arguments are their own logarithms
    sel(x.abs() < f64::EPSILON / 4.0, x, y)
}

#[inline(always)]
fn log1p_narrow(x: f64) -> f64 {
    // below 2^-29 the correction c/u carries all of x
    let u = 1.0 + x;
    let c = x - (u - 1.0);
    let big = x > 1e15;
    let y = ln_f32_parts(u) + sel(big, 0.0, c / u);
    sel(x == 0.0, x, edges(u, y))
}

kernel1!(Log1p, f64: log1p_wide, f32: log1p_narrow);

/// log(x)/log(b).
pub(crate) struct LogBase;

#[inline(always)]
fn log_base_wide(x: f64, b: f64) -> f64 {
    let (xh, xl) = ln_parts(x);
    let (xh, xl) = fast_two_sum(xh, xl);
    let (bh, bl) = ln_parts(b);
    let (bh, bl) = fast_two_sum(bh, bl);
    let plain = edges(x, xh) / edges(b, bh);
    let usual = x > 0.0 && x < f64::INFINITY && b > 0.0 && b < f64::INFINITY && b != 1.0;
    sel(usual, divided((xh, xl), (bh, bl)), plain)
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
        let (x, b) = (x as f64, b as f64);
        (edges(x, ln_f32_parts(x)) / edges(b, ln_f32_parts(b))) as f32
    }
}
