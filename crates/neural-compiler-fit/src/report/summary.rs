//! Numbers and words about a minimum. In: where a fit ended, data and predictions; out: a [`Fit`].

use crate::likelihood::numbers::Numbers;
use crate::likelihood::{self as likely_fit, Joint, Maximum};
use crate::model::layout::Layout;
use crate::optimise::linear::Linear;
use crate::optimise::lm::{End, Local};
use crate::optimise::loss::Loss;
use crate::optimise::search::Found;
use crate::optimise::{Residuals, norm};
use crate::options::{EffectMethod, Options};
use crate::report::{Axis, Fit, Noise, exact, outcome};
use crate::statistics::identify::{self, Undetermined};
use crate::statistics::likelihood::{self, Lengths, Target};
use crate::statistics::smooth::{self, Influence};
use crate::statistics::uncertainty::{self, Certainty, EXACT, Open, ROUNDING, Uncertainty, Variance};
use crate::statistics::{freedom, lost, poor, profile, student};
use neural_compiler::Diagnostics;

/// Data and predictions of a finished fit, a number per row of the table for each target.
pub(crate) struct Compared {
    pub(crate) targets: Vec<String>,
    /// NaN where nothing was compared.
    pub(crate) observed: Vec<f64>,
    pub(crate) predicted: Vec<f64>,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    /// One over the standard deviation of each row where these are known, else the root of its relative weight; empty: all 1.
    pub(crate) weights: Vec<f64>,
    /// Targets of the same number have errors of one size, in one unit.
    pub(crate) scales: Vec<usize>,
    pub(crate) axis: Option<Axis>,
    /// Data of rows held out, NaN elsewhere; empty: none are.
    pub(crate) held_out: Vec<f64>,
    /// Numbers the fit had to spend: parameters, and as many weights as the data determine.
    pub(crate) spent: f64,
    /// Of a fit by maximum likelihood: what is assumed of the errors of each target.
    pub(crate) likely: Option<Vec<Noise>>,
}

impl Compared {
    /// The targets one by one, with these data.
    fn each<'a>(&'a self, data: &'a [f64]) -> Vec<Target<'a>> {
        let per = (data.len() / self.targets.len().max(1)).max(1);
        let parts = data.chunks(per).zip(self.predicted.chunks(per)).zip(&self.scales);
        self.targets.iter().zip(parts).map(|(name, ((observed, predicted), &scale))| Target { name, observed, predicted, scale }).collect()
    }
}

/// The uncertainty at a minimum; where there is no minimum none but what is open. `precision`: of the derivatives.
pub(crate) fn certainty(layout: &Layout, best: &Local, loss: Loss, known: bool, observations: usize, precision: f64) -> Uncertainty {
    let (robust, variance) = counted(&best.linear, loss, known);
    certainty_of(layout, best, robust.as_ref().unwrap_or(&best.linear), variance, observations, precision)
}

/// The linear model of residuals as a loss counts them, where that is another, and the variance that belongs to these.
pub(crate) fn counted(linear: &Linear, loss: Loss, known: bool) -> (Option<Linear>, Variance) {
    let (pulls, variance) = uncertainty::counted(linear, loss, known);
    ((loss != Loss::Squares).then(|| Linear::new(pulls, linear.jacobian.clone())), variance)
}

/// The same of residuals as the loss counts them, with the variance that belongs to them.
pub(crate) fn certainty_of(
    layout: &Layout,
    best: &Local,
    linear: &Linear,
    variance: Variance,
    observations: usize,
    precision: f64,
) -> Uncertainty {
    let found = match best.end {
        End::Wall => return Uncertainty::without(Certainty::NoMinimum, best.theta.len()),
        End::Evaluations | End::Cancelled => uncertainty::short_of_minimum,
        End::Converged | End::HeldOut => uncertainty::at_minimum,
    };
    found(&best.theta, linear, &layout.bounds, variance, observations, precision)
}

