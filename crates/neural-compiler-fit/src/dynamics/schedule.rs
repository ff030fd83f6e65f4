//! What happens to trajectories at times. In: the events of a model that happen at times, doses and infusions of a table, a trajectory;
//! out: what happens to it and when, in order, with the derivatives of these times.
//! Invariants: at one time events come in the order of their declaration, then doses in the order of their rows; a time within a few
//! roundings of a row's is that row's; nothing happens before the start.

use super::clock::Pace;
use super::solver::events::{Timed, What};
use super::solver::field::Field;
use super::starts::Formula;
use super::trajectories::{Trajectory, error};
use crate::optimise::Unusable;
use neural_compiler::syntax::ast::{ModelKind, Moment};
use neural_compiler::{Diagnostic, Diagnostics, Program, Trigger};
use std::ops::Range;
use std::sync::Arc;

/// A dose: an amount that is added to a state, at once or at a rate.
#[derive(Clone, PartialEq, Debug)]
pub struct Dose {
    /// When it is given, or begins.
    pub time: f64,
    /// How much.
    pub amount: f64,
    /// How much of it in a unit of time; 0: all at once.
    pub rate: f64,
    /// The state it goes to; `None`: the only one.
    pub target: Option<String>,
    /// The group it is for, as its column has it; `None`: every one.
    pub group: Option<f64>,
}

/// Events of one lane at most.
const MOST: usize = 100_000;
/// Periods of a schedule that are counted at most: as many times are still told apart.
const MOST_PERIODS: f64 = 1e12;
/// Times that differ by so many roundings are one.
const ROUNDINGS: f64 = 4.0;

