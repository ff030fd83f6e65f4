//! Reverse mode. In: a region, which parameters want cotangents, and cotangents of the results; out: nodes (or regions) that give
//! the cotangents of the parameters.
//!
//! Within a region the forward part is repeated and the backward part follows it. Loops are run taped: they record the carried
//! values of every round, and a `Back` node walks over them. What is inside is computed again in the backward region, unless it
//! reaches recursion or is deep: then the forward run packs what the backward run needs into a record, so that the work of the backward
//! run stays proportional to that of the forward run at any depth.
//! Invariant: a branch not taken contributes nothing, because its backward region is not run either.

use super::activity::{Activity, recorded};
use crate::graph::{Builder, Graph, Kind, NodeId, Region, RegionId, Type, copy, result_types, root};
use crate::ops::row::Applied;
use crate::ops::{Derivative, Op};
use crate::shape::Shape;
use rustc_hash::FxHashMap;

type Maybe = Option<NodeId>;

/// The values of a region's nodes in the region under construction.
struct Primal {
    values: Vec<NodeId>,
    many: FxHashMap<NodeId, Many>,
}

/// The results of a node with several results, and the record it left.
#[derive(Clone)]
struct Many {
    results: Vec<NodeId>,
    record: Maybe,
}

pub(super) struct Reverse {
    pub(super) regions: Vec<Region>,
    main: RegionId,
    activity: Activity,
    /// Regions whose runs are recorded: they reach recursion, or are deep.
    recorded: Vec<bool>,
    /// Recording versions of regions.
    recorders: FxHashMap<RegionId, RegionId>,
    /// Backward versions of functions.
    backward: FxHashMap<RegionId, RegionId>,
}

impl Reverse {
    pub(super) fn new(graph: &Graph) -> Reverse {
        Reverse {
            regions: graph.regions.clone(),
            main: graph.main,
            activity: Activity::default(),
            recorded: recorded(graph),
            recorders: FxHashMap::default(),
            backward: FxHashMap::default(),
        }
    }

    /// The main region, forward and backward: its results, and the cotangents of its parameters.
    pub(super) fn whole(&mut self, b: &mut Builder, args: &[NodeId], wanted: &[bool], seeds: &[Maybe]) -> (Vec<NodeId>, Vec<Maybe>) {
        let region = self.regions[self.main.0 as usize].clone();
        let primal = self.repeat(b, &region, args);
        let cotangents = self.sweep(b, &region, &primal, wanted, seeds);
        (region.results.iter().map(|r| primal.values[r.0 as usize]).collect(), cotangents)
    }

    fn is_recorded(&self, kind: Kind) -> bool {
        // Where a root is, its equation says: the search is not walked back.
        !matches!(kind, Kind::Root { .. })
            && Graph::children(kind).iter().any(|c| self.recorded.get(c.0 as usize).copied().unwrap_or(false))
    }

    /// Repeats a region's forward part, recording what its backward part needs.
    fn repeat(&mut self, b: &mut Builder, region: &Region, args: &[NodeId]) -> Primal {
        let mut primal = Primal { values: Vec::with_capacity(region.nodes.len()), many: FxHashMap::default() };
        for id in region.ids() {
            self.repeat_node(b, region, id, args, &mut primal, None);
        }
        primal
    }

    /// One node of `repeat`. `known`: results and record of a recorded node, when they come from a record instead.
    fn repeat_node(&mut self, b: &mut Builder, region: &Region, id: NodeId, params: &[NodeId], primal: &mut Primal, known: Option<Many>) {
        let node = *region.node(id);
        b.span = node.span;
        let args: Vec<NodeId> = match node.kind {
            Kind::Proj(_) => vec![],
            _ => region.args(id).iter().map(|a| primal.values[a.0 as usize]).collect(),
        };
        let value = match node.kind {
            Kind::Param(p) => params[p as usize],
            Kind::Const(_) | Kind::Op(..) => copy::single(b, node.kind, node.ty, &args),
            Kind::Proj(i) => primal.many[&region.args(id)[0]].results[i as usize],
            Kind::If(..) | Kind::Loop { .. } | Kind::Call(_) | Kind::Root { .. } => {
                let many = known.unwrap_or_else(|| self.run(b, node.kind, &args));
                primal.many.insert(id, many);
                NodeId(u32::MAX)
            }
            Kind::Back { .. } | Kind::Pack | Kind::Unpack(_) => unreachable!("reverse mode is asked only of graphs without a tape"),
        };
        primal.values.push(value);
    }

