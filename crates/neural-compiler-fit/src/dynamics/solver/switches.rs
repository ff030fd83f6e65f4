//! Conditions on time. In: the law of a model; out: for given parameters the times at which its right-hand side changes its form along
//! a lane, and by how much these times move with the parameters.
//!
//! Comparisons, steps (`floor`, `modulo`, …) and kinks (`abs`, `min`, `max`, …) whose arguments depend on time, on parameters and on
//! columns of the data but not on states are copied out of the law into a graph of their own. Each has a class, a number that is
//! constant between the times looked for, and a smooth function whose level is crossed there.
//! Invariants: a class that changes once between two times at which it was computed is found, to the last digit; where the smooth
//! function is affine in time nothing is overlooked, elsewhere what happens between two of the points looked at is.

use super::Lane;
use super::events::Timed;
use crate::model::affine::jointly_affine;
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::{Builder, Graph, GraphInput, Kind, NodeId, Region, Type, assemble};
use neural_compiler::ops::Op;
use neural_compiler::{Shape, diff};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A time, since the origin of the lane, at which the law changes its form: the last time of the old form, the first of the new one (the
/// next number, or nearly), and the derivative of that time by the free shared numbers; empty where it depends on none.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Stop {
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) moves: Vec<f64>,
    /// What happens there besides, in order.
    pub(super) events: Vec<Timed>,
}

/// Stops of a lane at most.
const MOST_STOPS: usize = 10_000;
/// Points looked at between two known stops, where a function of time is not affine.
const LOOKED_AT: usize = 256;
/// Parts an interval is cut into to find a stop in it.
const PARTS: usize = 16;
/// Calls followed into calls.
const DEEPEST: usize = 12;

/// Operations that change their form.
pub(crate) const CONDITIONS: [Op; 18] = [
    Op::Lt,
    Op::Gt,
    Op::Le,
    Op::Ge,
    Op::Eq,
    Op::Min,
    Op::Max,
    Op::Abs,
    Op::Sign,
    Op::Relu,
    Op::Clamp,
    Op::Floor,
    Op::Ceiling,
    Op::Round,
    Op::Truncate,
    Op::Modulo,
    Op::Remainder,
    Op::Quotient,
];

/// The conditions on time of a law.
pub(super) struct Switches {
    /// Inputs: shared inputs, time, forcing. Results: class and level of each condition.
    classes: Engine,
    /// The same with derivatives by free shared inputs, time and forcing.
    slopes: Engine,
    /// Per condition: whether its level is affine in time, and whether it depends on a free number.
    conditions: Vec<(bool, bool)>,
    shared: usize,
    /// Numbers of the free shared inputs: where each begins and how many.
    free: Vec<(usize, usize)>,
    forcing: Vec<Shape>,
    /// Which of its numbers are held from row to row.
    held: Arc<Vec<bool>>,
    by_forcing: bool,
    /// Stops that depend on the ends of a lane alone.
    known: Mutex<HashMap<[u64; 4], Arc<Vec<Stop>>>>,
}

