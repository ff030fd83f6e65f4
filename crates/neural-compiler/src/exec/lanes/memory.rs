//! Frames of a tile. In: places; out: slices of lanes. The one file of the engine with unsafe code.
//! Invariants: a frame's slots lie behind those of the frame that runs it; slots of the main region may be lent out to a column of
//! the caller (an input read in place, an output written in place) for the length of a tile.

use super::record::Record;
use crate::ops::real::Real;
use crate::tape::{Place, Rate};
use neural_compiler_math::Arg;
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
    pub(super) uniform: Vec<T>,
    pub(super) records: Vec<Option<Rc<Record<T>>>>,
    /// Slots of the main region that live in the caller's memory.
    lent: Vec<*mut T>,
    /// Lines from one slot to the next.
    stride: usize,
    lanes: usize,
}

// SAFETY: between runs the memory holds no record and lends no slot, so nothing in it is shared; during a run it belongs to one
// thread.
unsafe impl<T: Send> Send for Memory<T> {}

impl<T> Default for Memory<T> {
    fn default() -> Memory<T> {
        Memory { varying: Vec::new(), uniform: Vec::new(), records: Vec::new(), lent: Vec::new(), stride: 0, lanes: 0 }
    }
}

impl<T: Real> Memory<T> {
    /// Forgets all frames; the main region has `slots`.
    pub(super) fn start(&mut self, width: usize, slots: usize) {
        self.stride = width.div_ceil(LINE) + GAP;
        self.lent.clear();
        self.lent.resize(slots, std::ptr::null_mut());
        self.records.clear();
    }

    /// Lanes of the tile to come.
    pub(super) fn tile(&mut self, lanes: usize) {
        self.lanes = lanes;
        self.lent.fill(std::ptr::null_mut());
    }

    /// Lets a slot of the main region live in the caller's memory for this tile.
    ///
    /// # Safety
    /// `at` must be valid for as many numbers as the tile has lanes until the next call of `tile` or `end`; for reads only, if
    /// nothing writes the slot; and nobody else may write it meanwhile.
    pub(super) unsafe fn lend(&mut self, slot: usize, at: *mut T) {
        self.lent[slot] = at;
    }

    /// Takes every lent slot back.
    pub(super) fn end(&mut self) {
        self.lent.fill(std::ptr::null_mut());
        self.records.clear();
    }

    pub(super) fn is_lent(&self, slot: usize) -> bool {
        self.lent.get(slot).is_some_and(|p| !p.is_null())
    }

    /// Makes room for frames up to here; the bytes held.
    pub(super) fn reserve(&mut self, end: Base) -> usize {
        if self.varying.len() < end.varying * self.stride {
            self.varying.resize(end.varying * self.stride, Line([T::ZERO; LINE]));
        }
        if self.uniform.len() < end.uniform {
            self.uniform.resize(end.uniform, T::ZERO);
        }
        if self.records.len() < end.records {
            self.records.resize(end.records, None);
        }
        self.varying.len() * size_of::<Line<T>>() + self.uniform.len() * size_of::<T>()
    }

    fn start_of(&self, slot: usize) -> *const T {
        match self.lent.get(slot) {
            Some(&p) if !p.is_null() => p,
            _ => self.varying[slot * self.stride..].as_ptr().cast(),
        }
    }

    /// The lanes of a varying slot.
    pub(super) fn lanes(&self, slot: usize) -> &[T] {
        // SAFETY: the slot has `width >= lanes` numbers of its own, or was lent as many as the tile has lanes (see `lend`).
        unsafe { std::slice::from_raw_parts(self.start_of(slot), self.lanes) }
    }

    /// The lanes of a varying slot, to write.
    pub(super) fn lanes_mut(&mut self, slot: usize) -> &mut [T] {
        let at = match self.lent.get(slot) {
            Some(&p) if !p.is_null() => p,
            _ => self.varying[slot * self.stride..].as_mut_ptr().cast(),
        };
        // SAFETY: as in `lanes`; `&mut self` keeps every other view away.
        unsafe { std::slice::from_raw_parts_mut(at, self.lanes) }
    }

    /// Views of up to three arguments beside the lanes of a slot to write.
    pub(super) fn apply(&mut self, args: [Option<Source<T>>; 3], out: usize, f: impl FnOnce([Option<Arg<'_, T>>; 3], &mut [T])) {
        let lanes = self.lanes;
        let view = |a: Source<T>| match a {
            Source::Number(x) => Arg::Splat(x),
            Source::Slot(slot) => {
                assert_ne!(slot, out, "a result must not overwrite its argument");
                // SAFETY: as in `lanes`; the slot differs from `out`, so nothing writes it while it is seen.
                Arg::Slice(unsafe { std::slice::from_raw_parts(self.start_of(slot), lanes) })
            }
        };
        let views = args.map(|a| a.map(view));
        let at = match self.lent.get(out) {
            Some(&p) if !p.is_null() => p,
            _ => self.varying[out * self.stride..].as_ptr().cast_mut().cast(),
        };
        // SAFETY: as in `lanes_mut`; `&mut self` keeps other writers away, and no view above is of this slot.
        f(views, unsafe { std::slice::from_raw_parts_mut(at, lanes) });
    }

    /// Number `k` of a place, for an operation.
    pub(super) fn source(&self, place: Place, base: Base, k: usize) -> Source<T> {
        // A scalar combines with every element.
        let k = if place.len == 1 { 0 } else { k };
        match place.rate {
            Rate::Uniform => Source::Number(self.uniform[base.uniform + place.at as usize + k]),
            Rate::Varying => Source::Slot(base.varying + place.at as usize + k),
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
            match (self.source(from, from_base, k), to.rate) {
                (Source::Number(x), Rate::Uniform) => self.uniform[to_base.uniform + to.at as usize + k] = x,
                (Source::Number(x), Rate::Varying) => self.lanes_mut(to_base.varying + to.at as usize + k).fill(x),
                (source @ Source::Slot(slot), Rate::Varying) => {
                    let target = to_base.varying + to.at as usize + k;
                    if slot != target {
                        self.apply([Some(source), None, None], target, |args, out| {
                            if let [Some(Arg::Slice(x)), ..] = args {
                                out.copy_from_slice(x);
                            }
                        });
                    }
                }
                (Source::Slot(_), Rate::Uniform) => unreachable!("a varying value has varying readers"),
            }
        }
    }

    /// Like `copy`, for the lanes of a mask only.
    pub(super) fn blend(&mut self, from: Place, from_base: Base, to: Place, to_base: Base, mask: &[bool]) {
        for k in 0..from.len as usize {
            let target = to_base.varying + to.at as usize + k;
            let source = self.source(from, from_base, k);
            self.apply([Some(source), None, None], target, |args, out| {
                for (i, (o, &m)) in out.iter_mut().zip(mask).enumerate() {
                    if m {
                        *o = match args[0] {
                            Some(Arg::Slice(x)) => x[i],
                            Some(Arg::Splat(x)) => x,
                            None => *o,
                        };
                    }
                }
            });
        }
    }
}

/// Where an operation's argument is.
#[derive(Clone, Copy)]
pub(super) enum Source<T> {
    Number(T),
    Slot(usize),
}
