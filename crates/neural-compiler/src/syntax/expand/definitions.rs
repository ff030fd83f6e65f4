//! Programs, bodies and definitions: what is bound together, in which order, and where it ends. In: data of a body; out: bindings around an
//! expression. Invariant: names bound by a body are restored when it ends.

use super::{Bindings, Builtin, Expander, Meaning, NOWHERE, Place, Undo};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Fun, FunId, Var, VarId};
use crate::syntax::forms::{self, Allowed};
use crate::syntax::lexer::excerpt;
use crate::syntax::reader::{DatumId, Symbol};
use rustc_hash::FxHashMap;

/// One thing a body defines.
pub(super) enum Definition {
    Value(Symbol, DatumId),
    Function(Symbol, FunId, Vec<DatumId>, DatumId),
}

impl Expander<'_> {
    pub(super) fn program(&mut self) -> ExprId {
        let data = self.data;
        let mut rest = Vec::with_capacity(data.top.len());
        let mut model = crate::syntax::declare::Model::default();
        for &d in &data.top {
            if !self.declaration(d, &mut model) {
                rest.push(d);
            }
        }
        self.check_redefinition(&rest);
        let end = data.top.last().map_or(Span::default(), |&d| data.span(d));
        if model.has_steps() {
            return self.model_body(&rest, model, end);
        }
        if let Some(span) = model.event() {
            self.error(
                Diagnostic::error("bad-declaration", span, "events are declared by models with states")
                    .help("a formula that changes at a time is a choice: (if (< t 24) …)"),
            );
        }
        if model.observes() {
            return self.formula_body(&rest, model, end);
        }
        self.no_time(&model);
        self.body(&rest, end, NOWHERE, "the program")
    }

    /// Definitions, then one expression.
    pub(crate) fn body(&mut self, items: &[DatumId], span: Span, place: Place, what: &str) -> ExprId {
        let (definitions, expressions) = self.split_body(items);
        let (undo, bindings) = self.define_all(definitions);
        let value = match expressions[..] {
            [one] => self.expr(one, place),
            [] => self.error(
                Diagnostic::error("missing-expression", span, format!("{what} has no expression to give its value"))
                    .help("end it with the expression to compute"),
            ),
            [first, second, ..] => {
                let (first, second) = (self.data.span(first), self.data.span(second));
                self.error(
                    Diagnostic::error("extra-expression", second, format!("{what} has more than one expression"))
                        .label(first, "this value would be thrown away")
                        .help("there are no side effects: keep one expression, or make a vector of several with [ ]"),
                )
            }
        };
        self.restore(undo);
        self.wrap_let(bindings, value, span)
    }

    pub(crate) fn wrap_let(&mut self, bindings: Bindings, body: ExprId, span: Span) -> ExprId {
        if bindings.is_empty() {
            return body;
        }
        let from = self.ast.bindings.len() as u32;
        self.ast.bindings.extend(bindings);
        let to = self.ast.bindings.len() as u32;
        self.push(Expr::Let((from, to), body), span)
    }

    /// Whether a datum is a form that may stand only here.
    pub(super) fn is_form(&mut self, d: DatumId, allowed: Allowed) -> bool {
        let Some([head, ..]) = self.data.list(d) else {
            return false;
        };
        let Some(s) = self.data.symbol(*head) else {
            return false;
        };
        self.scope[s.0 as usize].is_none() && matches!(self.builtin(s), Builtin::Form(f) if f.allowed == allowed)
    }

    pub(crate) fn split_body(&mut self, items: &[DatumId]) -> (Vec<DatumId>, Vec<DatumId>) {
        let (mut definitions, mut expressions) = (Vec::new(), Vec::new());
        for &d in items {
            if self.is_form(d, Allowed::Definition) {
                if let Some(&before) = expressions.first() {
                    let (at, before) = (self.data.span(d), self.data.span(before));
                    self.error(
                        Diagnostic::error("define-after-expression", at, "definitions come before the expression")
                            .label(before, "the expression"),
                    );
                } else {
                    definitions.push(d);
                }
            } else {
                expressions.push(d);
            }
        }
        (definitions, expressions)
    }

    /// Binds the names of a group of definitions, then expands them: functions see the whole group, values what stands before them.
    pub(crate) fn define_all(&mut self, definitions: Vec<DatumId>) -> (Undo, Bindings) {
        let mut parsed: Vec<(Definition, Span)> = Vec::new();
        for d in definitions {
            let span = self.data.span(d);
            let children = self.data.children(d);
            match *children {
                [_, head, value] if self.data.symbol(head).is_some() => {
                    let name = self.data.symbol(head).expect("checked");
                    parsed.push((self.definition_of(name, value), span));
                }
                [_, head, ref body @ ..] if self.data.list(head).is_some_and(|l| !l.is_empty()) && !body.is_empty() => {
                    let signature = self.data.children(head);
                    let Some(name) = self.data.symbol(signature[0]) else {
                        self.error(Diagnostic::error(
                            "bad-form",
                            self.data.span(head),
                            "a function definition starts with its name: (define (f x) …)",
                        ));
                        continue;
                    };
                    let params = signature[1..].to_vec();
                    let fun = self.new_fun(self.name(name), &params, span);
                    parsed.push((Definition::Function(name, fun, params, d), span));
                }
                _ => {
                    self.bad_form(span, forms::row("define"));
                }
            }
        }
        self.bind_group(parsed, 2)
    }

    /// A value, or a function when the value is a lambda.
    pub(super) fn definition_of(&mut self, name: Symbol, value: DatumId) -> Definition {
        if self.is_form(value, Allowed::Function) {
            let span = self.data.span(value);
            if let [_, params, _, ..] = *self.data.children(value)
                && self.data.list(params).is_some()
            {
                let params = self.data.children(params).to_vec();
                let fun = self.new_fun(self.name(name), &params, span);
                return Definition::Function(name, fun, params, value);
            }
            self.bad_form(span, forms::row("lambda"));
        }
        Definition::Value(name, value)
    }

    /// A function with its parameters, known before any body that may call it is read.
    pub(crate) fn new_fun(&mut self, title: &str, params: &[DatumId], span: Span) -> FunId {
        let f = FunId(self.ast.funs.len() as u32);
        let names: Vec<Symbol> = params.iter().filter_map(|&p| self.data.symbol(p)).collect();
        let from = self.ast.vars.len() as u32;
        for &s in &names {
            let name = self.name(s).to_string();
            self.ast.vars.push(Var { name, owner: f });
        }
        let params = (from..self.ast.vars.len() as u32).map(VarId).collect();
        self.ast.funs.push(Fun { name: title.to_string(), params, body: ExprId(0), span });
        f
    }

    pub(super) fn bind_group(&mut self, group: Vec<(Definition, Span)>, body_from: usize) -> (Undo, Bindings) {
        let names: Vec<(Symbol, Span)> = group
            .iter()
            .map(|(d, span)| match *d {
                Definition::Value(s, _) | Definition::Function(s, ..) => (s, *span),
            })
            .collect();
        self.check_unique(&names);
        let mut undo = Vec::new();
        let mut vars = FxHashMap::default();
        for (d, _) in &group {
            let (s, meaning) = match *d {
                Definition::Value(s, _) => {
                    let var = self.new_var(self.name(s));
                    vars.insert(s, var);
                    (s, Meaning::Var(var))
                }
                Definition::Function(s, f, ..) => (s, Meaning::Fun(f)),
            };
            let old = self.bind(s, meaning);
            undo.push((s, old));
        }
        let mut bindings = Vec::new();
        for (d, span) in group {
            match d {
                Definition::Value(s, value) => {
                    let value = self.expr(value, NOWHERE);
                    bindings.push((vars[&s], value));
                }
                Definition::Function(_, f, params, whole) => {
                    let body = self.data.children(whole)[body_from..].to_vec();
                    self.function(f, &params, &body, span, NOWHERE);
                }
            }
        }
        (undo, bindings)
    }

    pub(super) fn check_unique(&mut self, names: &[(Symbol, Span)]) {
        let mut seen: FxHashMap<Symbol, Span> = FxHashMap::default();
        for &(s, span) in names {
            if let Some(&first) = seen.get(&s) {
                let name = excerpt(self.name(s));
                self.error(
                    Diagnostic::error("duplicate-name", span, format!("`{name}` is bound twice in one form"))
                        .label(first, "bound here first"),
                );
            } else {
                seen.insert(s, span);
            }
        }
    }

    /// Expands a function's parameters and body into `f`.
    pub(super) fn function(&mut self, f: FunId, params: &[DatumId], body: &[DatumId], span: Span, place: Place) {
        let mut names = Vec::new();
        for &p in params {
            match self.data.symbol(p) {
                Some(s) => names.push((s, self.data.span(p))),
                None => {
                    self.error(Diagnostic::error("bad-form", self.data.span(p), "a parameter is a name"));
                }
            }
        }
        self.check_unique(&names);
        self.owners.push(f);
        let mut undo = Vec::new();
        for (i, &(s, _)) in names.iter().enumerate() {
            let var = self.ast.funs[f.0 as usize].params[i];
            let old = self.bind(s, Meaning::Var(var));
            undo.push((s, old));
        }
        let body = self.body(body, span, place, "this body");
        self.ast.funs[f.0 as usize].body = body;
        self.restore(undo);
        self.owners.pop();
    }
}
