//! A model with states and its data, ready to be solved. In: a program, a table, options; out: its law, its trajectories, a solver that
//! suits them, and which rows are held out.

use crate::data::table::Table;
use crate::dynamics::clock::Pace;
use crate::dynamics::ensemble::unsolved;
use crate::dynamics::problem::Dynamics;
use crate::dynamics::schedule;
use crate::dynamics::solver::field::Field;
use crate::dynamics::solver::{FIRST_LANES, Solver};
use crate::dynamics::starts::Start;
use crate::dynamics::trajectories::{self, Observed, Purpose, Trajectories, Trajectory};
use crate::fit::{split, weights};
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::options::Options;
use crate::report::summary::Compared;
use crate::report::{Axis, Fit};
use neural_compiler::ode::Scheme;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// A model with states and its data.
pub(crate) struct Prepared {
    pub(crate) solver: Arc<Solver>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) data: Arc<Trajectories>,
    pub(crate) field: Field,
    /// The longest step, or that of a map.
    pub(crate) step: Option<f64>,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    /// One per row; empty: all 1.
    weights: Vec<f64>,
    /// Rows that are not fitted, in order.
    held_out: Vec<usize>,
    pub(crate) axis: Axis,
    /// Whether derivatives are taken by differences.
    pub(crate) by_differences: bool,
}

impl Prepared {
    /// `fitting`: the table must observe a state; a prediction needs no observations.
    pub(crate) fn new(
        program: &Program,
        table: &Table,
        options: &Options<'_>,
        effort: &Arc<Effort>,
        fitting: bool,
    ) -> Result<Prepared, Diagnostics> {
        let layout = Arc::new(Layout::new(program, &options.values)?);
        let pace = Pace::new(program, table, options)?;
        let field = Field::new(program, &layout, &pace.name, &schedule::infused(&options.doses, program)?)?;
        let purpose = if fitting { Purpose::Fit { target: options.target.as_deref() } } else { Purpose::Predict };
        let given = (options.group.as_deref(), &options.doses[..]);
        let data = Arc::new(trajectories::read(program, &field, &layout, table, &pace, given, purpose)?);
        let step = pace.step.or(options.step);
        let unobserved: Vec<usize> = (0..table.rows()).filter(|&row| data.observed.iter().all(|o| o.values[row].is_nan())).collect();
        let (weights, known) = if fitting { weights(table, options, &unobserved)? } else { (counting(table, options), false) };
        let counted = counted(&data, &weights);
        let solver = solver(&field, &layout, &counted, step, (program.kind() == ModelKind::Map, fitting), options, effort)?;
        if fitting {
            let heaviest = weights.iter().copied().reduce(f64::max).filter(|_| known).unwrap_or(1.0);
            data.observed.iter().try_for_each(|o| table.squares(&o.name, heaviest))?;
        }
        let held_out = split(table.rows(), options);
        // Rows that are left out lie nowhere.
        let name = pace.column.unwrap_or_else(|| "step".into());
        let mut axis = Axis { name, values: vec![f64::NAN; table.rows()], trajectory: vec![0; table.rows()] };
        for t in &data.all {
            t.rows.iter().for_each(|&row| (axis.values[row], axis.trajectory[row]) = (data.row_times[row], t.group));
        }
        Ok(Prepared { solver, layout, data, field, step, known, weights, held_out, axis, by_differences: false })
    }

    /// A solver for stiff problems.
    pub(crate) fn implicit(&self, options: &Options<'_>) -> Result<Arc<Solver>, Diagnostics> {
        let solver = Solver::new(&self.field, &self.layout, Scheme::implicit(), self.step, options.accuracy())?;
        Ok(Arc::new(solver.with_sizes(self.solver.sizes.clone()).with_effort(&self.solver.effort)))
    }

    /// What the rows lie along: the time.
    pub(crate) fn axis_name(&self) -> &str {
        &self.axis.name
    }

    /// Whether rows are held out.
    pub(crate) fn holds_out(&self) -> bool {
        !self.held_out.is_empty()
    }

    fn is_held_out(&self, row: usize) -> bool {
        self.held_out.binary_search(&row).is_ok()
    }

    /// The problem of the rows to fit, or of those held out, with columns weighted by one over their scatter.
    pub(crate) fn problem(&self, solver: &Arc<Solver>, layout: &Arc<Layout>, scatter: &[f64], held_out: bool) -> Dynamics {
        let weight = |column: usize, row: usize| {
            let counts = self.is_held_out(row) == held_out;
            if counts { self.weights.get(row).copied().unwrap_or(1.0) / scatter[column] } else { 0.0 }
        };
        Dynamics { by_differences: self.by_differences, ..Dynamics::new(solver.clone(), layout.clone(), self.data.clone(), weight) }
    }

