//! Tiles of a product, whose sums stay in registers. In: some terms of all rows of a panel of columns; out: these added to the results.
//! Invariant: every sum gets its terms in order, by fused multiply-adds.

use super::{LINE, Operand};
use crate::dispatch::Real;
use crate::vector::{Fused, Plain, Vector};

/// What will be wanted soon: with every tile some lines of it are asked for.
pub(crate) struct Ahead {
    /// The matrices and the result of the next lane.
    pub(super) at: [*const u8; 3],
    /// Lines of each for a tile; none where a lane is so large that it would not stay in the second-level cache. There the results of
    /// the next tile are asked for.
    pub(super) lines: usize,
}

impl Ahead {
    #[inline(always)]
    fn step(&mut self) {
        let [mut a, mut b, mut c] = self.at;
        for _ in 0..self.lines {
            prefetch(a);
            prefetch(b);
            prefetch(c);
            (a, b, c) = (a.wrapping_add(LINE), b.wrapping_add(LINE), c.wrapping_add(LINE));
        }
        self.at = [a, b, c];
    }
}

/// A hint that a line will be wanted; it reads nothing.
#[inline(always)]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction, and it takes any address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast())
    };
}

/// Some terms of all rows of a panel.
pub(crate) struct Block<T> {
    pub(super) depth: usize,
    pub(super) rows: usize,
    pub(super) left: Operand<T>,
    /// The left matrix is `pack::left`'s.
    pub(super) packed: bool,
    pub(super) right: Operand<T>,
    pub(super) out: *mut T,
    pub(super) out_row: usize,
    /// Columns of the last vector, if it is a part of one.
    pub(super) last: usize,
    /// These are the first terms.
    pub(super) first: bool,
}

/// Panels of one vector type, a function each: in one function with the loops around them there would be more pointers than registers.
#[allow(clippy::missing_safety_doc)]
pub(crate) trait Panel: Vector {
    /// `C` vectors of columns, the last a `PART` of one; `ALONG`: the terms of a row lie together, else those of a column.
    unsafe fn panel<const C: usize, const PART: bool, const ALONG: bool>(block: &Block<Self::T>, ahead: &mut Ahead);
}