impl Switches {
    /// The conditions of a law whose inputs are states, `shared` inputs (some free), time and forcing; `None` if there are none.
    pub(super) fn new(law: &Graph, shared: &[(Shape, bool)], forcing: &[Shape], held: &Arc<Vec<bool>>) -> Option<Switches> {
        let inputs: Vec<GraphInput> = law.inputs[1..].to_vec();
        let mut finder = Finder { law, b: Builder::new("switches"), timed: HashMap::new(), found: vec![] };
        let params: Vec<NodeId> = inputs.iter().map(|i| finder.b.param(Type::Value(i.shape))).collect();
        finder.timed.extend(params.iter().enumerate().map(|(i, &p)| (p, i >= shared.len())));
        let args: Vec<Option<NodeId>> = std::iter::once(None).chain(params.iter().map(|&p| Some(p))).collect();
        finder.walk(law.main(), &args, 0);
        let found = finder.found;
        if found.is_empty() {
            return None;
        }
        let region = finder.b.finish(found.iter().flat_map(|f| [f.0, f.1]).collect());
        let only = |results: Vec<NodeId>| {
            let mut part = region.clone();
            part.results = results;
            assemble(vec![], part, inputs.clone())
        };
        let uses = |graph: &Graph, wanted: &dyn Fn(usize) -> bool| {
            let main = graph.main();
            main.ids().any(|id| matches!(main.node(id).kind, Kind::Param(p) if wanted(p as usize)) && used(main, id))
        };
        let conditions = found
            .iter()
            .map(|&(class, level)| {
                let both = only(vec![class, level]);
                let affine = !jointly_affine(&only(vec![level]), &[shared.len()]).is_empty();
                (affine, uses(&both, &|p| p < shared.len() && shared[p].1))
            })
            .collect();
        let whole = only(region.results.clone());
        let by_forcing = uses(&whole, &|p| p > shared.len());
        let mut wrt: Vec<usize> = (0..shared.len()).filter(|&i| shared[i].1).collect();
        wrt.extend(shared.len()..inputs.len());
        let slopes = diff::jvp(&whole, &wrt);
        let uniform = |g: &Graph| (0..g.inputs.len()).map(|i| i < shared.len()).collect::<Vec<bool>>();
        let place = |at: &mut usize, len: usize| {
            *at += len;
            Some((*at - len, len))
        };
        let free = shared.iter().filter(|s| s.1).map(|s| s.0.len()).scan(0, place).collect();
        Some(Switches {
            classes: Engine::new(&whole, &uniform(&whole)),
            slopes: Engine::new(&slopes, &uniform(&slopes)),
            conditions,
            shared: shared.len(),
            free,
            forcing: forcing.to_vec(),
            held: held.clone(),
            by_forcing,
            known: Mutex::default(),
        })
    }

    /// Where the law changes its form along a lane, in order.
    pub(super) fn stops(&self, lane: &Lane<'_>, shared: &[&[f64]]) -> Result<Arc<Vec<Stop>>, Unusable> {
        let ends = (lane.times[0], lane.times[lane.times.len() - 1]);
        let fixed = lane.constants.is_none() && !self.by_forcing && self.conditions.iter().all(|c| !c.1);
        let key = [lane.origin, lane.direction, ends.0, ends.1].map(f64::to_bits);
        if fixed && let Some(known) = self.known.lock().expect("no panic holds it").get(&key) {
            return Ok(known.clone());
        }
        let mut search = Search { all: self, lane, shared, workspace: Workspace::new(), stops: vec![] };
        let stops = Arc::new(search.run(ends)?);
        if fixed {
            self.known.lock().expect("no panic holds it").insert(key, stops.clone());
        }
        Ok(stops)
    }
}

/// Whether a node is an argument of another, or a result.
fn used(region: &Region, id: NodeId) -> bool {
    region.results.contains(&id) || region.ids().any(|n| region.args(n).contains(&id))
}

/// Forcing at a time and how it changes there: linear between rows, or held.
fn forcing_at(lane: &Lane<'_>, time: f64, k: usize, held: bool) -> (f64, f64) {
    let last = lane.times.len() - 2;
    let interval = lane.times.partition_point(|t| *t <= time).saturating_sub(1).min(last);
    let (t0, t1) = (lane.times[interval], lane.times[interval + 1]);
    let (u0, u1) = (lane.forcing[interval][k], lane.forcing[interval + 1][k]);
    if held {
        let first = if lane.direction < 0.0 { u1 } else { u0 };
        return (if time >= t1 && lane.direction > 0.0 { u1 } else { first }, 0.0);
    }
    let slope = (u1 - u0) / (t1 - t0);
    (if time >= t1 { u1 } else { u0 + (u1 - u0) * ((time - t0) / (t1 - t0)) }, slope)
}

/// The search along one lane.
struct Search<'a> {
    all: &'a Switches,
    lane: &'a Lane<'a>,
    shared: &'a [&'a [f64]],
    workspace: Workspace<f64>,
    /// Sorted stops, each with the condition that changes.
    stops: Vec<(Stop, usize)>,
}

