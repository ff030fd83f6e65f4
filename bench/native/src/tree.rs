//! tree_1000 by hand: products of neighbouring columns, summed pairwise. In tiles of lanes, so that each column is read in long
//! runs and the partial sums (a binary counter of tiles) stay in the first-level cache.

use crate::drive::Batch;
use std::ops::{Add, Mul};

/// Lanes of a tile.
const TILE: usize = 1024;
/// Tiles of a counter that counts to 1,023.
const LEVELS: usize = 10;

/// # Safety
/// The batch has an even number of inputs, one output, and at least `to` lanes.
pub(crate) unsafe fn value<N: Copy + Default + Add<Output = N> + Mul<Output = N>>(batch: Batch<'_, N>, from: usize, to: usize) {
    // SAFETY: by the caller's word.
    unsafe { run::<N, false>(batch, from, to) }
}

/// # Safety
/// The batch has an even number of inputs, one output more than inputs, and at least `to` lanes.
pub(crate) unsafe fn gradient<N: Copy + Default + Add<Output = N> + Mul<Output = N>>(batch: Batch<'_, N>, from: usize, to: usize) {
    // SAFETY: by the caller's word.
    unsafe { run::<N, true>(batch, from, to) }
}

/// # Safety
/// As for `value`, or for `gradient`.
unsafe fn run<N: Copy + Default + Add<Output = N> + Mul<Output = N>, const GRADIENT: bool>(batch: Batch<'_, N>, from: usize, to: usize) {
    let mut levels = [[N::default(); TILE]; LEVELS];
    for lane in (from..to).step_by(TILE) {
        let n = TILE.min(to - lane);
        // SAFETY: by the caller's word.
        let column = |k: usize| unsafe { std::slice::from_raw_parts(batch.inputs[k].add(lane), n) };
        // SAFETY: by the caller's word; each output is borrowed once at a time.
        let output = |k: usize| unsafe { std::slice::from_raw_parts_mut(batch.outputs[k].add(lane), n) };
        let mut count = 0usize;
        for pair in 0..batch.inputs.len() / 2 {
            let (a, b) = (column(2 * pair), column(2 * pair + 1));
            let free = count.trailing_ones() as usize;
            for (o, (a, b)) in levels[free].iter_mut().zip(a.iter().zip(b)) {
                *o = *a * *b;
            }
            if GRADIENT {
                // The derivative with respect to one factor is the other.
                output(1 + 2 * pair).copy_from_slice(b);
                output(2 + 2 * pair).copy_from_slice(a);
            }
            for level in 0..free {
                let (lower, upper) = levels.split_at_mut(free);
                for (o, left) in upper[0][..n].iter_mut().zip(&lower[level][..n]) {
                    *o = *left + *o;
                }
            }
            count += 1;
        }
        let out = output(0);
        let mut left = (0..LEVELS).filter(|l| count >> l & 1 == 1);
        out.copy_from_slice(&levels[left.next().expect("at least one product")][..n]);
        for level in left {
            for (o, x) in out.iter_mut().zip(&levels[level][..n]) {
                *o = *x + *o;
            }
        }
    }
}