macro_rules! panel {
    ([$($generics:tt)*] $v:ty, $(#[$attr:meta])*) => {
        impl<$($generics)*> Panel for $v {
            $(#[$attr])*
            #[inline(never)]
            unsafe fn panel<const C: usize, const PART: bool, const ALONG: bool>(block: &Block<Self::T>, ahead: &mut Ahead) {
                // SAFETY: as the caller holds.
                unsafe { rows_of::<Self, C, PART, ALONG>(block, ahead) }
            }
        }
    };
}

panel!([T: Fused] Plain<T>,);
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Ahead, Block, Panel, rows_of};
    use std::arch::x86_64::*;
    panel!([] __m256, #[target_feature(enable = "avx2,fma")]);
    panel!([] __m256d, #[target_feature(enable = "avx2,fma")]);
    panel!([] __m512, #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma")]);
    panel!([] __m512d, #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma")]);
}

/// Rows of the next tile of a packed matrix of which so many are left. Tiles of four keep a processor busy as well, those of fewer do not:
/// eight and nine rows are better two fours than a six and the rest.
#[inline(always)]
pub(super) fn height<V: Vector>(left: usize) -> usize {
    match left {
        8.. if V::ROWS == 8 => 8,
        8 | 9 => 4,
        6.. if V::ROWS == 6 => 6,
        4.. => 4,
        _ => 1,
    }
}

/// All rows of a panel.
///
/// # Safety
/// The CPU has the vector's instructions, and the block is inside the matrices.
#[inline(always)]
unsafe fn rows_of<V: Vector, const C: usize, const PART: bool, const ALONG: bool>(block: &Block<V::T>, ahead: &mut Ahead) {
    let &Block { depth, rows, left, packed, right, out, out_row, last, first } = block;
    let mut i = 0;
    // SAFETY: as the caller holds.
    unsafe {
        let of = |i: usize, n: usize| {
            if packed { Operand { at: left.at.add(i * depth), row: 1, column: n } } else { Operand { at: left.from(i, 0), ..left } }
        };
        // The results of the tile below.
        let below = |i: usize, n: usize| {
            (n..2 * n)
                .map(|r| out.wrapping_add((i + r) * out_row))
                .for_each(|row| (0..C).for_each(|c| prefetch(row.wrapping_add(c * V::N).cast())));
        };
        if V::ROWS == 8 || (C == 1 && !packed) {
            while i + 8 <= rows {
                ahead.step();
                if ahead.lines == 0 {
                    below(i, 8);
                }
                tile::<V, 8, C, PART, ALONG>(depth, of(i, 8), right, (out.add(i * out_row), out_row), last, first);
                i += 8;
            }
        }
        while height::<V>(rows - i) == 6 {
            ahead.step();
            if ahead.lines == 0 {
                below(i, 6);
            }
            tile::<V, 6, C, PART, ALONG>(depth, of(i, 6), right, (out.add(i * out_row), out_row), last, first);
            i += 6;
        }
        while i + 4 <= rows {
            ahead.step();
            tile::<V, 4, C, PART, ALONG>(depth, of(i, 4), right, (out.add(i * out_row), out_row), last, first);
            i += 4;
        }
        while i < rows {
            tile::<V, 1, C, PART, ALONG>(depth, of(i, 1), right, (out.add(i * out_row), out_row), last, first);
            i += 1;
        }
    }
}

/// Sums of `R` rows and `C` vectors of columns, in registers; `PART`: the last vector has `last` columns; `ALONG`: the terms of a row of
/// the left matrix lie together, else those of a column do.
///
/// # Safety
/// The CPU has the vector's instructions; the operands are to `R` rows of `depth` terms and as many rows of columns, `out` to `R` rows of
/// results.
#[inline(always)]
pub(super) unsafe fn tile<V: Vector, const R: usize, const C: usize, const PART: bool, const ALONG: bool>(
    depth: usize,
    a: Operand<V::T>,
    b: Operand<V::T>,
    (out, out_row): (*mut V::T, usize),
    last: usize,
    first: bool,
) {
    // SAFETY: as the caller holds.
    unsafe {
        let mut sums = [[V::splat(V::T::NEUTRAL); C]; R];
        if !first {
            for (r, sums) in sums.iter_mut().enumerate() {
                for (c, s) in sums.iter_mut().enumerate() {
                    let at = out.add(r * out_row + c * V::N);
                    *s = if PART && c == C - 1 { V::load_first(at, last) } else { V::load(at) };
                }
            }
        }
        let (mut left, mut right) = (a.at, b.at);
        let whole = depth / TERMS;
        for _ in 0..whole {
            for k in 0..TERMS {
                let a_k = if ALONG { left.add(k) } else { left.wrapping_add(k * a.column) };
                term::<V, R, C, PART>(a_k, if ALONG { a.row } else { 1 }, right, last, &mut sums);
                right = right.wrapping_add(b.row);
            }
            left = left.wrapping_add(if ALONG { TERMS } else { TERMS * a.column });
        }
        for _ in whole * TERMS..depth {
            term::<V, R, C, PART>(left, if ALONG { a.row } else { 1 }, right, last, &mut sums);
            left = left.wrapping_add(if ALONG { 1 } else { a.column });
            right = right.wrapping_add(b.row);
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (c, s) in sums.into_iter().enumerate() {
                let at = out.add(r * out_row + c * V::N);
                if PART && c == C - 1 { s.canonical().store_first(at, last) } else { s.canonical().store(at) }
            }
        }
    }
}

/// Terms of a tile's sums between two changes of its pointers.
const TERMS: usize = 4;

/// One term of all sums of a tile.
///
/// # Safety
/// As `tile`.
#[inline(always)]
unsafe fn term<V: Vector, const R: usize, const C: usize, const PART: bool>(
    left: *const V::T,
    row: usize,
    right: *const V::T,
    last: usize,
    sums: &mut [[V; C]; R],
) {
    // SAFETY: as the caller holds.
    unsafe {
        let mut columns = [V::splat(V::T::ZERO); C];
        for (c, x) in columns.iter_mut().enumerate() {
            *x = if PART && c == C - 1 { V::load_first(right.add(c * V::N), last) } else { V::load(right.add(c * V::N)) };
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            let left = V::splat(*left.add(r * row));
            for (s, x) in sums.iter_mut().zip(columns) {
                *s = left.fused(x, *s);
            }
        }
    }
}
