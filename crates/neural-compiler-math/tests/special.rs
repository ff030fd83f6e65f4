//! Special values as IEEE 754 and C99 Annex F give them, and the exact cases of division.

use neural_compiler_math::*;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const MAX: f64 = f64::MAX;
const MIN: f64 = 5e-324;
const PI: f64 = std::f64::consts::PI;

fn same(got: f64, want: f64) -> bool {
    (got.is_nan() && want.is_nan()) || got.to_bits() == want.to_bits()
}

/// Checks f64, and f32 where the values survive the cast.
fn unary(f: &Unary, table: &[(f64, f64)]) {
    for &(x, want) in table {
        let got = f.f64(x);
        assert!(same(got, want), "{}({x:e}) = {got:e}, not {want:e}", f.name);
        if x.is_nan() || (x as f32) as f64 == x {
            let got = f.f32(x as f32);
            assert!(same(got as f64, (want as f32) as f64), "{}({x:e}) = {got:e}, not {want:e} in f32", f.name);
        }
    }
}

fn binary(f: &Binary, table: &[(f64, f64, f64)]) {
    for &(a, b, want) in table {
        let got = f.f64(a, b);
        assert!(same(got, want), "{}({a:e}, {b:e}) = {got:e}, not {want:e}", f.name);
        let kept = |x: f64| x.is_nan() || (x as f32) as f64 == x;
        if kept(a) && kept(b) {
            let got = f.f32(a as f32, b as f32);
            assert!(same(got as f64, (want as f32) as f64), "{}({a:e}, {b:e}) = {got:e}, not {want:e} in f32", f.name);
        }
    }
}

#[test]
fn odd_functions_keep_zeros_and_tiny_numbers() {
    for f in [&SIN, &TAN, &ASIN, &ATAN, &SINH, &TANH, &EXPM1, &LOG1P, &CBRT, &SQRT, &FLOOR, &CEILING, &ROUND, &TRUNCATE, &SIGN, &ERF] {
        unary(f, &[(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]);
    }
    for f in [&SIN, &TAN, &ASIN, &ATAN, &SINH, &TANH, &EXPM1, &LOG1P] {
        for x in [MIN, -MIN, 1e-310, -1e-310, 1e-300, 2.0f64.powi(-60)] {
            assert!(same(f.f64(x), x), "{}({x:e}) = {:e}", f.name, f.f64(x));
        }
        for x in [1e-45f32, -1e-45, 1e-40, 1e-38] {
            assert_eq!(f.f32(x).to_bits(), x.to_bits(), "{}({x:e})", f.name);
        }
    }
}

#[test]
fn trigonometric() {
    for f in [&SIN, &COS, &TAN] {
        unary(f, &[(INF, NAN), (-INF, NAN), (NAN, NAN)]);
    }
    unary(&COS, &[(0.0, 1.0), (-0.0, 1.0)]);
    unary(&ASIN, &[(1.0, PI / 2.0), (-1.0, -PI / 2.0), (1.5, NAN), (-1.5, NAN), (INF, NAN)]);
    unary(&ACOS, &[(1.0, 0.0), (-1.0, PI), (0.0, PI / 2.0), (1.5, NAN), (-INF, NAN)]);
    unary(&ATAN, &[(INF, PI / 2.0), (-INF, -PI / 2.0), (1.0, PI / 4.0)]);
    binary(
        &ATAN2,
        &[
            (0.0, 1.0, 0.0),
            (-0.0, 1.0, -0.0),
            (0.0, -1.0, PI),
            (-0.0, -1.0, -PI),
            (0.0, 0.0, 0.0),
            (-0.0, 0.0, -0.0),
            (0.0, -0.0, PI),
            (-0.0, -0.0, -PI),
            (1.0, 0.0, PI / 2.0),
            (-1.0, -0.0, -PI / 2.0),
            (1.0, INF, 0.0),
            (-1.0, INF, -0.0),
            (1.0, -INF, PI),
            (-1.0, -INF, -PI),
            (INF, 1.0, PI / 2.0),
            (-INF, 1.0, -PI / 2.0),
            (INF, INF, PI / 4.0),
            (INF, -INF, 3.0 * PI / 4.0),
            (-INF, -INF, -3.0 * PI / 4.0),
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (1.0, 1.0, PI / 4.0),
        ],
    );
}

#[test]
fn exponential_and_hyperbolic() {
    unary(&EXP, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1000.0, INF), (-1000.0, 0.0), (1.0, std::f64::consts::E)]);
    unary(
        &EXP2,
        &[(0.0, 1.0), (INF, INF), (-INF, 0.0), (10.0, 1024.0), (-3.0, 0.125), (1024.0, INF), (-1074.0, MIN), (-1076.0, 0.0), (NAN, NAN)],
    );
    unary(&EXPM1, &[(INF, INF), (-INF, -1.0), (1000.0, INF), (-100.0, -1.0)]);
    unary(&SINH, &[(INF, INF), (-INF, -INF), (1000.0, INF), (-1000.0, -INF)]);
    unary(&COSH, &[(INF, INF), (-INF, INF), (0.0, 1.0), (-0.0, 1.0), (NAN, NAN), (1000.0, INF)]);
    unary(&TANH, &[(INF, 1.0), (-INF, -1.0), (50.0, 1.0)]);
    unary(&SIGMOID, &[(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN), (100.0, 1.0), (-1000.0, 0.0)]);
    unary(&SOFTPLUS, &[(INF, INF), (-INF, 0.0), (NAN, NAN), (1000.0, 1000.0), (0.0, std::f64::consts::LN_2), (1e300, 1e300)]);
    unary(&ERF, &[(INF, 1.0), (-INF, -1.0), (10.0, 1.0)]);
    for n in -1074..1024 {
        let want = if n >= -1022 { f64::from_bits(((n + 1023) as u64) << 52) } else { f64::from_bits(1 << (n + 1074)) };
        assert_eq!(EXP2.f64(n as f64), want);
        assert_eq!(LOG2.f64(want), n as f64);
    }
}

