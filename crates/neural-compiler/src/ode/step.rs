//! One step of a solver as a graph. In: the law of a model; out: a graph from the states before a step to the states after it. Its
//! derivative by states and parameters, taken like that of any graph, is the exact derivative of the discretised solution.
//!
//! Within a step forcing is linear, from its value at the beginning to that at the end: exact for data that are linear between rows,
//! since no step crosses a row.

use super::band::Band;
use super::law::Law;
use super::schemes::{Explicit, Formula, Rosenbrock, Scheme};
use super::sparsity;
use crate::graph::{Builder, Graph, GraphInput, Kind, NodeId, Region, Type, assemble, copy};
use crate::ops::Op;
use crate::{Diagnostics, Shape, diff};

/// A step under construction.
struct Stage<'a> {
    b: Builder,
    regions: Vec<Region>,
    law: &'a Law,
    shared: Vec<NodeId>,
    time: NodeId,
    step: NodeId,
    /// Forcing at the beginning and at the end.
    forcing: Vec<(NodeId, NodeId)>,
}

impl Stage<'_> {
    fn at(&mut self, share: f64) -> Vec<NodeId> {
        let c = self.b.constant(share);
        let part = self.b.mul(c, self.step);
        let time = self.b.add(self.time, part);
        let mut inputs = self.shared.clone();
        inputs.push(time);
        for (from, to) in self.forcing.clone() {
            let change = self.b.sub(to, from);
            let part = self.b.mul(c, change);
            inputs.push(if share == 0.0 { from } else { self.b.add(from, part) });
        }
        inputs
    }

    /// The law at some states, a share of the step later.
    fn slope(&mut self, states: NodeId, share: f64) -> NodeId {
        let mut args = vec![states];
        args.extend(self.at(share));
        copy::inline(&mut self.b, self.law.graph.main(), &self.law.graph.regions, &args)[0]
    }

    /// A weighted sum of slopes; weights of 0 are left out.
    fn sum(&mut self, terms: &[(f64, NodeId)]) -> NodeId {
        let mut total: Option<NodeId> = None;
        for &(weight, slope) in terms.iter().filter(|t| t.0 != 0.0) {
            let w = self.b.constant(weight);
            let term = self.b.mul(w, slope);
            total = Some(total.map_or(term, |t| self.b.add(t, term)));
        }
        total.expect("a sum has a term")
    }

    /// States plus the step times a weighted sum.
    fn ahead(&mut self, states: NodeId, terms: &[(f64, NodeId)]) -> NodeId {
        let sum = self.sum(terms);
        let change = self.b.mul(self.step, sum);
        self.b.add(states, change)
    }
}

/// The graph of a step. Inputs: states, shared inputs, time, step, then for each forcing its value at the beginning and at the end.
/// Results: the states after the step and, where wanted, the error estimate.
pub fn step(law: &Law, scheme: Scheme, with_error: bool) -> Result<Graph, Diagnostics> {
    let mut b = Builder::new("step");
    let mut inputs: Vec<GraphInput> = Vec::new();
    let mut add = |b: &mut Builder, name: String, shape: Shape| {
        inputs.push(GraphInput { name, shape });
        b.param(Type::Value(shape))
    };
    let states = add(&mut b, "states".into(), Shape::Vector(law.size as u32));
    let shared = law.graph.inputs[1..1 + law.shared].iter().map(|i| add(&mut b, i.name.clone(), i.shape)).collect();
    let time = add(&mut b, "time".into(), Shape::Scalar);
    let step = add(&mut b, "step".into(), Shape::Scalar);
    let forcing =
        law.forcing().iter().map(|f| (add(&mut b, format!("{}.from", f.name), f.shape), add(&mut b, format!("{}.to", f.name), f.shape)));
    let forcing = forcing.collect();
    let mut stage = Stage { b, regions: law.graph.regions.clone(), law, shared, time, step, forcing };
    let mut results = match scheme.row().formula {
        Formula::Map => vec![stage.slope(states, 0.0)],
        Formula::Explicit(scheme) => explicit(&mut stage, states, &scheme),
        Formula::Rosenbrock(scheme) => rosenbrock(&mut stage, states, &scheme)?,
    };
    if !with_error {
        results.truncate(1);
    }
    Ok(assemble(stage.regions, stage.b.finish(results), inputs))
}

/// Weights with the slopes they belong to.
fn terms(weights: &[f64], slopes: &[NodeId]) -> Vec<(f64, NodeId)> {
    weights.iter().copied().zip(slopes.iter().copied()).collect()
}

