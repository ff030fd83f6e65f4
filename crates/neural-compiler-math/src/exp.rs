//! exp, exp2, expm1, sigmoid, softplus.
//!
//! In: any f32 or f64. Out: the function within 1 ULP.
//!
//! x = n ln 2 + r with |r| <= ln(2)/2, r as two words; e^r = 1 + r + (cosh r - 1) + (sinh r - r), the last two
//! from polynomials that together leave 2^-61. They are at most 0.07, so their roundings cost 0.18 ULP, and
//! 1 + r is summed without error: 0.68 ULP before the scaling by 2^n, which is exact, or rounds once more when
//! the result is subnormal (where the first error counts at most half): 0.84 ULP.
//! f32 does the same in f64 with shorter polynomials (2^-38): 0.5001 ULP; exp and sigmoid, the most used of all, stay in f32, where a
//! vector holds twice as many lanes: for exp, r as one word costs 0.25 ULP more.

use crate::bits::{MAGIC, poly, pow2, scale2, sel};
use crate::coefficients::*;
use crate::dd::{fast_two_sum, two_sum};
use crate::dispatch::{kernel_of_num, kernel1};
use crate::log::{ln_1p, ln_f32_parts};
use crate::num::{Layout, Num, half, one, zero};

/// x = n ln 2 + hi + lo, wherever e^x is neither 0 nor infinite.
#[inline(always)]
pub(crate) fn reduce<V: Num>(x: V) -> (V, V, V) {
    let [log2e, short, rest] = V::Scalar::LN2.map(|c| x.lit(c));
    let magic = x.lit(V::Scalar::MAGIC);
    let n = x.mul_add(log2e, magic) - magic;
    let h = n.neg_mul_add(short, x);
    let w = n * rest;
    let hi = h - w;
    (n, hi, (h - hi) - w)
}

/// (cosh r - 1, sinh r - r) for |r| <= ln(2)/2, lo being the second word of r (its first-order effect goes
/// into the second part).
#[inline(always)]
pub(crate) fn even_odd<V: Num>(r: V, lo: V) -> (V, V) {
    let z = r * r;
    (z * z.mul_add(poly(z, V::Scalar::EXP_EVEN), half(z)), (z * r).mul_add(poly(z, V::Scalar::EXP_ODD), lo))
}

/// e^(r + lo) as two words, relative error 2^-58 in f64; |r| <= ln(2)/2, |lo| <= ulp(r).
#[inline(always)]
pub(crate) fn exp_small<V: Num>(r: V, lo: V) -> (V, V) {
    let (even, odd) = even_odd(r, lo.mul_add(r, lo));
    let (s, e) = fast_two_sum(one(r), r);
    fast_two_sum(s, e + (even + odd))
}

/// e^r for f32 results, relative error 2^-38.
#[inline(always)]
pub(crate) fn exp_small_f32(r: f64) -> f64 {
    let z = r * r;
    let even = z.mul_add(poly(z, &EXP_EVEN_F32), 1.0);
    let odd = (z * r).mul_add(poly(z, &EXP_ODD_F32), r);
    even + odd
}

/// e^x for f32 results and |x| <= 700.
#[inline(always)]
pub(crate) fn exp_narrow_inner(x: f64) -> f64 {
    let n = x.mul_add(LOG2E_HI, MAGIC) - MAGIC;
    let r = n.mul_add(-LN2_HI, x);
    exp_small_f32(r) * pow2(n)
}

/// x limited to [lo, hi]; NaN stays.
#[inline(always)]
pub(crate) fn clamp(x: f64, lo: f64, hi: f64) -> f64 {
    let x = sel(x > hi, hi, x);
    sel(x < lo, lo, x)
}

#[inline(always)]
pub(crate) fn exp_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, r, lo) = reduce(x.at_most(x.lit(750.0)).at_least(x.lit(-750.0)));
    let (h, l) = exp_small(r, lo);
    (h + l).scale2(n)
}

#[inline(always)]
pub(crate) fn exp_single<V: Num<Scalar = f32>>(x: V) -> V {
    let c = x.at_most(x.lit(89.0)).at_least(x.lit(-104.0));
    let magic = x.lit(f32::MAGIC);
    let n = c.mul_add(x.lit(LOG2E_SINGLE), magic) - magic;
    let r = n.neg_mul_add(x.lit(LN2_REST_SINGLE), n.neg_mul_add(x.lit(LN2_SHORT_SINGLE), c));
    let (s, e) = fast_two_sum(x.lit(1.0), r);
    (s + (r * r).mul_add(poly(r, &EXP_SINGLE), e)).scale2(n)
}

kernel_of_num!(Exp, f64: exp_wide, f32: exp_single);