/// Where a fit ended, however it got there.
pub(crate) struct Ended {
    /// All free numbers, weights included.
    pub(crate) theta: Vec<f64>,
    pub(crate) cost: f64,
    /// Whether the loss is that of a likelihood: not robust.
    pub(crate) squares: bool,
    pub(crate) end: End,
    pub(crate) tried: usize,
    pub(crate) agreed: usize,
    /// Starts that ended at other values of the same cost.
    pub(crate) twins: usize,
    pub(crate) failed: usize,
    /// Whether some other start led to a slightly lower cost.
    pub(crate) better_elsewhere: bool,
    pub(crate) warnings: Vec<String>,
    /// Whether nothing but noise is left.
    pub(crate) noise: bool,
}

impl Ended {
    /// The end of a global search, whose costs are told in a unit.
    pub(crate) fn of(found: &Found, names: &[String], loss: Loss, unit: f64) -> Ended {
        Ended::told(found, names, loss, (unit, false))
    }

    /// The end of one whose costs are minus twice a log-likelihood, which is told instead.
    fn of_maximum(found: &Found, names: &[String]) -> Ended {
        Ended::told(found, names, Loss::Squares, (1.0, true))
    }

    fn told(found: &Found, names: &[String], loss: Loss, (unit, likely): (f64, bool)) -> Ended {
        let Local { theta, end, .. } = &found.best;
        let cost = unit * found.best.cost;
        let mut warnings = Vec::new();
        match found.own.map(|own| unit * own) {
            Some(own) if own > cost && likely => warnings.push(format!(
                "the given start leads to another maximum, where the log-likelihood is lower by {}; a better one was found",
                outcome::significant(0.5 * (own - cost), 4)
            )),
            Some(own) if own > cost => {
                warnings.push(format!("the given start leads to another minimum of cost {own:.6e}; a better one was found"))
            }
            _ => {}
        }
        if let Some(wall) = &found.best.wall {
            warnings.push(format!("the data ask for values beyond these, but there {}", wall.0));
        }
        if let Some(other) = found.tie.map(|tie| unit * tie).filter(|other| *other <= cost) {
            warnings.push(format!(
                "another minimum explains the data nearly as well (cost {other:.6e}, here {cost:.6e}); \
                 this one was kept because the given start leads to it"
            ));
        }
        if found.doubtful && found.agreed == 1 && found.tried >= MANY && found.best.end == End::Converged {
            warnings.push(format!(
                "only one of {} starts ends at this minimum, and much is left unexplained: a lower one may lie between them; \
                 narrower bounds, better start values or more starts tell",
                found.tried
            ));
        }
        if let Some((twin, _)) = &found.twin {
            let values =
                names.iter().zip(twin).map(|(n, x)| format!("{n} = {}", outcome::significant(*x, 6))).collect::<Vec<_>>().join(", ");
            warnings.push(format!("other values explain the data exactly as well: {values}; start values and bounds choose between them"));
        }
        let Found { tried, agreed, failed, noise, .. } = *found;
        let twins = found.twin.as_ref().map_or(0, |t| t.1);
        let (squares, better_elsewhere) = (loss == Loss::Squares, found.tie.is_some());
        Ended { theta: theta.clone(), cost, squares, end: *end, tried, agreed, failed, better_elsewhere, warnings, noise, twins }
    }
}

/// How sure a fit is of its parameters.
pub(crate) struct Sure {
    pub(crate) uncertainty: Uncertainty,
    pub(crate) undetermined: Vec<Undetermined>,
}

/// A minimum of residuals, and what to know of them.
pub(crate) struct Minimum<'a> {
    /// What is tried to see what a parameter does, and its linear model at the minimum: all residuals, or those of some rows.
    pub(crate) problem: &'a dyn Residuals,
    pub(crate) linear: &'a Linear,
    pub(crate) best: &'a Local,
    /// The linear model of all residuals as the loss counts them, and the variance that belongs to these.
    pub(crate) counted: (&'a Linear, Variance),
    /// How many of the residuals are data that count.
    pub(crate) observations: usize,
    /// The share of the largest singular value below which those of the derivatives are errors.
    pub(crate) precision: f64,
}

