//! The lane engine against the interpreter: every lane of every batch equal to the bit, errors included, for generated programs
//! and their gradients, in both number types, at every SIMD level the machine has, whatever the tile, the slice or the threads.

use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::Op;
use neural_compiler::ops::real::Real;
use neural_compiler::{Limits, Options, Shape, Tensor, compile, diff};
use neural_compiler_math::Level;
use neural_compiler_testing::generate::{differentiable, everything};
use neural_compiler_testing::{Case, oracle};

/// Small enough that a program that runs away ends soon; the step limit is left out of it, because a tile counts the steps of
/// all its lanes together.
fn limits() -> Limits {
    Limits { iterations: 2_000, depth: 60, ..Limits::default() }
}

/// Values around those of the case, different in each lane, some at the edges of domains.
fn columns<T: Real>(graph: &Graph, values: &[(Shape, Vec<f64>)], lanes: usize, seed: u64) -> Vec<Vec<T>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    values
        .iter()
        .zip(&graph.inputs)
        .map(|((_, data), _)| {
            let mut column = Vec::with_capacity(lanes * data.len());
            for lane in 0..lanes {
                column.extend(data.iter().map(|&x| {
                    T::from_f64(match (lane, rng.u8(0..40)) {
                        (0, _) => x,
                        (_, 0) => 0.0,
                        (_, 1) => -x,
                        (_, 2) => x.round(),
                        _ => x * (0.5 + rng.f64()),
                    })
                }));
            }
            column
        })
        .collect()
}

fn same<T: Real>(x: T, y: T) -> bool {
    x.to_f64().to_bits() == y.to_f64().to_bits()
}

/// Compares a batch with the interpreter, lane by lane. The number of lanes with a result.
fn compare<T: Real>(graph: &Graph, columns: &[Vec<T>], lanes: usize, uniform: &[bool], options: &BatchOptions, what: &str) -> usize {
    let engine = Engine::new(graph, uniform);
    let sizes: Vec<usize> = graph.outputs().iter().map(|s| s.len()).collect();
    let mut outputs: Vec<Vec<T>> = sizes.iter().map(|n| vec![T::ZERO; n * lanes]).collect();
    let inputs: Vec<Column<'_, T>> = columns
        .iter()
        .zip(&graph.inputs)
        .zip(uniform)
        .map(|((c, i), &u)| if u { Column::shared(&c[..i.shape.len()]) } else { Column::rows(c, i.shape.len()) })
        .collect();
    let mut buffers: Vec<&mut [T]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
    let ran = engine.run(&mut Workspace::new(), &inputs, lanes, &mut buffers, options);
    let mut good = 0;
    for lane in 0..lanes {
        let values: Vec<Tensor<T>> = columns
            .iter()
            .zip(&graph.inputs)
            .zip(uniform)
            .map(|((c, i), &u)| {
                let n = i.shape.len();
                let at = if u { 0 } else { lane * n };
                Tensor::new(i.shape, c[at..at + n].to_vec()).expect("a column has whole rows")
            })
            .collect();
        let expected = interp::run(graph, &values, &options.run);
        match (&ran, expected) {
            (Ok(errors), Ok(results)) => {
                let error = errors.iter().find(|e| e.lane == lane);
                assert!(error.is_none(), "{what}\nlane {lane} fails with {error:?}, the interpreter gives {results:?}");
                for (k, tensor) in results.iter().enumerate() {
                    for (e, &x) in tensor.data().iter().enumerate() {
                        let y = outputs[k][lane * sizes[k] + e];
                        assert!(same(x, y), "{what}\nlane {lane}, result {k}[{e}]: {y:?} instead of {x:?}, level {:?}", options.level);
                    }
                }
                good += 1;
            }
            (Ok(errors), Err(e)) => {
                let found = errors.iter().find(|x| x.lane == lane);
                assert_eq!(found.map(|f| f.error.code), Some(e.code), "{what}\nlane {lane}");
            }
            // What all lanes share failed.
            (Err(shared), expected) => assert_eq!(expected.err().map(|e| e.code), Some(shared.code), "{what}\nlane {lane}"),
        }
    }
    good
}

