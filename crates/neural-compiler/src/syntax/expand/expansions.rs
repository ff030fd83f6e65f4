//! What each form of `syntax/forms.rs` becomes: choices, bindings and loops. In: a form as written; out: an expression of the few kinds the
//! AST has.

use super::definitions::Definition;
use super::{Bindings, Expander, Meaning, NOWHERE, Place};
use crate::diagnostic::Diagnostic;
use crate::ops;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Fun, FunId};
use crate::syntax::forms::{self, Form, Written};
use crate::syntax::lexer::excerpt;
use crate::syntax::reader::{DatumId, Symbol};

/// Names and values of a form that binds.
type Pairs = Vec<(DatumId, DatumId)>;

impl Expander<'_> {
    pub(crate) fn if_form(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let Written { args, span, form } = written;
        let [c, t, e] = *args else {
            let message = format!("`if` takes a test and two branches, got {}", ops::count(args.len(), "argument"));
            let help = format!("every value needs an alternative: {}", form.usage);
            return self.error(Diagnostic::error("wrong-arity", span, message).help(help));
        };
        let c = self.expr(c, place.inner());
        let t = self.expr(t, place);
        let e = self.expr(e, place);
        self.push(Expr::If(c, t, e), span)
    }

    /// The derivative by a name: a function of that name, whose definitions `derivatives` brings in once the program is whole.
    pub(crate) fn derivative(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let Written { args, span, form } = written;
        let [value, by] = *args else {
            let message = format!("`d` takes an expression and a name, got {}", ops::count(args.len(), "argument"));
            return self.error(Diagnostic::error("wrong-arity", span, message).help(format!("usage: {}", form.usage)));
        };
        let value = self.expr(value, place.inner());
        let at = self.data.span(by);
        let Some(s) = self.data.symbol(by) else {
            let message = "a derivative is by a name";
            let help = format!("usage: {}; name what it is by: (let ((u …)) (d … u))", form.usage);
            return self.error(Diagnostic::error("bad-form", at, message).help(help));
        };
        let by = self.variable(s, at);
        let Expr::Var(var) = self.ast.expr(by) else {
            if self.is_constant(s) || self.name(s) == "pi" {
                let message = format!("`{}` is a constant, and nothing changes with it", excerpt(self.name(s)));
                return self.error(Diagnostic::error("bad-form", at, message).help(format!("usage: {}", form.usage)));
            }
            // What is wrong with the name has been said.
            return by;
        };
        let from = self.ast.args.len() as u32;
        self.ast.args.push(by);
        let f = FunId(self.ast.funs.len() as u32);
        let name = format!("d/d{}", self.name(s));
        self.ast.funs.push(Fun { name, params: vec![var], body: value, span });
        self.ast.derivatives.push(f);
        self.push(Expr::Derivative(f, (from, from + 1)), span)
    }

    /// The name is a function's only parameter, whose body is 0 at the root.
    pub(crate) fn root(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let Written { args, span, form } = written;
        let [binding, ref body @ ..] = *args else { return self.bad_form(span, form) };
        let data = self.data;
        let Some(&[name, ref starts @ ..]) = data.list(binding).filter(|l| matches!(l.len(), 2 | 3) && !body.is_empty()) else {
            return self.bad_form(span, form);
        };
        if data.symbol(name).is_none() {
            return self.bad_form(data.span(name), form);
        }
        let starts = self.args(starts, place);
        let f = self.new_fun("root", &[name], span);
        self.function(f, &[name], body, span, NOWHERE);
        self.push(Expr::Root(f, starts), span)
    }

    pub(crate) fn let_form(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let Written { args, span, form } = written;
        match *args {
            [name, bindings, ref body @ ..] if self.data.symbol(name).is_some() => self.named_let(name, bindings, body, span, place),
            [bindings, ref body @ ..] => match self.binding_list(bindings, form) {
                Some(pairs) => self.parallel_let(&pairs, body, span, place),
                None => self.push(Expr::Number(0.0), span),
            },
            [] => self.bad_form(span, form),
        }
    }

    pub(crate) fn letrec(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let span = written.span;
        let Some((pairs, body)) = self.bindings_and_body(written) else {
            return self.push(Expr::Number(0.0), span);
        };
        let mut group = Vec::new();
        for (name, value) in pairs {
            let Some(s) = self.binding_name(name) else {
                continue;
            };
            group.push((self.definition_of(s, value), self.data.span(name)));
        }
        let (undo, bindings) = self.bind_group(group, 2);
        let body = self.body(body, span, place, "this letrec");
        self.restore(undo);
        self.wrap_let(bindings, body, span)
    }

    pub(crate) fn nameless_loop(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let span = written.span;
        match self.bindings_and_body(written) {
            Some((pairs, body)) => self.loop_form("loop", None, &pairs, body, span, place),
            None => self.push(Expr::Number(0.0), span),
        }
    }

    pub(crate) fn recur(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let Written { args, span, .. } = written;
        match place {
            Place { current_loop: Some(f), tail: true } => {
                let expected = self.ast.funs[f.0 as usize].params.len();
                if expected != args.len() {
                    let message = format!("this loop has {}, recur got {}", ops::count(expected, "variable"), args.len());
                    return self.error(Diagnostic::error("wrong-arity", span, message).label(self.ast.funs[f.0 as usize].span, "the loop"));
                }
                let args = self.args(args, place);
                self.push(Expr::Call(f, args), span)
            }
            Place { current_loop: Some(f), tail: false } => {
                let at = self.ast.funs[f.0 as usize].span;
                self.error(
                    Diagnostic::error("recur-not-in-tail-position", span, "`recur` must be the last thing its loop does")
                        .label(at, "the loop")
                        .help("carry the pending work in a loop variable, or use a recursive function"),
                )
            }
            Place { current_loop: None, .. } => self.error(Diagnostic::error("recur-outside-loop", span, "`recur` belongs inside a loop")),
        }
    }

    pub(crate) fn misplaced_define(&mut self, written: Written<'_>, _: Place) -> ExprId {
        let message = "a definition stands at the top or at the start of a body";
        self.error(Diagnostic::error("misplaced-define", written.span, message).help("use let inside an expression"))
    }

    pub(crate) fn lambda_as_value(&mut self, written: Written<'_>, _: Place) -> ExprId {
        let message = "a lambda can only be bound to a name or applied at once";
        self.error(Diagnostic::error("lambda-as-value", written.span, message).help("functions are not values: (define (f x) …)"))
    }

    /// The bindings a form starts with and the body behind them.
    fn bindings_and_body<'d>(&mut self, written: Written<'d>) -> Option<(Pairs, &'d [DatumId])> {
        let Some((&bindings, body)) = written.args.split_first() else {
            self.bad_form(written.span, written.form);
            return None;
        };
        Some((self.binding_list(bindings, written.form)?, body))
    }

    fn binding_list(&mut self, d: DatumId, form: &Form) -> Option<Pairs> {
        let Some(items) = self.data.list(d) else {
            self.bad_form(self.data.span(d), form);
            return None;
        };
        let mut pairs = Vec::with_capacity(items.len());
        for &item in items {
            match *self.data.children(item) {
                [name, value] => pairs.push((name, value)),
                _ => {
                    self.error(Diagnostic::error("bad-form", self.data.span(item), "a binding is (name value)"));
                }
            }
        }
        Some(pairs)
    }

    fn binding_name(&mut self, d: DatumId) -> Option<Symbol> {
        let symbol = self.data.symbol(d);
        if symbol.is_none() {
            self.error(Diagnostic::error("bad-form", self.data.span(d), "a binding starts with a name"));
        }
        symbol
    }

    pub(super) fn parallel_let(&mut self, pairs: &[(DatumId, DatumId)], body: &[DatumId], span: Span, place: Place) -> ExprId {
        let mut bindings = Vec::new();
        let mut meanings = Vec::new();
        for &(name, value) in pairs {
            let Some(s) = self.binding_name(name) else {
                continue;
            };
            let meaning = self.let_binding(s, value, place, &mut bindings);
            meanings.push((s, self.data.span(name), meaning));
        }
        let names: Vec<(Symbol, Span)> = meanings.iter().map(|&(s, span, _)| (s, span)).collect();
        self.check_unique(&names);
        let mut undo = Vec::new();
        for (s, _, meaning) in meanings {
            let old = self.bind(s, meaning);
            undo.push((s, old));
        }
        let body = self.body(body, span, place, "this let");
        self.restore(undo);
        self.wrap_let(bindings, body, span)
    }

    /// Expands one binding's value where its name is not yet visible.
    fn let_binding(&mut self, s: Symbol, value: DatumId, place: Place, bindings: &mut Bindings) -> Meaning {
        match self.definition_of(s, value) {
            Definition::Value(s, value) => {
                let value = self.expr(value, place.inner());
                let var = self.new_var(self.name(s));
                bindings.push((var, value));
                Meaning::Var(var)
            }
            Definition::Function(_, f, params, whole) => {
                let body = self.data.children(whole)[2..].to_vec();
                self.function(f, &params, &body, self.data.span(whole), NOWHERE);
                Meaning::Fun(f)
            }
        }
    }

    pub(crate) fn sequential_let(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let span = written.span;
        let Some((pairs, body)) = self.bindings_and_body(written) else {
            return self.push(Expr::Number(0.0), span);
        };
        let (mut undo, mut bindings) = (Vec::new(), Vec::new());
        for (name, value) in pairs {
            let Some(s) = self.binding_name(name) else {
                continue;
            };
            let meaning = self.let_binding(s, value, place, &mut bindings);
            let old = self.bind(s, meaning);
            undo.push((s, old));
        }
        let body = self.body(body, span, place, "this let*");
        self.restore(undo);
        self.wrap_let(bindings, body, span)
    }

    fn named_let(&mut self, name: DatumId, bindings: DatumId, body: &[DatumId], span: Span, place: Place) -> ExprId {
        let s = self.data.symbol(name).expect("checked by the caller");
        let Some(pairs) = self.binding_list(bindings, forms::row("let (named)")) else {
            return self.push(Expr::Number(0.0), span);
        };
        self.loop_form(self.name(s), Some(s), &pairs, body, span, place)
    }

    /// `loop` and named `let`: a function and its first call. `name` is visible in the body of a named `let` only.
    fn loop_form(
        &mut self,
        title: &str,
        name: Option<Symbol>,
        pairs: &[(DatumId, DatumId)],
        body: &[DatumId],
        span: Span,
        place: Place,
    ) -> ExprId {
        let values: Vec<DatumId> = pairs.iter().map(|&(_, v)| v).collect();
        let args = self.args(&values, place);
        let params: Vec<DatumId> = pairs.iter().map(|&(n, _)| n).collect();
        let f = self.new_fun(title, &params, span);
        let old = name.map(|s| (s, self.bind(s, Meaning::Fun(f))));
        let inside = if name.is_none() { Place { current_loop: Some(f), tail: true } } else { NOWHERE };
        self.function(f, &params, body, span, inside);
        if let Some((s, old)) = old {
            self.restore(vec![(s, old)]);
        }
        // Names that were no symbols have been reported; the call must match what is left.
        let arity = self.ast.funs[f.0 as usize].params.len() as u32;
        self.push(Expr::Call(f, (args.0, args.0 + arity.min(args.1 - args.0))), span)
    }

    pub(crate) fn cond(&mut self, written: Written<'_>, place: Place) -> ExprId {
        let Written { args: clauses, span, .. } = written;
        let mut tests: Vec<(ExprId, ExprId, Span)> = Vec::new();
        let mut otherwise = None;
        for (i, &clause) in clauses.iter().enumerate() {
            let at = self.data.span(clause);
            let [test, ref body @ ..] = *self.data.children(clause) else {
                return self.error(Diagnostic::error("bad-form", at, "a cond clause is (test value)"));
            };
            let is_else = self.data.symbol(test).is_some_and(|s| self.name(s) == "else" && self.scope[s.0 as usize].is_none());
            if is_else {
                if i + 1 != clauses.len() {
                    self.error(Diagnostic::error("bad-form", at, "`else` must be the last clause of cond"));
                }
                otherwise = Some(self.body(body, at, place, "this clause"));
            } else if body.is_empty() {
                self.error(Diagnostic::error("bad-form", at, "a cond clause needs a value after its test: (test value)"));
            } else {
                let test = self.expr(test, place.inner());
                let value = self.body(body, at, place, "this clause");
                tests.push((test, value, at));
            }
        }
        let Some(mut result) = otherwise else {
            return self.error(
                Diagnostic::error("missing-else", span, "cond needs an else clause: every input must have a value")
                    .help("end it with (else value)"),
            );
        };
        for (test, value, at) in tests.into_iter().rev() {
            result = self.push(Expr::If(test, value, result), at);
        }
        result
    }

    /// Short-circuit, and like Scheme's they return the deciding value.
    pub(crate) fn and_or(&mut self, written: Written<'_>, place: Place, and: bool) -> ExprId {
        let Written { args, span, .. } = written;
        let Some((&last, rest)) = args.split_last() else {
            return self.push(Expr::Number(and as u8 as f64), span);
        };
        let tests: Vec<ExprId> = rest.iter().map(|&a| self.expr(a, place.inner())).collect();
        let mut result = self.expr(last, place);
        for test in tests.into_iter().rev() {
            let at = self.ast.span(test);
            let var = self.new_var(if and { "and" } else { "or" });
            let (c, v) = (self.push(Expr::Var(var), at), self.push(Expr::Var(var), at));
            let choice = if and { Expr::If(c, result, v) } else { Expr::If(c, v, result) };
            let choice = self.push(choice, span);
            result = self.wrap_let(vec![(var, test)], choice, span);
        }
        result
    }
}
