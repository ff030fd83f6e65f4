//! Algebraic models as residuals. In: a program's graph, its parameters, columns of data; out: weighted differences between
//! prediction and data with exact derivatives, a row of the data per lane of the batch engine.

use crate::layout::Layout;
use crate::least::gradient::Gradient;
use crate::least::{Residuals, Unusable, dot};
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, diff};
use std::sync::{Arc, Mutex, OnceLock};

/// The engines of a model, made once: prediction, and prediction with derivatives by the parameters.
pub struct Engines {
    value: Engine,
    derivative: Engine,
    /// Numbers of a prediction.
    outputs: usize,
    /// Whether the derivative needs one run per number of the prediction.
    seeded: bool,
    /// The program, which inputs all rows share and which are free; for the engine that pulls a cost back, made when first needed.
    program: (Graph, Vec<bool>, Vec<usize>),
    back: OnceLock<Result<Engine, Diagnostics>>,
}

impl Engines {
    /// Engines for a graph; parameters are the same for all rows.
    pub fn new(graph: &Graph, layout: &Layout) -> Result<Engines, Diagnostics> {
        let mut uniform = vec![false; graph.inputs.len()];
        layout.shared.iter().for_each(|s| uniform[s.input] = true);
        let outputs = graph.outputs()[0];
        let seeded = outputs != neural_compiler::Shape::Scalar;
        let free = layout.free_inputs();
        let derivative = if seeded { diff::vjp(graph, &free)? } else { diff::gradient(graph, &free)? };
        let value = Engine::new(graph, &uniform);
        let program = (graph.clone(), uniform.clone(), free);
        if seeded {
            uniform.push(true);
        }
        Ok(Engines { value, derivative: Engine::new(&derivative, &uniform), outputs: outputs.len(), seeded, program, back: OnceLock::new() })
    }

    /// The engine that pulls a derivative by the predictions back to the free inputs, summed over rows.
    fn back(&self) -> Result<&Engine, Unusable> {
        let make = || {
            let (graph, uniform, free) = &self.program;
            let back = diff::vjp(graph, free)?;
            let uniform: Vec<bool> = uniform.iter().copied().chain([false]).collect();
            let reduced: Vec<bool> = (0..back.main().results.len()).map(|k| k > 0).collect();
            Ok(Engine::reduced(&back, &uniform, &reduced))
        };
        self.back.get_or_init(make).as_ref().map_err(|e: &Diagnostics| Unusable(e.to_string()))
    }
}

/// Memory of one evaluation, kept for the next.
#[derive(Default)]
struct Scratch {
    workspace: Workspace<f64>,
    values: Vec<f64>,
    blocks: Vec<f64>,
}

/// Prediction minus data, weighted.
pub struct Algebraic {
    engines: Arc<Engines>,
    layout: Arc<Layout>,
    /// Per input of the program: numbers per row, number by number; empty for parameters.
    columns: Vec<Vec<f64>>,
    /// Data, number by number.
    target: Vec<f64>,
    /// One per row; empty: all 1.
    weights: Vec<f64>,
    rows: usize,
    threads: usize,
    pool: Mutex<Vec<Scratch>>,
}

impl Algebraic {
    /// A model with data. `columns[i]` are the numbers of input `i`: all rows of its first number, then of its second.
    pub fn new(engines: Arc<Engines>, layout: Arc<Layout>, columns: Vec<Vec<f64>>, target: Vec<f64>, weights: Vec<f64>, threads: usize) -> Algebraic {
        let rows = target.len() / engines.outputs;
        Algebraic { engines, layout, columns, target, weights, rows, threads, pool: Mutex::default() }
    }

    /// The same model on some of the rows.
    pub fn sample(&self, rows: &[usize]) -> Algebraic {
        let pick = |all: &Vec<f64>| -> Vec<f64> {
            if all.is_empty() {
                return Vec::new();
            }
            all.chunks(self.rows).flat_map(|part| rows.iter().map(|&i| part[i])).collect()
        };
        Algebraic {
            engines: self.engines.clone(),
            layout: self.layout.clone(),
            columns: self.columns.iter().map(pick).collect(),
            target: pick(&self.target),
            weights: pick(&self.weights),
            rows: rows.len(),
            threads: 1,
            pool: Mutex::default(),
        }
    }

