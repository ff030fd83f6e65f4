//! The model's lines. In: a model, the data it was fitted to and what they lie along; out: a line for each trajectory, through many points
//! where the model can be asked between the data, else from row to row. Points are added where the line bends, until the eye sees none of
//! its corners.

use super::Look;
use crate::data::table::Table;
use crate::forecast::bands::{Band, Ends, bands};
use crate::forecast::known::Known;
use crate::options::Options;
use crate::predict::predict;
use crate::report::Axis;
use neural_compiler::Program;
use neural_compiler::syntax::ast::{InputKind, ModelKind};

/// Points to begin with, besides those at the data.
const POINTS: usize = 200;
/// Points at most.
const MOST: usize = 6000;
/// Times points are added.
const ROUNDS: usize = 14;
/// A corner that is seen, as a part of the height of the picture.
const SEEN: f64 = 1e-3;

/// A line of the model: where its points are along the axis, and the targets there.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Along the axis.
    pub along: Vec<f64>,
    /// Target by target.
    pub targets: Vec<Vec<f64>>,
    /// The first row of the data it belongs to.
    pub row: Option<usize>,
    /// For each target where the line lies with 95 %, and where an observation does; `None`: nobody knows.
    pub bands: Vec<Option<(Ends, Ends)>>,
}

