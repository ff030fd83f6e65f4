//! Fitting for Python. In: a compiled model, columns of numbers, options as a dict; out: a dict of plain data.
//! Invariants: the interpreter's lock is free while a fit runs; Ctrl-C ends the search and the best so far is the result; a second
//! one while it winds up raises `KeyboardInterrupt` when that is done.

use crate::classes::PyCore;
use crate::convert::errors::fit_error;
use crate::fit::options::{DoseRow, options};
use neural_compiler::units::header::Asked;
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use neural_compiler_fit::plot::{self, Drawing, Line, Look};
use neural_compiler_fit::remember::{Remembered, check_weights};
use neural_compiler_fit::{
    Axis, Band, Check, Dose, DoseTable, Ends, Fit, Known, Options, Other, Side, Stage, Table, bands, compare, fit, fit_at_once,
    predict_told, save, saved_bands, simulate, text, to_json, unsaid_of_bands, weights,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a running fit looks for Ctrl-C and tells how it goes.
const LOOK: Duration = Duration::from_millis(50);

/// Columns by name.
type Columns<'py> = Vec<(String, PyReadonlyArray1<'py, f64>)>;

fn table(columns: Columns<'_>) -> Result<Table, Diagnostics> {
    match columns.iter().map(|(name, c)| Some((name.clone(), c.as_slice().ok()?))).collect::<Option<Vec<_>>>() {
        Some(slices) => Table::copied(slices).map_err(Into::into),
        // Columns with gaps between their numbers.
        None => Table::new(columns.into_iter().map(|(name, c)| (name, c.as_array().to_vec()))).map_err(Into::into),
    }
}

/// What is wrong with the data, or with the model given these data.
fn blame(py: Python<'_>, core: &PyCore, found: &Diagnostics) -> PyErr {
    fit_error(py, core.0.program.source(), found)
}

/// What is held is valid whatever happened to the thread that held it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Columns that hold something else than numbers: their names, and whether their first value is a number all the same.
type Others = Vec<(String, bool)>;

fn table_beside(columns: Columns<'_>, others: Others) -> Result<Table, Diagnostics> {
    Ok(table(columns)?.beside(others.into_iter().map(|(name, nearly)| Other { name, nearly }).collect()))
}

/// The table as a model takes it, with what options say of it besides, in the model's units.
fn table_for(
    core: &PyCore,
    columns: Columns<'_>,
    others: Others,
    options: &Bound<'_, PyDict>,
    how: &Options<'_>,
    fitting: bool,
) -> PyResult<Table> {
    let py = options.py();
    let named = [&how.target, &how.time, &how.group, &how.sigma_column, &how.weights_column];
    let named: Vec<&str> = named.into_iter().flatten().map(String::as_str).collect();
    let table = more(table_beside(columns, others).map_err(|e| blame(py, core, &e))?, options)?;
    let asked =
        Asked { named: &named, time: how.time.as_deref(), target: how.target.as_deref(), sigma: how.sigma_column.as_deref(), fitting };
    let table = table.in_units_of(&core.0.program, &asked).map_err(|e| blame(py, core, &e))?;
    // A fit says it in its report.
    if let (Some(remark), false) = (table.remark(), fitting) {
        let remark = std::ffi::CString::new(remark.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyUserWarning>(), &remark, 2)?;
    }
    Ok(table)
}

/// A table with what options say of it besides: columns in which some values are known from one side only (-1 below, 1 above, 0 as they
/// are), and what the numbers of columns stand for.
fn more(table: Table, options: &Bound<'_, PyDict>) -> PyResult<Table> {
    let given = |key: &str| options.get_item(key).map(|v| v.filter(|v| !v.is_none()));
    let mut table = table;
    if let Some(list) = given("censored")? {
        let columns: Vec<(String, Vec<f64>, Vec<i8>)> = list.extract()?;
        let side = |s: i8| match s {
            0 => Side::Seen,
            s if s < 0 => Side::Below,
            _ => Side::Above,
        };
        table = table.with_censored(columns.into_iter().map(|(name, values, sides)| (name, values, sides.into_iter().map(side).collect())));
    }
    if let Some(list) = given("labels")? {
        let columns: Vec<(String, Vec<String>)> = list.extract()?;
        table = columns.into_iter().fold(table, |table, (name, labels)| table.with_labels(&name, labels));
    }
    Ok(table)
}

