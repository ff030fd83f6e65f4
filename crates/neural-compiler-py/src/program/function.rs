//! A program of the user, or a derivative of one, ready to be called. In: views of the caller's arrays; out: results in the
//! caller's buffers.
//! Invariants: graphs are made once per combination of shapes (the last few are kept), engines once per set of shared inputs, workspaces
//! are kept; a call either fills every result or raises; what is read while other Python threads run is held or copied; locks are taken
//! only while Python's own is held, so that a fork, which happens under it, finds none of them taken.

use crate::buffers::holding::{Inputs, alone, hold};
use crate::buffers::views::{View, broadcast, column, gather, numbers, room, shape_of, strides};
use crate::convert::errors::{compile_error, evaluation_error};
use crate::program::cache::{Recent, Weighed};
use crate::program::core::Core;
use crate::program::places::Places;
use crate::program::steps::{self, Step};
use neural_compiler::diff::{Chained, Derived, Link, chain};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, LaneError, Workspace};
use neural_compiler::graph::{Graph, Kind, NodeId, Region};
use neural_compiler::ops::real::Real;
use neural_compiler::ops::work;
use neural_compiler::{EvalError, Shape};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A call of less work, in numbers looked at, is over before another thread could use the interpreter's lock.
const WORK_UNDER_LOCK: u64 = 128 * 1024;

/// What a lane of a graph costs, in numbers looked at.
fn lane_work(graph: &Graph) -> u64 {
    let node = |region: &Region, id: NodeId| match region.node(id).kind {
        Kind::Op(op, _) => work::of(op, region.args(id).iter().map(|&a| region.shape(a)), region.shape(id)),
        Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => u64::MAX,
        _ => 0,
    };
    graph.regions().iter().flat_map(|r| r.ids().map(move |id| node(r, id))).fold(1, u64::saturating_add)
}

/// An engine and the memory of its runs.
pub(crate) struct Slot {
    engine: Engine,
    f32: Mutex<Vec<Workspace<f32>>>,
    f64: Mutex<Vec<Workspace<f64>>>,
}

/// The function for one combination of shapes.
pub(crate) struct Variant {
    pub(crate) derived: Derived,
    /// Axes of all inputs.
    pub(crate) inputs: Vec<Vec<i64>>,
    /// How many numbers each result has.
    pub(crate) results: Vec<usize>,
    /// The input whose cotangent (or tangent of a cotangent) each result is.
    likes: Vec<Option<usize>>,
    /// What a lane costs, in numbers looked at; without bounds where there are loops or calls.
    work: u64,
    engines: Mutex<Engines>,
}

/// Engines by the inputs all lanes share and the results that are summed.
type Engines = Vec<(Places, Places, Arc<Slot>)>;

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

/// How to run.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// At most this many threads.
    pub(crate) threads: usize,
    /// Raise at the first operation that leaves its domain.
    pub(crate) trap: bool,
}

/// Which input each result is like: cotangents are like the inputs they belong to. `None`: none is like any.
fn likes(chain: &[Link]) -> Option<Vec<Option<usize>>> {
    let mut now: Option<Vec<Option<usize>>> = None;
    for link in chain {
        now = match (link, now) {
            (Link::Vjp { wrt, .. }, _) => Some(wrt.iter().copied().map(Some).collect()),
            (Link::Jvp(_), Some(likes)) => Some([likes.clone(), likes].concat()),
            (Link::Jvp(_), None) => None,
        };
    }
    now
}

/// The shapes of a call.
pub(crate) struct Plan {
    pub(crate) variant: Arc<Variant>,
    batch: Vec<i64>,
    lanes: usize,
    /// Results that are summed over all lanes.
    summed: Places,
    /// It was made for this call, and other Python threads ran meanwhile.
    pub(crate) new: bool,
}

