//! Functions as the operations they consist of, for generated code. In: a function and something that stands for its arguments; out:
//! what its kernel, or its slow path, makes of them, or nothing for functions that are not written over [`Num`].
//! Invariant: the same kernel runs in the loops, so the bits agree, NaNs apart.

use crate::coefficients::TWO_OVER_PI;
use crate::num::{Num, Single};
pub use crate::special::{Table, source, table};
use crate::{Binary, Unary, erf, exp, hyperbolic, inverse_trig, log, pow, root, trig};

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

/// Functions of one argument whose f32 kernel computes in f64: a table of function, kernel in f64, kernel for f32 results.
macro_rules! functions {
    ($($function:ident: $wide:path, $narrow:path;)*) => {
        fn plain_wide<V: Num<Scalar = f64>>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
            $(if std::ptr::eq(f, &crate::$function) {
                return always($wide(x));
            })*
            None
        }

        fn plain_single<V: Single>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
            $(if std::ptr::eq(f, &crate::$function) {
                return always(V::narrow($narrow(x.widen())));
            })*
            None
        }
    };
}

functions! {
    LOG: log::log_wide, log::log_narrow;
    LOG2: log::log2_wide, log::log2_narrow;
    LOG10: log::log10_wide, log::log10_narrow;
    LOG1P: log::log1p_wide, log::log1p_narrow;
    EXP2: exp::exp2_wide, exp::exp2_narrow;
    EXPM1: exp::expm1_wide, exp::expm1_narrow;
    BELL: exp::bell_wide, exp::bell_narrow;
    HALF_BELL: exp::half_bell_wide, exp::half_bell_narrow;
    HALF_GROWTH: exp::half_growth_wide, exp::half_growth_narrow;
    SOFTPLUS: exp::softplus_wide, exp::softplus_narrow;
    SINH: hyperbolic::sinh_wide, hyperbolic::sinh_narrow;
    ATAN: inverse_trig::atan_wide, inverse_trig::atan_narrow;
    ASIN: inverse_trig::asin_wide, inverse_trig::asin_narrow;
    ACOS: inverse_trig::acos_wide, inverse_trig::acos_narrow;
    ERF: erf::erf_wide, erf::erf_narrow;
    CBRT: root::cbrt_wide, root::cbrt_narrow;
}

/// Functions whose kernel is the same for both types.
fn either<V: Num>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
    let is = |g: &'static Unary| std::ptr::eq(f, g);
    match () {
        () if is(&crate::SIGMOID) => always(exp::sigmoid(x)),
        () => None,
    }
}

/// A function of an f64.
pub fn wide<V: Num<Scalar = f64>>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
    let is = |g: &'static Unary| std::ptr::eq(f, g);
    match () {
        () if is(&crate::EXP) => always(exp::exp_wide(x)),
        () if is(&crate::COSH) => always(hyperbolic::cosh_wide(x)),
        () if is(&crate::TANH) => always(hyperbolic::tanh_wide(x)),
        () if is(&crate::SIN) => within(trig::sin_wide(x), x, x.lit(trig::LIMIT)),
        () if is(&crate::COS) => within(trig::cos_wide(x), x, x.lit(trig::LIMIT)),
        () if is(&crate::TAN) => within(trig::tan_wide(x), x, x.lit(trig::LIMIT)),
        () => either(f, x).or_else(|| plain_wide(f, x)),
    }
}

/// A function of an f32.
pub fn single<V: Single>(f: &'static Unary, x: V) -> Option<Expanded<V>> {
    let is = |g: &'static Unary| std::ptr::eq(f, g);
    match () {
        () if is(&crate::EXP) => always(exp::exp_single(x)),
        () if is(&crate::COSH) => always(hyperbolic::cosh_single(x)),
        () if is(&crate::TANH) => always(hyperbolic::tanh_single(x)),
        () if is(&crate::SIN) => within(trig::sin_single(x), x, x.lit(trig::LIMIT_SINGLE)),
        () if is(&crate::COS) => within(trig::cos_single(x), x, x.lit(trig::LIMIT_SINGLE)),
        () if is(&crate::TAN) => within(V::narrow(trig::tan_narrow(x.widen())), x, x.lit(trig::LIMIT as f32)),
        () => either(f, x).or_else(|| plain_single(f, x)),
    }
}

