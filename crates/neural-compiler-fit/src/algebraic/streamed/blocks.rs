//! Rows in blocks. In: parts of a table, of any size; out: blocks of [`BLOCK`] rows that count, the last one shorter.
//! Invariant: which rows are in a block depends on their numbers among the rows that count, and on nothing else.

use crate::algebraic::Algebraic;
use crate::algebraic::prepared::Compare;
use crate::algebraic::problem::{Numbers, call, called};
use crate::support::memory;

/// Rows of a block: its columns stay in the second cache, and its evaluation is long beside handing it to a thread.
pub(super) const BLOCK: usize = 8192;

/// Rows that count, column by column.
#[derive(Default)]
pub(super) struct Block {
    /// Rows that count before these.
    pub(super) before: usize,
    pub(super) rows: usize,
    /// Per input, its numbers: all rows of the first, then of the second; empty for parameters.
    pub(super) columns: Vec<Vec<f64>>,
    /// What to explain, target by target.
    pub(super) target: Vec<f64>,
    /// Empty: all 1.
    pub(super) weights: Vec<f64>,
    /// What the rows are called.
    pub(super) numbers: Numbers,
}

impl Block {
    /// What changes with every number of the rows and with their order: a sum of their bits, and the sum of all sums on the way to it
    /// (Fletcher 1982).
    pub(super) fn mark(&self) -> u64 {
        let (mut sum, mut sums) = (0u64, 0u64);
        for x in self.columns.iter().chain([&self.target, &self.weights]).flatten() {
            sum = sum.wrapping_add(x.to_bits());
            sums = sums.wrapping_add(sum);
        }
        // The upper bits of numbers that are alike differ little: both sums have to count in all bits.
        sums ^ sum.rotate_left(32)
    }

    /// The model on these rows.
    pub(super) fn model(self, of: &Algebraic) -> Algebraic {
        of.on(self.columns, self.target, self.weights, self.numbers)
    }
}

/// A part that was read.
pub(super) struct Part {
    /// Per input, as in a block.
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) compare: Compare,
    pub(super) rows: usize,
}

/// Some of the rows of a part or a block, in order.
#[derive(Clone, Copy)]
enum Chosen<'a> {
    Between(usize, usize),
    These(&'a [usize]),
}

impl Chosen<'_> {
    fn pick(self, all: &[f64], out: &mut Vec<f64>) {
        match self {
            Chosen::Between(from, to) => out.extend_from_slice(&all[from..to]),
            Chosen::These(rows) => out.extend(rows.iter().map(|&i| all[i])),
        }
    }
}

/// A block being filled.
struct Filling {
    /// Per input, per number of it: its rows.
    columns: Vec<Vec<Vec<f64>>>,
    targets: Vec<Vec<f64>>,
    weights: Vec<f64>,
    numbers: Numbers,
    rows: usize,
    before: usize,
}

impl Filling {
    fn new(inputs: &[usize], targets: usize) -> Filling {
        let columns = inputs.iter().map(|&n| vec![Vec::new(); n]).collect();
        Filling { columns, targets: vec![Vec::new(); targets], weights: vec![], numbers: vec![], rows: 0, before: 0 }
    }

    /// Takes some of `rows` rows; `number`: what each of them is called.
    fn add(
        &mut self,
        rows: usize,
        (columns, target, weights): (&[Vec<f64>], &[f64], &[f64]),
        some: Chosen<'_>,
        number: impl Fn(usize) -> usize,
    ) {
        for (out, all) in self.columns.iter_mut().zip(columns) {
            out.iter_mut().zip(all.chunks(rows)).for_each(|(out, all)| some.pick(all, out));
        }
        self.targets.iter_mut().zip(target.chunks(rows)).for_each(|(out, all)| some.pick(all, out));
        if !weights.is_empty() {
            some.pick(weights, &mut self.weights);
        }
        let count = match some {
            Chosen::Between(from, to) => to - from,
            Chosen::These(rows) => rows.len(),
        };
        for k in 0..count {
            let row = match some {
                Chosen::Between(from, _) => from + k,
                Chosen::These(rows) => rows[k],
            };
            call(&mut self.numbers, self.rows + k, number(row));
        }
        self.rows += count;
    }

    fn take(&mut self) -> Block {
        let join = |parts: &mut Vec<Vec<f64>>| {
            let joined = memory::joined(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
            parts.iter_mut().for_each(Vec::clear);
            joined
        };
        let (before, rows) = (self.before, std::mem::take(&mut self.rows));
        self.before += rows;
        let columns = self.columns.iter_mut().map(join).collect();
        let (target, weights, numbers) = (join(&mut self.targets), std::mem::take(&mut self.weights), std::mem::take(&mut self.numbers));
        Block { before, rows, columns, target, weights, numbers }
    }
}

/// Parts cut into blocks.
pub(super) struct Cutter {
    filling: Filling,
    /// Rows so far, those that do not count included, and those of them that have nothing to explain.
    pub(super) rows: usize,
    pub(super) without: usize,
}

impl Cutter {
    /// For inputs of so many numbers each (0: a parameter) and so many targets.
    pub(super) fn new(inputs: &[usize], targets: usize) -> Cutter {
        Cutter { filling: Filling::new(inputs, targets), rows: 0, without: 0 }
    }

