//! Straight programs on large values, value by value instead of number by number. In: the tape of a program without choices, loops, calls
//! and computed indices; out: its results, lane by lane.
//!
//! The numbers of a lane's value lie next to each other, lane after lane, as callers have them: inputs are read and results written in
//! place, elementwise operations run over all lanes of a tile at once, products of matrices go to the matrix kernel with the lanes of a
//! shared factor as rows of one matrix, a matrix that only products read is never transposed, and an outer product that is only summed over
//! the batch (the gradient of a shared layer) is never stored. Invariants: the kernels are those of the interpreter or sum in the same
//! order, so the bits are the same; an instruction never writes a value it reads.

mod step;

use super::reduce::{CHUNK, Sums};
use super::tile::TileRun;
use super::wide::Lanes;
use super::{Column, Engine, LaneError};
use crate::exec::EvalError;
use crate::exec::room::{is_there, no_memory};
use crate::graph::{Graph, Kind};
use crate::ops::Op;
use crate::ops::real::Real;
use crate::ops::work;
use crate::shape::Shape;
use crate::source::Span;
use crate::tape::{Place, Rate, RegionTape, Tape};
use std::collections::BTreeMap;

/// Numbers of the values instructions work on, on average, from which on working value by value is worth it.
const LARGE: usize = 32;

/// Bytes of a tile's values, those of the caller included.
const TILE_BYTES: usize = 128 * 1024;

/// Lanes of a tile at most.
const WIDEST: usize = 256;

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Home {
    /// The column of an input, or a copy in these slots where the column does not have it in order.
    Input(usize, u32),
    /// Slots of the tile.
    Slots(u32),
    /// The buffer of a result.
    Result(usize),
    /// What all lanes share.
    Shared(u32),
}

/// A value as an instruction reads it.
#[derive(Clone, Copy)]
struct Value {
    home: Home,
    len: usize,
    shape: Shape,
    /// Read rows as columns.
    turned: bool,
}

struct Step {
    op: Op,
    attr: u32,
    args: Vec<Value>,
    shapes: Vec<Shape>,
    out: Value,
    /// What it counts as, for each lane.
    steps: u64,
    /// It is computed where the batch is summed.
    summed: bool,
    span: Span,
}

/// A program, ready to run value by value.
pub(super) struct Whole {
    steps: Vec<Step>,
    results: Vec<Value>,
    /// For each result the factors it is the outer product of, if only the sum over the batch is wanted.
    factors: Vec<Option<[Value; 2]>>,
    /// Numbers a lane has in all its values.
    numbers: usize,
    /// Numbers a lane's instructions look at.
    pub(super) work: u64,
}

/// Operations on whole values that can fail.
fn may_fail(op: Op) -> bool {
    matches!(op, Op::CutAt | Op::PlaceAt)
}

/// How long the values of an instruction are that lanes have of their own.
fn length(args: &[Place], out: Place) -> usize {
    args.iter().filter(|p| p.rate == Rate::Varying).map(|p| p.len).max().unwrap_or(0).max(out.len) as usize
}

impl Whole {
    /// For a program that can be run so and, unless `always`, is worth it.
    pub(super) fn new(graph: &Graph, tape: &Tape, reduced: &[bool], always: bool) -> Option<Whole> {
        let [only] = &tape.regions[..] else { return None };
        let varying = || only.code.iter().filter(|i| i.rate == Rate::Varying);
        let admitted =
            varying().all(|i| matches!(i.kind, Kind::Op(op, _) if !may_fail(op)) && i.out.iter().chain(&i.args).all(|p| !p.is_record()));
        let count = varying().count();
        let numbers: usize = varying().map(|i| length(&i.args, i.out[0])).sum();
        if !admitted || count == 0 || only.params.iter().any(|p| p.is_record()) || (!always && numbers < LARGE * count) {
            return None;
        }
        Some(Whole::steps(graph, only, reduced))
    }

