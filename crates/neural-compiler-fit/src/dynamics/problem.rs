//! Trajectories as residuals: single shooting. In: a solver and trajectories; out: weighted differences between solution and
//! observations, with exact derivatives of the discretised solution.

use super::differences;
use super::schedule::{self, Schedule};
use super::solver::events::Timed;
use super::solver::{Lane, Path, Solver};
use super::starts::{Computed, Formula, Start};
use super::trajectories::{Trajectories, Trajectory};
use crate::model::layout::Layout;
use crate::optimise::gradient::Gradient;
use crate::optimise::{Residuals, Unusable};
use std::sync::Arc;

/// One number compared: the trajectory, the place in it, the number of the states, what was observed, its weight.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The trajectory.
    pub trajectory: usize,
    /// Which of the trajectory's times.
    pub at: usize,
    /// The row of the table.
    pub row: usize,
    /// Which number of the states.
    pub component: usize,
    /// Which column.
    pub column: usize,
    /// What was observed.
    pub value: f64,
    /// Its weight.
    pub weight: f64,
}

/// A change of a parameter by its last digit must not change the solution by more than a thousandth of its size: a derivative beyond
/// that, relative to both, is that of a chaotic solution, or of one that was not computed well, and no measure of certainty.
const BEYOND_MEASURE: f64 = 1e-3 / f64::EPSILON;

/// Trajectories that show the way down, and observations for each parameter.
const FEW_TRAJECTORIES: usize = 48;
const PER_PARAMETER: usize = 100;

/// A model with states and its data.
#[derive(Clone)]
pub struct Dynamics {
    /// The solver.
    pub solver: Arc<Solver>,
    /// The parameters.
    pub layout: Arc<Layout>,
    /// The data.
    pub data: Arc<Trajectories>,
    /// What is compared, in the order of the residuals.
    pub points: Vec<Point>,
    /// Size of each number of the states and observables.
    pub sizes: Arc<Vec<f64>>,
    /// Starts that are computed, for these parameters.
    pub(super) formula: Option<Arc<Formula>>,
    /// Events at times, for these parameters.
    pub(super) schedule: Option<Arc<Schedule>>,
    /// Whether derivatives are taken by differences.
    pub by_differences: bool,
}

/// The share of the cost of a constant in place of the model that errors of the solution are not taken for more than, or the fit would end
/// before it begins where data differ little from one another.
const TOLD_APART: f64 = 1e-8;
/// The share of the squares of data below which their differences are rounding.
const CONSTANT: f64 = 1e-28;

impl Dynamics {
    /// All observations of some trajectories. `weight`: of a column at a row of the table; one of weight 0 is left out.
    pub fn new(solver: Arc<Solver>, layout: Arc<Layout>, data: Arc<Trajectories>, weight: impl Fn(usize, usize) -> f64) -> Dynamics {
        let mut points = Vec::new();
        for (column, o) in data.observed.iter().enumerate() {
            for (trajectory, t) in data.all.iter().enumerate() {
                for (&at, &row) in t.at.iter().zip(&t.rows) {
                    let (value, weight) = (o.values[row], weight(column, row));
                    if value.is_finite() && weight != 0.0 && !(o.starts_here && at == 0) {
                        points.push(Point { trajectory, at, row, component: o.component, column, value, weight });
                    }
                }
            }
        }
        let formula = data.formula.as_ref().map(|f| Arc::new(f.with(&layout)));
        let schedule = data.schedule.as_ref().map(|s| Arc::new(s.with(&layout)));
        let mut sizes = solver.sizes.clone();
        sizes.resize(solver.size + solver.observables(), 1.0);
        for (column, o) in data.observed.iter().enumerate().filter(|(_, o)| o.component >= solver.size) {
            let counted = points.iter().filter(|p| p.column == column).fold(0.0f64, |m, p| m.max(p.value.abs()));
            // Where nothing is compared, as in predictions, what was observed still says how large it is.
            let observed = || o.values.iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
            let largest = if counted > 0.0 { counted } else { observed() };
            sizes[o.component] = if largest > 0.0 { largest } else { 1.0 };
        }
        Dynamics { solver, layout, data, points, sizes: Arc::new(sizes), formula, schedule, by_differences: false }
    }

    /// The values of the shared inputs.
    pub fn shared<'a>(&'a self, theta: &'a [f64]) -> Vec<&'a [f64]> {
        self.layout.shared.iter().map(|s| self.layout.values(s, theta)).collect()
    }

