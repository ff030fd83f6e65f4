//! Programs near the edges of domains: equality tests that exclude a point, quotients by what is left, logarithms with a base, computed
//! indices, conditions that are NaN, matrices of tiny numbers, quantities compared with sums they are part of, loops and recursion that
//! count. For the safe-domain check, whose silence must be a proof for every one of them.

use super::rows;
use crate::case::{Case, CaseInput};
use fastrand::Rng;
use neural_compiler::Shape;

/// Numbers where something happens.
const NUMBERS: &[&str] =
    &["0", "1", "-1", "2", "3", "0.5", "-2.5", "1e-320", "1e-300", "1e154", "1e300", "700", "+nan.0", "+inf.0", "-0.0", "1e-30", "1e30"];

struct Writer {
    rng: Rng,
    names: Vec<String>,
    left: i32,
}

/// A program over the numbers `x`, `y` and the vector `v`.
pub fn danger(seed: u64) -> Case {
    let mut w = Writer { rng: Rng::with_seed(seed), names: vec!["x".into(), "y".into(), "x".into(), "(ref v 1)".into()], left: 24 };
    let mut source = String::from("(input v :size 2)\n");
    if w.rng.u32(..8) == 0 {
        w.names.extend(["a".into(), "n".into()]);
        let body = w.expr(2);
        let end = w.expr(1);
        w.names.truncate(4);
        let arguments = w.expr(1);
        source += &format!("(define (f n a) (if (<= n 0) {end} (f (- n 1) {body})))\n(f {} {arguments})", w.rng.u32(..4));
    } else {
        let depth = w.rng.u32(2..5);
        source += &w.expr(depth);
    }
    let input = |name: &str, shape: Shape, data: Vec<f64>| CaseInput { name: name.into(), shape, data };
    Case {
        source,
        inputs: vec![
            input("x", Shape::Scalar, vec![1.0]),
            input("y", Shape::Scalar, vec![2.0]),
            input("v", Shape::Vector(2), vec![1.0, 2.0]),
        ],
    }
}

impl Writer {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.rng.usize(..from.len())]
    }

    fn leaf(&mut self) -> String {
        if self.rng.u32(..4) == 0 { self.pick(NUMBERS).to_string() } else { self.names[self.rng.usize(..self.names.len())].clone() }
    }

    fn test(&mut self, d: u32) -> String {
        match self.rng.u32(..10) {
            0..=2 => format!("(= {} {})", self.expr(d), self.pick(NUMBERS)),
            3..=5 => format!("({} {} {})", self.pick(&["<", ">", "<=", ">="]), self.expr(d), self.leaf()),
            6 => self.expr(d),
            7 => format!("({} {} {})", self.pick(&["and", "or"]), self.test(d), self.test(d)),
            8 => format!("(not {})", self.test(d)),
            _ => format!("(* {} {})", self.leaf(), self.pick(&["+nan.0", "x", "+inf.0"])),
        }
    }

    fn index(&mut self, d: u32) -> String {
        let inner = self.expr(d);
        match self.rng.u32(..5) {
            0 => inner,
            1 => format!("({} {inner})", self.pick(&["floor", "round", "truncate", "ceiling"])),
            2 => format!("(modulo (floor {inner}) 3)"),
            3 => format!("(clamp (floor {inner}) 0 2)"),
            _ => format!("(if (and (>= {inner} 0) (< {inner} 3)) (floor {inner}) 0)"),
        }
    }

    fn matrix(&mut self, n: u32, d: u32) -> String {
        let bare = |w: &mut Writer| {
            let rows: Vec<String> = (0..n).map(|_| format!("[{}]", (0..n).map(|_| w.expr(d)).collect::<Vec<_>>().join(" "))).collect();
            format!("[{}]", rows.join(" "))
        };
        match self.rng.u32(..3) {
            0 => format!("(* {} (eye {n}))", self.expr(d)),
            1 => format!("(+ {} (* {} (eye {n})))", bare(self), self.leaf()),
            _ => bare(self),
        }
    }

    /// A number from vectors and matrices.
    fn tensor(&mut self, d: u32) -> String {
        let n = self.rng.u32(1..4);
        match self.rng.u32(..9) {
            0 => format!("(ref [{} {} {}] {})", self.expr(d), self.leaf(), self.leaf(), self.index(d)),
            1 => format!("(det {})", self.matrix(n, 0)),
            2 => format!("(ref (inv {}) {} 0)", self.matrix(n, 0), self.rng.u32(..n)),
            3 => format!("(ref (solve {} [{} {}]) 1)", self.matrix(2, 0), self.expr(d), self.leaf()),
            4 => format!("(norm [{} {}])", self.expr(d), self.expr(d)),
            5 => format!("(vsum (normalize [{} {}]))", self.expr(d), self.leaf()),
            6 => format!("(dot v [{} {}])", self.expr(d), self.expr(d)),
            7 => format!("(total (matmul {} {}))", self.matrix(2, 0), self.matrix(2, 0)),
            _ => format!("(total (cofactor {}))", self.matrix(n, 0)),
        }
    }

    fn expr(&mut self, d: u32) -> String {
        self.left -= 1;
        if d == 0 || self.left < 0 {
            return self.leaf();
        }
        let d = d - 1;
        match self.rng.u32(..20) {
            0..=3 => format!("({} {})", self.pick(&rows::functions(1)), self.expr(d)),
            4..=6 => format!("({} {} {})", self.pick(&["+", "-", "*", "/"]), self.expr(d), self.expr(d)),
            7 => format!("({} {} {})", self.pick(&rows::functions(2)), self.expr(d), self.expr(d)),
            8 if self.rng.bool() => {
                let pick = self.pick(&rows::functions(3));
                format!("({pick} {} {} {})", self.expr(d), self.expr(d), self.leaf())
            }
            8 => format!("({} {} {})", self.pick(&rows::functions(2)), self.expr(d), self.expr(d)),
            9..=11 => format!("(if {} {} {})", self.test(d.min(1)), self.expr(d), self.expr(d)),
            12 => format!("(select {} {} {})", self.test(0), self.expr(d), self.expr(d)),
            13..=14 => self.tensor(d.min(1)),
            15 => {
                let (part, rest) = (self.expr(d.min(1)), self.expr(d.min(1)));
                match self.rng.u32(..4) {
                    0 => format!("(/ {part} (+ {rest} {part}))"),
                    1 => format!("(- (+ {part} {rest}) {part})"),
                    2 => format!("(- (max {part} {rest}) (* {part} {rest}))"),
                    _ => format!("(log (- 1 (/ {part} (+ {part} {rest}))))"),
                }
            }
            16 => {
                let value = self.expr(d);
                self.names.extend(["t".to_string(), "t".to_string()]);
                let body = self.expr(d);
                self.names.truncate(self.names.len() - 2);
                format!("(let ((t {value})) {body})")
            }
            17 => format!("(log {} {})", self.expr(d), self.expr(d)),
            18 => {
                let start = self.expr(d.min(1));
                self.names.extend(["i".to_string(), "s".to_string(), "s".to_string()]);
                let step = self.expr(d.min(1));
                self.names.truncate(self.names.len() - 3);
                let end = self.pick(&["(= i 3)", "(>= i 2)", "(> i 4)", "(= i 1)"]);
                format!("(loop ((i 0) (s {start})) (if {end} s (recur (+ i 1) {step})))")
            }
            _ => format!("(pow {} {})", self.expr(d), self.pick(&["2", "3", "-1", "-2", "0.5", "0", "y", "(floor y)"])),
        }
    }
}
