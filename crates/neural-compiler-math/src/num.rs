//! What kernels compute with. In: nothing; out: a trait with the operations a kernel may use.
//!
//! A kernel written over [`Num`] serves twice: with f32 or f64 it is the function the loops are made of, and with the code generator's
//! own type it writes down the instructions it consists of. So both give the same bits by construction.
//! Invariant: every operation is one IEEE 754 operation or one on bits; none depends on the level.

use crate::coefficients::*;
use std::ops::{Add, Div, Mul, Sub};

/// A number, or something that stands for one per lane.
pub trait Num: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// The type of constants: f32 or f64.
    type Scalar: Layout;
    /// What a comparison gives.
    type Mask: Copy;

    /// A constant.
    fn lit(self, x: Self::Scalar) -> Self;
    /// A constant by its bits.
    fn lit_bits(self, bits: u64) -> Self;
    /// `self * b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `c - self * b`, rounded once.
    fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// `self * b - c`, rounded once.
    fn mul_sub(self, b: Self, c: Self) -> Self;
    /// Without its sign.
    fn abs(self) -> Self;
    /// `self < b`.
    fn less(self, b: Self) -> Self::Mask;
    /// `self == b`.
    fn equal(self, b: Self) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Where both hold.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Where one of them holds.
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Where it does not hold.
    fn not(mask: Self::Mask) -> Self::Mask;
    /// Whether it holds, where that is known at once.
    fn known(mask: Self::Mask) -> Option<bool>;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Largest whole number not above.
    fn floor(self) -> Self;
    /// The limit where it is below, else the number; NaN stays.
    fn at_most(self, limit: Self) -> Self;
    /// The limit where it is above, else the number; NaN stays.
    fn at_least(self, limit: Self) -> Self;
    /// Bits of both.
    fn and_bits(self, b: Self) -> Self;
    /// Bits of either.
    fn or_bits(self, b: Self) -> Self;
    /// Bits of one of them.
    fn xor_bits(self, b: Self) -> Self;
    /// The sum of the bits, as whole numbers.
    fn add_bits(self, b: Self) -> Self;
    /// The bits moved up.
    fn shift_left(self, by: u32) -> Self;
    /// The bits moved down.
    fn shift_right(self, by: u32) -> Self;
    /// Whether the highest bit is set.
    fn high_bit(self) -> Self::Mask;
    /// `self * 2^n` for a number of moderate size and a whole `n`, rounded once.
    fn scale2(self, n: Self) -> Self;
}

/// An f32 whose kernels may compute in f64 inside.
pub trait Single: Num<Scalar = f32> {
    /// The same number in f64.
    type Wide: Num<Scalar = f64>;

    /// The number in f64, exactly.
    fn widen(self) -> Self::Wide;
    /// Rounded to f32.
    fn narrow(wide: Self::Wide) -> Self;
}

impl Single for f32 {
    type Wide = f64;

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(wide: f64) -> f32 {
        wide as f32
    }
}

/// A number type: its bits, and the constants of kernels that are written once for both types.
pub trait Layout: Copy + Add<Output = Self> + 'static {
    /// 1.5 times two to the number of mantissa bits: adding it rounds to a whole number that sits in the low bits.
    const MAGIC: Self;
    /// The largest exponent.
    const BIAS: Self;
    /// Bits of the mantissa.
    const MANTISSA: u32;
    /// All bits.
    const BITS: u32;
    /// 0, 1/2, 1 and 2.
    const SMALL: [Self; 4];
    /// Below this, e^x is 0.
    const EXP_LEAST: Self;
    /// A whole power of two whose square is still a normal number.
    const EXPONENT_LEAST: Self;
    /// 1/ln 2, and ln 2 in two parts, the first of which is exact times any exponent.
    const LN2: [Self; 3];
    /// (cosh r - 1 - r^2/2)/r^4 and (sinh r - r)/r^3 in r^2, |r| <= ln(2)/2.
    const EXP_EVEN: &'static [Self];
    /// See `EXP_EVEN`.
    const EXP_ODD: &'static [Self];
}

