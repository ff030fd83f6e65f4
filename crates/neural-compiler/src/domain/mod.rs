//! The safe domain, checked before anything runs. In: a graph and a box of inputs; out: a warning for each operation that may
//! leave its domain for some input of the box, or make a NaN of numbers, and a note where only overflow leads there.
//!
//! Sound, not complete: bounds are propagated as intervals (`ops::interval`, `operation`), quantities are compared with sums they are
//! part of (`relation`), branches are entered with what their test says (`refine`), loops and recursion are run to a fixed point with
//! widening. Silence is a proof; a warning may be too careful.
//!
//! Further passes tell dangers from overflow at the far end of ranges that have none: one follows only runs in which no operation makes
//! an infinity of finite numbers, another all runs on inputs of moderate size. What neither finds needs inputs beyond that size, and an
//! overflow on the way. Whether anything overflows at all is told apart (`stays_finite`): an infinity is in the domain of most operations.

mod enclose;
mod matrix;
mod operation;
mod refine;
mod relation;
mod report;
mod values;

use crate::Shape;
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::ops::interval::Interval;
use crate::ops::real::{Dtype, Real};
use crate::ops::row::TensorFn;
use crate::source::Span;
use report::Found;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use values::{Abs, bottom, join, same, widen};

pub use enclose::Enclosure;

/// Work is bounded: beyond so many visits of nodes and their elements the analysis gives up and says so.
const MOST_VISITS: usize = 20_000_000;

/// Checks a graph for inputs in these ranges, as it would run in `dtype`. `None` means any finite number; so does an infinite end, on
/// its side. No finding is a proof that no run on such inputs traps or stops at an index. Notes alone are a proof for all runs in which
/// no operation overflows, and for all runs in which the inputs without bounds are not larger than `MODERATE`.
pub fn check(graph: &Graph, ranges: &[Option<(f64, f64)>], dtype: Dtype) -> Vec<Diagnostic> {
    match dtype {
        Dtype::F32 => classified::<f32>(graph, ranges),
        Dtype::F64 => classified::<f64>(graph, ranges),
    }
}

/// Whether it is proved that no operation of a graph gives an infinity for inputs in these ranges, as they are above: nothing overflows.
/// `false`: one may, or it is not known.
pub fn stays_finite(graph: &Graph, ranges: &[Option<(f64, f64)>], dtype: Dtype) -> bool {
    let whole: Vec<(f64, f64)> = (0..graph.inputs.len()).map(|i| ends(ranges, i)).collect();
    match dtype {
        Dtype::F32 => Analysis::<f32>::analysed(graph, &whole, false).is_ok_and(|a| !a.infinite),
        Dtype::F64 => Analysis::<f64>::analysed(graph, &whole, false).is_ok_and(|a| !a.infinite),
    }
}

/// The ends of the range of an input; none are infinite.
fn ends(ranges: &[Option<(f64, f64)>], i: usize) -> (f64, f64) {
    ranges.get(i).copied().flatten().unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
}

/// Inputs without bounds are of moderate size up to this, or to twice the bound they have.
pub const MODERATE: f64 = 1e6;

fn classified<T: Checked>(graph: &Graph, ranges: &[Option<(f64, f64)>]) -> Vec<Diagnostic> {
    let whole: Vec<(f64, f64)> = (0..graph.inputs.len()).map(|i| ends(ranges, i)).collect();
    let everywhere = match Analysis::<T>::run(graph, &whole, false) {
        Ok(found) => found,
        Err(gave_up) => return vec![gave_up],
    };
    if everywhere.is_empty() || whole.iter().all(|(lo, hi)| lo.is_finite() && hi.is_finite()) {
        return everywhere.into_values().collect();
    }
    let size = |bound: f64| if bound.is_finite() { MODERATE.max(2.0 * bound.abs()) } else { MODERATE };
    let moderate = |&(lo, hi): &(f64, f64)| (if lo.is_finite() { lo } else { -size(hi) }, if hi.is_finite() { hi } else { size(lo) });
    let moderate: Vec<(f64, f64)> = whole.iter().map(moderate).collect();
    match (Analysis::<T>::run(graph, &whole, true), Analysis::<T>::run(graph, &moderate, false)) {
        (Ok(without_overflow), Ok(moderate)) => report::classify(everywhere, without_overflow, moderate),
        (Err(gave_up), _) | (_, Err(gave_up)) => vec![gave_up],
    }
}

