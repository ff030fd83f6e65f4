//! A fit for people, the same in every face. In: a fit; out: a table of its parameters, and lines that say how good it is.

use super::outcome::{Fit, Noise, Parameter, significant};
use crate::statistics::diagnostics::Diagnostics;
use crate::statistics::likelihood::Column;
use std::fmt::Write;

/// A number with so many digits as its error leaves meaningful, and two more.
pub fn shown(x: f64, error: Option<f64>) -> String {
    let digits = match error {
        Some(e) if e > 0.0 && x != 0.0 && e.is_finite() => ((x.abs() / e).log10().ceil() + 2.0).clamp(3.0, 15.0) as usize,
        _ => 8,
    };
    significant(x, digits)
}

fn row(p: &Parameter) -> [String; 6] {
    // What has no standard error may have a profile, whose width says how many digits mean something.
    let width = p.profile.map(|(lo, hi)| 0.25 * (hi - lo)).filter(|e| e.is_finite());
    let digits = p.stderr.or(width);
    let range = |ends: Option<(f64, f64)>| ends.map_or(String::new(), |(lo, hi)| format!("[{}, {}]", shown(lo, digits), shown(hi, digits)));
    let error = p.stderr.map_or_else(|| p.note.clone().unwrap_or_default(), |e| significant(e, 3));
    [p.name.clone(), shown(p.value, p.stderr), error, range(p.ci95), range(p.profile), range(p.bootstrap.map(|b| b.1))]
}

/// The likelihood and what follows from it, with what was counted.
fn criteria(fit: &Fit) -> String {
    let cost = significant(fit.cost, 6);
    let l = &fit.likelihood;
    if fit.exact {
        return format!("cost {cost}; nothing is left to tell the size of the errors by, so there is no likelihood and no AIC");
    }
    if l.loglik.is_nan() {
        return format!("cost {cost}; a robust loss belongs to no likelihood, so there is no AIC");
    }
    // Weights of nets count by what the data determine of them, which is no whole number.
    let k = if l.k.fract() == 0.0 { l.k.to_string() } else { significant(l.k, 4) };
    let counted = match l.sigmas {
        0 if l.declared && fit.chi_square.is_none() => format!("k = {k}"),
        0 => format!("k = {k}, errors known: reduced chi-square {}", fit.reduced_chi_square().map_or("-".into(), |x| significant(x, 4))),
        1 => format!("k = {k} with the standard deviation of the errors"),
        n => format!("k = {k} with {n} standard deviations of the errors"),
    };
    // Few data have no AICc.
    let [loglik, aic, aicc, bic] = [l.loglik, l.aic(), l.aicc(), l.bic()].map(|x| if x.is_nan() { "-".into() } else { significant(x, 6) });
    let cost = if l.declared { String::new() } else { format!("cost {cost}  ") };
    format!("{cost}log-likelihood {loglik}  AIC {aic}  AICc {aicc}  BIC {bic}  ({counted}; n = {})", l.n)
}

/// How well columns are explained: one as it is, several one by one and, where they have one unit, together.
fn explained(where_: &str, (rmse, r2): (f64, f64), columns: &[Column]) -> Vec<String> {
    let figures = |rmse: f64, r2: f64| format!("rmse {}  R2 {}", significant(rmse, 4), significant(r2, 6));
    if columns.len() == 1 {
        return if rmse.is_nan() { vec![] } else { vec![format!("{where_}{}", figures(rmse, r2))] };
    }
    let told = |c: &Column| if c.rmse.is_nan() { String::new() } else { format!("{}  ", figures(c.rmse, c.r2)) };
    let each = columns.iter().map(|c| format!("{where_}`{}`: {}n {}", c.name, told(c), c.n));
    let together = (!rmse.is_nan()).then(|| format!("{where_}all, in one unit: {}", figures(rmse, r2)));
    each.chain(together).collect()
}

/// What was assumed of the errors of a column.
fn noise(of: &Noise) -> String {
    let censored = if of.censored > 0 { format!(", {} known from one side only", of.censored) } else { String::new() };
    format!("noise of `{}`: {}{censored}", of.column, of.words)
}

/// Outliers that are named.
const NAMED: usize = 5;

/// What the residuals of a column show.
fn residuals(of: &Diagnostics) -> String {
    let p = |p: f64| if p.is_nan() { "-".into() } else { significant(p, 2) };
    let named: Vec<String> = of.outliers.iter().take(NAMED).map(|o| format!("{} ({:+.1})", o.row, o.residual)).collect();
    let outliers = match of.outliers.len() {
        0 => "no outlier".to_string(),
        1 => format!("outlier: row {}", named[0]),
        n if n > NAMED => format!("outliers: rows {} and {} others", named.join(", "), n - NAMED),
        _ => format!("outliers: rows {}", named.join(", ")),
    };
    format!(
        "residuals of `{}`: Durbin-Watson {}, {} runs (p {}), normality p {}, {outliers}",
        of.name,
        significant(of.durbin_watson, 3),
        of.runs,
        p(of.runs_p),
        p(of.normality_p)
    )
}

/// Numbers of a vector in a row from which on only the first and the last are named.
const MANY: usize = 4;

