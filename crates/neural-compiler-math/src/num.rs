//! What kernels compute with. In: nothing; out: a trait with the operations a kernel may use.
//!
//! A kernel written over [`Num`] serves twice: with f32 or f64 it is the function the loops are made of, and with the code generator's
//! own type it writes down the instructions it consists of. So both give the same bits by construction.
//! Invariant: every operation is one IEEE 754 operation or one on bits; none depends on the level.

use std::ops::{Add, Div, Mul, Sub};

/// A number, or something that stands for one per lane.
pub trait Num: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// The type of constants: f32 or f64.
    type Scalar: Copy;
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

/// The bits of a number, and the number that rounds to a whole one when it is added.
pub trait Layout {
    /// 1.5 times two to the number of mantissa bits.
    const MAGIC: Self;
    /// The largest exponent.
    const BIAS: Self;
    /// Bits of the mantissa.
    const MANTISSA: u32;
    /// A half.
    const HALF: Self;
}

macro_rules! number {
    ($type:ident, $bits:ident, $signed:ident, $magic:literal, $bias:literal, $mantissa:literal) => {
        impl Layout for $type {
            const MAGIC: $type = $magic;
            const BIAS: $type = $bias;
            const MANTISSA: u32 = $mantissa;
            const HALF: $type = 0.5;
        }

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

number!(f32, u32, i32, 12582912.0, 127.0, 23);
number!(f64, u64, i64, 6755399441055744.0, 1023.0, 52);

/// `2^n` for a whole `n` among the exponents of normal numbers.
#[inline(always)]
pub(crate) fn pow2<V: Num>(n: V) -> V
where
    V::Scalar: Layout + Add<Output = V::Scalar>,
{
    (n + n.lit(V::Scalar::MAGIC + V::Scalar::BIAS)).shift_left(V::Scalar::MANTISSA)
}

/// [`Num::scale2`] in operations every machine has: two factors, of which the first changes nothing but the exponent.
#[inline(always)]
pub fn scaled<V: Num>(y: V, n: V) -> V
where
    V::Scalar: Layout + Add<Output = V::Scalar>,
{
    let magic = n.lit(V::Scalar::MAGIC);
    let h = n.mul_add(n.lit(V::Scalar::HALF), magic) - magic;
    y * pow2(h) * pow2(n - h)
}

/// Polynomial by Horner's rule with fused steps, lowest coefficient first.
#[inline(always)]
pub(crate) fn poly<V: Num, const N: usize>(z: V, c: &[V::Scalar; N]) -> V {
    let mut p = z.lit(c[N - 1]);
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        p = p.mul_add(z, z.lit(c[i]));
    }
    p
}
