//! Conditions on time. In: the law of a model and the levels of its events; out: for given parameters the times at which its right-hand
//! side, or the condition of an event, changes its form along a lane, and by how much these times move with the parameters.
//!
//! Comparisons, steps (`floor`, `modulo`, …) and kinks (`abs`, `min`, `max`, …) whose arguments depend on time, on parameters and on
//! columns of the data but not on states are copied out of the law into a graph of their own. Each has a class, a number that is
//! constant between the times looked for, and a smooth function whose level is crossed there.
//! Invariants: a class that changes once between two times at which it was computed is found, to the last digit; nothing is overlooked
//! where the level is affine in time, and elsewhere where `isolate` settles it, else the lane has a doubt that is told.

use super::Lane;
use super::conditions::Finder;
use super::events::Timed;
use super::isolate::{BOXES, BOXES_MORE, BOXES_REPEATED, Piece, Smooth, moving};
use crate::model::affine::jointly_affine;
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::{Graph, GraphInput, Kind, NodeId, Region, Type, assemble};
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
/// Points looked at over a stretch of which nothing can be proved, and over a part of it at least.
const LOOKED_AT: usize = 256;
const LEAST_LOOKS: f64 = 4.0;
/// Parts an interval is cut into to find a stop in it.
const PARTS: usize = 16;

/// A condition on time.
pub(super) struct Condition {
    /// What bounds its level between its edges; none where that is affine in time.
    pub(super) smooth: Option<Smooth>,
    /// It depends on a free number, on any constant.
    free: bool,
    constant: bool,
    /// It depends on columns of the data.
    by_forcing: bool,
    /// It is one of the law, not of events alone: where it changes slopes may jump.
    of_law: bool,
}

/// Where a lane stops, and between which times nothing was proved.
type Known = (Arc<Vec<Stop>>, Option<(f64, f64)>);

/// The conditions on time of a law and its events.
pub(super) struct Switches {
    /// Inputs: shared inputs, time, forcing. Results: class and level of each condition.
    classes: Engine,
    /// The same with derivatives by free shared inputs, time and forcing.
    slopes: Engine,
    pub(super) conditions: Vec<Condition>,
    pub(super) shared: usize,
    /// Numbers of the free shared inputs: where each begins and how many.
    free: Vec<(usize, usize)>,
    pub(super) forcing: Vec<Shape>,
    /// Which of its numbers are held from row to row.
    pub(super) held: Arc<Vec<bool>>,
    /// Stops that depend on the ends of a lane alone.
    known: Mutex<HashMap<[u64; 4], Known>>,
    /// Between which times nothing was proved since that was last asked for: something narrow may have been overlooked.
    doubt: Mutex<Option<(f64, f64)>>,
}

impl Switches {
    /// The conditions of a law whose inputs are states, `shared` inputs (some free), time and forcing, and of the levels of its events,
    /// which has the same; `None` if there are none.
    pub(super) fn new(
        law: &Graph,
        levels: Option<&Graph>,
        shared: &[(Shape, bool)],
        forcing: &[Shape],
        held: &Arc<Vec<bool>>,
    ) -> Option<Switches> {
        let inputs: Vec<GraphInput> = law.inputs[1..].to_vec();
        let mut finder = Finder::new(law);
        let params: Vec<NodeId> = inputs.iter().map(|i| finder.b.param(Type::Value(i.shape))).collect();
        finder.timed.extend(params.iter().enumerate().map(|(i, &p)| (p, i >= shared.len())));
        let args: Vec<Option<NodeId>> = std::iter::once(None).chain(params.iter().map(|&p| Some(p))).collect();
        finder.walk(law.main(), &args, 0);
        let of_law = finder.found.len();
        if let Some(levels) = levels {
            finder.law = levels;
            finder.walk(levels.main(), &args, 0);
        }
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
        let moving = moving(shared.len(), forcing, held, &inputs);
        let condition = |(k, &(class, level)): (usize, &(NodeId, NodeId))| {
            let (both, level) = (only(vec![class, level]), only(vec![level]));
            // Columns move along lines: jointly with them it is affine in time, or not.
            let affine = jointly_affine(&level, &moving).len() == moving.len();
            let (free, by_forcing) = (uses(&both, &|p| p < shared.len() && shared[p].1), uses(&both, &|p| p > shared.len()));
            let constant = uses(&both, &|p| p < shared.len());
            Condition { smooth: (!affine).then(|| Smooth::new(both, &level, &moving)), free, constant, by_forcing, of_law: k < of_law }
        };
        let conditions = found.iter().enumerate().map(condition).collect();
        let whole = only(region.results.clone());
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
            known: Mutex::default(),
            doubt: Mutex::default(),
        })
    }

    /// Where the law changes its form along a lane, in order.
    pub(super) fn stops(&self, lane: &Lane<'_>, shared: &[&[f64]]) -> Result<Arc<Vec<Stop>>, Unusable> {
        let ends = (lane.times[0], lane.times[lane.times.len() - 1]);
        let moves = |c: &Condition| if lane.constants.is_some() { c.constant } else { c.free };
        let fixed = self.conditions.iter().all(|c| !moves(c) && !c.by_forcing);
        let key = [lane.origin, lane.direction, ends.0, ends.1].map(f64::to_bits);
        if fixed && let Some(known) = self.known.lock().expect("no panic holds it").get(&key) {
            self.note(known.1);
            return Ok(known.0.clone());
        }
        let mut search = Search { all: self, lane, shared, workspace: Workspace::new(), stops: vec![], doubt: None };
        let stops = Arc::new(search.run(ends)?);
        // Backward in time the end comes first.
        let doubt = search.doubt.map(|(from, to)| (lane.time(from), lane.time(to))).map(|(a, b)| (a.min(b), a.max(b)));
        self.note(doubt);
        if fixed {
            self.known.lock().expect("no panic holds it").insert(key, (stops.clone(), doubt));
        }
        Ok(stops)
    }

    /// Lanes are searched by several threads: what is kept does not depend on which comes last.
    fn note(&self, doubt: Option<(f64, f64)>) {
        let mut known = self.doubt.lock().expect("no panic holds it");
        *known = known.into_iter().chain(doubt).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    }

    /// What may have been overlooked since the last time this was asked.
    pub(super) fn doubt(&self) -> Option<String> {
        let (from, to) = self.doubt.lock().expect("no panic holds it").take()?;
        Some(format!(
            "between the times {from} and {to} nothing proves where a condition on time changes: it was looked at in {LOOKED_AT} places of \
             the run at least, and what holds between two of them alone is overlooked"
        ))
    }
}

