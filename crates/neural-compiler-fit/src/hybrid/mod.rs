//! Models with nets. In: a model whose law is partly known and partly to be learned, and data; out: a [`Fit`](crate::Fit) whose parameters
//! are the constants of the known part, with standard errors, and whose values include the weights.
//!
//! Training starts twice, from the best the known law can do alone and from the declared values, with the nets silent; the start that
//! makes the data more probable wins.

pub(crate) mod algebraic;
mod certainty;
pub(crate) mod dynamic;
mod nets;
mod quiet;
mod scene;
mod train;

use crate::fit::{spread, wrong};
use crate::model::layout::{Layout, Values};
use crate::optimise::first_order::FirstOrder;
use crate::optimise::gradient::Gradient;
use crate::optimise::linear::Linear;
use crate::optimise::lm::End;
use crate::optimise::loss::Loss;
use crate::optimise::penalised::{self, Point};
use crate::optimise::{Unusable, dot};
use crate::options::{Optimiser, Options, Stage};
use crate::report::summary::{Ended, Sure};
use crate::statistics::identify;
use crate::statistics::uncertainty::Uncertainty;
use nets::Net;
use neural_compiler::Diagnostics;
use quiet::{Quiet, Voice};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use train::{Trained, Training};

/// Rounds of choosing the penalty, and evaluations of each.
const ROUNDS: usize = 12;
const EVALUATIONS: usize = 30;
/// Epochs without gain on the rows held out after which first-order training ends.
const PATIENCE: usize = 100;
/// Numbers a Jacobian may have, and unknowns a linear system, to be worth a Gauss-Newton step.
const MOST_DERIVATIVES: usize = 30_000_000;
const MOST_UNKNOWNS: usize = 4000;
/// Unknowns of a linear system that is solved once, after training that needed none.
const MOST_UNKNOWNS_ONCE: usize = 1500;

/// What the rows held out say of some numbers: their cost.
pub(crate) type Judge<'a> = &'a (dyn Fn(&[f64]) -> Option<f64> + Sync);

/// What is common to all starts of a model.
struct Setting<'a> {
    options: &'a Options<'a>,
    layout: &'a Layout,
    nets: &'a [Net],
    voices: &'a [Voice],
    known: bool,
    judge: Option<Judge<'a>>,
}

