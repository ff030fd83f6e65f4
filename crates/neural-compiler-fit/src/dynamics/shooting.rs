//! Multiple shooting (Bock 1981). In: a problem and a cut of its trajectories into stretches; out: residuals in the parameters and in the
//! states at the cuts, which are held together by residuals of their own. Short stretches cannot wander far from the data, so that
//! a fit starts well even where the whole trajectory would diverge or fall out of step.

use super::problem::Dynamics;
use super::solver::Lane;
use super::starts::Start;
use crate::optimise::loss::Loss;
use crate::optimise::{Bounds, Residuals, Unusable, lm};

/// A stretch: its trajectory and which of its times it runs from and to.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    trajectory: usize,
    from: usize,
    to: usize,
    /// Its first number among the states at cuts; `None` for the first of its trajectory.
    node: Option<usize>,
}

/// The problem.
pub struct Shooting<'a> {
    inner: &'a Dynamics,
    stretches: Vec<Stretch>,
    /// Numbers at cuts.
    nodes: usize,
    /// How strongly stretches are held together.
    hold: f64,
}

impl<'a> Shooting<'a> {
    fn new(inner: &'a Dynamics, rows: usize) -> Shooting<'a> {
        let n = inner.solver.size;
        let (mut stretches, mut nodes) = (Vec::new(), 0);
        for (trajectory, t) in inner.data.all.iter().enumerate() {
            let mut from = 0;
            while from + 1 < t.times.len() || from == 0 {
                let mut to = (from + rows).min(t.times.len() - 1);
                if t.times.len() - 1 - to < rows / 2 {
                    to = t.times.len() - 1;
                }
                let node = (from > 0).then_some(nodes);
                nodes += if from > 0 { n } else { 0 };
                stretches.push(Stretch { trajectory, from, to, node });
                if to == from || to + 1 >= t.times.len() {
                    break;
                }
                from = to;
            }
        }
        Shooting { inner, stretches, nodes, hold: 1.0 }
    }

    /// States at the cuts to begin with: what was observed there, else what the start says.
    fn guess(&self, theta: &[f64]) -> Vec<f64> {
        let mut guess = vec![0.0; self.nodes];
        let starts = self.inner.lanes(theta).ok();
        for s in &self.stretches {
            let Some(node) = s.node else { continue };
            let t = &self.inner.data.all[s.trajectory];
            let states = &mut guess[node..node + self.inner.solver.size];
            if let Some(starts) = &starts {
                states.copy_from_slice(&starts[s.trajectory].start);
            }
            for o in self.inner.data.observed.iter().filter(|o| o.component < self.inner.solver.size) {
                // The nearest row with an observation.
                let near = (0..t.rows.len()).filter(|&i| o.values[t.rows[i]].is_finite()).min_by_key(|&i| t.at[i].abs_diff(s.from));
                if let Some(i) = near {
                    states[o.component] = o.values[t.rows[i]];
                }
            }
        }
        guess
    }
}

impl Residuals for Shooting<'_> {
    fn parameters(&self) -> usize {
        self.inner.layout.len() + self.nodes
    }

    fn count(&self) -> usize {
        self.inner.points.len() + self.nodes
    }

    fn blur(&self) -> f64 {
        self.inner.blur()
    }

