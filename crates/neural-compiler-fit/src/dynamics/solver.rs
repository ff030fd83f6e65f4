//! The solver: states along trajectories, many at a time. In: the graphs of a step, lanes with a start and times to pass; out: the states
//! at those times, and on request their derivatives by chosen directions.
//!
//! All lanes take their k-th step together, one lane of the batch engine each. With fixed steps the steps are known beforehand; with
//! adaptive ones each lane chooses its own, and derivatives are those of the steps taken.
//! Invariants: a lane's result does not depend on the others; every run ends: steps are counted, and a step that shrinks to nothing or
//! a state that is not finite is reported with its time.

use super::field::Field;
use super::steps::{self, Scheme};
use crate::layout::Layout;
use crate::least::Unusable;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Shape, diff};
use std::sync::{Mutex, OnceLock};

/// The engines of a solver.
pub struct Solver {
    scheme: Scheme,
    /// Numbers of the states.
    pub size: usize,
    value: Engine,
    derivative: Engine,
    /// A step without its error estimate and what it is differentiated by, for the way back; its engine is made when first needed.
    plain: (Graph, Vec<usize>),
    adjoint: OnceLock<Result<Engine, Diagnostics>>,
    /// Shapes of the shared inputs, and which are free.
    shared: Vec<(Shape, bool)>,
    forcing_shapes: Vec<Shape>,
    /// Longest step; for fixed steps the step aimed at, for a map the time a step takes.
    longest: f64,
    tolerance: f64,
    /// Size of each number of the states, for the absolute tolerance.
    pub sizes: Vec<f64>,
    pool: Mutex<Vec<Workspace<f64>>>,
}

/// A stretch to be solved: from a start through some times.
#[derive(Clone, Debug)]
pub struct Lane {
    /// States at the first time.
    pub start: Vec<f64>,
    /// The time its times are counted from, and 1 where they run forward from there, -1 where backward.
    pub origin: f64,
    /// See `origin`.
    pub direction: f64,
    /// Times since the origin, rising, the first being that of the start.
    pub times: Vec<f64>,
    /// Forcing at these times.
    pub forcing: Vec<Vec<f64>>,
}

impl Lane {
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
}

/// States along a lane: `states[i]` at the lane's time `i`; and, with directions, the derivative of each state by each direction, state
/// by state.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// States at each time.
    pub states: Vec<Vec<f64>>,
    /// Derivatives at each time; empty when not wanted.
    pub tangents: Vec<Vec<f64>>,
}

/// Most steps of one lane.
const MOST_STEPS: usize = 100_000;

impl Solver {
    /// A solver for a law.
    pub fn new(field: &Field, layout: &Layout, scheme: Scheme, longest: Option<f64>, tolerance: f64) -> Result<Solver, Diagnostics> {
        let value = steps::step(field, scheme, scheme.error_order().is_some());
        let plain = steps::step(field, scheme, false);
        let uniform: Vec<bool> = (0..value.inputs.len()).map(|i| i >= 1 && i <= field.shared).collect();
        let mut wrt = vec![0];
        wrt.extend(layout.shared.iter().enumerate().filter(|(_, s)| s.at.is_some()).map(|(i, _)| 1 + i));
        let derivative = diff::jacobian(&plain, &wrt);
        Ok(Solver {
            scheme,
            size: field.size,
            value: Engine::new(&value, &uniform),
            derivative: Engine::new(&derivative, &uniform),
            plain: (plain, wrt),
            adjoint: OnceLock::new(),
            shared: layout.shared.iter().map(|s| (s.shape, s.at.is_some())).collect(),
            forcing_shapes: field.forcing.iter().map(|f| f.shape).collect(),
            longest: longest.unwrap_or(f64::INFINITY),
            tolerance,
            sizes: vec![1.0; field.size],
            pool: Mutex::default(),
        })
    }

