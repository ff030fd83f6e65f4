//! Julia. In: a program; out: `model.jl`, a module `Model` with the function `value` and, on request, `gradient`.
//!
//! Statements are Julia's own; functions are those of its `Base`, to a few ULP, and `erf` and its kin of SpecialFunctions. The tests look
//! at the structure of the text and do not run it.
//! Invariant: a whole value is a vector of its numbers, row by row, and is never changed; a record is a tuple, and of a loop a vector of
//! them.

use super::code::{self, Code};
use super::sides;
use super::spell::bare;
use super::structured::{Arguments, Language, Named, Printer, called, walk_name};
use super::{Export, File, Request};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ops::Op;
use crate::ops::real::Dtype;
use crate::ops::row::Kernel;
use crate::shape::Shape;
use rustc_hash::FxHashSet;

/// An elementwise operation on numbers.
fn elementwise(op: Op, args: &[String]) -> Option<String> {
    let call = |name: &str, n: usize| {
        let all: Vec<&str> = args[..n].iter().map(|a| bare(a)).collect();
        Some(format!("{name}({})", all.join(", ")))
    };
    let operator = |sign: &str| Some(format!("({} {sign} {})", args[0], args[1]));
    let test = |sign: &str| Some(format!("({} {sign} {} ? 1.0 : 0.0)", args[0], args[1]));
    match &op.row().kernel {
        Kernel::Unary(f) => match f.name {
            "neg" => Some(format!("(-{})", args[0])),
            "square" => Some(format!("({0} * {0})", args[0])),
            "bell" => Some(format!("nc_gauss({}, -1.0)", bare(&args[0]))),
            "half-bell" => Some(format!("nc_gauss({}, -0.5)", bare(&args[0]))),
            "half-growth" => Some(format!("nc_gauss({}, 0.5)", bare(&args[0]))),
            "ceiling" => call("ceil", 1),
            "truncate" => call("trunc", 1),
            name @ ("abs" | "exp" | "exp2" | "expm1" | "sinh" | "cosh" | "tanh" | "atan" | "cbrt" | "floor" | "round" | "erf" | "erfc"
            | "erfcx") => call(name, 1),
            name @ ("sin" | "cos" | "tan" | "asin" | "acos" | "sqrt" | "log" | "log2" | "log10" | "log1p" | "sign" | "relu" | "sigmoid"
            | "softplus") => call(&format!("nc_{name}"), 1),
            _ => None,
        },
        Kernel::Binary(f) => match f.name {
            "add" => operator("+"),
            "sub" => operator("-"),
            "mul" => operator("*"),
            "div" => operator("/"),
            "eq" => test("=="),
            "lt" => test("<"),
            "gt" => test(">"),
            "le" => test("<="),
            "ge" => test(">="),
            "min" => call("min", 2),
            "max" => call("max", 2),
            "atan2" => call("atan", 2),
            "log_base" => Some(format!("(nc_log({}) / nc_log({}))", bare(&args[0]), bare(&args[1]))),
            "inverse-part" => call("nc_inverse_part", 2),
            name @ ("pow" | "modulo" | "remainder" | "quotient") => call(&format!("nc_{name}"), 2),
            _ => None,
        },
        Kernel::Select => Some(format!("({} != 0 ? {} : {})", args[0], args[1], args[2])),
        Kernel::Ternary(_) | Kernel::Tensor(_) | Kernel::Composite(_) => None,
    }
}

/// An operation on whole values; places count from 1.
fn tensor(op: Op, start: usize, to: &Named, x: &[Named]) -> Option<String> {
    let given = Arguments(x);
    let (text, list) = (|k: usize| given.text(k), |k: usize| given.list(k));
    let ((rows, columns), (_, others)) = (given.sides(0), given.sides(1));
    Some(match op {
        Op::Dot => format!("nc_dot({}, {})", text(0), text(1)),
        Op::Cross => format!("nc_cross({}, {})", text(0), text(1)),
        Op::Norm => format!("nc_norm({})", text(0)),
        Op::Total => format!("nc_sum({})", list(0)),
        Op::Trace => format!("nc_sum({}[1:{}:end])", text(0), columns + 1),
        Op::Transpose => format!("nc_transpose({}, {columns})", text(0)),
        Op::Det => format!("nc_det({}, {rows})", text(0)),
        Op::Inv => format!("nc_solve({}, nc_eye({rows}, {rows}), {rows}, {rows})", text(0)),
        Op::Solve => format!("nc_solve({}, {}, {rows}, {others})", text(0), text(1)),
        Op::Outer => format!("[a * b for b in {1}, a in {0}][:]", text(0), text(1)),
        Op::Product => format!("nc_product({}, {}, {columns}, {others})", text(0), text(1)),
        Op::Identity => format!("nc_eye({}, {})", sides(to.shape()).0, sides(to.shape()).1),
        Op::Join | Op::Place | Op::Spread if to.is_scalar() => format!("{}[1]", list(0)),
        Op::Join => {
            let parts: Vec<String> = x.iter().map(|p| bare(&p.text).to_string()).collect();
            format!("[{}]", parts.join("; "))
        }
        Op::Cut if to.is_scalar() => format!("{}[{}]", list(0), start + 1),
        Op::Cut => format!("{}[{}:{}]", list(0), start + 1, start + to.len()),
        Op::Place => format!("nc_placed({}, {start}, {})", list(0), to.len()),
        Op::CutAt => {
            let at = format!("nc_index({}, {rows})", bare(text(1)));
            if to.is_scalar() { format!("{}[1 + {at}]", text(0)) } else { format!("{}[{1} * {at} .+ (1:{1})]", text(0), to.len()) }
        }
        Op::PlaceAt => {
            let n = x[0].len();
            format!("nc_placed({}, {n} * nc_index({}, {}), {})", list(0), bare(text(1)), sides(to.shape()).0, to.len())
        }
        Op::Spread => format!("fill({}[1], {})", list(0), to.len()),
        _ => return None,
    })
}

