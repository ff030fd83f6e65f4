//! Fits that leave nothing but rounding. In: a fit; out: the same without anything that its residuals would tell: they say nothing of the
//! size of errors, so there are neither standard errors nor a likelihood to compare by.

use crate::model::layout::Layout;
use crate::optimise::lm::Local;
use crate::report::{Fit, outcome};
use crate::statistics::identify::Undetermined;
use crate::statistics::likelihood::Lengths;
use crate::statistics::uncertainty::{Certainty, Open, Uncertainty};

/// Residuals, in parts of the data, that rounding leaves of none.
pub(crate) const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// The same where there are as many constants as data, which met them within what a search tells apart.
const TOLD_APART: f64 = 1e-9;
/// A share of the data below which a constant, moved by its own size, changes nothing that could be told.
const IDLE: f64 = 1e-10;

pub(crate) const MET: &str = "a minimum was reached: the model meets the data exactly, but for rounding";
pub(crate) const MET_BY_MANY: &str = "a minimum was reached: the model meets the data, as one with as many constants as data may";

/// Says of a fit by least squares whose errors are not known what it meets exactly.
pub(crate) fn tell(fit: &mut Fit, targets: &[Lengths]) {
    let met = |share: f64| {
        let one = move |t: &Lengths| t.n > 0 && t.residuals / (t.n as f64).sqrt() <= share * t.largest;
        targets.iter().map(one).collect::<Vec<bool>>()
    };
    let exactly = met(ROUNDING);
    let by_many = fit.converged && fit.uncertainty.freedom == 0 && met(TOLD_APART).iter().all(|m| *m);
    if !by_many && !exactly.contains(&true) {
        return;
    }
    fit.exact = true;
    let none = |k: usize| by_many || exactly.iter().zip(targets).any(|(met, t)| *met && t.scale == targets[k].scale);
    (0..targets.len()).filter(|&k| none(k)).for_each(|k| fit.errors[k] = None);
    if !by_many && exactly.contains(&false) {
        return;
    }
    without_errors(fit);
    if fit.converged {
        fit.message = if by_many { MET_BY_MANY } else { MET }.into();
    }
}

/// Takes the errors of all parameters away that have one.
pub(crate) fn without_errors(fit: &mut Fit) {
    let names: Vec<String> = fit.parameters.iter().map(|p| p.name.clone()).collect();
    let values: Vec<f64> = fit.parameters.iter().map(|p| p.value).collect();
    let sure = &mut fit.uncertainty;
    sure.covariance.fill(f64::NAN);
    sure.determined.fill(f64::NAN);
    (sure.variance, sure.reach, sure.rise) = (f64::NAN, f64::NAN, f64::NAN);
    sure.certainty.iter_mut().filter(|c| matches!(c, Certainty::Error(_))).for_each(|c| *c = Certainty::Met);
    fit.parameters = outcome::parameters(&names, &values, sure);
    fit.undetermined.iter_mut().flat_map(|u| &mut u.determined).for_each(|c| c.stderr = None);
}

/// Says of constants that they are not determined where, of data that are met exactly, a change by their own size changes nothing: they ran
/// off, as the slope of a curve through data that a threshold separates. `size`: that of all data, weighted as the residuals are.
/// Combinations of such constants alone, which `undetermined` has, say nothing either.
pub(crate) fn idle(layout: &Layout, best: &Local, size: f64, sure: &mut Uncertainty, undetermined: &mut Vec<Undetermined>) {
    let Uncertainty { certainty, open, .. } = sure;
    let scale = |j: usize| match best.theta[j].abs().max(layout.start[j].abs()) {
        0.0 => 1.0,
        scale => scale,
    };
    let idle =
        |&j: &usize| matches!(certainty[j], Certainty::Error(_) | Certainty::Unidentified) && best.linear.size(j) * scale(j) <= IDLE * size;
    let all: Vec<usize> = (0..layout.parameters).filter(idle).collect();
    open.retain(|o| o.parameters.iter().any(|j| !all.contains(j)));
    undetermined.retain(|u| u.parameters.iter().any(|name| all.iter().all(|&j| layout.names[j] != *name)));
    for j in all {
        certainty[j] = Certainty::Unidentified;
        open.push(Open { parameters: vec![j], ways: vec![vec![1.0]] });
        undetermined.push(Undetermined { parameters: vec![layout.names[j].clone()], determined: vec![], elsewhere: true });
    }
}
