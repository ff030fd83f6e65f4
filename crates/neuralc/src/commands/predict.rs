//! `neuralc predict`: a saved model on new data. In: a model at its declared values, a table; out: the table with predictions.
//! What the command line leaves out is as it was in the fit that saved the model.

use crate::commands::doses;
use crate::commands::fit::{bad_options, beside};
use crate::commands::fit_args::PredictArgs;
use crate::commands::fit_table::{Roles, Wanted, Whole};
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::table::{self, Again, Format, Results, Target, Writer, rows_for};
use neural_compiler::Diagnostic;
use neural_compiler_fit::remember::{Remembered, check_weights, sigma_column, weights_column};
use neural_compiler_fit::{Options, Values, band_columns, predict_told, saved_bands, unsaid_of_bands, weights};
use serde_json::json;
use std::io::Write;

pub(crate) fn run(context: &mut Context, args: &PredictArgs) -> Result<u8, Failure> {
    if args.from.data == "-" && args.source.file.as_deref() == Some("-") {
        return Err(Failure::Usage("the model and the table cannot both come from standard input".into()));
    }
    if args.out == "-" && context.json {
        return Err(Failure::Usage("--json and `--out -` both need standard output".into()));
    }
    let events = ("the doses", "--events", args.begin.events.as_deref());
    let read = [("the table", "--data", Some(args.from.data.as_str())), events, table::program(args.source.file.as_deref())];
    table::apart("--out", &args.out, &read)?;
    let format = Format::write(&args.out)?;
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let model = Compiled::new(context, source)?;
    let known = Remembered::of(&model.program).map_err(plain)?;
    let mut data = Again::new(&args.from.data, &args.from.table)?;
    let reader = data.read()?;
    let notes = reader.notes();
    let known = known.within(reader.columns().iter().map(String::as_str), args.group.as_deref()).map_err(plain)?;
    let options = options(args, &model, known)?;
    options.check().map_err(bad_options)?;
    let sigma = if args.bands { sigma_column(&model.program).map_err(plain)? } else { None };
    let sigma = sigma.filter(|name| reader.columns().contains(name));
    let weights = if args.bands { weights_column(&model.program).map_err(plain)? } else { None };
    let weights = weights.filter(|name| reader.columns().contains(name));
    let named = [&options.time, &sigma, &weights].into_iter().flatten().map(String::as_str).collect();
    let roles = Roles { time: options.time.as_deref(), sigma: sigma.as_deref(), ..Roles::default() };
    let wanted = Wanted { model: &model, named, roles, group: options.group.as_deref(), dates: &args.from.dates, fitting: false };
    let predicted = |whole: Whole| {
        let start_time = args.begin.start_time.map(|t| t.number(whole.calendar)).transpose()?;
        let called = (options.time.as_deref(), options.group.as_deref());
        let doses = doses::read(args.begin.events.as_deref(), &args.from.table, &model, called, Some(&whole), false)?;
        let options = Options { start_time, doses, ..options.clone() };
        let found = predict_told(&model.program, &whole.table, &options).and_then(|(mut columns, mut doubts)| {
            let bands = if args.bands { saved_bands(&model.program, &whole.table, &options)? } else { vec![] };
            columns.extend(band_columns(&bands));
            doubts.extend(unsaid_of_bands(&bands));
            Ok((columns, doubts))
        });
        found.map_err(|e| whole.blame(&model, e, None))
    };
    let outcome = Whole::read(reader, &wanted).and_then(predicted);
    table::say(context, &args.from.data, &notes);
    let (columns, unsaid) = outcome?;
    if !context.json {
        unsaid.iter().for_each(|why| drop(writeln!(std::io::stderr(), "note: {}", crate::render::shown(why))));
    }
    let names: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
    let rows = write(args, &mut data, format, &columns, &names, context.limits.memory_bytes)?;
    if context.json {
        context.print_json(&json!({"rows": rows, "columns": names, "notes": unsaid, "table": notes.borrow().json()}))?;
    } else if args.out != "-" {
        context.print(&format!("{}: {rows} rows, {}\n", args.out, names.join(" ")))?;
    }
    Ok(Failure::FINE)
}

fn plain(d: Diagnostic) -> Failure {
    Failure::plain(d.code, d.message, d.help)
}

/// The options of the library: as the command line says, else as the fit did.
fn options(args: &PredictArgs, model: &Compiled, known: Remembered) -> Result<Options<'static>, Failure> {
    let given = Options {
        values: saved_weights(args.source.file.as_deref(), model)?,
        time: args.time.clone(),
        scheme: args.method.and_then(|method| method.0),
        step: args.step,
        tolerance: args.rtol,
        absolute_tolerance: args.atol,
        ..Options::default()
    };
    Ok(Remembered { method: known.method.filter(|_| args.method.is_none()), ..known }.fill(given))
}

/// The weights of the model's nets, from the file beside it.
pub(crate) fn saved_weights(file: Option<&str>, model: &Compiled) -> Result<Values, Failure> {
    if weights::needed(&model.program).is_empty() {
        return Ok(Values::new());
    }
    let Some(file) = file.filter(|f| *f != "-") else {
        return Err(Failure::plain("no-weights", "the model has nets, and only a saved model has their weights beside it", None));
    };
    let path = beside(file);
    let bytes = std::fs::read(&path).map_err(|e| {
        let help = "`neuralc fit --save` writes the weights beside the model; keep the two files together".to_string();
        Failure::plain("no-weights", format!("cannot read the weights of the model's nets from `{path}`: {e}"), Some(help))
    })?;
    let values =
        weights::from_bytes(&model.program, &bytes).and_then(|values| check_weights(&model.program.scheme(), &bytes).map(|()| values));
    values.map_err(|d| Failure::plain(d.code, format!("`{path}`: {}", d.message), d.help))
}

/// The table again, a chunk at a time, with the new columns.
fn write(
    args: &PredictArgs,
    data: &mut Again,
    format: Format,
    columns: &[(String, Vec<f64>)],
    names: &[String],
    memory: usize,
) -> Result<usize, Failure> {
    let mut reader = data.read()?;
    if let Some(taken) = names.iter().find(|n| reader.columns().contains(n)) {
        return Err(Failure::plain(
            "duplicate-column",
            format!("`{}` has a column `{taken}` already", args.from.data),
            Some("rename it".into()),
        ));
    }
    let most = rows_for(reader.columns().len() + columns.len());
    let numeric = vec![false; reader.columns().len()];
    let target = Target::open(&args.out)?;
    let mut writer = Writer::new::<f64>(format, &target, &reader, &numeric, names, memory).map_err(|e| target.blame(e))?;
    let mut done = 0;
    while let Some(chunk) = reader.next(most)? {
        let rows = chunk.rows();
        let blocks = columns.iter().map(|(_, values)| (&values[done..done + rows], 1)).collect();
        let failed = Vec::new();
        writer.write(chunk, done as u64, &Results { blocks, failed }).map_err(|e| target.blame(e))?;
        done += rows;
    }
    writer.finish().map_err(|e| target.blame(e))?;
    target.finish()?;
    Ok(done)
}
