//! Roots of equations as graphs. In: graphs of an expression and of its derivative by its first input; out: the graph that finds where the
//! expression is 0, made of ordinary nodes, so that every executor runs it with the same bits.
//!
//! From a start Newton's steps are taken, halved until the next correction with the same slope is smaller than the last one (the natural
//! test of Deuflhard, which no change of units of the equations alters). Within an interval that shows a change of sign Newton's steps
//! are taken too, now and then one of twice the length, to bring the other end near, and a bisection where the interval does not shrink.
//! Invariants: nothing depends on the number type but its roundings: a search ends where a step changes no digit. What it ends at is a root
//! only if the step that is left is small beside the numbers passed, and leads where the equation holds no worse: a search from a start may
//! be held up at the border of a domain, or above a minimum. An infinite slope asks for no step, whatever the value is: where it is not 0
//! there is no root. Everything else is no root, and fails.

use super::{Builder, Graph, GraphInput, Kind, NodeId, Region, RegionId, Type, assemble, copy};
use crate::ops::Op;
use crate::shape::Shape;
use crate::source::Span;

/// What the node that fails where there is no root says of how it was looked for: its attribute.
pub(crate) const FROM_START: u32 = 1;
/// Within an interval.
pub(crate) const WITHIN: u32 = 2;

/// Rounds after which there is nothing to be found.
const ROUNDS: f64 = 4000.0;
/// What a step that is left may be, as a share of the numbers passed: far above roundings in either number type.
const SMALL: f64 = 1e-4;
/// How much longer the step after the one that is left may be (squared for vectors): among roundings either is short by chance.
const CHANCE: f64 = 1e6;

/// The expression and its slope, as regions.
struct Parts {
    regions: Vec<Region>,
    zero: RegionId,
    slope: RegionId,
    span: Span,
}

impl Parts {
    /// The expression and its slope at x.
    fn at(&self, b: &mut Builder, x: NodeId, rest: &[NodeId]) -> (NodeId, NodeId) {
        let args: Vec<NodeId> = std::iter::once(x).chain(rest.iter().copied()).collect();
        let mut value = |r: RegionId| copy::inline(b, &self.regions[r.0 as usize], &self.regions, &args)[0];
        let found = (value(self.zero), value(self.slope));
        b.span = self.span;
        found
    }

    fn builder(&self, name: &str) -> Builder {
        let mut b = Builder::new(name);
        b.span = self.span;
        b
    }
}

/// The graph that finds the root of `zero`, whose first input is what is looked for, and whose derivative by it is `slope`. Inputs: a start
/// (`within`: both ends of an interval), then the other inputs of `zero`; result: the root.
pub(crate) fn solver(zero: &Graph, slope: &Graph, within: bool, span: Span) -> Graph {
    let mut regions = Vec::new();
    let (z, s) = (copy::adopt(&mut regions, zero), copy::adopt(&mut regions, slope));
    let mut parts = Parts { regions, zero: z, slope: s, span };
    let rest: Vec<Type> = zero.inputs[1..].iter().map(|i| Type::Value(i.shape)).collect();
    let shape = zero.inputs[0].shape;
    let main = if within { bisected(&mut parts, &rest) } else { newton(&mut parts, shape, &rest) };
    let start = |name: &str| GraphInput { name: name.into(), shape };
    let starts = if within { vec![start("from"), start("to")] } else { vec![start("start")] };
    assemble(parts.regions, main, starts.into_iter().chain(zero.inputs[1..].iter().cloned()).collect())
}

/// The step that a slope and a value ask for.
pub(crate) fn step(b: &mut Builder, slope: NodeId, value: NodeId) -> NodeId {
    if b.shape(value) == Shape::Scalar { b.div(value, slope) } else { b.op(Op::Solve, &[slope, value]) }
}

fn absolute(b: &mut Builder, x: NodeId) -> NodeId {
    b.op(Op::Abs, &[x])
}

fn select(b: &mut Builder, test: NodeId, yes: NodeId, no: NodeId) -> NodeId {
    b.op(Op::Select, &[test, yes, no])
}

fn not(b: &mut Builder, test: NodeId) -> NodeId {
    let one = b.constant(1.0);
    b.sub(one, test)
}

