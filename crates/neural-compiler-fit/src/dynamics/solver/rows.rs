//! Rows of numbers, all of one length, in one piece of memory. In: rows, one after the other; out: each by its place.

use std::ops::Index;

/// Some rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    numbers: Vec<f64>,
    width: usize,
}

impl Rows {
    /// No rows yet; each will have so many numbers, one at least.
    pub fn new(width: usize) -> Rows {
        Rows { numbers: Vec::new(), width }
    }

    /// The same with room for so many rows.
    pub fn with_room(mut self, rows: usize) -> Rows {
        self.numbers.reserve(rows * self.width);
        self
    }

    /// One more row.
    pub fn push(&mut self, row: impl IntoIterator<Item = f64>) {
        self.numbers.extend(row);
        debug_assert!(self.numbers.len().is_multiple_of(self.width), "a row of {}", self.width);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.len() / self.width.max(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// A row, if it is there.
    pub fn get(&self, row: usize) -> Option<&[f64]> {
        (row < self.len()).then(|| &self[row])
    }
}

impl Index<usize> for Rows {
    type Output = [f64];

    fn index(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.width..(row + 1) * self.width]
    }
}
