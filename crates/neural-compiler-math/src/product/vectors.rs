//! Products with a vector, and of two. In: vectors, and a matrix with its rows together; out: a vector, or the matrix of all products.
//! Invariant: every sum gets its terms in order, by fused multiply-adds.

use super::Operand;
use super::tile::tile;
use crate::vector::{Fused, Square, Vector};

/// Row after row: a number of `x` times all of `y`.
///
/// # Safety
/// The CPU has the vector's instructions; the vectors have `rows` and `columns` numbers, the result as many as their product.
#[inline(always)]
pub(super) unsafe fn outer<V: Vector>(x: *const V::T, rows: usize, y: *const V::T, columns: usize, out: *mut V::T) {
    let whole = columns - columns % V::N;
    // SAFETY: as the caller holds.
    unsafe {
        let none = V::splat(V::T::NEUTRAL);
        for i in 0..rows {
            let (left, out) = (V::splat(*x.add(i)), out.add(i * columns));
            for j in (0..whole).step_by(V::N) {
                left.fused(V::load(y.add(j)), none).canonical().store(out.add(j));
            }
            if whole < columns {
                let last = columns - whole;
                left.fused(V::load_first(y.add(whole), last), none).canonical().store_first(out.add(whole), last);
            }
        }
    }
}

/// A vector times a matrix: up to eight vectors of its columns at a time.
///
/// # Safety
/// The CPU has the vector's instructions; there are `inner` rows of `columns` numbers.
#[inline(always)]
pub(super) unsafe fn row<V: Vector>(inner: usize, x: *const V::T, b: Operand<V::T>, columns: usize, out: *mut V::T) {
    let x = Operand { at: x, row: 0, column: 1 };
    let mut j = 0;
    // SAFETY: as the caller holds.
    unsafe {
        while j + 8 * V::N <= columns {
            tile::<V, 1, 8, false, true>(inner, x, Operand { at: b.at.add(j), ..b }, (out.add(j), 0), 0, true);
            j += 8 * V::N;
        }
        while j + 2 * V::N <= columns {
            tile::<V, 1, 2, false, true>(inner, x, Operand { at: b.at.add(j), ..b }, (out.add(j), 0), 0, true);
            j += 2 * V::N;
        }
        if j + V::N <= columns {
            tile::<V, 1, 1, false, true>(inner, x, Operand { at: b.at.add(j), ..b }, (out.add(j), 0), 0, true);
            j += V::N;
        }
        if j < columns {
            tile::<V, 1, 1, true, true>(inner, x, Operand { at: b.at.add(j), ..b }, (out.add(j), 0), columns - j, true);
        }
    }
}

/// A matrix times a vector: its rows side by side, squares of it transposed in registers.
///
/// # Safety
/// The CPU has the vector's instructions; the matrix has `rows` rows of `inner` numbers, which lie together.
#[inline(always)]
pub(super) unsafe fn vector<V: Square>(rows: usize, inner: usize, a: Operand<V::T>, x: *const V::T, out: *mut V::T) {
    let mut i = 0;
    // SAFETY: as the caller holds.
    unsafe {
        while i + 4 * V::N <= rows {
            squares::<V, 4>(inner, a.from(i, 0), a.row, x, out.add(i));
            i += 4 * V::N;
        }
        while i + V::N <= rows {
            squares::<V, 1>(inner, a.from(i, 0), a.row, x, out.add(i));
            i += V::N;
        }
        while i < rows {
            let row = a.from(i, 0);
            let sum = (0..inner).fold(V::T::NEUTRAL, |s, k| (*row.add(k)).fused(*x.add(k), s));
            *out.add(i) = crate::dispatch::canonical(sum);
            i += 1;
        }
    }
}

/// `B` vectors of rows times a vector.
///
/// # Safety
/// As `vector`.
#[inline(always)]
unsafe fn squares<V: Square, const B: usize>(inner: usize, a: *const V::T, apart: usize, x: *const V::T, out: *mut V::T) {
    // SAFETY: as the caller holds.
    unsafe {
        let mut sums = [V::splat(V::T::NEUTRAL); B];
        let whole = inner - inner % V::N;
        for k in (0..whole).step_by(V::N) {
            for (n, s) in sums.iter_mut().enumerate() {
                *s = V::times(a.add(n * V::N * apart + k), apart, x.add(k), *s);
            }
        }
        for k in whole..inner {
            for (n, s) in sums.iter_mut().enumerate() {
                *s = V::column(a.add(n * V::N * apart + k), apart).fused(V::splat(*x.add(k)), *s);
            }
        }
        sums.into_iter().enumerate().for_each(|(n, s)| s.canonical().store(out.add(n * V::N)));
    }
}
