//! Models side by side. In: what fits of several models to the same data came to; out: weights by Akaike's criterion, and likelihood-ratio
//! tests where one model is a part of another.
//!
//! A model is taken for a part of another where its parameters are some of the other's, by name, and nothing speaks against it
//! (`nested.rs`): that the two agree where the others are left out is the user's to know. The criteria compare likelihoods of the same
//! observations, so that others are refused.

use crate::fit::wrong;
use crate::report::exact::ROUNDING;
use crate::report::nested::{self, Law};
use crate::report::outcome::{Fit, open_combinations, significant};
use crate::statistics::likelihood::Column;
use neural_compiler::{Diagnostic, Diagnostics};
use serde_json::{Value, json};

/// A model that was fitted, with its weight among those it is compared with.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// What it is called.
    pub name: String,
    /// Its log-likelihood.
    pub loglik: f64,
    /// Numbers estimated.
    pub k: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// The same with the correction for few data; NaN where there are too few.
    pub aicc: f64,
    /// The Bayesian criterion.
    pub bic: f64,
    /// How probable it is to be the nearest to the truth of all, by Akaike's criterion (Akaike 1978; Burnham and Anderson 2002).
    pub weight: f64,
}

/// A likelihood-ratio test (Wilks 1938; Self and Liang 1987 where a constant is at its bound).
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    /// The model with fewer parameters.
    pub smaller: String,
    /// The model with more.
    pub larger: String,
    /// Twice the difference of their log-likelihoods.
    pub statistic: f64,
    /// How many more parameters the larger has.
    pub freedom: f64,
    /// How probable as large a difference is if the smaller is right.
    pub p: f64,
    /// How the difference is distributed then.
    pub law: Law,
}

/// Models side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The models, in the order given.
    pub models: Vec<Compared>,
    /// Tests of those that are parts of others.
    pub tests: Vec<Test>,
    /// What to know besides: why there is no test where names suggest one, what the data do not determine.
    pub remarks: Vec<String>,
    /// Numbers compared, by all of them.
    pub observations: usize,
}

/// Puts fits of several models to the same data side by side.
pub fn compare(fits: &[(String, &Fit)]) -> Result<Comparison, Diagnostics> {
    let Some((first, reference)) = fits.first() else { return Err(wrong("not-comparable", "there is nothing to compare")) };
    let columns = |fit: &Fit| {
        let mut all: Vec<(String, usize)> = fit.columns.iter().map(|c| (c.name.clone(), c.n)).collect();
        all.sort();
        all
    };
    // Numbers in another unit have another likelihood: densities are per unit.
    let values = |fit: &'_ Fit, target: &str| -> Vec<u64> {
        let rows = fit.observed.len() / fit.targets.len().max(1);
        let at = fit.targets.iter().position(|t| t == target).unwrap_or(0) * rows;
        fit.observed[at..at + rows].iter().map(|x| if x.is_nan() { 0 } else { x.to_bits() }).collect()
    };
    for (name, fit) in fits {
        let help = "likelihoods of the same observations can be compared, of others not";
        let refuse = |message: String| Err(Diagnostic::error("not-comparable", Default::default(), message).help(help).into());
        if is_met(fit) {
            let why = "its likelihood rises without end as the errors go to 0, and no criterion is left to compare by";
            let help = "give the errors of the data with --sigma, or take the model with fewer constants";
            let message = format!("`{name}` meets the data exactly: {why}");
            return Err(Diagnostic::error("not-comparable", Default::default(), message).help(help).into());
        }
        if fit.likelihood.loglik.is_nan() {
            return refuse(format!("`{name}` has no likelihood"));
        }
        if !same_cells(fit, reference) {
            return refuse(format!("`{name}` and `{first}` explain other rows, or the same in another unit"));
        }
        if fit.likelihood.n != reference.likelihood.n || columns(fit) != columns(reference) {
            let (a, b) = (fit.likelihood.n, reference.likelihood.n);
            return refuse(format!("`{name}` explains {a} observations, `{first}` {b}, and they are not the same"));
        }
        if let Some(column) = fit.targets.iter().find(|t| values(fit, t) != values(reference, t)) {
            let why = "as in another unit or of other rows";
            return refuse(format!("`{name}` and `{first}` see other numbers in the column `{column}`, {why}"));
        }
    }
    let least = fits.iter().map(|(_, f)| f.likelihood.aic()).fold(f64::INFINITY, f64::min);
    let share = |fit: &Fit| (-0.5 * (fit.likelihood.aic() - least)).exp();
    let sum: f64 = fits.iter().map(|(_, f)| share(f)).sum();
    let one = |(name, fit): &(String, &Fit)| {
        let l = &fit.likelihood;
        Compared { name: name.clone(), loglik: l.loglik, k: l.k, aic: l.aic(), aicc: l.aicc(), bic: l.bic(), weight: share(fit) / sum }
    };
    let open = |(name, fit): &(String, &Fit)| {
        open_combinations(&fit.undetermined).into_iter().map(|said| format!("`{name}`: {said}")).collect::<Vec<_>>()
    };
    let mut remarks: Vec<String> = fits.iter().flat_map(open).collect();
    let mut tests = Vec::new();
    for (smaller, small) in fits {
        for (larger, large) in fits {
            let freedom = large.likelihood.k - small.likelihood.k;
            let part = small.parameters.iter().all(|p| large.parameters.iter().any(|q| q.name == p.name));
            if freedom <= 0.0 || !part {
                continue;
            }
            let statistic = 2.0 * (large.likelihood.loglik - small.likelihood.loglik);
            // A part never explains more than the whole: names alone made it one.
            if statistic < -1e-6 * large.likelihood.loglik.abs().max(1.0) {
                continue;
            }
            let law = match nested::law(small, large) {
                Ok(law) => law,
                Err(why) => {
                    remarks.push(format!("`{smaller}` is no special case of `{larger}`, whatever their parameters are called: {why}"));
                    continue;
                }
            };
            let p = law.probability(statistic.max(0.0), freedom);
            tests.push(Test { smaller: smaller.clone(), larger: larger.clone(), statistic, freedom, p, law });
        }
    }
    Ok(Comparison { models: fits.iter().map(one).collect(), tests, remarks, observations: reference.likelihood.n })
}

