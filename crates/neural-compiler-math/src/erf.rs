//! erf.
//!
//! In: any f32 or f64. Out: erf within 1 ULP.
//!
//! |x| <= 1: x + x P(x^2), |P| <= 0.16, so the roundings in P cost 0.25 ULP at most: 0.75 ULP. Above:
//! 1 - e^(-x^2) Q(v), v = (x-2)/(x+2); the subtracted value is at most 0.16 and keeps a second word for
//! x^2, the exponential and the product: 0.65 ULP. From 6 on erf is 1 to the last bit.

use crate::bits::{poly, pow2, sel, sign_bit, xor_sign};
use crate::coefficients::*;
use crate::dispatch::kernel1;
use crate::exp::{clamp, exp_narrow_inner, exp_small, reduce};

#[inline(always)]
fn erf_wide(x: f64) -> f64 {
    let a = clamp(x.abs(), 0.0, 6.0);
    let z = a * a;
    let z_lo = a.mul_add(a, -z);
    let near = a.mul_add(poly(z, &ERF), a);
    let (n, r, lo) = reduce(-z);
    let (h, l) = exp_small(r, lo - z_lo);
    let p = pow2(n);
    let (h, l) = (h * p, l * p);
    let v = (a - 2.0) / (a + 2.0);
    let q = poly(v, &ERFC);
    let t = h * q;
    let t_lo = h.mul_add(q, -t) + l * q;
    let s = 1.0 - t;
    let e = (1.0 - s) - t;
    let far = s + (e - t_lo);
    let y = sel(a <= 1.0, near, far);
    xor_sign(sel(x.is_nan(), x, y), sign_bit(x))
}

#[inline(always)]
fn erf_narrow(x: f64) -> f64 {
    let a = clamp(x.abs(), 0.0, 4.0);
    let z = a * a;
    let near = a.mul_add(poly(z, &ERF_F32), a);
    let q = poly((a - 2.0) / (a + 2.0), &ERFC_F32);
    let far = (-exp_narrow_inner(-z)).mul_add(q, 1.0);
    let y = sel(a <= 1.0, near, far);
    xor_sign(sel(x.is_nan(), x, y), sign_bit(x))
}

kernel1!(Erf, f64: erf_wide, f32: erf_narrow);