impl Search<'_> {
    fn run(&mut self, (from, to): (f64, f64)) -> Result<Vec<Stop>, Unusable> {
        for condition in 0..self.all.conditions.len() {
            // Between known stops, and between rows where columns of the data count: there the level is smooth.
            let mut edges: Vec<(f64, f64)> = self.stops.iter().map(|(s, _)| (s.before, s.after)).collect();
            if self.all.by_forcing {
                edges.extend(self.lane.times[1..].iter().map(|&t| (t, t)));
            }
            edges.push((to, to));
            edges.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut start = from;
            for (before, after) in edges {
                if before > start {
                    let looks = if self.all.conditions[condition].0 { 1 } else { LOOKED_AT };
                    self.look(condition, start, before, looks, to - from)?;
                }
                start = start.max(after);
            }
            self.stops.sort_by(|a, b| a.0.before.total_cmp(&b.0.before));
        }
        let mut stops: Vec<Stop> = Vec::new();
        for (stop, condition) in std::mem::take(&mut self.stops) {
            let moves = self.moves(&stop, condition)?;
            match stops.last_mut().filter(|last| last.after >= stop.before) {
                // Several conditions at one time are one stop.
                Some(last) => {
                    let differ = last.moves.iter().zip(&moves).any(|(a, b)| (a - b).abs() > 1e-9 * a.abs().max(b.abs()));
                    if differ || last.moves.is_empty() != moves.is_empty() {
                        return Err(Unusable(format!(
                            "two conditions on time change at time {} at once, which has no derivative by the parameters",
                            self.lane.time(stop.after)
                        )));
                    }
                    last.after = last.after.max(stop.after);
                }
                None => stops.push(Stop { moves, ..stop }),
            }
        }
        Ok(stops)
    }

    /// The classes of a condition at some times since the origin of the lane.
    fn classes(&mut self, condition: usize, times: &[f64]) -> Result<Vec<f64>, Unusable> {
        let mut forces: Vec<Vec<f64>> = Vec::new();
        let mut at = 0;
        for shape in &self.all.forcing {
            forces.push(
                times
                    .iter()
                    .flat_map(|&t| (at..at + shape.len()).map(move |k| (t, k)))
                    .map(|(t, k)| forcing_at(self.lane, t, k, self.all.held[k]).0)
                    .collect(),
            );
            at += shape.len();
        }
        let mut inputs: Vec<Column<'_, f64>> = self.shared[..self.all.shared].iter().map(|v| Column::shared(v)).collect();
        let real: Vec<f64> = times.iter().map(|&t| self.lane.time(t)).collect();
        inputs.push(Column::rows(&real, 1));
        inputs.extend(forces.iter().zip(&self.all.forcing).map(|(f, s)| Column::rows(f, s.len())));
        let mut results = vec![vec![0.0; times.len()]; 2 * self.all.conditions.len()];
        let mut outputs: Vec<&mut [f64]> = results.iter_mut().map(|r| &mut r[..]).collect();
        // What cannot be computed here says so when the law itself is.
        self.all
            .classes
            .run(&mut self.workspace, &inputs, times.len(), &mut outputs, &BatchOptions::default())
            .map_err(|e| Unusable(e.message))?;
        Ok(results.swap_remove(2 * condition))
    }

    /// Looks for changes of a condition between two times, at so many intervals between them.
    fn look(&mut self, condition: usize, from: f64, to: f64, looks: usize, span: f64) -> Result<(), Unusable> {
        let times: Vec<f64> = (0..=looks).map(|k| if k == looks { to } else { from + (to - from) * (k as f64 / looks as f64) }).collect();
        let classes = self.classes(condition, &times)?;
        for k in 0..looks {
            let (lo, hi) = (times[k], times[k + 1]);
            if lo >= hi || classes[k].to_bits() == classes[k + 1].to_bits() {
                continue;
            }
            if hi <= lo.next_up() || hi - lo <= 1e-16 * span {
                if self.stops.len() >= MOST_STOPS {
                    return Err(Unusable(format!(
                        "the right-hand side changes its form more than {MOST_STOPS} times before time {}",
                        self.lane.time(hi)
                    )));
                }
                self.stops.push((Stop { before: lo, after: hi, moves: vec![], events: vec![] }, condition));
            } else {
                self.look(condition, lo, hi, PARTS, span)?;
            }
        }
        Ok(())
    }

    /// By how much a stop moves with the free numbers.
    fn moves(&mut self, stop: &Stop, condition: usize) -> Result<Vec<f64>, Unusable> {
        if !self.all.conditions[condition].1 {
            return Ok(vec![]);
        }
        let own: usize = self.all.free.iter().map(|f| f.1).sum();
        let rows = own + 1;
        let (time, direction) = (stop.after, self.lane.direction);
        // One row per free number, then one for time, along which forcing moves too.
        let mut columns: Vec<(Vec<f64>, usize)> = vec![(vec![self.lane.time(time); rows], 1)];
        let mut tangents: Vec<(Vec<f64>, usize)> = Vec::new();
        for &(first, len) in &self.all.free {
            tangents.push(((0..rows * len).map(|i| if i / len == first + i % len { 1.0 } else { 0.0 }).collect(), len));
        }
        tangents.push(((0..rows).map(|r| if r == own { 1.0 } else { 0.0 }).collect(), 1));
        let mut at = 0;
        for shape in &self.all.forcing {
            let values: Vec<(f64, f64)> = (at..at + shape.len()).map(|k| forcing_at(self.lane, time, k, self.all.held[k])).collect();
            columns.push(((0..rows).flat_map(|_| values.iter().map(|v| v.0)).collect(), shape.len()));
            tangents.push((
                (0..rows).flat_map(|r| values.iter().map(move |v| if r == own { direction * v.1 } else { 0.0 })).collect(),
                shape.len(),
            ));
            at += shape.len();
        }
        let mut inputs: Vec<Column<'_, f64>> = self.shared[..self.all.shared].iter().map(|v| Column::shared(v)).collect();
        inputs.extend(columns.iter().chain(&tangents).map(|(c, len)| Column::rows(c, *len)));
        let count = 2 * self.all.conditions.len();
        let mut results = vec![vec![0.0; rows]; 2 * count];
        let mut outputs: Vec<&mut [f64]> = results.iter_mut().map(|r| &mut r[..]).collect();
        self.all.slopes.run(&mut self.workspace, &inputs, rows, &mut outputs, &BatchOptions::default()).map_err(|e| Unusable(e.message))?;
        let level = &results[count + 2 * condition + 1];
        let moves: Vec<f64> = level[..own].iter().map(|by| -by / level[own]).collect();
        if moves.iter().all(|m| m.is_finite()) {
            return Ok(moves);
        }
        Err(Unusable(format!(
            "a condition on time changes at time {}, and that time has no derivative by the parameters",
            self.lane.time(time)
        )))
    }
}

