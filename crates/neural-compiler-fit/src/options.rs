//! What a caller says about a fit besides model and data. In: options as a face takes them; out: the same, or all that is wrong with them.
//!
//! The one place that knows their names, defaults and limits: the command line and Python pass on what they are given.

use crate::dynamics::schedule::Dose;
use crate::dynamics::solver::{TOLERANCE, Tolerance};
use crate::model::layout::Values;
use crate::optimise::loss::Loss;
use neural_compiler::ode::Scheme;
use neural_compiler::{Diagnostic, Diagnostics};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

/// What is counted while a fit or a simulation goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Starts followed.
    Starts,
    /// Steps of training, of models with nets.
    Training,
    /// Ends of intervals by profile likelihood.
    Profile,
    /// Replicates of a bootstrap.
    Bootstrap,
    /// Rows read in a pass over rows that are not in memory, of the number of the pass; 0 of them all: these are not counted yet.
    Pass(usize),
    /// Trajectories of a simulation that were solved, in a pass over all of them, of the number of the pass: each solves them more
    /// accurately.
    Trajectories(usize),
}

/// Called during a fit with what is counted, how much is done, of how much at most, and the best cost so far, in the unit of the report.
pub type Progress<'a> = &'a (dyn Fn(Stage, usize, usize, f64) + Sync);

/// An option that has no such value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadOption(pub String);

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadOption {}

/// One of several choices by its name, in which an underscore is as good as a hyphen.
fn named<T: Copy>(what: &str, name: &str, choices: &[(&str, T)]) -> Result<T, BadOption> {
    let plain = name.replace('_', "-");
    choices.iter().find(|c| c.0 == plain).map(|c| c.1).ok_or_else(|| {
        let all: Vec<&str> = choices.iter().map(|c| c.0).collect();
        BadOption(format!("the {what} is one of {}, not \"{name}\"", all.join(", ")))
    })
}

impl FromStr for Loss {
    type Err = BadOption;

    /// `NAME` or `NAME:SCALE`; without a scale it is found from the data.
    fn from_str(text: &str) -> Result<Loss, BadOption> {
        let (name, scale) = text.split_once(':').map_or((text, None), |(name, scale)| (name, Some(scale)));
        let all = [("squares", Loss::Squares), ("huber", Loss::Huber(0.0)), ("soft-l1", Loss::SoftL1(0.0)), ("cauchy", Loss::Cauchy(0.0))];
        let loss = named("loss", name, &all)?;
        let Some(scale) = scale else { return Ok(loss) };
        let number = scale.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
        number
            .map(|x| loss.with_scale(x))
            .ok_or_else(|| BadOption(format!("the scale of a loss is a positive number, \"{scale}\" is none")))
    }
}

/// How nets are trained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Optimiser {
    /// By Gauss-Newton steps where the Jacobian fits into memory, else first-order.
    #[default]
    Auto,
    /// Levenberg-Marquardt on all constants and weights, with the exact Jacobian.
    GaussNewton,
    /// Adam on minibatches, then L-BFGS on all data, with gradients taken backward (the discrete adjoint for models with states).
    FirstOrder,
}

impl FromStr for Optimiser {
    type Err = BadOption;

    fn from_str(name: &str) -> Result<Optimiser, BadOption> {
        let all = [("auto", Optimiser::Auto), ("gauss-newton", Optimiser::GaussNewton), ("first-order", Optimiser::FirstOrder)];
        named("training", name, &all)
    }
}

/// What the replicates of a bootstrap are drawn from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resampling {
    /// The fitted model.
    Parametric,
    /// The data: rows within their group, or whole groups.
    Cases,
}

const RESAMPLINGS: [(&str, Resampling); 2] = [("parametric", Resampling::Parametric), ("cases", Resampling::Cases)];

impl FromStr for Resampling {
    type Err = BadOption;

    fn from_str(name: &str) -> Result<Resampling, BadOption> {
        named("source of replicates", name, &RESAMPLINGS)
    }
}

impl fmt::Display for Resampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RESAMPLINGS.iter().find(|r| r.1 == *self).map_or("", |r| r.0))
    }
}

/// How random effects are taken out of a likelihood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EffectMethod {
    /// Integrated out by Laplace's method: first order, conditional, with interaction.
    #[default]
    Laplace,
    /// By two steps that alternate, as R's nlme does (Lindstrom and Bates 1990).
    LindstromBates,
}

impl FromStr for EffectMethod {
    type Err = BadOption;

