//! How sure predictions are. In: a program at fitted values, what the fit knows of these, a table; out: for every prediction its standard
//! error, the interval in which it lies, and the one in which a new observation does, both with 95 %.
//!
//! Errors go through the exact derivatives of the prediction (the delta method), on the scale on which the prediction is free: its
//! logarithm where it is a mean of counts or the median of positive numbers, the log-odds of a probability. An interval for observations
//! has both: that of the prediction, and that of their distribution around it.

use super::distribution::{Cumulative, normal_quantile};
use super::known::Known;
use super::{Forecast, Name, forecast};
use crate::data::table::Table;
use crate::fit::{no_constants, wrong};
use crate::optimise::{Unusable, norm};
use crate::options::Options;
use crate::saved::remember;
use neural_compiler::syntax::distributions::{Distribution, Support};
use neural_compiler::{Diagnostic, Diagnostics, Program};

/// Lower and upper ends, row by row.
pub type Ends = (Vec<f64>, Vec<f64>);

/// How sure the predictions of a column are; NaN in rows where the data do not say.
#[derive(Clone, PartialEq, Debug)]
pub struct Band {
    /// What is predicted, as `predict` calls it, without `.predicted`.
    pub name: String,
    /// The predictions.
    pub value: Vec<f64>,
    /// Their standard errors.
    pub stderr: Vec<f64>,
    /// Where the prediction lies with 95 %.
    pub confidence: Ends,
    /// Where a new observation lies with 95 %; of binomial counts, how many of the trials of the row succeed.
    pub prediction: Ends,
    /// Why nothing is known of observations, where there is a reason besides that none were fitted.
    pub unsaid: Option<String>,
    /// What there is to know of the standard errors of the fit, on which those here rest.
    pub doubts: Vec<String>,
}

/// The scale on which a prediction is free.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Line,
    Logarithm,
    LogOdds,
}

impl Scale {
    fn of(distribution: Option<&Distribution>) -> Scale {
        match distribution {
            Some(d) if d.location == "probability" => Scale::LogOdds,
            Some(d) if d.support != Support::Line => Scale::Logarithm,
            _ => Scale::Line,
        }
    }

    /// A prediction moved by so many standard errors.
    fn moved(self, x: f64, error: f64, by: f64) -> f64 {
        // A certain prediction may be 0, of which there is no logarithm.
        if error == 0.0 {
            return x;
        }
        match self {
            Scale::Line => x + by * error,
            Scale::Logarithm => x * (by * error / x).exp(),
            Scale::LogOdds => {
                let odds = x / (1.0 - x) * (by * error / (x * (1.0 - x))).exp();
                if odds.is_infinite() { 1.0 } else { odds / (1.0 + odds) }
            }
        }
    }
}

/// Five points that stand for a normal distribution (Gauss and Hermite), and their weights.
const NODES: [(f64, f64); 5] = [
    (-2.856_970_013_872_805_6, 0.011_257_411_327_720_691),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (2.856_970_013_872_805_6, 0.011_257_411_327_720_691),
];

/// The share of observations below an interval, and above it.
const TAIL: f64 = 0.025;

/// The bands of a saved model: what it knows is in its record.
pub fn of_saved(program: &Program, table: &Table, options: &Options<'_>) -> Result<Vec<Band>, Diagnostics> {
    let known = remember::known(program)?;
    let Some(known) = known else {
        let message = "the model has no record of a fit that says how sure its predictions are: none at all, one without covariance, as of \
                       data that are met exactly, or one with random effects or nets";
        let help = "`neuralc fit --save` writes one behind the model; of exact data `--sigma` says how large errors are";
        return Err(Diagnostic::error("no-record", Default::default(), message).help(help).into());
    };
    options.check()?;
    options.check_purpose(&[program])?;
    no_constants(program, table, options)?;
    remember::check_doses(program, options)?;
    let mut options = crate::predict::begun(program, options)?;
    // Errors that a column gave the fit are those of new observations too, where a table has them.
    if options.sigma.is_none() && options.sigma_column.is_none() {
        options.sigma_column = remember::sigma_column(program)?;
    }
    if options.weights_column.is_none() {
        options.weights_column = remember::weights_column(program)?;
    }
    bands(program, table, &options, &known)
}

