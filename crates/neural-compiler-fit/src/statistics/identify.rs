//! What data determine of parameters they do not determine one by one. In: the ways to change them that change nothing; out: the
//! combinations that stay the same, in words a person can check: `ka*V`, `a/b`, `a + b`, else numbers that hold near the minimum.
//!
//! A product of powers stays the same along a way whose logarithms have simple ratios, a sum of multiples along one that has such ratios
//! itself. At a single point the two cannot be told apart, so either is tried: the parameters are moved by a fifth along the way,
//! and the predictions must not move.

use crate::optimise::linear::Linear;
use crate::optimise::{Residuals, norm};
use crate::statistics::uncertainty::{Open, Uncertainty};

/// A combination of parameters that the data determine.
#[derive(Clone, PartialEq, Debug)]
pub struct Combination {
    /// In the usual notation: `ka*V`.
    pub text: String,
    /// Its value at the minimum.
    pub value: f64,
    /// Its standard error, where there is one.
    pub stderr: Option<f64>,
    /// Whether it is the same wherever the predictions are; else only near the minimum.
    pub exact: bool,
}

/// Parameters that the data do not determine one by one.
#[derive(Clone, PartialEq, Debug)]
pub struct Undetermined {
    /// Their names.
    pub parameters: Vec<String>,
    /// What the data determine of them; nothing where they have no influence on the predictions.
    pub determined: Vec<Combination>,
    /// Whether one without influence here has some elsewhere.
    pub elsewhere: bool,
}

/// How many parameters say no more than others, wherever they are: numbers a fit did not have to spend. What runs off to where it has no
/// influence was chosen among values that have some.
pub(crate) fn surplus(all: &[Undetermined]) -> usize {
    let everywhere = |u: &&Undetermined| !u.elsewhere && u.determined.iter().all(|c| c.exact);
    all.iter().filter(everywhere).map(|u| u.parameters.len() - u.determined.len()).sum()
}

/// What the data determine in place of what is open. `problem`: where predictions come from; without it nothing is tried, and
/// combinations are given as numbers that hold near the minimum.
pub(crate) fn determined(
    names: &[String],
    theta: &[f64],
    linear: &Linear,
    uncertainty: &Uncertainty,
    problem: Option<&dyn Residuals>,
) -> Vec<Undetermined> {
    let one = |open: &Open| {
        let own: Vec<&str> = open.parameters.iter().map(|&j| names[j].as_str()).collect();
        let shared = own.iter().map(|name| !name.contains('[')).collect();
        let (kind, rows) = At { open, theta, linear, problem, shared }.combinations();
        let values: Vec<f64> = open.parameters.iter().map(|&j| theta[j]).collect();
        let determined = rows.iter().map(|row| combination(kind, row, &own, &values, open, uncertainty)).collect();
        Undetermined { parameters: own.iter().map(|n| n.to_string()).collect(), determined, elsewhere: false }
    };
    uncertainty.open.iter().map(one).collect()
}

/// How a combination is made.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A product of powers.
    Product,
    /// A sum of multiples.
    Sum,
    /// A sum of multiples that holds near the minimum.
    Near,
}

/// A minimum and what is open there.
struct At<'a> {
    open: &'a Open,
    theta: &'a [f64],
    linear: &'a Linear,
    problem: Option<&'a dyn Residuals>,
    /// Which of the open parameters are no group's own.
    shared: Vec<bool>,
}

/// How far parameters are moved to see whether predictions follow: a fifth of their value.
const MOVED: f64 = 0.2;
/// What share of the change that one parameter alone would make is no change.
const NOTHING: f64 = 1e-4;

