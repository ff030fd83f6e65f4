//! Tangents pushed forward and cotangents pulled back, again and again. In: a graph without a tape and the links of the chain; out: one
//! graph.
//!
//! Reverse mode does not go through a tape, and it never has to. With J the derivative of h at x, the program (x, c) -> Jᵀc is
//! itself differentiated by forward mode below it: along dx and dc its tangent is the pull-back of the seeds dc on h and c on J dx,
//! and the pull-back of v is the pull-back of c on J v, together with J v for c. So every chain, however long, is forward mode some
//! times and then reverse mode at most once ([`Form`]), and seeds that are not there are left out instead of multiplied by zero.
//!
//! A graph with a tape that `diff` made remembers its form ([`Graph::origin`]): pulled back, it is lowered anew from there. A graph that
//! was put together from such graphs by hand has none; it is pulled back by forward mode, one run for each number ([`transposed`]).

use super::derive::Derived;
use super::repeat::{Copies, block};
use super::{distinct, jvp, pull_back};
use crate::diagnostic::Diagnostics;
use crate::graph::{Graph, GraphInput, NodeId, Splice, select};
use crate::ops::Op;
use crate::shape::Shape;
use std::sync::Arc;

/// A link: forward or reverse mode with respect to some inputs of what comes before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// Inputs: those before, then tangents of these; results: those before, then their tangents.
    Jvp(Vec<usize>),
    /// Inputs: those before, then cotangents of the results `seeds`; results: the cotangents of the inputs `wrt`, nothing else.
    Vjp {
        /// Inputs.
        wrt: Vec<usize>,
        /// Results that have a cotangent.
        seeds: Vec<usize>,
    },
}

/// The cotangent of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seed {
    /// None.
    Zero,
    /// That of a scalar program's gradient.
    One,
    /// An input.
    Given,
}

/// What an inner input is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Source {
    /// An input of the whole.
    Input(usize),
    /// Zero by structure.
    Zero,
    /// The constant.
    One,
}

/// An input of the whole, and its axes.
#[derive(Clone, Debug)]
struct Outer {
    input: GraphInput,
    axes: Vec<usize>,
}

/// A chain in its normal form: a graph made in forward mode, perhaps pulled back once.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    core: Graph,
    /// The inputs of `core` whose cotangents are wanted.
    pull: Option<Vec<usize>>,
    outer: Vec<Outer>,
    /// What the inputs of `core` are, then (when pulled back) the seeds of its results.
    sources: Vec<Source>,
    /// Which results of the whole: those of `core`, then (when pulled back) the cotangents of `pull`.
    results: Vec<usize>,
    axes: Vec<Vec<usize>>,
}

/// A chain as a graph, with the axes of its inputs and results.
pub struct Chained {
    /// The graph and the axes of its results.
    pub derived: Derived,
    /// The axes of its inputs.
    pub input_axes: Vec<Vec<usize>>,
}

/// Applies the links one after another.
pub fn chain(derived: Derived, links: &[Link]) -> Result<Chained, Diagnostics> {
    let mut form = Form::new(derived);
    if links.is_empty() {
        return Ok(Chained {
            derived: Derived { graph: form.core, axes: form.axes },
            input_axes: form.outer.into_iter().map(|o| o.axes).collect(),
        });
    }
    for link in links {
        form = match link {
            Link::Jvp(wrt) => form.jvp(wrt),
            Link::Vjp { wrt, seeds } => form.vjp(wrt, &seeds.iter().map(|&k| (k, Seed::Given)).collect::<Vec<_>>(), false),
        };
    }
    form.lower()
}

/// Where `x` stands in a list.
fn place<T: PartialEq>(list: &[T], x: &T) -> Option<usize> {
    list.iter().position(|y| y == x)
}

