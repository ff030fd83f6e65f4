//! Calls on PyTorch tensors. In: tensors on the CPU; out: new tensors that autograd does not know.
//! Invariants: tensors of another type than the first are converted only where the caller says that they follow, and their cotangents
//! converted back; anything that is not plain is told apart before anything is computed.

use crate::buffers::holding::Inputs;
use crate::buffers::views::{FEW, View, gather, numbers};
use crate::program::function::{Function, How, Number, Plan};
use crate::program::places::Places;
use crate::torch::dlpack::{DataType, Described, Fresh, Torch, peek, stands_for_itself};
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// How tensors are to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// Inputs that follow the others in their type.
    pub(crate) follow: &'a Places,
    /// Every cotangent must have the shape of its input without a sum over some axes.
    pub(crate) fitting: bool,
}

/// Numbers a tensor that follows may have to be converted on the quick path.
const MOST_CONVERTED: usize = 4096;

/// Calls a function on tensors. `None`: the tensors are not of one type on the CPU (but for those that follow), or there is no exchange, or
/// cotangents do not fit.
///
/// # Safety
/// The inputs must be live Python objects, held by the caller.
pub(crate) unsafe fn call(
    py: Python<'_>,
    function: &Function,
    inputs: &[*mut PyObject],
    reading: Reading<'_>,
    how: How,
) -> PyResult<Option<Vec<Py<PyAny>>>> {
    let Some(torch) = Torch::get() else { return Ok(None) };
    // SAFETY: as promised by the caller.
    if inputs.is_empty() || !inputs.iter().all(|&object| unsafe { stands_for_itself(torch, object) }) {
        return Ok(None);
    }
    // From here on no other Python thread runs before the tensors are read or copied: it may exchange their memory.
    loop {
        let mut tensors: SmallVec<[Described; FEW]> = SmallVec::with_capacity(inputs.len());
        for &object in inputs {
            // SAFETY: as promised by the caller.
            match unsafe { peek(torch, object) } {
                Some(t) => tensors.push(t),
                None => return Ok(None),
            }
        }
        let follows = |k: usize| reading.follow.contains(k);
        let first = (0..tensors.len()).find(|&k| !follows(k)).unwrap_or(0);
        let dtype = tensors[first].dtype;
        let mut converted = false;
        for (k, t) in tensors.iter().enumerate().filter(|(_, t)| t.dtype != dtype) {
            let small = numbers(t.view().shape).is_ok_and(|n| n <= MOST_CONVERTED);
            if !(follows(k) && small && matches!(t.dtype.bits, 32 | 64)) {
                return Ok(None);
            }
            converted = true;
        }
        if !matches!(dtype.bits, 32 | 64) {
            return Ok(None);
        }
        let views: SmallVec<[View<'_>; FEW]> = tensors.iter().map(Described::view).collect();
        let plan = function.plan(py, &views)?;
        if plan.new {
            continue;
        }
        if reading.fitting && !plan.fits(&views) {
            return Ok(None);
        }
        let found = match (dtype.bits, converted) {
            (32, false) => run::<f32>(py, torch, function, &views, &plan, dtype, how),
            (32, true) => following::<f64, f32>(py, torch, function, (&views, &tensors), &plan, (dtype, reading.fitting), how),
            (_, false) => run::<f64>(py, torch, function, &views, &plan, dtype, how),
            (_, true) => following::<f32, f64>(py, torch, function, (&views, &tensors), &plan, (dtype, reading.fitting), how),
        };
        return found.map(Some);
    }
}

/// Numbers of another type, and their strides.
struct Converted<T> {
    numbers: Vec<T>,
    strides: Vec<i64>,
}

/// Runs in the type `T` after tensors of type `S` have been converted; their cotangents are converted back.
fn following<S: Number, T: Number>(
    py: Python<'_>,
    torch: &Torch,
    function: &Function,
    (views, tensors): (&[View<'_>], &[Described]),
    plan: &Plan,
    (dtype, fitting): (DataType, bool),
    how: How,
) -> PyResult<Vec<Py<PyAny>>> {
    let convert = |t: &Described| {
        let from = t.view();
        // SAFETY: the tensor is held by the caller's tuple and has this type.
        let numbers = unsafe { gather::<S>(&from, 0, from.shape) }?.into_iter().map(|x| T::from_f64(x.to_f64())).collect();
        let mut strides = vec![1; from.shape.len()];
        (1..strides.len()).rev().for_each(|d| strides[d - 1] = strides[d] * from.shape[d]);
        PyResult::Ok(Converted { numbers, strides })
    };
    let made: Vec<Option<Converted<T>>> =
        tensors.iter().map(|t| (t.dtype != dtype).then(|| convert(t)).transpose()).collect::<PyResult<_>>()?;
    let now = views.iter().zip(&made).map(|(old, new)| match new {
        Some(c) => View { data: c.numbers.as_ptr().cast(), shape: old.shape, strides: &c.strides },
        None => *old,
    });
    let views: &[View<'_>] = &now.collect::<SmallVec<[_; FEW]>>();
    let mut results: Vec<(Fresh, Vec<T>)> = Vec::with_capacity(plan.variant.results.len());
    for k in 0..plan.variant.results.len() {
        let sizes = plan.sizes(k, views);
        let other = plan.like(k).map(|i| tensors[i].dtype).filter(|d| fitting && *d != dtype);
        let room = if other.is_some() { numbers(&sizes)? } else { 0 };
        results.push((Fresh::new(&sizes, other.unwrap_or(dtype))?, vec![T::ZERO; room]));
    }
    let pointers: Vec<*mut T> =
        results.iter_mut().map(|(r, own)| if own.is_empty() { r.data().cast() } else { own.as_mut_ptr() }).collect();
    // SAFETY: the tensors are held by the caller's tuple, converted ones here; results are fresh memory of the right size.
    unsafe { function.run(py, plan, (views, Inputs::Tensors), &pointers, how)? };
    for (r, own) in results.iter().filter(|(_, own)| !own.is_empty()) {
        // SAFETY: the tensor has as many numbers, of the other type, and nobody else knows it yet.
        let to = unsafe { std::slice::from_raw_parts_mut(r.data().cast::<S>(), own.len()) };
        to.iter_mut().zip(own).for_each(|(to, x)| *to = S::from_f64(x.to_f64()));
    }
    results.into_iter().map(|(r, _)| r.into_object(py, torch)).collect()
}

fn run<T: Number>(
    py: Python<'_>,
    torch: &Torch,
    function: &Function,
    views: &[View<'_>],
    plan: &Plan,
    dtype: DataType,
    how: How,
) -> PyResult<Vec<Py<PyAny>>> {
    let results: Vec<Fresh> = (0..plan.variant.results.len()).map(|k| Fresh::new(&plan.sizes(k, views), dtype)).collect::<PyResult<_>>()?;
    let pointers: Vec<*mut T> = results.iter().map(|r| r.data().cast()).collect();
    // SAFETY: the tensors are held by the caller's tuple; results are fresh memory of the right size.
    unsafe { function.run(py, plan, (views, Inputs::Tensors), &pointers, how)? };
    results.into_iter().map(|r| r.into_object(py, torch)).collect()
}
