//! Operations that are a few instructions, as instructions. In: an operation and its numbers; out: a number, or nothing for
//! functions that the math crate computes. Each sequence gives the bits of the kernel in the math crate, NaNs apart.

use super::ir::{Prim, Test, Value};
use super::translate::{Nan, Number, Translator};
use crate::ops::{Kernel, Op};
use neural_compiler_math::Level;

/// Whether an operation is computed in place (by `unary` or `binary`, or number by number) rather than by a function of the math crate.
pub(super) fn is_arithmetic(op: Op) -> bool {
    match op.row().kernel {
        Kernel::Unary(_) => {
            matches!(
                op,
                Op::Neg | Op::Abs | Op::Sqrt | Op::Square | Op::Floor | Op::Ceiling | Op::Round | Op::Truncate | Op::Sign | Op::Relu
            )
        }
        Kernel::Binary(_) => {
            matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Min | Op::Max | Op::Eq | Op::Lt | Op::Gt | Op::Le | Op::Ge)
        }
        Kernel::Ternary(_) => false,
        Kernel::Select | Kernel::Tensor(_) | Kernel::Composite(_) => true,
    }
}

fn loose(t: &mut Translator<'_>, prim: Prim, args: &[Value]) -> Number {
    Number::loose(t.op(prim, args))
}

pub(super) fn unary(t: &mut Translator<'_>, op: Op, x: Number) -> Option<Number> {
    let x = x.value;
    Some(match op {
        Op::Neg => {
            let sign = t.constant(-0.0);
            loose(t, Prim::Xor, &[x, sign])
        }
        Op::Abs => {
            let rest = t.magnitude_bits();
            loose(t, Prim::And, &[x, rest])
        }
        Op::Sqrt => loose(t, Prim::Sqrt, &[x]),
        Op::Square => loose(t, Prim::Mul, &[x, x]),
        Op::Round => loose(t, Prim::Round(0), &[x]),
        Op::Floor => loose(t, Prim::Round(1), &[x]),
        Op::Ceiling => loose(t, Prim::Round(2), &[x]),
        Op::Truncate => loose(t, Prim::Round(3), &[x]),
        Op::Sign => {
            let (zero, one, sign) = (t.constant(0.0), t.constant(1.0), t.constant(-0.0));
            let bit = t.op(Prim::And, &[x, sign]);
            let signed = t.op(Prim::Or, &[bit, one]);
            let nonzero = t.op(Prim::Compare(Test::OrderedNotEqual), &[x, zero]);
            loose(t, Prim::Blend, &[nonzero, signed, x])
        }
        Op::Relu => positive(t, x),
        _ => return None,
    })
}

/// `x` where it is above 0 or NaN, else +0.
fn positive(t: &mut Translator<'_>, x: Value) -> Number {
    let zero = t.constant(0.0);
    let above = t.op(Prim::Compare(Test::NotLessEqual), &[x, zero]);
    loose(t, Prim::Keep, &[above, x])
}

fn compare(t: &mut Translator<'_>, test: Test, x: Value, y: Value) -> Number {
    if test == Test::Equal
        && let Some(mask) = t.negated(x, y)
    {
        return t.one_if(mask);
    }
    let mask = t.op(Prim::Compare(test), &[x, y]);
    t.one_if(mask)
}

pub(super) fn binary(t: &mut Translator<'_>, op: Op, x: Number, y: Number) -> Option<Number> {
    let (x, y) = (x.value, y.value);
    if op == Op::Pow {
        // The kernel rounds a square once, and this is why.
        return (t.constant_of(y) == Some(2.0)).then(|| loose(t, Prim::Mul, &[x, x]));
    }
    Some(match op {
        Op::Add => loose(t, Prim::Add, &[x, y]),
        Op::Sub => loose(t, Prim::Sub, &[x, y]),
        Op::Mul => loose(t, Prim::Mul, &[x, y]),
        Op::Div => match t.constant_of(y).and_then(|d| exact_inverse(t, d)) {
            Some(inverse) => loose(t, Prim::Mul, &[x, inverse]),
            None => loose(t, Prim::Div, &[x, y]),
        },
        Op::Min => min(t, x, y),
        Op::Max => max(t, x, y),
        Op::Eq => compare(t, Test::Equal, x, y),
        Op::Lt => compare(t, Test::Less, x, y),
        Op::Gt => compare(t, Test::Less, y, x),
        Op::Le => compare(t, Test::LessEqual, x, y),
        Op::Ge => compare(t, Test::LessEqual, y, x),
        _ => return None,
    })
}

/// `1 / d` when it is a number of the type and `d` a power of two: then `x * (1 / d)` is `x / d`, rounded once.
fn exact_inverse(t: &mut Translator<'_>, d: f64) -> Option<Value> {
    let power = d != 0.0 && d.is_normal() && d.to_bits() & ((1 << 52) - 1) == 0;
    let inverse = 1.0 / d;
    let bits = t.bits(inverse);
    let held = t.number_of(bits) == inverse && inverse.is_normal();
    (power && held).then(|| t.constant(inverse))
}

/// A constant that is neither NaN nor a zero.
fn plain(t: &Translator<'_>, v: Value) -> bool {
    t.constant_of(v).is_some_and(|c| !c.is_nan() && c != 0.0)
}

/// The instruction gives its second operand for a NaN and for equal numbers: right for NaN when the first is a constant, and for
/// zeros unless the first is one. Both orders together are right for zeros and, or-ed, for NaN.
fn min(t: &mut Translator<'_>, x: Value, y: Value) -> Number {
    let zero = |t: &Translator<'_>, v| t.constant_of(v).is_some_and(|c| c == 0.0 && c.is_sign_positive());
    if plain(t, x) || zero(t, x) {
        return loose(t, Prim::Lower, &[x, y]);
    }
    if plain(t, y) || zero(t, y) {
        return loose(t, Prim::Lower, &[y, x]);
    }
    let a = t.op(Prim::Lower, &[x, y]);
    let b = t.op(Prim::Lower, &[y, x]);
    loose(t, Prim::Or, &[a, b])
}

fn max(t: &mut Translator<'_>, x: Value, y: Value) -> Number {
    if plain(t, x) {
        return loose(t, Prim::Upper, &[x, y]);
    }
    if plain(t, y) {
        return loose(t, Prim::Upper, &[y, x]);
    }
    for (x, y) in [(x, y), (y, x)] {
        if t.constant_of(y).is_some_and(|c| c == 0.0 && c.is_sign_positive()) {
            return positive(t, x);
        }
    }
    if t.level() == Level::Avx512 {
        return loose(t, Prim::Max, &[x, y]);
    }
    let a = t.op(Prim::Upper, &[x, y]);
    let b = t.op(Prim::Upper, &[y, x]);
    let both = t.op(Prim::And, &[a, b]);
    let unordered = t.op(Prim::Compare(Test::Unordered), &[x, y]);
    let nan = t.constant(f64::NAN);
    Number { value: t.op(Prim::Blend, &[unordered, nan, both]), nan: Nan::Quiet }
}
