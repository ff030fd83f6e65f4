//! The walk back over a loop. In: the record of its rounds; out: cotangents.
//! Invariants: rounds that were not kept are run again from the last kept one before them, with the bits they had, and are not
//! counted a second time; what is held meanwhile stays within the budget too.

use super::memory::Base;
use super::record::{Record, Rounds};
use super::tile::{Mask, TileRun};
use crate::exec::EvalError;
use crate::graph::RegionId;
use crate::ops::real::Real;
use crate::source::Span;
use crate::tape::Instruction;

/// A walk back in progress.
struct Walk<'w> {
    /// The region that takes one round back, its frame, and how many of its parameters come from the record.
    body: RegionId,
    inner: Base,
    stored: usize,
    mask: Mask<'w>,
    /// How many rounds each lane took, where they differ.
    trips: Option<&'w [u32]>,
    span: Span,
}

impl<T: Real> TileRun<'_, T> {
    pub(super) fn run_back(
        &mut self,
        id: RegionId,
        i: &Instruction,
        (body, stored, carried): (RegionId, usize, usize),
        base: Base,
        mask: Mask<'_>,
        span: Span,
    ) -> Result<(), EvalError> {
        let inner = self.end(id, base);
        self.make_room(self.end(body, inner), span)?;
        let tape = self.tape;
        let code = &tape.regions[body.0 as usize];
        for (&a, &p) in i.args[1..].iter().zip(&code.params[stored..]) {
            self.memory.copy(a, base, p, inner);
        }
        let record = self.memory.records[base.records + i.args[0].at as usize].clone();
        if let Some(Record::Rounds(rounds)) = record.as_deref() {
            let walk = Walk { body, inner, stored, mask, trips: rounds.trips.as_deref(), span };
            self.walk(rounds, 0, &walk)?;
        }
        for (&p, &o) in code.params[stored..stored + carried].iter().zip(&i.out) {
            self.memory.copy(p, inner, o, base);
        }
        self.release(body, inner);
        Ok(())
    }

    /// Takes these rounds back, the last one first; `first` is the number of the first one in the loop.
    fn walk(&mut self, rounds: &Rounds<T>, first: usize, walk: &Walk<'_>) -> Result<(), EvalError> {
        for k in (0..rounds.kept.len()).rev() {
            if rounds.every == 1 {
                self.take_back(rounds, k, first + k, walk)?;
            } else {
                let from = k * rounds.every;
                let count = rounds.every.min(rounds.total - from);
                let part = self.run_again(rounds, k, first + from, count, walk)?;
                crate::deep(|| self.walk(&part, first + from, walk))?;
            }
        }
        Ok(())
    }

    /// One round back.
    fn take_back(&mut self, rounds: &Rounds<T>, k: usize, round: usize, walk: &Walk<'_>) -> Result<(), EvalError> {
        let (tape, prepared) = (self.tape, self.code);
        let mask = walk.trips.map(|trips| self.select_lanes(walk.mask, |_, l| trips[l] as usize > round));
        let now = mask.as_deref().or(walk.mask);
        if self.count(now, walk.span)? {
            let layout = &tape.regions[rounds.body.0 as usize].params;
            let mut numbers = &rounds.kept[k][..];
            for (at, &p) in tape.regions[walk.body.0 as usize].params[..walk.stored].iter().enumerate() {
                if p.is_record() {
                    self.memory.records[walk.inner.records + p.at as usize] = rounds.inner.get(k).cloned();
                } else {
                    numbers = self.memory.load(numbers, layout[at].rate, p, walk.inner);
                }
            }
            self.region(walk.body, walk.inner, now)?;
            self.carry(&prepared.regions[walk.body.0 as usize].carry, walk.inner, now);
        }
        if let Some(mask) = mask {
            self.memory.give_mask(mask);
        }
        Ok(())
    }

    /// Runs rounds again from a kept one and stores them.
    fn run_again(&mut self, rounds: &Rounds<T>, k: usize, first: usize, count: usize, walk: &Walk<'_>) -> Result<Rounds<T>, EvalError> {
        let (tape, prepared) = (self.tape, self.code);
        let body = rounds.body;
        let frame = self.end(walk.body, walk.inner);
        self.make_room(self.end(body, frame), walk.span)?;
        let params = &tape.regions[body.0 as usize].params;
        let carried = params.len() - rounds.fixed.len();
        let mut numbers = &rounds.kept[k][..];
        for &p in &params[..carried] {
            numbers = self.memory.load(numbers, p.rate, p, frame);
        }
        for (value, &p) in rounds.fixed.iter().zip(&params[carried..]) {
            self.memory.recall(value, p, frame);
        }
        let mut part = Rounds::new(body, &self.memory.held);
        let before = std::mem::replace(&mut self.again, true);
        for round in first..first + count {
            let mask = walk.trips.map(|trips| self.select_lanes(walk.mask, |_, l| trips[l] as usize > round));
            self.round(body, carried, frame, mask.as_deref().or(walk.mask), Some(&mut part), walk.span)?;
            self.carry(&prepared.regions[body.0 as usize].carry, frame, None);
            if let Some(mask) = mask {
                self.memory.give_mask(mask);
            }
        }
        self.again = before;
        self.release(body, frame);
        Ok(part)
    }
}
