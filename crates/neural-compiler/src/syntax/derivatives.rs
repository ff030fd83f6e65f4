//! Derivatives inside programs. In: an AST in which the function of each derivative is the expression alone; out: the same in which it
//! also holds the definitions between the variable and the expression, so that the derivative goes through them.
//! Invariant: a definition is copied into the function if and only if it depends on the variable and the expression on it; all others
//! are captured, and so stand still.

use crate::anf::captures;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limits::Limits;
use crate::syntax::ast::{Ast, Expr, ExprId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Brings the definitions in.
pub(crate) fn close(ast: &mut Ast, limits: &Limits) -> Result<(), Diagnostics> {
    if ast.derivatives.is_empty() {
        return Ok(());
    }
    let free = captures(ast, limits)?;
    let values: FxHashMap<VarId, ExprId> = ast.bindings.iter().copied().collect();
    let mut copied = 0;
    for f in ast.derivatives.clone() {
        let (by, body, span) = {
            let fun = &ast.funs[f.0 as usize];
            (fun.params[0], fun.body, fun.span)
        };
        let mut search = Search { ast, free: &free, values: &values, depends: FxHashMap::from_iter([(by, true)]), found: Vec::new() };
        for v in search.used(body) {
            search.visit(v);
        }
        let found = search.found;
        copied += found.len();
        if copied > limits.nodes {
            let message = format!("derivatives go through definitions more than {} times", limits.nodes);
            return Err(Diagnostic::error("limit-nodes", span, message).into());
        }
        if !found.is_empty() {
            let from = ast.bindings.len() as u32;
            ast.bindings.extend(found.into_iter().map(|v| (v, values[&v])));
            let whole = (Expr::Let((from, ast.bindings.len() as u32), body), ast.span(body));
            ast.exprs.push(whole);
            ast.funs[f.0 as usize].body = ExprId(ast.exprs.len() as u32 - 1);
        }
    }
    Ok(())
}

/// The definitions that depend on one variable.
struct Search<'a> {
    ast: &'a Ast,
    free: &'a [Vec<VarId>],
    values: &'a FxHashMap<VarId, ExprId>,
    depends: FxHashMap<VarId, bool>,
    /// Those that do, each behind those it uses.
    found: Vec<VarId>,
}

impl Search<'_> {
    /// The variables from outside an expression that its value may depend on.
    fn used(&self, e: ExprId) -> Vec<VarId> {
        let (mut used, mut inside) = (Vec::new(), FxHashSet::default());
        self.ast.walk(e, |e| match e {
            Expr::Var(v) => used.push(v),
            Expr::Call(g, _) | Expr::Derivative(g, _) | Expr::Root(g, _) => used.extend(&self.free[g.0 as usize]),
            Expr::Let(bindings, _) => inside.extend(self.ast.bindings(bindings).iter().map(|b| b.0)),
            Expr::Number(_) | Expr::Op(..) | Expr::If(..) => {}
        });
        used.retain(|v| !inside.contains(v));
        used
    }

    fn visit(&mut self, v: VarId) -> bool {
        if let Some(&known) = self.depends.get(&v) {
            return known;
        }
        // A value that is used before it has one is said when the program is converted.
        self.depends.insert(v, false);
        let Some(&value) = self.values.get(&v) else { return false };
        let mut depends = false;
        crate::deep(|| {
            for u in self.used(value) {
                depends |= self.visit(u);
            }
        });
        if depends {
            self.found.push(v);
        }
        self.depends.insert(v, depends);
        depends
    }
}
