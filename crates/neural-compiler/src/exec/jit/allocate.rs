//! One fused loop as machine code. In: its tasks and the homes of values; out: a function
//! `(pool, columns, from, to, rounds, slots) -> finished?` that runs the tasks over the bytes `from .. to` of each column.
//!
//! Registers are given out in one walk, several vectors of lanes side by side: when none is free, the value whose next use is farthest
//! goes back to memory (Belady). Values that never change stay in registers as far as these last. Arguments are read straight from
//! memory where that is their last use.
//! Invariants: a value is in a register or has a valid home whenever it is read later; registers pinned for a loop hold the same values
//! at the start of every round.

mod flat;
mod registers;
mod rounds;
mod tasks;

use super::Declined;
use super::assemble::{Address, Assembler, Label, Note};
use super::homes::{Home, Homes};
use super::ir::{Class, Code, Def, Prim, Value};
use super::mend::{self, Detour};
use super::pace;
use super::schedule::Task;
use flat::{Flat, reads, survey, unfold};
use iced_x86::{Code as Op, Register};

/// Vectors side by side at most.
pub(super) const MOST_COPIES: usize = 8;

/// Vectors side by side where the machine finds enough to do among them anyway.
const USUAL_COPIES: usize = 4;

const NEVER: u32 = u32::MAX;
const NONE: u8 = u8::MAX;

// The arguments of a fused loop, as the System V calling convention passes them.
pub(super) const POOL: Register = Register::RDI;
pub(super) const COLUMNS: Register = Register::RSI;
const AT: Register = Register::RDX;
const END: Register = Register::RCX;
const ROUNDS: Register = Register::R8;
const SLOTS: Register = Register::R9;
/// For the address of a column that has no register.
const SCRATCH: Register = Register::RAX;
/// Counts the rounds of loops down to the next look.
const COUNTER: Register = Register::RBX;

/// Registers for addresses of columns; the callee-saved ones behind the others.
const ADDRESSES: [Register; 7] = [Register::R10, Register::R11, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];
const SAVED: [Register; 6] = [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// What stays the same over the fused loops of a program.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) code: &'a Code,
    pub(super) homes: &'a Homes,
    pub(super) live: &'a [bool],
    /// How many columns the inputs have.
    pub(super) columns: u32,
    /// Where the pool ends and values of one fused loop may be kept, in vectors.
    pub(super) pool: u32,
    /// Where in the pool stands whom loops ask whether to go on, in bytes.
    pub(super) question: i64,
    /// Bytes of a slot.
    pub(super) slot_bytes: u32,
    /// Whether several vectors may be worked on side by side.
    pub(super) side_by_side: bool,
    /// Whether results go past the caches; their addresses are aligned then.
    pub(super) stream: bool,
}

/// State per value, kept between fused loops so that each costs only what it uses.
pub(super) struct Tables {
    /// The register of each copy of a value.
    register: Vec<[u8; MOST_COPIES]>,
    /// Whether the home of each copy holds it.
    at_home: Vec<[bool; MOST_COPIES]>,
    /// The value's place behind the pool, once it had to go there.
    spilled: Vec<u32>,
    spill_valid: Vec<[bool; MOST_COPIES]>,
    /// Where it is read next.
    upcoming: Vec<u32>,
    uses: Vec<u32>,
    seen: Vec<u32>,
}

impl Tables {
    pub(super) fn new(values: usize) -> Tables {
        Tables {
            register: vec![[NONE; MOST_COPIES]; values],
            at_home: vec![[true; MOST_COPIES]; values],
            spilled: vec![NEVER; values],
            spill_valid: vec![[false; MOST_COPIES]; values],
            upcoming: vec![NEVER; values],
            uses: vec![0; values],
            seen: vec![0; values],
        }
    }

    fn reset(&mut self, v: usize) {
        self.register[v] = [NONE; MOST_COPIES];
        self.at_home[v] = [true; MOST_COPIES];
        self.spilled[v] = NEVER;
        self.spill_valid[v] = [false; MOST_COPIES];
        self.upcoming[v] = NEVER;
        self.uses[v] = 0;
        self.seen[v] = 0;
    }
}

/// A finished fused loop.
pub(super) struct Fused {
    /// Where its function starts.
    pub(super) entry: usize,
    /// Vectors behind the pool that it needs.
    pub(super) spills: u32,
    /// Vectors side by side.
    pub(super) copies: usize,
}

