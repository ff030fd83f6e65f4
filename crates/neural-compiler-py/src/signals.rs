//! Ctrl-C during a call. In: the question of a run whether it is still wanted; out: the answer of Python's signal handlers, and the
//! exception they raised.

use neural_compiler::exec::end_runs_when;
use pyo3::prelude::*;
use std::cell::RefCell;

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Lets every run ask. Python runs handlers on its main thread alone; on any other nothing is ever raised.
pub(crate) fn listen() {
    end_runs_when(|| {
        let answer = Python::try_attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(error) => {
                RAISED.with_borrow_mut(|raised| *raised = Some(error));
                true
            }
        });
        answer.unwrap_or(false)
    });
}

/// What ended the run of this thread.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.with_borrow_mut(Option::take)
}
