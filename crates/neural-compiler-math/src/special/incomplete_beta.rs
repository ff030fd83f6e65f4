//! The regularised incomplete beta function I_x(a, b), its derivatives by the shapes a and b, and the density between them.
//!
//! In: a > 0, b > 0, 0 <= x <= 1 (NaN elsewhere). Out: I and 1 - I within 1 ULP or 1e-20 absolute for shapes up to 1e9; derivatives by the
//! shapes of the first two orders within 1 ULP or 1e-18 absolute.
//!
//! On the side of the mean a/(a + b) where x lies (the other one is that of 1 - x with the shapes exchanged) I is x^a (1-x)^b/B(a, b)
//! times, by log t/(1-t) = log x/(1-x) + u, the integral of e^(a u - (a+b) log(1 + x (e^u - 1))), u from -inf to 0, which falls from its
//! end on: by the rule of `incomplete.rs`. Derivatives by the shapes are powers of log t/x and log (1-t)/(1-x) under the integral, and
//! those of the factor. Where a shape is small the series of positive terms (a+b)_n/(a+1)_n x^n serves.

use super::beta::beta_positive;
use super::double::{D, Scaled, d};
use super::gamma::{digamma_positive, polygamma_positive, stirling_tail};
use super::incomplete::expm1;
use super::tables::*;

/// Taylor coefficients by changes of the shapes: of 1, a, b, a a, a b, b b.
type Jet = [D; 6];

/// How many of them an order needs.
const COUNT: [usize; 3] = [1, 3, 6];

/// Below this a shape is small.
const SMALL: f64 = 60.0;

/// Series in numbers above this take too many terms.
const SLOW: f64 = 0.7;

/// Below these a shape is nearly nothing beside 1 and the other one, for the value and for first derivatives.
const VANISHING: [f64; 2] = [1e-12, 1e-16];

/// From this shape on the factor is written as the distance from its largest value.
const FAR: f64 = 30.0;

/// Where a function is asked for: x and 1 - x, and the sum of the shapes.
#[derive(Clone, Copy)]
struct Place {
    a: f64,
    b: f64,
    x: D,
    y: D,
    whole: D,
}

impl Place {
    /// The same seen from the other end.
    #[inline(always)]
    fn mirrored(self) -> Place {
        Place { a: self.b, b: self.a, x: self.y, y: self.x, whole: self.whole }
    }
}

#[inline(always)]
fn product(p: &Jet, q: &Jet) -> Jet {
    [
        p[0] * q[0],
        p[0] * q[1] + p[1] * q[0],
        p[0] * q[2] + p[2] * q[0],
        p[0] * q[3] + p[1] * q[1] + p[3] * q[0],
        p[0] * q[4] + p[1] * q[2] + p[2] * q[1] + p[4] * q[0],
        p[0] * q[5] + p[2] * q[2] + p[5] * q[0],
    ]
}

/// x^a (1-x)^b/B(a, b).
#[inline(always)]
fn factor(p: Place) -> Scaled {
    let Place { a, b, x, y, whole } = p;
    if a.min(b) < FAR {
        return (x.log() * a + y.log() * b).exp().over(beta_positive(a, b));
    }
    // sqrt(a b/(2 pi (a+b))) e^-(a (m - log(1 + m)) + b (n - log(1 + n)) + tails), m = x (a+b)/a - 1, n = (1-x) (a+b)/b - 1, a m + b n = 0
    let off = x * b - y * a;
    let fall = |m: D, log: D| if m.hi > -0.5 { m - m.log1p() } else { m - log };
    let (m, n) = (off / a, -off / b);
    let falls = fall(m, (x * whole / a).log()) * a + fall(n, (y * whole / b).log()) * b;
    let tails = stirling_tail(d(a)) + stirling_tail(d(b)) - stirling_tail(whole);
    let height = Scaled::new(d(a)).times(Scaled::new(d(b))).over(Scaled::new(whole)).over(Scaled::new(PI.scale(2.0)));
    (-falls - tails).exp().times(height.sqrt())
}