    fn evaluate(&self, all: &[f64], residuals: &mut [f64], mut jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let (n, p) = (self.inner.solver.size, self.inner.layout.len());
        let (theta, nodes) = all.split_at(p);
        let computed = self.inner.computed(theta, jacobian.is_some())?;
        let whole = self.inner.lanes_from(theta, &computed, jacobian.is_some())?;
        let q = n + p;
        let mut lanes = Vec::new();
        let mut starts = Vec::new();
        for s in &self.stretches {
            let lane = &whole[s.trajectory];
            let start = s.node.map_or(lane.start.clone(), |k| nodes[k..k + n].to_vec());
            let (times, forcing) = (&lane.times[s.from..=s.to], &lane.forcing[s.from..=s.to]);
            lanes.push(Lane { start, times, forcing, ..lane.clone() });
            let mut tangent = vec![0.0; n * q];
            (0..n).for_each(|k| tangent[k * q + k] = 1.0);
            starts.push(tangent);
        }
        let paths = self.inner.solver.solve(&lanes, &self.inner.shared(theta), jacobian.is_some().then_some((q, &starts)))?;
        let m = residuals.len();
        if let Some(j) = &mut jacobian {
            j.fill(0.0);
        }
        // The derivative of a number of a stretch's states, spread over parameters and states at cuts.
        let mut row = |i: usize, weight: f64, tangent: &[f64], s: &Stretch| {
            let Some(jacobian) = &mut jacobian else { return };
            (0..p).for_each(|j| jacobian[j * m + i] += weight * tangent[n + j]);
            for k in 0..n {
                let trajectory = &self.inner.data.all[s.trajectory];
                match (s.node, trajectory.start[k]) {
                    (Some(node), _) => jacobian[(p + node + k) * m + i] += weight * tangent[k],
                    (None, Start::Free(j)) => jacobian[j * m + i] += weight * tangent[k],
                    (None, Start::Computed(c)) => (0..p).for_each(|j| {
                        jacobian[j * m + i] += weight * tangent[k] * computed.derivative(trajectory.start_row, c, j);
                    }),
                    (None, Start::Value(_)) => {}
                }
            }
        };
        let find = |trajectory: usize, at: usize| {
            let k = self.stretches.iter().position(|s| s.trajectory == trajectory && at <= s.to).expect("stretches cover all rows");
            (k, at - self.stretches[k].from)
        };
        for (i, point) in self.inner.points.iter().enumerate() {
            let (k, at) = find(point.trajectory, point.at);
            residuals[i] = point.weight * (paths[k].states[at][point.component] - point.value);
            if let Some(t) = paths[k].tangents.get(at) {
                row(i, point.weight, &t[point.component * q..(point.component + 1) * q], &self.stretches[k]);
            }
        }
        let mut i = self.inner.points.len();
        for k in 1..self.stretches.len() {
            let Some(node) = self.stretches[k].node else { continue };
            let end = paths[k - 1].states.len() - 1;
            for c in 0..n {
                let weight = self.hold / self.inner.solver.sizes[c];
                residuals[i] = weight * (paths[k - 1].states[end][c] - nodes[node + c]);
                if let Some(t) = paths[k - 1].tangents.get(end) {
                    row(i, weight, &t[c * q..(c + 1) * q], &self.stretches[k - 1]);
                }
                i += 1;
            }
        }
        if let Some(jacobian) = jacobian {
            let mut i = self.inner.points.len();
            for s in self.stretches.iter().filter(|s| s.node.is_some()) {
                for c in 0..n {
                    jacobian[(p + s.node.unwrap_or(0) + c) * m + i] -= self.hold / self.inner.solver.sizes[c];
                    i += 1;
                }
            }
            if jacobian.iter().any(|x| !x.is_finite()) {
                return Err(Unusable("a derivative of the solution is not finite".into()));
            }
        }
        Ok(())
    }
}

/// Rows of a stretch, unless the data have fewer.
const ROWS: usize = 6;
/// More states at cuts than this are not worth the linear algebra.
const MOST_NODES: usize = 400;

impl<'a> Shooting<'a> {
    /// Trajectories cut into stretches; `None` where there is nothing to cut.
    pub fn of(problem: &'a Dynamics) -> Option<Shooting<'a>> {
        let longest = problem.data.all.iter().map(|t| t.times.len()).max().unwrap_or(0);
        let rows = (ROWS..).find(|&r| r >= longest || Shooting::new(problem, r).nodes <= MOST_NODES)?;
        Some(Shooting::new(problem, rows)).filter(|s| s.nodes > 0)
    }

    /// Parameters, and states at the cuts to begin with.
    pub fn all(&self, theta: &[f64]) -> Vec<f64> {
        theta.iter().copied().chain(self.guess(theta)).collect()
    }

    /// The bounds of all of them.
    pub fn bounds(&self, bounds: &Bounds) -> Bounds {
        let mut all = bounds.clone();
        all.min.extend(vec![f64::NEG_INFINITY; self.nodes]);
        all.max.extend(vec![f64::INFINITY; self.nodes]);
        all
    }

    /// Holds the stretches together, on the scale of the data.
    pub fn hold(&mut self, hold: f64) {
        let problem = self.inner;
        self.hold = hold * problem.points.iter().map(|p| p.weight * problem.sizes[p.component]).fold(0.0, f64::max);
    }
}

/// Parameters to start single shooting from; `None` when shooting does not lead anywhere.
pub fn start(problem: &Dynamics, theta: &[f64], bounds: &Bounds, options: &lm::Options<'_>) -> Option<Vec<f64>> {
    let mut shooting = Shooting::of(problem)?;
    let mut all = shooting.all(theta);
    let box_ = shooting.bounds(bounds);
    // Held together loosely first, then ever more tightly.
    for hold in [0.3, 3.0, 30.0] {
        shooting.hold(hold);
        let settings = lm::Options { evaluations: 60, polish: false, ..*options };
        match lm::minimise(&shooting, &all, &box_, Loss::Squares, &settings) {
            Ok(fit) => all = fit.theta,
            Err(_) => return None,
        }
    }
    Some(all[..theta.len()].to_vec())
}
