//! The call of a module. In: the arguments as the user gave them, and the module; out: its results, or nothing where the call is not
//! a usual one and the longer way must sort it out (or say what is wrong with it).
//! Invariant: what this path takes means the same to the longer one.

use crate::buffers::views::FEW;
use crate::classes::PyFunction;
use crate::program::arguments::{Own, bind, item};
use crate::program::cache::Recent;
use crate::program::function::Function;
use crate::program::places::{Places, PyPlaces};
use crate::torch::autograd::remembered;
use crate::torch::dlpack::{DataType, Torch, describe};
use crate::torch::gate::Gate;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;
use std::iter::Peekable;
use std::slice::Iter;
use std::sync::{Arc, Mutex, PoisonError};

/// How a module runs.
enum Runs {
    /// Natively.
    Native(Arc<Function>),
    /// As torch operations: the code for the sizes of the inputs' own axes, as far as it was made.
    Torch { ranks: Vec<usize>, code: Mutex<Recent<Vec<i64>, Code>> },
}

/// What to call.
type Code = Arc<Py<PyAny>>;

/// What the calls of a module share.
#[pyclass(name = "Caller", module = "neural_compiler._native", frozen)]
pub(crate) struct Caller {
    runs: Runs,
    compiled: Py<PyAny>,
    /// Inputs that follow the others in their type.
    follow: Places,
    /// The inputs.
    names: Vec<Py<PyString>>,
    /// How many of them a call gives.
    open: usize,
    /// Places of the module's own tensors, and the names of their fields.
    own: Vec<(usize, Py<PyString>)>,
    parameters: Py<PyString>,
}

#[pymethods]
impl Caller {
    /// `code`: run torch operations, which `add_code` tells.
    #[new]
    fn new(
        py: Python<'_>,
        function: &PyFunction,
        compiled: Py<PyAny>,
        follow: &PyPlaces,
        names: Vec<Py<PyString>>,
        own: Vec<(usize, Py<PyString>)>,
        code: bool,
    ) -> Caller {
        let native = function.0.clone();
        let runs = if code { Runs::Torch { ranks: native.core.ranks.clone(), code: Mutex::default() } } else { Runs::Native(native) };
        let parameters = PyString::intern(py, "_parameters").unbind();
        let interned = |name: Py<PyString>| {
            let mut raw = name.into_ptr();
            // SAFETY: an owned text goes in, an owned text comes out.
            unsafe {
                ffi::PyUnicode_InternInPlace(&mut raw);
                Bound::from_owned_ptr(py, raw).cast_into_unchecked().unbind()
            }
        };
        let own: Vec<_> = own.into_iter().map(|(at, name)| (at, interned(name))).collect();
        let (open, names) = (names.len() - own.len(), names.into_iter().map(interned).collect());
        Caller { runs, compiled, follow: follow.0.clone(), names, open, own, parameters }
    }

    /// Torch operations for inputs whose own axes have these sizes, one after the other; called with the tensors, gives a tuple.
    fn add_code(&self, sizes: Vec<i64>, code: Py<PyAny>) {
        if let Runs::Torch { code: known, .. } = &self.runs {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.get(|k| *k == sizes).is_none() {
                known.insert(sizes, Arc::new(code));
            }
        }
    }

    /// The results of a usual call; else None.
    fn call<'py>(
        &self,
        module: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let py = module.py();
        // SAFETY: a module is an object with a dictionary; a new reference comes back, or an exception.
        let names = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyObject_GenericGetDict(module.as_ptr(), std::ptr::null_mut()))? };
        let names = names.cast_into::<PyDict>()?;
        let Some(gate) = Gate::for_module(&names)? else { return Ok(None) };
        let Some(tensors) = self.bound(module, &names, args, kwargs)? else { return Ok(None) };
        match &self.runs {
            Runs::Native(function) => remembered(py, gate, function, self.compiled.bind(py), &tensors, &self.follow),
            Runs::Torch { ranks, code } => on_torch(gate, ranks, code, &tensors, &self.follow),
        }
    }
}

