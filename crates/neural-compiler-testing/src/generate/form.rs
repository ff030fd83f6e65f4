//! Forms: bindings, choices, loops, recursion and calls, each giving a value of the shape asked for.

use super::scope::Entry;
use super::typed::{SCALAR, Sort, Writer};
use neural_compiler::Shape;

impl Writer {
    pub(crate) fn form(&mut self, shape: Shape, d: u32) -> String {
        match self.rng.u32(..20) {
            0..=3 => format!("(if {} {} {})", self.test(d), self.expr(shape, d), self.expr(shape, d)),
            4 => {
                let n = self.rng.usize(1..4);
                let clauses: String = (0..n).map(|_| format!(" ({} {})", self.test(d), self.expr(shape, d))).collect();
                format!("(cond{clauses} (else {}))", self.expr(shape, d))
            }
            5 if shape == SCALAR => {
                let (op, n) = (self.pick(&["and", "or"]), self.rng.usize(1..4));
                let args: String = (0..n).map(|_| format!(" {}", self.expr(SCALAR, d))).collect();
                format!("({op}{args})")
            }
            5..=7 => self.bindings(shape, d),
            8..=9 => self.sequential(shape, d),
            10..=12 => self.loop_form(shape, d),
            13 => self.letrec(shape, d),
            14 => {
                let mark = self.scope.mark();
                let sort = self.shape();
                let (name, value) = (self.scope.names(&mut self.rng, 1).remove(0), self.expr(sort, d));
                self.scope.bind(&name, Entry::Value(Sort::Value(sort)));
                let body = self.body(shape, 2, d, " ");
                self.scope.release(mark);
                format!("(let (({name} {value})) {body})")
            }
            15 if !self.polymorphic.is_empty() => {
                let name = self.polymorphic[self.rng.usize(..self.polymorphic.len())].clone();
                format!("({name} {})", self.expr(shape, d))
            }
            _ => self.call(shape, d),
        }
    }

    fn bindings(&mut self, shape: Shape, d: u32) -> String {
        let count = self.rng.usize(1..4);
        let names = self.scope.names(&mut self.rng, count);
        let sorts: Vec<Shape> = names.iter().map(|_| self.shape()).collect();
        let values: Vec<String> = sorts.iter().map(|&s| self.expr(s, d)).collect();
        let mark = self.scope.mark();
        names.iter().zip(&sorts).for_each(|(n, &s)| self.scope.bind(n, Entry::Value(Sort::Value(s))));
        let body = self.expr(shape, d);
        self.scope.release(mark);
        if self.chance(4) {
            return format!("((lambda ({}) {body}) {})", names.join(" "), values.join(" "));
        }
        let bindings: Vec<String> = names.iter().zip(&values).map(|(n, v)| format!("({n} {v})")).collect();
        format!("(let ({}) {body})", bindings.join(" "))
    }

    fn sequential(&mut self, shape: Shape, d: u32) -> String {
        let count = self.rng.usize(1..4);
        let names = self.scope.names(&mut self.rng, count);
        let mark = self.scope.mark();
        let mut bindings = Vec::new();
        for n in &names {
            let sort = self.shape();
            bindings.push(format!("({n} {})", self.expr(sort, d)));
            self.scope.bind(n, Entry::Value(Sort::Value(sort)));
        }
        let body = self.expr(shape, d);
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

    /// `loop`/`recur` or named `let`, with one or two carried values besides the index; sometimes left early.
    fn loop_form(&mut self, shape: Shape, d: u32) -> String {
        let wanted = self.rng.u32(1..7);
        let rounds = self.budget.rounds(wanted);
        let i = self.scope.fresh("i");
        let count = self.rng.usize(1..3);
        let names = self.scope.names(&mut self.rng, count);
        let mut sorts = vec![shape];
        if count == 2 {
            sorts.push(self.shape());
        }
        let starts: Vec<String> = sorts.iter().map(|&s| self.expr(s, d)).collect();
        let mark = self.scope.mark();
        let named = self.chance(2);
        let go = if named { self.scope.fresh("go") } else { "recur".to_string() };
        self.scope.bind(&i, Entry::Value(Sort::Index));
        names.iter().zip(&sorts).for_each(|(n, &s)| self.scope.bind(n, Entry::Value(Sort::Value(s))));
        let steps: Vec<String> = self.weighted(rounds, |w| sorts.iter().map(|&s| w.tame(s, d)).collect());
        let early = if self.chance(3) { Some(self.weighted(rounds, |w| w.test(d.min(1)))) } else { None };
        let last = if self.chance(2) { names[0].clone() } else { self.expr(shape, d) };
        self.scope.release(mark);
        let mut bindings = vec![format!("({i} 0)")];
        bindings.extend(names.iter().zip(&starts).map(|(n, v)| format!("({n} {v})")));
        let head = if named { format!("let {go}") } else { "loop".into() };
        let done = format!("(>= {i} {rounds})");
        let done = early.map_or(done.clone(), |e| format!("(or {done} {e})"));
        let next = format!("({go} (+ {i} 1) {})", steps.join(" "));
        format!("({head} ({}) (if {done} {last} {next}))", bindings.join(" "))
    }

    fn letrec(&mut self, shape: Shape, d: u32) -> String {
        let mark = self.scope.mark();
        let star = if self.chance(2) { "*" } else { "" };
        let sort = self.shape();
        let functions = self.mutual(sort, d);
        let bindings: Vec<String> = functions.into_iter().map(|(n, params, body)| format!("({n} (lambda ({params}) {body}))")).collect();
        let body = self.expr(shape, d);
        self.scope.release(mark);
        format!("(letrec{star} ({}) {body})", bindings.join(" "))
    }

    /// Functions that call each other in turn, in tail position or not: names, parameters, bodies. The first stays in scope,
    /// callable with so many rounds at most.
    pub(crate) fn mutual(&mut self, sort: Shape, d: u32) -> Vec<(String, String, String)> {
        let count = self.rng.usize(1..4);
        let wanted = self.rng.u32(1..7);
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
            self.scope.bind(&acc, Entry::Value(Sort::Value(sort)));
            let base = self.expr(sort, d);
            let step = self.weighted(rounds, |w| w.tame(sort, d));
            self.scope.release(mark);
            let more = match self.rng.u32(..4) {
                0 => format!("(+ {step} (* 0.5 ({next} (- {i} 1) {acc})))"),
                1 if self.budget.weight < 30.0 => format!("(sin (- ({next} (- {i} 1) {acc}) ({name} (- {i} 2) {step})))"),
                _ => format!("({next} (- {i} 1) {step})"),
            };
            out.push((name.clone(), format!("{i} {acc}"), format!("(if (< {i} 1) {base} {more})")));
        }
        let cost = (self.budget.cost - before) / self.budget.weight * 8.0;
        self.scope.bind(&names[0], Entry::Function(vec![Sort::Rounds(rounds), Sort::Value(sort)], Sort::Value(sort), cost));
        out
    }

    fn call(&mut self, shape: Shape, d: u32) -> String {
        let dearest = self.budget.dearest();
        let functions = self.scope.functions(&Sort::Value(shape), dearest);
        if functions.is_empty() {
            return self.operation(shape, d);
        }
        let (name, params, cost) = functions[self.rng.usize(..functions.len())].clone();
        self.budget.spend(cost);
        let mut text = format!("({name}");
        for sort in params {
            text += " ";
            text += &match sort {
                Sort::Rounds(most) => self.rng.u32(0..=most).to_string(),
                Sort::Index => "0".to_string(),
                Sort::Value(s) => self.expr(s, d),
            };
        }
        text + ")"
    }
}