/// Slopes at stages, and two sums of them: the step and, if it has weights, the error.
fn explicit(s: &mut Stage<'_>, x: NodeId, scheme: &Explicit) -> Vec<NodeId> {
    let mut slopes = vec![s.slope(x, 0.0)];
    for (&node, row) in scheme.nodes.iter().zip(scheme.stages) {
        let states = s.ahead(x, &terms(row, &slopes));
        slopes.push(s.slope(states, node));
    }
    let mut results = vec![s.ahead(x, &terms(scheme.weights, &slopes))];
    if !scheme.error.is_empty() {
        let sum = s.sum(&terms(scheme.error, &slopes));
        results.push(s.b.mul(s.step, sum));
    }
    results
}

/// Stages by solves with one matrix, the last of them the error.
fn rosenbrock(s: &mut Stage<'_>, x: NodeId, scheme: &Rosenbrock) -> Result<Vec<NodeId>, Diagnostics> {
    // The Jacobian of the law at the beginning, and its derivative by time, forcing included.
    let law = &s.law.graph;
    let mut args = vec![x];
    args.extend(s.at(0.0));
    let pattern = sparsity::pattern(law, s.law.size);
    let moving: Vec<usize> = (1 + s.law.shared..law.inputs.len()).collect();
    let along = diff::jvp(law, &moving);
    let one = s.b.constant(1.0);
    let mut with = args.clone();
    with.push(one);
    for (from, to) in s.forcing.clone() {
        let change = s.b.sub(to, from);
        with.push(s.b.div(change, s.step));
    }
    let by_time = adopt(s, &along, &with)[1];
    let gamma = s.b.constant(scheme.gamma);
    let scaled = s.b.mul(gamma, s.step);
    let reciprocal = s.b.div(one, scaled);
    let system = match Band::new(&pattern) {
        Some(band) => System::banded(s, band, &args, reciprocal),
        None => {
            let jacobian = jacobian(s, &pattern, &args)?;
            let identity = matrix(s, |i, j| (i == j).then_some(one));
            let diagonal = s.b.mul(reciprocal, identity);
            System::Whole(s.b.sub(diagonal, jacobian))
        }
    };
    let mut slopes: Vec<NodeId> = Vec::new();
    let mut states = x;
    for i in 0..scheme.nodes.len() {
        if i > 0 {
            let sum = s.sum(&terms(scheme.states[i], &slopes));
            states = s.b.add(x, sum);
        }
        let mut rhs = s.slope(states, scheme.nodes[i]);
        if i > 0 {
            let sum = s.sum(&terms(scheme.slopes[i], &slopes));
            let part = s.b.div(sum, s.step);
            rhs = s.b.add(rhs, part);
        }
        if scheme.time[i] != 0.0 {
            let weight = s.b.constant(scheme.time[i]);
            let weight = s.b.mul(weight, s.step);
            let part = s.b.mul(weight, by_time);
            rhs = s.b.add(rhs, part);
        }
        slopes.push(system.solve(s, rhs));
    }
    let error = slopes[slopes.len() - 1];
    // Beside an infinite slope of the law all stages are 0, and with them the error of a step that goes nowhere.
    let nothing = system.nothing(s);
    Ok(vec![s.b.add(states, error), s.b.add(error, nothing)])
}

/// The matrix of all stages.
enum System {
    /// As one value.
    Whole(NodeId),
    /// By its diagonals.
    Banded(Band, Vec<NodeId>),
}

impl System {
    /// A number on the main diagonal less the Jacobian, which is a band.
    fn banded(s: &mut Stage<'_>, band: Band, args: &[NodeId], main: NodeId) -> System {
        let seeds = band.seeds(&mut s.b);
        let slopes = along_states(s, args, &seeds);
        let mut diagonals = band.diagonals(&mut s.b, &slopes);
        for (k, d) in diagonals.iter_mut().enumerate() {
            *d = if k == band.below { s.b.sub(main, *d) } else { s.b.neg(*d) };
        }
        System::Banded(band, diagonals)
    }

    /// 0, or NaN where one of its numbers is not finite.
    fn nothing(&self, s: &mut Stage<'_>) -> NodeId {
        let parts = match self {
            System::Whole(matrix) => std::slice::from_ref(matrix),
            System::Banded(_, diagonals) => diagonals,
        };
        let zero = s.b.constant(0.0);
        let mut total = zero;
        for part in parts {
            let nothing = s.b.mul(zero, *part);
            let sum = s.b.op(Op::Total, &[nothing]);
            total = s.b.add(total, sum);
        }
        total
    }