    /// Some numbers of the states and observables, row by row of the table.
    pub(crate) fn predicted(&self, problem: &Dynamics, theta: &[f64], components: &[usize]) -> Result<Vec<Vec<f64>>, Diagnostics> {
        let paths = problem.paths(theta).map_err(|e| unsolved(e.0))?;
        let mut columns = vec![vec![f64::NAN; self.axis.values.len()]; components.len()];
        for (t, path) in self.data.all.iter().zip(&paths) {
            for (&row, &at) in t.rows.iter().zip(&t.at) {
                components.iter().zip(&mut columns).for_each(|(&c, column)| column[row] = path.states[at][c]);
            }
        }
        Ok(columns)
    }

    /// Data and predictions of all rows; what was not compared is NaN.
    pub(crate) fn compared(&self, problem: &Dynamics, theta: &[f64], spent: f64) -> Result<Compared, Diagnostics> {
        let rows = self.axis.values.len();
        let components: Vec<usize> = self.data.observed.iter().map(|o| o.component).collect();
        let predicted = self.predicted(problem, theta, &components)?.concat();
        let mut observed = vec![f64::NAN; predicted.len()];
        for p in &problem.points {
            observed[p.column * rows + p.row] = p.value;
        }
        let targets = self.data.observed.iter().map(|o| o.name.clone()).collect();
        let left = |o: &Observed| {
            o.values.iter().enumerate().map(|(row, x)| if self.is_held_out(row) { *x } else { f64::NAN }).collect::<Vec<f64>>()
        };
        let held_out = if self.holds_out() { self.data.observed.iter().flat_map(left).collect() } else { vec![] };
        let scales = self.data.observed.iter().map(|o| o.state).collect();
        let (weights, axis) = (self.weights.clone(), Some(self.axis.clone()));
        Ok(Compared { targets, observed, predicted, known: self.known, weights, scales, axis, held_out, spent, likely: None })
    }

    /// What a fit should say of its data besides: when starts hold, how rows were read.
    pub(crate) fn finish(&self, fit: &mut Fit) {
        fit.clock = Some(self.data.clock.clone());
        fit.warnings.extend(self.data.notes.iter().chain(&self.data.about_inputs).cloned());
        fit.warnings.extend(self.solver.doubt());
    }
}

/// Most steps of the explicit method where the implicit one is at hand.
pub(crate) const PATIENCE: usize = 30_000;

/// How much dearer the explicit method must be than the implicit one, whose derivatives cost more, to be given up.
pub(crate) const STIFF: f64 = 1.5;

/// How many times as many steps as a rough solution an accurate one takes at least where accuracy decides: its tolerance is a thousandth,
/// for the fifth order four times as many.
const ACCURACY: usize = 2;

/// The solver the user asks for, or one that suits the model at its declared values.
fn solver(
    field: &Field,
    layout: &Arc<Layout>,
    data: &Arc<Trajectories>,
    step: Option<f64>,
    (map, fitting): (bool, bool),
    options: &Options<'_>,
    effort: &Arc<Effort>,
) -> Result<Arc<Solver>, Diagnostics> {
    let begun = sizes(data, layout, &vec![false; field.law.size]);
    let make = |scheme: Scheme| -> Result<Arc<Solver>, Diagnostics> {
        let solver = Solver::new(field, layout, scheme, step, options.accuracy())?.with_sizes(begun.clone()).with_effort(effort);
        let problem = Dynamics::new(Arc::new(solver), layout.clone(), data.clone(), |_, _| 1.0);
        let lost = problem.lost_everywhere(&layout.start);
        if !lost.contains(&true) {
            return Ok(problem.solver);
        }
        Ok(Arc::new(Solver::clone(&problem.solver).with_sizes(sizes(data, layout, &lost))))
    };
    match options.scheme {
        _ if map => make(Scheme::MAP),
        Some(scheme) => make(scheme),
        // A net has not said anything yet that could be stiff.
        None if layout.weights() > 0 => make(Scheme::explicit()),
        None => {
            let explicit = make(Scheme::explicit())?;
            let count = |solver: &Arc<Solver>| {
                let problem = Dynamics::new(solver.clone(), layout.clone(), data.clone(), |_, _| 1.0);
                solver.count(&problem.lanes(&layout.start).ok()?, &problem.shared(&layout.start))
            };
            let steps = count(&explicit);
            // Where other values turn out to be stiff, the fit is done again: no need to take very many steps first.
            let patient = |solver: &Arc<Solver>| if fitting { Arc::new(Solver::clone(solver).with_most(PATIENCE)) } else { solver.clone() };
            // A rough solution in far fewer steps: accuracy decides over their length, not stability.
            let rough = explicit.rough().filter(|_| steps.is_some_and(|s| s < PATIENCE / 4)).and_then(|rough| count(&Arc::new(rough)));
            if let (Some(steps), Some(rough)) = (steps, rough)
                && steps > ACCURACY * rough
            {
                return Ok(patient(&explicit));
            }
            // A step of the implicit method solves six systems, and takes one from row to row at least.
            let intervals: usize = data.all.iter().take(FIRST_LANES).map(|t| t.times.len() - 1).sum();
            let n = field.law.size as f64;
            let least = intervals as f64 * 6.0 * (n.powi(3) / 3.0 + n * n);
            if steps.is_some_and(|s| s < PATIENCE / 4 && s as f64 * explicit.price() < STIFF * least) {
                return Ok(patient(&explicit));
            }
            let implicit = make(Scheme::implicit())?;
            let cost = |solver: &Arc<Solver>, steps: usize| solver.price() * steps as f64;
            // Stiff at the declared values: so many steps of the explicit method that the dearer ones of the implicit method cost less.
            Ok(match (steps, count(&implicit)) {
                (Some(e), Some(i)) if cost(&explicit, e) > STIFF * cost(&implicit, i) => implicit,
                (None, Some(_)) => implicit,
                (_, Some(_)) => patient(&explicit),
                (Some(_), None) => explicit,
                // The first of the others that gets through; the explicit method says best why none does.
                (None, None) => {
                    let others = Scheme::all().filter(|s| s.is_implicit() && s.row() != Scheme::implicit().row());
                    others.filter_map(|s| make(s).ok()).find(|s| count(s).is_some()).unwrap_or(explicit)
                }
            })
        }
    }
}

