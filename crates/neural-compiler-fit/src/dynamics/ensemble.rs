//! Many trajectories of one model at once. In: a model with its rows, and sets of values; out: states and observables at every row, set by
//! set.
//!
//! Each set is a lane of the engine with constants, starts and inputs of its own, and takes steps of its own. A set by itself gives the
//! bits it gives among others.

use super::prepared::Prepared;
use super::schedule;
use super::solver::events::{ENDLESS, Timed};
use super::solver::field::Forcing;
use super::solver::{Lane, Path, Solver};
use super::starts::Start;
use super::trajectories::Trajectory;
use crate::fit::wrong;
use crate::model::layout::{Layout, element_names};
use crate::optimise::Unusable;
use crate::options::{Progress, Stage};
use neural_compiler::diagnostic::did_you_mean;
use neural_compiler::{Diagnostic, Diagnostics, number_text};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values by the names of numbers (`k`, `w[0]`): one for all sets, or one for each.
pub type Given = Vec<(String, Vec<f64>)>;

/// Lanes that are solved together.
const AT_ONCE: usize = 512;

/// What a name stands for, and which number of it.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// A number of the shared inputs, counted through.
    Constant(usize),
    /// A number of the forcing.
    Forcing(usize),
    /// Where a number of the states starts.
    Start(usize),
    /// What only computed starts read.
    Beside,
}

/// Sets of values for a model.
pub(crate) struct Ensemble<'a> {
    prepared: &'a Prepared,
    pub(crate) sets: usize,
    given: &'a Given,
    roles: Vec<Role>,
    /// For each set the numbers of all shared inputs.
    constants: Vec<Vec<f64>>,
    /// For each lane where its states start.
    starts: Vec<Vec<f64>>,
    /// For each lane its forcing, where sets have one of their own.
    forcing: Vec<Vec<Vec<f64>>>,
    /// For each lane what happens at times.
    events: Vec<Arc<Vec<Timed>>>,
}

/// How many sets there are: the longest list of values.
pub(crate) fn sets(given: &Given) -> Result<usize, Diagnostics> {
    let sets = given.iter().map(|g| g.1.len()).max().unwrap_or(1);
    match given.iter().find(|g| g.1.len() != 1 && g.1.len() != sets) {
        Some((name, values)) => {
            let message = format!("`{name}` has {} values, others have {sets}: one for all sets, or one for each", values.len());
            Err(wrong("uneven-columns", message))
        }
        None => Ok(sets),
    }
}

