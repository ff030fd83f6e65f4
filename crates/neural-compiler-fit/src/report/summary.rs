//! Numbers and words about a minimum. In: where a fit ended, data and predictions; out: a [`Fit`].

use crate::likelihood::{self as likely_fit, Joint, Maximum};
use crate::model::layout::Layout;
use crate::optimise::Residuals;
use crate::optimise::linear::Linear;
use crate::optimise::lm::{End, Local};
use crate::optimise::loss::Loss;
use crate::optimise::search::Found;
use crate::options::Options;
use crate::report::{Axis, Fit, Noise, outcome};
use crate::statistics::identify::{self, Undetermined};
use crate::statistics::likelihood::{self, Target};
use crate::statistics::smooth::{self, Influence};
use crate::statistics::uncertainty::{self, Certainty, Open, Uncertainty};
use crate::statistics::{freedom, poor, profile};
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
    if best.end == End::Wall {
        return Uncertainty::without(Certainty::NoMinimum, best.theta.len());
    }
    let (pulls, variance) = uncertainty::counted(&best.linear, loss, known);
    let robust = (loss != Loss::Squares).then(|| Linear::new(pulls, best.linear.jacobian.clone()));
    let linear = robust.as_ref().unwrap_or(&best.linear);
    let found = match best.end {
        End::Evaluations | End::Cancelled => uncertainty::short_of_minimum,
        End::Converged | End::HeldOut | End::Wall => uncertainty::at_minimum,
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
        let Local { theta, end, .. } = &found.best;
        let cost = unit * found.best.cost;
        let mut warnings = Vec::new();
        match found.own.map(|own| unit * own) {
            Some(own) if own > cost => {
                warnings.push(format!("the given start leads to another minimum of cost {own:.6e}; a better one was found"))
            }
            _ => {}
        }
        if let Some(wall) = &found.best.wall {
            warnings.push(format!("the data ask for values beyond these, but there {}", wall.0));
        }
        if let Some(other) = found.tie.map(|tie| unit * tie) {
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
    pub(crate) problem: &'a dyn Residuals,
    pub(crate) best: &'a Local,
    pub(crate) loss: Loss,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    /// How many of the residuals are data that count.
    pub(crate) observations: usize,
    /// The share of the largest singular value below which those of the derivatives are errors.
    pub(crate) precision: f64,
}

impl Minimum<'_> {
    /// How sure the fit is; an error where the predictions depend on a parameter in steps.
    pub(crate) fn certainty(&self, layout: &Layout) -> Result<Sure, Diagnostics> {
        let Local { theta, linear, .. } = self.best;
        let influences = smooth::influences(self.problem, theta, &layout.start, linear, &layout.bounds, layout.parameters);
        smooth::check(&layout.names, &influences)?;
        let (uncertainty, strays) = self.without_strays(layout);
        let mut undetermined = identify::determined(&layout.names, theta, linear, &uncertainty, Some(self.problem));
        for (open, found) in uncertainty.open.iter().zip(&mut undetermined) {
            let lies_elsewhere = |j: usize| strays.contains(&j) || influences.contains(&(j, Influence::Elsewhere));
            found.elsewhere = matches!(open.parameters[..], [only] if lies_elsewhere(only));
        }
        Ok(Sure { uncertainty, undetermined })
    }

    /// The uncertainty, parameters that ran off being held where they are: what they still do there is lost in that of the others.
    fn without_strays(&self, layout: &Layout) -> (Uncertainty, Vec<usize>) {
        let of = |layout: &Layout| certainty(layout, self.best, self.loss, self.known, self.observations, self.precision);
        let mut found = of(layout);
        let theta = &self.best.theta;
        let ran_off = |j: usize| {
            let begun = layout.start[j].abs();
            begun > 0.0 && theta[j].abs() > FAR_OFF * begun && matches!(found.certainty[j], Certainty::Error(e) if e > theta[j].abs())
        };
        let strays: Vec<usize> = (0..layout.parameters).filter(|&j| ran_off(j)).collect();
        if strays.is_empty() {
            return (found, strays);
        }
        let mut held = layout.clone();
        strays.iter().for_each(|&j| (held.bounds.min[j], held.bounds.max[j]) = (theta[j], theta[j]));
        found = of(&held);
        for &j in &strays {
            found.certainty[j] = Certainty::Unidentified;
            found.open.push(Open { parameters: vec![j], ways: vec![vec![1.0]] });
        }
        (found, strays)
    }
}

/// Starts that make one which ended alone doubtful.
const MANY: usize = 9;

/// How many times its start a parameter is that ran off, if its error is larger still.
const FAR_OFF: f64 = 1e4;

