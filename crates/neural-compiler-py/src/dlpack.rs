//! PyTorch tensors by the DLPack exchange protocol: C functions a tensor class offers, so that a call costs no Python. In: tensors
//! on the CPU; out: new tensors.
//! Invariants: nothing is copied on the way in; a tensor that is not plain memory of one floating-point type on the CPU is told
//! apart before anything is read, and left to the slower path.

use crate::function::{Function, How, Number};
use crate::views::View;
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
    /// The name of the method that tells whether a tensor stands for the negative of its memory.
    is_neg: Py<PyString>,
}

static TORCH: OnceLock<Torch> = OnceLock::new();

/// Makes the exchange known: the capsule of the tensor class, the class itself and that of parameters. False when the protocol is
/// not one we know.
#[pyfunction]
pub(crate) fn use_exchange(capsule: &Bound<'_, PyCapsule>, tensor: &Bound<'_, PyAny>, parameter: &Bound<'_, PyAny>) -> PyResult<bool> {
    let pointer: NonNull<c_void> = capsule.pointer_checked(Some(NAME))?;
    // SAFETY: a capsule of this name holds the table, which lives as long as the process.
    let table = unsafe { pointer.cast::<Exchange>().as_ref() };
    if table.version.major != 1 {
        return Ok(false);
    }
    let (Some(allocate), Some(to_object), Some(peek)) = (table.allocate, table.to_object, table.peek) else { return Ok(false) };
    TORCH.get_or_init(|| Torch {
        allocate,
        to_object,
        peek,
        classes: [tensor.as_ptr() as usize, parameter.as_ptr() as usize],
        is_neg: PyString::intern(tensor.py(), "is_neg").unbind(),
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
        let answer = pyo3::ffi::PyObject_CallMethodObjArgs(object, torch.is_neg.as_ptr(), std::ptr::null_mut::<PyObject>());
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

/// Calls a function on tensors. `None`: the tensors are not of one type on the CPU, or there is no exchange, or (with `fitting`) a
/// cotangent would not have the shape of its input without a sum over some axes.
pub(crate) fn call<'py>(py: Python<'py>, function: &Function, inputs: &Bound<'py, PyTuple>, fitting: bool, how: How) -> PyResult<Option<Vec<Py<PyAny>>>> {
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
    let dtype = tensors[0].dtype;
    if tensors.iter().any(|t| t.dtype != dtype) {
        return Ok(None);
    }
    let mut views = [View { data: std::ptr::null(), shape: &[], strides: &[] }; MOST_INPUTS];
    views.iter_mut().zip(tensors).for_each(|(v, t)| *v = view(t));
    let views = &views[..count];
    match dtype.bits {
        32 => run::<f32>(py, torch, function, views, dtype, fitting, how),
        64 => run::<f64>(py, torch, function, views, dtype, fitting, how),
        _ => Ok(None),
    }
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
