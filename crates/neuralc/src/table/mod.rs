//! Tables, a chunk of rows at a time. In: a text table or Parquet file (or standard input); out: chunks whose columns can be read as
//! numbers; and the way back, chunks with new columns into a file of either kind (or a stream).
//! Invariants: at most one chunk is in memory, so memory depends on the width of the table and not on its length; columns of
//! the table are handed on as they are; a number is written so that it reads back to the same bits; what was not as usual about a table
//! is noted, to be said.

mod cell;
mod csv;
pub(crate) mod dates;
pub(crate) mod dialect;
mod lines;
#[cfg_attr(not(feature = "parquet"), path = "parquet_absent.rs")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_sizes;
mod source;
mod target;

pub(crate) use cell::CellError;
pub(crate) use csv::Rows;
pub(crate) use target::{Target, same_file, write_together, write_whole};

use crate::context::{Context, Failure, reason};
use dialect::{Notes, TableArgs};
use neural_compiler::ops::real::Real;
use neural_compiler_fit::Side;
use neural_compiler_fit::dates::Stamp;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::rc::Rc;

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
    /// Text with commas, or something else, between its cells.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// Endings of text tables that are read.
const TEXT: [&str; 5] = ["csv", "tsv", "tab", "txt", "dat"];

impl Format {
    fn ending(path: &Path) -> Option<String> {
        path.extension().map(|e| e.to_string_lossy().to_lowercase())
    }

    /// Pipes and devices need no ending: they are CSV.
    pub(crate) fn is_stream(path: &Path) -> bool {
        path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir())
    }

    /// The format of a table to be read; the standard streams are CSV.
    pub(crate) fn read(path: &str) -> Result<Format, Failure> {
        let (file, mut ending) = (Path::new(path), Format::ending(Path::new(path)));
        if ending.as_deref() == Some("gz") {
            ending = file.file_stem().and_then(|s| Format::ending(Path::new(s)));
        }
        match ending.as_deref() {
            Some("parquet") => Ok(Format::Parquet),
            Some(text) if TEXT.contains(&text) => Ok(Format::Csv),
            _ if path == "-" || Format::is_stream(file) => Ok(Format::Csv),
            _ => Err(Failure::Usage(format!("`{path}` is neither .csv (.tsv, .txt, .dat, also with .gz) nor .parquet (nor `-`)"))),
        }
    }

    /// The format of a table to be written.
    pub(crate) fn write(path: &str) -> Result<Format, Failure> {
        let file = Path::new(path);
        match Format::ending(file).as_deref() {
            Some("parquet") => Ok(Format::Parquet),
            Some("csv") => Ok(Format::Csv),
            _ if path == "-" || Format::is_stream(file) => Ok(Format::Csv),
            _ => Err(Failure::Usage(format!("`{path}` is neither .csv nor .parquet (nor `-`)"))),
        }
    }
}

/// A table that can be read more than once: standard input and pipes are kept in a file without a name.
pub(crate) struct Again {
    path: String,
    args: TableArgs,
    kept: Option<File>,
}

impl Again {
    pub(crate) fn new(path: &str, args: &TableArgs) -> Result<Again, Failure> {
        let format = Format::read(path)?;
        let mut kept = None;
        if format == Format::Csv && (path == "-" || Format::is_stream(Path::new(path))) {
            let keep = || -> std::io::Result<File> {
                let mut file = tempfile::tempfile()?;
                if path == "-" {
                    std::io::copy(&mut std::io::stdin().lock(), &mut file)?
                } else {
                    std::io::copy(&mut File::open(path)?, &mut file)?
                };
                file.flush()?;
                Ok(file)
            };
            kept = Some(keep().map_err(|e| cannot_read(if path == "-" { "<stdin>" } else { path }, reason(&e)))?);
        }
        Ok(Again { path: path.into(), args: args.clone(), kept })
    }

