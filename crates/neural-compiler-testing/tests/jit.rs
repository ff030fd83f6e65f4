//! Generated code against the interpreter: every lane of every batch equal to the bit, NaNs with payloads, infinities and subnormal
//! numbers included, for generated programs and their gradients, in both number types, for both instruction sets, whatever the number
//! of lanes, the strides and the inputs all lanes share. `JIT_PROGRAMS=n` runs more.

use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::exec::jit::{Batches, Declined, Jit, Memory};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::Real;
use neural_compiler::{Limits, Options, Shape, compile, diff};
use neural_compiler_math::Level;
use neural_compiler_testing::generate::{differentiable, everything};
use neural_compiler_testing::probe::{probes, values_of_lane};
use neural_compiler_testing::{Case, oracle};

/// Small enough that a program that runs away ends soon.
fn limits() -> Limits {
    Limits { iterations: 2_000, depth: 60, ..Limits::default() }
}

/// The levels code is generated for on this machine.
fn levels() -> Vec<Level> {
    Level::available().iter().copied().filter(|&l| l != Level::Baseline).collect()
}

/// A number type as its bits, which say more than `==` about NaNs.
trait Bits: Real {
    fn bits(self) -> u64;
    /// A NaN that no operation gives.
    fn odd_nan(payload: u32) -> Self;
    fn smallest() -> Self;
}

impl Bits for f32 {
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn odd_nan(payload: u32) -> f32 {
        f32::from_bits(0x7fc0_0001 | (payload << 8) & 0x803f_ff00)
    }
    fn smallest() -> f32 {
        f32::from_bits(1)
    }
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn odd_nan(payload: u32) -> f64 {
        f64::from_bits(0x7ff8_0000_0000_0001 | (u64::from(payload) << 40) & 0x8007_ffff_ffff_ff00)
    }
    fn smallest() -> f64 {
        f64::from_bits(1)
    }
}

/// Values around those of the case, different in each lane, some at the edges of the number type.
fn columns<T: Bits>(values: &[(Shape, Vec<f64>)], lanes: usize, seed: u64) -> Vec<Vec<T>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut column = |data: &[f64]| -> Vec<T> {
        let mut column = Vec::with_capacity(lanes * data.len());
        for lane in 0..lanes {
            column.extend(data.iter().map(|&x| match (lane, rng.u8(0..60)) {
                (0, _) => T::from_f64(x),
                (_, 0) => T::from_f64(0.0),
                (_, 1) => T::from_f64(-0.0),
                (_, 2) => T::from_f64(-x),
                (_, 3) => T::from_f64(x.round()),
                (_, 4) => T::from_f64(f64::NAN),
                (_, 5) => T::odd_nan(rng.u32(..)),
                (_, 6) => T::from_f64(f64::INFINITY),
                (_, 7) => T::from_f64(f64::NEG_INFINITY),
                (_, 8) => T::smallest(),
                (_, 9) => T::from_f64(x * 1e30),
                _ => T::from_f64(x * (0.5 + rng.f64())),
            }));
        }
        column
    };
    values.iter().map(|(_, data)| column(data)).collect()
}

/// The batch as the caller may have it: inputs of one lane behind each other, with gaps, or shared.
fn laid_out<T: Bits>(columns: &[Vec<T>], graph: &Graph, uniform: &[bool], gap: usize) -> Vec<(Vec<T>, usize)> {
    columns
        .iter()
        .zip(&graph.inputs)
        .zip(uniform)
        .map(|((c, i), &u)| {
            let n = i.shape.len();
            if u {
                return (c[..n].to_vec(), 0);
            }
            let mut data = Vec::new();
            for row in c.chunks(n.max(1)) {
                data.extend_from_slice(row);
                data.extend(std::iter::repeat_n(T::ZERO, gap));
            }
            (data, n + gap)
        })
        .collect()
}

