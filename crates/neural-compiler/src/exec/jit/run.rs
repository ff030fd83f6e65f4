//! Runs generated code over a batch. In: columns of inputs; out: columns of results, or word that the lane engine must do it.
//!
//! Contiguous inputs are read, and scalar results written, where the caller has them; other columns go through a block of scratch
//! memory. Lanes that do not fill the last vectors are run together with the ones before them; fewer lanes than one round of the loop
//! takes are run in scratch memory, with the last lane repeated: no loop over single lanes exists.

use super::homes::Home;
use super::look::Look;
use super::{Jit, Part};
use crate::exec::EvalError;
use crate::exec::lanes::Column;
use crate::exec::room::widen;
use crate::exec::watch::Watch;
use crate::limits::Limits;
use crate::ops::real::Real;
use crate::source::Span;
use neural_compiler_math::Arg;

/// 64 bytes, aligned like a vector.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Memory a run needs; kept between runs.
#[derive(Default)]
pub struct Memory {
    lines: Vec<Line>,
    table: Vec<*mut u8>,
    /// The program whose constants the pool holds.
    owner: u64,
}

// SAFETY: the table is written anew by every run before it is read; between runs its pointers mean nothing.
unsafe impl Send for Memory {}

impl Memory {
    /// Nothing yet.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>() + self.table.capacity() * size_of::<*mut u8>()
    }
}

/// Lanes run in a row without a look at whether the run is still wanted: at most, over all bytes of code, and over all functions called for
/// them.
const LANES_AT_ONCE: usize = 1 << 20;
const BYTES_AT_ONCE: usize = 1 << 34;
const CALLS_AT_ONCE: usize = 1 << 18;

/// Where the parts of the memory are.
struct Areas {
    pool: *mut u8,
    slots: *mut u8,
    /// A block of lanes for each column.
    scratch: *mut u8,
}

impl Jit {
    /// Runs a batch. `outputs[k]` takes `lanes` rows of the `k`-th result. `false`: nothing useful was done and the lane engine must run
    /// the batch, because a limit was met or the buffers do not fit the program.
    pub fn run<T: Real>(
        &self,
        memory: &mut Memory,
        inputs: &[Column<'_, T>],
        lanes: usize,
        outputs: &mut [&mut [T]],
        limits: &Limits,
    ) -> bool {
        let look = &mut Look::new(None, self.length);
        self.fits(inputs, lanes, outputs, limits) && self.run_range(memory, inputs, 0, lanes, outputs, limits, look)
    }

    /// Runs the lanes `from .. from + count`; `outputs` holds just these. An error only when the run is not wanted any more: loops ask
    /// while they run (see `look`), and it is asked between pieces of the batch.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn run_watched<T: Real>(
        &self,
        memory: &mut Memory,
        inputs: &[Column<'_, T>],
        from: usize,
        count: usize,
        outputs: &mut [&mut [T]],
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<bool, EvalError> {
        let mut look = Look::new(Some(watch), self.length);
        let piece = self.lanes_at_once();
        let mut done = true;
        for start in (0..count).step_by(piece) {
            let n = piece.min(count - start);
            if count > piece {
                look.pass();
            }
            done = done && self.run_range(memory, inputs, from + start, n, &mut self.rows(outputs, start, n), limits, &mut look);
            if let Some(error) = look.ended() {
                return Err(error);
            }
        }
        Ok(done)
    }

    /// Lanes that run without a look, if their loops do not ask for one.
    fn lanes_at_once(&self) -> usize {
        if self.loops {
            return self.block;
        }
        let calls = self.lanes.iter().filter(|part| !matches!(part, Part::Fused(_))).count();
        LANES_AT_ONCE.min(BYTES_AT_ONCE / self.length.max(1)).min(CALLS_AT_ONCE / calls.max(1)).max(self.block)
    }

    /// Some rows of all results.
    fn rows<'o, T>(&self, outputs: &'o mut [&mut [T]], start: usize, n: usize) -> Vec<&'o mut [T]> {
        outputs.iter_mut().zip(&self.outputs).map(|(o, &len)| &mut o[start * len..(start + n) * len]).collect()
    }

