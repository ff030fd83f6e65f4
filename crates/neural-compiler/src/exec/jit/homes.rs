//! Homes: where values live in memory between steps. In: a schedule; out: a home for each value that is read outside the loop that
//! computes it, and the sizes of the memory a run needs.
//! Invariants: what all lanes share has a vector of its own in the pool for the whole run; a slot holds a block of lanes and is used
//! again once its value is dead; a result lives where the caller wants it.

use super::ir::{Code, Def, Value};
use super::schedule::{Schedule, Step, Task};
use crate::ops::real::Dtype;

/// Where a value lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// In registers only.
    Nowhere,
    /// A vector of the pool.
    Pool(u32),
    /// A block of lanes of the scratch memory.
    Slot(u32),
    /// A column of the caller: inputs first, then results.
    Column(u32),
}

pub(super) struct Homes {
    pub(super) of: Vec<Home>,
    /// Vectors in the pool.
    pub(super) pool: u32,
    /// Constants: pool vector and the bits of 8 bytes of it, which repeat.
    pub(super) constants: Vec<(u32, u64)>,
    /// Shared inputs: pool vector and number of the input's element.
    pub(super) shared: Vec<(u32, u32)>,
    pub(super) slots: u32,
}

/// `columns`: how many columns the inputs have.
pub(super) fn homes(code: &Code, schedule: &Schedule, columns: u32, dtype: Dtype) -> Homes {
    let mut homes = Homes { of: vec![Home::Nowhere; code.defs.len()], pool: 0, constants: Vec::new(), shared: Vec::new(), slots: 0 };
    for (i, def) in code.defs.iter().enumerate() {
        match *def {
            Def::Input(c) => homes.of[i] = Home::Column(c),
            Def::Constant(bits) if schedule.live[i] => {
                let at = homes.vector(i);
                homes.constants.push((at, if dtype == Dtype::F32 { bits | bits << 32 } else { bits }));
            }
            Def::WideConstant(bits) if schedule.live[i] => {
                let at = homes.vector(i);
                homes.constants.push((at, bits));
            }
            Def::Shared(k) if schedule.live[i] => {
                let at = homes.vector(i);
                homes.shared.push((at, k));
            }
            Def::Constant(_)
            | Def::WideConstant(_)
            | Def::Shared(_)
            | Def::Op(..)
            | Def::Unary(..)
            | Def::Binary(..)
            | Def::Ternary(..)
            | Def::Carried(..)
            | Def::Out(..) => {}
        }
    }
    // What is computed once and read by others: all of it but the insides of loops.
    for step in &schedule.once {
        match step {
            Step::Fused(tasks) => {
                for task in tasks {
                    match *task {
                        Task::Value(v) | Task::Output(_, v) => drop(homes.vector(v.0 as usize)),
                        Task::Loop(l) => {
                            for k in 0..code.loops[l as usize].carried.len() {
                                if let Some(v) = code.known(Def::Out(l, k as u32)) {
                                    homes.vector(v.0 as usize);
                                }
                            }
                        }
                    }
                }
            }
            Step::Call(v) => drop(homes.vector(v.0 as usize)),
        }
    }
    for (k, v) in code.outputs.iter().enumerate() {
        let home = &mut homes.of[v.0 as usize];
        if *home == Home::Nowhere {
            *home = Home::Column(columns + k as u32);
        }
    }
    homes.lanes(code, schedule);
    homes
}

impl Homes {
    fn vector(&mut self, value: usize) -> u32 {
        if let Home::Pool(at) = self.of[value] {
            return at;
        }
        self.of[value] = Home::Pool(self.pool);
        self.pool += 1;
        self.pool - 1
    }

    /// Slots for what is read in a later step than it is made in.
    fn lanes(&mut self, code: &Code, schedule: &Schedule) {
        let steps = &schedule.lanes;
        let mut made = vec![u32::MAX; code.defs.len()];
        let mut read = vec![0u32; code.defs.len()];
        let mut order: Vec<(u32, Value)> = Vec::new();
        for (s, step) in steps.iter().enumerate() {
            let s = s as u32;
            let mut reads = |v: Value| read[v.0 as usize] = s;
            match step {
                Step::Fused(tasks) => {
                    for task in tasks {
                        match *task {
                            Task::Value(v) => {
                                let (args, n) = code.args(v);
                                args[..n].iter().for_each(|&a| reads(a));
                                made[v.0 as usize] = s;
                                order.push((s, v));
                            }
                            Task::Output(_, v) => reads(v),
                            Task::Loop(l) => {
                                code.loop_needs(l).into_iter().for_each(&mut reads);
                                for k in 0..code.loops[l as usize].carried.len() {
                                    if let Some(v) = code.known(Def::Out(l, k as u32)) {
                                        made[v.0 as usize] = s;
                                        order.push((s, v));
                                    }
                                }
                            }
                        }
                    }
                }
                Step::Call(v) => {
                    let (args, n) = code.args(*v);
                    args[..n].iter().for_each(|&a| reads(a));
                    made[v.0 as usize] = s;
                    order.push((s, *v));
                }
            }
        }
        let mut free: Vec<u32> = Vec::new();
        let mut ends: Vec<Vec<u32>> = vec![Vec::new(); steps.len() + 1];
        let mut next = 0;
        for (s, v) in order {
            // What was last read in an earlier step is dead by now.
            while next < s {
                free.append(&mut ends[next as usize]);
                next += 1;
            }
            let i = v.0 as usize;
            let called = matches!(code.def(v), Def::Unary(..) | Def::Binary(..) | Def::Ternary(..));
            if self.of[i] != Home::Nowhere || !(called || read[i] > made[i]) {
                continue;
            }
            let slot = free.pop().unwrap_or_else(|| {
                self.slots += 1;
                self.slots - 1
            });
            self.of[i] = Home::Slot(slot);
            ends[(read[i].max(made[i])) as usize].push(slot);
        }
    }
}
