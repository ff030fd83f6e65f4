//! The solver: states along trajectories, many at a time. In: the graphs of a step, lanes with a start and times to pass; out: the states
//! at those times, and on request their derivatives by chosen directions.
//!
//! All lanes take their k-th step together, one lane of the batch engine each. With fixed steps the steps are known beforehand (`sweep`);
//! with adaptive ones each lane chooses its own (`march`), by the error of the states and, where derivatives are wanted, of those too.
//! Invariants: a lane's result does not depend on the others; every run ends: steps are counted, and a step that shrinks to nothing or
//! a state that is not finite is reported with its time.

pub mod adjoint;
pub(super) mod conditions;
pub mod events;
pub mod field;
mod fleet;
mod hunt;
mod isolate;
mod march;
pub mod observables;
mod rounding;
pub mod rows;
mod segments;
mod steady;
mod sweep;
mod switches;
mod tangents;
mod unseen;

use crate::model::layout::{Layout, element_names};
use crate::optimise::Unusable;
use crate::optimise::effort::Effort;
use crate::report::Finer;
use events::{Crossing, Events, Function, Timed};
use field::Field;
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ode::control::Control;
use neural_compiler::ode::{self, Scheme};
use neural_compiler::{Diagnostics, Shape, diff};
use observables::Observables;
use rows::Rows;
use segments::Course;
use std::sync::{Arc, Mutex, OnceLock};
use switches::Switches;
pub(crate) use unseen::ENDS;

/// A step and its derivatives, ready to run.
struct Engines {
    value: Engine,
    /// A step with its error estimate, where it has one, and a step without.
    graphs: (Graph, Graph),
    /// The inputs of a step it is differentiated by: states, free shared inputs.
    wrt: Vec<usize>,
    /// Made when first needed: derivatives along a direction, by all states and free numbers, and the way back.
    along: OnceLock<Engine>,
    whole: OnceLock<Result<Engine, Diagnostics>>,
    adjoint: OnceLock<Result<Engine, Diagnostics>>,
    /// The law itself, and the conditions on time in it.
    law: (Graph, OnceLock<Engine>),
    law_function: OnceLock<Function>,
    law_along: OnceLock<Engine>,
    switches: Option<Arc<Switches>>,
    events: Option<Arc<Events>>,
    pool: Mutex<Vec<Workspace<f64>>>,
}

/// A way to solve, with everything a law and a scheme need for it.
#[derive(Clone)]
pub struct Solver {
    scheme: Scheme,
    /// Numbers of the states.
    pub size: usize,
    engines: Arc<Engines>,
    /// Shapes of the shared inputs, and which are free.
    pub(super) shared: Vec<(Shape, bool)>,
    /// Lanes have values of these of their own.
    own_constants: bool,
    forcing_shapes: Vec<Shape>,
    /// Which numbers of the forcing are held from row to row.
    held: Arc<Vec<bool>>,
    observables: Option<Arc<Observables>>,
    /// Longest step; for fixed steps the step aimed at, for a map the time a step takes.
    pub(super) longest: f64,
    pub(super) tolerance: Tolerance,
    /// Most steps of one lane.
    pub(super) most: usize,
    /// Fixed steps are cut into so many.
    cut: usize,
    /// Size of each number of the states, for the absolute tolerance.
    pub sizes: Vec<f64>,
    /// What the numbers of the states are called.
    names: Arc<Vec<String>>,
    /// What a solution may cost.
    pub(crate) effort: Arc<Effort>,
}

/// How large the error of an adaptive step may be: `relative` times the state plus `absolute`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// Relative to the state.
    pub relative: f64,
    /// In the unit of the states; `None`: a ten-thousandth of the relative one times the size of the data.
    pub absolute: Option<f64>,
}