/// The factor's derivatives over it. `above`: a, or a + 1 where the factor is over a.
#[inline(always)]
fn slopes(order: usize, p: Place, above: D) -> Jet {
    let mut jet = [d(0.0); 6];
    jet[0] = d(1.0);
    if order == 0 {
        return jet;
    }
    let shapes = [p.whole, above, d(p.b)];
    let psi = shapes.map(digamma_positive);
    let (first, second) = (p.x.log() + (psi[0] - psi[1]), p.y.log() + (psi[0] - psi[2]));
    (jet[1], jet[2]) = (first, second);
    if order > 1 {
        let bend = shapes.map(|x| polygamma_positive(1, x).plain());
        jet[3] = (first.square() + (bend[0] - bend[1])).scale(0.5);
        jet[4] = first * second + bend[0];
        jet[5] = (second.square() + (bend[0] - bend[2])).scale(0.5);
    }
    jet
}

/// The sum of (a+b)_n/(a+1)_n x^n.
#[inline(always)]
fn series(order: usize, p: Place) -> Jet {
    let count = COUNT[order];
    let mut term = [d(0.0); 6];
    term[0] = d(1.0);
    let mut sum = term;
    let mut k = 0.0;
    while k < 3000.0 {
        // (a + 1 + k + e) next = (a + b + k + e + f) x term, e and f the changes of the shapes
        let (top, bottom) = ((p.whole + k) * p.x, D::sum(p.a, 1.0) + k);
        let old = term;
        let moved = [d(0.0), old[0], old[0], old[1], old[1] + old[2], old[2]];
        let mut small = true;
        for n in 0..count {
            let before = [d(0.0), term[0], d(0.0), term[1], term[2], d(0.0)][n];
            term[n] = (old[n] * top + moved[n] * p.x - before) / bottom;
            sum[n] = sum[n] + term[n];
            small &= term[n].hi.abs() <= 1e-33 * sum[n].hi.abs().max(sum[0].hi);
        }
        k += 1.0;
        if small {
            break;
        }
    }
    sum
}

/// The integral.
#[inline(always)]
fn integral(order: usize, p: Place) -> Jet {
    let Place { a, b, x, y, whole } = p;
    let slope = y.hi * a - x.hi * b;
    let width = 1.0 / (slope.max(0.0) + (whole.hi * x.hi * y.hi).sqrt());
    let mut sums = [d(0.0); 6];
    for &(place, weight) in &FALLING {
        let u = place * -width;
        // log t/x and log (1-t)/(1-x), from the one of x and 1 - x that is small
        let (small, way) = if x.hi < 0.5 { (x, u) } else { (y, -u) };
        let log = -(small * expm1(way)).log1p();
        let (near, far, exponent) = if x.hi < 0.5 { (u + log, log, u * a + whole * log) } else { (log, log - u, whole * log - u * b) };
        if exponent.hi < -70.0 {
            break;
        }
        let part = exponent.exp().plain() * weight;
        sums[0] = sums[0] + part;
        if order > 0 {
            let (by_a, by_b) = (part * near, part * far);
            (sums[1], sums[2]) = (sums[1] + by_a, sums[2] + by_b);
            if order > 1 {
                sums[3] = sums[3] + (by_a * near).scale(0.5);
                sums[4] = sums[4] + by_a * far;
                sums[5] = sums[5] + (by_b * far).scale(0.5);
            }
        }
    }
    sums.map(|s| s * width)
}

/// How I is found left of the mean, over the factor.
struct Found {
    jet: Jet,
    /// What the factor is over.
    over: f64,
    /// It is 1 - I that is found, from the other end or for a tiny shape.
    complement: bool,
}

/// 1 - I where the shape a is nearly nothing, so that the difference would have no digits, and its derivatives: I is 1 where that shape is
/// 0; by its derivatives from there 1 - I is -a I_a + a^2/2 I_aa, and its slope by b -a I_ab.
#[inline(always)]
fn vanishing(p: Place) -> Jet {
    let jet = product(&slopes(2, p, D::sum(p.a, 1.0)), &series(2, p));
    [(jet[3] * p.a - jet[1]) * p.a, -jet[1], -jet[4] * p.a, d(0.0), d(0.0), d(0.0)]
}

