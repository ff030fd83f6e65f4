//! Bessel functions of whole order: J, I and K.
//!
//! In: a whole order up to 20 and any f64. Out: the function within 1 ULP, J also within 1e-20 absolute next to its zeros.
//! J(-n) = (-1)^n J(n), I(-n) = I(n), K(-n) = K(n). K is infinite at 0 and NaN below. Other orders give NaN.
//!
//! Small arguments: the power series, which cancel little there. J in between: Miller's recurrence from far above. K in between: the
//! trapezoidal rule on the integral of e^(-x cosh t) cosh(n t), whose error falls as e^(-pi^2/step). From 30 on: Hankel's asymptotic
//! series, whose least term is e^(-2 x).

use super::double::{D, Scaled, d, two_to};
use super::tables::*;
use crate::trig;

/// The largest order.
const MOST: f64 = 20.0;

/// From here on the asymptotic series hold.
const FAR: f64 = 30.0;

/// (x/2)^n/n! times the sum of (sign z)^k n!/(k! (n + k)!), z = x^2/4.
#[inline(always)]
fn series(n: usize, x: f64, sign: f64) -> Scaled {
    let z = D::product(x, x).scale(0.25 * sign);
    let (mut term, mut sum) = (d(1.0), d(1.0));
    let mut k = 1.0;
    while term.hi.abs() > 1e-34 * sum.hi.abs() && k < 300.0 {
        term = term * z / (k * (k + n as f64));
        sum = sum + term;
        k += 1.0;
    }
    let mut result = Scaled::new(sum);
    let half = Scaled::new(d(x));
    for k in 1..=n {
        result = result.times(half).over(Scaled::new(d(2.0 * k as f64)));
    }
    result
}

/// The sums of Hankel's series: of its even terms and of its odd ones; `sign` -1 makes each kind alternate.
#[inline(always)]
fn hankel(n: usize, x: f64, sign: f64) -> (D, D) {
    let four = 4.0 * (n * n) as f64;
    let (mut term, mut even, mut odd) = (d(1.0), d(1.0), d(0.0));
    let step = d(x).recip().scale(0.125);
    for k in 1..200 {
        let side = (2 * k - 1) as f64;
        let next = term * step * (four - side * side) / k as f64;
        if next.hi.abs() < 1e-34 || (next.hi.abs() > term.hi.abs() && k > 2 * n) {
            break;
        }
        term = next;
        let signed = if sign < 0.0 && k % 4 >= 2 { -term } else { term };
        if k % 2 == 0 {
            even = even + signed;
        } else {
            odd = odd + signed;
        }
    }
    (even, odd)
}

/// J of orders 0 and 1, x >= 30.
#[inline(always)]
fn j_far(x: f64) -> (D, D) {
    let (q, r, lo) = if x <= trig::LIMIT { trig::reduce(x) } else { trig::reduce_large(x) };
    let (s, c) = D::sum(r, lo).sin_cos_small();
    let (s, c) = match q.to_bits() & 3 {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    };
    // sqrt(2/(pi x))/sqrt(2); a factor 2^200 is taken out of the root where pi x would be infinite
    let size = if x > 1e300 { (PI * (x * two_to(-200))).sqrt().recip().scale(two_to(-100)) } else { (PI * x).sqrt().recip() };
    let (p0, q0) = hankel(0, x, -1.0);
    let (p1, q1) = hankel(1, x, -1.0);
    let (plus, minus) = (s + c, s - c);
    ((p0 * plus - q0 * minus) * size, (p1 * minus + q1 * plus) * size)
}

/// J(n, x), x > 0.
#[inline(always)]
fn j_positive(n: usize, x: f64) -> Scaled {
    if x < 2.0 {
        return series(n, x, -1.0);
    }
    let order = n as f64;
    if x >= FAR && order <= 0.5 * x {
        let (mut before, mut now) = j_far(x);
        if n == 0 {
            return Scaled::new(before);
        }
        for k in 1..n {
            let next = now * (2.0 * k as f64) / x - before;
            (before, now) = (now, next);
        }
        return Scaled::new(now);
    }
    // Miller: down from where J vanishes, then 1 = J(0) + 2 J(2) + 2 J(4) + ...
    let top = 2 * ((x + 25.0 + 12.0 * x.sqrt().sqrt()).max(order + 40.0) * 0.5).ceil() as usize;
    let (mut above, mut here) = (d(0.0), d(1e-200));
    let (mut sum, mut wanted) = (d(0.0), d(0.0));
    for k in (1..=top).rev() {
        if k == n {
            wanted = here;
        }
        if k % 2 == 0 {
            sum = sum + here.scale(2.0);
        }
        let below = here * (2.0 * k as f64) / x - above;
        (above, here) = (here, below);
    }
    if n == 0 {
        wanted = here;
    }
    Scaled::new(wanted / (sum + here))
}

