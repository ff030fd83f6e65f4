//! The fit of every kind of model by maximum likelihood. In: a model with its data; out: a [`Fit`].
//!
//! A model is fitted as a whole first, from many starts; where constants have values of their own for groups, that is where the fit of all
//! groups together begins. Priors are cells of their own.

use super::alternate;
use super::confounded;
use super::density::Density;
use super::effects::Effects;
use super::groups::Grouping;
use super::joint::Joint;
use super::marginal::{self, Kind, Marginal};
use super::maximum::{Maximum, Starts, maximise};
use super::observed::{Densities, Errors, Target};
use super::problem::{Cells, Likelihood, Source};
use crate::fit::{enough, wrong};
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::optimise::linear::Linear;
use crate::optimise::{Residuals, Unusable};
use crate::options::{EffectMethod, Options};
use crate::report::summary::{self, Compared};
use crate::report::{Axis, Fit};
use crate::statistics::{freedom, smooth};
use neural_compiler::{Diagnostic, Diagnostics, Program};
use std::ops::Range;
use std::sync::Arc;

/// A model with its data, of either kind.
pub(super) trait Model: Sync {
    /// Its parameters, as if there were no groups.
    fn layout(&self) -> &Layout;

    /// The columns that observe it.
    fn targets(&self) -> &[Target];

    /// Standard deviations that are estimated.
    fn sigmas(&self) -> usize;

    /// Rows of the table that are not fitted, in order.
    fn held_out(&self) -> &[usize];

    /// What the rows lie along.
    fn axis(&self) -> Option<Axis>;

    /// Starts followed, looked at between, and screened.
    fn starts(&self) -> Starts;

    /// Singular values below this share of the largest are errors of second derivatives.
    fn precision(&self) -> f64;

    /// The share of predictions that errors in computing them may amount to.
    fn blur(&self) -> f64;

