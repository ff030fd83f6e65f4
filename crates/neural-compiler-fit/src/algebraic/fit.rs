//! Fits of algebraic models. In: a program, a table, options; out: a [`Fit`]. Models with nets go on to `hybrid`.

use crate::algebraic::first_try;
use crate::algebraic::{Algebraic, Engines};
use crate::data::bind;
use crate::data::table::Table;
use crate::fit::{enough, solve, split, spread, weights, wrong};
use crate::model::affine;
use crate::model::layout::Layout;
use crate::optimise::Residuals;
use crate::optimise::effort::Effort;
use crate::optimise::search::{Found, Task};
use crate::options::Options;
use crate::report::summary::{Compared, Ended, Minimum, summarise};
use crate::report::{Axis, Fit};
use crate::statistics::profile;
use crate::statistics::uncertainty::EXACT;
use crate::support::{memory, threads};
use crate::{Loss, hybrid};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// A model with its data, split into rows to fit and rows held out.
pub(crate) struct Prepared {
    pub(crate) graph: Arc<Graph>,
    pub(crate) targets: Vec<String>,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    /// The only input, where there is but one: its name and place.
    only: Option<(String, usize)>,
    /// The column of groups with the group of each row and how many there are.
    groups: Option<(String, Vec<usize>, usize)>,
    /// All rows.
    pub(crate) all: Algebraic,
    held_out: Vec<usize>,
    /// Rows that have no value to explain, in order.
    without: Vec<usize>,
}

/// Rows used by the global search; the rest join in the end.
const SEARCH_ROWS: usize = 1500;

impl Prepared {
    fn new(
        program: &Program,
        table: &Table,
        options: &Options<'_>,
        layout: &Arc<Layout>,
        effort: &Arc<Effort>,
    ) -> Result<Prepared, Diagnostics> {
        let bound = bind::algebraic(program, table, options)?;
        let graph = program.specialise(&bound.shapes)?;
        let targets = bind::target_columns(&bound, table, options, graph.outputs()[0])?;
        let without = table.rows_without(&targets)?;
        if without.len() == table.rows() {
            return Err(wrong("no-target", format!("the column `{}` has no value at all", targets[0])));
        }
        bind::complete(program, &bound, table, &without)?;
        let (weights, known) = weights(table, options, &without)?;
        let heaviest = weights.iter().copied().reduce(f64::max).unwrap_or(1.0);
        targets.iter().try_for_each(|t| table.squares(t, heaviest))?;
        let observed = memory::joined(&targets.iter().map(|n| table.column(n).expect("it was checked")).collect::<Vec<_>>());
        let mut read = program.inputs().iter().zip(&bound.columns).enumerate().filter(|(_, (_, c))| !c.is_empty());
        let only = match (read.next(), read.next()) {
            (Some((place, (input, values))), None) if values.len() == table.rows() => Some((input.name.clone(), place)),
            _ => None,
        };
        let engines = Arc::new(Engines::new(&graph, layout).with_effort(effort));
        engines.check()?;
        let all = Algebraic::new(engines, layout.clone(), bound.columns, observed, weights, threads::count(options.threads));
        let held_out = split(all.rows(), options);
        let groups = options.group.as_ref().map(|name| {
            let (of, count) = table.groups(name);
            (name.clone(), of, count)
        });
        Ok(Prepared { graph, targets, known, only, groups, all, held_out, without })
    }

    /// The rows to fit, and those held out if there are any; for some of the numbers, the others being held where they are.
    pub(crate) fn problems(&self, layout: &Arc<Layout>) -> (Algebraic, Option<Algebraic>) {
        let all = self.all.with(layout);
        if self.held_out.is_empty() && self.without.is_empty() {
            return (all, None);
        }
        let there = |i: &usize| self.without.binary_search(i).is_err();
        let kept: Vec<usize> = (0..all.rows()).filter(|i| self.held_out.binary_search(i).is_err() && there(i)).collect();
        let held_out: Vec<usize> = self.held_out.iter().copied().filter(there).collect();
        let rest = (!held_out.is_empty()).then(|| all.sample(&held_out));
        (all.part(&kept), rest)
    }

