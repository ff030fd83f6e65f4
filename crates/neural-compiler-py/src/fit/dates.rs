//! Dates for Python. In: columns of dates as whole counts of some unit since 1970, as NumPy holds them; out: numbers of a unit since an
//! origin, and the two in words. Invariant: the least count, NumPy's "not a time", becomes NaN.

use crate::classes::PyCore;
use neural_compiler::Diagnostics;
use neural_compiler_fit::dates::{Calendar, CalendarOptions, Stamp, asked_for};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A column of dates: name, counts since 1970, nanoseconds of a count, whether they are instants.
type Dated<'py> = (String, PyReadonlyArray1<'py, i64>, i64, bool);
/// The columns as numbers, what they count, the model that remembers it.
type Read<'py> = (Vec<(String, Bound<'py, PyArray1<f64>>)>, String, String);

/// Columns of dates the model asks for, as times; `None` where there are none. `named`: the columns that options name, the time before all.
#[pyfunction]
pub(crate) fn read_dates<'py>(
    py: Python<'py>,
    core: &PyCore,
    columns: Vec<Dated<'py>>,
    named: Vec<String>,
    unit: Option<&str>,
    origin: Option<&str>,
    fitting: bool,
) -> PyResult<Option<Read<'py>>> {
    let options = CalendarOptions {
        unit: unit.map(str::parse).transpose().map_err(PyValueError::new_err)?,
        origin: origin.map(str::parse).transpose().map_err(|e| PyValueError::new_err(format!("time_origin is {e}")))?,
    };
    let stamps = |counts: &PyReadonlyArray1<'py, i64>, each: i64, zoned: bool| -> Vec<Option<Stamp>> {
        let one = |&count: &i64| (count != i64::MIN).then(|| Stamp { nanoseconds: i128::from(count) * i128::from(each), zoned });
        counts.as_array().iter().map(one).collect()
    };
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let program = &core.0.program;
    let model = &*program.scheme();
    let asked = columns.into_iter().filter(|c| asked_for(program, &named, &c.0));
    let dated: Vec<(String, Vec<Option<Stamp>>)> = asked.map(|(name, counts, each, zoned)| (name, stamps(&counts, each, zoned))).collect();
    let found = Calendar::of_table(&dated, &named, program, options, fitting).map_err(|d| {
        let help = (d.code == "no-origin")
            .then(|| "say what time 0 is and what it counts, as the fit did: time_origin=\"2024-01-01\", time_unit=\"days\"".into());
        crate::convert::errors::fit_error(py, model, &Diagnostics(vec![neural_compiler::Diagnostic { help: d.help.clone().or(help), ..d }]))
    })?;
    let Some(calendar) = found else { return Ok(None) };
    let number = |s: &Option<Stamp>| s.map_or(f64::NAN, |s| calendar.number(s.nanoseconds));
    let numbers = dated.iter().map(|(name, stamps)| (name.clone(), PyArray1::from_iter(py, stamps.iter().map(number)))).collect();
    Ok(Some((numbers, calendar.words(), calendar.remember(model))))
}
