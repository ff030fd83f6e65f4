//! The outcome of a fit, as data. Rendering belongs to the faces.

use crate::bootstrap::Bootstrap;
use crate::dynamics::clock::Clock;
use crate::model::layout::Values;
use crate::options::EffectMethod;
use crate::report::text::shown;
use crate::statistics::diagnostics::Diagnostics;
use crate::statistics::identify::{Combination, Undetermined};
use crate::statistics::likelihood::{Column, Likelihood};
use crate::statistics::profile;
use crate::statistics::uncertainty::{Certainty, Uncertainty};

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
    /// Its standard error and 95 % interval by bootstrap, where asked for.
    pub bootstrap: Option<(f64, (f64, f64))>,
    /// Why there is no standard error.
    pub note: Option<String>,
}

/// What was assumed of the errors of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct Noise {
    /// The column.
    pub column: String,
    /// The distribution, as the model writes it.
    pub words: String,
    /// How many of its values are known from one side only.
    pub censored: usize,
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

/// A constant that is drawn at random for each group.
#[derive(Clone, PartialEq, Debug)]
pub struct Random {
    /// Its name.
    pub effect: String,
    /// The name of its standard deviation.
    pub deviation: String,
    /// The value of that.
    pub value: f64,
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
    /// Parameters the data do not determine one by one, and what they determine instead.
    pub undetermined: Vec<Undetermined>,
    /// The sum of squared weighted residuals, or the robust cost. Of several states whose errors are not known each is divided by the
    /// standard deviation estimated for it, so that the cost is the number of observations: the likelihood tells fits apart.
    pub cost: f64,
    /// Root of the mean squared residual, in the unit of the data; NaN where columns of different states may differ in their units.
    pub rmse: f64,
    /// Share of the variance of the data the model explains; NaN as above, and where the data are constant.
    pub r2: f64,
    /// Both for each column explained.
    pub columns: Vec<Column>,
    /// What was assumed of the errors of each column, where the model or a prior asks for a likelihood; else empty: least squares.
    pub noise: Vec<Noise>,
    /// The logarithm of the prior density at the fitted values, where there are priors: these are then those of the posterior mode.
    pub log_prior: Option<f64>,
    /// The bounds of the parameters, in their order.
    pub bounds: Vec<(f64, f64)>,
    /// Numbers the model declares that were held at a value.
    pub fixed: Vec<(String, f64)>,
    /// What is drawn at random for each group.
    pub random: Vec<Random>,
    /// The most probable values of random effects, by name; they are integrated out of the likelihood and are no parameters.
    pub effects: Vec<(String, f64)>,
    /// How they are.
    pub effect_method: EffectMethod,
    /// The method `auto` went over to after the start, which was cheaper by the other: its name.
    pub method: Option<&'static str>,
    /// How probable the model makes the data, and the criteria that follow from that.
    pub likelihood: Likelihood,
    /// Numbers compared.
    pub observations: usize,
    /// Whether a minimum was reached.
    pub converged: bool,
    /// Whether what is there describes the data, which a minimum need not; `None`: there is no sound judgement, as of `(loglik …)`. The
    /// warnings say why not.
    pub describes_data: Option<bool>,
    /// Of a fit by likelihood whose errors were given: the sum of squares in their units.
    pub chi_square: Option<f64>,
    /// Whether what is left of the data, or of one of several columns, is rounding, so that nothing tells the size of the errors:
    /// `likelihood` is then that of rounding, and no report gives it.
    pub exact: bool,
    /// How it ended, in a sentence.
    pub message: String,
    /// What the user should know besides.
    pub warnings: Vec<String>,
    /// Starts followed.
    pub tried: usize,
    /// Starts that ended at the same minimum.
    pub agreed: usize,
    /// Starts that ended at other values of the same cost.
    pub twins: usize,
    /// Starts at which the model could not be computed.
    pub failed: usize,
    /// Whether a start ended at a cost that is hardly lower, and the user's own was kept.
    pub better_elsewhere: bool,
    /// Names of the columns explained.
    pub targets: Vec<String>,
    /// Data, target by target, a number per row of the table; NaN where there is none or it was held out.
    pub observed: Vec<f64>,
    /// Predictions in the same order, for every row.
    pub predicted: Vec<f64>,
    /// The standard deviation of the errors of each column, where it is one number that is known or estimated.
    pub errors: Vec<Option<f64>>,
    /// Residuals that are standard normal if the model is right, in the order of `observed`; NaN where there is none. Empty: there are too
    /// many rows.
    pub standard: Vec<f64>,
    /// What these show, column by column.
    pub diagnostics: Vec<Diagnostics>,
    /// What was drawn for intervals by bootstrap.
    pub bootstrap: Option<Bootstrap>,
    /// What the rows lie along, where it is one thing.
    pub axis: Option<Axis>,
    /// When the starts of a model with states hold.
    pub clock: Option<Clock>,
    /// Root mean squared error and R2 on rows held out, if any were and all columns have one unit.
    pub holdout: Option<(f64, f64)>,
    /// Both for each column, if rows were held out.
    pub holdout_columns: Vec<Column>,
    /// The solution of a model with states, computed again with more care.
    pub check: Option<Check>,
    /// How the rows were read, where they were not in memory: nothing is then told of single rows.
    pub streamed: Option<Streamed>,
}

