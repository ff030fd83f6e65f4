//! Fits of models with states. In: a program with `derive` or `next` clauses, a table, options; out: a [`Fit`]. Models with nets go on to
//! `hybrid`.
//!
//! Multiple shooting finds a start that follows the data; single shooting from it, from the declared values and from sampled ones finds the
//! minimum: with rough solutions, of some of the trajectories where there are many, then with accurate ones of all. Columns of different
//! size or noise count alike: each is weighted by one over the scatter the fit leaves in it, again and again until that does not change,
//! unless the standard deviations are known.

use crate::algebraic::fit::doubtful;
use crate::data::table::Table;
use crate::dynamics::check::Checking;
use crate::dynamics::far::Far;
use crate::dynamics::prepared::Prepared;
use crate::dynamics::problem::Dynamics;
use crate::dynamics::solver::{self, Solver};
use crate::dynamics::stiffness::{Stiffness, Watched};
use crate::dynamics::trajectories::Trajectories;
use crate::dynamics::{check, differences, shooting, white};
use crate::fit::{enough, solve, typical};
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::optimise::linear::Linear;
use crate::optimise::lm::{self, End, Local};
use crate::optimise::search::{Found, Task};
use crate::optimise::{Residuals, elsewhere};
use crate::options::{Options, Stage};
use crate::report::summary::{Ended, Minimum, counted, summarise};
use crate::report::{Check, Fit, significant};
use crate::statistics::profile;
use crate::statistics::uncertainty::{EXACT, Variance};
use crate::{Loss, hybrid};
use neural_compiler::ode::Scheme;
use neural_compiler::{Diagnostics, Program, number_text};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Starts followed, unless told otherwise: solving is dear.
const STARTS: usize = 9;
const SCREENED: usize = 32;
/// Starts followed where much is left unexplained, and how many must agree there to be believed.
const PERSIST: usize = 3 * STARTS;
const CONVINCING: usize = 8;

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Fit, Diagnostics> {
    let mut prepared = Prepared::new(program, table, options, effort, true)?;
    if prepared.layout.weights() > 0 {
        return hybrid::dynamic::fit(program, &prepared, options);
    }
    let chosen = options.scheme.is_none() && prepared.solver.scheme() == Scheme::explicit();
    let stiffness = chosen.then(|| Stiffness::new(&prepared, options));
    let mut ended = weighted(&prepared, options, stiffness.as_ref());
    let left = stiffness.is_some_and(|s| s.is_left());
    // Steps beyond counting on the way to the data: the explicit method was the wrong one.
    let stiff = match &ended {
        Ok(found) => found.best.best.wall.as_ref().is_some_and(|w| w.0.contains(solver::TOO_MANY)),
        Err(_) => true,
    };
    let mut method = None;
    if stiff && chosen {
        let before = prepared.solver.clone();
        prepared.solver = prepared.implicit(options)?;
        // Its steps are of another kind.
        effort.forget();
        method = Some(Scheme::implicit().row().name);
        match (weighted(&prepared, options, None), &ended) {
            (Ok(again), Ok(first)) if again.best.best.end == End::Converged || again.best.best.cost < first.best.best.cost => {
                ended = Ok(again)
            }
            (Ok(again), Err(_)) => ended = Ok(again),
            _ => {
                (prepared.solver, method) = (before, None);
                if left {
                    effort.forget();
                    ended = weighted(&prepared, options, None);
                }
            }
        }
    }
    let mut found = ended?;
    let mut notes = Vec::new();
    if differences::needed(&found.problem, &prepared.field.law.graph, &found.best.best.theta) {
        prepared.by_differences = true;
        found = weighted(&prepared, options, None)?;
        notes.push(JUMPS.to_string());
    }
    let layout = &prepared.layout;
    let search = lm::Options { cancel: options.cancel, ..lm::Options::default() };
    if found.best.best.end == End::Wall {
        notes.extend(around(&mut found, layout, &search));
    }
    let Weighted { mut problem, best: mut found, loss, unit, notes: about } = found;
    notes.extend(about);
    let accurate = accurate(&problem, &mut found.best);
    let relative = options.accuracy().relative.min(if accurate.is_some() { JUDGED } else { COARSEST });
    // Adaptive steps leave errors of the size of their tolerance in the derivatives too.
    let precision = match (prepared.by_differences, problem.solver.adaptive()) {
        (true, _) => relative.powf(2.0 / 3.0).max(1e-6),
        (false, true) => (100.0 * relative).max(EXACT),
        (false, false) => EXACT,
    };
    let check = Checking { layout, loss, known: prepared.known, precision, search }.run(&mut problem, &mut found.best);
    // The check may have found another minimum.
    let judged = accurate.and_then(|_| self::accurate(&problem, &mut found.best));
    if options.accuracy().relative > JUDGED && problem.solver.adaptive() {
        let can_be = judged.is_some() || problem.solver.tolerance().relative <= JUDGED;
        notes.push(coarse(options.accuracy().relative, can_be));
    }
    let (problem, solved) = (judged.as_ref().unwrap_or(&problem), &problem);
    let observations = problem.count();
    let (best, linear) = (&found.best, &found.best.linear);
    let (robust, variance) = counted(linear, loss, prepared.known);
    let (variance, times) = as_accurate(variance, problem, &best.theta);
    let check = check.map(|check| check::in_larger_errors(check, times));
    let counted = (robust.as_ref().unwrap_or(linear), variance);
    notes.extend(problem.about_rows(&best.theta));
    // What is told of now is the solution at the minimum.
    let _ = prepared.solver.doubt();
    let sure = Minimum { problem, linear, best, counted, observations, precision }.certainty(layout)?;
    let compared = prepared.compared(solved, &found.best.theta, layout.len() as f64)?;
    let mut fit = summarise(layout, Ended::of(&found, &layout.names, loss, unit), compared, sure);
    // Without errors nothing is told in them.
    fit.check = check.map(|c| if fit.exact { Check { shift: f64::NAN, error: f64::NAN, ..c } } else { c });
    fit.warnings.extend(notes);
    fit.method = method;
    prepared.finish(&mut fit);
    if options.profile && found.best.end != End::Wall {
        let far = Far::new(&prepared, solved, options);
        let asked = far.as_ref().map_or(solved as &dyn Residuals, |far| far);
        let ends = profile::intervals(asked, &found.best, &layout.bounds, loss, &fit.uncertainty, &options.telling_of_profiles(fit.cost));
        fit.warnings.extend(profile::unfollowed(&layout.names, &ends));
        fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
    }
    Ok(fit)
}

