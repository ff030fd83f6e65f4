//! Kernels on whole values: vectors and matrices. In: operands; out: numbers of the result, row by row.
//! Invariants: sums are made in one order (`neural_compiler_math::matrix` says which), whoever makes them; kernels of bounds keep it, and
//! round products and sums on their own, outwards; no kernel allocates more than its operands' size or panics on any numbers.

use crate::ops::real::{Number, Real, Ring};
use crate::ops::row::{KernelError, Operand};
use crate::shape::Shape;
use neural_compiler_math::Level;
use neural_compiler_math::matrix::{INTERLEAVED, PARTIAL, View};
use neural_compiler_math::small;

type Out = Result<(), KernelError>;

fn rows_columns(shape: Shape) -> (usize, usize) {
    match shape {
        Shape::Matrix(r, c) => (r as usize, c as usize),
        Shape::Vector(n) => (n as usize, 1),
        Shape::Scalar => (1, 1),
    }
}

/// From the first to the last.
fn in_turn<T: Ring>(mut terms: impl Iterator<Item = T>) -> T {
    let first = terms.next().unwrap_or(T::ZERO);
    terms.fold(first, |a, b| a + b)
}

/// The sum of so many terms: short ones in turn, long ones as partial sums that are added by halves.
fn sum<T: Ring>(count: usize, term: impl Fn(usize) -> T) -> T {
    if count < INTERLEAVED {
        return in_turn((0..count).map(term));
    }
    let mut sums: [T; PARTIAL] = std::array::from_fn(|p| in_turn((p..count).step_by(PARTIAL).map(&term)));
    let mut half = PARTIAL / 2;
    while half > 0 {
        (0..half).for_each(|i| sums[i] = sums[i] + sums[i + half]);
        half /= 2;
    }
    sums[0]
}

/// All arguments one after another.
pub(crate) fn join<T: Copy>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let mut at = 0;
    for a in args {
        out[at..at + a.data.len()].copy_from_slice(a.data);
        at += a.data.len();
    }
    Ok(())
}

/// A run of elements starting at the attribute.
pub(crate) fn cut<T: Copy>(args: &[Operand<'_, T>], start: u32, _: Shape, out: &mut [T]) -> Out {
    let start = start as usize;
    out.copy_from_slice(&args[0].data[start..start + out.len()]);
    Ok(())
}

/// Zeros, with the argument placed at the attribute.
pub(crate) fn place<T: Ring>(args: &[Operand<'_, T>], start: u32, _: Shape, out: &mut [T]) -> Out {
    out.fill(T::ZERO);
    let start = start as usize;
    out[start..start + args[0].data.len()].copy_from_slice(args[0].data);
    Ok(())
}

/// One number everywhere.
pub(crate) fn fill<T: Copy>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out.fill(args[0].data[0]);
    Ok(())
}

/// The identity matrix.
pub(crate) fn eye<T: Ring>(_: &[Operand<'_, T>], _: u32, shape: Shape, out: &mut [T]) -> Out {
    let (_, c) = rows_columns(shape);
    out.fill(T::ZERO);
    out.iter_mut().step_by(c + 1).for_each(|d| *d = T::ONE);
    Ok(())
}

/// Sum of all elements.
pub(crate) fn total<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out[0] = T::sum(Level::best(), args[0].data);
    Ok(())
}

/// The same of lanes, or of bounds.
pub(crate) fn total_of<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out[0] = sum(args[0].data.len(), |k| args[0].data[k]);
    Ok(())
}

/// Sum of products.
pub(crate) fn dot<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out[0] = T::dot(Level::best(), args[0].data, args[1].data);
    Ok(())
}

/// Bounds of that.
pub(crate) fn dot_bounds<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out[0] = sum(args[0].data.len(), |k| args[0].data[k] * args[1].data[k]);
    Ok(())
}

/// Vector product in three dimensions.
pub(crate) fn cross<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (a, b) = (args[0].data, args[1].data);
    for (i, x) in out.iter_mut().enumerate() {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        *x = a[j] * b[k] - a[k] * b[j];
    }
    Ok(())
}

/// Matrix times matrix, or matrix times vector.
pub(crate) fn matmul<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let view = |o: &Operand<'_, T>| rows_columns(o.shape);
    let ((rows, inner), (_, columns)) = (view(&args[0]), view(&args[1]));
    T::product(Level::best(), View::new(args[0].data, rows, inner), View::new(args[1].data, inner, columns), out, &mut Vec::new());
    Ok(())
}

/// Bounds of that.
pub(crate) fn matmul_bounds<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let ((_, inner), (_, columns)) = (rows_columns(args[0].shape), rows_columns(args[1].shape));
    let (a, b) = (args[0].data, args[1].data);
    for (o, x) in out.iter_mut().enumerate() {
        *x = in_turn((0..inner).map(|k| a[o / columns * inner + k] * b[k * columns + o % columns]));
    }
    Ok(())
}

/// Rows become columns.
pub(crate) fn transpose<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (rows, columns) = rows_columns(args[0].shape);
    T::transpose(Level::best(), args[0].data, rows, columns, out);
    Ok(())
}

