//! Rust. In: a program, and on request its gradient; out: `model.rs`, a module that stands for itself.
//!
//! Elementary functions are written out from their kernels, special ones are the source of the math crate; nothing is allocated, and beyond
//! correctly rounded operations only methods of numbers are taken from the standard library.
//! Invariants: every result has the interpreter's bits; what the interpreter calls an error is one here, and NaN in every result.

mod functions;
mod language;
mod special;

use super::code::{self, Code, Function};
use super::structured::{Printer, counts};
use super::{Export, File, Request, places};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ops::real::Dtype;
use crate::ops::{LARGE_FACTORS, MINORS, OWN_FACTORS, Op};
use crate::shape::Shape;
use functions::real;
use language::Rust;
use neural_compiler_math::expand::{Table, source, table, two_over_pi};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Texts a program needs, each once.
#[derive(Default)]
pub(super) struct Needs {
    names: FxHashSet<String>,
    texts: Vec<String>,
    /// Parts of the special functions.
    parts: BTreeSet<&'static str>,
}

impl Needs {
    /// A piece and what it is made of.
    fn piece(&mut self, name: &'static str) {
        if !self.names.insert(format!("piece {name}")) {
            return;
        }
        let (text, needs): (String, &[&'static str]) = match name {
            "numbers" => (include_str!("pieces/numbers.rs").into(), &[]),
            "values" => (include_str!("pieces/values.rs").into(), &[]),
            "factors" => (include_str!("pieces/factors.rs").replace("@OWN@", &OWN_FACTORS.to_string()), &[]),
            "cofactors" => (include_str!("pieces/cofactors.rs").replace("@MINORS@", &MINORS.to_string()), &["factors", "values"]),
            "words" => (include_str!("pieces/words.rs").into(), &[]),
            "logarithms" => (include_str!("pieces/logarithms.rs").into(), &[]),
            "exponentials" => (include_str!("pieces/exponentials.rs").into(), &[]),
            "angles" => (include_str!("pieces/angles.rs").into(), &["reduce"]),
            "reduce" => (format!("{}{}", coefficients(), inside("reduce", &large_angles())), &["words"]),
            other => unreachable!("there is no piece {other}"),
        };
        needs.iter().for_each(|n| self.piece(n));
        self.texts.push(text);
    }

    /// All texts as the module `nc`.
    fn module(&self) -> String {
        let mut all: Vec<String> = self.texts.clone();
        if !self.parts.is_empty() {
            let parts: String = self.parts.iter().map(|p| inside(p, &special::text(p))).collect();
            all.push(inside("special", &parts));
        }
        if all.is_empty() {
            return String::new();
        }
        format!("\n/// What the program is made of.\nmod nc {{\n    use super::{{Real, Status}};\n\n{}}}\n", all.join("\n"))
    }
}

/// A text as a module.
fn inside(name: &str, text: &str) -> String {
    format!("pub mod {name} {{\n{}\n}}\n", text.trim_end())
}

/// The reduction of large angles, as it is in the math crate.
fn large_angles() -> String {
    source("reduce").unwrap_or_default().replace("crate::", "super::").replace("pub(crate)", "pub")
}

/// The numbers angles are reduced with.
fn coefficients() -> String {
    let one = |name: &str| match table(name) {
        Some(Table::Numbers(all)) => format!("    pub const {name}: f64 = {:?};\n", all[0]),
        Some(Table::Words(_)) | None => unreachable!("there is no number {name}"),
    };
    let words: Vec<String> = two_over_pi().iter().map(|w| format!("        {w:#018x},\n")).collect();
    let numbers: String = ["TWO_OVER_PI_HI", "PIO2_HI", "PIO2_LO", "PIO2_LO2"].map(one).concat();
    inside("coefficients", &format!("{numbers}    pub const TWO_OVER_PI: [u64; {}] = [\n{}    ];", words.len(), words.concat()))
}

/// Whether an operation can be written in Rust.
pub(super) fn spelled(op: Op) -> bool {
    Rust::new(Dtype::F64, Vec::new(), false).has(op)
}

/// What of a graph Rust cannot say: errors, each once.
fn refused(code: &Code) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();
    for (op, shapes, span) in &code.applied {
        let side = shapes.first().map_or(0, |s| if let Shape::Matrix(r, _) = s { *r as usize } else { 0 });
        let factored = matches!(op, Op::Det | Op::Inv | Op::Solve | Op::Cofactor | Op::CofactorAlong);
        let message = if factored && side >= LARGE_FACTORS {
            format!("`{}` of more than {} rows has no text in Rust", op.row().name, LARGE_FACTORS - 1)
        } else if seen.contains(op.row().name) || spelled(*op) {
            seen.insert(op.row().name.to_string());
            continue;
        } else {
            format!("`{}` has no text in Rust yet", op.row().name)
        };
        if seen.insert(message.clone()) {
            found.push(Diagnostic::error("export-unsupported", *span, message));
        }
    }
    found
}