    fn from_str(name: &str) -> Result<EffectMethod, BadOption> {
        let all = [("laplace", EffectMethod::Laplace), ("lindstrom-bates", EffectMethod::LindstromBates)];
        named("way with random effects", name, &all)
    }
}

impl EffectMethod {
    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            EffectMethod::Laplace => "first order, conditional, with interaction",
            EffectMethod::LindstromBates => "of the model taken for linear in them, by the two steps of Lindstrom and Bates in turn",
        }
    }
}

/// More threads than this no machine has work for, and each keeps memory.
const MOST_THREADS: usize = 1024;

impl Options<'_> {
    /// All that is wrong with them, whatever the model and the data.
    pub fn check(&self) -> Result<(), Diagnostics> {
        let mut found = Vec::new();
        let mut wrong = |code: &'static str, message: String| found.push(Diagnostic::error(code, Default::default(), message));
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let scale = self.loss.filter(|l| *l != Loss::Squares).map(Loss::scale);
        for (code, what, value) in [
            ("bad-step", "a step is a positive number", self.step),
            ("bad-tolerance", "a relative tolerance is a positive number", self.tolerance),
            ("bad-tolerance", "an absolute tolerance is a positive number", self.absolute_tolerance),
            ("bad-sigma", "a standard deviation is a positive number", self.sigma),
            ("bad-budget", "a budget is a positive number of seconds", self.budget),
            ("bad-weight-decay", "a weight decay is a positive number", self.weight_decay),
            ("bad-loss", "the scale of a loss is a positive number", scale.filter(|x| *x != 0.0)),
        ] {
            if let Some(x) = value.filter(|x| !positive(*x)) {
                wrong(code, format!("{what}, {x} is none"));
            }
        }
        if let Some(x) = self.start_time.filter(|x| !x.is_finite()) {
            wrong("bad-start-time", format!("a time at which starts hold is a number, {x} is none"));
        }
        if let Some(x) = self.holdout.filter(|x| !(*x > 0.0 && *x < 1.0)) {
            wrong("bad-holdout", format!("the share held out lies between 0 and 1, {x} does not"));
        }
        for (what, count) in [("starts", self.starts), ("epochs", self.epochs), ("batch", self.batch)] {
            if count == Some(0) {
                wrong("bad-count", format!("{what} is at least 1, not 0"));
            }
        }
        if self.threads > MOST_THREADS {
            wrong("bad-count", format!("threads are at most {MOST_THREADS}, not {}; 0 is one for each core", self.threads));
        }
        if self.weights_column.is_some() && (self.sigma.is_some() || self.sigma_column.is_some()) {
            wrong("bad-sigma", "give standard deviations or weights, not both".into());
        }
        if self.resampling.is_some() && self.bootstrap.is_none() {
            wrong("bad-bootstrap", "where data are drawn from anew needs a number of replicates: bootstrap".into());
        }
        found.extend(self.bootstrap.and_then(|n| crate::bootstrap::check(n).err()));
        if found.is_empty() { Ok(()) } else { Err(Diagnostics(found)) }
    }

    /// What tells how far intervals by profile likelihood are, of a fit of this cost.
    pub(crate) fn telling_of_profiles(&self, cost: f64) -> impl Fn(usize, usize) + Sync {
        move |done, of| self.progress.iter().for_each(|progress| progress(Stage::Profile, done, of, cost))
    }

    /// The tolerance of adaptive steps.
    pub(crate) fn accuracy(&self) -> Tolerance {
        Tolerance { relative: self.tolerance.unwrap_or(TOLERANCE), absolute: self.absolute_tolerance }
    }
}

