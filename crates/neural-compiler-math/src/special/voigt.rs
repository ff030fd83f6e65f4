//! The Voigt profile and its derivatives by x and gamma: V = Re G(x + i gamma), G(z) = w(z/(s sqrt 2))/(s sqrt(2 pi)), s = |sigma|, with
//! the Faddeeva function w(z) = e^(-z^2) erfc(-i z).
//!
//! In: x, sigma, gamma >= 0 (NaN below, and for sigma = 0). Out: the part of a derivative of G within 1 ULP; next to a zero that is no
//! number, within 1e-18 of the size of that derivative; of orders three and four within 1e-14 and 1e-12, for what cancels near |z| = 20 s.
//! V solves the heat equation, so that by sigma it changes by sigma times the second derivative by x: nothing that cancels where sigma is
//! small beside gamma or |x|.
//!
//! Near: the trapezoidal rule on (i/pi) integral of e^(-t^2)/(z - t), its error at the pole being known (Matta and Reichel 1971; of the two
//! sets of nodes the one further from the pole), and w' = -2 z w + 2 i/sqrt(pi) with its derivatives, in two words, which covers what
//! cancels. Beyond |z|^2 = 150 s^2: the asymptotic series by powers of s/z; by the real axis beyond 600 s^2, and with the bell.

use super::double::{D, Scaled, d};
use super::tables::*;

