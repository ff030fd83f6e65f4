//! The linear model of residuals at a point. In: residuals and their derivatives; out: their sizes and slopes, and a decomposition that
//! solves least squares over some of the columns.
//!
//! Products of columns are taken once; where the columns are far from dependent they say everything, to all digits that matter: a
//! system of a few numbers instead of an orthogonal decomposition of all rows. Elsewhere the columns themselves are decomposed.

use super::arrow::{self, Blocks, Groups};
use super::linalg::{self, Decomposition};
use super::sums::Gram;
use super::{dot, norm};
use crate::support::memory;

/// Residuals with derivatives.
#[derive(Clone, Debug, Default)]
pub struct Linear {
    /// The residuals.
    pub residuals: Vec<f64>,
    /// Their derivatives, column by column.
    pub jacobian: Vec<f64>,
    gram: Gram,
    /// Whether no product left the range.
    usable: bool,
    /// The products where parameters fall into groups, and their slopes; the others are then empty.
    arrow: Option<Box<(Blocks, Vec<f64>)>>,
}

/// Sums of squares below this may have lost digits.
const LEAST_SQUARE: f64 = 1e-280;

impl Linear {
    /// The model of residuals and a Jacobian, column by column.
    pub fn new(residuals: Vec<f64>, jacobian: Vec<f64>) -> Linear {
        let gram = Gram::new(&jacobian, &residuals);
        let mut linear = Linear { residuals, jacobian, gram, usable: false, arrow: None };
        // A square that lost its digits below the range is no square; that of a column of zeros is.
        let square = |j: usize| linear.gram.products[j * linear.columns() + j];
        let kept = |j: usize| square(j) > LEAST_SQUARE || linear.column(j).iter().all(|x| *x == 0.0);
        linear.usable = linear.gram.is_finite() && (0..linear.columns()).all(kept);
        linear
    }

    /// Products of the columns of a Jacobian, row by row, and of each with the residuals.
    pub(crate) fn products(jacobian: &[f64], residuals: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let Gram { products, slopes } = Gram::new(jacobian, residuals);
        (products, slopes)
    }

    /// The model of residuals and derivatives that fall into groups.
    pub fn grouped(residuals: Vec<f64>, jacobian: Vec<f64>, groups: &Groups) -> Linear {
        let (s, l, width) = (groups.shared, groups.local, groups.width());
        let mut blocks = Blocks::zeros(s, l, groups.rows.len());
        let mut slopes = vec![0.0; groups.parameters()];
        let (mut row, mut at) = (0, 0);
        for (g, &rows) in groups.rows.iter().enumerate() {
            let own = Gram::new(&jacobian[at..at + rows * width], &residuals[row..row + rows]);
            if rows > 0 {
                blocks.add(Some(g), &own.products);
                (0..s).for_each(|j| slopes[j] += own.slopes[j]);
                (0..l).for_each(|a| slopes[s + g * l + a] = own.slopes[s + a]);
            }
            (row, at) = (row + rows, at + rows * width);
        }
        let usable = slopes.iter().all(|x| x.is_finite());
        Linear { residuals, jacobian, gram: Gram::default(), usable, arrow: Some(Box::new((blocks, slopes))) }
    }

    /// The best step of some parameters, each times its scale, where the others move by what is given for them: within a radius, or of
    /// singular values above a share of the largest; and whether the radius limited it. `None`: a number is not finite.
    pub fn step(&self, chosen: &[usize], scale: &[f64], moved: &[f64], radius: f64, share: Option<f64>) -> Option<(Vec<f64>, bool)> {
        let Some(arrow) = &self.arrow else {
            let parts = self.decompose(chosen, scale, moved)?;
            return Some(match share {
                Some(share) => (parts.solve(share), false),
                None => parts.within(radius),
            });
        };
        let (blocks, slopes) = &**arrow;
        let shift = blocks.times(moved);
        let (mut scales, mut rhs) = (vec![0.0; slopes.len()], vec![0.0; slopes.len()]);
        for (&j, &s) in chosen.iter().zip(scale) {
            (scales[j], rhs[j]) = (s, -(slopes[j] + shift[j]) / s);
        }
        let (z, limited) = arrow::within(&blocks.scaled(&scales), &rhs, if share.is_some() { f64::MAX } else { radius })?;
        Some((chosen.iter().map(|&j| z[j]).collect(), limited))
    }

    /// Memory for the residuals and derivatives of as many columns; the numbers in it mean nothing.
    pub(crate) fn memory(rows: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
        (memory::take(rows), memory::take(rows * columns))
    }

    /// The residuals and the Jacobian.
    pub(crate) fn into_parts(mut self) -> (Vec<f64>, Vec<f64>) {
        (std::mem::take(&mut self.residuals), std::mem::take(&mut self.jacobian))
    }

