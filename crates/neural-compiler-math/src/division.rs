//! modulo, remainder, quotient.
//!
//! In: pairs (x, y) of f32 or f64. Out: exact results. remainder has the sign of x (C fmod), modulo that of y
//! (floored), quotient is the integer part of the true x/y (rounded once where an integer that size does not fit).
//!
//! Fast path, |x/y| < 2^52: q = trunc(x/y) is right or one too large in magnitude, where the quotient rounded up
//! to an integer; x - q y is then a multiple of the smaller ULP below |y|, hence exact in one fused operation, and
//! its sign tells which. The rest (huge quotients, zeros, infinities, NaN) goes through integer long division.

use crate::bits::{sel, sign_bit, xor_sign};
use crate::dispatch::{Map2, f32_by_f64_2};

const QUOTIENT_LIMIT: f64 = 4503599627370496.0;

/// (remainder of |x| by |y|, quotient) for a usual pair.
#[inline(always)]
fn divide(a: f64, b: f64) -> (f64, f64) {
    let q = (a / b).trunc();
    let r = (-q).mul_add(b, a);
    let over = r < 0.0;
    (sel(over, r + b, r), sel(over, q - 1.0, q))
}

#[inline(always)]
fn unusual(x: f64, y: f64) -> bool {
    let usual = ((x / y).abs() < QUOTIENT_LIMIT) & (y.abs() < f64::INFINITY);
    !usual
}

/// Mantissa and exponent of a positive finite number: m 2^e.
fn parts(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let e = (bits >> 52) as i32;
    let m = bits & ((1 << 52) - 1);
    if e == 0 { (m, -1074) } else { (m | (1 << 52), e - 1075) }
}

/// m 2^e where the result is exact.
fn exact(m: u64, e: i32) -> f64 {
    let p = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    let half = e / 2;
    m as f64 * p(half) * p(e - half)
}

/// |x| mod |y| for finite x and y, y not zero.
#[inline(never)]
fn long_remainder(a: f64, b: f64) -> f64 {
    if a < b {
        return a;
    }
    let (mut m, mut e) = parts(a);
    let (n, f) = parts(b);
    m %= n;
    while e > f && m != 0 {
        // m < 2^53: up to 64 places at once in 128 bits
        let step = (e - f).min(64);
        m = (((m as u128) << step) % n as u128) as u64;
        e -= step;
    }
    if m == 0 { 0.0 } else { exact(m, f) }
}

/// fmod for the unusual pairs.
fn slow_remainder(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return f64::NAN;
    }
    if y.is_infinite() {
        return x;
    }
    xor_sign(long_remainder(x.abs(), y.abs()), sign_bit(x))
}

/// x - y trunc(x/y).
pub(crate) struct Remainder;

impl Map2<f64> for Remainder {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        xor_sign(divide(x.abs(), y.abs()).0, sign_bit(x))
    }
    #[inline(always)]
    fn rare(x: f64, y: f64) -> bool {
        unusual(x, y)
    }
    #[inline(never)]
    fn slow(x: f64, y: f64) -> f64 {
        slow_remainder(x, y)
    }
}
f32_by_f64_2!(Remainder);

/// x - y floor(x/y): the truncated remainder r, or r + y where the signs differ (rounded once: the exact value may
/// have no floating-point number); a zero takes the sign of y.
pub(crate) struct Modulo;

macro_rules! modulo {
    ($t:ty) => {
        impl Map2<$t> for Modulo {
            #[inline(always)]
            fn fast(x: $t, y: $t) -> $t {
                let r = <Remainder as Map2<$t>>::fast(x, y);
                let differ = r.is_sign_negative() != y.is_sign_negative();
                let moved = if differ { r + y } else { r };
                let zero = (0.0 as $t).copysign(y);
                if r == 0.0 { zero } else { moved }
            }
            #[inline(always)]
            fn rare(x: $t, y: $t) -> bool {
                unusual(x as f64, y as f64)
            }
            #[inline(never)]
            fn slow(x: $t, y: $t) -> $t {
                let r = <Remainder as Map2<$t>>::slow(x, y);
                if r == 0.0 {
                    (0.0 as $t).copysign(y)
                } else if r.is_sign_negative() != y.is_sign_negative() {
                    r + y
                } else {
                    r
                }
            }
        }
    };
}
modulo!(f32);
modulo!(f64);

/// trunc(x/y), from the exact quotient.
pub(crate) struct Quotient;

/// The leading bits of a/b as (integer, exponent), the integer holding at least 63 bits or all of trunc(a/b).
fn long_quotient(a: f64, b: f64) -> (u128, i32) {
    let (mut m, mut e) = parts(a);
    let (mut n, mut f) = parts(b);
    let shift = m.leading_zeros() - 11;
    (m, e) = (m << shift, e - shift as i32);
    let shift = n.leading_zeros() - 11;
    (n, f) = (n << shift, f - shift as i32);
    let distance = e - f;
    if distance <= 64 {
        return (((m as u128) << distance.max(0)) / n as u128, 0);
    }
    let wide = (m as u128) << 64;
    let (q, r) = (wide / n as u128, wide % n as u128);
    (q | (r != 0) as u128, distance - 64)
}

/// The unusual quotients that are not a ratio of usual numbers.
fn quotient_edges(x: f64, y: f64) -> Option<f64> {
    if !x.is_finite() || !y.is_finite() || y == 0.0 { Some((x / y).trunc()) } else { None }
}

impl Map2<f64> for Quotient {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        xor_sign(divide(x.abs(), y.abs()).1, sign_bit(x) ^ sign_bit(y))
    }
    #[inline(always)]
    fn rare(x: f64, y: f64) -> bool {
        unusual(x, y)
    }
    #[inline(never)]
    fn slow(x: f64, y: f64) -> f64 {
        if let Some(q) = quotient_edges(x, y) {
            return q;
        }
        let (q, e) = long_quotient(x.abs(), y.abs());
        // a quotient beyond 2^1024 overflows in the second product
        let e1 = e.min(900);
        let e2 = (e - e1).min(1000);
        let p = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
        xor_sign(q as f64 * p(e1) * p(e2), sign_bit(x) ^ sign_bit(y))
    }
}

impl Map2<f32> for Quotient {
    #[inline(always)]
    fn fast(x: f32, y: f32) -> f32 {
        <Self as Map2<f64>>::fast(x as f64, y as f64) as f32
    }
    #[inline(always)]
    fn rare(x: f32, y: f32) -> bool {
        unusual(x as f64, y as f64)
    }
    #[inline(never)]
    fn slow(x: f32, y: f32) -> f32 {
        let (x, y) = (x as f64, y as f64);
        if let Some(q) = quotient_edges(x, y) {
            return q as f32;
        }
        // rounded to f32 straight from the integer, then scaled in f64 (exact) and range-checked by the cast
        let (q, e) = long_quotient(x.abs(), y.abs());
        let p = f64::from_bits(((1023 + e.min(900)) as u64) << 52);
        xor_sign(q as f32 as f64 * p, sign_bit(x) ^ sign_bit(y)) as f32
    }
}
