//! Programs as source text for others. In: a verified graph and a target; out: files.
//!
//! `code` makes statements of a graph, once for all languages that have them; `structured` writes those for a language that says how it
//! writes an operation, a branch, a loop, a function; `record` and `spell` write elementary functions out from their kernels. A new
//! language of that kind is one file or folder. `constants` puts values in the place of inputs.
//! Invariant: a text means what the graph means, or there is an error that names what the target cannot say.

mod c;
mod code;
mod constants;
mod julia;
mod kernels;
mod onnx;
mod python;
mod record;
mod rust;
mod spell;
mod stablehlo;
mod structured;
mod sympy;

pub use constants::with_constants;
pub use onnx::{Wanted as OnnxWanted, onnx};
pub use sympy::expression as sympy_expression;

use crate::diagnostic::Diagnostics;
use crate::graph::{Graph, GraphInput, json};
use crate::limits::Limits;
use crate::ops::Op;
use crate::ops::real::Dtype;
use crate::shape::Shape;
use crate::{diff, graph};

/// What a program can become.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// C99, with a header and a program to try it.
    C,
    /// Rust, a module.
    Rust,
    /// Python without any library.
    Python,
    /// Python with NumPy, and SciPy for special functions.
    Numpy,
    /// Python with JAX.
    Jax,
    /// Julia, a module.
    Julia,
    /// An ONNX model.
    Onnx,
    /// StableHLO as text.
    Stablehlo,
    /// Python with SymPy.
    Sympy,
    /// The formula as LaTeX.
    Latex,
    /// The graph as JSON.
    Json,
}

impl Target {
    /// Every target.
    pub const ALL: &[Target] = &[
        Target::C,
        Target::Rust,
        Target::Python,
        Target::Numpy,
        Target::Jax,
        Target::Julia,
        Target::Onnx,
        Target::Stablehlo,
        Target::Sympy,
        Target::Latex,
        Target::Json,
    ];

    /// What it is called on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::C => "c",
            Target::Rust => "rust",
            Target::Python => "python",
            Target::Numpy => "numpy",
            Target::Jax => "jax",
            Target::Julia => "julia",
            Target::Onnx => "onnx",
            Target::Stablehlo => "stablehlo",
            Target::Sympy => "sympy",
            Target::Latex => "latex",
            Target::Json => "json",
        }
    }

    /// What it is, in a phrase.
    pub fn about(self) -> &'static str {
        match self {
            Target::C => "C99 that stands for itself, with the same bits",
            Target::Rust => "a Rust module that stands for itself, with the same bits",
            Target::Python => "Python without any library",
            Target::Numpy => "Python with NumPy",
            Target::Jax => "Python with JAX, to be compiled by it",
            Target::Julia => "a Julia module",
            Target::Onnx => "an ONNX model, for runtimes such as onnxruntime",
            Target::Stablehlo => "StableHLO as text, for XLA and IREE",
            Target::Sympy => "Python that builds a SymPy expression",
            Target::Latex => "the formula as LaTeX",
            Target::Json => "the graph as JSON",
        }
    }

    /// The target of that name.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.iter().copied().find(|t| t.name() == name)
    }
}

/// What is wanted of an export.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What the program is to become.
    pub target: Target,
    /// Its number type.
    pub dtype: Dtype,
    /// Whether the gradient by all inputs is wanted too.
    pub gradient: bool,
    /// Bounds on running, where the target has them.
    pub limits: Limits,
    /// Lines about where the program comes from.
    pub notes: &'a [String],
    /// Units of inputs, by name.
    pub units: &'a [(String, String)],
    /// Names of the results; one without a name is the value.
    pub results: &'a [String],
    /// The program as LaTeX, for that target: a graph has forgotten the names of its text.
    pub formula: &'a str,
    /// What the names of a C file begin with: `nc` unless several models are linked together.
    pub prefix: &'a str,
    /// Whether inputs and results of an ONNX model have an axis of lanes in front.
    pub batch: bool,
}

impl<'a> Request<'a> {
    /// The value alone, and nothing to say about where it comes from.
    pub fn new(target: Target, dtype: Dtype) -> Request<'a> {
        let limits = Limits::default();
        Request { target, dtype, gradient: false, limits, notes: &[], units: &[], results: &[], formula: "", prefix: "nc", batch: true }
    }
}

impl Request<'_> {
    /// The inputs of a graph with their units.
    fn inputs(&self, graph: &Graph) -> Vec<(String, Shape)> {
        graph.inputs.iter().map(|i| (self.with_unit(&i.name), i.shape)).collect()
    }

    /// The results of a graph.
    fn results(&self, graph: &Graph) -> Vec<(String, Shape)> {
        let name = |k: usize| self.results.get(k).cloned().unwrap_or_else(|| "the value".into());
        graph.outputs().into_iter().enumerate().map(|(k, shape)| (name(k), shape)).collect()
    }

    /// A name and its unit.
    fn with_unit(&self, name: &str) -> String {
        match self.units.iter().find(|u| u.0 == name) {
            Some((_, unit)) => format!("{name} [{unit}]"),
            None => name.to_string(),
        }
    }
}

