//! The table of operations for Python. In: nothing; out: a dict per row.

use neural_compiler::export::{Target, says};
use neural_compiler::ops::{Arity, Kernel, Op};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Every operation of the table, operations without a surface name included.
#[pyfunction]
pub(crate) fn operations(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    Op::ALL
        .iter()
        .map(|op| {
            let row = op.row();
            let dict = PyDict::new(py);
            dict.set_item("op", format!("{op:?}"))?;
            dict.set_item("name", row.name)?;
            dict.set_item("aliases", row.aliases.to_vec())?;
            dict.set_item("group", row.group.name())?;
            let (least, most) = match row.arity {
                Arity::Exactly(n) => (n, Some(n)),
                Arity::Between(a, b) => (a, Some(b)),
                Arity::AtLeast(n) | Arity::Fold(n, _) => (n, None),
                Arity::Chain => (1, None),
            };
            dict.set_item("arity", (least, most))?;
            dict.set_item("elementwise", row.is_elementwise())?;
            dict.set_item("composite", matches!(row.kernel, Kernel::Composite(_)))?;
            dict.set_item("surface", row.has_surface())?;
            dict.set_item("usage", row.usage)?;
            dict.set_item("doc", row.doc)?;
            dict.set_item("derivative", row.derivative_doc)?;
            dict.set_item("domain", row.domain.text())?;
            dict.set_item("probes", row.probes.iter().map(|p| p.to_vec()).collect::<Vec<_>>())?;
            dict.set_item("onnx", says(Target::Onnx, *op))?;
            dict.set_item("paper", row.paper)?;
            Ok(dict)
        })
        .collect()
}
