//! `neuralc compare`: several models of the same data. In: models, a table; out: their likelihoods and criteria, weights, and tests of
//! those that are parts of others.

use crate::commands::fit::{bad_options, options, read, wanted};
use crate::commands::fit_args::CompareArgs;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::render::Source;
use crate::table;
use neural_compiler::Program;
use neural_compiler_fit::{Fit, compare, fit};

pub(crate) fn run(context: &mut Context, args: &CompareArgs) -> Result<u8, Failure> {
    let how = &args.how;
    if how.from.data == "-" {
        return Err(Failure::Usage("the table is read once for each model: give a file, not standard input".into()));
    }
    let mut models = Vec::new();
    for file in &args.files {
        let source = context.source(Some(file), None)?;
        models.push((file, Compiled::new(context, source)?));
    }
    let programs: Vec<&Program> = models.iter().map(|(_, model)| &model.program).collect();
    let mut fits: Vec<(String, Fit)> = Vec::new();
    for (number, (file, model)) in models.iter().enumerate() {
        let (whole, _) = read(how, &wanted(how, model, None), |notes| {
            if number == 0 {
                table::say(context, &how.from.data, notes);
            }
        })?;
        let options = options(how, model, &whole)?;
        // What one of the models has no use for may be for another.
        options.check().and_then(|()| options.check_purpose(&programs)).map_err(bad_options)?;
        match fit(&model.program, &whole.table, &options.suited_to(&model.program)) {
            Ok(found) => fits.push((file.to_string(), found)),
            Err(e) => return Err(whole.blame(model, e, how.target.as_deref())),
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
