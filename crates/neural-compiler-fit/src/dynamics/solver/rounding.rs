//! What rounding alone makes of a solution. In: a lane and its solution; out: for each number of the states, and of what else is observed,
//! how far errors in the last digits of the terms of its equation may take it. A state whose terms cancel, as in x + y - 1 where x + y = 1,
//! has no digit beyond that, however accurately it is solved.
//!
//! The terms of an equation are not known one by one: each state counts with its derivative there, as in a first-order expansion.

use super::events::{At, Function};
use super::{Lane, Path, Solver};
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::Workspace;

/// The share of the terms that add up along a solution which rounding of its steps, thousands of them, may come to.
const SHARE: f64 = 1e-13;

impl Solver {
    /// How fast the states, each by itself, let each number of the states change: `others` leaves out what it does by itself.
    fn flows(&self, workspace: &mut Workspace<f64>, of: (&Lane<'_>, usize), states: &[f64], shared: &[&[f64]], others: bool) -> Flows {
        let (lane, row) = of;
        let law: &Function = self.law_at_start();
        let at = At { interval: row.min(lane.times.len().saturating_sub(2)), time: lane.times[row] };
        let found = self.derived(law, workspace, (lane, at), states, shared)?;
        let n = self.size;
        let flow = |k: usize| (0..n).filter(|j| !(others && *j == k)).map(|j| (found.states[k * n + j] * states[j]).abs()).sum();
        Ok((0..n).map(flow).collect())
    }

    /// How far rounding may take the states, and what else is observed, until the end of a lane.
    pub(crate) fn rounding(&self, lane: &Lane<'_>, path: &Path, shared: &[&[f64]]) -> Result<Vec<f64>, Unusable> {
        let (n, mut workspace) = (self.size, Workspace::new());
        let mut all = vec![0.0; n];
        for row in 0..lane.times.len() - 1 {
            let length = lane.times[row + 1] - lane.times[row];
            // The larger of both ends of an interval.
            let begins = self.flows(&mut workspace, (lane, row), &path.states[row][..n], shared, false)?;
            let ends = self.flows(&mut workspace, (lane, row + 1), &path.states[row + 1][..n], shared, false)?;
            all.iter_mut().zip(begins.iter().zip(ends)).for_each(|(sum, (a, b))| *sum += SHARE * length * a.max(b));
        }
        let lanes = [Lane { start: lane.start.clone(), events: lane.events.clone(), ..*lane }];
        let observed = self.observed(&lanes, std::slice::from_ref(path), shared, true)?;
        let of = |k: usize, row: usize| {
            let slopes = observed.as_ref().map_or(&[][..], |o| o.by_states(0, row, k, n));
            slopes.iter().zip(&path.states[row]).zip(&all).map(|((by, x), error)| by.abs() * (error + SHARE * x.abs())).sum::<f64>()
        };
        let more: Vec<f64> = (0..self.observables()).map(|k| (0..lane.times.len()).map(|row| of(k, row)).fold(0.0, f64::max)).collect();
        Ok([all, more].concat())
    }

    /// Which numbers of the states start at so little that the rounding of their equations alone, by what other states are, is more in the
    /// end: where they start is lost, and says nothing of how large they are.
    pub(crate) fn lost_starts(&self, lane: &Lane<'_>, shared: &[&[f64]]) -> Vec<bool> {
        let largest = lane.start.iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
        let tiny = |x: &f64| *x != 0.0 && x.abs() < SHARE * largest;
        if self.scheme.is_map() || !lane.start.iter().any(tiny) {
            return vec![false; lane.start.len()];
        }
        let span = lane.times[lane.times.len() - 1] - lane.times[0];
        let flows = self.flows(&mut Workspace::new(), (lane, 0), &lane.start, shared, true).unwrap_or_else(|_| vec![0.0; self.size]);
        lane.start.iter().zip(flows).map(|(x, flow)| tiny(x) && x.abs() <= f64::EPSILON * flow * span).collect()
    }
}

/// One for each number of the states.
type Flows = Result<Vec<f64>, Unusable>;
