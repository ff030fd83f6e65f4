//! The cost of an algebraic model with its gradient, summed over rows by the engine. In: parameters and rows; out: cost and gradient.

use super::Algebraic;
use super::engines::Scratch;
use crate::optimise::gradient::Gradient;
use crate::optimise::{Residuals, Unusable, all_finite, dot, weigh};
use neural_compiler::exec::lanes::Column;

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
