//! Data to AST: recognises forms, resolves names, desugars. In: data of a whole text; out: `Ast` or diagnostics.
//! Invariants: scope comes first (a bound name shadows forms and operations alike, as in Scheme); every mistake is recorded and
//! replaced by a 0 so that several are found in one run.

use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use crate::ops::{self, Surface};
use crate::source::Span;
use crate::syntax::ast::{Ast, Expr, ExprId, Fun, FunId, Input, InputKind, ModelKind, Var, VarId};
use crate::syntax::lexer::excerpt;
use crate::syntax::reader::{Data, Datum, DatumId, Symbol};
use rustc_hash::FxHashMap;

/// What a name means where it is used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Meaning {
    Var(VarId),
    Fun(FunId),
}

/// What names meant before a form bound them.
pub(crate) type Undo = Vec<(Symbol, Option<Meaning>)>;

/// Variables and their values, in order.
pub(crate) type Bindings = Vec<(VarId, ExprId)>;

/// Forms, recognised where no binding shadows them.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    Let,
    LetStar,
    Letrec,
    Define,
    Lambda,
    If,
    Cond,
    And,
    Or,
    Loop,
    Recur,
}

const FORMS: &[(&str, Form)] = &[
    ("let", Form::Let),
    ("let*", Form::LetStar),
    ("letrec", Form::Letrec),
    ("letrec*", Form::Letrec),
    ("define", Form::Define),
    ("lambda", Form::Lambda),
    ("if", Form::If),
    ("cond", Form::Cond),
    ("and", Form::And),
    ("or", Form::Or),
    ("loop", Form::Loop),
    ("recur", Form::Recur),
];

/// What a symbol is when nothing binds it.
#[derive(Clone, Copy)]
enum Builtin {
    Unknown,
    Form(Form),
    Op(Surface),
}

/// Whether an expression is in tail position, and of which loop.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The innermost `loop` of this function, if any.
    current_loop: Option<FunId>,
    /// In tail position of that loop.
    tail: bool,
}

pub(crate) const NOWHERE: Place = Place { current_loop: None, tail: false };

impl Place {
    fn inner(self) -> Place {
        Place { tail: false, ..self }
    }
}

/// One thing a body defines.
enum Definition {
    Value(Symbol, DatumId),
    Function(Symbol, FunId, Vec<DatumId>, DatumId),
}

const MOST_ERRORS: usize = 20;

pub(crate) struct Expander<'a> {
    pub(crate) data: &'a Data,
    pub(crate) ast: Ast,
    pub(crate) errors: Vec<Diagnostic>,
    /// Meaning of each symbol here and now.
    scope: Vec<Option<Meaning>>,
    builtins: Vec<Option<Builtin>>,
    /// Functions being expanded, outermost first.
    owners: Vec<FunId>,
    /// Names given by the caller: when present, other free names are errors.
    closed: bool,
}

/// Expands a whole text. `inputs`: the names the caller allows, in order; `None` lets every free name be an input.
pub(crate) fn expand(data: &Data, inputs: Option<&[(String, Option<crate::shape::Shape>)]>) -> Result<Ast, Diagnostics> {
    let ast = Ast {
        exprs: Vec::with_capacity(data.children_len() + 8),
        args: Vec::with_capacity(data.children_len() + 8),
        bindings: Vec::new(),
        vars: Vec::new(),
        funs: vec![Fun { name: "main".into(), params: vec![], body: ExprId(0), span: Span::default() }],
        inputs: Vec::new(),
        kind: ModelKind::Expression,
    };
    let mut x = Expander {
        data,
        ast,
        errors: Vec::new(),
        scope: vec![None; data.names.len()],
        builtins: vec![None; data.names.len()],
        owners: vec![FunId(0)],
        closed: inputs.is_some(),
    };
    for (name, shape) in inputs.unwrap_or(&[]) {
        if x.ast.inputs.iter().any(|i| i.name == *name) {
            return Err(Diagnostic::error("duplicate-name", Span::default(), format!("the input `{name}` is given twice")).into());
        }
        let var = x.add_input(Input { name: name.clone(), kind: InputKind::Declared, shape: *shape, span: Span::default() });
        if let Some(symbol) = data.names.find(name) {
            x.scope[symbol.0 as usize] = Some(Meaning::Var(var));
        }
    }
    let body = x.program();
    x.ast.funs[0].body = body;
    if x.errors.is_empty() { Ok(x.ast) } else { Err(Diagnostics::sorted(x.errors)) }
}

