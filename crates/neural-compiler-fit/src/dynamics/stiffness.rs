//! Whether the explicit method that `auto` began with is still the cheaper one. In: the steps that a fit's first start takes, and where it
//! leads; out: whether the implicit method does with less work there, so that no other start is followed by the explicit one.
//!
//! Declared values may be mild where fitted ones are stiff. Work is counted in steps times what a step costs, never in seconds.
//! Invariants: only the first start is asked about, which is followed alone, so that the answer does not depend on threads; a yes stays.

use crate::dynamics::prepared::{PATIENCE, Prepared, STIFF};
use crate::dynamics::problem::Dynamics;
use crate::dynamics::solver::Solver;
use crate::optimise::{Residuals, Unusable};
use crate::options::Options;
use std::sync::{Arc, Mutex, OnceLock};

/// How many times as many steps as at first make the question worth asking: on the way, where so many evaluations took as many, and at its
/// end.
const GROWN: usize = 4;
const EVALUATIONS: usize = 3;
const GROWN_AT_END: usize = 2;

/// What the first start took so far.
#[derive(Default)]
struct Way {
    /// Steps of the first evaluation, and those from which on one is dear.
    first: usize,
    limit: usize,
    /// Dear evaluations.
    dear: usize,
    /// Where it was asked last.
    asked: Vec<f64>,
}

/// What watches the first start.
pub(crate) struct Stiffness<'a> {
    prepared: &'a Prepared,
    options: &'a Options<'a>,
    way: Mutex<Way>,
    implicit: OnceLock<Option<Arc<Solver>>>,
    /// Set where the implicit method is cheaper.
    left: OnceLock<()>,
}

impl<'a> Stiffness<'a> {
    /// `prepared`: with an explicit method that nobody asked for.
    pub(crate) fn new(prepared: &'a Prepared, options: &'a Options<'a>) -> Stiffness<'a> {
        Stiffness { prepared, options, way: Mutex::default(), implicit: OnceLock::new(), left: OnceLock::new() }
    }

    /// Whether the explicit method is to be left.
    pub(crate) fn is_left(&self) -> bool {
        self.left.get().is_some()
    }

    /// The same where the first start has ended.
    pub(crate) fn at_end(&self, theta: &[f64]) -> bool {
        let explicit = &self.prepared.solver;
        let is_dear = || {
            let (Some(here), Some(first)) = (self.steps(explicit, theta), self.steps(explicit, &self.prepared.layout.start)) else {
                return true;
            };
            here > GROWN_AT_END * first
        };
        let asked = std::mem::replace(&mut self.way.lock().expect("no panic holds it").asked, theta.to_vec()) == theta;
        if !asked && !self.is_left() && is_dear() {
            self.ask(theta);
        }
        self.is_left()
    }

    /// So many steps were taken by an evaluation.
    fn took(&self, steps: usize, theta: &[f64]) {
        let ask = {
            let mut way = self.way.lock().expect("no panic holds it");
            if way.first == 0 {
                (way.first, way.limit) = (steps, GROWN * steps);
            }
            way.dear += usize::from(steps > way.limit);
            let ask = way.dear >= EVALUATIONS;
            if ask {
                (way.dear, way.limit) = (0, GROWN * way.limit);
            }
            ask
        };
        if ask {
            self.ask(theta);
        }
    }

    /// Steps of a solution by a method, which is not part of the fit; `None`: too many.
    fn steps(&self, by: &Arc<Solver>, theta: &[f64]) -> Option<usize> {
        let alone = Arc::new(Solver::clone(by).with_effort(&Arc::default()).with_most(PATIENCE));
        let Prepared { layout, data, .. } = self.prepared;
        let problem = Dynamics::new(alone, layout.clone(), data.clone(), |_, _| 1.0);
        problem.solver.count(&problem.lanes(theta).ok()?, &problem.shared(theta))
    }

    /// Compares the methods.
    fn ask(&self, theta: &[f64]) {
        let Some(implicit) = self.implicit.get_or_init(|| self.prepared.implicit(self.options).ok()) else { return };
        let Some(cheaper) = self.steps(implicit, theta).map(|steps| steps as f64 * implicit.price()) else { return };
        let explicit = &self.prepared.solver;
        let dearer = self.steps(explicit, theta).map_or(f64::INFINITY, |steps| steps as f64 * explicit.price());
        if dearer > STIFF * cheaper {
            let _ = self.left.set(());
        }
    }
}

/// A problem whose first start is watched.
pub(crate) struct Watched<'a> {
    pub(crate) inner: &'a Dynamics,
    pub(crate) by: Option<&'a Stiffness<'a>>,
}

impl Residuals for Watched<'_> {
    fn parameters(&self) -> usize {
        self.inner.parameters()
    }

    fn count(&self) -> usize {
        self.inner.count()
    }

    fn blur(&self) -> f64 {
        self.inner.blur()
    }

    fn stopped(&self) -> bool {
        self.inner.stopped() || self.by.is_some_and(Stiffness::is_left)
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let Some(by) = self.by else { return self.inner.evaluate(theta, residuals, jacobian) };
        if by.is_left() {
            return Err(Unusable(CHEAPER.into()));
        }
        self.inner.evaluate(theta, residuals, jacobian)?;
        if let Some(steps) = self.inner.solver.effort.latest() {
            by.took(steps, theta);
        }
        Ok(())
    }
}

/// Why a search ends that another method is to begin again.
pub(crate) const CHEAPER: &str = "the implicit method is cheaper";
