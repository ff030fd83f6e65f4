//! sqrt, cbrt, square.
//!
//! In: any f32 or f64. Out: sqrt and square correctly rounded by the hardware; cbrt within 0.51 ULP.
//!
//! cbrt: |x| = 8^q m, 1 <= m < 8; a polynomial starts w = m^(-1/3) at 2^-7, two fourth-order steps bring it to
//! 2^-52, and y = m w^2 gets a last correction from the exact residual m - y^3.

use crate::bits::{MAGIC, poly, pow2, sel, sign_bit, xor_sign};
use crate::coefficients::CBRT;
use crate::dd::two_prod;
use crate::dispatch::{Map1, kernel1};

/// (q, m, w): |x| = 8^q m and w = m^(-1/3) within 2^-28 (or 2^-52 after a second step).
#[inline(always)]
fn start(a: f64) -> (f64, f64, f64) {
    let tiny = a < f64::MIN_POSITIVE;
    let a = sel(tiny, a * 18014398509481984.0, a);
    let bits = a.to_bits();
    let k = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - (4503599627370496.0 + 1023.0);
    let q = (k - 1.0).mul_add(1.0 / 3.0, MAGIC) - MAGIC;
    let m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52)) * pow2((-3.0f64).mul_add(q, k));
    let w = step(m, poly(m, &CBRT));
    (sel(tiny, q - 18.0, q), m, w)
}

/// One fourth-order step towards m^(-1/3).
#[inline(always)]
fn step(m: f64, w: f64) -> f64 {
    let e = (-(m * w)).mul_add(w * w, 1.0);
    let p = poly(e, &[1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0]);
    (w * e).mul_add(p, w)
}

/// 0, infinity and NaN are their own cube roots.
#[inline(always)]
fn edges(x: f64, y: f64) -> f64 {
    let a = x.abs();
    sel(a > 0.0 && a < f64::INFINITY, xor_sign(y, sign_bit(x)), x)
}

#[inline(always)]
fn cbrt_wide(x: f64) -> f64 {
    let (q, m, w) = start(x.abs());
    let w = step(m, w);
    let y = m * (w * w);
    let (s, s_lo) = two_prod(y, y);
    let (c, c_lo) = two_prod(s, y);
    let rem = (m - c) - s_lo.mul_add(y, c_lo);
    let y = (rem * (w * w)).mul_add(1.0 / 3.0, y);
    edges(x, y * pow2(q))
}

#[inline(always)]
fn cbrt_narrow(x: f64) -> f64 {
    let (q, m, w) = start(x.abs());
    let y = m * (w * w);
    let rem = (-(y * y)).mul_add(y, m);
    let y = (rem * (w * w)).mul_add(1.0 / 3.0, y);
    edges(x, y * pow2(q))
}

kernel1!(Cbrt, f64: cbrt_wide, f32: cbrt_narrow);

/// Square root.
pub(crate) struct Sqrt;
/// x * x.
pub(crate) struct Square;

macro_rules! hardware {
    ($t:ty) => {
        impl Map1<$t> for Sqrt {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast(x: $t) -> $t {
                let y = x.sqrt();
                // The compiler knows that a root is NaN just where its argument is negative or NaN, and takes the hardware's NaN,
                // whose sign and payload vary, for as good as the canonical one. It does not see through the bits.
                let magnitude = y.to_bits() & (<$t>::MAX.to_bits() | <$t>::INFINITY.to_bits());
                if magnitude > <$t>::INFINITY.to_bits() { <$t>::NAN } else { y }
            }
        }
        impl Map1<$t> for Square {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast(x: $t) -> $t {
                x * x
            }
        }
    };
}
hardware!(f32);
hardware!(f64);
