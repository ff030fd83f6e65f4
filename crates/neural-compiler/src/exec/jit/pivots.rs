//! Systems of equations, inverses and determinants by LU factors, number by number. In: the numbers of the matrices; out: those of the
//! result, by the steps of `ops/lu.rs`: every lane exchanges its own rows, by masks, and computes what it would compute alone.

use super::ir::{Prim, Test, Value};
use super::tensor::{combine, number};
use super::translate::{Nan, Number, Translator};

/// The largest matrix written out; the code grows with the third power.
pub(super) const MOST: usize = 8;

/// Rows with exchanges behind them.
struct Factors {
    n: usize,
    rows: Vec<Vec<Number>>,
    /// The right-hand sides, their rows exchanged likewise.
    right: Vec<Vec<Number>>,
    /// Where the number of exchanges is odd.
    odd: Option<Value>,
    singular: Option<Value>,
}

fn either(t: &mut Translator<'_>, a: Option<Value>, b: Value) -> Value {
    a.map_or(b, |a| t.op(Prim::Either, &[a, b]))
}

fn one_of(t: &mut Translator<'_>, a: Option<Value>, b: Value) -> Value {
    let Some(a) = a else { return b };
    let (first, second) = (t.op(Prim::Without, &[a, b]), t.op(Prim::Without, &[b, a]));
    t.op(Prim::Either, &[first, second])
}

fn blend(t: &mut Translator<'_>, mask: Value, yes: Number, no: Number) -> Number {
    Number::loose(t.op(Prim::Blend, &[mask, yes.value, no.value]))
}

fn size(t: &mut Translator<'_>, x: Number) -> Number {
    let magnitude = Number { value: t.magnitude_bits(), nan: Nan::Quiet };
    combine(t, Prim::And, x, magnitude)
}

impl Factors {
    /// `whole`: lanes whose matrix is singular stop where the kernel does, for the determinant; else they may hold anything.
    fn new(t: &mut Translator<'_>, a: &[Number], n: usize, right: &[Number], whole: bool) -> Factors {
        let columns = right.len() / n;
        let rows = a.chunks(n).map(<[Number]>::to_vec).collect();
        let right = if columns == 0 { vec![Vec::new(); n] } else { right.chunks(columns).map(<[Number]>::to_vec).collect() };
        let mut f = Factors { n, rows, right, odd: None, singular: None };
        let zero = number(t, 0.0);
        for k in 0..n {
            f.exchange(t, k);
            let d = f.rows[k][k];
            let none = t.op(Prim::Compare(Test::Equal), &[d.value, zero.value]);
            f.singular = Some(either(t, f.singular, none));
            for i in k + 1..n {
                let factor = combine(t, Prim::Div, f.rows[i][k], d);
                let mut row = f.rows[i].clone();
                row[k] = factor;
                for (j, x) in row.iter_mut().enumerate().skip(k + 1) {
                    let product = combine(t, Prim::Mul, factor, f.rows[k][j]);
                    *x = combine(t, Prim::Sub, *x, product);
                }
                if whole {
                    row.iter_mut().zip(&f.rows[i]).skip(k).for_each(|(x, old)| *x = blend(t, none, *old, *x));
                }
                f.rows[i] = row;
            }
        }
        f
    }

    /// Brings the row with the largest number of column `k`, the first of equals, to row `k`.
    fn exchange(&mut self, t: &mut Translator<'_>, k: usize) {
        let mut largest = size(t, self.rows[k][k]);
        let mut above: Vec<Value> = Vec::new();
        for i in k + 1..self.n {
            let here = size(t, self.rows[i][k]);
            let mask = t.op(Prim::Compare(Test::Less), &[largest.value, here.value]);
            largest = blend(t, mask, here, largest);
            above.push(mask);
        }
        // The pivot is the last row that was above all before it.
        let (mut later, mut first, mut right) = (None, self.rows[k].clone(), self.right[k].clone());
        for (i, &mask) in (k + 1..self.n).zip(&above).rev() {
            let chosen = later.map_or(mask, |l| t.op(Prim::Without, &[mask, l]));
            later = Some(either(t, later, mask));
            for (rows, top) in [(&mut self.rows, &mut first), (&mut self.right, &mut right)] {
                for j in 0..top.len() {
                    let (old, other) = (rows[k][j], rows[i][j]);
                    top[j] = blend(t, chosen, other, top[j]);
                    rows[i][j] = blend(t, chosen, old, other);
                }
            }
        }
        (self.rows[k], self.right[k]) = (first, right);
        if let Some(exchanged) = later {
            self.odd = Some(one_of(t, self.odd, exchanged));
        }
    }
}

/// The determinant.
pub(super) fn det(t: &mut Translator<'_>, a: &[Number], n: usize) -> Number {
    let f = Factors::new(t, a, n, &[], true);
    let one = number(t, 1.0);
    let product = (0..n).fold(one, |p, k| combine(t, Prim::Mul, p, f.rows[k][k]));
    let Some(odd) = f.odd else { return product };
    let sign = number(t, -0.0);
    let turned = combine(t, Prim::Xor, product, sign);
    blend(t, odd, turned, product)
}

/// What the matrix maps to the columns of `right`; NaN where there is no such.
pub(super) fn solve(t: &mut Translator<'_>, a: &[Number], n: usize, right: &[Number]) -> Vec<Number> {
    let Factors { rows, right, singular, .. } = Factors::new(t, a, n, right, false);
    let less = |t: &mut Translator<'_>, x: Number, factor: Number, y: Number| {
        let product = combine(t, Prim::Mul, factor, y);
        combine(t, Prim::Sub, x, product)
    };
    let mut solved: Vec<Vec<Number>> = (0..right[0].len()).map(|c| right.iter().map(|row| row[c]).collect()).collect();
    for x in &mut solved {
        for i in 0..n {
            x[i] = (0..i).fold(x[i], |sum, j| less(t, sum, rows[i][j], x[j]));
        }
        for i in (0..n).rev() {
            let sum = (i + 1..n).fold(x[i], |sum, j| less(t, sum, rows[i][j], x[j]));
            x[i] = combine(t, Prim::Div, sum, rows[i][i]);
        }
    }
    let nan = number(t, f64::NAN);
    let mut all = Vec::with_capacity(n * solved.len());
    for i in 0..n {
        for x in &solved {
            all.push(singular.map_or(x[i], |singular| blend(t, singular, nan, x[i])));
        }
    }
    all
}
