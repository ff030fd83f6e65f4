//! Operations of the table, each giving a value of the shape asked for; in safe programs every argument is kept in the domain.

use super::typed::{SCALAR, Sort, Writer};
use neural_compiler::Shape;

/// Functions of one argument defined everywhere and of moderate growth.
const ANYWHERE: &[&str] = &[
    "sin", "cos", "atan", "tanh", "sigmoid", "softplus", "erf", "abs", "relu", "-", "square", "floor", "ceiling", "round", "truncate",
    "sign",
];
/// Functions of one argument that grow fast.
const GROWING: &[&str] = &["exp", "sinh", "cosh", "exp2", "expm1"];
/// Functions of a positive argument.
const POSITIVE: &[&str] = &["log", "log2", "log10", "log1p", "sqrt", "cbrt", "/"];
/// Special functions defined everywhere, which may grow fast.
const SPECIAL_ANYWHERE: &[&str] = &["erfc", "erfcx", "normal-cdf", "normal-log-cdf", "bessel-j0", "bessel-j1", "bessel-i0", "bessel-i1"];
/// Special functions of a positive argument.
const SPECIAL_POSITIVE: &[&str] = &["gamma", "lgamma", "digamma", "trigamma", "bessel-k0", "bessel-k1"];
/// Functions on [-1, 1].
const UNIT: &[&str] = &["asin", "acos"];