#[inline(always)]
fn exp2_wide(x: f64) -> f64 {
    let x = clamp(x, -1080.0, 1080.0);
    let n = (x + MAGIC) - MAGIC;
    let f = x - n;
    let r = f * LN2_HI;
    let lo = f.mul_add(LN2_LO, f.mul_add(LN2_HI, -r));
    let (h, l) = exp_small(r, lo);
    scale2(h + l, n)
}

#[inline(always)]
fn exp2_narrow(x: f64) -> f64 {
    let x = clamp(x, -300.0, 300.0);
    let n = (x + MAGIC) - MAGIC;
    exp_small_f32((x - n) * LN2_HI) * pow2(n)
}

kernel1!(Exp2, f64: exp2_wide, f32: exp2_narrow);

/// 2^n e^r - 1 = (2^n - 1) + 2^n r + 2^n r^2/2 + ..., the first three terms summed without error since the result may
/// be a quarter of them; at half size so that n = 1024 does not overflow.
#[inline(always)]
fn expm1_wide(x: f64) -> f64 {
    let (n, r, lo) = reduce(clamp(x, -60.0, 750.0));
    let z = r * r;
    let z_lo = r.mul_add(r, -z);
    let odd = (z * r).mul_add(poly(z, &EXP_ODD), lo.mul_add(r, lo));
    let rest = (z * z).mul_add(poly(z, &EXP_EVEN), z_lo.mul_add(0.5, odd));
    let n = sel(n > 1024.0, 1024.0, n);
    let p = pow2(n - 1.0);
    let (a, b) = two_sum(p, -0.5);
    let (s, e) = two_sum(a, p * r);
    let (s, f) = two_sum(s, (0.5 * p) * z);
    let y = 2.0 * (s + ((e + f) + p.mul_add(rest, b)));
    let y = sel(x.abs() < f64::EPSILON / 4.0, x, y);
    sel(x > 710.0, f64::INFINITY, y)
}

#[inline(always)]
fn expm1_narrow(x: f64) -> f64 {
    let c = clamp(x, -60.0, 200.0);
    let n = c.mul_add(LOG2E_HI, MAGIC) - MAGIC;
    let r = n.mul_add(-LN2_HI, c);
    let z = r * r;
    let m = (z * r).mul_add(poly(z, &EXP_ODD_F32), z.mul_add(poly(z, &EXP_EVEN_F32), r));
    let p = pow2(n);
    sel(x.abs() < 1e-20, x, p.mul_add(m, p - 1.0))
}

kernel1!(Expm1, f64: expm1_wide, f32: expm1_narrow);

/// e^-|x| / (1 + e^-|x|) or 1 / (1 + e^-|x|), the exponential as two words and its power of two apart.
#[inline(always)]
pub(crate) fn sigmoid<V: Num>(x: V) -> V {
    let below = zero(x) - x.abs();
    let (n, r, lo) = reduce(below.at_least(x.lit(V::Scalar::EXP_LEAST)));
    let (h, l) = exp_small(r, lo);
    let p = pow2(n.at_least(x.lit(V::Scalar::EXPONENT_LEAST)));
    let (d, e) = fast_two_sum(one(x), h * p);
    let negative = x.less(zero(x));
    let q = crate::dd::divided((V::select(negative, h, one(x)), V::select(negative, l, zero(x))), (d, l.mul_add(p, e)));
    q.scale2(V::select(negative, n, zero(x)))
}

kernel_of_num!(Sigmoid, sigmoid);

/// max(x, 0) + log(1 + e^-|x|); below -40 it is e^x to the last bit.
#[inline(always)]
fn softplus_wide(x: f64) -> f64 {
    let (n, r, lo) = reduce(clamp(-x.abs(), -750.0, 0.0));
    let (h, l) = exp_small(r, lo);
    let p = pow2(sel(n < -200.0, -200.0, n));
    let (a, b) = ln_1p(h * p, l * p);
    let base = sel(x > 0.0, x, 0.0);
    let (s, e) = two_sum(base, a);
    let y = s + (e + b);
    let y = sel(x < -40.0, scale2(h + l, n), y);
    let y = sel(x > 800.0, x, y);
    sel(x.is_nan(), x, y)
}

#[inline(always)]
fn softplus_narrow(x: f64) -> f64 {
    let e = exp_narrow_inner(clamp(-x.abs(), -200.0, 0.0));
    let u = 1.0 + e;
    let c = e - (u - 1.0);
    let y = sel(x > 0.0, x, 0.0) + (ln_f32_parts(u) + c / u);
    sel(x.is_nan(), x, y)
}

kernel1!(Softplus, f64: softplus_wide, f32: softplus_narrow);
