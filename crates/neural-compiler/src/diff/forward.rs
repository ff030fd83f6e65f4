//! Forward mode. In: a region and which parameters have tangents; out: a region that carries tangents along.
//! Invariants: parameters and results keep their order within each group, values before their tangents; a record holds each value
//! next to its tangent; a branch not taken contributes no tangent.

use super::activity::Activity;
use crate::graph::{Builder, Graph, Kind, NodeId, Region, RegionId, Type, copy, result_types, root};
use crate::ops::Derivative;
use crate::ops::row::Applied;
use rustc_hash::FxHashMap;

/// How a region's parameters and results are grouped: tangents follow the values of their group.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Groups {
    params: Vec<usize>,
    results: Vec<usize>,
}

impl Groups {
    pub(super) fn whole(region: &Region) -> Groups {
        Groups { params: vec![region.params.len()], results: vec![region.results.len()] }
    }
}

type Key = (RegionId, Vec<bool>, Vec<bool>, Groups);

pub(super) struct Forward {
    pub(super) regions: Vec<Region>,
    activity: Activity,
    made: FxHashMap<Key, RegionId>,
}

/// Indices of each group in turn.
fn grouped(groups: &[usize]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    groups.iter().scan(0, |at, &n| {
        let range = *at..*at + n;
        *at += n;
        Some(range)
    })
}

impl Forward {
    pub(super) fn new(graph: &Graph) -> Forward {
        Forward { regions: graph.regions.clone(), activity: Activity::default(), made: FxHashMap::default() }
    }

    /// A copy of a finished region.
    pub(super) fn take(&self, id: RegionId) -> Region {
        self.regions[id.0 as usize].clone()
    }

    /// The region with tangents for the `active` parameters and the `wanted` results.
    pub(super) fn region(&mut self, id: RegionId, active: &[bool], wanted: &[bool], groups: &Groups) -> RegionId {
        let key = (id, active.to_vec(), wanted.to_vec(), groups.clone());
        if let Some(&made) = self.made.get(&key) {
            return made;
        }
        let region = self.take(id);
        let new = RegionId(self.regions.len() as u32);
        // A placeholder with the right results, so that a recursive call knows their types.
        self.regions.push(signature(&region, wanted, groups));
        self.made.insert(key, new);
        let built = crate::deep(|| self.build(&region, active, wanted, groups));
        self.regions[new.0 as usize] = built;
        new
    }

    fn build(&mut self, region: &Region, active: &[bool], wanted: &[bool], groups: &Groups) -> Region {
        let mut b = Builder::new(region.name.clone());
        let mut params: Vec<(NodeId, Option<NodeId>)> = Vec::new();
        for group in grouped(&groups.params) {
            let values: Vec<NodeId> = group.clone().map(|p| b.param(region.params[p])).collect();
            let tangents: Vec<Option<NodeId>> = group.map(|p| active[p].then(|| b.param(region.params[p]))).collect();
            params.extend(values.into_iter().zip(tangents));
        }
        let mut values: Vec<NodeId> = Vec::with_capacity(region.nodes.len());
        let mut tangents: Vec<Option<NodeId>> = Vec::with_capacity(region.nodes.len());
        let mut many: FxHashMap<NodeId, Vec<(NodeId, Option<NodeId>)>> = FxHashMap::default();
        for id in region.ids() {
            let node = *region.node(id);
            b.span = node.span;
            let args: Vec<NodeId> = region.args(id).iter().map(|a| values[a.0 as usize]).collect();
            let dots: Vec<Option<NodeId>> = region.args(id).iter().map(|a| tangents[a.0 as usize]).collect();
            let (value, tangent) = match node.kind {
                Kind::Param(p) => params[p as usize],
                Kind::Const(_) => (copy::single(&mut b, node.kind, node.ty, &args), None),
                Kind::Op(..) => {
                    let value = copy::single(&mut b, node.kind, node.ty, &args);
                    (value, push_forward(&mut b, node.kind, value, &args, &dots))
                }
                Kind::Pack => {
                    let mut both = Vec::with_capacity(2 * args.len());
                    for (&a, &d) in args.iter().zip(&dots) {
                        let dot = match b.ty(a) {
                            Type::Value(shape) => d.unwrap_or_else(|| b.zeros(shape)),
                            Type::Record | Type::Many => a,
                        };
                        both.extend([a, dot]);
                    }
                    (b.pure(Kind::Pack, Type::Record, &both), None)
                }
                Kind::Unpack(i) => {
                    let value = b.pure(Kind::Unpack(2 * i), node.ty, &args);
                    let tangent = matches!(node.ty, Type::Value(_)).then(|| b.pure(Kind::Unpack(2 * i + 1), node.ty, &args));
                    (value, tangent)
                }
                Kind::Proj(i) => many[&region.args(id)[0]][i as usize],
                Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => {
                    let results = self.control(&mut b, node.kind, &args, &dots);
                    many.insert(id, results);
                    // Stands for the node; only `Proj` looks at it, through the list.
                    (NodeId(u32::MAX), None)
                }
            };
            values.push(value);
            tangents.push(tangent);
        }
        let mut results = Vec::new();
        for group in grouped(&groups.results) {
            results.extend(group.clone().map(|r| values[region.results[r].0 as usize]));
            for r in group.filter(|&r| wanted[r]) {
                let result = region.results[r];
                results.push(tangents[result.0 as usize].unwrap_or_else(|| b.zeros(region.shape(result))));
            }
        }
        b.finish(results)
    }

