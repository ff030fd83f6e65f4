//! Fits of models with states. In: a program with `derive` or `next` clauses, a table, options; out: a [`Fit`].
//!
//! Multiple shooting finds a start that follows the data; single shooting from it, from the declared values and from sampled ones finds the
//! minimum. Columns of different size or noise count alike: each is weighted by one over the scatter the fit leaves in it, unless the
//! standard deviations are known.

use crate::dynamics::field::Field;
use crate::dynamics::problem::Dynamics;
use crate::dynamics::shooting;
use crate::dynamics::solver::Solver;
use crate::dynamics::steps::Scheme;
use crate::dynamics::trajectories::{self, Trajectories};
use crate::fit::{Compared, Options, enough, solve, summarise, weights, wrong};
use crate::layout::{Layout, element_names};
use crate::least::search::Task;
use crate::least::{Residuals, lm};
use crate::profile;
use crate::report::Fit;
use crate::table::Table;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// A model with states, ready to be solved.
struct Ready {
    solver: Arc<Solver>,
    layout: Arc<Layout>,
    data: Arc<Trajectories>,
    field: Field,
}

/// Relative tolerance of adaptive steps unless told otherwise.
const TOLERANCE: f64 = 1e-8;

fn ready(program: &Program, table: &Table, options: &Options<'_>) -> Result<Ready, Diagnostics> {
    let layout = Arc::new(Layout::new(program));
    let map = program.kind() == ModelKind::Map;
    let time = trajectories::time_column(table, options.time.as_deref());
    if time.is_none() && !map {
        return Err(neural_compiler::Diagnostic::error("no-time", Default::default(), "a differential equation needs a column of times")
            .help("name it with --time, or call it `t`")
            .into());
    }
    let own = program.inputs().iter().find(|i| i.name == "t" && table.column("t").is_none()).map(|i| i.name.clone());
    let field = Field::new(program, &layout, own.as_deref().or(time.as_deref()).unwrap_or("t"))?;
    let data = Arc::new(trajectories::read(program, &field, &layout, table, time.as_deref(), options.group.as_deref())?);
    let sizes = sizes(&data, field.size);
    let make = |scheme: Scheme| -> Result<Arc<Solver>, Diagnostics> {
        let solver = Solver::new(&field, &layout, scheme, options.step, options.tolerance.unwrap_or(TOLERANCE))?;
        Ok(Arc::new(solver.with_sizes(sizes.clone())))
    };
    let solver = match options.scheme {
        _ if map => make(Scheme::Map)?,
        Some(scheme) => make(scheme)?,
        None => {
            // Stiff at the declared values: the explicit method takes very many steps, the implicit one few.
            let explicit = make(Scheme::Dopri5)?;
            let implicit = make(Scheme::Rodas4)?;
            let cost = |solver: &Arc<Solver>| {
                let problem = Dynamics::new(solver.clone(), layout.clone(), data.clone(), |_, _| 1.0);
                solver.work(&problem.lanes(&layout.start), &problem.shared(&layout.start))
            };
            match (cost(&explicit), cost(&implicit)) {
                // A step of the implicit method costs several of the explicit one.
                (Some(e), Some(i)) if e > 20 * i => implicit,
                (None, Some(_)) => implicit,
                _ => explicit,
            }
        }
    };
    Ok(Ready { solver, layout, data, field })
}

/// The size of each number of the states: the largest value observed, or 1.
fn sizes(data: &Trajectories, n: usize) -> Vec<f64> {
    let mut sizes = vec![0.0f64; n];
    for o in &data.observed {
        sizes[o.component] = o.values.iter().filter(|x| x.is_finite()).fold(0.0, |m, x| m.max(x.abs()));
    }
    sizes.into_iter().map(|s| if s > 0.0 { s } else { 1.0 }).collect()
}

