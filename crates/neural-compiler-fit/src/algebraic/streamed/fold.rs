//! Many residuals in few. In: residuals and derivatives, a block at a time; out: a triangle of as many rows as there are parameters, and
//! one more, whose least squares are those of all rows.
//!
//! Products of columns are taken block by block and added with what rounding loses of each addition (Knuth's two-sum). Where columns are so
//! nearly dependent that products do not tell them apart, the blocks themselves are decomposed, and the triangles of two decomposed as one
//! (Demmel, Grigori, Hoemmen, Langou 2012). Both go in the order of the rows.

use crate::optimise::linalg;
use crate::optimise::linear::Linear;

/// A sum that keeps what rounding takes from it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    pub(super) fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let other = sum - self.high;
        self.low += (self.high - (sum - other)) + (x - other);
        self.high = sum;
    }

    pub(super) fn value(&self) -> f64 {
        // What is lost of numbers beyond the range is not a number.
        if self.high.is_finite() { self.high + self.low } else { self.high }
    }
}

/// Adds numbers to sums, one by one.
pub(super) fn add_all(sums: &mut Vec<Sum>, numbers: &[f64]) {
    sums.resize(numbers.len(), Sum::default());
    sums.iter_mut().zip(numbers).for_each(|(sum, x)| sum.add(*x));
}

/// Residuals and derivatives of a block, folded.
pub(super) enum Folded {
    /// Products of derivatives, row by row, and of derivatives with residuals.
    Products(Vec<f64>, Vec<f64>),
    /// A triangle of derivatives and residuals, column by column.
    Triangle(Option<Vec<f64>>),
}

impl Folded {
    /// Of derivatives, column by column. `sharp`: by decomposition.
    pub(super) fn new(jacobian: &[f64], residuals: &[f64], sharp: bool) -> Folded {
        if !sharp {
            let (products, slopes) = Linear::products(jacobian, residuals);
            return Folded::Products(products, slopes);
        }
        let columns: Vec<&[f64]> = jacobian.chunks(residuals.len()).chain([residuals]).collect();
        Folded::Triangle(linalg::triangle(&columns))
    }
}

/// All blocks so far.
pub(super) enum Total {
    Products(Vec<Sum>, Vec<Sum>),
    Triangle(Option<Vec<f64>>),
}

/// Residuals and derivatives, column by column, that say all.
pub(super) type Few = (Vec<f64>, Vec<f64>);

impl Total {
    pub(super) fn new(sharp: bool) -> Total {
        if sharp { Total::Triangle(Some(Vec::new())) } else { Total::Products(vec![], vec![]) }
    }

    /// Adds the next block.
    pub(super) fn add(&mut self, block: Folded) {
        match (self, block) {
            (Total::Products(products, slopes), Folded::Products(p, s)) => {
                add_all(products, &p);
                add_all(slopes, &s);
            }
            (Total::Triangle(all), Folded::Triangle(block)) => *all = all.take().zip(block).and_then(|(all, block)| stacked(all, block)),
            (Total::Products(..), Folded::Triangle(_)) | (Total::Triangle(_), Folded::Products(..)) => unreachable!("one way in a pass"),
        }
    }

    /// The triangle of all rows, `squares` being the sum of the squares of their residuals. `None`: the products do not tell it, or a
    /// number left the range.
    pub(super) fn few(&self, squares: f64) -> Option<Few> {
        match self {
            Total::Triangle(all) => {
                let all = all.as_ref()?;
                let n = (all.len() as f64).sqrt() as usize;
                let (jacobian, residuals) = all.split_at(n * (n - 1));
                Some((residuals.to_vec(), jacobian.to_vec()))
            }
            Total::Products(products, slopes) => {
                let values = |sums: &[Sum]| sums.iter().map(Sum::value).collect::<Vec<f64>>();
                linalg::triangle_of_products(&values(products), &values(slopes), squares)
            }
        }
    }
}

/// The triangle of two, one above the other.
fn stacked(above: Vec<f64>, below: Vec<f64>) -> Option<Vec<f64>> {
    if above.is_empty() {
        return Some(below);
    }
    let n = (below.len() as f64).sqrt() as usize;
    let columns: Vec<Vec<f64>> = above.chunks(n).zip(below.chunks(n)).map(|(a, b)| [a, b].concat()).collect();
    linalg::triangle(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_what_rounding_takes() {
        let mut sum = Sum::default();
        sum.add(1e16);
        (0..1000).for_each(|_| sum.add(1.0));
        sum.add(-1e16);
        assert_eq!(sum.value(), 1000.0);
        sum.add(f64::INFINITY);
        assert_eq!(sum.value(), f64::INFINITY);
    }

    /// Least squares of the few are those of the many: of columns far from dependent in both ways, of nearly dependent ones by triangles.
    #[test]
    fn the_few_say_what_the_many_do() {
        let m = 4000;
        let x: Vec<f64> = (0..m).map(|i| f64::from(i) / 1000.0).collect();
        for near in [1.0, 1e-7] {
            let columns = [x.clone(), x.iter().map(|x| x + near * x * x).collect::<Vec<f64>>()];
            let rest = |i: i32| near * (f64::from(i * i % 17) - 8.0);
            let y: Vec<f64> = (0..m).map(|i| 2.0 * columns[0][i as usize] + 3.0 * columns[1][i as usize] + rest(i)).collect();
            let parts = linalg::decompose(&[&columns[0], &columns[1]], &y).expect("finite");
            let exact = parts.solve(1e-14);
            let squares: f64 = y.iter().map(|y| y * y).sum();
            // What rounding may do to least squares (Golub and Van Loan, Matrix Computations, 5.3): by the condition, by its square in
            // proportion to what no combination explains, and by its square where only products are known.
            let (largest, smallest) = (parts.singular[0], parts.singular[1]);
            let condition = largest / smallest;
            let left = (0..m).map(|i| rest(i).powi(2)).sum::<f64>().sqrt() / (largest * exact.iter().map(|x| x * x).sum::<f64>().sqrt());
            for sharp in [false, true] {
                let mut total = Total::new(sharp);
                for from in (0..m as usize).step_by(1000) {
                    let part = |all: &[f64]| all[from..from + 1000].to_vec();
                    total.add(Folded::new(&[part(&columns[0]), part(&columns[1])].concat(), &part(&y), sharp));
                }
                let found = total.few(squares);
                assert_eq!(found.is_some(), sharp || near == 1.0, "{near} {sharp}");
                let Some((residuals, jacobian)) = found else { continue };
                assert!((residuals.iter().map(|r| r * r).sum::<f64>() / squares - 1.0).abs() < 1e-12);
                let few = linalg::decompose(&jacobian.chunks(3).collect::<Vec<_>>(), &residuals).expect("finite").solve(1e-14);
                let growth = if sharp { condition + condition.powi(2) * left } else { condition.powi(2) };
                for (a, b) in few.iter().zip(&exact) {
                    assert!((a / b - 1.0).abs() < 32.0 * f64::EPSILON * growth, "{near} {sharp}: {few:?} {exact:?}, {growth:e}");
                }
            }
        }
    }
}
