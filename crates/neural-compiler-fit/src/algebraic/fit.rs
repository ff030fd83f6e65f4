//! Fits of algebraic models. In: a program, a table, options; out: a [`Fit`]. Models with nets go on to `hybrid`.

use crate::algebraic::prepared::Prepared;
use crate::algebraic::{Algebraic, first_try};
use crate::data::table::Table;
use crate::fit::{enough, solve, spread};
use crate::model::affine;
use crate::model::layout::Layout;
use crate::optimise::Residuals;
use crate::optimise::effort::Effort;
use crate::optimise::search::{Found, Task};
use crate::options::Options;
use crate::report::Fit;
use crate::report::exact;
use crate::report::summary::{Ended, Minimum, counted, summarise};
use crate::statistics::profile;
use crate::statistics::uncertainty::EXACT;
use crate::support::threads;
use crate::{Loss, hybrid};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// Rows used by the global search; the rest join in the end.
const SEARCH_ROWS: usize = 1500;

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Fit, Diagnostics> {
    let prepared = &Prepared::new(program, table, options, effort)?;
    let layout = &prepared.layout;
    if layout.weights() > 0 {
        return threads::on(options.threads, || hybrid::algebraic::fit(program, prepared, options));
    }
    let (whole, _) = prepared.problems(layout);
    enough(layout, whole.observations())?;
    if let Some(found) = first_try::follow(&whole, layout, prepared.known, options)
        && !options.profile
    {
        return finish(prepared, &whole, &found, Loss::Squares, options);
    }
    threads::on(options.threads, || {
        let (found, loss) = search(&prepared.graph, &whole, layout, prepared.known, options)?;
        finish(prepared, &whole, &found, loss, options)
    })
}

/// The fit, if the first try is enough.
pub(crate) fn fit_at_once(program: &Program, table: &Table, options: &Options<'_>) -> Option<Fit> {
    if options.profile || !first_try::is_short(table.rows()) {
        return None;
    }
    let prepared = Prepared::new(program, table, options, &Arc::default()).ok()?;
    let layout = &prepared.layout;
    let (whole, _) = prepared.problems(layout);
    if layout.weights() > 0 {
        return None;
    }
    enough(layout, whole.observations()).ok()?;
    let found = first_try::follow(&whole, layout, prepared.known, options)?;
    finish(&prepared, &whole, &found, Loss::Squares, options).ok()
}

/// Everything there is to say of a minimum.
fn finish(prepared: &Prepared, whole: &Algebraic, found: &Found, loss: Loss, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let layout = &prepared.layout;
    let observations = whole.observations();
    let (best, linear) = (&found.best, &found.best.linear);
    let (robust, variance) = counted(linear, loss, prepared.known);
    let counted = (robust.as_ref().unwrap_or(linear), variance);
    let mut sure = Minimum { problem: whole, linear, best, counted, observations, precision: EXACT }.certainty(layout)?;
    if !prepared.known && best.cost <= whole.floor() {
        exact::idle(layout, best, whole.size(), &mut sure.uncertainty, &mut sure.undetermined);
    }
    let compared = prepared.compared(&found.best.theta, layout.len() as f64)?;
    let mut ended = Ended::of(found, &layout.names, loss, 1.0);
    ended.warnings.extend(prepared.about_groups());
    let mut fit = summarise(layout, ended, compared, sure);
    prepared.tell(&mut fit);
    if options.profile {
        let ends = profile::intervals(whole, &found.best, &layout.bounds, loss, &fit.uncertainty, &options.telling_of_profiles(fit.cost));
        fit.warnings.extend(profile::unfollowed(&layout.names, &ends));
        fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
    }
    Ok(fit)
}

/// Starts followed, unless told otherwise.
const STARTS: usize = 32;
/// Starts that agree are enough only where they leave less than this share of what varies.
const UNEXPLAINED: f64 = 0.05;

/// Where the errors are known, which may be most of what varies, starts that agree are not enough only above so many times the sum of
/// squares they make.
const TOO_LARGE: f64 = 2.0;

/// The cost above which a minimum is not believed because a few starts agree on it.
pub(crate) fn doubtful(of_the_mean: f64, known: bool, count: usize, parameters: usize) -> f64 {
    if known { TOO_LARGE * count.saturating_sub(parameters) as f64 } else { UNEXPLAINED * of_the_mean }
}

/// The rows of a table with so many on which the global search is done; `None`: all of them.
pub(super) fn searched(rows: usize, seed: u32) -> Option<Vec<usize>> {
    (rows > 2 * SEARCH_ROWS).then(|| spread(rows, SEARCH_ROWS, seed))
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
    let sample = searched(whole.rows(), options.seed).map(|rows| whole.sample(&rows));
    search_on(graph, (whole, whole.floor()), sample.as_ref().unwrap_or(whole), layout, known, options)
}

/// The same on some of the rows, `small`; those of all are compared in the end, and cost `floor` where they are met.
pub(super) fn search_on(
    graph: &Graph,
    (whole, floor): (&dyn Residuals, f64),
    small: &Algebraic,
    layout: &Layout,
    known: bool,
    options: &Options<'_>,
) -> Result<(Found, Loss), Diagnostics> {
    let linear = affine::numbers(graph, layout);
    let doubtful = match options.loss {
        None | Some(Loss::Squares) => doubtful(small.of_the_mean(), known, small.count(), layout.len()),
        // What outliers leave unexplained says nothing.
        Some(_) => f64::INFINITY,
    };
    let affordable = 3_000_000 / (small.count() * (1 + layout.len()));
    let persist = if options.starts.is_none() { affordable.clamp(STARTS, 8 * STARTS) } else { 0 };
    let task =
        Task { linear: &linear, floor, doubtful, persist, known, exchange: true, ..Task::new(whole, small, &layout.start, &layout.bounds) };
    solve(&task, options, small.effort(), (STARTS, 8, affordable.clamp(256, 2048)))
}
