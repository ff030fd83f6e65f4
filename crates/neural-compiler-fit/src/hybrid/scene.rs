//! What the nets of a model see in the data. In: the law as a graph with columns for its inputs; out: the scale of what reaches each net,
//! and what each net says as a function of the free numbers.

use super::nets::Net;
use super::quiet::Voice;
use crate::algebraic::{Algebraic, Engines};
use crate::model::layout::Layout;
use neural_compiler::graph::{Graph, NodeId, giving};
use std::sync::Arc;

/// A law at the rows of the data.
pub(super) struct Scene {
    pub(super) graph: Graph,
    /// The free numbers; its inputs are those of the graph.
    pub(super) layout: Arc<Layout>,
    /// Per input of the graph its numbers, number by number; empty for shared ones.
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) rows: usize,
}

/// Rows looked at, at most: enough to know the size of things.
const ROWS: usize = 64;

impl Scene {
    /// The same without rows in which a number is missing, and with some of the others if there are many.
    pub(super) fn thinned(mut self) -> Scene {
        let whole = |i: usize| self.columns.iter().all(|c| c.chunks(self.rows).all(|part| part[i].is_finite()));
        let mut kept: Vec<usize> = (0..self.rows).filter(|&i| whole(i)).collect();
        if kept.len() > ROWS {
            kept = (0..ROWS).map(|k| kept[k * kept.len() / ROWS]).collect();
        }
        let rows = self.rows;
        self.columns.iter_mut().for_each(|c| *c = c.chunks(rows).flat_map(|part| kept.iter().map(|&i| part[i])).collect());
        self.rows = kept.len();
        self
    }

    /// A node of the graph as a model of its own that should be 0.
    fn node(&self, node: NodeId) -> Option<Algebraic> {
        let cut = giving(&self.graph, vec![node]);
        let zeros = vec![0.0; cut.outputs()[0].len() * self.rows];
        let engines = Engines::new(&Arc::new(cut), &self.layout);
        engines.check().ok()?;
        Some(Algebraic::new(Arc::new(engines), self.layout.clone(), self.columns.clone(), zeros, vec![], 1))
    }

    /// Shows every net what reaches it, and gives what it says. A net that is called inside a choice or a loop goes by the scale of 1
    /// and has no voice.
    pub(super) fn show(&self, nets: &mut [Net]) -> Vec<Voice> {
        if self.rows == 0 {
            return vec![];
        }
        let mut voices = Vec::new();
        for net in nets {
            for (reaching, said) in net.calls(&self.graph, &self.layout) {
                if let Some(Ok(values)) = self.node(reaching).map(|n| n.predict(&self.layout.start)) {
                    net.saw(&values);
                }
                voices.extend(self.node(said).map(|outputs| Voice { outputs }));
            }
        }
        voices
    }
}
