//! Operations on vectors and matrices, number by number. In: the numbers of the arguments; out: those of the result, in the order
//! of sums and products the kernels of `ops/kernels.rs` have.

use super::Declined;
use super::ir::Prim;
use super::translate::{Nan, Number, Translator};
use crate::ops::Op;
use crate::shape::Shape;

type Argument = (Vec<Number>, Shape);

fn columns(shape: Shape) -> usize {
    match shape {
        Shape::Matrix(_, c) => c as usize,
        Shape::Vector(_) | Shape::Scalar => 1,
    }
}

fn combine(t: &mut Translator<'_>, prim: Prim, x: Number, y: Number) -> Number {
    Number::loose(t.op(prim, &[x.value, y.value]))
}

fn number(t: &mut Translator<'_>, x: f64) -> Number {
    Number { value: t.constant(x), nan: Nan::Quiet }
}

/// From the first to the last; 0 for none.
fn sum(t: &mut Translator<'_>, terms: &[Number]) -> Number {
    match terms {
        [] => number(t, 0.0),
        [first, rest @ ..] => rest.iter().fold(*first, |a, &b| combine(t, Prim::Add, a, b)),
    }
}

fn products(t: &mut Translator<'_>, pairs: impl Iterator<Item = (Number, Number)>) -> Number {
    let terms: Vec<Number> = pairs.map(|(a, b)| combine(t, Prim::Mul, a, b)).collect();
    sum(t, &terms)
}

pub(super) fn apply(t: &mut Translator<'_>, op: Op, attr: u32, args: &[Argument], shape: Shape) -> Result<Vec<Number>, Declined> {
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
        Op::Identity => {
            let c = columns(shape);
            let (zero, one) = (number(t, 0.0), number(t, 1.0));
            (0..shape.len()).map(|k| if k % (c + 1) == 0 { one } else { zero }).collect()
        }
        Op::Total => vec![sum(t, a(0))],
        Op::Trace => {
            let diagonal: Vec<Number> = a(0).iter().step_by(columns(args[0].1) + 1).copied().collect();
            vec![sum(t, &diagonal)]
        }
        Op::Dot => vec![products(t, a(0).iter().copied().zip(a(1).iter().copied()))],
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
            (0..shape.len()).map(|o| products(t, (0..inner).map(|k| (a(0)[o / width * inner + k], a(1)[k * width + o % width])))).collect()
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
        // These compare and divide on their way, or fail: the lane engine has them.
        Op::Norm | Op::Det | Op::Inv | Op::Solve | Op::Cofactor | Op::CofactorAlong | Op::CutAt | Op::PlaceAt => {
            return Err(Declined::Operation(op.row().name));
        }
        Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Div | Op::Recip | Op::Min | Op::Max | Op::Pow | Op::Modulo | Op::Remainder | Op::Quotient => unlike(op)?,
        Op::Abs | Op::Sin | Op::Cos | Op::Tan | Op::Asin | Op::Acos | Op::Atan | Op::Atan2 | Op::Sinh | Op::Cosh | Op::Tanh | Op::Exp => unlike(op)?,
        Op::Log | Op::LogBase | Op::Exp2 | Op::Log2 | Op::Log10 | Op::Expm1 | Op::Log1p | Op::Sqrt | Op::Cbrt | Op::Square | Op::Floor => unlike(op)?,
        Op::Ceiling | Op::Round | Op::Truncate | Op::Sign | Op::Sigmoid | Op::Softplus | Op::Relu | Op::Erf | Op::Eq | Op::Lt | Op::Gt => unlike(op)?,
        Op::Le | Op::Ge | Op::Not | Op::Select | Op::Clamp | Op::Vec | Op::Ref | Op::Normalize | Op::Vsum | Op::Vlen | Op::Scale => unlike(op)?,
        Op::Slice | Op::Concat | Op::Mat | Op::Matmul | Op::Matvec | Op::Eye | Op::Zeros | Op::Ones | Op::Fill => unlike(op)?,
    })
}

/// Elementwise and composite operations never come here.
fn unlike(op: Op) -> Result<Vec<Number>, Declined> {
    Err(Declined::Operation(op.row().name))
}
