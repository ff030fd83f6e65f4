//! A graph as statements. In: a verified graph; out: functions made of assignments, branches, loops and calls, for languages that have
//! these.
//!
//! A region that one node runs becomes a block where it is run, its parameters standing for the node's arguments; one that is called, or
//! run from several places, becomes a function. Scalar operations used once become part of the expression that uses them.
//! Invariants: a variable is set before it is read, and only once, apart from those a loop carries; whole values and records are named by
//! variables, never by expressions; what is inside a block is read nowhere else.

use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::ops::Op;
use crate::shape::Shape;
use crate::source::Span;

/// A variable of a function, by its number.
pub(super) type Var = usize;

/// A scalar computed from others, or the name of a whole value or record.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Var(Var),
    Constant(f64),
    /// An elementwise operation on scalars.
    Apply(Op, Vec<Expr>),
}

impl Expr {
    /// Operations in it.
    fn size(&self) -> usize {
        match self {
            Expr::Var(_) | Expr::Constant(_) => 0,
            Expr::Apply(_, args) => 1 + args.iter().map(Expr::size).sum::<usize>(),
        }
    }

    /// Whether it reads a variable.
    pub(super) fn reads(&self, var: Var) -> bool {
        match self {
            Expr::Var(v) => *v == var,
            Expr::Constant(_) => false,
            Expr::Apply(_, args) => args.iter().any(|a| a.reads(var)),
        }
    }
}

/// A new value for a variable that is there.
pub(super) type Update = (Var, Expr);

/// What a loop stores for the way back.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// The record that names the last round.
    pub(super) record: Var,
    /// The carried values, as they are at the start of a round.
    pub(super) values: Vec<Var>,
    /// The record the round itself makes.
    pub(super) own: Option<Var>,
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    /// Makes a variable for a scalar.
    Let(Var, Expr),
    /// Makes a variable for the result of an operation with its attribute: elementwise on whole values, or of a kernel.
    Operation { to: Var, op: Op, attribute: u32, args: Vec<Expr> },
    /// Makes a variable that a block inside sets.
    Declare(Var),
    /// Sets a variable.
    Set(Var, Expr),
    /// The first block unless the test is 0, else the second.
    If { test: Expr, yes: Vec<Statement>, no: Vec<Statement> },
    /// Rounds until `proceed` is 0; then `leave` is set, else `next`, all at once.
    Loop { body: Vec<Statement>, proceed: Expr, leave: Vec<Update>, next: Vec<Update>, stored: Option<Stored> },
    /// A round for each that was stored, the last first.
    Back { record: Var, values: Vec<Var>, own: Option<Var>, body: Vec<Statement>, next: Vec<Update> },
    /// Runs a function; `counted`: as a call of the program, not as a block that several places share.
    Call { function: usize, args: Vec<Expr>, results: Vec<Var>, counted: bool },
    /// Makes a record.
    Pack { to: Var, args: Vec<Expr> },
    /// Makes a variable for one value of a record.
    Unpack { to: Var, from: Var, index: u32 },
}

/// A function.
#[derive(Clone, Debug, Default)]
pub(super) struct Function {
    /// For people.
    pub(super) name: String,
    /// Types of all variables.
    pub(super) vars: Vec<Type>,
    /// The first variables.
    pub(super) params: usize,
    pub(super) body: Vec<Statement>,
    pub(super) results: Vec<Expr>,
    /// Types of the results.
    pub(super) result_types: Vec<Type>,
}

/// A program: the main function is the first.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) functions: Vec<Function>,
    /// Every operation it applies, with the shapes of its arguments and where it stands.
    pub(super) applied: Vec<(Op, Vec<Shape>, Span)>,
}

impl Code {
    /// Whether a function comes back to itself.
    pub(super) fn recurses(&self) -> bool {
        let calls: Vec<Vec<usize>> = self.functions.iter().map(|f| called(&f.body)).collect();
        // Functions that call none but those known to end do so too.
        let mut ends = vec![false; calls.len()];
        while let Some(k) = (0..calls.len()).find(|&k| !ends[k] && calls[k].iter().all(|&c| ends[c])) {
            ends[k] = true;
        }
        ends.contains(&false)
    }

    /// Whether something is stored for a way back.
    pub(super) fn has_records(&self) -> bool {
        self.functions.iter().any(|f| f.vars.contains(&Type::Record))
    }
}

impl Function {
    /// Whether anything reads a variable.
    pub(super) fn reads(&self, var: Var) -> bool {
        self.read()[var]
    }

