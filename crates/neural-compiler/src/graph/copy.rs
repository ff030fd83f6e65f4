//! Copies of regions and nodes. In: a region and its arguments; out: the same computation in another region under construction.

use super::{Builder, Kind, NodeId, Region, RegionId, Type, result_types};

/// Puts the nodes of a region into another one; returns its results there.
pub fn inline(b: &mut Builder, region: &Region, regions: &[Region], args: &[NodeId]) -> Vec<NodeId> {
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
            Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) => {
                many.push(b.many(node.kind, &mapped, &result_types(regions, node.kind)));
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
        Kind::Param(_) | Kind::Proj(_) | Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) => {
            unreachable!("copied where its region is known")
        }
    }
}

/// A copy of a region whose children are numbered `offset` higher.
pub fn shift(region: &Region, offset: u32) -> Region {
    let mut region = region.clone();
    let up = |r: RegionId| RegionId(r.0 + offset);
    for node in &mut region.nodes {
        node.kind = match node.kind {
            Kind::If(a, b) => Kind::If(up(a), up(b)),
            Kind::Loop { body, carried, taped } => Kind::Loop { body: up(body), carried, taped },
            Kind::Back { body, stored, carried } => Kind::Back { body: up(body), stored, carried },
            Kind::Call(f) => Kind::Call(up(f)),
            other @ (Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_)) => other,
        };
    }
    region
}
