//! The functions measured: for each the points, the correctly rounded filter if there is one, and the multiprecision
//! judge.

use crate::points::{Random, Spread};
use neural_compiler_math::{self as nm, Binary, Unary};
use rug::{Float, ops::Pow};

/// Precision of the judge in bits.
const BITS: u32 = 192;
const TINY: f64 = 5e-324;
const MAX: f64 = f64::MAX;
const LN2: f64 = std::f64::consts::LN_2;
const PI: f64 = std::f64::consts::PI;

pub struct Of1 {
    pub function: &'static Unary,
    pub spreads: &'static [Spread],
    /// Correctly rounded.
    pub filter: Option<fn(f64) -> f64>,
    pub judge: fn(f64) -> Float,
}

pub struct Of2 {
    pub function: &'static Binary,
    pub draw: fn(&mut Random) -> (f64, f64),
    pub filter: Option<fn(f64, f64) -> f64>,
    pub judge: fn(f64, f64) -> Float,
}

pub fn big(x: f64) -> Float {
    Float::with_val(BITS, x)
}

use Spread::*;

const TRIG: &[Spread] = &[
    Uniform(-8.0, 8.0),
    Uniform(-1.0, 1.0),
    Log(1e-9, 1e9),
    Log(TINY, MAX),
    Uniform(-1e5, 1e5),
    Multiples { step: PI / 2.0, offset: 0.0, up_to: 9e15 },
    Multiples { step: PI / 2.0, offset: 0.5, up_to: 1e9 },
    Near(&[1073741824.0, PI, PI / 2.0, PI / 4.0, 5.319372648326541e255, 1e22, 1e300, 5.22696369e299]),
];
const EXP: &[Spread] = &[
    Uniform(-1.0, 1.0),
    Uniform(-50.0, 50.0),
    Uniform(-745.2, 709.8),
    Uniform(-745.2, -708.0),
    Log(1e-20, 1.0),
    Log(TINY, MAX),
    Multiples { step: LN2, offset: 0.5, up_to: 1020.0 },
    Near(&[709.782712893384, -708.3964185322641, -745.1332191019411, 0.34657359027997264, -37.42994775023705]),
];
const LOG: &[Spread] = &[
    LogPositive(TINY, MAX),
    Uniform(0.5, 2.0),
    Uniform(0.98, 1.02),
    OnePlus(1.2e-16, 0.3),
    LogPositive(1e-3, 1e3),
    LogPositive(TINY, 2.3e-308),
    Near(&[1.0, std::f64::consts::SQRT_2, std::f64::consts::FRAC_1_SQRT_2, 2.0, std::f64::consts::E, 2.2250738585072014e-308]),
];
const UNIT: &[Spread] = &[
    Uniform(-1.0, 1.0),
    Log(TINY, 1.0),
    Uniform(0.45, 0.55),
    Uniform(0.99, 1.0),
    Uniform(-1.0, -0.99),
    Near(&[0.5, -0.5, std::f64::consts::FRAC_1_SQRT_2]),
];
const ATAN: &[Spread] =
    &[Uniform(-3.0, 3.0), Log(TINY, MAX), Log(1e-3, 1e3), Near(&[0.41421356237309503, 2.414213562373095, 1.0, 1152921504606846976.0])];
const HYPERBOLIC: &[Spread] = &[
    Uniform(-2.0, 2.0),
    Uniform(-25.0, 25.0),
    Uniform(-710.5, 710.5),
    Log(TINY, MAX),
    Log(1e-9, 30.0),
    Multiples { step: LN2, offset: 0.5, up_to: 1020.0 },
    Near(&[0.34657359027997264, 5.0, 22.0, 710.4758600739439, 18.714973875118524]),
];
const LOG1P: &[Spread] = &[
    LogPositive(TINY, MAX),
    Uniform(-0.9999, 3.0),
    Log(TINY, 0.9999),
    Log(1e-20, 0.5),
    Uniform(-1.0, -0.99),
    Near(&[0.41421356237309503, -0.2928932188134524, 1.0, 5.551115123125783e-17, 1.1102230246251565e-16]),
];
const SIGMOID: &[Spread] = &[
    Uniform(-40.0, 40.0),
    Uniform(-746.0, 10.0),
    Uniform(-2.0, 2.0),
    Log(TINY, 740.0),
    Uniform(-746.0, -700.0),
    Near(&[-36.7, 36.7, -40.0, -708.4, 0.34657359027997264, -0.34657359027997264, 1.0397207708399179]),
];
const ERF: &[Spread] = &[Uniform(-6.5, 6.5), Uniform(0.0, 1.3), Log(TINY, 6.5), Uniform(0.9, 1.1), Near(&[1.0, 6.0, 5.9, 0.5])];
const ROOT: &[Spread] = &[Log(TINY, MAX), Uniform(-8.0, 8.0), Near(&[1.0, 8.0, 2.0, 4.0, 27.0, 2.2250738585072014e-308])];