/// The absolute tolerance beside a relative one, on the scale of the data.
const ABSOLUTE: f64 = 1e-4;
/// The tightest relative tolerance a solution is held to unasked: below, rounding errors count.
const TIGHTEST: f64 = 1e-13;
/// The relative tolerance with which the way down is found.
const ROUGH: f64 = 1e-5;
/// The relative tolerance unless told otherwise.
pub const TOLERANCE: f64 = 1e-8;

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { relative: TOLERANCE, absolute: None }
    }
}

impl Tolerance {
    /// So many times as tight.
    pub fn tighter(self, times: f64) -> Tolerance {
        Tolerance { relative: self.relative / times, absolute: self.absolute.map(|a| a / times) }
    }

    /// The error allowed of a number of a given value and size.
    pub(super) fn of(self, value: f64, size: f64) -> f64 {
        self.relative * value.abs() + self.absolute.unwrap_or(self.relative * ABSOLUTE * size)
    }
}

/// A stretch to be solved: from a start through some times.
#[derive(Clone, Debug)]
pub struct Lane<'a> {
    /// States at the first time.
    pub start: Vec<f64>,
    /// The time its times are counted from, and 1 where they run forward from there, -1 where backward.
    pub origin: f64,
    /// See `origin`.
    pub direction: f64,
    /// Times since the origin, rising, the first being that of the start.
    pub times: &'a [f64],
    /// Forcing at these times.
    pub forcing: &'a [Vec<f64>],
    /// The numbers of all shared inputs, one after another, where they are its own and not those of all lanes.
    pub constants: Option<&'a [f64]>,
    /// What happens at times, in order.
    pub events: Arc<Vec<Timed>>,
}

impl Lane<'_> {
    /// The time so long after the origin.
    pub(super) fn time(&self, since: f64) -> f64 {
        self.origin + self.direction * since
    }
}

/// A step: its time since the origin, its length, and the interval between times it lies in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) time: f64,
    pub(super) length: f64,
    pub(super) interval: usize,
    /// It ends at the end of its interval.
    pub(super) last: bool,
    /// The jump of its lane it begins with.
    pub(super) jump: Option<usize>,
}

/// The steps of a lane, and the jumps between them.
#[derive(Clone, Debug, Default)]
struct Plan {
    steps: Vec<Step>,
    jumps: Vec<Crossing>,
}

/// States along a lane: `states[i]` at the lane's time `i`; and, with directions, the derivative of each state by each direction, state
/// by state.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// States at each time, and behind them what else is observed.
    pub states: Rows,
    /// Derivatives at each time; empty when not wanted.
    pub tangents: Rows,
}

impl Path {
    /// At the start of a lane; `directions`: its derivatives by so many, if they are wanted.
    pub(super) fn starting(lane: &Lane<'_>, directions: Option<&[f64]>) -> Path {
        let rows = |first: &[f64]| {
            let mut rows = Rows::new(first.len()).with_room(lane.times.len());
            rows.push(first.iter().copied());
            rows
        };
        Path { states: rows(&lane.start), tangents: directions.map_or_else(Rows::default, rows) }
    }
}

/// Directions to differentiate by: how many, and per lane the derivative of its start by them, state by state. The free shared numbers
/// are the last of them.
pub type Directions<'a> = (usize, &'a [Vec<f64>]);

/// The words for a lane that would take more steps than it may.
pub(crate) const TOO_MANY: &str = "steps are needed";
/// Lanes whose steps tell what solutions cost.
pub(crate) const FIRST_LANES: usize = 4;
/// Most steps of one lane beside those that end where it is asked for values or meets an event: a long table is no hard problem.
pub const MOST_STEPS: usize = 100_000;
/// The same of solutions that are computed once, not again and again on the way to a minimum.
pub(crate) const MOST_ALONE: usize = 10 * MOST_STEPS;