/// The bands of all predictions.
pub fn bands(program: &Program, table: &Table, options: &Options<'_>, known: &Known) -> Result<Vec<Band>, Diagnostics> {
    let found = forecast(program, table, options, true)?;
    (0..found.quantities.len()).map(|k| one(&found, k, table, options, known).map_err(|e| wrong("no-prediction", e.0))).collect()
}

fn one(found: &Forecast, k: usize, table: &Table, options: &Options<'_>, known: &Known) -> Result<Band, Unusable> {
    let quantity = &found.quantities[k];
    let value = found.location(k).to_vec();
    let rows = value.len();
    let stderr: Vec<f64> = (0..rows).map(|row| known.error(&found.names[found.group[row]], &found.gradient(k, row))).collect();
    let distribution = quantity.noise.as_ref().map(|n| n.0);
    let scale = Scale::of(distribution);
    let end = |by: f64| (0..rows).map(|row| scale.moved(value[row], stderr[row], by)).collect::<Vec<f64>>();
    let confidence = (end(-known.reach), end(known.reach));
    let unknown = || (vec![f64::NAN; rows], vec![f64::NAN; rows]);
    let mut unsaid = None;
    let prediction = match distribution {
        None => {
            let named = |column: &str| found.quantities.iter().any(|q| q.name == Name::Given(column.to_string()));
            let sigma = match &quantity.name {
                Name::Given(name) => known.sigma(Some(name), 0, named),
                Name::Own(own, _) => known.sigma(None, *own, named),
            };
            let given = options.sigma_column.as_ref().and_then(|c| table.column(c));
            let weights = options.weights_column.as_ref().map(|c| (c, table.column(c)));
            let (fitted, sigma) = (sigma.is_some(), options.sigma.or(sigma.flatten()));
            if fitted && given.is_none() && sigma.is_none() {
                unsaid = Some(options.sigma_column.as_ref().map_or_else(
                    || "its errors were given row by row, or its loss is robust, and nothing says those of other rows".into(),
                    |column| format!("its errors were those of the column `{column}`, which this table has not"),
                ));
            } else if let (true, Some((column, None))) = (fitted, weights) {
                unsaid = Some(format!("its errors were weighted by the column `{column}`, which this table has not"));
            }
            // The fit's standard deviation is that of a row of weight 1; a variance that is no positive number is none.
            let weight = |row: usize| weights.map_or(1.0, |(_, w)| w.map_or(f64::NAN, |w| w[row]));
            let sigma = |row: usize| given.map_or_else(|| sigma.unwrap_or(f64::NAN) / weight(row).sqrt(), |s| s[row]);
            // What is not known of observations is not known of a certain prediction either.
            let reach = |row: usize| if sigma(row).is_nan() { f64::NAN } else { known.reach * norm(&[stderr[row], sigma(row)]) };
            ((0..rows).map(|row| value[row] - reach(row)).collect(), (0..rows).map(|row| value[row] + reach(row)).collect())
        }
        Some(d) if d.support == Support::Bits => {
            unsaid = Some("what is observed is 0 or 1, and the prediction is the probability of 1".into());
            unknown()
        }
        Some(d) => of_observations(d, &value, &stderr, &found.arguments(k), scale)?.unwrap_or_else(unknown),
    };
    let name = match &quantity.name {
        Name::Given(name) | Name::Own(_, name) => name.clone(),
    };
    Ok(Band { name, value, stderr, confidence, prediction, unsaid, doubts: known.doubts.clone() })
}

/// What bands do not say, in sentences: why there is no interval for new observations, column by column, and what all of them rest on.
pub fn unsaid(all: &[Band]) -> Vec<String> {
    let one = |b: &Band| b.unsaid.as_ref().map(|why| format!("there is no interval for new observations of `{}`: {why}", b.name));
    let doubts = all.first().map_or(&[][..], |b| &b.doubts);
    all.iter().filter_map(one).chain(doubts.iter().cloned()).collect()
}

