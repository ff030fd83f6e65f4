//! The table of schemes for Python, whose steps in torch operations use the same numbers. In: nothing; out: rows as dicts, and the numbers
//! that say how long steps may be.

use neural_compiler::ode::{Formula, SCHEMES, control};
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn rows(of: &[&[f64]]) -> Vec<Vec<f64>> {
    of.iter().map(|row| row.to_vec()).collect()
}

/// Every scheme: names, orders, and the numbers of its kind.
#[pyfunction]
pub(crate) fn schemes(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let one = |row: &neural_compiler::ode::schemes::Row| {
        let all = PyDict::new(py);
        all.set_item("name", row.name)?;
        all.set_item("aliases", row.aliases)?;
        all.set_item("about", row.about)?;
        all.set_item("order", row.order)?;
        all.set_item("embedded", row.embedded)?;
        match &row.formula {
            Formula::Map => {}
            Formula::Explicit(e) => {
                all.set_item("kind", "explicit")?;
                [("nodes", e.nodes), ("weights", e.weights), ("error", e.error)].into_iter().try_for_each(|(k, v)| all.set_item(k, v))?;
                all.set_item("stages", rows(e.stages))?;
            }
            Formula::Rosenbrock(r) => {
                all.set_item("kind", "rosenbrock")?;
                all.set_item("gamma", r.gamma)?;
                [("nodes", r.nodes), ("time", r.time)].into_iter().try_for_each(|(k, v)| all.set_item(k, v))?;
                [("states", r.states), ("slopes", r.slopes)].into_iter().try_for_each(|(k, v)| all.set_item(k, rows(v)))?;
            }
        }
        Ok(all)
    };
    SCHEMES.iter().map(one).collect()
}

/// The share of the best guess that is taken, how far a step shrinks and grows at most, how far one shrinks that failed.
#[pyfunction]
pub(crate) fn step_control() -> (f64, f64, f64, f64) {
    (control::SAFETY, control::SHRINK, control::GROW, control::FAILED)
}
