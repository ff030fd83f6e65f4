//! What a forward run over a tile stores for the backward run.
//! Invariants: what records hold is counted; when it exceeds the budget, a loop keeps the values of every second round only, then of
//! every fourth, and so on: the rounds between are run again when the walk back comes to them.

use super::memory::{Base, Memory};
use crate::graph::RegionId;
use crate::ops::real::Real;
use crate::tape::{Place, Rate};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A stored value: one number each when uniform, the lanes of each when varying; or a record.
#[derive(Clone)]
pub(super) enum Stored<T> {
    Numbers(Box<[T]>, Rate),
    Record(Rc<Record<T>>),
}

/// Bytes that records hold, and buffers freed ones have left.
pub(super) struct Held<T> {
    bytes: Rc<Cell<usize>>,
    buffers: Rc<RefCell<Vec<Vec<T>>>>,
}

impl<T> Default for Held<T> {
    fn default() -> Held<T> {
        Held { bytes: Rc::default(), buffers: Rc::default() }
    }
}

impl<T> Clone for Held<T> {
    fn clone(&self) -> Held<T> {
        Held { bytes: self.bytes.clone(), buffers: self.buffers.clone() }
    }
}

impl<T> Held<T> {
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Bytes of the buffers freed records have left.
    pub(super) fn kept(&self) -> usize {
        self.buffers.borrow().iter().map(|b| b.capacity() * size_of::<T>()).sum()
    }

    fn add(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes);
    }

    fn remove(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() - bytes);
    }

    fn buffer(&self) -> Vec<T> {
        let mut buffer = self.buffers.borrow_mut().pop().unwrap_or_default();
        buffer.clear();
        buffer
    }
}

/// Rounds a loop always keeps, whatever the budget.
const FEWEST_ROUNDS: usize = 8;

/// The rounds of a loop, all of them or every `every`-th.
pub(super) struct Rounds<T> {
    /// The loop's body.
    pub(super) body: RegionId,
    /// What the loop does not change, kept once rounds have to be run again.
    pub(super) fixed: Vec<Stored<T>>,
    /// Rounds that were run.
    pub(super) total: usize,
    /// From one kept round to the next.
    pub(super) every: usize,
    /// The carried values at the start of each kept round.
    pub(super) kept: Vec<Vec<T>>,
    /// The body's own record of each round; only while every round is kept.
    pub(super) inner: Vec<Rc<Record<T>>>,
    /// How many rounds each lane took, where they differ.
    pub(super) trips: Option<Vec<u32>>,
    held: Held<T>,
}

impl<T> Rounds<T> {
    pub(super) fn new(body: RegionId, held: &Held<T>) -> Rounds<T> {
        Rounds { body, fixed: Vec::new(), total: 0, every: 1, kept: Vec::new(), inner: Vec::new(), trips: None, held: held.clone() }
    }

    /// A buffer for the round to come, if it is one to keep.
    pub(super) fn next_buffer(&mut self) -> Option<Vec<T>> {
        self.total += 1;
        (self.total - 1).is_multiple_of(self.every).then(|| self.held.buffer())
    }

    pub(super) fn keep(&mut self, buffer: Vec<T>) {
        self.held.add(buffer.capacity() * size_of::<T>());
        self.kept.push(buffer);
    }

    /// Whether records hold more than the budget and this loop can do with fewer rounds.
    pub(super) fn is_too_much(&self, budget: usize) -> bool {
        self.held.bytes() > budget && self.kept.len() > FEWEST_ROUNDS
    }

    /// Forgets every second kept round.
    pub(super) fn thin(&mut self) {
        self.inner.clear();
        self.every *= 2;
        for k in (1..self.kept.len()).rev().filter(|k| k % 2 == 1) {
            let buffer = self.kept.remove(k);
            self.let_go(buffer);
        }
    }

    fn let_go(&mut self, buffer: Vec<T>) {
        self.held.remove(buffer.capacity() * size_of::<T>());
        self.held.buffers.borrow_mut().push(buffer);
    }
}

impl<T> Drop for Rounds<T> {
    fn drop(&mut self) {
        while let Some(buffer) = self.kept.pop() {
            self.let_go(buffer);
        }
    }
}

/// A list of values, counted.
pub(super) struct Packed<T> {
    pub(super) values: Vec<Stored<T>>,
    bytes: usize,
    held: Held<T>,
}

impl<T> Drop for Packed<T> {
    fn drop(&mut self) {
        self.held.remove(self.bytes);
    }
}

/// Values stored by a forward run.
pub(super) enum Record<T> {
    Packed(Packed<T>),
    Rounds(Rounds<T>),
    /// The records of the two branches of a choice; a branch no lane took has none.
    Choice(Option<Rc<Record<T>>>, Option<Rc<Record<T>>>),
}