macro_rules! number {
    ($type:ident, $bits:ident, $signed:ident) => {
        impl Num for $type {
            type Scalar = $type;
            type Mask = bool;

            #[inline(always)]
            fn lit(self, x: $type) -> $type {
                x
            }
            #[inline(always)]
            fn lit_bits(self, bits: u64) -> $type {
                $type::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn mul_add(self, b: $type, c: $type) -> $type {
                $type::mul_add(self, b, c)
            }
            #[inline(always)]
            fn neg_mul_add(self, b: $type, c: $type) -> $type {
                $type::mul_add(-self, b, c)
            }
            #[inline(always)]
            fn mul_sub(self, b: $type, c: $type) -> $type {
                $type::mul_add(self, b, -c)
            }
            #[inline(always)]
            fn abs(self) -> $type {
                $type::abs(self)
            }
            #[inline(always)]
            fn less(self, b: $type) -> bool {
                self < b
            }
            #[inline(always)]
            fn equal(self, b: $type) -> bool {
                self == b
            }
            #[inline(always)]
            fn select(mask: bool, yes: $type, no: $type) -> $type {
                if mask { yes } else { no }
            }
            #[inline(always)]
            fn both(a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn either(a: bool, b: bool) -> bool {
                a || b
            }
            #[inline(always)]
            fn known(mask: bool) -> Option<bool> {
                Some(mask)
            }
            #[inline(always)]
            fn not(mask: bool) -> bool {
                !mask
            }
            #[inline(always)]
            fn sqrt(self) -> $type {
                $type::sqrt(self)
            }
            #[inline(always)]
            fn floor(self) -> $type {
                $type::floor(self)
            }
            #[inline(always)]
            fn at_most(self, limit: $type) -> $type {
                if limit < self { limit } else { self }
            }
            #[inline(always)]
            fn at_least(self, limit: $type) -> $type {
                if limit > self { limit } else { self }
            }
            #[inline(always)]
            fn and_bits(self, b: $type) -> $type {
                $type::from_bits(self.to_bits() & b.to_bits())
            }
            #[inline(always)]
            fn or_bits(self, b: $type) -> $type {
                $type::from_bits(self.to_bits() | b.to_bits())
            }
            #[inline(always)]
            fn xor_bits(self, b: $type) -> $type {
                $type::from_bits(self.to_bits() ^ b.to_bits())
            }
            #[inline(always)]
            fn add_bits(self, b: $type) -> $type {
                $type::from_bits(self.to_bits().wrapping_add(b.to_bits()))
            }
            #[inline(always)]
            fn shift_left(self, by: u32) -> $type {
                $type::from_bits(self.to_bits() << by)
            }
            #[inline(always)]
            fn shift_right(self, by: u32) -> $type {
                $type::from_bits(self.to_bits() >> by)
            }
            #[inline(always)]
            fn high_bit(self) -> bool {
                (self.to_bits() as $signed) < 0
            }
            #[inline(always)]
            fn scale2(self, n: $type) -> $type {
                scaled(self, n)
            }
        }
    };
}

number!(f32, u32, i32);
number!(f64, u64, i64);

impl Layout for f32 {
    const MAGIC: f32 = 12582912.0;
    const BIAS: f32 = 127.0;
    const MANTISSA: u32 = 23;
    const BITS: u32 = 32;
    const SMALL: [f32; 4] = [0.0, 0.5, 1.0, 2.0];
    const EXP_LEAST: f32 = -104.0;
    const EXPONENT_LEAST: f32 = -60.0;
    const LN2: [f32; 3] = [LOG2E_SINGLE, LN2_SHORT_SINGLE, LN2_REST_SINGLE];
    const EXP_EVEN: &'static [f32] = &EXP_EVEN_SINGLE;
    const EXP_ODD: &'static [f32] = &EXP_ODD_SINGLE;
}

impl Layout for f64 {
    const MAGIC: f64 = 6755399441055744.0;
    const BIAS: f64 = 1023.0;
    const MANTISSA: u32 = 52;
    const BITS: u32 = 64;
    const SMALL: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
    const EXP_LEAST: f64 = -750.0;
    const EXPONENT_LEAST: f64 = -200.0;
    const LN2: [f64; 3] = [LOG2E_HI, LN2_SHORT, LN2_REST];
    const EXP_EVEN: &'static [f64] = &EXP_EVEN;
    const EXP_ODD: &'static [f64] = &EXP_ODD;
}

/// 0 of the type of another number.
#[inline(always)]
pub(crate) fn zero<V: Num>(x: V) -> V {
    x.lit(V::Scalar::SMALL[0])
}

/// 1/2, likewise.
#[inline(always)]
pub(crate) fn half<V: Num>(x: V) -> V {
    x.lit(V::Scalar::SMALL[1])
}

/// 1, likewise.
#[inline(always)]
pub(crate) fn one<V: Num>(x: V) -> V {
    x.lit(V::Scalar::SMALL[2])
}

/// 2, likewise.
#[inline(always)]
pub(crate) fn two<V: Num>(x: V) -> V {
    x.lit(V::Scalar::SMALL[3])
}

/// `2^n` for a whole `n` among the exponents of normal numbers.
#[inline(always)]
pub(crate) fn pow2<V: Num>(n: V) -> V {
    (n + n.lit(V::Scalar::MAGIC + V::Scalar::BIAS)).shift_left(V::Scalar::MANTISSA)
}

/// [`Num::scale2`] in operations every machine has: two factors, of which the first changes nothing but the exponent.
#[inline(always)]
pub fn scaled<V: Num>(y: V, n: V) -> V {
    let magic = n.lit(V::Scalar::MAGIC);
    let h = n.mul_add(half(n), magic) - magic;
    y * pow2(h) * pow2(n - h)
}

/// The sign bit of a number, as a number.
#[inline(always)]
pub(crate) fn sign_of<V: Num>(x: V) -> V {
    x.and_bits(x.lit_bits(1 << (V::Scalar::BITS - 1)))
}

/// The opposite number.
#[inline(always)]
pub(crate) fn opposite<V: Num>(x: V) -> V {
    x.xor_bits(x.lit_bits(1 << (V::Scalar::BITS - 1)))
}

/// `y` where `x` is a number, else `x`.
#[inline(always)]
pub(crate) fn unless_nan<V: Num>(x: V, y: V) -> V {
    V::select(x.equal(x), y, x)
}

/// x limited to [lo, hi]; NaN stays.
#[inline(always)]
pub(crate) fn clamp<V: Num>(x: V, lo: V::Scalar, hi: V::Scalar) -> V {
    x.at_most(x.lit(hi)).at_least(x.lit(lo))
}

/// Polynomial by Horner's rule with fused steps, lowest coefficient first.
#[inline(always)]
pub(crate) fn poly<V: Num>(z: V, c: &[V::Scalar]) -> V {
    let mut i = c.len() - 1;
    let mut p = z.lit(c[i]);
    while i > 0 {
        i -= 1;
        p = p.mul_add(z, z.lit(c[i]));
    }
    p
}
