//! Derivatives carried along the steps of a solver, direction by direction. In: the derivative of each lane's start by some directions;
//! out: the inputs that the derivative of a step needs, how large a derivative's error may be, and derivatives as the caller wants them.
//!
//! Each direction of each lane is a lane of the batch engine: one run of the derivative of a step moves them all.

use super::events::Jump;
use super::{Directions, Solver};

/// How much looser derivatives are held than the states, and between which bounds: a derivative that is right to six digits leads to
/// the minimum as well as one that is right to ten.
const LOOSER: f64 = 100.0;
const BOUNDS: (f64, f64) = (1e-9, 1e-3);
/// Influence on the solution, as a share of its size, that need not be computed to any digit.
const NOTHING: f64 = 1e-4;

/// The directions of one solution.
pub(super) struct Tangents {
    /// How many.
    pub(super) count: usize,
    /// Derivatives of each lane's states, direction by direction.
    pub(super) lanes: Vec<Vec<f64>>,
    /// For each free shared input its derivative by each direction, for as many lanes as there are.
    seeds: Vec<(Vec<f64>, usize)>,
    /// What a direction's number is of the order of.
    reach: Vec<f64>,
    tolerance: f64,
}

impl Tangents {
    pub(super) fn new(solver: &Solver, shared: &[&[f64]], (count, starts): Directions<'_>) -> Tangents {
        let (n, own) = (solver.size, solver.columns());
        let mut seeds = Vec::new();
        let mut first = count - own;
        let mut reach = vec![0.0f64; count];
        for (values, (shape, _)) in shared.iter().zip(&solver.shared).filter(|(_, s)| s.1) {
            let len = shape.len();
            let one: Vec<f64> = (0..count * len).map(|i| if i / len == first + i % len { 1.0 } else { 0.0 }).collect();
            seeds.push((one.repeat(starts.len()), len));
            reach[first..first + len].iter_mut().zip(*values).for_each(|(r, v)| *r = v.abs());
            first += len;
        }
        for start in starts {
            for (i, s) in start.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                let d = i % count;
                if d < count - own || reach[d] == 0.0 {
                    reach[d] = reach[d].max(solver.sizes[i / count] / s.abs());
                }
            }
        }
        reach.iter_mut().filter(|r| **r == 0.0).for_each(|r| *r = 1.0);
        let tolerance = (LOOSER * solver.tolerance.relative).clamp(BOUNDS.0, BOUNDS.1);
        Tangents { count, lanes: starts.iter().map(|s| turned(s, n, count).collect()).collect(), seeds, reach, tolerance }
    }

    /// Takes the derivatives of a lane over a jump.
    pub(super) fn jump(&mut self, lane: usize, jump: &Jump) {
        let n = self.lanes[lane].len() / self.count.max(1);
        let by_state: Vec<f64> = turned(&self.lanes[lane], self.count, n).collect();
        self.lanes[lane] = turned(&jump.apply(&by_state, self.count), n, self.count).collect();
    }

    /// The seeds of the free shared inputs for so many lanes.
    pub(super) fn seeds(&self, lanes: usize) -> impl Iterator<Item = (&[f64], usize)> {
        self.seeds.iter().map(move |(seed, len)| (&seed[..lanes * self.count * len], *len))
    }

    /// The error of a step in the derivatives, as a share of what is allowed; the worst direction counts.
    pub(super) fn error(&self, before: &[f64], after: &[f64], error: &[f64], sizes: &[f64]) -> f64 {
        let n = sizes.len();
        let mut worst = 0.0f64;
        for (d, reach) in self.reach.iter().enumerate() {
            let range = d * n..(d + 1) * n;
            let mut sum = 0.0;
            for (((b, a), e), size) in before[range.clone()].iter().zip(&after[range.clone()]).zip(&error[range]).zip(sizes) {
                if *e != 0.0 {
                    sum += (e / (self.tolerance * (b.abs().max(a.abs()) + NOTHING * size / reach))).powi(2);
                }
            }
            // A maximum would overlook what is not a number.
            worst = if sum.is_nan() { f64::NAN } else { worst.max((sum / n as f64).sqrt()) };
        }
        worst
    }
}

/// Rows become columns: state by state to direction by direction, or back.
pub(super) fn turned(matrix: &[f64], rows: usize, columns: usize) -> impl Iterator<Item = f64> + '_ {
    (0..columns).flat_map(move |c| (0..rows).map(move |r| matrix[r * columns + c]))
}