impl Solver {
    /// A solver for a law.
    pub fn new(field: &Field, layout: &Layout, scheme: Scheme, longest: Option<f64>, tolerance: Tolerance) -> Result<Solver, Diagnostics> {
        let value = ode::step(&field.law, scheme, scheme.error_order().is_some())?;
        let plain = ode::step(&field.law, scheme, false)?;
        let mut wrt = vec![0];
        wrt.extend(layout.shared.iter().enumerate().filter(|(_, s)| s.at.is_some()).map(|(i, _)| 1 + i));
        let uniform: Vec<bool> = (0..value.inputs.len()).map(|i| i >= 1 && i <= field.law.shared).collect();
        let shared: Vec<(Shape, bool)> = layout.shared.iter().map(|s| (s.shape, s.at.is_some())).collect();
        let forcing_shapes: Vec<Shape> = field.forcing.iter().map(|f| f.shape).collect();
        let held: Arc<Vec<bool>> = Arc::new(field.forcing.iter().flat_map(|f| vec![f.held; f.shape.len()]).collect());
        // A map has no times in between.
        let levels = field.levels.as_ref().map(|l| &l.0);
        let switches = if scheme.is_map() { None } else { Switches::new(&field.law.graph, levels, &shared, &forcing_shapes, &held) };
        let switches = switches.map(Arc::new);
        Ok(Solver {
            scheme,
            size: field.law.size,
            engines: Arc::new(Engines {
                value: Engine::new(&value, &uniform),
                graphs: (value, plain),
                wrt,
                along: OnceLock::new(),
                whole: OnceLock::new(),
                adjoint: OnceLock::new(),
                law: (field.law.graph.clone(), OnceLock::new()),
                law_function: OnceLock::new(),
                law_along: OnceLock::new(),
                switches,
                events: Events::new(field, layout).map(Arc::new),
                pool: Mutex::default(),
            }),
            shared,
            own_constants: false,
            forcing_shapes,
            held,
            observables: Observables::new(field, layout).map(Arc::new),
            longest: longest.unwrap_or(f64::INFINITY),
            tolerance,
            most: MOST_STEPS,
            cut: 1,
            sizes: vec![1.0; field.law.size],
            names: Arc::new(field.states.iter().flat_map(|s| element_names(&s.name, s.shape)).collect()),
            effort: Arc::default(),
        })
    }

    /// The same for lanes that have constants of their own.
    pub fn of_ensembles(&self) -> Solver {
        let own = &self.engines;
        let varying = |graph: &Graph| Engine::new(graph, &vec![false; graph.inputs.len()]);
        let engines = Engines {
            value: varying(&own.graphs.0),
            graphs: own.graphs.clone(),
            wrt: own.wrt.clone(),
            along: OnceLock::new(),
            whole: OnceLock::new(),
            adjoint: OnceLock::new(),
            law: (own.law.0.clone(), OnceLock::new()),
            law_function: OnceLock::new(),
            law_along: OnceLock::new(),
            switches: own.switches.clone(),
            events: own.events.clone(),
            pool: Mutex::default(),
        };
        let observables = self.observables.as_ref().map(|o| Arc::new(o.of_ensembles()));
        Solver { engines: Arc::new(engines), own_constants: true, observables, ..self.clone() }
    }

    /// The values of the shared inputs of a lane: its own, or those of all.
    pub(super) fn shared_of<'s>(&self, lane: &Lane<'s>, all: &[&'s [f64]]) -> Vec<&'s [f64]> {
        let Some(mut own) = lane.constants else { return all.to_vec() };
        let mut next = |(shape, _): &(Shape, bool)| {
            let (one, rest) = own.split_at(shape.len());
            own = rest;
            one
        };
        self.shared.iter().map(&mut next).collect()
    }

    /// The values of the shared inputs for some lanes, each so many times over, where lanes have their own: a row each for every input.
    fn gathered<'l>(&self, lanes: impl Iterator<Item = (&'l Lane<'l>, usize)> + Clone) -> Vec<Vec<f64>> {
        let mut at = 0;
        let mut one = |(shape, _): &(Shape, bool)| {
            let range = at..at + shape.len();
            at += shape.len();
            let mut all = Vec::new();
            for (own, times) in lanes.clone().filter_map(|(lane, times)| Some((lane.constants?, times))) {
                if let (1, [x]) = (range.len(), &own[range.clone()]) {
                    all.resize(all.len() + times, *x);
                } else {
                    (0..times).for_each(|_| all.extend_from_slice(&own[range.clone()]));
                }
            }
            all
        };
        if self.own_constants { self.shared.iter().map(&mut one).collect() } else { vec![] }
    }