/// A function of two f64.
pub fn wide_pair<V: Num<Scalar = f64>>(f: &'static Binary, x: V, y: V) -> Option<Expanded<V>> {
    let is = |g: &'static Binary| std::ptr::eq(f, g);
    let rare = |value: V, rare: V::Mask| Some(Expanded { value, rare: Some(rare) });
    match () {
        () if is(&crate::POW) => rare(pow::pow_wide(x, y), pow::pow_rare(x, y, x.lit(f64::INFINITY))),
        () if is(&crate::ATAN2) => {
            let limits = (x.lit(inverse_trig::ATAN2_LOW), x.lit(inverse_trig::ATAN2_HIGH));
            rare(inverse_trig::atan2_wide(x, y), inverse_trig::atan2_rare(x, y, limits.0, limits.1))
        }
        () if is(&crate::LOG_BASE) => always(log::log_base_wide(x, y)),
        () => None,
    }
}

/// A function of two f32.
pub fn single_pair<V: Single>(f: &'static Binary, x: V, y: V) -> Option<Expanded<V>> {
    let is = |g: &'static Binary| std::ptr::eq(f, g);
    let rare = |value: V, rare: V::Mask| Some(Expanded { value, rare: Some(rare) });
    let infinity = x.lit(f32::INFINITY);
    match () {
        () if is(&crate::POW) => rare(V::narrow(pow::pow_narrow(x.widen(), y.widen())), pow::pow_rare(x, y, infinity)),
        () if is(&crate::ATAN2) => {
            let value = V::narrow(inverse_trig::atan2_narrow(x.widen(), y.widen()));
            rare(value, inverse_trig::atan2_rare(x, y, x.lit(0.0), infinity))
        }
        () if is(&crate::LOG_BASE) => always(V::narrow(log::log_base_narrow(x.widen(), y.widen()))),
        () => None,
    }
}

/// Whether generated code contains a function rather than a call of it.
pub fn is_written_out(f: &'static Unary) -> bool {
    wide(f, 1.0f64).is_some()
}

/// The same of two arguments.
pub fn is_pair_written_out(f: &'static Binary) -> bool {
    wide_pair(f, 1.0f64, 1.0f64).is_some()
}

/// A sine, cosine or tangent of a large f64 brought down to n pi/2 + r + lo: `quadrant` has n in its low bits, `sign` the sign of the
/// argument.
pub fn reduced<V: Num<Scalar = f64>>(f: &'static Unary, quadrant: V, r: V, lo: V, sign: V) -> Option<V> {
    let is = |g: &'static Unary| std::ptr::eq(f, g);
    match () {
        () if is(&crate::SIN) => Some(trig::sin_from(quadrant, r, lo, sign)),
        () if is(&crate::COS) => Some(trig::cos_from(quadrant, r, lo)),
        () if is(&crate::TAN) => Some(trig::tan_from(quadrant, r, lo, sign)),
        () => None,
    }
}

/// The bits of 2/pi behind the point: what large arguments are brought down with.
pub fn two_over_pi() -> &'static [u64] {
    &TWO_OVER_PI
}

/// A function of two f64 where [`wide_pair`] calls them rare.
pub fn slow_pair<V: Num<Scalar = f64>>(f: &'static Binary, x: V, y: V) -> Option<V> {
    let is = |g: &'static Binary| std::ptr::eq(f, g);
    match () {
        () if is(&crate::POW) => Some(pow::pow_slow(x, y)),
        () if is(&crate::ATAN2) => Some(inverse_trig::atan2_slow(x, y)),
        () => None,
    }
}
