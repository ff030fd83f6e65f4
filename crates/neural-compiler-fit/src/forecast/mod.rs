//! Everything a model says of a row. In: a program at some values of its parameters, a table; out: for every quantity it predicts the
//! prediction, the arguments of the distribution of its observations, and how these move with the parameters. What rows of a table lack an
//! input is NaN. `known` is what a fit knows of its parameters, `bands` how sure predictions are, `distribution` what is to be expected of
//! an observation.

pub(crate) mod bands;
pub(crate) mod distribution;
pub(crate) mod known;

use crate::algebraic::{Algebraic, Engines};
use crate::data::bind;
use crate::data::table::Table;
use crate::dynamics::differences;
use crate::dynamics::prepared::Prepared;
use crate::dynamics::problem::{Dynamics, Point};
use crate::fit::wrong;
use crate::likelihood::groups::{self, Grouping};
use crate::model::layout::{Layout, element_names};
use crate::optimise::{Residuals, Unusable};
use crate::options::Options;
use crate::support::threads;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::syntax::distributions::Distribution;
use neural_compiler::{Diagnostics, Program, Shape};
use std::sync::Arc;

/// A quantity that is predicted.
pub(crate) struct Quantity {
    /// What the column that observes it is called; the number of a formula's own value.
    pub(crate) name: Name,
    /// Its number among those of the model.
    location: usize,
    /// The declared distribution of its observations, and the numbers that are its arguments.
    pub(crate) noise: Option<(&'static Distribution, Vec<usize>)>,
}

/// What a quantity is called.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Name {
    /// By the model.
    Given(String),
    /// The value of a formula, whose column has any name: which of its numbers, and what predictions call it.
    Own(usize, String),
}

/// Predictions of all rows.
pub(crate) struct Forecast {
    pub(crate) quantities: Vec<Quantity>,
    /// The parameters of the model as they are called in each group, and the group of each row.
    pub(crate) names: Vec<Vec<String>>,
    pub(crate) group: Vec<usize>,
    /// Every number of the model, row by row of the table.
    numbers: Vec<Vec<f64>>,
    /// How each number moves with the parameters, parameter by parameter, row by row; empty where it was not asked for.
    moves: Vec<Vec<Vec<f64>>>,
}

impl Forecast {
    /// The predictions of a quantity.
    pub(crate) fn location(&self, quantity: usize) -> &[f64] {
        &self.numbers[self.quantities[quantity].location]
    }

    /// The arguments of its distribution.
    pub(crate) fn arguments(&self, quantity: usize) -> Vec<&[f64]> {
        self.quantities[quantity].noise.iter().flat_map(|n| &n.1).map(|&a| &self.numbers[a][..]).collect()
    }

    /// How the prediction of a quantity for a row moves with the parameters.
    pub(crate) fn gradient(&self, quantity: usize, row: usize) -> Vec<f64> {
        self.moves[self.quantities[quantity].location].iter().map(|of| of[row]).collect()
    }

    /// The quantity a column observes, `own` being its place among columns that nothing else explains.
    pub(crate) fn find(&self, column: &str, own: usize) -> Option<usize> {
        let by_name = self.quantities.iter().position(|q| q.name == Name::Given(column.to_string()));
        by_name.or_else(|| self.quantities.iter().position(|q| matches!(q.name, Name::Own(k, _) if k == own)))
    }
}

