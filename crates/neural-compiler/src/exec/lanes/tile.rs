//! Runs tapes over tiles. In: a tile of lanes; out: its results, and errors of lanes that have none.
//! Invariants: an instruction may compute anything in lanes that are not active, but fails, loops and recurses only for active
//! ones; a lane that failed is active no more.

use super::code::{Prepared, Source, Step, elementwise};
use super::memory::{Base, Memory};
use super::record::{Record, Stored};
use super::reduce::Sums;
use super::tensor::Application;
use super::{BatchOptions, Column, Engine, LaneError};
use crate::exec::EvalError;
use crate::exec::absent::absent;
use crate::exec::room::{is_there, no_memory, over_limit};
use crate::exec::watch::Watch;
use crate::graph::{Graph, Kind, RegionId};
use crate::ops::real::{Real, quiet};
use crate::ops::row::{Kernel, KernelError, apply_scalar};
use crate::ops::work;
use crate::source::Span;
use crate::tape::{Instruction, Rate, Tape};
use neural_compiler_math::Arg;
use std::rc::Rc;

/// The lanes that count; `None`: all of them.
pub(super) type Mask<'m> = Option<&'m [bool]>;

/// Loop rounds and calls: those all lanes took, and those of each lane where they differ.
#[derive(Default)]
pub(super) struct Count {
    common: u64,
    own: Vec<u64>,
    /// No lane has more of its own.
    most: u64,
}

pub(super) struct TileRun<'a, T> {
    pub(super) graph: &'a Graph,
    pub(super) tape: &'a Tape,
    pub(super) code: &'a Prepared,
    pub(super) engine: &'a Engine,
    pub(super) memory: &'a mut Memory<T>,
    pub(super) options: &'a BatchOptions,
    width: usize,
    pub(super) lanes: usize,
    /// Errors of the tile, by lane; empty while there are none.
    failed: Vec<Option<EvalError>>,
    pub(super) depth: usize,
    pub(super) watch: Watch<'a>,
    /// Rounds are being run again for a walk back: they have been counted.
    pub(super) again: bool,
}

impl Count {
    /// Forgets all but what all lanes took before.
    fn start(&mut self, common: u64) {
        self.common = common;
        self.most = 0;
        self.own.clear();
    }
}

