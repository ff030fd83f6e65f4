//! The rows of a fit that are not held in memory. In: a table, or many, and what of them matters; out: their rows, as often as the fit asks
//! for them, a chunk at a time.
//! Invariants: tables are read in the order of their names, rows as they stand; a column is read by the name it has in each of them, in the
//! unit it has there; a column holds dates, or numbers, in all of them, as its first rows do; where a row has a mistake, the error names
//! its table, row and line; a file that is not what it was when it was opened is an error.

use crate::commands::eval_many;
use crate::commands::fit_args::{FitArgs, Streaming};
use crate::commands::fit_table::{Wanted, Whole};
use crate::context::{Failure, reason};
use crate::core::Compiled;
use crate::table::dates::{dates_alone, numbers_alone};
use crate::table::dialect::TableArgs;
use crate::table::{self, Again, Chunk, Reader, rows_for};
use neural_compiler::units::Conversion;
use neural_compiler::units::header::{self, Asked};
use neural_compiler::{Diagnostic, Diagnostics, Program};
use neural_compiler_fit::dates::Calendar;
use neural_compiler_fit::{Options, Part, Rows, Table, save, streams};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files larger than this are not held in memory if they need not be.
const LARGE: u64 = 1 << 30;

/// The tables of a fit whose rows are not in memory.
pub(crate) struct Tables {
    pub(crate) paths: Vec<String>,
    /// Whether it is one file that `--data` names itself, which can be held in memory too.
    alone: bool,
    /// Whether nobody asked for it: the file is a large one.
    by_itself: bool,
}

impl Tables {
    fn one(path: &str, by_itself: bool) -> Tables {
        Tables { paths: vec![path.to_string()], alone: true, by_itself }
    }
}

/// Advice about something that needs all rows in memory, with the option that holds them there.
fn or_hold(help: Option<String>) -> String {
    match help {
        Some(help) => format!("{help}; or hold the rows in memory: --stream=never"),
        None => "--stream=never holds the rows in memory".into(),
    }
}

/// The tables of a fit that is done on rows that are not in memory; `None`: it is one in memory.
pub(crate) fn tables(args: &FitArgs, model: &Compiled, options: &Options<'_>) -> Result<Option<Tables>, Failure> {
    let data = &args.how.from.data;
    let many = eval_many::found(data)?;
    let possible = || {
        let plot = args.plot.as_ref().map(|_| Diagnostic::error("needs-rows", Default::default(), "a plot needs all rows in memory"));
        let found = streams(&model.program, options).err().map_or(vec![], |e| e.0).into_iter().chain(plot);
        let found: Vec<Diagnostic> = match many {
            Some(_) => found.collect(),
            None => found.map(|d| Diagnostic { help: Some(or_hold(d.help)), ..d }).collect(),
        };
        if found.is_empty() { Ok(()) } else { Err(Failure::program(&model.source, Diagnostics(found))) }
    };
    match (&many, args.stream) {
        (Some(_), Streaming::Never) => {
            Err(Failure::Usage(format!("`{data}` names many tables, whose rows are not held in memory: leave --stream=never out")))
        }
        (Some(pieces), _) => possible().map(|()| {
            Some(Tables { paths: pieces.iter().map(|p| p.data.display().to_string()).collect(), alone: false, by_itself: false })
        }),
        (None, Streaming::Always) => possible().map(|()| Some(Tables::one(data, false))),
        (None, Streaming::Never) => Ok(None),
        (None, Streaming::Auto) => {
            let large = data != "-" && Path::new(data).metadata().is_ok_and(|m| m.is_file() && m.len() > LARGE);
            Ok((large && possible().is_ok()).then(|| Tables::one(data, true)))
        }
    }
}

/// A table that is read again and again.
struct Source {
    path: String,
    again: Mutex<Again>,
    /// What changes with every change of its file; none of what is kept.
    stamp: Option<Value>,
}

impl Source {
    fn open(path: &str, args: &TableArgs) -> Result<Source, Failure> {
        let stamp = Source::stamp(path);
        Ok(Source { path: path.to_string(), again: Mutex::new(Again::new(path, args)?), stamp })
    }

    fn stamp(path: &str) -> Option<Value> {
        let data = Path::new(path).metadata().ok().filter(|m| m.is_file() && path != "-")?;
        Some(eval_many::stamp(&data))
    }

    fn again(&self) -> MutexGuard<'_, Again> {
        self.again.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error unless its file is what it was when it was opened.
    fn unchanged(&self) -> Result<(), Failure> {
        if Source::stamp(&self.path) == self.stamp {
            return Ok(());
        }
        let help = "fit it when nothing writes to it any more";
        Err(Failure::plain("table-changed", "the table changed while it was read", Some(help.into())))
    }

