//! What the lane engine promises beyond the suite of `tests/conformance.rs`: the same bits whatever the threads, the slices, the strides
//! and the record of loops, sums over the batch in a fixed order, large values.

use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::{Limits, Options, Shape, compile, diff};
use neural_compiler_math::Level;
use neural_compiler_testing::conformance::batch::{self, Batch, Bits};
use neural_compiler_testing::conformance::executors::{Executor, Lanes, lanes_at};

/// Both ways of the lane engine beside the interpreter. The number of lanes with a result.
fn compare<T: Bits>(
    graph: &Graph,
    columns: &[Vec<T>],
    lanes: usize,
    uniform: &[bool],
    executors: &[Box<dyn Executor>],
    what: &str,
) -> usize {
    batch::compare(executors, &Batch { graph, columns, lanes, uniform, gap: 0, run: RunOptions::default() }, what)
}

/// Moving numbers about makes a NaN quiet, as every operation does.
#[test]
fn moved_nans_are_quiet() {
    let graph = compile("(transpose (mat [x y] [y x]))", &Options::default()).and_then(|p| p.graph()).expect("it compiles");
    let odd = [f64::from_bits(0xfff8_0000_0000_0000), f64::from_bits(0x7ff8_0000_0000_1234), 1.0];
    let columns: Vec<Vec<f64>> = (0..2).map(|k| (0..90).map(|l| odd[(l + k * (l / 3)) % 3]).collect()).collect();
    assert_eq!(compare(&graph, &columns, 90, &[false, false], &lanes_at(Level::best(), usize::MAX), "a transposed matrix"), 90);
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

/// What the engine promises about sums: 64 lanes as a tree of four rows of sixteen, 64 such sums as a tree, then all blocks as one.
fn fixed_order(lanes: &[f32]) -> f32 {
    fn tree(x: &[f32]) -> f32 {
        if x.len() == 1 { x[0] } else { tree(&x[..x.len().next_power_of_two() / 2]) + tree(&x[x.len().next_power_of_two() / 2..]) }
    }
    let chunk = |c: &[f32]| {
        let at = |i: usize| c.get(i).copied().unwrap_or(-0.0);
        tree(&(0..16).map(|i| (at(i) + at(i + 16)) + (at(i + 32) + at(i + 48))).collect::<Vec<_>>())
    };
    let block = |b: &[f32]| tree(&b.chunks(64).map(chunk).collect::<Vec<_>>());
    tree(&lanes.chunks(4096).map(block).collect::<Vec<_>>())
}

/// Gradients with respect to shared parameters are summed over the batch in one order, whatever the threads and the tiles.
#[test]
fn reduced_gradients_are_sums_in_a_fixed_order() {
    // The second program has many slots, so narrow tiles; the third fails in a lane; the fourth does not depend on the lane.
    let many: String = (0..300).map(|k| format!("(sin (* a (+ x {k})))")).collect();
    let programs = [
        "(* a (exp (* b (sin x))))".to_string(),
        format!("(* b (max {many}))"),
        "(* a b (ref [1 2] x))".to_string(),
        "(* a a b)".to_string(),
    ];
    for (number, source) in programs.iter().enumerate() {
        let names = ["a", "b", "x"].map(|n| (n.to_string(), Some(Shape::Scalar)));
        let options = Options { inputs: Some(names.to_vec()), ..Options::default() };
        let graph = compile(source, &options).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{source}: {e}"));
        let gradient = diff::gradient(&graph, &[0, 1]).expect("a scalar");
        let lanes = 21_003;
        let mut rng = fastrand::Rng::with_seed(11);
        let bad = 17_000;
        let x: Vec<f32> = (0..lanes).map(|l| if number == 2 { if l == bad { 5.0 } else { 1.0 } } else { rng.f32() }).collect();
        let inputs = [Column::shared(&[1.25f32]), Column::shared(&[0.75f32]), Column::rows(&x, 1)];
        let run = |reduced: bool, threads: usize| {
            let engine = Engine::reduced(&gradient, &[true, true, false], &[false, reduced, reduced]);
            let rows = if reduced { 1 } else { lanes };
            let mut outputs = [vec![0f32; lanes], vec![0f32; rows], vec![0f32; rows]];
            let mut buffers: Vec<&mut [f32]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
            let batch = BatchOptions { threads, jit: threads != 1, ..BatchOptions::default() };
            let errors = engine.run(&mut Workspace::new(), &inputs, lanes, &mut buffers, &batch).expect("it runs");
            (outputs, errors.iter().map(|e| e.lane).collect::<Vec<_>>())
        };
        let (lanewise, failed) = run(false, 1);
        assert_eq!(failed, if number == 2 { vec![bad] } else { vec![] });
        for threads in [1, 2, 5] {
            let (sums, errors) = run(true, threads);
            assert_eq!(errors, failed);
            for k in [1, 2] {
                assert_eq!(sums[k][0].to_bits(), fixed_order(&lanewise[k]).to_bits(), "{source}, result {k}, {threads} threads");
            }
            assert_eq!(sums[1][0].is_nan(), number == 2);
        }
    }
}

/// A long loop walks back within a bound of memory, with the same bits; without the bound it does not fit.
#[test]
fn long_loops_walk_back_within_bounded_memory() {
    let source = "(loop ((i 0) (v x)) (if (>= i n) v (recur (+ i 1) (+ v (* 1e-3 (- (sin (* a v)) \
                  (loop ((j 0) (w v)) (if (>= j 3) w (recur (+ j 1) (* 0.5 w))))))))))";
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).expect("it compiles");
    let wrt: Vec<usize> = graph.inputs.iter().enumerate().filter(|(_, i)| i.name != "n").map(|(k, _)| k).collect();
    let gradient = diff::gradient(&graph, &wrt).expect("a scalar");
    let lanes = 70;
    let run = |rounds: f64, record_bytes: usize, memory_bytes: usize| {
        let columns: Vec<Vec<f64>> = gradient
            .inputs
            .iter()
            .map(|i| (0..lanes).map(|l| if i.name == "n" { rounds + (l % 5) as f64 } else { 0.5 + l as f64 / 50.0 }).collect())
            .collect();
        let inputs: Vec<Column<'_, f64>> = columns.iter().map(|c| Column::rows(c, 1)).collect();
        let mut outputs = vec![vec![0.0; lanes]; gradient.outputs().len()];
        let mut buffers: Vec<&mut [f64]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
        let run = RunOptions { limits: Limits { memory_bytes, ..Limits::default() }, trap: false };
        let options = BatchOptions { record_bytes, run, ..BatchOptions::default() };
        engine_run(&gradient, &inputs, lanes, &mut buffers, &options).map(|()| outputs)
    };
    let all = run(1_000.0, usize::MAX, usize::MAX).expect("memory has no bound");
    for budget in [0, 10_000, 200_000] {
        assert_eq!(run(1_000.0, budget, usize::MAX).expect("it runs"), all, "budget {budget}");
    }
    assert_eq!(run(20_000.0, usize::MAX, 4 << 20), Err("limit-memory"));
    let long = run(20_000.0, 1 << 20, 4 << 20).expect("it fits");
    assert!(long.iter().flatten().all(|x| x.is_finite() && *x != 0.0));
}

