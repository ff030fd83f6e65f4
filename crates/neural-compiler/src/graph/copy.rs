//! Copies of regions and nodes. In: a region and its arguments; out: the same computation in another region under construction.
//! Invariant: a copy gives the results of the original to the bit; equal pure nodes of copies become one node.

use super::{Builder, Graph, Kind, Node, NodeId, Region, RegionId, Type, result_types};

/// Puts the nodes of a region into another one; returns its results there.
pub fn inline(b: &mut Builder, region: &Region, regions: &[Region], args: &[NodeId]) -> Vec<NodeId> {
    inline_with(b, region, regions, args, |_, _, _| None)
}

/// The same, where `instead` may give other results for a node that runs regions, on arguments that are copied already.
pub(crate) fn inline_with(
    b: &mut Builder,
    region: &Region,
    regions: &[Region],
    args: &[NodeId],
    mut instead: impl FnMut(&mut Builder, &Node, &[NodeId]) -> Option<Vec<NodeId>>,
) -> Vec<NodeId> {
    let mut map: Vec<NodeId> = Vec::with_capacity(region.nodes.len());
    let mut many: Vec<Vec<NodeId>> = Vec::new();
    for id in region.ids() {
        let node = region.node(id);
        b.span = node.span;
        let mapped: Vec<NodeId> = region.args(id).iter().map(|a| map[a.0 as usize]).collect();
        let new = match node.kind {
            Kind::Param(p) => args[p as usize],
            // The original's argument is a node with several results: its stand-in numbers the list of copies.
            Kind::Proj(i) => many[mapped[0].0 as usize][i as usize],
            Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => {
                let other = instead(b, node, &mapped);
                many.push(other.unwrap_or_else(|| b.many(node.kind, &mapped, &result_types(regions, node.kind))));
                NodeId(many.len() as u32 - 1)
            }
            Kind::Const(_) | Kind::Op(..) | Kind::Pack | Kind::Unpack(_) => single(b, node.kind, node.ty, &mapped),
        };
        map.push(new);
    }
    region.results.iter().map(|r| map[r.0 as usize]).collect()
}

/// A copy of a node with one result.
pub(crate) fn single(b: &mut Builder, kind: Kind, ty: Type, args: &[NodeId]) -> NodeId {
    match kind {
        Kind::Const(bits) => b.constant(f64::from_bits(bits)),
        Kind::Op(op, attr) => b.given(op, attr, ty.shape(), args),
        Kind::Pack | Kind::Unpack(_) => b.pure(kind, ty, args),
        Kind::Param(_) | Kind::Proj(_) | Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => {
            unreachable!("copied where its region is known")
        }
    }
}

/// Takes the regions of a graph over into a list of regions; gives the number of its main region there.
pub fn adopt(regions: &mut Vec<Region>, graph: &Graph) -> RegionId {
    let offset = regions.len() as u32;
    let up = |r: RegionId| RegionId(r.0 + offset);
    regions.extend(graph.regions.iter().cloned().map(|mut region| {
        region.nodes.iter_mut().for_each(|node| node.kind = node.kind.renumbered(up));
        region
    }));
    up(graph.main)
}
