//! `neuralc predict`: a saved model on new data. In: a model at its declared values, a table; out: the table with predictions.

use crate::commands::fit::{beside, blame, scheme};
use crate::commands::fit_args::PredictArgs;
use crate::commands::fit_table::Whole;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::table::{Format, Reader, Results, Target, Writer, rows_for};
use neural_compiler_fit::{Options, Values, predict, weights};
use serde_json::json;

pub(crate) fn run(context: &mut Context, args: &PredictArgs) -> Result<u8, Failure> {
    if args.data == "-" {
        return Err(Failure::Usage("`neuralc predict` reads its table twice, so it cannot come from standard input".into()));
    }
    if args.out == "-" && context.json {
        return Err(Failure::Usage("--json and `--out -` both need standard output".into()));
    }
    let format = Format::of(&args.out)?;
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let model = Compiled::new(context, source)?;
    let whole = Whole::read(&args.data, args.group.as_deref())?;
    let values = saved_weights(args, &model)?;
    let options = Options {
        values,
        time: args.time.clone(),
        group: args.group.clone(),
        start_time: args.start_time,
        scheme: scheme(args.method),
        step: args.step,
        tolerance: args.rtol,
        absolute_tolerance: args.atol,
        ..Options::default()
    };
    let columns = match predict(&model.program, &whole.table, &options) {
        Ok(columns) => columns,
        Err(e) => return Err(blame(whole, &model, e)),
    };
    let names: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
    let rows = write(args, format, &columns, &names)?;
    if context.json {
        context.print_json(&json!({"rows": rows, "columns": names}))?;
    } else if args.out != "-" {
        context.print(&format!("{}: {rows} rows, {}\n", args.out, names.join(" ")))?;
    }
    Ok(Failure::FINE)
}

/// The weights of the model's nets, from the file beside it.
fn saved_weights(args: &PredictArgs, model: &Compiled) -> Result<Values, Failure> {
    if weights::needed(&model.program).is_empty() {
        return Ok(Values::new());
    }
    let Some(file) = args.source.file.as_ref().filter(|f| *f != "-") else {
        return Err(Failure::plain("no-weights", "the model has nets, and only a saved model has their weights beside it", None));
    };
    let path = beside(file);
    let bytes = std::fs::read(&path).map_err(|e| {
        let help = "`neuralc fit --save` writes the weights beside the model; keep the two files together".to_string();
        Failure::plain("no-weights", format!("cannot read the weights of the model's nets from `{path}`: {e}"), Some(help))
    })?;
    weights::from_bytes(&model.program, &bytes).map_err(|d| Failure::plain(d.code, format!("`{path}`: {}", d.message), d.help))
}

/// The table again, a chunk at a time, with the new columns.
fn write(args: &PredictArgs, format: Format, columns: &[(String, Vec<f64>)], names: &[String]) -> Result<usize, Failure> {
    let mut reader = Reader::open(&args.data)?;
    if let Some(taken) = names.iter().find(|n| reader.columns().contains(n)) {
        return Err(Failure::plain("duplicate-column", format!("`{}` has a column `{taken}` already", args.data), Some("rename it".into())));
    }
    let most = rows_for(reader.columns().len() + columns.len());
    let numeric = vec![false; reader.columns().len()];
    let target = Target::open(&args.out)?;
    let mut writer = Writer::new::<f64>(format, &target, &reader, &numeric, names)?;
    let mut done = 0;
    while let Some(chunk) = reader.next(most)? {
        let rows = chunk.rows();
        let blocks = columns.iter().map(|(_, values)| (&values[done..done + rows], 1)).collect();
        let failed = Vec::new();
        writer.write(chunk, done as u64, &Results { blocks, failed })?;
        done += rows;
    }
    writer.finish()?;
    target.finish()?;
    Ok(done)
}
