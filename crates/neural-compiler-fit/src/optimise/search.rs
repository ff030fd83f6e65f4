//! The global search: many starts, the best minimum. In: residuals (whole, and a smaller sample of them to search on), a first
//! start; out: the minimum, and how many starts agreed on it.
//!
//! Quasi-random points (Sobol, scrambled by the seed) over the bounds, or over scales around the first start where there are
//! none, are screened by their cost; the best are followed to their minimum. Parameters in which the model is affine are never
//! sampled: they are solved for.
//! Invariants: the first start is always followed; the outcome does not depend on the number of threads.

use super::effort::Effort;
use super::lm::{self, End, Local};
use super::loss::Loss;
use super::separable::Separable;
use super::symmetry::{distance, nearest};
use super::{Bounds, Residuals, Unusable, cost_at};
use crate::options::{Progress, Stage};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to search.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Starts followed to their minimum, at most; 1 is the first start alone.
    pub starts: usize,
    /// Starts followed between looks at whether enough agree: as many as that, but four are always enough.
    pub round: usize,
    /// Points screened.
    pub screened: usize,
    /// Evaluations of one local fit at most.
    pub evaluations: usize,
    /// Of the quasi-random points.
    pub seed: u32,
    /// Robust or not.
    pub loss: Loss,
    /// Set from outside to stop early; the best so far is kept.
    pub cancel: Option<&'a AtomicBool>,
    /// Called with the starts followed so far, how many there may be, and the best cost.
    pub progress: Option<Progress<'a>>,
    /// What evaluations may cost, learnt at the first start.
    pub effort: &'a Effort,
}

/// What to search on.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// All residuals.
    pub whole: &'a dyn Residuals,
    /// The same model on some of the data, for the search; or all of it.
    pub sample: &'a dyn Residuals,
    /// Where the user would start.
    pub start: &'a [f64],
    /// The box.
    pub bounds: &'a Bounds,
    /// Parameters in which the residuals are affine.
    pub linear: &'a [usize],
    /// Costs below this are those of a perfect fit: rounding errors.
    pub floor: f64,
    /// Further starts worth following, after the user's own; found only where that is not enough.
    pub also: &'a (dyn Fn() -> Vec<Vec<f64>> + Sync),
    /// Where the minimum the user's own start leads to leaves nothing to look for elsewhere: that minimum, of all residuals.
    pub enough: &'a (dyn Fn(&Local) -> Option<Vec<f64>> + Sync),
    /// Whether the search is to end without a minimum, seen where the user's own start led to: it is to be begun again in another way.
    pub leave: &'a (dyn Fn(&[f64]) -> bool + Sync),
    /// Values of single parameters worth trying: the parameter and its values.
    pub hints: &'a [(usize, Vec<f64>)],
    /// A minimum of the sample above this cost is not believed because a few starts agree on it.
    pub doubtful: f64,
    /// While it is not, so many starts are followed.
    pub persist: usize,
    /// But so many that agree are believed.
    pub convincing: usize,
    /// Whether the residuals are in units of known errors.
    pub known: bool,
    /// Whether constants are exchanged to look for another solution of the same cost: worth it where that is told, and no integral.
    pub exchange: bool,
}

impl<'a> Task<'a> {
    /// A task about which nothing is known besides.
    pub fn new(whole: &'a dyn Residuals, sample: &'a dyn Residuals, start: &'a [f64], bounds: &'a Bounds) -> Task<'a> {
        Task {
            whole,
            sample,
            start,
            bounds,
            linear: &[],
            floor: 0.0,
            also: &Vec::new,
            enough: &|_| None,
            leave: &|_| false,
            hints: &[],
            doubtful: f64::INFINITY,
            persist: 0,
            convincing: usize::MAX,
            known: false,
            exchange: false,
        }
    }
}

