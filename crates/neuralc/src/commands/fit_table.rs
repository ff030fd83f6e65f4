//! A whole table in memory, for fitting. In: a table and what of it matters; out: its numbers, and where its rows are in the file.
//! Invariants: a column nobody needs may hold anything; a missing cell reads as NaN, which the fit refuses or takes for "not observed", as
//! it says itself; a column with cells such as `<0.5` stands beside the numbers, for models that say how it is distributed; texts of the
//! column of groups become numbers in the order of appearance; dates become times only where the model asks for the column by name.

use crate::context::Failure;
use crate::core::Compiled;
use crate::render::Source;
use crate::table::dates::DateArgs;
use crate::table::dialect::count;
use crate::table::{Chunk, Missing, Reader, rows_for};
use neural_compiler::syntax::ast::{InputKind, ModelKind};
use neural_compiler::units::header::Asked;
use neural_compiler::{Diagnostic, Diagnostics};
use neural_compiler_fit::dates::{Calendar, Stamp, asked_for};
use neural_compiler_fit::{Other, Side, Table, group_name};
use std::collections::{HashMap, HashSet};

/// Columns that options name for what they are; a standard deviation may be a number instead.
#[derive(Clone, Copy, Default)]
pub(crate) struct Roles<'a> {
    pub(crate) time: Option<&'a str>,
    pub(crate) target: Option<&'a str>,
    pub(crate) sigma: Option<&'a str>,
}

/// What of a table matters.
pub(crate) struct Wanted<'a> {
    pub(crate) model: &'a Compiled,
    /// Columns the options name: time, target, standard deviations, weights.
    pub(crate) named: Vec<&'a str>,
    /// The column of times, that of the target, and that of standard deviations, as far as they are named.
    pub(crate) roles: Roles<'a>,
    /// The column whose texts are names.
    pub(crate) group: Option<&'a str>,
    pub(crate) dates: &'a DateArgs,
    /// Whether dates may say themselves which of them is time 0.
    pub(crate) fitting: bool,
}

impl Wanted<'_> {
    /// The columns whose texts are names: what tells trajectories apart, and what constants differ by, unless its numbers are asked for
    /// besides, as a dose is that is different for each group.
    fn coded(&self) -> Vec<&str> {
        let program = &self.model.program;
        let per = program.inputs().iter().filter_map(|i| if let InputKind::Param(info) = &i.kind { info.per.as_deref() } else { None });
        self.group.into_iter().chain(per).filter(|name| !self.named.contains(name) && !program.reads_column(name)).collect()
    }

    fn asks_for(&self, column: &str) -> bool {
        asked_for(&self.model.program, &self.named, column)
    }
}

/// A table, and why columns that are not in it could not be read.
pub(crate) struct Whole {
    pub(crate) table: Table,
    /// The names that numbers stand for, column by column.
    coded: HashMap<String, Vec<String>>,
    /// What the dates of the table count.
    pub(crate) calendar: Option<Calendar>,
    /// The columns that hold dates, by their names in the table.
    pub(crate) dated: Vec<String>,
    /// The headers of columns that hold neither numbers nor dates anybody asks for.
    pub(crate) texts: HashSet<String>,
    unreadable: HashMap<String, Unreadable>,
    /// From this row on, lines are so much further down than rows.
    lines: Vec<(usize, u64)>,
}

struct Unreadable {
    failure: Failure,
    /// Its first value is a number: the column is one of numbers, but for a cell.
    nearly: bool,
}

/// The groups that texts, in the order of appearance, are names of, and the number of the group of each text; an empty cell names none.
fn of_names(texts: &[String]) -> (Vec<String>, Vec<f64>) {
    let (mut names, mut places): (Vec<String>, HashMap<String, f64>) = Default::default();
    let code = |text: &String| {
        if text.is_empty() {
            return f64::NAN;
        }
        let name = group_name(text);
        *places.entry(name.clone()).or_insert_with(|| {
            names.push(name);
            (names.len() - 1) as f64
        })
    };
    let codes = texts.iter().map(code).collect();
    (names, codes)
}

/// The names of groups that numbers tell apart, in the order of appearance; 0 and -0 are one, as they are to the fit.
fn by_number(table: &Table, column: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let numbers = table.column(column).unwrap_or_default().iter().map(|x| x + 0.0);
    numbers.filter(|x| seen.insert(x.to_bits())).map(|x| table.label(column, x)).collect()
}

