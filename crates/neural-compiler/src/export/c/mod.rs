//! C99. In: a program, and on request its gradient; out: `model.c`, `model.h` and a `main.c` to try them.
//!
//! The text stands for itself: elementary functions are written out from their kernels, nothing is allocated, and beyond C99's correctly
//! rounded operations only `fma`, `fmod`, `sqrt` and rounding to whole numbers are taken from the C library.
//! Invariants: compiled without contraction and with one type per operation (both are checked by the text itself), every result has the
//! interpreter's bits; what the interpreter calls an error is a status here, and NaN in every result.

mod functions;
mod language;
mod pieces;
mod special;

use super::code::{self, Code, Function};
use super::structured::{Printer, counts};
use super::{Export, File, Request};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Type};
use crate::ops::real::Dtype;
use crate::ops::{LARGE_FACTORS, Op};
use crate::shape::Shape;
use functions::{real, suffix};
use language::C;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// Texts a program needs, each once, in an order in which everything comes before its use.
#[derive(Default)]
pub(super) struct Needs {
    names: FxHashSet<String>,
    texts: Vec<String>,
}

impl Needs {
    /// A piece and what it is made of.
    fn piece(&mut self, name: &'static str) {
        if self.names.insert(format!("piece {name}")) {
            pieces::piece(name).1.iter().for_each(|n| self.piece(n));
            self.texts.push(pieces::text(name));
        }
    }

    /// A text made here.
    fn own(&mut self, name: &str, text: impl FnOnce() -> String) {
        if self.names.insert(name.to_string()) {
            self.texts.push(text());
        }
    }
}

/// Matrices from this size on are factored by a library whose order of sums C has not.
const LARGEST_FACTORED: u32 = LARGE_FACTORS as u32 - 1;

/// What of a graph C cannot say: errors, each once.
pub(super) fn refused(code: &Code) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();
    let mut known: FxHashMap<Op, bool> = FxHashMap::default();
    for (op, shapes, span) in &code.applied {
        let side = shapes.first().map_or(0, |s| if let Shape::Matrix(r, _) = s { *r } else { 0 });
        let message = if !*known.entry(*op).or_insert_with(|| spelled(*op)) {
            format!("`{}` has no text in C yet", op.row().name)
        } else if matches!(op, Op::Det | Op::Inv | Op::Solve | Op::Cofactor | Op::CofactorAlong) && side > LARGEST_FACTORED {
            format!("`{}` of more than {LARGEST_FACTORED} rows has no text in C", op.row().name)
        } else {
            continue;
        };
        if seen.insert(message.clone()) {
            found.push(Diagnostic::error("export-unsupported", *span, message));
        }
    }
    found
}

/// Whether an operation can be written in C.
pub(super) fn spelled(op: Op) -> bool {
    C::new(Dtype::F64, Vec::new(), false).has(op)
}

/// The files of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>) -> Result<Vec<File>, Diagnostics> {
    let value = code::code(export.graph);
    let gradient = export.gradient.map(code::code);
    let mut errors = refused(&value);
    if errors.is_empty()
        && let Some(gradient) = &gradient
    {
        errors = refused(gradient);
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let source = Source { request, export, value: &value, gradient: gradient.as_ref() };
    let file = |name, what: &str, text: String| File::text(name, source.provenance(what) + &renamed(&text, request.prefix));
    Ok(vec![
        file("model.c", "A model", source.model()),
        file("model.h", "Declarations of a model", source.header()),
        file("main.c", "A program to try a model with", source.main()),
    ])
}

/// A text whose own names, which begin with `nc_` or `NC_`, begin with another prefix.
fn renamed(text: &str, prefix: &str) -> String {
    let upper = prefix.to_ascii_uppercase();
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let own = if inside { None } else { [("nc_", prefix), ("NC_", &upper)].into_iter().find(|(old, _)| rest.starts_with(old)) };
        let (skipped, new) = own.unwrap_or(("", ""));
        out.push_str(new);
        // The underscore stays.
        rest = &rest[skipped.len().saturating_sub(1)..];
        let next = rest.chars().next().unwrap_or(c);
        out.push(next);
        rest = &rest[next.len_utf8()..];
        inside = next.is_ascii_alphanumeric() || next == '_';
    }
    out
}

struct Source<'a> {
    request: &'a Request<'a>,
    export: &'a Export<'a>,
    value: &'a Code,
    gradient: Option<&'a Code>,
}

/// Numbers of some shapes.
fn numbers(shapes: impl Iterator<Item = Shape>) -> usize {
    shapes.map(Shape::len).sum()
}

