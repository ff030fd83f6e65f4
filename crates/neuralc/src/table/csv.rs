//! Tables as text: cells with a sign between them, in quotes where needed (RFC 4180, and what else is in use). In: bytes; out: chunks of
//! cells, kept as they were written; and back, with commas. Invariants: a row has as many cells as the header; no row is longer than
//! `LONGEST_ROW`, whatever the file (a quote that is never closed would otherwise swallow it whole); how numbers are written is learnt in
//! the order of the cells, whatever the chunks.

use super::cell::{self, CellError, Said};
use super::dialect::{Notes, Numbers, Separator, TableArgs, count};
use super::lines::{LONGEST_ROW, Lines};
use super::source::Source;
use super::{Chunk, Missing, Results, cannot_read, empty};
use crate::context::{Failure, reason};
use crate::value;
use csv::{ByteRecord, ErrorKind, ReaderBuilder, WriterBuilder};
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler_fit::dates::{self, Stamp};
use neural_compiler_fit::{Side, censored};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Write};
use std::rc::Rc;

/// Bytes after which a chunk is full.
const FULL: usize = 1 << 25;

/// The cells of some rows.
#[derive(Default)]
pub(crate) struct Rows {
    columns: usize,
    bytes: Vec<u8>,
    /// Where each cell ends and the next begins.
    ends: Vec<usize>,
    /// The line of each row in the file.
    lines: Vec<u64>,
    numbers: Numbers,
}

impl Rows {
    /// Rows of one column of texts, which are handed on as they are.
    pub(crate) fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Rows {
        let mut rows =
            Rows { columns: 1, bytes: Vec::new(), ends: Vec::new(), lines: Vec::new(), numbers: Numbers::new(&TableArgs::default()) };
        for text in texts {
            rows.bytes.extend_from_slice(text.as_bytes());
            rows.ends.push(rows.bytes.len());
            rows.lines.push(rows.ends.len() as u64);
        }
        rows
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The text of a cell.
    pub(super) fn cell(&self, row: usize, column: usize) -> &[u8] {
        let i = row * self.columns + column;
        &self.bytes[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]]
    }

    /// The text of a cell as it is handed on: a number with a decimal point and no groups, as new numbers beside it are written.
    pub(super) fn handed_on(&self, row: usize, column: usize) -> Cow<'_, [u8]> {
        let cell = self.cell(row, column);
        self.numbers.rewritten(cell).map_or(Cow::Borrowed(cell), |text| Cow::Owned(text.into_bytes()))
    }

    /// The line of a row in the file.
    pub(super) fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }

    pub(super) fn numbers_or_missing(&self, column: usize, out: &mut [f64]) -> Result<Missing, CellError> {
        let mut missing = Missing::default();
        for (row, out) in out.iter_mut().enumerate().take(self.len()) {
            *out = match cell::read(row, self.cell(row, column), &self.numbers)? {
                Said::Number(x) => x,
                Said::Missing(text) => missing.note(text),
            };
        }
        Ok(missing)
    }

    /// Numbers some of which are known from one side only, behind those that are known.
    pub(super) fn censored(&self, column: usize, values: &mut Vec<f64>, sides: &mut Vec<Side>) -> Result<(), CellError> {
        for row in 0..self.len() {
            let cell = self.cell(row, column);
            let (side, cell) = match str::from_utf8(cell).ok().and_then(censored) {
                Some((side, number)) => (side, number.as_bytes()),
                None => (Side::Seen, cell),
            };
            let value = match cell::read(row, cell, &self.numbers)? {
                Said::Number(x) => x,
                Said::Missing(text) if side != Side::Seen => return Err(CellError::missing(row, text)),
                Said::Missing(_) => f64::NAN,
            };
            values.push(value);
            sides.push(side);
        }
        Ok(())
    }

    pub(super) fn numbers<T: Real>(&self, column: usize, out: &mut [T], most: usize) -> Vec<CellError> {
        let mut wrong = Vec::new();
        for (row, out) in out.iter_mut().enumerate().take(self.len()) {
            match cell::read(row, self.cell(row, column), &self.numbers) {
                Ok(Said::Number(x)) => *out = T::from_f64(x),
                Ok(Said::Missing(text)) => wrong.push(CellError::missing(row, text)),
                Err(e) => wrong.push(e),
            }
            if wrong.len() >= most {
                break;
            }
        }
        wrong
    }

    pub(super) fn dates(&self, column: usize) -> Result<Vec<Option<Stamp>>, CellError> {
        let one = |row: usize| {
            let cell = self.cell(row, column).trim_ascii();
            let text = str::from_utf8(cell).unwrap_or("");
            match dates::parse(text) {
                Some(stamp) => Ok(Some(stamp)),
                None => match cell::read(row, cell, &self.numbers) {
                    Ok(Said::Missing(_)) => Ok(None),
                    _ => Err(CellError::wrong(row, format!("`{}` is not a date", text.chars().take(40).collect::<String>()))),
                },
            }
        };
        (0..self.len()).map(one).collect()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.lines.clear();
    }

    fn push(&mut self, record: &ByteRecord, line: u64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record.as_slice());
        self.ends.extend((0..self.columns).map(|i| start + record.range(i).map_or(0, |r| r.end)));
        self.lines.push(line);
    }
}

