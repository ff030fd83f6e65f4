//! Models with states by maximum likelihood. In: a program with `derive` or `next` clauses, a table, options; out: a [`Fit`].
//!
//! Trajectories are solved as for least squares, whose search (multiple shooting included) gives the start; observables and the arguments
//! of their distributions are computed along them, with the same sensitivities. Second derivatives are differences of the exact slope.

use super::groups::{self, Grouping};
use super::maximum::Starts;
use super::observed::{self, Densities, Sigmas, Target};
use super::problem::Cells;
use crate::data::table::Table;
use crate::dynamics::differences::needed;
use crate::dynamics::fit::{JUMPS, squares};
use crate::dynamics::prepared::Prepared;
use crate::dynamics::problem::{Dynamics, Point};
use crate::fit::{split, wrong};
use crate::model::layout::{Layout, element_names};
use crate::optimise::effort::Effort;
use crate::optimise::{Residuals, Unusable};
use crate::options::Options;
use crate::report::{Axis, Finer, Fit};
use neural_compiler::syntax::distributions::Support;
use neural_compiler::{Diagnostic, Diagnostics, Program};
use std::cell::RefCell;
use std::sync::Arc;

/// Starts followed, looked at between, and screened: solving is dear.
const STARTS: Starts = (6, 3, 24);
/// Singular values below this share of the largest are errors of differences.
const PRECISION: f64 = 1e-4;

/// A model with states and the columns that observe it.
struct Model {
    prepared: Prepared,
    targets: Vec<Target>,
    loglik: Option<usize>,
    held_out: Vec<usize>,
    rows: usize,
    sigmas: usize,
}

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Fit, Diagnostics> {
    // Constants that differ between groups make these trajectories of their own, unless something else tells trajectories apart.
    let by = groups::column(&Layout::new(program, &options.values)?)?.map(String::from);
    let options = &Options { group: options.group.clone().or(by), ..options.clone() };
    let mut model = Model::new(program, table, options, effort)?;
    let grouping = Grouping::new(&model.prepared.layout, table)?;
    if let Some(grouping) = &grouping {
        model.check(grouping)?;
    }
    let mut fit = super::fit::fit(&model, grouping.as_ref(), program, options, effort)?;
    if model.lacks_jumps(program, grouping.as_ref(), &fit)? {
        model.prepared.by_differences = true;
        fit = super::fit::fit(&model, grouping.as_ref(), program, options, effort)?;
        fit.warnings.push(JUMPS.to_string());
    }
    fit.warnings.extend(model.about_rows(program, grouping.as_ref(), &fit)?);
    // What is told of now is the solution at the end.
    let _ = model.prepared.solver.doubt();
    let remark = model.checked(program, grouping.as_ref(), &fit)?;
    fit.warnings.extend(remark);
    model.prepared.finish(&mut fit);
    Ok(fit)
}

/// How much more accurate the solution is made to check it: the tolerance by this factor, or as many times the steps.
const TIGHTER: (f64, usize) = (1e-2, 2);
/// Predictions that change by less than this many standard deviations of the errors, or by less than this share of the largest, are the
/// same for a fit.
const UNSEEN: (f64, f64) = (0.01, 1e-6);

/// What is compared, as points of trajectories, in the order in which it is asked for.
struct Places<'a> {
    /// The trajectory and the place in it of each row.
    of_row: Vec<Option<(usize, usize)>>,
    model: &'a Model,
    points: RefCell<Vec<Point>>,
}

impl Places<'_> {
    /// The place of a number of a row among the points; `None`: it is not compared.
    fn of(&self, problem: &Dynamics, target: Option<usize>, number: usize, row: usize) -> Option<usize> {
        let (trajectory, at) = self.of_row[row].filter(|_| self.model.held_out.binary_search(&row).is_err())?;
        let starts_here = |t: usize| problem.data.observed.iter().any(|o| o.starts_here && o.name == self.model.targets[t].name);
        if at == 0 && target.is_some_and(starts_here) {
            return None;
        }
        let mut points = self.points.borrow_mut();
        points.push(Point { trajectory, at, row, component: number, column: 0, value: 0.0, weight: 1.0 });
        Some(points.len() - 1)
    }
}