/// Whether an operation can be written.
pub(super) fn spelled(op: Op) -> bool {
    let square = Named { text: "x".into(), ty: crate::graph::Type::Value(Shape::Matrix(2, 2)) };
    match &op.row().kernel {
        Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Select => elementwise(op, &["x".into(), "x".into(), "x".into()]).is_some(),
        Kernel::Ternary(_) => false,
        Kernel::Tensor(_) => tensor(op, 0, &square, &[square.clone(), square.clone()]).is_some(),
        Kernel::Composite(_) => true,
    }
}

/// Julia, with what its functions are called before a number.
struct Julia {
    prefix: String,
}

fn tuple(items: &[String]) -> String {
    format!("({},)", items.join(", "))
}

impl Language for Julia {
    fn number(&mut self, x: f64) -> String {
        let magnitude = match x.abs() {
            m if m.is_nan() => "NaN".to_string(),
            m if m.is_infinite() => "Inf".to_string(),
            m => format!("{m:?}"),
        };
        if x.is_sign_negative() && !x.is_nan() { format!("(-{magnitude})") } else { magnitude }
    }

    fn apply(&mut self, op: Op, args: &[String]) -> String {
        elementwise(op, args).expect("operations without a text are refused before")
    }

    fn declare(&mut self, var: &Named) -> Vec<String> {
        // A variable that a block sets is one of the function.
        vec![format!("local {}", var.text)]
    }

    fn define(&mut self, var: &Named, value: &str) -> Vec<String> {
        vec![format!("{} = {}", var.text, bare(value))]
    }

    fn set(&mut self, var: &Named, value: &str) -> Vec<String> {
        self.define(var, value)
    }

