//! Errors of parameters by fitting again and again. In: a finished fit, its model and data; out: the spread of what fits of other data
//! give.
//!
//! The other data are drawn from the fitted model (parametric), or from the data themselves (cases): rows within their group, of models
//! with states whole trajectories, with random effects whole groups (Efron and Tibshirani 1993). Invariants: a replicate depends on the
//! seed and its number alone, so that the outcome is the same on any number of threads; every fit begins at the fitted values.

use crate::data::table::Table;
use crate::fit::weights;
use crate::forecast::distribution::Cumulative;
use crate::forecast::forecast;
use crate::likelihood::groups;
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::options::{Options, Resampling, Stage};
use crate::report::Fit;
use crate::statistics::uncertainty::Certainty;
use crate::support::random::Stream;
use crate::support::threads;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostic, Diagnostics, Program};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// What replicates were made of, and what became of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Bootstrap {
    /// Replicates that were asked for.
    pub wanted: usize,
    /// Replicates that were fitted: fewer where a person or the budget of time stopped them.
    pub replicates: usize,
    /// Of these, those that came to no minimum; they do not count.
    pub failed: usize,
    /// What was drawn.
    pub kind: Resampling,
}

/// Fewest replicates that make an interval.
const FEWEST_REPLICATES: usize = 20;
/// Fewest groups that are drawn whole.
const FEWEST: usize = 3;
/// Tells the stream of the bootstrap from others of the same seed.
const SALT: u64 = 0xB007;

/// How other data are drawn.
enum Source {
    /// For each target its column, and how to draw its values.
    Model(Vec<(String, Draws)>),
    /// Groups of rows: rows are drawn within each.
    Rows(Vec<Vec<usize>>),
    /// Groups of rows that are drawn whole; the column that tells them apart, with its value in each.
    Groups(String, Vec<(f64, Vec<usize>)>),
}

/// How the values of a column are drawn; only where there is one in the data.
enum Draws {
    /// Normal around these, with these deviations.
    Normal(Vec<f64>, Vec<f64>),
    /// 1 with these probabilities.
    Bits(Vec<f64>),
    /// By distributions with these locations and arguments; of rows.
    By(Box<Cumulative>, Vec<Vec<f64>>, Vec<usize>),
}

fn refuse(message: &str, help: &str) -> Diagnostics {
    Diagnostic::error("bad-bootstrap", Default::default(), message).help(help).into()
}

/// What became of a replicate.
enum Replicate {
    /// It was stopped, or never begun.
    Stopped,
    /// It came to no minimum.
    Failed,
    /// The values of its parameters.
    Found(Vec<f64>),
}

