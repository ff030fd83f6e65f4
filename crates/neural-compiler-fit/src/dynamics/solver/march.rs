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
use std::ops::Range;

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
        let mut march = March::new(self, lanes, shared, courses, directions);
        let mut round = Round::default();
        let mut active: Vec<usize> = (0..lanes.len()).filter(|&i| lanes[i].times.len() > 1).collect();
        let mut still = Vec::new();
        while !active.is_empty() {
            if self.effort.stopped() {
                return Err(Unusable("stopped".into()));
            }
            march.gather(&active, &mut round);
            march.take(workspace, &active, &mut round)?;
            still.clear();
            for (a, &i) in active.iter().enumerate() {
                let (error, fine) = march.judge(&round, a);
                let factor = control.factor(error, fine);
                march.at[i].tries += 1;
                if fine && error <= 1.0 {
                    march.accept(workspace, &round, a, i, factor, planned)?;
                } else {
                    march.again(workspace, &round, a, i, factor, fine)?;
                }
                march.in_patience(&round, a, i)?;
                if march.paths[i].states.len() < lanes[i].times.len() {
                    still.push(i);
                }
            }
            std::mem::swap(&mut active, &mut still);
        }
        self.effort.took(march.at.iter().map(|at| at.tries).max().unwrap_or(0));
        Ok((march.plan, march.paths))
    }
}

/// Where a lane is.
struct Place {
    /// Its time since the origin, and its states.
    time: f64,
    states: Vec<f64>,
    /// How long its next step should be.
    wanted: f64,
    /// The segment it is in, and whether it has just come to it.
    segment: usize,
    fresh: bool,
    /// Steps tried.
    tries: usize,
}

/// Solutions under way.
struct March<'a> {
    solver: &'a Solver,
    lanes: &'a [Lane<'a>],
    shared: &'a [&'a [f64]],
    courses: &'a [Course],
    tangents: Option<Tangents>,
    /// How many times each lane stands in a round: once for each direction.
    copies: usize,
    at: Vec<Place>,
    plan: Vec<Vec<Step>>,
    paths: Vec<Path>,
    /// Steps after which there is nothing to be found.
    patience: usize,
}

/// One step of all lanes that are under way: what goes in and what comes out.
#[derive(Default)]
struct Round {
    steps: Vec<(usize, Step)>,
    /// Which of them end their segment.
    ends: Vec<bool>,
    states: Vec<f64>,
    next: Vec<f64>,
    errors: Vec<f64>,
    slopes: Vec<f64>,
    moved: Vec<f64>,
    strays: Vec<f64>,
}

/// The length to begin a segment with.
fn begin(segment: &Segment, longest: f64) -> f64 {
    (1e-2 * (segment.to - segment.from)).min(longest)
}