/// Starts followed, unless told otherwise: solving is dear.
const STARTS: usize = 9;
const SCREENED: usize = 32;

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let Ready { solver, layout, data, .. } = ready(program, table, options)?;
    let (row_weights, known) = weights(table, options)?;
    let row = |row: usize| row_weights.get(row).copied().unwrap_or(1.0);
    let mut scatter = scales(&data, known);
    let mut start = layout.start.clone();
    let mut result = None;
    // Twice: with the columns on the scale of their values, then on that of what the first fit leaves unexplained.
    let rounds = if known || data.observed.len() == 1 { 1 } else { 3 };
    for round in 0..rounds {
        let problem = Dynamics::new(solver.clone(), layout.clone(), data.clone(), |column, r| row(r) / scatter[column]);
        enough(&layout, problem.count())?;
        let local = lm::Options { evaluations: 200, polish: false, cancel: options.cancel };
        let also: Vec<Vec<f64>> = if round == 0 { shooting::start(&problem, &start, &layout.bounds, &local).into_iter().collect() } else { vec![] };
        // Adaptive steps leave an error of the size of their tolerance.
        let floor = if solver.adaptive() { (10.0 * options.tolerance.unwrap_or(TOLERANCE)).powi(2) } else { 1e-22 };
        let size: f64 = problem.points.iter().map(|p| (p.value * p.weight).powi(2)).sum();
        let task = Task { whole: &problem, sample: &problem, start: &start, bounds: &layout.bounds, linear: &[], floor: floor * size, also: &also, hints: &[] };
        let asked = if round == 0 { options.clone() } else { Options { starts: Some(1), ..options.clone() } };
        let (found, loss) = solve(&task, &asked, (STARTS, 3, SCREENED))?;
        start.clone_from(&found.best.theta);
        let left: Vec<f64> = (0..data.observed.len()).map(|c| unexplained(&problem, &found.best.residuals, c, scatter[c])).collect();
        let counts = result.as_ref().map(|(_, _, _, tried, agreed)| (*tried, *agreed)).unwrap_or((found.tried, found.agreed));
        result = Some((problem, found, loss, counts.0, counts.1));
        if round + 1 < rounds {
            scatter = left;
        }
    }
    let Some((problem, mut found, loss, tried, agreed)) = result else { return Err(wrong("no-start", "there is nothing to fit")) };
    (found.tried, found.agreed) = (tried, agreed);
    let paths = problem.paths(&found.best.theta).map_err(|e| wrong("no-prediction", e.0))?;
    let observed: Vec<f64> = problem.points.iter().map(|p| p.value).collect();
    let predicted: Vec<f64> = problem.points.iter().map(|p| paths[p.trajectory].states[p.at][p.component]).collect();
    let targets = data.observed.iter().map(|o| o.name.clone()).collect();
    let mut fit = summarise(&layout, &found, &Compared { targets, observed, predicted, known, loss });
    if options.profile {
        let ends = profile::intervals(&problem, &found.best, &layout.bounds, loss, &fit.uncertainty);
        fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
    }
    Ok(fit)
}

/// The scale of each column to begin with: the standard deviation of its values, but never so small that a column which hardly moves
/// counts more than all others.
fn scales(data: &Trajectories, known: bool) -> Vec<f64> {
    let spread = |values: &[f64]| {
        let there: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
        let mean = there.iter().sum::<f64>() / there.len() as f64;
        (there.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / there.len() as f64).sqrt()
    };
    let all: Vec<f64> = data.observed.iter().map(|o| spread(&o.values)).collect();
    let largest = all.iter().copied().fold(0.0, f64::max);
    let least = if largest > 0.0 { 1e-6 * largest } else { 1.0 };
    all.into_iter().map(|s| if known { 1.0 } else { s.max(least) }).collect()
}

/// What a fit leaves of a column, in its own unit; at least a millionth of what it weighed against, so that a column without noise does not
/// outweigh everything.
fn unexplained(problem: &Dynamics, residuals: &[f64], column: usize, scatter: f64) -> f64 {
    let own: Vec<f64> = problem.points.iter().zip(residuals).filter(|(p, _)| p.column == column).map(|(_, r)| r * scatter).collect();
    let deviation = (own.iter().map(|r| r * r).sum::<f64>() / own.len().max(1) as f64).sqrt();
    deviation.max(1e-6 * scatter)
}

/// The states at every row, at the declared values of the parameters.
pub(crate) fn predict(program: &Program, table: &Table, options: &Options<'_>) -> Result<Vec<(String, Vec<f64>)>, Diagnostics> {
    let Ready { solver, layout, data, field } = ready(program, table, options)?;
    let problem = Dynamics::new(solver, layout.clone(), data.clone(), |_, _| 1.0);
    let paths = problem.paths(&layout.start).map_err(|e| wrong("no-prediction", e.0))?;
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    for state in &field.states {
        for (k, name) in element_names(&state.name, state.shape).into_iter().enumerate() {
            let mut values = vec![f64::NAN; table.rows()];
            for (t, path) in data.all.iter().zip(&paths) {
                t.rows.iter().zip(&path.states).for_each(|(&row, states)| values[row] = states[state.at + k]);
            }
            columns.push((format!("{name}.predicted"), values));
        }
    }
    Ok(columns)
}
