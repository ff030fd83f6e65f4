//! `neural_compiler._native`: the library for Python. In: texts, arrays; out: programs, derivatives, results, exceptions.
//! The Python package around it (python/neural_compiler) decides names, types and defaults; this crate only computes.

mod arrays;
mod buffers;
mod classes;
mod convert;
mod fit;
mod library;
mod program;
mod signals;
mod torch;

use neural_compiler::exec::lanes::Level;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Level::limit().map_err(PyValueError::new_err)?;
    signals::listen();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<classes::PyCore>()?;
    m.add_class::<classes::PyFunction>()?;
    m.add_class::<library::PyLibrary>()?;
    m.add_class::<torch::caller::Caller>()?;
    m.add_class::<program::places::PyPlaces>()?;
    m.add_class::<torch::autograd::Taped>()?;
    m.add_function(wrap_pyfunction!(convert::operations::operations, m)?)?;
    m.add_function(wrap_pyfunction!(classes::translate, m)?)?;
    m.add_function(wrap_pyfunction!(classes::link, m)?)?;
    m.add_function(wrap_pyfunction!(fit::schemes::schemes, m)?)?;
    m.add_function(wrap_pyfunction!(fit::schemes::step_control, m)?)?;
    m.add_function(wrap_pyfunction!(torch::dlpack::use_exchange, m)?)?;
    m.add_function(wrap_pyfunction!(torch::gate::use_autograd, m)?)?;
    m.add_function(wrap_pyfunction!(torch::autograd::remember, m)?)?;
    m.add_function(wrap_pyfunction!(convert::errors::failure, m)?)?;
    m.add_function(wrap_pyfunction!(torch::look::all_between, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::fit_number, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::group_name, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::fit_model, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::compare_models, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::fit_lines, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::fit_svg, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::predict_model, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::predict_bands, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::simulate_model, m)?)?;
    m.add_function(wrap_pyfunction!(fit::refine::refine_models, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::dose_columns, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::doses_in_units, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::fit_saved, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::remembered, m)?)?;
    m.add_function(wrap_pyfunction!(fit::dates::read_dates, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::weights_to_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(fit::model::weights_from_bytes, m)?)?;
    Ok(())
}
