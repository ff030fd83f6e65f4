//! Problems whose parameters fall into groups: some are shared by all residuals, others belong to one group of them. In: residuals and
//! derivatives group by group; out: the products of least squares as blocks, and steps that solve them.
//!
//! The matrix of products has the shape of an arrow: a block for each group, beside it how the group meets the shared parameters, and the
//! block of those. Taking the groups out one by one (the complement of Schur) leaves a system of the shared parameters alone, so that the
//! cost grows with the number of groups, not with its cube. Invariant: one order of groups everywhere, so the same numbers give the same
//! bits.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

/// How parameters and residuals fall into groups. Parameters: the shared ones, then those of each group. Derivatives: for each group a
/// block, column by column, by the shared parameters and its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Groups {
    /// Parameters shared by all.
    pub shared: usize,
    /// Parameters of each group.
    pub local: usize,
    /// Residuals of each group.
    pub rows: Vec<usize>,
}

impl Groups {
    /// All parameters.
    pub fn parameters(&self) -> usize {
        self.shared + self.local * self.rows.len()
    }

    /// Columns of a block of derivatives.
    pub fn width(&self) -> usize {
        self.shared + self.local
    }
}

/// A symmetric matrix in the shape of an arrow, row by row in each block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Parameters shared by all, and of each group.
    pub sizes: (usize, usize),
    /// The block of the shared parameters.
    pub shared: Vec<f64>,
    /// For each group the block of its parameters with the shared ones: a row for each of its own.
    pub cross: Vec<Vec<f64>>,
    /// For each group the block of its parameters.
    pub local: Vec<Vec<f64>>,
}

impl Blocks {
    /// Nothing yet.
    pub fn zeros(shared: usize, local: usize, groups: usize) -> Blocks {
        Blocks {
            sizes: (shared, local),
            shared: vec![0.0; shared * shared],
            cross: vec![vec![0.0; local * shared]; groups],
            local: vec![vec![0.0; local * local]; groups],
        }
    }

    /// How many parameters there are.
    pub fn parameters(&self) -> usize {
        self.sizes.0 + self.sizes.1 * self.local.len()
    }

    /// Adds a symmetric matrix of the shared parameters and those of a group, or of the shared ones alone.
    pub fn add(&mut self, group: Option<usize>, matrix: &[f64]) {
        let (s, l) = self.sizes;
        let n = if group.is_some() { s + l } else { s };
        (0..s).for_each(|i| (0..s).for_each(|j| self.shared[i * s + j] += matrix[i * n + j]));
        let Some(g) = group else { return };
        for a in 0..l {
            (0..s).for_each(|j| self.cross[g][a * s + j] += matrix[(s + a) * n + j]);
            (0..l).for_each(|b| self.local[g][a * l + b] += matrix[(s + a) * n + s + b]);
        }
    }

    /// An entry of the diagonal.
    pub fn diagonal(&self, j: usize) -> f64 {
        let (s, l) = self.sizes;
        if j < s {
            return self.shared[j * s + j];
        }
        let (g, a) = ((j - s) / l, (j - s) % l);
        self.local[g][a * l + a]
    }

    /// The matrix times a vector.
    pub fn times(&self, v: &[f64]) -> Vec<f64> {
        let (s, l) = self.sizes;
        let mut out: Vec<f64> = (0..s).map(|i| (0..s).map(|j| self.shared[i * s + j] * v[j]).sum()).collect();
        for (g, (cross, local)) in self.cross.iter().zip(&self.local).enumerate() {
            let own = &v[s + g * l..s + (g + 1) * l];
            for a in 0..l {
                out.push((0..s).map(|j| cross[a * s + j] * v[j]).sum::<f64>() + (0..l).map(|b| local[a * l + b] * own[b]).sum::<f64>());
            }
            (0..s).for_each(|j| out[j] += (0..l).map(|a| cross[a * s + j] * own[a]).sum::<f64>());
        }
        out
    }

