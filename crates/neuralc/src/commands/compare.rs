//! `neuralc compare`: several models of the same data. In: models, a table; out: their likelihoods and criteria, weights, and tests of
//! those that are parts of others.

use crate::commands::fit::bad_options;
use crate::commands::fit_args::CompareArgs;
use crate::commands::fit_table::{Roles, Wanted, Whole};
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::render::Source;
use crate::table::{self, Reader};
use neural_compiler_fit::{Fit, Options, compare, fit};

pub(crate) fn run(context: &mut Context, args: &CompareArgs) -> Result<u8, Failure> {
    if args.data == "-" {
        return Err(Failure::Usage("the table is read once for each model: give a file, not standard input".into()));
    }
    let mut fits: Vec<(String, Fit)> = Vec::new();
    for (number, file) in args.files.iter().enumerate() {
        let source = context.source(Some(file), None)?;
        let model = Compiled::new(context, source)?;
        let reader = Reader::open(&args.data, &args.table)?;
        let notes = reader.notes();
        let named = [&args.time, &args.target, &args.sigma].into_iter().flatten().map(String::as_str).collect();
        let roles = Roles { time: args.time.as_deref(), target: args.target.as_deref(), sigma: args.sigma.as_deref() };
        let wanted = Wanted { model: &model, named, roles, group: args.group.as_deref(), dates: &args.dates, fitting: true };
        let whole = Whole::read(reader, &wanted);
        if number == 0 {
            table::say(context, &args.data, &notes);
        }
        let whole = whole?;
        let options = options(args, &whole)?;
        options.check().map_err(bad_options)?;
        match fit(&model.program, &whole.table, &options) {
            Ok(found) => fits.push((file.clone(), found)),
            Err(e) => return Err(whole.blame(&model, e, args.target.as_deref())),
        }
    }
    let named: Vec<(String, &Fit)> = fits.iter().map(|(name, fit)| (name.clone(), fit)).collect();
    let found = compare(&named).map_err(|e| Failure::Wrong(Source::new("", ""), e.0))?;
    if context.json {
        context.print_json(&found.to_json())?;
    } else {
        context.print(&found.to_text())?;
        for (name, fit) in fits.iter().filter(|(_, fit)| !fit.converged) {
            context.print(&format!("warning: `{name}`: {}\n", fit.message))?;
        }
    }
    Ok(Failure::FINE)
}

/// The options of the library.
fn options<'a>(args: &CompareArgs, whole: &Whole) -> Result<Options<'a>, Failure> {
    let column = args.sigma.as_ref().filter(|s| whole.table.column(s).is_some());
    let number = args.sigma.as_ref().filter(|_| column.is_none()).and_then(|s| s.parse::<f64>().ok());
    Ok(Options {
        target: args.target.clone(),
        time: args.time.clone(),
        group: args.group.clone(),
        start_time: args.start_time.map(|t| t.number(whole.calendar)).transpose()?,
        sigma_column: if number.is_none() { args.sigma.clone() } else { None },
        sigma: number,
        starts: args.starts,
        scheme: args.method.0,
        tolerance: args.rtol,
        absolute_tolerance: args.atol,
        seed: args.seed,
        threads: args.threads.map_or(0, Into::into),
        ..Options::default()
    })
}
