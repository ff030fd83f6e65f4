//! Predictions of a model at its declared values. In: a program (fitted and saved, say) and a table; out: new columns for the table.

use crate::algebraic::{Algebraic, Engines};
use crate::data::bind;
use crate::data::table::Table;
use crate::dynamics;
use crate::fit::{no_constants, wrong};
use crate::model::layout::{Layout, Values, element_names};
use crate::options::Options;
use crate::support::threads;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use std::sync::Arc;

/// The predictions for every row, column by column. A prediction is called `prediction`, the states of a model by their names with
/// `.predicted` behind.
pub fn predict(program: &Program, table: &Table, options: &Options<'_>) -> Result<Vec<(String, Vec<f64>)>, Diagnostics> {
    options.check()?;
    if table.rows() == 0 {
        return Err(wrong("no-rows", "the data have no rows"));
    }
    no_constants(program, table, options)?;
    trained(program, &options.values)?;
    match program.kind() {
        ModelKind::Expression => algebraic(program, table, options),
        ModelKind::Derivatives | ModelKind::Map => dynamics::simulate::predict(program, table, options),
    }
}

/// An error if a net of the program has weights that no value is given for.
pub(crate) fn trained(program: &Program, values: &Values) -> Result<(), Diagnostics> {
    let Some((name, _)) = crate::saved::weights::needed(program).into_iter().find(|(n, _)| values.iter().all(|v| v.0 != *n)) else {
        return Ok(());
    };
    let message = format!("the weight `{name}` has no value: the net has not been trained");
    Err(Diagnostic::error("no-weights", Default::default(), message).help("fit the model and save it, or give the fitted values").into())
}

fn algebraic(program: &Program, table: &Table, options: &Options<'_>) -> Result<Vec<(String, Vec<f64>)>, Diagnostics> {
    let layout = Arc::new(Layout::new(program, &options.values)?);
    let bound = bind::algebraic(program, table, options)?;
    bind::complete(program, &bound, table, &[])?;
    let graph = program.specialise(&bound.shapes)?;
    let shape: Shape = graph.outputs()[0];
    let engines = Arc::new(Engines::new(&graph, &layout));
    let start = layout.start.clone();
    let model = Algebraic::new(engines, layout, bound.columns, vec![0.0; shape.len() * table.rows()], vec![], threads::count(0));
    let values = model.predict(&start).map_err(|e| wrong("no-prediction", e.0))?;
    Ok(element_names("prediction", shape).into_iter().zip(values.chunks(table.rows()).map(<[f64]>::to_vec)).collect())
}