    fn sha256(&self) -> Result<String, Failure> {
        let file = self.again().bytes()?;
        let found = save::sha256(file).map_err(|e| table::cannot_read(&self.path, reason(&e)))?;
        self.unchanged().map(|()| found)
    }
}

/// Tables that are read again and again.
pub(crate) struct Stream<'a> {
    program: &'a Program,
    tables: Vec<Source>,
    named: Vec<&'a str>,
    asked: Asked<'a>,
    calendar: Option<Calendar>,
    /// Columns that hold dates, by name, and headers of those that hold neither dates nor numbers.
    dated: Vec<String>,
    texts: HashSet<String>,
    /// What to do about a date in another column.
    astray: String,
}

impl<'a> Stream<'a> {
    /// Begins with the first rows of the first of some tables: these rows, and where all of them come from. `None`: a large file that is
    /// held in memory all the same. `say` is given what is to be said of the first table.
    pub(crate) fn begin(
        tables: &Tables,
        args: &TableArgs,
        wanted: &Wanted<'a>,
        say: impl FnOnce(&Reader),
    ) -> Result<Option<(Whole, Stream<'a>)>, Failure> {
        let sources: Vec<Source> = tables.paths.iter().map(|path| Source::open(path, args)).collect::<Result<_, _>>()?;
        let Some(first) = sources.first() else { return Ok(None) };
        let mut reader = first.again().read()?;
        let whole = Whole::begin(&mut reader, wanted);
        let needs_all = whole.as_ref().is_ok_and(|whole| from_all_dates(whole, wanted));
        if needs_all && tables.by_itself {
            return Ok(None);
        }
        say(&reader);
        let whole = whole?;
        let hold = |help: String| if tables.alone { or_hold(Some(help)) } else { help };
        if needs_all {
            let message = "what dates count is found from all of them, which needs all rows in memory";
            return Err(Failure::plain("needs-rows", message, Some(hold("say it: --time-unit days --time-origin 2024-01-01".into()))));
        }
        let roles = wanted.roles;
        let stream = Stream {
            program: &wanted.model.program,
            tables: sources,
            named: wanted.named.clone(),
            asked: Asked { named: &[], time: roles.time, target: roles.target, sigma: roles.sigma, fitting: wanted.fitting },
            calendar: whole.calendar,
            dated: whole.dated.clone(),
            texts: whole.texts.clone(),
            astray: hold("a column of dates has some among the first rows of the first table, and this one has none there".into()),
        };
        Ok(Some((whole, stream)))
    }

    /// A SHA-256 of all bytes, and of what: of one file, or of the SHA-256 of each of many.
    pub(crate) fn sha256(&self) -> Result<(String, &'static str), Failure> {
        let many = self.tables.len() > 1;
        let one = |table: &Source| table.sha256().map_err(|e| if many { e.within(&table.path) } else { e });
        let all: Vec<String> = self.tables.iter().map(one).collect::<Result<_, _>>()?;
        match &all[..] {
            [only] => Ok((only.clone(), "file")),
            many => Ok((save::sha256(many.join("\n").as_bytes())?, "files")),
        }
    }

