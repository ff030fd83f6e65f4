//! A program of the user, or a derivative of one, ready to be called. In: views of the caller's arrays; out: results in the
//! caller's buffers.
//! Invariants: graphs are made once per combination of shapes, engines once per set of shared inputs, workspaces are kept; a
//! call either fills every result or raises.

use crate::core::Core;
use crate::derive::{Derived, Step, derive};
use crate::errors::{compile_error, evaluation_error};
use crate::views::{View, broadcast, column, gather, rank, shape_of, strides};
use neural_compiler::exec::lanes::{BatchOptions, Engine, LaneError, Workspace};
use neural_compiler::graph::Kind;
use neural_compiler::ops::real::Real;
use neural_compiler::{EvalError, Shape};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Inputs beyond this many count as varying: a set of shared inputs is the bits of a number.
const MOST_SHARED: usize = 128;

/// Below this many lanes a straight program is over before another thread could use the interpreter's lock.
const LANES_UNDER_LOCK: usize = 512;

/// An engine and the memory of its runs.
pub(crate) struct Slot {
    engine: Engine,
    f32: Mutex<Vec<Workspace<f32>>>,
    f64: Mutex<Vec<Workspace<f64>>>,
}

/// The function for one combination of shapes.
pub(crate) struct Variant {
    pub(crate) derived: Derived,
    /// Shapes of all inputs.
    pub(crate) inputs: Vec<Shape>,
    pub(crate) results: Vec<Shape>,
    /// May run long, whatever the number of lanes.
    long: bool,
    engines: Mutex<Vec<(u128, Arc<Slot>)>>,
}

/// A number type of the engine; every slot keeps workspaces for each.
pub(crate) trait Number: Real {
    /// Where a slot keeps them.
    fn pool(slot: &Slot) -> &Mutex<Vec<Workspace<Self>>>;
}

impl Number for f32 {
    fn pool(slot: &Slot) -> &Mutex<Vec<Workspace<f32>>> {
        &slot.f32
    }
}

impl Number for f64 {
    fn pool(slot: &Slot) -> &Mutex<Vec<Workspace<f64>>> {
        &slot.f64
    }
}

/// What is held is valid whatever happened to the thread that held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shapes of a call.
pub(crate) struct Plan {
    pub(crate) variant: Arc<Variant>,
    pub(crate) batch: Vec<i64>,
    pub(crate) lanes: usize,
}

/// A program or a derivative of one.
pub(crate) struct Function {
    pub(crate) core: Arc<Core>,
    pub(crate) steps: Vec<Step>,
    pub(crate) chain: Vec<crate::chain::Link>,
    variants: Mutex<FxHashMap<Vec<Shape>, Arc<Variant>>>,
}

impl Function {
    pub(crate) fn new(core: Arc<Core>, steps: Vec<Step>, chain: Vec<crate::chain::Link>) -> Function {
        Function { core, steps, chain, variants: Mutex::default() }
    }

