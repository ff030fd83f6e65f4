//! What is known of residuals. In: a finished fit with its model and data; out: the same with residuals that are standard normal if the
//! model is right, what they show, and of fits by likelihood whether the model describes the data (`judged.rs`).

use crate::data::table::Table;
use crate::fit::{typical, weights};
use crate::forecast::distribution::Cumulative;
use crate::forecast::forecast;
use crate::options::Options;
use crate::report::Fit;
use crate::report::judged::Judged;
use crate::report::nested;
use crate::report::summary::NOISE;
use crate::statistics::diagnostics::{NOT_NORMAL, diagnose};
use neural_compiler::syntax::distributions::Distribution;
use neural_compiler::{Diagnostics, Program};

/// More rows than this say more by a picture than by tests, which then see the least departure.
const MOST: usize = 100_000;

/// Puts standard residuals and what they show into a fit.
pub(crate) fn finish(program: &Program, table: &Table, options: &Options<'_>, fit: &mut Fit) -> Result<(), Diagnostics> {
    nested::declare(program, options, fit)?;
    fit.warnings.extend(about_errors(fit, options.profile));
    let rows = table.rows();
    let by_likelihood = !fit.noise.is_empty();
    if rows > MOST && !by_likelihood {
        return Ok(());
    }
    // Residuals that cannot be told are none: the fit stands.
    let found = if by_likelihood { forecast(program, table, &fitted(options, fit), false).ok() } else { None };
    let unobserved: Vec<usize> = (0..rows).filter(|&row| (0..fit.targets.len()).all(|t| fit.observed[t * rows + row].is_nan())).collect();
    let (scales, known) = weights(table, options, &unobserved)?;
    let mut judged = Judged::new(fit, &scales, known);
    let (mut own, mut standard) = (0, Vec::new());
    for t in 0..fit.targets.len() {
        let part = t * rows..(t + 1) * rows;
        let quantity = found.as_ref().and_then(|f| f.find(&fit.targets[t], own).map(|k| (f, k)));
        own += usize::from(found.as_ref().is_none_or(|f| f.find(&fit.targets[t], usize::MAX).is_none()));
        let declared = quantity.and_then(|(f, k)| Some((f, k, f.quantities[k].noise.as_ref()?.0)));
        let (observed, predicted) = (&fit.observed[part.clone()], &fit.predicted[part]);
        let residuals = match declared {
            Some((f, k, d)) => {
                let numbers: Vec<&[f64]> = std::iter::once(f.location(k)).chain(f.arguments(k)).collect();
                let residuals = by_distribution(d, &numbers, observed);
                judged.declared(t, d, &numbers, &residuals);
                residuals
            }
            None => {
                let scale = |row: usize| scales.get(row).copied().unwrap_or(1.0);
                // A row of weight 0 says nothing, and its residual is none.
                let residual = |row: usize| if scale(row) > 0.0 { (observed[row] - predicted[row]) * scale(row) } else { f64::NAN };
                let plain: Vec<f64> = (0..rows).map(residual).collect();
                let there: Vec<f64> = plain.iter().copied().filter(|x| x.is_finite()).collect();
                let robust = || if there.is_empty() { f64::NAN } else { typical(&there) };
                let sigma = if known { 1.0 } else { fit.errors[t].unwrap_or_else(robust) };
                if quantity.is_some() {
                    judged.normal(t, &plain);
                }
                plain.iter().map(|x| if sigma > 0.0 { x / sigma } else { f64::NAN }).collect()
            }
        };
        standard.push(residuals);
    }
    let verdict = judged.verdict();
    if by_likelihood {
        verdict.tell(fit);
    }
    if rows <= MOST {
        // What rounding leaves shows nothing.
        let tells = |t: &usize| !fit.exact || fit.errors[*t].is_some();
        let shown = (0..fit.targets.len()).filter(tells).map(|t| diagnose(&fit.targets[t], &standard[t], fit.axis.as_ref())).collect();
        fit.diagnostics = shown;
        fit.standard = standard.concat();
        less_than_noise(fit);
    }
    Ok(())
}

/// What there is to know of the standard errors of a fit. `profile`: whether there are intervals by profile beside them.
fn about_errors(fit: &Fit, profile: bool) -> Vec<String> {
    let list = |names: &[&str]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let (held, misled) = (fit.at_bounds(), fit.misled());
    // Neither effects nor nets have profiles.
    let could = !profile && fit.effects.is_empty() && fit.weights == 0 && !held.is_empty();
    let more = could.then(|| format!("--profile gives intervals of the other constants that let {} move", list(&held)));
    let misleading = (!misled.is_empty()).then(|| {
        let (whose, their) = if misled.len() == 1 { ("standard error", "its") } else { ("standard errors", "their") };
        format!(
            "the {whose} of {} and what rests on {} mislead: {their} profile ends more than twice, or less than half, as far from the \
             value as the 95 % interval; take the profile",
            list(&misled),
            if misled.len() == 1 { "it" } else { "them" }
        )
    });
    more.into_iter().chain(misleading).collect()
}

/// Takes back that nothing but noise is left, where the residuals are not normal: what is left does not go with what rows lie along.
fn less_than_noise(fit: &mut Fit) {
    if fit.diagnostics.iter().any(|d| d.normality_p < NOT_NORMAL) {
        fit.message = fit.message.replace(NOISE, "leaves nothing that goes with the inputs");
    }
}

/// The options with the fitted values.
pub(crate) fn fitted<'a>(options: &Options<'a>, fit: &Fit) -> Options<'a> {
    Options { values: fit.values.clone(), holdout: None, ..options.clone() }
}

fn by_distribution(d: &'static Distribution, numbers: &[&[f64]], observed: &[f64]) -> Vec<f64> {
    let mut all = vec![f64::NAN; observed.len()];
    let rows: Vec<usize> =
        (0..observed.len()).filter(|&row| observed[row].is_finite() && numbers.iter().all(|n| n[row].is_finite())).collect();
    let pick = |all: &[f64]| rows.iter().map(|&row| all[row]).collect::<Vec<f64>>();
    let numbers: Vec<Vec<f64>> = numbers.iter().map(|all| pick(all)).collect();
    if let Some(Ok(found)) = Cumulative::new(d).map(|c| c.residuals(&pick(observed), &numbers)) {
        rows.iter().zip(found).for_each(|(&row, x)| all[row] = x);
    }
    all
}