/// Types the analysis runs in: they know their limits and interval kernels.
trait Checked: Real {
    fn largest() -> Self;
    /// The smallest normal number.
    fn smallest() -> f64;
    /// The relative error of one rounding.
    fn rounding() -> f64;
    fn interval_kernel(kernel: &crate::ops::row::TensorKernel) -> TensorFn<Interval<Self>>;
}

macro_rules! checked {
    ($t:ident, $kernel:ident) => {
        impl Checked for $t {
            fn largest() -> $t {
                $t::MAX
            }
            fn smallest() -> f64 {
                f64::from($t::MIN_POSITIVE)
            }
            fn rounding() -> f64 {
                f64::from($t::EPSILON) / 2.0
            }
            fn interval_kernel(kernel: &crate::ops::row::TensorKernel) -> TensorFn<Interval<$t>> {
                kernel.$kernel
            }
        }
    };
}

checked!(f32, i32);
checked!(f64, i64);

/// What is known of a function over all its calls.
#[derive(Clone)]
struct Summary<T> {
    params: Vec<Abs<T>>,
    results: Vec<Abs<T>>,
}

struct Analysis<'a, T> {
    graph: &'a Graph,
    summaries: BTreeMap<u32, Summary<T>>,
    changed: bool,
    reporting: bool,
    found: Found,
    /// Only runs without overflow are followed.
    finite: bool,
    /// A value may be infinite.
    infinite: bool,
    /// Bounds to try before giving up a bound: the constants of the program.
    thresholds: Vec<T>,
    rounds: usize,
    visits: usize,
}

impl<'a, T: Checked> Analysis<'a, T> {
    /// The findings, or that the program is too large.
    fn run(graph: &'a Graph, ranges: &[(f64, f64)], finite: bool) -> Result<Found, Diagnostic> {
        Analysis::<T>::analysed(graph, ranges, finite).map(|a| a.found)
    }

