//! sqrt, cbrt, square.
//!
//! In: any f32 or f64. Out: sqrt and square correctly rounded by the hardware; cbrt within 0.51 ULP.
//!
//! cbrt: |x| = 8^q m, 1 <= m < 8; a polynomial starts w = m^(-1/3) at 2^-7, two fourth-order steps bring it to
//! 2^-52, and y = m w^2 gets a last correction from the exact residual m - y^3.

use crate::bits::MAGIC;
use crate::coefficients::CBRT;
use crate::dd::two_prod;
use crate::dispatch::{Map1, kernel1};
use crate::num::{Num, one, poly, pow2, sign_of, zero};

/// (q, m, w): |x| = 8^q m and w = m^(-1/3) within 2^-28 (or 2^-52 after a second step).
#[inline(always)]
fn start<V: Num<Scalar = f64>>(a: V) -> (V, V, V) {
    let tiny = a.less(a.lit(f64::MIN_POSITIVE));
    let a = V::select(tiny, a * a.lit(18014398509481984.0), a);
    let k = a.shift_right(52).or_bits(a.lit_bits(0x4330_0000_0000_0000)) - a.lit(4503599627370496.0 + 1023.0);
    let magic = a.lit(MAGIC);
    let q = (k - one(a)).mul_add(a.lit(1.0 / 3.0), magic) - magic;
    let digits = a.and_bits(a.lit_bits((1 << 52) - 1)).or_bits(one(a));
    let m = digits * pow2(q.mul_add(a.lit(-3.0), k));
    let w = step(m, poly(m, &CBRT));
    (V::select(tiny, q - a.lit(18.0), q), m, w)
}

/// One fourth-order step towards m^(-1/3).
#[inline(always)]
fn step<V: Num<Scalar = f64>>(m: V, w: V) -> V {
    let e = (m * w).neg_mul_add(w * w, one(m));
    let p = poly(e, &[1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0]);
    (w * e).mul_add(p, w)
}

/// 0, infinity and NaN are their own cube roots.
#[inline(always)]
fn edges<V: Num<Scalar = f64>>(x: V, y: V) -> V {
    let a = x.abs();
    let usual = V::both(zero(a).less(a), a.less(a.lit(f64::INFINITY)));
    V::select(usual, y.xor_bits(sign_of(x)), x)
}

#[inline(always)]
pub(crate) fn cbrt_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (q, m, w) = start(x.abs());
    let w = step(m, w);
    let y = m * (w * w);
    let (s, s_lo) = two_prod(y, y);
    let (c, c_lo) = two_prod(s, y);
    let rem = (m - c) - s_lo.mul_add(y, c_lo);
    let y = (rem * (w * w)).mul_add(x.lit(1.0 / 3.0), y);
    edges(x, y * pow2(q))
}

#[inline(always)]
pub(crate) fn cbrt_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (q, m, w) = start(x.abs());
    let y = m * (w * w);
    let rem = (y * y).neg_mul_add(y, m);
    let y = (rem * (w * w)).mul_add(x.lit(1.0 / 3.0), y);
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
