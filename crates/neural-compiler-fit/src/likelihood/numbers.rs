//! What a likelihood is made of, as residuals. In: likelihoods of groups; out: the numbers that predict their cells, which stay where they
//! are while parameters move that the data do not tell apart. Invariant: derivatives are of all parameters, not in blocks.

use super::joint::Joint;
use super::problem::Likelihood;
use crate::optimise::{Residuals, Unusable};

/// The numbers that the parts of a likelihood predict, then the parameters that are arguments of distributions themselves.
pub(crate) struct Numbers<'a>(pub(crate) &'a Joint<'a>);

/// How many numbers a part has: those of the model, and its other parameters.
fn size(part: &Likelihood<'_>) -> usize {
    part.inner.count() + part.parameters - part.inner.parameters()
}

impl Residuals for Numbers<'_> {
    fn parameters(&self) -> usize {
        self.0.parameters()
    }

    fn count(&self) -> usize {
        self.0.parts.iter().map(size).sum()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], mut jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let (total, mut at) = (self.count(), 0);
        jacobian.iter_mut().for_each(|j| j.fill(0.0));
        // Which of all parameters each of a part is.
        let numbered: Vec<f64> = (0..self.parameters()).map(|j| j as f64).collect();
        for (g, part) in self.0.parts.iter().enumerate() {
            let (own, places) = (self.0.of_part(theta, g), self.0.of_part(&numbered, g));
            let (m, p) = (part.inner.count(), part.inner.parameters());
            let mut inner = vec![0.0; if jacobian.is_some() { m * p } else { 0 }];
            part.inner.evaluate(&own[..p], &mut residuals[at..at + m], jacobian.is_some().then_some(&mut inner[..]))?;
            residuals[at + m..at + size(part)].copy_from_slice(&own[p..]);
            if let Some(jacobian) = jacobian.as_deref_mut() {
                for (j, place) in places.iter().map(|x| *x as usize).enumerate() {
                    match j.checked_sub(p) {
                        None => jacobian[place * total + at..][..m].copy_from_slice(&inner[j * m..(j + 1) * m]),
                        Some(k) => jacobian[place * total + at + m + k] = 1.0,
                    }
                }
            }
            at += size(part);
        }
        Ok(())
    }
}
