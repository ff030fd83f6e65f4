//! One operation over a tile, value by value. In: the numbers of its arguments, lane after lane; out: those of its result.
//! Invariants: those of `whole`; long products look between their parts whether the run is still wanted.

use super::{Home, Step, Value};
use crate::exec::EvalError;
use crate::exec::lanes::code::is_move;
use crate::exec::lanes::tensor::operands;
use crate::ops::Op;
use crate::ops::real::{Real, quiet};
use crate::ops::row::{Kernel, TensorKernel};
use crate::shape::Shape;
use neural_compiler_math::matrix::Matrices;
use neural_compiler_math::{Arg, Level};

/// Sides of a value as a matrix; a vector is a column.
fn sides(shape: Shape) -> (usize, usize) {
    match shape {
        Shape::Matrix(r, c) => (r as usize, c as usize),
        Shape::Vector(n) => (n as usize, 1),
        Shape::Scalar => (1, 1),
    }
}

/// The numbers of one lane, or those all share.
fn of_lane<'v, T>(value: &Value, data: &'v [T], lane: usize) -> &'v [T] {
    if matches!(value.home, Home::Shared(_)) { data } else { &data[lane * value.len..(lane + 1) * value.len] }
}

impl Step {
    /// Runs it over a tile: `data` has the numbers of each argument.
    pub(super) fn run<T: Real>(
        &self,
        level: Level,
        lanes: usize,
        data: &[&[T]],
        out: &mut [T],
        room: &mut Vec<T>,
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        match &self.op.row().kernel {
            Kernel::Tensor(kernel) => return self.tensor(kernel, level, lanes, data, out, room, look),
            Kernel::Composite(_) => unreachable!("the verifier admits no composite node"),
            Kernel::Unary(f) => T::unary_slice(f, level, data[0], out),
            kernel @ (Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select) => {
                let n = self.out.len;
                // All lanes at once, where every argument is a number for all or as long as the result; else lane by lane, or so many short
                // ones that their arguments, written out, fill a block.
                let alike = self.args.iter().all(|a| if matches!(a.home, Home::Shared(_)) { a.len == 1 } else { a.len == n });
                let group = if alike { lanes } else { (BLOCK / n.max(1)).max(1) };
                if !alike && room.len() < self.args.len() * BLOCK {
                    room.resize(self.args.len() * BLOCK, T::ZERO);
                }
                for (piece, out) in out.chunks_mut((group * n).max(1)).enumerate() {
                    let mut blocks = room.chunks_mut(BLOCK);
                    let mut arg = |k: usize| self.argument(k, data, piece * group, out.len() / n, blocks.next().unwrap_or_default());
                    match kernel {
                        Kernel::Binary(f) => T::binary_slice(f, level, arg(0), arg(1), out),
                        Kernel::Ternary(f) => T::ternary_slice(f, arg(0), arg(1), arg(2), out),
                        _ => T::select_slice(level, arg(0), arg(1), arg(2), out),
                    }
                }
            }
        }
        Ok(())
    }

