//! A problem far from its minimum, as intervals by profile ask for it, where laws become stiff that are not stiff at the minimum. In: a
//! problem solved by the explicit method; out: the same residuals, by the implicit method where the explicit one takes too many steps.
//! Invariant: which of the two it is depends on the parameters alone.

use super::prepared::Prepared;
use super::problem::Dynamics;
use super::solver::{Solver, TOO_MANY};
use crate::optimise::{Residuals, Unusable};
use crate::options::Options;
use neural_compiler::ode::Scheme;
use std::sync::Arc;

/// Steps of the explicit method after which a lane is left to the implicit one.
const PATIENCE: usize = 10_000;

/// A problem and two ways to solve it.
pub(super) struct Far {
    explicit: Dynamics,
    implicit: Dynamics,
}

impl Far {
    /// Of a problem whose method was not asked for; `None` where that is implicit already.
    pub(super) fn new(prepared: &Prepared, problem: &Dynamics, options: &Options<'_>) -> Option<Far> {
        let usual = &problem.solver;
        if options.scheme.is_some() || usual.scheme() != Scheme::explicit() {
            return None;
        }
        let implicit = Solver::clone(&*prepared.implicit(options).ok()?).with_sizes(usual.sizes.clone());
        let tighter = implicit.tolerance().relative / usual.tolerance().relative;
        let implicit = if tighter > 1.0 { implicit.finer(tighter, 1)?.0 } else { implicit };
        let explicit = Solver::clone(usual).with_most(PATIENCE);
        Some(Far { explicit: problem.with(Arc::new(explicit)), implicit: problem.with(Arc::new(implicit)) })
    }
}

impl Residuals for Far {
    fn parameters(&self) -> usize {
        self.explicit.parameters()
    }

    fn count(&self) -> usize {
        self.explicit.count()
    }

    fn blur(&self) -> f64 {
        self.explicit.blur()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], mut jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        match self.explicit.evaluate(theta, residuals, jacobian.as_deref_mut()) {
            Err(why) if why.0.contains(TOO_MANY) => self.implicit.evaluate(theta, residuals, jacobian),
            outcome => outcome,
        }
    }
}
