//! Mistakes as Python exceptions. In: diagnostics about a source, or the error of a run; out: `CompileError` or `EvaluationError`
//! with the findings as data and an excerpt of the source as text.

use neural_compiler::source::{Span, position};
use neural_compiler::{Diagnostic, Diagnostics, EvalError};
use neural_compiler_render::{Source, to_text};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One finding as a dict: code, severity, message, place, labels, help.
pub(crate) fn finding<'py>(py: Python<'py>, source: &str, d: &Diagnostic) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("code", d.code)?;
    dict.set_item("severity", d.severity.name())?;
    dict.set_item("message", &d.message)?;
    let at = position(source, d.span.start);
    dict.set_item("start", d.span.start)?;
    dict.set_item("end", d.span.end)?;
    dict.set_item("line", at.line)?;
    dict.set_item("column", at.column)?;
    dict.set_item("labels", d.labels.iter().map(|l| (l.span.start, l.span.end, l.text.as_str())).collect::<Vec<_>>())?;
    dict.set_item("help", &d.help)?;
    dict.set_item("text", to_text(&Source::new("program", source), d, false).trim_end())?;
    Ok(dict)
}

/// Codes of runs without a result; those of the torch lowering are the same.
const FAILURES: [&str; 7] =
    ["index-out-of-range", "limit-depth", "limit-iterations", "limit-memory", "limit-steps", "no-root", "outside-grid"];

/// The failure of a run elsewhere, at a place of the source, as a dict.
#[pyfunction]
pub(crate) fn failure<'py>(
    py: Python<'py>,
    source: &str,
    code: &str,
    message: String,
    start: usize,
    end: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let Some(code) = FAILURES.into_iter().find(|c| *c == code) else {
        return Err(PyValueError::new_err(format!("no run fails with `{code}`")));
    };
    if start > end || !source.is_char_boundary(start) || !source.is_char_boundary(end) {
        return Err(PyValueError::new_err(format!("{start}..{end} is no place in the source")));
    }
    finding(py, source, &Diagnostic::error(code, Span::new(start, end), message))
}

/// All findings.
pub(crate) fn findings<'py>(py: Python<'py>, source: &str, list: &[Diagnostic]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    list.iter().map(|d| finding(py, source, d)).collect()
}

fn raise<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    match py.import("neural_compiler.errors").and_then(|m| m.getattr(class)).and_then(|c| c.call1(arguments)) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// The exception for a program without meaning.
pub(crate) fn compile_error(py: Python<'_>, source: &str, found: &Diagnostics) -> PyErr {
    match findings(py, source, &found.0) {
        Ok(list) => raise(py, "CompileError", (source, list)),
        Err(error) => error,
    }
}

/// The exception for data that a model cannot be fitted to.
pub(crate) fn fit_error(py: Python<'_>, source: &str, found: &Diagnostics) -> PyErr {
    match findings(py, source, &found.0) {
        Ok(list) => raise(py, "FitError", (source, list)),
        Err(error) => error,
    }
}

/// The exception for what a library refuses.
pub(crate) fn library_error(py: Python<'_>, source: &str, found: &Diagnostics) -> PyErr {
    match findings(py, source, &found.0) {
        Ok(list) => raise(py, "LibraryError", (source, list)),
        Err(error) => error,
    }
}

/// The exception for a run without result; `lane` is the place in the batch.
pub(crate) fn evaluation_error(py: Python<'_>, source: &str, error: &EvalError, lane: Option<usize>) -> PyErr {
    let d = Diagnostic::error(error.code, error.span, error.message.clone());
    match finding(py, source, &d) {
        Ok(found) => raise(py, "EvaluationError", (source, found, lane)),
        Err(error) => error,
    }
}
