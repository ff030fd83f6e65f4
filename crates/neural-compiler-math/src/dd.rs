//! Double-double helpers: error-free sums and products.
//!
//! In: f64 values, or any `Num`. Out: pairs `(hi, lo)` whose unevaluated sum is the exact result (or, where the text says
//! so, the result within 2^-104 relative). Everything is branch-free and vectorises; products use `mul_add`,
//! whose single rounding is the same at every SIMD level.

use crate::num::{Num, one};

/// `a + b` exactly: `hi` is the rounded sum, `lo` what the rounding dropped (Knuth; any order of magnitudes).
#[inline(always)]
pub fn two_sum<V: Num>(a: V, b: V) -> (V, V) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// `a - b` exactly, likewise.
#[inline(always)]
pub fn two_difference<V: Num>(a: V, b: V) -> (V, V) {
    let s = a - b;
    let t = s - a;
    (s, (a - (s - t)) - (b + t))
}

/// `a + b` exactly when `|a| >= |b|` or `a == 0` (Dekker): two operations fewer than [`two_sum`].
#[inline(always)]
pub fn fast_two_sum<V: Num>(a: V, b: V) -> (V, V) {
    let s = a + b;
    (s, b - (s - a))
}

/// `a - b` exactly under the same condition.
#[inline(always)]
pub fn fast_two_difference<V: Num>(a: V, b: V) -> (V, V) {
    let s = a - b;
    (s, (a - s) - b)
}

/// `a * b` exactly, barring underflow.
#[inline(always)]
pub fn two_prod<V: Num>(a: V, b: V) -> (V, V) {
    let p = a * b;
    (p, a.mul_sub(b, p))
}

/// `a * a` exactly, barring underflow.
#[inline(always)]
pub fn two_square(a: f64) -> (f64, f64) {
    two_prod(a, a)
}

/// Sum of two double-doubles, relative error below 2^-103 without cancellation.
#[inline(always)]
pub fn add(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let (s, e) = two_sum(a.0, b.0);
    let (t, f) = two_sum(a.1, b.1);
    let (s, e) = fast_two_sum(s, e + t);
    fast_two_sum(s, e + f)
}

/// Product of two double-doubles, relative error below 2^-101.
#[inline(always)]
pub fn mul(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let (p, e) = two_prod(a.0, b.0);
    fast_two_sum(p, e + a.0.mul_add(b.1, a.1 * b.0))
}

/// Quotient of two pairs rounded to one number, in f64 within 0.5 ULP + 2^-50; the divisor must be finite, not zero, and its reciprocal
/// must not overflow.
#[inline(always)]
pub fn divided<V: Num>(n: (V, V), d: (V, V)) -> V {
    divided_by(n, d, one(d.0) / d.0)
}

/// The same, the reciprocal of the divisor's first word being known.
#[inline(always)]
pub fn divided_by<V: Num>(n: (V, V), d: (V, V), inverse: V) -> V {
    let q = n.0 * inverse;
    let rem = q.neg_mul_add(d.0, n.0) + q.neg_mul_add(d.1, n.1);
    rem.mul_add(inverse, q)
}

/// Square root of a double-double `a >= 0`, rounded to one f64 (0 for 0, inf for inf).
#[inline(always)]
pub fn sqrt_to_f64(a: (f64, f64)) -> f64 {
    let s = a.0.sqrt();
    let rem = (-s).mul_add(s, a.0) + a.1;
    let y = s + rem / (2.0 * s);
    if s > 0.0 && s < f64::INFINITY { y } else { s }
}
