//! Operations on values at the points of a grid. In: nodes; out: the nodes they are made of. With them a partial differential equation in
//! one dimension is a few lines: differences along the grid, with the values beyond its ends as arguments, and values between points.

use super::row::LowerError;
use super::rules::{index, whole_constant};
use super::table::Op;
use crate::graph::{Builder, NodeId};
use crate::shape::Shape;

type Lowered = Result<NodeId, LowerError>;

/// The vector of 0, 1, … below `n`, by doubling.
fn counted(b: &mut Builder, n: u32) -> NodeId {
    let zero = b.constant(0.0);
    let mut found = b.given(Op::Join, 0, Shape::Vector(1), &[zero]);
    let mut have = 1;
    while have < n {
        let more = have.min(n - have);
        let first = b.given(Op::Cut, 0, Shape::Vector(more), &[found]);
        let from = b.constant(f64::from(have));
        let next = b.add(first, from);
        have += more;
        found = b.given(Op::Join, 0, Shape::Vector(have), &[found, next]);
    }
    found
}

/// `n` points from `a` to `b`: a (1 - w) + b w, so that both ends are met exactly.
pub(crate) fn linspace(b: &mut Builder, x: &[NodeId]) -> Lowered {
    let n = whole_constant(b, x[2], "the number of points")?;
    if n < 2 {
        return Err(LowerError::new("bad-size", "a grid has two points at least"));
    }
    if n > 1 << 24 {
        return Err(LowerError::new("bad-size", format!("a grid of {n} points is larger than 2^24 numbers")));
    }
    for &end in &x[..2] {
        scalar(b, end, "an end of a grid")?;
    }
    let (counted, steps, one) = (counted(b, n), b.constant(f64::from(n - 1)), b.constant(1.0));
    let share = b.div(counted, steps);
    let rest = b.sub(one, share);
    let (left, right) = (b.mul(x[0], rest), b.mul(x[1], share));
    Ok(b.add(left, right))
}

fn scalar(b: &Builder, x: NodeId, what: &str) -> Result<(), LowerError> {
    match b.shape(x) {
        Shape::Scalar => Ok(()),
        other => Err(LowerError::new("shape-mismatch", format!("{what} is a scalar, this is a {other}"))),
    }
}

/// A vector's elements one place before and one behind each of them, the given ones beyond its ends.
fn neighbours(b: &mut Builder, x: &[NodeId]) -> (NodeId, NodeId) {
    let shape = b.shape(x[0]);
    let n = shape.len() as u32;
    if n <= 1 {
        let one = |b: &mut Builder, x: NodeId| b.given(Op::Join, 0, shape, &[x]);
        return (one(b, x[1]), one(b, x[2]));
    }
    let (front, back) = (b.given(Op::Cut, 0, Shape::Vector(n - 1), &[x[0]]), b.given(Op::Cut, 1, Shape::Vector(n - 1), &[x[0]]));
    (b.given(Op::Join, 0, shape, &[x[1], front]), b.given(Op::Join, 0, shape, &[back, x[2]]))
}

/// (u[i+1] - u[i-1]) / 2h.
pub(crate) fn first_difference(b: &mut Builder, x: &[NodeId]) -> Lowered {
    let (before, behind) = neighbours(b, x);
    let (two, change) = (b.constant(2.0), b.sub(behind, before));
    let width = b.mul(two, x[3]);
    Ok(b.div(change, width))
}

/// ((u[i+1] - u[i]) - (u[i] - u[i-1])) / h²: as a difference of differences, so that what is straight gives 0.
pub(crate) fn second_difference(b: &mut Builder, x: &[NodeId]) -> Lowered {
    let (before, behind) = neighbours(b, x);
    let (right, left) = (b.sub(behind, x[0]), b.sub(x[0], before));
    let (change, square) = (b.sub(right, left), b.op(Op::Square, &[x[3]]));
    Ok(b.div(change, square))
}

/// The value at a place between `a` and `b` of the straight lines through values at points from `a` to `b`. Elsewhere there is none.
pub(crate) fn interpolate(b: &mut Builder, x: &[NodeId]) -> Lowered {
    let n = match b.shape(x[0]) {
        Shape::Vector(n) if n >= 2 => n,
        other => {
            return Err(LowerError::new(
                "shape-mismatch",
                format!("interpolate takes a vector of two elements at least, this is a {other}"),
            ));
        }
    };
    for (&at, what) in x[1..].iter().zip(["an end of a grid", "an end of a grid", "a place on a grid"]) {
        scalar(b, at, what)?;
    }
    let (one, steps) = (b.constant(1.0), b.constant(f64::from(n - 1)));
    let (along, whole) = (b.sub(x[3], x[1]), b.sub(x[2], x[1]));
    let share = b.div(along, whole);
    let place = b.mul(share, steps);
    // The last point belongs to the last piece; behind it, and at no number, the second point is no element, if the first is one.
    let last = b.constant(f64::from(n - 2));
    let (floor, inside) = (b.op(Op::Floor, &[place]), b.op(Op::Le, &[place, steps]));
    let piece = b.op(Op::Min, &[floor, last]);
    let first = b.op(Op::Select, &[inside, piece, floor]);
    let second = b.add(first, one);
    let (u, v) = (point(b, x, first)?, point(b, x, second)?);
    let right = b.sub(place, first);
    let left = b.sub(one, right);
    let (u, v) = (b.mul(u, left), b.mul(v, right));
    Ok(b.add(u, v))
}

/// The attribute of an operation whose index is a place among the points of a grid; roots have others.
pub(crate) const ON_GRID: u32 = 3;

/// Why a place, counted in steps from the first point of a grid, is not on it.
pub(crate) fn outside_grid(place: f64) -> String {
    let why = if !place.is_finite() {
        "the place is no number on the grid: it is not finite, or the ends of the grid are equal"
    } else if place < 0.0 {
        "the place is outside of the grid, before its first point"
    } else {
        "the place is outside of the grid, behind its last point"
    };
    why.into()
}

/// The value at a point of the grid of `interpolate`, or an error that speaks of its place.
fn point(b: &mut Builder, x: &[NodeId], i: NodeId) -> Lowered {
    let Some(at) = b.constant_value(i) else { return Ok(b.given(Op::CutAt, ON_GRID, Shape::Scalar, &[x[0], i])) };
    index(b, x[0], i).map_err(|_| {
        let known: Option<Vec<String>> = x[1..].iter().map(|&n| b.constant_value(n).map(crate::number_text)).collect();
        let message = match known.as_deref() {
            Some([from, to, place]) => format!("the place {place} is outside of the grid from {from} to {to}"),
            _ => outside_grid(at),
        };
        LowerError::new("outside-grid", message)
    })
}