/// The relative tolerance of the solution by which it is judged what the data determine: the derivatives of one that is coarser have errors
/// in which the influence of a constant is lost.
const JUDGED: f64 = 1e-6;
/// The tolerance that stands for one that is coarser still, where nothing more accurate can be had.
const COARSEST: f64 = 1e-4;

/// The problem solved accurately enough to judge by, where it is not; the derivatives at the minimum become those.
fn accurate(problem: &Dynamics, best: &mut Local) -> Option<Dynamics> {
    let coarser = problem.solver.tolerance().relative / JUDGED;
    let (solver, _) = problem.solver.finer(coarser, 1).filter(|_| coarser > 1.0 && problem.solver.adaptive())?;
    let fine = problem.with(Arc::new(solver));
    let (m, n) = (fine.count(), best.theta.len());
    let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * n]);
    fine.evaluate(&best.theta, &mut residuals, Some(&mut jacobian)).ok()?;
    best.linear = Linear::new(residuals, jacobian);
    Some(fine)
}

/// The variance of the errors, which the solution cannot tell below its own accuracy, and how many times as large that makes error bars.
fn as_accurate(variance: Variance, problem: &Dynamics, theta: &[f64]) -> (Variance, f64) {
    let share = problem.solver.tolerance().relative.powi(2);
    let (states, observables) = problem.sizes_of_observed();
    match variance {
        Variance::Squares(sum) if problem.solver.adaptive() && sum < share * (states + observables) => {
            // An observable may be a large number beside a state, which is solved exactly: what a finer solution changes is told.
            let own = if observables > 0.0 { moved(problem, theta).unwrap_or(f64::INFINITY) } else { 0.0 };
            let least = share * states + own.min(share * observables);
            if sum < least { (Variance::Squares(least), (least / sum).sqrt()) } else { (variance, 1.0) }
        }
        other => (other, 1.0),
    }
}