impl At<'_> {
    /// Independent combinations that no open way changes: exponents of a product, or factors of a sum.
    fn combinations(&self) -> (Kind, Vec<Vec<f64>>) {
        let values: Vec<f64> = self.open.parameters.iter().map(|&j| self.theta[j]).collect();
        if values.iter().all(|x| *x != 0.0) {
            let logarithms: Vec<Vec<f64>> =
                self.open.ways.iter().map(|way| way.iter().zip(&values).map(|(w, x)| w / x).collect()).collect();
            let moved = |way: &[f64], t: f64| values.iter().zip(way).map(|(x, w)| x * (t * w).exp()).collect::<Vec<f64>>();
            if let Some(rows) = simple(&complement(&logarithms, &self.shared))
                && self.stays(&logarithms, moved)
            {
                return (Kind::Product, rows);
            }
        }
        let rows = complement(&self.open.ways, &self.shared);
        let moved = |way: &[f64], t: f64| values.iter().zip(way).map(|(x, w)| x + t * w).collect::<Vec<f64>>();
        let size = values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let sized: Vec<Vec<f64>> = self.open.ways.iter().map(|way| scaled(way, if size > 0.0 { size } else { 1.0 })).collect();
        match simple(&rows) {
            Some(rows) if self.stays(&sized, moved) => (Kind::Sum, rows),
            _ => (Kind::Near, rows),
        }
    }

    /// Whether predictions stay as they are, to either side of the minimum, while the parameters move along each of the ways.
    fn stays(&self, ways: &[Vec<f64>], moved: impl Fn(&[f64], f64) -> Vec<f64>) -> bool {
        let Some(problem) = self.problem else { return false };
        ways.iter().all(|way| {
            let largest = way.iter().fold(0.0f64, |m, w| m.max(w.abs()));
            let same = |t: f64| {
                let mut theta = self.theta.to_vec();
                let to = moved(way, t / largest);
                let mut alone = 0.0f64;
                for (&j, x) in self.open.parameters.iter().zip(to) {
                    alone = alone.max((x - theta[j]).abs() * self.linear.size(j));
                    theta[j] = x;
                }
                let mut residuals = vec![0.0; problem.count()];
                problem.evaluate(&theta, &mut residuals, None).is_ok()
                    && norm(&residuals.iter().zip(&self.linear.residuals).map(|(a, b)| a - b).collect::<Vec<_>>()) <= NOTHING * alone
            };
            same(MOVED) && same(-MOVED)
        })
    }
}

fn scaled(way: &[f64], by: f64) -> Vec<f64> {
    way.iter().map(|w| w * by).collect()
}

/// A basis of all rows at right angles to some independent ones, with as many zeros as elimination gives. `shared`: parameters that may
/// stand in all of them, where there is a choice: `F/V[1]` and `F/V[2]` say more than `F/V[2]` and `V[1]/V[2]`.
fn complement(ways: &[Vec<f64>], shared: &[bool]) -> Vec<Vec<f64>> {
    let (q, n) = (ways.len(), ways.first().map_or(0, Vec::len));
    let mut rows = ways.to_vec();
    let mut pivots: Vec<usize> = Vec::new();
    for k in 0..q {
        // The last of the largest entries: what comes first in the model is what combinations are told by.
        let entry = |&(i, j): &(usize, usize)| rows[i][j].abs();
        let candidates = (k..q).flat_map(|i| (0..n).map(move |j| (i, j)));
        let largest = candidates.clone().map(|at| entry(&at)).fold(0.0, f64::max);
        let Some((i, j)) = candidates.filter(|at| entry(at) >= 0.999 * largest).max_by_key(|at| (shared[at.1], at.1)) else { break };
        rows.swap(k, i);
        let pivot = rows[k][j];
        rows[k].iter_mut().for_each(|x| *x /= pivot);
        let own = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let by = row[j];
            row.iter_mut().zip(&own).for_each(|(x, o)| *x -= by * o);
        }
        pivots.push(j);
    }
    let others = (0..n).filter(|j| !pivots.contains(j));
    let one = |j: usize| {
        let mut row = vec![0.0; n];
        row[j] = 1.0;
        pivots.iter().zip(&rows).for_each(|(&p, r)| row[p] = -r[j]);
        row
    };
    others.map(one).collect()
}

/// Rows as small whole numbers, where they are such but for rounding and a common factor.
fn simple(rows: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let near = |x: f64| (x - x.round()).abs() < 2e-3;
    let one = |row: &Vec<f64>| {
        let factor = (1..=4).map(f64::from).find(|f| row.iter().all(|x| near(x * f)))?;
        Some(row.iter().map(|x| (x * factor).round() + 0.0).collect::<Vec<f64>>()).filter(|r| r.iter().all(|x| x.abs() <= 6.0))
    };
    rows.iter().map(one).collect()
}