/// The outcome.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best minimum, on all residuals.
    pub best: Local,
    /// Starts followed.
    pub tried: usize,
    /// Starts that ended here.
    pub agreed: usize,
    /// Other parameters of the same cost, apart from these, and how many starts ended at such.
    pub twin: Option<(Vec<f64>, usize)>,
    /// Starts at which the model has no value.
    pub failed: usize,
    /// The number of the start it came from; 0 is the user's.
    pub from: usize,
    /// The cost the user's own start led to, when it is another minimum.
    pub own: Option<f64>,
    /// The cost of another minimum that is hardly lower, when the user's own was kept.
    pub tie: Option<f64>,
    /// Whether nothing but noise is left; of the user's own start, so that no other was followed.
    pub noise: bool,
    /// Whether so much is left that a better minimum may have been missed.
    pub doubtful: bool,
}

/// Costs this near (relative) are the same minimum.
const SAME: f64 = 1e-6;
/// The same, absolute, of minus twice a log-likelihood.
pub(crate) const SAME_LIKELY: f64 = 1e-4;
/// Parameters this near (relative), of costs that are alike, are at the same minimum.
const NEAR: f64 = 1e-3;
/// A minimum elsewhere replaces the one the user's start leads to only if its cost is lower by this factor: of minima that
/// explain the data equally well the user has chosen one.
const CLEARLY_LOWER: f64 = 0.98;
/// And twice the logarithm of how much more probable it makes the data, beyond which they have decided.
const DECIDED: f64 = 4.0;

/// How many times the lowest cost, both on blurred residuals, is not worth a second look.
const FAR: f64 = 10.0;
/// Evaluations of a start on blurred residuals, but for the user's own.
const ROUGH: usize = 60;
/// Evaluations for a second look at a minimum.
const AGAIN: usize = 20;

/// A start and what became of it.
struct Run {
    number: usize,
    cost: f64,
    theta: Vec<f64>,
    end: End,
    enough: bool,
}

/// Finds the best minimum.
pub fn search(task: &Task<'_>, options: &Options<'_>) -> Result<Found, Unusable> {
    let free: Vec<usize> =
        if options.loss == Loss::Squares { task.linear.iter().copied().filter(|&j| !task.bounds.any(j)).collect() } else { vec![] };
    let cancelled = || options.cancel.is_some_and(|c| c.load(Ordering::Relaxed));
    let mut runs: Vec<Run> = Vec::new();
    let mut why = None;
    let (mut tried, mut failed) = (0, 0);
    let follow = |starts: &[(usize, Vec<f64>)]| -> Vec<Result<Run, Unusable>> {
        let one = |(number, start): &(usize, Vec<f64>)| {
            let watch: &(dyn Fn(f64) + Sync) =
                &|cost| options.progress.iter().for_each(|progress| progress(Stage::Starts, 0, options.starts, cost));
            // A rough way that is still winding after many evaluations rarely leads down; the best are followed on anyway.
            let few = *number > 0 && task.sample.blur() > 0.0;
            let options = &Options { evaluations: if few { options.evaluations.min(ROUGH) } else { options.evaluations }, ..*options };
            let run = local(task, task.sample, &free, start, options, (*number == 0).then_some(watch))?;
            let ask = *number == 0 && run.end == End::Converged;
            let found = if ask { (task.enough)(&run) } else { None };
            Ok(Run { number: *number, cost: run.cost, enough: found.is_some(), theta: found.unwrap_or(run.theta), end: run.end })
        };
        starts.par_iter().map(one).collect()
    };
    let tell = |tried: usize, runs: &[Run]| {
        if let Some(progress) = options.progress {
            progress(Stage::Starts, tried, options.starts, runs.iter().map(|r| r.cost).fold(f64::INFINITY, f64::min));
        }
    };
    let mut take = |batch: &[(usize, Vec<f64>)], runs: &mut Vec<Run>| {
        for outcome in follow(batch) {
            match outcome {
                Ok(run) => runs.push(run),
                Err(e) => {
                    // A start that was stopped is none at which the model has no value.
                    failed += usize::from(!cancelled());
                    why = why.take().or(Some(e));
                }
            }
        }
        tried += batch.len();
        tell(tried, runs);
    };
    options.effort.learn();
    take(&[(0, task.start.to_vec())], &mut runs);
    options.effort.learnt();
    if !cancelled() && runs.first().is_some_and(|own| (task.leave)(&own.theta)) {
        options.effort.settle();
        return Err(Unusable("the search is left".into()));
    }
    let noise = runs.first().is_some_and(|r| r.enough);
    if options.starts > 1 && !noise && !cancelled() {
        let candidates: Vec<Vec<f64>> = (task.also)().into_iter().chain(screen(task, &free, options)).collect();
        let mut next = 1;
        for round in candidates.chunks(options.round) {
            let lowest = runs.iter().map(|r| r.cost).fold(f64::INFINITY, f64::min);
            let most = if lowest > task.doubtful { options.starts.max(task.persist) } else { options.starts };
            if next >= most || cancelled() {
                break;
            }
            let batch: Vec<(usize, Vec<f64>)> = round.iter().take(most - next).enumerate().map(|(k, c)| (next + k, c.clone())).collect();
            next += batch.len();
            take(&batch, &mut runs);
            let lowest = runs.iter().map(|r| r.cost).fold(f64::INFINITY, f64::min);
            let wanted = if lowest <= task.doubtful { options.round.min(4) } else { task.convincing };
            if runs.iter().filter(|r| task.alike(r.cost, lowest)).count() >= wanted {
                break;
            }
        }
    }
    options.effort.settle();
    let doubtful = runs.iter().all(|r| r.cost > task.doubtful);
    let found =
        settle(task, &free, runs, tried, options).ok_or_else(|| why.unwrap_or_else(|| Unusable("no start has finite residuals".into())))?;
    found.map(|f| Found { failed, noise, doubtful, ..f })
}

