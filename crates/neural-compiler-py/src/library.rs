//! A library of modules for Python. In: names, texts, columns; out: what the library crate finds, as JSON text, or `LibraryError`.

use crate::convert::errors::library_error;
use neural_compiler::Diagnostics;
use neural_compiler::syntax::modules::Mistake;
use neural_compiler_library::{Claim, Example, Found, Library, Module, Outcome, Query, Samples};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Columns with their names, the one to be computed, and how far off it may be.
type Asked = (Vec<(String, Vec<f64>)>, String, f64);
/// A module, the column that is each input, and the error.
type Answer = (String, Vec<(String, String)>, Option<f64>);

/// A folder of modules.
#[pyclass(name = "Library", module = "neural_compiler._native", frozen)]
pub(crate) struct PyLibrary(Library);

fn raised<T>(py: Python<'_>, outcome: Outcome<T>) -> PyResult<T> {
    outcome.map_err(|mistake: Box<Mistake>| library_error(py, &mistake.file.text, &mistake.errors))
}

fn whole(library: &Library, module: &Module) -> Outcome<String> {
    let mut all = serde_json::to_value(module).unwrap_or_default();
    all["text"] = json!(library.text(&module.name, module.version)?);
    Ok(all.to_string())
}

#[pymethods]
impl PyLibrary {
    /// Opens a library, or makes one.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, make: bool) -> PyResult<PyLibrary> {
        raised(py, if make { Library::init(folder) } else { Library::open(folder) }).map(PyLibrary)
    }

    /// The nearest library above a folder, if there is one.
    #[staticmethod]
    fn nearest(folder: PathBuf) -> Option<PyLibrary> {
        Library::find(&folder).map(PyLibrary)
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.folder().to_path_buf()
    }

    /// All modules with their texts.
    fn modules(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        raised(py, self.0.list().and_then(|all| all.iter().map(|m| whole(&self.0, m)).collect()))
    }

    /// A module with its text.
    fn get(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        raised(py, self.0.get(name).and_then(|m| whole(&self.0, &m)))
    }

    /// Adds a module. `flags`: without a proof of its domain, though it has an equal.
    #[expect(clippy::too_many_arguments, reason = "as many as a claim has")]
    fn add(
        &self,
        py: Python<'_>,
        name: String,
        text: String,
        description: String,
        examples: Vec<String>,
        ranges: Vec<(String, (f64, f64))>,
        provenance: &str,
        flags: (bool, bool),
    ) -> PyResult<String> {
        let parsed: Result<Vec<Example>, _> = examples.iter().map(|e| Example::parse(e)).collect();
        let examples = parsed.map_err(|d| library_error(py, "", &Diagnostics::from(d)))?;
        let provenance = serde_json::from_str::<Value>(provenance).ok().and_then(|v| v.as_object().cloned()).unwrap_or_default();
        let (allow_unproved, allow_equal) = flags;
        let file = format!("{name}.scm");
        let claim = Claim { name, file, text, description, examples, ranges, provenance, allow_unproved, allow_equal };
        raised(py, py.detach(|| self.0.add(&claim)).and_then(|done| whole(&self.0, &done.module)))
    }

    /// Modules with the columns of their inputs and their error, where samples are given.
    #[pyo3(signature = (text, signature, units, samples))]
    fn search(
        &self,
        py: Python<'_>,
        text: Option<String>,
        signature: Option<String>,
        units: Option<String>,
        samples: Option<Asked>,
    ) -> PyResult<Vec<Answer>> {
        let samples = samples.map(|(columns, target, tolerance)| Samples { columns, target, tolerance });
        let query = Query { text, signature, units, samples };
        let one = |f: &Found| Ok((whole(&self.0, &f.module)?, f.columns.clone().into_iter().collect(), f.error));
        raised(py, py.detach(|| self.0.search(&query)).and_then(|all| all.iter().map(one).collect()))
    }

    /// What is wrong with each module: nothing, or sentences.
    fn test(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<(String, Vec<String>)>> {
        let verdicts = raised(py, py.detach(|| self.0.test(&names)))?;
        Ok(verdicts.into_iter().map(|v| (v.id, v.wrong)).collect())
    }

    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        raised(py, self.0.remove(name)).map(drop)
    }

    /// A module as one program.
    fn export(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        raised(py, self.0.export(name))
    }
}
