//! erf.
//!
//! In: any f32 or f64. Out: erf within 1 ULP.
//!
//! |x| <= 1: x + x (c + x^2 P(x^2)), |P| <= 0.38, every product and sum outside P with its error, so only the
//! roundings inside P count, 0.4 ULP at most: 0.9 ULP. Above: 1 - e^(-x^2) Q(v), v = (x-2)/(x+2); the subtracted
//! value is at most 0.16 and keeps a second word for x^2, the exponential and the product: 0.9 ULP. From 6 on erf is 1 to the last bit.

use crate::coefficients::*;
use crate::dd::{fast_two_sum, two_sum};
use crate::dispatch::kernel1;
use crate::exp::{exp_narrow_inner, exp_small, reduce};
use crate::num::{Num, clamp, one, opposite, poly, pow2, sign_of, two, unless_nan};

#[inline(always)]
pub(crate) fn erf_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let a = clamp(x.abs(), 0.0, 6.0);
    let z = a * a;
    let z_lo = a.mul_sub(a, z);
    let p = poly(z, &ERF);
    let b = z * p;
    let b_lo = z_lo.mul_add(p, z.mul_sub(p, b));
    let (c, c_lo) = two_sum(x.lit(ERF_0_HI), b);
    let c_lo = c_lo + z.mul_add(x.lit(ERF_1_LO), x.lit(ERF_0_LO) + b_lo);
    let d = a * c;
    let d_lo = a.mul_add(c_lo, a.mul_sub(c, d));
    let (s, e) = fast_two_sum(a, d);
    let near = s + (e + d_lo);
    let (n, r, lo) = reduce(opposite(z));
    let (h, l) = exp_small(r, lo - z_lo);
    let p = pow2(n);
    let (h, l) = (h * p, l * p);
    let v = (a - two(a)) / (a + two(a));
    let q = poly(v, &ERFC);
    let t = h * q;
    let t_lo = h.mul_sub(q, t) + l * q;
    let s = one(x) - t;
    let e = (one(x) - s) - t;
    let far = s + (e - t_lo);
    let y = V::select(one(x).less(a), far, near);
    unless_nan(x, y).xor_bits(sign_of(x))
}

#[inline(always)]
pub(crate) fn erf_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let a = clamp(x.abs(), 0.0, 4.0);
    let z = a * a;
    let near = a.mul_add(poly(z, &ERF_F32), a);
    let q = poly((a - two(a)) / (a + two(a)), &ERFC_F32);
    let far = exp_narrow_inner(opposite(z)).neg_mul_add(q, one(x));
    let y = V::select(one(x).less(a), far, near);
    unless_nan(x, y).xor_bits(sign_of(x))
}

kernel1!(Erf, f64: erf_wide, f32: erf_narrow);