/// A column being read.
enum Column {
    Numbers(Vec<f64>, Missing),
    /// Numbers, some of them known from one side only, and why they are no column of numbers.
    Censored(Vec<f64>, Vec<Side>, Unreadable),
    Dates(Vec<Option<Stamp>>),
    Bad(Unreadable),
}

impl Column {
    fn read(&mut self, chunk: Chunk<'_>, i: usize, before: u64, name: &str) {
        let bad =
            |e: crate::table::CellError, nearly| Column::Bad(Unreadable { failure: e.failure(&chunk.place(before, e.row), name), nearly });
        let next = match self {
            Column::Bad(_) => None,
            Column::Censored(values, sides, _) => chunk.censored(i, values, sides).err().map(|e| bad(e, true)),
            Column::Numbers(numbers, missing) => {
                let from = numbers.len();
                numbers.resize(from + chunk.rows(), f64::NAN);
                match chunk.numbers_or_missing(i, &mut numbers[from..]) {
                    Ok(found) => {
                        missing.count += found.count;
                        missing.text = missing.text.take().or(found.text);
                        None
                    }
                    Err(e) => {
                        let some = numbers[..from + e.row].iter().any(|x| !x.is_nan());
                        let (mut values, mut sides) = (numbers[..from].to_vec(), vec![Side::Seen; from]);
                        if chunk.censored(i, &mut values, &mut sides).is_ok() {
                            let why = Unreadable { failure: e.failure(&chunk.place(before, e.row), name), nearly: true };
                            *self = Column::Censored(values, sides, why);
                            return;
                        }
                        match chunk.dates(i) {
                            Ok(stamps) if !some => {
                                let mut all = vec![None; from];
                                all.extend(stamps);
                                Some(Column::Dates(all))
                            }
                            // A date that is none, behind some that are.
                            Err(d) if !some && d.row > e.row => Some(bad(d, false)),
                            _ => Some(bad(e, some)),
                        }
                    }
                }
            }
            Column::Dates(all) => match chunk.dates(i) {
                Ok(stamps) => {
                    all.extend(stamps);
                    None
                }
                Err(e) => Some(bad(e, false)),
            },
        };
        if let Some(next) = next {
            *self = next;
        }
    }
}

impl Whole {
    /// Reads a table.
    pub(crate) fn read(mut reader: Reader, wanted: &Wanted<'_>) -> Result<Whole, Failure> {
        Whole::parts(&mut reader, wanted, usize::MAX)
    }

    /// Reads the first rows of a table that is not held in memory.
    pub(crate) fn begin(reader: &mut Reader, wanted: &Wanted<'_>) -> Result<Whole, Failure> {
        let notes = reader.notes();
        let known = notes.borrow().columns.len();
        // Rows say where they are themselves, and what is missing in the first of them says nothing of the others.
        let whole = Whole { lines: vec![], ..Whole::parts(reader, wanted, 1)? };
        notes.borrow_mut().columns.truncate(known);
        Ok(whole)
    }

