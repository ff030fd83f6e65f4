//! A discretised equation on a grid of 1,000 points, its matrix dense as written: the graph stays small, the engine equals the
//! interpreter, and the gradient goes through.

use neural_compiler::exec::interp;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::{Options, Tensor, compile, diff};

const POINTS: usize = 1000;

/// The second difference with fixed ends.
fn second_difference() -> Vec<f64> {
    let mut a = vec![0.0; POINTS * POINTS];
    for i in 0..POINTS {
        a[i * POINTS + i] = -2.0;
        if i > 0 {
            a[i * POINTS + i - 1] = 1.0;
        }
        if i + 1 < POINTS {
            a[i * POINTS + i + 1] = 1.0;
        }
    }
    a
}

#[test]
fn a_grid_of_a_thousand_points_steps_and_has_a_gradient() {
    let source = format!(
        "(input a :size [{POINTS} {POINTS}]) (input u :size {POINTS}) \
         (loop ((i 0) (v u)) (if (= i 3) (dot v v) (recur (+ i 1) (+ v (* 0.25 (matvec a v))))))"
    );
    let graph = compile(&source, &Options::default()).and_then(|p| p.graph()).expect("it compiles");
    let gradient = diff::gradient(&graph, &[1]).expect("a scalar");
    let nodes: usize = gradient.regions().iter().map(|r| r.nodes.len()).sum();
    assert!(nodes < 100, "{nodes} nodes");
    let a = second_difference();
    // A single spike spreads as (1, 2, 1)/4 each step: after three steps (1, 6, 15, 20, 15, 6, 1)/64, all numbers exact.
    let mut u = vec![0.0; 2 * POINTS];
    u[500] = 1.0;
    u[POINTS + 300] = 2.0;
    let spread = [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0].map(|x| x / 64.0);
    let energy: f64 = spread.iter().map(|x| x * x).sum();
    let lanes = 2;
    let mut outputs = [vec![0.0; lanes], vec![0.0; lanes * POINTS]];
    let mut buffers: Vec<&mut [f64]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
    let inputs = [Column::shared(&a), Column::rows(&u, POINTS)];
    let errors = Engine::new(&gradient, &[true, false]).run(&mut Workspace::new(), &inputs, lanes, &mut buffers, &BatchOptions::default());
    assert_eq!(errors, Ok(vec![]));
    assert_eq!(outputs[0], [energy, 4.0 * energy]);
    // The gradient is twice the sixfold spread of the spike; its middle is the energy again.
    assert_eq!((outputs[1][500], outputs[1][POINTS + 300]), (2.0 * energy, 4.0 * energy));
    for lane in 0..lanes {
        let values = [
            Tensor::new(gradient.inputs[0].shape, a.clone()).expect("fits"),
            Tensor::new(gradient.inputs[1].shape, u[lane * POINTS..(lane + 1) * POINTS].to_vec()).expect("fits"),
        ];
        let expected = interp::run(&gradient, &values, &Default::default()).expect("it runs");
        assert_eq!(expected[1].data(), &outputs[1][lane * POINTS..(lane + 1) * POINTS]);
    }
}