/// Fits a model. `progress` is called now and then with the starts followed, how many there may be, and the best cost.
#[pyfunction]
pub(crate) fn fit_model<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Columns<'py>,
    others: Others,
    options: &Bound<'py, PyDict>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let how = self::options(options)?;
    let table = table_for(core, columns, others, options, &how, true)?;
    let found = fitted(py, core, &table, how, progress.as_ref())?;
    report(py, core, found)
}

/// Fits a model on another thread, so that Ctrl-C is heard and progress told meanwhile.
fn fitted(py: Python<'_>, core: &PyCore, table: &Table, how: Options<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Fit> {
    let program = &core.0.program;
    if let Some(found) = py.detach(|| fit_at_once(program, table, &how)) {
        return Ok(found);
    }
    let cancel = AtomicBool::new(false);
    let news: Mutex<Option<(usize, usize, f64)>> = Mutex::new(None);
    let tell = |stage: Stage, done: usize, of: usize, cost: f64| match stage {
        Stage::Starts | Stage::Training => *held(&news) = Some((done, of, cost)),
        Stage::Profile | Stage::Bootstrap | Stage::Pass(_) | Stage::Trajectories(_) => {}
    };
    let how = Options { cancel: Some(&cancel), progress: Some(&tell), ..how };
    let mut interrupted: Option<PyErr> = None;
    let outcome = std::thread::scope(|scope| {
        let (send, receive) = channel();
        let receive = Mutex::new(receive);
        let how = &how;
        let running = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Nobody listens any more only when this thread is being unwound.
            let _ = send.send(fit(program, table, how));
        });
        if running.is_err() {
            // No thread to be had: the fit runs here, and cannot be interrupted.
            return Some(py.detach(|| fit(program, table, how)));
        }
        loop {
            let ended = match py.detach(|| held(&receive).recv_timeout(LOOK)) {
                Ok(outcome) => Some(Some(outcome)),
                Err(RecvTimeoutError::Disconnected) => Some(None),
                Err(RecvTimeoutError::Timeout) => None,
            };
            // Also when it has ended: a fit that is over at the first look tells how it went all the same.
            let latest = held(&news).take();
            let told = match (progress, latest) {
                (Some(f), Some(latest)) => f.call1(latest).map(|_| ()),
                _ => Ok(()),
            };
            if let Err(error) = py.check_signals().and(told) {
                // The first Ctrl-C asks for what there is; anything else, or a second one, is an error.
                if cancel.swap(true, Ordering::Relaxed) || !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
                    interrupted = Some(error);
                }
            }
            if let Some(outcome) = ended {
                return outcome;
            }
        }
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    match outcome {
        Some(Ok(found)) => Ok(found),
        Some(Err(e)) => Err(blame(py, core, &e)),
        None => Err(PyValueError::new_err("the fit ended without a result")),
    }
}

/// A model to compare: its name, its text, the columns it takes, what they hold besides, and options.
type Contender<'py> = (String, Bound<'py, PyCore>, Columns<'py>, Others, Bound<'py, PyDict>);

/// What to know of single fits, by the number of the model.
type Remarks = Vec<(usize, String)>;

/// Several models of the same data: the report as JSON and as text, and what to know of each.
#[pyfunction]
pub(crate) fn compare_models(py: Python<'_>, models: Vec<Contender<'_>>) -> PyResult<(String, String, Remarks)> {
    let cores: Vec<_> = models.iter().map(|m| m.1.borrow()).collect();
    let programs: Vec<&Program> = cores.iter().map(|core| &core.0.program).collect();
    let mut fits: Vec<(String, Fit)> = Vec::new();
    for ((name, _, columns, others, options), core) in models.into_iter().zip(&cores) {
        let how = self::options(&options)?;
        let table = table_for(core, columns, others, &options, &how, true)?;
        // What one of the models has no use for may be for another.
        how.check().and_then(|()| how.check_purpose(&programs)).map_err(|e| blame(py, core, &e))?;
        let found = fitted(py, core, &table, how.suited_to(&core.0.program), None)?;
        fits.push((name, found));
    }
    let named: Vec<(String, &Fit)> = fits.iter().map(|(name, fit)| (name.clone(), fit)).collect();
    let found = compare(&named).map_err(|e| fit_error(py, "", &e))?;
    let open = fits.iter().enumerate().filter(|(_, (_, fit))| !fit.converged).map(|(k, (_, fit))| (k, fit.message.clone())).collect();
    Ok((found.to_json().to_string(), found.to_text(), open))
}

