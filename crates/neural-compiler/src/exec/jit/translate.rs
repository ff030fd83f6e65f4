//! Graph to code: every value becomes its numbers, every choice a selection, every call its callee. In: a graph, the number type and
//! the instruction set; out: a `Code`, or the reason why the lane engine should run the program.
//! Invariants: only operations that cannot fail are translated, so that computing a side nobody takes is never seen; a NaN is made
//! quiet wherever its bits could be seen.

use super::Declined;
use super::ir::{Class, Code, Def, Function, Prim, Test, Value};
use super::tensor;
use crate::graph::{Graph, Kind, RegionId, Type};
use crate::ops::real::Dtype;
use crate::ops::row::apply_scalar;
use crate::ops::{Kernel, Op};
use crate::shape::Shape;
use neural_compiler_math::{self as math, Level};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// How the NaNs of a number relate to the interpreter's, in which every operation gives the one quiet NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nan {
    /// Bit for bit the interpreter's, perhaps with a payload that came from an input.
    Exact,
    /// Some NaN where the interpreter has the quiet one.
    Loose,
    /// Bit for bit, and no NaN but the quiet one.
    Quiet,
}

/// A number of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) value: Value,
    pub(super) nan: Nan,
}

impl Number {
    pub(super) fn loose(value: Value) -> Number {
        Number { value, nan: Nan::Loose }
    }
}

/// Values a program may have; beyond, generated code would outgrow the caches.
const MOST_VALUES: usize = 40_000;

/// Computing both sides of a choice pays up to this much work in a side.
const MOST_WORK: usize = 64;

/// What calling a function costs, in arithmetic operations.
const CALL_WORK: usize = 6;

pub(super) struct Translator<'a> {
    graph: &'a Graph,
    dtype: Dtype,
    level: Level,
    pub(super) code: Code,
    /// The numbers of all nodes translated, in runs.
    arena: Vec<Number>,
    /// Regions being translated, to notice recursion.
    open: Vec<RegionId>,
    /// Records made so far.
    records: Vec<Record>,
    steps: Steps,
    depth: usize,
    /// Which values carried by which loops may hold a NaN with a payload from an input.
    payloads: FxHashSet<(u32, usize)>,
    /// Whether one more was found.
    found: bool,
    work: Vec<Option<usize>>,
}

/// Where a region is translated: the mask of the lanes that count, and the block.
#[derive(Clone, Copy)]
struct Place {
    mask: Option<Value>,
    block: u32,
}

/// What the translation has done of what the interpreter counts: calls and rounds that are in the code without being counted.
#[derive(Clone, Copy, Default)]
pub(super) struct Steps {
    /// Calls and rounds together, at least as many as any lane takes.
    pub(super) all: usize,
    /// Calls within calls.
    pub(super) depth: usize,
    /// Rounds of a loop.
    pub(super) rounds: usize,
}

/// A record of reverse mode, as long as everything in it is known while translating. Values stand for themselves, records in it for
/// the number of a record.
#[derive(Clone)]
enum Record {
    Packed(Vec<Range<usize>>),
    /// What a loop carried at the start of each round.
    Rounds(Vec<Vec<Range<usize>>>),
}

/// Rounds a loop may have to be written out, and values they may make: in a loop that can also run as one, and in one that cannot.
const MOST_ROUNDS: usize = 64;
const UNROLLED_VALUES: usize = 600;
const RECORDED_VALUES: usize = 8_000;

pub(super) struct Translated {
    pub(super) code: Code,
    pub(super) steps: Steps,
}

pub(super) fn translate(graph: &Graph, uniform: &[bool], dtype: Dtype, level: Level) -> Result<Translated, Declined> {
    let mut payloads = FxHashSet::default();
    loop {
        let t = Translator::new(graph, dtype, level, payloads).program(uniform)?;
        if !t.found {
            return Ok(Translated { code: t.code, steps: t.steps });
        }
        payloads = t.payloads;
    }
}

