//! Stretches without a jump. In: a lane and the times at which the law changes its form; out: the segments a solver may cross in steps of
//! any length, and what a jump at their beginning does to derivatives.
//!
//! A step never crosses a stop. The one before it ends at the last time of the old form, so that all its stages see that form; the next
//! begins at the first time of the new one, which is the next number: the states are carried over. Events at times stop a lane likewise.

pub(super) use super::switches::Stop;
use super::switches::Switches;
use super::{Lane, Solver, Step};
use crate::optimise::Unusable;
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Workspace};
use std::sync::Arc;

/// The share of a time by which a change of the law and a row are at one time.
const ALIKE: f64 = 1e-9;

/// A stretch within an interval between two times of a lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Segment {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) interval: usize,
    /// It ends at the end of its interval.
    pub(super) last: bool,
    /// It ends at a stop, which no stage may cross.
    pub(super) hard: bool,
    /// The stop it begins at.
    pub(super) stop: Option<usize>,
}

/// A lane's stops and the segments between them.
pub(super) struct Course {
    pub(super) stops: Arc<Vec<Stop>>,
    pub(super) segments: Vec<Segment>,
}

impl Segment {
    /// The step from a time to the end, `jump` being the one it begins with.
    pub(super) fn end_from(self, lane: &Lane<'_>, time: f64, jump: Option<usize>) -> Step {
        let mut length = self.to - time;
        // The last stage computes its time by a sum of its own, which may be rounded beyond the stop.
        let (now, end) = (lane.time(time), lane.time(self.to));
        let rounding = f64::EPSILON * end.abs().max(now.abs());
        while self.hard && length > rounding && lane.direction * (now + lane.direction * length) > lane.direction * end {
            length -= rounding;
        }
        Step { time, length, interval: self.interval, last: self.last, jump }
    }
}

impl Course {
    pub(super) fn new(lane: &Lane<'_>, stops: Arc<Vec<Stop>>) -> Course {
        let stops = if lane.events.is_empty() { stops } else { Arc::new(with_events(lane, &stops)) };
        let mut segments = Vec::with_capacity(lane.times.len() + stops.len());
        let mut next = 0;
        // A stop that falls on a row is where the next interval begins.
        let mut pending = None;
        for (interval, pair) in lane.times.windows(2).enumerate() {
            let (mut from, mut stop) = (pair[0], pending.take());
            let first = segments.len();
            while next < stops.len() && stops[next].before < pair[1] {
                let s = &stops[next];
                if s.before > from {
                    segments.push(Segment { from, to: s.before, interval, last: false, hard: s.before < s.after, stop });
                }
                (from, stop) = (from.max(s.after), Some(next));
                next += 1;
            }
            if from < pair[1] || segments.len() == first {
                segments.push(Segment {
                    from: from.min(pair[0].max(pair[1].next_down())),
                    to: pair[1],
                    interval,
                    last: false,
                    hard: false,
                    stop,
                });
            } else {
                pending = stop;
            }
            if let Some(end) = segments.last_mut() {
                end.last = true;
            }
        }
        Course { stops, segments }
    }
}

/// The stops of a lane with what happens at times of its own: at the time of a stop, or at a further one. Its last time is not passed: what
/// happens there is seen by no row.
fn with_events(lane: &Lane<'_>, stops: &[Stop]) -> Vec<Stop> {
    let (from, to) = (lane.times[0], lane.times[lane.times.len() - 1]);
    let mut all = stops.to_vec();
    for event in lane.events.iter().filter(|e| e.time >= from && e.time < to) {
        match all.iter_mut().find(|s| s.before <= event.time && event.time <= s.after) {
            Some(stop) => stop.events.push(event.clone()),
            None => all.push(Stop { before: event.time, after: event.time, moves: vec![], events: vec![event.clone()] }),
        }
    }
    all.sort_by(|a, b| a.before.total_cmp(&b.before));
    all
}

/// The row, but for the first, that is at a time.
fn row_at(times: &[f64], time: f64) -> Option<usize> {
    let near = ALIKE * time.abs().max(times[times.len() - 1] - times[0]);
    let row = times.partition_point(|t| *t < time - near).max(1);
    (row < times.len() && times[row] <= time + near).then_some(row)
}

