//! Products of matrices, dot products and sums of whole values. In: matrices as they lie in memory, transposed or not; out: numbers, row by
//! row.
//!
//! The order of every sum is part of the language (spec/operations.md), so that no level, size of caches or neighbour changes a bit:
//! an element of a product of matrices is `a0*b0`, then `fma(ak, bk, sum)` for k = 1, 2, …; vectors run over the columns of the result.
//! `dot` and `sum` of fewer than [`INTERLEAVED`] terms run from the first to the last as well; longer ones are [`PARTIAL`] sums, term k
//! belonging to sum k mod `PARTIAL`, added by halves: the first half of them to the second until one is left. Every NaN is the one
//! canonical quiet NaN.

use crate::dispatch::{Real, canonical};
use crate::level::Level;
use crate::vector::{Fused, Plain, Vector};

/// Sums a long sum is made of.
pub const PARTIAL: usize = 16;
/// Terms from which on a sum is long.
pub const INTERLEAVED: usize = 32;

/// A matrix in memory: number (i, j) is `data[i * row_stride + j * column_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> View<'a, T> {
    /// A matrix row by row.
    ///
    /// # Panics
    /// If there are not as many numbers.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> View<'a, T> {
        assert_eq!(data.len(), rows * columns, "a matrix of another size");
        View { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same numbers, rows as columns.
    pub fn transposed(self) -> View<'a, T> {
        View { data: self.data, rows: self.columns, columns: self.rows, row_stride: self.column_stride, column_stride: self.row_stride }
    }

    /// Its columns.
    pub fn columns(self) -> usize {
        self.columns
    }

    /// Some of its rows.
    ///
    /// # Panics
    /// If it has no such rows.
    pub fn some_rows(self, from: usize, count: usize) -> View<'a, T> {
        assert!(from + count <= self.rows, "rows of the matrix");
        View { data: &self.data[(from * self.row_stride).min(self.data.len())..], rows: count, ..self }
    }
}

/// A matrix of each lane, one after the other, or one that all share.
#[derive(Clone, Copy, Debug)]
pub struct Matrices<'a, T> {
    /// The numbers, row by row.
    pub data: &'a [T],
    /// Rows of one, as it lies in memory.
    pub rows: usize,
    /// Columns of one.
    pub columns: usize,
    /// Whether rows are to be read as columns.
    pub turned: bool,
    /// Whether all lanes share one.
    pub shared: bool,
}

impl<'a, T> Matrices<'a, T> {
    fn numbers(&self, lane: usize) -> &'a [T] {
        let n = self.rows * self.columns;
        if self.shared { &self.data[..n] } else { &self.data[lane * n..(lane + 1) * n] }
    }

    /// The matrix of a lane.
    ///
    /// # Panics
    /// If there is none.
    pub fn lane(&self, lane: usize) -> View<'a, T> {
        let view = View::new(self.numbers(lane), self.rows, self.columns);
        if self.turned { view.transposed() } else { view }
    }
}

/// Terms of a product summed before the next: a panel of the right matrix stays in the first-level cache.
const DEEP: usize = 256;
/// Bytes of a right matrix that stays there whole.
const SMALL: usize = 24 * 1024;

/// Numbers of scratch memory that need no allocation.
const FEW: usize = 256;

/// Sums of `R` rows and `C` vectors of columns, in registers; `PART`: the last vector has `last` columns.
///
/// # Safety
/// The CPU has the vector's instructions; the pointers are to `R` rows (`depth` terms apart `a_next`), `depth` rows of columns, and `R`
/// rows of results.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn tile<V: Vector, const R: usize, const C: usize, const PART: bool>(
    depth: usize,
    (a, a_row, a_next): (*const V::T, usize, usize),
    (b, b_next): (*const V::T, usize),
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
        let (mut a, mut b) = (a, b);
        for _ in 0..depth {
            let mut right = [V::splat(V::T::ZERO); C];
            for (c, x) in right.iter_mut().enumerate() {
                *x = if PART && c == C - 1 { V::load_first(b.add(c * V::N), last) } else { V::load(b.add(c * V::N)) };
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let left = V::splat(*a.add(r * a_row));
                for (s, x) in sums.iter_mut().zip(right) {
                    *s = left.fused(x, *s);
                }
            }
            a = a.wrapping_add(a_next);
            b = b.wrapping_add(b_next);
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (c, s) in sums.into_iter().enumerate() {
                let at = out.add(r * out_row + c * V::N);
                if PART && c == C - 1 { s.canonical().store_first(at, last) } else { s.canonical().store(at) }
            }
        }
    }
}

