//! Data to AST: recognises forms, resolves names, desugars. In: data of a whole text; out: `Ast` or diagnostics.
//! Invariants: scope comes first (a bound name shadows forms and operations alike, as in Scheme); every mistake is recorded and
//! replaced by a 0 so that several are found in one run.

mod definitions;
mod expansions;
mod products;

use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use crate::ops::{self, Surface};
use crate::source::Span;
use crate::syntax::ast::{Ast, Expr, ExprId, Fun, FunId, Input, InputKind, ModelKind, Part, Var, VarId};
use crate::syntax::forms::{self, Allowed, Expansion, Form, Written};
use crate::syntax::lexer::excerpt;
use crate::syntax::reader::{Data, Datum, DatumId, Symbol};
use crate::syntax::{Syntax, foreign, infix};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a name means where it is used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Meaning {
    Var(VarId),
    Fun(FunId),
    /// A physical constant.
    Number(f64),
}

/// What names meant before a form bound them.
pub(crate) type Undo = Vec<(Symbol, Option<Meaning>)>;

/// Variables and their values, in order.
pub(crate) type Bindings = Vec<(VarId, ExprId)>;

/// What a symbol is when nothing binds it.
#[derive(Clone, Copy)]
enum Builtin {
    Unknown,
    Form(&'static Form),
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

const MOST_ERRORS: usize = 20;

pub(crate) struct Expander<'a> {
    pub(crate) data: &'a Data,
    pub(crate) ast: Ast,
    pub(crate) errors: Vec<Diagnostic>,
    /// Meaning of each symbol here and now.
    scope: Vec<Option<Meaning>>,
    builtins: Vec<Option<Builtin>>,
    /// Where each input is, by name.
    input_places: FxHashMap<String, usize>,
    /// Functions being expanded, outermost first.
    owners: Vec<FunId>,
    /// Names given by the caller: when present, other free names are errors.
    closed: bool,
    /// Functions of [`QUANTITIES`] that have been called.
    called: Vec<Symbol>,
    /// What the program computes of all that the text defines.
    pub(crate) part: Part,
}

/// Operations and forms whose names are also common names of quantities: not called, and not bound, they are inputs like any other name.
const QUANTITIES: &[&str] = &["beta", "d", "gamma", "root"];

/// Expands a whole text. `inputs`: the names the caller allows, in order; `None` lets every free name be an input.
pub(crate) fn expand(data: &Data, inputs: Option<&[(String, Option<crate::shape::Shape>)]>, part: Part) -> Result<Ast, Diagnostics> {
    let ast = Ast {
        exprs: Vec::with_capacity(data.children_len() + 8),
        args: Vec::with_capacity(data.children_len() + 8),
        bindings: Vec::new(),
        derivatives: Vec::new(),
        vars: Vec::new(),
        funs: vec![Fun { name: "main".into(), params: vec![], body: ExprId(0), span: Span::default() }],
        inputs: Vec::new(),
        kind: ModelKind::Expression,
        time: None,
        observables: Vec::new(),
        loglik: false,
        own_value: true,
        interpolate: Vec::new(),
        events: Vec::new(),
        constants: Vec::new(),
        units: Vec::new(),
    };
    let mut x = Expander {
        data,
        ast,
        errors: Vec::new(),
        scope: vec![None; data.names.len()],
        builtins: vec![None; data.names.len()],
        input_places: FxHashMap::default(),
        owners: vec![FunId(0)],
        closed: inputs.is_some(),
        called: Vec::new(),
        part,
    };
    let mut given = FxHashSet::default();
    for (name, shape) in inputs.unwrap_or(&[]) {
        if !given.insert(name) {
            return Err(Diagnostic::error("duplicate-name", Span::default(), format!("the input `{name}` is given twice")).into());
        }
        let var = x.add_input(Input { name: name.clone(), kind: InputKind::Declared, shape: *shape, span: Span::default() });
        if let Some(symbol) = data.names.find(name) {
            x.scope[symbol.0 as usize] = Some(Meaning::Var(var));
        }
    }
    let body = x.program();
    x.ast.funs[0].body = body;
    if data.syntax == Syntax::Infix && x.errors.is_empty() {
        x.check_products();
    }
    if x.errors.is_empty() { Ok(x.ast) } else { Err(Diagnostics::sorted(x.errors)) }
}

impl<'a> Expander<'a> {
    /// Whether further mistakes would not be reported, so that advice about them, which compares names, is not worth its time.
    fn is_full(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    pub(crate) fn error(&mut self, d: Diagnostic) -> ExprId {
        let span = d.span;
        if !self.is_full() {
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
        self.input_places.entry(input.name.clone()).or_insert(self.ast.inputs.len());
        self.ast.inputs.push(input);
        var
    }

    /// Whether a name means something here.
    pub(crate) fn is_bound(&self, s: Symbol) -> bool {
        self.scope[s.0 as usize].is_some()
    }

    /// The input of this name.
    pub(crate) fn input_named(&mut self, name: &str) -> Option<&mut Input> {
        self.input_places.get(name).map(|&i| &mut self.ast.inputs[i])
    }

    /// Whether a name is a function here.
    pub(crate) fn is_function(&self, s: Symbol) -> bool {
        matches!(self.scope[s.0 as usize], Some(Meaning::Fun(_)))
    }

    /// Whether a name is a physical constant here.
    pub(crate) fn is_constant(&self, s: Symbol) -> bool {
        matches!(self.scope[s.0 as usize], Some(Meaning::Number(_)))
    }

    /// Declarations and definitions of a program are one level: a name has one of them.
    fn check_redefinition(&mut self, items: &[DatumId]) {
        for &d in items {
            if !self.is_form(d, Allowed::Definition) {
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

    /// Gives a name another meaning, or none; what it meant before.
    pub(crate) fn rebind(&mut self, s: Symbol, meaning: Option<Meaning>) -> Option<Meaning> {
        std::mem::replace(&mut self.scope[s.0 as usize], meaning)
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
        // Declarations are read at the top only; elsewhere their keywords are names like any other.
        let b = match forms::form(name).filter(|f| !f.is_declaration()) {
            Some(form) => Builtin::Form(form),
            None => ops::surface(name).map_or(Builtin::Unknown, Builtin::Op),
        };
        self.builtins[s.0 as usize] = Some(b);
        b
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
                [] => self.error(
                    Diagnostic::error("empty-form", span, "() means nothing here").help("write a number, a name or (operation argument …)"),
                ),
                [head, ref args @ ..] => match self.data.symbol(head) {
                    Some(s) => self.application(s, head, args, d, place),
                    None if self.is_form(head, Allowed::Function) => self.applied_lambda(head, args, span, place),
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
            Some(Meaning::Number(x)) => {
                if self.ast.constants.iter().all(|c| c.0 != self.name(s)) {
                    let name = self.name(s).to_string();
                    self.ast.constants.push((name, x));
                }
                return self.push(Expr::Number(x), span);
            }
            None => {}
        }
        let name = self.name(s);
        match self.builtin(s) {
            Builtin::Op(_) | Builtin::Form(_) if QUANTITIES.contains(&name) && !self.called.contains(&s) => {}
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
        // A name in |bars| is longer in the text by the two of them, and meant.
        let barred = (span.end - span.start) as usize > name.len();
        if let Some(text) = infix::instead_of_name(name).filter(|_| !barred) {
            let message = format!("`{}` would be a name, and looks like arithmetic", excerpt(name));
            let help = format!("did you mean {text}? An input of that name is declared: (input {name})");
            return self.error(Diagnostic::error("infix-arithmetic", span, message).help(help));
        }
        if self.closed {
            if self.is_full() {
                return self.push(Expr::Number(0.0), span);
            }
            let known: Vec<String> = self.visible_names();
            let product = || products::factors(name, |part| known.iter().any(|k| k == part)).map(|p| format!("did you mean {p}?"));
            let product = (self.data.syntax == Syntax::Infix).then(product).flatten();
            let help = product.or_else(|| did_you_mean(name, known.iter().map(String::as_str)));
            return self.error(
                Diagnostic::error("unknown-name", span, format!("`{}` is not an input and not bound here", excerpt(name))).maybe_help(help),
            );
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
            self.error(
                Diagnostic::error("wrong-arity", span, format!("`{}` takes {expected}, got {got}", s.name()))
                    .help(format!("usage: {}", s.usage())),
            );
        }
        let args = self.args(args, place);
        self.push(Expr::Op(s, args), span)
    }

    fn application(&mut self, s: Symbol, head: DatumId, args: &[DatumId], d: DatumId, place: Place) -> ExprId {
        let span = self.data.span(d);
        match self.scope[s.0 as usize] {
            Some(Meaning::Fun(f)) => return self.call(f, args, span, place),
            Some(Meaning::Var(_) | Meaning::Number(_)) => {
                let name = excerpt(self.name(s));
                self.args(args, place);
                return self.error(Diagnostic::error(
                    "not-a-function",
                    self.data.span(head),
                    format!("`{name}` is a value here, not a function"),
                ));
            }
            None => {}
        }
        match self.builtin(s) {
            Builtin::Op(op) => {
                if QUANTITIES.contains(&op.name()) {
                    self.called.push(s);
                }
                self.operation(op, args, span, place)
            }
            Builtin::Form(form) => {
                if QUANTITIES.contains(&form.name) {
                    self.called.push(s);
                }
                self.form(Written { form, args, span }, place)
            }
            Builtin::Unknown if self.is_full() => {
                self.args(args, place);
                self.push(Expr::Number(0.0), span)
            }
            Builtin::Unknown => {
                let name = self.name(s);
                let mut known = self.visible_names();
                known.extend(ops::surface_names().map(String::from));
                known.extend(forms::keywords().map(String::from));
                let infix = || infix::instead_of_name(name).map(|text| format!("did you mean {text}?"));
                let help = foreign::advice(name).or_else(infix).or_else(|| did_you_mean(name, known.iter().map(String::as_str)));
                self.args(args, place);
                let message = format!("there is no function `{}`", excerpt(name));
                let help = help.or_else(|| Some("`neuralc ops` lists the operations; define others with (define (name x) …)".into()));
                self.error(Diagnostic::error("unknown-function", self.data.span(head), message).maybe_help(help))
            }
        }
    }

    fn form(&mut self, written: Written<'_>, place: Place) -> ExprId {
        match written.form.expansion {
            Expansion::Expression(expand) => expand(self, written, place),
            Expansion::Declaration(_) | Expansion::Unnamed => unreachable!("`builtin` finds expressions only"),
        }
    }

    /// The error of a form that is not written as its row says.
    fn bad_form(&mut self, span: Span, form: &Form) -> ExprId {
        self.error(Diagnostic::error("bad-form", span, format!("this form is written {}", form.usage)))
    }

    fn call(&mut self, f: FunId, args: &[DatumId], span: Span, place: Place) -> ExprId {
        let fun = &self.ast.funs[f.0 as usize];
        if fun.params.len() != args.len() {
            let params: Vec<&str> = fun.params.iter().map(|p| self.ast.vars[p.0 as usize].name.as_str()).collect();
            let message =
                format!("`{}` takes {} ({}), got {}", fun.name, ops::count(params.len(), "argument"), params.join(" "), args.len());
            let defined = fun.span;
            self.args(args, place);
            return self.error(Diagnostic::error("wrong-arity", span, message).label(defined, "defined here"));
        }
        let args = self.args(args, place);
        self.push(Expr::Call(f, args), span)
    }

    fn applied_lambda(&mut self, lambda: DatumId, args: &[DatumId], span: Span, place: Place) -> ExprId {
        let [_, params, ref body @ ..] = *self.data.children(lambda) else {
            return self.bad_form(span, forms::row("lambda"));
        };
        let Some(params) = self.data.list(params) else {
            return self.bad_form(span, forms::row("lambda"));
        };
        if params.len() != args.len() {
            let message = format!("this lambda takes {}, got {}", ops::count(params.len(), "argument"), args.len());
            return self.error(Diagnostic::error("wrong-arity", span, message));
        }
        let pairs: Vec<(DatumId, DatumId)> = params.iter().copied().zip(args.iter().copied()).collect();
        self.parallel_let(&pairs, body, span, place)
    }
}
