//! Functions as the operations they consist of, for the code generator. In: a function and something that stands for its argument; out:
//! what its kernel makes of it, or nothing for functions whose kernel is not written over [`Num`].
//! Invariant: the same kernel runs in the loops, so the bits agree, NaNs apart.

use crate::num::Num;
use crate::{COS, EXP, SIGMOID, SIN, TANH, Unary, exp, hyperbolic, trig};

/// A function's value, and where it is not to be trusted because the kernel has a slow path.
pub struct Expanded<V: Num> {
    /// The value.
    pub value: V,
    /// Where the slow path must decide.
    pub rare: Option<V::Mask>,
}

fn always<V: Num>(value: V) -> Option<Expanded<V>> {
    Some(Expanded { value, rare: None })
}

fn within<V: Num>(value: V, x: V, limit: V) -> Option<Expanded<V>> {
    Some(Expanded { value, rare: Some(limit.less(x.abs())) })
}

/// Functions whose kernel is the same for both types.
fn either<V: Num>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
    let is = |g: &'static Unary| std::ptr::eq(f, g);
    match () {
        () if is(&TANH) => always(hyperbolic::tanh(x)),
        () if is(&SIGMOID) => always(exp::sigmoid(x)),
        () => None,
    }
}

/// A function of an f64.
pub fn wide<V: Num<Scalar = f64>>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
    let is = |g: &'static Unary| std::ptr::eq(f, g);
    match () {
        () if is(&EXP) => always(exp::exp_wide(x)),
        () if is(&SIN) => within(trig::sin_wide(x), x, x.lit(trig::LIMIT)),
        () if is(&COS) => within(trig::cos_wide(x), x, x.lit(trig::LIMIT)),
        () => either(f, x),
    }
}

/// A function of an f32.
pub fn single<V: Num<Scalar = f32>>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
    let is = |g: &'static Unary| std::ptr::eq(f, g);
    match () {
        () if is(&EXP) => always(exp::exp_single(x)),
        () if is(&SIN) => within(trig::sin_single(x), x, x.lit(trig::LIMIT_SINGLE)),
        () if is(&COS) => within(trig::cos_single(x), x, x.lit(trig::LIMIT_SINGLE)),
        () => either(f, x),
    }
}