/// Cells a gradient has room for unless the caller gives it some.
const TAPE: usize = 16_384;

/// The file of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>) -> Result<Vec<File>, Diagnostics> {
    let value = code::code(export.graph);
    let gradient = export.gradient.map(code::code);
    let errors: Vec<Diagnostic> = std::iter::once(&value).chain(&gradient).flat_map(refused).collect();
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let model = Model { request, export, value: &value, gradient: gradient.as_ref() };
    Ok(vec![File::text("model.rs", super::comment(request, "A model", "// ") + &model.text())])
}

struct Model<'a> {
    request: &'a Request<'a>,
    export: &'a Export<'a>,
    value: &'a Code,
    gradient: Option<&'a Code>,
}

impl Model<'_> {
    fn taped(&self) -> bool {
        self.gradient.is_some_and(Code::has_records)
    }

    /// Calls within calls that fit into 1 MiB of stack, by a generous guess of what one takes.
    fn deepest(&self) -> usize {
        let bytes = |f: &Function| 512 + 16 * f.vars.iter().map(|t| t.shape().len()).sum::<usize>();
        let all = self.value.functions.iter().chain(self.gradient.iter().flat_map(|g| &g.functions));
        (1 << 20) / all.map(bytes).max().unwrap_or(512)
    }

    fn text(&self) -> String {
        let mut needs = Needs::default();
        let value = self.functions(self.value, "value", &["outputs"], &mut needs);
        let gradient = self.gradient.map(|g| self.functions(g, "gradient", &["outputs", "gradient"], &mut needs));
        let mut out = self.head();
        out += &self.entry(self.value, "value", &["outputs"]);
        if let Some(code) = self.gradient {
            out += &self.entry(code, "gradient", &["outputs", "gradient"]);
        }
        out += &self.run();
        out += &value;
        out += &gradient.unwrap_or_default();
        out + &needs.module()
    }

    /// Types, sizes, and which number is which.
    fn head(&self) -> String {
        let graph = self.export.graph;
        let inputs: usize = graph.inputs.iter().map(|i| i.shape.len()).sum();
        let outputs: usize = graph.outputs().into_iter().map(Shape::len).sum();
        let limits = self.request.limits;
        let mut out = String::from(
            "\n#![allow(dead_code, unused_assignments, unused_imports, unused_mut, unused_parens, unused_variables)]\n\
             #![allow(invalid_nan_comparisons, non_snake_case, clippy::all)]\n\n",
        );
        write!(out, "/// The type of numbers.\npub type Real = {};\n\n", real(self.request.dtype)).expect("a string");
        let given = places("inputs", self.request.inputs(graph).into_iter());
        let results = places("outputs", self.request.results(graph).into_iter());
        write!(out, "/// Numbers that come in, in this order:\n///\n{}pub const INPUTS: usize = {inputs};\n\n", listed(&given))
            .expect("a string");
        write!(out, "/// Numbers that go out:\n///\n{}pub const OUTPUTS: usize = {outputs};\n\n", listed(&results)).expect("a string");
        out += include_str!("pieces/status.rs");
        if counts(self.value) || self.gradient.is_some_and(counts) {
            let (steps, depth) = (limits.steps.min(limits.iterations).min(2_000_000_000), limits.depth.min(self.deepest()));
            write!(out, "\n/// Most rounds of loops and calls.\npub const MAX_STEPS: u64 = {steps};\n").expect("a string");
            write!(out, "/// Most calls within calls.\npub const MAX_DEPTH: u64 = {depth};\n").expect("a string");
        }
        if self.taped() {
            writeln!(out, "/// Cells in which `gradient` stores values for the way back; `gradient_in` takes them from the caller.")
                .expect("a string");
            writeln!(out, "pub const TAPE: usize = {TAPE};").expect("a string");
        }
        out
    }

    /// The functions a user calls.
    fn entry(&self, code: &Code, what: &str, places: &[&str]) -> String {
        let size = |p: &str| if p == "outputs" { "OUTPUTS" } else { "INPUTS" };
        let parameters: Vec<String> = places.iter().map(|p| format!("{p}: &mut [Real; {}]", size(p))).collect();
        let (parameters, given) = (format!("inputs: &[Real; INPUTS], {}", parameters.join(", ")), places.join(", "));
        let fails: String = places.iter().map(|p| format!("        {p}.fill(Real::NAN);\n")).collect();
        let about = if what == "value" { "The value" } else { "The value, and its derivative by every input" };
        let (name, extra, tape) = match code.has_records() {
            true => (format!("{what}_in"), ", tape: &mut [u64]", "tape"),
            false => (format!("try_{what}"), "", "&mut []"),
        };
        let mut out = format!("\n/// {about}; or how the run ended, and NaN in every result.\n");
        write!(out, "pub fn {name}({parameters}{extra}) -> Result<(), Status> {{\n    let mut run = Run {{ steps: 0, depth: 0, ")
            .expect("a string");
        write!(out, "tape: {tape}, used: 0 }};\n    let outcome = run_{what}(&mut run, inputs, {given});\n    ").expect("a string");
        write!(out, "if outcome.is_err() {{\n{fails}    }}\n    outcome\n}}\n").expect("a string");
        if code.has_records() {
            write!(out, "\n/// The same, with a place of its own for what is stored.\n").expect("a string");
            write!(out, "pub fn try_{what}({parameters}) -> Result<(), Status> {{\n    ").expect("a string");
            write!(out, "{what}_in(inputs, {given}, &mut [0; TAPE])\n}}\n").expect("a string");
        }
        write!(out, "\n/// {about}; NaN where a run has none.\npub fn {what}({parameters}) {{\n    ").expect("a string");
        write!(out, "let _ = try_{what}(inputs, {given});\n}}\n").expect("a string");
        out
    }

    /// What a run keeps count of.
    fn run(&self) -> String {
        let counted = counts(self.value) || self.gradient.is_some_and(counts);
        let mut out = String::from(include_str!("pieces/run.rs"));
        if counted {
            out += include_str!("pieces/counts.rs");
        }
        if self.taped() {
            let (cell, number) = match self.request.dtype {
                Dtype::F64 => ("x.to_bits()", "Real::from_bits(self.tape[at])"),
                Dtype::F32 => ("u64::from(x.to_bits())", "Real::from_bits(self.tape[at] as u32)"),
            };
            out += &include_str!("pieces/tape.rs").replace("CELL", cell).replace("NUMBER", number);
        }
        out
    }

    /// The function of a graph: its statements, then its results into the places for outputs and gradient.
    fn functions(&self, code: &Code, what: &str, places: &[&str], needs: &mut Needs) -> String {
        let names: Vec<String> = (0..code.functions.len()).map(|k| format!("run_{what}{k}")).collect();
        let mut language = Rust::new(self.request.dtype, names, code.has_records());
        std::mem::swap(&mut language.needs, needs);
        let mut out = String::new();
        for (k, function) in code.functions.iter().enumerate().skip(1) {
            let head = language.prototype(k, function);
            let name: String = function.name.chars().filter(|c| !c.is_control()).collect();
            let params: Vec<String> = (0..function.params).map(|p| format!("p{p}")).collect();
            let mut printer = Printer::new(&mut language, function, &params, "    ", 1);
            printer.body();
            let results: Vec<String> = function.results.iter().map(|r| super::spell::bare(&printer.expr(r)).to_string() + ",").collect();
            printer.line(&format!("Ok(({}))", results.join(" ")));
            write!(out, "\n// {name}\n{head}\n{}}}\n", printer.finish()).expect("a string");
        }
        out += &self.main_function(&mut language, &code.functions[0], what, places);
        std::mem::swap(&mut language.needs, needs);
        out
    }

    fn main_function(&self, language: &mut Rust, function: &Function, what: &str, places: &[&str]) -> String {
        let inputs = &self.export.graph.inputs;
        let names = language::input_names(inputs);
        let size = |p: &str| if p == "outputs" { "OUTPUTS" } else { "INPUTS" };
        let parameters: Vec<String> = places.iter().map(|p| format!("{p}: &mut [Real; {}]", size(p))).collect();
        let mut out = format!("\nfn run_{what}(run: &mut Run, inputs: &[Real; INPUTS], {}) -> ", parameters.join(", "));
        out += "Result<(), Status> {\n";
        let mut at = 0;
        for ((name, input), p) in names.iter().zip(inputs).zip(0..) {
            if function.reads(p) {
                out += &match input.shape {
                    Shape::Scalar => format!("    let {name} = inputs[{at}];\n"),
                    Shape::Vector(_) | Shape::Matrix(..) => {
                        format!("    let {name}: [Real; {}] = std::array::from_fn(|i| inputs[{at} + i]);\n", input.shape.len())
                    }
                };
            }
            at += input.shape.len();
        }
        let mut printer = Printer::new(language, function, &names, "    ", 1);
        printer.body();
        // The value's results, then, in the place for the gradient, those of the inputs.
        let split = self.export.graph.main().results.len();
        let mut places_at = vec![0usize; places.len()];
        for (k, (result, ty)) in function.results.iter().zip(&function.result_types).enumerate() {
            let which = usize::from(k >= split);
            let value = printer.value(result);
            let lines = printer.language.result(places[which], places_at[which], &value);
            printer.lines(lines);
            places_at[which] += ty.shape().len();
        }
        printer.line("Ok(())");
        out + &printer.finish() + "}\n"
    }
}

/// Lines of a comment.
fn listed(lines: &[String]) -> String {
    lines.iter().map(|l| format!("/// - {l}\n")).collect()
}
