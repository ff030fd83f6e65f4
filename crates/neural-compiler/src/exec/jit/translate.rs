//! Graph to code: every value becomes its numbers, every choice a selection, every call its callee. In: a graph, the number type and
//! the instruction set; out: a `Code`, or the reason why the lane engine should run the program.
//! Invariants: only operations that cannot fail are translated, so that computing a side nobody takes is never seen; a computed index
//! makes the code give up when a lane that counts is out of range; every NaN of a result is the quiet one.

mod loops;
mod operations;
mod values;

use super::Declined;
use super::ir::{Class, Code, Def, Prim, Value};
use super::schedule::live;
use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::ops::real::Dtype;
use crate::ops::{Op, work};
use crate::shape::Shape;
use neural_compiler_math::Level;
use std::ops::Range;

/// What is known of a number's NaNs. Nothing of a NaN but that it is one can be seen before it is a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nan {
    /// Any NaN.
    Loose,
    /// No NaN but the quiet one.
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
    work: Vec<Option<usize>>,
    /// The operations that may fail, with the numbers each gives, of which one at least must be computed to see that it does not.
    pub(super) refusals: Vec<(Op, Vec<Value>)>,
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
    /// Steps the work of a round is worth, all loops together.
    pub(super) in_loops: u64,
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

/// Whether a program is too large by the look of its shapes: its numbers are not even counted one by one.
fn is_large(graph: &Graph) -> bool {
    let large = |region: &Region, n: NodeId| match region.node(n).kind {
        Kind::Op(op, _) => work::of(op, region.args(n).iter().map(|&a| region.shape(a)), region.shape(n)) > 4 * MOST_VALUES as u64,
        _ => region.shape(n).len() > MOST_VALUES,
    };
    graph.regions.iter().any(|region| region.ids().any(|n| large(region, n)))
}

pub(super) fn translate(graph: &Graph, uniform: &[bool], dtype: Dtype, level: Level) -> Result<Translated, Declined> {
    if is_large(graph) {
        return Err(Declined::TooLarge);
    }
    let t = Translator::new(graph, dtype, level).program(uniform)?;
    Ok(Translated { code: t.code, steps: t.steps })
}

impl<'a> Translator<'a> {
    fn new(graph: &'a Graph, dtype: Dtype, level: Level) -> Translator<'a> {
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
            work,
            refusals: Vec::new(),
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
                self.arena.push(Number::loose(value));
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
        let called = |(def, block): (&Def, &u32)| *block > 0 && matches!(def, Def::Unary(..) | Def::Binary(..) | Def::Ternary(..));
        if self.code.defs.iter().zip(&self.code.blocks).any(called) {
            return Err(Declined::CallInLoop);
        }
        match self.unseen() {
            Some(op) => Err(Declined::Operation(op.row().name)),
            None => Ok(self),
        }
    }

    /// An operation whose failure nobody would see, because nothing it gives is computed.
    fn unseen(&self) -> Option<Op> {
        if self.refusals.is_empty() {
            return None;
        }
        let live = live(&self.code);
        self.refusals.iter().find(|(_, numbers)| !numbers.iter().any(|v| live[v.0 as usize])).map(|(op, _)| *op)
    }

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
                    let operands: Vec<(Range<usize>, Shape)> =
                        region.args(n).iter().map(|a| (at[a.0 as usize].clone(), region.shape(*a))).collect();
                    let steps = work::steps(op, operands.iter().map(|o| o.1), node.ty.shape());
                    if place.block == 0 {
                        self.steps.all += steps as usize;
                    } else {
                        self.steps.in_loops += steps;
                    }
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
                Kind::Call(f) | Kind::Root { solve: f, .. } => {
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
                Kind::If(..) | Kind::Call(_) | Kind::Root { .. } => {
                    let mut sum = 0;
                    for child in Graph::runs(node.kind) {
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

    fn choice(
        &mut self,
        mask: Value,
        (yes, no): (RegionId, RegionId),
        args: &[Range<usize>],
        place: Place,
    ) -> Result<Vec<Range<usize>>, Declined> {
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
}