/// The sum of squares of what a finer solution changes in the observables, where there is one.
fn moved(problem: &Dynamics, theta: &[f64]) -> Option<f64> {
    let fine = problem.with(Arc::new(problem.solver.finer(check::TIGHTER, 1)?.0));
    let (mut rough, mut finer) = (vec![0.0; problem.count()], vec![0.0; problem.count()]);
    problem.evaluate(theta, &mut rough, None).ok()?;
    fine.evaluate(theta, &mut finer, None).ok()?;
    let change = rough.iter().zip(&finer).zip(&problem.points).filter(|(_, p)| problem.is_observable(p));
    Some(change.map(|((a, b), _)| (a - b) * (a - b)).sum())
}

/// What the user should know of a tolerance that says little of derivatives.
fn coarse(relative: f64, judged: bool) -> String {
    let (asked, by) = (number_text(relative), number_text(JUDGED));
    match judged {
        true => format!(
            "a relative tolerance of {asked} is too coarse to tell what constants do: how sure they are was judged by a solution with {by}"
        ),
        false => format!(
            "a relative tolerance of {asked} is too coarse to tell what constants do, and none of {by} can be had here: how sure they are \
             is not to be trusted"
        ),
    }
}

/// The parameters that least squares finds, where it finds any.
pub(crate) fn squares(prepared: &Prepared, options: &Options<'_>) -> Option<Vec<f64>> {
    weighted(prepared, options, None).ok().map(|found| found.best.best.theta)
}

/// Said of fits whose derivatives are differences.
pub(crate) const JUMPS: &str =
    "the law jumps where a state passes a level, at a time that moves with the parameters: derivatives were taken by differences";

/// What a search found, and for which weights of the columns.
struct Weighted {
    problem: Dynamics,
    best: Found,
    loss: Loss,
    /// The unit in which the cost is told.
    unit: f64,
    /// What there is to say of the weights.
    notes: Vec<String>,
}

/// The search with the columns on the scale of their values, repeated on that of what the fit before leaves unexplained. `stiffness`: what
/// watches the first start.
fn weighted(prepared: &Prepared, options: &Options<'_>, stiffness: Option<&Stiffness<'_>>) -> Result<Weighted, Diagnostics> {
    let layout = &prepared.layout;
    let scatter = scales(&prepared.data, prepared.known);
    let problem = prepared.problem(&prepared.solver, layout, &scatter, false);
    enough(layout, problem.count())?;
    let options = &in_unit(prepared, &scatter, options);
    let one = prepared.data.one_scale(prepared.known);
    // A single scale is that of the data: the cost is told in their unit.
    let unit = if one && !prepared.known { scatter[0] * scatter[0] } else { 1.0 };
    let tell = |stage: Stage, done: usize, of: usize, cost: f64| {
        options.progress.iter().for_each(|progress| progress(stage, done, of, unit * cost))
    };
    let telling = Options { progress: Some(&tell), ..options.clone() };
    let (best, loss) = search(&problem, &layout.start, layout, prepared.known, &telling, (true, stiffness))?;
    let first = Weighted { problem, best, loss, unit, notes: vec![] };
    if one { Ok(first) } else { reweigh(prepared, first, scatter, options) }
}

/// The options with the scale of a robust loss, which is given in the unit of the data, as the residuals count: in that of the one scatter
/// they are divided by. Known errors are the unit of both; columns of several states, whose units may differ, are each measured by its own.
pub(crate) fn in_unit<'a>(prepared: &Prepared, scatter: &[f64], options: &Options<'a>) -> Options<'a> {
    let divide = prepared.data.one_scale(prepared.known) && !prepared.known;
    let loss = options.loss.map(|loss| if divide { loss.with_scale(loss.scale() / scatter[0]) } else { loss });
    Options { loss, ..options.clone() }
}

/// What the scale of a loss was measured by, where that is not one unit for all.
fn about_scale(prepared: &Prepared, scatter: &[f64], options: &Options<'_>) -> Option<String> {
    let scale = options.loss.filter(|l| *l != Loss::Squares).map(Loss::scale).filter(|c| *c > 0.0)?;
    let each = prepared
        .data
        .observed
        .iter()
        .zip(scatter)
        .map(|(o, s)| format!("{} of `{}`", significant(*s, 3), o.name))
        .collect::<Vec<_>>()
        .join(", ");
    Some(format!(
        "the scale {scale} of the loss counts in the scatter of each state's errors: {each}; with --sigma it counts in standard deviations"
    ))
}