    /// A column of the Jacobian; none where parameters fall into groups.
    pub fn column(&self, j: usize) -> &[f64] {
        if self.arrow.is_some() {
            return &[];
        }
        let m = self.residuals.len();
        &self.jacobian[j * m..(j + 1) * m]
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        if let Some(arrow) = &self.arrow {
            return arrow.1.len();
        }
        self.gram.columns()
    }

    /// Half the derivative of the sum of squares by a column.
    pub fn slope(&self, j: usize) -> f64 {
        self.arrow.as_ref().map_or_else(|| self.gram.slopes[j], |a| a.1[j])
    }

    /// The length of a column.
    pub fn size(&self, j: usize) -> f64 {
        if let Some(arrow) = &self.arrow {
            return arrow.0.diagonal(j).max(0.0).sqrt();
        }
        let square = self.gram.products[j * self.columns() + j];
        if square.is_finite() && square > LEAST_SQUARE { square.sqrt() } else { norm(self.column(j)) }
    }

    /// By how much a step lowers the sum of squares, as far as the linear model goes.
    pub fn promised(&self, by: &[f64]) -> f64 {
        if let Some(arrow) = &self.arrow {
            return -(2.0 * dot(&arrow.1, by) + dot(&arrow.0.times(by), by));
        }
        if !self.usable {
            let mut change = vec![0.0; self.residuals.len()];
            for (j, by) in by.iter().enumerate().filter(|(_, by)| **by != 0.0) {
                change.iter_mut().zip(self.column(j)).for_each(|(c, x)| *c += by * x);
            }
            return -(2.0 * dot(&self.residuals, &change) + dot(&change, &change));
        }
        let n = self.columns();
        let curved = |i: usize| by.iter().enumerate().map(|(j, b)| self.gram.products[i * n + j] * b).sum::<f64>();
        -by.iter().enumerate().map(|(i, b)| b * (2.0 * self.gram.slopes[i] + curved(i))).sum::<f64>()
    }

    /// Takes some columns, each divided by its scale, apart, against the residuals that are left when the other columns move by what is
    /// given for them. `None`: a number is not finite.
    pub fn decompose(&self, chosen: &[usize], scale: &[f64], moved: &[f64]) -> Option<Decomposition> {
        let n = self.columns();
        let others: Vec<usize> = (0..n).filter(|&j| moved[j] != 0.0).collect();
        if self.usable {
            let product = |a: usize, b: usize| self.gram.products[chosen[a] * n + chosen[b]] / scale[a] / scale[b];
            let slope = |a: usize| {
                let shift: f64 = others.iter().map(|&j| self.gram.products[chosen[a] * n + j] * moved[j]).sum();
                -(self.gram.slopes[chosen[a]] + shift) / scale[a]
            };
            if let Some(parts) = linalg::from_products(chosen.len(), product, slope) {
                return Some(parts);
            }
        }
        let mut rhs: Vec<f64> = self.residuals.iter().map(|r| -r).collect();
        for j in others {
            rhs.iter_mut().zip(self.column(j)).for_each(|(r, x)| *r -= moved[j] * x);
        }
        let scaled: Vec<Vec<f64>> = chosen.iter().zip(scale).map(|(&j, s)| self.column(j).iter().map(|x| x / s).collect()).collect();
        linalg::decompose(&scaled.iter().map(Vec::as_slice).collect::<Vec<_>>(), &rhs)
    }
}

impl Drop for Linear {
    fn drop(&mut self) {
        memory::give(std::mem::take(&mut self.residuals));
        memory::give(std::mem::take(&mut self.jacobian));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_columns_agree() {
        let m = 300;
        let x: Vec<f64> = (0..m).map(|i| i as f64 / 100.0).collect();
        let columns = [x.iter().map(|x| (-x).exp()).collect::<Vec<_>>(), x.iter().map(|x| x * (-x).exp()).collect(), vec![1.0; m]];
        let residuals: Vec<f64> = (0..m).map(|i| (i as f64).sin()).collect();
        let with = Linear::new(residuals, columns.concat());
        let mut without = with.clone();
        without.usable = false;
        let (scale, moved) = ([2.0, 3.0], [0.0, 0.0, 0.25]);
        let (a, b) = (with.decompose(&[0, 1], &scale, &moved).unwrap(), without.decompose(&[0, 1], &scale, &moved).unwrap());
        for (x, y) in a.solve(1e-13).iter().zip(b.solve(1e-13)) {
            assert!((x / y - 1.0).abs() < 1e-11, "{x} {y}");
        }
        let by = [0.3, -0.2, 0.1];
        assert!((with.promised(&by) / without.promised(&by) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn squares_beyond_the_range() {
        let far = Linear::new(vec![1.0, 2.0], vec![1e200, 2e200]);
        let parts = far.decompose(&[0], &[far.size(0)], &[0.0]).unwrap();
        assert!((parts.solve(1e-13)[0] / far.size(0) / -1e-200 - 1.0).abs() < 1e-12);
    }
}
