//! The linear algebra of a fit. In: columns, or a symmetric matrix; out: a decomposition that solves least squares with any damping, or
//! the eigenvalues. The library behind it is generic, and each crate that calls it compiles its own copy: others come here.
//! Invariant: one thread, fixed order, so the same numbers give the same bits.

use super::norm;
use faer::{Mat, Side};

/// `min |A z - b|` taken apart: `A = Q U S Vᵀ`, with the part of `b` that `A` can reach in the basis of `U`.
pub struct Decomposition {
    /// Singular values, largest first.
    pub singular: Vec<f64>,
    /// Right singular vectors: `vectors[k]` belongs to `singular[k]`.
    pub vectors: Vec<Vec<f64>>,
    /// `b` in the basis of the left singular vectors.
    pub along: Vec<f64>,
}

/// Takes columns of equal length and a right-hand side apart. `None`: a number in them is not finite.
pub fn decompose(columns: &[&[f64]], rhs: &[f64]) -> Option<Decomposition> {
    let (m, n) = (rhs.len(), columns.len());
    if n == 0 {
        return Some(Decomposition { singular: vec![], vectors: vec![], along: vec![] });
    }
    if columns.iter().any(|c| c.iter().any(|x| !x.is_finite())) || rhs.iter().any(|x| !x.is_finite()) {
        return None;
    }
    // The right-hand side as one more column: the triangle then holds Qᵀb too. Rows of zeros change nothing.
    let rows = m.max(n + 1);
    let mut augmented = Mat::<f64>::zeros(rows, n + 1);
    for (j, column) in columns.iter().copied().chain([rhs]).enumerate() {
        augmented.col_mut(j).try_as_col_major_mut()?.as_slice_mut()[..m].copy_from_slice(column);
    }
    let qr = augmented.as_ref().qr();
    let r = qr.thin_R();
    let square = Mat::<f64>::from_fn(n, n, |i, j| if i <= j { r[(i, j)] } else { 0.0 });
    let svd = square.as_ref().svd().ok()?;
    let (u, s, v) = (svd.U(), svd.S(), svd.V());
    let singular = (0..n).map(|k| s[k]).collect();
    let vectors = (0..n).map(|k| (0..n).map(|i| v[(i, k)]).collect()).collect();
    let along = (0..n).map(|k| (0..n).map(|i| u[(i, k)] * r[(i, n)]).sum()).collect();
    Some(Decomposition { singular, vectors, along })
}

/// The triangle of columns of equal length: as many numbers in each column as there are columns, column by column, zeros below the
/// diagonal. `None`: a number is not finite.
pub(crate) fn triangle(columns: &[&[f64]]) -> Option<Vec<f64>> {
    let n = columns.len();
    let rows = columns.first().map_or(0, |c| c.len());
    let mut all = Mat::<f64>::zeros(rows.max(n), n);
    for (j, column) in columns.iter().enumerate() {
        all.col_mut(j).try_as_col_major_mut()?.as_slice_mut()[..rows].copy_from_slice(column);
    }
    let qr = all.as_ref().qr();
    let r = qr.thin_R();
    let found: Vec<f64> = (0..n).flat_map(|j| (0..n).map(move |i| (i, j))).map(|(i, j)| if i <= j { r[(i, j)] } else { 0.0 }).collect();
    super::all_finite(&found).then_some(found)
}

/// The same of columns of which only products are known, and of a last one: its products with them, `slopes`, and with itself, `squares`.
/// The last column, then the others. `None`: the columns are so nearly dependent that the products do not tell them apart.
pub(crate) fn triangle_of_products(products: &[f64], slopes: &[f64], squares: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let n = slopes.len();
    let size: Vec<f64> = (0..n).map(|j| products[j * n + j].sqrt()).collect();
    let scaled = |i: usize, j: usize| products[i * n + j] / size[i] / size[j];
    // A column without a length, or one whose square left the range, is for the columns themselves to tell.
    if size.iter().any(|s| !(*s > 0.0 && s.is_finite())) {
        return None;
    }
    from_products(n, scaled, |i| slopes[i] / size[i])?;
    // Cholesky, of columns of length 1.
    let mut root = vec![0.0; n * n];
    for j in 0..n {
        for i in 0..=j {
            let known: f64 = (0..i).map(|k| root[i * n + k] * root[j * n + k]).sum();
            let left = scaled(i, j) - known;
            root[j * n + i] = if i < j { left / root[i * n + i] } else { left.sqrt() };
        }
    }
    let mut last = vec![0.0; n + 1];
    for i in 0..n {
        let known: f64 = (0..i).map(|k| root[i * n + k] * last[k]).sum();
        last[i] = (slopes[i] / size[i] - known) / root[i * n + i];
    }
    last[n] = (squares - last[..n].iter().map(|x| x * x).sum::<f64>()).max(0.0).sqrt();
    let mut columns = vec![0.0; n * (n + 1)];
    for j in 0..n {
        (0..=j).for_each(|i| columns[j * (n + 1) + i] = root[j * n + i] * size[j]);
    }
    (super::all_finite(&columns) && super::all_finite(&last)).then_some((last, columns))
}