    /// An argument of some lanes from one on, as long as their results; where it is shorter and they are several, it is written out in
    /// `block`.
    fn argument<'a, T: Real>(&self, k: usize, data: &[&'a [T]], first: usize, lanes: usize, block: &'a mut [T]) -> Arg<'a, T> {
        let n = self.out.len;
        match (self.args[k].home, self.args[k].len) {
            (Home::Shared(_), 1) => Arg::Splat(data[k][0]),
            (Home::Shared(_), _) if lanes == 1 => Arg::Slice(data[k]),
            (Home::Shared(_), _) => {
                block[..lanes * n].chunks_exact_mut(n).for_each(|lane| lane.copy_from_slice(data[k]));
                Arg::Slice(&block[..lanes * n])
            }
            (_, len) if len == n => Arg::Slice(&data[k][first * n..(first + lanes) * n]),
            _ if lanes == 1 => Arg::Splat(data[k][first]),
            _ => {
                block[..lanes * n].chunks_exact_mut(n).zip(&data[k][first..]).for_each(|(lane, x)| lane.fill(*x));
                Arg::Slice(&block[..lanes * n])
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn tensor<T: Real>(
        &self,
        kernel: &TensorKernel,
        level: Level,
        lanes: usize,
        data: &[&[T]],
        out: &mut [T],
        room: &mut Vec<T>,
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let n = self.out.len;
        let lane = |k: usize, lane: usize| of_lane(&self.args[k], data[k], lane);
        match self.op {
            Op::Product => return self.product(level, lanes, data, out, room, look),
            Op::Dot => out.iter_mut().enumerate().for_each(|(l, o)| *o = T::dot(level, lane(0, l), lane(1, l))),
            Op::Total => out.iter_mut().enumerate().for_each(|(l, o)| *o = T::sum(level, lane(0, l))),
            Op::Outer => {
                let (rows, columns) = (self.args[0].len, self.args[1].len);
                let left =
                    Matrices { data: data[0], rows, columns: 1, turned: false, shared: matches!(self.args[0].home, Home::Shared(_)) };
                let right =
                    Matrices { data: data[1], rows: 1, columns, turned: false, shared: matches!(self.args[1].home, Home::Shared(_)) };
                T::products(level, lanes, left, right, out, room);
            }
            op => {
                for (l, out) in out.chunks_exact_mut(n.max(1)).enumerate().take(lanes) {
                    look()?;
                    match op {
                        Op::Spread => out.fill(lane(0, l)[0]),
                        Op::Transpose => {
                            let (rows, columns) = sides(self.shapes[0]);
                            T::transpose(level, lane(0, l), rows, columns, out);
                        }
                        _ => {
                            // Kernels that can fail are not admitted.
                            let done = operands(
                                &self.shapes,
                                |k| lane(k, l),
                                |operands| T::kernel(kernel)(operands, self.attr, self.out.shape, out),
                            );
                            debug_assert!(done.is_ok());
                        }
                    }
                    if !is_move(op) {
                        out.iter_mut().for_each(|x| *x = quiet(*x));
                    }
                }
            }
        }
        Ok(())
    }

    fn product<T: Real>(
        &self,
        level: Level,
        lanes: usize,
        data: &[&[T]],
        out: &mut [T],
        room: &mut Vec<T>,
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let matrices = |k: usize| {
            let (rows, columns) = sides(self.args[k].shape);
            Matrices { data: data[k], rows, columns, turned: self.args[k].turned, shared: matches!(self.args[k].home, Home::Shared(_)) }
        };
        let (a, b) = (matrices(0), matrices(1));
        let vector = matches!(self.args[1].shape, Shape::Vector(_)) && !b.turned;
        // A factor all lanes share meets the lanes of the other as rows of one matrix.
        let (a, b, count) = if b.shared && !a.turned {
            (Matrices { rows: lanes * a.rows, shared: true, ..a }, b, 1)
        } else if a.shared && vector {
            let rows = Matrices { data: data[1], rows: lanes, columns: b.rows, turned: false, shared: true };
            (rows, Matrices { turned: !a.turned, ..a }, 1)
        } else {
            (a, b, lanes)
        };
        let inner = if a.turned { a.rows } else { a.columns };
        let each = out.len() / count.max(1);
        let long = each.saturating_mul(inner.max(1));
        // Products computed before the next look, some hundredths of a second at most: fewer where vectors have no fused multiply-add.
        let at_once: usize = if level == Level::Baseline { 1 << 24 } else { 1 << 28 };
        if long <= at_once {
            for (from, out) in out.chunks_mut(each.max(1) * (at_once / long.max(1))).enumerate() {
                look()?;
                let first = from * (at_once / long.max(1));
                T::products(level, out.len() / each.max(1), some(a, first), some(b, first), out, room);
            }
            return Ok(());
        }
        for (l, out) in out.chunks_exact_mut(each).enumerate() {
            let (x, y) = (a.lane(l), b.lane(l));
            let columns = y.columns();
            let part = (at_once / (inner * columns).max(1)).next_multiple_of(8);
            for (k, out) in out.chunks_mut(part * columns).enumerate() {
                look()?;
                T::product(level, x.some_rows(k * part, out.len() / columns), y, out, room);
            }
        }
        Ok(())
    }
}

/// Numbers of arguments that are written out together.
const BLOCK: usize = 1024;

/// The matrices from a lane on.
fn some<T>(m: Matrices<'_, T>, lane: usize) -> Matrices<'_, T> {
    if m.shared { m } else { Matrices { data: &m.data[lane * m.rows * m.columns..], ..m } }
}