    /// How it moves on.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether it chooses its steps by their error.
    pub fn adaptive(&self) -> bool {
        self.scheme.error_order().is_some()
    }

    /// The same solver for other sizes of the states.
    pub fn with_sizes(mut self, sizes: Vec<f64>) -> Solver {
        self.sizes = sizes;
        self
    }

    /// The sizes of the free shared inputs, in order.
    pub(super) fn free_sizes(&self) -> impl Iterator<Item = usize> {
        self.shared.iter().filter(|s| s.1).map(|s| s.0.len())
    }

    /// Free numbers the derivative has columns for.
    pub(super) fn columns(&self) -> usize {
        self.free_sizes().sum()
    }

    /// The engine of the way back: its last results, the derivatives by the free shared numbers, are summed over lanes.
    pub(super) fn adjoint(&self) -> Result<&Engine, Unusable> {
        let make = || {
            let (plain, wrt) = &self.plain;
            let graph = diff::vjp(plain, wrt)?;
            let uniform: Vec<bool> = graph.inputs.iter().enumerate().map(|(i, _)| i >= 1 && i <= self.shared.len()).collect();
            let reduced: Vec<bool> = (0..graph.main().results.len()).map(|k| k >= 2).collect();
            Ok(Engine::reduced(&graph, &uniform, &reduced))
        };
        self.adjoint.get_or_init(make).as_ref().map_err(|e: &Diagnostics| Unusable(e.to_string()))
    }

    pub(super) fn workspace(&self) -> Workspace<f64> {
        self.pool.lock().expect("no panic holds it").pop().unwrap_or_default()
    }

    pub(super) fn put_back(&self, workspace: Workspace<f64>) {
        self.pool.lock().expect("no panic holds it").push(workspace);
    }

    /// The steps of all lanes.
    pub(super) fn plan(&self, workspace: &mut Workspace<f64>, lanes: &[Lane], shared: &[&[f64]]) -> Result<Vec<Vec<Step>>, Unusable> {
        match self.scheme.error_order() {
            None => lanes.iter().map(|l| self.fixed_steps(l)).collect(),
            Some(order) => Ok(self.adapt(workspace, lanes, shared, order)?.0),
        }
    }

    /// One step of some lanes: states, and the error estimate of adaptive schemes.
    pub(super) fn forward(
        &self,
        workspace: &mut Workspace<f64>,
        states: &[f64],
        shared: &[&[f64]],
        lanes: &[(&Lane, Step)],
        outputs: &mut [&mut [f64]],
    ) -> Result<(), Unusable> {
        self.run(&self.value, workspace, states, shared, lanes, &[], outputs)
    }

    fn fixed_steps(&self, lane: &Lane) -> Result<Vec<Step>, Unusable> {
        let mut steps = Vec::new();
        for (interval, pair) in lane.times.windows(2).enumerate() {
            let span = pair[1] - pair[0];
            // The times of a map are whole numbers of steps.
            let count = if self.scheme == Scheme::Map { (span / self.longest).round() } else { (span / self.longest * (1.0 - 1e-9)).ceil() };
            let count = count.max(1.0) as usize;
            if steps.len() + count > MOST_STEPS {
                return Err(Unusable(format!("a trajectory needs more than {MOST_STEPS} steps of {}", self.longest)));
            }
            let length = span / count as f64;
            steps.extend((0..count).map(|k| Step { time: pair[0] + k as f64 * length, length, interval, last: k + 1 == count }));
        }
        Ok(steps)
    }

    /// Solves all lanes. `shared`: the values of the shared inputs. `tangents`: per lane the derivative of its start by `directions`
    /// directions, the free shared numbers being the last of them.
    pub fn solve(&self, lanes: &[Lane], shared: &[&[f64]], tangents: Option<(usize, &[Vec<f64>])>) -> Result<Vec<Path>, Unusable> {
        let mut workspace = self.workspace();
        let outcome = self.solve_in(&mut workspace, lanes, shared, tangents);
        self.put_back(workspace);
        outcome
    }

