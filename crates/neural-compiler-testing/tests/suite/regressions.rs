//! Programs that once went wrong, each with what it must give.

use neural_compiler::exec::interp;
use neural_compiler::{Options, Shape, Tensor, compile, diff};

/// Numbers for all inputs, one after another, and all results of a graph.
fn run(graph: &neural_compiler::graph::Graph, numbers: &[f64]) -> Vec<Tensor<f64>> {
    let mut rest = numbers.iter().copied();
    let inputs: Vec<Tensor<f64>> =
        graph.inputs.iter().map(|i| Tensor::new(i.shape, rest.by_ref().take(i.shape.len()).collect()).expect("enough numbers")).collect();
    interp::run(graph, &inputs, &Default::default()).expect("a value")
}

fn graph(source: &str) -> std::sync::Arc<neural_compiler::graph::Graph> {
    compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// Cutting a piece out of joined pieces gave the piece with its own shape instead of the shape asked for.
#[test]
fn an_element_of_joined_vectors_is_a_scalar() {
    let result = run(&graph("(ref (concat [z] 1) 0)"), &[2.0]);
    assert_eq!((result[0].shape(), result[0].data()), (Shape::Scalar, &[2.0][..]));
    assert_eq!(run(&graph("(vsum [(ref (concat [z] 1) 0) 2])"), &[2.0])[0].as_scalar(), Some(4.0));
    assert_eq!(run(&graph("(ref (mat [z 3]) 0)"), &[2.0])[0].shape(), Shape::Vector(2));
}

/// Derivatives of cofactors went through the inverse, which a singular matrix does not have.
#[test]
fn second_derivatives_of_a_singular_determinant_are_finite() {
    let source = "(det (mat [x 2 3] [1 2 3] [1 2 y]))";
    let second = diff::hessian(&graph(source), &[0, 1]).expect("a scalar program");
    let numbers: Vec<f64> = run(&second, &[1.0, 1.0]).iter().flat_map(|t| t.data().to_vec()).collect();
    // det = 2 (x - 1) (y - 3)
    assert_eq!(numbers, [0.0, -4.0, 0.0, 0.0, 2.0, 2.0, 0.0]);
    let cofactors = diff::gradient(&graph("(total (cofactor (mat [x 2 3] [1 2 3] [1 2 3])))"), &[0]).expect("a scalar program");
    assert!(run(&cofactors, &[1.0]).iter().flat_map(|t| t.data()).all(|x| x.is_finite()));
}

/// A column without a pivot ended the search before it met a NaN beside it: the determinant was 0.
#[test]
fn determinants_of_matrices_that_hold_nan_are_nan() {
    for n in [1, 2, 3, 4, 5, 8, 9, 20, 50] {
        let graph = graph(&format!("(input a :size [{n} {n}]) (det a)"));
        for (singular, at) in [(true, 0), (true, n * n - 1), (false, 0), (false, n - 1), (false, n * n - 1)] {
            let mut a: Vec<f64> = (0..n * n).map(|k| if singular || k % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
            assert!(run(&graph, &a)[0].as_scalar().is_some_and(|d| d == f64::from(u8::from(!singular || n == 1))));
            a[at] = f64::NAN;
            assert!(run(&graph, &a)[0].as_scalar().is_some_and(f64::is_nan), "{n} rows, NaN at {at}");
        }
    }
}