/// The states that doses go to at a rate.
pub fn infused<'a>(doses: &'a [Dose], program: &'a Program) -> Result<Vec<&'a str>, Diagnostics> {
    if program.kind() == ModelKind::Map && !doses.is_empty() {
        let message = "doses are given to models whose states have derivatives, a map takes steps";
        return Err(Diagnostic::error("bad-events", Default::default(), message).help("let an input of the map say what is added").into());
    }
    let mut names: Vec<&str> = Vec::new();
    for (row, dose) in doses.iter().enumerate() {
        let name = target(dose, program).map_err(|d| Diagnostic { message: format!("events, row {}: {}", row + 1, d.message), ..d })?;
        let bad = |what: String| Err(error("bad-events", format!("events, row {}: {what}", row + 1)));
        if !(dose.time.is_finite() && dose.amount.is_finite()) {
            bad("time and amount are numbers".into())?;
        }
        if !(dose.rate >= 0.0 && dose.rate.is_finite()) || dose.rate > 0.0 && dose.amount < 0.0 {
            bad(format!("the amount {} at the rate {} has no end: a rate is positive, or 0 for a dose at once", dose.amount, dose.rate))?;
        }
        if dose.rate > 0.0 && !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The state a dose goes to.
pub(super) fn target<'a>(dose: &'a Dose, program: &'a Program) -> Result<&'a str, Diagnostic> {
    let states: Vec<&str> = program
        .inputs()
        .iter()
        .filter(|i| matches!(i.kind, neural_compiler::syntax::ast::InputKind::State(_)))
        .map(|i| i.name.as_str())
        .collect();
    let list = || states.iter().map(|s| format!("`{s}`")).collect::<Vec<_>>().join(", ");
    match (&dose.target, &states[..]) {
        (Some(name), all) if all.contains(&name.as_str()) => Ok(name),
        (Some(name), _) => {
            Err(error("bad-events", format!("the target `{name}` is no state of the model")).help(format!("its states are {}", list())))
        }
        (None, [one]) => Ok(one),
        (None, _) => {
            let message = "the model has several states, and no column `target` says which one the dose goes to";
            Err(error("bad-events", message.into()).help(format!("its states are {}", list())))
        }
    }
}

/// Doses of one group as changes of its states, in order; `times`: those of its rows, since the start.
pub(super) fn doses(
    doses: &[Dose],
    (program, field): (&Program, &Field),
    pace: &Pace,
    group: Option<f64>,
    (origin, times): (f64, &[f64]),
) -> Result<Vec<Timed>, Diagnostic> {
    let mut all = Vec::new();
    // For each number that is infused: from when to when, at which rate.
    let mut rates: Vec<Vec<(f64, f64, f64)>> = vec![vec![]; field.infused.len()];
    for (row, dose) in doses.iter().enumerate().filter(|(_, d)| d.group.is_none() || d.group == group) {
        if dose.time < origin {
            let message = format!("events, row {}: {} is before {}, when starts hold", row + 1, pace.at(dose.time), pace.at(origin));
            return Err(error("bad-events", message).help("let starts hold earlier, or leave the row out"));
        }
        let name = target(dose, program)?;
        let Some(state) = field.states.iter().find(|s| s.name == name).filter(|s| s.shape.len() == 1) else {
            return Err(error("bad-events", format!("events, row {}: the target `{name}` is not a number", row + 1)));
        };
        let since = snapped(dose.time - origin, origin, times);
        let end = snapped(since + dose.amount / dose.rate, origin, times);
        let infused = field.infused.iter().position(|&at| at == state.at);
        match infused.filter(|_| dose.rate > 0.0 && end > since) {
            // Times are rounded, amounts are not: the rate is what gives the amount in the time there is.
            Some(k) => rates[k].push((since, end, if end.is_finite() { dose.amount / (end - since) } else { dose.rate })),
            // At once, or over a time too short to be told.
            None => all.push(Timed { time: since, what: What::Add(state.at, dose.amount), moves: vec![] }),
        }
    }
    let own = field.law.size - field.infused.len();
    for (k, spans) in rates.iter().enumerate() {
        for &time in spans.iter().flat_map(|s| [&s.0, &s.1]) {
            let rate = spans.iter().filter(|s| s.0 <= time && time < s.1).map(|s| s.2).sum();
            all.push(Timed { time, what: What::Set(own + k, rate), moves: vec![] });
        }
    }
    all.sort_by(|a, b| a.time.total_cmp(&b.time));
    Ok(all)
}

/// The times of an event: what they are, and which numbers say it.
type Times = Vec<(Moment, Range<usize>)>;

/// The events of a model that happen at times.
pub struct Schedule {
    formula: Formula,
    /// Which event, and which numbers of the formula say when.
    events: Vec<(usize, Times)>,
}

impl Schedule {
    /// Of a model; `formula`: what computes their numbers.
    pub(super) fn new(program: &Program, formula: Formula) -> Schedule {
        let timed = |(k, trigger): (usize, &Trigger)| match trigger {
            Trigger::At(times) => Some((k, times.clone())),
            Trigger::When(_) => None,
        };
        let events = program.events().iter().flat_map(|e| e.all.iter().map(|e| &e.trigger).enumerate().filter_map(timed)).collect();
        Schedule { formula, events }
    }

    /// What computes the numbers.
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// The same for other free numbers.
    pub fn with(&self, layout: &crate::model::layout::Layout) -> Schedule {
        Schedule { formula: self.formula.with(layout), events: self.events.clone() }
    }

    /// What happens to a trajectory: `number(k)` and its derivatives by so many free numbers, none where they are not wanted.
    pub(super) fn of(
        &self,
        t: &Trajectory,
        number: &dyn Fn(usize) -> f64,
        derivative: &dyn Fn(usize, usize) -> f64,
        free: usize,
    ) -> Result<Arc<Vec<Timed>>, Unusable> {
        let mut all = Vec::new();
        let end = t.times[t.times.len() - 1];
        let by = |k: usize| (0..free).map(|j| derivative(k, j)).collect::<Vec<f64>>();
        let mut add = |event: usize, time: f64, moves: Vec<f64>| {
            let since = snapped(time - t.origin, t.origin, &t.times);
            if since >= 0.0 && since < end {
                let moves = if moves.iter().all(|m| *m == 0.0) { vec![] } else { moves };
                all.push(Timed { time: since, what: What::Event(event), moves });
            }
            if all.len() > MOST { Err(Unusable(format!("more than {MOST} events"))) } else { Ok(()) }
        };
        for (event, times) in &self.events {
            for (moment, numbers) in times {
                if *moment == Moment::Once {
                    for k in numbers.clone() {
                        if !number(k).is_finite() {
                            return Err(Unusable(format!("the time of an event is {}", number(k))));
                        }
                        add(*event, number(k), by(k))?;
                    }
                    continue;
                }
                let (period, first, last) = (number(numbers.start), number(numbers.start + 1), number(numbers.start + 2));
                if !(period > 0.0 && period.is_finite() && first.is_finite() && !last.is_nan()) {
                    return Err(Unusable(format!("a schedule with the period {period} from {first} to {last}")));
                }
                let (of_period, of_first) = (by(numbers.start), by(numbers.start + 1));
                let (nearest, before) = nearer(first, period, t.origin);
                // What lies before the start does not happen.
                let skipped = ((t.origin - nearest) / period - 1.0).floor().max(0.0);
                if skipped > MOST_PERIODS {
                    let since = t.origin;
                    return Err(Unusable(format!("a schedule with the period {period}: its times cannot be told apart at {since}")));
                }
                for k in 0.. {
                    let k = skipped + f64::from(k);
                    let time = nearest + k * period;
                    if time > last + ROUNDINGS * f64::EPSILON * last.abs() || time - t.origin >= end {
                        break;
                    }
                    add(*event, time, of_first.iter().zip(&of_period).map(|(a, b)| a + (before + k) * b).collect())?;
                }
            }
        }
        all.extend(t.events.iter().cloned());
        all.sort_by(|a, b| a.time.total_cmp(&b.time));
        Ok(Arc::new(all))
    }
}

/// What happens to a trajectory of a model without events of its own.
pub(super) fn of_doses(t: &Trajectory) -> Arc<Vec<Timed>> {
    Arc::new(t.events.clone())
}

/// A time since the start: that of a row which is only a few roundings away.
fn snapped(since: f64, origin: f64, times: &[f64]) -> f64 {
    // What never ends is at no row.
    if !since.is_finite() {
        return since;
    }
    let close = ROUNDINGS * f64::EPSILON * since.abs().max((origin + since).abs());
    let after = times.partition_point(|x| *x < since - close);
    times.get(after).copied().filter(|x| (x - since).abs() <= close).unwrap_or(since)
}

/// A time of a schedule near the start, and how many periods after the first one it is. A schedule that begins so many periods before the
/// start that these cannot be counted is counted from its remainder instead, which is exact.
fn nearer(first: f64, period: f64, origin: f64) -> (f64, f64) {
    if (origin - first) / period <= MOST_PERIODS {
        return (first, 0.0);
    }
    let rest = first % period;
    (rest, (rest - first) / period)
}
