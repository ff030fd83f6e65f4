//! PyTorch tensors by the DLPack exchange protocol: C functions a tensor class offers, so that a call costs no Python. In: tensors
//! on the CPU; out: new tensors.
//! Invariants: nothing is copied on the way in; a tensor that is not plain memory of one floating-point type on the CPU is told
//! apart before anything is read, and left to the slower path.

use crate::function::{Function, How, Number};
use crate::views::{View, gather};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyString, PyTuple};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DlTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Version {
    major: u32,
    minor: u32,
}

#[repr(C)]
struct Managed {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    tensor: DlTensor,
}

type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// The table of functions, version 1 of the protocol.
#[repr(C)]
struct Exchange {
    version: Version,
    previous: *mut c_void,
    allocate: Option<unsafe extern "C" fn(*mut DlTensor, *mut *mut Managed, *mut c_void, SetError) -> c_int>,
    from_object: *mut c_void,
    to_object: Option<unsafe extern "C" fn(*mut Managed, *mut *mut c_void) -> c_int>,
    peek: Option<unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int>,
    stream: *mut c_void,
}

const CPU: i32 = 1;
const FLOAT: u8 = 2;
const NAME: &CStr = c"dlpack_exchange_api";

/// The functions of the tensor class, and the classes whose objects are plain tensors.
struct Torch {
    allocate: unsafe extern "C" fn(*mut DlTensor, *mut *mut Managed, *mut c_void, SetError) -> c_int,
    to_object: unsafe extern "C" fn(*mut Managed, *mut *mut c_void) -> c_int,
    peek: unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int,
    classes: [usize; 2],
    /// The method that tells whether a tensor stands for the negative of its memory.
    is_neg: Py<PyAny>,
    /// What tells whether something looks on (a tracer, a mode, a transform): nothing does when all give nothing, 0 or False.
    watchers: Vec<Py<PyAny>>,
    /// Whether gradients are asked for.
    grad_enabled: Py<PyAny>,
    /// How many threads may be used.
    threads: Py<PyAny>,
    requires_grad: Py<PyString>,
}

static TORCH: OnceLock<Torch> = OnceLock::new();

/// Makes the exchange known: the capsule of the tensor class, the class itself and that of parameters; and the functions that tell what
/// PyTorch is doing. False when the protocol is not one we know.
#[pyfunction]
pub(crate) fn use_exchange(
    capsule: &Bound<'_, PyCapsule>,
    tensor: &Bound<'_, PyAny>,
    parameter: &Bound<'_, PyAny>,
    watchers: Vec<Py<PyAny>>,
    grad_enabled: Py<PyAny>,
    threads: Py<PyAny>,
) -> PyResult<bool> {
    let pointer: NonNull<c_void> = capsule.pointer_checked(Some(NAME))?;
    // SAFETY: a capsule of this name holds the table, which lives as long as the process.
    let table = unsafe { pointer.cast::<Exchange>().as_ref() };
    if table.version.major != 1 {
        return Ok(false);
    }
    let (Some(allocate), Some(to_object), Some(peek)) = (table.allocate, table.to_object, table.peek) else { return Ok(false) };
    let is_neg = tensor.getattr("is_neg")?.unbind();
    TORCH.get_or_init(|| Torch {
        allocate,
        to_object,
        peek,
        classes: [tensor.as_ptr() as usize, parameter.as_ptr() as usize],
        is_neg,
        watchers,
        grad_enabled,
        threads,
        requires_grad: PyString::intern(tensor.py(), "requires_grad").unbind(),
    });
    Ok(true)
}

/// The most axes a tensor of the quick path has.
const MOST_AXES: usize = 8;
/// The most inputs of the quick path.
const MOST_INPUTS: usize = 16;

unsafe extern "C" fn ignore_error(_: *mut c_void, _: *const c_char, _: *const c_char) {}