    /// The starts that are computed, and where wanted their derivatives.
    pub(super) fn computed(&self, theta: &[f64], with_derivatives: bool) -> Result<Computed, Unusable> {
        let found = self.formula.as_ref().map_or_else(|| Ok(Computed::default()), |f| f.at(theta, with_derivatives))?;
        let steady = &self.data.steady;
        if steady.is_empty() {
            return Ok(found);
        }
        let (p, shared) = (theta.len(), self.shared(theta));
        let which: Vec<usize> = steady.iter().map(|s| s.0).collect();
        let rows = self.data.all.iter().map(|t| t.start_row + 1).max().unwrap_or(0);
        let (mut values, mut derivatives) = (vec![vec![0.0; which.len()]; rows], vec![]);
        if with_derivatives {
            derivatives = vec![vec![vec![0.0; p]; which.len()]; rows];
        }
        let mut done = vec![false; rows];
        for t in &self.data.all {
            if std::mem::replace(&mut done[t.start_row], true) {
                continue;
            }
            let start = t.start.iter().map(|s| match s {
                Start::Value(v) => *v,
                Start::Free(j) => theta[*j],
                Start::Computed(k) => found.get(t.start_row, *k).unwrap_or(0.0),
            });
            let mut lane = Lane { start: start.collect(), ..self.bare(t) };
            steady.iter().for_each(|(k, guess)| lane.start[*k] = *guess);
            values[t.start_row] = self.solver.steady(&lane, &which, &shared)?;
            if with_derivatives {
                which.iter().zip(&values[t.start_row]).for_each(|(k, x)| lane.start[*k] = *x);
                let mut starts = self.slopes_of_starts(t, &found, p);
                self.solver.steady_derivatives(&lane, &which, &shared, (p, &mut starts))?;
                let of = |k: &usize| starts[k * p..(k + 1) * p].to_vec();
                derivatives[t.start_row] = which.iter().map(of).collect();
            }
        }
        Ok(found.with(rows, &values, &derivatives, p))
    }

