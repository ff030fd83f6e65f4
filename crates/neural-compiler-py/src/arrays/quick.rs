//! Calls as users write them, on NumPy arrays. In: the arguments of a call; out: its result, or nothing where the arguments are not
//! plain and the slower path must sort them out (or say what is wrong with them).
//! Invariant: what this path takes means the same to the slower one.

use crate::arrays::call::on_views;
use crate::buffers::views::{FEW, View};
use crate::program::arguments::{Own, bind, item};
use crate::program::function::{Function, How, Number};
use numpy::npyffi::{NPY_ARRAY_ALIGNED, PyArray_CheckExact, PyArrayObject};
use numpy::{Element, PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

/// Sizes, or strides counted in bytes or numbers.
type Axes = [i64; AXES];
/// The most axes of an array.
const AXES: usize = 6;

/// An argument, held: whoever it was taken from may let go of it at any time.
enum Given<'py> {
    Array(Bound<'py, PyAny>),
    Number(f64),
}

/// Values of inputs that need not be given, by name.
struct Params<'a, 'py> {
    names: &'a [Py<PyString>],
    params: &'a Bound<'py, PyDict>,
}

impl<'py> Own<'py> for Params<'_, 'py> {
    const REPLACED: bool = true;

    fn value(&mut self, input: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        item(self.params, &self.names[input])
    }
}

/// The arguments of a call in the order of the inputs; `None` when they are not complete and plain.
pub(crate) fn call<'py>(
    function: &Function,
    names: &[Py<PyString>],
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    params: &Bound<'py, PyDict>,
    out: Option<&Bound<'py, PyAny>>,
    how: How,
) -> PyResult<Option<Vec<Py<PyAny>>>> {
    let py = args.py();
    if names.is_empty() {
        return Ok(None);
    }
    let (single, double) = (numpy::dtype::<f32>(py), numpy::dtype::<f64>(py));
    let mut given: SmallVec<[Given<'py>; FEW]> = SmallVec::with_capacity(names.len());
    // The type of the arrays decides; parameters and numbers follow.
    let mut kind: Option<*mut ffi::PyObject> = None;
    let complete = bind(names, (args, kwargs), &mut Params { names, params }, |input, value| {
        let Some(found) = plain(value) else { return Ok(false) };
        if let Given::Array(a) = &found
            && !params.contains(&names[input])?
        {
            // SAFETY: an array.
            let descr = unsafe { (*fields(a)).fields.descr }.cast();
            if kind.is_some_and(|d| d != descr) {
                return Ok(false);
            }
            kind = Some(descr);
        }
        given.push(found);
        Ok(true)
    })?;
    if !complete {
        return Ok(None);
    }
    let out = match out.map(buffers) {
        Some(None) => return Ok(None),
        found => found.flatten(),
    };
    match kind {
        Some(d) if d == single.as_ptr() => typed::<f32>(py, function, &given, &single, &double, out, how),
        Some(d) if d != double.as_ptr() => Ok(None),
        _ => typed::<f64>(py, function, &given, &double, &double, out, how),
    }
}

/// A plain argument.
fn plain(object: Bound<'_, PyAny>) -> Option<Given<'_>> {
    // SAFETY: a live object.
    if unsafe { PyArray_CheckExact(object.py(), object.as_ptr()) } != 0 {
        // SAFETY: an array.
        let (flags, rank) = unsafe { ((*fields(&object)).fields.flags, (*fields(&object)).fields.nd) };
        return (flags & NPY_ARRAY_ALIGNED != 0 && rank <= AXES as i32).then_some(Given::Array(object));
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return object.extract().ok().map(Given::Number);
    }
    if object.is_exact_instance_of::<PyInt>() {
        // Others are refused by the slower path, or found to be exact.
        return object.extract::<i64>().ok().filter(|i| i.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS).map(|i| Given::Number(i as f64));
    }
    None
}

/// The object of an array.
fn fields(array: &Bound<'_, PyAny>) -> *mut PyArrayObject {
    array.as_ptr().cast()
}

/// Buffers of the caller: an array or a tuple of arrays.
fn buffers<'py>(out: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyUntypedArray>>> {
    // SAFETY: a live object.
    let exact = |object: &Bound<'py, PyAny>| unsafe { PyArray_CheckExact(object.py(), object.as_ptr()) } != 0;
    let array = |object: &Bound<'py, PyAny>| if exact(object) { object.cast::<PyUntypedArray>().ok().cloned() } else { None };
    match out.cast::<PyTuple>() {
        Ok(several) => several.iter().map(|o| array(&o)).collect(),
        Err(_) => array(out).map(|a| vec![a]),
    }
}

/// The addresses from the first number to behind the last one, of numbers of this many bytes at strides that count bytes.
fn extent(data: *const u8, axes: impl Iterator<Item = (i64, i64)>, width: i64) -> (i64, i64) {
    let start = data.addr() as i64;
    axes.fold((start, start + width), |(low, high), (size, stride)| {
        let reach = (size - 1).saturating_mul(stride);
        if size == 0 { (low, low) } else { (low.saturating_add(reach.min(0)), high.saturating_add(reach.max(0))) }
    })
}

/// An argument as it is read: a number of our own where there is no memory of the caller's.
struct Read<T> {
    number: T,
    data: *const u8,
    rank: usize,
    sizes: Axes,
    strides: Axes,
}

impl<T: Number> Read<T> {
    fn number(x: f64) -> Read<T> {
        Read { number: T::from_f64(x), data: std::ptr::null(), rank: 0, sizes: [0; AXES], strides: [0; AXES] }
    }
}

/// Runs in one type; arrays of another are parameters, which follow if they are numbers.
fn typed<'py, T: Number + Element>(
    py: Python<'py>,
    function: &Function,
    given: &[Given<'py>],
    own: &Bound<'py, PyArrayDescr>,
    double: &Bound<'py, PyArrayDescr>,
    out: Option<Vec<Bound<'py, PyUntypedArray>>>,
    how: How,
) -> PyResult<Option<Vec<Py<PyAny>>>> {
    let width = size_of::<T>() as i64;
    let mut read: SmallVec<[Read<T>; FEW]> = SmallVec::with_capacity(given.len());
    for one in given {
        match one {
            Given::Number(x) => read.push(Read::number(*x)),
            Given::Array(a) => {
                // SAFETY: an aligned array, held during the call; it has as many sizes and strides as axes.
                let array = unsafe { &(*fields(a)).fields };
                let rank = array.nd as usize;
                if array.descr.cast() != own.as_ptr() {
                    if rank > 0 || array.descr.cast() != double.as_ptr() {
                        return Ok(None);
                    }
                    // SAFETY: an aligned array of one f64.
                    read.push(Read::number(unsafe { *array.data.cast::<f64>() }));
                    continue;
                }
                let mut found = Read { rank, data: array.data.cast_const().cast(), ..Read::number(0.0) };
                for d in 0..rank {
                    // SAFETY: as above.
                    let (size, stride) = unsafe { (*array.dimensions.add(d) as i64, *array.strides.add(d) as i64) };
                    if stride % width != 0 {
                        return Ok(None);
                    }
                    (found.sizes[d], found.strides[d]) = (size, stride / width);
                }
                read.push(found);
            }
        }
    }
    let views = read.iter().map(|r| {
        let data = if r.data.is_null() { (&raw const r.number).cast() } else { r.data };
        View { data, shape: &r.sizes[..r.rank], strides: &r.strides[..r.rank] }
    });
    let views: &[View<'_>] = &views.collect::<SmallVec<[_; FEW]>>();
    if let Some(out) = &out {
        let reads = views.iter().map(|v| extent(v.data, v.shape.iter().zip(v.strides).map(|(&n, &s)| (n, s * width)), width));
        let writes = out.iter().map(|b| {
            // SAFETY: the pointer is that of a live array object.
            let data = unsafe { (*b.as_array_ptr()).fields.data }.cast_const().cast();
            extent(data, b.shape().iter().zip(b.strides()).map(|(&n, &s)| (n as i64, s as i64)), b.dtype().itemsize() as i64)
        });
        let mut taken: Vec<(i64, i64)> = reads.collect();
        for write in writes {
            if taken.iter().any(|t| t.0 < write.1 && write.0 < t.1) {
                return Ok(None);
            }
            taken.push(write);
        }
    }
    let held = given.iter().filter_map(|g| if let Given::Array(a) = g { Some(a.clone()) } else { None }).collect();
    // SAFETY: the arrays and numbers live during the call; no buffer shares memory with them or another.
    unsafe { on_views::<T>(py, function, (views, held), out, how).map(Some) }
}
