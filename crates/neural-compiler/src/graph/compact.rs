//! Drops what no result needs. In: a graph; out: the same graph without dead nodes and unreachable regions, in the same order.

use super::{Graph, Kind, NodeId, Region, RegionId};

/// Removes dead nodes from every region, then regions nobody runs.
pub fn compact(mut graph: Graph) -> Graph {
    let mut reached = vec![None; graph.regions.len()];
    let mut order: Vec<RegionId> = Vec::new();
    reached[graph.main.0 as usize] = Some(RegionId(0));
    let mut kept: Vec<Region> = Vec::new();
    let mut next = 0;
    // Regions are numbered in the order they are found, the main region first.
    order.push(graph.main);
    while next < order.len() {
        let id = order[next];
        next += 1;
        let region = live(std::mem::take(&mut graph.regions[id.0 as usize]));
        for node in &region.nodes {
            for child in Graph::children(node.kind) {
                if reached[child.0 as usize].is_none() {
                    reached[child.0 as usize] = Some(RegionId(order.len() as u32));
                    order.push(child);
                }
            }
        }
        kept.push(region);
    }
    let map = |r: RegionId| reached[r.0 as usize].expect("every region that is run is reached");
    for region in &mut kept {
        for node in &mut region.nodes {
            node.kind = node.kind.renumbered(map);
        }
    }
    Graph { regions: kept, main: RegionId(0), inputs: graph.inputs, origin: None }
}

/// The region with only the nodes its results need; parameters always stay.
pub(super) fn live(region: Region) -> Region {
    let n = region.nodes.len();
    let mut needed = vec![false; n];
    for &r in &region.results {
        needed[r.0 as usize] = true;
    }
    for i in (0..n).rev() {
        if needed[i] {
            for &a in region.args(NodeId(i as u32)) {
                needed[a.0 as usize] = true;
            }
        } else if matches!(region.nodes[i].kind, Kind::Param(_)) {
            needed[i] = true;
        }
    }
    if needed.iter().all(|&k| k) {
        return region;
    }
    let mut place = vec![NodeId(u32::MAX); n];
    let mut out = Region { name: region.name.clone(), params: region.params.clone(), ..Region::default() };
    for i in 0..n {
        if !needed[i] {
            continue;
        }
        place[i] = NodeId(out.nodes.len() as u32);
        let from = out.pool.len() as u32;
        out.pool.extend(region.args(NodeId(i as u32)).iter().map(|a| place[a.0 as usize]));
        let mut node = region.nodes[i];
        node.args = (from, out.pool.len() as u32);
        out.nodes.push(node);
    }
    out.results = region.results.iter().map(|r| place[r.0 as usize]).collect();
    out
}
