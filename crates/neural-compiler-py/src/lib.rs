//! `neural_compiler._native`: the library for Python. In: texts, arrays; out: programs, derivatives, results, exceptions.
//! The Python package around it (python/neural_compiler) decides names, types and defaults; this crate only computes.

mod advance;
mod arrays;
mod autograd;
mod cache;
mod caller;
mod chain;
mod core;
mod dates;
mod derive;
mod dlpack;
mod errors;
mod fit_options;
mod fitting;
mod function;
mod holding;
mod json;
mod look;
mod operations;
mod places;
mod python;
mod quick;
mod signals;
mod splice;
mod surroundings;
mod tableaus;
mod tensors;
mod views;

use neural_compiler::exec::lanes::Level;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Level::limit().map_err(PyValueError::new_err)?;
    signals::listen();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<python::PyCore>()?;
    m.add_class::<python::PyFunction>()?;
    m.add_class::<caller::Caller>()?;
    m.add_class::<places::PyPlaces>()?;
    m.add_class::<autograd::Taped>()?;
    m.add_function(wrap_pyfunction!(operations::operations, m)?)?;
    m.add_function(wrap_pyfunction!(python::translate, m)?)?;
    m.add_function(wrap_pyfunction!(tableaus::dopri5, m)?)?;
    m.add_function(wrap_pyfunction!(tableaus::rodas4, m)?)?;
    m.add_function(wrap_pyfunction!(dlpack::use_exchange, m)?)?;
    m.add_function(wrap_pyfunction!(surroundings::use_autograd, m)?)?;
    m.add_function(wrap_pyfunction!(autograd::remember, m)?)?;
    m.add_function(wrap_pyfunction!(errors::failure, m)?)?;
    m.add_function(wrap_pyfunction!(look::all_between, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::fit_model, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::fit_lines, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::fit_svg, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::predict_model, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::fit_saved, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::remembered, m)?)?;
    m.add_function(wrap_pyfunction!(dates::read_dates, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::weights_to_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(fitting::weights_from_bytes, m)?)?;
    Ok(())
}
