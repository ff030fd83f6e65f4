//! Frames of a tile. In: slots; out: slices of lanes. Unsafe code of the engine is here and in `tile.rs`.
//! Invariants: a frame's slots lie behind those of the frame that runs it; every slot has lanes of its own, which two slots of a frame
//! may trade; slots of the main region may be lent out to a column of the caller (an input read in place, an output written in
//! place) for the length of a tile.

use super::code::Source;
use super::record::{Held, Record};
use super::tile::Count;
use crate::exec::EvalError;
use crate::exec::room::{make_room, widen};
use crate::ops::block::Block;
use crate::ops::real::Real;
use crate::source::Span;
use crate::tape::{Place, Rate};
use neural_compiler_math::{Arg, Level};
use std::rc::Rc;

/// Where a frame starts, in slots of each kind.
#[derive(Clone, Copy, Default)]
pub(super) struct Base {
    pub(super) varying: usize,
    pub(super) uniform: usize,
    pub(super) records: usize,
}

/// Lanes that start on a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line<T>([T; LINE]);

const LINE: usize = 16;

/// Lines between the slots of a tile whose lanes are a power of two: slots exactly 4096 bytes apart would be mistaken for each
/// other by the processor's store queue, and share the sets of its cache.
const GAP: usize = 5;

/// Tiles of fewer lanes have no such gaps.
const GAPLESS: usize = 64;

/// The memory of one thread's tiles.
pub(super) struct Memory<T> {
    varying: Vec<Line<T>>,
    /// Where the lanes of each slot are now, and which are its own.
    starts: Vec<*mut T>,
    own: Vec<*mut T>,
    /// Slots that live in the caller's memory.
    lent: Vec<usize>,
    pub(super) uniform: Vec<T>,
    pub(super) records: Vec<Option<Rc<Record<T>>>>,
    /// What records hold, and buffers of freed ones.
    pub(super) held: Held<T>,
    /// Loop rounds and calls of the tile.
    pub(super) steps: Count,
    /// Masks not in use.
    masks: Vec<Vec<bool>>,
    /// Room for operations on whole values.
    pub(super) blocks: Vec<Block<T>>,
    pub(super) numbers: Vec<T>,
    /// Numbers from one slot to the next.
    stride: usize,
    lanes: usize,
}

// SAFETY: between runs the memory holds no record and lends no slot, so nothing in it is shared; during a run it belongs to one
// thread.
unsafe impl<T: Send> Send for Memory<T> {}

impl<T> Default for Memory<T> {
    fn default() -> Memory<T> {
        Memory {
            varying: Vec::new(),
            starts: Vec::new(),
            own: Vec::new(),
            lent: Vec::new(),
            uniform: Vec::new(),
            records: Vec::new(),
            held: Held::default(),
            steps: Count::default(),
            masks: Vec::new(),
            blocks: Vec::new(),
            numbers: Vec::new(),
            stride: 0,
            lanes: 0,
        }
    }
}

impl<T: Real> Memory<T> {
    /// Forgets all frames.
    pub(super) fn start(&mut self, width: usize) {
        self.end();
        // Tiles of few lanes are for few lanes, or for values of many numbers: there a gap would be most of the memory.
        let stride = if width < GAPLESS { width.max(1) } else { (width.div_ceil(LINE) + GAP) * LINE };
        if self.stride != stride {
            self.stride = stride;
            self.place_slots(0);
        }
    }

    /// Gives slots from `first` on lanes of their own.
    fn place_slots(&mut self, first: usize) {
        self.own.truncate(first);
        self.starts.truncate(first);
        let numbers: *mut T = self.varying.as_mut_ptr().cast();
        for slot in first..self.varying.len() * LINE / self.stride {
            // SAFETY: the slot's numbers are inside the buffer.
            let at = unsafe { numbers.add(slot * self.stride) };
            self.own.push(at);
            self.starts.push(at);
        }
    }

    /// Lanes of the tile to come.
    pub(super) fn tile(&mut self, lanes: usize) {
        assert!(lanes <= self.stride, "a slot has room for every lane");
        self.take_back();
        self.lanes = lanes;
    }