/// The eigenvalues of a symmetric matrix, smallest first, and its eigenvectors.
pub struct Eigen {
    /// Eigenvalues.
    pub values: Vec<f64>,
    /// `vectors[k]` belongs to `values[k]`.
    pub vectors: Vec<Vec<f64>>,
}

/// Takes a symmetric matrix apart, of which the lower half is read. `None`: the iteration does not converge.
pub fn symmetric_eigen(n: usize, at: impl Fn(usize, usize) -> f64) -> Option<Eigen> {
    let eigen = Mat::<f64>::from_fn(n, n, at).self_adjoint_eigen(Side::Lower).ok()?;
    let (values, basis) = (eigen.S(), eigen.U());
    let vectors = (0..n).map(|k| (0..n).map(|i| basis[(i, k)]).collect()).collect();
    Some(Eigen { values: (0..n).map(|k| values[k]).collect(), vectors })
}

/// Squared singular values further apart than this are left to the columns themselves: products of columns lose as many digits of the
/// smallest as lie between it and the largest.
const FAR_APART: f64 = 1e-7;

/// The same from products: `product(i, j)` of columns, `slope(i)` of a column with the right-hand side. `None` where the columns are so
/// nearly dependent that the products do not tell them apart.
pub(crate) fn from_products(n: usize, product: impl Fn(usize, usize) -> f64, slope: impl Fn(usize) -> f64) -> Option<Decomposition> {
    if n == 0 {
        return Some(Decomposition { singular: vec![], vectors: vec![], along: vec![] });
    }
    let Eigen { values, mut vectors } = symmetric_eigen(n, product)?;
    if !(values[0] > FAR_APART * values[n - 1] && values[n - 1].is_finite()) {
        return None;
    }
    let slopes: Vec<f64> = (0..n).map(slope).collect();
    let singular: Vec<f64> = values.iter().rev().map(|v| v.sqrt()).collect();
    vectors.reverse();
    let along = vectors.iter().zip(&singular).map(|(v, s)| v.iter().zip(&slopes).map(|(v, b)| v * b).sum::<f64>() / s).collect();
    Some(Decomposition { singular, vectors, along })
}

impl Decomposition {
    /// How many singular values are above a share of the largest.
    pub fn rank(&self, share: f64) -> usize {
        let cut = self.singular.first().copied().unwrap_or(0.0) * share;
        self.singular.iter().take_while(|&&s| s > cut && s > 0.0).count()
    }

    /// The least-squares solution of smallest norm; singular values below `share` of the largest count as 0.
    pub fn solve(&self, share: f64) -> Vec<f64> {
        self.combine(self.rank(share), 0.0)
    }

    fn combine(&self, rank: usize, damping: f64) -> Vec<f64> {
        let mut z = vec![0.0; self.singular.len()];
        for k in 0..rank {
            let s = self.singular[k];
            let weight = self.along[k] * (s / (s * s + damping));
            z.iter_mut().zip(&self.vectors[k]).for_each(|(z, v)| *z += weight * v);
        }
        z
    }

    /// The length of the solution with a damping.
    fn length(&self, rank: usize, damping: f64) -> f64 {
        let parts: Vec<f64> =
            (0..rank).map(|k| self.along[k] * (self.singular[k] / (self.singular[k] * self.singular[k] + damping))).collect();
        norm(&parts)
    }

    /// The solution of the trust region `|z| <= radius`, and whether the region limited it.
    pub fn within(&self, radius: f64) -> (Vec<f64>, bool) {
        let rank = self.rank(1e-14);
        if self.length(rank, 0.0) <= radius {
            return (self.combine(rank, 0.0), false);
        }
        // |z(damping)| falls monotonically: bisect its logarithm, then polish; ten digits are far more than the radius means.
        let gradient: Vec<f64> = (0..rank).map(|k| self.along[k] * self.singular[k]).collect();
        let mut high = norm(&gradient) / radius;
        let mut low = high * 1e-30;
        for _ in 0..100 {
            let middle = (low * high).sqrt();
            let length = self.length(rank, middle);
            if (length - radius).abs() <= 0.05 * radius {
                return (self.combine(rank, middle), true);
            }
            if length > radius { low = middle } else { high = middle }
        }
        (self.combine(rank, high), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_least_squares() {
        // A line through (0,1), (1,3), (2,5): intercept 1, slope 2.
        let d = decompose(&[&[1.0, 1.0, 1.0], &[0.0, 1.0, 2.0]], &[1.0, 3.0, 5.0]).unwrap();
        let z = d.solve(1e-12);
        assert!((z[0] - 1.0).abs() < 1e-14 && (z[1] - 2.0).abs() < 1e-14);
        let (z, limited) = d.within(0.5);
        assert!(limited && (norm(&z) - 0.5).abs() < 0.03);
    }

    #[test]
    fn fewer_rows_than_columns_and_rank_deficiency() {
        let d = decompose(&[&[1.0], &[1.0]], &[4.0]).unwrap();
        let z = d.solve(1e-12);
        assert!((z[0] - 2.0).abs() < 1e-14 && (z[1] - 2.0).abs() < 1e-14, "the shortest of all solutions");
        assert!(decompose(&[&[f64::NAN]], &[1.0]).is_none());
    }
}
