//! Trajectories at given values: predictions for the rows of a table, and simulations of many sets of values. In: a model, rows with times
//! and inputs, values; out: states and observables at every row.
//! Invariant: what is told does not depend on how accurately it was computed, but for digits that are those of rounding, unless the caller
//! has said how accurately that is to be.

use super::check::TIGHTER;
use super::ensemble::{self, Ensemble, Given};
use super::prepared::Prepared;
use super::problem::Dynamics;
use super::solver::{ENDS, MOST_ALONE, MOST_STEPS, Solver, TOO_MANY};
use crate::data::table::Table;
use crate::fit::{no_constants, wrong};
use crate::likelihood::groups::{self, Grouping};
use crate::model::layout::{Layout, Values, element_names};
use crate::optimise::Unusable;
use crate::options::Options;
use crate::predict::Told;
use crate::support::threads;
use neural_compiler::ode::Scheme;
use neural_compiler::syntax::ast::{Input, InputKind, ModelKind, StateStart};
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use std::sync::Arc;

/// Trajectories of some sets of values.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulation {
    /// What the time is called.
    pub time: String,
    /// The time of each row.
    pub times: Vec<f64>,
    /// Sets of values.
    pub sets: usize,
    /// States and observables by name.
    pub quantities: Vec<(String, Shape)>,
    /// Their numbers: all of a row one after another, row by row, set by set.
    pub values: Vec<f64>,
    /// What could not be made sure of.
    pub warnings: Vec<String>,
}

impl Simulation {
    /// The names of all numbers of a row.
    pub fn names(&self) -> Vec<String> {
        self.quantities.iter().flat_map(|(name, shape)| element_names(name, *shape)).collect()
    }

    /// One number of all rows of all sets.
    pub fn column(&self, number: usize) -> Vec<f64> {
        let width = self.quantities.iter().map(|q| q.1.len()).sum();
        self.values.iter().skip(number).step_by(width).copied().collect()
    }
}

/// States and observables of a model, with where their numbers are in a solution.
fn quantities(program: &Program, prepared: &Prepared) -> (Vec<(String, Shape)>, Vec<usize>) {
    let states = &prepared.field.states;
    let mut all: Vec<(String, Shape)> = states.iter().map(|s| (s.name.clone(), s.shape)).collect();
    let mut components: Vec<usize> = states.iter().flat_map(|s| s.at..s.at + s.shape.len()).collect();
    let mut at = prepared.solver.size;
    for (name, shape) in program.observables().map_or(&[][..], |o| o.0) {
        // A state that is observed under its own name is told once.
        if states.iter().all(|s| s.name != *name) {
            all.push((name.clone(), *shape));
            components.extend(at..at + shape.len());
        }
        at += shape.len();
    }
    (all, components)
}

/// The trajectories of a group, and its parameters.
type Group = (Vec<usize>, Vec<f64>);

/// All groups.
fn of_groups(program: &Program, prepared: &Prepared, table: &Table, options: &Options<'_>) -> Result<Vec<Group>, Diagnostics> {
    let layout = &prepared.layout;
    let Some(grouping) = Grouping::new(layout, table)? else { return Ok(vec![]) };
    let known = crate::predict::known(program, options)?;
    let all = prepared.data.all.iter().enumerate();
    let own = |g: usize| all.clone().filter(|(_, t)| grouping.of_row[t.rows[0]] == g).map(|(k, _)| k).collect();
    (0..grouping.labels.len()).map(|g| Ok((own(g), grouping.given(layout, g, &known)?))).collect()
}

/// Some numbers of all trajectories, those of each group with its parameters.
fn predicted(prepared: &Prepared, problem: &Dynamics, of_groups: &[Group], numbers: &[usize]) -> Result<Vec<Vec<f64>>, Diagnostics> {
    if of_groups.is_empty() {
        return prepared.predicted(problem, &prepared.layout.start, numbers);
    }
    let mut columns = vec![vec![f64::NAN; prepared.axis.values.len()]; numbers.len()];
    for (trajectories, theta) in of_groups {
        let part = problem.part(trajectories);
        let paths = part.paths(theta).map_err(|e| crate::fit::wrong("no-prediction", e.0))?;
        for (t, path) in part.data.all.iter().zip(&paths) {
            for (&row, &at) in t.rows.iter().zip(&t.at) {
                numbers.iter().zip(&mut columns).for_each(|(&c, column)| column[row] = path.states[at][c]);
            }
        }
    }
    Ok(columns)
}

