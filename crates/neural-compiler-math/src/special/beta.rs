//! Beta, its logarithm and their derivatives.
//!
//! In: any f64. Out: the function within 1 ULP, or within 1e-21 absolute next to the zeros of lbeta; NaN where an argument is negative.
//!
//! Both arguments climb to 12, then Stirling's series without the logarithms that cancel. The derivatives are sums over the steps of
//! the way, of positive terms only: psi(a + b) - psi(a) is that of b/((a + k)(a + b + k)), and what follows the way is the difference of
//! two asymptotic series, divided out term by term.

use super::double::{D, Scaled, d};
use super::gamma::{FAR, digamma_positive, lgamma_positive, polygamma_positive, stirling_tail};
use super::tables::*;

/// log B(p, q) without the logarithm that stays small: for p, q >= 12.
#[inline(always)]
fn lbeta_far(p: D, q: D) -> D {
    let (p, q) = if p.hi <= q.hi { (p, q) } else { (q, p) };
    if q.hi > 1e100 && p.hi < 1e50 {
        // p/q is nothing beside 1, and its low word may be too small to be kept: log(1 + p/q) q = p.
        return (p - 0.5) * (p.log() - q.log()) - p - q.log().scale(0.5) + HALF_LN_2PI + stirling_tail(p);
    }
    let ratio = p / q;
    // (p - 1/2) log(p/(p+q)) - q log(1 + p/q) - log(q)/2 + log(2 pi)/2 + tails
    let log = ratio.log1p();
    let falls = (p - 0.5) * (ratio.log() - log) - q * log - q.log().scale(0.5);
    falls + HALF_LN_2PI + (stirling_tail(p) + stirling_tail(q) - stirling_tail(p + q))
}

/// B(a, b) = factor e^log, both arguments brought to 12.
#[inline(always)]
fn beta_parts(a: f64, b: f64) -> (Scaled, D) {
    let (mut p, mut q) = (d(a), d(b));
    let mut factor = Scaled::new(d(1.0));
    while p.hi < FAR {
        factor = factor.times(Scaled::new(p + q)).over(Scaled::new(p));
        p = p + 1.0;
    }
    while q.hi < FAR {
        factor = factor.times(Scaled::new(p + q)).over(Scaled::new(q));
        q = q + 1.0;
    }
    (factor, lbeta_far(p, q))
}

/// What beta and lbeta share at the ends of their range: the value of beta.
#[inline(always)]
fn beta_edge(a: f64, b: f64) -> Option<f64> {
    if a.is_nan() || b.is_nan() || a < 0.0 || b < 0.0 {
        return Some(f64::NAN);
    }
    match (a == 0.0 || b == 0.0, a.is_infinite() || b.is_infinite()) {
        (true, true) => Some(f64::NAN),
        (true, false) => Some(f64::INFINITY),
        (false, true) => Some(0.0),
        (false, false) => None,
    }
}

/// Below this, B(a, b) = 1/a to the last bit where the other argument is of ordinary size.
const TINY: f64 = 1e-280;

/// Below this, both of them, B(a, b) = (a + b)/(a b) to the last bit.
const SMALL: f64 = 1e-20;

#[inline(always)]
fn one_word(x: f64) -> Scaled {
    Scaled::new(d(x))
}

/// a + b, also beyond the range.
#[inline(always)]
fn whole(a: f64, b: f64) -> Scaled {
    one_word(a).plus(one_word(b))
}

/// B(a, b) where it is simple: where an argument is tiny.
#[inline(always)]
fn beta_small(a: f64, b: f64) -> Option<Scaled> {
    if a.max(b) < SMALL {
        return Some(whole(a, b).over(one_word(a)).over(one_word(b)));
    }
    (a.min(b) < TINY).then(|| one_word(1.0).over(one_word(a.min(b))))
}

/// B(a, b) of finite positive arguments.
#[inline(always)]
pub(super) fn beta_positive(a: f64, b: f64) -> Scaled {
    if let Some(simple) = beta_small(a, b) {
        return simple;
    }
    if a.max(b) > 1e150 && a.min(b) > 1e3 {
        return Scaled::new(d(0.0));
    }
    let (factor, log) = beta_parts(a, b);
    factor.times(log.exp())
}

#[inline(always)]
pub(super) fn beta(a: f64, b: f64) -> f64 {
    beta_edge(a, b).unwrap_or_else(|| beta_positive(a, b).round())
}