    /// The function for these shapes of the program's inputs; made once.
    pub(crate) fn variant(&self, py: Python<'_>, shapes: &[Shape]) -> PyResult<Arc<Variant>> {
        if let Some(found) = lock(&self.variants).get(shapes) {
            return Ok(found.clone());
        }
        let program = &self.core.program;
        let derived = py
            .detach(|| {
                let graph = program.specialise(shapes)?;
                crate::chain::apply(derive(&graph, &self.steps)?, &self.chain)
            })
            .map_err(|e| compile_error(py, program.source(), &e))?;
        let long = derived.graph.regions.iter().any(|r| r.nodes.iter().any(|n| matches!(n.kind, Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_))));
        let variant = Arc::new(Variant {
            inputs: derived.graph.inputs.iter().map(|i| i.shape).collect(),
            results: derived.graph.outputs(),
            derived,
            long,
            engines: Mutex::default(),
        });
        Ok(lock(&self.variants).entry(shapes.to_vec()).or_insert(variant).clone())
    }

    /// Finds what to run for these arguments, and the batch they make together.
    pub(crate) fn plan(&self, py: Python<'_>, views: &[View<'_>]) -> PyResult<Plan> {
        let own = self.core.ranks.len();
        let mut shapes = Vec::with_capacity(own);
        for (k, (view, &rank)) in views.iter().zip(&self.core.ranks).enumerate() {
            let shape = if view.shape.len() < rank { None } else { shape_of(view.core(rank)).filter(|&s| self.core.admits(k, s)) };
            shapes.push(shape.ok_or_else(|| self.wrong_shape(k, view))?);
        }
        if shapes.len() < own {
            return Err(PyValueError::new_err(format!("the program has {own} inputs, {} were given", views.len())));
        }
        let variant = self.variant(py, &shapes)?;
        if views.len() != variant.inputs.len() {
            return Err(PyValueError::new_err(format!("{} arguments are needed, {} were given", variant.inputs.len(), views.len())));
        }
        let mut batch: Vec<i64> = Vec::new();
        for (k, (view, &shape)) in views.iter().zip(&variant.inputs).enumerate() {
            let r = rank(shape);
            if view.shape.len() < r || shape_of(view.core(r)) != Some(shape) {
                let name = &variant.derived.graph.inputs[k].name;
                return Err(PyValueError::new_err(format!("`{name}` is a {shape} with any leading batch sizes, an array of shape {:?} was given", view.shape)));
            }
            if !broadcast(&mut batch, view.batch(r)) {
                return Err(self.wrong_batch(&variant, views));
            }
        }
        let lanes = batch.iter().product::<i64>() as usize;
        Ok(Plan { variant, batch, lanes })
    }

    fn wrong_shape(&self, k: usize, view: &View<'_>) -> PyErr {
        let input = &self.core.program.inputs()[k];
        let expected = self.core.expected(k);
        PyValueError::new_err(format!("the input `{}` is a {expected} with any leading batch sizes, an array of shape {:?} was given", input.name, view.shape))
    }

    fn wrong_batch(&self, variant: &Variant, views: &[View<'_>]) -> PyErr {
        let list: Vec<String> =
            views.iter().zip(&variant.derived.graph.inputs).map(|(view, input)| format!("`{}` {:?}", input.name, view.batch(rank(input.shape)))).collect();
        PyValueError::new_err(format!("the batch sizes of the inputs do not fit together: {}", list.join(", ")))
    }

    /// Runs a call. `outputs[k]` points at room for every lane of result `k`.
    ///
    /// # Safety
    /// Views must be valid for reads of `T` and outputs for writes, no output may overlap another or an input.
    pub(crate) unsafe fn run<T: Number>(&self, py: Python<'_>, plan: &Plan, views: &[View<'_>], outputs: &[*mut T], threads: usize) -> PyResult<()> {
        let Plan { variant, batch, lanes } = plan;
        let lanes = *lanes;
        if lanes == 0 {
            return Ok(());
        }
        let mut gathered: Vec<Vec<T>> = Vec::new();
        let mut found = Vec::with_capacity(views.len());
        let mut shared = 0u128;
        for (k, (view, &shape)) in views.iter().zip(&variant.inputs).enumerate() {
            let two = strides(view, rank(shape), batch);
            if k < MOST_SHARED && lanes > 1 && matches!(two, Some((0, _))) {
                shared |= 1 << k;
            }
            if two.is_none() {
                // SAFETY: as promised by the caller.
                gathered.push(unsafe { gather(view, rank(shape), batch) });
            }
            found.push(two);
        }
        let mut copies = gathered.iter();
        let columns: Vec<_> = views
            .iter()
            .zip(&variant.inputs)
            .zip(&found)
            .map(|((view, shape), two)| match *two {
                // SAFETY: as promised by the caller; the strides are those of the view over this batch.
                Some(two) => unsafe { column::<T>(view, shape.len(), lanes, two) },
                None => neural_compiler::exec::lanes::Column::rows(copies.next().expect("one copy per gathered view"), shape.len()),
            })
            .collect();
        // SAFETY: as promised by the caller.
        let mut buffers: Vec<&mut [T]> =
            outputs.iter().zip(&variant.results).map(|(&p, s)| unsafe { std::slice::from_raw_parts_mut(p, lanes * s.len()) }).collect();
        let slot = variant.slot(shared, columns.len());
        let mut options = BatchOptions { threads, ..BatchOptions::default() };
        options.run.limits = self.core.program.limits();
        let mut go = || {
            let mut workspace = lock(T::pool(&slot)).pop().unwrap_or_else(Workspace::new);
            let outcome = slot.engine.run(&mut workspace, &columns, lanes, &mut buffers, &options);
            lock(T::pool(&slot)).push(workspace);
            outcome
        };
        let outcome = if lanes < LANES_UNDER_LOCK && !variant.long { go() } else { py.detach(go) };
        self.outcome(py, outcome)
    }

    fn outcome(&self, py: Python<'_>, outcome: Result<Vec<LaneError>, EvalError>) -> PyResult<()> {
        let source = self.core.program.source();
        match outcome {
            Ok(failed) => match failed.first() {
                None => Ok(()),
                Some(first) => Err(evaluation_error(py, source, &first.error, Some(first.lane))),
            },
            Err(error) => Err(evaluation_error(py, source, &error, None)),
        }
    }
}

impl Variant {
    /// The engine for a set of shared inputs; made once.
    fn slot(&self, shared: u128, inputs: usize) -> Arc<Slot> {
        let mut engines = lock(&self.engines);
        if let Some((_, slot)) = engines.iter().find(|e| e.0 == shared) {
            return slot.clone();
        }
        let uniform: Vec<bool> = (0..inputs).map(|k| k < MOST_SHARED && shared >> k & 1 == 1).collect();
        let slot = Arc::new(Slot { engine: Engine::new(&self.derived.graph, &uniform), f32: Mutex::default(), f64: Mutex::default() });
        engines.push((shared, slot.clone()));
        slot
    }
}
