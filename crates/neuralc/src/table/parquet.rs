//! Tables as Apache Parquet. In: a file; out: record batches; and back, a row group every so many rows.
//! Invariants: one batch is read at a time and at most one row group waits to be written; columns that are handed on keep their
//! type and their missing values; a damaged file is an error, whatever the library below makes of it. (The footer lists the row groups:
//! some hundred bytes for each column of each.)

use super::cell::{self, Said};
use super::dialect::{Numbers, TableArgs};
use super::parquet_sizes::{self, Wrong};
use super::{CellError, Chunk, MOST_ROWS, Missing, Results, cannot_read, open_file};
use crate::context::{Failure, reason};
use crate::quiet::quietly;
use crate::render::Source;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, RecordBatch, RecordBatchOptions};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use neural_compiler::Diagnostic;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler_fit::dates::{self, Stamp};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;

/// Rows and bytes after which a row group is written.
const GROUP_ROWS: usize = 2 * MOST_ROWS;
const GROUP_BYTES: usize = 1 << 26;
/// Bytes the library holds for a column being written, its buffers and its share of the footer (measured: 6.3 kB for numbers, 10.2 kB for
/// texts).
const COLUMN_BYTES: usize = 10_000;

/// Some rows, and how numbers in their texts are written.
pub(crate) struct Arrays {
    batch: RecordBatch,
    numbers: Numbers,
    /// The columns of the table that are in the batch, in order; none: all are.
    only: Option<Rc<[usize]>>,
}

impl Arrays {
    /// A column by its place in the table.
    fn column(&self, column: usize) -> &ArrayRef {
        let place = self.only.as_ref().map_or(Ok(column), |only| only.binary_search(&column));
        self.batch.column(place.expect("a column that is read"))
    }

    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column as numbers; missing values are NaN, and counted.
    pub(super) fn numbers_or_missing(&self, column: usize, out: &mut [f64]) -> Result<Missing, CellError> {
        numbers_or_missing(self.column(column), out, &self.numbers)
    }

    /// A column as numbers; text is read as in CSV.
    pub(super) fn numbers<T: Real>(&self, column: usize, out: &mut [T], most: usize) -> Vec<CellError> {
        numbers(self.column(column), out, &self.numbers, most)
    }

    /// A column as dates; `None` where there is none.
    pub(super) fn dates(&self, column: usize) -> Result<Vec<Option<Stamp>>, CellError> {
        dates(self.column(column))
    }

    /// A column as texts; a missing value is an empty one.
    pub(super) fn names(&self, column: usize) -> Result<Vec<String>, Failure> {
        names(self.column(column))
    }

    /// All columns as text.
    pub(super) fn texts(&self) -> Result<Vec<Texts<'_>>, Failure> {
        texts(&self.batch)
    }
}

/// The names and types of columns.
pub(super) type Fields = Vec<FieldRef>;

/// A Parquet file being read.
pub(crate) struct Reader {
    path: String,
    columns: Vec<String>,
    fields: Fields,
    rows: u64,
    position: u64,
    numbers: Numbers,
    builder: Option<ParquetRecordBatchReaderBuilder<File>>,
    reader: Option<ParquetRecordBatchReader>,
    only: Option<Rc<[usize]>>,
    batch: Option<Arrays>,
}

fn damaged(path: &str, why: impl std::fmt::Display) -> Failure {
    cannot_read(path, format!("the file is damaged: {why}"))
}

/// What the library says, or panics with.
fn library<T, E: std::fmt::Display>(path: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, Failure> {
    match quietly(work) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(cannot_read(path, e)),
        Err(panic) => Err(damaged(path, panic)),
    }
}

fn sizes(path: &str, checked: Result<(), Wrong>) -> Result<(), Failure> {
    checked.map_err(|wrong| match wrong {
        Wrong::Absurd(what) => damaged(path, what),
        Wrong::Io(e) => cannot_read(path, reason(&e)),
    })
}

