//! sinh, cosh, tanh.
//!
//! In: any f32 or f64. Out: the function within 1 ULP.
//!
//! |x| = n ln 2 + r; with A = (2^n + 2^-n)/2 and B = (2^n - 2^-n)/2: sinh = A sinh r + B cosh r and
//! cosh = A cosh r + B sinh r, so one pair of polynomials serves both and nothing cancels. The leading terms
//! (B + A r, A + B r) are summed without error, the rest is below 15% of the result: 0.8 ULP. Beyond n = 200 the
//! power of two is put on at the end, so only true overflow overflows. tanh divides e^2x - 1 by e^2x + 1, two words
//! each, and above 5, where they would differ too little, it is 1 - 2/(e^2x + 1): 0.84 ULP.
//!
//! sinh of an f32 does the same in f64. tanh and cosh, which training needs, stay in f32, where a vector holds twice as
//! many lanes: 0.95 and 0.88 ULP.

use crate::coefficients::*;
use crate::dd::{divided_by, fast_two_sum, two_prod};
use crate::dispatch::{kernel_of_num, kernel1};
use crate::exp::{even_odd, reduce, reduce_f32, reduce_single};
use crate::num::{Num, clamp, one, poly, pow2, sign_of, two, zero};

/// (sinh, cosh) of x in [0, 720] as two words each, divided by 2^(the third value).
#[inline(always)]
fn sinh_cosh<V: Num<Scalar = f64>>(x: V) -> ((V, V), (V, V), V) {
    let (n, r, lo) = reduce(x);
    let (even, odd) = even_odd(r, lo);
    let k = n.at_most(x.lit(200.0));
    let (up, down) = (pow2(k - one(x)), pow2(zero(x) - one(x) - k));
    let (a, a_lo) = fast_two_sum(up, down);
    let (b, b_lo) = fast_two_sum(up, zero(x) - down);
    let (ar, ar_lo) = two_prod(a, r);
    let (br, br_lo) = two_prod(b, r);
    let (s, se) = fast_two_sum(b, ar);
    let s_lo = se + (b.mul_add(even, a * odd) + (a_lo.mul_add(r, ar_lo) + b_lo));
    let (c, ce) = fast_two_sum(a, br);
    let c_lo = ce + (a.mul_add(even, b * odd) + (b_lo.mul_add(r, br_lo) + a_lo));
    ((s, s_lo), (c, c_lo), n - k)
}

#[inline(always)]
pub(crate) fn sinh_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (s, _, n) = sinh_cosh(clamp(x.abs(), 0.0, 720.0));
    (s.0 + s.1).scale2(n).xor_bits(sign_of(x))
}

#[inline(always)]
pub(crate) fn cosh_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (_, c, n) = sinh_cosh(clamp(x.abs(), 0.0, 720.0));
    (c.0 + c.1).scale2(n)
}

/// (e^2x - 1) / (e^2x + 1): both from one exponential 2^n e^r, whose products with 2^n are exact.
#[inline(always)]
pub(crate) fn tanh_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let a = x.abs().at_most(x.lit(22.0));
    let (n, r, lo) = reduce(a + a);
    let (even, odd) = even_odd(r, lo.mul_add(r, lo));
    let k = pow2(n);
    let kr = k * r;
    let (s, s_lo) = fast_two_sum(k - one(x), kr);
    let (c, c_lo) = fast_two_sum(k + one(x), kr);
    let s = fast_two_sum(s, k.mul_add(even, k.mul_add(odd, s_lo)));
    let c = fast_two_sum(c, k.mul_add(even, k.mul_add(odd, c_lo)));
    let inverse = one(x) / c.0;
    let far = two(x).neg_mul_add(inverse, one(x));
    V::select(x.lit(5.0).less(a), far, divided_by(s, c, inverse)).xor_bits(sign_of(x))
}

/// x + x^3 P(x^2) near 0, 1 - 2 / (e^2x + 1) beyond, where the roundings of the quotient count a third.
#[inline(always)]
pub(crate) fn tanh_single<V: Num<Scalar = f32>>(x: V) -> V {
    let (a, z) = (x.abs(), x * x);
    let near = (z * poly(z, &TANH_SINGLE)).mul_add(a, a);
    let limited = a.at_most(x.lit(10.0));
    let (n, r) = reduce_single(limited + limited);
    let k = pow2(n);
    let far = one(x) - two(x) / (r * r).mul_add(poly(r, &EXP_SINGLE), r).mul_add(k, k + one(x));
    V::select(a.less(x.lit(NEAR_TANH)), near, far).xor_bits(sign_of(x))
}

/// (e^x + e^-x) / 2 with e^x in two words.
#[inline(always)]
pub(crate) fn cosh_single<V: Num<Scalar = f32>>(x: V) -> V {
    let (n, r) = reduce_single(x.abs().at_most(x.lit(100.0)));
    let (s, e) = fast_two_sum(one(x), r);
    let (h, l) = fast_two_sum(s, (r * r).mul_add(poly(r, &EXP_SINGLE), e));
    // beyond this e^-x is too small to count
    let down = pow2(zero(x) - (n + n).at_most(x.lit(120.0)));
    (h + (one(x) / h).mul_add(down, l)).scale2(n - one(x))
}

#[inline(always)]
pub(crate) fn sinh_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, r) = reduce_f32(clamp(x.abs(), 0.0, 200.0));
    let z = r * r;
    let c = z.mul_add(poly(z, &EXP_EVEN_F32), one(x));
    let s = (z * r).mul_add(poly(z, &EXP_ODD_F32), r);
    let (up, down) = (pow2(n - one(x)), pow2(x.lit(-1.0) - n));
    (up + down).mul_add(s, (up - down) * c).xor_bits(sign_of(x))
}

kernel1!(Sinh, f64: sinh_wide, f32: sinh_narrow);
kernel_of_num!(Cosh, f64: cosh_wide, f32: cosh_single);
kernel_of_num!(Tanh, f64: tanh_wide, f32: tanh_single);
