//! Rows become trajectories. In: a table, and when starts hold; out: for each group its times, its forcing, where its states start and what
//! was observed.
//! Invariants: times are those since the start, which is exact however large the times are, and rise from 0; rows before the start make a
//! trajectory of their own that runs backward; rows at equal times share one; missing observations are NaN, everything else is finite.

use super::clock::{Clock, Pace};
use super::inputs;
use super::schedule::{self, Dose, Schedule};
use super::solver::events::Timed;
use super::solver::field::Field;
use super::starts::{Formula, Start};
use crate::data::table::{Side, Table};
use crate::model::layout::{Layout, element_names};
use neural_compiler::syntax::ast::{InputKind, ModelKind, StateStart};
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// One trajectory.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// Its group, counted from 0 in the order of appearance.
    pub group: usize,
    /// The rows of the table, in the order in which they are passed.
    pub rows: Vec<usize>,
    /// Which of `times` each of them is at.
    pub at: Vec<usize>,
    /// When its start holds.
    pub origin: f64,
    /// 1 where it runs forward from there, -1 where backward.
    pub direction: f64,
    /// The times it passes, as time since the start.
    pub times: Vec<f64>,
    /// Forcing at each of them: all its numbers in the order of the inputs.
    pub forcing: Vec<Vec<f64>>,
    /// Where each number of the states starts.
    pub start: Vec<Start>,
    /// Its row among the starts that are computed.
    pub start_row: usize,
    /// Doses and infusions.
    pub events: Vec<Timed>,
}

/// A column of observations.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its name.
    pub name: String,
    /// The number of the states, or behind them of the observables, that it observes.
    pub component: usize,
    /// The state, or behind them the observable, that number belongs to.
    pub state: usize,
    /// Its values, row by row of the table; NaN where there is none.
    pub values: Vec<f64>,
    /// The state starts at the first observation, which therefore explains nothing.
    pub starts_here: bool,
}

/// What trajectories are read for.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// A prediction, which needs no observations.
    Predict,
    /// A fit, to all columns that observe the model or to the one that is named.
    Fit {
        /// What is observed, a state or an observable, where it is named.
        target: Option<&'a str>,
    },
}

/// All of them.
#[derive(Clone)]
pub struct Trajectories {
    /// One per group, two where rows lie on both sides of the start.
    pub all: Vec<Trajectory>,
    /// Starts that are computed, if there are such: a row for each group.
    pub formula: Option<Arc<Formula>>,
    /// Numbers of the states that start where they are steady, and from where that is looked for.
    pub steady: Vec<(usize, f64)>,
    /// Events of the model that happen at times, if there are such: a row for each group.
    pub schedule: Option<Arc<Schedule>>,
    /// One per observed number of the states.
    pub observed: Vec<Observed>,
    /// The time of each row of the table.
    pub row_times: Vec<f64>,
    /// When starts hold.
    pub clock: Clock,
    /// What the user should know of how the rows were read.
    pub notes: Vec<String>,
    /// The same of inputs that rows lack, which predictions tell too.
    pub about_inputs: Vec<String>,
}

impl Trajectories {
    /// Whether all columns have one scale: their errors are known, or they belong to one state.
    pub fn one_scale(&self, known: bool) -> bool {
        known || self.observed.windows(2).all(|w| w[0].state == w[1].state)
    }
}

pub(super) fn error(code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, Default::default(), message)
}