/// A panel of at most two vectors of columns, all rows.
///
/// # Safety
/// As `tile`, for `rows` rows and `width` columns.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn panel<V: Vector, const C: usize, const PART: bool>(
    depth: usize,
    rows: usize,
    left: impl Fn(usize) -> (*const V::T, usize, usize),
    b: (*const V::T, usize),
    (out, out_row): (*mut V::T, usize),
    last: usize,
    first: bool,
) {
    let mut i = 0;
    // SAFETY: as the caller holds.
    unsafe {
        while V::ROWS == 8 && i + 8 <= rows {
            tile::<V, 8, C, PART>(depth, left(i), b, (out.add(i * out_row), out_row), last, first);
            i += 8;
        }
        while i + 4 <= rows {
            tile::<V, 4, C, PART>(depth, left(i), b, (out.add(i * out_row), out_row), last, first);
            i += 4;
        }
        while i < rows {
            tile::<V, 1, C, PART>(depth, left(i), b, (out.add(i * out_row), out_row), last, first);
            i += 1;
        }
    }
}

/// Copies a block, turned so that columns of the source become rows.
///
/// # Safety
/// The CPU has the vector's instructions; `from` has `rows` rows of `columns` numbers, `apart` from each other, `to` the same the other way
/// round.
#[inline(always)]
unsafe fn turn<V: Vector>(from: *const V::T, apart: usize, rows: usize, columns: usize, to: *mut V::T, to_apart: usize) {
    let (whole_rows, whole_columns) = (rows - rows % V::SQUARE, columns - columns % V::SQUARE);
    // SAFETY: as the caller holds.
    unsafe {
        for i in (0..whole_rows).step_by(V::SQUARE) {
            for j in (0..whole_columns).step_by(V::SQUARE) {
                V::transpose(from.add(i * apart + j), apart, to.add(j * to_apart + i), to_apart);
            }
        }
        for i in 0..rows {
            for j in if i < whole_rows { whole_columns } else { 0 }..columns {
                *to.add(j * to_apart + i) = *from.add(i * apart + j);
            }
        }
    }
}