/// Compares a batch with the interpreter, lane by lane, with code for batches of every size. The number of lanes compared, 0 when the
/// program is left to the lane engine.
fn compare<T: Bits>(graph: &Graph, columns: &[Vec<T>], lanes: usize, uniform: &[bool], level: Level, gap: usize, what: &str) -> usize {
    let held = laid_out(columns, graph, uniform, gap);
    let inputs: Vec<Column<'_, T>> = held.iter().map(|(data, stride)| Column { data, lane_stride: *stride, element_stride: 1 }).collect();
    let sizes: Vec<usize> = graph.outputs().iter().map(|s| s.len()).collect();
    let mut found: Vec<(Batches, Vec<Vec<T>>)> = Vec::new();
    for batches in [Batches::Few, Batches::Usual, Batches::Large] {
        let Ok(jit) = Jit::for_batches(graph, uniform, T::DTYPE, level, batches) else { return 0 };
        let mut outputs: Vec<Vec<T>> = sizes.iter().map(|n| vec![T::ZERO; n * lanes]).collect();
        let mut buffers: Vec<&mut [T]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
        if !jit.run(&mut Memory::new(), &inputs, lanes, &mut buffers, &limits()) {
            return 0;
        }
        found.push((batches, outputs));
    }
    for lane in 0..lanes {
        let values = values_of_lane(graph, columns, uniform, lane);
        let expected = interp::run(graph, &values, &RunOptions { limits: limits(), trap: false });
        let results = expected.unwrap_or_else(|e| panic!("{what}\nlane {lane} has a result, the interpreter fails with {e}"));
        for (k, tensor) in results.iter().enumerate() {
            for (e, &x) in tensor.data().iter().enumerate() {
                for (batches, outputs) in &found {
                    let y = outputs[k][lane * sizes[k] + e];
                    assert!(
                        x.bits() == y.bits(),
                        "{what}\nlane {lane} of {lanes}, result {k}[{e}]: {y:?} ({:x}) instead of {x:?} ({:x}), \
                         {level:?}, {batches:?}, {}, inputs {values:?}",
                        y.bits(),
                        x.bits(),
                        T::DTYPE.name()
                    );
                }
            }
        }
    }
    lanes
}

/// How many programs were compared, and lanes of them.
#[derive(Default)]
struct Tally {
    graphs: usize,
    compared: usize,
    lanes: usize,
    declined: std::collections::BTreeMap<String, usize>,
}

fn check(case: &Case, seed: u64, tally: &mut Tally) {
    let Ok(compiled) = case.compile() else { return };
    let values: Vec<(Shape, Vec<f64>)> = compiled.inputs.iter().map(|i| (i.shape, i.data.clone())).collect();
    let wrt: Vec<usize> = (0..values.len()).collect();
    let mut graphs = vec![(*compiled.graph).clone()];
    if let Ok(gradient) = diff::gradient(&compiled.graph, &wrt) {
        graphs.push(gradient);
    }
    let lanes = [1, 7, 16, 70, 300][seed as usize % 5];
    let gap = [0, 0, 2][seed as usize % 3];
    let levels = levels();
    for graph in &graphs {
        let Some(&level) = levels.get(seed as usize % levels.len().max(1)) else { return };
        // Every other program shares its first input among all lanes.
        let uniform: Vec<bool> = (0..values.len()).map(|i| i == 0 && seed % 2 == 1).collect();
        let good = compare::<f64>(graph, &columns(&values, lanes, seed), lanes, &uniform, level, gap, &case.source)
            + compare::<f32>(graph, &columns(&values, lanes, seed), lanes, &uniform, level, gap, &case.source);
        tally.graphs += 1;
        tally.lanes += good;
        tally.compared += usize::from(good > 0);
        if let Err(why) = Jit::new(graph, &uniform, neural_compiler::ops::real::Dtype::F64, level) {
            *tally.declined.entry(why.to_string()).or_default() += 1;
        }
    }
}

#[test]
fn every_lane_equals_the_interpreter() {
    if levels().is_empty() {
        return;
    }
    let count = oracle::setting("JIT_PROGRAMS", 500);
    let first = oracle::setting("JIT_FIRST", 0);
    let mut tally = Tally::default();
    for seed in first..first + count {
        check(&everything(seed), seed, &mut tally);
        check(&differentiable(seed), seed, &mut tally);
    }
    println!(
        "{} of {} programs and gradients compared, {} lanes; declined: {:?}",
        tally.compared, tally.graphs, tally.lanes, tally.declined
    );
    assert!(3 * tally.compared > tally.graphs, "too few programs were compiled: {} of {}", tally.compared, tally.graphs);
}

/// Each row of the table at its probes, for every instruction set, in batches that are no multiple of anything.
#[test]
fn every_operation_equals_the_interpreter() {
    let lanes = 333;
    for probe in probes(lanes) {
        let (mut wide, mut narrow) = (probe.columns.clone(), probe.narrow());
        for (k, (w, n)) in wide.iter_mut().zip(&mut narrow).enumerate() {
            (w[200 + k], n[200 + k]) = (f64::odd_nan(7), f32::odd_nan(7));
        }
        for level in levels() {
            let uniform = vec![false; wide.len()];
            assert_eq!(compare(&probe.graph, &wide, lanes, &uniform, level, 0, &probe.source), lanes, "{}", probe.source);
            assert_eq!(compare(&probe.graph, &narrow, lanes, &uniform, level, 0, &probe.source), lanes, "{}", probe.source);
        }
    }
}

