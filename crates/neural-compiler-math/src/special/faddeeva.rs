//! The Faddeeva function w(z) = e^(-z^2) erfc(-i z) and its first two derivatives, above the real axis.
//!
//! In: z = x + i y, y >= 0 (NaN below). Out: real or imaginary part within 1 ULP, or within 1e-20 absolute next to a zero and where the
//! real part is nearly nothing beside the imaginary one; on the real axis, where it is a bell, the real part has all its digits.
//!
//! The trapezoidal rule on (i/pi) integral of e^(-t^2)/(z - t), its error at the pole being known (Matta and Reichel 1971; of the two
//! sets of nodes the one further from the pole); beyond |z|^2 = 300 the asymptotic series, and e^(-x^2) by the real axis. The derivatives
//! follow from w' = -2 z w + 2 i/sqrt(pi), in two words, which covers what cancels.

use super::double::{D, Scaled, d};
use super::tables::*;

/// A complex number of two words.
#[derive(Clone, Copy)]
struct C {
    re: D,
    im: D,
}

impl C {
    #[inline(always)]
    fn times(self, b: C) -> C {
        C { re: self.re * b.re - self.im * b.im, im: self.re * b.im + self.im * b.re }
    }

    #[inline(always)]
    fn plus(self, b: C) -> C {
        C { re: self.re + b.re, im: self.im + b.im }
    }

    #[inline(always)]
    fn by(self, f: D) -> C {
        C { re: self.re * f, im: self.im * f }
    }

    #[inline(always)]
    fn recip(self) -> C {
        let size = self.re.square() + self.im.square();
        C { re: self.re / size, im: -self.im / size }
    }
}

/// e^(i t) for any t of two words below some hundreds.
#[inline(always)]
fn turn(t: D) -> C {
    let n = (t.hi * std::f64::consts::FRAC_2_PI).round();
    let (s, c) = (t - PI.scale(0.5) * n).sin_cos_small();
    let (s, c) = match n as i64 & 3 {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    };
    C { re: c, im: s }
}

/// e^t.
#[inline(always)]
fn grown(t: D) -> D {
    if t.hi < -600.0 { d(0.0) } else { t.exp().plain() }
}

/// w(x + i y), x, y >= 0, |z|^2 <= 300.
#[inline(always)]
fn near(x: f64, y: f64) -> C {
    let place = x / STEP;
    let whole = (place - place.floor() - 0.5).abs() <= 0.25;
    let square = D::product(y, y);
    let (mut re, mut im) = (d(0.0), d(0.0));
    let mut node = |t: f64, bell: D| {
        let away = D::sum(x, -t);
        let part = bell / (away.square() + square);
        re = re + part;
        im = im + part * away;
    };
    if whole {
        node(0.0, d(1.0));
    }
    for k in 0..16 {
        let (t, bell) = if whole { ((k + 1) as f64 * STEP, BELL_WHOLE[k]) } else { ((k as f64 + 0.5) * STEP, BELL_HALF[k]) };
        node(t, bell);
        node(-t, bell);
    }
    let scale = d(STEP) / PI;
    let sum = C { re: re * scale * y, im: im * scale };
    if y >= std::f64::consts::PI / STEP {
        return sum;
    }
    // 2 e^(-z^2)/(1 -+ e^(-2 pi i z/STEP)), over its large exponential
    let turns = (PI * x).scale(2.0) / STEP;
    let fall = grown(-(PI * y).scale(2.0) / STEP);
    // e^(2 pi i z/STEP), small above the axis
    let around = turn(turns).by(fall);
    let sign = if whole { -1.0 } else { 1.0 };
    // 2 e^(-z^2) u/(u -+ 1)
    let bottom = C { re: around.re + sign, im: around.im };
    let bell = turn(-(D::product(x, y).scale(2.0))).by(grown(D::product(y, y) - D::product(x, x)));
    let pole = bell.times(around).times(bottom.recip());
    sum.plus(C { re: pole.re.scale(2.0), im: pole.im.scale(2.0) })
}