    /// A trajectory as a lane that starts nowhere and has no events.
    fn bare<'t>(&self, t: &'t Trajectory) -> Lane<'t> {
        let Trajectory { origin, direction, times, forcing, .. } = t;
        Lane { start: vec![], origin: *origin, direction: *direction, times, forcing, constants: None, events: Arc::default() }
    }

    /// Derivatives of where a trajectory starts by the free numbers, state by state.
    fn slopes_of_starts(&self, t: &Trajectory, computed: &Computed, p: usize) -> Vec<f64> {
        let mut slopes = vec![0.0; t.start.len() * p];
        t.start.iter().enumerate().for_each(|(k, s)| match s {
            Start::Free(j) => slopes[k * p + j] = 1.0,
            Start::Computed(c) if computed.get(t.start_row, *c).is_some() => {
                (0..p).for_each(|j| slopes[k * p + j] = computed.derivative(t.start_row, *c, j));
            }
            Start::Computed(_) | Start::Value(_) => {}
        });
        slopes
    }

    /// What there is to say of a minimum at which the law jumps at the very time of a row.
    pub(crate) fn about_rows(&self, theta: &[f64]) -> Option<String> {
        let time = self.solver.jumps_at_row(&self.lanes(theta).ok()?, &self.shared(theta))?;
        Some(format!(
            "the law jumps at time {time}, which is that of a row and moves with the constants: what is predicted there has no \
             derivative by them, and error bars are those of one side"
        ))
    }

    /// The whole of each trajectory as a lane.
    pub fn lanes(&self, theta: &[f64]) -> Result<Vec<Lane<'_>>, Unusable> {
        self.lanes_from(theta, &self.computed(theta, false)?, false)
    }

    /// The sizes of the states, each at most the smallest number other than 0 that it starts from: a state that grows from 10^-18 to the
    /// size of the data is wrong everywhere if its start is lost in the absolute tolerance. One that is lost in rounding has no say.
    pub(crate) fn sizes_with_starts(&self, theta: &[f64]) -> Vec<f64> {
        let (mut sizes, shared) = (self.solver.sizes.clone(), self.shared(theta));
        for lane in self.lanes(theta).unwrap_or_default() {
            let lost = self.solver.lost_starts(&lane, &shared);
            for ((size, start), lost) in sizes.iter_mut().zip(&lane.start).zip(lost) {
                if *start != 0.0 && start.is_finite() && !lost {
                    *size = size.min(start.abs());
                }
            }
        }
        sizes
    }

    /// Which numbers of the states start, in every trajectory, at nothing or at what is lost in rounding.
    pub(super) fn lost_everywhere(&self, theta: &[f64]) -> Vec<bool> {
        let (lanes, shared) = (self.lanes(theta).unwrap_or_default(), self.shared(theta));
        let lost: Vec<Vec<bool>> = lanes.iter().map(|lane| self.solver.lost_starts(lane, &shared)).collect();
        let nothing = |k: usize| lanes.iter().zip(&lost).all(|(lane, lost)| lost[k] || lane.start[k] == 0.0);
        (0..self.solver.size).map(|k| lost.iter().any(|l| l[k]) && nothing(k)).collect()
    }

    /// How far rounding may take each number of the states and observables, the farthest of all trajectories.
    pub(crate) fn rounding(&self, theta: &[f64]) -> Result<Vec<f64>, Unusable> {
        let (lanes, shared) = (self.lanes(theta)?, self.shared(theta));
        let paths = self.solver.solve(&lanes, &shared, None)?;
        let mut most = vec![0.0f64; self.solver.size + self.solver.observables()];
        for (lane, path) in lanes.iter().zip(&paths) {
            let own = self.solver.rounding(lane, path, &shared)?;
            most.iter_mut().zip(own).for_each(|(m, x)| *m = m.max(x));
        }
        Ok(most)
    }

    /// What happens to a trajectory at times, and where wanted how these times move with the parameters.
    fn happens(&self, t: &Trajectory, times: Option<(&Schedule, &Computed)>, free: usize) -> Result<Arc<Vec<Timed>>, Unusable> {
        let Some((schedule, numbers)) = times else { return Ok(schedule::of_doses(t)) };
        let row = t.start_row;
        schedule.of(t, &|k| numbers.value(row, k), &|k, j| numbers.derivative(row, k, j), free)
    }

    /// The same with the starts that are computed, and with derivatives of what happens at times.
    pub(super) fn lanes_from(&self, theta: &[f64], computed: &Computed, derivatives: bool) -> Result<Vec<Lane<'_>>, Unusable> {
        let numbers = self.schedule.as_ref().map(|s| s.formula().at(theta, derivatives)).transpose()?;
        let times = self.schedule.as_deref().zip(numbers.as_ref());
        let free = if derivatives { theta.len() } else { 0 };
        let value = |t: &Trajectory, s: &Start| match s {
            Start::Value(v) => *v,
            Start::Free(j) => theta[*j],
            Start::Computed(k) => computed.value(t.start_row, *k),
        };
        let mut lanes = Vec::with_capacity(self.data.all.len());
        for t in &self.data.all {
            let start = t.start.iter().map(|s| value(t, s)).collect();
            lanes.push(Lane { start, events: self.happens(t, times, free)?, ..self.bare(t) });
        }
        Ok(lanes)
    }

    /// The same of some of the trajectories.
    pub fn part(&self, trajectories: &[usize]) -> Dynamics {
        let data =
            Trajectories { all: trajectories.iter().map(|&k| self.data.all[k].clone()).collect(), ..Trajectories::clone(&self.data) };
        let mut place = vec![None; self.data.all.len()];
        trajectories.iter().enumerate().for_each(|(k, &t)| place[t] = Some(k));
        let points = self.points.iter().filter_map(|p| place[p.trajectory].map(|trajectory| Point { trajectory, ..*p })).collect();
        Dynamics { data: Arc::new(data), points, ..self.clone() }
    }

    /// The same, solved in another way.
    pub fn with(&self, solver: Arc<Solver>) -> Dynamics {
        Dynamics { solver, ..self.clone() }
    }

    /// The same, solved roughly and where there are many trajectories on some of them, for the way down; `None` where that saves nothing.
    pub fn rough(&self, parameters: usize) -> Option<Dynamics> {
        let all = self.data.all.len();
        let rougher = self.solver.rough();
        let wanted = FEW_TRAJECTORIES.max(all * PER_PARAMETER * parameters / self.points.len().max(1));
        if rougher.is_none() && all < 2 * wanted {
            return None;
        }
        let rough = self.with(rougher.map_or_else(|| self.solver.clone(), Arc::new));
        if all < 2 * wanted {
            return Some(rough);
        }
        let some: Vec<usize> = (0..wanted).map(|k| k * all / wanted + (k * 7) % (all / wanted)).collect();
        // The same cost as that of all, about, so that what is known of one holds of the other.
        let mut part = rough.part(&some);
        let share = (self.points.len() as f64 / part.points.len().max(1) as f64).sqrt();
        part.points.iter_mut().for_each(|p| p.weight *= share);
        Some(part).filter(|p| p.points.len() >= PER_PARAMETER * parameters)
    }

    /// The sum of squares of everything observed.
    pub fn size(&self) -> f64 {
        self.points.iter().map(|p| (p.value * p.weight).powi(2)).sum()
    }

    /// Whether an observation is one of an expression of states.
    pub(crate) fn is_observable(&self, point: &Point) -> bool {
        point.component >= self.solver.size
    }

    /// The sums of squares of observed states, and of observed expressions of these.
    pub(crate) fn sizes_of_observed(&self) -> (f64, f64) {
        let of = |observable: bool| {
            self.points.iter().filter(|p| self.is_observable(p) == observable).map(|p| (p.value * p.weight).powi(2)).sum()
        };
        (of(false), of(true))
    }

    /// A share of the sum of squares of everything observed, which errors of the solution come to. An observable may be a large number
    /// beside a state: errors are no share of that one.
    pub(crate) fn share_told(&self, share: f64) -> f64 {
        let (size, apart) = (self.size(), self.of_the_mean());
        if apart > CONSTANT * size { (share * size).min(TOLD_APART * apart) } else { share * size }
    }

    /// The cost of the best constant for each column in place of the model.
    pub fn of_the_mean(&self) -> f64 {
        let mut sums = vec![(0.0f64, 0.0f64); self.data.observed.len()];
        for p in &self.points {
            let (weights, values) = &mut sums[p.column];
            let w = p.weight * p.weight;
            (*weights, *values) = (*weights + w, *values + w * p.value);
        }
        let left = |p: &Point| p.weight * (p.value - sums[p.column].1 / sums[p.column].0);
        self.points.iter().filter(|p| p.weight > 0.0).map(|p| left(p).powi(2)).sum()
    }

    /// The same up to a share of the rows of each trajectory, at least the second; `None` where that leaves nothing out.
    pub fn until(&self, share: f64) -> Option<Dynamics> {
        let rows = |k: usize| ((share * (self.data.all[k].times.len() - 1) as f64).ceil() as usize).max(1) + 1;
        let cut = |(k, t): (usize, &Trajectory)| {
            let keep = rows(k).min(t.times.len());
            let there: Vec<usize> = (0..t.rows.len()).filter(|&i| t.at[i] < keep).collect();
            Trajectory {
                rows: there.iter().map(|&i| t.rows[i]).collect(),
                at: there.iter().map(|&i| t.at[i]).collect(),
                times: t.times[..keep].to_vec(),
                forcing: t.forcing[..keep].to_vec(),
                ..t.clone()
            }
        };
        let all: Vec<Trajectory> = self.data.all.iter().enumerate().map(cut).collect();
        let points: Vec<Point> = self.points.iter().filter(|p| p.at < rows(p.trajectory)).copied().collect();
        if points.len() == self.points.len() || points.is_empty() {
            return None;
        }
        let data = Trajectories { all, ..Trajectories::clone(&self.data) };
        Some(Dynamics { data: Arc::new(data), points, ..self.clone() })
    }

    /// The solution of every trajectory.
    pub fn paths(&self, theta: &[f64]) -> Result<Vec<Path>, Unusable> {
        self.solver.solve(&self.lanes(theta)?, &self.shared(theta), None)
    }
}

