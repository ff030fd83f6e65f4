//! What generated code promises beyond the suite of `tests/conformance.rs`: which functions are written out, divisions, what it leaves to
//! the lane engine, loops that ask between their rounds, the order of long sums.

use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::jit::{Declined, Jit, Memory};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::Real;
use neural_compiler::ops::{Group, Kernel, Op};
use neural_compiler::{Limits, Options, Shape, compile};
use neural_compiler_math::Level;
use neural_compiler_math::expand::{is_pair_written_out, is_written_out};
use neural_compiler_testing::conformance::batch::{self, Batch, Bits, columns};
use neural_compiler_testing::conformance::executors::{generated_at, generated_levels as levels};
use neural_compiler_testing::conformance::limits;
use neural_compiler_testing::conformance::programs::graph_of;

/// Code for batches of every size at a level beside the interpreter. The number of lanes compared.
fn compare<T: Bits>(graph: &Graph, columns: &[Vec<T>], lanes: usize, uniform: &[bool], level: Level, what: &str) -> usize {
    let run = RunOptions { limits: limits(), trap: false };
    batch::compare(&generated_at(level), &Batch { graph, columns, lanes, uniform, gap: 0, run }, what)
}

/// Functions of the table, written out into the loop or called, and divisions by the same number, at arguments of every size: any bits,
/// moderate numbers, whole ones, exact powers.
#[test]
fn functions_equal_the_interpreter_everywhere() {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut number = |narrow: bool| match rng.u8(0..8) {
        0 | 1 if narrow => f64::from(f32::from_bits(rng.u32(..))),
        0 | 1 => f64::from_bits(rng.u64(..)),
        2 => f64::from(rng.i32(-20..20)),
        3 => 0.5 * f64::from(rng.i32(-20..20)),
        4 => 2f64.powi(rng.i32(-160..160)),
        5 => 2.0 * rng.f64() - 1.0,
        6 => 1.0 + 1e-6 * (rng.f64() - 0.5),
        _ => 80.0 * (rng.f64() - 0.5),
    };
    // Quotients that share a reciprocal.
    const QUOTIENTS: &str = "[(/ x y) (/ 1 y) (/ (/ x y) y) (/ z y)]";
    let functions = Op::ALL.iter().map(|op| op.row()).filter(|row| row.has_surface()).filter_map(|row| match row.kernel {
        Kernel::Unary(f) => Some((format!("({} x)", row.name), row, is_written_out(f))),
        Kernel::Binary(f) => Some((format!("({} x y)", row.name), row, is_pair_written_out(f))),
        Kernel::Ternary(_) => Some((format!("({} x y z)", row.name), row, false)),
        Kernel::Select | Kernel::Tensor(_) | Kernel::Composite(_) => None,
    });
    // Special functions are hundreds of operations with branches: called, and slow, so fewer of them.
    let functions = functions.map(|(source, row, written)| (source, if row.group == Group::Special { 300 } else { 3_000 }, written));
    for (source, lanes, written) in functions.chain([(QUOTIENTS.to_string(), 3_000, true)]) {
        let graph = graph_of(&source);
        let wide: Vec<Vec<f64>> = graph.inputs.iter().map(|_| (0..lanes).map(|_| number(false)).collect()).collect();
        let narrow: Vec<Vec<f32>> = graph.inputs.iter().map(|_| (0..lanes).map(|_| number(true) as f32).collect()).collect();
        let uniform = vec![false; wide.len()];
        for level in levels() {
            let jit = Jit::new(&graph, &uniform, f32::DTYPE, level).unwrap_or_else(|e| panic!("{source}: {e}"));
            assert!(!(written && jit.calls()), "{source} is called instead of written out");
            assert_eq!(compare(&graph, &wide, lanes, &uniform, level, &source), lanes);
            assert_eq!(compare(&graph, &narrow, lanes, &uniform, level, &source), lanes);
        }
    }
}

