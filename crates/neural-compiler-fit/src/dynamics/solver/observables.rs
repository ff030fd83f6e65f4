//! What is observed of a solution besides its states. In: states along lanes, and their derivatives; out: the same with the observables and
//! their derivatives behind them.
//!
//! Observables are a graph of the inputs of the law. Their derivatives by directions are those of the states, carried on by the chain rule.

use super::field::Field;
use super::rows::Rows;
use super::{Directions, Lane, Path, Solver};
use crate::model::layout::Layout;
use crate::optimise::Unusable;
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Shape, diff};
use std::sync::OnceLock;

/// The observables of a law, ready to be computed.
pub(super) struct Observables {
    graph: Graph,
    /// Numbers of all of them.
    size: usize,
    uniform: Vec<bool>,
    /// States and free shared inputs, by which they are differentiated.
    wrt: Vec<usize>,
    value: Engine,
    derivatives: OnceLock<Result<Engine, Diagnostics>>,
}

/// Observables at every time of every lane, one after another, and their derivatives.
pub struct Observed {
    /// Numbers of a time.
    pub size: usize,
    values: Vec<f64>,
    by_states: Vec<f64>,
    by_free: Vec<f64>,
    /// Where each lane begins.
    first: Vec<usize>,
}

impl Observed {
    /// The numbers of a lane at one of its times.
    pub fn values(&self, lane: usize, at: usize) -> &[f64] {
        part(&self.values, self.first[lane] + at, self.size)
    }

    /// The derivatives of a number by the states.
    pub fn by_states(&self, lane: usize, at: usize, number: usize, states: usize) -> &[f64] {
        part(&self.by_states, (self.first[lane] + at) * self.size + number, states)
    }

    /// The derivatives of a number by the free shared numbers.
    pub fn by_free(&self, lane: usize, at: usize, number: usize, free: usize) -> &[f64] {
        part(&self.by_free, (self.first[lane] + at) * self.size + number, free)
    }
}

fn part(of: &[f64], number: usize, length: usize) -> &[f64] {
    &of[number * length..(number + 1) * length]
}

impl Observables {
    pub(super) fn new(field: &Field, layout: &Layout) -> Option<Observables> {
        let graph = field.observables.clone()?;
        let uniform: Vec<bool> = (0..graph.inputs.len()).map(|i| i >= 1 && i <= field.law.shared).collect();
        let mut wrt = vec![0];
        wrt.extend(layout.shared.iter().enumerate().filter(|(_, s)| s.at.is_some()).map(|(i, _)| 1 + i));
        let (value, size) = (Engine::new(&graph, &uniform), graph.outputs()[0].len());
        Some(Observables { graph, size, uniform, wrt, value, derivatives: OnceLock::new() })
    }

    /// The same for lanes that have constants of their own.
    pub(super) fn of_ensembles(&self) -> Observables {
        let uniform = vec![false; self.uniform.len()];
        let (graph, wrt) = (self.graph.clone(), self.wrt.clone());
        Observables { value: Engine::new(&graph, &uniform), graph, uniform, wrt, derivatives: OnceLock::new(), ..*self }
    }

    fn derivatives(&self) -> Result<&Engine, Unusable> {
        let make = || diff::jacobian(&self.graph, &self.wrt).map(|graph| Engine::new(&graph, &self.uniform));
        self.derivatives.get_or_init(make).as_ref().map_err(|e| Unusable(e.to_string()))
    }
}

impl Solver {
    /// Numbers that are observed besides the states.
    pub fn observables(&self) -> usize {
        self.observables.as_ref().map_or(0, |o| o.size)
    }