impl<'a> March<'a> {
    fn new(
        solver: &'a Solver,
        lanes: &'a [Lane<'a>],
        shared: &'a [&'a [f64]],
        courses: &'a [Course],
        directions: Option<Directions<'a>>,
    ) -> March<'a> {
        let tangents = directions.map(|d| Tangents::new(solver, shared, d));
        let place = |(lane, course): (&Lane<'_>, &Course)| Place {
            time: lane.times[0],
            states: lane.start.clone(),
            wanted: course.segments.first().map_or(0.0, |s| begin(s, solver.longest)),
            segment: 0,
            fresh: true,
            tries: 0,
        };
        March {
            solver,
            lanes,
            shared,
            courses,
            copies: tangents.as_ref().map_or(1, |t| t.count),
            tangents,
            at: lanes.iter().zip(courses).map(place).collect(),
            plan: vec![Vec::new(); lanes.len()],
            paths: lanes.iter().enumerate().map(|(i, l)| Path::starting(l, directions.map(|d| &d.1[i][..]))).collect(),
            patience: solver.effort.steps(solver.most),
        }
    }

    /// The next step of each lane.
    fn gather(&self, active: &[usize], round: &mut Round) {
        round.steps.clear();
        round.ends.clear();
        round.states.clear();
        round.slopes.clear();
        for &i in active {
            let place = &self.at[i];
            let segment = &self.courses[i].segments[place.segment];
            let left = segment.to - place.time;
            let stop = segment.stop.filter(|_| place.fresh);
            // A last step a little longer than wanted beats a tiny one after it.
            let last = place.wanted >= left * (1.0 - 1e-10) || place.wanted * 1.01 >= left;
            let step = Step { time: place.time, length: place.wanted, interval: segment.interval, last: false, stop };
            round.steps.push((i, if last { segment.end_from(&self.lanes[i], place.time, stop) } else { step }));
            round.ends.push(last);
            (0..self.copies).for_each(|_| round.states.extend_from_slice(&place.states));
            if let Some(t) = &self.tangents {
                round.slopes.extend_from_slice(&t.lanes[i]);
            }
        }
    }

    /// Takes the steps of a round.
    fn take(&self, workspace: &mut Workspace<f64>, active: &[usize], round: &mut Round) -> Result<(), Unusable> {
        let Round { steps, states, next, errors, slopes, moved, strays, .. } = round;
        next.resize(states.len(), 0.0);
        errors.resize(states.len(), 0.0);
        let batch: Vec<(&Lane<'_>, Step)> = steps.iter().map(|&(i, step)| (&self.lanes[i], step)).collect();
        let mut extra: Vec<(&[f64], usize)> = Vec::new();
        if let Some(t) = &self.tangents {
            moved.resize(states.len(), 0.0);
            strays.resize(states.len(), 0.0);
            extra.push((&slopes[..], self.solver.size));
            extra.extend(t.seeds(active.len()));
        }
        let (engine, results) = if self.tangents.is_some() { (self.solver.along(), 4) } else { (self.solver.value(), 2) };
        let mut outputs: [&mut [f64]; 4] = [&mut next[..], &mut errors[..], &mut moved[..], &mut strays[..]];
        self.solver.run(engine, workspace, states, self.shared, (&batch, self.copies), &extra, &mut outputs[..results])
    }

    /// Where the numbers of a lane stand in a round: those of all its copies, and those of the first.
    fn numbers(&self, a: usize) -> (Range<usize>, Range<usize>) {
        let n = self.solver.size;
        let all = a * self.copies * n..(a + 1) * self.copies * n;
        (all.clone(), all.start..all.start + n)
    }

    /// The error of a step as a share of what is allowed, and whether its numbers are finite.
    fn judge(&self, round: &Round, a: usize) -> (f64, bool) {
        let (all, one) = self.numbers(a);
        let after = &round.next[one.clone()];
        let mut error = self.solver.error(&round.states[one.clone()], after, &round.errors[one]);
        if let Some(t) = &self.tangents {
            let stray = t.error(&round.slopes[all.clone()], &round.moved[all.clone()], &round.strays[all], &self.solver.sizes);
            error = if stray.is_nan() { stray } else { error.max(stray) };
        }
        (error, error.is_finite() && after.iter().all(|x| x.is_finite()))
    }

    /// A step that is good.
    fn accept(
        &mut self,
        workspace: &mut Workspace<f64>,
        round: &Round,
        a: usize,
        i: usize,
        factor: f64,
        planned: bool,
    ) -> Result<(), Unusable> {
        let (all, one) = self.numbers(a);
        let (step, after) = (round.steps[a].1, &round.next[one]);
        if planned {
            self.plan[i].push(step);
        }
        let place = &mut self.at[i];
        place.time = step.time + step.length;
        place.states.copy_from_slice(after);
        // A step cut short by a row says little against longer ones.
        let wanted = if round.ends[a] { place.wanted.max(step.length * factor) } else { step.length * factor };
        place.wanted = wanted.min(self.solver.longest);
        place.fresh = false;
        if let Some(t) = &mut self.tangents {
            t.lanes[i].copy_from_slice(&round.moved[all]);
        }
        if step.last {
            self.paths[i].states.push(after.iter().copied());
            if let Some(t) = &self.tangents {
                self.paths[i].tangents.push(turned(&t.lanes[i], self.copies, self.solver.size));
            }
        }
        if round.ends[a] { self.pass(workspace, i, step) } else { Ok(()) }
    }

    /// From the end of a segment into the next, over the jump between them if there is one.
    fn pass(&mut self, workspace: &mut Workspace<f64>, i: usize, step: Step) -> Result<(), Unusable> {
        let place = &mut self.at[i];
        (place.segment, place.fresh) = (place.segment + 1, true);
        let course = &self.courses[i];
        let Some(segment) = course.segments.get(place.segment) else { return Ok(()) };
        place.time = segment.from;
        let Some(stop) = segment.stop.map(|s| &course.stops[s]) else { return Ok(()) };
        // Behind a jump nothing is known of how long steps may be.
        place.wanted = place.wanted.min(begin(segment, self.solver.longest));
        if let Some(t) = self.tangents.as_mut().filter(|_| !stop.moves.is_empty()) {
            let at = Step { interval: segment.interval, ..step };
            let jump = self.solver.jump(workspace, &self.lanes[i], at, stop, &place.states, self.shared)?;
            t.jump(i, &jump, &stop.moves);
        }
        Ok(())
    }

    /// A step that is to be taken again, shorter.
    fn again(
        &mut self,
        workspace: &mut Workspace<f64>,
        round: &Round,
        a: usize,
        i: usize,
        factor: f64,
        fine: bool,
    ) -> Result<(), Unusable> {
        let step = round.steps[a].1;
        let wanted = step.length * factor;
        self.at[i].wanted = wanted;
        if !(wanted <= 1e-14 * step.time.abs().max(1e-300) || wanted < 1e-290) {
            return Ok(());
        }
        let before = &round.states[self.numbers(a).1];
        let left = if fine { None } else { self.solver.left_domain(workspace, &self.lanes[i], step, before, self.shared) };
        let time = self.lanes[i].time(step.time);
        Err(Unusable(match left {
            Some(operation) => format!("the solution ends at time {time}, where {operation}"),
            None if fine => format!("the step size collapses at time {time}"),
            None => format!("the solution diverges at time {time}"),
        }))
    }

    /// Complains about a lane that has taken too many steps.
    fn in_patience(&self, round: &Round, a: usize, i: usize) -> Result<(), Unusable> {
        let (most, time) = (self.solver.most, self.lanes[i].time(round.steps[a].1.time));
        if self.at[i].tries > most {
            return Err(Unusable(format!("more than {most} {TOO_MANY}; time {time} was reached")));
        }
        // Nothing is wrong with the method: there is nothing to be found here.
        if self.at[i].tries > self.patience {
            return Err(Unusable(format!("many times as many steps as at the first start at time {time}")));
        }
        Ok(())
    }
}
