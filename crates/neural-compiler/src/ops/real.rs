//! The two number types a program runs in. One trait, so that every kernel is written once.

use crate::ops::block::Block;
use crate::ops::lu::{Factors, OWN};
use crate::ops::recent::Recent;
use crate::ops::row::{TensorFn, TensorKernel};
use neural_compiler_math as math;
use neural_compiler_math::matrix::Matrices;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Which number type a program runs in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dtype {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
}

impl Dtype {
    /// `f32` or `f64`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }
}

/// What sums and products need: real numbers, and the intervals of the safe-domain analysis.
pub trait Ring: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
}

/// A number type whose kernels serve generated code too.
pub(crate) trait Number: Real + math::num::Num<Scalar = Self, Mask = bool> {}

impl Number for f32 {}
impl Number for f64 {}

/// The one quiet NaN for every NaN. Results are made so: sign and payload of a NaN that was given, or of one the processor makes of two,
/// would depend on the order of operands.
pub(crate) fn quiet<T: Real>(x: T) -> T {
    if x.is_nan() { T::from_f64(f64::NAN) } else { x }
}

/// A floating-point type with the project's own elementary functions.
pub trait Real: Ring + Div<Output = Self> + Neg<Output = Self> + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// Which type this is.
    const DTYPE: Dtype;
    /// Rounds once.
    fn from_f64(x: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// A function of one argument.
    fn unary(f: &math::Unary, x: Self) -> Self;
    /// A function of two arguments.
    fn binary(f: &math::Binary, x: Self, y: Self) -> Self;
    /// A function of three arguments.
    fn ternary(f: &math::Ternary, x: Self, y: Self, z: Self) -> Self;
    /// A function of one argument, element by element.
    fn unary_slice(f: &math::Unary, level: math::Level, x: &[Self], out: &mut [Self]);
    /// A function of two arguments, element by element.
    fn binary_slice(f: &math::Binary, level: math::Level, x: math::Arg<'_, Self>, y: math::Arg<'_, Self>, out: &mut [Self]);
    /// A function of three arguments, element by element.
    fn ternary_slice(f: &math::Ternary, x: math::Arg<'_, Self>, y: math::Arg<'_, Self>, z: math::Arg<'_, Self>, out: &mut [Self]);
    /// Lane by lane, `x` where the test is not zero, else `y`.
    fn select_slice(level: math::Level, test: math::Arg<'_, Self>, x: math::Arg<'_, Self>, y: math::Arg<'_, Self>, out: &mut [Self]);
    /// A matrix all lanes share times the vector of each lane.
    fn matrix_times(level: math::Level, matrix: &[Self], x: &[&[Self]], out: &mut [&mut [Self]]);
    /// Lane by lane, the sum of products of numbers, as an element of a product of matrices or, if `interleaved`, as a long dot product.
    fn sum_of_products(level: math::Level, x: &[math::Arg<'_, Self>], y: &[math::Arg<'_, Self>], interleaved: bool, out: &mut [Self]);
    /// A product of matrices; `room` is scratch memory.
    fn product(
        level: math::Level,
        a: math::matrix::View<'_, Self>,
        b: math::matrix::View<'_, Self>,
        out: &mut [Self],
        room: &mut Vec<Self>,
    );
    /// The product of the matrices of every lane.
    fn products(level: math::Level, lanes: usize, a: Matrices<'_, Self>, b: Matrices<'_, Self>, out: &mut [Self], room: &mut Vec<Self>);
    /// A dot product.
    fn dot(level: math::Level, x: &[Self], y: &[Self]) -> Self;
    /// The sum of some numbers.
    fn sum(level: math::Level, x: &[Self]) -> Self;
    /// For each number of a value the sum over 64 lanes, whose values lie one after the other.
    fn lane_sums(level: math::Level, x: &[Self], out: &mut [Self]);
    /// The same for the products of every number of one value with every one of another.
    fn lane_outers(level: math::Level, x: &[Self], y: &[Self], out: &mut [Self]);
    /// Rows as columns.
    fn transpose(level: math::Level, x: &[Self], rows: usize, columns: usize, out: &mut [Self]);
    /// The determinant of a matrix with so many rows.
    fn det(a: &[Self], n: usize) -> Self;
    /// Solutions of a linear system with so many rows.
    fn solve(a: &[Self], n: usize, b: &[Self], columns: usize, out: &mut [Self]);
    /// The solution of a linear system by the diagonals of its matrix, of which so many are below the main one (`ops/band.rs`).
    fn solve_band(diagonals: &[&[Self]], below: usize, b: &[Self], out: &mut [Self]);
    /// A tensor kernel for this type.
    fn kernel(k: &TensorKernel) -> TensorFn<Self>;
    /// A tensor kernel for blocks of lanes, if it has one.
    fn lane_kernel(k: &TensorKernel) -> Option<TensorFn<Block<Self>>>;
    /// Correctly rounded square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// One rounding for `self * a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Whether this is not a number.
    fn is_nan(self) -> bool;
    /// The next larger number.
    fn next_up(self) -> Self;
    /// The next smaller number.
    fn next_down(self) -> Self;
}

macro_rules! real {
    ($t:ident, $slice:ident, [$select:ident, $matrix_times:ident, $sum_of_products:ident],
     [$product:ident, $products:ident, $dot:ident, $sum:ident, $transpose:ident, $lane_sums:ident, $lane_outers:ident],
     $lanes:ident, $recent:ident, $dtype:expr) => {
        thread_local! {
            static $recent: RefCell<Recent<$t>> = const { RefCell::new(Recent::new()) };
        }

        impl Ring for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
        }

        impl Real for $t {
            const DTYPE: Dtype = $dtype;

            fn from_f64(x: f64) -> $t {
                x as $t
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn unary(f: &math::Unary, x: $t) -> $t {
                f.$t(x)
            }

            fn binary(f: &math::Binary, x: $t, y: $t) -> $t {
                f.$t(x, y)
            }

            fn ternary(f: &math::Ternary, x: $t, y: $t, z: $t) -> $t {
                f.$t(x, y, z)
            }

            fn unary_slice(f: &math::Unary, level: math::Level, x: &[$t], out: &mut [$t]) {
                f.$slice(level, x, out)
            }

            fn binary_slice(f: &math::Binary, level: math::Level, x: math::Arg<'_, $t>, y: math::Arg<'_, $t>, out: &mut [$t]) {
                f.$slice(level, x, y, out)
            }

            fn ternary_slice(f: &math::Ternary, x: math::Arg<'_, $t>, y: math::Arg<'_, $t>, z: math::Arg<'_, $t>, out: &mut [$t]) {
                f.$slice(x, y, z, out)
            }

            fn select_slice(level: math::Level, test: math::Arg<'_, $t>, x: math::Arg<'_, $t>, y: math::Arg<'_, $t>, out: &mut [$t]) {
                math::lanes::$select(level, test, x, y, out)
            }

            fn matrix_times(level: math::Level, matrix: &[$t], x: &[&[$t]], out: &mut [&mut [$t]]) {
                math::lanes::$matrix_times(level, matrix, x, out)
            }

            fn sum_of_products(level: math::Level, x: &[math::Arg<'_, $t>], y: &[math::Arg<'_, $t>], interleaved: bool, out: &mut [$t]) {
                math::lanes::$sum_of_products(level, x, y, interleaved, out)
            }

            fn product(
                level: math::Level,
                a: math::matrix::View<'_, $t>,
                b: math::matrix::View<'_, $t>,
                out: &mut [$t],
                room: &mut Vec<$t>,
            ) {
                math::matrix::$product(level, a, b, out, room)
            }

            fn products(level: math::Level, lanes: usize, a: Matrices<'_, $t>, b: Matrices<'_, $t>, out: &mut [$t], room: &mut Vec<$t>) {
                math::matrix::$products(level, lanes, a, b, out, room)
            }

            fn dot(level: math::Level, x: &[$t], y: &[$t]) -> $t {
                math::matrix::$dot(level, x, y)
            }

            fn sum(level: math::Level, x: &[$t]) -> $t {
                math::matrix::$sum(level, x)
            }

            fn lane_sums(level: math::Level, x: &[$t], out: &mut [$t]) {
                math::matrix::$lane_sums(level, x, out)
            }

            fn lane_outers(level: math::Level, x: &[$t], y: &[$t], out: &mut [$t]) {
                math::matrix::$lane_outers(level, x, y, out)
            }

            fn transpose(level: math::Level, x: &[$t], rows: usize, columns: usize, out: &mut [$t]) {
                math::matrix::$transpose(level, x, rows, columns, out)
            }

            fn det(a: &[$t], n: usize) -> $t {
                match n {
                    ..OWN => math::small::det_by_pivots(a, n),
                    // Zeros are skipped, and a NaN beside them.
                    _ if a.iter().any(|x| x.is_nan()) => <$t>::NAN,
                    _ => Factors::new(a, n).det(),
                }
            }

            fn solve(a: &[$t], n: usize, b: &[$t], columns: usize, out: &mut [$t]) {
                $recent.with_borrow_mut(|recent| recent.solve(a, n, b, columns, out));
            }

            fn solve_band(diagonals: &[&[$t]], below: usize, b: &[$t], out: &mut [$t]) {
                $recent.with_borrow_mut(|recent| recent.solve_band(diagonals, below, b, out));
            }

            fn kernel(k: &TensorKernel) -> TensorFn<$t> {
                k.$t
            }

            fn lane_kernel(k: &TensorKernel) -> Option<TensorFn<Block<$t>>> {
                k.$lanes
            }

            fn sqrt(self) -> $t {
                $t::sqrt(self)
            }

            fn abs(self) -> $t {
                $t::abs(self)
            }

            fn mul_add(self, a: $t, b: $t) -> $t {
                $t::mul_add(self, a, b)
            }

            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }

            fn next_up(self) -> $t {
                $t::next_up(self)
            }

            fn next_down(self) -> $t {
                $t::next_down(self)
            }
        }
    };
}

real!(
    f32,
    f32_slice,
    [select_f32, matrix_times_f32, sum_of_products_f32],
    [product_f32, products_f32, dot_f32, sum_f32, transpose_f32, lane_sums_f32, lane_outers_f32],
    lanes32,
    RECENT32,
    Dtype::F32
);
real!(
    f64,
    f64_slice,
    [select_f64, matrix_times_f64, sum_of_products_f64],
    [product_f64, products_f64, dot_f64, sum_f64, transpose_f64, lane_sums_f64, lane_outers_f64],
    lanes64,
    RECENT64,
    Dtype::F64
);
