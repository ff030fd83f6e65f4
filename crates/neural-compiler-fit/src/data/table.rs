//! Data as columns of numbers. In: named columns; out: the same, with every defect named by row and column.
//! Invariant: rows are counted from 1 for people.

use crate::optimise::{all_finite, extent};
use crate::support::memory;
use neural_compiler::diagnostic::did_you_mean;
use neural_compiler::units::header::{self, Asked};
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Named columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// Where the column of a name is: tables have many.
    places: HashMap<String, usize>,
    others: Vec<Other>,
    /// Columns of numbers some of which are known from one side only.
    censored: HashMap<String, Cells>,
    /// What the numbers of a column stand for, where they stand for texts.
    labels: HashMap<String, Vec<String>>,
    /// What the user should know of how its headers were read.
    remark: Option<String>,
    /// Where its rows come from, if they are part of something longer.
    part: Option<Part>,
}

/// Where some rows come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The table they are in, where there are many.
    pub of: Option<String>,
    /// Rows of that table before them.
    pub before: usize,
    /// In a text: from this row of the part on, lines are so much further down than rows.
    pub lines: Vec<(usize, u64)>,
}

impl Part {
    /// One of the rows in words, by its number among all rows that come before and after it.
    fn row(&self, i: usize) -> String {
        let number = self.before + i + 1;
        let shift = self.lines.iter().take_while(|l| l.0 <= i).last().map_or(0, |l| l.1);
        let line = if self.lines.is_empty() { String::new() } else { format!(" (line {})", number as u64 + shift) };
        let of = self.of.as_ref().map_or(String::new(), |of| format!("`{of}`, "));
        format!("{of}row {number}{line}")
    }
}

/// Numbers of a column, and what each cell says of them.
type Cells = (Vec<f64>, Vec<Side>);

/// What a cell says of the value it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Side {
    /// The value.
    #[default]
    Seen,
    /// That it lies below a number: `<0.5`.
    Below,
    /// That it lies above a number: `>100`.
    Above,
}

impl Side {
    /// The other side.
    fn opposite(self) -> Side {
        match self {
            Side::Seen => Side::Seen,
            Side::Below => Side::Above,
            Side::Above => Side::Below,
        }
    }
}

/// A cell that says from which side a value is known, such as `<0.5`: the side and the text of the number.
pub fn censored(cell: &str) -> Option<(Side, &str)> {
    let cell = cell.trim();
    let side = |mark: char, side: Side| cell.strip_prefix(mark).map(|number| (side, number.trim()));
    side('<', Side::Below).or_else(|| side('>', Side::Above))
}

/// The name of a group as it is compared: what is written, but for the `.0` of whole numbers, which other programs put there. It depends on
/// nothing else in the table, so that a name is the same in all tables; 01 and 1, 1.1 and 1.10 are two.
pub fn group_name(text: &str) -> String {
    let whole = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    match text.split_once('.') {
        Some((digits, zeros)) if whole(digits.strip_prefix('-').unwrap_or(digits)) && whole(zeros) && zeros.bytes().all(|b| b == b'0') => {
            if digits == "-0" {
                "0".into()
            } else {
                digits.into()
            }
        }
        _ => text.into(),
    }
}

/// A column that is in the data and holds something else than numbers. Where a model asks for it, it is missed, never passed over.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// What it is called.
    pub name: String,
    /// Its first value is a number: the column is one of numbers, but for a cell.
    pub nearly: bool,
}

/// Numbers whose squares, and sums of many of those, stay in the range; so do those of one over it.
const SQUARES: f64 = 1e145;

fn error(code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, Default::default(), message)
}

impl Drop for Table {
    fn drop(&mut self) {
        self.columns.drain(..).for_each(memory::give);
    }
}