    /// Runs a node with several results so that it can be walked back.
    fn run(&mut self, b: &mut Builder, kind: Kind, args: &[NodeId]) -> Many {
        let recorded = self.is_recorded(kind);
        let kind = match kind {
            Kind::If(yes, no) if recorded => Kind::If(self.recorder(yes), self.recorder(no)),
            Kind::Call(f) if recorded => Kind::Call(self.recorder(f)),
            Kind::Loop { body, carried, .. } => {
                let body = if recorded { self.recorder(body) } else { body };
                Kind::Loop { body, carried, taped: true }
            }
            other => other,
        };
        let types = result_types(&self.regions, kind);
        let mut results = b.many(kind, args, &types);
        let record = if types.last() == Some(&Type::Record) { results.pop() } else { None };
        Many { results, record }
    }

    /// The version of a region that gives one more result: the record of its run.
    fn recorder(&mut self, id: RegionId) -> RegionId {
        if let Some(&made) = self.recorders.get(&id) {
            return made;
        }
        let region = self.regions[id.0 as usize].clone();
        let new = RegionId(self.regions.len() as u32);
        self.regions.push(placeholder(&region.name, &[region.result_types(), vec![Type::Record]].concat()));
        self.recorders.insert(id, new);
        let built = crate::deep(|| {
            let mut b = Builder::new(format!("{}.record", region.name));
            let params: Vec<NodeId> = region.params.iter().map(|&t| b.param(t)).collect();
            let primal = self.repeat(&mut b, &region, &params);
            let mut saved = params;
            for node in self.recorded_nodes(&region) {
                let many = &primal.many[&node];
                saved.extend(many.results.iter().chain(&many.record));
            }
            let record = b.pure(Kind::Pack, Type::Record, &saved);
            let mut results: Vec<NodeId> = region.results.iter().map(|r| primal.values[r.0 as usize]).collect();
            results.push(record);
            b.finish(results)
        });
        self.regions[new.0 as usize] = built;
        new
    }

    /// The nodes of a region whose runs are recorded, in order.
    fn recorded_nodes(&self, region: &Region) -> Vec<NodeId> {
        region.ids().filter(|&n| region.node(n).ty == Type::Many && self.is_recorded(region.node(n).kind)).collect()
    }

    /// Brings a region's forward values back from a record: recorded nodes are read, the rest is computed again.
    fn recall(&mut self, b: &mut Builder, region: &Region, record: NodeId) -> Primal {
        let mut at = 0;
        let mut next = |b: &mut Builder, ty: Type| {
            at += 1;
            b.pure(Kind::Unpack(at - 1), ty, &[record])
        };
        let params: Vec<NodeId> = region.params.iter().map(|&t| next(b, t)).collect();
        let mut known: FxHashMap<NodeId, Many> = FxHashMap::default();
        for node in self.recorded_nodes(region) {
            let types = result_types(&self.regions, region.node(node).kind);
            let results = types.iter().map(|&t| next(b, t)).collect();
            known.insert(node, Many { results, record: Some(next(b, Type::Record)) });
        }
        let mut primal = Primal { values: Vec::with_capacity(region.nodes.len()), many: FxHashMap::default() };
        for id in region.ids() {
            let many = known.remove(&id);
            self.repeat_node(b, region, id, &params, &mut primal, many);
        }
        primal
    }

