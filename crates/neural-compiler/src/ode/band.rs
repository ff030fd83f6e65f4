//! The Jacobian of a law as a band. In: which states the slope of each depends on; out: an order of the states in which that is a few
//! diagonals, if there is one, and these diagonals as nodes.
//!
//! States on a grid depend on their neighbours: one vector is a band as it stands, several of one length are with the first points of all,
//! then the second … (`blocks`), and one that ends where it begins is a band round its ends (`closed`).
//! Invariant: what stands outside of the pattern is 0 in the diagonals, whatever the states.

use super::sparsity;
use crate::graph::{Builder, NodeId};
use crate::ops::Op;
use crate::shape::Shape;

/// Vectors of one length that are tried as points of one grid.
const MOST_BLOCKS: usize = 8;
/// A band has at most this share of a row's columns: with more, factors of the whole matrix cost less.
const SHARE: usize = 3;
/// Smaller matrices are solved for by generated code.
const LEAST: usize = 9;

/// States in the order of a band.
pub(super) struct Band {
    n: usize,
    /// So many vectors, one after another, of which the first elements come first.
    blocks: usize,
    /// Diagonals below the main one and above it.
    pub(super) below: usize,
    above: usize,
    /// Of each row, in this order, the columns that may not be 0.
    pattern: Vec<Vec<usize>>,
    /// For each column, in this order, the derivative it is taken from.
    colours: Vec<usize>,
}

impl Band {
    /// The narrowest band for a pattern, if one is narrow enough to be worth it.
    pub(super) fn new(pattern: &[Vec<usize>]) -> Option<Band> {
        let n = pattern.len();
        if n < LEAST {
            return None;
        }
        let (blocks, below, above) =
            (1..=MOST_BLOCKS).filter(|m| n.is_multiple_of(*m)).filter_map(|m| width(pattern, m)).min_by_key(price)?;
        let place = |j: usize| place(n, blocks, j);
        let mut turned = vec![Vec::new(); n];
        for (i, row) in pattern.iter().enumerate() {
            turned[place(i)] = row.iter().map(|&j| place(j)).collect();
        }
        let colours = sparsity::colours(&turned, n);
        Some(Band { n, blocks, below, above, pattern: turned, colours })
    }

    /// Derivatives of the law that have all numbers of the band.
    pub(super) fn count(&self) -> usize {
        self.colours.iter().max().map_or(0, |c| c + 1)
    }

    /// A vector of the states in the order of the band.
    pub(super) fn ordered(&self, b: &mut Builder, x: NodeId) -> NodeId {
        self.turned(b, x, self.blocks)
    }

    /// A vector in the order of the band in that of the states.
    pub(super) fn unordered(&self, b: &mut Builder, x: NodeId) -> NodeId {
        self.turned(b, x, self.n / self.blocks)
    }

    fn turned(&self, b: &mut Builder, x: NodeId, rows: usize) -> NodeId {
        if self.blocks == 1 {
            return x;
        }
        let (r, c) = (rows as u32, (self.n / rows) as u32);
        let matrix = b.given(Op::Join, 0, Shape::Matrix(r, c), &[x]);
        let turned = b.op(Op::Transpose, &[matrix]);
        b.given(Op::Join, 0, Shape::Vector(self.n as u32), &[turned])
    }

    /// The directions, vectors of the states, along which derivatives are to be taken.
    pub(super) fn seeds(&self, b: &mut Builder) -> Vec<NodeId> {
        let one = |colour: usize| self.colours.iter().map(|&c| f64::from(u8::from(c == colour))).collect::<Vec<f64>>();
        (0..self.count())
            .map(|colour| {
                let seed = vector(b, &one(colour));
                self.unordered(b, seed)
            })
            .collect()
    }

    /// The diagonals, from the lowest to the highest, of what derivatives along the seeds gave.
    pub(super) fn diagonals(&self, b: &mut Builder, slopes: &[NodeId]) -> Vec<NodeId> {
        let zero = b.constant(0.0);
        let slopes: Vec<NodeId> = slopes.iter().map(|&s| self.ordered(b, s)).collect();
        let diagonal = |k: usize| {
            let column = |i: usize| (i + self.n + k - self.below) % self.n;
            let there: Vec<Option<usize>> =
                (0..self.n).map(|i| self.pattern[i].contains(&column(i)).then(|| self.colours[column(i)])).collect();
            let mut found = b.zeros(Shape::Vector(self.n as u32));
            let mut empty = true;
            for (colour, &slope) in slopes.iter().enumerate() {
                let mask: Vec<f64> = there.iter().map(|c| f64::from(u8::from(*c == Some(colour)))).collect();
                if mask.contains(&1.0) {
                    let mask = vector(b, &mask);
                    found = b.op(Op::Select, &[mask, slope, if empty { zero } else { found }]);
                    empty = false;
                }
            }
            found
        };
        (0..=self.below + self.above).map(diagonal).collect()
    }
}