impl Form {
    fn new(derived: Derived) -> Form {
        let outer: Vec<Outer> = derived.graph.inputs.iter().map(|i| Outer { input: i.clone(), axes: i.shape.dims() }).collect();
        Form {
            sources: (0..outer.len()).map(Source::Input).collect(),
            results: (0..derived.axes.len()).collect(),
            core: derived.graph,
            pull: None,
            outer,
            axes: derived.axes,
        }
    }

    /// The form of a graph's results and the cotangents of its inputs `wrt`.
    pub(super) fn pulled(graph: &Graph, wrt: &[usize], seeds: &[Seed]) -> Form {
        let form = graph.origin.as_deref().cloned().unwrap_or_else(|| Form::new(Derived::new(graph.clone())));
        form.vjp(wrt, &seeds.iter().copied().enumerate().collect::<Vec<_>>(), true)
    }

    /// The form with some of its results only; none where one is there twice.
    pub(crate) fn select(&self, results: &[usize]) -> Option<Form> {
        let some = |r: &usize| self.results[*r];
        distinct(results).then(|| Form {
            results: results.iter().map(some).collect(),
            axes: results.iter().map(|&r| self.axes[r].clone()).collect(),
            ..self.clone()
        })
    }

    /// The inner inputs that stand for inputs of the whole in `wrt`.
    fn inner(&self, wrt: &[usize]) -> Vec<usize> {
        (0..self.core.inputs.len()).filter(|&j| matches!(self.sources[j], Source::Input(o) if wrt.contains(&o))).collect()
    }

    /// Inputs of the whole followed by new ones that belong to old ones (tangents).
    fn with_tangents(&self, wrt: &[usize]) -> Vec<Outer> {
        let mut outer = self.outer.clone();
        outer.extend(wrt.iter().map(|&o| {
            let Outer { input, axes } = &self.outer[o];
            Outer { input: GraphInput { name: format!("d.{}", input.name), shape: input.shape }, axes: axes.clone() }
        }));
        outer
    }

    /// The tangent of what a source stands for.
    fn tangent(&self, source: Source, wrt: &[usize]) -> Source {
        match source {
            Source::Input(o) => place(wrt, &o).map_or(Source::Zero, |at| Source::Input(self.outer.len() + at)),
            Source::Zero | Source::One => Source::Zero,
        }
    }

    /// The shape of a result of the form.
    fn shape(&self, r: usize) -> Shape {
        let outputs = self.core.outputs();
        match r.checked_sub(outputs.len()) {
            None => outputs[r],
            Some(i) => self.core.inputs[self.pull.as_ref().expect("a cotangent")[i]].shape,
        }
    }

    /// Forward mode along `wrt`: the results, then their tangents.
    pub(super) fn jvp(self, wrt: &[usize]) -> Form {
        let n = self.core.inputs.len();
        let m = self.core.outputs().len();
        let outer = self.with_tangents(wrt);
        let axes = [self.axes.clone(), self.axes.clone()].concat();
        let mut along = self.inner(wrt);
        let Some(pull) = &self.pull else {
            let mut sources = self.sources.clone();
            sources.extend(along.iter().map(|&j| self.tangent(self.sources[j], wrt)));
            let results = self.results.iter().copied().chain(self.results.iter().map(|r| m + r)).collect();
            return Form { core: jvp(&self.core, &along), pull: None, outer, sources, results, axes };
        };
        // The cotangent itself is wanted too: it is that of the direction.
        along.extend(pull.iter().copied().filter(|j| !along.contains(j)).collect::<Vec<_>>());
        let w = pull.len();
        let directions = pull.iter().map(|j| n + place(&along, j).expect("just added"));
        let both = pull.iter().copied().chain(directions).collect();
        let (inputs, seeds) = self.sources.split_at(n);
        let mut sources = inputs.to_vec();
        sources.extend(along.iter().map(|&j| self.tangent(inputs[j], wrt)));
        sources.extend(seeds.iter().map(|&s| self.tangent(s, wrt)));
        sources.extend(seeds);
        let value = |r: usize| if r < m { r } else { 2 * m + w + (r - m) };
        let tangent = |r: usize| if r < m { m + r } else { 2 * m + (r - m) };
        let results = self.results.iter().map(|&r| value(r)).chain(self.results.iter().map(|&r| tangent(r))).collect();
        Form { core: jvp(&self.core, &along), pull: Some(both), outer, sources, results, axes }
    }