    /// From the beginning.
    pub(crate) fn read(&mut self) -> Result<Reader, Failure> {
        let kept = self.rewound()?;
        Reader::with(&self.path, kept, &self.args)
    }

    /// Its bytes, from the first.
    pub(crate) fn bytes(&mut self) -> Result<File, Failure> {
        match self.rewound()? {
            Some(file) => Ok(file),
            None => open_file(&self.path),
        }
    }

    fn rewound(&mut self) -> Result<Option<File>, Failure> {
        let Some(file) = &mut self.kept else { return Ok(None) };
        let again = file.rewind().and_then(|()| file.try_clone());
        again.map(Some).map_err(|e| cannot_read(&self.path, reason(&e)))
    }
}

/// A table being read.
pub(crate) struct Reader {
    kind: Kind,
    notes: Rc<RefCell<Notes>>,
}

enum Kind {
    Csv(Box<csv::Reader>),
    Parquet(Box<parquet::Reader>),
}

/// How much there is to read.
pub(crate) enum Size {
    Bytes(u64),
    Rows(u64),
    Unknown,
}

impl Reader {
    /// Opens a table and reads the names of its columns.
    pub(crate) fn open(path: &str, args: &TableArgs) -> Result<Reader, Failure> {
        Reader::with(path, None, args)
    }

    fn with(path: &str, kept: Option<File>, args: &TableArgs) -> Result<Reader, Failure> {
        args.check()?;
        let notes = Rc::new(RefCell::new(Notes::default()));
        let kind = match Format::read(path)? {
            Format::Csv => Kind::Csv(Box::new(csv::Reader::open(path, kept, args, notes.clone())?)),
            Format::Parquet => Kind::Parquet(Box::new(parquet::Reader::open(path, args)?)),
        };
        let reader = Reader { kind, notes };
        let mut seen = HashSet::new();
        // Columns without a name cannot be used, so they need no names of their own.
        let named = reader.columns().iter().filter(|n| !n.is_empty());
        let twice = named.into_iter().find(|&name| !seen.insert(element(name).map_or(name.clone(), |e| e.to_string())));
        match twice {
            Some(name) => {
                Err(Failure::plain("duplicate-column", format!("`{path}` has two columns `{name}`"), Some("rename one of them".into())))
            }
            None => Ok(reader),
        }
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        match &self.kind {
            Kind::Csv(r) => r.columns(),
            Kind::Parquet(r) => r.columns(),
        }
    }

    /// What is to be said about the table.
    pub(crate) fn notes(&self) -> Rc<RefCell<Notes>> {
        self.notes.clone()
    }

    /// How much there is to read.
    pub(crate) fn size(&self) -> Size {
        match &self.kind {
            Kind::Csv(r) => r.size().map_or(Size::Unknown, Size::Bytes),
            Kind::Parquet(r) => Size::Rows(r.rows()),
        }
    }

    /// How much was read, in the units of the size.
    pub(crate) fn position(&self) -> u64 {
        match &self.kind {
            Kind::Csv(r) => r.position(),
            Kind::Parquet(r) => r.position(),
        }
    }

    /// Leaves out all columns but these where that saves work, of a table of which nothing was read yet: others must not be asked for.
    pub(crate) fn only(&mut self, columns: &[usize]) {
        match &mut self.kind {
            Kind::Csv(_) => {}
            Kind::Parquet(r) => r.only(columns),
        }
    }

    /// The next rows, at most so many (the same number with every call).
    pub(crate) fn next(&mut self, rows: usize) -> Result<Option<Chunk<'_>>, Failure> {
        match &mut self.kind {
            Kind::Csv(r) => Ok(r.next(rows)?.map(Chunk::Text)),
            Kind::Parquet(r) => Ok(r.next(rows)?.map(Chunk::Arrays)),
        }
    }
}

/// What a command reads: a word for it, the option it comes by, and its path.
pub(crate) type Read<'a> = (&'static str, &'static str, Option<&'a str>);

