//! Jacobians: known values in both modes, shapes of the blocks, and agreement with a product along a direction.

use neural_compiler::exec::interp;
use neural_compiler::graph::Graph;
use neural_compiler::{Limits, Options, Shape, Tensor, compile, diff};

fn jacobian(source: &str, inputs: &[(&str, Shape, &[f64])], wrt: &[usize]) -> Vec<Tensor<f64>> {
    let named = inputs.iter().map(|(n, s, _)| (n.to_string(), Some(*s))).collect();
    let options = Options { inputs: Some(named), ..Options::default() };
    let graph = compile(source, &options).and_then(|p| p.graph()).expect("it compiles");
    let values: Vec<Tensor<f64>> = inputs.iter().map(|(_, s, x)| Tensor::new(*s, x.to_vec()).expect("fits")).collect();
    let derived = diff::jacobian(&graph, wrt).expect("its blocks are small");
    interp::run(&derived, &values, &Default::default()).expect("it runs")
}

#[test]
fn more_results_than_inputs_goes_forward() {
    let out = jacobian("[(* x y) (square x) y]", &[("x", Shape::Scalar, &[3.0]), ("y", Shape::Scalar, &[5.0])], &[0, 1]);
    assert_eq!(out[0].data(), [15.0, 9.0, 5.0]);
    assert_eq!((out[1].shape(), out[1].data()), (Shape::Vector(3), &[5.0, 6.0, 0.0][..]));
    assert_eq!((out[2].shape(), out[2].data()), (Shape::Vector(3), &[3.0, 0.0, 1.0][..]));
}

#[test]
fn fewer_results_than_inputs_goes_backward() {
    let out = jacobian("[(dot v v) (vsum v)]", &[("v", Shape::Vector(3), &[1.0, 2.0, 4.0])], &[0]);
    assert_eq!((out[1].shape(), out[1].data()), (Shape::Matrix(2, 3), &[2.0, 4.0, 8.0, 1.0, 1.0, 1.0][..]));
}

#[test]
fn a_matrix_times_a_vector_gives_the_matrix_back() {
    let matrix = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let inputs: &[(&str, Shape, &[f64])] = &[("m", Shape::Matrix(3, 2), &matrix), ("v", Shape::Vector(2), &[7.0, 8.0])];
    let out = jacobian("(matvec m v)", inputs, &[1]);
    assert_eq!((out[1].shape(), out[1].data()), (Shape::Matrix(3, 2), &matrix[..]));
    let out = jacobian("(matvec m v)", inputs, &[0]);
    assert_eq!(out[1].shape(), Shape::Matrix(3, 6));
    assert_eq!(&out[1].data()[..6], [7.0, 8.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn loops_have_jacobians_in_both_modes() {
    let walk = "(loop ((i 0) (u v)) (if (= i 3) RESULT (recur (+ i 1) (* u (+ u (ref v 0))))))";
    let inputs: &[(&str, Shape, &[f64])] = &[("v", Shape::Vector(2), &[0.5, 0.25])];
    let forward = jacobian(&walk.replace("RESULT", "u"), inputs, &[0]);
    let backward = jacobian(&walk.replace("RESULT", "[(ref u 0)]"), inputs, &[0]);
    assert_eq!(forward[1].shape(), Shape::Matrix(2, 2));
    assert_eq!(backward[1].shape(), Shape::Matrix(1, 2));
    for (a, b) in forward[1].data().iter().zip(backward[1].data()) {
        assert!((a - b).abs() <= 1e-14 * a.abs(), "{a} and {b}");
    }
    assert!(forward[1].data()[0] != 0.0);
}

/// What is deep is recorded, not computed again at every level: the work of a gradient grows as the program does.
#[test]
fn the_work_of_a_gradient_is_proportional_to_the_depth_of_loops() {
    let nest = |depth: usize| {
        let open: String = (0..depth).map(|i| format!("(loop ((i{i} 0) (s{i} x)) (if (> i{i} 0) s{i} (recur (+ i{i} 1) ")).collect();
        format!("{open}(sin x){}", ")))".repeat(depth))
    };
    let fits = |depth: usize, steps: u64| {
        let graph = compile(&nest(depth), &Options::default()).and_then(|p| p.graph()).expect("it compiles");
        let limits = Limits { steps, ..Limits::default() };
        let options = interp::RunOptions { limits, ..Default::default() };
        let run = |graph: &Graph| interp::run(graph, &[Tensor::scalar(0.5)], &options);
        let (gradient, hessian) = (diff::gradient(&graph, &[0]).expect("it has one"), diff::hessian(&graph, &[0]).expect("it has one"));
        let found = (run(&gradient)?, run(&hessian)?);
        // Each loop hands (sin x) on.
        assert_eq!(found.0[1].data(), [0.5f64.cos()]);
        assert_eq!(found.1.last().map(|t| t.data().to_vec()), Some(vec![-0.5f64.sin()]));
        Ok::<(), neural_compiler::exec::EvalError>(())
    };
    // Two rounds per loop; a gradient takes some four, a second derivative some nine, and the innermost levels, which are computed again,
    // some hundred more; at 300 levels it was 95,000 and 190,000.
    for depth in [20, 300] {
        fits(depth, 400 + 12 * depth as u64).unwrap_or_else(|e| panic!("{depth} levels: {e}"));
    }
}

/// The graph would have had a product for each of ten million numbers.
#[test]
fn derivatives_by_very_many_numbers_are_refused_before_they_are_written() {
    let options = Options { inputs: Some(vec![("v".to_string(), Some(Shape::Vector(10_000_000)))]), ..Options::default() };
    let graph = compile("(vsum (* v v))", &options).and_then(|p| p.graph()).expect("it compiles");
    assert_eq!(diff::hessian(&graph, &[0]).expect_err("too many numbers").0[0].code, "limit-memory");
    // A gradient has as many numbers as the input; only a result of as many makes too many.
    assert!(diff::jacobian(&graph, &[0]).is_ok());
    let graph = compile("(* v v)", &options).and_then(|p| p.graph()).expect("it compiles");
    assert_eq!(diff::jacobian(&graph, &[0]).expect_err("too many numbers").0[0].code, "limit-memory");
}
