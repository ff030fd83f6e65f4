//! Steady starts. In: where a lane starts, and which numbers of its states are to start where their derivatives are 0; out: these numbers,
//! and their derivatives by the free numbers.
//!
//! Steps of the implicit Euler method, each one Newton step, whose length grows as the derivatives fall: the way the solution itself would
//! take, in the end Newton's. Derivatives by the implicit function theorem.

use super::events::{At, Function};
use super::{Lane, Solver};
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::Workspace;

/// Most steps on the way.
const MOST: usize = 500;
/// A change of a number, as a share of it, that is none.
const STILL: f64 = 1e-13;

impl Solver {
    /// The law with its derivatives, at the start of a lane.
    fn law_at_start(&self) -> &Function {
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
        let (mut length, mut before) = (0.0, f64::INFINITY);
        for _ in 0..MOST {
            let found = self.derived(law, &mut workspace, (lane, at), &states, shared)?;
            let slopes: Vec<f64> = which.iter().map(|&k| found.value[k]).collect();
            let speed = which.iter().zip(&slopes).map(|(&k, f)| (f / size(k, states[k])).abs()).fold(0.0, f64::max);
            if speed == 0.0 {
                return Ok(which.iter().map(|&k| states[k]).collect());
            }
            // At first a tenth of the time in which something changes by as much as it is.
            length = if length == 0.0 { 0.1 / speed } else { (length * (before / speed).clamp(0.5, 10.0)).min(1e300) };
            let of = |r: usize, c: usize| found.states[which[r] * n + which[c]];
            let matrix = (0..m * m).map(|i| if i / m == i % m { 1.0 / length - of(i / m, i % m) } else { -of(i / m, i % m) }).collect();
            let step = solved(matrix, slopes, m).ok_or_else(|| self.nowhere(lane))?;
            which.iter().zip(&step).for_each(|(&k, s)| states[k] += s);
            if states.iter().any(|x| !x.is_finite()) {
                return Err(self.nowhere(lane));
            }
            let still = which.iter().zip(&step).all(|(&k, s)| s.abs() <= STILL * size(k, states[k]));
            if still && (length * speed.max(1e-30) < 1e-3 || length > 1e8 / speed.max(1e-300)) {
                return Ok(which.iter().map(|&k| states[k]).collect());
            }
            if still && before <= speed {
                // The last digits do not come to rest.
                return Ok(which.iter().map(|&k| states[k]).collect());
            }
            before = speed;
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
