//! Kernels on whole values: vectors and matrices. In: operands; out: numbers of the result, row by row.
//! Invariants: sums run from the first element to the last, each `+` and `*` rounded on its own, so that a `dot` is bit for bit
//! the sum of products a user would write; no kernel allocates more than its operands' size or panics on any numbers.

use crate::ops::lu;
use crate::ops::real::{Real, Ring};
use crate::ops::row::{KernelError, Operand};
use crate::shape::Shape;

type Out = Result<(), KernelError>;

fn rows_columns(shape: Shape) -> (usize, usize) {
    match shape {
        Shape::Matrix(r, c) => (r as usize, c as usize),
        Shape::Vector(n) => (n as usize, 1),
        Shape::Scalar => (1, 1),
    }
}

fn sum<T: Ring>(mut terms: impl Iterator<Item = T>) -> T {
    let first = terms.next().unwrap_or(T::ZERO);
    terms.fold(first, |a, b| a + b)
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
pub(crate) fn total<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out[0] = sum(args[0].data.iter().copied());
    Ok(())
}

/// Sum of products.
pub(crate) fn dot<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    out[0] = sum(args[0].data.iter().zip(args[1].data).map(|(&a, &b)| a * b));
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
pub(crate) fn matmul<T: Ring>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (rows, inner) = rows_columns(args[0].shape);
    let (_, columns) = rows_columns(args[1].shape);
    let (a, b) = (args[0].data, args[1].data);
    for i in (0..rows).step_by(ROWS) {
        let n = ROWS.min(rows - i);
        for j in 0..columns {
            // Sums do not wait for each other, so several rows at once take the time of one.
            let mut sums = [T::ZERO; ROWS];
            for k in 0..inner {
                let x = b[k * columns + j];
                for (r, s) in sums[..n].iter_mut().enumerate() {
                    let product = a[(i + r) * inner + k] * x;
                    *s = if k == 0 { product } else { *s + product };
                }
            }
            sums[..n].iter().enumerate().for_each(|(r, &s)| out[(i + r) * columns + j] = s);
        }
    }
    Ok(())
}

/// Rows of a product that are summed side by side.
const ROWS: usize = 8;

/// Rows become columns.
pub(crate) fn transpose<T: Copy>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
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
    out[0] = sum(args[0].data.iter().step_by(c + 1).copied());
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

/// Length of a vector within 1 ULP, without overflow or underflow on the way: the vector is scaled by a power of two and its
/// squares are summed with their rounding errors.
pub(crate) fn norm<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let v = args[0].data;
    let infinity = T::from_f64(f64::INFINITY);
    let largest = v.iter().fold(T::ZERO, |m, &x| if x.abs() > m { x.abs() } else { m });
    out[0] = if largest == infinity {
        infinity
    } else if v.iter().any(|x| x.is_nan()) {
        T::from_f64(f64::NAN)
    } else if largest == T::ZERO {
        T::ZERO
    } else {
        let scale = largest.binade();
        let (mut high, mut low) = (T::ZERO, T::ZERO);
        for &x in v {
            let x = x / scale;
            let square = x * x;
            low = low + x.mul_add(x, -square);
            let sum = high + square;
            let back = sum - high;
            low = low + ((high - (sum - back)) + (square - back));
            high = sum;
        }
        let root = high.sqrt();
        let correction = ((-root).mul_add(root, high) + low) / (root + root);
        (root + correction) * scale
    };
    Ok(())
}

/// `a b - c d` within 1.5 ULP (Kahan).
fn difference_of_products<T: Real>(a: T, b: T, c: T, d: T) -> T {
    let cd = c * d;
    let error = (-c).mul_add(d, cd);
    a.mul_add(b, -cd) + error
}

fn det_of<T: Real>(a: &[T], n: usize) -> T {
    match n {
        0 => T::ONE,
        1 => a[0],
        2 => difference_of_products(a[0], a[3], a[1], a[2]),
        3 => {
            let minor = |i: usize, j: usize| difference_of_products(a[3 + i], a[6 + j], a[3 + j], a[6 + i]);
            a[0] * minor(1, 2) - a[1] * minor(0, 2) + a[2] * minor(0, 1)
        }
        _ => lu::det(a, n),
    }
}

/// Determinant: closed form up to 3 by 3, LU beyond.
pub(crate) fn det<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    out[0] = det_of(args[0].data, n);
    Ok(())
}

/// Minors are computed one by one up to this size, which keeps them finite where the matrix is singular.
const MINORS: usize = 6;

/// A square matrix without some rows and columns.
fn without<T: Real>(a: &[T], n: usize, rows: &[usize], columns: &[usize]) -> Vec<T> {
    let kept = (0..n).filter(|r| !rows.contains(r)).flat_map(|r| (0..n).filter(|c| !columns.contains(c)).map(move |c| a[r * n + c]));
    kept.collect()
}

fn signed<T: Real>(x: T, odd: bool) -> T {
    if odd { -x } else { x }
}

fn inverse<T: Real>(a: &[T], n: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; n * n];
    lu::solve(a, n, &identity(n), n, &mut out);
    out
}

/// Matrix of cofactors, the derivative of `det`; beyond the size of minors, `det` times the transposed inverse.
pub(crate) fn cofactor<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    let a = args[0].data;
    if n <= MINORS {
        for i in 0..n {
            for j in 0..n {
                out[i * n + j] = signed(det_of(&without(a, n, &[i], &[j]), n - 1), (i + j) % 2 == 1);
            }
        }
    } else {
        let (d, y) = (lu::det(a, n), inverse(a, n));
        for i in 0..n {
            for j in 0..n {
                out[i * n + j] = d * y[j * n + i];
            }
        }
    }
    Ok(())
}

/// The derivative of the cofactors of the first matrix along the second.
pub(crate) fn cofactor_along<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    let (a, t) = (args[0].data, args[1].data);
    if n <= MINORS {
        for i in 0..n {
            for j in 0..n {
                let terms = (0..n).filter(|&k| k != i).flat_map(|k| (0..n).filter(|&l| l != j).map(move |l| (k, l)));
                out[i * n + j] = sum(terms.map(|(k, l)| {
                    // Rows and columns behind the deleted ones move up by one.
                    let odd = (i + j + k - usize::from(k > i) + l - usize::from(l > j)) % 2 == 1;
                    t[k * n + l] * signed(det_of(&without(a, n, &[i, k], &[j, l]), n - 2), odd)
                }));
            }
        }
    } else {
        let (d, y) = (lu::det(a, n), inverse(a, n));
        let slope = sum((0..n * n).map(|k| d * y[(k % n) * n + k / n] * t[k]));
        let product = |x: &[T], z: &[T]| -> Vec<T> { (0..n * n).map(|k| sum((0..n).map(|m| x[k / n * n + m] * z[m * n + k % n]))).collect() };
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
    lu::solve(args[0].data, n, &identity(n), n, out);
    Ok(())
}

/// Solution of a linear system; NaN everywhere for a singular matrix.
pub(crate) fn solve<T: Real>(args: &[Operand<'_, T>], _: u32, _: Shape, out: &mut [T]) -> Out {
    let (n, _) = rows_columns(args[0].shape);
    let (_, columns) = rows_columns(args[1].shape);
    lu::solve(args[0].data, n, args[1].data, columns, out);
    Ok(())
}