fn engine_run(
    graph: &Graph,
    inputs: &[Column<'_, f64>],
    lanes: usize,
    buffers: &mut [&mut [f64]],
    options: &BatchOptions,
) -> Result<(), &'static str> {
    let errors = Engine::new(graph, &vec![false; graph.inputs.len()]).run(&mut Workspace::new(), inputs, lanes, buffers, options);
    match errors {
        Ok(errors) => errors.first().map_or(Ok(()), |e| Err(e.error.code)),
        Err(e) => Err(e.code),
    }
}

/// A matrix all lanes share, large enough for every path: rows and lanes that are no multiple of anything.
#[test]
fn shared_matrices_sum_in_the_interpreters_order() {
    let options = Options {
        inputs: Some(vec![
            ("m".into(), Some(Shape::Matrix(7, 5))),
            ("v".into(), Some(Shape::Vector(5))),
            ("w".into(), Some(Shape::Matrix(5, 3))),
        ]),
        ..Options::default()
    };
    let graph = compile("(+ (vsum (matvec m v)) (trace (matmul (transpose w) (matmul (transpose m) (matmul m w)))))", &options)
        .and_then(|p| p.graph())
        .expect("it compiles");
    let mut rng = fastrand::Rng::with_seed(5);
    for lanes in [1, 3, 8, 31, 33, 100] {
        let columns: Vec<Vec<f64>> = graph.inputs.iter().map(|i| (0..lanes * i.shape.len()).map(|_| rng.f64() - 0.5).collect()).collect();
        for &level in Level::available() {
            let mut executors = lanes_at(level, usize::MAX);
            executors.push(Box::new(Lanes { jit: true, ..Lanes::new(level) }));
            for uniform in [[true, false, false], [false, false, true], [false; 3]] {
                assert_eq!(compare(&graph, &columns, lanes, &uniform, &executors, "matrices"), lanes);
            }
        }
    }
}

