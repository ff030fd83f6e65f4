//! Inequalities between quantities of one program, which intervals alone forget: `x` is part of `K + x`. In: two nodes; out: whether
//! one is never below the other. Holds after rounding, because rounding is monotone: `fl(p + q) >= fl(p) = p` when `q >= 0`.

use super::values::{self, Abs};
use crate::graph::{Kind, NodeId, Region};
use crate::ops::Op;
use crate::ops::interval::Interval;
use crate::ops::real::Real;

/// Sums are looked into so deep.
const DEPTH: usize = 6;

/// A region and the bounds of its nodes so far.
#[derive(Clone, Copy)]
pub(super) struct Known<'a, T> {
    pub(super) region: &'a Region,
    pub(super) env: &'a [Vec<Abs<T>>],
}

impl<T: Real> Known<'_, T> {
    fn bounds(&self, id: NodeId) -> Interval<T> {
        values::hull(&self.env[id.0 as usize][0])
    }

    fn within(&self, id: NodeId, lo: f64, hi: f64) -> bool {
        let x = self.bounds(id);
        x.lo.to_f64() >= lo && x.hi.to_f64() <= hi
    }

    /// Whether `big >= small`, element by element, wherever both are numbers.
    fn at_least(&self, big: NodeId, small: NodeId, depth: usize) -> bool {
        if big == small {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let holds = |b: NodeId, s: NodeId| self.at_least(b, s, depth - 1);
        let positive = |id: NodeId| self.within(id, 0.0, f64::INFINITY);
        let above = match (self.region.node(big).kind, self.region.args(big)) {
            (Kind::Op(Op::Add, _), &[p, q]) => (positive(q) && holds(p, small)) || (positive(p) && holds(q, small)),
            (Kind::Op(Op::Max, _), &[p, q]) => holds(p, small) || holds(q, small),
            (Kind::Op(Op::Mul, _), &[p, q]) => {
                let grows = |p: NodeId, q: NodeId| self.within(q, 1.0, f64::INFINITY) && positive(p) && holds(p, small);
                grows(p, q) || grows(q, p)
            }
            (Kind::Op(Op::Abs, _), &[p]) => holds(p, small),
            _ => false,
        };
        above
            || match (self.region.node(small).kind, self.region.args(small)) {
                (Kind::Op(Op::Sub, _), &[p, q]) => positive(q) && holds(big, p),
                (Kind::Op(Op::Min, _), &[p, q]) => holds(big, p) || holds(big, q),
                (Kind::Op(Op::Mul, _), &[p, q]) => {
                    let shrinks = |p: NodeId, q: NodeId| self.within(q, 0.0, 1.0) && positive(p) && holds(big, p);
                    shrinks(p, q) || shrinks(q, p)
                }
                (Kind::Op(Op::Div, _), &[p, q]) => self.within(q, 1.0, f64::INFINITY) && positive(p) && holds(big, p),
                _ => false,
            }
    }

    /// What such inequalities say about an application, besides what intervals say.
    pub(super) fn implied(&self, op: Op, args: &[NodeId]) -> Option<(T, T)> {
        let infinity = T::from_f64(f64::INFINITY);
        match (op, args) {
            // The square of a number, whatever its sign.
            (Op::Mul, &[a, b]) if a == b => Some((T::ZERO, infinity)),
            (Op::Sub, &[a, b]) if self.at_least(a, b, DEPTH) => Some((T::ZERO, infinity)),
            (Op::Sub, &[a, b]) if self.at_least(b, a, DEPTH) => Some((-infinity, T::ZERO)),
            (Op::Div, &[a, b]) if self.within(a, 0.0, f64::INFINITY) && self.at_least(b, a, DEPTH) => Some((T::ZERO, T::ONE)),
            _ => None,
        }
    }
}