impl<'a> Ensemble<'a> {
    pub(crate) fn new(prepared: &'a Prepared, given: &'a Given) -> Result<Ensemble<'a>, Diagnostics> {
        let roles = given.iter().map(|(name, _)| role(prepared, name)).collect::<Result<Vec<Role>, Diagnostics>>()?;
        let sets = sets(given)?;
        let mut all = Ensemble { prepared, sets, given, roles, constants: vec![], starts: vec![], forcing: vec![], events: vec![] };
        let layout = &prepared.layout;
        let declared: Vec<f64> = layout.shared.iter().flat_map(|s| layout.values(s, &layout.start)).copied().collect();
        all.constants =
            (0..sets).map(|set| all.with(declared.clone(), set, |r| if let Role::Constant(k) = r { Some(k) } else { None })).collect();
        all.starts = all.starting().map_err(|e| wrong("no-prediction", e.0))?;
        all.events = all.happening().map_err(|e| wrong("no-prediction", e.0))?;
        if all.roles.iter().any(|r| matches!(r, Role::Forcing(_))) {
            let rows = |set: usize, t: &Trajectory| {
                let row = |row: &Vec<f64>| all.with(row.clone(), set, |r| if let Role::Forcing(k) = r { Some(k) } else { None });
                t.forcing.iter().map(row).collect()
            };
            all.forcing = (0..sets).flat_map(|set| prepared.data.all.iter().map(move |t| (set, t))).map(|(set, t)| rows(set, t)).collect();
        }
        Ok(all)
    }

    /// Numbers, with those a set gives in their places.
    fn with(&self, mut numbers: Vec<f64>, set: usize, place: impl Fn(Role) -> Option<usize>) -> Vec<f64> {
        for (role, (_, values)) in self.roles.iter().zip(self.given) {
            if let Some(k) = place(*role) {
                numbers[k] = of_set(values, set);
            }
        }
        numbers
    }

    /// What a set says of an element of an input of the model.
    fn says(&self, name: &str, element: usize, set: usize) -> Option<f64> {
        let mut at = 0;
        for s in &self.prepared.layout.shared {
            if s.name == name {
                return Some(self.constants[set][at + element]);
            }
            at += s.shape.len();
        }
        let number = |given: &str| given == name && element == 0 || given.strip_prefix(name) == Some(&format!("[{element}]"));
        self.given.iter().find(|g| number(&g.0)).map(|g| of_set(&g.1, set))
    }

    /// Where the states of every lane start.
    fn starting(&self) -> Result<Vec<Vec<f64>>, Unusable> {
        let data = &self.prepared.data;
        let groups = data.all.iter().map(|t| t.start_row + 1).max().unwrap_or(0);
        let computed =
            data.formula.as_ref().map(|f| f.of_sets(self.sets, &|name, element, set| self.says(name, element, set))).transpose()?;
        let free = free_places(&self.prepared.layout);
        let mut starts = Vec::with_capacity(self.sets * data.all.len());
        for set in 0..self.sets {
            for t in &data.all {
                let one = |s: &Start| match s {
                    Start::Value(x) => *x,
                    Start::Free(j) => self.constants[set][free[*j]],
                    Start::Computed(k) => {
                        computed.as_ref().and_then(|c| c[set * groups + t.start_row].get(*k)).copied().unwrap_or(f64::NAN)
                    }
                };
                let mut declared: Vec<f64> = t.start.iter().map(one).collect();
                if !data.steady.is_empty() {
                    declared = self.settled(t, set, declared)?;
                }
                starts.push(self.with(declared, set, |r| if let Role::Start(k) = r { Some(k) } else { None }));
            }
        }
        Ok(starts)
    }

    /// Where a lane starts, with what is to be steady there.
    fn settled(&self, t: &Trajectory, set: usize, start: Vec<f64>) -> Result<Vec<f64>, Unusable> {
        let steady = &self.prepared.data.steady;
        let which: Vec<usize> = steady.iter().map(|s| s.0).collect();
        let mut start = self.with(start, set, |r| if let Role::Start(k) = r { Some(k) } else { None });
        steady.iter().for_each(|(k, guess)| start[*k] = *guess);
        let Trajectory { origin, direction, times, forcing, .. } = t;
        let constants = Some(&self.constants[set][..]);
        let lane = Lane { start, origin: *origin, direction: *direction, times, forcing, constants, events: Arc::default() };
        let found = self.prepared.solver.steady(&lane, &which, &[])?;
        let mut start = lane.start;
        which.iter().zip(found).for_each(|(k, x)| start[*k] = x);
        Ok(start)
    }

    /// What happens to every lane at times.
    fn happening(&self) -> Result<Vec<Arc<Vec<Timed>>>, Unusable> {
        let data = &self.prepared.data;
        let Some(schedule) = &data.schedule else {
            let once: Vec<Arc<Vec<Timed>>> = data.all.iter().map(schedule::of_doses).collect();
            return Ok((0..self.sets).flat_map(|_| once.iter().cloned()).collect());
        };
        let groups = data.all.iter().map(|t| t.start_row + 1).max().unwrap_or(0);
        let numbers = schedule.formula().of_sets(self.sets, &|name, element, set| self.says(name, element, set))?;
        let lanes = (0..self.sets).flat_map(|set| data.all.iter().map(move |t| (set, t)));
        lanes.map(|(set, t)| schedule.of(t, &|k| numbers[set * groups + t.start_row][k], &|_, _| 0.0, 0)).collect()
    }

    /// The lanes of some sets.
    fn lanes(&self, which: &[usize]) -> Vec<Lane<'_>> {
        let all = &self.prepared.data.all;
        let lane = |i: usize| {
            let t = &all[i % all.len()];
            Lane {
                start: self.starts[i].clone(),
                origin: t.origin,
                direction: t.direction,
                times: &t.times,
                forcing: self.forcing.get(i).unwrap_or(&t.forcing),
                constants: Some(&self.constants[i / all.len()]),
                events: self.events[i].clone(),
            }
        };
        which.iter().flat_map(|set| set * all.len()..(set + 1) * all.len()).map(lane).collect()
    }

    /// For each of some sets the values of all rows, one after another, each so many numbers; what is not reached is NaN. `progress`: whom
    /// to tell, and the number of the pass.
    pub(crate) fn solve(
        &self,
        solver: &Solver,
        which: &[usize],
        components: &[usize],
        (progress, pass): (Option<Progress<'_>>, usize),
    ) -> Vec<Result<Vec<f64>, Diagnostics>> {
        let lanes = self.lanes(which);
        let done = AtomicUsize::new(0);
        let tell = |some: usize| {
            let done = done.fetch_add(some, Ordering::Relaxed) + some;
            progress.iter().for_each(|progress| progress(Stage::Trajectories(pass), done, lanes.len(), f64::NAN));
        };
        // As many at a time as stay in the caches; where one of them has no solution, each by itself.
        let alone = |lane: &Lane<'_>| solver.solve(std::slice::from_ref(lane), &[], None).map(|mut paths| paths.swap_remove(0));
        let one = |some: &[Lane<'_>]| -> Vec<Result<Path, Unusable>> {
            let solved = match solver.solve(some, &[], None) {
                Ok(paths) => paths.into_iter().map(Ok).collect(),
                Err(_) => some.iter().map(alone).collect(),
            };
            tell(some.len());
            solved
        };
        let solved: Vec<Vec<Result<Path, Unusable>>> = lanes.par_chunks(AT_ONCE).map(one).collect();
        let mut paths = solved.into_iter().flatten();
        let (all, rows, width) = (&self.prepared.data.all, self.prepared.data.row_times.len(), components.len());
        let of_set = |set: &usize| {
            let own: Vec<Result<Path, Unusable>> = paths.by_ref().take(all.len()).collect();
            let mut values = vec![f64::NAN; rows * width];
            for (t, path) in all.iter().zip(own) {
                let states = path.map_err(|e| self.unsolved(*set, e))?.states;
                for (&row, &at) in t.rows.iter().zip(&t.at) {
                    components.iter().zip(&mut values[row * width..(row + 1) * width]).for_each(|(&c, v)| *v = states[at][c]);
                }
            }
            Ok(values)
        };
        which.iter().map(of_set).collect()
    }

    /// How far rounding may take each of some numbers of a set.
    pub(crate) fn rounding(&self, solver: &Solver, set: usize, components: &[usize]) -> Result<Vec<f64>, Unusable> {
        let lanes = self.lanes(&[set]);
        let mut most = vec![0.0f64; components.len()];
        for (lane, path) in lanes.iter().zip(solver.solve(&lanes, &[], None)?) {
            let own = solver.rounding(lane, &path, &[])?;
            most.iter_mut().zip(components).for_each(|(m, &c)| *m = m.max(own[c]));
        }
        Ok(most)
    }

    /// Why a set has no solution: which it is, where there are several.
    fn unsolved(&self, set: usize, error: Unusable) -> Diagnostics {
        if self.sets == 1 {
            return unsolved(error.0);
        }
        let values = self.given.iter().filter(|g| g.1.len() > 1).map(|(name, v)| format!("{name} = {}", number_text(v[set])));
        unsolved(format!("set {}, {}: {}", set + 1, values.collect::<Vec<_>>().join(", "), error.0))
    }
}

