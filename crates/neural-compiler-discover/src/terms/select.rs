//! Few of many columns. In: columns and what their combination should be; out: small sets of columns with their coefficients, best first
//! within each size. A beam over sizes, each step with the exact least squares of the set (from inner products, so that a set costs nothing
//! but its own small system). Invariants: no set twice; sets whose columns hardly differ are left out.

use std::collections::HashSet;

/// A set of columns.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// Which, in order.
    pub(crate) columns: Vec<usize>,
    /// Their coefficients.
    pub(crate) coefficients: Vec<f64>,
    /// What is left, as a share of what there was.
    pub(crate) left: f64,
}

/// Inner products of columns and of what they should make.
pub(crate) struct Products {
    gram: Vec<Vec<f64>>,
    with: Vec<f64>,
    total: f64,
    scales: Vec<f64>,
}

impl Products {
    pub(crate) fn new(columns: &[Vec<f64>], wanted: &[f64]) -> Products {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let scales: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
        let unit: Vec<Vec<f64>> = columns.iter().zip(&scales).map(|(c, s)| c.iter().map(|x| x / s).collect()).collect();
        let gram = unit.iter().map(|a| unit.iter().map(|b| dot(a, b)).collect()).collect();
        let with = unit.iter().map(|a| dot(a, wanted)).collect();
        Products { gram, with, total: dot(wanted, wanted), scales }
    }

    /// The least squares of a set; nothing where its columns hardly differ.
    pub(crate) fn solve(&self, set: &[usize]) -> Option<Chosen> {
        let k = set.len();
        let mut factor = vec![vec![0.0; k]; k];
        let mut z = vec![0.0; k];
        for (i, &a) in set.iter().enumerate() {
            for (j, &b) in set[..=i].iter().enumerate() {
                let rest: f64 = (0..j).map(|m| factor[i][m] * factor[j][m]).sum();
                let value = self.gram[a][b] - rest;
                if i == j {
                    if value.is_nan() || value < 1e-9 {
                        return None;
                    }
                    factor[i][i] = value.sqrt();
                } else {
                    factor[i][j] = value / factor[j][j];
                }
            }
            z[i] = (self.with[a] - (0..i).map(|m| factor[i][m] * z[m]).sum::<f64>()) / factor[i][i];
        }
        let mut x = z.clone();
        for i in (0..k).rev() {
            let rest: f64 = (i + 1..k).map(|m| factor[m][i] * x[m]).sum();
            x[i] = (x[i] - rest) / factor[i][i];
        }
        let explained: f64 = z.iter().map(|z| z * z).sum();
        let left = ((self.total - explained) / self.total.max(1e-300)).max(1e-14);
        let coefficients = x.iter().zip(set).map(|(x, &c)| x / self.scales[c]).collect();
        left.is_finite().then(|| Chosen { columns: set.to_vec(), coefficients, left })
    }
}

/// Sets of at most `most` columns: of each size the best ones. `cost`: what a set is charged beside what it leaves, in units of the
/// logarithm of that share; sets that `apart` refuses are passed over.
pub(crate) fn select(
    products: &Products,
    (most, beam): (usize, usize),
    cost: impl Fn(&Chosen) -> f64,
    apart: impl Fn(&[usize], usize) -> bool,
) -> Vec<Vec<Chosen>> {
    let count = products.with.len();
    let mut levels: Vec<Vec<Chosen>> = Vec::new();
    let mut current: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..most {
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        let mut next: Vec<(f64, Chosen)> = Vec::new();
        for set in &current {
            for column in (0..count).filter(|c| !set.contains(c) && products.scales[*c] > 0.0 && apart(set, *c)) {
                let mut larger = set.clone();
                larger.push(column);
                larger.sort_unstable();
                if !seen.insert(larger.clone()) {
                    continue;
                }
                next.extend(products.solve(&larger).map(|c| (cost(&c), c)));
            }
        }
        next.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.columns.cmp(&b.1.columns)));
        next.truncate(beam);
        current = next.iter().map(|n| n.1.columns.clone()).collect();
        if next.is_empty() {
            break;
        }
        levels.push(next.into_iter().map(|n| n.1).collect());
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_columns_that_matter_are_found_with_their_coefficients() {
        let t: Vec<f64> = (0..50).map(|i| f64::from(i) / 10.0).collect();
        let columns: Vec<Vec<f64>> =
            vec![t.iter().map(|t| t.sin()).collect(), t.clone(), t.iter().map(|t| t * t).collect(), t.iter().map(|t| t.cos()).collect()];
        let wanted: Vec<f64> = t.iter().map(|t| 2.0 * t.sin() - 0.5 * t * t).collect();
        let levels = select(&Products::new(&columns, &wanted), (3, 10), |c| c.left.ln(), |_, _| true);
        let best = &levels[1][0];
        assert_eq!(best.columns, [0, 2]);
        assert!((best.coefficients[0] - 2.0).abs() < 1e-9 && (best.coefficients[1] + 0.5).abs() < 1e-9);
    }
}
