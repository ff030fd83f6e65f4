//! What is made of a whole function while a graph is made: its derivative, and where it is 0. In: a function and its arguments; out: the
//! value. Invariant: a function is closed first, a graph of its own, so that derivatives are those of graphs, and is made once for each
//! combination of shapes.

use super::{Lowered, Lowering, Nest};
use crate::diagnostic::Diagnostic;
use crate::diff;
use crate::graph::{Graph, GraphInput, Kind, NodeId, Region, RegionId, Type, assemble, copy, root};
use crate::infer::{root_diagnostic, slope_diagnostic};
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::FunId;
use std::sync::Arc;

/// The derivative of a graph by its first input.
fn slope_of(graph: &Graph, span: Span) -> Lowered<Graph> {
    let derived = diff::derive(graph, &[diff::Step::Jacobian(vec![0])], true);
    derived.map(|d| d.graph).map_err(|e| Box::new(Diagnostic { span, ..e.0.into_iter().next().expect("an error says what it is") }))
}

impl Lowering<'_> {
    /// The derivative of a function by its first parameter. It holds no tape, so that whatever it is part of can be pulled back.
    pub(super) fn derivative(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId], span: Span) -> Lowered<NodeId> {
        let shapes: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let (derived, offset) = match self.derivatives.get(&(f, shapes.clone())) {
            Some(known) => known.clone(),
            None => {
                let derived = crate::deep(|| self.derived(f, &shapes, span))?;
                let offset = self.regions.len() as u32;
                self.adopt(&derived, span)?;
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

    /// The derivative of a function by its first parameter, as a graph.
    fn derived(&mut self, f: FunId, shapes: &[Shape], span: Span) -> Lowered<Graph> {
        let graph = self.closed(f, shapes, span)?;
        let (of, by) = (graph.outputs()[0], shapes[0]);
        if of.dims().len() + by.dims().len() > 2 {
            return Err(Box::new(slope_diagnostic(&of.to_string(), &by.to_string(), span)));
        }
        slope_of(&graph, span)
    }

    /// A function as a graph of its own.
    fn closed(&mut self, f: FunId, shapes: &[Shape], span: Span) -> Lowered<Graph> {
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
        Ok(assemble(regions, region, inputs))
    }

    /// Takes over the regions of a graph; gives the number of its main region.
    fn adopt(&mut self, graph: &Graph, span: Span) -> Lowered<RegionId> {
        let offset = self.regions.len() as u32;
        let up = |r: RegionId| RegionId(r.0 + offset);
        self.regions.extend(graph.regions.iter().cloned().map(|mut region| {
            region.nodes.iter_mut().for_each(|node| node.kind = node.kind.renumbered(up));
            Some(region)
        }));
        self.charge(graph.size(), span)?;
        Ok(up(graph.main))
    }

    /// Where a function is 0 by its first parameter, as a node.
    pub(super) fn root(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId], starts: usize, span: Span) -> Lowered<NodeId> {
        let all: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let shapes: Vec<Shape> = all[..1].iter().chain(&all[starts..]).copied().collect();
        let key = (f, shapes.clone(), starts);
        let kind = match self.roots.get(&key) {
            Some(&kind) => kind,
            None => {
                let zero = crate::deep(|| self.closed(f, &shapes, span))?;
                let (of, by) = (zero.outputs()[0], shapes[0]);
                if of != by || matches!(by, Shape::Matrix(..)) || starts > 1 && all[..starts].iter().any(|&s| s != Shape::Scalar) {
                    return Err(Box::new(root_diagnostic(&of.to_string(), &by.to_string(), span)));
                }
                let slope = slope_of(&zero, span)?;
                let solve = root::solver(&zero, &slope, starts > 1, span);
                let (solve, zero, slope) = (self.adopt(&solve, span)?, self.adopt(&zero, span)?, self.adopt(&slope, span)?);
                let kind = Kind::Root { solve, zero, slope, starts: starts as u32 };
                self.roots.insert(key, kind);
                kind
            }
        };
        Ok(nest.top().many(kind, args, &[Type::Value(shapes[0])])[0])
    }
}