impl Minimum<'_> {
    /// How sure the fit is; an error where the predictions depend on a parameter in steps.
    pub(crate) fn certainty(&self, layout: &Layout) -> Result<Sure, Diagnostics> {
        let (Local { theta, linear: all, .. }, linear) = (self.best, self.linear);
        let mut influences = smooth::influences(self.problem, theta, &layout.start, linear, &layout.bounds, layout.parameters);
        // What does nothing in some rows may do something in others.
        influences.retain(|(j, _)| all.size(*j) == 0.0);
        smooth::check(&layout.names, &influences)?;
        let (uncertainty, strays) = self.without_strays(layout);
        let mut undetermined = identify::determined(&layout.names, theta, linear, &uncertainty, Some(self.problem));
        for (open, found) in uncertainty.open.iter().zip(&mut undetermined) {
            let lies_elsewhere = |j: usize| strays.contains(&j) || influences.contains(&(j, Influence::Elsewhere));
            found.elsewhere = matches!(open.parameters[..], [only] if lies_elsewhere(only));
        }
        Ok(Sure { uncertainty, undetermined })
    }

    /// The share of the largest singular value below which those of the derivatives are rounding: how much derivatives change with the last
    /// digits of the parameters says how many of theirs are right.
    fn rounding(&self) -> f64 {
        let theta = &self.best.theta;
        let nudged: Vec<f64> = theta.iter().enumerate().map(|(j, x)| x * if j % 2 == 0 { 1.0 + NUDGE } else { 1.0 - NUDGE }).collect();
        let Some(there) = linear_of(self.problem, &nudged) else { return EXACT };
        let change = |j: usize| {
            let change: Vec<f64> = there.column(j).iter().zip(self.linear.column(j)).map(|(a, b)| a - b).collect();
            let size = self.linear.size(j);
            if size > 0.0 { norm(&change) / size } else { 0.0 }
        };
        (RIGHT * (0..theta.len()).map(change).fold(0.0, f64::max)).clamp(ROUNDING, EXACT)
    }

    /// The uncertainty, parameters that ran off being held where they are: what they still do there is lost in that of the others.
    fn without_strays(&self, layout: &Layout) -> (Uncertainty, Vec<usize>) {
        let (linear, variance) = self.counted;
        let at = |layout: &Layout, precision: f64| certainty_of(layout, self.best, linear, variance, self.observations, precision);
        let mut found = at(layout, self.precision);
        let mut precision = self.precision;
        // Columns of x = 10^10, 10^10 + 1, ... are all but dependent, and their derivatives are exact.
        if !found.open.is_empty() && self.precision <= EXACT {
            precision = self.rounding();
            found = at(layout, precision);
        }
        let of = |layout: &Layout| at(layout, precision);
        let theta = &self.best.theta;
        let ran_off = |j: usize| {
            let begun = layout.start[j].abs();
            begun > 0.0 && theta[j].abs() > FAR_OFF * begun && matches!(found.certainty[j], Certainty::Error(e) if e > theta[j].abs())
        };
        let mut strays: Vec<usize> = (0..layout.parameters).filter(|&j| ran_off(j)).collect();
        let lost = lost::on_plateau(self.problem, theta, self.linear, &layout.bounds, &found.certainty[..layout.parameters]);
        strays.extend(lost.into_iter().filter(|&j| !ran_off(j)).collect::<Vec<usize>>());
        if !strays.is_empty() {
            found = without(&strays, layout, theta, of);
        }
        (found, strays)
    }
}

/// By what share of themselves parameters are moved to see the rounding of derivatives.
const NUDGE: f64 = 4.0 * f64::EPSILON;
/// How many times the change of derivatives that shows then a singular value is that is none of it.
const RIGHT: f64 = 100.0;

/// The uncertainty where some parameters are held at their values, which are not determined.
fn without(strays: &[usize], layout: &Layout, theta: &[f64], of: impl Fn(&Layout) -> Uncertainty) -> Uncertainty {
    let mut held = layout.clone();
    strays.iter().for_each(|&j| (held.bounds.min[j], held.bounds.max[j]) = (theta[j], theta[j]));
    let mut found = of(&held);
    for &j in strays {
        found.certainty[j] = Certainty::Unidentified;
        found.open.push(Open { parameters: vec![j], ways: vec![vec![1.0]] });
    }
    found
}

