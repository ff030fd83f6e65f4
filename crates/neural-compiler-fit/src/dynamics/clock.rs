//! The clock of a model with states: which column is the time, when starts hold, how long a step of a map is. In: what the model declares,
//! what the user says, the table; out: times since the start for every row, and the words for all that.

use super::trajectories::error;
use crate::data::table::Table;
use crate::options::Options;
use neural_compiler::syntax::ast::{Input, InputKind, ModelKind};
use neural_compiler::{Diagnostic, Diagnostics, Program, number_text};

/// How time is read.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The column of times; none: rows are one step apart.
    pub column: Option<String>,
    /// What the time is called.
    pub name: String,
    /// When starts hold, where that is said.
    pub start: Option<f64>,
    /// When those of groups hold, by what the group is called, where nothing is said for all.
    pub of_groups: Vec<(String, f64)>,
    /// The time a step of a map takes; none for differential equations.
    pub step: Option<f64>,
    /// Whether that is what the user says, and not the model.
    changed: bool,
}

/// Spacings of the times below this many roundings are not known well enough to be solved over.
const ROUNDINGS: f64 = 32.0;
/// The largest number below which all whole numbers are exact.
const WHOLE: f64 = 9_007_199_254_740_992.0;

impl Pace {
    /// What a model, the options and the columns of a table say.
    pub fn new(program: &Program, table: &Table, options: &Options<'_>) -> Result<Pace, Diagnostics> {
        let declared = program.time();
        let map = program.kind() == ModelKind::Map;
        let named = declared.map(|t| t.name.as_str());
        let column = match &options.time {
            Some(name) => Some(name.clone()),
            None => {
                let declared = named.filter(|n| table.lists(n));
                let usual = || ["t", "time"].into_iter().find(|n| table.column(n).is_some());
                // A column that holds something else is missed, not passed over.
                declared.or_else(usual).or_else(|| ["t", "time"].into_iter().find(|n| table.lists(n))).map(String::from)
            }
        };
        if column.is_none() && !map {
            let name = named.unwrap_or("t");
            return Err(Diagnostic::error("no-time", Default::default(), "a differential equation needs a column of times")
                .help(format!("name it with --time, or call it `{name}`"))
                .into());
        }
        let start = options.start_time.or(declared.and_then(|t| t.start));
        if let Some(start) = start.filter(|t| !t.is_finite()) {
            return Err(error("bad-start-time", format!("a time at which starts hold is a number, {start} is none")).into());
        }
        // The time in the clauses: as declared, else `t` where no column is called so.
        let own = program.inputs().iter().any(|i| i.name == "t") && !table.lists("t");
        let name = named.map_or_else(|| if own { "t".into() } else { column.clone().unwrap_or_else(|| "t".into()) }, String::from);
        let taken = |i: &Input| i.name == name && !matches!(i.kind, InputKind::Free | InputKind::Declared);
        if let Some(input) = program.inputs().iter().find(|i| named.is_none() && taken(i)) {
            let message = format!("`{name}` is what the time is called, and something else in this model");
            let help = "give it another name, or the time: (time s), and its column with --time";
            return Err(Diagnostic::error("duplicate-name", input.span, message).help(help).into());
        }
        // A column of times that the model reads as an input too would be held constant before its first row, as the time never is.
        let also =
            |i: &&Input| Some(&i.name) == column.as_ref() && i.name != name && matches!(i.kind, InputKind::Free | InputKind::Declared);
        if let Some(input) = program.inputs().iter().find(also) {
            let message = format!("`{}` is the column of times, and an input of a model that calls the time `{name}`", input.name);
            let help = format!("write `{name}` for the time everywhere, or declare (time {})", input.name);
            return Err(Diagnostic::error("duplicate-name", input.span, message).help(help).into());
        }
        let declared = declared.and_then(|t| t.step).unwrap_or(1.0);
        let step = map.then(|| options.step.unwrap_or(declared));
        let of_groups = if start.is_none() { options.group_starts.clone() } else { vec![] };
        Ok(Pace { column, name, start, of_groups, step, changed: step.is_some_and(|step| step != declared) })
    }