    /// The observables along lanes whose states are known, and where wanted their derivatives by states and free numbers.
    pub fn observed(&self, lanes: &[Lane<'_>], paths: &[Path], shared: &[&[f64]], derivatives: bool) -> Result<Option<Observed>, Unusable> {
        let Some(own) = &self.observables else { return Ok(None) };
        let mut first = Vec::with_capacity(lanes.len());
        let (mut states, mut times): (Vec<f64>, Vec<f64>) = Default::default();
        for (lane, path) in lanes.iter().zip(paths) {
            first.push(times.len());
            for (at, time) in lane.times.iter().enumerate() {
                states.extend_from_slice(&path.states[at][..self.size]);
                times.push(lane.time(*time));
            }
        }
        let rows = times.len();
        let forcing = self.forcing_of(lanes);
        let constants = self.gathered(lanes.iter().map(|lane| (lane, lane.times.len())));
        let mut inputs = vec![Column::rows(&states, self.size)];
        inputs.extend(self.constant_columns(&constants, shared));
        inputs.push(Column::rows(&times, 1));
        inputs.extend(forcing.iter().zip(&self.forcing_shapes).map(|(f, shape)| Column::rows(f, shape.len())));
        let blocks: Vec<usize> = if derivatives { std::iter::once(self.size).chain(self.free_sizes()).collect() } else { vec![] };
        let mut values = vec![0.0; rows * own.size];
        let mut slopes: Vec<Vec<f64>> = blocks.iter().map(|len| vec![0.0; rows * own.size * len]).collect();
        let mut outputs: Vec<&mut [f64]> = std::iter::once(&mut values[..]).chain(slopes.iter_mut().map(|s| &mut s[..])).collect();
        let engine = if derivatives { own.derivatives()? } else { &own.value };
        let how = |limits| BatchOptions { run: RunOptions { limits, ..RunOptions::default() }, ..BatchOptions::default() };
        let mut workspace = self.workspace();
        let outcome = self.effort.run(|limits| engine.run(&mut workspace, &inputs, rows, &mut outputs, &how(limits)));
        self.put_back(workspace);
        if let Some(e) = outcome.map_err(|e| Unusable(e.message))?.first() {
            return Err(Unusable(format!("an observable at time {}: {}", times[e.lane], e.error.message)));
        }
        let by_states = if derivatives { std::mem::take(&mut slopes[0]) } else { vec![] };
        let by_free = side_by_side(slopes.get(1..).unwrap_or(&[]), &blocks, rows * own.size);
        Ok(Some(Observed { size: own.size, values, by_states, by_free, first }))
    }

    /// Forcing at all times of all lanes, a row per time for each input.
    fn forcing_of(&self, lanes: &[Lane<'_>]) -> Vec<Vec<f64>> {
        let mut at = 0;
        let mut one = |shape: &Shape| {
            let range = at..at + shape.len();
            at += shape.len();
            lanes.iter().flat_map(|l| l.forcing.iter().flat_map(|row| row[range.clone()].iter().copied())).collect()
        };
        self.forcing_shapes.iter().map(&mut one).collect()
    }

    /// Paths with the observables behind the states.
    pub(super) fn with_observables(
        &self,
        lanes: &[Lane<'_>],
        shared: &[&[f64]],
        tangents: Option<Directions<'_>>,
        paths: Vec<Path>,
    ) -> Result<Vec<Path>, Unusable> {
        let Some(found) = self.observed(lanes, &paths, shared, tangents.is_some())? else { return Ok(paths) };
        let (n, free) = (self.size, self.columns());
        let extended = paths.iter().enumerate().map(|(lane, path)| {
            let times = lanes[lane].times.len();
            let mut states = Rows::new(n + found.size).with_room(times);
            (0..times).for_each(|at| states.push(path.states[at].iter().chain(found.values(lane, at)).copied()));
            let Some((q, _)) = tangents else { return Path { states, tangents: Rows::default() } };
            let mut all = Rows::new((n + found.size) * q).with_room(times);
            for at in 0..times {
                let slopes = &path.tangents[at];
                let of = |number: usize, d: usize| {
                    let by_states = found.by_states(lane, at, number, n);
                    let carried: f64 = by_states.iter().enumerate().map(|(k, x)| x * slopes[k * q + d]).sum();
                    // The free shared numbers are the last directions.
                    let own = (d + free).checked_sub(q).map_or(0.0, |j| found.by_free(lane, at, number, free)[j]);
                    carried + own
                };
                let behind = (0..found.size).flat_map(|number| (0..q).map(move |d| (number, d)));
                all.push(slopes.iter().copied().chain(behind.map(|(number, d)| of(number, d))));
            }
            Path { states, tangents: all }
        });
        Ok(extended.collect())
    }
}

/// Blocks of derivatives, a row per number each, as one.
fn side_by_side(blocks: &[Vec<f64>], widths: &[usize], rows: usize) -> Vec<f64> {
    let widths = widths.get(1..).unwrap_or(&[]);
    let one = |row: usize| blocks.iter().zip(widths).flat_map(move |(b, w)| b[row * w..(row + 1) * w].iter().copied());
    (0..rows).flat_map(one).collect()
}
