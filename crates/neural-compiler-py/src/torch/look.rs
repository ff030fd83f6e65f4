//! A look at the numbers of a tensor, for torch code that chooses its way by them. In: a tensor; out: whether all its numbers lie between
//! two limits, or nothing when they cannot be read without waiting or someone looks on.

use crate::buffers::views::gather;
use crate::torch::dlpack::{Torch, peek, stands_for_itself};
use crate::torch::gate::Gate;
use pyo3::prelude::*;

/// Whether every number of a tensor is in `low..=high`; NaN is not. `None` when the numbers are not there to be read.
#[pyfunction]
pub(crate) fn all_between(tensor: &Bound<'_, PyAny>, low: f64, high: f64) -> PyResult<Option<bool>> {
    let Some(torch) = Torch::get() else { return Ok(None) };
    if Gate::for_function(tensor.py())?.is_none() {
        return Ok(None);
    }
    // SAFETY: the caller holds the object while it is described and read.
    let found = unsafe { if stands_for_itself(torch, tensor.as_ptr()) { peek(torch, tensor.as_ptr()) } else { None } };
    let Some(found) = found else { return Ok(None) };
    let view = found.view();
    let inside = |x: f64| low <= x && x <= high;
    // SAFETY: the numbers are of the type the description says.
    Ok(unsafe {
        match found.dtype.bits {
            32 => Some(gather::<f32>(&view, 0, view.shape)?.into_iter().all(|x| inside(f64::from(x)))),
            64 => Some(gather::<f64>(&view, 0, view.shape)?.into_iter().all(inside)),
            _ => None,
        }
    })
}
