//! Gamma, its logarithm, the logarithm's derivatives.
//!
//! In: any f64. Out: the function within 1 ULP, or within 1e-21 absolute next to the zeros of lgamma and digamma on the negative axis.
//! Poles: gamma is NaN at negative whole numbers and infinite at 0 with the sign of the zero; lgamma and the even
//! polygammas are infinite there, the odd ones NaN.
//!
//! Stirling's series from 12 on, below that the recurrence, left of 0 the reflection; next to 1 and 2, where lgamma is 0, and next to the
//! positive zero of digamma their own series.

use super::double::{D, Scaled, d, poly, two_to};
use super::tables::*;

/// From here on the asymptotic series hold.
pub(super) const FAR: f64 = 12.0;

/// The tail of Stirling's series: log Gamma(z) - (z - 1/2) log z + z - log(2 pi)/2, z >= 12.
#[inline(always)]
pub(super) fn stirling_tail(z: D) -> D {
    let r = z.recip();
    let s = r.hi * r.hi;
    let rest = STIRLING[1..].iter().rev().fold(0.0f64, |p, c| p.mul_add(s, c.hi));
    r * (STIRLING[0] + D::product(s, rest))
}

/// log Gamma(z), z >= 12.
#[inline(always)]
fn stirling(z: D) -> D {
    let log = z.log();
    // (z - 1/2) (log z - 1) - 1/2: nothing cancels
    (z - 0.5) * (log - 1.0) + (HALF_LN_2PI - 0.5) + stirling_tail(z)
}

/// Whole steps that bring x to 12, and the product x (x + 1) ... on the way.
#[inline(always)]
fn climb(x: D) -> (D, D) {
    let (mut z, mut product) = (x, d(1.0));
    while z.hi < FAR {
        product = product * z;
        z = z + 1.0;
    }
    (z, product)
}

/// Gamma(x), x > 0.
#[inline(always)]
pub(super) fn gamma_positive(x: D) -> Scaled {
    let (z, product) = climb(x);
    stirling(z).exp().over(Scaled::new(product))
}

/// log Gamma(x), x > 0.
#[inline(always)]
pub(super) fn lgamma_positive(x: D) -> D {
    let near = x - 2.0;
    if near.hi.abs() <= 0.3 {
        return near * poly(near, &LGAMMA_NEAR_2);
    }
    let near = x - 1.0;
    if near.hi.abs() <= 0.3 {
        return near * poly(near, &LGAMMA_NEAR_2) - near.log1p();
    }
    let (z, product) = climb(x);
    let far = stirling(z);
    if x.hi < FAR { far - product.log() } else { far }
}

/// The distance to the nearest whole number, and whether that is odd.
#[inline(always)]
fn from_whole(x: f64) -> (f64, bool) {
    let whole = x.round_ties_even();
    (x - whole, (whole * 0.5).fract() != 0.0)
}

#[inline(always)]
pub(super) fn gamma(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0 / x;
    }
    if x.is_nan() || x == f64::NEG_INFINITY || (x < 0.0 && x.fract() == 0.0) {
        return f64::NAN;
    }
    if x.abs() < 1e-20 {
        // 1/x - 0.577, beyond the range for the smallest
        return 1.0 / x;
    }
    if x > 200.0 {
        return f64::INFINITY;
    }
    if x > 0.0 {
        return gamma_positive(d(x)).round();
    }
    if x < -200.0 {
        // far below the smallest number, next to a pole too; the sign stays
        let odd = (x.floor() * 0.5).fract() != 0.0;
        return if odd { -0.0 } else { 0.0 };
    }
    let (distance, odd) = from_whole(x);
    let sine = d(distance).sin_cos_pi().0;
    let sine = if odd { -sine } else { sine };
    Scaled::new(PI / sine).over(gamma_positive(D::sum(1.0, -x))).round()
}

#[inline(always)]
pub(super) fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() || x == 0.0 || (x < 0.0 && x.fract() == 0.0) {
        return f64::INFINITY;
    }
    if x > 1e300 {
        // x (log x - 1), in units that keep both words of the product finite where it is
        let unit = two_to(20);
        return ((d(x).log() - 1.0) * (x / unit)).round() * unit;
    }
    if x > 0.0 {
        return lgamma_positive(d(x)).round();
    }
    let (distance, _) = from_whole(x);
    if x > -1e-8 {
        // log(1/|x|) - log Gamma(1 + |x|) where 1 - x may not be told from 1
        return (-d(-x).log() - d(-x) * -EULER.hi).round();
    }
    let sine = d(distance.abs()).sin_cos_pi().0;
    (-(sine / PI).log() - lgamma_positive(D::sum(1.0, -x))).round()
}

