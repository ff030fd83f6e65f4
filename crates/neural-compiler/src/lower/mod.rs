//! A-normal form to graph, for concrete input shapes. In: functions as blocks; out: closed regions.
//! Invariants: a loop of functions becomes one `Loop` node whose carried values are the parameters that change; small or
//! once-called functions are inlined; truly recursive ones become regions of their own, one per combination of shapes; a branch
//! on a constant is decided here.
//!
//! `calls` (inlined or not), `derived` (derivatives and roots of functions), `loops`, `choices`, `application` (operations of any number
//! of arguments).

mod application;
mod calls;
mod choices;
mod derived;
mod loops;

use crate::anf::{Anf, Arg, Args, Atom, BlockId, Rhs, Tail};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{Builder, Graph, GraphInput, Kind, NodeId, Region, RegionId, Type, compact};
use crate::limits::Limits;
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::FunId;
use crate::tail::Tails;
use rustc_hash::FxHashMap;
use std::sync::Arc;

type Lowered<T> = Result<T, Box<Diagnostic>>;

/// Functions up to this many statements are inlined wherever they are called.
const SMALL: usize = 64;

/// A region under construction, inside another.
struct Level {
    builder: Builder,
    /// Nodes of the enclosing region that this one uses, in the order of its parameters.
    captures: Vec<NodeId>,
    captured: FxHashMap<NodeId, NodeId>,
}

impl Level {
    fn new(name: &str) -> Level {
        Level { builder: Builder::new(name), captures: Vec::new(), captured: FxHashMap::default() }
    }
}

/// A nest of regions under construction; the last is the innermost.
struct Nest {
    levels: Vec<Level>,
}

impl Nest {
    fn top(&mut self) -> &mut Builder {
        &mut self.levels.last_mut().expect("a region").builder
    }

    /// Makes a node of an outer level usable in the innermost region.
    fn reach(&mut self, level: usize, mut node: NodeId) -> NodeId {
        for l in level + 1..self.levels.len() {
            let ty = self.levels[l - 1].builder.ty(node);
            // Constants need no parameter.
            if let Some(x) = self.levels[l - 1].builder.constant_value(node) {
                node = self.levels[l].builder.constant(x);
                continue;
            }
            let inner = &mut self.levels[l];
            node = match inner.captured.get(&node) {
                Some(&n) => n,
                None => {
                    let param = inner.builder.param(ty);
                    inner.captures.push(node);
                    inner.captured.insert(node, param);
                    param
                }
            };
        }
        node
    }
}

/// Where a function's locals are: level and node.
type Frame = Vec<Option<(usize, NodeId)>>;

/// What a loop's body hands on.
struct Machine {
    /// The functions of the loop.
    members: Vec<FunId>,
    /// For each member, where its parameters are among the carried values; `None`: an invariant.
    slots: Vec<Vec<Option<usize>>>,
    /// Shapes of the carried values; the first is the state when there are several members.
    carried: Vec<Shape>,
    result: Shape,
}

impl Machine {
    fn several(&self) -> bool {
        self.members.len() > 1
    }
}

/// What the tail of a block becomes.
#[derive(Clone, Copy)]
enum Mode<'m> {
    /// The block's value.
    Value,
    /// `continue?`, next carried values, result.
    Step(&'m Machine, FunId),
}

/// A branch to build.
#[derive(Clone, Copy)]
enum Branch<'b> {
    Block(BlockId),
    /// The members of a loop from this one on, chosen by the state.
    States(&'b [Frame], usize),
}