    /// Rows so far that count.
    pub(super) fn counted(&self) -> usize {
        self.filling.before + self.filling.rows
    }

    /// Takes the rows of a part that count; hands on every block that is full.
    pub(super) fn add(&mut self, part: &Part, full: &mut dyn FnMut(Block)) {
        let Compare { observed, without, weights, .. } = &part.compare;
        let numbers = (&part.columns[..], &observed[..], &weights[..]);
        let whole = without.is_empty() && !weights.contains(&0.0);
        let counts = |i: &usize| without.binary_search(i).is_err() && weights.get(*i) != Some(&0.0);
        let kept: Vec<usize> = if whole { Vec::new() } else { (0..part.rows).filter(counts).collect() };
        let (count, before) = (if whole { part.rows } else { kept.len() }, self.rows);
        let mut from = 0;
        while from < count {
            let to = count.min(from + BLOCK - self.filling.rows);
            let some = if whole { Chosen::Between(from, to) } else { Chosen::These(&kept[from..to]) };
            self.filling.add(part.rows, numbers, some, |row| before + row);
            from = to;
            if self.filling.rows == BLOCK {
                full(self.filling.take());
            }
        }
        self.rows += part.rows;
        self.without += without.len();
    }

    /// The rows that are left, as a block.
    pub(super) fn rest(&mut self) -> Option<Block> {
        (self.filling.rows > 0).then(|| self.filling.take())
    }
}

/// Some of the rows of blocks that come in order.
pub(super) struct Sample(Filling);

impl Sample {
    pub(super) fn new(inputs: &[usize], targets: usize) -> Sample {
        Sample(Filling::new(inputs, targets))
    }

    /// Takes these rows of a block.
    pub(super) fn add(&mut self, block: &Block, rows: &[usize]) {
        let number = |row: usize| called(&block.numbers, row);
        self.0.add(block.rows, (&block.columns, &block.target, &block.weights), Chosen::These(rows), number);
    }

    /// All rows that were taken.
    pub(super) fn block(mut self) -> Block {
        self.0.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part in which every tenth row has nothing to explain.
    fn part(from: usize, rows: usize) -> Part {
        let x: Vec<f64> = (from..from + rows).map(|i| i as f64).collect();
        let gone = |i: &usize| (from + i) % 10 == 3;
        let observed = x.iter().map(|x| if (*x as usize) % 10 == 3 { f64::NAN } else { 2.0 * x }).collect();
        let compare = Compare { observed, without: (0..rows).filter(gone).collect(), weights: vec![], known: false };
        Part { columns: vec![x, vec![]], compare, rows }
    }

    fn cut(sizes: &[usize]) -> Vec<Block> {
        let (mut cutter, mut blocks, mut from) = (Cutter::new(&[1, 0], 1), Vec::new(), 0);
        for &rows in sizes {
            cutter.add(&part(from, rows), &mut |b| blocks.push(b));
            from += rows;
        }
        blocks.extend(cutter.rest());
        assert_eq!((cutter.rows, cutter.without), (30_000, 3000));
        blocks
    }

    #[test]
    fn a_block_is_known_by_its_numbers_and_their_order() {
        let block = |x: Vec<f64>, target: Vec<f64>| Block { rows: 3, columns: vec![x, vec![]], target, ..Block::default() }.mark();
        let one = block(vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]);
        assert_eq!(one, block(vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]));
        for (x, y) in [([1.0, 2.0, 3.0], [4.0, 6.0, 5.0]), ([1.0, 3.0, 2.0], [4.0, 5.0, 6.0]), ([1.0, 2.0, 3.0], [4.0, 5.0, 6.5])] {
            assert_ne!(one, block(x.to_vec(), y.to_vec()), "{x:?} {y:?}");
        }
    }

    #[test]
    fn blocks_do_not_depend_on_parts() {
        let one = cut(&[30_000]);
        assert_eq!(one.iter().map(|b| b.rows).collect::<Vec<_>>(), [BLOCK, BLOCK, BLOCK, 27_000 - 3 * BLOCK]);
        for sizes in [&[1, 29_999][..], &[3, 4, 10_000, 0, 19_993], &[8192, 8192, 8192, 5424], &[10; 3000]] {
            let other = cut(sizes);
            assert_eq!(other.len(), one.len());
            for (a, b) in one.iter().zip(&other) {
                assert_eq!((&a.columns, &a.target, &a.numbers), (&b.columns, &b.target, &b.numbers));
            }
        }
        // Rows are called by their number in the table: its fourth has nothing to explain.
        assert_eq!(one[0].numbers[..3], [(0, 0), (3, 4), (12, 14)]);
        assert!(one.iter().all(|b| b.target.iter().zip(&b.columns[0]).all(|(y, x)| *y == 2.0 * x)));
    }
}