impl Writer {
    /// An operation that nothing shadows, out of several.
    fn op<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let usable: Vec<&str> = from.iter().copied().filter(|n| !self.scope.is_bound(n)).collect();
        if usable.is_empty() { "+" } else { self.pick(&usable) }
    }

    pub(crate) fn operation(&mut self, shape: Shape, d: u32) -> String {
        match (shape, self.rng.u32(..10)) {
            (Shape::Scalar, 0..=2) => self.scalar_result(d),
            (Shape::Vector(n), 0..=5) => self.vector_result(n, d),
            (Shape::Matrix(r, c), 0..=5) => self.matrix_result(r, c, d),
            _ => self.elementwise(shape, d),
        }
    }

    /// Arguments of an elementwise application: one of the shape, the others of it or scalars.
    fn mixed(&mut self, shape: Shape, count: usize, d: u32) -> Vec<String> {
        let lead = self.rng.usize(..count);
        (0..count).map(|i| if i == lead || !self.chance(3) { self.expr(shape, d) } else { self.expr(SCALAR, d) }).collect()
    }

    fn elementwise(&mut self, shape: Shape, d: u32) -> String {
        match self.rng.u32(..29) {
            0..=4 => format!("({} {})", self.op(ANYWHERE), self.expr(shape, d)),
            5..=6 => format!("({} {})", self.op(GROWING), self.tame(shape, d)),
            7..=8 => format!("({} {})", self.op(POSITIVE), self.positive(shape, d)),
            9 if self.safe => format!("({} (* 0.8 {}))", self.op(UNIT), self.tame(shape, d)),
            9 => format!("({} {})", self.op(UNIT), self.expr(shape, d)),
            10 if self.safe => format!("(tan (* 0.7 {}))", self.tame(shape, d)),
            10 => format!("(tan {})", self.expr(shape, d)),
            11..=15 => {
                let (op, n) = (self.pick(&["+", "-", "*"]), self.rng.usize(1..4));
                format!("({op} {})", self.mixed(shape, n, d).join(" "))
            }
            16 => format!("(/ {} {})", self.expr(shape, d), self.positive(shape, d)),
            17 => {
                let (op, n) = (self.op(&["min", "max"]), self.rng.usize(1..4));
                format!("({op} {})", self.mixed(shape, n, d).join(" "))
            }
            18 => {
                let op = self.pick(&["pow", "expt"]);
                let exponent = if self.chance(2) { self.rng.i32(-2..4).to_string() } else { self.tame(SCALAR, d) };
                format!("({op} {} {exponent})", self.positive(shape, d))
            }
            19 => format!("(atan {} {})", self.expr(shape, d), self.positive(shape, d)),
            20 if self.safe => format!("(log {} (+ 1.3 {}))", self.positive(shape, d), self.positive(shape, d)),
            20 => format!("(log {} {})", self.expr(shape, d), self.expr(shape, d)),
            21 => format!("({} {} {})", self.op(&["modulo", "remainder", "quotient"]), self.expr(shape, d), self.positive(shape, d)),
            22 => {
                let (low, high) = (self.moderate() - 1.5, self.moderate() + 1.5);
                if self.safe {
                    format!("(clamp {} {low} {high})", self.expr(shape, d))
                } else {
                    format!("(clamp {})", self.mixed(shape, 3, d).join(" "))
                }
            }
            23 => format!("({} {})", self.op(SPECIAL_ANYWHERE), self.tame(shape, d)),
            24 => format!("({} {})", self.op(SPECIAL_POSITIVE), self.positive(shape, d)),
            25 => {
                format!("({} {} {})", self.op(&["beta", "lbeta", "gamma-p", "gamma-q"]), self.positive(shape, d), self.positive(shape, d))
            }
            26 if self.safe => format!("(normal-quantile (+ 0.5 (* 0.4 {})))", self.tame(shape, d)),
            26 => format!("(normal-quantile {})", self.expr(shape, d)),
            27 => format!("(voigt {} {} {})", self.tame(shape, d), self.positive(shape, d), self.positive(SCALAR, d)),
            _ => {
                let op = self.pick(&["<", ">", "<=", ">=", "="]);
                let test = if self.chance(4) {
                    format!("(not {})", self.expr(shape, d))
                } else {
                    format!("({op} {})", self.mixed(shape, 2, d).join(" "))
                };
                format!("(select {test} {} {})", self.expr(shape, d), self.expr(shape, d))
            }
        }
    }

    /// An index below a length: constant, or computed from a loop index.
    fn index(&mut self, length: u32, d: u32) -> String {
        let indices = self.scope.values(&Sort::Index);
        if !indices.is_empty() && self.chance(2) {
            let i = indices[self.rng.usize(..indices.len())].clone();
            return format!("(modulo {i} {length})");
        }
        if !self.safe && self.chance(8) {
            return self.expr(SCALAR, d);
        }
        self.rng.u32(..length).to_string()
    }

    fn scalar_result(&mut self, d: u32) -> String {
        let n = self.rng.u32(2..4);
        let v = Shape::Vector(n);
        let square = Shape::Matrix(n, n);
        match self.rng.u32(..10) {
            0..=1 => format!("(dot {} {})", self.expr(v, d), self.expr(v, d)),
            2 => format!("(norm {})", self.expr(v, d)),
            3 => format!("(vsum {})", self.expr(v, d)),
            4 => {
                let any = self.shape();
                format!("(total {})", self.expr(any, d))
            }
            5 => format!("(trace {})", self.expr(square, d)),
            6 => format!("(det {})", self.expr(square, d)),
            7 => format!("(ref {} {})", self.expr(v, d), self.index(n, d)),
            8 => format!("(ref {} {} {})", self.expr(square, d), self.index(n, d), self.index(n, d)),
            _ => format!("(* {} (vlen {}))", self.expr(SCALAR, d), self.expr(v, d.min(1))),
        }
    }

    fn vector_result(&mut self, n: u32, d: u32) -> String {
        let v = Shape::Vector(n);
        match self.rng.u32(..12) {
            0..=2 => {
                let items: String = (0..n).map(|_| format!(" {}", self.expr(SCALAR, d))).collect();
                if self.chance(2) { format!("(vec{items})") } else { format!("[{}]", items.trim()) }
            }
            3 if n == 3 => format!("(cross {} {})", self.expr(v, d), self.expr(v, d)),
            4 => {
                let inner = self.expr(v, d);
                let ones: Vec<&str> = (0..n).map(|i| ["1.5", "-1.7", "2.1"][i as usize % 3]).collect();
                if self.safe { format!("(normalize (+ [{}] (sin {inner})))", ones.join(" ")) } else { format!("(normalize {inner})") }
            }
            5 => format!("(scale {} {})", self.expr(SCALAR, d), self.expr(v, d)),
            6 => {
                let from = self.rng.u32(..3);
                format!("(slice {} {from} {})", self.expr(Shape::Vector(n + 2), d), from + n)
            }
            7 if n > 1 => {
                let first = self.rng.u32(1..n);
                let (a, b) = (
                    self.expr(Shape::Vector(first), d),
                    if n - first == 1 { self.expr(SCALAR, d) } else { self.expr(Shape::Vector(n - first), d) },
                );
                format!("(concat {a} {b})")
            }
            8 => {
                let k = self.rng.u32(1..4);
                format!("(matvec {} {})", self.expr(Shape::Matrix(n, k), d), self.expr(Shape::Vector(k), d))
            }
            9 => format!("(solve {} {})", self.invertible(n, d), self.expr(v, d)),
            10 => {
                let r = self.rng.u32(1..4);
                format!("(ref {} {})", self.expr(Shape::Matrix(r, n), d), self.index(r, d))
            }
            11 => match self.rng.u32(..3) {
                0 => format!("(fill {} {n})", self.expr(SCALAR, d)),
                1 => format!("(ones {n})"),
                _ => format!("(+ (zeros {n}) {})", self.expr(SCALAR, d)),
            },
            _ => self.elementwise(v, d),
        }
    }

    /// A square matrix; in safe programs far from singular.
    fn invertible(&mut self, n: u32, d: u32) -> String {
        let square = Shape::Matrix(n, n);
        if self.safe { format!("(+ (* 3 (eye {n})) (sin {}))", self.expr(square, d)) } else { self.expr(square, d) }
    }

    fn matrix_result(&mut self, r: u32, c: u32, d: u32) -> String {
        let m = Shape::Matrix(r, c);
        match self.rng.u32(..10) {
            0..=1 => {
                let rows: Vec<String> = (0..r).map(|_| self.expr(Shape::Vector(c), d)).collect();
                if self.chance(2) { format!("(mat {})", rows.join(" ")) } else { format!("[{}]", rows.join(" ")) }
            }
            2 => {
                let k = self.rng.u32(1..4);
                format!("(matmul {} {})", self.expr(Shape::Matrix(r, k), d), self.expr(Shape::Matrix(k, c), d))
            }
            3 => format!("(transpose {})", self.expr(Shape::Matrix(c, r), d)),
            4 if r == c => format!("(inv {})", self.invertible(r, d)),
            5 => format!("(solve {} {})", self.invertible(r, d), self.expr(m, d)),
            6 => format!("(outer {} {})", self.expr(Shape::Vector(r), d), self.expr(Shape::Vector(c), d)),
            7 if r == c => format!("(eye {r})"),
            8 => match self.rng.u32(..3) {
                0 => format!("(fill {} {r} {c})", self.expr(SCALAR, d)),
                1 => format!("(ones {r} {c})"),
                _ => format!("(- (zeros {r} {c}) {})", self.expr(SCALAR, d)),
            },
            9 if r == c => format!("(cofactor {})", self.expr(m, d)),
            _ => self.elementwise(m, d),
        }
    }
}