    /// Hands on the rows of one of the tables; whether more are wanted.
    fn rows_of(&self, source: &Source, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<bool, Failure> {
        let mut reader = source.again().read()?;
        let headers = reader.columns().to_vec();
        // As in memory, what a column is called is a matter of those that can be read.
        let read: Vec<usize> = (0..headers.len()).filter(|&i| !headers[i].is_empty() && !self.texts.contains(&headers[i])).collect();
        let asked = Asked { named: &self.named, ..self.asked };
        let mistaken = |d: Diagnostics| Failure::Wrong(crate::render::Source::new("", ""), d.0);
        let said = header::columns(self.program, read.iter().map(|&i| headers[i].as_str()), &asked).map_err(mistaken)?;
        let place = |name: &String| {
            let found = said.iter().position(|c| c.name == *name);
            found.map(|i| (read[i], said[i].conversion.clone())).ok_or_else(|| {
                Failure::plain(
                    "missing-column",
                    format!("the data have no column `{name}`"),
                    Some("every table needs the same columns".into()),
                )
            })
        };
        let places: Vec<(usize, Option<Conversion>)> = columns.iter().map(place).collect::<Result<_, _>>()?;
        reader.only(&places.iter().map(|p| p.0).collect::<Vec<_>>());
        let (most, many) = (rows_for(headers.len()), self.tables.len() > 1);
        let mut before = 0;
        while let Some(chunk) = reader.next(most)? {
            let mut read = Vec::with_capacity(columns.len());
            for (name, (column, conversion)) in columns.iter().zip(&places) {
                let numbers = match self.calendar.filter(|_| self.dated.contains(name)) {
                    Some(calendar) => dates_alone(chunk, *column, calendar),
                    None => numbers_alone(chunk, *column, &self.astray),
                };
                let mut numbers = numbers.map_err(|e| e.failure(&chunk.place(before, e.row), &headers[*column]))?;
                if let Some(conversion) = conversion {
                    numbers.iter_mut().for_each(|x| *x = conversion.apply(*x));
                }
                read.push((name.clone(), numbers));
            }
            let table = Table::new(read).map_err(|d| Failure::plain(d.code, d.message, d.help))?;
            let part = Part { of: many.then(|| source.path.clone()), before: before as usize, lines: lines(chunk, before) };
            before += chunk.rows() as u64;
            if !take(table.part_of(part)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether what the dates of a table count would be found from all of them: it must not depend on which of them come first.
fn from_all_dates(first: &Whole, wanted: &Wanted<'_>) -> bool {
    let program = &wanted.model.program;
    let said =
        |calendar: Calendar| first.table.names().iter().any(|n| matches!(wanted.dates.said(program, n), Ok(Some(c)) if c == calendar));
    first.calendar.is_some_and(|calendar| !said(calendar))
}

/// From which rows of a chunk on lines are how much further down than rows.
fn lines(chunk: Chunk<'_>, before: u64) -> Vec<(usize, u64)> {
    let mut found: Vec<(usize, u64)> = Vec::new();
    for row in 0..chunk.rows() {
        let Some(line) = chunk.line(row) else { break };
        let shift = line - (before + row as u64 + 1);
        if found.last().is_none_or(|l| l.1 != shift) {
            found.push((row, shift));
        }
    }
    found
}

impl Rows for Stream<'_> {
    fn pass(&self, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics> {
        for table in &self.tables {
            let found = match self.rows_of(table, columns, take) {
                Ok(false) => Ok(false),
                // What looks like a mistake in the rows may be another table by now.
                whole => table.unchanged().and(whole),
            };
            let found = if self.tables.len() > 1 { found.map_err(|e| e.within(&table.path)) } else { found };
            match found {
                Ok(true) => {}
                Ok(false) => break,
                Err(Failure::Wrong(_, all)) => return Err(Diagnostics(all)),
                Err(e) => {
                    let message = e.message().unwrap_or_else(|| format!("cannot read `{}`", table.path));
                    return Err(Diagnostic::error("cannot-read", Default::default(), message).into());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_between_passes_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("a file");
        let program = neural_compiler::compile("(param k 1) (* k x)", &Default::default()).expect("a program");
        let said = |names: &[&str], change: &dyn Fn()| {
            names.iter().for_each(|name| write(name, "x,y,z\n1,2,a\n2,4,b\n"));
            let open = |name: &&str| Source::open(&path(name), &TableArgs::default()).unwrap_or_else(|e| panic!("{:?}", e.message()));
            let stream = Stream {
                program: &program,
                tables: names.iter().map(open).collect(),
                named: vec!["y"],
                asked: Asked { named: &[], time: None, target: Some("y"), sigma: None, fitting: true },
                calendar: None,
                dated: vec![],
                texts: ["z".to_string()].into(),
                astray: String::new(),
            };
            let pass = || {
                let mut rows = 0;
                let columns = ["x".to_string(), "y".to_string()];
                let found = stream.pass(&columns, &mut |part| {
                    rows += part.rows();
                    true
                });
                found.map(|()| rows).map_err(|e| (e.0[0].code, e.0[0].message.clone()))
            };
            assert_eq!(pass(), Ok(2 * names.len()));
            change();
            let sha256 = stream.sha256().err().and_then(|e| e.message());
            (pass().expect_err("a change"), sha256)
        };
        // A cell that nobody reads, so that rows and numbers are the same; what is saved would have the hash of another table.
        let (found, sha256) = said(&["one.csv"], &|| write("one.csv", "x,y,z\n1,2,a\n2,4,bb\n"));
        assert_eq!(found, ("table-changed", "the table changed while it was read".into()));
        assert_eq!(sha256.as_deref(), Some("the table changed while it was read"));
        let (found, _) = said(&["a.csv", "b.csv"], &|| write("b.csv", "x,y,z\n1,oops,a\n"));
        assert_eq!(found, ("table-changed", format!("`{}`: the table changed while it was read", path("b.csv"))));
        let (found, _) = said(&["gone.csv"], &|| std::fs::remove_file(path("gone.csv")).expect("a file"));
        assert_eq!(found.0, "table-changed");
    }
}
