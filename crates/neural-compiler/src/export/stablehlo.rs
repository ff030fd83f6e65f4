//! StableHLO as text. In: a program without recursion; out: `model.mlir` with a function `main` from the inputs to the results.
//!
//! Branches are `stablehlo.if`, loops `stablehlo.while` whose state is what the loop carries and what it leaves with. Functions StableHLO
//! lacks are made of those it has, to a few ULP.
//! Invariant: every line defines names that nothing else defines.

use super::code::{self, Expr, Function, Statement, Update, Var};
use super::{Export, File, Request};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::Type;
use crate::ops::Op;
use crate::ops::real::Dtype;
use crate::ops::row::Kernel;
use crate::shape::Shape;
use crate::source::Span;
use rustc_hash::FxHashMap;

/// Functions of one argument under their names there; the others are made in [`Text::unary`].
fn unary_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "neg" => "negate",
        "abs" => "abs",
        "sqrt" => "sqrt",
        "cbrt" => "cbrt",
        "sin" => "sine",
        "cos" => "cosine",
        "tan" => "tan",
        "tanh" => "tanh",
        "exp" => "exponential",
        "expm1" => "exponential_minus_one",
        "log" => "log",
        "log1p" => "log_plus_one",
        "floor" => "floor",
        "ceiling" => "ceil",
        "round" => "round_nearest_even",
        "sigmoid" => "logistic",
        _ => return None,
    })
}

fn binary_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "add" => "add",
        "sub" => "subtract",
        "mul" => "multiply",
        "div" => "divide",
        "min" => "minimum",
        "max" => "maximum",
        "pow" => "power",
        "atan2" => "atan2",
        "remainder" => "remainder",
        _ => return None,
    })
}

fn comparison(name: &str) -> Option<&'static str> {
    Some(match name {
        "eq" => "EQ",
        "lt" => "LT",
        "gt" => "GT",
        "le" => "LE",
        "ge" => "GE",
        _ => return None,
    })
}

/// Functions made of others.
const COMPOSED: &[&str] = &[
    "square",
    "sign",
    "relu",
    "truncate",
    "softplus",
    "exp2",
    "log2",
    "log10",
    "sinh",
    "cosh",
    "asin",
    "acos",
    "atan",
    "bell",
    "half-bell",
    "half-growth",
];
const COMPOSED_PAIRS: &[&str] = &["log_base", "quotient", "inverse-part", "modulo"];
const TENSORS: &[Op] = &[
    Op::Dot,
    Op::Total,
    Op::Transpose,
    Op::Outer,
    Op::Product,
    Op::Join,
    Op::Cut,
    Op::Place,
    Op::Spread,
    Op::Norm,
    Op::Trace,
    Op::Cross,
    Op::Identity,
];

/// Whether an operation can be written.
pub(super) fn spelled(op: Op) -> bool {
    match &op.row().kernel {
        Kernel::Unary(f) => unary_name(f.name).is_some() || COMPOSED.contains(&f.name),
        Kernel::Binary(f) => binary_name(f.name).is_some() || comparison(f.name).is_some() || COMPOSED_PAIRS.contains(&f.name),
        Kernel::Select | Kernel::Composite(_) => true,
        Kernel::Ternary(_) => false,
        Kernel::Tensor(_) => TENSORS.contains(&op),
    }
}

/// A value: its name and shape.
#[derive(Clone)]
struct Value {
    name: String,
    shape: Shape,
}

struct Text {
    element: &'static str,
    single: bool,
    out: String,
    depth: usize,
    count: usize,
    /// What variables are now.
    vars: FxHashMap<Var, Value>,
}

fn dims(shape: Shape) -> String {
    shape.dims().iter().map(|d| format!("{d}x")).collect()
}

impl Text {
    fn ty(&self, shape: Shape) -> String {
        format!("tensor<{}{}>", dims(shape), self.element)
    }