impl Task<'_> {
    /// Whether two costs are those of the same minimum.
    pub(crate) fn same(&self, a: f64, b: f64) -> bool {
        if self.whole.is_likelihood() {
            return (a - b).abs() <= SAME_LIKELY;
        }
        (a - b).abs() <= SAME * a.abs().max(b.abs()) || a.max(b) <= self.floor
    }

    /// Whether the data tell a minimum from a lower one; of a robust loss nobody knows the likelihood.
    fn decided(&self, cost: f64, lowest: f64, loss: Loss) -> bool {
        if self.whole.is_likelihood() {
            return !self.same(cost, lowest);
        }
        let evidence = if self.known { cost - lowest } else { self.whole.observations() as f64 * (cost / lowest).ln() };
        loss == Loss::Squares && !self.same(cost, lowest) && evidence > DECIDED
    }

    /// Whether two costs of the sample may be those of the same minimum, as far as the blur of its residuals tells: errors e change a sum
    /// of squares r² by at most 2re + e².
    fn alike(&self, a: f64, b: f64) -> bool {
        let (largest, blur) = (a.max(b), self.sample.blur());
        self.same(a, b) || (a - b).abs() <= 2.0 * (largest * blur).sqrt() + blur
    }
}

/// One local fit: without the affine parameters first where there are some, then with all.
fn local(
    task: &Task<'_>,
    problem: &dyn Residuals,
    free: &[usize],
    start: &[f64],
    options: &Options<'_>,
    tell: Option<&(dyn Fn(f64) + Sync)>,
) -> Result<Local, Unusable> {
    let fine = lm::Options { evaluations: options.evaluations, polish: false, cancel: options.cancel, tell, ..lm::Options::default() };
    if free.is_empty() {
        return lm::minimise(problem, start, task.bounds, options.loss, &fine);
    }
    let reduced = Separable::new(problem, free, start);
    let alpha: Vec<f64> = reduced.nonlinear().iter().map(|&j| start[j]).collect();
    let found = if alpha.is_empty() {
        reduced.complete(&alpha)
    } else {
        lm::minimise(&reduced, &alpha, &task.bounds.of(reduced.nonlinear()), options.loss, &fine).and_then(|l| reduced.complete(&l.theta))
    };
    match found {
        Ok(theta) => lm::minimise(problem, &theta, task.bounds, options.loss, &fine),
        // The affine parameters at their best may be far outside what the model can stand; try as given.
        Err(_) => lm::minimise(problem, start, task.bounds, options.loss, &fine),
    }
}

/// How much higher the cost is half way between two minima that are not one.
const BETWEEN: f64 = 1.1;
/// The same in minus twice a log-likelihood.
const BETWEEN_LIKELY: f64 = 0.1;