/// Whether a comparison holds for every number of a value.
fn all(b: &mut Builder, op: Op, x: NodeId, y: NodeId) -> NodeId {
    let each = b.op(op, &[x, y]);
    let shape = b.shape(each);
    if shape == Shape::Scalar {
        return each;
    }
    let (count, total) = (b.constant(shape.len() as f64), b.op(Op::Total, &[each]));
    b.op(Op::Eq, &[total, count])
}

/// Scales to measure by: 1 where there is none.
fn scales(b: &mut Builder, scale: NodeId) -> NodeId {
    let (zero, one) = (b.constant(0.0), b.constant(1.0));
    let none = b.op(Op::Eq, &[scale, zero]);
    select(b, none, one, scale)
}

/// Whether all numbers of a value are finite.
fn finite(b: &mut Builder, x: NodeId) -> NodeId {
    let (nothing, zero) = (b.sub(x, x), b.constant(0.0));
    all(b, Op::Eq, nothing, zero)
}

/// How large a step is.
fn size(b: &mut Builder, x: NodeId, scale: NodeId) -> NodeId {
    if b.shape(x) == Shape::Scalar {
        return absolute(b, x);
    }
    let scale = scales(b, scale);
    let share = b.div(x, scale);
    let squares = b.mul(share, share);
    b.op(Op::Total, &[squares])
}

/// The value, which fails unless it is found: it is taken from a list of one by an index that is 0, or not there.
fn found(b: &mut Builder, x: NodeId, is_found: NodeId, attribute: u32) -> NodeId {
    let one = b.constant(1.0);
    let index = b.sub(is_found, one);
    let shape = b.shape(x);
    let list = match shape {
        Shape::Scalar => Shape::Vector(1),
        other => Shape::Matrix(1, other.len() as u32),
    };
    let list = b.given(Op::Join, 0, list, &[x]);
    b.given(Op::CutAt, attribute, shape, &[list, index])
}

/// Newton's steps from a start.
fn newton(parts: &mut Parts, shape: Shape, rest: &[Type]) -> Region {
    let scalar = Type::Value(Shape::Scalar);
    let slopes = parts.regions[parts.slope.0 as usize].result_types()[0];
    let carried = [Type::Value(shape), Type::Value(shape), slopes, Type::Value(shape), scalar, scalar];
    let mut b = parts.builder("root");
    let own: Vec<NodeId> = carried.iter().map(|&t| b.param(t)).collect();
    let others: Vec<NodeId> = rest.iter().map(|&t| b.param(t)).collect();
    let [x, dx, slope, scale, share, round] = own[..] else { unreachable!("as many as are carried") };
    let part = b.mul(share, dx);
    let c = b.sub(x, part);
    let (value, slope_there) = parts.at(&mut b, c, &others);
    let correction = step(&mut b, slope, value);
    let (before, after) = (size(&mut b, dx, scale), size(&mut b, correction, scale));
    let good = b.op(Op::Lt, &[after, before]);
    let next_dx = step(&mut b, slope_there, value);
    let one = b.constant(1.0);
    let (four, half, most) = (b.constant(4.0), b.constant(0.5), b.constant(ROUNDS));
    let (longer, shorter) = (b.mul(four, share), b.mul(half, share));
    let longer = b.op(Op::Min, &[one, longer]);
    let (ax, ac) = (absolute(&mut b, x), absolute(&mut b, c));
    let wider = b.op(Op::Max, &[scale, ac]);
    let wider = b.op(Op::Max, &[wider, ax]);
    // A step without a length has nothing to follow.
    let some = finite(&mut b, dx);
    let still = all(&mut b, Op::Eq, c, x);
    let moves = not(&mut b, still);
    let in_time = b.op(Op::Lt, &[round, most]);
    let go = b.mul(some, moves);
    let go = b.mul(go, in_time);
    let next = [
        select(&mut b, good, c, x),
        select(&mut b, good, next_dx, dx),
        select(&mut b, good, slope_there, slope),
        select(&mut b, good, wider, scale),
        select(&mut b, good, longer, shorter),
        b.add(round, one),
    ];
    let results: Vec<NodeId> = std::iter::once(go).chain(next).chain([x, dx, slope, scale]).collect();
    parts.regions.push(b.finish(results));
    let body = RegionId(parts.regions.len() as u32 - 1);
    let mut b = parts.builder("root");
    let x = b.param(Type::Value(shape));
    let others: Vec<NodeId> = rest.iter().map(|&t| b.param(t)).collect();
    let (value, slope) = parts.at(&mut b, x, &others);
    let dx = step(&mut b, slope, value);
    let (scale, one, zero) = (absolute(&mut b, x), b.constant(1.0), b.constant(0.0));
    let args: Vec<NodeId> = [x, dx, slope, scale, one, zero].into_iter().chain(others.iter().copied()).collect();
    let kind = Kind::Loop { body, carried: carried.len() as u32, taped: false };
    let out = b.many(kind, &args, &[Type::Value(shape), Type::Value(shape), slopes, Type::Value(shape)]);
    let [x, dx, slope, scale] = out[..] else { unreachable!("as many as were asked for") };
    let (small, left, measure) = (b.constant(SMALL), absolute(&mut b, dx), scales(&mut b, scale));
    let least = b.mul(small, measure);
    let ends = all(&mut b, Op::Le, left, least);
    let to = b.sub(x, dx);
    let (value, _) = parts.at(&mut b, to, &others);
    let further = step(&mut b, slope, value);
    let (chance, before, after) = (b.constant(CHANCE), size(&mut b, dx, scale), size(&mut b, further, scale));
    let most = b.mul(chance, before);
    let holds = b.op(Op::Le, &[after, most]);
    let meets = all(&mut b, Op::Eq, value, zero);
    let leads = b.op(Op::Max, &[holds, meets]);
    let (some, met) = (finite(&mut b, slope), b.op(Op::Eq, &[before, zero]));
    let exact = b.mul(met, meets);
    let sloped = b.op(Op::Max, &[some, exact]);
    let is_root = b.mul(ends, leads);
    let is_root = b.mul(is_root, sloped);
    let root = found(&mut b, x, is_root, FROM_START);
    b.finish(vec![root])
}

