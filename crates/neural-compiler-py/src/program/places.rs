//! Sets of places, of inputs or of results. In: places; out: whether one is in the set.
//! Invariant: the last of the further words has a bit, so that equal sets are equal words. Sets of the first 128 places, the usual ones,
//! are one number.

use pyo3::prelude::*;

const FIRST: usize = u128::BITS as usize;
const BITS: usize = u64::BITS as usize;

#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Places {
    first: u128,
    further: Vec<u64>,
}

impl Places {
    #[inline]
    pub(crate) fn insert(&mut self, place: usize) {
        if place < FIRST {
            self.first |= 1 << place;
            return;
        }
        let word = (place - FIRST) / BITS;
        if word >= self.further.len() {
            self.further.resize(word + 1, 0);
        }
        self.further[word] |= 1 << (place % BITS);
    }

    #[inline]
    pub(crate) fn contains(&self, place: usize) -> bool {
        match place.checked_sub(FIRST) {
            None => self.first >> place & 1 == 1,
            Some(rest) => self.further.get(rest / BITS).is_some_and(|word| word >> (place % BITS) & 1 == 1),
        }
    }

    /// For each of the first `count` places whether it is in the set.
    pub(crate) fn marks(&self, count: usize) -> Vec<bool> {
        (0..count).map(|place| self.contains(place)).collect()
    }
}

impl FromIterator<usize> for Places {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Places {
        let mut found = Places::default();
        places.into_iter().for_each(|place| found.insert(place));
        found
    }
}

/// A set of inputs, as Python hands it over.
#[pyclass(name = "Places", module = "neural_compiler._native", frozen)]
pub(crate) struct PyPlaces(pub(crate) Places);

#[pymethods]
impl PyPlaces {
    #[new]
    fn new(places: Vec<usize>) -> PyPlaces {
        PyPlaces(places.into_iter().collect())
    }
}
