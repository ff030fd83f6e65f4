//! Levels, function tables and the loops: from one kernel to scalar and slice entry points at every SIMD level.
//!
//! In: a kernel type that implements [`Map1`] or [`Map2`] for f32 and f64. Out: a [`Unary`] or [`Binary`] with
//! function pointers compiled for each [`Level`]. The same kernel code is inlined into each entry point and no
//! operation in it depends on the level, so the bits agree; every NaN result is the one canonical quiet NaN.

use crate::level::Level;

/// An argument of a binary slice function.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a, T> {
    /// One value per element.
    Slice(&'a [T]),
    /// The same value for every element.
    Splat(T),
}

/// The element types.
pub(crate) trait Real: Copy + PartialEq + 'static {
    const ZERO: Self;
    const NAN: Self;
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const NAN: f32 = f32::NAN;
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const NAN: f64 = f64::NAN;
}

/// A function of one argument.
pub(crate) trait Map1<T> {
    /// A few instructions and no rare arguments: the loop runs straight over memory.
    const CHEAP: bool = false;
    /// Branch-free path, right wherever `rare` is false.
    fn fast(x: T) -> T;
    /// Whether the slow path must decide.
    #[inline(always)]
    fn rare(_: T) -> bool {
        false
    }
    /// Scalar path for the rare arguments.
    #[inline(always)]
    fn slow(x: T) -> T {
        x
    }
}

/// A function of two arguments.
pub(crate) trait Map2<T> {
    /// See [`Map1::CHEAP`].
    const CHEAP: bool = false;
    /// Branch-free path, right wherever `rare` is false.
    fn fast(a: T, b: T) -> T;
    /// Whether the slow path must decide.
    #[inline(always)]
    fn rare(_: T, _: T) -> bool {
        false
    }
    /// Scalar path for the rare arguments.
    #[inline(always)]
    fn slow(a: T, _: T) -> T {
        a
    }
}

/// A function of three arguments, computed in f64 for both types.
pub(crate) trait Map3 {
    /// The value.
    fn value(a: f64, b: f64, c: f64) -> f64;
}

/// The one NaN of all results: its sign and payload would otherwise depend on operand order.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(crate) fn canonical<T: Real>(y: T) -> T {
    if y != y { T::NAN } else { y }
}

/// Elements a loop handles before it looks for rare arguments.
const CHUNK: usize = 256;
/// Elements of a tail handled together, in a buffer padded to a multiple of `PAD`: no scalar remainder loop runs.
const TAIL: usize = 64;
const PAD: usize = 16;

#[inline(always)]
fn scalar1<T: Real, K: Map1<T>>(x: T) -> T {
    canonical(if K::rare(x) { K::slow(x) } else { K::fast(x) })
}

#[inline(always)]
fn slice1<T: Real, K: Map1<T>>(x: &[T], out: &mut [T]) {
    if K::CHEAP {
        for (o, &v) in out.iter_mut().zip(x) {
            *o = canonical(K::fast(v));
        }
        return;
    }
    let (xs, mut os) = (x.chunks_exact(CHUNK), out.chunks_exact_mut(CHUNK));
    let rest = xs.remainder();
    for (xs, os) in xs.zip(&mut os) {
        block1::<T, K>(xs, os, CHUNK);
    }
    let mut input = [T::ZERO; TAIL];
    let mut result = [T::ZERO; TAIL];
    for (xs, os) in rest.chunks(TAIL).zip(os.into_remainder().chunks_mut(TAIL)) {
        let n = xs.len();
        input[..n].copy_from_slice(xs);
        let padded = n.next_multiple_of(PAD).min(TAIL);
        block1::<T, K>(&input[..padded], &mut result[..padded], n);
        os.copy_from_slice(&result[..n]);
    }
}

/// One block: the fast path everywhere, then the slow path for the rare ones among the first n.
#[inline(always)]
fn block1<T: Real, K: Map1<T>>(x: &[T], out: &mut [T], n: usize) {
    let mut any = 0u64;
    for (o, &v) in out.iter_mut().zip(x) {
        any |= K::rare(v) as u64;
        *o = canonical(K::fast(v));
    }
    if any != 0 {
        for (o, &v) in out.iter_mut().zip(x).take(n) {
            if K::rare(v) {
                *o = canonical(K::slow(v));
            }
        }
    }
}

