//! Programs of the subset shared with Scheme. Every numeral has a point, so that a Scheme computes in IEEE doubles throughout;
//! tests are comparisons, so that truth agrees; `modulo` and its kin get small whole numbers; `(+ 0.0 …)` around them and around
//! `round` drops the sign of zero, the one thing in which the two differ.

use super::budget::Budget;
use super::scope::{Entry, Scope};
use crate::case::{Case, CaseInput};
use fastrand::Rng;
use neural_compiler::Shape;

/// Which operations a program may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Only operations both sides round correctly: results agree to the bit.
    Exact,
    /// `sin`, `exp` and the like, on and between values of moderate size: results agree to rounding.
    Transcendental,
}

/// What a name is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    /// A number.
    Number,
    /// A loop index: a whole number both sides know exactly, whatever the family.
    Index,
    /// As a parameter: rounds left, at most so many.
    Rounds(u32),
}

struct Writer {
    rng: Rng,
    scope: Scope<Sort>,
    budget: Budget,
    family: Family,
}

/// A program of the shared subset.
pub fn scheme(seed: u64, family: Family) -> Case {
    let mut rng = Rng::with_seed(seed);
    let size = rng.i64(8..90);
    let mut w = Writer { rng, scope: Scope::new(), budget: Budget::new(size), family };
    let names = ["x", "y", "z", "n"];
    let count = w.rng.usize(0..=4);
    let mut inputs = Vec::new();
    for name in &names[..count] {
        let value = if *name == "n" { f64::from(w.rng.i32(-9..10)) } else { w.number() };
        w.scope.bind(name, Entry::Value(Sort::Number));
        inputs.push(CaseInput { name: name.to_string(), shape: Shape::Scalar, data: vec![value] });
    }
    let most = w.rng.usize(0..5);
    let source = w.body(most, 5, "\n");
    Case { source, inputs }
}

/// A literal both sides read as the same double.
pub(crate) fn literal(x: f64) -> String {
    format!("{x:?}")
}

