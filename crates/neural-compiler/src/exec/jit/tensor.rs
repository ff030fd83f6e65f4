//! Operations on vectors and matrices, number by number. In: the numbers of the arguments; out: those of the result, in the order
//! of sums and products the kernels of `ops/kernels.rs` have; norms, determinants, cofactors and systems by the kernels themselves.

use super::Declined;
use super::expand::OverNumbers;
use super::indices;
use super::ir::{Prim, Value};
use super::translate::{Nan, Number, Translator};
use crate::ops::Op;
use crate::ops::lu::OWN;
use crate::shape::Shape;
use neural_compiler_math::matrix::{INTERLEAVED, PARTIAL};
use neural_compiler_math::num::Num;
use neural_compiler_math::small;

type Argument = (Vec<Number>, Shape);

fn columns(shape: Shape) -> usize {
    match shape {
        Shape::Matrix(_, c) => c as usize,
        Shape::Vector(_) | Shape::Scalar => 1,
    }
}

pub(super) fn combine(t: &mut Translator<'_>, prim: Prim, x: Number, y: Number) -> Number {
    Number::loose(t.op(prim, &[x.value, y.value]))
}

pub(super) fn number(t: &mut Translator<'_>, x: f64) -> Number {
    Number { value: t.constant(x), nan: Nan::Quiet }
}

/// From the first to the last; 0 for none.
fn in_turn(t: &mut Translator<'_>, mut terms: impl Iterator<Item = Number>) -> Number {
    let Some(first) = terms.next() else { return number(t, 0.0) };
    terms.fold(first, |a, b| combine(t, Prim::Add, a, b))
}

/// From the first to the last, each product added without a rounding of its own; 0 for none.
fn products_in_turn(t: &mut Translator<'_>, mut pairs: impl Iterator<Item = (Number, Number)>) -> Number {
    let Some((a, b)) = pairs.next() else { return number(t, 0.0) };
    let first = combine(t, Prim::Mul, a, b);
    pairs.fold(first, |s, (a, b)| fused(t, Prim::MulAdd, a, b, s))
}