    /// Columns of the shared inputs: gathered from lanes, or those of all.
    fn constant_columns<'c>(&self, gathered: &'c [Vec<f64>], all: &[&'c [f64]]) -> Vec<Column<'c, f64>> {
        if !self.own_constants {
            return all.iter().map(|v| Column::shared(v)).collect();
        }
        gathered.iter().zip(&self.shared).map(|(g, (shape, _))| Column::rows(g, shape.len())).collect()
    }

    /// How it moves on.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether it chooses its steps by their error.
    pub fn adaptive(&self) -> bool {
        self.scheme.error_order().is_some()
    }

    /// How large the error of a step may be.
    pub fn tolerance(&self) -> Tolerance {
        self.tolerance
    }

    /// The same solver for other sizes of the states.
    pub fn with_sizes(mut self, sizes: Vec<f64>) -> Solver {
        self.sizes = sizes;
        self
    }

    /// The same solver with another limit to the steps of a lane.
    pub fn with_most(mut self, most: usize) -> Solver {
        self.most = most;
        self
    }

    /// Most steps along a course.
    fn most_along(&self, course: &Course) -> usize {
        self.most.saturating_add(course.segments.len())
    }

    /// The same solver within the limits of a fit.
    pub(crate) fn with_effort(mut self, effort: &Arc<Effort>) -> Solver {
        self.effort = effort.clone();
        self
    }

    /// A solver that is more accurate: adaptive steps so many times as exact, at most as exact as numbers allow, or so many times as
    /// many fixed steps. `None` where nothing is more accurate: a map is exact.
    pub fn finer(&self, tighter: f64, steps: usize) -> Option<(Solver, Finer)> {
        if self.scheme.is_map() {
            return None;
        }
        // Every solution may take as many steps as it needs to be checked.
        let mut finer = Solver { most: (10 * self.most).clamp(MOST_STEPS, MOST_ALONE), ..self.clone() };
        if !self.adaptive() {
            finer.cut *= steps;
            return Some((finer, Finer::Steps(steps)));
        }
        finer.tolerance = self.tolerance.tighter(tighter);
        (finer.tolerance.relative >= TIGHTEST).then_some(())?;
        let to = finer.tolerance.relative;
        Some((finer, Finer::Tolerance(to)))
    }

    /// A solver that is accurate enough to find the way down, from which the accurate one goes on; `None` where it would save little.
    pub fn rough(&self) -> Option<Solver> {
        let by = self.tolerance.relative / ROUGH;
        (self.adaptive() && by <= 0.1).then(|| Solver { tolerance: self.tolerance.tighter(by), ..self.clone() })
    }

    pub(super) fn value(&self) -> &Engine {
        &self.engines.value
    }

    /// The sizes of the free shared inputs, in order.
    pub(super) fn free_sizes(&self) -> impl Iterator<Item = usize> {
        self.shared.iter().filter(|s| s.1).map(|s| s.0.len())
    }

    /// Free numbers the derivative has columns for.
    pub(super) fn columns(&self) -> usize {
        self.free_sizes().sum()
    }

    fn uniform(&self, graph: &Graph) -> Vec<bool> {
        (0..graph.inputs.len()).map(|i| !self.own_constants && i >= 1 && i <= self.shared.len()).collect()
    }

    /// The engine of derivatives along one direction: the results of a step, then their derivatives.
    pub(super) fn along(&self) -> &Engine {
        let own = &self.engines;
        own.along.get_or_init(|| {
            let graph = diff::jvp(&own.graphs.0, &own.wrt);
            Engine::new(&graph, &self.uniform(&graph))
        })
    }

    /// The engine of derivatives by all states and free shared numbers at once.
    pub(super) fn whole(&self) -> Result<&Engine, Unusable> {
        let own = &self.engines;
        let make = || diff::jacobian(&own.graphs.1, &own.wrt).map(|graph| Engine::new(&graph, &self.uniform(&graph)));
        own.whole.get_or_init(make).as_ref().map_err(|e| Unusable(e.to_string()))
    }

    /// The engine of the way back: its last results, the derivatives by the free shared numbers, are summed over lanes.
    pub(super) fn adjoint(&self) -> Result<&Engine, Unusable> {
        let own = &self.engines;
        let make = || {
            let graph = diff::vjp(&own.graphs.1, &own.wrt)?;
            let reduced: Vec<bool> = (0..graph.main().results.len()).map(|k| k >= 2).collect();
            Ok(Engine::reduced(&graph, &self.uniform(&graph), &reduced))
        };
        own.adjoint.get_or_init(make).as_ref().map_err(|e: &Diagnostics| Unusable(e.to_string()))
    }

    /// The engine of the law itself.
    pub(super) fn law(&self) -> &Engine {
        let (graph, engine) = &self.engines.law;
        engine.get_or_init(|| Engine::new(graph, &self.uniform(graph)))
    }

    /// The events of the law.
    fn events(&self) -> Option<&Events> {
        self.engines.events.as_deref()
    }

    /// The conditions on time.
    fn switches(&self) -> Option<&Switches> {
        self.engines.switches.as_deref()
    }

    pub(super) fn workspace(&self) -> Workspace<f64> {
        self.engines.pool.lock().expect("no panic holds it").pop().unwrap_or_default()
    }

    pub(super) fn put_back(&self, workspace: Workspace<f64>) {
        self.engines.pool.lock().expect("no panic holds it").push(workspace);
    }

    /// The steps of all lanes.
    fn plan(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane<'_>],
        shared: &[&[f64]],
        courses: &[Arc<Course>],
    ) -> Result<Vec<Plan>, Unusable> {
        if self.is_given() {
            return lanes.iter().zip(courses).map(|(l, c)| self.fixed_steps(l, c)).collect();
        }
        Ok(self.march(workspace, lanes, shared, courses, (true, None))?.0)
    }

    /// Whether all steps are known beforehand.
    fn is_given(&self) -> bool {
        !self.adaptive() && self.conditions() == 0
    }

    fn fixed_steps(&self, lane: &Lane<'_>, course: &Course) -> Result<Plan, Unusable> {
        let mut steps = Vec::new();
        for segment in &course.segments {
            let span = segment.to - segment.from;
            // The times of a map are whole numbers of steps.
            let count = if self.scheme.is_map() { (span / self.longest).round() } else { (span / self.longest * (1.0 - 1e-9)).ceil() };
            let count = count.max(1.0) as usize * self.cut;
            let most = self.most_along(course);
            if steps.len() + count > most {
                return Err(Unusable(format!("a trajectory needs more than {most} steps of {}", self.longest)));
            }
            let length = span / count as f64;
            let begins = |k: usize| segment.stop.filter(|_| k == 0);
            steps.extend((0..count - 1).map(|k| Step {
                time: segment.from + k as f64 * length,
                length,
                interval: segment.interval,
                last: false,
                jump: begins(k),
            }));
            let end = segment.end_from(lane, segment.from + (count - 1) as f64 * length, begins(count - 1));
            // All steps of a segment are of one length, unless the last would end behind a stop.
            steps.push(Step { length: if segment.hard { end.length } else { length }, ..end });
        }
        let jumps = (0..course.stops.len()).map(|k| Crossing { stop: Some(k), ..Crossing::default() }).collect();
        Ok(Plan { steps, jumps })
    }

    /// How many equal steps are left of a stretch that is cut into such.
    fn equal_steps(&self, span: f64, left: f64) -> f64 {
        let count = (span / self.longest * (1.0 - 1e-9)).ceil().max(1.0) * self.cut as f64;
        (left / span * count * (1.0 - 1e-9)).ceil().max(1.0)
    }

    /// Whether so many directions are followed one by one; more of them are cheaper by way of the whole derivative of a step, taken
    /// backward. A matter of the model alone, so that the same lane gives the same bits in whatever company.
    pub(super) fn one_by_one(&self, directions: usize) -> bool {
        directions <= 2 * self.size + 4
    }

    /// Solves all lanes. `shared`: the values of the shared inputs. `tangents`: directions to differentiate by, if any.
    pub fn solve(&self, lanes: &[Lane<'_>], shared: &[&[f64]], tangents: Option<Directions<'_>>) -> Result<Vec<Path>, Unusable> {
        let mut workspace = self.workspace();
        let outcome = self.solve_in(&mut workspace, lanes, shared, tangents);
        self.put_back(workspace);
        self.with_observables(lanes, shared, tangents, outcome?)
    }

    fn solve_in(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane<'_>],
        shared: &[&[f64]],
        tangents: Option<Directions<'_>>,
    ) -> Result<Vec<Path>, Unusable> {
        let courses = self.courses(lanes, shared)?;
        match tangents {
            Some((directions, _)) if !self.is_given() && !self.one_by_one(directions) => {
                let (plan, _) = self.march(workspace, lanes, shared, &courses, (true, None))?;
                self.sweep(workspace, lanes, shared, &courses, &plan, tangents)
            }
            _ if self.is_given() => {
                let plan = self.plan(workspace, lanes, shared, &courses)?;
                self.sweep(workspace, lanes, shared, &courses, &plan, tangents)
            }
            None => match self.fleet(workspace, lanes, &courses)? {
                Some(paths) => Ok(paths),
                None => Ok(self.march(workspace, lanes, shared, &courses, (false, None))?.1),
            },
            _ => Ok(self.march(workspace, lanes, shared, &courses, (false, tangents))?.1),
        }
    }

    /// The steps of the first lanes; `None` when they cannot be solved.
    pub fn count(&self, lanes: &[Lane<'_>], shared: &[&[f64]]) -> Option<usize> {
        Control::new(self.scheme)?;
        let lanes = &lanes[..lanes.len().min(FIRST_LANES)];
        let courses = self.courses(lanes, shared).ok()?;
        let mut workspace = self.workspace();
        let marched = self.march(&mut workspace, lanes, shared, &courses, (true, None));
        self.put_back(workspace);
        Some(marched.ok()?.0.iter().map(|p| p.steps.len()).sum())
    }

    /// What a step costs, in operations on numbers.
    pub fn price(&self) -> f64 {
        ode::price(&self.engines.graphs.0)
    }

    /// Forcing at a time within an interval of a lane.
    fn forcing_at(&self, lane: &Lane<'_>, interval: usize, time: f64, k: usize) -> f64 {
        // A lane of one time has no interval.
        let (u0, u1) = (lane.forcing[interval][k], lane.forcing.get(interval + 1).map_or(lane.forcing[interval][k], |row| row[k]));
        if self.held[k] {
            return if lane.direction < 0.0 { u1 } else { u0 };
        }
        if u0 == u1 {
            return u1;
        }
        let (t0, t1) = (lane.times[interval], lane.times[interval + 1]);
        if time >= t1 { u1 } else { u0 + (u1 - u0) * ((time - t0) / (t1 - t0)) }
    }

    /// By how much forcing changes with time within an interval of a lane.
    pub(super) fn forcing_slope(&self, lane: &Lane<'_>, interval: usize, k: usize) -> f64 {
        if self.held[k] || interval + 1 >= lane.times.len() {
            return 0.0;
        }
        let change = lane.forcing[interval + 1][k] - lane.forcing[interval][k];
        lane.direction * change / (lane.times[interval + 1] - lane.times[interval])
    }

    /// Forcing at some times within an interval of a lane, a row per time for each input.
    pub(super) fn forcing_at_times(&self, lane: &Lane<'_>, interval: usize, times: &[f64]) -> Vec<Vec<f64>> {
        let mut at = 0;
        let mut one = |shape: &Shape| {
            let range = at..at + shape.len();
            at += shape.len();
            times.iter().flat_map(|&t| range.clone().map(move |k| self.forcing_at(lane, interval, t, k))).collect()
        };
        self.forcing_shapes.iter().map(&mut one).collect()
    }

    /// Runs one step of some lanes on an engine, each lane `times` times over, with further inputs of so many numbers each.
    #[allow(clippy::too_many_arguments, reason = "one call site each for values, derivatives and the way back")]
    pub(super) fn run(
        &self,
        engine: &Engine,
        workspace: &mut Workspace<f64>,
        states: &[f64],
        shared: &[&[f64]],
        (lanes, repeat): (&[(&Lane<'_>, Step)], usize),
        extra: &[(&[f64], usize)],
        outputs: &mut [&mut [f64]],
    ) -> Result<(), Unusable> {
        let own = self.gathered(lanes.iter().map(|(lane, _)| (*lane, repeat)));
        self.run_with(engine, workspace, states, (shared, &own), (lanes, repeat), extra, outputs)
    }

    /// The same with the constants that lanes have of their own.
    #[allow(clippy::too_many_arguments, reason = "as above")]
    fn run_with(
        &self,
        engine: &Engine,
        workspace: &mut Workspace<f64>,
        states: &[f64],
        (shared, own): (&[&[f64]], &[Vec<f64>]),
        (lanes, repeat): (&[(&Lane<'_>, Step)], usize),
        extra: &[(&[f64], usize)],
        outputs: &mut [&mut [f64]],
    ) -> Result<(), Unusable> {
        let (mut times, mut lengths) = (Vec::with_capacity(lanes.len() * repeat), Vec::with_capacity(lanes.len() * repeat));
        for (lane, step) in lanes {
            times.resize(times.len() + repeat, lane.time(step.time));
            lengths.resize(lengths.len() + repeat, lane.direction * step.length);
        }
        let mut forces: Vec<Vec<f64>> = Vec::with_capacity(2 * self.forcing_shapes.len());
        let mut at = 0;
        for shape in &self.forcing_shapes {
            for end in [false, true] {
                let mut all = Vec::with_capacity(lanes.len() * repeat * shape.len());
                for (lane, step) in lanes {
                    let time = if end { step.time + step.length } else { step.time };
                    let from = all.len();
                    // A map reads the forcing of the row it leaves.
                    let map = self.scheme.is_map();
                    let value = |k: usize| if map { lane.forcing[step.interval][k] } else { self.forcing_at(lane, step.interval, time, k) };
                    if *shape == Shape::Scalar {
                        all.resize(from + repeat, value(at));
                        continue;
                    }
                    all.extend((at..at + shape.len()).map(value));
                    (1..repeat).for_each(|_| all.extend_from_within(from..from + shape.len()));
                }
                forces.push(all);
            }
            at += shape.len();
        }
        let mut inputs: Vec<Column<'_, f64>> = Vec::with_capacity(3 + shared.len() + forces.len() + extra.len());
        inputs.push(Column::rows(states, self.size));
        inputs.extend(self.constant_columns(own, shared));
        inputs.push(Column::rows(&times, 1));
        inputs.push(Column::rows(&lengths, 1));
        for (k, force) in forces.iter().enumerate() {
            inputs.push(Column::rows(force, self.forcing_shapes[k / 2].len()));
        }
        inputs.extend(extra.iter().map(|e| Column::rows(e.0, e.1)));
        let how = |limits| BatchOptions { run: RunOptions { limits, ..RunOptions::default() }, ..BatchOptions::default() };
        let once = |limits| engine.run(workspace, &inputs, times.len(), outputs, &how(limits));
        let errors = self.effort.run(once).map_err(|e| Unusable(e.message))?;
        match errors.first() {
            None => Ok(()),
            Some(e) => Err(Unusable(format!("at time {}: {}", times[e.lane], e.error.message))),
        }
    }
}