/// Shares of the rows that are fitted one after the other where a fit of all ends at a wall.
const HORIZONS: [f64; 6] = [0.1, 0.2, 0.35, 0.5, 0.7, 0.85];

/// Goes round a wall: the first rows alone, then more and more of them. What there is to say where even that does not reach the end.
fn around(found: &mut Weighted, layout: &Layout, options: &lm::Options<'_>) -> Option<String> {
    let mut theta = layout.start.clone();
    let mut reached = None;
    for share in HORIZONS {
        let Some(part) = found.problem.until(share) else { continue };
        if part.points.len() < layout.len() {
            continue;
        }
        match lm::minimise(&part, &theta, &layout.bounds, found.loss, options) {
            Ok(fit) if fit.end == End::Converged => {
                theta = fit.theta;
                reached = part.data.all.iter().map(|t| t.origin + t.direction * t.times[t.times.len() - 1]).reduce(f64::max);
            }
            _ => break,
        }
    }
    let reached = reached?;
    match lm::minimise(&found.problem, &theta, &layout.bounds, found.loss, options) {
        Ok(fit) if fit.cost < found.best.best.cost => {
            found.best.best = fit;
            None
        }
        Ok(_) => None,
        Err(why) => {
            let values =
                layout.names.iter().zip(&theta).map(|(n, x)| format!("{n} = {}", significant(*x, 7))).collect::<Vec<_>>().join(", ");
            Some(format!("the rows up to time {reached} alone give {values}, but with these values {} in the rows after them", why.0))
        }
    }
}

/// Rounds of weighing at most, and the relative change of a scatter that is none.
const ROUNDS: usize = 60;
const SETTLED: f64 = 1e-8;

