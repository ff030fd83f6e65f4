//! Predictions of a model at its declared values. In: a program (fitted and saved, say) and a table; out: new columns for the table.

use crate::algebraic::{Algebraic, Engines};
use crate::data::bind;
use crate::data::table::Table;
use crate::dynamics;
use crate::fit::{no_constants, wrong};
use crate::likelihood::groups::Grouping;
use crate::model::layout::{Layout, Values, element_names};
use crate::options::Options;
use crate::support::threads;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use std::sync::Arc;

/// The predictions for every row, column by column. A prediction is called `prediction`, states and observables by their names with
/// `.predicted` behind.
pub fn predict(program: &Program, table: &Table, options: &Options<'_>) -> Result<Vec<(String, Vec<f64>)>, Diagnostics> {
    Ok(predict_told(program, table, options)?.0)
}

/// Columns, and what could not be made sure of.
pub type Told = (Vec<(String, Vec<f64>)>, Vec<String>);

/// The same, and what could not be made sure of.
pub fn predict_told(program: &Program, table: &Table, options: &Options<'_>) -> Result<Told, Diagnostics> {
    options.check()?;
    options.check_purpose(&[program])?;
    if table.rows() == 0 {
        return Err(wrong("no-rows", "the data have no rows"));
    }
    no_constants(program, table, options)?;
    crate::saved::remember::check_doses(program, options)?;
    trained(program, &options.values)?;
    match program.kind() {
        ModelKind::Expression => Ok((algebraic(program, table, options)?, vec![])),
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

fn algebraic(whole: &Program, table: &Table, options: &Options<'_>) -> Result<Vec<(String, Vec<f64>)>, Diagnostics> {
    // Beside a value of its own, what predicts the observables is computed too.
    let observables = whole.observables().filter(|o| !o.0.is_empty());
    let program = match (observables, whole.own_value()) {
        (Some((_, predictors)), Some(_)) => predictors,
        _ => whole,
    };
    let layout = Arc::new(Layout::new(program, &options.values)?);
    let bound = bind::algebraic(program, table, options)?;
    bind::complete(program, &bound, table, &[])?;
    let graph = program.specialise(&bound.shapes)?;
    let shape: Shape = graph.outputs()[0];
    let engines = Arc::new(Engines::new(&graph, &layout));
    let rows = table.rows();
    let model = Algebraic::new(engines, layout.clone(), bound.columns, vec![0.0; shape.len() * rows], vec![], threads::count(0));
    let failed = |e: crate::optimise::Unusable| wrong("no-prediction", e.0);
    let values = match Grouping::new(&layout, table)? {
        None => model.predict(&layout.start).map_err(failed)?,
        Some(grouping) => {
            let known = known(whole, options)?;
            let mut all = vec![f64::NAN; shape.len() * rows];
            for g in 0..grouping.labels.len() {
                let own: Vec<usize> = (0..rows).filter(|&row| grouping.of_row[row] == g).collect();
                let found = model.sample(&own).predict(&grouping.given(&layout, g, &known)?).map_err(failed)?;
                for (part, found) in all.chunks_mut(rows).zip(found.chunks(own.len())) {
                    own.iter().zip(found).for_each(|(&row, x)| part[row] = *x);
                }
            }
            all
        }
    };
    let mut columns = values.chunks(rows).map(<[f64]>::to_vec);
    let Some((names, _)) = observables else { return Ok(element_names("prediction", shape).into_iter().zip(columns).collect()) };
    let observed = names.iter().flat_map(|(n, s)| element_names(n, *s)).map(|n| format!("{n}.predicted"));
    let mut all: Vec<(String, Vec<f64>)> = observed.zip(&mut columns).collect();
    if let Some(own) = whole.own_value() {
        let size = (shape.len() - own) as u32;
        let own_shape = if size == 1 { Shape::Scalar } else { Shape::Vector(size) };
        let behind = values.chunks(rows).skip(own).map(<[f64]>::to_vec);
        all.extend(element_names("prediction", own_shape).into_iter().zip(behind));
    }
    Ok(all)
}

/// The options with when the groups of a saved model begin, where the caller does not say: groups that began at different times begin there
/// again.
pub(crate) fn begun<'a>(program: &Program, options: &Options<'a>) -> Result<Options<'a>, Diagnostics> {
    let group_starts = match options.group_starts.is_empty() {
        true => crate::saved::remember::group_starts(program)?,
        false => return Ok(options.clone()),
    };
    // A start that is said is that of all groups.
    if !group_starts.is_empty() && options.start_time.is_none() {
        crate::saved::remember::check_text(program, "when each group starts")?;
    }
    Ok(Options { group_starts, ..options.clone() })
}

/// What is known of groups: as the caller says, else as the fit that saved the model did.
pub(crate) fn known(program: &Program, options: &Options<'_>) -> Result<Values, Diagnostics> {
    let mut values = options.values.clone();
    let found = crate::saved::remember::of_groups(program)?;
    if found.iter().any(|f| values.iter().all(|v| v.0 != f.0)) {
        crate::saved::remember::check_text(program, "the values of each group")?;
    }
    values.extend(found);
    Ok(values)
}