/// Whether two points of the same cost are minima of their own, which give the parameters other values. Terms in another order, other
/// signs and other turns of a phase are other names for the same.
fn is_twin(task: &Task<'_>, loss: Loss, a: &[f64], b: &[f64]) -> bool {
    if renamed(a, b) {
        return false;
    }
    let cost = |theta: &[f64]| cost_at(task.sample, theta, loss, &mut vec![0.0; task.sample.count()]);
    let middle: Vec<f64> = a.iter().zip(b).map(|(x, y)| 0.5 * (x + y)).collect();
    match (cost(a), cost(&middle)) {
        (Ok(here), Ok(between)) if task.whole.is_likelihood() => between > here + BETWEEN_LIKELY,
        (Ok(here), Ok(between)) => between > BETWEEN * here.max(task.floor),
        _ => true,
    }
}

/// Whether two points give the parameters the same values under other names.
fn renamed(a: &[f64], b: &[f64]) -> bool {
    let near = |x: f64, y: f64| (x - y).abs() <= NEAR * x.abs().max(y.abs());
    let whole = |turns: f64| turns.abs() > 0.5 && (turns - turns.round()).abs() < 10.0 * NEAR;
    let turned = |x: f64, y: f64| whole((x - y) / std::f64::consts::PI) || whole((x + y) / std::f64::consts::PI);
    let sizes = |theta: &[f64]| {
        let all = theta.iter().enumerate().filter(|(j, _)| !turned(a[*j], b[*j]));
        let mut all: Vec<f64> = all.map(|(_, x)| x.abs()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    sizes(a).iter().zip(&sizes(b)).all(|(x, y)| near(*x, *y))
}

/// How much higher, as a share or in minus twice a log-likelihood, the cost must be half way between two minima that were followed to the
/// last digit, and below which share of the largest a singular value leaves a direction in which nothing is determined.
const RIDGE: f64 = 1e-4;
const RIDGE_LIKELY: f64 = 1e-2;
const VALLEY: f64 = 1e-4;

/// Whether two minima of the same cost, each followed to the last digit on all data, are two: within a standard error of each other the
/// cost between them hardly rises. Where a valley connects them they are none.
fn are_two(task: &Task<'_>, loss: Loss, a: &Local, b: &Local) -> bool {
    if !(a.end == End::Converged && b.end == End::Converged && task.same(a.cost, b.cost)) {
        return false;
    }
    if is_twin(task, loss, &a.theta, &b.theta) {
        return true;
    }
    let sharp = |at: &Local| {
        let free: Vec<usize> =
            (0..at.theta.len()).filter(|&j| (task.bounds.min[j] < at.theta[j]) && (at.theta[j] < task.bounds.max[j])).collect();
        let scales: Vec<f64> = free.iter().map(|&j| at.linear.size(j)).collect();
        scales.iter().all(|s| *s > 0.0)
            && at.linear.decompose(&free, &scales, &vec![0.0; at.theta.len()]).is_some_and(|parts| parts.rank(VALLEY) == free.len())
    };
    let middle: Vec<f64> = a.theta.iter().zip(&b.theta).map(|(x, y)| 0.5 * (x + y)).collect();
    let Ok(between) = cost_at(task.whole, &middle, loss, &mut vec![0.0; task.whole.count()]) else { return false };
    let (here, blur) = (a.cost.max(b.cost), task.whole.blur());
    let least = match task.whole.is_likelihood() {
        true => RIDGE_LIKELY,
        false => RIDGE * here + 2.0 * (here * blur).sqrt() + blur,
    };
    !renamed(&a.theta, &b.theta) && between > here + least && sharp(a) && sharp(b)
}

/// Whether two points are one, as far as a search on a sample tells.
fn near_by(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= NEAR * a.abs().max(b.abs()))
}

/// Fits the most promising minima on all data, to the last digit, and chooses.
fn settle(task: &Task<'_>, free: &[usize], mut runs: Vec<Run>, tried: usize, options: &Options<'_>) -> Option<Result<Found, Unusable>> {
    runs.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.number.cmp(&b.number)));
    let blurred = task.sample.blur() > 0.0;
    let mut chosen: Vec<&Run> = Vec::new();
    for run in &runs {
        match chosen.iter().position(|c| task.same(c.cost, run.cost)) {
            // Minima of the same cost are often the same solution with its terms in another order: of two that are apart the one that the
            // user's start leads to, else the one nearest to it.
            Some(k) if chosen[k].number == 0 && !near_by(&run.theta, &chosen[k].theta) => {}
            Some(k) if run.number == 0 && !near_by(&run.theta, &chosen[k].theta) => chosen[k] = run,
            Some(k) if distance(&run.theta, task.start) < distance(&chosen[k].theta, task.start) => chosen[k] = run,
            Some(_) => {}
            None if chosen.iter().any(|c| task.alike(c.cost, run.cost) && near_by(&c.theta, &run.theta)) => {}
            // A rough solution tells a good minimum from a bad one.
            None if blurred && !task.whole.is_likelihood() && chosen.first().is_some_and(|best| run.cost > FAR * best.cost) => {}
            None if chosen.len() < 3 => chosen.push(run),
            None => {}
        }
    }
    if let Some(own) = runs.iter().find(|r| r.number == 0)
        && !chosen.iter().any(|c| task.same(c.cost, own.cost) || task.alike(c.cost, own.cost) && near_by(&c.theta, &own.theta))
    {
        chosen.push(own);
    }
    let fine = lm::Options { evaluations: options.evaluations, cancel: options.cancel, ..lm::Options::default() };
    // When time or work is over, a minimum that was reached is only looked at again.
    let late = options.effort.is_ended();
    if late {
        chosen.truncate(1);
    }
    let mut fits: Vec<(usize, Local)> = Vec::new();
    let mut failed = None;
    for run in chosen {
        let theta = nearest(task, free, options.loss, &run.theta);
        let reached = late && run.end == End::Converged;
        let how = if reached { lm::Options { evaluations: AGAIN, polish: false, cancel: None, ..fine } } else { fine };
        match lm::minimise(task.whole, &theta, task.bounds, options.loss, &how) {
            Ok(fit) => fits.push((run.number, fit)),
            Err(e) => failed = Some(e),
        }
    }
    // A sample may have misled every start; the user's own then goes the whole way on all data. After a stop no way is gone any more: only
    // where nothing is known yet, there is what the start itself comes to.
    let cancelled = options.cancel.is_some_and(|c| c.load(Ordering::Relaxed));
    if fits.is_empty() || (!late && !cancelled && fits.iter().all(|f| f.1.end != End::Converged)) {
        let own = match cancelled {
            true => lm::minimise(task.whole, task.start, task.bounds, options.loss, &fine),
            false => local(task, task.whole, free, task.start, options, None)
                .and_then(|l| lm::minimise(task.whole, &l.theta, task.bounds, options.loss, &fine)),
        };
        match own {
            Ok(fit) => fits.push((0, fit)),
            Err(e) => failed = Some(e),
        }
    }
    if fits.is_empty() {
        return failed.map(Err);
    }
    let begun = runs.iter().find(|r| r.number == 0);
    // One of the same cost as far as the blur tells may be another solution: only one at the same place stands for the user's own.
    let stands = |number: usize| {
        let run = runs.iter().find(|r| r.number == number);
        run.zip(begun).is_some_and(|(r, own)| task.same(own.cost, r.cost) || task.alike(own.cost, r.cost) && near_by(&own.theta, &r.theta))
    };
    let own = fits.iter().find(|f| f.0 == 0).or_else(|| fits.iter().find(|f| stands(f.0))).map(|f| f.1.cost);
    let lowest = fits.iter().map(|f| f.1.cost).fold(f64::INFINITY, f64::min);
    let kept =
        own.filter(|own| (task.whole.is_likelihood() || *own * CLEARLY_LOWER <= lowest) && !task.decided(*own, lowest, options.loss));
    let wanted = kept.unwrap_or(lowest);
    let (from, best) = fits.iter().filter(|f| f.1.cost == wanted).min_by_key(|f| f.0)?.clone();
    let at = runs.iter().find(|r| r.number == from).map_or(f64::NAN, |r| r.cost);
    // The run that was followed to the end counts as what it became, however far that was.
    let (here, apart): (Vec<&Run>, Vec<&Run>) = runs
        .iter()
        .filter(|r| task.alike(r.cost, at))
        .partition(|r| r.number == from || !is_twin(task, options.loss, &best.theta, &r.theta));
    // A run may have ended on a part of the data, or short of its minimum: what is offered has been followed on all of them.
    let fine = lm::Options { evaluations: options.evaluations, cancel: options.cancel, ..lm::Options::default() };
    let twin = apart.first().and_then(|r| {
        let other = lm::minimise(task.whole, &r.theta, task.bounds, options.loss, &fine).ok()?;
        are_two(task, options.loss, &best, &other).then_some(other.theta)
    });
    let looked = task.exchange && options.starts > 1 && !late && !cancelled && twin.is_none() && best.end == End::Converged;
    let twin = twin.or_else(|| if looked { exchanged(task, free, &best, options) } else { None });
    // What the runs that may have ended at either are nearer to.
    let (twin, agreed) = match twin {
        None => (None, here.len().max(1)),
        Some(other) => {
            let nearer = |r: &&&Run| r.number != from && distance(&r.theta, &other) < distance(&r.theta, &best.theta);
            let there = here.iter().chain(&apart).filter(nearer).count();
            (Some((other, there)), (here.len() + apart.len() - there).max(1))
        }
    };
    let tie = kept.filter(|k| !task.same(*k, lowest)).map(|_| lowest);
    Some(Ok(Found {
        own: own.filter(|own| *own != best.cost),
        tie,
        best,
        tried,
        agreed,
        twin,
        failed: 0,
        from,
        noise: false,
        doubtful: false,
    }))
}