/// The same of lanes, or of bounds.
pub(crate) fn transpose_of<T: Copy>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (rows, columns) = rows_columns(args[0].shape);
    for i in 0..rows {
        for j in 0..columns {
            out[j * rows + i] = args[0].data[i * columns + j];
        }
    }
    Ok(())
}

/// Sum of the diagonal.
pub(crate) fn trace<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (_, c) = rows_columns(args[0].shape);
    out[0] = sum(args[0].data.len().div_ceil(c + 1), |k| args[0].data[k * (c + 1)]);
    Ok(())
}

/// Every product of an element of one and an element of the other.
pub(crate) fn outer<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (a, b) = (args[0].data, args[1].data);
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            out[i * b.len() + j] = x * y;
        }
    }
    Ok(())
}

fn whole_index<T: Real>(i: T, length: usize) -> Result<usize, KernelError> {
    let i = i.to_f64();
    if i >= 0.0 && i < length as f64 && i.trunc() == i { Ok(i as usize) } else { Err(KernelError::IndexOutOfRange) }
}

/// Element of a vector or row of a matrix at a computed index.
pub(crate) fn cut_at<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (length, _) = rows_columns(args[0].shape);
    let i = whole_index(args[1].data[0], length)?;
    out.copy_from_slice(&args[0].data[i * out.len()..(i + 1) * out.len()]);
    Ok(())
}

/// Zeros, with the argument placed at a computed index.
pub(crate) fn place_at<T: Real>(args: &[Operand<'_, T>], _: u32, shape: Shape, out: &mut [T]) -> Out {
    let (length, _) = rows_columns(shape);
    let i = whole_index(args[1].data[0], length)?;
    out.fill(T::ZERO);
    let n = args[0].data.len();
    out[i * n..(i + 1) * n].copy_from_slice(args[0].data);
    Ok(())
}

/// Length of a vector.
pub(crate) fn norm<T: Number>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out[0] = small::norm(args[0].data, T::ZERO);
    Ok(())
}

fn det_of<T: Number>(a: &[T], n: usize) -> T {
    if n <= small::CLOSED { small::closed_det(a, n, T::ZERO) } else { T::det(a, n) }
}

/// Determinant: closed form up to 3 by 3, LU beyond.
pub(crate) fn det<T: Number>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    out[0] = det_of(args[0].data, n);
    Ok(())
}

/// Minors are computed one by one up to this size, which keeps them finite where the matrix is singular.
pub(crate) const MINORS: usize = 6;

fn inverse<T: Real>(a: &[T], n: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; n * n];
    T::solve(a, n, &identity(n), n, &mut out);
    out
}

/// Matrix of cofactors, the derivative of `det`; beyond the size of minors, `det` times the transposed inverse.
pub(crate) fn cofactor<T: Number>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    let a = args[0].data;
    if n <= MINORS {
        out.copy_from_slice(&small::cofactors(a, n, det_of));
    } else {
        let (d, y) = (T::det(a, n), inverse(a, n));
        for i in 0..n {
            for j in 0..n {
                out[i * n + j] = d * y[j * n + i];
            }
        }
    }
    Ok(())
}

/// The derivative of the cofactors of the first matrix along the second.
pub(crate) fn cofactor_along<T: Number>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    let (a, t) = (args[0].data, args[1].data);
    if n <= MINORS {
        out.copy_from_slice(&small::cofactors_along(a, t, n, det_of));
    } else {
        let (d, y) = (T::det(a, n), inverse(a, n));
        let slope = sum(n * n, |k| d * y[(k % n) * n + k / n] * t[k]);
        let product = |x: &[T], z: &[T]| -> Vec<T> {
            let mut out = vec![T::ZERO; n * n];
            T::product(Level::best(), View::new(x, n, n), View::new(z, n, n), &mut out, &mut Vec::new());
            out
        };
        let turned = product(&product(&y, t), &y);
        for i in 0..n {
            for j in 0..n {
                out[i * n + j] = slope * y[j * n + i] - d * turned[j * n + i];
            }
        }
    }
    Ok(())
}

fn identity<T: Real>(n: usize) -> Vec<T> {
    (0..n * n).map(|k| if k % (n + 1) == 0 { T::ONE } else { T::ZERO }).collect()
}

/// Inverse; NaN everywhere for a singular matrix.
pub(crate) fn inv<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    T::solve(args[0].data, n, &identity(n), n, out);
    Ok(())
}

/// Solution of a linear system; NaN everywhere for a singular matrix.
pub(crate) fn solve<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    let (_, columns) = rows_columns(args[1].shape);
    T::solve(args[0].data, n, args[1].data, columns, out);
    Ok(())
}

/// Solution of a linear system given by diagonals, the right-hand side last; the attribute says how many are below the main one.
pub(crate) fn solve_band<T: Real>(args: &[Operand<'_, T>], below: u32, _: Shape, out: &mut [T]) -> Out {
    let [diagonals @ .., right] = args else { return Ok(()) };
    let mut few = [&[][..]; 8];
    let many: Vec<&[T]>;
    let diagonals = if diagonals.len() <= few.len() {
        few.iter_mut().zip(diagonals).for_each(|(f, d)| *f = d.data);
        &few[..diagonals.len()]
    } else {
        many = diagonals.iter().map(|d| d.data).collect();
        &many
    };
    T::solve_band(diagonals, below as usize, right.data, out);
    Ok(())
}