    fn steps(graph: &Graph, tape: &RegionTape, reduced: &[bool]) -> Whole {
        // Slots are used again for other values; at any time each has one.
        let mut now: BTreeMap<(bool, u32), Value> = BTreeMap::new();
        let key = |p: &Place| (p.rate == Rate::Uniform, p.at);
        for (k, (p, input)) in tape.params.iter().zip(&graph.inputs).enumerate() {
            let home = if p.rate == Rate::Uniform { Home::Shared(p.at) } else { Home::Input(k, p.at) };
            now.insert(key(p), Value { home, len: p.len as usize, shape: input.shape, turned: false });
        }
        let mut steps: Vec<Step> = Vec::new();
        // Results that are computed once, and nowhere else, are computed where the caller wants them.
        let last = |p: &Place| tape.code.iter().rposition(|i| i.out.contains(p));
        let wanted: BTreeMap<usize, usize> = tape
            .results
            .iter()
            .enumerate()
            .filter(|(k, p)| {
                p.rate == Rate::Varying && !reduced[*k] && !tape.params.contains(p) && tape.results.iter().filter(|r| r == p).count() == 1
            })
            .filter_map(|(k, p)| Some((last(p)?, k)))
            .collect();
        for (index, i) in tape.code.iter().enumerate() {
            let (shape, place) = (i.shapes[0], i.out[0]);
            let len = place.len as usize;
            if i.rate == Rate::Uniform {
                now.insert(key(&place), Value { home: Home::Shared(place.at), len, shape, turned: false });
                continue;
            }
            let Kind::Op(op, attr) = i.kind else { unreachable!("only operations vary") };
            let args: Vec<Value> = i.args.iter().map(|p| now[&key(p)]).collect();
            let home = wanted.get(&index).map_or(Home::Slots(place.at), |&k| Home::Result(k));
            let out = Value { home, len, shape, turned: false };
            now.insert(key(&place), out);
            let span = graph.main().node(i.node).span;
            steps.push(Step {
                op,
                attr,
                args,
                shapes: i.arg_shapes.clone(),
                out,
                steps: work::steps(op, i.arg_shapes.iter().copied(), shape),
                summed: false,
                span,
            });
        }
        let results: Vec<Value> = tape.results.iter().map(|p| now[&key(p)]).collect();
        fold_transposes(&mut steps, &results);
        let factors = (0..results.len()).map(|k| if reduced[k] { sum_outer(&mut steps, &results, k) } else { None }).collect();
        let work = steps.iter().map(|s| work::of(s.op, s.shapes.iter().copied(), s.out.shape)).sum();
        Whole { steps, results, factors, numbers: tape.slots as usize, work }
    }

    /// Bytes of its steps.
    pub(super) fn bytes(&self) -> usize {
        self.steps.iter().map(|s| size_of::<Step>() + s.args.len() * (size_of::<Value>() + size_of::<Shape>())).sum()
    }

    /// Lanes of a tile.
    pub(super) fn width<T>(&self, lanes: usize, most: usize, summed: bool) -> usize {
        let fits = TILE_BYTES / (self.numbers * size_of::<T>()).max(1);
        // Sums over the batch take so many lanes at a time.
        let least = if summed { CHUNK } else { 1 };
        fits.clamp(least, WIDEST).min(most).min(lanes.max(1))
    }
}

/// Lets products read transposed what a transposition would have written, and drops it where nobody else reads it.
fn fold_transposes(steps: &mut Vec<Step>, results: &[Value]) {
    let lasting = |home: Home| !matches!(home, Home::Slots(_));
    let mut k = 0;
    while k < steps.len() {
        let (op, out, source) = (steps[k].op, steps[k].out, steps[k].args.first().copied());
        let Some(source) =
            source.filter(|s| op == Op::Transpose && matches!(out.home, Home::Slots(_)) && matches!(s.shape, Shape::Matrix(..)))
        else {
            k += 1;
            continue;
        };
        // Its readers come before its slots are written again, or are the results.
        let end = (k + 1..steps.len()).find(|&j| steps[j].out.home == out.home).unwrap_or(steps.len());
        let readers: Vec<usize> = (k + 1..end).filter(|&j| steps[j].args.iter().any(|a| a.home == out.home)).collect();
        let kept = end == steps.len() && results.iter().any(|r| r.home == out.home);
        // What it reads must still be there when they read it.
        let last = readers.last().copied().unwrap_or(k);
        let there = lasting(source.home) || !(k + 1..=last).any(|j| steps[j].out.home == source.home);
        if kept || !there || readers.iter().any(|&j| steps[j].op != Op::Product) {
            k += 1;
            continue;
        }
        for j in readers {
            for a in steps[j].args.iter_mut().filter(|a| a.home == out.home) {
                *a = Value { turned: true, ..source };
            }
        }
        steps.remove(k);
    }
}