    /// The same data with the engines and the free numbers of another layout.
    pub fn with(self, engines: Arc<Engines>, layout: Arc<Layout>) -> Algebraic {
        Algebraic { engines, layout, ..self }
    }

    /// The same on all threads.
    pub fn threaded(self) -> Algebraic {
        Algebraic { threads: rayon::current_num_threads(), ..self }
    }

    /// The numbers of each input of the program, number by number; empty for parameters and weights.
    pub fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// Rows of data.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The data, number by number.
    pub fn target(&self) -> &[f64] {
        &self.target
    }

    /// The weight of each row; empty: all 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn inputs<'a>(&'a self, theta: &'a [f64]) -> Vec<Column<'a, f64>> {
        let mut inputs: Vec<Column<'a, f64>> = self.columns.iter().map(|data| Column { data, lane_stride: 1, element_stride: self.rows }).collect();
        for shared in &self.layout.shared {
            inputs[shared.input] = Column::shared(self.layout.values(shared, theta));
        }
        inputs
    }

    fn options(&self) -> BatchOptions {
        BatchOptions { threads: self.threads, ..BatchOptions::default() }
    }

    /// Predictions, number by number.
    pub fn predict(&self, theta: &[f64]) -> Result<Vec<f64>, Unusable> {
        let mut scratch = self.take();
        let mut flat = vec![0.0; self.target.len()];
        let inputs = self.inputs(theta);
        let outcome = self.engines.value.run(&mut scratch.workspace, &inputs, self.rows, &mut [&mut flat], &self.options());
        self.give(scratch);
        check(outcome)?;
        let (rows, d) = (self.rows, self.engines.outputs);
        Ok(if d == 1 { flat } else { (0..d * rows).map(|k| flat[(k % rows) * d + k / rows]).collect() })
    }

    fn take(&self) -> Scratch {
        self.pool.lock().expect("no panic holds it").pop().unwrap_or_default()
    }

    fn give(&self, scratch: Scratch) {
        self.pool.lock().expect("no panic holds it").push(scratch);
    }

    /// Turns predictions into residuals.
    fn compare(&self, residuals: &mut [f64]) -> Result<(), Unusable> {
        for (r, y) in residuals.iter_mut().zip(&self.target) {
            *r -= y;
        }
        self.weigh(residuals);
        match residuals.iter().position(|r| !r.is_finite()) {
            None => Ok(()),
            Some(i) => Err(Unusable(format!("the prediction for row {} is not finite", i % self.rows + 1))),
        }
    }

    fn weigh(&self, numbers: &mut [f64]) {
        if !self.weights.is_empty() {
            numbers.iter_mut().zip(self.weights.iter().cycle()).for_each(|(x, w)| *x *= w);
        }
    }

    fn derivatives(&self, scratch: &mut Scratch, theta: &[f64], residuals: &mut [f64], jacobian: &mut [f64]) -> Result<(), Unusable> {
        let (rows, d, all) = (self.rows, self.engines.outputs, self.target.len());
        let mut inputs = self.inputs(theta);
        let sizes: Vec<usize> = self.layout.shared.iter().filter(|s| s.at.is_some()).map(|s| s.shape.len()).collect();
        if !self.engines.seeded && sizes.iter().all(|&s| s == 1) {
            let mut outputs: Vec<&mut [f64]> = vec![residuals];
            outputs.extend(jacobian.chunks_mut(rows));
            return check(self.engines.derivative.run(&mut scratch.workspace, &inputs, rows, &mut outputs, &self.options()));
        }
        scratch.values.resize(all, 0.0);
        scratch.blocks.resize(rows * theta.len(), 0.0);
        let mut seed = vec![0.0; d];
        for k in 0..d {
            seed.fill(0.0);
            seed[k] = 1.0;
            if self.engines.seeded {
                inputs.truncate(self.columns.len());
                inputs.push(Column { data: &[], lane_stride: 0, element_stride: 1 });
            }
            let mut outputs: Vec<&mut [f64]> = vec![&mut scratch.values];
            let mut rest: &mut [f64] = &mut scratch.blocks;
            for size in &sizes {
                let (block, behind) = rest.split_at_mut(rows * size);
                outputs.push(block);
                rest = behind;
            }
            let seeded = seed.clone();
            let mut with_seed = inputs.clone();
            if self.engines.seeded {
                let last = with_seed.len() - 1;
                with_seed[last] = Column::shared(&seeded);
            }
            check(self.engines.derivative.run(&mut scratch.workspace, &with_seed, rows, &mut outputs, &self.options()))?;
            for i in 0..rows {
                residuals[k * rows + i] = scratch.values[i * d + k];
            }
            let (mut column, mut from) = (0, 0);
            for size in &sizes {
                for e in 0..*size {
                    let out = &mut jacobian[column * all + k * rows..][..rows];
                    out.iter_mut().enumerate().for_each(|(i, x)| *x = scratch.blocks[from + i * size + e]);
                    column += 1;
                }
                from += rows * size;
            }
        }
        Ok(())
    }
}