    /// A finished analysis, or that the program is too large.
    fn analysed(graph: &'a Graph, ranges: &[(f64, f64)], finite: bool) -> Result<Analysis<'a, T>, Diagnostic> {
        let mut thresholds: Vec<f64> = vec![0.0, 1.0, -1.0];
        for node in graph.regions.iter().flat_map(|r| &r.nodes) {
            if let Kind::Const(bits) = node.kind {
                thresholds.push(f64::from_bits(bits));
            }
        }
        thresholds.retain(|x| x.is_finite());
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        let thresholds = if thresholds.len() <= 256 { thresholds } else { vec![-1.0, 0.0, 1.0] };
        let mut a = Analysis::<T>::beginning(graph, finite, thresholds);
        let inputs: Vec<Abs<T>> = graph
            .inputs
            .iter()
            .enumerate()
            .map(|(i, input)| {
                let (lo, hi) = ranges[i];
                let end = |x: f64, unbounded: T| if x.is_finite() { T::from_f64(x) } else { unbounded };
                values::uniform(Interval::hull([end(lo, -T::largest()), end(hi, T::largest())]), input.shape)
            })
            .collect();
        loop {
            a.changed = false;
            a.rounds += 1;
            a.everything(&inputs);
            if !a.changed || a.visits > MOST_VISITS {
                break;
            }
        }
        if a.visits <= MOST_VISITS {
            a.reporting = true;
            a.everything(&inputs);
        }
        if a.visits > MOST_VISITS {
            let span = graph.main().results.first().map_or(Default::default(), |&r| graph.main().node(r).span);
            return Err(Diagnostic::warning("domain-unknown", span, "the program is too large to prove that it stays in its domain"));
        }
        Ok(a)
    }

    /// Nothing is known yet.
    fn beginning(graph: &'a Graph, finite: bool, thresholds: Vec<f64>) -> Analysis<'a, T> {
        Analysis {
            graph,
            summaries: BTreeMap::new(),
            changed: false,
            reporting: false,
            found: BTreeMap::new(),
            finite,
            infinite: false,
            thresholds: thresholds.into_iter().map(T::from_f64).collect(),
            rounds: 0,
            visits: 0,
        }
    }

    fn everything(&mut self, inputs: &[Abs<T>]) {
        let results = self.region(self.graph.main, inputs, None);
        self.infinite |= self.reporting && results.iter().flatten().flatten().any(|x| x.has_infinity());
        let functions: Vec<u32> = self.summaries.keys().copied().collect();
        for f in functions {
            let params = self.summaries[&f].params.clone();
            let Some(results) = self.region(RegionId(f), &params, None) else { continue };
            let summary = self.summaries.get_mut(&f).expect("listed");
            let joined: Vec<Abs<T>> = summary.results.iter().zip(&results).map(|(a, b)| join(a, b)).collect();
            if joined.iter().zip(&summary.results).any(|(a, b)| !same(a, b)) {
                let wide = if self.rounds > 6 {
                    joined.iter().zip(&summary.results).map(|(n, o)| widen(o, n, &self.thresholds)).collect()
                } else {
                    joined
                };
                summary.results = wide;
                self.changed = true;
            }
        }
    }

    /// Bounds of a region's results. `go_on`: only for runs whose first result is (not) 0; `None` when there is no such run.
    fn region(&mut self, id: RegionId, params: &[Abs<T>], go_on: Option<bool>) -> Option<Vec<Abs<T>>> {
        crate::deep(|| {
            let region = self.graph.region(id);
            let env = self.nodes(region, params, go_on, None);
            self.results(region, &env, go_on)
        })
    }

    fn results(&self, region: &Region, env: &[Vec<Abs<T>>], go_on: Option<bool>) -> Option<Vec<Abs<T>>> {
        let results: Vec<Abs<T>> = region.results.iter().map(|r| env[r.0 as usize][0].clone()).collect();
        if go_on.is_some_and(|wanted| !results[0][0].may_be(wanted)) {
            return None;
        }
        Some(results)
    }

    /// Bounds of every node; several for nodes with several results. `outer`: the enclosing region, its bounds, and which of its
    /// nodes the parameters are, for what a test says about an expression the branch computes again.
    fn nodes(&mut self, region: &Region, params: &[Abs<T>], go_on: Option<bool>, outer: Option<&Outer<'_, T>>) -> Vec<Vec<Abs<T>>> {
        let mut env: Vec<Vec<Abs<T>>> = Vec::with_capacity(region.nodes.len());
        let deciding = region.results.first().and_then(|&r| match region.node(r).kind {
            Kind::Proj(0) => Some(region.args(r)[0]),
            _ => None,
        });
        let mut index: Option<Index> = None;
        for id in region.ids() {
            self.visits += 1;
            let node = region.node(id);
            let args = region.args(id);
            let bounds = if self.visits > MOST_VISITS {
                self.give_up(node.kind, node.ty)
            } else {
                match node.kind {
                    Kind::Param(p) => vec![params[p as usize].clone()],
                    Kind::Const(bits) => vec![vec![Interval::point(T::from_f64(f64::from_bits(bits)))]],
                    Kind::Op(op, attr) => {
                        let mut result = self.operation(region, &env, id, op, attr);
                        if let Some(known) = outer.and_then(|o| o.same(region, id)) {
                            result.iter_mut().zip(known).for_each(|(r, k)| *r = r.meet(*k));
                        }
                        self.infinite |= self.reporting && result.iter().any(|x| x.has_infinity());
                        vec![result]
                    }
                    Kind::Proj(i) => vec![env[args[0].0 as usize][i as usize].clone()],
                    Kind::If(yes, no) => {
                        let index = index.get_or_insert_with(|| expressions(region));
                        self.choice(region, id, (yes, no), &env, index, if deciding == Some(id) { go_on } else { None })
                    }
                    Kind::Loop { body, carried, .. } => {
                        let operands: Vec<Abs<T>> = args.iter().map(|a| env[a.0 as usize][0].clone()).collect();
                        self.run_loop(body, carried as usize, operands)
                    }
                    Kind::Call(f) => {
                        let operands: Vec<Abs<T>> = args.iter().map(|a| env[a.0 as usize][0].clone()).collect();
                        self.call(f, operands)
                    }
                    Kind::Root { zero, slope, starts, .. } => {
                        let operands: Vec<Abs<T>> = args.iter().map(|a| env[a.0 as usize][0].clone()).collect();
                        self.root((zero, slope), starts as usize, &operands, node.span)
                    }
                    Kind::Back { .. } => {
                        self.report_unknown(node.span);
                        self.give_up(node.kind, node.ty)
                    }
                    Kind::Pack | Kind::Unpack(_) => self.give_up(node.kind, node.ty),
                }
            };
            env.push(bounds);
        }
        env
    }

    fn give_up(&self, kind: Kind, ty: Type) -> Vec<Abs<T>> {
        let types = match kind {
            Kind::If(r, _) | Kind::Call(r) | Kind::Root { solve: r, .. } => self.graph.region(r).result_types(),
            Kind::Loop { body, carried, .. } => self.graph.region(body).result_types()[1 + carried as usize..].to_vec(),
            Kind::Back { body, .. } => self.graph.region(body).result_types(),
            Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => vec![ty],
        };
        types.iter().map(|t| values::uniform(Interval::everything().or_nan(true), t.shape())).collect()
    }

    fn call(&mut self, f: RegionId, args: Vec<Abs<T>>) -> Vec<Abs<T>> {
        let graph = self.graph;
        let summary = self.summaries.entry(f.0).or_insert_with(|| {
            let region = graph.region(f);
            Summary {
                params: region.params.iter().map(|t| bottom(t.shape())).collect(),
                results: region.result_types().iter().map(|t| bottom(t.shape())).collect(),
            }
        });
        let joined: Vec<Abs<T>> = summary.params.iter().zip(&args).map(|(a, b)| join(a, b)).collect();
        if joined.iter().zip(&summary.params).any(|(a, b)| !same(a, b)) {
            let thresholds = &self.thresholds;
            summary.params =
                if self.rounds > 6 { joined.iter().zip(&summary.params).map(|(n, o)| widen(o, n, thresholds)).collect() } else { joined };
            self.changed = true;
        }
        summary.results.clone()
    }

    /// A root lies in its interval, if one is given, else anywhere; what is 0 there must be defined wherever it is looked for. That there
    /// is one is known where the signs at the ends of the interval are.
    fn root(&mut self, (zero, slope): (RegionId, RegionId), starts: usize, args: &[Abs<T>], span: Span) -> Vec<Abs<T>> {
        let somewhere = match args[..starts] {
            [ref from, ref to] => join(from, to),
            _ => args[0].iter().map(|_| Interval::everything()).collect(),
        };
        let at = |x: &Abs<T>| -> Vec<Abs<T>> { std::iter::once(x.clone()).chain(args[starts..].iter().cloned()).collect() };
        let reporting = std::mem::replace(&mut self.reporting, false);
        let mut ends = args[..starts].iter().map(|end| self.region(zero, &at(end), None).map(|r| r[0][0]));
        let (first, last) = (ends.next().flatten(), ends.next().flatten());
        drop(ends);
        self.reporting = reporting;
        let below = |x: &Interval<T>| !x.nan && x.hi < T::ZERO;
        let above = |x: &Interval<T>| !x.nan && x.lo > T::ZERO;
        let is_there = first.zip(last).is_some_and(|(a, b)| below(&a) && above(&b) || above(&a) && below(&b));
        self.region(zero, &at(&somewhere), None);
        self.region(slope, &at(&somewhere), None);
        if !is_there {
            self.report_no_root(span);
        }
        vec![somewhere]
    }

    fn run_loop(&mut self, body: RegionId, carried: usize, mut args: Vec<Abs<T>>) -> Vec<Abs<T>> {
        let reporting = std::mem::replace(&mut self.reporting, false);
        let mut rounds = 0;
        // Rounds that go on, to a fixed point.
        while let Some(next) = self.region(body, &args, Some(true)) {
            rounds += 1;
            let mut stable = true;
            for i in 0..carried {
                let joined = join(&args[i], &next[1 + i]);
                if !same(&joined, &args[i]) {
                    stable = false;
                    args[i] = if rounds > 12 { widen(&args[i], &joined, &self.thresholds) } else { joined };
                }
            }
            if stable || self.visits > MOST_VISITS {
                break;
            }
        }
        self.reporting = reporting;
        if reporting {
            self.region(body, &args, None);
        }
        let reporting = std::mem::replace(&mut self.reporting, false);
        let results = self.region(body, &args, Some(false));
        self.reporting = reporting;
        match results {
            Some(results) => results[1 + carried..].to_vec(),
            // The loop never ends, or nothing is known to reach it yet.
            None => self.graph.region(body).result_types()[1 + carried..].iter().map(|t| bottom(t.shape())).collect(),
        }
    }

    fn choice(
        &mut self,
        region: &Region,
        id: NodeId,
        (yes, no): (RegionId, RegionId),
        env: &[Vec<Abs<T>>],
        index: &Index,
        go_on: Option<bool>,
    ) -> Vec<Abs<T>> {
        let args = region.args(id);
        let test = env[args[0].0 as usize][0][0];
        let mut merged: Option<Vec<Abs<T>>> = None;
        for (branch, truth) in [(yes, true), (no, false)] {
            if !test.may_be(truth) {
                continue;
            }
            let mut scope = Scope { region, env, narrowed: FxHashMap::default() };
            if !self.refine(&mut scope, args[0], truth) {
                continue;
            }
            let params: Vec<Abs<T>> = args[1..].iter().map(|&a| scope.get(a).clone()).collect();
            let outer = Outer { scope: &scope, params: &args[1..], index };
            let inner = self.graph.region(branch);
            let env = crate::deep(|| self.nodes(inner, &params, go_on, Some(&outer)));
            if let Some(results) = self.results(inner, &env, go_on) {
                merged = Some(match merged {
                    None => results,
                    Some(m) => m.iter().zip(&results).map(|(a, b)| join(a, b)).collect(),
                });
            }
        }
        merged.unwrap_or_else(|| self.graph.region(yes).result_types().iter().map(|t| bottom(t.shape())).collect())
    }
}

/// A region's bounds, some of them narrowed by a test.
struct Scope<'a, T> {
    region: &'a Region,
    env: &'a [Vec<Abs<T>>],
    narrowed: FxHashMap<NodeId, Abs<T>>,
}

impl<T: Real> Scope<'_, T> {
    fn get(&self, id: NodeId) -> &Abs<T> {
        self.narrowed.get(&id).unwrap_or_else(|| &self.env[id.0 as usize][0])
    }