/// Copies what depends on time alone out of a law.
struct Finder<'a> {
    law: &'a Graph,
    b: Builder,
    /// Which of the nodes copied depend on time or forcing.
    timed: HashMap<NodeId, bool>,
    /// Class and level of each condition.
    found: Vec<(NodeId, NodeId)>,
}

impl Finder<'_> {
    /// Copies a region; `args` are the copies of its arguments, where they do not depend on states. Gives those of its results.
    fn walk(&mut self, region: &Region, args: &[Option<NodeId>], depth: usize) -> Vec<Option<NodeId>> {
        let mut map: Vec<Option<NodeId>> = Vec::with_capacity(region.nodes.len());
        let mut many: HashMap<NodeId, Vec<Option<NodeId>>> = HashMap::new();
        for id in region.ids() {
            let node = *region.node(id);
            let own: Vec<Option<NodeId>> = region.args(id).iter().map(|a| map[a.0 as usize]).collect();
            let copy = match node.kind {
                Kind::Param(p) => args[p as usize],
                Kind::Const(bits) => Some(self.b.constant(f64::from_bits(bits))),
                Kind::Op(op, attr) => {
                    own.iter().copied().collect::<Option<Vec<NodeId>>>().map(|own| self.operation(op, attr, node.ty.shape(), &own))
                }
                Kind::Proj(i) => many.get(&region.args(id)[0]).and_then(|m| m.get(i as usize).copied().flatten()),
                Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => {
                    let results = self.control(node.kind, &own, depth);
                    many.insert(id, results);
                    None
                }
                Kind::Pack | Kind::Unpack(_) => None,
            };
            map.push(copy);
        }
        region.results.iter().map(|r| map[r.0 as usize]).collect()
    }

    fn control(&mut self, kind: Kind, args: &[Option<NodeId>], depth: usize) -> Vec<Option<NodeId>> {
        if depth >= DEEPEST {
            return vec![];
        }
        let law = self.law;
        match kind {
            Kind::If(yes, no) => {
                let (y, n) = (self.walk(law.region(yes), &args[1..], depth + 1), self.walk(law.region(no), &args[1..], depth + 1));
                let mut choose = |(y, n): (Option<NodeId>, Option<NodeId>)| match (args[0], y, n) {
                    (Some(c), Some(y), Some(n)) if self.b.shape(y) == self.b.shape(n) => {
                        let shape = self.b.shape(y);
                        let all = [c, y, n];
                        let timed = all.iter().any(|a| self.timed.get(a) == Some(&true));
                        let made = self.b.given(Op::Select, 0, shape, &all);
                        self.timed.insert(made, timed);
                        Some(made)
                    }
                    _ => None,
                };
                y.into_iter().zip(n).map(&mut choose).collect()
            }
            Kind::Call(f) => self.walk(law.region(f), args, depth + 1),
            Kind::Loop { body, carried, .. } => {
                let known: Vec<Option<NodeId>> = args.iter().enumerate().map(|(i, a)| a.filter(|_| i >= carried as usize)).collect();
                self.walk(law.region(body), &known, depth + 1);
                vec![]
            }
            _ => vec![],
        }
    }

    fn operation(&mut self, op: Op, attr: u32, shape: Shape, args: &[NodeId]) -> NodeId {
        let timed = args.iter().any(|a| self.timed.get(a) == Some(&true));
        let made = self.b.given(op, attr, shape, args);
        let timed = timed && self.b.constant_value(made).is_none();
        self.timed.insert(made, timed);
        if timed && CONDITIONS.contains(&op) {
            for element in 0..shape.len() {
                let parts: Vec<NodeId> = args.iter().map(|&a| self.element(a, element)).collect();
                self.condition(op, &parts);
            }
        }
        made
    }

    /// An element of a value; a scalar is that of all.
    fn element(&mut self, value: NodeId, element: usize) -> NodeId {
        let len = self.b.shape(value).len();
        if len == 1 { value } else { self.b.given(Op::Cut, element.min(len - 1) as u32, Shape::Scalar, &[value]) }
    }

    /// Notes the condition an elementwise operation on scalars stands for, if it does.
    fn condition(&mut self, op: Op, args: &[NodeId]) {
        if args.iter().any(|&a| self.b.shape(a) != Shape::Scalar) {
            return;
        }
        let b = &mut self.b;
        let mut note = |class: NodeId, level: NodeId| {
            if !self.found.contains(&(class, level)) {
                self.found.push((class, level));
            }
        };
        match op {
            Op::Lt | Op::Gt | Op::Le | Op::Ge => {
                let level = b.sub(args[0], args[1]);
                note(b.op(op, args), level);
            }
            Op::Eq | Op::Min | Op::Max => {
                let level = b.sub(args[0], args[1]);
                note(b.op(Op::Sign, &[level]), level);
            }
            Op::Abs | Op::Sign | Op::Relu => note(b.op(Op::Sign, &args[..1]), args[0]),
            Op::Clamp => {
                for end in &args[1..] {
                    let level = b.sub(args[0], *end);
                    note(b.op(Op::Sign, &[level]), level);
                }
            }
            Op::Floor | Op::Ceiling | Op::Round | Op::Truncate => note(b.op(op, args), args[0]),
            // A remainder, or a quotient.
            _ => {
                let level = b.div(args[0], args[1]);
                note(b.op(if op == Op::Modulo { Op::Floor } else { Op::Truncate }, &[level]), level);
            }
        }
    }
}
