//! Operations on vectors and matrices, number by number. In: the numbers of the arguments; out: those of the result, in the order
//! of sums and products the kernels of `ops/kernels.rs` have.

use super::Declined;
use super::ir::{Prim, Test, Value};
use super::translate::{Nan, Number, Translator};
use super::{indices, pivots};
use crate::ops::Op;
use crate::shape::Shape;
use neural_compiler_math::matrix::{INTERLEAVED, PARTIAL};

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

/// Determinants up to this size have a closed form.
const CLOSED: usize = 3;

fn side(shape: Shape) -> usize {
    match shape {
        Shape::Matrix(n, _) | Shape::Vector(n) => n as usize,
        Shape::Scalar => 1,
    }
}

fn signed(t: &mut Translator<'_>, x: Number, odd: bool) -> Number {
    if !odd {
        return x;
    }
    let sign = number(t, -0.0);
    combine(t, Prim::Xor, x, sign)
}

/// A square matrix without some rows and columns.
fn without(a: &[Number], n: usize, rows: &[usize], columns: &[usize]) -> Vec<Number> {
    let kept = (0..n).filter(|r| !rows.contains(r)).flat_map(|r| (0..n).filter(|c| !columns.contains(c)).map(move |c| a[r * n + c]));
    kept.collect()
}

fn fused(t: &mut Translator<'_>, prim: Prim, x: Number, y: Number, z: Number) -> Number {
    Number::loose(t.op(prim, &[x.value, y.value, z.value]))
}

/// `a b - c d` with the rounding error of `c d` put back.
fn difference_of_products(t: &mut Translator<'_>, a: Number, b: Number, c: Number, d: Number) -> Number {
    let cd = combine(t, Prim::Mul, c, d);
    let error = fused(t, Prim::NegMulAdd, c, d, cd);
    let main = fused(t, Prim::MulSub, a, b, cd);
    combine(t, Prim::Add, main, error)
}

fn det(t: &mut Translator<'_>, a: &[Number], n: usize) -> Number {
    match n {
        0 => number(t, 1.0),
        1 => a[0],
        2 => difference_of_products(t, a[0], a[3], a[1], a[2]),
        _ => {
            let term = |t: &mut Translator<'_>, x: usize, i: usize, j: usize| {
                let minor = difference_of_products(t, a[3 + i], a[6 + j], a[3 + j], a[6 + i]);
                combine(t, Prim::Mul, a[x], minor)
            };
            let (first, second) = (term(t, 0, 1, 2), term(t, 1, 0, 2));
            let difference = combine(t, Prim::Sub, first, second);
            let third = term(t, 2, 0, 1);
            combine(t, Prim::Add, difference, third)
        }
    }
}

fn cofactor(t: &mut Translator<'_>, a: &[Number], n: usize) -> Vec<Number> {
    let one = |k: usize| {
        let (i, j) = (k / n, k % n);
        let minor = det(t, &without(a, n, &[i], &[j]), n - 1);
        signed(t, minor, (i + j) % 2 == 1)
    };
    (0..n * n).map(one).collect()
}

fn cofactor_along(t: &mut Translator<'_>, a: &[Number], along: &[Number], n: usize) -> Vec<Number> {
    let one = |o: usize| {
        let (i, j) = (o / n, o % n);
        let mut terms = Vec::new();
        for k in (0..n).filter(|&k| k != i) {
            for l in (0..n).filter(|&l| l != j) {
                // Rows and columns behind the deleted ones move up by one.
                let odd = (i + j + k - usize::from(k > i) + l - usize::from(l > j)) % 2 == 1;
                let minor = det(t, &without(a, n, &[i, k], &[j, l]), n - 2);
                let minor = signed(t, minor, odd);
                terms.push(combine(t, Prim::Mul, along[k * n + l], minor));
            }
        }
        in_turn(t, terms.into_iter())
    };
    (0..n * n).map(one).collect()
}

