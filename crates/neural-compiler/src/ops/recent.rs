//! The factors of the matrices solved for last. In: a matrix; out: its factors, made anew only where the matrix is not among the last ones.
//! A step of an implicit solver solves for one matrix many times over: once per stage, and again for each derivative.
//! Invariants: a matrix is known again by all its bits, and factors are a function of the matrix, so a solution has the same bits whether
//! its factors were kept or not; what is kept is bounded, one store per thread.

use crate::ops::band::Band;
use crate::ops::lu::{Factors, OWN};
use crate::ops::real::{Number, Real};
use faer::traits::RealField;
use neural_compiler_math::small;

/// Matrices kept at most.
const MOST: usize = 16;
/// Numbers of all of them at most: 2 MiB, and as much for their factors.
const NUMBERS: usize = 1 << 18;

/// What is known of a matrix besides its numbers.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// All of its numbers, row by row.
    Whole,
    /// The numbers of its diagonals; so many are below the main one.
    Band(usize),
}

/// Factors of either form.
enum Made<T> {
    Whole(Factors<T>),
    Band(Band<T>),
}

impl<T: Number + RealField> Made<T> {
    fn new(parts: &[&[T]], form: Form, n: usize) -> Made<T> {
        match form {
            Form::Whole => Made::Whole(Factors::new(parts[0], n)),
            Form::Band(below) => Made::Band(Band::new(parts, below)),
        }
    }

    fn solve(&self, b: &[T], columns: usize, out: &mut [T]) {
        match self {
            Made::Whole(factors) => factors.solve(b, columns, out),
            Made::Band(factors) => factors.solve(b, out),
        }
    }
}

struct Kept<T> {
    matrix: Vec<T>,
    form: Form,
    factors: Made<T>,
}

/// The last matrices and their factors.
pub(crate) struct Recent<T> {
    kept: Vec<Kept<T>>,
    /// The one wanted last. Most likely it is wanted again, or else the one behind it: lanes come in turn, operation by operation.
    last: usize,
    numbers: usize,
}

impl<T> Recent<T> {
    pub(crate) const fn new() -> Recent<T> {
        Recent { kept: Vec::new(), last: 0, numbers: 0 }
    }
}

impl<T: Number + RealField> Recent<T> {
    /// Solves for `columns` right-hand sides at once.
    pub(crate) fn solve(&mut self, a: &[T], n: usize, b: &[T], columns: usize, out: &mut [T]) {
        if n == 0 || columns == 0 {
            out.fill(T::from_f64(f64::NAN));
        } else if n < OWN {
            small::solve(a, n, b, out);
        } else {
            self.with(&[a], Form::Whole, n, b, columns, out);
        }
    }

    /// Solves for a band; `below` diagonals are below the main one.
    pub(crate) fn solve_band(&mut self, diagonals: &[&[T]], below: usize, b: &[T], out: &mut [T]) {
        self.with(diagonals, Form::Band(below), b.len(), b, 1, out);
    }

    fn with(&mut self, parts: &[&[T]], form: Form, n: usize, b: &[T], columns: usize, out: &mut [T]) {
        if parts.iter().map(|p| p.len()).sum::<usize>() > NUMBERS {
            Made::new(parts, form, n).solve(b, columns, out);
        } else {
            self.factors(parts, form, n).solve(b, columns, out);
        }
    }

    fn factors(&mut self, parts: &[&[T]], form: Form, n: usize) -> &Made<T> {
        let count = self.kept.len();
        let is = |k: &Kept<T>| k.form == form && is_made_of(&k.matrix, parts);
        let found = (0..count).map(|i| (self.last + i) % count).find(|&i| is(&self.kept[i]));
        self.last = match found {
            Some(at) => at,
            None => self.put(parts, form, n),
        };
        &self.kept[self.last].factors
    }

    /// Keeps a new one behind the last, in the place of the next where there are enough; where it went.
    fn put(&mut self, parts: &[&[T]], form: Form, n: usize) -> usize {
        let new = Kept { matrix: parts.concat(), form, factors: Made::new(parts, form, n) };
        let mut at = (self.last + 1).min(self.kept.len());
        while self.kept.len() == MOST || self.numbers + new.matrix.len() > NUMBERS {
            at %= self.kept.len();
            self.numbers -= self.kept.remove(at).matrix.len();
        }
        self.numbers += new.matrix.len();
        self.kept.insert(at, new);
        at
    }
}