/// w and its derivatives far out: i/sqrt(pi) times the sum of (2k-1)!!/2^k z^-(2k+1), term by term.
#[inline(always)]
fn far(order: usize, x: f64, y: f64) -> C {
    let r = C { re: d(x), im: d(y) }.recip();
    let square = r.times(r);
    let mut power = r;
    for _ in 0..order {
        power = power.times(r);
    }
    let mut sum = C { re: d(0.0), im: d(0.0) };
    let mut factor = d(1.0);
    let mut last = f64::INFINITY;
    for k in 0..150 {
        let exponent = (2 * k + 1) as f64;
        let slope = match order {
            0 => 1.0,
            1 => -exponent,
            _ => exponent * (exponent + 1.0),
        };
        let term = power.by(factor * slope);
        let size = term.re.hi.abs() + term.im.hi.abs();
        if size > last || size < 1e-38 * (sum.re.hi.abs() + sum.im.hi.abs()) {
            break;
        }
        last = size;
        sum = sum.plus(term);
        power = power.times(square);
        factor = factor * ((2 * k + 1) as f64 * 0.5);
    }
    let sum = sum.by(INV_SQRT_PI);
    let above = C { re: -sum.im, im: sum.re };
    if y > 1e-50 {
        return above;
    }
    // by the real axis the exponential is all there may be
    let bell = grown(-D::product(x, x));
    let bell = match order {
        0 => bell,
        1 => bell * x * -2.0,
        _ => bell * (D::product(x, x).scale(4.0) - 2.0),
    };
    C { re: above.re + bell, ..above }
}

/// The derivative of that order, for x >= 0.
#[inline(always)]
fn derivative(order: usize, x: f64, y: f64) -> C {
    if x * x + y * y > 300.0 {
        return far(order, x, y);
    }
    let z = C { re: d(x), im: d(y) };
    let w = near(x, y);
    if order == 0 {
        return w;
    }
    let product = z.times(w);
    let first = C { re: product.re.scale(-2.0), im: INV_SQRT_PI.scale(2.0) - product.im.scale(2.0) };
    if order == 1 {
        return first;
    }
    let sum = w.plus(z.times(first));
    C { re: sum.re.scale(-2.0), im: sum.im.scale(-2.0) }
}

/// One part of a derivative anywhere: w(-conj z) = conj w(z).
#[inline(always)]
fn part(order: usize, imaginary: bool, x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || y < 0.0 {
        return f64::NAN;
    }
    if x.is_infinite() || y.is_infinite() {
        return 0.0;
    }
    if y == 0.0 && !imaginary {
        return on_axis(order, x);
    }
    // beyond this every part is i/(sqrt(pi) z) or its derivative, and may be below all numbers
    let size = x.abs().max(y);
    if size > 1e100 {
        return beyond(order, imaginary, x, y);
    }
    let w = derivative(order, x.abs(), y);
    let value = if imaginary { w.im } else { w.re }.round();
    // mirrored, derivatives of odd order change sign once more
    let flip = x.is_sign_negative() && (imaginary != (order % 2 == 1));
    if flip { -value } else { value }
}

/// The real part on the axis: e^(-x^2) and its derivatives.
#[inline(always)]
fn on_axis(order: usize, x: f64) -> f64 {
    if x.abs() > 40.0 {
        return 0.0;
    }
    let square = D::product(x, x);
    let factor = match order {
        0 => d(1.0),
        1 => d(-2.0 * x),
        _ => square.scale(4.0) - 2.0,
    };
    Scaled::new(factor).times((-square).exp()).round()
}

/// The first term alone, scaled.
#[inline(always)]
fn beyond(order: usize, imaginary: bool, x: f64, y: f64) -> f64 {
    let size = Scaled::new(d(x.abs().max(y)));
    let down = |v: f64| if v == 0.0 { d(0.0) } else { Scaled::new(d(v)).over(size).plain() };
    let z = C { re: down(x), im: down(y) };
    let r = z.recip();
    let mut power = r;
    for _ in 0..order {
        power = power.times(r);
    }
    let factor = [1.0, -1.0, 2.0][order];
    let term = if imaginary { power.re } else { -power.im };
    let mut result = Scaled::new(term * INV_SQRT_PI * factor);
    for _ in 0..=order {
        result = result.over(size);
    }
    result.round()
}

macro_rules! parts {
    ($($name:ident: $order:literal, $imaginary:literal;)*) => {$(
        #[inline(always)]
        pub(super) fn $name(x: f64, y: f64) -> f64 {
            part($order, $imaginary, x, y)
        }
    )*};
}

parts! {
    re: 0, false;
    im: 0, true;
    re_1: 1, false;
    im_1: 1, true;
    re_2: 2, false;
    im_2: 2, true;
}
