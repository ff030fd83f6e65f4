//! Registers and homes of values while a fused loop is written. In: a value that is needed; out: its register or address.
//! Invariants: a register holds one value's copy; a value that is driven out and read later has a valid home first.

use super::super::Declined;
use super::super::assemble::Address;
use super::super::homes::Home;
use super::super::ir::{Class, Value};
use super::{AT, COLUMNS, Fuse, NEVER, NONE, POOL, SCRATCH, SLOTS};

impl Fuse<'_, '_> {
    // Memory.

    pub(super) fn behind_pool(&self, vectors: u32) -> i64 {
        i64::from(self.shape.pool + vectors) * self.asm.vector_bytes() as i64
    }

    /// The address of a value's home.
    pub(super) fn home(&mut self, v: Value, copy: usize) -> Address {
        let bytes = self.asm.vector_bytes() as i64;
        let i = v.0 as usize;
        if !self.t.at_home[i][copy] {
            return Address { base: POOL, index: None, offset: self.behind_pool(self.t.spilled[i]) + copy as i64 * bytes };
        }
        self.designated(self.shape.homes.of[i], copy)
    }

    pub(super) fn designated(&mut self, home: Home, copy: usize) -> Address {
        let bytes = self.asm.vector_bytes() as i64;
        match home {
            Home::Nowhere => Address { base: POOL, index: None, offset: 0 },
            Home::Pool(at) => Address { base: POOL, index: None, offset: i64::from(at) * bytes },
            Home::Slot(s) => {
                Address { base: SLOTS, index: Some(AT), offset: i64::from(s) * i64::from(self.shape.slot_bytes) + copy as i64 * bytes }
            }
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

    pub(super) fn has_home(&self, v: Value, copy: usize) -> bool {
        let i = v.0 as usize;
        (self.t.at_home[i][copy] && self.shape.homes.of[i] != Home::Nowhere) || self.t.spill_valid[i][copy]
    }

    /// Stores a copy of a value behind the pool.
    pub(super) fn spill(&mut self, v: Value, copy: usize, class: Class, register: u8) {
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

    pub(super) fn file(&mut self, class: Class) -> (&mut [Option<(Value, u8)>], u32) {
        match class {
            Class::Number => (&mut self.vectors[..], self.pinned_vectors | self.locked_vectors),
            Class::Mask => (&mut self.masks[..], self.pinned_masks | self.locked_masks),
        }
    }

    /// A register that holds nothing; what it held goes home.
    pub(super) fn free_register(&mut self, class: Class) -> Result<u8, Declined> {
        let class = self.asm.held_in(class);
        let range = self.asm.registers(class);
        let (file, taken) = self.file(class);
        if let Some(r) = range.clone().find(|&r| file[r as usize].is_none() && taken & (1 << r) == 0) {
            return Ok(r);
        }
        let held: Vec<(u8, Value, u8)> =
            range.filter(|&r| taken & (1 << r) == 0).filter_map(|r| file[r as usize].map(|(v, c)| (r, v, c))).collect();
        // The farthest next use; among equals, one that needs no store.
        let victim = held.into_iter().max_by_key(|&(_, v, c)| (self.next_use(v, c), self.has_home(v, c as usize)));
        let Some((r, v, c)) = victim else { return Err(Declined::Registers) };
        self.evict(class, r, v, c);
        Ok(r)
    }

    pub(super) fn evict(&mut self, class: Class, r: u8, v: Value, copy: u8) {
        if self.next_use(v, copy) != NEVER && !self.has_home(v, copy as usize) {
            self.spill(v, copy as usize, self.shape.code.class(v), r);
        }
        self.release(class, r, v);
    }

    /// Where a copy of a value is read next; the task at hand has yet to read its later copies.
    pub(super) fn next_use(&self, v: Value, copy: u8) -> u32 {
        if i32::from(copy) > self.read && self.pending.contains(&v) { 0 } else { self.t.upcoming[v.0 as usize] }
    }

    pub(super) fn release(&mut self, class: Class, r: u8, v: Value) {
        // A shared value serves all copies from one register.
        self.t.register[v.0 as usize].iter_mut().filter(|x| **x == r).for_each(|x| *x = NONE);
        self.file(class).0[r as usize] = None;
    }

    pub(super) fn hold(&mut self, class: Class, r: u8, v: Value, copy: usize) {
        let class = self.asm.held_in(class);
        self.file(class).0[r as usize] = Some((v, copy as u8));
        self.t.register[v.0 as usize][copy] = r;
    }

    pub(super) fn lock(&mut self, class: Class, r: u8) {
        match self.asm.held_in(class) {
            Class::Number => self.locked_vectors |= 1 << r,
            Class::Mask => self.locked_masks |= 1 << r,
        }
    }

    pub(super) fn unlock(&mut self) {
        (self.locked_vectors, self.locked_masks) = (0, 0);
    }

    pub(super) fn pin(&mut self, class: Class, r: u8, on: bool) {
        let pins = match self.asm.held_in(class) {
            Class::Number => &mut self.pinned_vectors,
            Class::Mask => &mut self.pinned_masks,
        };
        if on { *pins |= 1 << r } else { *pins &= !(1 << r) }
    }

    pub(super) fn is_pinned(&self, class: Class, r: u8) -> bool {
        match self.asm.held_in(class) {
            Class::Number => self.pinned_vectors & (1 << r) != 0,
            Class::Mask => self.pinned_masks & (1 << r) != 0,
        }
    }

    /// Whether a register is to be had without sending a value home.
    pub(super) fn any_free(&mut self, class: Class) -> bool {
        let class = self.asm.held_in(class);
        let range = self.asm.registers(class);
        let (file, taken) = self.file(class);
        range.into_iter().any(|r| file[r as usize].is_none() && taken & (1 << r) == 0)
    }

    /// A register that holds the value, locked.
    pub(super) fn in_register(&mut self, v: Value, copy: usize) -> Result<u8, Declined> {
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
    pub(super) fn dies(&self, v: Value, copy: usize) -> bool {
        let i = v.0 as usize;
        let r = self.t.register[i][copy];
        r != NONE && self.t.upcoming[i] == NEVER && !self.is_pinned(self.shape.code.class(v), r)
    }

    /// Lets go of a value's register when nothing reads it any more.
    pub(super) fn done_with(&mut self, v: Value, copy: usize) {
        if self.dies(v, copy) {
            let r = self.t.register[v.0 as usize][copy];
            self.release(self.asm.held_in(self.shape.code.class(v)), r, v);
        }
    }
}