#[test]
fn gamma_and_its_kin() {
    unary(
        &GAMMA,
        &[
            (0.0, INF),
            (-0.0, -INF),
            (-1.0, NAN),
            (-170.0, NAN),
            (-INF, NAN),
            (INF, INF),
            (NAN, NAN),
            (172.0, INF),
            (-300.5, -0.0),
            (-301.5, 0.0),
        ],
    );
    unary(&LGAMMA, &[(0.0, INF), (-3.0, INF), (1.0, 0.0), (2.0, 0.0), (INF, INF), (-INF, INF), (NAN, NAN)]);
    unary(&DIGAMMA, &[(0.0, -INF), (-0.0, INF), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]);
    unary(&TRIGAMMA, &[(0.0, INF), (-2.0, INF), (INF, 0.0), (-INF, NAN), (NAN, NAN)]);
    binary(&POLYGAMMA, &[(2.0, 0.0, NAN), (0.5, 1.0, NAN), (-1.0, 1.0, NAN), (2.0, NAN, NAN)]);
    binary(
        &BETA,
        &[(1.0, 1.0, 1.0), (2.0, 2.0, 1.0 / 6.0), (0.0, 1.0, INF), (1.0, INF, 0.0), (0.0, INF, NAN), (-1.0, 1.0, NAN), (NAN, 1.0, NAN)],
    );
    binary(&LBETA, &[(1.0, 1.0, 0.0), (0.0, 1.0, INF), (1.0, INF, -INF), (-1.0, 1.0, NAN), (1.0, NAN, NAN)]);
    let mut factorial = 1.0;
    for n in 1..=22 {
        assert_eq!(GAMMA.f64(f64::from(n)), factorial);
        factorial *= f64::from(n);
    }
}

#[test]
fn the_complement_of_erf_and_the_normal_distribution() {
    unary(&ERFC, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (-10.0, 2.0), (30.0, 0.0), (NAN, NAN)]);
    unary(&ERFCX, &[(0.0, 1.0), (INF, 0.0), (-INF, INF), (-40.0, INF), (NAN, NAN)]);
    unary(&NORMAL_CDF, &[(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN)]);
    unary(&NORMAL_LOG_CDF, &[(INF, 0.0), (-INF, -INF), (50.0, -0.0), (NAN, NAN)]);
    unary(&NORMAL_QUANTILE, &[(0.0, -INF), (1.0, INF), (0.5, 0.0), (-0.5, NAN), (1.5, NAN), (NAN, NAN)]);
    unary(&NORMAL_HAZARD, &[(INF, 0.0), (-INF, INF), (NAN, NAN)]);
    unary(&NORMAL_EXCESS, &[(INF, INF), (-INF, 0.0), (NAN, NAN)]);
}

