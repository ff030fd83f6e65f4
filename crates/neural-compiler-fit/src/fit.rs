//! The fit as one function. In: a program, a table, options; out: a [`Fit`], or every mistake in the data by row and column.

use crate::data::table::Table;
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::optimise::loss::Loss;
use crate::optimise::search::{self, Found, Task};
use crate::options::Options;
use crate::report::{Fit, finish};
use crate::support::random::Stream;
use crate::support::threads;
use crate::{algebraic, bootstrap, dynamics, likelihood};
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostic, Diagnostics, Program};
use std::sync::Arc;
use std::time::Instant;

pub(crate) fn wrong(code: &'static str, message: impl Into<String>) -> Diagnostics {
    Diagnostic::error(code, Default::default(), message).into()
}

/// Fits a model to data.
pub fn fit(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    options.check()?;
    options.check_purpose(&[program])?;
    some_rows(table)?;
    no_constants(program, table, options)?;
    let begun = Instant::now();
    let mut found = once(program, table, options)?;
    finish::finish(program, table, options, &mut found)?;
    bootstrap::run(program, table, options, begun, &mut found, &|table, options| once(program, table, options))?;
    Ok(found)
}

/// The fit itself.
fn once(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let mut fit = timed(options, |options, effort| {
        let likely = likelihood::is_wanted(program);
        match program.kind() {
            ModelKind::Expression if likely => likelihood::algebraic::fit(program, table, options, effort),
            ModelKind::Derivatives | ModelKind::Map if likely => {
                threads::on(options.threads, || likelihood::dynamic::fit(program, table, options, effort))
            }
            ModelKind::Expression => algebraic::fit::fit(program, table, options, effort),
            ModelKind::Derivatives | ModelKind::Map => threads::on(options.threads, || dynamics::fit::fit(program, table, options, effort)),
        }
    })?;
    fit.warnings.extend(table.remark().map(str::to_string));
    Ok(fit)
}

