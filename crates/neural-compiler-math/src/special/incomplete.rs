//! The regularised incomplete gamma functions P and Q, their derivatives by the shape a, and the density between them.
//!
//! In: a > 0, x >= 0 (NaN elsewhere). Out: P and Q within 1 ULP or 1e-20 absolute up to a = 1e9, Q of small shapes within 1 ULP; beyond
//! that within 1e-22 sqrt(a) relative; derivatives by a of the first three orders within 1 ULP or 1e-18 absolute.
//!
//! x^a e^-x/Gamma(a+1), times, below 8 and left of a small a, the series of positive terms x^k/((a+1) ... (a+k)); elsewhere times, on the
//! side of a where x lies and by t = x e^u, a times the integral of e^(a u - x (e^u - 1)), u from 0 away, which falls from its start on:
//! by the trapezoidal rule in v, |u| = width e^(v - e^-v) (Takahasi and Mori 1974), whose error at this step is below 1e-22. Derivatives by
//! a are powers of u under the integral, and those of the factor.

use super::double::{D, Scaled, d};
use super::gamma::{digamma_positive, gamma_positive, polygamma_positive, stirling_tail};
use super::tables::*;

/// The highest order of derivatives by a.
pub(super) const MOST: usize = 3;

/// Values by order.
type Orders = [D; MOST + 1];

/// Below this the series serves.
const NEAR: f64 = 8.0;

/// Below this a the factor is made of its parts, and the series serves on the lower side.
const SMALL: f64 = 30.0;

/// Below this a, Q is small left of 8.
const TINY: f64 = 1e-8;

/// x^a e^-x/Gamma(a + 1).
#[inline(always)]
fn factor(a: f64, x: f64) -> Scaled {
    if a < SMALL {
        return (d(x).log() * a - x).exp().over(gamma_positive(D::sum(a, 1.0)));
    }
    // e^(-a (m - log(1 + m)) - tail)/sqrt(2 pi a), m = x/a - 1
    let m = D::sum(x, -a) / a;
    let fall = if m.hi > -0.5 { m - m.log1p() } else { m - (d(x).log() - d(a).log()) };
    (-(fall * a) - stirling_tail(d(a))).exp().over(Scaled::new((PI * a).scale(2.0).sqrt()))
}

/// The derivatives of the factor by a, over it: complete Bell polynomials of those of its logarithm.
#[inline(always)]
fn factor_slopes(order: usize, a: f64, x: f64) -> Orders {
    let a = D::sum(a, 1.0);
    let mut logs = [d(0.0); MOST + 1];
    logs[1] = if order > 0 { d(x).log() - digamma_positive(a) } else { d(0.0) };
    for (n, slope) in logs.iter_mut().enumerate().take(order + 1).skip(2) {
        let size = polygamma_positive(n - 1, a).plain();
        *slope = if n % 2 == 0 { -size } else { size };
    }
    let mut bell = [d(0.0); MOST + 1];
    bell[0] = d(1.0);
    for n in 0..order {
        let mut choose = 1.0;
        for k in 0..=n {
            bell[n + 1] = bell[n + 1] + bell[n - k] * logs[k + 1] * choose;
            choose = choose * (n - k) as f64 / (k + 1) as f64;
        }
    }
    bell
}

/// The series and its derivatives by a.
#[inline(always)]
fn series(order: usize, a: f64, x: f64) -> Orders {
    // Taylor coefficients of the terms: (a + k + e) next = x term
    let mut term = [d(0.0); MOST + 1];
    term[0] = d(1.0);
    let mut sum = term;
    let mut k = 1.0;
    while k < 400.0 {
        let bottom = D::sum(a, k);
        let mut small = true;
        for n in 0..=order {
            // the term before it is the new one already
            let before = if n == 0 { d(0.0) } else { term[n - 1] };
            term[n] = (term[n] * x - before) / bottom;
            sum[n] = sum[n] + term[n];
            small &= term[n].hi.abs() <= 1e-34 * sum[n].hi.abs();
        }
        if small && k > x {
            break;
        }
        k += 1.0;
    }
    let mut factorial = 1.0;
    for (n, s) in sum.iter_mut().enumerate() {
        factorial *= n.max(1) as f64;
        *s = *s * factorial;
    }
    sum
}

/// e^u - 1.
#[inline(always)]
pub(super) fn expm1(u: D) -> D {
    if u.hi.abs() < 0.34 { u.expm1_small() } else { u.exp().plain() - 1.0 }
}

/// a times the integral on the side of `sign`, and its derivatives by a.
#[inline(always)]
fn integrals(order: usize, a: f64, x: f64, sign: f64) -> Orders {
    let width = 1.0 / ((x - a).abs() + x.max(a).sqrt());
    let mut sums = [d(0.0); MOST + 1];
    for &(place, weight) in &FALLING {
        let u = place * (width * sign);
        let exponent = u * a - expm1(u) * x;
        if exponent.hi < -70.0 {
            break;
        }
        let mut part = exponent.exp().plain() * weight;
        for sum in sums.iter_mut().take(order + 1) {
            *sum = *sum + part;
            part = part * u;
        }
    }
    let mut found = sums;
    for n in 0..=order {
        let more = if n == 0 { d(0.0) } else { sums[n - 1] * n as f64 };
        found[n] = (sums[n] * a + more) * width;
    }
    found
}