/// A text table being read.
pub(crate) struct Reader {
    path: String,
    size: Option<u64>,
    read: Rc<Cell<u64>>,
    live: bool,
    columns: Vec<String>,
    reader: csv::Reader<Lines>,
    record: ByteRecord,
    /// The record was read to see what it is, and is a row.
    first: bool,
    rows: Rows,
    /// Nobody said whether lines that begin with `#` are comments, and the table does not begin with one.
    may_comment: bool,
    notes: Rc<RefCell<Notes>>,
    /// Rows read so far.
    count: u64,
    /// What is wrong behind the rows of the chunk handed out last.
    failure: Option<Failure>,
}

impl Reader {
    pub(super) fn open(path: &str, spooled: Option<File>, args: &TableArgs, notes: Rc<RefCell<Notes>>) -> Result<Reader, Failure> {
        let shown = if path == "-" { "<stdin>" } else { path }.to_string();
        let Source { from, separator, comment, live, gzip, mark, size, read } = Source::open(path, &shown, spooled, args)?;
        {
            let mut notes = notes.borrow_mut();
            (notes.separator, notes.gzip, notes.mark) = (Some(separator), gzip, mark);
        }
        let delimiter = match separator {
            Separator::Byte(b) => b,
            Separator::Blanks => b'\t',
        };
        let lines = Lines::new(from, separator, comment);
        let reader =
            ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).buffer_capacity(1 << 18).from_reader(lines);
        let rows = Rows { numbers: Numbers::new(args), ..Rows::default() };
        let may_comment = comment.is_none() && args.comment.is_none();
        let record = ByteRecord::new();
        let (columns, failure) = Default::default();
        let mut this =
            Reader { path: shown, size, read, live, columns, reader, record, first: false, rows, may_comment, notes, count: 0, failure };
        if !this.read_record()? {
            return Err(empty(&this.path));
        }
        this.header(args)?;
        this.rows.columns = this.columns.len();
        Ok(this)
    }

    /// The names of the columns, from the first record or from the user.
    fn header(&mut self, args: &TableArgs) -> Result<(), Failure> {
        if !args.header.is_empty() {
            self.columns = args.header.iter().map(|n| n.trim().to_string()).collect();
            if self.columns.len() != self.record.len() {
                let message =
                    format!("--header names {} columns, the first row of `{}` has {}", self.columns.len(), self.path, self.record.len());
                return Err(Failure::plain("bad-header", message, None));
            }
            self.first = true;
            return Ok(());
        }
        for (i, name) in self.record.iter().enumerate() {
            let Ok(name) = str::from_utf8(name) else {
                let help = "save the table as UTF-8 text".to_string();
                return Err(Failure::plain(
                    "not-utf8",
                    format!("the name of column {} of `{}` is not UTF-8 text", i + 1, self.path),
                    Some(help),
                ));
            };
            self.columns.push(name.trim().to_string());
        }
        if self.columns.iter().all(|c| value::number(c).is_ok() || self.rows.numbers.plain(c.as_bytes()).is_some()) {
            let example: Vec<String> = (1..=self.columns.len().min(3)).map(|i| format!("c{i}")).collect();
            let more = if self.columns.len() > 3 { ",…" } else { "" };
            let help = format!(
                "the first row of the table must hold the names of its columns; if it has none: --header {}{more}",
                example.join(",")
            );
            return Err(Failure::plain("no-header", format!("the first row of `{}` holds numbers only", self.path), Some(help)));
        }
        Ok(())
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    pub(super) fn position(&self) -> u64 {
        self.read.get()
    }

    /// Whether the next row has to be waited for.
    fn at_rest(&self) -> bool {
        self.reader.position().byte() == self.reader.get_ref().seen.bytes
    }

    /// Reads a record; `false` at the end.
    fn read_record(&mut self) -> Result<bool, Failure> {
        self.reader.get_mut().seen.since_row = 0;
        let place = format!("row {}", self.count + 1);
        let there = self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
            ErrorKind::Io(e) if e.kind() == io::ErrorKind::QuotaExceeded => {
                let message = format!("{place} of `{}` is longer than {} MiB", self.path, LONGEST_ROW >> 20);
                Failure::plain("limit-row-size", message, Some("is there a quote that is never closed?".into()))
            }
            ErrorKind::Io(e) => cannot_read(&self.path, reason(&e)),
            other => cannot_read(&self.path, format!("{place}: {other:?}")),
        })?;
        let seen = &self.reader.get_ref().seen;
        self.notes.borrow_mut().comments = seen.comments;
        if seen.open_quote && self.at_rest() {
            let message = format!("`{}` ends inside of a cell in quotes", self.path);
            return Err(Failure::plain(
                "open-quote",
                message,
                Some("a quote is never closed, or a cell begins with a quote that should be doubled".into()),
            ));
        }
        Ok(there)
    }

    /// Reads a row into the record; its line, or `None` at the end.
    fn read(&mut self) -> Result<Option<u64>, Failure> {
        loop {
            if !std::mem::take(&mut self.first) && !self.read_record()? {
                return Ok(None);
            }
            let given = self.record.position().map_or(1, csv::Position::line);
            let line = self.reader.get_mut().seen.line(given);
            let whole = self.record.len() == self.columns.len();
            if self.may_comment && self.record.get(0).is_some_and(|c| c.starts_with(b"#")) {
                if whole {
                    let message = format!("{} begins with `#`, and has as many cells as a row", place(self.count + 1, line));
                    return Err(Failure::plain(
                        "ambiguous-comment",
                        message,
                        Some("say whether it is a comment: --comment '#' or --comment none".into()),
                    ));
                }
                self.notes.borrow_mut().comments += 1;
                self.reader.get_mut().seen.comments += 1;
                continue;
            }
            if !whole {
                return Err(self.ragged(line));
            }
            if self.columns.len() > 1 && self.record.as_slice().trim_ascii().is_empty() {
                self.notes.borrow_mut().empty_rows += 1;
                continue;
            }
            return Ok(Some(line));
        }
    }

    fn ragged(&self, line: u64) -> Failure {
        let (has, width) = (count(self.record.len() as u64, "cell", "cells"), self.columns.len());
        let place = place(self.count + 1, line);
        let (message, more) = match self.columns.get(self.record.len()) {
            Some(missing) => (format!("{place} has {has}, the header has {width}: column `{missing}` is missing"), ""),
            None => {
                let last = self.columns.last().map_or("", |c| c.as_str());
                (
                    format!("{place} has {has}, the header has {width}: there is more behind column `{last}`"),
                    "; for decimal commas: --decimal , --separator ';'",
                )
            }
        };
        Failure::plain("ragged-row", message, Some(format!("a comma inside a cell needs quotes around the cell{more}")))
    }

    pub(super) fn next(&mut self, rows: usize) -> Result<Option<&Rows>, Failure> {
        self.rows.clear();
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        while self.rows.len() < rows && self.rows.bytes.len() < FULL && !(self.live && self.rows.len() > 0 && self.at_rest()) {
            match self.read() {
                Ok(Some(line)) => {
                    if self.rows.numbers.open() {
                        self.rows.numbers.learn(self.record.iter());
                        self.notes.borrow_mut().numbers(&self.rows.numbers);
                    }
                    self.rows.push(&self.record, line);
                    self.count += 1;
                }
                Ok(None) => break,
                // The rows before it come first: mistakes are found in the order of the rows.
                Err(failure) if self.rows.len() > 0 => {
                    self.failure = Some(failure);
                    break;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok((self.rows.len() > 0).then_some(&self.rows))
    }
}

/// A row as people find it: counted among the rows, and as a line of the file.
pub(super) fn place(row: u64, line: u64) -> String {
    format!("row {row} (line {line})")
}

/// A CSV file being written.
pub(crate) struct Writer {
    writer: csv::Writer<Box<dyn Write + Send>>,
    text: String,
}

impl Writer {
    pub(super) fn new(sink: Box<dyn Write + Send>, columns: &[String], names: &[String]) -> Result<Writer, Failure> {
        let mut writer = WriterBuilder::new().buffer_capacity(1 << 18).from_writer(sink);
        writer.write_record(columns.iter().chain(names)).map_err(failed)?;
        Ok(Writer { writer, text: String::new() })
    }

    pub(super) fn write<T: Real>(&mut self, chunk: Chunk<'_>, results: &Results<'_, T>) -> Result<(), Failure> {
        let cells = match chunk {
            Chunk::Text(_) | Chunk::Bare(_) => Vec::new(),
            Chunk::Arrays(arrays) => arrays.texts()?,
        };
        let mut without = results.failed.iter().copied().peekable();
        let mut digits = ryu::Buffer::new();
        for row in 0..chunk.rows() {
            if let Chunk::Text(rows) = chunk {
                for column in 0..rows.columns {
                    self.writer.write_field(rows.handed_on(row, column)).map_err(failed)?;
                }
            }
            for column in &cells {
                self.text.clear();
                column.write(row, &mut self.text)?;
                self.writer.write_field(&self.text).map_err(failed)?;
            }
            let fails = without.next_if_eq(&row).is_some();
            for &(block, width) in &results.blocks {
                for &x in &block[row * width..(row + 1) * width] {
                    let text = match T::DTYPE {
                        _ if fails => "",
                        Dtype::F32 => digits.format(x.to_f64() as f32),
                        Dtype::F64 => digits.format(x.to_f64()),
                    };
                    self.writer.write_field(text).map_err(failed)?;
                }
            }
            self.writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
        Ok(())
    }

    /// Hands on what was written so far.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.writer.flush()?)
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        let mut sink = self.writer.into_inner().map_err(|e| io::Error::new(e.error().kind(), e.error().to_string()))?;
        Ok(sink.flush()?)
    }
}

fn failed(e: csv::Error) -> Failure {
    match e.into_kind() {
        ErrorKind::Io(e) => e.into(),
        other => io::Error::other(format!("{other:?}")).into(),
    }
}