fn check(outcome: Result<Vec<neural_compiler::exec::lanes::LaneError>, neural_compiler::EvalError>) -> Result<(), Unusable> {
    match outcome {
        Ok(errors) => match errors.first() {
            None => Ok(()),
            Some(e) => Err(Unusable(format!("row {}: {}", e.lane + 1, e.error.message))),
        },
        Err(e) => Err(Unusable(e.message)),
    }
}

impl Residuals for Algebraic {
    fn parameters(&self) -> usize {
        self.layout.len()
    }

    fn count(&self) -> usize {
        self.target.len()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let Some(jacobian) = jacobian else {
            residuals.copy_from_slice(&self.predict(theta)?);
            return self.compare(residuals);
        };
        let mut scratch = self.take();
        let outcome = self.derivatives(&mut scratch, theta, residuals, jacobian);
        self.give(scratch);
        outcome?;
        self.compare(residuals)?;
        jacobian.chunks_mut(self.target.len()).for_each(|column| self.weigh(column));
        if jacobian.iter().any(|x| !x.is_finite()) {
            return Err(Unusable("a derivative of the prediction is not finite".into()));
        }
        Ok(())
    }
}

impl Gradient for Algebraic {
    fn parts(&self) -> usize {
        self.rows
    }

    fn gradient(&self, theta: &[f64], parts: &[usize], gradient: &mut [f64]) -> Result<f64, Unusable> {
        if parts.len() < self.rows {
            let part = self.sample(parts);
            return part.gradient(theta, &(0..part.rows).collect::<Vec<_>>(), gradient);
        }
        let (rows, d) = (self.rows, self.engines.outputs);
        let mut residuals = vec![0.0; self.target.len()];
        self.evaluate(theta, &mut residuals, None)?;
        let cost = dot(&residuals, &residuals);
        self.weigh(&mut residuals);
        // Lane by lane, as the engine takes them.
        let seeds: Vec<f64> = (0..rows * d).map(|k| 2.0 * residuals[(k % d) * rows + k / d]).collect();
        let mut inputs = self.inputs(theta);
        inputs.push(Column::rows(&seeds, d));
        let mut scratch = self.take();
        scratch.values.resize(rows * d, 0.0);
        scratch.blocks.resize(theta.len(), 0.0);
        let mut outputs: Vec<&mut [f64]> = vec![&mut scratch.values];
        let mut rest: &mut [f64] = &mut scratch.blocks;
        for shared in self.layout.shared.iter().filter(|s| s.at.is_some()) {
            let (block, behind) = rest.split_at_mut(shared.shape.len());
            outputs.push(block);
            rest = behind;
        }
        let outcome = self.engines.back()?.run(&mut scratch.workspace, &inputs, rows, &mut outputs, &self.options());
        gradient.iter_mut().zip(&scratch.blocks).for_each(|(g, x)| *g += x);
        self.give(scratch);
        check(outcome)?;
        match cost.is_finite() && gradient.iter().all(|g| g.is_finite()) {
            true => Ok(cost),
            false => Err(Unusable("a derivative of the cost is not finite".into())),
        }
    }

    fn residuals(&self, parts: &[usize]) -> Box<dyn Residuals + '_> {
        Box::new(self.sample(parts))
    }
}
