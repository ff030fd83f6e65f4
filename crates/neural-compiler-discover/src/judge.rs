//! A hypothesis before the data. In: a problem and the text of a model; out: the model with fitted constants and what speaks for it, or why
//! it is none.
//!
//! Fits are those of `neural-compiler-fit`: nothing here computes a model otherwise. Rows held out fit nothing and judge.
//! Invariants: a hypothesis is told by its exact text; the same text gets the same figures; figures of two hypotheses are of the same rows.

use crate::noise::Errors;
use crate::problem::{Kind, Problem};
use crate::text::complexity;
use neural_compiler::ops::real::Dtype;
use neural_compiler::units::Mode;
use neural_compiler::{Diagnostics, Options as Compile, Program, compile, domain};
use neural_compiler_fit::{Fit, Options, Parameter, Table, fit, save};
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The column of weights of errors that grow with the target, beside the data.
const RELATIVE: &str = "weight of errors that grow with the target";

/// How much a fit may compute (`Options::work`), so that hypotheses that are dear leave time for others. No clock decides: a hypothesis
/// gets the same figures on every machine, whatever else that does.
const WORK: usize = 1 << 25;

/// Errors below this share of what a column varies are taken for those of computing: of formulas, and of solutions of equations.
const FINEST: [f64; 2] = [1e-11, 1e-7];

/// How likely the rows held out are.
#[derive(Clone, Debug, PartialEq)]
pub struct Holdout {
    /// Numbers compared.
    pub n: usize,
    /// Their log-likelihood, with the standard deviations of the fit.
    pub loglik: f64,
    /// Its standard error: from how much single rows differ.
    pub stderr: f64,
    /// The share of the variance explained, the smallest of all columns; NaN where a column has none, as a single row.
    pub r2: f64,
}

/// A hypothesis that was fitted and judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The model with the fitted values in place.
    pub text: String,
    /// The model as it was fitted: as proposed, with what is known of errors.
    pub source: String,
    /// The text as proposed.
    pub proposed: String,
    /// Who proposed it.
    pub proposer: String,
    /// Why.
    pub why: String,
    /// Operations, names and numbers of its formulas.
    pub complexity: usize,
    /// The log-likelihood of the rows fitted.
    pub loglik: f64,
    /// Numbers estimated, and compared.
    pub counts: (f64, usize),
    /// Akaike's criterion with the correction for few data.
    pub aicc: f64,
    /// The Bayesian criterion.
    pub bic: f64,
    /// Whether it leaves nothing but errors of computing.
    pub exact: bool,
    /// The log-likelihood of all rows, those held out included, errors at least as large as those of computing: what the front
    /// compares.
    pub fitness: f64,
    /// The length in nats of constants, structure and what is left, twice: what decides. Smaller is better.
    pub score: f64,
    /// What the rows held out say.
    pub holdout: Option<Holdout>,
    /// The fitted constants.
    pub params: Vec<Parameter>,
    /// What is left in the residuals, in words; nothing where that is noise.
    pub residual: Vec<String>,
    /// Operations that may leave their domain within the ranges of the data; none: it is proved that none does.
    pub domain: Vec<String>,
    /// Whether errors were taken to grow with the target.
    pub relative: bool,
    /// The fit itself.
    pub fit: Fit,
}

impl Judged {
    /// The figures, for programs.
    pub fn to_json(&self) -> Value {
        let number = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        let ci = |p: &Parameter| p.ci95.map_or(Value::Null, |(low, high)| json!([number(low), number(high)]));
        let error = |p: &Parameter| p.stderr.map_or(Value::Null, number);
        let param = |p: &Parameter| json!({"name": p.name, "value": number(p.value), "stderr": error(p), "ci95": ci(p)});
        let holdout = self
            .holdout
            .as_ref()
            .map_or(Value::Null, |h| json!({"n": h.n, "loglik": number(h.loglik), "stderr": number(h.stderr), "r2": number(h.r2)}));
        json!({
            "text": self.text, "loglik": number(self.loglik), "complexity": self.complexity,
            "params": self.params.iter().map(param).collect::<Vec<_>>(), "holdout": holdout,
        })
    }
}