    /// Which variables are read.
    pub(super) fn read(&self) -> Vec<bool> {
        let mut read = vec![false; self.vars.len()];
        self.results.iter().for_each(|e| mark(e, &mut read));
        mark_all(&self.body, &mut read);
        read
    }

    /// Drops what nobody reads and what cannot fail: results of branches and loops that no node asked for, and what they were made of.
    fn prune(&mut self) {
        loop {
            let read = self.read();
            let before = std::mem::take(&mut self.body);
            let (body, dropped) = kept(before, &read);
            self.body = body;
            if dropped == 0 {
                return;
            }
        }
    }
}

impl Function {
    /// Drops declarations of variables that nobody reads and nothing sets any more.
    fn undeclare(&mut self) {
        let mut used = self.read();
        set_somewhere(&self.body, &mut used);
        declared(&mut self.body, &used);
    }
}

fn set_somewhere(statements: &[Statement], used: &mut [bool]) {
    crate::deep(|| {
        for statement in statements {
            match statement {
                Statement::Set(v, _) => used[*v] = true,
                Statement::Call { results, .. } => results.iter().for_each(|v| used[*v] = true),
                Statement::If { yes, no, .. } => {
                    set_somewhere(yes, used);
                    set_somewhere(no, used);
                }
                Statement::Loop { body, leave, next, .. } => {
                    set_somewhere(body, used);
                    leave.iter().chain(next).for_each(|(v, _)| used[*v] = true);
                }
                Statement::Back { body, next, .. } => {
                    set_somewhere(body, used);
                    next.iter().for_each(|(v, _)| used[*v] = true);
                }
                Statement::Let(..)
                | Statement::Operation { .. }
                | Statement::Declare(_)
                | Statement::Pack { .. }
                | Statement::Unpack { .. } => {}
            }
        }
    });
}

fn declared(statements: &mut Vec<Statement>, used: &[bool]) {
    crate::deep(|| {
        statements.retain(|s| !matches!(s, Statement::Declare(v) if !used[*v]));
        for statement in statements {
            match statement {
                Statement::If { yes, no, .. } => {
                    declared(yes, used);
                    declared(no, used);
                }
                Statement::Loop { body, .. } | Statement::Back { body, .. } => declared(body, used),
                Statement::Let(..)
                | Statement::Operation { .. }
                | Statement::Declare(_)
                | Statement::Set(..)
                | Statement::Call { .. }
                | Statement::Pack { .. }
                | Statement::Unpack { .. } => {}
            }
        }
    });
}

fn mark(e: &Expr, read: &mut [bool]) {
    match e {
        Expr::Var(v) => read[*v] = true,
        Expr::Constant(_) => {}
        Expr::Apply(_, args) => args.iter().for_each(|a| mark(a, read)),
    }
}

fn mark_all(statements: &[Statement], read: &mut [bool]) {
    crate::deep(|| {
        for statement in statements {
            match statement {
                // What a loop carries only to carry it is read by nobody, but set before its first round.
                Statement::Let(_, e) | Statement::Set(_, e) => mark(e, read),
                Statement::Operation { args, .. } | Statement::Call { args, .. } | Statement::Pack { args, .. } => {
                    args.iter().for_each(|e| mark(e, read))
                }
                Statement::Declare(_) => {}
                Statement::If { test, yes, no } => {
                    mark(test, read);
                    mark_all(yes, read);
                    mark_all(no, read);
                }
                Statement::Loop { body, proceed, leave, next, stored } => {
                    mark(proceed, read);
                    mark_all(body, read);
                    leave.iter().chain(next).for_each(|(_, e)| mark(e, read));
                    if let Some(s) = stored {
                        s.values.iter().chain(&s.own).chain([&s.record]).for_each(|v| read[*v] = true);
                    }
                }
                Statement::Back { record, body, next, .. } => {
                    read[*record] = true;
                    mark_all(body, read);
                    next.iter().for_each(|(_, e)| mark(e, read));
                }
                Statement::Unpack { from, .. } => read[*from] = true,
            }
        }
    });
}