fn report<'py>(py: Python<'py>, core: &PyCore, fit: Fit) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let parameters = fit.parameters.iter().map(|p| {
        let one = PyDict::new(py);
        one.set_item("name", &p.name)?;
        one.set_item("value", p.value)?;
        one.set_item("stderr", p.stderr)?;
        one.set_item("ci95", p.ci95)?;
        one.set_item("profile", p.profile)?;
        one.set_item("bootstrap", p.bootstrap)?;
        one.set_item("note", &p.note)?;
        Ok(one)
    });
    all.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
    let values = fit.values.iter().map(|(name, shape, numbers)| (name, shape.dims(), PyArray1::from_slice(py, numbers)));
    all.set_item("values", values.collect::<Vec<_>>())?;
    all.set_item("covariance", PyArray1::from_slice(py, &fit.uncertainty.covariance))?;
    all.set_item("freedom", fit.uncertainty.freedom)?;
    all.set_item("cost", fit.cost)?;
    all.set_item("rmse", fit.rmse)?;
    all.set_item("r2", fit.r2)?;
    let columns = fit.columns.iter().map(|c| (&c.name, c.n, c.rmse, c.r2));
    all.set_item("columns", columns.collect::<Vec<_>>())?;
    let held_out = fit.holdout_columns.iter().map(|c| (&c.name, c.n, c.rmse, c.r2));
    all.set_item("holdout_columns", held_out.collect::<Vec<_>>())?;
    all.set_item("noise", fit.noise.iter().map(|n| (&n.column, &n.words, n.censored)).collect::<Vec<_>>())?;
    all.set_item("effects", fit.effects.clone())?;
    all.set_item("log_prior", fit.log_prior)?;
    let likelihood = &fit.likelihood;
    // What rounding leaves says how probable nothing is.
    let criterion = |x: f64| if fit.exact { f64::NAN } else { x };
    all.set_item("loglik", criterion(likelihood.loglik))?;
    all.set_item("k", likelihood.k)?;
    all.set_item("sigmas", likelihood.sigmas)?;
    all.set_item("aic", criterion(likelihood.aic()))?;
    all.set_item("aicc", criterion(likelihood.aicc()))?;
    all.set_item("bic", criterion(likelihood.bic()))?;
    all.set_item("reduced_chi_square", fit.reduced_chi_square())?;
    let undetermined = fit.undetermined.iter().map(|u| {
        let found = u.determined.iter().map(|c| (&c.text, c.value, c.stderr, c.exact)).collect::<Vec<_>>();
        (&u.parameters, found)
    });
    all.set_item("undetermined", undetermined.collect::<Vec<_>>())?;
    all.set_item("observations", fit.observations)?;
    all.set_item("converged", fit.converged)?;
    all.set_item("describes_data", fit.describes_data)?;
    all.set_item("message", &fit.message)?;
    all.set_item("warnings", &fit.warnings)?;
    all.set_item("tried", fit.tried)?;
    all.set_item("agreed", fit.agreed)?;
    all.set_item("targets", &fit.targets)?;
    all.set_item("source", save::fitted(&core.0.program.scheme(), &fit))?;
    all.set_item("start_time", fit.clock.as_ref().and_then(|c| c.kept()))?;
    all.set_item("group_starts", fit.clock.as_ref().map_or(vec![], |c| c.groups.clone()))?;
    all.set_item("holdout", fit.holdout)?;
    let check = |c: &Check| -> PyResult<_> {
        let dict = PyDict::new(py);
        dict.set_item("holds", c.holds)?;
        [("shift", c.shift), ("share", c.share), ("stderr", c.error)].iter().try_for_each(|(k, x)| dict.set_item(k, x))?;
        dict.set_item("sentence", c.sentence())?;
        Ok(dict)
    };
    all.set_item("check", fit.check.as_ref().map(check).transpose()?)?;
    all.set_item("weights", fit.weights)?;
    all.set_item("table", text::table(&fit))?;
    all.set_item("remarks", text::remarks(&fit))?;
    all.set_item("json", to_json(&fit).to_string())?;
    let axis = fit.axis.as_ref().map(|a| (&a.name, PyArray1::from_slice(py, &a.values), PyArray1::from_slice(py, &a.trajectory)));
    all.set_item("axis", axis)?;
    all.set_item("observed", PyArray1::from_vec(py, fit.observed))?;
    all.set_item("predicted", PyArray1::from_vec(py, fit.predicted))?;
    all.set_item("standard", PyArray1::from_vec(py, fit.standard))?;
    Ok(all)
}