/// The lines of a model with the values in `options`, over the axis its rows lie along.
pub fn lines(
    (program, table, options): (&Program, &Table, &Options<'_>),
    axis: &Axis,
    targets: &[String],
    predicted: &[f64],
    look: &Look,
    known: Option<&Known>,
) -> Vec<Line> {
    let options = Options { cancel: None, progress: None, holdout: None, ..options.clone() };
    let of_rows = || known.and_then(|k| bands(program, table, &options, k).ok());
    let between = can_be_asked_between(program, axis);
    let line = |rows: Vec<usize>| {
        let fine = if between { finely((program, table, &options), axis, targets, &rows, look, known) } else { None };
        fine.unwrap_or_else(|| from_row_to_row(axis, targets, predicted, rows, of_rows().as_deref()))
    };
    trajectories(axis).into_iter().map(line).collect()
}

/// Not where it takes steps, and no formula that needs other columns, which are known in the rows only.
fn can_be_asked_between(program: &Program, axis: &Axis) -> bool {
    match program.kind() {
        ModelKind::Expression => program.inputs().iter().filter(|i| from_data(&i.kind)).all(|i| i.name == axis.name),
        ModelKind::Derivatives => true,
        ModelKind::Map => false,
    }
}

fn from_data(kind: &InputKind) -> bool {
    matches!(kind, InputKind::Free | InputKind::Declared)
}

/// A column between rows, as the solver has it: linear in the time.
fn between_rows(axis: &Axis, rows: &[usize], column: &[f64], at: f64) -> f64 {
    let next = rows.partition_point(|&i| axis.values[i] <= at);
    let (Some(&a), after) = (rows.get(next.saturating_sub(1)), rows.get(next)) else { return f64::NAN };
    match after {
        Some(&b) if next > 0 => column[a] + (column[b] - column[a]) * ((at - axis.values[a]) / (axis.values[b] - axis.values[a])),
        _ => column[a],
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

/// Targets at some points along the axis, target by target.
type Values = Vec<Vec<f64>>;

/// The model asked at many points between the first and the last of these rows; inputs are linear between rows, everything else (where a
/// trajectory begins, which group it is) is as in the first.
fn finely(
    (program, table, options): (&Program, &Table, &Options<'_>),
    axis: &Axis,
    targets: &[String],
    rows: &[usize],
    look: &Look,
    known: Option<&Known>,
) -> Option<Line> {
    let (&first, &last) = (rows.first()?, rows.last()?);
    let (begin, end) = (axis.values[first], axis.values[last]);
    // Numbers of vectors have columns of their own: `u[0]`.
    let is_input = |name: &&String| program.inputs().iter().any(|i| from_data(&i.kind) && i.name == name.split('[').next().unwrap_or(name));
    let inputs: Vec<String> = table.names().iter().filter(is_input).cloned().collect();
    let table_at = |along: &[f64]| -> Option<Table> {
        let column = |name: &String| {
            let given = table.column(name).unwrap_or(&[]);
            if *name == axis.name {
                along.to_vec()
            } else if given.is_empty() || !inputs.contains(name) {
                vec![given.get(first).copied().unwrap_or(f64::NAN); along.len()]
            } else {
                along.iter().map(|at| between_rows(axis, rows, given, *at)).collect()
            }
        };
        Some(Table::new(table.names().iter().map(|n| (n.clone(), column(n)))).ok()?.labelled_as(table))
    };
    let ask = |along: &[f64]| -> Option<Values> {
        let found = predict(program, &table_at(along)?, options).ok()?;
        let observed = found.iter().filter(|(n, _)| n.ends_with(".predicted")).count();
        let target = |(k, name): (usize, &String)| {
            let by_name = found.iter().find(|(n, _)| n.strip_suffix(".predicted") == Some(name));
            // Behind what is observed by name, a formula's own value.
            let own = || found.get(k.max(observed)).filter(|_| program.kind() == ModelKind::Expression);
            by_name.or_else(own).map(|(_, c)| c.clone())
        };
        let values: Values = targets.iter().enumerate().map(target).collect::<Option<_>>()?;
        values.iter().flatten().all(|x| x.is_finite()).then_some(values)
    };
    let even = (0..POINTS).map(|k| begin + (end - begin) * k as f64 / (POINTS - 1) as f64);
    let by_powers = look.log_x && begin > 0.0;
    let by_powers = (0..if by_powers { POINTS } else { 0 }).map(|k| begin * (end / begin).powf(k as f64 / (POINTS - 1) as f64));
    let mut along: Vec<f64> = even.chain(by_powers).chain(rows.iter().map(|&i| axis.values[i])).map(|x| x.clamp(begin, end)).collect();
    along.sort_by(f64::total_cmp);
    along.dedup();
    if along.len() > MOST {
        // As many data as points: every one of them is there, and more would not be seen.
        let values = ask(&along)?;
        return Some(Line { along, targets: values, row: Some(first), bands: vec![None; targets.len()] });
    }
    let mut values = ask(&along)?;
    // Whether something may be hidden between a point and the next.
    let mut open = vec![true; along.len().saturating_sub(1)];
    for _ in 0..ROUNDS {
        let (more, added) = halved(&along, &open);
        if added == 0 || more.len() > MOST {
            break;
        }
        let Some(found) = ask(&more) else { break };
        open = bends(&more, &along, &found, look);
        (along, values) = (more, found);
    }
    let found = known.and_then(|k| bands(program, &table_at(&along)?, options, k).ok());
    let bands = of_targets(found.as_deref(), targets, &(0..along.len()).collect::<Vec<_>>());
    Some(Line { along, targets: values, row: Some(first), bands })
}

/// The bands of targets in some rows.
fn of_targets(found: Option<&[Band]>, targets: &[String], rows: &[usize]) -> Vec<Option<(Ends, Ends)>> {
    let mut own = found.into_iter().flatten().filter(|b| b.name.split('[').next() == Some("prediction"));
    let mut one = |name: &String| {
        let by_name = found.into_iter().flatten().find(|b| b.name == *name);
        let band = by_name.or_else(|| own.next())?;
        let pick = |ends: &Ends| -> Ends { (rows.iter().map(|&i| ends.0[i]).collect(), rows.iter().map(|&i| ends.1[i]).collect()) };
        Some((pick(&band.confidence), pick(&band.prediction)))
    };
    targets.iter().map(&mut one).collect()
}

/// The points, and one in the middle of every interval that is open; and how many those are.
fn halved(along: &[f64], open: &[bool]) -> (Vec<f64>, usize) {
    let mut more = Vec::with_capacity(2 * along.len());
    for (pair, open) in along.windows(2).zip(open) {
        more.push(pair[0]);
        let middle = 0.5 * pair[0] + 0.5 * pair[1];
        if *open && pair[0] < middle && middle < pair[1] {
            more.push(middle);
        }
    }
    more.extend(along.last());
    let added = more.len() - along.len();
    (more, added)
}

/// Which intervals to look into: those beside a point, new since `before`, that lies off the line between its neighbours.
fn bends(along: &[f64], before: &[f64], values: &Values, look: &Look) -> Vec<bool> {
    let mut open = vec![false; along.len().saturating_sub(1)];
    for target in values {
        let up: Vec<f64> = target.iter().map(|y| if look.log_y { y.max(f64::MIN_POSITIVE).log10() } else { *y }).collect();
        let (low, high) = up.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        let seen = SEEN * (high - low);
        let mut old = before.iter().peekable();
        for k in 0..along.len() {
            let is_old = old.next_if(|x| **x == along[k]).is_some();
            if !is_old && k > 0 && k + 1 < along.len() && (up[k] - 0.5 * (up[k - 1] + up[k + 1])).abs() > seen {
                // What bends here may go on bending beside it.
                (k.saturating_sub(2)..(k + 2).min(open.len())).for_each(|i| open[i] = true);
            }
        }
    }
    open
}

fn from_row_to_row(axis: &Axis, targets: &[String], predicted: &[f64], rows: Vec<usize>, found: Option<&[Band]>) -> Line {
    let count = axis.values.len();
    let bands = of_targets(found, targets, &rows);
    let targets = (0..targets.len()).map(|t| rows.iter().map(|&i| predicted[t * count + i]).collect()).collect();
    Line { along: rows.iter().map(|&i| axis.values[i]).collect(), targets, row: rows.first().copied(), bands }
}
