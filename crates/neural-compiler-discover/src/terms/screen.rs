//! The screen: which equations may be right for each state. In: a problem; out: equations with starting values, the best first, each fitted
//! through its own trajectory with the other states as their smooth courses give them.
//! Invariants: windows, not derivatives; the same for every number of threads.

use super::equation::{Base, Equation, sides, start_name};
use super::grammar::{Seen, Term, terms};
use super::select::{Chosen, Products, select};
use crate::noise::Errors;
use crate::problem::{Kind, Problem};
use crate::smooth::Course;
use crate::text::complexity;
use neural_compiler::{Options as Compile, compile, number_text};
use neural_compiler_fit::{Options, Table, fit, predict};
use rayon::prelude::*;
use std::time::Instant;

/// Windows of a trajectory at most.
const WINDOWS: usize = 64;
/// Steps of the integral over a window; even.
const STEPS: usize = 4;
/// Terms of an equation at most.
const MOST_TERMS: usize = 6;
/// Sets kept from size to size.
const BEAM: usize = 60;
/// Equations that are fitted, of one term, of two, and so on.
const EACH: [usize; MOST_TERMS] = [8, 12, 10, 6, 4, 3];
/// How much the fit of one may compute (`Options::work`): the same on every machine.
const WORK: usize = 1 << 22;

/// Behind everything that was fitted.
const NOT_FITTED: f64 = 1e15;

/// How long a short term is.
const SHORT: usize = 4;

/// An equation and what speaks for it.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(crate) equation: Equation,
    pub(crate) score: f64,
}

/// Terms, integrated over the windows, and what each state gains over these.
#[derive(Clone, Debug, Default)]
pub(crate) struct Library {
    columns: Vec<(Term, Vec<f64>)>,
    gains: Vec<Vec<f64>>,
}

impl Library {
    /// Short terms: what a term may be exchanged for.
    pub(crate) fn short(&self) -> impl Iterator<Item = &Term> {
        self.columns.iter().map(|c| &c.0).filter(|t| t.inner.is_none() && t.size <= SHORT)
    }

    /// The equation of a state with these terms, coefficients by least squares over the windows; nothing where terms hardly differ.
    pub(crate) fn equation(&self, d: usize, terms: &[Term]) -> Option<Equation> {
        let column = |t: &Term| self.columns.iter().find(|c| c.0.text == t.text).map(|c| c.1.clone());
        let columns = terms.iter().map(column).collect::<Option<Vec<_>>>()?;
        let all: Vec<usize> = (0..columns.len()).collect();
        let found = Products::new(&columns, &self.gains[d]).solve(&all)?;
        Some(Equation { base: false, terms: terms.iter().cloned().zip(found.coefficients).collect() })
    }
}

