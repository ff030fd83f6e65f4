//! The fit as one function. In: a program, a table, options; out: a [`Fit`], or every mistake in the data by row and column.

use crate::algebraic::{Algebraic, Engines};
use crate::dynamics::steps::Scheme;
use crate::layout::Layout;
use crate::least::loss::Loss;
use crate::least::search::{self, Found, Task};
use crate::least::{Residuals, lm};
use crate::report::{self, Fit};
use crate::table::Table;
use crate::uncertainty::Uncertainty;
use crate::{affine, bind, dynamic_fit, profile, uncertainty};
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostic, Diagnostics, Program};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Called during a fit with the starts followed so far, how many there may be, and the best cost.
pub type Progress<'a> = &'a (dyn Fn(usize, usize, f64) + Sync);

/// How to fit.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The column to explain; for a prediction of several numbers the name before `[0]`.
    pub target: Option<String>,
    /// The column of times.
    pub time: Option<String>,
    /// The column that tells trajectories apart.
    pub group: Option<String>,
    /// The column of standard deviations of the data.
    pub sigma_column: Option<String>,
    /// The standard deviation of all data.
    pub sigma: Option<f64>,
    /// The column of relative weights of the rows.
    pub weights_column: Option<String>,
    /// Robust or not; a scale of 0 is found from the data.
    pub loss: Option<Loss>,
    /// Starts followed at most; `None`: enough to be sure.
    pub starts: Option<usize>,
    /// How models with states are solved; `None`: Dormand-Prince, or Rodas where that takes too many steps.
    pub scheme: Option<Scheme>,
    /// Longest step of the solver; for fixed steps the step aimed at (default: from row to row).
    pub step: Option<f64>,
    /// Relative tolerance of adaptive steps.
    pub tolerance: Option<f64>,
    /// Share of the rows held out.
    pub holdout: Option<f64>,
    /// Intervals by profile likelihood.
    pub profile: bool,
    /// Of everything random.
    pub seed: u32,
    /// Threads; 0 is all.
    pub threads: usize,
    /// Set from outside to stop early; the best so far is the result.
    pub cancel: Option<&'a AtomicBool>,
    /// Told how it goes.
    pub progress: Option<Progress<'a>>,
}

/// Rows used by the global search; the rest join in the end.
const SEARCH_ROWS: usize = 1500;

pub(crate) fn wrong(code: &'static str, message: impl Into<String>) -> Diagnostics {
    Diagnostic::error(code, Default::default(), message).into()
}

/// Fits a model to data.
pub fn fit(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    match rayon::ThreadPoolBuilder::new().num_threads(options.threads).build() {
        Ok(pool) => pool.install(|| dispatch(program, table, options)),
        Err(_) => dispatch(program, table, options),
    }
}

fn dispatch(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    if table.rows() == 0 {
        return Err(wrong("no-rows", "the data have no rows"));
    }
    match program.kind() {
        ModelKind::Expression => algebraic(program, table, options),
        ModelKind::Derivatives | ModelKind::Map => dynamic_fit::fit(program, table, options),
    }
}

/// The weight of each row, and whether it is one over a known standard deviation.
pub(crate) fn weights(table: &Table, options: &Options<'_>) -> Result<(Vec<f64>, bool), Diagnostics> {
    if let Some(sigma) = options.sigma {
        if !(sigma > 0.0 && sigma.is_finite()) {
            return Err(wrong("bad-sigma", format!("a standard deviation is a positive number, {sigma} is not")));
        }
        return Ok((vec![1.0 / sigma; table.rows()], true));
    }
    let (name, known) = match (&options.sigma_column, &options.weights_column) {
        (Some(_), Some(_)) => return Err(wrong("bad-sigma", "give standard deviations or weights, not both")),
        (Some(name), None) => (name, true),
        (None, Some(name)) => (name, false),
        (None, None) => return Ok((Vec::new(), false)),
    };
    table.finite(name)?;
    let column = table.column(name).expect("it was checked");
    let what = if known { "a standard deviation" } else { "a weight" };
    if let Some(i) = column.iter().position(|&x| x < 0.0 || (known && x == 0.0)) {
        return Err(wrong("bad-sigma", format!("row {}, column `{name}`: {what} must be positive, {} is not", i + 1, column[i])));
    }
    Ok((column.iter().map(|x| if known { 1.0 / x } else { x.sqrt() }).collect(), known))
}