impl Setting<'_> {
    /// The loss, unless something was asked for that models with nets do not have.
    fn loss(&self) -> Result<Loss, Diagnostics> {
        if self.options.profile {
            return Err(wrong(
                "no-profile",
                "intervals by profile likelihood would train the nets anew for every value of every parameter; \
                 they are for models without nets",
            ));
        }
        match self.options.loss {
            Some(loss) if loss != Loss::Squares && loss.scale() == 0.0 => Err(wrong(
                "bad-loss",
                "with a net in the model a robust loss needs its scale: what most residuals are is for the net to say",
            )),
            loss => Ok(loss.unwrap_or(Loss::Squares)),
        }
    }

    /// Where the free numbers start: weights as given, else silent nets.
    fn first(&self) -> Vec<f64> {
        let mut theta = self.layout.start.clone();
        let given = |net: &Net, values: &Values| values.iter().any(|v| v.0.split('.').next() == Some(net.name.as_str()));
        self.nets.iter().filter(|n| !given(n, &self.options.values)).for_each(|n| n.start(self.options.seed, &mut theta));
        theta
    }

    /// The starts: the parameters the known law alone suggests, then the declared ones.
    fn starts(&self, first: &[f64], alone: Option<Vec<f64>>) -> Vec<Vec<f64>> {
        let mut starts = vec![first.to_vec()];
        if let Some(alone) = alone {
            let mut theta = first.to_vec();
            theta[..alone.len()].copy_from_slice(&alone);
            let same = theta.iter().zip(first).all(|(a, b)| (a - b).abs() <= 1e-3 * b.abs());
            if !same {
                starts.insert(0, theta);
            }
        }
        starts.truncate(self.options.starts.unwrap_or(2));
        starts
    }

    /// The layout of the known law alone, the nets being as they are at `first`; `None` where there is nothing to fit in it.
    fn law_alone(&self, first: &[f64]) -> Option<Layout> {
        let silent = Layout { start: first.to_vec(), ..self.layout.clone() };
        (self.layout.parameters > 0).then(|| silent.holding(|s| s.weight))
    }

    /// Follows every start and keeps the best.
    fn follow(
        &self,
        starts: &[Vec<f64>],
        follow: impl Fn(&Training<'_>, &[f64]) -> Result<Trained, Unusable> + Sync,
    ) -> Result<Followed, Diagnostics> {
        let done = AtomicUsize::new(0);
        let most = starts.len() * ROUNDS * EVALUATIONS;
        let tell = |cost: f64| {
            if let Some(progress) = self.options.progress {
                progress(Stage::Training, done.fetch_add(1, Ordering::Relaxed).min(most - 1) + 1, most, cost);
            }
        };
        let search = penalised::Options { evaluations: EVALUATIONS, tolerance: 1e-5, loss: self.loss()?, cancel: self.options.cancel };
        let bounds = &self.layout.bounds;
        let decay = self.options.weight_decay;
        let training =
            Training { nets: self.nets, voices: self.voices, bounds, decay, known: self.known, rounds: ROUNDS, search, tell: &tell };
        let outcomes: Vec<Result<Trained, Unusable>> = starts.par_iter().map(|s| follow(&training, s)).collect();
        let mut why = None;
        let mut trained: Vec<Trained> = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(t) => trained.push(t),
                Err(e) => why = why.or(Some(e)),
            }
        }
        let value = |t: &Trained| self.judge.and_then(|j| j(&t.point.theta)).or(t.components.map(|c| c.criterion)).unwrap_or(t.point.cost);
        let values: Vec<f64> = trained.iter().map(value).collect();
        let Some(best) = (0..trained.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])) else {
            return Err(wrong("no-start", format!("no start leads anywhere: {}", why.map_or("there is none".into(), |e| e.0))));
        };
        let p = self.layout.parameters;
        let near = |t: &&Trained| {
            t.point.theta[..p].iter().zip(&trained[best].point.theta[..p]).all(|(a, b)| (a - b).abs() <= 0.01 * b.abs().max(1e-12))
        };
        let agreed = trained.iter().filter(near).count();
        Ok(Followed { tried: starts.len(), agreed, trained: trained.swap_remove(best) })
    }

    /// Whether so many residuals leave a Jacobian that fits into memory and a linear system of at most so many unknowns.
    fn affordable(&self, residuals: usize, unknowns: usize) -> bool {
        let numbers = self.layout.len();
        residuals.saturating_mul(numbers) <= MOST_DERIVATIVES && residuals.min(numbers) <= unknowns
    }

    /// Whether Gauss-Newton steps are taken for so many residuals: where they are affordable, unless the user says what to do.
    fn by_gauss_newton(&self, residuals: usize) -> bool {
        match self.options.training {
            Optimiser::Auto => self.affordable(residuals, MOST_UNKNOWNS),
            Optimiser::GaussNewton => true,
            Optimiser::FirstOrder => false,
        }
    }

    /// First-order training from a start.
    fn first_order(&self, training: &Training<'_>, problem: &dyn Gradient, start: &[f64], centre: &[f64]) -> Result<Trained, Unusable> {
        if training.search.loss != Loss::Squares {
            return Err(Unusable("first-order training minimises squares; robust losses need Gauss-Newton steps".into()));
        }
        let parts = problem.parts();
        // The penalty from as many parts as a Jacobian can be had of; twice, since hidden layers count only once the last has moved.
        let per = problem.residuals(&[0]).count().max(1);
        let some = (400usize.div_ceil(per)).min(parts).min((MOST_DERIVATIVES / (per * start.len())).max(1));
        let sample = problem.residuals(&spread(parts, some, self.options.seed));
        let first = Training { rounds: 2, search: penalised::Options { evaluations: 10, ..training.search }, ..*training };
        let warm = first.run(sample.as_ref(), start.to_vec(), centre, None, None)?;
        // A weight's size is that of its start or, where that is 0, of the layers before; a parameter's its value.
        let sizes: Vec<f64> = warm.point.theta.iter().zip(centre).map(|(x, c)| x.abs().max(c.abs()).max(1e-2)).collect();
        let mut best: Option<(f64, Vec<f64>)> = None;
        let mut waited = 0;
        let mut watch = |theta: &[f64], cost: f64| {
            (training.tell)(cost);
            let Some(judged) = self.judge.and_then(|j| j(theta)) else { return true };
            if best.as_ref().is_none_or(|b| judged < b.0) {
                best = Some((judged, theta.to_vec()));
                waited = 0;
            } else {
                waited += 1;
            }
            waited < PATIENCE
        };
        let mut quiet = Quiet { inner: sample.as_ref(), voices: self.voices, weights: vec![0.0; self.voices.len()] };
        quiet.tune(&warm.point.theta, warm.components.map_or(0.0, |c| c.variance));
        let mut run = FirstOrder {
            problem,
            voices: self.voices.iter().zip(&quiet.weights).map(|(v, w)| (&v.outputs as &dyn Gradient, w * w)).collect(),
            penalty: &warm.penalty,
            bounds: &self.layout.bounds,
            sizes: &sizes,
            epochs: self.options.epochs.unwrap_or(200),
            batch: self.options.batch.unwrap_or(256),
            seed: self.options.seed,
            cancel: self.options.cancel,
            watch: &mut watch,
        };
        let (theta, converged) = run.run(&warm.point.theta)?;
        let theta = best.map_or(theta, |b| b.1);
        let whole = problem.residuals(&(0..parts).collect::<Vec<_>>());
        let observations = whole.count();
        let mut point = if self.affordable(observations, MOST_UNKNOWNS_ONCE) {
            // One Jacobian at the end: the constants get their error bars.
            Point::at(&Quiet { inner: whole.as_ref(), voices: self.voices, weights: quiet.weights }, theta, Loss::Squares)?
        } else {
            let mut residuals = vec![0.0; observations];
            whole.evaluate(&theta, &mut residuals, None)?;
            Point { theta, residuals, jacobian: vec![], cost: 0.0 }
        };
        point.cost = dot(&point.residuals[..observations], &point.residuals[..observations]);
        Ok(Trained { point, observations, penalty: warm.penalty, components: None, converged })
    }

    /// Where training ended, how sure the parameters are, and how many numbers were spent.
    fn finish(&self, followed: &Followed) -> Result<(Ended, Sure, f64), Diagnostics> {
        let Followed { trained, tried, agreed } = followed;
        let p = self.layout.parameters;
        let (uncertainty, effective) = if trained.point.jacobian.is_empty() {
            (Uncertainty::unknown(p), self.layout.weights() as f64)
        } else {
            certainty::certainty(trained, p, &self.layout.bounds, self.known)
                .ok_or_else(|| wrong("no-start", "the derivatives at the end of training are not finite"))?
        };
        let end = match () {
            () if self.options.cancel.is_some_and(|c| c.load(Ordering::Relaxed)) => End::Cancelled,
            () if self.judge.is_some() => End::HeldOut,
            () if trained.converged => End::Converged,
            () => End::Evaluations,
        };
        let point = &trained.point;
        let undetermined = identify::determined(&self.layout.names, &point.theta, &Linear::default(), &uncertainty, None);
        let squares = self.loss()? == Loss::Squares;
        let (theta, cost) = (point.theta.clone(), point.cost);
        let ended = Ended {
            theta,
            cost,
            squares,
            end,
            tried: *tried,
            agreed: *agreed,
            failed: 0,
            better_elsewhere: false,
            warnings: vec![],
            noise: false,
            twins: 0,
        };
        Ok((ended, Sure { uncertainty, undetermined }, p as f64 + effective))
    }
}

/// The best of several starts.
struct Followed {
    trained: Trained,
    tried: usize,
    agreed: usize,
}
