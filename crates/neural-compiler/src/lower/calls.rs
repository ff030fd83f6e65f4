//! Calls while a graph is made: inlined, regions of their own, or derivatives. In: a function and its arguments; out: its value.

use super::{Lowered, Lowering, Nest, SMALL};
use crate::anf::{Rhs, Tail};
use crate::diagnostic::Diagnostic;
use crate::diff;
use crate::graph::{Graph, GraphInput, Kind, NodeId, Region, RegionId, Type, assemble, copy};
use crate::infer::{Solver, branch_diagnostic, slope_diagnostic};
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::FunId;
use std::sync::Arc;

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
                Rhs::Call(g, _) | Rhs::Derivative(g, _) => Some(g),
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

    /// The derivative of a function by its first parameter. It holds no tape, so that whatever it is part of can be pulled back.
    pub(super) fn derivative(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId], span: Span) -> Lowered<NodeId> {
        let shapes: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let (derived, offset) = match self.derivatives.get(&(f, shapes.clone())) {
            Some(known) => known.clone(),
            None => {
                let derived = crate::deep(|| self.derived(f, &shapes, span))?;
                let offset = self.regions.len() as u32;
                let up = |r: RegionId| RegionId(r.0 + offset);
                self.regions.extend(derived.regions.iter().cloned().map(|mut region| {
                    region.nodes.iter_mut().for_each(|node| node.kind = node.kind.renumbered(up));
                    Some(region)
                }));
                self.charge(derived.size(), span)?;
                let made = (Arc::new(derived), offset);
                self.derivatives.insert((f, shapes), made.clone());
                made
            }
        };
        let up = |r: RegionId| RegionId(r.0 + offset);
        let results = copy::inline_with(nest.top(), derived.main(), &derived.regions, args, |b, node, args| {
            Some(b.many(node.kind.renumbered(up), args, &derived.result_types(node.kind)))
        });
        Ok(results[0])
    }

    pub(super) fn derived(&mut self, f: FunId, shapes: &[Shape], span: Span) -> Lowered<Graph> {
        let endless = || {
            let message = "this is the derivative of something that takes this derivative itself";
            Box::new(
                Diagnostic::error("endless-derivative", span, message)
                    .help("each call would need a derivative of a higher order than the one before; write the derivative out, or end it"),
            )
        };
        if self.deriving.contains(&f) {
            return Err(endless());
        }
        let anf = self.anf;
        let fun = anf.fun(f);
        self.deriving.push(f);
        let region = self.function(f, shapes, &fun.name)?;
        self.deriving.pop();
        let (of, by) = (region.shape(region.results[0]), shapes[0]);
        if of.dims().len() + by.dims().len() > 2 {
            return Err(Box::new(slope_diagnostic(&of.to_string(), &by.to_string(), span)));
        }
        let inputs = fun.locals.iter().zip(shapes).map(|(name, &shape)| GraphInput { name: name.clone(), shape }).collect();
        // The regions it runs, each in its place.
        let mut regions = vec![Region::default(); self.regions.len()];
        let mut open: Vec<RegionId> = region.nodes.iter().flat_map(|n| Graph::children(n.kind)).collect();
        let mut seen = vec![false; self.regions.len()];
        while let Some(r) = open.pop() {
            if std::mem::replace(&mut seen[r.0 as usize], true) {
                continue;
            }
            let Some(run) = &self.regions[r.0 as usize] else { return Err(endless()) };
            open.extend(run.nodes.iter().flat_map(|n| Graph::children(n.kind)));
            regions[r.0 as usize] = run.clone();
        }
        let graph = assemble(regions, region, inputs);
        let derived = diff::derive(&graph, &[diff::Step::Jacobian(vec![0])], true);
        derived.map(|d| d.graph).map_err(|e| Box::new(Diagnostic { span, ..e.0.into_iter().next().expect("an error says what it is") }))
    }
}