impl Writer {
    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.u32(..one_in) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.rng.usize(..from.len())]
    }

    /// An operation that nothing shadows, out of several.
    fn op<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let usable: Vec<&str> = from.iter().copied().filter(|n| !self.scope.is_bound(n)).collect();
        if usable.is_empty() { "+" } else { self.pick(&usable) }
    }

    fn number(&mut self) -> f64 {
        let wild = self.family == Family::Exact;
        match self.rng.u32(..12) {
            0..=3 => f64::from(self.rng.i32(-9..10)),
            4..=6 => f64::from(self.rng.i32(-40..41)) / 8.0,
            7..=9 => (self.rng.f64() - 0.5) * 6.0,
            10 if wild => [0.0, -0.0, 1e300, -1e-300, 5e-324, 1e16, 123456789.125][self.rng.usize(..7)],
            11 if wild => (self.rng.f64() - 0.5) * 10f64.powi(self.rng.i32(-12..13)),
            _ => self.rng.f64() * 2.0,
        }
    }

    fn leaf(&mut self) -> String {
        let mut values = self.scope.values(&Sort::Index);
        values.extend(self.scope.values(&Sort::Number));
        if !values.is_empty() && !self.chance(3) {
            // Inner names more often: they carry what the program computes.
            let from = if self.chance(2) { values.len().saturating_sub(3) } else { 0 };
            return values[self.rng.usize(from..values.len())].clone();
        }
        let x = self.number();
        literal(x)
    }

    /// A value between -3 and 3 or so, for the arguments of transcendental functions.
    fn tame(&mut self, depth: u32) -> String {
        let e = self.expr(depth);
        if self.scope.is_bound("max") { self.leaf_tame() } else { format!("(max -2.5 (min 2.5 {e}))") }
    }

    fn leaf_tame(&mut self) -> String {
        let x = self.rng.f64() * 2.0;
        literal(x)
    }

    /// A small whole number.
    fn whole(&mut self, depth: u32) -> String {
        if self.chance(2) || self.scope.is_bound("max") {
            return literal(f64::from(self.rng.i32(-60..61)));
        }
        let e = self.expr(depth);
        let rounding = self.op(&["round", "floor", "ceiling", "truncate"]);
        if rounding == "+" { literal(7.0) } else { format!("(+ 0.0 ({rounding} (max -50.0 (min 50.0 {e}))))") }
    }

    fn nonzero_whole(&mut self) -> String {
        let k = f64::from(self.rng.i32(1..12));
        literal(if self.chance(2) { k } else { -k })
    }

    /// A test; its parts never depend on transcendental functions.
    fn test(&mut self, depth: u32) -> String {
        let family = std::mem::replace(&mut self.family, Family::Exact);
        let text = match self.rng.u32(..if depth == 0 { 6 } else { 9 }) {
            0..=5 => {
                let op = self.pick(&["<", ">", "<=", ">=", "="]);
                let n = if self.chance(4) { 3 } else { 2 };
                // Under `Transcendental`, values in scope may differ in the last bit: compare what both sides know exactly.
                let args: Vec<String> =
                    (0..n).map(|_| if family == Family::Exact { self.expr(depth.min(1)) } else { self.exact_leaf() }).collect();
                format!("({op} {})", args.join(" "))
            }
            6 => {
                let (op, n) = (self.pick(&["and", "or"]), self.rng.usize(0..4));
                self.family = family;
                let args: String = (0..n).map(|_| format!(" {}", self.test(depth - 1))).collect();
                format!("({op}{args})")
            }
            7 => {
                self.family = family;
                format!("(not {})", self.test(depth - 1))
            }
            _ => self.pick(&["#t", "#f"]).to_string(),
        };
        self.family = family;
        text
    }

    fn exact_leaf(&mut self) -> String {
        let indices = self.scope.values(&Sort::Index);
        if indices.is_empty() || self.chance(3) {
            let x = self.number();
            return literal(x);
        }
        indices[self.rng.usize(..indices.len())].clone()
    }

    fn args(&mut self, count: usize, depth: u32) -> String {
        (0..count).map(|_| format!(" {}", self.expr(depth))).collect()
    }

    fn expr(&mut self, depth: u32) -> String {
        if !self.budget.spend(1.0) || depth == 0 {
            return self.leaf();
        }
        let d = depth - 1;
        match self.rng.u32(..40) {
            0..=2 => self.leaf(),
            3..=10 => {
                let n = self.rng.usize(1..5);
                let op = self.pick(if self.family == Family::Exact { &["+", "-", "*", "/"] } else { &["+", "-", "+"] });
                format!("({op}{})", self.args(n, d))
            }
            11..=13 => {
                let op = self.op(&["min", "max"]);
                let n = self.rng.usize(1..4);
                format!("({op}{})", self.args(n, d))
            }
            14..=15 if self.family == Family::Exact => {
                let op = self.op(&["abs", "floor", "ceiling", "round", "truncate"]);
                format!("(+ 0.0 ({op} {}))", self.expr(d))
            }
            14..=15 => self.transcendental(d),
            16..=18 => {
                let op = self.op(&["modulo", "remainder", "quotient"]);
                if self.family != Family::Exact {
                    return self.transcendental(d);
                }
                format!("(+ 0.0 ({op} {} {}))", self.whole(d), self.nonzero_whole())
            }
            19 => {
                let inner = if self.scope.is_bound("abs") { literal(2.0) } else { format!("(abs {})", self.expr(d)) };
                format!("(sqrt {inner})")
            }
            20..=23 => format!("(if {} {} {})", self.test(d), self.expr(d), self.expr(d)),
            24..=25 => {
                let n = self.rng.usize(1..4);
                let clauses: String = (0..n).map(|_| format!(" ({} {})", self.test(d), self.expr(d))).collect();
                format!("(cond{clauses} (else {}))", self.expr(d))
            }
            26..=27 => self.parallel(d, "let"),
            28 => self.parallel(d, "lambda"),
            29..=30 => self.sequential(d),
            31 => self.letrec(d),
            32..=33 => self.named_let(d),
            34 => self.deciding(d),
            35 => {
                let mark = self.scope.mark();
                let names = self.scope.names(&mut self.rng, 1);
                let value = self.expr(d);
                self.scope.bind(&names[0], Entry::Value(Sort::Number));
                let body = self.body(2, d, " ");
                self.scope.release(mark);
                format!("(let (({} {value})) {body})", names[0])
            }
            _ => self.call(d),
        }
    }

    fn transcendental(&mut self, d: u32) -> String {
        let x = self.tame(d);
        match self.rng.u32(..14) {
            0 => format!("(sin {x})"),
            1 => format!("(cos {x})"),
            2 => format!("(tan (* 0.4 {x}))"),
            3 => format!("(asin (* 0.3 {x}))"),
            4 => format!("(acos (* 0.3 {x}))"),
            5 => format!("(atan {x})"),
            6 => format!("(atan {x} {})", literal(0.75)),
            7 => format!("(exp {x})"),
            8 => format!("(log (+ 3.0 {x}))"),
            9 => format!("(sinh {x})"),
            10 => format!("(cosh {x})"),
            11 => format!("(tanh {x})"),
            12 => format!("(expt (+ 3.0 {x}) {})", literal(f64::from(self.rng.i32(-6..7)) / 2.0)),
            _ => format!("(* {x} {})", self.tame(d)),
        }
    }

    /// `and`, `or` as values, where Scheme's truth and ours agree: every value but the last decides by being no zero.
    fn deciding(&mut self, d: u32) -> String {
        let k = f64::from(self.rng.i32(1..9));
        if self.chance(2) { format!("(and {} {})", literal(k), self.expr(d)) } else { format!("(or {} {})", literal(-k), self.expr(d)) }
    }

    fn parallel(&mut self, d: u32, how: &str) -> String {
        let count = self.rng.usize(1..4);
        let names = self.scope.names(&mut self.rng, count);
        let values: Vec<String> = names.iter().map(|_| self.expr(d)).collect();
        let mark = self.scope.mark();
        names.iter().for_each(|n| self.scope.bind(n, Entry::Value(Sort::Number)));
        let body = self.expr(d);
        self.scope.release(mark);
        if how == "lambda" {
            return format!("((lambda ({}) {body}) {})", names.join(" "), values.join(" "));
        }
        let bindings: Vec<String> = names.iter().zip(&values).map(|(n, v)| format!("({n} {v})")).collect();
        format!("(let ({}) {body})", bindings.join(" "))
    }

    fn sequential(&mut self, d: u32) -> String {
        let count = self.rng.usize(1..4);
        let names = self.scope.names(&mut self.rng, count);
        let mark = self.scope.mark();
        let mut bindings = Vec::new();
        for n in &names {
            bindings.push(format!("({n} {})", self.expr(d)));
            self.scope.bind(n, Entry::Value(Sort::Number));
        }
        let body = self.expr(d);
        self.scope.release(mark);
        format!("(let* ({}) {body})", bindings.join(" "))
    }

    /// The text of `write` at the weight of a loop body.
    fn weighted<R>(&mut self, rounds: u32, write: impl FnOnce(&mut Writer) -> R) -> R {
        let weight = self.budget.weight;
        self.budget.weight *= f64::from(rounds);
        let result = write(self);
        self.budget.weight = weight;
        result
    }

    fn named_let(&mut self, d: u32) -> String {
        let wanted = self.rng.u32(1..12);
        let rounds = self.budget.rounds(wanted);
        let name = self.scope.fresh("go");
        let (i, acc) = (self.scope.fresh("i"), self.scope.names(&mut self.rng, 1).remove(0));
        let start = self.expr(d);
        let mark = self.scope.mark();
        self.scope.bind(&name, Entry::Hidden);
        self.scope.bind(&i, Entry::Value(Sort::Index));
        self.scope.bind(&acc, Entry::Value(Sort::Number));
        let base = self.expr(d);
        let step = self.weighted(rounds, |w| w.expr(d));
        self.scope.release(mark);
        let next = if self.chance(2) {
            format!("({name} (- {i} 1.0) {step})")
        } else {
            let op = self.pick(&["+", "-"]);
            format!("({op} {step} ({name} (- {i} 1.0) {acc}))")
        };
        format!("(let {name} (({i} {}) ({acc} {start})) (if (<= {i} 0.0) {base} {next}))", literal(f64::from(rounds)))
    }

    fn letrec(&mut self, d: u32) -> String {
        let mark = self.scope.mark();
        let star = if self.chance(2) { "*" } else { "" };
        let bindings = self.mutual(d);
        let bindings: Vec<String> = bindings.into_iter().map(|(n, params, body)| format!("({n} (lambda ({params}) {body}))")).collect();
        let body = self.expr(d);
        self.scope.release(mark);
        format!("(letrec{star} ({}) {body})", bindings.join(" "))
    }

    /// Functions that call each other in turn: names, parameters and bodies. Left in scope, callable with a bounded count.
    fn mutual(&mut self, d: u32) -> Vec<(String, String, String)> {
        let count = self.rng.usize(1..4);
        let wanted = self.rng.u32(2..14);
        let rounds = self.budget.rounds(wanted);
        let before = self.budget.cost;
        let names: Vec<String> = (0..count).map(|_| self.scope.fresh("f")).collect();
        let mut out = Vec::new();
        for (k, name) in names.iter().enumerate() {
            let next = &names[(k + 1) % count];
            let (i, acc) = (self.scope.fresh("i"), self.scope.names(&mut self.rng, 1).remove(0));
            let mark = self.scope.mark();
            names.iter().for_each(|n| self.scope.bind(n, Entry::Hidden));
            self.scope.bind(&i, Entry::Value(Sort::Index));
            self.scope.bind(&acc, Entry::Value(Sort::Number));
            let base = self.expr(d);
            let step = self.weighted(rounds, |w| w.expr(d));
            self.scope.release(mark);
            let more = match self.rng.u32(..4) {
                0 => format!("(+ {step} ({next} (- {i} 1.0) {acc}))"),
                1 if rounds <= 8 => format!("(- ({next} (- {i} 1.0) {acc}) ({name} (- {i} 2.0) {step}))"),
                _ => format!("({next} (- {i} 1.0) {step})"),
            };
            out.push((name.clone(), format!("{i} {acc}"), format!("(if (< {i} 1.0) {base} {more})")));
        }
        let cost = (self.budget.cost - before) / self.budget.weight * if rounds <= 8 { 8.0 } else { 1.0 };
        self.scope.bind(&names[0], Entry::Function(vec![Sort::Rounds(rounds), Sort::Number], Sort::Number, cost));
        out
    }

    fn call(&mut self, d: u32) -> String {
        let dearest = self.budget.dearest();
        let functions = self.scope.functions(&Sort::Number, dearest);
        if functions.is_empty() {
            return self.expr(d);
        }
        let (name, params, cost) = functions[self.rng.usize(..functions.len())].clone();
        self.budget.spend(cost);
        let mut text = format!("({name}");
        for sort in params {
            text += " ";
            text += &match sort {
                Sort::Rounds(most) => literal(f64::from(self.rng.u32(0..=most))),
                Sort::Number | Sort::Index => self.expr(d),
            };
        }
        text + ")"
    }

    /// Definitions, then an expression.
    fn body(&mut self, most: usize, depth: u32, between: &str) -> String {
        let mark = self.scope.mark();
        let count = if most == 0 { 0 } else { self.rng.usize(0..=most) };
        let names = self.scope.names(&mut self.rng, count);
        names.iter().for_each(|n| self.scope.bind(n, Entry::Hidden));
        let mut text = String::new();
        for name in &names {
            match self.rng.u32(..5) {
                0..=1 => {
                    let value = self.expr(depth.min(3));
                    text += &format!("(define {name} {value}){between}");
                    self.scope.bind(name, Entry::Value(Sort::Number));
                }
                2..=3 => {
                    let arity = self.rng.usize(0..4);
                    let params = self.scope.names(&mut self.rng, arity);
                    let inner = self.scope.mark();
                    let (cost, weight) = (self.budget.cost, self.budget.weight);
                    params.iter().for_each(|p| self.scope.bind(p, Entry::Value(Sort::Number)));
                    let nested = if depth > 3 { 2 } else { 0 };
                    let body = self.body(nested, depth.min(3), " ");
                    self.scope.release(inner);
                    text += &if self.chance(3) && nested == 0 {
                        format!("(define {name} (lambda ({}) {body})){between}", params.join(" "))
                    } else {
                        format!("(define ({}) {body}){between}", [std::slice::from_ref(name), &params].concat().join(" "))
                    };
                    let cost = (self.budget.cost - cost) / weight + 1.0;
                    self.scope.bind(name, Entry::Function(vec![Sort::Number; arity], Sort::Number, cost));
                }
                _ => {
                    let functions = self.mutual(depth.min(3));
                    for (n, params, body) in functions {
                        text += &format!("(define ({n} {params}) {body}){between}");
                    }
                }
            }
        }
        text += &self.expr(depth);
        self.scope.release(mark);
        text
    }
}