/// A combination with its value and error.
fn combination(kind: Kind, row: &[f64], names: &[&str], values: &[f64], open: &Open, uncertainty: &Uncertainty) -> Combination {
    let first = row.iter().find(|x| **x != 0.0).copied().unwrap_or(1.0);
    let mut row = scaled(row, 1f64.copysign(first));
    if kind != Kind::Product {
        drop_negligible(&mut row, values);
    }
    let value: f64 = match kind {
        Kind::Product => row.iter().zip(values).map(|(e, x)| x.powf(*e)).product(),
        Kind::Sum | Kind::Near => row.iter().zip(values).map(|(f, x)| f * x).sum(),
    };
    let slope: Vec<f64> = match kind {
        Kind::Product => row.iter().zip(values).map(|(e, x)| e * value / x).collect(),
        Kind::Sum | Kind::Near => row.clone(),
    };
    let n = uncertainty.certainty.len();
    let pairs = open.parameters.iter().zip(&slope).flat_map(|a| open.parameters.iter().zip(&slope).map(move |b| (a, b)));
    let variance: f64 = pairs.map(|((i, a), (j, b))| a * b * uncertainty.determined[i * n + j]).sum();
    let text = if kind == Kind::Product { product(&row, names) } else { sum(&row, names) };
    Combination { text, value, stderr: (variance >= 0.0).then(|| variance.sqrt()), exact: kind != Kind::Near }
}

/// What a term of a sum is beside the largest that is not worth a word.
const NEGLIGIBLE: f64 = 1e-9;

/// Leaves out terms of a sum that change none of its digits; what is 0 here may count elsewhere.
fn drop_negligible(factors: &mut [f64], values: &[f64]) {
    let size = |f: f64, x: f64| (f * x).abs();
    let largest = factors.iter().zip(values).fold(0.0f64, |m, (f, x)| m.max(size(*f, *x)));
    factors.iter_mut().zip(values).filter(|(f, x)| **x != 0.0 && size(**f, **x) < NEGLIGIBLE * largest).for_each(|(f, _)| *f = 0.0);
}

/// `a^2*b/c`
fn product(exponents: &[f64], names: &[&str]) -> String {
    let power = |name: &str, e: f64| if e == 1.0 { name.to_string() } else { format!("{name}^{e}") };
    let above: Vec<String> = exponents.iter().zip(names).filter(|(e, _)| **e > 0.0).map(|(e, n)| power(n, *e)).collect();
    let below: String = exponents.iter().zip(names).filter(|(e, _)| **e < 0.0).map(|(e, n)| format!("/{}", power(n, -e))).collect();
    format!("{}{below}", above.join("*"))
}

/// `a - 2*b + 0.531*c`
fn sum(factors: &[f64], names: &[&str]) -> String {
    let mut text = String::new();
    for (f, name) in factors.iter().zip(names).filter(|(f, _)| **f != 0.0) {
        let sign = match (text.is_empty(), *f < 0.0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        text.push_str(sign);
        let size = f.abs();
        if size != 1.0 {
            let shown: f64 = format!("{size:.2e}").parse().unwrap_or(size);
            text.push_str(&if (1e-4..1e6).contains(&shown) { format!("{shown}*") } else { format!("{shown:e}*") });
        }
        text.push_str(name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_at_right_angles() {
        for ways in [vec![vec![1.0, -1.0, 0.0]], vec![vec![0.3, 0.5, -0.2], vec![1.0, 0.0, 2.0]], vec![vec![2.0, 1.0]]] {
            let rows = complement(&ways, &vec![true; ways[0].len()]);
            assert_eq!(rows.len(), ways[0].len() - ways.len());
            for (r, w) in rows.iter().flat_map(|r| ways.iter().map(move |w| (r, w))) {
                assert!(r.iter().zip(w).map(|(a, b)| a * b).sum::<f64>().abs() < 1e-12, "{r:?} {w:?}");
            }
        }
        assert_eq!(simple(&[vec![1.0, 0.5 + 1e-9]]), Some(vec![vec![2.0, 1.0]]));
        assert_eq!(simple(&[vec![1.0, 0.531]]), None);
    }

    #[test]
    fn terms_that_change_nothing_are_left_out() {
        let dropped = |factors: &[f64], values: &[f64]| {
            let mut factors = factors.to_vec();
            drop_negligible(&mut factors, values);
            factors
        };
        assert_eq!(dropped(&[1.0, 5.13e-207, -2.0], &[0.8, 12.0, 0.1]), [1.0, 0.0, -2.0]);
        assert_eq!(dropped(&[1.0, 5.13e-207], &[0.8, 1e207]), [1.0, 5.13e-207], "a small factor of a large value");
        assert_eq!(dropped(&[1.0, -1.0], &[0.8, 0.0]), [1.0, -1.0], "a value that is 0 here");
    }

    #[test]
    fn words() {
        assert_eq!(product(&[1.0, 2.0, -1.0, 0.0], &["a", "b", "c", "d"]), "a*b^2/c");
        assert_eq!(sum(&[1.0, -2.0, 0.53125], &["a", "b", "c"]), "a - 2*b + 0.531*c");
    }
}
