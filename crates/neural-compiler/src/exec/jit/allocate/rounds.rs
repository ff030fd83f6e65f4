//! Loops inside a fused loop. In: where one opens or closes; out: its rounds as instructions.
//! Invariants: registers pinned for a loop hold the same values at the start of every round; what the rounds made is gone behind it.

use super::super::Declined;
use super::super::assemble::{Address, Note};
use super::super::homes::Home;
use super::super::ir::{Class, Def, Loop, Value};
use super::super::mend::Detour;
use super::flat::{Flat, inside, outs, reads};
use super::{COUNTER, Fuse, MOST_COPIES, NONE, OpenLoop, POOL};
use iced_x86::Code as Op;

impl Fuse<'_, '_> {
    pub(super) fn open(&mut self, l: u32, p: usize) -> Result<(), Declined> {
        let code = self.shape.code;
        let it = &code.loops[l as usize];
        self.asm.note(Note::Frame("loop"));
        for (k, v) in it.init.iter().enumerate() {
            self.t.upcoming[v.0 as usize] = self.next[p][k];
        }
        // Everything that is not pinned goes home, first values of the loop included: rounds start from a known state.
        for class in [Class::Number, Class::Mask] {
            for r in self.asm.registers(class) {
                if let Some((v, copy)) = self.file(class).0[r as usize]
                    && !self.is_pinned(class, r)
                {
                    if !self.has_home(v, copy as usize) {
                        self.spill(v, copy as usize, code.class(v), r);
                    }
                    self.release(class, r, v);
                }
            }
        }
        let mut state = Vec::with_capacity(it.carried.len());
        for (&init, &carried) in it.init.iter().zip(&it.carried) {
            let class = code.class(carried);
            let mut registers = [NONE; MOST_COPIES];
            for (copy, register) in registers.iter_mut().enumerate().take(self.copies) {
                let r = self.free_register(class)?;
                match self.t.register[init.0 as usize][copy] {
                    NONE => {
                        let from = self.home(init, copy);
                        self.asm.load(class, r, from);
                    }
                    other => self.asm.copy(class, r, other),
                }
                self.hold(class, r, carried, copy);
                self.pin(class, r, true);
                *register = r;
            }
            state.push(registers);
        }
        let invariants = self.pin_invariants(p)?;
        let start = self.asm.label();
        self.asm.align(16);
        self.asm.bind(start);
        self.loops.push(OpenLoop { start, state, invariants });
        Ok(())
    }

    /// Pins values from outside that the innermost loop at `p` reads, as far as its own values leave room.
    pub(super) fn pin_invariants(&mut self, p: usize) -> Result<Vec<(Class, u8)>, Declined> {
        let code = self.shape.code;
        let mut made: Vec<Value> = Vec::new();
        let mut outside: Vec<(u32, Value)> = Vec::new();
        let mut list = Vec::new();
        let mut depth = 0;
        for &task in &self.flat[p..] {
            reads(code, task, &mut list);
            match task {
                Flat::Open(l) => {
                    made.extend(&code.loops[l as usize].carried);
                    depth += 1;
                    if depth == 1 {
                        continue;
                    }
                }
                Flat::Close(l) => {
                    made.extend(outs(code, l));
                    depth -= 1;
                }
                Flat::Value(v) => made.push(v),
                Flat::Output(..) => {}
            }
            for &v in &list {
                if let Some(found) = outside.iter_mut().find(|o| o.1 == v) {
                    found.0 += 1;
                } else if code.class(v) == Class::Number && !made.contains(&v) {
                    outside.push((1, v));
                }
            }
            if depth == 0 {
                break;
            }
        }
        let own = inside(code, &self.flat[p..]) * self.copies + 2;
        let range = self.asm.registers(Class::Number);
        let (file, taken) = self.file(Class::Number);
        let free = range.into_iter().filter(|&r| file[r as usize].is_none() && taken & (1 << r) == 0).count();
        let mut room = if self.pins { free.saturating_sub(own) } else { 0 };
        outside.sort_by_key(|o| std::cmp::Reverse(o.0));
        let mut pinned = Vec::new();
        for (_, v) in outside {
            let shared = matches!(self.shape.homes.of[v.0 as usize], Home::Pool(_));
            for copy in 0..self.copies {
                if room == 0 || self.t.register[v.0 as usize][copy] != NONE {
                    continue;
                }
                room -= 1;
                let r = self.in_register(v, copy)?;
                self.unlock();
                self.pin(Class::Number, r, true);
                pinned.push((Class::Number, r));
                if shared {
                    self.t.register[v.0 as usize] = [r; MOST_COPIES];
                }
            }
        }
        Ok(pinned)
    }