/// Starts that make one which ended alone doubtful.
const MANY: usize = 9;

/// How many times its start a parameter is that ran off, if its error is larger still.
const FAR_OFF: f64 = 1e4;

/// What data and predictions come to: all that a report tells of them, however many rows there are.
pub(crate) struct Figures {
    pub(crate) targets: Vec<Lengths>,
    /// Those of rows held out; empty: none are.
    pub(crate) held_out: Vec<Lengths>,
    /// Whether the weights are those of known errors, and if it is one, the standard deviation they say.
    pub(crate) known: bool,
    pub(crate) one_error: Option<f64>,
    /// Numbers the fit had to spend.
    pub(crate) spent: f64,
    /// Of a fit by maximum likelihood: what is assumed of the errors of each target.
    pub(crate) likely: Option<Vec<Noise>>,
}

/// Everything there is to say of rows in memory.
pub(crate) fn summarise(layout: &Layout, ended: Ended, mut compared: Compared, sure: Sure) -> Fit {
    let lengths = |data: &[f64], weights: &[f64]| compared.each(data).iter().map(|t| Lengths::of(*t, weights)).collect::<Vec<_>>();
    let figures = Figures {
        targets: lengths(&compared.observed, &compared.weights),
        held_out: if compared.held_out.is_empty() { vec![] } else { lengths(&compared.held_out, &[]) },
        known: compared.known,
        one_error: likelihood::one_error(&compared.weights).filter(|_| compared.known),
        spent: compared.spent,
        likely: compared.likely.take(),
    };
    let poor = |columns: &[likelihood::Column], how: (f64, bool)| {
        poor::remarks(&compared.each(&compared.observed), columns, &compared.weights, compared.axis.as_ref(), how)
    };
    let mut fit = told(layout, ended, figures, &poor, sure);
    let Compared { observed, predicted, axis, .. } = compared;
    (fit.observed, fit.predicted, fit.axis) = (observed, predicted, axis);
    fit
}

/// What the message says of a minimum that leaves nothing to explain.
pub(crate) const NOISE: &str = "leaves nothing but noise";

/// How many of the free numbers were not spent, as they say no more than others. Of nets as many were counted as the data determine.
fn surplus(layout: &Layout, undetermined: &[Undetermined]) -> f64 {
    if layout.weights() > 0 { 0.0 } else { identify::surplus(undetermined) as f64 }
}