    /// A node that runs regions, with tangents: its results with theirs.
    fn control(&mut self, b: &mut Builder, kind: Kind, args: &[NodeId], dots: &[Option<NodeId>]) -> Vec<(NodeId, Option<NodeId>)> {
        let is_value = |b: &Builder, n: NodeId| matches!(b.ty(n), Type::Value(_));
        let active: Vec<bool> = dots.iter().map(Option::is_some).collect();
        let dot = |b: &mut Builder, i: usize| dots[i].unwrap_or_else(|| b.zeros(b.shape(args[i])));
        match kind {
            Kind::If(yes, no) => {
                let (x, y) =
                    (self.activity.results(&self.regions, yes, &active[1..]), self.activity.results(&self.regions, no, &active[1..]));
                let wanted: Vec<bool> = x.iter().zip(&y).map(|(x, y)| x | y).collect();
                let groups = Groups::whole(&self.regions[yes.0 as usize]);
                let (yes, no) = (self.region(yes, &active[1..], &wanted, &groups), self.region(no, &active[1..], &wanted, &groups));
                let mut all = args.to_vec();
                all.extend(dots[1..].iter().flatten());
                self.spread(b, Kind::If(yes, no), &all, &[wanted])
            }
            Kind::Call(f) => {
                let region = &self.regions[f.0 as usize];
                let any = active.iter().any(|&a| a) || region.params.contains(&Type::Record);
                let wanted: Vec<bool> = region.result_types().iter().map(|t| any && matches!(t, Type::Value(_))).collect();
                let groups = Groups::whole(region);
                let f = self.region(f, &active, &wanted, &groups);
                let mut all = args.to_vec();
                all.extend(dots.iter().flatten());
                self.spread(b, Kind::Call(f), &all, &[wanted])
            }
            Kind::Root { zero, slope, starts, .. } => {
                let x = b.many(kind, args, &result_types(&self.regions, kind))[0];
                let starts = starts as usize;
                if !active[starts..].contains(&true) {
                    return vec![(x, None)];
                }
                // Where f(x, p) = 0, f' dx = -df, with x standing still in df.
                let inside: Vec<NodeId> = std::iter::once(x).chain(args[starts..].iter().copied()).collect();
                let slope = copy::inline(b, &self.take(slope), &self.regions, &inside)[0];
                let moves: Vec<bool> = std::iter::once(false).chain(active[starts..].iter().copied()).collect();
                let along = self.region(zero, &moves, &[true], &Groups::whole(&self.take(zero)));
                let all: Vec<NodeId> = inside.into_iter().chain(dots[starts..].iter().flatten().copied()).collect();
                let moved = copy::inline(b, &self.take(along), &self.regions, &all)[1];
                let back = root::step(b, slope, moved);
                let dot = b.neg(back);
                vec![(x, Some(dot))]
            }
            Kind::Loop { body, carried, taped } => {
                let c = carried as usize;
                let (state, out) = self.activity.round(&self.regions, body, c, taped, &active);
                let types = self.regions[body.0 as usize].result_types();
                let own_record = types.last() == Some(&Type::Record);
                let params: Vec<bool> = state.iter().chain(&active[c..]).copied().collect();
                let mut wanted = vec![false];
                wanted.extend(state.iter().chain(&out));
                wanted.resize(types.len(), false);
                let mut results = vec![1, c, out.len()];
                if own_record {
                    results.push(1);
                }
                let groups = Groups { params: vec![c, args.len() - c], results };
                let body = self.region(body, &params, &wanted, &groups);
                let mut all: Vec<NodeId> = args[..c].to_vec();
                all.extend((0..c).filter(|&i| state[i]).map(|i| dot(b, i)).collect::<Vec<_>>());
                let carried = all.len() as u32;
                all.extend(&args[c..]);
                all.extend(dots[c..].iter().flatten());
                let mut groups = vec![out];
                if taped {
                    groups.push(vec![false]);
                }
                self.spread(b, Kind::Loop { body, carried, taped }, &all, &groups)
            }
            Kind::Back { body, stored, carried } => {
                let (s, c) = (stored as usize, carried as usize);
                let region = &self.regions[body.0 as usize];
                // What was stored: carried values (all with tangents) and perhaps the body's own record, last.
                let values = region.params[..s].iter().filter(|t| matches!(t, Type::Value(_))).count();
                let mut params: Vec<bool> = region.params.iter().map(|t| matches!(t, Type::Value(_))).collect();
                let invariants = args.len() - 1 - c;
                params[s + c..].copy_from_slice(&active[1 + c..]);
                let groups = Groups { params: vec![values, s - values, c, invariants], results: vec![c] };
                let wanted = vec![true; c];
                let body = self.region(body, &params, &wanted, &groups);
                let mut all = args[..1 + c].to_vec();
                for i in 0..c {
                    let d = dot(b, 1 + i);
                    all.push(d);
                }
                all.extend(&args[1 + c..]);
                all.extend(dots[1 + c..].iter().flatten());
                debug_assert!(args[1..1 + c].iter().all(|&a| is_value(b, a)));
                self.spread(b, Kind::Back { body, stored: (s + values) as u32, carried: 2 * carried }, &all, &[wanted])
            }
            Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => unreachable!("has one result"),
        }
    }

