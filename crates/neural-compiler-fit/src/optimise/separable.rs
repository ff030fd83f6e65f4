//! Variable projection (Golub and Pereyra 1973, Kaufman 1975). In: residuals that are affine in some parameters; out: residuals in
//! the others alone, the affine ones being at their best value for them. Fewer dimensions, and no start needed for the affine ones.

use super::linalg::decompose;
use super::{Residuals, Unusable, dot};

/// A problem without its affine parameters.
pub struct Separable<'a> {
    inner: &'a dyn Residuals,
    /// Parameters in which the residuals are affine.
    linear: Vec<usize>,
    /// The others: the parameters of this problem.
    nonlinear: Vec<usize>,
    /// Values the affine parameters are linearised at; any do.
    anchor: Vec<f64>,
}

impl<'a> Separable<'a> {
    /// Takes the parameters `linear` out; `anchor` are usable values of all parameters.
    pub fn new(inner: &'a dyn Residuals, linear: &[usize], anchor: &[f64]) -> Separable<'a> {
        let nonlinear = (0..inner.parameters()).filter(|j| !linear.contains(j)).collect();
        Separable { inner, linear: linear.to_vec(), nonlinear, anchor: anchor.to_vec() }
    }

    /// The parameters that are left.
    pub fn nonlinear(&self) -> &[usize] {
        &self.nonlinear
    }

    /// All parameters: those given, and the affine ones at their best.
    pub fn complete(&self, alpha: &[f64]) -> Result<Vec<f64>, Unusable> {
        let (m, n) = (self.inner.count(), self.inner.parameters());
        let mut theta = self.anchor.clone();
        self.nonlinear.iter().zip(alpha).for_each(|(&j, &x)| theta[j] = x);
        let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * n]);
        self.inner.evaluate(&theta, &mut residuals, Some(&mut jacobian))?;
        let columns: Vec<&[f64]> = self.linear.iter().map(|&j| &jacobian[j * m..(j + 1) * m]).collect();
        let scales: Vec<f64> = columns.iter().map(|c| super::norm(c)).map(|s| if s > 0.0 { s } else { 1.0 }).collect();
        let scaled: Vec<Vec<f64>> = columns.iter().zip(&scales).map(|(c, s)| c.iter().map(|x| x / s).collect()).collect();
        let rhs: Vec<f64> = residuals.iter().map(|r| -r).collect();
        let parts = decompose(&scaled.iter().map(|c| c.as_slice()).collect::<Vec<_>>(), &rhs);
        let best = parts.ok_or_else(|| Unusable("the derivatives of the residuals are not finite".into()))?.solve(1e-13);
        self.linear.iter().zip(best).zip(scales).for_each(|((&j, z), s)| theta[j] += z / s);
        Ok(theta)
    }
}

impl Residuals for Separable<'_> {
    fn parameters(&self) -> usize {
        self.nonlinear.len()
    }

    fn count(&self) -> usize {
        self.inner.count()
    }

    fn stopped(&self) -> bool {
        self.inner.stopped()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let theta = self.complete(theta)?;
        let Some(jacobian) = jacobian else {
            return self.inner.evaluate(&theta, residuals, None);
        };
        let (m, n) = (self.inner.count(), self.inner.parameters());
        let mut whole = vec![0.0; m * n];
        self.inner.evaluate(&theta, residuals, Some(&mut whole))?;
        // Kaufman's approximation: the derivative by the others, without what the affine parameters can undo. An orthonormal
        // basis of those by Gram-Schmidt, twice, which is as good as Householder.
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let clear = |column: &mut [f64], basis: &[Vec<f64>]| {
            for _ in 0..2 {
                for b in basis {
                    let part = dot(column, b);
                    column.iter_mut().zip(b).for_each(|(c, b)| *c -= part * b);
                }
            }
        };
        for &j in &self.linear {
            let mut column = whole[j * m..(j + 1) * m].to_vec();
            let before = super::norm(&column);
            clear(&mut column, &basis);
            let after = super::norm(&column);
            if after > 1e-12 * before {
                column.iter_mut().for_each(|c| *c /= after);
                basis.push(column);
            }
        }
        for (column, &j) in jacobian.chunks_mut(m).zip(&self.nonlinear) {
            column.copy_from_slice(&whole[j * m..(j + 1) * m]);
            clear(column, &basis);
        }
        Ok(())
    }
}
