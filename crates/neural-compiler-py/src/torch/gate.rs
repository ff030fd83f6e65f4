//! The gate: whether the quick way of a call is open. In: functions and dictionaries of PyTorch's, told once; out: PyTorch's state as the
//! quick way needs it, or nothing where somebody looks on and the longer way (`neural_compiler.nn`) must be taken.
//! Invariant: nothing in this crate asks PyTorch who looks on but here; the longer way asks the same of the same functions
//! (`neural_compiler.nn.gate`).

use crate::program::arguments::item;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::sync::OnceLock;

pub(crate) struct Gate {
    /// What tells whether something looks on (a tracer, a mode, a transform): nothing does when all give nothing, 0 or False.
    watchers: Vec<Py<PyAny>>,
    /// Names of the module that keeps the level of forward mode, which is negative when there is none.
    forward_mode: Py<PyDict>,
    level: Py<PyString>,
    grad_enabled: Py<PyAny>,
    threads: Py<PyAny>,
    requires_grad: Py<PyString>,
    is_inference: Py<PyString>,
    /// Dictionaries of hooks on all modules.
    hooks: Vec<Py<PyDict>>,
    /// Names of a module's own dictionaries of hooks.
    own_hooks: [Py<PyString>; 4],
    compiled: Py<PyString>,
    /// Makes a node of autograd: a `Taped` and tensors.
    pub(crate) apply: Py<PyAny>,
}

static GATE: OnceLock<Gate> = OnceLock::new();

/// Makes PyTorch's state known; see `Gate`.
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
    GATE.get_or_init(|| Gate {
        watchers,
        forward_mode,
        level: name("_current_level"),
        grad_enabled,
        threads,
        requires_grad: name("requires_grad"),
        is_inference: name("is_inference"),
        hooks,
        own_hooks: ["_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"].map(name),
        compiled: name("_compiled_call_impl"),
        apply,
    });
}

/// Whether a function without arguments gives something that counts as true.
fn says_so(py: Python<'_>, function: &Py<PyAny>) -> PyResult<bool> {
    // SAFETY: a live callable; a new reference comes back, or an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyObject_CallNoArgs(function.as_ptr()))?.is_truthy() }
}

impl Gate {
    /// Open for a function: PyTorch is known, and nothing but autograd looks on.
    pub(crate) fn for_function(py: Python<'_>) -> PyResult<Option<&'static Gate>> {
        let Some(gate) = GATE.get() else { return Ok(None) };
        Ok(if gate.watched(py)? { None } else { Some(gate) })
    }

    /// Open for a module whose names these are: besides, it has no hooks and is not called by way of a compiler.
    pub(crate) fn for_module(names: &Bound<'_, PyDict>) -> PyResult<Option<&'static Gate>> {
        let Some(gate) = GATE.get() else { return Ok(None) };
        Ok(if gate.hooked(names)? || gate.watched(names.py())? { None } else { Some(gate) })
    }

    /// Open for a backward pass: it is not to be remembered itself.
    pub(crate) fn for_backward(py: Python<'_>) -> PyResult<Option<&'static Gate>> {
        let Some(gate) = GATE.get() else { return Ok(None) };
        Ok(if gate.grad_enabled(py)? { None } else { Some(gate) })
    }

    /// Whether a tracer, a mode, a transform or forward mode looks on.
    fn watched(&self, py: Python<'_>) -> PyResult<bool> {
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
    fn hooked(&self, names: &Bound<'_, PyDict>) -> PyResult<bool> {
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

    /// Whether autograd looks on and would not see one of these tensors: those of `torch.inference_mode` have no derivative.
    pub(crate) fn unseen(&self, tensors: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let py = tensors.py();
        if !self.grad_enabled(py)? {
            return Ok(false);
        }
        for tensor in tensors.iter_borrowed() {
            if tensor.call_method0(&self.is_inference)?.is_truthy()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many threads may be used.
    pub(crate) fn threads(&self, py: Python<'_>) -> PyResult<usize> {
        self.threads.call0(py)?.extract(py)
    }
}