    fn solve(&self, s: &mut Stage<'_>, right: NodeId) -> NodeId {
        match self {
            System::Whole(matrix) => s.b.op(Op::Solve, &[*matrix, right]),
            System::Banded(band, diagonals) => {
                let mut args = diagonals.clone();
                args.push(band.ordered(&mut s.b, right));
                let x = s.b.given(Op::SolveBand, band.below as u32, s.b.shape(right), &args);
                band.unordered(&mut s.b, x)
            }
        }
    }
}

/// Derivatives of the law along some vectors of states.
fn along_states(s: &mut Stage<'_>, args: &[NodeId], directions: &[NodeId]) -> Vec<NodeId> {
    let along = diff::jvp(&s.law.graph, &[0]);
    let one = |direction: &NodeId| {
        let mut with = args.to_vec();
        with.push(*direction);
        adopt(s, &along, &with)[1]
    };
    directions.iter().map(one).collect()
}

/// The Jacobian of the law by the states; where few states depend on each other, from a few derivatives along many states at once.
fn jacobian(s: &mut Stage<'_>, pattern: &[Vec<usize>], args: &[NodeId]) -> Result<NodeId, Diagnostics> {
    let n = s.law.size;
    let states = [Shape::Vector(n as u32)];
    diff::blocks_fit(&states, &states).map_err(|e| e.help("explicit methods (--method dopri5) need no Jacobian"))?;
    let shape = Shape::Matrix(n as u32, n as u32);
    let colours = sparsity::colours(pattern, n);
    let count = colours.iter().max().map_or(0, |c| c + 1);
    if 2 * count >= n {
        let found = adopt(s, &diff::jacobian(&s.law.graph, &[0])?, args)[1];
        return Ok(if s.b.shape(found) == shape { found } else { s.b.given(Op::Join, 0, shape, &[found]) });
    }
    let (zero, one) = (s.b.constant(0.0), s.b.constant(1.0));
    let seed = |s: &mut Stage<'_>, colour: usize| {
        let seed: Vec<NodeId> = colours.iter().map(|&c| if c == colour { one } else { zero }).collect();
        s.b.given(Op::Join, 0, Shape::Vector(n as u32), &seed)
    };
    let seeds: Vec<NodeId> = (0..count).map(|colour| seed(s, colour)).collect();
    let slopes = along_states(s, args, &seeds);
    let mut entries = vec![None; n * n];
    for (i, row) in pattern.iter().enumerate() {
        for &j in row {
            entries[i * n + j] = Some(s.b.given(Op::Cut, i as u32, Shape::Scalar, &[slopes[colours[j]]]));
        }
    }
    Ok(matrix(s, |i, j| entries[i * n + j]))
}

/// Zeros in a row from which on they are one part of a matrix.
const MANY_ZEROS: usize = 8;

/// A square matrix of so many rows as there are states, zeros where there is no entry.
fn matrix(s: &mut Stage<'_>, entry: impl Fn(usize, usize) -> Option<NodeId>) -> NodeId {
    let n = s.law.size;
    let zero = s.b.constant(0.0);
    let mut parts = Vec::new();
    let mut zeros = 0;
    for k in 0..=n * n {
        let there = if k < n * n { entry(k / n, k % n) } else { None };
        if there.is_none() && k < n * n {
            zeros += 1;
            continue;
        }
        if zeros < MANY_ZEROS {
            parts.resize(parts.len() + zeros, zero);
        } else {
            parts.push(s.b.zeros(Shape::Vector(zeros as u32)));
        }
        zeros = 0;
        parts.extend(there);
    }
    s.b.given(Op::Join, 0, Shape::Matrix(n as u32, n as u32), &parts)
}

/// Inlines another graph, whose regions join those of the step.
fn adopt(s: &mut Stage<'_>, graph: &Graph, args: &[NodeId]) -> Vec<NodeId> {
    let main = copy::adopt(&mut s.regions, graph);
    copy::inline(&mut s.b, &s.regions[main.0 as usize], &s.regions, args)
}

/// About how many operations on numbers a graph takes, every region once.
pub fn price(graph: &Graph) -> f64 {
    let node = |r: &Region, id: NodeId| {
        let out = r.shape(id).len() as f64;
        let first = r.args(id).first().map_or(0.0, |a| r.shape(*a).len() as f64);
        match r.node(id).kind {
            // Factors by elimination.
            Kind::Op(Op::Solve | Op::Inv | Op::Det, _) => first.powf(1.5) / 3.0 + first,
            // With diagonals below and above the main one, about half of them each.
            Kind::Op(Op::SolveBand, _) => out * (r.args(id).len() as f64).powi(2) / 2.0,
            Kind::Op(Op::Product, _) => first.max(out),
            Kind::Op(..) => out,
            _ => 0.0,
        }
    };
    graph.regions().iter().map(|r| r.ids().map(|id| node(r, id)).sum::<f64>()).sum()
}
