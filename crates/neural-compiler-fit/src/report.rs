//! The outcome of a fit, as data. Rendering belongs to the faces.

use crate::dynamics::clock::Clock;
use crate::layout::Values;
use crate::uncertainty::{Certainty, Uncertainty};

/// A fitted number.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name: `k`, `w[0]`, `m[0,1]`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error; `None` when the data give none (see `note`).
    pub stderr: Option<f64>,
    /// Its 95 % confidence interval.
    pub ci95: Option<(f64, f64)>,
    /// Its interval by profile likelihood, where asked for; an open end is infinite.
    pub profile: Option<(f64, f64)>,
    /// Why there is no standard error.
    pub note: Option<String>,
}

/// What the rows lie along: the time of a model with states, the only input of an algebraic one.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// The column of times or of the input, or `step` for a map without times.
    pub name: String,
    /// Its number in each row of the table.
    pub values: Vec<f64>,
    /// The trajectory of each row, counted from 0; none where there is but one.
    pub trajectory: Vec<usize>,
}

/// A finished fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The free parameters, in the order of their declarations.
    pub parameters: Vec<Parameter>,
    /// The values of the inputs they are the numbers of, and those of the weights of nets: name, shape, numbers. As
    /// [`Options::values`](crate::Options) they make [`predict`](crate::predict) use the fitted model.
    pub values: Values,
    /// Weights of nets that were trained; they are among `values`, not among `parameters`.
    pub weights: usize,
    /// Their covariance and what is open.
    pub uncertainty: Uncertainty,
    /// The sum of squared weighted residuals, or the robust cost.
    pub cost: f64,
    /// Root of the mean squared residual, in the unit of the data.
    pub rmse: f64,
    /// Share of the variance of the data the model explains.
    pub r2: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// The Bayesian criterion.
    pub bic: f64,
    /// Numbers compared.
    pub observations: usize,
    /// Whether a minimum was reached.
    pub converged: bool,
    /// How it ended, in a sentence.
    pub message: String,
    /// What the user should know besides.
    pub warnings: Vec<String>,
    /// Starts followed.
    pub tried: usize,
    /// Starts that ended at the same minimum.
    pub agreed: usize,
    /// Names of the columns explained.
    pub targets: Vec<String>,
    /// Data, target by target, a number per row of the table; NaN where there is none or it was held out.
    pub observed: Vec<f64>,
    /// Predictions in the same order, for every row.
    pub predicted: Vec<f64>,
    /// What the rows lie along, where it is one thing.
    pub axis: Option<Axis>,
    /// When the starts of a model with states hold.
    pub clock: Option<Clock>,
    /// Root mean squared error and R2 on rows held out, if any were.
    pub holdout: Option<(f64, f64)>,
    /// The solution of a model with states, computed again with more care.
    pub check: Option<Check>,
}

/// What becomes of a fit when the differential equation is solved more accurately.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Check {
    /// How: by a relative tolerance this tight, or with fixed steps this long.
    pub by: Finer,
    /// By how many of its standard errors the parameter that moves most does.
    pub shift: f64,
    /// By what share of its value the parameter that moves most does.
    pub share: f64,
    /// By what share the standard error that changes most does.
    pub error: f64,
    /// Whether every digit that a report shows stays as it is.
    pub holds: bool,
}

/// How a solution was made more accurate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Finer {
    /// Adaptive steps to this relative tolerance.
    Tolerance(f64),
    /// This many times as many fixed steps.
    Steps(usize),
}

impl Check {
    /// In a sentence.
    pub fn sentence(&self) -> String {
        let how = match self.by {
            Finer::Tolerance(t) => format!("solved again to a relative tolerance of {t:.0e}"),
            Finer::Steps(times) => format!("solved again with {times} times as many steps"),
        };
        if self.holds {
            return format!("{how}, the values keep every digit shown");
        }
        if !self.share.is_finite() {
            return format!("{how}, nothing comes out at these values: do not trust them");
        }
        let (value, shift, error) = (self.share, self.shift, self.error);
        format!("{how}, a value changes by {value:.1e} of itself ({shift:.1e} standard errors), a standard error by {error:.1e} of itself")
    }
}

impl Fit {
    /// A parameter by name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }
}

/// Names, values and certainties as parameters.
pub(crate) fn parameters(names: &[String], theta: &[f64], uncertainty: &Uncertainty) -> Vec<Parameter> {
    let one = |(j, (name, &value)): (usize, (&String, &f64))| {
        let (stderr, note) = match uncertainty.certainty[j] {
            Certainty::Error(e) => (Some(e), None),
            Certainty::AtBound => (None, Some("at its bound".to_string())),
            Certainty::Unidentified => (None, Some("not determined by the data".to_string())),
            Certainty::Unknown => (None, Some("not computed: too many weights".to_string())),
            Certainty::NoMinimum => (None, Some("no minimum was reached".to_string())),
        };
        let ci95 = stderr.filter(|_| uncertainty.reach.is_finite()).map(|e| (value - uncertainty.reach * e, value + uncertainty.reach * e));
        Parameter { name: name.clone(), value, stderr, ci95, profile: None, note }
    };
    names.iter().zip(theta).enumerate().map(one).collect()
}

/// What is open, in words.
pub(crate) fn open_combinations(names: &[String], uncertainty: &Uncertainty) -> Vec<String> {
    let words = |open: &crate::uncertainty::Open| match &open.shares[..] {
        [(only, _)] => format!("`{}` has no influence on the predictions: the data do not determine it", names[*only]),
        many => {
            let list = many.iter().map(|(j, _)| format!("`{}`", names[*j])).collect::<Vec<_>>().join(", ");
            let moves = many.iter().map(|(j, share)| format!("{} by {share:+.3} %", names[*j])).collect::<Vec<_>>().join(", ");
            format!("only a combination of {list} is determined: changing {moves} together leaves the predictions as they are")
        }
    };
    uncertainty.open.iter().map(words).collect()
}