/// Fits hypotheses of a problem.
pub struct Judge<'a> {
    /// The problem.
    pub problem: &'a Problem,
    table: Table,
    /// Seconds a fit may take: what is left of the time of the run.
    pub budget: f64,
    /// When no fit is begun any more.
    pub until: Instant,
    /// Whether errors may grow with the target.
    relative: bool,
    /// What is known of the errors of states.
    errors: Errors,
}

impl<'a> Judge<'a> {
    /// Of a problem.
    pub fn new(problem: &'a Problem) -> Judge<'a> {
        let mut columns: Vec<(String, Vec<f64>)> = problem.table.names().iter().map(|n| (n.clone(), problem.column(n).to_vec())).collect();
        let mut relative = false;
        if let Kind::Formula { target, .. } = &problem.kind {
            let y = problem.column(target);
            let largest = y.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
            // A zero has no error that is a share of it: where there is one, errors do not grow with the target. A millionth of the largest
            // value is as good as zero.
            let least = y.iter().fold(f64::INFINITY, |m: f64, y| m.min(y.abs()));
            let weights: Vec<f64> = y.iter().map(|y| (largest / y.abs()).powi(2)).collect();
            relative = least > 1e-6 * largest;
            if relative {
                columns.push((RELATIVE.to_string(), weights));
            }
        }
        let table = Table::new(columns).unwrap_or_else(|_| problem.table.clone());
        Judge { problem, table, budget: 20.0, until: Instant::now() + Duration::from_secs(1 << 30), relative, errors: Errors::of(problem) }
    }

    /// The data, with what fits need beside them.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The options of a fit.
    pub fn options(&self, relative: bool) -> Options<'static> {
        let common = Options {
            holdout: (self.problem.holdout > 0.0).then_some(self.problem.holdout),
            seed: self.problem.seed,
            threads: 1,
            budget: Some(self.budget),
            work: Some(WORK),
            ..Options::default()
        };
        match &self.problem.kind {
            Kind::Formula { target, .. } => {
                Options { target: Some(target.clone()), starts: Some(3), weights_column: relative.then(|| RELATIVE.to_string()), ..common }
            }
            Kind::Ode { time, group, .. } => {
                Options { time: Some(time.clone()), group: group.clone(), starts: Some(1), tolerance: Some(1e-6), ..common }
            }
        }
    }

    /// Compiles a text; units that do not fit are an error, as everywhere.
    pub fn compile(&self, text: &str) -> Result<Program, Diagnostics> {
        let inputs = match &self.problem.kind {
            Kind::Formula { inputs, .. } => Some(inputs.iter().map(|n| (n.clone(), None)).collect()),
            Kind::Ode { .. } => None,
        };
        compile(text, &Compile { inputs, units: Mode::Refuse, ..Compile::default() })
    }