/// Puts intervals by replicates into a fit, which began when `begun` says: they share its budget of time.
pub(crate) fn run(
    program: &Program,
    table: &Table,
    options: &Options<'_>,
    begun: Instant,
    fit: &mut Fit,
    again: &(dyn Fn(&Table, &Options<'_>) -> Result<Fit, Diagnostics> + Sync),
) -> Result<(), Diagnostics> {
    let Some(wanted) = options.bootstrap else { return Ok(()) };
    let (source, kind) = source(program, table, options, fit)?;
    let start_time = options.start_time.or(fit.clock.as_ref().filter(|c| c.start.0 == c.start.1).map(|c| c.start.0));
    let left = options.budget.map(|budget| (budget - begun.elapsed().as_secs_f64()).max(0.0));
    let once = Options {
        values: fit.values.clone(),
        budget: None,
        starts: Some(1),
        profile: false,
        bootstrap: None,
        holdout: None,
        progress: None,
        threads: 1,
        start_time,
        ..options.clone()
    };
    let done = AtomicUsize::new(0);
    let original: &Fit = fit;
    let names: Vec<&str> = original.parameters.iter().map(|p| p.name.as_str()).collect();
    let one = |k: usize, stop: Option<&AtomicBool>| -> Replicate {
        let stopped = || stop.is_some_and(|s| s.load(Ordering::Relaxed));
        if stopped() {
            return Replicate::Stopped;
        }
        let mut stream = Stream::new(options.seed, SALT + ((k as u64 + 1) << 16));
        let Some((other, doses)) = drawn(&source, table, original, options, &mut stream) else { return Replicate::Failed };
        let found = again(&other, &Options { doses, cancel: stop, ..once.clone() }).ok().filter(|f| f.converged);
        // One that was stopped says nothing, neither that there is no minimum nor where it is.
        if stopped() {
            return Replicate::Stopped;
        }
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        options.progress.iter().for_each(|tell| tell(Stage::Bootstrap, count, wanted, original.cost));
        let values = found.and_then(|found| names.iter().map(|name| found.parameter(name).map(|p| p.value)).collect());
        values.map_or(Replicate::Failed, Replicate::Found)
    };
    let effort = Effort::default();
    let all: Vec<Replicate> = effort
        .watched(options.cancel, left, |stop| threads::on(options.threads, || (0..wanted).into_par_iter().map(|k| one(k, stop)).collect()));
    let replicates = all.iter().filter(|r| !matches!(r, Replicate::Stopped)).count();
    let there: Vec<&Vec<f64>> = all.iter().filter_map(|r| if let Replicate::Found(values) = r { Some(values) } else { None }).collect();
    fit.bootstrap = Some(Bootstrap { wanted, replicates, failed: replicates - there.len(), kind });
    if replicates < wanted {
        let by = options.budget.filter(|_| effort.is_late()).map_or_else(String::new, |b| format!(" by the budget of {b} s"));
        fit.warnings.push(format!("the bootstrap was stopped{by}: {replicates} of {wanted} replicates were fitted"));
    }
    if there.len() < FEWEST_REPLICATES {
        fit.warnings.push(format!("{} replicates of the bootstrap came to a minimum, too few for intervals", there.len()));
        return Ok(());
    }
    // Where replicates leave what the data do not determine is where they began.
    let open = |j: usize| matches!(fit.uncertainty.certainty[j], Certainty::Unidentified | Certainty::Endless);
    let told: Vec<usize> = (0..fit.parameters.len()).filter(|&j| !open(j)).collect();
    for j in told {
        let p = &mut fit.parameters[j];
        let mut values: Vec<f64> = there.iter().map(|v| v[j]).collect();
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread = (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0)).sqrt();
        p.bootstrap = Some((spread, (quantile(&values, 0.025), quantile(&values, 0.975))));
    }
    Ok(())
}

/// A quantile of sorted numbers, linear between them (R's type 7).
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p * (sorted.len() - 1) as f64;
    let (low, share) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + share * (sorted[high] - sorted[low])
}

/// What is drawn: as the options say, else from the model where it says how errors are distributed.
fn source(program: &Program, table: &Table, options: &Options<'_>, fit: &Fit) -> Result<(Source, Resampling), Diagnostics> {
    if fit.weights > 0 {
        return Err(refuse("nets are not trained again for a bootstrap", "replace the net by a formula"));
    }
    let model = if fit.effects.is_empty() { by_model(program, table, options, fit)? } else { None };
    match (options.resampling, model) {
        (Some(Resampling::Parametric), None) => {
            let message = "the model does not say how to draw data: it has random effects, a log-likelihood of rows, a robust loss, \
                           values known from one side only, or no error that is left";
            Err(refuse(message, "draw cases: --resample cases"))
        }
        (None | Some(Resampling::Parametric), Some(draws)) => Ok((Source::Model(draws), Resampling::Parametric)),
        (None | Some(Resampling::Cases), _) => cases(program, table, options, fit).map(|s| (s, Resampling::Cases)),
    }
}

