//! Statements as text. In: functions and a language that has assignments, branches and loops; out: lines of that language.
//!
//! A language says how it writes an operation, a branch, a loop, a call; the walk over statements is here, once for all.
//! Invariant: values a loop carries are set all at once, whatever reads what.

use super::code::{Code, Expr, Function, Statement, Stored, Update, Var};
use super::sides;
use super::spell::bare;
use crate::graph::Type;
use crate::ops::Op;
use crate::shape::Shape;

/// A value with a name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) ty: Type,
}

impl Named {
    pub(super) fn shape(&self) -> Shape {
        self.ty.shape()
    }

    pub(super) fn is_scalar(&self) -> bool {
        self.ty == Type::Value(Shape::Scalar)
    }

    /// How many numbers it has.
    pub(super) fn len(&self) -> usize {
        self.shape().len()
    }

    /// Its number at `i`, of a whole value; a scalar itself.
    pub(super) fn each(&self) -> String {
        if self.is_scalar() { self.text.clone() } else { format!("{}[i]", self.text) }
    }
}

/// Values that an operation on whole values takes.
pub(super) struct Arguments<'a>(pub(super) &'a [Named]);

impl<'a> Arguments<'a> {
    /// One of them; nothing where there are fewer.
    pub(super) fn text(&self, k: usize) -> &'a str {
        self.0.get(k).map_or("", |a| a.text.as_str())
    }

    /// One of them as a list, in a language that writes one in brackets.
    pub(super) fn list(&self, k: usize) -> String {
        if self.0[k].is_scalar() { format!("[{}]", bare(self.text(k))) } else { self.text(k).to_string() }
    }

    /// Rows and columns of one of them.
    pub(super) fn sides(&self, k: usize) -> (usize, usize) {
        self.0.get(k).map_or((1, 1), |a| sides(a.shape()))
    }
}

/// What a walk back over a record calls its place: after the first value it reads.
pub(super) fn walk_name(start: &str, record: &Named, values: &[(Named, bool)], own: Option<&Named>) -> String {
    format!("{start}_{}", values.first().map(|v| &v.0).or(own).unwrap_or(record).text)
}

/// How a language writes things. Lines come without indentation; what ends with `opens` of a block is followed by deeper lines.
pub(super) trait Language {
    /// A constant.
    fn number(&mut self, x: f64) -> String;
    /// An elementwise operation on scalars, as an expression that needs no parentheses around it.
    fn apply(&mut self, op: Op, args: &[String]) -> String;
    /// Makes a variable that is set later.
    fn declare(&mut self, var: &Named) -> Vec<String>;
    /// Makes a variable for a scalar that is never set again.
    fn define(&mut self, var: &Named, value: &str) -> Vec<String>;
    /// Sets a variable.
    fn set(&mut self, var: &Named, value: &str) -> Vec<String>;
    /// Makes a variable for the result of an operation that is not elementwise on scalars.
    fn operation(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> Vec<String>;
    /// What follows a variable that is made and never read.
    fn unused(&self, _: &Named) -> Option<String> {
        None
    }
    /// Opens a block that runs unless a number is 0.
    fn unless_zero(&mut self, test: &str) -> String;
    /// Closes it and opens the one that runs otherwise.
    fn otherwise(&self) -> String {
        "} else {".into()
    }
    /// Closes a block, if that is written.
    fn end(&self) -> Option<String> {
        Some("}".into())
    }
    /// What a block without statements needs.
    fn nothing(&self) -> Option<String> {
        None
    }
    /// Opens a loop: what stands before it, and the line that opens it.
    fn rounds(&mut self, stored: Option<(&Named, bool)>, keeps_records: bool) -> (Vec<String>, String);
    /// What a round begins with: counting, and storing the carried values.
    fn round(&mut self, stored: Option<(&Named, &[Named])>, keeps_records: bool) -> Vec<String>;
    /// What follows the body of a round that is stored: its own record, if it makes one.
    fn keep(&mut self, record: &Named, own: Option<&Named>) -> Vec<String>;
    /// Opens the block that leaves a loop when a number is 0.
    fn if_zero(&mut self, proceed: &str) -> String;
    /// Leaves a loop.
    fn leave(&self) -> String {
        "break;".into()
    }
    /// Opens the walk back over a record: what stands before it, the line that opens it, and what its rounds begin with.
    /// Values that are not read have `false`.
    fn back(&mut self, record: &Named, values: &[(Named, bool)], own: Option<&Named>) -> (Vec<String>, String, Vec<String>);
    /// What a round of a walk back ends with.
    fn back_end(&mut self, record: &Named) -> Vec<String>;
    /// Runs a function on values, setting variables that are there.
    fn call(&mut self, function: usize, args: &[Named], results: &[Named], counted: bool) -> Vec<String>;
    /// Makes a record.
    fn pack(&mut self, to: &Named, args: &[Named]) -> Vec<String>;
    /// Makes a variable for a value of a record.
    fn unpack(&mut self, to: &Named, from: &Named, index: u32) -> Vec<String>;
}

/// Writes the body of a function.
pub(super) struct Printer<'a, L> {
    pub(super) language: &'a mut L,
    function: &'a Function,
    names: Vec<String>,
    /// Which variables are read.
    read: Vec<bool>,
    out: Vec<String>,
    depth: usize,
    indent: &'static str,
    fresh: usize,
}

