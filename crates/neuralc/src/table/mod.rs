//! Tables, a chunk of rows at a time. In: a CSV or Parquet file (or standard input); out: chunks whose columns can be read as
//! numbers; and the way back, chunks with new columns into a file of either kind (or standard output).
//! Invariants: at most one chunk is in memory, so memory depends on the width of the table and not on its length; columns of
//! the table are handed on as they are; a number is written so that it reads back to the same bits.

mod csv;
mod parquet;
mod target;

pub(crate) use target::Target;

use crate::context::{Failure, reason};
use arrow_array::RecordBatch;
use neural_compiler::ops::real::Real;
use std::collections::HashSet;
use std::path::Path;

/// Most rows of a chunk.
pub(crate) const MOST_ROWS: usize = 65_536;
/// Most numbers of a chunk, old and new columns together: wide tables get fewer rows.
const MOST_CELLS: usize = 1 << 22;

/// The rows of a chunk, for a table with so many columns old and new.
pub(crate) fn rows_for(columns: usize) -> usize {
    (MOST_CELLS / columns.max(1)).clamp(1, MOST_ROWS)
}

/// What a file holds.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Format {
    /// Text with commas.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// The format a path's ending says; the standard streams are CSV.
    pub(crate) fn of(path: &str) -> Result<Format, Failure> {
        let ending = Path::new(path).extension().map(|e| e.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            _ if path == "-" => Ok(Format::Csv),
            Some("csv") => Ok(Format::Csv),
            Some("parquet") => Ok(Format::Parquet),
            _ => Err(Failure::Usage(format!("`{path}` is neither .csv nor .parquet (nor `-`)"))),
        }
    }
}

/// A table being read.
pub(crate) enum Reader {
    Csv(csv::Reader),
    Parquet(parquet::Reader),
}

/// How much there is to read.
pub(crate) enum Size {
    Bytes(u64),
    Rows(u64),
    Unknown,
}

impl Reader {
    /// Opens a table and reads the names of its columns.
    pub(crate) fn open(path: &str) -> Result<Reader, Failure> {
        let reader = match Format::of(path)? {
            Format::Csv => Reader::Csv(csv::Reader::open(path)?),
            Format::Parquet => Reader::Parquet(parquet::Reader::open(path)?),
        };
        let mut seen = HashSet::new();
        let twice = reader.columns().iter().find(|&name| !seen.insert(element(name).map_or(name.clone(), |e| e.to_string())));
        match twice {
            Some(name) => Err(Failure::plain("duplicate-column", format!("`{path}` has two columns `{name}`"), None)),
            None => Ok(reader),
        }
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        match self {
            Reader::Csv(r) => r.columns(),
            Reader::Parquet(r) => r.columns(),
        }
    }

    /// How much there is to read.
    pub(crate) fn size(&self) -> Size {
        match self {
            Reader::Csv(r) => r.size().map_or(Size::Unknown, Size::Bytes),
            Reader::Parquet(r) => Size::Rows(r.rows()),
        }
    }

    /// How much was read, in the units of the size.
    pub(crate) fn position(&self) -> u64 {
        match self {
            Reader::Csv(r) => r.position(),
            Reader::Parquet(r) => r.position(),
        }
    }

    /// The next rows, at most so many (the same number with every call).
    pub(crate) fn next(&mut self, rows: usize) -> Result<Option<Chunk<'_>>, Failure> {
        match self {
            Reader::Csv(r) => Ok(r.next(rows)?.map(Chunk::Text)),
            Reader::Parquet(r) => Ok(r.next(rows)?.map(Chunk::Arrays)),
        }
    }
}

/// Some rows of a table.
#[derive(Clone, Copy)]
pub(crate) enum Chunk<'a> {
    Text(&'a csv::Rows),
    Arrays(&'a RecordBatch),
}

/// Why a cell is of no use.
pub(crate) struct CellError {
    /// Its row in the chunk, from 0.
    pub(crate) row: usize,
    code: &'static str,
    message: String,
}

impl CellError {
    fn empty(row: usize) -> CellError {
        CellError { row, code: "empty-cell", message: "the cell is empty, a number is needed".into() }
    }

    fn wrong(row: usize, message: String) -> CellError {
        CellError { row, code: "not-a-number", message }
    }

    /// The error for the user; `before`: rows of the table before the chunk.
    pub(crate) fn failure(&self, before: u64, column: &str) -> Failure {
        Failure::plain(self.code, format!("row {}, column `{column}`: {}", before + self.row as u64 + 1, self.message), None)
    }
}

impl Chunk<'_> {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Chunk::Text(rows) => rows.len(),
            Chunk::Arrays(batch) => batch.num_rows(),
        }
    }

    /// A column as numbers; empty cells are NaN.
    pub(crate) fn numbers_or_missing(&self, column: usize, out: &mut [f64]) -> Result<(), CellError> {
        match self {
            Chunk::Text(rows) => rows.numbers_or_missing(column, out),
            Chunk::Arrays(batch) => parquet::numbers_or_missing(batch.column(column), out),
        }
    }

    /// A column as texts.
    pub(crate) fn texts(&self, column: usize) -> Result<Vec<String>, Failure> {
        match self {
            Chunk::Text(rows) => Ok((0..rows.len()).map(|i| String::from_utf8_lossy(rows.cell(i, column)).trim().to_string()).collect()),
            Chunk::Arrays(batch) => parquet::names(batch.column(column)),
        }
    }

    /// A column as numbers, each rounded once to `T` from the f64 it says.
    pub(crate) fn numbers<T: Real>(&self, column: usize, out: &mut [T]) -> Result<(), CellError> {
        match self {
            Chunk::Text(rows) => rows.numbers(column, out),
            Chunk::Arrays(batch) => parquet::numbers(batch.column(column), out),
        }
    }
}