    /// Compiles, checks, fits and judges; what comes of a fit that `cancel` ended is no judgement.
    pub fn judge(&self, text: &str, (proposer, why): (&str, &str), cancel: Option<&AtomicBool>) -> Result<Judged, Diagnostics> {
        let program = self.with_errors(self.compile(text)?)?;
        self.problem.same_units(&program)?;
        let domain = self.domain(&program)?;
        let whole = |relative: bool| {
            let options = Options { cancel, ..self.options(relative) };
            fit(&program, &self.table, &options).map(|f| (f, relative))
        };
        let mut found = whole(false)?;
        self.problem.same_columns(&found.0.targets)?;
        if self.relative
            && let Ok(other) = whole(true)
            && self.fitness(&other.0, true) > self.fitness(&found.0, false)
        {
            found = other;
        }
        let (fit, relative) = found;
        let source = program.scheme().into_owned();
        let complexity = complexity(&source);
        let (k, n) = (fit.likelihood.k, fit.likelihood.n);
        let holdout = self.held_out(&fit, relative);
        let fitness = self.fitness(&fit, relative) + holdout.as_ref().map_or(0.0, |h| h.loglik);
        let score = -2.0 * fitness + k * (n as f64).ln() + 2.0 * complexity as f64;
        Ok(Judged {
            text: save::fitted(&source, &fit),
            proposer: proposer.into(),
            why: why.into(),
            complexity,
            loglik: if fit.likelihood.loglik.is_finite() { fit.likelihood.loglik } else { self.fitness(&fit, relative) },
            counts: (k, n),
            aicc: fit.likelihood.aicc(),
            bic: fit.likelihood.bic(),
            exact: self.exact(&fit),
            fitness,
            score: if score.is_finite() && !fit.targets.is_empty() { score } else { f64::INFINITY },
            holdout,
            params: fit.parameters.clone(),
            residual: left(&fit),
            domain,
            proposed: text.into(),
            source,
            relative,
            fit,
        })
    }

    /// The program with what is known of the errors of states, where it says nothing itself.
    fn with_errors(&self, program: Program) -> Result<Program, Diagnostics> {
        let Kind::Ode { states, .. } = &self.problem.kind else { return Ok(program) };
        if !self.errors.grow() || program.observables().is_some() {
            return Ok(program);
        }
        self.compile(&format!("{}\n{}", program.scheme(), self.errors.declared(self.problem, states).join("\n")))
    }

    /// What may leave its domain within the ranges of the data and the bounds of the constants; nothing: it is proved that nothing does.
    fn domain(&self, program: &Program) -> Result<Vec<String>, Diagnostics> {
        let graph = program.graph()?;
        let range = |name: &str| {
            let column = self.problem.table.column(name)?;
            let ends = column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
            (ends.0 <= ends.1).then_some(ends)
        };
        let ranges: Vec<Option<(f64, f64)>> = program.inputs().iter().map(|i| range(&i.name)).collect();
        Ok(domain::check(&graph, &ranges, Dtype::F64).into_iter().map(|d| d.message).collect())
    }