impl<'a, L: Language> Printer<'a, L> {
    /// For a function whose parameters have these names.
    pub(super) fn new(
        language: &'a mut L,
        function: &'a Function,
        params: &[String],
        indent: &'static str,
        depth: usize,
    ) -> Printer<'a, L> {
        let others = (function.params..function.vars.len()).map(|v| format!("v{v}"));
        let names = params.iter().cloned().chain(others).collect();
        Printer { language, function, names, read: function.read(), out: Vec::new(), depth, indent, fresh: 0 }
    }

    /// The lines so far.
    pub(super) fn finish(self) -> String {
        self.out.concat()
    }

    pub(super) fn line(&mut self, text: &str) {
        self.out.push(format!("{}{text}\n", self.indent.repeat(self.depth)));
    }

    /// What follows is a level deeper.
    pub(super) fn deeper(&mut self) {
        self.depth += 1;
    }

    pub(super) fn lines(&mut self, lines: Vec<String>) {
        lines.iter().for_each(|l| self.line(l));
    }

    fn var(&self, var: Var) -> Named {
        Named { text: self.names[var].clone(), ty: self.function.vars[var] }
    }

    fn vars(&self, vars: &[Var]) -> Vec<Named> {
        vars.iter().map(|&v| self.var(v)).collect()
    }

    /// An expression as text.
    pub(super) fn expr(&mut self, e: &Expr) -> String {
        match e {
            Expr::Var(v) => self.names[*v].clone(),
            Expr::Constant(x) => self.language.number(*x),
            Expr::Apply(op, args) => {
                let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
                self.language.apply(*op, &args)
            }
        }
    }

    /// A value with the text that names it.
    pub(super) fn value(&mut self, e: &Expr) -> Named {
        match e {
            Expr::Var(v) => self.var(*v),
            Expr::Constant(_) | Expr::Apply(..) => Named { text: self.expr(e), ty: Type::Value(Shape::Scalar) },
        }
    }

    fn values(&mut self, es: &[Expr]) -> Vec<Named> {
        es.iter().map(|e| self.value(e)).collect()
    }

    fn block(&mut self, statements: &[Statement]) {
        self.depth += 1;
        let before = self.out.len();
        statements.iter().for_each(|s| self.statement(s));
        if self.out.len() == before
            && let Some(nothing) = self.language.nothing()
        {
            self.line(&nothing);
        }
        self.depth -= 1;
    }

    fn end(&mut self) {
        if let Some(end) = self.language.end() {
            self.line(&end);
        }
    }

    /// Sets variables all at once: what reads one that is set before it is computed first.
    fn updates(&mut self, updates: &[Update]) {
        let mut values: Vec<String> = Vec::new();
        for (k, (var, value)) in updates.iter().enumerate() {
            let mut text = self.expr(value);
            if updates[..k].iter().any(|(earlier, _)| value.reads(*earlier)) {
                self.fresh += 1;
                let kept = Named { text: format!("n{}", self.fresh), ty: self.function.vars[*var] };
                let lines = if kept.is_scalar() {
                    self.language.define(&kept, &text)
                } else {
                    let mut lines = self.language.declare(&kept);
                    lines.extend(self.language.set(&kept, &text));
                    lines
                };
                self.lines(lines);
                text = kept.text;
            }
            values.push(text);
        }
        for ((var, _), value) in updates.iter().zip(values) {
            let lines = self.language.set(&self.var(*var), &value);
            self.lines(lines);
        }
    }

    /// Writes a statement.
    pub(super) fn statement(&mut self, statement: &Statement) {
        crate::deep(|| match statement {
            Statement::Let(var, value) => {
                let text = self.expr(value);
                let lines = self.language.define(&self.var(*var), &text);
                self.lines(lines);
            }
            Statement::Operation { to, op, attribute, args } => {
                let args = self.values(args);
                let mut lines = self.language.operation(&self.var(*to), *op, *attribute, &args);
                if !self.read[*to] {
                    lines.extend(self.language.unused(&self.var(*to)));
                }
                self.lines(lines);
            }
            Statement::Declare(var) => {
                let lines = self.language.declare(&self.var(*var));
                self.lines(lines);
            }
            Statement::Set(var, value) => self.updates(&[(*var, value.clone())]),
            Statement::If { test, yes, no } => {
                let test = self.expr(test);
                let open = self.language.unless_zero(&test);
                self.line(&open);
                self.block(yes);
                let otherwise = self.language.otherwise();
                self.line(&otherwise);
                self.block(no);
                self.end();
            }
            Statement::Loop { body, proceed, leave, next, stored } => self.rounds(body, proceed, leave, next, stored.as_ref()),
            Statement::Back { record, values, own, body, next } => {
                let (record, own) = (self.var(*record), own.filter(|v| self.read[*v]).map(|v| self.var(v)));
                let values: Vec<(Named, bool)> = values.iter().map(|&v| (self.var(v), self.read[v])).collect();
                let (before, open, first) = self.language.back(&record, &values, own.as_ref());
                self.lines(before);
                self.line(&open);
                self.depth += 1;
                self.lines(first);
                body.iter().for_each(|s| self.statement(s));
                self.updates(next);
                let last = self.language.back_end(&record);
                self.lines(last);
                self.depth -= 1;
                self.end();
            }
            Statement::Call { function, args, results, counted } => {
                let (args, results) = (self.values(args), self.vars(results));
                let lines = self.language.call(*function, &args, &results, *counted);
                self.lines(lines);
            }
            Statement::Pack { to, args } => {
                let args = self.values(args);
                let lines = self.language.pack(&self.var(*to), &args);
                self.lines(lines);
            }
            Statement::Unpack { to, from, index } => {
                let lines = self.language.unpack(&self.var(*to), &self.var(*from), *index);
                self.lines(lines);
            }
        })
    }

    fn rounds(&mut self, body: &[Statement], proceed: &Expr, leave: &[Update], next: &[Update], stored: Option<&Stored>) {
        let is_record = |(v, _): &Update| self.function.vars[*v] == Type::Record;
        let keeps_records = stored.is_some() || leave.iter().chain(next).any(is_record);
        let record = stored.map(|s| self.var(s.record));
        let has_own = stored.is_some_and(|s| s.own.is_some());
        let (before, open) = self.language.rounds(record.as_ref().map(|r| (r, has_own)), keeps_records);
        self.lines(before);
        self.line(&open);
        self.depth += 1;
        let values = stored.map(|s| self.vars(&s.values)).unwrap_or_default();
        let first = self.language.round(record.as_ref().map(|r| (r, &values[..])), keeps_records);
        self.lines(first);
        body.iter().for_each(|s| self.statement(s));
        if let (Some(record), Some(stored)) = (&record, stored) {
            let own = stored.own.map(|v| self.var(v));
            let lines = self.language.keep(record, own.as_ref());
            self.lines(lines);
        }
        let proceed = self.expr(proceed);
        let open = self.language.if_zero(&proceed);
        self.line(&open);
        self.depth += 1;
        self.updates(leave);
        let break_out = self.language.leave();
        self.line(&break_out);
        self.depth -= 1;
        self.end();
        self.updates(next);
        self.depth -= 1;
        self.end();
    }

    /// Writes all statements of the function.
    pub(super) fn body(&mut self) {
        let function = self.function;
        function.body.iter().for_each(|s| self.statement(s));
    }
}