/// The derivative of that order of a product, from those of its factors.
#[inline(always)]
fn leibniz(order: usize, slopes: &Orders, found: &Orders) -> D {
    let (mut sum, mut choose) = (d(0.0), 1.0);
    for k in 0..=order {
        sum = sum + slopes[order - k] * found[k] * choose;
        choose = choose * (order - k) as f64 / (k + 1) as f64;
    }
    sum
}

/// Q of a shape below [`TINY`], below x = 8: nearly nothing, so that 1 - P would have no digits. P is 1 where the shape is 0; by its first
/// three derivatives Q is -a times the first, plus a^2/2 times the second, minus a^3/6 times the third.
#[inline(always)]
fn complement(a: f64, x: f64) -> f64 {
    let (slopes, found) = (factor_slopes(MOST, a, x), series(MOST, a, x));
    let [first, second, third] = [1, 2, 3].map(|n| leibniz(n, &slopes, &found));
    let sum = first - (second - third * (a / 3.0)) * (a * 0.5);
    Scaled::new(-sum).times(factor(a, x)).times(Scaled::new(d(a))).round()
}

/// The derivative of that order by a of P (`upper`: of Q), for arguments inside the range.
#[inline(always)]
fn inside(order: usize, upper: bool, a: f64, x: f64) -> f64 {
    let near = x < NEAR || (a < SMALL && x <= a);
    let (found, is_upper) = match near {
        true => (series(order, a, x), false),
        false if x <= a => (integrals(order, a, x, -1.0), false),
        false => (integrals(order, a, x, 1.0), true),
    };
    let opposite = upper != is_upper;
    // left of 8 only: beyond, Q itself is found and P is 1 less it
    if opposite && upper && order == 0 && a < TINY {
        return complement(a, x);
    }
    let value = Scaled::new(leibniz(order, &factor_slopes(order, a, x), &found)).times(factor(a, x));
    match (opposite, order) {
        (false, _) => value.round(),
        (true, 0) => Scaled::new(d(1.0)).plus(value.negative()).round(),
        (true, _) => value.negative().round(),
    }
}

/// 1/sqrt(2 pi).
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// The side of a on which x lies where nothing is left but that: so far off that x^a e^-x/Gamma(a), which is less than
/// e^(-(x - a)^2/(2 max(x, a))), is 0, or shapes so large that no other number is near them.
#[inline(always)]
fn beyond(a: f64, x: f64) -> Option<f64> {
    let most = x.max(a);
    let far = ((x - a) / most.sqrt()).abs() > 60.0 && most > 4000.0;
    (far || most > 1e36).then_some(x - a)
}

/// The derivative of that order by a, anywhere.
#[inline(always)]
fn regularised(order: usize, upper: bool, a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || (a == x && (a == 0.0 || x.is_infinite())) {
        return f64::NAN;
    }
    // at the ends of the range P is 0 or 1
    let end = |p: f64| {
        if order > 0 {
            0.0
        } else if upper {
            1.0 - p
        } else {
            p
        }
    };
    if x == 0.0 || a.is_infinite() {
        return end(0.0);
    }
    if x.is_infinite() {
        return end(1.0);
    }
    if a == 0.0 {
        return if order > 0 { f64::NAN } else { end(1.0) };
    }
    match beyond(a, x) {
        Some(side) if side != 0.0 => end(if side > 0.0 { 1.0 } else { 0.0 }),
        // the median, all but 1/sqrt(a)
        Some(_) => [0.5, -INV_SQRT_TAU / a.sqrt(), 0.0, 0.0][order],
        None => inside(order, upper, a, x),
    }
}

#[inline(always)]
pub(super) fn gamma_p(a: f64, x: f64) -> f64 {
    regularised(0, false, a, x)
}

#[inline(always)]
pub(super) fn gamma_q(a: f64, x: f64) -> f64 {
    regularised(0, true, a, x)
}

#[inline(always)]
pub(super) fn gamma_p_1(a: f64, x: f64) -> f64 {
    regularised(1, false, a, x)
}

#[inline(always)]
pub(super) fn gamma_p_2(a: f64, x: f64) -> f64 {
    regularised(2, false, a, x)
}

#[inline(always)]
pub(super) fn gamma_p_3(a: f64, x: f64) -> f64 {
    regularised(3, false, a, x)
}

/// x^(a-1) e^-x/Gamma(a): the derivative of P by x.
#[inline(always)]
pub(super) fn gamma_density(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() || a <= 0.0 || x < 0.0 || (a == x && x.is_infinite()) {
        return f64::NAN;
    }
    if x == 0.0 {
        return if a < 1.0 {
            f64::INFINITY
        } else if a == 1.0 {
            1.0
        } else {
            0.0
        };
    }
    if x.is_infinite() || a.is_infinite() {
        return 0.0;
    }
    match beyond(a, x) {
        Some(0.0) => INV_SQRT_TAU / a.sqrt(),
        Some(_) => 0.0,
        None => factor(a, x).times(Scaled::new(d(a))).over(Scaled::new(d(x))).round(),
    }
}