/// Functions that are written out into the loop, and divisions by the same number, at arguments of every size: any bits, moderate numbers,
/// whole ones, exact powers.
#[test]
fn functions_equal_the_interpreter_everywhere() {
    const UNARY: &[&str] = &[
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
        "cbrt", "sigmoid", "softplus", "erf",
    ];
    const BINARY: &[&str] = &["pow", "atan", "log"];
    let lanes = 3_000;
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
    let sources = UNARY.iter().map(|f| format!("({f} x)")).chain(BINARY.iter().map(|f| format!("({f} x y)")));
    for source in sources.chain([QUOTIENTS.to_string()]) {
        let graph = graph_of(&source);
        let wide: Vec<Vec<f64>> = graph.inputs.iter().map(|_| (0..lanes).map(|_| number(false)).collect()).collect();
        let narrow: Vec<Vec<f32>> = graph.inputs.iter().map(|_| (0..lanes).map(|_| number(true) as f32).collect()).collect();
        let uniform = vec![false; wide.len()];
        for level in levels() {
            let jit = Jit::new(&graph, &uniform, f32::DTYPE, level).unwrap_or_else(|e| panic!("{source}: {e}"));
            assert!(!jit.calls(), "{source} is called instead of written out");
            assert_eq!(compare(&graph, &wide, lanes, &uniform, level, 0, &source), lanes);
            assert_eq!(compare(&graph, &narrow, lanes, &uniform, level, 0, &source), lanes);
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

fn graph_of(source: &str) -> Graph {
    let program = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{source}: {e}"));
    (*program).clone()
}

/// Programs that need what generated ones rarely have: loops in loops, swapped values, many live values, masks as values.
#[test]
fn hard_cases_equal_the_interpreter() {
    let many = |n: usize| {
        let squares: Vec<String> = (0..n).map(|i| format!("(s{i} (* (+ x {i}) (- y {i})))")).collect();
        let forwards: Vec<String> = (0..n).map(|i| format!("s{i}")).collect();
        let backwards: Vec<String> = (0..n).rev().map(|i| format!("(/ s{i} 3)")).collect();
        format!("(let ({}) (/ (+ {}) (+ {})))", squares.join(" "), forwards.join(" "), backwards.join(" "))
    };
    let tree = |n: usize| {
        let mut level: Vec<String> = (0..n).map(|i| format!("(* a{i} b{i})")).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|c| if let [x, y] = c { format!("(+ {x} {y})") } else { c[0].clone() }).collect();
        }
        level.remove(0)
    };
    let sources = [
        "(loop ((i 0) (y 1)) (if (= i 20) y (recur (+ i 1) (* 0.5 (+ y (/ x y))))))".to_string(),
        "(loop ((i 0) (a x) (b y)) (if (not (< i (min 9 (abs (* 9 x))))) (- a b) (recur (+ i 1) b (+ a (* 0.5 b)))))".to_string(),
        "(loop ((i 0) (s 0)) (if (>= i 5) s (recur (+ i 1) (+ s (loop ((j 0) (t x)) (if (> j i) t (recur (+ j 1) (* t y))))))))"
            .to_string(),
        "(if (> x 0) (loop ((i 0) (s x)) (if (not (<= i (min 9 y))) s (recur (+ i 1) (/ s 2)))) (* x y))".to_string(),
        "(loop ((i 0) (s x)) (if (> i 3) s (recur (+ i 1) (if (> s y) y s))))".to_string(),
        "(if (or (< x 0) (and (> y 1) (not (= x y)))) (min x y) (max x y))".to_string(),
        "(clamp x -1 1)".to_string(),
        "(exp (/ (- 0 (pow x 2)) (* 2 (pow y 2))))".to_string(),
        "(+ (sin (cos x)) (sin (exp (- x y))) (pow (abs x) y))".to_string(),
        "(let ((s (sin x))) (* s s))".to_string(),
        "(+ (pow x 2) (pow x 0.5) (pow y -1.5) (pow x 3) (pow 2 y) (pow x y))".to_string(),
        "(+ (log x 2) (log x y) (atan x y) (atan x 1) (atan -1 y))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 300) s (recur (+ i 1) (log1p (abs (* s y))))))".to_string(),
        "(loop ((i 0) (s x)) (if (not (< i (min 9 (abs (* 9 y))))) s (recur (+ i 1) (pow (abs s) (atan s y)))))".to_string(),
        "(if (> x y) (+ (cosh x) (erf y) (cbrt x)) (softplus (* x (tan y))))".to_string(),
        "(- (max x 0) (min y -0.0))".to_string(),
        "(param k 0.1) (* (exp k) x (- 1 k) y)".to_string(),
        "(input v :size 3) (* x (norm v))".to_string(),
        "(norm [x y (* x y)])".to_string(),
        "(det (mat [x y 1] [2 (* x y) y] [y 0.3 x]))".to_string(),
        "(vsum (ref (cofactor (mat [x y 1 2] [2 (* x y) y 1] [y 0.3 x x] [1 2 3 y])) 1))".to_string(),
        "(ref [x y 3] (if (> x 1) 2 (if (< y 0.8) 1 0)))".to_string(),
        "(vsum (ref (mat [x y] [1 (sin x)]) (if (> x y) 1 0)))".to_string(),
        "(if (> x 1) 0 (ref [x y] (if (> x 1) 7 1)))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 3) s (recur (+ i 1) (+ s (ref [y x 2] i)))))".to_string(),
        "(vsum (solve (mat [x 1] [2 y]) [1 x]))".to_string(),
        "(vsum (solve (mat [x x] [x x]) [1 y]))".to_string(),
        "(trace (inv (mat [x y 1] [2 (* x y) y] [y 0.3 x])))".to_string(),
        "(trace (solve (mat [(- x 1) y] [y (- 1 x)]) (mat [x 0] [y 1])))".to_string(),
        "(det (mat [x x 0 1] [x x 1 0] [0 1 y x] [1 0 x y]))".to_string(),
        "(det (mat [x x 0 1] [x x 0 1] [0 1 y x] [1 0 x y]))".to_string(),
        "(trace (inv (mat [0 x 1 2 y] [x 0 y 1 3] [1 y x 0 2] [y 2 1 x 0] [3 1 0 y x])))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 4) s (recur (+ i 1) (ref (solve (mat [s 2] [y s]) [1 s]) 0))))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 4) s (recur (+ i 1) (sin (* s y)))))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 300) s (recur (+ i 1) (+ y (* s 0.5)))))".to_string(),
        "(param n 5) (loop ((i 0) (s x)) (if (not (< i (min n 9))) s (recur (+ i 1) (+ y (* s s)))))".to_string(),
        "(sin x)".to_string(),
        "x".to_string(),
        "(/ x 8)".to_string(),
        "3".to_string(),
        many(12),
        many(60),
        tree(100),
    ];
    for source in &sources {
        let graph = graph_of(source);
        let mut graphs = vec![graph.clone()];
        graphs.extend(diff::gradient(&graph, &(0..graph.inputs.len()).collect::<Vec<_>>()));
        for (which, graph) in graphs.iter().enumerate() {
            let values: Vec<(Shape, Vec<f64>)> =
                graph.inputs.iter().enumerate().map(|(k, i)| (i.shape, vec![0.7 + 0.3 * k as f64; i.shape.len()])).collect();
            for level in levels() {
                for (seed, lanes) in [1usize, 15, 129, 1100].into_iter().enumerate() {
                    let uniform: Vec<bool> = (0..values.len()).map(|i| i == 0 && seed == 2).collect();
                    let gap = seed % 2;
                    let wide = compare::<f64>(graph, &columns(&values, lanes, seed as u64), lanes, &uniform, level, gap, source);
                    let narrow = compare::<f32>(graph, &columns(&values, lanes, seed as u64), lanes, &uniform, level, gap, source);
                    if which == 0 {
                        assert_eq!((wide, narrow), (lanes, lanes), "{source}: {:?}", Jit::new(graph, &uniform, f64::DTYPE, level).err());
                    }
                }
            }
        }
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

/// Loops that ask between their rounds whether to go on keep every value over it, and the lanes get the rounds of the limit, no fewer and
/// no more.
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
            assert_eq!(compare(&graph, &wide, lanes, &[false; 2], level, 0, source), lanes);
            assert_eq!(compare(&graph, &narrow, lanes, &[false; 2], level, 0, source), lanes);
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
        assert_eq!(compare::<f32>(&graph, &columns(&values, 50, 1), 50, &uniform, level, 0, source), 50);
        assert_eq!(compare::<f64>(&graph, &columns(&values, 50, 2), 50, &uniform, level, 0, source), 50);
    }
}
