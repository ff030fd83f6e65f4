//! `neuralc check`: finds mistakes. In: a program, ranges of its inputs; out: diagnostics on standard output, exit code 1 if any of them
//! is more than a note.

use crate::args::CheckArgs;
use crate::commands::export::becomes_constant;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::{inputs, render};
use neural_compiler::Diagnostic;
use neural_compiler::diagnostic::Severity;
use serde_json::{Map, Value, json};

pub(crate) fn run(context: &mut Context, args: &CheckArgs) -> Result<u8, Failure> {
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let found = match findings(context, source.clone(), args) {
        Ok(found) => found,
        // What is wrong with the program is the result of this command, not a failure of it.
        Err(Failure::Wrong(_, found)) => found,
        Err(other) => return Err(other),
    };
    if context.json {
        let all: Vec<Value> = found.iter().map(|d| render::to_json(&source, d)).collect();
        let units: Map<String, Value> = units(context, source.clone()).into_iter().map(|(name, unit)| (name, json!(unit))).collect();
        context.print_json(&json!({"diagnostics": all, "inputs": input_names(context, source.clone()), "units": units}))?;
    } else if found.is_empty() {
        context.print("no problems found\n")?;
        let units = units(context, source.clone());
        let width = units.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, unit) in units {
            context.print(&format!("{name:width$}  {unit}\n"))?;
        }
    } else {
        for d in &found {
            context.print_styled(&format!("{}\n", render::to_text(&source, d, render::stdout_colour())))?;
        }
    }
    let fine = found.iter().all(|d| d.severity == Severity::Note);
    Ok(if fine { Failure::FINE } else { Failure::WRONG })
}

/// The units of the program's names, declared and inferred; none where the program does not compile.
fn units(context: &Context, source: render::Source) -> Vec<(String, String)> {
    Compiled::new(context, source).map_or_else(|_| Vec::new(), |program| program.program.units().names.clone())
}

/// The inputs of the program in the order in which `neuralc export` takes them; none where the program does not compile.
fn input_names(context: &Context, source: render::Source) -> Vec<String> {
    let Ok(program) = Compiled::new(context, source) else { return Vec::new() };
    let inputs = program.program.inputs().iter().filter(|i| !becomes_constant(&program, i, None));
    inputs.map(|i| i.name.clone()).collect()
}

fn findings(context: &Context, source: render::Source, args: &CheckArgs) -> Result<Vec<Diagnostic>, Failure> {
    let program = Compiled::new(context, source)?;
    let mut found = program.program.units().findings.clone();
    found.extend(domain(&program, args)?);
    Ok(found)
}

/// Operations that may leave their domain.
fn domain(program: &Compiled, args: &CheckArgs) -> Result<Vec<Diagnostic>, Failure> {
    let shapes = inputs::shapes(program, &args.shapes)?;
    let ranges = inputs::ranges(program, &args.ranges)?;
    // Without ranges every input may be anything, and nearly every division would be suspect: the domain is the user's question.
    let asked = !args.ranges.is_empty() || program.program.inputs().is_empty();
    let graph = match shapes {
        Some(shapes) => program.specialise(&shapes)?,
        None if asked => program.graph()?,
        None => return Ok(Vec::new()),
    };
    Ok(if asked { Compiled::domain(&graph, &ranges, args.dtype.0) } else { Vec::new() })
}
