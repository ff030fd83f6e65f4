//! A product of matrices, some rows at a time. In: the operands of a product; out: its numbers, and between the rows a look at whether the
//! run is still wanted. Invariant: every number is the sum the kernel makes of it, whatever rows are computed together.

use crate::ops::row::{KernelError, Operand, TensorFn};
use crate::shape::Shape;

/// Products computed before the next look: some hundredths of a second.
const AT_ONCE: usize = 1 << 24;

/// The shape of some rows of a value.
fn rows_of(shape: Shape, rows: usize) -> Shape {
    match shape {
        Shape::Matrix(_, c) => Shape::Matrix(rows as u32, c),
        Shape::Vector(_) | Shape::Scalar => Shape::Vector(rows as u32),
    }
}

/// Runs the kernel of a product; `look` is called before every part of it but the first.
pub(crate) fn by_rows<N: Copy, E>(
    kernel: TensorFn<N>,
    operands: &[Operand<'_, N>],
    shape: Shape,
    out: &mut [N],
    mut look: impl FnMut() -> Result<(), E>,
) -> Result<Result<(), KernelError>, E> {
    let (left, right) = (operands[0], operands[1]);
    let Shape::Matrix(rows, inner) = left.shape else { return Ok(kernel(operands, 0, shape, out)) };
    let (rows, inner) = (rows as usize, inner as usize);
    let columns = out.len() / rows.max(1);
    // The kernel takes eight rows side by side.
    let part = (AT_ONCE / (inner * columns).max(1)).next_multiple_of(8);
    for from in (0..rows).step_by(part) {
        if from > 0 {
            look()?;
        }
        let n = part.min(rows - from);
        let some = Operand { data: &left.data[from * inner..(from + n) * inner], shape: rows_of(left.shape, n) };
        let done = kernel(&[some, right], 0, rows_of(shape, n), &mut out[from * columns..(from + n) * columns]);
        if done.is_err() {
            return Ok(done);
        }
    }
    Ok(Ok(()))
}