/// The name of a group as it is compared.
#[pyfunction]
pub(crate) fn group_name(text: &str) -> String {
    neural_compiler_fit::group_name(text)
}

/// A number as a report shows it, with the digits its error leaves meaningful, and two more.
#[pyfunction]
pub(crate) fn fit_number(x: f64, error: Option<f64>) -> String {
    text::shown(x, error)
}

/// Warns of what could not be made sure of.
fn warn(py: Python<'_>, why: Vec<String>) -> PyResult<()> {
    for why in why {
        let text = std::ffi::CString::new(why.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyUserWarning>(), &text, 3)?;
    }
    Ok(())
}

/// The predictions of a model at its declared values, column by column.
#[pyfunction]
pub(crate) fn predict_model<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Columns<'py>,
    others: Others,
    options: &Bound<'py, PyDict>,
) -> PyResult<Vec<(String, Bound<'py, PyArray1<f64>>)>> {
    let how = self::options(options)?;
    let table = table_for(core, columns, others, options, &how, false)?;
    let (found, doubts) = py.detach(|| predict_told(&core.0.program, &table, &how)).map_err(|e| blame(py, core, &e))?;
    warn(py, doubts)?;
    Ok(found.into_iter().map(|(name, column)| (name, PyArray1::from_vec(py, column))).collect())
}

/// A prediction by name, with the columns that say how sure it is.
type Sure<'py> = (String, Vec<Bound<'py, PyArray1<f64>>>);

/// How sure predictions are: of each its name, and value, standard error, ends of its interval and of that of observations. `found`: the
/// fit as JSON; without it what the model remembers of its own.
#[pyfunction]
pub(crate) fn predict_bands<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Columns<'py>,
    others: Others,
    options: &Bound<'py, PyDict>,
    found: Option<&str>,
) -> PyResult<Vec<Sure<'py>>> {
    let how = self::options(options)?;
    let table = table_for(core, columns, others, options, &how, false)?;
    let known = match found.map(|text| serde_json::from_str(text).ok().and_then(|json| Known::of_json(&json))) {
        Some(None) => return Err(PyValueError::new_err("the fit has no covariance, so that nothing says how sure predictions are")),
        Some(Some(known)) => Some(known),
        None => None,
    };
    let program = &core.0.program;
    let all = py.detach(|| match &known {
        Some(known) => bands(program, &table, &how, known),
        None => saved_bands(program, &table, &how),
    });
    let one = |b: Band| {
        let parts = [b.value, b.stderr, b.confidence.0, b.confidence.1, b.prediction.0, b.prediction.1];
        (b.name, parts.into_iter().map(|numbers| PyArray1::from_vec(py, numbers)).collect())
    };
    let all = all.map_err(|e| blame(py, core, &e))?;
    warn(py, unsaid_of_bands(&all))?;
    Ok(all.into_iter().map(one).collect())
}

/// States and observables of a model by name, each with its sizes and its numbers row by row, set by set; and how many sets there are.
type Simulated<'py> = (usize, Vec<(String, Vec<usize>, Bound<'py, PyArray1<f64>>)>);

/// Trajectories of a model. `given`: values by the names of numbers, one for all sets or one for each.
#[pyfunction]
pub(crate) fn simulate_model<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Columns<'py>,
    options: &Bound<'py, PyDict>,
    given: Vec<(String, Vec<f64>)>,
) -> PyResult<Simulated<'py>> {
    let how = self::options(options)?;
    let table = table(columns).map_err(|e| blame(py, core, &e))?;
    let found = py.detach(|| simulate(&core.0.program, &table, &how, &given)).map_err(|e| blame(py, core, &e))?;
    warn(py, found.warnings.clone())?;
    let width = found.quantities.iter().map(|q| q.1.len()).sum::<usize>();
    let mut at = 0;
    let mut one = |(name, shape): &(String, Shape)| {
        let numbers = found.values.chunks(width).flat_map(|row| row[at..at + shape.len()].iter().copied()).collect();
        at += shape.len();
        (name.clone(), shape.dims().to_vec(), PyArray1::from_vec(py, numbers))
    };
    Ok((found.sets, found.quantities.iter().map(&mut one).collect()))
}