/// Everything there is to say.
pub(crate) fn summarise(layout: &Layout, ended: Ended, compared: Compared, sure: Sure) -> Fit {
    let Sure { uncertainty, undetermined } = sure;
    let Ended { theta, cost, squares, end, tried, agreed, failed, better_elsewhere, warnings: more, noise, twins } = ended;
    let targets = compared.each(&compared.observed);
    let by_likelihood = compared.likely.is_some();
    let (columns, joint) = likelihood::columns(&targets, &compared.weights);
    let (rmse, r2) = joint.unwrap_or((f64::NAN, f64::NAN));
    let mut likelihood = likelihood::likelihood(&targets, &compared.weights, compared.known, compared.spent);
    if !squares {
        likelihood.loglik = f64::NAN;
    }
    let errors = match squares && !by_likelihood {
        true => likelihood::deviations(&targets, &compared.weights, compared.known, compared.spent),
        false => vec![None; targets.len()],
    };
    let (holdout_columns, holdout) = match compared.held_out.is_empty() {
        true => (vec![], None),
        false => likelihood::columns(&compared.each(&compared.held_out), &[]),
    };
    let names = &layout.names[..layout.parameters];
    let mut warnings = outcome::open_combinations(&undetermined);
    for (j, c) in uncertainty.certainty.iter().enumerate() {
        if *c == Certainty::AtBound {
            warnings.push(format!("`{}` ended at its bound {}", names[j], theta[j]));
        }
    }
    warnings.extend(columns.iter().filter(|c| c.r2.is_nan()).map(|c| match c.n {
        0 => format!("no value of `{}` is seen, so there is no R2", c.name),
        _ => format!("the data to explain, `{}`, are constant", c.name),
    }));
    let mut poor = if noise && tried == 1 || by_likelihood {
        vec![]
    } else {
        poor::remarks(&targets, &columns, &compared.weights, compared.axis.as_ref(), !squares)
    };
    if compared.known && squares && !by_likelihood {
        poor.extend(poor::given_errors(cost, likelihood.n, compared.spent));
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
    warnings.extend(poor);
    warnings.extend(more);
    Fit {
        parameters: outcome::parameters(names, &theta[..layout.parameters], &uncertainty),
        values: layout.fitted(&theta),
        weights: layout.weights(),
        cost,
        rmse,
        r2,
        columns,
        noise: compared.likely.unwrap_or_default(),
        observations: likelihood.n,
        likelihood,
        log_prior: None,
        effects: vec![],
        converged: matches!(end, End::Converged | End::HeldOut),
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
        targets: compared.targets,
        observed: compared.observed,
        predicted: compared.predicted,
        axis: compared.axis,
        clock: None,
        holdout,
        holdout_columns,
        check: None,
        uncertainty,
        undetermined,
    }
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
    let reach = 1.959_963_984_540_054;
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

/// Says of a fit that leaves no errors that these are not to be estimated, nor anything that is told by them.
pub(crate) fn met_exactly(fit: &mut Fit) {
    let names: Vec<String> = fit.parameters.iter().map(|p| p.name.clone()).collect();
    let values: Vec<f64> = fit.parameters.iter().map(|p| p.value).collect();
    fit.uncertainty = Uncertainty::without(Certainty::NoMinimum, names.len());
    fit.parameters = outcome::parameters(&names, &values, &fit.uncertainty);
    fit.converged = false;
    fit.message = "the model meets the data exactly: the likelihood has no maximum, it rises without end as the errors go to 0".into();
}

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
    let mut fit = likely_of(
        layout,
        problem,
        maximum,
        compared,
        (problem.observations(), precision),
        options.profile.then_some((options, undeclared)),
    )?;
    fit.likelihood.loglik = parts.0;
    fit.log_prior = problem.has_priors().then_some(parts.1);
    with_priors(problem, &mut fit);
    Ok(fit)
}

/// What is largest with priors is no likelihood.
pub(crate) fn with_priors(problem: &Joint<'_>, fit: &mut Fit) {
    if problem.has_priors() && fit.message == MAXIMUM {
        fit.message = "a maximum of the posterior density, likelihood times priors, was reached".into();
    }
}

const MAXIMUM: &str = "a maximum of the likelihood was reached";

/// The same but for the likelihood itself. `profile`: with intervals by it.
pub(crate) fn likely_of(
    layout: &Layout,
    problem: &dyn Residuals,
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
    let mut uncertainty = match many {
        false => certainty(&held, best, Loss::Squares, true, n, precision),
        true => of_many(&held, maximum, n),
    };
    maximum.runaways.iter().for_each(|r| uncertainty.certainty[r.0] = Certainty::Endless);
    let undetermined = if many { vec![] } else { identify::determined(&layout.names, &best.theta, &best.linear, &uncertainty, None) };
    let k = compared.spent;
    let ended = Ended::of(&maximum.found, &layout.names, Loss::Squares, 1.0);
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
            fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
        }
    }
    Ok(fit)
}