/// Constants that are exchanged in pairs to look for another solution, at most.
const EXCHANGED: usize = 4;

/// How many times the cost of the minimum a point may have at which a constant stands for the ratio of two others, to be followed.
const WORTHWHILE: f64 = 2.0;

/// Points at which a constant has the ratio of two others, which has its value: rates, one of which is written as a clearance over a
/// volume.
fn of_ratios(theta: &[f64], others: &[usize]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for &i in others {
        for &j in others.iter().filter(|&&j| j != i) {
            for &k in others.iter().filter(|&&k| k != i && k != j) {
                let (rate, ratio) = (theta[i], theta[j] / theta[k]);
                // Either of the two follows.
                for (follows, value) in [(k, theta[j] / rate), (j, rate * theta[k])] {
                    let mut start = theta.to_vec();
                    (start[i], start[follows]) = (ratio, value);
                    all.push(start);
                }
            }
        }
    }
    all.retain(|start| start.iter().all(|x| x.is_finite()));
    all
}

/// Another solution of the same cost, where two constants, or one and the ratio of two others, have exchanged their parts and others
/// followed: starts near the declared values rarely lead there.
fn exchanged(task: &Task<'_>, free: &[usize], best: &Local, options: &Options<'_>) -> Option<Vec<f64>> {
    let others: Vec<usize> = (0..best.theta.len()).filter(|j| !free.contains(j)).collect();
    if others.len() > EXCHANGED {
        return None;
    }
    let rough = Options { evaluations: options.evaluations.min(ROUGH), ..*options };
    let fine = lm::Options { evaluations: options.evaluations, cancel: options.cancel, ..lm::Options::default() };
    let at = cost_at(task.sample, &best.theta, options.loss, &mut vec![0.0; task.sample.count()]).ok()?;
    let pairs = others.iter().enumerate().flat_map(|(k, &i)| others[..k].iter().map(move |&j| (j, i))).map(|(i, j)| {
        let mut start = best.theta.clone();
        start.swap(i, j);
        start
    });
    let inside = |start: &Vec<f64>| (0..start.len()).all(|k| (task.bounds.min[k]..=task.bounds.max[k]).contains(&start[k]));
    // Of many points that cost an evaluation each only what may be a solution is followed.
    let promises = |start: &Vec<f64>| {
        let cost = cost_at(task.sample, start, options.loss, &mut vec![0.0; task.sample.count()]);
        let likely = task.whole.is_likelihood();
        cost.is_ok_and(|cost| if likely { cost <= at + DECIDED } else { cost <= WORTHWHILE * at.max(task.floor) })
    };
    let ratios: Vec<Vec<f64>> =
        of_ratios(&best.theta, &others).into_iter().filter(|start| inside(start) && !near_by(start, &best.theta)).collect();
    let ratios: Vec<Vec<f64>> = ratios.into_par_iter().filter(promises).collect();
    let one = |start: Vec<f64>| {
        let rough = if inside(&start) && !near_by(&start, &best.theta) {
            local(task, task.sample, free, &start, &rough, None).ok()?
        } else {
            return None;
        };
        if !task.alike(rough.cost, at) || near_by(&rough.theta, &best.theta) {
            return None;
        }
        let other = lm::minimise(task.whole, &rough.theta, task.bounds, options.loss, &fine).ok()?;
        are_two(task, options.loss, best, &other).then_some(other.theta)
    };
    pairs.chain(ratios).collect::<Vec<_>>().into_par_iter().map(one).collect::<Vec<_>>().into_iter().flatten().next()
}

