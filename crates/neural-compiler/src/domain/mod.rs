//! The safe domain, checked before anything runs. In: a graph and a box of inputs; out: a warning for each operation that may
//! leave its domain for some input of the box, or make a NaN of numbers.
//!
//! Sound, not complete: bounds are propagated as intervals (`ops::interval`), branches are entered with what their test says,
//! loops and recursion are run to a fixed point with widening. Silence is a proof; a warning may be too careful.

mod refine;
mod values;

use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::ops::domain::{Bound, Domain, bound};
use crate::ops::interval::Interval;
use crate::ops::real::{Dtype, Real};
use crate::ops::row::{Kernel, Operand, Row};
use crate::ops::{Op, row::TensorFn};
use crate::shape::Shape;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use values::{Abs, bottom, join, same, widen};

/// Work is bounded: beyond so many node visits the analysis gives up and says so.
const MOST_VISITS: usize = 20_000_000;

/// Checks a graph for inputs in these ranges (`None`: any finite number), as it would run in `dtype`.
pub fn check(graph: &Graph, ranges: &[Option<(f64, f64)>], dtype: Dtype) -> Vec<Diagnostic> {
    match dtype {
        Dtype::F32 => Analysis::<f32>::run(graph, ranges),
        Dtype::F64 => Analysis::<f64>::run(graph, ranges),
    }
}

/// Types the analysis runs in: they know their interval kernels.
trait Checked: Real {
    fn largest() -> Self;
    fn interval_kernel(kernel: &crate::ops::row::TensorKernel) -> TensorFn<Interval<Self>>;
}

impl Checked for f32 {
    fn largest() -> f32 {
        f32::MAX
    }
    fn interval_kernel(kernel: &crate::ops::row::TensorKernel) -> TensorFn<Interval<f32>> {
        kernel.i32
    }
}

impl Checked for f64 {
    fn largest() -> f64 {
        f64::MAX
    }
    fn interval_kernel(kernel: &crate::ops::row::TensorKernel) -> TensorFn<Interval<f64>> {
        kernel.i64
    }
}

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
    found: BTreeMap<(u32, u32, &'static str), Diagnostic>,
    /// Bounds to try before giving up a bound: the constants of the program.
    thresholds: Vec<T>,
    rounds: usize,
    visits: usize,
}

