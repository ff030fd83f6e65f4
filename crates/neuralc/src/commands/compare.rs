//! `neuralc compare`: several models of the same data. In: models, a table; out: their likelihoods and criteria, weights, and tests of
//! those that are parts of others.

use crate::commands::fit::{bad_options, options, read, wanted};
use crate::commands::fit_args::CompareArgs;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::render::Source;
use crate::table;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler_fit::{Fit, compare, fit};

pub(crate) fn run(context: &mut Context, args: &CompareArgs) -> Result<u8, Failure> {
    let how = &args.how;
    if how.from.data == "-" {
        return Err(Failure::Usage("the table is read once for each model: give a file, not standard input".into()));
    }
    let mut fits: Vec<(String, Fit)> = Vec::new();
    for (number, file) in args.files.iter().enumerate() {
        let source = context.source(Some(file), None)?;
        let model = Compiled::new(context, source)?;
        let (whole, _) = read(how, &wanted(how, &model, None), |notes| {
            if number == 0 {
                table::say(context, &how.from.data, notes);
            }
        })?;
        let mut options = options(how, &model, &whole)?;
        options.check().map_err(bad_options)?;
        // Others among the models may have states.
        if model.program.kind() == ModelKind::Expression {
            options = options.without_solver();
        }
        match fit(&model.program, &whole.table, &options) {
            Ok(found) => fits.push((file.clone(), found)),
            Err(e) => return Err(whole.blame(&model, e, how.target.as_deref())),
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