/// How the model draws data; `None`: it cannot.
fn by_model(program: &Program, table: &Table, options: &Options<'_>, fit: &Fit) -> Result<Option<Vec<(String, Draws)>>, Diagnostics> {
    if program.loglik().is_some() || fit.likelihood.loglik.is_nan() || fit.noise.iter().any(|n| n.censored > 0) {
        return Ok(None);
    }
    let rows = table.rows();
    let found = if fit.noise.is_empty() {
        None
    } else {
        Some(forecast(program, table, &Options { values: fit.values.clone(), ..options.clone() }, false)?)
    };
    let unobserved: Vec<usize> = (0..rows).filter(|&row| (0..fit.targets.len()).all(|t| fit.observed[t * rows + row].is_nan())).collect();
    let (scales, known) = weights(table, options, &unobserved)?;
    let mut all = Vec::new();
    for (t, name) in fit.targets.iter().enumerate() {
        let own = fit.targets[..t].iter().filter(|n| found.as_ref().is_none_or(|f| f.find(n, usize::MAX).is_none())).count();
        let declared = found
            .as_ref()
            .and_then(|f| f.find(name, own).map(|k| (f, k)))
            .and_then(|(f, k)| Some((f, k, f.quantities[k].noise.as_ref()?.0)));
        let predicted = fit.predicted[t * rows..(t + 1) * rows].to_vec();
        let draws = match declared {
            None => {
                let sigma = if known { 1.0 } else { fit.errors[t].unwrap_or(f64::NAN) };
                let Some(sigma) = Some(sigma).filter(|s| *s > 0.0 && s.is_finite()) else { return Ok(None) };
                Draws::Normal(predicted, (0..rows).map(|row| sigma / scales.get(row).copied().unwrap_or(1.0)).collect())
            }
            Some((_, _, d)) if d.name == "bernoulli" => Draws::Bits(predicted),
            Some((f, k, d)) => {
                let there: Vec<usize> = (0..rows).filter(|&row| fit.observed[t * rows + row].is_finite()).collect();
                let pick = |of: &[f64]| there.iter().map(|&row| of[row]).collect::<Vec<f64>>();
                let of = std::iter::once(pick(f.location(k))).chain(f.arguments(k).into_iter().map(pick)).collect();
                let Some(cumulative) = Cumulative::new(d) else { return Ok(None) };
                Draws::By(Box::new(cumulative), of, there)
            }
        };
        all.push((name.clone(), draws));
    }
    Ok(Some(all))
}

/// Rows or groups to draw from.
fn cases(program: &Program, table: &Table, options: &Options<'_>, fit: &Fit) -> Result<Source, Diagnostics> {
    let predictors = program.observables().map_or(program, |o| o.1);
    let layout = Layout::new(if program.kind() == ModelKind::Expression { predictors } else { program }, &options.values)?;
    let per = groups::column(&layout)?.map(String::from);
    let states = program.kind() != ModelKind::Expression;
    let by = |column: &str| {
        let (of_row, count) = table.groups(column);
        let values = table.column(column).unwrap_or(&[]);
        let rows = |g: usize| (0..of_row.len()).filter(|&row| of_row[row] == g).collect::<Vec<_>>();
        (0..count).map(|g| (rows(g).first().map_or(f64::NAN, |&row| values[row]), rows(g))).collect::<Vec<(f64, Vec<usize>)>>()
    };
    let whole = !fit.effects.is_empty() || states;
    match (whole, if states { options.group.clone().or(per.clone()) } else { per.clone() }) {
        (true, Some(_)) if fit.effects.is_empty() && per.is_some() => {
            Err(refuse("groups that have constants of their own cannot be drawn whole", "draw from the model: --resample parametric"))
        }
        (true, Some(column)) => {
            let groups = by(&column);
            if groups.len() < FEWEST {
                let message = format!("there are {} groups of `{column}`, too few to draw from", groups.len());
                return Err(refuse(&message, "draw from the model: --resample parametric"));
            }
            Ok(Source::Groups(column, groups))
        }
        (true, None) => Err(refuse(
            "the cases of a model with states are trajectories, and there is but one",
            "draw from the model: --resample parametric",
        )),
        (false, Some(column)) => Ok(Source::Rows(by(&column).into_iter().map(|g| g.1).collect())),
        (false, None) => Ok(Source::Rows(vec![(0..table.rows()).collect()])),
    }
}

