//! A-normal form: every operation on names and numbers only, every function closed. In: the AST; out: functions as blocks.
//! Invariants: locals are numbered per function, parameters first; captured variables have become parameters (lambda lifting), so
//! a function sees nothing but its own locals; a block's statements run in order and each local is defined once.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limits::Limits;
use crate::ops::Surface;
use crate::source::Span;
use crate::syntax::ast::{Ast, Expr, ExprId, Fun, FunId, VarId};
use rustc_hash::FxHashSet;

/// A local of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Local(pub u32);

/// Something already computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Atom {
    /// A number.
    Number(f64),
    /// A local.
    Local(Local),
}

/// An argument and where it stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arg {
    /// What.
    pub atom: Atom,
    /// Where.
    pub span: Span,
}

/// Index of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockId(pub u32);

/// A range of `Anf::args`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Args(u32, u32);

/// What a statement computes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rhs {
    /// An operation.
    Op(Surface, Args),
    /// A choice between two blocks.
    If(Arg, BlockId, BlockId),
    /// A call.
    Call(FunId, Args),
    /// The derivative of a function by its first parameter, at these arguments.
    Derivative(FunId, Args),
    /// Where a function is 0 by its first parameter: so many starts in the place of that, then its other arguments.
    Root(FunId, Args, u32),
}

/// A statement: a local and what it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stmt {
    /// The local.
    pub local: Local,
    /// What it is.
    pub rhs: Rhs,
    /// Where it stands.
    pub span: Span,
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tail {
    /// With a value.
    Return(Arg),
    /// With a choice between two blocks.
    If(Arg, BlockId, BlockId),
    /// With a call in tail position.
    Call(FunId, Args, Span),
}

/// Statements and an end.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Statements, in order.
    pub stmts: Vec<Stmt>,
    /// The end.
    pub tail: Tail,
}

/// A closed function.
#[derive(Clone, Debug)]
pub struct AnfFun {
    /// Its name.
    pub name: String,
    /// How many parameters; they are the first locals.
    pub params: usize,
    /// Names of the locals; empty for temporaries.
    pub locals: Vec<String>,
    /// Its body.
    pub body: BlockId,
    /// Where it is defined.
    pub span: Span,
}

/// A program in A-normal form.
#[derive(Clone, Debug)]
pub struct Anf {
    /// Functions; the first is the program.
    pub funs: Vec<AnfFun>,
    blocks: Vec<Block>,
    args: Vec<Arg>,
}

impl Anf {
    /// A block.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    /// Arguments.
    pub fn args(&self, args: Args) -> &[Arg] {
        &self.args[args.0 as usize..args.1 as usize]
    }

    /// A function.
    pub fn fun(&self, f: FunId) -> &AnfFun {
        &self.funs[f.0 as usize]
    }

    /// Every block reachable from a function's body, with whether its tail is a tail of the function.
    pub(crate) fn blocks_of(&self, f: FunId) -> Vec<(BlockId, bool)> {
        let mut found = Vec::new();
        let mut stack = vec![(self.fun(f).body, true)];
        while let Some((id, tail)) = stack.pop() {
            found.push((id, tail));
            let block = self.block(id);
            for stmt in &block.stmts {
                if let Rhs::If(_, t, e) = stmt.rhs {
                    stack.extend([(t, false), (e, false)]);
                }
            }
            if let Tail::If(_, t, e) = block.tail {
                stack.extend([(t, tail), (e, tail)]);
            }
        }
        found
    }

    /// Checks the invariants.
    pub fn verify(&self) -> Result<(), String> {
        for (i, f) in self.funs.iter().enumerate() {
            let mut defined: Vec<bool> = (0..f.locals.len()).map(|l| l < f.params).collect();
            self.verify_block(f.body, &mut defined, true).map_err(|e| format!("function {i} `{}`: {e}", f.name))?;
        }
        Ok(())
    }

