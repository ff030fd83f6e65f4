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
