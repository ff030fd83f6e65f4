//! Small branch-free tools of kernels in f64: select, rounding by a magic number, signs; those that kernels over any `Num` share are in
//! `num.rs`.
//!
//! In: f64 (and masks). Out: f64. All exact.

/// 1.5 * 2^52: adding it rounds to an integer (ties to even) that sits in the low bits.
pub(crate) const MAGIC: f64 = 6755399441055744.0;

/// `a` if `c`, else `b`; both are already computed, so it becomes a blend.
#[inline(always)]
pub(crate) fn sel(c: bool, a: f64, b: f64) -> f64 {
    if c { a } else { b }
}

/// The sign bit of x.
#[inline(always)]
pub(crate) fn sign_bit(x: f64) -> u64 {
    x.to_bits() & (1 << 63)
}

/// y with its sign flipped where the given sign bit is set.
#[inline(always)]
pub(crate) fn xor_sign(y: f64, sign: u64) -> f64 {
    f64::from_bits(y.to_bits() ^ sign)
}