/// Which derivative of V: by x as often as there is an `X`, by gamma once where there is a `G`. It is harmonic, so there are no others.
#[derive(Clone, Copy)]
pub(super) enum Derivative {
    Value,
    ByX,
    ByG,
    ByXX,
    ByXG,
    ByXXX,
    ByXXG,
    ByXXXX,
    ByXXXG,
}

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

    /// What V is made of: the real part, or the opposite of the imaginary one.
    #[inline(always)]
    fn part(self, across: bool) -> D {
        if across { -self.im } else { self.re }
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

/// w(x + i y), x, y >= 0, |z|^2 <= 300 and a little more, to about 1e-23.
#[inline(always)]
fn near(x: D, y: D) -> C {
    let place = x.hi / STEP;
    let whole = (place - place.floor() - 0.5).abs() <= 0.25;
    let square = y.square();
    let (mut re, mut im) = (d(0.0), d(0.0));
    let mut node = |t: f64, bell: D| {
        let away = x + -t;
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
    if y.hi >= std::f64::consts::PI / STEP {
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
    let bell = turn(-(x * y).scale(2.0)).by(grown(y.square() - x.square()));
    let pole = bell.times(around).times(bottom.recip());
    sum.plus(C { re: pole.re.scale(2.0), im: pole.im.scale(2.0) })
}

/// w and its derivatives there: each is -2 z times the last and -2 k times the one before.
#[inline(always)]
fn derivatives(x: D, y: D) -> [C; 8] {
    let (z, w) = (C { re: x, im: y }, near(x, y));
    let product = z.times(w);
    let mut all = [w; 8];
    all[1] = C { re: product.re.scale(-2.0), im: INV_SQRT_PI.scale(2.0) - product.im.scale(2.0) };
    for k in 1..7 {
        let sum = z.times(all[k]).plus(all[k - 1].by(d(k as f64)));
        all[k + 1] = C { re: sum.re.scale(-2.0), im: sum.im.scale(-2.0) };
    }
    all
}

/// A part of the derivative of w of this order. `odd`: it is an odd function of x. By the imaginary axis the nodes would cancel to what an
/// odd part has left, so there it is Taylor's series.
#[inline(always)]
fn near_part(order: usize, across: bool, odd: bool, x: Scaled, y: D) -> Scaled {
    let place = x.plain();
    if place.hi >= 1e-8 {
        return Scaled::new(derivatives(place, y)[order].part(across));
    }
    let all = derivatives(d(0.0), y);
    let from = order + usize::from(odd);
    let (first, second) = (all[from].part(across), all[from + 2].part(across));
    let sum = Scaled::new(first + second * place.square() / if odd { 6.0 } else { 2.0 });
    if odd { sum.times(x) } else { sum }
}

/// The derivative of this order of the bell e^(-t^2/2), t = x/s >= 0, times s to that order.
#[inline(always)]
fn bell(order: usize, ratio: Scaled) -> Scaled {
    if ratio.exponent >= 7 {
        return Scaled::new(d(0.0));
    }
    let square = ratio.plain().square();
    let factor = match order {
        0 => d(1.0),
        1 => d(-1.0),
        2 => square - 1.0,
        3 => d(3.0) - square,
        _ => square * (square - 6.0) + 3.0,
    };
    let rest = Scaled::new(factor).times((-square.scale(0.5)).exp());
    if order % 2 == 1 { rest.times(ratio) } else { rest }
}

/// A number over a power of two; if less than 2^-300 is left, 2^-300 or so. With it: by how many powers of two that is too large.
#[inline(always)]
fn lifted(x: f64, exponent: i32) -> (D, i32) {
    let x = Scaled::new(d(x));
    let left = x.exponent - exponent;
    let lift = if x.value.hi == 0.0 { 0 } else { (-300 - left).max(0) };
    (Scaled { exponent: left + lift, ..x }.plain(), lift)
}

/// i/pi times the sum of (2k-1)!! s^2k/z^(2k+1), differentiated term by term. What is below all numbers beside the larger of x and gamma
/// counts in its first power only, and comes in at the end.
#[inline(always)]
fn far(order: usize, across: bool, odd: bool, x: f64, sigma: f64, gamma: f64) -> Scaled {
    let exponent = Scaled::new(d(x.max(gamma))).exponent;
    let ((re, lift_x), (im, lift_y)) = (lifted(x, exponent), lifted(gamma, exponent));
    let r = C { re, im }.recip();
    let width = Scaled::new(d(sigma));
    let u = r.by(Scaled { exponent: width.exponent - exponent, ..width }.plain());
    let square = u.times(u);
    let mut power = r;
    for _ in 0..order {
        power = power.times(r);
    }
    let mut sum = C { re: d(0.0), im: d(0.0) };
    let mut factor = d(1.0);
    let mut last = f64::INFINITY;
    for k in 0..150 {
        let odd_number = (2 * k + 1) as f64;
        let mut slope = 1.0;
        for j in 0..order {
            slope *= -(odd_number + j as f64);
        }
        let term = power.by(factor * slope);
        let size = term.re.hi.abs() + term.im.hi.abs();
        if size > last || size < 1e-38 * (sum.re.hi.abs() + sum.im.hi.abs()) {
            break;
        }
        last = size;
        sum = sum.plus(term);
        power = power.times(square);
        factor = factor * odd_number;
    }
    let found = Scaled::new(C { re: -sum.im, im: sum.re }.part(across) / PI);
    let lift = i32::from(odd) * lift_x + i32::from(!across) * lift_y;
    Scaled { exponent: found.exponent - exponent * (order as i32 + 1) - lift, ..found }
}

/// Whether the asymptotic series serves at (p + i q) s: beside its terms nothing is left out but the bell, e^-75 and less, which counts
/// where q is as small.
#[inline(always)]
fn is_far(p: f64, q: f64) -> bool {
    let square = p * p + q * q;
    square > 600.0 || (square > 300.0 && q > 1e-29) || (square > 150.0 && q > 2e-3)
}

/// A derivative of the profile, by its place in [`Derivative`].
#[inline(always)]
pub(super) fn of(derivative: f64, x: f64, sigma: f64, gamma: f64) -> f64 {
    let number = derivative as usize;
    let (order, across) = (number.div_ceil(2), number > 0 && number.is_multiple_of(2));
    let sigma = sigma.abs();
    let endless = x.is_infinite() || gamma.is_infinite();
    if x.is_nan() || gamma.is_nan() || gamma < 0.0 || sigma.is_nan() || sigma == 0.0 || (endless && sigma.is_infinite()) {
        return f64::NAN;
    }
    if endless || sigma.is_infinite() {
        return 0.0;
    }
    let odd = (order % 2 == 1) != across;
    let flip = odd && x.is_sign_negative();
    let x = x.abs();
    let width = Scaled::new(d(sigma));
    let over = |v: f64| if v == 0.0 { Scaled::new(d(0.0)) } else { Scaled::new(d(v)).over(width) };
    let (ratio, height) = (over(x), over(gamma));
    let (p, q) = (x / sigma, gamma / sigma);
    let mut power = width;
    for _ in 0..order {
        power = power.times(width);
    }
    let axis = |order: usize| bell(order, ratio).times(Scaled::new(INV_SQRT_PI * SQRT_HALF)).over(power);
    let value = if gamma == 0.0 && !across {
        axis(order)
    } else if is_far(p, q) {
        let series = far(order, across, odd, x, sigma, gamma);
        // by the real axis the exponential is all there may be
        if across || q > 1e-50 { series } else { series.plus(axis(order)) }
    } else {
        let half = Scaled::new(SQRT_HALF);
        let found = near_part(order, across, odd, ratio.times(half), height.times(half).plain());
        let mut factor = Scaled::new(INV_SQRT_PI).times(half);
        for _ in 0..order {
            factor = factor.times(half);
        }
        found.times(factor).over(power)
    }
    .round();
    if flip { -value } else { value }
}
