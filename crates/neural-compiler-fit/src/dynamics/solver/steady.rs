//! Steady starts. In: where a lane starts, and which numbers of its states are to start where their derivatives are 0; out: these numbers,
//! and their derivatives by the free numbers.
//!
//! Steps of the implicit Euler method, each one Newton step: the way the solution itself would take, in the end Newton's. A step is as long
//! as it agrees with two of half its length, so that none leaps over to a steady state that the solution does not reach; close to one that
//! repels, it stays short. Derivatives by the implicit function theorem.

use super::events::{At, Function};
use super::{Lane, Solver};
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::Workspace;

/// Most steps on the way.
const MOST: usize = 5000;
/// The first step, as a share of the time in which something changes by as much as it is, or in which a difference does.
const FIRST: f64 = 0.05;
/// The share by which a step may differ from two of half its length, and the most by which the next is longer: where a solution is driven
/// away, at a rate r, steps from 0.35/r to 11/r differ by more, so that none grows past them. Where it is drawn near, none does.
const ASTRAY: f64 = 0.15;
const LONGER: f64 = 5.0;
/// A change of a number, as a share of it, that is none.
const STILL: f64 = 1e-13;

impl Solver {
    /// The law with its derivatives, at the start of a lane.
    pub(super) fn law_at_start(&self) -> &Function {
        self.engines.law_function.get_or_init(|| {
            let mut wrt = self.engines.wrt.clone();
            wrt.extend(1 + self.shared.len()..self.engines.law.0.inputs.len());
            Function::new(&self.engines.law.0, &wrt)
        })
    }

    /// Where some numbers of the states are steady, the others being where the lane starts; looked for from there.
    pub fn steady(&self, lane: &Lane<'_>, which: &[usize], shared: &[&[f64]]) -> Result<Vec<f64>, Unusable> {
        let (law, mut workspace) = (self.law_at_start(), Workspace::new());
        let at = At { interval: 0, time: lane.times[0] };
        let mut states = lane.start.clone();
        let (n, m) = (self.size, which.len());
        let size = |k: usize, x: f64| x.abs().max(1e-3 * self.sizes[k]);
        let largest = |by: &[f64], states: &[f64]| which.iter().zip(by).map(|(&k, s)| (s / size(k, states[k])).abs()).fold(0.0, f64::max);
        let (mut length, mut before) = (0.0, f64::INFINITY);
        let mut law = |states: &[f64]| -> Result<(Vec<f64>, Vec<f64>), Unusable> {
            let found = self.derived(law, &mut workspace, (lane, at), states, shared)?;
            let matrix = which.iter().flat_map(|&r| which.iter().map(move |&c| r * n + c)).map(|i| found.states[i]).collect();
            Ok((which.iter().map(|&k| found.value[k]).collect(), matrix))
        };
        let moved = |from: &[f64], by: &[f64]| {
            let mut moved = from.to_vec();
            which.iter().zip(by).for_each(|(&k, s)| moved[k] += s);
            moved
        };
        for _ in 0..MOST {
            let (slopes, matrix) = law(&states)?;
            let speed = largest(&slopes, &states);
            if speed == 0.0 {
                return Ok(which.iter().map(|&k| states[k]).collect());
            }
            if length == 0.0 {
                let rate = matrix.chunks(m).map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
                length = FIRST / speed.max(rate);
            }
            let halves = euler(&matrix, &slopes, 0.5 * length, m).and_then(|first| {
                let (slopes, matrix) = law(&moved(&states, &first)).ok()?;
                let second = euler(&matrix, &slopes, 0.5 * length, m)?;
                Some(first.iter().zip(&second).map(|(a, b)| a + b).collect::<Vec<f64>>())
            });
            let step = euler(&matrix, &slopes, length, m).zip(halves).and_then(|(whole, halves)| {
                let apart: Vec<f64> = whole.iter().zip(&halves).map(|(a, b)| a - b).collect();
                let share = largest(&apart, &states) / largest(&halves, &states).max(STILL);
                (share <= ASTRAY).then_some((halves, share))
            });
            let Some((step, share)) = step else {
                length *= 0.4;
                if length < f64::MIN_POSITIVE {
                    return Err(self.nowhere(lane));
                }
                continue;
            };
            states = moved(&states, &step);
            if states.iter().any(|x| !x.is_finite()) {
                return Err(self.nowhere(lane));
            }
            let still = largest(&step, &states) <= STILL;
            // Either the step is as long as can be, or the last digits do not come to rest.
            if still && (length * speed.max(1e-30) < 1e-3 || length > 1e8 / speed.max(1e-300) || before <= speed) {
                // The rest of the way, where steps stayed short, is Newton's.
                let (slopes, matrix) = law(&states)?;
                let last = euler(&matrix, &slopes, f64::INFINITY, m).filter(|step| largest(step, &states) <= 100.0 * STILL);
                let states = last.map_or_else(|| states.clone(), |step| moved(&states, &step));
                return Ok(which.iter().map(|&k| states[k]).collect());
            }
            before = speed;
            length = (length * (ASTRAY / share).sqrt().clamp(1.0, LONGER)).min(1e300);
        }
        Err(self.nowhere(lane))
    }