    /// What predicts some of the rows that are fitted, and the cells that observe it.
    fn part(&self, inside: &dyn Fn(usize) -> bool, densities: &mut Densities) -> (Box<dyn Residuals + '_>, Vec<Cells>);

    /// Where least squares ends, if it is worth a start.
    fn squares(&self, options: &Options<'_>, effort: &Effort) -> Option<Vec<f64>>;

    /// Predictions of the targets for some rows, target by target, a number per row of the table.
    fn predicted(&self, theta: &[f64], inside: &dyn Fn(usize) -> bool) -> Result<Vec<Vec<f64>>, Unusable>;
}

/// An error if what predicts depends on a parameter in steps only, which no search can follow.
fn followed(predicts: &dyn Residuals, theta: &[f64], layout: &Layout) -> Result<(), Diagnostics> {
    let m = predicts.count();
    let (mut values, mut derivatives) = (vec![0.0; m], vec![0.0; m * theta.len()]);
    if predicts.evaluate(theta, &mut values, Some(&mut derivatives)).is_err() {
        return Ok(());
    }
    let linear = Linear::new(values, derivatives);
    let influences = smooth::influences(predicts, theta, &layout.start, &linear, &layout.bounds, layout.parameters);
    smooth::check(&layout.names, &influences)
}

/// The fit of a model; `grouping`: constants that have values of their own for groups of rows.
pub(super) fn fit(
    model: &dyn Model,
    grouping: Option<&Grouping>,
    program: &Program,
    options: &Options<'_>,
    effort: &Arc<Effort>,
) -> Result<Fit, Diagnostics> {
    let sigmas: Vec<Option<(usize, String, f64)>> = model.targets().iter().map(estimated).collect();
    let layout = summary::with_sigmas(model.layout(), &sigmas, model.sigmas());
    let mut densities = Densities::default();
    let (inner, mut cells) = model.part(&|_| true, &mut densities);
    cells.extend(priors(&layout, &mut densities, |_| true));
    let whole = Joint::alone(part(&*inner, cells, &layout, model));
    enough(&layout, whole.observations())?;
    let also = || {
        let start = model.squares(&Options { progress: None, ..options.clone() }, effort);
        start.map(|theta| [&theta[..], &layout.start[theta.len()..]].concat()).into_iter().collect()
    };
    if let Some(effects) = grouping.map(|g| Effects::new(&layout, g)).transpose()?.flatten() {
        // The effects at their means, and how much they vary as declared.
        let held = effects.held(&layout.bounds);
        let pooled = maximise(&whole, &layout.start, &held, &also, model.starts(), options, effort);
        let pooled = pooled.map(|m| m.found.best.theta).ok();
        return with_effects(model, grouping.expect("effects have groups"), &effects, &layout, pooled, (program, options, effort));
    }
    let maximum = maximise(&whole, &layout.start, &layout.bounds, &also, model.starts(), options, effort);
    if let Ok(maximum) = &maximum {
        followed(&*inner, &maximum.found.best.theta[..model.layout().len()], model.layout())?;
    }
    let Some(grouping) = grouping else {
        let mut maximum = maximum?;
        let exact = is_met(&whole, &mut maximum);
        let theta = &maximum.found.best.theta;
        let compared = compared(model, program, layout.len(), |inside| model.predicted(&theta[..model.layout().len()], inside))?;
        let likely = (model.precision(), undeclared(model, &whole).map(|d| d.len()));
        let mut fit = summary::likely(&layout, &whole, &maximum, compared, likely, options)?;
        if exact {
            summary::met_exactly(&mut fit, undeclared(model, &whole).is_some());
        } else if !maximum.runaways.is_empty() {
            let limits = whole.parts[0].limits(theta);
            fit.warnings.extend(limits.iter().map(|limit| format!("the distribution declared goes over into {limit}")));
        }
        judge(model, &whole, &mut fit, exact);
        return Ok(fit);
    };
    let groups = grouping.labels.len();
    let made: Vec<(Box<dyn Residuals + '_>, Vec<Cells>)> = (0..groups)
        .map(|g| {
            let (inner, mut cells) = model.part(&|row| grouping.of_row[row] == g, &mut densities);
            // What all share counts once.
            cells.extend(priors(&layout, &mut densities, |j| g == 0 || grouping.local.contains(&j)));
            (inner, cells)
        })
        .collect();
    observe_every_group(grouping, &layout, &made)?;
    let (inners, cells): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let parts = inners.iter().zip(cells).map(|(inner, cells)| part(&**inner, cells, &layout, model)).collect();
    let joint = Joint::grouped(parts, &grouping.local);
    let full = grouping.layout(&layout, &joint);
    enough(&full, joint.observations())?;
    let pooled = maximum.as_ref().ok().map(|m| joint.spread(&m.found.best.theta));
    let also = || pooled.iter().cloned().collect();
    let mut maximum = maximise(&joint, &full.start, &full.bounds, &also, (2, 1, 0), options, effort)?;
    let exact = is_met(&joint, &mut maximum);
    let theta = &maximum.found.best.theta;
    let of_group = |g: usize| joint.of_part(theta, g)[..model.layout().len()].to_vec();
    let mut compared = compared(model, program, full.len(), |inside| by_group(model, grouping, inside, &of_group))?;
    if let Some(axis) = compared.axis.as_mut().filter(|a| a.trajectory.is_empty()) {
        axis.trajectory.clone_from(&grouping.of_row);
    }
    let likely = (model.precision(), undeclared(model, &joint).map(|d| d.len()));
    let mut fit = summary::likely(&full, &joint, &maximum, compared, likely, options)?;
    fit.values = grouping.values(model.layout(), (0..groups).map(of_group).collect());
    if exact {
        summary::met_exactly(&mut fit, undeclared(model, &joint).is_some());
    }
    judge(model, &joint, &mut fit, exact);
    Ok(fit)
}

/// Whether nothing is left but rounding, so that errors are estimated to be nothing: that there is no more to be computed beyond is then no
/// wall, and other starts only ended earlier on the way to the same.
fn is_met(problem: &Joint<'_>, maximum: &mut Maximum) -> bool {
    let best = &mut maximum.found.best;
    let exact = problem.parts.iter().enumerate().any(|(g, part)| part.collapsed(&problem.of_part(&best.theta, g)));
    if exact {
        (best.wall, maximum.found.own, maximum.found.tie) = (None, None, None);
    }
    exact
}

/// An error if a group has nothing that determines its own constants.
fn observe_every_group(grouping: &Grouping, layout: &Layout, made: &[(Box<dyn Residuals + '_>, Vec<Cells>)]) -> Result<(), Diagnostics> {
    let nothing = |(_, cells): &(Box<dyn Residuals + '_>, Vec<Cells>)| cells.iter().filter(|c| !c.prior).all(|c| c.y.is_empty());
    let Some(g) = made.iter().position(nothing) else { return Ok(()) };
    let (column, label) = (&grouping.column, &grouping.labels[g]);
    let own: Vec<String> = grouping.local.iter().map(|&j| format!("`{}`", super::groups::named(&layout.names[j], label))).collect();
    let message = format!("where `{column}` is {label}, no row has a value to explain: nothing determines {}", own.join(", "));
    let help = "leave the rows of this group out, or let the groups share the constants";
    Err(Diagnostic::error("no-target", Default::default(), message).help(help).into())
}

/// A program, options and what evaluations may cost.
type Around<'a> = (&'a Program, &'a Options<'a>, &'a Arc<Effort>);

/// An error if a density has a kink: Laplace's approximation of the integral over effects takes its curvature, which is none there.
fn smooth_densities(model: &dyn Model) -> Result<(), Diagnostics> {
    let Some(target) = model.targets().iter().find(|t| t.noise.distribution().kinked.is_some()) else { return Ok(()) };
    let message = format!(
        "random effects cannot be integrated out beside `{}`, whose `{}` density has no curvature at its middle",
        target.name,
        target.noise.distribution().name
    );
    let help = "take a smooth distribution: (student-t 4 s) has heavy tails too";
    Err(Diagnostic::error("bad-declaration", Default::default(), message).help(help).into())
}

/// The fit of a model some constants of which are drawn at random for each group.
fn with_effects(
    model: &dyn Model,
    grouping: &Grouping,
    effects: &Effects,
    layout: &Layout,
    pooled: Option<Vec<f64>>,
    (program, options, effort): Around<'_>,
) -> Result<Fit, Diagnostics> {
    smooth_densities(model)?;
    let groups = grouping.labels.len();
    let mut densities = Densities::default();
    let made: Vec<(Box<dyn Residuals + '_>, Vec<Cells>)> = (0..groups)
        .map(|g| {
            let (inner, mut cells) = model.part(&|row| grouping.of_row[row] == g, &mut densities);
            cells.extend(priors(layout, &mut densities, |_| g == 0));
            (inner, cells)
        })
        .collect();
    let (inners, cells): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let parts = inners.iter().zip(cells).map(|(inner, cells)| part(&**inner, cells, layout, model)).collect();
    let joint = Joint::grouped(parts, &grouping.local);
    let n = joint.observations();
    let shared = grouping.shared_layout(layout, &joint);
    enough(&shared, n)?;
    let mut problem = Marginal { effects: effects.standard(&joint), bounds: shared.bounds.clone(), joint, kind: Kind::Integral };
    let start = pooled.map(|theta| problem.joint.of_shared(&theta));
    let also = || start.iter().cloned().collect();
    let maximum = match options.effects.unwrap_or_default() {
        EffectMethod::Laplace => marginal::maximise(&problem, &shared.start, &also, options, effort)?,
        EffectMethod::LindstromBates => alternate::rest(&mut problem, &grouping.local, &shared.start, options, effort)?,
    };
    let theta = &maximum.found.best.theta;
    let failed = |e: Unusable| wrong("no-prediction", e.0);
    let modes = problem.modes_of_effects(theta).map_err(failed)?;
    let of_group = |g: usize| problem.joint.together(theta, &modes[g])[..model.layout().len()].to_vec();
    let mut compared = compared(model, program, shared.len(), |inside| by_group(model, grouping, inside, &of_group))?;
    if let Some(axis) = compared.axis.as_mut().filter(|a| a.trajectory.is_empty()) {
        axis.trajectory.clone_from(&grouping.of_row);
    }
    let mut fit = summary::likely_of(&shared, (&problem, None), &maximum, compared, (n, model.precision().max(1e-6)), None)?;
    fit.likelihood.loglik = -0.5 * maximum.found.best.cost;
    let named = |g: usize| {
        let own = grouping.local.iter().zip(&modes[g]);
        own.map(move |(&j, x)| (super::groups::named(&layout.names[j], &grouping.labels[g]), *x)).collect::<Vec<_>>()
    };
    if options.profile {
        fit.warnings.push("there are no profiles of a likelihood from which random effects are integrated out".into());
    }
    fit.effects = (0..groups).flat_map(named).collect();
    fit.effect_method = options.effects.unwrap_or_default();
    fit.values = grouping.values(model.layout(), (0..groups).map(of_group).collect());
    confounded::tell(&mut problem, (theta, maximum.found.best.cost), &mut fit);
    freedom::above_zero(&mut fit, deviations(model, problem.joint.shared()));
    summary::with_priors(&problem.joint, &mut fit);
    tell_missing(model, &mut fit);
    Ok(fit)
}

/// Predictions of all groups, each with its parameters.
pub(super) fn by_group(
    model: &dyn Model,
    grouping: &Grouping,
    inside: &dyn Fn(usize) -> bool,
    of_group: &dyn Fn(usize) -> Vec<f64>,
) -> Result<Vec<Vec<f64>>, Unusable> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for g in 0..grouping.labels.len() {
        let found = model.predicted(&of_group(g), &|row| grouping.of_row[row] == g && inside(row))?;
        if all.is_empty() {
            all = found;
            continue;
        }
        for (all, own) in all.iter_mut().zip(found) {
            all.iter_mut().zip(own).filter(|(_, x)| !x.is_nan()).for_each(|(place, x)| *place = x);
        }
    }
    Ok(all)
}

fn part<'a>(inner: &'a dyn Residuals, cells: Vec<Cells>, layout: &Layout, model: &dyn Model) -> Likelihood<'a> {
    let mut part = Likelihood::new(inner, cells, layout.len());
    if model.blur() > 0.0 {
        part.blur_of(&layout.start, model.blur());
    }
    part
}

/// The standard deviation of a target that is estimated: its number, the column and where to start.
fn estimated(target: &Target) -> Option<(usize, String, f64)> {
    match target.noise {
        Errors::Estimated(k) => Some((k, target.name.clone(), target.scatter())),
        Errors::Declared(..) | Errors::Known(_) => None,
    }
}

/// The standard deviations among the parameters where nothing of a likelihood was declared.
fn undeclared(model: &dyn Model, problem: &Joint<'_>) -> Option<Range<usize>> {
    let plain = |t: &Target| matches!(t.noise, Errors::Estimated(_)) && t.sides.is_empty();
    (model.sigmas() > 0 && model.targets().iter().all(plain) && !problem.has_priors()).then(|| deviations(model, problem.shared()))
}

/// The standard deviations that are estimated, among what is shared.
fn deviations(model: &dyn Model, shared: usize) -> Range<usize> {
    shared - model.sigmas()..shared
}

/// What there is to say of a maximum besides: where nothing of a likelihood was declared, errors are those of least squares.
fn judge(model: &dyn Model, problem: &Joint<'_>, fit: &mut Fit, exact: bool) {
    if let Some(deviations) = undeclared(model, problem).filter(|_| fit.converged && !exact) {
        freedom::as_least_squares(fit, deviations);
    }
    freedom::above_zero(fit, deviations(model, problem.shared()));
    tell_missing(model, fit);
}

/// What is missing of targets, in words, and figures of squares where what is predicted is no number of the column's kind.
fn tell_missing(model: &dyn Model, fit: &mut Fit) {
    for (target, column) in model.targets().iter().zip(&mut fit.columns) {
        // A probability beside counts of several trials.
        if target.noise.distribution().name == "binomial" {
            (column.rmse, column.r2, fit.rmse, fit.r2) = (f64::NAN, f64::NAN, f64::NAN, f64::NAN);
        }
    }
    for target in model.targets() {
        let count = target.values.iter().filter(|x| x.is_nan()).count();
        if count > 0 {
            fit.warnings.push(format!("{count} of {} rows have no value of `{}`", target.values.len(), target.name));
        }
    }
}

/// The priors of some parameters, as cells.
fn priors(layout: &Layout, densities: &mut Densities, of: impl Fn(usize) -> bool) -> Vec<Cells> {
    let mut all = Vec::new();
    for shared in &layout.shared {
        let (Some(prior), Some(at)) = (&shared.prior, shared.at) else { continue };
        let distribution = prior.distribution;
        let density = densities.prior(distribution, || {
            let names: Vec<&str> = std::iter::once("m").chain(distribution.arguments.iter().copied()).collect();
            Density::new(distribution.density, &names, distribution.curvature, None)
        });
        for j in (at..at + shared.shape.len()).filter(|&j| of(j)) {
            let from = std::iter::once(Source::Own(j)).chain(prior.arguments.iter().map(|x| Source::Number(*x))).map(|s| vec![s]);
            all.push(Cells {
                density: density.clone(),
                y: vec![0.0],
                from: from.collect(),
                possible: (distribution.possible, distribution.rule),
                limit: None,
                by_factors: false,
                places: vec![format!("the prior of `{}`", layout.names[j])],
                prior: true,
            });
        }
    }
    all
}

/// Data and predictions of all rows.
fn compared(
    model: &dyn Model,
    program: &Program,
    spent: usize,
    predict: impl Fn(&dyn Fn(usize) -> bool) -> Result<Vec<Vec<f64>>, Unusable>,
) -> Result<Compared, Diagnostics> {
    let predicted = predict(&|_| true).map_err(|e| wrong("no-prediction", e.0))?.concat();
    let targets = model.targets();
    let out = |row: usize| model.held_out().binary_search(&row).is_ok();
    let chosen = |held_out: bool| {
        let of = |t: &Target| {
            let seen = t.seen();
            (0..seen.len()).map(|row| if out(row) == held_out { seen[row] } else { f64::NAN }).collect::<Vec<f64>>()
        };
        targets.iter().flat_map(of).collect::<Vec<f64>>()
    };
    Ok(Compared {
        targets: targets.iter().map(|t| t.name.clone()).collect(),
        observed: chosen(false),
        predicted,
        known: false,
        weights: vec![],
        scales: (0..targets.len()).collect(),
        axis: model.axis(),
        held_out: if model.held_out().is_empty() { vec![] } else { chosen(true) },
        spent: spent as f64,
        likely: Some(targets.iter().map(|t| t.words(program)).collect()),
    })
}