struct Lowering<'a> {
    anf: &'a Anf,
    tails: &'a Tails,
    limits: &'a Limits,
    regions: Vec<Option<Region>>,
    instances: FxHashMap<(FunId, Vec<Shape>), (RegionId, Shape)>,
    weights: Vec<Option<usize>>,
    calls: Vec<usize>,
    made: usize,
    /// Derivatives by function and shapes, and where their regions begin.
    derivatives: FxHashMap<(FunId, Vec<Shape>), (Arc<Graph>, u32)>,
    /// Equations by function, shapes and number of starts.
    roots: FxHashMap<(FunId, Vec<Shape>, usize), Kind>,
    /// Functions whose derivatives are being made.
    deriving: Vec<FunId>,
    /// Loops around the one being lowered.
    loops: usize,
}

/// Loops within loops beyond this are refused: each hands every value it uses through all the loops around it, forwards and back, so
/// that derivatives of n of them take time in proportion to n^2 or more.
const MOST_LOOPS: usize = 500;

/// Lowers a program for inputs of these shapes.
pub(crate) fn lower(anf: &Anf, tails: &Tails, inputs: Vec<GraphInput>, limits: &Limits) -> Result<Graph, Diagnostics> {
    let mut calls = vec![0; anf.funs.len()];
    if anf.funs.len() > 1 {
        for f in 0..anf.funs.len() {
            for (id, _) in anf.blocks_of(FunId(f as u32)) {
                let block = anf.block(id);
                for stmt in &block.stmts {
                    if let Rhs::Call(g, _) = stmt.rhs {
                        calls[g.0 as usize] += 1;
                    }
                }
                if let Tail::Call(g, ..) = block.tail {
                    calls[g.0 as usize] += 1;
                }
            }
        }
    }
    let mut l = Lowering {
        anf,
        tails,
        limits,
        regions: vec![None],
        instances: FxHashMap::default(),
        weights: vec![None; anf.funs.len()],
        calls,
        made: 0,
        derivatives: FxHashMap::default(),
        roots: FxHashMap::default(),
        deriving: vec![],
        loops: 0,
    };
    let shapes: Vec<Shape> = inputs.iter().map(|i| i.shape).collect();
    l.weigh(shapes.iter().copied(), Span::default()).map_err(|e| Diagnostics(vec![*e]))?;
    let main = l.function(FunId(0), &shapes, "main").map_err(|e| Diagnostics(vec![*e]))?;
    l.regions[0] = Some(main);
    let regions = l.regions.into_iter().map(|r| r.expect("every region is finished")).collect();
    Ok(compact(Graph { regions, main: RegionId(0), inputs, origin: None }))
}