/// The states at every row, at the declared values of the parameters, and what could not be made sure of.
pub(crate) fn predict(program: &Program, table: &Table, options: &Options<'_>) -> Result<Told, Diagnostics> {
    let by = groups::column(&Layout::new(program, &options.values)?)?.map(String::from);
    let options = &Options { holdout: None, group: options.group.clone().or(by), ..crate::predict::begun(program, options)? };
    let prepared = Prepared::new(program, table, options, &Arc::default(), false)?;
    let of_groups = of_groups(program, &prepared, table, options)?;
    let problem = Dynamics::new(prepared.solver.clone(), prepared.layout.clone(), prepared.data.clone(), |_, _| 1.0);
    let (quantities, components) = quantities(program, &prepared);
    let own =
        of_groups.iter().flat_map(|(trajectories, theta)| problem.part(trajectories).sizes_with_starts(theta).into_iter().enumerate());
    let mut sizes = problem.sizes_with_starts(&prepared.layout.start);
    own.for_each(|(k, size)| sizes[k] = sizes[k].min(size));
    let solver = Solver::clone(&prepared.solver).with_sizes(sizes).with_most(MOST_ALONE);
    let solve = |solver: &Solver, _: &[usize], _: usize| {
        let columns = predicted(&prepared, &problem.with(Arc::new(solver.clone())), &of_groups, &components);
        vec![columns.map(|columns| (0..table.rows()).flat_map(|row| columns.iter().map(move |c| c[row])).collect())]
    };
    let rounding = |solver: &Solver, _: usize| -> Result<Vec<f64>, Unusable> {
        let problem = problem.with(Arc::new(solver.clone()));
        let all: Vec<Vec<f64>> = match &of_groups[..] {
            [] => vec![problem.rounding(&prepared.layout.start)?],
            groups => groups.iter().map(|(own, theta)| problem.part(own).rounding(theta)).collect::<Result<_, _>>()?,
        };
        Ok(components.iter().map(|&c| all.iter().map(|one| one[c]).fold(0.0, f64::max)).collect())
    };
    let columns = settled(&solver, options, (1, components.len()), solve, rounding)?;
    let column = |k: usize| columns.iter().skip(k).step_by(components.len()).copied().collect();
    let names = quantities.iter().flat_map(|(name, shape)| element_names(name, *shape)).map(|n| format!("{n}.predicted"));
    let columns = names.enumerate().map(|(k, name)| (name, column(k))).collect();
    Ok((columns, told_of(&prepared)))
}

/// What could not be made sure of, and what inputs rows lacked.
fn told_of(prepared: &Prepared) -> Vec<String> {
    prepared.solver.doubt().into_iter().chain(prepared.data.about_inputs.iter().cloned()).collect()
}

/// Simulates a model with states. `table`: rows with their times and those inputs that are columns; `given`: values of parameters, of
/// inputs that are no columns, and of states where they start, by the names of their numbers; each one value, or one for each set.
pub fn simulate(program: &Program, table: &Table, options: &Options<'_>, given: &Given) -> Result<Simulation, Diagnostics> {
    options.check()?;
    if program.kind() == ModelKind::Expression {
        let error = Diagnostic::error("no-states", Default::default(), "the model has no states: it has a value, and no trajectories");
        return Err(error.help("`neuralc eval` computes the values of a formula for the rows of a table").into());
    }
    options.check_purpose(&[program])?;
    if table.rows() == 0 {
        return Err(wrong("no-rows", "there are no times to simulate"));
    }
    crate::saved::remember::check_doses(program, options)?;
    let sets = ensemble::sets(given)?;
    if let Some((name, _)) = given.iter().find(|g| g.1.iter().any(|x| !x.is_finite())) {
        return Err(wrong("bad-value", format!("the value of `{name}` is not finite")));
    }
    if let Some(i) = (1..given.len()).find(|&i| given[..i].iter().any(|g| g.0 == given[i].0)) {
        return Err(wrong("duplicate-input", format!("`{}` is given twice", given[i].0)));
    }
    let shape = |name: &str| program.inputs().iter().find(|i| i.name == name).and_then(|i| i.shape).unwrap_or(Shape::Scalar);
    let is_given = |name: &str| element_names(name, shape(name)).iter().all(|n| given.iter().any(|g| g.0 == *n));
    crate::saved::by_group::check(program, is_given, |name| format!("{name}=…"))?;
    let values = first_values(program, options, given);
    crate::predict::trained(program, &values)?;
    let table = with_columns(program, table, given)?;
    let options = Options { holdout: None, values, ..options.clone() };
    no_constants(program, &table, &options)?;
    threads::on(options.threads, || {
        let prepared = Prepared::new(program, &table, &options, &Arc::default(), false)?;
        let (quantities, components) = quantities(program, &prepared);
        let all = Ensemble::new(&prepared, given)?;
        let chosen = options.scheme.is_none() && prepared.solver.scheme() == Scheme::explicit();
        let implicit = chosen.then(|| prepared.implicit(&options).ok()).flatten().map(|s| s.of_ensembles());
        let once = |solver: &Solver, which: &[usize], pass: usize| all.solve(solver, which, &components, (options.progress, pass));
        let solve = |solver: &Solver, which: &[usize], pass: usize| {
            patiently(solver, implicit.as_ref(), which, |solver, which| once(solver, which, pass))
        };
        let rounding = |solver: &Solver, set: usize| all.rounding(solver, set, &components);
        let values = settled(&prepared.solver.of_ensembles(), &options, (sets, components.len()), solve, rounding)?;
        let (time, times) = (prepared.axis_name().to_string(), prepared.data.row_times.clone());
        let warnings = told_of(&prepared);
        Ok(Simulation { time, times, sets, quantities, values, warnings })
    })
}

