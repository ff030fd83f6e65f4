//! Formulas by maximum likelihood. In: a program without states, a table, options; out: a [`Fit`].
//!
//! Every row is computed once: its observables, the arguments of their distributions and what it adds to the log-likelihood are the numbers
//! of one prediction. Least squares of the locations gives the start from which the likelihood is followed, beside the declared values.

use super::groups::{self, Grouping};
use super::maximum::Starts;
use super::observed::{self, Densities, Sigmas, Target};
use super::problem::Cells;
use crate::algebraic::{Algebraic, Engines};
use crate::data::bind;
use crate::data::table::Table;
use crate::fit::{split, wrong};
use crate::model::affine;
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::optimise::loss::Loss;
use crate::optimise::search::{self, Task};
use crate::optimise::{Bounds, Residuals, Unusable};
use crate::options::Options;
use crate::report::{Axis, Fit};
use crate::statistics::uncertainty::EXACT;
use crate::support::threads;
use neural_compiler::{Diagnostics, Program, Shape};
use std::sync::Arc;

/// Starts followed, looked at between, and screened; and those of the least squares before.
const STARTS: Starts = (12, 4, 128);
const STARTS_OF_SQUARES: Starts = (12, 4, 256);

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Fit, Diagnostics> {
    let mut model = Model::new(program, table, options, effort)?;
    let grouping = Grouping::new(&model.layout, table)?;
    let mut fit = threads::on(options.threads, || super::fit::fit(&model, grouping.as_ref(), program, options, effort))?;
    fit.warnings.append(&mut model.notes);
    Ok(fit)
}

/// A formula with its data.
struct Model {
    layout: Layout,
    targets: Vec<Target>,
    loglik: Option<usize>,
    /// All rows that can be computed, and those of them that are fitted, by their numbers in the table.
    all: Algebraic,
    computed: Vec<usize>,
    fitted: Vec<usize>,
    held_out: Vec<usize>,
    rows: usize,
    /// Standard deviations to be estimated.
    sigmas: usize,
    /// Numbers of the layout in which all that is predicted is affine: least squares needs no start for them.
    linear: Vec<usize>,
    axis: Option<Axis>,
    /// What is said of columns that are not fitted.
    notes: Vec<String>,
}

/// Where an observable without column would stand in a list of columns.
fn names(targets: &[Target]) -> String {
    targets.iter().map(|t| format!("`{}`", t.name)).collect::<Vec<_>>().join(", ")
}

