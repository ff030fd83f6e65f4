//! Models found from data, for Python. In: columns by their headers, what is looked for, models to begin with, proposers; out: JSON as
//! `neuralc refine --json` has it. Invariants: the interpreter's lock is free while the search runs; Ctrl-C ends it between two rounds and
//! what there is is the result.

use crate::convert::errors::fit_error;
use neural_compiler::units::header::split;
use neural_compiler::{Diagnostic, Diagnostics};
use neural_compiler_discover::{Entry, Kind, Problem, Settings, named, refine};
use neural_compiler_fit::Table;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::time::Duration;

/// Either a target with the inputs of a formula, or states with the time and what tells trajectories apart.
type Wanted = (Option<(String, Vec<String>)>, Option<(Vec<String>, String, Option<String>)>);

/// Runs the search.
#[pyfunction]
pub(crate) fn refine_models(
    py: Python<'_>,
    columns: Vec<(String, PyReadonlyArray1<'_, f64>)>,
    wanted: Wanted,
    given: Vec<String>,
    proposers: Vec<String>,
    how: (f64, f64, u32),
) -> PyResult<String> {
    let (budget, holdout, seed) = how;
    let budget = Duration::try_from_secs_f64(budget)
        .ok()
        .filter(|b| !b.is_zero())
        .ok_or_else(|| PyValueError::new_err(format!("a budget is a positive number of seconds, {budget} is none")))?;
    let kind = match wanted {
        (Some((target, inputs)), None) => Kind::Formula { target, inputs },
        (None, Some((states, time, group))) => Kind::Ode { states, time, group },
        _ => return Err(PyValueError::new_err("give a target, or states")),
    };
    let name = |header: &str| split(header).map_or(header, |h| h.name).to_string();
    let units = columns.iter().filter_map(|(h, _)| split(h)).map(|h| (h.name.to_string(), h.scale.unit)).collect();
    let columns: Vec<(String, Vec<f64>)> = columns.iter().map(|(h, c)| (name(h), c.as_array().to_vec())).collect();
    let read = |path: &str| {
        let wrong = |e: std::io::Error| Diagnostic::error("cannot-read", Default::default(), format!("cannot read `{path}`: {e}"));
        std::fs::read_to_string(path).map_err(|e| Diagnostics::from(wrong(e)))
    };
    let search = || {
        let problem = Problem::new(Table::new(columns)?, kind, holdout, seed)?.with_units(units);
        let mut proposers = named(&problem, &proposers, &read)?;
        let given = given.into_iter().enumerate().map(|(k, text)| (format!("model {}", k + 1), text)).collect();
        let stop = || Python::attach(|py| py.check_signals().is_err());
        let mut tell = |_: &Entry| {};
        let mut settings = Settings { given, budget, dropped: Default::default(), tell: &mut tell, stop: &stop };
        refine(&problem, &mut proposers, &mut settings)
    };
    let outcome = py.detach(search).map_err(|e| fit_error(py, "", &e))?;
    let front: Vec<_> = outcome.front.iter().map(|j| j.to_json()).collect();
    let told = json!({
        "best": outcome.best.to_json(), "front": front, "tried": outcome.tried, "seconds": outcome.seconds, "warnings": outcome.warnings,
    });
    Ok(told.to_string())
}
