//! The kernel of products of matrices. In: the matrices of some lanes, each row by row or column by column; out: their products, row by
//! row.
//!
//! Every element is `a0*b0`, then `fma(ak, bk, sum)` for k = 1, 2, …, whatever the way it is computed: vectors run over elements of the
//! result, never over the terms of a sum. The way depends on the sizes alone and is chosen once for all lanes:
//! * an outer product writes row after row;
//! * a vector times a matrix adds up the matrix's rows, a matrix times a vector transposes squares of the matrix in registers (`vectors`);
//! * other products are made of tiles whose sums stay in registers, a panel of the right matrix in the first-level cache (`tile`), and what
//!   would be read with long strides again and again is copied together first (`pack`).

mod pack;
mod tile;
mod vectors;

use crate::dispatch::Real;
use crate::matrix::View;
use crate::vector::Vector;
pub(crate) use pack::turn;
pub(crate) use tile::Panel;
use tile::{Ahead, Block};

/// Terms of a product summed before the next: a panel of the right matrix stays in the first-level cache.
const DEEP: usize = 256;
/// Bytes of a line of a cache.
const LINE: usize = 64;
/// Bytes of a matrix of a lane that stays in the second-level cache beside those of another lane.
const LANE: usize = 512 * 1024;
/// Bytes of the matrices of all lanes that stay there.
const NEAR: usize = 512 * 1024;
/// Bytes of a right matrix that stays in the first-level cache whole.
const SMALL: usize = 24 * 1024;
/// Bytes from one term of a left matrix to the next from which on it is copied together, if it is read more than twice.
const FAR: usize = 256;
/// Bytes between rows of a left matrix from which on they meet in few sets of the first-level cache.
const APART: usize = 1024;

/// A matrix in memory: number (i, j) is at `i * row + j * column`; one of both is 1.
pub(crate) struct Operand<T> {
    at: *const T,
    row: usize,
    column: usize,
}

impl<T> Clone for Operand<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Operand<T> {}

impl<T> Operand<T> {
    /// # Safety
    /// There is such a number, or one behind the last.
    #[inline(always)]
    unsafe fn from(self, i: usize, j: usize) -> *const T {
        // SAFETY: as the caller holds.
        unsafe { self.at.add(i * self.row + j * self.column) }
    }
}

/// How a product is computed.
#[derive(Clone, Copy)]
enum Way {
    /// There are no terms.
    Zeros,
    Outer,
    /// A row vector times a matrix whose rows lie together.
    Row,
    /// A matrix whose rows lie together times a vector.
    Vector,
    Tiles {
        left: bool,
        right: bool,
    },
}

/// Sizes and the way, the same for every lane.
struct Plan {
    rows: usize,
    inner: usize,
    columns: usize,
    way: Way,
}

impl Plan {
    fn new<V: Vector>(a: View<'_, V::T>, b: View<'_, V::T>) -> Plan {
        let ((rows, inner), (terms, columns)) = (a.sides(), b.sides());
        assert_eq!(inner, terms, "matrices of other sizes");
        let bytes = |numbers: usize| numbers * size_of::<V::T>();
        let ((a_row, a_next), (b_row, b_column)) = (a.strides(), b.strides());
        let wide = 2 * V::N;
        let way = if inner == 0 || rows == 0 || columns == 0 {
            Way::Zeros
        } else if inner == 1 {
            Way::Outer
        } else if rows == 1 {
            if b_column == 1 { Way::Row } else { Way::Vector }
        } else if columns == 1 {
            if a_next == 1 { Way::Vector } else { Way::Row }
        } else {
            let right = b_column != 1 || (rows > V::ROWS && bytes(inner * b_row) > SMALL);
            let left = columns > 2 * wide && if a_next == 1 { bytes(a_row) > APART } else { bytes(a_next) > FAR };
            Way::Tiles { left, right }
        };
        Plan { rows, inner, columns, way }
    }

    /// Numbers of scratch memory: for rows of the left matrix and a panel of the right one.
    fn room<V: Vector>(&self) -> (usize, usize) {
        let depth = DEEP.min(self.inner);
        match self.way {
            Way::Tiles { left, right } => (if left { self.rows * depth } else { 0 }, if right { depth * 2 * V::N } else { 0 }),
            _ => (0, 0),
        }
    }

    /// Lines of each matrix of the next lane to ask for with every tile.
    fn lines<V: Vector>(&self, lanes: usize) -> usize {
        let largest = (self.rows * self.columns).max(self.rows * self.inner).max(self.inner * self.columns) * size_of::<V::T>();
        let tiles = self.rows.div_ceil(V::ROWS) * self.columns.div_ceil(2 * V::N) * self.inner.div_ceil(DEEP);
        if lanes > 1 && largest <= LANE && largest.saturating_mul(lanes) > NEAR { largest.div_ceil(LINE * tiles) } else { 0 }
    }