impl Model {
    fn new(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Model, Diagnostics> {
        let prepared = Prepared::new(program, table, options, effort, true)?;
        observed::check(program, &prepared.layout, options)?;
        let size = prepared.field.law.size;
        let mut sigmas = Sigmas { table, options, count: 0 };
        let only = options.target.as_deref();
        let mut targets = observed::declared(program, table, size, only, &mut sigmas)?;
        let known = |name: &str| program.observables().is_some_and(|o| o.0.iter().any(|(n, _)| n == name));
        for state in prepared.field.states.iter().filter(|s| !known(&s.name)) {
            let names = observed::chosen(only, &state.name, element_names(&state.name, state.shape));
            if !names.iter().any(|(_, n)| table.column(n).is_some() && observed::seen(table, n)) {
                continue;
            }
            let errors = sigmas.next();
            for (k, name) in names {
                targets.extend(observed::target(table, name, state.at + k, errors.clone())?);
            }
        }
        let loglik = program.loglik().map(|at| size + at);
        let rows = table.rows();
        if loglik.is_none() && targets.iter().all(|t| t.values.iter().all(|x| x.is_nan())) {
            return Err(wrong("no-target", "no column that observes the model has a value"));
        }
        Ok(Model { prepared, targets, loglik, held_out: split(rows, options), rows, sigmas: sigmas.count })
    }

    /// Every trajectory lies in one group.
    fn check(&self, grouping: &Grouping) -> Result<(), Diagnostics> {
        for t in &self.prepared.data.all {
            if let Some(&row) = t.rows.iter().find(|&&row| grouping.of_row[row] != grouping.of_row[t.rows[0]]) {
                let message = format!(
                    "rows {} and {} are of one trajectory and have different values of `{}`, by which constants differ",
                    t.rows[0] + 1,
                    row + 1,
                    grouping.column
                );
                let help = "name the column that tells trajectories apart with --group";
                return Err(Diagnostic::error("bad-value", Default::default(), message).help(help).into());
            }
        }
        Ok(())
    }

    /// Whether derivatives along the trajectories a fit found are not all there is, in some group.
    fn lacks_jumps(&self, program: &Program, grouping: Option<&Grouping>, fit: &Fit) -> Result<bool, Diagnostics> {
        let layout = Layout::new(program, &fit.values)?;
        let graph = &self.prepared.field.law.graph;
        let (problem, places) = self.points();
        let of_rows = |inside: &dyn Fn(usize) -> bool| {
            let numbers = self.targets.iter().map(|t| t.location).chain(self.loglik);
            let rows: Vec<usize> = (0..self.rows).filter(|&row| inside(row)).collect();
            for number in numbers {
                rows.iter().for_each(|&row| _ = places.of(&problem, None, number, row));
            }
            let mut compared = problem.clone();
            compared.points = places.points.take();
            compared.part(&self.trajectories(inside))
        };
        let Some(grouping) = grouping else { return Ok(needed(&of_rows(&|_| true), graph, &layout.start)) };
        for g in 0..grouping.labels.len() {
            let theta = grouping.given(&layout, g, &fit.values)?;
            if needed(&of_rows(&|row| grouping.of_row[row] == g), graph, &theta) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What there is to say of a fit at which the law jumps at the very time of a row, in some group.
    fn about_rows(&self, program: &Program, grouping: Option<&Grouping>, fit: &Fit) -> Result<Option<String>, Diagnostics> {
        let layout = Layout::new(program, &fit.values)?;
        let (problem, _) = self.points();
        let Some(grouping) = grouping else { return Ok(problem.about_rows(&layout.start)) };
        for g in 0..grouping.labels.len() {
            let theta = grouping.given(&layout, g, &fit.values)?;
            let said = problem.part(&self.trajectories(&|row| grouping.of_row[row] == g)).about_rows(&theta);
            if said.is_some() {
                return Ok(said);
            }
        }
        Ok(None)
    }

    /// What a more accurate solution changes in the predictions of a fit, if that can be seen.
    fn checked(&mut self, program: &Program, grouping: Option<&Grouping>, fit: &Fit) -> Result<Option<String>, Diagnostics> {
        let Some((finer, by)) = self.prepared.solver.finer(TIGHTER.0, TIGHTER.1).filter(|_| fit.converged) else { return Ok(None) };
        let layout = Layout::new(program, &fit.values)?;
        let given = |g: usize| grouping.and_then(|of| of.given(&layout, g, &fit.values).ok()).unwrap_or_else(|| layout.start.clone());
        let predict = |model: &Model| match grouping {
            Some(of) => super::fit::by_group(model, of, &|_| true, &given),
            None => super::fit::Model::predicted(model, &layout.start, &|_| true),
        };
        let Ok(before) = predict(self) else { return Ok(None) };
        let usual = std::mem::replace(&mut self.prepared.solver, Arc::new(finer));
        let after = predict(self);
        self.prepared.solver = usual;
        let how = match by {
            Finer::Tolerance(t) => format!("solved again to a relative tolerance of {t:.0e}"),
            Finer::Steps(times) => format!("solved again with {times} times as many steps"),
        };
        let Ok(after) = after else { return Ok(Some(format!("{how}, nothing comes out at these values: do not trust them"))) };
        let mut most = 0.0f64;
        for (t, (before, after)) in before.iter().zip(&after).enumerate() {
            if self.targets[t].noise.distribution().support == Support::Positive {
                most = most.max(apart_by_factors(&fit.observed[t * self.rows..][..self.rows], before, after));
                continue;
            }
            let error = fit.errors.get(t).copied().flatten().unwrap_or_else(|| fit.columns.get(t).map_or(f64::NAN, |c| c.rmse));
            let largest = before.iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
            let changes = before.iter().zip(after).map(|(a, b)| (a - b).abs()).filter(|by| *by > UNSEEN.1 * largest);
            most = changes.map(|by| by / error).fold(most, f64::max);
        }
        let advice = "take shorter steps, a tighter tolerance or another method";
        Ok((most > UNSEEN.0).then(|| format!("{how}, predictions change by up to {most:.1e} standard deviations of the errors: {advice}")))
    }

    /// The model without anything to compare, and where its rows are.
    fn points(&self) -> (Dynamics, Places<'_>) {
        let prepared = &self.prepared;
        let mut problem = Dynamics::new(prepared.solver.clone(), prepared.layout.clone(), prepared.data.clone(), |_, _| 0.0);
        problem.by_differences = prepared.by_differences;
        let mut of_row = vec![None; self.rows];
        for (trajectory, t) in prepared.data.all.iter().enumerate() {
            t.rows.iter().zip(&t.at).for_each(|(&row, &at)| of_row[row] = Some((trajectory, at)));
        }
        (problem, Places { of_row, model: self, points: RefCell::default() })
    }

    /// The trajectories that have one of these rows.
    fn trajectories(&self, inside: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let all = self.prepared.data.all.iter().enumerate();
        all.filter(|(_, t)| t.rows.iter().any(|&row| inside(row))).map(|(k, _)| k).collect()
    }
}

/// How far the logarithms of two predictions are apart at most, in standard deviations of that of what was observed about the first.
fn apart_by_factors(observed: &[f64], before: &[f64], after: &[f64]) -> f64 {
    let logs = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x / y).ln().abs()).filter(|d| d.is_finite()).collect::<Vec<f64>>();
    let (errors, changes) = (logs(observed, before), logs(before, after));
    let error = (errors.iter().map(|d| d * d).sum::<f64>() / errors.len() as f64).sqrt();
    changes.into_iter().fold(0.0, f64::max) / error
}

impl super::fit::Model for Model {
    fn layout(&self) -> &Layout {
        &self.prepared.layout
    }

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn sigmas(&self) -> usize {
        self.sigmas
    }