    /// Says how many rows have nothing to explain.
    pub(crate) fn tell(&self, fit: &mut Fit) {
        if !self.without.is_empty() {
            let names = self.targets.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ");
            fit.warnings.push(format!("{} of {} rows have no value of {names} and were left out", self.without.len(), self.all.rows()));
        }
    }

    /// What groups mean to a formula, in words.
    pub(crate) fn about_groups(&self) -> Option<String> {
        let (name, _, count) = self.groups.as_ref()?;
        Some(format!("a formula has no trajectories: the {count} groups of `{name}` share every parameter, as they would without --group"))
    }

    /// Data and predictions of all rows; those held out are not compared.
    pub(crate) fn compared(&self, theta: &[f64], spent: f64) -> Result<Compared, Diagnostics> {
        let predicted = self.predicted(theta)?;
        let mut observed = self.all.target().to_vec();
        let mut held_out = if self.held_out.is_empty() { vec![] } else { vec![f64::NAN; observed.len()] };
        for (part, out) in observed.chunks_mut(self.all.rows()).zip(held_out.chunks_mut(self.all.rows())) {
            self.held_out.iter().for_each(|&i| std::mem::swap(&mut part[i], &mut out[i]));
        }
        let trajectory = self.groups.as_ref().map_or(vec![], |g| g.1.clone());
        let axis =
            self.only.as_ref().map(|(name, place)| Axis { name: name.clone(), values: self.all.columns()[*place].clone(), trajectory });
        let (targets, weights, scales) = (self.targets.clone(), self.all.weights().to_vec(), vec![0; self.targets.len()]);
        Ok(Compared { targets, observed, predicted, known: self.known, weights, scales, axis, held_out, spent })
    }

    /// Predictions for all rows; NaN for rows that have nothing to explain and lack an input besides.
    fn predicted(&self, theta: &[f64]) -> Result<Vec<f64>, Diagnostics> {
        let failed = |e: crate::optimise::Unusable| wrong("no-prediction", e.0);
        let rows = self.all.rows();
        let lacks = |row: &usize| self.all.columns().iter().flat_map(|c| c.chunks(rows)).any(|part| !part[*row].is_finite());
        let lacking: Vec<usize> = self.without.iter().copied().filter(lacks).collect();
        if lacking.is_empty() {
            return self.all.predict(theta).map_err(failed);
        }
        let kept: Vec<usize> = (0..rows).filter(|i| lacking.binary_search(i).is_err()).collect();
        let some = self.all.part(&kept).predict(theta).map_err(failed)?;
        let mut predicted = vec![f64::NAN; self.all.target().len()];
        for (part, found) in predicted.chunks_mut(rows).zip(some.chunks(kept.len())) {
            kept.iter().zip(found).for_each(|(&row, x)| part[row] = *x);
        }
        Ok(predicted)
    }
}

/// A model with its data and free numbers.
struct Posed {
    layout: Arc<Layout>,
    prepared: Prepared,
}

