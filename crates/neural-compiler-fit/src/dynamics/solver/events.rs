//! Events: jumps of states at times and where conditions become true. In: the events of a law, a lane, where it is; out: the states behind
//! an event, and the linear map that its derivatives go through.
//!
//! Behind an event at the time τ the derivatives of the states are S⁺ = Gₓ S⁻ + Gₚ + (Gₓ f⁻ + G' − f⁺) τ', with the jump G, its derivative
//! G' along time, the slopes f⁻ and f⁺ before and behind it, and the derivative τ' of its time: given for an event at a time, by the
//! implicit function theorem for one that waits for a level h to be crossed, τ' = −(hₓ S⁻ + hₚ) / (hₓ f⁻ + h'). So S⁺ = A S⁻ + B, whatever
//! the directions are, and the way back goes by the transpose. Events at one time happen one after the other: their maps are multiplied.

use super::field::Field;
use super::segments::Stop;
use super::{Lane, Solver};
use crate::model::layout::Layout;
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, diff};
use std::sync::OnceLock;

/// Said of solutions whose events come faster than time goes on.
pub(crate) const ENDLESS: &str = "events without end";
/// Events of conditions of one lane at most.
pub(super) const MOST_EVENTS: usize = 100_000;
/// Events so close to each other, as a share of the time, and how many of them in a row, that no more are waited for.
pub(super) const CLOSE: f64 = 1e-9;
pub(super) const MOST_CLOSE: usize = 16;
/// Events of one condition so close to each other that the next could not be found any more.
pub(super) const TOO_CLOSE: f64 = 1e-12;
/// Events one after the other at one time.
const MOST_AT_ONCE: usize = 100;

/// What happens to a lane at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum What {
    /// An event of the model.
    Event(usize),
    /// A number of the states grows by this.
    Add(usize, f64),
    /// A number of the states becomes this.
    Set(usize, f64),
}

/// Something that happens at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Timed {
    /// The time since the origin of the lane.
    pub time: f64,
    /// What it is.
    pub what: What,
    /// The derivative of the time by the free shared numbers; empty where it depends on none.
    pub moves: Vec<f64>,
}

/// A function of the inputs of a law, and its derivatives by states, free shared inputs, time and forcing.
pub(super) struct Function {
    graph: Graph,
    wrt: Vec<usize>,
    value: Engine,
    derivatives: OnceLock<Result<Engine, Diagnostics>>,
}

impl Function {
    pub(super) fn new(graph: &Graph, wrt: &[usize]) -> Function {
        let value = Engine::new(graph, &vec![false; graph.inputs.len()]);
        Function { graph: graph.clone(), wrt: wrt.to_vec(), value, derivatives: OnceLock::new() }
    }

    fn size(&self) -> usize {
        self.graph.outputs()[0].len()
    }

    fn derivatives(&self) -> Result<&Engine, Unusable> {
        let make = || diff::jacobian(&self.graph, &self.wrt).map(|g| Engine::new(&g, &vec![false; g.inputs.len()]));
        self.derivatives.get_or_init(make).as_ref().map_err(|e| Unusable(e.to_string()))
    }
}

/// The events of a law.
pub(super) struct Events {
    jumps: Vec<Function>,
    levels: Option<Function>,
    /// The event that waits for each level.
    waiting: Vec<usize>,
}

impl Events {
    pub(super) fn new(field: &Field, layout: &Layout) -> Option<Events> {
        let mut wrt = vec![0];
        wrt.extend(layout.shared.iter().enumerate().filter(|(_, s)| s.at.is_some()).map(|(i, _)| 1 + i));
        wrt.extend(1 + field.law.shared..field.law.graph.inputs.len());
        let jumps: Vec<Function> = field.jumps.iter().map(|g| Function::new(g, &wrt)).collect();
        let levels = field.levels.as_ref().map(|(g, _)| Function::new(g, &wrt));
        (!jumps.is_empty()).then(|| Events { jumps, levels, waiting: field.levels.as_ref().map_or(vec![], |l| l.1.clone()) })
    }
}

/// The map that derivatives go through at a jump: `states` n by n, row by row (none: they stay what they are), and `free` n by the free
/// shared numbers, added.
pub(super) struct Jump {
    pub(super) states: Option<Vec<f64>>,
    pub(super) free: Vec<f64>,
}

impl Jump {
    fn new(n: usize, own: usize) -> Jump {
        Jump { states: None, free: vec![0.0; n * own] }
    }

