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
        self.taken_apart(damping, |block, _| Some(Root::Triangle(block.llt(Side::Lower).ok()?)))
    }

    /// The same; `None` too where a column of those whose products these are depends on others.
    fn factor_if_firm(&self) -> Option<Factor> {
        self.taken_apart(0.0, Root::if_firm)
    }

    /// The same of products of columns of which some depend on others: what they do not determine is left where it is. `None`: a number is
    /// not finite.
    fn factor_of_products(&self, damping: f64) -> Option<Factor> {
        self.taken_apart(damping, Root::of_products)
    }

    /// `root`: of a block, and of the squares its columns had before others were taken out.
    fn taken_apart(&self, damping: f64, root: impl Fn(&Mat<f64>, &[f64]) -> Option<Root>) -> Option<Factor> {
        let (s, l) = self.sizes;
        let squares: Vec<f64> = (0..s).map(|i| self.shared[i * s + i] + damping).collect();
        let mut schur = Mat::<f64>::from_fn(s, s, |i, j| self.shared[i * s + j] + if i == j { damping } else { 0.0 });
        let mut groups = Vec::with_capacity(self.local.len());
        for (cross, local) in self.cross.iter().zip(&self.local) {
            let block = Mat::<f64>::from_fn(l, l, |a, b| local[a * l + b] + if a == b { damping } else { 0.0 });
            let factor = root(&block, &(0..l).map(|a| block[(a, a)]).collect::<Vec<_>>())?;
            let meets = Mat::<f64>::from_fn(l, s, |a, j| cross[a * s + j]);
            let solved = factor.solve(meets.clone());
            schur -= meets.transpose() * &solved;
            groups.push((factor, meets, solved));
        }
        let shared = match s {
            0 => None,
            _ => Some(root(&schur, &squares)?),
        };
        Some(Factor { sizes: self.sizes, shared, groups })
    }
}

/// What is left of a square beside itself, once what other columns explain of it is taken out, that is rounding.
const LOST: f64 = 1e-13;

/// A symmetric matrix in a form that solves.
enum Root {
    Triangle(faer::linalg::solvers::Llt<f64>),
    /// Eigenvectors as columns, in units of one over the lengths of columns, and one over their eigenvalues; 0 for those that are rounding.
    Eigen(Mat<f64>, Vec<f64>),
}

impl Root {
    fn if_firm(block: &Mat<f64>, squares: &[f64]) -> Option<Root> {
        let triangle = block.llt(Side::Lower).ok()?;
        let firm = squares.iter().enumerate().all(|(i, square)| triangle.L()[(i, i)].powi(2) > LOST * square);
        firm.then_some(Root::Triangle(triangle))
    }

    /// Of products of columns: none of its eigenvalues is negative but by rounding.
    fn of_products(block: &Mat<f64>, squares: &[f64]) -> Option<Root> {
        let n = squares.len();
        let size: Vec<f64> = squares.iter().map(|s| if *s > 0.0 { s.sqrt() } else { 1.0 }).collect();
        let scaled = Mat::<f64>::from_fn(n, n, |i, j| block[(i, j)] / size[i] / size[j]);
        if (0..n).any(|j| (0..n).any(|i| !scaled[(i, j)].is_finite())) {
            return None;
        }
        let eigen = scaled.self_adjoint_eigen(Side::Lower).ok()?;
        let over = (0..n).map(|k| eigen.S()[k]).map(|v| if v > LOST * n as f64 { 1.0 / v } else { 0.0 }).collect();
        Some(Root::Eigen(Mat::from_fn(n, n, |i, k| eigen.U()[(i, k)] / size[i]), over))
    }

    fn solve(&self, mut rhs: Mat<f64>) -> Mat<f64> {
        match self {
            Root::Triangle(triangle) => triangle.solve_in_place(rhs.as_mut()),
            Root::Eigen(vectors, over) => {
                let along = vectors.transpose() * &rhs;
                rhs = vectors * Mat::<f64>::from_fn(along.nrows(), along.ncols(), |k, j| over[k] * along[(k, j)]);
            }
        }
        rhs
    }
}