impl Model {
    fn new(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Model, Diagnostics> {
        let (observables, predictors) = match program.observables() {
            Some((names, predictors)) => (names, predictors),
            None => (&[][..], program),
        };
        let layout = Layout::new(predictors, &options.values)?;
        observed::check(program, &layout, options)?;
        let observed_names: Vec<String> = observables.iter().flat_map(|(n, s)| crate::model::layout::element_names(n, *s)).collect();
        let mut bound = bind::algebraic(predictors, table, options)?;
        bound.reserve(&observed_names);
        bound.reserve(&groups::column(&layout)?.map(String::from).into_iter().collect::<Vec<_>>());
        let graph = predictors.specialise(&bound.shapes)?;
        let d = graph.outputs()[0].len();
        let mut sigmas = Sigmas { table, options, count: 0 };
        let own = match program.observables() {
            Some(_) => program.own_value(),
            None => Some(0),
        };
        // Beside a value of its own, the target is the column of that.
        let only = options.target.as_deref().filter(|_| own.is_none());
        let mut targets = observed::declared(program, table, 0, only, &mut sigmas)?;
        if let Some(own) = own {
            let shape = if d - own == 1 { Shape::Scalar } else { Shape::Vector((d - own) as u32) };
            let errors = sigmas.next();
            for (k, name) in bind::target_columns(&bound, table, options, shape)?.into_iter().enumerate() {
                targets.extend(observed::target(table, name, own + k, errors.clone())?);
            }
        }
        let listed: Vec<&String> = observed_names.iter().filter(|n| table.lists(n) || table.column(n).is_some()).collect();
        let several = |all: &[&String]| all.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let named = |only: &str| observables.iter().any(|o| o.0 == only) || observed_names.iter().any(|n| n == only);
        if let Some(name) = only.filter(|only| !named(only)) {
            return Err(wrong("no-target", format!("the model does not say what `{name}` observes")));
        }
        let loglik = program.loglik();
        if targets.is_empty() && loglik.is_none() {
            let message = match &listed[..] {
                [] => format!("no column of the data observes the model ({})", several(&observed_names.iter().collect::<Vec<_>>())),
                some => format!("the columns {} have no value at all", several(some)),
            };
            return Err(wrong("no-target", message));
        }
        let others: Vec<&String> = listed.iter().copied().filter(|n| targets.iter().all(|t| t.name != **n)).collect();
        let (empty_ones, left): (Vec<&String>, Vec<&String>) = others.into_iter().partition(|n| !observed::seen(table, n));
        let mut notes: Vec<String> =
            empty_ones.iter().map(|n| format!("the column `{n}` has no value at all: it counts as not observed")).collect();
        if let (Some(only), false) = (only, left.is_empty()) {
            notes.push(format!("`{only}` is the target: what observes {} is not fitted", several(&left)));
        }
        let rows = table.rows();
        let empty = |row: usize| loglik.is_none() && targets.iter().all(|t| t.values[row].is_nan());
        let without: Vec<usize> = (0..rows).filter(|&row| empty(row)).collect();
        if without.len() == rows {
            return Err(wrong("no-target", format!("the columns {} have no value at all", names(&targets))));
        }
        bind::complete(predictors, &bound, table, &without)?;
        let lacks = |row: &usize| bound.columns.iter().flat_map(|c| c.chunks(rows)).any(|part| !part[*row].is_finite());
        let computed: Vec<usize> = (0..rows).filter(|row| without.binary_search(row).is_err() || !lacks(row)).collect();
        let held_out = split(rows, options);
        let fitted: Vec<usize> =
            computed.iter().copied().filter(|r| without.binary_search(r).is_err() && held_out.binary_search(r).is_err()).collect();
        let mut read = predictors.inputs().iter().zip(&bound.columns).filter(|(_, c)| !c.is_empty());
        let axis = match (read.next(), read.next()) {
            (Some((input, values)), None) if values.len() == rows => {
                Some(Axis { name: input.name.clone(), values: values.clone(), trajectory: vec![] })
            }
            _ => None,
        };
        let linear = affine::numbers(&graph, &layout);
        let shared = Arc::new(layout.clone());
        let engines = Arc::new(Engines::new(&graph, &shared).with_effort(effort));
        engines.check()?;
        let all = Algebraic::new(engines, shared, bound.columns, vec![0.0; d * rows], vec![], threads::count(options.threads));
        let all = if computed.len() == rows { all } else { all.part(&computed) };
        let sigmas = sigmas.count;
        Ok(Model { layout, targets, loglik, all, computed, fitted, held_out, rows, sigmas, linear, axis, notes })
    }

    /// The model on some of the rows that can be computed.
    fn rows_of(&self, rows: &[usize]) -> Algebraic {
        let place: Vec<usize> = rows.iter().filter_map(|r| self.computed.binary_search(r).ok()).collect();
        if place.len() == self.computed.len() { self.all.part(&place) } else { self.all.sample(&place) }
    }

    /// What least squares compares: the residual, what was observed, and one over its scale.
    fn points(&self, at: &impl Fn(usize) -> Option<usize>, n: usize) -> Vec<(usize, f64, f64)> {
        let of = |t: &Target| {
            let scale = 1.0 / t.scatter();
            let seen = t.seen();
            let cells = seen.into_iter().enumerate().filter(|(_, y)| y.is_finite());
            cells.filter_map(|(row, y)| Some((t.location * n + at(row)?, y, scale))).collect::<Vec<_>>()
        };
        self.targets.iter().flat_map(of).collect()
    }
}

impl super::fit::Model for Model {
    fn layout(&self) -> &Layout {
        &self.layout
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
        self.axis.clone()
    }