/// The program of a command among what it reads.
pub(crate) fn program(path: Option<&str>) -> Read<'_> {
    ("the program", "the program", path)
}

/// Complains about a file that would be written over one that is read; `what`: the option that names it.
pub(crate) fn apart(what: &str, out: &str, read: &[Read<'_>]) -> Result<(), Failure> {
    let is_read = |path: &str| same_file(out, path) || path == "-" && target::is_standard_input(out);
    match read.iter().find(|r| r.2.is_some_and(is_read)) {
        None => Ok(()),
        Some((read, option, path)) => {
            let by = if *path == Some("-") { ", which is standard input" } else { "" };
            Err(Failure::Usage(format!("{what} would write over {read}: `{out}` is the file of {option}{by}")))
        }
    }
}

/// Says what was not as usual about a table, in one line.
pub(crate) fn say(context: &Context, path: &str, notes: &RefCell<Notes>) {
    if context.json {
        return;
    }
    if let Some(line) = notes.borrow().line(if path == "-" { "<stdin>" } else { path }) {
        let _ = writeln!(std::io::stderr(), "{}", crate::render::shown(&line));
    }
}

/// Reads a table in every way there is, and writes it to nowhere; gives the number of its rows.
pub(crate) fn try_all(path: &str) -> Result<u64, Failure> {
    let mut reader = Reader::open(path, &TableArgs::default())?;
    let columns = reader.columns().len();
    let most = rows_for(columns);
    let (mut csv, mut numbers) = (csv::Writer::new(Box::new(std::io::sink()), reader.columns(), &[])?, vec![0.0; most]);
    let mut rows = 0;
    while let Some(chunk) = reader.next(most)? {
        for column in 0..columns {
            let out = &mut numbers[..chunk.rows()];
            let _ = (chunk.numbers(column, out, 5), chunk.numbers_or_missing(column, out), chunk.dates(column), chunk.texts(column));
        }
        csv.write::<f64>(chunk, &Results { blocks: Vec::new(), failed: Vec::new() })?;
        rows += chunk.rows() as u64;
    }
    csv.finish()?;
    Ok(rows)
}

/// Values that are not there.
#[derive(Default)]
pub(crate) struct Missing {
    /// How many.
    pub(crate) count: u64,
    /// A text that stands for one.
    pub(crate) text: Option<String>,
}

impl Missing {
    /// Takes note of one; gives what it is as a number.
    fn note(&mut self, text: &str) -> f64 {
        self.count += 1;
        if !text.is_empty() && self.text.is_none() {
            self.text = Some(text.into());
        }
        f64::NAN
    }
}

/// Some rows of a table.
#[derive(Clone, Copy)]
pub(crate) enum Chunk<'a> {
    Text(&'a csv::Rows),
    Arrays(&'a parquet::Arrays),
    /// So many rows without any column.
    Bare(usize),
}

impl Chunk<'_> {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Chunk::Bare(rows) => *rows,
            Chunk::Text(rows) => rows.len(),
            Chunk::Arrays(arrays) => arrays.rows(),
        }
    }

    /// A row in words; `before`: rows of the table before the chunk.
    pub(crate) fn place(&self, before: u64, row: usize) -> String {
        let number = before + row as u64 + 1;
        match self {
            Chunk::Text(rows) => csv::place(number, rows.line(row)),
            Chunk::Arrays(_) | Chunk::Bare(_) => format!("row {number}"),
        }
    }

    /// The line of a row in a text.
    pub(crate) fn line(&self, row: usize) -> Option<u64> {
        match self {
            Chunk::Text(rows) => Some(rows.line(row)),
            Chunk::Arrays(_) | Chunk::Bare(_) => None,
        }
    }

    /// A column as numbers; missing ones are NaN, and counted.
    pub(crate) fn numbers_or_missing(&self, column: usize, out: &mut [f64]) -> Result<Missing, CellError> {
        match self {
            Chunk::Text(rows) => rows.numbers_or_missing(column, out),
            Chunk::Arrays(arrays) => arrays.numbers_or_missing(column, out),
            Chunk::Bare(_) => Ok(Missing::default()),
        }
    }

    /// A column of numbers some of which are known from one side only, `<0.5` or `>100`, behind those that are known.
    pub(crate) fn censored(&self, column: usize, values: &mut Vec<f64>, sides: &mut Vec<Side>) -> Result<(), CellError> {
        match self {
            Chunk::Text(rows) => rows.censored(column, values, sides),
            Chunk::Arrays(_) | Chunk::Bare(_) => Err(CellError::wrong(0, "values known from one side only are written in tables of text")),
        }
    }

    /// A column as dates; `None` where there is none.
    pub(crate) fn dates(&self, column: usize) -> Result<Vec<Option<Stamp>>, CellError> {
        match self {
            Chunk::Text(rows) => rows.dates(column),
            Chunk::Arrays(arrays) => arrays.dates(column),
            Chunk::Bare(rows) => Ok(vec![None; *rows]),
        }
    }

    /// A column as texts.
    pub(crate) fn texts(&self, column: usize) -> Result<Vec<String>, Failure> {
        match self {
            Chunk::Text(rows) => Ok((0..rows.len()).map(|i| String::from_utf8_lossy(rows.cell(i, column)).trim().to_string()).collect()),
            Chunk::Arrays(arrays) => arrays.names(column),
            Chunk::Bare(rows) => Ok(vec![String::new(); *rows]),
        }
    }

    /// A column as numbers, each rounded once to `T` from the f64 it says; cells that are none, at most so many, and nothing is written
    /// for those.
    pub(crate) fn numbers<T: Real>(&self, column: usize, out: &mut [T], most: usize) -> Vec<CellError> {
        match self {
            Chunk::Text(rows) => rows.numbers(column, out, most),
            Chunk::Arrays(arrays) => arrays.numbers(column, out, most),
            Chunk::Bare(_) => Vec::new(),
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
    /// are known to hold numbers; `memory`: bytes that columns of Parquet may take.
    pub(crate) fn new<T: Real>(
        format: Format,
        target: &Target,
        reader: &Reader,
        numeric: &[bool],
        names: &[String],
        memory: usize,
    ) -> Result<Writer, Failure> {
        let sink = target.sink()?;
        match format {
            Format::Csv => Ok(Writer::Csv(Box::new(csv::Writer::new(sink, reader.columns(), names)?))),
            Format::Parquet => {
                let fields = match &reader.kind {
                    Kind::Csv(r) => parquet::fields_for_text(r.columns(), numeric),
                    Kind::Parquet(r) => r.fields(),
                };
                Ok(Writer::Parquet(Box::new(parquet::Writer::new::<T>(sink, fields, numeric, names, memory)?)))
            }
        }
    }

    /// Writes what comes before the rows of a table of these columns alone: texts, then numbers.
    pub(crate) fn alone(format: Format, target: &Target, texts: &[String], names: &[String], memory: usize) -> Result<Writer, Failure> {
        let sink = target.sink()?;
        match format {
            Format::Csv => Ok(Writer::Csv(Box::new(csv::Writer::new(sink, texts, names)?))),
            Format::Parquet => {
                let numeric = vec![false; texts.len()];
                let fields = parquet::fields_for_text(texts, &numeric);
                Ok(Writer::Parquet(Box::new(parquet::Writer::new::<f64>(sink, fields, &numeric, names, memory)?)))
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

    /// Hands on what was written so far to whoever waits for it.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Writer::Csv(w) => w.flush(),
            Writer::Parquet(_) => Ok(()),
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

pub(crate) fn cannot_read(path: &str, why: impl std::fmt::Display) -> Failure {
    Failure::plain("cannot-read", format!("cannot read `{path}`: {why}"), None)
}

fn open_file(path: &str) -> Result<File, Failure> {
    let file = File::open(path).map_err(|e| cannot_read(path, reason(&e)))?;
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