/// Which of these headers of a table of doses is the time, the amount, the rate, the state and the group; `called`: what time and group
/// are called.
#[pyfunction]
pub(crate) fn dose_columns(
    py: Python<'_>,
    core: &PyCore,
    headers: Vec<String>,
    called: (Option<String>, Option<String>),
) -> PyResult<(usize, usize, [Option<usize>; 3])> {
    let found = dose_table(&core.0.program, &headers, &called).map_err(|d| blame(py, core, &d.into()))?;
    Ok((found.time, found.amount, [found.rate, found.target, found.group]))
}

/// Rows of that table in the units of the model.
#[pyfunction]
pub(crate) fn doses_in_units(
    py: Python<'_>,
    core: &PyCore,
    headers: Vec<String>,
    called: (Option<String>, Option<String>),
    rows: Vec<DoseRow>,
) -> PyResult<Vec<DoseRow>> {
    let program = &core.0.program;
    let wrong = |d: Diagnostic| blame(py, core, &d.into());
    let found = dose_table(program, &headers, &called).map_err(wrong)?;
    let one = |(k, row): (usize, DoseRow)| {
        let (time, amount, rate, target, group) = row;
        let dose = found.in_units_of(program, Dose { time, amount, rate, target, group }, k).map_err(wrong)?;
        Ok((dose.time, dose.amount, dose.rate, dose.target, dose.group))
    };
    rows.into_iter().enumerate().map(one).collect()
}

fn dose_table(program: &Program, headers: &[String], called: &(Option<String>, Option<String>)) -> Result<DoseTable, Diagnostic> {
    DoseTable::new(program, &headers.iter().map(String::as_str).collect::<Vec<_>>(), called.0.as_deref(), called.1.as_deref())
}

/// What a saved model remembers of how trajectories are read and solved, as options, for a table with these columns; `group`: the column
/// the user names.
#[pyfunction]
pub(crate) fn remembered<'py>(py: Python<'py>, core: &PyCore, columns: Vec<String>, group: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
    let found = Remembered::of(&core.0.program).and_then(|known| known.within(columns.iter().map(String::as_str), group));
    let known = found.map_err(|d| blame(py, core, &d.into()))?;
    let options = PyDict::new(py);
    [("time", known.time), ("group", known.group)].into_iter().try_for_each(|(name, column)| options.set_item(name, column))?;
    options.set_item("method", known.method)?;
    [("step", known.step), ("rtol", known.tolerance), ("atol", known.absolute_tolerance)]
        .into_iter()
        .try_for_each(|(name, x)| options.set_item(name, x))?;
    Ok(options)
}

/// A fitted text with the record of its fit, `found` being what `fit_model` gave as JSON, `given` the options as JSON, and `weights` the
/// file with the weights of its nets.
#[pyfunction]
pub(crate) fn fit_saved(source: &str, found: &str, columns: Columns<'_>, given: &str, weights: Option<&[u8]>) -> PyResult<String> {
    let json = |text: &str| text.parse().map_err(|e: serde_json::Error| PyValueError::new_err(e.to_string()));
    let table = table(columns).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let sha256 = (save::sha256_of_columns(&table), "columns");
    let weights = weights.map(save::sha256).transpose()?;
    let from = save::Provenance { data: "columns given to Python".into(), rows: table.rows(), sha256, options: json(given)?, weights };
    Ok(save::with_record(source, &json(found)?, &from))
}

/// The weights of a model's nets as a safetensors file; `None` for a model without nets. `options` hold the fitted values.
#[pyfunction]
pub(crate) fn weights_to_bytes<'py>(py: Python<'py>, core: &PyCore, options: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let found = weights::to_bytes(&core.0.program, &self::options(options)?.values).map_err(|e| blame(py, core, &e.into()))?;
    Ok(found.map(|bytes| PyBytes::new(py, &bytes)))
}

/// A weight: name, shape, numbers.
type Weight<'py> = (String, Vec<usize>, Bound<'py, PyArray1<f64>>);