/// The values the caller gives with the options, and over them those of the first set: the method is chosen by them.
fn first_values(program: &Program, options: &Options<'_>, given: &Given) -> Values {
    let mut values = options.values.clone();
    for input in program.inputs() {
        let InputKind::Param(info) = &input.kind else { continue };
        let shape = input.shape.unwrap_or(Shape::Scalar);
        let names = element_names(&input.name, shape);
        let before = values.iter().find(|v| v.0 == input.name).map_or_else(|| info.initial.clone(), |v| v.2.clone());
        let one = |(name, x): (&String, &f64)| given.iter().find(|g| g.0 == *name).map_or(*x, |g| g.1[0]);
        let numbers = names.iter().zip(&before).map(one).collect();
        values.retain(|v| v.0 != input.name);
        values.push((input.name.clone(), shape, numbers));
    }
    values
}

/// The table with a column for everything that is given and read from columns, the same for all rows: neither parameters nor states, unless
/// these start at their own column.
fn with_columns(program: &Program, table: &Table, given: &Given) -> Result<Table, Diagnostics> {
    let is_param = |name: &str| {
        let names = |i: &Input| element_names(&i.name, i.shape.unwrap_or(Shape::Scalar));
        let own = |i: &Input| match &i.kind {
            InputKind::Param(_) => true,
            InputKind::State(start) => *start != StateStart::Name(i.name.clone()),
            InputKind::Free | InputKind::Declared | InputKind::Weight { .. } => false,
        };
        program.inputs().iter().any(|i| own(i) && names(i).iter().any(|n| n == name))
    };
    let mut columns: Vec<(String, Vec<f64>)> = table.names().iter().map(|n| (n.clone(), table.column(n).unwrap_or(&[]).to_vec())).collect();
    for (name, values) in given.iter().filter(|g| !is_param(&g.0)) {
        if table.column(name).is_some() {
            let message = format!("`{name}` has a column and is given a value");
            return Err(Diagnostic::error("duplicate-input", Default::default(), message).help("leave one of them out").into());
        }
        columns.push((name.clone(), vec![values[0]; table.rows()]));
    }
    Ok(Table::new(columns)?)
}

/// Solutions of some sets by the method that the first set asks for; of those that it takes too many steps for by the implicit one, or by
/// more steps.
fn patiently(
    solver: &Solver,
    implicit: Option<&Solver>,
    which: &[usize],
    solve: impl Fn(&Solver, &[usize]) -> Vec<Result<Vec<f64>, Diagnostics>>,
) -> Vec<Result<Vec<f64>, Diagnostics>> {
    let mut found = solve(&solver.clone().with_most(MOST_STEPS), which);
    let alike = implicit.and_then(|other| other.finer(other.tolerance().relative / solver.tolerance().relative, 1)).map(|(other, _)| other);
    for other in alike.into_iter().chain([solver.clone().with_most(MOST_ALONE)]) {
        let open: Vec<usize> = (0..which.len()).filter(|&k| found[k].as_ref().is_err_and(|e| says(e, TOO_MANY))).collect();
        if open.is_empty() {
            break;
        }
        let sets: Vec<usize> = open.iter().map(|&k| which[k]).collect();
        open.into_iter().zip(solve(&other, &sets)).for_each(|(k, better)| found[k] = better.or_else(|_| found[k].clone()));
    }
    found
}