/// A fit that a person or a budget of time may stop.
pub(crate) fn timed(
    options: &Options<'_>,
    work: impl FnOnce(&Options<'_>, &Arc<Effort>) -> Result<Fit, Diagnostics>,
) -> Result<Fit, Diagnostics> {
    let effort = Arc::new(Effort::default().with_most_work(options.work));
    let outcome = effort.watched(options.cancel, options.budget, |stop| work(&Options { cancel: stop, ..options.clone() }, &effort));
    let ended = match options.work.filter(|_| effort.is_spent()) {
        Some(work) => Some(format!("the limit of {work} on its work")),
        None => options.budget.filter(|_| effort.is_late()).map(|budget| format!("the budget of {budget} s")),
    };
    match ended {
        Some(what) => in_time(outcome, &what),
        None => outcome,
    }
}

/// What became of a fit whose time or work was over before it ended.
fn in_time(outcome: Result<Fit, Diagnostics>, what: &str) -> Result<Fit, Diagnostics> {
    match outcome {
        Ok(fit) if fit.converged => Ok(Fit { message: format!("{}; {what} ended before more starts were followed", fit.message), ..fit }),
        Ok(fit) => Ok(Fit { message: format!("stopped by {what}; these are the best values so far"), ..fit }),
        Err(e) if e.0.iter().any(|d| d.code == "no-start") => {
            let message = format!("{what} ended before the model could be computed");
            Err(Diagnostic::error("budget-ended", Default::default(), message).help("give it more time, or fewer rows").into())
        }
        Err(e) => Err(e),
    }
}

/// Fits a model to data if that is a matter of moments: an algebraic model whose declared values lead to a minimum that leaves nothing but
/// noise. `None`: it is not, or something is wrong; [`fit`] will tell.
pub fn fit_at_once(program: &Program, table: &Table, options: &Options<'_>) -> Option<Fit> {
    options
        .check()
        .and_then(|()| options.check_purpose(&[program]))
        .and_then(|()| some_rows(table))
        .and_then(|()| no_constants(program, table, options))
        .ok()?;
    let mut fit = match program.kind() {
        _ if likelihood::is_wanted(program) => None,
        _ if options.bootstrap.is_some() => None,
        ModelKind::Expression => {
            let mut found = algebraic::fit::fit_at_once(program, table, options)?;
            finish::finish(program, table, options, &mut found).ok()?;
            Some(found)
        }
        ModelKind::Derivatives | ModelKind::Map => None,
    }?;
    fit.warnings.extend(table.remark().map(str::to_string));
    Some(fit)
}

/// A column with a special role is read whatever its name means in the program; no other has the name of a constant.
pub(crate) fn no_constants(program: &Program, table: &Table, options: &Options<'_>) -> Result<(), Diagnostics> {
    let roles = [&options.target, &options.sigma_column, &options.weights_column, &options.group, &options.time];
    program.check_columns(table.names().iter().map(String::as_str).filter(|n| !roles.iter().any(|r| r.as_deref() == Some(*n))))
}

fn some_rows(table: &Table) -> Result<(), Diagnostics> {
    if table.rows() == 0 { Err(wrong("no-rows", "the data have no rows")) } else { Ok(()) }
}

/// The weight of each row, and whether it is one over a known standard deviation; `without`: rows that need none.
pub(crate) fn weights(table: &Table, options: &Options<'_>, without: &[usize]) -> Result<(Vec<f64>, bool), Diagnostics> {
    let (weights, known) = weights_of_part(table, options, without)?;
    some_weight(&weights, options)?;
    Ok((weights, known))
}

/// The same of rows that are not all: none of them may count.
pub(crate) fn weights_of_part(table: &Table, options: &Options<'_>, without: &[usize]) -> Result<(Vec<f64>, bool), Diagnostics> {
    if let Some(sigma) = options.sigma {
        return Ok((vec![1.0 / sigma; table.rows()], true));
    }
    let (name, known) = match (&options.sigma_column, &options.weights_column) {
        (Some(name), _) => (name, true),
        (None, Some(name)) => (name, false),
        (None, None) => return Ok((Vec::new(), false)),
    };
    table.finite_except(name, without)?;
    let column = table.column(name).expect("it was checked");
    let what = if known { "a standard deviation" } else { "a weight" };
    if let Some(i) = column.iter().position(|&x| x < 0.0 || (known && x == 0.0)) {
        return Err(wrong("bad-sigma", format!("{}, column `{name}`: {what} must be positive, {} is not", table.row(i), column[i])));
    }
    Ok((column.iter().map(|x| if known { 1.0 / x } else { x.sqrt() }).collect(), known))
}

/// An error if there are weights, and none of them counts.
pub(crate) fn some_weight(weights: &[f64], options: &Options<'_>) -> Result<(), Diagnostics> {
    let none = !weights.is_empty() && weights.iter().all(|&w| w == 0.0 || w.is_nan());
    match options.sigma_column.as_ref().or(options.weights_column.as_ref()).filter(|_| none) {
        Some(name) => Err(wrong("bad-sigma", format!("every weight in the column `{name}` is 0: no row counts"))),
        None => Ok(()),
    }
}

/// The global search, with the scale of a robust loss found from the residuals where none is given.
pub(crate) fn solve(
    task: &Task<'_>,
    options: &Options<'_>,
    effort: &Effort,
    (starts, round, screened): (usize, usize, usize),
) -> Result<(Found, Loss), Diagnostics> {
    let wanted = options.loss.unwrap_or(Loss::Squares);
    let automatic = wanted != Loss::Squares && wanted.scale() == 0.0;
    let mut loss = if automatic { Loss::Squares } else { wanted };
    let mut start = task.start.to_vec();
    let mut counted = None;
    // Squares first; then the loss on the scale of what most residuals are, until that scale settles.
    for pass in 0..8 {
        let first = pass == 0;
        let starts = if first { options.starts.unwrap_or(starts) } else { 1 };
        let (seed, cancel, progress) = (options.seed, options.cancel, options.progress);
        let settings = search::Options { starts, round, screened, evaluations: 500, seed, loss, cancel, progress, effort };
        let mut found = search::search(&Task { start: &start, ..*task }, &settings).map_err(|e| {
            let message = format!("no start leads anywhere: {}", e.0);
            Diagnostics::from(
                Diagnostic::error("no-start", Default::default(), message).help("give initial values at which the model can be computed"),
            )
        })?;
        // The first pass is the global one: its starts are what is told.
        let of_all = (found.tried, found.agreed, found.failed, found.twin.clone());
        (found.tried, found.agreed, found.failed, found.twin) = counted.get_or_insert(of_all).clone();
        if !automatic {
            return Ok((found, loss));
        }
        let scale = 1.345 * typical(&found.best.linear.residuals);
        if scale == 0.0 || (!first && (scale / loss.scale() - 1.0).abs() < 1e-3) || pass == 7 {
            return Ok((found, loss));
        }
        start.clone_from(&found.best.theta);
        loss = wanted.with_scale(scale);
    }
    unreachable!("the last round returns")
}

/// The standard deviation most residuals suggest, whatever the outliers: from the median of their sizes.
pub(crate) fn typical(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    1.4826 * sizes[sizes.len() / 2]
}

/// The rows a fit with these options holds out, in order, of a table with so many.
pub fn split(rows: usize, options: &Options<'_>) -> Vec<usize> {
    let Some(share) = options.holdout else { return vec![] };
    let count = ((rows as f64 * share).round() as usize).clamp(1, rows.saturating_sub(1).max(1));
    spread(rows, count, options.seed ^ 0x5bd1_e995)
}

pub(crate) fn enough(layout: &Layout, observations: usize) -> Result<(), Diagnostics> {
    if layout.is_empty() {
        return Err(Diagnostic::error("nothing-to-fit", Default::default(), "the model has no free parameter")
            .help("declare one: (param k 1.0)")
            .into());
    }
    if observations < layout.parameters {
        return Err(wrong("too-few-rows", format!("{observations} observations cannot determine {} parameters", layout.parameters)));
    }
    Ok(())
}

/// Some of the rows, evenly but not regularly spread.
pub(crate) fn spread(rows: usize, wanted: usize, seed: u32) -> Vec<usize> {
    let mut stream = Stream::new(seed, 0x2545);
    (0..wanted)
        .map(|k| {
            let (from, to) = (k * rows / wanted, (k + 1) * rows / wanted);
            from + stream.below((to - from).max(1))
        })
        .collect()
}