/// The quantities of a program. `first`: the place of its observables among the numbers of the model; `count`: how many numbers there are.
fn quantities(program: &Program, first: usize, count: usize) -> Vec<Quantity> {
    let mut all = Vec::new();
    let mut at = first;
    let names = program.observables().map_or(&[][..], |o| o.0);
    for ((name, shape), noise) in names.iter().zip(program.noise()) {
        for (k, element) in element_names(name, *shape).into_iter().enumerate() {
            let place = |(a, of): &(usize, Shape)| first + a + if *of == Shape::Scalar { 0 } else { k };
            let noise = noise.as_ref().map(|n| (n.distribution, n.arguments.iter().map(place).collect()));
            all.push(Quantity { name: Name::Given(element), location: at + k, noise });
        }
        at += shape.len();
    }
    let own = match program.observables().filter(|o| !o.0.is_empty()) {
        Some(_) => program.own_value(),
        None => Some(0),
    };
    if let Some(own) = own.filter(|_| program.kind() == ModelKind::Expression) {
        let size = count - own;
        let shape = if size == 1 { Shape::Scalar } else { Shape::Vector(size as u32) };
        let called = element_names("prediction", shape).into_iter().enumerate();
        all.extend(called.map(|(k, name)| Quantity { name: Name::Own(k, name), location: own + k, noise: None }));
    }
    all
}

fn failed(e: Unusable) -> Diagnostics {
    wrong("no-prediction", e.0)
}

/// Groups of rows, with the parameters of each and what these are called.
struct Groups {
    rows: Vec<Vec<usize>>,
    theta: Vec<Vec<f64>>,
    names: Vec<Vec<String>>,
    of_row: Vec<usize>,
}

impl Groups {
    fn new(program: &Program, layout: &Layout, table: &Table, options: &Options<'_>) -> Result<Groups, Diagnostics> {
        let Some(grouping) = Grouping::new(layout, table)? else {
            let (rows, of_row) = (vec![(0..table.rows()).collect()], vec![0; table.rows()]);
            return Ok(Groups { rows, theta: vec![layout.start.clone()], names: vec![layout.names.clone()], of_row });
        };
        let known = crate::predict::known(program, options)?;
        let count = grouping.labels.len();
        let name = |g: usize, j: usize| match grouping.local.contains(&j) {
            true => groups::named(&layout.names[j], &grouping.labels[g]),
            false => layout.names[j].clone(),
        };
        Ok(Groups {
            rows: (0..count).map(|g| (0..table.rows()).filter(|&row| grouping.of_row[row] == g).collect()).collect(),
            theta: (0..count).map(|g| grouping.given(layout, g, &known)).collect::<Result<_, _>>()?,
            names: (0..count).map(|g| (0..layout.len()).map(|j| name(g, j)).collect()).collect(),
            of_row: grouping.of_row,
        })
    }
}

/// Values and derivatives of some numbers of the model, put into their rows.
struct Sheet<'f> {
    numbers: &'f mut [Vec<f64>],
    moves: &'f mut [Vec<Vec<f64>>],
}

impl Sheet<'_> {
    /// `places`: the number and the row of each residual of a problem.
    fn put(&mut self, problem: &dyn Residuals, theta: &[f64], places: &[(usize, usize)]) -> Result<(), Unusable> {
        let (m, p) = (problem.count(), problem.parameters());
        let mut values = vec![0.0; m];
        let mut jacobian = vec![0.0; if self.moves.is_empty() { 0 } else { m * p }];
        problem.evaluate(theta, &mut values, (!self.moves.is_empty()).then_some(&mut jacobian))?;
        for (i, &(number, row)) in places.iter().enumerate() {
            self.numbers[number][row] = values[i];
            if let Some(moves) = self.moves.get_mut(number) {
                (0..p).for_each(|j| moves[j][row] = jacobian[j * m + i]);
            }
        }
        Ok(())
    }
}

/// Everything the model says of every row; `moving`: and how that moves with the parameters.
pub(crate) fn forecast(program: &Program, table: &Table, options: &Options<'_>, moving: bool) -> Result<Forecast, Diagnostics> {
    match program.kind() {
        ModelKind::Expression => of_formula(program, table, options, moving),
        ModelKind::Derivatives | ModelKind::Map => of_states(program, table, options, moving),
    }
}

/// Room for so many numbers of so many rows, nothing of which is known.
fn blank(count: usize, parameters: usize, rows: usize, moving: bool) -> (Vec<Vec<f64>>, Vec<Vec<Vec<f64>>>) {
    let column = || vec![f64::NAN; rows];
    let moves = (0..if moving { count } else { 0 }).map(|_| (0..parameters).map(|_| column()).collect());
    ((0..count).map(|_| column()).collect(), moves.collect())
}

