//! Statements in Python with JAX. In: functions; out: the text of a function that JAX can compile: branches are `lax.cond`, loops
//! `lax.while_loop`.
//! Invariant: what a branch or a round sets is what its function returns; nothing that is read was set only in a block.

use super::number;
use super::operations::{Writer, shape_text};
use super::statements::tuple;
use crate::export::code::{Code, Expr, Function, Statement, Update, Var};
use crate::export::spell::bare;
use crate::export::structured::Named;
use crate::graph::Type;
use crate::shape::Shape;

struct Text<'a, 'w> {
    function: &'a Function,
    names: Vec<String>,
    writer: &'w mut Writer,
    out: String,
    depth: usize,
    blocks: usize,
}

/// The function `value` and those it calls.
pub(super) fn function(code: &Code, names: &[String], writer: &mut Writer) -> String {
    let mut out = String::new();
    for (k, function) in code.functions.iter().enumerate().skip(1) {
        let params: Vec<String> = (0..function.params).map(|p| format!("p{p}")).collect();
        out += &format!("def f_value_{k}({}):\n", params.join(", "));
        out += &body(function, &params, writer, |results| format!("return {}", tuple(&results)));
    }
    out += &format!("def value({}):\n", names.join(", "));
    let main = &code.functions[0];
    for (name, ty) in names.iter().zip(&main.vars) {
        out += &format!("    {name} = np.asarray({name}, real).reshape({})\n", shape_text(ty.shape()));
    }
    let one = main.results.len() == 1;
    out + &body(main, names, writer, |results| {
        let results: Vec<String> = results.iter().map(|r| format!("np.asarray({}, real)", bare(r))).collect();
        format!("return {}", if one { results[0].clone() } else { tuple(&results) })
    })
}

/// The function `gradient`: JAX's own derivative; loops have none in reverse mode.
pub(super) fn gradient(code: &Code, names: &[String]) -> String {
    let all: Vec<String> = (0..names.len()).map(|k| k.to_string()).collect();
    let mode = if crate::export::structured::counts(code) { "jacfwd" } else { "grad" };
    let arguments = names.join(", ");
    format!(
        "def gradient({arguments}):\n    arguments = [np.asarray(x, real) for x in {}]\n    \
         return value(*arguments), jax.{mode}(value, argnums={})(*arguments)\n",
        tuple(names),
        tuple(&all)
    )
}

fn body(function: &Function, names: &[String], writer: &mut Writer, end: impl FnOnce(Vec<String>) -> String) -> String {
    let others = (function.params..function.vars.len()).map(|v| format!("v{v}"));
    let names = names.iter().cloned().chain(others).collect();
    let mut text = Text { function, names, writer, out: String::new(), depth: 1, blocks: 0 };
    text.statements(&function.body);
    let results = function.results.iter().map(|r| text.expr(r)).collect();
    text.line(&end(results));
    text.out + "\n\n"
}

impl Text<'_, '_> {
    fn line(&mut self, line: &str) {
        self.out += &format!("{}{line}\n", "    ".repeat(self.depth));
    }

    fn named(&self, var: Var) -> Named {
        Named { text: self.names[var].clone(), ty: self.function.vars[var] }
    }

    fn expr(&mut self, e: &Expr) -> String {
        match e {
            Expr::Var(v) => self.names[*v].clone(),
            Expr::Constant(x) => format!("real({})", bare(&number(*x))),
            Expr::Apply(op, args) => {
                let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
                self.writer.elementwise(*op, &args).expect("operations without a text are refused before")
            }
        }
    }

    /// The value of a variable as a loop or branch hands it on: always of one type.
    fn typed(&mut self, e: &Expr) -> String {
        format!("np.asarray({}, real)", bare(&self.expr(e)))
    }