/// The statements without those whose result nobody reads, and how many things were dropped.
fn kept(statements: Vec<Statement>, read: &[bool]) -> (Vec<Statement>, usize) {
    crate::deep(|| {
        let mut dropped = 0;
        let mut out = Vec::with_capacity(statements.len());
        for statement in statements {
            let needed = match &statement {
                Statement::Let(v, _) | Statement::Set(v, _) | Statement::Pack { to: v, .. } | Statement::Unpack { to: v, .. } => read[*v],
                // A computed index may be out of range, which ends the run.
                Statement::Operation { to, op, .. } => read[*to] || matches!(op, Op::CutAt | Op::PlaceAt),
                Statement::Declare(_) | Statement::If { .. } | Statement::Loop { .. } | Statement::Back { .. } | Statement::Call { .. } => {
                    true
                }
            };
            if !needed {
                dropped += 1;
                continue;
            }
            let mut inner = |block: Vec<Statement>| {
                let (block, less) = kept(block, read);
                dropped += less;
                block
            };
            out.push(match statement {
                Statement::If { test, yes, no } => Statement::If { test, yes: inner(yes), no: inner(no) },
                Statement::Loop { body, proceed, mut leave, mut next, stored } => {
                    let body = inner(body);
                    let all = leave.len() + next.len();
                    leave.retain(|(v, _)| read[*v]);
                    next.retain(|(v, _)| read[*v]);
                    dropped += all - leave.len() - next.len();
                    Statement::Loop { body, proceed, leave, next, stored }
                }
                Statement::Back { record, values, own, body, next } => Statement::Back { record, values, own, body: inner(body), next },
                other => other,
            });
        }
        (out, dropped)
    })
}

/// Operations an expression may have.
const LONGEST: usize = 8;

/// The functions some statements call.
fn called(statements: &[Statement]) -> Vec<usize> {
    crate::deep(|| {
        let inside = |s: &Statement| match s {
            Statement::Call { function, .. } => vec![*function],
            Statement::If { yes, no, .. } => [called(yes), called(no)].concat(),
            Statement::Loop { body, .. } | Statement::Back { body, .. } => called(body),
            Statement::Let(..)
            | Statement::Operation { .. }
            | Statement::Declare(_)
            | Statement::Set(..)
            | Statement::Pack { .. }
            | Statement::Unpack { .. } => Vec::new(),
        };
        statements.iter().flat_map(inside).collect()
    })
}

/// The statements of a graph.
pub(super) fn code(graph: &Graph) -> Code {
    let mut uses = vec![0usize; graph.regions.len()];
    for node in graph.regions.iter().flat_map(|r| &r.nodes) {
        // A called region is a function, however often it is called.
        let weight = if matches!(node.kind, Kind::Call(_) | Kind::Root { .. }) { 2 } else { 1 };
        Graph::runs(node.kind).into_iter().for_each(|c| uses[c.0 as usize] += weight);
    }
    let mut writer = Writer { graph, uses, function_of: vec![None; graph.regions.len()], pending: Vec::new(), applied: Vec::new() };
    let mut functions = vec![writer.function(graph.main)];
    let mut next = 0;
    while next < writer.pending.len() {
        functions.push(writer.function(writer.pending[next]));
        next += 1;
    }
    Code { functions, applied: writer.applied }
}

/// What a node of a region is, while the region is written.
#[derive(Clone)]
enum Known {
    Nothing,
    One(Expr),
    Many(Vec<Var>),
}

struct Writer<'g> {
    graph: &'g Graph,
    /// How often each region is run.
    uses: Vec<usize>,
    function_of: Vec<Option<usize>>,
    /// Regions that become functions, in the order of their numbers, the main one aside.
    pending: Vec<RegionId>,
    applied: Vec<(Op, Vec<Shape>, Span)>,
}

/// A block as it is written: where its statements go, and what its nodes are.
struct Scene<'f> {
    function: &'f mut Function,
    block: Vec<Statement>,
}

impl Scene<'_> {
    fn var(&mut self, ty: Type) -> Var {
        self.function.vars.push(ty);
        self.function.vars.len() - 1
    }

    fn declare(&mut self, ty: Type) -> Var {
        let var = self.var(ty);
        self.block.push(Statement::Declare(var));
        var
    }

    fn inner(&mut self) -> Scene<'_> {
        Scene { function: &mut *self.function, block: Vec::new() }
    }
}