    fn line(&mut self, text: &str) {
        self.out += &format!("{}{text}\n", "  ".repeat(self.depth));
    }

    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("%v{}", self.count)
    }

    /// A line that defines a value.
    fn define(&mut self, shape: Shape, text: &str) -> Value {
        let name = self.fresh();
        self.line(&format!("{name} = {text}"));
        Value { name, shape }
    }

    fn number(&self, x: f64) -> String {
        let x = if self.single { f64::from(x as f32) } else { x };
        if x.is_finite() {
            return format!("{x:e}").replace('e', if format!("{x:e}").contains('.') { "e" } else { ".0e" });
        }
        // What is no number is written by its bits.
        if self.single { format!("0x{:08X}", (x as f32).to_bits()) } else { format!("0x{:016X}", x.to_bits()) }
    }

    /// A constant of a shape.
    fn constant(&mut self, x: f64, shape: Shape) -> Value {
        let text = format!("stablehlo.constant dense<{}> : {}", self.number(x), self.ty(shape));
        self.define(shape, &text)
    }

    /// A value of another shape: scalars are repeated.
    fn spread(&mut self, x: &Value, shape: Shape) -> Value {
        if x.shape == shape {
            return x.clone();
        }
        let text = format!("stablehlo.broadcast_in_dim {}, dims = [] : ({}) -> {}", x.name, self.ty(x.shape), self.ty(shape));
        self.define(shape, &text)
    }

    fn reshape(&mut self, x: &Value, shape: Shape) -> Value {
        if x.shape == shape {
            return x.clone();
        }
        let text = format!("stablehlo.reshape {} : ({}) -> {}", x.name, self.ty(x.shape), self.ty(shape));
        self.define(shape, &text)
    }

    fn plain(&mut self, name: &str, args: &[&Value]) -> Value {
        let shape = args[0].shape;
        let names: Vec<&str> = args.iter().map(|a| a.name.as_str()).collect();
        let text = format!("stablehlo.{name} {} : {}", names.join(", "), self.ty(shape));
        self.define(shape, &text)
    }

    fn with(&mut self, name: &str, x: &Value, c: f64) -> Value {
        let c = self.constant(c, x.shape);
        self.plain(name, &[x, &c])
    }

    fn compare(&mut self, direction: &str, x: &Value, y: &Value) -> String {
        let name = self.fresh();
        let (ty, bools) = (self.ty(x.shape), format!("tensor<{}i1>", dims(x.shape)));
        self.line(&format!("{name} = stablehlo.compare {direction}, {}, {}, FLOAT : ({ty}, {ty}) -> {bools}", x.name, y.name));
        name
    }

    fn select(&mut self, test: &str, x: &Value, y: &Value) -> Value {
        let text = format!("stablehlo.select {test}, {}, {} : tensor<{}i1>, {}", x.name, y.name, dims(x.shape), self.ty(x.shape));
        self.define(x.shape, &text)
    }

    fn unary(&mut self, name: &str, x: &Value) -> Value {
        if let Some(name) = unary_name(name) {
            return self.plain(name, &[x]);
        }
        let zero = self.constant(0.0, x.shape);
        match name {
            "square" => self.plain("multiply", &[x, x]),
            "sign" => {
                let (test, sign) = (self.compare("EQ", x, &zero), self.plain("sign", &[x]));
                self.select(&test, x, &sign)
            }
            "relu" => {
                let test = self.compare("LE", x, &zero);
                self.select(&test, &zero, x)
            }
            "truncate" => {
                let (up, down, test) = (self.plain("ceil", &[x]), self.plain("floor", &[x]), self.compare("LT", x, &zero));
                self.select(&test, &up, &down)
            }
            "softplus" => {
                let size = self.plain("abs", &[x]);
                let size = self.plain("negate", &[&size]);
                let e = self.plain("exponential", &[&size]);
                let (rest, base) = (self.plain("log_plus_one", &[&e]), self.plain("maximum", &[x, &zero]));
                self.plain("add", &[&base, &rest])
            }
            "exp2" => {
                let two = self.constant(2.0, x.shape);
                self.plain("power", &[&two, x])
            }
            "log2" | "log10" => {
                let log = self.plain("log", &[x]);
                self.with("divide", &log, if name == "log2" { std::f64::consts::LN_2 } else { std::f64::consts::LN_10 })
            }
            "sinh" => {
                // (e^x - 1) (1 + 1/(e^x)) / 2, in terms that lose nothing near 0
                let e = self.plain("exponential_minus_one", &[x]);
                let more = self.with("add", &e, 1.0);
                let ratio = self.plain("divide", &[&e, &more]);
                let sum = self.plain("add", &[&e, &ratio]);
                self.with("multiply", &sum, 0.5)
            }
            "cosh" => {
                let (e, back) = (self.plain("exponential", &[x]), self.plain("negate", &[x]));
                let back = self.plain("exponential", &[&back]);
                let sum = self.plain("add", &[&e, &back]);
                self.with("multiply", &sum, 0.5)
            }
            "asin" | "acos" => {
                let one = self.constant(1.0, x.shape);
                let (less, more) = (self.plain("subtract", &[&one, x]), self.plain("add", &[&one, x]));
                let product = self.plain("multiply", &[&less, &more]);
                let root = self.plain("sqrt", &[&product]);
                if name == "asin" { self.plain("atan2", &[x, &root]) } else { self.plain("atan2", &[&root, x]) }
            }
            "atan" => {
                let one = self.constant(1.0, x.shape);
                self.plain("atan2", &[x, &one])
            }
            _ => {
                let square = self.plain("multiply", &[x, x]);
                let factor = if name == "bell" {
                    -1.0
                } else if name == "half-bell" {
                    -0.5
                } else {
                    0.5
                };
                let scaled = self.with("multiply", &square, factor);
                self.plain("exponential", &[&scaled])
            }
        }
    }

    fn binary(&mut self, name: &str, x: &Value, y: &Value) -> Value {
        if let Some(name) = binary_name(name) {
            return self.plain(name, &[x, y]);
        }
        if let Some(direction) = comparison(name) {
            let (test, one, zero) = (self.compare(direction, x, y), self.constant(1.0, x.shape), self.constant(0.0, x.shape));
            return self.select(&test, &one, &zero);
        }
        match name {
            "log_base" => {
                let (a, b) = (self.plain("log", &[x]), self.plain("log", &[y]));
                self.plain("divide", &[&a, &b])
            }
            "quotient" => {
                let ratio = self.plain("divide", &[x, y]);
                self.unary("truncate", &ratio)
            }
            "inverse-part" => {
                let (a, b) = (self.plain("multiply", &[x, x]), self.plain("multiply", &[y, y]));
                let sum = self.plain("add", &[&a, &b]);
                self.plain("divide", &[x, &sum])
            }
            _ => {
                // The remainder, moved where its sign is the other one.
                let (r, zero) = (self.plain("remainder", &[x, y]), self.constant(0.0, x.shape));
                let moved = self.plain("add", &[&r, y]);
                let product = self.plain("multiply", &[&r, y]);
                let test = self.compare("LT", &product, &zero);
                self.select(&test, &moved, &r)
            }
        }
    }

    /// The sum of all numbers.
    fn total(&mut self, x: &Value) -> Value {
        if x.shape == Shape::Scalar {
            return x.clone();
        }
        let zero = self.constant(0.0, Shape::Scalar);
        let axes: Vec<String> = (0..x.shape.dims().len()).map(|k| k.to_string()).collect();
        let (from, to) = (self.ty(x.shape), self.ty(Shape::Scalar));
        let text = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.add across dimensions = [{}] : ({from}, {to}) -> {to}",
            x.name,
            zero.name,
            axes.join(", ")
        );
        self.define(Shape::Scalar, &text)
    }

    /// Some numbers of a vector.
    fn slice(&mut self, x: &Value, from: usize, count: usize) -> Value {
        let shape = Shape::Vector(count as u32);
        let text = format!("stablehlo.slice {} [{from}:{}] : ({}) -> {}", x.name, from + count, self.ty(x.shape), self.ty(shape));
        self.define(shape, &text)
    }

    fn flat(&mut self, x: &Value) -> Value {
        self.reshape(x, Shape::Vector(x.shape.len() as u32))
    }

    fn joined(&mut self, parts: &[Value], shape: Shape) -> Value {
        let parts: Vec<Value> = parts.iter().map(|p| self.flat(p)).collect();
        let flat = Shape::Vector(shape.len() as u32);
        let (names, types): (Vec<String>, Vec<String>) = parts.iter().map(|p| (p.name.clone(), self.ty(p.shape))).unzip();
        let text = format!("stablehlo.concatenate {}, dim = 0 : ({}) -> {}", names.join(", "), types.join(", "), self.ty(flat));
        let all = self.define(flat, &text);
        self.reshape(&all, shape)
    }

    fn tensor(&mut self, op: Op, attribute: usize, shape: Shape, x: &[Value]) -> Value {
        match op {
            Op::Dot => {
                let product = self.plain("multiply", &[&x[0], &x[1]]);
                self.total(&product)
            }
            Op::Total => self.total(&x[0]),
            Op::Norm => {
                let square = self.plain("multiply", &[&x[0], &x[0]]);
                let sum = self.total(&square);
                self.plain("sqrt", &[&sum])
            }
            Op::Trace | Op::Identity => {
                let square = if op == Op::Trace { x[0].shape } else { shape };
                let Shape::Matrix(rows, columns) = square else { unreachable!("a matrix") };
                let ones: Vec<String> = (0..rows)
                    .map(|i| format!("[{}]", (0..columns).map(|j| if i == j { "1.0" } else { "0.0" }).collect::<Vec<_>>().join(", ")))
                    .collect();
                let text = format!("stablehlo.constant dense<[{}]> : {}", ones.join(", "), self.ty(square));
                let eye = self.define(square, &text);
                if op == Op::Identity {
                    return eye;
                }
                let kept = self.plain("multiply", &[&x[0], &eye]);
                self.total(&kept)
            }
            Op::Transpose => {
                let text = format!("stablehlo.transpose {}, dims = [1, 0] : ({}) -> {}", x[0].name, self.ty(x[0].shape), self.ty(shape));
                self.define(shape, &text)
            }
            Op::Outer | Op::Product => {
                let contracting = if op == Op::Outer { "[] x []" } else { "[1] x [0]" };
                let left = match (op, x[0].shape) {
                    (Op::Product, Shape::Vector(n)) => self.reshape(&x[0], Shape::Matrix(n, 1)),
                    _ => x[0].clone(),
                };
                let text = format!(
                    "stablehlo.dot_general {}, {}, contracting_dims = {contracting} : ({}, {}) -> {}",
                    left.name,
                    x[1].name,
                    self.ty(left.shape),
                    self.ty(x[1].shape),
                    self.ty(shape)
                );
                self.define(shape, &text)
            }
            Op::Cross => {
                let parts: Vec<Value> = (0..3)
                    .map(|i| {
                        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                        let [aj, bk, ak, bj] = [(0, j), (1, k), (0, k), (1, j)].map(|(v, at)| self.slice(&x[v], at, 1));
                        let (first, second) = (self.plain("multiply", &[&aj, &bk]), self.plain("multiply", &[&ak, &bj]));
                        self.plain("subtract", &[&first, &second])
                    })
                    .collect();
                self.joined(&parts, shape)
            }
            Op::Join => self.joined(x, shape),
            Op::Cut => {
                let flat = self.flat(&x[0]);
                let part = self.slice(&flat, attribute, shape.len());
                self.reshape(&part, shape)
            }
            Op::Place => {
                let (flat, zero) = (self.flat(&x[0]), self.constant(0.0, Shape::Scalar));
                let whole = Shape::Vector(shape.len() as u32);
                let high = shape.len() - attribute - flat.shape.len();
                let text = format!(
                    "stablehlo.pad {}, {}, low = [{attribute}], high = [{high}], interior = [0] : ({}, {}) -> {}",
                    flat.name,
                    zero.name,
                    self.ty(flat.shape),
                    self.ty(Shape::Scalar),
                    self.ty(whole)
                );
                let all = self.define(whole, &text);
                self.reshape(&all, shape)
            }
            _ => {
                let first = self.reshape(&x[0], Shape::Scalar);
                self.spread(&first, shape)
            }
        }
    }

    fn elementwise(&mut self, op: Op, shape: Shape, args: &[Value]) -> Value {
        let args: Vec<Value> = args.iter().map(|a| self.spread(a, shape)).collect();
        match &op.row().kernel {
            Kernel::Unary(f) => self.unary(f.name, &args[0]),
            Kernel::Binary(f) => self.binary(f.name, &args[0], &args[1]),
            Kernel::Ternary(_) => unreachable!("it was refused before"),
            Kernel::Select | Kernel::Tensor(_) | Kernel::Composite(_) => {
                let zero = self.constant(0.0, shape);
                let test = self.compare("NE", &args[0], &zero);
                self.select(&test, &args[1], &args[2])
            }
        }
    }

    fn expr(&mut self, e: &Expr) -> Value {
        match e {
            Expr::Var(v) => self.vars[v].clone(),
            Expr::Constant(x) => self.constant(*x, Shape::Scalar),
            Expr::Apply(op, args) => {
                let args: Vec<Value> = args.iter().map(|a| self.expr(a)).collect();
                self.elementwise(*op, Shape::Scalar, &args)
            }
        }
    }

    fn statements(&mut self, statements: &[Statement], function: &Function) {
        crate::deep(|| statements.iter().for_each(|s| self.statement(s, function)));
    }

    fn statement(&mut self, statement: &Statement, function: &Function) {
        match statement {
            Statement::Let(v, e) | Statement::Set(v, e) => {
                let value = self.expr(e);
                self.vars.insert(*v, value);
            }
            Statement::Operation { to, op, attribute, args } => {
                let args: Vec<Value> = args.iter().map(|a| self.expr(a)).collect();
                let shape = function.vars[*to].shape();
                let tensor = matches!(op.row().kernel, Kernel::Tensor(_));
                let value = if tensor { self.tensor(*op, *attribute as usize, shape, &args) } else { self.elementwise(*op, shape, &args) };
                self.vars.insert(*to, value);
            }
            Statement::Declare(_) => {}
            Statement::If { test, yes, no } => self.branch(test, yes, no, function),
            Statement::Loop { body, proceed, leave, next, .. } => self.rounds(body, proceed, leave, next, function),
            Statement::Call { .. } | Statement::Back { .. } | Statement::Pack { .. } | Statement::Unpack { .. } => {
                unreachable!("refused before")
            }
        }
    }

    fn types(&self, values: &[Value]) -> String {
        values.iter().map(|v| self.ty(v.shape)).collect::<Vec<_>>().join(", ")
    }

    fn returns(&mut self, values: &[Value]) {
        let names: Vec<&str> = values.iter().map(|v| v.name.as_str()).collect();
        let text = format!("stablehlo.return {} : {}", names.join(", "), self.types(values));
        self.line(&text);
    }

    fn branch(&mut self, test: &Expr, yes: &[Statement], no: &[Statement], function: &Function) {
        let set: Vec<Var> = super::code::outer_sets(yes);
        if set.is_empty() {
            return;
        }
        let (test, zero) = (self.expr(test), self.constant(0.0, Shape::Scalar));
        let test = self.compare("NE", &test, &zero);
        let name = self.fresh();
        self.line(&format!("{name}:{} = \"stablehlo.if\"({test}) ({{", set.len()));
        let mut results = Vec::new();
        for (k, block) in [yes, no].into_iter().enumerate() {
            if k == 1 {
                self.line("}, {");
            }
            self.depth += 1;
            self.statements(block, function);
            results = set.iter().map(|v| self.vars[v].clone()).collect();
            self.returns(&results);
            self.depth -= 1;
        }
        let types = self.types(&results);
        self.line(&format!("}}) : (tensor<i1>) -> ({types})"));
        for (k, v) in set.iter().enumerate() {
            self.vars.insert(*v, Value { name: format!("{name}#{k}"), shape: function.vars[*v].shape() });
        }
    }

    fn rounds(&mut self, body: &[Statement], proceed: &Expr, leave: &[Update], next: &[Update], function: &Function) {
        let shape = |v: Var| function.vars[v].shape();
        // The state: a number that is not 0 while the loop goes on, what is carried, what it leaves with.
        let mut state = vec![self.constant(1.0, Shape::Scalar)];
        state.extend(next.iter().map(|(v, _)| self.vars[v].clone()));
        for (v, _) in leave {
            state.push(self.constant(0.0, shape(*v)));
        }
        let name = self.fresh();
        let names: Vec<&str> = state.iter().map(|v| v.name.as_str()).collect();
        let types = self.types(&state);
        self.line(&format!("{name}:{} = \"stablehlo.while\"({}) ({{", state.len(), names.join(", ")));
        for part in 0..2 {
            let inside: Vec<Value> = state.iter().map(|v| Value { name: String::new(), shape: v.shape }).collect();
            let inside: Vec<Value> = inside.into_iter().map(|v| Value { name: self.fresh(), ..v }).collect();
            let typed: Vec<String> = inside.iter().map(|v| format!("{}: {}", v.name, self.ty(v.shape))).collect();
            self.line(&format!("^bb0({}):", typed.join(", ")));
            self.depth += 1;
            if part == 0 {
                let zero = self.constant(0.0, Shape::Scalar);
                let test = self.compare("NE", &inside[0], &zero);
                self.line(&format!("stablehlo.return {test} : tensor<i1>"));
            } else {
                next.iter().zip(&inside[1..]).for_each(|((v, _), value)| {
                    self.vars.insert(*v, value.clone());
                });
                self.statements(body, function);
                let after: Vec<&Expr> = std::iter::once(proceed).chain(next.iter().chain(leave).map(|(_, e)| e)).collect();
                let values: Vec<Value> = after.into_iter().map(|e| self.expr(e)).collect();
                self.returns(&values);
            }
            self.depth -= 1;
            if part == 0 {
                self.line("}, {");
            }
        }
        self.line(&format!("}}) : ({types}) -> ({types})"));
        for (k, (v, _)) in next.iter().chain(leave).enumerate() {
            self.vars.insert(*v, Value { name: format!("{name}#{}", k + 1), shape: shape(*v) });
        }
    }
}