    /// Derivatives of the states behind it; `before` has so many directions, state by state, the free shared numbers being the last.
    pub(super) fn apply(&self, before: &[f64], directions: usize) -> Vec<f64> {
        let n = before.len() / directions.max(1);
        let mut after = match &self.states {
            None => before.to_vec(),
            Some(a) => product(a, before, n, n, directions),
        };
        let own = self.free.len() / n.max(1);
        for (row, add) in after.chunks_mut(directions.max(1)).zip(self.free.chunks(own.max(1))) {
            row[directions - own..].iter_mut().zip(add).for_each(|(s, b)| *s += b);
        }
        after
    }

    /// The way back: the derivative by the states before it, and what comes to that by the free shared numbers.
    pub(super) fn pull(&self, bars: &mut [f64], total: &mut [f64]) {
        let own = total.len();
        for (bar, row) in bars.iter().zip(self.free.chunks(own.max(1))) {
            total.iter_mut().zip(row).for_each(|(t, b)| *t += b * bar);
        }
        if let Some(a) = &self.states {
            let n = bars.len();
            let before: Vec<f64> = (0..n).map(|c| (0..n).map(|r| a[r * n + c] * bars[r]).sum()).collect();
            bars.copy_from_slice(&before);
        }
    }

    /// Goes on with another: derivatives by the states in between times `matrix`, plus `free`, plus `along` times the derivative of the
    /// time.
    fn then(&mut self, matrix: &[f64], free: &[f64], along: &[f64], moves: &Moves, n: usize) {
        let own = self.free.len() / n.max(1);
        let mut states = match &self.states {
            None => matrix.to_vec(),
            Some(a) => product(matrix, a, n, n, n),
        };
        let mut all = product(matrix, &self.free, n, n, own);
        all.iter_mut().zip(free).for_each(|(x, y)| *x += y);
        for (r, w) in along.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            states[r * n..(r + 1) * n].iter_mut().zip(&moves.states).for_each(|(x, m)| *x += w * m);
            all[r * own..(r + 1) * own].iter_mut().zip(&moves.free).for_each(|(x, m)| *x += w * m);
        }
        (self.states, self.free) = (Some(states), all);
    }
}

/// A product of matrices, row by row.
fn product(a: &[f64], b: &[f64], rows: usize, inner: usize, columns: usize) -> Vec<f64> {
    let mut out = vec![0.0; rows * columns];
    for r in 0..rows {
        for (k, x) in a[r * inner..(r + 1) * inner].iter().enumerate().filter(|(_, x)| **x != 0.0) {
            let from = &b[k * columns..(k + 1) * columns];
            out[r * columns..(r + 1) * columns].iter_mut().zip(from).for_each(|(o, y)| *o += x * y);
        }
    }
    out
}

/// The derivative of the time of a jump: by the states before the first of the events at that time, and by the free shared numbers; both
/// empty: it is given.
#[derive(Clone, Default)]
struct Moves {
    states: Vec<f64>,
    free: Vec<f64>,
}

/// A jump of a lane: a stop of its course, or a condition that becomes true; and the events that follow from it at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossing {
    pub(super) stop: Option<usize>,
    /// The level that is crossed.
    pub(super) level: Option<usize>,
    /// The levels the states jump over.
    pub(super) also: Vec<usize>,
}

/// Where a lane is when something happens: the interval between its times, the time since its origin.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) interval: usize,
    pub(super) time: f64,
}

/// A function's value and derivatives at one point: by states, by the free shared numbers, and along time.
pub(super) struct Derived {
    pub(super) value: Vec<f64>,
    pub(super) states: Vec<f64>,
    pub(super) free: Vec<f64>,
    along: Vec<f64>,
}

/// The conditions of a lane: each level where the lane is, and whether its condition may become true.
#[derive(Clone, Default, Debug)]
pub(super) struct Watch {
    pub(super) levels: Vec<f64>,
    pub(super) armed: Vec<bool>,
}

impl Solver {
    /// How many conditions are waited for.
    pub(super) fn conditions(&self) -> usize {
        self.events().map_or(0, |e| e.waiting.len())
    }