    /// A product made of tiles.
    ///
    /// # Safety
    /// The CPU has the vector's instructions; the matrices, the result and the room have the plan's sizes.
    #[inline(always)]
    unsafe fn tiles<V: Panel>(
        &self,
        (packed, turned): (bool, bool),
        a: Operand<V::T>,
        b: Operand<V::T>,
        out: *mut V::T,
        room: Room<V::T>,
        ahead: &mut Ahead,
    ) {
        let &Plan { rows, inner, columns, .. } = self;
        for from in (0..inner).step_by(DEEP) {
            let depth = DEEP.min(inner - from);
            // SAFETY: as the caller holds.
            unsafe {
                let mut left = Operand { at: a.from(0, from), ..a };
                if packed {
                    pack::left::<V>(rows, depth, left, room.left);
                    left = Operand { at: room.left, row: 1, column: 0 };
                }
                for j in (0..columns).step_by(2 * V::N) {
                    let width = (2 * V::N).min(columns - j);
                    let mut right = Operand { at: b.from(from, j), ..b };
                    if turned {
                        pack::right::<V>(depth, width, right, room.right);
                        right = Operand { at: room.right, row: 2 * V::N, column: 1 };
                    }
                    let block =
                        Block { depth, rows, left, packed, right, out: out.add(j), out_row: columns, last: width % V::N, first: from == 0 };
                    match (width > V::N, block.last > 0, left.column == 1) {
                        (true, false, true) => V::panel::<2, false, true>(&block, ahead),
                        (true, true, true) => V::panel::<2, true, true>(&block, ahead),
                        (false, false, true) => V::panel::<1, false, true>(&block, ahead),
                        (false, true, true) => V::panel::<1, true, true>(&block, ahead),
                        (true, false, false) => V::panel::<2, false, false>(&block, ahead),
                        (true, true, false) => V::panel::<2, true, false>(&block, ahead),
                        (false, false, false) => V::panel::<1, false, false>(&block, ahead),
                        (false, true, false) => V::panel::<1, true, false>(&block, ahead),
                    }
                }
            }
        }
    }
}

/// Memory for packed operands.
#[derive(Clone, Copy)]
struct Room<T> {
    left: *mut T,
    right: *mut T,
}

/// Scratch memory for both packed operands, at the beginning of a cache line.
fn scratch<T: Real>(room: &mut Vec<T>, (left, right): (usize, usize)) -> Room<T> {
    let line = LINE / size_of::<T>();
    let left = left.next_multiple_of(line);
    if left + right > 0 && room.len() < left + right + line {
        room.resize(left + right + line, T::ZERO);
    }
    let skip = room.as_ptr().align_offset(LINE).min(line);
    Room { left: room.as_mut_ptr().wrapping_add(skip), right: room.as_mut_ptr().wrapping_add(skip + left) }
}

/// The products of lanes whose matrices lie so many numbers apart.
///
/// # Safety
/// The CPU has the vector's instructions, and there are as many matrices.
#[inline(always)]
pub(crate) unsafe fn products<V: Panel>(
    lanes: usize,
    a: (View<'_, V::T>, usize),
    b: (View<'_, V::T>, usize),
    out: &mut [V::T],
    room: &mut Vec<V::T>,
) {
    // SAFETY: as the caller holds.
    unsafe {
        // Half a vector does for few columns.
        if b.0.sides().1 <= V::Square::N { planned::<V::Square>(lanes, a, b, out, room) } else { planned::<V>(lanes, a, b, out, room) }
    }
}

/// The same, with vectors of this length.
///
/// # Safety
/// As `products`.
#[inline(always)]
unsafe fn planned<V: Panel>(
    lanes: usize,
    (a, a_step): (View<'_, V::T>, usize),
    (b, b_step): (View<'_, V::T>, usize),
    out: &mut [V::T],
    room: &mut Vec<V::T>,
) {
    let plan = Plan::new::<V>(a, b);
    let Plan { rows, inner, columns, way } = plan;
    let each = rows * columns;
    assert_eq!(out.len(), lanes * each, "a result of another size");
    let operand = |m: View<'_, V::T>| Operand { at: m.start(), row: m.strides().0, column: m.strides().1 };
    let (a, b, out) = (operand(a), operand(b), out.as_mut_ptr());
    // SAFETY: as the caller holds; views have the numbers their sides and strides say.
    unsafe {
        let of = |m: Operand<V::T>, at: usize| Operand { at: m.at.add(at), ..m };
        match way {
            Way::Zeros => (0..lanes * each).for_each(|k| *out.add(k) = V::T::ZERO),
            Way::Outer => {
                (0..lanes).for_each(|l| vectors::outer::<V>(a.at.add(l * a_step), rows, b.at.add(l * b_step), columns, out.add(l * each)))
            }
            Way::Row => {
                // A matrix times a vector has the sums of the vector times the transposed matrix.
                let (x, m) = if rows == 1 {
                    ((a.at, a_step), (b, b_step))
                } else {
                    ((b.at, b_step), (Operand { at: a.at, row: a.column, column: 1 }, a_step))
                };
                (0..lanes).for_each(|l| vectors::row::<V>(inner, x.0.add(l * x.1), of(m.0, l * m.1), each, out.add(l * each)));
            }
            Way::Vector => {
                let (m, x) = if columns == 1 {
                    ((a, a_step), (b.at, b_step))
                } else {
                    ((Operand { at: b.at, row: b.column, column: 1 }, b_step), (a.at, a_step))
                };
                (0..lanes).for_each(|l| vectors::vector::<V::Square>(each, inner, of(m.0, l * m.1), x.0.add(l * x.1), out.add(l * each)));
            }
            Way::Tiles { left, right } => {
                let room = scratch(room, plan.room::<V>());
                let lines = plan.lines::<V>(lanes);
                for lane in 0..lanes {
                    let (x, y, out) = (of(a, lane * a_step), of(b, lane * b_step), out.add(lane * each));
                    let next =
                        [x.at.wrapping_add(a_step).cast(), y.at.wrapping_add(b_step).cast(), out.wrapping_add(each).cast_const().cast()];
                    plan.tiles::<V>((left, right), x, y, out, room, &mut Ahead { at: next, lines });
                }
            }
        }
    }
}
