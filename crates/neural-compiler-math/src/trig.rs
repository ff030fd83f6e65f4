//! sin, cos, tan.
//!
//! In: any f32 or f64; infinities give NaN. Out: the function within 1 ULP.
//!
//! x = n pi/2 + r with |r| <= pi/4, r as two words. Up to 2^30 the reduction subtracts n times a three-word
//! pi/2: x - n PIO2_HI is exact (a multiple of 2^-53 below 1), the rest carries two words, error 2^-130, while no
//! f64 comes closer to a multiple of pi/2 than 2^-62. Beyond 2^30 (rare) the slow path multiplies the mantissa
//! by the right 256 bits of 2/pi (Payne and Hanek). The polynomials leave 2^-58 and only terms below 0.08 are
//! rounded, up to three times: 0.76 ULP; tan divides two such pairs: 0.95 ULP. The sine and the cosine of an f32
//! are computed in f32, 0.8 ULP, up to 6433, beyond that and for tan in f64: 0.501 ULP.

use crate::bits::MAGIC;
use crate::coefficients::*;
use crate::dd::{divided, fast_two_sum, two_difference, two_prod};
use crate::dispatch::Map1;
use crate::num::{Layout, Num, poly, sign_of};
pub(crate) use crate::reduce::reduce_large;

/// Arguments above this take the slow path.
pub(crate) const LIMIT: f64 = 1073741824.0;

/// The same for f32: 2^12 quarters of a turn.
pub(crate) const LIMIT_SINGLE: f32 = 6433.0;

/// (a number with the quadrant in its low bits, r, second word of r) for 0 <= x <= 2^30.
#[inline(always)]
pub(crate) fn reduce<V: Num<Scalar = f64>>(x: V) -> (V, V, V) {
    let t = x.mul_add(x.lit(TWO_OVER_PI_HI), x.lit(MAGIC));
    let n = t - x.lit(MAGIC);
    let r = n.neg_mul_add(x.lit(PIO2_HI), x);
    let (p, pe) = two_prod(n, x.lit(PIO2_LO));
    let (h, e) = two_difference(r, p);
    (t, h, n.neg_mul_add(x.lit(PIO2_LO2), e - pe))
}

/// The same for f32 up to 6433 (n <= 2^12), in f32. x - n HI is exact as above. MID has 10 bits, so that n MID is exact too, and so is
/// what h dropped: either |r| is more than twice n MID, or all of them are multiples of 2^-35 below 2^-11.
#[inline(always)]
fn reduce_single<V: Num<Scalar = f32>>(x: V) -> (V, V, V) {
    let t = x.mul_add(x.lit(TWO_OVER_PI_SINGLE), x.lit(f32::MAGIC));
    let n = t - x.lit(f32::MAGIC);
    let r = n.neg_mul_add(x.lit(PIO2_HI_SINGLE), x);
    let h = n.neg_mul_add(x.lit(PIO2_MID_SINGLE), r);
    let lo = n.neg_mul_add(x.lit(PIO2_MID_SINGLE), r - h);
    (t, h, n.neg_mul_add(x.lit(PIO2_LO_SINGLE), lo))
}

/// sin(r + lo) = a + b, a the larger.
#[inline(always)]
fn sin_parts<V: Num<Scalar = f64>>(r: V, lo: V) -> (V, V) {
    let z = r * r;
    let tail = (z * z.lit(-0.5)).mul_add(lo, lo);
    (r, (z * r).mul_add(poly(z, &SIN), tail))
}

/// cos(r + lo) = a + b, a the larger.
#[inline(always)]
fn cos_parts<V: Num<Scalar = f64>>(r: V, lo: V) -> (V, V) {
    let (z, ze) = two_prod(r, r);
    let half = z * z.lit(0.5);
    let one = z.lit(1.0);
    let w = one - half;
    let e = (one - w) - half;
    let low = r.mul_add(lo, ze * z.lit(0.5));
    (w, e + (z * z).mul_sub(poly(z, &COS), low))
}

/// The same in f32; what is left out of the corrections costs 0.15 ULP.
#[inline(always)]
fn sin_parts_single<V: Num<Scalar = f32>>(r: V, lo: V) -> (V, V) {
    let z = r * r;
    (r, (z * r).mul_add(poly(z, &SIN_SINGLE), lo))
}

/// The same in f32; the rounding of z costs 0.25 ULP.
#[inline(always)]
fn cos_parts_single<V: Num<Scalar = f32>>(r: V, lo: V) -> (V, V) {
    let z = r * r;
    let half = z * z.lit(0.5);
    let one = z.lit(1.0);
    let w = one - half;
    let e = (one - w) - half;
    (w, (z * z).mul_add(poly(z, &COS_SINGLE), r.neg_mul_add(lo, e)))
}

/// The sine of n pi/2 + r where the low bits of q say n, with another sign where `sign` has one.
#[inline(always)]
fn in_quadrant<V: Num>(q: V, sine: (V, V), cosine: (V, V), sign: V) -> V {
    let bits = V::Scalar::BITS;
    let odd = odd(q);
    let y = V::select(odd, cosine.0, sine.0) + V::select(odd, cosine.1, sine.1);
    let flip = q.shift_left(bits - 2).and_bits(q.lit_bits(1 << (bits - 1)));
    y.xor_bits(flip.xor_bits(sign))
}

/// q + 1: the cosine is the sine a quarter further.
#[inline(always)]
fn next_quadrant<V: Num>(q: V) -> V {
    q.add_bits(q.lit_bits(1))
}