/// Everything there is to say. `poor`: what is poor about the figures of columns; how many numbers were spent, and whether the loss is
/// robust.
pub(crate) fn told(layout: &Layout, ended: Ended, figures: Figures, poor: &poor::Judge<'_>, sure: Sure) -> Fit {
    let Sure { uncertainty, undetermined } = sure;
    let Ended { theta, cost, squares, end, tried, agreed, failed, better_elsewhere, warnings: more, noise, twins } = ended;
    let Figures { targets, held_out, known, one_error, spent, likely } = figures;
    let spent = spent - surplus(layout, &undetermined);
    let by_likelihood = likely.is_some();
    let (columns, joint) = likelihood::columns(&targets);
    let (rmse, r2) = joint.unwrap_or((f64::NAN, f64::NAN));
    let mut likelihood = likelihood::likelihood(&targets, known, spent);
    if !squares {
        likelihood.loglik = f64::NAN;
    }
    let errors = match squares && !by_likelihood {
        true if known => vec![one_error; targets.len()],
        true => likelihood::deviations(&targets, spent),
        false => vec![None; targets.len()],
    };
    let (holdout_columns, holdout) = likelihood::columns(&held_out);
    let names = &layout.names[..layout.parameters];
    let mut warnings = outcome::open_combinations(&undetermined);
    for (j, c) in uncertainty.certainty.iter().enumerate() {
        if *c == Certainty::AtBound {
            let held = layout.bounds.min[j] == layout.bounds.max[j];
            let others = !held && uncertainty.certainty.iter().any(|c| matches!(c, Certainty::Error(_)));
            let only = if others { ": the standard errors, intervals and bands of the others hold only if it is exactly that" } else { "" };
            warnings.push(format!("`{}` ended at its bound {}{only}", names[j], theta[j]));
        }
    }
    warnings.extend(columns.iter().filter(|c| c.r2.is_nan()).map(|c| match c.n {
        0 => format!("no value of `{}` is seen, so there is no R2", c.name),
        _ => format!("the data to explain, `{}`, are constant", c.name),
    }));
    let judged = !by_likelihood && columns.iter().any(|c| !c.r2.is_nan());
    let said = if noise && tried == 1 || by_likelihood { poor::Remarks::default() } else { poor(&columns, (spent, !squares)) };
    // Errors that were given say themselves how much is left unexplained.
    let chi_square_judges = known && squares && !by_likelihood;
    let (mut poor, little) = if chi_square_judges { (vec![], said.little) } else { (said.little, vec![]) };
    poor.extend(said.alike);
    if chi_square_judges {
        poor.extend(poor::given_errors(cost, likelihood.n, spent));
    }
    let message = match end {
        End::Converged if !poor.is_empty() => "a minimum was reached, but the model does not describe the data well",
        End::Converged if noise && tried == 1 => "a minimum was reached that leaves nothing but noise, so no other start was followed",
        // However few starts end here, what they could find beside it is no better.
        End::Converged if noise => "a minimum was reached that leaves nothing but noise",
        End::Converged if by_likelihood => MAXIMUM,
        End::Converged => "a minimum was reached",
        End::Evaluations => "stopped after as many evaluations as allowed, before a minimum was reached",
        End::Cancelled => "stopped on request; these are the best values so far",
        End::Wall => "stopped before values at which the model cannot be computed: this is no minimum",
        End::HeldOut => "training stopped where the rows held out were explained best",
    };
    let describes_data = judged.then_some(poor.is_empty());
    warnings.extend(poor.into_iter().chain(little));
    warnings.extend(more);
    let mut fit = Fit {
        parameters: outcome::parameters(names, &theta[..layout.parameters], &uncertainty),
        values: layout.fitted(&theta),
        weights: layout.weights(),
        cost,
        rmse,
        r2,
        columns,
        noise: likely.unwrap_or_default(),
        observations: likelihood.n,
        likelihood,
        log_prior: None,
        effects: vec![],
        effect_method: EffectMethod::default(),
        method: None,
        converged: matches!(end, End::Converged | End::HeldOut),
        describes_data,
        chi_square: None,
        exact: false,
        message: message.into(),
        warnings,
        tried,
        agreed,
        twins,
        failed,
        better_elsewhere,
        errors,
        standard: vec![],
        diagnostics: vec![],
        bootstrap: None,
        targets: targets.iter().map(|t| t.name.clone()).collect(),
        observed: vec![],
        predicted: vec![],
        axis: None,
        clock: None,
        holdout,
        holdout_columns,
        check: None,
        streamed: None,
        uncertainty,
        undetermined,
        bounds: (0..layout.parameters).map(|j| (layout.bounds.min[j], layout.bounds.max[j])).collect(),
        fixed: vec![],
        random: vec![],
    };
    // Weights of nets are penalised: what they leave says nothing of errors.
    if !by_likelihood && !known && layout.weights() == 0 {
        exact::tell(&mut fit, &targets);
    }
    fit
}

/// A layout with standard deviations that are estimated behind its numbers. `of`: for each target that has one, its number, the name of the
/// column and where to start.
pub(crate) fn with_sigmas(layout: &Layout, of: &[Option<(usize, String, f64)>], count: usize) -> Layout {
    let mut all = layout.clone();
    for k in 0..count {
        let own: Vec<&(usize, String, f64)> = of.iter().flatten().filter(|o| o.0 == k).collect();
        // Of a vector whose numbers share it, by the name of all.
        let name = match &own[..] {
            [one] => one.1.clone(),
            many => many.first().map_or(String::new(), |o| o.1.split('[').next().unwrap_or("").to_string()),
        };
        let start = own.iter().map(|o| o.2).fold(0.0, f64::max);
        all.names.push(format!("sigma[{name}]"));
        all.start.push(if start > 0.0 { start } else { 1.0 });
        all.bounds.min.push(0.0);
        all.bounds.max.push(f64::INFINITY);
        all.parameters += 1;
    }
    all
}

