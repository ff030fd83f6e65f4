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

    /// Rows and columns.
    pub(crate) fn sides(self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// From one row to the next, and from one column to the next; one of both is 1.
    pub(crate) fn strides(self) -> (usize, usize) {
        (self.row_stride, self.column_stride)
    }

    /// Where it begins.
    pub(crate) fn start(self) -> *const T {
        self.data.as_ptr()
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

    /// That of the first of some lanes, and how far apart they are.
    fn all(&self, lanes: usize) -> (View<'a, T>, usize) {
        // Where the last one is, all are.
        self.lane(lanes - 1);
        (self.lane(0), if self.shared { 0 } else { self.rows * self.columns })
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
            use super::{Plain, View};

            level!(@type f32_loops, f32, $f32, $(#[$attr])*);
            level!(@type f64_loops, f64, $f64, $(#[$attr])*);
        }
    };
    (@type $module:ident, $t:ident, $v:ty, $(#[$attr:meta])*) => {
        pub(super) mod $module {
            use super::*;

            /// # Safety
            /// The CPU must have the level's instructions, and there must be as many matrices, so many numbers apart.
            $(#[$attr])*
            pub(in super::super) unsafe fn products(
                lanes: usize,
                a: (View<'_, $t>, usize),
                b: (View<'_, $t>, usize),
                out: &mut [$t],
                room: &mut Vec<$t>,
            ) {
                // SAFETY: as the caller holds.
                unsafe { crate::product::products::<$v>(lanes, a, b, out, room) }
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
                unsafe { crate::product::turn::<$v>(x.as_ptr(), columns, rows, columns, out.as_mut_ptr(), rows) }
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
            at!(level, $module, products(1, (a, 0), (b, 0), out, room))
        }

        /// The product of the matrices of every lane; `out` has one after the other.
        ///
        /// # Panics
        /// If the sizes do not match.
        pub fn $products(level: Level, lanes: usize, a: Matrices<'_, $t>, b: Matrices<'_, $t>, out: &mut [$t], room: &mut Vec<$t>) {
            if lanes > 0 {
                let (a, b) = (a.all(lanes), b.all(lanes));
                at!(level, $module, products(lanes, a, b, out, room))
            }
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
