//! Bounds of one operation, and whether it may leave its domain. In: a node and the bounds of its arguments; out: bounds of its result.

use super::relation::Known;
use super::values::{self, Abs};
use super::{Analysis, Checked, matrix};
use crate::graph::{NodeId, Region};
use crate::ops::Op;
use crate::ops::bound::{Bound, bound};
use crate::ops::grid::ON_GRID;
use crate::ops::interval::Interval;
use crate::ops::real::Ring;
use crate::ops::row::{Kernel, Operand, TensorKernel};
use crate::shape::Shape;
use neural_compiler_math::matrix::{INTERLEAVED, PARTIAL};

/// Sums and products beyond so many steps are bounded as if all elements of a value were alike.
const MOST_STEPS: usize = 1 << 16;

impl<T: Checked> Analysis<'_, T> {
    pub(super) fn operation(&mut self, region: &Region, env: &[Vec<Abs<T>>], id: NodeId, op: Op, attr: u32) -> Abs<T> {
        let row = op.row();
        let shape = region.shape(id);
        let nodes = region.args(id);
        let args: Vec<&Abs<T>> = nodes.iter().map(|a| &env[a.0 as usize][0]).collect();
        match row.kernel {
            Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select => {
                let implied = Known { region, env }.implied(op, nodes);
                let mut out = Vec::with_capacity(values::kept(shape));
                self.visits += values::kept(shape) - 1;
                for i in 0..values::kept(shape) {
                    let point: Vec<Interval<T>> = args.iter().map(|a| if a.len() == 1 { a[0] } else { a[i] }).collect();
                    let mut x = bound(row, &point);
                    // A NaN that may come in excuses nothing that numbers may do.
                    let excused = || !bound(row, &point.iter().map(|p| p.numbers()).collect::<Vec<_>>()).nan;
                    if self.reporting && (row.domain.may_be_violated(&point) || (x.nan && !excused())) {
                        self.report(region, id, row, &point);
                    }
                    if let Some((lo, hi)) = implied {
                        x = x.within(lo, hi);
                    }
                    out.push(self.without_overflow(x, &point));
                }
                out
            }
            Kernel::Tensor(kernel) => {
                let shapes: Vec<Shape> = nodes.iter().map(|&a| region.shape(a)).collect();
                let out = self.tensor(region, id, op, attr, &args, &shapes, &kernel);
                let hulls: Vec<Interval<T>> = args.iter().map(|a| values::hull(a)).collect();
                out.into_iter().map(|x| self.without_overflow(x, &hulls)).collect()
            }
            Kernel::Composite(_) => unreachable!("the verifier admits no composite node"),
        }
    }

    /// In a pass over runs without overflow, finite arguments have a finite result.
    fn without_overflow(&self, x: Interval<T>, args: &[Interval<T>]) -> Interval<T> {
        if self.finite && args.iter().all(|a| !a.has_infinity()) { x.within(-T::largest(), T::largest()) } else { x }
    }

    #[allow(clippy::too_many_arguments)]
    fn tensor(
        &mut self,
        region: &Region,
        id: NodeId,
        op: Op,
        attr: u32,
        args: &[&Abs<T>],
        shapes: &[Shape],
        kernel: &TensorKernel,
    ) -> Abs<T> {
        let row = op.row();
        let shape = region.shape(id);
        let nan = args.iter().any(|a| a.iter().any(|i| i.nan));
        match row.bound {
            Bound::Sums => self.sums(region, id, op, attr, args, shapes, kernel),
            Bound::Length => {
                // Between the largest of the least magnitudes and sqrt(n) times the largest magnitude, with room for 1 ULP; no squares,
                // which could overflow or vanish where the kernel's own scaling does not. An infinity decides even beside a NaN.
                let most = args[0].iter().map(|i| i.magnitude()).fold(T::ZERO, larger);
                let least = args[0].iter().map(|i| i.least_magnitude()).fold(T::ZERO, larger);
                let root = T::from_f64((shapes[0].len() as f64).sqrt()).next_up();
                let nonzero = args[0].iter().any(|i| !i.has_zero() && !i.nan);
                let length = Interval::new(least, most * root).widen().within(T::ZERO, T::from_f64(f64::INFINITY)).or_nan(nan);
                vec![if nonzero { length.without(T::ZERO) } else { length }]
            }
            Bound::Elements(or_zero) => {
                let length = match if or_zero { shape } else { shapes[0] } {
                    Shape::Vector(n) | Shape::Matrix(n, _) => n,
                    Shape::Scalar => 1,
                };
                let index = args[1][0];
                let inside = index.whole && index.lo >= T::ZERO && index.hi <= T::from_f64(f64::from(length - 1)) && !index.nan;
                if !inside && !index.is_unreachable() {
                    // Of a grid nobody asked by an index.
                    if attr == ON_GRID {
                        self.report(region, id, Op::Interpolate.row(), &[]);
                    } else {
                        self.report(region, id, row, &[index]);
                    }
                }
                let mut hull = values::hull(args[0]);
                if or_zero {
                    hull = hull.join(Interval::point(T::ZERO));
                }
                values::uniform(hull, shape)
            }
            _ => {
                // An element that is always NaN need not spoil the others: a minor without it, another column of the right side.
                let bounds = if args.iter().any(|a| a.iter().any(|i| i.is_unreachable())) {
                    Some(Interval::empty())
                } else if args.iter().any(|a| a.iter().any(|i| i.is_empty())) {
                    Some(Interval::everything())
                } else {
                    self.of_matrices(op, args, shapes)
                };
                if bounds.is_none() && args.iter().all(|a| a.iter().all(|i| !i.is_unreachable())) {
                    self.report(region, id, row, &[]);
                }
                values::uniform(bounds.unwrap_or(Interval::everything().or_nan(true)).or_nan(nan), shape)
            }
        }
    }

    /// Bounds of the elements of an operation on matrices, when it makes no NaN of numbers.
    fn of_matrices(&self, op: Op, args: &[&Abs<T>], shapes: &[Shape]) -> Option<Interval<T>> {
        let (a, shape) = (args[0], shapes[0]);
        let everything = Interval::everything();
        let finite = args.iter().all(|a| a.iter().all(|i| !i.has_infinity()));
        // Without division only overflow makes a NaN.
        let overlooked = self.finite && finite && matrix::rows(shape) < 48;
        let along = || matrix::largest(args[1]).max(1.0);
        let within = |x: f64| x < T::largest().to_f64() / 1e6;
        // Minors up to this size are determinants; beyond, cofactors go through the inverse.
        let by_minors = matrix::rows(shape) <= 6;
        match op {
            Op::Det => match matrix::determinant_bound(a, shape) {
                Some(_) => Some(matrix::determinant(a, shape)),
                None => overlooked.then_some(everything),
            },
            Op::Cofactor | Op::CofactorAlong if by_minors => {
                let size = matrix::determinant_bound(a, shape).map(|d| if op == Op::Cofactor { d } else { 36.0 * d * along() });
                (overlooked || size.is_some_and(within)).then_some(everything)
            }
            Op::Cofactor | Op::CofactorAlong => {
                let (d, y, n) = (matrix::determinant_bound(a, shape)?, matrix::solution_bound(a, shape, 1.0)?, matrix::rows(shape) as f64);
                let size = if op == Op::Cofactor { d * y } else { n.powi(4) * d * y * y.max(1.0) * along() };
                within(size).then_some(everything)
            }
            Op::Inv | Op::Solve => {
                let right = if op == Op::Inv { 1.0 } else { matrix::largest(args[1]) };
                let x = T::from_f64(matrix::solution_bound(a, shape, right)?).next_up();
                Some(Interval::new(-x, x))
            }
            _ => None,
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn sums(
        &mut self,
        region: &Region,
        id: NodeId,
        op: Op,
        attr: u32,
        args: &[&Abs<T>],
        shapes: &[Shape],
        kernel: &TensorKernel,
    ) -> Abs<T> {
        let shape = region.shape(id);
        let numbers: Vec<Abs<T>> = args.iter().map(|a| a.iter().map(|i| i.numbers()).collect()).collect();
        let finite = args.iter().all(|a| a.iter().all(|i| !i.has_infinity()));
        let out = self.sums_of(op, attr, args, shapes, shape, kernel);
        // A trapping run lets a NaN pass through a whole value, so only a value free of NaN makes a new one.
        let may_be_free = args.iter().all(|a| a.iter().all(|i| !i.is_empty()));
        let overlooked = self.finite && finite;
        if may_be_free && !overlooked && out.iter().any(|x| x.nan) {
            let numbers: Vec<&Abs<T>> = numbers.iter().collect();
            if self.sums_of(op, attr, &numbers, shapes, shape, kernel).iter().any(|x| x.nan) {
                let point: Vec<Interval<T>> = args.iter().map(|a| values::hull(a)).collect();
                self.report(region, id, op.row(), &point);
            }
        }
        let nan = args.iter().any(|a| a.iter().any(|i| i.nan));
        if overlooked && !nan { out.into_iter().map(Interval::numbers).collect() } else { out }
    }

    /// The kernel on intervals; for large values, on one interval for all elements of each.
    fn sums_of(&mut self, op: Op, attr: u32, args: &[&Abs<T>], shapes: &[Shape], shape: Shape, kernel: &TensorKernel) -> Abs<T> {
        // Terms in each sum.
        let terms = match op {
            Op::Product => shapes[0].len() / matrix::rows(shapes[0]),
            Op::Dot | Op::Total => shapes[0].len(),
            Op::Trace => matrix::rows(shapes[0]),
            _ => 1,
        };
        let largest = shapes.iter().map(|s| s.len()).chain([shape.len() * terms]).fold(0, usize::max);
        if largest <= MOST_STEPS {
            self.visits += largest;
            let full: Vec<Abs<T>> = args.iter().zip(shapes).map(|(a, &s)| values::full(a, s)).collect();
            let operands: Vec<Operand<'_, Interval<T>>> = full.iter().zip(shapes).map(|(a, &shape)| Operand { data: a, shape }).collect();
            let mut out = vec![Interval::point(T::ZERO); shape.len()];
            // Kernels of sums and products have no error to report.
            let _ = T::interval_kernel(kernel)(&operands, attr, shape, &mut out);
            return values::compress(out);
        }
        let hulls: Vec<Interval<T>> = args.iter().map(|a| values::hull(a)).collect();
        let zero = Interval::ZERO;
        let alike = match op {
            Op::Product | Op::Outer => self.repeated(hulls[0] * hulls[1], terms),
            Op::Dot => self.summed(hulls[0] * hulls[1], terms),
            Op::Total | Op::Trace => self.summed(hulls[0], terms),
            Op::Place => hulls[0].join(zero),
            Op::Identity => zero.join(Interval::ONE),
            // Copies of elements.
            Op::Transpose | Op::Cut | Op::Spread | Op::Join => hulls.into_iter().reduce(Interval::join).unwrap_or(Interval::empty()),
            _ => Interval::everything().or_nan(true),
        };
        values::uniform(alike, shape)
    }

    /// The sum of so many terms in one interval, in the order of `dot` and `total`.
    fn summed(&mut self, term: Interval<T>, count: usize) -> Interval<T> {
        if count < INTERLEAVED {
            return self.repeated(term, count);
        }
        // Partial sums have one term more, or not; each is in both bounds, which each half is added to the other.
        let (fewer, more) = (self.repeated(term, count / PARTIAL), self.repeated(term, count.div_ceil(PARTIAL)));
        (0..PARTIAL.ilog2()).fold(fewer.join(more), |sum, _| sum + sum)
    }

    /// The sum of so many terms in one interval, from the first to the last.
    fn repeated(&mut self, term: Interval<T>, count: usize) -> Interval<T> {
        let mut sum = term;
        for _ in 1..count {
            self.visits += 1;
            let next = sum + term;
            // From here on more terms change nothing.
            if next == sum || self.visits > super::MOST_VISITS {
                break;
            }
            sum = next;
        }
        sum
    }
}

fn larger<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}
