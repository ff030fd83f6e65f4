//! add, sub, mul, div, min, max and the comparisons.
//!
//! In: pairs of f32 or f64. Out: the IEEE 754 results; min and max are minimum and maximum of IEEE 754-2019 (NaN
//! wins, -0 < +0); comparisons give 1 or 0, and 0 with a NaN.

use crate::dispatch::Map2;

macro_rules! exact {
    ($($(#[$doc:meta])* $kernel:ident: |$a:ident, $b:ident: $t:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $kernel;
        exact!(@impl f32, $kernel, $a, $b, $t, $body);
        exact!(@impl f64, $kernel, $a, $b, $t, $body);
    )*};
    (@impl $real:ty, $kernel:ident, $a:ident, $b:ident, $t:ident, $body:expr) => {
        impl Map2<$real> for $kernel {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast($a: $real, $b: $real) -> $real {
                #[allow(dead_code)]
                type $t = $real;
                $body
            }
        }
    };
}

exact! {
    /// Sum.
    Add: |a, b: T| a + b;
    /// Difference.
    Sub: |a, b: T| a - b;
    /// Product.
    Mul: |a, b: T| a * b;
    /// Quotient.
    Div: |a, b: T| a / b;
    /// The smaller one.
    Min: |a, b: T| {
        let y = if a < b { a } else { b };
        let y = if a == b { T::from_bits(a.to_bits() | b.to_bits()) } else { y };
        if a.is_nan() || b.is_nan() { T::NAN } else { y }
    };
    /// The larger one.
    Max: |a, b: T| {
        let y = if a > b { a } else { b };
        let y = if a == b { T::from_bits(a.to_bits() & b.to_bits()) } else { y };
        if a.is_nan() || b.is_nan() { T::NAN } else { y }
    };
    /// a = b.
    Eq: |a, b: T| if a == b { 1.0 } else { 0.0 };
    /// a < b.
    Lt: |a, b: T| if a < b { 1.0 } else { 0.0 };
    /// a > b.
    Gt: |a, b: T| if a > b { 1.0 } else { 0.0 };
    /// a <= b.
    Le: |a, b: T| if a <= b { 1.0 } else { 0.0 };
    /// a >= b.
    Ge: |a, b: T| if a >= b { 1.0 } else { 0.0 };
}
