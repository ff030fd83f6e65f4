//! `neuralc show`: prints a stage of the compilation, or the program as formulas. In: a program; out: text, DOT, SVG, JSON or LaTeX.

use crate::args::{Format, ShowArgs, Stage};
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::inputs;
use neural_compiler::exec::jit;
use neural_compiler::export::sympy_expression;
use neural_compiler::graph::{Graph, print, svg};
use neural_compiler::ops::real::Dtype;
use neural_compiler::tape::Tape;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn run(context: &mut Context, args: &ShowArgs) -> Result<u8, Failure> {
    let format = if context.json { Format::Json } else { args.format.unwrap_or(Format::Text) };
    if matches!(format, Format::Latex | Format::Sympy) {
        if args.stage.is_some() {
            return Err(Failure::Usage("--format latex and sympy print the program itself: leave --stage out".into()));
        }
        let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
        let program = Compiled::new(context, source)?;
        match format {
            Format::Latex => context.print(&program.program.latex())?,
            _ => {
                let text = sympy_expression(&*program.graph()?).map_err(|e| Failure::program(&program.source, e))?;
                context.print(&format!("{text}\n"))?;
            }
        }
        return Ok(Failure::FINE);
    }
    let Some(stage) = args.stage else {
        return Err(Failure::Usage("give the --stage to print; only --format latex and sympy go without".into()));
    };
    let drawable = matches!(stage, Stage::Graph | Stage::Grad);
    if matches!(format, Format::Dot | Format::Svg) && !drawable {
        return Err(Failure::Usage("only the stages `graph` and `grad` can be drawn; use --format text or json".into()));
    }
    if args.dtype.is_some() && !matches!(stage, Stage::Asm | Stage::GradAsm) {
        return Err(Failure::Usage("the number type is chosen with the stages `asm` and `grad-asm` only; the others serve both".into()));
    }
    let dtype = args.dtype.map_or(Dtype::F64, |d| d.0);
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let program = Compiled::new(context, source)?;
    let graph = |program: &Compiled| -> Result<Arc<Graph>, Failure> {
        match inputs::shapes(program, &args.shapes)? {
            Some(shapes) => program.specialise(&shapes),
            None => program.graph(),
        }
    };
    let text = match stage {
        Stage::Ast => of_text(format, "ast", program.program.ast().to_text()),
        Stage::Anf => of_text(format, "anf", program.program.anf_text()),
        Stage::Graph => of_graph(format, &*graph(&program)?),
        Stage::Grad => of_graph(format, &with_gradient(&program, &*graph(&program)?)?),
        Stage::Tape => {
            let tape = Tape::new(&*graph(&program)?);
            if format == Format::Json { line(&tape.to_json()) } else { tape.to_text() }
        }
        Stage::Asm => of_text(format, "asm", machine_code(&*graph(&program)?, dtype, &program.source.text)),
        Stage::GradAsm => {
            of_text(format, "grad-asm", machine_code(&with_gradient(&program, &*graph(&program)?)?, dtype, &program.source.text))
        }
    };
    context.print(&text)?;
    Ok(Failure::FINE)
}

fn with_gradient(program: &Compiled, graph: &Graph) -> Result<Graph, Failure> {
    program.gradient(graph, &(0..graph.inputs.len()).collect::<Vec<usize>>())
}

/// The machine code of a program all of whose inputs vary, or why there is none.
fn machine_code(graph: &Graph, dtype: Dtype, source: &str) -> String {
    jit::listing(graph, dtype, source).unwrap_or_else(|why| format!("; {why}: the lane engine runs it\n"))
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn of_text(format: Format, stage: &str, text: String) -> String {
    if format == Format::Json { line(&json!({"stage": stage, "text": text})) } else { text }
}

fn of_graph(format: Format, graph: &Graph) -> String {
    match format {
        Format::Text => print::to_text(graph),
        Format::Dot => print::to_dot(graph),
        Format::Svg => svg::to_svg(graph),
        Format::Json => line(&neural_compiler::graph::json::to_json(graph)),
        Format::Latex | Format::Sympy => unreachable!("the program itself, without a stage, was printed before"),
    }
}
