//! Tables as text with commas (RFC 4180; blank lines are skipped). In: bytes; out: chunks of cells, kept as they were written;
//! and back. Invariants: a row has as many cells as the header; no row is longer than `LONGEST_ROW`, whatever the file (a quote
//! that is never closed would otherwise swallow it whole).

use super::{CellError, Chunk, Results, cannot_read, empty, open_file, parquet};
use crate::context::{Failure, reason};
use crate::value;
use csv::{ByteRecord, ErrorKind, ReaderBuilder, WriterBuilder};
use neural_compiler::ops::real::{Dtype, Real};
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// Bytes of the longest row.
const LONGEST_ROW: usize = 1 << 26;
/// Bytes after which a chunk is full.
const FULL: usize = 1 << 25;

/// Fails when too much is read for one row.
struct Bounded {
    from: Box<dyn Read>,
    since_row: Rc<Cell<usize>>,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.since_row.set(self.since_row.get() + n);
        if self.since_row.get() > LONGEST_ROW {
            return Err(io::Error::from(io::ErrorKind::QuotaExceeded));
        }
        Ok(n)
    }
}

/// The cells of some rows.
#[derive(Default)]
pub(crate) struct Rows {
    columns: usize,
    bytes: Vec<u8>,
    /// Where each cell ends and the next begins.
    ends: Vec<usize>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.ends.len() / self.columns
    }

    /// The text of a cell.
    pub(super) fn cell(&self, row: usize, column: usize) -> &[u8] {
        let i = row * self.columns + column;
        &self.bytes[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]]
    }

    pub(super) fn numbers_or_missing(&self, column: usize, out: &mut [f64]) -> Result<(), CellError> {
        for (row, out) in out.iter_mut().enumerate().take(self.len()) {
            let cell = self.cell(row, column);
            *out = if cell.trim_ascii().is_empty() { f64::NAN } else { number(row, cell)? };
        }
        Ok(())
    }

    pub(super) fn numbers<T: Real>(&self, column: usize, out: &mut [T]) -> Result<(), CellError> {
        for (row, out) in out.iter_mut().enumerate().take(self.len()) {
            *out = T::from_f64(number(row, self.cell(row, column))?);
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, record: &ByteRecord) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record.as_slice());
        self.ends.extend((0..self.columns).map(|i| start + record.range(i).map_or(0, |r| r.end)));
    }
}

/// A cell as a number: what `neuralc run` accepts, and the spellings of NaN and infinity in other programs.
pub(super) fn number(row: usize, cell: &[u8]) -> Result<f64, CellError> {
    let text = cell.trim_ascii();
    if text.is_empty() {
        return Err(CellError::empty(row));
    }
    let Ok(text) = str::from_utf8(text) else {
        return Err(CellError::wrong(row, "the cell is not UTF-8 text".into()));
    };
    match text.parse::<f64>() {
        // Numbers too large for the type read as infinity here, and are refused below.
        Ok(x) if x.is_finite() || !text.bytes().any(|b| b.is_ascii_digit()) => Ok(x),
        _ => value::number(text).map_err(|message| CellError::wrong(row, message)),
    }
}

/// A CSV file being read.
pub(crate) struct Reader {
    path: String,
    size: Option<u64>,
    columns: Vec<String>,
    reader: csv::Reader<Bounded>,
    since_row: Rc<Cell<usize>>,
    record: ByteRecord,
    rows: Rows,
    /// Rows read so far.
    count: u64,
    /// What is wrong behind the rows of the chunk handed out last.
    failure: Option<Failure>,
}

impl Reader {
    pub(super) fn open(path: &str) -> Result<Reader, Failure> {
        let (from, size): (Box<dyn Read>, _) = if path == "-" {
            (Box::new(io::stdin()), None)
        } else {
            let file = open_file(path)?;
            let size = file.metadata().ok().filter(|m| m.is_file()).map(|m| m.len());
            (Box::new(file), size)
        };
        let since_row = Rc::new(Cell::new(0));
        let from = Bounded { from, since_row: since_row.clone() };
        let path = if path == "-" { "<stdin>" } else { path }.to_string();
        let reader = ReaderBuilder::new().has_headers(false).buffer_capacity(1 << 18).from_reader(from);
        let (record, rows) = Default::default();
        let mut this = Reader { path, size, columns: Vec::new(), reader, since_row, record, rows, count: 0, failure: None };
        if !this.read()? {
            return Err(empty(&this.path));
        }
        for (i, name) in this.record.iter().enumerate() {
            let Ok(name) = str::from_utf8(name) else {
                return Err(Failure::plain("not-utf8", format!("the name of column {} of `{}` is not UTF-8 text", i + 1, this.path), None));
            };
            this.columns.push(name.trim().to_string());
        }
        this.rows.columns = this.columns.len();
        Ok(this)
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    pub(super) fn position(&self) -> u64 {
        self.reader.position().byte()
    }

    /// Reads a row into the record; `false` at the end.
    fn read(&mut self) -> Result<bool, Failure> {
        self.since_row.set(0);
        let row = self.count + 1;
        self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
            ErrorKind::UnequalLengths { len, .. } => {
                let (has, width) = (count(len), self.columns.len());
                let message = match self.columns.get(len as usize) {
                    Some(missing) => format!("row {row} has {has}, the header has {width}: column `{missing}` is missing"),
                    None => {
                        format!("row {row} has {has}, the header has {width}: there is more behind column `{}`", self.columns.last().map_or("", |c| c.as_str()))
                    }
                };
                Failure::plain("ragged-row", message, Some("a comma inside a cell needs quotes around the cell".into()))
            }
            ErrorKind::Io(e) if e.kind() == io::ErrorKind::QuotaExceeded => {
                let message = format!("row {row} of `{}` is longer than {} MiB", self.path, LONGEST_ROW >> 20);
                Failure::plain("limit-row-size", message, Some("is there a quote that is never closed?".into()))
            }
            ErrorKind::Io(e) => cannot_read(&self.path, reason(&e)),
            other => cannot_read(&self.path, format!("row {row}: {other:?}")),
        })
    }

    pub(super) fn next(&mut self, rows: usize) -> Result<Option<&Rows>, Failure> {
        self.rows.clear();
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        while self.rows.len() < rows && self.rows.bytes.len() < FULL {
            match self.read() {
                Ok(true) => {
                    self.rows.push(&self.record);
                    self.count += 1;
                }
                Ok(false) => break,
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

fn count(cells: u64) -> String {
    if cells == 1 { "1 cell".into() } else { format!("{cells} cells") }
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
            Chunk::Text(_) => Vec::new(),
            Chunk::Arrays(batch) => parquet::texts(batch)?,
        };
        let mut without = results.failed.iter().copied().peekable();
        let mut digits = ryu::Buffer::new();
        for row in 0..chunk.rows() {
            if let Chunk::Text(rows) = chunk {
                for column in 0..rows.columns {
                    self.writer.write_field(rows.cell(row, column)).map_err(failed)?;
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
