//! A batch allocates nothing once its workspace has been used: counted by the allocator itself.

use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::{Options, compile, diff};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a second run over a batch.
fn allocations(source: &str, gradient: bool, lanes: usize) -> usize {
    let graph = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{source}: {e}"));
    let wrt: Vec<usize> = (0..graph.inputs.len()).collect();
    let graph = if gradient { diff::gradient(&graph, &wrt).expect("a scalar") } else { (*graph).clone() };
    let engine = Engine::new(&graph, &vec![false; graph.inputs.len()]);
    let columns: Vec<Vec<f64>> =
        graph.inputs.iter().map(|i| (0..lanes * i.shape.len()).map(|k| 0.1 + (k % 17) as f64 / 20.0).collect()).collect();
    let inputs: Vec<Column<'_, f64>> = columns.iter().zip(&graph.inputs).map(|(c, i)| Column::rows(c, i.shape.len())).collect();
    let mut outputs: Vec<Vec<f64>> = graph.outputs().iter().map(|s| vec![0.0; lanes * s.len()]).collect();
    let mut buffers: Vec<&mut [f64]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
    let mut workspace = Workspace::new();
    let options = BatchOptions::default();
    let mut run = || assert_eq!(engine.run(&mut workspace, &inputs, lanes, &mut buffers, &options), Ok(vec![]), "{source}");
    run();
    let before = COUNT.with(Cell::get);
    run();
    COUNT.with(Cell::get) - before
}

#[test]
fn a_second_run_allocates_nothing() {
    let programs = [
        "(* 0.5 (* m (square v)))",
        "(exp (/ (- 0 (pow theta 2)) (* 2 (pow sigma 2))))",
        "(if (< x 0.5) (loop ((i 0) (y x)) (if (>= i 3) y (recur (+ i 1) (sin y)))) (log x))",
        "(loop ((i 0) (y 1)) (if (> i (* 10 x)) y (recur (+ i 1) (* 0.5 (+ y (/ x y))))))",
        "(define (f n) (if (< n 1) 1 (+ n (f (- n 0.25))))) (f x)",
        "(let ((v [x y z])) (+ (dot v v) (norm (cross v [1 2 3]))))",
        "(let ((m (mat [x y] [y 3]))) (vsum (matvec m (matvec m [x y]))))",
    ];
    for source in programs {
        for lanes in [1, 100, 5000] {
            assert_eq!(allocations(source, false, lanes), 0, "{source}, {lanes} lanes");
        }
    }
    for source in ["(* 0.5 (* m (square v)))", "(if (< x 0.5) (sin (exp x)) (log x))", "(let ((v [x y z])) (dot v (cross v [1 2 3])))"] {
        assert_eq!(allocations(source, true, 5000), 0, "gradient of {source}");
    }
}