#[inline(always)]
unsafe fn product<V: Vector>(a: View<'_, V::T>, b: View<'_, V::T>, out: &mut [V::T], room: &mut Vec<V::T>) {
    // A matrix times a vector: the vector times the transposed matrix has the same sums, and the rows side by side.
    let (a, b) = if b.columns == 1 && a.rows > 1 { (b.transposed(), a.transposed()) } else { (a, b) };
    let (rows, inner, columns) = (a.rows, a.columns, b.columns);
    assert!(inner == b.rows && out.len() == rows * columns, "matrices of other sizes");
    if inner == 0 || out.is_empty() {
        out.fill(V::T::ZERO);
        return;
    }
    let wide = 2 * V::N;
    let bytes = |numbers: usize| numbers * size_of::<V::T>();
    let together = b.column_stride == 1 || columns == 1;
    let direct = together && (rows <= V::ROWS || bytes(inner * b.row_stride) <= SMALL);
    // Rows whose terms lie far apart are brought together once, and read for every panel of columns.
    let gathered = a.column_stride != 1 && columns > wide && bytes(inner * a.column_stride) > SMALL;
    let depth = DEEP.min(inner);
    let left_room = if gathered { rows * depth } else { 0 };
    let needed = left_room + if direct { 0 } else { depth * wide };
    let mut few;
    let room = if needed == 0 {
        &mut [][..]
    } else if needed <= FEW {
        few = [V::T::ZERO; FEW];
        &mut few[..needed]
    } else {
        if room.len() < needed {
            room.resize(needed, V::T::ZERO);
        }
        &mut room[..needed]
    };
    let (left_room, right_room) = room.split_at_mut(left_room);
    for from in (0..inner).step_by(DEEP) {
        let depth = DEEP.min(inner - from);
        let first = from == 0;
        if gathered {
            for (k, to) in left_room.chunks_exact_mut(rows).take(depth).enumerate() {
                let at = (from + k) * a.column_stride;
                if a.row_stride == 1 {
                    to.copy_from_slice(&a.data[at..at + rows]);
                } else {
                    to.iter_mut().enumerate().for_each(|(i, x)| *x = a.data[at + i * a.row_stride]);
                }
            }
        }
        let left = |i: usize| {
            let (data, at, row, next) = if gathered {
                (&*left_room, i, 1, rows)
            } else {
                (a.data, i * a.row_stride + from * a.column_stride, a.row_stride, a.column_stride)
            };
            (data[at..].as_ptr(), row, next)
        };
        for j in (0..columns).step_by(wide) {
            let width = wide.min(columns - j);
            let right = if direct {
                (b.data[from * b.row_stride + j * b.column_stride..].as_ptr(), b.row_stride)
            } else {
                let source = &b.data[from * b.row_stride + j * b.column_stride..];
                // The last number of the block is there: blocks are read without further looks.
                assert!((depth - 1) * b.row_stride + (width - 1) * b.column_stride < source.len());
                if b.row_stride == 1 {
                    // SAFETY: the source has `width` rows of `depth` numbers, the room `depth` rows of `wide` numbers.
                    unsafe { turn::<V>(source.as_ptr(), b.column_stride, width, depth, right_room.as_mut_ptr(), wide) };
                } else {
                    for (k, to) in right_room.chunks_exact_mut(wide).take(depth).enumerate() {
                        if together {
                            to[..width].copy_from_slice(&source[k * b.row_stride..][..width]);
                        } else {
                            to[..width].iter_mut().enumerate().for_each(|(j, x)| *x = source[k * b.row_stride + j * b.column_stride]);
                        }
                    }
                }
                (right_room.as_ptr(), wide)
            };
            let target = (out[j..].as_mut_ptr(), columns);
            let last = width % V::N;
            // SAFETY: rows, terms and columns are inside the matrices and the room, as their sizes were compared.
            unsafe {
                match (width.div_ceil(V::N), last) {
                    (2, 0) => panel::<V, 2, false>(depth, rows, left, right, target, last, first),
                    (2, _) => panel::<V, 2, true>(depth, rows, left, right, target, last, first),
                    (_, 0) => panel::<V, 1, false>(depth, rows, left, right, target, last, first),
                    (_, _) => panel::<V, 1, true>(depth, rows, left, right, target, last, first),
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn products<V: Vector>(lanes: usize, a: Matrices<'_, V::T>, b: Matrices<'_, V::T>, out: &mut [V::T], room: &mut Vec<V::T>) {
    if lanes == 0 {
        return;
    }
    let each = out.len() / lanes;
    for lane in 0..lanes {
        // SAFETY: as the caller holds.
        unsafe { product::<V>(a.lane(lane), b.lane(lane), &mut out[lane * each..(lane + 1) * each], room) };
    }
}

/// Partial sums, by halves.
#[inline(always)]
fn halves<T: Fused>(mut sums: [T; PARTIAL]) -> T {
    let mut half = PARTIAL / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] = sums[i] + sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Vectors of the narrowest kind that the partial sums fill.
const MOST_VECTORS: usize = 4;

/// Partial sums of all whole rounds: `step(k, sums)` adds the terms from `k` on, a vector of them.
#[inline(always)]
unsafe fn partial<V: Vector>(terms: usize, step: impl Fn(usize, V) -> V) -> [V::T; PARTIAL] {
    let mut out = [V::T::NEUTRAL; PARTIAL];
    // SAFETY: the CPU has the vector's instructions, and `out` room for all vectors.
    unsafe {
        let mut sums = [V::splat(V::T::NEUTRAL); MOST_VECTORS];
        for k in (0..terms / PARTIAL * PARTIAL).step_by(PARTIAL) {
            for (p, s) in sums.iter_mut().enumerate().take(PARTIAL / V::N) {
                *s = step(k + p * V::N, *s);
            }
        }
        for (p, s) in sums.into_iter().enumerate().take(PARTIAL / V::N) {
            s.store(out.as_mut_ptr().add(p * V::N));
        }
    }
    out
}

#[inline(always)]
unsafe fn dot<V: Vector>(x: &[V::T], y: &[V::T]) -> V::T {
    let y = &y[..x.len()];
    let pairs = || x.iter().zip(y);
    canonical(if x.is_empty() {
        V::T::ZERO
    } else if x.len() < INTERLEAVED {
        pairs().fold(V::T::NEUTRAL, |s, (&x, &y)| x.fused(y, s))
    } else {
        // SAFETY: `partial` asks for vectors inside the slices.
        let mut sums = unsafe { partial::<V>(x.len(), |k, s| V::load(x.as_ptr().add(k)).fused(V::load(y.as_ptr().add(k)), s)) };
        let whole = x.len() / PARTIAL * PARTIAL;
        sums.iter_mut().zip(pairs().skip(whole)).for_each(|(s, (&x, &y))| *s = x.fused(y, *s));
        halves(sums)
    })
}

#[inline(always)]
unsafe fn sum<V: Vector>(x: &[V::T]) -> V::T {
    canonical(if x.is_empty() {
        V::T::ZERO
    } else if x.len() < INTERLEAVED {
        x.iter().fold(V::T::NEUTRAL, |s, &x| s + x)
    } else {
        // SAFETY: `partial` asks for vectors inside the slice.
        let mut sums = unsafe { partial::<V>(x.len(), |k, s| s.plus(V::load(x.as_ptr().add(k)))) };
        let whole = x.len() / PARTIAL * PARTIAL;
        sums.iter_mut().zip(&x[whole..]).for_each(|(s, &x)| *s = *s + x);
        halves(sums)
    })
}

/// The loops of one level.
macro_rules! level {
    ($module:ident, $f32:ty, $f64:ty, $(#[$attr:meta])*) => {
        mod $module {
            #[cfg(target_arch = "x86_64")]
            #[allow(unused_imports, reason = "the baseline has none of them")]
            use std::arch::x86_64::*;
            #[allow(unused_imports, reason = "only the baseline has plain vectors")]
            use super::{Matrices, Plain, View};

            level!(@type f32_loops, f32, $f32, $(#[$attr])*);
            level!(@type f64_loops, f64, $f64, $(#[$attr])*);
        }
    };
    (@type $module:ident, $t:ident, $v:ty, $(#[$attr:meta])*) => {
        pub(super) mod $module {
            use super::*;

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(in super::super) unsafe fn product(a: View<'_, $t>, b: View<'_, $t>, out: &mut [$t], room: &mut Vec<$t>) {
                // SAFETY: as the caller holds.
                unsafe { super::super::product::<$v>(a, b, out, room) }
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(in super::super) unsafe fn products(
                lanes: usize,
                a: Matrices<'_, $t>,
                b: Matrices<'_, $t>,
                out: &mut [$t],
                room: &mut Vec<$t>,
            ) {
                // SAFETY: as the caller holds.
                unsafe { super::super::products::<$v>(lanes, a, b, out, room) }
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(in super::super) unsafe fn dot(x: &[$t], y: &[$t]) -> $t {
                // SAFETY: as the caller holds.
                unsafe { super::super::dot::<$v>(x, y) }
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(in super::super) unsafe fn sum(x: &[$t]) -> $t {
                // SAFETY: as the caller holds.
                unsafe { super::super::sum::<$v>(x) }
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(in super::super) unsafe fn lane_sums(x: &[$t], out: &mut [$t]) {
                // SAFETY: as the caller holds.
                unsafe { crate::over_lanes::sums::<$v>(x, out) }
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(in super::super) unsafe fn lane_outers(x: &[$t], y: &[$t], out: &mut [$t]) {
                // SAFETY: as the caller holds.
                unsafe { crate::over_lanes::outers::<$v>(x, y, out) }
            }

            /// # Safety
            /// The CPU must have the level's instructions; there must be `rows * columns` numbers in both.
            $(#[$attr])*
            pub(in super::super) unsafe fn transpose(x: &[$t], rows: usize, columns: usize, out: &mut [$t]) {
                // SAFETY: as the caller holds.
                unsafe { super::super::turn::<$v>(x.as_ptr(), columns, rows, columns, out.as_mut_ptr(), rows) }
            }
        }
    };
}

level!(baseline, Plain<f32>, Plain<f64>,);
#[cfg(target_arch = "x86_64")]
level!(avx2, __m256, __m256d, #[target_feature(enable = "avx2,fma")]);
#[cfg(target_arch = "x86_64")]
level!(avx512, __m512, __m512d, #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma")]);
#[cfg(not(target_arch = "x86_64"))]
use {baseline as avx2, baseline as avx512};

macro_rules! at {
    ($level:expr, $module:ident, $f:ident($($arg:expr),*)) => {
        // SAFETY: the level is one this CPU has.
        unsafe {
            match $level.min(Level::best()) {
                Level::Baseline => baseline::$module::$f($($arg),*),
                Level::Avx2 => avx2::$module::$f($($arg),*),
                Level::Avx512 => avx512::$module::$f($($arg),*),
            }
        }
    };
}

macro_rules! entry_points {
    ($t:ident, $module:ident, $product:ident, $products:ident, $dot:ident, $sum:ident, $transpose:ident,
     $lane_sums:ident, $lane_outers:ident) => {
        /// The product of two matrices, row by row, with the instructions of `level` (of the best level, if this CPU lacks it). `room` is
        /// scratch memory, kept for the next call.
        ///
        /// # Panics
        /// If the sizes do not match.
        pub fn $product(level: Level, a: View<'_, $t>, b: View<'_, $t>, out: &mut [$t], room: &mut Vec<$t>) {
            at!(level, $module, product(a, b, out, room))
        }

        /// The product of the matrices of every lane; `out` has one after the other.
        ///
        /// # Panics
        /// If the sizes do not match.
        pub fn $products(level: Level, lanes: usize, a: Matrices<'_, $t>, b: Matrices<'_, $t>, out: &mut [$t], room: &mut Vec<$t>) {
            at!(level, $module, products(lanes, a, b, out, room))
        }

        /// The sum of products of two vectors.
        ///
        /// # Panics
        /// If `y` is shorter than `x`.
        pub fn $dot(level: Level, x: &[$t], y: &[$t]) -> $t {
            at!(level, $module, dot(x, y))
        }

        /// The sum of a vector.
        pub fn $sum(level: Level, x: &[$t]) -> $t {
            at!(level, $module, sum(x))
        }

        /// For each number of a value the sum over the lanes, in the order of [`crate::over_lanes`]; `x` has a value for each of so many
        /// lanes.
        ///
        /// # Panics
        /// If it has more or fewer.
        pub fn $lane_sums(level: Level, x: &[$t], out: &mut [$t]) {
            at!(level, $module, lane_sums(x, out))
        }

        /// The same for the products of every number of `x` with every one of `y`, row by row.
        ///
        /// # Panics
        /// If there are not as many.
        pub fn $lane_outers(level: Level, x: &[$t], y: &[$t], out: &mut [$t]) {
            at!(level, $module, lane_outers(x, y, out))
        }

        /// Rows as columns.
        ///
        /// # Panics
        /// If there are not as many numbers.
        pub fn $transpose(level: Level, x: &[$t], rows: usize, columns: usize, out: &mut [$t]) {
            assert!(x.len() == rows * columns && out.len() == x.len(), "transpose: a matrix of another size");
            at!(level, $module, transpose(x, rows, columns, out))
        }
    };
}

entry_points!(f32, f32_loops, product_f32, products_f32, dot_f32, sum_f32, transpose_f32, lane_sums_f32, lane_outers_f32);
entry_points!(f64, f64_loops, product_f64, products_f64, dot_f64, sum_f64, transpose_f64, lane_sums_f64, lane_outers_f64);