impl<'a> Translator<'a> {
    fn new(graph: &'a Graph, dtype: Dtype, level: Level, payloads: FxHashSet<(u32, usize)>) -> Translator<'a> {
        let work = vec![None; graph.regions.len()];
        let code = Code::new();
        Translator {
            graph,
            dtype,
            level,
            code,
            arena: Vec::new(),
            open: Vec::new(),
            records: Vec::new(),
            steps: Steps::default(),
            depth: 0,
            payloads,
            found: false,
            work,
        }
    }

    fn program(mut self, uniform: &[bool]) -> Result<Translator<'a>, Declined> {
        let mut args = Vec::with_capacity(self.graph.inputs.len());
        let (mut varying, mut shared) = (0, 0);
        for (input, &uniform) in self.graph.inputs.iter().zip(uniform) {
            let from = self.arena.len();
            for _ in 0..input.shape.len() {
                let next = if uniform { &mut shared } else { &mut varying };
                let def = if uniform { Def::Shared(*next) } else { Def::Input(*next) };
                *next += 1;
                let value = self.code.make(def, Class::Number);
                self.arena.push(Number { value, nan: Nan::Exact });
            }
            args.push(from..self.arena.len());
        }
        let results = self.region(self.graph.main, &args, Place { mask: None, block: 0 })?;
        for r in results {
            for k in r {
                let x = self.arena[k];
                let seen = self.seen(x);
                self.code.outputs.push(seen.value);
            }
        }
        let called = |(def, block): (&Def, &u32)| *block > 0 && matches!(def, Def::Unary(..) | Def::Binary(..));
        if self.code.defs.iter().zip(&self.code.blocks).any(called) {
            return Err(Declined::CallInLoop);
        }
        Ok(self)
    }

    // Values.

    /// The bits of a number rounded to the program's type.
    pub(super) fn bits(&self, x: f64) -> u64 {
        match self.dtype {
            Dtype::F32 => u64::from((x as f32).to_bits()),
            Dtype::F64 => x.to_bits(),
        }
    }

    pub(super) fn number_of(&self, bits: u64) -> f64 {
        match self.dtype {
            Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
            Dtype::F64 => f64::from_bits(bits),
        }
    }

    pub(super) fn constant(&mut self, x: f64) -> Value {
        let bits = self.bits(x);
        self.code.make(Def::Constant(bits), Class::Number)
    }

    /// All bits but the sign.
    pub(super) fn magnitude_bits(&mut self) -> Value {
        let bits = match self.dtype {
            Dtype::F32 => u64::from(u32::MAX >> 1),
            Dtype::F64 => u64::MAX >> 1,
        };
        self.code.make(Def::Constant(bits), Class::Number)
    }

    /// The smallest number with all its digits.
    pub(super) fn smallest_normal(&self) -> f64 {
        match self.dtype {
            Dtype::F32 => f64::from(f32::MIN_POSITIVE),
            Dtype::F64 => f64::MIN_POSITIVE,
        }
    }

    pub(super) fn level(&self) -> Level {
        self.level
    }

    pub(super) fn op(&mut self, prim: Prim, args: &[Value]) -> Value {
        self.code.op(prim, args)
    }

    /// The number with just the interpreter's bits.
    fn seen(&mut self, x: Number) -> Number {
        if x.nan != Nan::Loose {
            return x;
        }
        let nan = self.constant(f64::NAN);
        Number { value: self.op(Prim::Quiet, &[x.value, nan]), nan: Nan::Quiet }
    }

    pub(super) fn constant_of(&self, v: Value) -> Option<f64> {
        self.code.constant_bits(v).map(|b| self.number_of(b))
    }

    fn is_zero(&self, v: Value) -> bool {
        self.code.constant_bits(v) == Some(0)
    }

    fn is_one(&self, v: Value) -> bool {
        self.code.constant_bits(v) == Some(self.bits(1.0))
    }