/// The factors of a result that is an outer product nobody else reads, if they are still there in the end; its step is then left to the
/// sum.
fn sum_outer(steps: &mut [Step], results: &[Value], k: usize) -> Option<[Value; 2]> {
    let home = results[k].home;
    let at = steps.iter().rposition(|s| s.out.home == home)?;
    let step = &steps[at];
    let (Op::Outer, &[left, right]) = (step.op, &step.args[..]) else { return None };
    let there = |v: Value| match v.home {
        Home::Shared(_) => false,
        Home::Slots(_) => steps[at..].iter().all(|s| s.out.home != v.home),
        Home::Input(..) | Home::Result(_) => true,
    };
    let read = steps[at..].iter().any(|s| s.args.iter().any(|a| a.home == home)) || results.iter().filter(|r| r.home == home).count() > 1;
    if read || !matches!(home, Home::Slots(_)) || !there(left) || !there(right) {
        return None;
    }
    steps[at].summed = true;
    Some([left, right])
}

/// What is known of a tile: its lanes, the caller's columns and buffers.
struct Tile<'t, 'c, T> {
    lanes: usize,
    inputs: &'t [Column<'c, T>],
    /// The first lane in the columns and in the buffers.
    from: usize,
    start: usize,
}

impl<'c, T: Real> Tile<'_, 'c, T> {
    /// The numbers of an input where the caller has them, if they are in order.
    fn in_place(&self, k: usize, len: usize) -> Option<&'c [T]> {
        let c = &self.inputs[k];
        let ordered = (c.element_stride == 1 || len == 1) && c.lane_stride == len;
        ordered.then(|| &c.data[self.from * len..(self.from + self.lanes) * len])
    }
}