/// A matrix taken apart.
pub struct Factor {
    sizes: (usize, usize),
    shared: Option<Root>,
    /// Of each group its block, how it meets the shared parameters, and that divided by the block.
    groups: Vec<(Root, Mat<f64>, Mat<f64>)>,
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
            head = shared.solve(head);
        }
        let mut out: Vec<f64> = (0..s).map(|i| head[(i, 0)]).collect();
        for (g, (factor, meets, _)) in self.groups.iter().enumerate() {
            let part = factor.solve(own(g) - meets * &head);
            out.extend((0..l).map(|a| part[(a, 0)]));
        }
        out
    }

    /// The inverse: its block of the shared parameters, and the diagonal of the others.
    pub fn inverse(&self) -> (Vec<f64>, Vec<f64>) {
        let (s, l) = self.sizes;
        let mut head = Mat::<f64>::identity(s, s);
        if let Some(shared) = &self.shared {
            head = shared.solve(head);
        }
        let shared: Vec<f64> = (0..s * s).map(|k| head[(k / s, k % s)]).collect();
        let mut diagonal = Vec::new();
        for (factor, _, solved) in &self.groups {
            let own = factor.solve(Mat::<f64>::identity(l, l));
            let through = solved * &head * solved.transpose();
            diagonal.extend((0..l).map(|a| own[(a, a)] + through[(a, a)]));
        }
        (shared, diagonal)
    }
}

/// The solution within a radius, and whether that limited it, for products of columns. What they do not determine, as the constants of a
/// group of a single row, stays where it is. `None`: the matrix is not finite.
pub fn within(matrix: &Blocks, rhs: &[f64], radius: f64) -> Option<(Vec<f64>, bool)> {
    let length = |z: &[f64]| super::norm(z);
    let usual = matrix.factor_if_firm();
    let firm = usual.is_some();
    let z = usual.map_or_else(|| matrix.factor_of_products(0.0), Some)?.solve(rhs);
    if length(&z) <= radius {
        return Some((z, false));
    }
    let mut high = length(rhs) / radius;
    if !(high.is_finite() && high > 0.0) {
        return (high == 0.0).then(|| (vec![0.0; rhs.len()], false));
    }
    let mut low = high * 1e-30;
    let factor = |damping: f64| if firm { matrix.factor(damping) } else { matrix.factor_of_products(damping) };
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        let z = factor(middle)?.solve(rhs);
        let found = length(&z);
        if (found - radius).abs() <= 0.05 * radius {
            return Some((z, true));
        }
        if found > radius { low = middle } else { high = middle }
    }
    factor(high).map(|f| (f.solve(rhs), true))
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

    #[test]
    fn what_a_group_does_not_determine_stays() {
        // Lines a + b t of their own: one through (0, 1), (1, 3), (2, 5), one with a single row, y = 5 at t = 2, one with two at the same
        // time, and one without a row.
        for damped in [false, true] {
            let mut all = Blocks::zeros(0, 2, 4);
            let mut rhs = vec![0.0; 8];
            for (g, t, y) in [(0, 0.0, 1.0), (0, 1.0, 3.0), (0, 2.0, 5.0), (1, 2.0, 5.0), (2, 2.0, 5.0), (2, 2.0, 6.0)] {
                all.add(Some(g), &[1.0, t, t, t * t]);
                (rhs[2 * g], rhs[2 * g + 1]) = (rhs[2 * g] + y, rhs[2 * g + 1] + t * y);
            }
            let (z, limited) = within(&all, &rhs, if damped { 1.0 } else { f64::MAX }).expect("finite");
            assert!(limited == damped && z[6] == 0.0 && z[7] == 0.0, "{z:?}");
            if !damped {
                assert!((z[0] - 1.0).abs() < 1e-12 && (z[1] - 2.0).abs() < 1e-12, "{z:?}");
                assert!((z[2] + 2.0 * z[3] - 5.0).abs() < 1e-12 && (z[4] + 2.0 * z[5] - 5.5).abs() < 1e-12, "{z:?}");
            }
        }
    }

    #[test]
    fn a_shared_parameter_that_its_groups_undo_stays() {
        // c + a of each group: only their sum is determined.
        let mut all = Blocks::zeros(1, 1, 2);
        let mut rhs = vec![0.0; 3];
        for (g, y) in [(0, 1.0), (0, 2.0), (1, 4.0)] {
            all.add(Some(g), &[1.0; 4]);
            (rhs[0], rhs[1 + g]) = (rhs[0] + y, rhs[1 + g] + y);
        }
        let (z, _) = within(&all, &rhs, f64::MAX).expect("finite");
        assert!(z[0] == 0.0 && (z[1] - 1.5).abs() < 1e-12 && (z[2] - 4.0).abs() < 1e-12, "{z:?}");
        all.shared[0] = f64::NAN;
        assert!(within(&all, &rhs, 1.0).is_none());
    }
}