    /// 1 where the mask holds, else 0.
    pub(super) fn one_if(&mut self, mask: Value) -> Number {
        let one = self.constant(1.0);
        Number { value: self.op(Prim::Keep, &[mask, one]), nan: Nan::Quiet }
    }

    /// The mask of a number that is 1 or 0 because of it; constants 1 and 0 are `Some(Err)`.
    fn as_test(&self, v: Value) -> Option<Result<Value, bool>> {
        match self.code.def(v) {
            Def::Op(Prim::Keep, [mask, x, _], _) if self.is_one(x) => Some(Ok(mask)),
            _ if self.is_zero(v) => Some(Err(false)),
            _ if self.is_one(v) => Some(Err(true)),
            _ => None,
        }
    }

    /// For `x = y`: the mask that says so when one is 1 or 0 by a mask and the other the constant 0.
    pub(super) fn negated(&mut self, x: Value, y: Value) -> Option<Value> {
        match (self.as_test(x)?, self.as_test(y)?) {
            (Ok(mask), Err(false)) | (Err(false), Ok(mask)) => Some(self.not(mask)),
            (Ok(mask), Err(true)) | (Err(true), Ok(mask)) => Some(mask),
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => None,
        }
    }

    /// Where a number is not 0.
    fn mask(&mut self, x: Value) -> Value {
        match self.as_test(x) {
            Some(Ok(mask)) => mask,
            Some(Err(true)) => self.op(Prim::Always, &[]),
            Some(Err(false)) => {
                let always = self.op(Prim::Always, &[]);
                self.op(Prim::Not, &[always])
            }
            None => {
                let zero = self.constant(0.0);
                self.op(Prim::Compare(Test::NotEqual), &[x, zero])
            }
        }
    }

    fn not(&mut self, mask: Value) -> Value {
        match self.code.def(mask) {
            Def::Op(Prim::Not, [m, ..], _) => m,
            Def::Op(Prim::Compare(test), [a, b, _], _) if test.inverse().is_some() => {
                let inverse = test.inverse().unwrap_or(test);
                self.op(Prim::Compare(inverse), &[a, b])
            }
            _ => self.op(Prim::Not, &[mask]),
        }
    }

    /// Two numbers whose NaNs can stand side by side: where one may carry a payload, the other must be quiet.
    fn alike(&mut self, x: Number, y: Number) -> (Number, Number, Nan) {
        match (x.nan, y.nan) {
            (Nan::Exact, Nan::Loose) => {
                let y = self.seen(y);
                (x, y, Nan::Exact)
            }
            (Nan::Loose, Nan::Exact) => {
                let x = self.seen(x);
                (x, y, Nan::Exact)
            }
            (Nan::Loose, _) | (_, Nan::Loose) => (x, y, Nan::Loose),
            (Nan::Exact, _) | (_, Nan::Exact) => (x, y, Nan::Exact),
            (Nan::Quiet, Nan::Quiet) => (x, y, Nan::Quiet),
        }
    }

    fn select(&mut self, mask: Value, yes: Number, no: Number) -> Number {
        // One machine value may stand for two numbers: an input, and the same with its NaN made quiet.
        if yes.value == no.value && (yes.nan == no.nan || yes.nan == Nan::Quiet || no.nan == Nan::Quiet) {
            return if yes.nan == Nan::Quiet { yes } else { no };
        }
        if let (Some(a), Some(b)) = (self.as_test(yes.value), self.as_test(no.value)) {
            let chosen = match (a, b) {
                (Err(true), Err(_)) => mask,
                (Err(false), Err(_)) => self.not(mask),
                (Ok(a), Err(false)) => self.op(Prim::Both, &[mask, a]),
                (Err(true), Ok(b)) => self.op(Prim::Either, &[mask, b]),
                (Err(false), Ok(b)) => self.op(Prim::Without, &[b, mask]),
                (Ok(a), Err(true)) => {
                    let not = self.not(mask);
                    self.op(Prim::Either, &[not, a])
                }
                (Ok(a), Ok(b)) => {
                    let first = self.op(Prim::Both, &[mask, a]);
                    let second = self.op(Prim::Without, &[b, mask]);
                    self.op(Prim::Either, &[first, second])
                }
            };
            return self.one_if(chosen);
        }
        let (yes, no, nan) = self.alike(yes, no);
        let value = if self.is_zero(no.value) {
            self.op(Prim::Keep, &[mask, yes.value])
        } else if self.is_zero(yes.value) {
            let not = self.not(mask);
            self.op(Prim::Keep, &[not, no.value])
        } else {
            self.op(Prim::Blend, &[mask, yes.value, no.value])
        };
        Number { value, nan }
    }

