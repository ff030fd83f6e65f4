//! Programs of the whole language, written shape by shape: every expression is asked for with the shape it must have, so every
//! program compiles. `differentiable` guards each operation so that values stay moderate and inside the domain; `everything`
//! does not, and uses extreme literals as well.

use super::budget::Budget;
use super::scope::{Entry, Scope};
use crate::case::{Case, CaseInput};
use fastrand::Rng;
use neural_compiler::{Shape, number_text};

/// What a name is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// A value of this shape.
    Value(Shape),
    /// A loop index: a small whole number, not negative.
    Index,
    /// As a parameter: rounds left, at most so many.
    Rounds(u32),
}

pub(crate) const SCALAR: Shape = Shape::Scalar;

pub(crate) struct Writer {
    pub(crate) rng: Rng,
    pub(crate) scope: Scope<Sort>,
    pub(crate) budget: Budget,
    /// Keep to the safe domain and to moderate values.
    pub(crate) safe: bool,
    /// Functions that take one argument of any shape and return its like.
    pub(crate) polymorphic: Vec<String>,
}

/// A program with a scalar result, smooth or piecewise smooth around its inputs.
pub fn differentiable(seed: u64) -> Case {
    program(seed, true)
}

/// A program of any shape that may do anything the language can say.
pub fn everything(seed: u64) -> Case {
    program(seed, false)
}

fn program(seed: u64, safe: bool) -> Case {
    let mut rng = Rng::with_seed(seed);
    let size = rng.i64(12..if safe { 70 } else { 90 });
    let mut w = Writer { rng, scope: Scope::new(), budget: Budget::new(size), safe, polymorphic: Vec::new() };
    let mut source = String::new();
    let mut inputs = Vec::new();
    let scalars = w.rng.usize(1..=if safe { 3 } else { 4 });
    let mut wanted: Vec<(String, Shape)> = ["x", "y", "z", "s"][..scalars].iter().map(|n| (n.to_string(), SCALAR)).collect();
    if w.chance(3) {
        let n = w.rng.u32(2..4);
        wanted.push(("vector".into(), Shape::Vector(n)));
    }
    if w.chance(if safe { 8 } else { 4 }) {
        let (r, c) = (w.rng.u32(1..4), w.rng.u32(1..4));
        wanted.push(("matrix".into(), if safe { Shape::Matrix(2, 2) } else { Shape::Matrix(r, c) }));
    }
    for (name, shape) in wanted {
        match shape {
            Shape::Scalar => {}
            Shape::Vector(n) => source += &format!("(input {name} :size {n})\n"),
            Shape::Matrix(r, c) => source += &format!("(input {name} :size [{r} {c}])\n"),
        }
        let data = (0..shape.len()).map(|_| if safe { w.moderate() } else { w.number() }).collect();
        w.scope.bind(&name, Entry::Value(Sort::Value(shape)));
        inputs.push(CaseInput { name, shape, data });
    }
    if w.chance(4) {
        source += &w.define_polymorphic();
    }
    let most = w.rng.usize(0..4);
    let shape = if safe { SCALAR } else { w.shape() };
    source += &w.body(shape, most, 5, "\n");
    Case { source, inputs }
}