/// Other data, with the doses given to them.
fn drawn(source: &Source, table: &Table, fit: &Fit, options: &Options<'_>, stream: &mut Stream) -> Option<(Table, Vec<crate::Dose>)> {
    match source {
        Source::Model(all) => {
            let rows = table.rows();
            let mut other = table.clone();
            for (t, (name, draws)) in all.iter().enumerate() {
                let mut values = table.column(name)?.to_vec();
                let there: Vec<usize> = (0..rows).filter(|&row| fit.observed[t * rows + row].is_finite()).collect();
                match draws {
                    Draws::Normal(around, by) => there.iter().for_each(|&row| values[row] = around[row] + by[row] * stream.normal()),
                    Draws::Bits(p) => there.iter().for_each(|&row| values[row] = f64::from(stream.uniform() < p[row])),
                    Draws::By(cumulative, of, rows) => {
                        rows.iter().zip(cumulative.draw(of, stream).ok()?).for_each(|(&row, x)| values[row] = x);
                    }
                }
                other = other.with_column(name, values);
            }
            Some((other, options.doses.clone()))
        }
        Source::Rows(groups) => {
            let rows: Vec<usize> = groups.iter().flat_map(|g| (0..g.len()).map(|_| g[stream.below(g.len())]).collect::<Vec<_>>()).collect();
            Some((table.select(&rows), options.doses.clone()))
        }
        Source::Groups(column, groups) => {
            let chosen: Vec<&(f64, Vec<usize>)> = groups.iter().map(|_| &groups[stream.below(groups.len())]).collect();
            let rows: Vec<usize> = chosen.iter().flat_map(|g| g.1.clone()).collect();
            let numbers = chosen.iter().enumerate().flat_map(|(k, g)| vec![k as f64; g.1.len()]).collect();
            let mut doses: Vec<crate::Dose> = options.doses.iter().filter(|d| d.group.is_none()).cloned().collect();
            for (k, group) in chosen.iter().enumerate() {
                let own = options.doses.iter().filter(|d| d.group == Some(group.0));
                doses.extend(own.map(|d| crate::Dose { group: Some(k as f64), ..d.clone() }));
            }
            Some((table.select(&rows).with_column(column, numbers).with_labels(column, vec![]), doses))
        }
    }
}

/// An error unless there are as many replicates as an interval needs.
pub(crate) fn check(count: usize) -> Result<(), Diagnostic> {
    if count >= FEWEST_REPLICATES {
        return Ok(());
    }
    let message = format!("{count} replicates are too few for 95 % intervals, which need {FEWEST_REPLICATES} at least");
    Err(Diagnostic::error("bad-bootstrap", Default::default(), message).help("200 give an error to 5 %, 2000 an interval to 2 %"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The budget of time is that of fit and replicates together: where the fit has used it up, the first replicates are stopped.
    #[test]
    fn a_budget_that_is_used_up_stops_replicates() {
        let text = "(param a 0) (param b 1) (+ a (* b x))";
        let program = neural_compiler::compile(text, &neural_compiler::Options::default()).expect("a model");
        let columns = [("x", [1.0, 2.0, 3.0, 4.0, 5.0]), ("y", [1.1, 1.9, 3.2, 3.9, 5.1])];
        let table = Table::new(columns.map(|(name, x)| (name.to_string(), x.to_vec()))).expect("a table");
        let options = Options { bootstrap: Some(50), budget: Some(60.0), ..Options::default() };
        let mut fit = crate::fit::fit(&program, &table, &Options { bootstrap: None, ..options.clone() }).expect("a fit");
        // A fit that ends when somebody says stop.
        let again = |_: &Table, options: &Options<'_>| {
            while !options.cancel.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                std::thread::yield_now();
            }
            Err(crate::fit::wrong("stopped", "stopped"))
        };
        let begun = Instant::now().checked_sub(Duration::from_secs(61)).expect("a time before");
        run(&program, &table, &options, begun, &mut fit, &again).expect("no error");
        assert_eq!(fit.bootstrap.as_ref().map(|b| (b.wanted, b.replicates, b.failed)), Some((50, 0, 0)));
        assert!(fit.warnings.iter().any(|w| w.contains("stopped by the budget of 60 s")), "{:?}", fit.warnings);
    }

    #[test]
    fn quantiles_are_those_of_r() {
        // quantile(c(1, 2, 4, 8, 16), c(0.025, 0.5, 0.975))
        let found = [0.025, 0.5, 0.975].map(|p| quantile(&[1.0, 2.0, 4.0, 8.0, 16.0], p));
        assert!(found.iter().zip([1.1, 4.0, 15.2]).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-12), "{found:?}");
    }
}
