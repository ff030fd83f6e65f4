//! Likelihoods of groups as one. In: for each group a likelihood of the parameters that are shared and of its own; out: one problem of all,
//! whose derivatives have the shape of an arrow. A model without groups is one of a single part.

use super::problem::Likelihood;
use crate::optimise::arrow::{Blocks, Groups};
use crate::optimise::{Bounds, Residuals, Unusable};
use rayon::prelude::*;

/// Likelihoods that share parameters.
pub(crate) struct Joint<'a> {
    /// One for each group.
    pub(crate) parts: Vec<Likelihood<'a>>,
    /// How parameters fall into groups; without: the only part has all.
    groups: Option<Groups>,
    /// For each parameter of a part its column: the shared ones first, then its own.
    order: Vec<usize>,
}

/// What gives the second derivatives of a part that has none itself.
type Second<'a, 's> = dyn Fn(&Likelihood<'a>, &[f64]) -> Result<Vec<f64>, Unusable> + Sync + 's;

impl<'a> Joint<'a> {
    /// The likelihood of a model without groups.
    pub(crate) fn alone(part: Likelihood<'a>) -> Joint<'a> {
        let order = (0..part.parameters()).collect();
        Joint { parts: vec![part], groups: None, order }
    }

    /// Those of groups. `local`: which parameters of a part are its own.
    pub(crate) fn grouped(parts: Vec<Likelihood<'a>>, local: &[usize]) -> Joint<'a> {
        let width = parts.first().map_or(0, |p| p.parameters());
        let shared = width - local.len();
        let (mut next, mut order) = (0, vec![0; width]);
        for (j, place) in order.iter_mut().enumerate() {
            *place = match local.iter().position(|&l| l == j) {
                Some(a) => shared + a,
                None => {
                    next += 1;
                    next - 1
                }
            };
        }
        let rows = parts.iter().map(|p| p.count()).collect();
        Joint { groups: Some(Groups { shared, local: local.len(), rows }), parts, order }
    }

    /// The parameters of a part.
    pub(crate) fn of_part(&self, theta: &[f64], part: usize) -> Vec<f64> {
        let Some(groups) = &self.groups else { return theta.to_vec() };
        let place = |&c: &usize| if c < groups.shared { c } else { groups.shared + part * groups.local + c - groups.shared };
        self.order.iter().map(|c| theta[place(c)]).collect()
    }

    /// How many parameters all parts share.
    pub(crate) fn shared(&self) -> usize {
        self.groups.as_ref().map_or(self.order.len(), |g| g.shared)
    }

    /// The parameters of a part, from those all share and its own.
    pub(crate) fn together(&self, shared: &[f64], own: &[f64]) -> Vec<f64> {
        self.order.iter().map(|&c| if c < shared.len() { shared[c] } else { own[c - shared.len()] }).collect()
    }

    /// Which parameter of a part is in each column.
    pub(crate) fn in_order(&self) -> Vec<usize> {
        let mut places = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(j, &c)| places[c] = j);
        places
    }

    /// The column of a parameter of a part.
    pub(crate) fn column(&self, parameter: usize) -> usize {
        self.order[parameter]
    }

    /// Which parameters of a part are its own.
    pub(crate) fn own_columns(&self) -> Vec<usize> {
        self.in_order().split_off(self.shared())
    }

    /// Those of some numbers of a part that all share, in their order.
    pub(crate) fn of_shared(&self, of_part: &[f64]) -> Vec<f64> {
        self.in_order()[..self.shared()].iter().map(|&j| of_part[j]).collect()
    }

    /// Parameters of all, each part having these.
    pub(crate) fn spread(&self, of_part: &[f64]) -> Vec<f64> {
        let Some(groups) = &self.groups else { return of_part.to_vec() };
        let mut theta = vec![0.0; groups.parameters()];
        for (j, &c) in self.order.iter().enumerate() {
            let places = if c < groups.shared { c..c + 1 } else { c..theta.len() };
            places.step_by(groups.local.max(1)).for_each(|i| theta[i] = of_part[j]);
        }
        theta
    }

    /// The bounds of the parameters of a part.
    pub(crate) fn bounds_of_part(&self, bounds: &Bounds) -> Bounds {
        Bounds { min: self.of_part(&bounds.min, 0), max: self.of_part(&bounds.max, 0) }
    }

    /// Something of every part, in order.
    fn each<T: Send>(
        &self,
        theta: &[f64],
        one: impl Fn(&Likelihood<'a>, Vec<f64>) -> Result<T, Unusable> + Sync,
    ) -> Result<Vec<T>, Unusable> {
        let found: Vec<Result<T, Unusable>> =
            self.parts.par_iter().enumerate().map(|(g, part)| one(part, self.of_part(theta, g))).collect();
        found.into_iter().collect()
    }

    /// The numbers compared.
    pub(crate) fn observations(&self) -> usize {
        self.parts.iter().map(Likelihood::observations).sum()
    }

    /// Whether there are priors.
    pub(crate) fn has_priors(&self) -> bool {
        self.parts.iter().any(|p| p.cells.iter().any(|c| c.prior))
    }

    /// The log-likelihood of the data, and the logarithm of the priors.
    pub(crate) fn parts(&self, theta: &[f64]) -> Result<(f64, f64), Unusable> {
        let all = self.each(theta, |part, theta| part.parts(&theta))?;
        Ok(all.iter().fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1)))
    }

    /// A vector of the parameters of a part, in the order of its columns.
    fn columns(&self, of_part: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; of_part.len()];
        self.order.iter().zip(of_part).for_each(|(&c, x)| out[c] = *x);
        out
    }

    /// Adds vectors of the parts up.
    fn gathered(&self, parts: &[Vec<f64>]) -> Vec<f64> {
        let Some(groups) = &self.groups else { return parts[0].clone() };
        let (s, l) = (groups.shared, groups.local);
        let mut all = vec![0.0; groups.parameters()];
        for (g, part) in parts.iter().enumerate() {
            let part = self.columns(part);
            (0..s).for_each(|j| all[j] += part[j]);
            (0..l).for_each(|a| all[s + g * l + a] = part[s + a]);
        }
        all
    }

    /// Half the slope of minus twice the log-likelihood, and half its second derivatives; `second`: of a part, where it has none itself.
    pub(crate) fn information(&self, theta: &[f64], second: &Second<'a, '_>) -> Result<(Vec<f64>, Blocks), Unusable> {
        let all = self.each(theta, |part, theta| match part.information(&theta)? {
            (slope, Some(matrix)) => Ok((slope, matrix)),
            (slope, None) => Ok((slope, second(part, &theta)?)),
        })?;
        let (slopes, matrices): (Vec<Vec<f64>>, Vec<Vec<f64>>) = all.into_iter().unzip();
        let Some(groups) = &self.groups else {
            let p = slopes[0].len();
            return Ok((slopes[0].clone(), Blocks { sizes: (p, 0), shared: matrices[0].clone(), cross: vec![], local: vec![] }));
        };
        let mut blocks = Blocks::zeros(groups.shared, groups.local, groups.rows.len());
        let n = self.order.len();
        for (g, matrix) in matrices.iter().enumerate() {
            let mut turned = vec![0.0; n * n];
            (0..n).for_each(|i| (0..n).for_each(|j| turned[self.order[i] * n + self.order[j]] = matrix[i * n + j]));
            blocks.add(Some(g), &turned);
        }
        Ok((self.gathered(&slopes), blocks))
    }
}

