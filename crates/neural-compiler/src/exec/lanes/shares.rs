//! Work shared among threads. In: jobs; out: what each gave, in their order.
//! Invariants: the calling thread does the first job itself, so that it need not wait until others wake up; only it asks whether the run is
//! still wanted, and goes on asking while it waits for the others.

use crate::exec::watch::{self, Watch};
use rayon::ThreadPool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Does all jobs.
pub(super) fn all<J: Send, R: Send>(pool: &ThreadPool, jobs: Vec<J>, one: impl Fn(J, Watch<'_>) -> R + Sync) -> Vec<R> {
    let ended = AtomicBool::new(false);
    let mut found: Vec<Option<R>> = jobs.iter().map(|_| None).collect();
    let others = Others { left: Mutex::new(jobs.len().saturating_sub(1)), changed: Condvar::new() };
    pool.in_place_scope(|scope| {
        let (one, ended, others) = (&one, &ended, &others);
        let mut jobs = jobs.into_iter().zip(&mut found);
        let first = jobs.next();
        for (job, place) in jobs {
            scope.spawn(move |_| {
                let _done = Done(others);
                *place = Some(one(job, Watch::shared(ended, false)));
            });
        }
        if let Some((job, place)) = first {
            *place = Some(one(job, Watch::shared(ended, true)));
        }
        // A thread of this pool waits by working for it; one of another pool would begin other work of that one, deeper in its stack.
        if pool.current_thread_index().is_none() {
            others.wait(ended);
        }
    });
    found.into_iter().map(|r| r.expect("every job was done")).collect()
}

/// Jobs other threads have not finished.
struct Others {
    left: Mutex<usize>,
    changed: Condvar,
}

impl Others {
    /// Waits for all, and ends them when the caller wants no more of the run.
    fn wait(&self, ended: &AtomicBool) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 {
            let (now, timeout) = self.changed.wait_timeout(left, watch::PAUSE).unwrap_or_else(PoisonError::into_inner);
            left = now;
            if timeout.timed_out() && *left > 0 && watch::is_unwanted() {
                ended.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Says so when a job is done, whatever became of it.
struct Done<'a>(&'a Others);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_one();
    }
}