fn check(case: &Case, seed: u64) -> usize {
    let Ok(compiled) = case.compile() else { return 0 };
    let values: Vec<(Shape, Vec<f64>)> = compiled.inputs.iter().map(|i| (i.shape, i.data.clone())).collect();
    let wrt: Vec<usize> = (0..values.len()).collect();
    let mut graphs = vec![(*compiled.graph).clone()];
    if let Ok(gradient) = diff::gradient(&compiled.graph, &wrt) {
        graphs.push(gradient);
    }
    let lanes = [1, 7, 70][seed as usize % 3];
    let levels = Level::available();
    let mut good = 0;
    for graph in &graphs {
        let level = levels[seed as usize % levels.len()];
        let options = BatchOptions { run: RunOptions { limits: limits(), trap: false }, level, threads: 1 };
        // Every other program shares its first input among all lanes.
        let uniform: Vec<bool> = (0..values.len()).map(|i| i == 0 && seed % 2 == 1).collect();
        good += compare::<f64>(graph, &columns(graph, &values, lanes, seed), lanes, &uniform, &options, &case.source);
        good += compare::<f32>(graph, &columns(graph, &values, lanes, seed), lanes, &uniform, &options, &case.source);
    }
    good
}

#[test]
fn every_lane_equals_the_interpreter() {
    let count = oracle::setting("LANES_PROGRAMS", 1500);
    let good: usize = (0..count).map(|seed| check(&everything(seed), seed) + check(&differentiable(seed), seed)).sum();
    println!("{good} lanes of {} programs equal the interpreter", 2 * count);
    assert!(good as u64 > 10 * count, "too few lanes had a result to compare: {good}");
}

/// Each row of the table at its probes, at every level, in batches that are no multiple of anything.
#[test]
fn every_operation_equals_the_interpreter() {
    for &op in Op::ALL {
        let row = op.row();
        if row.probes.is_empty() || !row.has_surface() {
            continue;
        }
        let arity = row.probes[0].len();
        let names = ["x", "y", "z"];
        let source = format!("({} {})", row.name, names[..arity].join(" "));
        let graph = compile(&source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{source}: {e}"));
        // Inputs stand in the order of the names.
        let lanes = 333;
        let numbers = |k: usize| (0..lanes).map(|l| row.probes[l % row.probes.len()][k]).collect::<Vec<f64>>();
        let wide: Vec<Vec<f64>> = (0..arity).map(numbers).collect();
        let narrow: Vec<Vec<f32>> = wide.iter().map(|c| c.iter().map(|&x| x as f32).collect()).collect();
        for &level in Level::available() {
            let options = BatchOptions { level, ..BatchOptions::default() };
            let uniform = vec![false; arity];
            assert_eq!(compare(&graph, &wide, lanes, &uniform, &options, &source), lanes);
            assert_eq!(compare(&graph, &narrow, lanes, &uniform, &options, &source), lanes);
        }
    }
}

/// The same bits for 1, 2 and 7 threads and for any slice of the batch.
#[test]
fn threads_and_slices_change_nothing() {
    let source = "(loop ((i 0) (s y)) (if (>= i (* 8 x)) s (recur (+ i 1) (if (> s 1) (/ s 2) (+ (sin s) (* x y))))))";
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).expect("it compiles");
    let gradient = diff::gradient(&graph, &[0, 1]).expect("a scalar");
    let engine = Engine::new(&gradient, &[false, false]);
    let lanes = 40_000;
    let mut rng = fastrand::Rng::with_seed(3);
    let columns: Vec<Vec<f64>> = (0..2).map(|_| (0..lanes).map(|_| rng.f64()).collect()).collect();
    let run = |from: usize, to: usize, threads: usize| {
        let inputs: Vec<Column<'_, f64>> = columns.iter().map(|c| Column::rows(&c[from..to], 1)).collect();
        let mut outputs = vec![vec![0.0; to - from]; 3];
        let mut buffers: Vec<&mut [f64]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
        let options = BatchOptions { threads, ..BatchOptions::default() };
        assert_eq!(engine.run(&mut Workspace::new(), &inputs, to - from, &mut buffers, &options), Ok(vec![]));
        outputs
    };
    let whole = run(0, lanes, 1);
    for threads in [2, 7] {
        assert_eq!(run(0, lanes, threads), whole);
    }
    for (from, to) in [(0, 1), (1, 2), (17, 1000), (12_345, 30_001)] {
        let part = run(from, to, 1);
        for (p, w) in part.iter().zip(&whole) {
            assert_eq!(p[..], w[from..to]);
        }
    }
}
