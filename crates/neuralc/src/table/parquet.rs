//! Tables as Apache Parquet. In: a file; out: record batches; and back, a row group every so many rows.
//! Invariants: one batch is read at a time and at most one row group waits to be written; columns that are handed on keep their
//! type and their missing values. (The footer lists the row groups: some hundred bytes for each column of each.)

use super::{CellError, Chunk, MOST_ROWS, Results, cannot_read, open_file};
use crate::context::Failure;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, RecordBatch, RecordBatchOptions};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use neural_compiler::ops::real::{Dtype, Real};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows and bytes after which a row group is written.
const GROUP_ROWS: usize = 2 * MOST_ROWS;
const GROUP_BYTES: usize = 1 << 26;

/// A Parquet file being read.
pub(crate) struct Reader {
    path: String,
    columns: Vec<String>,
    fields: Vec<FieldRef>,
    rows: u64,
    position: u64,
    builder: Option<ParquetRecordBatchReaderBuilder<File>>,
    reader: Option<ParquetRecordBatchReader>,
    batch: Option<RecordBatch>,
}

impl Reader {
    pub(super) fn open(path: &str) -> Result<Reader, Failure> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(open_file(path)?).map_err(|e| cannot_read(path, e))?;
        let fields: Vec<FieldRef> = builder.schema().fields().iter().cloned().collect();
        Ok(Reader {
            path: path.into(),
            columns: fields.iter().map(|f| f.name().clone()).collect(),
            fields,
            rows: builder.metadata().file_metadata().num_rows().try_into().unwrap_or(0),
            position: 0,
            builder: Some(builder),
            reader: None,
            batch: None,
        })
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn fields(&self) -> Vec<FieldRef> {
        self.fields.clone()
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn next(&mut self, rows: usize) -> Result<Option<&RecordBatch>, Failure> {
        self.batch = None;
        if let Some(builder) = self.builder.take() {
            self.reader = Some(builder.with_batch_size(rows).build().map_err(|e| cannot_read(&self.path, e))?);
        }
        let Some(next) = self.reader.as_mut().and_then(|r| r.next()) else {
            return Ok(None);
        };
        let batch = next.map_err(|e| cannot_read(&self.path, e))?;
        self.position += batch.num_rows() as u64;
        Ok(Some(self.batch.insert(batch)))
    }
}

/// Whether values of a type are numbers.
fn numeric(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, values) => numeric(values),
        other => other.is_numeric(),
    }
}

/// A column as numbers; missing values are NaN.
pub(super) fn numbers_or_missing(column: &ArrayRef, out: &mut [f64]) -> Result<(), CellError> {
    if column.null_count() == 0 {
        return numbers(column, out);
    }
    // Row by row: the rare case of missing values need not be fast.
    for (row, out) in out.iter_mut().enumerate() {
        if column.is_null(row) {
            *out = f64::NAN;
        } else {
            numbers(&column.slice(row, 1), std::slice::from_mut(out)).map_err(|e| CellError { row, ..e })?;
        }
    }
    Ok(())
}

/// A column as texts; a missing value is an empty one.
pub(super) fn names(column: &ArrayRef) -> Result<Vec<String>, Failure> {
    let text = arrow_cast::cast(column, &DataType::LargeUtf8).map_err(|e| Failure::plain("not-text", e.to_string(), None))?;
    Ok(text.as_string::<i64>().iter().map(|t| t.unwrap_or("").to_string()).collect())
}