/// Why there is no solution.
pub(crate) fn unsolved(message: String) -> Diagnostics {
    let endless = message.contains(ENDLESS);
    let error = Diagnostic::error(if endless { "endless-events" } else { "no-prediction" }, Default::default(), message);
    let help = "let the event change the states so that its condition does not come true again at once, or end the model before";
    if endless { error.help(help).into() } else { error.into() }
}

fn of_set(values: &[f64], set: usize) -> f64 {
    values[if values.len() == 1 { 0 } else { set }]
}

/// Where each free number stands among those of all shared inputs.
fn free_places(layout: &Layout) -> Vec<usize> {
    let mut at = 0;
    let mut places = vec![0; layout.len()];
    for s in &layout.shared {
        if let Some(first) = s.at {
            (0..s.shape.len()).for_each(|k| places[first + k] = at + k);
        }
        at += s.shape.len();
    }
    places
}

/// What a name that is given a value stands for.
fn role(prepared: &Prepared, name: &str) -> Result<Role, Diagnostics> {
    let place = |names: &[String]| names.iter().position(|n| n == name);
    let constants: Vec<String> = prepared.layout.shared.iter().flat_map(|s| element_names(&s.name, s.shape)).collect();
    // A cubic column that is one number has that as the first of its coefficients.
    let given = |f: &Forcing| element_names(f.name.strip_suffix(".0").unwrap_or(&f.name), f.shape);
    let forcing: Vec<String> = prepared.field.forcing.iter().flat_map(given).collect();
    let states: Vec<String> = prepared.field.states.iter().flat_map(|s| element_names(&s.name, s.shape)).collect();
    let found = place(&constants).map(Role::Constant).or_else(|| place(&forcing).map(Role::Forcing));
    let also = || {
        (prepared.data.formula.as_ref().is_some_and(|f| f.reads(name))
            || prepared.data.schedule.as_ref().is_some_and(|s| s.formula().reads(name)))
        .then_some(Role::Beside)
    };
    found.or_else(|| place(&states).map(Role::Start)).or_else(also).ok_or_else(|| {
        let known = constants.iter().chain(&forcing).chain(&states).map(String::as_str);
        let help = did_you_mean(name, known.clone()).unwrap_or_else(|| format!("it has {}", known.take(12).collect::<Vec<_>>().join(", ")));
        Diagnostic::error("unknown-input", Default::default(), format!("the model has no `{name}`")).help(help).into()
    })
}
