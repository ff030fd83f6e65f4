//! Loops over lanes that are no functions of one or two numbers: choosing, and a matrix all lanes share times a vector of each.
//!
//! In: slices of lanes. Out: lanes, with the bits of the same operations one lane at a time; `matrix.rs` says in which order sums of
//! products are made.

use crate::dispatch::{Arg, Real, canonical};
use crate::level::Level;
use crate::matrix::PARTIAL;
use crate::vector::Fused;

#[inline(always)]
fn select<T: Real>(test: Arg<'_, T>, x: Arg<'_, T>, y: Arg<'_, T>, out: &mut [T]) {
    /// One loop per combination, so that each is a plain vector loop.
    macro_rules! each {
        ($test:expr, $x:expr, $y:expr) => {
            for (((o, t), x), y) in out.iter_mut().zip($test).zip($x).zip($y) {
                *o = if *t != T::ZERO { *x } else { *y };
            }
        };
    }
    use std::iter::repeat;
    match (test, x, y) {
        (Arg::Slice(t), Arg::Slice(x), Arg::Slice(y)) => each!(t, x, y),
        (Arg::Slice(t), Arg::Slice(x), Arg::Splat(y)) => each!(t, x, repeat(&y)),
        (Arg::Slice(t), Arg::Splat(x), Arg::Slice(y)) => each!(t, repeat(&x), y),
        (Arg::Slice(t), Arg::Splat(x), Arg::Splat(y)) => each!(t, repeat(&x), repeat(&y)),
        (Arg::Splat(t), x, y) => match if t != T::ZERO { x } else { y } {
            Arg::Slice(s) => out.copy_from_slice(s),
            Arg::Splat(v) => out.fill(v),
        },
    }
}

/// Lanes and rows whose sums are kept in registers together.
const WIDTH: usize = 32;
const ROWS: usize = 4;

#[inline(always)]
fn matrix_times<T: Fused>(matrix: &[T], x: &[&[T]], out: &mut [&mut [T]]) {
    let lanes = out.first().map_or(0, |o| o.len());
    for from in (0..lanes).step_by(WIDTH) {
        let n = WIDTH.min(lanes - from);
        let mut row = 0;
        while row < out.len() {
            if row + ROWS <= out.len() {
                rows::<T, ROWS>(matrix, x, out, row, from, n);
                row += ROWS;
            } else {
                rows::<T, 1>(matrix, x, out, row, from, n);
                row += 1;
            }
        }
    }
}

#[inline(always)]
fn rows<T: Fused, const R: usize>(matrix: &[T], x: &[&[T]], out: &mut [&mut [T]], row: usize, from: usize, n: usize) {
    let inner = x.len();
    let mut sums = [[T::NEUTRAL; WIDTH]; R];
    for (k, x) in x.iter().enumerate() {
        let mut tail = [T::ZERO; WIDTH];
        let lanes = some_lanes(&x[from..from + n], &mut tail);
        for (r, sums) in sums.iter_mut().enumerate() {
            let m = matrix[(row + r) * inner + k];
            for (s, &x) in sums.iter_mut().zip(lanes) {
                *s = m.fused(x, *s);
            }
        }
    }
    for (out, sums) in out[row..row + R].iter_mut().zip(sums) {
        out[from..from + n].iter_mut().zip(sums).for_each(|(o, s)| *o = canonical(s));
    }
}

/// As many lanes as are summed together: those of a column, or with others behind them that nobody reads.
#[inline(always)]
fn some_lanes<'l, T: Real>(lanes: &'l [T], tail: &'l mut [T; WIDTH]) -> &'l [T; WIDTH] {
    match lanes.try_into() {
        Ok(whole) => whole,
        Err(_) => {
            tail[..lanes.len()].copy_from_slice(lanes);
            tail
        }
    }
}

/// One product of a sum, lane by lane.
#[inline(always)]
fn one_product<T: Fused>(x: &Arg<'_, T>, y: &Arg<'_, T>, from: usize, n: usize, sums: &mut [T; WIDTH]) {
    let (mut left, mut right) = ([T::ZERO; WIDTH], [T::ZERO; WIDTH]);
    match (x, y) {
        (Arg::Slice(x), Arg::Slice(y)) => {
            let (x, y) = (some_lanes(&x[from..from + n], &mut left), some_lanes(&y[from..from + n], &mut right));
            sums.iter_mut().zip(x).zip(y).for_each(|((s, &x), &y)| *s = x.fused(y, *s));
        }
        (Arg::Slice(x), Arg::Splat(y)) | (Arg::Splat(y), Arg::Slice(x)) => {
            let x = some_lanes(&x[from..from + n], &mut left);
            sums.iter_mut().zip(x).for_each(|(s, &x)| *s = x.fused(*y, *s));
        }
        (Arg::Splat(x), Arg::Splat(y)) => sums.iter_mut().for_each(|s| *s = x.fused(*y, *s)),
    }
}

