//! The tasks of a fused loop as one list. In: tasks; out: the list, where each value is read next, and how many registers the values
//! take at most.

use super::super::homes::Home;
use super::super::ir::{Code, Def, Item, Value};
use super::super::schedule::body;
use super::{MOST_COPIES, NEVER, Shape, Tables};
use rustc_hash::FxHashMap;

/// The tasks with loops unfolded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flat {
    Value(Value),
    Output(u32, Value),
    Open(u32),
    Close(u32),
}

pub(super) fn unfold(shape: &Shape<'_>, l: u32, flat: &mut Vec<Flat>) {
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
pub(super) fn reads(code: &Code, task: Flat, out: &mut Vec<Value>) {
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
pub(super) fn survey(shape: &Shape<'_>, tables: &mut Tables, flat: &[Flat], touched: &mut Vec<Value>) -> (Vec<Vec<u32>>, u32) {
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

pub(super) fn outs(code: &Code, l: u32) -> impl Iterator<Item = Value> + '_ {
    (0..code.loops[l as usize].carried.len()).filter_map(move |k| code.known(Def::Out(l, k as u32)))
}

/// How many values made in the rounds of the loop that opens here are alive at once, at most, those it carries itself left out.
pub(super) fn inside(code: &Code, flat: &[Flat]) -> usize {
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