/// New columns for the rows of a chunk.
pub(crate) struct Results<'a, T> {
    /// Each result with its numbers per row, row by row.
    pub(crate) blocks: Vec<(&'a [T], usize)>,
    /// Rows without results, in order.
    pub(crate) failed: Vec<usize>,
}

/// A table being written.
pub(crate) enum Writer {
    Csv(Box<csv::Writer>),
    Parquet(Box<parquet::Writer>),
}

impl Writer {
    /// Writes what comes before the rows: all columns of `reader`, then new ones of these names. `numeric`: which old columns
    /// are known to hold numbers.
    pub(crate) fn new<T: Real>(format: Format, target: &Target, reader: &Reader, numeric: &[bool], names: &[String]) -> Result<Writer, Failure> {
        let sink = target.sink()?;
        match format {
            Format::Csv => Ok(Writer::Csv(Box::new(csv::Writer::new(sink, reader.columns(), names)?))),
            Format::Parquet => {
                let fields = match reader {
                    Reader::Csv(r) => parquet::fields_for_text(r.columns(), numeric),
                    Reader::Parquet(r) => r.fields(),
                };
                Ok(Writer::Parquet(Box::new(parquet::Writer::new::<T>(sink, fields, numeric, names)?)))
            }
        }
    }

    /// Writes a chunk with its new columns.
    pub(crate) fn write<T: Real>(&mut self, chunk: Chunk<'_>, before: u64, results: &Results<'_, T>) -> Result<(), Failure> {
        match self {
            Writer::Csv(w) => w.write(chunk, results),
            Writer::Parquet(w) => w.write(chunk, before, results),
        }
    }

    /// Writes what comes after the rows.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Writer::Csv(w) => w.finish(),
            Writer::Parquet(w) => w.finish(),
        }
    }
}

/// A column that is one number of a vector or matrix: `v[0]`, `m[0,1]`.
#[derive(PartialEq, Debug)]
pub(crate) struct Element<'a> {
    pub(crate) name: &'a str,
    pub(crate) row: u32,
    pub(crate) column: Option<u32>,
}

impl std::fmt::Display for Element<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            None => write!(f, "{}[{}]", self.name, self.row),
            Some(column) => write!(f, "{}[{},{column}]", self.name, self.row),
        }
    }
}

/// Reads a column's name as that of an element.
pub(crate) fn element(text: &str) -> Option<Element<'_>> {
    let (name, index) = text.strip_suffix(']')?.rsplit_once('[')?;
    let number = |s: &str| s.trim().parse::<u32>().ok().filter(|&n| n < u32::MAX && !s.contains('+'));
    let (row, column) = match index.split_once(',') {
        Some((row, column)) => (number(row)?, Some(number(column)?)),
        None => (number(index)?, None),
    };
    (!name.is_empty()).then_some(Element { name, row, column })
}

fn cannot_read(path: &str, why: impl std::fmt::Display) -> Failure {
    Failure::plain("cannot-read", format!("cannot read `{path}`: {why}"), None)
}

fn open_file(path: &str) -> Result<std::fs::File, Failure> {
    let file = std::fs::File::open(path).map_err(|e| cannot_read(path, reason(&e)))?;
    match file.metadata() {
        Ok(m) if m.is_dir() => Err(cannot_read(path, "it is a directory")),
        Ok(m) if m.is_file() && m.len() == 0 => Err(empty(path)),
        Ok(_) => Ok(file),
        Err(e) => Err(cannot_read(path, reason(&e))),
    }
}

fn empty(path: &str) -> Failure {
    Failure::plain("empty-table", format!("`{path}` is empty"), Some("a table begins with the names of its columns".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_elements() {
        assert_eq!(element("v[0]"), Some(Element { name: "v", row: 0, column: None }));
        assert_eq!(element("m[1, 20]"), Some(Element { name: "m", row: 1, column: Some(20) }));
        for text in ["", "v", "[0]", "v[", "v]", "v[]", "v[-1]", "v[+1]", "v[a]", "v[1,2,3]", "v[4294967295]", "v[0]x"] {
            assert_eq!(element(text), None, "{text}");
        }
    }

    #[test]
    fn wide_tables_get_fewer_rows() {
        assert_eq!((rows_for(0), rows_for(3), rows_for(1 << 12), rows_for(usize::MAX)), (MOST_ROWS, MOST_ROWS, 1024, 1));
    }
}