impl Caller {
    /// The tensors of a call in the order of the inputs; None when the arguments are not complete without further ado.
    fn bound<'py>(
        &self,
        module: &Bound<'py, PyAny>,
        names: &Bound<'py, PyDict>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let py = module.py();
        if args.len() + kwargs.len() != self.open {
            return Ok(None);
        }
        if kwargs.is_empty() && self.own.is_empty() {
            return Ok(Some(args.clone()));
        }
        let parameters = item(names, &self.parameters)?;
        let parameters = parameters.as_ref().and_then(|p| p.cast::<PyDict>().ok());
        let mut own = Tensors { module, parameters, own: self.own.iter().peekable() };
        let mut values: Vec<Bound<'py, PyAny>> = Vec::with_capacity(self.names.len());
        let complete = bind(&self.names, (args, kwargs), &mut own, |_, value| {
            values.push(value);
            Ok(true)
        })?;
        if !complete {
            return Ok(None);
        }
        PyTuple::new(py, values).map(Some)
    }
}

/// The tensors of a module.
struct Tensors<'a, 'py> {
    module: &'a Bound<'py, PyAny>,
    parameters: Option<&'a Bound<'py, PyDict>>,
    /// Those that have not been asked for.
    own: Peekable<Iter<'a, (usize, Py<PyString>)>>,
}

impl<'py> Own<'py> for Tensors<'_, 'py> {
    /// A call that does is not a usual one.
    const REPLACED: bool = false;

    fn value(&mut self, input: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((_, field)) = self.own.next_if(|o| o.0 == input) else { return Ok(None) };
        // Not among the parameters when a parametrization stands in for it, or when it is a buffer.
        let held = self.parameters.map(|p| item(p, field)).transpose()?.flatten().filter(|v| !v.is_none());
        held.map_or_else(|| self.module.getattr(field), Ok).map(Some)
    }
}

/// The results of torch operations on plain tensors of one type (those that follow are converted) that autograd sees, where the
/// operations for their sizes are known.
fn on_torch<'py>(
    gate: &Gate,
    ranks: &[usize],
    code: &Mutex<Recent<Vec<i64>, Code>>,
    tensors: &Bound<'py, PyTuple>,
    follow: &Places,
) -> PyResult<Option<Py<PyAny>>> {
    let py = tensors.py();
    let Some(torch) = Torch::get() else { return Ok(None) };
    let first = (0..ranks.len()).find(|&k| !follow.contains(k)).unwrap_or(0);
    let mut sizes: SmallVec<[i64; 2 * FEW]> = SmallVec::new();
    let mut dtypes: SmallVec<[DataType; FEW]> = SmallVec::with_capacity(ranks.len());
    for (object, &rank) in tensors.iter_borrowed().zip(ranks) {
        // SAFETY: the tuple holds the tensors.
        let Some(tensor) = (unsafe { describe(torch, object.as_ptr()) }) else { return Ok(None) };
        let shape = tensor.view().shape;
        if !matches!(tensor.dtype.bits, 32 | 64) || shape.len() < rank {
            return Ok(None);
        }
        dtypes.push(tensor.dtype);
        sizes.extend_from_slice(&shape[shape.len() - rank..]);
    }
    let found = {
        let mut known = code.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(|k| k[..] == sizes[..])
    };
    let Some(run) = found else { return Ok(None) };
    if gate.unseen(tensors)? {
        return Ok(None);
    }
    let other = |k: usize| dtypes[k] != dtypes[first];
    let results = if (0..ranks.len()).any(other) {
        if (0..ranks.len()).any(|k| other(k) && !follow.contains(k)) {
            return Ok(None);
        }
        let like = tensors.get_item(first)?;
        let convert =
            |(k, t): (usize, Bound<'py, PyAny>)| if other(k) { t.call_method1(pyo3::intern!(py, "type_as"), (&like,)) } else { Ok(t) };
        run.call1(py, PyTuple::new(py, tensors.iter().enumerate().map(convert).collect::<PyResult<Vec<_>>>()?)?)
    } else {
        run.call1(py, tensors)
    };
    match results {
        Ok(results) => {
            let results = results.into_bound(py).cast_into::<PyTuple>()?;
            Ok(Some(if results.len() == 1 { results.get_item(0)?.unbind() } else { results.into_any().unbind() }))
        }
        // Devices or batch sizes that do not fit: the longer way says so in our words.
        Err(error) if error.is_instance_of::<PyRuntimeError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}
