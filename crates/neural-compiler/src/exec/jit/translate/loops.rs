//! Loops. In: a loop of the graph; out: its rounds one after the other where their number is known and small, else a loop.
//! Invariant: a lane's results are kept as it leaves; what lanes that have left compute, nobody sees.

use super::super::Declined;
use super::super::ir::{Def, Prim, Value};
use super::{MOST_ROUNDS, Number, Place, RECORDED_VALUES, Record, Translator, UNROLLED_VALUES};
use crate::graph::{RegionId, Type};
use std::ops::Range;

impl Translator<'_> {
    /// A loop whose number of rounds is known, round after round; nothing when it is not, or is too large.
    pub(super) fn unrolled(
        &mut self,
        body: RegionId,
        carried: usize,
        taped: bool,
        args: &[Range<usize>],
        place: Place,
    ) -> Result<Option<Vec<Range<usize>>>, Declined> {
        let graph = self.graph;
        let own_record = graph.region(body).results.last().is_some_and(|r| graph.region(body).node(*r).ty == Type::Record);
        let start = self.code.defs.len();
        let most = if taped { RECORDED_VALUES } else { UNROLLED_VALUES };
        let mut state: Vec<Range<usize>> = args[..carried].to_vec();
        let mut rounds: Vec<Vec<Range<usize>>> = Vec::new();
        for round in 1..=MOST_ROUNDS {
            let passed: Vec<Range<usize>> = state.iter().chain(&args[carried..]).cloned().collect();
            let results = self.region(body, &passed, place)?;
            let Some(flag) = self.constant_of(self.arena[results[0].start].value) else { return Ok(None) };
            if taped {
                rounds.push(state.iter().cloned().chain(results.last().filter(|_| own_record).cloned()).collect());
            }
            if flag == 0.0 {
                self.steps.all += round;
                self.steps.rounds = self.steps.rounds.max(round);
                let mut out = results[1 + carried..].to_vec();
                if taped {
                    if own_record {
                        out.pop();
                    }
                    out.push(self.record(Record::Rounds(rounds)));
                }
                return Ok(Some(out));
            }
            if self.code.defs.len() - start > most {
                return Ok(None);
            }
            state = results[1..=carried].to_vec();
        }
        Ok(None)
    }

    /// The walk back over rounds that were written out.
    pub(super) fn back(
        &mut self,
        body: RegionId,
        carried: usize,
        args: &[Range<usize>],
        place: Place,
    ) -> Result<Vec<Range<usize>>, Declined> {
        let Some(Record::Rounds(rounds)) = self.records.get(args[0].start).cloned() else { return Err(Declined::Record) };
        let mut state: Vec<Range<usize>> = args[1..=carried].to_vec();
        self.steps.all += rounds.len();
        for round in rounds.into_iter().rev() {
            let passed: Vec<Range<usize>> = round.into_iter().chain(state).chain(args[1 + carried..].iter().cloned()).collect();
            state = self.region(body, &passed, place)?;
        }
        Ok(state)
    }

    /// A number where the mask holds; elsewhere anything.
    pub(super) fn where_held(&self, mask: Value, not: Value, x: Value) -> Value {
        match self.code.def(x) {
            Def::Op(Prim::Keep | Prim::Blend, [m, yes, ..], _) if m == mask => yes,
            Def::Op(Prim::Blend, [m, _, no, _], _) if m == not => no,
            _ => x,
        }
    }

    /// A loop: each lane's results are kept as it leaves, and rounds go on until every lane has left.
    pub(super) fn rounds(
        &mut self,
        body: RegionId,
        carried: usize,
        args: &[Range<usize>],
        place: Place,
    ) -> Result<Vec<Range<usize>>, Declined> {
        let state: Vec<Number> = args[..carried].iter().flat_map(|r| self.arena[r.clone()].to_vec()).collect();
        let graph = self.graph;
        let shapes: Vec<usize> = graph.region(body).results[1 + carried..].iter().map(|r| graph.region(body).shape(*r).len()).collect();
        let zero = self.constant(0.0);
        let l = self.code.loops.len() as u32;
        let mut init: Vec<Value> = state.iter().map(|x| x.value).collect();
        let held: usize = shapes.iter().sum();
        init.extend(std::iter::repeat_n(zero, held));
        let active = init.len();
        let all = match place.mask {
            Some(m) => m,
            None => self.op(Prim::Always, &[]),
        };
        init.push(all);
        self.code.open(init, place.block);
        let inside = self.code.loops[l as usize].carried.clone();
        let mut from = self.arena.len();
        self.arena.extend(inside[..state.len()].iter().map(|&value| Number::loose(value)));
        let mut passed: Vec<Range<usize>> = Vec::with_capacity(args.len());
        for r in &args[..carried] {
            passed.push(from..from + r.len());
            from += r.len();
        }
        passed.extend_from_slice(&args[carried..]);
        let now = inside[active];
        let results = self.region(body, &passed, Place { mask: Some(now), block: l + 1 })?;
        let flag = self.arena[results[0].start].value;
        let go_on = self.mask(flag);
        let stop = self.not(go_on);
        let mut next: Vec<Value> = Vec::new();
        // What lanes that leave carry on, and the results of lanes that stay, nobody sees.
        next.extend(results[1..=carried].iter().flat_map(|r| r.clone()).map(|i| self.where_held(go_on, stop, self.arena[i].value)));
        let together = self.leave_together(l, &next, go_on);
        for (k, i) in results[1 + carried..].iter().flat_map(|r| r.clone()).enumerate() {
            let k = state.len() + k;
            let x = self.where_held(stop, go_on, self.arena[i].value);
            next.push(if together {
                x
            } else {
                let leaves = self.op(Prim::Without, &[now, go_on]);
                self.op(Prim::Blend, &[leaves, x, inside[k]])
            });
        }
        next.push(if together && place.mask.is_none() { go_on } else { self.op(Prim::Both, &[now, go_on]) });
        let out = self.code.close(l, next, active);
        let mut ranges = Vec::with_capacity(shapes.len());
        let mut k = state.len();
        for n in shapes {
            let from = self.arena.len();
            for _ in 0..n {
                self.arena.push(Number::loose(out[k]));
                k += 1;
            }
            ranges.push(from..self.arena.len());
        }
        Ok(ranges)
    }

    /// Whether all lanes leave a loop in the same round: when the test depends on nothing that differs between lanes.
    pub(super) fn leave_together(&self, l: u32, next: &[Value], test: Value) -> bool {
        let it = &self.code.loops[l as usize];
        let mut same = vec![true; next.len()];
        let mut varies = vec![false; self.code.defs.len()];
        loop {
            for i in 0..varies.len() {
                varies[i] = match self.code.defs[i] {
                    Def::Input(_) | Def::Out(..) => true,
                    Def::Shared(_) | Def::Constant(_) | Def::WideConstant(_) => false,
                    Def::Carried(m, k) => m != l || !same.get(k as usize).copied().unwrap_or(false),
                    Def::Op(..) | Def::Unary(..) | Def::Binary(..) | Def::Ternary(..) => {
                        let (args, n) = self.code.args(Value(i as u32));
                        args[..n].iter().any(|a| varies[a.0 as usize])
                    }
                };
            }
            let found: Vec<bool> =
                (0..next.len()).map(|k| same[k] && !varies[it.init[k].0 as usize] && !varies[next[k].0 as usize]).collect();
            if found == same {
                return !varies[test.0 as usize];
            }
            same = found;
        }
    }
}