/// The order as a count and whether it was negative, if it is one this file knows.
#[inline(always)]
fn order_of(n: f64) -> Option<(usize, bool)> {
    (n.abs() <= MOST && n.fract() == 0.0).then_some((n.abs() as usize, n < 0.0))
}

#[inline(always)]
pub(super) fn bessel_j(n: f64, x: f64) -> f64 {
    let Some((order, below)) = order_of(n) else { return f64::NAN };
    if x.is_nan() {
        return x;
    }
    let odd = order % 2 == 1;
    let flip = odd && (below != (x < 0.0));
    let size = x.abs();
    let value = if size == 0.0 {
        if order == 0 { 1.0 } else { size }
    } else if size == f64::INFINITY {
        0.0
    } else {
        j_positive(order, size).round()
    };
    // an odd function keeps the sign of a zero
    if flip || (odd && x == 0.0 && x.is_sign_negative() != below) { -value } else { value }
}

/// I(n, x), x > 0.
#[inline(always)]
fn i_positive(n: usize, x: f64) -> Scaled {
    if x < FAR {
        return series(n, x, 1.0);
    }
    let (even, odd) = hankel(n, x, 1.0);
    let size = (PI * x).scale(2.0).sqrt();
    Scaled::new((even - odd) / size).times(d(x).exp())
}

#[inline(always)]
pub(super) fn bessel_i(n: f64, x: f64) -> f64 {
    let Some((order, _)) = order_of(n) else { return f64::NAN };
    if x.is_nan() {
        return x;
    }
    let size = x.abs();
    let value = if size == 0.0 {
        if order == 0 { 1.0 } else { size }
    } else if size > 2000.0 {
        f64::INFINITY
    } else {
        i_positive(order, size).round()
    };
    if order % 2 == 1 && x.is_sign_negative() { -value } else { value }
}

/// K of orders 0 and 1, x > 0.
#[inline(always)]
fn k_first(x: f64) -> (Scaled, Scaled) {
    if x >= FAR {
        let size = Scaled::new((PI / x).scale(0.5).sqrt()).times(d(-x).exp());
        let of = |n: usize| {
            let (even, odd) = hankel(n, x, 1.0);
            Scaled::new(even + odd).times(size)
        };
        return (of(0), of(1));
    }
    if x >= 2.0 {
        let (mut zero, mut one) = (d(0.5), d(0.5));
        for &less in &COSH_LESS_ONE {
            let exponent = less * -x;
            if exponent.hi < -60.0 {
                break;
            }
            let bell = exponent.exp().plain();
            zero = zero + bell;
            one = one + bell * (less + 1.0);
        }
        let size = d(-x).exp();
        return (Scaled::new(zero * COSH_STEP).times(size), Scaled::new(one * COSH_STEP).times(size));
    }
    // K(0) = -(log(x/2) + Euler) I(0) + sum of z^k/(k!)^2 (1 + 1/2 + ... + 1/k)
    let z = D::product(x, x).scale(0.25);
    let (mut term, mut harmonic, mut sum) = (d(1.0), d(0.0), d(0.0));
    let mut k = 1.0;
    while term.hi > 1e-36 && k < 60.0 {
        term = term * z / (k * k);
        harmonic = harmonic + d(k).recip();
        sum = sum + term * harmonic;
        k += 1.0;
    }
    let (i0, i1) = (series(0, x, 1.0).plain(), series(1, x, 1.0));
    let zero = sum - (d(x).log() - LN2 + EULER) * i0;
    // I(0) K(1) + I(1) K(0) = 1/x
    let product = i1.times(Scaled::new(zero));
    let one = Scaled::new(d(1.0)).over(Scaled::new(d(x))).plus(product.negative()).over(Scaled::new(i0));
    (Scaled::new(zero), one)
}

#[inline(always)]
pub(super) fn bessel_k(n: f64, x: f64) -> f64 {
    let Some((order, _)) = order_of(n) else { return f64::NAN };
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::INFINITY;
    }
    if x > 1000.0 {
        return 0.0;
    }
    let (mut before, mut now) = k_first(x);
    if order == 0 {
        return before.round();
    }
    for k in 1..order {
        let next = now.times(Scaled::new(d(2.0 * k as f64))).over(Scaled::new(d(x))).plus(before);
        (before, now) = (now, next);
    }
    now.round()
}
