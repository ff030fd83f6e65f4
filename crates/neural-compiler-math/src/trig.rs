//! sin, cos, tan.
//!
//! In: any f32 or f64; infinities give NaN. Out: the function within 1 ULP.
//!
//! x = n pi/2 + r with |r| <= pi/4, r as two words. Up to 2^30 the reduction subtracts n times a three-word
//! pi/2: x - n PIO2_HI is exact (a multiple of 2^-53 below 1), the rest carries two words, error 2^-130, while no
//! f64 comes closer to a multiple of pi/2 than 2^-62. Beyond 2^30 (rare) the slow path multiplies the mantissa
//! by the right 256 bits of 2/pi (Payne and Hanek). The polynomials leave 2^-58 and only terms below 0.08 are
//! rounded, up to three times: 0.76 ULP; tan divides two such pairs: 0.95 ULP. f32 reduces in f64: 0.501 ULP.

use crate::bits::{MAGIC, poly, sel, sign_bit, xor_sign};
use crate::coefficients::*;
use crate::dd::{div_to_f64, fast_two_sum, two_sum};
use crate::dispatch::Map1;

/// Arguments above this take the slow path.
const LIMIT: f64 = 1073741824.0;

/// (quadrant in the low bits, r, second word of r) for 0 <= x <= 2^30.
#[inline(always)]
fn reduce(x: f64) -> (u64, f64, f64) {
    let t = x.mul_add(TWO_OVER_PI_HI, MAGIC);
    let n = t - MAGIC;
    let r = (-n).mul_add(PIO2_HI, x);
    let p = n * PIO2_LO;
    let pe = n.mul_add(PIO2_LO, -p);
    let (h, e) = two_sum(r, -p);
    (t.to_bits(), h, (-n).mul_add(PIO2_LO2, e - pe))
}

/// The same for any finite x >= 2^30, by integer arithmetic.
#[cold]
#[inline(never)]
fn reduce_large(x: f64) -> (u64, f64, f64) {
    let bits = x.to_bits();
    let e = (bits >> 52) as i32 - 1075;
    let m = (bits & ((1 << 52) - 1)) | (1 << 52);
    // x 2/pi = m 2^e 0.b1b2b3...: bits of 2/pi of weight 2^(2-e) and above only add multiples of 4, so a window
    // of 256 bits starts below them (before the point come zeros; e >= -22)
    let first = (e - 2 + 64) as usize;
    let (word, shift) = (first / 64, (first % 64) as u32);
    let bits_at = |i: usize| {
        if i == 0 { 0 } else { TWO_OVER_PI.get(i - 1).copied().unwrap_or(0) }
    };
    let get = |i: usize| {
        let (hi, lo) = (bits_at(word + i), bits_at(word + i + 1));
        if shift == 0 { hi } else { (hi << shift) | (lo >> (64 - shift)) }
    };
    // m times the window modulo 2^256: two integer bits, then the fraction
    let mut product = [0u64; 5];
    let mut carry = 0u128;
    for i in (0..4).rev() {
        let t = m as u128 * get(i) as u128 + carry;
        product[i] = t as u64;
        carry = t >> 64;
    }
    let mut quadrant = product[0] >> 62;
    let mut frac = [0u64; 4];
    for i in 0..4 {
        frac[i] = (product[i] << 2) | (product[i + 1] >> 62);
    }
    let negative = frac[0] >> 63 == 1;
    if negative {
        // round up: the fraction becomes fraction - 1
        quadrant = quadrant.wrapping_add(1);
        let mut carry = true;
        for w in frac.iter_mut().rev() {
            let (v, c) = (!*w).overflowing_add(carry as u64);
            *w = v;
            carry = c;
        }
    }
    // 96 bits of the fraction from its leading bit on, as two exact pieces
    let lead = if frac[0] != 0 { frac[0].leading_zeros() } else { 64 + frac[1].leading_zeros() };
    let (skip, s) = ((lead / 64) as usize, lead % 64);
    let word = |i: usize| {
        let a = frac.get(skip + i).copied().unwrap_or(0);
        let b = frac.get(skip + i + 1).copied().unwrap_or(0);
        if s == 0 { a } else { (a << s) | (b >> (64 - s)) }
    };
    let (w0, w1) = (word(0), word(1));
    let scale = f64::from_bits(((1023 - 64 - lead as i64) as u64) << 52);
    let a = (w0 & !0x7ff) as f64 * scale;
    let b = (((w0 & 0x7ff) << 32) | (w1 >> 32)) as f64 * (scale / 4294967296.0);
    let (a, b) = fast_two_sum(a, b);
    let (h, l) = crate::dd::mul((a, b), (PIO2_HI, PIO2_LO));
    if negative { (quadrant, -h, -l) } else { (quadrant, h, l) }
}

