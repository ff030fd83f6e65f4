//! What a fit knows of its parameters. In: a fit, or the record of one; out: their covariance by name, and the errors of observations.

use crate::report::Fit;
use crate::statistics::uncertainty::Certainty;
use serde_json::Value;
use std::collections::HashMap;

/// What is known.
pub struct Known {
    /// The place of each parameter in the covariance.
    places: HashMap<String, usize>,
    /// Row by row; 0 of what is held at a bound; NaN of what is not known.
    covariance: Vec<f64>,
    /// Ways to change parameters that the data do not see, a number for each parameter.
    open: Vec<Vec<f64>>,
    /// By how many standard errors a 95 % interval reaches to either side.
    pub(crate) reach: f64,
    /// The standard deviation of the errors of columns whose distribution is not declared, where it is one.
    pub(crate) errors: Vec<(String, Option<f64>)>,
    /// What there is to know of the standard errors, in sentences.
    pub(crate) doubts: Vec<String>,
}

/// What there is to know of bands by a fit with constants at their bounds, and with constants whose standard errors mislead, by name.
fn doubts(held: &[&str], misled: &[&str]) -> Vec<String> {
    let list = |names: &[&str]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let bound = format!(
        "the fit ended with {} at the bound: standard errors and intervals of predictions hold only if it is exactly there, and are too \
         small otherwise",
        list(held)
    );
    let profile = format!(
        "the standard errors of {} are misleading, as profiles show, and those of predictions, which rest on them, may be too",
        list(misled)
    );
    [(held, bound), (misled, profile)].into_iter().filter(|(names, _)| !names.is_empty()).map(|(_, said)| said).collect()
}

/// The share of a change of a prediction that is rounding.
const NOTHING: f64 = 1e-7;

/// Names a fit lists as JSON.
fn listed<'a>(fit: &'a Value, what: &str) -> Vec<&'a str> {
    fit[what].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

impl Known {
    /// Of a fit; `None` where it has no covariance, or random effects or nets, of which it says nothing.
    pub fn of(fit: &Fit) -> Option<Known> {
        let sure = &fit.uncertainty;
        let n = fit.parameters.len();
        let fits = |c: &Certainty| matches!(c, Certainty::Error(_) | Certainty::AtBound | Certainty::Unidentified | Certainty::Endless);
        // How sure effects are is not in the covariance.
        let covered = fit.weights == 0 && fit.effects.is_empty();
        if !covered || sure.determined.len() != n * n || !sure.certainty.iter().all(fits) || !sure.reach.is_finite() {
            return None;
        }
        let held = |j: usize| matches!(sure.certainty[j], Certainty::AtBound | Certainty::Endless);
        let covariance = (0..n * n).map(|k| if held(k / n) || held(k % n) { 0.0 } else { sure.determined[k] }).collect();
        let way = |parameters: &[usize], way: &[f64]| {
            let mut all = vec![0.0; n];
            parameters.iter().zip(way).for_each(|(&j, x)| all[j] = *x);
            all
        };
        Some(Known {
            places: fit.parameters.iter().enumerate().map(|(j, p)| (p.name.clone(), j)).collect(),
            covariance,
            open: sure.open.iter().flat_map(|o| o.ways.iter().map(|w| way(&o.parameters, w))).collect(),
            reach: sure.reach,
            errors: fit.targets.iter().cloned().zip(fit.errors.iter().copied()).collect(),
            doubts: doubts(&fit.at_bounds(), &fit.misled()),
        })
    }

    /// What in a fit as `to_json` writes it no fit could have said of how sure it is.
    pub(crate) fn impossible(fit: &Value) -> Option<String> {
        let names: Vec<&str> = fit["order"].as_array()?.iter().filter_map(Value::as_str).collect();
        let entry = |i: usize, j: usize| fit["covariance"][i][j].as_f64();
        for (i, name) in names.iter().enumerate() {
            let variance = entry(i, i);
            if variance.is_some_and(|v| v < 0.0) {
                return Some(format!("the variance of `{name}` is negative"));
            }
            let (value, ends) = (fit["params"][name]["value"].as_f64(), &fit["params"][name]["ci95"]);
            if let (Some(value), Some(low), Some(high)) = (value, ends[0].as_f64(), ends[1].as_f64())
                && !(low <= value && value <= high)
            {
                return Some(format!("the value of `{name}` is not within its interval"));
            }
            for (j, other) in names[..i].iter().enumerate() {
                let (Some(a), Some(b), Some(vi), Some(vj)) = (entry(i, j), entry(j, i), variance, entry(j, j)) else { continue };
                // But for the rounding of what was written.
                let most = (1.0 + 1e-6) * vi.max(0.0).sqrt() * vj.max(0.0).sqrt();
                if a.abs() > most || b.abs() > most || (a - b).abs() > 1e-6 * most {
                    return Some(format!("the covariance of `{name}` and `{other}` is none"));
                }
            }
        }
        let below = |name: &str, least: f64| fit[name].as_f64().filter(|x| *x < least).map(|x| format!("`{name}` is {x}"));
        below("observations", 1.0).or_else(|| below("freedom", 0.0))
    }