    /// Makes the node and pairs its results with their tangents, group by group.
    fn spread(&mut self, b: &mut Builder, kind: Kind, args: &[NodeId], groups: &[Vec<bool>]) -> Vec<(NodeId, Option<NodeId>)> {
        let all = b.many(kind, args, &result_types(&self.regions, kind));
        let mut out = Vec::new();
        let mut at = 0;
        for wanted in groups {
            let values = &all[at..at + wanted.len()];
            at += wanted.len();
            for (&v, &w) in values.iter().zip(wanted) {
                out.push((v, w.then(|| all[at])));
                at += w as usize;
            }
        }
        debug_assert_eq!(at, all.len());
        out
    }
}

/// An unfinished region with the right types of results.
fn signature(region: &Region, wanted: &[bool], groups: &Groups) -> Region {
    let mut b = Builder::new(region.name.clone());
    let types = region.result_types();
    let mut results = Vec::new();
    for group in grouped(&groups.results) {
        let tangents = group.clone().filter(|&r| wanted[r]);
        for r in group.clone().chain(tangents) {
            results.push(b.param(types[r]));
        }
    }
    b.finish(results)
}

/// The tangent of an operation's result.
fn push_forward(b: &mut Builder, kind: Kind, out: NodeId, args: &[NodeId], dots: &[Option<NodeId>]) -> Option<NodeId> {
    let Kind::Op(op, attr) = kind else { unreachable!("an operation") };
    if dots.iter().all(Option::is_none) {
        return None;
    }
    let tangent = match op.row().derivative {
        Derivative::Zero => None,
        Derivative::Partials(partials) => {
            let slopes = partials(b, args, out);
            let mut sum: Option<NodeId> = None;
            for (slope, dot) in slopes.into_iter().zip(dots) {
                if let Some(dot) = *dot {
                    let term = b.mul(slope, dot);
                    sum = Some(match sum {
                        None => term,
                        Some(s) => b.add(s, term),
                    });
                }
            }
            sum
        }
        Derivative::Rules(jvp, _) => jvp(b, &Applied { args, out, attr }, dots),
        Derivative::OfParts => unreachable!("made of parts, never a node"),
    }?;
    // A scalar argument of a tensor operation has a scalar tangent; the result's has the result's shape.
    let shape = b.shape(out);
    Some(if b.shape(tangent) == shape { tangent } else { b.fill(tangent, shape) })
}