impl Posed {
    fn new(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Posed, Diagnostics> {
        let layout = Arc::new(Layout::new(program, &options.values)?);
        let prepared = Prepared::new(program, table, options, &layout, effort)?;
        Ok(Posed { layout, prepared })
    }

    /// Everything there is to say of a minimum.
    fn finish(&self, whole: &Algebraic, found: &Found, loss: Loss, options: &Options<'_>) -> Result<Fit, Diagnostics> {
        let Posed { layout, prepared } = self;
        let observations = whole.observations();
        let minimum = Minimum { problem: whole, best: &found.best, loss, known: prepared.known, observations, precision: EXACT };
        let sure = minimum.certainty(layout)?;
        let compared = prepared.compared(&found.best.theta, layout.len() as f64)?;
        let mut ended = Ended::of(found, &self.layout.names, loss, 1.0);
        ended.warnings.extend(prepared.about_groups());
        let mut fit = summarise(layout, ended, compared, sure);
        prepared.tell(&mut fit);
        if options.profile {
            let ends =
                profile::intervals(whole, &found.best, &layout.bounds, loss, &fit.uncertainty, &options.telling_of_profiles(fit.cost));
            fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
        }
        Ok(fit)
    }
}

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Fit, Diagnostics> {
    let posed = Posed::new(program, table, options, effort)?;
    let Posed { layout, prepared } = &posed;
    if layout.weights() > 0 {
        return threads::on(options.threads, || hybrid::algebraic::fit(program, prepared, layout, options));
    }
    let (whole, _) = prepared.problems(layout);
    enough(layout, whole.observations())?;
    if let Some(found) = first_try::follow(&whole, layout, prepared.known, options)
        && !options.profile
    {
        return posed.finish(&whole, &found, Loss::Squares, options);
    }
    threads::on(options.threads, || {
        let (found, loss) = search(&prepared.graph, &whole, layout, prepared.known, options)?;
        posed.finish(&whole, &found, loss, options)
    })
}

/// The fit, if the first try is enough.
pub(crate) fn fit_at_once(program: &Program, table: &Table, options: &Options<'_>) -> Option<Fit> {
    if options.profile || !first_try::is_short(table.rows()) {
        return None;
    }
    let posed = Posed::new(program, table, options, &Arc::default()).ok()?;
    let (whole, _) = posed.prepared.problems(&posed.layout);
    if posed.layout.weights() > 0 {
        return None;
    }
    enough(&posed.layout, whole.observations()).ok()?;
    let found = first_try::follow(&whole, &posed.layout, posed.prepared.known, options)?;
    posed.finish(&whole, &found, Loss::Squares, options).ok()
}

/// Starts followed, unless told otherwise.
const STARTS: usize = 32;
/// Starts that agree are enough only where they leave less than this share of what varies.
const UNEXPLAINED: f64 = 0.05;

/// Where the errors are known, this many times the sum of squares they make is too much, and makes starts that agree not enough either.
const TOO_LARGE: f64 = 2.0;

/// The cost above which a minimum is not believed because a few starts agree on it.
pub(crate) fn doubtful(of_the_mean: f64, known: bool, count: usize, parameters: usize) -> f64 {
    let share = UNEXPLAINED * of_the_mean;
    if known { share.min(TOO_LARGE * count.saturating_sub(parameters) as f64) } else { share }
}

/// The global search over the free numbers of a layout.
pub(crate) fn search(
    graph: &Graph,
    whole: &Algebraic,
    layout: &Layout,
    known: bool,
    options: &Options<'_>,
) -> Result<(Found, Loss), Diagnostics> {
    let brief = (options.starts == Some(1) && first_try::is_brief(whole.rows())).then(|| whole.for_a_moment());
    let whole = brief.as_ref().unwrap_or(whole);
    let sample = (whole.rows() > 2 * SEARCH_ROWS).then(|| whole.sample(&spread(whole.rows(), SEARCH_ROWS, options.seed)));
    let small: &dyn Residuals = sample.as_ref().map_or(whole, |s| s);
    let affine = affine::jointly_affine(graph, &layout.free_inputs());
    let linear: Vec<usize> =
        layout.shared.iter().filter(|s| affine.contains(&s.input)).flat_map(|s| s.at.map_or(0..0, |at| at..at + s.shape.len())).collect();
    let doubtful = match options.loss {
        None | Some(Loss::Squares) => doubtful(sample.as_ref().unwrap_or(whole).of_the_mean(), known, small.count(), layout.len()),
        // What outliers leave unexplained says nothing.
        Some(_) => f64::INFINITY,
    };
    let affordable = 3_000_000 / (small.count() * (1 + layout.len()));
    let persist = if options.starts.is_none() { affordable.clamp(STARTS, 8 * STARTS) } else { 0 };
    let task =
        Task { linear: &linear, floor: whole.floor(), doubtful, persist, known, ..Task::new(whole, small, &layout.start, &layout.bounds) };
    solve(&task, options, whole.effort(), (STARTS, 8, affordable.clamp(256, 2048)))
}