/// A look at a tensor; `None` for anything that is not plain memory on the CPU.
fn peek(torch: &Torch, object: *mut PyObject) -> Option<DlTensor> {
    // SAFETY: the object is a live Python object.
    let class = unsafe { pyo3::ffi::Py_TYPE(object) } as usize;
    if !torch.classes.contains(&class) {
        return None;
    }
    let mut found = std::mem::MaybeUninit::<DlTensor>::uninit();
    // SAFETY: the object is a tensor; the function fills the description or raises.
    let tensor = unsafe {
        if (torch.peek)(object.cast(), found.as_mut_ptr()) != 0 {
            pyo3::ffi::PyErr_Clear();
            return None;
        }
        found.assume_init()
    };
    let whole = tensor.device.kind == CPU && tensor.dtype.code == FLOAT && tensor.dtype.lanes == 1 && tensor.byte_offset == 0;
    let plain = whole && !tensor.shape.is_null() && !tensor.strides.is_null() && (0..=MOST_AXES as i32).contains(&tensor.ndim);
    if !(plain || whole && tensor.ndim == 0) {
        return None;
    }
    // SAFETY: the object is a tensor; a new reference comes back, or an exception.
    unsafe {
        let answer = pyo3::ffi::PyObject_CallFunctionObjArgs(torch.is_neg.as_ptr(), object, std::ptr::null_mut::<PyObject>());
        if answer.is_null() {
            pyo3::ffi::PyErr_Clear();
            return None;
        }
        pyo3::ffi::Py_DECREF(answer);
        (answer == pyo3::ffi::Py_False()).then_some(tensor)
    }
}

fn view(tensor: &DlTensor) -> View<'_> {
    let n = tensor.ndim as usize;
    // SAFETY: a tensor describes as many sizes and strides as it has axes; without axes the pointers are not read.
    let list = |p: *mut i64| if n == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(p, n) } };
    View { data: tensor.data.cast_const().cast(), shape: list(tensor.shape), strides: list(tensor.strides) }
}

/// Whether a function without arguments gives something that counts as true.
fn says_so(py: Python<'_>, function: &Py<PyAny>) -> PyResult<bool> {
    // SAFETY: a live callable; a new reference comes back, or an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, pyo3::ffi::PyObject_CallNoArgs(function.as_ptr()))?.is_truthy() }
}

/// A call as a module makes it, when nothing but the caller looks on.
pub(crate) enum Plain {
    /// The results.
    Done(Vec<Py<PyAny>>),
    /// Gradients are asked for.
    NeedsGradient,
    /// The tensors or the circumstances are not plain.
    No,
}

/// Calls a function on tensors, unless gradients are needed or something looks on.
pub(crate) fn plain<'py>(py: Python<'py>, function: &Function, inputs: &Bound<'py, PyTuple>, follow: u64) -> PyResult<Plain> {
    let Some(torch) = TORCH.get() else { return Ok(Plain::No) };
    for watcher in &torch.watchers {
        if says_so(py, watcher)? {
            return Ok(Plain::No);
        }
    }
    if says_so(py, &torch.grad_enabled)? {
        for object in inputs.iter_borrowed() {
            if !torch.classes.contains(&(object.get_type_ptr() as usize)) {
                return Ok(Plain::No);
            }
            if object.getattr(&torch.requires_grad)?.is_truthy()? {
                return Ok(Plain::NeedsGradient);
            }
        }
    }
    let threads = torch.threads.call0(py)?.extract(py)?;
    Ok(call(py, function, inputs, Reading { follow, fitting: false }, How { threads, trap: false })?.map_or(Plain::No, Plain::Done))
}

/// How tensors are to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Inputs that follow the others in their type, as bits.
    pub(crate) follow: u64,
    /// Every cotangent must have the shape of its input without a sum over some axes.
    pub(crate) fitting: bool,
}

/// Numbers a tensor that follows may have to be converted on the quick path.
const MOST_CONVERTED: i64 = 4096;

