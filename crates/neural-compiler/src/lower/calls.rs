//! Calls while a graph is made: inlined, or regions of their own. In: a function and its arguments; out: its value.

use super::{Lowered, Lowering, Nest, SMALL};
use crate::anf::{Rhs, Tail};
use crate::diagnostic::Diagnostic;
use crate::graph::{Kind, NodeId, RegionId, Type};
use crate::infer::{Solver, branch_diagnostic};
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::FunId;

impl Lowering<'_> {
    /// Statements of a function that would be inlined with it.
    pub(super) fn weight(&mut self, f: FunId) -> usize {
        if let Some(w) = self.weights[f.0 as usize] {
            return w;
        }
        // Counts as heavy while its callees are weighed; recursive ones are never asked.
        self.weights[f.0 as usize] = Some(usize::MAX / 4);
        let mut weight = 0usize;
        let anf = self.anf;
        for (id, _) in anf.blocks_of(f) {
            let block = anf.block(id);
            weight += 1 + block.stmts.len();
            let tail = match block.tail {
                Tail::Call(g, ..) => Some(g),
                Tail::Return(_) | Tail::If(..) => None,
            };
            let called = block.stmts.iter().filter_map(|s| match s.rhs {
                Rhs::Call(g, _) | Rhs::Derivative(g, _) | Rhs::Root(g, ..) => Some(g),
                Rhs::Op(..) | Rhs::If(..) => None,
            });
            for g in called.chain(tail) {
                if !self.tails.is_jump(f, g) && !self.tails.is_recursive(g) {
                    let inner = crate::deep(|| self.weight(g));
                    weight = weight.saturating_add(if inner <= SMALL || self.calls[g.0 as usize] == 1 { inner } else { 1 });
                }
            }
        }
        self.weights[f.0 as usize] = Some(weight);
        weight
    }

    pub(super) fn call(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId], span: Span) -> Lowered<NodeId> {
        let inline = !self.tails.is_recursive(f) && (self.calls[f.0 as usize] == 1 || self.weight(f) <= SMALL);
        if inline {
            return crate::deep(|| self.enter(nest, f, args));
        }
        let shapes: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let (region, result) = match self.instances.get(&(f, shapes.clone())) {
            Some(&known) => known,
            None => {
                let mut solver = Solver::new(self.anf);
                let result = solver.call(f, shapes.iter().map(|&s| s.into()).collect());
                solver.settle();
                if let Some(e) = solver.errors.first() {
                    return Err(Box::new(e.clone()));
                }
                let Some(result) = solver.settled(result) else {
                    return Err(Box::new(Diagnostic::error(
                        "shape-unknown",
                        span,
                        format!("the shape of `{}`'s result cannot be told", self.anf.fun(f).name),
                    )));
                };
                self.regions.push(None);
                let id = RegionId(self.regions.len() as u32 - 1);
                self.instances.insert((f, shapes.clone()), (id, result));
                let name = self.anf.fun(f).name.clone();
                let region = crate::deep(|| self.function(f, &shapes, &name))?;
                let found = region.shape(region.results[0]);
                if found != result {
                    return Err(Box::new(branch_diagnostic(&result.to_string(), &found.to_string(), self.anf.fun(f).span)));
                }
                self.regions[id.0 as usize] = Some(region);
                (id, result)
            }
        };
        let results = nest.top().many(Kind::Call(region), args, &[Type::Value(result)]);
        Ok(results[0])
    }
}