#[test]
fn bessel_functions() {
    unary(&BESSEL_J0, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)]);
    unary(&BESSEL_J1, &[(0.0, 0.0), (-0.0, -0.0), (NAN, NAN), (MIN, 0.0), (1e-300, 5e-301)]);
    unary(&BESSEL_I0, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (800.0, INF), (NAN, NAN)]);
    unary(&BESSEL_I1, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-800.0, -INF), (NAN, NAN)]);
    for f in [&BESSEL_K0, &BESSEL_K1] {
        unary(f, &[(0.0, INF), (-0.0, INF), (INF, 0.0), (2000.0, 0.0), (-1.0, NAN), (-INF, NAN), (NAN, NAN)]);
    }
    binary(
        &BESSEL_J,
        &[(2.0, 0.0, 0.0), (0.0, 0.0, 1.0), (2.0, INF, 0.0), (0.5, 1.0, NAN), (21.0, 1.0, NAN), (INF, 1.0, NAN), (1.0, NAN, NAN)],
    );
    binary(&BESSEL_I, &[(2.0, 0.0, 0.0), (0.0, 0.0, 1.0), (2.0, -INF, INF), (0.5, 1.0, NAN), (1.0, NAN, NAN)]);
    binary(&BESSEL_K, &[(2.0, 0.0, INF), (2.0, INF, 0.0), (2.0, -1.0, NAN), (0.5, 1.0, NAN), (1.0, NAN, NAN)]);
    // the largest number: |J| is at most sqrt(2/(pi x))
    for f in [&BESSEL_J0, &BESSEL_J1] {
        let y = f.f64(MAX);
        assert!(y != 0.0 && y.abs() < 6e-155, "{}: {y:e}", f.name);
    }
}

#[test]
fn incomplete_gamma_functions() {
    binary(
        &GAMMA_P,
        &[(2.0, 0.0, 0.0), (2.0, INF, 1.0), (INF, 3.0, 0.0), (1e6, 1.0, 0.0), (1.0, 1e6, 1.0), (-1.0, 1.0, NAN), (1.0, -1.0, NAN)],
    );
    binary(
        &GAMMA_Q,
        &[(2.0, 0.0, 1.0), (2.0, INF, 0.0), (INF, 3.0, 1.0), (1e6, 1.0, 1.0), (1.0, 1e6, 0.0), (0.0, 0.0, NAN), (INF, INF, NAN)],
    );
    binary(
        &GAMMA_DENSITY,
        &[(0.5, 0.0, INF), (1.0, 0.0, 1.0), (2.0, 0.0, 0.0), (2.0, INF, 0.0), (2.0, -1.0, NAN), (NAN, 1.0, NAN), (1.0, NAN, NAN)],
    );
    for f in [&GAMMA_P_1, &GAMMA_P_2, &GAMMA_P_3] {
        binary(f, &[(2.0, 0.0, 0.0), (2.0, INF, 0.0), (-1.0, 1.0, NAN), (NAN, 1.0, NAN), (1.0, NAN, NAN)]);
    }
    binary(&GAMMA_P, &[(MAX, MAX, 0.5), (MAX, 1.0, 0.0), (1e300, MAX, 1.0)]);
    // an exponential variable, and the largest shapes: the normal distribution, whose median they nearly share
    for x in [1e-300, 1e-8, 0.5, 7.9, 8.1, 40.0, 700.0] {
        assert_eq!(GAMMA_Q.f64(1.0, x), EXP.f64(-x), "{x}");
        assert_eq!(GAMMA_P.f64(1.0, x), -EXPM1.f64(-x), "{x}");
    }
    for a in [1e10, 1e14, 1e20] {
        assert!((GAMMA_P.f64(a, a) - 0.5 - 0.132_980_760_133_810_9 / a.sqrt()).abs() < 1e-11, "{a:e}");
    }
}

