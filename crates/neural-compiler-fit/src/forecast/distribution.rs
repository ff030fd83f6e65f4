//! What is to be expected of an observation. In: distributions with their locations and arguments, cell by cell; out: probabilities,
//! quantiles, and draws.

use crate::data::table::Side;
use crate::likelihood::density::Density;
use crate::likelihood::observed::made;
use crate::optimise::Unusable;
use crate::support::random::Stream;
use neural_compiler::syntax::distributions::Distribution;
use statrs::distribution::{ContinuousCDF, Normal};

/// A distribution that can say how probable it is to lie below a number.
pub(crate) struct Cumulative {
    of: &'static Distribution,
    below: Density,
    above: Density,
    at: Density,
}

/// The quantile of the standard normal distribution.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// Steps that bring two ends together, to the last digits.
const HALVINGS: usize = 200;

impl Cumulative {
    /// `None`: it cannot say.
    pub(crate) fn new(of: &'static Distribution) -> Option<Cumulative> {
        of.below?;
        Some(Cumulative { of, below: made(of, Side::Below), above: made(of, Side::Above), at: made(of, Side::Seen) })
    }

    /// The probability of lying below numbers, of whole ones at or below them.
    pub(crate) fn below(&self, y: &[f64], of: &[Vec<f64>]) -> Result<Vec<f64>, Unusable> {
        Ok(self.below.values(y, of)?.into_iter().map(f64::exp).collect())
    }

    /// Residuals that are standard normal if the model is right (Dunn and Smyth 1996); of whole numbers those of the middle of the
    /// probability each has, so that nothing is left to chance.
    pub(crate) fn residuals(&self, y: &[f64], of: &[Vec<f64>]) -> Result<Vec<f64>, Unusable> {
        let half: Vec<f64> = match self.of.support.is_whole() {
            true => self.at.values(y, of)?.into_iter().map(|at| 0.5 * at.exp()).collect(),
            false => vec![0.0; y.len()],
        };
        let below = self.below(y, of)?;
        let one = |i: usize| {
            let p = below[i] - half[i];
            // Right of the middle by what lies above, which keeps its digits there.
            let rest = (p > 0.5).then(|| self.above_one(y[i], of, i)).flatten().map(|q| q + half[i]);
            let quantile = |p: f64| normal_quantile(p.clamp(1e-300, 1.0 - 1e-16));
            rest.map_or_else(|| quantile(p), |q| -quantile(q))
        };
        Ok((0..y.len()).map(one).collect())
    }

    /// The probability of lying above the number of a cell, where it can be told.
    fn above_one(&self, y: f64, of: &[Vec<f64>], cell: usize) -> Option<f64> {
        self.of.above?;
        let own: Vec<Vec<f64>> = of.iter().map(|numbers| vec![numbers[cell]]).collect();
        let found = self.above.values(&[y], &own).ok()?[0].exp();
        found.is_finite().then_some(found)
    }

    /// The least numbers at or below which observations lie with a probability, as `below` mixes it; `around`: numbers near by, with how
    /// far it may be to them.
    pub(crate) fn quantiles(
        &self,
        p: f64,
        around: &[(f64, f64)],
        below: impl Fn(&[f64]) -> Result<Vec<f64>, Unusable>,
    ) -> Result<Vec<f64>, Unusable> {
        let whole = self.of.support.is_whole();
        let round = |x: f64| if whole { x.floor() } else { x };
        let least = if whole { 0.0 } else { f64::NEG_INFINITY };
        let (mut low, mut high): (Vec<f64>, Vec<f64>) =
            around.iter().map(|(x, by)| (round(x - by).max(least), round(x + by) + if whole { 1.0 } else { 0.0 })).unzip();
        for k in 0..60 {
            let (a, b) = (below(&low)?, below(&high)?);
            let mut wider = false;
            for i in 0..low.len() {
                let by = around[i].1 * 2f64.powi(k);
                if a[i] >= p && low[i] > least {
                    (low[i], wider) = (round(low[i] - by).max(least), true);
                }
                if b[i] < p {
                    (high[i], wider) = (round(high[i] + by), true);
                }
            }
            if !wider {
                break;
            }
        }
        for _ in 0..HALVINGS {
            let middle: Vec<f64> = low.iter().zip(&high).map(|(a, b)| round(0.5 * a + 0.5 * b)).collect();
            if middle.iter().zip(low.iter().zip(&high)).all(|(m, (a, b))| m <= a || m >= b || b - a <= 1e-12 * (a.abs() + b.abs())) {
                break;
            }
            for (i, found) in below(&middle)?.into_iter().enumerate() {
                if found < p { low[i] = middle[i] } else { high[i] = middle[i] }
            }
        }
        // Where even the least whole number has as much, it is that.
        let least = below(&low)?;
        Ok((0..low.len()).map(|i| if least[i] >= p { low[i] } else { high[i] }).collect())
    }

    /// Observations drawn at random.
    pub(crate) fn draw(&self, of: &[Vec<f64>], stream: &mut Stream) -> Result<Vec<f64>, Unusable> {
        let normal = |around: fn(f64, f64) -> f64, stream: &mut Stream| {
            of[0].iter().zip(&of[1]).map(|(m, s)| around(*m, s * stream.normal())).collect()
        };
        match self.of.name {
            "normal" => return Ok(normal(|m, by| m + by, stream)),
            "lognormal" => return Ok(normal(|m, by| m * by.exp(), stream)),
            _ => {}
        }
        let u: Vec<f64> = of[0].iter().map(|_| stream.uniform()).collect();
        let around: Vec<(f64, f64)> = of[0].iter().map(|m| (*m, 1.0 + m.abs())).collect();
        // Every cell has a probability of its own: how much more probable than that it is to lie below a number.
        self.quantiles(0.0, &around, |y| Ok(self.below(y, of)?.iter().zip(&u).map(|(p, u)| p - u).collect()))
    }
}
