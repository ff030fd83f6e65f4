//! Numbers of two words for the special functions: sums, products, quotients, roots, exponentials, logarithms, sines.
//!
//! In: numbers `hi + lo` with |lo| <= ulp(hi)/2. Out: the like, the four operations within 2^-100, the functions within 2^-76 relative
//! (sine and cosine: absolute). So a function computed with them and rounded once is within 0.5001 ULP wherever less than 2^20 of it
//! cancels. Everything is one value at a time and follows IEEE 754, so the bits do not depend on the processor.

use super::tables::{LN2, PI, SIXTH};
use crate::dd::{fast_two_sum, two_prod, two_sum};
use crate::log::{log_wide, log1p_wide};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// `hi + lo`.
#[derive(Clone, Copy, Debug)]
pub(super) struct D {
    pub(super) hi: f64,
    pub(super) lo: f64,
}

/// A number of one word.
#[inline(always)]
pub(super) fn d(x: f64) -> D {
    D { hi: x, lo: 0.0 }
}

impl Neg for D {
    type Output = D;
    #[inline(always)]
    fn neg(self) -> D {
        D { hi: -self.hi, lo: -self.lo }
    }
}

impl Add for D {
    type Output = D;
    #[inline(always)]
    fn add(self, b: D) -> D {
        let (s, e) = two_sum(self.hi, b.hi);
        let (t, f) = two_sum(self.lo, b.lo);
        let (s, e) = fast_two_sum(s, e + t);
        let (hi, lo) = fast_two_sum(s, e + f);
        D { hi, lo }
    }
}

impl Add<f64> for D {
    type Output = D;
    #[inline(always)]
    fn add(self, b: f64) -> D {
        let (s, e) = two_sum(self.hi, b);
        let (hi, lo) = fast_two_sum(s, e + self.lo);
        D { hi, lo }
    }
}

impl Sub for D {
    type Output = D;
    #[inline(always)]
    fn sub(self, b: D) -> D {
        self + -b
    }
}

impl Sub<f64> for D {
    type Output = D;
    #[inline(always)]
    fn sub(self, b: f64) -> D {
        self + -b
    }
}

impl Mul for D {
    type Output = D;
    #[inline(always)]
    fn mul(self, b: D) -> D {
        let (p, e) = two_prod(self.hi, b.hi);
        let (hi, lo) = fast_two_sum(p, e + self.hi.mul_add(b.lo, self.lo * b.hi));
        D { hi, lo }
    }
}

impl Mul<f64> for D {
    type Output = D;
    #[inline(always)]
    fn mul(self, b: f64) -> D {
        let (p, e) = two_prod(self.hi, b);
        let (hi, lo) = fast_two_sum(p, self.lo.mul_add(b, e));
        D { hi, lo }
    }
}

impl Div for D {
    type Output = D;
    #[inline(always)]
    fn div(self, b: D) -> D {
        let q = self.hi / b.hi;
        let rest = self - b * q;
        let r = rest.hi / b.hi;
        let rest = rest - b * r;
        let (hi, lo) = fast_two_sum(q, r);
        D { hi, lo } + rest.hi / b.hi
    }
}

impl Div<f64> for D {
    type Output = D;
    #[inline(always)]
    fn div(self, b: f64) -> D {
        self / d(b)
    }
}

/// A number times a power of two: for values beyond the exponents of f64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaled {
    pub(super) value: D,
    pub(super) exponent: i32,
}

