//! Threads for fits. In: how many; out: work done on so many.

use neural_compiler::exec::threads;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How many threads a wish means; 0 is all.
pub(crate) fn count(wanted: usize) -> usize {
    if wanted > 0 { wanted } else { threads::available() }
}

thread_local! {
    /// A pool of the one thread there is, where no other can be had: rayon's own would not do without.
    static ALONE: Option<ThreadPool> = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok();
}

/// Does some work on so many threads; where they cannot be had, on the caller's.
pub(crate) fn on<T: Send>(wanted: usize, work: impl FnOnce() -> T + Send) -> T {
    match threads::pool(count(wanted)) {
        Some(pool) => pool.install(work),
        None => ALONE.with(|alone| match alone {
            Some(alone) => alone.install(work),
            None => work(),
        }),
    }
}
