//! Options of a fit for Python. In: a dict; out: the library's options, or why a value is none.

use crate::buffers::views::shape_of;
use neural_compiler::ode::{Scheme, schemes};
use neural_compiler_fit::{BadOption, Dose, Loss, Options, Values};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::str::FromStr;

/// An option that may be left out.
fn get<'py, T: FromPyObjectOwned<'py>>(options: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<T>> {
    match options.get_item(key)? {
        None => Ok(None),
        Some(v) if v.is_none() => Ok(None),
        Some(v) => v.extract().map_err(Into::into).map(Some).map_err(|error: PyErr| {
            let range = error.is_instance_of::<PyOverflowError>(options.py());
            if range { PyValueError::new_err(format!("{key} is a whole number from 0 on that is not too large, not {v}")) } else { error }
        }),
    }
}

/// An option with a name, in the library's words where it has none such.
fn named<T: FromStr<Err = BadOption>>(options: &Bound<'_, PyDict>, key: &str) -> PyResult<Option<T>> {
    let name: Option<String> = get(options, key)?;
    name.map(|n| n.parse()).transpose().map_err(|e: BadOption| PyValueError::new_err(e.to_string()))
}

/// How models with states are solved; `None`: as suits them.
fn method(given: &Bound<'_, PyDict>) -> PyResult<Option<Scheme>> {
    let name: Option<String> = get(given, "method")?;
    schemes::chosen(name.as_deref().unwrap_or(schemes::AUTO)).map_err(|e| PyValueError::new_err(e.to_string()))
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

/// A dose or infusion: time, amount, rate, target and group.
pub(crate) type DoseRow = (f64, f64, f64, Option<String>, Option<f64>);

/// Doses and infusions.
fn doses(given: &Bound<'_, PyDict>) -> PyResult<Vec<Dose>> {
    let rows: Vec<DoseRow> = get(given, "doses")?.unwrap_or_default();
    Ok(rows.into_iter().map(|(time, amount, rate, target, group)| Dose { time, amount, rate, target, group }).collect())
}

/// The options of the library, from a dict.
pub(crate) fn options<'a>(given: &Bound<'_, PyDict>) -> PyResult<Options<'a>> {
    let scale: Option<f64> = get(given, "loss_scale")?;
    let loss: Option<Loss> = named(given, "loss")?;
    let loss = loss.map(|l| scale.map_or(l, |c| l.with_scale(c)));
    Ok(Options {
        target: get(given, "target")?,
        time: get(given, "time")?,
        group: get(given, "group")?,
        start_time: get(given, "start_time")?,
        group_starts: get(given, "group_starts")?.unwrap_or_default(),
        sigma_column: get(given, "sigma_column")?,
        sigma: get(given, "sigma")?,
        weights_column: get(given, "weights")?,
        loss: loss.filter(|l| *l != Loss::Squares),
        starts: get(given, "starts")?,
        budget: get(given, "budget")?,
        scheme: method(given)?,
        step: get(given, "step")?,
        tolerance: get(given, "rtol")?,
        absolute_tolerance: get(given, "atol")?,
        doses: doses(given)?,
        holdout: get(given, "holdout")?,
        profile: get(given, "profile")?.unwrap_or(false),
        bootstrap: get(given, "bootstrap")?,
        resampling: named(given, "resample")?,
        effects: named(given, "effects")?,
        seed: get(given, "seed")?.unwrap_or(0),
        threads: get(given, "threads")?.unwrap_or(0),
        values: values(given)?,
        training: named(given, "training")?.unwrap_or_default(),
        weight_decay: get(given, "weight_decay")?,
        epochs: get(given, "epochs")?,
        batch: get(given, "batch")?,
        ..Options::default()
    })
}