#[inline(always)]
fn sum_of_products<T: Fused>(x: &[Arg<'_, T>], y: &[Arg<'_, T>], interleaved: bool, out: &mut [T]) {
    if x.is_empty() {
        return out.fill(T::ZERO);
    }
    let lanes = out.len();
    for from in (0..lanes).step_by(WIDTH) {
        let n = WIDTH.min(lanes - from);
        let mut sums = [T::NEUTRAL; WIDTH];
        if interleaved {
            let mut all = [sums; PARTIAL];
            for (k, (x, y)) in x.iter().zip(y).enumerate() {
                one_product(x, y, from, n, &mut all[k % PARTIAL]);
            }
            let mut half = PARTIAL / 2;
            while half > 0 {
                for i in 0..half {
                    let other = all[i + half];
                    all[i].iter_mut().zip(other).for_each(|(s, o)| *s = *s + o);
                }
                half /= 2;
            }
            sums = all[0];
        } else {
            for (x, y) in x.iter().zip(y) {
                one_product(x, y, from, n, &mut sums);
            }
        }
        out[from..from + n].iter_mut().zip(sums).for_each(|(o, s)| *o = canonical(s));
    }
}

/// The loops of one level.
macro_rules! level {
    ($module:ident, $(#[$attr:meta])*) => {
        mod $module {
            use super::{Arg, Fused, Real};

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn select<T: Real>(test: Arg<'_, T>, x: Arg<'_, T>, y: Arg<'_, T>, out: &mut [T]) {
                super::select(test, x, y, out)
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn matrix_times<T: Fused>(matrix: &[T], x: &[&[T]], out: &mut [&mut [T]]) {
                super::matrix_times(matrix, x, out)
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn sum_of_products<T: Fused>(x: &[Arg<'_, T>], y: &[Arg<'_, T>], interleaved: bool, out: &mut [T]) {
                super::sum_of_products(x, y, interleaved, out)
            }
        }
    };
}

level!(baseline,);
#[cfg(target_arch = "x86_64")]
level!(avx2, #[target_feature(enable = "avx2,fma")]);
#[cfg(target_arch = "x86_64")]
level!(avx512, #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma")]);
#[cfg(not(target_arch = "x86_64"))]
use {baseline as avx2, baseline as avx512};

macro_rules! entry_points {
    ($t:ident, $select:ident, $matrix_times:ident, $sum_of_products:ident) => {
        /// `out[i] = if test[i] is not 0 { x[i] } else { y[i] }` with the instructions of `level` (of the best level, if this CPU lacks
        /// it).
        ///
        /// # Panics
        /// If the length of a slice differs from that of `out`.
        pub fn $select(level: Level, test: Arg<'_, $t>, x: Arg<'_, $t>, y: Arg<'_, $t>, out: &mut [$t]) {
            for arg in [test, x, y] {
                if let Arg::Slice(s) = arg {
                    assert_eq!(s.len(), out.len(), "select: slices of unequal length");
                }
            }
            // SAFETY: the level is one this CPU has.
            unsafe {
                match level.min(Level::best()) {
                    Level::Baseline => baseline::select(test, x, y, out),
                    Level::Avx2 => avx2::select(test, x, y, out),
                    Level::Avx512 => avx512::select(test, x, y, out),
                }
            }
        }

        /// For every lane `i`: the vector of all `out[r][i]` is the matrix times the vector of all `x[k][i]`. The matrix is given row by
        /// row; each sum is that of an element of a product of matrices.
        ///
        /// # Panics
        /// If the matrix does not have a row for each of `out` and a column for each of `x`, or lanes differ in number.
        pub fn $matrix_times(level: Level, matrix: &[$t], x: &[&[$t]], out: &mut [&mut [$t]]) {
            assert_eq!(matrix.len(), x.len() * out.len(), "matrix_times: a matrix of another size");
            let lanes = out.first().map_or(0, |o| o.len());
            assert!(x.iter().all(|x| x.len() == lanes) && out.iter().all(|o| o.len() == lanes), "matrix_times: slices of unequal length");
            // SAFETY: the level is one this CPU has.
            unsafe {
                match level.min(Level::best()) {
                    Level::Baseline => baseline::matrix_times(matrix, x, out),
                    Level::Avx2 => avx2::matrix_times(matrix, x, out),
                    Level::Avx512 => avx512::matrix_times(matrix, x, out),
                }
            }
        }

        /// For every lane `i`: `out[i]` is the sum of all products `x[k][i] * y[k][i]`, in the order of an element of a product of matrices
        /// or, if `interleaved`, of a long dot product.
        ///
        /// # Panics
        /// If `x` and `y` differ in length, or a slice is shorter than `out`.
        pub fn $sum_of_products(level: Level, x: &[Arg<'_, $t>], y: &[Arg<'_, $t>], interleaved: bool, out: &mut [$t]) {
            assert_eq!(x.len(), y.len(), "sum_of_products: as many numbers on the left as on the right");
            // SAFETY: the level is one this CPU has.
            unsafe {
                match level.min(Level::best()) {
                    Level::Baseline => baseline::sum_of_products(x, y, interleaved, out),
                    Level::Avx2 => avx2::sum_of_products(x, y, interleaved, out),
                    Level::Avx512 => avx512::sum_of_products(x, y, interleaved, out),
                }
            }
        }
    };
}

entry_points!(f32, select_f32, matrix_times_f32, sum_of_products_f32);
entry_points!(f64, select_f64, matrix_times_f64, sum_of_products_f64);