/// A column as numbers; text is read as in CSV.
pub(super) fn numbers<T: Real>(column: &ArrayRef, out: &mut [T]) -> Result<(), CellError> {
    let ty = column.data_type();
    if matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        let text = arrow_cast::cast(column, &DataType::LargeUtf8).map_err(|e| CellError::wrong(0, e.to_string()))?;
        for (row, (out, cell)) in out.iter_mut().zip(text.as_string::<i64>()).enumerate() {
            *out = T::from_f64(super::csv::number(row, cell.unwrap_or("").as_bytes())?);
        }
        return Ok(());
    }
    if !numeric(ty) {
        return Err(CellError::wrong(0, format!("the column holds values of type {ty}, not numbers")));
    }
    let wide = arrow_cast::cast(column, &DataType::Float64).map_err(|e| CellError::wrong(0, e.to_string()))?;
    let wide = wide.as_primitive::<Float64Type>();
    if let Some(row) = (wide.null_count() > 0).then(|| (0..wide.len()).find(|&i| wide.is_null(i))).flatten() {
        return Err(CellError::empty(row));
    }
    for (out, &x) in out.iter_mut().zip(wide.values()) {
        *out = T::from_f64(x);
    }
    Ok(())
}

/// A column as text for CSV.
pub(super) enum Texts<'a> {
    F64(&'a Float64Array),
    F32(&'a Float32Array),
    Other(ArrayFormatter<'a>),
}

impl Texts<'_> {
    /// Adds a cell; a missing value is an empty one.
    pub(super) fn write(&self, row: usize, out: &mut String) -> Result<(), Failure> {
        match self {
            Texts::F64(a) if a.is_valid(row) => out.push_str(ryu::Buffer::new().format(a.value(row))),
            Texts::F32(a) if a.is_valid(row) => out.push_str(ryu::Buffer::new().format(a.value(row))),
            Texts::F64(_) | Texts::F32(_) => {}
            Texts::Other(a) => {
                write!(out, "{}", a.value(row)).map_err(|_| io::Error::other("a value cannot be written as text"))?;
            }
        }
        Ok(())
    }
}

/// All columns as text.
pub(super) fn texts(batch: &RecordBatch) -> Result<Vec<Texts<'_>>, Failure> {
    let options = FormatOptions::new().with_null("").with_display_error(false);
    batch
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            DataType::Float64 => Ok(Texts::F64(column.as_primitive::<Float64Type>())),
            DataType::Float32 => Ok(Texts::F32(column.as_primitive::<Float32Type>())),
            _ => Ok(Texts::Other(ArrayFormatter::try_new(column.as_ref(), &options).map_err(io::Error::other)?)),
        })
        .collect()
}

/// The types of the columns of a text: numbers where they were read as numbers, else text.
pub(super) fn fields_for_text(columns: &[String], numeric: &[bool]) -> Vec<FieldRef> {
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
    pub(super) fn new<T: Real>(sink: Box<dyn Write + Send>, mut fields: Vec<FieldRef>, numeric: &[bool], names: &[String]) -> Result<Writer, Failure> {
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
            Chunk::Arrays(batch) => columns.extend(batch.columns().iter().cloned()),
            Chunk::Text(_) => {
                for (column, &number) in self.numeric.iter().enumerate() {
                    columns.push(self.array(chunk, column, number, before)?);
                }
            }
        }
        for &(block, width) in &results.blocks {
            for k in 0..width {
                let mut without = results.failed.iter().copied().peekable();
                let numbers = block.iter().skip(k).step_by(width).enumerate().map(|(row, x)| without.next_if_eq(&row).is_none().then(|| x.to_f64()));
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
    fn array(&self, chunk: Chunk<'_>, column: usize, number: bool, before: u64) -> Result<ArrayRef, Failure> {
        let name = self.schema.field(column).name();
        let Chunk::Text(rows) = chunk else { unreachable!("arrays are handed on") };
        if number {
            let mut numbers = vec![0.0; chunk.rows()];
            chunk.numbers(column, &mut numbers).map_err(|e| e.failure(before, name))?;
            return Ok(Arc::new(Float64Array::from(numbers)));
        }
        let mut texts = StringBuilder::new();
        for row in 0..chunk.rows() {
            match str::from_utf8(rows.cell(row, column)) {
                Ok("") => texts.append_null(),
                Ok(text) => texts.append_value(text),
                Err(_) => {
                    let message = format!("row {}, column `{name}`: the cell is not UTF-8 text", before + row as u64 + 1);
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
