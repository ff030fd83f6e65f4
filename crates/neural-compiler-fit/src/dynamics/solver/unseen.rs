//! What the error estimate of a step does not see. In: a step that it calls good; out: whether the law has a structure finer than the
//! tolerance that the step went through, and the time at which the solution seems to end.
//!
//! An implicit step follows the slopes of the law where it begins. Where these are huge there and nowhere else, as that of (sqrt x) at
//! 10^-300, it moves by next to nothing, and so does its error. A solution that ends, as 1/(1 - t), has its end where the tolerance puts
//! it: as near to it as that, its values mean nothing, whatever the error of a single step is.

use super::events::At;
use super::{Lane, Solver, Step};
use crate::optimise::Unusable;
use neural_compiler::diff;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};

/// A change of a number, as a share of it, that is rounding.
const ROUNDED: f64 = 1e3 * f64::EPSILON;
/// The share of what a slope makes of a change by which the law may differ from it before the slope says nothing of the change.
const UNLIKE: f64 = 0.5;
/// How many times the share of the time that the tolerance is the end of a solution must lie ahead for its values to have a digit.
const AHEAD: f64 = 10.0;
/// The same of the next step, above which the law is not asked: close to an end steps are shorter than the way to it.
const SHORT: f64 = 10.0 * AHEAD;
/// Where a number goes to 0 by a smaller power of the time left than this, its slope has no end; where it passes 0, that power is 1.
const STEEP: f64 = 0.9;

/// Said of solutions that end.
pub(crate) const ENDS: &str = "the solution seems to end at about time";

impl Solver {
    /// Derivatives of the law along states: after its own inputs it takes that of these.
    fn law_along(&self) -> &Engine {
        self.engines.law_along.get_or_init(|| {
            let graph = diff::jvp(&self.engines.law.0, &[0]);
            Engine::new(&graph, &vec![false; graph.inputs.len()])
        })
    }

    /// Whether a step of an implicit method moved numbers by less than the tolerance along slopes that are not those of the law there,
    /// though the law would have moved them by more.
    pub(super) fn overlooks(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, step): (&Lane<'_>, Step),
        (before, after): (&[f64], &[f64]),
        shared: &[&[f64]],
    ) -> Result<bool, Unusable> {
        if !self.scheme.is_implicit() || !self.adaptive() {
            return Ok(false);
        }
        let allowed = |k: usize| self.tolerance.of(before[k].abs().max(after[k].abs()), self.sizes[k]);
        let slight = |k: &usize| {
            let moved = (after[*k] - before[*k]).abs();
            moved > ROUNDED * before[*k].abs().max(after[*k].abs()) && moved <= allowed(*k)
        };
        let which: Vec<usize> = (0..self.size).filter(slight).collect();
        if which.is_empty() {
            return Ok(false);
        }
        // These numbers alone go back: what time and the other states change is none of their slopes' matter.
        let (mut back, mut along) = (after.to_vec(), vec![0.0; self.size]);
        which.iter().for_each(|&k| (back[k], along[k]) = (before[k], after[k] - before[k]));
        let at = At { interval: step.interval, time: step.time + step.length };
        let there = self.slopes(workspace, &[(lane, at)], after, shared)?;
        let (here, linear) = self.along_states(workspace, (lane, at), (&back, &along), shared)?;
        Ok(which.iter().any(|&k| {
            let apart = (there[k] - here[k] - linear[k]).abs();
            !linear[k].is_finite() || apart > UNLIKE * linear[k].abs() && step.length * apart > allowed(k)
        }))
    }

    /// The law, and its derivative along a change of the states.
    fn along_states(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, at): (&Lane<'_>, At),
        (states, along): (&[f64], &[f64]),
        shared: &[&[f64]],
    ) -> Result<(Vec<f64>, Vec<f64>), Unusable> {
        let time = [lane.time(at.time)];
        let forces = self.forcing_at_times(lane, at.interval, &time.map(|_| at.time));
        let mut inputs: Vec<Column<'_, f64>> = vec![Column::rows(states, self.size)];
        inputs.extend(self.shared_of(lane, shared).into_iter().map(Column::shared));
        inputs.push(Column::rows(&time, 1));
        inputs.extend(forces.iter().map(|f| Column::rows(f, f.len())));
        inputs.push(Column::rows(along, self.size));
        let (mut value, mut linear) = (vec![0.0; self.size], vec![0.0; self.size]);
        let run = self.law_along().run(workspace, &inputs, 1, &mut [&mut value, &mut linear], &BatchOptions::default());
        match run.map_err(|e| Unusable(e.message))?.first() {
            Some(e) => Err(Unusable(format!("at time {}: {}", time[0], e.error.message))),
            None => Ok((value, linear)),
        }
    }

    /// Whether the law has a slope by its states that is not finite, so that an implicit method has no step there.
    pub(super) fn is_steep(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, step): (&Lane<'_>, Step),
        states: &[f64],
        shared: &[&[f64]],
    ) -> bool {
        let at = At { interval: step.interval, time: step.time };
        let finite = |k: usize| {
            let along: Vec<f64> = (0..self.size).map(|c| if c == k { 1.0 } else { 0.0 }).collect();
            let found = self.along_states(workspace, (lane, at), (states, &along), shared);
            found.is_ok_and(|(_, linear)| linear.iter().all(|x| x.is_finite()))
        };
        self.scheme.is_implicit() && !(0..self.size).all(finite)
    }

    /// The time at which the solution ends, where the end of a good step is so near to it that the tolerance hides which comes first.
    /// `next`: the length of the next step.
    pub(super) fn ends_near(
        &self,
        workspace: &mut Workspace<f64>,
        (lane, step): (&Lane<'_>, Step),
        (before, after): (&[f64], &[f64]),
        next: f64,
        shared: &[&[f64]],
    ) -> Result<Option<f64>, Unusable> {
        let end = step.time + step.length;
        let hidden = self.tolerance.relative * (end - lane.times[0]);
        if !self.adaptive() || next > SHORT * hidden {
            return Ok(None);
        }
        let at = |time: f64| (lane, At { interval: step.interval, time });
        let slopes = self.slopes(workspace, &[at(step.time), at(end)], &[before, after].concat(), shared)?;
        let (first, last) = slopes.split_at(self.size);
        // Of a power of the time left, x'/x is that power over it: two of them give both.
        let left = |k: usize| {
            let rates = (lane.direction * first[k] / before[k], lane.direction * last[k] / after[k]);
            let left = step.length * rates.0 / (rates.1 - rates.0);
            let ends = left > 0.0 && (rates.1 > 0.0 || -rates.1 * left < STEEP);
            (ends && left <= AHEAD * hidden && rates.1.abs() > rates.0.abs()).then_some(left)
        };
        Ok((0..self.size).find_map(left).map(|left| lane.time(end + left)))
    }
}