/// A problem, smoothed.
pub(crate) struct Screen<'a> {
    problem: &'a Problem,
    base: Option<&'a Base>,
    errors: Errors,
    states: Vec<String>,
    /// By trajectory, by state.
    courses: Vec<Vec<Course>>,
    /// States at all points of all windows.
    points: Table,
    /// The length of a step, by window.
    steps: Vec<f64>,
    /// What each state gains over each window.
    gains: Vec<Vec<f64>>,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(problem: &'a Problem, base: Option<&'a Base>) -> Screen<'a> {
        let Kind::Ode { states, time, .. } = &problem.kind else { unreachable!("the proposer asks for states") };
        let times = problem.column(time);
        let trajectories = problem.trajectories();
        let one = |rows: &Vec<usize>| -> Vec<Course> {
            let t: Vec<f64> = rows.iter().map(|&r| times[r]).collect();
            let through = |s: &String| Course::new(&t, &rows.iter().map(|&r| problem.column(s)[r]).collect::<Vec<_>>());
            states.par_iter().map(through).collect()
        };
        let courses: Vec<Vec<Course>> = trajectories.iter().map(one).collect();
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); states.len() + 1];
        let (mut steps, mut gains) = (Vec::new(), vec![Vec::new(); states.len()]);
        for (rows, courses) in trajectories.iter().zip(&courses) {
            let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else { continue };
            let (from, to) = (times[first], times[last]);
            let windows = (rows.len() - 1).clamp(1, WINDOWS);
            let step = (to - from) / (windows * STEPS) as f64;
            if step.is_nan() || step <= 0.0 {
                continue;
            }
            for w in 0..windows {
                let at = |k: usize| from + step * (w * STEPS + k) as f64;
                for k in 0..=STEPS {
                    columns[0].push(at(k));
                    courses.iter().enumerate().for_each(|(d, c)| columns[d + 1].push(c.at(at(k))));
                }
                steps.push(step);
                courses.iter().enumerate().for_each(|(d, c)| gains[d].push(c.at(at(STEPS)) - c.at(at(0))));
            }
        }
        let names = std::iter::once(time).chain(states).cloned();
        let points = Table::new(names.zip(columns)).unwrap_or_default();
        Screen { problem, base, errors: Errors::of(problem), states: states.clone(), courses, points, steps, gains }
    }

    /// Where the states of the first trajectory start.
    pub(crate) fn starts(&self) -> Vec<f64> {
        let Kind::Ode { time, .. } = &self.problem.kind else { return vec![] };
        let first = self.points.column(time).and_then(|t| t.first().copied()).unwrap_or(0.0);
        self.courses.first().map_or(vec![], |all| all.iter().map(|c| c.at(first)).collect())
    }

    fn seen(&self) -> Vec<Seen> {
        let one = |name: &String| {
            let mut sorted = self.points.column(name).unwrap_or(&[]).to_vec();
            sorted.sort_by(f64::total_cmp);
            let at = |share: f64| sorted.get((share * (sorted.len().max(1) - 1) as f64) as usize).copied().unwrap_or(0.0);
            let lowest = self.problem.column(name).iter().copied().fold(f64::INFINITY, f64::min);
            // The course of noisy positive data may dip below zero; the data decide.
            let low = if lowest > 0.0 { at(0.0).max(0.5 * lowest) } else { at(0.0) };
            Seen { name: name.clone(), low, high: at(1.0), typical: at(0.5) }
        };
        self.states.iter().map(one).collect()
    }

    /// An expression integrated over each window; nothing where it cannot be computed everywhere.
    fn integrated(&self, text: &str) -> Option<Vec<f64>> {
        let inputs = self.points.names().iter().map(|n| (n.clone(), None)).collect();
        let program = compile(text, &Compile { inputs: Some(inputs), ..Compile::default() }).ok()?;
        let found = predict(&program, &self.points, &Options { threads: 1, ..Options::default() }).ok()?;
        let values = &found.first()?.1;
        let simpson = |(v, h): (&[f64], &f64)| {
            let inner: f64 = v[1..STEPS].iter().enumerate().map(|(i, x)| if i % 2 == 0 { 4.0 * x } else { 2.0 * x }).sum();
            h / 3.0 * (v[0] + inner + v[STEPS])
        };
        let all: Vec<f64> = values.chunks(STEPS + 1).zip(&self.steps).map(simpson).collect();
        all.iter().all(|x| x.is_finite()).then_some(all)
    }

    /// The equations that may be right, for each state, and what they were chosen from.
    pub(crate) fn ranked(&self, deadline: Instant) -> (Vec<Vec<Ranked>>, Library) {
        let all = terms(&self.seen());
        let columns: Vec<(Term, Vec<f64>)> = all
            .into_par_iter()
            .filter_map(|term| {
                let text = term.inner.map_or(term.text.clone(), |k| term.with(&number_text(k)));
                // A constant alone is no program of the points.
                let column = if text == "1" { self.steps.iter().map(|h| h * STEPS as f64).collect() } else { self.integrated(&text)? };
                Some((term, column))
            })
            .collect();
        let ranked = (0..self.states.len()).map(|d| self.of_state(d, &columns, deadline)).collect();
        (ranked, Library { columns, gains: self.gains.clone() })
    }

    fn of_state(&self, d: usize, columns: &[(Term, Vec<f64>)], deadline: Instant) -> Vec<Ranked> {
        let only: Vec<Vec<f64>> = columns.iter().map(|c| c.1.clone()).collect();
        let windows = self.steps.len() as f64;
        let size = |c: &Chosen| -> usize { c.columns.iter().map(|&k| columns[k].0.size + 2).sum() };
        let cost = |c: &Chosen| windows * c.left.ln() + 2.0 * size(c) as f64 + windows.ln() * c.columns.len() as f64;
        let same = |a: usize, b: usize| columns[a].0.text == columns[b].0.text;
        let apart = |set: &[usize], c: usize| !set.iter().any(|&s| same(s, c));
        let mut equations: Vec<Equation> = Vec::new();
        let mut add = |wanted: &[f64], base: bool, (most, each): (usize, [usize; MOST_TERMS])| {
            let products = Products::new(&only, wanted);
            for (level, each) in select(&products, (most, BEAM), cost, apart).iter().zip(each) {
                for chosen in level.iter().take(each) {
                    let terms = chosen.columns.iter().zip(&chosen.coefficients).map(|(&k, &x)| (columns[k].0.clone(), x)).collect();
                    equations.push(Equation { base, terms });
                }
            }
        };
        if let Some(base) = self.base {
            let declared = crate::text::forms_but(&base.source, &["derive", "state", "time", "observe"]);
            if let Some(known) = self.integrated(&format!("{declared}\n{}", base.sides[d])) {
                let rest: Vec<f64> = self.gains[d].iter().zip(&known).map(|(g, k)| g - k).collect();
                add(&rest, true, (2, [8; MOST_TERMS]));
            }
        }
        add(&self.gains[d], false, (MOST_TERMS, EACH));
        if self.base.is_some() {
            equations.push(Equation { base: true, terms: vec![] });
        }
        // Half of the time: whatever is left over then was the least promising of its size.
        let deadline = Instant::now() + deadline.saturating_duration_since(Instant::now()) / (2 * (self.states.len() - d) as u32);
        let mut ranked: Vec<Ranked> = equations
            .into_par_iter()
            .enumerate()
            .filter_map(|(k, equation)| match Instant::now() > deadline {
                true => Some(Ranked { equation, score: NOT_FITTED + k as f64 }),
                false => self.fitted(d, equation, deadline),
            })
            .collect();
        ranked.sort_by(|a, b| a.score.total_cmp(&b.score));
        ranked
    }

    /// An equation fitted through its trajectory, the other states given.
    fn fitted(&self, d: usize, equation: Equation, deadline: Instant) -> Option<Ranked> {
        let Kind::Ode { time, group, .. } = &self.problem.kind else { return None };
        let times = self.problem.column(time);
        let mut columns: Vec<(String, Vec<f64>)> = vec![(time.clone(), times.to_vec())];
        columns.extend(group.iter().map(|g| (g.clone(), self.problem.column(g).to_vec())));
        for (k, name) in self.states.iter().enumerate() {
            let mut column = self.problem.column(name).to_vec();
            if k != d {
                let place = group.as_ref().map(|g| self.problem.table.groups(g).0);
                for (row, x) in column.iter_mut().enumerate() {
                    let trajectory = place.as_ref().map_or(0, |p| p[row]);
                    *x = self.courses.get(trajectory).map_or(*x, |c| c[k].at(times[row]));
                }
            }
            columns.push((name.clone(), column));
        }
        let table = Table::new(columns).ok()?;
        let mut one: Vec<Equation> = vec![Equation { base: false, terms: vec![] }; self.states.len()];
        one[d] = equation;
        let (texts, mut lines) = sides(self.problem, &one, self.base);
        if let Some(base) = self.base.filter(|_| one[d].base) {
            lines.insert(0, crate::text::forms_but(&base.source, &["derive", "state", "time", "observe"]));
        }
        let name = &self.states[d];
        for other in self.states.iter().filter(|s| *s != name) {
            lines.push(format!("(input {other} :interpolate cubic)"));
        }
        let start = start_name(self.problem, name);
        let per = group.as_ref().map_or(String::new(), |g| format!(" :per {g}"));
        lines.push(format!("(param {start} {}{per})", number_text(*self.starts().get(d)?)));
        lines.push(format!("(state {name} {start})\n(derive {name} {})", texts[d]));
        lines.extend(self.errors.declared(self.problem, std::slice::from_ref(name)));
        let text = lines.join("\n");
        let program = compile(&text, &Compile::default()).ok()?;
        let left = deadline.saturating_duration_since(Instant::now()).as_secs_f64().max(0.01);
        let options = Options {
            time: Some(time.clone()),
            group: group.clone(),
            starts: Some(1),
            tolerance: Some(1e-5),
            threads: 1,
            budget: Some(left),
            work: Some(WORK),
            seed: self.problem.seed,
            holdout: (self.problem.holdout > 0.0).then_some(self.problem.holdout),
            ..Options::default()
        };
        let found = fit(&program, &table, &options).ok()?;
        let l = &found.likelihood;
        let score = -2.0 * l.loglik + l.k * (l.n as f64).ln() + 2.0 * complexity(&text) as f64;
        let mut equation = one.swap_remove(d);
        let value = |name: &str| found.parameter(name).map(|p| p.value);
        let count = equation.terms.len();
        let stems = if self.base.is_some() { ("cn", "kn") } else { ("c", "k") };
        let (outer, inner) = (self.problem.fresh(stems.0, count), self.problem.fresh(stems.1, count));
        let mut inners = 0;
        for (k, (term, coefficient)) in equation.terms.iter_mut().enumerate() {
            *coefficient = value(&outer[k]).unwrap_or(*coefficient);
            if let Some(start) = term.inner {
                term.inner = Some(value(&inner[inners]).unwrap_or(start));
                inners += 1;
            }
        }
        score.is_finite().then_some(Ranked { equation, score })
    }
}
