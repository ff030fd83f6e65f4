//! erfc, erfcx, the distribution function of the normal distribution, its logarithm and its inverse.
//!
//! In: any f64. Out: the function within 1 ULP.
//!
//! Up to 1, erf by its series of positive terms. Beyond, e^(x^2) erfc(x) by the trapezoidal rule on
//! (x/pi) integral of e^(-t^2)/(x^2 + t^2), whose error is the residue at the pole, which is known and taken off; what is left is
//! e^-((pi/STEP)^2), 2^-74. From 12 on by its asymptotic series.

use super::double::{D, Scaled, d};
use super::tables::*;

/// erf(x), |x| <= 1.2: 2 x/sqrt(pi) e^(-x^2) times a sum of positive terms.
#[inline(always)]
fn erf_near(x: D) -> D {
    let z = x.square();
    let (mut term, mut sum) = (d(1.0), d(1.0));
    let mut k = 1.0;
    while term.hi > 1e-24 {
        term = term * z.scale(2.0) / (2.0 * k + 1.0);
        sum = sum + term;
        k += 1.0;
    }
    let bell = (-z).exp();
    (x * INV_SQRT_PI).scale(2.0) * sum * bell.plain()
}

/// e^(x^2) erfc(x), x >= 1.
#[inline(always)]
pub(super) fn erfcx_far(x: D) -> D {
    if x.hi > 12.0 {
        // 1/(x sqrt(pi)) (1 - 1/(2 x^2) + 3/(2 x^2)^2 - ...)
        let r = x.square().recip().scale(0.5);
        let (mut term, mut sum) = (d(1.0), d(1.0));
        let mut k = 1.0;
        while term.hi.abs() > 1e-24 && k < 60.0 {
            term = -(term * r * (2.0 * k - 1.0));
            sum = sum + term;
            k += 1.0;
        }
        return INV_SQRT_PI * sum / x;
    }
    let z = x.square();
    let mut sum = z.recip().scale(0.5);
    for (k, &bell) in BELL_WHOLE.iter().enumerate() {
        let t = (k as f64 + 1.0) * STEP;
        sum = sum + bell / (z + D::product(t, t));
    }
    let whole = x * sum / PI * (2.0 * STEP);
    // the pole below pi/STEP: 2 e^(x^2)/(e^(2 pi x/STEP) - 1)
    if x.hi > std::f64::consts::PI / STEP {
        return whole;
    }
    let turn = (PI * x).scale(2.0) / STEP;
    let above = (z - turn).exp();
    let less = (-turn).exp();
    let pole = above.over(Scaled::new(d(1.0)).plus(less.negative()));
    whole - pole.plain().scale(2.0)
}

/// erfc(x) of two words.
#[inline(always)]
pub(super) fn erfc_of(x: D) -> Scaled {
    if x.hi < 1.0 {
        if x.hi < -1.0 {
            if x.hi < -7.0 {
                return Scaled::new(d(2.0));
            }
            let y = -x;
            let tail = Scaled::new(erfcx_far(y)).times((-y.square()).exp());
            return Scaled::new(d(2.0)).plus(tail.negative());
        }
        return Scaled::new(d(1.0) - erf_near(x));
    }
    Scaled::new(erfcx_far(x)).times((-x.square()).exp())
}

#[inline(always)]
pub(super) fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 28.0 {
        return 0.0;
    }
    if x < -7.0 {
        return 2.0;
    }
    erfc_of(d(x)).round()
}

/// e^(x^2) erfc(x) of two words; x > -30.
#[inline(always)]
fn erfcx_of(x: D) -> Scaled {
    if x.hi >= 1.0 { Scaled::new(erfcx_far(x)) } else { erfc_of(x).times(x.square().exp()) }
}

#[inline(always)]
pub(super) fn erfcx(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < -30.0 {
        return f64::INFINITY;
    }
    if x > 1e150 {
        return (INV_SQRT_PI.hi * 0.5 + INV_SQRT_PI.lo * 0.5) / x * 2.0;
    }
    erfcx_of(d(x)).round()
}

/// The largest order of the derivatives of erfcx.
const MOST: f64 = 12.0;

/// The n-th derivative of erfcx. Its size g(n) is the integral of 2/sqrt(pi) (2 t)^n e^(-t^2 - 2 x t), and g(n) + 2 x g(n-1) =
/// 2 (n-1) g(n-2): for x > 0 only the way down is steady, as the quotients r(n) = g(n)/g(n-1) = 2 n/(2 x + r(n+1)); near 0 and left of
/// it the way up.
#[inline(always)]
pub(super) fn erfcx_of_order(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return erfcx(x);
    }
    if x.is_nan() || !(n > 0.0 && n <= MOST && n.fract() == 0.0) {
        return f64::NAN;
    }
    let order = n as usize;
    let sign = if order % 2 == 1 { -1.0 } else { 1.0 };
    if x < -30.0 {
        return sign * f64::INFINITY;
    }
    if x == f64::INFINITY {
        return sign * 0.0;
    }
    if x < 1.5 {
        let mut below = erfcx_of(d(x));
        let twice = Scaled::new(d(2.0 * x)).negative();
        let mut here = Scaled::new(INV_SQRT_PI.scale(2.0)).plus(below.times(twice));
        for k in 1..order {
            let next = here.times(twice).plus(below.times(Scaled::new(d(2.0 * k as f64))));
            (below, here) = (here, next);
        }
        return sign * here.round();
    }
    // enough for 22 digits, found by trial in high precision
    let steps = 2 * order + 14 + (500.0 / (x * x)) as usize;
    let mut ratio = d(0.0);
    let mut result = Scaled::new(d(1.0));
    for k in (1..=steps).rev() {
        ratio = d(k as f64) / (ratio.scale(0.5) + x);
        if k <= order {
            result = result.times(Scaled::new(ratio));
        }
    }
    let value = if x > 1e150 { Scaled::new(INV_SQRT_PI).over(Scaled::new(d(x))) } else { Scaled::new(erfcx_far(d(x))) };
    sign * result.times(value).round()
}