/// Points worth following, the most promising first.
fn screen(task: &Task<'_>, free: &[usize], options: &Options<'_>) -> Vec<Vec<f64>> {
    let sampled: Vec<usize> = (0..task.start.len()).filter(|j| !free.contains(j)).collect();
    if sampled.is_empty() {
        return Vec::new();
    }
    let value = |theta: &[f64]| -> Option<f64> {
        let mut residuals = vec![0.0; task.sample.count()];
        let cost = if free.is_empty() {
            cost_at(task.sample, theta, options.loss, &mut residuals).ok()?
        } else {
            let reduced = Separable::new(task.sample, free, theta);
            let alpha: Vec<f64> = sampled.iter().map(|&j| theta[j]).collect();
            cost_at(&reduced, &alpha, options.loss, &mut residuals).ok()?
        };
        cost.is_finite().then_some(cost)
    };
    let points: Vec<Vec<f64>> = (0..options.screened as u32)
        .map(|i| {
            let mut theta = task.start.to_vec();
            for (d, &j) in sampled.iter().enumerate() {
                let hint = task.hints.iter().find(|h| h.0 == j && !h.1.is_empty());
                theta[j] = match hint {
                    // Every other point takes a parameter with hints from them, in turn.
                    Some((_, values)) if i % 2 == 0 => values[(i / 2) as usize % values.len()],
                    // Every fourth point stays near the start, which may be known to a few percent in many dimensions.
                    _ if i % 4 == 3 => near(uniform(i, d, options.seed), task.start[j]),
                    _ => place(uniform(i, d, options.seed), task.start[j], task.bounds.min[j], task.bounds.max[j]),
                };
                theta[j] = theta[j].clamp(task.bounds.min[j], task.bounds.max[j]);
            }
            theta
        })
        .collect();
    let mut costs: Vec<(f64, usize)> = points
        .par_iter()
        .enumerate()
        .map(|(i, p)| (value(p), i))
        .collect::<Vec<_>>()
        .into_iter()
        .filter_map(|(cost, i)| cost.map(|c| (c, i)))
        .collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    // Half of the starts are the best points; between them, points further down the list, so that not all of them lie in one basin.
    let stride = (costs.len() / options.starts.max(1)).max(1);
    let mut order: Vec<usize> = Vec::new();
    for k in 0..costs.len() {
        for at in [k, (k + 1) * stride] {
            if at < costs.len() && !order.contains(&at) {
                order.push(at);
            }
        }
        if order.len() >= options.starts.max(task.persist) {
            break;
        }
    }
    order.into_iter().take(options.starts.max(task.persist)).map(|at| points[costs[at].1].clone()).collect()
}

