//! Sums over the batch in one fixed order. In: lanes, tile by tile; out: a number per row.
//! Invariant: the order depends on the number of lanes alone: 64 lanes are summed as a tree, 64 such sums as a tree, and the sums of
//! those blocks as a tree; so neither the width of tiles nor the number of threads changes a bit.

use crate::ops::real::Real;

/// Lanes summed first.
const CHUNK: usize = 64;
/// Lanes of a block; threads share a batch at multiples of it.
pub(super) const BLOCK: usize = CHUNK * CHUNK;
const WIDTH: usize = 16;

/// The sums of a thread's share of the batch: a row per number that is reduced.
pub(super) struct Sums<T> {
    rows: Vec<Row<T>>,
}

struct Row<T> {
    /// Sums of the chunks of the block in progress.
    chunks: Vec<T>,
    /// Sums of finished blocks.
    blocks: Vec<T>,
}

impl<T> Default for Sums<T> {
    fn default() -> Sums<T> {
        Sums { rows: Vec::new() }
    }
}

impl<T: Real> Sums<T> {
    /// Forgets everything; so many rows are to come.
    pub(super) fn start(&mut self, rows: usize) {
        self.rows.resize_with(rows, || Row { chunks: Vec::new(), blocks: Vec::new() });
        for row in &mut self.rows {
            row.chunks.clear();
            row.blocks.clear();
        }
    }

    /// Adds lanes of a tile that starts at `start` of the share.
    pub(super) fn add(&mut self, row: usize, start: usize, lanes: &[T]) {
        debug_assert_eq!(start % CHUNK, 0);
        lanes.chunks(CHUNK).for_each(|chunk| self.rows[row].add(chunk_sum(chunk)));
    }

    /// Adds every `stride`-th of these numbers.
    pub(super) fn add_strided(&mut self, row: usize, start: usize, numbers: &[T], stride: usize) {
        if stride == 1 {
            return self.add(row, start, numbers);
        }
        let mut chunk = [T::ZERO; CHUNK];
        for (k, numbers) in numbers.chunks(CHUNK * stride).enumerate() {
            let n = numbers.len().div_ceil(stride);
            chunk[..n].iter_mut().zip(numbers.iter().step_by(stride)).for_each(|(c, x)| *c = *x);
            self.add(row, start + k * CHUNK, &chunk[..n]);
        }
    }

    /// Adds the same number for every lane.
    pub(super) fn add_splat(&mut self, row: usize, start: usize, lanes: usize, x: T) {
        let chunk = [x; CHUNK];
        for at in (0..lanes).step_by(CHUNK) {
            self.add(row, start + at, &chunk[..CHUNK.min(lanes - at)]);
        }
    }

    /// The number of a row over all shares, in order.
    pub(super) fn total(shares: &mut [&mut Sums<T>], row: usize) -> T {
        let (first, rest) = shares.split_first_mut().expect("a batch has a share");
        let own = &mut first.rows[row];
        own.finish_block();
        for share in rest {
            share.rows[row].finish_block();
            own.blocks.extend_from_slice(&share.rows[row].blocks);
        }
        let sum = tree(&own.blocks);
        if sum.is_nan() { T::from_f64(f64::NAN) } else { sum }
    }
}

impl<T: Real> Row<T> {
    fn add(&mut self, chunk: T) {
        self.chunks.push(chunk);
        if self.chunks.len() == CHUNK {
            self.finish_block();
        }
    }

    fn finish_block(&mut self) {
        if !self.chunks.is_empty() {
            self.blocks.push(tree(&self.chunks));
            self.chunks.clear();
        }
    }
}

fn chunk_sum<T: Real>(chunk: &[T]) -> T {
    match chunk.try_into() {
        Ok(full) => full_sum(full),
        Err(_) => {
            // Minus zero changes no sum it is added to.
            let mut lanes = [-T::ZERO; CHUNK];
            lanes[..chunk.len()].copy_from_slice(chunk);
            full_sum(&lanes)
        }
    }
}

/// Four rows, the first two and the last two, then the tree of a row.
fn full_sum<T: Real>(lanes: &[T; CHUNK]) -> T {
    let row: [T; WIDTH] = std::array::from_fn(|i| (lanes[i] + lanes[i + WIDTH]) + (lanes[i + 2 * WIDTH] + lanes[i + 3 * WIDTH]));
    let [a, b]: [T; 2] = neighbours(&neighbours::<T, 8, 4>(&neighbours::<T, WIDTH, 8>(&row)));
    a + b
}

/// A level of the tree.
fn neighbours<T: Real, const N: usize, const HALF: usize>(numbers: &[T; N]) -> [T; HALF] {
    std::array::from_fn(|i| numbers[2 * i] + numbers[2 * i + 1])
}

/// Halves summed, then their sum; the left half is a power of two. Of nothing: zero.
fn tree<T: Real>(numbers: &[T]) -> T {
    match numbers {
        [] => T::ZERO,
        [x] => *x,
        _ => {
            let (a, b) = numbers.split_at(numbers.len().next_power_of_two() / 2);
            tree(a) + tree(b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_summed_in_the_order_of_the_tree() {
        for n in 1..=CHUNK {
            let lanes: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin() * 10f64.powi(i as i32 % 7)).collect();
            let padded: Vec<f64> = lanes.iter().copied().chain(std::iter::repeat(-0.0)).take(CHUNK).collect();
            let row: Vec<f64> = (0..WIDTH).map(|i| (padded[i] + padded[i + WIDTH]) + (padded[i + 2 * WIDTH] + padded[i + 3 * WIDTH])).collect();
            assert_eq!(chunk_sum(&lanes).to_bits(), tree(&row).to_bits(), "{n} lanes");
        }
    }
}