impl Reader {
    pub(super) fn open(path: &str, args: &TableArgs) -> Result<Reader, Failure> {
        let mut file = open_file(path)?;
        sizes(path, parquet_sizes::footer(&mut file))?;
        let mut again = file.try_clone().map_err(|e| cannot_read(path, reason(&e)))?;
        let builder = library(path, || ParquetRecordBatchReaderBuilder::try_new(file))?;
        sizes(path, parquet_sizes::pages(&mut again, builder.metadata()))?;
        let fields: Vec<FieldRef> = builder.schema().fields().iter().cloned().collect();
        Ok(Reader {
            path: path.into(),
            columns: fields.iter().map(|f| f.name().clone()).collect(),
            fields,
            rows: builder.metadata().file_metadata().num_rows().try_into().unwrap_or(0),
            position: 0,
            numbers: Numbers::new(args),
            builder: Some(builder),
            reader: None,
            only: None,
            batch: None,
        })
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn fields(&self) -> Fields {
        self.fields.clone()
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn next(&mut self, rows: usize) -> Result<Option<&Arrays>, Failure> {
        self.batch = None;
        if let Some(builder) = self.builder.take() {
            self.reader = Some(library(&self.path, || builder.with_batch_size(rows).build())?);
        }
        let Some(mut reader) = self.reader.take() else { return Ok(None) };
        let Some(batch) = library(&self.path, || reader.next().transpose())? else { return Ok(None) };
        // A reader that panicked is not asked again.
        self.reader = Some(reader);
        self.position += batch.num_rows() as u64;
        Ok(Some(self.batch.insert(Arrays { batch, numbers: self.numbers.clone(), only: self.only.clone() })))
    }

    /// Leaves out all columns but these, of a table of which nothing was read yet.
    pub(super) fn only(&mut self, columns: &[usize]) {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns.dedup();
        self.builder = self.builder.take().map(|builder| {
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            builder.with_projection(mask)
        });
        self.only = Some(columns.into());
    }
}

/// Whether values of a type are numbers.
fn numeric(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, values) => numeric(values),
        other => other.is_numeric(),
    }
}

fn numbers_or_missing(column: &ArrayRef, out: &mut [f64], written: &Numbers) -> Result<Missing, CellError> {
    let mut missing = Missing::default();
    if let Some(texts) = texts_of(column)? {
        for (row, out) in out.iter_mut().enumerate() {
            *out = match cell::read(row, texts[row].as_bytes(), written)? {
                Said::Number(x) => x,
                Said::Missing(text) => missing.note(text),
            };
        }
        return Ok(missing);
    }
    let wide = wide(column)?;
    if let Some(e) = inexact(column, &wide, 1)?.pop() {
        return Err(e);
    }
    for (out, x) in out.iter_mut().zip(wide.iter()) {
        *out = x.unwrap_or_else(|| missing.note(""));
    }
    Ok(missing)
}

fn names(column: &ArrayRef) -> Result<Vec<String>, Failure> {
    let failed = |e: String| Failure::plain("not-text", e, None);
    let text = quietly(|| arrow_cast::cast(column, &DataType::LargeUtf8)).map_err(failed)?.map_err(|e| failed(e.to_string()))?;
    Ok(text.as_string::<i64>().iter().map(|t| t.unwrap_or("").to_string()).collect())
}

