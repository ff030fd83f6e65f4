//! `neuralc export`: a program as source for others. In: a program, a target; out: files in a folder, or text on standard output.
//! Invariant: files appear when they are complete, or not at all.

use crate::args::{ExportArgs, ParamsAs};
use crate::context::{Context, Failure, reason};
use crate::core::Compiled;
use crate::inputs;
use neural_compiler::export::{File, Request, export, with_constants};
use neural_compiler::syntax::ast::{Input, InputKind};
use neural_compiler_fit::remember::is_saved_fit;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) fn run(context: &mut Context, args: &ExportArgs) -> Result<u8, Failure> {
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let program = Compiled::new(context, source)?;
    let graph = match inputs::shapes(&program, &args.shapes)? {
        Some(shapes) => program.specialise(&shapes)?,
        None => program.graph()?,
    };
    let constants = inputs::constants(&program, &args.sets, |input| becomes_constant(&program, input, args.params))?;
    for ((value, input), shape) in constants.iter().zip(&graph.inputs).zip(graph.inputs.iter().map(|i| i.shape)) {
        if let Some((given, _)) = value
            && *given != shape
        {
            return Err(Failure::plain("input-shape", format!("the input `{}` is a {shape}, a {given} was given", input.name), None));
        }
    }
    let values: Vec<Option<Vec<f64>>> = constants.iter().map(|c| c.as_ref().map(|(_, numbers)| numbers.clone())).collect();
    let graph = with_constants(&graph, &values);
    let (notes, results, formula) = (notes(&program, &constants), result_names(&program), program.program.latex());
    let request = Request {
        target: args.to.0,
        dtype: args.dtype.0,
        gradient: args.grad,
        limits: context.limits,
        notes: &notes,
        units: &program.program.units().names,
        results: &results,
        formula: &formula,
        prefix: &args.prefix,
        batch: !args.no_batch,
    };
    let files = export(&graph, &request).map_err(|e| Failure::program(&program.source, e))?;
    let written = match (&args.out, &files[..]) {
        (Some(out), _) => write(Path::new(out), &files)?,
        (None, [only]) if only.as_text().is_none() => {
            return Err(Failure::Usage(format!("`{}` is no text: give a file with --out", args.to.0.name())));
        }
        (None, [only]) if !context.json => {
            context.print(only.as_text().unwrap_or_default())?;
            return Ok(Failure::FINE);
        }
        (None, [_]) => Vec::new(),
        (None, _) => return Err(Failure::Usage(format!("`{}` is several files: give a folder with --out", args.to.0.name()))),
    };
    if context.json {
        let names: Vec<&str> = graph.inputs.iter().map(|i| i.name.as_str()).collect();
        let texts: serde_json::Map<String, serde_json::Value> = files.iter().map(|f| (f.name.into(), json!(f.as_text()))).collect();
        context.print_json(&json!({"target": args.to.0.name(), "inputs": names, "files": texts, "written": written}))?;
    } else {
        context.print(&format!("{}\n", written.join("\n")))?;
    }
    Ok(Failure::FINE)
}

/// Whether an input has its declared value in the exported text.
pub(crate) fn becomes_constant(program: &Compiled, input: &Input, asked: Option<ParamsAs>) -> bool {
    let constants = asked.map_or_else(|| is_saved_fit(&program.source.text), |p| p == ParamsAs::Constants);
    matches!(input.kind, InputKind::Param(_)) && constants
}

/// Where the text comes from: the name of the program, the record of its fit, its constants and the program itself.
fn notes(program: &Compiled, constants: &[Option<inputs::Wide>]) -> Vec<String> {
    let text = &program.source.text;
    let name =
        Path::new(&program.source.name).file_name().map_or_else(|| program.source.name.clone(), |n| n.to_string_lossy().into_owned());
    let mut out = vec![format!("Source: {name}")];
    out.extend(text.lines().filter_map(|l| l.strip_prefix("; Fitted by ")).map(|l| format!("Fitted by {l}")));
    for (input, value) in program.program.inputs().iter().zip(constants) {
        if let Some((_, numbers)) = value {
            let numbers: Vec<String> = numbers.iter().map(|x| format!("{x:?}")).collect();
            out.push(format!("{} = {}", input.name, numbers.join(" ")));
        }
    }
    let lines = text.lines().filter(|l| !l.starts_with("; Fitted by ") && !l.starts_with("; fit: "));
    out.push(String::new());
    out.extend(lines.map(|l| format!("  {l}")));
    out
}

/// What the results of a model with states are called.
fn result_names(program: &Compiled) -> Vec<String> {
    let states = program.program.inputs().iter().filter(|i| matches!(i.kind, InputKind::State(_)));
    states.map(|s| format!("the derivative or next value of {}", s.name)).collect()
}

/// Writes all files: into a folder, or a single one under the name given; what was written.
fn write(out: &Path, files: &[File]) -> Result<Vec<String>, Failure> {
    let folder = files.len() > 1 || out.is_dir() || out.as_os_str().to_string_lossy().ends_with('/');
    let failed =
        |path: &Path, e: &io::Error| Failure::plain("cannot-write", format!("cannot write `{}`: {}", path.display(), reason(e)), None);
    if folder {
        std::fs::create_dir_all(out).map_err(|e| failed(out, &e))?;
    }
    // All are written aside before the first takes its name.
    let mut ready = Vec::new();
    for file in files {
        let path: PathBuf = if folder { out.join(file.name) } else { out.to_path_buf() };
        let place = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        ready.push((aside(place, &file.bytes).map_err(|e| failed(&path, &e))?, path));
    }
    let mut written = Vec::new();
    for (file, path) in ready {
        file.persist(&path).map_err(|e| failed(&path, &e.error))?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

fn aside(folder: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}