/// The uncertainty of more parameters than pairs of them can be told of.
fn of_many(layout: &Layout, maximum: &Maximum, observations: usize) -> Uncertainty {
    let theta = &maximum.found.best.theta;
    let errors = likely_fit::errors(theta, &layout.bounds, &maximum.information);
    let at_bound = |j: usize| theta[j] <= layout.bounds.min[j] || theta[j] >= layout.bounds.max[j];
    let one = |(j, e): (usize, &Option<f64>)| match e {
        Some(e) => Certainty::Error(*e),
        None if at_bound(j) => Certainty::AtBound,
        None => Certainty::Unidentified,
    };
    let certainty = errors.iter().enumerate().map(one).collect();
    let reach = student::NORMAL;
    Uncertainty {
        certainty,
        covariance: vec![],
        determined: vec![],
        open: vec![],
        freedom: observations.saturating_sub(theta.len()),
        variance: 1.0,
        reach,
        rise: reach * reach,
    }
}

/// Says of a fit that leaves no errors that these are not to be estimated, nor anything that is told by them. `undeclared`: nobody said
/// that there are any, so that what was looked for is the least sum of squares, and this is it.
pub(crate) fn met_exactly(fit: &mut Fit, undeclared: bool) {
    let names: Vec<String> = fit.parameters.iter().map(|p| p.name.clone()).collect();
    let values: Vec<f64> = fit.parameters.iter().map(|p| p.value).collect();
    fit.uncertainty = Uncertainty::without(Certainty::Met, names.len());
    fit.parameters = outcome::parameters(&names, &values, &fit.uncertainty);
    fit.exact = true;
    fit.converged = undeclared;
    fit.message = if undeclared { exact::MET } else { MET_WITHOUT_END }.into();
}

const MET_WITHOUT_END: &str = "the model meets the data exactly: the likelihood has no maximum, it rises without end as the errors go to 0";

/// Everything there is to say of a maximum of a likelihood. `undeclared`: so many standard deviations that nobody declared, none else.
pub(crate) fn likely(
    layout: &Layout,
    problem: &Joint<'_>,
    maximum: &Maximum,
    compared: Compared,
    (precision, undeclared): (f64, Option<usize>),
    options: &Options<'_>,
) -> Result<Fit, Diagnostics> {
    let parts = problem.parts(&maximum.found.best.theta).map_err(|e| crate::fit::wrong("no-prediction", e.0))?;
    let numbers = Numbers(problem);
    let profile = options.profile.then_some((options, undeclared));
    let mut fit = likely_of(layout, (problem, Some(&numbers)), maximum, compared, (problem.observations(), precision), profile)?;
    fit.likelihood.loglik = parts.0;
    fit.log_prior = problem.has_priors().then_some(parts.1);
    with_priors(problem, &mut fit);
    Ok(fit)
}

/// The linear model of residuals.
fn linear_of(problem: &dyn Residuals, theta: &[f64]) -> Option<Linear> {
    let m = problem.count();
    let (mut values, mut derivatives) = (vec![0.0; m], vec![0.0; m * theta.len()]);
    problem.evaluate(theta, &mut values, Some(&mut derivatives)).ok()?;
    Some(Linear::new(values, derivatives))
}

/// What the data determine in place of what is open, tried on the numbers that predict where these are to be had.
fn determined(layout: &Layout, best: &Local, uncertainty: &Uncertainty, numbers: Option<&dyn Residuals>) -> Vec<Undetermined> {
    let moving = numbers.filter(|_| !uncertainty.open.is_empty()).and_then(|numbers| Some((numbers, linear_of(numbers, &best.theta)?)));
    match moving {
        Some((numbers, linear)) => identify::determined(&layout.names, &best.theta, &linear, uncertainty, Some(numbers)),
        None => identify::determined(&layout.names, &best.theta, &best.linear, uncertainty, None),
    }
}

/// What is largest with priors is no likelihood.
pub(crate) fn with_priors(problem: &Joint<'_>, fit: &mut Fit) {
    if problem.has_priors() && fit.message == MAXIMUM {
        fit.message = "a maximum of the posterior density, likelihood times priors, was reached".into();
    }
}