/// 2^n for a normal result.
#[inline(always)]
pub(super) fn two_to(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

impl Scaled {
    /// With a first word between 1/2 and 2.
    #[inline(always)]
    pub(super) fn new(value: D) -> Scaled {
        if value.hi == 0.0 || !value.hi.is_finite() {
            return Scaled { value, exponent: 0 };
        }
        // subnormal numbers first come into the range
        let (value, before) = if value.hi.abs() < 1e-290 { (value * two_to(200), -200) } else { (value, 0) };
        let n = ((value.hi.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let half = n / 2;
        let (a, b) = (two_to(-half), two_to(half - n));
        Scaled { value: D { hi: value.hi * a * b, lo: value.lo * a * b }, exponent: n + before }
    }

    #[inline(always)]
    pub(super) fn times(self, b: Scaled) -> Scaled {
        Scaled { value: self.value * b.value, exponent: self.exponent + b.exponent }.normal()
    }

    #[inline(always)]
    pub(super) fn over(self, b: Scaled) -> Scaled {
        Scaled { value: self.value / b.value, exponent: self.exponent - b.exponent }.normal()
    }

    #[inline(always)]
    pub(super) fn plus(self, b: Scaled) -> Scaled {
        let (big, small) = if self.value.hi == 0.0 || (b.value.hi != 0.0 && b.exponent > self.exponent) { (b, self) } else { (self, b) };
        let apart = big.exponent - small.exponent;
        if apart > 300 || small.value.hi == 0.0 {
            return big;
        }
        Scaled { value: big.value + small.value.scale(two_to(-apart)), exponent: big.exponent }.normal()
    }

    #[inline(always)]
    pub(super) fn negative(self) -> Scaled {
        Scaled { value: -self.value, ..self }
    }

    /// The square root of a positive value.
    #[inline(always)]
    pub(super) fn sqrt(self) -> Scaled {
        let odd = self.exponent & 1;
        Scaled { value: self.value.scale(f64::from(1 + odd)).sqrt(), exponent: (self.exponent - odd) / 2 }.normal()
    }

    /// As a plain number, which must be a normal one.
    #[inline(always)]
    pub(super) fn plain(self) -> D {
        self.value.scale(two_to(self.exponent.clamp(-1000, 1000)))
    }

    /// The logarithm of a positive value.
    #[inline(always)]
    pub(super) fn log(self) -> D {
        // next to 1 the exponent must not take part
        if self.exponent.abs() <= 1 {
            return self.value.scale(two_to(self.exponent)).log();
        }
        self.value.log() + LN2 * f64::from(self.exponent)
    }

    #[inline(always)]
    fn normal(self) -> Scaled {
        let s = Scaled::new(self.value);
        Scaled { exponent: s.exponent + self.exponent, ..s }
    }

    /// Rounded (twice, where the result is subnormal); beyond the range infinite or 0.
    #[inline(always)]
    pub(super) fn round(self) -> f64 {
        let n = self.exponent.clamp(-2200, 2200);
        let (first, rest) = (n / 3, n - 2 * (n / 3));
        let y = self.value.hi + self.value.lo;
        // the first two factors lose nothing: the value is near 1 and they are a third of the way each
        y * two_to(first) * two_to(first) * two_to(rest)
    }
}

impl D {
    /// Rounded.
    #[inline(always)]
    pub(super) fn round(self) -> f64 {
        self.hi + self.lo
    }

    /// The exact sum of two numbers.
    #[inline(always)]
    pub(super) fn sum(a: f64, b: f64) -> D {
        let (hi, lo) = two_sum(a, b);
        D { hi, lo }
    }

    /// The exact product of two numbers.
    #[inline(always)]
    pub(super) fn product(a: f64, b: f64) -> D {
        let (hi, lo) = two_prod(a, b);
        D { hi, lo }
    }

    /// Times a power of two.
    #[inline(always)]
    pub(super) fn scale(self, p: f64) -> D {
        D { hi: self.hi * p, lo: self.lo * p }
    }

    #[inline(always)]
    pub(super) fn recip(self) -> D {
        d(1.0) / self
    }

    #[inline(always)]
    pub(super) fn square(self) -> D {
        self * self
    }

    /// Square root of a positive number.
    #[inline(always)]
    pub(super) fn sqrt(self) -> D {
        let s = self.hi.sqrt();
        let rest = self - D::product(s, s);
        D::sum(s, rest.hi / (2.0 * s))
    }

    /// e^x - 1 for |x| <= ln(2)/2 and a little more: a sixteenth of x by its series, then four times the double argument.
    #[inline(always)]
    pub(super) fn expm1_small(self) -> D {
        let s = self.scale(0.0625);
        let x = s.hi;
        let tail = [1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0];
        let q = tail.iter().rev().fold(0.0f64, |q, &c| q.mul_add(x, c));
        let mut e = s + s.square() * ((SIXTH + D::product(x, q)) * s + 0.5);
        for _ in 0..4 {
            e = e * (e + 2.0);
        }
        e
    }

    /// e^x.
    #[inline(always)]
    pub(super) fn exp(self) -> Scaled {
        // Far beyond the range of f64, but what multiplies it may bring it back: beta's factor alone has up to 2^24,576.
        if self.hi.abs() > 1e5 {
            return Scaled { value: d(1.0), exponent: if self.hi > 0.0 { 200_000 } else { -200_000 } };
        }
        let n = (self.hi * std::f64::consts::LOG2_E).round();
        let r = self - LN2 * n;
        Scaled { value: r.expm1_small() + 1.0, exponent: n as i32 }
    }

    /// log(1 + x), x > -1: a first value, and what its exponential leaves.
    #[inline(always)]
    pub(super) fn log1p(self) -> D {
        let y = log1p_wide(self.hi);
        if y.abs() > 0.34 {
            return (self + 1.0).log_far();
        }
        let e = d(-y).expm1_small();
        let t = self + e + self * e;
        (t - t.square().scale(0.5)) + y
    }

    /// log x, x > 0.
    #[inline(always)]
    pub(super) fn log(self) -> D {
        let less = self - 1.0;
        if less.hi.abs() < 0.25 { less.log1p() } else { self.log_far() }
    }

    /// log x away from 1.
    #[inline(always)]
    fn log_far(self) -> D {
        let x = Scaled::new(self);
        let y = log_wide(x.value.hi);
        let t = x.value * (d(-y).expm1_small_or_more() + 1.0) - 1.0;
        LN2 * f64::from(x.exponent) + y + (t - t.square().scale(0.5))
    }

    /// e^x - 1 for |x| <= 0.7.
    #[inline(always)]
    fn expm1_small_or_more(self) -> D {
        let e = self.scale(0.5).expm1_small();
        e * (e + 2.0)
    }

    /// (sin x, cos x) for |x| <= pi/4 and a little more.
    #[inline(always)]
    pub(super) fn sin_cos_small(self) -> (D, D) {
        let z = self.square();
        let (mut s, mut c) = (d(1.0), d(1.0));
        let mut k = 26.0;
        while k > 1.0 {
            c = d(1.0) - z * c / (k * (k - 1.0));
            s = d(1.0) - z * s / (k * (k + 1.0));
            k -= 2.0;
        }
        (self * s, c)
    }

    /// (sin pi x, cos pi x) for |x| <= 1/2.
    #[inline(always)]
    pub(super) fn sin_cos_pi(self) -> (D, D) {
        let (s, c) = (PI * self).scale(0.5).sin_cos_small();
        ((s * c).scale(2.0), (c - s) * (c + s))
    }
}

/// Polynomial by Horner's rule, lowest coefficient first.
#[inline(always)]
pub(super) fn poly(x: D, c: &[D]) -> D {
    c.iter().rev().skip(1).fold(c[c.len() - 1], |p, &c| p * x + c)
}
