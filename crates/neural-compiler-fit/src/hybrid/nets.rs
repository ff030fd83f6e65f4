//! The nets of a program. In: its inputs and what reaches the nets; out: where training starts and how the weights are held.
//!
//! Training starts with hidden layers at random, on the scale of the inputs they will see, and the last layer at 0: a net says nothing
//! until the data make it.

use crate::model::layout::Layout;
use crate::optimise::penalised::Penalty;
use crate::support::random::Stream;
use neural_compiler::graph::{Graph, Kind, NodeId};
use neural_compiler::ops::Op;
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::{Program, Shape};

/// A layer: its numbers among the free ones, and its size.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    weight: usize,
    bias: usize,
    inputs: usize,
    outputs: usize,
}

/// A net.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    /// Its name.
    pub(crate) name: String,
    layers: Vec<Layer>,
    /// Mean and standard deviation of what reaches each of its inputs.
    seen: Vec<(f64, f64)>,
}

/// The free nets of a program.
pub(crate) fn nets(program: &Program, layout: &Layout) -> Vec<Net> {
    let mut nets: Vec<Net> = Vec::new();
    for shared in layout.shared.iter().filter(|s| s.weight) {
        let (InputKind::Weight { net, bias, .. }, Some(at)) = (&program.inputs()[shared.input].kind, shared.at) else { continue };
        let (outputs, inputs) = match shared.shape {
            Shape::Matrix(r, c) => (r as usize, c as usize),
            shape => (shape.len(), 0),
        };
        if *bias {
            // The bias of a layer comes right after its matrix.
            if let Some(layer) = nets.last_mut().and_then(|n| n.layers.last_mut()) {
                layer.bias = at;
            }
            continue;
        }
        if nets.last().is_none_or(|n| n.name != *net) {
            nets.push(Net { name: net.clone(), layers: vec![], seen: vec![(0.0, 1.0); inputs] });
        }
        let last = nets.len() - 1;
        nets[last].layers.push(Layer { weight: at, bias: 0, inputs, outputs });
    }
    nets
}

impl Net {
    /// Where a graph calls the net: the node of what reaches it and the node of what it says, one pair per call.
    pub(crate) fn calls(&self, graph: &Graph, layout: &Layout) -> Vec<(NodeId, NodeId)> {
        let main = graph.main();
        let param = |at: usize| layout.shared.iter().find(|s| s.at == Some(at)).map(|s| Kind::Param(s.input as u32));
        let (Some(first), Some(last)) = (self.layers.first(), self.layers.last()) else { return vec![] };
        let (Some(first), Some(weight), Some(bias)) = (param(first.weight), param(last.weight), param(last.bias)) else { return vec![] };
        let is = |id: NodeId, kind: Kind| main.node(id).kind == kind;
        let product = |id: NodeId, with: Kind| matches!(main.node(id).kind, Kind::Op(Op::Product, _)) && is(main.args(id)[0], with);
        let reaching = main.ids().filter(|&id| product(id, first)).map(|id| main.args(id)[1]);
        let said = main.ids().filter(|&id| {
            matches!(main.node(id).kind, Kind::Op(Op::Add, _)) && product(main.args(id)[0], weight) && is(main.args(id)[1], bias)
        });
        reaching.zip(said).collect()
    }

    /// Notes the scale of what reaches the net: `values` are all lanes of its first number, then of its second. A number that never moves
    /// counts on its own size.
    pub(crate) fn saw(&mut self, values: &[f64]) {
        let lanes = values.len() / self.seen.len();
        for (j, seen) in self.seen.iter_mut().enumerate() {
            let values: Vec<f64> = values[j * lanes..(j + 1) * lanes].iter().copied().filter(|x| x.is_finite()).collect();
            if values.is_empty() {
                continue;
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let spread = (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64).sqrt();
            *seen = (mean, if spread > 1e-9 * mean.abs() { spread } else { mean.abs().max(1.0) });
        }
    }

    /// Writes where training starts.
    pub(crate) fn start(&self, seed: u32, theta: &mut [f64]) {
        let salt = self.name.bytes().fold(17u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
        let mut stream = Stream::new(seed, salt);
        for (l, layer) in self.layers.iter().enumerate() {
            let last = l + 1 == self.layers.len();
            for o in 0..layer.outputs {
                let mut offset = 0.0;
                for i in 0..layer.inputs {
                    let (mean, spread) = self.seen_by(l, i);
                    let w = if last { 0.0 } else { stream.normal() / (layer.inputs as f64).sqrt() / spread };
                    theta[layer.weight + o * layer.inputs + i] = w;
                    offset += w * mean;
                }
                theta[layer.bias + o] = if last { 0.0 } else { 0.5 * stream.normal() - offset };
            }
        }
    }

    fn seen_by(&self, layer: usize, input: usize) -> (f64, f64) {
        if layer == 0 { self.seen[input] } else { (0.0, 1.0) }
    }

    /// Writes how the weights are held: relative to the last layer's; `hidden` is how much the others count beside it.
    fn hold(&self, hidden: f64, strength: &mut [f64]) {
        for (l, layer) in self.layers.iter().enumerate() {
            let last = l + 1 == self.layers.len();
            let (fan, factor) = (layer.inputs as f64, if last { 1.0 } else { hidden });
            let shift: f64 = (0..layer.inputs).map(|i| self.seen_by(l, i)).map(|(m, s)| (m / s).powi(2)).sum::<f64>() / fan;
            for o in 0..layer.outputs {
                for i in 0..layer.inputs {
                    strength[layer.weight + o * layer.inputs + i] = factor * fan * self.seen_by(l, i).1.powi(2);
                }
                // A constant the net adds is held only as much as needed to credit a constant of the known law first.
                strength[layer.bias + o] = if last { 1e-3 * fan / (1.0 + shift) } else { factor / (1.0 + shift) };
            }
        }
    }
}

/// How much more strongly hidden layers are held at their random start than the last at 0. (Measured on the paper's gravity with learned
/// drag, where a net of 1,251 weights stands beside 300 numbers: with 1 the net begins to learn the noise.)
const HIDDEN: f64 = 10.0;

/// How all weights are held around a centre, up to the factor the data decide; `numbers` are all free ones.
pub(crate) fn shape(nets: &[Net], centre: &[f64], hidden: f64) -> Penalty {
    let mut strength = vec![0.0; centre.len()];
    nets.iter().for_each(|n| n.hold(HIDDEN * hidden, &mut strength));
    Penalty { strength, centre: centre.to_vec() }
}