#[inline(always)]
fn scalar2<T: Real, K: Map2<T>>(a: T, b: T) -> T {
    canonical(if K::rare(a, b) { K::slow(a, b) } else { K::fast(a, b) })
}

/// An argument whose elements are known one by one: a slice, or one value for all.
trait Elements<T>: Copy {
    fn at(self, i: usize) -> T;
    /// Elements `start..start + n`, at the beginning of a buffer.
    fn load(self, start: usize, buffer: &mut [T]);
}

impl<T: Real> Elements<T> for &[T] {
    #[inline(always)]
    fn at(self, i: usize) -> T {
        self[i]
    }
    #[inline(always)]
    fn load(self, start: usize, buffer: &mut [T]) {
        buffer.copy_from_slice(&self[start..start + buffer.len()]);
    }
}

/// One value for all elements.
#[derive(Clone, Copy)]
struct Splat<T>(T);

impl<T: Real> Elements<T> for Splat<T> {
    #[inline(always)]
    fn at(self, _: usize) -> T {
        self.0
    }
    #[inline(always)]
    fn load(self, _: usize, buffer: &mut [T]) {
        buffer.fill(self.0);
    }
}

/// Elements beyond the length of `out` are not read; each slice has at least as many.
#[inline(always)]
fn slice2<T: Real, K: Map2<T>>(a: impl Elements<T>, b: impl Elements<T>, out: &mut [T]) {
    if K::CHEAP {
        for (i, o) in out.iter_mut().enumerate() {
            *o = canonical(K::fast(a.at(i), b.at(i)));
        }
        return;
    }
    let mut left = [T::ZERO; TAIL];
    let mut right = [T::ZERO; TAIL];
    let mut result = [T::ZERO; TAIL];
    let mut start = 0;
    for os in out.chunks_mut(TAIL) {
        let n = os.len();
        a.load(start, &mut left[..n]);
        b.load(start, &mut right[..n]);
        let padded = n.next_multiple_of(PAD).min(TAIL);
        let mut any = 0u64;
        for ((o, &p), &q) in result[..padded].iter_mut().zip(&left[..padded]).zip(&right[..padded]) {
            any |= K::rare(p, q) as u64;
            *o = canonical(K::fast(p, q));
        }
        if any != 0 {
            for ((o, &p), &q) in result[..n].iter_mut().zip(&left[..n]).zip(&right[..n]) {
                if K::rare(p, q) {
                    *o = canonical(K::slow(p, q));
                }
            }
        }
        os.copy_from_slice(&result[..n]);
        start += n;
    }
}

