//! sinh, cosh, tanh.
//!
//! In: any f32 or f64. Out: the function within 1 ULP.
//!
//! |x| = n ln 2 + r; with A = (2^n + 2^-n)/2 and B = (2^n - 2^-n)/2: sinh = A sinh r + B cosh r and
//! cosh = A cosh r + B sinh r, so one pair of polynomials serves both and nothing cancels. The leading terms
//! (B + A r, A + B r) are summed without error, the rest is below 15% of the result: 0.8 ULP; tanh divides the
//! two pairs: 0.8 ULP, and above 5, where they would differ too little, it is 1 - e^-x/cosh(x). Beyond n = 200 the
//! power of two is put on at the end, so only true overflow overflows. tanh of an f32 is the same kernel in f32: 0.8 ULP.

use crate::coefficients::*;
use crate::dd::{divided_by, fast_two_sum, two_prod};
use crate::dispatch::{kernel_of_num, kernel1};
use crate::exp::{even_odd, reduce, reduce_f32};
use crate::num::{Layout, Num, clamp, one, poly, pow2, sign_of, two, zero};

/// (sinh, cosh) of x in [0, 720] as two words each, divided by 2^(the third value); and e^-x in plain f64.
#[inline(always)]
#[allow(clippy::type_complexity, reason = "two pairs of words")]
fn sinh_cosh<V: Num>(x: V) -> ((V, V), (V, V), V, V) {
    let (n, r, lo) = reduce(x);
    let (even, odd) = even_odd(r, lo);
    let k = n.at_most(zero(x) - x.lit(V::Scalar::EXPONENT_LEAST));
    let (up, down) = (pow2(k - one(x)), pow2(zero(x) - one(x) - k));
    let (a, a_lo) = fast_two_sum(up, down);
    let (b, b_lo) = fast_two_sum(up, zero(x) - down);
    let (ar, ar_lo) = two_prod(a, r);
    let (br, br_lo) = two_prod(b, r);
    let (s, se) = fast_two_sum(b, ar);
    let s_lo = se + (b.mul_add(even, a * odd) + (a_lo.mul_add(r, ar_lo) + b_lo));
    let (c, ce) = fast_two_sum(a, br);
    let c_lo = ce + (a.mul_add(even, b * odd) + (b_lo.mul_add(r, br_lo) + a_lo));
    let inverse = (two(x) * down) * ((one(x) - r) + (even - odd));
    ((s, s_lo), (c, c_lo), n - k, inverse)
}

#[inline(always)]
pub(crate) fn sinh_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (s, _, n, _) = sinh_cosh(clamp(x.abs(), 0.0, 720.0));
    (s.0 + s.1).scale2(n).xor_bits(sign_of(x))
}

#[inline(always)]
pub(crate) fn cosh_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (_, c, n, _) = sinh_cosh(clamp(x.abs(), 0.0, 720.0));
    (c.0 + c.1).scale2(n)
}

#[inline(always)]
pub(crate) fn tanh<V: Num>(x: V) -> V {
    let [most, middle] = V::Scalar::TANH.map(|c| x.lit(c));
    let (s, c, _, down) = sinh_cosh(x.abs().at_most(most));
    let s = fast_two_sum(s.0, s.1);
    let c = fast_two_sum(c.0, c.1);
    let inverse = one(x) / c.0;
    let near = divided_by(s, c, inverse);
    let far = down.neg_mul_add(inverse, one(x));
    V::select(middle.less(x.abs()), far, near).xor_bits(sign_of(x))
}

/// (sinh, cosh) of x in [0, 200] for f32 results.
#[inline(always)]
fn sinh_cosh_f32<V: Num<Scalar = f64>>(x: V) -> (V, V) {
    let (n, r) = reduce_f32(x);
    let z = r * r;
    let c = z.mul_add(poly(z, &EXP_EVEN_F32), one(x));
    let s = (z * r).mul_add(poly(z, &EXP_ODD_F32), r);
    let (up, down) = (pow2(n - one(x)), pow2(x.lit(-1.0) - n));
    let (a, b) = (up + down, up - down);
    (a.mul_add(s, b * c), a.mul_add(c, b * s))
}

#[inline(always)]
pub(crate) fn sinh_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    sinh_cosh_f32(clamp(x.abs(), 0.0, 200.0)).0.xor_bits(sign_of(x))
}

#[inline(always)]
pub(crate) fn cosh_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    sinh_cosh_f32(clamp(x.abs(), 0.0, 200.0)).1
}

kernel1!(Sinh, f64: sinh_wide, f32: sinh_narrow);
kernel1!(Cosh, f64: cosh_wide, f32: cosh_narrow);
kernel_of_num!(Tanh, tanh);
