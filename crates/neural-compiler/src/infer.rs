//! Shape inference by unification. In: A-normal form and what is known of the inputs; out: what the program pins of the rest.
//! Invariants: no shape is ever guessed while a constraint could still decide it; a free input that nothing constrains is a
//! scalar; a length nothing pins stays open (the program is shape-polymorphic in it).

use crate::anf::{Anf, Arg, Atom, BlockId, Rhs, Tail};
use crate::diagnostic::Diagnostic;
use crate::ops::Op;
use crate::ops::row::{Len, Pat, ShapeRule, Special};
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::FunId;
use rustc_hash::FxHashMap;

/// A length that may be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Dim {
    Known(u32),
    Var(u32),
}

/// A shape that may be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Term {
    Var(u32),
    Scalar,
    Vector(Dim),
    Matrix(Dim, Dim),
}

impl From<Shape> for Term {
    fn from(s: Shape) -> Term {
        match s {
            Shape::Scalar => Term::Scalar,
            Shape::Vector(n) => Term::Vector(Dim::Known(n)),
            Shape::Matrix(r, c) => Term::Matrix(Dim::Known(r), Dim::Known(c)),
        }
    }
}

/// What a program says about the shape of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputShape {
    /// Everything.
    Known(Shape),
    /// A vector of any length.
    Vector,
    /// A matrix of any size.
    Matrix,
}

impl InputShape {
    /// The shape when it is known.
    pub fn known(self) -> Option<Shape> {
        match self {
            InputShape::Known(s) => Some(s),
            InputShape::Vector | InputShape::Matrix => None,
        }
    }
}

/// An elementwise application that could not yet be decided.
struct Pending {
    args: Vec<Term>,
    out: Term,
    op: Op,
    spans: Vec<Span>,
    span: Span,
}

/// A derivative whose shape could not yet be decided.
struct Slope {
    of: Term,
    by: Term,
    out: Term,
    span: Span,
}

/// A function whose body is being inferred.
struct Active {
    fun: FunId,
    params: Vec<Term>,
    result: Term,
}

/// Inlining stops here: beyond, results are taken as unknown (and decided when the graph is built).
const MOST_STATEMENTS: usize = 200_000;
const MOST_NESTED_CALLS: usize = 200;

pub(crate) struct Solver<'a> {
    anf: &'a Anf,
    shapes: Vec<Option<Term>>,
    dims: Vec<Option<Dim>>,
    pending: Vec<Pending>,
    slopes: Vec<Slope>,
    active: Vec<Active>,
    memo: FxHashMap<(FunId, Vec<Term>), Term>,
    statements: usize,
    pub(crate) errors: Vec<Diagnostic>,
}