/// Whether a program has loops or calls, which a language may want to count.
pub(super) fn counts(code: &Code) -> bool {
    fn any(statements: &[Statement]) -> bool {
        crate::deep(|| {
            statements.iter().any(|s| match s {
                Statement::Loop { .. } | Statement::Back { .. } | Statement::Call { .. } => true,
                Statement::If { yes, no, .. } => any(yes) || any(no),
                Statement::Let(..)
                | Statement::Operation { .. }
                | Statement::Declare(_)
                | Statement::Set(..)
                | Statement::Pack { .. }
                | Statement::Unpack { .. } => false,
            })
        })
    }
    code.functions.iter().any(|f| any(&f.body))
}

/// The functions a program calls, each behind the line that opens it, with what it returns.
pub(super) fn called<L: Language>(
    code: &Code,
    language: &mut L,
    open: impl Fn(usize, &str) -> String,
    returns: impl Fn(&[String]) -> String,
    end: &str,
) -> String {
    let mut out = String::new();
    for (k, function) in code.functions.iter().enumerate().skip(1) {
        let params: Vec<String> = (0..function.params).map(|p| format!("p{p}")).collect();
        out += &open(k, &params.join(", "));
        let mut printer = Printer::new(language, function, &params, "    ", 1);
        printer.body();
        let results: Vec<String> = function.results.iter().map(|r| bare(&printer.expr(r)).to_string()).collect();
        printer.line(&format!("return {}", returns(&results)));
        out += &printer.finish();
        out += end;
    }
    out
}
