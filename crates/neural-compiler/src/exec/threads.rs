//! The threads batches and fits are shared among. In: how many; out: a pool of so many.
//! Invariants: a pool is used only by the process that made it: a child after a fork has none of its parent's threads and makes its own,
//! without waiting for a lock its parent may have held; where no thread can be had, there is no pool and the caller's thread does
//! everything; threads of no more than `MOST` pools wait for work, those of others end.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// As many sizes are in use at once: that of PyTorch and that of NumPy arrays, or of a fit.
const MOST: usize = 2;

/// The pools of a process, the one asked for last in front.
struct Pools {
    process: u32,
    kept: Mutex<Vec<Arc<ThreadPool>>>,
}

/// Those of this process, or of the parent it was forked from.
static POOLS: AtomicPtr<Pools> = AtomicPtr::new(std::ptr::null_mut());

/// As many threads as there are processors to run on, or as the environment says; inside a pool, as it has.
pub fn available() -> usize {
    if rayon::current_thread_index().is_some() {
        return rayon::current_num_threads();
    }
    let told = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).filter(|&n| n > 0);
    told.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
}

/// The pools of this process. What a fork has left of a parent's stays as it is: its lock may be held, and to end its pools would wait for
/// threads that are not there.
fn pools() -> &'static Pools {
    let process = std::process::id();
    let mut found = POOLS.load(Ordering::Acquire);
    loop {
        // SAFETY: pools come from `Box::into_raw` below and are never freed once they are here.
        if let Some(ours) = unsafe { found.as_ref() }
            && ours.process == process
        {
            return ours;
        }
        let made = Box::into_raw(Box::new(Pools { process, kept: Mutex::default() }));
        match POOLS.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: never freed, as above.
            Ok(_) => return unsafe { &*made },
            Err(now) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                found = now;
            }
        }
    }
}

/// A pool of so many threads, made at the first call and kept as long as few others are asked for; `None` where no thread can be had.
pub fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let threads = threads.max(1);
    let mut kept = pools().kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = kept.iter().position(|p| p.current_num_threads() == threads) {
        kept[..=at].rotate_right(1);
        return Some(kept[0].clone());
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    kept.insert(0, pool.clone());
    // A pool ends with the last call that uses it.
    let first = kept.len().min(MOST);
    let ended = kept.split_off(first);
    drop(kept);
    drop(ended);
    Some(pool)
}