    /// The backward part: cotangents of the wanted parameters from those of the results.
    fn sweep(&mut self, b: &mut Builder, region: &Region, primal: &Primal, wanted: &[bool], seeds: &[Maybe]) -> Vec<Maybe> {
        let active = self.activity.nodes(&self.regions, region, wanted);
        let mut bars: Vec<Maybe> = vec![None; region.nodes.len()];
        let mut many: FxHashMap<NodeId, Vec<Maybe>> = FxHashMap::default();
        for (&r, &seed) in region.results.iter().zip(seeds) {
            if active[r.0 as usize][0] {
                accumulate(b, &mut bars[r.0 as usize], seed);
            }
        }
        let mut params = vec![None; region.params.len()];
        for id in region.ids().rev() {
            let node = *region.node(id);
            let originals = region.args(id);
            b.span = node.span;
            let contributions: Vec<Maybe> = match node.kind {
                Kind::Param(p) => {
                    params[p as usize] = bars[id.0 as usize];
                    continue;
                }
                Kind::Const(_) => continue,
                Kind::Proj(i) => {
                    if let Some(bar) = bars[id.0 as usize] {
                        let count = primal.many[&originals[0]].results.len();
                        let list = many.entry(originals[0]).or_insert_with(|| vec![None; count]);
                        accumulate(b, &mut list[i as usize], Some(bar));
                    }
                    continue;
                }
                Kind::Op(..) => {
                    let Some(bar) = bars[id.0 as usize] else { continue };
                    let args: Vec<NodeId> = originals.iter().map(|a| primal.values[a.0 as usize]).collect();
                    let wanted: Vec<bool> = originals.iter().map(|a| active[a.0 as usize][0]).collect();
                    pull_back(b, node.kind, primal.values[id.0 as usize], &args, &wanted, bar)
                }
                Kind::If(..) | Kind::Loop { .. } | Kind::Call(_) | Kind::Root { .. } => {
                    let Some(seeds) = many.remove(&id) else { continue };
                    let args: Vec<NodeId> = originals.iter().map(|a| primal.values[a.0 as usize]).collect();
                    let wanted: Vec<bool> = originals.iter().map(|a| active[a.0 as usize][0]).collect();
                    self.back(b, node.kind, &args, &wanted, &seeds, &primal.many[&id])
                }
                Kind::Back { .. } | Kind::Pack | Kind::Unpack(_) => unreachable!("reverse mode is asked only of graphs without a tape"),
            };
            for (&a, bar) in originals.iter().zip(contributions) {
                if active[a.0 as usize].first() == Some(&true) {
                    accumulate(b, &mut bars[a.0 as usize], bar);
                }
            }
        }
        params
    }

    /// Cotangents of the arguments of a node that runs regions.
    fn back(&mut self, b: &mut Builder, kind: Kind, args: &[NodeId], wanted: &[bool], seeds: &[Maybe], many: &Many) -> Vec<Maybe> {
        let recorded = self.is_recorded(kind);
        match kind {
            Kind::If(yes, no) => {
                let wanted = &wanted[1..];
                let seeded: Vec<bool> = seeds.iter().map(Option::is_some).collect();
                let (yes, no) = (self.back_region(yes, wanted, &seeded, recorded), self.back_region(no, wanted, &seeded, recorded));
                let mut operands = vec![args[0]];
                match many.record {
                    Some(record) if recorded => operands.push(record),
                    _ => operands.extend(&args[1..]),
                }
                operands.extend(seeds.iter().flatten());
                let out = b.many(Kind::If(yes, no), &operands, &result_types(&self.regions, Kind::If(yes, no)));
                let mut out = out.into_iter();
                std::iter::once(None).chain(wanted.iter().map(|&w| if w { out.next() } else { None })).collect()
            }
            Kind::Call(f) => {
                let back = self.back_function(f, recorded);
                let mut operands = match many.record {
                    Some(record) if recorded => vec![record],
                    _ => args.to_vec(),
                };
                let types = self.regions[f.0 as usize].result_types();
                for (seed, ty) in seeds.iter().zip(types) {
                    operands.push(seed.unwrap_or_else(|| b.zeros(ty.shape())));
                }
                let out = b.many(Kind::Call(back), &operands, &result_types(&self.regions, Kind::Call(back)));
                out.into_iter().map(Some).collect()
            }
            Kind::Root { zero, slope, starts, .. } => {
                let starts = starts as usize;
                let nothing = vec![None; args.len()];
                let Some(bar) = seeds[0] else { return nothing };
                let inside: Vec<NodeId> = many.results.iter().chain(&args[starts..]).copied().collect();
                let slope = copy::inline(b, &self.regions[slope.0 as usize].clone(), &self.regions, &inside)[0];
                let slope = if b.shape(slope) == Shape::Scalar { slope } else { b.op(Op::Transpose, &[slope]) };
                let share = root::step(b, slope, bar);
                let seed = b.neg(share);
                let region = self.regions[zero.0 as usize].clone();
                let primal = self.repeat(b, &region, &inside);
                let inner: Vec<bool> = std::iter::once(false).chain(wanted[starts..].iter().copied()).collect();
                let cotangents = self.sweep(b, &region, &primal, &inner, &[Some(seed)]);
                nothing[..starts].iter().copied().chain(cotangents.into_iter().skip(1)).collect()
            }
            Kind::Loop { body, carried, .. } => {
                self.back_loop(b, body, carried as usize, args, wanted, seeds, many.record.expect("loops are taped"))
            }
            Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Back { .. } | Kind::Pack | Kind::Unpack(_) => {
                unreachable!("runs no region")
            }
        }
    }

