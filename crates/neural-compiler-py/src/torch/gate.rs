//! What PyTorch is doing while a module is called. In: functions and dictionaries of PyTorch's, told once; out: whether anything but
//! autograd looks on, whether gradients are asked for, how many threads there may be.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::OnceLock;

pub(crate) struct Surroundings {
    /// What tells whether something looks on (a tracer, a mode, a transform): nothing does when all give nothing, 0 or False.
    watchers: Vec<Py<PyAny>>,
    /// Names of the module that keeps the level of forward mode, which is negative when there is none.
    forward_mode: Py<PyDict>,
    level: Py<PyString>,
    grad_enabled: Py<PyAny>,
    threads: Py<PyAny>,
    requires_grad: Py<PyString>,
    /// Dictionaries of hooks on all modules.
    hooks: Vec<Py<PyDict>>,
    /// Names of a module's own dictionaries of hooks.
    own_hooks: [Py<PyString>; 4],
    compiled: Py<PyString>,
    /// Makes a node of autograd: a `Taped` and tensors.
    pub(crate) apply: Py<PyAny>,
}

static SURROUNDINGS: OnceLock<Surroundings> = OnceLock::new();

/// Makes PyTorch's state known; see `Surroundings`.
#[pyfunction]
pub(crate) fn use_autograd(
    py: Python<'_>,
    watchers: Vec<Py<PyAny>>,
    forward_mode: Py<PyDict>,
    grad_enabled: Py<PyAny>,
    threads: Py<PyAny>,
    hooks: Vec<Py<PyDict>>,
    apply: Py<PyAny>,
) {
    let name = |text| PyString::intern(py, text).unbind();
    SURROUNDINGS.get_or_init(|| Surroundings {
        watchers,
        forward_mode,
        level: name("_current_level"),
        grad_enabled,
        threads,
        requires_grad: name("requires_grad"),
        hooks,
        own_hooks: ["_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"].map(name),
        compiled: name("_compiled_call_impl"),
        apply,
    });
}

/// A value of a dictionary, held: whatever Python does next may take it out of the dictionary.
pub(crate) fn item<'py>(dict: &Bound<'py, PyDict>, name: &Py<PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    dict.get_item(name.bind(dict.py()))
}

/// Whether a function without arguments gives something that counts as true.
fn says_so(py: Python<'_>, function: &Py<PyAny>) -> PyResult<bool> {
    // SAFETY: a live callable; a new reference comes back, or an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyObject_CallNoArgs(function.as_ptr()))?.is_truthy() }
}

impl Surroundings {
    /// What `use_autograd` was given.
    pub(crate) fn get() -> Option<&'static Surroundings> {
        SURROUNDINGS.get()
    }

    /// Whether a tracer, a mode, a transform or forward mode looks on.
    pub(crate) fn watched(&self, py: Python<'_>) -> PyResult<bool> {
        for watcher in &self.watchers {
            if says_so(py, watcher)? {
                return Ok(true);
            }
        }
        match item(self.forward_mode.bind(py), &self.level)? {
            Some(level) => Ok(level.extract::<i64>()? >= 0),
            None => Ok(true),
        }
    }

    /// Whether a module, whose names these are, or every module has hooks, or is called by way of a compiler.
    pub(crate) fn hooked(&self, names: &Bound<'_, PyDict>) -> PyResult<bool> {
        let py = names.py();
        if self.hooks.iter().any(|h| !h.bind(py).is_empty()) {
            return Ok(true);
        }
        for name in &self.own_hooks {
            if item(names, name)?.is_none_or(|h| h.cast::<PyDict>().is_ok_and(|d| !d.is_empty())) {
                return Ok(true);
            }
        }
        // Not in the dictionary of the object unless it was set.
        Ok(item(names, &self.compiled)?.is_some_and(|c| !c.is_none()))
    }

    /// Whether gradients are asked for.
    pub(crate) fn grad_enabled(&self, py: Python<'_>) -> PyResult<bool> {
        says_so(py, &self.grad_enabled)
    }

    /// Whether a tensor asks for its gradient.
    pub(crate) fn requires_grad(&self, tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
        tensor.getattr(&self.requires_grad)?.is_truthy()
    }

    /// How many threads may be used.
    pub(crate) fn threads(&self, py: Python<'_>) -> PyResult<usize> {
        self.threads.call0(py)?.extract(py)
    }
}