    fn held_out(&self) -> &[usize] {
        &self.held_out
    }

    fn axis(&self) -> Option<Axis> {
        Some(self.prepared.axis.clone())
    }

    fn starts(&self) -> Starts {
        STARTS
    }

    fn precision(&self) -> f64 {
        PRECISION
    }

    fn blur(&self) -> f64 {
        if self.prepared.solver.adaptive() { 10.0 * self.prepared.solver.tolerance().relative } else { 0.0 }
    }

    fn part(&self, inside: &dyn Fn(usize) -> bool, densities: &mut Densities) -> (Box<dyn Residuals + '_>, Vec<Cells>) {
        let (mut inner, place) = self.points();
        let of = |t: Option<usize>, number: usize, row: usize| place.of(&inner, t, number, row);
        let mut cells = observed::cells(&self.targets, self.prepared.layout.len(), densities, |t, number, row| {
            if inside(row) { of(Some(t), number, row) } else { None }
        });
        if let Some(number) = self.loglik {
            let rows: Vec<usize> = (0..self.rows).filter(|r| self.held_out.binary_search(r).is_err() && inside(*r)).collect();
            cells.push(observed::per_row(&rows, densities, |row| of(None, number, row).unwrap_or(0)));
        }
        inner.points = place.points.into_inner();
        let some = self.trajectories(inside);
        let all = some.len() == self.prepared.data.all.len();
        (Box::new(if all { inner } else { inner.part(&some) }), cells)
    }

    fn squares(&self, options: &Options<'_>, _: &Effort) -> Option<Vec<f64>> {
        squares(&self.prepared, options)
    }

    fn predicted(&self, theta: &[f64], inside: &dyn Fn(usize) -> bool) -> Result<Vec<Vec<f64>>, Unusable> {
        let some = self.trajectories(inside);
        let mut all = vec![vec![f64::NAN; self.rows]; self.targets.len()];
        if some.is_empty() {
            return Ok(all);
        }
        let part = self.points().0.part(&some);
        for (t, path) in part.data.all.iter().zip(&part.paths(theta)?) {
            for (&row, &at) in t.rows.iter().zip(&t.at) {
                self.targets.iter().zip(&mut all).for_each(|(target, column)| column[row] = path.states[at][target.location]);
            }
        }
        Ok(all)
    }
}