/// A file to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl File {
    fn text(name: &'static str, text: String) -> File {
        File { name, bytes: text.into_bytes() }
    }

    /// Its text, unless it is none.
    pub fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| self.name != "model.onnx")
    }
}

/// Rows and columns as kernels see them.
fn sides(shape: Shape) -> (usize, usize) {
    match shape {
        Shape::Scalar => (1, 1),
        Shape::Vector(n) => (n as usize, 1),
        Shape::Matrix(r, c) => (r as usize, c as usize),
    }
}

/// Lines that say which number is which.
fn places(of: &str, names: impl Iterator<Item = (String, Shape)>) -> Vec<String> {
    let mut at = 0;
    let line = |(name, shape): (String, Shape)| {
        let range = if shape == Shape::Scalar { format!("{of}[{at}]") } else { format!("{of}[{at}..{}]", at + shape.len()) };
        let what = if shape == Shape::Scalar { String::new() } else { format!(", a {shape}, row by row") };
        at += shape.len();
        format!("{range:<16} {name}{what}")
    };
    names.map(line).collect()
}

/// Lines of comment that say where a file comes from.
fn comment(request: &Request<'_>, what: &str, start: &str) -> String {
    let first = format!("{what}, written by Neural Compiler {}.", env!("CARGO_PKG_VERSION"));
    let printable = |line: &String| line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    std::iter::once(first).chain(request.notes.iter().map(printable)).map(|l| format!("{start}{l}").trim_end().to_string() + "\n").collect()
}

/// Names for inputs: their own where a language allows it. Not so those that are taken, those that begin like the text's own, and those
/// that look like its variables: a letter and digits.
fn names(inputs: &[GraphInput], taken: &[&str], own: &[&str]) -> Vec<String> {
    let mut taken: rustc_hash::FxHashSet<String> = taken.iter().map(|t| t.to_string()).collect();
    let mut names = Vec::new();
    for input in inputs {
        let plain: String = input.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let numbered = plain.len() > 1 && plain[1..].chars().all(|c| c.is_ascii_digit());
        let begins = own.iter().any(|o| plain.starts_with(o)) || !plain.starts_with(|c: char| c.is_ascii_alphabetic());
        let mut name = if numbered || begins { format!("in_{plain}") } else { plain };
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// The graphs of a program.
struct Export<'a> {
    graph: &'a Graph,
    /// The value and its gradient by all inputs.
    gradient: Option<&'a Graph>,
}

/// The files of a program for a target.
pub fn export(graph: &Graph, request: &Request<'_>) -> Result<Vec<File>, Diagnostics> {
    debug_assert_eq!(graph::verify::verify(graph), Ok(()));
    let all: Vec<usize> = (0..graph.inputs.len()).collect();
    let gradient = if request.gradient { Some(diff::gradient(graph, &all)?) } else { None };
    let both = Export { graph, gradient: gradient.as_ref() };
    match request.target {
        Target::C => c::files(request, &both),
        Target::Rust => rust::files(request, &both),
        Target::Python => python::files(request, &both, python::Flavour::Plain),
        Target::Numpy => python::files(request, &both, python::Flavour::Numpy),
        Target::Jax => python::files(request, &both, python::Flavour::Jax),
        Target::Julia => julia::files(request, &both),
        Target::Onnx => onnx::files(request, &both),
        Target::Stablehlo => stablehlo::files(request, &both),
        Target::Sympy => sympy::files(request, &both),
        Target::Latex => {
            Ok(vec![File::text("model.tex", format!("{}{}\n", comment(request, "A model", "% "), request.formula.trim_end()))])
        }
        Target::Json => Ok(vec![File::text("model.json", format!("{:#}\n", json::to_json(both.gradient.unwrap_or(graph))))]),
    }
}

/// Whether a target can say an operation, whatever its shapes.
pub fn says(target: Target, op: Op) -> bool {
    match target {
        Target::C => c::spelled(op),
        Target::Rust => rust::spelled(op),
        Target::Python => python::spelled(op, python::Flavour::Plain),
        Target::Numpy => python::spelled(op, python::Flavour::Numpy),
        Target::Jax => python::spelled(op, python::Flavour::Jax),
        Target::Julia => julia::spelled(op),
        Target::Onnx => onnx::spelled(op),
        Target::Stablehlo => stablehlo::spelled(op),
        Target::Sympy => sympy::spelled(op),
        Target::Latex | Target::Json => true,
    }
}