impl<T> Record<T> {
    /// Bytes a record of so many values takes besides their numbers.
    pub(super) fn overhead(values: usize) -> usize {
        values * (size_of::<Stored<T>>() + 32)
    }

    pub(super) fn pack(values: Vec<Stored<T>>, held: &Held<T>) -> Record<T> {
        let size = |v: &Stored<T>| if let Stored::Numbers(n, _) = v { n.len() * size_of::<T>() } else { 0 };
        let bytes = values.iter().map(size).sum::<usize>() + Record::<T>::overhead(values.len());
        held.add(bytes);
        Record::Packed(Packed { values, bytes, held: held.clone() })
    }
}

impl<T> Drop for Record<T> {
    /// Frees a chain of records (one per recursive call) without recursion.
    fn drop(&mut self) {
        fn take<T>(r: &mut Record<T>, work: &mut Vec<Rc<Record<T>>>) {
            match r {
                Record::Packed(p) => work.extend(p.values.drain(..).filter_map(|v| if let Stored::Record(r) = v { Some(r) } else { None })),
                Record::Rounds(rounds) => work.append(&mut rounds.inner),
                Record::Choice(a, b) => work.extend(a.take().into_iter().chain(b.take())),
            }
        }
        let mut work = Vec::new();
        take(self, &mut work);
        while let Some(rc) = work.pop() {
            if let Ok(mut record) = Rc::try_unwrap(rc) {
                take(&mut record, &mut work);
            }
        }
    }
}

impl<T: Real> Memory<T> {
    /// Numbers a copy of a value has.
    pub(super) fn numbers_of(&self, place: Place) -> usize {
        match place.rate {
            Rate::Uniform => place.len as usize,
            Rate::Varying => place.len as usize * self.lane_count(),
        }
    }

    /// A copy of a value, to keep.
    pub(super) fn keep(&self, place: Place, base: Base) -> Stored<T> {
        if place.is_record() {
            return Stored::Record(self.records[base.records + place.at as usize].clone().expect("a record has been stored"));
        }
        let mut numbers = Vec::with_capacity(self.numbers_of(place));
        self.store(place, base, &mut numbers);
        Stored::Numbers(numbers.into(), place.rate)
    }

    /// Appends the numbers of a value: one each when uniform, the lanes of each when varying.
    pub(super) fn store(&self, place: Place, base: Base, numbers: &mut Vec<T>) {
        for k in 0..place.len as usize {
            match place.rate {
                Rate::Uniform => numbers.push(self.uniform[base.uniform + place.at as usize + k]),
                Rate::Varying => numbers.extend_from_slice(self.lanes(base.varying + place.at as usize + k)),
            }
        }
    }

    /// Brings a kept value back.
    pub(super) fn recall(&mut self, stored: &Stored<T>, place: Place, base: Base) {
        match stored {
            Stored::Record(r) => self.records[base.records + place.at as usize] = Some(r.clone()),
            Stored::Numbers(numbers, kept) => {
                self.load(numbers, *kept, place, base);
            }
        }
    }

    /// Brings a kept value back in the lanes outside a mask.
    pub(super) fn recall_except(&mut self, stored: &Stored<T>, place: Place, base: Base, mask: &[bool]) {
        let Stored::Numbers(numbers, kept) = stored else { return };
        for k in 0..place.len as usize {
            let target = self.lanes_mut(base.varying + place.at as usize + k);
            let lanes = target.len();
            for (l, o) in target.iter_mut().enumerate().filter(|(l, _)| !mask[*l]) {
                *o = match kept {
                    Rate::Uniform => numbers[k],
                    Rate::Varying => numbers[k * lanes + l],
                };
            }
        }
    }

    /// Reads what `store` has written; the numbers behind it.
    pub(super) fn load<'n>(&mut self, numbers: &'n [T], kept: Rate, place: Place, base: Base) -> &'n [T] {
        let n = place.len as usize;
        let lanes = match kept {
            Rate::Uniform => 1,
            Rate::Varying => self.lane_count(),
        };
        let (own, behind) = numbers.split_at(n * lanes);
        for (k, numbers) in own.chunks_exact(lanes).enumerate() {
            match (kept, place.rate) {
                (Rate::Uniform, Rate::Uniform) => self.uniform[base.uniform + place.at as usize + k] = numbers[0],
                (Rate::Uniform, Rate::Varying) => self.lanes_mut(base.varying + place.at as usize + k).fill(numbers[0]),
                (Rate::Varying, Rate::Varying) => self.lanes_mut(base.varying + place.at as usize + k).copy_from_slice(numbers),
                (Rate::Varying, Rate::Uniform) => unreachable!("a varying value has varying readers"),
            }
        }
        behind
    }
}