/// sin(r + lo) = a + b, a the larger.
#[inline(always)]
fn sin_parts(r: f64, lo: f64) -> (f64, f64) {
    let z = r * r;
    let tail = (-0.5 * z).mul_add(lo, lo);
    (r, (z * r).mul_add(poly(z, &SIN), tail))
}

/// cos(r + lo) = a + b, a the larger.
#[inline(always)]
fn cos_parts(r: f64, lo: f64) -> (f64, f64) {
    let z = r * r;
    let ze = r.mul_add(r, -z);
    let half = 0.5 * z;
    let w = 1.0 - half;
    let e = (1.0 - w) - half;
    let low = r.mul_add(lo, 0.5 * ze);
    (w, e + (z * z).mul_add(poly(z, &COS), -low))
}

#[inline(always)]
fn sin_from(q: u64, r: f64, lo: f64, sign: u64) -> f64 {
    let (sa, sb) = sin_parts(r, lo);
    let (ca, cb) = cos_parts(r, lo);
    let odd = q & 1 != 0;
    let y = sel(odd, ca, sa) + sel(odd, cb, sb);
    xor_sign(y, sign ^ ((q & 2) << 62))
}

#[inline(always)]
fn tan_from(q: u64, r: f64, lo: f64, sign: u64) -> f64 {
    let (sa, sb) = sin_parts(r, lo);
    let (sa, sb) = fast_two_sum(sa, sb);
    let (ca, cb) = cos_parts(r, lo);
    let (ca, cb) = fast_two_sum(ca, cb);
    let odd = q & 1 != 0;
    let n = (sel(odd, ca, sa), sel(odd, cb, sb));
    let d = (sel(odd, sa, ca), sel(odd, sb, cb));
    xor_sign(div_to_f64(n, d), sign ^ ((q & 1) << 63))
}

/// Reduction for f32 arguments up to 2^30: r to 2^-53 relative.
#[inline(always)]
fn reduce_f32(x: f64) -> (u64, f64) {
    let t = x.mul_add(TWO_OVER_PI_HI, MAGIC);
    let n = t - MAGIC;
    (t.to_bits(), (-n).mul_add(PIO2_LO, (-n).mul_add(PIO2_HI, x)))
}

#[inline(always)]
fn sin_cos_f32(r: f64) -> (f64, f64) {
    let z = r * r;
    let s = (z * r).mul_add(poly(z, &SIN_F32), r);
    let c = (z * z).mul_add(poly(z, &COS_F32), (-0.5f64).mul_add(z, 1.0));
    (s, c)
}

macro_rules! periodic {
    ($kernel:ident, |$q:ident, $r:ident, $lo:ident, $sign:ident| $wide:expr,
     |$q32:ident, $r32:ident, $sign32:ident| $narrow:expr) => {
        pub(crate) struct $kernel;

        impl Map1<f64> for $kernel {
            #[inline(always)]
            fn fast(x: f64) -> f64 {
                let ($q, $r, $lo) = reduce(x.abs());
                let $sign = sign_bit(x);
                $wide
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
                let $sign = sign_bit(x);
                $wide
            }
        }

        impl Map1<f32> for $kernel {
            #[inline(always)]
            fn fast(x: f32) -> f32 {
                let ($q32, $r32) = reduce_f32((x as f64).abs());
                let $sign32 = sign_bit(x as f64);
                ($narrow) as f32
            }
            #[inline(always)]
            #[allow(clippy::neg_cmp_op_on_partial_ord)]
            fn rare(x: f32) -> bool {
                !(x.abs() <= LIMIT as f32)
            }
            #[inline(never)]
            fn slow(x: f32) -> f32 {
                <Self as Map1<f64>>::slow(x as f64) as f32
            }
        }
    };
}

periodic!(Sin, |q, r, lo, sign| sin_from(q, r, lo, sign), |q, r, sign| {
    let (s, c) = sin_cos_f32(r);
    xor_sign(sel(q & 1 != 0, c, s), sign ^ ((q & 2) << 62))
});

periodic!(Cos, |q, r, lo, _sign| sin_from(q.wrapping_add(1), r, lo, 0), |q, r, _sign| {
    let (s, c) = sin_cos_f32(r);
    let q = q.wrapping_add(1);
    xor_sign(sel(q & 1 != 0, c, s), (q & 2) << 62)
});

periodic!(Tan, |q, r, lo, sign| tan_from(q, r, lo, sign), |q, r, sign| {
    let (s, c) = sin_cos_f32(r);
    let odd = q & 1 != 0;
    xor_sign(sel(odd, c, s) / sel(odd, s, c), sign ^ ((q & 1) << 63))
});