const MAXIMUM: &str = "a maximum of the likelihood was reached";

/// The same but for the likelihood itself. `numbers`: what predicts, where it is to be had; `profile`: with intervals by it.
pub(crate) fn likely_of(
    layout: &Layout,
    (problem, numbers): (&dyn Residuals, Option<&dyn Residuals>),
    maximum: &Maximum,
    compared: Compared,
    (n, precision): (usize, f64),
    profile: Option<(&Options<'_>, Option<usize>)>,
) -> Result<Fit, Diagnostics> {
    let best = &maximum.found.best;
    let many = best.theta.len() > likely_fit::MANY;
    // What runs off, and a standard deviation of 0, which is one to either side, are held where they are.
    let mut held = layout.clone();
    let at_zero = maximum.zeros.iter().copied();
    for j in maximum.runaways.iter().map(|r| r.0).chain(at_zero) {
        (held.bounds.min[j], held.bounds.max[j]) = (best.theta[j], best.theta[j]);
    }
    let of = |held: &Layout| certainty(held, best, Loss::Squares, true, n, precision);
    let mut uncertainty = if many { of_many(&held, maximum, n) } else { of(&held) };
    let mut lost = Vec::new();
    if let Some((numbers, linear)) = numbers.filter(|_| !many).and_then(|numbers| Some((numbers, linear_of(numbers, &best.theta)?))) {
        let certainty = &uncertainty.certainty[..layout.parameters];
        lost = lost::on_plateau(numbers, &best.theta, &linear, &held.bounds, certainty);
        if !maximum.runaways.is_empty() {
            lost.extend(lost::beside_runaways(problem, (&best.theta, best.cost), &layout.start, certainty));
            lost.sort_unstable();
            lost.dedup();
        }
        if !lost.is_empty() {
            uncertainty = without(&lost, &held, &best.theta, of);
        }
    }
    maximum.runaways.iter().for_each(|r| uncertainty.certainty[r.0] = Certainty::Endless);
    let mut undetermined = if many { vec![] } else { determined(layout, best, &uncertainty, numbers) };
    for (open, found) in uncertainty.open.iter().zip(&mut undetermined) {
        found.elsewhere |= matches!(open.parameters[..], [only] if lost.contains(&only));
    }
    let k = compared.spent - surplus(layout, &undetermined);
    let ended = Ended::of_maximum(&maximum.found, &layout.names);
    let mut fit = summarise(layout, ended, compared, Sure { uncertainty, undetermined });
    fit.likelihood = likelihood::Likelihood { loglik: f64::NAN, k, sigmas: 0, n, declared: true };
    fit.observations = n;
    let base = |name: &str| name.split('[').next().unwrap_or(name).to_string();
    let sigma = |name: &String| fit.parameter(&format!("sigma[{name}]")).or_else(|| fit.parameter(&format!("sigma[{}]", base(name))));
    fit.errors = fit.targets.iter().map(|name| sigma(name).map(|p| p.value)).collect();
    if !maximum.runaways.is_empty() {
        fit.converged = false;
        let words = likely_fit::endless::words(&layout.names, &maximum.runaways);
        fit.message = format!("the likelihood has no maximum: it rises, ever more slowly, as {words} without end");
    } else if !maximum.peaked && fit.converged {
        fit.converged = false;
        fit.message = "stopped where the likelihood has no maximum: it still rises in some direction".into();
    }
    if let Some((options, undeclared)) = profile.filter(|_| fit.converged) {
        if problem.groups().is_some() {
            fit.warnings.push("there are no profiles of constants that differ between groups".into());
        } else {
            let tell = options.telling_of_profiles(fit.cost);
            if let Some(deviations) = undeclared {
                fit.uncertainty.rise = freedom::rise(n, fit.uncertainty.freedom + deviations);
            }
            let ends = profile::intervals(problem, best, &layout.bounds, Loss::Squares, &fit.uncertainty, &tell);
            fit.warnings.extend(profile::unfollowed(&layout.names, &ends));
            fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
        }
    }
    Ok(fit)
}
