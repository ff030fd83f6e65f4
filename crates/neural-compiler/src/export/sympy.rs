//! SymPy. In: a program without loops and recursion whose values are scalars; out: `model.py`, which builds the expression `value` from
//! symbols and, on request, its derivatives; or that expression alone, as SymPy's `sympify` reads it.
//! Invariant: constants are the shortest decimals that round to the program's numbers, as exact fractions; nothing is simplified.

use super::code::{self, Code, Expr, Statement};
use super::{Export, File, Request};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Type};
use crate::ops::Op;
use crate::ops::row::Kernel;
use crate::shape::Shape;
use crate::source::Span;

/// An elementwise operation, if SymPy has it.
fn apply(op: Op, args: &[String]) -> Option<String> {
    let all = args.join(", ");
    let call = |name: &str| Some(format!("sp.{name}({all})"));
    let infix = |sign: &str| Some(format!("({} {sign} {})", args[0], args[1]));
    let test = |name: &str| Some(format!("sp.Piecewise((1, sp.{name}({all})), (0, True))"));
    match &op.row().kernel {
        Kernel::Unary(f) => match f.name {
            "neg" => Some(format!("(-{})", args[0])),
            name @ ("sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "tanh" | "exp" | "sqrt" | "cbrt" | "log"
            | "floor" | "sign" | "erf" | "erfc" | "gamma" | "digamma") => call(name),
            "abs" => call("Abs"),
            "ceiling" => call("ceiling"),
            "lgamma" => call("loggamma"),
            "trigamma" => Some(format!("sp.polygamma(1, {all})")),
            "exp2" => Some(format!("(sp.Integer(2)**{})", args[0])),
            "expm1" => Some(format!("(sp.exp({all}) - 1)")),
            "log2" => Some(format!("sp.log({all}, 2)")),
            "log10" => Some(format!("sp.log({all}, 10)")),
            "log1p" => Some(format!("sp.log(1 + {all})")),
            "square" => Some(format!("({}**2)", args[0])),
            "truncate" => Some(format!("(sp.sign({all})*sp.floor(sp.Abs({all})))")),
            "sigmoid" => Some(format!("(1/(1 + sp.exp(-({all}))))")),
            "softplus" => Some(format!("sp.log(1 + sp.exp({all}))")),
            "relu" => Some(format!("sp.Max(0, {all})")),
            "bell" => Some(format!("sp.exp(-{}**2)", args[0])),
            "half-bell" => Some(format!("sp.exp(-{}**2/2)", args[0])),
            "half-growth" => Some(format!("sp.exp({}**2/2)", args[0])),
            "normal-cdf" => Some(format!("(sp.erfc(-({all})/sp.sqrt(2))/2)")),
            "bessel-j0" => Some(format!("sp.besselj(0, {all})")),
            "bessel-j1" => Some(format!("sp.besselj(1, {all})")),
            "bessel-i0" => Some(format!("sp.besseli(0, {all})")),
            "bessel-i1" => Some(format!("sp.besseli(1, {all})")),
            "bessel-k0" => Some(format!("sp.besselk(0, {all})")),
            "bessel-k1" => Some(format!("sp.besselk(1, {all})")),
            _ => None,
        },
        Kernel::Binary(f) => match f.name {
            "add" => infix("+"),
            "sub" => infix("-"),
            "mul" => infix("*"),
            "div" => infix("/"),
            "pow" => infix("**"),
            "min" => call("Min"),
            "max" => call("Max"),
            "atan2" => call("atan2"),
            "modulo" => call("Mod"),
            "log_base" => call("log"),
            "inverse-part" => Some(format!("({0}/({0}**2 + {1}**2))", args[0], args[1])),
            "polygamma" => call("polygamma"),
            "bessel-j" => call("besselj"),
            "bessel-i" => call("besseli"),
            "bessel-k" => call("besselk"),
            "eq" => test("Eq"),
            "lt" => test("Lt"),
            "gt" => test("Gt"),
            "le" => test("Le"),
            "ge" => test("Ge"),
            _ => None,
        },
        Kernel::Select => Some(choice("sp.", &args[0], &args[1], &args[2])),
        Kernel::Ternary(_) | Kernel::Tensor(_) | Kernel::Composite(_) => None,
    }
}

