//! The threads batches and fits are shared among. In: how many; out: a pool of so many.
//! Invariants: a pool is used only by the process that made it: a child after a fork has none of its parent's threads and makes its own,
//! without waiting for a lock its parent may have held; where no thread can be had, there is no pool and the caller's thread does
//! everything.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The pools of a process, newest first: a list that only grows, by exchange of its head.
struct Kept {
    process: u32,
    pool: Arc<ThreadPool>,
    next: *const Kept,
}

static NEWEST: AtomicPtr<Kept> = AtomicPtr::new(std::ptr::null_mut());

/// As many threads as there are processors to run on, or as the environment says; inside a pool, as it has.
pub fn available() -> usize {
    if rayon::current_thread_index().is_some() {
        return rayon::current_num_threads();
    }
    let told = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).filter(|&n| n > 0);
    told.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
}

fn find(threads: usize, process: u32) -> Option<Arc<ThreadPool>> {
    let mut at: *const Kept = NEWEST.load(Ordering::Acquire);
    // SAFETY: entries come from `Box::into_raw` below and are never freed or changed once they are in the list.
    while let Some(kept) = unsafe { at.as_ref() } {
        if kept.process == process && kept.pool.current_num_threads() == threads {
            return Some(kept.pool.clone());
        }
        at = kept.next;
    }
    None
}

/// A pool of so many threads, made at the first call and kept; `None` where no thread can be had.
pub fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let (threads, process) = (threads.max(1), std::process::id());
    if let Some(found) = find(threads, process) {
        return Some(found);
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    // Pools of a parent stay in the list: to end them would wait for threads that are not there.
    let entry = Box::into_raw(Box::new(Kept { process, pool: pool.clone(), next: std::ptr::null() }));
    let mut head = NEWEST.load(Ordering::Acquire);
    loop {
        // SAFETY: the entry is ours until it is in the list.
        unsafe { (*entry).next = head };
        match NEWEST.compare_exchange_weak(head, entry, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some(pool),
            Err(now) => head = now,
        }
    }
}
