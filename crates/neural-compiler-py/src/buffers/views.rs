//! Arrays of the caller, wherever they come from. In: pointers, sizes and strides; out: the engine's columns.
//! Invariants: nothing is copied where one stride walks over the lanes and one over the numbers of a lane; everything else is
//! gathered once. Sizes are checked against each other before any number is read.

use neural_compiler::Shape;
use neural_compiler::exec::lanes::Column;
use neural_compiler::ops::real::Real;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Inputs for which a call needs no memory.
pub(crate) const FEW: usize = 16;

/// Memory of the caller, valid while the call lasts: `data` points at the first number, strides count numbers.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) data: *const u8,
    pub(crate) shape: &'a [i64],
    pub(crate) strides: &'a [i64],
}

impl<'a> View<'a> {
    /// Sizes before the last `rank` ones: the batch.
    pub(crate) fn batch(&self, rank: usize) -> &'a [i64] {
        &self.shape[..self.shape.len() - rank]
    }

    /// Sizes of the value itself.
    pub(crate) fn core(&self, rank: usize) -> &'a [i64] {
        &self.shape[self.shape.len() - rank..]
    }
}

/// The shape sizes stand for; `None` for more than two of them or one that does not fit.
pub(crate) fn shape_of(dims: &[i64]) -> Option<Shape> {
    let size = |n: i64| u32::try_from(n).ok();
    match *dims {
        [] => Some(Shape::Scalar),
        [n] => Some(Shape::Vector(size(n)?)),
        [r, c] => Some(Shape::Matrix(size(r)?, size(c)?)),
        _ => None,
    }
}

/// How many axes values of a shape have.
pub(crate) fn rank(shape: Shape) -> usize {
    match shape {
        Shape::Scalar => 0,
        Shape::Vector(_) => 1,
        Shape::Matrix(..) => 2,
    }
}

/// Widens `into` by the rules of broadcasting; false when the sizes do not fit.
pub(crate) fn broadcast(into: &mut Vec<i64>, other: &[i64]) -> bool {
    if other.len() > into.len() {
        let missing = other.len() - into.len();
        into.splice(0..0, std::iter::repeat_n(1, missing));
    }
    let offset = into.len() - other.len();
    for (a, &b) in into[offset..].iter_mut().zip(other) {
        if *a == b || b == 1 {
            continue;
        }
        if *a != 1 {
            return false;
        }
        *a = b;
    }
    true
}

/// The one stride that walks over these axes in order, if there is one.
fn one_stride(axes: impl DoubleEndedIterator<Item = (i64, i64)>) -> Option<usize> {
    let mut found: Option<i64> = None;
    let mut passed = 1i64;
    for (size, stride) in axes.rev().filter(|a| a.0 != 1) {
        match found {
            None => found = Some(stride),
            Some(s) if s.checked_mul(passed) == Some(stride) => {}
            Some(_) => return None,
        }
        passed = passed.checked_mul(size)?;
    }
    usize::try_from(found.unwrap_or(0)).ok()
}

/// The axes of a view's batch, widened to `batch`.
fn batch_axes<'b>(view: &View<'b>, rank: usize, batch: &'b [i64]) -> impl DoubleEndedIterator<Item = (i64, i64)> + use<'b> {
    let own = view.batch(rank);
    let strides = &view.strides[..own.len()];
    let missing = batch.len() - own.len();
    batch.iter().enumerate().map(move |(d, &size)| {
        let stride = if d < missing || own[d - missing] == 1 { 0 } else { strides[d - missing] };
        (size, stride)
    })
}

/// Lane and element stride of a view over `batch`, when two strides describe it.
pub(crate) fn strides(view: &View<'_>, rank: usize, batch: &[i64]) -> Option<(usize, usize)> {
    let own = view.batch(rank);
    let lane = match (own, batch) {
        ([], _) => 0,
        // The usual case: one batch axis, or none.
        ([n], [m]) => usize::try_from(if n == m && *n != 1 { view.strides[0] } else { 0 }).ok()?,
        _ => one_stride(batch_axes(view, rank, batch))?,
    };
    let element = if rank == 0 { 1 } else { one_stride(view.core(rank).iter().copied().zip(view.strides[own.len()..].iter().copied()))? };
    Some((lane, element))
}

/// A column over the caller's memory.
///
/// # Safety
/// The view's memory must be valid for reads of `T` for as long as the column lives, and nothing may write it meanwhile.
pub(crate) unsafe fn column<'a, T>(view: &View<'_>, len: usize, lanes: usize, (lane, element): (usize, usize)) -> Column<'a, T> {
    let numbers = if lanes == 0 || len == 0 { 0 } else { (lanes - 1) * lane + (len - 1) * element + 1 };
    // SAFETY: the numbers from the first to the last one reached by the strides lie in the caller's memory.
    let data = if numbers == 0 { &[] } else { unsafe { std::slice::from_raw_parts(view.data.cast::<T>(), numbers) } };
    Column { data, lane_stride: lane, element_stride: element }
}

/// How many numbers sizes stand for; an error where memory could not hold them.
pub(crate) fn numbers(sizes: &[i64]) -> PyResult<usize> {
    let total = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(usize::try_from(size).ok()?));
    let fits = |n: &usize| n.checked_mul(size_of::<f64>()).is_some_and(|bytes| bytes <= isize::MAX as usize);
    total.filter(fits).ok_or_else(|| PyMemoryError::new_err(format!("an array of shape {sizes:?} does not fit into memory")))
}

/// A list with room for so many numbers.
pub(crate) fn room<T>(count: usize) -> PyResult<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(count) {
        Ok(()) => Ok(list),
        Err(_) => Err(PyMemoryError::new_err(format!("there is no memory for a copy of {count} numbers"))),
    }
}

/// Copies a view no two strides describe, row by row.
///
/// # Safety
/// As for `column`.
pub(crate) unsafe fn gather<T: Real>(view: &View<'_>, rank: usize, batch: &[i64]) -> PyResult<Vec<T>> {
    let own = view.batch(rank).len();
    let axes: Vec<(i64, i64)> =
        batch_axes(view, rank, batch).chain(view.core(rank).iter().copied().zip(view.strides[own..].iter().copied())).collect();
    let total = numbers(&axes.iter().map(|a| a.0).collect::<Vec<_>>())?;
    let mut out = room(total)?;
    let mut index = vec![0i64; axes.len()];
    let mut offset = 0isize;
    for _ in 0..total {
        // SAFETY: the offset is that of an element of the view.
        out.push(unsafe { *view.data.cast::<T>().offset(offset) });
        for d in (0..axes.len()).rev() {
            index[d] += 1;
            offset += axes[d].1 as isize;
            if index[d] < axes[d].0 {
                break;
            }
            offset -= (axes[d].0 * axes[d].1) as isize;
            index[d] = 0;
        }
    }
    Ok(out)
}