/// Whether an error says something.
fn says(error: &Diagnostics, what: &str) -> bool {
    error.0.iter().any(|d| d.message.contains(what))
}

/// How much tighter the last of ever tighter tolerances is, where there is no room for another [`TIGHTER`].
const LAST: f64 = 8.0;

/// Solutions that do not depend on how accurately they are computed: with ever tighter tolerances until they are told alike, every set for
/// itself. An accuracy the user asks for is the user's. What `solve` gives for some of the sets, told the number of the pass, are rows of
/// so many numbers; `rounding`: how far rounding may take each of these of a set.
fn settled(
    solver: &Solver,
    options: &Options<'_>,
    (sets, width): (usize, usize),
    solve: impl Fn(&Solver, &[usize], usize) -> Vec<Result<Vec<f64>, Diagnostics>>,
    rounding: impl Fn(&Solver, usize) -> Result<Vec<f64>, Unusable>,
) -> Result<Vec<f64>, Diagnostics> {
    let mut open: Vec<usize> = (0..sets).collect();
    let mut values = solve(solver, &open, 1);
    if options.tolerance.is_none() && solver.adaptive() {
        let (mut last, mut pass) = (solver.clone(), 1);
        let alike =
            |a: &[f64], b: &[f64], errors: &[f64]| (0..width).all(|k| told_alike(a, b, (k, width), errors.get(k).copied().unwrap_or(0.0)));
        let rougher = |last: &Solver, set: usize, pass: usize| solve(&last.finer(1.0 / LAST, 1)?.0, &[set], pass).swap_remove(0).ok();
        // Nothing but an end of the solution may look different with more accuracy.
        open.retain(|&set| values[set].as_ref().err().is_none_or(|e| says(e, ENDS)));
        while let Some((finer, _)) = last.finer(TIGHTER, 1).or_else(|| last.finer(LAST, 1)).filter(|_| !open.is_empty()) {
            pass += 1;
            let better = solve(&finer, &open, pass);
            let mut left = Vec::new();
            for (set, better) in open.into_iter().zip(better) {
                match (&values[set], better) {
                    // As many steps as may be taken do not suffice for more.
                    (_, Err(e)) if says(&e, TOO_MANY) => {}
                    // Nor are times told apart that lie so near to each other: what a rougher solution says alike is told.
                    (Ok(a), Err(e)) if !says(&e, ENDS) && rougher(&last, set, pass).is_some_and(|b| alike(&b, a, &[])) => {}
                    // What rounding makes costs derivatives, and few need it.
                    (Ok(a), Ok(b)) if alike(a, &b, &[]) || rounding(&finer, set).is_ok_and(|errors| alike(a, &b, &errors)) => {}
                    (_, better) => {
                        let goes_on = better.as_ref().err().is_none_or(|e| says(e, ENDS));
                        values[set] = better;
                        left.extend(goes_on.then_some(set));
                    }
                }
            }
            (open, last) = (left, finer);
        }
        if open.iter().any(|&set| values[set].is_ok()) && values.iter().all(Result::is_ok) {
            let message = "the solution depends on how accurately it is computed, however accurately that is";
            let help = "a solution that is chaotic, or ends near the last time, cannot be told so far ahead; \
                        a relative tolerance of your own (rtol) takes it as it comes";
            return Err(Diagnostic::error("no-prediction", Default::default(), message).help(help).into());
        }
    }
    let values: Vec<Vec<f64>> = values.into_iter().collect::<Result<_, Diagnostics>>()?;
    Ok(values.concat())
}

/// The share of the largest value by which two solutions of a state may differ and be told alike.
const ALIKE: f64 = 1e-5;

/// Whether one of the numbers of every row is told alike by two solutions, each of which rounding may take so far.
fn told_alike(a: &[f64], b: &[f64], (number, width): (usize, usize), rounding: f64) -> bool {
    let of = |all: &'_ [f64]| all.iter().skip(number).step_by(width).copied().collect::<Vec<f64>>();
    let (a, b) = (of(a), of(b));
    let largest = b.iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
    a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits() || (a - b).abs() <= (ALIKE * largest).max(rounding))
}
