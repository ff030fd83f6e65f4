//! What a caller says about a fit besides model and data.

use crate::dynamics::solver::{TOLERANCE, Tolerance};
use crate::model::layout::Values;
use crate::optimise::loss::Loss;
use neural_compiler::ode::Scheme;
use std::sync::atomic::AtomicBool;

/// What is counted while a fit goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Starts followed.
    Starts,
    /// Steps of training, of models with nets.
    Training,
    /// Ends of intervals by profile likelihood.
    Profile,
}

/// Called during a fit with what is counted, how much is done, of how much at most, and the best cost so far, in the unit of the report.
pub type Progress<'a> = &'a (dyn Fn(Stage, usize, usize, f64) + Sync);

/// How nets are trained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Levenberg-Marquardt on all constants and weights, with the exact Jacobian.
    GaussNewton,
    /// Adam on minibatches, then L-BFGS on all data, with gradients taken backward (the discrete adjoint for models with states).
    FirstOrder,
}

impl Options<'_> {
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
    /// Share of the rows held out: to judge the fit by and, with nets, to stop training by.
    pub holdout: Option<f64>,
    /// Intervals by profile likelihood.
    pub profile: bool,
    /// Values of parameters and weights in place of the declared ones: where a fit starts, what a prediction uses.
    pub values: Values,
    /// How nets are trained; `None`: by Gauss-Newton steps where the Jacobian fits into memory, else first-order.
    pub training: Option<Method>,
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
    /// Threads; 0 is all.
    pub threads: usize,
    /// Set from outside to stop early; the best so far is the result.
    pub cancel: Option<&'a AtomicBool>,
    /// Told how it goes.
    pub progress: Option<Progress<'a>>,
}
