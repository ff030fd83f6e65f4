//! Rows become trajectories. In: a table; out: for each group its times, its forcing, where its states start and what was observed.
//! Invariants: times rise within a trajectory; missing observations are NaN, everything else is finite.

use super::field::Field;
use crate::layout::{Layout, element_names};
use crate::table::Table;
use neural_compiler::syntax::ast::{InputKind, StateStart};
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};

/// Where a number of a state starts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Start {
    /// At a known value.
    Value(f64),
    /// At a parameter that is fitted.
    Free(usize),
}

/// One trajectory.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// The rows of the table.
    pub rows: Vec<usize>,
    /// Their times.
    pub times: Vec<f64>,
    /// Forcing at each row: all its numbers in the order of the inputs.
    pub forcing: Vec<Vec<f64>>,
    /// Where each number of the states starts.
    pub start: Vec<Start>,
}

/// A column of observations.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its name.
    pub name: String,
    /// The number of the states it observes.
    pub component: usize,
    /// The state that number belongs to.
    pub state: usize,
    /// Its values, row by row of the table; NaN where there is none.
    pub values: Vec<f64>,
    /// The state starts at the first observation, which therefore explains nothing.
    pub starts_here: bool,
}

/// All of them.
pub struct Trajectories {
    /// One per group.
    pub all: Vec<Trajectory>,
    /// One per observed number of the states.
    pub observed: Vec<Observed>,
}

impl Trajectories {
    /// Whether all columns have one scale: their errors are known, or they belong to one state.
    pub fn one_scale(&self, known: bool) -> bool {
        known || self.observed.windows(2).all(|w| w[0].state == w[1].state)
    }
}

fn error(code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, Default::default(), message)
}

/// The name of the column of times: as given, or `t` or `time`.
pub fn time_column(table: &Table, given: Option<&str>) -> Option<String> {
    match given {
        Some(name) => Some(name.to_string()),
        None => ["t", "time"].iter().find(|n| table.column(n).is_some()).map(|n| n.to_string()),
    }
}

/// Reads the trajectories of a model. `time`: the column of times; without one, rows are one step apart. `fitting`: a table without any
/// observation is a mistake.
pub fn read(
    program: &Program,
    field: &Field,
    layout: &Layout,
    table: &Table,
    time: Option<&str>,
    group: Option<&str>,
    fitting: bool,
) -> Result<Trajectories, Diagnostics> {
    let mut errors: Vec<Diagnostic> = Vec::new();
    let need = |name: &str, errors: &mut Vec<Diagnostic>| -> Vec<f64> {
        if let Err(e) = table.finite(name) {
            errors.push(e);
        }
        table.column(name).map(<[f64]>::to_vec).unwrap_or_else(|| vec![0.0; table.rows()])
    };
    let times = match time {
        Some(name) => need(name, &mut errors),
        None => (0..table.rows()).map(|i| i as f64).collect(),
    };
    let groups = group.map(|g| need(g, &mut errors));
    let forcing: Vec<Vec<f64>> = field.forcing.iter().flat_map(|f| element_names(&f.name, f.shape)).map(|n| need(&n, &mut errors)).collect();
    let mut starts: Vec<Source> = Vec::new();
    let mut observed: Vec<Observed> = Vec::new();
    for (number, state) in field.states.iter().enumerate() {
        let InputKind::State(start) = &program.inputs()[state.input].kind else { continue };
        let names = element_names(&state.name, state.shape);
        let mut at_column = false;
        match start {
            StateStart::Value(values) => starts.extend(values.iter().map(|v| Source::Value(*v))),
            StateStart::Name(name) => match layout.shared.iter().find(|s| s.name == *name) {
                Some(shared) if shared.shape == state.shape => {
                    let one = |k: usize| shared.at.map_or(Source::Value(shared.initial[k]), |at| Source::Free(at + k));
                    starts.extend((0..state.shape.len()).map(one));
                }
                Some(shared) => {
                    errors.push(error("shape-mismatch", format!("the state `{}` is a {}, its start `{name}` a {}", state.name, state.shape, shared.shape)))
                }
                None => {
                    at_column = *name == state.name;
                    starts.extend(element_names(name, state.shape).iter().map(|n| Source::Column(need_first(table, n, &mut errors))));
                }
            },
        }
        let there = names.iter().filter(|n| table.column(n).is_some()).count();
        for (k, name) in names.into_iter().enumerate() {
            let Some(column) = table.column(&name) else {
                if there > 0 && state.shape != Shape::Scalar {
                    errors.push(table.missing(&name));
                }
                continue;
            };
            if let Some(i) = column.iter().position(|x| x.is_infinite()) {
                errors.push(error("bad-value", format!("row {}, column `{name}`: the value is infinite", i + 1)));
            }
            observed.push(Observed { name, component: state.at + k, state: number, values: column.to_vec(), starts_here: at_column });
        }
    }
    if fitting && observed.is_empty() && errors.is_empty() {
        let list = field.states.iter().map(|s| format!("`{}`", s.name)).collect::<Vec<_>>().join(", ");
        errors.push(error("no-target", format!("no column of the data observes a state ({list})")).help("name the columns like the states they observe"));
    }
    for o in observed.iter().filter(|_| fitting) {
        if o.values.iter().all(|x| x.is_nan()) {
            errors.push(error("no-target", format!("the column `{}` has no value at all", o.name)));
        }
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let mut order: Vec<(f64, Vec<usize>)> = Vec::new();
    for row in 0..table.rows() {
        let key = groups.as_ref().map_or(0.0, |g| g[row]);
        match order.iter_mut().find(|o| o.0 == key) {
            Some(o) => o.1.push(row),
            None => order.push((key, vec![row])),
        }
    }
    let mut all = Vec::new();
    for (_, rows) in order {
        for pair in rows.windows(2) {
            if times[pair[1]] <= times[pair[0]] {
                let name = time.unwrap_or("time");
                let hint = if group.is_none() {
                    "are there several trajectories? name the column that tells them apart with --group"
                } else {
                    "sort the rows by time"
                };
                let message = format!("row {}, column `{name}`: the time {} does not come after {}", pair[1] + 1, times[pair[1]], times[pair[0]]);
                return Err(error("times-not-rising", message).help(hint).into());
            }
        }
        let start = starts
            .iter()
            .map(|s| match s {
                Source::Value(v) => Ok(Start::Value(*v)),
                Source::Free(j) => Ok(Start::Free(*j)),
                Source::Column(name) => {
                    let x = table.column(name).map_or(f64::NAN, |c| c[rows[0]]);
                    if x.is_finite() {
                        Ok(Start::Value(x))
                    } else {
                        Err(error("bad-value", format!("row {}, column `{name}`: the state starts here, and there is no value", rows[0] + 1)))
                    }
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        all.push(Trajectory {
            times: rows.iter().map(|&i| times[i]).collect(),
            forcing: rows.iter().map(|&i| forcing.iter().map(|c| c[i]).collect()).collect(),
            start,
            rows,
        });
    }
    Ok(Trajectories { all, observed })
}

enum Source {
    Value(f64),
    Free(usize),
    Column(String),
}

fn need_first(table: &Table, name: &str, errors: &mut Vec<Diagnostic>) -> String {
    if table.column(name).is_none() {
        errors.push(table.missing(name));
    }
    name.to_string()
}
