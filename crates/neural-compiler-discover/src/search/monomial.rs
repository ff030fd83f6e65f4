//! Products of powers. In: exponents of inputs; out: values, units and text of the product.
//! Invariants: exponents are halves; half ones only where the input is positive.

use super::columns::Columns;
use crate::text::product;
use neural_compiler::units::Unit;
use neural_compiler::units::ratio::Ratio;

/// Twice the exponent of each input.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Monomial(pub(crate) Vec<i32>);

impl Monomial {
    /// No factor.
    pub(crate) fn one(inputs: usize) -> Monomial {
        Monomial(vec![0; inputs])
    }

    /// One input.
    pub(crate) fn input(inputs: usize, k: usize) -> Monomial {
        let mut all = vec![0; inputs];
        all[k] = 2;
        Monomial(all)
    }

    pub(crate) fn is_one(&self) -> bool {
        self.0.iter().all(|e| *e == 0)
    }

    /// The sum of the sizes of the exponents.
    pub(crate) fn degree(&self) -> f64 {
        self.0.iter().map(|e| f64::from(e.abs()) / 2.0).sum()
    }

    /// Its values; NaN where a root is not real.
    pub(crate) fn values(&self, columns: &Columns) -> Vec<f64> {
        let rows = columns.target.len();
        let mut out = vec![1.0; rows];
        for (k, &e) in self.0.iter().enumerate().filter(|(_, e)| **e != 0) {
            for (o, x) in out.iter_mut().zip(&columns.values[k]) {
                *o *= if e % 2 == 0 { x.powi(e / 2) } else { x.powf(f64::from(e) / 2.0) };
            }
        }
        out
    }

    /// Whether all units cancel; nothing is known without units.
    pub(crate) fn pure(&self, columns: &Columns) -> Option<bool> {
        let units = columns.units.as_ref()?;
        let mut unit = Unit::one();
        for (u, &e) in units.iter().zip(&self.0).filter(|(_, e)| **e != 0) {
            unit = unit.with(u, Ratio::new(i128::from(e), 2)?)?;
        }
        Some(unit.is_one())
    }

    /// The text, and before it other factors.
    pub(crate) fn text(&self, names: &[String], before: &[String]) -> String {
        let (mut above, mut below) = (before.to_vec(), Vec::new());
        for (name, &e) in names.iter().zip(&self.0).filter(|(_, e)| **e != 0) {
            let place = if e > 0 { &mut above } else { &mut below };
            place.extend(power(name, e.abs()));
        }
        match below.is_empty() {
            true => product(&above),
            false => format!("(/ {} {})", product(&above), product(&below)),
        }
    }
}

/// A power, twice the exponent given, as factors.
pub(crate) fn power(base: &str, twice: i32) -> Vec<String> {
    let mut parts = match twice / 2 {
        0 => vec![],
        1 => vec![base.to_string()],
        2 => vec![format!("(square {base})")],
        n => vec![format!("(pow {base} {n})")],
    };
    if twice % 2 == 1 {
        parts.push(format!("(sqrt {base})"));
    }
    parts
}

/// All products whose exponents are whole, at most `most` in sum and at most `each` for an input, the simplest first; at most `count`.
pub(crate) fn all(inputs: usize, most: i32, each: i32, count: usize) -> Vec<Monomial> {
    let mut out = Vec::new();
    let mut current = vec![0; inputs];
    fill(&mut out, &mut current, 0, most, each);
    out.sort_by(|a: &Monomial, b| a.degree().total_cmp(&b.degree()).then_with(|| b.cmp(a)));
    out.truncate(count);
    out
}

fn fill(out: &mut Vec<Monomial>, current: &mut Vec<i32>, at: usize, left: i32, each: i32) {
    if at == current.len() {
        out.push(Monomial(current.clone()));
        return;
    }
    for e in -left.min(each)..=left.min(each) {
        current[at] = 2 * e;
        fill(out, current, at + 1, left - e.abs(), each);
    }
    current[at] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_quotients_and_roots() {
        let names = ["a".to_string(), "b".to_string(), "c".to_string()];
        assert_eq!(Monomial(vec![2, -4, 0]).text(&names, &["k".into()]), "(/ (* k a) (square b))");
        assert_eq!(Monomial(vec![3, 0, 0]).text(&names, &[]), "(* a (sqrt a))");
        assert_eq!(Monomial(vec![0, 0, -6]).text(&names, &[]), "(/ 1 (pow c 3))");
    }

    #[test]
    fn all_products_come_once_and_the_simplest_first() {
        let found = all(2, 2, 2, 100);
        assert_eq!(found.len(), 13);
        assert!(found[0].is_one());
    }
}
