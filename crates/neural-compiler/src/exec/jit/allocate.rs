//! One fused loop as machine code. In: its tasks and the homes of values; out: a function
//! `(pool, columns, from, to, rounds, slots) -> finished?` that runs the tasks over the bytes `from .. to` of each column.
//!
//! Registers are given out in one walk, several vectors of lanes side by side: when none is free, the value whose next use is farthest
//! goes back to memory (Belady). Values that never change stay in registers as far as these last. Arguments are read straight from
//! memory where that is their last use.
//! Invariants: a value is in a register or has a valid home whenever it is read later; registers pinned for a loop hold the same values
//! at the start of every round.

use super::Declined;
use super::assemble::{Address, Assembler, Label, Note, Operand, memory_argument};
use super::homes::{Home, Homes};
use super::ir::{Class, Code, Def, Function, Item, Prim, Value};
use super::mend::{self, Detour};
use super::pace;
use super::schedule::{Task, body};
use iced_x86::{Code as Op, Register};
use rustc_hash::FxHashMap;

/// Vectors side by side at most.
pub(super) const MOST_COPIES: usize = 8;

/// Vectors side by side where the machine finds enough to do among them anyway.
const USUAL_COPIES: usize = 4;

const NEVER: u32 = u32::MAX;
const NONE: u8 = u8::MAX;

// The arguments of a fused loop, as the System V calling convention passes them.
const POOL: Register = Register::RDI;
const COLUMNS: Register = Register::RSI;
const AT: Register = Register::RDX;
const END: Register = Register::RCX;
const ROUNDS: Register = Register::R8;
const SLOTS: Register = Register::R9;
/// For the address of a column that has no register.
const SCRATCH: Register = Register::RAX;
/// Counts the rounds of loops down.
const COUNTER: Register = Register::RBX;

/// Registers for addresses of columns; the callee-saved ones behind the others.
const ADDRESSES: [Register; 7] = [Register::R10, Register::R11, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];
const SAVED: [Register; 6] = [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// The tasks with loops unfolded.
#[derive(Clone, Copy, Debug)]
enum Flat {
    Value(Value),
    Output(u32, Value),
    Open(u32),
    Close(u32),
}

/// What stays the same over the fused loops of a program.
pub(super) struct Shape<'a> {
    pub(super) code: &'a Code,
    pub(super) homes: &'a Homes,
    pub(super) live: &'a [bool],
    /// How many columns the inputs have.
    pub(super) columns: u32,
    /// Where the pool ends and values of one fused loop may be kept, in vectors.
    pub(super) pool: u32,
    /// Bytes of a slot.
    pub(super) slot_bytes: u32,
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

fn unfold(shape: &Shape<'_>, l: u32, flat: &mut Vec<Flat>) {
    flat.push(Flat::Open(l));
    for item in body(shape.code, shape.live, l) {
        match item {
            Item::Value(v) => flat.push(Flat::Value(v)),
            Item::Loop(inner) => unfold(shape, inner, flat),
        }
    }
    flat.push(Flat::Close(l));
}

/// The values a task reads, in order.
fn reads(code: &Code, task: Flat, out: &mut Vec<Value>) {
    out.clear();
    match task {
        Flat::Value(v) => {
            let (args, n) = code.args(v);
            out.extend_from_slice(&args[..n]);
        }
        Flat::Output(_, v) => out.push(v),
        Flat::Open(l) => out.extend_from_slice(&code.loops[l as usize].init),
        Flat::Close(l) => out.extend_from_slice(&code.loops[l as usize].next),
    }
}

/// Links every reading to the next one of the same value, and counts how many registers the values take at most.
fn survey(shape: &Shape<'_>, tables: &mut Tables, flat: &[Flat], touched: &mut Vec<Value>) -> (Vec<Vec<u32>>, u32) {
    let code = shape.code;
    let mut list = Vec::new();
    let mut own = |tables: &mut Tables, v: Value| {
        touched.push(v);
        tables.at_home[v.0 as usize] = [false; MOST_COPIES];
    };
    for &task in flat {
        match task {
            Flat::Value(v) => own(tables, v),
            Flat::Open(l) => code.loops[l as usize].carried.iter().for_each(|&v| own(tables, v)),
            Flat::Close(l) => outs(code, l).for_each(|v| own(tables, v)),
            Flat::Output(..) => {}
        }
        reads(code, task, &mut list);
        for v in &list {
            tables.uses[v.0 as usize] += 1;
        }
    }
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); flat.len()];
    let (mut alive, mut most) = (0i64, 0i64);
    // Walking backwards, a value comes alive at its last reading and dies where it is made, or where it is first loaded. What is read
    // once from memory takes no register; what a loop carries is counted with the loop.
    let counts = |tables: &Tables, v: Value| {
        let i = v.0 as usize;
        let own = !tables.at_home[i][0];
        !matches!(shape.homes.of[i], Home::Pool(_)) && !matches!(code.def(v), Def::Carried(..)) && (own || tables.uses[i] > 1)
    };
    for (p, &task) in flat.iter().enumerate().rev() {
        let dies = |tables: &Tables, v: Value| i64::from(tables.upcoming[v.0 as usize] != NEVER && counts(tables, v));
        match task {
            Flat::Value(v) => alive -= dies(tables, v),
            Flat::Close(l) => {
                alive -= outs(code, l).map(|v| dies(tables, v)).sum::<i64>();
                alive += code.loops[l as usize].carried.len() as i64;
            }
            Flat::Open(l) => alive -= code.loops[l as usize].carried.len() as i64,
            Flat::Output(..) => {}
        }
        reads(code, task, &mut list);
        next[p].resize(list.len(), NEVER);
        for (k, &v) in list.iter().enumerate().rev() {
            let i = v.0 as usize;
            if tables.upcoming[i] == NEVER {
                touched.push(v);
                alive += i64::from(counts(tables, v));
            }
            next[p][k] = tables.upcoming[i];
            tables.upcoming[i] = p as u32;
            tables.seen[i] += 1;
        }
        most = most.max(alive);
        for &v in &list {
            let i = v.0 as usize;
            if tables.seen[i] == tables.uses[i] && tables.at_home[i][0] && counts(tables, v) {
                alive -= 1;
                // Once only, though it may be read twice here.
                tables.seen[i] += 1;
            }
        }
    }
    (next, most.max(0) as u32)
}

