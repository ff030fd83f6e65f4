//! Sums over the batch of a whole result, all its numbers at once. In: lanes, tile by tile; out: a number for each of the result.
//! Invariants: the order is that of `reduce`, number by number; a result that is an outer product is never stored lane by lane, its
//! products are rounded and summed in registers.

use super::reduce::{CHUNK, full_sum};
use crate::ops::real::Real;
use neural_compiler_math::Level;

/// What lanes add, one after the other.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'a, T> {
    /// Their values.
    Values(&'a [T]),
    /// All products of a number of one value and one of another.
    Outers(&'a [T], &'a [T]),
}

/// The sums of one result.
pub(super) struct Wide<T> {
    numbers: usize,
    /// Lanes of a chunk that is not full yet: of their values, or of both factors.
    part: [Vec<T>; 2],
    lanes: usize,
    /// Chunks of the block in progress; `sums[k]` is the sum of 2^k of them where that bit of the count is set.
    chunks: usize,
    sums: Vec<Vec<T>>,
    /// Sums of finished blocks.
    blocks: Vec<Vec<T>>,
    /// Memory for further sums.
    spare: Vec<Vec<T>>,
    /// A lane has no value: neither has the sum.
    lost: bool,
}

fn add<T: Real>(a: &mut [T], b: &[T]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a = *a + *b);
}

impl<T: Real> Wide<T> {
    /// Nothing yet, for a result of so many numbers.
    pub(super) fn new(numbers: usize) -> Wide<T> {
        Wide {
            numbers,
            part: [Vec::new(), Vec::new()],
            lanes: 0,
            chunks: 0,
            sums: Vec::new(),
            blocks: Vec::new(),
            spare: Vec::new(),
            lost: false,
        }
    }

    /// Numbers of the result.
    pub(super) fn numbers(&self) -> usize {
        self.numbers
    }

    /// Forgets everything but its memory.
    pub(super) fn start(&mut self) {
        self.part.iter_mut().for_each(Vec::clear);
        (self.lanes, self.chunks, self.lost) = (0, 0, false);
        self.spare.append(&mut self.blocks);
    }

    /// Bytes it holds.
    pub(super) fn held(&self) -> usize {
        let lists = self.part.iter().chain(&self.sums).chain(&self.blocks).chain(&self.spare);
        lists.map(|l| l.capacity() * size_of::<T>()).sum()
    }

    /// Adds the lanes that come next.
    pub(super) fn add<'a>(&mut self, level: Level, mut lanes: usize, mut added: Lanes<'a, T>) {
        while lanes > 0 {
            // A whole chunk where it lies, if none has begun; else as much as is missing.
            let now = (CHUNK - self.lanes).min(lanes);
            let split = |of: &'a [T]| of.split_at(of.len() / lanes * now);
            let (first, rest) = match added {
                Lanes::Values(values) => {
                    let (a, b) = split(values);
                    (Lanes::Values(a), Lanes::Values(b))
                }
                Lanes::Outers(left, right) => {
                    let ((a, c), (b, d)) = (split(left), split(right));
                    (Lanes::Outers(a, b), Lanes::Outers(c, d))
                }
            };
            if now == CHUNK {
                self.chunk(level, first);
            } else {
                self.keep(first);
                self.lanes += now;
                if self.lanes == CHUNK {
                    self.close_part(level, first);
                }
            }
            (added, lanes) = (rest, lanes - now);
        }
    }

    /// Adds the same value for every lane.
    pub(super) fn add_same(&mut self, level: Level, lanes: usize, value: &[T]) {
        (0..lanes).for_each(|_| self.add(level, 1, Lanes::Values(value)));
    }

    /// Makes the sum NaN.
    pub(super) fn lose(&mut self) {
        self.lost = true;
    }

    fn keep(&mut self, lanes: Lanes<'_, T>) {
        match lanes {
            Lanes::Values(values) => self.part[0].extend_from_slice(values),
            Lanes::Outers(left, right) => {
                self.part[0].extend_from_slice(left);
                self.part[1].extend_from_slice(right);
            }
        }
    }

    /// Sums the chunk whose lanes were kept; `like` says of what kind they are.
    fn close_part(&mut self, level: Level, like: Lanes<'_, T>) {
        let [first, second] = std::mem::take(&mut self.part);
        self.chunk(level, if matches!(like, Lanes::Values(_)) { Lanes::Values(&first) } else { Lanes::Outers(&first, &second) });
        self.part = [first, second];
        self.part.iter_mut().for_each(Vec::clear);
        self.lanes = 0;
    }

    fn chunk(&mut self, level: Level, lanes: Lanes<'_, T>) {
        let mut sum = self.spare.pop().unwrap_or_default();
        sum.resize(self.numbers, T::ZERO);
        match lanes {
            Lanes::Values(values) if self.numbers == 1 => sum[0] = full_sum(values.try_into().expect("a chunk")),
            Lanes::Values(values) => T::lane_sums(level, values, &mut sum),
            Lanes::Outers(left, right) => T::lane_outers(level, left, right, &mut sum),
        }
        // Two sums of as many chunks make one of twice as many: a tree whose left half is a power of two.
        let mut k = 0;
        while self.chunks >> k & 1 == 1 {
            std::mem::swap(&mut self.sums[k], &mut sum);
            let (left, right) = (&mut sum, &mut self.sums[k]);
            add(left, right);
            k += 1;
        }
        if k == self.sums.len() {
            self.sums.push(Vec::new());
        }
        let before = std::mem::replace(&mut self.sums[k], sum);
        if before.len() == self.numbers {
            self.spare.push(before);
        }
        self.chunks += 1;
        if self.chunks == CHUNK {
            self.close_block();
        }
    }

    fn close_block(&mut self) {
        let mut there = (0..self.sums.len()).filter(|k| self.chunks >> k & 1 == 1).collect::<Vec<_>>().into_iter();
        let Some(first) = there.next() else { return };
        let mut sum = std::mem::take(&mut self.sums[first]);
        for k in there {
            std::mem::swap(&mut self.sums[k], &mut sum);
            add(&mut sum, &self.sums[k]);
        }
        self.blocks.push(sum);
        self.chunks = 0;
    }

    fn finish(&mut self, level: Level) {
        if self.lanes > 0 {
            // Minus zero changes no sum it is added to, and 0 times minus zero is that.
            let (outer, missing) = (!self.part[1].is_empty(), CHUNK - self.lanes);
            let [first, second] = &mut self.part;
            let each = |list: &[T]| list.len() / self.lanes * missing;
            first.extend(std::iter::repeat_n(if outer { T::ZERO } else { -T::ZERO }, each(first)));
            second.extend(std::iter::repeat_n(-T::ZERO, each(second)));
            self.close_part(level, if outer { Lanes::Outers(&[], &[]) } else { Lanes::Values(&[]) });
        }
        self.close_block();
    }

    /// The numbers over all shares, in order.
    pub(super) fn total(shares: &mut [&mut Wide<T>], level: Level, out: &mut [T]) {
        if shares.iter().any(|s| s.lost) {
            return out.fill(T::from_f64(f64::NAN));
        }
        shares.iter_mut().for_each(|s| s.finish(level));
        let mut blocks: Vec<&mut Vec<T>> = shares.iter_mut().flat_map(|s| s.blocks.iter_mut()).collect();
        tree(&mut blocks);
        match blocks.first() {
            Some(sum) => out.iter_mut().zip(sum.iter()).for_each(|(o, x)| *o = if x.is_nan() { T::from_f64(f64::NAN) } else { *x }),
            None => out.fill(T::ZERO),
        }
    }
}