    /// The levels of all conditions for some lanes, where they are: each with its interval and time. A level is negative where the
    /// condition holds, and only there.
    pub(super) fn levels(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[(&Lane<'_>, At)],
        states: &[f64],
        shared: &[&[f64]],
    ) -> Result<Vec<f64>, Unusable> {
        let Some(levels) = self.events().and_then(|e| e.levels.as_ref()) else { return Ok(vec![]) };
        let found = self.values(&levels.value, levels.size(), workspace, lanes, states, shared)?;
        let count = self.conditions();
        // Where the sides of a comparison are equal, `<=` holds and `<` does not.
        let level = |own: &[f64], k: usize| if own[k] == 0.0 && own[count + k] != 0.0 { -f64::MIN_POSITIVE } else { own[k] };
        Ok(found.chunks(levels.size()).flat_map(|own| (0..count).map(move |k| level(own, k))).collect())
    }

    /// The law for some lanes where they are.
    pub(super) fn slopes(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[(&Lane<'_>, At)],
        states: &[f64],
        shared: &[&[f64]],
    ) -> Result<Vec<f64>, Unusable> {
        self.values(self.law(), self.size, workspace, lanes, states, shared)
    }

    fn values(
        &self,
        engine: &Engine,
        size: usize,
        workspace: &mut Workspace<f64>,
        lanes: &[(&Lane<'_>, At)],
        states: &[f64],
        shared: &[&[f64]],
    ) -> Result<Vec<f64>, Unusable> {
        let times: Vec<f64> = lanes.iter().map(|(lane, at)| lane.time(at.time)).collect();
        let mut forces: Vec<Vec<f64>> = vec![vec![]; self.forcing_shapes.len()];
        for (lane, at) in lanes {
            let own = self.forcing_at_times(lane, at.interval, &[at.time]);
            forces.iter_mut().zip(own).for_each(|(all, one)| all.extend(one));
        }
        let constants = self.gathered(lanes.iter().map(|(lane, _)| (*lane, 1)));
        let mut inputs: Vec<Column<'_, f64>> = vec![Column::rows(states, self.size)];
        inputs.extend(self.constant_columns(&constants, shared));
        inputs.push(Column::rows(&times, 1));
        inputs.extend(forces.iter().zip(&self.forcing_shapes).map(|(f, shape)| Column::rows(f, shape.len())));
        let mut values = vec![0.0; lanes.len() * size];
        let errors = engine.run(workspace, &inputs, lanes.len(), &mut [&mut values], &BatchOptions::default());
        match errors.map_err(|e| Unusable(e.message))?.first() {
            Some(e) => Err(Unusable(format!("at time {}: {}", times[e.lane], e.error.message))),
            None => Ok(values),
        }
    }

    /// A function with its derivatives at one point.
    pub(super) fn derived(
        &self,
        function: &Function,
        workspace: &mut Workspace<f64>,
        (lane, at): (&Lane<'_>, At),
        states: &[f64],
        shared: &[&[f64]],
    ) -> Result<Derived, Unusable> {
        let (n, m) = (self.size, function.size());
        let time = [lane.time(at.time)];
        let forces = self.forcing_at_times(lane, at.interval, &[at.time]);
        let mut inputs: Vec<Column<'_, f64>> = vec![Column::rows(states, n)];
        inputs.extend(self.shared_of(lane, shared).into_iter().map(Column::shared));
        inputs.push(Column::rows(&time, 1));
        inputs.extend(forces.iter().map(|f| Column::rows(f, f.len())));
        let sizes: Vec<usize> =
            [n].into_iter().chain(self.free_sizes()).chain([1]).chain(self.forcing_shapes.iter().map(|s| s.len())).collect();
        let mut results: Vec<Vec<f64>> = [1].iter().chain(&sizes).map(|len| vec![0.0; m * len]).collect();
        let mut outputs: Vec<&mut [f64]> = results.iter_mut().map(|r| &mut r[..]).collect();
        let errors = function.derivatives()?.run(workspace, &inputs, 1, &mut outputs, &BatchOptions::default());
        if let Some(e) = errors.map_err(|e| Unusable(e.message))?.first() {
            return Err(Unusable(format!("an event at time {}: {}", time[0], e.error.message)));
        }
        let free = self.free_sizes().count();
        let own = self.columns();
        let mut by_free = vec![0.0; m * own];
        let mut first = 0;
        for (block, len) in results[2..2 + free].iter().zip(self.free_sizes()) {
            (0..m).for_each(|r| by_free[r * own + first..][..len].copy_from_slice(&block[r * len..(r + 1) * len]));
            first += len;
        }
        // Along time forcing moves too.
        let mut along: Vec<f64> = results[2 + free].clone();
        let mut k = 0;
        for (block, shape) in results[3 + free..].iter().zip(&self.forcing_shapes) {
            for e in 0..shape.len() {
                let slope = self.forcing_slope(lane, at.interval, k);
                (0..m).for_each(|r| along[r] += block[r * shape.len() + e] * slope);
                k += 1;
            }
        }
        Ok(Derived { value: results[0].clone(), states: std::mem::take(&mut results[1]), free: by_free, along })
    }

    /// Crosses a jump: changes the states, and gives the map of derivatives where it is wanted. With `watch` the events that follow at once
    /// are looked for and noted; else they are those that were noted.
    #[allow(clippy::too_many_arguments, reason = "a lane, where it is, and what there is to be known of it")]
    pub(super) fn cross(
        &self,
        workspace: &mut Workspace<f64>,
        lane: &Lane<'_>,
        at: At,
        (crossing, stop): (&mut Crossing, Option<&Stop>),
        states: &mut [f64],
        shared: &[&[f64]],
        derivatives: bool,
        mut watch: Option<&mut Watch>,
    ) -> Result<Option<Jump>, Unusable> {
        let (n, own) = (self.size, self.columns());
        let mut jump = derivatives.then(|| Jump::new(n, own));
        let mut moves = Moves::default();
        if let (Some(stop), Some(jump)) = (stop.filter(|s| !s.moves.is_empty()), &mut jump) {
            let change = self.jump(workspace, lane, at.interval, stop, states, shared)?;
            for (row, change) in jump.free.chunks_mut(own.max(1)).zip(&change) {
                row.iter_mut().zip(&stop.moves).for_each(|(x, by)| *x += change * by);
            }
        }
        let Some(events) = self.events().filter(|_| stop.is_none_or(|s| !s.events.is_empty())) else {
            for timed in stop.iter().flat_map(|s| &s.events) {
                self.change(timed.what, states, jump.as_mut());
            }
            return Ok(jump);
        };
        for timed in stop.iter().flat_map(|s| &s.events) {
            moves = if timed.moves.is_empty() { Moves::default() } else { Moves { states: vec![0.0; n], free: timed.moves.clone() } };
            match timed.what {
                What::Event(event) => self.happen(workspace, (lane, at), &events.jumps[event], states, shared, jump.as_mut(), &moves)?,
                other => self.change(other, states, jump.as_mut()),
            }
        }
        let mut fired = 0.0;
        if let Some(level) = crossing.level {
            if jump.is_some() {
                moves = self.moves(workspace, (lane, at), level, states, shared)?;
            }
            fired = watch.as_ref().map_or(0.0, |w| w.levels[level]);
            let event = &events.jumps[events.waiting[level]];
            self.happen(workspace, (lane, at), event, states, shared, jump.as_mut(), &moves)?;
        }
        let Some(watch) = watch.as_mut() else {
            for &level in &crossing.also {
                let event = &events.jumps[events.waiting[level]];
                self.happen(workspace, (lane, at), event, states, shared, jump.as_mut(), &moves)?;
            }
            return Ok(jump);
        };
        let mut last = crossing.level;
        loop {
            self.look_again(workspace, (lane, at), last.map(|level| (level, fired)), states, shared, watch)?;
            let Some(next) = (0..watch.levels.len()).find(|&k| watch.armed[k] && watch.levels[k] < 0.0 && last != Some(k)) else { break };
            if crossing.also.len() >= MOST_AT_ONCE {
                return Err(Unusable(format!("{ENDLESS} at time {}: each makes the condition of another true", lane.time(at.time))));
            }
            fired = watch.levels[next];
            let event = &events.jumps[events.waiting[next]];
            self.happen(workspace, (lane, at), event, states, shared, jump.as_mut(), &moves)?;
            crossing.also.push(next);
            last = Some(next);
        }
        Ok(jump)
    }

    /// The levels behind a jump. A condition that no longer holds may become true again; of the one that has just become true also where
    /// its level is still where it was, and rises.
    fn look_again(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, at): (&Lane<'_>, At),
        fired: Option<(usize, f64)>,
        states: &[f64],
        shared: &[&[f64]],
        watch: &mut Watch,
    ) -> Result<(), Unusable> {
        let levels = self.levels(workspace, &[(lane, at)], states, shared)?;
        for (k, level) in levels.iter().enumerate() {
            let just = fired.filter(|f| f.0 == k);
            // What was armed and is true now happens next; what was true stays so.
            watch.armed[k] = *level >= 0.0 || watch.armed[k] && just.is_none();
            if let Some((_, before)) = just.filter(|_| *level < 0.0) {
                watch.armed[k] = *level >= before && self.rises(workspace, (lane, at), k, states, shared)?;
            }
        }
        watch.levels = levels;
        Ok(())
    }

    fn rises(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, at): (&Lane<'_>, At),
        level: usize,
        states: &[f64],
        shared: &[&[f64]],
    ) -> Result<bool, Unusable> {
        let Some(levels) = self.events().and_then(|e| e.levels.as_ref()) else { return Ok(false) };
        let found = self.derived(levels, workspace, (lane, at), states, shared)?;
        let slope = self.slopes(workspace, &[(lane, at)], states, shared)?;
        let own = &found.states[level * self.size..(level + 1) * self.size];
        let along: f64 = own.iter().zip(&slope).map(|(h, f)| h * f).sum::<f64>() + found.along[level];
        Ok(lane.direction * along > 0.0)
    }

    /// By how much the time at which a level is crossed moves.
    fn moves(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, at): (&Lane<'_>, At),
        level: usize,
        states: &[f64],
        shared: &[&[f64]],
    ) -> Result<Moves, Unusable> {
        let levels = self.events().and_then(|e| e.levels.as_ref()).expect("a level is crossed");
        let (n, own) = (self.size, self.columns());
        let found = self.derived(levels, workspace, (lane, at), states, shared)?;
        let slope = self.slopes(workspace, &[(lane, at)], states, shared)?;
        let by_states = &found.states[level * n..(level + 1) * n];
        let by_time = by_states.iter().zip(&slope).map(|(h, f)| h * f).sum::<f64>() + found.along[level];
        let over = |by: &[f64]| by.iter().map(|x| -x / by_time).collect::<Vec<f64>>();
        let moves = Moves { states: over(by_states), free: over(&found.free[level * own..(level + 1) * own]) };
        if moves.states.iter().chain(&moves.free).all(|x| x.is_finite()) {
            return Ok(moves);
        }
        let time = lane.time(at.time);
        Err(Unusable(format!("a condition is only touched at time {time}: the time of its event has no derivative by the parameters")))
    }

    /// An event of the model.
    #[allow(clippy::too_many_arguments, reason = "a lane, where it is, and what there is to be known of it")]
    fn happen(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, at): (&Lane<'_>, At),
        event: &Function,
        states: &mut [f64],
        shared: &[&[f64]],
        jump: Option<&mut Jump>,
        moves: &Moves,
    ) -> Result<(), Unusable> {
        let after = match jump {
            None => self.values(&event.value, self.size, workspace, &[(lane, at)], states, shared)?,
            Some(jump) => {
                let found = self.derived(event, workspace, (lane, at), states, shared)?;
                let mut along = vec![0.0; self.size];
                if !(moves.states.is_empty() && moves.free.is_empty()) {
                    let before = self.slopes(workspace, &[(lane, at)], states, shared)?;
                    let behind = self.slopes(workspace, &[(lane, at)], &found.value, shared)?;
                    along = product(&found.states, &before, self.size, self.size, 1);
                    along.iter_mut().zip(&found.along).zip(&behind).for_each(|((w, g), f)| *w += g - f);
                }
                jump.then(&found.states, &found.free, &along, moves, self.size);
                found.value
            }
        };
        if after.iter().any(|x| !x.is_finite()) {
            return Err(Unusable(format!("a state is not finite behind the event at time {}", lane.time(at.time))));
        }
        states.copy_from_slice(&after);
        Ok(())
    }

    /// A change of one number at a given time.
    fn change(&self, what: What, states: &mut [f64], jump: Option<&mut Jump>) {
        match what {
            What::Event(_) => {}
            What::Add(k, by) => states[k] += by,
            What::Set(k, to) => {
                states[k] = to;
                if let Some(jump) = jump {
                    let n = self.size;
                    let one = |i: usize| if i / n == i % n && i / n != k { 1.0 } else { 0.0 };
                    let matrix: Vec<f64> = (0..n * n).map(one).collect();
                    let none = vec![0.0; jump.free.len()];
                    jump.then(&matrix, &none, &[], &Moves::default(), n);
                }
            }
        }
    }
}
