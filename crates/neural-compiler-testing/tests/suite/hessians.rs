//! Second derivatives at special points: symmetric for every operation, and right where the answer is known.

use neural_compiler::exec::interp;
use neural_compiler::ops::Op;
use neural_compiler::ops::row::Kernel;
use neural_compiler::{Options, Tensor, compile, diff};

/// Value, gradient and Hessian blocks of a program of scalars.
fn second(source: &str, point: &[f64]) -> Vec<f64> {
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let wrt: Vec<usize> = (0..point.len()).collect();
    let hessian = diff::hessian(&graph, &wrt).unwrap_or_else(|e| panic!("{e}"));
    let inputs: Vec<Tensor<f64>> = point.iter().map(|&x| Tensor::scalar(x)).collect();
    let out = interp::run(&hessian, &inputs, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
    out.iter().map(|t| t.data()[0]).collect()
}

/// The mixed derivatives of every operation of two arguments agree: both the same number, the same infinity, or not there at all.
#[test]
fn hessians_are_symmetric_at_special_points() {
    let special = [-3.0, -2.0, -1.0, -0.5, 0.0, 1e-30, 0.5, 1.0, 1.5, 2.0, 3.0];
    let mut compared = 0;
    for row in Op::ALL.iter().map(|op| op.row()).filter(|row| matches!(row.kernel, Kernel::Binary(_)) && row.has_surface()) {
        for x in special {
            for y in special {
                if row.domain.violated(&[x, y]) {
                    continue;
                }
                let h = second(&format!("({} x y)", row.name), &[x, y]);
                let (xy, yx) = (h[4], h[5]);
                let close = xy == yx || (xy - yx).abs() <= 1e-12 * xy.abs().max(yx.abs()) || (xy.is_nan() && yx.is_nan());
                assert!(close, "({} {x} {y}): the mixed derivatives are {xy} and {yx}", row.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "only {compared} points");
}

/// Powers where they once went wrong. The limits at 0 from x^(y-1) (1 + y log x) and y (y-1) x^(y-2).
#[test]
fn powers_have_the_second_derivatives_of_powers() {
    let (inf, any) = (f64::INFINITY, f64::NAN);
    // x, y; by x twice, mixed, by y twice; NaN: not asked.
    for (x, y, xx, xy, yy) in [
        (2.0, 0.0, 0.0, 0.5, 2f64.ln().powi(2)),
        (-2.0, 2.0, 2.0, any, any),
        (-2.0, 3.0, -12.0, any, any),
        (-0.5, -1.0, -16.0, any, any),
        (0.0, 1.0, 0.0, -inf, 0.0),
        (0.0, 0.5, -inf, -inf, 0.0),
        (0.0, 2.0, 2.0, 0.0, 0.0),
        (0.0, 3.0, 0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0, 1.0, 0.0),
        (2.0, 3.0, 12.0, 4.0 + 12.0 * 2f64.ln(), 8.0 * 2f64.ln().powi(2)),
    ] {
        let h = second("(pow x y)", &[x, y]);
        for (found, expected) in [(h[3], xx), (h[4], xy), (h[5], xy), (h[6], yy)] {
            let right = expected.is_nan() || found == expected || (found - expected).abs() <= 1e-14 * expected.abs();
            assert!(right, "({x}, {y}): {h:?}, expected {xx} {xy} {yy}");
        }
    }
    // First derivatives keep their limits.
    assert_eq!(&second("(pow x y)", &[0.0, 2.0])[1..3], &[0.0, 0.0]);
    assert_eq!(&second("(pow x y)", &[0.0, 1.0])[1..3], &[1.0, 0.0]);
}

/// Compares first and second derivatives of a function of one variable.
fn slopes(source: &str, x: f64, first: f64, second_: f64) {
    let h = second(source, &[x]);
    for (found, expected) in [(h[1], first), (h[2], second_)] {
        let right = found == expected || (found - expected).abs() <= 4e-15 * expected.abs();
        assert!(right, "{source} at {x}: {h:?}, expected {first} {second_}");
    }
}

/// Where terms of the plain formulas cancel, or a square is rounded before its exponential; by mpmath with 1200 bits and more.
#[test]
#[allow(clippy::excessive_precision)] // as mpmath prints them
fn derivatives_keep_their_digits() {
    for (x, first, twice) in [
        (3.0, -0.054372260007172871, 0.031768742319742673),
        (100.0, -5.6410497625993185e-5, 1.1280407802288336e-6),
        (1e4, -5.6418957508491275e-9, 1.1283791332441388e-12),
        (1e8, -5.641895835477562e-17, 1.1283791670955122e-24),
    ] {
        slopes("(erfcx x)", x, first, twice);
    }
    for (x, twice) in [(1e-12, 1e-12), (1e-17, 1e-17), (1e-300, 1e-300), (0.3, 0.3455884077105225), (0.7072, 2.0010550677457427)] {
        let first = 1.0 / f64::sqrt(1.0 - x * x);
        slopes("(asin x)", x, first, twice);
        slopes("(asin x)", -x, first, -twice);
        slopes("(acos x)", x, -first, -twice);
    }
    for (x, first, twice) in [
        (20.3, 1.2135062342325594e-179, -4.9268353109841912e-178),
        (25.7, 1.604326314829186e-287, -8.2462372582220159e-286),
        (26.1, 1.6095743479277809e-296, -8.4019780961830165e-295),
        (-24.9, 6.1028589763450426e-270, 3.039223770219831e-268),
    ] {
        slopes("(erf x)", x, first, twice);
        slopes("(erfc x)", x, -first, -twice);
    }
    for (x, first, twice) in [
        (-36.7, 1.341104749267097e-293, 4.9218544298102465e-292),
        (-30.1, 7.3002593842806107e-198, 2.1973780746684639e-196),
        (-5.3, 3.1713492167159782e-7, 1.6808150848594684e-6),
    ] {
        slopes("(normal-cdf x)", x, first, twice);
    }
}

/// By a, by b, twice by a, mixed, twice by b; by mpmath with 1200 bits.
#[test]
#[allow(clippy::excessive_precision)] // as mpmath prints them
fn derivatives_of_beta_keep_their_digits() {
    type Case = (f64, f64, [f64; 5], [f64; 5]);
    let cases: [Case; 5] = [
        (
            1e-6,
            1e-6,
            [-1000000000001.645, -1000000000001.645, 2.0000000000000003e18, 2.4041083947105933, 2.0000000000000003e18],
            [-500000.00000164495, -500000.00000164495, 750000000000.00007, -250000000001.64495, 750000000000.00007],
        ),
        (
            1.0,
            1e-10,
            [-1.6449340667280207, -9.9999999999999993e19, 2.4041138062650724, 1.2020569029431296, 1.9999999999999998e30],
            [-1.6449340667280208e-10, -9999999999.9999996, 2.4041138059944917e-10, -1.6449340666078151, 9.9999999999999993e19],
        ),
        (
            1e12,
            2.0,
            [-1.999999999997e-36, -2.7208236780804373e-23, 5.999999999988e-48, 5.3416473561584037e-35, 7.4093308278790277e-22],
            [-1.999999999999e-12, -27.208236780831581, 1.999999999998e-24, -9.999999999985e-13, 0.64493406684722644],
        ),
        (
            0.5,
            40.0,
            [-1.5890448521001832, -0.0035360449028502711, 10.362218577982636, 0.012959393863527138, 0.00013342686272856233],
            [-5.6524155189546571, -0.012578118898390458, 4.9098035023433226, -0.024998698201356741, 0.00031640563993428684],
        ),
        (
            3e-5,
            7.0,
            [-1111111107.3644471, -0.1535335399764569, 74074074074064.72, 0.38791460357171675, 0.02352934283930596],
            [-33335.783288592737, -4.6063447500996747e-6, 1111111112.6024285, -0.15354447204838715, 7.0591095040113914e-7],
        ),
    ];
    for (a, b, beta, lbeta) in cases {
        for (name, [by_a, by_b, aa, ab, bb]) in [("beta", beta), ("lbeta", lbeta)] {
            let h = second(&format!("({name} a b)"), &[a, b]);
            for (found, expected) in h[1..].iter().zip([by_a, by_b, aa, ab, ab, bb]) {
                assert!((found - expected).abs() <= 2e-15 * expected.abs(), "({name} {a} {b}): {h:?}, not {expected}");
            }
        }
    }
    assert_eq!(second("(beta a b)", &[3.7e-176, 1e-250])[1], f64::NEG_INFINITY);
    assert_eq!(second("(lbeta a b)", &[1e308, 1e308])[1], -std::f64::consts::LN_2);
}

/// Twice by y, mixed, twice by x: -2 x y/r^4, (y^2 - x^2)/r^4, 2 x y/r^4, beyond the largest number and below.
#[test]
fn angles_have_their_second_derivatives_near_the_origin() {
    let inf = f64::INFINITY;
    for (y, x, yy, yx) in [
        (1e-200, 1e-200, -inf, 0.0),
        (1e-200, -1e-200, inf, 0.0),
        (2e-200, 1e-200, -inf, inf),
        (1e200, 1e200, 0.0, 0.0),
        (1.0, 1.0, -0.5, 0.0),
    ] {
        let h = second("(atan y x)", &[y, x]);
        for (found, expected) in h[3..].iter().zip([yy, yx, yx, -yy]) {
            assert!(*found == expected || (found - expected).abs() <= 1e-15, "(atan {y} {x}): {h:?}");
        }
    }
}

/// The densities at the borders of their domains and where they are too small for a number: from the powers they are made of.
#[test]
fn densities_have_their_slopes_at_borders() {
    for (source, x, expected) in [
        ("(gamma-p 1 x)", 0.0, -1.0),
        ("(gamma-p 2 x)", 0.0, 1.0),
        ("(gamma-p 3 x)", 0.0, 0.0),
        ("(gamma-p 1.5 x)", 0.0, f64::INFINITY),
        ("(gamma-p 0.5 x)", 0.0, f64::NEG_INFINITY),
        ("(gamma-p 2 x)", 1e-310, 1.0),
        ("(gamma-q 2 x)", 1e-320, -1.0),
        ("(gamma-p 3 x)", 1e-200, 1e-200),
        ("(gamma-p 3 x)", 3e-162, 3e-162),
        ("(beta-p 1 1 x)", 0.0, 0.0),
        ("(beta-p 1 1 x)", 1.0, 0.0),
        ("(beta-p 1 2 x)", 0.0, -2.0),
        ("(beta-p 2 1 x)", 0.0, 2.0),
        ("(beta-p 2 1 x)", 1.0, 2.0),
        ("(beta-p 2 1 x)", 1e-320, 2.0),
        ("(beta-p 2 2 x)", 0.0, 6.0),
        ("(beta-p 2 2 x)", 1.0, -6.0),
        ("(beta-p 3 1 x)", 1e-200, 6e-200),
        ("(beta-q 1 3 x)", 1.0, 0.0),
    ] {
        let found = second(source, &[x])[2];
        assert!(found == expected || (found / expected - 1.0).abs() < 1e-14, "{source} at {x}: {found}, not {expected}");
    }
}

/// Where the density is 0 its derivative by a shape is 0, though the logarithm of the place has no end: finite differences say so too.
#[test]
fn densities_of_0_have_mixed_derivatives_of_0() {
    for (source, point) in [
        ("(gamma-p a x)", vec![2.0, 0.0]),
        ("(gamma-p a x)", vec![2.0, f64::INFINITY]),
        ("(gamma-q a x)", vec![30.0, 0.0]),
        ("(beta-p a 2 x)", vec![3.0, 0.0]),
        ("(beta-p 3 a x)", vec![3.0, 1.0]),
    ] {
        let found = second(source, &point);
        assert_eq!((found[4], found[5]), (0.0, 0.0), "{source} at {point:?}: {found:?}");
    }
}