    /// Runs the lanes `from .. from + count`; `outputs` holds just these.
    #[allow(clippy::too_many_arguments)]
    fn run_range<T: Real>(
        &self,
        memory: &mut Memory,
        inputs: &[Column<'_, T>],
        from: usize,
        count: usize,
        outputs: &mut [&mut [T]],
        limits: &Limits,
        look: &mut Look<'_, '_>,
    ) -> bool {
        if !self.fits(inputs, from + count, &[], limits) || !self.rows_fit(count, outputs) {
            return false;
        }
        let Some(areas) = self.prepare(memory, inputs, limits) else { return false };
        // SAFETY: `prepare` made room for the pool and wrote what it holds; nothing computed once touches columns or slots.
        if !unsafe { self.parts::<T>(&self.once, &areas, memory.table.as_ptr(), 0..self.vector_bytes(), limits, look, true) } {
            return false;
        }
        let (head, streamed) = self.aligned(count, outputs);
        if head > 0 && !self.block(memory, &areas, inputs, from, 0, head, self.step, outputs, limits, look, &self.lanes) {
            return false;
        }
        let parts = if streamed { &self.streamed } else { &self.lanes };
        let full = head + (count - head) / self.step * self.step;
        let direct = self.slots == 0
            && self.lanes.len() <= 1
            && inputs.iter().zip(&self.inputs).all(|(c, i)| i.1 || c.lane_stride == 1)
            && self.outputs.iter().all(|&n| n == 1);
        let block = if direct { full.max(1) } else { self.block };
        for start in (head..full).step_by(block) {
            let n = block.min(full - start);
            if !self.block(memory, &areas, inputs, from, start, n, n, outputs, limits, look, parts) {
                return false;
            }
        }
        match count - full {
            0 => true,
            // Some lanes are computed a second time, to the same bits: less than to bring the rest to scratch memory and back.
            _ if count >= self.step => {
                self.block(memory, &areas, inputs, from, count - self.step, self.step, self.step, outputs, limits, look, &self.lanes)
            }
            rest => self.block(memory, &areas, inputs, from, full, rest, self.step, outputs, limits, look, &self.lanes),
        }
    }

    /// How many lanes come before all results are aligned like vectors, and whether results then go past the caches.
    fn aligned<T>(&self, count: usize, outputs: &[&mut [T]]) -> (usize, bool) {
        let before = |o: &&mut [T]| o.as_ptr().addr().wrapping_neg() % 64;
        match outputs.first().map(before) {
            Some(bytes) if !self.streamed.is_empty() && outputs.iter().all(|o| before(o) == bytes) => {
                let head = bytes / size_of::<T>();
                if bytes % size_of::<T>() == 0 && head < self.step && head < count { (head, true) } else { (0, false) }
            }
            _ => (0, false),
        }
    }

    pub(super) fn vector_bytes(&self) -> usize {
        if self.level == neural_compiler_math::Level::Avx512 { 64 } else { 32 }
    }

    fn fits<T: Real>(&self, inputs: &[Column<'_, T>], lanes: usize, outputs: &[&mut [T]], limits: &Limits) -> bool {
        let input = |(c, &(n, uniform)): (&Column<'_, T>, &(usize, bool))| {
            let last =
                lanes.saturating_sub(1).saturating_mul(c.lane_stride).saturating_add(n.saturating_sub(1).saturating_mul(c.element_stride));
            (!uniform || c.lane_stride == 0) && (lanes == 0 || last < c.data.len())
        };
        T::DTYPE == self.dtype
            && self.steps.all as u64 <= limits.steps
            && self.steps.rounds as u64 <= limits.iterations
            && self.steps.depth <= limits.depth
            && inputs.len() == self.inputs.len()
            && inputs.iter().zip(&self.inputs).all(input)
            && (outputs.is_empty() || self.rows_fit(lanes, outputs))
    }

    fn rows_fit<T>(&self, lanes: usize, outputs: &[&mut [T]]) -> bool {
        outputs.len() == self.outputs.len() && outputs.iter().zip(&self.outputs).all(|(o, n)| o.len() == n * lanes)
    }

    /// Makes room and fills in constants and shared inputs; `None` when there is no room within the limit.
    fn prepare<T: Real>(&self, memory: &mut Memory, inputs: &[Column<'_, T>], limits: &Limits) -> Option<Areas> {
        let results: usize = self.outputs.iter().sum();
        let block = self.block * size_of::<T>();
        let lines = |bytes: usize| bytes.div_ceil(64);
        let pool = lines(self.pool * self.vector_bytes());
        let needed = pool + lines(self.slots * block) + lines((self.columns + results) * block);
        if needed.saturating_mul(64) > limits.memory_bytes {
            return None;
        }
        if memory.lines.len() < needed {
            widen(&mut memory.lines, needed, Line([0; 64]), Span::default()).ok()?;
            memory.owner = 0;
        }
        memory.table.resize(self.columns + results, std::ptr::null_mut());
        let base: *mut u8 = memory.lines.as_mut_ptr().cast();
        let areas =
            Areas { pool: base, slots: base.wrapping_add(64 * pool), scratch: base.wrapping_add(64 * (pool + lines(self.slots * block))) };
        let width = self.vector_bytes() / size_of::<T>();
        // SAFETY: the pool has room for this vector and is aligned for it; both number types are as long as their bits.
        let vector = |at: u32| unsafe { std::slice::from_raw_parts_mut(areas.pool.cast::<T>().add(at as usize * width), width) };
        // SAFETY: as above.
        let bits = |at: u32, bits: u64| unsafe {
            let first = areas.pool.add(at as usize * self.vector_bytes());
            std::slice::from_raw_parts_mut(first.cast::<u64>(), self.vector_bytes() / 8).fill(bits);
        };
        if memory.owner != self.id {
            memory.owner = self.id;
            for &(at, constant) in &self.constants {
                bits(at, constant);
            }
        }
        if !self.shared.is_empty() {
            // Shared numbers are counted through all inputs, and listed in that order.
            let mut numbers = inputs
                .iter()
                .zip(&self.inputs)
                .filter(|(_, i)| i.1)
                .flat_map(|(c, &(n, _))| (0..n).map(move |k| c.data[k * c.element_stride]))
                .enumerate();
            for &(at, k) in &self.shared {
                if let Some((_, x)) = numbers.find(|(i, _)| *i == k as usize) {
                    vector(at).fill(x);
                }
            }
        }
        Some(areas)
    }

    /// Runs lanes `from + start ..`, `n` of them, padded to `padded`.
    #[allow(clippy::too_many_arguments)]
    fn block<T: Real>(
        &self,
        memory: &mut Memory,
        areas: &Areas,
        inputs: &[Column<'_, T>],
        from: usize,
        start: usize,
        n: usize,
        padded: usize,
        outputs: &mut [&mut [T]],
        limits: &Limits,
        look: &mut Look<'_, '_>,
        parts: &[Part],
    ) -> bool {
        let offset = start * size_of::<T>();
        let scratch = |column: usize| areas.scratch.cast::<T>().wrapping_add(column * self.block);
        let mut column = 0;
        for (input, &(numbers, uniform)) in inputs.iter().zip(&self.inputs) {
            if uniform {
                continue;
            }
            for k in 0..numbers {
                let first = (from + start) * input.lane_stride + k * input.element_stride;
                memory.table[column] = if input.lane_stride == 1 && n == padded {
                    // Only read; `fits` saw to it that it has a number for every lane.
                    input.data[first..first + n].as_ptr().cast_mut().cast::<u8>().wrapping_sub(offset)
                } else {
                    // SAFETY: the scratch memory has a block, no shorter than `padded`, for each column.
                    let lanes = unsafe { std::slice::from_raw_parts_mut(scratch(column), padded) };
                    if input.lane_stride == 1 {
                        lanes[..n].copy_from_slice(&input.data[first..first + n]);
                    } else {
                        lanes[..n].iter_mut().zip(input.data[first..].iter().step_by(input.lane_stride.max(1))).for_each(|(l, x)| *l = *x);
                        if input.lane_stride == 0 {
                            lanes[..n].fill(input.data[first]);
                        }
                    }
                    let last = lanes[n - 1];
                    lanes[n..].fill(last);
                    lanes.as_mut_ptr().cast::<u8>().wrapping_sub(offset)
                };
                column += 1;
            }
        }
        let in_place = |numbers: usize| numbers == 1 && n == padded;
        for (buffer, &numbers) in outputs.iter_mut().zip(&self.outputs) {
            for _ in 0..numbers {
                let at = if in_place(numbers) { buffer[start..start + n].as_mut_ptr() } else { scratch(column) };
                memory.table[column] = at.cast::<u8>().wrapping_sub(offset);
                column += 1;
            }
        }
        let range = offset..offset + padded * size_of::<T>();
        // SAFETY: every column of the table has `padded` lanes from byte `offset` on, its own or in scratch memory; slots and pool have
        // been made room for.
        if !unsafe { self.parts::<T>(parts, areas, memory.table.as_ptr(), range, limits, look, false) } {
            return false;
        }
        let mut column = self.columns;
        for (buffer, &numbers) in outputs.iter_mut().zip(&self.outputs) {
            for k in 0..numbers {
                if !in_place(numbers) {
                    // SAFETY: as above.
                    let lanes = unsafe { std::slice::from_raw_parts(scratch(column), n) };
                    let rows = buffer[start * numbers..(start + n) * numbers].iter_mut().skip(k).step_by(numbers);
                    rows.zip(lanes).for_each(|(o, x)| *o = *x);
                }
                column += 1;
            }
        }
        true
    }

    /// Runs parts over a range of bytes of each column.
    ///
    /// # Safety
    /// Every column of the table must be valid for the range, for writing where it is a result; the areas must be those of `prepare`.
    #[allow(clippy::too_many_arguments)]
    unsafe fn parts<T: Real>(
        &self,
        parts: &[Part],
        areas: &Areas,
        table: *const *mut u8,
        range: std::ops::Range<usize>,
        limits: &Limits,
        look: &mut Look<'_, '_>,
        once: bool,
    ) -> bool {
        let lanes = range.len() / size_of::<T>();
        // A round counts as one step, and as what the work in loops is worth.
        let steps = limits.steps.saturating_sub(self.steps.all as u64) / (1 + self.steps.in_loops);
        let rounds = if self.loops { limits.iterations.min(steps).max(1) } else { 1 };
        if self.loops && (limits.iterations == 0 || steps == 0) {
            return false;
        }
        let slots = areas.slots.wrapping_sub(range.start);
        let width = self.vector_bytes() / size_of::<T>();
        // SAFETY: homes lie inside the areas and columns the caller vouches for.
        let at = |home: Home| unsafe {
            match home {
                Home::Pool(v) => areas.pool.cast::<T>().add(v as usize * width),
                Home::Slot(s) => areas.slots.cast::<T>().add(s as usize * self.block),
                Home::Column(c) => (*table.add(c as usize)).wrapping_add(range.start).cast::<T>(),
                Home::Nowhere => areas.pool.cast::<T>(),
            }
        };
        // SAFETY: a home has a number for every lane, or one for all.
        let arg = |home: Home| unsafe {
            match home {
                Home::Pool(_) => Arg::Splat(*at(home)),
                Home::Slot(_) | Home::Column(_) | Home::Nowhere => Arg::Slice(std::slice::from_raw_parts(at(home), lanes)),
            }
        };
        for part in parts {
            match part {
                Part::Fused(entry) => {
                    let first = look.start(rounds);
                    // SAFETY: the pool has a vector for the pointer, and nobody else uses the look while code runs; the entry is this
                    // code's; the caller vouches for columns and areas.
                    let done = unsafe {
                        areas.pool.add(self.question).cast::<*mut Look<'_, '_>>().write(look);
                        self.code.call(*entry, areas.pool, table, range.clone(), first, slots)
                    };
                    if !done {
                        return false;
                    }
                }
                // SAFETY: a home has a number for every lane, and the home of a result differs from those of its arguments.
                Part::Unary(f, x, out) => unsafe {
                    if once {
                        std::slice::from_raw_parts_mut(at(*out), width).fill(T::unary(f, *at(*x)));
                    } else {
                        let x = std::slice::from_raw_parts(at(*x), lanes);
                        T::unary_slice(f, self.level, x, std::slice::from_raw_parts_mut(at(*out), lanes));
                    }
                },
                // SAFETY: as above.
                Part::Binary(f, [x, y], out) => unsafe {
                    if once {
                        std::slice::from_raw_parts_mut(at(*out), width).fill(T::binary(f, *at(*x), *at(*y)));
                    } else {
                        T::binary_slice(f, self.level, arg(*x), arg(*y), std::slice::from_raw_parts_mut(at(*out), lanes));
                    }
                },
                // SAFETY: as above.
                Part::Ternary(f, [x, y, z], out) => unsafe {
                    if once {
                        std::slice::from_raw_parts_mut(at(*out), width).fill(T::ternary(f, *at(*x), *at(*y), *at(*z)));
                    } else {
                        T::ternary_slice(f, arg(*x), arg(*y), arg(*z), std::slice::from_raw_parts_mut(at(*out), lanes));
                    }
                },
            }
        }
        true
    }
}