    /// Reverse mode: the cotangents of the inputs `wrt`, behind the results themselves where those are kept.
    fn vjp(self, wrt: &[usize], seeds: &[(usize, Seed)], keep: bool) -> Form {
        let n = self.core.inputs.len();
        let m = self.core.outputs().len();
        let mut outer = self.outer.clone();
        // The seed of each result of the form so far.
        let mut given: Vec<(usize, Source)> = Vec::new();
        for &(k, seed) in seeds {
            let source = match seed {
                Seed::Zero => continue,
                Seed::One => Source::One,
                Seed::Given => Source::Input(outer.len()),
            };
            if seed == Seed::Given {
                outer.push(Outer {
                    input: GraphInput { name: format!("bar.{k}"), shape: self.shape(self.results[k]) },
                    axes: self.axes[k].clone(),
                });
            }
            given.push((self.results[k], source));
        }
        let seed = |r: usize| given.iter().find(|g| g.0 == r).map_or(Source::Zero, |g| g.1);
        let mut axes: Vec<Vec<usize>> = if keep { self.axes.clone() } else { vec![] };
        axes.extend(wrt.iter().map(|&o| self.outer[o].axes.clone()));
        let (inputs, old_seeds) = self.sources.split_at(n);
        let mut sources = inputs.to_vec();
        let Some(pull) = &self.pull else {
            let inner: Vec<usize> = wrt.iter().map(|&o| place(inputs, &Source::Input(o)).expect("an input of the program")).collect();
            sources.extend((0..m).map(seed));
            let mut results = if keep { self.results.clone() } else { vec![] };
            results.extend((0..inner.len()).map(|i| m + i));
            return Form { core: self.core, pull: Some(inner), outer, sources, results, axes };
        };
        // A cotangent that is kept is that of its direction, so there is a direction even where there is no seed.
        let kept = |i: usize| keep && self.results.contains(&(m + i));
        let moved: Vec<(usize, Source)> = (pull.iter().enumerate())
            .map(|(i, &j)| (i, j, seed(m + i)))
            .filter(|&(i, _, s)| s != Source::Zero || kept(i))
            .map(|(_, j, s)| (j, s))
            .collect();
        let along: Vec<usize> = moved.iter().map(|g| g.0).collect();
        sources.extend(moved.iter().map(|g| g.1));
        sources.extend((0..m).map(seed));
        sources.extend(old_seeds);
        let mut inner = Vec::new();
        let mut wanted = |j: usize| {
            inner.push(j);
            2 * m + inner.len() - 1
        };
        let mut results: Vec<usize> = Vec::new();
        if keep {
            results.extend(
                self.results
                    .iter()
                    .map(|&r| if r < m { r } else { wanted(n + place(&along, &pull[r - m]).expect("there is a direction")) }),
            );
        }
        results.extend(wrt.iter().map(|&o| match place(inputs, &Source::Input(o)) {
            Some(j) => wanted(j),
            // A seed: its cotangent is the tangent of the result it belongs to.
            None => m + place(old_seeds, &Source::Input(o)).expect("an input is an input of the program, a tangent or a seed"),
        }));
        Form { core: jvp(&self.core, &along), pull: Some(inner), outer, sources, results, axes }
    }

