//! exp, exp2, expm1, sigmoid, softplus, exponentials of squares.
//!
//! In: any f32 or f64. Out: the function within 1 ULP.
//!
//! x = n ln 2 + r with |r| <= ln(2)/2, r as two words; e^r = 1 + r + (cosh r - 1) + (sinh r - r), the last two
//! from polynomials that together leave 2^-61. They are at most 0.07, so their roundings cost 0.18 ULP, and
//! 1 + r is summed without error: 0.68 ULP before the scaling by 2^n, which is exact, or rounds once more when
//! the result is subnormal (where the first error counts at most half): 0.84 ULP.
//! f32 does the same in f64 with shorter polynomials (2^-38): 0.5001 ULP; exp and sigmoid, the most used of all, stay in f32, where a
//! vector holds twice as many lanes: for exp, r as one word costs 0.25 ULP more.

use crate::bits::MAGIC;
use crate::coefficients::*;
use crate::dd::{fast_two_sum, two_difference, two_sum};
use crate::dispatch::{kernel_of_num, kernel1};
use crate::log::{ln_1p, ln_f32_parts};
use crate::num::{Layout, Num, clamp, half, one, opposite, poly, pow2, two, unless_nan, zero};

/// x = n ln 2 + hi + lo, wherever e^x is neither 0 nor infinite.
#[inline(always)]
pub(crate) fn reduce<V: Num>(x: V) -> (V, V, V) {
    let [log2e, short, rest] = V::Scalar::LN2.map(|c| x.lit(c));
    let magic = x.lit(V::Scalar::MAGIC);
    let n = x.mul_add(log2e, magic) - magic;
    let h = n.neg_mul_add(short, x);
    let w = n * rest;
    let hi = h - w;
    (n, hi, (h - hi) - w)
}

/// (cosh r - 1, sinh r - r) for |r| <= ln(2)/2, lo being the second word of r (its first-order effect goes
/// into the second part).
#[inline(always)]
pub(crate) fn even_odd<V: Num>(r: V, lo: V) -> (V, V) {
    let z = r * r;
    (z * z.mul_add(poly(z, V::Scalar::EXP_EVEN), half(z)), (z * r).mul_add(poly(z, V::Scalar::EXP_ODD), lo))
}

/// e^(r + lo) as two words, relative error 2^-58 in f64; |r| <= ln(2)/2, |lo| <= ulp(r).
#[inline(always)]
pub(crate) fn exp_small<V: Num>(r: V, lo: V) -> (V, V) {
    let (even, odd) = even_odd(r, lo.mul_add(r, lo));
    let (s, e) = fast_two_sum(one(r), r);
    fast_two_sum(s, e + (even + odd))
}

/// e^r for f32 results, relative error 2^-38.
#[inline(always)]
pub(crate) fn exp_small_f32<V: Num<Scalar = f64>>(r: V) -> V {
    let z = r * r;
    let even = z.mul_add(poly(z, &EXP_EVEN_F32), one(r));
    let odd = (z * r).mul_add(poly(z, &EXP_ODD_F32), r);
    even + odd
}

/// x = n ln 2 + r in one word, for f32 results.
#[inline(always)]
pub(crate) fn reduce_f32<V: Num<Scalar = f64>>(x: V) -> (V, V) {
    let magic = x.lit(MAGIC);
    let n = x.mul_add(x.lit(LOG2E_HI), magic) - magic;
    (n, n.neg_mul_add(x.lit(LN2_HI), x))
}

/// e^x for f32 results and |x| <= 700.
#[inline(always)]
pub(crate) fn exp_narrow_inner<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, r) = reduce_f32(x);
    exp_small_f32(r) * pow2(n)
}

#[inline(always)]
pub(crate) fn exp_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, r, lo) = reduce(x.at_most(x.lit(750.0)).at_least(x.lit(-750.0)));
    let (h, l) = exp_small(r, lo);
    (h + l).scale2(n)
}

