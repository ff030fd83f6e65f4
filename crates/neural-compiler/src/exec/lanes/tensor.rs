//! Operations on whole values over a tile: sums of products number by number over all lanes, other sums and products block by block of
//! lanes, what is made of neither lane by lane, and a matrix all lanes share times a value of each lane with the matrix read once. The
//! kernels are the interpreter's own, or sum in the same order, so the bits are the same.

use super::memory::{Base, Memory};
use crate::exec::room::{is_there, make_room, no_memory};
use crate::exec::{EvalError, product};
use crate::ops::Op;
use crate::ops::block::{Block, LANES};
use crate::ops::real::{Real, quiet};
use crate::ops::row::{KernelError, Operand, TensorFn, TensorKernel};
use crate::ops::work::scratch;
use crate::shape::Shape;
use crate::source::Span;
use crate::tape::{Place, Rate};
use neural_compiler_math::Level;
use neural_compiler_math::matrix::INTERLEAVED;

/// An application of a tensor kernel.
pub(super) struct Application<'a> {
    pub(super) op: Op,
    pub(super) kernel: &'a TensorKernel,
    pub(super) attr: u32,
    pub(super) args: &'a [Place],
    pub(super) shapes: &'a [Shape],
    pub(super) out: Place,
    pub(super) shape: Shape,
}

/// What a kernel says of its result.
pub(super) type Done = Result<(), KernelError>;

/// How an application goes over a tile.
enum Way<T> {
    /// A matrix all lanes share times a value of each lane.
    Shared,
    /// Sums of products, lanes side by side.
    Products,
    Blocks(TensorFn<Block<T>>),
    Lanes,
}

/// Below this many lanes, blocks of lanes would be mostly empty.
const FEW_LANES: usize = LANES / 2;