/// Halves summed, then their sum, into the first; the left half is a power of two.
fn tree<T: Real>(blocks: &mut [&mut Vec<T>]) {
    if blocks.len() > 1 {
        let (a, b) = blocks.split_at_mut(blocks.len().next_power_of_two() / 2);
        tree(a);
        tree(b);
        add(a[0], b[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::lanes::reduce::Sums;

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7 + seed) as f64 * 0.7).sin() * 10f64.powi((i % 7) as i32)).collect()
    }

    /// Lane by lane, number by number, as other engines sum.
    fn slowly(values: &[f64], n: usize) -> Vec<u64> {
        let mut sums = Sums::default();
        sums.start(n, &[]).expect("there is memory");
        values.chunks(n).for_each(|lane| (0..n).for_each(|e| sums.add(e, &lane[e..=e])));
        (0..n).map(|e| Sums::total(&mut [&mut sums], e).to_bits()).collect()
    }

    #[test]
    fn sums_are_those_of_single_numbers() {
        for (lanes, rows, columns) in [(1, 2, 3), (64, 1, 1), (100, 3, 5), (1000, 4, 17), (4097, 2, 2), (9000, 1, 33)] {
            let (left, right) = (numbers(lanes * rows, 1), numbers(lanes * columns, 2));
            let products: Vec<f64> = (0..lanes * rows * columns)
                .map(|i| left[i / columns / rows * rows + i / columns % rows] * right[i / columns / rows * columns + i % columns])
                .collect();
            let expected = slowly(&products, rows * columns);
            for &level in Level::available() {
                for tile in [7, 64, 100, 256] {
                    for outer in [false, true] {
                        // Two shares, at a block; the second run reuses the memory of the first.
                        let (mut a, mut b) = (Wide::new(rows * columns), Wide::new(rows * columns));
                        for _ in 0..2 {
                            a.start();
                            b.start();
                            for (share, from, to) in [(&mut a, 0, lanes.min(4096)), (&mut b, lanes.min(4096), lanes)] {
                                for at in (from..to).step_by(tile) {
                                    let end = to.min(at + tile);
                                    let added = if outer {
                                        Lanes::Outers(&left[at * rows..end * rows], &right[at * columns..end * columns])
                                    } else {
                                        Lanes::Values(&products[at * rows * columns..end * rows * columns])
                                    };
                                    share.add(level, end - at, added);
                                }
                            }
                        }
                        let mut found = vec![0.0; rows * columns];
                        Wide::total(&mut [&mut a, &mut b], level, &mut found);
                        assert!(
                            found.iter().map(|x| x.to_bits()).eq(expected.iter().copied()),
                            "{lanes} {rows} {columns} {tile} {outer} {level:?}"
                        );
                    }
                }
            }
        }
    }
}