impl Source<'_> {
    fn graph(&self) -> &Graph {
        self.export.graph
    }

    fn real(&self) -> &'static str {
        real(self.request.dtype)
    }

    fn inputs(&self) -> usize {
        numbers(self.graph().inputs.iter().map(|i| i.shape))
    }

    fn taped(&self) -> bool {
        self.gradient.is_some_and(Code::has_records)
    }

    /// A comment about where a file comes from.
    fn provenance(&self, what: &str) -> String {
        // The end of a comment inside a comment would end it.
        format!("/*\n{}*/\n", super::comment(self.request, what, "   ").replace("*/", "* /"))
    }

    /// Lines that say which number is which.
    fn places(&self, of: &str, names: Vec<(String, Shape)>) -> String {
        super::places(of, names.into_iter()).iter().map(|l| format!("     {}\n", l.replace("*/", "* /"))).collect()
    }

    fn header(&self) -> String {
        let t = self.real();
        let (inputs, outputs) = (self.request.inputs(self.graph()), self.request.results(self.graph()));
        let mut out = String::from("#ifndef NC_MODEL_H\n#define NC_MODEL_H\n\n#include <stddef.h>\n");
        if self.taped() {
            out += "#include <stdint.h>\n";
        }
        out += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
        write!(
            out,
            "/* Numbers that come in and go out. */\n#define NC_INPUTS {}\n#define NC_OUTPUTS {}\n",
            self.inputs(),
            numbers(self.graph().outputs().into_iter())
        )
        .expect("a string");
        if self.gradient.is_some() {
            writeln!(out, "#define NC_GRADIENT {}", self.inputs()).expect("a string");
        }
        out += include_str!("templates/status.h");
        write!(out, "/* Numbers, in this order:\n{}{}*/\n", self.places("inputs", inputs.clone()), self.places("outputs", outputs))
            .expect("a string");
        write!(out, "void nc_value(const {t} *inputs, {t} *outputs);\n\n").expect("a string");
        out += "/* The same; says how the run ended. Unless that is NC_OK, every result is NaN. */\n";
        writeln!(out, "int nc_try_value(const {t} *inputs, {t} *outputs);").expect("a string");
        if self.gradient.is_some() {
            write!(out, "\n/* And the derivative of the value by every input:\n{}*/\n", self.places("gradient", inputs)).expect("a string");
            writeln!(out, "void nc_gradient(const {t} *inputs, {t} *outputs, {t} *gradient);").expect("a string");
            writeln!(out, "int nc_try_gradient(const {t} *inputs, {t} *outputs, {t} *gradient);").expect("a string");
            if self.taped() {
                let index = if self.request.dtype == Dtype::F32 { "uint32_t" } else { "uint64_t" };
                out += &include_str!("templates/tape.h").replace("@REAL@", t).replace("@INDEX@", index);
            }
        }
        out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    }

    /// The function of a graph: its statements, then its results into the places for outputs and gradient.
    fn functions(&self, code: &Code, prefix: &str, places: &[&str], needs: &mut Needs) -> String {
        let names: Vec<String> = (0..code.functions.len()).map(|k| format!("nc_{prefix}{k}")).collect();
        let mut language = C::new(self.request.dtype, names, code.has_records());
        std::mem::swap(&mut language.needs, needs);
        let mut bodies = Vec::new();
        for (k, function) in code.functions.iter().enumerate().skip(1) {
            bodies.push((language.prototype(k, function), self.body(&mut language, function)));
        }
        let main = self.main_function(&mut language, &code.functions[0], prefix, places);
        std::mem::swap(&mut language.needs, needs);
        let mut out: String = bodies.iter().map(|(head, _)| format!("{head};\n")).collect();
        if !bodies.is_empty() {
            out += "\n";
        }
        for ((head, body), function) in bodies.iter().zip(&code.functions[1..]) {
            let name: String = function.name.chars().filter(|c| !c.is_control()).collect::<String>().replace("*/", "* /");
            write!(out, "/* {name} */\n{head}\n{{\n{body}    return NC_OK;\n}}\n\n").expect("a string");
        }
        out + &main
    }

    fn body(&self, language: &mut C, function: &Function) -> String {
        let params: Vec<String> = (0..function.params).map(|p| format!("p{p}")).collect();
        let mut printer = Printer::new(language, function, &params, "    ", 1);
        printer.line("(void)run;");
        for p in (0..function.params).filter(|&p| !function.reads(p)) {
            printer.line(&format!("(void)p{p};"));
        }
        printer.body();
        for (k, (result, ty)) in function.results.iter().zip(&function.result_types).enumerate() {
            let value = printer.value(result);
            let line = match ty {
                Type::Value(s) if *s != Shape::Scalar => printer.language.copy_to(&format!("r{k}"), &value),
                Type::Value(_) | Type::Record | Type::Many => format!("*r{k} = {};", super::spell::bare(&value.text)),
            };
            printer.line(&line);
        }
        printer.finish()
    }

    fn main_function(&self, language: &mut C, function: &Function, prefix: &str, places: &[&str]) -> String {
        let t = self.real();
        let names = language::input_names(&self.graph().inputs);
        let parameters: Vec<String> = places.iter().map(|p| format!("{t} *{p}")).collect();
        let mut out = format!("static int nc_{prefix}(nc_run *run, const {t} *inputs, {})\n{{\n", parameters.join(", "));
        let mut at = 0;
        for ((name, input), p) in names.iter().zip(&self.graph().inputs).zip(0..) {
            if function.reads(p) {
                let line = match input.shape {
                    Shape::Scalar => format!("    const {t} {name} = inputs[{at}];\n"),
                    Shape::Vector(_) | Shape::Matrix(..) => format!("    const {t} *const {name} = inputs + {at};\n"),
                };
                out += &line;
            }
            at += input.shape.len();
        }
        let mut printer = Printer::new(language, function, &names, "    ", 1);
        printer.line("(void)run;");
        if at == 0 || (0..function.params).all(|p| !function.reads(p)) {
            printer.line("(void)inputs;");
        }
        printer.body();
        // The value's results, then, in the place for the gradient, those of the inputs.
        let split = self.graph().main().results.len();
        let mut places_at = vec![0usize; places.len()];
        for (k, (result, ty)) in function.results.iter().zip(&function.result_types).enumerate() {
            let which = usize::from(k >= split);
            let value = printer.value(result);
            let lines = printer.language.result(places[which], places_at[which], &value);
            printer.lines(lines);
            places_at[which] += ty.shape().len();
        }
        for (place, at) in places.iter().zip(&places_at) {
            if *at == 0 {
                printer.line(&format!("(void){place};"));
            }
        }
        out + &printer.finish() + "    return NC_OK;\n}\n"
    }

    fn model(&self) -> String {
        let (t, f) = (self.real(), suffix(self.request.dtype));
        let wide = self.request.dtype == Dtype::F64;
        let mut needs = Needs::default();
        let value = self.functions(self.value, "run_value", &["outputs"], &mut needs);
        let gradient = self.gradient.map(|g| self.functions(g, "run_gradient", &["outputs", "gradient"], &mut needs));
        let mut out = String::from(include_str!("templates/prologue.c"));
        let limits = self.request.limits;
        if self.counted() {
            let deepest = limits.depth.min(self.deepest());
            write!(
                out,
                "#ifndef NC_MAX_STEPS\n#define NC_MAX_STEPS {}\n#endif\n#ifndef NC_MAX_DEPTH\n#define NC_MAX_DEPTH {deepest}\n#endif\n",
                limits.steps.min(limits.iterations).min(2_000_000_000)
            )
            .expect("a string");
        }
        if self.taped() {
            write!(out, "#ifndef NC_TAPE\n#define NC_TAPE {TAPE}\n#endif\n").expect("a string");
        }
        write!(out, "\ntypedef {t} nc_real;\n").expect("a string");
        writeln!(
            out,
            "typedef struct {{\n    unsigned long steps;\n    long depth;{}\n}} nc_run;\n",
            if self.taped() { "\n    nc_cell *tape;\n    size_t used, cells;" } else { "" }
        )
        .expect("a string");
        write!(out, "#define NC_NAN ((nc_real)NAN)\n#define NC_INFINITY ((nc_real)INFINITY)\n").expect("a string");
        write!(out, "#define NC_FMA fma{f}\n#define NC_SQRT sqrt{f}\n#define NC_FABS fabs{f}\n#define NC_TRUNC trunc{f}\n")
            .expect("a string");
        if needs.names.contains("piece norm") {
            let (exponent, least, most) =
                if wide { ("UINT64_C(0x7ff0000000000000)", "DBL_MIN", "DBL_MAX") } else { ("0x7f800000u", "FLT_MIN", "FLT_MAX") };
            write!(out, "#define NC_BITS nc_bits{f}\n#define NC_OF_BITS nc_of_bits{f}\n#define NC_EXPONENT {exponent}\n")
                .expect("a string");
            write!(out, "#define NC_SMALLEST {least}\n#define NC_LARGEST {most}\n").expect("a string");
        }
        out += "\n";
        for text in &needs.texts {
            out += text;
            out += "\n";
        }
        out += &value;
        out += &self.entry(self.value, "value", &["outputs"]);
        if let (Some(gradient), Some(code)) = (gradient, self.gradient) {
            out += "\n";
            out += &gradient;
            out += &self.entry(code, "gradient", &["outputs", "gradient"]);
        }
        out
    }

    fn counted(&self) -> bool {
        counts(self.value) || self.gradient.is_some_and(counts)
    }

    /// Calls within calls that fit into 4 MiB of stack, by a generous guess of what one takes.
    fn deepest(&self) -> usize {
        let bytes = |f: &Function| 256 + 8 * f.vars.iter().map(|t| t.shape().len()).sum::<usize>();
        let all = self.value.functions.iter().chain(self.gradient.iter().flat_map(|g| &g.functions));
        (4 << 20) / all.map(bytes).max().unwrap_or(256)
    }

    /// The functions the header declares.
    fn entry(&self, code: &Code, what: &str, places: &[&str]) -> String {
        let t = self.real();
        let parameters: Vec<String> = places.iter().map(|p| format!("{t} *{p}")).collect();
        let (parameters, given) = (parameters.join(", "), places.join(", "));
        let sizes = |p: &str| if p == "outputs" { "NC_OUTPUTS" } else { "NC_GRADIENT" };
        let fails: String = places.iter().map(|p| format!("        for (i = 0; i < {}; i++) {p}[i] = NC_NAN;\n", sizes(p))).collect();
        let records = code.has_records();
        let start = if self.taped() { "0, 0, 0, 0, 0" } else { "0, 0" };
        let place = if records { ", nc_cell *tape, size_t cells" } else { "" };
        let (name, given_tape) = if records {
            (format!("nc_{what}_in"), "    run.tape = tape;\n    run.cells = cells;\n")
        } else {
            (format!("nc_try_{what}"), "")
        };
        let mut out = format!(
            "\nint {name}(const {t} *inputs, {parameters}{place})\n{{\n    nc_run run = {{ {start} }};\n    int status, i;\n{given_tape}\
             \x20   status = nc_run_{what}(&run, inputs, {given});\n    if (status != NC_OK) {{\n{fails}    }}\n    return status;\n}}\n"
        );
        if records {
            out += &format!(
                "\nint nc_try_{what}(const {t} *inputs, {parameters})\n{{\n    static nc_cell tape[NC_TAPE];\n    \
                 return nc_{what}_in(inputs, {given}, tape, NC_TAPE);\n}}\n"
            );
        }
        out + &format!("\nvoid nc_{what}(const {t} *inputs, {parameters})\n{{\n    (void)nc_try_{what}(inputs, {given});\n}}\n")
    }

    /// A program that takes the inputs as words and prints what comes out.
    fn main(&self) -> String {
        let (t, digits) = (self.real(), if self.request.dtype == Dtype::F32 { 9 } else { 17 });
        let names: Vec<String> = self.graph().inputs.iter().map(|i| i.name.clone()).collect();
        let usage: String = names.iter().flat_map(|n| [" ", n]).flat_map(|n| n.bytes()).map(quoted).collect();
        let count = self.inputs();
        let (places, call) = match self.gradient {
            Some(_) => ("outputs[NC_OUTPUTS + 1], gradient[NC_GRADIENT + 1]", "nc_try_gradient(inputs, outputs, gradient)"),
            None => ("outputs[NC_OUTPUTS + 1]", "nc_try_value(inputs, outputs)"),
        };
        let gradient = match self.gradient {
            Some(_) => format!("    for (i = 0; i < NC_GRADIENT; i++) printf(\"d/d %.{digits}g\\n\", (double)gradient[i]);\n"),
            None => String::new(),
        };
        include_str!("templates/main.c")
            .replace("@REAL@", t)
            .replace("@PLACES@", places)
            .replace("@COUNT@", &count.to_string())
            .replace("@CALL@", call)
            .replace("@DIGITS@", &digits.to_string())
            .replace("@GRADIENT@", &gradient)
            .replace("@NAMES@", &usage)
    }
}

/// Cells a gradient has room for unless the user says otherwise.
const TAPE: usize = 16_384;

/// A byte within a format of `printf`: what is no plain character by its number, which every compiler reads alike.
fn quoted(byte: u8) -> String {
    match byte {
        b'%' => "%%".into(),
        b' '..=b'~' if !matches!(byte, b'"' | b'\\' | b'?') => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}