/// The kernel's way, branch for branch: scaled by a power of two, squares summed with their rounding errors.
fn norm(t: &mut Translator<'_>, v: &[Number]) -> Number {
    let (zero, infinity, nan) = (number(t, 0.0), number(t, f64::INFINITY), number(t, f64::NAN));
    let magnitude = Number { value: t.magnitude_bits(), nan: Nan::Quiet };
    let mut largest = zero;
    let mut unordered = None;
    for &x in v {
        let size = combine(t, Prim::And, x, magnitude);
        largest = combine(t, Prim::Upper, size, largest);
        let here = t.op(Prim::Compare(Test::Unordered), &[x.value, x.value]);
        unordered = Some(match unordered {
            Some(before) => t.op(Prim::Either, &[before, here]),
            None => here,
        });
    }
    let Some(unordered) = unordered else { return zero };
    let exponent = combine(t, Prim::And, largest, infinity);
    let least = number(t, t.smallest_normal());
    let scale = combine(t, Prim::Upper, exponent, least);
    let (mut high, mut low) = (zero, zero);
    for &x in v {
        let x = combine(t, Prim::Div, x, scale);
        let square = combine(t, Prim::Mul, x, x);
        let error = fused(t, Prim::MulSub, x, x, square);
        low = combine(t, Prim::Add, low, error);
        let sum = combine(t, Prim::Add, high, square);
        let back = combine(t, Prim::Sub, sum, high);
        let rest = combine(t, Prim::Sub, sum, back);
        let first = combine(t, Prim::Sub, high, rest);
        let second = combine(t, Prim::Sub, square, back);
        let lost = combine(t, Prim::Add, first, second);
        low = combine(t, Prim::Add, low, lost);
        high = sum;
    }
    let root = Number::loose(t.op(Prim::Sqrt, &[high.value]));
    let residue = fused(t, Prim::NegMulAdd, root, root, high);
    let residue = combine(t, Prim::Add, residue, low);
    let twice = combine(t, Prim::Add, root, root);
    let correction = combine(t, Prim::Div, residue, twice);
    let sum = combine(t, Prim::Add, root, correction);
    let length = combine(t, Prim::Mul, sum, scale);
    let nonzero = t.op(Prim::Compare(Test::NotEqual), &[largest.value, zero.value]);
    let infinite = t.op(Prim::Compare(Test::Equal), &[largest.value, infinity.value]);
    let length = t.op(Prim::Keep, &[nonzero, length.value]);
    let length = t.op(Prim::Blend, &[unordered, nan.value, length]);
    Number::loose(t.op(Prim::Blend, &[infinite, infinity.value, length]))
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
        Op::Norm => vec![norm(t, a(0))],
        Op::Det if side(args[0].1) <= CLOSED => vec![det(t, a(0), side(args[0].1))],
        Op::Cofactor if side(args[0].1) <= CLOSED + 1 => cofactor(t, a(0), side(args[0].1)),
        Op::CofactorAlong if side(args[0].1) <= CLOSED + 2 => cofactor_along(t, a(0), a(1), side(args[0].1)),
        Op::Det if (1..=pivots::MOST).contains(&side(args[0].1)) => vec![pivots::det(t, a(0), side(args[0].1))],
        Op::Solve if (1..=pivots::MOST).contains(&side(args[0].1)) => pivots::solve(t, a(0), side(args[0].1), a(1)),
        Op::Inv if (1..=pivots::MOST).contains(&side(shape)) => {
            let right = identity(t, shape.len(), side(shape));
            pivots::solve(t, a(0), side(shape), &right)
        }
        Op::CutAt if a(0).len() <= indices::MOST && !shape.is_empty() => indices::cut_at(t, a(0), a(1)[0], shape.len(), counts),
        Op::PlaceAt if shape.len() <= indices::MOST && !a(0).is_empty() => indices::place_at(t, a(0), a(1)[0], shape.len(), counts),
        // Too long, or nobody has written it yet: the lane engine has it.
        _ => return Err(Declined::Operation(op.row().name)),
    })
}