    // Regions.

    fn region(&mut self, id: RegionId, args: &[Range<usize>], place: Place) -> Result<Vec<Range<usize>>, Declined> {
        if self.open.contains(&id) {
            return Err(Declined::Recursion);
        }
        self.open.push(id);
        let results = crate::deep(|| self.nodes(id, args, place));
        self.open.pop();
        results
    }

    fn nodes(&mut self, id: RegionId, args: &[Range<usize>], place: Place) -> Result<Vec<Range<usize>>, Declined> {
        let graph = self.graph;
        let region = graph.region(id);
        let mut at: Vec<Range<usize>> = Vec::with_capacity(region.nodes.len());
        let mut many: Vec<Vec<Range<usize>>> = Vec::new();
        for n in region.ids() {
            let node = region.node(n);
            self.code.span = node.span;
            let of = |k: usize| at[region.args(n)[k].0 as usize].clone();
            let here = match node.kind {
                Kind::Param(p) => args[p as usize].clone(),
                Kind::Const(bits) => {
                    let value = self.constant(f64::from_bits(bits));
                    self.one(Number { value, nan: Nan::Quiet })
                }
                Kind::Op(op, attr) => {
                    let operands: Vec<(Range<usize>, Shape)> = region.args(n).iter().map(|a| (at[a.0 as usize].clone(), region.shape(*a))).collect();
                    self.operation(op, attr, &operands, node.ty.shape(), place)?
                }
                // A node with several results stands for the number of its list.
                Kind::Proj(i) => many[of(0).start][i as usize].clone(),
                Kind::If(yes, no) => {
                    let passed: Vec<Range<usize>> = (1..region.args(n).len()).map(of).collect();
                    let test = self.arena[of(0).start].value;
                    let results = match self.constant_of(test) {
                        Some(test) => self.region(if test != 0.0 { yes } else { no }, &passed, place)?,
                        None => {
                            if self.work(yes)? > MOST_WORK || self.work(no)? > MOST_WORK {
                                return Err(Declined::LongChoice);
                            }
                            let mask = self.mask(test);
                            self.choice(mask, (yes, no), &passed, place)?
                        }
                    };
                    many.push(results);
                    many.len() - 1..many.len()
                }
                Kind::Call(f) => {
                    if place.block > 0 {
                        return Err(Declined::CallInLoop);
                    }
                    self.steps.all += 1;
                    self.depth += 1;
                    self.steps.depth = self.steps.depth.max(self.depth);
                    let passed: Vec<Range<usize>> = (0..region.args(n).len()).map(of).collect();
                    let results = self.region(f, &passed, place)?;
                    self.depth -= 1;
                    many.push(results);
                    many.len() - 1..many.len()
                }
                Kind::Loop { body, carried, taped } => {
                    let passed: Vec<Range<usize>> = (0..region.args(n).len()).map(of).collect();
                    let results = match self.unrolled(body, carried as usize, taped, &passed, place)? {
                        Some(results) => results,
                        None if taped => return Err(Declined::Record),
                        None => self.rounds(body, carried as usize, &passed, place)?,
                    };
                    many.push(results);
                    many.len() - 1..many.len()
                }
                Kind::Back { body, stored: _, carried } => {
                    let passed: Vec<Range<usize>> = (0..region.args(n).len()).map(of).collect();
                    let results = self.back(body, carried as usize, &passed, place)?;
                    many.push(results);
                    many.len() - 1..many.len()
                }
                Kind::Pack => {
                    let values = (0..region.args(n).len()).map(of).collect();
                    self.record(Record::Packed(values))
                }
                Kind::Unpack(k) => match self.records.get(of(0).start) {
                    Some(Record::Packed(values)) => values[k as usize].clone(),
                    Some(Record::Rounds(_)) | None => return Err(Declined::Record),
                },
            };
            at.push(here);
            if self.code.defs.len() > MOST_VALUES {
                return Err(Declined::TooLarge);
            }
        }
        Ok(region.results.iter().map(|r| at[r.0 as usize].clone()).collect())
    }