impl<'a> Solver<'a> {
    pub(crate) fn new(anf: &'a Anf) -> Solver<'a> {
        Solver {
            anf,
            shapes: vec![],
            dims: vec![],
            pending: vec![],
            slopes: vec![],
            active: vec![],
            memo: FxHashMap::default(),
            statements: 0,
            errors: vec![],
        }
    }

    pub(crate) fn fresh(&mut self) -> Term {
        self.shapes.push(None);
        Term::Var(self.shapes.len() as u32 - 1)
    }

    fn fresh_dim(&mut self) -> Dim {
        self.dims.push(None);
        Dim::Var(self.dims.len() as u32 - 1)
    }

    fn dim(&self, mut d: Dim) -> Dim {
        while let Dim::Var(i) = d {
            match self.dims[i as usize] {
                Some(next) => d = next,
                None => break,
            }
        }
        d
    }

    pub(crate) fn resolve(&self, mut t: Term) -> Term {
        while let Term::Var(i) = t {
            match self.shapes[i as usize] {
                Some(next) => t = next,
                None => return t,
            }
        }
        match t {
            Term::Vector(d) => Term::Vector(self.dim(d)),
            Term::Matrix(r, c) => Term::Matrix(self.dim(r), self.dim(c)),
            Term::Var(_) | Term::Scalar => t,
        }
    }

    /// The shape when everything about it is known; an unconstrained one is a scalar.
    pub(crate) fn settled(&self, t: Term) -> Option<Shape> {
        match self.resolve(t) {
            Term::Var(_) | Term::Scalar => Some(Shape::Scalar),
            Term::Vector(Dim::Known(n)) => Some(Shape::Vector(n)),
            Term::Matrix(Dim::Known(r), Dim::Known(c)) => Some(Shape::Matrix(r, c)),
            Term::Vector(_) | Term::Matrix(..) => None,
        }
    }

    /// Whether nothing at all is known of a shape.
    pub(crate) fn is_open(&self, t: Term) -> bool {
        matches!(self.resolve(t), Term::Var(_))
    }

    pub(crate) fn input_shape(&self, t: Term) -> InputShape {
        match (self.settled(t), self.resolve(t)) {
            (Some(s), _) => InputShape::Known(s),
            (None, Term::Matrix(..)) => InputShape::Matrix,
            (None, _) => InputShape::Vector,
        }
    }

    fn unify_dim(&mut self, a: Dim, b: Dim) -> bool {
        match (self.dim(a), self.dim(b)) {
            (a, b) if a == b => true,
            (Dim::Var(i), d) | (d, Dim::Var(i)) => {
                self.dims[i as usize] = Some(d);
                true
            }
            (Dim::Known(_), Dim::Known(_)) => false,
        }
    }

    pub(crate) fn unify(&mut self, a: Term, b: Term) -> bool {
        match (self.resolve(a), self.resolve(b)) {
            (a, b) if a == b => true,
            (Term::Var(i), t) | (t, Term::Var(i)) => {
                self.shapes[i as usize] = Some(t);
                true
            }
            (Term::Vector(a), Term::Vector(b)) => self.unify_dim(a, b),
            (Term::Matrix(a, b), Term::Matrix(c, d)) => self.unify_dim(a, c) && self.unify_dim(b, d),
            _ => false,
        }
    }

    pub(crate) fn describe(&self, t: Term) -> String {
        let dim = |d: Dim| match self.dim(d) {
            Dim::Known(n) => n.to_string(),
            Dim::Var(_) => "?".into(),
        };
        match self.resolve(t) {
            Term::Var(_) => "value of unknown shape".into(),
            Term::Scalar => "scalar".into(),
            Term::Vector(n) => format!("vector({})", dim(n)),
            Term::Matrix(r, c) => format!("matrix({},{})", dim(r), dim(c)),
        }
    }

    fn misfit(&mut self, op: Op, args: &[Term], spans: &[Span], span: Span) {
        let described: Vec<(String, Span)> = args.iter().map(|&t| self.describe(t)).zip(spans.iter().copied()).collect();
        self.errors.push(misfit_diagnostic(op, &described, span));
    }

    /// Infers a call: the shape of its result.
    pub(crate) fn call(&mut self, f: FunId, args: Vec<Term>) -> Term {
        if let Some(i) = self.active.iter().rposition(|a| a.fun == f) {
            // Recursion is monomorphic: the inner call has the shapes of the outer one.
            let params = self.active[i].params.clone();
            for (p, &a) in params.into_iter().zip(&args) {
                self.unify(p, a);
            }
            return self.active[i].result;
        }
        let key: Vec<Term> = args.iter().map(|&a| self.resolve(a)).collect();
        let concrete = key
            .iter()
            .all(|t| !matches!(t, Term::Var(_) | Term::Vector(Dim::Var(_)) | Term::Matrix(Dim::Var(_), _) | Term::Matrix(_, Dim::Var(_))));
        if concrete && let Some(&result) = self.memo.get(&(f, key.clone())) {
            return result;
        }
        let result = self.fresh();
        if self.statements > MOST_STATEMENTS || self.active.len() > MOST_NESTED_CALLS {
            return result;
        }
        self.active.push(Active { fun: f, params: args.clone(), result });
        let mut env: Vec<Term> = args;
        env.resize(self.anf.fun(f).locals.len(), Term::Scalar);
        let body = self.block(self.anf.fun(f).body, &mut env);
        self.unify(result, body);
        self.active.pop();
        if concrete && self.active.is_empty() {
            self.memo.insert((f, key), result);
        }
        result
    }

    /// Infers the functions of a loop together; returns the shapes of their parameters and of the result.
    pub(crate) fn group(&mut self, members: &[FunId], entry: FunId, args: &[Shape]) -> (Vec<Vec<Term>>, Term) {
        let result = self.fresh();
        let base = self.active.len();
        for &m in members {
            let params = (0..self.anf.fun(m).params).map(|_| self.fresh()).collect();
            self.active.push(Active { fun: m, params, result });
        }
        let at = members.iter().position(|&m| m == entry).expect("the entry is a member");
        for (i, &shape) in args.iter().enumerate() {
            let p = self.active[base + at].params[i];
            self.unify(p, shape.into());
        }
        // The entry first: it pins the shapes the others are entered with.
        let order = std::iter::once(at).chain((0..members.len()).filter(|&i| i != at));
        for i in order {
            let mut env = self.active[base + i].params.clone();
            let fun = self.anf.fun(members[i]);
            env.resize(fun.locals.len(), Term::Scalar);
            let body = self.block(fun.body, &mut env);
            self.unify(result, body);
        }
        self.settle();
        let params = self.active.drain(base..).map(|a| a.params).collect();
        (params, result)
    }

    fn atom(&self, a: Arg, env: &[Term]) -> Term {
        match a.atom {
            Atom::Number(_) => Term::Scalar,
            Atom::Local(l) => env[l.0 as usize],
        }
    }

    fn block(&mut self, id: BlockId, env: &mut Vec<Term>) -> Term {
        crate::deep(|| {
            let anf = self.anf;
            let block = anf.block(id);
            self.statements += block.stmts.len();
            for stmt in &block.stmts {
                let t = match stmt.rhs {
                    Rhs::Op(surface, args) => {
                        let args = anf.args(args);
                        match surface.op(args.len()) {
                            Some(op) => self.application(op, args, env, stmt.span),
                            None => self.fresh(),
                        }
                    }
                    Rhs::Call(f, args) => {
                        let args = anf.args(args).iter().map(|&a| self.atom(a, env)).collect();
                        self.call(f, args)
                    }
                    Rhs::Derivative(f, args) => {
                        let args: Vec<Term> = anf.args(args).iter().map(|&a| self.atom(a, env)).collect();
                        let (by, out) = (args[0], self.fresh());
                        let slope = Slope { of: self.call(f, args), by, out, span: stmt.span };
                        if let Some(undecided) = self.slope(slope) {
                            self.slopes.push(undecided);
                        }
                        out
                    }
                    Rhs::If(c, t, e) => self.choice(c, t, e, env),
                };
                env[stmt.local.0 as usize] = t;
            }
            match block.tail {
                Tail::Return(a) => self.atom(a, env),
                Tail::If(c, t, e) => self.choice(c, t, e, env),
                Tail::Call(f, args, _) => {
                    let args = anf.args(args).iter().map(|&a| self.atom(a, env)).collect();
                    self.call(f, args)
                }
            }
        })
    }

    fn choice(&mut self, c: Arg, t: BlockId, e: BlockId, env: &mut Vec<Term>) -> Term {
        let test = self.atom(c, env);
        if !self.unify(test, Term::Scalar) {
            let found = self.describe(test);
            self.errors.push(test_diagnostic(&found, c.span));
        }
        let (a, b) = (self.block(t, env), self.block(e, env));
        if !self.unify(a, b) {
            let (a, b) = (self.describe(a), self.describe(b));
            self.errors.push(branch_diagnostic(&a, &b, c.span));
        }
        a
    }

    fn size(&mut self, a: Arg) -> Dim {
        match a.atom {
            Atom::Number(x) if x.fract() == 0.0 && (1.0..=1e7).contains(&x) => Dim::Known(x as u32),
            _ => self.fresh_dim(),
        }
    }

    fn application(&mut self, op: Op, args: &[Arg], env: &[Term], span: Span) -> Term {
        let terms: Vec<Term> = args.iter().map(|&a| self.atom(a, env)).collect();
        match op.row().shape {
            ShapeRule::Elementwise => {
                // By far the most common case needs no bookkeeping.
                if terms.iter().all(|&t| self.resolve(t) == Term::Scalar) {
                    return Term::Scalar;
                }
                let out = self.fresh();
                let spans = args.iter().map(|a| a.span).collect();
                let pending = Pending { args: terms, out, op, spans, span };
                if let Some(undecided) = self.elementwise(pending) {
                    self.pending.push(undecided);
                }
                out
            }
            ShapeRule::Pattern(patterns, out) => self.pattern(op, patterns, out, &terms, args, span),
            ShapeRule::Special(special) => self.special(op, special, &terms, args, span),
            ShapeRule::Given => unreachable!("users cannot write `{}`", op.row().name),
        }
    }

    /// Decides the shape of a derivative, or gives it back.
    fn slope(&mut self, s: Slope) -> Option<Slope> {
        let out = match (self.resolve(s.of), self.resolve(s.by)) {
            (of, Term::Scalar) => of,
            (Term::Scalar, by) => by,
            (Term::Vector(m), Term::Vector(n)) => Term::Matrix(m, n),
            (Term::Var(_), _) | (_, Term::Var(_)) => return Some(s),
            (of, by) => {
                let (of, by) = (self.describe(of), self.describe(by));
                self.errors.push(slope_diagnostic(&of, &by, s.span));
                return None;
            }
        };
        if !self.unify(s.out, out) {
            let (found, wanted) = (self.describe(out), self.describe(s.out));
            self.errors.push(branch_diagnostic(&wanted, &found, s.span));
        }
        None
    }

    /// Decides an elementwise application, or gives it back.
    fn elementwise(&mut self, p: Pending) -> Option<Pending> {
        let mut lead = None;
        let mut unknown: Vec<Term> = Vec::new();
        for &t in &p.args {
            match self.resolve(t) {
                Term::Scalar => {}
                v @ Term::Var(_) => {
                    if !unknown.contains(&v) {
                        unknown.push(v);
                    }
                }
                t => match lead {
                    None => lead = Some(t),
                    Some(l) => {
                        if !self.unify(l, t) {
                            self.misfit(p.op, &p.args, &p.spans, p.span);
                            return None;
                        }
                    }
                },
            }
        }
        match (lead, &unknown[..]) {
            (Some(l), []) => self.unify(p.out, l),
            // Whatever the unknown ones are, the result has the shape of the known one.
            (Some(l), _) => {
                self.unify(p.out, l);
                return Some(p);
            }
            (None, []) => self.unify(p.out, Term::Scalar),
            (None, &[v]) => self.unify(p.out, v),
            (None, _) => match self.resolve(p.out) {
                Term::Var(_) => return Some(p),
                // The result is known and nothing tells the arguments apart: they are all alike.
                out => unknown.iter().all(|&v| self.unify(v, out)),
            },
        };
        None
    }

    fn pattern(&mut self, op: Op, patterns: &[Pat], out: Pat, terms: &[Term], args: &[Arg], span: Span) -> Term {
        let mut lengths: [Option<Dim>; 4] = [None; 4];
        let mut shapes: [Option<Term>; 4] = [None; 4];
        let term_of = |s: &mut Self, p: Pat, lengths: &mut [Option<Dim>; 4], shapes: &mut [Option<Term>; 4]| {
            let mut length = |s: &mut Self, l: Len| match l {
                Len::Is(n) => Dim::Known(n),
                Len::N(i) => *lengths[i as usize].get_or_insert_with(|| s.fresh_dim()),
            };
            match p {
                Pat::S => Term::Scalar,
                Pat::V(a) => Term::Vector(length(s, a)),
                Pat::M(a, b) => {
                    let a = length(s, a);
                    Term::Matrix(a, length(s, b))
                }
                Pat::Any(i) => *shapes[i as usize].get_or_insert_with(|| s.fresh()),
            }
        };
        for (&p, &t) in patterns.iter().zip(terms) {
            let wanted = term_of(self, p, &mut lengths, &mut shapes);
            if !self.unify(wanted, t) {
                let spans: Vec<Span> = args.iter().map(|a| a.span).collect();
                self.misfit(op, terms, &spans, span);
                break;
            }
        }
        term_of(self, out, &mut lengths, &mut shapes)
    }

    fn special(&mut self, op: Op, special: Special, terms: &[Term], args: &[Arg], span: Span) -> Term {
        let spans: Vec<Span> = args.iter().map(|a| a.span).collect();
        let n = Dim::Known(terms.len() as u32);
        match special {
            Special::Stack | Special::Rows => {
                let nested = special == Special::Rows || terms.iter().any(|&t| matches!(self.resolve(t), Term::Vector(_)));
                let (element, out) = if nested {
                    let columns = self.fresh_dim();
                    (Term::Vector(columns), Term::Matrix(n, columns))
                } else {
                    (Term::Scalar, Term::Vector(n))
                };
                for &t in terms {
                    if !self.unify(element, t) {
                        self.misfit(op, terms, &spans, span);
                        break;
                    }
                }
                out
            }
            Special::Ref => {
                for (&i, &at) in terms[1..].iter().zip(&spans[1..]) {
                    if !self.unify(i, Term::Scalar) {
                        self.misfit(op, &[terms[0], i], &[spans[0], at], span);
                    }
                }
                match (self.resolve(terms[0]), terms.len()) {
                    (Term::Matrix(_, c), 2) => Term::Vector(c),
                    (Term::Matrix(..), _) | (Term::Vector(_), 2) => Term::Scalar,
                    (v @ Term::Var(_), 2) => {
                        let d = self.fresh_dim();
                        self.unify(v, Term::Vector(d));
                        Term::Scalar
                    }
                    (v @ Term::Var(_), _) => {
                        let (r, c) = (self.fresh_dim(), self.fresh_dim());
                        self.unify(v, Term::Matrix(r, c));
                        Term::Scalar
                    }
                    (Term::Scalar | Term::Vector(_), _) => {
                        self.misfit(op, &terms[..1], &spans[..1], span);
                        Term::Scalar
                    }
                }
            }
            Special::Slice => {
                let d = self.fresh_dim();
                if !self.unify(terms[0], Term::Vector(d)) {
                    self.misfit(op, &terms[..1], &spans[..1], span);
                }
                match (args[1].atom, args[2].atom) {
                    (Atom::Number(a), Atom::Number(b)) if b > a => Term::Vector(Dim::Known((b - a) as u32)),
                    _ => Term::Vector(self.fresh_dim()),
                }
            }
            Special::Concat => {
                let mut total = Some(0u32);
                for &t in terms {
                    total = match (self.resolve(t), total) {
                        // A sum that does not fit stays open; the graph is refused for its size.
                        (Term::Scalar, Some(n)) => n.checked_add(1),
                        (Term::Vector(Dim::Known(k)), Some(n)) => n.checked_add(k),
                        (Term::Matrix(..), _) => {
                            self.misfit(op, terms, &spans, span);
                            return self.fresh();
                        }
                        _ => None,
                    };
                }
                // A part nobody knows may be a scalar or a vector: the length stays open until the graph is built.
                total.map_or_else(|| Term::Vector(self.fresh_dim()), |n| Term::Vector(Dim::Known(n)))
            }
            Special::Solve => {
                let d = self.fresh_dim();
                let right = self.resolve(terms[1]);
                let fits = self.unify(terms[0], Term::Matrix(d, d))
                    && match right {
                        Term::Matrix(r, _) => self.unify_dim(r, d),
                        _ => self.unify(right, Term::Vector(d)),
                    };
                if !fits {
                    self.misfit(op, terms, &spans, span);
                }
                terms[1]
            }
            Special::Product => unreachable!("users cannot write `{}`", op.row().name),
            Special::Square => {
                let d = self.size(args[0]);
                Term::Matrix(d, d)
            }
            Special::Sized => self.sized(args),
            Special::Fill => self.sized(&args[1..]),
            Special::Grid => {
                self.scalars(op, &terms[..2], &spans[..2], span);
                self.sized(&args[2..])
            }
            Special::Place => {
                let d = self.fresh_dim();
                if !self.unify(terms[0], Term::Vector(d)) {
                    self.misfit(op, &terms[..1], &spans[..1], span);
                }
                self.scalars(op, &terms[1..], &spans[1..], span);
                Term::Scalar
            }
        }
    }

    /// Arguments that are scalars, or a finding about those that are not.
    fn scalars(&mut self, op: Op, terms: &[Term], spans: &[Span], span: Span) {
        for (&term, &at) in terms.iter().zip(spans) {
            if !self.unify(term, Term::Scalar) {
                self.misfit(op, &[term], &[at], span);
            }
        }
    }

    fn sized(&mut self, sizes: &[Arg]) -> Term {
        let first = self.size(sizes[0]);
        match sizes.get(1) {
            None => Term::Vector(first),
            Some(&second) => Term::Matrix(first, self.size(second)),
        }
    }

    /// Decides everything that is still open, taking what nothing constrains as scalar.
    pub(crate) fn settle(&mut self) {
        while !self.pending.is_empty() || !self.slopes.is_empty() {
            let before = self.pending.len() + self.slopes.len();
            let slopes = std::mem::take(&mut self.slopes);
            self.slopes = slopes.into_iter().filter_map(|s| self.slope(s)).collect();
            // Knowledge flows both ways through nested applications, so look at them in both orders.
            let mut open: Vec<Pending> = std::mem::take(&mut self.pending);
            for _ in 0..2 {
                let round = std::mem::take(&mut open);
                open.extend(round.into_iter().rev().filter_map(|p| self.elementwise(p)));
            }
            if open.len() + self.slopes.len() == before
                && let Some(Slope { by, of, .. }) = self.slopes.first()
            {
                // What a derivative is by says more about its shape than what uses it.
                let (by, of) = (*by, *of);
                let unknown = if self.is_open(by) { by } else { of };
                self.unify(unknown, Term::Scalar);
            } else if open.len() == before {
                for p in &open {
                    for &t in &p.args {
                        if let v @ Term::Var(_) = self.resolve(t) {
                            self.unify(v, Term::Scalar);
                        }
                    }
                }
                open = open.into_iter().filter_map(|p| self.elementwise(p)).collect();
                debug_assert!(open.is_empty(), "everything is decided once the unknown are scalars");
                open.clear();
            }
            self.pending = open;
        }
    }
}

/// The diagnostic for an application whose arguments do not fit: every argument's shape at its place.
pub(crate) fn misfit_diagnostic(op: Op, args: &[(String, Span)], span: Span) -> Diagnostic {
    let shapes: Vec<&str> = args.iter().map(|(s, _)| s.as_str()).collect();
    let row = op.row();
    let mut d = Diagnostic::error("shape-mismatch", span, format!("`{}` cannot be applied to {}", row.name, list(&shapes)));
    for (shape, at) in args.iter().take(6) {
        d = d.label(*at, format!("a {shape}"));
    }
    let advice = match row.name {
        "*" if shapes.len() == 2 && shapes[0].starts_with("matrix") => "use matvec or matmul for products of matrices",
        "matmul" if shapes.len() == 2 && shapes[1].starts_with("vector") => "use matvec for a matrix times a vector",
        _ if row.is_elementwise() => "scalars combine with every shape, other shapes only with their like",
        _ => row.doc,
    };
    d.help(format!("{}: {advice}", row.usage))
}

pub(crate) fn slope_diagnostic(of: &str, by: &str, span: Span) -> Diagnostic {
    let message = format!("the derivative of a {of} by a {by} would have more axes than a matrix");
    Diagnostic::error("shape-mismatch", span, message).help("take the derivative of one number, row or column of it, for instance with ref")
}

pub(crate) fn test_diagnostic(found: &str, span: Span) -> Diagnostic {
    Diagnostic::error("shape-mismatch", span, format!("a test must be a scalar, this is a {found}"))
        .help("use select to choose element by element")
}

pub(crate) fn branch_diagnostic(a: &str, b: &str, span: Span) -> Diagnostic {
    Diagnostic::error("branch-shape-mismatch", span, format!("the branches of this choice differ in shape: a {a} and a {b}"))
        .help("both branches must give the same shape; (fill x n) repeats a scalar")
}

fn list(items: &[&str]) -> String {
    match items {
        [] => "nothing".into(),
        [one] => format!("a {one}"),
        [first @ .., last] => format!("a {} and a {last}", first.join(", a ")),
    }
}
