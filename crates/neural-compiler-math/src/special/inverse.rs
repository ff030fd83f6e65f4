//! The parts of the reciprocal of a complex number.
//!
//! In: any f64. Out: x/(x^2 + y^2) within 1 ULP, wherever that is a number; 0 where an argument is infinite, NaN at the origin.

use super::double::{Scaled, d};

#[inline(always)]
pub(super) fn inverse_part(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || (x == 0.0 && y == 0.0) {
        return f64::NAN;
    }
    if x.is_infinite() || y.is_infinite() || x == 0.0 {
        return 0.0f64.copysign(x);
    }
    let (x, y) = (Scaled::new(d(x)), Scaled::new(d(y)));
    x.over(x.times(x).plus(y.times(y))).round()
}