#[test]
fn incomplete_beta_functions() {
    let table = |f: &Ternary, rows: &[(f64, f64, f64, f64)]| {
        for &(a, b, x, want) in rows {
            let got = f.f64(a, b, x);
            assert!(same(got, want), "{}({a:e}, {b:e}, {x:e}) = {got:e}, not {want:e}", f.name);
        }
    };
    table(
        &BETA_P,
        &[
            (2.0, 3.0, 0.0, 0.0),
            (2.0, 3.0, 1.0, 1.0),
            (INF, 3.0, 0.5, 0.0),
            (3.0, INF, 0.5, 1.0),
            (0.0, 1.0, 0.5, 1.0),
            (1.0, 0.0, 0.5, 0.0),
            (0.0, 0.0, 0.5, NAN),
            (INF, INF, 0.5, NAN),
            (-1.0, 1.0, 0.5, NAN),
            (1.0, 1.0, 1.5, NAN),
            (1.0, 1.0, -0.5, NAN),
            (NAN, 1.0, 0.5, NAN),
            (1.0, 1.0, NAN, NAN),
            (MIN, MIN, 0.3, 0.5),
            (1e300, 1e300, 0.5, 0.5),
            (1e300, 1e300, 0.25, 0.0),
            (MAX, 1.0, 0.5, 0.0),
        ],
    );
    table(&BETA_Q, &[(2.0, 3.0, 0.0, 1.0), (2.0, 3.0, 1.0, 0.0), (INF, 3.0, 0.5, 1.0), (1.0, 0.0, 0.5, 1.0), (1.0, 1.0, NAN, NAN)]);
    table(&BETA_DENSITY, &[(0.5, 2.0, 0.0, INF), (1.0, 2.0, 0.0, 2.0), (2.0, 2.0, 0.0, 0.0), (2.0, 1.0, 1.0, 2.0), (2.0, 2.0, 1.5, NAN)]);
    for f in [&BETA_P_A, &BETA_P_B, &BETA_P_AA, &BETA_P_AB, &BETA_P_BB] {
        table(f, &[(2.0, 3.0, 0.0, 0.0), (2.0, 3.0, 1.0, 0.0), (-1.0, 1.0, 0.5, NAN), (NAN, 1.0, 0.5, NAN), (0.0, 1.0, 0.5, NAN)]);
    }
    // Uniform variables, both ends, and what is without bound: the gamma distribution.
    for x in [1e-300, 1e-8, 0.25, 0.5, 0.75, 0.999] {
        assert_eq!(BETA_P.f64(1.0, 1.0, x), x);
    }
    assert_eq!(BETA_P.f64(2.5, 1e60, 3e-60), GAMMA_P.f64(2.5, 3.0));
    for (a, b, x) in [(0.5, 0.5, 0.5), (7.5, 2.25, 0.75), (80.0, 130.0, 0.375), (0.01, 70.0, 0.0625)] {
        assert_eq!(BETA_P.f64(a, b, x), BETA_Q.f64(b, a, 1.0 - x), "{a}, {b}, {x}");
    }
}

/// The smaller one of both tails, its derivative by the other shape and the density are in proportion to a shape that is nearly nothing.
#[test]
fn incomplete_functions_of_tiny_shapes() {
    let near = |found: f64, want: f64, what: &str| {
        assert!((found - want).abs() <= 1e-14 * want.abs(), "{what}: {found:e} instead of {want:e}");
    };
    // E1(x): mpmath.e1.
    for (x, e1) in [(1e-300, 690.1983122333122), (0.5, 0.5597735947761608), (2.5, 0.024914917870269736), (7.9, 4.210399713154199e-05)] {
        for a in [1e-300, 1e-200, 1e-30, 1e-17] {
            near(GAMMA_Q.f64(a, x), a * e1, &format!("Q({a:e}, {x})"));
            near(GAMMA_P_1.f64(a, x), -e1, &format!("P'({a:e}, {x})"));
        }
    }
    // P is 1 less that on both sides of 8, where the ways to Q part.
    for (x, e1) in
        [(7.9, 4.210399713154199e-05), (8.0, 3.76656228439249e-05), (10.0, 4.156968929685325e-06), (300.0, 1.71038427680451e-133)]
    {
        for a in [1e-300, 1e-30, 1e-10, 1e-9, 9.999e-9, 1e-8, 1e-6] {
            near(GAMMA_P.f64(a, x), 1.0 - a * e1, &format!("P({a:e}, {x})"));
            assert_eq!(GAMMA_P.f32(a as f32, x as f32), 1.0, "P({a:e}, {x}) in f32");
        }
    }
    // The second shape is 1: I = x^a. Or the first one: I = 1 - (1 - x)^b.
    for x in [1e-300, 1e-9, 0.1, 0.25, 0.6, 0.9] {
        for a in [1e-300, 1e-200, 1e-30, 1e-17] {
            let what = format!("{a:e}, {x:e}");
            near(BETA_Q.f64(a, 1.0, x), -a * LOG.f64(x), &what);
            near(BETA_P_A.f64(a, 1.0, x), LOG.f64(x), &what);
            near(BETA_DENSITY.f64(a, 1.0, x), a / x, &what);
            near(BETA_P.f64(1.0, a, x), -a * LOG1P.f64(-x), &what);
            near(BETA_P_B.f64(1.0, a, x), -LOG1P.f64(-x), &what);
        }
    }
    // By the other shape, where that is 1: pi^2/6 less the dilogarithm of x (mpmath.polylog).
    for (x, by_other) in [(0.1, 1.5423162757488353), (0.25, 1.377281427765494), (0.6, 0.917347759131893), (0.9, 0.34521934384326763)] {
        for a in [1e-300, 1e-200, 1e-30, 1e-17] {
            near(BETA_P_B.f64(a, 1.0, x), a * by_other, &format!("by b at {a:e}, {x}"));
        }
    }
    near(BETA_Q.f64(1e-20, 1e-15, 0.5), 1e-20 / (1e-20 + 1e-15), "one tiny beside the other");
    near(BETA_P_B.f64(1e-30, 1e-15, 0.5), 1.0, "one tiny beside the other");
    near(BETA_DENSITY.f64(3e-300, 1e-280, 0.5), 4.0 * 3e-300, "both tiny");
    near(BETA_DENSITY.f64(2e-30, 2e-30, 0.25), 1e-30 / 0.1875, "both tiny");
}