/// Short sums in turn, long ones as partial sums that are added by halves.
fn by_halves<X>(
    t: &mut Translator<'_>,
    terms: &[X],
    in_turn: impl Fn(&mut Translator<'_>, &mut dyn Iterator<Item = &X>) -> Number,
) -> Number {
    if terms.len() < INTERLEAVED {
        return in_turn(t, &mut terms.iter());
    }
    let mut sums: Vec<Number> = (0..PARTIAL).map(|p| in_turn(t, &mut terms[p..].iter().step_by(PARTIAL))).collect();
    while sums.len() > 1 {
        let behind = sums.split_off(sums.len() / 2);
        sums.iter_mut().zip(behind).for_each(|(s, b)| *s = combine(t, Prim::Add, *s, b));
    }
    sums[0]
}

fn sum(t: &mut Translator<'_>, terms: &[Number]) -> Number {
    by_halves(t, terms, |t, terms| in_turn(t, terms.copied()))
}

/// 1 on the diagonal, else 0.
fn identity(t: &mut Translator<'_>, count: usize, columns: usize) -> Vec<Number> {
    let (zero, one) = (number(t, 0.0), number(t, 1.0));
    (0..count).map(|k| if k % (columns + 1) == 0 { one } else { zero }).collect()
}

fn side(shape: Shape) -> usize {
    match shape {
        Shape::Matrix(n, _) | Shape::Vector(n) => n as usize,
        Shape::Scalar => 1,
    }
}

fn fused(t: &mut Translator<'_>, prim: Prim, x: Number, y: Number, z: Number) -> Number {
    Number::loose(t.op(prim, &[x.value, y.value, z.value]))
}

/// What `neural_compiler_math::small` computes, with the size of the matrix.
enum Small {
    Norm,
    Det(usize),
    Cofactors(usize),
    CofactorsAlong(usize),
    Solve(usize),
}

impl OverNumbers for Small {
    fn run<V: Num>(&self, x: &[V], any: V) -> Vec<V> {
        let closed = |a: &[V], n: usize| small::closed_det(a, n, any);
        match *self {
            Small::Norm => vec![small::norm(x, any)],
            Small::Det(n) if n <= small::CLOSED => vec![closed(x, n)],
            Small::Det(n) => vec![small::det_by_pivots(x, n)],
            Small::Cofactors(n) => small::cofactors(x, n, closed),
            Small::CofactorsAlong(n) => small::cofactors_along(&x[..n * n], &x[n * n..], n, closed),
            Small::Solve(n) => {
                let mut out = x[n * n..].to_vec();
                small::solve(&x[..n * n], n, &x[n * n..], &mut out);
                out
            }
        }
    }
}

fn by_kernel(t: &mut Translator<'_>, kernel: Small, numbers: &[&[Number]]) -> Vec<Number> {
    let values: Vec<Value> = numbers.iter().flat_map(|n| n.iter().map(|x| x.value)).collect();
    t.whole(&kernel, &values).into_iter().map(Number::loose).collect()
}

/// `counts`: the lanes that count; others may hold anything.
pub(super) fn apply(
    t: &mut Translator<'_>,
    op: Op,
    attr: u32,
    args: &[Argument],
    shape: Shape,
    counts: Option<Value>,
) -> Result<Vec<Number>, Declined> {
    let start = attr as usize;
    let a = |i: usize| &args[i].0;
    Ok(match op {
        Op::Join => args.iter().flat_map(|x| x.0.iter().copied()).collect(),
        Op::Cut => a(0)[start..start + shape.len()].to_vec(),
        Op::Place => {
            let mut out = vec![number(t, 0.0); shape.len()];
            out[start..start + a(0).len()].copy_from_slice(a(0));
            out
        }
        Op::Spread => vec![a(0)[0]; shape.len()],
        Op::Identity => identity(t, shape.len(), columns(shape)),
        Op::Total => vec![sum(t, a(0))],
        Op::Trace => {
            let diagonal: Vec<Number> = a(0).iter().step_by(columns(args[0].1) + 1).copied().collect();
            vec![sum(t, &diagonal)]
        }
        Op::Dot => {
            let pairs: Vec<(Number, Number)> = a(0).iter().copied().zip(a(1).iter().copied()).collect();
            vec![by_halves(t, &pairs, |t, pairs| products_in_turn(t, pairs.copied()))]
        }
        Op::Cross => (0..3)
            .map(|i| {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                let first = combine(t, Prim::Mul, a(0)[j], a(1)[k]);
                let second = combine(t, Prim::Mul, a(0)[k], a(1)[j]);
                combine(t, Prim::Sub, first, second)
            })
            .collect(),
        Op::Product => {
            let (inner, width) = (columns(args[0].1), columns(args[1].1));
            (0..shape.len())
                .map(|o| products_in_turn(t, (0..inner).map(|k| (a(0)[o / width * inner + k], a(1)[k * width + o % width]))))
                .collect()
        }
        Op::Transpose => {
            let c = columns(args[0].1);
            let rows = a(0).len() / c;
            (0..a(0).len()).map(|k| a(0)[k % rows * c + k / rows]).collect()
        }
        Op::Outer => {
            let pairs: Vec<(Number, Number)> = a(0).iter().flat_map(|&x| a(1).iter().map(move |&y| (x, y))).collect();
            pairs.into_iter().map(|(x, y)| combine(t, Prim::Mul, x, y)).collect()
        }
        Op::Norm => by_kernel(t, Small::Norm, &[a(0)]),
        Op::Det if side(args[0].1) < OWN => by_kernel(t, Small::Det(side(args[0].1)), &[a(0)]),
        Op::Cofactor if side(args[0].1) <= small::CLOSED + 1 => by_kernel(t, Small::Cofactors(side(args[0].1)), &[a(0)]),
        Op::CofactorAlong if side(args[0].1) <= small::CLOSED + 2 => by_kernel(t, Small::CofactorsAlong(side(args[0].1)), &[a(0), a(1)]),
        Op::Solve if (1..OWN).contains(&side(args[0].1)) => by_kernel(t, Small::Solve(side(args[0].1)), &[a(0), a(1)]),
        Op::Inv if (1..OWN).contains(&side(shape)) => {
            let right = identity(t, shape.len(), side(shape));
            by_kernel(t, Small::Solve(side(shape)), &[a(0), &right])
        }
        Op::CutAt if a(0).len() <= indices::MOST && !shape.is_empty() => indices::cut_at(t, a(0), a(1)[0], shape.len(), counts),
        Op::PlaceAt if shape.len() <= indices::MOST && !a(0).is_empty() => indices::place_at(t, a(0), a(1)[0], shape.len(), counts),
        // Too long, or nobody has written it yet: the lane engine has it.
        _ => return Err(Declined::Operation(op.row().name)),
    })
}
