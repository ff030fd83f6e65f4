//! Our engine called from Rust, built as any user builds it: what is left when Python costs nothing.
//!
//! A handle is made once and run often; `repeats` runs happen without the caller in between, so that a batch of one lane can be
//! timed. Columns are pointers to contiguous numbers. Texts are freed with `text_free`.

mod ours;

use crate::ours::Ours;
use neural_compiler::exec::lanes::Workspace;
use neural_compiler::ops::real::Real;
use std::ffi::{CStr, CString, c_char, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Our engine for a program, with memory for both number types.
pub struct Handle {
    ours: Ours,
    f32: Workspace<f32>,
    f64: Workspace<f64>,
}

/// Compiles a program. Null on error, which is then in `text`; else the names of the inputs, separated by blanks, are there.
///
/// # Safety
/// `source` is a C string, `text` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ours_new(source: *const c_char, gradient: bool, text: *mut *mut c_char) -> *mut Handle {
    // SAFETY: by the caller's word.
    let made = unsafe { CStr::from_ptr(source) }.to_str().map_err(|e| e.to_string()).and_then(|source| Ours::new(source, gradient));
    let (handle, said) = match made {
        Ok(ours) => {
            let names = ours.inputs.join(" ");
            (Box::into_raw(Box::new(Handle { ours, f32: Workspace::new(), f64: Workspace::new() })), names)
        }
        Err(error) => (std::ptr::null_mut(), error),
    };
    // SAFETY: by the caller's word.
    unsafe { *text = CString::new(said.replace('\0', " ")).unwrap_or_default().into_raw() };
    handle
}

/// Runs a batch `repeats` times; gives the number of lanes that failed, -1 if the run did.
///
/// # Safety
/// The handle is one of `ours_new`; the columns are as many as the program has inputs and outputs and hold `lanes` numbers.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "a C interface")]
pub unsafe extern "C" fn ours_run(
    handle: *mut Handle,
    bits: u32,
    inputs: *const *const c_void,
    outputs: *const *mut c_void,
    lanes: usize,
    threads: usize,
    repeats: usize,
) -> i64 {
    // SAFETY: by the caller's word.
    unsafe {
        let Handle { ours, f32, f64 } = &mut *handle;
        match bits {
            32 => run_ours(ours, f32, inputs.cast(), outputs.cast(), lanes, threads, repeats),
            _ => run_ours(ours, f64, inputs.cast(), outputs.cast(), lanes, threads, repeats),
        }
    }
}

/// # Safety
/// As for `ours_run`.
unsafe fn run_ours<T: Real>(
    ours: &Ours,
    workspace: &mut Workspace<T>,
    inputs: *const *const T,
    outputs: *const *mut T,
    lanes: usize,
    threads: usize,
    repeats: usize,
) -> i64 {
    // SAFETY: by the caller's word.
    let (inputs, mut outputs): (Vec<&[T]>, Vec<&mut [T]>) = unsafe {
        let inputs = from_raw_parts(inputs, ours.inputs.len()).iter().map(|&p| from_raw_parts(p, lanes)).collect();
        (inputs, from_raw_parts(outputs, ours.outputs).iter().map(|&p| from_raw_parts_mut(p, lanes)).collect())
    };
    ours.run(workspace, &inputs, &mut outputs, lanes, threads, repeats).map_or(-1, |failed| failed as i64)
}

/// Frees a handle of `ours_new`.
///
/// # Safety
/// It is one, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ours_free(handle: *mut Handle) {
    // SAFETY: by the caller's word.
    drop(unsafe { Box::from_raw(handle) });
}

/// Frees a text of `ours_new`.
///
/// # Safety
/// It is one, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn text_free(text: *mut c_char) {
    // SAFETY: by the caller's word.
    drop(unsafe { CString::from_raw(text) });
}
