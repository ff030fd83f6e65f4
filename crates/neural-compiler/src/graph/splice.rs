//! Graphs put together from graphs. In: graphs whose main regions are to be run one after another; out: one graph.
//! Invariant: equal pure nodes of the parts become one node, so parts that share work share it once.

use super::{Builder, Graph, GraphInput, Kind, NodeId, Region, RegionId, Type, compact, copy, verify};
use std::sync::Arc;

/// A graph under construction.
pub struct Splice {
    /// Its main region.
    pub builder: Builder,
    /// The inputs, as nodes.
    pub inputs: Vec<NodeId>,
    named: Vec<GraphInput>,
    regions: Vec<Region>,
}

/// A graph whose regions have been taken over.
#[derive(Clone, Copy)]
pub struct Part(RegionId);

impl Splice {
    /// A graph with these inputs; `name` is that of its main region.
    pub fn new(name: &str, inputs: Vec<GraphInput>) -> Splice {
        let mut builder = Builder::new(name);
        let nodes = inputs.iter().map(|i| builder.param(Type::Value(i.shape))).collect();
        Splice { builder, inputs: nodes, named: inputs, regions: Vec::new() }
    }

    /// Takes over the regions of a graph.
    pub fn adopt(&mut self, graph: &Graph) -> Part {
        Part(copy::adopt(&mut self.regions, graph))
    }

    /// Copies a part, run on these arguments, into the main region; gives its results.
    pub fn inline(&mut self, part: Part, args: &[NodeId]) -> Vec<NodeId> {
        copy::inline(&mut self.builder, &self.regions[part.0.0 as usize], &self.regions, args)
    }

    /// Runs a part on these arguments by a call, which all calls of it share; gives its results.
    pub fn call(&mut self, part: Part, args: &[NodeId]) -> Vec<NodeId> {
        let types = self.regions[part.0.0 as usize].result_types();
        self.builder.many(Kind::Call(part.0), args, &types)
    }

    /// Takes a graph over and copies it once.
    pub fn run(&mut self, graph: &Graph, args: &[NodeId]) -> Vec<NodeId> {
        let part = self.adopt(graph);
        self.inline(part, args)
    }

    /// The graph that gives these results.
    pub fn finish(self, results: Vec<NodeId>) -> Graph {
        assemble(self.regions, self.builder.finish(results), self.named)
    }
}

/// A graph with a new main region that runs some of these regions.
pub fn assemble(mut regions: Vec<Region>, main: Region, inputs: Vec<GraphInput>) -> Graph {
    regions.push(main);
    let main = RegionId(regions.len() as u32 - 1);
    let graph = compact(Graph { regions, main, inputs, origin: None });
    debug_assert_eq!(verify::verify(&graph), Ok(()));
    graph
}

/// The graph that gives these values of the main region's.
pub fn giving(graph: &Graph, results: Vec<NodeId>) -> Graph {
    let mut graph = Graph { origin: None, ..graph.clone() };
    graph.regions[graph.main.0 as usize].results = results;
    compact(graph)
}

/// The graph with some of its results only.
pub fn select(graph: &Graph, results: &[usize]) -> Graph {
    let mut some = giving(graph, results.iter().map(|&r| graph.main().results[r]).collect());
    if let Some(form) = &graph.origin
        && some.is_taped()
    {
        some.origin = form.select(results).map(Arc::new);
    }
    some
}