pub const UNARY: &[Of1] = &[
    Of1 { function: &nm::SIN, spreads: TRIG, filter: Some(core_math::sin), judge: |x| big(x).sin() },
    Of1 { function: &nm::COS, spreads: TRIG, filter: Some(core_math::cos), judge: |x| big(x).cos() },
    Of1 { function: &nm::TAN, spreads: TRIG, filter: Some(core_math::tan), judge: |x| big(x).tan() },
    Of1 { function: &nm::ASIN, spreads: UNIT, filter: Some(core_math::asin), judge: |x| big(x).asin() },
    Of1 { function: &nm::ACOS, spreads: UNIT, filter: Some(core_math::acos), judge: |x| big(x).acos() },
    Of1 { function: &nm::ATAN, spreads: ATAN, filter: Some(core_math::atan), judge: |x| big(x).atan() },
    Of1 { function: &nm::SINH, spreads: HYPERBOLIC, filter: Some(core_math::sinh), judge: |x| big(x).sinh() },
    Of1 { function: &nm::COSH, spreads: HYPERBOLIC, filter: Some(core_math::cosh), judge: |x| big(x).cosh() },
    Of1 { function: &nm::TANH, spreads: HYPERBOLIC, filter: Some(core_math::tanh), judge: |x| big(x).tanh() },
    Of1 { function: &nm::EXP, spreads: EXP, filter: Some(core_math::exp), judge: |x| big(x).exp() },
    Of1 {
        function: &nm::EXP2,
        spreads: &[
            Uniform(-1.0, 1.0),
            Uniform(-1075.5, 1024.0),
            Uniform(-1075.5, -1021.0),
            Log(1e-20, 1.0),
            Log(TINY, MAX),
            Multiples { step: 1.0, offset: 0.5, up_to: 1020.0 },
            Near(&[1024.0, -1022.0, -1074.0, -1075.0, 0.5]),
        ],
        filter: Some(core_math::exp2),
        judge: |x| big(x).exp2(),
    },
    Of1 { function: &nm::EXPM1, spreads: EXP, filter: Some(core_math::expm1), judge: |x| big(x).exp_m1() },
    Of1 { function: &nm::LOG, spreads: LOG, filter: Some(core_math::log), judge: |x| big(x).ln() },
    Of1 { function: &nm::LOG2, spreads: LOG, filter: Some(core_math::log2), judge: |x| big(x).log2() },
    Of1 { function: &nm::LOG10, spreads: LOG, filter: Some(core_math::log10), judge: |x| big(x).log10() },
    Of1 { function: &nm::LOG1P, spreads: LOG1P, filter: Some(core_math::log1p), judge: |x| big(x).ln_1p() },
    Of1 { function: &nm::SQRT, spreads: &[LogPositive(TINY, MAX), Uniform(0.0, 4.0)], filter: None, judge: |x| big(x).sqrt() },
    Of1 { function: &nm::CBRT, spreads: ROOT, filter: Some(core_math::cbrt), judge: |x| big(x).cbrt() },
    Of1 { function: &nm::SQUARE, spreads: &[Log(TINY, MAX), Log(1e-150, 1e150)], filter: None, judge: |x| big(x).square() },
    Of1 { function: &nm::SIGMOID, spreads: SIGMOID, filter: None, judge: |x| (big(-x).exp() + 1u32).recip() },
    Of1 { function: &nm::SOFTPLUS, spreads: SIGMOID, filter: None, judge: |x| big(x).exp().ln_1p() },
    Of1 { function: &nm::ERF, spreads: ERF, filter: Some(core_math::erf), judge: |x| big(x).erf() },
];

