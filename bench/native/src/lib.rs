//! Loops written by hand and compiled for this CPU: the limit. In: the name of a program, columns; out: columns.
//!
//! A handle is made once and run often; `repeats` runs happen without the caller in between, so that a batch of one lane can be
//! timed. Columns are pointers to contiguous numbers of the handle's type.

mod drive;
mod lanes;
mod programs;
mod tree;

use crate::drive::{Batch, Loop, Run};
use crate::lanes::Lanes;
use std::ffi::{CStr, c_char, c_void};
use std::ops::{Add, Mul};
use std::slice::from_raw_parts;
use wide::{f32x16, f64x8};

/// The loop for a program; `None`: there is none.
fn find<V: Lanes<Number: Add<Output = V::Number> + Mul<Output = V::Number>>>(name: &str, gradient: bool) -> Option<Run<V::Number>> {
    macro_rules! choose {
        ($($text:literal $formula:ident $inputs:literal $outputs:literal;)*) => {
            match name {
                $($text if gradient => Loop::<programs::$formula, V, $inputs>::gradient::<$outputs> as Run<V::Number>,
                $text => Loop::<programs::$formula, V, $inputs>::value as Run<V::Number>,)*
                "tree_1000" if gradient => tree::gradient::<V::Number>,
                "tree_1000" => tree::value::<V::Number>,
                _ => return None,
            }
        };
    }
    Some(choose! {
        "add" Add 2 3;
        "square_plus" SquarePlus 2 3;
        "four_ops" FourOps 4 5;
        "abs" Abs 1 2;
        "clamp" Clamp 1 2;
        "quadratic" Quadratic 4 5;
        "discriminant" Discriminant 3 4;
        "dist_sq" DistSq 4 5;
        "dot4" Dot4 8 9;
        "gaussian" Gaussian 2 3;
        "barometric" Barometric 4 5;
        "pendulum" Pendulum 2 3;
        "three_body" ThreeBody 6 7;
        "soft_clamp" SoftClamp 1 2;
        "newton20" Newton20 1 2;
        "chain_250" Chain250 1 2;
    })
}

/// A hand-written loop.
pub struct Native(Kind);

enum Kind {
    F32(Run<f32>),
    F64(Run<f64>),
}

/// The hand-written loop of this name, or null. `bits`: 32 or 64.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_new(name: *const c_char, bits: u32, gradient: bool) -> *mut Native {
    // SAFETY: by the caller's word.
    let Ok(name) = unsafe { CStr::from_ptr(name) }.to_str() else { return std::ptr::null_mut() };
    let found = match bits {
        32 => find::<f32x16>(name, gradient).map(Kind::F32),
        _ => find::<f64x8>(name, gradient).map(Kind::F64),
    };
    found.map_or(std::ptr::null_mut(), |n| Box::into_raw(Box::new(Native(n))))
}

/// Runs lanes of a batch on so many threads, `repeats` times.
///
/// # Safety
/// The handle is one of `native_new`; the columns are as many as the program needs and hold `lanes` numbers of its type.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "a C interface")]
pub unsafe extern "C" fn native_run(
    native: *const Native,
    inputs: *const *const c_void,
    input_count: usize,
    outputs: *const *mut c_void,
    output_count: usize,
    lanes: usize,
    threads: usize,
    repeats: usize,
) {
    // SAFETY: by the caller's word.
    unsafe {
        match &(*native).0 {
            Kind::F32(run) => spread(
                *run,
                from_raw_parts(inputs.cast(), input_count),
                from_raw_parts(outputs.cast(), output_count),
                lanes,
                threads,
                repeats,
            ),
            Kind::F64(run) => spread(
                *run,
                from_raw_parts(inputs.cast(), input_count),
                from_raw_parts(outputs.cast(), output_count),
                lanes,
                threads,
                repeats,
            ),
        }
    }
}

/// Below this many lanes for a thread, starting it costs more than it saves.
const LANES_PER_THREAD: usize = 4096;

/// # Safety
/// As for `native_run`.
unsafe fn spread<N: Copy + Sync>(run: Run<N>, inputs: &[*const N], outputs: &[*mut N], lanes: usize, threads: usize, repeats: usize) {
    let batch = Batch { inputs, outputs };
    let threads = threads.min(lanes / LANES_PER_THREAD).max(1);
    let share = lanes.div_ceil(threads);
    for _ in 0..repeats {
        // SAFETY: by the caller's word; the ranges do not overlap.
        if threads == 1 {
            unsafe { run(batch, 0, lanes) };
        } else {
            rayon::scope(|scope| {
                (0..threads).for_each(|t| scope.spawn(move |_| unsafe { run(batch, t * share, ((t + 1) * share).min(lanes)) }))
            });
        }
        std::hint::black_box(outputs);
    }
}

/// Frees a handle of `native_new`.
///
/// # Safety
/// It is one, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_free(native: *mut Native) {
    // SAFETY: by the caller's word.
    drop(unsafe { Box::from_raw(native) });
}