fn algebraic(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let layout = Arc::new(Layout::new(program));
    let bound = bind::algebraic(program, table, options)?;
    let graph = program.specialise(&bound.shapes)?;
    let targets = bind::target_columns(&bound, table, options, graph.outputs()[0])?;
    let (weights, known) = weights(table, options)?;
    let observed: Vec<f64> = targets.iter().flat_map(|n| table.column(n).expect("it was checked").iter().copied()).collect();
    let engines = Arc::new(Engines::new(&graph, &layout)?);
    let all = Algebraic::new(engines, layout.clone(), bound.columns, observed, weights, rayon::current_num_threads());
    let (kept, held_out) = split(all.rows(), options)?;
    let (whole, rest) = if held_out.is_empty() { (all, None) } else { (all.sample(&kept), Some(all.sample(&held_out))) };
    enough(&layout, whole.count())?;
    let sample = (whole.rows() > 2 * SEARCH_ROWS).then(|| whole.sample(&spread(whole.rows(), SEARCH_ROWS, options.seed)));
    let small: &dyn Residuals = sample.as_ref().map_or(&whole, |s| s);
    let affine = affine::jointly_affine(&graph, &layout.free_inputs());
    let linear: Vec<usize> = layout.shared.iter().filter(|s| affine.contains(&s.input)).flat_map(|s| s.at.map_or(0..0, |at| at..at + s.shape.len())).collect();
    let size: f64 = whole.target().iter().zip(whole.weights().iter().cycle().chain(std::iter::repeat(&1.0))).map(|(y, w)| (y * w) * (y * w)).sum();
    let task = Task { whole: &whole, sample: small, start: &layout.start, bounds: &layout.bounds, linear: &linear, floor: 1e-28 * size, also: &[], hints: &[] };
    let screened = (3_000_000 / (small.count() * (1 + layout.len()))).clamp(256, 2048);
    let (found, loss) = solve(&task, options, (32, 8, screened))?;
    let predict = |problem: &Algebraic| problem.predict(&found.best.theta).map_err(|e| wrong("no-prediction", e.0));
    let (observed, predicted) = (whole.target().to_vec(), predict(&whole)?);
    let mut fit = summarise(&layout, &found, &Compared { targets, observed, predicted, known, loss });
    if let Some(rest) = rest {
        fit.holdout = Some(quality(rest.target(), &predict(&rest)?));
    }
    if options.profile {
        let ends = profile::intervals(&whole, &found.best, &layout.bounds, loss, &fit.uncertainty);
        fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
    }
    Ok(fit)
}

/// The global search, with the scale of a robust loss found from the residuals where none is given.
pub(crate) fn solve(task: &Task<'_>, options: &Options<'_>, (starts, round, screened): (usize, usize, usize)) -> Result<(Found, Loss), Diagnostics> {
    let wanted = options.loss.unwrap_or(Loss::Squares);
    let automatic = wanted != Loss::Squares && wanted.scale() == 0.0;
    let mut loss = if automatic { Loss::Squares } else { wanted };
    let mut start = task.start.to_vec();
    // Squares first; then the loss on the scale of what most residuals are, until that scale settles.
    for pass in 0..8 {
        let first = pass == 0;
        let starts = if first { options.starts.unwrap_or(starts) } else { 1 };
        let settings =
            search::Options { starts, round, screened, evaluations: 500, seed: options.seed, loss, cancel: options.cancel, progress: options.progress };
        let found = search::search(&Task { start: &start, ..*task }, &settings).map_err(|e| {
            let message = format!("no start leads anywhere: {}", e.0);
            Diagnostics::from(Diagnostic::error("no-start", Default::default(), message).help("give initial values at which the model can be computed"))
        })?;
        if !automatic {
            return Ok((found, loss));
        }
        let scale = 1.345 * typical(&found.best.residuals);
        if scale == 0.0 || (!first && (scale / loss.scale() - 1.0).abs() < 1e-3) || pass == 7 {
            return Ok((found, loss));
        }
        start.clone_from(&found.best.theta);
        loss = wanted.with_scale(scale);
    }
    unreachable!("the last round returns")
}

/// The standard deviation most residuals suggest, whatever the outliers: from the median of their sizes.
fn typical(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    1.4826 * sizes[sizes.len() / 2]
}

/// The rows to fit and the rows held out.
fn split(rows: usize, options: &Options<'_>) -> Result<(Vec<usize>, Vec<usize>), Diagnostics> {
    let Some(share) = options.holdout else { return Ok(((0..rows).collect(), vec![])) };
    if !(share > 0.0 && share < 1.0) {
        return Err(wrong("bad-holdout", format!("the share held out lies between 0 and 1, {share} does not")));
    }
    let count = ((rows as f64 * share).round() as usize).clamp(1, rows.saturating_sub(1).max(1));
    let out = spread(rows, count, options.seed ^ 0x5bd1_e995);
    Ok(((0..rows).filter(|i| out.binary_search(i).is_err()).collect(), out))
}

/// Root mean squared error and R2.
pub(crate) fn quality(observed: &[f64], predicted: &[f64]) -> (f64, f64) {
    let n = observed.len() as f64;
    let squares: f64 = observed.iter().zip(predicted).map(|(y, f)| (f - y) * (f - y)).sum();
    let mean = observed.iter().sum::<f64>() / n;
    let variation: f64 = observed.iter().map(|y| (y - mean) * (y - mean)).sum();
    ((squares / n).sqrt(), if variation > 0.0 { 1.0 - squares / variation } else { f64::NAN })
}