    /// When the starts of a group hold whose first row is at some time.
    pub(super) fn origin(&self, group: Option<&str>, first: f64) -> f64 {
        let known = group.and_then(|name| self.of_groups.iter().find(|g| g.0 == name)).map(|g| g.1);
        self.start.or(known).unwrap_or(first)
    }

    /// A time in words: `t = 3`.
    pub fn at(&self, time: f64) -> String {
        format!("{} = {}", self.name, number_text(time))
    }

    /// The times of rows that are one step apart, group by group.
    pub(super) fn counted(&self, rows: usize, groups: &[Vec<usize>]) -> Vec<f64> {
        let mut times = vec![0.0; rows];
        let (first, step) = (self.start.unwrap_or(0.0), self.step.unwrap_or(1.0));
        groups.iter().for_each(|g| g.iter().enumerate().for_each(|(k, &row)| times[row] = first + k as f64 * step));
        times
    }

    /// Time since the start; of a map, a whole number of steps.
    pub(super) fn since(&self, time: f64, origin: f64, direction: f64) -> f64 {
        let since = direction * (time - origin);
        self.step.map_or(since, |step| (since / step).round() * step)
    }

    /// Whether the rows of a group, in the order of their times, can be passed from the start.
    pub(super) fn check(&self, rows: &[usize], times: &[f64], origin: f64) -> Result<(), Diagnostic> {
        let Some(name) = &self.column else { return Ok(()) };
        let largest = rows.iter().map(|&r| times[r].abs()).fold(origin.abs(), f64::max);
        let rounding = f64::EPSILON * largest;
        if let Some(step) = self.step {
            for &row in rows {
                let steps = (times[row] - origin) / step;
                if (steps - steps.round()).abs() > 1e-6 + 4.0 * rounding / step {
                    let message = format!(
                        "row {}, column `{name}`: the time {} is not a whole number of steps of {step} after {origin}",
                        row + 1,
                        times[row]
                    );
                    return Err(error("bad-times", message).help("declare the step, as in (time t :step 0.5), or give it with --step"));
                }
                if steps < -0.5 {
                    let message = format!("row {}, column `{name}`: the time {} is before {origin}, when starts hold", row + 1, times[row]);
                    return Err(error("bad-start-time", message).help("a map cannot be run backward"));
                }
            }
        }
        let mut gaps: Vec<f64> = rows.windows(2).map(|w| times[w[1]] - times[w[0]]).filter(|g| *g > 0.0).collect();
        gaps.sort_by(f64::total_cmp);
        let exact = largest <= WHOLE && rows.iter().all(|&r| times[r].fract() == 0.0);
        match gaps.get(gaps.len() / 2) {
            Some(&gap) if !exact && gap < ROUNDINGS * rounding => {
                let message =
                    format!("column `{name}`: times near {largest:e} are exact to {rounding:.1e}, and rows are only {gap:.1e} apart");
                Err(error("bad-times", message).help("subtract the first time, so that the times begin at 0"))
            }
            _ => Ok(()),
        }
    }

    /// What the user should know of times that are written as days of the calendar, 20240131: as numbers, the next day is 70 later.
    pub(super) fn calendar_note(&self, times: &[f64]) -> Option<String> {
        let name = self.column.as_ref()?;
        let (first, last) = times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), t| (lo.min(*t), hi.max(*t)));
        let day = |t: f64| {
            (18_000_101.0..=22_001_231.0).contains(&t) && t.fract() == 0.0 && {
                let (month, day) = ((t / 100.0).floor() % 100.0, t % 100.0);
                (1.0..=12.0).contains(&month) && (1.0..=31.0).contains(&day)
            }
        };
        (last > first && times.iter().all(|t| day(*t))).then(|| {
            format!(
                "the times of column `{name}` look like days of the calendar, {first} to {last}, but were taken as numbers: \
                 write them as dates, {}-{:02}-{:02}",
                (first / 10_000.0).floor(),
                (first / 100.0).floor() % 100.0,
                first % 100.0
            )
        })
    }

    /// What the user should know of rows that are not in the order of time, where no column tells trajectories apart.
    pub(super) fn order_note(&self, rows: &[usize], times: &[f64]) -> Option<String> {
        let name = self.column.as_ref()?;
        let back = rows.windows(2).find(|w| times[w[1]] <= times[w[0]])?;
        let mut sorted = rows.to_vec();
        sorted.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        let several = "if there are several trajectories, name the column that tells them apart with --group";
        Some(match sorted.windows(2).find(|w| times[w[0]] == times[w[1]]) {
            Some(w) => format!(
                "rows at equal times (such as rows {} and {}, {} = {}) are taken as replicates of one trajectory; {several}",
                w[0] + 1,
                w[1] + 1,
                name,
                times[w[0]]
            ),
            None => format!("the times of column `{name}` go back at row {}; rows were sorted by time; {several}", back[1] + 1),
        })
    }
}