/// The place of a state where the first elements of all blocks come first.
fn place(n: usize, blocks: usize, j: usize) -> usize {
    let length = n / blocks;
    j % length * blocks + j / length
}

/// Blocks, diagonals below and above of a pattern with so many blocks, if that is a band.
fn width(pattern: &[Vec<usize>], blocks: usize) -> Option<(usize, usize, usize)> {
    let n = pattern.len();
    let (mut below, mut above, mut closed) = (0, 0, false);
    for (i, row) in pattern.iter().enumerate() {
        for &j in row {
            let (i, j) = (place(n, blocks, i), place(n, blocks, j));
            // The shorter way round.
            let (right, left) = ((j + n - i) % n, (i + n - j) % n);
            if right <= left {
                above = above.max(right)
            } else {
                below = below.max(left)
            }
            closed |= 2 * i.abs_diff(j) > n;
        }
    }
    let whole = if closed { 4 * below.max(above) + 1 } else { below + above + 1 };
    (SHARE * whole <= n).then_some((blocks, below, above))
}

fn price(&(_, below, above): &(usize, usize, usize)) -> usize {
    below + above
}

/// Longest piece that is looked for again and again.
const LONGEST_PERIOD: usize = 16;

/// A constant vector. What repeats is written a few times and put together from pieces: masks of grids do.
pub(super) fn vector(b: &mut Builder, values: &[f64]) -> NodeId {
    let n = values.len();
    let run = |period: usize| {
        let (mut best, mut start) = (0..0, 0);
        for i in period..=n {
            if i == n || values[i] != values[i - period] {
                if i - start > best.len() {
                    best = start..i;
                }
                start = (i + 1).saturating_sub(period);
            }
        }
        (period, best)
    };
    let longest = (1..=LONGEST_PERIOD.min(n)).map(run).max_by_key(|(period, r)| (r.len() / period * period, usize::MAX - period));
    let (period, range) = longest.unwrap_or((1, 0..0));
    let times = range.len() / period;
    let mut parts: Vec<NodeId> = values[..range.start].iter().map(|&x| b.constant(x)).collect();
    parts.extend(repeated(b, &values[range.start..range.start + period.min(range.len())], times));
    parts.extend(values[range.start + times * period..].iter().map(|&x| b.constant(x)));
    b.given(Op::Join, 0, Shape::Vector(n as u32), &parts)
}

/// Copies that are put together at a time.
const AT_ONCE: usize = 8;

