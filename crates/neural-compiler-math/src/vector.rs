//! Vectors of numbers, one type for each number type and SIMD level. In: pointers to numbers; out: vectors, and numbers written back.
//! Invariant: every operation is one IEEE 754 fixes to the last bit, so that no width changes a result.

use crate::dispatch::Real;
use std::ops::{Add, Mul};

/// Numbers with a multiply-add that rounds once.
pub(crate) trait Fused: Real + Add<Output = Self> + Mul<Output = Self> {
    /// Changes no sum it is the first term of.
    const NEUTRAL: Self;
    /// `self * a + b`, rounded once.
    fn fused(self, a: Self, b: Self) -> Self;
}

impl Fused for f32 {
    const NEUTRAL: f32 = -0.0;
    #[inline(always)]
    fn fused(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
}

impl Fused for f64 {
    const NEUTRAL: f64 = -0.0;
    #[inline(always)]
    fn fused(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
}

/// Some numbers side by side. All functions ask for a CPU that has the vector's instructions, and for pointers to as many numbers as they
/// read or write: `N`, or the first `n` of them.
#[allow(clippy::missing_safety_doc)]
pub(crate) trait Vector: Copy {
    type T: Fused;
    /// Numbers in a vector.
    const N: usize;
    /// Rows of a product whose sums, two vectors each, stay in registers.
    const ROWS: usize;
    /// Vectors of which as many as they are long are transposed in registers.
    type Square: Square<T = Self::T> + crate::product::Panel;
    unsafe fn splat(x: Self::T) -> Self;
    unsafe fn load(at: *const Self::T) -> Self;
    /// The first `n < N`; zeros behind them.
    unsafe fn load_first(at: *const Self::T, n: usize) -> Self;
    unsafe fn store(self, at: *mut Self::T);
    unsafe fn store_first(self, at: *mut Self::T, n: usize);
    unsafe fn plus(self, other: Self) -> Self;
    /// `self * a + b`, rounded once.
    unsafe fn fused(self, a: Self, b: Self) -> Self;
    /// The one NaN for every NaN.
    unsafe fn canonical(self) -> Self;
}

/// Vectors of square blocks, whose rows are so many numbers `apart`.
#[allow(clippy::missing_safety_doc)]
pub(crate) trait Square: Vector {
    /// Writes a block's columns as rows.
    unsafe fn transpose(from: *const Self::T, apart: usize, to: *mut Self::T, to_apart: usize);
    /// Adds a block times the `N` numbers at `x` to `sums`, one term after the other.
    unsafe fn times(from: *const Self::T, apart: usize, x: *const Self::T, sums: Self) -> Self;
    /// The first column of a block.
    unsafe fn column(from: *const Self::T, apart: usize) -> Self;
}

/// Vectors of every CPU.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>([T; 4]);

impl<T: Fused> Vector for Plain<T> {
    type T = T;
    const N: usize = 4;
    const ROWS: usize = 4;
    type Square = Self;
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Plain([x; 4])
    }
    #[inline(always)]
    unsafe fn load(at: *const T) -> Self {
        // SAFETY: there are N numbers.
        Plain(unsafe { at.cast::<[T; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn load_first(at: *const T, n: usize) -> Self {
        let mut all = [T::ZERO; 4];
        // SAFETY: there are n numbers.
        unsafe { std::ptr::copy_nonoverlapping(at, all.as_mut_ptr(), n) };
        Plain(all)
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut T) {
        // SAFETY: there is room for N numbers.
        unsafe { at.cast::<[T; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, at: *mut T, n: usize) {
        // SAFETY: there is room for n numbers.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), at, n) };
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
    #[inline(always)]
    unsafe fn fused(self, a: Self, b: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i].fused(a.0[i], b.0[i])))
    }
    #[inline(always)]
    unsafe fn canonical(self) -> Self {
        Plain(self.0.map(crate::dispatch::canonical))
    }
}

impl<T: Fused> Square for Plain<T> {
    #[inline(always)]
    unsafe fn transpose(from: *const T, apart: usize, to: *mut T, to_apart: usize) {
        for j in 0..4 {
            // SAFETY: both are inside their blocks.
            unsafe { Self::column(from.add(j), apart).store(to.add(j * to_apart)) };
        }
    }
    #[inline(always)]
    unsafe fn times(from: *const T, apart: usize, x: *const T, sums: Self) -> Self {
        // SAFETY: both are inside the block and the vector.
        (0..4).fold(sums, |s, k| unsafe { Self::column(from.add(k), apart).fused(Plain([*x.add(k); 4]), s) })
    }
    #[inline(always)]
    unsafe fn column(from: *const T, apart: usize) -> Self {
        // SAFETY: there are so many rows.
        Plain(std::array::from_fn(|i| unsafe { *from.add(i * apart) }))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Square, Vector};
    use std::arch::x86_64::*;

    /// Lanes of a mask: of `[-1; 8]` and zeros, those that begin so that n of them are set.
    static FIRST32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    static FIRST64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    #[inline(always)]
    unsafe fn first32(n: usize) -> __m256i {
        // SAFETY: n is at most 8.
        unsafe { _mm256_loadu_si256(FIRST32.as_ptr().add(8 - n).cast()) }
    }

    #[inline(always)]
    unsafe fn first64(n: usize) -> __m256i {
        // SAFETY: n is at most 4.
        unsafe { _mm256_loadu_si256(FIRST64.as_ptr().add(4 - n).cast()) }
    }

    /// The columns of 8 by 8 numbers of 32 bits: pairs, fours, halves.
    #[inline(always)]
    unsafe fn columns32(from: *const f32, apart: usize) -> [__m256; 8] {
        // SAFETY: the caller's block has eight rows of eight numbers, and the CPU has AVX2.
        unsafe {
            let half = |i: usize| {
                let low = _mm256_castps128_ps256(_mm_loadu_ps(from.add((i % 4) * apart + i / 4 * 4)));
                _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(from.add((i % 4 + 4) * apart + i / 4 * 4)))
            };
            let mut columns = [_mm256_setzero_ps(); 8];
            for (side, columns) in columns.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let (a, b, c, d) = (half(4 * side), half(4 * side + 1), half(4 * side + 2), half(4 * side + 3));
                let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
                let (ab2, cd2) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
                *columns = [
                    _mm256_shuffle_ps::<0x44>(ab, cd),
                    _mm256_shuffle_ps::<0xee>(ab, cd),
                    _mm256_shuffle_ps::<0x44>(ab2, cd2),
                    _mm256_shuffle_ps::<0xee>(ab2, cd2),
                ];
            }
            columns
        }
    }

    /// The columns of 4 by 4 numbers of 64 bits.
    #[inline(always)]
    unsafe fn columns64(from: *const f64, apart: usize) -> [__m256d; 4] {
        // SAFETY: the caller's block has four rows of four numbers, and the CPU has AVX2.
        unsafe {
            let half = |i: usize, side: usize| {
                let low = _mm256_castpd128_pd256(_mm_loadu_pd(from.add(i * apart + 2 * side)));
                _mm256_insertf128_pd::<1>(low, _mm_loadu_pd(from.add((i + 2) * apart + 2 * side)))
            };
            let (a, b, c, d) = (half(0, 0), half(1, 0), half(0, 1), half(1, 1));
            [_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b), _mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d)]
        }
    }

