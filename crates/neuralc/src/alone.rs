//! Files that one process writes at a time. In: an open file; out: whether it is this process's alone.
//! Invariant: a file is given up when the process ends, however that happens. Where a file system knows no locks, nobody is kept away.

use crate::context::Failure;
use std::fs::{File, TryLockError};

/// Whether somebody else holds a file; if not, this process does from now on, until it closes it.
pub(crate) fn taken(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Refuses a file that another process is writing; `what`: what it belongs to, in words.
pub(crate) fn alone(file: &File, what: &str) -> Result<(), Failure> {
    if taken(file) {
        let message = format!("{what} is being written by another neuralc");
        return Err(Failure::plain("in-use", message, Some("wait until it has ended, or name another".into())));
    }
    Ok(())
}