/// Whether the numbers of some parts, one after another, have the bits of others.
fn is_made_of<T: Real>(matrix: &[T], parts: &[&[T]]) -> bool {
    let mut at = 0;
    let part = |p: &&[T]| {
        let own = at..at + p.len();
        at = own.end;
        matrix.get(own).is_some_and(|m| same(m, p))
    };
    parts.iter().all(part) && at == matrix.len()
}

/// Numbers compared before a difference counts.
const PIECE: usize = 32;

/// Whether two matrices have the same bits.
fn same<T: Real>(a: &[T], b: &[T]) -> bool {
    let differ = |a: &[T], b: &[T]| a.iter().zip(b).fold(0, |d, (x, y)| d | (x.to_f64().to_bits() ^ y.to_f64().to_bits())) != 0;
    a.len() == b.len() && !a.chunks(PIECE).zip(b.chunks(PIECE)).any(|(a, b)| differ(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of a family, dense or a band.
    fn matrix(n: usize, seed: usize, band: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| if i.abs_diff(j) > band { 0.0 } else { ((i * 31 + j * 17 + seed * 7) % 23) as f64 - 9.5 };
        (0..n * n).map(|k| entry(k / n, k % n)).collect()
    }

    #[test]
    fn kept_factors_give_the_bits_of_new_ones() {
        let mut recent = Recent::new();
        // More matrices than are kept, of all kinds, in turn and again; some too large to be kept.
        let kinds = [(9, 99), (20, 2), (47, 99), (60, 1), (60, 99), (520, 1)];
        for round in 0..3 {
            for seed in 0..7 {
                // One of the largest is enough.
                for &(n, band) in &kinds[..if (round, seed) == (1, 1) { 6 } else { 5 }] {
                    let a = matrix(n, seed, band);
                    for stage in 0..2 {
                        let b: Vec<f64> = (0..n).map(|i| ((i + stage + round) % 5) as f64 - 1.75).collect();
                        let (mut kept, mut new) = (vec![0.0; n], vec![0.0; n]);
                        recent.solve(&a, n, &b, 1, &mut kept);
                        Factors::new(&a, n).solve(&b, 1, &mut new);
                        assert!(same(&kept, &new), "{n}, {band}, {seed}");
                    }
                    assert!(recent.kept.len() <= MOST && recent.numbers <= NUMBERS);
                    assert_eq!(recent.numbers, recent.kept.iter().map(|k| k.matrix.len()).sum::<usize>());
                }
            }
        }
    }

    #[test]
    fn lanes_in_turn_are_factored_once() {
        let mut recent: Recent<f64> = Recent::new();
        let lanes: Vec<Vec<f64>> = (0..MOST).map(|seed| matrix(12, seed, 1)).collect();
        let mut places = Vec::new();
        for _ in 0..3 {
            for a in &lanes {
                recent.factors(&[a], Form::Whole, 12);
                places.push(recent.kept[recent.last].matrix.as_ptr());
            }
        }
        assert_eq!(recent.kept.len(), MOST);
        // New ones would be elsewhere: the old ones are still there while they are made.
        assert!(places[..MOST] == places[MOST..2 * MOST] && places[..MOST] == places[2 * MOST..]);
    }

    #[test]
    fn bands_are_kept_beside_matrices_of_the_same_numbers() {
        let mut recent: Recent<f64> = Recent::new();
        let a = matrix(9, 3, 99);
        let (diagonals, b): (Vec<&[f64]>, Vec<f64>) = (a.chunks(27).collect(), (0..27).map(f64::from).collect());
        for below in [0, 1, 2, 1, 0] {
            let (mut kept, mut new, mut whole) = (vec![0.0; 27], vec![0.0; 27], vec![0.0; 9]);
            recent.solve_band(&diagonals, below, &b, &mut kept);
            recent.solve(&a, 9, &b[..9], 1, &mut whole);
            Band::new(&diagonals, below).solve(&b, &mut new);
            assert!(same(&kept, &new), "{below}");
        }
        assert_eq!(recent.kept.len(), 4);
    }

    #[test]
    fn zeros_of_both_signs_and_what_is_not_a_number_are_told_apart() {
        assert!(!same(&[0.0], &[-0.0]) && same(&[f64::NAN], &[f64::NAN]) && !same(&[1.0], &[1.0, 2.0]));
    }
}