/// Where new observations lie, of rows where everything is known.
fn of_observations(
    d: &'static Distribution,
    value: &[f64],
    stderr: &[f64],
    arguments: &[&[f64]],
    scale: Scale,
) -> Result<Option<Ends>, Unusable> {
    let Some(cumulative) = Cumulative::new(d) else { return Ok(None) };
    let reach = normal_quantile(1.0 - TAIL);
    let blank = || vec![f64::NAN; value.len()];
    let (mut low, mut high) = (blank(), blank());
    let there = |row: &usize| stderr[*row].is_finite() && value[*row].is_finite() && arguments.iter().all(|a| a[*row].is_finite());
    // A certain mean of counts of 0 leaves nothing else to observe, and their distribution is none.
    let certain = |row: usize| {
        let of: Vec<f64> = std::iter::once(value[row]).chain(arguments.iter().map(|a| a[row])).collect();
        d.moments.map(|moments| moments(&of)).filter(|m| stderr[row] == 0.0 && m[1] == 0.0).map(|m| m[0])
    };
    let (sure, rows): (Vec<usize>, Vec<usize>) = (0..value.len()).filter(there).partition(|&row| certain(row).is_some());
    for row in sure {
        let only = certain(row).unwrap_or(f64::NAN);
        (low[row], high[row]) = (only, only);
    }
    match d.name {
        "normal" => rows.iter().for_each(|&row| {
            let by = reach * norm(&[stderr[row], arguments[0][row]]);
            (low[row], high[row]) = (value[row] - by, value[row] + by);
        }),
        "lognormal" => rows.iter().for_each(|&row| {
            let relative = if stderr[row] == 0.0 { 0.0 } else { stderr[row] / value[row] };
            let by = (reach * norm(&[relative, arguments[0][row]])).exp();
            (low[row], high[row]) = (value[row] / by, value[row] * by);
        }),
        _ => {
            // The distribution at each of some predictions that stand for all that are probable.
            let mixed: Vec<(Vec<Vec<f64>>, f64)> = NODES
                .iter()
                .map(|(by, weight)| {
                    let location = rows.iter().map(|&row| scale.moved(value[row], stderr[row], *by)).collect();
                    let others = arguments.iter().map(|a| rows.iter().map(|&row| a[row]).collect());
                    (std::iter::once(location).chain(others).collect(), *weight)
                })
                .collect();
            let below = |y: &[f64]| -> Result<Vec<f64>, Unusable> {
                let mut sum = vec![0.0; y.len()];
                for (of, weight) in &mixed {
                    sum.iter_mut().zip(cumulative.below(y, of)?).for_each(|(s, p)| *s += weight * p);
                }
                Ok(sum)
            };
            let around: Vec<(f64, f64)> = rows.iter().map(|&row| (value[row], 1.0 + value[row].abs())).collect();
            for (p, ends) in [(TAIL, &mut low), (1.0 - TAIL, &mut high)] {
                rows.iter().zip(cumulative.quantiles(p, &around, below)?).for_each(|(&row, x)| ends[row] = x);
            }
        }
    }
    Ok(Some((low, high)))
}

/// The bands as columns for a table: `y.stderr`, `y.ci95.low`, `y.ci95.high`, `y.pi95.low`, `y.pi95.high`; the last two not of what nothing
/// is known about observations of, as of states that were not observed.
pub fn columns(all: &[Band]) -> Vec<(String, Vec<f64>)> {
    let one = |b: &Band| {
        let parts = [("stderr", &b.stderr), ("ci95.low", &b.confidence.0), ("ci95.high", &b.confidence.1)];
        let observed = [("pi95.low", &b.prediction.0), ("pi95.high", &b.prediction.1)];
        let known = observed.iter().any(|(_, ends)| ends.iter().any(|x| !x.is_nan()));
        let parts = parts.into_iter().chain(observed.into_iter().filter(|_| known));
        parts.map(|(what, numbers)| (format!("{}.{what}", b.name), numbers.clone())).collect::<Vec<_>>()
    };
    all.iter().flat_map(one).collect()
}