    /// A backward region: what the forward region saw (or its record) and the seeds in, the wanted cotangents out.
    fn back_region(&mut self, id: RegionId, wanted: &[bool], seeded: &[bool], recorded: bool) -> RegionId {
        let region = self.regions[id.0 as usize].clone();
        let built = crate::deep(|| self.build_back(&region, wanted, seeded, recorded));
        self.regions.push(built);
        RegionId(self.regions.len() as u32 - 1)
    }

    fn build_back(&mut self, region: &Region, wanted: &[bool], seeded: &[bool], recorded: bool) -> Region {
        let mut b = Builder::new(format!("{}.back", region.name));
        let primal = if recorded {
            let record = b.param(Type::Record);
            self.recall(&mut b, region, record)
        } else {
            let params: Vec<NodeId> = region.params.iter().map(|&t| b.param(t)).collect();
            self.repeat(&mut b, region, &params)
        };
        let seeds: Vec<Maybe> = region.result_types().iter().zip(seeded).map(|(&t, &s)| s.then(|| b.param(t))).collect();
        let cotangents = self.sweep(&mut b, region, &primal, wanted, &seeds);
        let mut results = Vec::new();
        for ((c, &w), t) in cotangents.into_iter().zip(wanted).zip(&region.params) {
            if w {
                results.push(c.unwrap_or_else(|| b.zeros(t.shape())));
            }
        }
        b.finish(results)
    }

    /// The backward version of a function, made once: all results seeded, all parameters wanted.
    fn back_function(&mut self, f: RegionId, recorded: bool) -> RegionId {
        if let Some(&made) = self.backward.get(&f) {
            return made;
        }
        let region = self.regions[f.0 as usize].clone();
        let new = RegionId(self.regions.len() as u32);
        self.regions.push(placeholder(&region.name, &region.params));
        self.backward.insert(f, new);
        let (wanted, seeded) = (vec![true; region.params.len()], vec![true; region.results.len()]);
        let built = crate::deep(|| self.build_back(&region, &wanted, &seeded, recorded));
        self.regions[new.0 as usize] = built;
        new
    }

