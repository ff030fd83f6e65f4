//! Threads for fits. In: how many; out: work done on so many.
//! Invariant: the caller's thread does nothing else meanwhile, even if it belongs to a pool of the caller's own: such a thread would wait
//! by beginning other work of that pool, further fits perhaps, each of them deeper in its stack.

use neural_compiler::exec::threads;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, PoisonError};
use std::thread;

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
        Some(pool) if rayon::current_thread_index().is_some() && pool.current_thread_index().is_none() => apart(&pool, work),
        Some(pool) => pool.install(work),
        None => ALONE.with(|alone| match alone {
            Some(alone) => alone.install(work),
            None => work(),
        }),
    }
}

/// Has a pool do some work that a thread of no pool waits for, and the caller's for that one.
fn apart<T: Send>(pool: &ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    // Kept here, should there be no further thread.
    let work = Mutex::new(Some(work));
    let go = || {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        pool.install(work.expect("it is done once"))
    };
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, go) {
        Ok(waiting) => waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => go(),
    })
}
