//! In the place of `parquet.rs` where the feature `parquet` is off. In: the name of a Parquet file; out: an error that says how to get one
//! that reads it. Invariant: nothing is read or written, so the types have no values.

use super::dialect::TableArgs;
use super::{CellError, Chunk, Missing, Results};
use crate::context::Failure;
use neural_compiler::ops::real::Real;
use neural_compiler_fit::dates::Stamp;
use std::io::Write;

fn absent() -> Failure {
    let help = "build it with its default features (`cargo install --path crates/neuralc`), or convert the table to CSV";
    Failure::plain("no-parquet", "this neuralc was built without Parquet", Some(help.into()))
}

/// Some rows, of which there are none.
pub(crate) enum Arrays {}

impl Arrays {
    pub(super) fn rows(&self) -> usize {
        match *self {}
    }

    pub(super) fn numbers_or_missing(&self, _: usize, _: &mut [f64]) -> Result<Missing, CellError> {
        match *self {}
    }

    pub(super) fn numbers<T: Real>(&self, _: usize, _: &mut [T], _: usize) -> Vec<CellError> {
        match *self {}
    }

    pub(super) fn dates(&self, _: usize) -> Result<Vec<Option<Stamp>>, CellError> {
        match *self {}
    }

    pub(super) fn names(&self, _: usize) -> Result<Vec<String>, Failure> {
        match *self {}
    }

    pub(super) fn texts(&self) -> Result<Vec<Texts>, Failure> {
        match *self {}
    }
}

/// A column as text, of which there is none.
pub(super) enum Texts {}

impl Texts {
    pub(super) fn write(&self, _: usize, _: &mut String) -> Result<(), Failure> {
        match *self {}
    }
}

/// A file that cannot be read.
pub(crate) enum Reader {}

impl Reader {
    pub(super) fn open(_: &str, _: &TableArgs) -> Result<Reader, Failure> {
        Err(absent())
    }

    pub(super) fn columns(&self) -> &[String] {
        match *self {}
    }

    pub(super) fn only(&mut self, _: &[usize]) {
        match *self {}
    }

    pub(super) fn fields(&self) -> Fields {
        match *self {}
    }

    pub(super) fn rows(&self) -> u64 {
        match *self {}
    }

    pub(super) fn position(&self) -> u64 {
        match *self {}
    }

    pub(super) fn next(&mut self, _: usize) -> Result<Option<&Arrays>, Failure> {
        match *self {}
    }
}

/// The names and types of columns.
pub(super) struct Fields;

pub(super) fn fields_for_text(_: &[String], _: &[bool]) -> Fields {
    Fields
}

/// A file that cannot be written.
pub(crate) enum Writer {}

impl Writer {
    // The type of the results, as beside it.
    #[expect(clippy::extra_unused_type_parameters)]
    pub(super) fn new<T: Real>(_: Box<dyn Write + Send>, _: Fields, _: &[bool], _: &[String], _: usize) -> Result<Writer, Failure> {
        Err(absent())
    }

    pub(super) fn write<T: Real>(&mut self, _: Chunk<'_>, _: u64, _: &Results<'_, T>) -> Result<(), Failure> {
        match *self {}
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {}
    }
}
