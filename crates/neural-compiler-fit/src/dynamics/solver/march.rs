//! Steps that are not known beforehand: adaptive ones, and those of lanes whose conditions are waited for. In: a solver, lanes,
//! directions to differentiate by, if any; out: the steps taken and the jumps between them, states and derivatives at the lanes' times.
//!
//! Derivatives are those of the steps taken, and their error estimate, the derivative of that of the states, has a say in how long
//! steps are. Without that say they can grow beyond all bounds where the solution does not: an explicit method at the limit of its
//! stability is saved by its errors, which shorten the next step, but to the derivative steps are given numbers.

use super::events::{At, CLOSE, Crossing, ENDLESS, MOST_CLOSE, MOST_EVENTS, TOO_CLOSE, Watch};
use super::hunt::{Hunt, INNER, Trial};
use super::segments::Course;
use super::tangents::{Tangents, turned};
use super::{Directions, ENDS, Lane, Path, Plan, Solver, Step, TOO_MANY};
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::Workspace;
use neural_compiler::ode::control::{Control, FAILED};
use std::ops::Range;
use std::sync::Arc;

/// Steps and paths of all lanes.
type Marched = (Vec<Plan>, Vec<Path>);

impl Solver {
    /// The error of a step in the states, as a share of what is allowed.
    fn error(&self, before: &[f64], after: &[f64], error: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (k, e) in error.iter().enumerate() {
            sum += (e / self.tolerance.of(before[k].abs().max(after[k].abs()), self.sizes[k])).powi(2);
        }
        (sum / error.len() as f64).sqrt()
    }

    /// What has the largest error in a step, of the states or of their derivatives.
    fn hardest(&self, before: &[f64], after: &[f64], error: &[f64], all: f64) -> String {
        let share = |k: usize| (error[k] / self.tolerance.of(before[k].abs().max(after[k].abs()), self.sizes[k])).abs();
        let largest = (0..error.len()).max_by(|&j, &k| share(j).total_cmp(&share(k)));
        match largest.and_then(|k| self.names.get(k)) {
            Some(name) if self.error(before, after, error) >= 0.5 * all => format!("`{name}`"),
            Some(name) => format!("the derivatives, `{name}` being the hardest state"),
            None => "an infusion".into(),
        }
    }

