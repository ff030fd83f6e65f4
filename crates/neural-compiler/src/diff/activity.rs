//! Which values can have a derivative. In: which parameters (or results) matter; out: which results (or parameters) they reach
//! through differentiable operations. An over-approximation: what is not active has derivative 0 by structure.

use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::ops::Derivative;
use rustc_hash::FxHashMap;

/// Remembers what it found per region and question.
#[derive(Default)]
pub(super) struct Activity {
    forward: FxHashMap<(RegionId, Vec<bool>), Vec<bool>>,
    backward: FxHashMap<(RegionId, Vec<bool>), Vec<bool>>,
}

fn differentiable(kind: Kind) -> bool {
    match kind {
        Kind::Op(op, _) => !matches!(op.row().derivative, Derivative::Zero),
        Kind::Param(_)
        | Kind::Const(_)
        | Kind::If(..)
        | Kind::Loop { .. }
        | Kind::Back { .. }
        | Kind::Call(_)
        | Kind::Root { .. }
        | Kind::Proj(_)
        | Kind::Pack
        | Kind::Unpack(_) => true,
    }
}

/// What the nodes of a region are, one flag each; several for nodes with several results.
pub(super) type Flags = Vec<Vec<bool>>;

impl Activity {
    /// Which results of a region depend on the given parameters.
    pub(super) fn results(&mut self, regions: &[Region], id: RegionId, params: &[bool]) -> Vec<bool> {
        if let Some(known) = self.forward.get(&(id, params.to_vec())) {
            return known.clone();
        }
        let region = &regions[id.0 as usize];
        let flags = crate::deep(|| self.nodes(regions, region, params));
        let results: Vec<bool> = region.results.iter().map(|r| flags[r.0 as usize][0]).collect();
        self.forward.insert((id, params.to_vec()), results.clone());
        results
    }

    /// Which nodes of a region depend on the given parameters.
    pub(super) fn nodes(&mut self, regions: &[Region], region: &Region, params: &[bool]) -> Flags {
        let mut flags: Flags = Vec::with_capacity(region.nodes.len());
        for id in region.ids() {
            let node = region.node(id);
            let args: Vec<bool> = region.args(id).iter().map(|a| flags[a.0 as usize].first().copied().unwrap_or(false)).collect();
            let any = args.iter().any(|&a| a);
            let flag = match node.kind {
                Kind::Param(p) => vec![params[p as usize]],
                Kind::Const(_) | Kind::Pack => vec![false],
                // A record always holds the tangents of its values.
                Kind::Unpack(_) => vec![matches!(node.ty, Type::Value(_))],
                Kind::Op(..) => vec![any && differentiable(node.kind)],
                Kind::Proj(i) => vec![flags[region.args(id)[0].0 as usize][i as usize]],
                Kind::If(a, b) => {
                    let (x, y) = (self.results(regions, a, &args[1..]), self.results(regions, b, &args[1..]));
                    x.iter().zip(&y).map(|(x, y)| x | y).collect()
                }
                Kind::Call(f) => {
                    let record = regions[f.0 as usize].params.contains(&Type::Record);
                    regions[f.0 as usize].result_types().iter().map(|t| (any || record) && matches!(t, Type::Value(_))).collect()
                }
                Kind::Root { starts, .. } => vec![args[starts as usize..].contains(&true)],
                Kind::Loop { body, carried, taped } => {
                    let (_, mut out) = self.round(regions, body, carried as usize, taped, &args);
                    if taped {
                        out.push(false);
                    }
                    out
                }
                Kind::Back { .. } => regions_back(regions, node.kind),
            };
            flags.push(flag);
        }
        flags
    }

    /// For a loop: which carried values, and which results, depend on active arguments. A taped loop stores a tangent with every
    /// carried value, so there all are active.
    pub(super) fn round(
        &mut self,
        regions: &[Region],
        body: RegionId,
        carried: usize,
        taped: bool,
        args: &[bool],
    ) -> (Vec<bool>, Vec<bool>) {
        let mut params = args.to_vec();
        if taped {
            params[..carried].fill(true);
        }
        loop {
            let results = self.results(regions, body, &params);
            let before = params.clone();
            for i in 0..carried {
                params[i] |= results[1 + i];
            }
            if params == before {
                let types = regions[body.0 as usize].result_types();
                let out = results[1 + carried..]
                    .iter()
                    .zip(&types[1 + carried..])
                    .filter(|(_, t)| **t != Type::Record)
                    .map(|(r, _)| *r)
                    .collect();
                return (params[..carried].to_vec(), out);
            }
        }
    }

    /// Which parameters of a region the given results depend on.
    pub(super) fn params(&mut self, regions: &[Region], id: RegionId, results: &[bool]) -> Vec<bool> {
        if let Some(known) = self.backward.get(&(id, results.to_vec())) {
            return known.clone();
        }
        let found = crate::deep(|| self.params_here(regions, id, results));
        self.backward.insert((id, results.to_vec()), found.clone());
        found
    }

