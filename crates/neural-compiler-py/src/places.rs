//! Sets of places, of inputs or of results. In: places; out: whether one is in the set.
//! Invariant: the last word has a bit, so that equal sets are equal words. Sets of the first 128 places need no memory of their own.

use pyo3::prelude::*;
use smallvec::SmallVec;

const BITS: usize = u64::BITS as usize;

#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Places(SmallVec<[u64; 2]>);

impl Places {
    pub(crate) fn insert(&mut self, place: usize) {
        let word = place / BITS;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % BITS);
    }

    pub(crate) fn contains(&self, place: usize) -> bool {
        self.0.get(place / BITS).is_some_and(|word| word >> (place % BITS) & 1 == 1)
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
