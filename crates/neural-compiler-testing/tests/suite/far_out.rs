//! The first three derivatives where a function saturates or tends to a line: in both types and by both modes, against mpmath with 400
//! digits and more (the closed forms by tanh and sech; the hazard of the normal distribution by erfc).

use neural_compiler::exec::interp;
use neural_compiler::graph::Graph;
use neural_compiler::ops::Op;
use neural_compiler::ops::real::Real;
use neural_compiler::ops::row::{Arity, Kernel};
use neural_compiler::{Options, Tensor, compile, diff};
use std::sync::Arc;

fn graph(source: &str) -> Arc<Graph> {
    compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// The derivatives of a program of x, each twice: the last step forward, then in reverse.
fn derivatives(source: &str) -> [[Arc<Graph>; 2]; 3] {
    let mut inner = source.to_owned();
    [1, 2, 3].map(|_| {
        let reverse = diff::gradient(&graph(&inner), &[0]).unwrap_or_else(|e| panic!("{e}\n{inner}"));
        inner = format!("(d {inner} x)");
        [graph(&inner), Arc::new(reverse)]
    })
}

/// The last of the results: a gradient follows its value.
fn at<T: Real>(graph: &Graph, x: T) -> T {
    let out = interp::run(graph, &[Tensor::scalar(x)], &Default::default()).unwrap_or_else(|e| panic!("{e}"));
    *out.last().and_then(|t| t.data().last()).expect("a result")
}

/// Compares with the three derivatives at each place, relative to them or to the smallest of numbers.
fn check(source: &str, wide: f64, narrow: f64, table: &[(f64, [f64; 3])]) {
    let graphs = derivatives(source);
    for &(x, truth) in table {
        for (order, (modes, truth)) in graphs.iter().zip(truth).enumerate() {
            for graph in modes {
                let (found, single) = (at(graph, x), f64::from(at(graph, x as f32)));
                let what = format!("derivative {} of {source} at {x}, expected {truth:e}", order + 1);
                assert!((found - truth).abs() <= wide * truth.abs() + 1e-322, "{what}, is {found:e}");
                assert!((single - truth).abs() <= narrow * truth.abs() + 3e-44, "{what}, is {single:e} in f32");
            }
        }
    }
}

#[test]
#[allow(clippy::excessive_precision)] // as mpmath prints them
fn sigmoids_keep_their_derivatives() {
    let tanh = [
        (1e-9, [1.0, -2.0000000000000001e-9, -2.0]),
        (0.5, [0.78644773296592741, -0.72686198138358728, -0.56520928825977036]),
        (3.0, [0.0098660371654401913, -0.019634494363042436, 0.038880116525661682]),
        (21.0, [2.2998089057174239e-18, -4.5996178114348478e-18, 9.1992356228696956e-18]),
        (23.0, [4.212246943021525e-20, -8.4244938860430499e-20, 1.68489877720861e-19]),
        (40.0, [7.2194055513816607e-35, -1.4438811102763321e-34, 2.8877622205526643e-34]),
        (90.0, [2.6856737152846373e-78, -5.3713474305692746e-78, 1.0742694861138549e-77]),
        (300.0, [1.0601586212017243e-260, -2.1203172424034487e-260, 4.2406344848068973e-260]),
        (372.0, [3.0687778816719916e-323, -6.1375557633439833e-323, 1.2275111526687967e-322]),
    ];
    let sigmoid = [
        (1e-9, [0.25, -1.2500000000000001e-10, -0.125]),
        (0.5, [0.23500371220159449, -0.057556794852320741, -0.096356756289584614]),
        (3.0, [0.045176659730912133, -0.040891574660943479, 0.032931076224256425]),
        (40.0, [4.248354255291589e-18, -4.2483542552915889e-18, 4.2483542552915889e-18]),
        (50.0, [1.9287498479639178e-22, -1.9287498479639178e-22, 1.9287498479639178e-22]),
        (90.0, [8.1940126239905154e-40, -8.1940126239905154e-40, 8.1940126239905154e-40]),
        (180.0, [6.7141842882115932e-79, -6.7141842882115932e-79, 6.7141842882115932e-79]),
        (600.0, [2.6503965530043108e-261, -2.6503965530043108e-261, 2.6503965530043108e-261]),
        (744.0, [7.6719447041799791e-324, -7.6719447041799791e-324, 7.6719447041799791e-324]),
    ];
    for (source, table) in [("(tanh x)", tanh), ("(sigmoid x)", sigmoid)] {
        check(source, 4e-15, 4e-6, &table);
        check(source, 4e-15, 4e-6, &table.map(|(x, [first, second, third])| (-x, [first, -second, third])));
        check(source, 0.0, 0.0, &[711.0, 1e3, 1e5, 1e10, 1e30, f64::INFINITY].map(|x| (2.0 * x, [0.0; 3])));
    }
    let softplus = [
        (3.0, [0.95257412682243322, 0.045176659730912133, -0.040891574660943479]),
        (-40.0, [4.248354255291589e-18, 4.248354255291589e-18, 4.2483542552915889e-18]),
        (50.0, [1.0, 1.9287498479639178e-22, -1.9287498479639178e-22]),
        (180.0, [1.0, 6.7141842882115932e-79, -6.7141842882115932e-79]),
        (600.0, [1.0, 2.6503965530043108e-261, -2.6503965530043108e-261]),
        (1e5, [1.0, 0.0, 0.0]),
        (-1e5, [0.0; 3]),
    ];
    check("(softplus x)", 4e-15, 4e-6, &softplus);
}

/// The second derivative of the logarithm tends to -1, so the third is what the terms of it leave.
#[test]
#[allow(clippy::excessive_precision)] // as mpmath prints them
fn the_logarithm_of_the_normal_distribution_keeps_its_derivatives() {
    let far = [
        (-13.0, [13.076038560603979, -0.99428315055045795, 0.00085011575326709845]),
        (-20.0, [20.049753068527851, -0.99753673838494784, 0.00024272657893584202]),
        (-100.0, [100.00999800099926, -0.99990005995005174, 1.9976029958623432e-6]),
        (-400.0, [400.00249996875098, -0.99999375023436279, 3.1247656433089662e-8]),
        (-2000.0, [2000.00049999975, -0.999999750000375, 2.4999925000234374e-10]),
        (-1e4, [10000.000099999998, -0.9999999900000006, 1.99999976000003e-12]),
        (-1e5, [1.0000000001e5, -0.9999999999, 1.9999999976e-15]),
        (-1e8, [1.0000000000000001e8, -0.9999999999999999, 1.9999999999999976e-24]),
        (-1e30, [1e30, -1.0, 2e-90]),
    ];
    check("(normal-log-cdf x)", 2e-14, 4e-6, &far);
    check("(normal-log-cdf x)", 2e-12, 4e-3, &[(-11.0, [11.089465029715172, -0.992119318408833, 0.0013674413868762172])]);
    check("(normal-log-cdf x)", 2e-14, 4e-5, &[(-3.0, [3.2830986549304365, -0.92944081321473188, 0.031470672830842488])]);
}

/// Where nothing is known of the value: no derivative at a large number is NaN unless a lower one, or the function, has left the numbers.
#[test]
fn no_derivative_is_lost_at_large_numbers() {
    let mut lost = Vec::new();
    for row in Op::ALL.iter().map(|op| op.row()).filter(|r| r.has_surface() && r.arity == Arity::Exactly(1)) {
        if !matches!(row.kernel, Kernel::Unary(_)) {
            continue;
        }
        let source = format!("({} x)", row.name);
        let (value, graphs) = (graph(&source), derivatives(&source));
        for size in [1.0, 30.0, 90.0, 180.0, 711.0, 1e3, 1e5, 1e10, 1e30, 1e100, 1e300] {
            for x in [size, -size].into_iter().filter(|&x| !row.domain.violated(&[x])) {
                for mode in 0..2 {
                    let wide: Vec<f64> = std::iter::once(at(&value, x)).chain(graphs.iter().map(|g| at(&g[mode], x))).collect();
                    let x = x as f32;
                    let narrow: Vec<f32> = std::iter::once(at(&value, x)).chain(graphs.iter().map(|g| at(&g[mode], x))).collect();
                    let narrow: Vec<f64> = narrow.into_iter().map(f64::from).filter(|_| x.is_finite()).collect();
                    for (kind, found) in [("f64", wide), ("f32", narrow)] {
                        let end = found.iter().position(|v| !v.is_finite());
                        if end.is_some_and(|end| found[end].is_nan()) {
                            lost.push(format!("{source} at {x:e} in {kind}: {found:?}"));
                        }
                    }
                }
            }
        }
    }
    assert!(lost.is_empty(), "{} places:\n{}", lost.len(), lost.join("\n"));
}