    /// Lets a slot of the main region live in the caller's memory for this tile.
    ///
    /// # Safety
    /// `at` must be valid for as many numbers as the tile has lanes until the next call of `tile` or `end`; for reads only, if
    /// nothing writes the slot; and nobody else may write it meanwhile.
    pub(super) unsafe fn lend(&mut self, slot: usize, at: *mut T) {
        self.starts[slot] = at;
        self.lent.push(slot);
    }

    fn take_back(&mut self) {
        for slot in self.lent.drain(..) {
            self.starts[slot] = self.own[slot];
        }
    }

    /// Takes every lent slot back and drops every record.
    pub(super) fn end(&mut self) {
        self.take_back();
        self.records.fill(None);
    }

    /// Bytes held once there is room for frames up to here.
    #[inline]
    pub(super) fn bytes_up_to(&self, end: Base) -> usize {
        let slots = self.own.len().max(end.varying);
        let lines = self.varying.len().max(slots.saturating_mul(self.stride).div_ceil(LINE));
        let places = slots.saturating_mul(2 * size_of::<*mut T>());
        lines
            .saturating_mul(size_of::<Line<T>>())
            .saturating_add(places)
            .saturating_add(self.uniform.len().max(end.uniform).saturating_mul(size_of::<T>()))
    }

    /// Bytes held for frames.
    pub(super) fn bytes(&self) -> usize {
        self.bytes_up_to(Base::default())
    }

    /// Bytes held between runs.
    pub(super) fn kept(&self) -> usize {
        self.bytes() + self.numbers.capacity() * size_of::<T>() + self.blocks.capacity() * size_of::<Block<T>>() + self.held.kept()
    }

    /// Makes room for frames up to here.
    #[inline]
    pub(super) fn reserve(&mut self, end: Base) -> Result<(), EvalError> {
        if self.own.len() < end.varying {
            self.grow(end.varying)?;
        }
        widen(&mut self.uniform, end.uniform, T::ZERO, Span::default())?;
        widen(&mut self.records, end.records, None, Span::default())
    }

    #[cold]
    fn grow(&mut self, slots: usize) -> Result<(), EvalError> {
        let before = self.varying.as_ptr();
        let known = self.own.len();
        let lines = (slots * self.stride).div_ceil(LINE).max(self.varying.len());
        make_room(&mut self.own, slots - known, Span::default())?;
        make_room(&mut self.starts, slots - known, Span::default())?;
        // Nothing may fail from here on: the slots must know where the buffer is.
        widen(&mut self.varying, lines, Line([T::ZERO; LINE]), Span::default())?;
        let after: *mut T = self.varying.as_mut_ptr().cast();
        // Lanes that slots traded stay traded where the buffer moved.
        for slot in 0..known {
            let offset = (self.own[slot] as usize - before as usize) / size_of::<T>();
            // SAFETY: the offset was inside the buffer, which has only grown.
            let moved = unsafe { after.add(offset) };
            if self.starts[slot] == self.own[slot] {
                self.starts[slot] = moved;
            }
            self.own[slot] = moved;
        }
        self.place_slots(known);
        Ok(())
    }

    /// Lanes of the tile.
    pub(super) fn lane_count(&self) -> usize {
        self.lanes
    }

    /// The lanes of a varying slot.
    pub(super) fn lanes(&self, slot: usize) -> &[T] {
        // SAFETY: the slot has at least `lanes` numbers of its own, or was lent as many as the tile has lanes (see `lend`).
        unsafe { std::slice::from_raw_parts(self.starts[slot], self.lanes) }
    }