impl Writer<'_> {
    fn function(&mut self, id: RegionId) -> Function {
        let region = self.graph.region(id);
        let mut function = Function {
            name: region.name.clone(),
            vars: region.params.clone(),
            params: region.params.len(),
            body: Vec::new(),
            results: Vec::new(),
            result_types: region.result_types(),
        };
        let mut scene = Scene { function: &mut function, block: Vec::new() };
        let args: Vec<Expr> = (0..region.params.len()).map(Expr::Var).collect();
        let results = self.block(region, &args, &mut scene);
        let body = scene.block;
        function.body = body;
        function.results = results;
        function.prune();
        function.undeclare();
        function
    }

    /// The number of the function a region is, if it is to be one.
    fn shared(&mut self, id: RegionId) -> Option<usize> {
        if self.uses[id.0 as usize] < 2 {
            return None;
        }
        let pending = &mut self.pending;
        Some(*self.function_of[id.0 as usize].get_or_insert_with(|| {
            pending.push(id);
            pending.len()
        }))
    }

    /// Runs a region in a block of its own or as a function; its results.
    fn run(&mut self, id: RegionId, args: &[Expr], scene: &mut Scene<'_>) -> Vec<Expr> {
        match self.shared(id) {
            Some(function) => self.call(function, id, args, scene, false).into_iter().map(Expr::Var).collect(),
            None => crate::deep(|| self.block(self.graph.region(id), args, scene)),
        }
    }

    fn call(&mut self, function: usize, id: RegionId, args: &[Expr], scene: &mut Scene<'_>, counted: bool) -> Vec<Var> {
        let results: Vec<Var> = self.graph.region(id).result_types().into_iter().map(|ty| scene.declare(ty)).collect();
        scene.block.push(Statement::Call { function, args: args.to_vec(), results: results.clone(), counted });
        results
    }

    fn block(&mut self, region: &Region, params: &[Expr], scene: &mut Scene<'_>) -> Vec<Expr> {
        let mut users = vec![0usize; region.nodes.len()];
        region.ids().flat_map(|id| region.args(id)).chain(&region.results).for_each(|a| users[a.0 as usize] += 1);
        let mut known = vec![Known::Nothing; region.nodes.len()];
        for id in region.ids() {
            let node = region.node(id);
            known[id.0 as usize] = match node.kind {
                Kind::Param(p) => Known::One(params[p as usize].clone()),
                Kind::Const(bits) => Known::One(Expr::Constant(f64::from_bits(bits))),
                Kind::Proj(i) => match &known[region.args(id)[0].0 as usize] {
                    Known::Many(vars) => Known::One(Expr::Var(vars[i as usize])),
                    Known::Nothing | Known::One(_) => unreachable!("the verifier lets only several results be taken apart"),
                },
                Kind::Op(op, attribute) => {
                    let shapes = region.args(id).iter().map(|&a| region.shape(a)).collect();
                    self.applied.push((op, shapes, node.span));
                    let args: Vec<Expr> = region.args(id).iter().map(|&a| one(&known, a)).collect();
                    if node.ty == Type::Value(Shape::Scalar) && op.row().is_elementwise() {
                        let whole = Expr::Apply(op, args);
                        if users[id.0 as usize] == 1 && whole.size() < LONGEST {
                            Known::One(whole)
                        } else {
                            Known::One(named(whole, scene))
                        }
                    } else {
                        let args = args.into_iter().map(|a| named(a, scene)).collect();
                        let to = scene.var(node.ty);
                        scene.block.push(Statement::Operation { to, op, attribute, args });
                        Known::One(Expr::Var(to))
                    }
                }
                Kind::Pack => {
                    let args = region.args(id).iter().map(|&a| one(&known, a)).collect();
                    let to = scene.var(Type::Record);
                    scene.block.push(Statement::Pack { to, args });
                    Known::One(Expr::Var(to))
                }
                Kind::Unpack(index) => {
                    let from = variable(&known, region.args(id)[0]);
                    let to = scene.var(node.ty);
                    scene.block.push(Statement::Unpack { to, from, index });
                    Known::One(Expr::Var(to))
                }
                Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => {
                    // What a block or function is given has a name, so that nothing is computed twice, or in every round.
                    let args: Vec<Expr> = region.args(id).iter().map(|&a| named(one(&known, a), scene)).collect();
                    region.args(id).iter().zip(&args).for_each(|(a, e)| known[a.0 as usize] = Known::One(e.clone()));
                    Known::Many(self.control(node.kind, args, scene))
                }
            };
        }
        region.results.iter().map(|&r| one(&known, r)).collect()
    }

    fn control(&mut self, kind: Kind, args: Vec<Expr>, scene: &mut Scene<'_>) -> Vec<Var> {
        let types = self.graph.result_types(kind);
        match kind {
            Kind::Call(f) | Kind::Root { solve: f, .. } => {
                let function = self.shared(f).expect("a called region is a function");
                self.call(function, f, &args, scene, true)
            }
            Kind::If(yes, no) => {
                let results: Vec<Var> = types.into_iter().map(|ty| scene.declare(ty)).collect();
                let mut side = |id: RegionId, scene: &mut Scene<'_>| {
                    let mut inner = scene.inner();
                    let values = self.run(id, &args[1..], &mut inner);
                    inner.block.extend(results.iter().zip(values).map(|(&r, v)| Statement::Set(r, v)));
                    inner.block
                };
                let (yes, no) = (side(yes, scene), side(no, scene));
                scene.block.push(Statement::If { test: args[0].clone(), yes, no });
                results
            }
            Kind::Loop { body, carried, taped } => {
                let carried = carried as usize;
                let results: Vec<Var> = types.into_iter().map(|ty| scene.declare(ty)).collect();
                let (vars, params) = carry(&args, carried, self.graph.region(body), 0, scene);
                let mut inner = scene.inner();
                let mut values = self.run(body, &params, &mut inner);
                // The record of a round goes into that of the loop.
                let own = match values.last() {
                    Some(Expr::Var(v)) if taped && inner.function.vars[*v] == Type::Record => Some(*v),
                    _ => None,
                };
                if own.is_some() {
                    values.pop();
                }
                let body = inner.block;
                let leave: Vec<Update> = results.iter().copied().zip(values.drain(1 + carried..)).collect();
                let next: Vec<Update> = vars.iter().copied().zip(values.drain(1..)).filter(changed).collect();
                let stored = taped.then(|| Stored { record: results[results.len() - 1], values: vars, own });
                scene.block.push(Statement::Loop { body, proceed: values.remove(0), leave, next, stored });
                results
            }
            Kind::Back { body, stored, carried } => {
                let (stored, carried) = (stored as usize, carried as usize);
                let region = self.graph.region(body);
                let (vars, rest) = carry(&args[1..], carried, region, stored, scene);
                let fresh: Vec<Var> = region.params[..stored].iter().map(|&ty| scene.var(ty)).collect();
                let params: Vec<Expr> = fresh.iter().map(|&v| Expr::Var(v)).chain(rest).collect();
                let mut inner = scene.inner();
                let values = self.run(body, &params, &mut inner);
                let body = inner.block;
                let next: Vec<Update> = vars.iter().copied().zip(values).filter(changed).collect();
                let is_record = |v: &&Var| scene.function.vars[**v] == Type::Record;
                let own = fresh.iter().find(is_record).copied();
                let values = fresh.iter().filter(|v| !is_record(v)).copied().collect();
                let Expr::Var(record) = args[0] else { unreachable!("a record has a name") };
                scene.block.push(Statement::Back { record, values, own, body, next });
                vars
            }
            Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => {
                unreachable!("not a node that runs a region")
            }
        }
    }
}