#[inline(always)]
pub(super) fn lbeta(a: f64, b: f64) -> f64 {
    if let Some(edge) = beta_edge(a, b) {
        return if edge == 0.0 { f64::NEG_INFINITY } else { edge };
    }
    // B(1, b) = 1/b: exact where the logarithm is
    if a == 1.0 || b == 1.0 {
        return (d(0.0) - d(if a == 1.0 { b } else { a }).log()).round();
    }
    if let Some(simple) = beta_small(a, b) {
        return simple.log().round();
    }
    if a.max(b) > 1e290 {
        // one argument without bound: log Gamma(a) - a log b, and both: their ratio decides
        let (p, q) = (a.min(b), a.max(b));
        let s = 9.332636185032189e-302;
        if p * s > 1e-3 {
            let (p, q) = (p * s, q * s);
            return (d(p) * ((d(p) / d(p + q)).log()) - d(q) * (d(p) / d(q)).log1p()).round() / s;
        }
        if p > FAR {
            return lbeta_far(d(p), d(q)).round();
        }
        return (lgamma_positive(d(p)) - d(q).log() * p).round();
    }
    let (factor, log) = beta_parts(a, b);
    (factor.log() + log).round()
}

/// From here on psi(x) = log x and psi'(x) = 1/x, to the last bit of what is made of them.
const HUGE: f64 = 1e20;

/// Where the asymptotic series of the sums below hold with seven terms.
const END: f64 = 20.0;

/// Sums over k = 0, 1, ... with p = 1/(x + k), q = 1/(x + b + k).
struct Sums {
    /// Of p q: (psi(x + b) - psi(x))/b.
    slope: D,
    /// Of p q (p + q): (psi'(x) - psi'(x + b))/b.
    bend: D,
    /// Of p q^2.
    skew: D,
}

/// x > 0, neither argument beyond 1e290: the terms up to 20, then the integral, half of a term, and the series after Euler and Maclaurin,
/// whose differences of powers are divided out: p^m - q^m = (p - q)(p^(m-1) + ... + q^(m-1)).
#[inline(always)]
fn sums(x: D, b: f64) -> Sums {
    let (mut slope, mut bend, mut skew) = (d(0.0), d(0.0), d(0.0));
    let mut x = x;
    while x.hi < END {
        let (p, q) = (x.recip(), (x + b).recip());
        let product = p * q;
        slope = slope + product;
        bend = bend + product * (p + q);
        skew = skew + product * q;
        x = x + 1.0;
    }
    let (p, q) = (x.recip(), (x + b).recip());
    let product = p * q;
    let ratio = p * b;
    // log(1 + r)/r and (log(1 + r) - r/(1 + r))/r^2
    let (first, second) = if ratio.hi < 0.02 {
        let (mut first, mut second) = (d(0.0), d(0.0));
        for j in (1..14).rev() {
            let j = f64::from(j);
            first = d(j).recip() - first * ratio;
            second = d(j) / (j + 1.0) - second * ratio;
        }
        (first, second)
    } else {
        let log = ratio.log1p();
        (log / ratio, (log - q * b) / ratio.square())
    };
    // beside these the rest is below a thousandth: one word is enough
    let (mut tail, mut tail_bend, mut tail_skew) = (0.0f64, 0.0f64, 0.0f64);
    let (p1, q1) = (p.hi, q.hi);
    // p^(m-1) + ... + q^(m-1), m q^(m-1) + ... + p^(m-1), q^(m-1)
    let (mut even, mut weighted, mut power) = (1.0f64, 1.0f64, 1.0f64);
    for m in 1..=14 {
        let order = f64::from(m);
        let (next, power_next) = (even.mul_add(p1, power * q1), power * q1);
        if m % 2 == 0 {
            // B(m)/m
            let c = (order - 1.0) * STIRLING[m as usize / 2 - 1].hi;
            tail = c.mul_add(even, tail);
            tail_bend = (order * c).mul_add(next, tail_bend);
            tail_skew = c.mul_add(weighted, tail_skew);
        }
        weighted = weighted.mul_add(p1, (order + 1.0) * power_next);
        (even, power) = (next, power_next);
    }
    Sums {
        slope: slope + first * p + product * (d(0.5) + tail),
        bend: bend + product * ((p + q).scale(0.5) + tail_bend + 1.0),
        skew: skew + second * p.square() + product * q * (d(0.5) + tail_skew),
    }
}

