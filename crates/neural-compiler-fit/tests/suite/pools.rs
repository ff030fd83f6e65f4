//! Fits called from many threads at once, those of a pool of the caller's own among them.

use crate::common::{compile, table};
use neural_compiler_fit::{Options, fit};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A decay sampled with a shift, fitted; the rate found.
fn one(shift: usize) -> f64 {
    let t: Vec<f64> = (0..6).map(f64::from).collect();
    let x: Vec<f64> = t.iter().map(|t| 3.0 * (-0.4 * t).exp() + 1e-3 * ((shift as f64) + t).sin()).collect();
    let found =
        fit(&compile("(param k 1) (state x 3) (derive x (* (- k) x))"), &table(vec![("t", t), ("x", x)]), &Options::default()).unwrap();
    found.parameter("k").unwrap().value
}

thread_local! {
    /// Fits this thread has begun and not ended.
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

/// A thread of a pool begins other work of the pool while it waits. If a fit made it wait that way, fit would begin within fit, each
/// deeper in the stack, as many as there are.
#[test]
fn fits_in_a_pool_of_the_callers_do_not_nest() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let deepest = AtomicUsize::new(0);
    let counted = |shift: usize| {
        OPEN.set(OPEN.get() + 1);
        deepest.fetch_max(OPEN.get(), Ordering::Relaxed);
        let k = one(shift);
        OPEN.set(OPEN.get() - 1);
        k
    };
    let all: Vec<f64> = pool.install(|| (0..50usize).into_par_iter().map(counted).collect());
    assert_eq!(deepest.into_inner(), 1);
    assert!(all.iter().all(|k| (k - 0.4).abs() < 1e-2), "{all:?}");
    assert_eq!(all[7], one(7), "the same as outside of the pool");
}

#[test]
fn many_callers_at_once() {
    let alone = one(3);
    let all: Vec<f64> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..100).map(|_| scope.spawn(|| one(3))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    assert!(all.iter().all(|k| *k == alone), "{all:?}");
}