impl Application<'_> {
    /// Room for the numbers of an application over a tile, or once; the bytes held and those the kernel takes itself. Charged before it is
    /// taken.
    pub(super) fn room<T: Real>(
        &self,
        memory: &mut Memory<T>,
        check: impl Fn(usize) -> Result<(), EvalError>,
        span: Span,
    ) -> Result<(), EvalError> {
        let args: usize = self.args.iter().map(|p| p.len as usize).sum();
        let all = args.saturating_add(self.shape.len());
        let (blocks, numbers) = match (self.out.rate, self.way::<T>(memory)) {
            (Rate::Uniform, _) => (0, self.shape.len()),
            (Rate::Varying, Way::Shared) => (0, self.args[0].len as usize),
            (Rate::Varying, Way::Products) => (0, 0),
            (Rate::Varying, Way::Blocks(_)) => (all, 0),
            (Rate::Varying, Way::Lanes) => (0, all),
        };
        let own = (scratch(self.op, self.shapes.iter().copied()) as usize).saturating_mul(size_of::<T>());
        check(own.saturating_add(blocks.saturating_mul(size_of::<Block<T>>())).saturating_add(numbers.saturating_mul(size_of::<T>())))?;
        memory.blocks.clear();
        memory.numbers.clear();
        make_room(&mut memory.blocks, blocks, span)?;
        make_room(&mut memory.numbers, numbers, span)?;
        if is_there(own) { Ok(()) } else { Err(no_memory(own, span)) }
    }

    /// How the application goes over a tile.
    fn way<T: Real>(&self, memory: &Memory<T>) -> Way<T> {
        let few = memory.lane_count() < FEW_LANES;
        match (self.op, T::lane_kernel(self.kernel)) {
            _ if few => Way::Lanes,
            (Op::Product, _) if self.args[0].rate == Rate::Uniform => Way::Shared,
            (Op::Product | Op::Dot, _) => Way::Products,
            (_, Some(kernel)) => Way::Blocks(kernel),
            (_, None) => Way::Lanes,
        }
    }

    /// The kernel on one lane, or on what all share.
    fn compute<T: Real>(
        &self,
        operands: &[Operand<'_, T>],
        out: &mut [T],
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<Done, EvalError> {
        match self.op {
            Op::Product => product::by_rows(T::kernel(self.kernel), operands, self.shape, out, look),
            _ => Ok(T::kernel(self.kernel)(operands, self.attr, self.shape, out)),
        }
    }

    /// Once, on uniform values.
    pub(super) fn once<T: Real>(
        &self,
        memory: &mut Memory<T>,
        base: Base,
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<Done, EvalError> {
        let mut out = std::mem::take(&mut memory.numbers);
        out.clear();
        out.resize(self.shape.len(), T::ZERO);
        let data = |k: usize| &memory.uniform[base.uniform + self.args[k].at as usize..][..self.args[k].len as usize];
        let done = operands(self.shapes, data, |operands| self.compute(operands, &mut out, look));
        let at = base.uniform + self.out.at as usize;
        if let Ok(Ok(())) = done {
            memory.uniform[at..at + out.len()].iter_mut().zip(&out).for_each(|(o, &x)| *o = quiet(x));
        }
        memory.numbers = out;
        done
    }

    /// Over a tile. Lanes that have no result are named to `fail`, with the number at fault.
    pub(super) fn over<T: Real>(
        &self,
        memory: &mut Memory<T>,
        base: Base,
        level: Level,
        active: Option<&[bool]>,
        fail: impl FnMut(usize, f64),
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        match self.way(memory) {
            Way::Shared => self.shared_matrix(memory, base, level, look),
            Way::Products => self.products(memory, base, level, look),
            Way::Blocks(kernel) => self.by_blocks(memory, base, kernel, look),
            Way::Lanes => self.by_lanes(memory, base, active, fail, look),
        }
    }

    /// A matrix all lanes share times a vector or matrix of each lane.
    fn shared_matrix<T: Real>(
        &self,
        memory: &mut Memory<T>,
        base: Base,
        level: Level,
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let (Shape::Matrix(rows, inner), columns) = (self.shapes[0], if let Shape::Matrix(_, c) = self.shapes[1] { c as usize } else { 1 })
        else {
            unreachable!("the left factor is a matrix");
        };
        let mut matrix = std::mem::take(&mut memory.numbers);
        matrix.clear();
        matrix.extend_from_slice(&memory.uniform[base.uniform + self.args[0].at as usize..][..self.args[0].len as usize]);
        for c in 0..columns {
            look()?;
            let slot = |place: Place, k: usize| base.varying + place.at as usize + k * columns + c;
            memory.matrix_times(
                level,
                &matrix,
                (0..inner as usize).map(|k| slot(self.args[1], k)),
                (0..rows as usize).map(|r| slot(self.out, r)),
            );
        }
        memory.numbers = matrix;
        Ok(())
    }

    /// A product of matrices or a dot product, number by number of the result.
    fn products<T: Real>(
        &self,
        memory: &mut Memory<T>,
        base: Base,
        level: Level,
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let columns = |shape: Shape| if let Shape::Matrix(_, c) = shape { c as usize } else { 1 };
        let (terms, width) =
            if self.op == Op::Dot { (self.shapes[0].len(), 1) } else { (columns(self.shapes[0]), columns(self.shapes[1])) };
        let interleaved = self.op == Op::Dot && terms >= INTERLEAVED;
        for o in 0..self.shape.len() {
            if o % width == 0 {
                look()?;
            }
            let source = |k: usize, at: usize| Memory::<T>::source(self.args[k], at);
            let pair = |k: usize| (source(0, o / width * terms + k), source(1, k * width + o % width));
            memory.sum_of_products(level, terms, pair, base, self.out.at + o as u32, interleaved);
        }
        Ok(())
    }

    fn by_blocks<T: Real>(
        &self,
        memory: &mut Memory<T>,
        base: Base,
        kernel: TensorFn<Block<T>>,
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let lanes = memory.lane_count();
        // All arguments, then the result, in one buffer that is kept.
        let mut blocks = std::mem::take(&mut memory.blocks);
        let total: usize = self.args.iter().map(|p| p.len as usize).sum();
        blocks.clear();
        blocks.resize(total + self.shape.len(), Block([T::ZERO; LANES]));
        for from in (0..lanes).step_by(LANES) {
            look()?;
            let n = LANES.min(lanes - from);
            let mut at = 0;
            for &place in self.args {
                let own = &mut blocks[at..at + place.len as usize];
                at += own.len();
                if place.rate == Rate::Uniform && from > 0 {
                    continue;
                }
                for (k, block) in own.iter_mut().enumerate() {
                    match place.rate {
                        Rate::Uniform => block.0 = [memory.uniform[base.uniform + place.at as usize + k]; LANES],
                        Rate::Varying => block.0[..n].copy_from_slice(&memory.lanes(base.varying + place.at as usize + k)[from..from + n]),
                    }
                }
            }
            let (args, out) = blocks.split_at_mut(total);
            // Kernels of sums and products have no error to report.
            let done = with_operands(args, self.args, self.shapes, |operands| kernel(operands, self.attr, self.shape, out));
            debug_assert!(done.is_ok());
            for (k, block) in out.iter().enumerate() {
                let target = &mut memory.lanes_mut(base.varying + self.out.at as usize + k)[from..from + n];
                target.iter_mut().zip(block.0).for_each(|(o, x)| *o = quiet(x));
            }
        }
        memory.blocks = blocks;
        Ok(())
    }

    fn by_lanes<T: Real>(
        &self,
        memory: &mut Memory<T>,
        base: Base,
        active: Option<&[bool]>,
        mut fail: impl FnMut(usize, f64),
        look: &mut dyn FnMut() -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let mut numbers = std::mem::take(&mut memory.numbers);
        let total: usize = self.args.iter().map(|p| p.len as usize).sum();
        numbers.clear();
        numbers.resize(total + self.shape.len(), T::ZERO);
        let mut brought = false;
        for lane in (0..memory.lane_count()).filter(|&l| active.is_none_or(|m| m[l])) {
            let mut at = 0;
            for &place in self.args {
                let own = &mut numbers[at..at + place.len as usize];
                at += own.len();
                match place.rate {
                    Rate::Uniform if brought => {}
                    Rate::Uniform => own.copy_from_slice(&memory.uniform[base.uniform + place.at as usize..][..place.len as usize]),
                    Rate::Varying => own.iter_mut().enumerate().for_each(|(k, x)| *x = memory.at(place, base, k, lane)),
                }
            }
            brought = true;
            let (args, out) = numbers.split_at_mut(total);
            let done = with_operands(args, self.args, self.shapes, |operands| self.compute(operands, out, look))?;
            if done.is_err() {
                fail(lane, args.last().map_or(0.0, |x| x.to_f64()));
                out.fill(T::from_f64(f64::NAN));
            }
            for (k, &x) in out.iter().enumerate() {
                memory.lanes_mut(base.varying + self.out.at as usize + k)[lane] = quiet(x);
            }
        }
        memory.numbers = numbers;
        Ok(())
    }
}

/// Arguments that need no allocation.
const FEW_OPERANDS: usize = 16;

/// Hands on operands with data from `data(k)`.
pub(super) fn operands<'d, N: Copy + 'd, R>(
    shapes: &[Shape],
    mut data: impl FnMut(usize) -> &'d [N],
    f: impl FnOnce(&[Operand<'_, N>]) -> R,
) -> R {
    if shapes.len() > FEW_OPERANDS {
        return f(&shapes.iter().enumerate().map(|(k, &shape)| Operand { data: data(k), shape }).collect::<Vec<_>>());
    }
    let mut few = [Operand { data: &[], shape: Shape::Scalar }; FEW_OPERANDS];
    few.iter_mut().zip(shapes).enumerate().for_each(|(k, (o, &shape))| *o = Operand { data: data(k), shape });
    f(&few[..shapes.len()])
}

/// Cuts arguments that stand one after the other apart.
fn with_operands<N: Copy, R>(numbers: &[N], places: &[Place], shapes: &[Shape], f: impl FnOnce(&[Operand<'_, N>]) -> R) -> R {
    let mut at = 0;
    let next = |k: usize| {
        at += places[k].len as usize;
        &numbers[at - places[k].len as usize..at]
    };
    operands(shapes, next, f)
}