impl Table {
    /// A table of these columns; they must be equally long and have different names.
    pub fn new(columns: impl IntoIterator<Item = (String, Vec<f64>)>) -> Result<Table, Diagnostic> {
        let (names, columns): (Vec<String>, Vec<Vec<f64>>) = columns.into_iter().unzip();
        let mut places = HashMap::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            match places.entry(name.clone()) {
                Entry::Occupied(_) => return Err(error("duplicate-column", format!("there are two columns `{name}`"))),
                Entry::Vacant(place) => drop(place.insert(i)),
            }
            if columns[i].len() != columns[0].len() {
                let message = format!("the column `{name}` has {} rows, `{}` has {}", columns[i].len(), names[0], columns[0].len());
                return Err(error("uneven-columns", message));
            }
        }
        Ok(Table { names, columns, places, others: Vec::new(), censored: HashMap::new(), labels: HashMap::new(), remark: None, part: None })
    }

    /// The table as a program takes it: headers like `T [degC]` become names, and numbers are in the units the program declares.
    pub fn in_units_of(mut self, program: &Program, asked: &Asked<'_>) -> Result<Table, Diagnostics> {
        let headers = std::mem::take(&mut self.names);
        let mut censored: Vec<(String, Cells)> = std::mem::take(&mut self.censored).into_iter().collect();
        censored.sort_by(|a, b| a.0.cmp(&b.0));
        let all: Vec<&str> = headers.iter().chain(censored.iter().map(|c| &c.0)).map(String::as_str).collect();
        let said = header::columns(program, all.iter().copied(), asked)?;
        let remark = header::remark(all.iter().copied(), &said);
        let names: HashMap<String, String> = all.iter().map(|h| h.to_string()).zip(said.iter().map(|c| c.name.clone())).collect();
        let renamed = |name: String| names.get(&name).cloned().unwrap_or(name);
        for (column, numbers) in said.iter().zip(&mut self.columns) {
            if let Some(conversion) = &column.conversion {
                numbers.iter_mut().for_each(|x| *x = conversion.apply(*x));
            }
        }
        for (column, (_, (numbers, sides))) in said[headers.len()..].iter().zip(&mut censored) {
            let Some(conversion) = &column.conversion else { continue };
            numbers.iter_mut().for_each(|x| *x = conversion.apply(*x));
            // A larger pH is less acid: what lay below lies above.
            if conversion.apply(1.0) > conversion.apply(2.0) {
                sides.iter_mut().for_each(|side| *side = side.opposite());
            }
        }
        let others = std::mem::take(&mut self.others).into_iter().map(|o| Other { name: renamed(o.name), ..o }).collect();
        let labels = std::mem::take(&mut self.labels).into_iter().map(|(name, texts)| (renamed(name), texts)).collect();
        let columns = said.iter().map(|c| c.name.clone()).zip(std::mem::take(&mut self.columns));
        let mut table = Table::new(columns)?.beside(others);
        table.part = self.part.take();
        table.censored = censored.into_iter().map(|(name, cells)| (renamed(name), cells)).collect();
        table.labels = labels;
        table.remark = remark;
        Ok(table)
    }

    /// The table as a part of something longer.
    pub fn part_of(mut self, part: Part) -> Table {
        self.part = Some(part);
        self
    }

    /// The table it is a part of, where there are many.
    pub(crate) fn of_table(&self) -> Option<&str> {
        self.part.as_ref()?.of.as_deref()
    }

    /// A row in words: `row 3`, and where it is a part of something longer its place in that.
    pub fn row(&self, i: usize) -> String {
        self.part.as_ref().map_or_else(|| format!("row {}", i + 1), |part| part.row(i))
    }

    /// What the user should know of how its headers were read, in a sentence.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// The table, with columns beside it that hold something else than numbers.
    pub fn beside(mut self, others: Vec<Other>) -> Table {
        self.others = others;
        self
    }

    /// The table, with columns beside it in which some values are known from one side only: name, numbers, and what each cell says.
    pub fn with_censored(mut self, columns: impl IntoIterator<Item = (String, Vec<f64>, Vec<Side>)>) -> Table {
        for (name, values, sides) in columns {
            if self.others.iter().all(|o| o.name != name) {
                self.others.push(Other { name: name.clone(), nearly: true });
            }
            self.censored.insert(name, (values, sides));
        }
        self
    }

    /// A column in which some values are known from one side only.
    pub fn censored(&self, name: &str) -> Option<(&[f64], &[Side])> {
        self.censored.get(name).map(|(values, sides)| (&values[..], &sides[..]))
    }

    /// The table, with the texts that the numbers 0, 1, … of a column stand for.
    pub fn with_labels(mut self, column: &str, labels: Vec<String>) -> Table {
        self.labels.insert(column.to_string(), labels);
        self
    }

    /// The table, its numbers standing for the same texts as those of another.
    pub(crate) fn labelled_as(mut self, other: &Table) -> Table {
        self.labels.clone_from(&other.labels);
        self
    }

    /// The table with other numbers in a column that it has.
    pub(crate) fn with_column(mut self, name: &str, numbers: Vec<f64>) -> Table {
        if let Some(&place) = self.places.get(name) {
            memory::give(std::mem::replace(&mut self.columns[place], numbers));
        }
        self
    }

    /// What a number of a column stands for.
    pub fn label(&self, column: &str, x: f64) -> String {
        let text = self.labels.get(column).and_then(|l| l.get(x as usize)).cloned();
        text.unwrap_or_else(|| neural_compiler::number_text(x))
    }

    /// Whether there is a column of this name, of numbers or not.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.column(name).is_some() || self.others.iter().any(|o| o.name == name)
    }

    /// The columns of numbers but for a cell.
    pub(crate) fn nearly_numbers(&self) -> impl Iterator<Item = &str> {
        self.others.iter().filter(|o| o.nearly).map(|o| o.name.as_str())
    }

    /// A table of copies of these columns.
    pub fn copied<'a>(columns: impl IntoIterator<Item = (String, &'a [f64])>) -> Result<Table, Diagnostic> {
        Table::new(columns.into_iter().map(|(name, column)| (name, memory::joined(&[column]))))
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().or_else(|| self.censored.values().next().map(|c| &c.0)).map_or(0, Vec::len)
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        self.places.get(name).map(|&i| self.columns[i].as_slice())
    }

    /// Whether there is a column of this name, or columns for the numbers of a vector or matrix of this name.
    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
            || self.names.iter().any(|n| n.strip_prefix(name).is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']')))
    }

    /// The columns that make up a value of a shape, number by number.
    pub fn columns_of(&self, name: &str, shape: Shape) -> Result<Vec<&[f64]>, Diagnostic> {
        crate::model::layout::element_names(name, shape).iter().map(|n| self.column(n).ok_or_else(|| self.missing(n))).collect()
    }

    /// The numbers a vector of this name has in the table.
    pub fn vector_length(&self, name: &str) -> Option<u32> {
        (0..).find(|i| self.column(&format!("{name}[{i}]")).is_none()).filter(|&n| n > 0)
    }

    /// An error about a column that is not there.
    pub fn missing(&self, name: &str) -> Diagnostic {
        if let Some((values, sides)) = self.censored.get(name) {
            let row = sides.iter().position(|s| *s != Side::Seen).unwrap_or(0);
            let sign = if sides[row] == Side::Below { '<' } else { '>' };
            let message = format!("{}, column `{name}`: `{sign}{}` is a value known from one side only", self.row(row), values[row]);
            let help = format!(
                "such values count by their probability where the model says how they are distributed: (observe {name} … :noise (normal s))"
            );
            return error("censored-value", message).help(help);
        }
        if self.lists(name) {
            return error("missing-column", format!("the column `{name}` holds something else than numbers"));
        }
        let bare = |n: &str| n.split(['(', '[', '/']).next().unwrap_or(n).trim().to_lowercase();
        // Texts too: what tells groups apart may be names.
        let known = || self.names.iter().chain(self.others.iter().map(|o| &o.name));
        let with_unit = known().find(|n| *n != name && bare(n) == name.to_lowercase());
        let help = match with_unit {
            Some(found) => Some(format!("there is a column `{found}`; columns bind by their exact name, so rename it to `{name}`")),
            None => did_you_mean(name, known().map(String::as_str)).or_else(|| {
                let shown: Vec<String> = known().take(12).map(|n| format!("`{n}`")).collect();
                Some(format!("the columns are {}", shown.join(", ")))
            }),
        };
        error("missing-column", format!("the data have no column `{name}`")).maybe_help(help)
    }

    /// The first number of a column that is none.
    pub fn finite(&self, name: &str) -> Result<(), Diagnostic> {
        self.finite_except(name, &[])
    }

    /// The first number of a column that is none, in rows that are not to be left out; `without`: those that are, in order.
    pub fn finite_except(&self, name: &str, without: &[usize]) -> Result<(), Diagnostic> {
        let Some(column) = self.column(name) else { return Err(self.missing(name)) };
        if all_finite(column) {
            return Ok(());
        }
        let first = (0..column.len()).find(|i| !column[*i].is_finite() && without.binary_search(i).is_err());
        match first {
            None => Ok(()),
            Some(i) => {
                let what = if column[i].is_nan() { "the value is missing or not a number" } else { "the value is infinite" };
                Err(error("bad-value", format!("{}, column `{name}`: {what}", self.row(i))).help("remove the row, or fill the value in"))
            }
        }
    }

    /// The rows in which one of these columns has no value, in order; a value that is infinite is a mistake.
    pub fn rows_without(&self, names: &[String]) -> Result<Vec<usize>, Diagnostic> {
        let mut rows = Vec::new();
        for name in names {
            let Some(column) = self.column(name) else { return Err(self.missing(name)) };
            if all_finite(column) {
                continue;
            }
            if let Some(i) = column.iter().position(|x| x.is_infinite()) {
                return Err(error("bad-value", format!("{}, column `{name}`: the value is infinite", self.row(i)))
                    .help("remove the row, or fill the value in"));
            }
            rows.extend((0..column.len()).filter(|&i| column[i].is_nan()));
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }

    /// The group of each row, counted from 0 in the order of appearance, and how many there are.
    pub fn groups(&self, name: &str) -> (Vec<usize>, usize) {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let column = self.column(name).unwrap_or(&[]);
        let all = column.iter().map(|x| {
            let next = numbers.len();
            // 0 and -0 are one group.
            *numbers.entry((x + 0.0).to_bits()).or_insert(next)
        });
        (all.collect(), numbers.len())
    }

    /// An error unless squares of the differences in a column, times a weight, are numbers of full precision.
    pub(crate) fn squares(&self, name: &str, weight: f64) -> Result<(), Diagnostic> {
        let there: Vec<f64> = self.column(name).unwrap_or(&[]).iter().copied().filter(|x| x.is_finite()).collect();
        in_range(name, extent(&there), weight)
    }

    /// Some of the rows.
    pub fn select(&self, rows: &[usize]) -> Table {
        let columns = self.columns.iter().map(|c| rows.iter().map(|&i| c[i]).collect()).collect();
        let censored = self.censored.iter().map(|(name, (values, sides))| {
            (name.clone(), (rows.iter().map(|&i| values[i]).collect(), rows.iter().map(|&i| sides[i]).collect()))
        });
        let (names, places, others) = (self.names.clone(), self.places.clone(), self.others.clone());
        Table {
            names,
            columns,
            places,
            others,
            censored: censored.collect(),
            labels: self.labels.clone(),
            remark: self.remark.clone(),
            part: None,
        }
    }
}

/// An error unless squares of the differences between such numbers, times a weight, are numbers of full precision.
pub(crate) fn in_range(name: &str, (low, high): (f64, f64), weight: f64) -> Result<(), Diagnostic> {
    let (apart, size) = ((high - low) * weight, low.abs().max(high.abs()) * weight);
    let message = match () {
        () if high <= low => return Ok(()),
        () if apart < 1.0 / SQUARES => {
            format!("the numbers of the column `{name}` differ by at most {:e}: squares of that are too small to compute with", high - low)
        }
        () if size > SQUARES => {
            format!("the column `{name}` has numbers as large as {:e}: squares of that are too large to compute with", size / weight)
        }
        () => return Ok(()),
    };
    let by = if size > SQUARES { -size.log10().floor() } else { -apart.log10().floor() };
    Err(error("out-of-range", message).help(format!("give it in another unit: multiply it by 1e{by}")))
}
