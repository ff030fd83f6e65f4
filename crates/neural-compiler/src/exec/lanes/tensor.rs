//! Operations on whole values over a tile: block by block of lanes where the kernel is made of sums and products, lane by lane
//! where it is not. The kernels are the interpreter's own, so the bits are.

use super::memory::{Base, Memory};
use crate::ops::block::{Block, LANES};
use crate::ops::real::Real;
use crate::ops::row::{KernelError, Operand, TensorKernel};
use crate::shape::Shape;
use crate::tape::{Place, Rate};

fn canonical<T: Real>(x: T) -> T {
    if x.is_nan() { T::from_f64(f64::NAN) } else { x }
}

/// An application of a tensor kernel.
pub(super) struct Application<'a> {
    pub(super) kernel: &'a TensorKernel,
    pub(super) attr: u32,
    pub(super) args: &'a [Place],
    pub(super) shapes: &'a [Shape],
    pub(super) out: Place,
    pub(super) shape: Shape,
}

impl Application<'_> {
    /// Once, on uniform values.
    pub(super) fn once<T: Real>(&self, memory: &mut Memory<T>, base: Base) -> Result<(), KernelError> {
        let mut out = vec![T::ZERO; self.shape.len()];
        let operands: Vec<Operand<'_, T>> = self
            .args
            .iter()
            .zip(self.shapes)
            .map(|(p, &shape)| Operand { data: &memory.uniform[base.uniform + p.at as usize..][..p.len as usize], shape })
            .collect();
        T::kernel(self.kernel)(&operands, self.attr, self.shape, &mut out)?;
        let at = base.uniform + self.out.at as usize;
        memory.uniform[at..at + out.len()].iter_mut().zip(out).for_each(|(o, x)| *o = canonical(x));
        Ok(())
    }

    /// Over a tile. Lanes that have no result are named to `fail`.
    pub(super) fn over<T: Real>(&self, memory: &mut Memory<T>, base: Base, lanes: usize, active: Option<&[bool]>, fail: impl FnMut(usize, KernelError, f64)) {
        match T::lane_kernel(self.kernel) {
            Some(kernel) => self.by_blocks(memory, base, lanes, kernel),
            None => self.by_lanes(memory, base, lanes, active, fail),
        }
    }

    fn by_blocks<T: Real>(&self, memory: &mut Memory<T>, base: Base, lanes: usize, kernel: crate::ops::row::TensorFn<Block<T>>) {
        let mut args: Vec<Vec<Block<T>>> = self.args.iter().map(|p| vec![Block([T::ZERO; LANES]); p.len as usize]).collect();
        let mut out = vec![Block([T::ZERO; LANES]); self.shape.len()];
        for from in (0..lanes).step_by(LANES) {
            let n = LANES.min(lanes - from);
            for (blocks, &place) in args.iter_mut().zip(self.args) {
                if place.rate == Rate::Uniform && from > 0 {
                    continue;
                }
                for (k, block) in blocks.iter_mut().enumerate() {
                    match place.rate {
                        Rate::Uniform => block.0 = [memory.uniform[base.uniform + place.at as usize + k]; LANES],
                        Rate::Varying => block.0[..n].copy_from_slice(&memory.lanes(base.varying + place.at as usize + k)[from..from + n]),
                    }
                }
            }
            let operands: Vec<Operand<'_, Block<T>>> = args.iter().zip(self.shapes).map(|(b, &shape)| Operand { data: b, shape }).collect();
            // Kernels of sums and products have no error to report.
            let done = kernel(&operands, self.attr, self.shape, &mut out);
            debug_assert!(done.is_ok());
            for (k, block) in out.iter().enumerate() {
                let target = &mut memory.lanes_mut(base.varying + self.out.at as usize + k)[from..from + n];
                target.iter_mut().zip(block.0).for_each(|(o, x)| *o = canonical(x));
            }
        }
    }

    fn by_lanes<T: Real>(&self, memory: &mut Memory<T>, base: Base, lanes: usize, active: Option<&[bool]>, mut fail: impl FnMut(usize, KernelError, f64)) {
        let mut args: Vec<Vec<T>> = self.args.iter().map(|p| vec![T::ZERO; p.len as usize]).collect();
        let mut out = vec![T::ZERO; self.shape.len()];
        let kernel = T::kernel(self.kernel);
        for lane in (0..lanes).filter(|&l| active.is_none_or(|m| m[l])) {
            for (numbers, &place) in args.iter_mut().zip(self.args) {
                numbers.iter_mut().enumerate().for_each(|(k, x)| *x = memory.at(place, base, k, lane));
            }
            let operands: Vec<Operand<'_, T>> = args.iter().zip(self.shapes).map(|(a, &shape)| Operand { data: a, shape }).collect();
            if let Err(e) = kernel(&operands, self.attr, self.shape, &mut out) {
                fail(lane, e, operands.last().map_or(0.0, |o| o.data[0].to_f64()));
                out.fill(T::from_f64(f64::NAN));
            }
            for (k, &x) in out.iter().enumerate() {
                memory.lanes_mut(base.varying + self.out.at as usize + k)[lane] = canonical(x);
            }
        }
    }
}