/// One of two values, by a number that is 0 or not; `sp`: what stands before SymPy's names.
fn choice(sp: &str, test: &str, yes: &str, no: &str) -> String {
    // A comparison is a number for us, and a condition for SymPy.
    let condition = test.strip_prefix(sp).and_then(|t| t.strip_prefix("Piecewise((1, ")).and_then(|t| t.strip_suffix("), (0, True))"));
    match condition {
        Some(condition) => format!("{sp}Piecewise(({yes}, {condition}), ({no}, True))"),
        None => format!("{sp}Piecewise(({yes}, {sp}Ne({test}, 0)), ({no}, True))"),
    }
}

/// Whether an operation can be written.
pub(super) fn spelled(op: Op) -> bool {
    matches!(op.row().kernel, Kernel::Composite(_)) || apply(op, &["x".into(), "x".into(), "x".into()]).is_some()
}

fn number(x: f64) -> String {
    if x.is_nan() {
        "sp.nan".into()
    } else if x.is_infinite() {
        if x > 0.0 { "sp.oo".into() } else { "(-sp.oo)".into() }
    } else if x == x.trunc() && x.abs() < 1e15 {
        format!("sp.Integer({x:.0})")
    } else {
        format!("sp.Rational(\"{x:?}\")")
    }
}

struct Text {
    names: Vec<String>,
    out: String,
}

impl Text {
    fn expr(&self, e: &Expr) -> String {
        match e {
            Expr::Var(v) => self.names[*v].clone(),
            Expr::Constant(x) => number(*x),
            Expr::Apply(op, args) => {
                let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
                apply(*op, &args).expect("operations without a text are refused before")
            }
        }
    }

    /// Statements in order; `what` is `None` for what SymPy has not.
    fn statements(&mut self, statements: &[Statement]) -> Result<(), &'static str> {
        for statement in statements {
            match statement {
                Statement::Let(v, e) | Statement::Set(v, e) => {
                    let line = format!("{} = {}\n", self.names[*v], self.expr(e));
                    self.out += &line;
                }
                Statement::Declare(_) => {}
                Statement::If { test, yes, no } => {
                    // Both sides are expressions: they are written under names of their own and chosen from.
                    let test = self.expr(test);
                    let set: Vec<usize> = yes.iter().filter_map(|s| if let Statement::Set(v, _) = s { Some(*v) } else { None }).collect();
                    let mut sides = Vec::new();
                    for block in [yes, no] {
                        crate::deep(|| self.statements(block))?;
                        let kept: Vec<String> = set.iter().map(|&v| format!("{}_{}", self.names[v], sides.len())).collect();
                        let lines: String = set.iter().zip(&kept).map(|(&v, k)| format!("{k} = {}\n", self.names[v])).collect();
                        self.out += &lines;
                        sides.push(kept);
                    }
                    for (k, &v) in set.iter().enumerate() {
                        let line = format!("{} = {}\n", self.names[v], choice("sp.", &test, &sides[0][k], &sides[1][k]));
                        self.out += &line;
                    }
                }
                Statement::Operation { .. } => return Err("vectors and matrices have no text for SymPy"),
                Statement::Loop { .. } | Statement::Back { .. } => return Err("loops have no text for SymPy"),
                Statement::Call { .. } => return Err("functions that are not inlined have no text for SymPy"),
                Statement::Pack { .. } | Statement::Unpack { .. } => return Err("recursion has no text for SymPy"),
            }
        }
        Ok(())
    }
}

fn unsupported(span: Span, message: impl Into<String>) -> Diagnostics {
    Diagnostic::error("export-unsupported", span, message).into()
}

/// A program of scalars and operations that SymPy has.
fn writable(graph: &Graph) -> Result<Code, Diagnostics> {
    let code = code::code(graph);
    if graph.inputs.iter().any(|i| i.shape != Shape::Scalar) {
        return Err(unsupported(Span::default(), "vectors and matrices have no text for SymPy"));
    }
    match code.applied.iter().find(|(op, ..)| op.row().is_elementwise() && !spelled(*op)) {
        Some((op, _, span)) => Err(unsupported(*span, format!("`{}` has no text for SymPy", op.row().name))),
        None => Ok(code),
    }
}