/// Left of the mean.
#[inline(always)]
fn left(order: usize, p: Place) -> Found {
    let quick = p.x.hi <= SLOW && (p.a < SMALL || p.whole.hi * p.x.hi <= SLOW * (p.a + 1.0));
    let other = !quick && p.b < SMALL && p.whole.hi * p.y.hi <= SMALL && p.y.hi <= SLOW;
    let p = if other { p.mirrored() } else { p };
    let by_series = quick || other;
    let tiny = by_series && VANISHING.get(order).is_some_and(|&small| p.a < small * p.b.min(1.0));
    let mut jet = match (tiny, by_series) {
        (true, _) => vanishing(p),
        (_, true) => product(&slopes(order, p, D::sum(p.a, 1.0)), &series(order, p)),
        _ => product(&slopes(order, p, d(p.a)), &integral(order, p)),
    };
    if other {
        let [one, b, a, bb, ab, aa] = jet;
        jet = [one, a, b, aa, ab, bb];
    }
    Found { jet, over: if by_series { p.a } else { 1.0 }, complement: other != tiny }
}

/// Which derivative: its place in a jet, and how many times the coefficient it is.
#[derive(Clone, Copy)]
struct Which {
    order: usize,
    at: usize,
    times: f64,
    /// Of 1 - I.
    upper: bool,
}

/// What there is, as [`of`] counts it.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Value,
    Complement,
    ByA,
    ByB,
    ByAA,
    ByAB,
    ByBB,
    Density,
}

const WHICH: [Which; 7] = [
    Which { order: 0, at: 0, times: 1.0, upper: false },
    Which { order: 0, at: 0, times: 1.0, upper: true },
    Which { order: 1, at: 1, times: 1.0, upper: false },
    Which { order: 1, at: 2, times: 1.0, upper: false },
    Which { order: 2, at: 3, times: 2.0, upper: false },
    Which { order: 2, at: 4, times: 1.0, upper: false },
    Which { order: 2, at: 5, times: 2.0, upper: false },
];

/// For arguments inside the range: the derivative, or without one asked for the density.
#[inline(always)]
fn inside(which: Option<Which>, a: f64, b: f64, x: f64) -> f64 {
    let p = Place { a, b, x: d(x), y: D::sum(1.0, -x), whole: D::sum(a, b) };
    let factor = factor(p);
    let Some(which) = which else {
        return factor.over(Scaled::new(p.x)).over(Scaled::new(p.y)).round();
    };
    let right = x * b > p.y.hi * a;
    let found = left(which.order, if right { p.mirrored() } else { p });
    let at = if right { [0, 2, 1, 5, 4, 3][which.at] } else { which.at };
    let value = Scaled::new(found.jet[at] * which.times).times(factor).over(Scaled::new(d(found.over)));
    match (which.upper != (found.complement != right), which.order) {
        (false, _) => value.round(),
        // what is nearly nothing beside 1 is known to 1e-20, and is no negative number
        (true, 0) => Scaled::new(d(1.0)).plus(value.negative()).round().max(0.0),
        (true, _) => value.negative().round(),
    }
}

/// Both shapes so small that all is at the two ends: I = b/(a + b).
#[inline(always)]
fn at_the_ends(which: Which, a: f64, b: f64) -> f64 {
    let whole = a + b;
    match which.at {
        0 if which.upper => a / whole,
        0 => b / whole,
        1 => -(b / whole) / whole,
        2 => a / whole / whole,
        3 => 2.0 * (b / whole) / whole / whole,
        4 => (b - a) / whole / whole / whole,
        _ => -2.0 * (a / whole) / whole / whole,
    }
}

/// One shape without bound beside the other: the incomplete gamma function of `shape` at `place`; `upper` as seen from that end.
#[inline(always)]
fn like_gamma(which: Which, upper: bool, shape: f64, place: f64, of_shape: [usize; 2]) -> f64 {
    let sign = if upper { -1.0 } else { 1.0 };
    match which.at {
        0 if upper => crate::GAMMA_Q.f64(shape, place),
        0 => crate::GAMMA_P.f64(shape, place),
        at if at == of_shape[0] => sign * crate::GAMMA_P_1.f64(shape, place),
        at if at == of_shape[1] => sign * crate::GAMMA_P_2.f64(shape, place),
        // by the other shape: less than its reciprocal
        _ => 0.0,
    }
}