/// Exact integer quotients need as many bits as the exponents span.
const WIDE: u32 = 2300;

fn wide_quotient(x: f64, y: f64) -> Float {
    Float::with_val(WIDE, x) / Float::with_val(WIDE, y)
}

pub const BINARY: &[Of2] = &[
    Of2 {
        function: &nm::ATAN2,
        draw: |r| {
            let s = match r.next() % 4 {
                0 => Uniform(-1.0, 1.0),
                1 => Log(TINY, MAX),
                2 => Log(1e-3, 1e3),
                _ => Log(1e-20, 1e20),
            };
            (s.draw(r), s.draw(r))
        },
        filter: Some(core_math::atan2),
        judge: |y, x| big(y).atan2(&big(x)),
    },
    Of2 {
        function: &nm::POW,
        draw: |r| match r.next() % 8 {
            0 => (Log(1e-3, 1e3).draw(r), Uniform(-60.0, 60.0).draw(r).floor()),
            1 => (Uniform(0.0, 20.0).draw(r), Uniform(-100.0, 100.0).draw(r)),
            2 | 3 => towards(r, LogPositive(TINY, MAX)),
            4 | 5 => towards(r, OnePlus(1.2e-16, 0.4)),
            6 => (LogPositive(1e-10, 1e10).draw(r), [0.5, 2.0, 3.0, -1.0, 1.0 / 3.0, 1.5, -0.5, 10.0][(r.next() % 8) as usize]),
            _ => (LogPositive(TINY, MAX).draw(r), Log(TINY, MAX).draw(r)),
        },
        filter: Some(core_math::pow),
        judge: |x, y| {
            // the sign apart: MPFR takes integers of any size, but a plain rule is easier to trust
            let magnitude = big(x.abs()).pow(&big(y));
            if x < 0.0 && y % 2.0 != 0.0 { -magnitude } else { magnitude }
        },
    },
    Of2 {
        function: &nm::LOG_BASE,
        draw: |r| match r.next() % 3 {
            0 => {
                let b = (2 + r.next() % 30) as f64;
                (LogPositive(1e-5, 1e15).draw(r), b)
            }
            1 => (LogPositive(TINY, MAX).draw(r), LogPositive(TINY, MAX).draw(r)),
            _ => (OnePlus(1.2e-16, 0.5).draw(r), OnePlus(2.3e-16, 0.5).draw(r)),
        },
        filter: None,
        judge: |x, b| big(x).ln() / big(b).ln(),
    },
    Of2 {
        function: &nm::MODULO,
        draw: quotient_pair,
        filter: None,
        judge: |x, y| {
            let q = wide_quotient(x, y).floor();
            Float::with_val(WIDE, x) - q * Float::with_val(WIDE, y)
        },
    },
    Of2 {
        function: &nm::REMAINDER,
        draw: quotient_pair,
        filter: None,
        judge: |x, y| {
            let q = wide_quotient(x, y).trunc();
            Float::with_val(WIDE, x) - q * Float::with_val(WIDE, y)
        },
    },
    Of2 { function: &nm::QUOTIENT, draw: quotient_pair, filter: None, judge: |x, y| wide_quotient(x, y).trunc() },
];

/// A base and an exponent whose power lies anywhere in the range, the ends of it as often as the middle.
fn towards(r: &mut Random, base: Spread) -> (f64, f64) {
    let x = base.draw(r);
    let t = match r.next() % 3 {
        0 => Uniform(-745.2, 709.8).draw(r),
        1 => Uniform(690.0, 709.8).draw(r),
        _ => Uniform(-745.2, -705.0).draw(r),
    };
    (x, t / core_math::log(x))
}

fn quotient_pair(r: &mut Random) -> (f64, f64) {
    match r.next() % 3 {
        0 => (Log(TINY, MAX).draw(r), Log(TINY, MAX).draw(r)),
        1 => (Log(1e-3, 1e10).draw(r), Log(1e-3, 1e3).draw(r)),
        _ => {
            let y = Uniform(-10.0, 10.0).draw(r);
            (y * (r.next() % 1000) as f64, y)
        }
    }
}
