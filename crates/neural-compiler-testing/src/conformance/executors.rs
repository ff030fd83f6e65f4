//! The executors that must agree. In: a batch; out: results, errors by lane, or that the program is left to another.

use super::batch::{Batch, Bits, Workspaces};
use super::limits;
use crate::probe::values_of_lane;
use neural_compiler::Limits;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::exec::jit::{Batches, Jit, Memory};
use neural_compiler::exec::lanes::{BatchOptions, Engine};
use neural_compiler_math::Level;
use std::cell::RefCell;

/// What became of a batch.
pub enum Ran<T> {
    /// Results of all lanes, and the lanes that failed with the codes of their errors.
    Done {
        /// For each result, lane by lane.
        outputs: Vec<Vec<T>>,
        /// Lanes and codes.
        errors: Vec<(usize, &'static str)>,
    },
    /// What all lanes share failed.
    Failed(&'static str),
    /// Not this executor's business.
    Declined,
}

/// Something that runs a graph over a batch.
pub trait Executor {
    /// What a failure calls it.
    fn name(&self) -> String;
    /// Limits at which it stops where the interpreter does, and, if it can, errors where a domain is left.
    fn options(&self, trap: bool) -> RunOptions;
    /// Runs in f32.
    fn narrow(&self, batch: &Batch<'_, f32>) -> Ran<f32>;
    /// Runs in f64.
    fn wide(&self, batch: &Batch<'_, f64>) -> Ran<f64>;
}

/// Implements the trait by a method that is generic over the number type.
macro_rules! executor {
    ($type:ty, options: $options:expr, |$executor:ident| $name:expr) => {
        impl Executor for $type {
            fn name(&self) -> String {
                let $executor = self;
                $name
            }
            fn options(&self, trap: bool) -> RunOptions {
                let options: fn(bool) -> RunOptions = $options;
                options(trap)
            }
            fn narrow(&self, batch: &Batch<'_, f32>) -> Ran<f32> {
                self.run(batch)
            }
            fn wide(&self, batch: &Batch<'_, f64>) -> Ran<f64> {
                self.run(batch)
            }
        }
    };
}

/// The interpreter, lane by lane: two runs are the same.
pub struct Interpreter;

impl Interpreter {
    fn run<T: Bits>(&self, batch: &Batch<'_, T>) -> Ran<T> {
        let sizes: Vec<usize> = batch.graph.outputs().iter().map(|s| s.len()).collect();
        let mut outputs: Vec<Vec<T>> = sizes.iter().map(|n| vec![T::ZERO; n * batch.lanes]).collect();
        let mut errors = Vec::new();
        for lane in 0..batch.lanes {
            match interp::run(batch.graph, &values_of_lane(batch.graph, batch.columns, batch.uniform, lane), &batch.run) {
                Ok(results) => {
                    results
                        .iter()
                        .zip(&mut outputs)
                        .zip(&sizes)
                        .for_each(|((r, out), &n)| out[lane * n..(lane + 1) * n].copy_from_slice(r.data()));
                }
                Err(e) => errors.push((lane, e.code)),
            }
        }
        Ran::Done { outputs, errors }
    }
}

executor!(Interpreter, options: |trap| RunOptions { limits: limits(), trap }, |_e| "interpreter".into());

/// The lane engine, with or without generated code.
pub struct Lanes {
    /// Instructions to use.
    pub level: Level,
    /// Value by value, as large values run.
    pub by_values: bool,
    /// How much of a loop's rounds is kept for the way back.
    pub record_bytes: usize,
    /// Whether code may be generated.
    pub jit: bool,
    /// How many threads.
    pub threads: usize,
    /// What one program leaves for the next.
    pub workspaces: RefCell<Workspaces>,
}

impl Lanes {
    /// Tile by tile, one thread, everything kept.
    pub fn new(level: Level) -> Lanes {
        Lanes { level, by_values: false, record_bytes: usize::MAX, jit: false, threads: 1, workspaces: RefCell::default() }
    }

    fn run<T: Bits>(&self, batch: &Batch<'_, T>) -> Ran<T> {
        let engine = match self.by_values {
            true => Engine::by_values(batch.graph, batch.uniform, &vec![false; batch.graph.outputs().len()]),
            false => Engine::new(batch.graph, batch.uniform),
        };
        let options =
            BatchOptions { run: batch.run, level: self.level, threads: self.threads, record_bytes: self.record_bytes, jit: self.jit };
        let mut workspaces = self.workspaces.borrow_mut();
        let workspace = T::workspace(&mut workspaces);
        match batch.into_outputs(|inputs, buffers| engine.run(workspace, inputs, batch.lanes, buffers, &options).map_err(|e| e.code)) {
            Ok((errors, outputs)) => Ran::Done { outputs, errors: errors.iter().map(|e| (e.lane, e.error.code)).collect() },
            Err(code) => Ran::Failed(code),
        }
    }
}

executor!(Lanes, options: |trap| RunOptions { limits: limits(), trap }, |e| {
    let how = if e.by_values { "value by value" } else { "tile by tile" };
    format!("lane engine {how}, {:?}, {} threads, record of {} bytes, generated code {}", e.level, e.threads, e.record_bytes, e.jit)
});

/// Generated code alone.
pub struct Generated {
    /// Instructions to use.
    pub level: Level,
    /// For batches of this size.
    pub batches: Batches,
}

impl Generated {
    fn run<T: Bits>(&self, batch: &Batch<'_, T>) -> Ran<T> {
        let Ok(jit) = Jit::for_batches(batch.graph, batch.uniform, T::DTYPE, self.level, self.batches) else { return Ran::Declined };
        let run = batch.into_outputs(|inputs, buffers| {
            let done = jit.run(&mut Memory::new(), inputs, batch.lanes, buffers, &batch.run.limits);
            if done { Ok(()) } else { Err("left to the lane engine") }
        });
        match run {
            Ok(((), outputs)) => Ran::Done { outputs, errors: Vec::new() },
            Err(_) => Ran::Declined,
        }
    }
}

// It leaves a run that may take too many steps, and domains, to the lane engine.
executor!(
    Generated,
    options: |_| RunOptions { limits: Limits { steps: Limits::default().steps, ..limits() }, trap: false },
    |e| format!("generated code, {:?}, {:?}", e.level, e.batches)
);

/// The levels code is generated for on this machine.
pub fn generated_levels() -> Vec<Level> {
    Level::available().iter().copied().filter(|&l| l != Level::Baseline).collect()
}

/// Generated code at a level, for batches of every size.
pub fn generated_at(level: Level) -> Vec<Box<dyn Executor>> {
    [Batches::Few, Batches::Usual, Batches::Large]
        .into_iter()
        .map(|batches| Box::new(Generated { level, batches }) as Box<dyn Executor>)
        .collect()
}

/// The lane engine at a level, both ways.
pub fn lanes_at(level: Level, record_bytes: usize) -> Vec<Box<dyn Executor>> {
    let of = |by_values| Box::new(Lanes { by_values, record_bytes, ..Lanes::new(level) }) as Box<dyn Executor>;
    vec![of(false), of(true)]
}
