//! The declared values first. In: an algebraic model with many rows; out: the minimum they lead to, if it leaves nothing but noise.
//!
//! Where the residuals are noise no minimum elsewhere can be better by more than a little, and the search for one is saved. The way down
//! is taken on a few rows, then on some more; all rows are needed for the last few steps only.
//! Invariant: a "no" costs little; the global search that follows starts from the same declared values.

use crate::algebraic::Algebraic;
use crate::fit::spread;
use crate::model::layout::Layout;
use crate::optimise::lm::{self, End, Local};
use crate::optimise::loss::Loss;
use crate::optimise::search::{Found, Task};
use crate::optimise::{Residuals, elsewhere, symmetry};
use crate::options::Options;
use crate::statistics::lack_of_fit::{only_noise, rows_to_tell, shows};

/// Rows on which to find the way, and rows on which to come near.
const FEW: usize = 256;
const SOME: usize = 2048;
/// Rows of which every evaluation is dear enough for generated code to pay within a handful of them.
const CODE_PAYS: usize = 24_000;
/// Evaluations on a few rows at most: who needs more is on a hard way.
const EVALUATIONS: usize = 60;

/// Rows of which all is done within a few moments.
const SHORT: usize = 200_000;

/// Whether code generated for so many rows would come too late for one way down.
pub(crate) fn is_brief(rows: usize) -> bool {
    rows < CODE_PAYS
}

/// Whether following the declared values on so many rows takes no longer than moments.
pub(crate) fn is_short(rows: usize) -> bool {
    rows <= SHORT
}

/// The minimum the declared values lead to, or nothing where a better one cannot be ruled out or more starts are asked for. `known`:
/// whether residuals are in units of known errors.
pub(crate) fn follow(whole: &Algebraic, layout: &Layout, known: bool, options: &Options<'_>) -> Option<Found> {
    let plain = options.loss.is_none_or(|l| l == Loss::Squares) && options.starts.is_none_or(|s| s == 1);
    if !plain || whole.rows() < 2 * SOME || whole.count() != whole.rows() || layout.len() > 12 {
        return None;
    }
    let floor = whole.floor();
    let part = |rows: usize| whole.sample(&spread(whole.rows(), rows, options.seed)).for_a_moment();
    let fitted = |problem: &dyn Residuals, start: &[f64], gain: f64, polish: bool| -> Option<Local> {
        let how = lm::Options { evaluations: EVALUATIONS, gain, polish, cancel: options.cancel, ..lm::Options::default() };
        lm::minimise(problem, start, &layout.bounds, Loss::Squares, &how).ok().filter(|l| l.end == End::Converged)
    };
    let few = part(FEW);
    let near = fitted(&few, &layout.start, 1e-4, false)?;
    let task = Task { floor, ..Task::new(&few, &few, &layout.start, &layout.bounds) };
    let near = symmetry::nearest(&task, &[], Loss::Squares, &near.theta);
    let some = part(SOME);
    // A third of a standard error is near enough: the rows themselves tell no more.
    let near = fitted(&some, &near, 0.1 / some.count() as f64, false)?;
    let brief = is_brief(whole.rows()).then(|| whole.for_a_moment());
    let best = fitted(brief.as_ref().unwrap_or(whole), &near.theta, lm::GAIN, true)?;
    let noise = || {
        let fine = if known {
            elsewhere::as_errors_say(best.cost, whole.count(), layout.len())
        } else {
            would_show(whole, layout, &best.theta, options.seed)
        };
        fine && only_noise(&inputs(whole), &best.linear.residuals)
    };
    (best.cost <= floor || noise()).then_some(Found {
        best,
        tried: 1,
        agreed: 1,
        twin: None,
        failed: 0,
        from: 0,
        own: None,
        tie: None,
        noise: true,
        doubtful: false,
    })
}

/// The columns a model reads.
fn inputs(problem: &Algebraic) -> Vec<&[f64]> {
    problem.columns().iter().filter(|c| !c.is_empty()).map(Vec::as_slice).collect()
}

/// Whether what other values of the parameters would explain shows where it is looked for.
fn would_show(whole: &Algebraic, layout: &Layout, best: &[f64], seed: u32) -> bool {
    let part = whole.sample(&spread(whole.rows(), rows_to_tell(whole.rows()), seed));
    elsewhere::only(&part, best, &layout.bounds, seed, &|change| shows(&inputs(&part), change, whole.rows()))
}