    /// The form as a graph.
    pub(super) fn lower(self) -> Result<Chained, Diagnostics> {
        let n = self.core.inputs.len();
        let outputs = self.core.outputs();
        let m = outputs.len();
        let mut s = Splice::new("main", self.outer.iter().map(|o| o.input.clone()).collect());
        let shapes = self.core.inputs.iter().map(|i| i.shape).chain(outputs.iter().copied());
        let nodes: Vec<NodeId> = self
            .sources
            .iter()
            .zip(shapes)
            .map(|(source, shape)| match *source {
                Source::Input(o) => s.inputs[o],
                Source::Zero => s.builder.zeros(shape),
                Source::One => s.builder.constant(1.0),
            })
            .collect();
        let mut found: Vec<Option<NodeId>> = vec![None; m];
        let mut cotangents = Vec::new();
        if let Some(pull) = &self.pull {
            let seeded: Vec<usize> = (0..m).filter(|&r| self.sources[n + r] != Source::Zero).collect();
            if seeded.is_empty() {
                cotangents = pull.iter().map(|&j| s.builder.zeros(self.core.inputs[j].shape)).collect();
            } else {
                let back = pull_back(&select(&self.core, &seeded), pull, &vec![Seed::Given; seeded.len()])?;
                let args: Vec<NodeId> = nodes[..n].iter().copied().chain(seeded.iter().map(|&r| nodes[n + r])).collect();
                let out = s.run(&back, &args);
                seeded.iter().zip(&out).for_each(|(&r, &v)| found[r] = Some(v));
                cotangents = out[seeded.len()..].to_vec();
            }
        }
        if self.results.iter().any(|&r| r < m && found[r].is_none()) {
            let out = s.run(&self.core, &nodes[..n]);
            found.iter_mut().zip(out).for_each(|(f, v)| *f = f.or(Some(v)));
        }
        let results = self.results.iter().map(|&r| if r < m { found[r].expect("computed above") } else { cotangents[r - m] }).collect();
        let mut graph = s.finish(results);
        let input_axes = self.outer.iter().map(|o| o.axes.clone()).collect();
        let axes = self.axes.clone();
        if self.pull.is_some() && graph.is_taped() {
            graph.origin = Some(Arc::new(self));
        }
        Ok(Chained { derived: Derived { graph, axes }, input_axes })
    }
}

/// Reverse mode by forward mode: each number of a cotangent is the product of the seeds with the tangents along one direction.
pub(super) fn transposed(graph: &Graph, wrt: &[usize], seeds: &[Seed]) -> Graph {
    let outputs = graph.outputs();
    let mut named = graph.inputs.clone();
    let given = seeds.iter().enumerate().filter(|(_, s)| **s == Seed::Given);
    named.extend(given.map(|(k, _)| GraphInput { name: format!("bar.{k}"), shape: outputs[k] }));
    let mut s = Splice::new("main", named);
    let inputs = s.inputs[..graph.inputs.len()].to_vec();
    let mut bars = s.inputs[graph.inputs.len()..].iter().copied();
    let bars: Vec<Option<NodeId>> = seeds
        .iter()
        .map(|seed| match seed {
            Seed::Zero => None,
            Seed::One => Some(s.builder.constant(1.0)),
            Seed::Given => bars.next(),
        })
        .collect();
    let mut results = s.run(graph, &inputs);
    let shapes: Vec<Shape> = wrt.iter().map(|&i| graph.inputs[i].shape).collect();
    let copies = Copies::new(&mut s, &jvp(graph, wrt), shapes.iter().map(|s| s.len()).sum());
    for (which, &shape) in shapes.iter().enumerate() {
        let tangents = copies.along_each(&mut s, &inputs, &shapes, which);
        let numbers: Vec<NodeId> = (0..shape.len())
            .map(|k| {
                let mut sum: Option<NodeId> = None;
                for (r, &bar) in bars.iter().enumerate() {
                    let Some(bar) = bar else { continue };
                    let products = s.builder.mul(bar, tangents[outputs.len() + r][k]);
                    let part = if outputs[r] == Shape::Scalar { products } else { s.builder.op(Op::Total, &[products]) };
                    sum = Some(sum.map_or(part, |sum| s.builder.add(sum, part)));
                }
                sum.unwrap_or_else(|| s.builder.constant(0.0))
            })
            .collect();
        results.push(block(&mut s.builder, &numbers, shape, Shape::Scalar));
    }
    s.finish(results)
}