/// Whether a model whose errors are estimated leaves none.
fn is_met(fit: &Fit) -> bool {
    // What is met is as large as predicted: a number that fills a row of weight 0 is not.
    let size = |(x, y): (&f64, &f64)| if x.is_finite() && y.is_finite() { x.abs().min(y.abs()) } else { 0.0 };
    let largest = |target: usize| {
        let rows = fit.observed.len() / fit.targets.len().max(1);
        let own = target * rows..(target + 1) * rows;
        fit.observed[own.clone()].iter().zip(&fit.predicted[own]).map(size).fold(0.0f64, f64::max)
    };
    let exact = |(target, column): (usize, &Column)| column.rmse <= ROUNDING * largest(target);
    let estimated = fit.likelihood.sigmas > 0;
    fit.exact || fit.likelihood.loglik == f64::INFINITY || estimated && fit.columns.iter().enumerate().any(exact)
}

/// Whether columns that both explain have the same values in the same rows.
fn same_cells(a: &Fit, b: &Fit) -> bool {
    let column = |fit: &'_ Fit, name: &str| -> Option<Vec<u64>> {
        let rows = fit.observed.len() / fit.targets.len().max(1);
        let place = fit.targets.iter().position(|t| t == name)?;
        // What is missing is missing, whatever bits say so.
        Some(fit.observed[place * rows..(place + 1) * rows].iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect())
    };
    a.targets.iter().all(|name| match (column(a, name), column(b, name)) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    })
}

impl Comparison {
    /// For programs.
    pub fn to_json(&self) -> Value {
        let number = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        let model = |m: &Compared| {
            json!({
                "file": m.name, "loglik": number(m.loglik), "k": number(m.k), "aic": number(m.aic), "aicc": number(m.aicc),
                "bic": number(m.bic), "weight": number(m.weight),
            })
        };
        let test = |t: &Test| {
            let models = [&t.smaller, &t.larger];
            json!({"models": models, "statistic": number(t.statistic), "df": number(t.freedom), "p": number(t.p), "law": t.law.name()})
        };
        json!({
            "models": self.models.iter().map(model).collect::<Vec<_>>(), "tests": self.tests.iter().map(test).collect::<Vec<_>>(),
            "remarks": self.remarks, "observations": self.observations,
        })
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let heads = ["model", "log-likelihood", "k", "AIC", "AICc", "BIC", "weight"].map(String::from).to_vec();
        let figure = |x: f64| if x.is_nan() { "-".to_string() } else { significant(x, 7) };
        let row = |m: &Compared| {
            let k = if m.k.fract() == 0.0 { m.k.to_string() } else { significant(m.k, 4) };
            vec![m.name.clone(), figure(m.loglik), k, figure(m.aic), figure(m.aicc), figure(m.bic), format!("{:.4}", m.weight)]
        };
        let rows: Vec<Vec<String>> = std::iter::once(heads).chain(self.models.iter().map(row)).collect();
        let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().enumerate().map(|(c, cell)| format!("{cell:w$}", w = width(c))).collect();
            cells.join("  ").trim_end().to_string()
        };
        let mut lines: Vec<String> = rows.iter().map(line).collect();
        lines.push(String::new());
        lines.push(format!("{} observations; weights by AIC", self.observations));
        lines.extend(self.tests.iter().map(|t| {
            format!(
                "if `{}` is a special case of `{}`, as the names of their parameters suggest: likelihood ratio {}, {} degrees of freedom, \
                 p = {}{}",
                t.smaller,
                t.larger,
                significant(t.statistic, 5),
                t.freedom,
                significant(t.p, 4),
                t.law.words()
            )
        }));
        if self.tests.is_empty() {
            lines.push(
                "no model can be a special case of another by its parameters and likelihood, so there is no likelihood-ratio test".into(),
            );
        }
        lines.extend(self.remarks.clone());
        lines.join("\n") + "\n"
    }
}