/// x = n ln 2 + r in f32, r rounded.
#[inline(always)]
pub(crate) fn reduce_single<V: Num<Scalar = f32>>(x: V) -> (V, V) {
    let magic = x.lit(f32::MAGIC);
    let n = x.mul_add(x.lit(LOG2E_SINGLE), magic) - magic;
    (n, n.neg_mul_add(x.lit(LN2_REST_SINGLE), n.neg_mul_add(x.lit(LN2_SHORT_SINGLE), x)))
}

#[inline(always)]
pub(crate) fn exp_single<V: Num<Scalar = f32>>(x: V) -> V {
    let (n, r) = reduce_single(x.at_most(x.lit(89.0)).at_least(x.lit(-104.0)));
    let (s, e) = fast_two_sum(x.lit(1.0), r);
    (s + (r * r).mul_add(poly(r, &EXP_SINGLE), e)).scale2(n)
}

kernel_of_num!(Exp, f64: exp_wide, f32: exp_single);

/// e^(c x^2) for c = +-1 or +-1/2, whose product with x is exact; x^2 in two words. Beyond `limit` the result is 0 or infinite.
#[inline(always)]
fn exp_of_square<V: Num<Scalar = f64>>(x: V, c: f64, limit: f64) -> V {
    let x = clamp(x, -limit, limit);
    let part = x * x.lit(c);
    let p = x * part;
    let rest = x.mul_sub(part, p);
    let (n, r, lo) = reduce(p);
    let (r, lo) = fast_two_sum(r, lo + rest);
    let (h, l) = exp_small(r, lo);
    (h + l).scale2(n)
}

/// The same for f32 results: there the square is exact.
#[inline(always)]
fn exp_of_square_f32<V: Num<Scalar = f64>>(x: V, c: f64) -> V {
    let x = clamp(x, -20.0, 20.0);
    exp_narrow_inner(x * x * x.lit(c))
}

/// A kernel for e^(c x^2), with the x from where on it is 0 or infinite.
macro_rules! of_square {
    ($($kernel:ident, $wide:ident, $narrow:ident: $c:literal, $limit:literal;)*) => {$(
        #[inline(always)]
        pub(crate) fn $wide<V: Num<Scalar = f64>>(x: V) -> V {
            exp_of_square(x, $c, $limit)
        }

        #[inline(always)]
        pub(crate) fn $narrow<V: Num<Scalar = f64>>(x: V) -> V {
            exp_of_square_f32(x, $c)
        }

        kernel1!($kernel, f64: $wide, f32: $narrow);
    )*};
}

of_square! {
    Bell, bell_wide, bell_narrow: -1.0, 27.35;
    HalfBell, half_bell_wide, half_bell_narrow: -0.5, 38.7;
    HalfGrowth, half_growth_wide, half_growth_narrow: 0.5, 38.7;
}

/// x = n + f with a whole n.
#[inline(always)]
pub(crate) fn whole_and_rest<V: Num<Scalar = f64>>(x: V) -> (V, V) {
    let magic = x.lit(MAGIC);
    let n = (x + magic) - magic;
    (n, x - n)
}

#[inline(always)]
pub(crate) fn exp2_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, f) = whole_and_rest(clamp(x, -1080.0, 1080.0));
    let ln2 = x.lit(LN2_HI);
    let r = f * ln2;
    let lo = f.mul_add(x.lit(LN2_LO), f.mul_sub(ln2, r));
    let (h, l) = exp_small(r, lo);
    (h + l).scale2(n)
}

#[inline(always)]
pub(crate) fn exp2_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, f) = whole_and_rest(clamp(x, -300.0, 300.0));
    exp_small_f32(f * x.lit(LN2_HI)) * pow2(n)
}

kernel1!(Exp2, f64: exp2_wide, f32: exp2_narrow);