/// Weighs every state by one over the scatter the fit leaves in it, fits again, and so on until nothing changes: there the likelihood, with
/// each state's most probable standard deviation, is largest. A scatter below what the solver can tell is none.
fn reweigh(prepared: &Prepared, first: Weighted, mut scatter: Vec<f64>, options: &Options<'_>) -> Result<Weighted, Diagnostics> {
    let tolerance = if prepared.solver.adaptive() { 10.0 * options.accuracy().relative } else { 1e-12 };
    let least: Vec<f64> = prepared.data.observed.iter().map(|o| tolerance * first.problem.sizes[o.component]).collect();
    let once = Options { starts: Some(1), progress: None, ..options.clone() };
    let mut weighed = first;
    let mut last = f64::INFINITY;
    let mut settled = false;
    let stopped = || options.cancel.is_some_and(|c| c.load(Ordering::Relaxed));
    for round in 0..ROUNDS {
        if stopped() {
            // A minimum for the weights of this round is none of the likelihood.
            weighed.best.best.end = End::Cancelled;
            break;
        }
        let left = unexplained(&weighed.problem, &weighed.best.best.linear.residuals, &scatter, weighed.loss);
        let next: Vec<f64> = left.iter().zip(&least).map(|(s, least)| s.max(*least)).collect();
        let change = next.iter().zip(&scatter).fold(0.0f64, |m, (n, s)| m.max((n / s).ln().abs()));
        // Where steps are adaptive the last digits may never come to rest.
        if change <= SETTLED || round > 4 && change < 1e-4 && change >= last {
            settled = true;
            break;
        }
        last = change;
        scatter = next;
        let problem = prepared.problem(&prepared.solver, &prepared.layout, &scatter, false);
        let (mut best, loss) = match search(&problem, &weighed.best.best.theta, &prepared.layout, prepared.known, &once, (false, None)) {
            Ok(found) => found,
            Err(_) if stopped() => continue,
            Err(e) => return Err(e),
        };
        let before = weighed.best;
        (best.tried, best.agreed, best.failed, best.noise, best.doubtful) =
            (before.tried, before.agreed, before.failed, before.noise, before.doubtful);
        best.twin = before.twin;
        best.tie = before.tie.map(|tie| tie / before.best.cost * best.best.cost);
        weighed = Weighted { problem, best, loss, unit: 1.0, notes: vec![] };
    }
    let exact: Vec<bool> = scatter.iter().zip(&least).map(|(s, least)| s <= least).collect();
    let names = |which: bool| {
        prepared
            .data
            .observed
            .iter()
            .zip(&exact)
            .filter(|(_, e)| **e == which)
            .map(|(o, _)| format!("`{}`", o.name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let doubt = if exact.contains(&true) && exact.contains(&false) {
        Some(format!(
            "the fit meets {} exactly, so that nothing says how large its errors are; give them with --sigma if {} count too little",
            names(true),
            names(false)
        ))
    } else if weighed.best.best.end == End::Cancelled {
        Some("the weights of the observed states had not settled: cost and errors are those of the weights so far".to_string())
    } else if !settled {
        Some(format!("the weights of the observed states did not settle in {ROUNDS} rounds; give the errors of the data with --sigma"))
    } else {
        None
    };
    weighed.notes.extend(doubt.into_iter().chain(about_scale(prepared, &scatter, options)));
    Ok(weighed)
}

/// The global search over the free numbers of a layout. `rough`: the way down is taken with a rough solution first; `stiffness`: what
/// watches the first start.
fn search(
    problem: &Dynamics,
    start: &[f64],
    layout: &Layout,
    known: bool,
    options: &Options<'_>,
    (rough, stiffness): (bool, Option<&Stiffness<'_>>),
) -> Result<(Found, Loss), Diagnostics> {
    let local = lm::Options { evaluations: 200, polish: false, cancel: options.cancel, ..lm::Options::default() };
    let sketch = rough.then(|| problem.rough(layout.len())).flatten();
    let sample = sketch.as_ref().unwrap_or(problem);
    let watched = Watched { inner: sample, by: stiffness };
    let also = || shooting::start(sample, start, &layout.bounds, &local).into_iter().collect();
    let floor = problem.blur().max(problem.share_told(1e-22));
    // Where only noise is left no other minimum can be much better; of a robust loss that cannot be told. What is noise and what the
    // solution leaves is told by the accurate one.
    let plain = options.loss.is_none_or(|l| l == Loss::Squares);
    let white = |l: &Local| {
        let fine = !known || elsewhere::as_errors_say(l.cost, problem.count(), layout.len());
        fine && white::only_noise(problem, &l.linear.residuals, layout.len())
    };
    let would_show =
        |l: &Local| known || elsewhere::only(sample, &l.theta, &layout.bounds, options.seed, &|change| white::is_smooth(sample, change));
    let noise = |l: &Local| plain && l.end == End::Converged && (l.cost <= floor || white(l) && would_show(l));
    let leave = |theta: &[f64]| stiffness.is_some_and(|s| s.at_end(theta));
    let enough = |l: &Local| match &sketch {
        // Nothing more is done by a method that is to be left.
        _ if leave(&l.theta) => None,
        // More starts were asked for; or only the weights have changed, and the first search has told.
        _ if !rough || options.starts.is_some_and(|s| s > 1) => None,
        None => noise(l).then(|| l.theta.clone()),
        Some(_) => lm::minimise(problem, &l.theta, &layout.bounds, Loss::Squares, &local).ok().filter(noise).map(|fine| fine.theta),
    };
    let doubtful = if plain { doubtful(sample.of_the_mean(), known, sample.count(), layout.len()) } else { f64::INFINITY };
    let persist = if options.starts.is_none() { PERSIST } else { 0 };
    let (floor, convincing) = (floor.max(sample.blur()), CONVINCING);
    let task = Task {
        floor,
        also: &also,
        enough: &enough,
        leave: &leave,
        doubtful,
        persist,
        convincing,
        known,
        exchange: true,
        ..Task::new(problem, &watched, start, &layout.bounds)
    };
    let (mut found, loss) = solve(&task, options, &problem.solver.effort, (STARTS, 3, SCREENED))?;
    // Of many starts the best, where little is left: what is left looks like noise, whatever others might explain.
    found.noise = found.noise
        || found.tried > 1
            && plain
            && !found.doubtful
            && found.best.end == End::Converged
            && (found.best.cost <= floor || white(&found.best));
    Ok((found, loss))
}

/// The parameters with which the known law alone explains the data best, nets being held as in `held`; `None` where that leads nowhere.
pub(crate) fn law_alone(prepared: &Prepared, held: Layout, scatter: &[f64], options: &Options<'_>) -> Option<Vec<f64>> {
    let held = Arc::new(held);
    let solver = Solver::new(&prepared.field, &held, prepared.solver.scheme(), prepared.step, options.accuracy()).ok()?;
    let solver = Arc::new(solver.with_sizes(prepared.solver.sizes.clone()).with_effort(&prepared.solver.effort));
    let problem = prepared.problem(&solver, &held, scatter, false);
    let quiet = Options { progress: None, ..options.clone() };
    let found = search(&problem, &held.start, &held, prepared.known, &quiet, (true, None)).ok().map(|(found, _)| found.best.theta);
    // What nets make of it may cost more.
    prepared.solver.effort.forget();
    found
}

/// The scale of each column to begin with: the standard deviation of the values of its state, but never so small that a state which
/// hardly moves counts more than all others. The numbers of a vector are of one kind and have one scale.
pub(crate) fn scales(data: &Trajectories, known: bool) -> Vec<f64> {
    if known {
        return vec![1.0; data.observed.len()];
    }
    let variance = |values: &[f64]| {
        let there: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
        let mean = there.iter().sum::<f64>() / there.len() as f64;
        there.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / there.len() as f64
    };
    let all = by_state(data, |c| variance(&data.observed[c].values));
    let largest = all.iter().copied().fold(0.0, f64::max);
    let least = if largest > 0.0 { 1e-6 * largest } else { 1.0 };
    all.into_iter().map(|s| s.max(least)).collect()
}

/// What a fit leaves of each column, in its own unit; with a robust loss, of most of its numbers.
pub(crate) fn unexplained(problem: &Dynamics, residuals: &[f64], scatter: &[f64], loss: Loss) -> Vec<f64> {
    let squares = |c: usize| {
        let own: Vec<f64> = problem.points.iter().zip(residuals).filter(|(p, _)| p.column == c).map(|(_, r)| r * scatter[c]).collect();
        if loss == Loss::Squares || own.is_empty() {
            own.iter().map(|r| r * r).sum::<f64>() / own.len().max(1) as f64
        } else {
            typical(&own).powi(2)
        }
    };
    by_state(&problem.data, squares)
}

/// The root of the mean over all columns of a state, for each column.
fn by_state(data: &Trajectories, square: impl Fn(usize) -> f64) -> Vec<f64> {
    let squares: Vec<f64> = (0..data.observed.len()).map(square).collect();
    let of = |state: usize| {
        let own: Vec<f64> = squares.iter().zip(&data.observed).filter(|(_, o)| o.state == state).map(|(s, _)| *s).collect();
        (own.iter().sum::<f64>() / own.len() as f64).sqrt()
    };
    data.observed.iter().map(|o| of(o.state)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// What stops between two rounds of weighing has found no minimum of the likelihood.
    #[test]
    fn a_stop_while_weighing_is_no_minimum() {
        let text = "(param k 0.3) (state x 1) (state y 90) (derive x (- (* k x))) (derive y (- (* k y)))";
        let program = neural_compiler::compile(text, &neural_compiler::Options::default()).expect("a model");
        let wave = |i: u32, by: f64| by * f64::from(i * 7 % 5) - 2.0 * by;
        let decay = |size: f64, by: f64| (0..40).map(|i| size * (-0.05 * f64::from(i)).exp() + wave(i, by)).collect();
        let times = (0..40).map(|i| f64::from(i) * 0.1).collect();
        let table = Table::new(vec![("t".into(), times), ("x".into(), decay(1.0, 0.02)), ("y".into(), decay(90.0, 0.1))]).expect("a table");
        let options = Options { starts: Some(1), ..Options::default() };
        let prepared = Prepared::new(&program, &table, &options, &Arc::default(), true).expect("a problem");
        let whole = weighted(&prepared, &options, None).expect("a fit");
        assert!(whole.best.best.end == End::Converged && whole.notes.is_empty(), "{:?}", whole.notes);
        let stopped = Options { cancel: Some(&AtomicBool::new(true)), ..options };
        let found = reweigh(&prepared, whole, scales(&prepared.data, prepared.known), &stopped).expect("the best so far");
        assert!(found.best.best.end == End::Cancelled && found.notes[0].contains("had not settled"), "{:?}", found.notes);
    }
}
