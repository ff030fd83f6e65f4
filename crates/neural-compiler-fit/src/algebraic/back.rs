//! The cost of an algebraic model with its gradient, and second derivatives, summed over rows by the engine. In: parameters and rows; out:
//! cost and gradient, or the second derivatives of all predictions, each times a number.

use super::Algebraic;
use super::engines::Scratch;
use crate::optimise::gradient::Gradient;
use crate::optimise::{Residuals, Unusable, all_finite, dot, weigh};
use neural_compiler::exec::lanes::Column;

impl Algebraic {
    /// The second derivatives of the predictions, each times a number, summed: row by row. The numbers are in the order of the residuals.
    pub(super) fn second_derivatives(&self, theta: &[f64], times: &[f64]) -> Result<Vec<f64>, Unusable> {
        let (rows, d, p) = (self.rows(), self.engines.outputs(), theta.len());
        let weight = |row: usize| self.weights().get(row).copied().unwrap_or(1.0);
        let seeds: Vec<f64> = (0..rows * d).map(|k| weight(k / d) * times[(k % d) * rows + k / d]).collect();
        let free = || self.layout.shared.iter().filter(|s| s.at.is_some()).map(|s| s.shape.len());
        let engine = self.engines.second()?;
        let mut scratch = self.engines.scratch();
        let Scratch { workspace, .. } = &mut *scratch;
        let mut all = Vec::with_capacity(p * p);
        for j in 0..p {
            let mut direction = vec![0.0; p];
            direction[j] = 1.0;
            let mut inputs = self.inputs(theta);
            inputs.push(Column::rows(&seeds, d));
            let mut from = 0;
            for size in free() {
                inputs.push(Column::shared(&direction[from..from + size]));
                from += size;
            }
            let (mut values, mut along) = (vec![0.0; rows * d], vec![0.0; rows * d]);
            let (mut pulled, mut row) = (vec![0.0; p], vec![0.0; p]);
            let mut outputs: Vec<&mut [f64]> = Vec::new();
            for (predictions, numbers) in [(&mut values, &mut pulled), (&mut along, &mut row)] {
                outputs.push(predictions);
                let mut rest: &mut [f64] = numbers;
                for size in free() {
                    let (block, behind) = rest.split_at_mut(size);
                    outputs.push(block);
                    rest = behind;
                }
            }
            self.run(engine, workspace, &inputs, &mut outputs)?;
            all.extend(row);
        }
        if all_finite(&all) { Ok(all) } else { Err(Unusable("a second derivative of the prediction is not finite".into())) }
    }
}

impl Gradient for Algebraic {
    fn parts(&self) -> usize {
        self.rows()
    }

    fn gradient(&self, theta: &[f64], parts: &[usize], gradient: &mut [f64]) -> Result<f64, Unusable> {
        if parts.len() < self.rows() {
            let part = self.sample(parts);
            return part.gradient(theta, &(0..part.rows()).collect::<Vec<_>>(), gradient);
        }
        let (rows, d) = (self.rows(), self.engines.outputs());
        let mut residuals = vec![0.0; self.count()];
        self.evaluate(theta, &mut residuals, None)?;
        let cost = dot(&residuals, &residuals);
        weigh(&mut residuals, self.weights());
        // Lane by lane, as the engine takes them.
        let seeds: Vec<f64> = (0..rows * d).map(|k| 2.0 * residuals[(k % d) * rows + k / d]).collect();
        let mut inputs = self.inputs(theta);
        inputs.push(Column::rows(&seeds, d));
        let mut scratch = self.engines.scratch();
        let Scratch { workspace, blocks } = &mut *scratch;
        let mut values = vec![0.0; rows * d];
        blocks.resize(theta.len(), 0.0);
        let mut outputs: Vec<&mut [f64]> = vec![&mut values];
        let mut rest: &mut [f64] = blocks;
        for shared in self.layout.shared.iter().filter(|s| s.at.is_some()) {
            let (block, behind) = rest.split_at_mut(shared.shape.len());
            outputs.push(block);
            rest = behind;
        }
        let outcome = self.run(self.engines.back()?, workspace, &inputs, &mut outputs);
        gradient.iter_mut().zip(&*blocks).for_each(|(g, x)| *g += x);
        outcome?;
        match cost.is_finite() && all_finite(gradient) {
            true => Ok(cost),
            false => Err(Unusable("a derivative of the cost is not finite".into())),
        }
    }

    fn residuals(&self, parts: &[usize]) -> Box<dyn Residuals + '_> {
        Box::new(self.sample(parts))
    }
}