impl<'a, T: Real> TileRun<'a, T> {
    pub(super) fn new(
        engine: &'a Engine,
        memory: &'a mut Memory<T>,
        options: &'a BatchOptions,
        width: usize,
        watch: Watch<'a>,
    ) -> TileRun<'a, T> {
        let Engine { graph, tape, code, .. } = engine;
        TileRun { graph, tape, code, engine, memory, options, width, lanes: 0, failed: Vec::new(), depth: 0, watch, again: false }
    }

    /// Lanes `from .. from + count` of the batch, tile by tile; `outputs` holds just these, `sums` takes what is reduced.
    pub(super) fn batch(
        mut self,
        inputs: &[Column<'_, T>],
        from: usize,
        count: usize,
        outputs: &mut [&mut [T]],
        sums: &mut Sums<T>,
    ) -> Result<Vec<LaneError>, EvalError> {
        let done = self.tiles(inputs, from, count, outputs, sums);
        // Nothing of the caller's is lent beyond its call, whatever happened.
        self.memory.end();
        done
    }

    fn tiles(
        &mut self,
        inputs: &[Column<'_, T>],
        from: usize,
        count: usize,
        outputs: &mut [&mut [T]],
        sums: &mut Sums<T>,
    ) -> Result<Vec<LaneError>, EvalError> {
        let main = self.graph.main;
        self.memory.start(self.width);
        self.make_room(self.end(main, Base::default()), Span::default())?;
        self.memory.steps.start(0);
        self.once(inputs)?;
        let early = self.memory.steps.common;
        let mut errors = Vec::new();
        if let Some(whole) = &self.engine.whole {
            self.whole_tiles(whole, inputs, (from, count), outputs, sums, early, &mut errors)?;
            return Ok(errors);
        }
        for start in (0..count).step_by(self.width) {
            self.begin_tile(self.width.min(count - start), early)?;
            self.bring(inputs, from + start);
            self.lend_outputs(outputs, start);
            self.region(main, Base::default(), None)?;
            self.deliver(outputs, start, from, sums, &mut errors);
            self.memory.end();
        }
        Ok(errors)
    }

    /// Lanes of a tile at most.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Starts a tile; all lanes took so many steps before.
    pub(super) fn begin_tile(&mut self, lanes: usize, early: u64) -> Result<(), EvalError> {
        self.lanes = lanes;
        self.memory.tile(lanes);
        self.memory.steps.start(early);
        self.watch.pass(PER_TILE, Span::default())
    }

    /// What all tiles share: uniform inputs and what is computed from them.
    fn once(&mut self, inputs: &[Column<'_, T>]) -> Result<(), EvalError> {
        let tape = self.tape;
        let main = self.graph.main;
        for (column, place) in inputs.iter().zip(&tape.regions[main.0 as usize].params) {
            if place.rate == Rate::Uniform {
                for k in 0..place.len as usize {
                    self.memory.uniform[place.at as usize + k] = column.data[k * column.element_stride];
                }
            }
        }
        self.lanes = 1;
        self.memory.tile(1);
        let code = self.code;
        for step in &code.early {
            self.step(main, step, Base::default(), None)?;
        }
        // An error in what all lanes share is an error of all.
        match self.failed.iter_mut().find_map(Option::take) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Brings the inputs of a tile: in place where a column is contiguous, gathered where it is not.
    fn bring(&mut self, inputs: &[Column<'_, T>], from: usize) {
        let code = &self.tape.regions[self.graph.main.0 as usize];
        for (column, place) in inputs.iter().zip(&code.params) {
            if place.rate == Rate::Uniform {
                continue;
            }
            for k in 0..place.len as usize {
                let slot = place.at as usize + k;
                let first = from * column.lane_stride + k * column.element_stride;
                if column.lane_stride == 1 || self.lanes == 1 {
                    // SAFETY: the caller checked that the column has a number for every lane; parameters are never written.
                    unsafe { self.memory.lend(slot, column.data[first..first + self.lanes].as_ptr().cast_mut()) };
                } else {
                    let lanes = self.memory.lanes_mut(slot);
                    for (i, x) in lanes.iter_mut().enumerate() {
                        *x = column.data[first + i * column.lane_stride];
                    }
                }
            }
        }
    }

    /// Lets scalar results be computed where the caller wants them.
    fn lend_outputs(&mut self, outputs: &mut [&mut [T]], start: usize) {
        let engine = self.engine;
        for &(k, slot) in &engine.in_place {
            // SAFETY: the buffer has a number for every lane, belongs to this run, and is not otherwise touched before `deliver`.
            unsafe { self.memory.lend(slot as usize, outputs[k][start..start + self.lanes].as_mut_ptr()) };
        }
    }

    /// Hands out results that were not computed in place, and the errors.
    fn deliver(&mut self, outputs: &mut [&mut [T]], start: usize, from: usize, sums: &mut Sums<T>, errors: &mut Vec<LaneError>) {
        let code = &self.tape.regions[self.graph.main.0 as usize];
        let lost = self.failed.iter().any(Option::is_some);
        let mut row = 0;
        for (k, &place) in code.results.iter().enumerate() {
            let n = place.len as usize;
            if self.engine.reduced[k] {
                for element in 0..n {
                    match place.rate {
                        _ if lost => sums.add_splat(row + element, self.lanes, T::from_f64(f64::NAN)),
                        Rate::Uniform => sums.add_splat(row + element, self.lanes, self.memory.uniform[place.at as usize + element]),
                        Rate::Varying => sums.add(row + element, self.memory.lanes(place.at as usize + element)),
                    }
                }
                row += n;
                continue;
            }
            if self.engine.in_place.iter().any(|p| p.0 == k) {
                continue;
            }
            for element in 0..n {
                if n == 1 && place.rate == Rate::Varying {
                    outputs[k][start..start + self.lanes].copy_from_slice(self.memory.lanes(place.at as usize));
                    continue;
                }
                let target = outputs[k][start * n..].iter_mut().skip(element).step_by(n);
                match place.rate {
                    Rate::Uniform => {
                        let x = self.memory.uniform[place.at as usize + element];
                        target.take(self.lanes).for_each(|o| *o = x);
                    }
                    Rate::Varying => target.zip(self.memory.lanes(place.at as usize + element)).for_each(|(o, &x)| *o = x),
                }
            }
        }
        self.quiet_results(outputs, start);
        self.lost_lanes(outputs, start, from, errors);
    }

    /// Makes NaNs that were only handed on the quiet one.
    pub(super) fn quiet_results(&self, outputs: &mut [&mut [T]], start: usize) {
        for &(k, n) in &self.engine.handed_on {
            outputs[k][start * n..(start + self.lanes) * n].iter_mut().for_each(|x| *x = quiet(*x));
        }
    }

    /// Reports lanes without a result; they hold NaN.
    pub(super) fn lost_lanes(&mut self, outputs: &mut [&mut [T]], start: usize, from: usize, errors: &mut Vec<LaneError>) {
        let code = &self.tape.regions[self.graph.main.0 as usize];
        for (lane, error) in std::mem::take(&mut self.failed).into_iter().enumerate() {
            if let Some(error) = error {
                for (k, place) in code.results.iter().enumerate().filter(|(k, _)| !self.engine.reduced[*k]) {
                    let n = place.len as usize;
                    outputs[k][(start + lane) * n..(start + lane + 1) * n].fill(T::from_f64(f64::NAN));
                }
                errors.push(LaneError { lane: from + start + lane, error });
            }
        }
    }

    pub(super) fn end(&self, id: RegionId, base: Base) -> Base {
        let code = &self.tape.regions[id.0 as usize];
        Base {
            varying: base.varying + code.slots as usize,
            uniform: base.uniform + code.uniforms as usize,
            records: base.records + code.records as usize,
        }
    }

    pub(super) fn fail(&mut self, lane: usize, error: EvalError) {
        if self.failed.is_empty() {
            self.failed = vec![None; self.lanes];
        }
        self.failed[lane].get_or_insert(error);
    }

    /// Fails every active lane.
    pub(super) fn fail_all(&mut self, mask: Mask<'_>, error: &EvalError) {
        for lane in 0..self.lanes {
            if self.is_active(mask, lane) {
                self.fail(lane, error.clone());
            }
        }
    }

    pub(super) fn is_active(&self, mask: Mask<'_>, lane: usize) -> bool {
        mask.is_none_or(|m| m[lane]) && self.failed.get(lane).is_none_or(Option::is_none)
    }

    pub(super) fn any_active(&self, mask: Mask<'_>) -> bool {
        if self.failed.is_empty() { mask.is_none_or(|m| m.contains(&true)) } else { (0..self.lanes).any(|l| self.is_active(mask, l)) }
    }

    /// The active lanes for which something holds.
    pub(super) fn select_lanes(&mut self, mask: Mask<'_>, holds: impl Fn(&Memory<T>, usize) -> bool) -> Vec<bool> {
        let mut lanes = self.memory.take_mask();
        match mask {
            Some(m) => lanes.extend(m.iter().enumerate().map(|(l, &m)| m && holds(self.memory, l))),
            None => lanes.extend((0..self.lanes).map(|l| holds(self.memory, l))),
        }
        if !self.failed.is_empty() {
            lanes.iter_mut().zip(&self.failed).for_each(|(l, f)| *l &= f.is_none());
        }
        lanes
    }

    /// Counts a round or call; `false` when no active lane may take it.
    pub(super) fn count(&mut self, mask: Mask<'_>, span: Span) -> Result<bool, EvalError> {
        self.watch.pass(1, span)?;
        Ok(self.count_all(1, mask, span))
    }

    /// Counts so many rounds or calls, or work that is worth as many.
    pub(super) fn count_all(&mut self, more: u64, mask: Mask<'_>, span: Span) -> bool {
        if self.again || more == 0 {
            return true;
        }
        let limit = self.options.run.limits.steps;
        let steps = &mut self.memory.steps;
        match mask {
            None => steps.common = steps.common.saturating_add(more),
            Some(mask) => {
                steps.own.resize(self.lanes, 0);
                steps.own.iter_mut().zip(mask).for_each(|(n, &m)| *n = n.saturating_add(if m { more } else { 0 }));
                steps.most = steps.most.saturating_add(more);
            }
        }
        if steps.common.saturating_add(steps.most) <= limit {
            return true;
        }
        for lane in 0..self.lanes {
            let steps = &self.memory.steps;
            if self.is_active(mask, lane) && steps.common.saturating_add(*steps.own.get(lane).unwrap_or(&0)) > limit {
                self.fail(lane, EvalError::new("limit-steps", span, format!("the run takes more than {limit} loop rounds and calls")));
            }
        }
        self.any_active(mask)
    }

    /// Whether the run stays within its memory with so many bytes more.
    pub(super) fn check_memory(&self, more: usize, span: Span) -> Result<(), EvalError> {
        self.check_all(self.memory.bytes(), more, span)
    }

    fn check_all(&self, frames: usize, more: usize, span: Span) -> Result<(), EvalError> {
        let limit = self.options.run.limits.memory_bytes;
        let bytes = frames.saturating_add(more).saturating_add(self.memory.held.bytes() + self.depth * 16 * 1024);
        if bytes > limit { Err(over_limit(limit, span)) } else { Ok(()) }
    }

    /// Makes room for frames up to here, once it is known that they stay within the limit.
    pub(super) fn make_room(&mut self, end: Base, span: Span) -> Result<(), EvalError> {
        self.check_all(self.memory.bytes_up_to(end), 0, span)?;
        self.memory.reserve(end)
    }

    pub(super) fn region(&mut self, id: RegionId, base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        let steps = &self.code.regions[id.0 as usize].steps;
        self.watch.pass((steps.len() * self.lanes / PER_LOOK) as u64, Span::default())?;
        for step in steps {
            self.step(id, step, base, mask)?;
        }
        Ok(())
    }

    #[inline]
    fn step(&mut self, id: RegionId, step: &Step, base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        let level = self.options.level;
        match *step {
            Step::Unary(f, x, out) => self.memory.apply1(Source::Varying(x), base, out, |x, out| match (x, &mut *out) {
                (Arg::Slice([x]), [out]) => *out = T::unary(f, *x),
                (Arg::Slice(x), out) => T::unary_slice(f, level, x, out),
                (Arg::Splat(x), out) => out.fill(T::unary(f, x)),
            }),
            Step::Binary(f, x, y, out) => self.memory.apply2(x, y, base, out, |x, y, out| match out {
                [out] => *out = T::binary(f, first(x), first(y)),
                out => T::binary_slice(f, level, x, y, out),
            }),
            Step::Ternary(f, args, out) => self.memory.apply3(args, base, out, |x, y, z, out| T::ternary_slice(f, x, y, z, out)),
            Step::Select(args, out) => self.memory.apply3(args, base, out, |test, x, y, out| T::select_slice(level, test, x, y, out)),
            Step::Number(kernel, args, arity, out) => {
                let point = args.map(|a| self.memory.uniform[base.uniform + a as usize]);
                self.memory.uniform[base.uniform + out as usize] = apply_scalar(kernel, &point[..arity as usize]);
            }
            Step::Constant(x, out) => self.memory.uniform[base.uniform + out as usize] = T::from_f64(x),
            Step::Copy(from, out) => self.memory.apply1(from, base, out, |x, out| match x {
                Arg::Slice(x) => out.copy_from_slice(x),
                Arg::Splat(x) => out.fill(x),
            }),
            Step::Fill(x, out) => self.memory.lanes_mut(base.varying + out as usize).fill(T::from_f64(x)),
            Step::Repeat(k) => {
                let tape = self.tape;
                return self.repeat(id, &tape.regions[id.0 as usize].code[k as usize], base, mask);
            }
            Step::Instruction(k) => {
                let tape = self.tape;
                return self.instruction(id, &tape.regions[id.0 as usize].code[k as usize], base, mask);
            }
        }
        Ok(())
    }

    /// An elementwise operation on a long value.
    fn repeat(&mut self, id: RegionId, i: &Instruction, base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        let Kind::Op(op, _) = i.kind else { unreachable!("an operation") };
        let span = self.graph.region(id).node(i.node).span;
        let steps = work::steps(op, i.arg_shapes.iter().copied(), i.shapes[0]);
        self.count_all(steps, mask, span);
        self.watch.pass(steps.saturating_mul(self.lanes as u64), span)?;
        let (kernel, out) = (&op.row().kernel, i.out[0]);
        for k in 0..out.len {
            if k % LOOK_AFTER == LOOK_AFTER - 1 {
                self.watch.pass(u64::from(LOOK_AFTER) * self.lanes as u64 / PER_LOOK as u64, span)?;
            }
            self.step(id, &elementwise(kernel, out.rate, i, k as usize, out.at + k), base, mask)?;
        }
        Ok(())
    }

    fn instruction(&mut self, id: RegionId, i: &Instruction, base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        let span = self.graph.region(id).node(i.node).span;
        match i.kind {
            Kind::Op(..) => return self.operation(i, base, mask, span),
            Kind::If(yes, no) => return crate::deep(|| self.choice(id, i, (yes, no), base, mask)),
            Kind::Call(f) | Kind::Root { solve: f, .. } => return crate::deep(|| self.call(id, i, f, base, mask, span)),
            Kind::Loop { body, carried, taped } => {
                return crate::deep(|| self.run_loop(id, i, (body, carried as usize, taped), base, mask, span));
            }
            Kind::Back { body, stored, carried } => {
                return crate::deep(|| self.run_back(id, i, (body, stored as usize, carried as usize), base, mask, span));
            }
            Kind::Pack => {
                let numbers = i.args.iter().map(|&a| self.memory.numbers_of(a)).sum::<usize>();
                let bytes = numbers.saturating_mul(size_of::<T>()).saturating_add(Record::<T>::overhead(i.args.len()));
                self.check_memory(bytes, span)?;
                if !is_there(bytes) {
                    return Err(no_memory(bytes, span));
                }
                let values: Vec<Stored<T>> = i.args.iter().map(|&a| self.memory.keep(a, base)).collect();
                let record = Record::pack(values, &self.memory.held);
                self.memory.records[base.records + i.out[0].at as usize] = Some(Rc::new(record));
            }
            Kind::Unpack(k) => {
                if let Some(record) = self.memory.records[base.records + i.args[0].at as usize].clone()
                    && let Record::Packed(packed) = &*record
                {
                    self.memory.recall(&packed.values[k as usize], i.out[0], base);
                }
            }
            Kind::Const(_) | Kind::Param(_) | Kind::Proj(_) => unreachable!("places and steps, not instructions"),
        }
        Ok(())
    }

    /// An operation on whole values.
    fn operation(&mut self, i: &Instruction, base: Base, mask: Mask<'_>, span: Span) -> Result<(), EvalError> {
        let Kind::Op(op, attr) = i.kind else { unreachable!("an operation") };
        let Kernel::Tensor(kernel) = &op.row().kernel else { unreachable!("elementwise operations are steps") };
        let out = i.out[0];
        let a = Application { op, kernel, attr, args: &i.args, shapes: &i.arg_shapes, out, shape: i.shapes[0] };
        let steps = work::steps(op, i.arg_shapes.iter().copied(), i.shapes[0]);
        let work = steps.saturating_mul(if out.rate == Rate::Uniform { 1 } else { self.lanes as u64 });
        self.watch.pass(work, span)?;
        if !self.count_all(steps, mask, span) {
            return Ok(());
        }
        let (limit, used) = (self.options.run.limits.memory_bytes, self.memory.bytes() + self.memory.held.bytes() + self.depth * 16 * 1024);
        let check = |more: usize| if used.saturating_add(more) > limit { Err(over_limit(limit, span)) } else { Ok(()) };
        a.room(self.memory, check, span)?;
        let mut failures: Vec<(usize, f64)> = Vec::new();
        let watch = &mut self.watch;
        // Only long work asks between its parts.
        let mut look = || if work > LONG_WORK { watch.pass(u64::MAX, span) } else { Ok(()) };
        if out.rate == Rate::Uniform {
            if let Err(KernelError::IndexOutOfRange) = a.once(self.memory, base, &mut look)? {
                let index = self.memory.uniform[base.uniform + i.args.last().map_or(0, |p| p.at as usize)].to_f64();
                failures.extend((0..self.lanes).filter(|&l| self.is_active(mask, l)).map(|l| (l, index)));
            }
        } else {
            let active = (mask.is_some() || !self.failed.is_empty()).then(|| self.select_lanes(mask, |_, _| true));
            let watch = &mut self.watch;
            let mut look = || if work > LONG_WORK { watch.pass(u64::MAX, span) } else { Ok(()) };
            a.over(self.memory, base, self.options.level, active.as_deref(), |lane, index| failures.push((lane, index)), &mut look)?;
            if let Some(active) = active {
                self.memory.give_mask(active);
            }
        }
        let of = i.arg_shapes.first().copied().filter(|s| s.len() > i.shapes[0].len()).unwrap_or(i.shapes[0]);
        for (lane, index) in failures {
            self.fail(lane, absent(attr, index, of, span));
        }
        Ok(())
    }
}

/// Numbers of a long value computed before that counts as steps.
const LOOK_AFTER: u32 = 1 << 10;

/// Numbers computed that count as one step when it comes to asking.
const PER_LOOK: usize = 256;

/// What a tile counts as, besides its loops and calls, when it comes to asking whether the run is still wanted.
const PER_TILE: u64 = 64;

/// Steps from which on an operation asks between its parts.
pub(super) const LONG_WORK: u64 = 16 * 1024;

fn first<T: Copy>(arg: Arg<'_, T>) -> T {
    match arg {
        Arg::Slice(x) => x[0],
        Arg::Splat(x) => x,
    }
}
