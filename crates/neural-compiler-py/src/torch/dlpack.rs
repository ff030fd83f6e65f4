//! PyTorch tensors by the DLPack exchange protocol: C functions a tensor class offers, so that a call costs no Python. In: tensor
//! objects; out: descriptions of their memory, and new tensors over memory of ours.
//! Invariants: nothing is copied on the way in; a tensor that is not plain memory of one floating-point type on the CPU is told
//! apart before anything is read, and left to the slower path.

use crate::buffers::views::View;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CStr, c_int, c_void};
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
pub(crate) struct DataType {
    code: u8,
    /// 32 or 64 for the types of the engine.
    pub(crate) bits: u8,
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

/// The table of functions, version 1 of the protocol.
#[repr(C)]
struct Exchange {
    version: Version,
    previous: *mut c_void,
    allocate: *mut c_void,
    from_object: *mut c_void,
    to_object: Option<unsafe extern "C" fn(*mut Managed, *mut *mut c_void) -> c_int>,
    peek: Option<unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int>,
    stream: *mut c_void,
}

const CPU: i32 = 1;
const FLOAT: u8 = 2;
const NAME: &CStr = c"dlpack_exchange_api";

/// The most axes a tensor of the quick path has.
const MOST_AXES: usize = 8;

/// A tensor as it was when it was looked at: sizes and strides are copies, for those of the tensor can be exchanged at any time.
#[derive(Clone, Copy)]
pub(crate) struct Described {
    data: *const u8,
    device: Device,
    pub(crate) dtype: DataType,
    axes: usize,
    shape: [i64; MOST_AXES],
    strides: [i64; MOST_AXES],
    byte_offset: u64,
}

impl Described {
    /// The memory it speaks of.
    pub(crate) fn view(&self) -> View<'_> {
        View { data: self.data, shape: &self.shape[..self.axes], strides: &self.strides[..self.axes] }
    }

    /// Whether its numbers can be read where they are: plain memory on the CPU, there, and aligned.
    fn is_memory(&self) -> bool {
        let aligned = self.data.addr().is_multiple_of(usize::from(self.dtype.bits / 8).max(1));
        let there = !self.data.is_null() || self.view().shape.contains(&0);
        self.device.kind == CPU && self.byte_offset == 0 && aligned && there
    }
}

/// The functions of the tensor class, and the classes whose objects are plain tensors.
pub(crate) struct Torch {
    to_object: unsafe extern "C" fn(*mut Managed, *mut *mut c_void) -> c_int,
    peek: unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int,
    classes: [usize; 2],
    /// The method that tells whether a tensor stands for the negative of its memory.
    is_neg: Py<PyAny>,
}

static TORCH: OnceLock<Torch> = OnceLock::new();

impl Torch {
    /// What `use_exchange` was given.
    pub(crate) fn get() -> Option<&'static Torch> {
        TORCH.get()
    }

    /// Whether an object is a tensor and nothing more special.
    ///
    /// # Safety
    /// The object must be a live Python object.
    pub(crate) unsafe fn is_plain(&self, object: *mut PyObject) -> bool {
        // SAFETY: as promised by the caller.
        self.classes.contains(&(unsafe { pyo3::ffi::Py_TYPE(object) } as usize))
    }
}

/// Makes the exchange known: the capsule of the tensor class, the class itself and that of parameters. False when the protocol is not
/// one we know.
#[pyfunction]
pub(crate) fn use_exchange(capsule: &Bound<'_, PyCapsule>, tensor: &Bound<'_, PyAny>, parameter: &Bound<'_, PyAny>) -> PyResult<bool> {
    let pointer: NonNull<c_void> = capsule.pointer_checked(Some(NAME))?;
    // SAFETY: a capsule of this name holds the table, which lives as long as the process.
    let table = unsafe { pointer.cast::<Exchange>().as_ref() };
    if table.version.major != 1 {
        return Ok(false);
    }
    let (Some(to_object), Some(peek)) = (table.to_object, table.peek) else { return Ok(false) };
    let is_neg = tensor.getattr("is_neg")?.unbind();
    TORCH.get_or_init(|| Torch { to_object, peek, classes: [tensor.as_ptr() as usize, parameter.as_ptr() as usize], is_neg });
    Ok(true)
}