/// Sine of a reduced argument.
#[inline(always)]
pub(crate) fn sin_from<V: Num<Scalar = f64>>(q: V, r: V, lo: V, sign: V) -> V {
    in_quadrant(q, sin_parts(r, lo), cos_parts(r, lo), sign)
}

/// Cosine of a reduced argument.
#[inline(always)]
pub(crate) fn cos_from<V: Num<Scalar = f64>>(q: V, r: V, lo: V) -> V {
    sin_from(next_quadrant(q), r, lo, q.lit(0.0))
}

/// Sine for |x| <= [`LIMIT`].
#[inline(always)]
pub(crate) fn sin_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (q, r, lo) = reduce(x.abs());
    sin_from(q, r, lo, sign_of(x))
}

/// Cosine for |x| <= [`LIMIT`].
#[inline(always)]
pub(crate) fn cos_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (q, r, lo) = reduce(x.abs());
    cos_from(q, r, lo)
}

/// Sine for |x| <= [`LIMIT_SINGLE`].
#[inline(always)]
pub(crate) fn sin_single<V: Num<Scalar = f32>>(x: V) -> V {
    let (q, r, lo) = reduce_single(x.abs());
    in_quadrant(q, sin_parts_single(r, lo), cos_parts_single(r, lo), sign_of(x))
}

/// Cosine for |x| <= [`LIMIT_SINGLE`].
#[inline(always)]
pub(crate) fn cos_single<V: Num<Scalar = f32>>(x: V) -> V {
    let (q, r, lo) = reduce_single(x.abs());
    in_quadrant(next_quadrant(q), sin_parts_single(r, lo), cos_parts_single(r, lo), x.lit(0.0))
}

/// Where the quadrant is odd.
#[inline(always)]
fn odd<V: Num>(q: V) -> V::Mask {
    q.shift_left(V::Scalar::BITS - 1).high_bit()
}

/// Tangent of a reduced argument.
#[inline(always)]
pub(crate) fn tan_from<V: Num<Scalar = f64>>(q: V, r: V, lo: V, sign: V) -> V {
    let (sa, sb) = sin_parts(r, lo);
    let (sa, sb) = fast_two_sum(sa, sb);
    let (ca, cb) = cos_parts(r, lo);
    let (ca, cb) = fast_two_sum(ca, cb);
    let odd = odd(q);
    let n = (V::select(odd, ca, sa), V::select(odd, cb, sb));
    let d = (V::select(odd, sa, ca), V::select(odd, sb, cb));
    divided(n, d).xor_bits(sign.xor_bits(q.shift_left(63)))
}

/// Tangent for |x| <= [`LIMIT`].
#[inline(always)]
pub(crate) fn tan_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (q, r, lo) = reduce(x.abs());
    tan_from(q, r, lo, sign_of(x))
}

/// The same for f32 results.
#[inline(always)]
pub(crate) fn tan_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let a = x.abs();
    let q = a.mul_add(x.lit(TWO_OVER_PI_HI), x.lit(MAGIC));
    let n = q - x.lit(MAGIC);
    let r = n.neg_mul_add(x.lit(PIO2_LO), n.neg_mul_add(x.lit(PIO2_HI), a));
    let z = r * r;
    let s = (z * r).mul_add(poly(z, &SIN_F32), r);
    let c = (z * z).mul_add(poly(z, &COS_F32), z.mul_add(x.lit(-0.5), x.lit(1.0)));
    let odd = odd(q);
    (V::select(odd, c, s) / V::select(odd, s, c)).xor_bits(sign_of(x).xor_bits(q.shift_left(63)))
}

/// A kernel with a slow path for large arguments: what it is made of in f64 and in f32, and from a reduced large argument.
macro_rules! periodic {
    ($kernel:ident, f64: $wide:path, f32: $narrow:expr, limit of f32: $limit:expr,
     slow: |$q:ident, $r:ident, $lo:ident, $sign:ident| $slow:expr) => {
        pub(crate) struct $kernel;

        impl Map1<f64> for $kernel {
            #[inline(always)]
            fn fast(x: f64) -> f64 {
                $wide(x)
            }
            #[inline(always)]
            #[allow(clippy::neg_cmp_op_on_partial_ord)]
            fn rare(x: f64) -> bool {
                !(x.abs() <= LIMIT)
            }
            #[inline(never)]
            fn slow(x: f64) -> f64 {
                if !x.is_finite() {
                    return f64::NAN;
                }
                let ($q, $r, $lo) = reduce_large(x.abs());
                let $sign = sign_of(x);
                $slow
            }
        }

        impl Map1<f32> for $kernel {
            #[inline(always)]
            fn fast(x: f32) -> f32 {
                $narrow(x)
            }
            #[inline(always)]
            #[allow(clippy::neg_cmp_op_on_partial_ord)]
            fn rare(x: f32) -> bool {
                !(x.abs() <= $limit)
            }
            #[inline(never)]
            fn slow(x: f32) -> f32 {
                let x = x as f64;
                (if Self::rare(x) { <Self as Map1<f64>>::slow(x) } else { <Self as Map1<f64>>::fast(x) }) as f32
            }
        }
    };
}

periodic!(Sin, f64: sin_wide, f32: sin_single, limit of f32: LIMIT_SINGLE, slow: |q, r, lo, sign| sin_from(q, r, lo, sign));
periodic!(Cos, f64: cos_wide, f32: cos_single, limit of f32: LIMIT_SINGLE, slow: |q, r, lo, _sign| cos_from(q, r, lo));
periodic!(Tan, f64: tan_wide, f32: (|x: f32| tan_narrow(f64::from(x)) as f32), limit of f32: LIMIT as f32,
          slow: |q, r, lo, sign| tan_from(q, r, lo, sign));