    fn solve_in(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane],
        shared: &[&[f64]],
        tangents: Option<(usize, &[Vec<f64>])>,
    ) -> Result<Vec<Path>, Unusable> {
        let (plan, paths) = match self.scheme.error_order() {
            None => (lanes.iter().map(|l| self.fixed_steps(l)).collect::<Result<Vec<_>, _>>()?, None),
            Some(order) => {
                let (plan, paths) = self.adapt(workspace, lanes, shared, order)?;
                (plan, Some(paths))
            }
        };
        match (paths, tangents) {
            (Some(paths), None) => Ok(paths),
            (_, tangents) => self.sweep(workspace, lanes, shared, &plan, tangents),
        }
    }

    /// Steps needed for the first lanes, tried or taken; `None` when they cannot be solved.
    pub fn work(&self, lanes: &[Lane], shared: &[&[f64]]) -> Option<usize> {
        let order = self.scheme.error_order()?;
        let (plan, _) = self.adapt(&mut Workspace::new(), &lanes[..lanes.len().min(4)], shared, order).ok()?;
        Some(plan.iter().map(Vec::len).sum())
    }

    /// Forcing at a time within an interval of a lane.
    fn forcing_at(lane: &Lane, interval: usize, time: f64, k: usize) -> f64 {
        let (t0, t1) = (lane.times[interval], lane.times[interval + 1]);
        let (u0, u1) = (lane.forcing[interval][k], lane.forcing[interval + 1][k]);
        if time >= t1 { u1 } else { u0 + (u1 - u0) * ((time - t0) / (t1 - t0)) }
    }

    /// Runs one step of some lanes on an engine.
    #[allow(clippy::too_many_arguments, reason = "one call site each for values, derivatives and the way back")]
    pub(super) fn run(
        &self,
        engine: &Engine,
        workspace: &mut Workspace<f64>,
        states: &[f64],
        shared: &[&[f64]],
        lanes: &[(&Lane, Step)],
        extra: &[&[f64]],
        outputs: &mut [&mut [f64]],
    ) -> Result<(), Unusable> {
        let times: Vec<f64> = lanes.iter().map(|(lane, step)| lane.time(step.time)).collect();
        let lengths: Vec<f64> = lanes.iter().map(|(lane, step)| lane.direction * step.length).collect();
        let mut forces: Vec<Vec<f64>> = Vec::new();
        let mut at = 0;
        for shape in &self.forcing_shapes {
            for end in [false, true] {
                let value = |(lane, step): &(&Lane, Step), k: usize| {
                    let time = if end { step.time + step.length } else { step.time };
                    // A map reads the forcing of the row it leaves.
                    if self.scheme == Scheme::Map { lane.forcing[step.interval][k] } else { Self::forcing_at(lane, step.interval, time, k) }
                };
                forces.push(lanes.iter().flat_map(|l| (at..at + shape.len()).map(move |k| value(l, k))).collect());
            }
            at += shape.len();
        }
        let mut inputs: Vec<Column<'_, f64>> = vec![Column::rows(states, self.size)];
        inputs.extend(shared.iter().map(|v| Column::shared(v)));
        inputs.push(Column::rows(&times, 1));
        inputs.push(Column::rows(&lengths, 1));
        for (k, force) in forces.iter().enumerate() {
            inputs.push(Column::rows(force, self.forcing_shapes[k / 2].len()));
        }
        inputs.extend(extra.iter().map(|e| Column::rows(e, self.size)));
        let errors = engine.run(workspace, &inputs, lanes.len(), outputs, &BatchOptions::default()).map_err(|e| Unusable(e.message))?;
        match errors.first() {
            None => Ok(()),
            Some(e) => Err(Unusable(format!("at time {}: {}", times[e.lane], e.error.message))),
        }
    }

    /// Chooses steps by their error estimate; gives them and the states at the lanes' times.
    fn adapt(&self, workspace: &mut Workspace<f64>, lanes: &[Lane], shared: &[&[f64]], order: f64) -> Result<(Vec<Vec<Step>>, Vec<Path>), Unusable> {
        let n = self.size;
        let mut plan: Vec<Vec<Step>> = vec![Vec::new(); lanes.len()];
        let mut paths: Vec<Path> = lanes.iter().map(|l| Path { states: vec![l.start.clone()], tangents: vec![] }).collect();
        let mut now: Vec<(f64, Vec<f64>)> = lanes.iter().map(|l| (l.times[0], l.start.clone())).collect();
        let mut wanted: Vec<f64> = lanes.iter().map(|l| l.times.get(1).map_or(0.0, |t| (1e-2 * (t - l.times[0])).min(self.longest))).collect();
        let mut tries = vec![0usize; lanes.len()];
        let mut active: Vec<usize> = (0..lanes.len()).filter(|&i| lanes[i].times.len() > 1).collect();
        let (mut states, mut next, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        while !active.is_empty() {
            states.clear();
            let mut batch: Vec<(&Lane, Step)> = Vec::with_capacity(active.len());
            for &i in &active {
                let interval = paths[i].states.len() - 1;
                let left = lanes[i].times[interval + 1] - now[i].0;
                // A last step a little longer than wanted beats a tiny one after it.
                let last = wanted[i] >= left * (1.0 - 1e-10) || wanted[i] * 1.01 >= left;
                let length = if last { left } else { wanted[i] };
                batch.push((&lanes[i], Step { time: now[i].0, length, interval, last }));
                states.extend_from_slice(&now[i].1);
            }
            next.resize(states.len(), 0.0);
            errors.resize(states.len(), 0.0);
            self.run(&self.value, workspace, &states, shared, &batch, &[], &mut [&mut next, &mut errors])?;
            let steps: Vec<Step> = batch.iter().map(|b| b.1).collect();
            let mut still = Vec::with_capacity(active.len());
            for (a, &i) in active.iter().enumerate() {
                let (before, after, error) = (&states[a * n..(a + 1) * n], &next[a * n..(a + 1) * n], &errors[a * n..(a + 1) * n]);
                let step = steps[a];
                tries[i] += 1;
                let mut sum = 0.0;
                for k in 0..n {
                    let scale = self.tolerance * (before[k].abs().max(after[k].abs()) + 1e-4 * self.sizes[k]);
                    sum += (error[k] / scale).powi(2);
                }
                let error = (sum / n as f64).sqrt();
                let fine = error.is_finite() && after.iter().all(|x| x.is_finite());
                let factor = if !fine {
                    0.1
                } else if error == 0.0 {
                    5.0
                } else {
                    (0.9 * error.powf(-1.0 / order)).clamp(0.2, 5.0)
                };
                if fine && error <= 1.0 {
                    plan[i].push(step);
                    now[i] = (if step.last { lanes[i].times[step.interval + 1] } else { step.time + step.length }, after.to_vec());
                    // A step cut short by a row says little against longer ones.
                    wanted[i] = if step.last { wanted[i].max(step.length * factor) } else { step.length * factor }.min(self.longest);
                    if step.last {
                        paths[i].states.push(after.to_vec());
                    }
                } else {
                    wanted[i] = step.length * factor;
                    if wanted[i] <= 1e-14 * step.time.abs().max(1e-300) || wanted[i] < 1e-290 {
                        let why = if fine { "the step size collapses" } else { "the solution diverges" };
                        return Err(Unusable(format!("{why} at time {}", lanes[i].time(step.time))));
                    }
                }
                if tries[i] > MOST_STEPS {
                    return Err(Unusable(format!("more than {MOST_STEPS} steps are needed; time {} was reached", lanes[i].time(step.time))));
                }
                if paths[i].states.len() < lanes[i].times.len() {
                    still.push(i);
                }
            }
            active = still;
        }
        Ok((plan, paths))
    }

    /// Walks the lanes along their steps, with derivatives where wanted.
    fn sweep(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane],
        shared: &[&[f64]],
        plan: &[Vec<Step>],
        tangents: Option<(usize, &[Vec<f64>])>,
    ) -> Result<Vec<Path>, Unusable> {
        let n = self.size;
        let (directions, own) = (tangents.map_or(0, |t| t.0), self.columns());
        let mut order: Vec<usize> = (0..lanes.len()).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(plan[i].len()), i));
        let mut states: Vec<f64> = order.iter().flat_map(|&i| lanes[i].start.iter().copied()).collect();
        let mut slopes: Vec<Vec<f64>> = tangents.map_or(vec![], |t| order.iter().map(|&i| t.1[i].clone()).collect());
        let mut paths: Vec<Path> = lanes
            .iter()
            .enumerate()
            .map(|(i, l)| Path { states: vec![l.start.clone()], tangents: tangents.map_or(vec![], |t| vec![t.1[i].clone()]) })
            .collect();
        let mut next = vec![0.0; states.len()];
        let mut by_state = vec![0.0; lanes.len() * n * n];
        let mut by_shared = vec![0.0; lanes.len() * n * own];
        let mut moved = vec![0.0; n * directions];
        for k in 0.. {
            let count = order.iter().take_while(|&&i| plan[i].len() > k).count();
            if count == 0 {
                break;
            }
            let batch: Vec<(&Lane, Step)> = order[..count].iter().map(|&i| (&lanes[i], plan[i][k])).collect();
            if tangents.is_none() {
                // Adaptive lanes have their states already: this is a scheme of fixed steps, without an error estimate.
                self.run(&self.value, workspace, &states[..count * n], shared, &batch, &[], &mut [&mut next[..count * n]])?;
            } else {
                let mut outputs: Vec<&mut [f64]> = vec![&mut next[..count * n], &mut by_state[..count * n * n]];
                let mut rest: &mut [f64] = &mut by_shared;
                for (shape, _) in self.shared.iter().filter(|s| s.1) {
                    let (block, behind) = rest.split_at_mut(count * n * shape.len());
                    outputs.push(block);
                    rest = behind;
                }
                self.run(&self.derivative, workspace, &states[..count * n], shared, &batch, &[], &mut outputs)?;
            }
            for (a, &i) in order[..count].iter().enumerate() {
                let step = batch[a].1;
                if let Some(bad) = next[a * n..(a + 1) * n].iter().find(|x| !x.is_finite()) {
                    return Err(Unusable(format!("the solution diverges ({bad}) at time {}", lanes[i].time(step.time + step.length))));
                }
                if tangents.is_some() {
                    let matrix = &by_state[a * n * n..(a + 1) * n * n];
                    moved.fill(0.0);
                    for r in 0..n {
                        let out = &mut moved[r * directions..(r + 1) * directions];
                        for c in 0..n {
                            let factor = matrix[r * n + c];
                            out.iter_mut().zip(&slopes[a][c * directions..(c + 1) * directions]).for_each(|(o, s)| *o += factor * s);
                        }
                        let (mut from, mut column) = (0, directions - own);
                        for (shape, _) in self.shared.iter().filter(|s| s.1) {
                            let block = &by_shared[from + (a * n + r) * shape.len()..][..shape.len()];
                            out[column..column + shape.len()].iter_mut().zip(block).for_each(|(o, x)| *o += x);
                            from += count * n * shape.len();
                            column += shape.len();
                        }
                    }
                    slopes[a].copy_from_slice(&moved);
                }
                if step.last {
                    paths[i].states.push(next[a * n..(a + 1) * n].to_vec());
                    if tangents.is_some() {
                        paths[i].tangents.push(slopes[a].clone());
                    }
                }
            }
            states[..count * n].copy_from_slice(&next[..count * n]);
        }
        Ok(paths)
    }
}
