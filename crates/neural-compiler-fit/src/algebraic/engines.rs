//! The engines of an algebraic model. In: a graph and which of its inputs all rows share; out: prediction, prediction with derivatives,
//! and a cost pulled back, each made when it is first needed.

use crate::model::layout::Layout;
use crate::optimise::Unusable;
use crate::optimise::effort::Effort;
use neural_compiler::exec::lanes::{Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Shape, diff};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock};

/// Memory of one run, kept for the next.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) workspace: Workspace<f64>,
    pub(super) blocks: Vec<f64>,
}

/// Scratches a thread keeps when a model goes.
const SCRATCHES: usize = 2;

thread_local! {
    static KEPT: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
}

/// Scratch memory that goes back to where it came from.
pub(super) struct Lent<'a> {
    scratch: Scratch,
    pool: &'a Mutex<Vec<Scratch>>,
}

impl Deref for Lent<'_> {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.scratch
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Ok(mut pool) = self.pool.lock() {
            pool.push(std::mem::take(&mut self.scratch));
        }
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        let Ok(pool) = self.pool.get_mut() else { return };
        // Those of large batches would hold memory for nothing.
        let small = pool.drain(..).filter(|s| s.blocks.capacity() < 1 << 16);
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            let room = SCRATCHES.saturating_sub(kept.len());
            kept.extend(small.take(room));
        });
    }
}

/// The engines of a model.
pub struct Engines {
    graph: Arc<Graph>,
    /// Which inputs all rows share, and which are free.
    uniform: Vec<bool>,
    free: Vec<usize>,
    value: OnceLock<Engine>,
    derivative: OnceLock<Result<Engine, Diagnostics>>,
    back: OnceLock<Result<Engine, Diagnostics>>,
    second: OnceLock<Result<Engine, Diagnostics>>,
    /// What a run may cost.
    pub(super) effort: Arc<Effort>,
    pool: Mutex<Vec<Scratch>>,
}

impl Engines {
    /// Engines for a graph; parameters are the same for all rows.
    pub fn new(graph: &Arc<Graph>, layout: &Layout) -> Engines {
        let mut uniform = vec![false; graph.inputs.len()];
        layout.shared.iter().for_each(|s| uniform[s.input] = true);
        let free = layout.free_inputs();
        let (value, derivative, back, second) = (OnceLock::new(), OnceLock::new(), OnceLock::new(), OnceLock::new());
        Engines { graph: graph.clone(), uniform, free, value, derivative, back, second, effort: Arc::default(), pool: Mutex::default() }
    }

    /// The same engines within the limits of a fit.
    pub(crate) fn with_effort(mut self, effort: &Arc<Effort>) -> Engines {
        self.effort = effort.clone();
        self
    }

    /// Engines of the same graph for other free numbers.
    pub(super) fn of(&self, layout: &Layout) -> Engines {
        Engines::new(&self.graph, layout).with_effort(&self.effort)
    }

    fn output(&self) -> Shape {
        self.graph.outputs()[0]
    }

    /// Numbers of a prediction.
    pub(super) fn outputs(&self) -> usize {
        self.output().len()
    }

    /// Whether the derivative takes one run per number of the prediction, told which by a last input.
    pub(super) fn seeded(&self) -> bool {
        self.output() != Shape::Scalar
    }

    /// The prediction.
    pub(super) fn value(&self) -> &Engine {
        self.value.get_or_init(|| Engine::new(&self.graph, &self.uniform))
    }

    /// The prediction and its derivatives by the free inputs.
    pub(super) fn derivative(&self) -> Result<&Engine, Unusable> {
        let make = || {
            let derivative = if self.seeded() { diff::vjp(&self.graph, &self.free)? } else { diff::gradient(&self.graph, &self.free)? };
            let uniform: Vec<bool> = self.uniform.iter().copied().chain(self.seeded().then_some(true)).collect();
            Ok(Engine::new(&derivative, &uniform))
        };
        usable(&self.derivative, make)
    }

    /// What pulls a derivative by the predictions back to the free inputs, summed over rows.
    pub(super) fn back(&self) -> Result<&Engine, Unusable> {
        let make = || {
            let back = diff::vjp(&self.graph, &self.free)?;
            let uniform: Vec<bool> = self.uniform.iter().copied().chain([false]).collect();
            let reduced: Vec<bool> = (0..back.main().results.len()).map(|k| k > 0).collect();
            Ok(Engine::reduced(&back, &uniform, &reduced))
        };
        usable(&self.back, make)
    }

    /// The derivative, along a direction of the free inputs, of what pulls numbers back to them. Results: the prediction, what is pulled
    /// back, and the derivatives of both; all but those of the prediction summed over rows.
    pub(super) fn second(&self) -> Result<&Engine, Unusable> {
        let make = || {
            let second = diff::jvp(&diff::vjp(&self.graph, &self.free)?, &self.free);
            let uniform: Vec<bool> = self.uniform.iter().copied().chain([false]).chain(self.free.iter().map(|_| true)).collect();
            let half = 1 + self.free.len();
            let reduced: Vec<bool> = (0..2 * half).map(|k| k % half > 0).collect();
            Ok(Engine::reduced(&second, &uniform, &reduced))
        };
        usable(&self.second, make)
    }

    /// Memory for a run of one of them.
    pub(super) fn scratch(&self) -> Lent<'_> {
        let own = self.pool.lock().expect("no panic holds it").pop();
        let scratch = own.or_else(|| KEPT.try_with(|kept| kept.borrow_mut().pop()).ok().flatten()).unwrap_or_default();
        Lent { scratch, pool: &self.pool }
    }

    /// Why the model has no derivatives, if so.
    pub(crate) fn check(&self) -> Result<(), Diagnostics> {
        let _ = self.derivative();
        match self.derivative.get() {
            Some(Err(e)) => Err(e.clone()),
            _ => Ok(()),
        }
    }
}

fn usable(place: &OnceLock<Result<Engine, Diagnostics>>, make: impl FnOnce() -> Result<Engine, Diagnostics>) -> Result<&Engine, Unusable> {
    place.get_or_init(make).as_ref().map_err(|e| Unusable(e.to_string()))
}