/// Calls a function on tensors. `None`: the tensors are not of one type on the CPU (but for those that follow), or there is no exchange, or
/// cotangents do not fit.
pub(crate) fn call<'py>(py: Python<'py>, function: &Function, inputs: &Bound<'py, PyTuple>, reading: Reading, how: How) -> PyResult<Option<Vec<Py<PyAny>>>> {
    let Some(torch) = TORCH.get() else { return Ok(None) };
    let count = inputs.len();
    if count == 0 || count > MOST_INPUTS {
        return Ok(None);
    }
    let mut tensors = [const { std::mem::MaybeUninit::<DlTensor>::uninit() }; MOST_INPUTS];
    for (slot, object) in tensors.iter_mut().zip(inputs.iter_borrowed()) {
        match peek(torch, object.as_ptr()) {
            Some(t) => slot.write(t),
            None => return Ok(None),
        };
    }
    // SAFETY: the first `count` have just been written.
    let tensors = unsafe { std::slice::from_raw_parts(tensors.as_ptr().cast::<DlTensor>(), count) };
    let follows = |k: usize| reading.follow >> k & 1 == 1;
    let first = (0..count).find(|&k| !follows(k)).unwrap_or(0);
    let dtype = tensors[first].dtype;
    let mut converted = false;
    for (k, t) in tensors.iter().enumerate().filter(|(_, t)| t.dtype != dtype) {
        let small = view(t).shape.iter().product::<i64>() <= MOST_CONVERTED;
        if !(follows(k) && small && matches!(t.dtype.bits, 32 | 64)) {
            return Ok(None);
        }
        converted = true;
    }
    let mut views = [View { data: std::ptr::null(), shape: &[], strides: &[] }; MOST_INPUTS];
    views.iter_mut().zip(tensors).for_each(|(v, t)| *v = view(t));
    let views = &views[..count];
    match (dtype.bits, converted) {
        (32, false) => run::<f32>(py, torch, function, views, dtype, reading.fitting, how),
        (64, false) => run::<f64>(py, torch, function, views, dtype, reading.fitting, how),
        (32, true) => following::<f64, f32>(py, torch, function, (views, tensors), dtype, reading.fitting, how),
        (64, true) => following::<f32, f64>(py, torch, function, (views, tensors), dtype, reading.fitting, how),
        _ => Ok(None),
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
    (views, tensors): (&[View<'_>], &[DlTensor]),
    dtype: DataType,
    fitting: bool,
    how: How,
) -> PyResult<Option<Vec<Py<PyAny>>>> {
    let convert = |t: &DlTensor| {
        let from = view(t);
        // SAFETY: the tensor is held by the caller's tuple and has this type.
        let numbers = unsafe { gather::<S>(&from, 0, from.shape) }.into_iter().map(|x| T::from_f64(x.to_f64())).collect();
        let mut strides = vec![1; from.shape.len()];
        (1..strides.len()).rev().for_each(|d| strides[d - 1] = strides[d] * from.shape[d]);
        Converted { numbers, strides }
    };
    let made: Vec<Option<Converted<T>>> = tensors.iter().map(|t| (t.dtype != dtype).then(|| convert(t))).collect();
    let mut now = [View { data: std::ptr::null(), shape: &[], strides: &[] }; MOST_INPUTS];
    for ((slot, old), new) in now.iter_mut().zip(views).zip(&made) {
        *slot = match new {
            Some(c) => View { data: c.numbers.as_ptr().cast(), shape: old.shape, strides: &c.strides },
            None => *old,
        };
    }
    let views = &now[..views.len()];
    let plan = function.plan(py, views)?;
    if fitting && !plan.fits(views) {
        return Ok(None);
    }
    let mut results: Vec<(Fresh, Vec<T>)> = Vec::with_capacity(plan.variant.results.len());
    for k in 0..plan.variant.results.len() {
        let sizes = plan.sizes(k, views);
        let other = plan.like(k).map(|i| tensors[i].dtype).filter(|d| fitting && *d != dtype);
        let room = if other.is_some() { sizes.iter().product::<i64>() as usize } else { 0 };
        results.push((Fresh::new(torch, sizes, other.unwrap_or(dtype))?, vec![T::ZERO; room]));
    }
    let pointers: Vec<*mut T> = results.iter_mut().map(|(r, own)| if own.is_empty() { r.data().cast() } else { own.as_mut_ptr() }).collect();
    // SAFETY: the tensors are held by the caller's tuple, converted ones here; results are fresh memory of the right size.
    unsafe { function.run(py, &plan, views, &pointers, how)? };
    for (r, own) in results.iter().filter(|(_, own)| !own.is_empty()) {
        // SAFETY: the tensor has as many numbers, of the other type, and nobody else knows it yet.
        let to = unsafe { std::slice::from_raw_parts_mut(r.data().cast::<S>(), own.len()) };
        to.iter_mut().zip(own).for_each(|(to, x)| *to = S::from_f64(x.to_f64()));
    }
    results.into_iter().map(|(r, _)| r.into_object(py, torch)).collect::<PyResult<_>>().map(Some)
}

fn run<T: Number>(
    py: Python<'_>,
    torch: &Torch,
    function: &Function,
    views: &[View<'_>],
    dtype: DataType,
    fitting: bool,
    how: How,
) -> PyResult<Option<Vec<Py<PyAny>>>> {
    let plan = function.plan(py, views)?;
    if fitting && !plan.fits(views) {
        return Ok(None);
    }
    let results: Vec<Fresh> = (0..plan.variant.results.len()).map(|k| Fresh::new(torch, plan.sizes(k, views), dtype)).collect::<PyResult<_>>()?;
    let pointers: Vec<*mut T> = results.iter().map(|r| r.data().cast()).collect();
    // SAFETY: the tensors are held by the caller's tuple; results are fresh memory of the right size.
    unsafe { function.run(py, &plan, views, &pointers, how)? };
    results.into_iter().map(|r| r.into_object(py, torch)).collect::<PyResult<_>>().map(Some)
}

/// A tensor of ours that Python does not know yet.
struct Fresh(NonNull<Managed>);

impl Fresh {
    fn new(torch: &Torch, mut sizes: Vec<i64>, dtype: DataType) -> PyResult<Fresh> {
        let mut like = DlTensor {
            data: std::ptr::null_mut(),
            device: Device { kind: CPU, id: 0 },
            ndim: sizes.len() as i32,
            dtype,
            shape: sizes.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let mut made = std::ptr::null_mut();
        // SAFETY: the prototype describes sizes and type; the sizes outlive the call.
        let code = unsafe { (torch.allocate)(&mut like, &mut made, std::ptr::null_mut(), ignore_error) };
        match NonNull::new(made) {
            Some(made) if code == 0 => Ok(Fresh(made)),
            _ => Err(PyMemoryError::new_err(format!("there is no memory for a result of shape {sizes:?}"))),
        }
    }

    fn data(&self) -> *mut c_void {
        // SAFETY: the tensor is ours.
        unsafe { self.0.as_ref() }.tensor.data
    }

    fn into_object(self, py: Python<'_>, torch: &Torch) -> PyResult<Py<PyAny>> {
        let mut object = std::ptr::null_mut();
        let managed = self.0;
        std::mem::forget(self);
        // SAFETY: the tensor is handed over; on success the object is a new reference.
        unsafe {
            if (torch.to_object)(managed.as_ptr(), &mut object) != 0 || object.is_null() {
                return Err(PyErr::take(py).unwrap_or_else(|| PyValueError::new_err("the result could not be made a tensor")));
            }
            Ok(Bound::from_owned_ptr_or_err(py, object.cast())?.unbind())
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the tensor.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}
