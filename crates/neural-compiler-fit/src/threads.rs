//! Threads for fits. In: how many; out: work done on so many.

use neural_compiler::exec::threads;

/// How many threads a wish means; 0 is all.
pub(crate) fn count(wanted: usize) -> usize {
    if wanted > 0 { wanted } else { threads::available() }
}

/// Does some work on so many threads; where they cannot be had, on the caller's.
pub(crate) fn on<T: Send>(wanted: usize, work: impl FnOnce() -> T + Send) -> T {
    match threads::pool(count(wanted)) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