pub(crate) fn enough(layout: &Layout, observations: usize) -> Result<(), Diagnostics> {
    if layout.is_empty() {
        return Err(Diagnostic::error("nothing-to-fit", Default::default(), "the model has no free parameter").help("declare one: (param k 1.0)").into());
    }
    if observations < layout.len() {
        return Err(wrong("too-few-rows", format!("{observations} observations cannot determine {} parameters", layout.len())));
    }
    Ok(())
}

/// Some of the rows, evenly but not regularly spread.
fn spread(rows: usize, wanted: usize, seed: u32) -> Vec<usize> {
    let mut state = u64::from(seed) ^ 0x2545_F491_4F6C_DD1D;
    (0..wanted)
        .map(|k| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let (from, to) = (k * rows / wanted, (k + 1) * rows / wanted);
            from + (state >> 33) as usize % (to - from).max(1)
        })
        .collect()
}

/// Data and predictions of a finished fit.
pub(crate) struct Compared {
    pub(crate) targets: Vec<String>,
    pub(crate) observed: Vec<f64>,
    pub(crate) predicted: Vec<f64>,
    pub(crate) known: bool,
    pub(crate) loss: Loss,
}

/// The uncertainty at a minimum; with a robust loss, of the residuals as they count there.
fn certainty(layout: &Layout, found: &Found, compared: &Compared) -> Uncertainty {
    let lm::Local { theta, residuals, jacobian, .. } = &found.best;
    let mut residuals = residuals.clone();
    let mut jacobian = jacobian.clone();
    if compared.loss != Loss::Squares {
        let m = residuals.len();
        let roots: Vec<f64> = residuals.iter().map(|r| compared.loss.weight(*r).sqrt()).collect();
        residuals.iter_mut().zip(&roots).for_each(|(r, w)| *r *= w);
        jacobian.chunks_mut(m).for_each(|column| column.iter_mut().zip(&roots).for_each(|(x, w)| *x *= w));
    }
    let sum: f64 = residuals.iter().map(|r| r * r).sum();
    uncertainty::at_minimum(theta, &residuals, &jacobian, &layout.bounds, sum, compared.known)
}

/// Numbers and words about a minimum.
pub(crate) fn summarise(layout: &Layout, found: &Found, compared: &Compared) -> Fit {
    let lm::Local { theta, residuals, cost, end, .. } = &found.best;
    let sum: f64 = residuals.iter().map(|r| r * r).sum();
    let uncertainty = certainty(layout, found, compared);
    let (observed, predicted) = (&compared.observed, &compared.predicted);
    let n = observed.len() as f64;
    let squares: f64 = observed.iter().zip(predicted).map(|(y, f)| (f - y) * (f - y)).sum();
    let per = observed.len() / compared.targets.len().max(1);
    let variation: f64 = observed
        .chunks(per.max(1))
        .map(|t| {
            let mean = t.iter().sum::<f64>() / t.len() as f64;
            t.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>()
        })
        .sum();
    let k = layout.len() as f64 + if compared.known { 0.0 } else { 1.0 };
    let deviance = if compared.known { sum } else { n * (sum / n).ln() };
    let mut warnings = report::open_combinations(&layout.names, &uncertainty);
    for (j, c) in uncertainty.certainty.iter().enumerate() {
        if *c == uncertainty::Certainty::AtBound {
            warnings.push(format!("`{}` ended at its bound {}", layout.names[j], theta[j]));
        }
    }
    if variation == 0.0 {
        warnings.push("the data to explain are constant".into());
    }
    if let Some(own) = found.own {
        warnings.push(format!("the given start leads to another minimum of cost {own:.6e}; a better one was found"));
    }
    let converged = *end == lm::End::Converged;
    let message = match end {
        lm::End::Converged => "a minimum was reached",
        lm::End::Evaluations => "stopped after as many evaluations as allowed, before a minimum was reached",
        lm::End::Cancelled => "stopped on request; these are the best values so far",
    };
    Fit {
        parameters: report::parameters(&layout.names, theta, &uncertainty),
        values: layout.fitted(theta),
        cost: *cost,
        rmse: (squares / n).sqrt(),
        r2: if variation > 0.0 { 1.0 - squares / variation } else { f64::NAN },
        aic: deviance + 2.0 * k,
        bic: deviance + n.ln() * k,
        observations: observed.len(),
        converged,
        message: message.into(),
        warnings,
        tried: found.tried,
        agreed: found.agreed,
        targets: compared.targets.clone(),
        observed: observed.clone(),
        predicted: predicted.clone(),
        holdout: None,
        uncertainty,
    }
}
