/// The smaller one; NaN wins, and -0 is below 0.
pub fn min(x: Real, y: Real) -> Real {
    if x == y {
        return if x.is_sign_negative() { x } else { y };
    }
    if x < y {
        x
    } else if y < x {
        y
    } else {
        x + y
    }
}

/// The larger one; NaN wins, and -0 is below 0.
pub fn max(x: Real, y: Real) -> Real {
    if x == y {
        return if x.is_sign_negative() { y } else { x };
    }
    if x > y {
        x
    } else if y > x {
        y
    } else {
        x + y
    }
}

pub fn sign(x: Real) -> Real {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}

pub fn relu(x: Real) -> Real {
    if x <= 0.0 { 0.0 } else { x }
}

pub fn square(x: Real) -> Real {
    x * x
}

/// x - y floor(x/y): the remainder, moved by y where its sign is the other one.
pub fn modulo(x: Real, y: Real) -> Real {
    let r = x % y;
    if r == 0.0 {
        return (0.0 as Real).copysign(y);
    }
    if r.is_sign_negative() != y.is_sign_negative() { r + y } else { r }
}

/// The whole part of x/y, from the exact quotient: by one division and a look at what it leaves, or by long division.
pub fn quotient(x: Real, y: Real) -> Real {
    let (wide_x, wide_y) = (x as f64, y as f64);
    let (a, b) = (wide_x.abs(), wide_y.abs());
    let negative = x.is_sign_negative() != y.is_sign_negative();
    let signed = |q: f64| (if negative { -q } else { q }) as Real;
    if (wide_x / wide_y).abs() < 4503599627370496.0 && b < f64::INFINITY {
        let q = (a / b).trunc();
        return signed(if (-q).mul_add(b, a) < 0.0 { q - 1.0 } else { q });
    }
    if !a.is_finite() || !b.is_finite() || b == 0.0 {
        return (wide_x / wide_y).trunc() as Real;
    }
    // Mantissas of 53 bits and exponents; then the leading bits of the quotient, a bit that is not zero for what is left.
    let parts = |x: f64| {
        let (m, e) = ((x.to_bits() & ((1 << 52) - 1)), (x.to_bits() >> 52) as i32);
        let (m, e) = if e == 0 { (m, -1074) } else { (m | 1 << 52, e - 1075) };
        let shift = m.leading_zeros() - 11;
        (m << shift, e - shift as i32)
    };
    let ((m, e), (n, f)) = (parts(a), parts(b));
    let apart = e - f;
    let (q, e) = if apart <= 64 {
        (((m as u128) << apart.max(0)) / n as u128, 0)
    } else {
        let wide = (m as u128) << 64;
        (wide / n as u128 | (wide % n as u128 != 0) as u128, apart - 64)
    };
    let power = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    let first = e.min(900);
    signed(q as Real as f64 * power(first) * power((e - first).min(1000)))
}