    /// The matrix as one.
    pub fn dense(&self) -> Vec<f64> {
        let (p, (s, l)) = (self.parameters(), self.sizes);
        let mut all = vec![0.0; p * p];
        (0..s).for_each(|i| (0..s).for_each(|j| all[i * p + j] = self.shared[i * s + j]));
        for (g, (cross, local)) in self.cross.iter().zip(&self.local).enumerate() {
            for a in 0..l {
                let i = s + g * l + a;
                for j in 0..s {
                    all[i * p + j] = cross[a * s + j];
                    all[j * p + i] = cross[a * s + j];
                }
                (0..l).for_each(|b| all[i * p + s + g * l + b] = local[a * l + b]);
            }
        }
        all
    }

    /// The same with each parameter in units of one over its scale; those of scale 0 stand still: their rows are those of 1.
    pub fn scaled(&self, scale: &[f64]) -> Blocks {
        let (s, l) = self.sizes;
        let unit = |x: f64, a: f64, b: f64, same: bool| if a > 0.0 && b > 0.0 { x / a / b } else { f64::from(same) };
        let mut made = self.clone();
        (0..s).for_each(|i| (0..s).for_each(|j| made.shared[i * s + j] = unit(self.shared[i * s + j], scale[i], scale[j], i == j)));
        for g in 0..self.local.len() {
            let own = &scale[s + g * l..s + (g + 1) * l];
            for a in 0..l {
                (0..s).for_each(|j| made.cross[g][a * s + j] = unit(self.cross[g][a * s + j], own[a], scale[j], false));
                (0..l).for_each(|b| made.local[g][a * l + b] = unit(self.local[g][a * l + b], own[a], own[b], a == b));
            }
        }
        made
    }

    /// The block of the shared parameters once the others are taken out, row by row; `None` where a block of theirs is not positive.
    pub fn complement(&self) -> Option<Vec<f64>> {
        let (s, l) = self.sizes;
        let mut left = self.shared.clone();
        for (cross, local) in self.cross.iter().zip(&self.local) {
            let block = Mat::<f64>::from_fn(l, l, |a, b| local[a * l + b]);
            let meets = Mat::<f64>::from_fn(l, s, |a, j| cross[a * s + j]);
            let mut solved = meets.clone();
            block.llt(Side::Lower).ok()?.solve_in_place(solved.as_mut());
            let through = meets.transpose() * &solved;
            (0..s * s).for_each(|k| left[k] -= through[(k / s, k % s)]);
        }
        Some(left)
    }

    /// Takes the matrix apart, with a number added to its diagonal; `None` where it is not positive then.
    pub fn factor(&self, damping: f64) -> Option<Factor> {
        let (s, l) = self.sizes;
        let mut schur = Mat::<f64>::from_fn(s, s, |i, j| self.shared[i * s + j] + if i == j { damping } else { 0.0 });
        let mut groups = Vec::with_capacity(self.local.len());
        for (cross, local) in self.cross.iter().zip(&self.local) {
            let block = Mat::<f64>::from_fn(l, l, |a, b| local[a * l + b] + if a == b { damping } else { 0.0 });
            let factor = block.llt(Side::Lower).ok()?;
            let meets = Mat::<f64>::from_fn(l, s, |a, j| cross[a * s + j]);
            let mut solved = meets.clone();
            factor.solve_in_place(solved.as_mut());
            schur -= meets.transpose() * &solved;
            groups.push((factor, meets, solved));
        }
        let shared = match s {
            0 => None,
            _ => Some(schur.llt(Side::Lower).ok()?),
        };
        Some(Factor { sizes: self.sizes, shared, groups })
    }
}

type Llt = faer::linalg::solvers::Llt<f64>;

/// A matrix taken apart.
pub struct Factor {
    sizes: (usize, usize),
    shared: Option<Llt>,
    /// Of each group its block, how it meets the shared parameters, and that divided by the block.
    groups: Vec<(Llt, Mat<f64>, Mat<f64>)>,
}

