//! Order: which values are computed once, which in which fused loop, and where functions are called. In: code; out: steps.
//!
//! A function of the math crate runs over a whole block of lanes, so it cuts the program: what it needs comes before, in as few loops
//! as possible, what needs it behind. A loop that reads too many columns is cut too, because the machine follows only so many streams.
//! Invariants: a value is computed before it is read; a value stands in the last loop that can still serve its readers, so that little
//! is stored between loops; among values that can come next, the one that needs more registers does (Sethi and Ullman).

use super::ir::{Code, Def, Item, Value};
use rustc_hash::FxHashSet;

/// Something a fused loop does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Task {
    Value(Value),
    Loop(u32),
    /// Stores a value as a result.
    Output(u32, Value),
}

/// A part of a section, run over a whole block of lanes before the next one starts.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Fused(Vec<Task>),
    /// A function of the math crate makes this value.
    Call(Value),
}

/// Columns a fused loop reads at most.
const MOST_COLUMNS: usize = 24;

/// Values a fused loop computes at most.
const MOST_TASKS: usize = 400;

/// What is computed once, then what is computed per lane.
pub(super) struct Schedule {
    pub(super) once: Vec<Step>,
    pub(super) lanes: Vec<Step>,
    /// Which values somebody needs.
    pub(super) live: Vec<bool>,
}

pub(super) fn schedule(code: &Code) -> Schedule {
    let shared = code.shared();
    let live = live(code);
    // What varying values and results read of what is computed once.
    let mut roots: Vec<Value> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut want = |v: Value| {
        let made = matches!(code.def(v), Def::Op(..) | Def::Unary(..) | Def::Binary(..) | Def::Ternary(..) | Def::Out(..));
        if made && shared[v.0 as usize] && code.block(v) == 0 && seen.insert(v) {
            roots.push(v);
        }
    };
    for i in 0..code.defs.len() {
        if live[i] && !shared[i] {
            let v = Value(i as u32);
            let (args, n) = code.args(v);
            args[..n].iter().for_each(|&a| want(a));
            if let Def::Out(l, _) = code.def(v) {
                code.loop_needs(l).into_iter().for_each(&mut want);
            }
        }
    }
    code.outputs.iter().for_each(|&v| want(v));
    let once = Section {
        code,
        mine: &|v| shared[v.0 as usize] && !matches!(code.def(v), Def::Shared(_) | Def::Constant(_) | Def::WideConstant(_)),
        outputs: &[],
    }
    .steps(&roots);
    let lanes =
        Section { code, mine: &|v| !shared[v.0 as usize] && !matches!(code.def(v), Def::Input(_)), outputs: &code.outputs }.steps(&[]);
    Schedule { once, lanes, live }
}

/// Values that reach a result.
pub(super) fn live(code: &Code) -> Vec<bool> {
    let mut live = vec![false; code.defs.len()];
    let mut open = vec![false; code.loops.len()];
    let mut stack: Vec<Value> = code.outputs.clone();
    while let Some(v) = stack.pop() {
        if std::mem::replace(&mut live[v.0 as usize], true) {
            continue;
        }
        let (args, n) = code.args(v);
        stack.extend_from_slice(&args[..n]);
        if let Def::Out(l, _) | Def::Carried(l, _) = code.def(v)
            && !std::mem::replace(&mut open[l as usize], true)
        {
            let it = &code.loops[l as usize];
            stack.extend(it.init.iter().chain(&it.next).chain(&it.carried));
        }
    }
    live
}

struct Section<'a> {
    code: &'a Code,
    /// Whether the section computes a value.
    mine: &'a dyn Fn(Value) -> bool,
    outputs: &'a [Value],
}