    fn scalar(&self, id: NodeId) -> Interval<T> {
        self.get(id)[0]
    }

    fn narrow(&mut self, id: NodeId, to: Interval<T>) {
        self.narrowed.insert(id, vec![to]);
    }
}

/// The expressions of a region, to find the one that computes the same as another: of the same arguments, and of the same shape, which
/// `eye`, `ones` and whatever spreads a number have besides.
type Index = FxHashMap<(Kind, Vec<NodeId>, Shape), NodeId>;

fn expressions(region: &Region) -> Index {
    region
        .ids()
        .filter(|&id| matches!(region.node(id).kind, Kind::Op(..) | Kind::Const(_)))
        .map(|id| ((region.node(id).kind, region.args(id).to_vec(), region.shape(id)), id))
        .collect()
}

/// What the region around a branch knows.
struct Outer<'a, T> {
    scope: &'a Scope<'a, T>,
    /// The outer node behind each parameter of the branch.
    params: &'a [NodeId],
    index: &'a Index,
}

impl<T: Real> Outer<'_, T> {
    /// The bounds of the outer node that computes the same as a node of the branch.
    fn same(&self, branch: &Region, id: NodeId) -> Option<&Abs<T>> {
        let args: Option<Vec<NodeId>> = branch
            .args(id)
            .iter()
            .map(|&a| match branch.node(a).kind {
                Kind::Param(p) => Some(self.params[p as usize]),
                kind @ Kind::Const(_) => self.index.get(&(kind, vec![], Shape::Scalar)).copied(),
                _ => None,
            })
            .collect();
        let outer = *self.index.get(&(branch.node(id).kind, args?, branch.shape(id)))?;
        // Nodes behind the choice are not bounded yet.
        ((outer.0 as usize) < self.scope.env.len()).then(|| self.scope.get(outer))
    }
}
