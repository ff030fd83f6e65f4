//! Choices, calls and loops over a tile. In: an instruction that runs regions, and the lanes that need it; out: its results in those
//! lanes.
//! Invariants: a region runs only if some active lane needs it; a choice on a uniform test, or on which all lanes agree, runs one side
//! without a mask of its own; lanes that left a loop keep the results they left with.

use super::code::{Carry, Way};
use super::memory::Base;
use super::record::{Record, Rounds};
use super::tile::{Mask, TileRun};
use crate::exec::EvalError;
use crate::exec::room::make_room;
use crate::graph::RegionId;
use crate::ops::real::Real;
use crate::source::Span;
use crate::tape::{Instruction, Place, Rate, RegionTape};
use std::rc::Rc;

impl<T: Real> TileRun<'_, T> {
    /// Makes a frame for another region and copies its arguments in. `branch`: which side of a choice, for records of choices.
    fn enter(&mut self, id: RegionId, base: Base, child: RegionId, args: &[Place], branch: Option<bool>) -> Result<Base, EvalError> {
        let inner = self.end(id, base);
        self.make_room(self.end(child, inner), Span::default())?;
        let tape = self.tape;
        for (&a, &p) in args.iter().zip(&tape.regions[child.0 as usize].params) {
            self.memory.copy(a, base, p, inner);
            if let Some(yes) = branch
                && p.is_record()
                && let Some(record) = self.memory.records[inner.records + p.at as usize].clone()
                && let Record::Choice(a, b) = &*record
            {
                self.memory.records[inner.records + p.at as usize] = if yes { a.clone() } else { b.clone() };
            }
        }
        Ok(inner)
    }

    /// Copies results out and lets the frame's records go.
    fn leave(&mut self, child: RegionId, inner: Base, out: &[Place], base: Base) {
        let code = &self.tape.regions[child.0 as usize];
        for (&r, &o) in code.results.iter().zip(out) {
            self.memory.copy(r, inner, o, base);
        }
        self.release(child, inner);
    }

    /// Lets the records of a frame go.
    pub(super) fn release(&mut self, child: RegionId, inner: Base) {
        let held = self.tape.regions[child.0 as usize].records as usize;
        self.memory.records[inner.records..inner.records + held].fill(None);
    }

    pub(super) fn call(
        &mut self,
        id: RegionId,
        i: &Instruction,
        f: RegionId,
        base: Base,
        mask: Mask<'_>,
        span: Span,
    ) -> Result<(), EvalError> {
        if !self.count(mask, span)? {
            self.lose(&i.out, base);
            return Ok(());
        }
        self.depth += 1;
        let limit = self.options.run.limits.depth;
        if self.depth > limit {
            let message = format!("calls of `{}` are nested more than {limit} deep", self.graph.region(f).name);
            self.fail_all(mask, &EvalError::new("limit-depth", span, message));
            self.lose(&i.out, base);
        } else {
            let inner = self.enter(id, base, f, &i.args, None)?;
            self.region(f, inner, mask)?;
            self.leave(f, inner, &i.out, base);
        }
        self.depth -= 1;
        Ok(())
    }

    /// Results of a call that no lane finished: empty records, so that nothing behind it finds something stale.
    fn lose(&mut self, out: &[Place], base: Base) {
        for o in out.iter().filter(|o| o.is_record()) {
            self.memory.records[base.records + o.at as usize] = Some(Rc::new(Record::Choice(None, None)));
        }
    }

    pub(super) fn choice(
        &mut self,
        id: RegionId,
        i: &Instruction,
        (yes, no): (RegionId, RegionId),
        base: Base,
        mask: Mask<'_>,
    ) -> Result<(), EvalError> {
        let test = i.args[0];
        if test.rate == Rate::Uniform {
            let t = self.memory.uniform[base.uniform + test.at as usize] != T::ZERO;
            return self.side(id, i, if t { yes } else { no }, t, base, mask);
        }
        let slot = base.varying + test.at as usize;
        let first = self.select_lanes(mask, |m, l| m.lanes(slot)[l] != T::ZERO);
        let second = self.select_lanes(mask, |m, l| m.lanes(slot)[l] == T::ZERO);
        let done = match (first.contains(&true), second.contains(&true)) {
            (true, false) => self.side(id, i, yes, true, base, mask),
            (false, true) => self.side(id, i, no, false, base, mask),
            (true, true) => self.both(id, i, [(yes, &first), (no, &second)], base),
            (false, false) => {
                self.lose(&i.out, base);
                Ok(())
            }
        };
        self.memory.give_mask(first);
        self.memory.give_mask(second);
        done
    }

    /// A choice on which all lanes agree.
    fn side(&mut self, id: RegionId, i: &Instruction, region: RegionId, yes: bool, base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        let inner = self.enter(id, base, region, &i.args[1..], Some(yes))?;
        self.region(region, inner, mask)?;
        self.leave(region, inner, &i.out, base);
        for o in i.out.iter().filter(|o| o.is_record()) {
            let record = self.memory.records[base.records + o.at as usize].take();
            let choice = if yes { Record::Choice(record, None) } else { Record::Choice(None, record) };
            self.memory.records[base.records + o.at as usize] = Some(Rc::new(choice));
        }
        Ok(())
    }

    /// A choice on which lanes differ.
    fn both(
        &mut self,
        id: RegionId,
        i: &Instruction,
        [(yes, first), (no, second)]: [(RegionId, &[bool]); 2],
        base: Base,
    ) -> Result<(), EvalError> {
        let inner = self.enter(id, base, yes, &i.args[1..], Some(true))?;
        self.region(yes, inner, Some(first))?;
        self.leave(yes, inner, &i.out, base);
        let inner = self.enter(id, base, no, &i.args[1..], Some(false))?;
        self.region(no, inner, Some(second))?;
        let tape = self.tape;
        for (&r, &o) in tape.regions[no.0 as usize].results.iter().zip(&i.out) {
            if o.is_record() {
                let yes = self.memory.records[base.records + o.at as usize].take();
                let no = self.memory.records[inner.records + r.at as usize].clone();
                self.memory.records[base.records + o.at as usize] = Some(Rc::new(Record::Choice(yes, no)));
            } else {
                self.memory.blend(r, inner, o, base, second);
            }
        }
        self.release(no, inner);
        Ok(())
    }

    pub(super) fn run_loop(
        &mut self,
        id: RegionId,
        i: &Instruction,
        (body, carried, taped): (RegionId, usize, bool),
        base: Base,
        mask: Mask<'_>,
        span: Span,
    ) -> Result<(), EvalError> {
        let inner = self.enter(id, base, body, &i.args, None)?;
        let (tape, prepared) = (self.tape, self.code);
        let code = &tape.regions[body.0 as usize];
        let flag = code.results[0];
        let mut rounds = taped.then(|| Rounds::new(body, &self.memory.held));
        // Lanes still in the loop; kept only once they differ from the mask.
        let mut active: Option<Vec<bool>> = None;
        let mut count = 0u64;
        loop {
            let now: Mask<'_> = active.as_deref().or(mask);
            if !self.count(now, span)? {
                break;
            }
            count += 1;
            let limit = self.options.run.limits.iterations;
            if count > limit {
                self.fail_all(now, &EvalError::new("limit-iterations", span, format!("this loop runs more than {limit} rounds")));
                break;
            }
            self.round(body, carried, inner, now, rounds.as_mut(), span)?;
            let go_on = match flag.rate {
                Rate::Uniform => {
                    let go_on = self.memory.uniform[inner.uniform + flag.at as usize] != T::ZERO;
                    if !go_on {
                        self.exit(code, carried, inner, i, base, active.as_deref());
                    }
                    go_on && self.any_active(now)
                }
                Rate::Varying => {
                    let slot = inner.varying + flag.at as usize;
                    let exits = self.select_lanes(now, |m, l| m.lanes(slot)[l] == T::ZERO);
                    if exits.contains(&true) {
                        self.exit(code, carried, inner, i, base, Some(&exits));
                        if let Some(rounds) = &mut rounds {
                            let trips = rounds.trips.get_or_insert_with(|| vec![0; exits.len()]);
                            trips.iter_mut().zip(&exits).filter(|(_, e)| **e).for_each(|(t, _)| *t = count as u32);
                        }
                        let stay = self.select_lanes(now, |m, l| m.lanes(slot)[l] != T::ZERO);
                        if let Some(before) = active.replace(stay) {
                            self.memory.give_mask(before);
                        }
                    }
                    self.memory.give_mask(exits);
                    self.any_active(active.as_deref().or(mask))
                }
            };
            if !go_on {
                break;
            }
            self.carry(&prepared.regions[body.0 as usize].carry, inner, None);
        }
        if let Some(rounds) = rounds {
            let at = base.records + i.out.last().expect("a taped loop has a record").at as usize;
            self.memory.records[at] = Some(Rc::new(Record::Rounds(rounds)));
        }
        if let Some(active) = active {
            self.memory.give_mask(active);
        }
        self.release(body, inner);
        Ok(())
    }

    /// One round of a loop whose carried values are in place.
    pub(super) fn round(
        &mut self,
        body: RegionId,
        carried: usize,
        inner: Base,
        now: Mask<'_>,
        rounds: Option<&mut Rounds<T>>,
        span: Span,
    ) -> Result<(), EvalError> {
        let Some(rounds) = rounds else { return self.region(body, inner, now) };
        let tape = self.tape;
        let code = &tape.regions[body.0 as usize];
        if let Some(mut buffer) = rounds.next_buffer() {
            let numbers = code.params[..carried].iter().map(|p| self.memory.numbers_of(*p)).sum::<usize>();
            self.check_memory(numbers.saturating_mul(size_of::<T>()), span)?;
            make_room(&mut buffer, numbers, span)?;
            code.params[..carried].iter().for_each(|&p| self.memory.store(p, inner, &mut buffer));
            rounds.keep(buffer);
        }
        self.region(body, inner, now)?;
        if rounds.every == 1
            && let Some(own) = code.results.last().filter(|r| r.is_record())
        {
            rounds.inner.extend(self.memory.records[inner.records + own.at as usize].clone());
        }
        if rounds.is_too_much(self.options.record_bytes) {
            if rounds.fixed.is_empty() {
                rounds.fixed = code.params[carried..].iter().map(|&p| self.memory.keep(p, inner)).collect();
            }
            rounds.thin();
        }
        self.check_memory(0, span)
    }

    /// Hands on the results of lanes that leave a loop.
    fn exit(&mut self, code: &RegionTape, carried: usize, inner: Base, i: &Instruction, base: Base, lanes: Mask<'_>) {
        for (&r, &o) in code.results[1 + carried..].iter().zip(&i.out).filter(|(r, _)| !r.is_record()) {
            match lanes {
                Some(mask) if o.rate == Rate::Varying => self.memory.blend(r, inner, o, base, mask),
                _ => self.memory.copy(r, inner, o, base),
            }
        }
    }

    /// Carries results over to parameters of the same frame, in the lanes of a mask.
    pub(super) fn carry(&mut self, carry: &Carry, base: Base, mask: Mask<'_>) {
        for &(from, to, way) in &carry.moves {
            match (mask, way) {
                (Some(mask), _) if !from.is_record() && to.rate == Rate::Varying => self.memory.blend(from, base, to, base, mask),
                (None, Way::Trade) => {
                    for k in 0..from.len as usize {
                        self.memory.trade(base.varying + from.at as usize + k, base.varying + to.at as usize + k);
                    }
                }
                _ => self.memory.copy(from, base, to, base),
            }
        }
        if carry.tangled.is_empty() {
            return;
        }
        let old = mask.map(|_| carry.tangled.iter().map(|t| self.memory.keep(t.1, base)).collect::<Vec<_>>());
        let new: Vec<_> = carry.tangled.iter().map(|t| self.memory.keep(t.0, base)).collect();
        for (value, t) in new.iter().zip(&carry.tangled) {
            self.memory.recall(value, t.1, base);
        }
        if let (Some(old), Some(mask)) = (old, mask) {
            for (value, t) in old.iter().zip(&carry.tangled) {
                self.memory.recall_except(value, t.1, base, mask);
            }
        }
    }
}