/// The file of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>) -> Result<Vec<File>, Diagnostics> {
    let graph = export.gradient.unwrap_or(export.graph);
    let code = code::code(graph);
    let mut errors = Vec::new();
    if let Some((op, _, span)) = code.applied.iter().find(|(op, ..)| !spelled(*op)) {
        errors.push(Diagnostic::error("export-unsupported", *span, format!("`{}` has no text in StableHLO", op.row().name)));
    }
    if code.functions.len() > 1 || code.has_records() {
        let message = "recursion, and the gradient of a loop, have no text in StableHLO";
        errors.push(Diagnostic::error("export-unsupported", Span::default(), message).help("export to C or NumPy, or to JAX"));
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let main = &code.functions[0];
    let element = if request.dtype == Dtype::F32 { "f32" } else { "f64" };
    let mut text =
        Text { element, single: request.dtype == Dtype::F32, out: String::new(), depth: 2, count: 0, vars: FxHashMap::default() };
    let mut params = Vec::new();
    for (k, input) in graph.inputs.iter().enumerate() {
        text.vars.insert(k, Value { name: format!("%arg{k}"), shape: input.shape });
        params.push(format!("%arg{k}: {} loc({:?})", text.ty(input.shape), input.name));
    }
    text.statements(&main.body, main);
    let results: Vec<Value> = main.results.iter().map(|r| text.expr(r)).collect();
    debug_assert!(main.result_types.iter().all(|t| matches!(t, Type::Value(_))));
    let (names, types): (Vec<&str>, Vec<String>) = results.iter().map(|v| (v.name.as_str(), text.ty(v.shape))).unzip();
    let last = format!("    func.return {} : {}\n", names.join(", "), types.join(", "));
    let out = format!(
        "{}module @model {{\n  func.func public @main({}) -> ({}) {{\n{}{last}  }}\n}}\n",
        super::comment(request, "A model", "// "),
        params.join(", "),
        types.join(", "),
        text.out
    );
    Ok(vec![File::text("model.mlir", out)])
}
