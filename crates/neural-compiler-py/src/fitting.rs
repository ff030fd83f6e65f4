//! Fitting for Python. In: a compiled model, columns of numbers, options as a dict; out: a dict of plain data.
//! Invariants: the interpreter's lock is free while a fit runs; Ctrl-C ends the search and the best so far is the result; a second
//! one while it winds up raises `KeyboardInterrupt` when that is done.

use crate::errors::fit_error;
use crate::python::PyCore;
use crate::views::shape_of;
use neural_compiler::Diagnostics;
use neural_compiler_fit::dynamics::steps::Scheme;
use neural_compiler_fit::{Fit, Loss, Method, Options, Table, Values, fit, plot, predict, save};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a running fit looks for Ctrl-C and tells how it goes.
const LOOK: Duration = Duration::from_millis(50);

/// Columns by name.
type Columns<'py> = Vec<(String, PyReadonlyArray1<'py, f64>)>;

fn table(columns: Columns<'_>) -> Result<Table, Diagnostics> {
    Table::new(columns.into_iter().map(|(name, c)| (name, c.as_array().to_vec()))).map_err(Into::into)
}

/// An option that may be left out.
fn get<'py, T: FromPyObjectOwned<'py>>(options: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<T>> {
    match options.get_item(key)? {
        None => Ok(None),
        Some(v) if v.is_none() => Ok(None),
        Some(v) => v.extract().map(Some).map_err(Into::into),
    }
}

fn loss(name: &str, scale: f64) -> PyResult<Loss> {
    match name {
        "squares" => Ok(Loss::Squares),
        "huber" => Ok(Loss::Huber(scale)),
        "soft_l1" => Ok(Loss::SoftL1(scale)),
        "cauchy" => Ok(Loss::Cauchy(scale)),
        _ => Err(PyValueError::new_err(format!("the loss is one of squares, huber, soft_l1, cauchy, not {name:?}"))),
    }
}

fn scheme(name: &str) -> PyResult<Option<Scheme>> {
    match name {
        "auto" => Ok(None),
        "rk4" => Ok(Some(Scheme::Rk4)),
        "dopri5" => Ok(Some(Scheme::Dopri5)),
        "rosenbrock" => Ok(Some(Scheme::Rodas4)),
        _ => Err(PyValueError::new_err(format!("the method is one of auto, rk4, dopri5, rosenbrock, not {name:?}"))),
    }
}

fn training(name: &str) -> PyResult<Option<Method>> {
    match name {
        "auto" => Ok(None),
        "gauss-newton" => Ok(Some(Method::GaussNewton)),
        "first-order" => Ok(Some(Method::FirstOrder)),
        _ => Err(PyValueError::new_err(format!("the training is one of auto, gauss-newton, first-order, not {name:?}"))),
    }
}

/// Values of parameters and weights in place of the declared ones.
fn values(given: &Bound<'_, PyDict>) -> PyResult<Values> {
    let list: Vec<(String, Vec<i64>, PyReadonlyArray1<'_, f64>)> = get(given, "values")?.unwrap_or_default();
    let one = |(name, sizes, numbers): (String, Vec<i64>, PyReadonlyArray1<'_, f64>)| {
        let numbers = numbers.as_array().to_vec();
        match shape_of(&sizes).filter(|s| s.len() == numbers.len()) {
            Some(shape) => Ok((name, shape, numbers)),
            None => Err(PyValueError::new_err(format!("{} numbers do not make the shape {sizes:?} of `{name}`", numbers.len()))),
        }
    };
    list.into_iter().map(one).collect()
}

fn options<'a>(given: &Bound<'_, PyDict>) -> PyResult<Options<'a>> {
    let kind: String = get(given, "loss")?.unwrap_or_else(|| "squares".into());
    let loss = loss(&kind, get(given, "loss_scale")?.unwrap_or(0.0))?;
    let method: String = get(given, "method")?.unwrap_or_else(|| "auto".into());
    Ok(Options {
        target: get(given, "target")?,
        time: get(given, "time")?,
        group: get(given, "group")?,
        sigma_column: get(given, "sigma_column")?,
        sigma: get(given, "sigma")?,
        weights_column: get(given, "weights")?,
        loss: (loss != Loss::Squares).then_some(loss),
        starts: get(given, "starts")?,
        scheme: scheme(&method)?,
        step: get(given, "step")?,
        tolerance: get(given, "tolerance")?,
        holdout: get(given, "holdout")?,
        profile: get(given, "profile")?.unwrap_or(false),
        seed: get(given, "seed")?.unwrap_or(0),
        threads: get(given, "threads")?.unwrap_or(0),
        values: values(given)?,
        training: training(&get::<String>(given, "training")?.unwrap_or_else(|| "auto".into()))?,
        weight_decay: get(given, "weight_decay")?,
        epochs: get(given, "epochs")?,
        batch: get(given, "batch")?,
        ..Options::default()
    })
}