/// A million quotients of each type that share a reciprocal, held to the machine's division.
#[test]
fn shared_divisions_are_divisions() {
    fn hold<T: Bits + std::ops::Div<Output = T>>(level: Level, number: impl Fn(&mut fastrand::Rng) -> T) {
        let lanes = 1_000_000;
        let mut rng = fastrand::Rng::with_seed(5);
        let columns: Vec<Vec<T>> = (0..2).map(|_| (0..lanes).map(|_| number(&mut rng)).collect()).collect();
        let graph = graph_of("[(/ x y) (/ 1 y) (/ (/ x y) y)]");
        let jit = Jit::new(&graph, &[false; 2], T::DTYPE, level).unwrap_or_else(|e| panic!("{e}"));
        let inputs: Vec<Column<'_, T>> = columns.iter().map(|c| Column::rows(c, 1)).collect();
        let mut out = vec![T::ZERO; 3 * lanes];
        assert!(jit.run(&mut Memory::new(), &inputs, lanes, &mut [&mut out[..]], &limits()));
        for (lane, row) in out.chunks(3).enumerate() {
            let (x, y) = (columns[0][lane], columns[1][lane]);
            let expected = [x / y, T::from_f64(1.0) / y, x / y / y];
            assert!(
                row.iter().zip(expected).all(|(a, b)| a.bits() == b.bits()),
                "{x:?} / {y:?}: {row:?} instead of {expected:?}, {level:?}"
            );
        }
    }
    for level in levels() {
        // Every mantissa, exponents that mostly stay inside the fast way and sometimes leave it.
        hold::<f32>(level, |rng| f32::from_bits(rng.u32(..) & 0x807f_ffff | (127 + rng.u32(0..60) - 30) << 23));
        hold::<f64>(level, |rng| f64::from_bits(rng.u64(..) & 0x800f_ffff_ffff_ffff | (1023 + rng.u64(0..900) - 450) << 52));
    }
}

/// What an engine gives for 20,000 numbers from 0 to 2, by generated code or tile by tile: how many lanes failed, and all bits.
fn outcome(source: &str, jit: bool) -> (usize, Vec<u64>) {
    let engine = Engine::new(&graph_of(source), &[false]);
    let x: Vec<f64> = (0..20_000).map(|i| f64::from(i % 100) / 50.0).collect();
    let mut out = vec![0.0; x.len()];
    let options = BatchOptions { jit, ..BatchOptions::default() };
    let errors = engine
        .run(&mut Workspace::new(), &[Column::rows(&x, 1)], x.len(), &mut [&mut out[..]], &options)
        .unwrap_or_else(|e| panic!("{source}: {e}"));
    (errors.len(), out.into_iter().map(f64::to_bits).collect())
}

/// Generated code gives up when an index of a lane that counts is out of range, and the lane engine says which lanes fail.
#[test]
fn lanes_that_fail_are_the_same() {
    for (source, failing) in [
        ("(ref [1 2 3] x)", 19_600),
        ("(ref [1 2 3] (floor x))", 0),
        ("(if (< x 1) (ref [1 2 3] (floor (* 4 x))) 0)", 2_400),
        ("(if (< x 1) (ref [1 2 3 4] (floor (* 4 x))) (ref [1 2] (floor x)))", 0),
        ("(ref (ref (transpose (mat (ref (mat [1 2] [3 4]) (* 2 x)) [x 1])) 0) 1)", 19_600),
    ] {
        let tiles = outcome(source, false);
        assert!(tiles.0 == failing && outcome(source, true) == tiles, "{source}: {} lanes fail", tiles.0);
    }
}

/// What cannot be compiled is named, and a loop without end comes back.
#[test]
fn what_is_left_to_the_lane_engine_is_said() {
    let Some(&level) = levels().last() else { return };
    let declined = |source: &str| Jit::new(&graph_of(source), &[false], f64::DTYPE, level).err();
    assert_eq!(declined("(define (f n) (if (< n 1) 1 (* n (f (- n 1))))) (f x)"), Some(Declined::Recursion));
    let long = (0..70).fold("x".to_string(), |s, i| format!("(+ {s} (* x {i}))"));
    let left = [
        (format!("(ref [{}] (if (> x 1) 2 0))", "x ".repeat(65)), Declined::Operation("@cut-at")),
        ("(trace (inv (scale x (eye 9))))".to_string(), Declined::Operation("inv")),
        ("(loop ((i 0) (s x)) (if (> i s) i (recur (+ i 1) (- (modulo (* 3 s) 7) 1))))".to_string(), Declined::CallInLoop),
        (format!("(if (> x 1) {long} 0)"), Declined::LongChoice),
    ];
    for (source, why) in left {
        assert_eq!(declined(&source), Some(why), "{source}");
        // The engine runs it tile by tile, asked for generated code or not.
        assert!(outcome(&source, true) == outcome(&source, false), "{source}");
    }
    assert_eq!(Jit::new(&graph_of("(* x 2)"), &[false], f64::DTYPE, Level::Baseline).err(), Some(Declined::Machine));
    let endless =
        Jit::new(&graph_of("(loop ((i x)) (if (< i 0) i (recur (+ i 1))))"), &[false], f64::DTYPE, level).unwrap_or_else(|e| panic!("{e}"));
    let (data, mut out) = ([1.0; 5], [0.0; 5]);
    assert!(!endless.run(&mut Memory::new(), &[Column::rows(&data, 1)], 5, &mut [&mut out[..]], &limits()));
    assert!(!endless.run(&mut Memory::new(), &[Column::rows(&data, 1)], 6, &mut [&mut out[..]], &limits()), "too few numbers");
}