    #[allow(clippy::too_many_arguments)]
    fn back_loop(
        &mut self,
        b: &mut Builder,
        body: RegionId,
        carried: usize,
        args: &[NodeId],
        wanted: &[bool],
        seeds: &[Maybe],
        record: NodeId,
    ) -> Vec<Maybe> {
        let region = self.regions[body.0 as usize].clone();
        let recorded = self.recorded[body.0 as usize];
        // Carried values that depend on something wanted, and on which some seeded result depends.
        let (state, _) = self.activity.round(&self.regions, body, carried, false, wanted);
        let seeded: Vec<bool> = seeds.iter().map(Option::is_some).collect();
        let useful = self.activity.loop_params(&self.regions, body, carried, &seeded);
        let moving: Vec<bool> = (0..args.len()).map(|i| useful[i] && if i < carried { state[i] } else { wanted[i] }).collect();
        let shape = |i: usize| region.params[i].shape();

        let mut back = Builder::new(format!("{}.back", region.name));
        let stored: Vec<NodeId> = region.params[..carried].iter().map(|&t| back.param(t)).collect();
        let round_record = recorded.then(|| back.param(Type::Record));
        let bars: Vec<Maybe> = moving.iter().enumerate().map(|(i, &m)| m.then(|| back.param(Type::Value(shape(i))))).collect();
        let invariants: Vec<NodeId> = region.params[carried..].iter().map(|&t| back.param(t)).collect();
        let seed_params: Vec<Maybe> = seeds.iter().map(|s| s.map(|s| back.param(b.ty(s)))).collect();
        let primal = match round_record {
            Some(record) => self.recall(&mut back, &region, record),
            None => self.repeat(&mut back, &region, &[&stored[..], &invariants].concat()),
        };
        // `continue?` has no cotangent; next carried values get those of the round after, results those of the loop.
        let mut round_seeds = vec![None];
        round_seeds.extend(&bars[..carried]);
        round_seeds.extend(&seed_params);
        let cotangents = self.sweep(&mut back, &region, &primal, &moving, &round_seeds);
        let mut results = Vec::new();
        for (i, &m) in moving.iter().enumerate() {
            if !m {
                continue;
            }
            let bar = bars[i].expect("it moves");
            results.push(match cotangents[i] {
                Some(c) if i < carried => c,
                Some(c) => back.add(bar, c),
                None if i < carried => back.zeros(shape(i)),
                None => bar,
            });
        }
        self.regions.push(back.finish(results));
        let body = RegionId(self.regions.len() as u32 - 1);

        let mut operands = vec![record];
        operands.extend((0..args.len()).filter(|&i| moving[i]).map(|i| b.zeros(shape(i))).collect::<Vec<_>>());
        let count = operands.len() as u32 - 1;
        operands.extend(&args[carried..]);
        operands.extend(seeds.iter().flatten());
        let kind = Kind::Back { body, stored: (carried + usize::from(recorded)) as u32, carried: count };
        let mut out = b.many(kind, &operands, &result_types(&self.regions, kind)).into_iter();
        moving.iter().map(|&m| if m { out.next() } else { None }).collect()
    }
}

/// An unfinished region with the right types of results.
fn placeholder(name: &str, results: &[Type]) -> Region {
    let mut b = Builder::new(name);
    let results = results.iter().map(|&t| b.param(t)).collect();
    b.finish(results)
}

fn accumulate(b: &mut Builder, bar: &mut Maybe, more: Maybe) {
    *bar = match (*bar, more) {
        (Some(x), Some(y)) => Some(b.add(x, y)),
        (x, y) => x.or(y),
    };
}

/// Cotangents of an operation's arguments.
fn pull_back(b: &mut Builder, kind: Kind, out: NodeId, args: &[NodeId], wanted: &[bool], bar: NodeId) -> Vec<Maybe> {
    let Kind::Op(op, attr) = kind else { unreachable!("an operation") };
    let bars: Vec<Maybe> = match op.row().derivative {
        Derivative::Zero => vec![None; args.len()],
        Derivative::Partials(partials) => {
            let slopes = partials(b, args, out);
            slopes.into_iter().zip(wanted).map(|(slope, &w)| w.then(|| b.mul(bar, slope))).collect()
        }
        Derivative::Rules(_, vjp) => vjp(b, &Applied { args, out, attr }, bar),
        Derivative::OfParts => unreachable!("made of parts, never a node"),
    };
    // A scalar that was combined with a tensor collects the cotangents of all elements.
    let collect = |(bar, &a): (Maybe, &NodeId)| {
        bar.map(|bar| if b.shape(a) == Shape::Scalar && b.shape(bar) != Shape::Scalar { b.op(Op::Total, &[bar]) } else { bar })
    };
    bars.into_iter().zip(args).map(collect).collect()
}