    /// Squares of one vector type.
    macro_rules! square {
        ($v:ident, $t:ident, $n:literal, $columns:ident, $splat:ident, $store:ident, $fused:ident) => {
            #[allow(clippy::undocumented_unsafe_blocks, reason = "the trait says what its callers hold to")]
            impl Square for $v {
                #[inline(always)]
                unsafe fn transpose(from: *const $t, apart: usize, to: *mut $t, to_apart: usize) {
                    unsafe { $columns(from, apart).into_iter().enumerate().for_each(|(k, c)| $store(to.add(k * to_apart), c)) }
                }
                #[inline(always)]
                unsafe fn times(from: *const $t, apart: usize, x: *const $t, sums: Self) -> Self {
                    unsafe { $columns(from, apart).into_iter().enumerate().fold(sums, |s, (k, c)| $fused(c, $splat(*x.add(k)), s)) }
                }
                #[inline(always)]
                unsafe fn column(from: *const $t, apart: usize) -> Self {
                    let column: [$t; $n] = std::array::from_fn(|i| unsafe { *from.add(i * apart) });
                    unsafe { Self::load(column.as_ptr()) }
                }
            }
        };
    }

    square!(__m256, f32, 8, columns32, _mm256_set1_ps, _mm256_storeu_ps, _mm256_fmadd_ps);
    square!(__m256d, f64, 4, columns64, _mm256_set1_pd, _mm256_storeu_pd, _mm256_fmadd_pd);