/// Large values, which run value by value: every kind of product, shared or not, transposed or not, beside the interpreter.
#[test]
fn large_values_equal_the_interpreter() {
    let sizes = |m: u32, k: u32, n: u32| {
        [
            ("a", Shape::Matrix(m, k)),
            ("b", Shape::Matrix(k, n)),
            ("c", Shape::Matrix(m, n)),
            ("v", Shape::Vector(k)),
            ("w", Shape::Vector(m)),
            ("s", Shape::Scalar),
        ]
    };
    let sources = [
        "(matmul a b)",
        "(total (* c (matmul a b)))",
        "(dot w (matvec a v))",
        "(total (* a (outer w v)))",
        "(* s (vsum (sin (* (matvec a v) w))))",
        "(matmul (transpose c) (matmul a b))",
        "(total (* s (matmul (transpose (matmul a b)) c)))",
        "(+ (dot v v) (norm w) (trace (matmul c (transpose c))))",
        "(if s (ref v 1) (ref w 2))",
    ];
    let mut rng = fastrand::Rng::with_seed(77);
    let executors: Vec<Vec<Box<dyn Executor>>> = Level::available().iter().map(|&level| lanes_at(level, usize::MAX)).collect();
    for (round, (m, k, n)) in [(8, 8, 8), (5, 40, 9), (33, 6, 34)].into_iter().enumerate() {
        let options = Options { inputs: Some(sizes(m, k, n).map(|(n, s)| (n.to_string(), Some(s))).to_vec()), ..Options::default() };
        for (number, source) in sources.into_iter().enumerate() {
            let graph = compile(source, &options).and_then(|p| p.graph()).expect("it compiles");
            let wrt: Vec<usize> = (0..graph.inputs.len()).collect();
            let graphs: Vec<Graph> = std::iter::once((*graph).clone()).chain(diff::gradient(&graph, &wrt)).collect();
            let lanes = [1, 3, 20][(round + number) % 3];
            for graph in &graphs {
                let mut number = || match rng.u8(..) {
                    0 => f64::NAN,
                    1 => f64::INFINITY,
                    2 => -0.0,
                    _ => rng.f64() * 2.0 - 1.0,
                };
                let columns: Vec<Vec<f64>> = graph.inputs.iter().map(|i| (0..lanes * i.shape.len()).map(|_| number()).collect()).collect();
                let narrow: Vec<Vec<f32>> = columns.iter().map(|c| c.iter().map(|&x| x as f32).collect()).collect();
                for shared in 0..graph.inputs.len() + 1 {
                    let uniform: Vec<bool> = (0..graph.inputs.len()).map(|i| i == shared).collect();
                    for executors in &executors {
                        assert_eq!(compare(graph, &columns, lanes, &uniform, executors, source), lanes);
                        assert_eq!(compare(graph, &narrow, lanes, &uniform, executors, source), lanes);
                    }
                }
            }
        }
    }
}

/// Large values over a batch: neither threads, nor how columns lie in memory, nor sums over the batch change a bit.
#[test]
fn large_values_mind_no_threads_strides_or_tiles() {
    let options = Options {
        inputs: Some(vec![("a".into(), Some(Shape::Matrix(9, 40))), ("v".into(), Some(Shape::Vector(40)))]),
        ..Options::default()
    };
    let graph = compile("(vsum (square (matvec a v)))", &options).and_then(|p| p.graph()).expect("it compiles");
    let gradient = diff::gradient(&graph, &[0, 1]).expect("a scalar");
    let lanes = 5_003;
    let mut rng = fastrand::Rng::with_seed(12);
    let (a, v): (Vec<f32>, Vec<f32>) = ((0..360).map(|_| rng.f32()).collect(), (0..lanes * 40).map(|_| rng.f32()).collect());
    let turned: Vec<f32> = (0..lanes * 40).map(|i| v[i % lanes * 40 + i / lanes]).collect();
    let run = |reduced: bool, threads: usize, column: Column<'_, f32>| {
        let engine = Engine::reduced(&gradient, &[true, false], &[false, reduced, false]);
        let mut outputs = [vec![0f32; lanes], vec![0f32; if reduced { 360 } else { 360 * lanes }], vec![0f32; 40 * lanes]];
        let mut buffers: Vec<&mut [f32]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
        let batch = BatchOptions { threads, ..BatchOptions::default() };
        assert_eq!(engine.run(&mut Workspace::new(), &[Column::shared(&a), column], lanes, &mut buffers, &batch), Ok(vec![]));
        outputs
    };
    let rows = Column::rows(&v[..], 40);
    let lanewise = run(false, 1, rows);
    assert_eq!(run(false, 2, rows), lanewise);
    assert_eq!(run(false, 3, Column { data: &turned, lane_stride: 1, element_stride: lanes }), lanewise);
    for threads in [1, 2] {
        let sums = run(true, threads, rows);
        for e in 0..360 {
            let own: Vec<f32> = (0..lanes).map(|l| lanewise[1][l * 360 + e]).collect();
            assert_eq!(sums[1][e].to_bits(), fixed_order(&own).to_bits(), "number {e} of the sum, {threads} threads");
        }
        assert_eq!((&sums[0], &sums[2]), (&lanewise[0], &lanewise[2]));
    }
}