/// Shapes beyond this are without bound beside others.
const HUGE: f64 = 1e40;

/// Shapes below this change nothing by getting smaller, to far below the last bit, or all in proportion.
const TINY: f64 = 1e-290;

/// What is left of a function in proportion to a shape below that: the smaller one of I and 1 - I, its derivatives by the other shape, the
/// density.
#[inline(always)]
fn shrunk(which: Option<Which>, a: f64, b: f64) -> f64 {
    let (of_a, of_b) = match which {
        Some(Which { at: 0, upper, .. }) => (upper, !upper),
        Some(Which { at, .. }) => (at == 2 || at == 5, at == 1 || at == 3),
        None => (true, true),
    };
    let left = |shape: f64, is: bool| if is && shape < TINY { shape / TINY } else { 1.0 };
    left(a, of_a) * left(b, of_b)
}

/// Where the shapes or the place are at an end of their range.
#[inline(always)]
fn at_an_end(which: Which, a: f64, b: f64, x: f64) -> Option<f64> {
    let wrong = a.is_nan() || b.is_nan() || !(0.0..=1.0).contains(&x) || a < 0.0 || b < 0.0;
    if wrong || (a == 0.0 && (b == 0.0 || x == 0.0)) || (b == 0.0 && x == 1.0) || (a.is_infinite() && b.is_infinite()) {
        return Some(f64::NAN);
    }
    // I is 0 or 1
    let end = |low: bool| if which.order == 0 { f64::from(low == which.upper) } else { 0.0 };
    if x == 0.0 || a.is_infinite() {
        return Some(end(true));
    }
    if x == 1.0 || b.is_infinite() {
        return Some(end(false));
    }
    if a == 0.0 || b == 0.0 {
        return Some(if which.order > 0 { f64::NAN } else { end(b == 0.0) });
    }
    if a + b < 1e-25 {
        return Some(at_the_ends(which, a, b));
    }
    let (small, large) = (a.min(b), a.max(b));
    if large <= HUGE {
        return None;
    }
    if small * small < 1e-20 * large {
        let seen = |upper: bool, shape: f64, place: f64, of_shape: [usize; 2]| like_gamma(which, upper, shape, place, of_shape);
        return Some(if b > a { seen(which.upper, a, b * x, [1, 3]) } else { seen(!which.upper, b, a * (1.0 - x), [2, 5]) });
    }
    // nothing between the ends but the mean
    let mean = a / (a / 2.0 + b / 2.0) / 2.0;
    Some(if x == mean && which.order == 0 { 0.5 } else { end(x < mean) })
}

/// Where the density is not that of the inside.
#[inline(always)]
fn density_at_an_end(a: f64, b: f64, x: f64) -> Option<f64> {
    let right = |s: f64| s > 0.0;
    if !right(a) || !right(b) || !(0.0..=1.0).contains(&x) || (a.is_infinite() && b.is_infinite()) {
        return Some(f64::NAN);
    }
    let edge = |own: f64, other: f64| {
        if own < 1.0 {
            f64::INFINITY
        } else if own == 1.0 {
            other
        } else {
            0.0
        }
    };
    if x == 0.0 {
        return Some(edge(a, b));
    }
    if x == 1.0 {
        return Some(edge(b, a));
    }
    // nearly all of it is at the ends, b/(a + b) and a/(a + b)
    if a + b < 1e-25 {
        let [whole, x, y] = [D::sum(a, b), d(x), D::sum(1.0, -x)].map(Scaled::new);
        return Some(Scaled::new(d(a)).over(whole).times(Scaled::new(d(b))).over(x).over(y).round());
    }
    // all of it is nearer to an end, or to the mean, than any number
    (a.max(b) > 1e290).then_some(0.0)
}

/// The function counted by [`Function`]: all in one, so that the code is there once.
#[inline(always)]
pub(super) fn of(function: f64, a: f64, b: f64, x: f64) -> f64 {
    let which = WHICH.get(function as usize).copied();
    let end = match which {
        Some(which) => at_an_end(which, a, b, x),
        None => density_at_an_end(a, b, x),
    };
    end.unwrap_or_else(|| inside(which, a.max(TINY), b.max(TINY), x) * shrunk(which, a, b))
}
