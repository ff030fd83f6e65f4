//! NumPy arrays. In: arrays of one number type; out: new arrays, or the caller's own buffers filled.
//! Invariant: inputs are read where they are; buffers are C-contiguous, of the right shape and shared with no input (the Python
//! side sees to the last point).

use crate::buffers::holding::Inputs;
use crate::buffers::views::{View, numbers};
use crate::program::function::{Function, How, Number};
use neural_compiler::exec::lanes::LaneError;
use numpy::npyffi::{NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::ptr::null_mut;

/// Sizes and strides of an array, strides counted in numbers.
struct Layout {
    data: *const u8,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

fn layout<T: Element>(py: Python<'_>, array: &Bound<'_, PyUntypedArray>) -> PyResult<Layout> {
    let size = size_of::<T>() as i64;
    // SAFETY: the pointer is that of a live array object.
    let data = unsafe { (*array.as_array_ptr()).fields.data }.cast_const().cast::<u8>();
    let whole = array.strides().iter().all(|&s| s as i64 % size == 0) && data.align_offset(align_of::<T>()) == 0;
    if !array.dtype().is_equiv_to(&numpy::dtype::<T>(py)) || !whole {
        return Err(PyTypeError::new_err("arrays of one native, aligned floating-point type are expected"));
    }
    let strides = array.strides().iter().map(|&s| s as i64 / size).collect();
    Ok(Layout { data, shape: array.shape().iter().map(|&n| n as i64).collect(), strides })
}

/// Calls a function on arrays; gives the results and the lanes that have none.
pub(crate) fn call<T: Number + Element>(
    py: Python<'_>,
    function: &Function,
    inputs: &[Bound<'_, PyUntypedArray>],
    out: Option<Vec<Bound<'_, PyUntypedArray>>>,
    how: How,
) -> PyResult<Filled> {
    let held: Vec<Bound<'_, PyAny>> = inputs.iter().map(|a| a.as_any().clone()).collect();
    let layouts: Vec<Layout> = inputs.iter().map(|a| layout::<T>(py, a)).collect::<PyResult<_>>()?;
    let views: Vec<View<'_>> = layouts.iter().map(|l| View { data: l.data, shape: &l.shape, strides: &l.strides }).collect();
    // SAFETY: the caller holds the arrays; the Python side hands over no buffer that overlaps an input or another.
    unsafe { filled::<T>(py, function, (&views, held), out, how) }
}

/// Calls a function on views of arrays, `held` of which are the caller's own.
///
/// # Safety
/// As for `filled`.
pub(crate) unsafe fn on_views<T: Number + Element>(
    py: Python<'_>,
    function: &Function,
    sources: (&[View<'_>], Vec<Bound<'_, PyAny>>),
    out: Option<Vec<Bound<'_, PyUntypedArray>>>,
    how: How,
) -> PyResult<Vec<Py<PyAny>>> {
    // SAFETY: as promised by the caller.
    let (results, failed) = unsafe { filled::<T>(py, function, sources, out, how)? };
    function.raise(py, &failed)?;
    Ok(results)
}

/// Results, and the lanes that have none.
type Filled = (Vec<Py<PyAny>>, Vec<LaneError>);

/// # Safety
/// Views must be valid for reads of `T`; no buffer may overlap one of them or another.
unsafe fn filled<T: Number + Element>(
    py: Python<'_>,
    function: &Function,
    (views, mut held): (&[View<'_>], Vec<Bound<'_, PyAny>>),
    out: Option<Vec<Bound<'_, PyUntypedArray>>>,
    how: How,
) -> PyResult<Filled> {
    let plan = function.plan(py, views)?;
    let count = plan.variant.results.len();
    let sizes = |k: usize| -> Vec<usize> { plan.sizes(k, views).into_iter().map(|n| n as usize).collect() };
    let results: Vec<Bound<'_, PyArrayDyn<T>>> = match out {
        Some(given) => {
            if given.len() != count {
                return Err(PyValueError::new_err(format!("the program has {count} results, {} buffers were given as `out`", given.len())));
            }
            given.iter().enumerate().map(|(k, a)| buffer(sizes(k), a)).collect::<PyResult<_>>()?
        }
        None => (0..count).map(|k| fresh(py, &plan.sizes(k, views))).collect::<PyResult<_>>()?,
    };
    held.extend(results.iter().map(|a| a.as_any().clone()));
    let pointers: Vec<*mut T> = results.iter().map(|a| a.data()).collect();
    // SAFETY: the arrays live until the end of this call; buffers are contiguous and of the right size, the rest is the caller's word.
    let failed = unsafe { function.lanes(py, &plan, (views, Inputs::Arrays(&held)), &pointers, how)? };
    Ok((results.into_iter().map(|a| a.into_any().unbind()).collect(), failed))
}

/// A new array whose numbers are not written yet.
fn fresh<'py, T: Element>(py: Python<'py>, sizes: &[i64]) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    numbers(sizes)?;
    let mut sizes: Vec<npy_intp> = sizes.iter().map(|&n| n as npy_intp).collect();
    // SAFETY: a description is handed over, sizes are read during the call; a new array of this type comes back, or an exception. Whoever
    // asks fills every number, or raises and the array is dropped unseen.
    unsafe {
        let class = get_type_object(py, NpyTypes::PyArray_Type);
        let descr = numpy::dtype::<T>(py).into_dtype_ptr();
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr,
            sizes.len() as i32,
            sizes.as_mut_ptr(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
        );
        Ok(Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked())
    }
}

/// A buffer of the caller for a result of these sizes, checked.
fn buffer<'py, T: Element>(sizes: Vec<usize>, array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let typed = array
        .cast::<PyArrayDyn<T>>()
        .map_err(|_| PyTypeError::new_err(format!("`out` has the type {}, that of the inputs is expected", array.dtype())))?;
    if typed.shape() != &sizes[..] {
        return Err(PyValueError::new_err(format!("`out` has the shape {:?}, {sizes:?} is expected", typed.shape())));
    }
    // Asking for write access checks the array's own flag.
    typed.try_readwrite().map_err(|e| PyValueError::new_err(format!("`out` cannot be written: {e}")))?;
    if !typed.is_c_contiguous() || !typed.data().is_aligned() {
        return Err(PyValueError::new_err("`out` must be C-contiguous and aligned"));
    }
    Ok(typed.clone())
}