/// The file of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>) -> Result<Vec<File>, Diagnostics> {
    let code = writable(export.graph)?;
    let main = &code.functions[0];
    let inputs = super::names(&export.graph.inputs, super::python::TAKEN, &["f_"]);
    let names = inputs.iter().cloned().chain((main.params..main.vars.len()).map(|v| format!("v{v}"))).collect();
    let mut text = Text { names, out: String::new() };
    text.statements(&main.body).map_err(|why| unsupported(Span::default(), why))?;
    debug_assert!(main.vars.iter().all(|t| *t != Type::Record));
    let symbols: String =
        inputs.iter().zip(&export.graph.inputs).map(|(n, i)| format!("{n} = sp.Symbol({:?}, real=True)\n", i.name)).collect();
    let results: Vec<String> = main.results.iter().map(|r| text.expr(r)).collect();
    let value = if results.len() == 1 { results[0].clone() } else { format!("({})", results.join(", ")) };
    let comma = if inputs.len() == 1 { "," } else { "" };
    let mut out = super::comment(request, "A model", "# ");
    out += &format!("import sympy as sp\n\n{symbols}INPUTS = ({}{comma})\n\n{}value = {value}\n", inputs.join(", "), text.out);
    if export.gradient.is_some() {
        out += "gradient = tuple(sp.diff(value, x) for x in INPUTS)\n";
    }
    Ok(vec![File::text("model.py", out)])
}

/// Values that are used several times are written out each time: up to so many bytes.
const LONGEST: usize = 100_000;

/// A program with one value as one expression: names SymPy has no meaning for as they are, others as symbols.
pub fn expression(graph: &Graph) -> Result<String, Diagnostics> {
    let code = writable(graph)?;
    let main = &code.functions[0];
    let [result] = &main.results[..] else {
        return Err(unsupported(Span::default(), "a model with states has several values: `export --to sympy` writes them"));
    };
    // SymPy itself gives a meaning to many words and to these letters.
    let bare = |name: &str| name.len() == 1 && name.chars().all(|c| c.is_ascii_alphabetic() && !"CEINOQS".contains(c));
    let symbol = |name: &str| if bare(name) { name.to_string() } else { format!("Symbol({name:?})") };
    let mut values: Vec<String> = graph.inputs.iter().map(|i| symbol(&i.name)).collect();
    values.resize(main.vars.len(), String::new());
    let mut text = One { values };
    let written = text.statements(&main.body).and_then(|()| text.expr(result)).map_err(|why| unsupported(Span::default(), why))?;
    Ok(super::spell::bare(&written).to_string())
}

/// The expressions that variables stand for.
struct One {
    values: Vec<String>,
}

impl One {
    fn expr(&self, e: &Expr) -> Result<String, &'static str> {
        let text = match e {
            Expr::Var(v) => self.values[*v].clone(),
            Expr::Constant(x) => short(&number(*x)),
            Expr::Apply(op, args) => {
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<String>, _>>()?;
                // Only what is written here has the prefix: names in quotes may look like it.
                if let (Kernel::Select, [test, yes, no]) = (&op.row().kernel, &args[..]) {
                    return fits(choice("", test, yes, no));
                }
                let places: Vec<String> = (0..args.len()).map(|k| format!("\u{1}{k}\u{2}")).collect();
                let mut text = short(&apply(*op, &places).expect("operations without a text are refused before"));
                for (place, arg) in places.iter().zip(&args) {
                    text = text.replace(place, arg);
                }
                text
            }
        };
        fits(text)
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<(), &'static str> {
        for statement in statements {
            match statement {
                Statement::Let(v, e) | Statement::Set(v, e) => self.values[*v] = self.expr(e)?,
                Statement::Declare(_) => {}
                Statement::If { test, yes, no } => {
                    let (test, before) = (self.expr(test)?, self.values.clone());
                    crate::deep(|| self.statements(yes))?;
                    let first = std::mem::replace(&mut self.values, before);
                    crate::deep(|| self.statements(no))?;
                    for (second, first) in self.values.iter_mut().zip(first).filter(|(a, b)| **a != *b) {
                        *second = fits(choice("", &test, &first, second))?;
                    }
                }
                Statement::Operation { .. } => return Err("vectors and matrices have no text for SymPy"),
                Statement::Loop { .. } | Statement::Back { .. } => return Err("loops have no text for SymPy"),
                Statement::Call { .. } => return Err("functions that are not inlined have no text for SymPy"),
                Statement::Pack { .. } | Statement::Unpack { .. } => return Err("recursion has no text for SymPy"),
            }
        }
        Ok(())
    }
}

fn fits(text: String) -> Result<String, &'static str> {
    if text.len() > LONGEST { Err("as one expression the program is too long: `export --to sympy` writes it in steps") } else { Ok(text) }
}

/// A text in which SymPy's names stand alone.
fn short(text: &str) -> String {
    let text = text.replace("sp.", "");
    match text.strip_prefix("Integer(").and_then(|t| t.strip_suffix(')')) {
        Some(digits) if digits.starts_with('-') => format!("({digits})"),
        Some(digits) => digits.into(),
        None => text,
    }
}
