//! Sums over the batch in one fixed order. In: lanes, tile by tile; out: a number per row.
//! Invariant: the order depends on the number of lanes alone: 64 lanes are summed as a tree, 64 such sums as a tree, and the sums of
//! those blocks as a tree; so neither the width of tiles nor the number of threads changes a bit. Programs that run value by value sum
//! whole results (`wide`), in the same order.

use super::wide::Wide;
use crate::exec::EvalError;
use crate::exec::room::make_room;
use crate::ops::real::Real;
use crate::source::Span;

/// Lanes summed first.
pub(super) const CHUNK: usize = 64;
/// Lanes of a block; threads share a batch at multiples of it.
pub(super) const BLOCK: usize = CHUNK * CHUNK;
const WIDTH: usize = 16;

/// The sums of a thread's share of the batch: a row per number that is reduced, or whole results.
pub(super) struct Sums<T> {
    rows: Vec<Row<T>>,
    pub(super) wide: Vec<Wide<T>>,
}

struct Row<T> {
    /// Lanes of a chunk that is not full yet: tiles may be shorter than a chunk.
    part: Vec<T>,
    /// Sums of the chunks of the block in progress.
    chunks: Vec<T>,
    /// Sums of finished blocks.
    blocks: Vec<T>,
}

impl<T> Default for Sums<T> {
    fn default() -> Sums<T> {
        Sums { rows: Vec::new(), wide: Vec::new() }
    }
}

impl<T: Real> Sums<T> {
    /// Forgets everything; so many rows are to come, or whole results of so many numbers.
    pub(super) fn start(&mut self, rows: usize, wide: &[usize]) -> Result<(), EvalError> {
        if self.wide.iter().map(Wide::numbers).ne(wide.iter().copied()) {
            self.wide = wide.iter().map(|&n| Wide::new(n)).collect();
        }
        self.wide.iter_mut().for_each(Wide::start);
        self.rows.truncate(rows);
        let missing = rows - self.rows.len();
        make_room(&mut self.rows, missing, Span::default())?;
        self.rows.resize_with(rows, || Row { part: Vec::new(), chunks: Vec::new(), blocks: Vec::new() });
        for row in &mut self.rows {
            row.part.clear();
            row.chunks.clear();
            row.blocks.clear();
        }
        Ok(())
    }

    /// Bytes the sums of so many rows over so many lanes take at most.
    pub(super) fn bytes(rows: usize, lanes: usize) -> usize {
        let chunks = lanes.div_ceil(CHUNK);
        let held = CHUNK.min(lanes) + CHUNK.min(chunks) + chunks.div_ceil(CHUNK);
        rows.saturating_mul(size_of::<Row<T>>() + 2 * held * size_of::<T>())
    }

    /// Bytes held between runs.
    pub(super) fn held(&self) -> usize {
        let row = |r: &Row<T>| size_of::<Row<T>>() + (r.part.capacity() + r.chunks.capacity() + r.blocks.capacity()) * size_of::<T>();
        self.rows.iter().map(row).sum::<usize>() + self.wide.iter().map(Wide::held).sum::<usize>()
    }

    /// Adds the lanes that come next.
    pub(super) fn add(&mut self, row: usize, lanes: &[T]) {
        let row = &mut self.rows[row];
        let missing = if row.part.is_empty() { 0 } else { (CHUNK - row.part.len()).min(lanes.len()) };
        let (first, rest) = lanes.split_at(missing);
        row.part.extend_from_slice(first);
        if row.part.len() == CHUNK {
            row.finish_chunk();
        }
        let (whole, behind) = rest.as_chunks::<CHUNK>();
        whole.iter().for_each(|chunk| row.add(full_sum(chunk)));
        row.part.extend_from_slice(behind);
    }

    /// Adds every `stride`-th of these numbers.
    pub(super) fn add_strided(&mut self, row: usize, numbers: &[T], stride: usize) {
        if stride == 1 {
            return self.add(row, numbers);
        }
        let mut chunk = [T::ZERO; CHUNK];
        for numbers in numbers.chunks(CHUNK * stride) {
            let n = numbers.len().div_ceil(stride);
            chunk[..n].iter_mut().zip(numbers.iter().step_by(stride)).for_each(|(c, x)| *c = *x);
            self.add(row, &chunk[..n]);
        }
    }

    /// Adds the same number for every lane.
    pub(super) fn add_splat(&mut self, row: usize, lanes: usize, x: T) {
        let chunk = [x; CHUNK];
        for at in (0..lanes).step_by(CHUNK) {
            self.add(row, &chunk[..CHUNK.min(lanes - at)]);
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
            self.close_block();
        }
    }

    fn finish_chunk(&mut self) {
        if !self.part.is_empty() {
            let sum = chunk_sum(&self.part);
            self.part.clear();
            self.add(sum);
        }
    }

    fn finish_block(&mut self) {
        self.finish_chunk();
        self.close_block();
    }

    fn close_block(&mut self) {
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
pub(super) fn full_sum<T: Real>(lanes: &[T; CHUNK]) -> T {
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
    fn lanes_may_come_in_pieces_of_any_length() {
        let lanes: Vec<f64> = (0..5000).map(|i| (i as f64 * 0.7).sin() * 10f64.powi(i % 7)).collect();
        let total = |piece: usize| {
            let mut sums = Sums::default();
            sums.start(1, &[]).expect("there is memory");
            lanes.chunks(piece).for_each(|c| sums.add(0, c));
            Sums::total(&mut [&mut sums], 0).to_bits()
        };
        for piece in [1, 2, 7, 32, 63, 65, 100, 4096] {
            assert_eq!(total(piece), total(64), "pieces of {piece}");
        }
    }

    #[test]
    fn a_chunk_is_summed_in_the_order_of_the_tree() {
        for n in 1..=CHUNK {
            let lanes: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin() * 10f64.powi(i as i32 % 7)).collect();
            let padded: Vec<f64> = lanes.iter().copied().chain(std::iter::repeat(-0.0)).take(CHUNK).collect();
            let row: Vec<f64> =
                (0..WIDTH).map(|i| (padded[i] + padded[i + WIDTH]) + (padded[i + 2 * WIDTH] + padded[i + 3 * WIDTH])).collect();
            assert_eq!(chunk_sum(&lanes).to_bits(), tree(&row).to_bits(), "{n} lanes");
        }
    }
}