    pub(super) fn close(&mut self, l: u32, p: usize) -> Result<(), Declined> {
        let code = self.shape.code;
        let it = &code.loops[l as usize];
        self.asm.note(Note::Frame("next round"));
        let Some(open) = self.loops.pop() else { return Err(Declined::Encoding) };
        for (k, v) in it.next.iter().enumerate() {
            self.t.upcoming[v.0 as usize] = self.next[p][k];
        }
        self.pending.clear();
        self.pending.extend_from_slice(&it.next);
        self.read = -1;
        let kept = self.store_overwritten(it, &open)?;
        self.load_carried(it, &open, &kept);
        self.pending.clear();
        let active = &open.state[it.active][..self.copies];
        self.asm.test_any(active);
        let done = self.asm.label();
        self.asm.jump(Op::Je_rel32_64, done);
        self.asm.count_down(COUNTER);
        self.asm.jump(Op::Jne_rel32_64, open.start);
        let look = self.asm.label();
        self.asm.jump(Op::Jmp_rel32_64, look);
        self.detours.push((look, Detour::Look { start: open.start }));
        self.asm.bind(done);
        self.leave(l, open);
        Ok(())
    }

    /// Stores next values that lie in another carried value's register, which is overwritten before they are read: where each went.
    fn store_overwritten(&mut self, it: &Loop, open: &OpenLoop) -> Result<Vec<Option<u32>>, Declined> {
        let code = self.shape.code;
        let held: Vec<(Class, u8)> =
            it.carried.iter().zip(&open.state).flat_map(|(c, r)| r[..self.copies].iter().map(move |&r| (code.class(*c), r))).collect();
        let mut kept: Vec<Option<u32>> = Vec::new();
        for (k, (&next, &carried)) in it.next.iter().zip(&it.carried).enumerate() {
            let class = code.class(next);
            let clash = next != carried
                && (0..self.copies).any(|copy| {
                    let r = self.t.register[next.0 as usize][copy];
                    r != NONE
                        && r != open.state[k][copy]
                        && held.iter().any(|h| self.asm.held_in(h.0) == self.asm.held_in(class) && h.1 == r)
                });
            kept.push(None);
            if clash {
                let at = self.spills;
                self.spills += self.copies as u32;
                for copy in 0..self.copies {
                    let r = self.in_register(next, copy)?;
                    let offset = self.behind_pool(at) + (copy * self.asm.vector_bytes()) as i64;
                    self.asm.store(class, Address { base: POOL, index: None, offset }, r);
                    self.unlock();
                }
                kept[k] = Some(at);
            }
        }
        Ok(kept)
    }

    /// Brings next values into the registers of the carried ones.
    fn load_carried(&mut self, it: &Loop, open: &OpenLoop, kept: &[Option<u32>]) {
        let code = self.shape.code;
        for (k, (&next, &carried)) in it.next.iter().zip(&it.carried).enumerate() {
            if next == carried {
                continue;
            }
            let class = code.class(next);
            for copy in 0..self.copies {
                let to = open.state[k][copy];
                if let Some(at) = kept[k] {
                    let offset = self.behind_pool(at) + (copy * self.asm.vector_bytes()) as i64;
                    self.asm.load(class, to, Address { base: POOL, index: None, offset });
                    continue;
                }
                match self.t.register[next.0 as usize][copy] {
                    NONE => {
                        let from = self.home(next, copy);
                        self.asm.load(class, to, from);
                    }
                    r if r == to => {}
                    r => self.asm.copy(class, to, r),
                }
            }
        }
    }

    /// Behind the last round the carried registers hold the results of the loop; what the rounds made is gone.
    fn leave(&mut self, l: u32, open: OpenLoop) {
        let code = self.shape.code;
        let it = &code.loops[l as usize];
        for class in [Class::Number, Class::Mask] {
            for r in self.asm.registers(class) {
                if let Some((v, _)) = self.file(class).0[r as usize]
                    && (code.block(v) == l + 1 || !self.is_pinned(class, r))
                {
                    self.release(class, r, v);
                }
            }
        }
        for (class, r) in open.invariants {
            self.pin(class, r, false);
            let class = self.asm.held_in(class);
            if let Some((v, _)) = self.file(class).0[r as usize] {
                self.release(class, r, v);
            }
        }
        for (k, registers) in open.state.iter().enumerate() {
            let class = code.class(it.carried[k]);
            let out = code.known(Def::Out(l, k as u32));
            for (copy, &r) in registers.iter().enumerate().take(self.copies) {
                self.pin(class, r, false);
                let Some(v) = out else { continue };
                self.hold(class, r, v, copy);
                let home = self.shape.homes.of[v.0 as usize];
                if matches!(home, Home::Pool(_) | Home::Slot(_)) {
                    let to = self.designated(home, copy);
                    self.asm.store(class, to, r);
                    self.t.at_home[v.0 as usize][copy] = true;
                }
                self.done_with(v, copy);
            }
        }
    }
}