impl Residuals for Dynamics {
    fn parameters(&self) -> usize {
        self.layout.len()
    }

    fn count(&self) -> usize {
        self.points.len()
    }

    fn blur(&self) -> f64 {
        // Errors of the size of the tolerance at each step, ten times that where they add up.
        if !self.solver.adaptive() {
            return 0.0;
        }
        self.share_told((10.0 * self.solver.tolerance().relative).powi(2))
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], mut jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let p = theta.len();
        if let (true, Some(jacobian)) = (self.by_differences, jacobian.as_deref_mut()) {
            differences::jacobian(self, theta, 1.0, jacobian)?;
            return self.evaluate(theta, residuals, None);
        }
        let computed = self.computed(theta, jacobian.is_some())?;
        let lanes = self.lanes_from(theta, &computed, jacobian.is_some())?;
        let shared = self.shared(theta);
        let slopes = |t: &Trajectory| if jacobian.is_some() { self.slopes_of_starts(t, &computed, p) } else { vec![] };
        let starts: Vec<Vec<f64>> = self.data.all.iter().map(slopes).collect();
        let paths = self.solver.solve(&lanes, &shared, jacobian.is_some().then_some((p, &starts)))?;
        for (r, point) in residuals.iter_mut().zip(&self.points) {
            *r = point.weight * (paths[point.trajectory].states[point.at][point.component] - point.value);
        }
        if let Some(jacobian) = jacobian {
            let m = self.points.len();
            for (i, point) in self.points.iter().enumerate() {
                let tangent = &paths[point.trajectory].tangents[point.at][point.component * p..(point.component + 1) * p];
                let (size, t) = (self.sizes[point.component], &self.data.all[point.trajectory]);
                for (j, x) in tangent.iter().enumerate() {
                    if !(x.abs() * theta[j].abs() <= BEYOND_MEASURE * size && x.is_finite()) {
                        return Err(Unusable(format!(
                            "the last digit of `{}` decides over the solution at time {}: its derivative is {x:.1e}",
                            self.layout.names[j],
                            t.origin + t.direction * t.times[point.at]
                        )));
                    }
                    jacobian[j * m + i] = point.weight * x;
                }
            }
        }
        if residuals.iter().any(|r| !r.is_finite()) {
            return Err(Unusable("the solution is too large for its square".into()));
        }
        Ok(())
    }
}

