//! Small choices without control flow become selections: both sides are computed in every lane and each lane takes its own. In: a
//! graph; out: the same program with fewer masks.
//! Invariants: only sides that cannot fail are flattened, so nothing but the value of the side taken is ever seen; a computation that may
//! fail stays, also where both sides turn out the same and nobody needs the choice.

use super::compact::{compact, live};
use super::{Builder, Graph, Kind, NodeId, Region, RegionId, Type, copy};
use crate::ops::{Kernel, Op};

/// Computing both sides pays up to this many operations a side.
const MOST_OPERATIONS: usize = 32;

/// Flattens every choice that allows it, innermost first.
pub fn flatten(graph: &Graph) -> Graph {
    let mut regions = graph.regions.clone();
    let mut done = vec![false; regions.len()];
    visit(&mut regions, &mut done, graph.main);
    compact(Graph { regions, main: graph.main, inputs: graph.inputs.clone(), origin: None })
}

fn visit(regions: &mut Vec<Region>, done: &mut Vec<bool>, id: RegionId) {
    if std::mem::replace(&mut done[id.0 as usize], true) {
        return;
    }
    crate::deep(|| {
        let children: Vec<RegionId> = regions[id.0 as usize].nodes.iter().flat_map(|n| Graph::children(n.kind)).collect();
        for child in children {
            visit(regions, done, child);
        }
        let region = &regions[id.0 as usize];
        if region.nodes.iter().any(|n| choice(regions, n.kind).is_some()) {
            let flat = live(rebuild(regions, region));
            if may_fail(regions, &flat) == may_fail(regions, region) {
                regions[id.0 as usize] = flat;
            }
        }
    })
}

/// How many computations of a region may fail.
fn may_fail(regions: &[Region], region: &Region) -> usize {
    let cannot = |kind: Kind| match kind {
        Kind::Param(_) | Kind::Const(_) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => true,
        Kind::If(..) => choice(regions, kind).is_some(),
        Kind::Op(op, _) => infallible(op),
        Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => false,
    };
    region.nodes.iter().filter(|n| !cannot(n.kind)).count()
}

/// Whether an operation gives a value whatever its arguments.
fn infallible(op: Op) -> bool {
    match &op.row().kernel {
        Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select => true,
        Kernel::Tensor(k) => k.lanes32.is_some(),
        Kernel::Composite(_) => false,
    }
}

/// The two sides of a choice that can be flattened.
fn choice(regions: &[Region], kind: Kind) -> Option<(&Region, &Region)> {
    let Kind::If(a, b) = kind else { return None };
    let (a, b) = (&regions[a.0 as usize], &regions[b.0 as usize]);
    (plain(a) && plain(b)).then_some((a, b))
}

/// A few operations that cannot fail and are cheap over lanes.
fn plain(region: &Region) -> bool {
    let cheap = |kind: Kind| match kind {
        Kind::Param(_) | Kind::Const(_) => true,
        Kind::Op(op, _) => infallible(op),
        Kind::If(..)
        | Kind::Loop { .. }
        | Kind::Back { .. }
        | Kind::Call(_)
        | Kind::Root { .. }
        | Kind::Proj(_)
        | Kind::Pack
        | Kind::Unpack(_) => false,
    };
    let numbers = |r: &NodeId| matches!(region.node(*r).ty, Type::Value(_));
    let operations = region.nodes.iter().filter(|n| matches!(n.kind, Kind::Op(..))).map(|n| n.ty.shape().len()).sum::<usize>();
    operations <= MOST_OPERATIONS && region.nodes.iter().all(|n| cheap(n.kind)) && region.results.iter().all(numbers)
}

fn rebuild(regions: &[Region], region: &Region) -> Region {
    let mut b = Builder::new(region.name.clone());
    // Parameters keep their places.
    let params: Vec<NodeId> = region.params.iter().map(|&t| b.param(t)).collect();
    let results = copy::inline_with(&mut b, region, regions, &params, |b, node, args| {
        let (yes, no) = choice(regions, node.kind)?;
        let first = copy::inline(b, yes, regions, &args[1..]);
        let second = copy::inline(b, no, regions, &args[1..]);
        b.span = node.span;
        Some(first.into_iter().zip(second).map(|(x, y)| if x == y { x } else { b.op(Op::Select, &[args[0], x, y]) }).collect())
    });
    b.finish(results)
}