impl<T: Checked> Analysis<'_, T> {
    fn run(graph: &Graph, ranges: &[Option<(f64, f64)>]) -> Vec<Diagnostic> {
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
        let mut a = Analysis {
            graph,
            summaries: BTreeMap::new(),
            changed: false,
            reporting: false,
            found: BTreeMap::new(),
            thresholds: thresholds.into_iter().map(T::from_f64).collect(),
            rounds: 0,
            visits: 0,
        };
        let inputs: Vec<Abs<T>> = graph
            .inputs
            .iter()
            .enumerate()
            .map(|(i, input)| {
                let interval = match ranges.get(i).copied().flatten() {
                    Some((lo, hi)) => Interval::new(T::from_f64(lo), T::from_f64(hi)),
                    None => Interval::new(-T::largest(), T::largest()),
                };
                values::uniform(interval, input.shape)
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
            return vec![Diagnostic::warning("domain-unknown", span, "the program is too large to prove that it stays in its domain")];
        }
        a.found.into_values().collect()
    }

    fn everything(&mut self, inputs: &[Abs<T>]) {
        self.region(self.graph.main, inputs, None);
        let functions: Vec<u32> = self.summaries.keys().copied().collect();
        for f in functions {
            let params = self.summaries[&f].params.clone();
            let Some(results) = self.region(RegionId(f), &params, None) else { continue };
            let summary = self.summaries.get_mut(&f).expect("listed");
            let joined: Vec<Abs<T>> = summary.results.iter().zip(&results).map(|(a, b)| join(a, b)).collect();
            if joined.iter().zip(&summary.results).any(|(a, b)| !same(a, b)) {
                let wide = if self.rounds > 6 { joined.iter().zip(&summary.results).map(|(n, o)| widen(o, n, &self.thresholds)).collect() } else { joined };
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
        if let Some(wanted) = go_on {
            let flag = results[0][0];
            let possible = if wanted { !(flag.lo == T::ZERO && flag.hi == T::ZERO && !flag.nan) } else { flag.has_zero() };
            if flag.is_empty() && !flag.nan || !possible {
                return None;
            }
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
                        let operands: Vec<&Abs<T>> = args.iter().map(|a| &env[a.0 as usize][0]).collect();
                        let shapes: Vec<Shape> = args.iter().map(|&a| region.shape(a)).collect();
                        let mut result = self.operation(region, id, op, attr, &operands, &shapes);
                        if let Some(known) = outer.and_then(|o| o.same(region, id)) {
                            result.iter_mut().zip(known).for_each(|(r, k)| *r = r.meet(*k));
                        }
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
                    Kind::Back { .. } | Kind::Pack | Kind::Unpack(_) => self.give_up(node.kind, node.ty),
                }
            };
            env.push(bounds);
        }
        env
    }

    fn give_up(&self, kind: Kind, ty: Type) -> Vec<Abs<T>> {
        let types = match kind {
            Kind::If(r, _) | Kind::Call(r) => self.graph.region(r).result_types(),
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
            summary.params = if self.rounds > 6 { joined.iter().zip(&summary.params).map(|(n, o)| widen(o, n, thresholds)).collect() } else { joined };
            self.changed = true;
        }
        summary.results.clone()
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

    fn choice(&mut self, region: &Region, id: NodeId, (yes, no): (RegionId, RegionId), env: &[Vec<Abs<T>>], index: &Index, go_on: Option<bool>) -> Vec<Abs<T>> {
        let args = region.args(id);
        let test = env[args[0].0 as usize][0][0];
        let mut merged: Option<Vec<Abs<T>>> = None;
        for (branch, truth) in [(yes, true), (no, false)] {
            let possible = if truth { !(test.lo == T::ZERO && test.hi == T::ZERO && !test.nan) } else { test.has_zero() };
            if !possible || (test.is_empty() && !test.nan) {
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

    fn operation(&mut self, region: &Region, id: NodeId, op: Op, attr: u32, args: &[&Abs<T>], shapes: &[Shape]) -> Abs<T> {
        let row = op.row();
        let shape = region.shape(id);
        let mut result = match row.kernel {
            Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Select => {
                let mut out = Vec::with_capacity(values::kept(shape));
                for i in 0..values::kept(shape) {
                    let point: Vec<Interval<T>> = args.iter().map(|a| if a.len() == 1 { a[0] } else { a[i] }).collect();
                    let x = bound(row, &point);
                    // A NaN that may come in excuses nothing that numbers may do.
                    let numbers: Vec<Interval<T>> = point.iter().map(|p| Interval { nan: false, ..*p }).collect();
                    if row.domain.may_be_violated(&point) || (x.nan && bound(row, &numbers).nan) {
                        self.report(region, id, row, &point);
                    }
                    out.push(x);
                }
                out
            }
            Kernel::Tensor(kernel) => self.tensor(region, id, op, attr, args, shapes, &kernel),
            Kernel::Composite(_) => unreachable!("the verifier admits no composite node"),
        };
        // `x * x` is never negative, whatever the sign of `x`.
        if op == Op::Mul && region.args(id)[0] == region.args(id)[1] {
            for r in &mut result {
                let nan = r.nan;
                *r = r.meet(Interval::new(T::ZERO, T::from_f64(f64::INFINITY))).or_nan(nan);
            }
        }
        result
    }

    #[allow(clippy::too_many_arguments)]
    fn tensor(&mut self, region: &Region, id: NodeId, op: Op, attr: u32, args: &[&Abs<T>], shapes: &[Shape], kernel: &crate::ops::row::TensorKernel) -> Abs<T> {
        let row = op.row();
        let shape = region.shape(id);
        let nan = args.iter().any(|a| a.iter().any(|i| i.nan));
        if row.domain == Domain::Invertible && !values::surely_invertible(args[0], shapes[0]) {
            self.report(region, id, row, &[]);
        }
        match row.bound {
            Bound::Sums => {
                let full: Vec<Abs<T>> = args.iter().zip(shapes).map(|(a, &s)| values::full(a, s)).collect();
                let operands: Vec<Operand<'_, Interval<T>>> = full.iter().zip(shapes).map(|(a, &shape)| Operand { data: a, shape }).collect();
                let mut out = vec![Interval::point(T::ZERO); shape.len()];
                // Kernels of sums and products have no error to report.
                let _ = T::interval_kernel(kernel)(&operands, attr, shape, &mut out);
                // A trapping run lets a NaN pass through a whole value, so only a value free of NaN makes a new one.
                let may_be_free = args.iter().all(|a| a.iter().all(|i| !i.is_empty()));
                if may_be_free && out.iter().any(|x| x.nan) {
                    let numbers: Vec<Abs<T>> = full.iter().map(|a| a.iter().map(|i| Interval { nan: false, ..*i }).collect()).collect();
                    let operands: Vec<Operand<'_, Interval<T>>> = numbers.iter().zip(shapes).map(|(a, &shape)| Operand { data: a, shape }).collect();
                    let mut clean = vec![Interval::point(T::ZERO); shape.len()];
                    let _ = T::interval_kernel(kernel)(&operands, attr, shape, &mut clean);
                    if clean.iter().any(|x| x.nan) {
                        let point: Vec<Interval<T>> = args.iter().map(|a| values::hull(a)).collect();
                        self.report(region, id, row, &point);
                    }
                }
                values::compress(out)
            }
            Bound::Length => {
                // Between the largest of the least magnitudes and sqrt(n) times the largest magnitude; no squares, which could
                // overflow or vanish where the kernel's own scaling does not.
                let full = values::full(args[0], shapes[0]);
                let larger = |m: T, x: T| if x > m { x } else { m };
                let least = |i: &Interval<T>| {
                    if i.lo > T::ZERO {
                        i.lo
                    } else if i.hi < T::ZERO {
                        -i.hi
                    } else {
                        T::ZERO
                    }
                };
                let lo = full.iter().map(least).fold(T::ZERO, larger);
                let most = full.iter().map(|i| larger(i.lo.abs(), i.hi.abs())).fold(T::ZERO, larger);
                let hi = (most * T::from_f64((full.len() as f64).sqrt()).next_up()).next_up().next_up();
                let lo = if lo > T::ZERO { larger(lo.next_down().next_down(), T::ZERO) } else { lo };
                let nonzero = full.iter().any(|i| !i.has_zero());
                vec![Interval { lo, hi, nan, nonzero }]
            }
            Bound::Elements(or_zero) => {
                let length = match if or_zero { shape } else { shapes[0] } {
                    Shape::Vector(n) | Shape::Matrix(n, _) => n,
                    Shape::Scalar => 1,
                };
                let index = args[1][0];
                if !index.is_empty() && (index.lo < T::ZERO || index.hi > T::from_f64(f64::from(length - 1)) || index.nan) {
                    self.report(region, id, row, &[index]);
                }
                let mut hull = values::hull(args[0]);
                if or_zero {
                    hull = hull.join(Interval::point(T::ZERO));
                }
                values::uniform(Interval { nonzero: false, ..hull }, shape)
            }
            Bound::Anything => {
                let singular = row.domain == Domain::Invertible && !values::surely_invertible(args[0], shapes[0]);
                // Products of as many elements as there are rows must stay well inside the numbers, else infinities may meet.
                let rows = match shapes[0] {
                    Shape::Matrix(n, _) => f64::from(n),
                    Shape::Scalar | Shape::Vector(_) => 1.0,
                };
                let most = args.iter().flat_map(|a| a.iter()).fold(0.0f64, |m, i| m.max(i.lo.abs().to_f64()).max(i.hi.abs().to_f64()));
                let digits = (rows + 1.0) * most.max(1.0).log10() + rows * rows.log10() + 8.0;
                let overflow = most.is_nan() || most < 1e-30 || digits > T::largest().to_f64().log10();
                if overflow && !singular && args.iter().all(|a| a.iter().all(|i| !i.is_empty())) {
                    self.report(region, id, row, &[]);
                }
                values::uniform(Interval::everything().or_nan(nan || singular || overflow), shape)
            }
            Bound::Corners(..)
            | Bound::Exact(..)
            | Bound::Even(_)
            | Bound::Range(..)
            | Bound::Sine
            | Bound::Cosine
            | Bound::Tangent
            | Bound::Product
            | Bound::Ratio
            | Bound::Power
            | Bound::Equal
            | Bound::Modulo
            | Bound::Remainder
            | Bound::Quotient
            | Bound::Choice => unreachable!("an elementwise bound"),
        }
    }

    fn report(&mut self, region: &Region, id: NodeId, row: &'static Row, point: &[Interval<T>]) {
        if !self.reporting {
            return;
        }
        let span = region.node(id).span;
        let name = row.name.trim_start_matches('@');
        let name = if name == "cut-at" || name == "place-at" { "ref" } else { name };
        let text = |i: &Interval<T>| {
            if i.lo == i.hi {
                crate::number_text(i.lo.to_f64())
            } else {
                format!("{} … {}", crate::number_text(i.lo.to_f64()), crate::number_text(i.hi.to_f64()))
            }
        };
        let ranges = point.iter().map(text).collect::<Vec<_>>().join(", ");
        let at = if ranges.is_empty() { String::new() } else { format!(" on {ranges}") };
        let (why, help) = match row.domain {
            Domain::All => ("may not be a number".to_string(), None),
            domain => {
                (format!("may leave its domain, {}", domain.text()), Some("restrict the inputs with ranges, or guard the operation with `if`".to_string()))
            }
        };
        let message = format!("`{name}`{at} {why}");
        self.found.entry((span.start, span.end, row.name)).or_insert_with(|| Diagnostic::warning("domain-may-be-left", span, message).maybe_help(help));
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

/// The expressions of a region, to find the one that computes the same as another.
type Index = FxHashMap<(Kind, Vec<NodeId>), NodeId>;

fn expressions(region: &Region) -> Index {
    region
        .ids()
        .filter(|&id| matches!(region.node(id).kind, Kind::Op(..) | Kind::Const(_)))
        .map(|id| ((region.node(id).kind, region.args(id).to_vec()), id))
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
                kind @ Kind::Const(_) => self.index.get(&(kind, vec![])).copied(),
                _ => None,
            })
            .collect();
        let outer = *self.index.get(&(branch.node(id).kind, args?))?;
        // Nodes behind the choice are not bounded yet.
        ((outer.0 as usize) < self.scope.env.len()).then(|| self.scope.get(outer))
    }
}
