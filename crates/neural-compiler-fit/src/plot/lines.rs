//! The model's lines. In: a model, the data it was fitted to and what they lie along; out: a line for each trajectory, through many points
//! where the model can be asked between the data, else from row to row.

use crate::options::Options;
use crate::predict::predict;
use crate::report::Axis;
use crate::table::Table;
use neural_compiler::Program;
use neural_compiler::syntax::ast::{InputKind, ModelKind};

/// Points of a line between the data.
const POINTS: usize = 400;

/// A line of the model: where its points are along the axis, and the targets there.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Along the axis.
    pub along: Vec<f64>,
    /// Target by target.
    pub targets: Vec<Vec<f64>>,
}

/// The lines of a model with the values in `options`, over the axis its rows lie along.
pub fn lines(program: &Program, table: &Table, options: &Options<'_>, axis: &Axis, targets: &[String], predicted: &[f64]) -> Vec<Line> {
    let options = Options { cancel: None, progress: None, holdout: None, ..options.clone() };
    let between = can_be_asked_between(program, axis);
    let line = |rows: Vec<usize>| {
        let fine = if between { finely(program, table, &options, axis, targets, &rows) } else { None };
        fine.unwrap_or_else(|| from_row_to_row(axis, targets.len(), predicted, rows))
    };
    trajectories(axis).into_iter().map(line).collect()
}

/// Not where it takes steps, and not where it needs other columns, which are known in the rows only.
fn can_be_asked_between(program: &Program, axis: &Axis) -> bool {
    let from_data = |kind: &InputKind| matches!(kind, InputKind::Free | InputKind::Declared);
    let mut needed = program.inputs().iter().filter(|i| from_data(&i.kind)).map(|i| &i.name);
    match program.kind() {
        ModelKind::Expression => needed.all(|n| *n == axis.name),
        ModelKind::Derivatives => needed.all(|n| *n == axis.name || n == "t"),
        ModelKind::Map => false,
    }
}

/// The rows of each trajectory, in the order of what they lie along.
fn trajectories(axis: &Axis) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new(); axis.trajectory.iter().copied().max().unwrap_or(0) + 1];
    let there = (0..axis.values.len()).filter(|&i| axis.values[i].is_finite());
    there.for_each(|i| all[axis.trajectory.get(i).copied().unwrap_or(0)].push(i));
    all.iter_mut().for_each(|rows| rows.sort_by(|a, b| axis.values[*a].total_cmp(&axis.values[*b])));
    all.retain(|rows| !rows.is_empty());
    all
}

/// The model asked at many points between the first and the last of these rows; everything else (where a trajectory begins, which group it
/// is) is as in the first.
fn finely(program: &Program, table: &Table, options: &Options<'_>, axis: &Axis, targets: &[String], rows: &[usize]) -> Option<Line> {
    let (&first, &last) = (rows.first()?, rows.last()?);
    let (begin, end) = (axis.values[first], axis.values[last]);
    let along: Vec<f64> = (0..POINTS).map(|k| begin + (end - begin) * k as f64 / (POINTS - 1) as f64).collect();
    let column = |name: &String| if *name == axis.name { along.clone() } else { vec![table.column(name).map_or(f64::NAN, |c| c[first]); POINTS] };
    let asked = Table::new(table.names().iter().map(|n| (n.clone(), column(n)))).ok()?;
    let found = predict(program, &asked, options).ok()?;
    let target = |(k, name): (usize, &String)| match program.kind() {
        ModelKind::Expression => found.get(k).map(|(_, c)| c.clone()),
        _ => found.iter().find(|(n, _)| n.strip_suffix(".predicted") == Some(name)).map(|(_, c)| c.clone()),
    };
    let targets: Vec<Vec<f64>> = targets.iter().enumerate().map(target).collect::<Option<_>>()?;
    targets.iter().flatten().all(|x| x.is_finite()).then_some(Line { along, targets })
}

fn from_row_to_row(axis: &Axis, targets: usize, predicted: &[f64], rows: Vec<usize>) -> Line {
    let count = axis.values.len();
    let targets = (0..targets).map(|t| rows.iter().map(|&i| predicted[t * count + i]).collect()).collect();
    Line { along: rows.iter().map(|&i| axis.values[i]).collect(), targets }
}