    fn one(&mut self, x: Number) -> Range<usize> {
        self.arena.push(x);
        self.arena.len() - 1..self.arena.len()
    }

    fn record(&mut self, record: Record) -> Range<usize> {
        self.records.push(record);
        self.records.len() - 1..self.records.len()
    }

    /// A loop whose number of rounds is known, round after round; nothing when it is not, or is too large.
    fn unrolled(&mut self, body: RegionId, carried: usize, taped: bool, args: &[Range<usize>], place: Place) -> Result<Option<Vec<Range<usize>>>, Declined> {
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
    fn back(&mut self, body: RegionId, carried: usize, args: &[Range<usize>], place: Place) -> Result<Vec<Range<usize>>, Declined> {
        let Some(Record::Rounds(rounds)) = self.records.get(args[0].start).cloned() else { return Err(Declined::Record) };
        let mut state: Vec<Range<usize>> = args[1..=carried].to_vec();
        self.steps.all += rounds.len();
        for round in rounds.into_iter().rev() {
            let passed: Vec<Range<usize>> = round.into_iter().chain(state).chain(args[1 + carried..].iter().cloned()).collect();
            state = self.region(body, &passed, place)?;
        }
        Ok(state)
    }

    /// What computing a region costs, in arithmetic operations.
    fn work(&mut self, id: RegionId) -> Result<usize, Declined> {
        if let Some(work) = self.work[id.0 as usize] {
            return Ok(work);
        }
        // Recursion is declined where it is met; here it must only end.
        self.work[id.0 as usize] = Some(0);
        let graph = self.graph;
        let mut work = 0usize;
        for node in &graph.region(id).nodes {
            work += match node.kind {
                Kind::Op(op, _) => {
                    let cheap = super::arithmetic::is_arithmetic(op);
                    node.ty.shape().len() * if cheap { 1 } else { CALL_WORK }
                }
                Kind::If(..) | Kind::Call(_) => {
                    let mut sum = 0;
                    for child in Graph::children(node.kind) {
                        sum += crate::deep(|| self.work(child))?;
                    }
                    sum
                }
                // A loop that no lane needs is over at once, so it is cheap where it does not count.
                Kind::Loop { .. } | Kind::Back { .. } => MOST_WORK / 2,
                Kind::Param(_) | Kind::Const(_) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => 0,
            };
        }
        self.work[id.0 as usize] = Some(work);
        Ok(work)
    }

    fn choice(&mut self, mask: Value, (yes, no): (RegionId, RegionId), args: &[Range<usize>], place: Place) -> Result<Vec<Range<usize>>, Declined> {
        let within = |t: &mut Self, m: Value| match place.mask {
            Some(outer) => t.op(Prim::Both, &[outer, m]),
            None => m,
        };
        // A record of either side would have to know which lanes took it.
        if self.graph.region(yes).result_types().contains(&Type::Record) {
            return Err(Declined::Record);
        }
        let first_mask = within(self, mask);
        let first = self.region(yes, args, Place { mask: Some(first_mask), ..place })?;
        let not = self.not(mask);
        let second_mask = within(self, not);
        let second = self.region(no, args, Place { mask: Some(second_mask), ..place })?;
        let mut results = Vec::with_capacity(first.len());
        for (a, b) in first.into_iter().zip(second) {
            let from = self.arena.len();
            for (i, j) in a.zip(b) {
                let (x, y) = (self.arena[i], self.arena[j]);
                let chosen = self.select(mask, x, y);
                self.arena.push(chosen);
            }
            results.push(from..self.arena.len());
        }
        Ok(results)
    }

    /// What a loop is to carry as its `k`-th value: with the interpreter's bits where a payload may pass through.
    fn carry(&mut self, l: u32, k: usize, x: Number) -> Value {
        if self.payloads.contains(&(l, k)) {
            return self.seen(x).value;
        }
        if x.nan == Nan::Exact {
            self.payloads.insert((l, k));
            self.found = true;
        }
        x.value
    }

    fn carried_nan(&self, l: u32, k: usize) -> Nan {
        if self.payloads.contains(&(l, k)) { Nan::Exact } else { Nan::Loose }
    }

    /// A number where the mask holds; elsewhere anything.
    fn where_held(&self, mask: Value, not: Value, x: Number) -> Number {
        let value = match self.code.def(x.value) {
            Def::Op(Prim::Keep | Prim::Blend, [m, yes, _], _) if m == mask => yes,
            Def::Op(Prim::Blend, [m, _, no], _) if m == not => no,
            _ => x.value,
        };
        Number { value, ..x }
    }

    /// A loop: each lane's results are kept as it leaves, and rounds go on until every lane has left.
    fn rounds(&mut self, body: RegionId, carried: usize, args: &[Range<usize>], place: Place) -> Result<Vec<Range<usize>>, Declined> {
        let state: Vec<Number> = args[..carried].iter().flat_map(|r| self.arena[r.clone()].to_vec()).collect();
        let graph = self.graph;
        let shapes: Vec<usize> = graph.region(body).results[1 + carried..].iter().map(|r| graph.region(body).shape(*r).len()).collect();
        let zero = self.constant(0.0);
        let l = self.code.loops.len() as u32;
        let mut init: Vec<Value> = state.iter().enumerate().map(|(k, &x)| self.carry(l, k, x)).collect();
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
        for (k, &value) in inside[..state.len()].iter().enumerate() {
            let nan = self.carried_nan(l, k);
            self.arena.push(Number { value, nan });
        }
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
        for (k, i) in results[1..=carried].iter().flat_map(|r| r.clone()).enumerate() {
            let x = self.where_held(go_on, stop, self.arena[i]);
            next.push(self.carry(l, k, x));
        }
        let together = self.leave_together(l, &next, go_on);
        for (k, i) in results[1 + carried..].iter().flat_map(|r| r.clone()).enumerate() {
            let k = state.len() + k;
            let x = self.where_held(stop, go_on, self.arena[i]);
            let x = self.carry(l, k, x);
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
                let nan = self.carried_nan(l, k);
                self.arena.push(Number { value: out[k], nan });
                k += 1;
            }
            ranges.push(from..self.arena.len());
        }
        Ok(ranges)
    }