/// Emits a fused loop. `once`: it runs for a single vector.
pub(super) fn fuse(shape: &Shape<'_>, tables: &mut Tables, asm: &mut Assembler, tasks: &[Task], once: bool) -> Result<Fused, Declined> {
    let mut flat = Vec::with_capacity(tasks.len());
    for task in tasks {
        match *task {
            Task::Value(v) => flat.push(Flat::Value(v)),
            Task::Output(k, v) => flat.push(Flat::Output(k, v)),
            Task::Loop(l) => unfold(shape, l, &mut flat),
        }
    }
    let mut touched: Vec<Value> = Vec::new();
    let (next, pressure) = survey(shape, tables, &flat, &mut touched);
    let registers = asm.registers(Class::Number).len() as u32;
    let once = once || !shape.side_by_side;
    let mut copies = if once { 1 } else { USUAL_COPIES };
    while copies > 1 && (pressure * copies as u32 + 3 > registers || flat.len() * copies > 320) {
        copies /= 2;
    }
    if !once {
        copies = copies.max(pace::copies(shape.code, tasks));
    }
    let before = asm.mark();
    let mut pins = true;
    let result = loop {
        let mut f = Fuse::new(shape, tables, asm, &flat, &next, copies);
        f.pins = pins;
        match f.run(pressure) {
            Ok(fused) => break Ok(fused),
            // Too many registers are pinned: try with fewer vectors, then without constants in registers.
            Err(Declined::Registers) if copies > 1 || pins => {
                pins = copies > 1;
                copies = (copies / 2).max(1);
                asm.rewind(&before);
                touched.iter().for_each(|v| tables.reset(v.0 as usize));
                touched.clear();
                let _ = survey(shape, tables, &flat, &mut touched);
            }
            Err(other) => break Err(other),
        }
    };
    touched.iter().for_each(|v| tables.reset(v.0 as usize));
    result
}

struct Fuse<'a, 'b> {
    shape: &'a Shape<'a>,
    t: &'b mut Tables,
    asm: &'b mut Assembler,
    flat: &'b [Flat],
    next: &'b [Vec<u32>],
    copies: usize,
    /// What each register holds: value and copy.
    vectors: [Option<(Value, u8)>; 32],
    masks: [Option<(Value, u8)>; 8],
    pinned_vectors: u32,
    pinned_masks: u32,
    /// Registers the instruction at hand uses.
    locked_vectors: u32,
    locked_masks: u32,
    spills: u32,
    /// Whether values that do not change may keep registers.
    pins: bool,
    addresses: Vec<(u32, Register)>,
    /// Values the task at hand reads, and the last copy of them that has been read.
    pending: Vec<Value>,
    read: i32,
    /// Loops being emitted: start, the pinned registers, what they hold.
    loops: Vec<OpenLoop>,
    /// Calls for rare lanes, to be emitted behind the loop.
    detours: Vec<(Label, Detour)>,
    bail: Label,
}

struct OpenLoop {
    start: Label,
    /// The register of each copy of each carried value.
    state: Vec<[u8; MOST_COPIES]>,
    /// Values pinned because the loop reads them.
    invariants: Vec<(Class, u8)>,
}

impl<'a, 'b> Fuse<'a, 'b> {
    fn new(
        shape: &'a Shape<'a>,
        t: &'b mut Tables,
        asm: &'b mut Assembler,
        flat: &'b [Flat],
        next: &'b [Vec<u32>],
        copies: usize,
    ) -> Fuse<'a, 'b> {
        let bail = asm.label();
        Fuse {
            shape,
            t,
            asm,
            flat,
            next,
            copies,
            vectors: [None; 32],
            masks: [None; 8],
            pinned_vectors: 0,
            pinned_masks: 0,
            locked_vectors: 0,
            locked_masks: 0,
            spills: 0,
            pins: true,
            addresses: Vec::new(),
            pending: Vec::new(),
            read: 0,
            loops: Vec::new(),
            detours: Vec::new(),
            bail,
        }
    }

