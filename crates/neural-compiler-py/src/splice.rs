//! Graphs put together from graphs. In: graphs whose main regions are to be run one after another; out: one graph.
//! Invariant: equal pure nodes of the parts become one node, so parts that share work share it once.

use neural_compiler::Shape;
use neural_compiler::graph::{Builder, Graph, GraphInput, NodeId, Region, RegionId, Type, compact, copy};
use neural_compiler::ops::Op;

/// A graph under construction.
pub(crate) struct Splice {
    pub(crate) builder: Builder,
    /// The inputs, as nodes.
    pub(crate) inputs: Vec<NodeId>,
    named: Vec<GraphInput>,
    regions: Vec<Region>,
}

/// A graph whose regions have been taken over.
#[derive(Clone, Copy)]
pub(crate) struct Part(RegionId);

impl Splice {
    pub(crate) fn new(named: Vec<GraphInput>) -> Splice {
        let mut builder = Builder::new("main");
        let inputs = named.iter().map(|i| builder.param(Type::Value(i.shape))).collect();
        Splice { builder, inputs, named, regions: Vec::new() }
    }

    /// Takes over the regions of a graph.
    pub(crate) fn adopt(&mut self, graph: &Graph) -> Part {
        let offset = self.regions.len() as u32;
        self.regions.extend(graph.regions.iter().map(|r| copy::shift(r, offset)));
        Part(RegionId(graph.main.0 + offset))
    }

    /// Runs a part on these arguments; gives its results.
    pub(crate) fn inline(&mut self, part: Part, args: &[NodeId]) -> Vec<NodeId> {
        copy::inline(&mut self.builder, &self.regions[part.0.0 as usize], &self.regions, args)
    }

    /// Zeros with a one at number `k`.
    pub(crate) fn unit(&mut self, k: usize, shape: Shape) -> NodeId {
        let one = self.builder.constant(1.0);
        if shape == Shape::Scalar { one } else { self.builder.given(Op::Place, k as u32, shape, &[one]) }
    }

    pub(crate) fn finish(mut self, results: Vec<NodeId>) -> Graph {
        self.regions.push(self.builder.finish(results));
        let main = RegionId(self.regions.len() as u32 - 1);
        compact(Graph { regions: self.regions, main, inputs: self.named })
    }
}

/// A graph with some of its results only.
pub(crate) fn select(graph: &Graph, results: &[usize]) -> Graph {
    let mut graph = graph.clone();
    let main = &mut graph.regions[graph.main.0 as usize];
    main.results = results.iter().map(|&r| main.results[r]).collect();
    compact(graph)
}
