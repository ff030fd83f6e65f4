//! Frames of a tile. In: slots; out: slices of lanes. The one file of the engine with unsafe code.
//! Invariants: a frame's slots lie behind those of the frame that runs it; every slot has lanes of its own, which two slots of a frame
//! may trade; slots of the main region may be lent out to a column of the caller (an input read in place, an output written in
//! place) for the length of a tile.

use super::code::Source;
use super::record::{Held, Record};
use super::tile::Count;
use crate::ops::block::Block;
use crate::ops::real::Real;
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
    /// Lines from one slot to the next.
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
        let stride = width.div_ceil(LINE) + GAP;
        if self.stride != stride {
            self.stride = stride;
            self.place_slots(0);
        }
    }

    /// Gives slots from `first` on lanes of their own.
    fn place_slots(&mut self, first: usize) {
        self.own.truncate(first);
        self.starts.truncate(first);
        let lines = self.varying.as_mut_ptr();
        for slot in first..self.varying.len() / self.stride {
            // SAFETY: the slot's lines are inside the buffer.
            let at = unsafe { lines.add(slot * self.stride) }.cast();
            self.own.push(at);
            self.starts.push(at);
        }
    }

    /// Lanes of the tile to come.
    pub(super) fn tile(&mut self, lanes: usize) {
        debug_assert!(lanes <= self.stride * LINE);
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

    /// Makes room for frames up to here; the bytes held.
    pub(super) fn reserve(&mut self, end: Base) -> usize {
        if self.own.len() < end.varying {
            self.grow(end.varying);
        }
        if self.uniform.len() < end.uniform {
            self.uniform.resize(end.uniform, T::ZERO);
        }
        if self.records.len() < end.records {
            self.records.resize(end.records, None);
        }
        self.varying.len() * size_of::<Line<T>>() + self.uniform.len() * size_of::<T>()
    }

    #[cold]
    fn grow(&mut self, slots: usize) {
        let before = self.varying.as_ptr();
        let known = self.own.len();
        let lines = (slots * self.stride).max(self.varying.len());
        self.varying.resize(lines, Line([T::ZERO; LINE]));
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
                debug_assert_ne!(slot, out);
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
    pub(super) fn apply3(&mut self, [x, y, z]: [Source; 3], base: Base, out: u32, f: impl FnOnce(Arg<'_, T>, Arg<'_, T>, Arg<'_, T>, &mut [T])) {
        let out = base.varying + out as usize;
        // SAFETY: as in `apply1`.
        let (x, y, z) = unsafe { (self.view(x, base, out), self.view(y, base, out), self.view(z, base, out)) };
        f(x, y, z, self.lanes_mut(out));
    }

    /// A matrix all lanes share times the vector in the slots `x`, into the slots `out`, which must be others.
    pub(super) fn matrix_times(&mut self, level: Level, matrix: &[T], x: impl Iterator<Item = usize>, out: impl Iterator<Item = usize>) {
        let read: Vec<usize> = x.collect();
        let written: Vec<usize> = out.collect();
        assert!(written.iter().all(|o| !read.contains(o)), "a result must not overwrite its argument");
        // SAFETY: as in `apply`: every written slot is a slot of its own, and none of them is read.
        let (x, mut out): (Vec<&[T]>, Vec<&mut [T]>) = unsafe {
            (
                read.iter().map(|&s| std::slice::from_raw_parts(self.starts[s], self.lanes)).collect(),
                written.iter().map(|&s| std::slice::from_raw_parts_mut(self.starts[s], self.lanes)).collect(),
            )
        };
        T::matrix_times(level, matrix, &x, &mut out);
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
                (Source::Uniform(at), Rate::Uniform) => self.uniform[to_base.uniform + to.at as usize + k] = self.uniform[from_base.uniform + at as usize],
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
            // SAFETY: as in `apply`: two slots, one read and one written.
            let (from, to) =
                unsafe { (std::slice::from_raw_parts(self.starts[slot], self.lanes), std::slice::from_raw_parts_mut(self.starts[target], self.lanes)) };
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