/// When the starts of the states hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Clock {
    /// What the time is called; `None` for a map whose rows have no times.
    pub name: Option<String>,
    /// The earliest and the latest start of all trajectories.
    pub start: (f64, f64),
    /// The start of each group by its name, where they differ and a prediction has to know them.
    pub groups: Vec<(String, f64)>,
    /// Whether the model or the user has said so; else it is the first row of each trajectory.
    pub given: bool,
    /// Whether there are several trajectories.
    pub several: bool,
    /// Whether every state starts at its own column: at the first row of whatever table comes.
    pub from_columns: bool,
    /// The time a step of a map takes, where the user has said so and the model says something else.
    pub step: Option<f64>,
}

impl Clock {
    pub(super) fn new(pace: &Pace, firsts: &[(Option<String>, f64)], from_columns: bool) -> Clock {
        let start = firsts.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, t)| (lo.min(*t), hi.max(*t)));
        let name = (pace.column.is_some() || pace.start.is_some()).then(|| pace.name.clone());
        let step = pace.step.filter(|_| pace.changed);
        let kept = name.is_some() && pace.start.is_none() && start.0 != start.1 && !from_columns;
        let groups = firsts.iter().filter(|_| kept).filter_map(|(group, t)| Some((group.clone()?, *t))).collect();
        Clock { name, start, groups, given: pace.start.is_some(), several: firsts.len() > 1, from_columns, step }
    }

    /// The time to be kept with the fitted values, so that a prediction starts when the fit did: where it is one for all trajectories,
    /// and no table brings its own.
    pub fn kept(&self) -> Option<f64> {
        let one = self.name.is_some() && self.start.0 == self.start.1;
        (self.given || (one && !self.from_columns)).then_some(self.start.0)
    }

    /// In words: `starts hold at t = 1, the first row`.
    pub fn words(&self) -> String {
        let Some(name) = &self.name else {
            return format!("starts hold at the first row{}", if self.several { " of each group" } else { "" });
        };
        let (earliest, latest) = (number_text(self.start.0), number_text(self.start.1));
        match (self.given, self.several, self.start.0 == self.start.1) {
            (true, ..) => format!("starts hold at {name} = {earliest}"),
            (false, false, _) => format!("starts hold at {name} = {earliest}, the first row"),
            (false, true, true) => format!("starts hold at {name} = {earliest}, the first row of each group"),
            (false, true, false) => format!("starts hold at the first row of each group, from {name} = {earliest} to {name} = {latest}"),
        }
    }

    /// A warning where numbers are taken to hold at a first row later than 0, which the user may not have meant.
    pub(super) fn later_than_zero(&self, numbers: &[String]) -> Option<String> {
        let name = self.name.as_ref().filter(|_| !self.given && self.start.1 > 0.0 && !numbers.is_empty())?;
        let states = numbers.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let (what, when) = if numbers.len() == 1 { ("the start of", "is taken to hold") } else { ("the starts of", "are taken to hold") };
        let taken = match self.start.0 == self.start.1 {
            true => format!("{name} = {}", number_text(self.start.0)),
            false => "the first row of each group".to_string(),
        };
        Some(format!("{what} {states} {when} at {taken}; for {name} = 0 declare (time {name} :start 0) or give the start time 0"))
    }
}
