//! How many vectors a fused loop should work on side by side. In: its tasks; out: a number.
//!
//! A long chain of operations, each waiting for the one before, leaves the machine idle unless other vectors fill the gaps. Rounds of
//! the loop overlap by themselves as far as the machine looks ahead; beyond that, vectors side by side must do it, even where some of
//! their values then go to memory.

use super::allocate::MOST_COPIES;
use super::ir::{Code, Def, Prim, Value};
use super::schedule::Task;
use rustc_hash::FxHashMap;

/// Instructions a machine of today looks ahead.
const WINDOW: usize = 512;

/// More instructions than this do not fit the cache of decoded ones.
const MOST_INSTRUCTIONS: usize = 3000;

/// Cycles until the result is there, and until the next one can start, in halves of a cycle.
fn cost(prim: Prim) -> (usize, usize) {
    match prim {
        Prim::Div => (16, 20),
        Prim::Sqrt => (20, 28),
        Prim::Quotient => (40, 9),
        _ => (4, 1),
    }
}

/// Vectors side by side that keep the machine busy; 1 when a loop inside or the length forbids more.
pub(super) fn copies(code: &Code, tasks: &[Task]) -> usize {
    let mut ready: FxHashMap<Value, usize> = FxHashMap::default();
    let (mut latency, mut work) = (0, 0);
    for task in tasks {
        match *task {
            Task::Value(v) => {
                let (args, n) = code.args(v);
                let start = args[..n].iter().filter_map(|a| ready.get(a)).max().copied().unwrap_or(0);
                let (wait, busy) = if let Def::Op(prim, ..) = code.def(v) { cost(prim) } else { (4, 1) };
                ready.insert(v, start + wait);
                latency = latency.max(start + wait);
                work += busy;
            }
            Task::Output(..) => {}
            Task::Loop(_) => return 1,
        }
    }
    let enough = |copies: usize| copies * (WINDOW / (tasks.len() * copies).max(1)).max(1) * work >= 2 * latency;
    let mut copies = 1;
    while copies < MOST_COPIES && !enough(copies) && tasks.len() * copies * 2 <= MOST_INSTRUCTIONS {
        copies *= 2;
    }
    copies
}