/// digamma(x), x > 0.
#[inline(always)]
pub(super) fn digamma_positive(x: D) -> D {
    let away = (x - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1] - DIGAMMA_ROOT[2];
    if away.hi.abs() <= 0.03125 {
        return away * poly(away, &DIGAMMA_NEAR_ROOT);
    }
    let (mut z, mut sum) = (x, d(0.0));
    while z.hi < FAR {
        sum = sum + z.recip();
        z = z + 1.0;
    }
    let r = z.recip();
    let s = r.square();
    // B(2k)/(2k) = (2k - 1) STIRLING[k]
    let mut tail = 0.0f64;
    for (k, c) in STIRLING.iter().enumerate().skip(1).rev() {
        tail = tail.mul_add(s.hi, (2 * k + 1) as f64 * c.hi);
    }
    z.log() - r.scale(0.5) - s * (STIRLING[0] + D::product(s.hi, tail)) - sum
}

#[inline(always)]
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -1.0 / x;
    }
    if x == f64::INFINITY {
        return x;
    }
    if x.is_nan() || x == f64::NEG_INFINITY || (x < 0.0 && x.fract() == 0.0) {
        return f64::NAN;
    }
    if x > 0.0 {
        return if x > 1e300 {
            crate::log::log_wide(x)
        } else if x < 1e-290 {
            -1.0 / x
        } else {
            digamma_positive(d(x)).round()
        };
    }
    if x > -1e-290 {
        return -1.0 / x;
    }
    let (sine, cosine) = d(from_whole(x).0).sin_cos_pi();
    (digamma_positive(D::sum(1.0, -x)) - PI * cosine / sine).round()
}

/// The largest order of polygamma.
const MOST: usize = 60;

/// |psi^(n)(x)|, x > 0, n >= 1: n! (sum of (x + k)^-(n+1), then Euler and Maclaurin).
#[inline(always)]
pub(super) fn polygamma_positive(n: usize, x: D) -> Scaled {
    let power = |z: D, e: usize| {
        let (r, mut p) = (z.recip(), d(1.0));
        for _ in 0..e {
            p = p * r;
        }
        p
    };
    // in units of x^-(n+1): the first term is the largest below 1
    let far = FAR + n as f64;
    let (mut z, mut sum) = (x, d(0.0));
    while z.hi < far {
        sum = sum + power(z / x, n + 1);
        z = z + 1.0;
    }
    let r = z.recip();
    let s = r.square();
    // B(2k) (2k + n - 1)!/((2k)! n!) z^-2k, k = 1, 2, ...
    let order = n as f64;
    let mut factor = d(1.0);
    let mut tail = d(0.0);
    for (k, b) in BERNOULLI.iter().enumerate() {
        let (top, bottom) = (2.0 * k as f64 + order, 2.0 * k as f64 + 1.0);
        // (2k + n - 1)!/((2k)! n!), from the one before; the first is (n + 1)/2
        factor = if k == 0 { d((order + 1.0) * 0.5) } else { factor * (top * (top + 1.0)) / (bottom * (bottom + 1.0)) };
        let term = s * factor * *b;
        tail = tail + power(z, 2 * k) * term;
    }
    // z^-n/n + z^-(n+1)/2 + z^-n tail, in the same units
    let whole = (z / order + 0.5 + z * tail) * power(z / x, n + 1);
    let mut result = Scaled::new(sum + whole);
    let step = Scaled::new(x.recip());
    for k in 0..=n {
        result = result.times(step);
        result = result.times(Scaled::new(d(k.max(1) as f64)));
    }
    result
}

/// psi^(n)(x): the n-th derivative of digamma, n = 0 being digamma itself.
#[inline(always)]
pub(super) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if x.is_nan() || !(n > 0.0 && n <= MOST as f64 && n.fract() == 0.0) || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let order = n as usize;
    let odd = order % 2 == 1;
    let sign = if odd { 1.0 } else { -1.0 };
    if x == f64::INFINITY {
        return 0.0 * sign;
    }
    if x <= 0.0 && x.fract() == 0.0 {
        // an even pole, or one with two signs
        return if odd { f64::INFINITY } else { f64::NAN };
    }
    if x.abs() < 1e-160 {
        return if odd || x < 0.0 { f64::INFINITY } else { f64::NEG_INFINITY };
    }
    if x > 0.0 {
        return sign * polygamma_positive(order, d(x)).round();
    }
    // psi^(n)(x) = (-1)^n psi^(n)(1 - x) - pi^(n+1) P(cot pi x), P' (1 + c^2) = -(the next P), the first being c
    let (sine, cosine) = d(from_whole(x).0).sin_cos_pi();
    let cotangent = cosine / sine;
    let mut p = [d(0.0); MOST + 2];
    p[1] = PI;
    for step in 0..order {
        let mut next = [d(0.0); MOST + 2];
        for k in 1..=step + 1 {
            let slope = p[k] * (k as f64) * PI;
            next[k - 1] = next[k - 1] - slope;
            next[k + 1] = next[k + 1] - slope;
        }
        p = next;
    }
    let mut reflected = Scaled::new(p[order + 1]);
    let c = Scaled::new(cotangent);
    for &coefficient in p[..=order].iter().rev() {
        reflected = reflected.times(c).plus(Scaled::new(coefficient));
    }
    let mirror = polygamma_positive(order, D::sum(1.0, -x));
    // (-1)^n times the sign (-1)^(n+1) of the right side is -1
    mirror.plus(reflected).negative().round()
}