impl Plan {
    /// The sizes of result `k`: the batch and the result's own, or for one that is summed those of the input it belongs to.
    pub(crate) fn sizes(&self, k: usize, views: &[View<'_>]) -> Vec<i64> {
        match self.variant.likes[k] {
            Some(input) if self.summed.contains(k) => views[input].shape.to_vec(),
            _ => self.batch.iter().copied().chain(self.variant.derived.axes[k].iter().map(|&n| n as i64)).collect(),
        }
    }

    /// The input whose cotangent result `k` is.
    pub(crate) fn like(&self, k: usize) -> Option<usize> {
        self.variant.likes[k]
    }

    /// Whether every cotangent has the shape of its input.
    pub(crate) fn fits(&self, views: &[View<'_>]) -> bool {
        let Plan { variant, batch, summed, .. } = self;
        let fit = |(k, like): (usize, &Option<usize>)| {
            like.is_none_or(|i| summed.contains(k) || views[i].batch(variant.inputs[i].len()) == batch)
        };
        variant.likes.iter().enumerate().all(fit)
    }
}

/// A program or a derivative of one.
pub(crate) struct Function {
    pub(crate) core: Arc<Core>,
    pub(crate) steps: Vec<Step>,
    pub(crate) chain: Vec<Link>,
    variants: Mutex<Recent<Vec<Shape>, Arc<Variant>>>,
    /// Programs that pull cotangents back, by the inputs they are about.
    pub(crate) pull_backs: Mutex<Vec<(Places, Arc<Function>)>>,
}

impl Function {
    pub(crate) fn new(core: Arc<Core>, steps: Vec<Step>, chain: Vec<Link>) -> Function {
        Function { core, steps, chain, variants: Mutex::default(), pull_backs: Mutex::default() }
    }

    /// The input each result is like; empty when none is like any.
    pub(crate) fn likes(&self) -> Vec<Option<usize>> {
        likes(&self.chain).unwrap_or_default()
    }

    /// The function for these shapes of the program's inputs; made once.
    pub(crate) fn variant(&self, py: Python<'_>, shapes: &[Shape]) -> PyResult<Arc<Variant>> {
        if let Some(found) = lock(&self.variants).get(|k| k == shapes) {
            return Ok(found);
        }
        let program = &self.core.program;
        let pulled = self.chain.iter().any(|l| matches!(l, Link::Vjp { .. }));
        let Chained { derived, input_axes } = py
            .detach(|| {
                let graph = program.specialise(shapes)?;
                chain(steps::apply(&graph, &self.steps, pulled)?, &self.chain)
            })
            .map_err(|e| compile_error(py, program.source(), &e))?;
        let work = lane_work(&derived.graph);
        let variant = Arc::new(Variant {
            inputs: input_axes.into_iter().map(|axes| axes.into_iter().map(|n| n as i64).collect()).collect(),
            results: derived.graph.outputs().iter().map(|s| s.len()).collect(),
            likes: likes(&self.chain).unwrap_or_else(|| vec![None; derived.axes.len()]),
            derived,
            work,
            engines: Mutex::default(),
        });
        let mut variants = lock(&self.variants);
        // Another thread may have made it meanwhile.
        if let Some(found) = variants.get(|k| k == shapes) {
            return Ok(found);
        }
        variants.trim();
        variants.insert(shapes.to_vec(), variant.clone());
        Ok(variant)
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
        let known = lock(&self.variants).get(|k| k == &shapes);
        let new = known.is_none();
        let variant = known.map_or_else(|| self.variant(py, &shapes), Ok)?;
        if views.len() != variant.inputs.len() {
            return Err(PyValueError::new_err(format!("{} arguments are needed, {} were given", variant.inputs.len(), views.len())));
        }
        let mut batch: Vec<i64> = Vec::new();
        for (k, (view, axes)) in views.iter().zip(&variant.inputs).enumerate() {
            let r = axes.len();
            if view.shape.len() < r || view.core(r) != axes {
                let name = &variant.derived.graph.inputs[k].name;
                return Err(PyValueError::new_err(format!(
                    "`{name}` has the shape {axes:?} with any leading batch sizes, an array of shape {:?} was given",
                    view.shape
                )));
            }
            if !broadcast(&mut batch, view.batch(r)) {
                return Err(self.wrong_batch(&variant, views));
            }
        }
        let lanes = numbers(&batch)?;
        let single = |i: &usize| views[*i].batch(variant.inputs[*i].len()).iter().all(|&n| n == 1);
        let summed = variant.likes.iter().enumerate().filter(|(_, like)| like.as_ref().is_some_and(single)).map(|(k, _)| k).collect();
        Ok(Plan { variant, batch, lanes, summed, new })
    }

    fn wrong_shape(&self, k: usize, view: &View<'_>) -> PyErr {
        let input = &self.core.program.inputs()[k];
        let expected = self.core.expected(k);
        PyValueError::new_err(format!(
            "the input `{}` is a {expected} with any leading batch sizes, an array of shape {:?} was given",
            input.name, view.shape
        ))
    }

    fn wrong_batch(&self, variant: &Variant, views: &[View<'_>]) -> PyErr {
        let list: Vec<String> = views
            .iter()
            .zip(&variant.derived.graph.inputs)
            .zip(&variant.inputs)
            .map(|((view, input), axes)| format!("`{}` {:?}", input.name, view.batch(axes.len())))
            .collect();
        PyValueError::new_err(format!("the batch sizes of the inputs do not fit together: {}", list.join(", ")))
    }

    /// Runs a call. `outputs[k]` points at room for every lane of result `k`.
    ///
    /// # Safety
    /// As for `lanes`.
    pub(crate) unsafe fn run<'py, T: Number>(
        &self,
        py: Python<'py>,
        plan: &Plan,
        sources: (&[View<'_>], Inputs<'_, 'py>),
        outputs: &[*mut T],
        how: How,
    ) -> PyResult<()> {
        // SAFETY: as promised by the caller.
        let failed = unsafe { self.lanes(py, plan, sources, outputs, how)? };
        self.raise(py, &failed)
    }

    /// Runs a call and gives the lanes that have no result. `outputs[k]` points at room for every lane of result `k`.
    ///
    /// # Safety
    /// Views must be valid for reads of `T` and outputs for writes as long as Python's lock is held, and beyond for arrays that are held;
    /// no output may overlap another or an input.
    pub(crate) unsafe fn lanes<'py, T: Number>(
        &self,
        py: Python<'py>,
        plan: &Plan,
        (views, inputs): (&[View<'_>], Inputs<'_, 'py>),
        outputs: &[*mut T],
        how: How,
    ) -> PyResult<Vec<LaneError>> {
        let Plan { variant, batch, lanes, summed, .. } = plan;
        let (lanes, none) = (*lanes, Places::default());
        // The sum of one lane is the lane.
        let summed = if lanes == 1 { &none } else { summed };
        let mut buffers: Vec<&mut [T]> = (outputs.iter().zip(&variant.results).enumerate())
            .map(|(k, (&p, &len))| match if summed.contains(k) { len } else { lanes.saturating_mul(len) } {
                // An empty tensor may have no memory at all.
                0 => &mut [][..],
                // SAFETY: as promised by the caller: the result has room for as many numbers.
                n => unsafe { std::slice::from_raw_parts_mut(p, n) },
            })
            .collect();
        if lanes == 0 {
            buffers.iter_mut().for_each(|b| b.fill(T::ZERO));
            return Ok(Vec::new());
        }
        let mut gathered: Vec<Vec<T>> = Vec::new();
        let mut found = Vec::with_capacity(views.len());
        let mut shared = Places::default();
        for (k, (view, axes)) in views.iter().zip(&variant.inputs).enumerate() {
            let two = strides(view, axes.len(), batch);
            if lanes > 1 && matches!(two, Some((0, _))) {
                shared.insert(k);
            }
            if two.is_none() {
                // SAFETY: as promised by the caller.
                gathered.push(unsafe { gather(view, axes.len(), batch)? });
            }
            found.push(two);
        }
        let mut copies = gathered.iter();
        let mut columns: Vec<Column<'_, T>> = views
            .iter()
            .zip(&variant.inputs)
            .zip(&found)
            .map(|((view, axes), two)| {
                let len = axes.iter().product::<i64>() as usize;
                match *two {
                    // SAFETY: as promised by the caller; the strides are those of the view over this batch.
                    Some(two) => unsafe { column::<T>(view, len, lanes, two) },
                    None => Column::rows(copies.next().expect("one copy per gathered view"), len),
                }
            })
            .collect();
        let slot = variant.slot(shared, summed);
        let mut options = BatchOptions { threads: how.threads, ..BatchOptions::default() };
        options.run.limits = self.core.program.limits();
        options.run.trap = how.trap;
        let mut workspace = lock(T::pool(&slot)).pop().unwrap_or_else(Workspace::new);
        let outcome = if variant.work.saturating_mul(lanes as u64) < WORK_UNDER_LOCK {
            slot.engine.run(&mut workspace, &columns, lanes, &mut buffers, &options)
        } else {
            let mut copies = Vec::new();
            let _held = match inputs {
                Inputs::Arrays(arrays) => Some(hold(arrays)?),
                Inputs::Tensors => None,
            };
            if matches!(inputs, Inputs::Tensors) && !alone(py)? {
                for column in &columns {
                    let mut copy = room(column.data.len())?;
                    copy.extend_from_slice(column.data);
                    copies.push(copy);
                }
                columns.iter_mut().zip(&copies).for_each(|(column, copy)| column.data = copy);
            }
            py.detach(|| slot.engine.run(&mut workspace, &columns, lanes, &mut buffers, &options))
        };
        lock(T::pool(&slot)).push(workspace);
        let ended = |error: EvalError| evaluation_error(py, self.core.program.source(), &error, None);
        outcome.map_err(|error| crate::signals::raised().unwrap_or_else(|| ended(error)))
    }

    /// The exception of the first lane that has no result.
    pub(crate) fn raise(&self, py: Python<'_>, failed: &[LaneError]) -> PyResult<()> {
        match failed.first() {
            None => Ok(()),
            Some(first) => Err(evaluation_error(py, self.core.program.source(), &first.error, Some(first.lane))),
        }
    }
}

impl Weighed for Variant {
    fn bytes(&self) -> usize {
        let spaces = |slot: &Slot| {
            lock(&slot.f32).iter().map(Workspace::bytes).sum::<usize>() + lock(&slot.f64).iter().map(Workspace::bytes).sum::<usize>()
        };
        lock(&self.engines).iter().map(|(.., slot)| slot.engine.bytes() + spaces(slot)).sum()
    }

    fn shrink(&self) {
        for (.., slot) in lock(&self.engines).iter() {
            lock(&slot.f32).clear();
            lock(&slot.f64).clear();
        }
    }
}

impl Variant {
    /// The engine for a set of shared inputs and of summed results; made once.
    fn slot(&self, shared: Places, summed: &Places) -> Arc<Slot> {
        let mut engines = lock(&self.engines);
        if let Some((.., slot)) = engines.iter().find(|e| e.0 == shared && e.1 == *summed) {
            return slot.clone();
        }
        let engine = Engine::reduced(&self.derived.graph, &shared.marks(self.inputs.len()), &summed.marks(self.results.len()));
        let slot = Arc::new(Slot { engine, f32: Mutex::default(), f64: Mutex::default() });
        engines.push((shared, summed.clone(), slot.clone()));
        slot
    }
}