/// A number in [0, 1) of a low-discrepancy sequence; beyond the dimensions of the sequence, of a hash.
pub(super) fn uniform(index: u32, dimension: usize, seed: u32) -> f64 {
    if (dimension as u32) < sobol_burley::NUM_DIMENSIONS && index < (1 << 16) {
        return f64::from(sobol_burley::sample(index, dimension as u32, seed));
    }
    let mut x = (u64::from(index) << 32 | dimension as u64) ^ (u64::from(seed) << 17) ^ 0x9E37_79B9_7F4A_7C15;
    for _ in 0..2 {
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^= x >> 31;
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// A value of a parameter from a number in [0, 1): across the bounds where both are given, else over decades around the start.
pub(super) fn place(u: f64, start: f64, min: f64, max: f64) -> f64 {
    let decades = |t: f64| 10f64.powf(4.0 * t * t * t + 0.5 * t);
    if min > f64::NEG_INFINITY && max < f64::INFINITY {
        return if min > 0.0 && max / min > 100.0 { min * (max / min).powf(u) } else { min + u * (max - min) };
    }
    if min > f64::NEG_INFINITY || max < f64::INFINITY {
        let (anchor, way) = if min > f64::NEG_INFINITY { (min, 1.0) } else { (max, -1.0) };
        let size = if start == anchor { 1.0 } else { (start - anchor).abs() };
        return anchor + way * size * decades(2.0 * u - 1.0);
    }
    // A quarter of the points have the other sign.
    let size = if start == 0.0 { 1.0 } else { start };
    if u < 0.25 { -size * decades(8.0 * u - 1.0) } else { size * decades((u - 0.25) * 8.0 / 3.0 - 1.0) }
}

/// A value within a factor of two of the start.
pub(super) fn near(u: f64, start: f64) -> f64 {
    let t = 2.0 * u - 1.0;
    if start == 0.0 { t } else { start * 2f64.powf(t) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_within_bounds() {
        for i in 0..1000 {
            let u = f64::from(i) / 1000.0;
            assert!((2.0..=3.0).contains(&place(u, 2.5, 2.0, 3.0)));
            assert!((1e-3..=1e6).contains(&place(u, 1.0, 1e-3, 1e6)));
            assert!(place(u, 5.0, 1.0, f64::INFINITY) >= 1.0);
            assert!(place(u, 0.0, f64::NEG_INFINITY, 1.0) <= 1.0);
            assert!(place(u, 0.0, f64::NEG_INFINITY, f64::INFINITY).is_finite());
        }
        assert_eq!(uniform(7, 300, 1), uniform(7, 300, 1));
    }

    /// Where a b = 6 and a + 2 b = 8: at (6, 1) and at (2, 3).
    struct Two(std::sync::atomic::AtomicUsize);

    impl Residuals for Two {
        fn parameters(&self) -> usize {
            2
        }

        fn count(&self) -> usize {
            2
        }

        fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
            self.0.fetch_add(1, Ordering::Relaxed);
            residuals.copy_from_slice(&[theta[0] * theta[1] - 6.0, theta[0] + 2.0 * theta[1] - 8.0]);
            jacobian.into_iter().for_each(|j| j.copy_from_slice(&[theta[1], 1.0, theta[0], 2.0]));
            Ok(())
        }
    }

    /// Nothing is spent on another solution by a search that does not tell of it.
    #[test]
    fn constants_are_exchanged_where_that_is_asked_for() {
        let of = |exchange: bool| {
            let problem = Two(Default::default());
            let (bounds, effort) = (Bounds::none(2), Effort::default());
            let task = Task { exchange, floor: 1e-20, ..Task::new(&problem, &problem, &[6.1, 0.9], &bounds) };
            let (loss, effort) = (Loss::Squares, &effort);
            let options =
                Options { starts: 2, round: 1, screened: 0, evaluations: 100, seed: 1, loss, cancel: None, progress: None, effort };
            let found = search(&task, &options).expect("a minimum");
            (found.twin.map(|t| t.0), problem.0.load(Ordering::Relaxed))
        };
        let ((twin, all), (none, few)) = (of(true), of(false));
        let twin = twin.expect("the other solution");
        assert!((twin[0] - 2.0).abs() < 1e-6 && (twin[1] - 3.0).abs() < 1e-6, "{twin:?}");
        assert!(none.is_none() && few < all, "{few} and {all}");
    }
}
