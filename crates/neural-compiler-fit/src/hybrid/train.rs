//! Training: constants of the known law and weights of nets together. In: residuals, the nets, a start; out: the point at which the data
//! are most probable, and how strongly the weights had to be held there.
//!
//! The weights are a random function whose size the data decide (`optimise::evidence`), the constants are free: what a constant can explain
//! costs nothing, what a net explains has its price. So known physics keeps its credit, and a net does not learn the noise.

use super::Judge;
use super::nets::{self, Net};
use super::quiet::{Quiet, Voice};
use crate::optimise::evidence::{Components, components};
use crate::optimise::penalised::{self, Penalty, Point};
use crate::optimise::{Bounds, Residuals, Unusable};

/// How to train.
pub(crate) struct Training<'a> {
    pub(crate) nets: &'a [Net],
    /// What they say at the data.
    pub(crate) voices: &'a [Voice],
    pub(crate) bounds: &'a Bounds,
    /// The strength of the penalty on weights, where the user says it.
    pub(crate) decay: Option<f64>,
    /// Whether residuals have variance 1.
    pub(crate) known: bool,
    /// Rounds of choosing the penalty and following it to the minimum.
    pub(crate) rounds: usize,
    pub(crate) search: penalised::Options<'a>,
    /// Told the cost after every step.
    pub(crate) tell: &'a (dyn Fn(f64) + Sync),
}

/// A trained model.
#[derive(Clone, Debug)]
pub(crate) struct Trained {
    pub(crate) point: Point,
    /// How many of its residuals are data; the others are what the nets say.
    pub(crate) observations: usize,
    pub(crate) penalty: Penalty,
    pub(crate) components: Option<Components>,
    pub(crate) converged: bool,
}

/// Rounds without gain on the rows held out after which training ends.
const PATIENCE: usize = 3;

impl Training<'_> {
    /// Trains from a start. `centre`: where the weights are drawn to. `judge`: the cost of rows held out, for early stopping.
    pub(crate) fn run(
        &self,
        problem: &dyn Residuals,
        start: Vec<f64>,
        centre: &[f64],
        before: Option<Components>,
        judge: Option<Judge<'_>>,
    ) -> Result<Trained, Unusable> {
        let observations = problem.count();
        let mut quiet = Quiet { inner: problem, voices: self.voices, weights: vec![0.0; self.voices.len()] };
        let mut point = Point::at(&quiet, start, self.search.loss)?;
        let mut found: Option<Components> = before;
        let mut penalty = Penalty { strength: vec![0.0; centre.len()], centre: centre.to_vec() };
        let mut best: Option<(f64, Point)> = None;
        let (mut waited, mut converged) = (0, false);
        for round in 0..self.rounds {
            // The variance of a weight of the last layer, which is how much a hidden one counts.
            let size = found.map_or(1.0, |c| c.variance / c.factor);
            let shape = nets::shape(self.nets, centre, size);
            let next = match self.decay {
                Some(_) => None,
                None => components(&point, observations, &shape, self.known).or(found),
            };
            let factor = self.decay.or(next.map(|c| c.factor)).unwrap_or(1e-6);
            penalty = match self.decay {
                // Said by the user: every weight alike.
                Some(decay) => Penalty { strength: shape.strength.iter().map(|s| if *s > 0.0 { decay } else { 0.0 }).collect(), ..shape },
                None => Penalty { strength: shape.strength.iter().map(|s| factor * s).collect(), ..shape },
            };
            if let Some(c) = next {
                quiet.tune(&point.theta, c.variance);
                point = Point::at(&quiet, point.theta, self.search.loss)?;
            }
            let mut watch = |p: &Point| {
                (self.tell)(p.cost);
                true
            };
            // A penalty that will change is not worth following to the last digit.
            let tolerance = self.search.tolerance.max(1e-3 * 0.1f64.powi(round as i32));
            let search = penalised::Options { tolerance, ..self.search };
            let reached = penalised::minimise(&quiet, point, self.bounds, &penalty, &search, &mut watch)?;
            point = reached.point;
            converged = reached.converged;
            // Judged where the shares of law and net have settled, not in the middle of a step.
            if let Some(cost) = judge.and_then(|j| j(&point.theta)) {
                waited += 1;
                if best.as_ref().is_none_or(|b| cost < b.0) {
                    best = Some((cost, point.clone()));
                    waited = 0;
                }
            }
            let settled = match (found, next) {
                (Some(a), Some(b)) => (a.factor / b.factor).ln().abs() < 0.1,
                _ => self.decay.is_some(),
            };
            found = next.or(found);
            if (settled && converged && tolerance == self.search.tolerance) || waited >= PATIENCE || self.search.cancelled() {
                break;
            }
        }
        if let Some((_, early)) = best {
            point = early;
        }
        let mut residuals = vec![0.0; observations];
        problem.evaluate(&point.theta, &mut residuals, None)?;
        point.cost = self.search.loss.cost(&residuals);
        Ok(Trained { point, observations, penalty, components: found, converged })
    }
}