/// Which rows of a prediction count, by 1 and 0, as far as its table has the weights of the fit: it needs none.
fn counting(table: &Table, options: &Options<'_>) -> Vec<f64> {
    let weights = options.weights_column.as_ref().and_then(|name| table.column(name)).unwrap_or(&[]);
    weights.iter().map(|w| f64::from(*w != 0.0)).collect()
}

/// The data without what is observed in rows of weight 0: what fills these is no size of anything.
fn counted(data: &Arc<Trajectories>, weights: &[f64]) -> Arc<Trajectories> {
    if !weights.contains(&0.0) {
        return data.clone();
    }
    let mut all = Trajectories::clone(data);
    for o in &mut all.observed {
        o.values.iter_mut().zip(weights).filter(|(_, w)| **w == 0.0).for_each(|(x, _)| *x = f64::NAN);
    }
    Arc::new(all)
}

/// How many times the smallest number observed the size of a state is at most.
const DECADES: f64 = 1e6;

/// The size of what was observed: the largest number, but where numbers span many decades one beside which the smallest is not lost in the
/// absolute tolerance, for their errors may be as small as they are.
fn observed_size(values: &[f64]) -> f64 {
    largest(values) * within_decades(values)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(0.0, f64::max)
}

/// The share of the largest number that the size is.
fn within_decades(values: &[f64]) -> f64 {
    let least = values.iter().map(|x| x.abs()).filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
    (DECADES * least / largest(values)).min(1.0)
}

/// The size of each number of the states: the largest value observed, else the largest it starts with, unless that is `lost` in rounding,
/// else that of the smallest other.
fn sizes(data: &Trajectories, layout: &Layout, lost: &[bool]) -> Vec<f64> {
    let n = lost.len();
    let mut sizes = vec![0.0f64; n];
    for o in data.observed.iter().filter(|o| o.component < n) {
        sizes[o.component] = observed_size(&o.values);
    }
    let computed = data.formula.as_ref().and_then(|f| f.with(layout).at(&layout.start, false).ok());
    let begins = |t: &Trajectory, k: usize| match t.start[k] {
        Start::Value(x) => x.abs(),
        Start::Free(j) => layout.start[j].abs(),
        Start::Computed(c) => computed.as_ref().and_then(|found| found.get(t.start_row, c)).map_or(0.0, f64::abs),
    };
    // What is observed of such states may be as small as they are.
    let share = data.observed.iter().filter(|o| o.component >= n).map(|o| within_decades(&o.values)).fold(1.0, f64::min);
    for (k, size) in sizes.iter_mut().enumerate().filter(|(k, s)| **s == 0.0 && !lost[*k]) {
        *size = share * data.all.iter().map(|t| begins(t, k)).filter(|x| x.is_finite()).fold(0.0, f64::max);
    }
    let least = sizes.iter().copied().filter(|s| *s > 0.0).reduce(f64::min).unwrap_or(1.0);
    sizes.into_iter().map(|s| if s > 0.0 { s } else { least }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fills rows of weight 0 is no size of an observable either, beside which no derivative would be too large.
    #[test]
    fn rows_that_do_not_count_have_no_size() {
        let text = "(param k 0.3) (state x 1) (derive x (- (* k x))) (observe y (* 3 x))";
        let program = neural_compiler::compile(text, &neural_compiler::Options::default()).expect("a model");
        let columns = [("t", [0.0, 1.0, 2.0]), ("y", [2.9, 1e20, 1.7]), ("w", [1.0, 0.0, 1.0])];
        let table = Table::new(columns.map(|(name, x)| (name.to_string(), x.to_vec()))).expect("a table");
        let options = Options { weights_column: Some("w".into()), ..Options::default() };
        let prepared = Prepared::new(&program, &table, &options, &Arc::default(), true).expect("a problem");
        let problem = prepared.problem(&prepared.solver, &prepared.layout, &[1.0], false);
        assert_eq!(problem.sizes[1..], [2.9]);
    }
}
