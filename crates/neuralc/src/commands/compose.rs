//! `neuralc compose`: chains programs. In: files, the first being computed first; out: the source of one program.

use crate::args::ComposeArgs;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::render::Source;
use neural_compiler::Syntax;
use neural_compiler::compose::{chain, feed};
use neural_compiler::syntax::translate::translate;
use serde_json::json;

pub(crate) fn run(context: &mut Context, args: &ComposeArgs) -> Result<u8, Failure> {
    let stages = args.files.len() - 1;
    if !matches!(args.into.len(), 0 | 1) && args.into.len() != stages {
        return Err(Failure::Usage(format!("--into is given once, or once for each of the {stages} files after the first")));
    }
    let mut composed: Option<Compiled> = None;
    let mut syntaxes: Vec<Syntax> = Vec::new();
    let mut fed = args.into.len() != 1;
    for (i, file) in args.files.iter().enumerate() {
        let next = Compiled::new(context, context.source(Some(file), None)?)?;
        syntaxes.push(next.source.syntax);
        composed = Some(match composed {
            None => next,
            Some(inner) => {
                // A single name goes to the stages that have it.
                let name = match &args.into[..] {
                    [one] => Some(one).filter(|name| next.program.inputs().iter().any(|i| i.name == **name)),
                    names => names.get(i - 1),
                };
                fed |= name.is_some();
                let both = match name {
                    Some(name) => feed(&next.program, name, &inner.program),
                    None => chain(&[&inner.program, &next.program]),
                };
                let program = both.map_err(|e| Failure::program(&next.source, e))?;
                Compiled { source: Source::new("<composed>", program.source()), program }
            }
        });
    }
    if !fed {
        return Err(Failure::plain("unknown-input", format!("no program after the first has an input `{}`", args.into[0]), None));
    }
    let composed = composed.ok_or_else(|| Failure::Usage("give at least two files".into()))?;
    // The whole is made in Scheme; it is written as its parts are where they agree.
    let to = if syntaxes.iter().all(|&s| s == syntaxes[0]) { syntaxes[0] } else { Syntax::Scheme };
    let text =
        translate(&composed.source.text, composed.source.syntax, to, &context.limits).map_err(|e| Failure::program(&composed.source, e))?;
    if context.json {
        let inputs: Vec<&str> = composed.program.inputs().iter().map(|i| i.name.as_str()).collect();
        context.print_json(&json!({"source": text, "inputs": inputs}))?;
    } else {
        context.print(&text)?;
    }
    Ok(Failure::FINE)
}
