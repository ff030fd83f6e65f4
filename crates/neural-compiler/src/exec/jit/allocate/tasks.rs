//! Tasks as instructions. In: a task of the fused loop; out: its instructions for all vectors side by side.
//! Invariant: the result of an instruction may take the register of an argument only when nothing reads that any more.

use super::super::Declined;
use super::super::assemble::{Note, Operand, memory_argument};
use super::super::homes::Home;
use super::super::ir::{Class, Def, Function, Prim, Value};
use super::super::mend::{Call, Callee, Detour};
use super::flat::Flat;
use super::{Fuse, NEVER, NONE};
use iced_x86::Code as Op;

impl Fuse<'_, '_> {
    // Tasks.

    pub(super) fn task(&mut self, p: usize) -> Result<(), Declined> {
        match self.flat[p] {
            Flat::Value(v) => {
                self.asm.note(Note::Source(self.shape.code.spans[v.0 as usize]));
                let Def::Op(prim, args, n) = self.shape.code.def(v) else { return Err(Declined::CallInLoop) };
                let args = &args[..n as usize];
                for (k, a) in args.iter().enumerate() {
                    self.t.upcoming[a.0 as usize] = self.next[p][k];
                }
                self.pending.clear();
                self.pending.extend_from_slice(args);
                for copy in 0..self.copies {
                    self.read = copy as i32 - 1;
                    self.operation(v, prim, args, copy)?;
                }
                self.pending.clear();
            }
            Flat::Output(k, v) => {
                self.asm.note(Note::Frame("result"));
                self.t.upcoming[v.0 as usize] = self.next[p][0];
                self.pending.clear();
                self.pending.push(v);
                for copy in 0..self.copies {
                    self.read = copy as i32;
                    let r = self.in_register(v, copy)?;
                    let to = self.designated(Home::Column(self.shape.columns + k), copy);
                    if self.shape.stream {
                        self.asm.stream(to, r);
                    } else {
                        self.asm.store(Class::Number, to, r);
                    }
                    if !self.shape.stream && self.shape.homes.of[v.0 as usize] == Home::Column(self.shape.columns + k) {
                        self.t.at_home[v.0 as usize][copy] = true;
                    }
                    self.unlock();
                    self.done_with(v, copy);
                }
                self.pending.clear();
            }
            Flat::Open(l) => self.open(l, p)?,
            Flat::Close(l) => self.close(l, p)?,
        }
        Ok(())
    }

    pub(super) fn operation(&mut self, v: Value, prim: Prim, args: &[Value], copy: usize) -> Result<(), Declined> {
        let mut order = [0usize, 1, 2, 3];
        let somewhere = |f: &Self, k: usize| f.t.register[args[k].0 as usize][copy] != NONE;
        if prim.commutes() && !somewhere(self, 0) && somewhere(self, 1) {
            order.swap(0, 1);
        }
        let at = memory_argument(prim);
        let mut operands = [Operand::Register(0); 4];
        // What must be in registers first, so that the address of what is read from memory comes last.
        for k in (0..args.len()).filter(|&k| Some(k) != at) {
            operands[k] = Operand::Register(self.in_register(args[order[k]], copy)?);
        }
        if let Some(k) = at {
            let a = args[order[k]];
            let i = a.0 as usize;
            let from_memory = self.t.register[i][copy] == NONE
                && self.has_home(a, copy)
                && (self.t.upcoming[i] == NEVER || matches!(self.shape.homes.of[i], Home::Pool(_)) || !self.any_free(Class::Number));
            operands[k] = if from_memory { Operand::Memory(self.home(a, copy)) } else { Operand::Register(self.in_register(a, copy)?) };
        }
        self.read = copy as i32;
        let class = self.shape.code.class(v);
        // Several instructions read the arguments of these, so that the result needs a register of its own.
        let fused = matches!(prim, Prim::MulAdd | Prim::MulSub | Prim::NegMulAdd);
        let apart = matches!(prim, Prim::Max | Prim::Mend(_) | Prim::MendPair(_) | Prim::Refuse | Prim::Quotient) || fused;
        if !apart {
            self.unlock();
            for a in args {
                self.done_with(*a, copy);
            }
            // The result may replace an argument that is dead now, but must not drive out one that is read now.
            for (operand, k) in operands[..args.len()].iter().zip(order) {
                if let Operand::Register(r) = *operand
                    && self.t.register[args[k].0 as usize][copy] != NONE
                {
                    self.lock(self.shape.code.class(args[k]), r);
                }
            }
        }
        // A fused instruction overwrites its first factor: in place, if nobody reads it any more.
        let first = args.first().map(|_| args[order[0]]);
        let in_place = fused && first.is_some_and(|a| self.dies(a, copy) && args.iter().filter(|&&b| b == a).count() == 1);
        let out = match (operands[0], first) {
            (Operand::Register(r), Some(a)) if in_place => {
                self.release(self.asm.held_in(class), r, a);
                r
            }
            _ => self.free_register(class)?,
        };
        // Comparisons of f64 halves give masks, so the arguments say in which type the operation works.
        let in_f64 = prim != Prim::Narrow && args.iter().any(|&a| self.shape.code.is_wide(a));
        self.asm.operation(prim, in_f64, out, &operands[..args.len()]);
        if let (Prim::Quotient, [Operand::Register(x), Operand::Register(y), ..]) = (prim, operands) {
            let (detour, back) = (self.asm.label(), self.asm.label());
            self.asm.test_spare(in_f64);
            self.asm.jump(Op::Jne_rel32_64, detour);
            self.asm.bind(back);
            self.detours.push((detour, Detour::Division { in_f64, x, y, out, back }));
        }
        if let (Prim::Refuse, [Operand::Register(mask), ..]) = (prim, operands) {
            self.asm.test_any(&[mask]);
            self.asm.jump(Op::Jne_rel32_64, self.bail);
        }
        let called = match prim {
            Prim::Mend(Function(f)) => Some(Callee::Unary(f)),
            Prim::MendPair(Function(f)) => Some(Callee::Binary(f)),
            _ => None,
        };
        if let (Some(f), [Operand::Register(mask), _, Operand::Register(x), Operand::Register(y)]) = (called, operands) {
            let (detour, back) = (self.asm.label(), self.asm.label());
            self.asm.test_any(&[mask]);
            self.asm.jump(Op::Jne_rel32_64, detour);
            self.asm.bind(back);
            self.detours.push((detour, Detour::Call(Call { f, mask, x, y, out, back })));
        }
        self.unlock();
        self.hold(class, out, v, copy);
        if apart {
            for a in args {
                self.done_with(*a, copy);
            }
        }
        let home = self.shape.homes.of[v.0 as usize];
        if matches!(home, Home::Pool(_) | Home::Slot(_)) {
            let to = self.designated(home, copy);
            self.asm.store(class, to, out);
            self.t.at_home[v.0 as usize][copy] = true;
        }
        self.done_with(v, copy);
        Ok(())
    }
}