impl Writer {
    pub(crate) fn chance(&mut self, one_in: u32) -> bool {
        self.rng.u32(..one_in) == 0
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.rng.usize(..from.len())]
    }

    /// A shape to compute with on the way.
    pub(crate) fn shape(&mut self) -> Shape {
        match self.rng.u32(..8) {
            0..=4 => SCALAR,
            5..=6 => Shape::Vector(self.rng.u32(2..4)),
            _ if self.safe || self.chance(2) => Shape::Matrix(2, 2),
            _ => Shape::Matrix(self.rng.u32(1..4), self.rng.u32(1..4)),
        }
    }

    /// A number of ordinary size, never exactly where a function bends.
    pub(crate) fn moderate(&mut self) -> f64 {
        let x = (self.rng.f64() - 0.5) * 4.0;
        if x.abs() < 0.05 { x + 0.3 } else { x }
    }

    pub(crate) fn number(&mut self) -> f64 {
        match self.rng.u32(..14) {
            0..=2 => f64::from(self.rng.i32(-4..5)),
            3..=5 => f64::from(self.rng.i32(-16..17)) / 8.0,
            6 if !self.safe => {
                [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e-300, 5e-324, 1e16, 1e38][self.rng.usize(..10)]
            }
            7 if !self.safe => (self.rng.f64() - 0.5) * 10f64.powi(self.rng.i32(-40..41)),
            _ => self.moderate(),
        }
    }

    pub(crate) fn literal(&mut self) -> String {
        let x = self.number();
        if self.chance(12) { format!("{}/{}", self.rng.i32(-9..10), self.rng.i32(1..10)) } else { number_text(x) }
    }

    /// A value without further computation.
    pub(crate) fn leaf(&mut self, shape: Shape) -> String {
        let mut values = self.scope.values(&Sort::Value(shape));
        if shape == SCALAR && self.chance(6) {
            values.extend(self.scope.values(&Sort::Index));
        }
        if !values.is_empty() && !self.chance(4) {
            let from = if self.chance(2) { values.len().saturating_sub(3) } else { 0 };
            return values[self.rng.usize(from..values.len())].clone();
        }
        match shape {
            Shape::Scalar => self.literal(),
            Shape::Vector(n) => {
                let items: Vec<String> = (0..n).map(|_| self.leaf(SCALAR)).collect();
                format!("[{}]", items.join(" "))
            }
            Shape::Matrix(r, c) => {
                let rows: Vec<String> = (0..r).map(|_| self.leaf(Shape::Vector(c))).collect();
                format!("(mat {})", rows.join(" "))
            }
        }
    }

    /// An expression of a shape.
    pub(crate) fn expr(&mut self, shape: Shape, depth: u32) -> String {
        if !self.budget.spend(1.0) || depth == 0 {
            return self.leaf(shape);
        }
        match self.rng.u32(..20) {
            0..=1 => self.leaf(shape),
            2..=12 => self.operation(shape, depth - 1),
            _ => self.form(shape, depth - 1),
        }
    }

    /// A value of moderate size, whatever it is made of.
    pub(crate) fn tame(&mut self, shape: Shape, depth: u32) -> String {
        let e = self.expr(shape, depth);
        if !self.safe {
            return e;
        }
        match self.rng.u32(..4) {
            0 => format!("(sin {e})"),
            1 => format!("(tanh {e})"),
            2 => format!("(* 0.6 (atan {e}))"),
            _ => format!("(- (* 2 (sigmoid {e})) 1)"),
        }
    }

    /// A value well above 0.
    pub(crate) fn positive(&mut self, shape: Shape, depth: u32) -> String {
        if !self.safe {
            return self.expr(shape, depth);
        }
        match self.rng.u32(..3) {
            0 => format!("(+ 0.7 (square {}))", self.tame(shape, depth)),
            1 => format!("(exp {})", self.tame(shape, depth)),
            _ => format!("(+ 0.4 (softplus {}))", self.tame(shape, depth)),
        }
    }

    /// A test.
    pub(crate) fn test(&mut self, depth: u32) -> String {
        match self.rng.u32(..if depth == 0 { 5 } else { 8 }) {
            0..=4 => {
                let op = self.pick(&["<", ">", "<=", ">="]);
                let n = if self.chance(4) { 3 } else { 2 };
                let args: Vec<String> = (0..n).map(|_| self.expr(SCALAR, depth.min(1))).collect();
                format!("({op} {})", args.join(" "))
            }
            5 => {
                let (op, n) = (self.pick(&["and", "or"]), self.rng.usize(1..4));
                let args: Vec<String> = (0..n).map(|_| self.test(depth - 1)).collect();
                format!("({op} {})", args.join(" "))
            }
            6 => format!("(not {})", self.test(depth - 1)),
            _ => self.expr(SCALAR, depth - 1),
        }
    }

    /// An elementwise function for every shape.
    fn define_polymorphic(&mut self) -> String {
        let (name, a) = (self.scope.fresh("poly"), self.scope.fresh("a"));
        let body = match self.rng.u32(..3) {
            0 => format!("(* {a} (sin {a}))"),
            1 => format!("(if (> (total {a}) 0) (+ {a} 0.5) (- (tanh {a})))"),
            _ => format!("(let ((h (* 0.5 {a}))) (+ h (square (cos h))))"),
        };
        self.polymorphic.push(name.clone());
        format!("(define ({name} {a}) {body})\n")
    }

    /// Definitions, then an expression.
    pub(crate) fn body(&mut self, shape: Shape, most: usize, depth: u32, between: &str) -> String {
        let mark = self.scope.mark();
        let count = if most == 0 { 0 } else { self.rng.usize(0..=most) };
        let names = self.scope.names(&mut self.rng, count);
        names.iter().for_each(|n| self.scope.bind(n, Entry::Hidden));
        let mut text = String::new();
        for name in &names {
            match self.rng.u32(..5) {
                0..=1 => {
                    let sort = self.shape();
                    let value = self.expr(sort, depth.min(3));
                    text += &format!("(define {name} {value}){between}");
                    self.scope.bind(name, Entry::Value(Sort::Value(sort)));
                }
                2..=3 => text += &self.define_function(name, depth, between),
                _ => {
                    let sort = self.shape();
                    for (n, params, body) in self.mutual(sort, depth.min(3)) {
                        text += &format!("(define ({n} {params}) {body}){between}");
                    }
                }
            }
        }
        // A whole program is more than a name or a number.
        text += &if between == "\n" { self.operation(shape, depth) } else { self.expr(shape, depth) };
        self.scope.release(mark);
        text
    }

    fn define_function(&mut self, name: &str, depth: u32, between: &str) -> String {
        let arity = self.rng.usize(0..4);
        let params = self.scope.names(&mut self.rng, arity);
        let sorts: Vec<Shape> = params.iter().map(|_| self.shape()).collect();
        let result = self.shape();
        let mark = self.scope.mark();
        let before = self.budget.cost;
        params.iter().zip(&sorts).for_each(|(p, &s)| self.scope.bind(p, Entry::Value(Sort::Value(s))));
        let nested = if depth > 3 { 2 } else { 0 };
        let body = self.body(result, nested, depth.min(3), " ");
        self.scope.release(mark);
        let cost = (self.budget.cost - before) / self.budget.weight + 1.0;
        let sorts = sorts.into_iter().map(Sort::Value).collect();
        self.scope.bind(name, Entry::Function(sorts, Sort::Value(result), cost));
        format!("(define ({name}{}) {body}){between}", params.iter().map(|p| format!(" {p}")).collect::<String>())
    }
}