/// Variables for what a loop carries, set to what it starts with; and all that its body is given, behind the parameters `from`.
fn carry(args: &[Expr], carried: usize, body: &Region, from: usize, scene: &mut Scene<'_>) -> (Vec<Var>, Vec<Expr>) {
    let vars: Vec<Var> = body.params[from..from + carried].iter().map(|&ty| scene.declare(ty)).collect();
    scene.block.extend(vars.iter().zip(args).map(|(&v, a)| Statement::Set(v, a.clone())));
    let params = vars.iter().map(|&v| Expr::Var(v)).chain(args[carried..].iter().cloned()).collect();
    (vars, params)
}

fn changed((var, value): &Update) -> bool {
    !matches!(value, Expr::Var(v) if v == var)
}

fn one(known: &[Known], id: NodeId) -> Expr {
    match &known[id.0 as usize] {
        Known::One(e) => e.clone(),
        Known::Nothing | Known::Many(_) => unreachable!("arguments come first and are one value each"),
    }
}

fn variable(known: &[Known], id: NodeId) -> Var {
    match one(known, id) {
        Expr::Var(v) => v,
        Expr::Constant(_) | Expr::Apply(..) => unreachable!("records have names"),
    }
}

/// The same value as a variable or constant.
fn named(value: Expr, scene: &mut Scene<'_>) -> Expr {
    match value {
        Expr::Var(_) | Expr::Constant(_) => value,
        Expr::Apply(..) => {
            let to = scene.var(Type::Value(Shape::Scalar));
            scene.block.push(Statement::Let(to, value));
            Expr::Var(to)
        }
    }
}

/// Variables from outside that a block sets.
pub(super) fn outer_sets(block: &[Statement]) -> Vec<Var> {
    let own: Vec<Var> = block.iter().filter_map(|s| if let Statement::Declare(v) = s { Some(*v) } else { None }).collect();
    block.iter().filter_map(|s| if let Statement::Set(v, _) = s { Some(*v) } else { None }).filter(|v| !own.contains(v)).collect()
}
