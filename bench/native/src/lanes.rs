//! Vectors of lanes. In: the vector types of `wide`; out: one trait, so that each formula is written once for f32 and f64.

use std::ops::{Add, Div, Mul, Sub};
use wide::{f32x16, f64x8};

/// As many numbers as a register holds.
pub(crate) trait Lanes: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// f32 or f64.
    type Number: Copy + Default + Send + Sync;
    /// Numbers in a vector.
    const WIDTH: usize;

    fn all(x: f64) -> Self;
    /// # Safety
    /// `WIDTH` numbers can be read at `from`.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// # Safety
    /// `WIDTH` numbers can be written at `to`.
    unsafe fn store(self, to: *mut Self::Number);
    fn sqrt(self) -> Self;
    fn exp(self) -> Self;
    fn sin_cos(self) -> (Self, Self);
    /// `yes` where `self < than`, else `no`.
    fn if_less(self, than: Self, yes: Self, no: Self) -> Self;
    fn if_greater(self, than: Self, yes: Self, no: Self) -> Self;
    fn if_at_least(self, than: Self, yes: Self, no: Self) -> Self;
}

macro_rules! lanes {
    ($vector:ident, $number:ident, $width:literal) => {
        impl Lanes for $vector {
            type Number = $number;
            const WIDTH: usize = $width;

            #[inline(always)]
            fn all(x: f64) -> Self {
                $vector::splat(x as $number)
            }
            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: by the caller's word.
                $vector::new(unsafe { from.cast::<[$number; $width]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: by the caller's word.
                unsafe { to.cast::<[$number; $width]>().write_unaligned(self.to_array()) }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $vector::sqrt(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $vector::exp(self)
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                $vector::sin_cos(self)
            }
            #[inline(always)]
            fn if_less(self, than: Self, yes: Self, no: Self) -> Self {
                self.simd_lt(than).select(yes, no)
            }
            #[inline(always)]
            fn if_greater(self, than: Self, yes: Self, no: Self) -> Self {
                self.simd_gt(than).select(yes, no)
            }
            #[inline(always)]
            fn if_at_least(self, than: Self, yes: Self, no: Self) -> Self {
                self.simd_ge(than).select(yes, no)
            }
        }
    };
}

lanes!(f32x16, f32, 16);
lanes!(f64x8, f64, 8);