/// Pieces that are so many copies of some numbers.
fn repeated(b: &mut Builder, piece: &[f64], times: usize) -> Vec<NodeId> {
    let mut one: Vec<NodeId> = piece.iter().map(|&x| b.constant(x)).collect();
    let (mut parts, mut left, mut length) = (Vec::new(), times, piece.len());
    while left > 0 {
        for _ in 0..left % AT_ONCE {
            parts.extend(one.iter().copied());
        }
        left /= AT_ONCE;
        if left > 0 {
            let eight: Vec<NodeId> = (0..AT_ONCE).flat_map(|_| one.clone()).collect();
            length *= AT_ONCE;
            one = vec![b.given(Op::Join, 0, Shape::Vector(length as u32), &eight)];
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::interp::{self, RunOptions};
    use crate::graph::assemble;
    use crate::ode::Law;

    /// The law, its band and the whole Jacobian from the diagonals the band has, at some states.
    fn of(text: &str, n: usize) -> (Option<[usize; 4]>, Vec<f64>, Vec<f64>) {
        let inputs = vec![("u".to_string(), Some(Shape::Vector(n as u32))), ("k".to_string(), Some(Shape::Scalar))];
        let graph = crate::compile(text, &crate::Options { inputs: Some(inputs), ..Default::default() }).unwrap().graph().unwrap();
        let law = Law { graph: (*graph).clone(), size: n, shared: 1 };
        let band = Band::new(&sparsity::pattern(&law.graph, n));
        let states: Vec<f64> = (0..n).map(|i| 0.3 + 0.1 * (i as f64).sin()).collect();
        let args = || vec![crate::Tensor::vector(states.clone()), crate::Tensor::scalar(0.7)];
        let run = |g: &crate::graph::Graph| interp::run::<f64>(g, &args(), &RunOptions::default()).unwrap();
        let whole = run(&crate::diff::jacobian(&law.graph, &[0]).unwrap())[1].data().to_vec();
        let Some(band) = band else { return (None, vec![], whole) };
        let mut b = Builder::new("test");
        let params: Vec<NodeId> = law.graph.inputs.iter().map(|i| b.param(crate::graph::Type::Value(i.shape))).collect();
        let mut regions = law.graph.regions.clone();
        let along = crate::diff::jvp(&law.graph, &[0]);
        let main = crate::graph::copy::adopt(&mut regions, &along);
        let mut slopes = vec![];
        for seed in band.seeds(&mut b) {
            let mut with = params.clone();
            with.push(seed);
            slopes.push(crate::graph::copy::inline(&mut b, &regions[main.0 as usize], &regions, &with)[1]);
        }
        let diagonals = band.diagonals(&mut b, &slopes);
        let found = run(&assemble(regions, b.finish(diagonals), law.graph.inputs.clone()));
        let mut matrix = vec![0.0; n * n];
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            let (p, q) = (place(n, band.blocks, i), place(n, band.blocks, j));
            for (k, d) in found.iter().enumerate().filter(|(k, _)| (p + n + k - band.below) % n == q) {
                assert!(k <= band.below + band.above);
                matrix[i * n + j] = d.data()[p];
            }
        }
        (Some([band.blocks, band.below, band.above, band.count()]), matrix, whole)
    }

    #[test]
    fn grids_are_bands_with_the_numbers_of_the_jacobian() {
        let inner = "(* k (+ (slice u 2 20) (square (slice u 0 18)) (* -2 (slice u 1 19))))";
        // Ends that stand still; ends that depend on their neighbours; ends that meet; two vectors, one of which moves along.
        let ends = format!("(concat 0 {inner} 0)");
        let open = format!("(concat (- (ref u 1) (ref u 0)) {inner} (ref u 18))");
        let closed = format!("(concat (* (ref u 19) (ref u 1)) {inner} (- (ref u 0) (ref u 18)))");
        let two = "(define x (slice u 0 15)) (define y (slice u 15 30))
            (concat (+ y (concat 0 (- (slice x 2 15) (slice x 0 13)) (ref x 13))) (* x (square y)))";
        for (text, n, expected) in
            [(&ends[..], 20, [1, 1, 1, 3]), (&open, 20, [1, 1, 1, 3]), (&closed, 20, [1, 1, 1, 4]), (two, 30, [2, 2, 2, 3])]
        {
            let (band, found, whole) = of(text, n);
            assert_eq!((band, found), (Some(expected), whole), "{text}");
        }
    }

    #[test]
    fn what_is_no_band_is_none() {
        assert_eq!(of("(* k u (norm u))", 20).0, None);
        assert_eq!(of("(concat (slice u 1 8) (ref u 0))", 8).0, None);
    }

    #[test]
    fn constants_are_what_they_say_in_few_pieces() {
        for n in [1, 5, 16, 17, 100, 1000] {
            for (kind, most) in [(0, 80), (1, 80), (2, 1100)] {
                let value = |i: usize| match kind {
                    0 => f64::from(u8::from(i % 3 == 1)),
                    1 => f64::from(u8::from(i > 0 && i + 2 < n && i % 5 == 2)),
                    _ => (i as f64).sin(),
                };
                let values: Vec<f64> = (0..n).map(value).collect();
                let mut b = Builder::new("test");
                let node = vector(&mut b, &values);
                let region = b.finish(vec![node]);
                assert!(region.ids().map(|id| region.args(id).len()).sum::<usize>() <= most, "{n}, {kind}");
                let found = interp::run::<f64>(&assemble(vec![], region, vec![]), &[], &RunOptions::default()).unwrap();
                assert_eq!(found[0].data(), values, "{n}, {kind}");
            }
        }
    }
}