/// The weights a model needs, from the bytes of a safetensors file, which is the one it was saved with.
#[pyfunction]
pub(crate) fn weights_from_bytes<'py>(py: Python<'py>, core: &PyCore, bytes: &[u8]) -> PyResult<Vec<Weight<'py>>> {
    let program = &core.0.program;
    let found = weights::from_bytes(program, bytes).and_then(|found| check_weights(&program.scheme(), bytes).map(|()| found));
    let found = found.map_err(|e| blame(py, core, &e.into()))?;
    Ok(found.into_iter().map(|(name, shape, numbers)| (name, shape.dims(), PyArray1::from_vec(py, numbers))).collect())
}

type PyAxis<'py> = (String, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, usize>);
/// Of a target: lower and upper end of the line, then of observations.
type PyBand<'py> = Option<Vec<Bound<'py, PyArray1<f64>>>>;
type PyLine<'py> = (Bound<'py, PyArray1<f64>>, Vec<Bound<'py, PyArray1<f64>>>, Vec<PyBand<'py>>);

fn axis_of((name, values, trajectory): PyAxis<'_>) -> Axis {
    Axis { name, values: values.as_array().to_vec(), trajectory: trajectory.as_array().to_vec() }
}

/// The lines of a fitted model over what its rows lie along: for each trajectory the places, the targets there and their bands. `options`
/// hold the fitted values, `found` is the fit as JSON.
#[pyfunction]
pub(crate) fn fit_lines<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Columns<'py>,
    options: &Bound<'py, PyDict>,
    explained: (Vec<String>, PyReadonlyArray1<'py, f64>),
    axis: PyAxis<'py>,
    found: &str,
) -> PyResult<Vec<PyLine<'py>>> {
    let how = self::options(options)?;
    let table = table_for(core, columns, Vec::new(), options, &how, false)?;
    let (axis, targets, predicted) = (axis_of(axis), explained.0, explained.1.as_array().to_vec());
    let known = serde_json::from_str(found).ok().and_then(|json| Known::of_json(&json));
    let found = py.detach(|| plot::lines((&core.0.program, &table, &how), &axis, &targets, &predicted, &Look::default(), known.as_ref()));
    let array = |numbers| PyArray1::from_vec(py, numbers);
    let band = |(a, b): (Ends, Ends)| [a.0, a.1, b.0, b.1].into_iter().map(array).collect();
    let one = |line: Line| {
        let bands = line.bands.into_iter().map(|b| b.map(band)).collect();
        (array(line.along), line.targets.into_iter().map(array).collect(), bands)
    };
    Ok(found.into_iter().map(one).collect())
}

/// A line as Python gives it back.
type GivenLine<'py> = (PyReadonlyArray1<'py, f64>, Vec<PyReadonlyArray1<'py, f64>>, Vec<Option<Vec<PyReadonlyArray1<'py, f64>>>>);

/// A picture of a fit as SVG, from what `fit_model` and `fit_lines` said of it.
#[pyfunction]
pub(crate) fn fit_svg(
    targets: Vec<String>,
    observed: PyReadonlyArray1<'_, f64>,
    predicted: PyReadonlyArray1<'_, f64>,
    axis: Option<PyAxis<'_>>,
    lines: Vec<GivenLine<'_>>,
    standard: PyReadonlyArray1<'_, f64>,
) -> String {
    let vec = |numbers: &PyReadonlyArray1<'_, f64>| numbers.as_array().to_vec();
    let axis = axis.map(axis_of);
    let group = axis.as_ref().map(|a| a.trajectory.clone()).unwrap_or_default();
    let band = |ends: &Vec<PyReadonlyArray1<'_, f64>>| match &ends[..] {
        [a, b, c, d] => Some(((vec(a), vec(b)), (vec(c), vec(d)))),
        _ => None,
    };
    let line = |(k, (along, lines, bands)): (usize, &GivenLine<'_>)| Line {
        along: vec(along),
        targets: lines.iter().map(vec).collect(),
        row: group.iter().position(|g| *g == k),
        bands: bands.iter().map(|b| b.as_ref().and_then(band)).collect(),
    };
    let lines = lines.iter().enumerate().map(line).collect();
    let (observed, predicted, standard) = (vec(&observed), vec(&predicted), vec(&standard));
    let (sigma, look) = Default::default();
    Drawing {
        targets: &targets,
        observed: &observed,
        predicted: &predicted,
        axis: axis.as_ref(),
        lines,
        sigma,
        group,
        standard: &standard,
        look,
    }
    .svg()
}