    /// One vector type; every body is a single instruction of the level, or two.
    macro_rules! vector {
        ($v:ident, $t:ident, $n:literal, $rows:literal, $square:ident, $splat:ident, $load:ident, $store:ident, $add:ident, $fused:ident,
         |$at:ident, $some:ident| $load_first:expr, |$x:ident, $to:ident, $few:ident| $store_first:expr, |$y:ident| $canonical:expr) => {
            #[allow(
                clippy::undocumented_unsafe_blocks,
                reason = "the trait says what its callers hold to; bodies are instructions of the level"
            )]
            impl Vector for $v {
                type T = $t;
                const N: usize = $n;
                const ROWS: usize = $rows;
                type Square = $square;
                #[inline(always)]
                unsafe fn splat(x: $t) -> Self {
                    unsafe { $splat(x) }
                }
                #[inline(always)]
                unsafe fn load(at: *const $t) -> Self {
                    unsafe { $load(at) }
                }
                #[inline(always)]
                unsafe fn load_first($at: *const $t, $some: usize) -> Self {
                    unsafe { $load_first }
                }
                #[inline(always)]
                unsafe fn store(self, at: *mut $t) {
                    unsafe { $store(at, self) }
                }
                #[inline(always)]
                unsafe fn store_first(self, $to: *mut $t, $few: usize) {
                    let $x = self;
                    unsafe { $store_first }
                }
                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn fused(self, a: Self, b: Self) -> Self {
                    unsafe { $fused(self, a, b) }
                }
                #[inline(always)]
                unsafe fn canonical(self) -> Self {
                    let $y = self;
                    unsafe { $canonical }
                }
            }
        };
    }

    vector!(
        __m256,
        f32,
        8,
        6,
        __m256,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_fmadd_ps,
        |at, n| _mm256_maskload_ps(at, first32(n)),
        |x, to, n| _mm256_maskstore_ps(to, first32(n), x),
        |y| _mm256_blendv_ps(y, _mm256_set1_ps(f32::NAN), _mm256_cmp_ps::<_CMP_UNORD_Q>(y, y))
    );
    vector!(
        __m256d,
        f64,
        4,
        6,
        __m256d,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_fmadd_pd,
        |at, n| _mm256_maskload_pd(at, first64(n)),
        |x, to, n| _mm256_maskstore_pd(to, first64(n), x),
        |y| _mm256_blendv_pd(y, _mm256_set1_pd(f64::NAN), _mm256_cmp_pd::<_CMP_UNORD_Q>(y, y))
    );
    vector!(
        __m512,
        f32,
        16,
        8,
        __m256,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps,
        |at, n| _mm512_maskz_loadu_ps((1u16 << n) - 1, at),
        |x, to, n| _mm512_mask_storeu_ps(to, (1u16 << n) - 1, x),
        |y| _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(y, y), _mm512_set1_ps(f32::NAN))
    );
    vector!(
        __m512d,
        f64,
        8,
        8,
        __m256d,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_fmadd_pd,
        |at, n| _mm512_maskz_loadu_pd((1u8 << n) - 1, at),
        |x, to, n| _mm512_mask_storeu_pd(to, (1u8 << n) - 1, x),
        |y| _mm512_mask_mov_pd(y, _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(y, y), _mm512_set1_pd(f64::NAN))
    );
}