impl Section<'_> {
    fn is_call(&self, v: Value) -> bool {
        (self.mine)(v) && matches!(self.code.def(v), Def::Unary(..) | Def::Binary(..) | Def::Ternary(..))
    }

    /// What a value of the section needs; a loop's results need all that the loop does.
    fn needs(&self, v: Value, out: &mut Vec<Value>) {
        out.clear();
        match self.code.def(v) {
            Def::Out(l, _) => out.extend(self.code.loop_needs(l)),
            _ => {
                let (args, n) = self.code.args(v);
                out.extend_from_slice(&args[..n]);
            }
        }
        out.retain(|&a| (self.mine)(a));
    }

    fn steps(&self, roots: &[Value]) -> Vec<Step> {
        let order = self.order(roots);
        let n = self.code.defs.len();
        let mut needs = Vec::new();
        // The first loop that can compute a value: behind the calls it needs.
        let mut first = vec![0u32; n];
        for &v in &order {
            self.needs(v, &mut needs);
            first[v.0 as usize] = needs.iter().map(|&a| first[a.0 as usize] + u32::from(self.is_call(a))).max().unwrap_or(0);
        }
        // The last loop that still serves all readers. Results are stored at once.
        let mut last = vec![u32::MAX; n];
        for &v in roots.iter().chain(self.outputs) {
            last[v.0 as usize] = first[v.0 as usize];
        }
        for &v in order.iter().rev() {
            let at = if self.is_call(v) || matches!(self.code.def(v), Def::Out(..)) {
                first[v.0 as usize]
            } else {
                last[v.0 as usize].max(first[v.0 as usize])
            };
            last[v.0 as usize] = at;
            self.needs(v, &mut needs);
            for a in &needs {
                let l = &mut last[a.0 as usize];
                *l = (*l).min(at);
            }
        }
        let levels = order.iter().map(|v| last[v.0 as usize] + 1).max().unwrap_or(0).max(u32::from(!self.outputs.is_empty()));
        let mut fused: Vec<Vec<Task>> = vec![Vec::new(); levels as usize + 1];
        let mut calls: Vec<Vec<Value>> = vec![Vec::new(); levels as usize + 1];
        let mut done = vec![false; self.code.loops.len()];
        let mut by_value: Vec<Vec<u32>> = vec![Vec::new(); if self.outputs.is_empty() { 0 } else { n }];
        for (k, v) in self.outputs.iter().enumerate() {
            by_value[v.0 as usize].push(k as u32);
        }
        let stores = |v: Value| by_value.get(v.0 as usize).map_or(&[][..], |k| &k[..]).iter().map(move |&k| Task::Output(k, v));
        for &v in &order {
            let at = last[v.0 as usize] as usize;
            if self.is_call(v) {
                calls[at].push(v);
                // The call itself writes the first result; others are copies.
                fused[at + 1].extend(stores(v).skip(1));
                continue;
            }
            match self.code.def(v) {
                Def::Out(l, _) => {
                    if !std::mem::replace(&mut done[l as usize], true) {
                        fused[at].push(Task::Loop(l));
                    }
                }
                _ => fused[at].push(Task::Value(v)),
            }
            fused[at].extend(stores(v));
        }
        // Results that are inputs or computed once.
        let mut copied = FxHashSet::default();
        for &v in self.outputs {
            if !(self.mine)(v) && copied.insert(v) {
                fused[0].extend(stores(v));
            }
        }
        let mut steps = Vec::new();
        for (tasks, calls) in fused.into_iter().zip(calls) {
            self.cut(tasks, &mut steps);
            steps.extend(calls.into_iter().map(Step::Call));
        }
        steps
    }

    /// Values the roots and results need, arguments first, the more demanding argument first.
    fn order(&self, roots: &[Value]) -> Vec<Value> {
        let n = self.code.defs.len();
        let mut demand = vec![0u32; n];
        let mut needs = Vec::new();
        for i in 0..n {
            let v = Value(i as u32);
            if !(self.mine)(v) || self.code.block(v) != 0 {
                continue;
            }
            self.needs(v, &mut needs);
            let mut list = [0u32; 3];
            let count = needs.len().min(3);
            for (d, a) in list.iter_mut().zip(&needs) {
                *d = if self.is_call(*a) { 0 } else { demand[a.0 as usize] };
            }
            list[..count].sort_unstable_by(|a, b| b.cmp(a));
            demand[i] = list[..count].iter().enumerate().map(|(k, d)| d + k as u32).max().unwrap_or(0).max(1);
        }
        let mut order = Vec::new();
        // 0: not seen, 1: its needs are being listed, 2: listed.
        let mut state = vec![0u8; n];
        let mut stack: Vec<Value> = Vec::new();
        for &root in roots.iter().chain(self.outputs).filter(|v| (self.mine)(**v)) {
            stack.push(root);
            while let Some(&v) = stack.last() {
                match state[v.0 as usize] {
                    0 => {
                        state[v.0 as usize] = 1;
                        self.needs(v, &mut needs);
                        needs.retain(|a| state[a.0 as usize] == 0);
                        // The last one pushed is listed first.
                        needs.sort_by_key(|a| demand[a.0 as usize]);
                        stack.extend_from_slice(&needs);
                    }
                    1 => {
                        state[v.0 as usize] = 2;
                        order.push(v);
                        stack.pop();
                    }
                    _ => {
                        stack.pop();
                    }
                }
            }
        }
        order
    }

    /// Cuts a loop that reads too many columns or has grown too long.
    fn cut(&self, tasks: Vec<Task>, steps: &mut Vec<Step>) {
        let mut part: Vec<Task> = Vec::new();
        let mut columns: FxHashSet<u32> = FxHashSet::default();
        for task in tasks {
            let mut add = |v: Value| {
                if let Def::Input(c) = self.code.def(v) {
                    columns.insert(c);
                }
            };
            match task {
                Task::Value(v) => {
                    let (args, n) = self.code.args(v);
                    args[..n].iter().for_each(|&a| add(a));
                }
                Task::Loop(l) => self.code.loop_needs(l).into_iter().for_each(&mut add),
                Task::Output(k, v) => {
                    add(v);
                    columns.insert(u32::MAX - k);
                }
            }
            if !part.is_empty() && (columns.len() > MOST_COLUMNS || part.len() >= MOST_TASKS) && !matches!(task, Task::Output(..)) {
                steps.push(Step::Fused(std::mem::take(&mut part)));
                columns.clear();
            }
            part.push(task);
        }
        if !part.is_empty() {
            steps.push(Step::Fused(part));
        }
    }
}

/// The items of a loop's body that somebody needs.
pub(super) fn body<'a>(code: &'a Code, live: &'a [bool], l: u32) -> impl Iterator<Item = Item> + 'a {
    let needed = move |item: &Item| match *item {
        Item::Value(v) => live[v.0 as usize],
        Item::Loop(inner) => code.loops[inner as usize].carried.iter().any(|c| live[c.0 as usize]),
    };
    code.loops[l as usize].body.iter().copied().filter(needed)
}