    /// The numbers of all slots, one value after the other, how far slots are apart, and what lanes share.
    pub(super) fn all_values(&mut self) -> (&mut [T], usize, &[T]) {
        let lines: &mut [Line<T>] = &mut self.varying;
        // SAFETY: a line is so many numbers and nothing else.
        let numbers = unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast::<T>(), size_of_val(lines) / size_of::<T>()) };
        (numbers, self.stride, &self.uniform)
    }

    /// The numbers of a value that lanes have one after the other.
    pub(super) fn values(&mut self, at: u32, len: usize, lanes: usize) -> &mut [T] {
        let (numbers, stride, _) = self.all_values();
        &mut numbers[at as usize * stride..][..len * lanes]
    }

    /// The lanes of a varying slot, to write.
    pub(super) fn lanes_mut(&mut self, slot: usize) -> &mut [T] {
        // SAFETY: as in `lanes`; `&mut self` keeps every other view away.
        unsafe { std::slice::from_raw_parts_mut(self.starts[slot], self.lanes) }
    }

    /// Two slots of a frame trade their lanes.
    pub(super) fn trade(&mut self, a: usize, b: usize) {
        self.starts.swap(a, b);
        self.own.swap(a, b);
    }

    /// A view of an argument of an operation that writes the slot `out`, which must be another.
    ///
    /// # Safety
    /// Nothing may write the slot while it is seen.
    #[inline]
    unsafe fn view<'v>(&self, source: Source, base: Base, out: usize) -> Arg<'v, T> {
        match source {
            Source::Uniform(at) => Arg::Splat(self.uniform[base.uniform + at as usize]),
            Source::Varying(at) => {
                let slot = base.varying + at as usize;
                assert_ne!(slot, out, "a result must not overwrite its argument");
                // SAFETY: as in `lanes`.
                Arg::Slice(unsafe { std::slice::from_raw_parts(self.starts[slot], self.lanes) })
            }
        }
    }

    /// An argument beside the lanes of a slot to write.
    #[inline]
    pub(super) fn apply1(&mut self, x: Source, base: Base, out: u32, f: impl FnOnce(Arg<'_, T>, &mut [T])) {
        let out = base.varying + out as usize;
        // SAFETY: steps write no slot they read (see `code`), so the view is of another slot.
        let x = unsafe { self.view(x, base, out) };
        f(x, self.lanes_mut(out));
    }

    /// Two arguments beside the lanes of a slot to write.
    #[inline]
    pub(super) fn apply2(&mut self, x: Source, y: Source, base: Base, out: u32, f: impl FnOnce(Arg<'_, T>, Arg<'_, T>, &mut [T])) {
        let out = base.varying + out as usize;
        // SAFETY: as in `apply1`.
        let (x, y) = unsafe { (self.view(x, base, out), self.view(y, base, out)) };
        f(x, y, self.lanes_mut(out));
    }

    /// Three arguments beside the lanes of a slot to write.
    pub(super) fn apply3(
        &mut self,
        [x, y, z]: [Source; 3],
        base: Base,
        out: u32,
        f: impl FnOnce(Arg<'_, T>, Arg<'_, T>, Arg<'_, T>, &mut [T]),
    ) {
        let out = base.varying + out as usize;
        // SAFETY: as in `apply1`.
        let (x, y, z) = unsafe { (self.view(x, base, out), self.view(y, base, out), self.view(z, base, out)) };
        f(x, y, z, self.lanes_mut(out));
    }

    /// A matrix all lanes share times the vector in the slots `x`, into the slots `out`, which must be others.
    pub(super) fn matrix_times(&mut self, level: Level, matrix: &[T], x: impl Iterator<Item = usize>, out: impl Iterator<Item = usize>) {
        let read: Vec<usize> = x.collect();
        let written: Vec<usize> = out.collect();
        let (low, high) = (read.iter().min().copied().unwrap_or(0), read.iter().max().copied().unwrap_or(0));
        let apart = |o: &usize| *o < low || *o > high || !read.contains(o);
        assert!(written.iter().all(apart) && written.windows(2).all(|w| w[0] < w[1]), "a result must not overwrite its argument");
        // SAFETY: as in `apply1`: every written slot is a slot of its own, none twice, and none of them is read.
        let (x, mut out): (Vec<&[T]>, Vec<&mut [T]>) = unsafe {
            (
                read.iter().map(|&s| std::slice::from_raw_parts(self.starts[s], self.lanes)).collect(),
                written.iter().map(|&s| std::slice::from_raw_parts_mut(self.starts[s], self.lanes)).collect(),
            )
        };
        T::matrix_times(level, matrix, &x, &mut out);
    }

    /// The sum of products of numbers, lane by lane, into the slot `out`, which must be another.
    pub(super) fn sum_of_products(
        &mut self,
        level: Level,
        terms: usize,
        pair: impl Fn(usize) -> (Source, Source),
        base: Base,
        out: u32,
        interleaved: bool,
    ) {
        /// Terms that need no allocation.
        const FEW: usize = 16;
        let out = base.varying + out as usize;
        // SAFETY: as in `apply1`; `view` makes sure that every slot read is another.
        let view = |k: usize| unsafe { (self.view(pair(k).0, base, out), self.view(pair(k).1, base, out)) };
        if terms <= FEW {
            let (mut x, mut y) = ([Arg::Splat(T::ZERO); FEW], [Arg::Splat(T::ZERO); FEW]);
            (0..terms).for_each(|k| (x[k], y[k]) = view(k));
            return T::sum_of_products(level, &x[..terms], &y[..terms], interleaved, self.lanes_mut(out));
        }
        let (x, y): (Vec<Arg<'_, T>>, Vec<Arg<'_, T>>) = (0..terms).map(view).unzip();
        T::sum_of_products(level, &x, &y, interleaved, self.lanes_mut(out));
    }

    /// The source of number `k` of a place.
    pub(super) fn source(place: Place, k: usize) -> Source {
        match place.rate {
            Rate::Uniform => Source::Uniform(place.at + k as u32),
            Rate::Varying => Source::Varying(place.at + k as u32),
        }
    }

    /// Number `k` of a place in one lane.
    pub(super) fn at(&self, place: Place, base: Base, k: usize, lane: usize) -> T {
        match place.rate {
            Rate::Uniform => self.uniform[base.uniform + place.at as usize + k],
            Rate::Varying => self.lanes(base.varying + place.at as usize + k)[lane],
        }
    }

    /// Copies a value from one frame to another; a uniform one becomes varying where the target is.
    pub(super) fn copy(&mut self, from: Place, from_base: Base, to: Place, to_base: Base) {
        if from.is_record() {
            self.records[to_base.records + to.at as usize] = self.records[from_base.records + from.at as usize].clone();
            return;
        }
        for k in 0..from.len as usize {
            match (Self::source(from, k), to.rate) {
                (Source::Uniform(at), Rate::Uniform) => {
                    self.uniform[to_base.uniform + to.at as usize + k] = self.uniform[from_base.uniform + at as usize]
                }
                (Source::Uniform(at), Rate::Varying) => {
                    let x = self.uniform[from_base.uniform + at as usize];
                    self.lanes_mut(to_base.varying + to.at as usize + k).fill(x);
                }
                (Source::Varying(at), Rate::Varying) => {
                    let (from, to) = (from_base.varying + at as usize, to_base.varying + to.at as usize + k);
                    // SAFETY: both slots have as many numbers as the tile has lanes; a copy within memory minds overlap.
                    unsafe { std::ptr::copy(self.starts[from], self.starts[to], self.lanes) };
                }
                (Source::Varying(_), Rate::Uniform) => unreachable!("a varying value has varying readers"),
            }
        }
    }

    /// Like `copy`, for the lanes of a mask only.
    pub(super) fn blend(&mut self, from: Place, from_base: Base, to: Place, to_base: Base, mask: &[bool]) {
        for k in 0..from.len as usize {
            let target = to_base.varying + to.at as usize + k;
            let (x, slot) = match Self::source(from, k) {
                Source::Uniform(at) => (self.uniform[from_base.uniform + at as usize], None),
                Source::Varying(at) => (T::ZERO, Some(from_base.varying + at as usize)),
            };
            let Some(slot) = slot else {
                self.lanes_mut(target).iter_mut().zip(mask).filter(|(_, m)| **m).for_each(|(o, _)| *o = x);
                continue;
            };
            if slot == target {
                continue;
            }
            // SAFETY: as in `apply1`: two slots, one read and one written.
            let (from, to) = unsafe {
                (std::slice::from_raw_parts(self.starts[slot], self.lanes), std::slice::from_raw_parts_mut(self.starts[target], self.lanes))
            };
            for ((o, &x), &m) in to.iter_mut().zip(from).zip(mask) {
                *o = if m { x } else { *o };
            }
        }
    }

    /// An empty mask.
    pub(super) fn take_mask(&mut self) -> Vec<bool> {
        let mut mask = self.masks.pop().unwrap_or_default();
        mask.clear();
        mask
    }

    /// A mask that is no longer needed.
    pub(super) fn give_mask(&mut self, mask: Vec<bool>) {
        self.masks.push(mask);
    }
}
