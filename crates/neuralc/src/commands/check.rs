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
    let Found { all, finite } = match findings(context, source.clone(), args) {
        Ok(found) => found,
        // What is wrong with the program is the result of this command, not a failure of it.
        Err(Failure::Wrong(source, found)) => Found { all: found.into_iter().map(|d| (source.clone(), d)).collect(), finite: None },
        Err(other) => return Err(other),
    };
    if context.json {
        let one = |(of, d): &(render::Source, Diagnostic)| {
            let mut told = render::to_json(of, d);
            if of.name != source.name {
                told["file"] = json!(of.name);
            }
            told
        };
        let told: Vec<Value> = all.iter().map(one).collect();
        let units: Map<String, Value> = units(context, source.clone()).into_iter().map(|(name, unit)| (name, json!(unit))).collect();
        let mut out = json!({"diagnostics": told, "inputs": input_names(context, source.clone()), "units": units});
        if let Some(finite) = finite {
            out["finite"] = json!(finite);
        }
        context.print_json(&out)?;
    } else if all.is_empty() {
        context.print("no problems found\n")?;
        if let Some(finite) = finite {
            let overflow = if finite { "and none overflows to infinity" } else { "but numbers may overflow to infinity" };
            context.print(&format!(
                "for inputs in these ranges no operation leaves its domain (divides by 0, takes a logarithm of 0, …), {overflow}\n"
            ))?;
        }
        let units = units(context, source.clone());
        let width = units.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, unit) in units {
            context.print(&format!("{name:width$}  {unit}\n"))?;
        }
    } else {
        for (source, d) in &all {
            context.print_styled(&format!("{}\n", render::to_text(source, d, render::stdout_colour())))?;
        }
    }
    let fine = all.iter().all(|(_, d)| d.severity == Severity::Note);
    Ok(if fine { Failure::FINE } else { Failure::WRONG })
}

/// What was found.
struct Found {
    /// Each with the text it is in.
    all: Vec<(render::Source, Diagnostic)>,
    /// Whether it is proved that nothing overflows, where the domain was asked for.
    finite: Option<bool>,
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

fn findings(context: &Context, source: render::Source, args: &CheckArgs) -> Result<Found, Failure> {
    let program = Compiled::new(context, source)?;
    let (domain, finite) = domain(&program, args)?;
    let found = program.program.units().findings.iter().cloned().chain(domain);
    let placed = |d: Diagnostic| {
        let (source, found) = program.source.blame(d.into());
        found.0.into_iter().map(move |d| (source.clone(), d))
    };
    Ok(Found { all: found.flat_map(placed).collect(), finite })
}

/// Operations that may leave their domain, and whether it is proved that nothing overflows.
fn domain(program: &Compiled, args: &CheckArgs) -> Result<(Vec<Diagnostic>, Option<bool>), Failure> {
    let shapes = inputs::shapes(program, &args.shapes)?;
    let ranges = inputs::ranges(program, &args.ranges)?;
    // Without ranges every input may be anything, and nearly every division would be suspect: the domain is the user's question.
    let asked = !args.ranges.is_empty() || program.program.inputs().is_empty();
    let graph = match shapes {
        Some(shapes) => program.specialise(&shapes)?,
        None if asked => program.graph()?,
        None => return Ok((Vec::new(), None)),
    };
    if !asked {
        return Ok((Vec::new(), None));
    }
    let finite = (!args.ranges.is_empty()).then(|| Compiled::finite(&graph, &ranges, args.dtype.0));
    Ok((Compiled::domain(&graph, &ranges, args.dtype.0), finite))
}
