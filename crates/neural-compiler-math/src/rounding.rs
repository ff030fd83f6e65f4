//! floor, ceiling, round, truncate, sign, abs, neg, relu.
//!
//! In: any f32 or f64. Out: exact results; round takes ties to even; sign keeps zeros and NaN; relu(-0) = 0 and
//! relu(NaN) = NaN. Every NaN comes out as the canonical one.

use crate::dispatch::Map1;

macro_rules! exact {
    ($($(#[$doc:meta])* $kernel:ident: |$x:ident: $t:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $kernel;
        exact!(@impl f32, $kernel, $x, $t, $body);
        exact!(@impl f64, $kernel, $x, $t, $body);
    )*};
    (@impl $real:ty, $kernel:ident, $x:ident, $t:ident, $body:expr) => {
        impl Map1<$real> for $kernel {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast($x: $real) -> $real {
                #[allow(dead_code)]
                type $t = $real;
                $body
            }
        }
    };
}

exact! {
    /// Largest integer not above x.
    Floor: |x: T| x.floor();
    /// Smallest integer not below x.
    Ceiling: |x: T| x.ceil();
    /// Nearest integer, ties to even.
    Round: |x: T| x.round_ties_even();
    /// Integer part.
    Truncate: |x: T| x.trunc();
    /// -1, 1, or x itself where it is a zero or NaN.
    Sign: |x: T| { let one = (1.0 as T).copysign(x); if x.abs() > 0.0 { one } else { x } };
    /// Absolute value.
    Abs: |x: T| x.abs();
    /// Opposite.
    Neg: |x: T| -x;
    /// max(0, x).
    Relu: |x: T| if x <= 0.0 { 0.0 } else { x };
}