/// Rows that were read instead of held in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Streamed {
    /// How many there are, those that do not count included.
    pub rows: usize,
    /// How often they were read.
    pub passes: usize,
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
    /// Whether the data determine the same parameters.
    pub alike: bool,
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
        if shift.is_nan() {
            return format!("{how}, a value changes by {value:.1e} of itself");
        }
        if value == 0.0 && error == 0.0 {
            return format!("{how}, other parameters count as determined: trust neither their values nor their errors");
        }
        format!("{how}, a value changes by {value:.1e} of itself ({shift:.1e} standard errors), a standard error by {error:.1e} of itself")
    }
}

impl Fit {
    /// The sum of squares in units of the given errors over the degrees of freedom: about 1 where the model is right and the errors are.
    /// `None` where they were not given.
    pub fn reduced_chi_square(&self) -> Option<f64> {
        let l = &self.likelihood;
        let freedom = l.n as f64 - l.k;
        if let Some(sum) = self.chi_square {
            return (freedom > 0.0).then(|| sum / freedom);
        }
        (l.sigmas == 0 && !l.declared && !l.loglik.is_nan() && freedom > 0.0).then(|| self.cost / freedom)
    }

    /// What became of the starts, in words: `4 of 4 starts agree`, `1 of 9 starts ends here, 6 elsewhere, 2 cannot be computed`.
    pub fn starts(&self) -> String {
        let Fit { tried, agreed, twins, failed, .. } = *self;
        if agreed == tried {
            return if tried == 1 { "from one start".into() } else { format!("{tried} of {tried} starts agree") };
        }
        let elsewhere = tried.saturating_sub(agreed + twins + failed);
        let (higher, same) = match self.likelihood.declared {
            true => ("at lower likelihood", "at other values of the same likelihood"),
            false => ("at higher cost", "at other values of the same cost"),
        };
        let where_to = if self.better_elsewhere { "elsewhere" } else { higher };
        let others = [(twins, same), (elsewhere, where_to), (failed, "cannot be computed")];
        let list: Vec<String> = others.iter().filter(|o| o.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
        format!("{agreed} of {tried} starts {} here, {}", if agreed == 1 { "ends" } else { "end" }, list.join(", "))
    }

    /// Parameters that ended at a bound, inside which the data would have let them move, beside others that have a standard error.
    pub fn at_bounds(&self) -> Vec<&str> {
        let certainty = &self.uncertainty.certainty;
        if !certainty.iter().any(|c| matches!(c, Certainty::Error(_))) {
            return vec![];
        }
        let held =
            self.parameters.iter().zip(certainty).zip(&self.bounds).filter(|((_, c), (min, max))| **c == Certainty::AtBound && min < max);
        held.map(|((p, _), _)| p.name.as_str()).collect()
    }

    /// Parameters whose profile shows that their standard error misleads.
    pub fn misled(&self) -> Vec<&str> {
        profile::misled(&self.parameters, &self.bounds)
    }

    /// A parameter by name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }

    /// Pairs of parameters whose estimates move together at least so much, the strongest first.
    pub fn strong_correlations(&self, least: f64) -> Vec<(&str, &str, f64)> {
        let pairs = (0..self.parameters.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
        let strong = pairs.filter_map(|(j, i)| self.uncertainty.correlation(i, j).filter(|r| r.abs() >= least).map(|r| (j, i, r)));
        let mut found: Vec<(&str, &str, f64)> = strong.map(|(j, i, r)| (&*self.parameters[j].name, &*self.parameters[i].name, r)).collect();
        found.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
        found
    }
}

/// Names, values and certainties as parameters.
pub(crate) fn parameters(names: &[String], theta: &[f64], uncertainty: &Uncertainty) -> Vec<Parameter> {
    let one = |(j, (name, &value)): (usize, (&String, &f64))| {
        let (stderr, note) = match uncertainty.certainty[j] {
            Certainty::Error(e) => (Some(e), None),
            Certainty::AtBound => (None, Some("at its bound".to_string())),
            Certainty::Unidentified => (None, Some("not determined by the data".to_string())),
            Certainty::NoFreedom => (None, Some("no error: there are as many constants as data".to_string())),
            Certainty::Unknown => (None, Some("not computed: too many weights".to_string())),
            Certainty::Met => (None, Some("nothing is left to tell by".to_string())),
            Certainty::NoMinimum => (None, Some("no minimum was reached".to_string())),
            Certainty::Endless => (None, Some("runs off: the likelihood has no maximum".to_string())),
        };
        let ci95 = stderr.filter(|_| uncertainty.reach.is_finite()).map(|e| (value - uncertainty.reach * e, value + uncertainty.reach * e));
        Parameter { name: name.clone(), value, stderr, ci95, profile: None, bootstrap: None, note }
    };
    names.iter().zip(theta).enumerate().map(one).collect()
}

/// What is open, in words.
pub(crate) fn open_combinations(undetermined: &[Undetermined]) -> Vec<String> {
    let list = |all: &[String], last: &str| match all {
        [] => String::new(),
        [one] => one.clone(),
        [many @ .., end] => format!("{} {last} {end}", many.join(", ")),
    };
    let words = |open: &Undetermined| {
        let names = list(&open.parameters.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>(), "and");
        let combination = |c: &Combination| match c.stderr {
            // As the parameters are.
            Some(e) => format!("`{}` = {} ± {}", c.text, shown(c.value, c.stderr), significant(e, 3)),
            None => format!("`{}` = {}", c.text, significant(c.value, 7)),
        };
        let found = list(&open.determined.iter().map(combination).collect::<Vec<_>>(), "and");
        match (&open.determined[..], open.elsewhere) {
            ([], true) => format!("{names} has no influence on the predictions near these values: the data do not determine it"),
            ([], false) => format!("{names} has no influence on the predictions: the data do not determine it"),
            (some, _) if some.iter().all(|c| c.exact) => format!("the data do not determine {names}, only {found}"),
            _ => format!("the data do not determine {names}; near these values only {found}"),
        }
    };
    undetermined.iter().map(words).collect()
}

/// Whole digits beyond the significant ones that are still written: more would pass for known.
const BEYOND: i32 = 3;

/// A number with so many significant digits.
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let exponent = x.abs().log10().floor() as i32;
    if (-5..15).contains(&exponent) && exponent + 1 - digits as i32 <= BEYOND {
        format!("{x:.*}", (digits as i32 - 1 - exponent).max(0) as usize)
    } else {
        format!("{x:.*e}", digits - 1)
    }
}