    /// Chooses steps by their error estimates; gives them, if they are wanted (`planned`), the states at the lanes' times and their
    /// derivatives.
    pub(super) fn march(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane<'_>],
        shared: &[&[f64]],
        courses: &[Arc<Course>],
        (planned, directions): (bool, Option<Directions<'_>>),
    ) -> Result<Marched, Unusable> {
        let control = Control::new(self.scheme);
        let mut march = March::new(self, lanes, shared, courses, directions);
        march.begin(workspace)?;
        let mut round = Round::default();
        let mut active: Vec<usize> = (0..lanes.len()).filter(|&i| lanes[i].times.len() > 1).collect();
        let mut still = Vec::new();
        while !active.is_empty() {
            if self.effort.stopped() {
                return Err(Unusable("stopped".into()));
            }
            self.effort.lanes(active.len());
            march.gather(&active, &mut round);
            march.take(workspace, &active, &mut round)?;
            march.look(workspace, &mut round)?;
            still.clear();
            for (a, &i) in active.iter().enumerate() {
                let (error, fine) = march.judge(&round, a);
                let factor = control.map_or(if fine { 1.0 } else { 0.0 }, |control| control.factor(error, fine));
                march.at[i].tries += 1;
                if fine && march.at[i].hunt.is_some() {
                    march.hunted(workspace, &round, a, i, planned)?;
                } else if fine && error <= 1.0 && march.overlooks(workspace, &round, a, i)? {
                    march.again(workspace, &round, a, i, FAILED, fine)?;
                } else if fine && error <= 1.0 {
                    if !march.hunts(&round, a, i) {
                        march.accept(workspace, &round, a, i, factor, planned)?;
                    }
                } else {
                    march.again(workspace, &round, a, i, factor, fine)?;
                }
                march.in_patience(&round, a, i)?;
                if march.paths[i].states.len() < lanes[i].times.len() {
                    still.push(i);
                }
            }
            if still.len() < active.len() {
                round.constants = None;
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
    /// The segment it is in.
    segment: usize,
    /// The jump its next step begins with.
    jump: Option<usize>,
    /// Steps tried.
    tries: usize,
    /// The conditions that are waited for, and the search for where one becomes true.
    watch: Watch,
    hunt: Option<Box<Hunt>>,
    /// The next step is looked at nowhere but at its end.
    blind: bool,
    /// Events of conditions: how many, how many of them close to each other, when the last one was, and of which condition.
    events: (usize, usize, f64, usize),
}

/// Solutions under way.
struct March<'a> {
    solver: &'a Solver,
    lanes: &'a [Lane<'a>],
    shared: &'a [&'a [f64]],
    courses: &'a [Arc<Course>],
    tangents: Option<Tangents>,
    /// How many times each lane stands in a round: once for each direction.
    copies: usize,
    at: Vec<Place>,
    plan: Vec<Plan>,
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
    /// Levels of the conditions at the ends of the steps, and at places within them, place by place.
    levels: Vec<f64>,
    inner: Vec<Vec<f64>>,
    /// The shared inputs of these lanes, as long as they are the same ones.
    constants: Option<Vec<Vec<f64>>>,
}

/// Steps that are short beside the time: whose length the rounding of the time would change by a share that counts.
const SHORT: f64 = 1e-6;

/// The length to begin a stretch with; one of a few roundings is taken as a whole.
pub(super) fn begin(from: f64, to: f64, longest: f64) -> f64 {
    let span = to - from;
    (if span <= 1e-13 * to.abs() { span } else { 1e-2 * span }).min(longest)
}

impl<'a> March<'a> {
    fn new(
        solver: &'a Solver,
        lanes: &'a [Lane<'a>],
        shared: &'a [&'a [f64]],
        courses: &'a [Arc<Course>],
        directions: Option<Directions<'a>>,
    ) -> March<'a> {
        let tangents = directions.map(|d| Tangents::new(solver, shared, d));
        let place = |(lane, course): (&Lane<'_>, &Arc<Course>)| Place {
            time: lane.times[0],
            states: lane.start.clone(),
            wanted: course.segments.first().map_or(0.0, |s| begin(s.from, s.to, solver.longest)),
            segment: 0,
            jump: None,
            tries: 0,
            watch: Watch::default(),
            hunt: None,
            blind: false,
            events: (0, 0, f64::NEG_INFINITY, 0),
        };
        March {
            solver,
            lanes,
            shared,
            courses,
            copies: tangents.as_ref().map_or(1, |t| t.count),
            tangents,
            at: lanes.iter().zip(courses).map(place).collect(),
            plan: vec![Plan::default(); lanes.len()],
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
            // A last step a little longer than wanted beats a tiny one after it.
            let mut last = place.wanted >= left * (1.0 - 1e-10) || place.wanted * 1.01 >= left;
            let mut length = place.wanted;
            if !self.solver.adaptive() {
                let count = self.solver.equal_steps(segment.to - segment.from, left);
                (last, length) = (count == 1.0, left / count);
            }
            // So short a step is as long as the time passes: what flows in meanwhile must not depend on how times are rounded.
            let passed = (place.time + length) - place.time;
            if length < SHORT * place.time.abs() && passed > 0.0 {
                length = passed;
            }
            if let Some(hunt) = &place.hunt {
                length = hunt.length();
                last = hunt.ends && length == hunt.whole;
            }
            let step = Step { time: place.time, length, interval: segment.interval, last: false, jump: place.jump };
            round.steps.push((i, if last { segment.end_from(&self.lanes[i], place.time, place.jump) } else { step }));
            round.ends.push(last);
            (0..self.copies).for_each(|_| round.states.extend_from_slice(&place.states));
            if let Some(t) = &self.tangents {
                round.slopes.extend_from_slice(&t.lanes[i]);
            }
        }
    }

    /// Takes the steps of a round.
    fn take(&self, workspace: &mut Workspace<f64>, active: &[usize], round: &mut Round) -> Result<(), Unusable> {
        let Round { steps, states, next, errors, slopes, moved, strays, constants, .. } = round;
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
        let engine = if self.tangents.is_some() { self.solver.along() } else { self.solver.value() };
        let adaptive = self.solver.adaptive();
        let mut outputs: Vec<&mut [f64]> = vec![&mut next[..]];
        outputs.extend(adaptive.then_some(&mut errors[..]));
        outputs.extend(self.tangents.is_some().then_some(&mut moved[..]));
        outputs.extend((adaptive && self.tangents.is_some()).then_some(&mut strays[..]));
        let own = constants.get_or_insert_with(|| self.solver.gathered(batch.iter().map(|(lane, _)| (*lane, self.copies))));
        self.solver.run_with(engine, workspace, states, (self.shared, own), (&batch, self.copies), &extra, &mut outputs)
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
        let mut error = if self.solver.adaptive() { self.solver.error(&round.states[one.clone()], after, &round.errors[one]) } else { 0.0 };
        if let Some(t) = self.tangents.as_ref().filter(|_| self.solver.adaptive()) {
            let stray = t.error(&round.slopes[all.clone()], &round.moved[all.clone()], &round.strays[all], &self.solver.sizes);
            error = if stray.is_nan() { stray } else { error.max(stray) };
        }
        (error, error.is_finite() && after.iter().all(|x| x.is_finite()))
    }

    /// Whether the law has more in it than the errors of a step have seen.
    fn overlooks(&self, workspace: &mut Workspace<f64>, round: &Round, a: usize, i: usize) -> Result<bool, Unusable> {
        let one = self.numbers(a).1;
        let (before, after) = (&round.states[one.clone()], &round.next[one]);
        self.solver.overlooks(workspace, (&self.lanes[i], round.steps[a].1), (before, after), self.shared)
    }

    /// What makes the step of a lane short.
    fn hardest(&self, round: &Round, a: usize) -> String {
        let one = self.numbers(a).1;
        let (before, after) = (&round.states[one.clone()], &round.next[one.clone()]);
        self.solver.hardest(before, after, &round.errors[one], self.judge(round, a).0)
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
            self.plan[i].steps.push(step);
        }
        let place = &mut self.at[i];
        place.time = step.time + step.length;
        place.states.copy_from_slice(after);
        // A step cut short by a row says little against longer ones.
        let wanted = if round.ends[a] { place.wanted.max(step.length * factor) } else { step.length * factor };
        place.wanted = wanted.min(self.solver.longest);
        (place.jump, place.blind) = (None, false);
        let m = place.watch.levels.len();
        place.watch.levels.copy_from_slice(&round.levels[a * m..(a + 1) * m]);
        place.watch.armed.iter_mut().zip(&place.watch.levels).for_each(|(armed, level)| *armed = *level >= 0.0);
        if let Some(t) = &mut self.tangents {
            t.lanes[i].copy_from_slice(&round.moved[all]);
        }
        if step.last {
            let (lane, states) = (&self.lanes[i], (&round.states[self.numbers(a).1], after));
            if let Some(time) = self.solver.ends_near(workspace, (lane, step), states, self.at[i].wanted, self.shared)? {
                return Err(Unusable(format!("{ENDS} {time}: so near to it the solution has no values at this accuracy")));
            }
            self.paths[i].states.push(after.iter().copied());
            if let Some(t) = &self.tangents {
                self.paths[i].tangents.push(turned(&t.lanes[i], self.copies, self.solver.size));
            }
        }
        if round.ends[a] { self.pass(workspace, i) } else { Ok(()) }
    }

    /// The conditions where all lanes start, and what happens there.
    fn begin(&mut self, workspace: &mut Workspace<f64>) -> Result<(), Unusable> {
        let (lanes, courses) = (self.lanes, self.courses);
        for (i, lane) in lanes.iter().enumerate().filter(|(i, _)| !courses[*i].segments.is_empty()) {
            let at = At { interval: 0, time: lane.times[0] };
            let levels = self.solver.levels(workspace, &[(lane, at)], &lane.start, self.shared)?;
            self.at[i].watch = Watch { armed: levels.iter().map(|level| *level >= 0.0).collect(), levels };
            self.enter(workspace, i)?;
        }
        Ok(())
    }

    /// From the end of a segment into the next.
    fn pass(&mut self, workspace: &mut Workspace<f64>, i: usize) -> Result<(), Unusable> {
        let place = &mut self.at[i];
        place.segment += 1;
        match self.courses[i].segments.get(place.segment) {
            Some(segment) => {
                place.time = segment.from;
                self.enter(workspace, i)
            }
            None => Ok(()),
        }
    }

    /// Over the jump at the beginning of a segment, if there is one.
    fn enter(&mut self, workspace: &mut Workspace<f64>, i: usize) -> Result<(), Unusable> {
        let (place, course) = (&mut self.at[i], &self.courses[i]);
        let segment = &course.segments[place.segment];
        let Some(stop) = segment.stop else { return Ok(()) };
        place.time = segment.from;
        // Behind a jump nothing is known of how long steps may be.
        place.wanted = place.wanted.min(begin(segment.from, segment.to, self.solver.longest));
        self.cross(workspace, i, Crossing { stop: Some(stop), ..Crossing::default() })
    }

    /// Over a jump.
    fn cross(&mut self, workspace: &mut Workspace<f64>, i: usize, mut crossing: Crossing) -> Result<(), Unusable> {
        let (place, course) = (&mut self.at[i], &self.courses[i]);
        let at = At { interval: course.segments[place.segment].interval, time: place.time };
        let stop = crossing.stop.map(|k| &course.stops[k]);
        let watch = (!place.watch.levels.is_empty()).then_some(&mut place.watch);
        let derivatives = self.tangents.is_some();
        let known = (&mut crossing, stop);
        let jump = self.solver.cross(workspace, &self.lanes[i], at, known, &mut place.states, self.shared, derivatives, watch)?;
        if let (Some(t), Some(jump)) = (&mut self.tangents, jump) {
            t.jump(i, &jump);
        }
        let jumps = &mut self.plan[i].jumps;
        match place.jump {
            // At the very time of a stop: one more of what happens there.
            Some(before) => jumps[before].also.extend(crossing.level.into_iter().chain(crossing.also)),
            None => {
                place.jump = Some(jumps.len());
                jumps.push(crossing);
            }
        }
        Ok(())
    }

    /// The levels of all conditions at the ends of a round's steps and within them.
    fn look(&self, workspace: &mut Workspace<f64>, round: &mut Round) -> Result<(), Unusable> {
        if self.solver.conditions() == 0 {
            return Ok(());
        }
        let n = self.solver.size;
        let lanes = |share: f64| -> Vec<(&Lane<'_>, At)> {
            let at = |s: &Step| At { interval: s.interval, time: s.time + share * s.length };
            round.steps.iter().map(|(i, step)| (&self.lanes[*i], at(step))).collect()
        };
        let first = |all: &[f64]| -> Vec<f64> { all.chunks(n * self.copies).flat_map(|own| own[..n].iter().copied()).collect() };
        let (before, behind) = (first(&round.states), first(&round.next));
        let levels = self.solver.levels(workspace, &lanes(1.0), &behind, self.shared)?;
        let slopes = [
            self.solver.slopes(workspace, &lanes(0.0), &before, self.shared)?,
            self.solver.slopes(workspace, &lanes(1.0), &behind, self.shared)?,
        ];
        let mut inner = Vec::with_capacity(INNER.len());
        for share in INNER {
            let left = 1.0 - share;
            let at = |k: usize| {
                let length = self.lanes[round.steps[k / n].0].direction * round.steps[k / n].1.length;
                (1.0 + 2.0 * share) * left * left * before[k]
                    + share * left * left * length * slopes[0][k]
                    + share * share * (3.0 - 2.0 * share) * behind[k]
                    - share * share * left * length * slopes[1][k]
            };
            let between: Vec<f64> = (0..before.len()).map(at).collect();
            inner.push(self.solver.levels(workspace, &lanes(share), &between, self.shared)?);
        }
        (round.levels, round.inner) = (levels, inner);
        Ok(())
    }

    /// Whether a condition becomes true within a step that is good: then it is looked for.
    fn hunts(&mut self, round: &Round, a: usize, i: usize) -> bool {
        let place = &mut self.at[i];
        let m = place.watch.levels.len();
        if m == 0 {
            return false;
        }
        let own = a * m..(a + 1) * m;
        let inner: Vec<f64> = round.inner.iter().flat_map(|levels| levels[own.clone()].iter().copied()).collect();
        let step = round.steps[a].1;
        let end = step.time + step.length;
        let close = 2.0 * f64::EPSILON * self.lanes[i].time(end).abs().max(end);
        place.hunt = Hunt::along(&place.watch, &inner, &round.levels[own], (step.length, round.ends[a], place.blind), close).map(Box::new);
        place.hunt.is_some()
    }

    /// A trial of a search, or the step it ends with.
    fn hunted(&mut self, workspace: &mut Workspace<f64>, round: &Round, a: usize, i: usize, planned: bool) -> Result<(), Unusable> {
        let place = &mut self.at[i];
        let m = place.watch.levels.len();
        let Some(hunt) = &mut place.hunt else { return Ok(()) };
        if !hunt.found {
            if let Trial::Nothing = hunt.learn(hunt.length(), &round.levels[a * m..(a + 1) * m]) {
                (place.hunt, place.blind) = (None, true);
            }
            return Ok(());
        }
        let (watched, wanted) = (std::mem::take(&mut hunt.watched), place.wanted);
        place.hunt = None;
        self.accept(workspace, round, a, i, 1.0, planned)?;
        let place = &mut self.at[i];
        place.wanted = wanted;
        let Some(segment) = self.courses[i].segments.get(place.segment) else { return Ok(()) };
        let levels = &place.watch.levels;
        let Some(&level) = watched.iter().find(|&&k| levels[k] < 0.0) else { return Ok(()) };
        place.watch.armed = (0..m).map(|k| levels[k] >= 0.0 || watched.contains(&k)).collect();
        place.wanted = place.wanted.min(begin(place.time, segment.to, self.solver.longest));
        self.count_event(i, level)?;
        self.cross(workspace, i, Crossing { level: Some(level), ..Crossing::default() })
    }

    /// Counts the events of conditions; too many in too short a time have no end.
    fn count_event(&mut self, i: usize, level: usize) -> Result<(), Unusable> {
        let place = &mut self.at[i];
        let (all, close, last, same) = place.events;
        let span = self.lanes[i].times[self.lanes[i].times.len() - 1] - self.lanes[i].times[0];
        let since = (place.time - last) / span.max(place.time.abs());
        let close = if since <= CLOSE { close + 1 } else { 0 };
        place.events = (all + 1, close, place.time, level);
        if all < MOST_EVENTS && close < MOST_CLOSE && !(same == level && since <= TOO_CLOSE) {
            return Ok(());
        }
        let time = self.lanes[i].time(place.time);
        Err(Unusable(format!("{ENDLESS} at time {time}: its condition becomes true again and again, and time does not go on")))
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
        self.at[i].hunt = None;
        if self.solver.adaptive() && !(wanted <= 1e-14 * step.time.abs().max(1e-300) || wanted < 1e-290) {
            return Ok(());
        }
        let before = &round.states[self.numbers(a).1];
        let left = if fine { None } else { self.solver.left_domain(workspace, &self.lanes[i], step, before, self.shared) };
        let time = self.lanes[i].time(step.time);
        Err(Unusable(match left {
            Some(operation) => format!("the solution ends at time {time}, where {operation}"),
            None if fine => {
                let (long, hardest) = (step.length, self.hardest(round, a));
                format!("the step size collapses at time {time}: a step of {long:.1e} is still too long for {hardest}")
            }
            None if !fine && self.solver.is_steep(workspace, (&self.lanes[i], step), before, self.shared) => format!(
                "a slope of the law by its states is infinite at time {time}, as that of (sqrt x) at 0 is, and the method {} needs it; \
                 an explicit one (dopri5) does not",
                self.solver.scheme()
            ),
            None if self.is_rough(round, a) => format!(
                "the solution has no derivative by the constants at time {time}: a slope of the law is infinite there, as that of \
                 (sqrt x) at 0 is; where it is not wanted, guard it: (if (> x 0) (sqrt x) 0)"
            ),
            None => format!("the solution diverges at time {time}"),
        }))
    }

    /// Whether a step has numbers, and its derivatives have none.
    fn is_rough(&self, round: &Round, a: usize) -> bool {
        let one = self.numbers(a).1;
        let finite = |all: &[f64]| all.iter().all(|x| x.is_finite());
        self.tangents.is_some() && finite(&round.next[one.clone()]) && finite(&round.errors[one])
    }

    /// Complains about a lane that has taken too many steps.
    fn in_patience(&self, round: &Round, a: usize, i: usize) -> Result<(), Unusable> {
        let (most, time) = (self.solver.most_along(&self.courses[i]), self.lanes[i].time(round.steps[a].1.time));
        if self.at[i].tries > most {
            let (long, hardest) = (round.steps[a].1.length, self.hardest(round, a));
            let message = format!("more than {most} {TOO_MANY}; time {time} was reached, by a step of {long:.1e} as {hardest} allows");
            return Err(Unusable(message));
        }
        // Nothing is wrong with the method: there is nothing to be found here.
        if self.at[i].tries > self.patience.saturating_add(self.courses[i].segments.len()) {
            return Err(Unusable(format!("many times as many steps as at the first start at time {time}")));
        }
        Ok(())
    }
}