    fn per_target<'f>(&self, fit: &'f Fit) -> impl Iterator<Item = (&'f str, &'f [f64], &'f [f64])> {
        let rows = self.table.rows();
        fit.targets
            .iter()
            .enumerate()
            .map(move |(k, name)| (name.as_str(), &fit.observed[k * rows..(k + 1) * rows], &fit.predicted[k * rows..(k + 1) * rows]))
    }

    /// The square of the share below which errors are those of computing.
    fn least(&self) -> f64 {
        FINEST[usize::from(matches!(self.problem.kind, Kind::Ode { .. }))].powi(2)
    }

    fn weight(&self, relative: bool, row: usize) -> f64 {
        if relative { self.table.column(RELATIVE).map_or(1.0, |w| w[row]) } else { 1.0 }
    }

    /// The log-likelihood of the rows fitted, errors at least as large as those of computing: models that are exact up to these differ
    /// by how complex they are, not by rounding.
    fn fitness(&self, fit: &Fit, relative: bool) -> f64 {
        let one = |(_, observed, predicted): (&str, &[f64], &[f64])| {
            let rows: Vec<usize> = (0..observed.len()).filter(|&i| observed[i].is_finite()).collect();
            let n = rows.len() as f64;
            let mean = rows.iter().map(|&i| observed[i]).sum::<f64>() / n;
            let squares = |f: &dyn Fn(usize) -> f64| rows.iter().map(|&i| f(i).powi(2)).sum::<f64>() / n;
            let weighted = |i: usize| self.weight(relative, i).sqrt();
            let left = squares(&|i| (observed[i] - predicted[i]) * weighted(i));
            let least = self.least() * squares(&|i| if relative { observed[i] * weighted(i) } else { observed[i] - mean });
            let variance = left.max(least).max(1e-300);
            -0.5 * n * ((TAU * variance).ln() + 1.0) + rows.iter().map(|&i| weighted(i).ln()).sum::<f64>()
        };
        if fit.likelihood.declared {
            return fit.likelihood.loglik;
        }
        self.per_target(fit).map(one).sum()
    }

    fn exact(&self, fit: &Fit) -> bool {
        let one = |(_, observed, predicted): (&str, &[f64], &[f64])| {
            let rows = (0..observed.len()).filter(|&i| observed[i].is_finite());
            let (left, all) =
                rows.fold((0.0, 0.0), |s: (f64, f64), i| (s.0 + (observed[i] - predicted[i]).powi(2), s.1 + observed[i].powi(2)));
            left <= self.least() * all
        };
        self.per_target(fit).all(one)
    }

    fn held_out(&self, fit: &Fit, relative: bool) -> Option<Holdout> {
        let mut each: Vec<f64> = Vec::new();
        let mut r2 = f64::INFINITY;
        for (name, observed, predicted) in self.per_target(fit) {
            let data = self.table.column(name)?;
            let fitted: Vec<usize> = (0..data.len()).filter(|&i| observed[i].is_finite()).collect();
            let out: Vec<usize> = (0..data.len()).filter(|&i| !observed[i].is_finite() && data[i].is_finite()).collect();
            if out.is_empty() {
                return None;
            }
            // Errors that grow with the state are as large as the model says.
            let own = fit.parameter(&Errors::name(name)).filter(|_| self.errors.grow()).map(|p| p.value);
            let weight = |i: usize| own.map_or(self.weight(relative, i), |c| self.errors.size(name, c, predicted[i]).powi(-2));
            let square = |i: usize| (data[i] - predicted[i]).powi(2) * weight(i);
            let mean = fitted.iter().map(|&i| data[i]).sum::<f64>() / fitted.len() as f64;
            let size = |i: usize| if relative { data[i].powi(2) * weight(i) } else { (data[i] - mean).powi(2) };
            let spread = fitted.iter().map(|&i| size(i)).sum::<f64>() / fitted.len() as f64;
            let variance = fitted.iter().map(|&i| square(i)).sum::<f64>() / fitted.len() as f64;
            let variance = if own.is_some() { 1.0 } else { variance.max(self.least() * spread).max(1e-300) };
            each.extend(out.iter().map(|&i| -0.5 * ((TAU * variance).ln() + square(i) / variance) + 0.5 * weight(i).ln()));
            let center = out.iter().map(|&i| data[i]).sum::<f64>() / out.len() as f64;
            let (rest, all) =
                out.iter().fold((0.0, 0.0), |s, &i| (s.0 + (data[i] - predicted[i]).powi(2), s.1 + (data[i] - center).powi(2)));
            // A comparison with NaN keeps the number: what is not known must be kept by hand.
            let own = if all > 0.0 { 1.0 - rest / all } else { f64::NAN };
            r2 = if r2.is_nan() || own.is_nan() { f64::NAN } else { r2.min(own) };
        }
        let n = each.len();
        let loglik: f64 = each.iter().sum();
        let mean = loglik / n as f64;
        let scatter = each.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0).max(1.0);
        Some(Holdout { n, loglik, stderr: (scatter * n as f64).sqrt(), r2 })
    }
}

/// What residuals show that noise does not.
fn left(fit: &Fit) -> Vec<String> {
    let mut found = Vec::new();
    for d in &fit.diagnostics {
        if d.runs_p < 0.01 && (d.runs as f64) < d.runs_expected {
            found.push(format!("residuals of `{}` run together ({} runs where chance makes {:.0})", d.name, d.runs, d.runs_expected));
        }
        if let Some(far) = d.outliers.first() {
            found.push(format!("row {} of `{}` is {:.1} standard deviations off", far.row, d.name, far.residual));
        }
    }
    found
}