/// Loops that ask between their rounds whether to go on keep every value over it, and the lanes get the rounds of the limit, no fewer
/// and no more.
#[test]
fn long_loops_go_on_behind_looks() {
    // Code so long that every few hundred rounds are a look's; lanes leave in different rounds, and there is a loop in a loop.
    let long = |x: &str| (0..200).fold(x.to_string(), |s, k| format!("(sqrt (+ {k} (/ x (+ 2 (abs (- {s} 1))))))"));
    let sources = [
        format!(
            "(loop ((i 0) (a x) (b 1) (c 0.5)) (let ((n {})) (if (> i (* 60 y)) (+ a (* 2 b) c) (recur (+ i 1) b n (- 1 (* c c))))))",
            long("a")
        ),
        format!(
            "(+ {} (loop ((i 0) (s y)) (if (> i y) s (recur (+ i 1) \
             (loop ((k 0) (t s)) (if (> k (* 2 y)) t (recur (+ k 1) (+ (* 0.5 t) x))))))))",
            long("x")
        ),
    ];
    let lanes = 17;
    for source in &sources {
        let graph = graph_of(source);
        let column = |name: &str| (0..lanes).map(|k| if name == "x" { 0.01 * k as f64 } else { (1 + k * 7 % 29) as f64 }).collect();
        let wide: Vec<Vec<f64>> = graph.inputs.iter().map(|i| column(&i.name)).collect();
        let narrow: Vec<Vec<f32>> = wide.iter().map(|c| c.iter().map(|&x| x as f32).collect()).collect();
        for level in levels() {
            let jit = Jit::new(&graph, &[false; 2], f64::DTYPE, level).unwrap_or_else(|e| panic!("{e}"));
            assert!(jit.size() > 6 << 10, "{} bytes are too few for many looks", jit.size());
            assert_eq!(compare(&graph, &wide, lanes, &[false; 2], level, source), lanes);
            assert_eq!(compare(&graph, &narrow, lanes, &[false; 2], level, source), lanes);
        }
    }
    let graph = graph_of(&sources[0]);
    for level in levels() {
        let jit = Jit::new(&graph, &[false; 2], f64::DTYPE, level).unwrap_or_else(|e| panic!("{e}"));
        let columns: Vec<Vec<f64>> = graph.inputs.iter().map(|i| vec![if i.name == "x" { 0.5 } else { 29.0 }; lanes]).collect();
        let inputs: Vec<Column<'_, f64>> = columns.iter().map(|c| Column::rows(c, 1)).collect();
        let mut out = vec![0.0; lanes];
        // i goes from 0 to 1741, of which the last leaves; a round is counted when it goes on.
        for (iterations, suffices) in [(1739, false), (1740, false), (1742, true), (2000, true)] {
            let limits = Limits { iterations, ..limits() };
            assert_eq!(jit.run(&mut Memory::new(), &inputs, lanes, &mut [&mut out[..]], &limits), suffices, "{iterations}, {level:?}");
        }
    }
}

/// Sums of many terms are made of partial sums, products of matrices are not: generated code keeps to both orders.
#[test]
fn long_sums_keep_their_order() {
    let inputs = [("a", Shape::Vector(41)), ("b", Shape::Vector(41)), ("m", Shape::Matrix(2, 37)), ("n", Shape::Matrix(37, 2))];
    let options = Options { inputs: Some(inputs.map(|(n, s)| (n.to_string(), Some(s))).to_vec()), ..Options::default() };
    let source = "(+ (dot a b) (vsum a) (total (matmul m n)) (total m))";
    let graph = compile(source, &options).and_then(|p| p.graph()).expect("it compiles");
    let mut rng = fastrand::Rng::with_seed(23);
    let values: Vec<(Shape, Vec<f64>)> = inputs.iter().map(|(_, s)| (*s, (0..s.len()).map(|_| rng.f64() * 2.0 - 1.0).collect())).collect();
    for level in levels() {
        let uniform = [false; 4];
        assert_eq!(compare::<f32>(&graph, &columns(&values, 50, 1), 50, &uniform, level, source), 50);
        assert_eq!(compare::<f64>(&graph, &columns(&values, 50, 2), 50, &uniform, level, source), 50);
    }
}