/// Reads the trajectories of a model. `pace`: the column of times, when starts hold, what a step of a map is; `group`: the column that
/// tells them apart; `doses`: what is given to them.
pub fn read(
    program: &Program,
    field: &Field,
    layout: &Layout,
    table: &Table,
    pace: &Pace,
    (group, doses): (Option<&str>, &[Dose]),
    purpose: Purpose<'_>,
) -> Result<Trajectories, Diagnostics> {
    let fitting = matches!(purpose, Purpose::Fit { .. });
    let mut errors: Vec<Diagnostic> = Vec::new();
    let need = |name: &str, errors: &mut Vec<Diagnostic>| -> Vec<f64> {
        if let Err(e) = table.finite(name) {
            errors.push(e);
        }
        table.column(name).map(<[f64]>::to_vec).unwrap_or_else(|| vec![0.0; table.rows()])
    };
    let times = pace.column.as_deref().map(|name| need(name, &mut errors));
    let groups = group.map(|g| need(g, &mut errors));
    let names = field.columns.iter().flat_map(|f| element_names(&f.name, f.shape));
    let names: Vec<String> = names.collect();
    names.iter().filter(|n| table.column(n).is_none()).for_each(|n| errors.push(table.missing(n)));
    let (starts, mut observed) = states(program, field, layout, table, fitting, &mut errors);
    let computed = program.starts().map(|starts| StartInputs::new(starts, table, pace, &mut errors));
    let times_of_events = program.events().and_then(|e| e.times.as_ref());
    let scheduled = times_of_events.map(|times| StartInputs::new(times, table, pace, &mut errors));
    let mut notes = Vec::new();
    if let Purpose::Fit { target } = purpose {
        if let Some(target) = target {
            choose(program, field, target, &mut observed, &mut errors, &mut notes);
        }
        must_observe(program, field, &mut observed, &mut errors, &mut notes);
    }
    let without = may_lack_inputs(program, table, fitting.then_some(&observed[..]));
    let mut forcing = Vec::with_capacity(names.len());
    for name in names {
        let Some(column) = table.column(&name) else { continue };
        let checked = if column.iter().any(|x| x.is_infinite()) { table.finite(&name) } else { table.finite_except(&name, &without) };
        errors.extend(checked.err());
        forcing.push((name, column.to_vec()));
    }
    let lacking: Vec<usize> = forcing.iter().map(|(_, values)| values.iter().filter(|x| x.is_nan()).count()).collect();
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let keys = groups;
    let groups = by_group(table.rows(), keys.as_deref());
    // Steady starts are numbered behind those that formulas compute.
    let formulas = starts.iter().filter(|s| matches!(s, Source::Computed(_))).count();
    let guess = |(k, s): (usize, &Source)| if let Source::Steady(guess) = s { Some((k, *guess)) } else { None };
    let steady: Vec<(usize, f64)> = starts.iter().enumerate().filter_map(guess).collect();
    let row_times = times.unwrap_or_else(|| pace.counted(table.rows(), &groups));
    notes.extend(pace.calendar_note(&row_times));
    let mut all = Vec::new();
    let mut firsts = Vec::new();
    let (mut given, mut when) = (Vec::new(), Vec::new());
    for (number, mut rows) in groups.into_iter().enumerate() {
        if group.is_none() {
            notes.extend(pace.order_note(&rows, &row_times));
        }
        rows.sort_by(|&a, &b| row_times[a].total_cmp(&row_times[b]));
        let called = group.zip(keys.as_ref()).map(|(column, keys)| table.label(column, keys[rows[0]]));
        let origin = pace.origin(called.as_deref(), row_times[rows[0]]);
        pace.check(&rows, &row_times, origin)?;
        inputs::complete(field, &mut forcing, &mut rows, (&row_times, origin, table))?;
        firsts.push((called, origin));
        let part = Part { table, forcing: &forcing, times: &row_times, pace, origin };
        let mut start = starts.iter().map(|s| part.start(s, &rows)).collect::<Result<Vec<_>, _>>()?;
        steady.iter().enumerate().for_each(|(k, (component, _))| start[*component] = Start::Computed(formulas + k));
        if let Some(computed) = &computed {
            given.push(computed.row(&part, &rows)?);
        }
        if let Some(scheduled) = &scheduled {
            when.push(scheduled.row(&part, &rows)?);
        }
        let key = keys.as_ref().map(|k| k[rows[0]]);
        let since: Vec<f64> = rows.iter().map(|&r| row_times[r] - origin).collect();
        let happens = schedule::doses(doses, (program, field), pace, key, (origin, &since))?;
        let later = rows.partition_point(|&r| row_times[r] < origin);
        let (earlier, later) = rows.split_at(later);
        let backward: Vec<usize> = earlier.iter().rev().copied().collect();
        for (direction, side) in [(1.0, later), (-1.0, &backward[..])] {
            if !side.is_empty() {
                if direction < 0.0 && (program.events().is_some() || !happens.is_empty()) {
                    let message =
                        format!("row {}: {} is before {}, when starts hold", side[0] + 1, pace.at(row_times[side[0]]), pace.at(origin));
                    return Err(error("bad-start-time", message).help("what events do cannot be undone: let starts hold earlier").into());
                }
                let mut one = part.trajectory(number, side, direction, &rows, start.clone())?;
                (one.events, one.forcing) = (happens.clone(), inputs::between_rows(field, &one));
                all.push(one);
            }
        }
    }
    let numbers: Vec<String> = field.states.iter().filter(|s| starts[s.at].is_number()).map(|s| s.name.clone()).collect();
    let own = starts[..field.law.size - field.infused.len()].iter().all(|s| matches!(s, Source::Column { own: true, .. }));
    let clock = Clock::new(pace, &firsts, own);
    notes.extend(clock.later_than_zero(&numbers));
    let formula = computed
        .map(|inputs| Formula::new("the starts of the states", inputs.starts, layout, inputs.columns(&given), given.len()))
        .transpose()?;
    let formula_of_times = scheduled
        .map(|inputs| Formula::new("the times of events", inputs.starts, layout, inputs.columns(&when), when.len()))
        .transpose()?;
    let schedule = formula_of_times.map(|f| Arc::new(Schedule::new(program, f)));
    let about_inputs = without_inputs(&forcing, &lacking, fitting);
    Ok(Trajectories { all, formula: formula.map(Arc::new), steady, schedule, observed, row_times, clock, notes, about_inputs })
}