    fn verify_block(&self, id: BlockId, defined: &mut Vec<bool>, tail: bool) -> Result<(), String> {
        crate::deep(|| {
            let check = |args: &[Arg], defined: &Vec<bool>| {
                for a in args {
                    if let Atom::Local(l) = a.atom
                        && !defined.get(l.0 as usize).copied().unwrap_or(false)
                    {
                        return Err(format!("local {} is used before it is defined", l.0));
                    }
                }
                Ok(())
            };
            let mut own = Vec::new();
            let block = self.block(id);
            for stmt in &block.stmts {
                match stmt.rhs {
                    Rhs::Op(_, args) => check(self.args(args), defined)?,
                    Rhs::Call(f, args) | Rhs::Derivative(f, args) => {
                        check(self.args(args), defined)?;
                        if self.args(args).len() != self.fun(f).params {
                            return Err(format!("`{}` is called with a wrong number of arguments", self.fun(f).name));
                        }
                    }
                    Rhs::Root(f, args, starts) => {
                        check(self.args(args), defined)?;
                        if self.args(args).len() + 1 != self.fun(f).params + starts as usize {
                            return Err(format!("`{}` is solved with a wrong number of arguments", self.fun(f).name));
                        }
                    }
                    Rhs::If(c, t, e) => {
                        check(&[c], defined)?;
                        self.verify_block(t, defined, false)?;
                        self.verify_block(e, defined, false)?;
                    }
                }
                if std::mem::replace(&mut defined[stmt.local.0 as usize], true) {
                    return Err(format!("local {} is defined twice", stmt.local.0));
                }
                own.push(stmt.local);
            }
            match block.tail {
                Tail::Return(a) => check(&[a], defined)?,
                Tail::Call(_, args, _) if tail => check(self.args(args), defined)?,
                Tail::Call(..) => return Err("a tail call outside tail position".into()),
                Tail::If(c, t, e) => {
                    check(&[c], defined)?;
                    self.verify_block(t, defined, tail)?;
                    self.verify_block(e, defined, tail)?;
                }
            }
            for l in own {
                defined[l.0 as usize] = false;
            }
            Ok(())
        })
    }
}

/// The variables each function binds. Asked only of programs with derivatives: elsewhere a variable is bound by its owner.
fn bound(ast: &Ast) -> Vec<FxHashSet<VarId>> {
    let names = |fun: &Fun| {
        let mut found: FxHashSet<VarId> = fun.params.iter().copied().collect();
        ast.walk(fun.body, |e| {
            if let Expr::Let(bindings, _) = e {
                found.extend(ast.bindings(bindings).iter().map(|b| b.0));
            }
        });
        found
    };
    ast.funs.iter().map(names).collect()
}

/// Free variables of every function, those of the functions it calls included.
pub(crate) fn captures(ast: &Ast, limits: &Limits) -> Result<Vec<Vec<VarId>>, Diagnostics> {
    let n = ast.funs.len();
    let bound = if ast.derivatives.is_empty() { vec![] } else { bound(ast) };
    let owns = |f: usize, v: VarId| match bound.get(f) {
        Some(names) => names.contains(&v),
        None => ast.vars[v.0 as usize].owner.0 as usize == f,
    };
    let mut free: Vec<FxHashSet<VarId>> = vec![FxHashSet::default(); n];
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (f, free) in free.iter_mut().enumerate().skip(1) {
        let mut called = FxHashSet::default();
        ast.walk(ast.funs[f].body, |e| match e {
            Expr::Var(v) if !owns(f, v) => {
                free.insert(v);
            }
            Expr::Call(g, _) | Expr::Derivative(g, _) | Expr::Root(g, _) => {
                if called.insert(g) {
                    callers[g.0 as usize].push(f);
                }
            }
            Expr::Var(_) | Expr::Number(_) | Expr::Op(..) | Expr::If(..) | Expr::Let(..) => {}
        });
    }
    let mut total: usize = free.iter().map(FxHashSet::len).sum();
    let mut work: Vec<usize> = (1..n).collect();
    while let Some(g) = work.pop() {
        let vars: Vec<VarId> = free[g].iter().copied().collect();
        for &f in &callers[g] {
            let before = free[f].len();
            free[f].extend(vars.iter().filter(|&&v| !owns(f, v)));
            if free[f].len() > before {
                total += free[f].len() - before;
                work.push(f);
            }
        }
        if total > limits.nodes {
            let message = format!("functions capture outer names more than {} times", limits.nodes);
            return Err(Diagnostic::error("limit-nodes", ast.funs[g].span, message).into());
        }
    }
    Ok(free
        .into_iter()
        .map(|set| {
            let mut vars: Vec<VarId> = set.into_iter().collect();
            vars.sort();
            vars
        })
        .collect())
}