/// How to fit.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The column to explain; for a prediction of several numbers the name before `[0]`.
    pub target: Option<String>,
    /// The column of times.
    pub time: Option<String>,
    /// When the starts of states hold; `None`: as the model declares, else at the first row of each trajectory.
    pub start_time: Option<f64>,
    /// When those of groups hold in a prediction, by the names of the groups (left out: as the fit that saved the model read them, else at
    /// the first row of each).
    pub group_starts: Vec<(String, f64)>,
    /// The column that tells trajectories apart.
    pub group: Option<String>,
    /// The column of standard deviations of the data.
    pub sigma_column: Option<String>,
    /// The standard deviation of all data.
    pub sigma: Option<f64>,
    /// The column of relative weights of the rows.
    pub weights_column: Option<String>,
    /// Robust or not; a scale of 0 is found from the data.
    pub loss: Option<Loss>,
    /// Starts followed at most; `None`: enough to be sure.
    pub starts: Option<usize>,
    /// How models with states are solved; `None`: Dormand-Prince, or Rodas where that takes too many steps.
    pub scheme: Option<Scheme>,
    /// Longest step of the solver; for fixed steps the step aimed at (default: from row to row), for a map the
    /// time one step takes (default: as declared, else 1).
    pub step: Option<f64>,
    /// Relative tolerance of adaptive steps.
    pub tolerance: Option<f64>,
    /// Absolute tolerance of adaptive steps, in the unit of the states; `None`: a ten-thousandth of the relative one times the size of
    /// the data.
    pub absolute_tolerance: Option<f64>,
    /// Doses and infusions given to trajectories.
    pub doses: Vec<Dose>,
    /// Share of the rows held out: to judge the fit by and, with nets, to stop training by.
    pub holdout: Option<f64>,
    /// Intervals by profile likelihood.
    pub profile: bool,
    /// How random effects are taken out of the likelihood; `None`: by Laplace's method.
    pub effects: Option<EffectMethod>,
    /// Replicates for intervals by bootstrap.
    pub bootstrap: Option<usize>,
    /// What these are drawn from; `None`: from the model where it says how.
    pub resampling: Option<Resampling>,
    /// Values of parameters and weights in place of the declared ones: where a fit starts, what a prediction uses.
    pub values: Values,
    /// How nets are trained.
    pub training: Optimiser,
    /// The penalty on a squared weight of a net; `None`: estimated from the data.
    pub weight_decay: Option<f64>,
    /// Passes over the data in first-order training.
    pub epochs: Option<usize>,
    /// Rows (of a model with states: trajectories) of a minibatch in first-order training.
    pub batch: Option<usize>,
    /// Of everything random.
    pub seed: u32,
    /// Seconds a fit may take; the best so far is then the result.
    pub budget: Option<f64>,
    /// How much the search may compute, counted in rows of a formula, a step of a solver being worth some of these; the best so far is
    /// then the result, which on one thread is the same on every machine.
    pub work: Option<usize>,
    /// Threads; 0 is all.
    pub threads: usize,
    /// Set from outside to stop early; the best so far is the result.
    pub cancel: Option<&'a AtomicBool>,
    /// Told how it goes.
    pub progress: Option<Progress<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_either_stroke() {
        for text in ["soft-l1", "soft_l1"] {
            assert_eq!(text.parse(), Ok(Loss::SoftL1(0.0)), "{text}");
        }
        assert_eq!("soft_l1:2.5".parse(), Ok(Loss::SoftL1(2.5)));
        assert_eq!("first_order".parse(), Ok(Optimiser::FirstOrder));
        assert_eq!("hubber".parse::<Loss>(), Err(BadOption("the loss is one of squares, huber, soft-l1, cauchy, not \"hubber\"".into())));
        for scale in ["huber:", "huber:0", "huber:-1", "huber:inf", "huber:x"] {
            assert!(scale.parse::<Loss>().unwrap_err().0.starts_with("the scale of a loss is a positive number"), "{scale}");
        }
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        assert_eq!(Options::default().check(), Ok(()));
        let codes = |options: Options<'_>| options.check().map_or_else(|e| e.0.iter().map(|d| d.code).collect::<Vec<_>>(), |()| vec![]);
        for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(codes(Options { step: Some(x), ..Options::default() }), ["bad-step"]);
            assert_eq!(codes(Options { tolerance: Some(x), absolute_tolerance: Some(x), ..Options::default() }), ["bad-tolerance"; 2]);
            assert_eq!(codes(Options { budget: Some(x), sigma: Some(x), ..Options::default() }), ["bad-sigma", "bad-budget"]);
            assert_eq!(
                codes(Options { weight_decay: Some(x), holdout: Some(x), ..Options::default() }),
                ["bad-weight-decay", "bad-holdout"]
            );
        }
        assert_eq!(
            codes(Options { loss: Some(Loss::Huber(-1.0)), start_time: Some(f64::NAN), ..Options::default() }),
            ["bad-loss", "bad-start-time"]
        );
        assert_eq!(codes(Options { starts: Some(0), epochs: Some(0), batch: Some(0), ..Options::default() }), ["bad-count"; 3]);
        assert_eq!(codes(Options { threads: 1_000_000, ..Options::default() }), ["bad-count"]);
        let both = Options { sigma_column: Some("s".into()), weights_column: Some("w".into()), ..Options::default() };
        assert_eq!(codes(both), ["bad-sigma"]);
    }
}
