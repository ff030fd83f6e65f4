//! What an application costs. In: an operation and the shapes around it; out: how many numbers it has to look at, and how many steps of a
//! run's limit that is.
//! Invariant: every executor counts the same, so a limit on steps is met by the same programs everywhere.

use crate::ops::Op;
use crate::shape::Shape;

/// Numbers looked at that count as one loop round or call.
pub const PER_STEP: u64 = 1024;

fn side(shape: Shape) -> u64 {
    match shape {
        Shape::Scalar => 1,
        Shape::Vector(n) | Shape::Matrix(n, _) => u64::from(n),
    }
}

fn columns(shape: Shape) -> u64 {
    if let Shape::Matrix(_, c) = shape { u64::from(c) } else { 1 }
}

/// Numbers an application looks at: products for a product of matrices, the cube of the side for factors of a matrix, else the numbers of
/// its longest argument or of its result.
pub fn of(op: Op, args: impl Iterator<Item = Shape> + Clone, out: Shape) -> u64 {
    let arg = |k: usize| args.clone().nth(k).unwrap_or(Shape::Scalar);
    match op {
        Op::Product => (out.len() as u64).saturating_mul(columns(arg(0))),
        Op::Det | Op::Inv | Op::Cofactor | Op::CofactorAlong => side(arg(0)).saturating_pow(3),
        Op::Solve => side(arg(0)).saturating_pow(2).saturating_mul(side(arg(0)).saturating_add(columns(arg(1)))),
        // For each diagonal the band has and may get, each of a row's numbers.
        Op::SolveBand => (out.len() as u64).saturating_mul((2 * args.clone().count() as u64).saturating_pow(2)),
        _ => args.map(Shape::len).max().unwrap_or(0).max(out.len()) as u64,
    }
}

/// Steps an application counts as: none for a small one.
pub fn steps(op: Op, args: impl Iterator<Item = Shape> + Clone, out: Shape) -> u64 {
    of(op, args, out) / PER_STEP
}

/// Numbers a kernel holds besides its arguments and its result, at most.
pub(crate) fn scratch(op: Op, args: impl Iterator<Item = Shape> + Clone) -> u64 {
    let arg = |k: usize| args.clone().nth(k).unwrap_or(Shape::Scalar);
    match op {
        Op::Det | Op::Inv => side(arg(0)).saturating_pow(2).saturating_mul(4),
        Op::Solve => (arg(0).len() as u64).saturating_mul(2).saturating_add(arg(1).len() as u64 * 2),
        Op::Cofactor | Op::CofactorAlong => side(arg(0)).saturating_pow(2).saturating_mul(6),
        // The matrix that is kept, its rows and its factors, of a band that closes.
        Op::SolveBand => (arg(0).len() as u64).saturating_mul(args.clone().count() as u64).saturating_mul(16),
        _ => 0,
    }
}