/// Whether a node is an argument of another, or a result.
fn used(region: &Region, id: NodeId) -> bool {
    region.results.contains(&id) || region.ids().any(|n| region.args(n).contains(&id))
}

/// Forcing at a time and how it changes there: linear between rows, or held.
pub(super) fn forcing_at(lane: &Lane<'_>, time: f64, k: usize, held: bool) -> (f64, f64) {
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
pub(super) struct Search<'a> {
    pub(super) all: &'a Switches,
    pub(super) lane: &'a Lane<'a>,
    pub(super) shared: &'a [&'a [f64]],
    workspace: Workspace<f64>,
    /// Sorted stops, each with the condition that changes.
    stops: Vec<(Stop, usize)>,
    /// The first stretch that was not settled.
    doubt: Option<(f64, f64)>,
}

impl Search<'_> {
    fn run(&mut self, (from, to): (f64, f64)) -> Result<Vec<Stop>, Unusable> {
        for (condition, Condition { free, by_forcing, smooth, .. }) in self.all.conditions.iter().enumerate() {
            // Between known stops, and between rows where columns of the data count: there the level is smooth.
            let mut edges: Vec<(f64, f64)> = self.stops.iter().map(|(s, _)| (s.before, s.after)).collect();
            let mut boxes = if *free || *by_forcing { BOXES_REPEATED } else { BOXES };
            if *by_forcing {
                edges.extend(self.lane.times[1..].iter().map(|&t| (t, t)));
                boxes += BOXES_MORE * self.lane.times.len();
            }
            edges.push((to, to));
            edges.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut start = from;
            for (before, after) in edges {
                // At a row columns are those of the interval behind it.
                let last = if *by_forcing && smooth.is_some() { before.next_down().max(start) } else { before };
                if last > start {
                    self.settle(condition, (start, last), to - from, &mut boxes)?;
                }
                if before > last {
                    self.look(condition, last, before, 1, to - from)?;
                }
                start = start.max(after);
            }
            self.stops.sort_by(|a, b| a.0.before.total_cmp(&b.0.before));
        }
        // Each with whether the law changes there.
        let mut stops: Vec<(Stop, bool)> = Vec::new();
        for (stop, condition) in std::mem::take(&mut self.stops) {
            // What only an event waits for changes nothing of the law; its own time is found where it happens.
            let of_law = self.all.conditions[condition].of_law;
            let moves = if of_law { self.moves(&stop, condition)? } else { vec![] };
            match stops.last_mut().filter(|(last, _)| last.after >= stop.before) {
                // Several conditions at one time are one stop.
                Some((last, law)) => {
                    let differ = last.moves.iter().zip(&moves).any(|(a, b)| (a - b).abs() > 1e-9 * a.abs().max(b.abs()));
                    if *law && of_law && (differ || last.moves.is_empty() != moves.is_empty()) {
                        return Err(Unusable(format!(
                            "two conditions on time change at time {} at once, which has no derivative by the parameters",
                            self.lane.time(stop.after)
                        )));
                    }
                    if !*law {
                        (last.moves, *law) = (moves, of_law);
                    }
                    last.after = last.after.max(stop.after);
                }
                None => stops.push((Stop { moves, ..stop }, of_law)),
            }
        }
        Ok(stops.into_iter().map(|(stop, _)| stop).collect())
    }

    /// Finds all changes of a condition over a stretch without an edge.
    fn settle(&mut self, condition: usize, stretch: (f64, f64), span: f64, boxes: &mut usize) -> Result<(), Unusable> {
        for piece in self.isolate(condition, stretch, span, boxes) {
            match piece {
                Piece::Ends(lo, hi) => self.look(condition, lo, hi, 1, span)?,
                Piece::Open(lo, hi) => {
                    self.doubt = self.doubt.or(Some((lo, hi)));
                    let share = (hi - lo) / (stretch.1 - stretch.0);
                    self.look(condition, lo, hi, (LOOKED_AT as f64 * share).ceil().max(LEAST_LOOKS) as usize, span)?;
                }
            }
        }
        Ok(())
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
        if !self.all.conditions[condition].free {
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
