//! SymPy. In: a program without loops and recursion whose values are scalars; out: `model.py`, which builds the expression `value` from
//! symbols and, on request, its derivatives.
//! Invariant: constants are the shortest decimals that round to the program's numbers, as exact fractions; nothing is simplified.

use super::code::{self, Expr, Statement};
use super::{Export, File, Request};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::Type;
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
        Kernel::Select => Some(format!("sp.Piecewise(({}, sp.Ne({}, 0)), ({}, True))", args[1], args[0], args[2])),
        Kernel::Ternary(_) | Kernel::Tensor(_) | Kernel::Composite(_) => None,
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
                        let line =
                            format!("{} = sp.Piecewise(({}, sp.Ne({test}, 0)), ({}, True))\n", self.names[v], sides[0][k], sides[1][k]);
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

/// The file of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>) -> Result<Vec<File>, Diagnostics> {
    let code = code::code(export.graph);
    let unsupported = |span, message: String| Diagnostics::from(Diagnostic::error("export-unsupported", span, message));
    let scalars = export.graph.inputs.iter().all(|i| i.shape == Shape::Scalar);
    if !scalars {
        return Err(unsupported(Span::default(), "vectors and matrices have no text for SymPy".into()));
    }
    if let Some((op, _, span)) = code.applied.iter().find(|(op, ..)| op.row().is_elementwise() && !spelled(*op)) {
        return Err(unsupported(*span, format!("`{}` has no text for SymPy", op.row().name)));
    }
    let main = &code.functions[0];
    let inputs = super::names(&export.graph.inputs, super::python::TAKEN, &["f_"]);
    let names = inputs.iter().cloned().chain((main.params..main.vars.len()).map(|v| format!("v{v}"))).collect();
    let mut text = Text { names, out: String::new() };
    text.statements(&main.body).map_err(|why| unsupported(Span::default(), why.into()))?;
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