impl Residuals for Joint<'_> {
    fn parameters(&self) -> usize {
        self.groups.as_ref().map_or_else(|| self.order.len(), Groups::parameters)
    }

    fn count(&self) -> usize {
        self.parts.iter().map(|p| p.count()).sum()
    }

    fn blur(&self) -> f64 {
        self.parts.iter().map(|p| p.blur).sum()
    }

    fn is_likelihood(&self) -> bool {
        true
    }

    fn groups(&self) -> Option<&Groups> {
        self.groups.as_ref()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        self.objective(theta, residuals, jacobian).map(|_| ())
    }

    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        if self.groups.is_none() {
            return self.parts[0].objective(theta, residuals, jacobian);
        }
        let Some(jacobian) = jacobian else {
            let (data, priors) = self.parts(theta)?;
            residuals.fill(0.0);
            return Ok(Some(-2.0 * (data + priors)));
        };
        let n = self.order.len();
        let all = self.each(theta, |part, theta| {
            let m = part.count();
            let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * n]);
            let cost = part.objective(&theta, &mut residuals, Some(&mut jacobian))?;
            let mut turned = vec![0.0; m * n];
            self.order.iter().enumerate().for_each(|(j, &c)| turned[c * m..(c + 1) * m].copy_from_slice(&jacobian[j * m..(j + 1) * m]));
            Ok((cost.unwrap_or(f64::NAN), residuals, turned))
        })?;
        let (mut row, mut at, mut sum) = (0, 0, 0.0);
        for (cost, own, block) in all {
            residuals[row..row + own.len()].copy_from_slice(&own);
            jacobian[at..at + block.len()].copy_from_slice(&block);
            (row, at, sum) = (row + own.len(), at + block.len(), sum + cost);
        }
        Ok(Some(sum))
    }
}