/// A look at a tensor of real numbers on whatever device; `None` for anything else.
///
/// # Safety
/// The object must be a live Python object.
pub(crate) unsafe fn describe(torch: &Torch, object: *mut PyObject) -> Option<Described> {
    let mut found = std::mem::MaybeUninit::<DlTensor>::uninit();
    // SAFETY: the object is a tensor; the function fills the description or raises.
    let tensor = unsafe {
        if !torch.is_plain(object) {
            return None;
        }
        if (torch.peek)(object.cast(), found.as_mut_ptr()) != 0 {
            pyo3::ffi::PyErr_Clear();
            return None;
        }
        found.assume_init()
    };
    let real = tensor.dtype.code == FLOAT && tensor.dtype.lanes == 1;
    let axes = usize::try_from(tensor.ndim).ok().filter(|n| *n <= MOST_AXES)?;
    if !real || (axes > 0 && (tensor.shape.is_null() || tensor.strides.is_null())) {
        return None;
    }
    let DlTensor { data, device, dtype, byte_offset, .. } = tensor;
    let mut found =
        Described { data: data.cast_const().cast(), device, dtype, axes, shape: [0; MOST_AXES], strides: [0; MOST_AXES], byte_offset };
    if axes > 0 {
        // SAFETY: a tensor describes as many sizes and strides as it has axes, and nothing has run since it did.
        unsafe {
            found.shape[..axes].copy_from_slice(std::slice::from_raw_parts(tensor.shape, axes));
            found.strides[..axes].copy_from_slice(std::slice::from_raw_parts(tensor.strides, axes));
        }
    }
    Some(found)
}

/// The same; `None` for anything that is not plain, aligned memory on the CPU. Other Python threads do not run meanwhile.
///
/// # Safety
/// As for `describe`.
pub(crate) unsafe fn peek(torch: &Torch, object: *mut PyObject) -> Option<Described> {
    // SAFETY: as promised by the caller.
    unsafe { describe(torch, object) }.filter(Described::is_memory)
}

/// Whether a plain tensor stands for the numbers in its memory, not for their negatives. Other Python threads may run meanwhile, and
/// exchange the memory of any tensor: ask this of all before the first is described.
///
/// # Safety
/// As for `describe`.
pub(crate) unsafe fn stands_for_itself(torch: &Torch, object: *mut PyObject) -> bool {
    // SAFETY: the object is a tensor if it is plain; a new reference comes back, or an exception.
    unsafe {
        if !torch.is_plain(object) {
            return false;
        }
        let answer = pyo3::ffi::PyObject_CallFunctionObjArgs(torch.is_neg.as_ptr(), object, std::ptr::null_mut::<PyObject>());
        if answer.is_null() {
            pyo3::ffi::PyErr_Clear();
            return false;
        }
        pyo3::ffi::Py_DECREF(answer);
        answer == pyo3::ffi::Py_False()
    }
}

/// A tensor of ours that Python does not know yet.
pub(crate) struct Fresh(NonNull<Managed>);

/// Numbers start where a cache line does.
const LINE: usize = 64;

impl Fresh {
    /// Description, sizes, strides and numbers in one piece of memory: what the tensor class allocates itself takes several.
    pub(crate) fn new(sizes: &[i64], dtype: DataType) -> PyResult<Fresh> {
        let no_memory = || PyMemoryError::new_err(format!("there is no memory for a result of shape {sizes:?}"));
        let numbers = sizes.iter().try_fold(usize::from(dtype.bits / 8), |n, &size| n.checked_mul(usize::try_from(size).ok()?));
        let axes = size_of::<Managed>() + 2 * size_of_val(sizes);
        let total = numbers.and_then(|n| n.checked_add(axes + LINE)).ok_or_else(no_memory)?;
        let layout = Layout::from_size_align(total, align_of::<Managed>()).map_err(|_| no_memory())?;
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(no_memory)?;
        let managed = start.cast::<Managed>();
        let n = sizes.len();
        // SAFETY: behind the description there is room for twice the sizes, then for the numbers from the next line on.
        unsafe {
            let shape = managed.add(1).cast::<i64>().as_ptr();
            let strides = shape.add(n);
            shape.copy_from_nonoverlapping(sizes.as_ptr(), n);
            let mut passed = 1;
            for d in (0..n).rev() {
                strides.add(d).write(passed);
                passed *= sizes[d].max(1);
            }
            let numbers = start.as_ptr().add(axes);
            let data = numbers.add(numbers.align_offset(LINE)).cast();
            let tensor = DlTensor { data, device: Device { kind: CPU, id: 0 }, ndim: n as i32, dtype, shape, strides, byte_offset: 0 };
            managed.write(Managed {
                version: Version { major: 1, minor: 1 },
                context: std::ptr::without_provenance_mut(total),
                deleter: Some(free),
                flags: 0,
                tensor,
            });
        }
        Ok(Fresh(managed))
    }

    pub(crate) fn data(&self) -> *mut c_void {
        // SAFETY: the tensor is ours.
        unsafe { self.0.as_ref() }.tensor.data
    }

    pub(crate) fn into_object(self, py: Python<'_>, torch: &Torch) -> PyResult<Py<PyAny>> {
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

/// Gives the memory of a tensor back; called by whoever holds it last, on any thread.
unsafe extern "C" fn free(managed: *mut Managed) {
    // SAFETY: the piece of memory `Fresh::new` made, with the size it noted.
    unsafe {
        let total = (*managed).context.addr();
        dealloc(managed.cast(), Layout::from_size_align_unchecked(total, align_of::<Managed>()));
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the tensor.
        unsafe { free(self.0.as_ptr()) };
    }
}