    fn statements(&mut self, statements: &[Statement]) {
        crate::deep(|| statements.iter().for_each(|s| self.statement(s)));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Let(var, value) | Statement::Set(var, value) => {
                let value = self.expr(value);
                self.line(&format!("{} = {}", self.names[*var], bare(&value)));
            }
            Statement::Operation { to, op, attribute, args } => {
                let texts: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
                let ty = |e: &Expr| if let Expr::Var(v) = e { self.function.vars[*v] } else { Type::Value(Shape::Scalar) };
                let named: Vec<Named> = args.iter().zip(&texts).map(|(a, t)| Named { text: t.clone(), ty: ty(a) }).collect();
                let to = self.named(*to);
                let value = self.writer.tensor(*op, *attribute, &to, &named).or_else(|| self.writer.elementwise(*op, &texts));
                let line = format!("{} = {}", to.text, bare(&value.expect("operations without a text are refused before")));
                self.line(&line);
            }
            Statement::Declare(_) => {}
            Statement::If { test, yes, no } => self.branch(test, yes, no),
            Statement::Loop { body, proceed, leave, next, .. } => self.rounds(body, proceed, leave, next),
            Statement::Call { function, args, results, .. } => {
                let args: Vec<String> = args.iter().map(|a| bare(&self.expr(a)).to_string()).collect();
                let results: Vec<String> = results.iter().map(|&r| self.names[r].clone()).collect();
                self.line(&format!("{} = f_value_{function}({})", tuple(&results), args.join(", ")));
            }
            Statement::Back { .. } | Statement::Pack { .. } | Statement::Unpack { .. } => {
                unreachable!("values are not stored: derivatives are JAX's own")
            }
        }
    }

    fn branch(&mut self, test: &Expr, yes: &[Statement], no: &[Statement]) {
        let set = crate::export::code::outer_sets(yes);
        if set.is_empty() {
            return;
        }
        self.blocks += 1;
        let k = self.blocks;
        for (name, block) in [("yes", yes), ("no", no)] {
            self.line(&format!("def {name}_{k}():"));
            self.depth += 1;
            self.statements(block);
            let results: Vec<String> = set.iter().map(|&v| self.typed(&Expr::Var(v))).collect();
            self.line(&format!("return {}", tuple(&results)));
            self.depth -= 1;
        }
        let results: Vec<String> = set.iter().map(|&v| self.names[v].clone()).collect();
        let test = self.expr(test);
        self.line(&format!("{} = lax.cond({test} != 0, yes_{k}, no_{k})", tuple(&results)));
    }

    fn rounds(&mut self, body: &[Statement], proceed: &Expr, leave: &[Update], next: &[Update]) {
        self.blocks += 1;
        let k = self.blocks;
        let carried: Vec<String> = next.iter().map(|(v, _)| self.names[*v].clone()).collect();
        let results: Vec<String> = leave.iter().map(|(v, _)| self.names[*v].clone()).collect();
        let all = |first: &str| tuple(&[&[first.to_string()], &carried[..], &results[..]].concat());
        self.line(&format!("def round_{k}(state):"));
        self.depth += 1;
        self.line(&format!("{} = state", all("_")));
        self.statements(body);
        let mut parts = vec![format!("np.asarray({} != 0)", self.expr(proceed))];
        // What is carried on and what is left with: only one of the two counts.
        let after: Vec<Expr> = next.iter().chain(leave).map(|(_, e)| e.clone()).collect();
        parts.extend(after.iter().map(|e| self.typed(e)));
        self.line(&format!("return {}", tuple(&parts)));
        self.depth -= 1;
        let mut start = vec!["np.asarray(True)".to_string()];
        start.extend(next.iter().map(|(v, _)| format!("np.asarray({}, real)", self.names[*v])));
        start.extend(leave.iter().map(|(v, _)| format!("np.zeros({}, real)", shape_text(self.function.vars[*v].shape()))));
        self.line(&format!("{} = lax.while_loop(lambda state: state[0], round_{k}, {})", all("_"), tuple(&start)));
    }
}