    fn nowhere(&self, lane: &Lane<'_>) -> Unusable {
        let from: Vec<String> = lane.start.iter().map(|x| format!("{x}")).collect();
        Unusable(format!("no steady state is reached from [{}]: give other numbers to look from, (steady 0.5)", from.join(" ")))
    }

    /// Derivatives of steady numbers by some directions, `starts` being those of all states, state by state; the free shared numbers are
    /// the last of the directions. The rows of the steady ones are replaced.
    pub fn steady_derivatives(
        &self,
        lane: &Lane<'_>,
        which: &[usize],
        shared: &[&[f64]],
        (directions, starts): (usize, &mut [f64]),
    ) -> Result<(), Unusable> {
        let (law, mut workspace) = (self.law_at_start(), Workspace::new());
        let found = self.derived(law, &mut workspace, (lane, At { interval: 0, time: lane.times[0] }), &lane.start, shared)?;
        let (n, m, own) = (self.size, which.len(), self.columns());
        let matrix: Vec<f64> = (0..m * m).map(|i| found.states[which[i / m] * n + which[i % m]]).collect();
        let mut columns = vec![vec![0.0; m]; directions];
        for (d, column) in columns.iter_mut().enumerate() {
            let right: Vec<f64> = which
                .iter()
                .map(|&k| {
                    let others = (0..n).filter(|c| !which.contains(c)).map(|c| found.states[k * n + c] * starts[c * directions + d]);
                    let free = (d + own).checked_sub(directions).map_or(0.0, |j| found.free[k * own + j]);
                    -(others.sum::<f64>() + free)
                })
                .collect();
            *column = solved(matrix.clone(), right, m)
                .ok_or_else(|| Unusable("a steady state has no derivative by the parameters: it is not the only one nearby".into()))?;
        }
        for (r, &k) in which.iter().enumerate() {
            columns.iter().enumerate().for_each(|(d, column)| starts[k * directions + d] = column[r]);
        }
        Ok(())
    }
}

/// A step of the implicit Euler method, linear in the law.
fn euler(matrix: &[f64], slopes: &[f64], length: f64, m: usize) -> Option<Vec<f64>> {
    let of = |(i, x): (usize, &f64)| if i / m == i % m { 1.0 / length - x } else { -x };
    solved(matrix.iter().enumerate().map(of).collect(), slopes.to_vec(), m)
}

/// Solves a system of equations by elimination with pivots; `None` where it is singular.
fn solved(mut a: Vec<f64>, mut b: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs()))?;
        if a[pivot * n + k] == 0.0 || !a[pivot * n + k].is_finite() {
            return None;
        }
        (0..n).for_each(|c| a.swap(k * n + c, pivot * n + c));
        b.swap(k, pivot);
        for r in k + 1..n {
            let factor = a[r * n + k] / a[k * n + k];
            if factor != 0.0 {
                (k..n).for_each(|c| a[r * n + c] -= factor * a[k * n + c]);
                b[r] -= factor * b[k];
            }
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|c| a[k * n + c] * b[c]).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    b.iter().all(|x| x.is_finite()).then_some(b)
}
