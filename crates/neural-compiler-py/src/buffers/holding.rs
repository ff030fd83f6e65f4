//! Memory of the caller's that is read or written while other Python threads run. In: arrays and tensors; out: the promise that their
//! memory stays where it is.
//!
//! A NumPy array that is referred to keeps its memory, unless someone resizes it without looking; a weak reference forbids even that. The
//! memory of a tensor can be exchanged at any time (`set_`, `resize_`) by whoever holds the tensor: it is copied, unless no other thread is
//! there to do so.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyWeakrefReference;

/// Whose memory the inputs of a call are.
#[derive(Clone, Copy)]
pub(crate) enum Inputs<'a, 'py> {
    /// These arrays', buffers for results among them.
    Arrays(&'a [Bound<'py, PyAny>]),
    /// Tensors'.
    Tensors,
}

/// Keeps arrays from being resized.
pub(crate) struct Held<'py>(#[allow(dead_code, reason = "held, not read")] Vec<Bound<'py, PyWeakrefReference>>);

/// Keeps these arrays from being resized until the answer is dropped.
pub(crate) fn hold<'py>(arrays: &[Bound<'py, PyAny>]) -> PyResult<Held<'py>> {
    arrays.iter().map(PyWeakrefReference::new).collect::<PyResult<Vec<_>>>().map(Held)
}

/// Whether no other Python thread is there.
pub(crate) fn alone(py: Python<'_>) -> PyResult<bool> {
    static COUNT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let count = COUNT.get_or_try_init(py, || PyResult::Ok(py.import("_thread")?.getattr("_count")?.unbind()))?;
    // Threads other than the main one, of which this may be one.
    Ok(count.call0(py)?.extract::<usize>(py)? == 0)
}
