//! Large angles brought down to a quarter of a turn, by integer arithmetic (Payne and Hanek).
//!
//! In: a finite f64 from 2^30 on. Out: its quadrant, and what is left of it in two words. Plain f64, one value at a time: exported programs
//! carry this text along.

use crate::coefficients::{PIO2_HI, PIO2_LO, TWO_OVER_PI};
use crate::dd::{fast_two_sum, mul};

/// (a number with the quadrant in its low bits, r, second word of r) for any finite x >= 2^30.
#[cold]
#[inline(never)]
pub(crate) fn reduce_large(x: f64) -> (f64, f64, f64) {
    let bits = x.to_bits();
    let e = (bits >> 52) as i32 - 1075;
    let m = (bits & ((1 << 52) - 1)) | (1 << 52);
    // x 2/pi = m 2^e 0.b1b2b3...: bits of 2/pi of weight 2^(2-e) and above only add multiples of 4, so a window
    // of 256 bits starts below them (before the point come zeros; e >= -22)
    let first = (e - 2 + 64) as usize;
    let (word, shift) = (first / 64, (first % 64) as u32);
    let bits_at = |i: usize| {
        if i == 0 { 0 } else { TWO_OVER_PI.get(i - 1).copied().unwrap_or(0) }
    };
    let get = |i: usize| {
        let (hi, lo) = (bits_at(word + i), bits_at(word + i + 1));
        if shift == 0 { hi } else { (hi << shift) | (lo >> (64 - shift)) }
    };
    // m times the window modulo 2^256: two integer bits, then the fraction
    let mut product = [0u64; 5];
    let mut carry = 0u128;
    for i in (0..4).rev() {
        let t = m as u128 * get(i) as u128 + carry;
        product[i] = t as u64;
        carry = t >> 64;
    }
    let mut quadrant = product[0] >> 62;
    let mut frac = [0u64; 4];
    for i in 0..4 {
        frac[i] = (product[i] << 2) | (product[i + 1] >> 62);
    }
    let negative = frac[0] >> 63 == 1;
    if negative {
        // round up: the fraction becomes fraction - 1
        quadrant = quadrant.wrapping_add(1);
        let mut carry = true;
        for w in frac.iter_mut().rev() {
            let (v, c) = (!*w).overflowing_add(carry as u64);
            *w = v;
            carry = c;
        }
    }
    // 96 bits of the fraction from its leading bit on, as two exact pieces
    let lead = if frac[0] != 0 { frac[0].leading_zeros() } else { 64 + frac[1].leading_zeros() };
    let (skip, s) = ((lead / 64) as usize, lead % 64);
    let word = |i: usize| {
        let a = frac.get(skip + i).copied().unwrap_or(0);
        let b = frac.get(skip + i + 1).copied().unwrap_or(0);
        if s == 0 { a } else { (a << s) | (b >> (64 - s)) }
    };
    let (w0, w1) = (word(0), word(1));
    let scale = f64::from_bits(((1023 - 64 - lead as i64) as u64) << 52);
    let a = (w0 & !0x7ff) as f64 * scale;
    let b = (((w0 & 0x7ff) << 32) | (w1 >> 32)) as f64 * (scale / 4294967296.0);
    let (a, b) = fast_two_sum(a, b);
    let (h, l) = mul((a, b), (PIO2_HI, PIO2_LO));
    let quadrant = f64::from_bits(quadrant);
    if negative { (quadrant, -h, -l) } else { (quadrant, h, l) }
}
