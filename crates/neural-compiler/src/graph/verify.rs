//! Checks a graph's invariants. Runs between stages in debug and test builds; a failure is a bug in the compiler.

use super::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::ops::row::{Kernel, ShapeRule};
use crate::shape::Shape;

/// `Err` names the region, the node and what is wrong.
pub fn verify(graph: &Graph) -> Result<(), String> {
    let main = graph.main();
    if main.params.len() != graph.inputs.len() {
        return Err("the main region's parameters are not the inputs".into());
    }
    for (p, i) in main.params.iter().zip(&graph.inputs) {
        if *p != Type::Value(i.shape) {
            return Err(format!("the input `{}` has another shape than its parameter", i.name));
        }
    }
    for (r, region) in graph.regions.iter().enumerate() {
        let mut seen = vec![false; region.params.len()];
        for id in region.ids() {
            if let Kind::Param(p) = region.node(id).kind
                && seen.get(p as usize).is_none_or(|&s| s)
            {
                return Err(format!("region {r} has the parameter {p} twice or too many"));
            }
            if let Kind::Param(p) = region.node(id).kind {
                seen[p as usize] = true;
            }
            node(graph, region, id).map_err(|e| format!("region {r} `{}`, node {}: {e}", region.name, id.0))?;
        }
        if !seen.iter().all(|&s| s) {
            return Err(format!("region {r} lacks a parameter node"));
        }
        if region.results.iter().any(|x| x.0 as usize >= region.nodes.len() || region.node(*x).ty == Type::Many) {
            return Err(format!("region {r} has a result that is no value"));
        }
    }
    Ok(())
}

fn types(region: &Region, args: &[NodeId]) -> Vec<Type> {
    args.iter().map(|&a| region.node(a).ty).collect()
}

fn expect(what: &str, found: &[Type], wanted: &[Type]) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?} instead of {wanted:?}")) }
}

fn child(graph: &Graph, id: RegionId) -> Result<&Region, String> {
    graph.regions.get(id.0 as usize).ok_or_else(|| format!("there is no region {}", id.0))
}

fn node(graph: &Graph, region: &Region, id: NodeId) -> Result<(), String> {
    let n = region.node(id);
    let args = region.args(id);
    if args.iter().any(|a| *a >= id) {
        return Err("an argument does not come first".into());
    }
    let several = |k: Kind| matches!(k, Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. });
    if several(n.kind) != (n.ty == Type::Many) {
        return Err("the type does not go with the kind".into());
    }
    if !matches!(n.kind, Kind::Proj(_)) && args.iter().any(|&a| region.node(a).ty == Type::Many) {
        return Err("several results are used as one".into());
    }
    let found = types(region, args);
    match n.kind {
        Kind::Param(p) => {
            if region.params.get(p as usize) != Some(&n.ty) {
                return Err("a parameter of another type".into());
            }
        }
        Kind::Const(_) => expect("constant", &[n.ty], &[Type::Value(Shape::Scalar)])?,
        Kind::Op(op, _) => {
            let row = op.row();
            if matches!(row.kernel, Kernel::Composite(_)) {
                return Err(format!("{op:?} is not a node"));
            }
            let shapes: Vec<Shape> = found.iter().map(|t| t.shape()).collect();
            if found.iter().any(|t| !matches!(t, Type::Value(_))) {
                return Err("an operation on something that is no value".into());
            }
            if !matches!(row.shape, ShapeRule::Given) {
                let shape = super::result_shape(row, &shapes).map_err(|_| format!("{op:?} on {shapes:?}"))?;
                expect("operation", &[n.ty], &[Type::Value(shape)])?;
            }
        }
        Kind::If(a, b) => {
            let (a, b) = (child(graph, a)?, child(graph, b)?);
            expect("test", &found[..1], &[Type::Value(Shape::Scalar)])?;
            expect("first branch", &found[1..], &a.params)?;
            expect("second branch", &found[1..], &b.params)?;
            expect("branches", &a.result_types(), &b.result_types())?;
        }
        Kind::Call(f) => expect("call", &found, &child(graph, f)?.params)?,
        Kind::Root { solve, zero, slope, starts } => {
            let (solve, zero, slope) = (child(graph, solve)?, child(graph, zero)?, child(graph, slope)?);
            expect("root", &found, &solve.params)?;
            let inside: Vec<Type> = found[..1].iter().chain(&found[starts as usize..]).copied().collect();
            expect("what is 0", &inside, &zero.params)?;
            expect("its slope", &inside, &slope.params)?;
            expect("the root", &solve.result_types(), &found[..1])?;
            expect("what is 0 there", &zero.result_types(), &found[..1])?;
        }
        Kind::Loop { body, carried, .. } => {
            let body = child(graph, body)?;
            expect("loop", &found, &body.params)?;
            let types = body.result_types();
            expect("continue", &types[..1], &[Type::Value(Shape::Scalar)])?;
            expect("carried", &types[1..1 + carried as usize], &found[..carried as usize])?;
        }
        Kind::Back { body, stored, carried } => {
            let body = child(graph, body)?;
            expect("record", &found[..1], &[Type::Record])?;
            expect("back", &found[1..], &body.params[stored as usize..])?;
            expect("carried back", &body.result_types(), &found[1..1 + carried as usize])?;
        }
        Kind::Proj(i) => {
            let all = graph.result_types(region.node(args[0]).kind);
            if all.get(i as usize) != Some(&n.ty) {
                return Err(format!("result {i} of {all:?} taken as {:?}", n.ty));
            }
        }
        Kind::Pack => expect("record", &[n.ty], &[Type::Record])?,
        Kind::Unpack(_) => expect("unpack", &found, &[Type::Record])?,
    }
    Ok(())
}