    /// Reads so many chunks of a table.
    fn parts(reader: &mut Reader, wanted: &Wanted<'_>, chunks: usize) -> Result<Whole, Failure> {
        let names = reader.columns().to_vec();
        let notes = reader.notes();
        let mut columns: Vec<Column> = names.iter().map(|_| Column::Numbers(Vec::new(), Missing::default())).collect();
        let mut coded: HashMap<&str, (Vec<String>, HashMap<String, f64>)> =
            wanted.coded().into_iter().map(|n| (n, Default::default())).collect();
        let mut lines: Vec<(usize, u64)> = Vec::new();
        let most = rows_for(names.len());
        let mut before = 0;
        for _ in 0..chunks {
            let Some(chunk) = reader.next(most)? else { break };
            for row in 0..chunk.rows() {
                let shift = chunk.line(row).map_or(0, |line| line - (before + row as u64 + 1));
                if lines.last().map_or(0, |l| l.1) != shift {
                    lines.push((before as usize + row, shift));
                }
            }
            for (i, name) in names.iter().enumerate() {
                match &mut columns[i] {
                    Column::Numbers(numbers, _) if coded.contains_key(name.as_str()) => {
                        let Some((groups, codes)) = coded.get_mut(name.as_str()) else { continue };
                        for text in chunk.texts(i)? {
                            numbers.push(*codes.entry(text.clone()).or_insert_with(|| {
                                groups.push(text);
                                (groups.len() - 1) as f64
                            }));
                        }
                    }
                    column => column.read(chunk, i, before, name),
                }
            }
            before += chunk.rows() as u64;
        }
        for (i, name) in names.iter().enumerate() {
            if let (Column::Numbers(numbers, _), Some((labels, _))) = (&mut columns[i], coded.get_mut(name.as_str())) {
                let (kept, codes) = of_names(labels);
                numbers.iter_mut().for_each(|x| *x = codes[*x as usize]);
                *labels = kept;
            }
        }
        let mut unreadable = HashMap::new();
        let mut good: Vec<(String, Vec<f64>)> = Vec::new();
        let mut censored: Vec<(String, Vec<f64>, Vec<Side>)> = Vec::new();
        let mut dated: Vec<(String, Vec<Option<Stamp>>)> = Vec::new();
        for (name, column) in names.into_iter().zip(columns).filter(|(name, _)| !name.is_empty()) {
            match column {
                Column::Bad(why) => drop(unreadable.insert(name, why)),
                Column::Censored(values, sides, why) => {
                    let cells = count(sides.iter().filter(|s| **s != Side::Seen).count() as u64, "value", "values");
                    notes.borrow_mut().columns.push(format!("{cells} in `{name}` known from one side only, such as `<0.5`"));
                    drop(unreadable.insert(name.clone(), why));
                    censored.push((name, values, sides));
                }
                Column::Numbers(numbers, missing) => {
                    if let Some(text) = &missing.text {
                        let cells = count(missing.count, "missing value", "missing values");
                        notes.borrow_mut().columns.push(format!("{cells} in `{name}` (such as `{text}`)"));
                    }
                    good.push((name, numbers));
                }
                Column::Dates(stamps) if wanted.asks_for(&name) => {
                    good.push((name.clone(), Vec::new()));
                    dated.push((name, stamps));
                }
                Column::Dates(_) => {
                    let message = format!("the column `{name}` holds dates, and nothing asks for it by name");
                    drop(unreadable.insert(name, Unreadable { failure: Failure::plain("not-a-number", message, None), nearly: false }));
                }
            }
        }
        let texts = unreadable.keys().filter(|name| censored.iter().all(|c| c.0 != **name)).cloned().collect();
        let calendar =
            Calendar::of_table(&dated, &wanted.named, &wanted.model.program, wanted.dates.options(), wanted.fitting).map_err(|d| {
                let help = (d.code == "no-origin").then(|| DateArgs::NO_ORIGIN.to_string());
                Failure::plain(d.code, d.message, d.help.or(help))
            })?;
        let mut places = Vec::new();
        for (name, stamps) in dated {
            let Some(calendar) = calendar else { continue };
            let times = stamps.iter().map(|s| s.map_or(f64::NAN, |s| calendar.number(s.nanoseconds))).collect();
            let zoned = stamps.iter().flatten().any(|s| s.zoned);
            let zone = if zoned { "" } else { " (no zone is given)" };
            notes.borrow_mut().columns.push(format!("the dates in `{name}` are read as {}{zone}", calendar.words()));
            if let Some(place) = good.iter().position(|g| g.0 == name) {
                good[place].1 = times;
                places.push(place);
            }
        }
        let mut others: Vec<Other> = unreadable.iter().map(|(name, why)| Other { name: name.clone(), nearly: why.nearly }).collect();
        others.sort_by(|a, b| a.name.cmp(&b.name));
        let plain = |d: Diagnostic| Failure::plain(d.code, d.message, d.help);
        let table = Table::new(good).map_err(plain)?.beside(others).with_censored(censored);
        let Roles { time, target, sigma } = wanted.roles;
        let asked = Asked { named: &wanted.named, time, target, sigma, fitting: wanted.fitting };
        let table = table.in_units_of(&wanted.model.program, &asked);
        let table = table.map_err(|d| Failure::Wrong(Source::new("", ""), d.0))?;
        // A fit says it in its report.
        if let (Some(remark), false) = (table.remark(), wanted.fitting) {
            notes.borrow_mut().columns.push(remark.to_string());
        }
        // Headers with units have become names, in the same order.
        let dated = places.into_iter().filter_map(|place| table.names().get(place).cloned()).collect();
        let coded: HashMap<String, Vec<String>> = coded.into_iter().map(|(name, (labels, _))| (name.to_string(), labels)).collect();
        let table = coded.iter().fold(table, |table, (name, labels)| table.with_labels(name, labels.clone()));
        Ok(Whole { table, coded, calendar, dated, texts, unreadable, lines })
    }