#[test]
fn the_voigt_profile() {
    let all = [&VOIGT, &VOIGT_X, &VOIGT_G, &VOIGT_XX, &VOIGT_XG, &VOIGT_XXX, &VOIGT_XXG, &VOIGT_XXXX, &VOIGT_XXXG];
    for (k, f) in all.into_iter().enumerate() {
        let [nan, nothing]: [&[(f64, f64, f64)]; 2] = [
            &[(1.0, 1.0, -1.0), (NAN, 1.0, 1.0), (1.0, NAN, 1.0), (1.0, 1.0, NAN), (1.0, 0.0, 1.0), (INF, INF, 1.0), (1.0, INF, INF)],
            &[(INF, 1.0, 0.0), (-INF, 1.0, 1.0), (1.0, 1.0, INF), (1.0, INF, 1.0)],
        ];
        nan.iter().for_each(|&(x, s, g)| assert!(f.f64(x, s, g).is_nan(), "{} at {x}, {s}, {g}", f.name));
        nothing.iter().for_each(|&(x, s, g)| assert_eq!(f.f64(x, s, g), 0.0, "{} at {x}, {s}, {g}", f.name));
        // Odd where x is counted an odd number of times, and even in sigma; where x is 0, odd ones are.
        let odd = [1, 4, 5, 8].contains(&k);
        for (x, s, g) in [(0.5, 0.8, 0.3), (3.0, 1.0, 0.0), (30.0, 1.0, 1e-60), (24.5, 1.0, 0.1), (1e-12, 2.0, 0.25), (1e3, 1e-9, 1e-3)] {
            let y = f.f64(x, s, g);
            assert_eq!((f.f64(-x, s, g), f.f64(x, -s, g)), (if odd { -y } else { y }, y), "{} at {x}, {s}, {g}", f.name);
            assert_eq!(f.f64(0.0, s, g) == 0.0, odd, "{} at 0, {s}, {g}", f.name);
            // The unit does not matter, to the bit where it is a power of two.
            let (unit, order) = (2f64.powi(40), (k as i32 + 1) / 2 + 1);
            assert_eq!(f.f64(x * unit, s * unit, g * unit) * unit.powi(order), y, "{} at {x}, {s}, {g}", f.name);
        }
    }
    // Without a width gamma the bell, at the middle erfcx; without a width sigma to speak of Cauchy's density, whatever the numbers.
    let bell = 0.398_942_280_401_432_7;
    for x in [0.5, 3.0, 20.0, 37.0] {
        assert!((VOIGT.f64(x, 1.0, 0.0) / ((-x * x / 2.0).exp() * bell) - 1.0).abs() < 1e-12);
        assert!((VOIGT.f64(0.0, 1.0, x) / (ERFCX.f64(x * std::f64::consts::FRAC_1_SQRT_2) * bell) - 1.0).abs() < 1e-15);
    }
    for (x, g) in [(1.0, 1.0), (1e150, 1e-150), (1e-150, 1e-5), (1e-300, 1e-300), (1e-320, 1.0), (1.0, 1e-320)] {
        let cauchy = if x > g { g / x / x / (1.0 + (g / x) * (g / x)) } else { 1.0 / g / (1.0 + (x / g) * (x / g)) } / std::f64::consts::PI;
        let found = VOIGT.f64(x, 1e-308, g);
        assert!((found - cauchy).abs() <= 2e-15 * cauchy + 1e-323, "{x}, {g}: {found:e} instead of {cauchy:e}");
    }
}

