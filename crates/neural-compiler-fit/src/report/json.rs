//! A fit for programs. In: a fit; out: JSON, the same from every face. JSON knows neither NaN nor infinity: both are null.

use crate::report::{Finer, Fit, Noise};
use crate::statistics::diagnostics::Diagnostics;
use crate::statistics::likelihood::Column;
use serde_json::{Map, Value, json};

fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { Value::Null }
}

/// A number of numbers: whole unless weights of nets are counted by what the data determine of them.
fn count(x: f64) -> Value {
    if x.fract() == 0.0 { json!(x as u64) } else { number(x) }
}

fn interval(ends: Option<(f64, f64)>) -> Value {
    ends.map_or(Value::Null, |(lo, hi)| json!([number(lo), number(hi)]))
}

fn matrix(size: usize, entry: impl Fn(usize, usize) -> f64) -> Value {
    (0..size).map(|i| (0..size).map(|j| number(entry(i, j))).collect::<Value>()).collect()
}

fn columns(all: &[Column]) -> Value {
    all.iter().map(|c| (c.name.clone(), json!({"n": c.n, "rmse": number(c.rmse), "r2": number(c.r2)}))).collect::<Map<_, _>>().into()
}

/// What residuals show.
fn shown(d: &Diagnostics) -> Value {
    let outliers: Vec<Value> = d.outliers.iter().map(|o| json!({"row": o.row, "residual": number(o.residual)})).collect();
    json!({
        "n": d.n, "durbin_watson": number(d.durbin_watson), "runs": d.runs, "runs_expected": number(d.runs_expected),
        "runs_p": number(d.runs_p), "anderson_darling": number(d.normality), "anderson_darling_p": number(d.normality_p),
        "outliers": outliers,
    })
}

/// Everything there is to say of a fit but its predictions.
pub fn to_json(fit: &Fit) -> Value {
    let mut params = Map::new();
    for p in &fit.parameters {
        let mut one = json!({"value": number(p.value), "stderr": p.stderr.map_or(Value::Null, number), "ci95": interval(p.ci95)});
        if let Some(profile) = p.profile {
            one["profile95"] = interval(Some(profile));
        }
        if let Some((stderr, interval95)) = p.bootstrap {
            one["bootstrap_stderr"] = number(stderr);
            one["bootstrap95"] = interval(Some(interval95));
        }
        if let Some(note) = &p.note {
            one["note"] = json!(note);
        }
        params.insert(p.name.clone(), one);
    }
    let n = fit.parameters.len();
    let sure = &fit.uncertainty;
    let names: Vec<&str> = fit.parameters.iter().map(|p| p.name.as_str()).collect();
    let strong: Vec<Value> = fit.strong_correlations(0.95).into_iter().map(|(a, b, r)| json!({"params": [a, b], "r": r})).collect();
    let undetermined: Vec<Value> = fit
        .undetermined
        .iter()
        .map(|u| {
            let combinations = u
                .determined
                .iter()
                .map(|c| (c, c.stderr.map_or(Value::Null, number)))
                .map(|(c, stderr)| json!({"combination": c.text, "value": number(c.value), "stderr": stderr, "exact": c.exact}));
            json!({"params": u.parameters, "determined": combinations.collect::<Vec<_>>()})
        })
        .collect();
    let likelihood = &fit.likelihood;
    // What rounding leaves says how probable nothing is.
    let criterion = |x: f64| if fit.exact { Value::Null } else { number(x) };
    let pairs = |entry: &dyn Fn(usize, usize) -> f64| if sure.covariance.is_empty() { Value::Null } else { matrix(n, entry) };
    let mut all = json!({
        "params": params, "order": names, "cost": number(fit.cost), "rmse": number(fit.rmse), "r2": number(fit.r2),
        "columns": columns(&fit.columns),
        "loglik": criterion(likelihood.loglik), "k": count(likelihood.k), "sigmas": likelihood.sigmas,
        "reduced_chi_square": fit.reduced_chi_square().map_or(Value::Null, number),
        "aic": criterion(likelihood.aic()), "aicc": criterion(likelihood.aicc()), "bic": criterion(likelihood.bic()),
        "observations": fit.observations, "freedom": sure.freedom, "converged": fit.converged,
        "describes_data": fit.describes_data, "message": fit.message, "warnings": fit.warnings,
        "undetermined": undetermined, "correlations": strong,
        "covariance": pairs(&|i, j| sure.covariance[i * n + j]),
        "correlation": pairs(&|i, j| sure.correlation(i, j).unwrap_or(f64::NAN)),
        "starts": {"tried": fit.tried, "agreed": fit.agreed, "failed": fit.failed},
    });
    all["errors"] = fit.targets.iter().cloned().zip(fit.errors.iter().map(|e| e.map_or(Value::Null, number))).collect::<Map<_, _>>().into();
    if !fit.diagnostics.is_empty() {
        all["diagnostics"] = fit.diagnostics.iter().map(|d| (d.name.clone(), shown(d))).collect::<Map<_, _>>().into();
    }
    for (what, names) in [("held", fit.at_bounds()), ("misled", fit.misled())] {
        if !names.is_empty() {
            all[what] = json!(names);
        }
    }
    if let Some(method) = fit.method {
        all["method"] = json!(method);
    }
    if let Some(b) = &fit.bootstrap {
        all["bootstrap"] = json!({"wanted": b.wanted, "replicates": b.replicates, "failed": b.failed, "kind": b.kind.to_string()});
    }
    if let Some(streamed) = fit.streamed {
        all["streamed"] = json!({"rows": streamed.rows, "passes": streamed.passes});
    }
    if !fit.noise.is_empty() {
        let one = |n: &Noise| (n.column.clone(), json!({"distribution": n.words, "censored": n.censored}));
        all["noise"] = fit.noise.iter().map(one).collect::<Map<_, _>>().into();
    }
    if !fit.effects.is_empty() {
        all["effects"] = fit.effects.iter().map(|(name, x)| (name.clone(), number(*x))).collect::<Map<_, _>>().into();
    }
    if let Some(prior) = fit.log_prior {
        all["log_prior"] = number(prior);
    }
    if fit.weights > 0 {
        all["weights"] = json!(fit.weights);
    }
    if let Some(clock) = &fit.clock {
        let time =
            if clock.start.0 == clock.start.1 { number(clock.start.0) } else { json!([number(clock.start.0), number(clock.start.1)]) };
        all["start"] = json!({"time": time, "from": if clock.given { "given" } else { "first row" }, "words": clock.words()});
        if !clock.groups.is_empty() {
            all["start"]["groups"] = clock.groups.iter().map(|(name, t)| (name.clone(), number(*t))).collect::<Map<_, _>>().into();
        }
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
    if !fit.holdout_columns.is_empty() {
        let (rmse, r2) = fit.holdout.unwrap_or((f64::NAN, f64::NAN));
        all["holdout"] = json!({"rmse": number(rmse), "r2": number(r2), "columns": columns(&fit.holdout_columns)});
    }
    all
}