/// 2^n e^r - 1 = (2^n - 1) + 2^n r + 2^n r^2/2 + ..., the first three terms summed without error since the result may
/// be a quarter of them; at half size so that n = 1024 does not overflow.
#[inline(always)]
pub(crate) fn expm1_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, r, lo) = reduce(clamp(x, -60.0, 750.0));
    let z = r * r;
    let z_lo = r.mul_sub(r, z);
    let odd = (z * r).mul_add(poly(z, &EXP_ODD), lo.mul_add(r, lo));
    let rest = (z * z).mul_add(poly(z, &EXP_EVEN), z_lo.mul_add(half(x), odd));
    let p = pow2(n.at_most(x.lit(1024.0)) - one(x));
    let (a, b) = two_difference(p, half(x));
    let (s, e) = two_sum(a, p * r);
    let (s, f) = two_sum(s, (half(x) * p) * z);
    let y = two(x) * (s + ((e + f) + p.mul_add(rest, b)));
    let y = V::select(x.abs().less(x.lit(f64::EPSILON / 4.0)), x, y);
    V::select(x.lit(710.0).less(x), x.lit(f64::INFINITY), y)
}

#[inline(always)]
pub(crate) fn expm1_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, r) = reduce_f32(clamp(x, -60.0, 200.0));
    let z = r * r;
    let m = (z * r).mul_add(poly(z, &EXP_ODD_F32), z.mul_add(poly(z, &EXP_EVEN_F32), r));
    let p = pow2(n);
    V::select(x.abs().less(x.lit(1e-20)), x, p.mul_add(m, p - one(x)))
}

kernel1!(Expm1, f64: expm1_wide, f32: expm1_narrow);

/// e^-|x| / (1 + e^-|x|) or 1 / (1 + e^-|x|), the exponential as two words and its power of two apart.
#[inline(always)]
pub(crate) fn sigmoid<V: Num>(x: V) -> V {
    let below = zero(x) - x.abs();
    let (n, r, lo) = reduce(below.at_least(x.lit(V::Scalar::EXP_LEAST)));
    let (h, l) = exp_small(r, lo);
    let p = pow2(n.at_least(x.lit(V::Scalar::EXPONENT_LEAST)));
    let (d, e) = fast_two_sum(one(x), h * p);
    let negative = x.less(zero(x));
    let q = crate::dd::divided((V::select(negative, h, one(x)), V::select(negative, l, zero(x))), (d, l.mul_add(p, e)));
    q.scale2(V::select(negative, n, zero(x)))
}

kernel_of_num!(Sigmoid, sigmoid);

/// max(x, 0) + log(1 + e^-|x|); below -40 it is e^x to the last bit.
#[inline(always)]
pub(crate) fn softplus_wide<V: Num<Scalar = f64>>(x: V) -> V {
    let (n, r, lo) = reduce(clamp(opposite(x.abs()), -750.0, 0.0));
    let (h, l) = exp_small(r, lo);
    let p = pow2(n.at_least(x.lit(-200.0)));
    let (a, b) = ln_1p(h * p, l * p);
    let base = V::select(zero(x).less(x), x, zero(x));
    let (s, e) = two_sum(base, a);
    let y = s + (e + b);
    let y = V::select(x.less(x.lit(-40.0)), (h + l).scale2(n), y);
    let y = V::select(x.lit(800.0).less(x), x, y);
    unless_nan(x, y)
}

#[inline(always)]
pub(crate) fn softplus_narrow<V: Num<Scalar = f64>>(x: V) -> V {
    let e = exp_narrow_inner(clamp(opposite(x.abs()), -200.0, 0.0));
    let u = one(x) + e;
    let c = e - (u - one(x));
    let y = V::select(zero(x).less(x), x, zero(x)) + (ln_f32_parts(u) + c / u);
    unless_nan(x, y)
}

kernel1!(Softplus, f64: softplus_wide, f32: softplus_narrow);