/// The texts of a column of texts; `None`: it is of another kind.
fn texts_of(column: &ArrayRef) -> Result<Option<Vec<String>>, CellError> {
    let text = |ty: &DataType| matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let is_text = match column.data_type() {
        DataType::Dictionary(_, values) => text(values),
        other => text(other),
    };
    let found = is_text.then(|| names(column)).transpose();
    found.map_err(|_| CellError::wrong(0, "the texts of the column cannot be read"))
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, CellError> {
    quietly(|| arrow_cast::cast(column, to)).map_err(|e| CellError::wrong(0, e))?.map_err(|e| CellError::wrong(0, e.to_string()))
}

/// A column of numbers as f64.
fn wide(column: &ArrayRef) -> Result<Float64Array, CellError> {
    let ty = column.data_type();
    if !numeric(ty) {
        let mut error = CellError::wrong(0, format!("the column holds values of type {ty}, not numbers"));
        if is_date(ty) {
            error.help = Some("dates are read as times: --time-unit days --time-origin 2000-01-01".into());
        }
        return Err(error);
    }
    Ok(cast(column, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// Whole numbers that no float64 holds, at most so many.
fn inexact(column: &ArrayRef, wide: &Float64Array, most: usize) -> Result<Vec<CellError>, CellError> {
    let ty = match column.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    if !matches!(ty, DataType::Int64 | DataType::UInt64) || !wide.iter().flatten().any(crate::value::large) {
        return Ok(Vec::new());
    }
    let exact: Vec<i128> = match ty {
        DataType::Int64 => cast(column, ty)?.as_primitive::<Int64Type>().values().iter().map(|&n| n.into()).collect(),
        _ => cast(column, ty)?.as_primitive::<UInt64Type>().values().iter().map(|&n| n.into()).collect(),
    };
    let rounded = wide.iter().zip(&exact).enumerate().filter_map(|(row, (x, n))| Some((row, x?, n))).filter(|(_, x, n)| *x as i128 != **n);
    Ok(rounded.take(most).map(|(row, x, n)| CellError::inexact(row, &n.to_string(), x)).collect())
}

fn numbers<T: Real>(column: &ArrayRef, out: &mut [T], written: &Numbers, most: usize) -> Vec<CellError> {
    let mut wrong = Vec::new();
    let mut rounded = Vec::new().into_iter().peekable();
    let texts = match texts_of(column) {
        Ok(texts) => texts,
        Err(e) => return vec![e],
    };
    let wide = match &texts {
        Some(_) => None,
        None => match wide(column).and_then(|wide| Ok((inexact(column, &wide, most)?, wide))) {
            Ok((found, wide)) => {
                rounded = found.into_iter().peekable();
                Some(wide)
            }
            Err(e) => return vec![e],
        },
    };
    for (row, out) in out.iter_mut().enumerate() {
        let said = match (&texts, &wide) {
            (Some(texts), _) => cell::read(row, texts[row].as_bytes(), written),
            (None, Some(_)) if rounded.peek().is_some_and(|e: &CellError| e.row == row) => Err(rounded.next().expect("it was looked at")),
            (None, Some(wide)) if wide.is_valid(row) => Ok(Said::Number(wide.value(row))),
            _ => Ok(Said::Missing("")),
        };
        match said {
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

fn is_date(ty: &DataType) -> bool {
    matches!(ty, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}

fn dates(column: &ArrayRef) -> Result<Vec<Option<Stamp>>, CellError> {
    if let Some(texts) = texts_of(column)? {
        let one = |(row, text): (usize, &String)| match dates::parse(text) {
            Some(stamp) => Ok(Some(stamp)),
            None if text.trim().is_empty() => Ok(None),
            None => Err(CellError::wrong(row, format!("`{}` is not a date", text.chars().take(40).collect::<String>()))),
        };
        return texts.iter().enumerate().map(one).collect();
    }
    let (nanoseconds, zoned) = match column.data_type() {
        DataType::Date32 => (86_400_000_000_000, false),
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, None) => (1_000_000, false),
        DataType::Timestamp(unit, zone) => {
            let size = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            (size, zone.is_some())
        }
        ty => return Err(CellError::wrong(0, format!("the column holds values of type {ty}, not dates"))),
    };
    // Whatever the unit and the zone, the count behind it is an integer.
    let counts = match column.data_type() {
        DataType::Date32 => cast(&cast(column, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(column, &DataType::Int64)?,
    };
    let counts = counts.as_primitive::<Int64Type>();
    Ok(counts.iter().map(|c| c.map(|c| Stamp { nanoseconds: i128::from(c) * nanoseconds, zoned })).collect())
}

/// A column as text for CSV.
pub(super) enum Texts<'a> {
    F64(&'a Float64Array),
    F32(&'a Float32Array),
    /// Points in time with a zone, as instants.
    Instants(Vec<Option<Stamp>>),
    Other(ArrayFormatter<'a>),
}

impl Texts<'_> {
    /// Adds a cell; a missing value is an empty one.
    pub(super) fn write(&self, row: usize, out: &mut String) -> Result<(), Failure> {
        match self {
            Texts::F64(a) if a.is_valid(row) => out.push_str(ryu::Buffer::new().format(a.value(row))),
            Texts::F32(a) if a.is_valid(row) => out.push_str(ryu::Buffer::new().format(a.value(row))),
            Texts::F64(_) | Texts::F32(_) => {}
            Texts::Instants(stamps) => {
                if let Some(stamp) = stamps[row] {
                    out.push_str(&dates::text(stamp));
                }
            }
            Texts::Other(a) => {
                write!(out, "{}", a.value(row)).map_err(|_| io::Error::other("a value cannot be written as text"))?;
            }
        }
        Ok(())
    }
}

fn texts(batch: &RecordBatch) -> Result<Vec<Texts<'_>>, Failure> {
    let options = FormatOptions::new().with_null("").with_display_error(false);
    batch
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            DataType::Float64 => Ok(Texts::F64(column.as_primitive::<Float64Type>())),
            DataType::Float32 => Ok(Texts::F32(column.as_primitive::<Float32Type>())),
            // The names of zones need a database, the instants do not.
            DataType::Timestamp(_, Some(_)) => Ok(Texts::Instants(dates(column).map_err(|e| io::Error::other(e.message))?)),
            _ => Ok(Texts::Other(ArrayFormatter::try_new(column.as_ref(), &options).map_err(io::Error::other)?)),
        })
        .collect()
}

/// The types of the columns of a text: numbers where they were read as numbers, else text.
pub(super) fn fields_for_text(columns: &[String], numeric: &[bool]) -> Fields {
    let ty = |&number: &bool| if number { DataType::Float64 } else { DataType::Utf8 };
    columns.iter().zip(numeric).map(|(name, number)| Arc::new(Field::new(name, ty(number), true))).collect()
}

/// A Parquet file being written.
pub(crate) struct Writer {
    schema: SchemaRef,
    numeric: Vec<bool>,
    writer: ArrowWriter<Box<dyn Write + Send>>,
}

impl Writer {
    /// Begins a file; `memory`: bytes its columns may take.
    pub(super) fn new<T: Real>(
        sink: Box<dyn Write + Send>,
        mut fields: Fields,
        numeric: &[bool],
        names: &[String],
        memory: usize,
    ) -> Result<Writer, Failure> {
        let columns = fields.len() + names.len();
        if columns.saturating_mul(COLUMN_BYTES) > memory {
            let message =
                format!("to write {columns} columns as Parquet takes about {COLUMN_BYTES} bytes for each, more than {memory} bytes");
            let error = Diagnostic::error("limit-memory", Default::default(), message).help("CSV takes any number of columns");
            return Err(Failure::program(&Source::new("", ""), error.into()));
        }
        let ty = match T::DTYPE {
            Dtype::F32 => DataType::Float32,
            Dtype::F64 => DataType::Float64,
        };
        fields.extend(names.iter().map(|name| Arc::new(Field::new(name, ty.clone(), true))));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_max_row_group_bytes(Some(GROUP_BYTES));
        // Measured numbers hardly repeat: a dictionary of them costs time and saves nothing.
        for field in fields.iter().filter(|f| f.data_type().is_floating()) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::new(vec![field.name().clone()]), false);
        }
        let schema = Arc::new(Schema::new(fields));
        let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties.build())).map_err(io::Error::other)?;
        Ok(Writer { schema, numeric: numeric.to_vec(), writer })
    }

    pub(super) fn write<T: Real>(&mut self, chunk: Chunk<'_>, before: u64, results: &Results<'_, T>) -> Result<(), Failure> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        match chunk {
            Chunk::Arrays(arrays) => columns.extend(arrays.batch.columns().iter().cloned()),
            Chunk::Text(_) | Chunk::Bare(_) => {
                for (column, &number) in self.numeric.iter().enumerate() {
                    columns.push(self.array(chunk, column, number, before, &results.failed)?);
                }
            }
        }
        for &(block, width) in &results.blocks {
            for k in 0..width {
                let mut without = results.failed.iter().copied().peekable();
                let numbers =
                    block.iter().skip(k).step_by(width).enumerate().map(|(row, x)| without.next_if_eq(&row).is_none().then(|| x.to_f64()));
                columns.push(match T::DTYPE {
                    Dtype::F32 => Arc::new(numbers.map(|x| x.map(|x| x as f32)).collect::<Float32Array>()),
                    Dtype::F64 => Arc::new(numbers.collect::<Float64Array>()),
                });
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(io::Error::other)?;
        Ok(self.writer.write(&batch).map_err(io::Error::other)?)
    }

    /// A column of text as an array.
    fn array(&self, chunk: Chunk<'_>, column: usize, number: bool, before: u64, failed: &[usize]) -> Result<ArrayRef, Failure> {
        let name = self.schema.field(column).name();
        let Chunk::Text(rows) = chunk else { unreachable!("arrays are handed on") };
        if number {
            let mut numbers = vec![0.0; chunk.rows()];
            let wrong = chunk.numbers(column, &mut numbers, usize::MAX);
            if let Some(e) = wrong.iter().find(|e| failed.binary_search(&e.row).is_err()) {
                return Err(e.failure(&chunk.place(before, e.row), name));
            }
            let mut without = wrong.iter().map(|e| e.row).peekable();
            let known = numbers.into_iter().enumerate().map(|(row, x)| without.next_if_eq(&row).is_none().then_some(x));
            return Ok(Arc::new(known.collect::<Float64Array>()));
        }
        let mut texts = StringBuilder::new();
        for row in 0..chunk.rows() {
            match str::from_utf8(&rows.handed_on(row, column)) {
                Ok("") => texts.append_null(),
                Ok(text) => texts.append_value(text),
                Err(_) => {
                    let message = format!("{}, column `{name}`: the cell is not UTF-8 text", chunk.place(before, row));
                    return Err(Failure::plain("not-utf8", message, None));
                }
            }
        }
        Ok(Arc::new(texts.finish()))
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        let mut sink = self.writer.into_inner().map_err(io::Error::other)?;
        Ok(sink.flush()?)
    }
}
