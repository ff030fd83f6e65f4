//! Small branch-free tools every kernel uses: select, polynomial, rounding by a magic number, powers of two.
//!
//! In: f64 (and masks). Out: f64. All exact except `poly` (one rounding per step) and `scale2` (one rounding).

/// 1.5 * 2^52: adding it rounds to an integer (ties to even) that sits in the low bits.
pub(crate) const MAGIC: f64 = 6755399441055744.0;

/// `a` if `c`, else `b`; both are already computed, so it becomes a blend.
#[inline(always)]
pub(crate) fn sel(c: bool, a: f64, b: f64) -> f64 {
    if c { a } else { b }
}

/// Polynomial by Horner's rule with fused steps, lowest coefficient first.
#[inline(always)]
pub(crate) fn poly<const N: usize>(z: f64, c: &[f64; N]) -> f64 {
    let mut p = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        p = p.mul_add(z, c[i]);
    }
    p
}

/// `2^n` for an integral n in [-1022, 1023].
#[inline(always)]
pub(crate) fn pow2(n: f64) -> f64 {
    f64::from_bits((n + (MAGIC + 1023.0)).to_bits() << 52)
}

/// `y * 2^n` for an integral n in [-2044, 2046], rounded once (y near 1).
#[inline(always)]
pub(crate) fn scale2(y: f64, n: f64) -> f64 {
    let h = n.mul_add(0.5, MAGIC) - MAGIC;
    y * pow2(h) * pow2(n - h)
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
