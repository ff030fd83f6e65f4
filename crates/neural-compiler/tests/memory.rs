//! Memory and work are charged before they are spent: by every executor, whatever the sizes. The allocator of this test knows the most that
//! was held.

use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::{Limits, Options, Shape, Tensor, compile, diff};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Counting;
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's own doing; only numbers are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: they share the numbers above.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `f` gives, and the bytes it held at most beyond those held before.
fn most_held<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = f();
    (result, MOST.load(Ordering::Relaxed) - before)
}

fn limits(memory_bytes: usize) -> Limits {
    Limits { memory_bytes, ..Limits::default() }
}

fn compile_codes(source: &str, limits: Limits) -> Vec<&'static str> {
    compile(source, &Options { limits, ..Options::default() }).err().map_or(vec![], |e| e.0.iter().map(|d| d.code).collect())
}

/// The code of the error of an interpreted run, and of a batch of `lanes`; `ok` where there is none.
fn codes(source: &str, limits: Limits, lanes: usize) -> [&'static str; 2] {
    let program = compile(source, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let graph = program.graph().expect("shapes are known");
    let run = RunOptions { limits, ..RunOptions::default() };
    let inputs: Vec<Tensor<f64>> = graph.inputs.iter().map(|_| Tensor::scalar(0.5)).collect();
    let one = interp::run(&graph, &inputs, &run).map_or_else(|e| e.code, |_| "ok");
    let numbers = vec![0.5; lanes];
    let columns: Vec<Column<'_, f64>> = graph.inputs.iter().map(|_| Column::rows(&numbers, 1)).collect();
    let mut outputs: Vec<Vec<f64>> = graph.outputs().iter().map(|s| vec![0.0; s.len() * lanes]).collect();
    let mut slices: Vec<&mut [f64]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
    let engine = Engine::new(&graph, &vec![false; graph.inputs.len()]);
    let options = BatchOptions { run, ..BatchOptions::default() };
    let batch = match engine.run(&mut Workspace::new(), &columns, lanes, &mut slices, &options) {
        Err(e) => e.code,
        Ok(failed) => failed.first().map_or("ok", |f| f.error.code),
    };
    [one, batch]
}

#[test]
fn a_value_no_run_could_hold_is_an_error_before_anything_runs() {
    let _alone = alone();
    let outer = "(total (outer (* x (ones 100000)) (ones 100000)))";
    let (found, held) = most_held(|| compile_codes(outer, Limits::default()));
    assert_eq!(found, ["limit-memory"]);
    assert!(held < 1 << 20, "{held} bytes");
    // 430 vectors of 10^7 numbers have 4,300,000,000, which 32 bits do not hold: never the remainder, whatever the limit.
    let long = format!("(vlen (concat {}))", "(zeros 10000000) ".repeat(430));
    for memory_bytes in [2 << 30, usize::MAX] {
        assert_eq!(compile_codes(&long, limits(memory_bytes)), ["limit-memory"]);
    }
    assert_eq!(compile_codes("(vlen (concat (zeros 10000000) (zeros 10000000)))", Limits::default()), Vec::<&str>::new());
}

#[test]
fn shapes_of_inputs_are_weighed_too() {
    let _alone = alone();
    let program =
        compile("(total (* m m))", &Options { inputs: Some(vec![("m".into(), None)]), ..Options::default() }).expect("it compiles");
    let error = program.specialise(&[Shape::Matrix(4_000_000_000, 4_000_000_000)]).expect_err("far too large");
    assert_eq!(error.0[0].code, "limit-memory");
}

#[test]
fn every_executor_charges_before_it_takes() {
    let _alone = alone();
    let programs = [
        "(total (outer (* x (ones 1500)) (ones 1500)))",
        "(total (exp (sin (fill x 1500 1500))))",
        "(total (matmul (fill x 900 900) (fill x 900 900)))",
        "(det (+ (eye 900) (fill x 900 900)))",
        "(total (loop ((i 0) (v (fill x 1000000))) (if (= i 3) v (recur (+ i 1) (* v v)))))",
        "(define (f n v) (if (= n 0) (total v) (+ (total v) (f (- n 1) (* v 2))))) (f 100 (fill x 100000))",
    ];
    for source in programs {
        let limit = 4 << 20;
        let (found, held) = most_held(|| codes(source, limits(limit), 8));
        assert_eq!(found, ["limit-memory"; 2], "{source}");
        assert!(held < 2 * limit, "{held} bytes under a limit of {limit}: {source}");
    }
}

#[test]
fn the_tape_of_reverse_mode_is_charged_before_it_grows() {
    let _alone = alone();
    let program = compile("(total (loop ((i 0) (v (fill x 100000))) (if (= i 50) v (recur (+ i 1) (sin v)))))", &Options::default())
        .expect("it compiles");
    let graph = diff::gradient(&program.graph().expect("a graph"), &[0]).expect("a scalar");
    let limit = 16 << 20;
    let run = RunOptions { limits: limits(limit), ..RunOptions::default() };
    let (found, held) = most_held(|| interp::run(&graph, &[Tensor::scalar(0.5)], &run).expect_err("the tape alone is 40 MB").code);
    assert_eq!(found, "limit-memory");
    assert!(held < 2 * limit, "{held} bytes");
    let engine = Engine::new(&graph, &[false]);
    let options = BatchOptions { run, ..BatchOptions::default() };
    let (mut value, mut slope) = ([0.0], [0.0]);
    let (_, held) =
        most_held(|| engine.run(&mut Workspace::new(), &[Column::rows(&[0.5], 1)], 1, &mut [&mut value, &mut slope], &options).map(drop));
    assert!(held < 2 * limit, "{held} bytes");
}

#[test]
fn a_tile_of_large_values_has_few_lanes() {
    let _alone = alone();
    let lanes = 100;
    let source = "(total (outer (* x (ones 400)) (sin (* x (ones 400)))))";
    let program = compile(source, &Options::default()).expect("it compiles");
    let graph = program.graph().expect("a graph");
    let numbers: Vec<f64> = (0..lanes).map(|i| f64::from(i) * 0.01).collect();
    let limit = 32 << 20;
    let run = RunOptions { limits: limits(limit), ..RunOptions::default() };
    let mut out = vec![0.0; lanes as usize];
    let engine = Engine::new(&graph, &[false]);
    let options = BatchOptions { run, jit: false, ..BatchOptions::default() };
    let go =
        || engine.run(&mut Workspace::new(), &[Column::rows(&numbers, 1)], lanes as usize, &mut [&mut out], &options).expect("it runs");
    let (failed, held) = most_held(go);
    assert!(failed.is_empty());
    assert!(held < limit, "{held} bytes under a limit of {limit}");
    for (x, y) in numbers.iter().zip(&out) {
        let expected = interp::run(&graph, &[Tensor::scalar(*x)], &run).expect("it runs")[0].as_scalar().expect("a scalar");
        assert_eq!(y.to_bits(), expected.to_bits(), "x = {x}");
    }
}

#[test]
fn sums_over_the_batch_do_not_depend_on_the_lanes_of_a_tile() {
    let _alone = alone();
    // A gradient with respect to a shared vector so long that a tile holds few lanes, beside the same with short vectors joined.
    let lanes = 200;
    let numbers: Vec<f64> = (0..lanes).map(|i| (f64::from(i) * 0.37).sin()).collect();
    let total = |n: u32, limit: usize| {
        let inputs = vec![("w".to_string(), Some(Shape::Vector(n))), ("x".to_string(), Some(Shape::Scalar))];
        let program = compile("(vsum (sin (* w x)))", &Options { inputs: Some(inputs), ..Options::default() }).expect("it compiles");
        let graph = diff::gradient(&program.graph().expect("a graph"), &[0]).expect("a scalar");
        let weights = vec![0.3; n as usize];
        let (mut value, mut slope) = (vec![0.0; lanes as usize], vec![0.0; n as usize]);
        let engine = Engine::reduced(&graph, &[true, false], &[false, true]);
        let options =
            BatchOptions { run: RunOptions { limits: limits(limit), ..RunOptions::default() }, jit: false, ..BatchOptions::default() };
        let columns = [Column::shared(&weights), Column::rows(&numbers, 1)];
        engine.run(&mut Workspace::new(), &columns, lanes as usize, &mut [&mut value, &mut slope], &options).expect("it runs");
        slope[0].to_bits()
    };
    let few = total(3, 2 << 30);
    for (n, limit) in [(20_000, 2 << 30), (20_000, 100 << 20), (100_000, 2 << 30)] {
        assert_eq!(total(n, limit), few, "{n} numbers, {limit} bytes");
    }
}

#[test]
fn the_work_of_a_large_operation_counts_as_steps() {
    let _alone = alone();
    // 128^3 products are 2048 times 1024.
    let product = "(total (matmul (fill x 128 128) (fill x 128 128)))";
    let steps = |steps: u64| Limits { steps, ..Limits::default() };
    for lanes in [1, 100] {
        assert_eq!(codes(product, steps(1000), lanes), ["limit-steps"; 2]);
        assert_eq!(codes(product, steps(3000), lanes), ["ok"; 2]);
        // 10 rounds of 100,000 numbers each, sines and products: 97 steps an operation.
        let vector = "(total (loop ((i 0) (v (fill x 100000))) (if (= i 10) v (recur (+ i 1) (* (sin v) v)))))";
        assert_eq!(codes(vector, steps(500), lanes), ["limit-steps"; 2]);
        assert_eq!(codes(vector, steps(5000), lanes), ["ok"; 2]);
    }
    // By default a product of 4096 by 4096 matrices is more than a run may take.
    assert_eq!(codes("(total (matmul (fill x 4096 4096) (fill x 4096 4096)))", Limits::default(), 1), ["limit-steps"; 2]);
}

#[test]
fn limits_on_steps_hold_in_generated_code_too() {
    let _alone = alone();
    // Enough lanes for code to be generated; 40 by 40 by 40 products are 62 steps a round.
    let source = "(loop ((i 0) (s x)) (if (= i 100) s (recur (+ i 1) (* 0.001 (total (matmul (fill s 40 40) (fill s 40 40)))))))";
    for (steps, expected) in [(3000, "limit-steps"), (10_000, "ok")] {
        assert_eq!(codes(source, Limits { steps, ..Limits::default() }, 64), [expected; 2], "{steps} steps");
    }
}

/// The work of factors grows with the cube of the side, and is counted before it is done.
#[test]
fn factors_of_large_matrices_are_refused_by_the_limit_on_steps() {
    let _alone = alone();
    for source in
        ["(total (inv (* x (ones 1200 1200))))", "(det (* x (ones 1200 1200)))", "(total (solve (* x (ones 1200 1200)) (ones 1200)))"]
    {
        let program = compile(source, &Options::default()).expect("it compiles");
        let graph = program.graph().expect("a graph");
        // 1200³ / 1024 is 1,687,500.
        let options = RunOptions { limits: Limits { steps: 1_500_000, ..Limits::default() }, ..RunOptions::default() };
        assert_eq!(interp::run(&graph, &[Tensor::scalar(0.5)], &options).expect_err("too much work").code, "limit-steps", "{source}");
        let batch = BatchOptions { run: options, ..BatchOptions::default() };
        let failed = Engine::new(&graph, &[false]).run(&mut Workspace::new(), &[Column::rows(&[0.5], 1)], 1, &mut [&mut [0.0]], &batch);
        assert_eq!(failed.expect("lanes fail one by one")[0].error.code, "limit-steps", "{source}");
    }
}
