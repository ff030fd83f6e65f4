//! Panics of others as errors. In: work done by a library that panics on some inputs; out: its result, or what it panicked with.
//! Used around the Parquet reader alone, which meets files it should refuse with assertions and indices out of bounds; our own code has no
//! such net.

use std::cell::Cell;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will be told as an error, so that it need not be reported.
pub(crate) fn is_quiet() -> bool {
    QUIET.get()
}

/// What a panic said.
pub(crate) fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Does some work; `Err`: it panicked. What it left half done must not be used.
#[cfg(feature = "parquet")]
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = QUIET.replace(true);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    QUIET.set(before);
    outcome.map_err(|payload| message(&*payload).to_string())
}