/// The entry points of one level: generic over the kernel, compiled with that level's instructions.
macro_rules! slice_entry_points {
    ($module:ident, $(#[$attr:meta])*) => {
        mod $module {
            use super::{Map1, Map2, Real, Splat};

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn slice1<T: Real, K: Map1<T>>(x: &[T], out: &mut [T]) {
                super::slice1::<T, K>(x, out)
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn slices<T: Real, K: Map2<T>>(a: &[T], b: &[T], out: &mut [T]) {
                super::slice2::<T, K>(&a[..out.len()], &b[..out.len()], out)
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn left<T: Real, K: Map2<T>>(a: &[T], b: T, out: &mut [T]) {
                super::slice2::<T, K>(&a[..out.len()], Splat(b), out)
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn right<T: Real, K: Map2<T>>(a: T, b: &[T], out: &mut [T]) {
                super::slice2::<T, K>(Splat(a), &b[..out.len()], out)
            }
        }
    };
}

/// The same for single calls.
macro_rules! scalar_entry_points {
    ($module:ident, $(#[$attr:meta])*) => {
        mod $module {
            use super::{Map1, Map2, Real};

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn scalar1<T: Real, K: Map1<T>>(x: T) -> T {
                super::scalar1::<T, K>(x)
            }

            /// # Safety
            /// The CPU must have the level's instructions.
            $(#[$attr])*
            pub(super) unsafe fn scalar2<T: Real, K: Map2<T>>(a: T, b: T) -> T {
                super::scalar2::<T, K>(a, b)
            }
        }
    };
}

slice_entry_points!(baseline,);
scalar_entry_points!(one_baseline,);
#[cfg(target_arch = "x86_64")]
slice_entry_points!(avx2, #[target_feature(enable = "avx2,fma")]);
#[cfg(target_arch = "x86_64")]
scalar_entry_points!(one_avx2, #[target_feature(enable = "avx2,fma")]);
#[cfg(target_arch = "x86_64")]
slice_entry_points!(avx512, #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma")]);
#[cfg(not(target_arch = "x86_64"))]
use {baseline as avx2, baseline as avx512, one_baseline as one_avx2};

/// The level of single calls: with AVX-512 the masked moves of one call wait for the result of the call before.
#[inline]
fn scalar_level() -> usize {
    Level::best().min(Level::Avx2) as usize
}

type Scalar1<T> = unsafe fn(T) -> T;
type Slice1<T> = unsafe fn(&[T], &mut [T]);
type Scalar2<T> = unsafe fn(T, T) -> T;

/// The loops of a function of two arguments at one level, by which argument is a slice.
#[derive(Clone, Copy)]
struct Loops2<T> {
    slices: unsafe fn(&[T], &[T], &mut [T]),
    left: unsafe fn(&[T], T, &mut [T]),
    right: unsafe fn(T, &[T], &mut [T]),
}

/// A function of one argument, for f32 and f64, one value or a slice at a time.
pub struct Unary {
    /// Its name, as in the source language.
    pub name: &'static str,
    f32: [Scalar1<f32>; 2],
    f64: [Scalar1<f64>; 2],
    f32_slice: [Slice1<f32>; 3],
    f64_slice: [Slice1<f64>; 3],
}

impl Unary {
    pub(crate) const fn new<K: Map1<f32> + Map1<f64>>(name: &'static str) -> Unary {
        Unary {
            name,
            f32: [one_baseline::scalar1::<f32, K>, one_avx2::scalar1::<f32, K>],
            f64: [one_baseline::scalar1::<f64, K>, one_avx2::scalar1::<f64, K>],
            f32_slice: [baseline::slice1::<f32, K>, avx2::slice1::<f32, K>, avx512::slice1::<f32, K>],
            f64_slice: [baseline::slice1::<f64, K>, avx2::slice1::<f64, K>, avx512::slice1::<f64, K>],
        }
    }

    /// The function at one f32.
    #[inline]
    pub fn f32(&self, x: f32) -> f32 {
        // SAFETY: the level is one this CPU has.
        unsafe { self.f32[scalar_level()](x) }
    }

    /// The function at one f64.
    #[inline]
    pub fn f64(&self, x: f64) -> f64 {
        // SAFETY: the level is one this CPU has.
        unsafe { self.f64[scalar_level()](x) }
    }

    /// `out[i] = f(x[i])` with the instructions of `level` (of the best level, if this CPU lacks it).
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn f32_slice(&self, level: Level, x: &[f32], out: &mut [f32]) {
        assert_eq!(x.len(), out.len(), "{}: slices of unequal length", self.name);
        // SAFETY: the level is one this CPU has.
        unsafe { self.f32_slice[level.min(Level::best()) as usize](x, out) }
    }

    /// `out[i] = f(x[i])` with the instructions of `level` (of the best level, if this CPU lacks it).
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn f64_slice(&self, level: Level, x: &[f64], out: &mut [f64]) {
        assert_eq!(x.len(), out.len(), "{}: slices of unequal length", self.name);
        // SAFETY: the level is one this CPU has.
        unsafe { self.f64_slice[level.min(Level::best()) as usize](x, out) }
    }
}

impl std::fmt::Debug for Unary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unary({})", self.name)
    }
}

macro_rules! loops2 {
    ($t:ident, $k:ident) => {
        [
            Loops2 { slices: baseline::slices::<$t, $k>, left: baseline::left::<$t, $k>, right: baseline::right::<$t, $k> },
            Loops2 { slices: avx2::slices::<$t, $k>, left: avx2::left::<$t, $k>, right: avx2::right::<$t, $k> },
            Loops2 { slices: avx512::slices::<$t, $k>, left: avx512::left::<$t, $k>, right: avx512::right::<$t, $k> },
        ]
    };
}

/// A function of two arguments, for f32 and f64, one pair or slices at a time.
pub struct Binary {
    /// Its name, as in the source language.
    pub name: &'static str,
    f32: [Scalar2<f32>; 2],
    f64: [Scalar2<f64>; 2],
    f32_slice: [Loops2<f32>; 3],
    f64_slice: [Loops2<f64>; 3],
}

impl Binary {
    pub(crate) const fn new<K: Map2<f32> + Map2<f64>>(name: &'static str) -> Binary {
        Binary {
            name,
            f32: [one_baseline::scalar2::<f32, K>, one_avx2::scalar2::<f32, K>],
            f64: [one_baseline::scalar2::<f64, K>, one_avx2::scalar2::<f64, K>],
            f32_slice: loops2!(f32, K),
            f64_slice: loops2!(f64, K),
        }
    }

    /// The function at one pair of f32.
    #[inline]
    pub fn f32(&self, a: f32, b: f32) -> f32 {
        // SAFETY: the level is one this CPU has.
        unsafe { self.f32[scalar_level()](a, b) }
    }

    /// The function at one pair of f64.
    #[inline]
    pub fn f64(&self, a: f64, b: f64) -> f64 {
        // SAFETY: the level is one this CPU has.
        unsafe { self.f64[scalar_level()](a, b) }
    }

    /// `out[i] = f(a[i], b[i])` with the instructions of `level` (of the best level, if this CPU lacks it).
    ///
    /// # Panics
    /// If the length of a slice differs from that of `out`.
    #[inline]
    pub fn f32_slice(&self, level: Level, a: Arg<'_, f32>, b: Arg<'_, f32>, out: &mut [f32]) {
        check_lengths(self.name, &[a, b], out.len());
        let loops = &self.f32_slice[level.min(Level::best()) as usize];
        // SAFETY: the level is one this CPU has.
        unsafe {
            match (a, b) {
                (Arg::Slice(a), Arg::Slice(b)) => (loops.slices)(a, b, out),
                (Arg::Slice(a), Arg::Splat(b)) => (loops.left)(a, b, out),
                (Arg::Splat(a), Arg::Slice(b)) => (loops.right)(a, b, out),
                (Arg::Splat(a), Arg::Splat(b)) => out.fill(self.f32(a, b)),
            }
        }
    }

    /// `out[i] = f(a[i], b[i])` with the instructions of `level` (of the best level, if this CPU lacks it).
    ///
    /// # Panics
    /// If the length of a slice differs from that of `out`.
    #[inline]
    pub fn f64_slice(&self, level: Level, a: Arg<'_, f64>, b: Arg<'_, f64>, out: &mut [f64]) {
        check_lengths(self.name, &[a, b], out.len());
        let loops = &self.f64_slice[level.min(Level::best()) as usize];
        // SAFETY: the level is one this CPU has.
        unsafe {
            match (a, b) {
                (Arg::Slice(a), Arg::Slice(b)) => (loops.slices)(a, b, out),
                (Arg::Slice(a), Arg::Splat(b)) => (loops.left)(a, b, out),
                (Arg::Splat(a), Arg::Slice(b)) => (loops.right)(a, b, out),
                (Arg::Splat(a), Arg::Splat(b)) => out.fill(self.f64(a, b)),
            }
        }
    }
}

impl std::fmt::Debug for Binary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Binary({})", self.name)
    }
}

/// A function of three arguments, for f32 and f64, one triple or slices at a time. They are special functions, which run one value at a
/// time at every level.
pub struct Ternary {
    /// Its name, as in the source language.
    pub name: &'static str,
    f32: fn(f32, f32, f32) -> f32,
    f64: fn(f64, f64, f64) -> f64,
}

impl Ternary {
    pub(crate) const fn new<K: Map3>(name: &'static str) -> Ternary {
        Ternary {
            name,
            f32: |a, b, c| canonical(K::value(f64::from(a), f64::from(b), f64::from(c)) as f32),
            f64: |a, b, c| canonical(K::value(a, b, c)),
        }
    }

    /// The function at three f32.
    #[inline]
    pub fn f32(&self, a: f32, b: f32, c: f32) -> f32 {
        (self.f32)(a, b, c)
    }

    /// The function at three f64.
    #[inline]
    pub fn f64(&self, a: f64, b: f64, c: f64) -> f64 {
        (self.f64)(a, b, c)
    }

    /// `out[i] = f(a[i], b[i], c[i])`.
    ///
    /// # Panics
    /// If the length of a slice differs from that of `out`.
    pub fn f32_slice(&self, a: Arg<'_, f32>, b: Arg<'_, f32>, c: Arg<'_, f32>, out: &mut [f32]) {
        slice3(self.name, self.f32, [a, b, c], out)
    }

    /// `out[i] = f(a[i], b[i], c[i])`.
    ///
    /// # Panics
    /// If the length of a slice differs from that of `out`.
    pub fn f64_slice(&self, a: Arg<'_, f64>, b: Arg<'_, f64>, c: Arg<'_, f64>, out: &mut [f64]) {
        slice3(self.name, self.f64, [a, b, c], out)
    }
}

fn slice3<T: Copy>(name: &str, f: fn(T, T, T) -> T, args: [Arg<'_, T>; 3], out: &mut [T]) {
    check_lengths(name, &args, out.len());
    if let [Arg::Splat(a), Arg::Splat(b), Arg::Splat(c)] = args {
        return out.fill(f(a, b, c));
    }
    let at = |arg: &Arg<'_, T>, i: usize| match arg {
        Arg::Slice(s) => s[i],
        Arg::Splat(x) => *x,
    };
    for (i, o) in out.iter_mut().enumerate() {
        *o = f(at(&args[0], i), at(&args[1], i), at(&args[2], i));
    }
}

impl std::fmt::Debug for Ternary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ternary({})", self.name)
    }
}

#[inline]
fn check_lengths<T>(name: &str, args: &[Arg<'_, T>], n: usize) {
    for arg in args {
        if let Arg::Slice(s) = arg {
            assert_eq!(s.len(), n, "{name}: slices of unequal length");
        }
    }
}

/// Implements a two-argument f32 kernel by the f64 path and one rounding.
macro_rules! f32_by_f64_2 {
    ($kernel:ident) => {
        impl $crate::dispatch::Map2<f32> for $kernel {
            #[inline(always)]
            fn fast(a: f32, b: f32) -> f32 {
                <Self as $crate::dispatch::Map2<f64>>::fast(a as f64, b as f64) as f32
            }
            #[inline(always)]
            fn rare(a: f32, b: f32) -> bool {
                <Self as $crate::dispatch::Map2<f64>>::rare(a as f64, b as f64)
            }
            #[inline(always)]
            fn slow(a: f32, b: f32) -> f32 {
                <Self as $crate::dispatch::Map2<f64>>::slow(a as f64, b as f64) as f32
            }
        }
    };
}
pub(crate) use f32_by_f64_2;

/// Implements a one-argument kernel by functions over [`crate::num::Num`]: one for both types, or one for each.
macro_rules! kernel_of_num {
    ($kernel:ident, $function:path) => {
        kernel_of_num!($kernel, f64: $function, f32: $function);
    };
    ($kernel:ident, f64: $wide:expr, f32: $narrow:expr) => {
        pub(crate) struct $kernel;
        impl $crate::dispatch::Map1<f64> for $kernel {
            #[inline(always)]
            fn fast(x: f64) -> f64 {
                $wide(x)
            }
        }
        impl $crate::dispatch::Map1<f32> for $kernel {
            #[inline(always)]
            fn fast(x: f32) -> f32 {
                $narrow(x)
            }
        }
    };
}
pub(crate) use kernel_of_num;

/// Implements a one-argument kernel: the f64 body, and the f32 body in f64 arithmetic with one rounding.
macro_rules! kernel1 {
    ($kernel:ident, f64: $wide:path, f32: $narrow:path) => {
        $crate::dispatch::kernel_of_num!($kernel, f64: $wide, f32: (|x: f32| $narrow(x as f64) as f32));
    };
}
pub(crate) use kernel1;