/// The rows that may go without inputs, in order: all of a prediction, of a fit those in which nothing is `observed`. Of a map each row is
/// a step, and needs them.
fn may_lack_inputs(program: &Program, table: &Table, observed: Option<&[Observed]>) -> Vec<usize> {
    if program.kind() == ModelKind::Map {
        return vec![];
    }
    let Some(observed) = observed else { return (0..table.rows()).collect() };
    if program.loglik().is_some() {
        return vec![];
    }
    // What is known from one side only is known.
    let censored = |o: &Observed, row: usize| table.censored(&o.name).is_some_and(|(values, _)| !values[row].is_nan());
    (0..table.rows()).filter(|&row| observed.iter().all(|o| o.values[row].is_nan() && !censored(o, row))).collect()
}

/// What was missing of inputs, in words. `lacking`: how many rows had no value of each; those that still have none were left out.
fn without_inputs(forcing: &[(String, Vec<f64>)], lacking: &[usize], fitting: bool) -> Vec<String> {
    let of = |count: usize, one: &str, several: &str| format!("{count} {}", if count == 1 { one } else { several });
    let nothing = if fitting { " and nothing to explain" } else { "" };
    let mut all = Vec::new();
    for ((name, values), lacking) in forcing.iter().zip(lacking) {
        let left = values.iter().filter(|x| x.is_nan()).count();
        if *lacking > left {
            let have = of(lacking - left, "row has", "rows have");
            all.push(format!("{have} no value of the input `{name}`{nothing}: other rows say what it is there"));
        }
        if left > 0 {
            let rows = of(left, "row", "rows");
            let are = if left == 1 { "is" } else { "are" };
            all.push(format!("{rows} behind the last with a value of the input `{name}` {are} left out"));
        }
    }
    all
}

/// Keeps what the target that was asked for observes: other columns that could be fitted are left out, and said to be.
fn choose(
    program: &Program,
    field: &Field,
    target: &str,
    observed: &mut Vec<Observed>,
    errors: &mut Vec<Diagnostic>,
    notes: &mut Vec<String>,
) {
    let observables = program.observables().map_or(&[][..], |o| o.0).iter().map(|o| o.0.as_str());
    let names: Vec<&str> = field.states.iter().map(|s| s.name.as_str()).chain(observables).collect();
    let chosen = |o: &Observed| o.name == target || names[o.state] == target;
    if !observed.iter().any(chosen) {
        if errors.is_empty() {
            let list = observed.iter().map(|o| format!("`{}`", o.name)).collect::<Vec<_>>().join(", ");
            let found = if list.is_empty() { "no column of the data does".into() } else { format!("the columns that do are {list}") };
            let message = format!("the target `{target}` observes no state and no observable of the model; {found}");
            errors.push(error("no-target", message).help("without a target the model is fitted to all columns that observe it"));
        }
        return;
    }
    let others = observed.iter().filter(|o| !chosen(o)).map(|o| format!("`{}`", o.name)).collect::<Vec<_>>().join(", ");
    if !others.is_empty() {
        notes.push(format!("`{target}` is the target: what observes {others} is not fitted"));
    }
    observed.retain(chosen);
}