struct Converter<'a> {
    ast: &'a Ast,
    captures: Vec<Vec<VarId>>,
    anf: Anf,
    /// What each variable is in the function being converted: valid when the stamp matches.
    known: Vec<(u32, Atom)>,
    stamp: u32,
    locals: Vec<String>,
    errors: Vec<Diagnostic>,
}

/// Converts a program.
pub fn convert(ast: &Ast, limits: &Limits) -> Result<Anf, Diagnostics> {
    let captures = captures(ast, limits)?;
    let mut c = Converter {
        ast,
        captures,
        anf: Anf { funs: Vec::with_capacity(ast.funs.len()), blocks: Vec::new(), args: Vec::with_capacity(ast.args.len() + 8) },
        known: vec![(u32::MAX, Atom::Number(0.0)); ast.vars.len()],
        stamp: 0,
        locals: Vec::new(),
        errors: Vec::new(),
    };
    for f in 0..ast.funs.len() {
        c.function(f);
    }
    if c.errors.is_empty() { Ok(c.anf) } else { Err(Diagnostics::sorted(c.errors)) }
}

impl Converter<'_> {
    fn function(&mut self, f: usize) {
        let fun = &self.ast.funs[f];
        self.stamp = f as u32;
        self.locals.clear();
        let captured = std::mem::take(&mut self.captures[f]);
        for &v in fun.params.iter().chain(&captured) {
            let local = self.local(&self.ast.vars[v.0 as usize].name);
            self.known[v.0 as usize] = (self.stamp, Atom::Local(local));
        }
        let params = fun.params.len() + captured.len();
        self.captures[f] = captured;
        let body = self.block(fun.body, true);
        let locals = std::mem::take(&mut self.locals);
        self.anf.funs.push(AnfFun { name: fun.name.clone(), params, locals, body, span: fun.span });
    }

    fn local(&mut self, name: &str) -> Local {
        self.locals.push(name.to_string());
        Local(self.locals.len() as u32 - 1)
    }

    fn block(&mut self, e: ExprId, tail: bool) -> BlockId {
        let mut stmts = Vec::new();
        let tail = self.tail(e, &mut stmts, tail);
        self.anf.blocks.push(Block { stmts, tail });
        BlockId(self.anf.blocks.len() as u32 - 1)
    }

    fn tail(&mut self, e: ExprId, stmts: &mut Vec<Stmt>, tail: bool) -> Tail {
        crate::deep(|| {
            let span = self.ast.span(e);
            match self.ast.expr(e) {
                Expr::If(c, t, f) => {
                    let c = self.atom(c, stmts);
                    Tail::If(c, self.block(t, tail), self.block(f, tail))
                }
                Expr::Let(bindings, body) => {
                    self.bind(bindings, stmts);
                    self.tail(body, stmts, tail)
                }
                Expr::Call(f, args) if tail => {
                    let args = self.call_args(f, args, span, stmts);
                    Tail::Call(f, args, span)
                }
                Expr::Number(_) | Expr::Var(_) | Expr::Op(..) | Expr::Call(..) | Expr::Derivative(..) | Expr::Root(..) => {
                    Tail::Return(self.atom(e, stmts))
                }
            }
        })
    }

    fn bind(&mut self, bindings: (u32, u32), stmts: &mut Vec<Stmt>) {
        for i in bindings.0..bindings.1 {
            let (v, value) = self.ast.bindings[i as usize];
            let before = self.locals.len();
            let atom = self.atom(value, stmts).atom;
            // A temporary made for this very binding carries its name.
            if let Atom::Local(l) = atom
                && l.0 as usize >= before
                && self.locals[l.0 as usize].is_empty()
            {
                self.locals[l.0 as usize] = self.ast.vars[v.0 as usize].name.clone();
            }
            self.known[v.0 as usize] = (self.stamp, atom);
        }
    }

    fn lookup(&mut self, v: VarId, span: Span) -> Atom {
        let (stamp, atom) = self.known[v.0 as usize];
        if stamp == self.stamp {
            return atom;
        }
        let name = &self.ast.vars[v.0 as usize].name;
        self.errors.push(
            Diagnostic::error("used-before-definition", span, format!("`{name}` is used before it has its value"))
                .help("values are defined in order: move its definition up"),
        );
        Atom::Number(0.0)
    }

    fn push_args(&mut self, args: impl IntoIterator<Item = Arg>) -> Args {
        let from = self.anf.args.len() as u32;
        self.anf.args.extend(args);
        Args(from, self.anf.args.len() as u32)
    }

    fn call_args(&mut self, f: FunId, args: (u32, u32), span: Span, stmts: &mut Vec<Stmt>) -> Args {
        let mut all: Vec<Arg> = self.ast.args(args).to_vec().into_iter().map(|a| self.atom(a, stmts)).collect();
        for v in self.captures[f.0 as usize].clone() {
            let atom = self.lookup(v, span);
            all.push(Arg { atom, span });
        }
        self.push_args(all)
    }

    fn atom(&mut self, e: ExprId, stmts: &mut Vec<Stmt>) -> Arg {
        crate::deep(|| self.atom_here(e, stmts))
    }

    fn atom_here(&mut self, e: ExprId, stmts: &mut Vec<Stmt>) -> Arg {
        let span = self.ast.span(e);
        let rhs = match self.ast.expr(e) {
            Expr::Number(x) => {
                return Arg { atom: Atom::Number(x), span };
            }
            Expr::Var(v) => {
                return Arg { atom: self.lookup(v, span), span };
            }
            Expr::Let(bindings, body) => {
                self.bind(bindings, stmts);
                return self.atom(body, stmts);
            }
            Expr::Op(op, args) => {
                let (from, to) = args;
                if to - from <= 4 {
                    let mut few = [Arg { atom: Atom::Number(0.0), span }; 4];
                    for i in from..to {
                        few[(i - from) as usize] = self.atom(self.ast.args[i as usize], stmts);
                    }
                    Rhs::Op(op, self.push_args(few[..(to - from) as usize].iter().copied()))
                } else {
                    let many: Vec<Arg> = (from..to).map(|i| self.atom(self.ast.args[i as usize], stmts)).collect();
                    Rhs::Op(op, self.push_args(many))
                }
            }
            Expr::Call(f, args) => Rhs::Call(f, self.call_args(f, args, span, stmts)),
            Expr::Derivative(f, args) => Rhs::Derivative(f, self.call_args(f, args, span, stmts)),
            Expr::Root(f, args) => Rhs::Root(f, self.call_args(f, args, span, stmts), args.1 - args.0),
            Expr::If(c, t, f) => {
                let c = self.atom(c, stmts);
                Rhs::If(c, self.block(t, false), self.block(f, false))
            }
        };
        let local = self.local("");
        stmts.push(Stmt { local, rhs, span });
        Arg { atom: Atom::Local(local), span }
    }
}
