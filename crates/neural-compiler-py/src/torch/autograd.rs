//! Calls that autograd remembers. In: tensors of a call; out: results whose node pulls cotangents back by another program.
//! Invariant: results are computed before the node is made, so that tensors which are not plain never get that far.

use crate::buffers::views::FEW;
use crate::program::function::{Function, How};
use crate::program::places::Places;
use crate::torch::dlpack::Torch;
use crate::torch::gate::Gate;
use crate::torch::tensors::{Reading, call};
use neural_compiler::diff::Link;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// A call: its results until the node is made, and what the node needs to go back.
#[pyclass(name = "Taped", module = "neural_compiler._native", frozen)]
pub(crate) struct Taped {
    function: Arc<Function>,
    /// What the Python side knows the program by.
    compiled: Py<PyAny>,
    follow: Places,
    results: Mutex<Option<Py<PyAny>>>,
}

/// Results as Python sees them: one, or a tuple.
pub(crate) fn packed(py: Python<'_>, mut results: Vec<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    match results.len() {
        1 => Ok(results.remove(0)),
        _ => Ok(PyTuple::new(py, results)?.into_any().unbind()),
    }
}

/// Objects of tuples, while the tuples live.
type Objects = SmallVec<[*mut PyObject; FEW]>;

/// Calls a function on the tensors of a tuple.
pub(crate) fn on_tuple(
    py: Python<'_>,
    function: &Function,
    inputs: &Bound<'_, PyTuple>,
    reading: Reading<'_>,
    how: How,
) -> PyResult<Option<Vec<Py<PyAny>>>> {
    let objects: Objects = inputs.iter_borrowed().map(|o| o.as_ptr()).collect();
    // SAFETY: the tuple holds them.
    unsafe { call(py, function, &objects, reading, how) }
}

/// Calls a function on plain tensors, remembered where gradients are asked for. `None`: the tensors are not plain.
/// Nothing but autograd may look on.
pub(crate) fn remembered<'py>(
    py: Python<'py>,
    gate: &Gate,
    function: &Arc<Function>,
    compiled: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyTuple>,
    follow: &Places,
) -> PyResult<Option<Py<PyAny>>> {
    let Some(torch) = Torch::get() else { return Ok(None) };
    let mut taped = false;
    if gate.grad_enabled(py)? {
        for object in inputs.iter_borrowed() {
            // SAFETY: the tuple holds it.
            if !unsafe { torch.is_plain(object.as_ptr()) } {
                return Ok(None);
            }
            taped = taped || gate.requires_grad(&object)?;
        }
    }
    let how = How { threads: gate.threads(py)?, trap: false };
    let Some(results) = on_tuple(py, function, inputs, Reading { follow, fitting: false }, how)? else { return Ok(None) };
    let results = packed(py, results)?;
    if !taped {
        return Ok(Some(results));
    }
    let taped = Taped {
        function: function.clone(),
        compiled: compiled.clone().unbind(),
        follow: follow.clone(),
        results: Mutex::new(Some(results)),
    };
    let taped = Bound::new(py, taped)?.into_any();
    let all = PyTuple::new(py, std::iter::once(taped).chain(inputs.iter()).collect::<Vec<_>>())?;
    gate.apply.call1(py, all).map(Some)
}

/// The forward pass of a node: hands out what was computed, and keeps the inputs.
#[pyfunction]
#[pyo3(signature = (ctx, taped, *tensors))]
pub(crate) fn remember<'py>(
    ctx: &Bound<'py, PyAny>,
    taped: &Bound<'py, Taped>,
    tensors: &Bound<'py, PyTuple>,
) -> PyResult<Option<Py<PyAny>>> {
    let py = ctx.py();
    ctx.setattr(pyo3::intern!(py, "how"), taped)?;
    // What `ctx.save_for_backward` does.
    ctx.setattr(pyo3::intern!(py, "to_save"), tensors)?;
    let found = taped.get().results.lock().unwrap_or_else(PoisonError::into_inner).take();
    if found.as_ref().is_some_and(|f| f.bind(py).is_instance_of::<PyTuple>()) {
        ctx.setattr(pyo3::intern!(py, "materialize_grads"), false)?;
    }
    Ok(found)
}

#[pymethods]
impl Taped {
    #[getter]
    fn compiled(&self, py: Python<'_>) -> Py<PyAny> {
        self.compiled.clone_ref(py)
    }

    /// The backward pass as the engine wants it: nothing for this object, then for each input its cotangent, or nothing where `needs`
    /// says so (which speaks of this object, too). None when the tensors are not plain, a cotangent is missing or has to be summed over
    /// some axes, or when the backward pass itself is to be remembered.
    fn pull<'py>(
        &self,
        py: Python<'py>,
        tensors: &Bound<'py, PyTuple>,
        cotangents: &Bound<'py, PyTuple>,
        needs: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let count = tensors.len();
        if needs.len() != count + 1 {
            return Ok(None);
        }
        let Some(gate) = Gate::for_backward(py)? else { return Ok(None) };
        let objects: Objects = tensors.iter_borrowed().chain(cotangents.iter_borrowed()).map(|o| o.as_ptr()).collect();
        let mut wrt = Places::default();
        for (k, need) in needs.iter_borrowed().skip(1).enumerate() {
            if need.is_truthy()? {
                wrt.insert(k);
            }
        }
        let back = self.function.pull_back(&wrt, (count, cotangents.len()));
        let reading = Reading { follow: &self.follow, fitting: true };
        // SAFETY: the tuples hold them. A cotangent that is not there is no tensor.
        let found = unsafe { call(py, &back, &objects, reading, How { threads: gate.threads(py)?, trap: false })? };
        let Some(found) = found else { return Ok(None) };
        let mut found = found.into_iter();
        let places = (0..=count).map(|k| if k > 0 && wrt.contains(k - 1) { found.next() } else { None });
        PyTuple::new(py, places.collect::<Vec<_>>()).map(Some)
    }
}

impl Function {
    /// The program that pulls cotangents of all results back to these of the inputs; made once.
    fn pull_back(&self, wrt: &Places, (inputs, results): (usize, usize)) -> Arc<Function> {
        let mut made = self.pull_backs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = made.iter().find(|m| m.0 == *wrt) {
            return found.clone();
        }
        let link = Link::Vjp { wrt: (0..inputs).filter(|&k| wrt.contains(k)).collect(), seeds: (0..results).collect() };
        let back = Arc::new(Function::new(self.core.clone(), self.steps.clone(), [self.chain.clone(), vec![link]].concat()));
        made.push((wrt.clone(), back.clone()));
        back
    }
}