/// What is wrong with the data, or with the model given these data.
fn blame(py: Python<'_>, core: &PyCore, found: &Diagnostics) -> PyErr {
    fit_error(py, core.0.program.source(), found)
}

/// What is held is valid whatever happened to the thread that held it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fits a model. `progress` is called now and then with the starts followed, how many there may be, and the best cost.
#[pyfunction]
pub(crate) fn fit_model<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Columns<'py>,
    options: &Bound<'py, PyDict>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let how = self::options(options)?;
    let table = table(columns).map_err(|e| blame(py, core, &e))?;
    let cancel = AtomicBool::new(false);
    let news: Mutex<Option<(usize, usize, f64)>> = Mutex::new(None);
    let tell = |done: usize, of: usize, cost: f64| *held(&news) = Some((done, of, cost));
    let how = Options { cancel: Some(&cancel), progress: Some(&tell), ..how };
    let program = &core.0.program;
    let mut interrupted: Option<PyErr> = None;
    let outcome = std::thread::scope(|scope| {
        let (send, receive) = channel();
        let receive = Mutex::new(receive);
        let (table, how) = (&table, &how);
        scope.spawn(move || {
            // Nobody listens any more only when this thread is being unwound.
            let _ = send.send(fit(program, table, how));
        });
        loop {
            match py.detach(|| held(&receive).recv_timeout(LOOK)) {
                Ok(outcome) => return Some(outcome),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let latest = held(&news).take();
            let told = match (&progress, latest) {
                (Some(f), Some(latest)) => f.call1(latest).map(|_| ()),
                _ => Ok(()),
            };
            if let Err(error) = py.check_signals().and(told) {
                // The first Ctrl-C asks for what there is; anything else, or a second one, is an error.
                if cancel.swap(true, Ordering::Relaxed) || !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
                    interrupted = Some(error);
                }
            }
        }
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    match outcome {
        Some(Ok(found)) => report(py, core, &found),
        Some(Err(e)) => Err(blame(py, core, &e)),
        None => Err(PyValueError::new_err("the fit ended without a result")),
    }
}

fn report<'py>(py: Python<'py>, core: &PyCore, fit: &Fit) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let parameters = fit.parameters.iter().map(|p| {
        let one = PyDict::new(py);
        one.set_item("name", &p.name)?;
        one.set_item("value", p.value)?;
        one.set_item("stderr", p.stderr)?;
        one.set_item("ci95", p.ci95)?;
        one.set_item("profile", p.profile)?;
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
    all.set_item("aic", fit.aic)?;
    all.set_item("bic", fit.bic)?;
    all.set_item("observations", fit.observations)?;
    all.set_item("converged", fit.converged)?;
    all.set_item("message", &fit.message)?;
    all.set_item("warnings", &fit.warnings)?;
    all.set_item("tried", fit.tried)?;
    all.set_item("agreed", fit.agreed)?;
    all.set_item("targets", &fit.targets)?;
    all.set_item("observed", PyArray1::from_slice(py, &fit.observed))?;
    all.set_item("predicted", PyArray1::from_slice(py, &fit.predicted))?;
    all.set_item("holdout", fit.holdout)?;
    all.set_item("weights", fit.weights)?;
    let axis = fit.axis.as_ref().map(|a| (&a.name, PyArray1::from_slice(py, &a.values), &a.trajectory));
    all.set_item("axis", axis)?;
    all.set_item("svg", plot::svg(fit))?;
    all.set_item("source", save::with_values(core.0.program.source(), &fit.values))?;
    Ok(all)
}

/// The predictions of a model at its declared values, column by column.
#[pyfunction]
pub(crate) fn predict_model<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Columns<'py>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Vec<(String, Bound<'py, PyArray1<f64>>)>> {
    let how = self::options(options)?;
    let table = table(columns).map_err(|e| blame(py, core, &e))?;
    let found = py.detach(|| predict(&core.0.program, &table, &how)).map_err(|e| blame(py, core, &e))?;
    Ok(found.into_iter().map(|(name, column)| (name, PyArray1::from_vec(py, column))).collect())
}