/// Names of columns, the numbers of a vector as a range: "`x`, `u[0]` to `u[49]`".
fn listed(names: &[String]) -> String {
    let element = |name: &str| {
        let (base, index) = name.strip_suffix(']')?.rsplit_once('[')?;
        Some((base.to_string(), index.parse::<usize>().ok()?))
    };
    let follows = |a: &str, b: &str| matches!((element(a), element(b)), (Some((a, i)), Some((b, j))) if a == b && j == i + 1);
    let one = |run: &[String]| match run {
        [first, .., last] if run.len() >= MANY => format!("`{first}` to `{last}`"),
        _ => run.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
    };
    names.chunk_by(|a, b| follows(a, b)).map(one).collect::<Vec<_>>().join(", ")
}

/// Whether a parameter is the standard deviation of a column, or of all numbers of a vector, that nobody declared.
fn is_deviation(fit: &Fit, p: &Parameter) -> bool {
    let of = p.name.strip_prefix("sigma[").and_then(|name| name.strip_suffix(']'));
    let whole = |target: &str| target.split('[').next().unwrap_or("").to_string();
    fit.likelihood.declared && of.is_some_and(|of| fit.targets.iter().any(|t| t == of || whole(t) == of))
}

/// The parameters: heads, then a row for each; constants of the model before deviations nobody declared.
pub fn table(fit: &Fit) -> Vec<Vec<String>> {
    let any = |there: fn(&Parameter) -> bool| fit.parameters.iter().any(there);
    let shown = [true, true, true, true, any(|p| p.profile.is_some()), any(|p| p.bootstrap.is_some())];
    let heads = ["parameter", "value", "std. error", "95 % interval", "95 % by profile", "95 % by bootstrap"].map(String::from);
    let some = |cells: [String; 6]| cells.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(cell, _)| cell).collect();
    let (deviations, constants): (Vec<&Parameter>, Vec<&Parameter>) = fit.parameters.iter().partition(|p| is_deviation(fit, p));
    std::iter::once(heads).chain(constants.into_iter().chain(deviations).map(row)).map(some).collect()
}

/// What else there is to say, line by line.
pub fn remarks(fit: &Fit) -> Vec<String> {
    // A declared likelihood of rows observes no column by name.
    let of = if fit.targets.is_empty() { String::new() } else { format!(" of {}", listed(&fit.targets)) };
    let mut lines = vec![format!("{} observations{of}", fit.observations)];
    lines.extend(fit.clock.as_ref().map(|clock| clock.words()));
    lines.extend((fit.weights > 0).then(|| format!("{} weights of nets were trained", fit.weights)));
    lines.push(criteria(fit));
    lines.extend(
        fit.log_prior
            .map(|x| format!("posterior mode: the logarithm of the prior density, {}, is not in the likelihood", significant(x, 6))),
    );
    lines.extend(fit.noise.iter().map(noise));
    let (effects, how) = (fit.effects.len(), fit.effect_method.words());
    lines.extend((effects > 0).then(|| format!("{effects} random effects are integrated out ({how})")));
    lines.extend(explained("", (fit.rmse, fit.r2), &fit.columns));
    if !fit.holdout_columns.is_empty() {
        let joint = fit.holdout.unwrap_or((f64::NAN, f64::NAN));
        lines.extend(explained("on the rows held out: ", joint, &fit.holdout_columns));
    }
    lines.extend(fit.diagnostics.iter().filter(|d| !d.durbin_watson.is_nan()).map(residuals));
    lines.extend(fit.bootstrap.as_ref().map(|b| {
        let failed = if b.failed > 0 { format!(", {} of which came to no minimum", b.failed) } else { String::new() };
        let of = if b.replicates < b.wanted { format!(" of {} asked for", b.wanted) } else { String::new() };
        format!("bootstrap: {} replicates{of} ({}){failed}", b.replicates, b.kind)
    }));
    lines.push(format!("{}; {}", fit.message, fit.starts()));
    lines.extend(
        fit.streamed
            .map(|s| format!("{} rows were read {} times and not held in memory: nothing is told of single residuals", s.rows, s.passes)),
    );
    lines.extend(
        fit.method.map(|method| format!("solved by {method}, to which auto went over: where the first start led it is the cheaper")),
    );
    lines.extend(fit.check.as_ref().map(|check| check.sentence()));
    let together = fit.strong_correlations(0.95).into_iter().take(5);
    lines.extend(together.map(|(a, b, r)| format!("the estimates of {a} and {b} move together (correlation {r:.4})")));
    lines.extend(fit.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

/// The whole report.
pub fn to_text(fit: &Fit) -> String {
    let rows = table(fit);
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &w)| format!("{cell:w$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    let _ = writeln!(out, "\n{}", remarks(fit).join("\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn numbers_of_a_vector_are_a_range() {
        let names = |all: &[&str]| listed(&all.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        let vector: Vec<String> = (0..50).map(|i| format!("u[{i}]")).collect();
        assert_eq!(listed(&vector), "`u[0]` to `u[49]`");
        assert_eq!(names(&["x", "u[0]", "u[1]"]), "`x`, `u[0]`, `u[1]`");
        assert_eq!(names(&["u[0]", "u[1]", "u[2]", "u[3]", "v[4]", "m[0,0]", "m[0,1]"]), "`u[0]` to `u[3]`, `v[4]`, `m[0,0]`, `m[0,1]`");
    }
}