#[test]
fn logarithms() {
    for f in [&LOG, &LOG2, &LOG10] {
        unary(f, &[(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN), (-MIN, NAN)]);
    }
    unary(&LOG1P, &[(-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]);
    let mut p = 1.0;
    for n in 0..=22 {
        assert_eq!(LOG10.f64(p), n as f64);
        assert_eq!(LOG_BASE.f64(p, 10.0), n as f64);
        p *= 10.0;
    }
    for b in 2..40u64 {
        for n in 1..12 {
            if let Some(p) = b.checked_pow(n).filter(|p| *p < 1 << 53) {
                assert_eq!(LOG_BASE.f64(p as f64, b as f64), n as f64, "{b}^{n}");
                if p < 1 << 24 {
                    assert_eq!(LOG_BASE.f32(p as f32, b as f32), n as f32, "{b}^{n}");
                }
            }
        }
    }
    binary(
        &LOG_BASE,
        &[
            (8.0, 2.0, 3.0),
            (0.125, 2.0, -3.0),
            (8.0, 0.5, -3.0),
            (1.0, 10.0, 0.0),
            (0.0, 10.0, -INF),
            (INF, 10.0, INF),
            (-1.0, 10.0, NAN),
            (10.0, -1.0, NAN),
            (10.0, 1.0, INF),
            (1.0, 1.0, NAN),
            (NAN, 2.0, NAN),
            (2.0, NAN, NAN),
            (10.0, INF, 0.0),
        ],
    );
}

#[test]
fn powers_and_roots() {
    unary(&SQRT, &[(4.0, 2.0), (-1.0, NAN), (INF, INF)]);
    unary(&CBRT, &[(8.0, 2.0), (-27.0, -3.0), (INF, INF), (-INF, -INF), (1000.0, 10.0), (1.0, 1.0)]);
    unary(&SQUARE, &[(-3.0, 9.0), (-0.0, 0.0), (-INF, INF)]);
    binary(
        &POW,
        &[
            (0.0, -3.0, INF),
            (-0.0, -3.0, -INF),
            (0.0, -2.0, INF),
            (-0.0, -2.0, INF),
            (-0.0, -2.5, INF),
            (0.0, -INF, INF),
            (0.0, 3.0, 0.0),
            (-0.0, 3.0, -0.0),
            (-0.0, 2.0, 0.0),
            (-0.0, 2.5, 0.0),
            (-1.0, INF, 1.0),
            (-1.0, -INF, 1.0),
            (1.0, NAN, 1.0),
            (1.0, INF, 1.0),
            (NAN, 0.0, 1.0),
            (NAN, -0.0, 1.0),
            (INF, 0.0, 1.0),
            (-2.0, 0.5, NAN),
            (0.5, -INF, INF),
            (2.0, -INF, 0.0),
            (0.5, INF, 0.0),
            (2.0, INF, INF),
            (-INF, -3.0, -0.0),
            (-INF, -2.0, 0.0),
            (-INF, 3.0, -INF),
            (-INF, 2.0, INF),
            (-INF, 2.5, INF),
            (INF, -1.0, 0.0),
            (INF, 2.0, INF),
            (NAN, 1.0, NAN),
            (2.0, NAN, NAN),
            (2.0, 10.0, 1024.0),
            (-2.0, 3.0, -8.0),
            (-2.0, -2.0, 0.25),
            (10.0, 2.0, 100.0),
            (2.0, 2000.0, INF),
            (2.0, -2000.0, 0.0),
            (-2.0, 2001.0, -INF),
            (-2.0, -2001.0, -0.0),
            (2.0, -1074.0, MIN),
            (MIN, 1.0, MIN),
            (4.0, 0.5, 2.0),
            (-1.0, 1e300, 1.0),
            (-1.0, 9007199254740991.0, -1.0),
            (1.5, MAX, INF),
            (0.5, MAX, 0.0),
            (3.0, 0.0, 1.0),
            (-3.0, 0.0, 1.0),
            (-3.0, 1.0, -3.0),
        ],
    );
    for b in 2..20u64 {
        for n in 0..16 {
            if let Some(p) = b.checked_pow(n).filter(|p| *p < 1 << 53) {
                assert_eq!(POW.f64(b as f64, n as f64), p as f64);
            }
        }
    }
}

#[test]
fn rounding() {
    unary(&FLOOR, &[(-0.5, -1.0), (2.5, 2.0), (INF, INF)]);
    unary(&CEILING, &[(-0.5, -0.0), (2.5, 3.0)]);
    unary(&ROUND, &[(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (1e300, 1e300)]);
    unary(&TRUNCATE, &[(-2.7, -2.0), (2.7, 2.0), (-0.5, -0.0)]);
    unary(&SIGN, &[(3.0, 1.0), (-3.0, -1.0), (INF, 1.0), (-INF, -1.0), (-MIN, -1.0)]);
    unary(&ABS, &[(-0.0, 0.0), (-3.0, 3.0), (-INF, INF), (NAN, NAN)]);
    unary(&NEG, &[(0.0, -0.0), (3.0, -3.0), (NAN, NAN)]);
    unary(&RELU, &[(-0.0, 0.0), (0.0, 0.0), (3.0, 3.0), (-3.0, 0.0), (NAN, NAN), (INF, INF), (-INF, 0.0)]);
}

#[test]
fn extrema_and_comparisons() {
    binary(&MIN_, &[(1.0, 2.0, 1.0), (0.0, -0.0, -0.0), (-0.0, 0.0, -0.0), (NAN, 1.0, NAN), (1.0, NAN, NAN), (-INF, 1.0, -INF)]);
    binary(&MAX_, &[(1.0, 2.0, 2.0), (0.0, -0.0, 0.0), (-0.0, 0.0, 0.0), (-0.0, -0.0, -0.0), (NAN, 1.0, NAN), (1.0, NAN, NAN)]);
    binary(&EQ, &[(1.0, 1.0, 1.0), (0.0, -0.0, 1.0), (NAN, NAN, 0.0), (1.0, 2.0, 0.0)]);
    binary(&LT, &[(1.0, 2.0, 1.0), (2.0, 2.0, 0.0), (NAN, 1.0, 0.0)]);
    binary(&GT, &[(1.0, 2.0, 0.0), (3.0, 2.0, 1.0), (1.0, NAN, 0.0)]);
    binary(&LE, &[(1.0, 2.0, 1.0), (2.0, 2.0, 1.0), (3.0, 2.0, 0.0), (NAN, NAN, 0.0)]);
    binary(&GE, &[(1.0, 2.0, 0.0), (2.0, 2.0, 1.0), (NAN, NAN, 0.0)]);
    binary(&ADD, &[(1.0, 2.0, 3.0), (INF, -INF, NAN)]);
    binary(&SUB, &[(1.0, 2.0, -1.0), (INF, INF, NAN)]);
    binary(&MUL, &[(1.0, 2.0, 2.0), (0.0, INF, NAN)]);
    binary(&DIV, &[(1.0, 2.0, 0.5), (1.0, 0.0, INF), (1.0, -0.0, -INF), (0.0, 0.0, NAN)]);
}

use neural_compiler_math::{MAX as MAX_, MIN as MIN_};

#[test]
fn division() {
    binary(
        &MODULO,
        &[
            (5.0, 3.0, 2.0),
            (-5.0, 3.0, 1.0),
            (5.0, -3.0, -1.0),
            (-5.0, -3.0, -2.0),
            (6.0, 3.0, 0.0),
            (-6.0, 3.0, 0.0),
            (6.0, -3.0, -0.0),
            (5.5, 2.0, 1.5),
            (0.0, -3.0, -0.0),
            (-0.0, 3.0, 0.0),
            (1.0, 0.0, NAN),
            (0.0, 0.0, NAN),
            (INF, 3.0, NAN),
            (1.0, INF, 1.0),
            (-1.0, INF, INF),
            (1.0, -INF, -INF),
            (-1.0, -INF, -1.0),
            (0.0, INF, 0.0),
            (0.0, -INF, -0.0),
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (1e300, 7.0, 1.0),
            (-1e300, 7.0, 6.0),
            (MAX, MIN, 0.0),
            (-1.0, 1e300, 1e300),
            (1e22, 7.0, 4.0),
        ],
    );
    binary(
        &REMAINDER,
        &[
            (5.0, 3.0, 2.0),
            (-5.0, 3.0, -2.0),
            (5.0, -3.0, 2.0),
            (-5.0, -3.0, -2.0),
            (6.0, 3.0, 0.0),
            (-6.0, 3.0, -0.0),
            (0.0, 3.0, 0.0),
            (-0.0, 3.0, -0.0),
            (1.0, 0.0, NAN),
            (INF, 3.0, NAN),
            (1.0, INF, 1.0),
            (-1.0, INF, -1.0),
            (1e300, 7.0, 1.0),
            (MIN, 1.0, MIN),
            (1.0, MIN, 0.0),
            (NAN, 1.0, NAN),
        ],
    );
    binary(
        &QUOTIENT,
        &[
            (5.0, 3.0, 1.0),
            (-5.0, 3.0, -1.0),
            (5.0, -3.0, -1.0),
            (6.0, 3.0, 2.0),
            (1.0, 3.0, 0.0),
            (-1.0, 3.0, -0.0),
            (1.0, 0.0, INF),
            (0.0, 0.0, NAN),
            (INF, 3.0, INF),
            (1.0, INF, 0.0),
            (NAN, 1.0, NAN),
            (MAX, MIN, INF),
            (1e300, 1.0, 1e300),
            (-1e300, 2.0, -5e299),
            (MAX, 0.5, INF),
        ],
    );
    // the quotient rounds up to an integer, the true one lies below
    let x = 3.0 * 1501199875790165.0f64;
    let below = f64::from_bits(x.to_bits() - 1);
    assert_eq!(QUOTIENT.f64(below, 3.0), 1501199875790164.0);
    assert_eq!(QUOTIENT.f64(1.0, 0.1), 9.0);
    assert_eq!(MODULO.f64(1.0, 0.1), 0.09999999999999995);
    assert_eq!(REMAINDER.f64(1.0, 0.1), 0.09999999999999995);
    // against the operator %, which is exact
    let mut state = 88172645463325252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..200_000 {
        let (x, y) = (f64::from_bits(next()), f64::from_bits(next()));
        assert!(same(REMAINDER.f64(x, y), x % y), "{x:e} % {y:e}");
        let (x, y) = ((next() % 1000000) as f64 / 64.0, (next() % 1000) as f64 / 512.0);
        assert!(same(REMAINDER.f64(x, y), x % y), "{x:e} % {y:e}");
        let (x, y) = (f32::from_bits(next() as u32), f32::from_bits(next() as u32));
        assert!(same(REMAINDER.f32(x, y) as f64, (x % y) as f64), "{x:e} % {y:e}");
    }
}

#[test]
fn gamma_and_beta_at_the_ends_of_the_range() {
    // by mpmath with 4000 bits
    unary(&LGAMMA, &[(2.5e305, 1.7555118602376452e308), (2.5563e305, 1.7951029165623062e308), (2.56e305, INF), (2.9e305, INF), (MAX, INF)]);
    unary(&GAMMA, &[(-1e-312, -INF), (1e-312, INF), (-1e-300, -9.999999999999999e299), (-1e-25, -9.999999999999999e24)]);
    for (a, b, log, beta) in [
        (1.3155e-280, 4.652e-281, 645.7919036205974, 2.909780306439558e280),
        (1e-281, 3e-279, 647.0297389214195, 1.0033333333333333e281),
        (1e-300, 2e-21, 690.7755278982137, 9.999999999999999e299),
        (7e-290, 7e-290, 666.4969139997779, 2.8571428571428573e289),
    ] {
        binary(&LBETA, &[(a, b, log), (b, a, log)]);
        binary(&BETA, &[(a, b, beta), (b, a, beta)]);
    }
}

#[test]
fn derivatives_of_special_functions_at_the_ends_of_the_range() {
    // by mpmath with 4000 bits
    binary(&BETA_MIXED, &[(1e-100, 3.0, 0.669458003431934), (2.5, 1e-200, 0.7459425165416651), (1.0, INF, 0.0)]);
    binary(
        &BETA_SLOPE,
        &[
            (3.7e-176, 1e-250, -INF),
            (1e-100, 3.0, -1e200),
            (9.999999999999999e29, MAX, -0.0),
            (0.0, 1.0, -INF),
            (INF, 1.0, -0.0),
            (1.0, -1.0, NAN),
            (NAN, 1.0, NAN),
        ],
    );
    binary(
        &DIGAMMA_GAP,
        &[
            (1e308, 1e308, std::f64::consts::LN_2),
            (1e-100, 3.0, 1e100),
            (1.0, INF, INF),
            (INF, 1.0, 0.0),
            (0.0, 1.0, INF),
            (-1.0, 2.0, NAN),
        ],
    );
    binary(&TRIGAMMA_GAP, &[(1e308, 1e308, 5e-309), (1.0, INF, 1.6449340668482264), (1.0, 1e300, 1.6449340668482264), (INF, 1.0, 0.0)]);
    unary(&ERFCX_SLOPE, &[(INF, -0.0), (-INF, -INF), (-40.0, -INF), (0.0, -std::f64::consts::FRAC_2_SQRT_PI), (1e200, -0.0), (NAN, NAN)]);
    binary(&ERFCX_OF_ORDER, &[(2.0, 0.0, 2.0), (2.0, INF, 0.0), (3.0, -INF, -INF), (2.5, 1.0, NAN), (13.0, 1.0, NAN)]);
    unary(&BELL, &[(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (1e300, 0.0), (NAN, NAN)]);
    unary(&HALF_BELL, &[(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)]);
    unary(&HALF_GROWTH, &[(0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN)]);
    binary(
        &INVERSE_PART,
        &[(0.0, 0.0, NAN), (0.0, 2.0, 0.0), (2.0, 0.0, 0.5), (INF, 1.0, 0.0), (-1.0, INF, -0.0), (1e-320, 1.0, 1e-320), (MIN, 0.0, INF)],
    );
}