    fn starts(&self) -> Starts {
        STARTS
    }

    fn precision(&self) -> f64 {
        EXACT
    }

    fn blur(&self) -> f64 {
        0.0
    }

    fn part(&self, inside: &dyn Fn(usize) -> bool, densities: &mut Densities) -> (Box<dyn Residuals + '_>, Vec<Cells>) {
        let rows: Vec<usize> = self.fitted.iter().copied().filter(|&row| inside(row)).collect();
        let inner = self.rows_of(&rows);
        let n = rows.len();
        let at = |row: usize| rows.binary_search(&row).ok();
        let mut cells = observed::cells(&self.targets, self.layout.len(), densities, |_, number, row| at(row).map(|i| number * n + i));
        cells.extend(self.loglik.map(|number| observed::per_row(&rows, densities, |row| number * n + at(row).unwrap_or(0))));
        (Box::new(inner), cells)
    }

    fn squares(&self, options: &Options<'_>, effort: &Effort) -> Option<Vec<f64>> {
        let (inner, n) = (self.rows_of(&self.fitted), self.fitted.len());
        let points = self.points(&|row| self.fitted.binary_search(&row).ok(), n);
        Locations { inner: &inner, points, linear: &self.linear }.start(&self.layout, options, effort)
    }

    fn predicted(&self, theta: &[f64], inside: &dyn Fn(usize) -> bool) -> Result<Vec<Vec<f64>>, Unusable> {
        let rows: Vec<usize> = self.computed.iter().copied().filter(|&row| inside(row)).collect();
        let mut all = vec![vec![f64::NAN; self.rows]; self.targets.len()];
        if rows.is_empty() {
            return Ok(all);
        }
        let found = self.rows_of(&rows).predict(theta)?;
        let parts: Vec<&[f64]> = found.chunks(rows.len()).collect();
        for (own, t) in all.iter_mut().zip(&self.targets) {
            rows.iter().zip(parts[t.location]).for_each(|(&row, x)| own[row] = *x);
        }
        Ok(all)
    }
}

/// Least squares of the locations, each column on its own scale.
struct Locations<'a> {
    inner: &'a Algebraic,
    points: Vec<(usize, f64, f64)>,
    linear: &'a [usize],
}

impl Locations<'_> {
    /// Where it ends.
    fn start(&self, layout: &Layout, options: &Options<'_>, effort: &Effort) -> Option<Vec<f64>> {
        let p = self.inner.parameters();
        if self.points.is_empty() || options.starts == Some(1) {
            return None;
        }
        let bounds = Bounds { min: layout.bounds.min[..p].to_vec(), max: layout.bounds.max[..p].to_vec() };
        let task = Task { linear: self.linear, ..Task::new(self, self, &layout.start[..p], &bounds) };
        let (starts, round, screened) = STARTS_OF_SQUARES;
        let (seed, cancel) = (options.seed, options.cancel);
        let settings =
            search::Options { starts, round, screened, evaluations: 200, seed, loss: Loss::Squares, cancel, progress: None, effort };
        let found = search::search(&task, &settings).ok()?;
        Some(found.best.theta)
    }
}

impl Residuals for Locations<'_> {
    fn parameters(&self) -> usize {
        self.inner.parameters()
    }

    fn count(&self) -> usize {
        self.points.len()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let (m, n, p) = (self.inner.count(), self.points.len(), theta.len());
        let mut eta = vec![0.0; m];
        let mut whole = jacobian.as_ref().map(|_| vec![0.0; m * p]);
        self.inner.evaluate(theta, &mut eta, whole.as_deref_mut())?;
        for (r, (i, y, scale)) in residuals.iter_mut().zip(&self.points) {
            *r = (eta[*i] - y) * scale;
        }
        if let (Some(jacobian), Some(whole)) = (jacobian, whole) {
            for j in 0..p {
                for (k, (i, _, scale)) in self.points.iter().enumerate() {
                    jacobian[j * n + k] = whole[j * m + i] * scale;
                }
            }
        }
        Ok(())
    }
}