    fn params_here(&mut self, regions: &[Region], id: RegionId, results: &[bool]) -> Vec<bool> {
        let region = &regions[id.0 as usize];
        let mut needed: Vec<bool> = vec![false; region.nodes.len()];
        let mut many: FxHashMap<NodeId, Vec<bool>> = FxHashMap::default();
        for (&r, &wanted) in region.results.iter().zip(results) {
            needed[r.0 as usize] |= wanted;
        }
        let mut params = vec![false; region.params.len()];
        for n in region.ids().rev() {
            let node = region.node(n);
            let args = region.args(n);
            let wanted = many.remove(&n).unwrap_or_default();
            let used: Vec<bool> = match node.kind {
                Kind::Param(p) => {
                    params[p as usize] = needed[n.0 as usize];
                    continue;
                }
                Kind::Proj(i) => {
                    if needed[n.0 as usize] {
                        let list = many.entry(args[0]).or_default();
                        list.resize(list.len().max(i as usize + 1), false);
                        list[i as usize] = true;
                    }
                    continue;
                }
                Kind::Const(_) | Kind::Pack | Kind::Unpack(_) | Kind::Back { .. } => continue,
                Kind::Op(..) => vec![needed[n.0 as usize] && differentiable(node.kind); args.len()],
                Kind::Call(_) => vec![wanted.iter().any(|&w| w); args.len()],
                Kind::Root { starts, .. } => (0..args.len()).map(|k| k >= starts as usize && wanted.contains(&true)).collect(),
                Kind::If(a, b) => {
                    let mut wanted = wanted;
                    wanted.resize(regions[a.0 as usize].results.len(), false);
                    let (x, y) = (self.params(regions, a, &wanted), self.params(regions, b, &wanted));
                    std::iter::once(false).chain(x.iter().zip(&y).map(|(x, y)| x | y)).collect()
                }
                Kind::Loop { body, carried, .. } => self.loop_params(regions, body, carried as usize, &wanted),
            };
            for (&a, used) in args.iter().zip(used) {
                needed[a.0 as usize] |= used;
            }
        }
        params
    }

    /// For a loop: which arguments the given results depend on, over any number of rounds.
    pub(super) fn loop_params(&mut self, regions: &[Region], body: RegionId, carried: usize, results: &[bool]) -> Vec<bool> {
        let mut wanted = vec![false; regions[body.0 as usize].results.len()];
        for (w, &r) in wanted[1 + carried..].iter_mut().zip(results) {
            *w = r;
        }
        loop {
            let params = self.params(regions, body, &wanted);
            let before = wanted.clone();
            for i in 0..carried {
                wanted[1 + i] |= params[i];
            }
            if wanted == before {
                return params;
            }
        }
    }
}

fn regions_back(regions: &[Region], kind: Kind) -> Vec<bool> {
    crate::graph::result_types(regions, kind).iter().map(|t| matches!(t, Type::Value(_))).collect()
}

/// Loops in loops, and regions of any kind in each other, up to which reverse mode computes again what it needs: as many times as they are
/// deep.
const MOST_LOOPS: usize = 8;
const MOST_REGIONS: usize = 256;

/// Regions whose runs reverse mode records, because to compute again what it needs would take too long: those that can reach a cycle of
/// calls, and those with others deep inside.
pub(super) fn recorded(graph: &Graph) -> Vec<bool> {
    let n = graph.regions.len();
    // What a region runs, and whether in a loop.
    let children: Vec<Vec<(usize, bool)>> = graph
        .regions
        .iter()
        .map(|r| {
            let runs = |kind: Kind| {
                Graph::children(kind).into_iter().map(move |c| (c.0 as usize, matches!(kind, Kind::Loop { .. } | Kind::Back { .. })))
            };
            r.nodes.iter().flat_map(|node| runs(node.kind)).collect()
        })
        .collect();
    // A region is free of recursion once all its children are: peel from the leaves; what is left reaches a cycle.
    let mut open: Vec<usize> = children.iter().map(Vec::len).collect();
    let mut parents: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (r, list) in children.iter().enumerate() {
        for &(c, _) in list {
            parents[c].push(r);
        }
    }
    let mut work: Vec<usize> = (0..n).filter(|&r| open[r] == 0).collect();
    let mut recorded = vec![true; n];
    let mut depth = vec![(0, 0); n];
    while let Some(r) = work.pop() {
        let most = |(loops, regions): (usize, usize), &(c, in_loop): &(usize, bool)| {
            let (l, k): (usize, usize) = depth[c];
            (loops.max(l + usize::from(in_loop)), regions.max(k + 1))
        };
        depth[r] = children[r].iter().fold((0, 0), most);
        recorded[r] = depth[r].0 > MOST_LOOPS || depth[r].1 > MOST_REGIONS;
        for &p in &parents[r] {
            open[p] -= 1;
            if open[p] == 0 {
                work.push(p);
            }
        }
    }
    recorded
}
