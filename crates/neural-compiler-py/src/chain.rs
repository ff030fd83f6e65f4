//! What differentiation frameworks ask for on top of a program: tangents pushed forward, cotangents pulled back, again and again.
//! In: a program without a tape and the links of the chain; out: one graph.
//!
//! Reverse mode does not go through a tape, and it never has to. With J the derivative of h at x, the program (x, c) -> Jᵀc is
//! itself differentiated by forward mode below it: along dx and dc its tangent is the pull-back of the seeds dc on h and c on J dx,
//! and the pull-back of v is the pull-back of c on J v, together with J v for c. So every chain, however long, is forward mode some
//! times and then reverse mode at most once ([`Form`]), and seeds that are not there are left out instead of multiplied by zero.

use crate::derive::Derived;
use neural_compiler::graph::{Graph, GraphInput, NodeId, Splice, select};
use neural_compiler::{Diagnostics, diff};

/// A link: forward or reverse mode with respect to some inputs of what comes before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Link {
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

/// What an inner input is.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// An input of the whole.
    Input(usize),
    /// Zero by structure.
    Zero,
}

/// An input of the whole, and its axes.
#[derive(Clone)]
struct Outer {
    input: GraphInput,
    axes: Vec<usize>,
}

/// A chain in its normal form: a graph made in forward mode, perhaps pulled back once.
struct Form {
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
pub(crate) struct Chained {
    pub(crate) derived: Derived,
    pub(crate) input_axes: Vec<Vec<usize>>,
}

/// Applies the links one after another.
pub(crate) fn apply(derived: Derived, chain: &[Link]) -> Result<Chained, Diagnostics> {
    let outer: Vec<Outer> = derived.graph.inputs.iter().map(|i| Outer { input: i.clone(), axes: i.shape.dims() }).collect();
    if chain.is_empty() {
        return Ok(Chained { derived, input_axes: outer.into_iter().map(|o| o.axes).collect() });
    }
    let mut form = Form {
        sources: (0..outer.len()).map(Source::Input).collect(),
        results: (0..derived.axes.len()).collect(),
        core: derived.graph,
        pull: None,
        outer,
        axes: derived.axes,
    };
    for link in chain {
        form = match link {
            Link::Jvp(wrt) => form.jvp(wrt),
            Link::Vjp { wrt, seeds } => form.vjp(wrt, seeds),
        };
    }
    form.lower()
}

/// Where `x` stands in a list.
fn place<T: PartialEq>(list: &[T], x: &T) -> Option<usize> {
    list.iter().position(|y| y == x)
}

impl Form {
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
            Source::Zero => Source::Zero,
        }
    }

    fn jvp(self, wrt: &[usize]) -> Form {
        let n = self.core.inputs.len();
        let m = self.core.outputs().len();
        let outer = self.with_tangents(wrt);
        let axes = [self.axes.clone(), self.axes.clone()].concat();
        let mut along = self.inner(wrt);
        let Some(pull) = &self.pull else {
            let mut sources = self.sources.clone();
            sources.extend(along.iter().map(|&j| self.tangent(self.sources[j], wrt)));
            let results = self.results.iter().copied().chain(self.results.iter().map(|r| m + r)).collect();
            return Form { core: diff::jvp(&self.core, &along), pull: None, outer, sources, results, axes };
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
        Form { core: diff::jvp(&self.core, &along), pull: Some(both), outer, sources, results, axes }
    }

    fn vjp(self, wrt: &[usize], seeds: &[usize]) -> Form {
        let n = self.core.inputs.len();
        let m = self.core.outputs().len();
        let mut outer = self.outer.clone();
        let (inner_inputs, inner_outputs) = (&self.core.inputs, self.core.outputs());
        outer.extend(seeds.iter().map(|&k| {
            let r = self.results[k];
            let shape = if r < m { inner_outputs[r] } else { inner_inputs[self.pull.as_ref().expect("a cotangent")[r - m]].shape };
            Outer { input: GraphInput { name: format!("bar.{k}"), shape }, axes: self.axes[k].clone() }
        }));
        let axes = wrt.iter().map(|&o| self.outer[o].axes.clone()).collect();
        // The seed of a result of the form so far.
        let seed =
            |r: usize| seeds.iter().position(|&k| self.results[k] == r).map_or(Source::Zero, |at| Source::Input(self.outer.len() + at));
        let (inputs, old_seeds) = self.sources.split_at(n);
        let mut sources = inputs.to_vec();
        let Some(pull) = &self.pull else {
            let inner: Vec<usize> = wrt.iter().map(|&o| place(inputs, &Source::Input(o)).expect("an input of the program")).collect();
            sources.extend((0..m).map(seed));
            let results = (0..inner.len()).map(|i| m + i).collect();
            return Form { core: self.core, pull: Some(inner), outer, sources, results, axes };
        };
        let given: Vec<(usize, Source)> = pull.iter().enumerate().map(|(i, &j)| (j, seed(m + i))).filter(|g| g.1 != Source::Zero).collect();
        let along: Vec<usize> = given.iter().map(|g| g.0).collect();
        sources.extend(given.iter().map(|g| g.1));
        sources.extend((0..m).map(seed));
        sources.extend(old_seeds);
        let mut inner = Vec::new();
        let results = wrt
            .iter()
            .map(|&o| match place(inputs, &Source::Input(o)) {
                Some(j) => {
                    inner.push(j);
                    2 * m + inner.len() - 1
                }
                // A seed: its cotangent is the tangent of the result it belongs to.
                None => m + place(old_seeds, &Source::Input(o)).expect("an input is an input of the program, a tangent or a seed"),
            })
            .collect();
        Form { core: diff::jvp(&self.core, &along), pull: Some(inner), outer, sources, results, axes }
    }

    fn lower(self) -> Result<Chained, Diagnostics> {
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
            })
            .collect();
        let mut found: Vec<Option<NodeId>> = vec![None; m];
        let mut cotangents = Vec::new();
        if let Some(pull) = &self.pull {
            let seeded: Vec<usize> = (0..m).filter(|&r| self.sources[n + r] != Source::Zero).collect();
            if seeded.is_empty() {
                cotangents = pull.iter().map(|&j| s.builder.zeros(self.core.inputs[j].shape)).collect();
            } else {
                let back = diff::vjp(&select(&self.core, &seeded), pull)?;
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
        let input_axes = self.outer.into_iter().map(|o| o.axes).collect();
        Ok(Chained { derived: Derived { graph: s.finish(results), axes: self.axes }, input_axes })
    }
}