impl<'a> Expander<'a> {
    pub(crate) fn error(&mut self, d: Diagnostic) -> ExprId {
        let span = d.span;
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(d);
        }
        self.push(Expr::Number(0.0), span)
    }

    pub(crate) fn push(&mut self, e: Expr, span: Span) -> ExprId {
        self.ast.exprs.push((e, span));
        ExprId(self.ast.exprs.len() as u32 - 1)
    }

    pub(crate) fn name(&self, s: Symbol) -> &'a str {
        self.data.names.text(s)
    }

    pub(crate) fn new_var(&mut self, name: &str) -> VarId {
        let owner = *self.owners.last().expect("a function");
        self.ast.vars.push(Var { name: name.to_string(), owner });
        VarId(self.ast.vars.len() as u32 - 1)
    }

    /// Adds an input to the program, after those it has.
    pub(crate) fn add_input(&mut self, input: Input) -> VarId {
        self.ast.vars.push(Var { name: input.name.clone(), owner: FunId(0) });
        let var = VarId(self.ast.vars.len() as u32 - 1);
        self.ast.funs[0].params.push(var);
        self.ast.inputs.push(input);
        var
    }

    /// Whether a name means something here.
    pub(crate) fn is_bound(&self, s: Symbol) -> bool {
        self.scope[s.0 as usize].is_some()
    }

    /// Whether a name is a function here.
    pub(crate) fn is_function(&self, s: Symbol) -> bool {
        matches!(self.scope[s.0 as usize], Some(Meaning::Fun(_)))
    }

    /// Declarations and definitions of a program are one level: a name has one of them.
    fn check_redefinition(&mut self, items: &[DatumId]) {
        for &d in items {
            if !self.is_form(d, Form::Define) {
                continue;
            }
            let Some(&head) = self.data.children(d).get(1) else { continue };
            let name = self.data.symbol(head).or_else(|| self.data.children(head).first().and_then(|&h| self.data.symbol(h)));
            if let Some(s) = name.filter(|&s| self.is_bound(s)) {
                let text = excerpt(self.name(s));
                self.error(Diagnostic::error("duplicate-name", self.data.span(head), format!("`{text}` is declared and then defined")));
            }
        }
    }

    pub(crate) fn bind(&mut self, s: Symbol, m: Meaning) -> Option<Meaning> {
        self.scope[s.0 as usize].replace(m)
    }

    pub(crate) fn restore(&mut self, undo: Undo) {
        for (s, old) in undo.into_iter().rev() {
            self.scope[s.0 as usize] = old;
        }
    }

    fn builtin(&mut self, s: Symbol) -> Builtin {
        if let Some(b) = self.builtins[s.0 as usize] {
            return b;
        }
        let name = self.name(s);
        let b = match FORMS.iter().find(|(n, _)| *n == name) {
            Some(&(_, form)) => Builtin::Form(form),
            None => ops::surface(name).map_or(Builtin::Unknown, Builtin::Op),
        };
        self.builtins[s.0 as usize] = Some(b);
        b
    }

    fn program(&mut self) -> ExprId {
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

    fn is_form(&mut self, d: DatumId, form: Form) -> bool {
        let Some([head, ..]) = self.data.list(d) else {
            return false;
        };
        let Some(s) = self.data.symbol(*head) else {
            return false;
        };
        self.scope[s.0 as usize].is_none() && matches!(self.builtin(s), Builtin::Form(f) if f == form)
    }

    pub(crate) fn split_body(&mut self, items: &[DatumId]) -> (Vec<DatumId>, Vec<DatumId>) {
        let (mut definitions, mut expressions) = (Vec::new(), Vec::new());
        for &d in items {
            if self.is_form(d, Form::Define) {
                if let Some(&before) = expressions.first() {
                    let (at, before) = (self.data.span(d), self.data.span(before));
                    self.error(Diagnostic::error("define-after-expression", at, "definitions come before the expression").label(before, "the expression"));
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
                        self.error(Diagnostic::error("bad-form", self.data.span(head), "a function definition starts with its name: (define (f x) …)"));
                        continue;
                    };
                    let params = signature[1..].to_vec();
                    let fun = self.new_fun(self.name(name), &params, span);
                    parsed.push((Definition::Function(name, fun, params, d), span));
                }
                _ => {
                    self.error(Diagnostic::error("bad-form", span, "a definition is (define name value) or (define (name parameter …) body)"));
                }
            }
        }
        self.bind_group(parsed, 2)
    }

    /// A value, or a function when the value is a lambda.
    fn definition_of(&mut self, name: Symbol, value: DatumId) -> Definition {
        if self.is_form(value, Form::Lambda) {
            let span = self.data.span(value);
            if let [_, params, _, ..] = *self.data.children(value)
                && self.data.list(params).is_some()
            {
                let params = self.data.children(params).to_vec();
                let fun = self.new_fun(self.name(name), &params, span);
                return Definition::Function(name, fun, params, value);
            }
            self.error(Diagnostic::error("bad-form", span, "a lambda is (lambda (parameter …) body)"));
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

    fn bind_group(&mut self, group: Vec<(Definition, Span)>, body_from: usize) -> (Undo, Bindings) {
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

    fn check_unique(&mut self, names: &[(Symbol, Span)]) {
        let mut seen: FxHashMap<Symbol, Span> = FxHashMap::default();
        for &(s, span) in names {
            if let Some(&first) = seen.get(&s) {
                let name = excerpt(self.name(s));
                self.error(Diagnostic::error("duplicate-name", span, format!("`{name}` is bound twice in one form")).label(first, "bound here first"));
            } else {
                seen.insert(s, span);
            }
        }
    }

    /// Expands a function's parameters and body into `f`.
    fn function(&mut self, f: FunId, params: &[DatumId], body: &[DatumId], span: Span, place: Place) {
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

    pub(crate) fn expr(&mut self, d: DatumId, place: Place) -> ExprId {
        crate::deep(|| self.expr_here(d, place))
    }

    fn expr_here(&mut self, d: DatumId, place: Place) -> ExprId {
        let span = self.data.span(d);
        match self.data.get(d) {
            Datum::Number(x) => self.push(Expr::Number(x), span),
            Datum::Symbol(s) => self.variable(s, span),
            Datum::Bracket(..) => {
                let vec = ops::surface("vec").expect("vec is an operation");
                self.operation(vec, self.data.children(d), span, place)
            }
            Datum::List(..) => match *self.data.children(d) {
                [] => self.error(Diagnostic::error("empty-form", span, "() means nothing here").help("write a number, a name or (operation argument …)")),
                [head, ref args @ ..] => match self.data.symbol(head) {
                    Some(s) => self.application(s, head, args, d, place),
                    None if self.is_form(head, Form::Lambda) => self.applied_lambda(head, args, span, place),
                    None => self.error(
                        Diagnostic::error("not-a-function", self.data.span(head), "only a named function or operation can be called")
                            .help("functions are not values: name it with define or letrec"),
                    ),
                },
            },
        }
    }

    fn variable(&mut self, s: Symbol, span: Span) -> ExprId {
        match self.scope[s.0 as usize] {
            Some(Meaning::Var(v)) => return self.push(Expr::Var(v), span),
            Some(Meaning::Fun(_)) => return self.function_as_value(s, span),
            None => {}
        }
        let name = self.name(s);
        match self.builtin(s) {
            Builtin::Op(_) if name == "pi" => unreachable!("pi is a constant, not an operation"),
            Builtin::Op(_) | Builtin::Form(_) => return self.function_as_value(s, span),
            Builtin::Unknown => {}
        }
        if name == "pi" {
            return self.push(Expr::Number(std::f64::consts::PI), span);
        }
        if let Some(keyword) = name.strip_prefix(':') {
            return self.error(Diagnostic::error("bad-form", span, format!("the option `:{}` has no place here", excerpt(keyword))));
        }
        if name == "else" {
            return self.error(Diagnostic::error("bad-form", span, "`else` belongs in the last clause of cond"));
        }
        if self.closed {
            let known: Vec<String> = self.visible_names();
            let help = did_you_mean(name, known.iter().map(String::as_str));
            return self.error(Diagnostic::error("unknown-name", span, format!("`{}` is not an input and not bound here", excerpt(name))).maybe_help(help));
        }
        let var = self.add_input(Input { name: name.to_string(), kind: InputKind::Free, shape: None, span });
        self.scope_at_top(s, var);
        self.push(Expr::Var(var), span)
    }

    /// A free name means the same input wherever it is free, so it is bound for good. Nothing binds it here, so no inner
    /// binding is overwritten, and undoing an enclosing form restores only the names that form binds.
    fn scope_at_top(&mut self, s: Symbol, var: VarId) {
        self.scope[s.0 as usize] = Some(Meaning::Var(var));
    }

    fn function_as_value(&mut self, s: Symbol, span: Span) -> ExprId {
        let name = excerpt(self.name(s));
        self.error(
            Diagnostic::error("function-as-value", span, format!("`{name}` is a function here, and functions are not values"))
                .help(format!("call it: ({name} …), or declare `{name}` as an input if it is a quantity")),
        )
    }

    fn visible_names(&self) -> Vec<String> {
        self.scope.iter().enumerate().filter(|(_, m)| m.is_some()).map(|(i, _)| self.name(Symbol(i as u32)).to_string()).collect()
    }

    fn args(&mut self, args: &[DatumId], place: Place) -> (u32, u32) {
        let ids: Vec<ExprId> = args.iter().map(|&a| self.expr(a, place.inner())).collect();
        let from = self.ast.args.len() as u32;
        self.ast.args.extend(ids);
        (from, self.ast.args.len() as u32)
    }

    fn operation(&mut self, s: Surface, args: &[DatumId], span: Span, place: Place) -> ExprId {
        if let Err(expected) = s.check_arity(args.len()) {
            let got = args.len();
            self.error(Diagnostic::error("wrong-arity", span, format!("`{}` takes {expected}, got {got}", s.name())).help(format!("usage: {}", s.usage())));
        }
        let args = self.args(args, place);
        self.push(Expr::Op(s, args), span)
    }

    fn application(&mut self, s: Symbol, head: DatumId, args: &[DatumId], d: DatumId, place: Place) -> ExprId {
        let span = self.data.span(d);
        match self.scope[s.0 as usize] {
            Some(Meaning::Fun(f)) => return self.call(f, args, span, place),
            Some(Meaning::Var(_)) => {
                let name = excerpt(self.name(s));
                self.args(args, place);
                return self.error(Diagnostic::error("not-a-function", self.data.span(head), format!("`{name}` is a value here, not a function")));
            }
            None => {}
        }
        match self.builtin(s) {
            Builtin::Op(op) => self.operation(op, args, span, place),
            Builtin::Form(form) => self.form(form, args, d, place),
            Builtin::Unknown => {
                let name = self.name(s);
                let mut known = self.visible_names();
                known.extend(ops::surface_names().map(String::from));
                known.extend(FORMS.iter().map(|(n, _)| n.to_string()));
                let help = did_you_mean(name, known.iter().map(String::as_str));
                self.args(args, place);
                let message = format!("there is no function `{}`", excerpt(name));
                let help = help.or_else(|| Some("`neuralc ops` lists the operations; define others with (define (name x) …)".into()));
                self.error(Diagnostic::error("unknown-function", self.data.span(head), message).maybe_help(help))
            }
        }
    }

    fn call(&mut self, f: FunId, args: &[DatumId], span: Span, place: Place) -> ExprId {
        let fun = &self.ast.funs[f.0 as usize];
        if fun.params.len() != args.len() {
            let params: Vec<&str> = fun.params.iter().map(|p| self.ast.vars[p.0 as usize].name.as_str()).collect();
            let message = format!("`{}` takes {} ({}), got {}", fun.name, ops::count(params.len(), "argument"), params.join(" "), args.len());
            let defined = fun.span;
            self.args(args, place);
            return self.error(Diagnostic::error("wrong-arity", span, message).label(defined, "defined here"));
        }
        let args = self.args(args, place);
        self.push(Expr::Call(f, args), span)
    }

    fn applied_lambda(&mut self, lambda: DatumId, args: &[DatumId], span: Span, place: Place) -> ExprId {
        let [_, params, ref body @ ..] = *self.data.children(lambda) else {
            return self.error(Diagnostic::error("bad-form", span, "a lambda is (lambda (parameter …) body)"));
        };
        let Some(params) = self.data.list(params) else {
            return self.error(Diagnostic::error("bad-form", span, "a lambda is (lambda (parameter …) body)"));
        };
        if params.len() != args.len() {
            let message = format!("this lambda takes {}, got {}", ops::count(params.len(), "argument"), args.len());
            return self.error(Diagnostic::error("wrong-arity", span, message));
        }
        let pairs: Vec<(DatumId, DatumId)> = params.iter().copied().zip(args.iter().copied()).collect();
        self.parallel_let(&pairs, body, span, place)
    }

    fn form(&mut self, form: Form, args: &[DatumId], d: DatumId, place: Place) -> ExprId {
        let span = self.data.span(d);
        match form {
            Form::If => match *args {
                [c, t, e] => {
                    let c = self.expr(c, place.inner());
                    let t = self.expr(t, place);
                    let e = self.expr(e, place);
                    self.push(Expr::If(c, t, e), span)
                }
                _ => self.error(
                    Diagnostic::error("wrong-arity", span, format!("`if` takes a test and two branches, got {}", ops::count(args.len(), "argument")))
                        .help("every value needs an alternative: (if test consequent alternative)"),
                ),
            },
            Form::Cond => self.cond(args, span, place),
            Form::And => self.and_or(args, span, place, true),
            Form::Or => self.and_or(args, span, place, false),
            Form::Let => match *args {
                [name, bindings, ref body @ ..] if self.data.symbol(name).is_some() => self.named_let(name, bindings, body, span, place),
                [bindings, ref body @ ..] => match self.binding_list(bindings, "let") {
                    Some(pairs) => self.parallel_let(&pairs, body, span, place),
                    None => self.push(Expr::Number(0.0), span),
                },
                [] => self.bad_let(span, "let"),
            },
            Form::LetStar => match *args {
                [bindings, ref body @ ..] => self.sequential_let(bindings, body, span, place),
                [] => self.bad_let(span, "let*"),
            },
            Form::Letrec => match *args {
                [bindings, ref body @ ..] => {
                    let Some(pairs) = self.binding_list(bindings, "letrec") else {
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
                [] => self.bad_let(span, "letrec"),
            },
            Form::Loop => match *args {
                [bindings, ref body @ ..] => {
                    let Some(pairs) = self.binding_list(bindings, "loop") else {
                        return self.push(Expr::Number(0.0), span);
                    };
                    self.loop_form("loop", None, &pairs, body, span, place)
                }
                [] => self.bad_let(span, "loop"),
            },
            Form::Recur => match place {
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
            },
            Form::Define => self.error(
                Diagnostic::error("misplaced-define", span, "a definition stands at the top or at the start of a body").help("use let inside an expression"),
            ),
            Form::Lambda => self.error(
                Diagnostic::error("lambda-as-value", span, "a lambda can only be bound to a name or applied at once")
                    .help("functions are not values: (define (f x) …)"),
            ),
        }
    }

    fn bad_let(&mut self, span: Span, what: &str) -> ExprId {
        self.error(Diagnostic::error("bad-form", span, format!("`{what}` is ({what} ((name value) …) body)")))
    }

    fn binding_list(&mut self, d: DatumId, what: &str) -> Option<Vec<(DatumId, DatumId)>> {
        let Some(items) = self.data.list(d) else {
            self.bad_let(self.data.span(d), what);
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

    fn parallel_let(&mut self, pairs: &[(DatumId, DatumId)], body: &[DatumId], span: Span, place: Place) -> ExprId {
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

    fn sequential_let(&mut self, list: DatumId, body: &[DatumId], span: Span, place: Place) -> ExprId {
        let Some(pairs) = self.binding_list(list, "let*") else {
            return self.push(Expr::Number(0.0), span);
        };
        let (mut undo, mut bindings, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in pairs {
            let Some(s) = self.binding_name(name) else {
                continue;
            };
            names.push((s, self.data.span(name)));
            let meaning = self.let_binding(s, value, place, &mut bindings);
            let old = self.bind(s, meaning);
            undo.push((s, old));
        }
        self.check_unique(&names);
        let body = self.body(body, span, place, "this let*");
        self.restore(undo);
        self.wrap_let(bindings, body, span)
    }

    fn named_let(&mut self, name: DatumId, bindings: DatumId, body: &[DatumId], span: Span, place: Place) -> ExprId {
        let s = self.data.symbol(name).expect("checked by the caller");
        let Some(pairs) = self.binding_list(bindings, "let name") else {
            return self.push(Expr::Number(0.0), span);
        };
        self.loop_form(self.name(s), Some(s), &pairs, body, span, place)
    }

    /// `loop` and named `let`: a function and its first call. `name` is visible in the body of a named `let` only.
    fn loop_form(&mut self, title: &str, name: Option<Symbol>, pairs: &[(DatumId, DatumId)], body: &[DatumId], span: Span, place: Place) -> ExprId {
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

    fn cond(&mut self, clauses: &[DatumId], span: Span, place: Place) -> ExprId {
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
            return self
                .error(Diagnostic::error("missing-else", span, "cond needs an else clause: every input must have a value").help("end it with (else value)"));
        };
        for (test, value, at) in tests.into_iter().rev() {
            result = self.push(Expr::If(test, value, result), at);
        }
        result
    }

    /// Short-circuit, and like Scheme's they return the deciding value.
    fn and_or(&mut self, args: &[DatumId], span: Span, place: Place, and: bool) -> ExprId {
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