fn outs(code: &Code, l: u32) -> impl Iterator<Item = Value> + '_ {
    (0..code.loops[l as usize].carried.len()).filter_map(move |k| code.known(Def::Out(l, k as u32)))
}

/// How many values made in the rounds of the loop that opens here are alive at once, at most, those it carries itself left out.
fn inside(code: &Code, flat: &[Flat]) -> usize {
    let mut ends: FxHashMap<Value, usize> = FxHashMap::default();
    let mut starts: Vec<(usize, Value)> = Vec::new();
    let mut list = Vec::new();
    let mut depth = 0;
    for (p, &task) in flat.iter().enumerate() {
        reads(code, task, &mut list);
        for v in &list {
            ends.insert(*v, p);
        }
        match task {
            Flat::Value(v) => starts.push((p, v)),
            Flat::Open(l) => {
                depth += 1;
                if depth > 1 {
                    starts.extend(code.loops[l as usize].carried.iter().map(|&v| (p, v)));
                }
            }
            Flat::Close(l) => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
                for (&c, out) in code.loops[l as usize].carried.iter().zip(outs(code, l)) {
                    ends.insert(c, p);
                    starts.push((p, out));
                }
            }
            Flat::Output(..) => {}
        }
    }
    let mut change = vec![0i32; flat.len() + 1];
    for (p, v) in starts {
        if let Some(&end) = ends.get(&v) {
            change[p] += 1;
            change[end.max(p)] -= 1;
        }
    }
    let mut alive = 0;
    change.into_iter().map(|c| (alive, alive += c).0).max().unwrap_or(0).max(0) as usize + 1
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
    fn new(shape: &'a Shape<'a>, t: &'b mut Tables, asm: &'b mut Assembler, flat: &'b [Flat], next: &'b [Vec<u32>], copies: usize) -> Fuse<'a, 'b> {
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
        self.asm.set(Register::EAX, 1);
        let leave = self.asm.label();
        self.asm.bind(leave);
        saved.iter().rev().for_each(|&r| self.asm.pop(r));
        self.asm.end();
        self.asm.ret();
        self.asm.bind(self.bail);
        if has_loops {
            self.asm.set(Register::EAX, 0);
            self.asm.jump(Op::Jmp_rel32_64, leave);
        }
        self.mend();
        Ok(Fused { entry, spills: self.spills, copies: self.copies })
    }

    /// Where functions are called for rare lanes, out of the way.
    fn mend(&mut self) {
        if self.detours.is_empty() {
            return;
        }
        self.asm.note(Note::Frame("functions of rare arguments"));
        let save = self.behind_pool(self.spills);
        self.spills += mend::SAVED_VECTORS;
        let routine = self.asm.label();
        for (label, detour) in std::mem::take(&mut self.detours) {
            self.asm.bind(label);
            mend::detour(self.asm, &detour, save, routine);
        }
        self.asm.bind(routine);
        mend::routine(self.asm, POOL, save);
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

    // Memory.

    fn behind_pool(&self, vectors: u32) -> i64 {
        i64::from(self.shape.pool + vectors) * self.asm.vector_bytes() as i64
    }

    /// The address of a value's home.
    fn home(&mut self, v: Value, copy: usize) -> Address {
        let bytes = self.asm.vector_bytes() as i64;
        let i = v.0 as usize;
        if !self.t.at_home[i][copy] {
            return Address { base: POOL, index: None, offset: self.behind_pool(self.t.spilled[i]) + copy as i64 * bytes };
        }
        self.designated(self.shape.homes.of[i], copy)
    }

    fn designated(&mut self, home: Home, copy: usize) -> Address {
        let bytes = self.asm.vector_bytes() as i64;
        match home {
            Home::Nowhere => Address { base: POOL, index: None, offset: 0 },
            Home::Pool(at) => Address { base: POOL, index: None, offset: i64::from(at) * bytes },
            Home::Slot(s) => Address { base: SLOTS, index: Some(AT), offset: i64::from(s) * i64::from(self.shape.slot_bytes) + copy as i64 * bytes },
            Home::Column(c) => {
                let base = match self.addresses.iter().find(|a| a.0 == c) {
                    Some(a) => a.1,
                    None => {
                        self.asm.load_general(SCRATCH, Address { base: COLUMNS, index: None, offset: 8 * i64::from(c) });
                        SCRATCH
                    }
                };
                Address { base, index: Some(AT), offset: copy as i64 * bytes }
            }
        }
    }

    fn has_home(&self, v: Value, copy: usize) -> bool {
        let i = v.0 as usize;
        (self.t.at_home[i][copy] && self.shape.homes.of[i] != Home::Nowhere) || self.t.spill_valid[i][copy]
    }

    /// Stores a copy of a value behind the pool.
    fn spill(&mut self, v: Value, copy: usize, class: Class, register: u8) {
        let i = v.0 as usize;
        if self.t.spilled[i] == NEVER {
            self.t.spilled[i] = self.spills;
            self.spills += self.copies as u32;
        }
        let offset = self.behind_pool(self.t.spilled[i]) + (copy * self.asm.vector_bytes()) as i64;
        self.asm.store(class, Address { base: POOL, index: None, offset }, register);
        self.t.spill_valid[i][copy] = true;
    }

    // Registers.

    fn file(&mut self, class: Class) -> (&mut [Option<(Value, u8)>], u32) {
        match class {
            Class::Number => (&mut self.vectors[..], self.pinned_vectors | self.locked_vectors),
            Class::Mask => (&mut self.masks[..], self.pinned_masks | self.locked_masks),
        }
    }

    /// A register that holds nothing; what it held goes home.
    fn free_register(&mut self, class: Class) -> Result<u8, Declined> {
        let class = self.asm.held_in(class);
        let range = self.asm.registers(class);
        let (file, taken) = self.file(class);
        if let Some(r) = range.clone().find(|&r| file[r as usize].is_none() && taken & (1 << r) == 0) {
            return Ok(r);
        }
        let held: Vec<(u8, Value, u8)> = range.filter(|&r| taken & (1 << r) == 0).filter_map(|r| file[r as usize].map(|(v, c)| (r, v, c))).collect();
        // The farthest next use; among equals, one that needs no store.
        let victim = held.into_iter().max_by_key(|&(_, v, c)| (self.next_use(v, c), self.has_home(v, c as usize)));
        let Some((r, v, c)) = victim else { return Err(Declined::Registers) };
        self.evict(class, r, v, c);
        Ok(r)
    }

    fn evict(&mut self, class: Class, r: u8, v: Value, copy: u8) {
        if self.next_use(v, copy) != NEVER && !self.has_home(v, copy as usize) {
            self.spill(v, copy as usize, self.shape.code.class(v), r);
        }
        self.release(class, r, v);
    }

    /// Where a copy of a value is read next; the task at hand has yet to read its later copies.
    fn next_use(&self, v: Value, copy: u8) -> u32 {
        if i32::from(copy) > self.read && self.pending.contains(&v) { 0 } else { self.t.upcoming[v.0 as usize] }
    }

    fn release(&mut self, class: Class, r: u8, v: Value) {
        // A shared value serves all copies from one register.
        self.t.register[v.0 as usize].iter_mut().filter(|x| **x == r).for_each(|x| *x = NONE);
        self.file(class).0[r as usize] = None;
    }

    fn hold(&mut self, class: Class, r: u8, v: Value, copy: usize) {
        let class = self.asm.held_in(class);
        self.file(class).0[r as usize] = Some((v, copy as u8));
        self.t.register[v.0 as usize][copy] = r;
    }

    fn lock(&mut self, class: Class, r: u8) {
        match self.asm.held_in(class) {
            Class::Number => self.locked_vectors |= 1 << r,
            Class::Mask => self.locked_masks |= 1 << r,
        }
    }

    fn unlock(&mut self) {
        (self.locked_vectors, self.locked_masks) = (0, 0);
    }

    fn pin(&mut self, class: Class, r: u8, on: bool) {
        let pins = match self.asm.held_in(class) {
            Class::Number => &mut self.pinned_vectors,
            Class::Mask => &mut self.pinned_masks,
        };
        if on { *pins |= 1 << r } else { *pins &= !(1 << r) }
    }

    fn is_pinned(&self, class: Class, r: u8) -> bool {
        match self.asm.held_in(class) {
            Class::Number => self.pinned_vectors & (1 << r) != 0,
            Class::Mask => self.pinned_masks & (1 << r) != 0,
        }
    }

    /// Whether a register is to be had without sending a value home.
    fn any_free(&mut self, class: Class) -> bool {
        let class = self.asm.held_in(class);
        let range = self.asm.registers(class);
        let (file, taken) = self.file(class);
        range.into_iter().any(|r| file[r as usize].is_none() && taken & (1 << r) == 0)
    }

    /// A register that holds the value, locked.
    fn in_register(&mut self, v: Value, copy: usize) -> Result<u8, Declined> {
        let class = self.shape.code.class(v);
        let mut r = self.t.register[v.0 as usize][copy];
        if r == NONE {
            r = self.free_register(class)?;
            let from = self.home(v, copy);
            self.asm.load(class, r, from);
            self.hold(class, r, v, copy);
        }
        self.lock(class, r);
        Ok(r)
    }

    /// Whether nothing reads a value behind the task at hand, so that its register may be overwritten.
    fn dies(&self, v: Value, copy: usize) -> bool {
        let i = v.0 as usize;
        let r = self.t.register[i][copy];
        r != NONE && self.t.upcoming[i] == NEVER && !self.is_pinned(self.shape.code.class(v), r)
    }

    /// Lets go of a value's register when nothing reads it any more.
    fn done_with(&mut self, v: Value, copy: usize) {
        if self.dies(v, copy) {
            let r = self.t.register[v.0 as usize][copy];
            self.release(self.asm.held_in(self.shape.code.class(v)), r, v);
        }
    }

    // Tasks.

    fn task(&mut self, p: usize) -> Result<(), Declined> {
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
                    self.asm.store(Class::Number, to, r);
                    if self.shape.homes.of[v.0 as usize] == Home::Column(self.shape.columns + k) {
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

    fn operation(&mut self, v: Value, prim: Prim, args: &[Value], copy: usize) -> Result<(), Declined> {
        let mut order = [0usize, 1, 2];
        let somewhere = |f: &Self, k: usize| f.t.register[args[k].0 as usize][copy] != NONE;
        if prim.commutes() && !somewhere(self, 0) && somewhere(self, 1) {
            order.swap(0, 1);
        }
        let at = memory_argument(prim);
        let mut operands = [Operand::Register(0); 3];
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
        let apart = matches!(prim, Prim::Max | Prim::Mend(_)) || fused;
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
        self.asm.operation(prim, out, &operands[..args.len()]);
        if let (Prim::Mend(Function(f)), [Operand::Register(mask), _, Operand::Register(x)]) = (prim, operands) {
            let (detour, back) = (self.asm.label(), self.asm.label());
            self.asm.test_any(&[mask]);
            self.asm.jump(Op::Jne_rel32_64, detour);
            self.asm.bind(back);
            self.detours.push((detour, Detour { f, mask, x, out, back }));
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

    fn open(&mut self, l: u32, p: usize) -> Result<(), Declined> {
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
    fn pin_invariants(&mut self, p: usize) -> Result<Vec<(Class, u8)>, Declined> {
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

    fn close(&mut self, l: u32, p: usize) -> Result<(), Declined> {
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
        // A value that another carried value's register holds is overwritten before it is read: it goes home first.
        let held: Vec<(Class, u8)> = it.carried.iter().zip(&open.state).flat_map(|(c, r)| r[..self.copies].iter().map(move |&r| (code.class(*c), r))).collect();
        let mut kept: Vec<Option<u32>> = Vec::new();
        for (k, (&next, &carried)) in it.next.iter().zip(&it.carried).enumerate() {
            let class = code.class(next);
            let clash = next != carried
                && (0..self.copies).any(|copy| {
                    let r = self.t.register[next.0 as usize][copy];
                    r != NONE && r != open.state[k][copy] && held.iter().any(|h| self.asm.held_in(h.0) == self.asm.held_in(class) && h.1 == r)
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
        self.pending.clear();
        let active = &open.state[it.active][..self.copies];
        self.asm.test_any(active);
        let done = self.asm.label();
        self.asm.jump(Op::Je_rel32_64, done);
        self.asm.count_down(COUNTER);
        self.asm.jump(Op::Jne_rel32_64, open.start);
        self.asm.jump(Op::Jmp_rel32_64, self.bail);
        self.asm.bind(done);
        // The carried registers now hold the results of the loop; what the rounds made is gone.
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
        Ok(())
    }
}