    /// Of a fit as `to_json` wrote it; `None` as above.
    pub fn of_json(fit: &Value) -> Option<Known> {
        if fit.get("effects").is_some() || fit.get("weights").is_some() {
            return None;
        }
        let names: Vec<&str> = fit.get("order")?.as_array()?.iter().filter_map(Value::as_str).collect();
        let params = fit.get("params")?;
        let held = |name: &str| params[name]["note"].as_str().is_some_and(|n| n.starts_with("at its bound") || n.starts_with("runs off"));
        let rows = fit.get("covariance")?.as_array()?;
        let n = names.len();
        let entry = |i: usize, j: usize| match held(names[i]) || held(names[j]) {
            true => 0.0,
            false => rows.get(i).and_then(|r| r.get(j)).and_then(Value::as_f64).unwrap_or(f64::NAN),
        };
        let reach = names.iter().find_map(|name| {
            let (value, error) = (params[name]["value"].as_f64()?, params[name]["stderr"].as_f64().filter(|e| *e > 0.0)?);
            Some((params[name]["ci95"][1].as_f64()? - value) / error)
        });
        let errors = fit.get("errors").and_then(Value::as_object).into_iter().flatten();
        Some(Known {
            places: names.iter().enumerate().map(|(j, name)| (name.to_string(), j)).collect(),
            covariance: (0..n * n).map(|k| entry(k / n, k % n)).collect(),
            open: vec![],
            reach: reach?,
            errors: errors.map(|(name, x)| (name.clone(), x.as_f64())).collect(),
            doubts: doubts(&listed(fit, "held"), &listed(fit, "misled")),
        })
    }

    /// The standard error of something that moves so with parameters of these names; NaN where the data do not determine it.
    pub(crate) fn error(&self, names: &[String], gradient: &[f64]) -> f64 {
        let n = self.places.len();
        // What is no parameter of the fit is known.
        let there: Vec<(usize, f64)> =
            names.iter().zip(gradient).filter(|(_, g)| **g != 0.0).filter_map(|(name, g)| Some((*self.places.get(name)?, *g))).collect();
        for way in &self.open {
            let (sum, size) = there.iter().fold((0.0, 0.0f64), |(sum, size), (j, g)| (sum + g * way[*j], size + (g * way[*j]).abs()));
            if sum.abs() > NOTHING * size {
                return f64::NAN;
            }
        }
        let variance: f64 = there.iter().map(|(i, a)| there.iter().map(|(j, b)| a * b * self.covariance[i * n + j]).sum::<f64>()).sum();
        variance.max(0.0).sqrt() + if variance.is_nan() { f64::NAN } else { 0.0 }
    }

    /// The standard deviation of the errors of a column; of a formula's own value, of the one that no quantity is named like. `None`: it
    /// was not fitted to; nothing inside: it was, and its errors have none.
    pub(crate) fn sigma(&self, column: Option<&str>, own: usize, named: impl Fn(&str) -> bool) -> Option<Option<f64>> {
        match column {
            Some(name) => Some(self.errors.iter().find(|e| e.0 == name)?.1),
            None => Some(self.errors.iter().filter(|e| !named(&e.0)).nth(own)?.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn covariances_of_small_numbers_are_possible() {
        let record = |c: f64| {
            let entry = json!({"value": 0.0, "ci95": [-1.0, 1.0]});
            json!({"order": ["a", "b"], "covariance": [[1e-240, c], [c, 4e-240]], "params": {"a": entry, "b": entry}})
        };
        assert_eq!(Known::impossible(&record(1e-240)), None);
        assert!(Known::impossible(&record(3e-240)).is_some_and(|why| why.contains("covariance")));
    }
}