impl Lowering<'_> {
    fn add_region(&mut self, region: Region) -> RegionId {
        self.regions.push(Some(region));
        RegionId(self.regions.len() as u32 - 1)
    }

    /// Counts what was made since `before` nodes and stops at the limit.
    fn charge(&mut self, made: usize, span: Span) -> Lowered<()> {
        self.made += made;
        if self.made > self.limits.nodes {
            let message = format!("the program grows beyond {} nodes", self.limits.nodes);
            return Err(Box::new(
                Diagnostic::error("limit-nodes", span, message)
                    .help("write repeated work as a loop or a function, or raise the limit `nodes`"),
            ));
        }
        Ok(())
    }

    /// Refuses a value no run could hold, before anything computes with its size.
    fn weigh(&self, shapes: impl Iterator<Item = Shape>, span: Span) -> Lowered<()> {
        let most = self.limits.most_numbers();
        match { shapes }.find(|s| s.len() > most) {
            None => Ok(()),
            Some(shape) => {
                let message =
                    format!("a {shape} has {} numbers, more than the {} bytes a run may hold", shape.len(), self.limits.memory_bytes);
                Err(Box::new(
                    Diagnostic::error("limit-memory", span, message).help("make the value smaller, or raise the limit `memory_bytes`"),
                ))
            }
        }
    }

    /// A function as a closed region.
    fn function(&mut self, f: FunId, shapes: &[Shape], name: &str) -> Lowered<Region> {
        let mut nest = Nest { levels: vec![Level::new(name)] };
        let params: Vec<NodeId> = shapes.iter().map(|&s| nest.top().param(Type::Value(s))).collect();
        // A region of its own starts a nest of its own.
        let around = std::mem::take(&mut self.loops);
        let result = self.enter(&mut nest, f, &params)?;
        self.loops = around;
        let level = nest.levels.pop().expect("the region");
        Ok(level.builder.finish(vec![result]))
    }

    /// A function's value on nodes of the innermost region: its body inlined, or its loop.
    fn enter(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId]) -> Lowered<NodeId> {
        if self.tails.is_loop(f) {
            return self.run_loop(nest, f, args);
        }
        let level = nest.levels.len() - 1;
        let mut frame: Frame = vec![None; self.anf.fun(f).locals.len()];
        for (slot, &a) in frame.iter_mut().zip(args) {
            *slot = Some((level, a));
        }
        let value = self.block(nest, &mut frame, self.anf.fun(f).body, Mode::Value)?;
        Ok(value[0])
    }

    fn arg(&self, nest: &mut Nest, frame: &Frame, a: Arg) -> NodeId {
        match a.atom {
            Atom::Number(x) => nest.top().constant(x),
            Atom::Local(l) => {
                let (level, node) = frame[l.0 as usize].expect("the verifier saw its definition");
                nest.reach(level, node)
            }
        }
    }

    fn args(&self, nest: &mut Nest, frame: &Frame, args: Args) -> Vec<NodeId> {
        self.anf.args(args).iter().map(|&a| self.arg(nest, frame, a)).collect()
    }

    fn block(&mut self, nest: &mut Nest, frame: &mut Frame, id: BlockId, mode: Mode<'_>) -> Lowered<Vec<NodeId>> {
        crate::deep(|| self.block_here(nest, frame, id, mode))
    }

    fn block_here(&mut self, nest: &mut Nest, frame: &mut Frame, id: BlockId, mode: Mode<'_>) -> Lowered<Vec<NodeId>> {
        let anf = self.anf;
        let block = anf.block(id);
        for stmt in &block.stmts {
            nest.top().span = stmt.span;
            let before = nest.top().len();
            let value = match stmt.rhs {
                Rhs::Op(surface, args) => {
                    let args = anf.args(args);
                    self.application(nest, frame, surface, args, stmt.span)?
                }
                Rhs::Call(f, args) => {
                    let args = self.args(nest, frame, args);
                    self.call(nest, f, &args, stmt.span)?
                }
                Rhs::Derivative(f, args) => {
                    let args = self.args(nest, frame, args);
                    self.derivative(nest, f, &args, stmt.span)?
                }
                Rhs::Root(f, args, starts) => {
                    let args = self.args(nest, frame, args);
                    self.root(nest, f, &args, starts as usize, stmt.span)?
                }
                Rhs::If(c, t, e) => self.choice(nest, frame, c, Branch::Block(t), Branch::Block(e), Mode::Value)?[0],
            };
            frame[stmt.local.0 as usize] = Some((nest.levels.len() - 1, value));
            let made = nest.top().len().saturating_sub(before);
            self.charge(made, stmt.span)?;
            let new = &nest.top().region().nodes[before..];
            self.weigh(new.iter().map(|n| n.ty.shape()), stmt.span)?;
        }
        match block.tail {
            Tail::Return(a) => {
                let value = self.arg(nest, frame, a);
                self.leave(nest, value, mode, a.span)
            }
            Tail::If(c, t, e) => self.choice(nest, frame, c, Branch::Block(t), Branch::Block(e), mode),
            Tail::Call(g, args, span) => {
                nest.top().span = span;
                let args = self.args(nest, frame, args);
                match mode {
                    Mode::Step(machine, f) if self.tails.is_jump(f, g) => self.jump(nest, machine, g, &args, span),
                    Mode::Step(..) | Mode::Value => {
                        let value = self.call(nest, g, &args, span)?;
                        self.leave(nest, value, mode, span)
                    }
                }
            }
        }
    }
}
