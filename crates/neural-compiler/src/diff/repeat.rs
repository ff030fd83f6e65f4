//! A derivative taken along one unit direction after another. In: the graph of a derivative along a direction; out: its results for
//! every unit vector of one of the directions, and blocks of them.

use crate::graph::{Builder, Graph, NodeId, Part, Splice};
use crate::ops::Op;
use crate::shape::Shape;

/// Copies of nodes fold and share what a unit direction makes constant; beyond this size one shared region is the better deal.
const MOST_NODES: usize = 20_000;

/// A derivative to be run along many directions.
pub(super) struct Copies {
    part: Part,
    inline: bool,
    results: usize,
}

impl Copies {
    /// `along`: inputs, then a direction for each of some shapes. It will be run `times`.
    pub(super) fn new(s: &mut Splice, along: &Graph, times: usize) -> Copies {
        Copies { part: s.adopt(along), inline: along.main().nodes.len() * times <= MOST_NODES, results: along.outputs().len() }
    }

    /// Runs it along each unit vector of direction `which`, the other directions being zero: a list for each result.
    pub(super) fn along_each(&self, s: &mut Splice, inputs: &[NodeId], directions: &[Shape], which: usize) -> Vec<Vec<NodeId>> {
        let mut results: Vec<Vec<NodeId>> = vec![Vec::new(); self.results];
        for k in 0..directions[which].len() {
            let (zero, one) = (s.builder.constant(0.0), s.builder.constant(1.0));
            let mut args = inputs.to_vec();
            args.extend(directions.iter().enumerate().map(|(j, &shape)| match shape {
                _ if j != which => s.builder.fill(zero, shape),
                Shape::Scalar => one,
                _ => s.builder.given(Op::Place, k as u32, shape, &[one]),
            }));
            let out = if self.inline { s.inline(self.part, &args) } else { s.call(self.part, &args) };
            results.iter_mut().zip(out).for_each(|(list, r)| list.push(r));
        }
        results
    }
}

/// Joins one result per number of `of`, each of shape `with`, into a block.
pub(super) fn block(b: &mut Builder, parts: &[NodeId], of: Shape, with: Shape) -> NodeId {
    match (of, with) {
        (Shape::Scalar, _) => parts[0],
        (of, Shape::Scalar) => b.given(Op::Join, 0, of, parts),
        (of, with) => b.given(Op::Join, 0, Shape::Matrix(of.len() as u32, with.len() as u32), parts),
    }
}