    fn run(&mut self, pressure: u32) -> Result<Fused, Declined> {
        self.asm.align(16);
        let entry = self.asm.position();
        let has_loops = self.flat.iter().any(|t| matches!(t, Flat::Open(_)));
        self.find_addresses();
        let used = |r: &Register| (has_loops && *r == COUNTER) || self.addresses.iter().any(|a| a.1 == *r);
        let saved: Vec<Register> = SAVED.into_iter().filter(used).collect();
        self.asm.note(Note::Frame("addresses of columns, constants"));
        saved.iter().for_each(|&r| self.asm.push(r));
        for (column, register) in self.addresses.clone() {
            self.asm.load_general(register, Address { base: COLUMNS, index: None, offset: 8 * i64::from(column) });
        }
        self.pin_constants(pressure)?;
        self.asm.align(16);
        let head = self.asm.label();
        self.asm.bind(head);
        if has_loops {
            self.asm.copy_general(COUNTER, ROUNDS);
        }
        for p in 0..self.flat.len() {
            self.task(p)?;
        }
        self.asm.note(Note::Frame("next lanes"));
        let step = (self.copies * self.asm.vector_bytes()) as i32;
        self.asm.add_general(AT, step);
        self.asm.compare_general(AT, END);
        self.asm.jump(Op::Jb_rel32_64, head);
        if self.shape.stream {
            self.asm.fence();
        }
        self.asm.set(Register::EAX, 1);
        let leave = self.asm.label();
        self.asm.bind(leave);
        saved.iter().rev().for_each(|&r| self.asm.pop(r));
        self.asm.end();
        self.asm.ret();
        self.asm.bind(self.bail);
        if has_loops || self.refuses() {
            self.asm.set(Register::EAX, 0);
            self.asm.jump(Op::Jmp_rel32_64, leave);
        }
        self.mend();
        Ok(Fused { entry, spills: self.spills, copies: self.copies })
    }

    /// Whether there are lanes that the code cannot run.
    fn refuses(&self) -> bool {
        self.flat.iter().any(|t| matches!(t, Flat::Value(v) if matches!(self.shape.code.def(*v), Def::Op(Prim::Refuse, ..))))
    }

    /// Where functions are called for rare lanes, out of the way.
    fn mend(&mut self) {
        if self.detours.is_empty() {
            return;
        }
        self.asm.note(Note::Frame("functions and quotients of rare arguments, looks"));
        let save = self.behind_pool(self.spills);
        let mut routine = None;
        for (label, detour) in std::mem::take(&mut self.detours) {
            self.asm.bind(label);
            match detour {
                Detour::Call(call) => {
                    let routine = *routine.get_or_insert_with(|| self.asm.label());
                    mend::call(self.asm, &call, save, routine);
                }
                Detour::Division { in_f64, x, y, out, back } => {
                    self.asm.divide(in_f64, out, x, y);
                    self.asm.jump(Op::Jmp_rel32_64, back);
                }
                Detour::Look { start } => {
                    let routine = *routine.get_or_insert_with(|| self.asm.label());
                    mend::look(self.asm, self.shape.question, [COUNTER, AT], routine, [start, self.bail]);
                }
            }
        }
        if let Some(routine) = routine {
            self.spills += mend::SAVED_VECTORS;
            self.asm.bind(routine);
            mend::routine(self.asm, POOL, save);
        }
    }

    /// Gives a register to the address of each column, as far as they last.
    fn find_addresses(&mut self) {
        let mut list = Vec::new();
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let mut add = |column: u32| match counts.iter_mut().find(|c| c.0 == column) {
            Some(c) => c.1 += 1,
            None => counts.push((column, 1)),
        };
        for &task in self.flat {
            reads(self.shape.code, task, &mut list);
            for v in &list {
                if let Home::Column(c) = self.shape.homes.of[v.0 as usize]
                    && self.t.at_home[v.0 as usize][0]
                {
                    add(c);
                }
            }
            if let Flat::Output(k, _) = task {
                add(self.shape.columns + k);
            }
        }
        counts.sort_by_key(|c| std::cmp::Reverse(c.1));
        self.addresses = counts.into_iter().map(|c| c.0).zip(ADDRESSES).collect();
    }

    /// Constants and other shared values that stay in registers throughout.
    fn pin_constants(&mut self, pressure: u32) -> Result<(), Declined> {
        let mut list = Vec::new();
        let mut found: Vec<(u32, Value)> = Vec::new();
        for &task in self.flat {
            reads(self.shape.code, task, &mut list);
            for &v in &list {
                let i = v.0 as usize;
                let shared = matches!(self.shape.homes.of[i], Home::Pool(_)) && self.t.at_home[i][0];
                if shared && self.shape.code.class(v) == Class::Number && !found.iter().any(|f| f.1 == v) {
                    found.push((self.t.uses[i], v));
                }
            }
        }
        found.sort_by_key(|f| std::cmp::Reverse(f.0));
        let registers = self.asm.registers(Class::Number).len() as u32;
        let room = if self.pins { registers.saturating_sub(pressure * self.copies as u32 + 3) as usize } else { 0 };
        for (_, v) in found.into_iter().take(room) {
            let r = self.free_register(Class::Number)?;
            let from = self.home(v, 0);
            self.asm.load(Class::Number, r, from);
            self.vectors[r as usize] = Some((v, 0));
            self.t.register[v.0 as usize] = [r; MOST_COPIES];
            self.pinned_vectors |= 1 << r;
        }
        Ok(())
    }
}