impl Factor {
    /// The solution for a right-hand side.
    pub fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let (s, l) = self.sizes;
        let mut head = Mat::<f64>::from_fn(s, 1, |i, _| rhs[i]);
        let own = |g: usize| Mat::<f64>::from_fn(l, 1, |a, _| rhs[s + g * l + a]);
        for (g, (_, _, solved)) in self.groups.iter().enumerate() {
            head -= solved.transpose() * own(g);
        }
        if let Some(shared) = &self.shared {
            shared.solve_in_place(head.as_mut());
        }
        let mut out: Vec<f64> = (0..s).map(|i| head[(i, 0)]).collect();
        for (g, (factor, meets, _)) in self.groups.iter().enumerate() {
            let mut part = own(g) - meets * &head;
            factor.solve_in_place(part.as_mut());
            out.extend((0..l).map(|a| part[(a, 0)]));
        }
        out
    }

    /// The inverse: its block of the shared parameters, and the diagonal of the others.
    pub fn inverse(&self) -> (Vec<f64>, Vec<f64>) {
        let (s, l) = self.sizes;
        let mut head = Mat::<f64>::identity(s, s);
        if let Some(shared) = &self.shared {
            shared.solve_in_place(head.as_mut());
        }
        let shared: Vec<f64> = (0..s * s).map(|k| head[(k / s, k % s)]).collect();
        let mut diagonal = Vec::new();
        for (factor, _, solved) in &self.groups {
            let mut own = Mat::<f64>::identity(l, l);
            factor.solve_in_place(own.as_mut());
            let through = solved * &head * solved.transpose();
            diagonal.extend((0..l).map(|a| own[(a, a)] + through[(a, a)]));
        }
        (shared, diagonal)
    }
}

/// The solution within a radius, and whether that limited it. `None`: the matrix is not finite.
pub fn within(matrix: &Blocks, rhs: &[f64], radius: f64) -> Option<(Vec<f64>, bool)> {
    let length = |z: &[f64]| super::norm(z);
    if let Some(factor) = matrix.factor(0.0) {
        let z = factor.solve(rhs);
        if length(&z) <= radius {
            return Some((z, false));
        }
    }
    let mut high = length(rhs) / radius;
    if !(high.is_finite() && high > 0.0) {
        return (high == 0.0).then(|| (vec![0.0; rhs.len()], false));
    }
    let mut low = high * 1e-30;
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        let Some(z) = matrix.factor(middle).map(|f| f.solve(rhs)) else {
            low = middle;
            continue;
        };
        let found = length(&z);
        if (found - radius).abs() <= 0.05 * radius {
            return Some((z, true));
        }
        if found > radius { low = middle } else { high = middle }
    }
    matrix.factor(high).map(|f| (f.solve(rhs), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_is_solved_as_the_whole_matrix_is() {
        // Two shared parameters, three groups of two: products of derivatives that nothing special is known of.
        let mut all = Blocks::zeros(2, 2, 3);
        for g in 0..3 {
            let row = |i: usize, j: usize| ((i * 7 + j * 3 + g * 5) % 11) as f64 - 4.0;
            let matrix: Vec<f64> = (0..16).map(|k| (0..6).map(|i| row(i, k / 4) * row(i, k % 4)).sum()).collect();
            all.add(Some(g), &matrix);
        }
        let (p, dense) = (all.parameters(), all.dense());
        let z: Vec<f64> = (0..p).map(|j| 0.5 + j as f64).collect();
        let rhs = all.times(&z);
        let by_dense: Vec<f64> = (0..p).map(|i| (0..p).map(|j| dense[i * p + j] * z[j]).sum()).collect();
        assert!(rhs.iter().zip(&by_dense).all(|(a, b)| (a - b).abs() < 1e-9));
        let factor = all.factor(0.0).expect("it is positive");
        assert!(factor.solve(&rhs).iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-7), "{:?}", factor.solve(&rhs));
        let (shared, diagonal) = factor.inverse();
        for j in 0..p {
            let mut unit = vec![0.0; p];
            unit[j] = 1.0;
            let expected = factor.solve(&unit)[j];
            let found = if j < 2 { shared[j * 2 + j] } else { diagonal[j - 2] };
            assert!((found - expected).abs() < 1e-9 * expected.abs(), "{j}");
        }
        let (short, limited) = within(&all, &rhs, 1.0).expect("finite");
        assert!(limited && (super::super::norm(&short) - 1.0).abs() < 0.051);
    }
}