    /// Whether all lanes leave a loop in the same round: when the test depends on nothing that differs between lanes.
    fn leave_together(&self, l: u32, next: &[Value], test: Value) -> bool {
        let it = &self.code.loops[l as usize];
        let mut same = vec![true; next.len()];
        let mut varies = vec![false; self.code.defs.len()];
        loop {
            for i in 0..varies.len() {
                varies[i] = match self.code.defs[i] {
                    Def::Input(_) | Def::Out(..) => true,
                    Def::Shared(_) | Def::Constant(_) => false,
                    Def::Carried(m, k) => m != l || !same.get(k as usize).copied().unwrap_or(false),
                    Def::Op(..) | Def::Unary(..) | Def::Binary(..) => {
                        let (args, n) = self.code.args(Value(i as u32));
                        args[..n].iter().any(|a| varies[a.0 as usize])
                    }
                };
            }
            let found: Vec<bool> = (0..next.len()).map(|k| same[k] && !varies[it.init[k].0 as usize] && !varies[next[k].0 as usize]).collect();
            if found == same {
                return !varies[test.0 as usize];
            }
            same = found;
        }
    }

    // Operations.

    fn operation(&mut self, op: Op, attr: u32, operands: &[(Range<usize>, Shape)], shape: Shape, place: Place) -> Result<Range<usize>, Declined> {
        let row = op.row();
        if let Kernel::Tensor(_) = row.kernel {
            let args: Vec<(Vec<Number>, Shape)> = operands.iter().map(|(r, s)| (self.arena[r.clone()].to_vec(), *s)).collect();
            let out = tensor::apply(self, op, attr, &args, shape)?;
            let from = self.arena.len();
            // The interpreter makes every NaN of a tensor quiet.
            self.arena.extend(out.into_iter().map(|x| Number { nan: if x.nan == Nan::Exact { Nan::Loose } else { x.nan }, ..x }));
            return Ok(from..self.arena.len());
        }
        if let Kernel::Composite(_) = row.kernel {
            return Err(Declined::Operation(row.name));
        }
        let from = self.arena.len();
        let count = shape.len();
        for k in 0..count {
            // A scalar combines with every element.
            let arg = |i: usize| {
                let r = &operands[i].0;
                r.start + if r.len() == 1 { 0 } else { k }
            };
            let folded = (0..operands.len()).map(|i| self.constant_of(self.arena[arg(i)].value)).collect::<Option<Vec<f64>>>();
            if let Some(numbers) = folded {
                let result = match self.dtype {
                    Dtype::F32 => f64::from(apply_scalar(&row.kernel, &numbers.iter().map(|&x| x as f32).collect::<Vec<_>>())),
                    Dtype::F64 => apply_scalar(&row.kernel, &numbers),
                };
                let value = self.constant(result);
                self.arena.push(Number { value, nan: Nan::Quiet });
                continue;
            }
            let x = match &row.kernel {
                Kernel::Unary(f) => {
                    let x = self.arena[arg(0)];
                    self.unary(op, f, x, place)
                }
                Kernel::Binary(f) => {
                    let (x, y) = (self.arena[arg(0)], self.arena[arg(1)]);
                    self.binary(op, f, x, y)
                }
                Kernel::Select => {
                    let (t, x, y) = (self.arena[arg(0)], self.arena[arg(1)], self.arena[arg(2)]);
                    let mask = self.mask(t.value);
                    self.select(mask, x, y)
                }
                Kernel::Tensor(_) | Kernel::Composite(_) => return Err(Declined::Operation(row.name)),
            };
            self.arena.push(x);
        }
        Ok(from..from + count)
    }

    fn unary(&mut self, op: Op, f: &'static math::Unary, x: Number, place: Place) -> Number {
        if let Some(number) = super::arithmetic::unary(self, op, x) {
            return number;
        }
        let Some((value, rare)) = super::expand::expand(&mut self.code, self.dtype, self.level, f, x.value) else {
            return Number { value: self.code.make(Def::Unary(Function(f), x.value), Class::Number), nan: Nan::Quiet };
        };
        // Lanes that do not count may hold anything.
        let rare = match (rare, place.mask) {
            (Some(rare), Some(counts)) => Some(self.op(Prim::Both, &[rare, counts])),
            (rare, _) => rare,
        };
        Number::loose(match rare {
            Some(rare) => self.op(Prim::Mend(Function(f)), &[rare, value, x.value]),
            None => value,
        })
    }

    fn binary(&mut self, op: Op, f: &'static math::Binary, x: Number, y: Number) -> Number {
        super::arithmetic::binary(self, op, x, y)
            .unwrap_or_else(|| Number { value: self.code.make(Def::Binary(Function(f), x.value, y.value), Class::Number), nan: Nan::Quiet })
    }
}
