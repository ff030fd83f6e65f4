//! Threads, kept from one fit to the next. In: how many; out: work done on so many.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// How many threads a wish means; 0 is all.
pub(crate) fn count(wanted: usize) -> usize {
    if wanted > 0 { wanted } else { rayon::current_num_threads() }
}

static KEPT: Mutex<Vec<Arc<ThreadPool>>> = Mutex::new(Vec::new());

/// Does some work on so many threads; where they cannot be had, on those there are.
pub(crate) fn on<T: Send>(wanted: usize, work: impl FnOnce() -> T + Send) -> T {
    let threads = count(wanted);
    let pool = {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|p| p.current_num_threads() == threads).cloned();
        found.or_else(|| {
            let made = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
            kept.push(made.clone());
            Some(made)
        })
    };
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
