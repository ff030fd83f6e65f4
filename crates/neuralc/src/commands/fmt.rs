//! `neuralc fmt`: formats a program, or translates it. In: a file; out: formatted text, or the file replaced in one step (never half
//! written).

use crate::args::FmtArgs;
use crate::context::{Context, Failure, reason};
use neural_compiler::syntax::translate::translate;
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;

pub(crate) fn run(context: &mut Context, args: &FmtArgs) -> Result<u8, Failure> {
    if args.write && args.source.file.as_deref() == Some("-") {
        return Err(Failure::Usage("--write needs a file, not standard input".into()));
    }
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let to = args.to.map_or(source.syntax, |to| to.0);
    let text = translate(&source.text, source.syntax, to, &context.limits).map_err(|e| Failure::program(&source, e))?;
    let changed = text != source.text;
    if args.write && changed {
        replace(Path::new(&source.name), &text)
            .map_err(|e| Failure::plain("cannot-write", format!("cannot write `{}`: {}", source.name, reason(&e)), None))?;
    }
    if context.json {
        context.print_json(&json!({"changed": changed, "text": text}))?;
    } else if args.check && changed {
        context.print(&format!("{} would be reformatted\n", source.name))?;
    } else if !args.check && !args.write {
        context.print(&text)?;
    }
    Ok(if args.check && changed { Failure::WRONG } else { Failure::FINE })
}

/// Writes next to the file, then renames over it: readers see the old text or the new one. Links are followed, permissions kept.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    let folder = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(std::fs::metadata(&path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|e| e.error)?;
    Ok(())
}
