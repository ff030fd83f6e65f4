//! A fit for people and for programs. In: a fit; out: a table of its parameters, or JSON.

use neural_compiler_fit::{Finer, Fit, Parameter};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A number that may be missing; JSON knows neither NaN nor infinity.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { Value::Null }
}

fn interval(ends: Option<(f64, f64)>) -> Value {
    ends.map_or(Value::Null, |(lo, hi)| json!([number(lo), number(hi)]))
}

pub(crate) fn to_json(fit: &Fit) -> Value {
    let mut params = Map::new();
    for p in &fit.parameters {
        let mut one = json!({"value": number(p.value), "stderr": p.stderr.map_or(Value::Null, number), "ci95": interval(p.ci95)});
        if let Some(profile) = p.profile {
            one["profile95"] = interval(Some(profile));
        }
        if let Some(note) = &p.note {
            one["note"] = json!(note);
        }
        params.insert(p.name.clone(), one);
    }
    let correlations: Vec<Value> = strong_correlations(fit, 0.95).into_iter().map(|(a, b, r)| json!({"params": [a, b], "r": r})).collect();
    let mut all = json!({
        "params": params, "cost": number(fit.cost), "rmse": number(fit.rmse), "r2": number(fit.r2), "aic": number(fit.aic), "bic": number(fit.bic),
        "observations": fit.observations, "freedom": fit.uncertainty.freedom, "converged": fit.converged, "message": fit.message,
        "warnings": fit.warnings, "correlations": correlations, "starts": {"tried": fit.tried, "agreed": fit.agreed},
    });
    if fit.weights > 0 {
        all["weights"] = json!(fit.weights);
    }
    if let Some(clock) = &fit.clock {
        let time = if clock.start.0 == clock.start.1 { number(clock.start.0) } else { json!([number(clock.start.0), number(clock.start.1)]) };
        all["start"] = json!({"time": time, "from": if clock.given { "given" } else { "first row" }, "words": clock.words()});
    }
    if let Some(check) = &fit.check {
        let (tolerance, steps) = match check.by {
            Finer::Tolerance(t) => (Some(t), None),
            Finer::Steps(times) => (None, Some(times)),
        };
        all["check"] = json!({
            "holds": check.holds, "tolerance": tolerance, "steps": steps, "shift": number(check.shift), "share": number(check.share),
            "stderr": number(check.error),
        });
    }
    if let Some((rmse, r2)) = fit.holdout {
        all["holdout"] = json!({"rmse": number(rmse), "r2": number(r2)});
    }
    all
}

/// Pairs of parameters whose estimates move together.
fn strong_correlations(fit: &Fit, least: f64) -> Vec<(String, String, f64)> {
    let mut found = Vec::new();
    for i in 0..fit.parameters.len() {
        for j in 0..i {
            if let Some(r) = fit.uncertainty.correlation(i, j).filter(|r| r.abs() >= least) {
                found.push((fit.parameters[j].name.clone(), fit.parameters[i].name.clone(), r));
            }
        }
    }
    found.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    found
}

/// A number with so many digits as its error leaves meaningful, and two more.
fn shown(x: f64, error: Option<f64>) -> String {
    let digits = match error {
        Some(e) if e > 0.0 && x != 0.0 && e.is_finite() => ((x.abs() / e).log10().ceil() + 2.0).clamp(3.0, 15.0) as usize,
        _ => 8,
    };
    significant(x, digits)
}

/// A number with so many significant digits.
fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let exponent = x.abs().log10().floor() as i32;
    if (-5..15).contains(&exponent) { format!("{x:.*}", (digits as i32 - 1 - exponent).max(0) as usize) } else { format!("{x:.*e}", digits - 1) }
}

fn row(p: &Parameter) -> [String; 5] {
    let range = |ends: Option<(f64, f64)>| ends.map_or(String::new(), |(lo, hi)| format!("[{}, {}]", shown(lo, p.stderr), shown(hi, p.stderr)));
    let error = p.stderr.map_or_else(|| p.note.clone().unwrap_or_default(), |e| significant(e, 3));
    [p.name.clone(), shown(p.value, p.stderr), error, range(p.ci95), range(p.profile)]
}

pub(crate) fn to_text(fit: &Fit) -> String {
    let mut rows = vec![["parameter", "value", "std. error", "95 % interval", "95 % by profile"].map(String::from)];
    rows.extend(fit.parameters.iter().map(row));
    let columns = if fit.parameters.iter().any(|p| p.profile.is_some()) { 5 } else { 4 };
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &w)| format!("{cell:w$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    let targets = fit.targets.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "\n{} observations of {targets}", fit.observations);
    if let Some(clock) = &fit.clock {
        let _ = writeln!(out, "{}", clock.words());
    }
    if fit.weights > 0 {
        let _ = writeln!(out, "{} weights of nets were trained", fit.weights);
    }
    let _ = writeln!(
        out,
        "cost {}  rmse {}  R2 {}  AIC {}  BIC {}",
        significant(fit.cost, 6),
        significant(fit.rmse, 4),
        significant(fit.r2, 6),
        significant(fit.aic, 6),
        significant(fit.bic, 6)
    );
    if let Some((rmse, r2)) = fit.holdout {
        let _ = writeln!(out, "on the rows held out: rmse {}  R2 {}", significant(rmse, 4), significant(r2, 6));
    }
    let _ = writeln!(out, "{}; {} of {} starts agree", fit.message, fit.agreed, fit.tried);
    if let Some(check) = &fit.check {
        let _ = writeln!(out, "{}", check.sentence());
    }
    for (a, b, r) in strong_correlations(fit, 0.95).into_iter().take(5) {
        let _ = writeln!(out, "the estimates of {a} and {b} move together (correlation {r:.4})");
    }
    for warning in &fit.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    out
}
