//! A-normal form to graph, for concrete input shapes. In: functions as blocks; out: closed regions.
//! Invariants: a loop of functions becomes one `Loop` node whose carried values are the parameters that change; small or
//! once-called functions are inlined; truly recursive ones become regions of their own, one per combination of shapes; a branch
//! on a constant is decided here.

use crate::anf::{Anf, Arg, Args, Atom, BlockId, Rhs, Tail};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::diff;
use crate::graph::{Builder, Graph, GraphInput, Kind, NodeId, Region, RegionId, Type, assemble, compact, copy, result_shape, root};
use crate::infer::{Solver, branch_diagnostic, misfit_diagnostic, root_diagnostic, slope_diagnostic, test_diagnostic};
use crate::limits::Limits;
use crate::ops::row::{Arity, Kernel};
use crate::ops::{Op, Surface};
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

/// The derivative of a graph by its first input.
fn slope_of(graph: &Graph, span: Span) -> Lowered<Graph> {
    let derived = diff::derive(graph, &[diff::Step::Jacobian(vec![0])], true);
    derived.map(|d| d.graph).map_err(|e| Box::new(Diagnostic { span, ..e.0.into_iter().next().expect("an error says what it is") }))
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

    /// Statements of a function that would be inlined with it.
    fn weight(&mut self, f: FunId) -> usize {
        if let Some(w) = self.weights[f.0 as usize] {
            return w;
        }
        // Counts as heavy while its callees are weighed; recursive ones are never asked.
        self.weights[f.0 as usize] = Some(usize::MAX / 4);
        let mut weight = 0usize;
        let anf = self.anf;
        for (id, _) in anf.blocks_of(f) {
            let block = anf.block(id);
            weight += 1 + block.stmts.len();
            let tail = match block.tail {
                Tail::Call(g, ..) => Some(g),
                Tail::Return(_) | Tail::If(..) => None,
            };
            let called = block.stmts.iter().filter_map(|s| match s.rhs {
                Rhs::Call(g, _) | Rhs::Derivative(g, _) | Rhs::Root(g, ..) => Some(g),
                Rhs::Op(..) | Rhs::If(..) => None,
            });
            for g in called.chain(tail) {
                if !self.tails.is_jump(f, g) && !self.tails.is_recursive(g) {
                    let inner = crate::deep(|| self.weight(g));
                    weight = weight.saturating_add(if inner <= SMALL || self.calls[g.0 as usize] == 1 { inner } else { 1 });
                }
            }
        }
        self.weights[f.0 as usize] = Some(weight);
        weight
    }

    fn call(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId], span: Span) -> Lowered<NodeId> {
        let inline = !self.tails.is_recursive(f) && (self.calls[f.0 as usize] == 1 || self.weight(f) <= SMALL);
        if inline {
            return crate::deep(|| self.enter(nest, f, args));
        }
        let shapes: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let (region, result) = match self.instances.get(&(f, shapes.clone())) {
            Some(&known) => known,
            None => {
                let mut solver = Solver::new(self.anf);
                let result = solver.call(f, shapes.iter().map(|&s| s.into()).collect());
                solver.settle();
                if let Some(e) = solver.errors.first() {
                    return Err(Box::new(e.clone()));
                }
                let Some(result) = solver.settled(result) else {
                    return Err(Box::new(Diagnostic::error(
                        "shape-unknown",
                        span,
                        format!("the shape of `{}`'s result cannot be told", self.anf.fun(f).name),
                    )));
                };
                self.regions.push(None);
                let id = RegionId(self.regions.len() as u32 - 1);
                self.instances.insert((f, shapes.clone()), (id, result));
                let name = self.anf.fun(f).name.clone();
                let region = crate::deep(|| self.function(f, &shapes, &name))?;
                let found = region.shape(region.results[0]);
                if found != result {
                    return Err(Box::new(branch_diagnostic(&result.to_string(), &found.to_string(), self.anf.fun(f).span)));
                }
                self.regions[id.0 as usize] = Some(region);
                (id, result)
            }
        };
        let results = nest.top().many(Kind::Call(region), args, &[Type::Value(result)]);
        Ok(results[0])
    }

    /// The derivative of a function by its first parameter. It holds no tape, so that whatever it is part of can be pulled back.
    fn derivative(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId], span: Span) -> Lowered<NodeId> {
        let shapes: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let (derived, offset) = match self.derivatives.get(&(f, shapes.clone())) {
            Some(known) => known.clone(),
            None => {
                let derived = crate::deep(|| self.derived(f, &shapes, span))?;
                let offset = self.regions.len() as u32;
                self.adopt(&derived, span)?;
                let made = (Arc::new(derived), offset);
                self.derivatives.insert((f, shapes), made.clone());
                made
            }
        };
        let up = |r: RegionId| RegionId(r.0 + offset);
        let results = copy::inline_with(nest.top(), derived.main(), &derived.regions, args, |b, node, args| {
            Some(b.many(node.kind.renumbered(up), args, &derived.result_types(node.kind)))
        });
        Ok(results[0])
    }

    /// The derivative of a function by its first parameter, as a graph.
    fn derived(&mut self, f: FunId, shapes: &[Shape], span: Span) -> Lowered<Graph> {
        let graph = self.closed(f, shapes, span)?;
        let (of, by) = (graph.outputs()[0], shapes[0]);
        if of.dims().len() + by.dims().len() > 2 {
            return Err(Box::new(slope_diagnostic(&of.to_string(), &by.to_string(), span)));
        }
        slope_of(&graph, span)
    }

    /// A function as a graph of its own.
    fn closed(&mut self, f: FunId, shapes: &[Shape], span: Span) -> Lowered<Graph> {
        let endless = || {
            let message = "this is the derivative of something that takes this derivative itself";
            Box::new(
                Diagnostic::error("endless-derivative", span, message)
                    .help("each call would need a derivative of a higher order than the one before; write the derivative out, or end it"),
            )
        };
        if self.deriving.contains(&f) {
            return Err(endless());
        }
        let anf = self.anf;
        let fun = anf.fun(f);
        self.deriving.push(f);
        let region = self.function(f, shapes, &fun.name)?;
        self.deriving.pop();
        let inputs = fun.locals.iter().zip(shapes).map(|(name, &shape)| GraphInput { name: name.clone(), shape }).collect();
        // The regions it runs, each in its place.
        let mut regions = vec![Region::default(); self.regions.len()];
        let mut open: Vec<RegionId> = region.nodes.iter().flat_map(|n| Graph::children(n.kind)).collect();
        let mut seen = vec![false; self.regions.len()];
        while let Some(r) = open.pop() {
            if std::mem::replace(&mut seen[r.0 as usize], true) {
                continue;
            }
            let Some(run) = &self.regions[r.0 as usize] else { return Err(endless()) };
            open.extend(run.nodes.iter().flat_map(|n| Graph::children(n.kind)));
            regions[r.0 as usize] = run.clone();
        }
        Ok(assemble(regions, region, inputs))
    }

    /// Takes over the regions of a graph; gives the number of its main region.
    fn adopt(&mut self, graph: &Graph, span: Span) -> Lowered<RegionId> {
        let offset = self.regions.len() as u32;
        let up = |r: RegionId| RegionId(r.0 + offset);
        self.regions.extend(graph.regions.iter().cloned().map(|mut region| {
            region.nodes.iter_mut().for_each(|node| node.kind = node.kind.renumbered(up));
            Some(region)
        }));
        self.charge(graph.size(), span)?;
        Ok(up(graph.main))
    }

    /// Where a function is 0 by its first parameter, as a node.
    fn root(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId], starts: usize, span: Span) -> Lowered<NodeId> {
        let all: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let shapes: Vec<Shape> = all[..1].iter().chain(&all[starts..]).copied().collect();
        let key = (f, shapes.clone(), starts);
        let kind = match self.roots.get(&key) {
            Some(&kind) => kind,
            None => {
                let zero = crate::deep(|| self.closed(f, &shapes, span))?;
                let (of, by) = (zero.outputs()[0], shapes[0]);
                if of != by || matches!(by, Shape::Matrix(..)) || starts > 1 && all[..starts].iter().any(|&s| s != Shape::Scalar) {
                    return Err(Box::new(root_diagnostic(&of.to_string(), &by.to_string(), span)));
                }
                let slope = slope_of(&zero, span)?;
                let solve = root::solver(&zero, &slope, starts > 1, span);
                let (solve, zero, slope) = (self.adopt(&solve, span)?, self.adopt(&zero, span)?, self.adopt(&slope, span)?);
                let kind = Kind::Root { solve, zero, slope, starts: starts as u32 };
                self.roots.insert(key, kind);
                kind
            }
        };
        Ok(nest.top().many(kind, args, &[Type::Value(shapes[0])])[0])
    }

    /// A loop as a node.
    fn run_loop(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId]) -> Lowered<NodeId> {
        let span = self.anf.fun(f).span;
        self.loops += 1;
        if self.loops > MOST_LOOPS {
            let message = format!("loops are nested more than {MOST_LOOPS} deep");
            return Err(Box::new(
                Diagnostic::error("limit-nesting", span, message).help("make one loop of several, or a function of the inner ones"),
            ));
        }
        let shapes: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let machine = self.machine(f, &shapes)?;
        let entry = machine.members.iter().position(|&m| m == f).expect("a loop contains its entry");
        let mut body = Nest { levels: vec![Level::new(&self.anf.fun(f).name)] };
        // Carried values first: zeros of the right shape for the parameters of members not entered.
        let mut initial = vec![None; machine.carried.len()];
        if machine.several() {
            initial[0] = Some(nest.top().constant(entry as f64));
        }
        for (slot, &a) in machine.slots[entry].iter().zip(args) {
            if let Some(i) = slot {
                initial[*i] = Some(a);
            }
        }
        let mut operands: Vec<NodeId> =
            initial.into_iter().zip(&machine.carried).map(|(a, &s)| a.unwrap_or_else(|| nest.top().zeros(s))).collect();
        let carried: Vec<NodeId> = machine.carried.iter().map(|&s| body.top().param(Type::Value(s))).collect();
        let mut frames: Vec<Frame> = machine.members.iter().map(|&m| vec![None; self.anf.fun(m).locals.len()]).collect();
        for (frame, slots) in frames.iter_mut().zip(&machine.slots) {
            for (i, slot) in slots.iter().enumerate() {
                frame[i] = Some((
                    0,
                    match slot {
                        Some(c) => carried[*c],
                        None => {
                            // Only a loop of one function has invariants, so its arguments are at hand.
                            operands.push(args[i]);
                            body.top().param(Type::Value(shapes[i]))
                        }
                    },
                ));
            }
        }
        let results = self.branch(&mut body, &mut frames[0].clone(), Branch::States(&frames, 0), Mode::Step(&machine, f))?;
        let level = body.levels.pop().expect("the body");
        self.charge(level.builder.len(), span)?;
        let region = self.add_region(level.builder.finish(results));
        self.loops -= 1;
        let kind = Kind::Loop { body: region, carried: machine.carried.len() as u32, taped: false };
        Ok(nest.top().many(kind, &operands, &[Type::Value(machine.result)])[0])
    }

    fn machine(&mut self, f: FunId, shapes: &[Shape]) -> Lowered<Machine> {
        let members = self.tails.members(f);
        let mut solver = Solver::new(self.anf);
        let (params, result) = solver.group(&members, f, shapes);
        if let Some(e) = solver.errors.first() {
            return Err(Box::new(e.clone()));
        }
        let settled = |t| {
            solver.settled(t).ok_or_else(|| {
                let fun = self.anf.fun(f);
                Box::new(Diagnostic::error("shape-unknown", fun.span, format!("the shapes in the loop `{}` cannot be told", fun.name)))
            })
        };
        let mut carried = Vec::new();
        if members.len() > 1 {
            carried.push(Shape::Scalar);
        }
        let mut slots = Vec::new();
        for (&m, terms) in members.iter().zip(&params) {
            let invariant = if members.len() == 1 { self.invariants(m) } else { vec![false; terms.len()] };
            let mut own = Vec::new();
            for (&t, fixed) in terms.iter().zip(invariant) {
                if fixed {
                    own.push(None);
                } else {
                    own.push(Some(carried.len()));
                    carried.push(settled(t)?);
                }
            }
            slots.push(own);
        }
        let result = settled(result)?;
        Ok(Machine { members, slots, carried, result })
    }

    /// Which parameters of a loop of one function every jump hands on unchanged.
    fn invariants(&self, f: FunId) -> Vec<bool> {
        let mut fixed = vec![true; self.anf.fun(f).params];
        for (id, tail) in self.anf.blocks_of(f) {
            if let Tail::Call(g, args, _) = self.anf.block(id).tail
                && tail
                && g == f
            {
                for (i, a) in self.anf.args(args).iter().enumerate() {
                    fixed[i] &= matches!(a.atom, Atom::Local(l) if l.0 as usize == i);
                }
            }
        }
        fixed
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

    /// What a block gives when it ends with a value.
    fn leave(&mut self, nest: &mut Nest, value: NodeId, mode: Mode<'_>, span: Span) -> Lowered<Vec<NodeId>> {
        match mode {
            Mode::Value => Ok(vec![value]),
            Mode::Step(machine, _) => {
                let found = nest.top().shape(value);
                if found != machine.result {
                    return Err(Box::new(branch_diagnostic(&machine.result.to_string(), &found.to_string(), span)));
                }
                let mut results = vec![nest.top().constant(0.0)];
                results.extend(machine.carried.iter().map(|&s| nest.top().zeros(s)));
                results.push(value);
                Ok(results)
            }
        }
    }

    /// What a block gives when it jumps.
    fn jump(&mut self, nest: &mut Nest, machine: &Machine, g: FunId, args: &[NodeId], span: Span) -> Lowered<Vec<NodeId>> {
        let to = machine.members.iter().position(|&m| m == g).expect("a jump stays in its loop");
        let mut next: Vec<Option<NodeId>> = vec![None; machine.carried.len()];
        if machine.several() {
            next[0] = Some(nest.top().constant(to as f64));
        }
        for (slot, &a) in machine.slots[to].iter().zip(args) {
            if let Some(i) = *slot {
                let (found, wanted) = (nest.top().shape(a), machine.carried[i]);
                if found != wanted {
                    return Err(Box::new(
                        Diagnostic::error(
                            "shape-mismatch",
                            span,
                            format!("a loop variable changes its shape from a {wanted} to a {found}"),
                        )
                        .help("a loop variable keeps one shape; start it with the shape it will have, for instance (zeros n)"),
                    ));
                }
                next[i] = Some(a);
            }
        }
        let mut results = vec![nest.top().constant(1.0)];
        for (value, &shape) in next.into_iter().zip(&machine.carried) {
            results.push(value.unwrap_or_else(|| nest.top().zeros(shape)));
        }
        results.push(nest.top().zeros(machine.result));
        Ok(results)
    }

    fn branch(&mut self, nest: &mut Nest, frame: &mut Frame, branch: Branch<'_>, mode: Mode<'_>) -> Lowered<Vec<NodeId>> {
        match (branch, mode) {
            (Branch::Block(id), _) => self.block(nest, frame, id, mode),
            (Branch::States(frames, i), Mode::Step(machine, _)) => {
                let member = machine.members[i];
                let body = Branch::Block(self.anf.fun(member).body);
                let mode = Mode::Step(machine, member);
                let mut own = frames[i].clone();
                if i + 1 == machine.members.len() {
                    return self.branch(nest, &mut own, body, mode);
                }
                let state = nest.reach(0, NodeId(0));
                let here = nest.top().constant(i as f64);
                let test = nest.top().op(Op::Eq, &[state, here]);
                crate::deep(|| self.choose(nest, &mut own, test, body, Branch::States(frames, i + 1), mode, self.anf.fun(member).span))
            }
            (Branch::States(..), Mode::Value) => unreachable!("states belong to loops"),
        }
    }

    fn choice(&mut self, nest: &mut Nest, frame: &mut Frame, c: Arg, t: Branch<'_>, e: Branch<'_>, mode: Mode<'_>) -> Lowered<Vec<NodeId>> {
        let test = self.arg(nest, frame, c);
        let shape = nest.top().shape(test);
        if shape != Shape::Scalar {
            return Err(Box::new(test_diagnostic(&shape.to_string(), c.span)));
        }
        self.choose(nest, frame, test, t, e, mode, c.span)
    }

    #[allow(clippy::too_many_arguments)]
    fn choose(
        &mut self,
        nest: &mut Nest,
        frame: &mut Frame,
        test: NodeId,
        t: Branch<'_>,
        e: Branch<'_>,
        mode: Mode<'_>,
        span: Span,
    ) -> Lowered<Vec<NodeId>> {
        if let Some(c) = nest.top().constant_value(test) {
            return self.branch(nest, frame, if c != 0.0 { t } else { e }, mode);
        }
        nest.levels.push(Level::new("then"));
        let first = self.branch(nest, frame, t, mode)?;
        let mut yes = nest.levels.pop().expect("the branch");
        nest.levels.push(Level::new("else"));
        let outer = nest.levels.len() - 2;
        for &c in &yes.captures {
            nest.reach(outer, c);
        }
        let second = self.branch(nest, frame, e, mode)?;
        let no = nest.levels.pop().expect("the branch");
        for &c in &no.captures[yes.captures.len()..] {
            let ty = nest.top().ty(c);
            yes.builder.param(ty);
        }
        self.charge(yes.builder.len() + no.builder.len(), span)?;
        let mut types = Vec::new();
        for (&a, &b) in first.iter().zip(&second) {
            let (x, y) = (yes.builder.shape(a), no.builder.shape(b));
            if x != y {
                return Err(Box::new(branch_diagnostic(&x.to_string(), &y.to_string(), span)));
            }
            types.push(Type::Value(x));
        }
        let captures = no.captures;
        let (yes, no) = (self.add_region(yes.builder.finish(first)), self.add_region(no.builder.finish(second)));
        let mut args = vec![test];
        args.extend(captures);
        nest.top().span = span;
        Ok(nest.top().many(Kind::If(yes, no), &args, &types))
    }

    fn application(&mut self, nest: &mut Nest, frame: &Frame, surface: Surface, args: &[Arg], span: Span) -> Lowered<NodeId> {
        let nodes: Vec<NodeId> = args.iter().map(|&a| self.arg(nest, frame, a)).collect();
        let op = surface.op(nodes.len()).expect("the arity is checked");
        let apply = |nest: &mut Nest, nodes: &[NodeId], spans: &[Span]| -> Lowered<NodeId> {
            let row = op.row();
            let b = nest.top();
            if row.shape.is_by_shapes() {
                let shapes: Vec<Shape> = nodes.iter().map(|&n| b.shape(n)).collect();
                if result_shape(row, &shapes).is_err() {
                    let described: Vec<(String, Span)> = shapes.iter().map(|s| s.to_string()).zip(spans.iter().copied()).collect();
                    return Err(Box::new(misfit_diagnostic(op, &described, span)));
                }
            }
            match row.kernel {
                Kernel::Composite(lower) => {
                    lower(b, nodes).map_err(|e| Box::new(Diagnostic::error(e.code, span, e.message).help(format!("usage: {}", row.usage))))
                }
                Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select | Kernel::Tensor(_) => Ok(b.op(op, nodes)),
            }
        };
        let spans: Vec<Span> = args.iter().map(|a| a.span).collect();
        match op.row().arity {
            Arity::Fold(_, identity) => match nodes[..] {
                [] => Ok(nest.top().constant(identity)),
                [x] => Ok(x),
                _ => {
                    let mut value = nodes[0];
                    for i in 1..nodes.len() {
                        value = apply(nest, &[value, nodes[i]], &[spans[0].join(spans[i - 1]), spans[i]])?;
                    }
                    Ok(value)
                }
            },
            Arity::Chain => {
                let mut value = None;
                for i in 1..nodes.len() {
                    let pair = apply(nest, &nodes[i - 1..=i], &spans[i - 1..=i])?;
                    // Both 0 or 1: their product is "and", with every argument computed as R7RS has it.
                    value = Some(match value {
                        None => pair,
                        Some(v) => {
                            let (a, b) = (nest.top().shape(v), nest.top().shape(pair));
                            if a != b && a != Shape::Scalar && b != Shape::Scalar {
                                return Err(Box::new(misfit_diagnostic(op, &[(a.to_string(), span), (b.to_string(), span)], span)));
                            }
                            nest.top().mul(v, pair)
                        }
                    });
                }
                Ok(value.unwrap_or_else(|| nest.top().constant(1.0)))
            }
            Arity::Exactly(_) | Arity::Between(..) | Arity::AtLeast(_) => apply(nest, &nodes, &spans),
        }
    }
}
