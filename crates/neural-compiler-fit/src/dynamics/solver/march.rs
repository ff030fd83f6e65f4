//! Adaptive steps. In: a solver with an error estimate, lanes, directions to differentiate by, if any; out: the steps taken, states and
//! derivatives at the lanes' times.
//!
//! Derivatives are those of the steps taken, and their error estimate, the derivative of that of the states, has a say in how long
//! steps are. Without that say they can grow beyond all bounds where the solution does not: an explicit method at the limit of its
//! stability is saved by its errors, which shorten the next step, but to the derivative steps are given numbers.

use super::segments::{Course, Segment};
use super::tangents::{Tangents, turned};
use super::{Directions, Lane, Path, Solver, Step, TOO_MANY};
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::Workspace;
use neural_compiler::ode::control::Control;

/// Steps and paths of all lanes.
type Marched = (Vec<Vec<Step>>, Vec<Path>);

impl Solver {
    /// The error of a step in the states, as a share of what is allowed.
    fn error(&self, before: &[f64], after: &[f64], error: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (k, e) in error.iter().enumerate() {
            sum += (e / self.tolerance.of(before[k].abs().max(after[k].abs()), self.sizes[k])).powi(2);
        }
        (sum / error.len() as f64).sqrt()
    }

    /// Chooses steps by their error estimates; gives them, if they are wanted (`planned`), the states at the lanes' times and their
    /// derivatives.
    pub(super) fn march(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane<'_>],
        shared: &[&[f64]],
        courses: &[Course],
        control: Control,
        (planned, directions): (bool, Option<Directions<'_>>),
    ) -> Result<Marched, Unusable> {
        let n = self.size;
        let mut tangents = directions.map(|d| Tangents::new(self, shared, d));
        let copies = tangents.as_ref().map_or(1, |t| t.count);
        let engine = if tangents.is_some() { self.along() } else { self.value() };
        let mut plan: Vec<Vec<Step>> = vec![Vec::new(); lanes.len()];
        let mut paths: Vec<Path> = lanes.iter().enumerate().map(|(i, l)| Path::starting(l, directions.map(|d| &d.1[i][..]))).collect();
        let mut now: Vec<(f64, Vec<f64>)> = lanes.iter().map(|l| (l.times[0], l.start.clone())).collect();
        let begin = |s: &Segment| (1e-2 * (s.to - s.from)).min(self.longest);
        let mut wanted: Vec<f64> = courses.iter().map(|c| c.segments.first().map_or(0.0, begin)).collect();
        // The segment each lane is in, and whether it has just come to it.
        let mut at = vec![(0usize, true); lanes.len()];
        let mut tries = vec![0usize; lanes.len()];
        let mut active: Vec<usize> = (0..lanes.len()).filter(|&i| lanes[i].times.len() > 1).collect();
        let (mut states, mut next, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut ends = Vec::new();
        let (mut slopes, mut moved, mut strays) = (Vec::new(), Vec::new(), Vec::new());
        let (mut batch, mut still): (Vec<(&Lane<'_>, Step)>, Vec<usize>) = (Vec::new(), Vec::new());
        let patience = self.effort.steps(self.most);
        while !active.is_empty() {
            if self.effort.stopped() {
                return Err(Unusable("stopped".into()));
            }
            states.clear();
            slopes.clear();
            ends.clear();
            batch.clear();
            still.clear();
            for &i in &active {
                let segment = &courses[i].segments[at[i].0];
                let left = segment.to - now[i].0;
                let stop = segment.stop.filter(|_| at[i].1);
                // A last step a little longer than wanted beats a tiny one after it.
                let last = wanted[i] >= left * (1.0 - 1e-10) || wanted[i] * 1.01 >= left;
                let step = Step { time: now[i].0, length: wanted[i], interval: segment.interval, last: false, stop };
                batch.push((&lanes[i], if last { segment.end_from(&lanes[i], now[i].0, stop) } else { step }));
                ends.push(last);
                (0..copies).for_each(|_| states.extend_from_slice(&now[i].1));
                if let Some(t) = &tangents {
                    slopes.extend_from_slice(&t.lanes[i]);
                }
            }
            next.resize(states.len(), 0.0);
            errors.resize(states.len(), 0.0);
            let mut extra: Vec<(&[f64], usize)> = Vec::new();
            if let Some(t) = &tangents {
                moved.resize(states.len(), 0.0);
                strays.resize(states.len(), 0.0);
                extra.push((&slopes, n));
                extra.extend(t.seeds(active.len()));
            }
            let mut outputs: [&mut [f64]; 4] = [&mut next, &mut errors, &mut moved, &mut strays];
            let results = if tangents.is_some() { 4 } else { 2 };
            self.run(engine, workspace, &states, shared, (&batch, copies), &extra, &mut outputs[..results])?;
            for (a, &i) in active.iter().enumerate() {
                let all = a * copies * n..(a + 1) * copies * n;
                let one = all.start..all.start + n;
                let (before, after) = (&states[one.clone()], &next[one.clone()]);
                let step = batch[a].1;
                tries[i] += 1;
                let mut error = self.error(before, after, &errors[one]);
                if let Some(t) = &tangents {
                    let stray = t.error(&slopes[all.clone()], &moved[all.clone()], &strays[all.clone()], &self.sizes);
                    error = if stray.is_nan() { stray } else { error.max(stray) };
                }
                let fine = error.is_finite() && after.iter().all(|x| x.is_finite());
                let factor = control.factor(error, fine);
                if fine && error <= 1.0 {
                    if planned {
                        plan[i].push(step);
                    }
                    now[i].0 = step.time + step.length;
                    now[i].1.copy_from_slice(after);
                    // A step cut short by a row says little against longer ones.
                    wanted[i] = if ends[a] { wanted[i].max(step.length * factor) } else { step.length * factor }.min(self.longest);
                    at[i].1 = false;
                    if let Some(t) = &mut tangents {
                        t.lanes[i].copy_from_slice(&moved[all]);
                    }
                    if step.last {
                        paths[i].states.push(after.iter().copied());
                        if let Some(t) = &tangents {
                            paths[i].tangents.push(turned(&t.lanes[i], copies, n));
                        }
                    }
                    if ends[a] {
                        at[i] = (at[i].0 + 1, true);
                        if let Some(segment) = courses[i].segments.get(at[i].0) {
                            now[i].0 = segment.from;
                            if let Some(stop) = segment.stop.map(|s| &courses[i].stops[s]) {
                                // Behind a jump nothing is known of how long steps may be.
                                wanted[i] = wanted[i].min(begin(segment));
                                if let Some(t) = tangents.as_mut().filter(|_| !stop.moves.is_empty()) {
                                    let jump = self.jump(
                                        workspace,
                                        &lanes[i],
                                        Step { interval: segment.interval, ..step },
                                        stop,
                                        &now[i].1,
                                        shared,
                                    )?;
                                    t.jump(i, &jump, &stop.moves);
                                }
                            }
                        }
                    }
                } else {
                    wanted[i] = step.length * factor;
                    if wanted[i] <= 1e-14 * step.time.abs().max(1e-300) || wanted[i] < 1e-290 {
                        let left = if fine { None } else { self.left_domain(workspace, &lanes[i], step, before, shared) };
                        let time = lanes[i].time(step.time);
                        return Err(Unusable(match left {
                            Some(operation) => format!("the solution ends at time {time}, where {operation}"),
                            None if fine => format!("the step size collapses at time {time}"),
                            None => format!("the solution diverges at time {time}"),
                        }));
                    }
                }
                if tries[i] > self.most {
                    return Err(Unusable(format!("more than {} {TOO_MANY}; time {} was reached", self.most, lanes[i].time(step.time))));
                }
                // Nothing is wrong with the method: there is nothing to be found here.
                if tries[i] > patience {
                    return Err(Unusable(format!("many times as many steps as at the first start at time {}", lanes[i].time(step.time))));
                }
                if paths[i].states.len() < lanes[i].times.len() {
                    still.push(i);
                }
            }
            std::mem::swap(&mut active, &mut still);
        }
        self.effort.took(tries.into_iter().max().unwrap_or(0));
        Ok((plan, paths))
    }
}