#[inline(always)]
pub(super) fn normal_cdf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < -40.0 {
        return 0.0;
    }
    if x > 9.0 {
        return 1.0;
    }
    let twice = erfc_of(SQRT_HALF * -x);
    Scaled { exponent: twice.exponent - 1, ..twice }.round()
}

/// log of the normal distribution function, x < 0.
#[inline(always)]
fn log_cdf_negative(x: f64) -> D {
    let z = SQRT_HALF * -x;
    if x < -1.5 {
        // log(erfcx(z)/2) - x^2/2
        return erfcx_far(z).scale(0.5).log() - D::product(x, x).scale(0.5);
    }
    erfc_of(z).log() - LN2
}

#[inline(always)]
pub(super) fn normal_log_cdf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < -1e150 {
        return if x < -1.9e154 { f64::NEG_INFINITY } else { -(x * 0.5) * x };
    }
    if x < 0.0 {
        return log_cdf_negative(x).round();
    }
    if x > 40.0 {
        return if x == f64::INFINITY { 0.0 } else { -0.0 };
    }
    let upper = erfc_of(SQRT_HALF * x);
    let upper = Scaled { exponent: upper.exponent - 1, ..upper };
    if upper.exponent < -70 {
        return -upper.round();
    }
    (-upper.plain()).log1p().round()
}

/// The root of the normal distribution function below 1/2, by Halley's method on its logarithm.
#[inline(always)]
fn quantile_low(p: f64) -> f64 {
    let target = d(p).log();
    // Abramowitz and Stegun 26.2.22, within 0.003
    let t = (-2.0 * target.hi).sqrt();
    let mut x = (0.27061 * t + 2.30753) / ((0.04481 * t + 0.99229) * t + 1.0) - t;
    for _ in 0..4 {
        let g = (log_cdf_negative(x) - target).round();
        let h = 0.7978845608028654 / erfcx_of(SQRT_HALF * -x).plain().hi;
        let step = g / h;
        let step = step / (0.5 * step).mul_add(x + h, 1.0);
        x -= step;
        if step.abs() < 1e-6 {
            break;
        }
    }
    x
}

/// The root of erf(x/sqrt 2) = r, |r| <= 1/2, likewise.
#[inline(always)]
fn quantile_middle(r: f64) -> f64 {
    let mut x = r * (0.3281 * r * r + 1.2533141373155003);
    for _ in 0..4 {
        let g = (erf_near(SQRT_HALF * x) - r).round();
        let step = g / (0.7978845608028654 * crate::exp::exp_wide(-0.5 * x * x));
        let step = step / (0.5 * step).mul_add(x, 1.0);
        x -= step;
        if step.abs() <= 1e-6 * x.abs() {
            break;
        }
    }
    x
}

#[inline(always)]
pub(super) fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p == 1.0 {
        return f64::INFINITY;
    }
    // 2 p - 1 and 1 - p are exact where they are used
    if (0.25..=0.75).contains(&p) {
        return quantile_middle(2.0 * p - 1.0);
    }
    if p < 0.5 { quantile_low(p) } else { -quantile_low(1.0 - p) }
}

/// sqrt(2/pi)/erfcx(-x/sqrt 2): the density of the normal distribution over the distribution function, x > -1e10.
#[inline(always)]
fn hazard_of(x: f64) -> Scaled {
    Scaled::new((INV_SQRT_PI * SQRT_HALF).scale(2.0)).over(erfcx_of(SQRT_HALF * -x))
}

#[inline(always)]
pub(super) fn normal_hazard(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 40.0 {
        return 0.0;
    }
    // the hazard is 1/(1 - 1/x^2 + ...) times -x
    if x < -1e10 { -x } else { hazard_of(x).round() }
}

#[inline(always)]
pub(super) fn normal_excess(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 40.0 {
        return x;
    }
    if x < -1e100 {
        return -1.0 / x;
    }
    if x < -1e3 {
        // 1/|x| (1 - 2/x^2 + 10/x^4 - 74/x^6 + ...)
        let r = d(-x).recip();
        let s = r.hi * r.hi;
        return (r * (d(1.0) + D::product(s, (-74.0 * s + 10.0).mul_add(s, -2.0)))).round();
    }
    Scaled::new(d(x)).plus(hazard_of(x)).round()
}