    fn operation(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> Vec<String> {
        let value = tensor(op, attribute as usize, to, args).unwrap_or_else(|| {
            let each: Vec<String> = args.iter().map(Named::each).collect();
            format!("[{} for i in 1:{}]", bare(&self.apply(op, &each)), to.len())
        });
        self.define(to, &value)
    }

    fn unless_zero(&mut self, test: &str) -> String {
        format!("if {test} != 0")
    }

    fn otherwise(&self) -> String {
        "else".into()
    }

    fn end(&self) -> Option<String> {
        Some("end".into())
    }

    fn rounds(&mut self, stored: Option<(&Named, bool)>, _: bool) -> (Vec<String>, String) {
        (stored.map(|(record, _)| format!("{} = Any[]", record.text)).into_iter().collect(), "while true".into())
    }

    fn round(&mut self, stored: Option<(&Named, &[Named])>, _: bool) -> Vec<String> {
        let Some((record, values)) = stored else { return Vec::new() };
        let values: Vec<String> = values.iter().map(|v| v.text.clone()).collect();
        vec![format!("push!({}, {})", record.text, if values.is_empty() { "()".into() } else { tuple(&values) })]
    }

    fn keep(&mut self, record: &Named, own: Option<&Named>) -> Vec<String> {
        own.map(|own| format!("{0}[end] = ({0}[end]..., {1})", record.text, own.text)).into_iter().collect()
    }

    fn if_zero(&mut self, proceed: &str) -> String {
        format!("if {proceed} == 0")
    }

    fn leave(&self) -> String {
        "break".into()
    }

    fn back(&mut self, record: &Named, values: &[(Named, bool)], own: Option<&Named>) -> (Vec<String>, String, Vec<String>) {
        let row = walk_name("row", record, values, own);
        let read = values.iter().enumerate().filter(|(_, v)| v.1).map(|(k, v)| format!("{} = {row}[{}]", v.0.text, k + 1));
        let own = own.map(|o| format!("{} = {row}[{}]", o.text, values.len() + 1));
        (Vec::new(), format!("for {row} in Iterators.reverse({})", record.text), read.chain(own).collect())
    }

    fn back_end(&mut self, _: &Named) -> Vec<String> {
        Vec::new()
    }

    fn call(&mut self, function: usize, args: &[Named], results: &[Named], _: bool) -> Vec<String> {
        let args: Vec<&str> = args.iter().map(|a| bare(&a.text)).collect();
        let results: Vec<String> = results.iter().map(|r| r.text.clone()).collect();
        vec![format!("{} = {}{function}({})", tuple(&results), self.prefix, args.join(", "))]
    }

    fn pack(&mut self, to: &Named, args: &[Named]) -> Vec<String> {
        let args: Vec<String> = args.iter().map(|a| bare(&a.text).to_string()).collect();
        vec![format!("{} = {}", to.text, if args.is_empty() { "()".into() } else { tuple(&args) })]
    }

    fn unpack(&mut self, to: &Named, from: &Named, index: u32) -> Vec<String> {
        vec![format!("{} = {}[{}]", to.text, from.text, index + 1)]
    }
}

/// A function and those it calls; of its results the first are the value, the others its gradient.
fn function(code: &Code, name: &str, names: &[String], values: usize) -> String {
    let prefix = format!("f_{name}_");
    let mut julia = Julia { prefix: prefix.clone() };
    let open = |k: usize, params: &str| format!("function {prefix}{k}({params})\n");
    let mut out = called(code, &mut julia, open, tuple, "end\n\n");
    let main = &code.functions[0];
    out += &format!("function {name}({})\n", names.join(", "));
    let mut printer = Printer::new(&mut julia, main, names, "    ", 1);
    for (name, ty) in names.iter().zip(&main.vars) {
        let line = match ty.shape() {
            Shape::Scalar => format!("{name} = Float64({name})"),
            Shape::Vector(_) => format!("{name} = Vector{{Float64}}({name})"),
            Shape::Matrix(..) => format!("{name} = nc_flat(Matrix{{Float64}}({name}))"),
        };
        printer.line(&line);
    }
    printer.body();
    let mut results = Vec::new();
    for (result, ty) in main.results.iter().zip(&main.result_types) {
        let text = printer.expr(result);
        results.push(match ty.shape() {
            Shape::Matrix(_, columns) => format!("nc_rows({text}, {columns})"),
            Shape::Scalar | Shape::Vector(_) => bare(&text).to_string(),
        });
    }
    let (value, rest) = results.split_at(values);
    let value = if value.len() == 1 { value[0].clone() } else { tuple(value) };
    printer.line(&if name == "gradient" { format!("return {value}, {}", tuple(rest)) } else { format!("return {value}") });
    out + &printer.finish() + "end\n\n"
}

/// What of a program the target cannot say.
fn refused(code: &Code) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    let missing = code.applied.iter().filter(|(op, ..)| seen.insert(*op) && !spelled(*op));
    let error = |(op, _, span): &(Op, Vec<Shape>, crate::source::Span)| {
        Diagnostic::error("export-unsupported", *span, format!("`{}` has no text in Julia", op.row().name))
    };
    missing.map(error).collect()
}

/// The file of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>) -> Result<Vec<File>, Diagnostics> {
    let value = code::code(export.graph);
    let gradient = export.gradient.map(code::code);
    let mut errors: Vec<Diagnostic> = std::iter::once(&value).chain(&gradient).flat_map(refused).collect();
    if request.dtype == Dtype::F32 {
        errors.push(Diagnostic::error("export-unsupported", Default::default(), "the text for Julia computes in f64"));
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let names = super::names(&export.graph.inputs, TAKEN, &["nc_", "f_", "row_"]);
    let results = export.graph.main().results.len();
    let mut body = function(&value, "value", &names, results);
    body += &gradient.iter().map(|g| function(g, "gradient", &names, results)).collect::<String>();
    let special = ["erf(", "erfc(", "erfcx("].iter().any(|f| body.contains(f));
    let exported = if gradient.is_some() { "export value, gradient" } else { "export value" };
    let inputs: Vec<String> = export.graph.inputs.iter().map(|i| format!("{:?}", request.with_unit(&i.name)).replace('$', "\\$")).collect();
    let text = format!(
        "{}module Model\n\n{}{exported}\n\n# The arguments, in order, with their units where there are any.\n\
         const INPUTS = {}\n\n{}\n{}end\n",
        super::comment(request, "A model", "# "),
        if special { "using SpecialFunctions\n" } else { "" },
        if inputs.is_empty() { "()".into() } else { tuple(&inputs) },
        include_str!("helpers.jl"),
        body
    );
    Ok(vec![File::text("model.jl", text)])
}

/// Words that are no names in Julia, and names the text uses itself.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "baremodule", "begin", "break", "catch", "const", "continue", "do", "else", "elseif", "end", "export", "false", "finally",
    "for", "function", "global", "if", "import", "in", "isa", "let", "local", "macro", "module", "quote", "return", "struct", "true",
    "try", "using", "where", "while", "abstract", "mutable", "primitive", "type", "value", "gradient", "INPUTS", "Model", "i",
    "sin", "cos", "tan", "exp", "exp2", "expm1", "sinh", "cosh", "tanh", "atan", "cbrt", "floor", "ceil", "trunc", "round", "abs", "erf",
    "erfc", "erfcx", "min", "max", "fill", "zeros", "push", "Float64", "Vector", "Matrix", "Iterators", "Any", "NaN", "Inf", "inside",
    "fma", "pi", "im", "nothing", "missing",
];
