//! What a test says about the values it looks at. In: a test and whether it holds; out: narrower bounds of the nodes involved.

use super::{Analysis, Checked, Scope, values::Abs};
use crate::graph::{Kind, NodeId};
use crate::ops::Op;
use crate::ops::interval::Interval;
use rustc_hash::FxHashMap;

impl<T: Checked> Analysis<'_, T> {
    /// Narrows bounds by "the node is (not) 0". `false`: that cannot be.
    pub(super) fn refine(&mut self, scope: &mut Scope<'_, T>, test: NodeId, truth: bool) -> bool {
        crate::deep(|| {
            let own = scope.scalar(test);
            if !own.may_be(truth) {
                return false;
            }
            scope.narrow(test, if truth { own.without(T::ZERO) } else { own.meet(Interval::point(T::ZERO)) });
            let region = scope.region;
            let args = region.args(test);
            match region.node(test).kind {
                Kind::Op(op @ (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq), _) => self.compare(scope, op, args[0], args[1], truth),
                // A chain of comparisons holds when every link holds. A product that is NaN is true as well, and says nothing.
                Kind::Op(Op::Mul, _) if truth && !own.nan => self.refine(scope, args[0], true) && self.refine(scope, args[1], true),
                Kind::Proj(0) => self.connective(scope, args[0], truth),
                _ => true,
            }
        })
    }

    fn compare(&mut self, scope: &mut Scope<'_, T>, op: Op, a: NodeId, b: NodeId, truth: bool) -> bool {
        if scope.get(a).len() != 1 || scope.get(b).len() != 1 {
            return true;
        }
        let (x, y) = (scope.scalar(a), scope.scalar(b));
        // A failed order test says nothing when a NaN may have failed it.
        let nan = x.nan || y.nan;
        let is_zero = |i: Interval<T>| i.numbers().is_zero();
        if op == Op::Eq {
            if truth {
                scope.narrow(a, x.meet(y).numbers());
                scope.narrow(b, y.meet(x).numbers());
            } else if a != b {
                if y.lo == y.hi && !y.nan {
                    scope.narrow(a, x.without(y.lo));
                }
                if x.lo == x.hi && !x.nan {
                    scope.narrow(b, y.without(x.lo));
                }
            }
            // `(not t)` is `(= t 0)`.
            if is_zero(y) && !matches!(scope.region.node(a).kind, Kind::Const(_)) && !nan {
                return self.refine(scope, a, !truth);
            }
            return true;
        }
        if nan && !truth {
            return true;
        }
        // Every order test, held or failed, is `less < more` or `less <= more`.
        let (less, more, strict) = match (op, truth) {
            (Op::Lt, true) => (a, b, true),
            (Op::Lt, false) => (b, a, false),
            (Op::Le, true) => (a, b, false),
            (Op::Le, false) => (b, a, true),
            (Op::Gt, true) => (b, a, true),
            (Op::Gt, false) => (a, b, false),
            (Op::Ge, true) => (b, a, false),
            _ => (a, b, true),
        };
        let (low, high) = (scope.scalar(less), scope.scalar(more));
        if low.is_empty() || high.is_empty() {
            return false;
        }
        let most = if strict { high.hi.next_down() } else { high.hi };
        let least = if strict { low.lo.next_up() } else { low.lo };
        let infinity = T::from_f64(f64::INFINITY);
        let low = low.numbers().within(-infinity, most);
        let high = high.numbers().within(least, infinity);
        scope.narrow(less, low);
        scope.narrow(more, high);
        !low.is_empty() && !high.is_empty()
    }

    /// `and` and `or` are choices that return the deciding value: when an `and` holds, both its tests do; when an `or` fails,
    /// both its tests do.
    fn connective(&mut self, scope: &mut Scope<'_, T>, choice: NodeId, truth: bool) -> bool {
        let region = scope.region;
        let Kind::If(yes, no) = region.node(choice).kind else { return true };
        let args = region.args(choice);
        // The branch that gives the first test back.
        let (short, long) = if truth { (no, yes) } else { (yes, no) };
        let (short, long) = (self.graph.region(short), self.graph.region(long));
        let gives_test = match short.node(short.results[0]).kind {
            Kind::Param(p) => args[1 + p as usize] == args[0],
            Kind::Const(bits) => truth && f64::from_bits(bits) == 0.0,
            _ => false,
        };
        if !gives_test {
            return true;
        }
        if !self.refine(scope, args[0], truth) {
            return false;
        }
        let params: Vec<Abs<T>> = args[1..].iter().map(|&a| scope.get(a).clone()).collect();
        let reporting = std::mem::replace(&mut self.reporting, false);
        let env = self.nodes(long, &params, None, None);
        let mut inner = Scope { region: long, env: &env, narrowed: FxHashMap::default() };
        let possible = self.refine(&mut inner, long.results[0], truth);
        self.reporting = reporting;
        // What the second test says about the branch's parameters holds for the outer nodes behind them.
        for id in long.ids() {
            if let Kind::Param(p) = long.node(id).kind
                && let Some(bounds) = inner.narrowed.remove(&id)
            {
                scope.narrowed.insert(args[1 + p as usize], bounds);
            }
        }
        possible
    }
}