    /// The names of the groups of a column, in the order of their numbers.
    pub(crate) fn groups(&self, column: Option<&str>) -> Vec<String> {
        column.map_or_else(Vec::new, |g| self.coded.get(g).cloned().unwrap_or_else(|| by_number(&self.table, g)))
    }

    /// The number that stands for a name in a column of groups, where the table has that name.
    pub(crate) fn number_of(&self, column: &str, name: &str) -> Option<f64> {
        match self.coded.get(column) {
            Some(names) => names.iter().position(|n| *n == group_name(name)).map(|k| k as f64),
            None => name.parse().ok().filter(|x| self.table.column(column).is_some_and(|all| all.contains(x))),
        }
    }

    /// The names in a column of groups, row by row.
    pub(crate) fn names_in(&self, column: &str) -> Option<Vec<String>> {
        let numbers = self.table.column(column)?;
        Some(numbers.iter().map(|&x| self.table.label(column, x)).collect())
    }

    /// The row as the fit counts it, with its line in the file.
    fn located(&self, message: &str) -> String {
        let Some((number, rest)) =
            message.strip_prefix("row ").and_then(|m| m.split_once(|c: char| !c.is_ascii_digit()).map(|(n, _)| (n, &m[n.len()..])))
        else {
            return message.to_string();
        };
        match (number.parse::<usize>(), self.lines.is_empty()) {
            (Ok(row), false) => {
                let shift = self.lines.iter().take_while(|l| l.0 < row).last().map_or(0, |l| l.1);
                format!("row {row} (line {}){rest}", row as u64 + shift)
            }
            _ => message.to_string(),
        }
    }

    /// What went wrong with a fit or a prediction: mistakes in the model with their place in it, and instead of a column that is missed
    /// though it is there, the reason why it could not be read.
    pub(crate) fn blame(mut self, model: &Compiled, mut errors: Diagnostics, target: Option<&str>) -> Failure {
        let missing = errors
            .0
            .iter()
            .filter(|d| d.code == "missing-column")
            .filter_map(|d| Some((d.message.split('`').nth(1)?.to_string(), d.help.clone())));
        for (name, help) in missing.collect::<Vec<_>>() {
            if let Some(why) = self.unreadable.remove(&name) {
                return help.iter().fold(why.failure, |failure, help| failure.with_help(help));
            }
        }
        // States and observables are explained by columns of their names; a formula by any that nothing else asks for.
        let formula = model.program.kind() == ModelKind::Expression && model.program.observables().is_none();
        if formula && errors.0.iter().any(|d| d.code == "no-target") && target.is_none() {
            let mut candidates: Vec<String> = self.unreadable.keys().cloned().collect();
            candidates.sort_by_key(|name| (!self.unreadable[name].nearly, name.clone()));
            // The column that would have been chosen, were it not for a cell.
            let nearly = candidates.iter().filter(|name| self.unreadable[*name].nearly).count();
            if let Some(name) = candidates.first().filter(|_| candidates.len() == 1 || nearly == 1) {
                return self.unreadable.remove(name).map_or_else(|| Failure::Wrong(Source::new("", ""), vec![]), |why| why.failure);
            }
            let reasons: Vec<String> = candidates.iter().take(3).filter_map(|name| self.unreadable[name].failure.message()).collect();
            if let (Some(error), false) = (errors.0.iter_mut().find(|d| d.code == "no-target"), reasons.is_empty()) {
                error.help = Some(format!("{}; {}", error.help.as_deref().unwrap_or("name it with --target"), reasons.join("; ")));
            }
        }
        let located = errors.0.iter().any(|d| d.span != Default::default());
        let named = errors.0.into_iter().map(|d| Diagnostic { message: self.located(&d.message), ..d }).collect();
        if located { Failure::program(&model.source, Diagnostics(named)) } else { Failure::Wrong(Source::new("", ""), named) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_the_groups_that_a_fit_tells_apart() {
        let column = vec![3.0, -0.0, 0.0, 3.0, 1.5, f64::NAN];
        let table = Table::new([("g".to_string(), column)]).expect("a column");
        let names = by_number(&table, "g");
        assert_eq!((&names[..3], names.len()), (&["3".to_string(), "0".into(), "1.5".into()][..], table.groups("g").1));
        // As many groups as rows.
        let table = Table::new([("g".to_string(), (0..200_000).map(f64::from).collect())]).expect("a column");
        assert_eq!(by_number(&table, "g").len(), 200_000);
    }
}
