//! Copies of matrices for tiles. In: a matrix whose numbers lie far apart; out: the same in the order tiles read it.

use super::Operand;
use super::tile::height;
use crate::vector::{Square, Vector};

/// Copies rows of the left matrix so that the terms of a tile's rows lie together: tile after tile, term after term.
///
/// # Safety
/// The CPU has the vector's instructions; there are so many rows and terms, and room for them.
#[inline(always)]
pub(super) unsafe fn left<V: Vector>(rows: usize, depth: usize, a: Operand<V::T>, to: *mut V::T) {
    let mut i = 0;
    // SAFETY: as the caller holds.
    unsafe {
        while i < rows {
            let n = height::<V>(rows - i);
            let to = to.add(i * depth);
            if a.column == 1 {
                turn::<V>(a.from(i, 0), a.row, n, depth, to, n);
            } else if n == V::ROWS {
                (0..depth).for_each(|k| std::ptr::copy_nonoverlapping(a.from(i, k), to.add(k * V::ROWS), V::ROWS));
            } else {
                (0..depth).for_each(|k| std::ptr::copy_nonoverlapping(a.from(i, k), to.add(k * n), n));
            }
            i += n;
        }
    }
}

/// Copies a panel of the right matrix row by row, two vectors to the row.
///
/// # Safety
/// The CPU has the vector's instructions; there are so many terms and columns, and room for them.
#[inline(always)]
pub(super) unsafe fn right<V: Vector>(depth: usize, width: usize, b: Operand<V::T>, to: *mut V::T) {
    // SAFETY: as the caller holds.
    unsafe {
        if b.column != 1 {
            turn::<V>(b.at, b.column, width, depth, to, 2 * V::N);
        } else if width == 2 * V::N {
            for k in 0..depth {
                let (from, to) = (b.from(k, 0), to.add(k * 2 * V::N));
                V::load(from).store(to);
                V::load(from.add(V::N)).store(to.add(V::N));
            }
        } else {
            (0..depth).for_each(|k| std::ptr::copy_nonoverlapping(b.from(k, 0), to.add(k * 2 * V::N), width));
        }
    }
}

/// Copies a block, turned so that columns of the source become rows.
///
/// # Safety
/// The CPU has the vector's instructions; `from` has `rows` rows of `columns` numbers, `apart` from each other, `to` the same the other way
/// round.
#[inline(always)]
pub(crate) unsafe fn turn<V: Vector>(from: *const V::T, apart: usize, rows: usize, columns: usize, to: *mut V::T, to_apart: usize) {
    let side = V::Square::N;
    let (whole_rows, whole_columns) = (rows - rows % side, columns - columns % side);
    // SAFETY: as the caller holds.
    unsafe {
        for i in (0..whole_rows).step_by(side) {
            for j in (0..whole_columns).step_by(side) {
                V::Square::transpose(from.add(i * apart + j), apart, to.add(j * to_apart + i), to_apart);
            }
        }
        for i in 0..rows {
            for j in if i < whole_rows { whole_columns } else { 0 }..columns {
                *to.add(j * to_apart + i) = *from.add(i * apart + j);
            }
        }
    }
}