impl Solver {
    /// The course of every lane.
    pub(super) fn courses(&self, lanes: &[Lane<'_>], shared: &[&[f64]]) -> Result<Vec<Arc<Course>>, Unusable> {
        let mut all: Vec<Arc<Course>> = Vec::with_capacity(lanes.len());
        for (i, lane) in lanes.iter().enumerate() {
            let stops = match self.switches() {
                Some(switches) if lane.times.len() > 1 => switches.stops(lane, &self.shared_of(lane, shared))?,
                _ => Arc::default(),
            };
            let bare = |lane: &Lane<'_>| stops.is_empty() && lane.events.is_empty();
            // Sets of an ensemble share their times.
            let same = i.checked_sub(1).filter(|&k| {
                let (a, b) = (lanes[k].times, lane.times);
                all[k].stops.is_empty() && bare(&lanes[k]) && bare(lane) && a.as_ptr() == b.as_ptr() && a.len() == b.len()
            });
            all.push(match same {
                Some(k) => all[k].clone(),
                None => Arc::new(Course::new(lane, stops)),
            });
        }
        Ok(all)
    }

    /// What solutions may have overlooked since the last time this was asked.
    pub(crate) fn doubt(&self) -> Option<String> {
        self.switches().and_then(Switches::doubt)
    }

    /// The time of a row at which the law jumps, where that time moves with the parameters.
    pub(crate) fn jumps_at_row(&self, lanes: &[Lane<'_>], shared: &[&[f64]]) -> Option<f64> {
        let courses = self.courses(lanes, shared).ok()?;
        let mut workspace = Workspace::new();
        for (k, lane) in lanes.iter().enumerate() {
            let moving = courses[k].stops.iter().filter(|s| s.moves.iter().any(|m| *m != 0.0));
            let stops: Vec<(&Stop, usize)> = moving.filter_map(|stop| Some((stop, row_at(lane.times, stop.after)?))).collect();
            // Few laws have such a time at a row: nothing is solved for the others.
            let path = if stops.is_empty() { continue } else { self.solve(&lanes[k..=k], shared, None).ok()?.pop()? };
            let span = lane.times[lane.times.len() - 1] - lane.times[0];
            for (stop, row) in stops {
                let jump = self.jump(&mut workspace, lane, row - 1, stop, &path.states[row][..self.size], shared).ok()?;
                // At a kink the slopes of either side are the same, but for what the next number makes of them.
                if jump.iter().zip(&self.sizes).any(|(j, size)| j.abs() * span > ALIKE * size) {
                    return Some(lane.time(lane.times[row]));
                }
            }
        }
        None
    }

    /// Why there is no solution behind a step from these states, whose length was given, not chosen.
    pub(super) fn lost(&self, workspace: &mut Workspace<f64>, lane: &Lane<'_>, step: Step, states: &[f64], shared: &[&[f64]]) -> Unusable {
        let (from, to) = (lane.time(step.time), lane.time(step.time + step.length));
        Unusable(match self.left_domain(workspace, lane, step, states, shared) {
            Some(operation) => format!("the solution ends between the times {from} and {to}, where {operation}"),
            None => format!("the solution diverges at time {to}"),
        })
    }

    /// The operation of the right-hand side that leaves its domain where a step from these states leads, if one does.
    pub(super) fn left_domain(
        &self,
        workspace: &mut Workspace<f64>,
        lane: &Lane<'_>,
        step: Step,
        states: &[f64],
        shared: &[&[f64]],
    ) -> Option<String> {
        let trap = BatchOptions { run: RunOptions { trap: true, ..RunOptions::default() }, ..BatchOptions::default() };
        let mut law = |at: f64, states: &[f64]| -> Result<Vec<f64>, String> {
            let (time, forces) = ([lane.time(at)], self.forcing_at_times(lane, step.interval, &[at]));
            let mut inputs: Vec<Column<'_, f64>> = vec![Column::rows(states, self.size)];
            inputs.extend(self.shared_of(lane, shared).into_iter().map(Column::shared));
            inputs.push(Column::rows(&time, 1));
            inputs.extend(forces.iter().map(|f| Column::rows(f, f.len())));
            let mut slopes = vec![0.0; self.size];
            let errors = self.law().run(workspace, &inputs, 1, &mut [&mut slopes], &trap).map_err(|e| e.message)?;
            errors.into_iter().next().map_or(Ok(slopes), |e| Err(e.error.message))
        };
        let slope = match law(step.time, states) {
            Ok(slope) => slope,
            Err(message) => return Some(message),
        };
        // The law of a map is no slope to follow.
        if self.scheme().is_map() {
            return None;
        }
        // What was tried is no further away than this.
        [0.1, 0.2, 0.5, 1.0].into_iter().find_map(|share| {
            let length = share * step.length;
            let there: Vec<f64> = states.iter().zip(&slope).map(|(x, s)| x + length * lane.direction * s).collect();
            law(step.time + length, &there).err()
        })
    }

    /// What a stop that moves with parameters does to the states behind it: the slope before less the slope after.
    pub(super) fn jump(
        &self,
        workspace: &mut Workspace<f64>,
        lane: &Lane<'_>,
        interval: usize,
        stop: &Stop,
        states: &[f64],
        shared: &[&[f64]],
    ) -> Result<Vec<f64>, Unusable> {
        let times = [lane.time(stop.before), lane.time(stop.after)];
        let both = states.repeat(2);
        let forces: Vec<Vec<f64>> = self.forcing_at_times(lane, interval, &[stop.before, stop.after]);
        let mut inputs: Vec<Column<'_, f64>> = vec![Column::rows(&both, self.size)];
        inputs.extend(self.shared_of(lane, shared).into_iter().map(Column::shared));
        inputs.push(Column::rows(&times, 1));
        inputs.extend(forces.iter().map(|f| Column::rows(f, f.len() / 2)));
        let mut slopes = vec![0.0; both.len()];
        let errors =
            self.law().run(workspace, &inputs, 2, &mut [&mut slopes], &BatchOptions::default()).map_err(|e| Unusable(e.message))?;
        if let Some(e) = errors.first() {
            return Err(Unusable(format!("at time {}: {}", times[e.lane], e.error.message)));
        }
        let (before, after) = slopes.split_at(self.size);
        Ok(before.iter().zip(after).map(|(b, a)| b - a).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(before: f64, after: f64) -> Stop {
        Stop { before, after, moves: vec![], events: vec![] }
    }

    #[test]
    fn segments_leave_no_gap_but_stops() {
        let lane = Lane {
            start: vec![],
            origin: 0.0,
            direction: 1.0,
            times: &[0.0, 1.0, 2.0],
            forcing: &[vec![], vec![], vec![]],
            constants: None,
            events: Default::default(),
        };
        let (half, one) = (0.5f64, 1.0f64);
        // In the middle of an interval, and at a row as seen from either side.
        for stop in
            [stop(half.next_down(), half), stop(one.next_down(), one), stop(one, one.next_up()), stop(one.next_down(), one.next_up())]
        {
            let course = Course::new(&lane, Arc::new(vec![stop]));
            let s = &course.segments;
            assert_eq!((s[0].from, s[s.len() - 1].to), (0.0, 2.0));
            assert_eq!(s.iter().filter(|s| s.last).count(), 2, "every interval has an end");
            assert!(s.iter().all(|s| s.from < s.to), "{s:?}");
            assert!(s.windows(2).all(|w| w[1].from >= w[0].to && w[1].from <= w[0].to.next_up().next_up()), "{s:?}");
            assert_eq!(s.iter().filter(|s| s.stop.is_some()).count(), 1, "{s:?}");
        }
    }

    #[test]
    fn a_step_to_a_stop_stays_before_it() {
        for (from, to) in [(0.1, 0.7), (1e-3, 24.0f64.next_down()), (23.999_999_999, 24.0f64.next_down()), (0.0, 0.3)] {
            for (origin, direction) in [(0.0, 1.0), (17.3, 1.0), (1e6, 1.0), (-3.1, -1.0), (0.1, -1.0)] {
                let lane = Lane {
                    start: vec![],
                    origin,
                    direction,
                    times: &[0.0, 30.0],
                    forcing: &[vec![], vec![]],
                    constants: None,
                    events: Default::default(),
                };
                let step = Segment { from, to, interval: 0, last: false, hard: true, stop: None }.end_from(&lane, from, None);
                let (reached, end) = (lane.time(step.time) + direction * step.length, lane.time(to));
                assert!(
                    direction * reached <= direction * end && (reached - end).abs() <= 1e-14 * end.abs().max(1.0),
                    "{reached} and {end}"
                );
            }
        }
    }
}