/// Complains about a table that observes nothing; columns without any value are left out, and said to be.
fn must_observe(program: &Program, field: &Field, observed: &mut Vec<Observed>, errors: &mut Vec<Diagnostic>, notes: &mut Vec<String>) {
    if observed.is_empty() && program.loglik().is_some() {
        return;
    }
    if observed.is_empty() && errors.is_empty() {
        let observables = program.observables().map_or(&[][..], |o| o.0).iter().map(|o| &o.0);
        let list = field.states.iter().map(|s| &s.name).chain(observables).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        errors.push(
            error("no-target", format!("no column of the data observes the model ({list})"))
                .help("name the columns like the states and observables they observe"),
        );
    }
    let is_empty = |o: &Observed| o.values.iter().all(|x| x.is_nan());
    if observed.iter().all(is_empty) {
        errors.extend(observed.iter().map(|o| error("no-target", format!("the column `{}` has no value at all", o.name))));
        return;
    }
    let empty = observed.iter().filter(|o| is_empty(o));
    notes.extend(empty.map(|o| format!("the column `{}` has no value at all: it counts as not observed", o.name)));
    observed.retain(|o| !is_empty(o));
}

/// Where the numbers of all states start, and which columns observe them. `fitting`: a column named like a state must be one of numbers.
fn states(
    program: &Program,
    field: &Field,
    layout: &Layout,
    table: &Table,
    fitting: bool,
    errors: &mut Vec<Diagnostic>,
) -> (Vec<Source>, Vec<Observed>) {
    let mut starts: Vec<Source> = Vec::new();
    let mut observed: Vec<Observed> = Vec::new();
    // States that are observed under their own names and start there.
    let mut observed_starts: Vec<String> = Vec::new();
    for (number, state) in field.states.iter().enumerate() {
        let InputKind::State(start) = &program.inputs()[state.input].kind else { continue };
        let names = element_names(&state.name, state.shape);
        let mut at_column = false;
        match start {
            StateStart::Steady(guess) => starts.extend(guess.iter().map(|g| Source::Steady(*g))),
            StateStart::Expression => {
                let before = starts.iter().filter(|s| matches!(s, Source::Computed(_))).count();
                starts.extend((0..state.shape.len()).map(|k| Source::Computed(before + k)));
            }
            StateStart::Value(values) => starts.extend(values.iter().map(|v| Source::Value(*v))),
            StateStart::Name(name) => match layout.shared.iter().find(|s| s.name == *name) {
                Some(shared) if shared.shape == state.shape => {
                    let one = |k: usize| shared.at.map_or(Source::Value(shared.initial[k]), |at| Source::Free(at + k));
                    starts.extend((0..state.shape.len()).map(one));
                }
                Some(shared) => {
                    errors.push(error(
                        "shape-mismatch",
                        format!("the state `{}` is a {}, its start `{name}` a {}", state.name, state.shape, shared.shape),
                    ));
                    starts.extend((0..state.shape.len()).map(|_| Source::Value(f64::NAN)));
                }
                None => {
                    at_column = *name == state.name;
                    for name in element_names(name, state.shape) {
                        if table.column(&name).is_none() {
                            errors.push(table.missing(&name));
                        }
                        starts.push(Source::Column { name, own: at_column });
                    }
                }
            },
        }
        let own = program.observables().is_some_and(|o| o.0.iter().any(|(n, _)| *n == state.name));
        if own {
            observed_starts.extend(at_column.then(|| state.name.clone()));
            continue;
        }
        let there = names.iter().filter(|n| if fitting { table.lists(n) } else { table.column(n).is_some() }).count();
        for (k, name) in names.into_iter().enumerate() {
            let Some(column) = table.column(&name) else {
                if there > 0 && (state.shape != Shape::Scalar || fitting && table.lists(&name)) {
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
    starts.extend(field.infused.iter().map(|_| Source::Value(0.0)));
    let mut component = field.law.size;
    for (k, (name, shape)) in program.observables().map_or(&[][..], |o| o.0).iter().enumerate() {
        for name in element_names(name, *shape) {
            match table.column(&name) {
                Some(column) => {
                    if let Some(i) = column.iter().position(|x| x.is_infinite()) {
                        errors.push(error("bad-value", format!("row {}, column `{name}`: the value is infinite", i + 1)));
                    }
                    let state = field.states.len() + k;
                    let starts_here = observed_starts.contains(&name);
                    observed.push(Observed { name, component, state, values: column.to_vec(), starts_here });
                }
                // Some values are known from one side only: a likelihood takes them, least squares goes without the column.
                None if table.censored(&name).is_some() && program.noise()[k].is_some() => {
                    let (values, sides) = table.censored(&name).unwrap_or_default();
                    let seen = values.iter().zip(sides).map(|(x, s)| if *s == Side::Seen { *x } else { f64::NAN });
                    let (state, values) = (field.states.len() + k, seen.collect());
                    observed.push(Observed { name, component, state, values, starts_here: false });
                }
                None if fitting && table.lists(&name) => errors.push(table.missing(&name)),
                None => {}
            }
            component += 1;
        }
    }
    (starts, observed)
}

/// The rows of each group, in the order of appearance.
fn by_group(rows: usize, groups: Option<&[f64]>) -> Vec<Vec<usize>> {
    let Some(groups) = groups else { return vec![(0..rows).collect()] };
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for (row, key) in groups.iter().enumerate() {
        // Adding 0 makes one zero of two.
        let place = *places.entry((key + 0.0).to_bits()).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(row);
    }
    found
}

/// Where a number of a state starts, before the rows are known.
enum Source {
    Value(f64),
    Free(usize),
    /// At a number of the starts that are computed.
    Computed(usize),
    /// Where its derivative is 0, looked for from there.
    Steady(f64),
    /// At a column; `own`: at the observation of the state itself.
    Column {
        name: String,
        own: bool,
    },
}

impl Source {
    /// Whether it is a number the user has written down.
    fn is_number(&self) -> bool {
        matches!(self, Source::Value(_))
    }
}

/// What the starts that are computed read: for each input of theirs the numbers it has in each group.
struct StartInputs<'a> {
    starts: &'a Program,
    /// For each number of each input that is no parameter where it comes from.
    sources: Vec<(usize, Read)>,
}

/// Where a number of a start's input comes from.
enum Read {
    /// The first row of the group.
    Column(Source),
    /// When starts hold.
    Time,
    /// Nowhere: it is a state, which no start depends on.
    Nothing,
}

impl<'a> StartInputs<'a> {
    fn new(starts: &'a Program, table: &Table, pace: &Pace, errors: &mut Vec<Diagnostic>) -> StartInputs<'a> {
        let mut sources = Vec::new();
        for (i, input) in starts.inputs().iter().enumerate() {
            let shape = input.shape.or(starts.input_shapes()[i].known()).unwrap_or(Shape::Scalar);
            match &input.kind {
                InputKind::Param(_) | InputKind::Weight { .. } => {}
                InputKind::State(_) => sources.extend((0..shape.len()).map(|_| (i, Read::Nothing))),
                InputKind::Free | InputKind::Declared if input.name == pace.name => sources.push((i, Read::Time)),
                InputKind::Free | InputKind::Declared => {
                    for name in element_names(&input.name, shape) {
                        if table.column(&name).is_none() {
                            errors.push(table.missing(&name));
                        }
                        sources.push((i, Read::Column(Source::Column { name, own: false })));
                    }
                }
            }
        }
        StartInputs { starts, sources }
    }

    /// The numbers of one group, whose rows are sorted.
    fn row(&self, part: &Part<'_>, rows: &[usize]) -> Result<Vec<f64>, Diagnostic> {
        let one = |(_, read): &(usize, Read)| match read {
            Read::Nothing => Ok(0.0),
            Read::Time => Ok(part.origin),
            Read::Column(source) => part.start(source, rows).map(|s| if let Start::Value(x) = s { x } else { f64::NAN }),
        };
        self.sources.iter().map(one).collect()
    }

    /// Column by column, those of parameters being empty.
    fn columns(&self, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut columns = vec![Vec::new(); self.starts.inputs().len()];
        self.sources.iter().enumerate().for_each(|(k, (i, _))| columns[*i].extend(rows.iter().map(|row| row[k])));
        columns
    }
}

/// The rows of one group.
struct Part<'a> {
    table: &'a Table,
    forcing: &'a [(String, Vec<f64>)],
    times: &'a [f64],
    pace: &'a Pace,
    /// When its start holds.
    origin: f64,
}

impl Part<'_> {
    /// Where a number of a state starts; `rows` are sorted.
    fn start(&self, source: &Source, rows: &[usize]) -> Result<Start, Diagnostic> {
        let (name, own) = match source {
            Source::Value(v) => return Ok(Start::Value(*v)),
            Source::Free(j) => return Ok(Start::Free(*j)),
            Source::Computed(k) => return Ok(Start::Computed(*k)),
            Source::Steady(_) => return Ok(Start::Computed(usize::MAX)),
            Source::Column { name, own } => (name, *own),
        };
        let when = if own { self.origin } else { self.times[rows[0]] };
        let mut here = rows.iter().copied().filter(|&r| self.times[r] == when);
        let Some(first) = here.next() else {
            let message = format!("`{name}` starts at its own column, and no row is at {}, when starts hold", self.pace.at(self.origin));
            return Err(error("bad-start-time", message).help("add such a row, or let the state start at a param"));
        };
        let column = self.table.column(name).unwrap_or(&[]);
        let value = column.get(first).copied().unwrap_or(f64::NAN);
        if !value.is_finite() {
            return Err(error("bad-value", format!("row {}, column `{name}`: the state starts here, and there is no value", first + 1)));
        }
        if let Some(other) = here.find(|&r| column[r] != value) {
            return Err(self.disagree(first, other, name, "the state starts"));
        }
        Ok(Start::Value(value))
    }

    fn disagree(&self, one: usize, other: usize, name: &str, what: &str) -> Diagnostic {
        let column = self.table.column(name).unwrap_or(&[]);
        let value = |row: usize| column.get(row).copied().unwrap_or(f64::NAN);
        let when = self.pace.at(self.times[one]);
        let message = format!(
            "rows {} and {} are both at {when}, column `{name}`: {what} at {} and at {}",
            one + 1,
            other + 1,
            value(one),
            value(other)
        );
        error("rows-disagree", message).help("are there several trajectories? name the column that tells them apart with --group")
    }

    /// Rows on one side of the start, the nearest first.
    fn trajectory(
        &self,
        group: usize,
        side: &[usize],
        direction: f64,
        rows: &[usize],
        start: Vec<Start>,
    ) -> Result<Trajectory, Diagnostic> {
        let mut t = Trajectory {
            group,
            rows: side.to_vec(),
            at: Vec::with_capacity(side.len()),
            origin: self.origin,
            direction,
            times: vec![0.0],
            forcing: vec![],
            start,
            start_row: group,
            events: vec![],
        };
        // The first row at each of the times.
        let mut first: Vec<Option<usize>> = vec![None];
        for &row in side {
            let since = self.pace.since(self.times[row], self.origin, direction);
            if since > t.times[t.times.len() - 1] {
                t.times.push(since);
                first.push(Some(row));
            }
            let k = t.times.len() - 1;
            let before = *first[k].get_or_insert(row);
            if let Some((name, _)) = self.forcing.iter().find(|(_, f)| f[before] != f[row]) {
                return Err(self.disagree(before, row, name, "it is"));
            }
            t.at.push(k);
        }
        for place in first {
            t.forcing.push(match place {
                Some(row) => self.forcing.iter().map(|(_, f)| f[row]).collect(),
                None => self.at_start(rows)?,
            });
        }
        Ok(t)
    }

    /// Forcing at a start where there is no row: between rows as everywhere; outside only where it never changes.
    fn at_start(&self, rows: &[usize]) -> Result<Vec<f64>, Diagnostic> {
        let after = rows.partition_point(|&r| self.times[r] < self.origin);
        self.forcing
            .iter()
            .map(|(name, f)| match (rows[..after].last(), rows.get(after)) {
                (_, Some(&row)) if self.times[row] == self.origin => Ok(f[row]),
                (Some(&a), Some(&b)) => Ok(f[a] + (f[b] - f[a]) * ((self.origin - self.times[a]) / (self.times[b] - self.times[a]))),
                (Some(&only), None) | (None, Some(&only)) if rows.iter().all(|&r| f[r] == f[only]) => Ok(f[only]),
                _ => {
                    let when = self.pace.at(self.origin);
                    let message = format!("the input `{name}` is not known from {when}, when starts hold, to the nearest row");
                    let help = "add a row there with the inputs; the cells of the states may be empty";
                    Err(error("bad-start-time", message).help(help))
                }
            })
            .collect()
    }
}
