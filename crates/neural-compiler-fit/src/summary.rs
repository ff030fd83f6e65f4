//! Numbers and words about a minimum. In: where a fit ended, data and predictions; out: a [`Fit`].

use crate::layout::Layout;
use crate::least::linear::Linear;
use crate::least::lm::{End, Local};
use crate::least::loss::Loss;
use crate::least::search::Found;
use crate::least::{all_finite, dot, sum_of, weigh};
use crate::report::{self, Axis, Fit};
use crate::uncertainty::{self, Certainty, Uncertainty};

/// Data and predictions of a finished fit, a number per row of the table for each target.
pub(crate) struct Compared {
    pub(crate) targets: Vec<String>,
    /// NaN where nothing was compared.
    pub(crate) observed: Vec<f64>,
    pub(crate) predicted: Vec<f64>,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    pub(crate) axis: Option<Axis>,
    /// Numbers the fit had to spend: parameters, and as many weights as the data determine.
    pub(crate) spent: f64,
}

/// Root mean squared error and R2, each target around its own mean; pairs without a number are left out.
pub(crate) fn quality(targets: usize, observed: &[f64], predicted: &[f64]) -> (f64, f64) {
    let (mut count, mut squares, mut variation) = (0.0, 0.0, 0.0);
    let per = (observed.len() / targets.max(1)).max(1);
    for (o, p) in observed.chunks(per).zip(predicted.chunks(per)) {
        let there: Option<(Vec<f64>, Vec<f64>)> =
            (!all_finite(o) || !all_finite(p)).then(|| o.iter().zip(p).filter(|(o, p)| o.is_finite() && p.is_finite()).unzip());
        let (o, p) = there.as_ref().map_or((o, p), |(o, p)| (o, p));
        let mean = sum_of(o, o, |o, _| o) / o.len() as f64;
        count += o.len() as f64;
        squares += sum_of(o, p, |o, p| (o - p) * (o - p));
        variation += sum_of(o, o, |o, _| (o - mean) * (o - mean));
    }
    ((squares / count).sqrt(), if variation > 0.0 { 1.0 - squares / variation } else { f64::NAN })
}

/// The uncertainty at a minimum; with a robust loss, of the residuals as they count there.
pub(crate) fn certainty(layout: &Layout, best: &Local, loss: Loss, known: bool) -> Uncertainty {
    if best.end == End::Wall {
        return Uncertainty::without(Certainty::NoMinimum, best.theta.len());
    }
    if loss == Loss::Squares {
        return uncertainty::at_minimum(&best.theta, &best.linear, &layout.bounds, best.cost, best.linear.residuals.len(), known);
    }
    let (mut residuals, mut jacobian) = best.linear.clone().into_parts();
    let roots: Vec<f64> = residuals.iter().map(|r| loss.weight(*r).sqrt()).collect();
    weigh(&mut residuals, &roots);
    weigh(&mut jacobian, &roots);
    let (sum, count) = (dot(&residuals, &residuals), residuals.len());
    uncertainty::at_minimum(&best.theta, &Linear::new(residuals, jacobian), &layout.bounds, sum, count, known)
}

/// Where a fit ended, however it got there.
pub(crate) struct Ended {
    /// All free numbers, weights included.
    pub(crate) theta: Vec<f64>,
    /// Cost, and the sum of squared residuals, which is the same unless the loss is robust.
    pub(crate) cost: f64,
    pub(crate) sum: f64,
    pub(crate) end: End,
    pub(crate) tried: usize,
    pub(crate) agreed: usize,
    pub(crate) warnings: Vec<String>,
    /// Whether nothing but noise is left, so that no other start was followed.
    pub(crate) noise: bool,
}

impl Ended {
    /// The end of a global search.
    pub(crate) fn of(found: &Found) -> Ended {
        let Local { theta, linear, cost, end, .. } = &found.best;
        let sum = dot(&linear.residuals, &linear.residuals);
        let mut warnings = Vec::new();
        match found.own {
            Some(own) if own > *cost => warnings.push(format!("the given start leads to another minimum of cost {own:.6e}; a better one was found")),
            _ => {}
        }
        if let Some(wall) = &found.best.wall {
            warnings.push(format!("the data ask for values beyond these, but there {}", wall.0));
        }
        if let Some(other) = found.tie {
            warnings.push(format!(
                "another minimum explains the data nearly as well (cost {other:.6e}, here {cost:.6e}); this one was kept because the given start leads to it"
            ));
        }
        Ended { theta: theta.clone(), cost: *cost, sum, end: *end, tried: found.tried, agreed: found.agreed, warnings, noise: found.noise }
    }
}

/// Everything there is to say.
pub(crate) fn summarise(layout: &Layout, ended: Ended, compared: Compared, uncertainty: Uncertainty) -> Fit {
    let Ended { theta, cost, sum, end, tried, agreed, warnings: more, noise } = ended;
    let (rmse, r2) = quality(compared.targets.len(), &compared.observed, &compared.predicted);
    let missing = if all_finite(&compared.observed) { 0 } else { compared.observed.iter().filter(|x| !x.is_finite()).count() };
    let observations = compared.observed.len() - missing;
    let n = observations as f64;
    let k = compared.spent + if compared.known { 0.0 } else { 1.0 };
    let deviance = if compared.known { sum } else { n * (sum / n).ln() };
    let names = &layout.names[..layout.parameters];
    let mut warnings = report::open_combinations(names, &uncertainty);
    for (j, c) in uncertainty.certainty.iter().enumerate() {
        if *c == Certainty::AtBound {
            warnings.push(format!("`{}` ended at its bound {}", names[j], theta[j]));
        }
    }
    if r2.is_nan() {
        warnings.push("the data to explain are constant".into());
    }
    warnings.extend(more);
    let message = match end {
        End::Converged if noise => "a minimum was reached that leaves nothing but noise, so no other start was followed",
        End::Converged => "a minimum was reached",
        End::Evaluations => "stopped after as many evaluations as allowed, before a minimum was reached",
        End::Cancelled => "stopped on request; these are the best values so far",
        End::Wall => "stopped before values at which the model cannot be computed: this is no minimum",
        End::HeldOut => "training stopped where the rows held out were explained best",
    };
    Fit {
        parameters: report::parameters(names, &theta[..layout.parameters], &uncertainty),
        values: layout.fitted(&theta),
        weights: layout.weights(),
        cost,
        rmse,
        r2,
        aic: deviance + 2.0 * k,
        bic: deviance + n.ln() * k,
        observations,
        converged: matches!(end, End::Converged | End::HeldOut),
        message: message.into(),
        warnings,
        tried,
        agreed,
        targets: compared.targets,
        observed: compared.observed,
        predicted: compared.predicted,
        axis: compared.axis,
        clock: None,
        holdout: None,
        check: None,
        uncertainty,
    }
}