impl Gradient for Dynamics {
    fn parts(&self) -> usize {
        self.data.all.len()
    }

    fn gradient(&self, theta: &[f64], parts: &[usize], gradient: &mut [f64]) -> Result<f64, Unusable> {
        if parts.len() < self.data.all.len() {
            let part = self.part(parts);
            return part.gradient(theta, &(0..parts.len()).collect::<Vec<_>>(), gradient);
        }
        let mut at: Vec<Vec<Vec<&Point>>> = self.data.all.iter().map(|t| vec![vec![]; t.times.len()]).collect();
        self.points.iter().for_each(|p| at[p.trajectory][p.at].push(p));
        let computed = self.computed(theta, true)?;
        let (lanes, shared, n) = (self.lanes_from(theta, &computed, true)?, self.shared(theta), self.solver.size);
        // Observables need the solution first: how they change with its states is not known to the way back.
        let observed = match self.solver.observables() {
            0 => None,
            _ => self.solver.observed(&lanes, &self.solver.solve(&lanes, &shared, None)?, &shared, true)?,
        };
        let pull = |p: &Point, x: f64| 2.0 * p.weight * (p.weight * (x - p.value));
        let slope = |lane: usize, time: usize, states: &[f64], out: &mut [f64]| {
            for p in &at[lane][time] {
                match observed.as_ref().filter(|_| p.component >= n) {
                    None => out[p.component] += pull(p, states[p.component]),
                    Some(found) => {
                        let bar = pull(p, found.values(lane, time)[p.component - n]);
                        out.iter_mut().zip(found.by_states(lane, time, p.component - n, n)).for_each(|(o, x)| *o += bar * x);
                    }
                }
            }
        };
        let pulled = self.solver.pull(&lanes, &shared, &slope)?;
        let mut cost = 0.0;
        for p in &self.points {
            let value = match observed.as_ref().filter(|_| p.component >= n) {
                None => pulled.paths[p.trajectory].states[p.at][p.component],
                Some(found) => {
                    let (x, free) = (
                        found.values(p.trajectory, p.at)[p.component - n],
                        found.by_free(p.trajectory, p.at, p.component - n, theta.len()),
                    );
                    gradient.iter_mut().zip(free).for_each(|(g, by)| *g += pull(p, x) * by);
                    x
                }
            };
            cost += (p.weight * (value - p.value)).powi(2);
        }
        gradient.iter_mut().zip(&pulled.shared).for_each(|(g, x)| *g += x);
        for (t, bar) in self.data.all.iter().zip(&pulled.starts) {
            for (s, x) in t.start.iter().zip(bar) {
                match s {
                    Start::Free(j) => gradient[*j] += x,
                    Start::Computed(k) => {
                        gradient.iter_mut().enumerate().for_each(|(j, g)| *g += x * computed.derivative(t.start_row, *k, j))
                    }
                    Start::Value(_) => {}
                }
            }
        }
        if cost.is_finite() { Ok(cost) } else { Err(Unusable("the solution is too large for its square".into())) }
    }

    fn residuals(&self, parts: &[usize]) -> Box<dyn Residuals + '_> {
        Box::new(self.part(parts))
    }
}