fn of_formula(program: &Program, table: &Table, options: &Options<'_>, moving: bool) -> Result<Forecast, Diagnostics> {
    let predictors = program.observables().map_or(program, |o| o.1);
    let layout = Arc::new(Layout::new(predictors, &options.values)?);
    let bound = bind::algebraic(predictors, table, options)?;
    let graph = predictors.specialise(&bound.shapes)?;
    let (count, rows) = (graph.outputs()[0].len(), table.rows());
    let there = |row: &usize| bound.columns.iter().flat_map(|c| c.chunks(rows)).all(|part| part[*row].is_finite());
    let complete: Vec<bool> = (0..rows).map(|row| there(&row)).collect();
    let engines = Arc::new(Engines::new(&graph, &layout));
    let model = Algebraic::new(engines, layout.clone(), bound.columns, vec![0.0; count * rows], vec![], threads::count(options.threads));
    let groups = Groups::new(program, &layout, table, options)?;
    let (mut numbers, mut moves) = blank(count, layout.len(), rows, moving);
    for (own, theta) in groups.rows.iter().zip(&groups.theta) {
        let own: Vec<usize> = own.iter().copied().filter(|&row| complete[row]).collect();
        if own.is_empty() {
            continue;
        }
        let places: Vec<(usize, usize)> = (0..count).flat_map(|number| own.iter().map(move |&row| (number, row))).collect();
        Sheet { numbers: &mut numbers, moves: &mut moves }.put(&model.part(&own).for_a_moment(), theta, &places).map_err(failed)?;
    }
    let quantities = quantities(program, 0, count);
    Ok(Forecast { quantities, names: groups.names, group: groups.of_row, numbers, moves })
}

fn of_states(program: &Program, table: &Table, options: &Options<'_>, moving: bool) -> Result<Forecast, Diagnostics> {
    let by = groups::column(&Layout::new(program, &options.values)?)?.map(String::from);
    let options = &Options { holdout: None, group: options.group.clone().or(by), ..options.clone() };
    let prepared = Prepared::new(program, table, options, &Arc::default(), false)?;
    let groups = Groups::new(program, &prepared.layout, table, options)?;
    let problem = Dynamics::new(prepared.solver.clone(), prepared.layout.clone(), prepared.data.clone(), |_, _| 0.0);
    let size = prepared.solver.size;
    let count = size + prepared.solver.observables();
    let (mut numbers, mut moves) = blank(count, prepared.layout.len(), table.rows(), moving);
    for (g, theta) in groups.theta.iter().enumerate() {
        let own = prepared.data.all.iter().enumerate().filter(|(_, t)| t.rows.first().is_some_and(|&row| groups.of_row[row] == g));
        let own: Vec<usize> = own.map(|(k, _)| k).collect();
        let mut part = problem.part(&own);
        let mut points = Vec::new();
        for (trajectory, t) in part.data.all.iter().enumerate() {
            for (&row, &at) in t.rows.iter().zip(&t.at) {
                points.extend((0..count).map(|component| Point { trajectory, at, row, component, column: 0, value: 0.0, weight: 1.0 }));
            }
        }
        let places: Vec<(usize, usize)> = points.iter().map(|p| (p.component, p.row)).collect();
        part.points = points;
        part.by_differences = moving && differences::needed(&part, &prepared.field.law.graph, theta);
        Sheet { numbers: &mut numbers, moves: &mut moves }.put(&part, theta, &places).map_err(failed)?;
    }
    let mut all = quantities(program, size, count);
    for state in &prepared.field.states {
        for (k, name) in element_names(&state.name, state.shape).into_iter().enumerate() {
            // A state that is observed under its own name is one quantity.
            if all.iter().all(|q| q.name != Name::Given(name.clone())) {
                all.push(Quantity { name: Name::Given(name), location: state.at + k, noise: None });
            }
        }
    }
    Ok(Forecast { quantities: all, names: groups.names, group: groups.of_row, numbers, moves })
}
