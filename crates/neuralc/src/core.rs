//! The library, as the commands use it. In: sources and limits; out: programs, graphs and their derivatives, with every mistake
//! turned into a `Failure` that knows its source.

use crate::context::{Context, Failure, reason};
use crate::render::Source;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::syntax::modules::{Loaded, Wanted, link};
use neural_compiler::{Diagnostic, Options, Program, Shape, Syntax, Tensor, compile, diff, domain};
use neural_compiler_library::Resolver;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A program with the definitions of the texts it uses in place, found beside it.
fn linked(context: &Context, source: Source) -> Result<Source, Failure> {
    if source.syntax != Syntax::Scheme {
        return Ok(source);
    }
    let mut library = Resolver::new(context.library.clone());
    let mut load = |of: &str, wanted: &Wanted| match wanted {
        Wanted::Module(name, version) => library.load(of, name, *version),
        Wanted::File(path) => {
            let found = beside(of, path);
            // Links are followed before it is decided.
            let inside = |folder: &PathBuf| found.canonicalize().is_ok_and(|f| f.starts_with(folder));
            if !context.files_under.as_ref().is_none_or(inside) {
                return Err("it is not there, or not in the granted folder".into());
            }
            let text = bounded(&found, context.limits.source_bytes)?;
            Ok(Loaded { name: found.to_string_lossy().into_owned(), text })
        }
    };
    let main = Loaded { name: source.name.clone(), text: source.text.clone() };
    match link(main, &mut load, &context.limits) {
        Ok(None) => Ok(source),
        Ok(Some(mut whole)) => {
            whole.trace(|id| library.origin(id));
            Ok(Source { text: whole.text.clone(), linked: Some(Arc::new(whole)), ..source })
        }
        Err(e) => Err(Failure::program(&Source::new(e.file.name, e.file.text), e.errors)),
    }
}

/// The text of a file, which is one: a device or a pipe may have no end.
fn bounded(path: &Path, most: usize) -> Result<String, String> {
    if !std::fs::metadata(path).map_err(|e| reason(&e))?.is_file() {
        return Err("it is no file".into());
    }
    let file = std::fs::File::open(path).map_err(|e| reason(&e))?;
    let mut text = String::new();
    file.take(most as u64 + 1).read_to_string(&mut text).map_err(|e| reason(&e))?;
    if text.len() > most { Err(format!("it is longer than {most} bytes")) } else { Ok(text) }
}

/// A path as seen from a file, without steps back and forth.
fn beside(of: &str, path: &str) -> PathBuf {
    let mut found = PathBuf::new();
    for part in Path::new(of).parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(found.components().next_back(), Some(Component::Normal(_))) => drop(found.pop()),
            other => found.push(other),
        }
    }
    found
}

/// A compiled program and the text it was made from.
pub(crate) struct Compiled {
    pub(crate) source: Source,
    pub(crate) program: Program,
}

impl Compiled {
    /// Compiles; every free name is an input.
    pub(crate) fn new(context: &Context, source: Source) -> Result<Compiled, Failure> {
        Compiled::closed(context, source, None)
    }

    /// Compiles; when inputs are given, other free names are mistakes.
    pub(crate) fn closed(context: &Context, source: Source, inputs: Option<Vec<(String, Option<Shape>)>>) -> Result<Compiled, Failure> {
        let source = linked(context, source)?;
        match compile(&source.text, &Options { inputs, limits: context.limits, syntax: source.syntax, units: context.units }) {
            Ok(program) => Ok(Compiled { source, program }),
            Err(e) => Err(Failure::program(&source, e)),
        }
    }

    /// The graph for the shapes the program pins.
    pub(crate) fn graph(&self) -> Result<Arc<Graph>, Failure> {
        self.program.graph().map_err(|e| Failure::program(&self.source, e))
    }

    /// The graph for these input shapes.
    pub(crate) fn specialise(&self, shapes: &[Shape]) -> Result<Arc<Graph>, Failure> {
        self.program.specialise(shapes).map_err(|e| Failure::program(&self.source, e))
    }

    /// The value and its gradient with respect to some inputs.
    pub(crate) fn gradient(&self, graph: &Graph, wrt: &[usize]) -> Result<Graph, Failure> {
        diff::gradient(graph, wrt).map_err(|e| Failure::program(&self.source, e))
    }

    /// The value, its gradient and its second derivatives with respect to some inputs.
    pub(crate) fn hessian(&self, graph: &Graph, wrt: &[usize]) -> Result<Graph, Failure> {
        diff::hessian(graph, wrt).map_err(|e| Failure::program(&self.source, e))
    }

    /// Runs a graph of this program.
    pub(crate) fn run<T: Real>(
        &self,
        context: &Context,
        graph: &Graph,
        inputs: &[Tensor<T>],
        trap: bool,
    ) -> Result<Vec<Tensor<T>>, Failure> {
        interp::run(graph, inputs, &RunOptions { limits: context.limits, trap }).map_err(|e| Failure::run(&self.source, e))
    }

    /// Operations that may leave their domain.
    pub(crate) fn domain(graph: &Graph, ranges: &[Option<(f64, f64)>], dtype: Dtype) -> Vec<Diagnostic> {
        domain::check(graph, ranges, dtype)
    }

    /// Whether it is proved that nothing overflows.
    pub(crate) fn finite(graph: &Graph, ranges: &[Option<(f64, f64)>], dtype: Dtype) -> bool {
        domain::stays_finite(graph, ranges, dtype)
    }
}