/// Newton's steps and bisections within an interval.
fn bisected(parts: &mut Parts, rest: &[Type]) -> Region {
    let scalar = Type::Value(Shape::Scalar);
    const CARRIED: usize = 9;
    let mut b = parts.builder("root");
    let own: Vec<NodeId> = (0..CARRIED).map(|_| b.param(scalar)).collect();
    let others: Vec<NodeId> = rest.iter().map(|&t| b.param(t)).collect();
    let [from, to, sign, x, value, slope, width, since, round] = own[..] else { unreachable!("as many as are carried") };
    let (zero, half, one, two, three, most) =
        (b.constant(0.0), b.constant(0.5), b.constant(1.0), b.constant(2.0), b.constant(3.0), b.constant(ROUNDS));
    let apart = b.sub(to, from);
    let middle = b.mul(apart, half);
    let middle = b.add(from, middle);
    let whole = b.div(value, slope);
    let over = b.op(Op::Eq, &[since, two]);
    let twice = b.mul(two, whole);
    let chosen = select(&mut b, over, twice, whole);
    let newton = b.sub(x, chosen);
    let (low, high) = (b.op(Op::Min, &[from, to]), b.op(Op::Max, &[from, to]));
    let (above, below) = (b.op(Op::Lt, &[low, newton]), b.op(Op::Lt, &[newton, high]));
    let inside = b.mul(above, below);
    let early = b.op(Op::Lt, &[since, three]);
    let by_newton = b.mul(inside, early);
    let c = select(&mut b, by_newton, newton, middle);
    let (there, slope_there) = parts.at(&mut b, c, &others);
    let negative = b.op(Op::Lt, &[there, zero]);
    let same = b.op(Op::Eq, &[negative, sign]);
    let (next_from, next_to) = (select(&mut b, same, c, from), select(&mut b, same, to, c));
    let (now, then) = (absolute(&mut b, value), absolute(&mut b, there));
    // The best so far is an end of the interval: what lies outside is not what changes its sign.
    let replaced = select(&mut b, same, from, to);
    let (better, passed) = (b.op(Op::Lt, &[then, now]), b.op(Op::Eq, &[x, replaced]));
    let taken = b.op(Op::Max, &[better, passed]);
    let left = b.sub(next_to, next_from);
    let left = absolute(&mut b, left);
    let halved = b.mul(half, width);
    let shrinks = b.op(Op::Le, &[left, halved]);
    let waited = b.add(since, one);
    // The end is where the value is 0, where the ends are neighbours, or where a step changes nothing.
    let straight = b.sub(x, whole);
    let (stays, sloped) = (b.op(Op::Eq, &[straight, x]), finite(&mut b, slope));
    let settled = b.mul(stays, sloped);
    let ends = [b.op(Op::Eq, &[value, zero]), b.op(Op::Eq, &[middle, from]), b.op(Op::Eq, &[middle, to]), settled];
    let mut go = b.op(Op::Lt, &[round, most]);
    for end in ends {
        let on = not(&mut b, end);
        go = b.mul(go, on);
    }
    let next = [
        next_from,
        next_to,
        sign,
        select(&mut b, taken, c, x),
        select(&mut b, taken, there, value),
        select(&mut b, taken, slope_there, slope),
        select(&mut b, shrinks, left, width),
        select(&mut b, shrinks, zero, waited),
        b.add(round, one),
    ];
    let results: Vec<NodeId> = std::iter::once(go).chain(next).chain([x, value, slope]).collect();
    parts.regions.push(b.finish(results));
    let body = RegionId(parts.regions.len() as u32 - 1);
    let mut b = parts.builder("root");
    let (from, to) = (b.param(scalar), b.param(scalar));
    let others: Vec<NodeId> = rest.iter().map(|&t| b.param(t)).collect();
    let ((first, first_slope), (last, last_slope)) = (parts.at(&mut b, from, &others), parts.at(&mut b, to, &others));
    let (zero, most) = (b.constant(0.0), b.constant(ROUNDS));
    let (a, z) = (absolute(&mut b, first), absolute(&mut b, last));
    let nearer = b.op(Op::Lt, &[a, z]);
    let x = select(&mut b, nearer, from, to);
    let value = select(&mut b, nearer, first, last);
    let slope = select(&mut b, nearer, first_slope, last_slope);
    let (down, up) = (b.op(Op::Lt, &[first, zero]), b.op(Op::Gt, &[first, zero]));
    let (down_there, up_there) = (b.op(Op::Lt, &[last, zero]), b.op(Op::Gt, &[last, zero]));
    let (rises, falls, there) = (b.mul(down, up_there), b.mul(up, down_there), b.op(Op::Eq, &[value, zero]));
    let changes = b.op(Op::Max, &[rises, falls]);
    let width = b.sub(to, from);
    let (width, bounded) = (absolute(&mut b, width), finite(&mut b, width));
    let valid = b.op(Op::Max, &[changes, there]);
    let valid = b.mul(valid, bounded);
    let round = select(&mut b, valid, zero, most);
    let args: Vec<NodeId> = [from, to, down, x, value, slope, width, zero, round].into_iter().chain(others).collect();
    let kind = Kind::Loop { body, carried: CARRIED as u32, taped: false };
    let out = b.many(kind, &args, &[scalar; 3]);
    // A pole changes the sign too, with ever larger values, and so does a jump, where no step is small.
    let (value, slope, largest) = (absolute(&mut b, out[1]), absolute(&mut b, out[2]), b.op(Op::Max, &[a, z]));
    let (scale, other) = (absolute(&mut b, from), absolute(&mut b, to));
    let scale = b.op(Op::Max, &[scale, other]);
    let small = b.constant(SMALL);
    let near = b.mul(small, scale);
    let near = b.mul(near, slope);
    let (no_pole, no_jump) = (b.op(Op::Le, &[value, largest]), b.op(Op::Le, &[value, near]));
    let (passes, sloped) = (b.mul(no_pole, no_jump), finite(&mut b, out[2]));
    let passes = b.mul(passes, sloped);
    let exact = b.op(Op::Eq, &[out[1], zero]);
    let passes = b.op(Op::Max, &[passes, exact]);
    let is_root = b.mul(passes, valid);
    let root = found(&mut b, out[0], is_root, WITHIN);
    b.finish(vec![root])
}