impl<T: Real> TileRun<'_, T> {
    /// All tiles, value by value; what lanes share has been computed.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn whole_tiles(
        &mut self,
        whole: &Whole,
        inputs: &[Column<'_, T>],
        (from, count): (usize, usize),
        outputs: &mut [&mut [T]],
        sums: &mut Sums<T>,
        early: u64,
        errors: &mut Vec<LaneError>,
    ) -> Result<(), EvalError> {
        for start in (0..count).step_by(self.width()) {
            let lanes = self.width().min(count - start);
            self.begin_tile(lanes, early)?;
            let tile = Tile { lanes, inputs, from: from + start, start };
            self.bring_values(whole, &tile);
            let mut done = true;
            for step in &whole.steps {
                done = self.whole_step(step, &tile, outputs)?;
                if !done {
                    break;
                }
            }
            self.deliver_values(whole, &tile, outputs, sums, done);
            self.quiet_results(outputs, start);
            self.lost_lanes(outputs, start, from, errors);
        }
        Ok(())
    }

    /// Copies inputs that the caller does not have in order.
    fn bring_values(&mut self, whole: &Whole, tile: &Tile<'_, '_, T>) {
        let read = whole.steps.iter().flat_map(|s| &s.args).chain(&whole.results);
        let mut brought: Vec<usize> = Vec::new();
        for value in read {
            let Home::Input(k, at) = value.home else { continue };
            if tile.in_place(k, value.len).is_some() || brought.contains(&k) {
                continue;
            }
            brought.push(k);
            let column = &tile.inputs[k];
            let own = self.memory.values(at, value.len, tile.lanes);
            for (l, own) in own.chunks_exact_mut(value.len.max(1)).enumerate() {
                let first = (tile.from + l) * column.lane_stride;
                own.iter_mut().enumerate().for_each(|(e, x)| *x = column.data[first + e * column.element_stride]);
            }
        }
    }

    /// Runs a step; `false` when the lanes may take no more of them.
    fn whole_step(&mut self, step: &Step, tile: &Tile<'_, '_, T>, outputs: &mut [&mut [T]]) -> Result<bool, EvalError> {
        let work = step.steps.saturating_mul(tile.lanes as u64);
        self.watch.pass(work, step.span)?;
        if !self.count_all(step.steps, None, step.span) {
            return Ok(false);
        }
        if step.summed {
            return Ok(true);
        }
        let own = (work::scratch(step.op, step.shapes.iter().copied()) as usize).saturating_mul(size_of::<T>());
        if own > 0 {
            self.check_memory(own, step.span)?;
            if !is_there(own) {
                return Err(no_memory(own, step.span));
            }
        }
        let level = self.options.level;
        let mut room = std::mem::take(&mut self.memory.numbers);
        // The buffer of a result is set apart while it is written: others may be read.
        let target = if let Home::Result(k) = step.out.home { std::mem::take(&mut outputs[k]) } else { &mut [] };
        let (numbers, stride, uniform) = self.memory.all_values();
        let range = |at: u32, len: usize| at as usize * stride..at as usize * stride + len * tile.lanes;
        let own = if let Home::Slots(at) = step.out.home { range(at, step.out.len) } else { 0..0 };
        let (before, rest) = numbers.split_at_mut(own.start);
        let (inner, after) = rest.split_at_mut(own.len());
        let read = |value: &Value| -> &[T] {
            match value.home {
                Home::Shared(at) => &uniform[at as usize..at as usize + value.len],
                Home::Result(k) => &outputs[k][tile.start * value.len..(tile.start + tile.lanes) * value.len],
                Home::Input(k, at) if tile.in_place(k, value.len).is_none() => pick(before, after, range(at, value.len), own.end),
                Home::Input(k, _) => tile.in_place(k, value.len).unwrap_or_default(),
                Home::Slots(at) => pick(before, after, range(at, value.len), own.end),
            }
        };
        let mut few = [&[][..]; 3];
        let many: Vec<&[T]>;
        let data: &[&[T]] = if step.args.len() <= few.len() {
            few.iter_mut().zip(&step.args).for_each(|(f, a)| *f = read(a));
            &few[..step.args.len()]
        } else {
            many = step.args.iter().map(read).collect();
            &many
        };
        let out = match step.out.home {
            Home::Result(_) => &mut target[tile.start * step.out.len..(tile.start + tile.lanes) * step.out.len],
            _ => inner,
        };
        let watch = &mut self.watch;
        let mut look = || if work > super::tile::LONG_WORK { watch.pass(u64::MAX, step.span) } else { Ok(()) };
        let done = step.run(level, tile.lanes, data, out, &mut room, &mut look);
        if let Home::Result(k) = step.out.home {
            outputs[k] = target;
        }
        self.memory.numbers = room;
        done.map(|()| true)
    }

    /// Hands out results that were not computed in place.
    fn deliver_values(&mut self, whole: &Whole, tile: &Tile<'_, '_, T>, outputs: &mut [&mut [T]], sums: &mut Sums<T>, done: bool) {
        let level = self.options.level;
        let (slots, stride, uniform) = self.memory.all_values();
        let slots = &*slots;
        let of = |at: u32, len: usize| &slots[at as usize * stride..][..len * tile.lanes];
        // What is not in the buffer of a result.
        let here = |value: &Value| match value.home {
            Home::Shared(at) => &uniform[at as usize..at as usize + value.len],
            Home::Input(i, at) => tile.in_place(i, value.len).unwrap_or_else(|| of(at, value.len)),
            Home::Slots(at) => of(at, value.len),
            Home::Result(_) => &[],
        };
        let mut summed = sums.wide.iter_mut();
        for (k, value) in whole.results.iter().enumerate() {
            let (n, shared) = (value.len, matches!(value.home, Home::Shared(_)));
            if !self.engine.reduced[k] {
                if matches!(value.home, Home::Result(_)) {
                    continue;
                }
                let out = &mut outputs[k][tile.start * n..(tile.start + tile.lanes) * n];
                if shared {
                    out.chunks_exact_mut(n.max(1)).for_each(|o| o.copy_from_slice(here(value)))
                } else {
                    out.copy_from_slice(here(value))
                }
                continue;
            }
            let sum = summed.next().expect("a sum for each result that is reduced");
            let there = |value: &Value| match value.home {
                Home::Result(k) => &outputs[k][tile.start * value.len..(tile.start + tile.lanes) * value.len],
                _ => here(value),
            };
            match &whole.factors[k] {
                _ if !done => sum.lose(),
                Some([left, right]) => sum.add(level, tile.lanes, Lanes::Outers(there(left), there(right))),
                None if shared => sum.add_same(level, tile.lanes, here(value)),
                None => sum.add(level, tile.lanes, Lanes::Values(there(value))),
            }
        }
    }
}

/// A range of slots that does not meet what is written.
fn pick<'s, T>(before: &'s [T], after: &'s [T], range: std::ops::Range<usize>, end: usize) -> &'s [T] {
    if range.end <= before.len() { &before[range] } else { &after[range.start - end..range.end - end] }
}

impl Engine {
    /// As `reduced`, for a program that is to run value by value wherever it can be, however short its values are.
    pub fn by_values(graph: &Graph, uniform: &[bool], reduced: &[bool]) -> Engine {
        let mut engine = Engine::reduced(graph, uniform, reduced);
        if engine.complete {
            engine.whole = Whole::new(&engine.graph, &engine.tape, reduced, true);
        }
        engine
    }
}