/// psi(x + b) - psi(x), x >= 1.
#[inline(always)]
fn digamma_gap_of(x: D, b: f64) -> Scaled {
    if x.hi > HUGE {
        // log(1 + r), which is r where that is nothing beside 1
        let ratio = one_word(b).over(Scaled::new(x));
        return if ratio.exponent < -100 { ratio } else { Scaled::new(ratio.plain().log1p()) };
    }
    if b > 1e290 {
        return Scaled::new(d(b).log() - digamma_positive(x));
    }
    Scaled::new(sums(x, b).slope).times(one_word(b))
}

/// psi(a + b) - psi(a) of finite positive arguments.
#[inline(always)]
fn gap(a: f64, b: f64) -> Scaled {
    if a >= 1.0 {
        return digamma_gap_of(d(a), b);
    }
    let first = one_word(b).over(whole(a, b)).over(one_word(a));
    first.plus(digamma_gap_of(d(a) + 1.0, b))
}

/// Where an argument of a derivative is at an end of the range: its value `low` at a = 0, `left` at infinite a and `right` at infinite b.
#[inline(always)]
fn slope_edge(a: f64, b: f64, low: f64, left: f64, right: f64) -> Option<f64> {
    let wrong = |x: f64| x.is_nan() || x < 0.0;
    if wrong(a) || wrong(b) || b == 0.0 || (a.is_infinite() && b.is_infinite()) || (a == 0.0 && b.is_infinite()) {
        return Some(f64::NAN);
    }
    match () {
        () if a == 0.0 => Some(low),
        () if a.is_infinite() => Some(left),
        () if b.is_infinite() => Some(right),
        () => None,
    }
}

/// psi(a + b) - psi(a).
#[inline(always)]
pub(super) fn digamma_gap(a: f64, b: f64) -> f64 {
    slope_edge(a, b, f64::INFINITY, 0.0, f64::INFINITY).unwrap_or_else(|| gap(a, b).round())
}

/// psi'(a) - psi'(a + b).
#[inline(always)]
pub(super) fn trigamma_gap(a: f64, b: f64) -> f64 {
    if a > 0.0 && a.is_finite() && b == f64::INFINITY {
        return super::gamma::polygamma(1.0, a);
    }
    if let Some(edge) = slope_edge(a, b, f64::INFINITY, 0.0, f64::NAN) {
        return edge;
    }
    if a > HUGE {
        return one_word(b).over(whole(a, b)).over(one_word(a)).round();
    }
    let of = |x: D| if b > 1e290 { polygamma_positive(1, x) } else { Scaled::new(sums(x, b).bend).times(one_word(b)) };
    if a >= 1.0 {
        return of(d(a)).round();
    }
    // b (2 a + b)/(a (a + b))^2 = b/(a + b)/a (1/a + 1/(a + b))
    let (near, far) = (one_word(1.0).over(one_word(a)), one_word(1.0).over(whole(a, b)));
    one_word(b).times(far).times(near).times(near.plus(far)).plus(of(d(a) + 1.0)).round()
}

/// The derivative of B(a, b) by a: -B (psi(a + b) - psi(a)).
#[inline(always)]
pub(super) fn beta_slope(a: f64, b: f64) -> f64 {
    slope_edge(a, b, f64::NEG_INFINITY, -0.0, -0.0).unwrap_or_else(|| beta_positive(a, b).times(gap(a, b)).negative().round())
}

/// The derivative of B(a, b) by a and b: B ((psi(a) - psi(s))(psi(b) - psi(s)) - psi'(s)) with s = a + b. What cancels goes with the first
/// terms of the sums; left is a b/s of the sums of p q^2 for either argument, and the product of the gaps one step on.
#[inline(always)]
pub(super) fn beta_mixed(a: f64, b: f64) -> f64 {
    if let Some(edge) = slope_edge(a, b, f64::NAN, 0.0, 0.0) {
        return edge;
    }
    let whole_beta = beta_positive(a, b);
    if a.max(b) > HUGE {
        let product = digamma_gap_of(d(a) + 1.0, b).times(digamma_gap_of(d(b) + 1.0, a));
        return whole_beta.times(product).round();
    }
    let (of_a, of_b) = (sums(d(a) + 1.0, b), sums(d(b) + 1.0, a));
    let skew = Scaled::new(of_a.skew + of_b.skew).over(whole(a, b));
    let product = Scaled::new(of_a.slope * of_b.slope);
    whole_beta.times(one_word(a)).times(one_word(b)).times(skew.plus(product)).round()
}
