//! A learned term is no larger than it has to be. In: residuals, and what the nets say at the data; out: the same residuals, followed by
//! what the nets say, lightly weighted.
//!
//! Where a net could take over part of the known law, the data cannot tell the two apart, and the penalty on weights hardly does: a
//! large slope of the net beside a large opposite slope of the law costs little. Of all ways to share what is explained, the one with
//! the smallest learned term leaves nothing in it that the known law could say: it is orthogonal, over the data, to what a change of the
//! constants would do. The rows weigh as much as a hundred observations whose noise is the size of the
//! learned term itself: little against data, much where the data leave open who explains what. (Measured: with ten they decide half, with
//! one hardly anything.)

use crate::algebraic::Algebraic;
use crate::optimise::{Residuals, Unusable};

/// What a net says at the data, as residuals from silence.
pub(super) struct Voice {
    pub(super) outputs: Algebraic,
}

/// Observations the silence of a net counts for.
const OBSERVATIONS: f64 = 100.0;

/// Residuals followed by what the nets say.
pub(super) struct Quiet<'a> {
    pub(super) inner: &'a dyn Residuals,
    pub(super) voices: &'a [Voice],
    /// The weight of what each says.
    pub(super) weights: Vec<f64>,
}

impl Voice {
    /// The root of the mean square of what the net says; 0 where it cannot be computed.
    pub(super) fn loudness(&self, theta: &[f64]) -> f64 {
        let said = self.outputs.predict(theta).unwrap_or_default();
        let mean = said.iter().map(|x| x * x).sum::<f64>() / said.len().max(1) as f64;
        if mean.is_finite() { mean.sqrt() } else { 0.0 }
    }
}

impl Quiet<'_> {
    /// Weighs the rows by the noise of the residuals and the loudness of each net.
    pub(super) fn tune(&mut self, theta: &[f64], variance: f64) {
        for (weight, voice) in self.weights.iter_mut().zip(self.voices) {
            let loudness = voice.loudness(theta);
            *weight = if loudness > 0.0 { (OBSERVATIONS * variance / voice.outputs.count() as f64).sqrt() / loudness } else { 0.0 };
        }
    }
}

impl Residuals for Quiet<'_> {
    fn parameters(&self) -> usize {
        self.inner.parameters()
    }

    fn count(&self) -> usize {
        self.inner.count() + self.voices.iter().map(|v| v.outputs.count()).sum::<usize>()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let all = residuals.len();
        let mut parts: Vec<(&dyn Residuals, f64)> = vec![(self.inner, 1.0)];
        parts.extend(self.voices.iter().zip(&self.weights).map(|(v, w)| (&v.outputs as &dyn Residuals, *w)));
        let mut jacobian = jacobian;
        let mut at = 0;
        for (part, weight) in parts {
            let rows = part.count();
            let own = &mut residuals[at..at + rows];
            // States at cuts come after the numbers the nets know.
            let known = part.parameters();
            match &mut jacobian {
                None => part.evaluate(&theta[..known], own, None)?,
                Some(jacobian) => {
                    let mut block = vec![0.0; rows * known];
                    part.evaluate(&theta[..known], own, Some(&mut block))?;
                    for j in 0..theta.len() {
                        let column = &mut jacobian[j * all + at..j * all + at + rows];
                        match block.get(j * rows..(j + 1) * rows) {
                            Some(own) => column.iter_mut().zip(own).for_each(|(c, x)| *c = weight * x),
                            None => column.fill(0.0),
                        }
                    }
                }
            }
            own.iter_mut().for_each(|r| *r *= weight);
            at += rows;
        }
        Ok(())
    }
}
