//! The rows of a fit that are not held in memory. In: a table, or many, and what of them matters; out: their rows, as often as the fit asks
//! for them, a chunk at a time.
//! Invariants: tables are read in the order of their names, rows as they stand; a column is read by the name it has in each of them, in the
//! unit it has there; where a row has a mistake, the error names its table, row and line.

use crate::commands::eval_many;
use crate::commands::fit_args::{FitArgs, Streaming};
use crate::commands::fit_table::{Wanted, Whole};
use crate::context::{Failure, reason};
use crate::core::Compiled;
use crate::table::dates::times;
use crate::table::{self, Again, Chunk, rows_for};
use neural_compiler::units::Conversion;
use neural_compiler::units::header::{self, Asked};
use neural_compiler::{Diagnostic, Diagnostics, Program};
use neural_compiler_fit::dates::Calendar;
use neural_compiler_fit::{Options, Part, Rows, Table, save, streams};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Files larger than this are not held in memory if they need not be.
const LARGE: u64 = 1 << 30;

/// The tables of a fit that is done on rows that are not in memory; `None`: it is one in memory.
pub(crate) fn tables(args: &FitArgs, model: &Compiled, options: &Options<'_>) -> Result<Option<Vec<String>>, Failure> {
    let data = &args.how.from.data;
    let many = eval_many::found(data)?;
    let possible = || {
        let plot = args.plot.as_ref().map(|_| Diagnostic::error("needs-rows", Default::default(), "a plot needs all rows in memory"));
        let found: Vec<Diagnostic> = streams(&model.program, options).err().map_or(vec![], |e| e.0).into_iter().chain(plot).collect();
        if found.is_empty() { Ok(()) } else { Err(Failure::program(&model.source, Diagnostics(found))) }
    };
    match (many, args.stream) {
        (Some(_), Streaming::Never) => {
            Err(Failure::Usage(format!("`{data}` names many tables, whose rows are not held in memory: leave --stream=never out")))
        }
        (Some(pieces), _) => possible().map(|()| Some(pieces.iter().map(|p| p.data.display().to_string()).collect())),
        (None, Streaming::Always) => possible().map(|()| Some(vec![data.clone()])),
        (None, Streaming::Never) => Ok(None),
        (None, Streaming::Auto) => {
            let large = data != "-" && Path::new(data).metadata().is_ok_and(|m| m.is_file() && m.len() > LARGE);
            Ok((large && possible().is_ok()).then(|| vec![data.clone()]))
        }
    }
}

/// Tables that are read again and again.
pub(crate) struct Stream<'a> {
    program: &'a Program,
    tables: Vec<(String, Mutex<Again>)>,
    named: Vec<&'a str>,
    asked: Asked<'a>,
    calendar: Option<Calendar>,
}

impl<'a> Stream<'a> {
    /// The tables of these paths, of which the first begins with `first`.
    pub(crate) fn new(tables: Vec<(String, Again)>, wanted: &Wanted<'a>, first: &Whole) -> Result<Stream<'a>, Failure> {
        let program = &wanted.model.program;
        // What dates count must not depend on which of them come first.
        let said =
            |calendar: Calendar| first.table.names().iter().any(|n| matches!(wanted.dates.said(program, n), Ok(Some(c)) if c == calendar));
        if first.calendar.is_some_and(|calendar| !said(calendar)) {
            let message = "what dates count is found from all of them, which needs all rows in memory";
            let help = "say it: --time-unit days --time-origin 2024-01-01";
            return Err(Failure::plain("needs-rows", message, Some(help.into())));
        }
        let roles = wanted.roles;
        let asked = Asked { named: &[], time: roles.time, target: roles.target, sigma: roles.sigma, fitting: wanted.fitting };
        let tables = tables.into_iter().map(|(name, again)| (name, Mutex::new(again))).collect();
        Ok(Stream { program, tables, named: wanted.named.clone(), asked, calendar: first.calendar })
    }

    /// A SHA-256 of all bytes, and of what: of one file, or of the SHA-256 of each of many.
    pub(crate) fn sha256(&self) -> Result<(String, &'static str), Failure> {
        let one = |(path, again): &(String, Mutex<Again>)| {
            let file = again.lock().unwrap_or_else(PoisonError::into_inner).bytes()?;
            save::sha256(file).map_err(|e| table::cannot_read(path, reason(&e)))
        };
        let all: Vec<String> = self.tables.iter().map(one).collect::<Result<_, _>>()?;
        match &all[..] {
            [only] => Ok((only.clone(), "file")),
            many => Ok((save::sha256(many.join("\n").as_bytes())?, "files")),
        }
    }

    /// Hands on the rows of one of the tables; whether more are wanted.
    fn rows_of(
        &self,
        (path, again): &(String, Mutex<Again>),
        columns: &[String],
        take: &mut dyn FnMut(Table) -> bool,
    ) -> Result<bool, Failure> {
        let mut reader = again.lock().unwrap_or_else(PoisonError::into_inner).read()?;
        let headers = reader.columns().to_vec();
        let asked = Asked { named: &self.named, ..self.asked };
        let mistaken = |d: Diagnostics| Failure::Wrong(crate::render::Source::new("", ""), d.0);
        let said = header::columns(self.program, headers.iter().map(String::as_str), &asked).map_err(mistaken)?;
        let place = |name: &String| {
            let found = said.iter().position(|c| c.name == *name);
            found.map(|i| (i, said[i].conversion.clone())).ok_or_else(|| {
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
                let mut numbers =
                    times(chunk, *column, self.calendar).map_err(|e| e.failure(&chunk.place(before, e.row), &headers[*column]))?;
                if let Some(conversion) = conversion {
                    numbers.iter_mut().for_each(|x| *x = conversion.apply(*x));
                }
                read.push((name.clone(), numbers));
            }
            let table = Table::new(read).map_err(|d| Failure::plain(d.code, d.message, d.help))?;
            let part = Part { of: many.then(|| path.clone()), before: before as usize, lines: lines(chunk, before) };
            before += chunk.rows() as u64;
            if !take(table.part_of(part)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
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
            let found = self.rows_of(table, columns, take);
            let found = if self.tables.len() > 1 { found.map_err(|e| e.within(&table.0)) } else { found };
            match found {
                Ok(true) => {}
                Ok(false) => break,
                Err(Failure::Wrong(_, all)) => return Err(Diagnostics(all)),
                Err(e) => {
                    let message = e.message().unwrap_or_else(|| format!("cannot read `{}`", table.0));
                    return Err(Diagnostic::error("cannot-read", Default::default(), message).into());
                }
            }
        }
        Ok(())
    }
}
